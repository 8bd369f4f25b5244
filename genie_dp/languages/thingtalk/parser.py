"""Text to syntax tree: programs, policies, classes, datasets, types, template bodies.

grammar.lark says what can be read. A mistake of form ends the reading of a program; in a library
file the definition that holds it is skipped, so that one run reports the mistakes of all of them.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lark import PostLex

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.declarations import ClassDef, Dataset
from genie_dp.languages.thingtalk.depth import DEEPEST, HINT, TOO_DEEP, too_deep_tree
from genie_dp.languages.thingtalk.syntax_errors import (
    Failure,
    token_span,
    unexpected_character,
    unexpected_token,
)
from genie_dp.languages.thingtalk.transform import ProgramReader
from genie_dp.languages.thingtalk.transform_library import LibraryReader
from genie_dp.languages.thingtalk.transform_values import has_half_character
from genie_dp.languages.thingtalk.types import Type

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


def parse_fragment(text: str, holes: Mapping[str, str], *, file: str = "<body>") -> ast.Lambda:
    """Return a template body; `holes` maps the names of the template's children to their kinds.

    Where a query, stream, action or predicate may stand, such a name becomes a Hole, and `a(o)` a
    hole whose gap is filled; a child of kind source may stand where a query may. As the name of an
    output or as a value, the name of a child stays text. A lone `true` is a predicate.

    >>> parse_fragment("edge (monitor q) on p", {"q": "query", "p": "predicate"}).body.predicate
    Hole(name='p', kind='predicate', argument=None)
    """
    fragment: ast.Lambda = _read(text, "fragment", ProgramReader(file, holes))
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


def parse_dataset(text: str, *, file: str) -> Dataset:
    """Return the only dataset of a file, or raise GenieError.

    >>> text = 'dataset @x.y language "en" { action := @x.y.beep() #_[utterances=["beep"]]; }'
    >>> parse_dataset(text, file="x.tt").examples[0].utterances
    ('beep',)
    """
    found = [d for d in parse_library(text, file=file) if isinstance(d, Dataset)]
    if len(found) != 1:
        span = found[1].span if found else Span(file, 1, 1, 1, 1)
        message = f"expected one dataset, got {len(found) or 'none'}"
        _raise_if_any([Problem("S006", message, span, stage="syntax")], text, file)
    return found[0]


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
    """

    always_accept = ()
    kinds: Mapping[str, str] = {}

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        for token in stream:
            if token.type.startswith("HOLE_"):
                token.type = _HOLES.get(self.kinds.get(str(token), ""), "NAME")
            yield token


_CHILDREN = _Holes()


@cache
def _lark() -> Lark:
    grammar = files("genie_dp.languages.thingtalk") / "grammar.lark"
    return Lark(
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
        tree = _tree(text, start, reader.file, reader.holes)
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


def _tree(text: str, start: str, file: str, holes: Mapping[str, str]) -> Tree[Token]:
    """Return the parse tree; names of children get the terminal of their kind on the way in.

    What is wrong with a text is found by reading it once more, token by token, which is slower.
    """
    _CHILDREN.kinds = holes
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
                token.type = _HOLES.get(holes.get(str(token), ""), "NAME")
            elif token.type == "STRING" and has_half_character(token):
                raise _half_character(token, file)
            parser.feed_token(token)
            tokens.append(token)
        last = tokens[-1] if tokens else None
        tree: Tree[Token] = parser.feed_eof(last)  # type: ignore[no-untyped-call]
    except UnexpectedToken as error:
        failure = Failure(
            token=error.token,
            previous=tokens[-1] if tokens else None,
            accepted=_accepted(tokens, start),
            terminals={terminal.name: terminal for terminal in _lark().terminals},
            text=text,
            file=file,
            holes=holes,
        )
        at = error.token.start_pos if failure.word else len(text)
        raise _SyntaxProblem(unexpected_token(failure), at or 0) from None
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise _SyntaxProblem(unexpected_character(error, text, file), at) from None
    deep = too_deep_tree(tree) if len(tokens) > DEEPEST else None
    if deep is not None:
        problem = Problem("S007", TOO_DEEP, token_span(deep.meta, file), HINT, stage="syntax")
        raise _SyntaxProblem(problem, deep.meta.start_pos)
    return tree


def _half_character(token: Token, file: str) -> _SyntaxProblem:
    message = "this text holds half of a character"
    hint = "write both halves, such as \\ud83d\\ude00, or the character itself"
    problem = Problem("S002", message, token_span(token, file), hint, stage="syntax")
    return _SyntaxProblem(problem, token.start_pos or 0)


def _accepted(tokens: list[Token], start: str) -> frozenset[str]:
    """Return what may follow the tokens.

    The parser that failed cannot tell: it has acted on the bad token as far as it could.
    """
    parser = _lark().parse_interactive("", start=start)
    for token in tokens:
        parser.feed_token(token)
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


def _without_definition(text: str, position: int) -> str | None:
    """Return the text with the definition around `position` blanked; None if none is found.

    A definition of a class or dataset ends with `;`. Where the mistake is outside of them, all of
    the class or dataset is blanked. Places of what stays are the same.
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
    for mark, at, depth in _marks(text):
        if at < position:
            if mark == "}" and depth == 1:
                start = None
            elif depth == 1:
                start = at + 1
        elif depth == 1 and start is not None:
            if mark == ";":
                return start, at + 1
            return (start, at) if mark == "}" else (None, 0)
    return None, 0


def _block_around(text: str, position: int) -> tuple[int, int]:
    start = 0
    for mark, at, depth in _marks(text):
        if mark == "}" and depth == 1:
            if at >= position:
                return start, at + 1
            start = at + 1
    return start, len(text)
