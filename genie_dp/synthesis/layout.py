"""The ways to say one template: alternatives multiplied out, children numbered, forms prepared."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.templates import ast
from genie_dp.templates.expand import count_utterances, plain_utterances

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
        gap: what stands in the gap: None for no gap asked, "" for a child (the next one), or words.
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
    """One way to say a template; children stand in the order of the sentence."""

    parts: tuple[Part, ...]
    children: tuple[ChildSpec, ...]


def constant_pool(name: str) -> str:
    """Return the name of the pool of constants for a placeholder."""
    return _CONSTANT + name


def placeholder_of(pool: str) -> str | None:
    """Return the placeholder whose constants the pool holds, or None for any other pool."""
    return pool.removeprefix(_CONSTANT) if pool.startswith(_CONSTANT) else None


def layouts(template: ast.Template, *, waits: bool = False) -> Iterator[Layout]:
    """Yield every way to say the template; more than MOST_LAYOUTS are a GenieError (Y002).

    With `waits`, agreeing words that name no child stay `{is/are}`, until a template with a noun
    phrase takes the result: what predicates say of a noun.
    """
    if count_utterances(template.utterance) > MOST_LAYOUTS:
        message = f"template {template.id!r} has more than {MOST_LAYOUTS} alternatives"
        hint = "write two templates, or move alternatives into a category of their own"
        raise GenieError(Problem("Y002", message, template.span, hint))
    for items in plain_utterances(template.utterance):
        yield _Builder(template, waits).build(items)


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
        parts = tuple(self._resolved(part) for part in self.parts)
        return Layout(_merged(parts), tuple(self.children))

    def _item(self, item: ast.PlainItem) -> None:
        match item:
            case ast.Child():
                self.parts.append(len(self.children))
                self._child(item)
            case ast.Determiner():
                self.parts.append(item)
            case ast.Words(parts):
                for part in parts:
                    self._word(part)

    def _word(self, part: ast.Part) -> None:
        match part:
            case ast.Literal(text):
                self.parts.append(text)
            case ast.Placeholder(name, is_const):
                self.parts.append(len(self.children))
                self.children.append(ChildSpec(name, constant_pool(name), True, is_const=is_const))
            case ast.Inflect():
                self.parts.append(part)

    def _child(self, child: ast.Child) -> None:
        asked, print_as, gap, filler, after = [], "own", None, None, ""
        for request in child.requests:
            match request.name:
                case "gap":
                    filler = request.child
                    gap = "" if filler else request.values[0]
                case "after":
                    after = request.values[0]
                    asked.append(("first", frozenset(after.split()[:1])))
                case "det":
                    print_as = request.values[0]
                    asked.extend(_DETERMINERS[print_as])
                case _:
                    asked.append((request.name, frozenset(request.values)))
        pool = child.category or child.table
        is_leaf = bool(child.table) or pool in BUILT_IN
        if not is_leaf and "form" not in dict(asked):
            asked.append(("form", DEFAULT_FORMS))
        spec = ChildSpec(child.name, pool, is_leaf, tuple(asked), print_as, gap=gap, after=after)
        self.children.append(spec)
        if filler is not None:
            self._child(filler)

    def _mark_articles(self) -> None:
        for index, (part, after) in enumerate(itertools.pairwise(self.parts)):
            if (
                isinstance(part, str)
                and isinstance(after, int)
                and part.split()[-1:] in (["a"], ["an"])
            ):
                self.parts[index] = " ".join(part.split()[:-1])
                self.children[after] = replace(self.children[after], after_article=True)

    def _resolved(self, part: str | int | ast.Inflect | ast.Determiner) -> Part:
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


def _merged(parts: Sequence[Part]) -> tuple[Part, ...]:
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
