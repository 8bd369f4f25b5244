"""The template grammar as a generator: every candidate is a sentence with its program."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.generator import Candidate, Metadata
from genie_dp.private.evolution.grammar_columns import ORDER, REPEATED, Asked, Reader, unmet
from genie_dp.private.evolution.grammar_draws import Draw, Draws
from genie_dp.private.evolution.grammar_variations import Variations
from genie_dp.private.tables.schema import Schema
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.tree_rows import row_of
from genie_dp.synthesis.tree_texts import TreeTexts
from genie_dp.synthesis.trees import Joiner
from genie_dp.synthesis.wishes import ANY

# Draws for one record, after which what fits best of them is taken.
_WISHES, _DRAWS_OF_A_WISH = 4, 12
_MOST_DRAWS = 1_000  # where nothing else gave a sentence


class GrammarGenerator:
    """Draws and varies derivations of a template grammar (a Generator).

    `counts` says how often what was asked could not be had: `unmet COLUMN`, `repeated` sentences,
    `unvaried` candidates. It is for reports (`not_given`); no draw depends on it.
    """

    name = "grammar"

    def __init__(self, engine: Engine, *, inputs: str, schema: Schema | None = None):
        """Take an engine that was built `with_origins`.

        Args:
            engine: of any language that synthesis knows.
            inputs: a hash of skills and templates, for the fingerprint.
            schema: of the metadata; without one, columns are named after extractors.
        """
        assert engine.pools.origins is not None
        joiner = Joiner()
        self.counts: Counter[str] = Counter()
        self._engine, self._inputs, self._schema = engine, inputs, schema
        self._reader = Reader(schema)
        self._draws = Draws(engine)
        self._texts = TreeTexts(engine.compiled, engine.pools, joiner)
        self._variations = Variations(self._draws, joiner)

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[Candidate]:
        """Return a derivation for each record of metadata."""
        rng, met, made = KeyedRandom(), _Met(), []
        for number, record in enumerate(metadata):
            rng.restart(f"{seed}:random:{number}".encode())
            asked = self._reader.read(record)
            draw = self._best(self._drawn(asked, rng), asked, met)
            made.append(self._candidate(draw, record))
        return made

    def vary(
        self, candidates: Sequence[Candidate], strength: float, *, seed: int
    ) -> list[Candidate]:
        """Return a variation of each candidate; see docs/evolution-grammar.md for strengths.

        Raises:
            GenieError: Y061, the state of a candidate is no derivation of this grammar.
            ValueError: the strength does not lie between 0 and 1.
        """
        if not 0 <= strength <= 1:
            raise ValueError(f"strength must lie in [0, 1], got {strength}")
        rng, made = KeyedRandom(), []
        met = _Met({candidate.example.utterance for candidate in candidates})
        for number, candidate in enumerate(candidates):
            rng.restart(f"{seed}:vary:{strength}:{number}".encode())
            made.append(self._varied(candidate, strength, rng, met))
        return made

    def fingerprint(self) -> str:
        """Return a hash of skills, templates, options and this release."""
        schema = self._schema.as_dict() if self._schema else None
        parts = (__version__, self._inputs, asdict(self._engine.config), schema)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    # ------------------------------------------------------------------------------- draws

    def _drawn(self, asked: Sequence[Asked], rng: KeyedRandom) -> Iterator[Draw]:
        """Yield draws for a record, up to a bound."""
        wishes = self._draws.wishes(asked, rng)
        is_met = False
        for wish in islice(wishes, _WISHES):
            for _ in range(_DRAWS_OF_A_WISH):
                draw = self._draws.draw(wish, asked, rng)
                if draw is not None:
                    is_met = True
                    yield draw
        if is_met:
            return
        # Of a grammar whose Python functions refuse nearly everything, whatever it gives.
        for _ in range(_MOST_DRAWS):
            draw = self._draws.draw(ANY, (), rng)
            if draw is not None:
                yield draw
                return
        message = f"the templates gave no sentence in {_MOST_DRAWS:,} draws"
        raise GenieError(Problem("U200", message, hint="see `genie-dp check`"))

    def _best(self, draws: Iterator[Draw], asked: Sequence[Asked], met: "_Met") -> Draw:
        """Return the first draw that is new and as asked, or what comes nearest to that."""
        best: tuple[tuple[bool, ...], Draw, list[str]] | None = None
        for draw in draws:
            missing = unmet(asked, draw.pair)
            if not met.is_new(draw.pair):
                missing.append(REPEATED)
            rank = tuple([name not in missing for name in ORDER])
            if best is None or rank > best[0]:
                best = rank, draw, missing
            if not missing:
                break
        assert best is not None  # one draw came at least
        _, draw, missing = best
        self.counts.update(name if name == REPEATED else f"unmet {name}" for name in missing)
        met.add(draw.pair)
        return draw

    def _varied(
        self, candidate: Candidate, strength: float, rng: KeyedRandom, met: "_Met"
    ) -> Candidate:
        tree = self._texts.read(_text(candidate.state))
        found = None
        for draw in self._variations.of(tree, strength, rng):
            found = found or draw
            if met.is_new(draw.pair):
                found = draw
                break
        else:
            self.counts["unvaried" if found is None else REPEATED] += 1
        if found is None:
            return candidate
        met.add(found.pair)
        return self._candidate(found, candidate.metadata)

    def _candidate(self, draw: Draw, record: Metadata) -> Candidate:
        row = row_of(draw.tree, self._engine.compiled, draw.pair)
        return Candidate(row, record, self._texts.text(draw.tree))


def _text(state: str | bytes) -> str:
    return state.decode() if isinstance(state, bytes) else state


@dataclass(slots=True)
class _Met:
    """The sentences that one call gave or was given: none is to come twice, or to mean two things.

    It lives as long as the call, so that calls do not depend on each other.
    """

    sentences: set[str] = field(default_factory=set)

    def is_new(self, pair: Example) -> bool:
        """Tell whether the sentence has not come yet."""
        return pair.utterance not in self.sentences

    def add(self, pair: Example) -> None:
        """Note a sentence down."""
        self.sentences.add(pair.utterance)
