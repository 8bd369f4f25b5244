"""A detector that is trained on sentences which are made, so that their secrets are known."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.models.arrays import CONFIG, TOKENIZER, WEIGHTS
from genie_dp.models.device import prepare_torch
from genie_dp.models.loop import Listener, Run, TrainingBudget, TrainSettings
from genie_dp.models.saved import load_weights, write_weights
from genie_dp.models.tagger import (
    OUTSIDE,
    TagBatches,
    Tagged,
    Tagger,
    TaggerSettings,
    collate_tagged,
    words_of,
)
from genie_dp.models.vocabulary import SPECIAL, Vocabulary
from genie_dp.private.ledger.guard import refuse_private
from genie_dp.private.redact.config import TrainDetector
from genie_dp.private.redact.sentences import (
    Frames,
    Labelled,
    ascii_lists,
    kinds_of,
    make_sentences,
    read_labelled,
)
from genie_dp.private.redact.spans import Finding
from genie_dp.rng import child_seed
from genie_dp.rows import read_rows
from genie_dp.run.page import render_card
from genie_dp.run.stage import Output, Result, write_over
from genie_dp.texts import read_text

KIND = "genie_dp.redact.Tagger"
CARD = "README.md"
# Below this probability of being a secret a word is not told at all.
LEAST = 0.01
_AT_ONCE = 64
_MINIMUM = 3


@dataclass(frozen=True, slots=True)
class TaggerTraining:
    """How a detector is trained; measured in docs/research/redaction.md.

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
        self.model, self.vocabulary, self.kinds = model, vocabulary, kinds
        self.settings, self.facts = settings, facts

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the words of each text that may be secrets."""
        rows = [Tagged.from_text(text) for text in texts]
        # Alike lengths together: little padding.
        order = sorted(
            (i for i, row in enumerate(rows) if row.words), key=lambda i: len(rows[i].words)
        )
        out: list[tuple[Finding, ...]] = [()] * len(texts)
        for start in range(0, len(order), _AT_ONCE):
            chosen = order[start : start + _AT_ONCE]
            with torch.no_grad():
                scores = self.model(
                    collate_tagged([rows[i] for i in chosen], self.vocabulary)
                ).exp()
            for i, row in zip(chosen, scores, strict=True):
                out[i] = self._find_in_text(texts[i], row)
        return out

    def _find_in_text(self, text: str, scores: torch.Tensor) -> tuple[Finding, ...]:
        secret = (1.0 - scores[:, OUTSIDE]).tolist()
        kinds = scores[:, OUTSIDE + 1 :].argmax(1).tolist()
        return tuple(
            # Rounded, for the last bits follow from the texts beside it.
            Finding(a, b, self.kinds[kinds[i]], min(1.0, round(secret[i], 4)), self.name)
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
            render_card("genie_dp.private.redact", name=folder.name, config=config),
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
            load_weights(model, folder / WEIGHTS)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError, GenieError) as error:
            why = error.problems[0].message if isinstance(error, GenieError) else str(error)
            message = f"expected a detector in {folder}, got: {why}"
            hint = "name a folder of genie-dp private detector"
            raise GenieError(Problem("E012", message, hint=hint)) from None
        return cls(model.eval(), vocabulary, kinds, settings, config["facts"])


def train_detector(
    rows: Sequence[Labelled],
    training: TaggerTraining,
    settings: TaggerSettings,
    *,
    facts: dict[str, Any],
    listen: Listener | None = None,
) -> TaggerDetector:
    """Return a detector trained on texts with known secrets; the same seed gives the same.

    The texts must be public: their words are in the folder, and there is no guarantee about
    memorization by the weights.

    Args:
        rows: texts with their secrets.
        training: how.
        settings: of the network.
        facts: for the card.
        listen: is called with progress messages.

    Raises:
        GenieError: no text has a secret (E013).
    """
    kinds = kinds_of(rows)
    if not kinds:
        hint = "give texts with spans, or frames with {person}"
        raise GenieError(Problem("E013", "expected texts with secrets, got none", hint=hint))
    label = {kind: OUTSIDE + 1 + i for i, kind in enumerate(kinds)}
    tagged = [
        Tagged.from_text(r.text, [(a, b, label[kind]) for a, b, kind in r.spans]) for r in rows
    ]
    vocabulary = _vocabulary(tagged)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(training.seed, "tagger", "weights"))
        model = Tagger(vocabulary, len(kinds) + 1, settings)
    batches = TagBatches(tagged, vocabulary, size=training.batch, seed=training.seed)
    how = TrainSettings(
        TrainingBudget(epochs=training.epochs), rate=training.rate, seed=training.seed, log_every=20
    )
    Run(model, batches, how, listen=listen).train()
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


# ------------------------------------------------------------------------------------ the stage


@dataclass(frozen=True, slots=True)
class DetectorResult(Result):
    """A detector that was trained.

    Attributes:
        folder: where it is.
        detector: it.
    """

    folder: Path
    detector: TaggerDetector

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        yield f"a detector of {', '.join(self.detector.kinds)} -> {self.folder}"


def run(stage: TrainDetector, output: Output, *, progress: bool | None = None) -> DetectorResult:
    """Train a detector on sentences that are made; all that it reads must be public.

    Raises:
        GenieError: the folder is there (E016), a file is private (E018) or cannot be read.
    """
    folder = Path(output.target)
    if folder.exists() and any(folder.iterdir()) and not output.overwrite:
        hint = "give another folder, or --overwrite"
        raise GenieError(Problem("E016", f"{folder} exists already", hint=hint))
    refuse_private(stage.files, None, code="E018")
    prepare_torch("cpu")
    lists = _read_lists(stage.lists, dict(stage.values))
    frames = (
        Frames.parse(read_text(stage.frames, code="E011"), str(stage.frames), lists)
        if stage.frames
        else Frames.shipped(lists)
    ).with_rows(_read_utterances(stage.rows))
    rows = list(make_sentences(frames, lists, stage.sentences, seed=stage.seed))
    rows += [row for path in stage.labelled for row in read_labelled(path)]
    facts = {
        "frames": len(set(frames.texts)),
        "made sentences": stage.sentences,
        "labelled files": len(stage.labelled),
    }
    training = TaggerTraining(epochs=stage.epochs, seed=stage.seed)

    def listen(event: Mapping[str, Any]) -> None:
        write_over(f"epoch {event['epoch']:.2f}, loss {event['loss']:.4f}", show=progress)

    settings = TaggerSettings(size=stage.size)
    detector = train_detector(rows, training, settings, facts=facts, listen=listen)
    write_over("", show=progress)
    detector.save(folder)
    return DetectorResult(folder, detector)


def _read_lists(
    lists: Mapping[str, Sequence[str]], files: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return the lists that frames may name: those there are, and those of files.

    Raises:
        GenieError: a file cannot be read or has no plain values (E004).
    """
    all_lists = dict(lists)
    for name, file in files.items():
        try:
            lines = read_text(file, code="E004").split("\n")
        except OSError as error:
            message = f"cannot read {file}: {error.strerror}"
            raise GenieError(Problem("E004", message, hint="give another file")) from None
        all_lists[name] = tuple(line.partition("\t")[0].strip() for line in lines if line.strip())
    plain = ascii_lists(all_lists)
    empty = [name for name in files if not plain[name]]
    if empty:
        message = f"{files[empty[0]]} holds no values in plain letters"
        raise GenieError(Problem("E004", message, hint="one value a line"))
    return plain


def _read_utterances(files: Sequence[str]) -> list[str]:
    """Return the sentences of public rows.

    Raises:
        GenieError: a file has rows of source private (E018).
    """
    utterances: list[str] = []
    for file in files:
        for row in read_rows(file):
            if row.source == "private":
                message = f"{file} has rows of source private, so it is not public"
                raise GenieError(Problem("E018", message, hint="give rows of synthesize"))
            utterances.append(row.utterance)
    return utterances
