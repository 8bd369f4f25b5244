"""The parse service on the web: /parse, /health, the interface, and a page to try it on."""

from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException as AnyHTTPException

from genie_dp import __version__
from genie_dp.resources import data_folder
from genie_dp.serve.gate import RequestGate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.page_requests import add_file, read_form
from genie_dp.serve.parse_models import Context, ParsedReply, ParseOptions, Query, Replies
from genie_dp.serve.parse_page import docs_page, fragment, page
from genie_dp.serve.parse_refusals import Refusal, as_json, responses
from genie_dp.serve.parse_requests import (
    add_health,
    add_refusals,
    address_of,
    behind_gate,
    is_json,
    unless_gone,
)
from genie_dp.serve.parse_service import ParseService

_PAGES = ("/", "/answer")  # whose refusals are for people
_ANSWERS = 4  # that the page shows
_MOST_FIELDS = 10  # of a form


def parse_app(service: ParseService, *, hosts: HostRule) -> RequestGate:
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
        add_file(app, f"/{name}", (folder / name).read_bytes(), kind)
    add_file(app, "/favicon.ico", b"", "image/x-icon")
    _add_refusals(app, service)
    return behind_gate(app, service, hosts)


def _add_interface(app: FastAPI, service: ParseService) -> None:
    @app.post(
        "/parse",
        response_model=Replies,
        dependencies=[Depends(is_json)],
        responses=responses(400, 413, 415, 422, 429, 500, 503),
        response_description="A reply to each sentence, in their order.",
        summary="Programs for sentences",
    )
    async def parse(query: Query, request: Request) -> Any:
        """Return the programs for each sentence, the most probable first."""
        answer = service.parse(query.all(), query, address=address_of(request))
        return Replies(replies=await unless_gone(request, service, answer))

    @app.get(
        "/schema",
        response_description="Of `tree` and `calls`, for the skills of this parser.",
        summary="The JSON Schema of programs",
    )
    async def schema() -> JSONResponse:
        """Return the JSON Schema of trees and calls."""
        return JSONResponse(service.schema())

    add_health(app, service)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(app.openapi(), str(request.base_url)))


# ---------------------------------------------------------------------------------- the page


class FormInput(NamedTuple):
    """The contents of a form: a sentence, and the reply whose question it answers."""

    sentence: str
    context: Context | None


async def _read_form(request: Request) -> FormInput:
    """Return the input of a form."""
    fields, context = await read_form(request, _MOST_FIELDS), None
    try:
        if fields.get("program"):
            sent = {name: fields[name] for name in ("program", "refused") if name in fields}
            confidence = float(fields.get("confidence", ""))
            context = Context.model_validate({**sent, "confidence": confidence})
    except ValueError:
        raise AnyHTTPException(400, "this is no form") from None
    sentence = " ".join(fields.get("sentence", "").split())
    # What is refused stands in its field again.
    request.state.typed = sentence
    return FormInput(sentence, context)


Form = Annotated[FormInput, Depends(_read_form)]


def _add_page(app: FastAPI, service: ParseService) -> None:
    async def answer(request: Request, typed: FormInput) -> ParsedReply:
        options = ParseOptions.model_validate(
            {"count": _ANSWERS, "english": True, "context": typed.context}
        )
        work = service.parse([typed.sentence], options, address=address_of(request))
        [reply] = await unless_gone(request, service, work)
        return reply

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
        functions=config.functions,
        typed=typed,
        reply=reply,
        refusal=refusal,
    )


# ---------------------------------------------------------------------------------- refusals


def _add_refusals(app: FastAPI, service: ParseService) -> None:
    def answer(request: Request, refusal: Refusal) -> Response:
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

    add_refusals(app, service, answer)
