"""What all services over HTTP do with a request: its shape, its sender, and how it is refused."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException as AnyHTTPException

from genie_dp.errors import GenieError, Problem
from genie_dp.serve.parse_models import Health
from genie_dp.serve.parse_refusals import (
    Refusal,
    RefusedError,
    of_failure,
    of_status,
    of_wrong_sentence,
)
from genie_dp.serve.parse_service import ParseService

GONE = 499  # as nginx calls a request whose sender went away; nobody gets it
_TOO_LONG = frozenset(("too_long", "string_too_long"))
_NO_OBJECT = frozenset(("model_attributes_type", "model_type", "missing", "dict_type"))
_FIELDS = "see /docs for the fields"
_log = logging.getLogger("uvicorn.error")  # which writes errors without what people typed
T = TypeVar("T")


def is_json(request: Request) -> None:
    """Refuse what is not announced as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise AnyHTTPException(415, "expected JSON, announced as application/json")


def address_of(request: Request) -> str:
    """Return the address of the sender."""
    return request.client.host if request.client else ""


async def unless_gone(
    request: Request, service: ParseService, answer: Coroutine[Any, Any, T]
) -> T | None:
    """Return an answer; None, and nobody works on it any more, if its asker goes away."""
    work = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        service.tally.cancelled += 1
        return None
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
        """Return whether sentences are taken, what a request may have, and counts."""
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

    def counted(request: Request, refusal: Refusal) -> Response:
        service.tally.refused += 1
        return answer(request, refusal)

    @app.exception_handler(RefusedError)
    async def refuse(request: Request, error: RefusedError) -> Response:
        return counted(request, error.refusal)

    @app.exception_handler(AnyHTTPException)
    async def refuse_status(request: Request, error: AnyHTTPException) -> Response:
        refusal_answer = counted(request, of_status(error.status_code, str(error.detail)))
        # The methods that a path has (RFC 9110, section 15.5.6).
        refusal_answer.headers.update(error.headers or {})
        return refusal_answer

    @app.exception_handler(RequestValidationError)
    async def refuse_shape(request: Request, error: RequestValidationError) -> Response:
        try:
            # Nobody may send what is wrong faster than what is right.
            service.charge(address_of(request), 1)
        except RefusedError as too_fast:
            return counted(request, too_fast.refusal)
        return counted(request, _wrong_shape(error, hint))

    @app.exception_handler(GenieError)
    async def refuse_sentence(request: Request, error: GenieError) -> Response:
        return counted(request, of_wrong_sentence(error))

    @app.exception_handler(Exception)
    async def fail(request: Request, error: Exception) -> Response:
        # Starlette raises it again for the log, which leaves its message out.
        return counted(request, of_failure())


def refusal_of(error: Exception, service: ParseService, address: str, *, hint: str) -> Refusal:
    """Return how an error is answered where no app does it, and count it.

    A mistake of ours is logged, without its message.

    Args:
        hint: where the fields of a request are explained.
    """
    service.tally.refused += 1
    match error:
        case RefusedError():
            return error.refusal
        case ValidationError():
            try:
                # Nobody may send what is wrong faster than what is right.
                service.charge(address, 1)
            except RefusedError as too_fast:
                return too_fast.refusal
            first = error.errors()[0]
            return wrong_field(first["type"], first["loc"], first["msg"], hint)
        case GenieError():
            return of_wrong_sentence(error)
        case _:
            _log.error("a request failed", exc_info=error)
            return of_failure()


def _wrong_shape(error: RequestValidationError, hint: str) -> Refusal:
    """Return what is wrong with a request, without the values that were sent."""
    first = error.errors()[0]
    kind, place = first["type"], first["loc"][1:]  # after "body"
    if kind == "json_invalid" or (not place and kind in _NO_OBJECT):
        return of_status(400, "this is no JSON object")
    return wrong_field(kind, place, first["msg"], hint)


def wrong_field(kind: str, place: tuple[int | str, ...], message: str, hint: str) -> Refusal:
    """Return what is wrong with a field, from what pydantic says of it."""
    message = message.removeprefix("Value error, ")
    where = ".".join(map(str, place))[:80]
    code = "W004" if kind in _TOO_LONG else "W003"
    text = f"{where}: {message}" if where else message
    return Refusal(422, Problem(code, text, hint=hint))
