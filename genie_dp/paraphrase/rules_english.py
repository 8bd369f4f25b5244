"""What rules ask of words, and how they change them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from genie_dp.paraphrase.lexical_forms import past
from genie_dp.paraphrase.rules_syntax import Condition
from genie_dp.templates import english
from genie_dp.templates import english_words as lists

# ------------------------------------------------------------------- parts of an expression

WORD = "[^ ,][^ ]* "
ANYTHING = "[^ ]+ "
# Placeholders, numbers, and the private characters that stand for values while a row is rewritten.
VALUE = r"(?:[A-Z][^ ]*_\d+|[$€£]?\d[^ ]*|[\ue000-\uf8ff]) "
NUMBER = r"(?:(?:NUMBER|CURRENCY|MEASURE|DURATION)[^ ]*_\d+|[$€£]?\d[^ ]*) (?:percent )?"
_VALUE = re.compile(VALUE)
DATE = (
    r"(?:(?:DATE|TIME)_\d+|today|tomorrow|yesterday|noon|midnight"
    r"|(?:this|last|next) (?:week|month|year)|[\ue000-\uf8ff]) "
)
TEXT = r"(?:QUOTED_STRING_\d+|[\ue000-\uf8ff]) "


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What begins another clause, or says when: never inside of a noun phrase.
_CLAUSE = _words(
    """when whenever if once every then until while please daily weekly hourly monthly soon unless
    because there let"""
)
_NO_FIRST = (
    (frozenset(lists.PREPOSITIONS) - {"past", "near"})
    | lists.RELATIVES
    | lists.AUXILIARIES
    | _words("i you he she it we they me us him them to and or not how what why up down")
    | _words("something anything everything someone anyone everyone")
)
# They end in -s like plurals: "mark the house songs as liked", "if my way gets longer than ..".
_NO_NOUN = _NO_FIRST | _words(
    """as is was has does us this his ours yours always perhaps afterwards gets takes goes comes
    becomes grows lasts seems"""
)
# Where a phrase ends though the sentence goes on.
PHRASE_END = (
    "(?=$|, |when |whenever |if |once |every |each time |each day|any time |as soon |and then "
    "|then |please |(?:daily|weekly|hourly) (?!basis )|on an? (?:daily|weekly|hourly) basis )"
)
COMMAND_START = "(?:^|(?<=, )|(?<= then )|(?<=^please ))"

# ------------------------------------------------------------------------------ conditions


def holds(condition: Condition, words: str) -> bool:
    """Tell whether the words of a variable are as the condition asks.

    >>> holds(Condition("pl"), "my files"), holds(Condition("has", ("and",)), "a and b")
    (True, True)
    """
    found = _TESTS[condition.name](words, condition.words)
    return found is not condition.negated


# Owners and clauses need a closer look; of all others the first word tells.
_ARTICLES = frozenset(lists.ARTICLES)
_FIXED = lists.FIXED_DETERMINERS


def _determiner(words: str) -> bool:
    first, _, rest = words.partition(" ")
    if first in _ARTICLES and "'" not in rest:
        return rest != "" and first in ("the", "my")
    if first in _FIXED:
        return True
    sort, _ = english.split_determiner(words)
    return sort in ("the", "my") or (sort == "fixed" and not english.is_clause(words))


def _is_bare(words: str) -> bool:
    first, _, rest = words.partition(" ")
    if first in _ARTICLES and rest:
        return False
    return english.split_determiner(words)[0] == "none"


def _number(words: str) -> str:
    """Return the number of a noun phrase; what follows its first preposition does not count."""
    tokens = words.split(" ")
    if len(tokens) == 1 and words in _NO_NOUN:
        return "none"
    head = words.partition(" of ")[0]
    if head.endswith(" times") and not head.endswith(("the times", "york times")):  # a paper
        return "pl"
    for at, token in enumerate(tokens):
        if at and token in _ENDS_HEAD:
            return english.number_of(" ".join(tokens[:at]))
    return english.number_of(words)


_ENDS_HEAD = (lists.PREPOSITIONS - {"of"}) | lists.RELATIVES


@lru_cache(maxsize=65536)
def _is_single(words: str) -> bool:
    """Tell whether a phrase surely takes "is": nothing in front of its first preposition is plural.

    Where a verb form that no list has ends the noun ("the speakers connected to cable"), the
    number of the phrase is a guess.
    """
    if _number(words) == "pl":
        return False
    for word in words.split(" "):
        if word in lists.PREPOSITIONS or word in lists.RELATIVES:
            return True
        if word not in _NO_FIRST and _number(word) == "pl":
            return False
    return True


def _is_command(words: str) -> bool:
    return begins_command(" ".join(words.split(" ", 3)[:3]))


@lru_cache(maxsize=65536)
def begins_command(words: str) -> bool:
    """Tell whether a command begins with these two or three words, and no question.

    >>> begins_command("turn on the"), begins_command("do i have"), begins_command("the lights")
    (True, False, False)
    >>> begins_command("do any of"), begins_command("do the dishes")
    (False, True)
    """
    first, second, third, *_ = (*words.split(" "), "", "")
    is_question = first in lists.AUXILIARIES and (
        second in lists.SUBJECTS or second in ("any", "some", "all", "most") and third == "of"
    )
    return not is_question and english.starts_with_verb(words)


def _is_noun_phrase(words: str) -> bool:
    tokens = words.split(" ")
    return (
        tokens[0] not in _NO_FIRST
        and _CLAUSE.isdisjoint(tokens)
        and "each time" not in words
        and not _is_command(words)
        and not any(_joins_command(tokens, at) for at, word in enumerate(tokens) if word == "and")
    )


def _joins_command(tokens: Sequence[str], at: int) -> bool:
    return begins_command(" ".join(tokens[at + 1 : at + 4]))


_TESTS: Mapping[str, Callable[[str, tuple[str, ...]], bool]] = {
    "vp": lambda words, _: _is_command(words),
    "np": lambda words, _: _is_noun_phrase(words),
    "det": lambda words, _: _determiner(words),
    "bare": lambda words, _: _is_bare(words),
    "sg": lambda words, _: _number(words) == "sg",
    "pl": lambda words, _: _number(words) == "pl",
    "single": lambda words, _: _is_single(words),
    "mass": lambda words, _: _number(words) == "mass",
    "plain": lambda words, _: _VALUE.match(f"{words} ") is None,
    "has": lambda words, sought: any(f" {word} " in f" {words} " for word in sought),
    "starts": lambda words, sought: f"{words} ".startswith(tuple(f"{word} " for word in sought)),
    "ends": lambda words, sought: f" {words}".endswith(tuple(f" {word}" for word in sought)),
}
# These are part of the expression, and hold where it matches.
IN_EXPRESSION = frozenset(("any", "one", "value", "number", "date", "text"))

# ------------------------------------------------------------------------------- functions


def changed(words: str, functions: tuple[str, ...], maps: Mapping[str, Mapping[str, str]]) -> str:
    """Return words after functions and maps, from left to right.

    >>> changed("turn on the light", ("gerund",), {})
    'turning on the light'
    """
    for name in functions:
        words = maps[name].get(words, words) if name in maps else _FUNCTIONS[name](words)
    return words


def _bare(words: str) -> str:
    return english.split_determiner(words)[1]


_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "gerund": english.gerund,
    "third": english.third_person,
    "past": past,
    "participle": english.past_participle,
    "plural": english.plural,
    "singular": english.singular,
    "possessive": english.possessive,
    "bare": _bare,
}


def agreeing(forms: tuple[str, ...], words: str) -> str:
    """Return the form that agrees in number: {is/are:x}; mass nouns take a third, or the first.

    >>> agreeing(("is", "are"), "my files"), agreeing(("is", "are"), "the weather")
    ('are', 'is')
    """
    match _number(words):
        case "pl":
            return forms[1]
        case "mass":
            return forms[-1] if len(forms) > 2 else forms[0]
        case _:
            return forms[0]


_ARTICLE = re.compile(r"(?<![^ ])(an?) ([^ ]+)")


def with_articles(text: str, before: str) -> str:
    """Return the text with "a" and "an" right where they stand before other words than before.

    >>> with_articles("send a email with an attachment", "an attachment")
    'send an email with an attachment'
    """
    if " a " not in f" {text}" and " an " not in f" {text}":
        return text

    def mended(match: re.Match[str]) -> str:
        if f" {match[0]} " in f" {before} ":
            return match[0]
        return f"{english.article(match[2])} {match[2]}"

    return _ARTICLE.sub(mended, text)
