"""Who is at the other end: a signed cookie with a name, and tokens that forms carry."""

import hashlib
import secrets
from dataclasses import dataclass

import itsdangerous

_BYTES = 18  # of a random mark, as many as fill 24 letters


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser: its random mark, and the name that its person gave, or ""."""

    mark: str
    worker: str = ""


def new_visitor() -> Visitor:
    """Return a new visitor."""
    return Visitor(secrets.token_urlsafe(_BYTES))


class Signer:
    """Signs cookies and makes tokens with a secret that outlives the server."""

    def __init__(self, secret: bytes):
        sha256 = {"digest_method": hashlib.sha256}
        self._cookies = itsdangerous.URLSafeSerializer(secret, salt="cookie", signer_kwargs=sha256)
        self._forms = itsdangerous.Signer(secret, salt="form", digest_method=hashlib.sha256)
        self._access = itsdangerous.Signer(secret, salt="access", digest_method=hashlib.sha256)

    def cookie(self, visitor: Visitor) -> str:
        """Return a visitor as a signed cookie, which others cannot make.

        >>> signer = Signer(b"secret")
        >>> signer.visitor(signer.cookie(Visitor("m", "Ada")))
        Visitor(mark='m', worker='Ada')
        """
        return str(self._cookies.dumps([visitor.mark, visitor.worker]))

    def visitor(self, cookie: str) -> Visitor | None:
        """Return the visitor of a cookie, or None if we did not write it.

        >>> Signer(b"secret").visitor("abc.def") is None
        True
        """
        try:
            mark, worker = self._cookies.loads(cookie)
        except itsdangerous.BadData:
            return None
        return Visitor(mark, worker)

    def form_token(self, visitor: Visitor) -> str:
        """Return the token in every form of a visitor, which no other site knows."""
        return self._forms.get_signature(visitor.mark).decode()

    def is_form_token(self, visitor: Visitor, token: str) -> bool:
        """Return whether a form was made for a visitor."""
        return self._forms.verify_signature(visitor.mark, token)

    def access_token(self) -> str:
        """Return the token in the address where others in the network could ask."""
        return self._access.get_signature("").decode()

    def is_access_token(self, token: str) -> bool:
        """Return whether a token lets in."""
        return self._access.verify_signature("", token)
