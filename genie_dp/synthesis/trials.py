"""Templates tried for whoever edits them: a few random results, and children that do not fit.

Bodies refuse children that make no well-typed program together when they first meet them
(`Fragment.refused`), so synthesis never writes them. `misfits` tries every template with children
of each sort, before anything is synthesized, and tells its author what is left out:

| code | warning |
|---|---|
| G110 | a template whose children never make a program, most often since it would be ill-typed |
| G111 | one with children that do, and others that do not: those are left out |

A Python function that raises, or returns an ill-typed program, is the error Y010.
"""

import gc
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cell, Cells, cells, cells_of
from genie_dp.synthesis.compiler import CompiledGrammar, compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import Piece, mask_of, sort_of
from genie_dp.synthesis.plan import I64, even, fill, plan_draws
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import BUILT_IN, ChildSpec, GrammarRule, piece_of, placeholder_of
from genie_dp.templates.ast import Template, children_of
from genie_dp.templates.grammar import Grammar, place_in_file

_TRIES = 20  # draws for each result wanted, before a template is said to give none


@dataclass(frozen=True, slots=True)
class TemplateSample:
    """What a template gave: (words, program) pairs; none if it never applies."""

    template: Template
    pairs: tuple[tuple[str, str], ...]


def samples(
    engine: SynthesisEngine, count: int, wanted: Collection[str] = ()
) -> Iterator[TemplateSample]:
    """Yield `count` random results of each template, at the least depth where it gives any.

    Args:
        engine: what to draw from.
        count: results of each template.
        wanted: ids of templates; empty for all.
    """
    by_template: dict[str, list[Cell]] = {}
    templates: dict[str, Template] = {}
    for rules in engine.compiled.rules.values():
        for rule in rules:
            if wanted and rule.template.id not in wanted:
                continue
            templates.setdefault(rule.template.id, rule.template)
            template_cells = by_template.setdefault(rule.template.id, [])
            for depth in range(engine.config.max_depth + 1):
                at_depth = list(cells(rule, depth, engine.pools))
                template_cells.extend(at_depth)
                if at_depth:
                    break
    for name, template in templates.items():
        yield TemplateSample(template, tuple(_sample_pairs(engine, by_template[name], count, name)))


def _sample_pairs(
    engine: SynthesisEngine, template_cells: list[Cell], count: int, name: str
) -> Iterator[tuple[str, str]]:
    if not template_cells:
        return
    seed = child_seed(engine.config.seed, "preview", name, "cells")
    quotas = even(count * _TRIES, [cell.size for cell in template_cells], seed)
    chosen = plan_draws(template_cells, quotas, engine.config.seed, "preview", name)
    texts: set[str] = set()
    for cell, pieces in chosen.draws(0, chosen.total):
        combined = cell.wording.assemble(*pieces)
        if combined is None or combined.text in texts:
            continue
        texts.add(combined.text)
        show = engine.compiled.placeholders.show
        yield show(combined.text), show(combined.value.text)
        if len(texts) == count:
            return


# ------------------------------------------------------------------------ children that do not fit

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
        first_refusal: the mistake of the first one refused, with the rule and its children.
        is_late: its guard has tests that are decided for each draw, and refuse some.
        texts: words -> program of the first few that were built.
    """

    template: Template
    room: float = 0
    tried: int = 0
    built: int = 0
    refused: int = 0
    first_refusal: tuple[Problem, GrammarRule, tuple[Piece, ...]] | None = None
    error: Problem | None = None
    is_late: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    cells: list[Cells] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TriedTemplates:
    """What came of trying all templates.

    Attributes:
        problems: one for every template that meets children with which it would be ill-typed.
        samples: id of a template -> some (words, program) pairs of it.
    """

    problems: list[Problem]
    samples: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


def misfits(grammar: Grammar, language: Language, library: Library) -> list[Problem]:
    """Return a problem for every template that meets children with which it would be ill-typed."""
    return try_templates(grammar, language, library).problems


def try_templates(
    grammar: Grammar, language: Language, library: Library, *, keep: int = 0
) -> TriedTemplates:
    """Return what comes of every template with children of each sort.

    Args:
        grammar, language, library: what is tried.
        keep: how many pairs of each template are kept; they are of the least depth that has any.
    """
    gc.disable()  # all that is made here stays to the end: a fifth of the time otherwise
    try:
        roots = tuple(category.name for category in grammar.roots())
        compiled = compile_grammar(grammar, language, library, SynthesisConfig(roots=roots))
        trials = _Trials(compiled, keep)
        problems = list(trials.problems())
        texts = {name: trial.texts.items() for name, trial in trials.trials.items()}
        return TriedTemplates(problems, {name: tuple(pairs) for name, pairs in texts.items()})
    except GenieError as error:
        return TriedTemplates(list(error.problems))
    finally:
        gc.enable()


class _Trials:
    """Tries templates with children of every sort, made depth by depth."""

    def __init__(self, compiled: CompiledGrammar, keep: int = 0):
        self.compiled = compiled
        self.keep = keep
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
            yield from self._problems_of(trial)

    def _waiting(self, rules: Sequence[GrammarRule], depth: int) -> Sequence[GrammarRule]:
        """Return the rules to be tried at a depth."""
        return rules if depth <= _DEEP else [r for r in rules if r.template.id not in self.trials]

    def _level(self, rules: Sequence[GrammarRule], depth: int, sorts: Counter[int]) -> list[Piece]:
        """Return pieces of sorts that were not met at lesser depths."""
        level_cells = cells_of(rules, (depth,), self.pools)
        each = min(_MOST, max(_LEAST, _AT_DEPTH // max(1, len(level_cells.spans))))
        quotas = np.zeros(len(level_cells), np.int64)
        for a, b in level_cells.spans:
            template = level_cells[a].rule.template
            trial = self.trials.setdefault(template.id, _Trial(template))
            sizes = level_cells.sizes[a:b].astype(float)
            trial.room += sizes.sum()
            trial.cells.append(level_cells)
            tries = each if any(children_of(template.utterance)) else _PHRASES
            quotas[a:b] = fill(tries, sizes**0.25, sizes, child_seed(0, "fits", template.id))
        return list(self._draw_pieces(level_cells, quotas, sorts))

    def _draw_pieces(self, trial_cells: Cells, quotas: I64, sorts: Counter[int]) -> Iterator[Piece]:
        chosen = plan_draws(trial_cells, quotas, 0, "fits")
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
                trial.error = place_in_file(error.problems[0], trial.template)
                continue
            if combined is None:
                if refused:
                    trial.refused += 1
                    trial.first_refusal = trial.first_refusal or (
                        next(iter(refused)),
                        cell.rule,
                        pieces,
                    )
                continue
            trial.built += 1
            if len(trial.texts) < self.keep:
                show = self.compiled.placeholders.show
                trial.texts.setdefault(show(combined.text), show(combined.value.text))
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
        for trial_cells in trial.cells:
            quotas = np.zeros(len(trial_cells), np.int64)
            for a, b in trial_cells.spans:
                if trial_cells[a].rule.template.id == trial.template.id:
                    sizes = trial_cells.sizes[a:b].astype(float)
                    quotas[a:b] = fill(_UNFIT, sizes, sizes, child_seed(0, "fits", "more"))
            for _ in self._draw_pieces(trial_cells, quotas, Counter()):
                return

    # ------------------------------------------------------------------------------ telling

    def _problems_of(self, trial: _Trial) -> Iterator[Problem]:
        template = trial.template
        if trial.error is not None:
            yield trial.error
        elif trial.first_refusal is not None:
            problem, rule, pieces = trial.first_refusal
            names = " and ".join(rule.names)
            children = ", ".join(map(self._show_child, rule.layout.children, pieces))
            mistake = f"{problem.code}: {problem.message}"
            span = place_in_file(problem, template).span
            if trial.built:
                some = f"{trial.refused:,} of {trial.tried:,} combinations of {names}"
                message = f"{some} are ill-typed and left out, such as {children}: {mistake}"
            else:
                none = _none_of_combinations(trial)
                message = f"{none} of {names} is well-typed, such as {children}: {mistake}"
            code = "G111" if trial.built else "G110"
            yield Problem(code, message, span, problem.hint, severity="warning")
        elif trial.tried >= _LEAST and not trial.built and not trial.is_late:
            # Of few combinations all may say the same thing twice: a matter of the skills.
            message = (
                f"{_none_of_combinations(trial)} of its children gives any {template.category}"
            )
            span = template.body_span or template.span
            yield Problem("G110", message, span, severity="warning")

    def _show_child(self, child: ChildSpec, piece: Piece) -> str:
        """Return a child as a message names it: its words, and what they stand for."""
        words_of_child = f"{child.name} = {self.compiled.placeholders.show(piece.text)!r}"
        if placeholder_of(child.pool) is not None:
            return words_of_child
        if child.pool in BUILT_IN:
            meaning = f" ({piece.value.text})" if child.pool != "VALUE" else ""
            return words_of_child + meaning
        if child.is_leaf:
            return f"{words_of_child} of {child.pool}"
        template = json.loads(f"[{piece.derivation}]")[0]
        return f"{words_of_child} of {template}, {self.trials[template].template.span}"


def _none_of_combinations(trial: _Trial) -> str:
    is_all = trial.tried >= trial.room
    return "no combination" if is_all else f"none of {trial.tried:,} combinations"
