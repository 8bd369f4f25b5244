"""Templates as rules: the layouts of each, with children numbered, and the inputs of its guard.

A template's alternatives are multiplied out into layouts; a rule is one layout with the template's
body, guard and constants. It joins pieces into a longer piece.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.bodies import Fragment, Value
from genie_dp.synthesis.pieces import GAP, Piece, Placeholders, features
from genie_dp.templates import ast
from genie_dp.templates.ast import Template, count_utterances, plain_utterances
from genie_dp.templates.grammar import absent_names
from genie_dp.templates.guard import Constant, Guard, GuardTest, rename_children

MOST_LAYOUTS = 256
BUILT_IN = ("OUTPUT", "INPUT", "VALUE")
DEFAULT_FORMS = frozenset({"np", "long"})  # asked of children that ask for no form themselves
_CONSTANT = "constant of "


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """One child of a layout.

    Attributes:
        pool: a category, a built-in category, `constant of x`, or a table's path.
        is_leaf: built-in, constant or table: it adds no depth.
        asked: requests as (attribute, allowed values).
        print_as: the determiner to print: "own", "none", "the" or "a".
        after_article: the words before end in "a", to be matched to this child's first sound.
        gap: the filler of the gap: None for no gap asked, "" for a child (the next one), GAP if it
            stays open, or words.
        after: words at the beginning that are left out: "when" of a when phrase.
        is_const: written `${x:const}` in this layout: it is never left open.
    """

    name: str
    pool: str
    is_leaf: bool
    asked: tuple[tuple[str, frozenset[str]], ...] = ()
    print_as: str = "own"
    after_article: bool = False
    gap: str | None = None
    after: str = ""
    is_const: bool = False

    @property
    def says_words(self) -> bool:
        """Return whether it has words without meaning, which have no name."""
        return self.is_leaf and not self.name


@dataclass(frozen=True, slots=True)
class Agreement:
    """A word that agrees in number with a child: forms are singular, plural and mass."""

    child: int
    forms: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class OwnDeterminer:
    """The determiner of a child, printed apart from it."""

    child: int


Part = str | int | Agreement | OwnDeterminer
"""Words, the index of a child, an agreeing word, or a determiner."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One wording of a template; children stand in the order of the sentence."""

    parts: tuple[Part, ...]
    children: tuple[ChildSpec, ...]


def constant_pool(name: str) -> str:
    """Return the name of the pool of constants for a placeholder."""
    return _CONSTANT + name


def words_pool(item: ast.CategoryWords | ast.WordChoice) -> str:
    """Return the name of the pool of words without meaning."""
    return item.category if isinstance(item, ast.CategoryWords) else f"words {item.key}"


def placeholder_of(pool: str) -> str | None:
    """Return the placeholder whose constants the pool holds, or None for any other pool."""
    return pool.removeprefix(_CONSTANT) if pool.startswith(_CONSTANT) else None


def layouts(
    template: ast.Template, *, waits: bool = False
) -> Iterator[tuple[Layout, frozenset[str]]]:
    """Yield every layout of the template, and the names of the optional parts that it leaves out.

    More than MOST_LAYOUTS are a GenieError (Y002).

    With `waits`, agreeing words that name no child stay `{is/are}`, until a template with a noun
    phrase takes the result: the predicate of a noun.
    """
    if count_utterances(template.utterance) > MOST_LAYOUTS:
        message = f"template {template.id!r} has more than {MOST_LAYOUTS} alternatives"
        hint = "write two templates, or move alternatives into a category of their own"
        raise GenieError(Problem("Y002", message, template.span, hint))
    for items in plain_utterances(template.utterance):
        yield _Builder(template, waits).build(items), absent_names(template, items)


class _Builder:
    """Collects parts and children of one layout, then points names at indices."""

    def __init__(self, template: ast.Template, waits: bool):
        self.template, self.waits = template, waits
        self.parts: list[str | int | ast.Inflect | ast.Determiner] = []
        self.children: list[ChildSpec] = []

    def build(self, items: Sequence[ast.PlainItem]) -> Layout:
        for item in items:
            self._item(item)
        self._mark_articles()
        parts = tuple(self._resolve(part) for part in self.parts)
        return Layout(_merge_words(parts), tuple(self.children))

    def _item(self, item: ast.PlainItem) -> None:
        match item:
            case ast.Child():
                self.parts.append(len(self.children))
                self._child(item)
            case ast.Determiner():
                self.parts.append(item)
            case ast.CategoryWords() | ast.WordChoice():
                self.parts.append(len(self.children))
                self.children.append(ChildSpec("", words_pool(item), True))
            case ast.QuotedWords(parts):
                for part in parts:
                    self._word(part)

    def _word(self, part: ast.Part) -> None:
        match part:
            case ast.PlainWords(text):
                self.parts.append(text)
            case ast.Placeholder(name, is_const):
                self.parts.append(len(self.children))
                self.children.append(ChildSpec(name, constant_pool(name), True, is_const=is_const))
            case ast.Inflect():
                self.parts.append(part)

    def _child(self, child: ast.Child) -> None:
        requests, print_as, gap, filler, after = [], "own", None, None, ""
        for request in child.requests:
            match request.name:
                case "gap":
                    filler = request.child
                    gap = "" if filler else request.values[0].replace("#", GAP)
                case "after":
                    after = request.values[0]
                    requests.append(("first", frozenset(after.split()[:1])))
                case "det":
                    print_as = request.values[0]
                    requests.extend(_DETERMINERS[print_as])
                case _:
                    requests.append((request.name, frozenset(request.values)))
        pool = child.category or child.table
        is_leaf = bool(child.table) or pool in BUILT_IN
        if not is_leaf and "form" not in dict(requests):
            requests.append(("form", DEFAULT_FORMS))
        spec = ChildSpec(child.name, pool, is_leaf, tuple(requests), print_as, gap=gap, after=after)
        self.children.append(spec)
        if filler is not None:
            self._child(filler)

    def _mark_articles(self) -> None:
        for index, (part, after) in enumerate(itertools.pairwise(self.parts)):
            if (
                isinstance(part, str)
                and isinstance(after, int)
                and part.split()[-1:] in (["a"], ["an"])
                and self.children[after].name  # words alone say what they say
            ):
                self.parts[index] = " ".join(part.split()[:-1])
                self.children[after] = replace(self.children[after], after_article=True)

    def _resolve(self, part: str | int | ast.Inflect | ast.Determiner) -> Part:
        match part:
            case ast.Inflect(None, forms) if self.waits:
                return f"{{{'/'.join(forms)}}}"
            case ast.Inflect(child, forms):
                singular, plural = forms[0], forms[1]
                mass = forms[2] if len(forms) > 2 else singular
                return Agreement(self._index(child), (singular, plural, mass))
            case ast.Determiner(child):
                return OwnDeterminer(self._index(child))
            case _:
                return part

    def _index(self, name: str | None) -> int:
        names = [child.name for child in self.children]
        if name in names:
            return names.index(name)
        if name is None:
            phrases = [i for i, child in enumerate(self.children) if not child.is_leaf]
            phrases = phrases or [i for i, c in enumerate(self.children) if c.pool in BUILT_IN]
            if phrases:
                return phrases[0]
        message = f"no child {name!r} in this alternative of template {self.template.id!r}"
        hint = did_you_mean(name or "", names) or "an agreeing word needs a child to agree with"
        raise GenieError(Problem("Y003", message, self.template.span, hint))


_DETERMINERS: dict[str, list[tuple[str, frozenset[str]]]] = {
    "none": [("own", frozenset({"a", "the", "my", "none"}))],
    "the": [("own", frozenset({"a", "the", "my", "none"}))],
    "a": [("own", frozenset({"a", "none"})), ("num", frozenset({"sg"}))],
    "own": [],
    "any": [],
}


def _merge_words(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with neighbouring words joined and empty words left out."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            if not part:
                continue
            if merged and isinstance(merged[-1], str):
                merged[-1] = f"{merged[-1]} {part}"
                continue
        merged.append(part)
    return tuple(merged)


# ------------------------------------------------------------------------------------------- rules


@dataclass(slots=True)
class GrammarRule:
    """One layout of a template.

    Attributes:
        reads: for every child, the attributes on which the rule depends: two pieces that agree in
            them, and pass the child's own tests, are alike for this rule.
        apart: for every attribute of `reads`, the constants that its values are compared with,
            where nothing else is asked of it (all other values are alike), or None.
        head: index of the child that hands on its English features, or None.
        subject: index of the noun phrase with which waiting words of other children agree.
        alone: for every child, the tests of the guard that look at it alone.
        tests: the same with the child's name left out, so that rules share groups of pieces.
        late: tests that two children differ: decided for each draw, since a cell for each pair of
            different values would be more cells than draws, and nearly all draws pass.
        wordings: its wordings, by the numbers of the children with which words agree.
        constants: placeholder -> the pieces of its constants, or of its gap.
        fills: JSON of the slot that each placeholder child fills, by index of the child.
        is_phrase: it makes noun phrases, which have determiners.
        partners: constant -> the child whose parameter it is compared with, both as indices.
        family: of results without children, where the template has optional parts (`Features`).
    """

    template: Template
    layout: Layout
    body: Fragment
    placeholders: Placeholders
    guard: Guard
    alone: tuple[tuple[GuardTest, ...], ...]
    reads: tuple[tuple[str, ...], ...]
    apart: tuple[tuple[frozenset[Constant] | None, ...], ...]
    head: int | None
    subject: int | None
    constants: Mapping[str, Sequence[Piece]]
    fills: Mapping[int, str]
    partners: Mapping[int, int]
    fixed: Mapping[str, str] = field(default_factory=dict)
    late: tuple[GuardTest, ...] = ()
    tests: tuple[tuple[GuardTest, ...], ...] = ()
    wordings: dict[tuple[str, ...], "Wording"] = field(default_factory=dict)
    label: str = ""
    names: tuple[str, ...] = ()
    is_phrase: bool = True
    family: tuple[str, int] | None = None
    is_leaf: bool = False
    is_nested: bool = False

    def __post_init__(self) -> None:
        """Keep the values that the inner loop reads: tests, the id as JSON text, names, two flags.

        A rule is a leaf if it has no child but built-in ones: its results have depth 0. It is
        nested if one child stands in the gap of another.
        """
        self.tests = tuple(
            tuple(rename_children(test, {child.name: ""}) for test in tests)
            for child, tests in zip(self.layout.children, self.alone, strict=True)
        )
        self.label = json.dumps(self.template.id)
        self.names = tuple(child.name for child in self.layout.children)
        self.is_leaf = all(child.is_leaf for child in self.layout.children)
        self.is_nested = any(child.gap == "" for child in self.layout.children)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return all but the wordings, whose functions are those of this process."""
        return None, {**{f.name: getattr(self, f.name) for f in fields(self)}, "wordings": {}}

    @property
    def category(self) -> str:
        """Return the category of the result."""
        return self.template.category


@dataclass(slots=True)
class Combined:
    """The result of joining pieces: a row's raw material."""

    text: str
    value: Value
    count: int
    mask: int
    slots: str
    derivation: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A rule with the forms of its words chosen.

    Attributes:
        text: its words, with {} in the places of children.
        assemble: the function from one piece for each child to the pieces joined, or None where
            they do not go together.
    """

    text: str
    assemble: Callable[..., Combined | None]


def piece_of(rule: GrammarRule, pieces: Sequence[Piece], combined: Combined) -> Piece:
    """Return the result as a piece that further templates may use, with its English features."""
    det, own, words = _determiner(rule, pieces, combined.text)
    return Piece(
        words,
        combined.value,
        features(
            _number(rule, pieces, combined.text), det, own, _form(rule, pieces), "", rule.family
        ),
        combined.count,
        combined.mask,
        combined.slots,
        combined.derivation,
    )


def _determiner(rule: GrammarRule, pieces: Sequence[Piece], text: str) -> tuple[str, str, str]:
    """Return (determiner's words, its sort, the words after it)."""
    if not rule.is_phrase:
        return "", "none", text
    first = rule.layout.parts[0] if rule.layout.parts else ""
    if rule.head is not None and first in (rule.head, OwnDeterminer(rule.head)):
        head = pieces[rule.head].features
        if rule.layout.children[rule.head].print_as in ("own", "any") and text.startswith(head.det):
            return head.det, head.own, text[len(head.det) :].lstrip()
    guessed, rest = english.split_determiner(text)
    own = rule.fixed.get("det", str(guessed))
    return text[: len(text) - len(rest)].strip(), own, rest


def _number(rule: GrammarRule, pieces: Sequence[Piece], text: str) -> str:
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


def _form(rule: GrammarRule, pieces: Sequence[Piece]) -> str:
    if "form" in rule.fixed:
        return rule.fixed["form"]
    if rule.head is not None:
        return pieces[rule.head].features.form
    around = "np" if rule.subject is None else pieces[rule.subject].features.form
    return "long" if around == "long" else "np"
