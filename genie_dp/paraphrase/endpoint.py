"""Paraphrases from an OpenAI-compatible service: several sentences a prompt, a strict answer."""

import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.auto import Candidate
from genie_dp.paraphrase.auto_journal import Journal, Usage, key_of
from genie_dp.paraphrase.endpoint_client import Client
from genie_dp.paraphrase.shown import Shown
from genie_dp.resources import data_folder
from genie_dp.texts import is_whole, read_text

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
        instructions: what the service is told; {number} is how many paraphrases are wanted.
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
        """Return what the paraphrases are said to be made by."""
        return f"endpoint:{self.client.service.model}"

    def candidates(self, rows: Iterable[Shown]) -> Iterator[tuple[Shown, tuple[Candidate, ...]]]:
        """Yield each row with the service's paraphrases.

        Raises:
            GenieError: P151 or P152; what was answered before is in the journal.
        """
        left = iter(rows)
        with ThreadPoolExecutor(self.at_once) as pool:
            while window := list(islice(left, self.per_prompt * self.at_once * _AHEAD)):
                asked = dict.fromkeys(
                    shown.sentence
                    for shown in window
                    if self._key(shown.sentence) not in self.journal.answers
                )
                prompts = list(_batches(list(asked), self.per_prompt))
                try:
                    for _ in pool.map(self._ask, prompts):
                        pass
                except BaseException:
                    self.client.stop()
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
                for shown in window:
                    texts = self.journal.answers[self._key(shown.sentence)]
                    yield shown, tuple(Candidate(text, (self.name,), True) for text in texts)

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
        told = self.instructions.replace(NUMBER, str(self.number))
        return [{"role": "system", "content": told}, {"role": "user", "content": listed}]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _batches(sentences: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(sentences), size):
        yield sentences[start : start + size]


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
