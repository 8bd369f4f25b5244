"""Membership inference: was a row trained on? One row at a time, or a group together.

By perplexity ("Provably Confidential Language Modelling", section 5.1 and appendix A.5, after
Carlini et al. 2021); calibrated by a reference model (Carlini et al. 2021, section 5.2; Watson et
al. 2022); and by likelihood ratios with shadow models (LiRA; Carlini et al. 2022). All scores are
higher for rows that seem to be members.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.statistics import (
    LEVEL,
    Floats,
    bootstrap,
    share_with_interval,
    threshold_at,
)
from genie_dp.private.crt.rows import is_private, separate_mask
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.rng import child_seed
from genie_dp.run.files import UNREADABLE, unreadable

# Fewer rows of a side prove nothing.
LEAST = 10


@dataclass(frozen=True, slots=True, repr=False)
class Sides:
    """Rows of both sides, each different row once, none on both.

    Attributes:
        members, others: the rows.
        left: rows that were left out, by why.
    """

    members: tuple[PrivateRow, ...] = field(repr=False)
    others: tuple[PrivateRow, ...] = field(repr=False)
    left: Mapping[str, int]

    def __repr__(self) -> str:
        return f"Sides(left={self.left!r}, ..)"


def read_rows(path: Path, language: str, *, private_only: bool = False) -> list[PrivateRow]:
    """Return the rows of a file: lines of a .txt, else those of `PrivateSource`.

    Args:
        path: JSONL, TSV by its suffix, or .txt.
        language: of the programs.
        private_only: whether rows that are marked public are left out.

    Raises:
        GenieError: those of `PrivateSource.open`, without text.
    """
    if ".txt" in path.suffixes[-2:]:
        # What is no UTF-8 is replaced: a message about it would show the line.
        text = _bytes(path).decode("utf-8-sig", errors="replace")
        lines = (" ".join(line.split()) for line in text.splitlines())
        return [PrivateRow(separate_mask(line)) for line in lines if line]
    where = is_private if private_only else None
    read = PrivateSource.open(path, language=language, where=where)
    return [
        PrivateRow(separate_mask(row.utterance), row.program)
        for unit in read.units
        for row in unit
        if row.utterance.strip()
    ]


def _bytes(path: Path) -> bytes:
    import smart_open

    try:
        with smart_open.open(path, "rb") as file:
            content: bytes = file.read()
    except UNREADABLE as error:
        raise GenieError(unreadable(str(path), error, code="Q001")) from None
    return content


def sides_of(
    members: Sequence[PrivateRow], others: Sequence[PrivateRow], *, with_programs: bool = False
) -> Sides:
    """Return distinguishable rows.

    A row that comes several times is left out: guarantees are for one of it, and frequent sentences
    are likelier, so that neither side may keep more of it. So is a row that is on both sides.

    Args:
        members: rows that were trained on.
        others: rows that were not.
        with_programs: whether rows with one utterance and two programs are different ones.

    Raises:
        GenieError: too few are left of a side (N058).
    """

    def key(row: PrivateRow) -> tuple[str, str | None]:
        return row.utterance, row.program if with_programs else None

    rows = {key(row): row for row in members}
    counts, counts_there = Counter(map(key, members)), Counter(map(key, others))
    there = {key(row): row for row in others}
    once = [name for name, count in counts.items() if count == 1]
    chosen = tuple(rows[name] for name in once if name not in there)
    left_out = {
        "members that come several times": len(counts) - len(once),
        "others that come several times": sum(count > 1 for count in counts_there.values()),
        "rows on both sides": len(once) - len(chosen),
    }
    rest = tuple(
        row for name, row in there.items() if counts_there[name] == 1 and name not in counts
    )
    if min(len(chosen), len(rest)) < LEAST:
        message = f"expected {LEAST} different rows of each side or more, that are on one side only"
        hint = "members were trained on, each once; the others are like them and were not"
        raise GenieError(Problem("N058", message, hint=hint))
    return Sides(chosen, rest, left_out)


def count_sides(sides: Sides) -> dict[str, Any]:
    """Return how many rows there are, for JSON."""
    return {"members": len(sides.members), "others": len(sides.others), "left": dict(sides.left)}


RATES = (0.1, 0.01, 0.001)


@dataclass(frozen=True, slots=True)
class Attack:
    """The scores that an attack gives to rows.

    Attributes:
        name: of the attack.
        members, others: (M,) and (N,) scores.
        group: rows that were scored together.
        is_tossed: whether a coin decided for each by itself on which side it is.
        is_unit: whether each is a unit of its own, as the guarantee has it.
    """

    name: str
    members: Floats
    others: Floats
    group: int = 1
    is_tossed: bool = False
    is_unit: bool = False


def score_by_perplexity(losses: Sequence[float], words: Sequence[int]) -> Floats:
    """Return scores of rows: the log-perplexity per word, with the other sign."""
    scores: Floats = -np.asarray(losses, float) / np.asarray(words, float)
    return scores


def score_by_reference(losses: Sequence[float], reference: Sequence[float]) -> Floats:
    """Return scores of rows: how much likelier they are than for a model without them, in nats."""
    scores: Floats = np.asarray(reference, float) - np.asarray(losses, float)
    return scores


def group_rows(attack: Attack, size: int, *, seed: int = 0) -> Attack | None:
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
    advantages = []
    for first, second in ((0, 1), (1, 0)):
        threshold = _best_threshold(members[first::2], others[first::2])
        a, b = members[second::2], others[second::2]
        advantages.append(float((a >= threshold).mean() - (b >= threshold).mean()))
    return sum(advantages) / 2


def _best_threshold(members: Floats, others: Floats) -> float:
    thresholds = np.unique(np.concatenate([members, others]))
    missed = np.searchsorted(np.sort(members), thresholds, side="left") / len(members)
    passed = np.searchsorted(np.sort(others), thresholds, side="left") / len(others)
    return threshold_at(thresholds, int(np.argmax(passed - missed)))


def guess_by_rank(members: Floats, others: Floats, *, seed: int = 0) -> tuple[int, int]:
    """Return right guesses, and all, when the half with the highest scores is taken for members.

    The paper's attack: rows are ranked by perplexity. As many rows of each side as the smaller has,
    so that a guess by chance is right half the time; of equal scores, chance decides.

    >>> guess_by_rank(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    (4, 4)
    """
    rng = np.random.default_rng(child_seed(seed, "audit", "rank"))
    many = min(len(members), len(others))
    even = np.concatenate([rng.permutation(members)[:many], rng.permutation(others)[:many]])
    top = np.lexsort((rng.random(2 * many), -even))[:many]
    right = int((top < many).sum())
    return 2 * right, 2 * many


def rate_at(members: Floats, others: Floats, limit: float) -> tuple[int, int]:
    """Return members that are found, and all, where at most a share of the others is taken for one.

    >>> rate_at(np.array([3.0, 1.0]), np.array([2.0, 0.0]), 0.4)
    (1, 2)
    """
    allowed = int(limit * len(others))
    ordered = np.sort(others)[::-1]
    return int((members > ordered[allowed]).sum()), len(members)


def describe_attack(attack: Attack, *, seed: int = 0, level: float = LEVEL) -> dict[str, Any]:
    """Return the figures of an attack with their intervals, for JSON."""
    members, others = attack.members, attack.others
    right, of = guess_by_rank(members, others, seed=seed)
    # A wrong guess on one side is one on the other: half of them are independent.
    accuracy = share_with_interval(right // 2, of // 2, level=level)
    name = f"{attack.name} {attack.group}"
    pair = [members, others]
    rates = {
        f"{limit:g}": share_with_interval(*rate_at(members, others, limit), level=level)
        for limit in RATES
        if limit * len(others) >= 1
    }
    return {
        "attack": attack.name,
        "group": attack.group,
        "members": len(members),
        "others": len(others),
        "accuracy": accuracy,
        "advantage": _advantage(pair, name, seed, level),
        "auc": bootstrap(pair, auc, name=f"{name} auc", seed=seed, level=level),
        "true_positive_rate_at": rates,
    }


def _advantage(pair: Sequence[Floats], name: str, seed: int, level: float) -> dict[str, float]:
    """Return the advantage over rows in random order; which half a row is in must be chance."""
    rng = np.random.default_rng(child_seed(seed, "audit", "order"))
    mixed = [rng.permutation(scores) for scores in pair]
    return bootstrap(mixed, advantage, name=f"{name} advantage", seed=seed, level=level, draws=300)


def attack_rows(
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
    members, others = (score_by_perplexity(losses[i], words[i]) for i in (0, 1))
    attacks = [Attack("perplexity", members, others)]
    for name, reference in references.items():
        members, others = (score_by_reference(losses[i], reference[i]) for i in (0, 1))
        attacks.append(Attack(f"reference {name}", members, others))
    attacks.extend(more)
    groups = (group_rows(attack, group, seed=seed) for attack in attacks)
    return [*attacks, *(attack for attack in groups if attack is not None)]


def score_by_ratios(
    losses: Sequence[float], shadows: Floats, learned: Floats, others: int
) -> Floats:
    """Return scores of rows by RMIA: how many other rows each beats, as shares.

    A row's ratio is its probability a word under the model over the mean of those under shadows.
    Where shadows with the row and without it are both there, each sort counts half; where none has
    seen it, those without it count alone. (The paper then adds a share of certainty, for images. Of
    words, which are far from certain, that share would be all that is left: an area of 0.67 in
    place of 0.97, November 2026.) It beats another row if its ratio is greater (gamma 1).

    Args:
        losses: (N,) a word, under the audited model.
        shadows: (S, N) under each shadow model.
        learned: (S, N) 1 where a shadow learned from the row, else 0.
        others: how many of the rows, the last ones, were not trained on: those to be beaten.
    """
    inside = learned.astype(bool)
    chances = np.exp(-shadows)
    without = np.where(~inside, chances, 0.0).sum(0) / np.maximum(1, (~inside).sum(0))
    with_it = np.where(inside, chances, 0.0).sum(0) / np.maximum(1, inside.sum(0))
    mean = (without + np.where(inside.any(0), with_it, without)) / 2
    ratios = np.exp(-np.asarray(losses, float)) / mean
    beaten = np.sort(ratios[len(ratios) - others :])
    scores: Floats = np.searchsorted(beaten, ratios, side="left") / others
    return scores


_LEAST = 1e-6


def score_by_shadows(
    losses: Sequence[float], shadows: Floats, learned: Floats
) -> tuple[Floats, bool]:
    """Return scores of rows, and whether shadows that learned from them were used.

    Args:
        losses: (N,) under the audited model.
        shadows: (S, N) under each shadow model.
        learned: (S, N) 1 where a shadow learned from the row, else 0.

    Raises:
        GenieError: a row is in all shadows, or there are fewer than two shadows (N055).
    """
    inside = learned.astype(bool)
    if len(shadows) < 2 or inside.all(0).any():
        message = "expected two shadow models or more, and for each row one that has not seen it"
        raise GenieError(Problem("N055", message, hint="train shadows on other halves of the rows"))
    here = np.asarray(losses, float)
    out_mean, out_deviation = _fit_shadows(shadows, ~inside)
    if not inside.any(0).all():
        # One-sided: how far below what models without the row say.
        return (out_mean - here) / (out_deviation or 1.0), False
    in_mean, in_deviation = _fit_shadows(shadows, inside)
    # With one shadow a row, a side says nothing of deviations: the other's stands for it.
    in_deviation, out_deviation = in_deviation or out_deviation, out_deviation or in_deviation
    if not in_deviation:
        in_deviation = out_deviation = 1.0
    return _log_density(here, in_mean, in_deviation) - _log_density(
        here, out_mean, out_deviation
    ), True


def _fit_shadows(shadows: Floats, chosen: Floats) -> tuple[Floats, float]:
    """Return the mean of each row over chosen shadows, and the deviation over all rows.

    The deviation is 0 where no row has two of them to estimate it from.
    """
    counts = chosen.sum(0)
    mean = np.where(chosen, shadows, 0.0).sum(0) / counts
    squares = np.where(chosen, (shadows - mean) ** 2, 0.0).sum()
    free = float((counts - 1).sum())
    return mean, max(_LEAST, float(np.sqrt(squares / free))) if free else 0.0


def _log_density(x: Floats, mean: Floats, deviation: float) -> Floats:
    density: Floats = -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation)
    return density
