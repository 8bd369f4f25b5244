"""The words a model reads and the program tokens it can write."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.pairs import Pair

PAD, UNK, BEGIN, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
KIND = "genie_dp.Vocabulary"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One table of words: special tokens, tokens that can be generated, words that are only read.

    An *extended* id says what a decoder writes: below `generated` a token of this table, and
    `generated + i` a copy of the i-th word of the sentence (See et al., 2017, section 2.2). A word
    that comes twice in a sentence has the id of its first place.

    Attributes:
        words: the table; a word's id is its place.
        generated: how many of them, from the first, can be generated.
        buckets: buckets of hashed character n-grams.

    >>> v = Vocabulary((*SPECIAL, "now", "tweet"), generated=5)
    >>> v.copies(("tweet", "now", "tweet"))
    (5, 4, 5)
    """

    words: tuple[str, ...]
    generated: int
    buckets: int = 8192
    index: dict[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a table without the special tokens or with a word twice."""
        object.__setattr__(self, "index", {word: i for i, word in enumerate(self.words)})
        if self.words[: len(SPECIAL)] != SPECIAL or len(self.index) != len(self.words):
            raise ValueError("words must begin with the special tokens and hold none twice")
        if not len(SPECIAL) <= self.generated <= len(self.words) or self.buckets < 1:
            raise ValueError(f"generated or buckets out of range: {self.generated}, {self.buckets}")

    def read(self, sentence: Iterable[str]) -> tuple[int, ...]:
        """Return the ids of a sentence's words; UNK for those never seen."""
        return tuple(self.index.get(word, UNK) for word in sentence)

    def copies(self, sentence: Iterable[str]) -> tuple[int, ...]:
        """Return the extended id of each place of a sentence."""
        first: dict[str, int] = {}
        return tuple(
            self.generable(word, self.generated + first.setdefault(word, place))
            for place, word in enumerate(sentence)
        )

    def generable(self, token: str, otherwise: int = UNK) -> int:
        """Return the id of a token that can be generated, else the other id."""
        found = self.index.get(token, self.generated)
        return found if len(SPECIAL) <= found < self.generated else otherwise

    def write(self, program: Iterable[str], sentence: tuple[str, ...]) -> tuple[int, ...]:
        """Return the extended ids of a program; UNK where a token is neither known nor copied."""
        copied = dict(zip(reversed(sentence), reversed(self.copies(sentence)), strict=True))
        return tuple(self.generable(token, copied.get(token, UNK)) for token in program)

    def token(self, extended: int, sentence: tuple[str, ...]) -> str:
        """Return the token of an extended id."""
        if extended < self.generated:
            return self.words[extended]
        return sentence[extended - self.generated]

    def missing(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Return the tokens that can be neither generated nor, if no sentence has them, copied."""
        return tuple(sorted(token for token in tokens if self.generable(token) == UNK))

    def as_dict(self) -> dict[str, Any]:
        """Return what `save` writes."""
        return {
            "type": KIND,
            "generated": self.generated,
            "buckets": self.buckets,
            "words": list(self.words),
        }

    def save(self, path: Path) -> None:
        """Write the table as JSON."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, indent=0)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Return the table of a file.

        Raises:
            GenieError: the file is not one that `save` wrote.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["type"] != KIND:
                raise ValueError(f"type is {data['type']!r}")
            return cls(tuple(data["words"]), int(data["generated"]), int(data["buckets"]))
        except (OSError, ValueError, KeyError, TypeError) as problem:
            message = f"expected the vocabulary of a model in {path}, got: {problem}"
            hint = "name a folder that training wrote"
            raise GenieError(Problem("M001", message, hint=hint)) from problem


def build_vocabulary(
    pairs: Iterable[Pair],
    *,
    extra: Iterable[str] = (),
    minimum: int = 2,
    copied: float = 0.9,
    buckets: int = 8192,
) -> Vocabulary:
    """Return the vocabulary of training rows, in an order that depends on nothing but its words.

    Args:
        pairs: rows to learn from.
        extra: tokens that must be possible, such as all that a DecodingGrammar can ask for.
        minimum: how often a word of sentences must be seen to be in the table.
        copied: a program token is generated if it is in its sentence less often than this share.
        buckets: buckets of character n-grams.

    >>> pairs = [Pair.of("tweet hello", "@post hello"), Pair.of("tweet bye", "@post bye")]
    >>> build_vocabulary(pairs, extra=["@delete"]).words[4:]
    ('@delete', '@post', 'tweet')
    """
    words: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    copyable: Counter[str] = Counter()
    for pair in pairs:
        words.update(pair.sentence)
        tokens.update(pair.program)
        known = set(pair.sentence)
        copyable.update(token for token in pair.program if token in known)
    generated = {token for token, n in tokens.items() if copyable[token] < copied * n}
    generated = generated.union(extra).difference(SPECIAL)
    read = {word for word, n in words.items() if n >= minimum} - generated - {*SPECIAL}
    table = (*SPECIAL, *sorted(generated), *sorted(read))
    return Vocabulary(table, len(SPECIAL) + len(generated), buckets)
