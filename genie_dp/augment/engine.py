"""Everything that making rows needs, put together; one block of rows at a time."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from json.encoder import encode_basestring

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.expand import Copy, Expander, RowTemplate, ValueDraws
from genie_dp.augment.joined import join_commands
from genie_dp.augment.values import ValueSource
from genie_dp.errors import GenieError, Problem, Span, problem_at
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.types import is_slot
from genie_dp.paraphrase.lexical import SynonymLexicon
from genie_dp.records import Example, Slot, source_of_copy

BLOCK = 512  # input rows: up to 15,000 rows come of them, a few megabytes
PlacedRow = tuple[Example, tuple[str, int]]
"""A row with its file and line."""
_json_text = encode_basestring


def json_lines(template: RowTemplate, copies: Iterator[Copy]) -> Iterator[str]:
    """Yield the lines of JSON of a row's copies, with line ends."""
    row = template.row
    parent = _json_text(row.id)
    head = f'{{"id":{parent[:-1]}-'
    derivation = ",".join(map(_json_text, row.derivation))
    functions = ",".join(map(_json_text, row.functions))
    source = source_of_copy(row, "augmented")
    shared = (
        f',"language":{_json_text(row.language)},"source":"{source}","parent":{parent},'
        f'"derivation":[{derivation}],"functions":[{functions}],"depth":{row.depth},"slots":{{'
    )
    end = f'}},"weight":{json.dumps(row.weight)}}}\n'
    slots: dict[int, str] = {}
    for number, copy in enumerate(copies):
        slots_left = slots.get(copy.filled)
        if slots_left is None:
            slots_left = slots[copy.filled] = ",".join(
                f'{_json_text(name)}:{{"type":{_json_text(slot.type)},'
                f'"parameter":{_json_text(slot.parameter)}}}'
                for name, slot in _slots_left(template, copy)
            )
        yield (
            f'{head}{number}","utterance":{_json_text(copy.utterance)},'
            f'"program":{_json_text(copy.program)}{shared}{slots_left}{end}'
        )


def _slots_left(template: RowTemplate, copy: Copy) -> Iterator[tuple[str, Slot]]:
    """Yield (new name, slot) of the placeholders that stay, in the order of the sentence."""
    names = template.names[copy.filled]
    for place in template.places:
        slot = template.row.slots.get(place.token)
        if slot is not None and place.mark in names:
            yield names[place.mark], slot


def tsv_lines(template: RowTemplate, copies: Iterator[Copy]) -> Iterator[str]:
    """Yield `id<TAB>utterance<TAB>program` of a row's copies, with line ends."""
    parent = template.row.id
    for number, copy in enumerate(copies):
        yield f"{parent}-{number}\t{copy.utterance}\t{copy.program}\n"


def examples(template: RowTemplate, copies: Iterator[Copy]) -> Iterator[Example]:
    """Yield a row's copies as rows."""
    row = template.row
    source = source_of_copy(row, "augmented")
    for number, copy in enumerate(copies):
        yield Example(
            f"{row.id}-{number}", copy.utterance, copy.program, row.language, source,
            row.id, row.derivation, row.functions, row.depth, dict(_slots_left(template, copy)),
            row.weight,
        )  # fmt: skip


@dataclass(slots=True)
class AugmentBlock:
    """The rows made of one block of the input.

    Attributes:
        number: which block.
        text: their lines, as bytes: so they travel from workers and are written.
        rows: how many there are.
        counts: "read paraphrase", "made paraphrase" and so on -> rows.
        problems: why rows were left out, with their places.
        empty: parameters that no value fits.
    """

    number: int
    text: bytes
    rows: int
    counts: Counter[str]
    problems: list[Problem] = field(default_factory=list)
    empty: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AugmentEngine:
    """Makes copies of rows: a pure function of its inputs, the row and the seed.

    Attributes:
        config: the settings.
        values: which list a parameter has.
        language, library: those of the programs.
        lexicon: words of the same meaning, or None.
        skip_broken: whether rows that cannot be worked on are left out and counted.
        roots: root template -> rows of all inputs that it made.
    """

    config: AugmentConfig
    values: ValueSource
    language: Language
    library: Library | None = None
    lexicon: SynonymLexicon | None = None
    skip_broken: bool = False
    roots: Mapping[str, int] = field(default_factory=dict)

    def with_joined(self, rows: Sequence[PlacedRow]) -> Iterator[PlacedRow]:
        """Yield the rows of a block, some followed by its combination with another command.

        Raises:
            GenieError: A114, programs of the language cannot be joined.
        """
        if not self.config.joined:
            yield from rows
            return
        alone = [row for row, _ in rows]
        joined = join_commands(alone, self.config, self.language, self.library)
        for (row, place), added in zip(rows, joined, strict=True):
            yield row, place
            if added is not None:
                yield added, place

    def expander(self) -> Expander:
        """Return the function that makes copies, with tables of its own."""
        draws = ValueDraws(self.values, self.config)
        return Expander(self.config, draws, self.language, self.library, self.lexicon, self.roots)


def augment(
    rows: Iterable[Example], engine: AugmentEngine, *, expander: Expander | None = None
) -> Iterator[Example]:
    """Yield the copies of each row, in order (Genie, section 3.3).

    Args:
        rows: the rows.
        engine: settings, lists and language.
        expander: the engine's; given where it is called again and again, for it reads the lists.

    Raises:
        GenieError: a row cannot be worked on (A110 to A113).
    """
    expander = expander or engine.expander()
    placed = ((row, ("", 0)) for row in rows)
    while block := list(islice(placed, BLOCK)):
        for row, _ in engine.with_joined(block):
            template = _template(engine, expander, row)
            yield from examples(template, expander.copies(template))


def make_block(
    engine: AugmentEngine,
    expander: Expander,
    number: int,
    rows: Sequence[PlacedRow],
    *,
    format: str = "jsonl",
) -> AugmentBlock:
    """Return the copies of a block of rows, each given with its file and line.

    Raises:
        GenieError: all rows of the block that cannot be worked on (A110 to A113), unless the
            engine skips those.
    """
    encode = tsv_lines if format == "tsv" else json_lines
    lines: list[str] = []
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    rows_read = Counter(row.source for row, _ in rows)
    copies: dict[str, int] = {}
    for row, (file, line) in engine.with_joined(rows):
        before = len(lines)
        try:
            template = _template(engine, expander, row)
            lines.extend(encode(template, expander.copies(template)))
        except GenieError as error:
            del lines[before:]
            span = Span(file, line, 1, line, 2)
            problems.extend(problem_at(problem, span) for problem in error.problems)
            counts["skipped"] += 1
        copies[row.source] = copies.get(row.source, 0) + len(lines) - before
    counts.update({f"read {source}": count for source, count in rows_read.items()})
    counts.update({f"made {source}": count for source, count in copies.items()})
    if problems and not engine.skip_broken:
        raise GenieError(problems)
    empty = tuple(expander.draws.empty)
    return AugmentBlock(number, "".join(lines).encode(), len(lines), counts, problems, empty)


def _template(engine: AugmentEngine, expander: Expander, row: Example) -> RowTemplate:
    if row.language != engine.language.name:
        message = f"row {row.id} is in {row.language}, not in {engine.language.name}"
        raise GenieError(Problem("A112", message, hint=f"give --language {row.language}"))
    if not row.utterance.strip():  # noise would make a sentence of it
        hint = "take it out, or skip it with --on-error skip"
        raise GenieError(Problem("A113", f"row {row.id} has no sentence", hint=hint))
    return expander.template(row if row.slots else _with_slots(engine, row))


def _with_slots(engine: AugmentEngine, row: Example) -> Example:
    """Return a row of a format without slots with those of its program."""
    if not any(map(is_slot, row.utterance.split(" "))):
        return row
    try:
        tree = engine.language.from_tokens(row.program)
    except GenieError:
        return row  # what is wrong with it is told of its text
    uses = engine.language.values.uses(tree, engine.library)
    return replace(row, slots={token: Slot(type_, name) for token, type_, name in uses})
