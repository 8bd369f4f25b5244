"""Settings of generators: how they are trained on private rows, and how rows are drawn from them.

Public numbers only, and nothing here needs torch.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.plans import NoisySteps, TrainingAmount
from genie_dp.private.generators.stages import KINDS, Kind, needs_programs
from genie_dp.private.ledger.mechanisms import SHAPES, Trials
from genie_dp.private.training.settings import CLIPS, ENGINES, EngineName
from genie_dp.recipe import Setting, check_settings, setting

if TYPE_CHECKING:
    from genie_dp.private.generators.models import Settings

_EPOCHS = {"one-stage": "10", "control": "10", "two-stage": "2/8"}
# Of noisy steps, for the own decoder (docs/research/private-training.md) and others.
RATE, RATE_OF_OTHERS = 2e-2, 2e-3
BANDED_RATE = 5e-2  # with bands, where little of the noise is left
# Of Adam; for the own decoder what was best of a few (docs/research/benchmarks.md, "Settings").
MOMENTUM, MOMENTUM_OF_OTHERS = 0.5, 0.9
# With fewer public sentences a small decoder writes little English (docs/research/benchmarks.md,
# "What a generator lacks"): 752 were far too few, 12,000 a start, 48,000 better.
FEW_SENTENCES = 10_000
# Where settings are chosen by trials: how many on average, and the share of units that score.
TRIALS_MEAN, HELD_OUT = 4.0, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorConfig:
    """How a generator is trained on private rows, and what it costs."""

    kind: Kind = field(metadata={"setting": Setting("Which stages there are.", choices=KINDS)})
    epsilon: float | None = setting(
        None, "What this run costs by itself, at the budget's delta.", above=0
    )
    rest: bool = False
    """Instead of epsilon: what is left of the budget is used up."""
    about: float = field(
        metadata={
            "setting": Setting(
                "How many units (utterances, dialogues or users) there are, as far as anybody may "
                "know.",
                above=0,
                metavar="N",
            )
        }
    )
    batch: float = setting(256.0, "Units of a batch, on average.", above=0)
    epochs: str | None = setting(
        None,
        "Epochs; of two stages T1 for programs and T2 for utterances [10, 2/8].",
        metavar="T|T1/T2",
    )
    pretraining: bool = True
    """Whether public rows are learned before private ones are, not only their vocabulary."""
    pretraining_epochs: float | None = setting(
        None,
        "Epochs of each stage on public rows [as many as make the training ten minutes on this "
        "machine, 5 at most].",
        above=0,
    )
    pretraining_batch: int = setting(64, "Public rows of a batch.", least=1)
    pretraining_rate: float = setting(2e-3, "Highest learning rate on public rows.", above=0)
    code_sets: bool = False
    """Whether control codes are the sets of functions of public programs, not single functions."""
    code_noise: float = setting(
        10.0, "Standard deviation of the noise on how many units have a code.", above=0
    )
    size: int = setting(256, "Of the own decoder's states.", least=1)
    layers: int = setting(4, "Of the own decoder.", least=1)
    heads: int = setting(4, "Of the own decoder.", least=1)
    longest: int = setting(256, "Tokens of a row; what is longer is cut.", least=8)
    model: str | None = setting(
        None, "A causal model of Hugging Face, such as gpt2, instead.", metavar="NAME|DIR"
    )
    lora_rank: int | None = setting(
        None, "Train adapters of that rank only.", least=1, metavar="RANK"
    )
    tied: bool = False
    """Whether the model's head stays tied to its embeddings."""
    clip: float = setting(0.1, "Largest norm of a row's gradient.", least=CLIPS[0], most=CLIPS[1])
    learning_rate: float | None = setting(
        None,
        "Highest learning rate on private rows: noisy steps want a high one [of the own decoder "
        "0.02, with --bands 0.05; of Hugging Face 0.002].",
        above=0,
    )
    momentum: float | None = setting(
        None,
        "Share of earlier gradients in a noisy step's direction [of the own decoder 0.5, of "
        "Hugging Face 0.9].",
        least=0,
        below=1,
    )
    bands: int = setting(
        1,
        "Steps whose noise hangs together, so that less of it stays in the weights; 1 for none "
        "(DP-SGD). Units are in as many groups, and each step is of one group.",
        least=1,
        metavar="N",
    )
    tune: str | None = setting(
        None,
        "Choose settings by trainings that are tried, paid together: rate, batch, or both, each at "
        "half, once and twice its value.",
        metavar="rate,batch",
    )
    trials: Trials = setting(
        "geometric", "With --tune: distribution of the number of trainings.", choices=(*SHAPES,)
    )
    trials_mean: float = setting(
        TRIALS_MEAN, "With --tune: trainings, on average; how many there are is random.", least=1
    )
    held_out: float = setting(
        HELD_OUT,
        "With --tune: share of the units that score trainings, and are not learned from.",
        above=0,
        most=0.5,
    )
    engine: EngineName = setting("vmap", "How gradients of single rows are made.", choices=ENGINES)
    chunk: int = setting(8, "Rows whose gradients are in memory at a time.", least=1)
    checkpoint_every: int = setting(
        100, "So often an interrupted run can go on.", least=1, metavar="STEPS"
    )
    seed: int = setting(
        0, "Of first weights and public batches. Private batches and noise have none."
    )

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)

    def conflicts(self, *, has_codes: bool, has_parser: bool) -> Iterator[str]:
        """Yield what does not go together: settings, a file of codes, a parser of programs."""
        if (self.epsilon is None) != self.rest:
            yield "give --epsilon, what the run costs, or --rest"
        if self.kind != "control" and (has_codes or self.code_sets):
            yield "--codes and --code-sets go with control"
        if has_codes and self.code_sets:
            yield "--codes and --code-sets exclude each other"
        if self.kind == "one-stage" and has_parser:
            yield "one-stage has no programs, so --parser is of no use"
        if self.model is None and (self.lora_rank or self.tied):
            yield "--lora and --tied go with --model"
        if self.bands > 1 and self.tuned:
            yield "--bands and --tune exclude each other"
        if unknown := set(self.tuned) - {"rate", "batch"}:
            yield f"--tune takes rate and batch, not {', '.join(sorted(unknown))}"
        if self.model is None and self.size % self.heads:
            yield "--size must be a multiple of --heads"

    def doubts(self, *, has_parser: bool, sentences: int) -> tuple[Problem, ...]:
        """Return what is to be said against a run, whatever the private rows are.

        Args:
            has_parser: whether a parser writes the private rows' programs.
            sentences: different public sentences.
        """
        found = []
        if needs_programs(self.kind) and not has_parser:
            message = f"{self.kind} learns rows with programs alone; without any it pays for noise"
            hint = "where rows have none, a parser writes them: --parser DIR"
            found.append(Problem("H007", message, hint=hint, severity="warning"))
        if self.model is None and sentences < FEW_SENTENCES:
            message = (
                f"a small decoder learns from public sentences how people speak: {sentences:,} are "
                f"few, {FEW_SENTENCES:,} and more make rows that read better"
            )
            hint = "--public takes sentences to any other assistant, too, with an empty program"
            found.append(Problem("H013", message, hint=hint, severity="warning"))
        return tuple(found)

    @property
    def tuned(self) -> tuple[str, ...]:
        """Return the settings that are chosen by trials; () for none."""
        names = (name.strip() for name in (self.tune or "").split(","))
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def amount(self) -> TrainingAmount:
        """Return how much training there is.

        Raises:
            GenieError: H001, the epochs are none, or the kind has not as many stages; H002, the
                batch is larger than all units.
        """
        text = self.epochs or _EPOCHS[self.kind]
        try:
            epochs = tuple(float(part) for part in text.split("/"))
        except ValueError:
            hint = "such as 10, or 2/8 for two stages"
            raise GenieError(Problem("H001", f"no epochs: {text!r}", hint=hint)) from None
        amount = TrainingAmount(epochs, self.batch, self.about, self.code_noise, self.bands)
        amount.steps(self.kind)
        return amount

    @property
    def noisy_steps(self) -> NoisySteps:
        """Return how noisy steps are taken."""
        own = RATE if self.bands == 1 else BANDED_RATE
        momentum = MOMENTUM if self.model is None else MOMENTUM_OF_OTHERS
        return NoisySteps(
            self.clip,
            self.learning_rate or (own if self.model is None else RATE_OF_OTHERS),
            self.engine,
            self.chunk,
            self.checkpoint_every,
            momentum if self.momentum is None else self.momentum,
        )

    def model_settings(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.models import DecoderSettings, HuggingFaceSettings

        if self.model is None:
            return DecoderSettings(self.size, self.layers, self.heads, self.longest)
        return HuggingFaceSettings(
            self.model, lora_rank=self.lora_rank or 0, untie=not self.tied, longest=self.longest
        )

    def shared_settings(self) -> dict[str, Any]:
        """Return what a resumed run must share, with the defaults that follow from others."""
        steps = self.noisy_steps
        return {
            **asdict(self),
            "learning_rate": steps.learning_rate,
            "momentum": steps.momentum,
        }


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How sequences are drawn from a language model.

    Attributes:
        width: hypotheses of a sequence; 1 is plain multinomial sampling. With more, twice as many
            are drawn of all continuations without putting back, the likeliest go on, and of those
            that ended the likeliest per id is taken (`beam_sample` of Hugging Face; the paper has
            1 for programs and 5 for utterances, section 4.3).
        temperature: logits are divided by it.
        top_k: only so many ids may come; 0 for all.
        top_p: only the likeliest ids may come that have this share together (Holtzman et al.,
            2020); 1 for all.
        longest: ids, the end included, after which a sequence is cut. Under a grammar it goes on
            to the next place where it may end instead.
    """

    width: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    longest: int = 128

    def __post_init__(self) -> None:
        if min(self.width, self.longest) < 1 or self.top_k < 0:
            raise ValueError(f"width and longest must be positive, top_k >= 0: {self}")
        if self.temperature <= 0 or not 0 < self.top_p <= 1:
            raise ValueError(f"expected temperature > 0 and 0 < top_p <= 1: {self}")


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
    utterance: SamplingSettings = field(default_factory=SamplingSettings)
    is_constrained: bool = True
    batch: int = 128
    tries: int = 20
    redraws: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1 or self.tries < 1:
            raise ValueError(f"expected batch and tries >= 1, got {self.batch}, {self.tries}")
