"""The tools of an MCP server, asked for with the official client library."""

import asyncio
import os
import shlex
from collections.abc import Mapping
from typing import Any

from genie_dp.errors import GenieError, Problem

_SECONDS = 60.0
"""Until a server has to have answered; those that npx or uvx fetch first take some."""


def read_server(given: str) -> Mapping[str, Any]:
    """Return what a server answers to `tools/list`, all pages of it.

    Args:
        given: its URL (streamable HTTP), or the command that starts it.

    Raises:
        GenieError: R082, the library is missing; R083, the server gives no tools.
    """
    try:
        import mcp  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        hint = "pip install 'genie_dp[mcp]'"
        problem = Problem("R082", "to ask MCP servers, genie_dp needs mcp", hint=hint)
        raise GenieError(problem) from None
    try:
        return asyncio.run(asyncio.wait_for(_list_tools(mcp, given), _SECONDS))
    except (mcp.MCPError, OSError, TimeoutError, ValueError, ExceptionGroup) as error:
        message = f"{given} gave no tools: {_told(error)}"
        hint = (
            "start it by hand: it must be an MCP server that talks over standard output, or a URL"
        )
        raise GenieError(Problem("R083", message, hint=hint)) from None


async def _list_tools(mcp: Any, given: str) -> Mapping[str, Any]:
    server: Any = given
    if not given.startswith(("http://", "https://")):
        command, *arguments = shlex.split(given)
        # As a person starts it: with the keys that are in the environment.
        server = mcp.StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    tools: list[Any] = []
    async with mcp.Client(server, read_timeout_seconds=_SECONDS) as client:
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                      for tool in page.tools]  # fmt: skip
            cursor = page.next_cursor
            if cursor is None:
                return {"tools": tools}


def _told(error: BaseException) -> str:
    """Return the first thing that went wrong, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer in {_SECONDS:.0f} seconds"
    return str(error) or type(error).__name__
