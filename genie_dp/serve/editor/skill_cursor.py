"""The context of a place in a skill.tt, for typing and for pointing."""

import re
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)|(?P<string>\"(?:\\.|[^\"\\\n])*\")|(?P<open>\"[^\n]*)"
    r"|(?P<class>@[\w.\-]*)|(?P<name>[^\W\d]\w*)|(?P<annotation>\#_?\[)|(?P<symbol>\S)"
)
_TYPED = re.compile(r"(?:@[\w.\-]*|[^\W\d]\w*)\Z")
_OPENING, _CLOSING = "([{", ")]}"

Place = Literal[
    "class",
    "member",
    "parameter",
    "type",
    "dimension",
    "unit",
    "annotation",
    "phrase",
    "string",
    "",
]


@dataclass(frozen=True, slots=True)
class SkillCursor:
    """A place in a skill.tt.

    Attributes:
        place: the syntactic place: where a parent class, a member of the class, a parameter, a
            type, the measured quantity of a unit, a unit of which another one is so many, the name
            of an annotation, a part of speech stands, or inside of a text; "" elsewhere.
        typed: the part of the word before the cursor.
        last: the token before that word; before a bracket, its owner.
        class_name, function, parameter: the declarations that it is inside of; "" for none.
        annotation: the annotation that it is inside of.
    """

    place: Place
    typed: str = ""
    last: str = ""
    class_name: str = ""
    function: str = ""
    parameter: str = ""
    annotation: str = ""


def skill_cursor_at(text: str, offset: int) -> SkillCursor:
    """Return the context of a place.

    >>> cursor = skill_cursor_at("class @c { query q(out size : Num", 33)
    >>> cursor.place, cursor.function, cursor.parameter, cursor.typed
    ('type', 'q', 'size', 'Num')
    """
    match = _TYPED.search(text, 0, offset)
    reader = _SkillReader(match.group() if match else "")
    for token in _TOKEN.finditer(text, 0, offset):
        word = token.group()
        match token.lastgroup:
            case None if token.end() == offset and word.startswith("//"):
                return SkillCursor("")
            case None:
                pass
            case "open":
                reader.typed = word[1:]
                return reader.cursor("string")
            case sort if token.end() < offset or word != reader.typed:
                reader.take(word, sort)
    return reader.cursor(_place_of(reader.tokens, reader.stack, reader.annotation))


class _SkillReader:
    """Follows the tokens of a skill.tt; knows the open constructs at the end of them."""

    def __init__(self, typed: str):
        self.typed = typed
        self.tokens = [""]
        self.stack: list[str] = []
        self.class_name = self.function = self.parameter = self.annotation = ""

    def take(self, word: str, sort: str) -> None:
        last = self.tokens[-1]
        if sort == "class" and last == "class":
            self.class_name = word[1:]
        elif sort == "name":
            self._take_name(word, last)
        elif sort == "annotation" or word in _OPENING:
            self.stack.append(word)
        elif word in _CLOSING and self.stack:
            if self.stack.pop().startswith("#"):
                self.annotation = ""
        elif word == ";" and self.stack == ["{"]:
            self.function = self.parameter = ""
        self.tokens.append(word)

    def _take_name(self, word: str, last: str) -> None:
        if last in ("query", "action"):
            self.function, self.parameter = word, ""
        elif last in ("req", "opt", "out") and self.stack == ["{", "("]:
            self.parameter = word
        elif self.stack and self.stack[-1].startswith("#") and not self.annotation:
            self.annotation = word

    def cursor(self, place: Place) -> SkillCursor:
        last = self.tokens[-2] if self.tokens[-1] == "(" else self.tokens[-1]
        return SkillCursor(
            place, self.typed, last, self.class_name, self.function, self.parameter, self.annotation
        )


def _place_of(tokens: list[str], stack: list[str], annotation: str) -> Place:
    last = tokens[-1]
    brackets = next((n for n, word in enumerate(stack) if word.startswith("#")), None)
    if brackets is not None:
        inner = stack[brackets + 1 :]
        if not annotation and not inner:
            return "annotation"
        return "phrase" if annotation == "canonical" and inner == ["{"] and last in "{," else ""
    if not stack:
        return "class" if last in ("extends", ",") else ""
    if stack == ["{", "(", "("]:
        return "type" if last == "(" else ""
    if stack == ["{", "("]:
        if last == ":":
            return "type"
        return "parameter" if last in ("(", ",", "in") else ""
    if stack != ["{"]:
        return ""
    begin = max(n for n, word in enumerate(tokens) if word in ("", "{", "}", ";"))
    member = tokens[begin + 1 :]
    if member[:1] == ["unit"]:
        is_size = "=" in member and last.isdigit()
        return "dimension" if last == "of" else "unit" if is_size else ""
    return "member" if last in ("{", ";", "monitorable", "list", "}") else ""
