"""Declarations of a file `*.sexpr`: unordered nodes, sets, and the items that a node may hold."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Library, NameList
from genie_dp.languages.sexpr import ast as sx
from genie_dp.texts import read_text

Order = Literal["ordered", "unordered", "set"]
Arity = Literal["", "?", "*", "+"]

_TOKEN = re.compile(r'(?P<skip>\s+|//[^\n]*)|(?P<end>;)|(?P<word>"[^"\n]*"|[^\s;]+)')
_ELEMENT = re.compile(r"(?P<sort>\([^\s()|]+\)|\[[^\s\[\]|]+\]|[^\s()\[\]|?*+]+)(?P<arity>[?*+]?)")
_ENTITY = re.compile("[A-Z][A-Za-z]*")
_STATEMENTS = ("unordered", "set", "apply", "node", "program", "entity")


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a signature: the sorts that it admits, and how often.

    A sort is `(LABEL)` or `[LABEL]` for a node, `String`, `Number`, `#Date` and the like for a
    literal or placeholder of that type, `Atom` (any symbol), `Any`, or a symbol itself.
    """

    sorts: frozenset[str]
    arity: Arity = ""

    @property
    def is_required(self) -> bool:
        """Return whether a node has an item of it."""
        return self.arity in ("", "+")

    def __str__(self) -> str:
        return " | ".join(sorted(sort.removeprefix("#") for sort in self.sorts)) + self.arity


@dataclass(frozen=True, slots=True, repr=False)
class Declarations(Library):
    """The declarations of a language; without any, every node is ordered and holds anything.

    Attributes:
        orders: label -> "unordered" (items may be permuted) or "set" (and count once).
        applied: labels such as `call`, whose function is named by their first item.
        signatures: label -> the items that the node takes. Where any is given, a label without a
            signature is a mistake.
        programs: the nodes that a program may be, as sorts. Where any is given, programs may be
            written with all that is declared; else, with the items that learned programs have.
        value_lists: type -> its names, as declared by `entity`.
        paths, sources: the file that was read, and its text.
    """

    orders: MappingProxyType[str, Order] = field(default_factory=lambda: MappingProxyType({}))
    applied: frozenset[str] = frozenset()
    signatures: MappingProxyType[str, tuple[Element, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    programs: frozenset[str] = frozenset()
    value_lists: MappingProxyType[str, NameList] = field(
        default_factory=lambda: MappingProxyType({})
    )
    paths: tuple[Path, ...] = field(default=(), compare=False)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    language: ClassVar[str] = "sexpr"

    @property
    def entity_types(self) -> Mapping[str, NameList]:
        """Return the types with names: each has a list."""
        return self.value_lists

    @property
    def reads_values(self) -> bool:
        """Return whether a node is declared to hold dates, money or other things that are read.

        Numbers and texts alone can be copied from a sentence as they stand.
        """
        sorts = {s for elements in self.signatures.values() for e in elements for s in e.sorts}
        return any(sort.startswith("#") for sort in sorts)

    def names(self) -> tuple[str, ...]:
        """Return the labels with a signature."""
        return tuple(self.signatures)

    def __repr__(self) -> str:
        return f"Declarations({', '.join(sorted({*self.orders, *self.signatures})) or 'none'})"

    def order(self, label: str) -> Order:
        """Return whether the items of a node may be permuted."""
        return self.orders.get(label, "ordered")


NONE = Declarations()


def load_declarations(path: Path) -> Declarations:
    """Return the declarations of a file."""
    text = read_text(path)
    declared = read_declarations(text, file=str(path))
    return replace(declared, paths=(path,), sources={str(path): text})


def read_declarations(text: str, *, file: str = "<declarations>") -> Declarations:
    """Return the declarations of a text, or raise GenieError with all its mistakes (X020 to X026).

    >>> found = read_declarations("set PIZZA; node PIZZA = (SIZE)? (TOPPING)*; node SIZE = BIG;")
    >>> found.order("PIZZA"), str(found.signatures["PIZZA"][0])
    ('set', '(SIZE)?')
    """
    orders: dict[str, Order] = {}
    applied: set[str] = set()
    signatures: dict[str, tuple[Element, ...]] = {}
    programs: dict[str, Span] = {}
    names: dict[str, NameList] = {}
    held: dict[str, Span] = {}
    problems: list[Problem] = []
    for words in _statements(text, file, problems):
        match [word for word, _ in words]:
            case ["unordered" | "set" as order, _, *_]:
                problems.extend(_other_order(order, words[1:], orders))
                orders.update((word, order) for word, _ in words[1:])
            case ["apply", _, *_]:
                applied.update(word for word, _ in words[1:])
            case ["node", name, "=", *_]:
                if name in signatures:
                    problems.append(_again(f"the node {name!r}", words[1][1]))
                signatures[name] = tuple(_elements(words[3:], problems))
                held = dict(_nodes(words[3:])) | held
            case ["entity", name, "=", *values] if values:
                if name in names:
                    problems.append(_again(f"the entity {name!r}", words[1][1]))
                problems.extend(_no_entity(words[1]))
                names[name] = NameList(name, tuple(dict.fromkeys(v.strip('"') for v in values)))
            case ["program", _, *_]:
                programs.update(_programs(words[1:], problems))
            case [first, *_]:
                problems.append(_unknown_statement(first, words[0][1]))
    types = (sx.TYPES.keys() - {"String", "Number"}) | names.keys()
    signatures = {name: _type_elements(elements, types) for name, elements in signatures.items()}
    problems.extend(_find_undeclared(programs, held, signatures))
    if problems:
        raise GenieError(problems, sources={file: text})
    return Declarations(
        MappingProxyType(orders),
        frozenset(applied),
        MappingProxyType(signatures),
        frozenset(programs),
        MappingProxyType(names),
    )


_FORMS = "unordered A B; set A; apply call; node A = (B)? Date*; program (A); entity City = paris;"
_Word = tuple[str, Span]


def _type_elements(elements: Sequence[Element], types: Container[str]) -> tuple[Element, ...]:
    """Return elements with the names of types as sorts of literals."""
    return tuple(
        replace(e, sorts=frozenset(f"#{s}" if s in types else s for s in e.sorts)) for e in elements
    )


def _no_entity(word: _Word) -> Iterator[Problem]:
    name, span = word
    is_taken = name in sx.TYPES or name in ("Atom", "Any")
    if is_taken or not _ENTITY.fullmatch(name):
        hint = 'write a capital letter and letters: entity City = "new york" paris;'
        message = f"{name!r} {'is a type already' if is_taken else 'is no name of an entity'}"
        yield Problem("X026", message, span, hint, stage="syntax")


def _statements(text: str, file: str, problems: list[Problem]) -> Iterator[list[_Word]]:
    words: list[_Word] = []
    for match in _TOKEN.finditer(text):
        before = text[: match.start()]
        line, column = before.count("\n") + 1, match.start() - before.rfind("\n")
        if match.lastgroup == "word":
            span = Span(file, line, column, line, column + len(match[0]))
            words.append((match[0], span))
        elif match.lastgroup == "end" and words:
            yield words
            words = []
    if words:
        hint = "end the statement with ';'"
        message = f"expected ';' after {words[-1][0]!r}, got the end of the file"
        problems.append(Problem("X020", message, words[-1][1], hint, stage="syntax"))


def _unknown_statement(first: str, span: Span) -> Problem:
    hint = did_you_mean(first, _STATEMENTS) if first not in _STATEMENTS else None
    hint = hint or _FORMS
    return Problem(
        "X021", f"{first!r} begins no statement of this form", span, hint, stage="syntax"
    )


def _again(what: str, span: Span) -> Problem:
    hint = "keep one of the two"
    return Problem("X025", f"{what} is declared already", span, hint, stage="syntax")


def _other_order(
    order: str, words: Sequence[_Word], orders: Mapping[str, Order]
) -> Iterator[Problem]:
    for word, span in words:
        if orders.get(word, order) != order:
            yield _again(f"another order of {word!r}", span)


def _elements(words: Sequence[_Word], problems: list[Problem]) -> Iterator[Element]:
    """Yield the elements of a signature; `A | B` is one, and the arity after B holds for both."""
    sorts: list[str] = []
    joined = False
    arity: Arity = ""
    for part, span in _parts(words):
        if part == "|" and sorts and not joined:
            joined = True
            continue
        match = _ELEMENT.fullmatch(part)
        if match is None:
            problems.append(_no_item(part, span))
            return
        if sorts and not joined:
            yield Element(frozenset(sorts), arity)
            sorts = []
        sorts.append(match["sort"])
        arity, joined = _ARITIES[match["arity"]], False
    if joined:
        problems.append(_no_item("|", words[-1][1]))
    if sorts:
        yield Element(frozenset(sorts), arity)


def _no_item(part: str, span: Span) -> Problem:
    hint = "write (LABEL), [LABEL], a type, Atom, Any or a symbol, then ?, * or +"
    if part == "|":
        hint = "write | between two items"
    return Problem("X022", f"{part!r} is no item of a node", span, hint, stage="syntax")


def _nodes(words: Sequence[_Word]) -> Iterator[_Word]:
    """Yield the nodes that a signature names, with their places."""
    for part, span in _parts(words):
        match = _ELEMENT.fullmatch(part)
        if match and is_node(match["sort"]):
            yield match["sort"], span


def _programs(words: Sequence[_Word], problems: list[Problem]) -> Iterator[_Word]:
    """Yield the nodes of `program (A) | (B)`; the sign between them may be left out."""
    for part, span in _parts(words):
        match = _ELEMENT.fullmatch(part)
        if match and is_node(match["sort"]) and not match["arity"]:
            yield part, span
        elif part != "|":
            hint = "write the nodes that a program may be: program (A) | [B];"
            problems.append(Problem("X023", f"{part!r} is no node", span, hint, stage="syntax"))


def _find_undeclared(
    programs: Mapping[str, Span],
    held: Mapping[str, Span],
    signatures: Mapping[str, tuple[Element, ...]],
) -> Iterator[Problem]:
    """Yield the nodes that programs can have whose items are not declared."""
    if not programs:
        return
    for sort, span in {**held, **programs}.items():
        name = sort[1:-1]
        if name not in signatures:
            hint = did_you_mean(name, signatures) or f"declare it: node {name} = ..;"
            message = f"a program may have {sort}, but what it holds is not declared"
            yield Problem("X024", message, span, hint)


def is_node(sort: str) -> bool:
    """Return whether a sort is that of a node.

    >>> [is_node(sort) for sort in ("(SIZE)", "[IN:X]", "Number")]
    [True, True, False]
    """
    return sort[0] in "(["


_ARITIES: dict[str, Arity] = {"": "", "?": "?", "*": "*", "+": "+"}


def _parts(words: Sequence[_Word]) -> Iterator[_Word]:
    for word, span in words:
        yield from ((part, span) for part in re.split(r"(\|)", word) if part)


# ------------------------------------------------------------------------------ signatures


def misfit(elements: Sequence[Element], sorts: Sequence[str], *, ordered: bool) -> str | None:
    """Return why items of these sorts do not make up a node, or None if they do.

    Read from left to right; every element takes as many items as it can. In an unordered node an
    item goes to the first element that admits it and has room.

    >>> one = (Element(frozenset(["(SIZE)"]), "?"), Element(frozenset(["(TOPPING)"]), "*"))
    >>> misfit(one, ["(TOPPING)", "(SIZE)"], ordered=False)
    >>> misfit(one, ["(TOPPING)", "(SIZE)"], ordered=True)
    'item 2, (SIZE), is out of place'
    >>> misfit(one, ["(SIZE)", "(SIZE)"], ordered=False)
    'item 2, (SIZE), is one too many'
    """
    counts, taken = assign(elements, sorts, ordered=ordered)
    if taken < len(sorts):
        sort = sorts[taken]
        return f"item {taken + 1}, {sort}, {_why_not(elements, counts, sort)}"
    for element, count in zip(elements, counts, strict=True):
        if element.is_required and not count:
            return f"expected {element}, got none"
    return None


def assign(
    elements: Sequence[Element], sorts: Sequence[str], *, ordered: bool
) -> tuple[list[int], int]:
    """Return how many items each element takes, and before which item that ends, if before one."""
    counts = [0] * len(elements)
    current = 0
    for place, sort in enumerate(sorts):
        for index in range(current if ordered else 0, len(elements)):
            if _has_room(elements[index], counts[index]) and admits(elements[index], sort):
                counts[index] += 1
                current = index
                break
        else:
            return counts, place
    return counts, len(sorts)


def _why_not(elements: Sequence[Element], counts: Sequence[int], sort: str) -> str:
    admitting = [index for index, element in enumerate(elements) if admits(element, sort)]
    if not admitting:
        return "does not belong there"
    if any(_has_room(elements[index], counts[index]) for index in admitting):
        return "is out of place"
    return "is one too many"


def _has_room(element: Element, count: int) -> bool:
    return not count or element.arity in ("*", "+")


def admits(element: Element, sort: str) -> bool:
    """Return whether an element is for items of a sort."""
    if sort in element.sorts or "Any" in element.sorts:
        return True
    if sort.startswith("#"):
        return f"({sort[1:]})" in element.sorts
    # Numbers are symbols too; nodes and strings are not.
    return "Atom" in element.sorts and not is_node(sort) and sort != "String"
