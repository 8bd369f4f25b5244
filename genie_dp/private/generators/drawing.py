"""Rows drawn from a generator: programs under their grammar, then sentences for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.private.generators.config import SampleSettings, SamplingSettings
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.rows import (
    NO_PARSE,
    NO_PLACEHOLDER,
    NO_PROGRAM,
    NO_ROUND_TRIP,
    NO_TEXT,
    TOO_LONG,
    CheckedProgram,
    ProgramSource,
    SampleCounts,
    check_program,
    count_functions,
    has_same_placeholders,
)
from genie_dp.private.generators.sampling import DrawnIds, GrammarSpelling, draw
from genie_dp.private.generators.stages import STAGES, GeneratorStage, encode_prompt
from genie_dp.private.generators.tokenizer import decode
from genie_dp.records import Example
from genie_dp.rng import child_seed, stream


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
        generator: the generator.
        count: rows that are wanted.
        language: of the programs.
        library: skills or declarations that programs are checked against.
        settings: how to draw.
        parser: writes the programs of generators that have none, and reads the sentences of others.
        counts: of the draws.
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
    """A row so far: its number, its program if it has one, and the prompt of its utterance."""

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
            rows_read = [(row, words) for row, words, fault in read if not fault]
            faults = {row.number: fault for row, _, fault in read if fault}
            faults |= dict.fromkeys(self._read_otherwise(rows_read), NO_ROUND_TRIP)
            utterances |= {
                row.number: words for row, words in rows_read if row.number not in faults
            }
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
        """Return the words of a row's control code, drawn by the released frequencies."""
        generator = self.generator
        if generator.codes is None:
            return ()
        rng = stream(self.settings.seed, "code", number)
        bounds = list(accumulate(generator.weights))
        code = rng.choices(generator.codes.all, cum_weights=bounds)[0]
        return tuple(code.split())
