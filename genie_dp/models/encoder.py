"""A BERT-like encoder in numpy: vectors of words in their sentence, which networks read.

It is read, never trained, so a sentence has the same vectors whenever it is asked for, and training
computes them once. Needs neither torch nor transformers.
"""

import json
import shutil
import struct
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.types import is_slot
from genie_dp.run.files import hash_of_files

# Folder, inside of a saved model, of the encoder that it reads with.
ENCODER = "encoder"
CONFIG, WEIGHTS, TOKENIZER, WORDS = (
    "config.json", "model.safetensors", "tokenizer.json", "vocab.txt"
)  # fmt: skip
# Says of a vocab.txt whether capitals and accents are read.
_HOW = "tokenizer_config.json"
# Vectors have a root mean square of 1; so much of them is as large as the network's own words.
SHARE = 0.1
# Sentences that go through it together: with more, what a layer makes leaves the processor's cache.
_BATCH = 16

F32 = npt.NDArray[np.float32]
Words = tuple[str, ...]


class WordVectors(Protocol):
    """What has a vector for each word of a sentence."""

    @property
    def width(self) -> int:
        """Return the numbers of a vector."""

    def vectors(self, sentences: Sequence[Words]) -> list[F32]:
        """Return (words, width) of each sentence."""


def pad_vectors(vectors: Sequence[F32]) -> F32:
    """Return (B, longest, width), 0 behind the end of a sentence; at least one place."""
    longest = max(1, *map(len, vectors))
    padded = np.zeros((len(vectors), longest, vectors[0].shape[1]), np.float32)
    for row, own in zip(padded, vectors, strict=True):
        row[: len(own)] = own
    return padded


def plain_words(token: str) -> str:
    """Return what an encoder reads for a word: of a placeholder, what it stands for.

    >>> plain_words("NUMBER_0"), plain_words("GENERIC_ENTITY_tt:song_0"), plain_words("hello")
    ('number', 'song', 'hello')
    """
    if not is_slot(token):
        return token
    stem = token.rpartition("_")[0].removeprefix("GENERIC_ENTITY_")
    return stem.rpartition(":")[2].replace("_", " ").lower()


# ---------------------------------------------------------------------------- pieces of words


class WordPieces:
    """Words to numbers of pieces (Wu et al., 2016), as BERT splits them."""

    def __init__(self, table: Mapping[str, int], *, lowers: bool = True, strips: bool = True):
        """Keep the table.

        Args:
            table: piece -> number.
            lowers: whether capitals are small letters.
            strips: whether accents are left out.

        Raises:
            KeyError: it lacks a special piece.
        """
        self._table, self._lowers, self._strips = table, lowers, strips
        self._unknown = table["[UNK]"]
        self.begin, self.end = table["[CLS]"], table["[SEP]"]
        self.of = lru_cache(maxsize=50_000)(self._pieces)

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Return those of tokenizer.json, or else of vocab.txt.

        Raises:
            OSError, ValueError, KeyError, TypeError: they cannot be read, or split otherwise.
        """
        if (folder / TOKENIZER).exists():
            read = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
            table, how = read["model"]["vocab"], read["normalizer"] or {}
            kinds = read["model"].get("type", "WordPiece"), how.get("type")
            if kinds != ("WordPiece", "BertNormalizer"):
                raise ValueError(f"{TOKENIZER}: expected WordPiece as BERT has it, got {kinds}")
            lowers, strips = how["lowercase"], how["strip_accents"]
        else:
            lines = (folder / WORDS).read_text(encoding="utf-8").split("\n")
            table = {line.rstrip("\r"): number for number, line in enumerate(lines) if line}
            how = {}
            if (folder / _HOW).exists():
                how = json.loads((folder / _HOW).read_text(encoding="utf-8"))
            lowers, strips = how.get("do_lower_case", True), how.get("strip_accents")
        return cls(table, lowers=lowers, strips=lowers if strips is None else strips)

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the pieces of a word, one at least."""
        return tuple(n for part in self._split(word) for n in self._pieces_of(part)) or (
            self._unknown,
        )

    def _split(self, word: str) -> list[str]:
        """Return a word in the form in which it is looked up, signs by themselves."""
        text = "".join(map(_apart, word))
        if self._strips:
            split = unicodedata.normalize("NFD", text)
            text = "".join(x for x in split if unicodedata.category(x) != "Mn")
        if self._lowers:
            text = text.lower()
        return "".join(f" {x} " if _is_sign(x) else x for x in text).split()

    def _pieces_of(self, part: str) -> list[int]:
        """Return the longest pieces from the left; what cannot be split so is unknown."""
        numbers, start = [], 0
        while start < len(part) <= 100:  # what BERT gives up beyond
            for end in range(len(part), start, -1):
                piece = part[start:end] if start == 0 else f"##{part[start:end]}"
                if piece in self._table:
                    numbers.append(self._table[piece])
                    start = end
                    break
            else:
                return [self._unknown]
        return numbers or [self._unknown]


def _apart(letter: str) -> str:
    """Return a letter as BERT cleans it: Chinese ones stand alone, control signs go."""
    code, category = ord(letter), unicodedata.category(letter)
    if letter in "\t\n\r" or category == "Zs":
        return " "
    if code in (0, 0xFFFD) or category.startswith("C"):
        return ""
    return f" {letter} " if any(a <= code <= b for a, b in _CHINESE) else letter


_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def _is_sign(letter: str) -> bool:
    is_ascii_sign = letter.isascii() and letter.isprintable() and not letter.isalnum()
    return (is_ascii_sign and letter != " ") or unicodedata.category(letter).startswith("P")


# -------------------------------------------------------------------------------- the encoder


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of all that an encoder is read from, the names of its files included.

    Raises:
        GenieError: M010, a file is missing.
    """
    try:
        return hash_of_files(folder, _files(folder))
    except OSError as error:
        raise _no_encoder(folder, str(error)) from None


def _files(folder: Path) -> list[Path]:
    """Return the files that an encoder is read from."""
    names = [CONFIG, WEIGHTS, TOKENIZER]
    if not (folder / TOKENIZER).exists():
        names[2:] = [WORDS, *([_HOW] if (folder / _HOW).exists() else [])]
    return [folder / name for name in names]


def open_beside(folder: Path, digest: str | None) -> "Encoder | None":
    """Return the encoder inside the folder of a model; None of a model that reads with none.

    Args:
        folder: the model's.
        digest: what the model says of its encoder.

    Raises:
        GenieError: M010, it cannot be read; M011, it is another one than the model learned with.
    """
    if digest is None:
        return None
    if digest_of(folder / ENCODER) != digest:
        message = f"the encoder in {folder / ENCODER} is not the one that the network learned with"
        raise GenieError(Problem("M011", message, hint="put the files back, or train again"))
    return Encoder(folder / ENCODER)


class Encoder:
    """A BERT (Devlin et al., 2019) of any size, in evaluation mode.

    Attributes:
        folder: where it lies.
        width: numbers of a vector.
        layers: how many it has.
        digest: SHA-256 of its files.
    """

    def __init__(self, folder: Path):
        """Read config.json, model.safetensors, and tokenizer.json or vocab.txt.

        Raises:
            GenieError: M010, a file is missing or is not what it should be, or it is no BERT.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        self.folder, self.digest = folder, digest_of(folder)
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            _check_kind(config)
            self.width, self.layers = int(config["hidden_size"]), int(config["num_hidden_layers"])
            self._longest = int(config["max_position_embeddings"])
            self._pieces = WordPieces.from_folder(folder)
            weights = _Weights(load_file(str(folder / WEIGHTS)))
            base, width = "embeddings.", self.width
            self._words = weights.take(f"{base}word_embeddings.weight", config["vocab_size"], width)
            places = weights.take(f"{base}position_embeddings.weight", self._longest, width)
            kinds = weights.take(f"{base}token_type_embeddings.weight", None, width)
            self._places = places + kinds[0]
            self._norm = _Norm(weights, f"{base}LayerNorm", config)
            names = (f"encoder.layer.{number}." for number in range(self.layers))
            self._stack = [_Layer(weights, name, config) for name in names]
        except KeyError as error:
            raise _no_encoder(folder, f"no {error}") from None
        except (OSError, ValueError, TypeError, AttributeError, SafetensorError) as error:
            raise _no_encoder(folder, str(error)) from None
        # The networks of an ensemble ask for the same sentences, one after the other.
        self._last: dict[Words, F32] = {}

    @property
    def summary(self) -> str:
        """Return what it is, in words."""
        return f"{self.layers} layers, {self.width} wide"

    def copy_to(self, folder: Path) -> None:
        """Copy the files that it was read from into a new folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in _files(self.folder):
            shutil.copyfile(path, folder / path.name)

    def vectors(self, sentences: Sequence[Words]) -> list[F32]:
        """Return (words, width) of each sentence, in the order they came.

        A word has the mean of its pieces' last states, made as long as all others: with a root mean
        square of 1. Words behind the longest sentence that the encoder reads have zeros.
        """
        new = sorted(
            {words: self._split(words) for words in sentences if words not in self._last}.items(),
            key=lambda item: sum(map(len, item[1])),
        )
        made = {words: self._last[words] for words in sentences if words in self._last}
        for start in range(0, len(new), _BATCH):
            some = new[start : start + _BATCH]
            states = self._states([pieces for _, pieces in some])
            for (words, pieces), row in zip(some, states, strict=True):
                made[words] = _of_words(row[1:], pieces)
        self._last = made
        return [made[words] for words in sentences]

    def _split(self, words: Words) -> list[tuple[int, ...]]:
        """Return the pieces of each word; none of words that there is no place for."""
        left, pieces = self._longest - 2, []
        for word in words:
            own = self._pieces.of(plain_words(word))[:left]
            left -= len(own)
            pieces.append(own)
        return pieces

    def _states(self, sentences: Sequence[Sequence[tuple[int, ...]]]) -> F32:
        """Return (B, Z, width): the last states of pieces, of begin and end as well."""
        flat = [[n for word in words for n in word] for words in sentences]
        lengths = np.array([len(row) + 2 for row in flat])
        ids = np.zeros((len(flat), lengths.max()), np.int64)
        for row, numbers in zip(ids, flat, strict=True):
            row[: len(numbers) + 2] = (self._pieces.begin, *numbers, self._pieces.end)
        padding = np.arange(ids.shape[1]) >= lengths[:, None]
        mask = np.where(padding, np.float32(-np.inf), np.float32(0))[:, None, None]
        x = self._norm(self._words[ids] + self._places[: ids.shape[1]])
        for layer in self._stack:
            x = layer(x, mask)
        return x


def _of_words(states: F32, pieces: Sequence[tuple[int, ...]]) -> F32:
    """Return (words, width): the means of the words' pieces, each with a root mean square of 1."""
    vectors = np.zeros((len(pieces), states.shape[1]), np.float32)
    start = 0
    for vector, own in zip(vectors, pieces, strict=True):
        if own:
            mean = states[start : start + len(own)].mean(0)
            vector[:] = mean / np.sqrt(np.square(mean).mean())
        start += len(own)
    return vectors


_KIND = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}


def _check_kind(config: Mapping[str, Any]) -> None:
    """Refuse a model that computes something else.

    Raises:
        ValueError: the first thing that differs.
    """
    for name, expected in _KIND.items():
        # Newer files leave out the last one: there is nothing else any more.
        found = config.get(name, None if name in ("model_type", "hidden_act") else expected)
        if found != expected:
            raise ValueError(f"{name} {found!r} in {CONFIG}, where only {expected!r} is taken")


def _no_encoder(folder: Path, what: str) -> GenieError:
    hint = f"name a folder of a BERT: {CONFIG}, {WEIGHTS}, {TOKENIZER} or {WORDS}"
    return GenieError(Problem("M010", f"expected an encoder in {folder}, got: {what}", hint=hint))


class _Weights:
    """Weights by name, as a bare BERT has them."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]]):
        # Others have it inside; of old ones the norms have other names.
        self._tensors = {
            name.removeprefix("bert.").replace("gamma", "weight").replace("beta", "bias"): x
            for name, x in tensors.items()
        }

    def take(self, name: str, *shape: int | None) -> F32:
        """Return a weight in 32 bits.

        Raises:
            KeyError, ValueError: there is none, or it has another shape.
        """
        x = self._tensors[name]
        if x.dtype.kind != "f" or any(
            a is not None and a != b for a, b in zip(shape, x.shape, strict=True)
        ):
            raise ValueError(f"{name}: expected numbers of shape {shape}, got {x.dtype} {x.shape}")
        return x.astype(np.float32)


class _Norm:
    def __init__(self, weights: _Weights, name: str, config: Mapping[str, Any]):
        self._weight = weights.take(f"{name}.weight", config["hidden_size"])
        self._bias = weights.take(f"{name}.bias", config["hidden_size"])
        self._epsilon = np.float32(config["layer_norm_eps"])

    def __call__(self, x: F32) -> F32:
        """Return numbers with mean and variance of the layer's; those given are changed."""
        x -= x.mean(-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(-1, keepdims=True) + self._epsilon)
        x *= self._weight
        x += self._bias
        return x


class _Layer:
    def __init__(self, weights: _Weights, name: str, config: Mapping[str, Any]):
        size, inner = int(config["hidden_size"]), int(config["intermediate_size"])
        self._heads = int(config["num_attention_heads"])
        if size % self._heads:
            raise ValueError(f"{CONFIG}: {size} numbers for {self._heads} heads")
        linears = {
            part: (
                weights.take(f"{name}{part}.weight", rows, columns).T,
                weights.take(f"{name}{part}.bias", rows),
            )
            for part, rows, columns in (
                ("attention.self.query", size, size),
                ("attention.self.key", size, size),
                ("attention.self.value", size, size),
                ("attention.output.dense", size, size),
                ("intermediate.dense", inner, size),
                ("output.dense", size, inner),
            )
        }
        *asked, self._output, self._inner, self._outer = linears.values()
        self._asked = tuple(np.concatenate(parts, -1) for parts in zip(*asked, strict=True))
        self._own_norm = _Norm(weights, f"{name}attention.output.LayerNorm", config)
        self._norm = _Norm(weights, f"{name}output.LayerNorm", config)

    def __call__(self, x: F32, mask: F32) -> F32:
        """Return (B, Z, width) for (B, Z, width); `mask` is minus infinity at padding."""
        rows, places, size = x.shape
        flat = x.reshape(-1, size)
        # Query, key and value: (3, B, heads, Z, size / heads).
        parts = _linear(flat, self._asked).reshape(rows, places, 3, self._heads, -1)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2)
        scores *= np.float32((size // self._heads) ** -0.5)
        scores += mask
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, size)
        own = self._own_norm(_linear(seen, self._output) + flat)
        inner = _gelu(_linear(own, self._inner))
        return self._norm(_linear(inner, self._outer) + own).reshape(x.shape)


def _linear(x: F32, weight_and_bias: tuple[F32, ...]) -> F32:
    out: F32 = x @ weight_and_bias[0]
    out += weight_and_bias[1]
    return out


def _gelu(x: F32) -> F32:
    """Return x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    By Abramowitz and Stegun, 7.1.26: at most 1.5e-7 off.
    """
    size = np.abs(x)
    t = size * np.float32(0.3275911 * 0.5**0.5)
    t += 1
    np.reciprocal(t, out=t)
    tail = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0):
        tail *= t
        tail += np.float32(factor)
    np.square(size, out=t)
    t *= np.float32(-0.5)
    np.exp(t, out=t)
    tail *= t
    tail *= size
    tail *= np.float32(0.5)
    np.maximum(x, 0, out=x)
    x -= tail
    return x


# -------------------------------------------------------------------------- kept in a file

_HEAD = struct.Struct("<8sII")
_KEY = 16


class KeptVectors:
    """Vectors that an encoder computes once for each sentence, in a file that only grows.

    What was asked for together is a block of the file: a checksum, the hashes of the sentences,
    their words, and the vectors in 16 bits. A block that a kill cut off is dropped and computed
    again. A resumed run asks for the same sentences together as the one before, so it learns from
    the same numbers, although those of a sentence depend a little (1e-6) on those beside it.
    """

    def __init__(self, encoder: Encoder, path: Path):
        """Open the file, or make it."""
        self._encoder = encoder
        self._file = open(path, "a+b")  # noqa: SIM115 - see close
        self._places: dict[bytes, tuple[int, int]] = {}
        end = 0
        for start, keys, lengths in self._blocks():
            end = self._note(start, keys, lengths)
        self._file.truncate(end)

    @property
    def width(self) -> int:
        """Return the numbers of a vector."""
        return self._encoder.width

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def vectors(self, sentences: Sequence[Words]) -> list[F32]:
        """Return (words, width) of each sentence."""
        keys = [xxhash.xxh3_128_digest("\0".join(words).encode()) for words in sentences]
        asked = dict(zip(keys, sentences, strict=True))
        if new := {key: words for key, words in asked.items() if key not in self._places}:
            self._add(new)
        found = []
        for key in keys:
            place, count = self._places[key]
            self._file.seek(place)
            data = self._file.read(2 * count * self.width)
            read = np.frombuffer(data, np.float16).reshape(count, self.width)
            found.append(read.astype(np.float32))
        return found

    def _add(self, new: Mapping[bytes, Words]) -> None:
        """Compute and write a block."""
        vectors = self._encoder.vectors(list(new.values()))
        lengths = np.array([len(x) for x in vectors], "<u4")
        data = np.concatenate(vectors).astype("<f2").tobytes()
        body = b"".join((*new, lengths.tobytes(), data))
        counts = struct.pack("<II", len(new), int(lengths.sum()))
        start = self._file.seek(0, 2)
        self._file.write(xxhash.xxh3_64_digest(counts + body) + counts + body)
        self._file.flush()
        self._note(start, list(new), lengths.tolist())

    def _note(self, start: int, keys: Sequence[bytes], lengths: Sequence[int]) -> int:
        """Remember where the vectors of a block are; return its end."""
        place = start + _HEAD.size + (_KEY + 4) * len(keys)
        for key, count in zip(keys, lengths, strict=True):
            self._places[key] = place, count
            place += 2 * count * self.width
        return place

    def _blocks(self) -> Iterator[tuple[int, list[bytes], list[int]]]:
        """Yield where each whole block begins, its keys, and the words of its sentences."""
        size, start = self._file.seek(0, 2), 0
        while start + _HEAD.size <= size:
            self._file.seek(start)
            head = self._file.read(_HEAD.size)
            checksum, rows, words = _HEAD.unpack(head)
            length = (_KEY + 4) * rows + 2 * words * self.width
            if start + _HEAD.size + length > size:
                return
            body = self._file.read(length)
            if xxhash.xxh3_64_digest(head[8:] + body) != checksum:
                return
            keys = [body[i * _KEY : (i + 1) * _KEY] for i in range(rows)]
            yield start, keys, np.frombuffer(body, "<u4", rows, _KEY * rows).tolist()
            start += _HEAD.size + length
