"""Rows with placeholders become rows with values (Genie, section 3.3).

A row is taken apart once, then each of its copies costs a few replacements of characters. The draws
of a copy depend on the seed, the row's id and the copy's number alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from genie_dp.augment.config import NOISE, AugmentConfig
from genie_dp.augment.expand_places import Marked, Place, left_over, marked
from genie_dp.augment.expand_values import Draw, Draws
from genie_dp.augment.noise import Carrier, Rates, carrier, is_mark, noisy
from genie_dp.augment.written.around import Around, around, is_said
from genie_dp.augment.written.draw import draw as written_form
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.types import NUMBER
from genie_dp.paraphrase.lexical import Lexicon, Site, applied, chosen, sites, value_positions
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom
from genie_dp.templates.english import article

# Written by people or by a model of their sentences: expanded as paraphrases are.
NATURAL = frozenset(("paraphrase", "human", "private"))
_ARTICLES = ("a", "an", "the")
_ARTICLE_BEFORE = "(?<![^ ])(an?|the) (?={})"
_NOTHING: frozenset[int] = frozenset()
_ENUM = re.compile(r"\benum:\S+")
_TRIES = 10  # draws for a value that is not in the sentence yet
_TRIES_THERE = 50  # draws for one that reads well there: of 24 hours, 5 are of the afternoon


Both = Callable[[Random], tuple[str, str] | None]
"""Draws a value: its words in the sentence and what stands for it in the program."""


class Copy(NamedTuple):
    """What was made of a row.

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
        draw: gives the words for the sentence and what stands for them in the program.
        around: what stands around it; an article before it must go with the first word.
    """

    place: Place
    stays: float
    draw: Both
    around: Around


@dataclass(slots=True)
class Template:
    """A row taken apart.

    Attributes:
        row: the row.
        text: its sentence with marks.
        carrier: the same for noise.
        program: its program with marks.
        places: its placeholders.
        fills: those of them that may get a value.
        kept: positions of words that nothing may change, as a parser copies them.
        is_sorted_by_values: whether a program must be made canonical again.
        sites: where words may be replaced, once it was looked for.
        names: by the fills that got a value, mark -> placeholder of those that stay.
    """

    row: Example
    text: str
    carrier: Carrier
    program: str
    places: tuple[Place, ...]
    fills: tuple[Fill, ...]
    kept: frozenset[int]
    is_sorted_by_values: bool
    sites: tuple[Site, ...] | None = None
    names: dict[int, dict[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Expander:
    """Makes copies of rows.

    Attributes:
        config: the settings.
        draws: where the words of values come from.
        language, library: what programs are in; to bring them into canonical form.
        lexicon: words of the same meaning, or None to leave words as they are.
    """

    config: AugmentConfig
    draws: Draws
    language: Language
    library: Any
    lexicon: Lexicon | None = None
    _rng: KeyedRandom = field(default_factory=KeyedRandom)
    _rates: Rates = field(init=False)
    _varies: bool = field(init=False)
    _filled: dict[tuple[Place, Around], Fill | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the rates ready for noise."""
        self._rates = Rates.of(self.config)
        self._varies = self.lexicon is not None or any(getattr(self.config, n) for n in NOISE)

    def factor(self, template: Template) -> int:
        """Return how many rows are to be made of a row (Genie, section 5.2)."""
        config, row = self.config, template.row
        if row.source in NATURAL:
            has_text = any(place.sort == "listed" for place in template.places)
            return config.paraphrase_with_text if has_text else config.paraphrase_other
        functions = len(row.functions) or row.program.count("@")
        return config.primitive if functions == 1 else config.compound

    def template(self, row: Example) -> Template:
        """Return a row taken apart, or raise GenieError (A110, A111)."""
        found = marked(row)
        kept = _kept(found.tokens, row, found.program)
        return Template(
            row,
            " ".join(found.tokens),
            carrier(found.tokens, kept),
            found.program,
            found.places,
            self._fills(found) if found.places else (),
            kept,
            found.is_sorted_by_values,
        )

    def _fills(self, found: Marked) -> tuple[Fill, ...]:
        fills = []
        for place in found.places:
            key = (place, around(found.tokens, found.tokens.index(place.mark)))
            if key not in self._filled:
                draw, stays = self._draw(*key)
                self._filled[key] = Fill(place, stays, draw, key[1]) if draw is not None else None
            fill = self._filled[key]
            if fill is not None:
                fills.append(fill)
        return tuple(fills)

    def _draw(self, place: Place, where: Around) -> tuple[Both | None, float]:
        """Return how to fill a place, None if it always stays, and the share in which it does."""
        config = self.config
        if place.sort == "read":
            if config.written and self._can_write(place):
                return _as_written(place, where), 1 - config.written
            return None, 1.0
        words = self.draws.of(place) if config.quoted < 1 else None
        return (_in_quotes(place, words) if words is not None else None), config.quoted

    def _can_write(self, place: Place) -> bool:
        # Only ThingTalk says how dates, measures and money are written in programs.
        return self.language.name == "thingtalk" or place.type == NUMBER

    def copies(self, template: Template) -> Iterator[Copy]:
        """Yield the different copies of a row, at most `factor` of them."""
        wanted, key = self.factor(template), f"{self.config.seed}:{template.row.id}:"
        if not template.fills and not self._varies:
            wanted = min(wanted, 1)
        met: set[tuple[str, str]] = set()
        # Some copies come twice; of a row with few wordings, all are found, but not for ever.
        for number in range(2 * wanted + 3 if wanted > 1 else wanted):
            self._rng.restart(f"{key}{number}".encode())
            copy = self._copy(template)
            both = (copy.utterance, copy.program)
            if both in met:
                continue
            yield copy
            met.add(both)
            if len(met) == wanted:
                return

    def _copy(self, template: Template) -> Copy:
        rng = self._rng
        program = template.program
        filled = 0
        said: list[tuple[Fill, str]] = []
        for bit, fill in enumerate(template.fills):
            if rng.random() < fill.stays:
                continue
            both = self._new(template, fill, said)
            if both is None:
                continue
            filled |= 1 << bit
            said.append((fill, both[0]))
            program = program.replace(fill.place.mark, both[1])
        text = self._worded(template, rng)
        for fill, words in said:
            mark = fill.place.mark
            if fill.around.before in _ARTICLES:
                text = _with_article(text, mark, words)
            text = text.replace(mark, words)
        names = template.names.get(filled)
        if names is None:
            names = template.names[filled] = _names(template, filled)
        for mark, name in names.items():
            text = text.replace(mark, name)
            program = program.replace(mark, name)
        if said and template.is_sorted_by_values:
            program = self._canonical(program)
        return Copy(text, program, filled)

    def _new(
        self, template: Template, fill: Fill, said: Sequence[tuple[Fill, str]]
    ) -> tuple[str, str] | None:
        """Return a value that the sentence does not have yet, or None."""
        for _ in range(_TRIES):
            both = fill.draw(self._rng)
            if both is None:
                return None
            is_there = any(words == both[0] for _, words in said)
            if not is_there and f'" {both[0]} "' not in template.program:
                return both
        return None

    def _worded(self, template: Template, rng: Random) -> str:
        """Return the sentence with other words and with noise; its marks stay."""
        config, text, typed = self.config, template.text, template.carrier
        natural = template.row.source in NATURAL
        share = config.reword if natural else config.reword_synthetic
        if self.lexicon is not None and share and rng.random() < share:
            if template.sites is None:
                tokens = template.carrier.tokens
                marks = [i for i, token in enumerate(tokens) if is_mark(token)]
                fixed = value_positions(tokens, template.program).union(template.kept, marks)
                template.sites = sites(tokens, self.lexicon, protected=fixed)
            if template.sites:
                picked = chosen(template.sites, rng, most=2)
                text = applied(template.carrier.tokens, picked)
                typed = _again(text, template)
        return noisy(typed, self._rates, rng) or text

    def _canonical(self, program: str) -> str:
        tree = self.language.from_tokens(program)
        return self.language.tokens(self.language.canonical(tree, self.library), self.library)


def _with_article(text: str, mark: str, words: str) -> str:
    """Return a sentence whose article before a mark goes with the words that are put there.

    >>> _with_article("an X call", "X", "loud"), _with_article("read the X", "X", "the end")
    ('a X call', 'read X')
    """

    def fitting(found: re.Match[str]) -> str:
        if words.split(" ", 1)[0] in _ARTICLES:  # "the" of a title stands for that of the sentence
            return ""
        return "the " if found[1] == "the" else f"{article(words)} "

    return re.sub(_ARTICLE_BEFORE.format(mark), fitting, text)


def _again(text: str, template: Template) -> Carrier:
    """Return a reworded sentence with the places for noise."""
    tokens = text.split(" ")
    return carrier(tokens, _kept(tokens, template.row, template.program))


def _in_quotes(place: Place, draw: Draw) -> Both:
    before, after = place.before, place.after

    def both(rng: Random) -> tuple[str, str]:
        words = draw(rng)
        return words, f"{before}{words}{after}"

    return both


def _as_written(place: Place, where: Around) -> Both:
    def both(rng: Random) -> tuple[str, str] | None:
        for _ in range(_TRIES_THERE):
            form = written_form(place.type, rng, parameter=place.parameter)
            if form is None:
                return None
            if is_said(form, where):
                return " ".join(form.words), form.value
        return None

    return both


def _names(template: Template, filled: int) -> dict[str, str]:
    marks = {fill.place.mark for bit, fill in enumerate(template.fills) if filled >> bit & 1}
    return left_over(template.places, marks)


def _kept(tokens: Sequence[str], row: Example, program: str) -> frozenset[int]:
    """Return the positions of words that a parser copies to the program.

    >>> row = Example("S0", "say the end", 'now => @c.f param:a:String = " the end "')
    >>> sorted(_kept(row.utterance.split(" "), row, row.program))
    [1, 2]
    """
    if row.language == "sexpr":
        return value_positions(tokens, program)
    # The words of an enum are said in many ways, and never copied.
    return value_positions(tokens, _ENUM.sub("", program)) if '"' in program else _NOTHING
