"""Paraphrases from an OpenAI-compatible service: several sentences a prompt, a strict answer.

A request is tried again while that can help.
"""

import json
import random
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.auto import ParaphraseCandidate
from genie_dp.paraphrase.journal import Journal, Usage, key_of
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.resources import data_folder
from genie_dp.texts import is_whole, read_text

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AGAIN = frozenset((408, 409, 425, 429))  # and all of 500 and above
_LONGEST_WAIT = 120.0  # seconds between two tries, whatever the service asks for
_MOST_SHOWN = 300  # characters of what a service says
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
        first_wait: seconds before the second try; doubled each time, unless the service sets it.
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
class ServiceAnswer:
    """The answer of a service."""

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

    def ask(self, messages: Sequence[Message]) -> ServiceAnswer:
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
                return _answer(self._post(body))
            except urllib.error.HTTPError as error:
                trouble, seconds = f"{error.code} {error.reason}", _retry_after(error)
                if error.code not in _AGAIN and error.code < 500:
                    raise self._refusal(error) from None
            except (OSError, HTTPException, *_NO_COMPLETION) as error:
                # Dropped connections, time-outs, and answers that are no chat completion.
                trouble, seconds = f"{type(error).__name__}: {error}", None
            if attempt == self.service.retries or self._stopped.is_set():
                break
            self._pause(attempt, seconds)
        raise self._failure(attempt + 1, trouble)

    def _post(self, body: bytes) -> Any:
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

    def _pause(self, attempt: int, seconds: float | None) -> None:
        with self._lock:
            self.retried += 1
        # Up to a quarter more, so that threads that failed together do not come back together.
        wait = self.service.first_wait * 2**attempt * (1 + random.random() / 4)
        self._sleep(min(_LONGEST_WAIT, wait if seconds is None else max(seconds, 0.0)))

    def _refusal(self, error: urllib.error.HTTPError) -> GenieError:
        reason = self._without_key(_reason_of(error))
        hints = {
            401: "is the key in the environment variable right?",
            403: "may this key use the model?",
            404: "are --base-url and --model right?",
        }
        message = f"the service refuses the request: {error.code} {error.reason}{reason}"
        return GenieError(Problem("P151", message, hint=hints.get(error.code)))

    def _failure(self, tries: int, trouble: str) -> GenieError:
        times = "1 try" if tries == 1 else f"{tries} tries"
        message = f"no answer from the service in {times}; the last: "
        hint = "the answers so far are kept; go on with --resume"
        return GenieError(
            Problem("P152", message + self._without_key(trouble)[:_MOST_SHOWN], hint=hint)
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self.service.key, "***") if self.service.key else text


def _opener(service: Service) -> urllib.request.OpenerDirector:
    """Return the opener of addresses: those of this machine never by way of a proxy.

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


def _answer(read: Any) -> ServiceAnswer:
    text = read["choices"][0]["message"]["content"]
    if not isinstance(text, str):
        raise TypeError("the answer has no text")
    usage = read.get("usage") or {}
    return ServiceAnswer(
        text,
        Usage(1, int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)),
    )


def _reason_of(error: urllib.error.HTTPError) -> str:
    try:
        read = json.loads(error.read())
        message = read["error"]["message"] if "error" in read else read["message"]
    except (OSError, HTTPException, *_NO_COMPLETION):
        return ""
    return f": {str(message)[:_MOST_SHOWN]}"


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


NUMBER = "{number}"
_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_MALFORMED_TRIES = 2
PER_PROMPT = 8
_AHEAD = 4  # prompts read ahead for each that is under way


def shipped_prompt() -> str:
    """Return the instructions that are shipped."""
    return read_text(data_folder("paraphrase/data") / "prompt.txt")


@dataclass(slots=True)
class EndpointParaphraser:
    """Asks a service, and keeps its answers in a journal.

    Attributes:
        instructions: the instructions to the service; {number} is how many paraphrases are wanted.
        per_prompt: sentences of one prompt.
        at_once: requests under way at one time.
        malformed: answers that were not as asked for.
    """

    client: Client
    journal: Journal
    instructions: str
    number: int = 3
    per_prompt: int = PER_PROMPT
    at_once: int = 4
    malformed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Check the instructions (P154)."""
        if NUMBER not in self.instructions:
            hint = "say how many paraphrases are wanted: {number}"
            raise GenieError(Problem("P154", "the prompt does not hold {number}", hint=hint))

    @property
    def name(self) -> str:
        """Return the name of the paraphraser."""
        return f"endpoint:{self.client.service.model}"

    def candidates(
        self, rows: Iterable[ShownRow]
    ) -> Iterator[tuple[ShownRow, tuple[ParaphraseCandidate, ...]]]:
        """Yield each row with the service's paraphrases.

        Raises:
            GenieError: P151 or P152; earlier answers are in the journal.
        """
        unread = iter(rows)
        with ThreadPoolExecutor(self.at_once) as pool:
            while window := list(islice(unread, self.per_prompt * self.at_once * _AHEAD)):
                unanswered = dict.fromkeys(
                    shown_row.sentence
                    for shown_row in window
                    if self._key(shown_row.sentence) not in self.journal.answers
                )
                sentences, size = list(unanswered), self.per_prompt
                prompts = [sentences[i : i + size] for i in range(0, len(sentences), size)]
                try:
                    for _ in pool.map(self._ask, prompts):
                        pass
                except BaseException:
                    self.client.stop()
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
                for shown_row in window:
                    texts = self.journal.answers[self._key(shown_row.sentence)]
                    yield (
                        shown_row,
                        tuple(ParaphraseCandidate(text, (self.name,), True) for text in texts),
                    )

    def _key(self, sentence: str) -> str:
        service = self.client.service
        return key_of(sentence, self.instructions, self.number, service.model, service.temperature)

    def _ask(self, sentences: Sequence[str]) -> None:
        """Have sentences paraphrased and keep the answers; one by one if it does not work."""
        usage = Usage()
        for _ in range(_MALFORMED_TRIES):
            answer = self.client.ask(self._messages(sentences))
            usage += answer.usage
            read = read_answer(answer.text, len(sentences))
            if read is not None:
                pairs = zip(sentences, read, strict=True)
                self.journal.add({self._key(s): texts for s, texts in pairs}, usage)
                return
            with self.lock:
                self.malformed += 1
        if len(sentences) == 1:
            self.journal.add({self._key(sentences[0]): ()}, usage)
            return
        self.journal.add({}, usage)
        for sentence in sentences:
            self._ask([sentence])

    def _messages(self, sentences: Sequence[str]) -> list[dict[str, str]]:
        listed = "\n".join(f"{n}. {_one_line(s)}" for n, s in enumerate(sentences, 1))
        instructions = self.instructions.replace(NUMBER, str(self.number))
        return [{"role": "system", "content": instructions}, {"role": "user", "content": listed}]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_answer(text: str, count: int) -> tuple[tuple[str, ...], ...] | None:
    """Return the paraphrases of each sentence, or None where the answer is not as asked for.

    >>> read_answer('{"1": ["a b"], "2": ["c", "d"]}', 2)
    (('a b',), ('c', 'd'))
    >>> read_answer('{"1": ["a b"]}', 2), read_answer("Sure! Here you are:", 1)
    (None, None)
    """
    fenced = _FENCE.match(text)
    try:
        read = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    keys = [str(number) for number in range(1, count + 1)]
    if not isinstance(read, dict) or sorted(read) != sorted(keys):
        return None
    lists = [read[key] for key in keys]
    if not all(
        isinstance(texts, list) and all(isinstance(t, str) and is_whole(t) for t in texts)
        for texts in lists
    ):
        return None
    return tuple(tuple(_one_line(text) for text in texts if text.strip()) for texts in lists)
