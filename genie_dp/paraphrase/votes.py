"""Votes of crowd workers on whether a paraphrase means what the sentence means."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from genie_dp.paraphrase.collect import Collected, Judged, Reason


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer of a validation task.

    Attributes:
        assignment: one worker's work on one task.
        paraphrase: id of the paraphrase, or "" for a control.
        says_same: what the worker answered; None for no answer.
        is_same: for a control, what is right.
    """

    assignment: str
    paraphrase: str
    says_same: bool | None
    is_same: bool | None = None


@dataclass(frozen=True, slots=True)
class VoteConfig:
    """When votes count and how many are needed.

    Attributes:
        threshold: votes for "same" that a paraphrase needs.
        wrong_controls: with so many wrong controls a worker's task does not count (Genie: 2 of 8).
    """

    threshold: int = 2
    wrong_controls: int = 2

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("threshold", "wrong_controls"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Counted:
    """The votes that count.

    Attributes:
        same, different: paraphrase -> votes.
        assignments: how many tasks there were; `discarded`, how many had too many wrong controls.
    """

    same: Mapping[str, int]
    different: Mapping[str, int]
    assignments: int
    discarded: frozenset[str]


def count_votes(votes: Iterable[Vote], config: VoteConfig | None = None) -> Counted:
    """Return the votes of the tasks whose controls are right.

    >>> votes = [Vote("A1", "p", True), Vote("A1", "", False, True), Vote("A1", "", True, False)]
    >>> count_votes(votes).discarded
    frozenset({'A1'})
    """
    settings = config or VoteConfig()
    by_assignment: dict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_assignment[vote.assignment].append(vote)
    wrong = {
        name: sum(v.is_same is not None and v.says_same is not v.is_same for v in own)
        for name, own in by_assignment.items()
    }
    discarded = frozenset(n for n, count in wrong.items() if count >= settings.wrong_controls)
    same, different = Counter[str](), Counter[str]()
    for name, own in by_assignment.items():
        for vote in own:
            if name not in discarded and vote.paraphrase and vote.says_same is not None:
                (same if vote.says_same else different)[vote.paraphrase] += 1
    return Counted(same, different, len(by_assignment), discarded)


def apply_votes(collected: Collected, counted: Counted, config: VoteConfig) -> Collected:
    """Return the paraphrases with the votes as further reasons against those that passed so far."""
    return replace(
        collected, judged=tuple(_voted(one, counted, config) for one in collected.judged)
    )


def _voted(one: Judged, counted: Counted, config: VoteConfig) -> Judged:
    same = counted.same.get(one.answer.id, 0)
    if one.names or same >= config.threshold:
        return one
    votes = same + counted.different.get(one.answer.id, 0)
    reason: Reason = "too-few-votes" if votes < config.threshold else "voted-different"
    return replace(one, reasons=(reason,))
