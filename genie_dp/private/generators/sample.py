"""Rows from a generator; any number of them costs no more privacy (post-processing)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch

from genie_dp.languages.base import Language
from genie_dp.private.generators.constrained import Spelling
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.programs import (
    Checked,
    ProgramSource,
    checked,
    functions_of,
    same_placeholders,
)
from genie_dp.private.generators.sampling import Drawn, SamplingSettings, draw
from genie_dp.private.generators.stages import STAGES, Stage, begun
from genie_dp.private.generators.tokenizer import decode
from genie_dp.records import Example
from genie_dp.rng import child_seed, stream

# Why a draw is no row, as told at the end.
NO_TEXT, TOO_LONG, NO_PROGRAM = "no text", "too long", "no well-typed program"
NO_PLACEHOLDER, NO_PARSE = "other placeholders than its program", "no program by the parser"


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """How to make rows.

    Attributes:
        program: how programs are drawn.
        utterance: how utterances are drawn; the paper has beams of 5 (section 4.3).
        is_constrained: whether programs are drawn under the grammar of their language and library,
            so that all of them are well-typed.
        batch: rows that are drawn together; the rows depend on it.
        tries: draws for each row that is asked for, at most.
        redraws: how often the utterance of a program is drawn again that is none of it: no text, or
            with other placeholders. Programs that are hard to say would be too rare without.
        seed: of everything random; it needs no secrecy.
    """

    program: SamplingSettings = field(default_factory=lambda: SamplingSettings(longest=200))
    utterance: SamplingSettings = field(default_factory=lambda: SamplingSettings(width=5))
    is_constrained: bool = True
    batch: int = 128
    tries: int = 20
    redraws: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what draws nothing."""
        if self.batch < 1 or self.tries < 1:
            raise ValueError(f"expected batch and tries >= 1, got {self.batch}, {self.tries}")


@dataclass(slots=True)
class Tally:
    """What was drawn. Counts of samples are no secret.

    Attributes:
        drawn: how many rows were begun.
        dropped: those that are none, by why.
    """

    drawn: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def kept(self) -> int:
        """Return how many rows came out."""
        return self.drawn - self.dropped.total()


def sample(
    generator: Generator,
    count: int,
    *,
    language: Language,
    library: Any = None,
    settings: SampleSettings | None = None,
    parser: ProgramSource | None = None,
    tally: Tally | None = None,
) -> Iterator[Example]:
    """Yield rows of source "private", fewer than `count` if too many draws are none.

    Rows of a generator without programs have none, unless a parser writes them.

    Args:
        generator: what to draw from.
        count: rows that are wanted.
        language: of the programs.
        library: skills or declarations that programs are checked against.
        settings: how to draw.
        parser: writes the programs of generators that have none.
        tally: counts what is drawn.
    """
    settings, tally = settings or SampleSettings(), tally or Tally()
    sampler = _Sampler(generator, settings, language, library, parser, tally)
    for number in range(-(-count * settings.tries // settings.batch)):
        left = count - tally.kept
        for row in sampler.batch(number):
            if left > 0:
                yield row
            left -= 1
        if left <= 0:
            return


@dataclass(frozen=True, slots=True)
class _Begun:
    """A row so far: its number, its program if it has one, and what its utterance is drawn from."""

    number: int
    program: Checked | None
    prompt: tuple[str, ...]


class _Sampler:
    """Draws batches."""

    def __init__(
        self,
        generator: Generator,
        settings: SampleSettings,
        language: Language,
        library: Any,
        parser: ProgramSource | None,
        tally: Tally,
    ):
        self.generator, self.settings, self.tally = generator, settings, tally
        self.language, self.library, self.parser = language, library, parser
        self.spelling: Spelling | None = None
        spelled = (generator.tokenizer.spell(token) for token in generator.public.unsaid)
        self._unsaid = tuple(ids[0] for ids in spelled if len(ids) == 1)
        if settings.is_constrained and "program" in generator.models:
            public = generator.public
            grammar = language.decoding_grammar(library, texts=public.texts)
            self.spelling = Spelling(
                grammar, generator.tokenizer, placeholders=public.placeholders, texts=public.texts
            )

    def batch(self, number: int) -> Iterator[Example]:
        """Yield the rows of a batch that are some."""
        numbers = range(number * self.settings.batch, (number + 1) * self.settings.batch)
        self.tally.drawn += len(numbers)
        random = torch.Generator()
        random.manual_seed(child_seed(self.settings.seed, "sample", number) % 2**63)
        stages = {stage.name: stage for stage in STAGES[self.generator.kind]}
        if "program" in stages:
            rows = self._with_programs(stages["program"], numbers, random)
        else:
            rows = [_Begun(i, None, self._code(i)) for i in numbers]
        yield from self._finished(stages["utterance"], rows, random)

    def _with_programs(self, stage: Stage, numbers: range, random: torch.Generator) -> list[_Begun]:
        paths = [self.spelling.begin() for _ in numbers] if self.spelling else None
        drawn = self._draw(stage, [()] * len(numbers), self.settings.program, random, paths)
        found = []
        for number, each in zip(numbers, drawn, strict=True):
            tokens, fault = self._read(each)
            program = None if fault else checked(tokens, self.language, self.library)
            if program is None:
                self.tally.dropped[fault or NO_PROGRAM] += 1
                continue
            found.append(_Begun(number, program, tuple(program.program.split())))
        return found

    def _finished(
        self, stage: Stage, rows: Sequence[_Begun], random: torch.Generator
    ) -> Iterator[Example]:
        """Yield rows with their utterances, in the order of their numbers."""
        said: dict[int, tuple[str, ...]] = {}
        left, faults = list(rows), {}
        for _ in range(1 + self.settings.redraws):
            if not left:
                break
            drawn = self._draw(stage, [row.prompt for row in left], self.settings.utterance, random)
            read = [
                (row.number, *self._read(each, row.program))
                for row, each in zip(left, drawn, strict=True)
            ]
            said |= {number: words for number, words, fault in read if not fault}
            faults = {number: fault for number, _, fault in read if fault}
            left = [row for row in left if row.number in faults]
        self.tally.dropped.update(faults.values())
        found = [(row, said[row.number]) for row in rows if row.number in said]
        if self.parser is not None and self.generator.kind != "two-stage":
            yield from self._parsed(found, self.parser)
        else:
            for row, words in found:
                yield self._example(row.number, words, row.program)

    def _parsed(
        self, said: Sequence[tuple[_Begun, tuple[str, ...]]], parser: ProgramSource
    ) -> Iterator[Example]:
        programs = parser.predict([" ".join(words) for _, words in said])
        for (row, words), program in zip(said, programs, strict=True):
            if not program:
                self.tally.dropped[NO_PARSE] += 1
                continue
            functions = tuple(functions_of(program, self.language))
            yield self._example(row.number, words, Checked(program, functions))

    def _example(self, number: int, words: Sequence[str], program: Checked | None) -> Example:
        found = program or Checked("", ())
        return Example(
            id=f"D{number}",
            utterance=" ".join(words),
            program=found.program,
            language=self.language.name,
            source="private",
            functions=found.functions,
            slots=found.slots,
        )

    def _draw(
        self,
        stage: Stage,
        prompts: Sequence[Sequence[str]],
        settings: SamplingSettings,
        random: torch.Generator,
        paths: Any = None,
    ) -> list[Drawn]:
        model, tokenizer = self.generator.models[stage.name], self.generator.tokenizer
        ids = [begun(stage, words, tokenizer, longest=model.longest) for words in prompts]
        never = self._unsaid if stage.name == "utterance" else ()
        return draw(model, ids, tokenizer, settings, generator=random, paths=paths, never=never)

    def _read(self, drawn: Drawn, program: Checked | None = None) -> tuple[tuple[str, ...], str]:
        """Return the words of a draw, and why it is none; "" where it is one."""
        if not drawn.ended:
            return (), TOO_LONG if drawn.ids else NO_TEXT
        try:
            words = decode(drawn.ids, self.generator.tokenizer)
        except ValueError:
            words = ()
        if not words:
            return (), NO_TEXT
        is_other = program is not None and not same_placeholders(words, program.program)
        return words, NO_PLACEHOLDER if is_other else ""

    def _code(self, number: int) -> tuple[str, ...]:
        """Return the words of a row's control code, drawn as often as the release says."""
        generator = self.generator
        if generator.codes is None:
            return ()
        rng = stream(self.settings.seed, "code", number)
        bounds = list(accumulate(generator.weights))
        code = rng.choices(generator.codes.all, cum_weights=bounds)[0]
        return tuple(code.split())
