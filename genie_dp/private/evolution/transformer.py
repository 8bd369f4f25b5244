"""Sentences placed by a model of sentence-transformers, from a folder."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.embedding import Vectors, unit_length


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

    def fitted(self, public: object) -> "SentenceTransformer":
        """Return the embedding itself: it learns nothing more."""
        return self

    def load(self) -> None:
        """Load the model now: what is missing is to be known before anything is paid.

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
        found = np.stack([_vector(model, example.utterance) for example in examples])
        found[[not example.utterance.strip() for example in examples]] = 0
        return unit_length(found)

    def fingerprint(self) -> str:
        """Return a hash of the names, sizes and short files of the folder."""
        digest = hashlib.sha256()
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(self.folder)} {path.stat().st_size}\n".encode())
            if path.stat().st_size < 1 << 16:
                digest.update(path.read_bytes())
        return f"SentenceTransformer {digest.hexdigest()}"


def _vector(model: Any, text: str) -> Any:
    return np.asarray(model.encode([text], show_progress_bar=False)[0], np.float32)


@lru_cache(maxsize=2)
def _model(folder: Path, device: str) -> Any:
    try:
        library = import_module("sentence_transformers")
    except ImportError:
        hint = "pip install 'genie_dp[sentence-transformers]', or take the embedding hashed"
        message = "sentence-transformers is not installed"
        raise GenieError(Problem("U011", message, hint=hint)) from None
    try:
        return library.SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (OSError, ValueError) as error:
        hint = "give the folder that `SentenceTransformer.save` wrote"
        message = f"{folder}: no model of sentence-transformers: {error}"
        raise GenieError(Problem("U012", message, hint=hint)) from None
