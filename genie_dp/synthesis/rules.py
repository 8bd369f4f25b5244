"""Templates compiled: each becomes rules that join pieces into a longer piece.

The inner loop of synthesis lives here. Nothing in it looks at a syntax tree: words are a format
string, the program is one call of the compiled body, placeholders are renamed only on a clash.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from genie_dp.languages.base import Fragment, Value
from genie_dp.synthesis.layout import Agreement, ChildSpec, Layout, OwnDeterminer
from genie_dp.synthesis.pieces import Piece, features
from genie_dp.synthesis.placeholders import GAP, Placeholders, in_sentence_order
from genie_dp.templates import english
from genie_dp.templates.ast import Template
from genie_dp.templates.guard import Guard, Test

_NUMBERS = {"sg": 0, "pl": 1, "mass": 2}


@dataclass(slots=True)
class Rule:
    """One layout of a template.

    Attributes:
        reads: for every child, the attributes on which the rule depends: two pieces that agree in
            them, and pass the child's own tests, are alike for this rule.
        head: index of the child that hands on its English features, or None.
        subject: index of the noun phrase with which waiting words of other children agree.
        tests: for every child, the tests of the guard that look at it alone.
        late: tests that two children differ: decided for each draw, since a cell for each pair of
            different values would be more cells than draws, and nearly all draws pass.
        family: rules with the same children, which differ in words only, share a number.
        constants: placeholder -> the pieces of its constants, or of its gap.
        fills: JSON of what each placeholder child fills, by index of the child.
        partners: constant -> the child whose parameter it is compared with, both as indices.
    """

    template: Template
    layout: Layout
    body: Fragment
    placeholders: Placeholders
    guard: Guard
    tests: tuple[tuple[Test, ...], ...]
    reads: tuple[tuple[str, ...], ...]
    head: int | None
    subject: int | None
    constants: Mapping[str, Sequence[Piece]]
    fills: Mapping[int, str]
    partners: Mapping[int, int]
    fixed: Mapping[str, str] = field(default_factory=dict)
    late: tuple[Test, ...] = ()
    family: int = 0
    label: str = ""
    names: tuple[str, ...] = ()
    is_leaf: bool = False
    is_nested: bool = False

    def __post_init__(self) -> None:
        """Keep what the inner loop asks for: the id as JSON text, names, two facts.

        A rule is a leaf if it has no child but built-in ones: its results have depth 0. It is
        nested if one child stands in the gap of another.
        """
        self.label = json.dumps(self.template.id)
        self.names = tuple(child.name for child in self.layout.children)
        self.is_leaf = all(child.is_leaf for child in self.layout.children)
        self.is_nested = any(child.gap == "" for child in self.layout.children)

    @property
    def category(self) -> str:
        """Return the category of the result."""
        return self.template.category


@dataclass(frozen=True, slots=True)
class Wording:
    """How the pieces of a cell are said: a format string and what to put into it.

    `printers` has one function for each place of the format: pieces -> words. Where every child
    is simply said, in order, there are none and the places are the children's own texts.
    """

    text: str
    printers: tuple[Callable[[Sequence[Piece]], str], ...] = ()


@dataclass(slots=True)
class Combined:
    """What comes of joining pieces: a row's raw material."""

    text: str
    value: Value
    count: int
    mask: int
    slots: str
    derivation: str


def combine(rule: Rule, wording: Wording, pieces: Sequence[Piece]) -> Combined | None:
    """Return the pieces joined, or None where they do not go together."""
    if rule.late and not _differ(rule, pieces):
        return None
    total = mask = 0
    chosen: list[Piece] = []
    for piece in pieces:
        if piece.mask & mask:
            names = rule.placeholders.shifts(total & piece.mask, piece.count)
            if names is None:
                return None
            piece = _shifted(piece, names)
        total += piece.count
        mask |= piece.mask
        chosen.append(piece)
    value = rule.body.build(dict(zip(rule.names, [p.value for p in chosen], strict=True)))
    if value is None:
        return None
    if wording.printers:
        text = wording.text.format(*[printer(chosen) for printer in wording.printers])
    else:
        text = wording.text.format(*[piece.text for piece in chosen])
    if "  " in text or " " in (text[:1], text[-1:]):  # a child without words
        text = " ".join(text.split())
    if "{" in text and rule.subject is not None:
        text = _agreed(text, chosen[rule.subject].features.num)
    slots = _slots(rule, chosen, value) if mask else ""
    derivation = rule.label
    for piece in chosen:
        if piece.derivation:
            derivation = f"{derivation},{piece.derivation}"
    combined = Combined(text, value, total, mask, slots, derivation)
    if mask and rule.is_nested:
        _renumber(combined)
    return combined


def _differ(rule: Rule, pieces: Sequence[Piece]) -> bool:
    by_name = {c.name: p for c, p in zip(rule.layout.children, pieces, strict=True)}
    return all(
        test.evaluate(lambda child, name: by_name[child].attribute(name)) for test in rule.late
    )


_WAITING = re.compile(r"\{([^{}/]*)/([^{}/]*)(?:/([^{}/]*))?\}")


def _agreed(text: str, number: str) -> str:
    """Return the text with the forms that waited for their noun phrase: `{is/are} unread`."""

    def form(match: re.Match[str]) -> str:
        singular, plural, mass = match.groups()
        if number == "pl":
            return plural
        return singular if number == "sg" or mass is None else mass

    return " ".join(_WAITING.sub(form, text).split())


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


def _renumber(combined: Combined) -> None:
    """Number the placeholders in the order of the sentence, where a gap's filler came between."""
    names = in_sentence_order(combined.text)
    if names:
        for old, new in names:
            combined.text = combined.text.replace(old, new)
            combined.slots = combined.slots.replace(old, new)
        combined.value = combined.value.shift(names)


def _slots(rule: Rule, pieces: Sequence[Piece], value: Value) -> str:
    if rule.is_leaf and value.slots:
        return ",".join(slot_text(*slot) for slot in value.slots)
    texts = []
    for index, piece in enumerate(pieces):
        if piece.slots:
            texts.append(piece.slots)
        elif piece.mask and index in rule.fills:
            texts.append(f'"{piece.words}":{rule.fills[index]}')
        elif piece.mask and index in rule.partners:
            of = pieces[rule.partners[index]]
            parameter = f"{of.attribute('function')}:{of.attribute('name')}"
            texts.append(slot_text(piece.words, piece.attribute("type"), parameter))
    return ",".join(texts)


def slot_text(token: str, type_: str, parameter: str) -> str:
    """Return the JSON of one slot, as `"token":{..}`.

    >>> slot_text("NUMBER_0", "Number", "@com.x.f:count")
    '"NUMBER_0":{"type":"Number","parameter":"@com.x.f:count"}'
    """
    return f'"{token}":{slot_body(type_, parameter)}'


def slot_body(type_: str, parameter: str) -> str:
    """Return the JSON of what a slot fills."""
    return json.dumps({"type": type_, "parameter": parameter}, separators=(",", ":"))


# ---------------------------------------------------------------------------------- wording


def wording(rule: Rule, numbers: Mapping[int, str]) -> Wording:
    """Return how to say the rule when its children have these numbers (index -> sg, pl, mass)."""
    texts: list[str] = []
    printers: list[Callable[[Sequence[Piece]], str]] = []
    for part in rule.layout.parts:
        match part:
            case str():
                texts.append(part.replace("{", "{{").replace("}", "}}"))
            case Agreement(child, forms):
                form = forms[_NUMBERS[numbers[child]]]
                if form:
                    texts.append(form)
            case OwnDeterminer(child):
                texts.append("{}")
                printers.append(_determiner_printer(child))
            case int():
                texts.append("{}")
                printers.append(_printer(rule.layout.children, part))
    said = [part for part in rule.layout.parts if isinstance(part, int | OwnDeterminer)]
    if said == list(range(len(rule.layout.children))) and all(
        child == replace(child, print_as="own", after_article=False, gap=None, after="")
        for child in rule.layout.children
    ):
        return Wording(" ".join(texts))
    return Wording(" ".join(texts), tuple(printers))


def _determiner_printer(index: int) -> Callable[[Sequence[Piece]], str]:
    return lambda pieces: pieces[index].features.det


def _printer(children: Sequence[ChildSpec], index: int) -> Callable[[Sequence[Piece]], str]:
    child = children[index]
    said = _without(_SAID[child.print_as], child.after)
    if child.gap is None:
        plain = said
    elif child.gap:
        words = child.gap

        def plain(piece: Piece) -> str:
            return PARTICLE.sub(rf"\1 {GAP} \2", said(piece)).replace(GAP, words)
    else:
        inner = _printer(children, index + 1)

        def filled(pieces: Sequence[Piece]) -> str:
            return _filled(said(pieces[index]), inner(pieces))

        return _with_article(filled) if child.after_article else filled

    def printer(pieces: Sequence[Piece]) -> str:
        return plain(pieces[index])

    return _with_article(printer) if child.after_article else printer


def _filled(text: str, words: str) -> str:
    """Return a text with words in its gap: "a #" fits its article to them."""
    if _ARTICLE in text:
        text = text.replace(_ARTICLE, f" {english.article(words)} {GAP}")
    return text.replace(GAP, words)


_ARTICLE = f" a {GAP}"
# A pronoun comes before the particle: "look it up", where a noun comes after, "look up the news".
PARTICLE = re.compile(rf"^(\w+) (away|back|down|in|off|on|out|over|up) {GAP}(?= |$)")


def _without(said: Callable[[Piece], str], after: str) -> Callable[[Piece], str]:
    if not after:
        return said
    return lambda piece: said(piece).removeprefix(after).lstrip()


def _with_article(
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


_SAID: dict[str, Callable[[Piece], str]] = {
    "own": lambda piece: piece.text,
    "any": lambda piece: piece.text,
    "none": lambda piece: piece.words,
    "the": _with_the,
    "a": _with_a,
}


# ----------------------------------------------------------------------------------- pieces


def piece_of(rule: Rule, pieces: Sequence[Piece], combined: Combined) -> Piece:
    """Return the result as a piece that further templates may use, with its English features."""
    det, own, words = _determiner(rule, pieces, combined.text)
    return Piece(
        words,
        combined.value,
        features(_number(rule, pieces, combined.text), det, own, _form(rule, pieces), ""),
        combined.count,
        combined.mask,
        combined.slots,
        combined.derivation,
    )


def _determiner(rule: Rule, pieces: Sequence[Piece], text: str) -> tuple[str, str, str]:
    """Return (determiner's words, its sort, the words after it)."""
    first = rule.layout.parts[0] if rule.layout.parts else ""
    if rule.head is not None and first in (rule.head, OwnDeterminer(rule.head)):
        head = pieces[rule.head].features
        if rule.layout.children[rule.head].print_as in ("own", "any") and text.startswith(head.det):
            return head.det, head.own, text[len(head.det) :].lstrip()
    guessed, rest = english.split_determiner(text)
    own = rule.fixed.get("det", str(guessed))
    return text[: len(text) - len(rest)].strip(), own, rest


def _number(rule: Rule, pieces: Sequence[Piece], text: str) -> str:
    if "num" in rule.fixed:
        return rule.fixed["num"]
    if rule.head is not None:
        return pieces[rule.head].features.num
    for piece in pieces:
        if piece.features.pos == "self" and rule.subject is not None:
            return pieces[rule.subject].features.num
        if piece.features.pos:
            return piece.features.num
    return english.number_of(text) if rule.is_leaf else "sg"


def _form(rule: Rule, pieces: Sequence[Piece]) -> str:
    if "form" in rule.fixed:
        return rule.fixed["form"]
    if rule.head is not None:
        return pieces[rule.head].features.form
    around = "np" if rule.subject is None else pieces[rule.subject].features.form
    return "long" if around == "long" else "np"
