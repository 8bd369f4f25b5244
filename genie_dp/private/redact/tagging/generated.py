"""Sentences with known secrets, made of frames and values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from random import Random

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.private.redact.tagging.values import CAPITALS, MAKERS, Lists
from genie_dp.rng import stream

# Placeholders of our rows -> the kind of their values; values of all others are no secrets.
PLACEHOLDERS = {
    "PHONE_NUMBER": "phone",
    "EMAIL_ADDRESS": "email",
    "CONTACT": "person",
    "CONTACT_NAME": "person",
    "PERSON": "person",
    "LOCATION": "address",
    "DATE": "date",
}
_PLACEHOLDER = re.compile(r"(?<!\w)([A-Z]+(?:_[A-Z]+)*)_\d+(?!\w)")
_WEIGHT = re.compile(r"(\d+) (.*)")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_VALUE = re.compile(r"\{(=?)(\w+)\}")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with its secrets: the kind that detectors are trained and measured on.

    Attributes:
        text: the text.
        spans: (start, end, kind) in characters, in order.
    """

    text: str
    spans: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Frames:
    """Sentences with places for values.

    Attributes:
        texts: a frame as often as it weighs.
    """

    texts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, file: str, lists: Iterable[str]) -> "Frames":
        """Return the frames of a text.

        Raises:
            GenieError: a place names no list and no kind (E011), or there are no frames.
        """
        known = {*lists, *MAKERS}
        out, problems = [], []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            weight, frame = m.groups() if (m := _WEIGHT.match(line)) else ("1", line)
            out += [frame.strip()] * int(weight)
            for place in _VALUE.finditer(line):
                if place[2] not in known:
                    span = Span(file, number, place.start() + 1, number, place.end() + 1)
                    hint = f"known are {', '.join(sorted(known))}"
                    message = f"no values of {place[2]!r} are known"
                    problems.append(Problem("E011", message, span, hint))
        if not out:
            problems.append(Problem("E011", f"{file} holds no sentences"))
        if problems:
            raise GenieError(problems, sources={file: text})
        return cls(tuple(out))

    @classmethod
    def shipped(cls, lists: Iterable[str]) -> "Frames":
        """Return those of the package."""
        path = files("genie_dp.private.redact.tagging") / "frames.txt"
        return cls.parse(path.read_text(encoding="utf-8"), "frames.txt", lists)

    def with_rows(self, utterances: Sequence[str]) -> "Frames":
        """Return the frames with sentences of rows, each of the weight of one frame.

        Their placeholders become places for values.
        """
        frames = tuple(_frame(text) for text in utterances)
        return Frames((*self.texts, *frames)) if frames else self


def _frame(utterance: str) -> str:
    """Return a sentence of a row as a frame.

    >>> _frame("mail EMAIL_ADDRESS_0 about NUMBER_1")
    'mail {email} about {=number}'
    """

    def place(match: re.Match[str]) -> str:
        kind = PLACEHOLDERS.get(match[1])
        return f"{{{kind}}}" if kind else "{=number}" if match[1] == "NUMBER" else "{=product}"

    return _PLACEHOLDER.sub(place, re.sub(r"[{}\[\]]", " ", utterance))


def generated(frames: Frames, lists: Lists, count: int, *, seed: int) -> Iterator[Labelled]:
    """Yield sentences; half of them without any capitals. The same seed gives the same."""
    for i in range(count):
        rng = stream(seed, "tagging", i)
        yield _made(rng.choice(frames.texts), lists, rng)


def _made(frame: str, lists: Lists, rng: Random) -> Labelled:
    frame = _CHOICE.sub(lambda m: _chosen(m[1], rng), frame)
    parts: list[str] = []
    spans, at, length = [], 0, 0
    for match in _VALUE.finditer(frame):
        parts.append(frame[at : match.start()])
        length += len(parts[-1])
        value = _value(match[2], lists, rng)
        if not match[1]:
            spans.append((length, length + len(value), match[2]))
        parts.append(value)
        length += len(value)
        at = match.end()
    text = "".join([*parts, frame[at:]])
    roll = rng.random()
    if roll < 0.4:
        text = text.lower()
    elif roll < 0.9:
        text = re.sub(r"(^|[.?!] )([a-z])|\bi\b", lambda m: m.group().upper(), text)
    # No case mapping here changes how many letters there are, for frames and values are ASCII.
    return _without_double_space(text, spans)


def _chosen(inside: str, rng: Random) -> str:
    """Return one of the choices of a bracket; of a single one, it or nothing."""
    choices = inside.split("|")
    return rng.choice(choices if len(choices) > 1 else [*choices, ""])


def _without_double_space(text: str, spans: list[tuple[int, int, str]]) -> Labelled:
    """Return the text without the gaps that choices left, and its spans."""
    kept = [
        i
        for i, sign in enumerate(text)
        if sign != " " or (0 < i < len(text) - 1 and text[i - 1] != " " and text[i + 1] not in ".")
    ]
    moved = {old: new for new, old in enumerate(kept)}
    return Labelled(
        "".join(text[i] for i in kept),
        tuple((moved[a], moved[b - 1] + 1, kind) for a, b, kind in spans),
    )


def _value(name: str, lists: Lists, rng: Random) -> str:
    if name in MAKERS:
        return MAKERS[name](rng, lists)
    value = rng.choice(lists[name])
    return value.title() if name in CAPITALS else value


def kinds_of(rows: Iterable[Labelled]) -> tuple[str, ...]:
    """Return the kinds of secrets in texts, sorted."""
    return tuple(sorted({kind for row in rows for _, _, kind in row.spans}))


def ascii_lists(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the values that are plain letters: upper and lower case then have the same length."""
    return {
        name: tuple(value for value in values if value.isascii()) for name, values in lists.items()
    }
