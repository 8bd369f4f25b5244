"""Everything that making rows needs, put together; one block of rows at a time."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.encode import examples, json_lines, tsv_lines
from genie_dp.augment.expand import Expander, Template
from genie_dp.augment.expand_values import Draws
from genie_dp.augment.values import ValueSource
from genie_dp.errors import GenieError, Problem, Span, problem_at
from genie_dp.languages.base import Language
from genie_dp.paraphrase.lexical import Lexicon
from genie_dp.records import Example


@dataclass(slots=True)
class Block:
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
class Engine:
    """Makes copies of rows: a pure function of its inputs, the row and the seed.

    Attributes:
        config: the settings.
        values: which list a parameter has.
        language, library: what programs are in.
        lexicon: words of the same meaning, or None.
        skip_broken: whether rows that cannot be worked on are left out and counted.
    """

    config: AugmentConfig
    values: ValueSource
    language: Language
    library: Any = None
    lexicon: Lexicon | None = None
    skip_broken: bool = False

    def expander(self) -> Expander:
        """Return what makes copies, with tables of its own."""
        draws = Draws(self.values, self.config)
        return Expander(self.config, draws, self.language, self.library, self.lexicon)


def augment(
    rows: Iterable[Example], engine: Engine, *, expander: Expander | None = None
) -> Iterator[Example]:
    """Yield what is made of each row, in order (Genie, section 3.3).

    Args:
        rows: the rows.
        engine: settings, lists and language.
        expander: the engine's; given where it is called again and again, for it reads the lists.

    Raises:
        GenieError: a row cannot be worked on (A110 to A113).
    """
    expander = expander or engine.expander()
    for row in rows:
        template = _template(engine, expander, row)
        yield from examples(template, expander.copies(template))


def make_block(
    engine: Engine,
    expander: Expander,
    number: int,
    rows: Iterable[tuple[Example, tuple[str, int]]],
    *,
    format: str = "jsonl",
) -> Block:
    """Return what is made of a block of rows, each given with its file and line.

    Raises:
        GenieError: all rows of the block that cannot be worked on (A110 to A113), unless the
            engine skips those.
    """
    encode = tsv_lines if format == "tsv" else json_lines
    lines: list[str] = []
    counts: Counter[str] = Counter()
    problems: list[Problem] = []
    read: dict[str, int] = {}
    made: dict[str, int] = {}
    for row, (file, line) in rows:
        before = len(lines)
        read[row.source] = read.get(row.source, 0) + 1
        try:
            template = _template(engine, expander, row)
            lines.extend(encode(template, expander.copies(template)))
        except GenieError as error:
            del lines[before:]
            span = Span(file, line, 1, line, 2)
            problems.extend(problem_at(problem, span) for problem in error.problems)
            counts["skipped"] += 1
        made[row.source] = made.get(row.source, 0) + len(lines) - before
    counts.update({f"read {source}": count for source, count in read.items()})
    counts.update({f"made {source}": count for source, count in made.items()})
    if problems and not engine.skip_broken:
        raise GenieError(problems)
    empty = tuple(expander.draws.empty)
    return Block(number, "".join(lines).encode(), len(lines), counts, problems, empty)


def _template(engine: Engine, expander: Expander, row: Example) -> Template:
    if row.language != engine.language.name:
        message = f"row {row.id} is in {row.language}, not in {engine.language.name}"
        raise GenieError(Problem("A112", message, hint=f"give --language {row.language}"))
    if not row.utterance.strip():  # noise would make a sentence of it
        hint = "take it out, or skip it with --on-error skip"
        raise GenieError(Problem("A113", f"row {row.id} has no sentence", hint=hint))
    return expander.template(row)
