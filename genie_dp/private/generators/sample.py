"""Drawing rows from a generator as a stage; any number costs no more privacy (post-processing)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.private.generators.config import SampleSettings, SamplingSettings
from genie_dp.private.generators.rows import (
    NO_ROUND_TRIP,
    SAMPLE_COMMAND,
    ParserFolder,
    RowsFingerprint,
    SampleCounts,
)
from genie_dp.private.generators.stages import RUN
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import refuse_learned, refuse_uncovered
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Spent
from genie_dp.rows import Rows, rows_format, to_json, write_rows
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.stage.kernel import OutputOption, Stage


@dataclass(frozen=True, slots=True, repr=False)
class SampleResult(Result):
    """Rows that were drawn from a generator.

    Attributes:
        rows: the rows.
        output: where they are; "" where they are in memory.
        number, wanted: how many there are, and were asked for.
        counts: of the draws for them.
        spent: the guarantee of the generator, and of its rows.
        has_programs: whether they have any: those of one-stage and control need a parser.
        seconds: how long all took.
    """

    rows: Rows
    output: str
    number: int
    wanted: int
    counts: SampleCounts
    spent: Spent
    has_programs: bool
    seconds: float

    def __repr__(self) -> str:
        spent = self.spent
        guarantee = f"epsilon {spent.epsilon:.4g}, delta {spent.delta:g} for each {spent.unit}"
        return f"SampleResult({self.number:,} rows, {guarantee})"

    def in_memory(self) -> "SampleResult":
        """Return it with its rows, which then need no file."""
        rows = tuple(self.rows)
        return replace(self, output="", rows=Rows(lambda: iter(rows), "of a private generator"))

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        if not self.has_programs:
            yield "the rows have no programs; a parser writes them: --parser DIR"
        for reason, count in self.counts.dropped.most_common():
            yield f"{count:>11,}  dropped: {reason}"
        place = f" -> {self.output}" if self.output else ""
        yield (
            f"{self.number:,} rows of {self.counts.drawn:,} drawn{place} "
            f"({self.seconds:.1f} s); epsilon {self.spent.epsilon:.4g}, delta {self.spent.delta:g}"
        )
        if self.number < self.wanted:
            message = f"expected {self.wanted:,} rows, got {self.number:,}"
            hint = "train longer, or allow more --tries"
            if self.counts.dropped[NO_ROUND_TRIP]:
                hint += "; or give a parser that has learned more such rows"
            yield str(GenieError(Problem("H010", message, hint=hint, severity="warning")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Stage):
    """Draw rows of source private from GENERATOR, a folder of genie-dp private train.

    Programs that are none, and sentences that lack a placeholder of theirs, are dropped and
    counted. Rows of one-stage and control have no program, unless a parser writes it. Of two-stage,
    a parser drops the rows whose sentence it reads as another program; then others are drawn.

    \b
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    genie-dp train rows.jsonl pairs.jsonl --spent generator/spent.json --output parser

    Attributes:
        ledger: of the private rows, if the generator is to be one of theirs.
    """

    command = "private sample"
    output = OutputOption(
        "Where the rows go; .gz, .bz2 and .xz compress.",
        default="-",
        metavar="FILE|URL|-",
        formats=("jsonl", "tsv", "parquet"),
        format_help="Format of the rows [by the output's name].",
        overwrite="Replace the output.",
    )

    generator: Path = setting(REQUIRED, "Its folder.", is_argument=True, value="folder")
    rows: int = setting(
        1000, "Rows that are wanted; any number costs nothing.", least=1, metavar="N"
    )
    seed: int = setting(0, "The same generator, seed and --batch give the same rows.")
    constrained: bool = setting(
        True,
        "Draw programs that are well-typed in the library [so by default], or any and drop those "
        "that are not.",
        option="constrained/--unconstrained",
    )
    width: int = setting(
        1, "Beams of an utterance: more make likelier and fewer ones; 1 is plain sampling.", least=1
    )
    program_width: int = setting(1, "Beams of a program.", least=1)
    temperature: float = setting(
        1.0, "Of utterances; below 1 likelier tokens come more often.", above=0
    )
    top_k: int = setting(
        0, "Only so many tokens at each place of an utterance; 0 for all.", least=0
    )
    top_p: float = setting(
        1.0,
        "Only the likeliest tokens of an utterance that have this share together.",
        above=0,
        most=1,
    )
    longest: int = setting(128, "Tokens of an utterance; longer ones are dropped.", least=1)
    program_longest: int = setting(
        200, "Tokens of a program; then it is brought to an end.", least=1
    )
    redraws: int = setting(
        3, "Tries for an utterance with the placeholders of its program.", least=0
    )
    tries: int = setting(20, "Draws for a row that is wanted, at most.", least=1, metavar="N")
    batch: int = setting(128, "Rows that are drawn together.", least=1)
    parser: ParserFolder | None = setting(
        None,
        "A parser of public or of drawn rows: it writes the programs of kinds without any, and of "
        "two-stage only rows are kept that it reads back.",
        value="parser",
    )
    load_library: Callable[[str], Library] = setting(
        REQUIRED,
        "Returns the library of a language; programs are checked against it.",
        value="library by language",
    )
    device: str = setting("cpu", "cpu, cuda, cuda:1 ..", metavar="NAME")
    threads: int = setting(1, "Of torch.", least=1)
    ledger: Ledger | None = None

    def run(self, output: Output, *, progress: bool | None = None) -> SampleResult:
        """Draw rows, write them, and a manifest beside them.

        Raises:
            GenieError: the output is there (Y022), the parser learned of private rows that the
                generator's guarantee does not cover (H008), the folder is no generator (H003), or
                one of another ledger (F010).
        """
        from genie_dp.models.device import prepare_torch
        from genie_dp.private.generators.drawing import sample
        from genie_dp.private.generators.generator import load_generator

        started = time.monotonic()
        format = rows_format(output.target, output.format, what="rows")
        if output.path is not None and output.path.exists() and not output.overwrite:
            hint = "give another --output, or --overwrite"
            raise GenieError(Problem("Y022", f"{output.path} exists already", hint=hint))
        parser = self.parser.path if self.parser else None
        refuse_learned(parser, None, code="H008")
        prepare_torch(self.device, self.threads)
        saved = load_generator(self.generator, device=self.device)
        refuse_uncovered(parser, saved.spent, code="H008")
        run = saved.facts.get(RUN)
        if self.ledger is not None and run not in {entry.run for entry in self.ledger.entries}:
            message = f"{self.ledger.path} knows nothing of the generator {self.generator}"
            hint = "name one that was trained on these rows, with this ledger"
            raise GenieError(Problem("F010", message, hint=hint))
        language = saved.generator.language
        is_typed = saved.generator.kind == "two-stage"
        counts, fingerprint = SampleCounts(), RowsFingerprint()
        rows = sample(
            saved.generator,
            self.rows,
            language=get_language(language),
            library=self.load_library(language) if is_typed else None,
            settings=self.draws,
            parser=self.parser.open() if self.parser else None,
            counts=counts,
        )
        shown_rows = show_progress(rows, label="rows", total=self.rows, show=progress)
        lines = (f"{to_json(row)}\n" for row in fingerprint.over(shown_rows))
        write_rows(lines, "jsonl", output.target, format)
        number = min(counts.row_count, self.rows)
        if output.target != "-":
            facts = {
                "command": SAMPLE_COMMAND,
                "version": __version__,
                "generator": str(self.generator),
                "run": run,
                **({"parser": str(parser)} if parser else {}),
                "settings": asdict(self.draws),
                "rows": number,
                "drawn": counts.drawn,
                "dropped": dict(sorted(counts.dropped.items())),
                "spent": asdict(saved.spent),
                "content": fingerprint.text(),
            }
            write_json(manifest_of(output.target), facts)
        return SampleResult(
            Rows.read(output.target, format=output.format),
            output.target,
            number,
            self.rows,
            counts,
            saved.spent,
            has_programs=is_typed or parser is not None,
            seconds=time.monotonic() - started,
        )

    @property
    def draws(self) -> SampleSettings:
        """Return how programs and utterances are drawn.

        Programs come as often as they were learned: of likelier tokens they would be short ones.
        """
        return SampleSettings(
            SamplingSettings(self.program_width, longest=self.program_longest),
            SamplingSettings(self.width, self.temperature, self.top_k, self.top_p, self.longest),
            self.constrained,
            self.batch,
            self.tries,
            self.redraws,
            self.seed,
        )
