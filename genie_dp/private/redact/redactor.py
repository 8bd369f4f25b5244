"""Redaction: secrets of data points become masks, and each point goes to its part.

After "Provably Confidential Language Modelling" (Zhao et al., 2022), Algorithm 1, lines 2 to 4. A
text is looked at until nothing more is found in it, so redaction is idempotent.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from genie_dp.languages import get_language
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.spans import (
    MASK,
    Detector,
    Finding,
    Place,
    Policy,
    check_order,
    merge_findings,
    put_masks,
)

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r'"[^"]*"|[^\s"]+|"')
_STRUCTURE = re.compile(r"[@:\[\](){}=<>|]|^(?:&&|;|,|\.)$")
# As many digits make two ways to write a number one number, whatever stands before them.
_DIGITS = 7


def leaves(program: str, language: str) -> tuple[Place, ...]:
    """Return the places where a program holds values: quoted text, and words that are no syntax.

    Where words stand in quotes, others are the language's own, all but those with a digit.

    >>> program = 'now => @com.mail.send ( to = " ann lee " ) param 5551234'
    >>> [program[a:b] for a, b in leaves(program, "thingtalk")]
    ['ann lee', '5551234']
    >>> program = "[IN:CALL [SL:CONTACT ann lee ] ]"
    >>> [program[a:b] for a, b in leaves(program, "sexpr")]
    ['ann lee']
    """
    has_bare_words = get_language(language).has_bare_words
    out: list[Place] = []
    goes_on = False
    for match in _TOKEN.finditer(program):
        token, start, end = match.group(), match.start(), match.end()
        if len(token) > 1 and token[0] == token[-1] == '"':
            inside = token[1:-1]
            start += 1 + len(inside) - len(inside.lstrip())
            end -= 1 + len(inside) - len(inside.rstrip())
            is_leaf, goes_on = start < end, False
        elif not has_bare_words:
            is_leaf = any(map(str.isdigit, token)) and not _STRUCTURE.search(token)
        else:
            is_leaf = token == MASK or not (_STRUCTURE.search(token) or token == '"')
        if is_leaf and goes_on:
            out[-1] = (out[-1][0], end)
        elif is_leaf:
            out.append((start, end))
        goes_on = is_leaf and token[0] != '"' and has_bare_words
    return tuple(out)


def occurrences(text: str, values: Iterable[str]) -> Iterator[Place]:
    """Yield where values stand in a text: the same words, in any case, whatever is between them.

    >>> list(occurrences("Ann  lee, and annie", ["ann lee"]))
    [(0, 8)]
    """
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(text)]
    names = [word for word, _, _ in words]
    for value in values:
        names_of_value = _words(value)
        for i in range(len(words) - len(names_of_value) + 1) if names_of_value else ():
            if names[i : i + len(names_of_value)] == names_of_value:
                yield words[i][1], words[i + len(names_of_value) - 1][2]


def parts(text: str, places: Sequence[Place], values: Iterable[str]) -> Iterator[Place]:
    """Yield the leaves of a program that hold a value or a part of it.

    A leaf inside a value is a secret as a whole ("ann lee" of "dr. ann lee"); so is one with the
    same digits, written otherwise; of other leaves, the words that are a value's.
    """
    for value in values:
        words, digits = _words(value), re.sub(r"\D", "", value)
        for start, end in places:
            leaf = text[start:end]
            if _is_part(leaf, words, digits):
                yield start, end
            else:
                for a, b in _runs(leaf, words):
                    yield start + a, start + b


def _is_part(leaf: str, wanted: list[str], digits: str) -> bool:
    words, own = _words(leaf), re.sub(r"\D", "", leaf)
    if min(len(digits), len(own)) >= _DIGITS and (digits.endswith(own) or own.endswith(digits)):
        return True
    return bool(words) and any(
        wanted[i : i + len(words)] == words for i in range(len(wanted) - len(words) + 1)
    )


def _runs(leaf: str, wanted: list[str]) -> Iterator[Place]:
    """Yield runs of at least two words that a value has in this order, too."""
    pairs = set(zip(wanted, wanted[1:], strict=False))
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(leaf)]
    for word, next_word in zip(words, words[1:], strict=False):
        if (word[0], next_word[0]) in pairs:
            yield word[1], next_word[2]


def _words(text: str) -> list[str]:
    # A mask in a value is nobody's word.
    return [word.casefold() for word in _WORD.findall(text.replace(MASK, " "))]


Part = Literal["private", "public"]


@dataclass(frozen=True, slots=True, repr=False)
class Redacted:
    """A redacted point. It never shows its text.

    Attributes:
        point: with masks.
        part: "private" with a mask, or where the conservative policy takes anything.
        places: by text of the original point, where masks were put.
        found: by text of the original point, the first findings there, by whatever score.
        is_duplicate: whether it was there before.
    """

    point: Point
    part: Part
    places: tuple[tuple[Place, ...], ...]
    found: tuple[tuple[Finding, ...], ...]
    is_duplicate: bool = False

    def __repr__(self) -> str:
        return f"Redacted(part={self.part!r}, ..)"

    @property
    def is_masked(self) -> bool:
        """Return whether there is a mask in the trained text: the utterance or the program."""
        return MASK in self.point.utterance or MASK in (self.point.program or "")

    @property
    def as_duplicate(self) -> "Redacted":
        """Return the point if it is a duplicate: the one mask.

        A point with masks stays as it is. If it became one mask as a whole, it would disclose that
        somebody else has the same secret, though redaction found it (docs/research/redaction.md).
        """
        if self.is_masked:
            return self
        texts = self.point.texts
        trained = len(texts) - len(self.point.fields)
        whole = tuple(((0, len(text)),) if text else () for text in texts[:trained])
        places = (*whole, *self.places[trained:])
        return Redacted(self.point.as_duplicate, "private", places, ((),) * len(texts), True)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Detectors with two policies.

    Attributes:
        detectors: all of them are asked.
        policy: its pieces are masked ("pi").
        conservative: a point of which it takes anything is private ("pi_c").
    """

    detectors: tuple[Detector, ...]
    policy: Policy
    conservative: Policy

    def __post_init__(self) -> None:
        check_order(self.policy, self.conservative)

    def redact(self, given: Sequence[Point]) -> list[Redacted]:
        """Return the redaction of each point; it depends on that point alone."""
        work = [_Work(point) for point in given]
        waiting = work
        while waiting:
            self._look(waiting)
            waiting = [row for row in waiting if row.mask(self.policy)]
        return [self._done(row) for row in work]

    def text(self, text: str) -> str:
        """Return a text with masks in it."""
        return self.redact([Point(text)])[0].point.utterance

    def _look(self, work: Sequence["_Work"]) -> None:
        """Ask the detectors about all texts as they are now."""
        pieces = [piece for row in work for piece in row.pieces()]
        texts = [text for _, _, _, text in pieces]
        for row in work:
            row.found = [[] for _ in row.original]
        for findings in (detector.find(texts) for detector in self.detectors):
            for (row, place, start, _), all_of_it in zip(pieces, findings, strict=True):
                row.found[place] += [
                    Finding(x.start + start, x.end + start, x.kind, x.score, x.detector)
                    for x in all_of_it
                ]

    def _done(self, one: "_Work") -> Redacted:
        texts = one.texts()
        # Fields that are kept beside them are not what is trained on.
        count = len(texts) - len(one.point.fields)
        caught = self.conservative.every_text or any(MASK in text for text in texts[:count])
        for now, findings in ((one.original, one.first), (texts, one.found)):
            caught = caught or any(
                self.conservative.taken(now[i], findings[i]) for i in range(count)
            )
        return Redacted(
            one.point.with_texts(texts),
            "private" if caught else "public",
            tuple(one.places),
            tuple(map(tuple, one.first)),
        )


@dataclass(slots=True, repr=False)
class _Work:
    """A point while it is looked at.

    Attributes:
        original: its texts.
        places: by text, where masks are, in the original's characters.
        found: by text, the last findings, in the characters of the text as it is now.
        first: the first findings.
    """

    point: Point
    original: tuple[str, ...] = ()
    places: list[tuple[Place, ...]] = field(default_factory=list)
    found: list[list[Finding]] = field(default_factory=list)
    first: list[list[Finding]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.original = self.point.texts
        self.places = [()] * len(self.original)

    def texts(self) -> list[str]:
        return [
            put_masks(text, masks) for text, masks in zip(self.original, self.places, strict=True)
        ]

    def pieces(self) -> Iterator[tuple["_Work", int, int, str]]:
        """Yield the texts for detectors: itself, number of the text, first character, the piece."""
        for place, text in enumerate(self.texts()):
            if place == self._program:
                for start, end in leaves(text, self.point.language):
                    yield self, place, start, text[start:end]
            else:
                yield self, place, 0, text

    @property
    def _program(self) -> int:
        return -1 if self.point.program is None else 1

    def mask(self, policy: Policy) -> bool:
        """Mask the findings that a policy takes, everywhere in the point; return whether any is."""
        self.first = self.first or self.found
        texts, before = self.texts(), list(self.places)
        for i, text in enumerate(texts):
            places = merge_findings(text, policy.taken(text, self.found[i]))
            self._add(i, places)
        self._spread()
        return self.places != before

    def _spread(self) -> None:
        """Mask the secrets of each text in all others, until there is none."""
        while True:
            before = list(self.places)
            values = [
                text[a:b]
                for text, masks in zip(self.original, self.places, strict=True)
                for a, b in masks
            ]
            for i, text in enumerate(self.texts()):
                spans_of_text = set(occurrences(text, values))
                if i == self._program:
                    spans_of_text.update(parts(text, leaves(text, self.point.language), values))
                self._add(i, _unite(text, spans_of_text))
            if self.places == before:
                return

    def _add(self, i: int, places: Iterable[Place]) -> None:
        """Put masks to places of a text as it is now."""
        new = [_original(place, self.places[i]) for place in places]
        self.places[i] = _overlapping([*self.places[i], *new])


def _unite(text: str, places: Iterable[Place]) -> tuple[Place, ...]:
    return merge_findings(text, (Finding(a, b, "value", 1.0, "") for a, b in places))


def _original(place: Place, places: Sequence[Place]) -> Place:
    """Return the place in the original of one in the text that has masks in `places`.

    >>> _original((7, 9), [(0, 1)]), _original((2, 8), [(0, 4)])
    ((2, 4), (0, 6))
    """
    start, end, shift = place[0], place[1], 0
    first, last = None, None
    for a, b in places:
        mask_start = a + shift
        if first is None and start < mask_start + len(MASK):
            first = start - shift if start <= mask_start else a
        if last is None and end <= mask_start + len(MASK):
            last = end - shift if end <= mask_start else b
        shift += len(MASK) - (b - a)
    return (
        start - shift if first is None else first,
        end - shift if last is None else last,
    )


def _overlapping(places: Iterable[Place]) -> tuple[Place, ...]:
    """Return places in order, those that overlap as one."""
    out: list[Place] = []
    for start, end in sorted(places):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)
