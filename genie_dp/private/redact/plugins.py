"""Detectors of others: spaCy's models and Presidio, where they are installed.

Nothing is downloaded: a model that is not there is a mistake that says so.
"""

from collections.abc import Sequence
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.spans import Found

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

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return the entities of each text."""
        return [
            tuple(
                Found(one.start_char, one.end_char, one.label_.lower(), _SPACY_SCORE, self.name)
                for one in document.ents
            )
            for document in self._model.pipe(texts)
        ]


class Presidio:
    """What Presidio's analyzer finds, by its kinds in lower case."""

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

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return what is found in each text, with Presidio's scores."""
        return [
            tuple(
                Found(one.start, one.end, one.entity_type.lower(), min(1.0, one.score), self.name)
                for one in self._analyzer.analyze(text=text, language=self.language)
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
