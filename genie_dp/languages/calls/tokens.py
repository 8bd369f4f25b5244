"""The token form of calls, which models read and write: tokens separated by one space.

lights.set( level= 40 room= " kitchen " ) => mail.send( to= $1.owner )
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.text import DEEPEST, leaf_text, reference, reference_text
from genie_dp.languages.calls.values import NUMBER, moment_of
from genie_dp.languages.text import escape_word, placeholder_key, sort_key, unescape_word
from genie_dp.languages.types import is_slot

THEN, AND, OPEN = "=>", "&", "$?"
_PRIVATE = re.compile("[\ue000-\uf8ff]")  # what synthesis writes for a placeholder


def tokens(program: ast.Program) -> str:
    """Return the token form of a program.

    >>> from genie_dp.languages.calls.text import parse
    >>> print(tokens(parse('light(room = "bath room", mode = night, at = [1, {x = $?}])')))
    light( room= " bath room " mode= night at= [ 1 { x= $? } ] )
    """
    return f" {THEN} ".join(f" {AND} ".join(map(call_tokens, step)) for step in program.steps)


def call_tokens(call: ast.Call | ast.Hole) -> str:
    """Return the tokens of a call."""
    assert isinstance(call, ast.Call)
    return " ".join([head(call.name), *_fields(call.arguments), ")"])


def head(name: str) -> str:
    """Return the token that begins a call."""
    return f"{escape_word(name)}("


def argument_head(name: str) -> str:
    """Return the token that begins an argument."""
    return f"{escape_word(name)}="


def _fields(arguments: Sequence[ast.Argument]) -> Iterator[str]:
    for argument in arguments:
        yield argument_head(argument.name)
        yield value_tokens(argument.value)


def value_tokens(value: ast.Value) -> str:
    """Return the tokens of a value."""
    match value:
        case ast.Text(text):
            return _quoted(text)
        case ast.Name(words, kind):
            return f"{_quoted(words)} ^^{kind}"
        case ast.Symbol(name):
            return symbol_token(name)
        case ast.Reference():
            return escape_word(reference_text(value))
        case ast.Array(items):
            return " ".join(["[", *map(value_tokens, items), "]"])
        case ast.Record(fields):
            return " ".join(["{", *_fields(fields), "}"])
        case _:
            return leaf_text(value)


def _quoted(text: str) -> str:
    return " ".join(['"', *([escape_word(w) for w in text.split(" ")] if text else ()), '"'])


def symbol_token(name: str) -> str:
    """Return the token of a listed value.

    >>> symbol_token("heat"), symbol_token("very hot"), symbol_token("2")
    ('heat', "'very\\\\u0020hot'", "'2'")
    """
    if ast.is_bare_symbol(name):
        return name
    return "'{}'".format(escape_word(name) if name else "")


def from_tokens(text: str, *, places: bool = False) -> ast.Program:
    """Return the program of a token form, or raise GenieError (Z011, Z012).

    Its nodes carry spans only with `places`.

    >>> from genie_dp.languages.calls.text import parse, render
    >>> render(from_tokens("light( level= 40 ) => tell( what= $1.state )"))
    'light(level = 40) => tell(what = $1.state)'
    """
    return _TokenParser(text, text.split(" "), places).program()


@dataclass(slots=True)
class _TokenParser:
    text: str
    words: list[str]
    with_places: bool
    place: int = 0

    def span(self, start: int, end: int | None = None) -> Span | None:
        """Return the place of the tokens from `start` to before `end`."""
        if not self.with_places:
            return None
        end = start + 1 if end is None else end
        column = sum(map(len, self.words[:start])) + start + 1
        return Span("<tokens>", 1, column, 1, column + len(" ".join(self.words[start:end])))

    def fail(self, expected: str) -> NoReturn:
        self.with_places = True
        if self.place >= len(self.words):
            end = len(self.text) + 1
            span: Span | None = Span("<tokens>", 1, end, 1, end + 1)
            problem = Problem("Z012", f"expected {expected}, got the end", span, stage="syntax")
        else:
            got = self.words[self.place]
            message = f"expected {expected}, got {got!r}"
            problem = Problem("Z011", message, self.span(self.place), stage="syntax")
        raise GenieError(problem, sources={"<tokens>": self.text})

    def word(self, expected: str) -> str:
        if self.place >= len(self.words):
            self.fail(expected)
        return self.words[self.place]

    def program(self) -> ast.Program:
        steps = [[self.call()]]
        while self.place < len(self.words):
            sign = self.words[self.place]
            if sign not in (THEN, AND):
                self.fail("=>, & or the end")
            self.place += 1
            if sign == THEN:
                steps.append([])
            steps[-1].append(self.call())
        return ast.Program(tuple(map(tuple, steps)))

    def call(self) -> ast.Call:
        word, start = self.word("a call"), self.place
        if len(word) < 2 or not word.endswith("("):
            self.fail("a call such as light(")
        self.place += 1
        arguments = self.fields(")", 0)
        return ast.Call(unescape_word(word[:-1]), arguments, self.span(start))

    def fields(self, closing: str, depth: int) -> tuple[ast.Argument, ...]:
        found = []
        while (word := self.word(f"{closing!r}")) != closing:
            if len(word) < 2 or not word.endswith("="):
                self.fail(f"an argument such as level=, or {closing!r}")
            start = self.place
            self.place += 1
            span = self.span(start)
            found.append(ast.Argument(unescape_word(word[:-1]), self.value(depth + 1), span))
        self.place += 1
        return tuple(found)

    def value(self, depth: int) -> ast.Value:
        word, start = self.word("a value"), self.place
        if depth > DEEPEST:
            self.fail(f"at most {DEEPEST} brackets in each other")
        if word == '"':
            return self.quoted()
        if word == "[":
            self.place += 1
            items = []
            while self.word("']'") != "]":
                items.append(self.value(depth + 1))
            self.place += 1
            return ast.Array(tuple(items), self.span(start, self.place))
        if word == "{":
            self.place += 1
            fields = self.fields("}", depth)
            return ast.Record(fields, self.span(start, self.place))
        value = _leaf(word, self.span(start))
        if value is None:
            self.fail("a value")
        self.place += 1
        return value

    def quoted(self) -> ast.Value:
        start = self.place
        self.place += 1
        words = []
        while (word := self.word("'\"'")) != '"':
            words.append(unescape_word(word))
            self.place += 1
        self.place += 1
        text = " ".join(words)
        if self.place < len(self.words) and self.words[self.place].startswith("^^"):
            kind = self.words[self.place][2:]
            if not kind:
                self.fail("^^ and a kind")
            self.place += 1
            return ast.Name(text, kind, self.span(start, self.place))
        return ast.Text(text, self.span(start, self.place))


def _leaf(word: str, span: Span | None) -> ast.Value | None:
    """Return the value of one token, or None if it is none."""
    flag = ast.flag_of(word)
    if flag is not None:
        return ast.Flag(flag.value, span)
    if NUMBER.fullmatch(word):
        number = ast.read_number(word)
        return None if number is None else ast.Number(number, span)
    if is_slot(word) or (len(word) == 1 and _PRIVATE.match(word)):
        return ast.Slot(word, span=span)
    if word == OPEN:
        return ast.Open(span)
    if word[:1] == "$":
        found = unescape_word(word)
        is_text = found[1:].partition(".")[0].isdecimal() and found.isascii()
        value = reference(found, span) if is_text or found[1:2].isdecimal() else None
        return value if value is not None and reference_text(value) == found else None
    kind, is_moment, rest = word.partition(":")
    if is_moment:
        moment = moment_of(kind, rest)
        return None if moment is None else ast.Moment(moment.kind, moment.text, span)
    if len(word) > 1 and word[0] == word[-1] == "'":
        return ast.Symbol(unescape_word(word[1:-1]) if len(word) > 2 else "", span)
    return ast.Symbol(word, span) if ast.is_bare_symbol(word) else None


Scanned = tuple[str, str, str, bool, int]
"""A token; the call that it is in, without its bracket; the argument or field, with its sign, ""
before the first; whether it is a word between quotes; of how many objects it is part."""


def scan(program: Sequence[str]) -> Iterator[Scanned]:
    """Yield the tokens of a program with their places, without reading it."""
    is_text, tool, argument, depth = False, "", "", 0
    for token in program:
        if token == '"':
            is_text = not is_text
            yield token, tool, argument, False, depth
            continue
        if not is_text and len(token) > 1 and token[-1] in "(=":
            if token[-1] == "(":
                tool, argument = token[:-1], ""
            else:
                argument = token
        elif not is_text and token in ("{", "}"):
            depth += 1 if token == "{" else -1
        yield token, tool, argument, is_text, depth
        if token == ")" and not is_text:
            tool, argument = "", ""


# ------------------------------------------------------------------ the order of parallel calls


def key_of(call: str, stems: Mapping[str, str] | None = None) -> str:
    """Return what calls in parallel are sorted by.

    Args:
        call: its tokens.
        stems: private character -> stem of the placeholder that it stands for in synthesis.
    """
    if not stems or stems.keys().isdisjoint(call):
        return sort_key(call)
    words = call.split(" ")
    return sort_key(" ".join(placeholder_key(stems[w], w) if w in stems else w for w in words))


def number_results(call: str, numbers: Mapping[int, int]) -> str:
    """Return the tokens of a call with the calls that it refers to numbered anew.

    >>> number_results('f( x= $1.id y= " $1 " )', {1: 3})
    'f( x= $3.id y= " $1 " )'
    """
    if "$" not in call:
        return call
    is_text, words = False, []
    for word in call.split(" "):
        if word == '"':
            is_text = not is_text
        elif not is_text and word[:1] == "$" and word[1:2].isdecimal():
            old, dot, rest = word[1:].partition(".")
            word = f"${numbers.get(int(old), int(old))}{dot}{rest}"
        words.append(word)
    return " ".join(words)


def sort_steps(
    steps: Sequence[Sequence[str]], stems: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return steps, each the tokens of its calls, with the calls of each in canonical order.

    >>> sort_steps([["b( )", "a( )"], ["c( x= $1 y= $2 )"]])
    (('a( )', 'b( )'), ('c( x= $2 y= $1 )',))
    """
    numbers: dict[int, int] = {}
    found, count = [], 0
    for step in steps:
        calls = [number_results(call, numbers) for call in step]
        order = sorted(range(len(calls)), key=lambda k: key_of(calls[k], stems))
        numbers |= {count + 1 + k: count + 1 + place for place, k in enumerate(order)}
        count += len(calls)
        found.append(tuple(calls[k] for k in order))
    return tuple(found)
