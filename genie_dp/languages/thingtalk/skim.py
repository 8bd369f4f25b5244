"""What a program in token form tells without being parsed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from genie_dp.languages.base import Compared, Literal
from genie_dp.languages.text import outside_texts, without_text
from genie_dp.languages.thingtalk.ast import (
    COMPUTATIONS,
    COMPUTED,
    EDGES,
    SOFT_OPERATORS,
    CurrencyValue,
    DateValue,
    EnumValue,
    LocationValue,
    NumberValue,
    TimeValue,
)
from genie_dp.languages.thingtalk.from_tokens import single_token
from genie_dp.languages.thingtalk.tokens import escape_word
from genie_dp.languages.types import is_slot
from genie_dp.languages.units import SHIPPED

_FUNCTION = re.compile(r"(?<!\S)@[\w.*-]+")
_NAME = re.compile(r"@[\w.-]+\.\w+")
_ENUM = re.compile(r"\benum:\S+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COMPACT = ("currency:", "date:", "time:", "location:")
_FIRST = frozenset(('"', "-", *(word[0] for word in _COMPACT)))  # of constants, beside digits

TRAITS = frozenset(
    ("filters", "parameter passing", "timers", "monitors", "aggregation", "policies")
)


def functions_in(text: str) -> tuple[str, ...]:
    """Return the functions of a program, in program order.

    >>> functions_in("monitor ( @a.b ) => @c.d on param:x:String = param:y:String")
    ('@a.b', '@c.d')
    """
    return tuple(_FUNCTION.findall(without_text(text)))


def values_in(program: Sequence[str]) -> Sequence[str]:
    """Return the tokens of a program that a sentence may have as they are: all but its `not`.

    >>> values_in('filter not param:text:String == " do not " '.split())
    ['filter', 'param:text:String', '==', '"', 'do', 'not', '"']
    """
    if "not" not in program:
        return program
    operators = {place for place, token in outside_texts(program) if token == "not"}
    return [token for place, token in enumerate(program) if place not in operators]


_OPERATORS = frozenset(
    ("monitor", "edge", "timer", "attimer", "join", "new", "not", "or", "source", "select", "desc",
     "asc")
)  # fmt: skip
_SIGNS = frozenset((">", "<", ">=", "<=", "==", "="))


def parts_in(program: Sequence[str]) -> frozenset[str]:
    """Return inputs, conditions, what is passed and operators of a program.

    Values that are copied from the sentence are left out.

    >>> sorted(parts_in("( @a.b param:x:T = enum:on ) filter param:n:Number > 3".split(" ")))
    ['n >', 'x enum:on']
    """
    parts = []
    for token, second, third in zip(
        program, (*program[1:], ""), (*program[2:], "", ""), strict=False
    ):
        if token.startswith("param:"):
            name = token.split(":", 2)[1]
            if third in ("true", "false") or third.startswith("enum:"):
                parts.append(f"{name} {third}")
            elif third.startswith("param:"):
                parts.append(f"{name} from {third.split(':', 2)[1]}")
            else:
                parts.append(f"{name} {second}")
        elif token == "aggregate":
            parts.append(f"aggregate {second}")
        elif second == "(" and token in COMPUTED:
            parts.append(f"{token} of")
        elif token == ")" and second == "[":
            parts.append("index")
        elif token in _OPERATORS:
            parts.append(token)
    return frozenset(parts)


def fixed_in(program: Sequence[str]) -> frozenset[str]:
    """Return the constants of a program that are no texts and no placeholders.

    >>> sorted(fixed_in("param:d:Date >= start_of unit:day - 1 unit:day and param:n:T > 3".split()))
    ['1 unit:day', '3', 'start_of unit:day - 1 unit:day']
    """
    fixed, end = set[str](), 0
    for start, token in enumerate(program):
        if start >= end and token in EDGES:
            end = start + 2
            while end + 1 < len(program) and program[end] in ("+", "-"):
                end, _ = _end(program, end + 1)
            fixed.add(" ".join(program[start:end]))
    constants = (literal.constant for literal in literals(program) if not literal.is_text)
    return frozenset(fixed.union(constants))


def compared_in(program: Sequence[str]) -> Mapping[str, Sequence[Compared]]:
    """Return the parameters and signs beside each placeholder that is in no text.

    >>> found = compared_in("param:n:Number >= NUMBER_0 and param:d:Date < now - DATE_0".split())
    >>> found["NUMBER_0"], found["DATE_0"][0].is_shifted
    ([Compared(part='n >=', sign='>=', is_shifted=False)], True)
    """
    compared: dict[str, list[Compared]] = {}
    name, sign = "", ""
    for place, token in outside_texts(program):
        if token.startswith("param:"):
            name = token.split(":", 2)[1]
        elif token in _SIGNS:
            sign = token
        elif token[:1].isupper() and is_slot(token):
            before = program[place - 1] if place else ""
            is_shifted = before in ("+", "-")
            own = sign if is_shifted else before
            compared.setdefault(token, []).append(Compared(f"{name} {own}", own, is_shifted))
    return compared


def marks_in(program: Sequence[str]) -> frozenset[str]:
    """Return which of `languages.base.MARKS` a program has.

    >>> sorted(marks_in("monitor ( @a.b ) => @c.d param:x:T = param:y:T".split()))
    ['refer', 'repeat']
    """
    parts = parts_in(program)
    is_shown, is_monitor = "notify" in program, not parts.isdisjoint(("monitor", "edge"))
    marks = {
        "show": is_shown,
        "alert": is_shown and is_monitor,
        "repeat": is_monitor or not parts.isdisjoint(("timer", "attimer")),
        "count": not parts.isdisjoint(("aggregate count", "aggregate sum", "count of", "select")),
        "rank": not parts.isdisjoint(("index", "aggregate max", "aggregate min")),
        "refer": is_shown
        or '"' in program
        or any(" from " in part for part in parts)
        or any(map(is_slot, program)),
    }
    return frozenset(mark for mark, has_it in marks.items() if has_it)


def is_function_name(text: str) -> bool:
    """Tell whether a text names a function.

    >>> is_function_name("@com.gmail.inbox"), is_function_name("inbox")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None


def traits_in(text: str) -> frozenset[str]:
    """Return the traits of a program.

    >>> sorted(traits_in("monitor ( ( @a.b ) filter param:n:Number > 3 ) => notify"))
    ['filters', 'monitors']
    """
    plain = without_text(text)
    traits = []
    if " filter " in plain or "edge (" in plain:  # the condition of an edge filters its stream
        traits.append("filters")
    if " = param:" in plain or " = event" in plain:
        traits.append("parameter passing")
    # The first look is fast; names of functions and parameters may end so, too.
    if "timer " in plain and not {"timer", "attimer"}.isdisjoint(plain.split(" ")):
        traits.append("timers")
    if "monitor (" in plain:
        traits.append("monitors")
    if "aggregate " in plain:
        traits.append("aggregation")
    if plain.startswith("policy "):
        traits.append("policies")
    return frozenset(traits)


def copied_part(text: str) -> str:
    """Return a program without what is never copied from a sentence, "" where nothing is left.

    The words of an enum are said in many ways.
    """
    return _ENUM.sub("", text) if '"' in text else ""


def literals(program: Sequence[str]) -> Iterator[Literal]:
    """Yield the constants of a program, in its order.

    >>> program = '@c.f param:a:T > 5 unit:km and param:b:S == " x y "'
    >>> [constant[:2] for constant in literals(program.split(" "))]
    [(3, 5), (8, 12)]
    >>> list(literals('source == null " bob " ^^tt:contact'.split(" ")))
    []
    """
    i = 0
    while i < len(program):
        first = program[i][:1]
        if first not in _FIRST and not first.isdecimal():  # as of most tokens
            i += 1
            continue
        end, is_text = _end(program, i)
        # `null " bob " ^^tt:contact` is still to be looked up: no placeholder stands for that.
        if end > i and program[i - 1 : i] != ["null"]:
            yield Literal(i, end, " ".join(program[i:end]), is_text)
        i = max(end, i + 1)


def _end(program: Sequence[str], at: int) -> tuple[int, bool]:
    """Return the place after the constant that begins at a token, and whether it is a text."""
    token = program[at]
    if token == '"':
        end = at + 1
        while end < len(program) and program[end] != '"':
            end += 1
        end += 1
        if end < len(program) and program[end].startswith(("^^", "at:")):
            is_place = program[end].startswith("at:")
            end += 1
            if end < len(program) and program[end].startswith("id:"):
                end += 1
            return end, not is_place
        return end, True
    if token.startswith(_COMPACT):
        return at + 1, False
    if not _NUMBER.fullmatch(token):
        return at, False
    end = at + 1
    while end < len(program) and program[end].startswith("unit:"):
        end += 1
        if end + 1 < len(program) and program[end + 1].startswith("unit:"):
            end += _NUMBER.fullmatch(program[end]) is not None
    return end, False


# What a text is called in an outline: these sort as they are numbered.
_NAMES = tuple(f"text{number}" for number in range(10))
_PLACEHOLDER = re.compile(r"_\d+(?!\S)")


def outline(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a program with names for its texts, and the texts.

    Names are given in the order of the texts, and equal texts have one. So programs of one outline
    are well-typed together, and their canonical forms have one outline, too. Where these may depend
    on more of a text, it is left as it is: beside an identifier, with an escape or a placeholder in
    it, and in aggregations, which are sorted by all that they say.

    >>> outline('now => @c.f param:a:String = " x y " param:b:String = " hi " => notify')
    ('now => @c.f param:a:String = " text1 " param:b:String = " text0 " => notify', ('hi', 'x y'))
    """
    if '"' not in text:
        return text, ()
    parts = f"{text} ".split(' " ')
    quoted = parts[1::2]
    # As texts with their closing quotes are sorted.
    texts = sorted(set(quoted), key='{} "'.format) if len(quoted) > 1 else quoted
    is_plain = (
        len(parts) % 2 == 1
        and len(texts) <= len(_NAMES)
        and text.count('"') == len(parts) - 1
        and " ".join(text.split()) == text
        and "\\" not in text
        and " id:" not in text
        and not (len(texts) > 1 and "aggregate " in text)
        and not any(map(_PLACEHOLDER.search, texts))
    )
    if not is_plain:
        return text, ()
    if len(texts) == 1:
        parts[1::2] = [_NAMES[0]] * len(quoted)
    else:
        names = dict(zip(texts, _NAMES, strict=False))
        parts[1::2] = [names[text] for text in quoted]
    return ' " '.join(parts)[:-1], tuple(texts)


def fill_outline(text: str, texts: Sequence[str]) -> str:
    """Return the program of an outline.

    >>> fill_outline('now => @c.g param:b:String = " text0 "', ("hi", "x y"))
    'now => @c.g param:b:String = " hi "'
    """
    if not texts:
        return text
    parts = f"{text} ".split(' " ')
    parts[1::2] = [texts[_NAMES.index(name)] for name in parts[1::2]]
    return ' " '.join(parts)[:-1]


# ------------------------------------------------------- constants that no sentence has

_KEYS: dict[type, str] = {
    NumberValue: "number",
    CurrencyValue: "currency",
    DateValue: "date",
    TimeValue: "time",
    LocationValue: "location",
    EnumValue: "enum",
}


CONSTRUCT = "construct:"
_MARKS = ("id:", "^^", "unit:", CONSTRUCT)


@lru_cache(maxsize=1 << 14)
def constant_kind(text: str) -> str | None:
    """Return what a constant of one token is, or None where it is free text."""
    if " " in text:
        return None
    if text.startswith("at:"):
        return "at:" if single_token(f"location:{text[3:]}") is not None else None
    if text.startswith(_MARKS):
        return next(mark for mark in _MARKS if text.startswith(mark))
    return _KEYS.get(type(single_token(text)))


def constants_of(utterance: str, tokens: str) -> list[str]:
    """Return the constants of a program that cannot be copied from its sentence.

    What it has of the extension for questions comes last, such as `construct:sort`.

    >>> constants_of("the news of today", 'now => ( @a.b ) filter param:x:Date > date:2026-11-20 '
    ...     'and param:y:String == " news " and param:z:String == " sport " => notify')
    ['date:2026-11-20', '" sport "']
    """
    words = utterance.split()
    has_escapes = '"' in utterance or "\\" in utterance
    copied = f" {' '.join(map(escape_word, words) if has_escapes else words)} "
    constants: list[str] = []
    rest = iter(tokens.split(" "))
    for token in rest:
        if token == '"':
            text = " ".join(iter(lambda: next(rest), '"'))
            if f" {text} " not in copied:
                constants.append(f'" {text} "')
        elif constant_kind(token) is not None and token not in words and not _is_classic(token):
            constants.append(token)
    if not _BEGINNINGS.isdisjoint(tokens.split(" ")):
        constants += sorted(CONSTRUCT + name for name in set(_constructs_of(tokens)))
    return constants


_BEGINNINGS = frozenset(("select", "sort", "[", *SOFT_OPERATORS, *COMPUTATIONS))


def _constructs_of(tokens: str) -> Iterator[str]:
    """Yield what a program has of the extension for questions."""
    last, depth = "", 0  # brackets inside of a computed value
    for _, token in outside_texts(tokens.split(" ")):
        if token == "(" and last in COMPUTED:
            yield f"{last}("
            depth += 1
        elif depth and token in ("(", ")"):
            depth += 1 if token == "(" else -1
        elif _begins(token, last, depth):
            yield token
        last = token


def _begins(token: str, last: str, depth: int) -> bool:
    if token == "filter":
        return depth > 0
    return token in SOFT_OPERATORS or (last == ")" and token in ("select", "sort", "["))


def _is_classic(token: str) -> bool:
    """Tell whether a token is a unit that is in every grammar."""
    unit = SHIPPED.by_name.get(token.removeprefix("unit:"))
    return token.startswith("unit:") and unit is not None and unit.is_classic
