"""Programs of ThingTalk in token form, unparsed, and the constants that no sentence has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from genie_dp.languages.forms import Compared, Literal, TokenForm
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


_OPERATORS = frozenset(
    ("monitor", "edge", "timer", "attimer", "join", "new", "not", "or", "source", "select", "desc",
     "asc")
)  # fmt: skip
_SIGNS = frozenset((">", "<", ">=", "<=", "==", "="))
# What a text is called in an outline: these sort as they are numbered.
_NAMES = tuple(f"text{number}" for number in range(10))
_PLACEHOLDER = re.compile(r"_\d+(?!\S)")


class ThingTalkForm(TokenForm):
    """A program of ThingTalk in token form."""

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The functions in program order.

        >>> form = ThingTalkForm("monitor ( @a.b ) => @c.d on param:x:String = param:y:String")
        >>> form.functions
        ('@a.b', '@c.d')
        """
        return tuple(_FUNCTION.findall(without_text(self.text)))

    @cached_property
    def values(self) -> Sequence[str]:
        """All tokens but the `not` of conditions.

        >>> ThingTalkForm('filter not param:text:String == " do not "').values
        ['filter', 'param:text:String', '==', '"', 'do', 'not', '"']
        """
        if "not" not in self.tokens:
            return self.tokens
        operators = {place for place, token in outside_texts(self.tokens) if token == "not"}
        return [token for place, token in enumerate(self.tokens) if place not in operators]

    @cached_property
    def parts(self) -> frozenset[str]:
        """Inputs, conditions, passed values and operators.

        >>> form = ThingTalkForm("( @a.b param:x:T = enum:on ) filter param:n:Number > 3")
        >>> sorted(form.parts)
        ['n >', 'x enum:on']
        """
        parts = []
        for token, second, third in zip(
            self.tokens, (*self.tokens[1:], ""), (*self.tokens[2:], "", ""), strict=False
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

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The constants that are no texts and no placeholders.

        >>> text = "param:d:Date >= start_of unit:day - 1 unit:day and param:n:T > 3"
        >>> sorted(ThingTalkForm(text).fixed)
        ['1 unit:day', '3', 'start_of unit:day - 1 unit:day']
        """
        fixed, end, tokens = set[str](), 0, self.tokens
        for start, token in enumerate(tokens):
            if start >= end and token in EDGES:
                end = start + 2
                while end + 1 < len(tokens) and tokens[end] in ("+", "-"):
                    end, _ = _end(tokens, end + 1)
                fixed.add(" ".join(tokens[start:end]))
        constants = (literal.constant for literal in self.literals if not literal.is_text)
        return frozenset(fixed.union(constants))

    @cached_property
    def compared(self) -> Mapping[str, Sequence[Compared]]:
        """The parameters and signs beside each placeholder that is in no text.

        >>> form = ThingTalkForm("param:n:Number >= NUMBER_0 and param:d:Date < now - DATE_0")
        >>> form.compared["NUMBER_0"], form.compared["DATE_0"][0].is_shifted
        ([Compared(part='n >=', sign='>=', is_shifted=False)], True)
        """
        compared: dict[str, list[Compared]] = {}
        name, sign = "", ""
        for place, token in outside_texts(self.tokens):
            if token.startswith("param:"):
                name = token.split(":", 2)[1]
            elif token in _SIGNS:
                sign = token
            elif token[:1].isupper() and is_slot(token):
                before = self.tokens[place - 1] if place else ""
                is_shifted = before in ("+", "-")
                own = sign if is_shifted else before
                compared.setdefault(token, []).append(Compared(f"{name} {own}", own, is_shifted))
        return compared

    @cached_property
    def marks(self) -> frozenset[str]:
        """Those of `languages.forms.MARKS` that the program has.

        >>> sorted(ThingTalkForm("monitor ( @a.b ) => @c.d param:x:T = param:y:T").marks)
        ['refer', 'repeat']
        """
        tokens, parts = self.tokens, self.parts
        is_shown, is_monitor = "notify" in tokens, not parts.isdisjoint(("monitor", "edge"))
        counts = ("aggregate count", "aggregate sum", "count of", "select")
        marks = {
            "show": is_shown,
            "alert": is_shown and is_monitor,
            "repeat": is_monitor or not parts.isdisjoint(("timer", "attimer")),
            "count": not parts.isdisjoint(counts),
            "rank": not parts.isdisjoint(("index", "aggregate max", "aggregate min")),
            "refer": is_shown
            or '"' in tokens
            or any(" from " in part for part in parts)
            or any(map(is_slot, tokens)),
        }
        return frozenset(mark for mark, has_it in marks.items() if has_it)

    @cached_property
    def traits(self) -> frozenset[str]:
        """Those of `TRAITS` that the program has.

        >>> form = ThingTalkForm("monitor ( ( @a.b ) filter param:n:Number > 3 ) => notify")
        >>> sorted(form.traits)
        ['filters', 'monitors']
        """
        plain = without_text(self.text)
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

    @cached_property
    def copied(self) -> str:
        """The text without enums, which have many phrases; "" without a text."""
        return _ENUM.sub("", self.text) if '"' in self.text else ""

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The constants in program order.

        >>> form = ThingTalkForm('@c.f param:a:T > 5 unit:km and param:b:S == " x y "')
        >>> [constant[:2] for constant in form.literals]
        [(3, 5), (8, 12)]
        >>> ThingTalkForm('source == null " bob " ^^tt:contact').literals
        ()
        """
        found, tokens, i = list[Literal](), self.tokens, 0
        while i < len(tokens):
            first = tokens[i][:1]
            if first not in _FIRST and not first.isdecimal():  # as of most tokens
                i += 1
                continue
            end, is_text = _end(tokens, i)
            # `null " bob " ^^tt:contact` is still to be looked up: no placeholder stands for that.
            if end > i and tokens[i - 1 : i] != ("null",):
                found.append(Literal(i, end, " ".join(tokens[i:end]), is_text))
            i = max(end, i + 1)
        return tuple(found)

    @cached_property
    def outline(self) -> tuple[str, tuple[str, ...]]:
        """The text with names in place of its texts, and these texts.

        Names are given in the order of the texts, and equal texts have one. So programs of one
        outline are well-typed together, and their canonical forms have one outline, too. Where
        these may depend on more of a text, it is left as it is: beside an identifier, with an
        escape or a placeholder in it, and in aggregations, which are sorted by all of their tokens.

        >>> text = 'now => @c.f param:a:String = " x y " param:b:String = " hi " => notify'
        >>> outline, texts = ThingTalkForm(text).outline
        >>> outline
        'now => @c.f param:a:String = " text1 " param:b:String = " text0 " => notify'
        >>> texts
        ('hi', 'x y')
        """
        text = self.text
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

    def with_texts(self, texts: Sequence[str]) -> "ThingTalkForm":
        """Return the program of this outline with its texts.

        >>> outline = ThingTalkForm('now => @c.g param:b:String = " text0 "')
        >>> outline.with_texts(("hi", "x y")).text
        'now => @c.g param:b:String = " hi "'
        """
        if not texts:
            return self
        parts = f"{self.text} ".split(' " ')
        parts[1::2] = [texts[_NAMES.index(name)] for name in parts[1::2]]
        return ThingTalkForm(' " '.join(parts)[:-1])


def is_function_name(text: str) -> bool:
    """Return whether a text names a function.

    >>> is_function_name("@com.gmail.inbox"), is_function_name("inbox")
    (True, False)
    """
    return _NAME.fullmatch(text) is not None


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
    """Return the kind of a constant of one token, or None where it is free text."""
    if " " in text:
        return None
    if text.startswith("at:"):
        return "at:" if single_token(f"location:{text[3:]}") is not None else None
    if text.startswith(_MARKS):
        return next(mark for mark in _MARKS if text.startswith(mark))
    return _KEYS.get(type(single_token(text)))


def constants_of(utterance: str, tokens: str) -> list[str]:
    """Return the constants of a program that cannot be copied from its sentence.

    Constructs of the extension for questions come last, such as `construct:sort`.

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
    """Yield the constructs of the extension for questions that a program has."""
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
    """Return whether a token is a unit that is in every grammar."""
    unit = SHIPPED.by_name.get(token.removeprefix("unit:"))
    return token.startswith("unit:") and unit is not None and unit.is_classic
