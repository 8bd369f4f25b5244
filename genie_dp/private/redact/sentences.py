"""Sentences with known secrets: frames, and values in the forms that people write."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from random import Random

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.private.redact.patterns import is_luhn
from genie_dp.private.redact.rows import MOST
from genie_dp.rng import stream
from genie_dp.values.calendar import MONTHS, WEEKDAYS
from genie_dp.values.spelling import cardinal

# Lists by name -> values.
Lists = Mapping[str, Sequence[str]]

_SUFFIXES = (
    "street", "st", "avenue", "ave", "road", "rd", "lane", "drive", "dr", "boulevard", "court",
    "way", "place", "square", "terrace", "trail", "parkway", "mews", "crescent", "row", "well",
    "islands", "junction", "crossing", "forks", "ridges", "manor", "points", "key", "circle",
)  # fmt: skip
_STATES = (
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL",
    "IN", "IA", "KS", "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT",
    "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR", "PA", "RI",
    "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "DC",
)  # fmt: skip
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"


def _digits(rng: Random, count: int) -> str:
    return "".join(rng.choice(_DIGITS) for _ in range(count))


def person(rng: Random, lists: Lists) -> str:
    """Return a name: first, last, both, with an initial or a title."""
    first = rng.choice(lists["person_first_name"]).title()
    last = rng.choice(lists["person_last_name"]).title()
    forms = (
        f"{first} {last}", f"{first} {last}", f"{first} {last}", first, last,
        f"{first} {rng.choice(_LETTERS)}. {last}", f"{first} {last}-{first}", f"{last}, {first}",
    )  # fmt: skip
    return rng.choice(forms)


def address(rng: Random, lists: Lists) -> str:
    """Return an address: street, perhaps a flat, perhaps town, state and code; or a box."""
    name = rng.choice(lists[rng.choice(("person_last_name", "person_first_name", "street"))])
    street = f"{_number(rng)} {name.title()} {rng.choice(_SUFFIXES).title()}"
    if rng.random() < 0.3:
        street += rng.choice((" Apt. {}", " Suite {}", " Unit {}", ", Apt {}")).format(
            _digits(rng, 3)
        )
    roll = rng.random()
    if roll < 0.3:
        return street
    state = f"{rng.choice(_STATES)} {_digits(rng, 5)}"
    if roll < 0.4:
        where = rng.choice(("PSC {}, Box {}", "Unit {} Box {}", "USNS {} FPO {}")).format(
            _digits(rng, 4), _digits(rng, 4)
        )
        return f"{where} {rng.choice(('APO', 'FPO', 'DPO'))} {rng.choice(('AE', 'AP', 'AA'))} " + (
            _digits(rng, 5)
        )
    town = rng.choice(lists[rng.choice(("city", "person_last_name"))]).title()
    if rng.random() < 0.5:
        town = rng.choice(("East ", "West ", "New ", "Port ", "Lake ", "South ", "")) + (
            town + rng.choice(("", "", "ville", "mouth", "borough", "town", "fort", "berg", "land"))
        )
    between = rng.choice((" ", ", ", " "))
    return f"{street}{between}{town}, {state}" if rng.random() < 0.8 else f"{street}, {town}"


def _number(rng: Random) -> str:
    return str(rng.randrange(1, 10 ** rng.randrange(1, 6)))


def phone(rng: Random, lists: Lists) -> str:
    """Return a phone number, most as in North America."""
    a, b, c = _digits(rng, 3), _digits(rng, 3), _digits(rng, 4)
    forms = (
        f"{a}-{b}-{c}", f"({a}) {b}-{c}", f"({a}){b}-{c}", f"{a}.{b}.{c}", f"{a}{b}{c}",
        f"{a} {b} {c}", f"+1 {a} {b} {c}", f"+1{a}{b}{c}", f"1-{a}-{b}-{c}", f"001-{a}-{b}-{c}",
        f"{a}-{b}-{c}x{_digits(rng, 4)}", f"0{_digits(rng, 4)} {_digits(rng, 6)}", f"{b}-{c}",
    )  # fmt: skip
    return rng.choice(forms)


def reference(rng: Random, lists: Lists) -> str:
    """Return a number or code of an order, a parcel, an account, a booking."""
    form = rng.choice(
        ("#" * rng.randrange(4, 13), "@" * rng.randrange(6, 12), "###-#####-####", "##-####-##",
         "@@@####", "@@-######", "####-####", "?" * rng.randrange(6, 12), "?" * 8, "?" * 10)
    )  # fmt: skip
    signs = {"#": _DIGITS, "@": _LETTERS, "?": _LETTERS + _DIGITS}
    return "".join(rng.choice(signs[sign]) if sign in signs else sign for sign in form)


def email(rng: Random, lists: Lists) -> str:
    """Return an address of mail."""
    first, last = (
        rng.choice(lists[f"person_{n}_name"]).replace(" ", "") for n in ("first", "last")
    )
    name = rng.choice((f"{first}.{last}", f"{first}{last}", f"{first[0]}{last}", f"{first}_{last}"))
    name += rng.choice(("", "", _digits(rng, 2)))
    site = rng.choice(("example", "mail", "post", last, "webmail"))
    sign, dot = rng.choice((("@", "."), ("@", "."), (" @ ", " . "), (" at ", " dot ")))
    return f"{name}{sign}{site}{dot}{rng.choice(('com', 'org', 'net'))}"


def card(rng: Random, lists: Lists) -> str:
    """Return the number of a payment card, with its check digit."""
    body = rng.choice("3456") + _digits(rng, 14)
    number = next(body + digit for digit in _DIGITS if is_luhn(body + digit))
    between = rng.choice(("", " ", "-"))
    return between.join(number[i : i + 4] for i in range(0, 16, 4))


def ssn(rng: Random, lists: Lists) -> str:
    """Return a number in the form of the US social security."""
    return rng.choice(("-", " ", "-")).join(_digits(rng, count) for count in (3, 2, 4))


def date(rng: Random, lists: Lists) -> str:
    """Return a day, with or without the year."""
    day, month, year = rng.randrange(1, 29), rng.randrange(12), rng.randrange(1930, 2026)
    name = MONTHS[month].title()
    forms = (
        f"{month + 1}/{day}/{year}", f"{year}-{month + 1:02}-{day:02}", f"{name} {day}, {year}",
        f"{day} {name} {year}", f"{day}.{month + 1}.{year}", f"the {day}th of {name} {year}",
    )  # fmt: skip
    return rng.choice(forms)


def time(rng: Random, lists: Lists) -> str:
    """Return a time of day."""
    hour, minute = rng.randrange(1, 13), rng.choice(("00", "15", "30", "45", _digits(rng, 1) + "5"))
    return rng.choice(
        (f"{hour}:{minute}", f"{hour} {rng.choice(('am', 'pm'))}", f"{hour}:{minute} pm")
    )


def weekday(rng: Random, lists: Lists) -> str:
    """Return the name of a day."""
    return rng.choice(WEEKDAYS).title()


def number(rng: Random, lists: Lists) -> str:
    """Return a small number, in digits or as a word."""
    words = [cardinal(count) for count in (*range(2, 11), 12, 20)]
    return rng.choice((str(rng.randrange(1, 100)), str(rng.randrange(1, 10)), rng.choice(words)))


MAKERS: Mapping[str, Callable[[Random, Lists], str]] = {
    make.__name__: make
    for make in (person, address, phone, reference, email, card, ssn, date, time, weekday, number)
}
# Lists whose values are written with capitals in a text that has any.
CAPITALS = frozenset(("city", "artist", "company", "song", "cuisine"))


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
        names = {*lists, *MAKERS}
        out, problems = [], []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            weight, frame = m.groups() if (m := _WEIGHT.match(line)) else ("1", line)
            out += [frame.strip()] * int(weight)
            for place in _VALUE.finditer(line):
                if place[2] not in names:
                    span = Span(file, number, place.start() + 1, number, place.end() + 1)
                    hint = f"known are {', '.join(sorted(names))}"
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
        path = files("genie_dp.private.redact") / "frames.txt"
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


def make_sentences(frames: Frames, lists: Lists, count: int, *, seed: int) -> Iterator[Labelled]:
    """Yield sentences; half of them without any capitals. The same seed gives the same."""
    for i in range(count):
        rng = stream(seed, "tagging", i)
        yield _make_sentence(rng.choice(frames.texts), lists, rng)


def _make_sentence(frame: str, lists: Lists, rng: Random) -> Labelled:
    frame = _CHOICE.sub(lambda m: _chosen(m[1], rng), frame)
    parts: list[str] = []
    spans, position, length = [], 0, 0
    for match in _VALUE.finditer(frame):
        parts.append(frame[position : match.start()])
        length += len(parts[-1])
        value = _value(match[2], lists, rng)
        if not match[1]:
            spans.append((length, length + len(value), match[2]))
        parts.append(value)
        length += len(value)
        position = match.end()
    text = "".join([*parts, frame[position:]])
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
    places = [
        i
        for i, sign in enumerate(text)
        if sign != " " or (0 < i < len(text) - 1 and text[i - 1] != " " and text[i + 1] not in ".")
    ]
    moved = {old: new for new, old in enumerate(places)}
    return Labelled(
        "".join(text[i] for i in places),
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


def read_labelled(path: Path) -> list[Labelled]:
    """Return labelled texts: JSON rows with `utterance` and `spans`, [[start, end, kind], ..].

    Raises:
        GenieError: the file cannot be read (E008), or a row is none (E014); no text is shown.
    """
    try:
        with path.open("rb") as lines:
            results = list(_read_labelled(lines, str(path)))
    except OSError as error:
        raise GenieError(Problem("E008", f"cannot read {path}: {error.strerror}")) from None
    problems = [result for result in results if isinstance(result, Problem)]
    if problems or not results:
        del results
        raise GenieError(problems[:MOST] or Problem("E014", f"{path} holds no rows"))
    return [result for result in results if isinstance(result, Labelled)]


def _read_labelled(lines: Iterable[bytes], file: str) -> Iterator[Labelled | Problem]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _labelled_row(line)
        if row is None:
            message = "expected a JSON row with utterance and spans [[start, end, kind], ..]"
            hint = "places are characters, the end exclusive, inside the utterance"
            yield Problem("E014", message, Span(file, number, 1, number, 1), hint)
        else:
            yield row


def _labelled_row(line: bytes) -> Labelled | None:
    try:
        data = json.loads(line.decode("utf-8-sig"))
        text, spans = data["utterance"], [tuple(span) for span in data["spans"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    fine = isinstance(text, str) and all(
        len(s) == 3
        and type(s[0]) is int
        and type(s[1]) is int
        and isinstance(s[2], str)
        and 0 <= s[0] < s[1] <= len(text)
        for s in spans
    )
    return Labelled(text, tuple(sorted(spans))) if fine else None
