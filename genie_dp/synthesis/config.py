"""Synthesis as a stage, and the settings of the stages that read templates backwards."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from genie_dp.errors import GenieError, Problem
from genie_dp.located import read_yaml
from genie_dp.private_prior import PriorFile
from genie_dp.recipe import REQUIRED, check_settings, setting
from genie_dp.stage.kernel import RESUMABLE_ROWS, Stage, jobs_setting, prior_setting
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

DEFAULT_SIZE = 10_000
_WEIGHTS_HINT = 'for example "@com.gmail.inbox": 2.5'


@dataclass(frozen=True, slots=True)
class SynthesisConfig:
    """Settings of the sampling; every field is written to the manifest beside the rows.

    Without `size` and `target_size` there are 10,000 rows at most. The share of depths is Genie's
    (section 3.1); the default of `balance` is from reference experiments of November 2026.
    """

    size: int | None = setting(
        None, "Rows to make, at most [10000, or what --target-size gives].", least=1, metavar="N"
    )
    target_size: int | None = setting(
        None,
        "Rows of each root template at depth 1; further depths get less.",
        least=1,
        metavar="K",
    )
    max_depth: int = setting(5, "Construct templates inside each other, at most.", least=1, most=12)
    depth_decay: float = setting(0.7, "Share of each further depth, as a factor.", above=0, most=1)
    balance: float = setting(
        0.25, "0: every function alike; 1: by how much can be said of it.", least=0, most=1
    )
    pool_size: int = setting(
        2_000, "Partial derivations kept for each category and depth.", least=1
    )
    subsets: tuple[str, ...] = setting(
        ("training",), "Subset of flagged templates [training].", metavar="NAME", option="subset"
    )
    roots: tuple[str, ...] = setting(
        (),
        "Root category that makes sentences [all but those the grammar calls optional].",
        metavar="CATEGORY",
        option="root",
    )
    include: tuple[str, ...] = setting((), "Only functions such as '@com.gmail.*'.", metavar="GLOB")
    exclude: tuple[str, ...] = setting((), "No such functions.", metavar="GLOB")
    weights: Mapping[str, float] = setting(
        {}, "YAML or JSON: function -> multiplier of its share.", least=0, value="weights"
    )
    on_error: str = setting(
        "stop", "What to do when a Python semantic function raises.", choices=("stop", "skip")
    )
    seed: int = setting(0, "The same inputs and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field, and settle the size.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
        if self.size is None and self.target_size is None:
            object.__setattr__(self, "size", DEFAULT_SIZE)


class Shard(NamedTuple):
    """Part `number` of `parts`, counted from 0."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Return the shard of a text.

        >>> Shard.parse("1/4")
        Shard(number=1, parts=4)

        Raises:
            GenieError: R040.
        """
        number, _, parts = text.partition("/")
        if not (number.isdigit() and parts.isdigit() and int(number) < int(parts)):
            message = f"{text!r} is not i/n with 0 <= i < n, such as 0/4"
            raise GenieError(Problem("R040", message))
        return cls(int(number), int(parts))


WHOLE = Shard(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesize(Stage):
    """Make (utterance, program) pairs from a skill library and template files.

    Every program is well-typed and canonical, no sentence has two programs, no row comes twice.

    \b
    genie-dp synthesize --size 10000 --output pairs.jsonl
    genie-dp synthesize --skills thingpedia/com.gmail --preview 3

    Attributes:
        augmented: template -> its rows after augmentation, for the report.
    """

    command = "synthesize"
    work = "genie_dp.synthesis.run:run"
    output = RESUMABLE_ROWS

    inputs: Inputs = setting(REQUIRED, "Skills and templates.", value="inputs")
    config: SynthesisConfig = setting(SynthesisConfig(), "What to sample.", value="settings")
    prior: PriorFile | None = prior_setting("Weigh functions")
    jobs: int = jobs_setting()
    scheduler: str | None = setting(
        None,
        "Let the workers of this Dask scheduler make the rows, such as tcp://host:8786; the bytes "
        "do not depend on it.",
        metavar="ADDRESS",
    )
    shard: Shard = setting(
        WHOLE,
        "Make part i of n, from 0; `genie-dp data merge` joins the parts [0/1].",
        metavar="i/n",
        parse=Shard.parse,
    )
    preview: int | None = setting(
        None, "Print N random pairs of each template and stop.", least=1, metavar="N"
    )
    report: Path | None = setting(
        None,
        "Write coverage, ambiguity and acceptance there, as JSON and HTML.",
        value="report of rows",
    )
    augmented: Mapping[str, int] | None = None

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse processes beside a cluster."""
        if self.scheduler and self.jobs > 1:
            return "--scheduler and --jobs exclude each other"
        return None


def read_weights(path: Path) -> dict[str, float]:
    """Return the weights of a YAML or JSON file.

    Raises:
        GenieError: R022 if it is no map, with the place if it is no YAML; all weights that are no
            number of at least 0.
    """
    text = read_text(path)
    located = read_yaml(text, str(path), code="R022")
    if located is None or not isinstance(located.value, dict):
        message = f"{path}: expected function: number on each line"
        raise GenieError(Problem("R022", message, hint=_WEIGHTS_HINT))
    expected = f"{path}: expected a number of at least 0 for"
    read = located.plain
    wrong = [
        Problem(
            "R022",
            f"{expected} {name!r}, got {weight!r}",
            located.find((name,)),
            hint=_WEIGHTS_HINT,
        )
        for name, weight in read.items()
        if isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not (math.isfinite(weight) and weight >= 0)
    ]
    if wrong:
        raise GenieError(wrong, sources={str(path): text})
    return {name: float(weight) for name, weight in read.items()}


@dataclass(frozen=True, slots=True)
class ReverseConfig:
    """Which templates are read backwards, and how deep: from sentences, or from programs."""

    subsets: tuple[str, ...] = setting(
        (), "Subset of flagged templates [training].", metavar="NAME", option="subset"
    )
    max_depth: int = setting(8, "Construct templates inside each other, at most.", least=1, most=12)

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
