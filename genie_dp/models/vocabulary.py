"""Words, and rows of words: a model's input words, program tokens it can write, pairs of both."""

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import xxhash

from genie_dp.errors import GenieError, Problem

SIZES = (2, 3, 4)


@lru_cache(maxsize=200_000)
def ngrams(word: str, buckets: int) -> tuple[int, ...]:
    """Return the buckets of a word's character 2-, 3- and 4-grams (Bojanowski et al., 2017).

    The word is put between `<` and `>`, so that beginnings and ends have n-grams of their own. The
    hash is xxh3 of UTF-8: the same in every process and on every platform.

    >>> len(ngrams("on", 8192))  # <o on n> <on on> <on>
    6
    >>> ngrams("on", 8192) == ngrams("on", 8192)
    True
    """
    text = f"<{word}>"
    return tuple(
        xxhash.xxh3_64_intdigest(text[start : start + size].encode()) % buckets
        for size in SIZES
        for start in range(len(text) - size + 1)
    )


def words_of_name(token: str) -> tuple[str, ...]:
    """Return the words of a token's name; a parameter's type and a skill's domain are none.

    >>> words_of_name("param:file_name:Entity(tt:path_name)")
    ('file', 'name')
    >>> words_of_name("@org.thingpedia.light-bulb.set_color")
    ('light', 'bulb', 'set', 'color')
    >>> words_of_name("enum:crypto"), words_of_name("[IN:CREATE_ALARM"), words_of_name("=>")
    (('crypto',), ('create', 'alarm'), ())
    """
    kind, _, rest = re.sub(r"^\W+", "", token).partition(":")
    name = rest.partition(":")[0] if rest and kind.isalpha() else token
    if name.startswith("@"):
        name = " ".join(name.split(".")[-2:])
    # Words end at signs, and where a capital follows a small letter.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", name)
    return tuple(spaced.lower().split())


@dataclass(frozen=True, slots=True)
class Pair:
    """One row to learn from.

    Attributes:
        sentence: tokens of the sentence, placeholders among them.
        program: tokens of the program; empty where only the sentence is known.
        weight: factor of the row's loss.

    >>> Pair.from_text("tweet NUMBER_0", "now => @post NUMBER_0").program
    ('now', '=>', '@post', 'NUMBER_0')
    """

    sentence: tuple[str, ...]
    program: tuple[str, ...]
    weight: float = 1.0

    @classmethod
    def from_text(cls, sentence: str, program: str = "") -> "Pair":
        """Return the pair of two texts."""
        return cls(tuple(sentence.split()), tuple(program.split()))


PAD, UNK, BEGIN, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
KIND = "genie_dp.Vocabulary"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One table of words: special tokens, tokens that can be generated, words that are only read.

    An *extended* id is an output of a decoder: below `generated` a token of this table, and
    `generated + i` a copy of the i-th word of the sentence (See et al., 2017, section 2.2). A word
    that comes twice in a sentence has the id of its first place.

    Attributes:
        words: the table; a word's id is its place.
        generated: how many of them, from the first, can be generated.
        buckets: buckets of hashed character n-grams.
        vectors: whether words are read with their shipped vectors, too (`base.vectors`).
        cards: of tokens whose vectors are computed: the phrases of each, the first its name.

    >>> v = Vocabulary((*SPECIAL, "now", "tweet"), generated=5)
    >>> v.copies(("tweet", "now", "tweet"))
    (5, 4, 5)
    """

    words: tuple[str, ...]
    generated: int
    buckets: int = 8192
    vectors: bool = False
    cards: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict, hash=False)
    index: dict[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {word: i for i, word in enumerate(self.words)})
        if self.words[: len(SPECIAL)] != SPECIAL or len(self.index) != len(self.words):
            raise ValueError("words must begin with the special tokens and hold none twice")
        if not len(SPECIAL) <= self.generated <= len(self.words) or self.buckets < 1:
            raise ValueError(f"generated or buckets out of range: {self.generated}, {self.buckets}")

    def extend(self, other: "Vocabulary") -> "Vocabulary":
        """Return this table with the words of another behind its own.

        The result can generate the tokens that one of both can.

        >>> own = Vocabulary((*SPECIAL, "now", "tweet"), generated=5)
        >>> more = own.extend(Vocabulary((*SPECIAL, "later", "now", "hi"), generated=6))
        >>> more.words[4:], more.generated
        (('now', 'later', 'tweet', 'hi'), 6)
        """
        generated = dict.fromkeys((*self.words[: self.generated], *other.words[: other.generated]))
        words = dict.fromkeys((*generated, *self.words, *other.words))
        cards = {**self.cards, **other.cards}
        return replace(self, words=tuple(words), generated=len(generated), cards=cards)

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
        index = self.index.get(token, self.generated)
        return index if len(SPECIAL) <= index < self.generated else otherwise

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

    def save(self, path: Path) -> None:
        """Write the table as JSON."""
        data = {
            "type": KIND,
            "generated": self.generated,
            "buckets": self.buckets,
            "vectors": self.vectors,
            "cards": {token: [" ".join(x) for x in of] for token, of in self.cards.items()},
            "words": list(self.words),
        }
        text = json.dumps(data, ensure_ascii=False, indent=0)
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
            cards = {
                token: tuple(tuple(phrase.split(" ")) for phrase in phrases)
                for token, phrases in data.get("cards", {}).items()
            }
            words, generated, buckets = data["words"], int(data["generated"]), int(data["buckets"])
            return cls(tuple(words), generated, buckets, bool(data.get("vectors", False)), cards)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            message = f"expected the vocabulary of a model in {path}, got: {problem}"
            hint = "name a folder that training wrote"
            raise GenieError(Problem("M001", message, hint=hint)) from problem


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """How often training rows have each token.

    Attributes:
        words: in sentences.
        tokens: in programs.
        copyable: in programs whose sentence has it, too.
    """

    words: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    copyable: Counter[str] = field(default_factory=Counter)

    def add(self, names: Sequence[str], rows: Iterable[tuple["array[int]", "array[int]"]]) -> None:
        """Count the tokens of rows: of sentences and programs, as places among the names."""
        words, tokens, copyable = array("i"), array("i"), array("i")
        for sentence, program in rows:
            words.extend(sentence)
            tokens.extend(program)
            sentence_tokens = set(sentence)
            copyable.extend([token for token in program if token in sentence_tokens])
        for counter, ids in ((self.words, words), (self.tokens, tokens), (self.copyable, copyable)):
            numbers = np.bincount(ids, minlength=len(names)).tolist()
            counter.update({name: n for name, n in zip(names, numbers, strict=True) if n})

    def vocabulary(
        self,
        *,
        extra: Iterable[str] = (),
        minimum: int = 2,
        copied: float = 0.9,
        buckets: int = 8192,
    ) -> Vocabulary:
        """Return the vocabulary of the rows, in an order that depends on nothing but its words.

        Args:
            extra: tokens that must be possible, such as all that a DecodingGrammar can ask for.
            minimum: how often a word of sentences must be seen to be in the table.
            copied: a program token is generated if it is in its sentence less often than this.
            buckets: buckets of character n-grams.

        >>> counts = TokenCounts()
        >>> counts.add(["tweet", "a", "b", "@post"], [(array("i", [0, 1]), array("i", [3, 1])),
        ...     (array("i", [0, 2]), array("i", [3, 2]))])
        >>> counts.vocabulary(extra=["@delete"]).words[4:]
        ('@delete', '@post', 'tweet')
        """
        generated = {token for token, n in self.tokens.items() if self.copyable[token] < copied * n}
        generated = generated.union(extra).difference(SPECIAL)
        read = {word for word, n in self.words.items() if n >= minimum} - generated - {*SPECIAL}
        table = (*SPECIAL, *sorted(generated), *sorted(read))
        return Vocabulary(table, len(SPECIAL) + len(generated), buckets)
