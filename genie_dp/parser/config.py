"""Settings of a parser: what it learns from, which network, how long, how sure it must be."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.learn.sizes import setting_problems

SOURCES = ("synthetic", "paraphrase", "augmented", "private", "human")
ARCHITECTURES = ("rnn", "mqan", "transformer")
LANGUAGE_MODELS = ("none", "start", "feed")
# Highest learning rates: measured for rnn and transformer (docs/learning.md), usual for the others.
RATES = {"rnn": 1e-2, "mqan": 1e-3, "transformer": 1.5e-3, "pretrained": 5e-5, "lora": 5e-4}


@dataclass(frozen=True, slots=True)
class InputFile:
    """Rows to learn from.

    Attributes:
        path: file or URL: JSONL, TSV or Parquet.
        source: rows of this source alone; "" for all.
        ratio: its share among the inputs' ratios; None for as much as it has rows.
        weight: factor of its rows' losses, beside their own weights.
    """

    path: str
    source: str = ""
    ratio: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: N002.
        """
        if not self.path:
            raise wrong("inputs", "the path of a file", self.path)
        if self.source and self.source not in SOURCES:
            hint = did_you_mean(self.source, SOURCES)
            raise wrong("source", f"one of {', '.join(SOURCES)}", self.source, hint)
        if self.ratio is not None and not 0 <= self.ratio < math.inf:
            raise wrong("ratio", "a number of at least 0", self.ratio)
        if not 0 <= self.weight < math.inf:
            raise wrong("weight", "a number of at least 0", self.weight)


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """How a parser is trained; all of it is saved beside the parser, as recipe.yaml.

    Attributes:
        inputs: files to learn from, mixed by their ratios.
        made_by: commands that made the inputs, for the card; they are not run.
        prior: file of a private prior that multiplies the weights of rows; "" for none.
        validation: rows of real sentences, or a folder of skills whose eval.tsv are meant: they
            choose the best weights and calibrate the confidence; never learned from.
        held_out: without `validation`, share of the rows' families that takes its place.
        validation_rows: rows of these that are used, at most; chosen by their hashes.
        architecture: rnn, mqan or transformer.
        network: settings of the network, such as size (docs/learning.md).
        model: a Hugging Face encoder-decoder instead, by name or folder.
        lora_rank: rank of adapters of that model; 0 trains all of it.
        minutes, steps, epochs: when training ends; one of them.
        batch: rows of a batch.
        accumulate: batches of a step.
        rate: highest learning rate; None for the architecture's own.
        weight_decay: of AdamW; more is for few rows (docs/experiments.md).
        bf16: whether matrices are multiplied in bfloat16; None where the device is faster so.
        seed: of everything random.
        validations: how often in the budget validation rows are parsed.
        patience: validations without a better score until training ends; None for never.
        curriculum: epochs until the hardest rows may come; 0 for all rows from the start.
        groups: shares of "primitive" and "compound" rows; empty for as many as there are.
        language_model: a language model of the programs is trained first and starts the decoder
            ("start"), or feeds it as well ("feed": Genie, section 4.2), or "none".
        language_model_epochs: how long that is trained.
        types: whether parameters carry their types; off is an ablation (Genie, Table 3).
        keywords: whether inputs are named, else they stand by position; off is an ablation.
        canonical: whether programs are learned in canonical order, else in an order drawn for
            each row; off is an ablation.
        reader: what reads numbers, dates and the like: grammar or duckling.
        prepare: whether the reader goes over the rows, so that texts with values in them are
            learned in the form in which the parser will be asked.
        locale: what sentences leave unsaid, such as region, currency, day_first.
        beam: programs that search keeps.
        readings: readings of a sentence that are parsed, the likeliest first.
        threshold: confidence under which the parser says that it does not know.
    """

    inputs: tuple[InputFile, ...]
    made_by: tuple[str, ...] = ()
    prior: str = ""
    validation: str = ""
    held_out: float = 0.02
    validation_rows: int = 1000
    architecture: str = "rnn"
    network: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    lora_rank: int = 0
    minutes: float | None = None
    steps: int | None = None
    epochs: float | None = None
    batch: int = 64
    accumulate: int = 1
    rate: float | None = None
    weight_decay: float = 0.01
    bf16: bool | None = None
    seed: int = 0
    validations: int = 10
    patience: int | None = None
    curriculum: float = 0.0
    groups: Mapping[str, float] = field(default_factory=dict)
    language_model: str = "none"
    language_model_epochs: float = 3.0
    types: bool = True
    keywords: bool = True
    canonical: bool = True
    reader: str = "grammar"
    prepare: bool = True
    locale: Mapping[str, Any] = field(default_factory=dict)
    beam: int = 4
    readings: int = 2
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Check every field by itself, then what goes together.

        Raises:
            GenieError: N002, all that is wrong.
        """
        problems = [*_field_problems(self), *_together(self)]
        if problems := problems or _network_problems(self):
            raise GenieError(problems)

    @property
    def network_settings(self) -> tuple[str, dict[str, Any]]:
        """Return the architecture of the network, and all settings that differ from its own."""
        found: dict[str, Any] = dict(self.network)
        if self.model:
            found |= {"base": self.model, "lora_rank": self.lora_rank}
        if self.language_model == "feed":
            found["language_model"] = True
        return "pretrained" if self.model else self.architecture, found

    @property
    def is_constrained(self) -> bool:
        """Return whether search follows the grammar: inputs by position have none."""
        return self.keywords

    @property
    def learning_rate(self) -> float:
        """Return the highest learning rate."""
        if self.rate is not None:
            return self.rate
        pretrained = "lora" if self.lora_rank else "pretrained"
        return RATES[pretrained if self.model else self.architecture]


_AT_LEAST: Mapping[str, float] = {
    "validation_rows": 1, "lora_rank": 0, "batch": 1, "accumulate": 1, "validations": 1,
    "patience": 1, "curriculum": 0, "beam": 1, "readings": 1, "weight_decay": 0,
}  # fmt: skip
_POSITIVE = ("minutes", "steps", "epochs", "rate", "language_model_epochs")
_SHARES = ("held_out", "threshold")
_ONE_OF = {
    "architecture": ARCHITECTURES,
    "language_model": LANGUAGE_MODELS,
    "reader": ("grammar", "duckling"),
}


def _field_problems(config: ParserConfig) -> list[Problem]:
    found = []
    for name, least in _AT_LEAST.items():
        value = getattr(config, name)
        if value is not None and not least <= value < math.inf:
            found.append(problem(name, f"at least {least:g}", value))
    for name in _POSITIVE:
        value = getattr(config, name)
        if value is not None and not 0 < value < math.inf:
            found.append(problem(name, "a positive number", value))
    for name in _SHARES:
        if not 0 <= getattr(config, name) <= 1:
            found.append(problem(name, "a share from 0 to 1", getattr(config, name)))
    for name, known in _ONE_OF.items():
        value = getattr(config, name)
        if value not in known:
            hint = did_you_mean(value, known)
            found.append(problem(name, f"one of {', '.join(known)}", value, hint))
    return found


def _together(config: ParserConfig) -> list[Problem]:
    found = []
    if not config.inputs:
        found.append(problem("inputs", "one file at least", "none", "name rows to learn from"))
    budgets = [n for n in ("minutes", "steps", "epochs") if getattr(config, n) is not None]
    if len(budgets) != 1:
        got = " and ".join(budgets) or "none"
        found.append(problem("minutes, steps, epochs", "one of the three", got))
    if config.lora_rank and not config.model:
        found.append(problem("lora_rank", "0 without a model", config.lora_rank))
    is_recurrent = config.architecture == "rnn" and not config.model
    if config.language_model != "none" and not is_recurrent:
        expected = "none, save for the architecture rnn"
        found.append(problem("language_model", expected, config.language_model))
    unknown = sorted(config.groups.keys() - {"primitive", "compound"})
    found += [problem("groups", "primitive or compound", name) for name in unknown]
    for name, share in sorted(config.groups.items()):
        if not 0 <= share < math.inf:
            found.append(problem("groups", f"a share of at least 0 for {name}", share))
    return found


def _network_problems(config: ParserConfig) -> list[Problem]:
    """Return what is wrong with the network's settings, once its architecture is known."""
    found = setting_problems(*config.network_settings)
    return [Problem("N002", f"network: {one.message}", hint=one.hint) for one in found]


def problem(name: str, expected: str, got: object, hint: str | None = None) -> Problem:
    """Return what to say of a setting."""
    return Problem("N002", f"{name}: expected {expected}, got {got!r}", hint=hint)


def wrong(name: str, expected: str, got: object, hint: str | None = None) -> GenieError:
    """Return the error of one setting."""
    return GenieError(problem(name, expected, got, hint))
