"""Scorers of the folders that there are: generators, and any causal model of Hugging Face."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private.audit.scorer import Scorer, check_programs
from genie_dp.private.generators.encoded import Encoded
from genie_dp.private.generators.folder import MODEL_TYPE, load_generator
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.hugging_face import HuggingFaceCausal, HuggingFaceSettings
from genie_dp.private.generators.programs import functions_of
from genie_dp.private.generators.sampling import SamplingSettings, draw
from genie_dp.private.generators.sequences import collate
from genie_dp.private.generators.stages import STAGES, Labelled, Stage, begun, encoded
from genie_dp.private.generators.tokenizer import Piece, decode
from genie_dp.private.source import PrivateRow
from genie_dp.rng import child_seed, stream

_BATCH = 32


def row_losses(model: Any, rows: Sequence[Encoded], *, batch: int = _BATCH) -> list[float]:
    """Return the loss of each row in nats; rows of like length go together."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].tokens))
    found = [0.0] * len(rows)
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            some = order[start : start + batch]
            made = collate([rows[i] for i in some]).to(model.device)
            for i, loss in zip(some, model.loss(made).tolist(), strict=True):
                found[i] = loss
    return found


class GeneratorScorer:
    """A generator: all its stages together say how likely a row is.

    With control codes, a row with a program has that program's code; the probability of one without
    is the mean over all codes, as often as the release says.
    """

    def __init__(self, generator: Generator):
        """Keep the generator, which is in evaluation mode."""
        self.generator = generator
        self.kind: str = generator.kind
        self.needs_programs = generator.kind == "two-stage"
        self.stages = STAGES[generator.kind]
        self.model = generator.models[self.stages[-1].name]

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the loss of each row in nats.

        Raises:
            GenieError: a row has no program where one is needed (N054).
        """
        if self.needs_programs:
            check_programs(rows, self.kind)
        if self.generator.codes is not None and any(not row.program for row in rows):
            return [self._mixed(row) for row in rows]
        total = [0.0] * len(rows)
        for stage in self.stages:
            read = [self._encoded(stage, self._labelled(row)) for row in rows]
            found = row_losses(self.generator.models[stage.name], read)
            total = [a + b for a, b in zip(total, found, strict=True)]
        return total

    def encoded(self, row: PrivateRow) -> Encoded:
        """Return a row as the last stage reads it.

        Raises:
            GenieError: it has no program where one is needed (N054).
        """
        if self.needs_programs or self.generator.codes is not None:
            check_programs([row], self.kind)
        return self._encoded(self.stages[-1], self._labelled(row))

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of samples, drawn as they come; () for a draw that is no text."""
        for start in range(first, first + count, _BATCH):
            random = torch.Generator().manual_seed(child_seed(seed, "audit", start) % 2**63)
            numbers = range(start, min(start + _BATCH, first + count))
            prompts = [self._prompt(number, seed) for number in numbers]
            for stage in self.stages:
                ids = [self._begun(stage, words) for words in prompts]
                prompts = self._drawn(stage, ids, random)
            yield from prompts

    def _prompt(self, number: int, seed: int) -> tuple[str, ...]:
        generator = self.generator
        if generator.codes is None:
            return ()
        rng = stream(seed, "audit", "code", number)
        return tuple(rng.choices(generator.codes.all, generator.weights)[0].split())

    def _begun(self, stage: Stage, words: Sequence[str]) -> tuple[int, ...]:
        longest = self.generator.models[stage.name].longest
        return begun(stage, words, self.generator.tokenizer, longest=longest)

    def _drawn(
        self, stage: Stage, ids: Sequence[Sequence[int]], random: torch.Generator
    ) -> list[tuple[str, ...]]:
        model, tokenizer = self.generator.models[stage.name], self.generator.tokenizer
        longest = max(1, model.longest - max(map(len, ids)))
        drawn = draw(model, ids, tokenizer, SamplingSettings(longest=longest), generator=random)
        return [self._words(one.ids) for one in drawn]

    def _words(self, ids: Sequence[int]) -> tuple[str, ...]:
        try:
            return decode(ids, self.generator.tokenizer)
        except ValueError:  # bytes that are no text
            return ()

    def _labelled(self, row: PrivateRow, code: str | None = None) -> Labelled:
        program = row.program or ""
        codes = self.generator.codes
        if code is None and codes is not None and program:
            code = codes.of(functions_of(program, get_language(self.generator.language)))
        return Labelled(tuple(row.utterance.split()), tuple(program.split()), code or "")

    def _encoded(self, stage: Stage, row: Labelled) -> Encoded:
        longest = self.generator.models[stage.name].longest
        return encoded(stage, row, self.generator.tokenizer, longest=longest)

    def _mixed(self, row: PrivateRow) -> float:
        codes, weights = self.generator.codes, self.generator.weights
        assert codes is not None
        if row.program:
            return row_losses(self.model, [self.encoded(row)])[0]
        some = [(code, w) for code, w in zip(codes.all, weights, strict=True) if w > 0]
        read = [self._encoded(self.stages[-1], self._labelled(row, code)) for code, _ in some]
        total = sum(w for _, w in some)
        logs = [
            math.log(w / total) - loss
            for (_, w), loss in zip(some, row_losses(self.model, read), strict=True)
        ]
        return -float(torch.tensor(logs, dtype=torch.float64).logsumexp(0))


@dataclass(frozen=True)
class _Ids:
    """What drawing asks of a tokenizer: its end, and which ids write nothing."""

    end: int
    pieces: Sequence[Piece | None] = field(default_factory=tuple)


class HuggingFaceScorer:
    """A causal model of transformers with its own tokenizer; whole texts are cut in pieces.

    A text has the begin token before it if the tokenizer has one, else the end token, and the end
    token behind it.
    """

    kind = "hugging-face"
    needs_programs = False

    def __init__(self, folder: Path, *, longest: int = 256, device: str = "cpu"):
        """Read the folder; nothing is fetched.

        Raises:
            GenieError: it holds no such model (H004) or no tokenizer of it (N056).
        """
        from transformers import AutoTokenizer

        settings = HuggingFaceSettings(str(folder), untie=False, longest=longest)
        self.model = HuggingFaceCausal(settings).to(device).eval()
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            message = f"expected a tokenizer in {folder}, got: {str(error).splitlines()[0]}"
            raise GenieError(Problem("N056", message)) from None
        known = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        self.begin: int = next((index for index in known if index is not None), 0)
        self.end: int = self.begin if known[1] is None else known[1]

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the loss of each text in nats."""
        return row_losses(self.model, [self.encoded(row) for row in rows])

    def encoded(self, row: PrivateRow) -> Encoded:
        """Return a text as ids; what goes beyond the model's length is cut."""
        # Not verbose: it would tell how long a private text is.
        read = self.tokenizer(row.utterance, add_special_tokens=False, verbose=False)["input_ids"]
        return Encoded((self.begin, *read, self.end)[: self.model.longest + 1])

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of samples."""
        special = {*self.tokenizer.all_special_ids} - {self.end}
        some = Piece(b"", True)
        ids = _Ids(self.end, [None if i in special else some for i in range(len(self.tokenizer))])
        settings = SamplingSettings(longest=self.model.longest - 1)
        for start in range(first, first + count, _BATCH):
            random = torch.Generator().manual_seed(child_seed(seed, "audit", start) % 2**63)
            many = min(_BATCH, first + count - start)
            prompts = [(self.begin,)] * many
            tokenizer: Any = ids
            for one in draw(self.model, prompts, tokenizer, settings, generator=random):
                yield tuple(self.tokenizer.decode(one.ids).split())


def open_scorer(folder: Path, *, device: str = "cpu", longest: int = 256) -> Scorer:
    """Return the scorer of a folder: of a generator, or else of a model of Hugging Face.

    Raises:
        GenieError: it is neither (N056), or cannot be read (H003, H004).
    """
    if config_of(folder).get("model_type") == MODEL_TYPE:
        return GeneratorScorer(load_generator(folder, device=device).generator)
    return HuggingFaceScorer(folder, device=device, longest=longest)


def config_of(folder: Path) -> Mapping[str, Any]:
    """Return config.json of a folder.

    Raises:
        GenieError: there is none (N056).
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("no map")
    except (OSError, ValueError) as error:
        message = f"expected a model in {folder}, got: {error}"
        hint = "name a folder of genie-dp train, of private train, or of Hugging Face"
        raise GenieError(Problem("N056", message, hint=hint)) from None
    return found
