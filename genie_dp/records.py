"""The rows that go from stage to stage, and the publishable facts of private data."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Source = Literal["synthetic", "paraphrase", "augmented", "private", "human"]
DEFAULT_LANGUAGE = "thingtalk"  # of programs, where nothing says otherwise
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of a placeholder: its type, and the function's parameter that it fills."""

    type: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Example:
    """One pair of a sentence and its program.

    Attributes:
        utterance: tokens separated by one space, lower-case; placeholders such as NUMBER_0.
        program: canonical token form of `language`: equal meaning is equal text.
        parent: id of the row that this one was made from, or "".
        derivation: ids of the templates used, outermost first.
        functions: functions of the program, in program order.
        depth: construct templates applied on the longest path above a primitive.
        slots: placeholder -> its type and the parameter it fills.
    """

    id: str
    utterance: str
    program: str
    language: str = DEFAULT_LANGUAGE
    source: Source = "synthetic"
    parent: str = ""
    derivation: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    depth: int = 0
    slots: dict[str, Slot] = field(default_factory=dict)
    weight: float = 1.0


def source_of_copy(row: Example, source: Source) -> Source:
    """Return the source of a row made of another: whatever is made of private rows stays so.

    >>> source_of_copy(Example("S1", "hi", "..", source="private"), "paraphrase")
    'private'
    """
    return "private" if row.source == "private" else source


@dataclass(frozen=True, slots=True)
class Spent:
    """The privacy statement without which nothing learned from private data can be written.

    Attributes:
        epsilon, delta: the guarantee; there is no default for either.
        unit: the difference of neighbours: "utterance", "dialogue" or "user".
        relation: neighbouring relation, for example "add-or-remove-one".
        accountant: how the guarantee was computed, for example "rdp" or "pld".
        not_covered: the data that the guarantee does not cover, in plain words.
    """

    epsilon: float
    delta: float
    unit: str
    relation: str
    accountant: str
    not_covered: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be >= 0, got {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), got {self.delta}")


@dataclass(frozen=True, slots=True)
class Frequency:
    """The share of units in which something was found, with the bounds of its interval.

    The interval is that of the noise: all intervals of a prior hold together with 95 %. All three
    figures lie between 0 and 1.
    """

    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PrivatePrior:
    """Privately learned facts that may steer synthesis: DP frequencies, programs, sentences.

    Attributes:
        spent: the guarantee under which everything below was released.
        function_shares: function -> its share among all functions asked for; they sum to 1.
        function_weights: function -> multiplier of its share among rows made without the prior.
        pair_weights: two functions of one program, sorted, with a space between -> multiplier.
        programs: DP programs in token form, as often as they were drawn.
        utterances: DP sentences.
        functions: function of the library -> share of units that ask for it.
        pairs: pair -> share of units that ask for both in one program; of those above the noise.
        missing: missing function -> share of units that ask for it; "" is any of it.
        signal: which part of `function_shares` is more than noise, between 0 and 1.
        release: how the frequencies were released: settings of the noise, nothing exact.
    """

    spent: Spent
    function_shares: dict[str, float] = field(default_factory=dict)
    function_weights: dict[str, float] = field(default_factory=dict)
    pair_weights: dict[str, float] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    utterances: tuple[str, ...] = ()
    functions: dict[str, Frequency] = field(default_factory=dict)
    pairs: dict[str, Frequency] = field(default_factory=dict)
    missing: dict[str, Frequency] = field(default_factory=dict)
    signal: float = 1.0
    release: dict[str, Any] = field(default_factory=dict)
