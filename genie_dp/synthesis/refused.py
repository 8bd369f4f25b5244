"""Readings that a grammar refuses: what a sentence would mean besides, were it not for one guard.

`p.name not in q.inner` leaves a condition to the inner of two nouns where it fits both. Without
that test the chart finds the other reading as well, and here is said which template refuses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from genie_dp.synthesis.chart import Entry, Way
from genie_dp.synthesis.chart_miss import guard_text
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.explain import Explainer, Explanation, Reading
from genie_dp.synthesis.rules import Rule
from genie_dp.templates.guard import Test

REFUSING = "inner"
"""The attribute with which guards refuse the second reading of a sentence."""


@dataclass(slots=True)
class SecondReadings:
    """Finds the readings that guards refuse; indexes the grammar once more when first asked."""

    explainer: Explainer
    _loose: Explainer | None = field(default=None, init=False)
    _left_out: Mapping[int, Sequence[Test]] = field(default_factory=dict, init=False)

    def of(self, explanation: Explanation) -> tuple[Reading, ...]:
        """Return the readings of a sentence that are refused, the least deep first."""
        if self._loose is None:
            compiled, self._left_out = loosened(self.explainer.compiled)
            self._loose = Explainer(compiled, self.explainer.max_depth, self._why)
        if not self._left_out:
            return ()
        found, _ = self._loose.parse(explanation.sentence)
        return tuple(r for r in found.readings if r.program not in explanation.programs)

    def _why(self, way: Way) -> str:
        tests = self._left_out.get(id(way.rule), ())
        pieces = [c.piece if isinstance(c, Entry) else c for c, _ in way.children]
        by_name = dict(zip(way.rule.names, pieces, strict=True))

        def value(child: str, name: str) -> object:
            return by_name[child].attribute(name)

        for test in tests:
            if not test.evaluate(value):
                told = ", ".join(f"{c}.{name} is {value(c, name)!r}" for c, name in test.reads)
                return f"the guard wants {guard_text(test.expression)}: {told}"
        return ""


def loosened(compiled: Compiled) -> tuple[Compiled, Mapping[int, Sequence[Test]]]:
    """Return a grammar whose guards refuse no second reading, and what was left out of its rules.

    The tests are keyed by the identity of the rule that they are missing in.
    """
    left_out: dict[int, Sequence[Test]] = {}

    def without(rule: Rule) -> Rule:
        tests = [t for t in (*rule.guard.tests, *rule.late) if _refuses(t)]
        if not tests:
            return rule
        guard = replace(rule.guard, tests=tuple(t for t in rule.guard.tests if t not in tests))
        late = tuple(t for t in rule.late if t not in tests)
        # Wordings hold what was made of the rule with its tests.
        loose = replace(rule, guard=guard, late=late, wordings={})
        left_out[id(loose)] = tests
        return loose

    rules = {name: [without(rule) for rule in of_it] for name, of_it in compiled.rules.items()}
    return replace(compiled, rules=rules), left_out


def _refuses(test: Test) -> bool:
    return any(name == REFUSING for _, name in test.reads)
