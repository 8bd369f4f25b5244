"""Canaries: invented secrets that are put into a training text, and the space they come from.

With a coin, each is put in or left out, once, and an attack guesses which (Steinke, Nasr and
Jagielski 2023). Few things distinguish a model's rows as well as rare words: so words may be those
of public rows, which the model has in its vocabulary.

Carlini et al., "The Secret Sharer" (2019), section 4; ten of them, 20 times each, in "Provably
Confidential Language Modelling" (2022), section 5.1. Here each comes once by default: a claim about
20 copies together is next to nothing (`claims.Claim.of_copies`).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.config import TEMPLATE, PutCanaries
from genie_dp.private.source import PrivateRow
from genie_dp.rng import stream
from genie_dp.rows import read_rows
from genie_dp.run.files import for_owner_alone, open_bytes
from genie_dp.run.stage import Output, Result

SCHEMA = "genie-dp.canaries/1"
# More candidates take hours to rank, and memory of 8 bytes each.
MOST = 20_000_000
# No more can be drawn from.
_ALL = 2**63 - 1
# A hundred short words, so that three of them make a million candidates.
_SPACED = """
acorn amber anvil apple arrow badge baker basin beach berry birch blade board bread brick brook
brush cabin camel candle canoe cargo castle cedar chain chalk cherry cliff cloud clover coast
comet copper coral cotton crane crown dairy daisy delta desert eagle ember engine falcon feather
fiddle flame forest fossil galaxy garden glacier goose granite hammer harbor hazel helmet honey
island ivory jacket jungle kettle ladder lantern lemon linen lotus magnet maple marble meadow
mirror monk needle nickel oasis olive orchid otter paddle pearl pebble pepper pilot planet
pocket prairie quartz rabbit ribbon river saddle salmon silver spruce sugar thimble
"""
WORDS = tuple(_SPACED.split())
_NUMBER = "{number}"
_SLOT = re.compile(r"\{(digits:[1-9]|word)\}")


@dataclass(frozen=True, slots=True)
class CanaryTemplate:
    """A text with slots: `{digits:6}` for so many digits, `{word}` for one of some words.

    Attributes:
        text: the template.
        words: that stand for a word.

    >>> template = CanaryTemplate("My ID is {digits:2} !")
    >>> template.size, template.fill(7)
    (100, 'My ID is 07 !')
    >>> CanaryTemplate("{word} {word} {word}").size
    1000000
    """

    text: str
    words: tuple[str, ...] = field(default=WORDS, repr=False)

    def __post_init__(self) -> None:
        """Refuse a template without slots, or with more candidates than have numbers (N051)."""
        rest = _SLOT.sub("", self.text)
        if not self.slots or "{" in rest or "}" in rest:
            message = f"expected a template with slots {{digits:N}} or {{word}}, got {self.text!r}"
            raise GenieError(Problem("N051", message, hint=f"such as {TEMPLATE!r}"))
        if not 2 <= self.size <= _ALL:
            message = f"a template of {self.size:,} candidates"
            raise GenieError(
                Problem("N051", message, hint="fewer than 2^63: fewer slots, or words")
            )

    def check_ranked(self) -> None:
        """Refuse a template of too many candidates to rank all of them (N051)."""
        if self.size > MOST:
            message = f"a template of {self.size:,} candidates; all of them are ranked"
            hint = f"at most {MOST:,}: fewer slots; or toss a coin for each canary: --coin"
            raise GenieError(Problem("N051", message, hint=hint))

    @property
    def slots(self) -> tuple[str, ...]:
        """Return the slots in their order."""
        return tuple(match[1] for match in _SLOT.finditer(self.text))

    @property
    def size(self) -> int:
        """Return how many candidates there are."""
        return prod(self._values(slot) for slot in self.slots)

    def fill(self, number: int) -> str:
        """Return a candidate by its number, the last slot running fastest."""
        values = []
        for slot in reversed(self.slots):
            number, digit = divmod(number, self._values(slot))
            values.append(self.words[digit] if slot == "word" else f"{digit:0{slot[-1]}d}")
        filled = iter(reversed(values))
        return " ".join(_SLOT.sub(lambda _: next(filled), self.text).split())

    def number(self, text: str) -> int | None:
        """Return the number of a candidate, None for another text.

        >>> template = CanaryTemplate("{word} {digits:1}")
        >>> template.number(template.fill(123)), template.number("x 1")
        (123, None)
        """
        plain = " ".join(self.text.split())
        first, *rest = map(re.escape, re.split(r"\{[^}]*\}", plain))
        slots = zip(map(self._pattern_of, self.slots), rest, strict=True)
        match = re.fullmatch(first + "".join(f"({slot}){part}" for slot, part in slots), text)
        if match is None:
            return None
        number = 0
        for slot, value in zip(self.slots, match.groups(), strict=True):
            digit = self.words.index(value) if slot == "word" else int(value)
            number = number * self._values(slot) + digit
        return number

    def _pattern_of(self, slot: str) -> str:
        """Return the pattern of a slot's values; of our words none begins another."""
        return "|".join(map(re.escape, self.words)) if slot == "word" else f"[0-9]{{{slot[-1]}}}"

    def _values(self, slot: str) -> int:
        return len(self.words) if slot == "word" else 10 ** int(slot[-1])


@dataclass(frozen=True, slots=True)
class Canaries:
    """The canaries that were put into a training text.

    Attributes:
        template: they are all of it.
        numbers: of the candidates that were chosen, none twice.
        repeats: how often each was put in.
        program: the program of their rows, None for none.
        fields: further fields of their rows; `{number}` in them is the number of a canary.
        seed: they were drawn with.
        coins: whether each was put in; None where all were.
    """

    template: CanaryTemplate
    numbers: tuple[int, ...]
    repeats: int = 20
    program: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    coins: tuple[bool, ...] | None = None

    @property
    def are_units(self) -> bool:
        """Return whether each canary is a unit of its own, by a field with its number."""
        return any(_NUMBER in text for text in self.fields.values())

    @property
    def placed(self) -> tuple[int, ...]:
        """Return the places of those that were put in."""
        coins = self.coins or (True,) * len(self.numbers)
        return tuple(place for place, is_in in enumerate(coins) if is_in)

    @property
    def rows(self) -> tuple[PrivateRow, ...]:
        """Return each canary once."""
        return tuple(PrivateRow(self.template.fill(n), self.program) for n in self.numbers)

    def candidates(self, first: int, last: int) -> Iterator[PrivateRow]:
        """Yield the candidates of some numbers."""
        return (PrivateRow(self.template.fill(n), self.program) for n in range(first, last))

    def save(self, path: Path) -> None:
        """Write the file that an audit reads."""
        facts = {**asdict(self), "schema": SCHEMA, "template": self.template.text}
        if self.template.words != WORDS:
            facts["words"] = list(self.template.words)
        facts["texts"] = [row.utterance for row in self.rows]
        path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def new_canaries(
    template: CanaryTemplate,
    *,
    count: int = 200,
    repeats: int = 1,
    program: str | None = None,
    fields: dict[str, str] | None = None,
    seed: int = 0,
    coin: bool = False,
) -> Canaries:
    """Return canaries drawn uniformly, without putting back.

    Raises:
        GenieError: there are not so many candidates (N051).
    """
    if count > template.size:
        message = f"expected at most {template.size:,} canaries of {template.text!r}, got {count:,}"
        raise GenieError(Problem("N051", message))
    numbers = tuple(stream(seed, "canaries", template.text).sample(range(template.size), count))
    coins = None
    if coin:
        tosses = stream(seed, "canaries", "coins")
        coins = tuple(tosses.random() < 1 / 2 for _ in numbers)
    return Canaries(template, numbers, repeats, program, dict(fields or {}), seed, coins)


def load_canaries(path: Path) -> Canaries:
    """Return the canaries of a file.

    Raises:
        GenieError: it is none that `save` wrote (N052).
    """
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if facts["schema"] != SCHEMA:
            raise ValueError(f"the schema {facts['schema']!r}")
        words = tuple(map(str, facts.get("words", WORDS)))
        canaries = canaries_of(facts["template"], facts["texts"], words=words)
        coins = facts.get("coins")
        if coins is not None and [type(coin) for coin in coins] != [bool] * len(facts["texts"]):
            raise ValueError("coins that are not one for each text")
        repeats, seed = int(facts["repeats"]), int(facts["seed"])
        program, fields = facts["program"], dict(facts["fields"])
        if repeats < 1 or not isinstance(program, str | None):
            raise ValueError(f"{repeats} repeats, and the program {program!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"expected canaries in {path}, got: {error}"
        hint = "name a file that genie-dp private canaries wrote with --record"
        raise GenieError(Problem("N052", message, hint=hint)) from None
    tossed = None if coins is None else tuple(coins)
    return Canaries(canaries.template, canaries.numbers, repeats, program, fields, seed, tossed)


def canaries_of(
    template: str, texts: Sequence[str], *, repeats: int = 20, words: tuple[str, ...] = WORDS
) -> Canaries:
    """Return the canaries of texts.

    Raises:
        ValueError: a text is no candidate of the template, or there are none.
    """
    whole = CanaryTemplate(template, words)
    numbers = [whole.number(" ".join(str(text).split())) for text in texts]
    if not numbers or None in numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"texts that are not all different ones of {template!r}")
    return Canaries(whole, tuple(number for number in numbers if number is not None), repeats)


def place_canaries(lines: int, canaries: Canaries) -> dict[int, list[int]]:
    """Return before which line which canaries come, by their place in `numbers`, at random."""
    rng = stream(canaries.seed, "canaries", "places")
    before: dict[int, list[int]] = {}
    for _, place in product(range(canaries.repeats), canaries.placed):
        before.setdefault(rng.randint(0, lines), []).append(place)
    return before


# ------------------------------------------------------------------------------------ the stage


@dataclass(frozen=True, slots=True)
class CanaryResult(Result):
    """Canaries that were put into a training text.

    Attributes:
        output: the rows with the canaries among them.
        record: their description, for an audit.
        canaries: the same.
    """

    output: str
    record: Path
    canaries: Canaries = field(repr=False)

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        count = len(self.canaries.numbers)
        rows = len(self.canaries.placed) * self.canaries.repeats
        yield f"{rows:,} rows of {count:,} canaries -> {self.output}, {self.record}"


def run(stage: PutCanaries, output: Output, *, progress: bool | None = None) -> CanaryResult:
    """Put canaries into a training text, JSONL or lines of a .txt, at places drawn by chance.

    Raises:
        GenieError: a file is named twice or exists (Y022), the rows are of another format (N052),
            the template is none or has too few candidates (N051).
    """
    rows, record = stage.rows, stage.record
    for path in (Path(output.target), record):
        names = [name.resolve() for name in (rows, Path(output.target), record)]
        if names.count(path.resolve()) > 1:
            raise GenieError(Problem("Y022", f"{path} is named twice", hint="give another name"))
    output.refuse_existing(record, hint="give another name, or --overwrite")
    if rows.suffix not in (".jsonl", ".json", ".txt"):
        message = f"expected JSONL or a .txt, got {rows.name}"
        raise GenieError(
            Problem("N052", message, hint="genie-dp data convert makes JSONL of others")
        )
    canaries = new_canaries(
        _template(stage),
        count=stage.count or (1000 if stage.coin else 200),
        repeats=stage.repeats,
        program=stage.program,
        fields=dict(stage.fields),
        seed=stage.seed,
        coin=stage.coin,
    )
    with for_owner_alone():
        # The record comes first: rows without it would hold canaries that nobody knows of.
        partial = record.with_name(f".{record.name}.partial")
        canaries.save(partial)
        partial.replace(record)
        with open_bytes(output.target) as out:
            _merge_lines(rows, canaries, out)
    return CanaryResult(output.target, record, canaries)


def _template(stage: PutCanaries) -> CanaryTemplate:
    """Return the template; one of too many candidates to rank is for coins alone."""
    text, words = stage.text, stage.words
    template = CanaryTemplate(text) if words is None else CanaryTemplate(text, words_of(words))
    if words is not None and "}{" in text:
        message = f"words of rows would run into each other in {text!r}"
        raise GenieError(Problem("N051", message, hint="put a space between the slots"))
    if not stage.coin:
        template.check_ranked()
    return template


def words_of(path: Path) -> tuple[str, ...]:
    """Return the different words of letters in public rows, sorted.

    Raises:
        GenieError: fewer than two (N052), or those of reading rows.
    """
    if path.suffix == ".txt":
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    else:
        texts = [row.utterance for row in read_rows(str(path))]
    words = tuple(sorted({word for text in texts for word in text.split() if word.isalpha()}))
    if len(words) < 2:
        message = f"expected public rows with words in {path}, got {len(words)} words"
        raise GenieError(Problem("N052", message))
    return words


def _merge_lines(rows: Path, canaries: Canaries, out: BinaryIO) -> None:
    """Write the lines of a file with canaries between them; no line is read, or changed."""
    with rows.open("rb") as lines:
        count = sum(1 for _ in lines)
    places = place_canaries(count, canaries)
    is_text = rows.suffix == ".txt"
    new_lines = [
        _line_of(row.utterance, number, canaries, is_text=is_text)
        for number, row in enumerate(canaries.rows)
    ]
    with rows.open("rb") as lines:
        for number, line in enumerate(lines):
            out.writelines(new_lines[place] for place in places.get(number, ()))
            out.write(line if line.endswith(b"\n") else line + b"\n")
    out.writelines(new_lines[place] for place in places.get(count, ()))


def _line_of(text: str, number: int, canaries: Canaries, *, is_text: bool) -> bytes:
    if is_text:
        return text.encode() + b"\n"
    row = {"utterance": text}
    if canaries.program is not None:
        row["program"] = canaries.program
    named = {name: value.replace(_NUMBER, str(number)) for name, value in canaries.fields.items()}
    return json.dumps({**row, **named}, ensure_ascii=False).encode() + b"\n"
