"""Answers that took time or money, kept in a file: a run that was killed asks for none twice.

A line holds the answers of one request, so that a request is in the journal wholly or not at all.
Lines are only ever added; a partial line of a killed run is cut off.
"""

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.run.files import named_trouble


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of answers: requests, tokens of prompts and tokens of answers."""

    requests: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
        )


@dataclass(slots=True)
class Journal:
    """Answers by key; without a path they are kept in memory only.

    Attributes:
        before: the usage of the answers from before the start.
        now: the usage of the answers since.
        begins_anew: whether the first answer takes the place of the file that is there.
    """

    path: Path | None
    answers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    before: Usage = Usage()
    now: Usage = Usage()
    begins_anew: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, answers: Mapping[str, Sequence[str]], usage: Usage) -> None:
        """Keep the answers of one request; on disk when this returns, should we be killed."""
        line = {
            "answers": {key: list(texts) for key, texts in answers.items()},
            "usage": [usage.requests, usage.prompt_tokens, usage.answer_tokens],
        }
        with self.lock:
            if self.path is not None:
                mode = "w" if self.begins_anew else "a"
                with named_trouble(self.path), self.path.open(mode, encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                self.begins_anew = False
            self.answers.update({key: tuple(texts) for key, texts in answers.items()})
            self.now += usage


def open_journal(path: Path | None, *, resume: bool, overwrite: bool) -> Journal:
    """Return the journal at a path with the answers that are there.

    Raises:
        GenieError: there is one, without a setting for it (P140); a line that is no
            answer (P141).
    """
    if path is None:
        return Journal(path)
    there = path.exists()
    if there and not resume and not overwrite:
        hint = "use them with --resume, or drop them with --overwrite"
        message = f"answers of an earlier run lie in {path}"
        raise GenieError(Problem("P140", message, hint=hint))
    # They may have cost money: a run that fails before its first answer leaves them.
    journal = Journal(path, begins_anew=not resume)
    path.parent.mkdir(parents=True, exist_ok=True)
    if there and resume:
        _read(journal, path)
    return journal


def _read(journal: Journal, path: Path) -> None:
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) != len(content):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            read = json.loads(line)
            answers = {str(key): tuple(map(str, texts)) for key, texts in read["answers"].items()}
            usage = Usage(*map(int, read["usage"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            span = Span(str(path), number, 1, number, 2)
            hint = "start again with --overwrite"
            raise GenieError(Problem("P141", "no line of answers", span, hint)) from None
        journal.answers.update(answers)
        journal.before += usage


def key_of(*parts: object) -> str:
    """Return the key of an answer: a hash of all it depends on.

    >>> key_of("get my files", "prompt", "model") == key_of("get my files", "prompt", "model")
    True
    >>> key_of("a", "bc") == key_of("ab", "c")
    False
    """
    text = json.dumps([str(part) for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
