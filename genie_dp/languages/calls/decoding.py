"""Which tokens may follow in calls: tools and their arguments, values that fit their types.

Arguments come in the order of their names. Texts and names are spans of the sentence, or known
ones; numbers are those of the sentence, or known ones. Either must be within the limits of its
type. `$?` may stand for any value, so that every prefix can be completed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import types as ty
from genie_dp.languages.automaton import (
    NOTHING,
    Automaton,
    AutomatonState,
    CopySentence,
    Frame,
    TextNode,
    text_tree,
)
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.forms import CallsForm
from genie_dp.languages.calls.library import Field, Tool, ToolLibrary, ValueType, types_of
from genie_dp.languages.calls.text import (
    AND,
    OPEN,
    THEN,
    argument_head,
    from_tokens,
    head,
    value_tokens,
)
from genie_dp.languages.calls.typecheck import Results, may_be, misfits
from genie_dp.languages.calls.values import NUMBER
from genie_dp.languages.terms.frames import (
    NO_TEXTS,
    QUOTE,
    BoundChoice,
    Choice,
    CopyChoice,
    choose_text,
    continue_text,
    is_plain,
    start_text,
)
from genie_dp.languages.text import escape_word
from genie_dp.languages.types import is_slot


@dataclass(frozen=True, slots=True)
class CallsLimits:
    """How much a decoded program may hold.

    Attributes:
        tokens: from here on, brackets are closed as soon as they may be.
        calls: of a program.
        items: of a list, unless its type wants more.
        path: parts of a reference.
    """

    tokens: int = 300
    calls: int = 8
    items: int = 16
    path: int = 3


_FLAGS = frozenset(("true", "false"))
_OPEN_SET = frozenset((OPEN,))
_MOST_PATHS = 40  # of references to one tool's result
_MOST_WORDS = 24  # of a text that is restricted


def constants_of(program: str, utterance: str = "") -> Iterator[str]:
    """Yield the constants and references of a program that its sentence does not have.

    A reference is given with the tool whose result it is.

    >>> list(constants_of('f( a= 3 b= " red " ) => g( x= $1.id )', "paint it red"))
    ['3', '$f .id']
    """
    words, tokens = f" {utterance} ", program.split(" ")
    for literal in CallsForm(program).literals:
        literal_words = tokens[literal.start : literal.end]
        copied = f" {' '.join(literal_words)} "
        if literal.is_text:
            kind = literal_words[-1][2:] if literal_words[-1][:2] == "^^" else ""
            length = len(literal_words) - (2 if kind else 1)
            copied = f" {' '.join(literal_words[1:length])} "
            if kind.startswith("tt:"):  # these are no words
                copied = ""
        is_copied = literal.is_text or NUMBER.fullmatch(literal_words[0])
        if not (is_copied and copied.strip() and copied in words):
            yield " ".join(literal_words)
    if " $" in program:
        tree = from_tokens(program)
        called = [call.name for call in ast.calls_of(tree)]
        for value in ast.values_of(tree):
            if isinstance(value, ast.Reference) and value.path and value.call <= len(called):
                path = value_tokens(ast.Reference(1, value.path)).removeprefix("$1")
                yield f"${escape_word(called[value.call - 1])} {path}"


class CallsGrammar:
    """Calls over a library.

    Every prefix can be completed; a complete one is read by `from_tokens` and is well-typed.
    """

    def __init__(
        self,
        library: ToolLibrary,
        *,
        texts: Iterable[str] = (),
        limits: CallsLimits | None = None,
    ):
        """Learn the constants.

        Args:
            library: the tools.
            texts: constants that sentences do not have, as `constants_of` gives them.
            limits: how much a program may hold.

        Raises:
            GenieError: L011 without any tool.
        """
        if not library.tools:
            message = "expected tools whose calls can be written, got none"
            raise GenieError(Problem("L011", message, hint="name a file of tools with --skills"))
        limits = limits or CallsLimits()
        constants = _KnownConstants(texts)
        dearest = max(_cost_of_fields(tool.parameters) for tool in library.tools.values())
        reserve = dearest + 8
        self._automaton = Automaton(limits.tokens + reserve, reserve)
        self._language = _CallsLanguage(library, constants, limits, self._automaton)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""
        return self._language.vocabulary()

    def begin(self, sentence: Sequence[str]) -> AutomatonState:
        """Return the empty prefix for a sentence, whose tokens may be copied."""
        start = self._automaton.make(_begin, self._language, (), ())
        return self._automaton.begin((start,), CopySentence(sentence, is_plain))


def _cost_of_fields(fields: Sequence[Field]) -> int:
    """Return the most tokens that are needed to close brackets with such fields."""
    required = sum(2 for field in fields if field.is_required)
    return 1 + required + max((_cost(field.type) for field in fields), default=1)


def _cost(type_: ValueType) -> int:
    """Return the most tokens that are needed to complete a value that was begun."""
    match type_.sort:
        case "object":
            return 1 + _cost_of_fields(type_.fields)
        case "array":
            assert type_.item is not None
            return 1 + type_.fewest_items + _cost(type_.item)
        case "union":
            return max(map(_cost, type_.options))
        case _ if type_.limits.is_of_texts:
            return _MOST_WORDS + 2
        case _:
            return 4  # a word, the closing quote and the kind


class _KnownConstants:
    """Constants that sentences need not have.

    Attributes:
        texts: the tree of texts; of names, by kind.
        plain: texts, as they are written in programs -> their values.
        paths: tool -> paths into its results.
    """

    def __init__(self, texts: Iterable[str]):
        self.numbers: dict[str, ast.Number] = {}
        self.moments: dict[str, ast.Moment] = {}
        self.paths: dict[str, set[str]] = {}
        self.plain: dict[str, str] = {}
        words: dict[str, list[str]] = {}
        for text in sorted(set(texts)):
            if text.startswith("$"):
                tool, _, path = text[1:].partition(" ")
                self.paths.setdefault(tool, set()).add(path)
                continue
            [call] = from_tokens(f"f( x= {text} )").steps[0]
            assert isinstance(call, ast.Call)
            match call.arguments[0].value:
                case ast.Number() as number:
                    self.numbers[text] = number
                case ast.Moment() as moment:
                    self.moments[text] = moment
                case ast.Text(value) | ast.Name(value) as said:
                    kind = said.kind if isinstance(said, ast.Name) else ""
                    inner = text.removesuffix(f" ^^{kind}")[2:-2]
                    words.setdefault(kind, []).append(inner if value else "")
                    if not kind:
                        self.plain[inner if value else ""] = value
                case _:
                    pass
        self.texts: dict[str, TextNode] = {}
        for kind, said_words in words.items():
            tree = self.texts[kind] = text_tree(filter(None, said_words))
            tree.is_end = "" in said_words

    def words(self) -> Iterator[str]:
        nodes = [*self.texts.values()]
        while nodes:
            node = nodes.pop()
            yield from node.words
            nodes += node.following.values()


class _CallsLanguage:
    """The state that the frames share."""

    def __init__(
        self,
        library: ToolLibrary,
        known: _KnownConstants,
        limits: CallsLimits,
        automaton: Automaton,
    ):
        self.library, self.known, self.limits, self.automaton = library, known, limits, automaton
        self.heads = {head(name): tool for name, tool in library.tools.items()}
        self.begins = frozenset(self.heads)
        self._fixed: dict[ValueType, frozenset[str]] = {}
        self._paths: dict[str, tuple[tuple[str, ValueType | None], ...]] = {}

    def fixed_words(self, type_: ValueType) -> frozenset[str]:
        """Return the tokens that a value may begin with, references and copies left out."""
        allowed = self._fixed.get(type_)
        if allowed is None:
            allowed = self._fixed[type_] = self.automaton.set_of(
                frozenset(self._find_fixed(type_)) | _OPEN_SET
            )
        return allowed

    def _find_fixed(self, type_: ValueType) -> Iterator[str]:
        if type_.is_nullable:
            yield "null"
        match type_.sort:
            case "enum":
                yield from map(value_tokens, type_.values)
            case "boolean":
                yield from _FLAGS
            case "array":
                yield "["
            case "object":
                yield "{"
            case "union":
                for option in type_.options:
                    yield from self._find_fixed(option)
            case "number":
                yield from (t for t, n in self.known.numbers.items() if _fits(n, type_))
            case "text" if type_.type in (ty.DATE, ty.TIME) or isinstance(type_.type, ty.Measure):
                yield from (t for t, m in self.known.moments.items() if _fits(m, type_))
            case "text" if takes_words(type_) or _kind_of(type_) in self.known.texts:
                # Which texts fit the sentence tells.
                yield from () if type_.limits.is_of_texts else QUOTE
            case "any":
                yield '"'
                yield from (*_FLAGS, *self.known.numbers)
            case _:
                pass

    def paths(self, tool: str) -> tuple[tuple[str, ValueType | None], ...]:
        """Return the paths into the result of a tool, each with the type at its end."""
        if tool not in self._paths:
            paths_of_tool = dict(self._find_paths(tool))
            self._paths[tool] = tuple(paths_of_tool.items())
        return self._paths[tool]

    def _find_paths(self, tool: str) -> Iterator[tuple[str, ValueType | None]]:
        results = Results(self.library, [tool])
        paths = {"", *self.known.paths.get(escape_word(tool), ())}
        paths |= set(_declared_paths(self.library.tools[tool].result, self.limits.path))
        for path in sorted(paths):
            [call] = from_tokens(f"f( x= $1{path} )").steps[0]
            assert isinstance(call, ast.Call)
            reference = call.arguments[0].value
            assert isinstance(reference, ast.Reference)
            type_ = results.find(reference)
            if not isinstance(type_, Problem):
                yield path, type_

    def references(self, earlier: tuple[str, ...], type_: ValueType) -> frozenset[str]:
        """Return the references to results of earlier calls that may be of a type."""
        return frozenset(
            f"${number}{path}"
            for number, tool in enumerate(earlier, start=1)
            for path, result in self.paths(tool)
            if result is None or may_be(result, type_)
        )

    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that frames may have."""
        vocabulary = {*self.begins, AND, THEN, OPEN, ")", "]", "}", '"', "null", *_FLAGS}
        vocabulary |= {*self.known.words(), *self.known.numbers, *self.known.moments}
        numbers = range(1, self.limits.calls + 1)
        for name, tool in self.library.tools.items():
            vocabulary |= {f"${number}{path}" for path, _ in self.paths(name) for number in numbers}
            vocabulary |= {argument_head(parameter.name) for parameter in tool.parameters}
        for type_ in types_of(self.library):
            vocabulary |= self.fixed_words(type_) | {
                argument_head(field.name) for field in type_.fields
            }
            if isinstance(type_.type, ty.Entity):
                vocabulary.add(f"^^{type_.type.kind}")
        return frozenset(vocabulary)


def _declared_paths(type_: ValueType | None, depth: int, before: str = "") -> list[str]:
    paths: list[str] = []
    waiting = [(type_, depth, before)]
    while waiting and len(paths) < _MOST_PATHS:
        part, levels, path = waiting.pop(0)
        if path:
            paths.append(path)
        if part is None or not levels:
            continue
        if part.sort == "array":
            waiting.append((part.item, levels - 1, f"{path}.0"))
        for field in part.fields:
            token = value_tokens(ast.Reference(1, (field.name,))).removeprefix("$1")
            waiting.append((field.type, levels - 1, path + token))
    return paths


def takes_words(type_: ValueType) -> bool:
    """Return whether words of a sentence may be a value: texts and names, no addresses or dates."""
    match type_.type:
        case ty.STRING | ty.ANY:
            return type_.sort in ("text", "any")
        case ty.Entity(kind):
            return not kind.startswith("tt:")
        case _:
            return False


def _fits(value: ast.Value, type_: ValueType) -> bool:
    return not any(True for _ in misfits(value, type_, ""))


# ----------------------------------------------------------------------------------- frames


def _begin(language: _CallsLanguage, earlier: tuple[str, ...], now: tuple[str, ...]) -> Choice:
    """Return the beginning of a call.

    Args:
        language: the shared state of the frames.
        earlier: the tools of earlier steps.
        now: those of this one.
    """
    make = language.automaton.make
    cheapest = min(map(_count_required, language.heads.values()))

    def following(token: str, _: CopySentence) -> Sequence[Frame]:
        tool = language.heads[token]
        arguments = make(_fields, language, tool.parameters, 0, ")", earlier)
        return arguments, make(_after, language, earlier, (*now, tool.name))

    cheap = (t for t, tool in language.heads.items() if _count_required(tool) == cheapest)
    return Choice(language.begins, following, closing=frozenset(cheap))


def _count_required(tool: Tool) -> int:
    return sum(p.is_required for p in tool.parameters)


def _after(language: _CallsLanguage, earlier: tuple[str, ...], now: tuple[str, ...]) -> Choice:
    """Return the frame after a call: the end, a call beside it, or the next step."""
    is_full = len(earlier) + len(now) >= language.limits.calls

    def following(token: str, _: CopySentence) -> Sequence[Frame]:
        tools = (earlier, now) if token == AND else ((*earlier, *now), ())
        return (language.automaton.make(_begin, language, *tools),)

    signs = NOTHING if is_full else frozenset((AND, THEN))
    return Choice(signs, following, closing=NOTHING, skips=True)


def _fields(
    language: _CallsLanguage,
    fields: tuple[Field, ...],
    start: int,
    end: str,
    earlier: tuple[str, ...],
) -> Choice:
    """Return the next argument or field, from a place on, or the closing bracket."""
    places: dict[str, int] = {}
    ending = frozenset((end,))
    for place in range(start, len(fields)):
        places[argument_head(fields[place].name)] = place
        if fields[place].is_required:
            ending = NOTHING
            break

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == end:
            return ()
        value = _value(language, fields[places[token]].type, earlier, sentence)
        rest = language.automaton.make(_fields, language, fields, places[token] + 1, end, earlier)
        return value, rest

    return Choice(
        frozenset(places) | ending, following, closing=ending or frozenset([*places][-1:])
    )


def _value(
    language: _CallsLanguage, type_: ValueType, earlier: tuple[str, ...], sentence: CopySentence
) -> Frame:
    """Return the frame of a value; one of the sentence, if it decides whether a text may come."""
    quote = _quote(language, type_, sentence)
    if quote is None:
        return language.automaton.make(_choose_value, language, type_, earlier)
    return sentence.make(_choose_value, language, type_, earlier, quote)


def _choose_value(
    language: _CallsLanguage,
    type_: ValueType,
    earlier: tuple[str, ...],
    quote: frozenset[str] | None = None,
) -> CopyChoice:
    """Return a value of a type.

    Args:
        language: the shared state of the frames.
        type_: the type.
        earlier: the tools of earlier steps.
        quote: the quote, if a text of the sentence keeps the limits of the type; None where the
            type implies.
    """

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        return begin_value(language, type_, earlier, token, sentence)

    return (CopyChoice if quote is None else BoundChoice)(
        language.fixed_words(type_) | language.references(earlier, type_) | (quote or NOTHING),
        lambda sentence, is_closing: NOTHING if is_closing else copies(type_, sentence),
        following,
        closing=_OPEN_SET,
    )


def copies(type_: ValueType, sentence: CopySentence) -> frozenset[str]:
    """Return the words of a sentence that are values of a type by themselves."""
    return sentence.find(_find_values, type_)


def _find_values(type_: ValueType, sentence: CopySentence) -> frozenset[str]:
    return frozenset(word for word in sentence.starts if _is_value(word, type_))


def _is_value(word: str, type_: ValueType) -> bool:
    if is_slot(word):
        return type_.sort == "any" or _fits(ast.Slot(word), type_)
    number = ast.read_number(word) if NUMBER.fullmatch(word) else None
    value = None if number is None else ast.Number(number)
    return value is not None and value_tokens(value) == word and _fits(value, type_)


def _quote(
    language: _CallsLanguage, type_: ValueType, sentence: CopySentence
) -> frozenset[str] | None:
    """Return the quote, if a text may begin, where the sentence decides that; None elsewhere."""
    if '"' in language.fixed_words(type_):
        return None
    if not any(option.limits.is_of_texts for option in type_.options or (type_,)):
        return None
    node = sentence.find(_find_texts, language, _option_of(type_, '"', language.known))
    return QUOTE if node.following or node.is_end else NOTHING


def _find_texts(language: _CallsLanguage, type_: ValueType, sentence: CopySentence) -> TextNode:
    """Return the tree of texts of a sentence, and of known ones, that keep the limits of a type."""
    plain, words = language.known.plain, sentence.words
    short = (t for t in plain if t.count(" ") < _MOST_WORDS)
    texts = [text for text in short if _fits(ast.Text(plain[text]), type_)]
    for start in range(len(words)):
        for end in range(start + 1, min(start + _MOST_WORDS, len(words)) + 1):
            if not words[end - 1]:
                break
            text = " ".join(words[start:end])
            if _fits(ast.Text(text), type_):
                texts.append(text)
    tree = text_tree(filter(None, texts))
    tree.is_end = "" in texts
    return tree


def begin_value(
    language: _CallsLanguage,
    type_: ValueType,
    earlier: tuple[str, ...],
    token: str,
    sentence: CopySentence,
) -> tuple[Frame, ...]:
    """Return the frame after the first token of a value."""
    if token not in ("[", "{", '"'):
        return ()
    option = _option_of(type_, token, language.known)
    if token == "[":
        return (_items(language, option, 0, earlier, sentence),)
    if token == "{":
        return (language.automaton.make(_fields, language, option.fields, 0, "}", earlier),)
    kind, kinds = _kind_of(option), _kinds_of_names(type_)
    node = language.known.texts.get(kind, NO_TEXTS)
    if option.limits.is_of_texts:
        start = choose_text(sentence, sentence.find(_find_texts, language, option))
    else:
        start = (start_text if takes_words(option) else continue_text)(sentence, node)
    if not kind:
        return (start,)
    marks = [f"^^{name}" for name in (kinds if kind in kinds else (kind,))]
    return start, language.automaton.token(*marks)


def _kind_of(type_: ValueType) -> str:
    return type_.type.kind if isinstance(type_.type, ty.Entity) else ""


def _kinds_of_names(type_: ValueType) -> tuple[str, ...]:
    """Return the kinds of names that a type may be."""
    options = type_.options or (type_,)
    return tuple(kind for o in options if takes_words(o) and (kind := _kind_of(o)))


def _option_of(type_: ValueType, token: str, known: _KnownConstants) -> ValueType:
    """Return the first type of a union that such a value begins; of texts, one of words first."""
    sorts = {"[": ("array",), "{": ("object",), '"': ("text", "any")}[token]
    options = [option for option in type_.options or (type_,) if option.sort in sorts]
    if token == '"':
        free = [o for o in options if takes_words(o)]
        options = sorted(free, key=lambda o: o.limits.is_of_texts) + [
            o for o in options if _kind_of(o) in known.texts
        ]
    return options[0]


def _items(
    language: _CallsLanguage,
    type_: ValueType,
    count: int,
    earlier: tuple[str, ...],
    sentence: CopySentence,
) -> Frame:
    """Return the next item of a list after some, or its end; of the sentence as `_value` is."""
    assert type_.item is not None
    quote = _quote(language, type_.item, sentence)
    if quote is None:
        return language.automaton.make(_choose_item, language, type_, count, earlier)
    return sentence.make(_choose_item, language, type_, count, earlier, quote)


def _choose_item(
    language: _CallsLanguage,
    type_: ValueType,
    count: int,
    earlier: tuple[str, ...],
    quote: frozenset[str] | None = None,
) -> CopyChoice:
    """Return the next item of a list after `count`, or its end; else as `_choose_value`."""
    item = type_.item
    assert item is not None
    limit = language.limits.items if type_.most_items is None else type_.most_items
    ending = frozenset(("]",)) if count >= type_.fewest_items else NOTHING
    has_room = count < limit or not ending
    begins = language.fixed_words(item) | language.references(earlier, item) | (quote or NOTHING)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "]":
            return ()
        inside = begin_value(language, item, earlier, token, sentence)
        return *inside, _items(language, type_, count + 1, earlier, sentence)

    return (CopyChoice if quote is None else BoundChoice)(
        begins | ending if has_room else ending,
        lambda sentence, is_closing: (
            copies(item, sentence) if has_room and not is_closing else NOTHING
        ),
        following,
        closing=ending or _OPEN_SET,
    )
