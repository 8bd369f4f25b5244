"""What a program in token form tells without being parsed."""

import re
from collections.abc import Iterator, Sequence

from genie_dp.languages.base import Literal
from genie_dp.languages.programs import without_text

_FUNCTION = re.compile(r"(?<!\S)@[\w.*-]+")
_NAME = re.compile(r"@[\w.-]+\.\w+")
_ENUM = re.compile(r"\benum:\S+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COMPACT = ("currency:", "date:", "time:", "location:")

TRAITS = frozenset(
    ("filters", "parameter passing", "timers", "monitors", "aggregation", "policies")
)


def functions_in(program: str) -> tuple[str, ...]:
    """Return the functions of a program, in program order.

    >>> functions_in("monitor ( @a.b ) => @c.d on param:x:String = param:y:String")
    ('@a.b', '@c.d')
    """
    return tuple(_FUNCTION.findall(without_text(program)))


_OPERATORS = frozenset(
    ("monitor", "edge", "timer", "attimer", "join", "new", "not", "or", "source")
)


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
        elif token in _OPERATORS:
            parts.append(token)
    return frozenset(parts)


def is_function_name(name: str) -> bool:
    """Tell whether a text names a function.

    >>> is_function_name("@com.gmail.inbox"), is_function_name("inbox")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def traits_in(program: str) -> frozenset[str]:
    """Return the traits of a program.

    >>> sorted(traits_in("monitor ( ( @a.b ) filter param:n:Number > 3 ) => notify"))
    ['filters', 'monitors']
    """
    text = without_text(program)
    traits = []
    if " filter " in text or "edge (" in text:  # the condition of an edge filters its stream
        traits.append("filters")
    if " = param:" in text or " = event" in text:
        traits.append("parameter passing")
    # The first look is fast; names of functions and parameters may end so, too.
    if "timer " in text and not {"timer", "attimer"}.isdisjoint(text.split(" ")):
        traits.append("timers")
    if "monitor (" in text:
        traits.append("monitors")
    if "aggregate " in text:
        traits.append("aggregation")
    if text.startswith("policy "):
        traits.append("policies")
    return frozenset(traits)


def copied_part(program: str) -> str:
    """Return a program without what is never copied from a sentence, "" where nothing is left.

    The words of an enum are said in many ways.
    """
    return _ENUM.sub("", program) if '"' in program else ""


def literals(program: Sequence[str]) -> Iterator[Literal]:
    """Yield the constants of a program, in its order.

    >>> program = '@c.f param:a:T > 5 unit:km and param:b:S == " x y "'
    >>> [constant[:2] for constant in literals(program.split(" "))]
    [(3, 5), (8, 12)]
    """
    i = 0
    while i < len(program):
        end, is_text = _end(program, i)
        if end > i:
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
