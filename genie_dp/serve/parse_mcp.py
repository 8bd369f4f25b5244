"""A parser as the Model Context Protocol asks it: the tool `parse`, and the library to read."""

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as protocol
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from genie_dp import __version__
from genie_dp.languages.library import Parameter, Signature
from genie_dp.serve.gate import RequestGate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.parse_models import ParsedReply, SentenceQuery
from genie_dp.serve.parse_requests import behind_gate, logged_refusal_of
from genie_dp.serve.parse_service import ParseService

TOOL, LIBRARY, SCHEMA = "parse", "genie-dp://library", "genie-dp://schema"
PATH = "/mcp"
_LOCAL = "127.0.0.1"  # the address of whoever speaks over standard input
_JSON = "application/json"
_Context = Any

_FIELDS = "see the input schema of the tool"
_ABOUT = (
    "What a sentence asks for, as a program of the functions in the resource genie-dp://library. "
    "Act on `answers[0]` only if `is_known`; else say `message`, which is a question where an "
    "input is missing, or something is to be confirmed. The reply to a question comes with "
    "`context`: `refused`, and `program` and `confidence` "
    "of the first answer."
)


def mcp_server(service: ParseService) -> Server[Any]:
    """Return the server of the protocol, for any way to speak it."""

    async def list_tools(_: _Context, __: Any) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[_tool()])

    async def call_tool(
        context: _Context, params: protocol.CallToolRequestParams
    ) -> protocol.CallToolResult:
        if params.name != TOOL:
            message = f"there is no tool {params.name[:80]!r} here: {TOOL} is the one"
            raise MCPError(protocol.INVALID_PARAMS, message)
        address = _address(context)
        try:
            reply = await _parse(service, params.arguments or {}, address)
        except Exception as error:  # noqa: BLE001 - answered, and what is ours is logged
            refusal = logged_refusal_of(error, service, address, hint=_FIELDS)
            text = f"{refusal['code']}: {refusal['message']}: {refusal['hint']}"
            return protocol.CallToolResult(content=[_text(text)], is_error=True)
        content = reply.model_dump(mode="json")
        text = json.dumps(content, ensure_ascii=False)
        return protocol.CallToolResult(content=[_text(text)], structured_content=content)

    async def list_resources(_: _Context, __: Any) -> protocol.ListResourcesResult:
        return protocol.ListResourcesResult(
            resources=[
                protocol.Resource(uri=uri, name=name, description=description, mime_type=_JSON)
                for uri, name, description in (
                    (LIBRARY, "library", "The functions of programs, with the types of inputs."),
                    (SCHEMA, "schema", "The JSON Schema of `tree` and `calls`."),
                )
            ]
        )

    async def read_resource(
        _: _Context, params: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        uri = str(params.uri)
        if uri not in (LIBRARY, SCHEMA):
            message = f"there is no resource {uri[:80]!r} here: see resources/list"
            raise MCPError(protocol.INVALID_PARAMS, message)
        content = functions_of(service.parser.functions()) if uri == LIBRARY else service.schema()
        text = json.dumps(content, ensure_ascii=False)
        contents = protocol.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
        return protocol.ReadResourceResult(contents=[contents])

    return Server(
        "genie-dp",
        version=__version__,
        instructions=f"The parser {service.config.model!r}. {_ABOUT}",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


async def _parse(service: ParseService, arguments: dict[str, Any], address: str) -> ParsedReply:
    query = SentenceQuery.model_validate(arguments)
    [reply] = await service.parse([query.sentence], query, address=address)
    return reply


def _address(context: _Context) -> str:
    request = context.request
    if request is None:
        return _LOCAL
    return request.client.host if request.client else ""


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(type="text", text=text)


def _tool() -> protocol.Tool:
    return protocol.Tool(
        name=TOOL,
        description=_ABOUT,
        input_schema=SentenceQuery.model_json_schema(),
        output_schema=ParsedReply.model_json_schema(mode="serialization"),
        annotations=protocol.ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def functions_of(functions: Sequence[Signature]) -> dict[str, Any]:
    """Return functions with their types, as JSON."""
    return {
        "functions": [
            {
                "name": function.qualified,
                "kind": function.kind,
                "inputs": [
                    {**_describe_parameter(parameter), "required": parameter.is_required}
                    for parameter in function.inputs
                ],
                "outputs": [_describe_parameter(parameter) for parameter in function.outputs],
            }
            for function in functions
        ]
    }


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    return {"name": parameter.name, "type": str(parameter.type)}


# ----------------------------------------------------------------------------- ways to speak it


def mcp_app(service: ParseService, *, hosts: HostRule) -> RequestGate:
    """Return the app that speaks it over HTTP, behind its gate; it keeps no sessions."""
    _keep_quiet()

    async def health(_: Request) -> Response:
        state = service.health()
        return JSONResponse(state.model_dump(mode="json"), 200 if state.ready else 503)

    async def without_streams(scope: Scope, receive: Receive, send: Send) -> None:
        # A stream for what the server says by itself, which is nothing, would only be held open.
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        await app(scope, receive, send)

    app = mcp_server(service).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=service.config.limits.body,
        # The gate has looked at names and origins.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route("/health", health)],
    )
    return behind_gate(without_streams, service, hosts)


def serve_stdio(service: ParseService) -> None:
    """Speak it over standard input and output, until the input ends."""
    _keep_quiet()
    server = mcp_server(service)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    sys.stdout.flush()
    anyio.run(run)


def _keep_quiet() -> None:
    """Keep the library from logging: it may quote requests."""
    for name in ("mcp", "sse_starlette"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
