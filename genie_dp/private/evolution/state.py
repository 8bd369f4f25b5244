"""The work folder of an evolution: candidates and noisy votes, each written once, as JSON.

All of it was made of public things and of noisy votes that the ledger knows, so it may lie in a
file; nothing exact does. Noisy votes are never drawn again: a vote that was there to be seen and is
missing ends the run.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.evolution.voting import Counts
from genie_dp.private.ledger.book import new_run
from genie_dp.private.ledger.files import hold_lock, replace_durably
from genie_dp.private.ledger.once import PaidRun
from genie_dp.private_prior import spent_of
from genie_dp.records import Example, Slot, Spent


@dataclass(frozen=True, slots=True)
class Population:
    """The candidates of a vote, and how often the generator was called for them.

    Attributes:
        candidates: no two have the same sentence and program.
        calls: candidates that the generator was asked for.
        counts: how often it could not meet a request (`counts` of the generator).
    """

    candidates: tuple[VoteCandidate, ...]
    calls: int
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vote:
    """The release of a vote, and the guarantee of all releases up to it.

    Attributes:
        noisy: votes.
        spent: the guarantee.
        counts: as those of a population, of variations that were made to look ahead.
    """

    noisy: Counts
    spent: Spent
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvolutionFolder:
    """The work folder of one evolution.

    `run.json` holds its name for the ledger, random and written before anything is paid; what the
    run depends on; and how many votes were released. `population-3.jsonl` and `vote-3.json` hold
    the candidates of the third vote and their noisy votes.

    Attributes:
        path: the folder.
        run: the run that pays in it.
    """

    path: Path
    run: PaidRun

    @classmethod
    @contextmanager
    def enter(cls, path: Path, depends_on: str) -> Iterator[Self]:
        """Enter a folder, and keep other processes out: two would pay once for two releases.

        Args:
            path: the folder; it is made where there is none.
            depends_on: hash of settings, generator and embedding.

        Raises:
            GenieError: another process is in it (B006), or it holds a run of something else (U021).
        """
        path.mkdir(parents=True, exist_ok=True)
        with hold_lock(path / ".evolve.lock", wait=1.0):
            run = PaidRun.enter(path, new_run("evolve"), depends_on=depends_on)
            if run.facts["depends_on"] != depends_on:
                message = f"the run in {path} has other settings, another generator or embedding"
                hint = "go on with the same, or start again in another folder, which is paid again"
                raise GenieError(Problem("U021", message, hint=hint))
            yield cls(path, run)

    # ------------------------------------------------------------------------------ candidates

    def population(self, iteration: int) -> Population | None:
        """Return the candidates of a vote; None where they were not made yet."""
        path = self._population_file(iteration)
        if not path.exists():
            return None
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        head = json.loads(first)
        return Population(tuple(map(_read_candidate, lines)), head["calls"], head["counts"])

    def keep_population(self, iteration: int, population: Population) -> Population:
        """Write the candidates of a vote, and return them."""
        head = json.dumps({"calls": population.calls, "counts": dict(population.counts)})
        lines = [head, *map(_write_candidate, population.candidates)]
        replace_durably(self._population_file(iteration), "".join(f"{line}\n" for line in lines))
        return population

    def _population_file(self, iteration: int) -> Path:
        return self.path / f"population-{iteration}.jsonl"

    # ----------------------------------------------------------------------------------- votes

    def vote(self, iteration: int) -> Vote | None:
        """Return a vote that was released; None where there was none.

        Raises:
            GenieError: U020, it was released and is missing; U022, it is of other candidates.
        """
        path = self._vote_file(iteration)
        if not path.exists():
            self.run.check_kept(iteration - 1, self._lost_vote(iteration))
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["candidates"] != self._hash_candidates(iteration):
            message = f"the candidates of vote {iteration} in {self.path} are not those voted for"
            hint = f"put {self._population_file(iteration).name} back"
            raise GenieError(Problem("U022", message, hint=hint))
        noisy = np.array(content["noisy"], np.float64)
        return Vote(noisy, spent_of(content["spent"]), content["counts"])

    def keep_vote(
        self, iteration: int, make: Callable[[], Vote], close: Callable[[str], None]
    ) -> Vote:
        """Make a vote, write it, note that it is released, and return it.

        Args:
            iteration: its number.
            make: lets rows vote, and pays before.
            close: records the release in the ledger, before it is kept.
        """

        def text() -> str:
            vote = make()
            content = {
                "candidates": self._hash_candidates(iteration),
                "noisy": vote.noisy.tolist(),
                "spent": asdict(vote.spent),
                "counts": dict(vote.counts),
            }
            return json.dumps(content)

        lost = self._lost_vote(iteration)
        self.run.release(self._vote_file(iteration).name, text, close, lost=lost, number=iteration)
        released = self.vote(iteration)
        assert released is not None
        return released

    def _vote_file(self, iteration: int) -> Path:
        return self.path / f"vote-{iteration}.json"

    def _lost_vote(self, iteration: int) -> Problem:
        message = f"vote {iteration} of {self.path} is missing: it would be released twice"
        hint = "put vote and candidates back, or start again with --overwrite, which is paid again"
        return Problem("U020", message, hint=hint)

    def _hash_candidates(self, iteration: int) -> str:
        path = self._population_file(iteration)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


# ------------------------------------------------------------------------------------ as JSON


def _write_candidate(candidate: VoteCandidate) -> str:
    content = {
        "example": asdict(candidate.example),
        "metadata": dict(candidate.metadata),
        "state": candidate.state,
    }
    return json.dumps(content)


def _read_candidate(line: str) -> VoteCandidate:
    content = json.loads(line)
    fields = content["example"]
    slots = {name: Slot(**slot) for name, slot in fields["slots"].items()}
    tuples = {name: tuple(fields[name]) for name in ("derivation", "functions")}
    return VoteCandidate(
        Example(**{**fields, **tuples, "slots": slots}),
        content["metadata"],
        content["state"],
    )
