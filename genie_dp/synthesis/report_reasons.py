"""Why a template, a function or a parameter never appears in the rows of a run."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.synthesis.cells import Cell, cells
from genie_dp.synthesis.compiler import takes_part
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.layout import DEFAULT_FORMS, ChildSpec, placeholder_of
from genie_dp.synthesis.parts import Tally
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import group
from genie_dp.synthesis.quotas import even
from genie_dp.synthesis.report_rows import RowCounts
from genie_dp.synthesis.rules import Rule
from genie_dp.synthesis.sampler import plan
from genie_dp.templates.ast import Template
from genie_dp.templates.bodies import functions_in_bodies, names_in_body
from genie_dp.templates.grammar import Grammar

_NEVER = 1_000_000  # more than any depth
_TRIES = 100  # combinations of a template to look at before it is said never to fit


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something never appears: a word to count by, and a sentence for whoever mends it."""

    kind: str
    detail: str


@dataclass(slots=True)
class TemplateReasons:
    """Finds out what keeps templates out of the rows.

    Attributes:
        grammar: with the templates of all subsets.
    """

    engine: Engine
    grammar: Grammar
    tally: Tally
    counts: RowCounts
    _rules: dict[str, list[Rule]] = field(default_factory=dict)
    _reached: set[str] = field(default_factory=set)
    _pooled: Counter[str] = field(default_factory=Counter)
    _least: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort rules by template, follow the categories from the roots, count partial results."""
        for rules in self.engine.compiled.rules.values():
            for rule in rules:
                self._rules.setdefault(rule.template.id, []).append(rule)
        self._reached = _reached(self.engine)
        self._least = _least_depths(self.engine)
        for levels in self.engine.pools.levels.values():
            for level in levels:
                self._pooled.update(json.loads(f"[{piece.derivation}]")[0] for piece in level)

    def of(self, template: Template) -> Reason | None:
        """Return why no row has this template, or None if one has."""
        if self.counts.templates[template.id]:
            return None
        rules = self._rules.get(template.id)
        if not rules:
            flags = ", ".join(f"{name}={str(value).lower()}" for name, value in template.flags)
            return Reason("other subset", f"its flags keep it out: {flags}")
        if template.category not in self._reached:
            return Reason("unreachable", f"no sentence contains the category {template.category}")
        found = [cell for rule in rules for cell in self._cells(rule)]
        if not found:
            return self._without_cells(rules)
        if template.category in self.engine.compiled.roots:
            return self._root(template, found)
        return self._inner(template, found)

    # ------------------------------------------------------------- combinations there are

    def _root(self, template: Template, found: Sequence[Cell]) -> Reason:
        drawn, kept = self.tally.drawn[template.id], self.tally.kept[template.id]
        if kept:
            detail = f"all {kept:,} of its rows repeat sentences, or came after the last row"
            return Reason("left out", detail)
        if drawn:
            return self._outcome(template, found) or Reason(
                "never fits", f"the parts of all {drawn:,} draws do not go together"
            )
        return self._outcome(template, found) or _rare(found)

    def _inner(self, template: Template, found: Sequence[Cell]) -> Reason:
        pooled = self._pooled[template.id]
        if pooled:
            detail = f"it is in {pooled:,} partial derivations, and no row was drawn with them"
            return Reason("rare", detail)
        outcome = self._outcome(template, found)
        if outcome is None and found[0].depth == 0:
            return Reason("left out", "other templates say all of it in the same words")
        return outcome or _rare(found)

    def _outcome(self, template: Template, found: Sequence[Cell]) -> Reason | None:
        """Return what is wrong with all of some combinations; None if some are good."""
        chosen = plan(found, even(_TRIES, [cell.size for cell in found]), 0, "report", template.id)
        left_out: set[str] = set()
        for cell, pieces in chosen.draws(0, chosen.total):
            try:
                combined = cell.wording.assemble(*pieces)
            except GenieError as error:
                return Reason("raises", error.problems[0].message)
            if combined is None:
                continue
            functions = combined.value.functions
            if takes_part(functions, self.engine.config):
                return None
            left_out.update(f for f in functions if not takes_part((f,), self.engine.config))
        if left_out:
            return Reason("excluded", f"by --include, --exclude or --weights: {_some(left_out)}")
        return Reason("never fits", f"its parts do not go together in {chosen.total:,} tries")

    # ------------------------------------------------------------------- no combinations

    def _cells(self, rule: Rule) -> Iterator[Cell]:
        """Yield the cells at the least depth that has any."""
        for depth in range(self._deepest(rule) + 1):
            found = list(cells(rule, depth, self.engine.pools))
            if found:
                yield from found
                return

    def _deepest(self, rule: Rule) -> int:
        is_root = rule.category in self.engine.compiled.roots
        return self.engine.config.max_depth - (0 if is_root else 1)

    def _without_cells(self, rules: Sequence[Rule]) -> Reason:
        needed = min(self._needed(rule) for rule in rules)
        if self.engine.config.max_depth < needed < _NEVER:
            return Reason("depth", f"it needs a --max-depth of at least {needed}")
        missing = [self._missing(rule) for rule in rules]
        if all(missing):
            return Reason("no child", str(missing[0]))
        complete = [rule for rule, lost in zip(rules, missing, strict=True) if not lost]
        deepest = self.engine.config.max_depth
        if any(True for rule in complete for _ in cells(rule, deepest, self.engine.pools)):
            return Reason("depth", f"it needs a --max-depth of more than {deepest}")
        return Reason("guard", f"nothing meets its condition: {self._guard(rules[0].template)}")

    def _needed(self, rule: Rule) -> int:
        """Return the least depth of a sentence that holds the rule, guards left aside."""
        own = _least_depth(rule, self._least)
        return own + (0 if rule.category in self.engine.compiled.roots else 1)

    def _missing(self, rule: Rule) -> str:
        for index, child in enumerate(rule.layout.children):
            pieces = self._pieces(rule, child)
            if not pieces:
                return f"there is no {_child_text(child)}"
            if not group(
                [[p] for p in pieces], rule.reads[index], child.asked, child.gap is not None
            ):
                return f"none of {len(pieces):,} fits {_child_text(child)}"
        return ""

    def _pieces(self, rule: Rule, child: ChildSpec) -> Sequence[Piece]:
        name = placeholder_of(child.pool)
        if name is not None:
            return rule.constants[name]
        pools = self.engine.pools
        if child.is_leaf:
            return pools.leaves[child.pool]
        return tuple(pools.pieces(child.pool, 0, self._deepest(rule) - 1))

    def _guard(self, template: Template) -> str:
        span = template.guard_span
        text = self.grammar.sources.get(span.file, "") if span else ""
        if span is None or not text:
            return "(its guard)"
        lines = text.split("\n")[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return " ".join(" ".join(lines).split())


def _rare(found: Sequence[Cell]) -> Reason:
    total = sum(cell.size for cell in found)
    return Reason("rare", f"none of its {total:,} combinations was drawn or stayed")


def _least_depth(rule: Rule, least: Mapping[str, int]) -> int:
    inner = [least.get(c.pool, _NEVER) for c in rule.layout.children if not c.is_leaf]
    return 1 + max(inner) if inner else 0


def _least_depths(engine: Engine) -> dict[str, int]:
    """Return category -> the depth of its least deep derivation, guards left aside."""
    found: dict[str, int] = {}
    while True:
        new = {
            name: min([_NEVER, *(_least_depth(rule, found) for rule in rules)])
            for name, rules in engine.compiled.rules.items()
        }
        if new == found:
            return found
        found = new


def _child_text(child: ChildSpec) -> str:
    """Return a child as template files write it.

    >>> _child_text(ChildSpec("q", "NP", False, (("num", frozenset({"pl"})),)))
    'q:NP[num=pl]'
    """
    name = placeholder_of(child.pool)
    if name is not None:
        return f"constant for ${name}"
    # What is asked of every child that says nothing else is not shown.
    default = ("form", DEFAULT_FORMS)
    asked = [f"{key}={'|'.join(sorted(v))}" for key, v in child.asked if (key, v) != default]
    if child.gap is not None:
        asked.append("gap")
    return f"{child.name}:{child.pool}" + (f"[{', '.join(asked)}]" if asked else "")


def _reached(engine: Engine) -> set[str]:
    found, waiting = set(engine.compiled.roots), list(engine.compiled.roots)
    while waiting:
        for rule in engine.compiled.rules.get(waiting.pop(), ()):
            new = {child.pool for child in rule.layout.children} - found
            found |= new
            waiting.extend(new)
    return found


def _some(names: Collection[str], most: int = 3) -> str:
    """Return the first names, and how many more there are.

    >>> _some(["@a.b", "@a.c", "@a.d", "@a.e"])
    '@a.b, @a.c, @a.d and 1 more'
    """
    shown = ", ".join(sorted(names)[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# --------------------------------------------------------------------- functions, parameters


def templates_by_function(grammar: Grammar) -> dict[str, list[Template]]:
    """Return function -> the templates whose bodies name it."""
    found: dict[str, list[Template]] = {}
    for template in grammar.templates:
        for name in functions_in_bodies(Grammar(templates=(template,))):
            found.setdefault(name, []).append(template)
    return found


def function_reason(
    name: str, templates: Sequence[Template], reasons: Mapping[str, Reason | None], config: Any
) -> Reason:
    """Return why a function that may be called is in no row."""
    if not takes_part((name,), config):
        return Reason("excluded", "by --include, --exclude or --weights")
    if not templates:
        return Reason("no template", "no template names it")
    found = {t.id: reason for t in templates if (reason := reasons[t.id]) is not None}
    kinds = {reason.kind for reason in found.values()}
    kind = "rare" if not kinds or "rare" in kinds else "its templates"
    told = "; ".join(f"{name}: {reason.detail}" for name, reason in list(found.items())[:3])
    more = f"; and {len(found) - 3} more templates" if len(found) > 3 else ""
    return Reason(kind, f"{told}{more}" if told else "rows with it were not drawn")


def parameter_reason(
    function: str, name: str, templates: Sequence[Template], library: Any, *, is_seen: bool
) -> Reason:
    """Return why a parameter of a function is in no row; `is_seen` tells of the function."""
    if not is_seen:
        return Reason("function", "its function never appears")
    if any(name in names_in_body(template) for template in templates):
        return Reason("rare", "templates of the function name it, and no row was drawn with them")
    phrases = library.phrases(function, name) if hasattr(library, "phrases") else {}
    if not phrases:
        return Reason("no phrase", "nothing says how people speak of it")
    return Reason("not drawn", "it has phrases, but no row has them: no template takes its type?")
