"""Says what is wrong with a statement that the grammar cannot read."""

import re
from collections.abc import Collection
from typing import cast

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from genie_dp.errors import Problem, did_you_mean
from genie_dp.templates.source import Source

_TERMINALS = {
    "STRING": "a quoted text", "NAME": "a name", "TEXT": "a body", "NUMBER": "a number",
    "_ARROW": "'->'", "_IF": "'if'", "ROOT": "'root'", "COLON": "':'", "VBAR": "'|'",
    "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'",
    "DOT": "'.'", "EQUAL": "'='", "COMMA": "','", "QMARK": "'?'", "SEMICOLON": "';'",
    "$END": "';'", "IMPORT": "'import'", "USING": "'using'", "CATEGORY": "'category'",
    "__ANON_0": "':='", "__ANON_1": "'#['",
}  # fmt: skip


def syntax_problem(error: UnexpectedInput, source: Source, start: int, end: int) -> Problem:
    """Return the problem for Lark's error in the statement source.text[start:end]."""
    text = source.text[start:end]
    begin, stop, got, expected = _place(error, text)
    message = f"expected {_listing(expected)}, got {got}"
    hint = _hint(text, begin, set(expected))
    span = source.span(start + begin, start + stop)
    return Problem("G001", message, span, hint, stage="syntax")


def _place(error: UnexpectedInput, text: str) -> tuple[int, int, str, Collection[str]]:
    match error:
        case UnexpectedToken(token=Token("$END")):
            return len(text), len(text) + 1, "the end of the statement", error.accepts or ()
        case UnexpectedToken(token=token):
            start, end = cast("int", token.start_pos), cast("int", token.end_pos)
            return start, end, repr(str(token)), error.accepts or ()
        case UnexpectedCharacters():
            start = cast("int", error.pos_in_stream)
            return start, start + 1, repr(text[start]), error.allowed or ()
        case _:
            raise error


def _listing(terminals: Collection[str]) -> str:
    if "TEXT" in terminals and len(terminals) > 1:
        # Where a body may go on, anything may; what would end it helps.
        closing = {"RPAR", "RSQB", "RBRACE"} & set(terminals)
        terminals = closing or {"TEXT"}
    names = sorted({_TERMINALS.get(t, t) for t in terminals})
    if len(names) < 2:
        return names[0] if names else "something else"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _hint(text: str, start: int, expected: set[str]) -> str | None:
    before, rest = text[:start].rstrip(), text[start:]
    if "__ANON_0" in expected:
        keyword = did_you_mean(text.split()[0], ("category", "import", "using"))
        is_near = not rest.startswith((":", "=")) and keyword is not None
        return keyword if is_near else "a template is CATEGORY := utterance -> body"
    if rest[0:1] in tuple("‘’“”"):
        return "these quotes are of a word processor: write ' or \""
    if re.search(r"\w['\"](?:s|re|ve|ll|d|m|t)\Z", before):
        return "an apostrophe ends a text in '..': write the text in double quotes, or \\'"
    if {"COLON", "DOT"} <= expected:
        return "words stand in quotes; a child is name:CATEGORY, such as q:NP"
    if rest.startswith(("'", '"')) and "STRING" in expected:
        return "this text has no closing quote on its line"
    if "_ARROW" in expected and not re.search("->|→", rest):
        return "write -> between utterance and body"
    if rest.startswith("if") and before.endswith("]"):
        return "the guard stands before the annotations"
    return None
