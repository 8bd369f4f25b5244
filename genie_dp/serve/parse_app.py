"""The parse service on the web: /parse, /health, the interface, and a page to try it on."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.resources import data_folder
from genie_dp.serve.gate import Gate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.parse_models import Context, Health, ParsedReply, Query, Replies
from genie_dp.serve.parse_page import docs_page, fragment, page
from genie_dp.serve.parse_refusals import (
    Refusal,
    RefusedError,
    as_json,
    of_status,
    refuse_as_json,
    responses,
)
from genie_dp.serve.parse_service import ParseService

_PAGES = ("/", "/answer")  # whose refusals are for people
_ANSWERS = 4  # that the page shows
_GONE = 499  # as nginx calls a request whose sender went away; nobody gets it
_TOO_LONG = frozenset(("too_long", "string_too_long"))
_NO_OBJECT = frozenset(("model_attributes_type", "model_type", "missing", "dict_type"))
T = TypeVar("T")


def parse_app(service: ParseService, *, hosts: HostRule) -> Gate:
    """Return the app, behind its gate."""
    # The usual page of the interface would load scripts from elsewhere.
    app = FastAPI(
        title="genie-dp parse service",
        description="Programs for sentences.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
    )
    _add_interface(app, service)
    _add_page(app, service)
    folder = data_folder("serve/pages")
    for name, kind in (("parse.css", "text/css"), ("parse.js", "text/javascript")):
        _add_file(app, f"/{name}", (folder / name).read_bytes(), kind)
    _add_file(app, "/favicon.ico", b"", "image/x-icon")
    _add_refusals(app, service)
    most_bytes = service.config.limits.body
    return Gate(app, hosts=hosts, access=None, most_bytes=most_bytes, refuse=refuse_as_json)


def _is_json(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise AnyHTTPException(415, "expected JSON, announced as application/json")


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _add_interface(app: FastAPI, service: ParseService) -> None:
    @app.post(
        "/parse",
        response_model=Replies,
        dependencies=[Depends(_is_json)],
        responses=responses(400, 413, 415, 422, 429, 500, 503),
        response_description="A reply to each sentence, in their order.",
        summary="Programs for sentences",
    )
    async def parse(query: Query, request: Request) -> Any:
        """Return the programs for each sentence, the most probable first."""
        replies = await _unless_gone(
            request,
            service,
            service.parse(
                query.all(),
                count=query.count,
                english=query.english,
                address=_address(request),
                context=query.context,
                names=query.names,
            ),
        )
        return Response(status_code=_GONE) if replies is None else Replies(replies=replies)

    @app.get(
        "/schema",
        response_description="Of `tree` and `calls`, for the skills of this parser.",
        summary="The JSON Schema of programs",
    )
    async def schema() -> JSONResponse:
        """Return the JSON Schema of trees and calls."""
        return JSONResponse(service.schema())

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

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(app.openapi(), str(request.base_url)))


async def _unless_gone(
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


# ---------------------------------------------------------------------------------- the page


class Typed(NamedTuple):
    """What a form has: a sentence, and the reply whose question it answers."""

    sentence: str
    context: Context | None


async def _read_form(request: Request) -> Typed:
    """Return what was typed; the gate has limited its size."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=10))
        context = None
        if program := fields.get("program"):
            context = Context(program=program, confidence=float(fields.get("confidence", "")))
    except ValueError:
        raise AnyHTTPException(400, "this is no form") from None
    sentence = " ".join(fields.get("sentence", "").split())
    # What is refused stands in its field again.
    request.state.typed = sentence
    return Typed(sentence, context)


Form = Annotated[Typed, Depends(_read_form)]


def _add_page(app: FastAPI, service: ParseService) -> None:
    async def answer(request: Request, typed: Typed) -> ParsedReply | None:
        replies: Sequence[ParsedReply] | None = await _unless_gone(
            request,
            service,
            service.parse(
                [typed.sentence],
                count=_ANSWERS,
                english=True,
                address=_address(request),
                context=typed.context,
            ),
        )
        return replies[0] if replies else None

    @app.get("/", include_in_schema=False)
    async def start(request: Request) -> Response:
        return HTMLResponse(_page(service))

    @app.post("/", include_in_schema=False)
    async def send(request: Request, typed: Form) -> Response:
        reply = await answer(request, typed)
        return HTMLResponse(_page(service, typed=typed.sentence, reply=reply))

    @app.post("/answer", include_in_schema=False)
    async def send_by_script(request: Request, typed: Form) -> Response:
        return HTMLResponse(
            fragment(
                most_characters=service.config.limits.characters,
                reply=await answer(request, typed),
            )
        )


def _page(
    service: ParseService,
    *,
    typed: str = "",
    reply: ParsedReply | None = None,
    refusal: Refusal | None = None,
) -> str:
    config = service.config
    return page(
        model=config.model,
        most_characters=config.limits.characters,
        examples=config.examples,
        typed=typed,
        reply=reply,
        refusal=refusal,
    )


def _add_file(app: FastAPI, path: str, content: bytes, kind: str) -> None:
    async def give() -> Response:
        return Response(content, 200 if content else 204, media_type=kind)

    app.add_api_route(path, give, methods=["GET"], include_in_schema=False)


# ---------------------------------------------------------------------------------- refusals


def _add_refusals(app: FastAPI, service: ParseService) -> None:
    def answer(request: Request, refusal: Refusal) -> Response:
        service.tally.refused += 1
        path = request.url.path
        if path not in _PAGES:
            return as_json(refusal)
        typed = getattr(request.state, "typed", "")
        content = (
            _page(service, typed=typed, refusal=refusal)
            if path == "/"
            else fragment(most_characters=service.config.limits.characters, refusal=refusal)
        )
        return HTMLResponse(content, refusal.status, refusal.headers)

    @app.exception_handler(RefusedError)
    async def refuse(request: Request, error: RefusedError) -> Response:
        return answer(request, error.refusal)

    @app.exception_handler(AnyHTTPException)
    async def refuse_status(request: Request, error: AnyHTTPException) -> Response:
        refusal_answer = answer(request, of_status(error.status_code, str(error.detail)))
        # The methods that a path has (RFC 9110, section 15.5.6).
        refusal_answer.headers.update(error.headers or {})
        return refusal_answer

    @app.exception_handler(RequestValidationError)
    async def refuse_shape(request: Request, error: RequestValidationError) -> Response:
        try:
            # Nobody may send what is wrong faster than what is right.
            service.charge(_address(request), 1)
        except RefusedError as too_fast:
            return answer(request, too_fast.refusal)
        return answer(request, _wrong_shape(error))

    @app.exception_handler(GenieError)
    async def refuse_sentence(request: Request, error: GenieError) -> Response:
        return answer(request, Refusal(422, error.problems[0]))

    @app.exception_handler(Exception)
    async def fail(request: Request, error: Exception) -> Response:
        # Starlette raises it again for the log, which leaves its message out.
        hint = "the log of the server says where"
        problem = Problem("W009", "the parser failed at this request", hint=hint)
        return answer(request, Refusal(500, problem))


def _wrong_shape(error: RequestValidationError) -> Refusal:
    """Return what is wrong with a query, without the values that were sent."""
    first = error.errors()[0]
    kind, place = first["type"], first["loc"][1:]  # after "body"
    if kind == "json_invalid" or (not place and kind in _NO_OBJECT):
        return of_status(400, "this is no JSON object")
    message = first["msg"].removeprefix("Value error, ")
    where = ".".join(map(str, place))[:80]
    code = "W004" if kind in _TOO_LONG else "W003"
    text = f"{where}: {message}" if where else message
    return Refusal(422, Problem(code, text, hint="see /docs for the fields"))
