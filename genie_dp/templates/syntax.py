"""Reads the text of template files into the syntax tree of ast.py."""

import math
import os.path
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePath
from typing import Any, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.templates.ast import (
    Category,
    Child,
    Choice,
    Determiner,
    File,
    Import,
    Inflect,
    Item,
    Literal,
    Optional,
    PythonCall,
    Request,
    Template,
    Using,
    Words,
)
from genie_dp.templates.expand import children_of
from genie_dp.templates.guard import Guard, parse_guard
from genie_dp.templates.source import Source, statements, without_comments
from genie_dp.templates.syntax_errors import syntax_problem
from genie_dp.templates.words import parse_words, unquoted

# The functions over utterances call themselves once a bracket; nobody nests three.
DEEPEST = 50


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark.open(
        "template.lark",
        rel_to=__file__,
        start="statement",
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_file(
    text: str, *, file: str = "<templates>", prefix: str = ""
) -> tuple[File, list[Problem]]:
    """Return the statements of a file that can be read, and the mistakes in all the others.

    Paths of tables are joined to the folder of `file`; `prefix` begins the ids of templates that
    write none (default: the stem of the file's name).

    >>> parsed, problems = parse_file("NP[num=pl] := 'my files' -> @x.list() #[weight=2];")
    >>> parsed.templates[0].id, parsed.templates[0].body_text, problems
    ('<templates>.NP.1', '@x.list()', [])
    """
    source = Source(file, text)
    reader = _Reader(source, prefix or PurePath(file).stem)
    found: list[Import | Using | Category | Template] = []
    problems: list[Problem] = []
    for piece in statements(source):
        if piece.problem is not None:
            problems.append(piece.problem)
        if piece.end > piece.start:
            try:
                found.append(reader.statement(piece.start, piece.end))
            except GenieError as error:
                # The rest of a statement without its end is not worth a second message.
                if piece.problem is None:
                    problems.extend(error.problems)
    return _sorted_file(found), problems


def _sorted_file(found: Iterable[Import | Using | Category | Template]) -> File:
    found = tuple(found)
    return File(
        tuple(s for s in found if isinstance(s, Import)),
        tuple(s for s in found if isinstance(s, Using)),
        tuple(s for s in found if isinstance(s, Category)),
        tuple(s for s in found if isinstance(s, Template)),
    )


class _Reader:
    """Builds nodes; `base` is where the statement at hand begins in the file."""

    def __init__(self, source: Source, prefix: str):
        self.source = source
        self.prefix = prefix
        self.base = 0
        self.counts: dict[str, int] = {}

    def statement(self, start: int, end: int) -> Import | Using | Category | Template:
        self.base = start
        text = self.source.text[start:end]
        try:
            tree = _parser().parse(text)
        except UnexpectedInput as error:
            raise GenieError(syntax_problem(error, self.source, start, end)) from None
        span = self.source.span(start, end)
        deep = _too_deep(tree)
        if deep is not None:
            message = f"expected at most {DEEPEST} brackets in each other, got more"
            raise self._error("G001", message, deep)
        children = tree.children
        match tree.data:
            case "import":
                return Import(unquoted(_token(children[0])), span=span)
            case "using":
                return Using(unquoted(_token(children[0])), span=span)
            case "category":
                return _category(children, span)
            case _:
                return self._template(children, span)

    # ------------------------------------------------------------------------- templates

    def _template(self, children: list[Any], span: Span) -> Template:
        name, features, alternatives, body, guard, *annotations = children
        category = str(name)
        utterance = self._alternatives(alternatives)
        body_text, body_span = self._text(body)
        self.counts[category] = self.counts.get(category, 0) + 1
        settings = self._settings(annotations)
        return Template(
            id=settings.pop("id", f"{self.prefix}.{category}.{self.counts[category]}"),
            category=category,
            features=_features(features),
            utterance=utterance,
            body_text=body_text,
            body_span=body_span,
            guard=self._guard(guard, utterance),
            guard_span=None if guard is None else self._span(guard),
            weight=settings.pop("weight", 1.0),
            flags=tuple(settings.items()),
            python=_python_call(body_text, body_span),
            span=span,
        )

    def _guard(self, tree: Tree[Token] | None, utterance: tuple[Item, ...]) -> Guard:
        if tree is None:
            return Guard()
        text, span = self._text(tree)
        names = tuple(child.name for child in children_of(utterance))
        return parse_guard(text, names, span=span)

    def _text(self, tree: Tree[Token]) -> tuple[str, Span]:
        start, end = self.base + tree.meta.start_pos, self.base + tree.meta.end_pos
        return without_comments(self.source.text[start:end]), self.source.span(start, end)

    def _settings(self, annotations: list[Tree[Token]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for annotation in annotations:
            for setting in cast("list[Tree[Token]]", annotation.children):
                name, value = str(setting.children[0]), _token(setting.children[1])
                if name in found:
                    raise self._error("G006", f"#[{name}=..] is given twice", setting)
                found[name] = self._setting(name, value, setting)
        return found

    def _setting(self, name: str, value: Token, tree: Tree[Token]) -> Any:
        match name, value.type:
            case "id", "STRING":
                return unquoted(value)
            case "weight", "NUMBER" if 0 < float(value) < math.inf:
                return float(value)
            case "id" | "weight", _:
                wanted = "a quoted text" if name == "id" else "a number above 0"
                raise self._error("G006", f"expected {wanted} for #[{name}=..], got {value}", tree)
            case _, _ if value in ("true", "false"):
                return value == "true"
            case _:
                hint = did_you_mean(name, ("id", "weight"))
                raise self._error(
                    "G006", f"expected true or false for #[{name}=..], got {value}", tree, hint
                )

    # ------------------------------------------------------------------------ utterances

    def _alternatives(self, tree: Tree[Token]) -> tuple[Item, ...]:
        sequences = [self._sequence(t) for t in cast("list[Tree[Token]]", tree.children)]
        if len(sequences) == 1:
            return sequences[0]
        return (Choice(tuple(sequences), span=self._span(tree)),)

    def _sequence(self, tree: Tree[Token]) -> tuple[Item, ...]:
        return tuple(self._item(item) for item in cast("list[Tree[Token]]", tree.children))

    def _item(self, tree: Tree[Token]) -> Item:
        match tree.data:
            case "words":
                token = _token(tree.children[0])
                return self._words(token)
            case "child":
                return self._child(tree)
            case "determiner":
                name, attribute = (_token(child) for child in tree.children)
                if attribute != "det":
                    message = f"expected {name}.det, got {name}.{attribute}"
                    raise self._error("G001", message, tree, "write name:CATEGORY for a child")
                return Determiner(str(name), span=self._span(tree))
            case "choice":
                items = self._alternatives(cast("Tree[Token]", tree.children[0]))
                if len(items) == 1 and isinstance(items[0], Choice):
                    return items[0]
                return Choice((items,), span=self._span(tree))
            case _:
                items = self._alternatives(cast("Tree[Token]", tree.children[0]))
                return Optional(items, span=self._span(tree))

    def _words(self, token: Token) -> Words:
        start = self.base + cast("int", token.start_pos)
        return parse_words(str(token), self.source, start)

    def _child(self, tree: Tree[Token]) -> Child:
        name, target, requests = cast("tuple[Token, Token, Tree[Token] | None]", tree.children)
        is_table = target.type == "STRING"
        return Child(
            str(name),
            category="" if is_table else str(target),
            table=self._beside(unquoted(target)) if is_table else "",
            requests=tuple(
                self._request(r)
                for r in cast("list[Tree[Token]]", requests.children if requests else [])
            ),
            span=self._span(tree),
        )

    def _beside(self, path: str) -> str:
        return beside(self.source.file, path)

    def _request(self, tree: Tree[Token]) -> Request:
        name, *values = tree.children
        span = self._span(tree)
        match values:
            case [Tree() as child]:
                return Request(str(name), (), self._child(child), span=span)
            case [Token("STRING") as text]:
                words = self._words(text)
                said = _waiting(words) if name == "after" else None
                return Request(str(name), (said or _plain(words, span),), span=span)
            case _:
                return Request(str(name), tuple(str(value) for value in values), span=span)

    # ---------------------------------------------------------------------------- errors

    def _span(self, tree: Tree[Token]) -> Span:
        return self.source.span(self.base + tree.meta.start_pos, self.base + tree.meta.end_pos)

    def _error(
        self, code: str, message: str, tree: Tree[Token], hint: str | None = None
    ) -> GenieError:
        return GenieError(Problem(code, message, self._span(tree), hint, stage="syntax"))


def _too_deep(tree: Tree[Token]) -> Tree[Token] | None:
    rest = [(tree, 0)]
    while rest:
        node, depth = rest.pop()
        depth += node.data in ("choice", "optional", "child")
        if depth > DEEPEST:
            return node
        rest.extend((child, depth) for child in node.children if isinstance(child, Tree))
    return None


def beside(file: str, path: str) -> str:
    """Return a path that a file writes relative to its folder, joined to that folder.

    >>> beside("grammars/en/main.genie", "../toppings.tsv")
    'grammars/toppings.tsv'
    """
    return os.path.normpath(os.path.join(os.path.dirname(file), path))


def _waiting(words: Words) -> str | None:
    """Return words that are one form alone, as they stand in a piece: `{is/are}`."""
    match words.parts:
        case (Inflect(None, forms),):
            return f"{{{'/'.join(forms)}}}"
        case _:
            return None


def _plain(words: Words, span: Span) -> str:
    match words.parts:
        case (Literal(text),):
            return text
        case ():
            return ""
        case _:
            message = "the words of a gap are plain: no $placeholder and no {a/b}"
            raise GenieError(Problem("G003", message, span, stage="syntax"))


# ------------------------------------------------------------------------------- small pieces


def _token(child: Any) -> Token:
    return cast("Token", child)


def _category(children: list[Any], span: Span) -> Category:
    name, kind, root, description = children
    text = unquoted(description) if description is not None else ""
    return Category(str(name), str(kind), root is not None, text, span=span)


def _features(tree: Tree[Token] | None) -> tuple[tuple[str, str], ...]:
    if tree is None:
        return ()
    pairs = cast("list[Tree[Token]]", tree.children)
    return tuple((str(pair.children[0]), str(pair.children[1])) for pair in pairs)


_PYTHON = re.compile(r"python\s*\.\s*(\w+)\s*\(\s*((?:\w+\s*(?:,\s*\w+\s*)*)?)\)\s*\Z")


def _python_call(body: str, span: Span) -> PythonCall | None:
    if not re.match(r"python\s*\.", body):
        return None
    match = _PYTHON.match(body)
    if match is None:
        message = "expected python.NAME(child, ..) with names of children"
        raise GenieError(Problem("G001", message, span, stage="syntax"))
    arguments = tuple(a.strip() for a in match[2].split(",") if a.strip())
    return PythonCall(match[1], arguments, span=span)
