"""Settings of a parser: training data, network, budget, and the confidence that it requires."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.models.sizes import setting_problems as network_problems
from genie_dp.recipe import check_settings, setting, setting_problems

# Starts that are no parser of the user's: the shipped base, and a network of random weights.
BASE, NOTHING = "base", "none"
SOURCES = ("synthetic", "paraphrase", "augmented", "private", "human")
ARCHITECTURES = ("rnn", "mqan", "transformer")
LANGUAGE_MODELS = ("none", "start", "feed")
# What a parser that goes on from another one has in common with it.
NETWORK_SETTINGS = (
    "architecture", "network", "model", "lora_rank", "language_model", "types", "keywords",
    "canonical", "prepare", "locale",
)  # fmt: skip
# Highest learning rates: measured for rnn and transformer (docs/research/learning.md), usual for
# the others.
RATES = {
    "rnn": 1e-2, BASE: 4e-3, "mqan": 1e-3, "transformer": 1.5e-3, "pretrained": 5e-5, "lora": 5e-4,
}  # fmt: skip


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
        network: settings of the architecture's own.
        locale: the language of the sentences, or by name the defaults of sentences: language,
            region, currency, day_first ..
    """

    inputs: tuple[InputFile, ...]
    made_by: tuple[str, ...] = ()
    prior: str = ""
    validation: str = setting(
        "",
        "Rows of real sentences, or skills with eval.tsv: choose the best weights, calibrate.",
        metavar="FILE|DIR",
    )
    start: str = setting(
        "",
        "Go on from a parser of yours (name its rows as well, or it forgets them), from the "
        "shipped base, or from none [base for English and the default network, else none].",
        metavar="PARSER|base|none",
    )
    out_of_scope: float = setting(
        0.05,
        "Share of the batches that are sentences to refuse: everyday ones, a neighbour's, damaged "
        "ones; 0 for a parser that refuses nothing.",
        least=0,
        most=0.4,
    )
    incomplete: float = setting(
        0.03,
        "Share of the batches that leave a required input out, so that the parser asks for it: "
        '"book a table"; 0 for none.',
        least=0,
        most=0.5,
    )
    contrast: float = setting(
        0.02,
        "Share of the batches that are rows with a word turned into its opposite, and the sign of "
        'the program with it: "above" and "below"; 0 for none.',
        least=0,
        most=0.5,
    )
    held_out: float = setting(
        0.02, "Share of the rows to validate with where no file is named.", least=0, most=1
    )
    validation_rows: int = setting(500, "Rows to validate with, at most.", least=1)
    architecture: str = setting("rnn", "Network.", choices=ARCHITECTURES, option="arch")
    network: Mapping[str, Any] = field(default_factory=dict)
    model: str = setting(
        "",
        "A Hugging Face model instead: an encoder-decoder, or a causal language model.",
        metavar="NAME|DIR",
    )
    lora_rank: int = setting(
        0,
        "Train adapters of that rank only; 0 trains all.",
        least=0,
        metavar="RANK",
        option="lora",
    )
    steps: int | None = setting(
        None,
        "Train so many steps [600 from the base, else 3000, unless epochs or minutes are given].",
        least=1,
    )
    epochs: float | None = setting(None, "The same in epochs.", above=0)
    minutes: float | None = setting(
        None, "End after so long at the latest; alone, train so long.", above=0
    )
    batch: int = setting(64, "Rows of a batch.", least=1)
    accumulate: int = setting(1, "Batches of a step.", least=1)
    rate: float | None = setting(None, "Highest learning rate [that of the architecture].", above=0)
    weight_decay: float = setting(0.01, "Of AdamW; more is for few rows.", least=0)
    bf16: bool | None = setting(None, "Multiply matrices in bfloat16 [where that is faster].")
    seed: int = setting(0, "Of everything random.")
    validations: int | None = setting(
        None, "How often validation rows are parsed [10, of few steps every 100].", least=1
    )
    patience: int | None = setting(
        None, "End after N validations without a better score.", least=1, metavar="N"
    )
    checkpoint_every: int = setting(
        500, "Steps between checkpoints, from which --resume goes on.", least=1, metavar="STEPS"
    )
    language_model: str = setting(
        "none",
        "A language model of the programs starts the decoder, or feeds it as well (Genie, 4.2).",
        choices=LANGUAGE_MODELS,
        option="lm",
    )
    language_model_epochs: float = setting(3.0, "How long that is trained.", above=0)
    types: bool = setting(True, "Ablation: parameters without types (Genie, Table 3).")
    keywords: bool = setting(True, "Ablation: inputs by position; decoding is then unconstrained.")
    canonical: bool = setting(True, "Ablation: inputs and conditions in any order.")
    weights: str = setting(
        "float32",
        "How weights are kept: int8 makes the folder a fourth as large.",
        choices=("float32", "int8"),
    )
    prepare: bool = setting(
        True, "Learn texts with values in them in the form in which the parser will be asked."
    )
    locale: Mapping[str, Any] | str = field(default_factory=dict)
    beam: int = setting(4, "Programs that search keeps.", least=1)
    readings: int = setting(2, "Readings of a sentence that are parsed.", least=1)
    threshold: float = setting(
        0.5, "Confidence under which the parser says that it does not know.", least=0, most=1
    )

    def __post_init__(self) -> None:
        """Check every field by itself, then their combinations.

        Raises:
            GenieError: N002, with all mistakes.
        """
        problems = [*setting_problems(self, code="N002"), *_together(self)]
        if problems := problems or _network_problems(self):
            raise GenieError(problems)

    @property
    def network_settings(self) -> tuple[str, dict[str, Any]]:
        """Return the architecture of the network, and all settings that differ from its own."""
        settings: dict[str, Any] = dict(self.network)
        if self.model:
            settings |= {"base": self.model, "lora_rank": self.lora_rank}
        if self.language_model == "feed":
            settings["language_model"] = True
        return "pretrained" if self.model else self.architecture, settings

    @property
    def is_constrained(self) -> bool:
        """Return whether search follows the grammar: inputs by position have none."""
        return self.keywords

    @property
    def learning_rate(self) -> float:
        """Return the highest learning rate."""
        if self.rate is not None:
            return self.rate
        if self.model:
            return RATES["lora" if self.lora_rank else "pretrained"]
        return RATES[BASE if self.start == BASE else self.architecture]

    @property
    def start_folder(self) -> Path | None:
        """Return the folder of the parser to continue; None for the base, or nothing."""
        return Path(self.start) if self.start not in ("", BASE, NOTHING) else None

    @property
    def fits_base(self) -> bool:
        """Return whether the network is the one that the shipped base is."""
        is_plain = not (self.network or self.model) and self.language_model == NOTHING
        return is_plain and self.architecture == "rnn"


@dataclass(frozen=True, slots=True)
class ParseConfig:
    """How a parser is asked.

    Attributes:
        english: whether to describe programs in English.
    """

    count: int = setting(
        1,
        "Up to N programs of each sentence, the most probable first.",
        least=1,
        most=50,
        metavar="N",
    )
    threshold: float | None = setting(
        None,
        "Confidence under which it says that it does not know [what the parser has].",
        least=0,
        most=1,
    )
    beam: int | None = setting(
        None, "Programs that search keeps [what the parser has].", least=1, most=64
    )
    wake_words: tuple[str, ...] = setting(
        (),
        "A name of the assistant, which is no part of a command: olly.",
        metavar="NAME",
        option="wake-word",
    )
    english: bool = True

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)


def _together(config: ParserConfig) -> list[Problem]:
    problems = []
    if not config.inputs:
        problems.append(problem("inputs", "one file at least", "none", "name rows to learn from"))
    if config.steps is not None and config.epochs is not None:
        problems.append(problem("steps, epochs", "one of the two", "both"))
    if config.steps is config.epochs is config.minutes is None:
        problems.append(problem("steps, epochs, minutes", "one of the three", "none"))
    if config.lora_rank and not config.model:
        problems.append(problem("lora_rank", "0 without a model", config.lora_rank))
    if config.model and config.weights != "float32":
        problems.append(problem("weights", "float32 with a model", config.weights))
    if config.start == BASE and not config.fits_base:
        hint = "leave out what changes the network, or begin with none"
        problems.append(problem("start", "none, with a network of its own", BASE, hint))
    is_recurrent = config.architecture == "rnn" and not config.model
    if config.language_model != "none" and not is_recurrent:
        expected = "none, save for the architecture rnn"
        problems.append(problem("language_model", expected, config.language_model))
    return problems


def _network_problems(config: ParserConfig) -> list[Problem]:
    """Return the mistakes in the network's settings, once its architecture is known."""
    problems = network_problems(*config.network_settings)
    return [
        replace(p, code="N002", message=f"network: {p.message}", setting=("network", *p.setting))
        for p in problems
    ]


def problem(name: str, expected: str, got: object, hint: str | None = None) -> Problem:
    """Return the mistake in a setting."""
    message = f"{name}: expected {expected}, got {got!r}"
    return Problem("N002", message, hint=hint, setting=(name,))


def wrong(name: str, expected: str, got: object, hint: str | None = None) -> GenieError:
    """Return the error of one setting."""
    return GenieError(problem(name, expected, got, hint))
