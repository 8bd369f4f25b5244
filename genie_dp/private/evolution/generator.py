"""What makes candidates: at random under metadata, and as variations of those that won."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from genie_dp.records import Example

Metadata = Mapping[str, str]
"""Column of a table -> value: what is said of one row; an empty one says nothing."""


@dataclass(frozen=True, slots=True)
class VoteCandidate:
    """A synthetic row that private records may vote for.

    Attributes:
        example: the row: its sentence and, where the generator knows it, its program (else "").
        metadata: what the row was made for.
        state: what the generator needs to vary the row, such as its derivation; for no one else.
    """

    example: Example
    metadata: Metadata = field(default_factory=dict)
    state: str = ""


class CandidateGenerator(Protocol):
    """Makes candidates (Private Evolution's RANDOM_API and VARIATION_API, Lin et al., 2023).

    It never sees a private row: all that it is given is public, or was released with noise. Every
    call is pure: the same arguments and seed give the same candidates, on every machine, so that a
    run that was killed goes on to the same result.
    """

    @property
    def name(self) -> str:
        """Return the kind of generator, such as "grammar"."""
        ...

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[VoteCandidate]:
        """Return one candidate for each record of metadata; an empty record asks for anything."""
        ...

    def vary(
        self, candidates: Sequence[VoteCandidate], strength: float, *, seed: int
    ) -> list[VoteCandidate]:
        """Return one variation of each candidate, with its metadata.

        Args:
            candidates: what is varied.
            strength: how much, from 0 (hardly) to 1 (as good as new).
            seed: of all draws.
        """
        ...

    def fingerprint(self) -> str:
        """Return a hash of all that its candidates depend on: a run goes on with the same alone."""
        ...


def counts_of(generator: CandidateGenerator) -> Counter[str]:
    """Return how often a generator could not give what was asked, so far; it need not count.

    One that does has `counts`, which follow from its calls and only grow. None of it is private:
    what a generator is asked for is public, or was released.
    """
    return Counter(getattr(generator, "counts", {}))


def refuse_private_candidate(candidate: VoteCandidate) -> None:
    """Raise TypeError where a candidate is no synthetic row: private rows are never shown."""
    if not isinstance(candidate, VoteCandidate) or candidate.example.source == "private":
        raise TypeError("expected a synthetic candidate, got something that may be a private row")
