"""Detectors beside the patterns: phone numbers, placeholders, listed values, and those of others.

Nothing is downloaded: a missing model of spaCy or Presidio is an error with a hint.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from unicodedata import normalize

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.config import DetectorConfig
from genie_dp.private.redact.patterns import Patterns
from genie_dp.private.redact.spans import PLAIN, Detector, Finding
from genie_dp.run.files import sha256_of
from genie_dp.texts import read_text

# What matches a plan's every rule, and what has but a possible length.
_VALID, _POSSIBLE = 0.9, 0.5


class Phones:
    """The detector of phone numbers; valid ones, and those of a possible length."""

    name = "phones"

    def __init__(self, region: str = "US"):
        """Take numbers without a country's prefix for those of a region, as "US" or "DE".

        Raises:
            GenieError: E003, there is no such region.
        """
        import phonenumbers

        if region not in phonenumbers.SUPPORTED_REGIONS:
            message = f"expected a country in two capital letters, got {region!r}"
            raise GenieError(Problem("E003", message, hint="such as US, GB or DE"))
        self.region = region
        self._library: Any = phonenumbers

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the phone numbers of each text."""
        return [self._find_in_text(text) for text in texts]

    def _find_in_text(self, text: str) -> tuple[Finding, ...]:
        if sum(map(str.isdigit, text)) < 7:
            return ()
        leniency = self._library.Leniency.POSSIBLE
        matches = self._library.PhoneNumberMatcher(text, self.region, leniency=leniency)
        return tuple(
            Finding(match.start, match.end, "phone", self._score(match.number), self.name)
            for match in matches
        )

    def _score(self, number: Any) -> float:
        return _VALID if self._library.is_valid_number(number) else _POSSIBLE


# Below what a policy takes, so that the word stays, and above what a conservative one leaves: a
# row whose values were taken out by whoever wrote it may hold one that was overlooked.
_PLACEHOLDER_SCORE = 0.4
_PLACEHOLDER = re.compile(r"(?<!\w)([A-Z]+(?:_[A-Z]+)*)_\d+(?!\w)")


class Placeholders:
    """The detector of placeholders."""

    name = "placeholders"

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the placeholders of each text.

        >>> [one.place for one in Placeholders().find(["mail EMAIL_ADDRESS_0 now"])[0]]
        [(5, 20)]
        """
        return [
            tuple(
                Finding(match.start(), match.end(), "placeholder", _PLACEHOLDER_SCORE, self.name)
                for match in _PLACEHOLDER.finditer(text)
            )
            for text in texts
        ]


# A letter may be followed by its accents.
_WORD = re.compile(r"(?:\w[\u0300-\u036f]*)+|[^\w\s]")


class Gazetteer:
    """The detector of listed values: whole words, in any case, with any space between them."""

    def __init__(self, kind: str, values: Iterable[str], *, score: float = 1.0):
        """Keep the values by their first word; empty ones are left out.

        >>> names = Gazetteer("person", ["Ann Lee", "Ann"])
        >>> [one.place for one in names.find(["so ann  LEE and ann; annie"])[0]]
        [(3, 11), (16, 19)]
        """
        self.kind, self.score = kind, score
        self.name = f"gazetteer {kind}"
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._values = {words for value in values if (words := _fold(value))}
        for words in sorted(self._values, key=lambda words: (len(words), words), reverse=True):
            before = self._lengths.get(words[0], ())
            if len(words) not in before:
                self._lengths[words[0]] = (*before, len(words))

    @classmethod
    def read(cls, kind: str, path: Path) -> "Gazetteer":
        """Return the values of a file: one a line, up to the first tab; # begins a comment.

        A table whose head begins with `value` is read without its head.

        Raises:
            GenieError: the file cannot be read, or holds no values (E004). No value is shown.
        """
        try:
            lines = read_text(path, code="E004").split("\n")
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}"
            raise GenieError(Problem("E004", message, hint="give another file")) from None
        except GenieError as error:
            # Without its source: the file is private.
            raise GenieError(error.problems) from None
        values = [line.partition("\t")[0].strip() for line in lines if not line.startswith("#")]
        detector = cls(kind, values[1:] if values[:1] == ["value"] else values)
        if not detector._values:
            raise GenieError(Problem("E004", f"{path} holds no values", hint="one value a line"))
        return detector

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the listed values of each text, the longest at each place."""
        return [tuple(self._find_in_text(text)) for text in texts]

    def _find_in_text(self, text: str) -> Iterator[Finding]:
        plain = text.translate(PLAIN)
        words = [(_key(m.group()), m.start(), m.end()) for m in _WORD.finditer(plain)]
        place = 0
        while place < len(words):
            for length in self._lengths.get(words[place][0], ()):
                piece = tuple(word for word, _, _ in words[place : place + length])
                if piece in self._values:
                    end = words[place + length - 1][2]
                    yield Finding(words[place][1], end, self.kind, self.score, self.name)
                    place += length - 1
                    break
            place += 1


def _fold(value: str) -> tuple[str, ...]:
    return tuple(map(_key, _WORD.findall(value.translate(PLAIN))))


def _key(word: str) -> str:
    """Return the common key of all ways to write a word, its accents and its case."""
    return normalize("NFC", normalize("NFC", word).casefold())


# spaCy's models give no probability of an entity. This one is above a policy's usual 0.5.
_SPACY_SCORE = 0.85


class Spacy:
    """Named entities of a spaCy model, by its labels in lower case."""

    name = "spacy"

    def __init__(self, model: str):
        """Load an installed model by its name or folder.

        Raises:
            GenieError: spaCy (E002) or the model (E005) is not installed.
        """
        try:
            import spacy
        except ImportError:
            raise _missing("spaCy", "pip install spacy") from None
        try:
            self._model: Any = spacy.load(model)
        except (OSError, ValueError) as error:
            # E050 and E053: no such model; the text is spaCy's own, and holds no row.
            message = f"spaCy cannot load the model {model!r}: {str(error).splitlines()[0]}"
            hint = f"python -m spacy download {model}, or name another model"
            raise GenieError(Problem("E005", message, hint=hint)) from None
        if not ({"ner", "entity_ruler", "span_ruler"} & set(self._model.pipe_names)):
            message = f"the spaCy model {model!r} finds no entities"
            raise GenieError(Problem("E005", message, hint="name a model with the part ner"))

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the entities of each text."""
        return [
            tuple(
                Finding(
                    entity.start_char,
                    entity.end_char,
                    entity.label_.lower(),
                    _SPACY_SCORE,
                    self.name,
                )
                for entity in document.ents
            )
            for document in self._model.pipe(texts)
        ]


class Presidio:
    """The findings of Presidio's analyzer, by its kinds in lower case."""

    name = "presidio"

    def __init__(self, model: str | None = None, *, language: str = "en"):
        """Start an analyzer on a spaCy model, or on a blank one that knows no names.

        Raises:
            GenieError: Presidio (E002) or the model (E005) is not installed.
        """
        try:
            import spacy
            from presidio_analyzer import AnalyzerEngine
            from presidio_analyzer.nlp_engine import SpacyNlpEngine
        except ImportError:
            raise _missing("Presidio", "pip install presidio-analyzer") from None
        self.language = language
        _stay_offline()
        engine = SpacyNlpEngine()
        # Given here, so that Presidio does not download its own.
        engine.nlp = {language: Spacy(model)._model if model else spacy.blank(language)}
        self._analyzer: Any = AnalyzerEngine(nlp_engine=engine, supported_languages=[language])

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the findings of each text, with Presidio's scores."""
        return [
            tuple(
                Finding(
                    result.start,
                    result.end,
                    result.entity_type.lower(),
                    min(1.0, result.score),
                    self.name,
                )
                for result in self._analyzer.analyze(text=text, language=self.language)
            )
            for text in texts
        ]


def _stay_offline() -> None:
    """Let the list of domains that Presidio's detector of e-mail asks be the one it comes with.

    Else the first address has it fetched from the network, and a page of trouble where there is
    none.
    """
    from tldextract import TLDExtract, tldextract

    tldextract.TLD_EXTRACTOR = TLDExtract(suffix_list_urls=(), cache_dir=None)


def _missing(what: str, how: str) -> GenieError:
    return GenieError(Problem("E002", f"{what} is not installed", hint=how))


# ------------------------------------------------------------------------------ those of a config


def open_detectors(config: DetectorConfig) -> tuple[Detector, ...]:
    """Return the detectors of a config.

    Raises:
        GenieError: one is missing or cannot be read, or there is none (E003).
    """
    detectors: list[Detector] = []
    if "patterns" not in config.without:
        detectors.append(Patterns())
    if "phones" not in config.without:
        detectors.append(Phones(config.region))
    if "placeholders" not in config.without:
        detectors.append(Placeholders())
    detectors += [Gazetteer.read(kind, Path(path)) for kind, path in config.gazetteer]
    for folder in config.detector:
        # Both bring torch.
        from genie_dp.models.device import prepare_torch
        from genie_dp.private.redact.learned import TaggerDetector

        prepare_torch("cpu")
        detectors.append(TaggerDetector.load(folder))
    if config.spacy:
        detectors.append(Spacy(config.spacy))
    if config.presidio:
        detectors.append(Presidio(config.spacy))
    if not detectors:
        raise GenieError(Problem("E003", "expected a detector, got none", hint="name one"))
    return tuple(detectors)


# What they find may change with them.
_PACKAGES = ("phonenumberslite", "rensa", "spacy", "presidio-analyzer")


def detector_facts(config: DetectorConfig) -> dict[str, Any]:
    """Return all that the findings of a config's detectors depend on; files by their hashes."""
    spacy = config.spacy
    packages = (*_PACKAGES, *([spacy] if spacy else ()))
    return {
        "without": sorted(config.without),
        "region": config.region,
        "gazetteer": [[kind, sha256_of(path)] for kind, path in config.gazetteer],
        "detector": [_hash_folder(folder) for folder in config.detector],
        "spacy": _hash_folder(Path(spacy)) if spacy and Path(spacy).is_dir() else spacy,
        "presidio": config.presidio,
        "packages": {name: _version_of(name) for name in packages},
    }


def _hash_folder(path: Path) -> dict[str, str]:
    files = sorted(Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return {str(file.relative_to(path)): sha256_of(str(file)) for file in files}


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
