"""Who is at the other end: a signed cookie with a name, and tokens that forms carry."""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass

_BYTES = 18  # of a random mark, as many as fill 24 letters


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser: its random mark, and the name that its person gave, or ""."""

    mark: str
    worker: str = ""


def new_visitor() -> Visitor:
    """Return a visitor nobody has seen before."""
    return Visitor(secrets.token_urlsafe(_BYTES))


class Signer:
    """Signs cookies and makes tokens with a secret that outlives the server."""

    def __init__(self, secret: bytes):
        """Keep the secret."""
        self._secret = secret

    def cookie(self, visitor: Visitor) -> str:
        """Return a visitor as a cookie that nobody else can make.

        >>> signer = Signer(b"secret")
        >>> signer.visitor(signer.cookie(Visitor("m", "Ada")))
        Visitor(mark='m', worker='Ada')
        """
        content = json.dumps([visitor.mark, visitor.worker]).encode()
        text = base64.urlsafe_b64encode(content).decode().rstrip("=")  # cookies quote the sign
        return f"{text}.{self._sign('cookie', text)}"

    def visitor(self, cookie: str) -> Visitor | None:
        """Return the visitor of a cookie, or None if we did not write it.

        >>> Signer(b"secret").visitor("abc.def") is None
        True
        """
        text, _, signature = cookie.partition(".")
        if not _is_same(signature, self._sign("cookie", text)):
            return None
        padded = text + "=" * (-len(text) % 4)
        mark, worker = json.loads(base64.urlsafe_b64decode(padded))
        return Visitor(mark, worker)

    def form_token(self, visitor: Visitor) -> str:
        """Return what every form of a visitor carries, for no other site knows it."""
        return self._sign("form", visitor.mark)

    def is_form_token(self, visitor: Visitor, token: str) -> bool:
        """Tell whether a form was made for a visitor."""
        return _is_same(token, self.form_token(visitor))

    def access_token(self) -> str:
        """Return what the address carries where others in the network could ask."""
        return self._sign("access", "")[:32]

    def is_access_token(self, token: str) -> bool:
        """Tell whether a token lets in."""
        return _is_same(token, self.access_token())

    def _sign(self, purpose: str, text: str) -> str:
        message = f"{purpose}\0{text}".encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def _is_same(left: str, right: str) -> bool:
    # Bytes, for text that is not ASCII would raise.
    return hmac.compare_digest(left.encode("utf-8", "replace"), right.encode())
