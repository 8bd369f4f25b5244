"""The common treatment of requests over HTTP: its shape, its sender, and how it is refused."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp

from genie_dp.errors import GenieError, Problem
from genie_dp.serve.gate import RequestGate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.parse_models import Health
from genie_dp.serve.parse_refusals import (
    Refusal,
    RefusedError,
    of_failure,
    of_status,
    of_wrong_sentence,
    refuse_as_json,
)
from genie_dp.serve.parse_service import ParseService

_GONE = 499  # as nginx calls a request whose sender went away; nobody gets it
_TOO_LONG = frozenset(("too_long", "string_too_long"))
_NO_OBJECT = frozenset(("model_attributes_type", "model_type", "missing", "dict_type"))
_FIELDS = "see /docs for the fields"
_log = logging.getLogger("uvicorn.error")  # which writes errors without what people typed
T = TypeVar("T")


class GoneError(Exception):
    """The sender of a request went away; there is no answer."""


def is_json(request: Request) -> None:
    """Refuse requests that are not announced as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise AnyHTTPException(415, "expected JSON, announced as application/json")


def address_of(request: Request) -> str:
    """Return the address of the sender."""
    return request.client.host if request.client else ""


async def unless_gone(request: Request, service: ParseService, answer: Coroutine[Any, Any, T]) -> T:
    """Return an answer; work on it stops if the sender goes away.

    Raises:
        GoneError: the asker is gone.
    """
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        service.tally.cancelled += 1
        raise GoneError
    finally:
        work.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def add_health(app: FastAPI, service: ParseService) -> None:
    """Add /health."""

    @app.get(
        "/health",
        response_model=Health,
        response_description="Sentences are taken.",
        responses={503: {"description": "None are taken.", "model": Health}},
        summary="How the service is",
    )
    async def health(response: Response) -> Health:
        """Return whether sentences are taken, the limits of a request, and counts."""
        state = service.health()
        response.status_code = 200 if state.ready else 503
        return state


def add_refusals(
    app: FastAPI,
    service: ParseService,
    answer: Callable[[Request, Refusal], Response],
    *,
    hint: str = _FIELDS,
) -> None:
    """Have an app answer and count every refusal in one way.

    Args:
        hint: where the fields of a request are explained.
    """

    async def refuse(request: Request, error: Exception) -> Response:
        response = answer(request, refusal_of(error, service, address_of(request), hint=hint))
        if isinstance(error, AnyHTTPException):
            # The methods that a path has (RFC 9110, section 15.5.6).
            response.headers.update(error.headers or {})
        return response

    async def give_up(request: Request, error: Exception) -> Response:
        return Response(status_code=_GONE)

    app.add_exception_handler(GoneError, give_up)
    for kind in (RefusedError, AnyHTTPException, RequestValidationError, GenieError, Exception):
        app.add_exception_handler(kind, refuse)


def refusal_of(error: Exception, service: ParseService, address: str, *, hint: str) -> Refusal:
    """Return the response to an error, and count it.

    Args:
        hint: where the fields of a request are explained.
    """
    service.tally.refused += 1
    match error:
        case RefusedError():
            return error.refusal
        case AnyHTTPException():
            return of_status(error.status_code, str(error.detail))
        case RequestValidationError() | ValidationError():
            try:
                # Nobody may send what is wrong faster than what is right.
                service.charge(address, 1)
            except RefusedError as too_fast:
                return too_fast.refusal
            return _wrong_shape(error, hint)
        case GenieError():
            return of_wrong_sentence(error)
        case _:
            return of_failure()


def logged_refusal_of(
    error: Exception, service: ParseService, address: str, *, hint: str
) -> dict[str, str]:
    """Return the response to an error where no app logs internal errors, as `Refusal.as_dict`."""
    refusal = refusal_of(error, service, address, hint=hint)
    if refusal.status == 500:
        _log.error("a request failed", exc_info=error)
    return refusal.as_dict()


def _wrong_shape(error: RequestValidationError | ValidationError, hint: str) -> Refusal:
    """Return the mistakes in the fields of a request, without the values that were sent."""
    first = error.errors()[0]
    kind, place, message = first["type"], first["loc"], first["msg"]
    if isinstance(error, RequestValidationError):
        place = place[1:]  # after "body"
        if kind == "json_invalid" or (not place and kind in _NO_OBJECT):
            return of_status(400, "this is no JSON object")
    where = ".".join(map(str, place))[:80]
    code = "W004" if kind in _TOO_LONG else "W003"
    text = message.removeprefix("Value error, ")
    return Refusal(422, Problem(code, f"{where}: {text}" if where else text, hint=hint))


def behind_gate(
    app: ASGIApp,
    service: ParseService,
    hosts: HostRule,
    refuse: Callable[[int, str], Response] = refuse_as_json,
) -> RequestGate:
    """Return an app behind its gate, which refuses names, sizes and senders."""
    most_bytes = service.config.limits.body
    return RequestGate(app, hosts=hosts, access=None, most_bytes=most_bytes, refuse=refuse)
