"""Values in people's words, for reading templates backwards: `explain` and `coverage`.

Numbers, dates and addresses are read by the parser's reader. Names and free text may be any words:
lists of the skills show which are likely.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from genie_dp.english.lists import VERBS
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library, units_in_sentences
from genie_dp.languages.thingtalk.tokens import quote_words
from genie_dp.languages.types import Entity, slot_stem, slot_type
from genie_dp.locale import LOCALE, Locale, Words
from genie_dp.parser.evidence import content_words
from genie_dp.parser.operators import negations_in, referring_phrases, takes_negation
from genie_dp.parser.reading.fill import EntityNames, TypedText, fill
from genie_dp.parser.reading.glued import Glued
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Reader, Reading, ReadValue
from genie_dp.skills.words import GLUE
from genie_dp.synthesis.chart import Tokens
from genie_dp.synthesis.spoken import FoundValue, NameOrText, ReadValues

UNLISTED_NAME = "unlisted name"
"""How a name was found that is not in the list of its kind."""
_OPEN = frozenset(("QUOTED_STRING", "USERNAME", "HASHTAG", "PATH_NAME"))
_MOST_TEXT, _USUAL_TEXT = 40, 12  # words of a text without quotes around it
_MOST_NAME = 8
# What speaks against a value, so that the likeliest of several readings comes first. A listed name
# goes before any other, a name of a kind without a list before a text of as many words, and what
# takes fewer words before what takes more. Only the order counts.
_LISTED, _LIKE_A_NAME = 0.1, 0.4
_NAME, _WORD, _FURTHER_WORD = 0.8, 0.5, 0.05
_UNLISTED, _UNLISTED_WORD = 1.2, 0.6
_EDGE = 0.3  # of a text that begins or ends with a word such as "to"


class SentenceReader:
    """Reads the values of sentences by a reader and the lists of names of a library.

    Attributes:
        names: the lists.
    """

    def __init__(
        self,
        language: Language,
        library: Library,
        *,
        now: datetime,
        reader: Reader | None = None,
        locale: Locale = LOCALE,
        names: Mapping[str, Sequence[str]] | None = None,
        lists: EntityNames | None = None,
    ) -> None:
        """Keep the language, the library and the reader.

        Args:
            language, library: those of the templates.
            now: the moment to which "tomorrow" is relative.
            reader: of numbers, dates and addresses; None for that of the locale.
            locale: the language of the sentences, and its defaults.
            names: kind of entity -> names that belong to who speaks.
            lists: the lists of the library with these names, where they were read before.

        Raises:
            GenieError: I012, names of an unknown kind.
        """
        self.language, self.library = language, library
        self.names = lists or EntityNames(library, known=locale.words).with_own(names or {})
        self._now = now
        self._reader = reader or load_reader(units=units_in_sentences(library), locale=locale)
        self.locale = locale
        self._known: dict[tuple[str, Tokens], NameOrText | None] = {}
        self._kinds: dict[str, str] = {}  # stem -> kind of entity, "" of a text

    def is_open(self, stem: str) -> bool:
        """Return whether values for placeholders of a stem may be any words: names and text."""
        return stem in _OPEN or stem.startswith("GENERIC_ENTITY_")

    def read(self, text: str) -> Sequence[ReadValues]:
        """Return the readings of a text, the likeliest first; of a long one, of its beginning."""
        text = text[:MOST_CHARACTERS]
        readings = self._reader.readings(text, now=self._now)
        return [
            ReadValues(
                reading.tokens,
                {
                    name: FoundValue(
                        v.text, v.value, "listed" if name in reading.links else "", v.other
                    )
                    for name, v in reading.values.items()
                },
                reading.doubt + _LISTED * bool(reading.links),
            )
            for reading in (*readings, *self._with_names(text, readings[0]))
        ]

    def _with_names(self, text: str, first: Reading) -> Iterator[Reading]:
        """Yield readings with names in the place of values; other names the chart finds."""
        typed = TypedText.from_reading(text, first)
        for links in self.names.names_together(typed.tokens, typed.values):
            if any(not typed.values.isdisjoint(range(link.start, link.end)) for link in links):
                yield typed.read(links, self._reader, now=self._now)

    def stems_of(self, words: Tokens, stems: frozenset[str], is_known: bool) -> Collection[str]:
        """Return the stems whose values words can be; only names of lists if `is_known`."""
        shape, number = _shape(words, self.locale.words), len(words)
        if shape is None:
            return ()
        kinds = {stem: kind for stem in stems if (kind := self._kind_of(stem))}
        texts = stems - kinds.keys() if number <= _MOST_TEXT and not is_known else set[str]()
        if self.names.own and number <= _MOST_NAME:
            text = " ".join(words)
            kinds = {stem: kind for stem, kind in kinds.items() if self.names.may_be(kind, text)}
        if number > _MOST_NAME:
            return texts
        if not shape and not is_known:
            return texts | kinds.keys()
        listed = self.names.kinds_of(" ".join(words))
        return texts | {stem for stem, kind in kinds.items() if kind in listed} if listed else texts

    def _kind_of(self, stem: str) -> str:
        """Return the kind of entity of a stem, "" of a text."""
        if stem not in self._kinds:
            type_ = slot_type(f"{stem}_0")
            self._kinds[stem] = type_.kind if isinstance(type_, Entity) else ""
        return self._kinds[stem]

    def as_value(self, stem: str, words: Tokens) -> NameOrText | None:
        """Return words as a name or a text; None where they cannot be one."""
        key = stem, words
        if key not in self._known:
            self._known[key] = self._as_value(stem, words)
        return self._known[key]

    def links(self, tokens: Tokens) -> list[tuple[int, int, str]]:
        """Return (start, end, stem) of spans that may be names of a list, the longest first."""
        links = self.names.links(tokens)
        return [(link.start, link.end, str(slot_stem(Entity(link.kind)))) for link in links]

    def apart(self, tokens: Tokens, words: Collection[str]) -> Tokens:
        """Return a sentence with names that are glued to some words apart, `~` between them."""
        elided = frozenset(f"{word}'" for word in self.locale.words.elided)
        parts = frozenset(filter(str.isalpha, words)) if GLUE in words else frozenset[str]()
        glued = Glued(parts | elided, parts, self.locale.words.linking)
        return self.names.apart(tokens, glued, sign=True)[0]

    def content_words(self, words: Sequence[str]) -> Sequence[str]:
        """Return the content words, without values and function words."""
        return content_words(words, (), self.locale.words)

    def takes_negation(self, tokens: Tokens, start: int, end: int) -> bool:
        """Return whether words that are taken for a text may deny the command: "yesterday not"."""
        return takes_negation(tokens, range(start, end), self.locale.words)

    def fill(self, program: str, values: Mapping[str, FoundValue]) -> str:
        """Return a program in token form with values in the place of its placeholders.

        Placeholders without a value stay.

        Raises:
            GenieError: I011, as `fill.fill`.
        """
        read = {
            name: ReadValue("", v.constant, v.words, (0, 0), v.other) for name, v in values.items()
        }
        return fill(
            program, read, language=self.language, library=self.library, names=self.names,
            is_whole=False,
        ).tokens  # fmt: skip

    def _as_value(self, stem: str, words: Tokens) -> NameOrText | None:
        shape = _shape(words, self.locale.words)
        if shape is None:
            return None
        type_ = slot_type(f"{stem}_0")
        text, number = " ".join(words), len(words)
        if not isinstance(type_, Entity):
            beyond = max(0, number - _USUAL_TEXT)
            doubt = _NAME + _WORD * (number - beyond) + _FURTHER_WORD * beyond + _EDGE * shape
            return _value(quote_words(text), text, "text", doubt) if number <= _MOST_TEXT else None
        if number > _MOST_NAME:
            return None
        constant = f"{quote_words(text)} ^^{type_.kind}"
        is_listed = self.names.is_listed(type_.kind, text)
        if is_listed:
            return _value(constant, text, "listed", _LISTED)
        if self.names.own and self.names.find(type_.kind, text).how in ("nearest", "part"):
            return _value(constant, text, "listed", _LIKE_A_NAME)
        if shape or self.names.is_closed(type_.kind):
            return None
        if is_listed is None:
            return _value(constant, text, "name", _NAME + _WORD * number)
        return _value(constant, text, UNLISTED_NAME, _UNLISTED + _UNLISTED_WORD * number)


@lru_cache(maxsize=65536)
def _shape(words: Tokens, known: Words) -> int | None:
    """Return the number of its ends that are words such as "to" or "not"; None of no value."""
    is_quoted = words[0] == words[-1] == '"' or words.count('"') % 2
    if is_quoted or GLUE in words or not any(map(_is_said, "".join(words))):
        return None
    if " ".join(words) in referring_phrases(known):  # "it" is what was said before
        return None
    first, last = words[0], words[-1]
    # "the dentist", "my wife", "all you need"
    is_edge = first not in known.name_starts and _is_edge(first, known)
    return (is_edge or _begins_command(words, known)) + _is_edge(last, known)


def _begins_command(words: Tokens, known: Words) -> bool:
    """Return whether the first of several words is a verb: "turn the plug" is no name."""
    is_verb = words[0] in (VERBS if known.has_grammar else known.verbs)
    return is_verb and len(words) > 1


def _is_edge(word: str, known: Words) -> bool:
    """Return whether a word at the end of a value hardly belongs to it."""
    return word in known.function_words or bool(negations_in([word], known))


def _is_said(character: str) -> bool:
    """Return whether a character is no punctuation: a letter, a digit, an emoji."""
    return character.isalnum() or unicodedata.category(character) == "So"


def said_values(
    language: Language,
    library: Library,
    *,
    now: datetime,
    locale: Locale = LOCALE,
    names: Mapping[str, Sequence[str]] | None = None,
) -> SentenceReader | None:
    """Return the reader of the values of sentences; None if sentences of the library hold none.

    `names` are those of who speaks, by kind of entity.

    Raises:
        GenieError: I012, names of an unknown kind.
    """
    if not language.values.reads_values(library):
        return None
    return SentenceReader(language, library, now=now, locale=locale, names=names)


def _value(constant: str, text: str, how: str, doubt: float) -> NameOrText:
    return NameOrText(FoundValue(text, constant, how), doubt)
