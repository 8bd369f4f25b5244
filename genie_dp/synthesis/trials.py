"""Templates tried for their author: a few random results, and children that do not fit.

Bodies refuse children that make no well-typed program together when they first meet them
(`Fragment.refused`), so synthesis never writes them. `misfits` tries every template with children
of each sort, before anything is synthesized, and warns its author of those that are left out:

| code | warning |
|---|---|
| G110 | a template whose children never make a program, most often since it would be ill-typed |
| G111 | one with children that do, and others that do not: those are left out |

A Python function that raises, or returns an ill-typed program, is the error Y010.
"""

import gc
import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.rng import child_seed
from genie_dp.run.cache import is_small, keep_pickled, load_pickled
from genie_dp.synthesis.cells import Cell, Cells, cells, cells_of
from genie_dp.synthesis.compiler import GrammarCompiler, GrammarLeaves, spoken_functions
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import OF_WORDS, Piece, mask_of, sort_of
from genie_dp.synthesis.plan import I64, U64, cell_keys, even, fill, plan_draws
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import BUILT_IN, ChildSpec, GrammarRule, piece_of, placeholder_of
from genie_dp.templates.ast import Template, children_of
from genie_dp.templates.check import is_primitive, meaning_of
from genie_dp.templates.grammar import Grammar, place_in_file
from genie_dp.templates.inputs import library_fingerprint

_TRIES = 20  # draws for each result wanted, before a template is said to give none


@dataclass(frozen=True, slots=True)
class TemplateSample:
    """Results of a template: (words, program) pairs; none if it never applies."""

    template: Template
    pairs: tuple[tuple[str, str], ...]


def samples(
    engine: SynthesisEngine, count: int, wanted: Collection[str] = ()
) -> Iterator[TemplateSample]:
    """Yield `count` random results of each template, at the least depth where it gives any.

    Args:
        engine: the engine to draw from.
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
_TRIED = (1_500, 500, 200, 100, 50, 20)  # of one template
_LEAST = _TRIED[-1]
_PHRASES = 4  # of one without children, whose constants are alike
_UNFIT = 5_000  # of a template that refused all it was tried with
_SHOWN_OF = 20  # pairs, for each that is kept: those kept are from all over them
_ALIKE = 2  # pieces kept of each sort: what guards read of words may differ


@dataclass(slots=True)
class _Trial:
    """The results of the combinations of a template that were tried.

    Attributes:
        room: how many combinations there are.
        first_refusal: the mistake of the first one refused, with the rule and its children.
        is_late: its guard has tests that are decided for each draw, and refuse some.
        texts: words -> program of the first few that were built.
        pieces: of each sort a few, with the numbers of their sorts where these are known.
    """

    room: float = 0
    tried: int = 0
    built: int = 0
    refused: int = 0
    first_refusal: tuple[Problem, GrammarRule, tuple[Piece, ...]] | None = None
    error: Problem | None = None
    is_late: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    pieces: list[Piece] = field(default_factory=list)
    sorts: tuple[int, ...] = ()

    @property
    def is_sound(self) -> bool:
        return not self.refused and self.error is None

    def add(self, other: "_Trial") -> None:
        """Add the results at another depth."""
        self.room += other.room
        self.tried += other.tried
        self.built += other.built
        self.refused += other.refused
        self.first_refusal = self.first_refusal or other.first_refusal
        self.error = self.error or other.error
        self.is_late |= other.is_late
        self.texts = self.texts or other.texts


@dataclass(frozen=True, slots=True)
class TriedTemplates:
    """The results of trying all templates.

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
    """Return the results of every template with children of each sort.

    Args:
        grammar, language, library: the templates to try, with the language and library of bodies.
        keep: how many pairs of each template are kept; they are of the least depth that has any.
    """
    return _try_all(_Trials(grammar, language, library, keep=keep))


def _try_all(trials: "_Trials") -> TriedTemplates:
    gc.disable()  # all that is made here stays to the end: a fifth of the time otherwise
    try:
        problems = list(trials.problems())
    except GenieError as error:
        return TriedTemplates(list(error.problems))
    finally:
        gc.enable()
    samples = {
        name: _spread(tuple(trial.texts.items()), trials.keep)
        for name, trial in trials.trials.items()
    }
    return TriedTemplates(problems, samples)


def _spread(pairs: tuple[tuple[str, str], ...], count: int) -> tuple[tuple[str, str], ...]:
    """Return so many pairs, from all over."""
    step = max(1.0, len(pairs) / max(1, count))
    return tuple(pairs[int(step * n)] for n in range(min(count, len(pairs))))


class KnownTrials:
    """Tries templates as `misfits` does, again and again where it is kept.

    A template is not tried again with children of the sorts that it was sound with; their words
    may be others. Where anything is wrong, all are tried anew, so that the answer is that of
    `misfits`.
    """

    def __init__(self, place: Path | None = None):
        """Load the known trials from a file of the cache; without a place nothing is kept."""
        self._place = place
        self._known: _Known = load_pickled(place) or _Known()

    def misfits(self, grammar: Grammar, language: Language, library: Library) -> list[Problem]:
        """Return the problems that the function of this name returns."""
        problems = self.try_templates(grammar, language, library).problems
        if problems and self._known.is_used:
            self._known = _Known()
            problems = self.try_templates(grammar, language, library).problems
        if self._known.is_new and self._place is not None and not is_small(grammar.sources):
            keep_pickled(self._place, self._known)
        return problems

    def try_templates(
        self, grammar: Grammar, language: Language, library: Library, *, keep: int = 0
    ) -> TriedTemplates:
        """Return the result of the function of this name; words of children may be old ones."""
        if grammar.functions:  # may do something else the next time
            return try_templates(grammar, language, library, keep=keep)
        self._known = self._known.of(_World.around(grammar, library))
        return _try_all(_Trials(grammar, language, library, keep=keep, known=self._known))


@dataclass(frozen=True, slots=True)
class _World:
    """Everything, templates aside, on which the results of a template depend.

    Attributes:
        read: the attributes of words that guards read.
    """

    language: str = ""
    library: str = ""
    categories: tuple[tuple[str, str, bool], ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    read: tuple[str, ...] = ()

    @classmethod
    def around(cls, grammar: Grammar, library: Library) -> "_World":
        read = {name for t in grammar.templates for _, name in t.guard.attributes()}
        return cls(
            library.language,
            library_fingerprint(library),
            tuple((c.name, c.kind, c.is_root) for c in grammar.categories.values()),
            tuple((path, repr(table.rows)) for path, table in grammar.tables.items()),
            tuple(grammar.words.items()),
            ("first", *sorted(read & OF_WORDS.keys() - {"first"})),  # as `after` asks for it
        )


@dataclass(slots=True)
class _Known:
    """Sound trials of templates, by all that they depend on.

    Attributes:
        trials: those at one depth, by `key`.
        sorts: attributes of a piece -> the number of its sort, the same in all processes.
        numbers: other things that are compared -> their numbers.
        stems: placeholders in use, by which the words of pieces are written.
        used: the trials that the last grammar has.
        is_used: whether any was known before.
        is_new: whether any was not.
    """

    world: _World = _World()
    trials: dict[Hashable, _Trial] = field(default_factory=dict)
    sorts: dict[Hashable, int] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    stems: list[str] = field(default_factory=list)
    used: dict[Hashable, _Trial] = field(default_factory=dict)
    is_used: bool = False
    is_new: bool = False

    def of(self, world: _World) -> "_Known":
        """Return the trials of the last grammar in this world, to go on from them."""
        if world != self.world:
            return _Known(world)
        for trial in self.used.values():
            for piece in trial.pieces:
                piece.sort = 0  # was another process's
        return _Known(world, self.used, self.sorts, self.numbers, self.stems)

    def number(self, thing: Hashable) -> int:
        """Return a number for something, the same for equal things."""
        return self.numbers.setdefault(thing, len(self.numbers))

    def find(self, key: Hashable) -> _Trial | None:
        """Return the trial of a template that was sound."""
        trial = self.trials.get(key)
        if trial is not None:
            self.is_used = True
            self.used[key] = trial
        return trial

    def add(self, key: Hashable, trial: _Trial) -> None:
        """Note the sorts of a template's results; remember the trial if it is sound."""
        trial.sorts = tuple(
            self.sorts.setdefault(self._sort_name(piece), len(self.sorts)) for piece in trial.pieces
        )
        if trial.is_sound:
            self.used[key] = trial
            self.is_new = True

    def _sort_name(self, piece: Piece) -> Hashable:
        """Return all of a piece that guards and bodies may look at."""
        value, words = piece.value, tuple(OF_WORDS[name](piece) for name in self.world.read)
        return piece.features, value.kind, value.state, value.gap, piece.count, words


class _Trials:
    """Tries templates with children of every sort, made depth by depth."""

    def __init__(
        self,
        grammar: Grammar,
        language: Language,
        library: Library,
        *,
        keep: int = 0,
        known: _Known | None = None,
    ):
        roots = tuple(category.name for category in grammar.roots())
        lexicon = GrammarLeaves({}, stems=tuple(known.stems)) if known else None
        config = SynthesisConfig(roots=roots)
        self.compiler = GrammarCompiler(grammar, language, library, config, lexicon)
        self.placeholders = self.compiler.placeholders
        self.keep, self.known = keep, known
        self.pools = Pools(leaves=self.compiler.leaves())
        self.trials: dict[str, _Trial] = {}
        self.rules: dict[str, list[GrammarRule]] = {}
        self.templates: dict[str, list[Template]] = {}
        for template in grammar.templates:
            self.templates.setdefault(template.category, []).append(template)
        self.by_id = {template.id: template for template in grammar.templates}
        self.is_leaf = {name: is_primitive(t) for name, t in self.by_id.items()}
        self.made: dict[str, list[int]] = {name: [] for name in self.templates}
        spoken = tuple(s.qualified for s in spoken_functions(grammar, library))
        self.said = known.number(spoken) if known else 0

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of templates; mistakes of their bodies are raised."""
        self._compile([t for of in self.templates.values() for t in of if self.known is None])
        sorts: dict[str, Counter[int]] = {name: Counter() for name in self.templates}
        for depth in range(_DEEPEST + 1):
            levels = {name: self._level(name, depth, sorts[name]) for name in self.templates}
            if depth > _DEEP and not any(levels.values()):
                break
            for category, pieces in levels.items():
                self.pools.add(category, pieces)
        for name, trial in self.trials.items():
            template = self.by_id[name]
            if not trial.built and not trial.error and trial.room > trial.tried:
                self._try_harder(template, trial)
            yield from self._problems_of(template, trial)
        if self.known is not None:
            self.known.stems = self.placeholders.stems

    def _compile(self, templates: Iterable[Template]) -> None:
        """Make the rules of templates, where they are not made yet."""
        problems: list[Problem] = []
        for template in templates:
            if template.id not in self.rules:
                try:
                    self.rules[template.id] = self.compiler.rules_of(template)
                except GenieError as error:
                    problems += error.problems
        if problems:
            raise GenieError(problems)

    def _level(self, category: str, depth: int, sorts: Counter[int]) -> list[Piece]:
        """Return pieces of sorts that were not met at lesser depths."""
        waiting = [
            template
            for template in self.templates[category]
            if self.is_leaf[template.id] == (depth == 0)
            and (depth <= _DEEP or template.id not in self.trials)
        ]
        found = self._try(waiting, depth, self._tries(category, depth))
        pieces: list[Piece] = []
        numbers: list[int] = []
        for template in waiting:
            trial = found.get(template.id)
            if trial is None:
                continue
            self.trials.setdefault(template.id, _Trial()).add(trial)
            for place, piece in enumerate(trial.pieces):
                sort = sort_of(piece)
                sorts[sort] += 1
                if sorts[sort] <= _ALIKE:
                    pieces.append(piece)
                    numbers += trial.sorts[place : place + 1]
        if self.known is not None:
            self.made[category].append(self.known.number(tuple(numbers)))
        return pieces

    def _tries(self, category: str, depth: int) -> int:
        """Return how often each template of a category is tried at a depth."""
        alike = (t for t in self.templates[category] if self.is_leaf[t.id] == (depth == 0))
        count = sum(any(children_of(template.utterance)) for template in alike)
        return next((n for n in _TRIED if n * count <= _AT_DEPTH), _LEAST)

    def _try(self, templates: Sequence[Template], depth: int, tries: int) -> dict[str, _Trial]:
        """Return the trials of templates at a depth; those that cannot have it are left out."""
        found: dict[str, _Trial] = {}
        keys = {t.id: self._key(t, depth, tries) for t in templates} if self.known else {}
        for name, key in keys.items():
            known = self.known.find(key) if self.known else None
            if known is not None:
                found[name] = known
        new = [template for template in templates if template.id not in found]
        found |= self._try_anew(new, depth, tries)
        if self.known is not None:
            for template in new:
                self.known.add(keys[template.id], found.setdefault(template.id, _Trial()))
        return {name: trial for name, trial in found.items() if trial.room}

    def _key(self, template: Template, depth: int, tries: int) -> Hashable:
        """Return everything on which the results of a template at a depth depend."""
        assert self.known is not None
        children = {child.category for child in children_of(template.utterance)}
        made = tuple((name, tuple(self.made.get(name, ()))) for name in sorted(children))
        meaning = blake2b(repr(meaning_of(template)).encode(), digest_size=16).digest()
        return meaning, self.known.number((depth, tries, made, self.said))

    def _try_anew(self, templates: Sequence[Template], depth: int, tries: int) -> dict[str, _Trial]:
        self._compile(templates)
        rules = [rule for template in templates for rule in self.rules[template.id]]
        level_cells = cells_of(rules, (depth,), self.pools)
        quotas = np.zeros(len(level_cells), np.int64)
        keys = np.zeros(len(level_cells), np.uint64)
        trials: dict[str, _Trial] = {}
        for a, b in level_cells.spans:
            template = level_cells[a].rule.template
            trial = trials.setdefault(template.id, _Trial())
            sizes = level_cells.sizes[a:b].astype(float)
            trial.room += sizes.sum()
            seed = child_seed(0, "fits", template.category, template.body_text)
            times = tries if any(children_of(template.utterance)) else _PHRASES
            quotas[a:b] = fill(times, sizes**0.25, sizes, seed)
            keys[a:b] = cell_keys(b - a, seed)
        self._draw(level_cells, quotas, keys, trials)
        return trials

    def _draw(
        self, trial_cells: Cells, quotas: I64, keys: U64, trials: Mapping[str, _Trial]
    ) -> None:
        """Try combinations; a template's pieces are the first few of each sort."""
        sorts: dict[str, Counter[int]] = {name: Counter() for name in trials}
        for cell, pieces in plan_draws(trial_cells, quotas, 0, "fits", keys=keys).cell_draws():
            trial = trials[cell.rule.template.id]
            if trial.error is not None:
                continue
            refused = cell.rule.body.refused
            refused.clear()
            trial.tried += 1
            trial.is_late |= bool(cell.rule.late)
            try:
                combined = cell.wording.assemble(*pieces)
            except GenieError as error:
                trial.error = place_in_file(error.problems[0], cell.rule.template)
                continue
            if combined is None:
                if refused:
                    trial.refused += 1
                    first = next(iter(refused)), cell.rule, pieces
                    trial.first_refusal = trial.first_refusal or first
                continue
            trial.built += 1
            if len(trial.texts) < _SHOWN_OF * self.keep:
                show = self.placeholders.show
                trial.texts.setdefault(show(combined.text), show(combined.value.text))
            if cell.rule.is_leaf:
                combined.count = self.placeholders.count(combined.text)
                combined.mask = mask_of(combined.count)
            piece = piece_of(cell.rule, pieces, combined)
            met = sorts[cell.rule.template.id]
            met[sort_of(piece)] += 1
            if met[piece.sort] <= _ALIKE:
                trial.pieces.append(piece)

    def _try_harder(self, template: Template, trial: _Trial) -> None:
        """Try more of a template's combinations, until one is well-typed."""
        self._compile((template,))
        for depth in range(len(next(iter(self.pools.levels.values()), ())) + 1):
            trial_cells = cells_of(self.rules[template.id], (depth,), self.pools)
            sizes = trial_cells.sizes.astype(float)
            seed = child_seed(0, "fits", "more")
            quotas, keys = fill(_UNFIT, sizes, sizes, seed), cell_keys(len(sizes), seed)
            more = _Trial()
            self._draw(trial_cells, quotas, keys, {template.id: more})
            trial.add(more)
            if trial.built:
                return

    # ------------------------------------------------------------------------------ telling

    def _problems_of(self, template: Template, trial: _Trial) -> Iterator[Problem]:
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
        """Return a child for a message: its words, and their meaning or origin."""
        words_of_child = f"{child.name} = {self.placeholders.show(piece.text)!r}"
        if placeholder_of(child.pool) is not None:
            return words_of_child
        if child.pool in BUILT_IN:
            meaning = f" ({piece.value.text})" if child.pool != "VALUE" else ""
            return words_of_child + meaning
        if child.is_leaf:
            return f"{words_of_child} of {child.pool}"
        template = json.loads(f"[{piece.derivation}]")[0]
        return f"{words_of_child} of {template}, {self.by_id[template].span}"


def _none_of_combinations(trial: _Trial) -> str:
    is_all = trial.tried >= trial.room
    return "no combination" if is_all else f"none of {trial.tried:,} combinations"
