"""Candidates from a generator of ours: a folder that `genie-dp private train` wrote.

One that knows control codes is given the code that a column of the metadata names; one without
writes freely. Neither follows an instruction, so a candidate is varied by keeping its first
words.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.config import TrainedRecipe
from genie_dp.private.evolution.prompting import CodePrompter, Prompt
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.generator import SavedGenerator, load_generator
from genie_dp.private.generators.sampling import draw
from genie_dp.private.generators.stages import RUN, STAGES, encode_prompt
from genie_dp.private.generators.tokenizer import decode, encode
from genie_dp.private.training.run import digest_of_weights
from genie_dp.rng import child_seed

_SAMPLING = SamplingSettings(longest=48)
_BATCH = 128  # answers at once; they depend on it


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A model that goes on with sentences; a Completer.

    Attributes:
        saved: the generator, of one stage or with control codes.
        label: its name.
    """

    saved: SavedGenerator
    label: str

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
        for start in range(0, len(prompts), _BATCH):
            part = slice(start, start + _BATCH)
            answers.extend(self._batch(prompts[part], draws[part]))
        return answers

    def fingerprint(self) -> str:
        """Return a hash of the weights and of how ids are drawn."""
        generator = self.saved.generator
        weights = digest_of_weights(generator.models.values())  # of one stage
        parts = (weights, generator.weights, _SAMPLING, _BATCH)
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
        for sequence in draw(model, before, tokenizer, _SAMPLING, generator=random):
            try:
                words = decode(sequence.ids, tokenizer) if sequence.ended else ()
            except ValueError:  # the ids are no words
                words = ()
            answers.append(" ".join(words))
        return answers


def load_own_model(recipe: TrainedRecipe) -> tuple[OwnModel, CodePrompter]:
    """Return the model of a recipe, and the prompter that gives it its codes.

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
