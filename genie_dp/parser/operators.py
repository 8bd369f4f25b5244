"""Operators of a sentence: its words that deny and compare, outside of the values of a program.

A program stands for a comparison if it compares the same value with the same sign. It stands for
anything else only if rows of its functions have it in the same place (`Evidence.denies`,
`Evidence.compares`). Otherwise the sentence is refused, however likely its program is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from genie_dp.english.forms import starts_with_verb
from genie_dp.languages.forms import MARKS, Compared, TokenForm
from genie_dp.languages.types import is_slot
from genie_dp.locale import Words
from genie_dp.skills.words import tokenize

IsListed = Callable[[str, str], bool | None]


# Signs of programs that a sign of the locale allows; its opposite, and what its negation allows.
_POINTS = {"after": (">", ">="), "before": ("<", "<=")}
_SIGNS = {sign: (sign,) for sign in (">", "<", ">=", "<=")} | _POINTS
_OTHERS = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "after": "before", "before": "after"}
_ORDER = frozenset((">", "<", ">=", "<="))
_POINTS_SAID = ("DATE_", "TIME_")
_AMOUNTS_SAID = ("NUMBER_", "MEASURE_", "CURRENCY_", "DURATION_")
_NOT = "not"  # the sign of negations
_SHOW, _REFER = "show", "refer"  # of questions, and of what is said before
_FAR = 4  # words between a negation and a comparison that it hardly denies


class Operator(NamedTuple):
    """Words of a sentence that deny or compare, from a place to another.

    Attributes:
        name: the words as the locale lists them.
        before, after: the words beside it, words of politeness aside; "" is an end.
        signs: their meaning: "not", one of `MARKS`, or signs of comparison, of which one is
            meant.
        value: the placeholder that is compared; "" if nothing is compared.
    """

    start: int
    end: int
    name: str
    before: str
    after: str
    signs: tuple[str, ...]
    value: str = ""


class _Phrase(NamedTuple):
    """A phrase with its signs; none of phrases without a meaning.

    Attributes:
        is_before, is_behind: where it stands beside the value that it compares.
    """

    words: tuple[str, ...]
    signs: tuple[str, ...]
    is_before: bool = True
    is_behind: bool = False


class _Phrases(NamedTuple):
    """Phrases of a language by their first word, the longest first."""

    by_first: Mapping[str, Sequence[_Phrase]]
    elided: tuple[str, ...]
    polite: frozenset[str]
    greetings: frozenset[str]


@lru_cache(maxsize=16)
def _phrases_of(words: Words) -> _Phrases:
    phrases: dict[tuple[str, ...], _Phrase] = {}
    for sign, pairs in words.comparisons.items():
        for phrase, phrase_sign in _said_by(sign, pairs):
            key, is_behind = tokenize(phrase.removeprefix("{}")), phrase.startswith("{}")
            previous = phrases.get(key, _Phrase(key, (), is_before=False))
            signs = tuple(dict.fromkeys((*previous.signs, phrase_sign)))
            sides = previous.is_before or not is_behind, previous.is_behind or is_behind
            phrases[key] = _Phrase(key, signs, *sides)
    others = {mark: listed.split(",") for mark, listed in words.marks.items()}
    for sign, listed in (others | {_NOT: words.negations, "": words.not_negating}).items():
        for key in map(tokenize, listed):
            phrases[key] = _Phrase(key, (sign,) if sign else ())
    by_first: dict[str, list[_Phrase]] = {}
    for key in sorted(phrases, key=len, reverse=True):
        by_first.setdefault(key[0], []).append(phrases[key])
    elided = tuple(phrase for phrase in words.negations if phrase.endswith("'"))
    greetings = {word for x in (*words.greetings, *words.hesitations) for word in tokenize(x)}
    return _Phrases(by_first, elided, _polite_words(words), frozenset(greetings))


def _said_by(sign: str, pairs: str) -> Iterator[tuple[str, str]]:
    """Yield the phrases of a line of comparisons, each with its sign.

    >>> list(_said_by(">=", "at least / at most, {} or more / {} or less"))[:3]
    [('at least', '>='), ('at most', '<='), ('{} or more', '>=')]
    """
    opposite = {">": "<", ">=": "<=", "after": "before"}[sign]
    for pair in pairs.split(","):
        first, _, second = pair.partition("/")
        yield from ((x.strip(), y) for x, y in ((first, sign), (second, opposite)) if x.strip())


@lru_cache(maxsize=64)
def referring_phrases(words: Words) -> frozenset[str]:
    """Return the phrases that refer to a thing mentioned before: "it", "that one"."""
    return frozenset(phrase.strip() for phrase in words.marks.get(_REFER, "").split(","))


def compared_words(words: Words) -> Iterator[list[str]]:
    """Yield the words in which a comparison and its opposite differ, where it is one of each.

    >>> from genie_dp.locale import words_of
    >>> next(compared_words(words_of("nl")))
    ['meer', 'minder']
    """
    for pairs in words.comparisons.values():
        for pair in pairs.split(","):
            first, _, second = (x.split() for x in pair.partition("/"))
            differing = [[x, y] for x, y in zip(first, second, strict=False) if x != y]
            if len(first) == len(second) and len(differing) == 1:
                yield differing[0]


def _polite_words(words: Words) -> frozenset[str]:
    """Return words that may stand anywhere and change nothing.

    >>> from genie_dp.locale import words_of
    >>> sorted(_polite_words(words_of("nl")) & {"alsjeblieft", "niet", "aan"})
    ['alsjeblieft']
    """
    fillers = (
        *words.greetings, *words.requests, *words.endings, *words.pleases, *words.thanks,
        *words.hesitations,
    )  # fmt: skip
    filler_words = {word for phrase in fillers for word in tokenize(phrase)}
    return frozenset(filler_words - opposites_of(words).keys() - words.prepositions - words.verbs)


@lru_cache(maxsize=16)
def opposites_of(words: Words) -> Mapping[str, frozenset[str]]:
    """Return the words of signs, each with those that mean its opposite.

    >>> from genie_dp.locale import words_of
    >>> sorted(opposites_of(words_of("de"))["aus"])
    ['an', 'ein']
    """
    opposites: dict[str, frozenset[str]] = {}
    pairs = (pair.split() for line in words.opposites.values() for pair in line.split(","))
    for pair in pairs:
        for word, opposite in (pair, pair[::-1]):
            opposites[word] = opposites.get(word, frozenset()) | {opposite}
    return opposites


def without_signs(sentence: Sequence[str], words: Words) -> Sequence[str]:
    """Return a sentence without comparisons and idioms of negation that negate nothing.

    The sign of a program expresses "more than", whatever words rows have with its functions.

    >>> from genie_dp.locale import words_of
    >>> without_signs("no problem turn it on".split(), words_of("en"))
    ['turn', 'it', 'on']
    >>> without_signs("cats older than DURATION_0".split(), words_of("en"))
    ['cats', 'DURATION_0']
    """
    phrases = _phrases_of(words)
    if phrases.by_first.keys().isdisjoint(sentence):
        return sentence
    compared = {x.start for x in operators_in(sentence, words) if x.value}
    remaining: list[str] = []
    for place, end, phrase in _phrases_in(sentence, phrases):
        if phrase is None or (phrase.signs and place not in compared):
            remaining += sentence[place:end]
    return remaining


def has_operator(word: str, words: Words) -> bool:
    """Return whether a phrase of negation or comparison may begin with a word."""
    phrases = _phrases_of(words)
    return word in phrases.by_first or word.startswith(phrases.elided)


def operators_in(sentence: Sequence[str], words: Words) -> tuple[Operator, ...]:
    """Return the operators of a sentence; idioms that deny nothing are none.

    A comparison has a value beside it, that can be greater or less: "after TIME_0", and neither
    "after i get home" nor "after MEASURE_kg_0".

    >>> from genie_dp.locale import words_of
    >>> english, french = words_of("en"), words_of("fr")
    >>> [x.name for x in operators_in("why not turn it on but not now".split(), english)]
    ['not']
    >>> [x.name for x in operators_in("n'allume jamais la lampe".split(), french)]
    ["n'", 'jamais']
    >>> [x[2:] for x in operators_in("rated over the NUMBER_0".split(), english)]
    [('over', 'rated', 'NUMBER_0', ('>',), 'NUMBER_0')]
    """
    return _operators_in(tuple(sentence), words)


@lru_cache(maxsize=64)  # the programs of a beam are asked for one sentence
def _operators_in(sentence: tuple[str, ...], words: Words) -> tuple[Operator, ...]:
    phrases = _phrases_of(words)
    operators: list[Operator] = []
    for place, end, phrase in _phrases_in(sentence, phrases):
        if phrase is None or not phrase.signs:
            continue
        signs, value = phrase.signs, ""
        if signs[0] != _NOT and signs[0] not in MARKS:
            value = _value_beside(sentence, place, end, phrase, words)
            signs = tuple(x for x in signs if (x in _POINTS) == value.startswith(_POINTS_SAID))
            if not (value and signs):
                continue
        before = [w for w in reversed(sentence[:place]) if w not in phrases.polite]
        after = [w for w in sentence[end:] if w not in phrases.polite]
        sides = (*before[:1], "")[0], (*after[:1], "")[0]
        if len(phrase.words) == 1 and phrase.words[0] != sentence[place]:  # "n'" of "n'allume"
            sides = sides[0], sentence[place].removeprefix(phrase.words[0])
        if signs[0] in MARKS and not _is_asked(sentence[:place], signs[0], words, phrases):
            continue
        operators.append(Operator(place, end, " ".join(phrase.words), *sides, signs, value))
    return tuple(operators)


def _is_asked(before: Sequence[str], mark: str, words: Words, phrases: _Phrases) -> bool:
    """Return whether a phrase with some words before it asks for a mark.

    A question begins a sentence. A reference to something before follows a verb that begins it:
    "renew it", and not "how hot is it".
    """
    if mark == _SHOW:
        return phrases.greetings.issuperset(before)
    if mark != _REFER:
        return True
    rest = [word for word in before if word not in phrases.polite]
    verb = before[-1] if before else ""
    is_verb = verb in words.verbs or verb not in words.function_words
    return bool(verb) and is_verb and rest in ([], [verb])


def is_question(sentence: Sequence[str], words: Words) -> bool:
    """Return whether a sentence begins as a question, greetings aside.

    >>> from genie_dp.locale import words_of
    >>> [is_question(text.split(), words_of("en")) for text in ("is it on", "turn it on")]
    [True, False]
    """
    return any(operator.signs == (_SHOW,) for operator in operators_in(sentence, words))


def negations_in(sentence: Sequence[str], words: Words) -> list[Operator]:
    """Return the negations of a sentence, save those of a comparison: "no more than NUMBER_0"."""
    operators = operators_in(sentence, words)
    compared = {operator.start for operator in operators if operator.value}
    return [x for x in operators if x.signs == (_NOT,) and x.end not in compared]


def _value_beside(
    sentence: Sequence[str], start: int, end: int, phrase: _Phrase, words: Words
) -> str:
    """Return the placeholder of the value that a phrase compares, or "".

    Between two values it may be the link of a range: "von TIME_0 bis TIME_1".
    """
    if start and sentence[start] in words.range_links and is_slot(sentence[start - 1]):
        return ""
    after = end + (end < len(sentence) and sentence[end] in words.articles)
    places = [after] if phrase.is_before and after < len(sentence) else []
    if phrase.is_behind:  # "NUMBER_0 pages or more"
        places += [place for place in (start - 1, start - 2) if place >= 0]
    beside = (sentence[place] for place in places)
    is_value = (*_AMOUNTS_SAID, *_POINTS_SAID)
    return next((x for x in beside if x.startswith(is_value) and is_slot(x)), "")


def _phrases_in(
    sentence: Sequence[str], phrases: _Phrases
) -> Iterator[tuple[int, int, _Phrase | None]]:
    """Yield place and end of the longest phrases; None for other words."""
    place = 0
    while place < len(sentence):
        word = sentence[place]
        candidates = phrases.by_first.get(word, ())
        if phrases.elided and word.startswith(phrases.elided):
            elided = (x for x in phrases.elided if word.startswith(x))
            candidates = (*candidates, *(_Phrase((x,), (_NOT,)) for x in elided))
        phrase = None
        if candidates:
            phrase = next((x for x in candidates if _stands_at(sentence, place, x, phrases)), None)
        end = place + (len(phrase.words) if phrase else 1)
        yield place, end, phrase
        place = end


def _stands_at(sentence: Sequence[str], place: int, phrase: _Phrase, phrases: _Phrases) -> bool:
    """Return whether a phrase stands at a place: "or longer" is not in "or longer than"."""
    size = len(phrase.words)
    if size > 1 and tuple(sentence[place : place + size]) != phrase.words:
        return False
    last = place + size - 1
    others = phrases.by_first.get(sentence[last], ()) if phrase.is_behind else ()
    return not any(len(x.words) > 1 and _stands_at(sentence, last, x, phrases) for x in others)


class Operators(NamedTuple):
    """The operators of a program.

    Attributes:
        compared: `TokenForm.compared`; None if its language does not have them.
        marks: `TokenForm.marks`.
        texts: the words of its texts.
        names: those of them that are in names of entities.
    """

    compared: Mapping[str, Sequence[Compared]] | None
    marks: Collection[str]
    texts: frozenset[str]
    names: frozenset[str]

    @classmethod
    def from_form(cls, form: TokenForm) -> "Operators":
        """Return those of a program in token form."""
        texts: dict[bool, set[str]] = {False: set(), True: set()}
        for kind, text_words in _texts_in(form) if '"' in form.text else ():
            texts[kind != ""].update(text_words)
        return cls(
            form.compared,
            form.marks,
            frozenset(texts[False] | texts[True]),
            frozenset(texts[True]),
        )


def open_operators(
    sentence: Sequence[str], own: Operators, words: Words
) -> Iterator[tuple[Operator, str]]:
    """Yield the comparisons and marks of a sentence that a program, of these operators, has not.

    A comparison comes with the part of the program that has its value; "" if there is none. In a
    text it is the text's; a name such as "bob after TIME_0" hardly has it.
    """
    operators = operators_in(sentence, words)
    denied = [operator.end for operator in operators if operator.signs == (_NOT,)]
    for operator in operators:
        if operator.value and own.compared is not None:
            parts = own.compared.get(operator.value, ())
            is_in_text = not parts and operator.value in own.texts - own.names
            signs = _signs_meant(operator, denied)
            if not is_in_text and not any(_compares(parts, _SIGNS[sign]) for sign in signs):
                yield operator, "|".join(x.part for x in parts)
        elif operator.signs[0] in MARKS.keys() - own.marks and not own.texts.issuperset(
            sentence[operator.start : operator.end]
        ):
            yield operator, ""


def _signs_meant(operator: Operator, denied: Sequence[int]) -> tuple[str, ...]:
    """Return the signs that a comparison may express behind negations that end at some places.

    That is the opposite of "no more than", and either of "do not have more than": in "without
    tolls is over" the negation is of something else.
    """
    away = min((operator.start - x for x in denied if x <= operator.start), default=_FAR)
    if away >= _FAR:
        return operator.signs
    others = tuple(map(_OTHERS.__getitem__, operator.signs))
    return (*operator.signs, *others) if away else others


def _compares(parts: Sequence[Compared], signs: Sequence[str]) -> bool:
    """Return whether parts compare a value with one of some signs, and with no opposite one."""
    order_signs = {x.sign for x in parts}.intersection(_ORDER)
    return bool(order_signs) and (
        order_signs <= {*signs} or any(x.is_shifted for x in parts if x.sign in _ORDER)
    )


def open_negations(
    sentence: Sequence[str],
    form: TokenForm,
    words: Words,
    is_listed: IsListed,
) -> list[Operator]:
    """Return the negations of a sentence that stand in no text or name of a program.

    A text that begins or ends with one may have taken it from the command: "spiele yesterday
    nicht". It is a text if the locale lists the word among `name_starts`, or behind the noun for
    its kind: "play the song no woman no cry".

    Args:
        is_listed: whether a kind of entity, "" of texts, has a name; None if it has no list.
    """
    negations = negations_in(sentence, words)
    if not negations:
        return []
    inside: set[int] = set()
    for kind, text in _texts_in(form):
        start, listed = _find(sentence, text), is_listed(kind, " ".join(text))
        if start is None or listed is False:  # it may be taken for another name
            continue
        places = range(start, start + len(text))
        inside.update(places if listed else _inside(sentence, places, negations, words))
    return [negation for negation in negations if negation.start not in inside]


def _texts_in(form: TokenForm) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words of each text of a token form, with the kind of entity that it names or ""."""
    for literal in form.literals:
        tokens = form.tokens[literal.start : literal.end]
        if '"' in tokens:
            start = tokens.index('"') + 1
            kind = tokens[-1].removeprefix("^^") if tokens[-1].startswith("^^") else ""
            yield kind, tuple(takewhile(lambda token: token != '"', tokens[start:]))


def _find(sentence: Sequence[str], text: Sequence[str]) -> int | None:
    """Return the last place where a text stands."""
    for start in range(len(sentence) - len(text), -1, -1):
        if tuple(sentence[start : start + len(text)]) == tuple(text):
            return start
    return None


def _inside(
    sentence: Sequence[str], places: range, found: Sequence[Operator], words: Words
) -> Iterator[int]:
    """Yield the places of negations that belong to a text at some places."""
    start, end = places.start, places.stop
    may_begin = sentence[start] in words.name_starts or _is_noun(sentence[:start], words)
    for negation in found:
        is_behind = negation.start > start or (negation.start == start and may_begin)
        if is_behind and negation.end < end:
            yield negation.start


def takes_negation(sentence: Sequence[str], places: range, words: Words) -> bool:
    """Return whether a text at some places of a sentence has a negation that may be the command's.

    >>> from genie_dp.locale import words_of
    >>> takes_negation("play no music".split(), range(1, 3), words_of("en"))
    True
    """
    negations = negations_in(sentence, words)
    inside = {*_inside(sentence, places, negations, words)}
    return any(x.start in places and x.start not in inside for x in negations)


def _is_noun(before: Sequence[str], words: Words) -> bool:
    """Return whether a text follows a noun for its kind, such as "song"."""
    if len(before) < 2 or is_slot(before[-1]) or before[-1] in words.function_words:
        return False
    if words.has_grammar:
        return not starts_with_verb(f"please {before[-1]}")
    return before[-1] not in words.verbs
