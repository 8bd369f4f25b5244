"""Rows with ThingTalk 2 programs as rows of ours, or why they have no equal."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from genie_dp.dataset.in_step import in_step
from genie_dp.dataset.left import Left, NoEqual
from genie_dp.dataset.thingtalk2.reader import Renamed, read
from genie_dp.dataset.thingtalk2.said import with_placeholders
from genie_dp.dataset.thingtalk2.sentences import compacted, masked, renamed
from genie_dp.dataset.thingtalk2.statements import program_of
from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.slots import slot_type
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import children, functions_used, rewrite, source_calls
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.records import Example, Slot, Source
from genie_dp.skills.words import tokenize

ILL_TYPED = "does not type-check"
NORMAL_FORM = "no canonical form"
_UNTYPED = TokenStyle(types=False)


@dataclass(frozen=True, slots=True)
class Converter:
    """What is known of the functions that the programs use.

    Attributes:
        library: of the skills; rows that do not type-check in it are left out, and the others get
            types. None: tokens without types.
        queries: functions that are queries, where the library does not know them.
        placeholders: whether texts and names that a sentence says become placeholders.
    """

    library: Any = None
    queries: frozenset[str] = frozenset()
    placeholders: bool = False

    def row(self, id: str, utterance: str, program: str, source: Source) -> Example | Left:
        """Return the row with our program, or why there is none."""
        try:
            words, tree = self._converted(utterance, program)
            tree = self._canonical(tree)
            text = tokens(tree, self.library) if self.library else tokens(tree, style=_UNTYPED)
        except NoEqual as error:
            return Left(id, utterance, program, error.reason, error.detail)
        text = in_step(text, words)
        functions = tuple(f"@{c.selector.class_name}.{c.function}" for c in _calls(tree))
        return Example(
            id, " ".join(words), text, source=source, functions=functions,
            slots=dict(_slots(tree, self.library)),
        )  # fmt: skip

    def program(self, text: str) -> tuple[ast.Program | ast.Policy, tuple[Renamed, ...]]:
        """Return our program for a text, and the placeholders that its sentence must get.

        Raises:
            NoEqual: there is none.
        """
        if text.startswith("now"):  # ThingTalk 1, as older rows have it
            try:
                return parse(text), ()
            except GenieError:
                pass  # or so it seems: what the other grammar says of it is told
        statements, changes = read(text)
        return program_of(statements, self._is_action), changes

    def _converted(
        self, utterance: str, program: str
    ) -> tuple[tuple[str, ...], ast.Program | ast.Policy]:
        tree, changes = self.program(masked(program))
        words = tokenize(masked(utterance))
        if changes:
            words = renamed(words, changes)
        names = compacted(words, _placeholders(tree))
        if names:
            words = tuple(names.get(word, word) for word in words)
            tree = rewrite(tree, lambda node: _renumbered(node, names))
        return with_placeholders(words, tree) if self.placeholders else (words, tree)

    def _canonical(self, tree: ast.Program | ast.Policy) -> ast.Program | ast.Policy:
        if self.library is not None:
            errors = [p for p in check(tree, self.library) if p.severity == "error"]
            if errors:
                first = errors[0]
                raise NoEqual(f"{ILL_TYPED} ({first.code})", first.message)
        try:
            return canonical(tree, self.library)
        except GenieError as error:
            raise NoEqual(NORMAL_FORM, error.problems[0].message) from None

    def _is_action(self, name: str) -> bool | None:
        if self.library is not None:
            class_name, _, function = name[1:].rpartition(".")
            found = self.library.function(class_name, function)
            if found is not None:
                return bool(found.kind == "action")
        return False if name in self.queries else None


def _renumbered(node: Any, names: dict[str, str]) -> Any:
    match node:
        case ast.SlotValue(token):
            return replace(node, token=names.get(token, token))
    return node


def _placeholders(node: Any) -> Iterator[str]:
    if isinstance(node, ast.SlotValue):
        yield node.token
    for child in children(node):
        yield from _placeholders(child)


def _calls(tree: ast.Program | ast.Policy) -> Iterator[ast.Call]:
    return (call for call in functions_used(tree) if isinstance(call, ast.Call))


def _slots(node: Any, library: Any, source: str = "") -> Iterator[tuple[str, Slot]]:
    """Yield placeholders with their type and the parameter that they fill, such as @c.f:x."""
    match node:
        case ast.Call(selector, function, args):
            source = f"@{selector.class_name}.{function}"
            for arg in (*selector.attributes, *args):
                yield from _slots_of(arg.name, arg.value, source)
            return
        case ast.Filter(query, predicate):
            yield from _slots(query, library, source)
            yield from _slots(predicate, library, _last(query))
            return
        case ast.Edge(stream, predicate) | ast.StreamFilter(stream, predicate):
            yield from _slots(stream, library, source)
            yield from _slots(predicate, library, _last(stream))
            return
        case ast.GetPredicate(call, predicate):
            yield from _slots(call, library, source)
            yield from _slots(predicate, library, _last(call))
            return
        case ast.Atom(name, _, value):
            yield from _slots_of(name, value, source)
            return
        case ast.SlotValue(token):
            yield token, Slot(str(slot_type(token)), source)
            return
    for child in children(node):
        yield from _slots(child, library, source)


def _slots_of(name: str, value: Any, function: str) -> Iterator[tuple[str, Slot]]:
    for token in _placeholders(value):
        yield token, Slot(str(slot_type(token)), f"{function}:{name}" if function else name)


def _last(node: Any) -> str:
    """Return the right-most function: names mean its outputs."""
    match node:
        case ast.Monitor(query):
            node = query
        case ast.Edge(stream) | ast.StreamFilter(stream):
            return _last(stream)
        case ast.Timer() | ast.AtTimer():
            return ""
    calls = list(source_calls(node)) if not isinstance(node, ast.StreamJoin) else []
    if not calls:
        return ""
    return f"@{calls[-1].selector.class_name}.{calls[-1].function}"
