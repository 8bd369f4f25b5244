"""Serves an app until it is stopped."""

import socket
from importlib import import_module
from typing import TYPE_CHECKING

from genie_dp.errors import GenieError, Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_MOST_CONNECTIONS = 200


def check_serve(*libraries: str, extra: str = "serve") -> None:
    """Raise GenieError (P200) where the libraries that serve are not installed.

    Args:
        libraries: that are needed besides those of pages.
        extra: which has all of them.
    """
    try:
        for library in ("fastapi", "uvicorn", *libraries):
            import_module(library)
    except ImportError as error:
        hint = f"pip install 'genie_dp[{extra}]'"
        message = f"serving needs {error.name}"
        raise GenieError(Problem("P200", message, hint=hint)) from None


def serve(app: "ASGIApp", bound: socket.socket, *, patience: int = 5) -> None:
    """Answer requests at a socket that listens, until Ctrl+C or a signal to end.

    Args:
        patience: seconds that requests in work have to end after that.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        # What people do is nobody's business, and addresses may hold the token.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="auto",
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=patience,
    )
    uvicorn.Server(config).run(sockets=[bound])
