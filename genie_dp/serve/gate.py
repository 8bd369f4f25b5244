"""The checks that every request passes first: name, size, token; and headers back."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genie_dp.serve.hosts import HostRule
from genie_dp.serve.identity import Signer

MOST_BYTES = 64 * 1024  # of a request's body
_PATIENCE = 30.0  # seconds for a body to come in
# Everything is ours: no inline script, no other server, no frame around us.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Access:
    """How strangers are kept out: the token in the address becomes a cookie of this name."""

    signer: Signer
    cookie: str


def in_words(status: int, why: str) -> Response:
    """Return a refusal as a line of text."""
    return PlainTextResponse(why, status)


class RequestGate:
    """Wraps an app: refuses requests that no page of ours would send."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: HostRule,
        access: Access | None,
        most_bytes: int = MOST_BYTES,
        refuse: Callable[[int, str], Response] = in_words,
    ):
        """Wrap an app; without `access` everybody is let in who can connect.

        Args:
            most_bytes: of a request's body.
            refuse: makes the answer to refused requests, from status and reason.
        """
        self._app = app
        self._hosts = hosts
        self._access = access
        self._most_bytes = most_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets; uvicorn closes them

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        body = b""
        if refusal is None:
            body, refusal = await self._body(Request(scope, receive))
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, _replay(body, receive), send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or not self._hosts.accepts(host[0]):
            return self._refuse(421, "This server has another name.")
        if scope["method"] not in ("GET", "HEAD") and _is_foreign(headers):
            return self._refuse(403, "This came from another site.")
        return self._unknown(HTTPConnection(scope), self._access) if self._access else None

    def _unknown(self, asked: HTTPConnection, access: Access) -> Response | None:
        """Return None for visitors with the cookie; with the token in the address they get it."""
        if access.signer.is_access_token(asked.cookies.get(access.cookie, "")):
            return None
        token = asked.query_params.get("token", "")
        if not access.signer.is_access_token(token):
            return self._refuse(403, "Open the whole address that the server printed.")
        # The token leaves the address, so that it is not in screenshots and histories.
        rest = asked.url.remove_query_params("token").query
        answer = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
        year = 365 * 86400
        answer.set_cookie(access.cookie, token, httponly=True, samesite="lax", max_age=year)
        return answer

    async def _body(self, request: Request) -> tuple[bytes, Response | None]:
        """Return a request's body, or how it is refused: it is read only as far as it may go."""
        too_much = self._refuse(413, "This is too much at once.")
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._most_bytes:
            return b"", too_much
        body = bytearray()
        try:
            async with asyncio.timeout(_PATIENCE):
                async for piece in request.stream():
                    body += piece
                    if len(body) > self._most_bytes:
                        return b"", too_much
        except ClientDisconnect:
            # Half of a text is not what its writer sent; nobody gets this answer.
            return b"", self._refuse(400, "This broke off.")
        except TimeoutError:
            return b"", self._refuse(408, "This took too long.")
        return bytes(body), None


def _is_foreign(headers: Headers) -> bool:
    """Return whether a form or script of another site sent this, according to the browser."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers["host"]


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return the rest of a request whose body was read already."""
    is_sent = False

    async def again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
