"""Drawing rows from a generator as a stage; any number costs no more privacy (post-processing)."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.models.device import prepare_torch
from genie_dp.private.generators.config import SampleConfig, SampleSettings, SamplingSettings
from genie_dp.private.generators.generator import Generator, load_generator
from genie_dp.private.generators.rows import (
    SAMPLE_COMMAND,
    CheckedProgram,
    OpenParser,
    ProgramSource,
    RowsFingerprint,
    check_program,
    count_functions,
    has_same_placeholders,
)
from genie_dp.private.generators.sampling import DrawnIds, GrammarSpelling, draw
from genie_dp.private.generators.stages import RUN, STAGES, GeneratorStage, encode_prompt
from genie_dp.private.generators.tokenizer import decode
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import refuse_learned, refuse_uncovered
from genie_dp.records import Example, Spent
from genie_dp.rng import child_seed, stream
from genie_dp.rows import Rows, rows_format, to_json, write_rows
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress

# Why a draw is no row, as told at the end.
NO_TEXT, TOO_LONG, NO_PROGRAM = "no text", "too long", "no well-typed program"
NO_PLACEHOLDER, NO_PARSE = "other placeholders than its program", "no program by the parser"
NO_ROUND_TRIP = "read as another program by the parser"


@dataclass(slots=True)
class SampleCounts:
    """What was drawn. Counts of samples are no secret.

    Attributes:
        drawn: how many rows were begun.
        dropped: those that are none, by why.
    """

    drawn: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def row_count(self) -> int:
        """Return how many rows came out."""
        return self.drawn - self.dropped.total()


@dataclass(frozen=True, slots=True, repr=False)
class SampleResult(Result):
    """Rows that were drawn from a generator.

    Attributes:
        rows: the rows.
        output: where they are; "" where they are in memory.
        number, wanted: how many there are, and were asked for.
        counts: what was drawn for them.
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
        """Yield what to tell a person."""
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


def run(
    config: SampleConfig,
    generator: Path,
    output: Output,
    *,
    load_library: Callable[[str], Any],
    ledger: Ledger | None = None,
    parser: Path | None = None,
    open_parser: OpenParser | None = None,
    device: str = "cpu",
    threads: int = 1,
    progress: bool | None = None,
) -> SampleResult:
    """Draw rows of source private, write them, and a manifest beside them.

    Args:
        config: how many, and how.
        generator: its folder.
        output: where the rows go.
        load_library: returns the library of a language; asked where rows have programs.
        ledger: of the private rows, if the generator is to be one of theirs.
        parser: a folder of genie-dp train. It writes the programs of generators without any; of
            two-stage, rows are kept that it reads back.
        open_parser: reads that folder.
        device, threads: of torch.
        progress: whether to show on stderr how far it is; None for on a terminal.

    Raises:
        GenieError: the output is there (Y022), the parser learned of private rows that the
            generator's guarantee does not cover (H008), the folder is no generator (H003), or one
            of another ledger (F010).
    """
    started = time.monotonic()
    format = rows_format(output.target, output.format, what="rows")
    if output.path is not None and output.path.exists() and not output.overwrite:
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{output.path} exists already", hint=hint))
    refuse_learned(parser, None, code="H008")
    prepare_torch(device, threads)
    saved = load_generator(generator, device=device)
    refuse_uncovered(parser, saved.spent, code="H008")
    if ledger is not None and saved.facts.get(RUN) not in {entry.run for entry in ledger.entries}:
        message = f"{ledger.path} knows nothing of the generator {generator}"
        hint = "name one that was trained on these rows, with this ledger"
        raise GenieError(Problem("F010", message, hint=hint))
    language = saved.generator.language
    is_typed = saved.generator.kind == "two-stage"
    counts, settings, fingerprint = SampleCounts(), config.settings(), RowsFingerprint()
    source = None
    if parser is not None:
        assert open_parser is not None, "who gives a parser says how it is opened"
        source = open_parser(parser)
    rows = sample(
        saved.generator,
        config.rows,
        language=get_language(language),
        library=load_library(language) if is_typed else None,
        settings=settings,
        parser=source,
        counts=counts,
    )
    shown_rows = show_progress(rows, label="rows", total=config.rows, show=progress)
    write_rows(
        (f"{to_json(row)}\n" for row in fingerprint.over(shown_rows)),
        "jsonl",
        output.target,
        format,
    )
    number = min(counts.row_count, config.rows)
    if output.target != "-":
        facts = {
            "command": SAMPLE_COMMAND,
            "version": __version__,
            "generator": str(generator),
            "run": saved.facts.get(RUN),
            **({"parser": str(parser)} if parser else {}),
            "settings": asdict(settings),
            "rows": number,
            "drawn": counts.drawn,
            "dropped": dict(sorted(counts.dropped.items())),
            "spent": asdict(saved.spent),
            "content": fingerprint.text(),
        }
        write_json(manifest_of(output.target), facts)
    has_programs = is_typed or parser is not None
    seconds = time.monotonic() - started
    written = Rows.read(output.target, format=output.format)
    return SampleResult(
        written, output.target, number, config.rows, counts, saved.spent, has_programs, seconds
    )


# ------------------------------------------------------------------------------------- drawing


def sample(
    generator: Generator,
    count: int,
    *,
    language: Language,
    library: Library | None = None,
    settings: SampleSettings | None = None,
    parser: ProgramSource | None = None,
    counts: SampleCounts | None = None,
) -> Iterator[Example]:
    """Yield rows of source "private", fewer than `count` if too many draws are none.

    Rows of a generator without programs have none, unless a parser writes them. With a parser, rows
    of a generator of programs are those alone whose sentence it reads as their program.

    Args:
        generator: what to draw from.
        count: rows that are wanted.
        language: of the programs.
        library: skills or declarations that programs are checked against.
        settings: how to draw.
        parser: writes the programs of generators that have none, and reads the sentences of others.
        counts: of what is drawn.
    """
    settings, counts = settings or SampleSettings(), counts or SampleCounts()
    sampler = _Sampler(generator, settings, language, library, parser, counts)
    for number in range(-(-count * settings.tries // settings.batch)):
        missing = count - counts.row_count
        for row in sampler.batch(number):
            if missing > 0:
                yield row
            missing -= 1
        if missing <= 0:
            return


@dataclass(frozen=True, slots=True)
class _StartedRow:
    """A row so far: its number, its program if it has one, and what its utterance is drawn from."""

    number: int
    program: CheckedProgram | None
    prompt: tuple[str, ...]


class _Sampler:
    """Draws batches."""

    def __init__(
        self,
        generator: Generator,
        settings: SampleSettings,
        language: Language,
        library: Library | None,
        parser: ProgramSource | None,
        counts: SampleCounts,
    ):
        self.generator, self.settings, self.counts = generator, settings, counts
        self.language, self.library, self.parser = language, library, parser
        self.spelling: GrammarSpelling | None = None
        spelled = (generator.tokenizer.spell(token) for token in generator.public.unsaid)
        self._unsaid = tuple(ids[0] for ids in spelled if len(ids) == 1)
        if settings.is_constrained and "program" in generator.models:
            public = generator.public
            grammar = language.decoding_grammar(library, texts=public.texts)
            self.spelling = GrammarSpelling(
                grammar, generator.tokenizer, placeholders=public.placeholders, texts=public.texts
            )

    def batch(self, number: int) -> Iterator[Example]:
        """Yield the rows of a batch that are some."""
        numbers = range(number * self.settings.batch, (number + 1) * self.settings.batch)
        self.counts.drawn += len(numbers)
        random = torch.Generator()
        random.manual_seed(child_seed(self.settings.seed, "sample", number) % 2**63)
        stages = {stage.name: stage for stage in STAGES[self.generator.kind]}
        if "program" in stages:
            rows = self._draw_programs(stages["program"], numbers, random)
        else:
            rows = [_StartedRow(i, None, self._draw_code(i)) for i in numbers]
        yield from self._add_utterances(stages["utterance"], rows, random)

    def _draw_programs(
        self, stage: GeneratorStage, numbers: range, random: torch.Generator
    ) -> list[_StartedRow]:
        paths = [self.spelling.begin() for _ in numbers] if self.spelling else None
        draws = self._draw(stage, [()] * len(numbers), self.settings.program, random, paths)
        started = []
        for number, each in zip(numbers, draws, strict=True):
            tokens, fault = self._read_draw(each)
            program = None if fault else check_program(tokens, self.language, self.library)
            if program is None:
                self.counts.dropped[fault or NO_PROGRAM] += 1
                continue
            started.append(_StartedRow(number, program, tuple(program.program.split())))
        return started

    def _add_utterances(
        self, stage: GeneratorStage, rows: Sequence[_StartedRow], random: torch.Generator
    ) -> Iterator[Example]:
        """Yield rows with their utterances, in the order of their numbers."""
        utterances: dict[int, tuple[str, ...]] = {}
        open_rows, faults = list(rows), {}
        for _ in range(1 + self.settings.redraws):
            if not open_rows:
                break
            draws = self._draw(
                stage, [row.prompt for row in open_rows], self.settings.utterance, random
            )
            read = [
                (row, *self._read_draw(each, row.program))
                for row, each in zip(open_rows, draws, strict=True)
            ]
            said = [(row, words) for row, words, fault in read if not fault]
            faults = {row.number: fault for row, _, fault in read if fault}
            faults |= dict.fromkeys(self._read_otherwise(said), NO_ROUND_TRIP)
            utterances |= {row.number: words for row, words in said if row.number not in faults}
            open_rows = [row for row in open_rows if row.number in faults]
        self.counts.dropped.update(faults.values())
        finished = [(row, utterances[row.number]) for row in rows if row.number in utterances]
        if self.parser is not None and self.generator.kind != "two-stage":
            yield from self._add_programs(finished, self.parser)
        else:
            for row, words in finished:
                yield self._make_example(row.number, words, row.program)

    def _read_otherwise(self, said: Sequence[tuple[_StartedRow, tuple[str, ...]]]) -> Iterator[int]:
        """Yield the numbers of rows whose sentence the parser reads as another program."""
        if self.parser is None or self.generator.kind != "two-stage" or not said:
            return
        programs = self.parser.predict([" ".join(words) for _, words in said])
        for (row, _), program in zip(said, programs, strict=True):
            read = check_program(program.split(), self.language, self.library)
            if read is None or row.program is None or read.program != row.program.program:
                yield row.number

    def _add_programs(
        self, finished: Sequence[tuple[_StartedRow, tuple[str, ...]]], parser: ProgramSource
    ) -> Iterator[Example]:
        programs = parser.predict([" ".join(words) for _, words in finished])
        for (row, words), program in zip(finished, programs, strict=True):
            if not program:
                self.counts.dropped[NO_PARSE] += 1
                continue
            functions = tuple(count_functions(program, self.language))
            yield self._make_example(row.number, words, CheckedProgram(program, functions))

    def _make_example(
        self, number: int, words: Sequence[str], program: CheckedProgram | None
    ) -> Example:
        checked = program or CheckedProgram("", ())
        return Example(
            id=f"D{number}",
            utterance=" ".join(words),
            program=checked.program,
            language=self.language.name,
            source="private",
            functions=checked.functions,
            slots=checked.slots,
        )

    def _draw(
        self,
        stage: GeneratorStage,
        prompts: Sequence[Sequence[str]],
        settings: SamplingSettings,
        random: torch.Generator,
        paths: Any = None,
    ) -> list[DrawnIds]:
        model, tokenizer = self.generator.models[stage.name], self.generator.tokenizer
        ids = [encode_prompt(stage, words, tokenizer, longest=model.longest) for words in prompts]
        never = self._unsaid if stage.name == "utterance" else ()
        return draw(model, ids, tokenizer, settings, generator=random, paths=paths, never=never)

    def _read_draw(
        self, drawn: DrawnIds, program: CheckedProgram | None = None
    ) -> tuple[tuple[str, ...], str]:
        """Return the words of a draw, and why it is none; "" where it is one."""
        if not drawn.ended:
            return (), TOO_LONG if drawn.ids else NO_TEXT
        try:
            words = decode(drawn.ids, self.generator.tokenizer)
        except ValueError:
            words = ()
        if not words:
            return (), NO_TEXT
        is_other = program is not None and not has_same_placeholders(words, program.program)
        return words, NO_PLACEHOLDER if is_other else ""

    def _draw_code(self, number: int) -> tuple[str, ...]:
        """Return the words of a row's control code, drawn as often as the release says."""
        generator = self.generator
        if generator.codes is None:
            return ()
        rng = stream(self.settings.seed, "code", number)
        bounds = list(accumulate(generator.weights))
        code = rng.choices(generator.codes.all, cum_weights=bounds)[0]
        return tuple(code.split())
