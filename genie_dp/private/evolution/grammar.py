"""The template grammar as a generator: every candidate is a sentence with its program.

A record of metadata asks something of a derivation (`RequestReader`). Derivations are drawn by
functions exactly, and by the rest with a bound (`DerivationDraws`). A variation has other words,
other values, or a part that is drawn anew (`Variations`).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from math import exp
from random import Random

import numpy as np
import numpy.typing as npt

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.generator import Metadata, VoteCandidate
from genie_dp.private.tables.extract import EXTRACTORS, bucket_of, extractor_of, field_of, skill_of
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom, stream
from genie_dp.synthesis import trees
from genie_dp.synthesis.compiler import takes_part
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.function_draws import ANY, CellDraw, Drawer, Wish
from genie_dp.synthesis.plan import F64

REPEATED = "repeated"
# Where not all can be had, the first ones are; a sentence that did not come yet is one of them.
ORDER = ("functions", "function", "skill", REPEATED, "form", "filters", "slots", "length")
OF_PROGRAMS = ("functions", "function", "skill")  # a derivation is chosen by them
_IN_RANGES = ("filters", "length")


@dataclass(frozen=True, slots=True)
class ColumnRequest:
    """The request of one column.

    Attributes:
        extractor: where the column's value comes from.
        value: the requested one.
        accepts: whether a value that the extractor finds in a row meets it.
    """

    extractor: str
    value: str
    accepts: Callable[[str], bool]

    @property
    def is_exact(self) -> bool:
        """Return whether the value names functions, by which a derivation can be chosen."""
        return self.extractor in OF_PROGRAMS and self.value not in (OTHER, "")

    def is_met(self, example: Example) -> bool:
        """Return whether a row has the value."""
        return self.accepts(EXTRACTORS[self.extractor](example))


class RequestReader:
    """Reads records: their requests, the most important first."""

    def __init__(self, schema: Schema | None):
        """Take the columns of a schema; without one, a column's name is that of its extractor."""
        self._columns = {column.name: column for column in schema.columns} if schema else None
        self._requests: dict[tuple[str, str], ColumnRequest | None] = {}

    def read(self, record: Metadata) -> tuple[ColumnRequest, ...]:
        """Return the requests of a record; columns that no grammar knows have none."""
        for item in record.items():
            if item not in self._requests:
                self._requests[item] = self._request(*item)
        requests = [
            request for item in record.items() if (request := self._requests[item]) is not None
        ]
        return tuple(sorted(requests, key=lambda request: ORDER.index(request.extractor)))

    def _request(self, name: str, value: str) -> ColumnRequest | None:
        column = Column(name, (value,)) if self._columns is None else self._columns.get(name)
        if column is None or field_of(column) is not None:
            return None
        extractor = extractor_of(column)
        if value == "" or (value == OTHER and self._columns is None):
            return None  # of a value that nothing has, or nobody knows which
        return ColumnRequest(extractor, value, _accepts(column, extractor, value))


def _accepts(column: Column, extractor: str, value: str) -> Callable[[str], bool]:
    in_ranges = extractor in _IN_RANGES
    if value == OTHER:
        listed = column.values[:-1]
        if in_ranges:
            return lambda value_of_row: not bucket_of(value_of_row, listed)
        return lambda value_of_row: value_of_row not in listed
    if in_ranges:
        return lambda value_of_row: bucket_of(value_of_row, (value,)) == value
    return lambda value_of_row: value_of_row == value


# Draws of each template at each depth, as a sample of its sentences: enough to distinguish rare
# from frequent ones, and 6,000 draws for the shipped library (November 2026).
_PILOT = 12
_MOST_WISHED = 3  # functions of a wish: the ways to share them out grow fast
_PARTNERS = 4  # functions that are tried beside the one that is asked for


@dataclass(frozen=True, slots=True)
class Draw:
    """A derivation and its pair."""

    tree: trees.Tree
    pair: Example


@dataclass(frozen=True, slots=True)
class _Pilot:
    """A few pairs of each template at each depth.

    Attributes:
        pairs: all of them.
        spans: number of the span of each of them, shape (pairs,).
        counts: how many there are of each, shape (spans,).
    """

    pairs: Sequence[Example]
    spans: Sequence[int]
    counts: F64


class DerivationDraws:
    """Draws derivations of one engine, whose pools must know origins."""

    def __init__(self, engine: SynthesisEngine):
        """Take an engine; a few draws are made when they are needed."""
        self.engine = engine
        self.drawer = Drawer(engine)
        self._factors: dict[tuple[str, str], F64] = {}
        self._values: dict[str, Sequence[str]] = {}
        self._accepted: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}

    def draw(
        self, wish: Wish | None, requests: Sequence[ColumnRequest], rng: Random
    ) -> Draw | None:
        """Return a draw; templates whose sentences are as asked come more often.

        None where the parts do not go together, or no derivation has the functions.
        """
        factors = [self._factor(request) for request in requests if not request.is_exact]
        product: F64 | None = np.prod(factors, axis=0) if factors else None
        return self._assemble(wish, self.drawer.draw(wish, rng, product))

    def draw_template(self, name: str, rng: Random) -> Draw | None:
        """Return a draw with a template at its root, with any functions."""
        mask = np.array([float(cell.rule.template.id == name) for cell in self.drawer.spans])
        return self._assemble(ANY, self.drawer.draw(ANY, rng, mask))

    def wishes(self, requests: Sequence[ColumnRequest], rng: Random) -> Iterator[Wish | None]:
        """Yield the functions that derivations for a record may have, one choice after the other.

        Functions that no derivation has are left out: of two functions that do not go together one
        is chosen; in place of a function without sentences, one of its skill. After the first
        choice, the functions of rows that are known to be as requested come first.
        """
        exact = {request.extractor: request.value for request in requests if request.is_exact}
        together = frozenset(exact.get("functions", "").split())
        yield self._wish(exact, together, rng)
        similar: list[int] = []  # places of the pilot's pairs that are as asked in all
        if requests and not self._is_possible(together):
            hits = np.logical_and.reduce([self._hits(request) for request in requests])
            similar = np.flatnonzero(hits).tolist()
        while True:
            if similar:
                bag = frozenset(
                    self._pilot.pairs[similar[int(rng.random() * len(similar))]].functions
                )
                yield bag if self._is_possible(bag) else self._wish(exact, together, rng)
            else:
                yield self._wish(exact, together, rng)

    # -------------------------------------------------------------------------- derivations

    def _assemble(self, wish: Wish | None, drawing: CellDraw | None) -> Draw | None:
        if drawing is None:
            return None
        cell, pieces = drawing
        combined = cell.wording.assemble(*pieces)
        if combined is None:
            return None
        functions = combined.value.functions
        if wish is not ANY and frozenset(functions) != wish:
            return None
        # Of a template that is a whole command by itself, no pool has left out functions.
        if cell.depth == 0 and not takes_part(functions, self.engine.config):
            return None
        children = trees.trees_of_pieces(cell.rule, pieces, self.engine.pools)
        tree = trees.Tree(trees.root_piece(combined), cell.rule.category, cell.rule, children)
        return Draw(tree, trees.pair_of(tree.piece, self.engine.compiled))

    # ---------------------------------------------------------------------------- functions

    def _wish(self, exact: Mapping[str, str], together: Wish, rng: Random) -> Wish | None:
        """Return functions for the requests of columns that name functions."""
        if not exact:
            return ANY
        if self._is_possible(together):
            return together
        available = sorted(together & self._functions)
        if available:  # they do not go together, or one of them is in no derivation
            function = available[int(rng.random() * len(available))]
            alone = frozenset((function,))
            return alone if self._is_possible(alone) else self._with_others(function, rng)
        function = exact.get("function", "")
        if function not in self._functions:
            # One of the skill: those that come first in programs as often.
            of_skill = self._by_skill.get(exact.get("skill") or skill_of(function), ())
            function = of_skill[int(rng.random() * len(of_skill))] if of_skill else ""
        return self._with_others(function, rng) if function else ANY

    def _with_others(self, function: str, rng: Random) -> Wish | None:
        """Return a wish of a program whose first function it is: alone, or as often with others."""
        alone = frozenset((function,))
        is_alone = function not in self._leads or rng.random() < self._share_alone
        if not is_alone:
            for _ in range(_PARTNERS):
                partner = self._followers[int(rng.random() * len(self._followers))]
                if self._is_possible(both := alone | {partner}):
                    return both
        if self._is_possible(alone):
            return alone
        # It is never first, or always with others: the functions that were drawn with it.
        bags = self._bags_of.get(function) or self._bags_with.get(function, ())
        bags = [bag for bag in bags if len(bag) <= _MOST_WISHED]
        return bags[int(rng.random() * len(bags))] if bags else ANY

    def _is_possible(self, wish: Wish) -> bool:
        return 0 < len(wish) <= _MOST_WISHED and len(self.drawer.chances(wish).cells) > 0

    @cached_property
    def _functions(self) -> frozenset[str]:
        return frozenset(self.drawer.functions())

    @cached_property
    def _by_skill(self) -> Mapping[str, Sequence[str]]:
        by_skill: dict[str, list[str]] = {}
        for pair in self._pilot.pairs:
            for name in pair.functions[:1]:
                by_skill.setdefault(skill_of(name), []).append(name)
        for name in sorted(self._functions):  # those that come first in nothing that was drawn
            of_skill = by_skill.setdefault(skill_of(name), [])
            if name not in of_skill:
                of_skill.append(name)
        return by_skill

    @cached_property
    def _bags_of(self) -> Mapping[str, Sequence[Wish]]:
        """Return the functions of programs by the first one of them."""
        bags: dict[str, list[Wish]] = {}
        for pair in self._pilot.pairs:
            if pair.functions:
                bags.setdefault(pair.functions[0], []).append(frozenset(pair.functions))
        return bags

    @cached_property
    def _bags_with(self) -> Mapping[str, Sequence[Wish]]:
        """Return the functions of programs by each of them."""
        bags: dict[str, list[Wish]] = {}
        for bags_of_function in self._bags_of.values():
            for bag in bags_of_function:
                for name in bag:
                    bags.setdefault(name, []).append(bag)
        return bags

    @cached_property
    def _leads(self) -> frozenset[str]:
        """Return the functions that others may follow."""
        bags = self._bags_of.items()
        return frozenset(name for name, own in bags if any(len(bag) > 1 for bag in own))

    @cached_property
    def _followers(self) -> Sequence[str]:
        """Return the functions that follow them, as often as they do."""
        pairs = self._pilot.pairs
        followers = [tuple(dict.fromkeys(p.functions))[1:2] for p in pairs]
        return [name for names in followers for name in names]

    @cached_property
    def _share_alone(self) -> float:
        """Return in which part of programs nothing follows the function that could be followed."""
        sizes = [len(bag) for name in sorted(self._leads) for bag in self._bags_of[name]]
        return sizes.count(1) / max(1, len(sizes))

    # ------------------------------------------------------------------------------- pilot

    @cached_property
    def _pilot(self) -> _Pilot:
        rng = stream(0, "grammar generator", "pilot")
        pairs: list[Example] = []
        spans: list[int] = []
        count = len(self.drawer.spans)
        for span in range(count):
            mask = np.zeros(count)
            mask[span] = 1.0
            for _ in range(_PILOT):
                draw = self._assemble(ANY, self.drawer.draw(ANY, rng, mask))
                if draw is not None:
                    pairs.append(draw.pair)
                    spans.append(span)
        return _Pilot(pairs, spans, np.bincount(spans, minlength=count).astype(float))

    def _factor(self, request: ColumnRequest) -> F64:
        """Return how likely it is that a row of each template is as asked, shape (spans,)."""
        name = request.extractor, request.value
        if name not in self._factors:
            counts = self._pilot.counts
            hits = np.bincount(self._pilot.spans, self._hits(request), len(counts))
            # A value that few draws did not meet may exist: half a hit more.
            self._factors[name] = (hits + 0.5) / (counts + 1)
        return self._factors[name]

    def _hits(self, request: ColumnRequest) -> npt.NDArray[np.bool_]:
        """Return which pairs of the pilot are as asked, shape (pairs,)."""
        name = request.extractor, request.value
        if name not in self._accepted:
            if request.extractor not in self._values:
                extract = EXTRACTORS[request.extractor]
                self._values[request.extractor] = [extract(pair) for pair in self._pilot.pairs]
            accepted = [request.accepts(value) for value in self._values[request.extractor]]
            self._accepted[name] = np.array(accepted, bool)
        return self._accepted[name]


_TRIES = 20  # of the kind that the strength asks for, and then of gentler ones
# How closely the share of the words that are drawn anew follows the strength.
_CLOSENESS = 6.0

Move = Callable[[trees.Tree, trees.Path, Random], trees.Tree | None]


class Variations:
    """Varies derivations of one engine."""

    def __init__(self, draws: DerivationDraws, joiner: trees.Joiner):
        engine = draws.engine
        self._draws, self._joiner = draws, joiner
        self._compiled, self._depth = engine.compiled, engine.config.max_depth
        self._alternatives = trees.Alternatives(engine.compiled, engine.pools, joiner)

    def vary(self, tree: trees.Tree, strength: float, rng: Random) -> Iterator[Draw]:
        """Yield variations of a derivation, none of which has its sentence, up to a bound."""
        for attempt in range(2 * _TRIES):
            is_gentle = attempt >= _TRIES or rng.random() >= strength
            variation = (
                self._change_part(tree, rng)
                if is_gentle
                else self._redraw_part(tree, strength, rng)
            )
            if variation is None or variation.depth > self._depth:
                continue
            if variation.piece.words != tree.piece.words:
                yield Draw(variation, trees.pair_of(variation.piece, self._compiled))

    def _change_part(self, tree: trees.Tree, rng: Random) -> trees.Tree | None:
        """Return the derivation with one part reworded, or with another value."""
        alternatives = self._alternatives
        moves: tuple[Move, ...] = (
            alternatives.reword,
            alternatives.other_rule,
            alternatives.other_value,
        )
        paths = [path for path, _ in tree.parts()]
        path = paths[int(rng.random() * len(paths))]
        first = int(rng.random() * len(moves))
        for move in (*moves[first:], *moves[:first]):
            part = move(tree, path, rng)
            if part is not None:
                return self._joiner.replace_part(tree, path, part)
        return None

    def _redraw_part(self, tree: trees.Tree, strength: float, rng: Random) -> trees.Tree | None:
        """Return the derivation with a part drawn anew that has about a share of its words."""
        words = max(1, len(tree.piece.text.split()))
        paths, weights = [], []
        for path, part in tree.parts():
            share = len(part.piece.text.split()) / words
            paths.append(path)
            weights.append(exp(-_CLOSENESS * abs(share - strength)))
        [path] = rng.choices(paths, weights)
        is_same = rng.random() >= strength
        if path:
            draw_part = (
                self._alternatives.same_function if is_same else self._alternatives.any_function
            )
            new_part = draw_part(tree, path, rng)
            return None if new_part is None else self._joiner.replace_part(tree, path, new_part)
        # The whole sentence: of the same functions, or with the same template on top.
        if is_same or rng.random() < 0.5:
            draw = self._draws.draw(frozenset(tree.piece.value.functions), (), rng)
        else:
            assert tree.rule is not None  # a whole sentence is no leaf
            draw = self._draws.draw_template(tree.rule.template.id, rng)
        return None if draw is None else draw.tree


# Draws for one record, of which the best is taken.
_WISHES, _DRAWS_OF_A_WISH = 4, 12
_MOST_DRAWS = 1_000  # where nothing else gave a sentence


class GrammarGenerator:
    """Draws and varies derivations of a template grammar (a Generator).

    `counts` has how often a request could not be met: `unmet COLUMN`, `repeated` sentences,
    `unvaried` candidates. It is for reports (`not_given`); no draw depends on it.
    """

    name = "grammar"

    def __init__(self, engine: SynthesisEngine, *, inputs: str, schema: Schema | None = None):
        """Take an engine that was built `with_origins`.

        Args:
            engine: of any language that synthesis knows.
            inputs: a hash of skills and templates, for the fingerprint.
            schema: of the metadata; without one, columns are named after extractors.
        """
        assert engine.pools.origins is not None
        joiner = trees.Joiner()
        self.counts: Counter[str] = Counter()
        self._engine, self._inputs, self._schema = engine, inputs, schema
        self._reader = RequestReader(schema)
        self._draws = DerivationDraws(engine)
        self._texts = trees.TreeTexts(engine.compiled, engine.pools, joiner)
        self._variations = Variations(self._draws, joiner)

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[VoteCandidate]:
        """Return a derivation for each record of metadata."""
        rng, candidates = KeyedRandom(), []
        # No sentence is to come twice, or to mean two things. The set lives as long as the call, so
        # that calls do not depend on each other.
        sentences: set[str] = set()
        for number, record in enumerate(metadata):
            rng.restart(f"{seed}:random:{number}".encode())
            requests = self._reader.read(record)
            draw = self._choose_draw(self._draw_all(requests, rng), requests, sentences)
            candidates.append(self._candidate(draw, record))
        return candidates

    def vary(
        self, candidates: Sequence[VoteCandidate], strength: float, *, seed: int
    ) -> list[VoteCandidate]:
        """Return a variation of each candidate; see docs/research/evolution.md for strengths.

        Raises:
            GenieError: Y061, the state of a candidate is no derivation of this grammar.
        """
        rng, variations = KeyedRandom(), []
        sentences = {candidate.example.utterance for candidate in candidates}
        for number, candidate in enumerate(candidates):
            rng.restart(f"{seed}:vary:{strength}:{number}".encode())
            variations.append(self._vary_candidate(candidate, strength, rng, sentences))
        return variations

    def fingerprint(self) -> str:
        """Return a hash of skills, templates, options and this release."""
        schema = self._schema.as_dict() if self._schema else None
        parts = (__version__, self._inputs, asdict(self._engine.config), schema)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    # ------------------------------------------------------------------------------- draws

    def _draw_all(self, requests: Sequence[ColumnRequest], rng: KeyedRandom) -> Iterator[Draw]:
        """Yield draws for a record, up to a bound."""
        wishes = self._draws.wishes(requests, rng)
        has_draw = False
        for wish in islice(wishes, _WISHES):
            for _ in range(_DRAWS_OF_A_WISH):
                draw = self._draws.draw(wish, requests, rng)
                if draw is not None:
                    has_draw = True
                    yield draw
        if has_draw:
            return
        # Of a grammar whose Python functions refuse nearly everything, whatever it gives.
        for _ in range(_MOST_DRAWS):
            draw = self._draws.draw(ANY, (), rng)
            if draw is not None:
                yield draw
                return
        message = f"the templates gave no sentence in {_MOST_DRAWS:,} draws"
        raise GenieError(Problem("U200", message, hint="see `genie-dp check`"))

    def _choose_draw(
        self, draws: Iterator[Draw], requests: Sequence[ColumnRequest], sentences: set[str]
    ) -> Draw:
        """Return the first draw that is new and as requested, or the nearest one to that."""
        best: tuple[tuple[bool, ...], Draw, list[str]] | None = None
        for draw in draws:
            missing = [request.extractor for request in requests if not request.is_met(draw.pair)]
            if draw.pair.utterance in sentences:
                missing.append(REPEATED)
            rank = tuple([name not in missing for name in ORDER])
            if best is None or rank > best[0]:
                best = rank, draw, missing
            if not missing:
                break
        assert best is not None  # one draw came at least
        _, draw, missing = best
        self.counts.update(name if name == REPEATED else f"unmet {name}" for name in missing)
        sentences.add(draw.pair.utterance)
        return draw

    def _vary_candidate(
        self, candidate: VoteCandidate, strength: float, rng: KeyedRandom, sentences: set[str]
    ) -> VoteCandidate:
        tree = self._texts.read(candidate.state)
        variation = None
        for draw in self._variations.vary(tree, strength, rng):
            variation = variation or draw
            if draw.pair.utterance not in sentences:
                variation = draw
                break
        else:
            self.counts["unvaried" if variation is None else REPEATED] += 1
        if variation is None:
            return candidate
        sentences.add(variation.pair.utterance)
        return self._candidate(variation, candidate.metadata)

    def _candidate(self, draw: Draw, record: Metadata) -> VoteCandidate:
        row = trees.row_of(draw.tree, self._engine.compiled, draw.pair)
        return VoteCandidate(row, record, self._texts.text(draw.tree))
