"""What came of a run: coverage with reasons, distributions, ambiguity, acceptance.

`make_report` returns plain data for report.json; report_page.py shows the same as a page.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from genie_dp.synthesis.compiler import spoken_functions, takes_part
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.parts import Tally
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.report_parameters import Parameters
from genie_dp.synthesis.report_reasons import (
    Reason,
    TemplateReasons,
    function_reason,
    parameter_reason,
    templates_by_function,
)
from genie_dp.synthesis.report_rows import RowCounts, count_rows
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import Grammar

TOP_PAIRS = 30
MOST_CONFLICTS = 200


def make_report(
    engine: Engine,
    tally: Tally,
    grammar: Grammar,
    library: Any,
    *,
    rows: Iterable[str],
    ambiguous: Iterable[str],
    distinct_programs: int,
    raised_in_pools: Counter[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the report of a run as plain data.

    Args:
        grammar: with the templates of all subsets.
        rows: the lines of the rows as JSON; read once.
        ambiguous: the lines that were dropped since their sentence has another program.
    """
    signatures = spoken_functions(grammar, library)
    counts = count_rows(rows, ambiguous, Parameters.of(library) if signatures else None)
    return _Report(
        engine, tally, grammar, library, signatures, counts, distinct_programs,
        raised_in_pools or Counter(), settings or {},
    ).as_dict()  # fmt: skip


@dataclass(slots=True)
class _Report:
    """The parts of a report.

    Attributes:
        signatures: the functions of which sentences speak.
    """

    engine: Engine
    tally: Tally
    grammar: Grammar
    library: Any
    signatures: Sequence[Any]
    counts: RowCounts
    distinct_programs: int
    raised_in_pools: Counter[str]
    settings: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        reasons = self._reasons()
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
                "templates": _rivals(self.counts.conflicts),
                "shown": self._ambiguous(),
            },
            "pool_conflicts": self._pool_conflicts(),
            "raised": self._raised(),
            "refused": self._refused(),
            "skipped": [
                {"path": str(s.path), "problems": [p.as_dict() for p in s.problems]}
                for s in getattr(self.library, "skipped", ())
            ],
        }

    def _reasons(self) -> dict[str, Reason | None]:
        why = TemplateReasons(self.engine, self.grammar, self.tally, self.counts)
        return {template.id: why.of(template) for template in self.grammar.templates}

    def _totals(self) -> dict[str, int]:
        drawn, kept = self.tally.drawn.total(), self.tally.kept.total()
        raised = self.tally.raised.total()
        return {
            "rows": self.counts.rows,
            "distinct_programs": self.distinct_programs,
            "draws": drawn,
            "rejected": drawn - kept - raised,
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
                for name, count in _ranked(uses)
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
            "seen": [{"name": f"{f}:{p}", "rows": count} for (f, p), count in _ranked(seen)],
            "never": never,
        }

    def _template(self, template: Template, reason: Reason | None) -> dict[str, Any]:
        drawn, kept = self.tally.drawn[template.id], self.tally.kept[template.id]
        return {
            "id": template.id,
            "place": str(template.span or template.body_span or ""),
            "category": template.category,
            "drawn": drawn,
            "kept": kept,
            "rejected": drawn - kept,
            "acceptance": _share(kept, drawn) if drawn else None,
            "rows": self.counts.templates[template.id],
            "reason": asdict(reason) if reason else None,
        }

    def _pairs(self) -> dict[str, Any]:
        config = self.engine.config
        kinds = [s.kind for s in self.signatures if takes_part((s.qualified,), config)]
        # A program has one action, so two actions never stand together.
        actions, every = kinds.count("action"), len(kinds)
        possible = every * (every - 1) // 2 - actions * (actions - 1) // 2
        return {
            "possible": possible or None,
            "seen": len(self.counts.pairs),
            "top": [
                {"functions": list(pair), "rows": count}
                for pair, count in _ranked(self.counts.pairs)[:TOP_PAIRS]
            ],
        }

    # -------------------------------------------------------------------------- trouble

    def _ambiguous(self) -> list[dict[str, Any]]:
        return [
            {"utterance": utterance, "kept": rows[0], "dropped": rows[1:]}
            for utterance, rows in self.counts.conflicts.items()
        ]

    def _pool_conflicts(self) -> dict[str, Any]:
        """Return phrases with two programs, placeholders named and gaps shown as ____."""
        clashes, placeholders = self.engine.pools.clashes, self.engine.compiled.placeholders
        shown: Counter[str] = Counter()
        for words, count in _ranked(clashes)[:MOST_CONFLICTS]:
            for character, token in placeholders.names(words):
                words = words.replace(character, token)
            shown[words.replace(GAP, "____")] += count
        return {"count": clashes.total(), "shown": dict(shown)}

    def _raised(self) -> list[dict[str, Any]]:
        places = {t.id: str(t.body_span or t.span) for t in self.grammar.templates}
        found = []
        for name, count in _ranked(self.tally.raised + self.raised_in_pools):
            template, _, exception = name.rpartition(": ")
            found.append(
                {"template": template, "place": places[template], "exception": exception,
                 "times": count}
            )  # fmt: skip
        return found

    def _refused(self) -> list[dict[str, Any]]:
        """Return the templates that met children with which their program would be ill-typed."""
        places = {t.id: str(t.body_span or t.span) for t in self.grammar.templates}
        refused = self.tally.refused + self.engine.pools.refused
        return [
            {"template": template, "place": places[template], "code": code, "times": count}
            for name, count in _ranked(refused)
            for template, _, code in [name.rpartition(": ")]
        ]


def _rivals(conflicts: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the pairs of templates at which two derivations of a sentence part, with counts.

    >>> rows = [{"derivation": ["get", "my files"]}, {"derivation": ["get", "all files"]}]
    >>> _rivals({"get files": rows})
    [{'templates': ['all files', 'my files'], 'sentences': 1}]
    """
    pairs: Counter[tuple[str, ...]] = Counter()
    for kept, *dropped in conflicts.values():
        for other in dropped:
            both = zip_longest(kept["derivation"], other["derivation"], fillvalue="")
            parting = next((pair for pair in both if pair[0] != pair[1]), None)
            pairs[tuple(sorted(parting or kept["derivation"][:1]))] += 1
    return [{"templates": list(pair), "sentences": count} for pair, count in _ranked(pairs)]


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Return (name, count), largest first, then by name.

    >>> _ranked(Counter(b=1, a=1, c=2))
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
