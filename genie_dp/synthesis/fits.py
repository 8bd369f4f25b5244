"""What `genie-dp check` says of children that make no well-typed program together.

Bodies refuse such children when they first meet them (`Fragment.refused`), so synthesis never
writes them. Here every template is tried with children of each sort, before anything is
synthesized, and its author is told what is left out.

| code | warning |
|---|---|
| G110 | a template whose children never make a program, most often since it would be ill-typed |
| G111 | one with children that do, and others that do not: those are left out |

A Python function that raises, or returns an ill-typed program, is the error Y010.
"""

import gc
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cells, cells_of
from genie_dp.synthesis.compiler import Compiled, compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.layout import BUILT_IN, ChildSpec, placeholder_of
from genie_dp.synthesis.pieces import Piece, sort_of
from genie_dp.synthesis.placeholders import GAP, mask_of
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.quotas import I64, fill
from genie_dp.synthesis.rules import Rule, piece_of
from genie_dp.synthesis.sampler import plan
from genie_dp.templates.ast import Template
from genie_dp.templates.bodies import placed
from genie_dp.templates.expand import children_of
from genie_dp.templates.grammar import Grammar

_DEEP = 2  # from there on only templates are tried that no lesser depth has
_DEEPEST = 8
_AT_DEPTH = 1_500  # combinations tried of the templates of a category at one depth
_LEAST, _MOST = 20, 1_500  # of one template
_PHRASES = 4  # of one without children, whose constants are alike
_UNFIT = 5_000  # of a template that refused all it was tried with
_ALIKE = 2  # pieces kept of each sort: what guards read of words may differ


@dataclass(slots=True)
class _Trial:
    """What came of the combinations of a template that were tried.

    Attributes:
        room: how many combinations there are, at all depths.
        told: the mistake of the first one refused, with the rule and its children.
        is_late: its guard has tests that are decided for each draw, and refuse some.
    """

    template: Template
    room: float = 0
    tried: int = 0
    built: int = 0
    refused: int = 0
    told: tuple[Problem, Rule, tuple[Piece, ...]] | None = None
    error: Problem | None = None
    is_late: bool = False
    cells: list[Cells] = field(default_factory=list)


def misfits(grammar: Grammar, language: Language, library: Any) -> list[Problem]:
    """Return a problem for every template that meets children with which it would be ill-typed."""
    gc.disable()  # all that is made here stays to the end: a fifth of the time otherwise
    try:
        compiled = compile_grammar(grammar, language, library, SynthesisConfig())
        return list(_Trials(compiled).problems())
    except GenieError as error:
        return list(error.problems)
    finally:
        gc.enable()


class _Trials:
    """Tries templates with children of every sort, made depth by depth."""

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.pools = Pools(leaves=compiled.leaves)
        self.trials: dict[str, _Trial] = {}

    def problems(self) -> Iterator[Problem]:
        sorts: dict[str, Counter[int]] = {name: Counter() for name in self.compiled.rules}
        for depth in range(_DEEPEST + 1):
            levels = {
                category: self._level(self._waiting(rules, depth), depth, sorts[category])
                for category, rules in self.compiled.rules.items()
            }
            if depth > _DEEP and not any(levels.values()):
                break
            for category, pieces in levels.items():
                self.pools.add(category, pieces)
        for trial in self.trials.values():
            if not trial.built and not trial.error and trial.room > trial.tried:
                self._try_harder(trial)
            yield from self._told(trial)

    def _waiting(self, rules: Sequence[Rule], depth: int) -> Sequence[Rule]:
        """Return the rules to be tried at a depth."""
        return rules if depth <= _DEEP else [r for r in rules if r.template.id not in self.trials]

    def _level(self, rules: Sequence[Rule], depth: int, sorts: Counter[int]) -> list[Piece]:
        """Return pieces of sorts that were not met at lesser depths."""
        found = cells_of(rules, (depth,), self.pools)
        each = min(_MOST, max(_LEAST, _AT_DEPTH // max(1, len(found.spans))))
        quotas = np.zeros(len(found), np.int64)
        for a, b in found.spans:
            template = found[a].rule.template
            trial = self.trials.setdefault(template.id, _Trial(template))
            sizes = found.sizes[a:b].astype(float)
            trial.room += sizes.sum()
            trial.cells.append(found)
            most = each if any(children_of(template.utterance)) else _PHRASES
            quotas[a:b] = fill(most, sizes**0.25, sizes, child_seed(0, "fits", template.id))
        return list(self._drawn(found, quotas, sorts))

    def _drawn(self, found: Cells, quotas: I64, sorts: Counter[int]) -> Iterator[Piece]:
        chosen = plan(found, quotas, 0, "fits")
        for cell, pieces in chosen.draws(0, chosen.total):
            trial = self.trials[cell.rule.template.id]
            if trial.error is not None:
                continue
            refused = cell.rule.body.refused
            refused.clear()
            trial.tried += 1
            trial.is_late |= bool(cell.rule.late)
            try:
                combined = cell.wording.assemble(*pieces)
            except GenieError as error:
                trial.error = placed(error.problems[0], trial.template)
                continue
            if combined is None:
                if refused:
                    trial.refused += 1
                    trial.told = trial.told or (next(iter(refused)), cell.rule, pieces)
                continue
            trial.built += 1
            if cell.rule.is_leaf:
                combined.count = self.compiled.placeholders.count(combined.text)
                combined.mask = mask_of(combined.count)
            piece = piece_of(cell.rule, pieces, combined)
            sort = sort_of(piece)
            sorts[sort] += 1
            if sorts[sort] <= _ALIKE:
                yield piece

    def _try_harder(self, trial: _Trial) -> None:
        """Try more of a template's combinations, until one is well-typed."""
        for found in trial.cells:
            quotas = np.zeros(len(found), np.int64)
            for a, b in found.spans:
                if found[a].rule.template.id == trial.template.id:
                    sizes = found.sizes[a:b].astype(float)
                    quotas[a:b] = fill(_UNFIT, sizes, sizes, child_seed(0, "fits", "more"))
            for _ in self._drawn(found, quotas, Counter()):
                return

    # ------------------------------------------------------------------------------ telling

    def _told(self, trial: _Trial) -> Iterator[Problem]:
        template = trial.template
        if trial.error is not None:
            yield trial.error
        elif trial.told is not None:
            problem, rule, pieces = trial.told
            names = " and ".join(rule.names)
            shown = ", ".join(map(self._shown, rule.layout.children, pieces))
            mistake = f"{problem.code}: {problem.message}"
            span = placed(problem, template).span
            if trial.built:
                some = f"{trial.refused:,} of {trial.tried:,} combinations of {names}"
                message = f"{some} are ill-typed and left out, such as {shown}: {mistake}"
            else:
                message = f"{_none_of(trial)} of {names} is well-typed, such as {shown}: {mistake}"
            code = "G111" if trial.built else "G110"
            yield Problem(code, message, span, problem.hint, severity="warning")
        elif trial.tried >= _LEAST and not trial.built and not trial.is_late:
            # Of few combinations all may say the same thing twice: a matter of the skills.
            message = f"{_none_of(trial)} of its children gives any {template.category}"
            span = template.body_span or template.span
            yield Problem("G110", message, span, severity="warning")

    def _shown(self, child: ChildSpec, piece: Piece) -> str:
        """Return a child as a message names it: its words, and what they stand for."""
        words = piece.text
        for character, token in self.compiled.placeholders.names_in(piece.count):
            words = words.replace(character, token)
        said = f"{child.name} = {words.replace(GAP, '____')!r}"
        if placeholder_of(child.pool) is not None:
            return said
        if child.pool in BUILT_IN:
            return f"{said} ({piece.value.text})" if child.pool != "VALUE" else said
        if child.is_leaf:
            return f"{said} of {child.pool}"
        template = json.loads(f"[{piece.derivation}]")[0]
        return f"{said} of {template}, {self._places()[template]}"

    def _places(self) -> dict[str, Any]:
        rules = (rule for of_category in self.compiled.rules.values() for rule in of_category)
        return {rule.template.id: rule.template.span for rule in rules}


def _none_of(trial: _Trial) -> str:
    is_all = trial.tried >= trial.room
    return "no combination" if is_all else f"none of {trial.tried:,} combinations"
