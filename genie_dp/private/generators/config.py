"""Settings of drawing from generators; nothing here needs torch."""

from dataclasses import dataclass, field


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
        redraws: how often an invalid utterance of a program is drawn again: no text, or with other
            placeholders. Programs whose utterances are often invalid would be too rare without.
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
