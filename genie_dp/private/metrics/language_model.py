"""Language models of sentences: counts of words and letters, or a model of Hugging Face.

"We discard some setups with high GPT-2 loss, as MAUVE and function overlap tend to be very high on
some grammatically incorrect sentences with diverse vocabulary" (Mireshghallah et al. 2023, A.3).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import exp, inf, log
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xxhash

from genie_dp.errors import GenieError, Problem

_END = "\n"  # in no word, for words stand between white space
_START = "\t"
_CHARACTERS = 0x110000  # of Unicode: what was never seen has a probability, too
_WORDS = 3  # a word is predicted from the two before it
_LETTERS = 5


class SentenceModel(Protocol):
    """Whatever gives sentences a loss.

    Attributes:
        name: of the model; losses of different models cannot be compared.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def losses(self, utterances: Sequence[str]) -> Sequence[tuple[float, int]]:
        """Return the loss of each sentence in nats, and the number of tokens it was summed over."""


class NgramModel:
    """Trigrams of words over 5-grams of letters, both by Witten and Bell (1991).

    Each level is interpolated with the next shorter one by the share of events that were new
    there; below single words stands the probability of their letters, so that the probabilities of
    all sentences sum to 1, whatever words they have.
    """

    name = "word trigrams over letter 5-grams, Witten-Bell"

    def __init__(self, utterances: Iterable[str]):
        """Count the sentences; the letters are those of different words, once each."""
        self._words = _Counts(_WORDS)
        self._letters = _Counts(_LETTERS)
        vocabulary: set[str] = set()
        for utterance in utterances:
            words = utterance.split()
            self._words.add([*words, _END])
            vocabulary.update(words)
        for word in sorted(vocabulary):
            self._letters.add([*word, _END])
        self._spelled: dict[str, float] = {}

    def losses(self, utterances: Sequence[str]) -> list[tuple[float, int]]:
        """Return nats and words of each sentence, its end counted as a word.

        >>> model = NgramModel(["wake me up", "wake me"])
        >>> (known, words), (garbage, _) = model.losses(["wake me up", "up grxl me"])
        >>> words, known < 3 < garbage
        (4, True)
        """
        return [self._loss([*utterance.split(), _END]) for utterance in utterances]

    def _loss(self, words: Sequence[str]) -> tuple[float, int]:
        return -sum(self._words.logs(words, self.spelled)), len(words)

    def spelled(self, word: str) -> float:
        """Return the logarithm of the probability of a word's letters; that of 0 for the end."""
        if word == _END:
            return -inf
        if word not in self._spelled:
            letters = self._letters.logs([*word, _END], lambda _: -log(_CHARACTERS))
            self._spelled[word] = sum(letters)
        return self._spelled[word]


class _Counts:
    """How often an event followed a history of up to `order` - 1 events.

    Probabilities are logarithms: that of the letters of a long word is less than a number can be.
    """

    def __init__(self, order: int):
        self.order = order
        self.after: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.totals: dict[tuple[str, ...], int] = defaultdict(int)

    def add(self, events: Sequence[str]) -> None:
        for history, event in self._walk(events):
            for start in range(len(history) + 1):
                self.after[history[start:]][event] += 1
                self.totals[history[start:]] += 1

    def logs(self, events: Sequence[str], below: Callable[[str], float]) -> list[float]:
        """Return the logarithm of the probability of each event after those before it."""
        return [self._log(history, event, below) for history, event in self._walk(events)]

    def _walk(self, events: Sequence[str]) -> Iterable[tuple[tuple[str, ...], str]]:
        padded = (*[_START] * (self.order - 1), *events)
        for place, event in enumerate(events):
            yield padded[place : place + self.order - 1], event

    def _log(self, history: tuple[str, ...], event: str, below: Callable[[str], float]) -> float:
        result = below(event)
        for start in range(len(history), -1, -1):
            after = self.after.get(history[start:])
            if after is None:
                return result  # longer ones were not seen either
            kinds, seen, total = len(after), after[event], self.totals[history[start:]]
            # Of an event that was not seen, the logarithm alone goes on.
            rest = log(seen + kinds * exp(result)) if seen else log(kinds) + result
            result = rest - log(total + kinds)
        return result


class CrossFitted:
    """Two models, each of one half of the real sentences, so that these can be held out, too.

    A sentence that stands in the rows several times is in one half.
    """

    def __init__(self, real: Sequence[str]):
        """Train on both halves.

        Raises:
            GenieError: too few different sentences for two halves (J003).
        """
        distinct = sorted(set(real), key=_shuffle_key)
        if len(distinct) < 2:
            message = "expected real sentences for two language models, got too few different ones"
            hint = "name other text for the language model with --lm-text"
            raise GenieError(Problem("J003", message, hint=hint))
        self._first = frozenset(distinct[: len(distinct) // 2])
        self._models = (
            NgramModel(text for text in real if text in self._first),
            NgramModel(text for text in real if text not in self._first),
        )
        self.name = f"{NgramModel.name}; two models, each of one half of the real sentences"

    def losses(self, utterances: Sequence[str]) -> list[tuple[float, int]]:
        """Return the mean loss of both models."""
        both = zip(*(model.losses(utterances) for model in self._models), strict=True)
        return [((a + b) / 2, words) for (a, words), (b, _) in both]

    def held_out(self, real: Sequence[str]) -> list[tuple[float, int]]:
        """Return the loss of real sentences by the model that has not seen them."""
        first, second = self._models
        return [(second if text in self._first else first).losses([text])[0] for text in real]


def _shuffle_key(utterance: str) -> int:
    """Return a sort key that shows nothing of the words: a hash."""
    return xxhash.xxh3_64_intdigest(utterance.encode(), seed=1)


_BATCH = 32
_MOST_TOKENS = 256


class HuggingFaceModel:
    """A causal language model: a Featuriser and a SentenceModel at once.

    Attributes:
        name: the folder's name and the used part of the model.
    """

    def __init__(self, folder: Path):
        """Read the folder.

        Raises:
            GenieError: transformers is missing, or the folder holds no such model (J006).
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError:
            hint = "pip install 'genie_dp[train]'"
            message = "models of Hugging Face need torch and transformers"
            raise GenieError(Problem("J006", message, hint=hint)) from None
        self._torch = torch
        try:
            self._tokens = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            message = f"{folder} holds no causal language model: {str(error).splitlines()[0]}"
            hint = "name a folder with config.json, the weights and the files of its tokenizer"
            raise GenieError(Problem("J006", message, hint=hint)) from None
        self._model = model.eval()
        self._first = self._start()
        self._most = min(
            _MOST_TOKENS, getattr(model.config, "max_position_embeddings", _MOST_TOKENS)
        )
        self.name = f"{folder.name}, last layer at the last token"

    def _start(self) -> int:
        ids = (self._tokens.bos_token_id, self._tokens.eos_token_id)
        return next((id for id in ids if id is not None), 0)

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) states of the last layer after the last token, as mauve-text takes them."""
        features = []
        for ids, lengths in self._batches(utterances):
            with self._torch.no_grad():
                states = self._model(**ids, output_hidden_states=True).hidden_states[-1]
            features.append(states[range(len(lengths)), [n - 1 for n in lengths]].float().numpy())
        return np.concatenate(features)

    def losses(self, utterances: Sequence[str]) -> list[tuple[float, int]]:
        """Return nats and tokens of each sentence, the first one conditioned on nothing."""
        results = []
        for ids, lengths in self._batches(utterances):
            with self._torch.no_grad():
                scores = self._model(**ids).logits[:, :-1].float().log_softmax(2)
            targets, mask = ids["input_ids"][:, 1:], ids["attention_mask"][:, 1:]
            nats = -(scores.gather(2, targets[:, :, None])[:, :, 0] * mask).sum(1)
            results += [(float(n), length - 1) for n, length in zip(nats, lengths, strict=True)]
        return results

    def _batches(self, utterances: Sequence[str]) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """Yield padded ids behind a start token, and how many of each row are none of padding."""
        for place in range(0, len(utterances), _BATCH):
            texts = list(utterances[place : place + _BATCH])
            # Not verbose: it would tell how long a private sentence is.
            read = self._tokens(texts, add_special_tokens=False, verbose=False)["input_ids"]
            rows = [[self._first, *ids][: self._most] for ids in read]
            wide = max(map(len, rows))
            tensor = self._torch.tensor([row + [0] * (wide - len(row)) for row in rows])
            mask = self._torch.tensor([[1] * len(r) + [0] * (wide - len(r)) for r in rows])
            yield {"input_ids": tensor, "attention_mask": mask}, [len(row) for row in rows]
