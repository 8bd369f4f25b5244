"""Membership inference: was a row trained on? One row at a time, or a group together.

By perplexity ("Provably Confidential Language Modelling", section 5.1 and appendix A.5, after
Carlini et al. 2021); calibrated by a reference model (Carlini et al. 2021, section 5.2; Watson et
al. 2022); and by shadow models (`lira`). All scores are higher for rows that seem to be members.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genie_dp.private.audit.statistics import LEVEL, Floats, resampled, share
from genie_dp.rng import child_seed

RATES = (0.1, 0.01, 0.001)


@dataclass(frozen=True, slots=True)
class Attack:
    """What an attack says of rows.

    Attributes:
        name: of the attack.
        members, others: (M,) and (N,) scores.
        group: rows that were scored together.
    """

    name: str
    members: Floats
    others: Floats
    group: int = 1


def by_perplexity(losses: Sequence[float], words: Sequence[int]) -> Floats:
    """Return scores of rows: the log-perplexity per word, with the other sign."""
    found: Floats = -np.asarray(losses, float) / np.asarray(words, float)
    return found


def by_reference(losses: Sequence[float], reference: Sequence[float]) -> Floats:
    """Return scores of rows: how much likelier they are than for a model without them, in nats."""
    found: Floats = np.asarray(reference, float) - np.asarray(losses, float)
    return found


def grouped(attack: Attack, size: int, *, seed: int = 0) -> Attack | None:
    """Return the attack on groups, None where there are fewer than two of a side.

    The score of a group is the mean of its rows' (the paper sums perplexities). Groups share no
    row, unlike the paper's, so that they can be counted as independent ones.
    """
    sides = []
    for values, name in ((attack.members, "members"), (attack.others, "others")):
        rng = np.random.default_rng(child_seed(seed, "audit", "groups", name))
        whole = len(values) // size * size
        if whole < 2 * size:
            return None
        sides.append(rng.permutation(values)[:whole].reshape(-1, size).mean(1))
    return Attack(attack.name, sides[0], sides[1], size)


def auc(members: Floats, others: Floats) -> float:
    """Return the chance that a member has a higher score than another row; ties count half.

    >>> auc(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, side="left")
    equal = np.searchsorted(ordered, members, side="right") - below
    return float((below + equal / 2).sum() / (len(members) * len(others)))


def advantage(members: Floats, others: Floats) -> float:
    """Return TPR - FPR at the best threshold, which is looked for in the other half of the rows.

    So it is no larger than it should be: by itself the best of many thresholds always is.
    """
    found = []
    for first, second in ((0, 1), (1, 0)):
        threshold = _best(members[first::2], others[first::2])
        a, b = members[second::2], others[second::2]
        found.append(float((a >= threshold).mean() - (b >= threshold).mean()))
    return sum(found) / 2


def _best(members: Floats, others: Floats) -> float:
    every = np.unique(np.concatenate([members, others]))
    missed = np.searchsorted(np.sort(members), every, side="left") / len(members)
    kept = np.searchsorted(np.sort(others), every, side="left") / len(others)
    return between(every, int(np.argmax(kept - missed)))


def between(ordered: Floats, place: int) -> float:
    """Return a threshold between a score and the next lower one, nearer to neither.

    >>> between(np.array([1.0, 2.0]), 1), between(np.array([1.0, 2.0]), 0)
    (1.5, 1.0)
    """
    return float(ordered[max(0, place - 1) : place + 1].mean())


def right_by_rank(members: Floats, others: Floats, *, seed: int = 0) -> tuple[int, int]:
    """Return right guesses, and all, when the half with the highest scores is taken for members.

    The paper's attack: rows are ranked by perplexity. As many rows of each side as the smaller has,
    so that a guess by chance is right half the time; of equal scores, chance decides.

    >>> right_by_rank(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    (4, 4)
    """
    rng = np.random.default_rng(child_seed(seed, "audit", "rank"))
    many = min(len(members), len(others))
    even = np.concatenate([rng.permutation(members)[:many], rng.permutation(others)[:many]])
    top = np.lexsort((rng.random(2 * many), -even))[:many]
    right = int((top < many).sum())
    return 2 * right, 2 * many


def rate_at(members: Floats, others: Floats, most: float) -> tuple[int, int]:
    """Return members that are found, and all, where at most a share of the others is taken for one.

    >>> rate_at(np.array([3.0, 1.0]), np.array([2.0, 0.0]), 0.4)
    (1, 2)
    """
    allowed = int(most * len(others))
    ordered = np.sort(others)[::-1]
    return int((members > ordered[allowed]).sum()), len(members)


def described(attack: Attack, *, seed: int = 0, level: float = LEVEL) -> dict[str, Any]:
    """Return the figures of an attack with their intervals, for JSON."""
    members, others = attack.members, attack.others
    right, of = right_by_rank(members, others, seed=seed)
    # A wrong guess on one side is one on the other: half of them are independent.
    accuracy = share(right // 2, of // 2, level=level)
    name = f"{attack.name} {attack.group}"
    pair = [members, others]
    rates = {
        f"{most:g}": share(*rate_at(members, others, most), level=level)
        for most in RATES
        if most * len(others) >= 1
    }
    return {
        "attack": attack.name,
        "group": attack.group,
        "members": len(members),
        "others": len(others),
        "accuracy": accuracy,
        "advantage": _advantage(pair, name, seed, level),
        "auc": resampled(pair, auc, name=f"{name} auc", seed=seed, level=level),
        "true_positive_rate_at": rates,
    }


def _advantage(pair: Sequence[Floats], name: str, seed: int, level: float) -> dict[str, float]:
    """Return the advantage over rows in random order; which half a row is in must be chance."""
    rng = np.random.default_rng(child_seed(seed, "audit", "order"))
    mixed = [rng.permutation(one) for one in pair]
    return resampled(mixed, advantage, name=f"{name} advantage", seed=seed, level=level, draws=300)


def attacks_of(
    losses: tuple[Sequence[float], Sequence[float]],
    words: tuple[Sequence[int], Sequence[int]],
    references: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    group: int = 20,
    seed: int = 0,
    more: Sequence[Attack] = (),
) -> list[Attack]:
    """Return attacks on single rows, then those of them on groups that have enough rows.

    Args:
        losses: of members and of others, under the model.
        words: of members and of others.
        references: the same losses under each reference model.
        group: rows of a group.
        seed: of the groups.
        more: attacks that were made elsewhere, such as by shadow models.
    """
    found = [_attack("perplexity", (by_perplexity(losses[i], words[i]) for i in (0, 1)))]
    for name, other in references.items():
        sides = (by_reference(losses[i], other[i]) for i in (0, 1))
        found.append(_attack(f"reference {name}", sides))
    found.extend(more)
    together = (grouped(one, group, seed=seed) for one in found)
    return [*found, *(one for one in together if one is not None)]


def _attack(name: str, sides: Iterable[Floats]) -> Attack:
    members, others = sides
    return Attack(name, members, others)
