"""Rows with placeholders become rows with values (Genie, section 3.3).

A row is taken apart once, then each of its copies costs a few replacements of characters. The draws
of a copy depend on the seed, the row's id and the copy's number alone.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import NamedTuple

from genie_dp.augment.config import NOISE, AugmentConfig
from genie_dp.augment.expand_places import MarkedRow, SlotPlace, left_over, mark_row
from genie_dp.augment.made_texts import SIGNED, with_signs
from genie_dp.augment.noise import (
    Carrier,
    NoiseRates,
    Speech,
    add_noise,
    carrier_of,
    is_mark,
    speech_of,
)
from genie_dp.augment.values import (
    CODE,
    GENERIC,
    ValueList,
    ValueSource,
    shipped_list,
    value_list,
)
from genie_dp.augment.words_written import draw_by_words
from genie_dp.augment.written import ValueContext, context_of, draw_written, is_said
from genie_dp.english import lists
from genie_dp.english.forms import article
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.types import NUMBER, STRING, Measure, Type, unit_of
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.paraphrase.lexical import (
    Site,
    SynonymLexicon,
    apply_sites,
    choose_sites,
    sites,
    value_positions,
)
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom
from genie_dp.skills.words import GLUE

Draw = Callable[[Random], str]
"""Returns the words of a value, one space between two."""

# Asked of a text that holds more: people name a part of it ("emails that mention the budget").
_PART = frozenset(("=~",))
_START = frozenset(("starts_with",))
_GIVEN = re.compile(r"[\w.]*=")  # of what a function is given: "=" and "id=", not "=="
_CODES = 0.05  # share of ids among texts that functions are given, for any may be one
_END = frozenset(("ends_with",))
# What cannot be one and the same on both sides: quotes and escapes of the token form, private
# characters, which mark places, white space but for one space between words, placeholders.
_UNFIT = re.compile(
    r'["\\\x00-\x09\x0b-\x1f\x7f-\xa0\ue000-\uf8ff]|[^\S \n]|  |^ | $|^$'
    r"|(?<![^ \n])[A-Z][^ \n]*_[0-9]+(?![^ \n])",
    re.MULTILINE,
)
_DRAWS = 12
_MOST_PROGRAMS = 50_000  # of which limits are kept
_STOPS = frozenset((".", "!", "?", ";", "...", ":", '"'))
_FUNCTION_WORDS = """
    a an the and or but not no so as than then too very just to my your his her its our their me
    him us them this that these those 's n't
"""
_SMALL = (
    lists.PREPOSITIONS
    | lists.AUXILIARIES
    | lists.RELATIVES
    | lists.SUBJECTS
    | frozenset(_FUNCTION_WORDS.split())
)

_BROKEN_OFF = """
    and or but than then of so not too as to its their been be being had will would could should may
    might is are was were has
"""
_NEVER_FIRST = frozenset(_BROKEN_OFF.split())


def is_fit(text: str) -> bool:
    """Return whether a value can stand in sentence and program alike.

    >>> is_fit("red moon"), is_fit('12 " pipe'), is_fit("QUOTED_STRING_0"), is_fit("")
    (True, False, False, False)
    """
    return "\n" not in text and not _UNFIT.search(text)


def is_fit_all(texts: Sequence[str]) -> bool:
    """Return whether all values can stand in sentence and program alike."""
    joined = "\n".join(texts)
    return joined.count("\n") == len(texts) - 1 and not _UNFIT.search(joined)


def is_telling(words: Sequence[str], small: frozenset[str] = _SMALL) -> bool:
    """Return whether somebody would look for these words: a phrase that is not cut off.

    >>> is_telling(["the", "late", "budget"]), is_telling(["budget", "of", "the"])
    (True, False)
    >>> is_telling(["of", "the", "budget"]), is_telling(["its", "last"])
    (False, False)
    >>> is_telling(["is", "in", "asia"])
    False
    >>> is_telling(["weekend", ".", "the", "boiler"])
    False
    """
    first, last = words[0], words[-1]
    if first in _NEVER_FIRST or last in small or not (first[0].isalnum() and last[-1].isalnum()):
        return False
    return _STOPS.isdisjoint(words)


def ends_phrase(text: Sequence[str], end: int, small: frozenset[str] = _SMALL) -> bool:
    """Return whether a text may be broken off before a word: at its end, or where a phrase begins.

    >>> text = "we launch our new app in may".split()
    >>> [" ".join(text[:end]) for end in range(1, 8) if ends_phrase(text, end)]
    ['we launch', 'we launch our new app', 'we launch our new app in may']
    """
    return end == len(text) or text[end] in small or not text[end][0].isalnum()


@dataclass(slots=True)
class ValueDraws:
    """The draws for all places, made once for each parameter and operator.

    Attributes:
        source: which list a parameter has.
        config: span limits and shares.
        empty: parameters (or types) without any value that fits, for the report.
    """

    source: ValueSource
    config: AugmentConfig
    empty: dict[str, None] = field(default_factory=dict)
    _by_parameter: dict[tuple[object, str, str, Limits], Draw | None] = field(default_factory=dict)
    _usable: dict[tuple[int, int | None, Limits], tuple[ValueList, ValueList]] = field(
        default_factory=dict
    )

    def find(self, place: SlotPlace, limits: Limits = NO_LIMITS) -> Draw | None:
        """Return how to draw words for a place, within limits; None if no value fits."""
        key = (place.type, place.parameter, place.operator, limits)
        if key not in self._by_parameter:
            self._by_parameter[key] = self._make(place, limits)
            if self._by_parameter[key] is None:
                self.empty[place.parameter or str(place.type)] = None
        return self._by_parameter[key]

    def _make(self, place: SlotPlace, limits: Limits) -> Draw | None:
        values = self.source.values_for(place.type, place.parameter)
        own = self._draw(values, place.operator, limits)
        share = self.config.free_text_rate
        if place.type != STRING or not share or own is None:
            return own
        is_ours = self.config.place.words.has_grammar
        any_text = self._draw(shipped_list(GENERIC), place.operator, limits) if is_ours else None
        # A sign may be against the limits of a text.
        if any_text is not None and not limits.is_of_texts:
            any_text = _with_signs_at_times(any_text)
        is_given = _GIVEN.fullmatch(place.operator) is not None
        code = self._draw(shipped_list(CODE), place.operator, limits) if is_given else None
        return _mix_lists(own, any_text or own, share, code or own)

    def _draw(self, values: ValueList, operator: str, limits: Limits) -> Draw | None:
        if operator in _PART | _START | _END:
            usable = self._fit(values, None, limits)
            return _window(usable, operator, self.config) if len(usable) else None
        usable = self._fit(values, self.config.max_words, limits)
        return _whole(usable) if len(usable) else None

    def _fit(self, values: ValueList, most_words: int | None, limits: Limits) -> ValueList:
        """Return the values that can be put in, once for every list."""
        # Lists are kept by the source, so that their address names them; ours is kept beside it.
        key = (id(values), most_words, limits)
        if key not in self._usable:
            short = values if most_words is None else values.within(most_words)
            # All at once, for there are hundreds of thousands and hardly one that does not fit.
            if not is_fit_all(short.texts) or limits.is_of_texts:
                fitting = [
                    i for i, text in enumerate(short.texts)
                    if is_fit(text) and limits.allows_text(text)
                ]  # fmt: skip
                weights = [short.weight(i) for i in fitting] if short.cumulative else ()
                texts = [short.texts[i] for i in fitting]
                short = value_list(short.name, short.kind, texts, weights)
            self._usable[key] = (values, short)
        return self._usable[key][1]


def _whole(values: ValueList) -> Draw:
    texts, count, pick = values.texts, len(values), values.pick
    if values.cumulative:
        return lambda rng: texts[pick(rng.random())]
    return lambda rng: texts[int(rng.random() * count)]


def _mix_lists(own: Draw, any_text: Draw, share: float, code: Draw) -> Draw:
    def draw(rng: Random) -> str:
        place = rng.random()
        return any_text(rng) if place < share else code(rng) if place > 1 - _CODES else own(rng)

    return draw


def _with_signs_at_times(draw: Draw) -> Draw:
    def draw_with_signs(rng: Random) -> str:
        text = draw(rng)
        return with_signs(text, draw(rng), rng) if rng.random() < SIGNED else text

    return draw_with_signs


def _window(values: ValueList, operator: str, config: AugmentConfig) -> Draw:
    """Return a draw of some words of a value: from its start or end, where that is asked."""
    whole, longest = _whole(values), config.max_window
    at_start, at_end = operator in _START, operator in _END
    locale_words = config.place.words
    small = _SMALL if locale_words.has_grammar else locale_words.function_words

    def draw(rng: Random) -> str:
        words: list[str] = []
        for _ in range(_DRAWS):
            whole_text = whole(rng).split(" ")
            size = 1 + int(rng.random() * min(longest, len(whole_text)))
            last = len(whole_text) - size
            start = 0 if at_start else last if at_end else int(rng.random() * (last + 1))
            words = whole_text[start : start + size]
            if is_telling(words, small) and ends_phrase(whole_text, start + size, small):
                break
        return " ".join(words)

    return draw


# ----------------------------------------------------------------------------------- copies of rows

# Written by people or by a model of their sentences: expanded as paraphrases are.
NATURAL = frozenset(("paraphrase", "human", "private"))
_ARTICLES = ("a", "an", "the")
_ARTICLE_BEFORE = "(?<![^ ])(an?|the) (?={})"
_NOTHING: frozenset[int] = frozenset()
_TRIES = 10  # draws for a value that is not in the sentence yet
_TRIES_THERE = 50  # draws for one that reads well there: of 24 hours, 5 are of the afternoon


# Rows made of one where its root template has few; so many are made of paraphrases with texts.
MOST_OF_RARE = 30


Both = Callable[[Random], tuple[str, str] | None]
"""Draws a value: its words in the sentence and what stands for it in the program."""


class Copy(NamedTuple):
    """A copy of a row.

    Attributes:
        utterance, program: both sides.
        filled: a bit for each of the template's fills that got a value; `Template.names` has the
            placeholders that stay.
    """

    utterance: str
    program: str
    filled: int


@dataclass(frozen=True, slots=True)
class Fill:
    """How a place is filled.

    Attributes:
        place: the place.
        stays: share of copies in which it stays a placeholder.
        draw: gives the words for the sentence and their form in the program.
        around: the tokens around it; an article before it must go with the first word.
    """

    place: SlotPlace
    stays: float
    draw: Both
    around: ValueContext


@dataclass(slots=True)
class RowTemplate:
    """A row taken apart.

    Attributes:
        row: the row.
        text: its sentence with marks.
        carrier: the same for noise.
        program: its program with marks.
        places: its placeholders.
        fills: those of them that may get a value.
        copied: positions of words that nothing may change, as a parser copies them.
        is_sorted_by_values: whether a program must be made canonical again.
        sites: where words may be replaced, once it was looked for.
        names: by the fills that got a value, mark -> placeholder of those that stay.
    """

    row: Example
    text: str
    carrier: Carrier
    program: str
    places: tuple[SlotPlace, ...]
    fills: tuple[Fill, ...]
    copied: frozenset[int]
    is_sorted_by_values: bool
    sites: tuple[Site, ...] | None = None
    names: dict[int, dict[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Expander:
    """Makes copies of rows.

    Attributes:
        config: the settings.
        draws: where the words of values come from.
        language, library: those of the programs, for the canonical form.
        lexicon: words of the same meaning, or None to leave words as they are.
        roots: root template -> rows of all inputs that it made.
    """

    config: AugmentConfig
    draws: ValueDraws
    language: Language
    library: Library | None
    lexicon: SynonymLexicon | None = None
    roots: Mapping[str, int] = field(default_factory=dict)
    _rng: KeyedRandom = field(default_factory=KeyedRandom)
    _rates: NoiseRates = field(init=False)
    _speech: Speech = field(init=False)
    _varies: bool = field(init=False)
    _filled: dict[tuple[SlotPlace, ValueContext, Limits], Fill | None] = field(default_factory=dict)
    _limits: dict[str, Mapping[str, Limits]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rates = NoiseRates.from_config(self.config)
        self._speech = speech_of(self.config.locale)
        self._varies = self.lexicon is not None or any(getattr(self.config, n) for n in NOISE)

    def factor(self, template: RowTemplate) -> int:
        """Return the number of rows to make of a row: more where its root template has few."""
        usual = self._usual_factor(template)
        rows = sum(self.roots.get(root, 0) for root in template.row.derivation[:1])
        if not usual or not rows:
            return usual
        return max(usual, min(MOST_OF_RARE, -(-self.config.min_rows_per_template // rows)))

    def _usual_factor(self, template: RowTemplate) -> int:
        """Return the number of rows to make of a row (Genie, section 5.2)."""
        config, row = self.config, template.row
        if row.source in NATURAL:
            has_text = any(place.sort == "listed" for place in template.places)
            return config.paraphrase_with_text if has_text else config.paraphrase_other
        functions = len(row.functions) or row.program.count("@")
        return config.primitive if functions == 1 else config.compound

    def template(self, row: Example) -> RowTemplate:
        """Return a row taken apart, or raise GenieError (A110, A111)."""
        marked = mark_row(row)
        copied = _copied_words(marked.tokens, row, marked.program)
        return RowTemplate(
            row,
            " ".join(marked.tokens),
            carrier_of(marked.tokens, copied, self._speech),
            marked.program,
            marked.places,
            self._fills(marked, self._limits_of(row.program)) if marked.places else (),
            copied,
            marked.is_sorted_by_values,
        )

    def _limits_of(self, program: str) -> Mapping[str, Limits]:
        """Return the possible values of placeholders, computed once for each program."""
        if program not in self._limits:
            if len(self._limits) >= _MOST_PROGRAMS:
                self._limits.clear()
            try:
                self._limits[program] = self.language.values.limits(program, self.library)
            except GenieError:  # no program: it is told of where rows are checked
                self._limits[program] = {}
        return self._limits[program]

    def _fills(self, marked: MarkedRow, limits: Mapping[str, Limits]) -> tuple[Fill, ...]:
        fills = []
        for place in marked.places:
            around = self._context(marked.tokens, marked.tokens.index(place.mark))
            key = (place, around, limits.get(place.token, NO_LIMITS))
            if key not in self._filled:
                draw, stays = self._draw(*key)
                self._filled[key] = Fill(place, stays, draw, around) if draw is not None else None
            fill = self._filled[key]
            if fill is not None:
                fills.append(fill)
        return tuple(fills)

    def _context(self, tokens: Sequence[str], place: int) -> ValueContext:
        if self._speech.words.has_grammar:
            return context_of(tokens, place)
        return ValueContext("", "")

    def _draw(
        self, place: SlotPlace, where: ValueContext, limits: Limits
    ) -> tuple[Both | None, float]:
        """Return how to fill a place, None if it always stays, and the share in which it does."""
        config = self.config
        if place.sort == "read":
            if config.written and self._can_write(place):
                return self._as_written(place, where, limits), 1 - config.written
            return None, 1.0
        words = self.draws.find(place, limits) if config.quoted < 1 else None
        return (_in_quotes(place, words) if words is not None else None), config.quoted

    def _as_written(self, place: SlotPlace, where: ValueContext, limits: Limits) -> Both:
        units = SHIPPED if self.library is None else self.library.units
        type_ = self._declared_measure(place, units)
        words = self._speech.words
        draw = draw_written if words.has_grammar else partial(draw_by_words, words)

        def both(rng: Random) -> tuple[str, str] | None:
            for _ in range(_TRIES_THERE):
                form = draw(type_, rng, parameter=place.parameter, units=units, limits=limits)
                if form is None:
                    return None
                if is_said(form, where):
                    return " ".join(form.words), self.language.values.written(form.value)
            return None

        return both

    def _declared_measure(self, place: SlotPlace, units: Units) -> Type:
        """Return the type of a place; a measure in the unit in which a skill declares it."""
        if not isinstance(place.type, Measure) or self.library is None:
            return place.type
        function, _, name = place.parameter.rpartition(":")
        for signature in self.library.functions():
            parameter = signature.parameter(name) if signature.qualified == function else None
            unit = None if parameter is None else unit_of(parameter.type)
            if unit is not None and units.is_same_base(unit, place.type.unit):
                return Measure(unit)
        return place.type

    def _can_write(self, place: SlotPlace) -> bool:
        # Numbers are written alike everywhere; dates, measures and money are not.
        return place.type == NUMBER or self.language.values.reads_values(self.library)

    def copies(self, template: RowTemplate) -> Iterator[Copy]:
        """Yield the different copies of a row, at most `factor` of them."""
        number_of_copies, key = self.factor(template), f"{self.config.seed}:{template.row.id}:"
        if not template.fills and not self._varies:
            number_of_copies = min(number_of_copies, 1)
        pairs: set[tuple[str, str]] = set()
        # Some copies come twice; of a row with few wordings, all are found, but not for ever.
        for number in range(2 * number_of_copies + 3 if number_of_copies > 1 else number_of_copies):
            self._rng.restart(f"{key}{number}".encode())
            copy = self._copy(template)
            both = (copy.utterance, copy.program)
            if both in pairs:
                continue
            yield copy
            pairs.add(both)
            if len(pairs) == number_of_copies:
                return

    def _copy(self, template: RowTemplate) -> Copy:
        rng = self._rng
        program = template.program
        filled = 0
        filled_words: list[tuple[Fill, str]] = []
        for bit, fill in enumerate(template.fills):
            if rng.random() < fill.stays:
                continue
            both = self._draw_new(template, fill, filled_words)
            if both is None:
                continue
            filled |= 1 << bit
            filled_words.append((fill, both[0]))
            program = program.replace(fill.place.mark, both[1])
        text = self._reword(template, rng)
        for fill, words in filled_words:
            mark = fill.place.mark
            if fill.around.before in _ARTICLES and self._speech.words.has_grammar:
                text = _with_article(text, mark, words)
            text = text.replace(mark, words)
        names = template.names.get(filled)
        if names is None:
            marks = {f.place.mark for bit, f in enumerate(template.fills) if filled >> bit & 1}
            names = template.names[filled] = left_over(template.places, marks)
        for mark, name in names.items():
            text = text.replace(mark, name)
            program = program.replace(mark, name)
        if filled_words and template.is_sorted_by_values:
            tree = self.language.canonical(self.language.from_tokens(program), self.library)
            program = self.language.tokens(tree, self.library)
        return Copy(text, program, filled)

    def _draw_new(
        self, template: RowTemplate, fill: Fill, filled_words: Sequence[tuple[Fill, str]]
    ) -> tuple[str, str] | None:
        """Return a value that the sentence does not have yet, or None."""
        for _ in range(_TRIES):
            both = fill.draw(self._rng)
            if both is None:
                return None
            is_there = any(words == both[0] for _, words in filled_words)
            if not is_there and f'" {both[0]} "' not in template.program:
                return both
        return None

    def _reword(self, template: RowTemplate, rng: Random) -> str:
        """Return the sentence with other words and with noise; its marks stay."""
        config, text, typed = self.config, template.text, template.carrier
        natural = template.row.source in NATURAL
        share = config.reword if natural else config.reword_synthetic
        if self.lexicon is not None and share and rng.random() < share:
            if template.sites is None:
                tokens = template.carrier.tokens
                marks = [i for i, token in enumerate(tokens) if is_mark(token)]
                fixed = value_positions(tokens, template.program).union(template.copied, marks)
                template.sites = sites(tokens, self.lexicon, protected=fixed)
            if template.sites:
                picked = choose_sites(template.sites, rng, most=2)
                text = apply_sites(template.carrier.tokens, picked)
                words = text.split(" ")
                copied = _copied_words(words, template.row, template.program)
                typed = carrier_of(words, copied, self._speech)
        return add_noise(typed, self._rates, rng) or text


def _with_article(text: str, mark: str, words: str) -> str:
    """Return a sentence whose article before a mark goes with the words that are put there.

    >>> _with_article("an X call", "X", "loud"), _with_article("read the X", "X", "the end")
    ('a X call', 'read X')
    """

    def fitting(match: re.Match[str]) -> str:
        if words.split(" ", 1)[0] in _ARTICLES:  # "the" of a title stands for that of the sentence
            return ""
        return "the " if match[1] == "the" else f"{article(words)} "

    return re.sub(_ARTICLE_BEFORE.format(mark), fitting, text)


def _in_quotes(place: SlotPlace, draw: Draw) -> Both:
    before, after = place.before, place.after

    def both(rng: Random) -> tuple[str, str]:
        words = draw(rng)
        return words, f"{before}{words}{after}"

    return both


def _copied_words(tokens: Sequence[str], row: Example, program: str) -> frozenset[int]:
    """Return the positions of words that a parser copies to the program.

    >>> row = Example("S0", "say the end", 'now => @c.f param:a:String = " the end "')
    >>> sorted(_copied_words(row.utterance.split(" "), row, row.program))
    [1, 2]
    """
    copied = get_language(row.language).form(program).copied
    positions = value_positions(tokens, copied) if copied else _NOTHING
    if GLUE not in tokens:
        return positions
    # What is glued together is one word, which is mistyped otherwise.
    glued = (place for place, token in enumerate(tokens) if token == GLUE)
    return positions.union(*((place - 1, place, place + 1) for place in glued))
