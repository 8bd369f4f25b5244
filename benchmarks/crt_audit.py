"""Attacks of `crt.py` on one model: figures 3 to 5 of the paper, and bounds beside the claim.

Canaries as in section 5.1. Members (appendix A.5) are turns of the training text with a secret that
comes once; the others are the same turns with other secrets of its kind, from dialogues that were
left out, so that the two differ in nothing but what a model may have memorized. `accuracy` is the
paper's, by perplexity; `calibrated accuracy` has the loss of the masked turn taken off, which is
the same for both, so that it does not matter which turns are hard; `pair accuracy` is that of
telling which of a turn's two secrets was in the text.
"""

import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEMPLATE, SMOKE_TEMPLATE = "My ID is : {digits:6}", "My ID is : 000{digits:3}"
GROUP = 20
MOST = 1000
# Two sets of bounds, 95 % for both together.
LEVEL = 0.975
NAMES = {"perplexity": "", "reference masked": "calibrated ", "pairs": "pair "}


def kind_of(secret: str) -> str:
    """Return what a secret is, by its form.

    >>> [kind_of(x) for x in ("843-58572-7002", "0UOKFRS1GA", "3 Khan Mews, ME 20072", "+1(980)32")]
    ['order', 'tracking', 'address', 'phone']
    """
    if re.fullmatch(r"\d{3}-\d{5}-\d+", secret):
        return "order"
    if re.fullmatch(r"[A-Z0-9]{10}", secret) and not secret.isdigit():
        return "tracking"
    return "address" if " " in secret else "phone"


def pool_of(secrets: Iterable[str], known: Collection[str]) -> dict[str, list[str]]:
    """Return secrets that are in no training text, by their kind."""
    found: dict[str, list[str]] = {}
    for secret in dict.fromkeys(secrets):
        if secret not in known:
            found.setdefault(kind_of(secret), []).append(secret)
    return found


def sides(
    turns: Sequence[Sequence[str | tuple[str]]],
    pool: Mapping[str, Sequence[str]],
    mask: str,
    *,
    seed: int,
    most: int = MOST,
) -> tuple[list[str], list[str], list[str]]:
    """Return texts with their secrets, the same texts with others, and with masks.

    Args:
        turns: pieces of each text; a secret is a tuple of itself.
        pool: secrets that are in no training text, by their kind.
        mask: stands for a secret.
        seed: of the others.
        most: texts of a side.
    """
    rng = random.Random(f"{seed}:others")
    chosen = list(dict.fromkeys(tuple(turn) for turn in turns))
    rng.shuffle(chosen)
    members, others, masked = [], [], []
    for turn in chosen[:most]:
        members.append("".join(x if isinstance(x, str) else x[0] for x in turn))
        others.append(
            "".join(x if isinstance(x, str) else rng.choice(pool[kind_of(x[0])]) for x in turn)
        )
        masked.append("".join(x if isinstance(x, str) else mask for x in turn))
    return members, others, masked


def pairs(true: Sequence[float], other: Sequence[float], seed: int) -> Any:
    """Return the attack that tells which of two secrets was in the text, shown in random order."""
    import numpy as np

    from genie_dp.private.audit.membership import Attack

    is_first = np.random.default_rng(seed).random(len(true)) < 0.5
    gain = np.asarray(other) - np.asarray(true)
    return Attack("pairs", gain[is_first], -gain[~is_first])


@dataclass(frozen=True)
class Material:
    """What a model is attacked with.

    Attributes:
        canaries: words of each, separated by spaces.
        members, others, masked: words of rows, as `sides` gives them.
        template: all canaries are of it, and all its texts are ranked.
        repeats: how often each canary was in the text.
    """

    canaries: Sequence[str]
    members: Sequence[str]
    others: Sequence[str]
    masked: Sequence[str]
    template: str
    repeats: int


def attacked(
    generator: Any,
    material: Material,
    *,
    claim: tuple[float, float] | None,
    work: Path,
    seed: int,
) -> dict[str, float]:
    """Return what attacks find in a model; the ranking of candidates goes on where it stopped.

    Args:
        generator: the model.
        material: what it is attacked with.
        claim: epsilon and delta of one secret, None for none.
        work: a file for the losses of candidates.
        seed: of groups, halves and intervals.
    """
    from genie_dp.private.audit.models import GeneratorScorer
    from genie_dp.private.audit.verdict import Claim, prove_bounds

    scorer = GeneratorScorer(generator)
    exposed, found = exposed_by(scorer, material, work, seed)
    attacks, pair, figures = inferred(scorer, material, seed)
    found |= figures
    stated = None if claim is None else Claim(*claim, source="this benchmark")
    # Of a pair one secret is exchanged for another: for the mask, and that for the other.
    twice = None if stated is None else stated.of_copies(2)
    bounds = [
        *prove_bounds(attacks, exposed, stated, copies=material.repeats, level=LEVEL, seed=seed),
        *prove_bounds([pair], [], twice, level=LEVEL, seed=seed),
    ]
    found["at least"] = max(
        one.epsilon / (2 if one.attack == pair.name else 1) for one in bounds if one.copies == 1
    )
    if stated is not None:
        found |= {"claimed": stated.epsilon, "refuted": float(any(x.refutes for x in bounds))}
    work.unlink(missing_ok=True)
    return found


def exposed_by(
    scorer: Any, material: Material, work: Path, seed: int
) -> tuple[list[Any], dict[str, float]]:
    """Return the exposure of each canary, and figure 3."""
    from genie_dp.private.audit import exposure
    from genie_dp.private.audit.canaries import canaries_of
    from genie_dp.private.audit.exposure import candidate_losses

    made = canaries_of(material.template, material.canaries, repeats=material.repeats)
    losses = candidate_losses(scorer, made, work=work)
    fit = exposure.fit_losses(losses, made.numbers, seed=seed)
    exposed = exposure.measure_exposures(losses, made.numbers, fit)
    told = exposure.describe_exposures(exposed, fit, seed=seed)
    return exposed, {
        "exposure": told["highest"],
        "mean exposure": told["mean"]["value"],
        "mean exposure low": told["mean"]["low"],
        "mean exposure high": told["mean"]["high"],
        "extrapolated": told["extrapolated"]["mean"]["value"],
    }


def inferred(scorer: Any, material: Material, seed: int) -> tuple[list[Any], Any, dict[str, float]]:
    """Return attacks on turns, that on pairs, and figures 4 and 5."""
    from genie_dp.private.audit import membership
    from genie_dp.private.audit.models import count_words
    from genie_dp.private.source import PrivateRow

    texts = (material.members, material.others, material.masked)
    rows = [[PrivateRow(text) for text in side] for side in texts]
    lost = [scorer.losses(side) for side in rows]
    words = [[count_words(row, with_program=False) for row in side] for side in rows]
    attacks = membership.attack_rows(
        (lost[0], lost[1]),
        (words[0], words[1]),
        {"masked": (lost[2], lost[2])},
        group=min(GROUP, len(rows[0]) // 2),
        seed=seed,
    )
    pair = pairs(lost[0], lost[1], seed)
    found: dict[str, float] = {}
    for one in (*attacks, pair):
        name = NAMES[one.name] + ("group " if one.group > 1 else "")
        figures = membership.describe_attack(one, seed=seed)
        found |= {
            f"{name}accuracy": figures["accuracy"]["value"],
            f"{name}accuracy low": figures["accuracy"]["low"],
            f"{name}accuracy high": figures["accuracy"]["high"],
            f"{name}AUC": figures["auc"]["value"],
        }
    return attacks, pair, found


def by_gamma(rows: Sequence[dict[str, Any]], figure: str) -> list[list[str]]:
    """Return a figure of the paper as a table: a model and its epsilon a line, gammas in columns.

    >>> rows = [{"name": "lstm crt gamma=0.1 eps=2 0", "x": 0.5}]
    >>> by_gamma(rows, "x")
    [['model', '0.1'], ['lstm crt eps=2', '0.50']]
    """
    values: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        model, method, gamma, epsilon, _ = row["name"].split(" ")
        if figure in row:
            paid = f" {epsilon}" if method in ("dp", "crt") else ""
            line = values.setdefault(f"{model} {method}{paid}", {})
            line.setdefault(float(gamma.removeprefix("gamma=")), []).append(row[figure])
    gammas = sorted({gamma for line in values.values() for gamma in line})
    lines = [
        [name, *(f"{sum(x) / len(x):.2f}" if (x := line.get(g)) else "" for g in gammas)]
        for name, line in values.items()
    ]
    return [["model", *(f"{gamma:g}" for gamma in gammas)], *lines]
