"""A generator that asks a language model: prompts out, sentences back; and what to do without."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, runtime_checkable

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.private.evolution.donated import Donated, Pool
from genie_dp.private.evolution.generator import Candidate, Metadata
from genie_dp.private.evolution.prompting import Prompt, Reading, refuse_private
from genie_dp.private.generators.programs import ProgramSource, checked
from genie_dp.records import Example
from genie_dp.rng import stream


@runtime_checkable
class Trained(Protocol):
    """A completer that learned of private rows."""

    @property
    def run(self) -> str | None:
        """Return the run under which a ledger knows of that."""
        ...


class Completer(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """Return what answers, such as "model:gpt2"."""
        ...

    def complete(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        """Return one answer to each prompt.

        Args:
            prompts: what is asked.
            draws: a name for each draw; the same prompts and names give the same answers.
        """
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that the answers depend on."""
        ...


class Asking(Protocol):
    """Makes prompts, such as a Prompter."""

    @property
    def donated(self) -> Pool[Donated]:
        """Return the examples that may take the place of a sentence that was not made."""
        ...

    def random(self, metadata: Metadata, rng: Random) -> Prompt:
        """Return the prompt for a new sentence."""
        ...

    def vary(self, candidate: Candidate, strength: float, rng: Random) -> Prompt:
        """Return the prompt for a variation; `strength` is greater than 0."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that the prompts depend on, beside their arguments."""
        ...


@dataclass(frozen=True, slots=True)
class Programs:
    """How sentences get programs.

    Attributes:
        parser: gives each sentence a program, "" where it knows none.
        name: of the parser, for the fingerprint.
        language: of the programs.
        library: skills or declarations that programs are checked against.
    """

    parser: ProgramSource
    name: str
    language: Language
    library: Any = None

    def examples(self, sentences: Sequence[str]) -> list[Example | None]:
        """Return each sentence with its program, None where it has none that is well-typed."""
        said = [sentence for sentence in sentences if sentence]
        programs = iter(self.parser.predict(said) if said else [])
        return [self._example(x, next(programs)) if x else None for x in sentences]

    def _example(self, sentence: str, program: str) -> Example | None:
        found = checked(program.split(), self.language, self.library) if program else None
        if found is None:
            return None
        return Example(
            "", sentence, found.program, self.language.name,
            functions=found.functions, slots=found.slots,
        )  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What was asked and what came of it; none of it is secret.

    Attributes:
        asked: prompts.
        unusable: answers that were no sentence, too long, or without a program.
        kept: variations that stayed their parent after all tries.
        borrowed: new sentences that had to be those of the nearest other record or example.
    """

    asked: int = 0
    unusable: int = 0
    kept: int = 0
    borrowed: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts for a report."""
        return {
            "prompts": self.asked,
            "unusable answers": self.unusable,
            "variations that stayed the same": self.kept,
            "sentences borrowed": self.borrowed,
        }


@dataclass(frozen=True, slots=True)
class PromptedGenerator:
    """Candidates from a language model; a Generator.

    An answer without a sentence is asked for again `tries` times in all. Then a variation stays its
    parent; a new sentence is that of the nearest donated example or of the record nearest to it,
    and both are counted.

    Attributes:
        completer: answers prompts.
        prompter: makes them.
        reading: how an answer becomes a sentence.
        programs: where they come from; None for rows without.
        tries: for each sentence.
        tally: what was asked.
    """

    completer: Completer
    prompter: Asking
    reading: Reading = field(default_factory=Reading)
    programs: Programs | None = None
    tries: int = 3
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Refuse to ask for nothing."""
        if self.tries < 1:
            raise ValueError(f"tries must be at least 1, got {self.tries}")

    @property
    def name(self) -> str:
        """Return what makes the candidates."""
        return self.completer.name

    def fingerprint(self) -> str:
        """Return a hash of the model, the prompts and how answers are read."""
        reading, programs = self.reading, self.programs
        parts = (
            self.completer.fingerprint(), self.prompter.fingerprint(), reading.most_words,
            getattr(reading.spelled, "__qualname__", ""), self.tries,
            (programs.name, programs.language.name) if programs else None,
        )  # fmt: skip
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[Candidate]:
        """Return one candidate for each record; see Generator.

        Raises:
            GenieError: the model never says a sentence (U505); U504 of the prompter; those of the
                completer.
        """
        found = self._asked("random", {i: _New(one) for i, one in enumerate(metadata)}, seed)
        if metadata and not found and not self.prompter.donated.members:
            message = f"none of {len(metadata)} prompts was answered with a sentence by {self.name}"
            hint = "read an answer, then change the prompt, the model or the limit of words"
            raise GenieError(Problem("U505", message, hint=hint))
        made = {i: Candidate(example, dict(metadata[i])) for i, example in found.items()}
        return [
            made[i] if i in made else self._borrowed(one, list(made.values()), seed, i)
            for i, one in enumerate(metadata)
        ]

    def vary(
        self, candidates: Sequence[Candidate], strength: float, *, seed: int
    ) -> list[Candidate]:
        """Return one variation of each candidate; itself where `strength` is 0. See Generator.

        Raises:
            GenieError: those of the completer.
        """
        if not 0 <= strength <= 1:
            raise ValueError(f"strength must lie in [0, 1], got {strength}")
        for candidate in candidates:
            refuse_private(candidate)
        if strength == 0:
            return list(candidates)
        wanted = {i: _Varied(one, strength) for i, one in enumerate(candidates)}
        found = self._asked("vary", wanted, seed)
        self.tally.kept += len(candidates) - len(found)
        return [
            Candidate(found[i], one.metadata) if i in found else one
            for i, one in enumerate(candidates)
        ]

    def _asked(
        self, kind: str, wanted: "Mapping[int, _New | _Varied]", seed: int
    ) -> dict[int, Example]:
        """Return the examples that were said, by the number of what was wanted."""
        found: dict[int, Example] = {}
        for attempt in range(self.tries):
            left = [i for i in wanted if i not in found]
            if not left:
                break
            names = [f"{seed}:{kind}:{i}:{attempt}" for i in left]
            prompts = [
                wanted[i].prompt(self.prompter, name) for i, name in zip(left, names, strict=True)
            ]
            answers = self.completer.complete(prompts, names)
            said = map(self.reading.sentence, answers, prompts)
            made = {i: one for i, one in zip(left, self._examples(list(said)), strict=True) if one}
            self.tally.asked += len(left)
            self.tally.unusable += len(left) - len(made)
            found |= made
        return found

    def _examples(self, sentences: Sequence[str]) -> Sequence[Example | None]:
        if self.programs is not None:
            return self.programs.examples(sentences)
        return [Example("", sentence, "") if sentence else None for sentence in sentences]

    def _borrowed(
        self, metadata: Metadata, made: Sequence[Candidate], seed: int, index: int
    ) -> Candidate:
        """Return the candidate nearest to a record, of those that were made and those donated."""
        self.tally.borrowed += 1
        pool = Pool([*made, *_as_candidates(self.prompter.donated.members)])
        near = pool.nearest(metadata, 1, stream(seed, "borrowed", index))[0]
        return Candidate(near.example, dict(metadata))


@dataclass(frozen=True, slots=True)
class _New:
    """A sentence that is to be made."""

    metadata: Metadata

    def prompt(self, prompter: Asking, name: str) -> Prompt:
        return prompter.random(self.metadata, stream(name, "prompt"))


@dataclass(frozen=True, slots=True)
class _Varied:
    """A sentence that is to be varied."""

    candidate: Candidate
    strength: float

    def prompt(self, prompter: Asking, name: str) -> Prompt:
        return prompter.vary(self.candidate, self.strength, stream(name, "prompt"))


def _as_candidates(donated: Sequence[Donated]) -> Iterator[Candidate]:
    for one in donated:
        yield Candidate(Example("", one.utterance, one.program), one.metadata)
