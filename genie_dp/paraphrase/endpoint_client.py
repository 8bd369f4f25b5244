"""Talks to an OpenAI-compatible service: one request, tried again while that can help."""

import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.auto_journal import Usage

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AGAIN = frozenset((408, 409, 425, 429))  # and all of 500 and above
_LONGEST_WAIT = 120.0  # seconds between two tries, whatever the service asks for
_SHOWN = 300  # characters of what a service says
# What reading plain data of another shape raises: infinite counts and bottomless lists are shapes.
_NO_COMPLETION = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip

Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Service:
    """Where a service is, and how it is asked.

    Attributes:
        base_url: such as https://api.openai.com/v1; "/chat/completions" is added.
        key: sent as bearer token; never shown, logged or stored.
        retries: further tries of a request after the first.
        first_wait: seconds before the second try; doubled each time, unless the service says.
        per_minute: requests started in a minute, at most; 0 for no limit.
        timeout: seconds to wait for an answer.
    """

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    temperature: float = 0.9
    most_tokens: int = 2048
    retries: int = 6
    first_wait: float = 1.0
    per_minute: float = 0.0
    timeout: float = 120.0

    def __post_init__(self) -> None:
        """Refuse addresses that are none, and a key that would travel in the clear (P150)."""
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "give the part before /chat/completions, such as http://localhost:8000/v1"
            message = f"expected an http or https address, got {self.base_url!r}"
            raise GenieError(Problem("P150", message, hint=hint))
        if self.key and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            message = f"the key would be sent to {parts.hostname} unencrypted"
            raise GenieError(Problem("P150", message, hint="use https, or unset the key"))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered."""

    text: str
    usage: Usage


class Client:
    """Sends requests from several threads, no more of them than the service is to get."""

    def __init__(
        self,
        service: Service,
        *,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        """Keep the settings; the clock is an argument for tests."""
        self.service = service
        self.retried = 0
        self._stopped = threading.Event()
        # Whoever waits wakes up when the run is stopped.
        self._sleep = self._stopped.wait if sleep is None else sleep
        self._clock = clock
        self._next_start = 0.0
        self._lock = threading.Lock()
        self._opener = _opener(service)

    def stop(self) -> None:
        """Try no request again; one that is under way may still be answered."""
        self._stopped.set()

    def ask(self, messages: Sequence[Message]) -> Answer:
        """Return the answer to a chat.

        Raises:
            GenieError: the service refuses the request (P151), or all tries failed (P152).
        """
        body = json.dumps(
            {
                "model": self.service.model,
                "messages": list(messages),
                "temperature": self.service.temperature,
                "max_tokens": self.service.most_tokens,
            }
        ).encode()
        for attempt in range(self.service.retries + 1):
            self._wait_for_turn()
            try:
                return _answer(self._sent(body))
            except urllib.error.HTTPError as error:
                trouble, asked = f"{error.code} {error.reason}", _retry_after(error)
                if error.code not in _AGAIN and error.code < 500:
                    raise self._refused(error) from None
            except (OSError, HTTPException, *_NO_COMPLETION) as error:
                # Dropped connections, time-outs, and answers that are no chat completion.
                trouble, asked = f"{type(error).__name__}: {error}", None
            if attempt == self.service.retries or self._stopped.is_set():
                break
            self._pause(attempt, asked)
        raise self._given_up(attempt + 1, trouble)

    def _sent(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.service.key:
            headers["Authorization"] = f"Bearer {self.service.key}"
        url = self.service.base_url.rstrip("/") + "/chat/completions"
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - checked by Service
        with self._opener.open(request, timeout=self.service.timeout) as response:
            return json.loads(response.read())

    def _wait_for_turn(self) -> None:
        if not self.service.per_minute:
            return
        with self._lock:
            start = max(self._clock(), self._next_start)
            self._next_start = start + 60 / self.service.per_minute
        self._sleep(max(0.0, start - self._clock()))

    def _pause(self, attempt: int, asked: float | None) -> None:
        with self._lock:
            self.retried += 1
        # Up to a quarter more, so that threads that failed together do not come back together.
        wait = self.service.first_wait * 2**attempt * (1 + random.random() / 4)
        self._sleep(min(_LONGEST_WAIT, wait if asked is None else max(asked, 0.0)))

    def _refused(self, error: urllib.error.HTTPError) -> GenieError:
        said = self._without_key(_said_by(error))
        hints = {
            401: "is the key in the environment variable right?",
            403: "may this key use the model?",
            404: "are --base-url and --model right?",
        }
        message = f"the service refuses the request: {error.code} {error.reason}{said}"
        return GenieError(Problem("P151", message, hint=hints.get(error.code)))

    def _given_up(self, tries: int, trouble: str) -> GenieError:
        times = "1 try" if tries == 1 else f"{tries} tries"
        message = f"no answer from the service in {times}; the last: "
        hint = "the answers so far are kept; go on with --resume"
        return GenieError(Problem("P152", message + self._without_key(trouble)[:_SHOWN], hint=hint))

    def _without_key(self, text: str) -> str:
        return text.replace(self.service.key, "***") if self.service.key else text


def _opener(service: Service) -> urllib.request.OpenerDirector:
    """Return what opens addresses: those of this machine never by way of a proxy.

    A proxy of the environment (http_proxy) would carry key and text off it, in the clear.
    """
    handlers: list[Any] = [_NoRedirect]
    if urlsplit(service.base_url).hostname in _LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would carry the key to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Return no request, so that the redirection is raised as an error."""
        return


def _answer(read: Any) -> Answer:
    text = read["choices"][0]["message"]["content"]
    if not isinstance(text, str):
        raise TypeError("the answer has no text")
    usage = read.get("usage") or {}
    return Answer(
        text,
        Usage(1, int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)),
    )


def _said_by(error: urllib.error.HTTPError) -> str:
    try:
        read = json.loads(error.read())
        said = read["error"]["message"] if "error" in read else read["message"]
    except (OSError, HTTPException, *_NO_COMPLETION):
        return ""
    return f": {str(said)[:_SHOWN]}"


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """Return the seconds that a service asks to wait: a number, or a date."""
    value = error.headers.get("Retry-After") if error.headers else None
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
