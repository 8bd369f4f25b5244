"""The inner loop of synthesis: one function for each rule, which joins pieces of its children.

Nothing in it looks at a syntax tree: the program is one call of the compiled body, placeholders are
renamed only on a clash. Rules differ in the number of children, in which of them have slots of
their own, and in the late tests of the guard. Deciding that for every row costs twice as much as
the row itself, so it is decided once, by writing the function's source. Rules of one shape share
the compiled source, and differ in the values that it closes over: words, bodies, names of slots.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from genie_dp.english import forms as english
from genie_dp.languages.bodies import Value
from genie_dp.synthesis.pieces import GAP, Piece, in_sentence_order, slot_text
from genie_dp.synthesis.rules import (
    Agreement,
    ChildSpec,
    Combined,
    GrammarRule,
    OwnDeterminer,
    Wording,
)
from genie_dp.templates.guard import Attribute, Compare, GuardTest, compare

OWN, WORDS = "text", "words"  # how a child is mostly said: attributes of Piece


@dataclass(frozen=True, slots=True)
class ChildText:
    """The place of a child in the words: an attribute of its piece, or a function of all pieces."""

    child: int
    how: str | Callable[[Sequence[Piece]], str]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The properties of a rule on which the source of its function depends.

    Attributes:
        names: the children, as the body knows them.
        parts: for each part of the sentence "" (words), or the expression that renders a child.
        slots: for each child with slots, the expression of their JSON.
        derivations: the children that are made by templates.
        late: conditions under which the pieces do not go together.
        subject: the child with which waiting words agree, or None.
        is_leaf, is_nested: see `GrammarRule`.
    """

    names: tuple[str, ...]
    parts: tuple[str, ...]
    slots: tuple[str, ...]
    derivations: tuple[int, ...]
    late: tuple[str, ...]
    subject: int | None
    is_leaf: bool
    is_nested: bool


def assembler(rule: GrammarRule, said: Sequence[str | ChildText]) -> Callable[..., Combined | None]:
    """Return the function from one piece for each child to the pieces joined, or None."""
    functions = [part.how for part in said if isinstance(part, ChildText) and callable(part.how)]
    make = _maker(_shape(rule, said))
    words = [part for part in said if isinstance(part, str)]
    function: Callable[..., Combined | None] = make(rule, rule.body.build, words, functions)
    return function


def _shape(rule: GrammarRule, said: Sequence[str | ChildText]) -> _Shape:
    children = rule.layout.children
    return _Shape(
        rule.names,
        tuple(_parts(said, len(children))),
        tuple(
            expression
            for index, child in enumerate(children)
            if (expression := _slots_of(rule, index, is_leaf=child.is_leaf))
        ),
        tuple(index for index, child in enumerate(children) if not child.is_leaf),
        tuple(_fails(test, rule) for test in rule.late),
        rule.subject,
        rule.is_leaf,
        rule.is_nested,
    )


def _parts(said: Sequence[str | ChildText], children: int) -> list[str]:
    pieces = f"({''.join(f'p{i}, ' for i in range(children))})"
    parts, functions = [], 0
    for part in said:
        if isinstance(part, str):
            parts.append("")
        elif isinstance(part.how, str):
            parts.append(f"p{part.child}.{part.how}")
        else:
            parts.append(f"say{functions}({pieces})")
            functions += 1
    return parts


def _slots_of(rule: GrammarRule, index: int, *, is_leaf: bool) -> str:
    """Return the expression of the JSON of a child's slots, "" if it cannot have any."""
    if not is_leaf:
        return f"p{index}.slots"
    if index in rule.fills:
        return f"(p{index}.mask and f'\"{{p{index}.words}}\":{{rule.fills[{index}]}}')"
    if index in rule.partners:
        return f"(p{index}.mask and partner(p{index}, p{rule.partners[index]}))"
    return ""


def _fails(test: GuardTest, rule: GrammarRule) -> str:
    """Return the condition under which a late test of two children fails."""
    match test.expression:
        case Compare("!=", Attribute() as left, Attribute() as right):
            return f"{_read(left, rule)} == {_read(right, rule)}"
        case Compare(operator, Attribute() as left, Attribute() as right):
            return f"not compare({operator!r}, {_read(left, rule)}, {_read(right, rule)})"
        case _:
            raise AssertionError(f"{test} is no late test")


def _read(attribute: Attribute, rule: GrammarRule) -> str:
    index = rule.names.index(attribute.child)
    if attribute.name == "function" and not rule.layout.children[index].is_leaf:
        return f"getattr(p{index}.value.state, 'function', '')"
    return f"p{index}.attribute({attribute.name!r})"


# ------------------------------------------------------------------------------------- source


@cache
def _maker(shape: _Shape) -> Callable[..., Any]:
    """Return the function that closes the source of a shape over one rule."""
    scope: dict[str, Any] = {
        "Combined": Combined, "shifted": _shifted, "agreed": _agreed, "partner": _partner_slot,
        "leaf_slots": _leaf_slots, "renumber": _renumber, "compare": compare,
    }  # fmt: skip
    exec(compile(_source(shape), "<assembly>", "exec"), scope)
    maker: Callable[..., Any] = scope["make"]
    return maker


def _source(shape: _Shape) -> str:
    """Return the source of `make`, whose result joins pieces of one rule.

    >>> print(_source(_Shape(("q",), ("", "p0.text"), ("p0.slots",), (0,), (), None, False, False)))
    def make(rule, build, words, functions):
        label = rule.label
        w0, = words
        def assemble(p0):
            total, mask = p0.count, p0.mask
            value = build({'q': p0.value})
            if value is None: return None
            text = f'{w0} {p0.text}'
            slots = p0.slots or ''
            return Combined(text, value, total, mask, slots, f'{label},{p0.derivation}')
        return assemble
    """
    pieces = [f"p{i}" for i in range(len(shape.names))]
    values = [f"{n!r}: {p}.value" for n, p in zip(shape.names, pieces, strict=True) if n]
    body = [
        *(f"if {condition}: return None" for condition in shape.late),
        *_counting(shape),
        f"value = build({{{', '.join(values)}}})",
        "if value is None: return None",
        *_saying(shape),
        *_slotting(shape),
        *_ending(shape),
    ]
    words = [f"w{i}" for i in range(shape.parts.count(""))]
    functions = [f"say{i}" for i in range(sum(part.startswith("say") for part in shape.parts))]
    lines = ["def make(rule, build, words, functions):", "    label = rule.label"]
    lines += [f"    {', '.join(words)}, = words"] if words else []
    lines += [f"    {', '.join(functions)}, = functions"] if functions else []
    lines += ["    shifts = rule.placeholders.shifts"] if len(pieces) > 1 else []
    lines.append(f"    def assemble({', '.join(pieces)}):")
    return "\n".join([*lines, *(f"        {line}" for line in body), "    return assemble"])


def _counting(shape: _Shape) -> list[str]:
    """Count the placeholders; where two children have the same, those of the later one move on."""
    if not shape.names:
        return ["total = mask = 0"]
    lines = ["total, mask = p0.count, p0.mask"]
    if shape.is_nested:
        lines.append("moved = False")
    for piece in [f"p{i}" for i in range(1, len(shape.names))]:
        lines += [
            f"if {piece}.mask & mask:",
            f"    names = shifts(total & {piece}.mask, {piece}.count)",
            "    if names is None: return None",
            f"    {piece} = shifted({piece}, names)",
            *(["    moved = True"] if shape.is_nested else []),
            f"total += {piece}.count",
            f"mask |= {piece}.mask",
        ]
    return lines


def _saying(shape: _Shape) -> list[str]:
    words = iter(range(len(shape.parts)))
    said = " ".join(f"{{{part or f'w{next(words)}'}}}" for part in shape.parts)
    lines = [f"text = f{said!r}"]
    # A child without words leaves two spaces, or one at an end.
    if shape.is_leaf or len(shape.derivations) < len(shape.names) or "say" in said:
        lines.append(
            'if "  " in text or " " in (text[:1], text[-1:]): text = " ".join(text.split())'
        )
    if shape.subject is not None:
        lines.append(f'if "{{" in text: text = agreed(text, p{shape.subject}.features.num)')
    return lines


def _slotting(shape: _Shape) -> list[str]:
    if shape.is_leaf:
        return [f"slots = leaf_slots(value, [{', '.join(shape.slots)}]) if mask else ''"]
    lines = [f"slots = {shape.slots[0]} or ''" if shape.slots else "slots = ''"]
    for expression in shape.slots[1:]:
        lines.append(f"more = {expression}")
        lines.append("if more: slots = f'{slots},{more}' if slots else more")
    return lines


def _ending(shape: _Shape) -> list[str]:
    derivation = "".join(f",{{p{i}.derivation}}" for i in shape.derivations)
    made = "f'{label}" + derivation + "'" if derivation else "label"
    result = f"Combined(text, value, total, mask, slots, {made})"
    if not shape.is_nested:
        return [f"return {result}"]
    return [f"made = {result}", "return renumber(made) if moved else made"]


# ------------------------------------------------------------------------------ what it calls


def _shifted(piece: Piece, names: Sequence[tuple[str, str]]) -> Piece:
    words, slots = piece.words, piece.slots
    for old, new in names:
        words = words.replace(old, new)
        slots = slots.replace(old, new)
    value = piece.value.shift(names)
    return Piece(
        words, value, piece.features, piece.count, piece.mask, slots, piece.derivation,
        piece.attributes,
    )  # fmt: skip


_WAITING = re.compile(r"\{([^{}/]*)/([^{}/]*)(?:/([^{}/]*))?\}")


def _agreed(text: str, number: str) -> str:
    """Return the text with the forms that waited for their noun phrase: `{is/are} unread`."""

    def form(match: re.Match[str]) -> str:
        singular, plural, mass = match.groups()
        if number == "pl":
            return plural
        return singular if number == "sg" or mass is None else mass

    return " ".join(_WAITING.sub(form, text).split())


def _renumber(combined: Combined) -> Combined:
    """Number the placeholders in the order of the sentence, where a gap's filler came between."""
    names = in_sentence_order(combined.text)
    if names:
        for old, new in names:
            combined.text = combined.text.replace(old, new)
            combined.slots = combined.slots.replace(old, new)
        combined.value = combined.value.shift(names)
    return combined


def _partner_slot(constant: Piece, parameter: Piece) -> str:
    """Return the slot of a constant that is compared with a parameter."""
    named = f"{parameter.attribute('function')}:{parameter.attribute('name')}"
    return slot_text(constant.words, constant.attribute("type"), named)


def _leaf_slots(value: Value, of_children: Sequence[str | int]) -> str:
    """Return the slots of a rule without children but built-in ones."""
    if value.slots:
        return ",".join(slot_text(*slot) for slot in value.slots)
    return ",".join(str(slots) for slots in of_children if slots)


# ----------------------------------------------------------------------------- how a child is said

_NUMBERS = {"sg": 0, "pl": 1, "mass": 2}


def wording(rule: GrammarRule, numbers: Mapping[int, str]) -> Wording:
    """Return the wording of a rule whose children have these numbers (index -> sg, pl, mass)."""
    said: list[str | ChildText] = []
    for part in rule.layout.parts:
        match part:
            case str():
                said.append(part)
            case Agreement(child, forms):
                form = forms[_NUMBERS[numbers[child]]]
                if form:
                    said.append(form)
            case OwnDeterminer(child):
                said.append(ChildText(child, _determiner_printer(child)))
            case int():
                said.append(_say_child(rule.layout.children, part))
    text = " ".join("{}" if isinstance(part, ChildText) else part for part in said)
    return Wording(text, assembler(rule, said))


def _say_child(children: Sequence[ChildSpec], index: int) -> ChildText:
    child = children[index]
    if not child.after_article and child.gap in (None, GAP) and not child.after:
        if child.print_as in ("own", "any"):
            return ChildText(index, OWN)
        if child.print_as == "none":
            return ChildText(index, WORDS)
    return ChildText(index, _printer(children, index))


def _determiner_printer(index: int) -> Callable[[Sequence[Piece]], str]:
    return lambda pieces: pieces[index].features.det


def _printer(children: Sequence[ChildSpec], index: int) -> Callable[[Sequence[Piece]], str]:
    child = children[index]
    say = _without_first_words(_WAYS_TO_SAY[child.print_as], child.after)
    if child.gap in (None, GAP):
        plain = say
    elif child.gap:
        words = child.gap

        def plain(piece: Piece) -> str:
            return PARTICLE.sub(rf"\1 {GAP} \2", say(piece)).replace(GAP, words)
    else:
        inner = _printer(children, index + 1)

        def filled(pieces: Sequence[Piece]) -> str:
            return _fill_gap(say(pieces[index]), inner(pieces))

        return _put_article(filled) if child.after_article else filled

    def printer(pieces: Sequence[Piece]) -> str:
        return plain(pieces[index])

    return _put_article(printer) if child.after_article else printer


def _fill_gap(text: str, words: str) -> str:
    """Return a text with words in its gap: "a #" fits its article to them."""
    if _ARTICLE in text:
        text = text.replace(_ARTICLE, f" {english.article(words)} {GAP}")
    return text.replace(GAP, words)


_ARTICLE = f" a {GAP}"
# A pronoun comes before the particle: "look it up", where a noun comes after, "look up the news".
PARTICLE = re.compile(rf"^(\w+) (away|back|down|in|off|on|out|over|up) {GAP}(?= |$)")


def _without_first_words(said: Callable[[Piece], str], after: str) -> Callable[[Piece], str]:
    if not after:
        return said
    return lambda piece: said(piece).removeprefix(after).lstrip()


def _put_article(
    printer: Callable[[Sequence[Piece]], str],
) -> Callable[[Sequence[Piece]], str]:
    def with_article(pieces: Sequence[Piece]) -> str:
        text = printer(pieces)
        return f"{english.article(text)} {text}"

    return with_article


def _with_the(piece: Piece) -> str:
    return piece.text if piece.features.own in ("the", "my") else f"the {piece.words}"


def _with_a(piece: Piece) -> str:
    return f"{english.article(piece.words)} {piece.words}"


_WAYS_TO_SAY: dict[str, Callable[[Piece], str]] = {
    "own": lambda piece: piece.text,
    "any": lambda piece: piece.text,
    "none": lambda piece: piece.words,
    "the": _with_the,
    "a": _with_a,
}
