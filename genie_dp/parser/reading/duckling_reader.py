"""The reader with Duckling: what the grammar knows, and the dates that it does not."""

import importlib.util
import json
import logging
import re
import selectors
import subprocess
import sys
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from genie_dp.augment.written import MONTHS
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.types import is_slot
from genie_dp.parser.reading.choices import CandidateReader, take_longest
from genie_dp.parser.reading.dates import counts_people, recurs
from genie_dp.parser.reading.numbers import SMALL
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import TextTokens, words_of

LOG = logging.getLogger(__name__)
# Seconds until the process answers for the first time: it loads 66 MB.
_START = 20.0


class DucklingProcess:
    """A process that reads times; killed when it is late, started again when it is asked next.

    Attributes:
        deadline: seconds for an answer.
        late: how often it was killed.
    """

    def __init__(self, *, deadline: float = 1.0):
        """Start nothing yet."""
        self.deadline = deadline
        self.late = 0
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def ask(self, texts: Sequence[str], now: datetime) -> list[list[dict[str, Any]]] | None:
        """Return what Duckling finds in each text, None if it took too long or died."""
        if not texts:
            return []
        seconds = int(now.replace(tzinfo=UTC).timestamp())
        request = json.dumps({"texts": list(texts), "time": seconds}) + "\n"
        with self._lock:
            seconds_left = self.deadline
            if self._process is None or self._process.poll() is not None:
                self._stop()
                seconds_left += _START
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "genie_dp.parser.reading.duckling_worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None
            assert stdout is not None
            try:
                stdin.write(request)
                stdin.flush()
            except BrokenPipeError:
                self._stop()
                return None
            with selectors.DefaultSelector() as selector:
                selector.register(stdout, selectors.EVENT_READ)
                # A worker writes a line at once, so that it is whole when there is anything.
                line = stdout.readline() if selector.select(seconds_left) else ""
            if not line:
                self.late += 1
                self._stop()
                LOG.warning("Duckling gave no answer in %.1f s: read without it", seconds_left)
                return None
        answers: list[list[dict[str, Any]]] = json.loads(line)
        return answers

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # what was not written is not wanted any more
                    pipe.close()


# Words around which Duckling is asked; it reads times into many others ("do", "sun", "the one").
_TRIGGERS = words_of(
    """
    monday tuesday wednesday thursday friday saturday sunday january february april june july august
    september october november december today tomorrow yesterday tonight noon midnight am pm week
    weeks weekend month months year years day days quarter ago morning afternoon evening easter
    thanksgiving christmas halloween hour hours minutes fortnight ramadan hanukkah passover diwali
    """
)
# Of what Duckling finds, only what has one of these, or digits with am, pm or a colon.
_TELLING = _TRIGGERS - words_of("hour hours minutes day days week weeks month months year years")
_CLOCK = re.compile(r"\d{1,2}(?::\d\d)?(?:am|pm)|\d{1,2}:\d\d")
_CLOCK_WORDS = words_of("am pm noon midnight o'clock morning afternoon evening night in the at")
_RANGES = words_of("between from to and until till - – through by since every each")
# Duckling takes the place of the person for UTC, and would move the time there.
_SPELLED = frozenset((*SMALL, "half", "quarter", "past"))
_ZONES = words_of("utc gmt bst cet cest est edt cst cdt mst mdt pst pdt ist jst")
_COUNTED = frozenset(("days", "weeks", "months", "years", "hours", "minutes"))
_ALONE = [[month] for month in MONTHS]
_BEFORE = frozenset(("on", "at", "in", "for"))
_AROUND = 4  # tokens on each side of a trigger
_MOST_PHRASES = 4  # adjacent ones; with 6 Duckling takes 0.5 s, with 8 over 20 s (November 2026)
_MOST_WINDOWS = 8


class DucklingReader(CandidateReader):
    """Reads as the grammar does, and asks Duckling for further dates ("the last day of may")."""

    def __init__(self, grammar: CandidateReader, *, deadline: float = 1.0):
        """Look that the libraries are there; Duckling's process starts when it is first needed.

        Args:
            grammar: reads all else.
            deadline: seconds for an answer of Duckling; a later one is not waited for.

        Raises:
            GenieError: I003, Duckling is not installed.
        """
        super().__init__(grammar.phrases, grammar.units, grammar.locale)
        self._grammar = grammar
        self.process = DucklingProcess(deadline=deadline)
        for module, package in (
            ("duckling", "pyduckling-native-phihos==0.3.0"),
            ("tzdata", "tzdata"),
        ):
            if importlib.util.find_spec(module) is None:
                message = f"reading with Duckling needs {package}, which is not installed"
                hint = f"pip install {package}, or read with the grammar alone"
                raise GenieError(Problem("I003", message, hint=hint))

    def candidates(self, s: TextTokens, now: datetime) -> Iterator[Candidate]:
        """Yield all that may be a value."""
        candidates = list(self._grammar.candidates(s, now))
        yield from (*candidates, *self._more(s, now, candidates))

    def close(self) -> None:
        """End Duckling's process."""
        self.process.close()

    def _more(self, s: TextTokens, now: datetime, known: list[Candidate]) -> Iterator[Candidate]:
        """Yield the times that are longer than those of the grammar."""
        spans = windows(s)
        answers = self.process.ask([mask_slots(s, span) for span in spans], now)
        for (first, end), entities in zip(spans, answers or (), strict=False):
            for entity in entities:
                candidate = _candidate(s, entity, s.starts[first], s.ends[end - 1])
                # "5 yesterday" of "$5 yesterday" does not begin where a token does.
                if (
                    candidate is None
                    or candidate.start not in s.starts
                    or candidate.end not in s.ends
                    or _is_other(s, bisect_left(s.starts, candidate.start))
                ):
                    continue
                if not _is_known(candidate, known) and not _is_several(candidate, known):
                    yield candidate


def _is_other(s: TextTokens, at: int) -> bool:
    """Tell whether days recur there, or a number is one of guests."""
    is_number = s.word(at) in SMALL or s.word(at).isdigit()
    return recurs(s, at) or (is_number and counts_people(s, at))


def windows(s: TextTokens) -> tuple[tuple[int, int], ...]:
    """Return the places (first, end) of a sentence that Duckling is asked for.

    None holds more than four triggers, and there are no more than eight.
    """
    spans: list[tuple[int, int]] = []
    triggers = 0
    for i, word in enumerate(s.words):
        s.work[0] += 1
        if word not in _TRIGGERS and _CLOCK.fullmatch(word) is None:
            continue
        first, end = max(0, i - _AROUND), min(len(s.words), i + _AROUND + 1)
        if spans and first < spans[-1][1] and triggers < _MOST_PHRASES:
            spans[-1] = (spans[-1][0], end)
            triggers += 1
            continue
        first = max(first, spans[-1][1] if spans else 0)
        triggers = 1
        if first < end:
            spans.append((first, end))
    return tuple(spans[:_MOST_WINDOWS])


def mask_slots(s: TextTokens, span: tuple[int, int]) -> str:
    """Return the text of a window; placeholders become letters, for their digits are no numbers."""
    start = s.starts[span[0]]
    text = s.text[start : s.ends[span[1] - 1]]
    for i in range(*span):
        if is_slot(s.words[i]):
            begin, end = s.starts[i] - start, s.ends[i] - start
            text = text[:begin] + "x" * (end - begin) + text[end:]
    return text


def _candidate(s: TextTokens, entity: dict[str, Any], offset: int, last: int) -> Candidate | None:
    value = entity["value"]
    start, end = offset + entity["start"], offset + entity["end"]
    words = s.text[start:end].casefold().split()
    while words and words[0] in _BEFORE:
        start += len(words.pop(0))
        start += len(s.text[start:end]) - len(s.text[start:end].lstrip())
    if words[:1] and (words[0] in _COUNTED or words in _ALONE):
        return None  # the number is a placeholder, or the month a name
    is_range = not _RANGES.isdisjoint(words) or words[:1] in (["after"], ["before"])
    if end > last or not words or is_range or not _ZONES.isdisjoint(words):
        return None
    if value.get("type") == "interval":
        value = value.get("from") or {}
    if "value" not in value or "grain" not in value:
        return None
    if _TELLING.isdisjoint(words) and not any(map(_CLOCK.fullmatch, words)):
        return None
    try:
        then = datetime.fromisoformat(value["value"]).replace(tzinfo=None)
    except ValueError:  # a year that no calendar has
        return None
    if value["grain"] in ("hour", "minute", "second"):
        if all(w in _CLOCK_WORDS or w[:1].isdigit() or w in _SPELLED for w in words):
            text = f"time:{then.hour}:{then.minute:02d}:{then.second:02d}"
            return Candidate(start, end, "TIME", text)
        return Candidate(start, end, "DATE", f"date:{then.isoformat()}")
    return Candidate(start, end, "DATE", f"date:{then.date().isoformat()}")


def _is_several(candidate: Candidate, known: list[Candidate]) -> bool:
    """Tell whether a candidate swallows two times of day: "5 pm at 5 pm"."""
    inside = [
        k
        for k in known
        if k.stem == "TIME" and candidate.start <= k.start and k.end <= candidate.end
    ]
    return len(take_longest([k for k in inside if not k.is_weak])) > 1


def _is_known(candidate: Candidate, known: list[Candidate]) -> bool:
    """Tell whether the grammar has a value that covers, or reaches beyond, a candidate."""
    return any(
        k.start < candidate.end
        and candidate.start < k.end
        and k.end - k.start >= candidate.end - candidate.start
        for k in known
        if not k.is_weak or (k.start, k.end) == (candidate.start, candidate.end)
    )
