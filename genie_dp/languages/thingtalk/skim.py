"""What a program in token form tells without being parsed."""

import re

from genie_dp.languages.programs import without_text

_FUNCTION = re.compile(r"(?<!\S)@[\w.*-]+")
_NAME = re.compile(r"@[\w.-]+\.\w+")
_ENUM = re.compile(r"\benum:\S+")

TRAITS = frozenset(
    ("filters", "parameter passing", "timers", "monitors", "aggregation", "policies")
)


def functions_in(program: str) -> tuple[str, ...]:
    """Return the functions of a program, in program order.

    >>> functions_in("monitor ( @a.b ) => @c.d on param:x:String = param:y:String")
    ('@a.b', '@c.d')
    """
    return tuple(_FUNCTION.findall(without_text(program)))


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
