"""The words of a sentence that its program accounts for, according to the training rows.

A word, or two that stand side by side, are evidence of a function if training rows with the
function contain them. A sentence that is meant for a skill has much evidence of its program's
functions; one that wants something else has words that no row has with them. This is a better
signal than the probability of the program alone (docs/research/parser.md).
"""

import io
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations, combinations_with_replacement, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.english.frames import frames_of
from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.forms import TokenForm
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.locale import Words
from genie_dp.models.calibration import Calibration
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.operators import (
    Operator,
    Operators,
    has_operator,
    is_question,
    open_negations,
    open_operators,
    operators_in,
    opposites_of,
    without_signs,
)
from genie_dp.parser.rows import RowStore
from genie_dp.skills.words import END_MARKS

# Rows that are looked at; what they have said twice counts, of few rows what they have said once.
_MOST_ROWS = 100_000
_FEW_ROWS = 5_000
# How many rows have to say words with a function, and which share of them has to have a part of a
# program, until the words indicate the part.
_OFTEN, _SURE = 4, 0.8
_START, _VALUE, _END = "<s>", "<value>", "</s>"
# Before a function and inputs, which are no words.
_GIVEN, _TOGETHER = "<given>", "<together>"
# Before a function that some row asks for with a question; by itself, if there is any.
_QUESTION = "<question>"
# Before a negation: with a word beside it, or with what rows never have beside it; before a part.
_BEFORE, _BEHIND, _LACKING, _PART = "<before>", "<behind>", "<lacking>", "<part>"
# Before words that rows say whose programs have a constant of their own: that one, or any.
_FIXED = "<fixed>"
# Before a word that stands inside of values, and behind others.
_INSIDE = "<inside>"
# Before a word with an opposite that some row says without the opposite.
_UNOPPOSED = "<unopposed>"
# Before a comparison, with the part of a program that has its value and another sign.
_COMPARED = "<compared>"
_MOST_INPUTS = 10  # of one call: with more, all choices of them would be too many to look up
_MOST_OTHERWISE = 8  # ways to say a sentence that are looked at
_NEVER = 100.0  # nats against a program that does not do what an operator says
# Stands for all of a sentence that says nothing by itself, such as "hi there".
_BARE = "<bare>"


class Signals(NamedTuple):
    """Signals of whether a program is right.

    Attributes:
        log_probability: of the program, in nats.
        refusal: log-probability that the sentence is to be refused.
        margin: nats that it is ahead of the next program.
        unseen: share of the pairs of neighbouring words that no row has with its functions.
        explained: content words that rows have with its functions.
        unexplained: content words that they do not have.
    """

    log_probability: float
    refusal: float
    margin: float
    unseen: float
    explained: float
    unexplained: float


# Sizes of the signals, and what is believed of them before a parser's own rows are seen.
SCALES = Signals(4.0, 3.0, 3.0, 0.25, 2.0, 1.0)
BELIEVED = Calibration(Signals(0.35, -0.2, 0.25, -4.5, 0.35, -0.45), 1.0)
_UNLIKELY, _WIDEST, _MOST_WORDS = -16.0, 6.0, 4


def signals_of(
    log_probability: float, refusal: float, margin: float, support: "Support"
) -> Signals:
    """Return the signals of a program, each clipped to the range with enough rows."""
    return Signals(
        max(_UNLIKELY, log_probability),
        max(_UNLIKELY, refusal),
        max(-_WIDEST, min(_WIDEST, margin)),
        support.unseen,
        min(_MOST_WORDS, support.explained),
        min(_MOST_WORDS, len(support.unexplained)),
    )


def content_words(sentence: Sequence[str], program: Sequence[str], words: Words) -> list[str]:
    """Return the content words of a sentence: no values, and no function words.

    >>> from genie_dp.locale import words_of
    >>> content_words("show me my unread emails from EMAIL_ADDRESS_0".split(), (), words_of("en"))
    ['unread', 'emails']
    """
    values, empty = set(program), words.function_words
    sentence_words = dict.fromkeys(without_signs(sentence, words))
    return [x for x in sentence_words if _is_telling(x, empty) and x not in values]


@lru_cache(maxsize=1 << 15)
def _is_telling(word: str, function_words: frozenset[str]) -> bool:
    return word not in function_words and not is_slot(word) and any(map(str.isalpha, word))


class Support(NamedTuple):
    """How well a program is supported by the words of its sentence.

    Attributes:
        unseen: share of the neighbouring pairs that no row has with its functions; 1 of a sentence
            without content, unless rows with them have such sentences, too.
        explained: content words that rows have with them, and comparisons that the program has.
        unexplained: content words that rows do not have, in the order of the sentence.
        confirmed_parts: parts of the program, such as "is_on true", that the words indicate.
        unconfirmed_parts: parts of it that the words do not indicate.
        missing_parts: parts that the words indicate and the program lacks.
        lost: comparisons that the signs of the program do not have, and other operators of the
            sentence whose mark it does not have.
    """

    unseen: float
    explained: int
    unexplained: tuple[str, ...]
    confirmed_parts: int = 0
    unconfirmed_parts: int = 0
    missing_parts: int = 0
    lost: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """Return the nats that it adds to a program's score, beside those of the network.

        Of programs for one sentence the likeliest is often one that leaves out half of its words.
        The factors are those of a conditional logistic regression over the beams of one parser
        for the sentences of thingpedia/*/eval.tsv (docs/research/parser.md).
        """
        words = 1.2 * self.explained - 1.2 * len(self.unexplained) - 10.0 * self.unseen
        if self.lost:
            words -= _NEVER
        return (
            words + 1.2 * self.confirmed_parts - self.unconfirmed_parts - 0.6 * self.missing_parts
        )

    def with_near(self, near: frozenset[str]) -> "Support":
        """Return the support where some of its words are near to words of the library."""
        rest = tuple(word for word in self.unexplained if word not in near)
        explained = self.explained + len(self.unexplained) - len(rest)
        return self._replace(unexplained=rest, explained=explained)


_weight_of = attrgetter("weight")
Hashes = npt.NDArray[np.uint32]
_Integers = npt.NDArray[np.int64]


class _Lists:
    """Lists of numbers one after another, and where each ends."""

    def __init__(self) -> None:
        self.flat, self.ends = array("q"), array("q", [0])

    def add(self, numbers: Iterable[int]) -> None:
        self.flat.extend(numbers)
        self.ends.append(len(self.flat))

    @property
    def lengths(self) -> _Integers:
        ends = np.array(self.ends, np.int64)
        return ends[1:] - ends[:-1]

    def count(self) -> "tuple[_Integers, _Integers, _Integers]":
        """Return the distinct numbers, the place among them of each, and how often they come."""
        return np.unique(np.array(self.flat, np.int64), return_inverse=True, return_counts=True)


class _FunctionRows:
    """The terms and the parts of the rows of one function, as numbers."""

    def __init__(self) -> None:
        self.terms, self.parts = _Lists(), _Lists()

    def add(self, terms: Iterable[int], parts: Iterable[int]) -> None:
        """Add a row; none of either comes twice."""
        self.terms.add(terms)
        self.parts.add(parts)

    def often(self, least: int) -> list[int]:
        """Return the terms that at least so many rows contain."""
        terms, _, times = self.terms.count()
        return list(terms[times >= least].tolist())

    def indicators(self) -> Iterator[tuple[int, int]]:
        """Return terms, each with a part that it indicates."""
        terms, term_places, term_times = self.terms.count()
        parts, part_places, part_times = self.parts.count()
        # Each part of a row stands beside all terms of the row: (part, term) in one number.
        beside = np.repeat(self.terms.lengths, self.parts.lengths)
        firsts = np.repeat(np.array(self.terms.ends[:-1], np.int64), self.parts.lengths)
        steps = np.arange(beside.sum()) - np.repeat(np.cumsum(beside) - beside, beside)
        both = np.repeat(part_places, beside) * len(terms)
        both += term_places[np.repeat(firsts, beside) + steps]
        times = np.bincount(both, minlength=len(parts) * len(terms)).reshape(len(parts), len(terms))
        usual = part_times[:, None] / len(self.terms.lengths)
        share = (times + 0.5 * usual) / (term_times + 0.5)
        is_indicated = (share >= np.maximum(_SURE, (1 + usual) / 2)) & (term_times >= _OFTEN)
        rows, columns = np.nonzero(is_indicated)
        return zip(terms[columns].tolist(), parts[rows].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words, and pairs of words, of the rows of each function, and the parts they indicate.

    Words indicate a part of a function's program if most rows of the function that contain them
    have the part, and by half fewer of the others lack it: "locked" indicates "is_locked true".

    Attributes:
        hashes: (N,) sorted: of a function with a word or with two; four bytes each.
        indicators: (M,) sorted: the same of words that indicate a part of the function's programs.
        indicated: (M,) hashes of these parts.
        given: (K,) sorted: of a function with the smallest sets of inputs that rows give it, and
            with each pair of inputs that a row gives it together.
        words: those of the language of the sentences.
    """

    hashes: Hashes
    indicators: Hashes
    indicated: Hashes
    given: Hashes
    words: Words

    @classmethod
    def from_rows(
        cls, stores: Iterable[Sequence[Pair]], language: Language, words: Words
    ) -> "Evidence":
        """Return the evidence of rows."""
        rows = [x if isinstance(x, RowStore) else RowStore.from_pairs(x) for x in stores]
        total = sum(map(len, rows))
        counts = _RowCounts(words)
        for store in rows:
            counts.add(store, language, step=max(1, -(-total // _MOST_ROWS)))
        hashes, indicators, indicated = array("q"), array("q"), array("q")
        least = 1 if total < _FEW_ROWS else 2
        for name, terms in chain(counts.often(least), counts.lost(least)):
            hashes.append(_hash(name, *terms) >> 32)
        for name, terms, part in counts.indicators():
            indicators.append(_hash(name, *terms) >> 32)
            indicated.append(_hash(part) >> 32)
        of_words, of_parts = np.unique(np.array([indicators, indicated], np.uint32), axis=1)
        hashes.extend([_hash(name, *terms) >> 32 for name, terms in counts.find_denied()])
        hashes.extend([_hash(name, *terms) >> 32 for name, terms in counts.inside()])
        hashes.extend([_hash(name, *terms) >> 32 for name, terms in counts.find_unopposed()])
        least = 1 if total < _FEW_ROWS else 2
        hashes.extend([_hash(name, *terms) >> 32 for name, terms in counts.find_fixed(least)])
        inputs = [_hash(_GIVEN, *names) >> 32 for names in counts.find_inputs()]
        return cls(
            np.unique(np.array(hashes, np.uint32)),
            of_words,
            of_parts,
            np.unique(np.array(inputs, np.uint32)),
            words,
        )

    def support(
        self,
        sentence: Sequence[str],
        program: Sequence[str],
        functions: Iterable[str],
        parts: Iterable[str] = (),
        operators: Operators | None = None,
        near: Callable[[Sequence[str]], frozenset[str]] | None = None,
    ) -> Support:
        """Return the support of a program by its sentence.

        Where no row contains one of its words, rows may contain an everyday paraphrase, or the
        library may have a word that is near to it.

        Args:
            sentence: as it was read, with placeholders.
            program: tokens of the token form, with these placeholders: its `TokenForm.values`.
            functions: those of the program.
            parts: its other parts, as `TokenForm.parts` names them.
            operators: its own; None where those of the sentence are not looked at.
            near: returns those of some words that are near to words of the program's functions.
        """
        functions, parts = list(functions), list(parts)
        arguments = program, functions, parts, operators
        support = self._support(sentence, *arguments)
        if near is not None and support.unexplained:
            support = support.with_near(near(support.unexplained))
        if support.lost or not support.unexplained:
            return support
        others = islice(frames_of(self.words.language).same(sentence), _MOST_OTHERWISE)
        supports = [self._support(variant, *arguments) for variant in others]
        fewer = [x for x in supports if len(x.unexplained) < len(support.unexplained)]
        return max((support, *fewer), key=_weight_of)

    def _support(
        self,
        sentence: Sequence[str],
        program: Sequence[str],
        functions: Iterable[str],
        parts: Iterable[str],
        operators: Operators | None,
    ) -> Support:
        """Return the support of a program by its sentence in just these words."""
        words = content_words(sentence, program, self.words)
        all_terms = list(_terms(sentence, program, self.words))
        terms = list(dict.fromkeys(all_terms))
        pairs = [term for term in all_terms if len(term) == 2]
        is_said = self._are_said([*((word,) for word in words), *pairs], functions)
        unexplained = tuple(
            w for w, is_explained in zip(words, is_said, strict=False) if not is_explained
        )
        unseen = is_said[len(words) :].count(False) / max(1, len(pairs))
        if _is_bare(sentence, program, self.words) and not self.says((_BARE,), functions):
            unseen = 1.0
        lost, comparisons = self._compare(sentence, program, functions, operators)
        lost = (*lost, *self._contradicting_words(sentence, program, list(functions)))
        own = {_hash(part) >> 32 for part in parts}
        indicated = self._indicated_parts(terms, set(functions))
        return Support(
            unseen,
            len(words) - len(unexplained) + comparisons,
            unexplained,
            confirmed_parts=len(own & indicated),
            unconfirmed_parts=len(own - indicated),
            missing_parts=len(indicated - own),
            lost=lost,
        )

    def _contradicting_words(
        self, sentence: Sequence[str], program: Sequence[str], functions: Sequence[str]
    ) -> Iterator[str]:
        """Yield words of a sentence whose opposites rows have with a program's functions.

        "Turn the lights on" is not to turn off: rows of that have "on" beside "off" alone, as in
        "turn off the lights on the first floor". Of several functions, one may have the word.
        """
        if len(functions) != 1:
            return
        plain = without_signs(sentence, self.words)
        opposites, words = opposites_of(self.words), set(plain).difference(program)
        for word in words & opposites.keys():
            if words.isdisjoint(opposites[word]):
                are_said = self._are_said([(_UNOPPOSED, word)], functions)
                others = [(_UNOPPOSED, opposite) for opposite in opposites[word]]
                if not any(are_said) and any(self._are_said(others, functions)):
                    yield word

    def _compare(
        self,
        sentence: Sequence[str],
        program: Sequence[str],
        functions: Iterable[str],
        operators: Operators | None,
    ) -> tuple[tuple[str, ...], int]:
        """Return the operators that a program lacks, and no row so, and how often it compares."""
        if operators is None:
            return (), 0
        values = set(program) - self.words.function_words
        lost = [
            operator
            for operator, part in open_operators(sentence, operators, self.words)
            if not any(
                all(self._are_said(_lost_terms(operator, part, values), [function]))
                for function in functions
            )
        ]
        own = operators.compared or {}
        compared = {x for x in operators_in(sentence, self.words) if x.value in own}
        return tuple(x.name for x in lost), len(compared.difference(lost))

    def free_texts(self, program: str, sentence: Sequence[str], language: Language) -> str:
        """Return a token form whose texts have no words that alone indicate its other parts.

        The words that ask for an artist are no part of the artist's name: in "play the artist moon"
        it is "moon". A text ends before such words, or begins behind them; one that has nothing
        else stays. It ends, as names do, before words that rows have behind values and never inside
        of them, as in "reserve the moon for me".

        Args:
            program: in token form.
            sentence: as it was read, with placeholders.
            language: of the program.
        """
        if '"' not in program:
            return program
        tokens = program.split(" ")
        try:
            form = language.form(program)
            functions, parts = set(form.functions), form.parts
        except GenieError:  # without a grammar it may be no program
            return program
        for place in places_of_texts(tokens):
            text = tokens[place]
            indicating_places = self._indicating_places(text, sentence, functions, parts)
            if indicating_places and (
                free_text := text[indicating_places[-1] + 1 :]
                or self._whole(text[: indicating_places[0]])
            ):
                tokens[place] = free_text
        for place in places_of_texts(tokens, names=True):
            tokens[place] = tokens[place][: self._end_of(tokens[place], sentence, functions)]
        return " ".join(tokens)

    def _end_of(
        self, text: Sequence[str], sentence: Sequence[str], functions: Iterable[str]
    ) -> int:
        """Return where a text ends before words that rows have behind values, and never inside."""
        start = _place_of(text, sentence)
        behind = "" if start < 0 else ("", *sentence, "")[start + len(text) + 1]
        for end in range(1, len(text) if start >= 0 else 0):
            words = text[end:]
            if any(map(is_slot, words)):
                continue
            inside = self._are_said([(_INSIDE, word) for word in words], functions)
            if self.says((_VALUE, *words, behind), functions) and not any(inside):
                return end
        return len(text)

    def _whole(self, words: Sequence[str]) -> Sequence[str]:
        """Return words without the function words at their end, which belong to the rest."""
        while words and words[-1] in self.words.function_words:
            words = words[:-1]
        return words

    def _indicating_places(
        self,
        text: Sequence[str],
        sentence: Sequence[str],
        functions: set[str],
        parts: Iterable[str],
    ) -> list[int]:
        """Return the places of a text's words that indicate parts which no others indicate."""
        # What ends in a sign, such as "text =", has a value beside it, which may be this text.
        own = {_hash(part) >> 32 for part in parts if part[-1:].isalnum()}
        others = [*sentence]
        for start in range(len(sentence) - len(text), -1, -1):
            if [*sentence[start : start + len(text)]] == [*text]:
                others[start : start + len(text)] = [_VALUE]
                break
        own -= self._indicated_parts(list(_terms(others, (), self.words)), functions)
        empty = self.words.function_words
        return [
            place
            for place, word in enumerate(text)
            if _is_telling(word, empty) and own & self._indicated_parts([(word,)], functions)
        ]

    def _indicated_parts(
        self, terms: Sequence[tuple[str, ...]], functions: Iterable[str]
    ) -> set[int]:
        """Return the hashes of the parts of functions that terms indicate."""
        keys = np.array([_hash(f, *term) >> 32 for f in functions for term in terms], np.uint32)
        firsts, ends = (self.indicators.searchsorted(keys, side=side) for side in ("left", "right"))
        indicated: set[int] = set()
        for i in np.flatnonzero(ends > firsts).tolist():
            indicated.update(self.indicated[firsts[i] : ends[i]].tolist())
        return indicated

    def is_of_command(
        self, name: Sequence[str], sentence: Sequence[str], functions: Sequence[str]
    ) -> bool:
        """Return whether a name is words of the command: rows have it with both of its neighbours.

        At the beginning of a sentence rows that begin so suffice: "schalte licht aus". A word that
        rows have in names is none: "post it in the channel news".
        """
        place = _place_of(name, sentence)
        if place < 0 or any(self._are_said([(_INSIDE, word) for word in name], functions)):
            return False
        before, behind = ("", *sentence)[place], (*sentence, "")[place + len(name)]
        return self.says((before, *name, *([behind] if place else [])), functions)

    def says(
        self, words: Sequence[str], functions: Iterable[str], *, fixed: str | None = None
    ) -> bool:
        """Return whether rows contain the words one after another, as words and no values.

        Args:
            words: one or more; placeholders count by their kind, "" is an end of the sentence.
            functions: those of the rows; any of them will do, for all words.
            fixed: a constant that the programs of the rows have by themselves, "" for any; None
                for all rows.
        """
        names = [_name_of(word) for word in words]
        first, last = names[0] or _START, names[-1] or _END
        names = [first, *names[1:-1], last] if len(names) > 1 else [first]
        terms: list[tuple[str, ...]] = [*pairwise(names)] or [(first,)]
        mark = () if fixed is None else (f"{_FIXED} {fixed}",)
        return all(self._are_said([(*mark, *term) for term in terms], functions))

    def means(
        self,
        words: Sequence[str],
        sides: tuple[str, str],
        functions: Sequence[str],
        fixed: Iterable[str],
        parts: Iterable[str] = (),
    ) -> bool:
        """Return whether a program means words that are a value elsewhere, such as "today".

        It has the constant or the listed value for which rows have them, or they are words of its
        functions: rows have them just there, "the steps i walked today", and none of these rows has
        a constant for them.

        Args:
            words: those that may be a value.
            sides: the words before and behind them, "" at the ends of the sentence.
            functions, parts: those of the program.
            fixed: its constants, its `TokenForm.fixed`.
        """
        if any(self.says(words, functions, fixed=constant) for constant in fixed):
            return True
        listed = {_hash(part) >> 32 for part in parts if part[-1:].isalnum()}
        terms: list[tuple[str, ...]] = [*pairwise(words)] or [tuple(words)]
        if listed & self._indicated_parts(terms, functions):
            return True
        before, behind = sides
        is_end = behind in END_MARKS or behind in self.words.function_words
        there = (before, *words) if is_end else (before, *words, behind)
        return self.says(there, functions) and not self.says(there, functions, fixed="")

    def denies(
        self,
        negation: Operator,
        sentence: Sequence[str],
        program: Sequence[str],
        functions: Sequence[str],
        parts: Iterable[str],
    ) -> bool:
        """Return whether rows have a negation as a sentence has it: between the same words.

        Where rows have "not on" and mean "off", "not on" is not denied by "on", nor "not off" by
        anything.

        Args:
            sentence, program, functions, parts: those of `support`.
        """
        sides = _sides(negation, set(program) - self.words.function_words)
        own = [*opposites_of(self.words).keys() & set(sentence), *(f"{_PART} {x}" for x in parts)]
        lacking = [(f"{_LACKING} {negation.name}", x) for x in own]
        is_said = any(all(self._are_said(sides, [function])) for function in functions)
        return is_said and not any(self._are_said(lacking, functions))

    def gives(self, function: str, inputs: frozenset[str]) -> bool:
        """Return whether some row gives a function these inputs or fewer; True of an unknown one.

        A sentence hardly leaves out an input that rows never leave out.
        """
        if len(inputs) > _MOST_INPUTS or not self._has_given(function, _START):
            return True
        names = sorted(inputs)
        fewer = (chosen for count in range(len(names) + 1) for chosen in combinations(names, count))
        return any(self._has_given(function, *chosen) for chosen in fewer)

    def gives_together(self, function: str, inputs: frozenset[str]) -> bool:
        """Return whether each pair of these inputs occurs in some row of a function.

        True for a function without rows.
        """
        if not self._has_given(function, _TOGETHER):
            return True
        pairs = combinations_with_replacement(sorted(inputs), 2)
        return all(self._has_given(_TOGETHER, function, *pair) for pair in pairs)

    def takes_question(self, function: str, sentence: Sequence[str]) -> bool:
        """Return whether a sentence may ask for a function.

        "Are all the lights off" does not turn them off: no row of that function is a question,
        where rows of others are. True for all sentences that are no questions.
        """
        if not is_question(sentence, self.words) or not self._has_given(_QUESTION):
            return True
        return not self._has_given(function, _START) or self._has_given(_QUESTION, function)

    def _has_given(self, *names: str) -> bool:
        key = np.uint32(_hash(_GIVEN, *names) >> 32)
        place = int(self.given.searchsorted(key))
        return place < len(self.given) and bool(self.given[place] == key)

    def _are_said(self, terms: Sequence[tuple[str, ...]], functions: Iterable[str]) -> list[bool]:
        names = set(functions)
        if not (names and terms and len(self.hashes)):
            return [False] * len(terms)
        keys = np.array([[_hash(f, *term) >> 32 for f in names] for term in terms], np.uint32)
        places = self.hashes.searchsorted(keys)
        is_said: list[bool] = (self.hashes.take(places, mode="clip") == keys).any(1).tolist()
        return is_said

    def join(self, other: "Evidence") -> "Evidence":
        """Return the evidence of the rows of both."""
        both = [np.stack([x.indicators, x.indicated]) for x in (self, other)]
        indicators, indicated = np.unique(np.concatenate(both, axis=1), axis=1)
        hashes, inputs = np.union1d(self.hashes, other.hashes), np.union1d(self.given, other.given)
        return Evidence(hashes, indicators, indicated, inputs, self.words)

    def save(self, path: Path) -> None:
        """Write all of it."""
        out = io.BytesIO()  # numpy does not say why it cannot write a file
        np.savez(
            out, hashes=self.hashes, telling=self.indicators, told=self.indicated, given=self.given
        )
        path.write_bytes(out.getvalue())

    @classmethod
    def load(cls, path: Path, words: Words) -> "Evidence":
        """Return the evidence that `save` wrote; OSError or ValueError if it is none."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = [file[name] for name in ("hashes", "telling", "told", "given")]
        except (AttributeError, TypeError, KeyError, BadZipFile) as error:  # another array, or less
            raise ValueError(f"expected arrays of hashes: {error}") from None
        kinds = {(array.dtype.name, array.ndim) for array in arrays}
        if kinds != {("uint32", 1)} or len(arrays[1]) != len(arrays[2]):
            raise ValueError(f"expected lists of numbers of 32 bits, got {kinds}")
        hashes, indicators, indicated, inputs = arrays
        return cls(hashes, indicators, indicated, inputs, words)


class _Denied:
    """The surroundings of a negation in rows of a function, or of several together.

    Attributes:
        sides: the words before and behind it, as terms, of each row.
        parts, words: those of their programs and sentences.
    """

    def __init__(self) -> None:
        self.sides: set[tuple[tuple[str, str], ...]] = set()
        self.parts: set[str] = set()
        self.words: set[str] = set()

    def lacking(
        self, parts: Iterable[str], words: Container[str], opposites: Iterable[tuple[str, str]]
    ) -> Iterator[str]:
        """Yield those parts and words of the function that stand only where nothing is denied.

        Their opposites stand beside the negation: of "not on" is "off" they are the part "on" and
        the word "off". Parts are opposites if a place of programs has no third one.
        """
        places: dict[str, list[str]] = defaultdict(list)
        for part in parts:
            if part[-1].isalnum():  # what ends in a sign has no listed value
                places[part[: max(part.rfind(" "), part.rfind("=")) + 1]].append(part)
        pairs = (pair for pair in places.values() if len(pair) == 2)
        for own, opposite in chain.from_iterable((pair, pair[::-1]) for pair in pairs):
            if own in self.parts and opposite not in self.parts:
                yield f"{_PART} {opposite}"
        for word, opposite in opposites:
            if word in self.words and opposite in words and opposite not in self.words:
                yield opposite


class _RowCounts:
    """Counts of the words of rows, with each function and with each part of its programs.

    Words are numbers until all is counted: a term is two of them, 0 behind one that stands alone.
    """

    def __init__(self, words: Words) -> None:
        self._empty = words.function_words
        self._numbers = {"": 0}
        self._parts: dict[str, int] = {}
        self._functions: dict[str, _FunctionRows] = defaultdict(_FunctionRows)
        self._given: dict[str, set[frozenset[str]]] = defaultdict(set)
        self._words = words
        self._denied: dict[tuple[tuple[str, ...], str], _Denied] = defaultdict(_Denied)
        self._lost: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._alone: dict[str, set[int]] = defaultdict(set)  # words of rows of one call
        self._fixed: dict[tuple[str, str], _FunctionRows] = defaultdict(_FunctionRows)
        self._inside: dict[str, set[int]] = defaultdict(set)  # words of values
        self._unopposed: dict[str, set[str]] = defaultdict(set)
        self._questioned: set[str] = set()  # functions of rows that are questions

    def add(self, store: RowStore, language: Language, step: int) -> None:
        """Count the rows of a store, one of so many."""
        # Functions are of an outline, for texts have none, and there are fewer.
        form_of = cache(language.form)
        start, end, value = map(self._number, (_START, _END, _VALUE))
        bare = self._number(_BARE) << 32
        numbers = [self._number(_name_of(name)) for name in store.names]
        is_slot_ = list(map(is_slot, store.names))
        is_telling = [_is_telling(name, self._empty) for name in store.names]
        is_plain = [name in self._empty for name in store.names]
        operates = [has_operator(name, self._words) for name in store.names]
        places = {name: place for place, name in enumerate(store.names)}
        pairs_of = opposites_of(self._words)
        opposed = {self._number(word): word for word in pairs_of}
        rows = zip(store.programs(), store.numbered(), strict=True)
        for text, (sentence, _) in islice(rows, 0, None, step):
            if text == OUT_OF_SCOPE:
                continue
            form = form_of(text)
            tokens = {places[token] for token in form.values}
            values = {token for token in tokens.intersection(sentence) if not is_plain[token]}
            words = [
                value if word in values and not is_slot_[word] else numbers[word]
                for word in sentence
            ]
            terms = {word << 32 for word in words}
            pairs = zip((start, *words), (*words, end), strict=True)
            terms.update([first << 32 | second for first, second in pairs])
            if not values and not any([is_telling[x] and x not in tokens for x in sentence]):
                terms.add(bare)
            for function, inputs in form.inputs:
                self._given[function].add(inputs)
            part_numbers = [self._parts.setdefault(part, len(self._parts)) for part in form.parts]
            functions = form_of(form.outline[0]).functions
            with_opposites = {opposed[x] for x in words if x in opposed}
            unopposed = [x for x in with_opposites if with_opposites.isdisjoint(pairs_of[x])]
            inside = {
                places[x]
                for place in places_of_texts(form.tokens, names=True)
                for x in form.tokens[place]
            }
            for function in set(functions):
                self._inside[function].update([numbers[x] for x in inside])
                self._unopposed[function].update(unopposed)
                self._functions[function].add(terms, part_numbers)
                for constant in (*form.fixed, *([""] if form.fixed else [])):
                    self._fixed[function, constant].add(terms, ())
                if len(functions) == 1:
                    self._alone[function].update(words)
            if any([operates[word] for word in sentence]):
                sentence_words = [store.names[word] for word in sentence]
                self._add_operators(sentence_words, form, functions)

    def _add_operators(
        self, sentence: Sequence[str], form: TokenForm, functions: Sequence[str]
    ) -> None:
        """Note the negations of a row, those in its texts aside, and operators that it lacks."""
        if not operators_in(sentence, self._words):
            return
        if is_question(sentence, self._words):
            self._questioned.update(functions if len(functions) == 1 else ())
        values = set(form.values) - self._empty
        own = Operators.from_form(form)
        for operator, part in open_operators(sentence, own, self._words):
            for term in _lost_terms(operator, part, values):
                self._lost.update((function, term) for function in set(functions))
        for negation in open_negations(sentence, form, self._words, is_listed=lambda *_: True):
            denied = self._denied[tuple(sorted(functions)), negation.name]
            denied.sides.add(_sides(negation, values))
            denied.parts.update(form.parts)
            denied.words.update(sentence)

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def often(self, least: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield function and words of the terms that at least so many rows contain."""
        names = list(self._numbers)
        for function, rows in self._functions.items():
            for term in rows.often(least):
                yield function, _words_of(term, names)

    def find_fixed(self, least: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield function and words of the terms of so many rows whose programs have a constant."""
        names = list(self._numbers)
        for (function, constant), rows in self._fixed.items():
            for term in rows.often(least):
                yield function, (f"{_FIXED} {constant}", *_words_of(term, names))

    def find_unopposed(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield function and a term of each word that its rows have without its opposite."""
        for function, words in self._unopposed.items():
            yield from ((function, (_UNOPPOSED, word)) for word in words)

    def inside(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield function and a term of each word that stands behind values and inside of them."""
        names, value = list(self._numbers), self._number(_VALUE)
        for function, rows in self._functions.items():
            pairs = (divmod(term, 1 << 32) for term in set(rows.terms.flat))
            behind = {second for first, second in pairs if first == value}
            for word in self._inside[function]:
                if word in behind or names[word] in self._empty:
                    yield function, (_INSIDE, names[word])

    def indicators(self) -> Iterator[tuple[str, tuple[str, ...], str]]:
        """Yield function, words, and a part of its programs that they indicate."""
        names, parts = list(self._numbers), list(self._parts)
        for function, rows in self._functions.items():
            for term, part in rows.indicators():
                yield function, _words_of(term, names), parts[part]

    def lost(self, least: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield function and term of operators that so many rows have and their programs lack."""
        return (lost for lost, times in self._lost.items() if times >= least)

    def find_denied(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield function, and a term of the words that its rows have, or lack, beside a negation.

        A row of several functions denies for the one of them that has the same in rows of its own,
        or for each if none has.
        """
        alone: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for (functions, name), denied in self._denied.items():
            if len(functions) == 1:
                alone[functions[0], name].update(chain.from_iterable(denied.sides))
        for (functions, name), denied in self._denied.items():
            for sides in denied.sides:
                if not any(alone.get((x, name), set()).issuperset(sides) for x in functions):
                    yield from ((function, term) for function in functions for term in sides)
        for (function, name), terms in alone.items():
            yield from ((function, term) for term in terms)
            yield from ((function, term) for term in self._lacking(function, name))

    def _lacking(self, function: str, name: str) -> Iterator[tuple[str, str]]:
        """Yield as terms the parts and words that no row of a function has beside a negation."""
        parts, names = list(self._parts), list(self._numbers)
        own = [parts[number] for number in set(self._functions[function].parts.flat)]
        words = {names[number] for number in self._alone[function]}
        opposites = [(x, y) for x, others in opposites_of(self._words).items() for y in others]
        for word in self._denied[(function,), name].lacking(own, words, opposites):
            yield f"{_LACKING} {name}", word

    def find_inputs(self) -> Iterator[tuple[str, ...]]:
        """Yield each function with the smallest sets of inputs of its rows, and pairs of inputs.

        A pair of one input with itself stands for that input. (function, _START) and
        (function, _TOGETHER) mark the functions that rows have, (_QUESTION, function) those of
        questions.
        """
        yield from ((_QUESTION, function) for function in self._questioned)
        if self._questioned:
            yield (_QUESTION,)
        for function, sets in self._given.items():
            yield function, _START
            yield function, _TOGETHER
            pairs = {pair for x in sets for pair in combinations_with_replacement(sorted(x), 2)}
            yield from ((_TOGETHER, function, *pair) for pair in pairs)
            for inputs in sets:
                if not any(smaller < inputs for smaller in sets):
                    yield function, *sorted(inputs)


def _words_of(term: int, names: Sequence[str]) -> tuple[str, ...]:
    first, second = divmod(term, 1 << 32)
    return (names[first], names[second])[: 2 if second else 1]


def _name_of(word: str) -> str:
    """Return the name under which a word is counted: of a placeholder, its kind."""
    return word.rpartition("_")[0] if is_slot(word) else word


def _sides(negation: Operator, values: Container[str]) -> tuple[tuple[str, str], ...]:
    """Return a negation with the word before it, and with the one behind it, as terms."""
    before, behind = (_as_term(word, values) for word in (negation.before, negation.after))
    return (f"{_BEHIND} {negation.name}", before), (f"{_BEFORE} {negation.name}", behind)


def _lost_terms(
    operator: Operator, part: str, values: Container[str]
) -> tuple[tuple[str, str], ...]:
    """Return the terms by which rows show that an operator means nothing that a program lacks."""
    if operator.value:
        return ((f"{_COMPARED} {operator.name}", part),)
    return _sides(operator, values)


def _as_term(word: str, values: Container[str]) -> str:
    """Return the term of a word of a sentence, where some words are values."""
    return _VALUE if word in values and not is_slot(word) else _name_of(word)


def _terms(
    sentence: Sequence[str], program: Sequence[str], words: Words
) -> Iterator[tuple[str, ...]]:
    """Yield the words of a sentence and its neighbouring pairs; values count by their kind."""
    values = set(program) - words.function_words
    names = [_START]
    names += (_as_term(word, values) for word in sentence)
    names.append(_END)
    yield from ((name,) for name in names[1:-1])
    yield from zip(names, names[1:], strict=False)


def _place_of(words: Sequence[str], sentence: Sequence[str]) -> int:
    """Return the first place of words in a sentence, or -1."""
    places = range(len(sentence) - len(words) + 1)
    return next((i for i in places if [*sentence[i : i + len(words)]] == [*words]), -1)


def places_of_texts(program: Sequence[str], *, names: bool = False) -> Iterator[slice]:
    """Yield where the words of each text are, the last one first; those of names if asked to.

    >>> list(places_of_texts('say( text= " hi there " to= " bob " ^^contact )'.split()))
    [slice(3, 5, None)]
    """
    quotes = [i for i, token in enumerate(program) if token == '"']
    for first, last in reversed(list(zip(quotes[::2], quotes[1::2], strict=False))):
        if names or not (program[last + 1 : last + 2] or [""])[0].startswith("^^"):
            yield slice(first + 1, last)


def _is_bare(sentence: Sequence[str], program: Sequence[str], words: Words) -> bool:
    """Return whether a sentence has neither content words nor anything that its program has.

    >>> from genie_dp.locale import words_of
    >>> english = words_of("en")
    >>> _is_bare(("hi", "there"), (), english)
    True
    >>> _is_bare(("what", "is", "TIME_0"), ("TIME_0",), english)
    False
    """
    values = set(program) - words.function_words
    return not content_words(sentence, program, words) and values.isdisjoint(sentence)


def _hash(*parts: str) -> int:
    return xxhash.xxh3_64_intdigest("\0".join(parts).encode())
