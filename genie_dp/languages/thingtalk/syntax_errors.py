"""What Lark's errors mean to a person: what was expected, what stood there, what to do next."""

import re
from collections.abc import Iterable, Iterator

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import PatternStr, TerminalDef

from genie_dp.errors import Problem, Span, did_you_mean

# A group is named as a whole when all of its terminals may stand; the larger ones come first.
_GROUPS: tuple[tuple[str, frozenset[str]], ...] = (
    ("a value", frozenset({"STRING", "NUMBER", "MEASURE", "SPECIAL"})),
    ("a stream", frozenset({"MONITOR", "EDGE", "TIMER", "ATTIMER"})),
    ("a condition", frozenset({"FUNCTION_OPERATOR", "NAME", "BANG", "NOT"})),
    ("a query or action", frozenset({"ATNAME", "_AGG", "NOTIFY"})),
    ("a query", frozenset({"ATNAME", "_AGG"})),
    ("an action", frozenset({"ATNAME", "NOTIFY"})),
    ("an annotation", frozenset({"_ANNOTATION", "NATURAL_ANNOTATION"})),
)
# Terminals that a group's name covers besides those that it needs.
_COVERED: dict[str, frozenset[str]] = {
    "a value": frozenset(
        {
            "STRING", "NUMBER", "MEASURE", "SPECIAL", "NULL", "CURRENCY", "SLOT", "NAME", "NOW",
            "ENUM", "NEW", "LSQB", "LPAR", "TRUE", "FALSE", "ATNAME", "LBRACE",
        }
    ),
    "a stream": frozenset({"MONITOR", "EDGE", "TIMER", "ATTIMER", "LPAR"}),
    "a condition": frozenset(
        {"FUNCTION_OPERATOR", "NAME", "BANG", "NOT", "TRUE", "FALSE", "LPAR", "ATNAME"}
    ),
    "a query or action": frozenset({"ATNAME", "_AGG", "NOTIFY", "LPAR"}),
    "a query": frozenset({"ATNAME", "_AGG", "LPAR"}),
    "an action": frozenset({"ATNAME", "NOTIFY"}),
    "an annotation": frozenset({"_ANNOTATION", "NATURAL_ANNOTATION"}),
}  # fmt: skip
_READABLE = {
    "$END": "the end of the text",
    "AGG_OPERATOR": "max, min, sum or avg",
    "ANY_OF_CLASS": "'@class.*'",
    "ATNAME": "a name such as @com.twitter",
    "DIRECTION": "'in req', 'in opt' or 'out'",
    "ENTITY": "an entity type such as ^^tt:username",
    "ENTITY_NAME": "an entity type such as tt:username",
    "EXAMPLE_KIND": "'query', 'stream', 'action' or 'program'",
    "FUNCTION_OPERATOR": "an operator",
    "KEY": "a name",
    "KIND": "'query' or 'action'",
    "MEASURE": "a measure such as 60F",
    "MODIFIER": "'monitorable' or 'list'",
    "NAME": "a name",
    "NATURAL_ANNOTATION": "'#_['",
    "NOTIFY": "'notify'",
    "NUMBER": "a number",
    "OPERATOR": "an operator such as ==",
    "SIGN": "'+' or '-'",
    "SPECIAL": "'$?'",
    "STRING": "a text in quotes",
    "_AGG": "'agg'",
    "_AND": "'&&'",
    "_ANNOTATION": "'#['",
    "_ARROW": "'->'",
    "_DEFINED": "':='",
    "_LAMBDA": "'\\'",
    "_ON_NEW": "'on new'",
    "_OR": "'||'",
}
# Words that terminals spell by a regular expression, for the hints about misspelt keywords.
_WORDS = {
    "NOTIFY": ("notify",),
    "_AGG": ("agg", "aggregate"),
    "AGG_OPERATOR": ("max", "min", "sum", "avg", "count"),
    "KIND": ("query", "action"),
    "EXAMPLE_KIND": ("query", "stream", "action", "program"),
    "MODIFIER": ("monitorable", "list"),
    "DIRECTION": ("in", "out"),
    "_AND": ("and",),
    "_OR": ("or",),
    "OPERATOR": ("contains", "in_array", "starts_with", "ends_with", "prefix_of", "suffix_of"),
}
_MOST_EXPECTED = 4  # more alternatives than these do not help anybody
_LEXEME = re.compile(r'//[^\n]*|/\*[\s\S]*?\*/|"(?:\\[\s\S]|[^"\\])*"|\'(?:\\[\s\S]|[^\'\\])*\'|.')
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def unexpected_token(
    token: Token, accepted: Iterable[str], terminals: dict[str, TerminalDef], text: str, file: str
) -> Problem:
    """Return the problem of a token that may not stand where it does."""
    names = [name for name in accepted if not name.startswith("HOLE_")]
    at_end = token.type == "$END"
    span = _end_span(text, file) if at_end else _token_span(token, file)
    got = "the end" if at_end else _quoted(token)
    message = f"expected {_list(describe(names, terminals))}, got {got}"
    hint = _hint(token, names, terminals, text)
    return Problem("S003" if at_end else "S001", message, span, hint, stage="syntax")


def unexpected_character(error: UnexpectedCharacters, text: str, file: str) -> Problem:
    """Return the problem of a character that begins no token."""
    at = error.pos_in_stream
    span = Span(file, error.line, error.column, error.line, error.column + 1)
    character = text[at]
    match character:
        case '"' | "'":
            message, hint = "this text is never closed", f"end it with {character}"
        case "/" if text.startswith("/*", at):
            message, hint = "this comment is never closed", "end it with */"
        case "!" if text.startswith("!=", at):
            message, hint = "unknown operator '!='", "write !(x == y)"
        case "$":
            message, hint = "'$' begins no known value", "write $? for a value to be asked for"
        case "“" | "”" | "‘" | "’":
            message, hint = f"unexpected character {character!r}", 'write straight quotes: ".."'
        case _:
            message, hint = f"unexpected character {character!r}", None
    return Problem("S002", message, span, hint, stage="syntax")


def describe(names: Iterable[str], terminals: dict[str, TerminalDef]) -> list[str]:
    """Return readable names of what may stand, groups first.

    >>> describe(["ATNAME", "_AGG", "LPAR"], {})
    ['a query']
    """
    left = set(names)
    found = []
    for label, needed in _GROUPS:
        if needed <= left:
            found.append(label)
            left -= _COVERED[label]
    words = sorted(_readable(name, terminals) for name in left)
    return found + words


def _readable(name: str, terminals: dict[str, TerminalDef]) -> str:
    if name in _READABLE:
        return _READABLE[name]
    terminal = terminals.get(name)
    if terminal is not None and isinstance(terminal.pattern, PatternStr):
        return f"'{terminal.pattern.value}'"
    return name.lower().replace("_", " ").strip()


def _list(words: list[str]) -> str:
    shown = words[:_MOST_EXPECTED]
    if len(words) > len(shown):
        return ", ".join(shown) + " or the like"
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _quoted(token: Token) -> str:
    text = str(token) if len(token) <= 30 else str(token)[:27] + "..."
    return text if text.startswith(('"', "'")) else f"'{text}'"


def _token_span(token: Token, file: str) -> Span:
    return Span(
        file,
        token.line or 1,
        token.column or 1,
        token.end_line or token.line or 1,
        token.end_column or token.column or 1,
    )


def _end_span(text: str, file: str) -> Span:
    rows = text.rstrip().split("\n")
    column = len(rows[-1]) + 1
    return Span(file, len(rows), column, len(rows), column)


# ------------------------------------------------------------------------------------- hints


def _hint(
    token: Token, names: list[str], terminals: dict[str, TerminalDef], text: str
) -> str | None:
    word = str(token)
    if re.fullmatch(r"[A-Za-z_]\w*", word):
        near = did_you_mean(word, _keywords(names, terminals))
        if near and not near.startswith(f"did you mean {word!r}"):
            return near
    if token.type == "$END" or word in (")", "]", "}"):
        unclosed = _unclosed(text if token.type == "$END" else text[: token.start_pos])
        if token.type == "$END" and unclosed:
            bracket, line, column = unclosed
            return f"{bracket!r} of line {line}, column {column} is never closed"
        if not unclosed:
            return f"there is no {_opening(word)!r} for this {word!r}" if word else None
    if "SEMICOLON" in names and token.type != "$END":
        return "end the definition before it with ';'"
    if "ATNAME" in names and re.fullmatch(r"[A-Za-z_]\w*", word):
        return "functions are written @class.function()"
    if "OPERATOR" in names and token.type == "$END":
        return "compare it with a value, such as x == 1"
    return None


def _opening(closing: str) -> str:
    return next(k for k, v in _CLOSING.items() if v == closing)


def _keywords(names: Iterable[str], terminals: dict[str, TerminalDef]) -> Iterator[str]:
    for name in names:
        if name in _WORDS:
            yield from _WORDS[name]
        elif name in terminals and isinstance(terminals[name].pattern, PatternStr):
            value = terminals[name].pattern.value
            if value.isalpha():
                yield value


def _unclosed(text: str) -> tuple[str, int, int] | None:
    """Return the last bracket that is not closed, with its line and column."""
    stack: list[tuple[str, int]] = []
    for match in _LEXEME.finditer(text):
        lexeme = match[0]
        if lexeme in _CLOSING:
            stack.append((lexeme, match.start()))
        elif stack and lexeme == _CLOSING[stack[-1][0]]:
            stack.pop()
    if not stack:
        return None
    bracket, at = stack[-1]
    return bracket, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


__all__ = ["UnexpectedToken", "describe", "unexpected_character", "unexpected_token"]
