"""The report of a run: coverage with reasons, distributions, ambiguity, acceptance.

`make_report` returns plain data for report.json; `render_page` shows the same as one page of HTML,
with charts in SVG, nothing to load and no script.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, groupby, islice, zip_longest
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.languages.library import Library
from genie_dp.run.page import bin_counts, page_environment
from genie_dp.synthesis.cells import Cell, cells
from genie_dp.synthesis.compiler import spoken_functions, takes_part
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.plan import even, plan_draws
from genie_dp.synthesis.pools import group
from genie_dp.synthesis.rows import SynthesisCounts
from genie_dp.synthesis.rules import DEFAULT_FORMS, ChildSpec, GrammarRule, placeholder_of
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import (
    Grammar,
    functions_in_bodies,
    functions_of,
    names_in_body,
    subset,
)

LEAST_ROWS = 10
"""A template with fewer rows is hardly learned."""
_MOST_NAMED = 10
MOST_BARS = 40
MOST_LINES = 400  # of a table; report.json has all


def render_page(report: Mapping[str, Any]) -> str:
    """Return the page of a report made by `make_report`."""
    environment = page_environment("genie_dp.synthesis")
    never_used = sorted((t for t in report["templates"] if t["reason"]), key=_by_reason)
    text: str = environment.get_template("report.html.jinja").render(
        report=report,
        roots=sorted(
            (t for t in report["templates"] if t["drawn"]), key=lambda t: (t["acceptance"], t["id"])
        ),
        used=sorted((t for t in report["templates"] if t["rows"]), key=lambda t: -t["rows"]),
        never_used=never_used,
        skills=_by_skill(report["templates"]),
        least_rows=LEAST_ROWS,
        kinds=Counter(t["reason"]["kind"] for t in never_used),
        length=bin_counts(report["length"]),
        most_bars=MOST_BARS,
        most_lines=MOST_LINES,
    )
    return text


def _by_skill(templates: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Any]]]:
    """Return skill -> its templates, the fewest rows first; skills in the order of names."""
    own = sorted((t for t in templates if t["skill"]), key=lambda t: (t["skill"], t["rows"]))
    return [(skill, list(group)) for skill, group in groupby(own, lambda t: t["skill"])]


# ------------------------------------------------------------------------------ rows of templates


def skill_templates(
    grammar: Grammar, library: Library, config: SynthesisConfig
) -> tuple[Template, ...]:
    """Return the templates that name functions which take part: the users' words for skills."""
    known = {signature.qualified for signature in library.functions()}
    return tuple(
        template
        for template in subset(grammar, config.subsets).templates
        if (named := functions_of(template) & known) and takes_part(named, config)
    )


def count_templates(lines: Iterable[str], templates: Iterable[Template]) -> dict[str, int]:
    """Return template -> lines of JSON whose derivation has it, none included."""
    counts = dict.fromkeys((template.id for template in templates), 0)
    for line in lines:
        for name in set(json.loads(line)["derivation"]) & counts.keys():
            counts[name] += 1
    return counts


def few_rows_line(pairs: Mapping[str, int], augmented: Mapping[str, int]) -> str:
    """Return which templates have too few rows to be learned, the fewest first; "" for none.

    A whole sentence with placeholders is one pair and many rows: augmented ones count, where there
    are any.

    Args:
        pairs: template -> its pairs.
        augmented: template -> its rows after augmentation; empty where that is not known.

    >>> few_rows_line({"a": 1, "b": 12, "c": 2}, {})
    'templates with fewer than 10 rows (pairs): a (1), c (2)'
    >>> few_rows_line({"a": 1, "b": 12, "c": 2}, {"a": 4, "b": 99, "c": 30})
    'templates with fewer than 10 rows (pairs, augmented): a (1, 4)'
    """
    counts = augmented or pairs
    few = sorted((rows, name) for name, rows in counts.items() if rows < LEAST_ROWS)
    if not few:
        return ""
    what = "pairs, augmented" if augmented else "pairs"
    shown = ", ".join(
        f"{name} ({pairs.get(name, 0)}, {rows})" if augmented else f"{name} ({rows})"
        for rows, name in few[:_MOST_NAMED]
    )
    more = f" and {len(few) - _MOST_NAMED:,} more" if len(few) > _MOST_NAMED else ""
    return f"templates with fewer than {LEAST_ROWS} rows ({what}): {shown}{more}"


def _by_reason(template: Mapping[str, Any]) -> tuple[bool, str, str]:
    # What more rows would mend comes last.
    kind = template["reason"]["kind"]
    return kind == "rare", kind, template["id"]


# -------------------------------------------------------------------------------------- parameters
# A name means the output of the right-most function before it that has one of that name (Genie,
# section 2.3), so one pass over the tokens is enough: a few microseconds a row, where a syntax tree
# and its scopes take ten times as long.


@dataclass(slots=True)
class ParameterNames:
    """The inputs and outputs of all functions of a library: "@c.f" -> their names."""

    inputs: dict[str, frozenset[str]] = field(default_factory=dict)
    outputs: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_library(cls, library: Library) -> "ParameterNames":
        """Return the parameters of a skills.Library or of anything with `functions`."""
        parameters = cls()
        for signature in library.functions():
            parameters.inputs[signature.qualified] = frozenset(p.name for p in signature.inputs)
            parameters.outputs[signature.qualified] = frozenset(p.name for p in signature.outputs)
        return parameters

    def in_program(self, program: str) -> Iterator[tuple[str, str]]:
        """Yield (function, parameter) for every name in a token form, in order.

        >>> known = ParameterNames({"@c.q": frozenset(), "@c.a": frozenset("x")},
        ...                    {"@c.q": frozenset({"size", "title"}), "@c.a": frozenset()})
        >>> text = "now => ( @c.q ) filter param:size > 5 => @c.a on param:x = param:title"
        >>> list(known.in_program(text))
        [('@c.q', 'size'), ('@c.a', 'x'), ('@c.q', 'title')]
        """
        tokens = program.split()
        calls: list[str] = []
        nested: list[int] = []  # for each open `{`: how many calls were there before its function
        early: list[str] = []  # `aggregate sum param:f of ( q )`: the name comes before its call
        for index, token in enumerate(tokens):
            if token[0] == "@" and token in self.inputs:
                calls.append(token)
                yield from self._late(token, early)
            elif token == "{":
                nested.append(len(calls) - 1)
            elif token == "}" and nested:
                del calls[nested.pop() :]
            elif token.startswith("param:"):
                name = token.split(":", 2)[1]
                is_given = tokens[index + 1 : index + 2] == ["="]
                function = _last_call(calls, name, self.inputs if is_given else self.outputs)
                if function is not None:
                    yield function, name
                elif not is_given:
                    early.append(name)

    def _late(self, call: str, early: list[str]) -> Iterator[tuple[str, str]]:
        for name in early[:]:
            if name in self.outputs[call]:
                early.remove(name)
                yield call, name


def _last_call(
    calls: list[str], name: str, names_by_function: dict[str, frozenset[str]]
) -> str | None:
    for call in reversed(calls):
        if name in names_by_function[call]:
            return call
    return None


# ---------------------------------------------------------------------------- counts over the rows

MOST_AMBIGUOUS = 200  # shown with both derivations; all are counted


@dataclass(slots=True)
class RowCounts:
    """Counts of the rows by their properties.

    Attributes:
        depth, length, width: rows by depth, by words, by number of functions.
        functions, templates, parameters: rows in which each takes part.
        pairs: rows in which two functions stand together, names in alphabetical order.
        ambiguous: how many rows were dropped since their sentence has another program.
        conflicts: sentence -> [the row that stayed, those that were dropped], for the first ones.
    """

    rows: int = 0
    depth: Counter[int] = field(default_factory=Counter)
    length: Counter[int] = field(default_factory=Counter)
    width: Counter[int] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    templates: Counter[str] = field(default_factory=Counter)
    parameters: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    ambiguous: int = 0
    conflicts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def count_rows(
    rows: Iterable[str], ambiguous: Iterable[str], parameters: ParameterNames | None
) -> RowCounts:
    """Return the counts over lines of JSON; `ambiguous` are the lines that were dropped.

    >>> row = '{"utterance": "beep now", "program": "now => @c.beep", "derivation": ["t"], '
    >>> counts = count_rows([row + '"functions": ["@c.beep"], "depth": 1}'], [], None)
    >>> counts.length, counts.functions
    (Counter({2: 1}), Counter({'@c.beep': 1}))
    """
    counts = RowCounts()
    dropped = _count_ambiguous(ambiguous, counts)
    for line in rows:
        row = json.loads(line)
        _add(counts, row, parameters)
        if row["utterance"] in dropped:
            counts.conflicts[row["utterance"]] = [_shown_fields(row), *dropped[row["utterance"]]]
    return counts


def _add(counts: RowCounts, row: dict[str, Any], parameters: ParameterNames | None) -> None:
    functions = sorted(set(row["functions"]))
    counts.rows += 1
    counts.depth[row["depth"]] += 1
    counts.length[row["utterance"].count(" ") + 1] += 1
    counts.width[len(row["functions"])] += 1
    counts.functions.update(functions)
    counts.templates.update(set(row["derivation"]))
    if len(functions) > 1:
        counts.pairs.update(combinations(functions, 2))
    if parameters is not None:
        counts.parameters.update(set(parameters.in_program(row["program"])))


def _count_ambiguous(lines: Iterable[str], counts: RowCounts) -> dict[str, list[dict[str, Any]]]:
    rows_by_sentence: dict[str, list[dict[str, Any]]] = {}
    remaining = iter(lines)
    for line in islice(remaining, MOST_AMBIGUOUS):
        counts.ambiguous += 1
        row = json.loads(line)
        rows_by_sentence.setdefault(row["utterance"], []).append(_shown_fields(row))
    counts.ambiguous += sum(1 for _ in remaining)
    return rows_by_sentence


def _shown_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "program", "derivation")}


# --------------------------------------------------------------------- why a template gives no row

_NEVER = 1_000_000  # more than any depth
_TRIES = 100  # combinations of a template to look at before it is said never to fit


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something never appears: a word to count by, and a sentence for the author."""

    kind: str
    detail: str


@dataclass(slots=True)
class TemplateReasons:
    """Finds out the reasons why templates are in no row.

    Attributes:
        grammar: with the templates of all subsets.
    """

    engine: SynthesisEngine
    grammar: Grammar
    tally: SynthesisCounts
    counts: RowCounts
    _rules: dict[str, list[GrammarRule]] = field(default_factory=dict)
    _reached: set[str] = field(default_factory=set)
    _pooled: Counter[str] = field(default_factory=Counter)
    _least: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rules in self.engine.compiled.rules.values():
            for rule in rules:
                self._rules.setdefault(rule.template.id, []).append(rule)
        self._reached = _reached_categories(self.engine)
        self._least = _least_depths(self.engine)
        for levels in self.engine.pools.levels.values():
            for level in levels:
                self._pooled.update(json.loads(f"[{piece.derivation}]")[0] for piece in level)

    def reason(self, template: Template) -> Reason | None:
        """Return why no row has this template, or None if one has."""
        if self.counts.templates[template.id]:
            return None
        rules = self._rules.get(template.id)
        category = self.grammar.categories.get(template.category)
        is_root = category is not None and category.is_root
        if is_root and template.category not in self.engine.compiled.roots:
            return Reason("not asked for", f"the root {template.category} makes no sentences here")
        if not rules:
            flags = ", ".join(f"{name}={str(value).lower()}" for name, value in template.flags)
            return Reason("other subset", f"its flags keep it out: {flags}")
        if template.category not in self._reached:
            return Reason("unreachable", f"no sentence contains the category {template.category}")
        found_cells = [cell for rule in rules for cell in self._cells(rule)]
        if not found_cells:
            return self._without_cells(rules)
        if template.category in self.engine.compiled.roots:
            return self._root(template, found_cells)
        return self._inner(template, found_cells)

    # ------------------------------------------------------------- combinations there are

    def _root(self, template: Template, template_cells: Sequence[Cell]) -> Reason:
        draws, rows = self.tally.drawn[template.id], self.tally.kept[template.id]
        if rows:
            detail = f"all {rows:,} of its rows repeat sentences, or came after the last row"
            return Reason("left out", detail)
        if draws:
            return self._outcome(template, template_cells) or Reason(
                "never fits", f"the parts of all {draws:,} draws do not go together"
            )
        return self._outcome(template, template_cells) or _rare(template_cells)

    def _inner(self, template: Template, template_cells: Sequence[Cell]) -> Reason:
        pooled = self._pooled[template.id]
        if pooled:
            detail = f"it is in {pooled:,} partial derivations, and no row was drawn with them"
            return Reason("rare", detail)
        outcome = self._outcome(template, template_cells)
        if outcome is None and template_cells[0].depth == 0:
            return Reason("left out", "other templates say all of it in the same words")
        return outcome or _rare(template_cells)

    def _outcome(self, template: Template, template_cells: Sequence[Cell]) -> Reason | None:
        """Return the fault that all of some combinations have; None if some are good."""
        chosen = plan_draws(
            template_cells,
            even(_TRIES, [cell.size for cell in template_cells]),
            0,
            "report",
            template.id,
        )
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
            return Reason(
                "excluded", f"by --include, --exclude or --weights: {_list_some(left_out)}"
            )
        return Reason("never fits", f"its parts do not go together in {chosen.total:,} tries")

    # ------------------------------------------------------------------- no combinations

    def _cells(self, rule: GrammarRule) -> Iterator[Cell]:
        """Yield the cells at the least depth that has any."""
        for depth in range(self._deepest(rule) + 1):
            cells_at_depth = list(cells(rule, depth, self.engine.pools))
            if cells_at_depth:
                yield from cells_at_depth
                return

    def _deepest(self, rule: GrammarRule) -> int:
        is_root = rule.category in self.engine.compiled.roots
        return self.engine.config.max_depth - (0 if is_root else 1)

    def _without_cells(self, rules: Sequence[GrammarRule]) -> Reason:
        needed = min(self._least_sentence_depth(rule) for rule in rules)
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

    def _least_sentence_depth(self, rule: GrammarRule) -> int:
        """Return the least depth of a sentence that holds the rule, guards left aside."""
        own = _least_depth(rule, self._least)
        return own + (0 if rule.category in self.engine.compiled.roots else 1)

    def _missing(self, rule: GrammarRule) -> str:
        for index, child in enumerate(rule.layout.children):
            pieces = self._pieces(rule, child)
            if not pieces:
                return f"there is no {_child_text(child)}"
            if not group(
                [[p] for p in pieces], rule.reads[index], child.asked, child.gap is not None
            ):
                return f"none of {len(pieces):,} fits {_child_text(child)}"
        return ""

    def _pieces(self, rule: GrammarRule, child: ChildSpec) -> Sequence[Piece]:
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


def _rare(template_cells: Sequence[Cell]) -> Reason:
    total = sum(cell.size for cell in template_cells)
    return Reason("rare", f"none of its {total:,} combinations was drawn or stayed")


def _least_depth(rule: GrammarRule, least: Mapping[str, int]) -> int:
    inner = [least.get(c.pool, _NEVER) for c in rule.layout.children if not c.is_leaf]
    return 1 + max(inner) if inner else 0


def _least_depths(engine: SynthesisEngine) -> dict[str, int]:
    """Return category -> the depth of its least deep derivation, guards left aside."""
    depths: dict[str, int] = {}
    while True:
        new = {
            name: min([_NEVER, *(_least_depth(rule, depths) for rule in rules)])
            for name, rules in engine.compiled.rules.items()
        }
        if new == depths:
            return depths
        depths = new


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
    requests = [f"{key}={'|'.join(sorted(v))}" for key, v in child.asked if (key, v) != default]
    if child.gap is not None:
        requests.append("gap")
    return f"{child.name}:{child.pool}" + (f"[{', '.join(requests)}]" if requests else "")


def _reached_categories(engine: SynthesisEngine) -> set[str]:
    reached, waiting = set(engine.compiled.roots), list(engine.compiled.roots)
    while waiting:
        for rule in engine.compiled.rules.get(waiting.pop(), ()):
            new = {child.pool for child in rule.layout.children} - reached
            reached |= new
            waiting.extend(new)
    return reached


def _list_some(names: Collection[str], most: int = 3) -> str:
    """Return the first names, and how many more there are.

    >>> _list_some(["@a.b", "@a.c", "@a.d", "@a.e"])
    '@a.b, @a.c, @a.d and 1 more'
    """
    first_names = ", ".join(sorted(names)[:most])
    return first_names if len(names) <= most else f"{first_names} and {len(names) - most} more"


# --------------------------------------------------------------------- functions, parameters


def templates_by_function(grammar: Grammar) -> dict[str, list[Template]]:
    """Return function -> the templates whose bodies name it."""
    templates: dict[str, list[Template]] = {}
    for template in grammar.templates:
        for name in functions_in_bodies(Grammar(templates=(template,))):
            templates.setdefault(name, []).append(template)
    return templates


def function_reason(
    name: str, templates: Sequence[Template], reasons: Mapping[str, Reason | None], config: Any
) -> Reason:
    """Return why a function that may be called is in no row."""
    if not takes_part((name,), config):
        return Reason("excluded", "by --include, --exclude or --weights")
    if not templates:
        return Reason("no template", "no template names it")
    reasons_by_template = {t.id: reason for t in templates if (reason := reasons[t.id]) is not None}
    kinds = {reason.kind for reason in reasons_by_template.values()}
    kind = "rare" if not kinds or "rare" in kinds else "its templates"
    details = "; ".join(
        f"{name}: {reason.detail}" for name, reason in list(reasons_by_template.items())[:3]
    )
    more = (
        f"; and {len(reasons_by_template) - 3} more templates"
        if len(reasons_by_template) > 3
        else ""
    )
    return Reason(kind, f"{details}{more}" if details else "rows with it were not drawn")


def parameter_reason(
    function: str, name: str, templates: Sequence[Template], library: Library, *, is_seen: bool
) -> Reason:
    """Return why a parameter of a function is in no row; `is_seen`: whether the function is."""
    if not is_seen:
        return Reason("function", "its function never appears")
    if any(name in names_in_body(template) for template in templates):
        return Reason("rare", "templates of the function name it, and no row was drawn with them")
    phrases = library.phrases(function, name)
    if not phrases:
        return Reason("no phrase", "nothing says how people speak of it")
    return Reason("not drawn", "it has phrases, but no row has them: no template takes its type?")


# -------------------------------------------------------------------------------------- the report

TOP_PAIRS = 30
MOST_CONFLICTS = 200


def make_report(
    engine: SynthesisEngine,
    tally: SynthesisCounts,
    grammar: Grammar,
    library: Library,
    *,
    rows: Iterable[str],
    ambiguous: Iterable[str],
    distinct_programs: int,
    raised_in_pools: Counter[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    augmented: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the report of a run as plain data.

    Args:
        grammar: with the templates of all subsets.
        augmented: template -> its rows after augmentation, where that is known.
        rows: the lines of the rows as JSON; read once.
        ambiguous: the lines that were dropped since their sentence has another program.
    """
    signatures = spoken_functions(grammar, library)
    counts = count_rows(
        rows, ambiguous, ParameterNames.from_library(library) if signatures else None
    )
    return _Report(
        engine, tally, grammar, library, signatures, counts, distinct_programs,
        raised_in_pools or Counter(), settings or {}, augmented or {},
    ).as_dict()  # fmt: skip


@dataclass(slots=True)
class _Report:
    """The parts of a report.

    Attributes:
        signatures: the functions that sentences mention.
    """

    engine: SynthesisEngine
    tally: SynthesisCounts
    grammar: Grammar
    library: Library
    signatures: Sequence[Any]
    counts: RowCounts
    distinct_programs: int
    raised_in_pools: Counter[str]
    settings: Mapping[str, Any]
    augmented: Mapping[str, int]
    _skills: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for template in skill_templates(self.grammar, self.library, self.engine.config):
            first = template.class_name or min(functions_of(template)).rpartition(".")[0][1:]
            self._skills[template.id] = first

    def as_dict(self) -> dict[str, Any]:
        why = TemplateReasons(self.engine, self.grammar, self.tally, self.counts)
        reasons = {template.id: why.reason(template) for template in self.grammar.templates}
        named = templates_by_function(self.grammar)
        return {
            "settings": dict(self.settings),
            "totals": self._totals(),
            "depth": _histogram(self.counts.depth),
            "length": _histogram(self.counts.length),
            "functions_per_row": _histogram(self.counts.width),
            "functions": self._functions(named, reasons),
            "parameters": self._parameters(named),
            "templates": [self._template(t, reasons[t.id]) for t in self.grammar.templates],
            "pairs": self._pairs(),
            "ambiguous": {
                "count": self.counts.ambiguous,
                "templates": _rival_templates(self.counts.conflicts),
                "shown": [
                    {"utterance": utterance, "kept": rows[0], "dropped": rows[1:]}
                    for utterance, rows in self.counts.conflicts.items()
                ],
            },
            "pool_conflicts": self._pool_conflicts(),
            "raised": self._list_raised(),
            "refused": self._list_refused(),
            "skipped": [
                {"path": str(s.path), "problems": [p.as_dict() for p in s.problems]}
                for s in self.library.skipped
            ],
        }

    def _totals(self) -> dict[str, int]:
        draws, draws_with_row = self.tally.drawn.total(), self.tally.kept.total()
        raised = self.tally.raised.total()
        return {
            "rows": self.counts.rows,
            "distinct_programs": self.distinct_programs,
            "draws": draws,
            "rejected": draws - draws_with_row - raised,
            "raised": raised,
            "repeated": self.tally.repeated,
            "ambiguous": self.tally.ambiguous,
        }

    # ------------------------------------------------------------------------- coverage

    def _functions(
        self, named: Mapping[str, Sequence[Template]], reasons: Mapping[str, Reason | None]
    ) -> dict[str, Any]:
        uses = self.counts.functions
        top = sum(count for _, count in uses.most_common(10))
        spoken = [s.qualified for s in self.signatures]
        callable_ = len(self.library.functions()) if spoken else 0
        config = self.engine.config
        return {
            "callable": callable_ or None,
            "inherited": callable_ - len(spoken),
            "taking_part": sum(takes_part((n,), config) for n in spoken) or None,
            "seen": [
                {"name": name, "rows": count, "share": _share(count, self.counts.rows)}
                for name, count in _rank(uses)
            ],
            "never": [
                {
                    "name": name,
                    **asdict(function_reason(name, named.get(name, ()), reasons, config)),
                }
                for name in spoken
                if not uses[name]
            ],
            "top_ten_share": _share(top, uses.total()),
        }

    def _parameters(self, named: Mapping[str, Sequence[Template]]) -> dict[str, Any] | None:
        if not self.signatures:
            return None
        seen, never = self.counts.parameters, []
        for signature in self.signatures:
            function = signature.qualified
            if not takes_part((function,), self.engine.config):
                continue
            is_seen = bool(self.counts.functions[function])
            for parameter in signature.parameters:
                if not seen[function, parameter.name]:
                    reason = parameter_reason(
                        function, parameter.name, named.get(function, ()), self.library,
                        is_seen=is_seen,
                    )  # fmt: skip
                    never.append({"name": f"{function}:{parameter.name}", **asdict(reason)})
        return {
            "all": len(seen) + len(never),
            "seen": [{"name": f"{f}:{p}", "rows": count} for (f, p), count in _rank(seen)],
            "never": never,
        }

    def _template(self, template: Template, reason: Reason | None) -> dict[str, Any]:
        draws, rows = self.tally.drawn[template.id], self.tally.kept[template.id]
        pairs = self.counts.templates[template.id]
        augmented = self.augmented.get(template.id)
        skill = self._skills.get(template.id)
        return {
            "id": template.id,
            "skill": skill,
            "is_few": skill is not None
            and (pairs if augmented is None else augmented) < LEAST_ROWS,
            "augmented": augmented,
            "place": str(template.span or template.body_span or ""),
            "category": template.category,
            "drawn": draws,
            "kept": rows,
            "rejected": draws - rows,
            "acceptance": _share(rows, draws) if draws else None,
            "rows": pairs,
            "reason": asdict(reason) if reason else None,
        }

    def _pairs(self) -> dict[str, Any]:
        config = self.engine.config
        kinds = [s.kind for s in self.signatures if takes_part((s.qualified,), config)]
        # A program has one action, so two actions never stand together.
        actions, functions = kinds.count("action"), len(kinds)
        possible = functions * (functions - 1) // 2 - actions * (actions - 1) // 2
        return {
            "possible": possible or None,
            "seen": len(self.counts.pairs),
            "top": [
                {"functions": list(pair), "rows": count}
                for pair, count in _rank(self.counts.pairs)[:TOP_PAIRS]
            ],
        }

    # -------------------------------------------------------------------------- trouble

    def _pool_conflicts(self) -> dict[str, Any]:
        """Return phrases with two programs, placeholders named and gaps shown as ____."""
        clashes, placeholders = self.engine.pools.clashes, self.engine.compiled.placeholders
        conflicts: Counter[str] = Counter()
        for words, count in _rank(clashes)[:MOST_CONFLICTS]:
            conflicts[placeholders.show(words)] += count
        return {"count": clashes.total(), "shown": dict(conflicts)}

    def _list_raised(self) -> list[dict[str, Any]]:
        places = {t.id: str(t.body_span or t.span) for t in self.grammar.templates}
        rows = []
        for name, count in _rank(self.tally.raised + self.raised_in_pools):
            template, _, exception = name.rpartition(": ")
            rows.append(
                {"template": template, "place": places[template], "exception": exception,
                 "times": count}
            )  # fmt: skip
        return rows

    def _list_refused(self) -> list[dict[str, Any]]:
        """Return the templates that met children with which their program would be ill-typed."""
        places = {t.id: str(t.body_span or t.span) for t in self.grammar.templates}
        refused = self.tally.refused + self.engine.pools.refused
        return [
            {"template": template, "place": places[template], "code": code, "times": count}
            for name, count in _rank(refused)
            for template, _, code in [name.rpartition(": ")]
        ]


def _rival_templates(conflicts: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the pairs of templates at which two derivations of a sentence part, with counts.

    >>> rows = [{"derivation": ["get", "my files"]}, {"derivation": ["get", "all files"]}]
    >>> _rival_templates({"get files": rows})
    [{'templates': ['all files', 'my files'], 'sentences': 1}]
    """
    pairs: Counter[tuple[str, ...]] = Counter()
    for kept_row, *dropped in conflicts.values():
        for dropped_row in dropped:
            both = zip_longest(kept_row["derivation"], dropped_row["derivation"], fillvalue="")
            parting = next((pair for pair in both if pair[0] != pair[1]), None)
            pairs[tuple(sorted(parting or kept_row["derivation"][:1]))] += 1
    return [{"templates": list(pair), "sentences": count} for pair, count in _rank(pairs)]


def _rank(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Return (name, count), largest first, then by name.

    >>> _rank(Counter(b=1, a=1, c=2))
    [('c', 2), ('a', 1), ('b', 1)]
    """
    return sorted(
        ((name, count) for name, count in counts.items() if count), key=lambda x: (-x[1], x[0])
    )


def _histogram(counts: Counter[int]) -> dict[str, int]:
    """Return every value from the least to the greatest with its count.

    >>> _histogram(Counter({2: 5, 4: 1}))
    {'2': 5, '3': 0, '4': 1}
    """
    if not counts:
        return {}
    return {str(value): counts[value] for value in range(min(counts), max(counts) + 1)}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
