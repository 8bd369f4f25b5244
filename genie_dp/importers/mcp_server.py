"""The tools of an MCP server, asked for with the official client library."""

import asyncio
import logging
import os
import shlex
import tempfile
from collections.abc import Mapping
from typing import Any, TextIO

from genie_dp.errors import GenieError, Problem
from genie_dp.importers.source import FoundTools, ImportSource

_LINES = 5  # of what a server wrote, which are shown
_SECONDS = 60.0
"""Until a server has to have answered; those that npx or uvx fetch first take some."""


def read_server(source: ImportSource) -> FoundTools:
    """Return the answer of a server to `tools/list`, all pages of it.

    Args:
        source: its URL (streamable HTTP), or the command that starts it.

    Raises:
        GenieError: R082, the library is missing; R083, the server gives no tools.
    """
    try:
        import mcp  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        hint = "pip install 'genie_dp[mcp]'"
        problem = Problem("R082", "to ask MCP servers, genie_dp needs mcp", hint=hint)
        raise GenieError(problem) from None
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # it logs lines that are no messages
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        try:
            tools = _list_tools(mcp, source.given, log)
            return FoundTools(asyncio.run(asyncio.wait_for(tools, _SECONDS)))
        except (mcp.MCPError, OSError, TimeoutError, ValueError, ExceptionGroup) as error:
            message = f"{source.given} gave no tools: {_describe_failure(error)}{_last_lines(log)}"
            hint = "start it by hand: it must be an MCP server over standard output, or a URL"
            raise GenieError(Problem("R083", message, hint=hint)) from None


async def _list_tools(mcp: Any, given: str, log: TextIO) -> Mapping[str, Any]:
    server: Any = given
    if not given.startswith(("http://", "https://")):
        from mcp.client.stdio import stdio_client  # type: ignore[import-not-found,unused-ignore]

        command, *arguments = shlex.split(given)
        # As a person starts it: with the keys that are in the environment.
        parameters = mcp.StdioServerParameters(
            command=command, args=arguments, env=dict(os.environ)
        )
        server = stdio_client(parameters, errlog=log)
    tools: list[Any] = []
    async with mcp.Client(server, read_timeout_seconds=_SECONDS) as client:
        cursor = None
        while True:
            page, cursor = await _page(client, cursor)
            tools += page
            if cursor is None:
                return {"tools": tools}


async def _page(client: Any, cursor: str | None) -> tuple[list[Any], str | None]:
    """Return tools, and where further ones begin; None where these are the last."""
    from pydantic import ValidationError

    try:
        page = await client.list_tools(cursor=cursor)
    except ValidationError:
        # One that is not of the protocol's shape would hide the others. Its mistake has a place
        # once it is read.
        query = {"cursor": cursor} if cursor else {}
        raw = await client.session._dispatcher.send_raw_request("tools/list", query, {})
        page_tools = raw.get("tools")
        return (page_tools if isinstance(page_tools, list) else []), raw.get("nextCursor")
    tools = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in page.tools]
    return tools, page.next_cursor


def _last_lines(log: TextIO) -> str:
    """Return the last lines that a server wrote to standard error before it failed."""
    log.seek(0)
    lines = [line.rstrip()[:200] for line in log if line.strip()][-_LINES:]
    return "".join(["; its last lines:", *(f"\n    {line}" for line in lines)]) if lines else ""


def _describe_failure(error: BaseException) -> str:
    """Return the first thing that went wrong, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"there is no command {error.filename!r}"
    if isinstance(error, TimeoutError):
        return f"no answer in {_SECONDS:.0f} seconds"
    return str(error) or type(error).__name__
