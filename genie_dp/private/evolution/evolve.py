"""Private Evolution: candidates, noisy votes of private rows, winners, variations, and again.

Lin et al., Differentially Private Synthetic Data via Foundation Model APIs (2023), for images; Xie
et al., Aug-PE (2024), for text: several variations of each winner, kept winners, lookahead, ranks.
The first candidates may be made for the records of a private table (MAPLE: Chien et al.).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private import secure
from genie_dp.private.evolution import voting
from genie_dp.private.evolution.config import EvolutionSettings
from genie_dp.private.evolution.embedding import Embedding, Vectors, unit_length
from genie_dp.private.evolution.generator import (
    CandidateGenerator,
    Metadata,
    VoteCandidate,
)
from genie_dp.private.evolution.state import EvolutionFolder, Population, Vote
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, Paying, Units, paid_by
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.release import Spend
from genie_dp.private.tables.table import RUN, SyntheticTable
from genie_dp.records import Example, Spent
from genie_dp.rng import child_seed, stream


def check_table(table: SyntheticTable, ledger: Ledger) -> None:
    """Refuse a table whose cost the ledger does not know.

    Raises:
        GenieError: U009, its release is no entry; or it is of other units, or cost more than all
            that the ledger knows of.
    """
    spent, total = table.spent, ledger.spent()
    if spent is None:
        return
    hint = "give a table of this private file, released with this ledger"
    # One that was made in Python does not name its run.
    run = table.release.get(RUN)
    if run is not None and run not in [entry.run for entry in ledger.entries]:
        message = f"{ledger.path} knows nothing of the release of the table"
        raise GenieError(Problem("U009", message, hint=hint))
    is_same = (spent.unit, spent.relation, spent.delta) == (total.unit, total.relation, total.delta)
    if not is_same or spent.epsilon > total.epsilon * (1 + 1e-9):
        message = f"the table was released for epsilon {spent.epsilon:.4g}, unit {spent.unit}, but "
        message += f"the ledger knows of {total.epsilon:.4g}, unit {total.unit}"
        raise GenieError(Problem("U009", message, hint=hint))


def check_generator(generator: CandidateGenerator, ledger: Ledger) -> None:
    """Refuse a trained model whose training on private rows is no entry of the ledger (U009)."""
    completer: Any = getattr(generator, "completer", None)
    runs = [entry.run for entry in ledger.entries]
    if hasattr(completer, "run") and completer.run not in runs:
        hint = "give a generator that was trained on this private file, with this ledger"
        message = f"{ledger.path} knows nothing of the training of the generator {generator.name!r}"
        raise GenieError(Problem("U009", message, hint=hint))


# Private rows whose vectors are in memory as floats at a time.
_BLOCK = 1024
# Variations are asked for again, so often, where they repeat rows that are there.
_TRIES = 3


class MetadataTable(Protocol):
    """A private table of metadata, released before."""

    def sample(self, n: int, rng: Random) -> Sequence[Metadata]:
        """Return n records."""
        ...


@dataclass(frozen=True, slots=True)
class Electorate:
    """The private side of an evolution.

    Attributes:
        units: private rows by unit.
        labels: the label of each row, unit by unit; None where there are none.
    """

    units: Units[Sequence[Example]] = field(repr=False)
    labels: Sequence[Sequence[str]] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return "Electorate(..)"

    def voters(self, embedding: Embedding) -> voting.Voters:
        """Return the rows as they vote."""
        rows = [row for unit in self.units for row in unit]
        of_unit = [number for number, unit in enumerate(self.units) for _ in unit]
        blocks = [
            voting.whole(embedding.vectors(rows[i : i + _BLOCK]))
            for i in range(0, len(rows), _BLOCK)
        ]
        return voting.Voters(
            np.concatenate(blocks) if blocks else np.zeros((0, 1), np.int16),
            np.array(of_unit, np.int64),
            [label for unit in self.labels for label in unit] if self.labels else [""] * len(rows),
        )


@dataclass(frozen=True, slots=True)
class Evolution:
    """The result of an evolution; all of it may be written.

    Attributes:
        rows: synthetic rows, of source private, with the metadata that they were made for.
        votes: of each vote, the candidates and their noisy votes.
        spent: the guarantee of all that was released.
        report: of each vote, for people: nothing exact.
    """

    rows: tuple[VoteCandidate, ...]
    votes: tuple[tuple[tuple[VoteCandidate, ...], voting.Counts], ...]
    spent: Spent
    report: Mapping[str, Any]

    def in_language(self, name: str) -> "Evolution":
        """Return it with the language of its rows, which sentences without programs do not know."""
        rows = (replace(row, example=replace(row.example, language=name)) for row in self.rows)
        return replace(self, rows=tuple(rows))


def evolve(
    electorate: Electorate,
    generator: CandidateGenerator,
    embedding: Embedding,
    settings: EvolutionSettings,
    mechanism: Gaussian,
    *,
    spend: Spend,
    work: Path,
    fractions: Mapping[str, float] | None = None,
    table: MetadataTable | None = None,
    listen: Callable[[Mapping[str, Any]], None] | None = None,
) -> Evolution:
    """Return synthetic rows that private rows voted for.

    Work in `work` is not repeated: a run that was killed goes on, pays each vote once,
    and comes to the result that it would have come to with the same noise.

    Args:
        electorate: the private rows.
        generator: makes candidates.
        embedding: places rows and candidates.
        settings: all else; public.
        mechanism: of one vote: its noise multiplier is the standard deviation of the noise on each
            count, in votes of one unit.
        spend: the `Payer` of their ledger: it records mechanisms under a run's name, once, before
            they are released, and each vote before it is kept.
        work: a folder of this evolution alone.
        fractions: label -> share of candidates, of a private release or of the user; with a label
            only, and needed there unless the settings have them.
        table: makes the metadata of the first candidates; without it they are made for their label
            alone, or for nothing.
        listen: called after each vote with its figures, as in the report.

    Raises:
        GenieError: U004, there are labels and no shares of them; U005, the generator made nothing;
            U009, the ledger does not know what the table or the generator cost; U020 to U022, the
            folder is not as the run left it; B032, a vote that was paid has been released with
            other noise; those of `paid_by`.
    """
    if isinstance(spend, Payer):
        check_generator(generator, spend.ledger)
        if isinstance(table, SyntheticTable):
            check_table(table, spend.ledger)
    shares = label_fractions(settings, fractions)
    facts = {
        "settings": settings.of_votes(mechanism.noise_multiplier),
        "generator": [generator.name, generator.fingerprint()],
        "embedding": embedding.fingerprint(),
        "shares": dict(shares),
    }
    depends_on = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    with EvolutionFolder.enter(work, depends_on) as folder:
        run = _EvolutionRun(
            folder, electorate, generator, embedding, settings, mechanism, shares, table
        )
        lines = []
        for line in run.iterations(paid_by(electorate.units, spend)):
            lines.append(line)
            if listen:
                listen(line)
        return run.result(lines)


def label_fractions(
    settings: EvolutionSettings, fractions: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the share of candidates of each label; one nameless label where there are none.

    Raises:
        GenieError: U004, they are unknown: counted without noise they would be released for
            nothing.
    """
    if not settings.label:
        return {"": 1.0}
    shares = settings.fractions or fractions
    if not shares:
        raise error_of_shares(settings.label)
    return {label: share for label, share in shares.items() if share > 0}


def error_of_shares(label: str) -> GenieError:
    """Return the error that nobody knows the shares of labels."""
    message = f"no shares of the labels {label!r} are known"
    hint = "give metadata with that column, or the shares with fractions"
    return GenieError(Problem("U004", message, hint=hint))


@dataclass(slots=True)
class _EvolutionRun:
    folder: EvolutionFolder
    electorate: Electorate
    generator: CandidateGenerator
    embedding: Embedding
    settings: EvolutionSettings
    mechanism: Gaussian
    shares: Mapping[str, float]
    table: MetadataTable | None
    voters: voting.Voters | None = None
    population: Population | None = None
    vote: Vote | None = None
    votes: list[tuple[tuple[VoteCandidate, ...], voting.Counts]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def threshold(self) -> float:
        """Return the number of votes that is taken off each noisy count."""
        return self.settings.threshold * self.mechanism.noise_multiplier

    def iterations(self, spend: Paying) -> Iterator[dict[str, Any]]:
        """Make or find each vote, and yield its public figures."""
        for number in range(1, self.settings.iterations + 1):
            before, vote = self.population, self.vote
            population = self.folder.population(number)
            if population is None:
                with self._counting() as counts:
                    new = (
                        self._vary_winners(before, vote, number)
                        if before and vote
                        else self._new_population()
                    )
                population = self.folder.keep_population(number, replace(new, counts=counts))
            self.population = population
            if number == 1:
                self.embedding = self.embedding.fit([c.example for c in population.candidates])
            self.vote = self.folder.vote(number) or self._release_vote(number, spend)
            self.votes.append((population.candidates, self.vote.noisy))
            self.counts.update(population.counts)
            self.counts.update(self.vote.counts)
            yield self._describe_vote(number, population, self.vote)

    @contextmanager
    def _counting(self) -> Iterator[Counter[str]]:
        """Give the counts of the generator within the block.

        They are kept with the candidates: a resumed run reports the same as one that nothing
        stopped.
        """
        counts = Counter[str]()
        before = Counter(getattr(self.generator, "counts", {}))
        yield counts
        counts.update(Counter(getattr(self.generator, "counts", {})) - before)

    # ------------------------------------------------------------------------------ candidates

    def _new_population(self) -> Population:
        count, label = self.settings.candidates, self.settings.label
        records: list[Metadata] = [{} for _ in range(count)]
        if self.table is not None:
            records = list(self.table.sample(count, stream(self.settings.seed, "evolve", "table")))
        if label and not all(label in record for record in records):
            names = [
                name for name, n in voting.sizes_of(self.shares, count).items() for _ in range(n)
            ]
            records = [{**record, label: x} for record, x in zip(records, names, strict=True)]
        candidates = self.generator.random(records, seed=self._seed_of("random"))
        if not candidates:
            hint = "look at its options, and at the metadata that it is to follow"
            message = f"the generator {self.generator.name!r} made no candidate"
            raise GenieError(Problem("U005", message, hint=hint))
        population = Population(self._drop_repeated(candidates), len(records))
        sizes = voting.sizes_of(self.shares, self.settings.population)
        # Without winners there is nothing to vary: known now, before the vote is paid.
        if not any(sizes.get(label) for label in self._labels(population)):
            hint = "give shares of labels that the metadata and the generator have"
            message = (
                f"the generator {self.generator.name!r} made no candidate of a label that wins"
            )
            raise GenieError(Problem("U005", message, hint=hint))
        return population

    def _vary_winners(self, before: Population, vote: Vote, number: int) -> Population:
        """Return the candidates after a vote: winners if they are kept, and variations."""
        parents = self._choose_winners(before, vote, number - 1)
        winners = self._drop_repeated(parents) if self.settings.keep else ()
        missing = self.settings.candidates - len(winners)
        to_vary = [parents[i % len(parents)] for i in range(missing)]
        strength = self.settings.strength(number - 1)
        variations = self._variations(to_vary, strength, f"vary {number}")
        return Population(self._drop_repeated([*winners, *variations]), len(to_vary))

    def _choose_winners(
        self, population: Population, vote: Vote, number: int
    ) -> list[VoteCandidate]:
        sizes = voting.sizes_of(self.shares, self.settings.population)
        return self._choose(population, vote, sizes, f"select {number}")

    def _choose(
        self, population: Population, vote: Vote, sizes: Mapping[str, int], name: str
    ) -> list[VoteCandidate]:
        settings = self.settings
        places = voting.select(
            vote.noisy,
            self._labels(population),
            sizes,
            threshold=self.threshold,
            rank=settings.selection == "rank",
            rng=stream(settings.seed, "evolve", name),
        )
        return [population.candidates[place] for place in places]

    def _labels(self, population: Population) -> list[str]:
        return [self._label(candidate) for candidate in population.candidates]

    def _label(self, candidate: VoteCandidate) -> str:
        return candidate.metadata.get(self.settings.label, "") if self.settings.label else ""

    def _drop_repeated(self, candidates: Sequence[VoteCandidate]) -> tuple[VoteCandidate, ...]:
        """Return candidates without those whose label, sentence and program came before."""
        by_key: dict[tuple[str, str, str], VoteCandidate] = {}
        for candidate in candidates:
            by_key.setdefault(self._key(candidate), candidate)
        return tuple(by_key.values())

    def _key(self, candidate: VoteCandidate) -> tuple[str, str, str]:
        return self._label(candidate), candidate.example.utterance, candidate.example.program

    def _variations(
        self, candidates: Sequence[VoteCandidate], strength: float, name: str
    ) -> list[VoteCandidate]:
        """Return a variation of each candidate.

        Raises:
            GenieError: U006, the generator made more or less.
        """
        variations = self.generator.vary(candidates, strength, seed=self._seed_of(name))
        if len(variations) != len(candidates):
            message = f"expected {len(candidates):,} variations of {self.generator.name!r}, got "
            hint = "a generator returns one for each candidate, the candidate itself if need be"
            raise GenieError(Problem("U006", f"{message}{len(variations):,}", hint=hint))
        return variations

    def _seed_of(self, name: str) -> int:
        return child_seed(self.settings.seed, "evolve", name)

    # ----------------------------------------------------------------------------------- votes

    def _release_vote(self, number: int, spend: Paying) -> Vote:
        """Let private rows vote; it is paid before, and kept under its name in the ledger."""
        name = f"{self.folder.run.name}/{number}"
        return self.folder.keep_vote(
            number,
            lambda: self._make_vote(number, name, spend),
            lambda text: spend.close(text, name),
        )

    def _make_vote(self, number: int, name: str, spend: Paying) -> Vote:
        population = self.population
        assert population is not None
        with self._counting() as counts:
            places = self._place_candidates(population, number)
        if self.voters is None:
            self.voters = self.electorate.voters(self.embedding)
        spent = spend([self.mechanism], name)
        exact = voting.votes(
            self.voters,
            places,
            self._labels(population),
            k=self.settings.neighbours,
        )
        rng = secure.noise("evolve", "noise", number)
        noisy = voting.noisy_histogram(exact, self.mechanism.noise_multiplier, rng)
        return Vote(noisy, spent, counts)

    def _place_candidates(self, population: Population, number: int) -> voting.Whole:
        """Return where candidates lie: with lookahead, the mean of where their variations lie."""
        examples = [candidate.example for candidate in population.candidates]
        if not self.settings.lookahead:
            return voting.whole(self.embedding.vectors(examples))
        total: Vectors | None = None
        for ahead in range(self.settings.lookahead):
            strength = self.settings.strength(number)
            variations = self._variations(
                population.candidates, strength, f"lookahead {number} {ahead}"
            )
            vectors = self.embedding.vectors([candidate.example for candidate in variations])
            total = vectors if total is None else total + vectors
        assert total is not None
        return voting.whole(unit_length(total))

    # ---------------------------------------------------------------------------------- report

    def _describe_vote(self, number: int, population: Population, vote: Vote) -> dict[str, Any]:
        settings = self.settings
        labels = self._labels(population)
        above = vote.noisy > self.threshold
        weights = voting.weights_of(vote.noisy, labels, self.threshold)
        ahead = settings.lookahead * len(population.candidates)
        return {
            "vote": number,
            "votes": settings.iterations,
            "candidates": len(population.candidates),
            "calls": population.calls + ahead,
            "above_threshold": round(float(above.mean()), 4),
            "uniform_labels": sum(
                not any(a for a, own_label in zip(above, labels, strict=True) if own_label == label)
                for label in set(labels)
            ),
            # How many candidates of equal weight are worth these (Kish's effective size).
            "effective": round(float(weights.sum() ** 2 / (weights**2).sum()), 1),
            "noisy_votes": round(float(vote.noisy.sum()), 1),
            "strength": round(settings.strength(number), 4),
            "epsilon": vote.spent.epsilon,
        }

    # ------------------------------------------------------------------------------------ rows

    def result(self, lines: Sequence[Mapping[str, Any]]) -> Evolution:
        """Return the rows: winners of the last vote in their proportions, and their variations."""
        assert self.population is not None
        assert self.vote is not None
        with self._counting() as counts:
            rows, calls = self._make_rows(self.population, self.vote)
        report = {
            "generator": self.generator.name,
            "settings": self.settings.of_votes(self.mechanism.noise_multiplier),
            "noise": self.mechanism.noise_multiplier,
            "iterations": list(lines),
            "calls": sum(line["calls"] for line in lines) + calls,
            "rows": len(rows),
            "labels": dict(sorted(Counter(map(self._label, rows)).items())),
        }
        if hasattr(self.generator, "counts"):
            report["not_given"] = dict(sorted((self.counts + counts).items()))
        numbered = (
            replace(row, example=replace(row.example, id=f"E{number}", source="private"))
            for number, row in enumerate(rows)
        )
        return Evolution(tuple(numbered), tuple(self.votes), self.vote.spent, report)

    def _make_rows(
        self, population: Population, vote: Vote
    ) -> tuple[tuple[VoteCandidate, ...], int]:
        """Return the rows, and how many calls they took.

        Each winner is a row, and the further times that it won are variations of it. Those that are
        there already are tried again; in the end their weight goes to the winner.
        """
        parents = self._choose_parents(population, vote)
        winners, weights = self._drop_repeated(parents), Counter(map(self._key, parents))
        to_vary: list[VoteCandidate] = []
        for row in winners:
            to_vary.extend([row] * (weights[self._key(row)] - 1))
        rows, calls = {self._key(row): row for row in winners}, 0
        for attempt in range(_TRIES):
            if not to_vary:
                break
            calls += len(to_vary)
            again = []
            variations = self._variations(to_vary, self.settings.last_strength, f"rows {attempt}")
            for parent, row in zip(to_vary, variations, strict=True):
                if self._key(row) in rows:
                    again.append(parent)
                    continue
                rows[self._key(row)] = row
                weights[self._key(parent)] -= 1
                weights[self._key(row)] = 1
            to_vary = again
        weighted = (
            replace(row, example=replace(row.example, weight=float(weights[key])))
            for key, row in rows.items()
        )
        return tuple(weighted), calls

    def _choose_parents(self, population: Population, vote: Vote) -> list[VoteCandidate]:
        """Return the winners of the last vote, as often as there are to be rows of them."""
        sizes = voting.sizes_of(self.shares, self.settings.rows)
        if self.settings.selection == "resample":
            return self._choose(population, vote, sizes, "rows")
        winners = self._choose_winners(population, vote, self.settings.iterations)
        parents: list[VoteCandidate] = []
        for label, size in sizes.items():
            of_label = [winner for winner in winners if self._label(winner) == label]
            parents.extend(of_label[i % len(of_label)] for i in range(size) if of_label)
        return parents
