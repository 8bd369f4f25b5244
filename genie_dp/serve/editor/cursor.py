"""The context of a place in a template file, for typing and for pointing."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from genie_dp.serve.editor.places import Range
from genie_dp.templates.syntax import COMMENT, STRING, TemplateSource, statements

_TOKEN = re.compile(
    rf"(?P<comment>{COMMENT})|(?<=\w)'(?=\w)|(?P<string>{STRING})|(?P<open>['\"][^\n]*)"
    r"|(?P<function>@[\w.\-]*)|(?P<placeholder>\$(?:[^\W\d]\w*)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<space>\s+)"
    r"|(?P<symbol>:=|->|→|=>|\#_?\[|==|!=|[<>=]~|~=|>=|<=|&&|\|\||.)",
    re.DOTALL,
)
_TYPED = re.compile(r"(?:@[\w.\-]*|\$?[^\W\d]\w*|\$)\Z")
_FOR = re.compile(r"for\s+@([\w.\-]+)")
_PLACEHOLDER = re.compile(r"\\.|\$(?:\{\s*)?(?P<name>[^\W\d]\w*)")
COMPARISONS = frozenset(
    ("=", "==", "!=", "=~", "~=", ">=", "<=", ">", "<", "contains", "in_array", "starts_with",
     "ends_with")
)  # fmt: skip
_POINTED_AT = frozenset(("name", "function", "placeholder", "string"))
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Word:
    """A token of a statement."""

    kind: Literal["comment", "string", "open", "function", "placeholder", "name", "symbol"]
    text: str
    start: int
    end: int


Part = Literal[
    "start", "kind", "class", "utterance", "requests", "body", "guard", "annotation", "words", ""
]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a template file.

    Attributes:
        part: of which part of a statement it is; "words" inside of a quoted text, "" in comments.
        typed: the part of the word before the cursor.
        before: the tokens of the statement before that word, comments left out.
        statement: all tokens of the statement.
        inside: the tokens before each bracket that is open here, the innermost last.
        class_name: the class that a `for` before the statement names; "" for none.
        text: the statement.
    """

    part: Part
    typed: str
    before: tuple[Word, ...]
    statement: tuple[Word, ...]
    inside: tuple[tuple[Word, ...], ...]
    class_name: str = ""
    text: str = ""

    def last(self, number: int = 1) -> str:
        """Return the last token before the word, or the one before it, ..; "" if there is none."""
        return self.before[-number].text if len(self.before) >= number else ""

    @property
    def children(self) -> dict[str, str]:
        """Return the children of the whole statement: name -> category, "" for a table."""
        return _children(self.statement)

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters of the body's lambda: name -> type as it is written."""
        return _parameters(self.statement)

    @property
    def placeholders(self) -> dict[str, Range]:
        """Return the placeholders of the utterance, and where each is first written."""
        ranges: dict[str, Range] = {}
        for word in self.statement:
            if word.text in ("->", "→"):
                break
            for match in _PLACEHOLDER.finditer(word.text) if word.kind == "string" else ():
                if match["name"]:
                    place = (word.start + match.start(), word.start + match.end())
                    ranges.setdefault(match["name"], place)
        return ranges

    def functions(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the functions that the body names and that are known, with their class."""
        named = (self.function(word) for word in self.statement)
        return tuple(dict.fromkeys(name for name in named if name in known))

    def function(self, word: Word) -> str:
        """Return the function that a word would name: after `for` it may stand by itself."""
        is_alone = word.kind == "name" and self.class_name
        return f"@{self.class_name}.{word.text}" if is_alone else word.text

    def call(self, known: Collection[str]) -> tuple[str, tuple[str, ...]] | None:
        """Return the function whose brackets are open here, and the inputs that have a value.

        Args:
            known: all functions; words such as `monitor` have brackets, too.
        """
        for opening in reversed(self.inside):
            if opening[-1].text != "(":
                return None
            if len(opening) > 1 and (function := self.function(opening[-2])) in known:
                return function, self._given_names(opening[-1])
        return None

    def _given_names(self, opening: Word) -> tuple[str, ...]:
        """Return the names before "=" that follow a bracket, up to the end of the statement."""
        depth, names = 0, []
        after = [w for w in self.statement if w.start >= opening.end]
        for word, following in zip(after, [*after[1:], None], strict=False):
            depth += (word.text in _OPENING) - (word.text in _CLOSING)
            if depth < 0:
                break
            if depth == 0 and word.kind == "name" and following and following.text == "=":
                names.append(word.text)
        return tuple(names)


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """Return the tokens of a piece of a template file, comments left out.

    >>> [w.text for w in words_of("NP := 'it' -> @c.q(a = x); // b")]
    ['NP', ':=', "'it'", '->', '@c.q', '(', 'a', '=', 'x', ')', ';']
    """
    words = _words(text, start, len(text) if end is None else end)
    return [word for word in words if word.kind != "comment"]


def _words(text: str, start: int, end: int) -> list[Word]:
    return [
        Word(match.lastgroup or "symbol", match.group(), match.start(), match.end())  # type: ignore[arg-type]
        for match in _TOKEN.finditer(text, start, end)
        if match.lastgroup != "space"
    ]


def statement_at(text: str, offset: int) -> tuple[int, int, str]:
    """Return where the statement at a place begins and ends, and the class of a `for` before it.

    An empty place counts as one, too.

    >>> statement_at("for @c.d; NP := 'a' -> b();  VP", 31)
    (29, 31, 'c.d')
    """
    start = 0  # of what is open here, whether or not it has a word yet
    class_name = ""
    for place in statements(TemplateSource("", text)):
        if offset < place.start:
            break
        if offset <= place.end:
            return place.start, place.end, class_name
        if named := _FOR.match(text, place.start, place.end):
            class_name = named[1]
        is_closed = text[place.end : place.end + 1] == ";"
        start = place.end + 1 if is_closed else place.start
    return start, offset, class_name


def cursor_at(text: str, offset: int) -> Cursor:
    """Return the context of a place.

    >>> cursor = cursor_at("NP := 'a' -> @c.q(b = 1, lev", 28)
    >>> cursor.part, cursor.typed, cursor.call({"@c.q"})
    ('body', 'lev', ('@c.q', ('b',)))
    """
    start, end, class_name = statement_at(text, offset)
    everything = _words(text, start, max(end, offset))
    statement = tuple(w for w in everything if w.kind != "comment")
    within = next((w for w in everything if w.start < offset and offset <= w.end), None)
    if within is not None and within.kind == "comment" and not _is_closed(within, offset):
        return Cursor("", "", (), statement, ())
    is_quoted = within is not None and within.kind in ("string", "open")
    if within is not None and is_quoted and (within.kind == "open" or offset < within.end):
        before = tuple(w for w in statement if w.end <= within.start)
        typed = text[within.start + 1 : offset]
        return Cursor("words", typed, before, statement, (), class_name, text[start:end])
    match = _TYPED.search(text, start, offset)
    typed = match.group() if match else ""
    before = tuple(w for w in statement if w.end <= offset - len(typed))
    inside = _open_brackets(before)
    part = _part_of(before, inside)
    return Cursor(part, typed, before, statement, inside, class_name, text[start:end])


def _is_closed(comment: Word, offset: int) -> bool:
    return offset >= comment.end and comment.text.startswith("/*") and comment.text.endswith("*/")


def word_at(text: str, offset: int) -> tuple[Word, Cursor] | None:
    """Return the token at the cursor, and the token before it."""
    start, end, _ = statement_at(text, offset)
    for word in words_of(text, start, end):
        if word.start <= offset <= word.end and word.kind in _POINTED_AT:
            return word, cursor_at(text, word.start)
    return None


def _open_brackets(words: Sequence[Word]) -> tuple[tuple[Word, ...], ...]:
    inside: list[tuple[Word, ...]] = []
    for number, word in enumerate(words):
        if word.kind != "symbol":
            continue
        if word.text[-1] in _OPENING:
            inside.append(tuple(words[: number + 1]))
        elif word.text in _CLOSING and inside:
            inside.pop()
    return tuple(inside)


def _part_of(before: Sequence[Word], inside: Sequence[Sequence[Word]]) -> Part:
    """Return of which part of a statement the place after some tokens is."""
    if not before:
        return "start"
    if before[0].text == "category":
        return "kind" if before[-1].text == ":" else ""
    if before[0].text == "for":
        return "class" if len(before) == 1 else ""
    if before[0].text in ("import", "using"):
        return ""
    texts = [word.text for word in before if word.kind in ("symbol", "name")]
    if any(opening[-1].text in ("#[", "#_[") for opening in inside):
        return "annotation"
    if ":=" not in texts:
        return "requests" if inside else "start"
    if "->" not in texts and "→" not in texts:
        return "requests" if inside and inside[-1][-1].text == "[" else "utterance"
    depth = 0
    for word in before:
        depth += (word.text[-1] in _OPENING) - (word.text in _CLOSING)
        if depth == 0 and word.kind == "name" and word.text == "if":
            return "guard"
    return "body"


def _children(statement: Sequence[Word]) -> dict[str, str]:
    children: dict[str, str] = {}
    for number, word in enumerate(statement[2:], start=2):
        if word.text in ("->", "→"):
            break
        if statement[number - 1].text == ":" and statement[number - 2].kind == "name":
            is_category = word.kind == "name"
            children[statement[number - 2].text] = word.text if is_category else ""
    return children


def _parameters(statement: Sequence[Word]) -> dict[str, str]:
    """Return the parameters of a lambda, and their types.

    >>> cursor_at(r"NP := '$x' -> \\(x : Entity(tt:url), y : Date) -> @c.q();", 40).parameters
    {'x': 'Entity(tt:url)', 'y': 'Date'}
    """
    start = next((n for n, w in enumerate(statement) if w.text in ("\\", "λ")), None)
    if start is None:
        return {}
    parameters: dict[str, str] = {}
    name, depth = "", 0
    for word in statement[start + 1 :]:
        depth += (word.text == "(") - (word.text == ")")
        if depth == 0:
            break
        if depth == 1 and word.text in ("(", ","):
            name = ""
        elif not name:
            name = word.text
            parameters[name] = ""
        elif parameters[name] or word.text != ":":
            parameters[name] += word.text
    return parameters
