"""Text to syntax tree: programs, policies, classes, datasets, types, template bodies.

grammar.lark defines the language. A mistake of form ends the reading of a program; in a library
file the definition that holds it is skipped, so that one run reports the mistakes of all of them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lark import PostLex
from lark.lexer import PatternStr, TerminalDef
from lark.tree import Meta

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.declarations import ClassDef, Dataset
from genie_dp.languages.thingtalk.depth import DEEPEST, HINT, TOO_DEEP, too_deep_tree
from genie_dp.languages.thingtalk.transform import (
    UNREAD,
    LibraryReader,
    ProgramReader,
    has_half_character,
    is_computed,
    is_constructor,
)
from genie_dp.languages.types import Type
from genie_dp.languages.units import SHIPPED
from genie_dp.run.cache import load_lark

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
            "CURRENCY", "SLOT", "TRUE", "FALSE", "_LAMBDA", "_SORT",
        },
    ),
    (
        "a program",
        _STREAM | _CONDITION,
        _STREAM | _CONDITION | {"NOW", "LPAR", "LBRACE", "ATNAME", "TRUE", "FALSE", "_NEW"},
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
    ("a condition", _CONDITION, _CONDITION | {"TRUE", "FALSE", "LPAR", "ATNAME", "_NEW"}),
    (
        "a query or an action",
        frozenset({"ATNAME", "_AGG", "NOTIFY"}),
        frozenset({"LPAR", "LSQB", "_SORT"}),
    ),
    ("a query", frozenset({"ATNAME", "_AGG"}), frozenset({"LPAR", "LSQB", "_SORT"})),
    ("a query", frozenset({"ATNAME", "_SORT"}), frozenset({"LPAR"})),
    ("an action", frozenset({"ATNAME", "NOTIFY"}), frozenset()),
    ("an annotation", frozenset({"_ANNOTATION", "NATURAL_ANNOTATION"}), frozenset()),
    ("a filter", frozenset({"FILTER", "COMMA"}), frozenset()),
    ("a class or a dataset", frozenset({"CLASS", "DATASET"}), frozenset({"ABSTRACT"})),
    (
        "a query, an action, an entity, a unit or an import",
        frozenset({"KIND", "IMPORT"}),
        frozenset({"MODIFIER", "_ENTITY_WORD", "_UNIT_WORD"}),
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
    "ORDER": ("'asc'", "'desc'"),
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
    "_SORT": ("'sort'",),
}
# What may stand almost anywhere, and is not what was forgotten: ".f" after "@c", "^^t" after "..".
_SELDOM_MEANT = frozenset({"DOT", "ENTITY", "LSQB"})
# Words that terminals spell by a regular expression, for the hints about misspelt keywords.
_WORDS = {
    "NOTIFY": ("notify",),
    "_MONITOR": ("monitor",),
    "_EDGE": ("edge",),
    "_TIMER": ("timer",),
    "_ATTIMER": ("attimer",),
    "_AGG": ("agg", "aggregate"),
    "_SORT": ("sort",),
    "ORDER": ("asc", "desc"),
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
        ("group_member", r"\bgroup_member\s*\([^()]*\)", ":"),
        ("ontimer", r"\bontimer\s*\(\s*date", "="),
        ("sort", "", r"sort\b"),
        ("part", r"\b(?:make|new\s+)Date\s*\((?:\s*\d+\s*,|\s*,)*", ","),
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
    earlier = _open_quote(failure) or _misspelt_before(failure)
    if earlier is not None:
        return earlier
    expected = _list(describe(failure.accepted, failure.terminals))
    if not failure.word:
        rows = failure.text.rstrip().split("\n")
        column = len(rows[-1]) + 1
        span = Span(failure.file, len(rows), column, len(rows), column)
        got, code = "the end", "S003"
    else:
        span, got, code = token_span(failure.token, failure.file), _got(failure), "S001"
    hint = next(filter(None, (find(failure) for find in _HINTS)), None)
    return Problem(code, f"expected {expected}, got {got}", span, hint, stage="syntax")


def unexpected_character(error: UnexpectedCharacters, text: str, file: str) -> Problem:
    """Return the problem of a character that begins no token."""
    start = error.pos_in_stream or 0
    line, column = error.line or 1, error.column or 1
    span = Span(file, line, column, line, column + 1)
    character = text[start]
    message, hint = f"unexpected character {character!r}", _SIGNS.get(character)
    match character:
        case '"' | "'":
            message, hint = "this text is never closed", f"end it with {character}"
        case "/" if text.startswith("/*", start):
            message, hint = "this comment is never closed", "end it with */"
        case "$":
            message = "'$' begins no known value"
            hint = "write $? for a value to be asked for"
        case "&" | "|":
            hint = f"write {character * 2}"
        case "“" | "”" | "‘" | "’":
            hint = 'write straight quotes: ".."'
    return Problem("S002", message, span, hint, stage="syntax")


def describe(names: Iterable[str], terminals: Mapping[str, TerminalDef]) -> list[str]:
    """Return readable names of the possible tokens, groups first.

    >>> describe(["ATNAME", "_AGG", "LPAR", "STRING"], {})
    ['a query', 'a text in quotes']
    """
    accepted = {name for name in names if not name.startswith("HOLE_")}
    meanings = accepted - _SELDOM_MEANT or accepted
    if "OPERATOR" in meanings:  # "(" would make the name before it that of a computed value
        meanings -= {"LPAR"}
    descriptions = []
    for label, needed, covered in _GROUPS:
        if needed <= meanings:
            descriptions.append(label)
            meanings -= needed | covered
    # Closing and separating signs last: what a person meant to write there comes first.
    order = {"'": 1, "t": 2}  # 't' begins only "the end of the text"
    words = {word for name in meanings for word in _readable(name, terminals)}
    return descriptions + sorted(words, key=lambda word: (order.get(word[0], 0), word))


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
    excerpt = word if len(word) <= 30 else word[:27] + "..."
    quoted = excerpt if excerpt.startswith(('"', "'")) else f"'{excerpt}'"
    kind = failure.holes.get(word)
    return f"the {kind} {quoted}" if kind else quoted


def token_span(token: Token | Meta, file: str) -> Span:
    """Return the place of a token or tree."""
    line, column = token.line or 1, token.column or 1
    return Span(file, line, column, token.end_line or line, token.end_column or column + 1)


# ------------------------------------------------------------------------------------- hints


def _open_quote(failure: Failure) -> Problem | None:
    """Return the problem of a text that goes on to the first quote of a later line."""
    text = failure.previous
    if text is None or text.type != "STRING" or "\n" not in text:
        return None
    span = token_span(text, failure.file)
    first = text.split("\n", 1)[0]
    span = replace(span, end_line=span.line, end_column=span.column + len(first))
    return Problem(
        "S002", "this text is never closed", span, f"end it with {text[0]}", stage="syntax"
    )


def _misspelt_before(failure: Failure) -> Problem | None:
    """Return the problem of `moniter @c.f()`: the word before was read as a name."""
    previous = failure.previous
    if previous is None or previous.type != "NAME" or "OPERATOR" not in failure.accepted:
        return None
    word = str(previous)
    unread_hint = UNREAD[word] if word == "let" else None
    hint = unread_hint or did_you_mean(word, _STATEMENTS)
    if hint is None or word in _STATEMENTS:
        return None
    span = token_span(previous, failure.file)
    message = f"expected an operator such as == after the name {word!r}"
    return Problem("S001", f"{message}, got {_got(failure)}", span, hint, stage="syntax")


def _sign(failure: Failure) -> str | None:
    return _SIGNS.get(failure.word)


def _unread(failure: Failure) -> str | None:
    """Return the replacement for a construct of another ThingTalk."""
    start = failure.token.start_pos
    before, rest = failure.text[:start], failure.text[start:]
    unread_name = next((name for name, (head, tail) in _UNREAD.items()
                  if tail.match(rest) and head.search(before)), None)  # fmt: skip
    return UNREAD[unread_name] if unread_name and failure.word else None


def _misspelt(failure: Failure) -> str | None:
    if not _WORD.fullmatch(failure.word):
        return None
    suggestion = did_you_mean(failure.word, (*_keywords(failure), *failure.holes))
    return (
        None
        if suggestion and suggestion.startswith(f"did you mean {failure.word!r}")
        else suggestion
    )


def _keywords(failure: Failure) -> Iterator[str]:
    for name in failure.accepted:
        if name in _WORDS:
            yield from _WORDS[name]
        elif name in failure.terminals:
            pattern = failure.terminals[name].pattern
            if isinstance(pattern, PatternStr) and pattern.value.isalpha():
                yield pattern.value


def _not_equal(failure: Failure) -> str | None:
    start = failure.token.start_pos
    if failure.word == "!" and start is not None and failure.text.startswith("!=", start):
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
    if previous is not None and previous.type == "NUMBER" and failure.word in SHIPPED:
        return f"write the number and its unit together: {previous}{failure.word}"
    return None


def _bracket(failure: Failure) -> str | None:
    end = len(failure.text) if not failure.word else failure.token.start_pos or 0
    unclosed = _find_unclosed(failure.text[:end])
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


def _find_unclosed(text: str) -> tuple[str, int, int] | None:
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
    bracket, offset = stack[-1]
    return bracket, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


_STARTS = ("input", "library", "lone_type", "fragment")
_HOLES = {
    "query": "HOLE_QUERY",
    "stream": "HOLE_STREAM",
    "action": "HOLE_ACTION",
    "predicate": "HOLE_PREDICATE",
    "source": "HOLE_SOURCE",
    "program": "HOLE_PROGRAM",
    "policy": "HOLE_PROGRAM",
}
_BRACKET = re.compile(r"\s*\(")
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_MOST_PROBLEMS = 20  # of form, in one file: each costs another reading
_STRUCTURE = re.compile(
    r"//[^\n]*|/\*[\s\S]*?\*/|\"(?:\\[\s\S]|[^\"\\])*\"|'(?:\\[\s\S]|[^'\\])*'|[][(){};]"
)


def parse(text: str, *, file: str = "<program>") -> ast.Program | ast.Policy:
    """Return the program or policy of a text, or raise GenieError.

    >>> parse("now => @com.x.q() => notify").rules[0].query.function
    'q'
    """
    program: ast.Program | ast.Policy = _read(text, "input", ProgramReader(file))
    return program


def parse_type(text: str, *, file: str = "<type>") -> Type:
    """Return the type of that name, or raise GenieError.

    >>> str(parse_type("Array(Entity(tt:hashtag))")), str(parse_type("PathName"))
    ('Array(Entity(tt:hashtag))', 'Entity(tt:path_name)')
    """
    type_: Type = _read(text, "lone_type", ProgramReader(file))
    return type_


def parse_fragment(
    text: str, holes: Mapping[str, str], *, file: str = "<body>", class_name: str = ""
) -> ast.Lambda:
    """Return a template body; `holes` maps the names of the template's children to their kinds.

    Where a query, stream, action or predicate may stand, such a name becomes a Hole, and `a(o)` a
    hole whose gap is filled; a child of kind source may stand where a query may. As the name of an
    output or as a value, the name of a child stays text. A lone `true` is a predicate. Any other
    name before a bracket is a function of `class_name`, if that is given.

    >>> parse_fragment("edge (monitor q) on p", {"q": "query", "p": "predicate"}).body.predicate
    Hole(name='p', kind='predicate', argument=None, inputs=())
    """
    reader = ProgramReader(file, holes, is_body=True, class_name=class_name)
    fragment: ast.Lambda = _read(text, "fragment", reader)
    return fragment


def parse_library(text: str, *, file: str) -> tuple[ClassDef | Dataset, ...]:
    """Return the classes and datasets of a file, or raise GenieError with all mistakes found.

    >>> [d.name for d in parse_library('class @x.y {} dataset @x.y language "en" {}', file="x.tt")]
    ['x.y', 'x.y']
    """
    reader = LibraryReader(file)
    problems: list[Problem] = []
    rest = text
    tree = None
    while tree is None and len(problems) < _MOST_PROBLEMS:
        try:
            tree = _tree(rest, "library", file, {})
        except _SyntaxProblem as error:
            problems.append(error.problem)
            shorter = _without_definition(rest, error.position)
            if shorter is None:
                break
            rest = shorter
    library = reader.transform(tree) if tree is not None else ()
    _raise_if_any(problems + reader.problems, text, file)
    return tuple(library)


def parse_classes(text: str, *, file: str) -> tuple[ClassDef, ...]:
    """Return the classes of a file, or raise GenieError; datasets in it are left out.

    >>> parse_classes("class @x.y { action beep(); }", file="x.tt")[0].functions[0].name
    'beep'
    """
    library = parse_library(text, file=file)
    return tuple(item for item in library if isinstance(item, ClassDef))


class _SyntaxProblem(Exception):
    """A mistake of form, and the offset where it was noticed."""

    def __init__(self, problem: Problem, position: int) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.position = position


class _Holes(PostLex):
    """Gives the names of children the terminal of their kind, on the way to the parser.

    Attributes:
        kinds: the children of the body that is being read.
        text: the body, where names before brackets are functions of its class, else "".
    """

    always_accept = ()
    kinds: Mapping[str, str] = {}
    text = ""

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        for token in stream:
            if token.type.startswith("HOLE_"):
                token.type = self.terminal(token)
            yield token

    def terminal(self, token: Token) -> str:
        """Return the terminal of a name that stands where a child may."""
        hole = _HOLES.get(self.kinds.get(str(token), ""))
        if hole is not None or not self.text:
            return hole or "NAME"
        after = self.text[token.end_pos or 0 :]
        is_value = is_constructor(token) or is_computed(token, after)
        is_call = _BRACKET.match(after) and not is_value
        return "HOLE_CALL" if is_call else "NAME"


_CHILDREN = _Holes()


@cache
def _lark() -> Lark:
    grammar = files("genie_dp.languages.thingtalk") / "grammar.lark"
    return load_lark(
        grammar.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="contextual",
        start=list(_STARTS),
        propagate_positions=True,
        maybe_placeholders=False,
        postlex=_CHILDREN,
    )


def _read(text: str, start: str, reader: ProgramReader) -> Any:
    try:
        tree = _tree(text, start, reader.file, reader.holes, reader.class_name)
    except _SyntaxProblem as error:
        raise GenieError(error.problem, sources={reader.file: text}) from None
    result = reader.transform(tree)
    _raise_if_any(reader.problems, text, reader.file)
    return result


def _raise_if_any(problems: list[Problem], text: str, file: str) -> None:
    if problems:
        places = [(p.span.line, p.span.column) if p.span else (0, 0) for p in problems]
        ordered = [p for _, p in sorted(zip(places, problems, strict=True), key=lambda x: x[0])]
        raise GenieError(ordered, sources={file: text})


def _tree(
    text: str, start: str, file: str, holes: Mapping[str, str], class_name: str = ""
) -> Tree[Token]:
    """Return the parse tree; names of children get the terminal of their kind on the way in.

    Mistakes of a text are found by reading it once more, token by token, which is slower.
    """
    _CHILDREN.kinds, _CHILDREN.text = holes, text if class_name else ""
    if _HALF_CHARACTER.search(text) is None:
        try:
            quick = _lark().parse(text, start=start)
        except (UnexpectedToken, UnexpectedCharacters):
            quick = None
        if quick is not None and too_deep_tree(quick) is None:
            return quick
    return _tree_by_tokens(text, start, file, holes)


def _tree_by_tokens(text: str, start: str, file: str, holes: Mapping[str, str]) -> Tree[Token]:
    parser = _lark().parse_interactive(text, start=start)
    tokens: list[Token] = []
    try:
        for token in parser.lexer_thread.lex(parser.parser_state):  # type: ignore[no-untyped-call]
            if token.type.startswith("HOLE_"):
                token.type = _CHILDREN.terminal(token)
            elif token.type == "STRING" and has_half_character(token):
                message = "this text holds half of a character"
                hint = "write both halves, such as \\ud83d\\ude00, or the character itself"
                problem = Problem("S002", message, token_span(token, file), hint, stage="syntax")
                raise _SyntaxProblem(problem, token.start_pos or 0)
            parser.feed_token(token)
            tokens.append(token)
        last = tokens[-1] if tokens else None
        tree: Tree[Token] = parser.feed_eof(last)  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        failure = Failure(
            token=error.token,
            previous=tokens[-1] if tokens else None,
            accepted=_find_accepted(tokens, start),
            terminals={terminal.name: terminal for terminal in _lark().terminals},
            text=text,
            file=file,
            holes=holes,
        )
        start_pos = error.token.start_pos if failure.word else len(text)
        raise _SyntaxProblem(unexpected_token(failure), start_pos or 0) from None
    except UnexpectedCharacters as error:
        start_pos = error.pos_in_stream or 0
        raise _SyntaxProblem(unexpected_character(error, text, file), start_pos) from None
    deep = too_deep_tree(tree) if len(tokens) > DEEPEST else None
    if deep is not None:
        problem = Problem("S007", TOO_DEEP, token_span(deep.meta, file), HINT, stage="syntax")
        raise _SyntaxProblem(problem, deep.meta.start_pos)
    return tree


def _find_accepted(tokens: list[Token], start: str) -> frozenset[str]:
    """Return the possible tokens after the given ones.

    The parser that failed does not know: it has acted on the bad token as far as it could.
    """
    parser = _lark().parse_interactive("", start=start)
    for token in tokens:
        parser.feed_token(token)
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


def _without_definition(text: str, position: int) -> str | None:
    """Return the text with the definition around `position` blanked; None if none is found.

    A definition of a class or dataset ends with `;`. Where the mistake is outside of them, all of
    the class or dataset is blanked. The places of all other parts stay the same.
    """
    start, end = _member_around(text, position)
    if start is None:
        start, end = _block_around(text, position)
    blank = re.sub(r"\S", " ", text[start:end])
    if blank == text[start:end]:
        return None
    return text[:start] + blank + text[end:]


def _marks(text: str) -> list[tuple[str, int, int]]:
    """Return every `;`, `{` and `}` outside of parentheses, with its offset and brace depth.

    The depth is that of the inside for both braces. A `;` ends all open parentheses: none may
    stand inside them, so one must have been forgotten.
    """
    marks, depth, parentheses = [], 0, 0
    for match in _STRUCTURE.finditer(text):
        match match[0]:
            case "(" | "[":
                parentheses += 1
            case ")" | "]":
                parentheses = max(0, parentheses - 1)
            case ";":
                parentheses = 0
                marks.append((";", match.start(), depth))
            case "{" if not parentheses:
                depth += 1
                marks.append(("{", match.start(), depth))
            case "}" if not parentheses:
                marks.append(("}", match.start(), depth))
                depth = max(0, depth - 1)
    return marks


def _member_around(text: str, position: int) -> tuple[int | None, int]:
    start: int | None = None
    for mark, offset, depth in _marks(text):
        if offset < position:
            if mark == "}" and depth == 1:
                start = None
            elif depth == 1:
                start = offset + 1
        elif depth == 1 and start is not None:
            if mark == ";":
                return start, offset + 1
            return (start, offset) if mark == "}" else (None, 0)
    return None, 0


def _block_around(text: str, position: int) -> tuple[int, int]:
    start = 0
    for mark, offset, depth in _marks(text):
        if mark == "}" and depth == 1:
            if offset >= position:
                return start, offset + 1
            start = offset + 1
    return start, len(text)
