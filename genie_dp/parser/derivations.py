"""Derivations of a sentence by templates, before a network is asked.

The templates are indexed when a sentence first needs them; the index is kept in the user's cache.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple

from genie_dp.english.frames import frames_of
from genie_dp.errors import Span
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.thingtalk.tokens import quote_words
from genie_dp.locale import Words
from genie_dp.parser import folder as files
from genie_dp.parser.reading.fill import Filled
from genie_dp.parser.reading.reading import Reading, ReadValue
from genie_dp.parser.reading.said import SentenceReader
from genie_dp.parser.reading.typed import token_spans
from genie_dp.run.cache import keep_pickled, load_pickled, place_in_cache
from genie_dp.skills.words import token_places
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.spoken import UNLIKELY, IndexedGrammar, ReadValues, ValueFinder
from genie_dp.templates.inputs import Inputs, library_fingerprint

_MOST_READINGS = 24
_WORD = re.compile(r"\w")
_END_SIGNS = " .?!"
# What is said in other words, of which a few are tried, is a guess.
_OTHERWISE, _MOST_OTHERWISE = 1.5, 2


class Derivation(NamedTuple):
    """A way in which templates derive a sentence.

    Attributes:
        program: in token form, with placeholders.
        filled: the same with values.
        reading: the values of placeholders; texts and names are as they were typed.
        doubt: how much speaks against it; that of the likeliest is the least.
    """

    program: str
    filled: Filled
    reading: Reading
    doubt: float


_doubt_of = attrgetter("doubt")
Fill = Callable[[str, Reading], Filled | None]
"""Puts the values of a reading into a program."""


@dataclass(slots=True)
class LazyTemplates:
    """Templates that are read, and indexed, when they are needed.

    Attributes:
        text: all of them, as their key; None of those with Python functions, whose
            index cannot be kept.
        load: reads them.
        skills: a hash of the skills, whose own templates are not in the text.
    """

    text: str | None
    load: Callable[[], Inputs]
    skills: str
    _indexed: IndexedGrammar | None = None

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> "LazyTemplates":
        """Return templates that were read."""
        return cls(files.templates_as_text(inputs), lambda: inputs, inputs.fingerprint())

    def index(self, library: Library, values: SentenceReader) -> IndexedGrammar:
        """Return the indexed templates, from the user's cache, or index them."""
        if self._indexed is not None:
            return self._indexed
        shared = {"library": library, "language": get_language(library.language)}
        place = None
        if self.text is not None:
            settings = "derivations", self.text, self.skills, library_fingerprint(library)
            place = place_in_cache(settings, ".derivations")
        indexed: IndexedGrammar | None = load_pickled(place, shared)
        if indexed is None:
            inputs = self.load()
            compiled = compile_inputs(inputs, inputs.subsets)
            indexed = IndexedGrammar.from_compiled(compiled, values)
            if place is not None:
                keep_pickled(place, indexed, shared, without=(Span,))
        self._indexed = indexed
        return indexed


@dataclass(slots=True)
class Derivations:
    """Derives sentences by the templates of a parser.

    Attributes:
        templates: the texts and the way to read them.
        library: the skills.
        words: those of the language of the sentences.
    """

    templates: "LazyTemplates"
    library: Library
    words: Words
    _engine: ValueFinder | None = None

    def find(self, sentence: str, values: SentenceReader, fill: Fill) -> list[Derivation]:
        """Return the derivations of a sentence, or of it without words of politeness.

        Args:
            sentence: as it was typed.
            values: reads its values.
            fill: puts values into a program; None where they do not fit.
        """
        if self._engine is None:
            self._engine = ValueFinder(self.templates.index(self.library, values), values)
        engine = self._engine
        engine.reader = values
        derivations = self._find(sentence, engine, fill)
        if not derivations and (full := in_full(sentence, self.words)) != sentence:
            derivations = self._find_as_typed(full, sentence, engine, fill)
        if not derivations:
            for variant in islice(self._said_otherwise(sentence, engine), _MOST_OTHERWISE):
                for program, derivation in self._find_as_typed(
                    variant, sentence, engine, fill
                ).items():
                    if derivation.doubt < UNLIKELY:
                        doubtful = derivation._replace(doubt=derivation.doubt + _OTHERWISE)
                        derivations[program] = min(
                            derivations.get(program, doubtful), doubtful, key=_doubt_of
                        )
        return sorted(derivations.values(), key=lambda x: (x.doubt, x.program, x.reading.tokens))

    def _find_as_typed(
        self, said: str, sentence: str, engine: ValueFinder, fill: Fill
    ) -> dict[str, Derivation]:
        """Return the derivations of other words whose names and texts are those of a sentence."""
        return {
            program: derivation
            for program, derivation in self._find(said, engine, fill).items()
            if all(value.text in sentence for value in derivation.reading.values.values())
        }

    def _said_otherwise(self, sentence: str, engine: ValueFinder) -> Iterator[str]:
        """Yield everyday English paraphrases of a sentence, in words that templates have."""
        vocabulary = engine.grammar.vocabulary
        sentence = sentence.rstrip(_END_SIGNS)
        _, after = _around((), self.words.here)
        if (match := after.search(sentence)) and _WORD.search(sentence[: match.start()]):
            sentence = sentence[: match.start()]
            yield sentence
        for text in without_politeness(sentence, self.words):
            places = list(token_places(text))
            tokens = [token for token, _, _ in places]
            typed = [text[start:end] for _, start, end in places]
            own_words = {*tokens, *typed}
            for variant in frames_of(self.words.language).same(tokens, typed):
                if vocabulary.issuperset(word for word in variant if word not in own_words):
                    yield " ".join(variant)

    def _find(self, sentence: str, engine: ValueFinder, fill: Fill) -> dict[str, Derivation]:
        """Return the derivations of a sentence by their programs with values."""
        derivations: dict[str, Derivation] = {}
        for text in without_politeness(sentence, self.words):

            def derive(read: ReadValues, text: str = text) -> Iterator[Derivation]:
                reading = _as_typed(read, text)
                for program in read.programs:
                    if (filled := fill(program, reading)) is not None:
                        yield Derivation(program, filled, reading, read.doubt)

            fits = engine.find(text, lambda read: any(derive(read)))
            for derivation in chain(*map(derive, fits.readings[:_MOST_READINGS])):
                previous = derivations.get(derivation.filled.tokens)
                if previous is None or derivation.doubt < previous.doubt:
                    derivations[derivation.filled.tokens] = derivation
            if any(derivation.doubt == 0 for derivation in derivations.values()):
                break
        return derivations


def in_full(sentence: str, words: Words) -> str:
    """Return a sentence with its contractions in full.

    >>> from genie_dp.locale import words_of
    >>> in_full("What’s on? I'm home.", words_of("en"))
    'what is on? i am home.'
    """
    short = _any_of(tuple(words.contractions)).replace("'", "['’]")
    return re.sub(
        rf"(?<!\w)(?:{short})(?!\w)",
        lambda found: words.contractions[found[0].casefold().replace("’", "'")],
        sentence,
        flags=re.IGNORECASE,
    )


def _as_typed(read: ReadValues, text: str) -> Reading:
    """Return a derived sentence with its names and texts as they were typed in `text`."""
    read_values = read.values
    spans = token_spans(
        text, [read_values[x].words if x in read_values else x for x in read.tokens]
    )
    values = {}
    for token, (start, end) in zip(read.tokens, spans, strict=True):
        if token in read_values:
            words, constant, how, alternative = read_values[token]
            if how and start < end:  # a name or a text: `" kind of blue " ^^com.x:album`
                words = text[start:end]
                constant = quote_words(words) + constant.rpartition('"')[2]
            values[token] = ReadValue(how, constant, words, (start, end), alternative)
    return Reading(read.tokens, values)


def without_wake_words(sentence: str, names: Sequence[str], words: Words) -> str:
    """Return a sentence without a name of the assistant before or behind it.

    >>> from genie_dp.locale import words_of
    >>> without_wake_words("Hey Olly, stop the music", ["olly"], words_of("en"))
    'stop the music'
    >>> without_wake_words("what time is it olly?", ["olly"], words_of("en"))
    'what time is it'
    """
    if not names:
        return sentence
    before, after = _around_name(tuple(names), words.greetings)
    text = sentence[match.end() :] if (match := before.match(sentence)) else sentence
    text = text[: match.start()] if (match := after.search(text)) else text
    return text if _WORD.search(text) else sentence


@lru_cache(maxsize=8)
def _around_name(
    names: tuple[str, ...], greetings: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    name, greeting = _any_of(names), _any_of(greetings)
    before = re.compile(rf"\s*(?:(?:{greeting})[\s,]+)?(?:{name})(?!\w)[\s,.:!?]*", re.IGNORECASE)
    after = re.compile(rf"[\s,]+(?:{name})[\s.!?]*$", re.IGNORECASE)
    return before, after


def without_politeness(sentence: str, words: Words) -> Iterator[str]:
    """Yield a sentence, then without the greetings, requests and thanks around it.

    >>> from genie_dp.locale import words_of
    >>> list(without_politeness("Kindly tell me, please?", words_of("en")))
    ['Kindly tell me, please?', 'tell me', 'Kindly tell me', 'tell me, please?']
    """
    yield sentence
    before, after = _around(
        (*words.greetings, *words.requests, *words.wishes, *words.polite_starts),
        (*words.endings, *words.command_endings),
    )
    start = match.end() if (match := before.match(sentence)) else 0
    end = match.start() if (match := after.search(sentence, start)) else len(sentence)
    for text in (sentence[start:end], sentence[:end], sentence[start:]):
        if text != sentence and _WORD.search(text):
            yield text


@lru_cache(maxsize=8)
def _around(
    starts: tuple[str, ...], endings: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of polite phrases before a command, and behind it."""
    return (
        re.compile(rf"(?:\s*(?:{_any_of(starts)})(?!\w)[\s,]*)+", re.IGNORECASE),
        re.compile(rf"(?:[\s,]+(?:{_any_of(endings)}))+\s*[.!?]*\s*$", re.IGNORECASE),
    )


def _any_of(phrases: Sequence[str]) -> str:
    ways = (r"\s+".join(map(re.escape, x.split())) for x in sorted(phrases, key=len, reverse=True))
    return "|".join(ways) or r"(?!)"
