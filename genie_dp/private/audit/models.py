"""The interface of models for attacks, and its models: generators, and Hugging Face's."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.generator import MODEL_TYPE, Generator, load_generator
from genie_dp.private.generators.models import HuggingFaceCausal, HuggingFaceSettings, collate
from genie_dp.private.generators.rows import count_functions
from genie_dp.private.generators.sampling import draw
from genie_dp.private.generators.stages import (
    STAGES,
    EncodedRow,
    GeneratorStage,
    LabelledRow,
    encode_prompt,
    encode_row,
)
from genie_dp.private.generators.tokenizer import TokenPiece, decode
from genie_dp.private.source import PrivateRow
from genie_dp.rng import child_seed, stream


class Scorer(Protocol):
    """A model that gives the likelihood of rows.

    Attributes:
        kind: of the model: "one-stage", "hugging-face", "parser" ..
        needs_programs: whether only rows with programs have a probability.
    """

    kind: str
    needs_programs: bool

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the negative log-probability of each row, in nats, END included."""


@runtime_checkable
class StepwiseScorer(Scorer, Protocol):
    """A scorer whose probabilities can be followed token by token, for exact ranks.

    Attributes:
        model: a CausalLM in evaluation mode.
    """

    model: Any

    def encode(self, row: PrivateRow) -> EncodedRow:
        """Return a row as ids, from BEGIN to END; of several models, as the last one reads it."""


@runtime_checkable
class SamplingScorer(Scorer, Protocol):
    """A scorer that writes text."""

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of `count` samples, from the sample number `first` on; () for none."""


def count_words(row: PrivateRow, *, with_program: bool) -> int:
    """Return the words of a row and one for its end; with its program, also its tokens.

    >>> count_words(PrivateRow("hi there"), with_program=False)
    3
    """
    program = (row.program or "").split()
    return len(row.utterance.split()) + 1 + (len(program) + 1 if with_program else 0)


def check_programs(rows: Iterable[PrivateRow], kind: str) -> None:
    """Refuse rows without a program where a model is of programs, too.

    Raises:
        GenieError: N054.
    """
    if any(not (row.program or "").strip() for row in rows):
        message = f"expected rows with programs for a model of the kind {kind}"
        hint = "canaries have one with --program; rows in the field program"
        raise GenieError(Problem("N054", message, hint=hint))


_BATCH = 32


def row_losses(model: Any, rows: Sequence[EncodedRow], *, batch: int = _BATCH) -> list[float]:
    """Return the loss of each row in nats; rows of like length go together."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].tokens))
    losses = [0.0] * len(rows)
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            collated = collate([rows[i] for i in chosen]).to(model.device)
            for i, loss in zip(chosen, model.loss(collated).tolist(), strict=True):
                losses[i] = loss
    return losses


class GeneratorScorer:
    """A generator: all its stages together give the likelihood of a row.

    With control codes, a row with a program has that program's code; the probability of one without
    is the mean over all codes, weighted by their released frequencies.
    """

    def __init__(self, generator: Generator):
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
            return [self._loss_over_codes(row) for row in rows]
        total = [0.0] * len(rows)
        for stage in self.stages:
            encoded_rows = [self._encode(stage, self._label(row)) for row in rows]
            losses = row_losses(self.generator.models[stage.name], encoded_rows)
            total = [a + b for a, b in zip(total, losses, strict=True)]
        return total

    def encode(self, row: PrivateRow) -> EncodedRow:
        """Return a row as the last stage reads it.

        Raises:
            GenieError: it has no program where one is needed (N054).
        """
        if self.needs_programs or self.generator.codes is not None:
            check_programs([row], self.kind)
        return self._encode(self.stages[-1], self._label(row))

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of samples, drawn as they come; () for a draw that is no text."""
        for start in range(first, first + count, _BATCH):
            random = torch.Generator().manual_seed(child_seed(seed, "audit", start) % 2**63)
            numbers = range(start, min(start + _BATCH, first + count))
            prompts = [self._prompt(number, seed) for number in numbers]
            for stage in self.stages:
                prompts = self._draw(stage, prompts, random)
            yield from prompts

    def _prompt(self, number: int, seed: int) -> tuple[str, ...]:
        generator = self.generator
        if generator.codes is None:
            return ()
        rng = stream(seed, "audit", "code", number)
        return tuple(rng.choices(generator.codes.all, generator.weights)[0].split())

    def _draw(
        self, stage: GeneratorStage, prompts: Sequence[tuple[str, ...]], random: torch.Generator
    ) -> list[tuple[str, ...]]:
        """Return the continuations that a stage samples for the prompts."""
        model, tokenizer = self.generator.models[stage.name], self.generator.tokenizer
        ids = [encode_prompt(stage, words, tokenizer, longest=model.longest) for words in prompts]
        longest = max(1, model.longest - max(map(len, ids)))
        samples = draw(model, ids, tokenizer, SamplingSettings(longest=longest), generator=random)
        return [self._words(sample.ids) for sample in samples]

    def _words(self, ids: Sequence[int]) -> tuple[str, ...]:
        try:
            return decode(ids, self.generator.tokenizer)
        except ValueError:  # bytes that are no text
            return ()

    def _label(self, row: PrivateRow, code: str | None = None) -> LabelledRow:
        program = row.program or ""
        codes = self.generator.codes
        if code is None and codes is not None and program:
            code = codes.find_code(count_functions(program, get_language(self.generator.language)))
        return LabelledRow(tuple(row.utterance.split()), tuple(program.split()), code or "")

    def _encode(self, stage: GeneratorStage, row: LabelledRow) -> EncodedRow:
        longest = self.generator.models[stage.name].longest
        return encode_row(stage, row, self.generator.tokenizer, longest=longest)

    def _loss_over_codes(self, row: PrivateRow) -> float:
        codes, weights = self.generator.codes, self.generator.weights
        assert codes is not None
        if row.program:
            return row_losses(self.model, [self.encode(row)])[0]
        used = [(code, w) for code, w in zip(codes.all, weights, strict=True) if w > 0]
        rows = [self._encode(self.stages[-1], self._label(row, code)) for code, _ in used]
        total = sum(w for _, w in used)
        logs = [
            math.log(w / total) - loss
            for (_, w), loss in zip(used, row_losses(self.model, rows), strict=True)
        ]
        return -float(torch.tensor(logs, dtype=torch.float64).logsumexp(0))


@dataclass(frozen=True)
class _TokenizerIds:
    """The attributes of a tokenizer that sampling needs: its end, and ids that write nothing."""

    end: int
    pieces: Sequence[TokenPiece | None] = field(default_factory=tuple)


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
        begin, end = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        self.begin: int = next((index for index in (begin, end) if index is not None), 0)
        self.end: int = self.begin if end is None else end

    def losses(self, rows: Sequence[PrivateRow]) -> list[float]:
        """Return the loss of each text in nats."""
        return row_losses(self.model, [self.encode(row) for row in rows])

    def encode(self, row: PrivateRow) -> EncodedRow:
        """Return a text as ids, truncated to the model's length."""
        # Not verbose: it would tell how long a private text is.
        read = self.tokenizer(row.utterance, add_special_tokens=False, verbose=False)["input_ids"]
        return EncodedRow((self.begin, *read, self.end)[: self.model.longest + 1])

    def samples(self, count: int, *, seed: int, first: int = 0) -> Iterator[tuple[str, ...]]:
        """Yield the words of samples."""
        special = {*self.tokenizer.all_special_ids} - {self.end}
        some = TokenPiece(b"", True)
        ids = _TokenizerIds(
            self.end, [None if i in special else some for i in range(len(self.tokenizer))]
        )
        settings = SamplingSettings(longest=self.model.longest - 1)
        for start in range(first, first + count, _BATCH):
            random = torch.Generator().manual_seed(child_seed(seed, "audit", start) % 2**63)
            many = min(_BATCH, first + count - start)
            prompts = [(self.begin,)] * many
            tokenizer: Any = ids
            for sample in draw(self.model, prompts, tokenizer, settings, generator=random):
                yield tuple(self.tokenizer.decode(sample.ids).split())


def open_scorer(folder: Path, *, device: str = "cpu", longest: int = 256) -> Scorer:
    """Return the scorer of a folder: of a generator, or else of a model of Hugging Face.

    Raises:
        GenieError: it is neither (N056), or cannot be read (H003, H004).
    """
    config = read_config(folder)
    if "parser" in config:
        hint = "from Python, give gd.Parser.from_pretrained(folder)"
        message = f"expected a model of texts in {folder}, got a parser"
        raise GenieError(Problem("N056", message, hint=hint))
    if config.get("model_type") == MODEL_TYPE:
        return GeneratorScorer(load_generator(folder, device=device).generator)
    return HuggingFaceScorer(folder, device=device, longest=longest)


def read_config(folder: Path) -> Mapping[str, Any]:
    """Return config.json of a folder.

    Raises:
        GenieError: there is none (N056).
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("no map")
    except (OSError, ValueError) as error:
        message = f"expected a model in {folder}, got: {error}"
        hint = "name a folder of genie-dp train, of private train, or of Hugging Face"
        raise GenieError(Problem("N056", message, hint=hint)) from None
    return config


def language_of(folder: Path) -> str | None:
    """Return the language of a model's programs, None where it has none."""
    config = read_config(folder)
    parser = config.get("parser")
    name = parser.get("language") if isinstance(parser, dict) else config.get("language")
    return str(name) if name else None
