"""Refusals of the parse service: a status, a code, a message and a hint, as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

from genie_dp.errors import GenieError, Problem
from genie_dp.serve.parse_models import Problem as Shape
from genie_dp.serve.parse_rate import whole_seconds

# Refusals by status, for what is refused before the service sees it.
_BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("W001", 'send JSON such as {"sentence": "list my files"}'),
    403: ("W011", "send it from the server's own page, or from a program without an Origin header"),
    404: ("W012", "see /docs for what there is"),
    405: ("W012", "see /docs for what there is"),
    408: ("W002", "send the whole body at once"),
    413: ("W002", "send fewer or shorter sentences at once"),
    415: ("W001", "send the header Content-Type: application/json"),
    421: ("W010", "start the server with --allow-host and this name"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered.

    Attributes:
        status: of HTTP.
        problem: code, message and hint; its message may quote the request, so it is not logged.
        wait: seconds after which it may be sent again; None where that does not help.
    """

    status: int
    problem: Problem
    wait: float | None = None

    def as_dict(self) -> dict[str, str]:
        """Return the body of the answer.

        >>> Refusal(422, Problem("W003", "no such field", hint="see /docs")).as_dict()
        {'code': 'W003', 'message': 'no such field', 'hint': 'see /docs'}
        """
        problem = self.problem
        fields = {"code": problem.code, "message": problem.message, "hint": problem.hint or ""}
        # Half a character in a name that was sent could not be written.
        return {name: text.encode("utf-8", "replace").decode() for name, text in fields.items()}

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the answer."""
        return {} if self.wait is None else {"Retry-After": str(whole_seconds(self.wait))}


class RefusedError(Exception):
    """A request that is not answered."""

    def __init__(self, refusal: Refusal):
        super().__init__(refusal.problem.code)
        self.refusal = refusal


def make_refusal(
    status: int, code: str, message: str, hint: str, *, wait: float | None = None
) -> RefusedError:
    """Return a refusal to raise."""
    return RefusedError(Refusal(status, Problem(code, message, hint=hint), wait))


def of_status(status: int, why: str) -> Refusal:
    """Return the refusal of a request that fails before the service sees it.

    >>> of_status(413, "This is too much at once.").problem.code
    'W002'
    """
    code, hint = _BY_STATUS.get(status, ("W001", "see /docs for what can be sent"))
    return Refusal(status, Problem(code, why, hint=hint))


def of_wrong_sentence(error: GenieError) -> Refusal:
    """Return the refusal of a sentence that the parser refused."""
    return Refusal(422, error.problems[0])


def of_failure() -> Refusal:
    """Return the refusal for an internal error."""
    hint = "the log of the server says where"
    return Refusal(500, Problem("W009", "the parser failed at this request", hint=hint))


def as_json(refusal: Refusal) -> JSONResponse:
    """Return a refusal as an answer."""
    return JSONResponse(refusal.as_dict(), refusal.status, refusal.headers)


def refuse_as_json(status: int, why: str) -> JSONResponse:
    """Return the answer to a request that the gate refuses."""
    return as_json(of_status(status, why))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the refusals of a route as OpenAPI lists them."""
    words = {
        400: "No JSON (W001).",
        413: "Too large a body (W002).",
        415: "Not announced as JSON (W001).",
        422: "Wrong fields (W003), or too long or too many sentences (W004).",
        429: "Too fast (W005); see Retry-After.",
        500: "The parser failed, which is a mistake of ours (W009).",
        503: "Too many wait (W006), it took too long (W007), or the server ends (W008).",
    }
    return {status: {"description": words[status], "model": Shape} for status in statuses}
