"""What was decoded, in the form in which programs are compared and filled."""

from typing import Any

from genie_dp.errors import GenieError
from genie_dp.parser.rows import Target


def canonical_text(program: str, target: Target) -> str:
    """Return the canonical token form of a program in the learned style; "" if it is none."""
    language, library = target.language, target.library
    try:
        tree = _read(program, target)
        return language.tokens(language.canonical(tree, library), library)
    except GenieError:
        return ""


def _read(program: str, target: Target) -> Any:
    if target.styled is target.language:
        return target.language.from_tokens(program)
    from genie_dp.languages.thingtalk.language import ThingTalk

    assert isinstance(target.styled, ThingTalk)
    return target.styled.from_tokens(program, target.library)
