"""Reads the text of template files into the syntax tree of ast.py.

A file is cut into statements, which are read one by one: a mistake in one does not hide the others.
"""

import math
import os.path
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.run.cache import load_lark
from genie_dp.skills.words import tokenize
from genie_dp.templates.ast import (
    Category,
    CategoryWords,
    Child,
    Choice,
    Determiner,
    ForClass,
    Import,
    Inflect,
    Item,
    Optional,
    Part,
    Placeholder,
    PlainWords,
    PythonCall,
    QuotedWords,
    Request,
    Template,
    TemplateFile,
    Using,
    WordTemplate,
    children_of,
    is_of_words,
)
from genie_dp.templates.guard import Guard, parse_guard

STRING = r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\""""
COMMENT = r"//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)"
# What can begin a statement at the start of a line: where the one before was left open, it ends
# here, and one mistake does not swallow the rest of the file.
_HEAD = (
    r"""^[ \t]*(?:(?:import|using)\b(?=\s*["'])|category\b(?=\s+\w+\s*:)|for\b(?=\s*@)"""
    r"""|[^\W\d]\w*\s*(?:\[[^\]\n]*\]\s*)?:=)"""
)
_SCAN = re.compile(
    rf"(?P<comment>{COMMENT})|(?P<head>{_HEAD})|(?<=\w)'(?=\w)|{STRING}|[()\[\]{{}};]",
    re.MULTILINE,
)
_RESUMES = re.compile(rf"(?:\s|{COMMENT})*(?:\Z|{_HEAD})", re.MULTILINE)
_SPACE = re.compile(rf"(?:\s|{COMMENT})*")
_COMMENT_OR_TEXT = re.compile(rf"(?P<comment>{COMMENT})|(?<=\w)'(?=\w)|{STRING}")


@dataclass(frozen=True)
class TemplateSource:
    """A file's name, as messages show it, and its text."""

    file: str
    text: str

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character, both from 1.

        >>> TemplateSource("x.genie", "a;\\nbc").place(4)
        (2, 2)
        """
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, span: Span) -> int:
        """Return where a span of this file begins.

        >>> source = TemplateSource("x.genie", "a;\\nbc")
        >>> source.offset(source.span(4, 5))
        4
        """
        return self._lines[span.line - 1] + span.column - 1

    def span(self, start: int, end: int) -> Span:
        """Return the span of text[start:end]."""
        return Span(self.file, *self.place(start), *self.place(end))


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """The place of a statement, without its `;`, and the problem at its end, if any."""

    start: int
    end: int
    problem: Problem | None = None


def statements(source: TemplateSource) -> Iterator[StatementPlace]:
    """Yield the statements of a file, also where a `;` or a closing bracket is missing.

    >>> text = "NP := 'a;b' -> @x(); // c;\\nVP := 'd' -> @y()"
    >>> for piece in statements(TemplateSource("x.genie", text)):
    ...     print(repr(text[piece.start:piece.end]), piece.problem and piece.problem.message)
    "NP := 'a;b' -> @x()" None
    "VP := 'd' -> @y()" expected ';' at the end of the statement
    """
    text = source.text
    start, depth = _skip(text, 0), 0
    for match in _SCAN.finditer(text):
        begin, end, token = match.start(), match.end(), match.group()
        if match["comment"]:
            if token.startswith("/*") and not token.endswith("*/"):
                yield _open_comment(source, begin)
            continue
        if match["head"]:
            begin = end - len(token.lstrip())
            if begin > start:
                yield _without_end(source, start, begin)
                start, depth = begin, 0
        elif token == ";":
            if depth == 0 or _RESUMES.match(text, end):
                yield StatementPlace(start, begin)
                start, depth = _skip(text, end), 0
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
    if _skip(text, start) < len(text):
        yield _without_end(source, start, len(text))


def without_comments(text: str) -> str:
    """Return the text with comments blanked: every other character keeps its place.

    >>> without_comments("now /* q */ => '//x' // y")
    "now         => '//x'     "
    """

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group()) if match["comment"] else match.group()

    return _COMMENT_OR_TEXT.sub(blank, text)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _open_comment(source: TemplateSource, begin: int) -> StatementPlace:
    span = source.span(begin, begin + 2)
    problem = Problem("G002", "this comment has no end", span, "close it: */", stage="syntax")
    return StatementPlace(begin, begin, problem)


def _without_end(source: TemplateSource, start: int, limit: int) -> StatementPlace:
    end = start + len(without_comments(source.text[start:limit]).rstrip())
    span = source.span(end, end + 1)
    message = "expected ';' at the end of the statement"
    return StatementPlace(start, end, Problem("G002", message, span, stage="syntax"))


# ------------------------------------------------------------------------------------- quoted texts

_SPECIAL = re.compile(r"\\.|\$\{[^{}]*\}?|\$[^\W\d]\w*|\{[^{}]*\}?|\}")
_BRACED = re.compile(r"\$\{\s*([^\W\d]\w*)\s*(?::\s*(\w+)\s*)?\}\Z")
_INFLECT = re.compile(r"\{(?:\s*([^\W\d]\w*)\s*:)?([^{}]*)\}\Z")
_MOST_FORMS = 3  # singular, plural, mass


def unquote_text(literal: str) -> str:
    r"""Return the text of a quoted literal.

    >>> unquote_text(r"'what\'s new'")
    "what's new"
    """
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def parse_words(literal: str, source: TemplateSource, start: int) -> QuotedWords:
    """Return the parts of a quoted literal that begins at source.text[start].

    Raises:
        GenieError: a placeholder or an inflection is malformed (G003).

    >>> text = "'my {file/files} in $x'"
    >>> for part in parse_words(text, TemplateSource("x.genie", text), 0).parts:
    ...     print(part)
    PlainWords(text='my')
    Inflect(child=None, forms=('file', 'files'))
    PlainWords(text='in')
    Placeholder(name='x', is_const=False)
    """
    reader = _WordsReader(literal, source, start)
    return QuotedWords(tuple(reader.read()), span=source.span(start, start + len(literal)))


class _WordsReader:
    def __init__(self, literal: str, source: TemplateSource, start: int):
        self.literal = literal
        self.source = source
        self.start = start

    def read(self) -> Iterator[Part]:
        text = ""  # plain words not yet given out
        glued = False  # the last thing given out ends where `text` begins
        position, end = 1, len(self.literal) - 1
        while position < end:
            match = _SPECIAL.match(self.literal, position, end)
            if match is None:
                text += self.literal[position]
                position += 1
                continue
            position = match.end()
            piece = match.group()
            if piece[0] == "\\":
                text += piece[1]
            elif piece[0] == "$":
                yield from _plain_words(text, glued)
                text, glued = "", True
                yield self._placeholder(piece, match.start())
            else:
                # `file{/s}`: the letters before and after belong to every form.
                before = re.search(r"[\w'-]*\Z", text)
                prefix = before.group() if before else ""
                after = re.compile(r"[\w'-]*").match(self.literal, position, end)
                suffix = after.group() if after else ""
                position += len(suffix)
                yield from _plain_words(text.removesuffix(prefix), glued)
                text, glued = "", True
                yield self._inflect(piece, match.start(), prefix, suffix)
        yield from _plain_words(text, glued)

    def _placeholder(self, piece: str, place: int) -> Placeholder:
        match = _BRACED.match(piece) if piece.startswith("${") else None
        if match is None and piece.startswith("${"):
            raise self._error(piece, place, "expected ${name} or ${name:const}")
        name, option = (match[1], match[2]) if match else (piece[1:], None)
        if option not in (None, "const"):
            raise self._error(piece, place, f"expected 'const' after the colon, got {option!r}")
        span = self.source.span(self.start + place, self.start + place + len(piece))
        return Placeholder(name, option == "const", span=span)

    def _inflect(self, piece: str, place: int, prefix: str, suffix: str) -> Inflect:
        match = _INFLECT.match(piece)
        if match is None:
            raise self._error(
                piece, place, r"'{' and '}' enclose inflections, such as {is/are}; or write \{"
            )
        forms = [
            " ".join(tokenize(f"{prefix}{form.strip()}{suffix}")) for form in match[2].split("/")
        ]
        if not 1 < len(forms) <= _MOST_FORMS:
            raise self._error(piece, place, "expected {singular/plural} or {singular/plural/mass}")
        span = self.source.span(self.start + place, self.start + place + len(piece))
        return Inflect(match[1], tuple(forms), span=span)

    def _error(self, piece: str, place: int, message: str) -> GenieError:
        span = self.source.span(self.start + place, self.start + place + len(piece))
        return GenieError(Problem("G003", message, span, stage="syntax"))


def _plain_words(text: str, glued: bool) -> Iterator[PlainWords]:
    # After a placeholder, 's is the possessive only if the tokenizer sees what it hangs on.
    tokens = tokenize(f"x{text}")[1:] if glued and text.startswith("'") else tokenize(text)
    if tokens:
        yield PlainWords(" ".join(tokens))


# ------------------------------------------------------------------- statements that cannot be read

_TERMINALS = {
    "STRING": "a quoted text", "NAME": "a name", "TEXT": "a body", "NUMBER": "a number",
    "_ARROW": "'->'", "_IF": "'if'", "ROOT": "'root'", "OPTIONAL": "'optional'",
    "COLON": "':'", "VBAR": "'|'",
    "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'",
    "DOT": "'.'", "EQUAL": "'='", "COMMA": "','", "QMARK": "'?'", "SEMICOLON": "';'",
    "$END": "';'", "IMPORT": "'import'", "USING": "'using'", "CATEGORY": "'category'",
    "FOR": "'for'", "CLASS": "a class such as @com.gmail",
    "__ANON_0": "':='", "__ANON_1": "'#['",
}  # fmt: skip


def syntax_problem(error: UnexpectedInput, source: TemplateSource, start: int, end: int) -> Problem:
    """Return the problem for Lark's error in the statement source.text[start:end]."""
    text = source.text[start:end]
    begin, stop, got, expected = _place_of_error(error, text)
    if text[begin : begin + 1] in ("'", '"') and "STRING" in expected:
        span = source.span(start + begin, start + stop)
        message = "this text has no closing quote on its line"
        close = "close it, or write the words as '..' 'and so on'"
        told = _apostrophe(text[:begin], r"\b") or close
        return Problem("G027", message, span, told, stage="syntax")
    message = f"expected {_list_terminals(expected)}, got {got}"
    hint = _hint_at(text, begin, set(expected))
    span = source.span(start + begin, start + stop)
    return Problem("G001", message, span, hint, stage="syntax")


def _place_of_error(error: UnexpectedInput, text: str) -> tuple[int, int, str, Collection[str]]:
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


def _list_terminals(terminals: Collection[str]) -> str:
    if "TEXT" in terminals and len(terminals) > 1:
        # Where a body may go on, anything may; what would end it helps.
        closing = {"RPAR", "RSQB", "RBRACE"} & set(terminals)
        terminals = closing or {"TEXT"}
    names = sorted({_TERMINALS.get(t, t) for t in terminals})
    if len(names) < 2:
        return names[0] if names else "something else"
    return f"{', '.join(names[:-1])} or {names[-1]}"


APOSTROPHES = ("s", "re", "ve", "ll", "d", "m", "t")  # what stands after one
APOSTROPHE_HINT = "an apostrophe ends a text in '..': write the text in double quotes, or \\'"


def _apostrophe(before: str, end: str = r"\Z") -> str | None:
    is_one = re.search(rf"\w['\"](?:{'|'.join(APOSTROPHES)}){end}", before.rstrip())
    return APOSTROPHE_HINT if is_one else None


def _hint_at(text: str, start: int, expected: set[str]) -> str | None:
    before, rest = text[:start].rstrip(), text[start:]
    if "__ANON_0" in expected:
        keyword = did_you_mean(text.split()[0], ("category", "import", "using", "for"))
        is_near = not rest.startswith((":", "=")) and keyword is not None
        return keyword if is_near else "a template is CATEGORY := utterance -> body"
    if rest[0:1] in tuple("‘’“”"):
        return "these quotes are of a word processor: write ' or \""
    if (apostrophe := _apostrophe(before)) is not None:
        return apostrophe
    if {"COLON", "DOT"} <= expected:
        return "words stand in quotes; a child is name:CATEGORY, such as q:NP"
    if "_ARROW" in expected and not re.search("->|→", rest):
        return "write -> between utterance and body"
    if rest.startswith("if") and before.endswith("]"):
        return "the guard stands before the annotations"
    return None


# --------------------------------------------------------------------------------------- statements

Statement = Import | Using | ForClass | Category | Template | WordTemplate

# The functions over utterances call themselves once a bracket; nobody nests three.
DEEPEST = 50


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files("genie_dp.templates") / "template.lark"
    return load_lark(
        grammar.read_text(encoding="utf-8"),
        start="statement",
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_statement(text: str) -> Tree[Token]:
    """Return the parse tree of one statement that can be read, without its `;`.

    >>> str(parse_statement("import 'a.genie'").data)
    'import'
    """
    return _parser().parse(text)


def parse_file(
    text: str, *, file: str = "<templates>", prefix: str = ""
) -> tuple[TemplateFile, list[Problem]]:
    """Return the statements of a file that can be read, and the mistakes in all the others.

    Paths of tables are joined to the folder of `file`; `prefix` begins the ids of templates that
    write none (default: the stem of the file's name).

    >>> parsed, problems = parse_file("NP[num=pl] := 'my files' -> @x.list() #[weight=2];")
    >>> parsed.templates[0].id, parsed.templates[0].body_text, problems
    ('<templates>.NP.1', '@x.list()', [])
    """
    return FileParser().parse_file(text, file=file, prefix=prefix)


@dataclass(frozen=True, slots=True)
class _ReadStatement:
    """A statement as it was read: its tree, or its problems; and its beginning.

    Attributes:
        class_name: the class that the statements before it name.
    """

    line: int
    column: int
    class_name: str
    node: Statement | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file as it was read.

    Attributes:
        statements: text of a statement -> how it was read, once for each time that it stands there.
    """

    text: str
    parsed: TemplateFile
    problems: list[Problem]
    statements: dict[str, list[_ReadStatement]]


class FileParser:
    """Reads template files, again and again where it is kept.

    A statement that is as before is not parsed again, and one that stands where it stood is the
    very object that it was.

    Attributes:
        known: (file, prefix) -> how the file was read.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], _ReadFile] = {}

    def parse_file(
        self, text: str, *, file: str = "<templates>", prefix: str = ""
    ) -> tuple[TemplateFile, list[Problem]]:
        """Return the result of the function `parse_file`, with unchanged statements reused."""
        known = self.known.get((file, prefix))
        if known is None or known.text != text:
            before = known.statements if known else {}
            known = self.known[file, prefix] = self._read(
                TemplateSource(file, text), prefix, before
            )
        return known.parsed, known.problems

    def _read(
        self, source: TemplateSource, prefix: str, before: dict[str, list[_ReadStatement]]
    ) -> _ReadFile:
        """Read a file; its unchanged statements are taken out of `before`."""
        reader = _StatementReader(source)
        now: dict[str, list[_ReadStatement]] = {}
        counts: dict[str, int] = {}
        parsed: list[Statement] = []
        problems: list[Problem] = []
        for piece in statements(source):
            if piece.problem is not None:
                problems.append(piece.problem)
            if piece.end == piece.start:
                continue
            words = source.text[piece.start : piece.end]
            read = _take_or_read(before.get(words, []), reader, piece)
            if isinstance(read.node, Template):
                category = read.node.category
                counts[category] = counts.get(category, 0) + 1
                stem = prefix or PurePath(source.file).stem
                read = _with_id(read, read.node, f"{stem}.{category}.{counts[category]}")
            now.setdefault(words, []).append(read)
            if read.node is not None:
                parsed.append(read.node)
            elif piece.problem is None:
                # The rest of a statement without its end is not worth a second message.
                problems.extend(read.problems)
        templates = tuple(s for s in parsed if isinstance(s, Template))
        file = TemplateFile(
            tuple(s for s in parsed if isinstance(s, Import)),
            tuple(s for s in parsed if isinstance(s, Using)),
            tuple(s for s in parsed if isinstance(s, ForClass)),
            tuple(s for s in parsed if isinstance(s, Category)),
            templates,
            tuple(c for t in templates for c in children_of(t.utterance) if c.table),
            tuple(s for s in parsed if isinstance(s, WordTemplate)),
        )
        return _ReadFile(source.text, file, problems, now)


def _take_or_read(
    before: list[_ReadStatement], reader: "_StatementReader", piece: StatementPlace
) -> _ReadStatement:
    """Return how a statement was read before, moved to its line, or read it."""
    line, column = reader.source.place(piece.start)
    class_name = reader.class_name
    # Its first line may stand farther to the right now: then the places in it moved unevenly.
    place = (column, class_name)
    fits = (n for n, known in enumerate(before) if (known.column, known.class_name) == place)
    number = next(fits, None)
    if number is None:
        try:
            node = reader.statement(piece.start, piece.end)
        except GenieError as error:
            return _ReadStatement(line, column, class_name, None, error.problems)
        return _ReadStatement(line, column, class_name, node)
    known = before.pop(number)
    if isinstance(known.node, ForClass):
        reader.class_name = known.node.name
    lines = line - known.line
    if not lines:
        return known
    return replace(
        known, line=line, node=_moved(known.node, lines), problems=_moved(known.problems, lines)
    )


def _with_id(read: _ReadStatement, template: Template, identifier: str) -> _ReadStatement:
    """Return a template with its id, if it writes none."""
    if template.has_own_id or template.id == identifier:
        return read
    return replace(read, node=replace(template, id=identifier))


def _moved(node: Any, lines: int) -> Any:
    """Return a node of a statement that stands some lines farther down."""
    match node:
        case Span():
            return replace(node, line=node.line + lines, end_line=node.end_line + lines)
        case tuple():
            return tuple(_moved(item, lines) for item in node)
        case Guard() | PlainWords() | None | str() | bool() | int() | float():
            return node
        case _:
            names = [field.name for field in fields(node)]
            return replace(node, **{name: _moved(getattr(node, name), lines) for name in names})


class _StatementReader:
    """Builds nodes; `base` is where the statement at hand begins in the file.

    `class_name` is the class that the statements so far name.
    """

    def __init__(self, source: TemplateSource):
        self.source = source
        self.base = 0
        self.class_name = ""

    def statement(self, start: int, end: int) -> Statement:
        self.base = start
        text = self.source.text[start:end]
        try:
            tree = parse_statement(text)
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
                return Import(unquote_text(_token(children[0])), span=span)
            case "using":
                return Using(unquote_text(_token(children[0])), span=span)
            case "for":
                self.class_name = _token(children[0])[1:]
                return ForClass(self.class_name, span=span)
            case "category":
                name, kind, root, optional, _, source, named, description = cast(
                    "list[Token]", children
                )
                text = unquote_text(description) if description is not None else ""
                return Category(
                    str(name), str(kind), root is not None, text, optional is not None,
                    str(source or ""), named is not None, span=span,
                )  # fmt: skip
            case _:
                return self._template(children, span)

    # ------------------------------------------------------------------------- templates

    def _template(self, children: list[Any], span: Span) -> Template | WordTemplate:
        name, features, alternatives, body, guard, *annotations = children
        category = str(name)
        utterance = self._alternatives(alternatives)
        if body is None:
            return self._word_template(category, utterance, features, annotations, span)
        body_text, body_span = self._text(body)
        settings = self._settings(annotations)
        return Template(
            has_own_id="id" in settings,
            id=settings.pop("id", ""),
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
            class_name=self.class_name,
            span=span,
        )

    def _word_template(
        self,
        category: str,
        utterance: tuple[Item, ...],
        features: Tree[Token] | None,
        annotations: Sequence[Tree[Token]],
        span: Span,
    ) -> WordTemplate:
        for part in (features, *annotations):
            if part is not None:
                raise self._error("G035", "words alone have no features and no annotations", part)
        if not is_of_words(utterance):
            line, column = span.end_line, span.end_column
            end = Span(span.file, line, column, line, column + 1)
            hint = "a template is CATEGORY := utterance -> body; without a body it is words alone"
            message = "expected '->', got the end of the statement"
            raise GenieError(Problem("G001", message, end, hint, stage="syntax"))
        return WordTemplate(category, utterance, span=span)

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
        settings: dict[str, Any] = {}
        for annotation in annotations:
            for setting in cast("list[Tree[Token]]", annotation.children):
                name, value = str(setting.children[0]), _token(setting.children[1])
                if name in settings:
                    raise self._error("G006", f"#[{name}=..] is given twice", setting)
                settings[name] = self._setting(name, value, setting)
        return settings

    def _setting(self, name: str, value: Token, tree: Tree[Token]) -> Any:
        match name, value.type:
            case "id", "STRING":
                return unquote_text(value)
            case "weight", "NUMBER" if 0 < float(value) < math.inf:
                return float(value)
            case "id" | "weight", _:
                expected = "a quoted text" if name == "id" else "a number above 0"
                raise self._error(
                    "G006", f"expected {expected} for #[{name}=..], got {value}", tree
                )
            case _, _ if value in ("true", "false"):
                return value == "true"
            case _:
                hint = did_you_mean(name, ("id", "weight"))
                raise self._error(
                    "G006", f"expected true or false for #[{name}=..], got {value}", tree, hint
                )

    # ------------------------------------------------------------------------ utterances

    def _alternatives(self, tree: Tree[Token]) -> tuple[Item, ...]:
        sequences = [
            tuple(self._item(item) for item in cast("list[Tree[Token]]", sequence.children))
            for sequence in cast("list[Tree[Token]]", tree.children)
        ]
        if len(sequences) == 1:
            return sequences[0]
        return (Choice(tuple(sequences), span=self._span(tree)),)

    def _item(self, tree: Tree[Token]) -> Item:
        match tree.data:
            case "words":
                token = _token(tree.children[0])
                return self._words(token)
            case "child":
                return self._child(tree)
            case "said":
                return CategoryWords(str(tree.children[0]), span=self._span(tree))
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

    def _words(self, token: Token) -> QuotedWords:
        start = self.base + cast("int", token.start_pos)
        return parse_words(str(token), self.source, start)

    def _child(self, tree: Tree[Token]) -> Child:
        name, target, requests = cast("tuple[Token, Token, Tree[Token] | None]", tree.children)
        is_table = target.type == "STRING"
        return Child(
            str(name),
            category="" if is_table else str(target),
            table=path_beside(self.source.file, unquote_text(target)) if is_table else "",
            requests=tuple(
                self._request(r)
                for r in cast("list[Tree[Token]]", requests.children if requests else [])
            ),
            span=self._span(tree),
        )

    def _request(self, tree: Tree[Token]) -> Request:
        name, *values = tree.children
        span = self._span(tree)
        match values:
            case [Tree() as child]:
                return Request(str(name), (), self._child(child), span=span)
            case [Token("STRING") as text]:
                words = self._words(text)
                form = _form_text(words) if name == "after" else None
                return Request(str(name), (form or _plain_text(words, span),), span=span)
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


def path_beside(file: str, path: str) -> str:
    """Return a path that a file writes relative to its folder, joined to that folder.

    >>> path_beside("grammars/en/main.genie", "../toppings.tsv")
    'grammars/toppings.tsv'
    """
    return os.path.normpath(os.path.join(os.path.dirname(file), path))


def _form_text(words: QuotedWords) -> str | None:
    """Return words that are one form alone, as they stand in a piece: `{is/are}`."""
    match words.parts:
        case (Inflect(None, forms),):
            return f"{{{'/'.join(forms)}}}"
        case _:
            return None


def _plain_text(words: QuotedWords, span: Span) -> str:
    match words.parts:
        case (PlainWords(text),):
            return text
        case ():
            return ""
        case _:
            message = "the words of a gap are plain: no $placeholder and no {a/b}"
            raise GenieError(Problem("G003", message, span, stage="syntax"))


# ------------------------------------------------------------------------------- small pieces


def _token(child: Any) -> Token:
    return cast("Token", child)


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
