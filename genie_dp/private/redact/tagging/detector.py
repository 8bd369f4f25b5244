"""The learned detector: trained on made sentences, kept as a folder, asked as all others are."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.learn.loop import Run, TrainSettings
from genie_dp.learn.metrics import Listener
from genie_dp.learn.saved import CONFIG, TOKENIZER, WEIGHTS, put_all, write_weights
from genie_dp.learn.schedule import Budget
from genie_dp.learn.tagger import (
    OUTSIDE,
    TagBatches,
    Tagged,
    Tagger,
    TaggerSettings,
    collate_tagged,
    words_of,
)
from genie_dp.learn.vocabulary import SPECIAL, Vocabulary
from genie_dp.private.redact.spans import Found
from genie_dp.private.redact.tagging.generated import Labelled, kinds_of
from genie_dp.rng import child_seed
from genie_dp.run.page import render_card

KIND = "genie_dp.redact.Tagger"
CARD = "README.md"
# Below this probability of being a secret a word is not told at all.
LEAST = 0.01
_AT_ONCE = 64
_MINIMUM = 3


@dataclass(frozen=True, slots=True)
class Training:
    """How a detector is trained; measured in docs/redaction.md.

    Attributes:
        epochs: how often each sentence is seen.
        batch: sentences of a step.
        rate: highest learning rate.
        seed: of weights and order.
    """

    epochs: float = 3.0
    batch: int = 32
    rate: float = 5e-3
    seed: int = 0


class TaggerDetector:
    """A trained detector.

    A word's score is the probability that it is a secret of any kind. So a conservative policy of
    threshold 0.1 takes all words that are no secrets with a score of less than 0.9, as that of
    "Provably Confidential Language Modelling", appendix A.4.
    """

    name = "learned"

    def __init__(
        self,
        model: Any,
        vocabulary: Vocabulary,
        kinds: tuple[str, ...],
        settings: TaggerSettings,
        facts: dict[str, Any],
    ):
        """Keep a network, what it reads, its kinds, and what its card says."""
        self.model, self.vocabulary, self.kinds = model, vocabulary, kinds
        self.settings, self.facts = settings, facts

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return the words of each text that may be secrets."""
        rows = [Tagged.of(text) for text in texts]
        # Alike lengths together: little padding.
        order = sorted(
            (i for i, row in enumerate(rows) if row.words), key=lambda i: len(rows[i].words)
        )
        out: list[tuple[Found, ...]] = [()] * len(texts)
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            with torch.no_grad():
                scores = self.model(
                    collate_tagged([rows[i] for i in chosen], self.vocabulary)
                ).exp()
            for i, row in zip(chosen, scores, strict=True):
                out[i] = self._found(texts[i], row)
        return out

    def _found(self, text: str, scores: torch.Tensor) -> tuple[Found, ...]:
        secret = (1.0 - scores[:, OUTSIDE]).tolist()
        kinds = scores[:, OUTSIDE + 1 :].argmax(1).tolist()
        return tuple(
            # Rounded, for the last bits follow from the texts beside it.
            Found(a, b, self.kinds[kinds[i]], min(1.0, round(secret[i], 4)), self.name)
            for i, (a, b) in enumerate(words_of(text))
            if secret[i] >= LEAST
        )

    def save(self, folder: Path) -> None:
        """Write the folder: config.json, model.safetensors, tokenizer.json and a card."""
        folder.mkdir(parents=True, exist_ok=True)
        parts = {name: folder / f".{name}.partial" for name in (WEIGHTS, TOKENIZER, CARD, CONFIG)}
        write_weights(self.model, parts[WEIGHTS])
        self.vocabulary.save(parts[TOKENIZER])
        config = {
            "type": KIND,
            "version": __version__,
            "kinds": list(self.kinds),
            "settings": asdict(self.settings),
            "facts": self.facts,
        }
        parts[CONFIG].write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        parts[CARD].write_text(
            render_card("genie_dp.private.redact.tagging", name=folder.name, config=config),
            encoding="utf-8",
        )
        for name, part in parts.items():
            part.replace(folder / name)

    @classmethod
    def load(cls, folder: Path) -> "TaggerDetector":
        """Return the detector of a folder.

        Raises:
            GenieError: there is none, or not a whole one (E012).
        """
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            if config["type"] != KIND:
                raise ValueError("another kind of model")
            kinds, settings = tuple(config["kinds"]), TaggerSettings(**config["settings"])
            vocabulary = Vocabulary.load(folder / TOKENIZER)
            model = Tagger(vocabulary, len(kinds) + 1, settings)
            put_all(model, load_file(str(folder / WEIGHTS)), folder)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError, GenieError) as error:
            why = error.problems[0].message if isinstance(error, GenieError) else str(error)
            message = f"expected a detector in {folder}, got: {why}"
            hint = "name a folder of genie-dp private detector"
            raise GenieError(Problem("E012", message, hint=hint)) from None
        return cls(model.eval(), vocabulary, kinds, settings, config["facts"])


def trained(
    rows: Sequence[Labelled],
    training: Training,
    settings: TaggerSettings,
    *,
    facts: dict[str, Any],
    folder: Path | None = None,
    listen: Listener | None = None,
) -> TaggerDetector:
    """Return a detector trained on texts with known secrets; the same seed gives the same.

    The texts must be public: its words are in the folder, and nothing is said of what the weights
    remember.

    Args:
        rows: texts with their secrets.
        training: how.
        settings: of the network.
        facts: what the card says.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told what happens.

    Raises:
        GenieError: no text has a secret (E013).
    """
    kinds = kinds_of(rows)
    if not kinds:
        hint = "give texts with spans, or frames with {person}"
        raise GenieError(Problem("E013", "expected texts with secrets, got none", hint=hint))
    label = {kind: OUTSIDE + 1 + i for i, kind in enumerate(kinds)}
    tagged = [Tagged.of(r.text, [(a, b, label[kind]) for a, b, kind in r.spans]) for r in rows]
    vocabulary = _vocabulary(tagged)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(training.seed, "tagger", "weights"))
        model = Tagger(vocabulary, len(kinds) + 1, settings)
    batches = TagBatches(tagged, vocabulary, size=training.batch, seed=training.seed)
    how = TrainSettings(
        Budget(epochs=training.epochs), rate=training.rate, seed=training.seed, log_every=20
    )
    Run(model, batches, how, listen=listen).train(folder)
    facts = {"sentences": len(rows), **asdict(training), **facts}
    return TaggerDetector(model.eval(), vocabulary, kinds, settings, facts)


def _vocabulary(rows: Sequence[Tagged]) -> Vocabulary:
    counts: dict[str, int] = {}
    for row in rows:
        # Words of secrets are known by their letters alone: others come later.
        for word, label in zip(row.words, row.labels, strict=True):
            counts[word] = counts.get(word, 0) + (label == OUTSIDE)
    words = sorted(word for word, n in counts.items() if n >= _MINIMUM and word not in SPECIAL)
    return Vocabulary((*SPECIAL, *words), len(SPECIAL))
