"""The reader with Duckling: what the grammar knows, and the dates that it does not."""

import importlib.util
import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from genie_dp.augment.written.dates import MONTHS
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.thingtalk.slots import is_slot
from genie_dp.parser.reading.choose import chosen
from genie_dp.parser.reading.days import recurs
from genie_dp.parser.reading.duckling_process import DucklingProcess
from genie_dp.parser.reading.grammar_reader import GrammarReader, checked_sentence, read_choices
from genie_dp.parser.reading.phrases import NO_PHRASES, Phrases
from genie_dp.parser.reading.reading import LOCALE, Candidate, Locale, Reading
from genie_dp.parser.reading.sentence import Sentence, words_of

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
_ZONES = words_of("utc gmt bst cet cest est edt cst cdt mst mdt pst pdt ist jst")
_COUNTED = frozenset(("days", "weeks", "months", "years", "hours", "minutes"))
_ALONE = [[month] for month in MONTHS]
_BEFORE = frozenset(("on", "at", "in", "for"))
_AROUND = 4  # tokens on each side of a trigger
_MOST_PHRASES = 4  # adjacent ones; with 6 Duckling takes 0.5 s, with 8 over 20 s (November 2026)
_MOST_WINDOWS = 8


class DucklingReader:
    """Reads as GrammarReader does, and asks Duckling for further dates ("the last day of may")."""

    def __init__(self, phrases: Phrases = NO_PHRASES, *, deadline: float = 1.0):
        """Look that the libraries are there; Duckling's process starts when it is first needed.

        Args:
            phrases: what the skills say with words that are values elsewhere.
            deadline: seconds for an answer of Duckling; a later one is not waited for.

        Raises:
            GenieError: I001, the extra `read` is not installed; I003, Duckling is not.
        """
        self._grammar = GrammarReader(phrases)
        self.process = DucklingProcess(deadline=deadline)
        for module, package in (
            ("duckling", "pyduckling-native-phihos==0.3.0"),
            ("tzdata", "tzdata"),
        ):
            if importlib.util.find_spec(module) is None:
                message = f"reading with Duckling needs {package}, which is not installed"
                hint = f"pip install {package}, or read with the grammar alone"
                raise GenieError(Problem("I003", message, hint=hint))

    def read(self, text: str, *, now: datetime, locale: Locale = LOCALE) -> Reading:
        """Return the likeliest reading of a text; see `Reader`."""
        return self.readings(text, now=now, locale=locale, most=1)[0]

    def readings(
        self, text: str, *, now: datetime, locale: Locale = LOCALE, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first; see `Reader`."""
        s = checked_sentence(text, locale)
        candidates = list(self._grammar.candidates(s, now))
        candidates.extend(self._more(s, now, candidates))
        return read_choices(s, candidates, most=most, phrases=self._grammar.phrases)

    def close(self) -> None:
        """End Duckling's process."""
        self.process.close()

    def _more(self, s: Sentence, now: datetime, known: list[Candidate]) -> Iterator[Candidate]:
        """Yield the times that are longer than those of the grammar."""
        spans = windows(s)
        answers = self.process.ask([masked(s, span) for span in spans], now)
        for (first, end), found in zip(spans, answers or (), strict=False):
            for entity in found:
                candidate = _candidate(s, entity, s.starts[first], s.ends[end - 1])
                if candidate is None or not _is_whole(s, candidate) or _recurs(s, candidate):
                    continue
                if not _is_known(candidate, known) and not _is_several(candidate, known):
                    yield candidate


def _is_whole(s: Sentence, one: Candidate) -> bool:
    """Tell whether a time begins and ends where tokens do: "5 yesterday" of "$5 yesterday" not."""
    return one.start in s.starts and one.end in s.ends


def _recurs(s: Sentence, one: Candidate) -> bool:
    """Tell whether "every" stands before a time: then it is no date."""
    return recurs(s, bisect_left(s.starts, one.start))


def windows(s: Sentence) -> tuple[tuple[int, int], ...]:
    """Return the places (first, end) of a sentence that Duckling is asked for.

    None holds more than four triggers, and there are no more than eight.
    """
    found: list[tuple[int, int]] = []
    triggers = 0
    for at, word in enumerate(s.words):
        s.work[0] += 1
        if word not in _TRIGGERS and _CLOCK.fullmatch(word) is None:
            continue
        first, end = max(0, at - _AROUND), min(len(s.words), at + _AROUND + 1)
        if found and first < found[-1][1] and triggers < _MOST_PHRASES:
            found[-1] = (found[-1][0], end)
            triggers += 1
            continue
        first = max(first, found[-1][1] if found else 0)
        triggers = 1
        if first < end:
            found.append((first, end))
    return tuple(found[:_MOST_WINDOWS])


def masked(s: Sentence, span: tuple[int, int]) -> str:
    """Return the text of a window; placeholders become letters, for their digits are no numbers."""
    start = s.starts[span[0]]
    text = s.text[start : s.ends[span[1] - 1]]
    for at in range(*span):
        if is_slot(s.words[at]):
            begin, end = s.starts[at] - start, s.ends[at] - start
            text = text[:begin] + "x" * (end - begin) + text[end:]
    return text


def _candidate(s: Sentence, entity: dict[str, Any], offset: int, last: int) -> Candidate | None:
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
        if all(w in _CLOCK_WORDS or w[:1].isdigit() or _is_spelled(w) for w in words):
            text = f"time:{then.hour}:{then.minute:02d}:{then.second:02d}"
            return Candidate(start, end, "TIME", text)
        return Candidate(start, end, "DATE", f"date:{then.isoformat()}")
    return Candidate(start, end, "DATE", f"date:{then.date().isoformat()}")


def _is_spelled(word: str) -> bool:
    from genie_dp.parser.reading.numbers import SMALL

    return word in SMALL or word in ("half", "quarter", "past")


def _is_several(one: Candidate, known: list[Candidate]) -> bool:
    """Tell whether a candidate swallows two times of day: "5 pm at 5 pm"."""
    inside = [k for k in known if k.stem == "TIME" and one.start <= k.start and k.end <= one.end]
    return len(chosen([k for k in inside if not k.is_weak])) > 1


def _is_known(one: Candidate, known: list[Candidate]) -> bool:
    """Tell whether the grammar has a value that covers, or reaches beyond, a candidate."""
    return any(
        k.start < one.end and one.start < k.end and k.end - k.start >= one.end - one.start
        for k in known
        if not k.is_weak or (k.start, k.end) == (one.start, one.end)
    )
