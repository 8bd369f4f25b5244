"""Which functions a row's program uses, read off its tokens where they tell."""

import re

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.records import Example

_TEXT = re.compile(r'(?<!\S)"(?: (?!" |"$)\S+)* "(?!\S)|(?<!\S)""(?!\S)')
_FUNCTION = re.compile(r"(?<!\S)@[\w.*-]+")


def without_text(program: str, place: str = '""') -> str:
    """Return a token form with `place` instead of every quoted text.

    >>> without_text('now => @c.say param:text:String = " filter it "')
    'now => @c.say param:text:String = ""'
    """
    return _TEXT.sub(place, program) if '"' in program else program


def functions_in(program: str) -> tuple[str, ...]:
    """Return the functions of a ThingTalk program in token form, in program order.

    >>> functions_in("monitor ( @a.b ) => @c.d on param:x:String = param:y:String")
    ('@a.b', '@c.d')
    """
    return tuple(_FUNCTION.findall(without_text(program)))


def functions_of(row: Example) -> tuple[str, ...]:
    """Return the functions of a row; rows of TSV, and those that people wrote, may not name them.

    >>> functions_of(Example("S0", "beep", "now => @c.beep"))
    ('@c.beep',)
    >>> functions_of(Example("S0", "beep", "( beep ( twice ) )", "sexpr"))
    ('beep', 'twice')
    """
    if row.functions:
        return row.functions
    if row.language == "thingtalk":
        return functions_in(row.program)
    language = get_language(row.language)
    try:
        return tuple(language.functions(language.from_tokens(row.program)).elements())
    except GenieError:
        return ()  # no program, or none that can be read
