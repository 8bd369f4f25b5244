"""Where rows lie: each gets a vector of unit length, and the nearest ones mean alike.

An embedding depends on public things alone: it learns, for example, how rare words are from
candidates. And it places each row by itself: a vector that changed with the other rows of a batch
would let one private row move the votes of others.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.records import Example

Vectors = NDArray[np.float32]
"""(rows, dimensions), each row of length 1, or all zeros where nothing is known of it."""

DIMENSIONS = 2048
_GRAMS = (3, 4)  # characters
_TOKEN = re.compile(r"[@\w.:-]+|[^\s\w]")


class Embedding(Protocol):
    """Places rows. It depends on public things alone: never on private rows."""

    def fit(self, public: Sequence[Example]) -> "Embedding":
        """Return the embedding after it learned from public rows: the first candidates."""
        ...

    def vectors(self, examples: Sequence[Example]) -> Vectors:
        """Return one vector of unit length for each row, (rows, dimensions)."""
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that the vectors depend on, before anything is learned."""
        ...


def unit_length(vectors: NDArray[np.floating[Any]]) -> Vectors:
    """Return vectors with their rows divided by their lengths; rows of zeros stay.

    >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    zeros = np.zeros(vectors.shape, np.float32)
    divided = np.divide(vectors, lengths, out=zeros, where=lengths > 0, casting="same_kind")
    return cast("Vectors", divided)


@dataclass(frozen=True, slots=True)
class _HashedFeatures:
    """Base class of hashed embeddings: features, counted, weighted by rarity, hashed with signs.

    A feature's weight is 1 + ln(times) times its inverse document frequency among public rows,
    ln((1 + rows) / (1 + rows that have it)) + 1 (as scikit-learn smooths it): one that no public
    row has weighs as much as the rarest. Signs are hashed too, so that collisions cancel
    (Weinberger et al., 2009).

    Attributes:
        dimensions: of the vectors.
        rarity: inverse document frequency by place, (dimensions,), and by sort of features; empty
            before anything is learned: then all weigh the same.
    """

    dimensions: int = DIMENSIONS
    rarity: tuple[float, ...] = ()

    def sorts(self, example: Example) -> Iterator[list[str]]:
        """Yield the features of a row, a list for each sort; all sorts weigh the same."""
        raise NotImplementedError

    def fit(self, public: Sequence[Example]) -> Self:
        """Return the embedding that knows how rare the features of public rows are."""
        having = np.zeros(self.dimensions)
        for example in public:
            places = {_place(f, self.dimensions)[0] for sort in self.sorts(example) for f in sort}
            having[list(places)] += 1
        rarity = np.log((1 + len(public)) / (1 + having)) + 1
        return replace(self, rarity=tuple(rarity.tolist()))

    def vectors(self, examples: Sequence[Example]) -> Vectors:
        """Return the vectors of rows, (rows, dimensions)."""
        rows = np.zeros((len(examples), self.dimensions))
        for row, example in zip(rows, examples, strict=True):
            for features in self.sorts(example):
                weighed = []
                for feature, times in Counter(features).items():
                    place, sign = _place(feature, self.dimensions)
                    rarity = self.rarity[place] if self.rarity else 1.0
                    weighed.append((place, sign * (1 + math.log(times)) * rarity))
                # The features of one sort have length 1 together.
                length = math.sqrt(sum(weight * weight for _, weight in weighed)) or 1.0
                for place, weight in weighed:
                    row[place] += weight / length
        return unit_length(rows)


def _place(feature: str, dimensions: int) -> tuple[int, float]:
    hashed = xxhash.xxh3_64_intdigest(feature.encode())
    return hashed % dimensions, 1.0 if hashed >> 63 else -1.0


@dataclass(frozen=True, slots=True)
class HashedNgramEmbedding(_HashedFeatures):
    """Words, pairs of words, and character 3- and 4-grams of sentences, by tf-idf.

    >>> HashedNgramEmbedding().vectors([Example("", "wake me up", "")]).shape
    (1, 2048)
    """

    def sorts(self, example: Example) -> Iterator[list[str]]:
        """Yield words, their pairs, and character n-grams."""
        words = example.utterance.lower().split()
        yield [f"1 {word}" for word in words]
        yield [f"2 {a} {b}" for a, b in pairwise(["<s>", *words, "</s>"])] if words else []
        text = f" {' '.join(words)} "
        yield [f"c {text[i : i + n]}" for n in _GRAMS for i in range(len(text) - n + 1) if words]

    def fingerprint(self) -> str:
        """Return the name that runs know the embedding by, and its dimensions."""
        return f"HashedNgrams {self.dimensions}"


@dataclass(frozen=True, slots=True)
class ProgramBag(_HashedFeatures):
    """Functions of programs, and pieces of their trees; sentences are not read.

    Rows without a program that can be read have no vector, and so no vote.
    """

    language: Language = field(kw_only=True)

    def sorts(self, example: Example) -> Iterator[list[str]]:
        """Yield the functions, and tokens and neighbouring tokens without literal values."""
        functions, tokens = program_pieces(example.program, self.language)
        yield [f"f {name}" for name in functions]
        yield [f"t {token}" for token in tokens]
        yield [f"p {a} {b}" for a, b in pairwise(["<s>", *tokens, "</s>"])] if tokens else []

    def fingerprint(self) -> str:
        """Return the name of the embedding, its dimensions and language."""
        return f"ProgramBag {self.dimensions} {self.language.name}"


def program_pieces(program: str, language: Language) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return functions and tokens of a program in either form; none of one that cannot be read.

    >>> from genie_dp.languages import get_language
    >>> program_pieces("now => @com.x.list => notify", get_language("thingtalk"))
    (('@com.x.list',), ('now', '=', '>', '@com.x.list', '(', ')', '=', '>', 'notify'))
    """
    if not program:
        return (), ()
    for read in (language.from_tokens, language.parse):
        try:
            tree = read(program)
            functions = tuple(language.functions(tree).elements())
            # As people write it: the token form needs the library's types.
            return functions, tuple(
                _TOKEN.findall(language.render(language.values.anonymize(tree)))
            )
        except GenieError:
            continue  # its error may hold private text, and goes no further
    return (), ()


@dataclass(frozen=True, slots=True)
class Both:
    """Several embeddings side by side, such as sentences and programs.

    The similarity of two rows is the weighted mean of theirs, where both have all; a row that one
    of them knows nothing of is placed by the others.

    Attributes:
        parts: (embedding, weight > 0), one at least.
    """

    parts: tuple[tuple[Embedding, float], ...]

    def fit(self, public: Sequence[Example]) -> "Both":
        """Return the embeddings after they learned from public rows."""
        return Both(tuple((embedding.fit(public), weight) for embedding, weight in self.parts))

    def vectors(self, examples: Sequence[Example]) -> Vectors:
        """Return the vectors side by side, (rows, sum of dimensions)."""
        parts = [
            math.sqrt(weight) * embedding.vectors(examples) for embedding, weight in self.parts
        ]
        return unit_length(np.concatenate(parts, axis=1))

    def fingerprint(self) -> str:
        """Return a hash of all parts."""
        text = repr([(embedding.fingerprint(), weight) for embedding, weight in self.parts])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SentenceTransformer:
    """The vectors of a public model; nothing is fetched.

    Each sentence is encoded by itself: in a batch, padding changes last digits with the other
    sentences, and one private row could then move the votes of others.

    Attributes:
        folder: of the model, as `SentenceTransformer.save` writes it.
        device: where it runs: "cpu", "cuda" ..
    """

    folder: Path
    device: str = "cpu"

    def fit(self, public: object) -> "SentenceTransformer":
        """Return the embedding itself: it learns nothing more."""
        return self

    def load(self) -> None:
        """Load the model now, so that a missing one is found before anything is paid.

        Raises:
            GenieError: sentence-transformers is not installed (U011), or the folder has no model
                of it (U012).
        """
        _model(self.folder, self.device)

    def vectors(self, examples: Any) -> Vectors:
        """Return the vectors of sentences, (rows, dimensions); zeros where there are no words.

        Raises:
            GenieError: as `load`.
        """
        model = _model(self.folder, self.device)
        texts = [example.utterance for example in examples]
        encoded = [model.encode([text], show_progress_bar=False)[0] for text in texts]
        rows = np.stack([np.asarray(vector, np.float32) for vector in encoded])
        rows[[not text.strip() for text in texts]] = 0
        return unit_length(rows)

    def fingerprint(self) -> str:
        """Return a hash of the names, sizes and short files of the folder."""
        digest = hashlib.sha256()
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(self.folder)} {path.stat().st_size}\n".encode())
            if path.stat().st_size < 1 << 16:
                digest.update(path.read_bytes())
        return f"SentenceTransformer {digest.hexdigest()}"


@lru_cache(maxsize=2)
def _model(folder: Path, device: str) -> Any:
    try:
        library = import_module("sentence_transformers")
    except ImportError:
        hint = "pip install sentence-transformers, or take the embedding hashed"
        message = "sentence-transformers is not installed"
        raise GenieError(Problem("U011", message, hint=hint)) from None
    try:
        return library.SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError) as error:
        hint = "give the folder that `SentenceTransformer.save` wrote"
        message = f"{folder}: no model of sentence-transformers: {error}"
        raise GenieError(Problem("U012", message, hint=hint)) from None
