"""The stages of each kind of generator, and rows as the sequences of a stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from genie_dp.private.generators.tokenizer import Tokenizer, encode


@dataclass(frozen=True, slots=True)
class EncodedRow:
    """One row as ids, from BEGIN to END.

    Attributes:
        tokens: the ids.
        scored_from: the first place that the model is to predict; the ids before it are a prompt.
    """

    # Ids of private rows are private text: neither a log nor an error shows them.
    tokens: tuple[int, ...] = field(repr=False)
    scored_from: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.scored_from < len(self.tokens):
            raise ValueError("expected scored_from within the tokens, behind the first")

    @property
    def scored_count(self) -> int:
        """Return how many places the model is to predict."""
        return len(self.tokens) - self.scored_from


Kind = Literal["one-stage", "control", "two-stage"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Prompt = Literal["nothing", "code", "program"]
StageName = Literal["program", "utterance"]

# The fact of a generator that names its entry in the ledger.
RUN = "run in the ledger"


@dataclass(frozen=True, slots=True)
class GeneratorStage:
    """One language model: of programs or utterances, given a prompt.

    Attributes:
        name: of its output.
        prompt: the name of its prompt.
    """

    name: StageName
    prompt: Prompt = "nothing"


# p(x); p(x | control code), after Yue et al. (2022); p(y) and p(x | y): "Privacy-Preserving Domain
# Adaptation of Semantic Parsers", algorithms 1 and 2.
STAGES: Mapping[Kind, tuple[GeneratorStage, ...]] = {
    "one-stage": (GeneratorStage("utterance"),),
    "control": (GeneratorStage("utterance", "code"),),
    "two-stage": (GeneratorStage("program"), GeneratorStage("utterance", "program")),
}


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row with all that a stage may want of it; its text is not shown.

    Attributes:
        utterance: words.
        program: tokens, none where only the utterance is known.
        code: the control code, "" for none.
    """

    utterance: tuple[str, ...] = field(repr=False)
    program: tuple[str, ...] = field(default=(), repr=False)
    code: str = field(default="", repr=False)


def needs_programs(kind: Kind) -> bool:
    """Return whether private rows must have programs, given or parsed."""
    return kind != "one-stage"


def prompt_of(stage: GeneratorStage, row: LabelledRow) -> tuple[str, ...]:
    """Return the words that a stage is given."""
    match stage.prompt:
        case "nothing":
            return ()
        case "code":
            return tuple(row.code.split())
        case "program":
            return row.program


# What a model that has read much text is told to write; one of Hugging Face begins there with
# sentences of that sort, not with any text of its corpus.
_TASKS: Mapping[tuple[StageName, Prompt], str] = {
    ("program", "nothing"): "A program of a voice assistant :",
    ("utterance", "nothing"): "A command to a voice assistant :",
    ("utterance", "code"): "A command to a voice assistant that uses",
    ("utterance", "program"): "A command to a voice assistant that means",
}


def encode_prompt(
    stage: GeneratorStage, words: Sequence[str], tokenizer: Tokenizer, *, longest: int
) -> tuple[int, ...]:
    """Return the ids before a stage's output: BEGIN alone, or BEGIN, the prompt and SEPARATOR.

    A prompt takes at most half of the `longest` tokens; its end is cut. Tokenizers of pretrained
    models have a line with an instruction before it.
    """
    task = _TASKS[stage.name, stage.prompt].split() if tokenizer.instructs else ()
    if stage.prompt == "nothing" and not task:
        return (tokenizer.begin,)
    prompt = encode((*task, *words), tokenizer)[: max(1, longest // 2)]
    return (tokenizer.begin, *prompt, tokenizer.separator)


def encode_row(
    stage: GeneratorStage, row: LabelledRow, tokenizer: Tokenizer, *, longest: int
) -> EncodedRow:
    """Return a row as a stage learns it, cut at `longest` tokens, with no END then."""
    before = encode_prompt(stage, prompt_of(stage, row), tokenizer, longest=longest)
    words = row.program if stage.name == "program" else row.utterance
    tokens = (*before, *encode(words, tokenizer), tokenizer.end)
    return EncodedRow(tokens[: longest + 1], len(before))
