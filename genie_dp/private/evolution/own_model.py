"""Candidates from a generator of ours: a folder that `genie-dp private train` wrote.

One that knows control codes is given the code that a column of the metadata names; one without
writes what it likes. Neither follows an instruction, so a candidate is varied by keeping its first
words.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

import torch
import xxhash

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.config import TrainedRecipe
from genie_dp.private.evolution.generator import Metadata, VoteCandidate, refuse_private_candidate
from genie_dp.private.evolution.prompting import Prompt, count_changes
from genie_dp.private.evolution.seeds import Donated, Pool
from genie_dp.private.generators.codes import OTHER
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.generator import SavedGenerator, load_generator
from genie_dp.private.generators.sampling import draw
from genie_dp.private.generators.stages import RUN, STAGES, encode_prompt
from genie_dp.private.generators.tokenizer import decode, encode
from genie_dp.rng import child_seed


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A model that goes on with sentences; a Completer.

    Attributes:
        saved: the generator, of one stage or with control codes.
        label: what it is called.
        sampling: how ids are drawn.
        batch: answers at once; they depend on it.
    """

    saved: SavedGenerator
    label: str
    sampling: SamplingSettings = field(default_factory=lambda: SamplingSettings(longest=48))
    batch: int = 128

    @property
    def name(self) -> str:
        """Return which generator answers."""
        return f"trained:{self.label}"

    @property
    def run(self) -> str | None:
        """Return the run under which a ledger knows of the training; None where none is named."""
        return self.saved.facts.get(RUN)

    def complete(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        """Return how each sentence goes on; see Completer."""
        answers: list[str] = []
        for start in range(0, len(prompts), self.batch):
            part = slice(start, start + self.batch)
            answers.extend(self._batch(prompts[part], draws[part]))
        return answers

    def fingerprint(self) -> str:
        """Return a hash of the weights and of how ids are drawn."""
        hashed = xxhash.xxh3_128()
        for stage, model in sorted(self.saved.generator.models.items()):
            for name, tensor in sorted(model.state_dict().items()):
                hashed.update(f"{stage}{name}{tuple(tensor.shape)}".encode())
                hashed.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        parts = (
            hashed.hexdigest(),
            self.saved.generator.weights,
            asdict(self.sampling),
            self.batch,
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _batch(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        generator = self.saved.generator
        [stage] = STAGES[generator.kind]
        model, tokenizer = generator.models[stage.name], generator.tokenizer
        before = [
            (
                *encode_prompt(stage, prompt.text.split(), tokenizer, longest=model.longest),
                *encode(prompt.begun.split(), tokenizer),
            )
            for prompt in prompts
        ]
        random = torch.Generator().manual_seed(child_seed(0, *draws) % 2**63)
        answers = []
        for sequence in draw(model, before, tokenizer, self.sampling, generator=random):
            try:
                words = decode(sequence.ids, tokenizer) if sequence.ended else ()
            except ValueError:  # the ids are no words
                words = ()
            answers.append(" ".join(words))
        return answers


@dataclass(frozen=True, slots=True)
class CodePrompter:
    """Gives a model its control code and the words that a candidate keeps; an Asking.

    Attributes:
        codes: those that the model knows, none for a model without.
        weights: how often it was released that they come; for records that name none.
        column: of the metadata, the one that holds codes.
        donated: examples that may take the place of a sentence that was not made.
    """

    codes: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    column: str = ""
    donated: Pool[Donated] = field(default_factory=lambda: Pool(()))

    def random(self, metadata: Metadata, rng: Random) -> Prompt:
        """Return the prompt for a new sentence: the code alone."""
        return Prompt(self._code(metadata, rng))

    def vary(self, candidate: VoteCandidate, strength: float, rng: Random) -> Prompt:
        """Return the prompt for a variation, which keeps the first words."""
        refuse_private_candidate(candidate)
        words = candidate.example.utterance.split()
        beginning = words[: len(words) - count_changes(words, strength)]
        return Prompt(self._code(candidate.metadata, rng), begun=" ".join(beginning))

    def fingerprint(self) -> str:
        """Return a hash of the codes."""
        donated = [example.utterance for example in self.donated.members]
        parts = (self.codes, self.weights, self.column, donated)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _code(self, metadata: Metadata, rng: Random) -> str:
        if not self.codes:
            return ""
        value = metadata.get(self.column)
        if value is None:
            [value] = rng.choices(self.codes, self.weights or None)
        return value if value in self.codes else OTHER


def load_own_model(recipe: TrainedRecipe) -> tuple[OwnModel, CodePrompter]:
    """Return the model of a recipe, and what gives it its codes.

    Raises:
        GenieError: it is no generator (H003), it writes programs first (U508), or the column is
            missing for one with codes, or given for one without (U508).
    """
    folder = Path(recipe.model)
    saved = load_generator(folder, device=recipe.device)
    generator = saved.generator
    problem = ""
    if generator.kind == "two-stage":
        problem = "expected a generator of sentences (one-stage or control), got a two-stage one"
    elif (generator.codes is not None) != bool(recipe.column):
        problem = "expected the metadata's column of codes for a generator with codes alone"
    if problem:
        hint = "train one with genie-dp private train control, and name the column of its codes"
        raise GenieError(Problem("U508", f"{problem}: {folder}", hint=hint))
    codes = generator.codes.all if generator.codes else ()
    return OwnModel(saved, folder.name), CodePrompter(codes, generator.weights, recipe.column)
