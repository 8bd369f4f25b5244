"""Replaces single words and short phrases of a sentence by others of the same meaning.

A lexicon answers one question: the possible replacements of the words that begin here. Whether it
may stand *here* is decided from the neighbouring words alone: "book" is a verb in "book a table"
and a noun in "the book"; "get" is left alone before "me". Words of values, and of names such as
"new york", are never touched. The forms of a word are made when a lexicon is read ("photos" ->
"pictures"), so that a sentence costs a look-up a word.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from genie_dp.english import lists
from genie_dp.english.forms import (
    article,
    gerund,
    past,
    past_participle,
    plural,
    starts_with_verb,
    third_person,
)
from genie_dp.resources import data_folder
from genie_dp.texts import read_text, word_set


@lru_cache(maxsize=1)
def fixed_phrases() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return the shipped phrases by their first word.

    >>> fixed_phrases()["hip"]
    (('hip', 'hop'),)
    """
    phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in read_text(data_folder("paraphrase/data") / "fixed.txt").splitlines():
        words = tuple(line.split())
        if words and not line.startswith("#"):
            phrases[words[0]] = (*phrases.get(words[0], ()), words)
    return phrases


# verb in its base form, other forms of a verb, noun, adjective, adverb, preposition, any
Role = Literal["vb", "vf", "n", "a", "r", "p", "x"]


# What may stand before a verb in its base form, besides the start of the sentence.
_BEFORE_VERB = word_set(
    "to please i you we they can could would will may must should not don't didn't can't"
)
# "Do not put it together"; in "a list not put together by me" it is a participle.
_BEFORE_NOT = word_set("to do does did can could would will may must should please")
_BEGINS_AGAIN = word_set("please , and then or")
_INDIRECT = word_set("me us him")
_PRONOUNS = word_set("it them")
_PARTICLES = word_set("on off up down out in back away over aside")
_LIGHT = word_set("keep keeps keeping kept take takes taking took")
_BEFORE_NOUN = word_set(
    "from by a the my right"
)  # "right now" is one word, and no "right right now"
# Nouns that are verbs as well: "the cost of a ride", "rides that cost 5 dollars".
_VERBS_TOO = word_set("cost costs film track")
_BEFORE_VERBS_TOO = (
    frozenset(lists.ARTICLES)
    | (lists.FIXED_DETERMINERS - {"that"})
    | word_set("'s new next previous last current first total average")
)
_BE = word_set("is are was were am be been being")
# What ends a noun phrase; a noun before another word may be the first part of a name.
_AFTER_NOUN = (
    lists.PREPOSITIONS
    | lists.RELATIVES
    | lists.SUBJECTS
    | lists.AFTERWARDS
    | lists.AUXILIARIES
    | lists.PARTICIPLES
    | lists.BEFORE_TIMES
    | word_set("to and or but please then 's ' , . ? ! : ; has have changes change")
)


@dataclass(frozen=True, slots=True)
class Substitution:
    """One thing that may be replaced: the words, their replacement and its places."""

    words: tuple[str, ...]
    replacement: str
    role: Role
    source: str = "own"


class SynonymLexicon(Protocol):
    """The substitutions, by the first word of it."""

    def starting(self, word: str) -> Sequence[Substitution]:
        """Return the forms whose words begin with that one, in a fixed order."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """A place of a sentence, tokens[start:stop], and its substitutions."""

    start: int
    stop: int
    form: Substitution


def replace_words(
    utterance: str,
    lexicon: SynonymLexicon,
    rng: random.Random,
    *,
    protected: Collection[int] = (),
    most: int = 2,
) -> str | None:
    """Return the sentence with one to `most` replacements, or None if none fits.

    Args:
        utterance: tokens joined by one space.
        rng: decides how many, and which; nothing else does.
        protected: positions of tokens that belong to values (see `value_positions`).
        most: replacements in one sentence, at most.

    >>> from genie_dp.paraphrase.lexicons import lexicon_of
    >>> lexicon = lexicon_of([("photo", "n", "picture", "own")])
    >>> replace_words("show my photos", lexicon, random.Random(0))
    'show my pictures'
    """
    tokens = utterance.split(" ")
    possible = sites(tokens, lexicon, protected=protected)
    if not possible:
        return None
    return apply_sites(tokens, choose_sites(possible, rng, most=most))


def sites(
    tokens: Sequence[str], lexicon: SynonymLexicon, *, protected: Collection[int] = ()
) -> tuple[Site, ...]:
    """Return every replacement that is possible in a sentence, from left to right."""
    possible: list[Site] = []
    fixed: set[int] | None = None
    for start, token in enumerate(tokens):
        for form in lexicon.starting(token):
            stop = start + len(form.words)
            if len(form.words) > 1 and tuple(tokens[start:stop]) != form.words:
                continue
            # "The photo as a picture" shall not become "the picture as a picture".
            if form.replacement in tokens or not fits(tokens, start, form):
                continue
            if fixed is None:
                fixed = {*protected, *_fixed_positions(tokens)}
            if fixed.isdisjoint(range(start, stop)):
                possible.append(Site(start, stop, form))
    return tuple(possible)


def choose_sites(possible: Sequence[Site], rng: random.Random, *, most: int) -> tuple[Site, ...]:
    """Return one to `most` sites that do not overlap, in the order of the sentence."""
    count = rng.randint(1, max(1, most))
    taken: list[Site] = []
    open_sites = list(possible)
    while open_sites and len(taken) < count:
        site = open_sites[rng.randrange(len(open_sites))]
        taken.append(site)
        open_sites = [
            free for free in open_sites if free.stop <= site.start or free.start >= site.stop
        ]
    return tuple(sorted(taken, key=lambda site: site.start))


def apply_sites(tokens: Sequence[str], taken: Sequence[Site]) -> str:
    """Return the sentence with the replacements made, and the articles before them right.

    >>> form = Substitution(("email",), "message", "n")
    >>> apply_sites("open an email".split(), [Site(2, 3, form)])
    'open a message'
    """
    words: list[str] = []
    position = 0
    for site in taken:
        words.extend(tokens[position : site.start])
        if words and words[-1] in ("a", "an"):
            words[-1] = article(site.form.replacement)
        words.append(site.form.replacement)
        position = site.stop
    words.extend(tokens[position:])
    return " ".join(words)


# ----------------------------------------------------------------------------- what fits


def fits(tokens: Sequence[str], start: int, form: Substitution) -> bool:
    """Return whether the words that begin at `start` have the form's part of speech there.

    >>> book = Substitution(("book",), "reserve", "vb")
    >>> fits("book a table".split(), 0, book), fits("the book is out".split(), 1, book)
    (True, False)
    """
    stop = start + len(form.words)
    before = tokens[start - 1] if start else ""
    after = tokens[stop] if stop < len(tokens) else ""
    match form.role:
        case "vb" | "vf" if after in _PRONOUNS and form.replacement.split()[-1] in _PARTICLES:
            return False  # "cancel it" is "call it off", not "call off it"
        case "vb":
            return _is_base_verb(tokens, start) and _takes_object(after)
        case "vf":
            return after not in _PARTICLES and after not in _INDIRECT
        case "n":
            is_said = before in _BEFORE_VERB or before in _LIGHT  # "keep track of", "take part"
            if form.words[0] in _VERBS_TOO and before not in _BEFORE_VERBS_TOO:
                return False
            return _ends_noun_phrase(after) and not is_said and start > 0
        case "r":
            return _ends_noun_phrase(after) and before not in _BEFORE_NOUN
        case "a":
            return after != "" or before in _BE
        case "p":
            return after != "" and after not in lists.PREPOSITIONS
        case "x":  # "no less than 5" is one phrase, "no under 5" none
            return before != "no"


def _is_base_verb(tokens: Sequence[str], start: int) -> bool:
    before = tokens[start - 1] if start else ""
    if before == "not" and tokens[max(start - 2, 0)] not in _BEFORE_NOT:
        return False
    if before in _BEFORE_VERB:
        return True
    if before in ("me", "them") and start > 1:
        return tokens[start - 2] in ("let", "help", "have", "make")
    if before == "" or before in _BEGINS_AGAIN:
        return starts_with_verb(" ".join(tokens[start : start + 3]))
    return False


def _takes_object(after: str) -> bool:
    # "give me", "turn on", "see if": these verbs cannot be exchanged by themselves.
    return not (after in _INDIRECT or after in _PARTICLES or after in lists.CLAUSES)


def _ends_noun_phrase(after: str) -> bool:
    return after == "" or after in _AFTER_NOUN or after[0].isupper() or after[0] in "\"'"


# ---------------------------------------------------------------------- what is left alone


def value_positions(
    tokens: Sequence[str], program: str, names: frozenset[str] = frozenset()
) -> frozenset[int]:
    """Return the positions of tokens that are copied to the program: never to be replaced.

    They are the words between quotes in the sentence, words that are a quoted value or an enum of
    a ThingTalk program, and all words that are leaves or quoted values of an S-expression, but for
    those right behind the nodes `names`, or the whole of a slot of TOP.

    >>> program = 'now => @c.send param:text:String = " hello there "'
    >>> sorted(value_positions("say hello there to bob".split(), program))
    [1, 2]
    >>> sorted(value_positions("wide red block".split(), "( is ( property wide ) red )"))
    [0, 1]
    >>> sorted(value_positions("call the a team".split(), "[ IN:CALL [ SL:NAME the a team ] ]"))
    [1, 2, 3]
    >>> names = frozenset({"property"})
    >>> sorted(value_positions("wide red block".split(), "( is ( property wide ) red )", names))
    [1]
    """
    positions: set[int] = set()
    quotes = [index for index, token in enumerate(tokens) if token == '"']
    for begin, end in zip(quotes[::2], quotes[1::2], strict=False):
        positions.update(range(begin, end + 1))
    for value in _values(program, names):
        first, length = value[0], len(value)
        for index, token in enumerate(tokens):
            if token == first and tuple(tokens[index : index + length]) == value:
                positions.update(range(index, index + length))
    return frozenset(positions)


@lru_cache(maxsize=4096)
def _values(program: str, names: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    words = program.split(" ")
    if words[0] == "[":
        return tuple(dict.fromkeys((*_quoted_phrases(words), *_slots(words))))
    if words[0].startswith("("):
        # What follows a bracket names a node; people do not say it as a value.
        leaves = (
            word.strip('()"').lower().split("_")
            for before, word in zip(words, words[1:], strict=False)
            if before != "(" and not word.startswith("(") and before not in names
        )
        plain = (tuple(leaf) for leaf in leaves if all(map(str.isalpha, leaf)))
        leaves_said = (leaf for leaf in plain if len("".join(leaf)) > 1)
        return tuple(dict.fromkeys((*leaves_said, *_quoted_phrases(words), *_slots(words))))
    values = dict.fromkeys(_quoted_phrases(words))
    values |= dict.fromkeys(
        tuple(word.removeprefix("enum:").split("_")) for word in words if word.startswith("enum:")
    )
    return tuple(values)


def _quoted_phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    begin = -1
    for index, word in enumerate(words):
        if word != '"':
            continue
        if 0 <= begin < index - 1:
            yield tuple(words[begin + 1 : index])
        begin = -1 if begin >= 0 else index


def _slots(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of each slot of TOP that holds nothing else."""
    begin = -1
    for index, word in enumerate(words):
        if word.startswith("SL:"):
            begin = index + 1
        elif word == "]" and 0 <= begin < index:
            yield tuple(words[begin:index])
        if word in ("[", "]", "("):
            begin = -1


def _fixed_positions(tokens: Sequence[str]) -> set[int]:
    positions: set[int] = set()
    phrases = fixed_phrases()
    for start, token in enumerate(tokens):
        for phrase in phrases.get(token, ()):
            if tuple(tokens[start : start + len(phrase)]) == phrase:
                positions.update(range(start, start + len(phrase)))
    return positions


InflectedPair = tuple[str, str, Role]


def verb_forms(verb: str, other: str) -> Iterator[InflectedPair]:
    """Yield (form of the verb, form of the other, role), the base form first.

    >>> [pair[:2] for pair in verb_forms("buy", "purchase")]
    [('buy', 'purchase'), ('buys', 'purchases'), ('buying', 'purchasing'), ('bought', 'purchased')]
    >>> [pair[0] for pair in verb_forms("compose", "write")]
    ['compose', 'composes', 'composing']
    """
    yield verb, other, "vb"
    pairs = [
        (inflect(verb), inflect(other)) for inflect in (third_person, gerund, past, past_participle)
    ]
    for form, replacement in dict.fromkeys(pairs):
        replacements = {second for first, second in pairs if first == form}
        if form != verb and len(replacements) == 1:
            yield form, replacement, "vf"


def noun_forms(noun: str, other: str) -> Iterator[InflectedPair]:
    """Yield the singular and the plural of both.

    >>> [pair[:2] for pair in noun_forms("kid", "child")]
    [('kid', 'child'), ('kids', 'children')]
    """
    yield noun, other, "n"
    if plural(noun) != noun:
        yield plural(noun), plural(other), "n"
