"""What Lark's errors mean to a person: what was expected, what stood there, what to do next."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lark import Token
from lark.exceptions import UnexpectedCharacters
from lark.lexer import PatternStr, TerminalDef
from lark.tree import Meta

from genie_dp.errors import Problem, Span, did_you_mean
from genie_dp.languages.thingtalk.types import UNITS
from genie_dp.languages.thingtalk.unread import UNREAD

# A group is named as a whole when all terminals of the first set may stand; its name then stands
# for those of the second set as well. The larger groups come first.
_VALUE = frozenset({"STRING", "NUMBER", "MEASURE", "SPECIAL"})
_STREAM = frozenset({"_MONITOR", "_EDGE", "_TIMER", "_ATTIMER"})
_CONDITION = frozenset({"FUNCTION_OPERATOR", "NAME", "BANG", "NOT"})
_GROUPS: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (
    (
        "a template body",
        _STREAM | _CONDITION | _VALUE | {"_AGG"},
        _STREAM | _CONDITION | _VALUE | {
            "_AGG", "ATNAME", "NOTIFY", "NOW", "LPAR", "LSQB", "LBRACE", "_ENUM", "_NEW", "NULL",
            "CURRENCY", "SLOT", "TRUE", "FALSE", "_LAMBDA",
        },
    ),
    (
        "a program",
        _STREAM | _CONDITION,
        _STREAM | _CONDITION | {"NOW", "LPAR", "LBRACE", "ATNAME", "TRUE", "FALSE"},
    ),
    (
        "a value",
        _VALUE,
        _VALUE | {
            "NULL", "CURRENCY", "SLOT", "NAME", "NOW", "_ENUM", "_NEW", "LSQB", "LPAR", "TRUE",
            "FALSE", "ATNAME", "LBRACE",
        },
    ),
    ("a rule", _STREAM | {"NOW"}, _STREAM | {"NOW", "LPAR"}),
    ("a stream", _STREAM, _STREAM | {"LPAR"}),
    ("a condition", _CONDITION, _CONDITION | {"TRUE", "FALSE", "LPAR", "ATNAME"}),
    ("a query or an action", frozenset({"ATNAME", "_AGG", "NOTIFY"}), frozenset({"LPAR"})),
    ("a query", frozenset({"ATNAME", "_AGG"}), frozenset({"LPAR"})),
    ("an action", frozenset({"ATNAME", "NOTIFY"}), frozenset()),
    ("an annotation", frozenset({"_ANNOTATION", "NATURAL_ANNOTATION"}), frozenset()),
    ("a filter", frozenset({"FILTER", "COMMA"}), frozenset()),
    ("a class or a dataset", frozenset({"CLASS", "DATASET"}), frozenset({"ABSTRACT"})),
    (
        "a query, an action, an entity or an import",
        frozenset({"KIND", "IMPORT"}),
        frozenset({"MODIFIER", "_ENTITY_WORD"}),
    ),
)  # fmt: skip
_READABLE: dict[str, tuple[str, ...]] = {
    "$END": ("the end of the text",),
    "AGG_OPERATOR": ("'max'", "'min'", "'sum'", "'avg'"),
    "ANY_OF_CLASS": ("'@class.*'",),
    "ATNAME": ("a name such as @com.twitter",),
    "DIRECTION": ("'in req'", "'in opt'", "'out'"),
    "ENTITY": ("an entity type such as ^^tt:username",),
    "ENTITY_NAME": ("an entity type such as tt:username",),
    "EXAMPLE_KIND": ("'query'", "'stream'", "'action'", "'program'"),
    "FUNCTION_OPERATOR": ("an operator",),
    "KEY": ("a name",),
    "KIND": ("'query'", "'action'"),
    "MEASURE": ("a measure such as 60F",),
    "MODIFIER": ("'monitorable'", "'list'"),
    "NAME": ("a name",),
    "NOTIFY": ("'notify'",),
    "NUMBER": ("a number",),
    "OPERATOR": ("an operator such as ==",),
    "SIGN": ("'+'", "'-'"),
    "SPECIAL": ("'$?'",),
    "STRING": ("a text in quotes",),
    "_AGG": ("'agg'",),
    "_AND": ("'&&'",),
    "_ARROW": ("'->'",),
    "_DEFINED": ("':='",),
    "_LAMBDA": ("'\\'",),
    "_ON_NEW": ("'on new'",),
    "_OR": ("'||'",),
}
# What may stand almost anywhere, and is not what was forgotten: ".f" after "@c", "^^t" after "..".
_SELDOM_MEANT = frozenset({"DOT", "ENTITY"})
# Words that terminals spell by a regular expression, for the hints about misspelt keywords.
_WORDS = {
    "NOTIFY": ("notify",),
    "_MONITOR": ("monitor",),
    "_EDGE": ("edge",),
    "_TIMER": ("timer",),
    "_ATTIMER": ("attimer",),
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
_STATEMENTS = ("monitor", "edge", "timer", "attimer", "now")
_MEMBERS = ("import", "entity", "monitorable", "list", "query", "action")
_MOST_EXPECTED = 4  # more alternatives than these do not help anybody
_WORD = re.compile(r"[A-Za-z_]\w*")
_LEXEME = re.compile(r'//[^\n]*|/\*[\s\S]*?\*/|"(?:\\[\s\S]|[^"\\])*"|\'(?:\\[\s\S]|[^\'\\])*\'|.')
_AFTER_NOW = re.compile(r"\bnow\s*=>\s*\Z")
_UNREAD = {
    # construct -> what stands before it, and what it begins with
    name: (re.compile(rf"(?:{head})\s*\Z"), re.compile(tail))
    for name, head, tail in (
        ("actions", "=>", r"\{"),
        ("count", r"\bagg(?:regate)?\s+count", r"\w"),
        ("expiration_date", r"\battimer\b.*", r",?\s*expiration_date\b"),
        ("frequency", r"\btimer\b.*", r",?\s*frequency\b"),
        ("part", r"\b(?:make|new\s+)Date\s*\((?:\s*\d+\s*,|\s*,)*", ","),
        ("projection", r"=>|\(|^", r"\["),
        ("index", r"[)\w]", r"\["),
        ("sort", "", r"sort\b"),
    )
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
# How papers and word processors write it (Genie, Fig. 5 and 10) -> what to write.
_SIGNS = {
    "⇒": "write =>",
    "→": "write =>",
    "σ": 'who asks is called source: source == "name"^^tt:contact : ..',
    "λ": "only bodies of templates have parameters, and they stand first: \\(x : String) -> ..",
    "∧": "write &&",
    "∨": "write ||",
    "¬": "write !",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !(a == b)",
    "≈": "write =~",
    "∈": "write in_array",
    "⋈": "write join",
    "−": "write -",
    "–": "write -",
    "…": "write all of it",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Where reading stopped.

    Attributes:
        token: the token that may not stand there; its type is $END at the end of the text.
        previous: the token before it.
        accepted: names of the terminals that may stand there.
        terminals: all terminals by name.
        text: all of the text.
        file: its name.
        holes: kinds of a template's children by name.
    """

    token: Token
    previous: Token | None
    accepted: frozenset[str]
    terminals: Mapping[str, TerminalDef]
    text: str
    file: str
    holes: Mapping[str, str]

    @property
    def word(self) -> str:
        """Return the token's text, empty at the end."""
        return "" if self.token.type == "$END" else str(self.token)


def unexpected_token(failure: Failure) -> Problem:
    """Return the problem of a token that may not stand where it does."""
    misspelt = _misspelt_before(failure)
    if misspelt is not None:
        return misspelt
    expected = _list(describe(failure.accepted, failure.terminals))
    if not failure.word:
        span, got, code = _end_span(failure.text, failure.file), "the end", "S003"
    else:
        span, got, code = token_span(failure.token, failure.file), _got(failure), "S001"
    hint = next(filter(None, (find(failure) for find in _HINTS)), None)
    return Problem(code, f"expected {expected}, got {got}", span, hint, stage="syntax")


def unexpected_character(error: UnexpectedCharacters, text: str, file: str) -> Problem:
    """Return the problem of a character that begins no token."""
    at = error.pos_in_stream or 0
    line, column = error.line or 1, error.column or 1
    span = Span(file, line, column, line, column + 1)
    message, hint = _bad_character(text[at], text[at : at + 2])
    return Problem("S002", message, span, hint, stage="syntax")


def _bad_character(character: str, pair: str) -> tuple[str, str | None]:
    match character:
        case '"' | "'":
            return "this text is never closed", f"end it with {character}"
        case "/" if pair == "/*":
            return "this comment is never closed", "end it with */"
        case "$":
            return "'$' begins no known value", "write $? for a value to be asked for"
        case "&" | "|":
            return f"unexpected character {character!r}", f"write {character * 2}"
        case "“" | "”" | "‘" | "’":
            return f"unexpected character {character!r}", 'write straight quotes: ".."'
        case _:
            return f"unexpected character {character!r}", _SIGNS.get(character)


def describe(names: Iterable[str], terminals: Mapping[str, TerminalDef]) -> list[str]:
    """Return readable names of what may stand, groups first.

    >>> describe(["ATNAME", "_AGG", "LPAR", "STRING"], {})
    ['a query', 'a text in quotes']
    """
    accepted = {name for name in names if not name.startswith("HOLE_")}
    left = accepted - _SELDOM_MEANT or accepted
    found = []
    for label, needed, covered in _GROUPS:
        if needed <= left:
            found.append(label)
            left -= needed | covered
    # Closing and separating signs last: what a person meant to write there comes first.
    order = {"'": 1, "t": 2}  # 't' begins only "the end of the text"
    words = {word for name in left for word in _readable(name, terminals)}
    return found + sorted(words, key=lambda word: (order.get(word[0], 0), word))


def _readable(name: str, terminals: Mapping[str, TerminalDef]) -> tuple[str, ...]:
    if name in _READABLE:
        return _READABLE[name]
    terminal = terminals.get(name)
    if terminal is not None and isinstance(terminal.pattern, PatternStr):
        return (f"'{terminal.pattern.value}'",)
    return (name.lower().replace("_", " ").strip(),)


def _list(words: list[str]) -> str:
    if not words:
        return "nothing more"
    if len(words) > _MOST_EXPECTED:
        return ", ".join(words[:_MOST_EXPECTED]) + " or the like"
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _got(failure: Failure) -> str:
    word = failure.word
    shown = word if len(word) <= 30 else word[:27] + "..."
    quoted = shown if shown.startswith(('"', "'")) else f"'{shown}'"
    kind = failure.holes.get(word)
    return f"the {kind} {quoted}" if kind else quoted


def token_span(token: Token | Meta, file: str) -> Span:
    """Return the place of a token or tree."""
    line, column = token.line or 1, token.column or 1
    return Span(file, line, column, token.end_line or line, token.end_column or column + 1)


def _end_span(text: str, file: str) -> Span:
    rows = text.rstrip().split("\n")
    column = len(rows[-1]) + 1
    return Span(file, len(rows), column, len(rows), column)


# ------------------------------------------------------------------------------------- hints


def _misspelt_before(failure: Failure) -> Problem | None:
    """Return the problem of `moniter @c.f()`: the word before was read as a name."""
    previous = failure.previous
    if previous is None or previous.type != "NAME" or "OPERATOR" not in failure.accepted:
        return None
    hint = _unread_word(str(previous)) or did_you_mean(str(previous), _STATEMENTS)
    if hint is None or str(previous) in _STATEMENTS:
        return None
    span = token_span(previous, failure.file)
    message = f"expected an operator such as == after the name {str(previous)!r}"
    return Problem("S001", f"{message}, got {_got(failure)}", span, hint, stage="syntax")


def _sign(failure: Failure) -> str | None:
    return _SIGNS.get(failure.word)


def _unread_word(word: str) -> str | None:
    return UNREAD[word] if word in ("group_member", "let", "ontimer") else None


def _unread(failure: Failure) -> str | None:
    """Return what to write for a construct of another ThingTalk."""
    at = failure.token.start_pos
    before, rest = failure.text[:at], failure.text[at:]
    found = next((name for name, (head, tail) in _UNREAD.items()
                  if tail.match(rest) and head.search(before)), None)  # fmt: skip
    return UNREAD[found] if found and failure.word else None


def _misspelt(failure: Failure) -> str | None:
    if not _WORD.fullmatch(failure.word):
        return None
    near = did_you_mean(failure.word, (*_keywords(failure), *failure.holes))
    return None if near and near.startswith(f"did you mean {failure.word!r}") else near


def _keywords(failure: Failure) -> Iterator[str]:
    for name in failure.accepted:
        if name in _WORDS:
            yield from _WORDS[name]
        elif name in failure.terminals:
            pattern = failure.terminals[name].pattern
            if isinstance(pattern, PatternStr) and pattern.value.isalpha():
                yield pattern.value


def _not_equal(failure: Failure) -> str | None:
    at = failure.token.start_pos
    if failure.word == "!" and at is not None and failure.text.startswith("!=", at):
        return "there is no '!=': write !(x == y)"
    return None


def _turned_operator(failure: Failure) -> str | None:
    is_turned = str(failure.previous) == "=" and failure.word == "<"
    return "there is no '=<': write <=" if is_turned else None


def _stream_after_now(failure: Failure) -> str | None:
    stream = failure.word in ("monitor", "edge", "timer", "attimer")
    if stream and _AFTER_NOW.search(failure.text[: failure.token.start_pos]):
        return f"a stream stands in place of 'now': {failure.word} .. => .."
    return None


def _parted_unit(failure: Failure) -> str | None:
    previous = failure.previous
    if previous is not None and previous.type == "NUMBER" and failure.word in UNITS:
        return f"write the number and its unit together: {previous}{failure.word}"
    return None


def _bracket(failure: Failure) -> str | None:
    end = len(failure.text) if not failure.word else failure.token.start_pos or 0
    unclosed = _unclosed(failure.text[:end])
    opening = next((k for k, v in _CLOSING.items() if v == failure.word), None)
    if opening and not unclosed:
        return f"there is no {opening!r} for this {failure.word!r}"
    stops = failure.word in ("", "=>", ";", "{", ")", "]", "}")
    if unclosed and stops and unclosed[0] != opening:
        bracket, line, column = unclosed
        if bracket != "{" or not failure.word:
            return f"{bracket!r} at line {line}, column {column} is not closed"
    return None


def _missing_separator(failure: Failure) -> str | None:
    if "SEMICOLON" in failure.accepted and failure.word in _STATEMENTS:
        return "put a ';' between rules"
    if "SEMICOLON" in failure.accepted and failure.word in (*_MEMBERS, "}"):
        return "end the definition before it with ';'"
    if "COMMA" in failure.accepted and failure.word.split()[:1] in (["in"], ["out"]):
        return "put a ',' between parameters"
    if "DIRECTION" in failure.accepted and failure.word == "in":
        return "say 'in req' or 'in opt'"
    return None


def _wrong_kind(failure: Failure) -> str | None:
    before = str(failure.previous)
    if before in failure.holes and failure.word == "=>":
        return f"{before!r} is of kind {failure.holes[before]}"
    return None


def _text_without_quotes(failure: Failure) -> str | None:
    before = failure.previous
    if before is not None and before.type == "NAME" and failure.accepted == {"LPAR"}:
        return f'put text in quotes: "{before}"'
    return None


def _query_alone(failure: Failure) -> str | None:
    goes_on = failure.word in ("", "filter", ",", "join")
    if goes_on and "LBRACE" in failure.accepted and "NOW" not in failure.accepted:
        return "a program that shows a query is: now => query => notify"
    return None


def _needs_function(failure: Failure) -> str | None:
    if "ATNAME" in failure.accepted and _WORD.fullmatch(failure.word) and not failure.holes:
        return "functions are written @class.function()"
    return None


def _needs_comparison(failure: Failure) -> str | None:
    if "OPERATOR" in failure.accepted:
        return "compare it with a value, such as x == 1"
    return None


_HINTS: tuple[Callable[[Failure], str | None], ...] = (
    _unread,
    _missing_separator,
    _misspelt,
    _sign,
    _not_equal,
    _turned_operator,
    _stream_after_now,
    _parted_unit,
    _wrong_kind,
    _text_without_quotes,
    _query_alone,
    _bracket,
    _needs_function,
    _needs_comparison,
)


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
