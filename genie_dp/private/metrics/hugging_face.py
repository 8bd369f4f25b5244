"""Vectors and losses by a causal language model of Hugging Face that lies in a folder.

What MAUVE's authors and the paper use is GPT-2; nothing is fetched here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem

_BATCH = 32
_MOST_TOKENS = 256


class HuggingFaceModel:
    """A causal language model: a Featuriser and a LanguageModel at once.

    Attributes:
        name: the folder's name and what of the model is used.
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
        known = (self._tokens.bos_token_id, self._tokens.eos_token_id)
        return next((id for id in known if id is not None), 0)

    def features(self, utterances: Sequence[str]) -> Any:
        """Return (N, d) states of the last layer after the last token, as mauve-text takes them."""
        found = []
        for ids, lengths in self._batches(utterances):
            with self._torch.no_grad():
                states = self._model(**ids, output_hidden_states=True).hidden_states[-1]
            found.append(states[range(len(lengths)), [n - 1 for n in lengths]].float().numpy())
        return np.concatenate(found)

    def losses(self, utterances: Sequence[str]) -> list[tuple[float, int]]:
        """Return nats and tokens of each sentence, the first one told apart from nothing."""
        found = []
        for ids, lengths in self._batches(utterances):
            with self._torch.no_grad():
                scores = self._model(**ids).logits[:, :-1].float().log_softmax(2)
            targets, kept = ids["input_ids"][:, 1:], ids["attention_mask"][:, 1:]
            nats = -(scores.gather(2, targets[:, :, None])[:, :, 0] * kept).sum(1)
            found += [(float(n), length - 1) for n, length in zip(nats, lengths, strict=True)]
        return found

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
