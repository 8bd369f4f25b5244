"""Of noise alone reports name nothing: the greatest of many noisy counts is no estimate."""

import random
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genie_dp.private.evolution import prior as evolution_prior
from genie_dp.private.gaps import report as gap_report
from genie_dp.private.gaps.report import GapReport
from genie_dp.private.gaps.select import NoisyGaps
from genie_dp.private.prior import make
from genie_dp.private.prior.histogram import (
    CountedNames,
    CountLimits,
    Noise,
    NoisyCounts,
    outside_each,
    simultaneous_width,
)
from genie_dp.private.tables import aim
from genie_dp.private.tables.joint import GRAIN, Joint, Measurement
from genie_dp.private.tables.schema import Column, Schema
from genie_dp.private.tables.table import SyntheticTable, describe_table
from tests.private.evolution.test_evolution_run import SETTINGS
from tests.private.gaps.gaps_setup import plan as gap_plan
from tests.private.prior.prior_setup import SPENT
from tests.private.prior.prior_setup import plan as count_plan

pytestmark = pytest.mark.statistical
DRAWS = 300
FUNCTIONS = tuple(f"@com.shop{n}.buy" for n in range(40))
KINDS = pytest.mark.parametrize("kind", ["gaussian", "laplace"])


def one_count_alone(noise, counts, outside=0.05):
    """Return the width of a 95 % interval of a single count: the planted bug."""
    return round(noise.quantile(0.025)) if noise.scale else 0


def rounded(noise, columns, name):
    """Return DRAWS rows of rounded noise."""
    drawn = noise.draw(DRAWS * columns, random.Random(f"nothing {name} {noise.kind}"))
    return np.rint(drawn).astype(int).reshape(DRAWS, columns).tolist()


def named_by_priors(kind, *, about=200, units=0):
    """Return how many priors of nothing name a function, a pair, or a name that is lacking."""
    limits = CountLimits(counts_units=about is None)
    support = CountedNames.from_names(FUNCTIONS, [f"@lacks.it{n}" for n in range(20)])
    plan = replace(count_plan(limits=limits, kind=kind, delta=1e-7), support=support)
    pairs, names = tuple(support.pairs()), support.candidates
    named = 0
    for row in rounded(plan.noise, len(FUNCTIONS) + len(pairs) + len(names) + 2, "prior"):
        drawn = iter(row)
        counts = NoisyCounts(
            *({name: next(drawn) for name in of} for of in (FUNCTIONS, pairs, names)),
            {}, next(drawn), None if about else units + next(drawn),
        )  # fmt: skip
        prior = make.prior_of(
            counts, plan, SPENT, about=about, made=make.PublicFunctions(), sampled=make.Sampled()
        )
        lines = [*make.describe_prior(prior), ""]
        is_named = any("@" in line for line in lines)
        is_claimed = any(re.match(r"[\d.]+ in 1,000", line) for line in lines)
        assert is_named == bool(
            prior.pairs
            or any(f.low > 0 for f in prior.functions.values())
            or any(f.low > 0 for name, f in prior.missing.items() if name)
        )
        named += is_named or is_claimed
    return named


def named_by_gaps(kind):
    """Return how many gap reports of nothing name a function or a reason."""
    plan = gap_plan(kind=kind)
    said = replace(
        plan.vocabulary, functions=FUNCTIONS, reasons={f"reason {n}": "so" for n in range(12)}
    )
    plan = replace(plan, vocabulary=said)
    named = 0
    for row in rounded(plan.noise("totals"), 2 + len(FUNCTIONS) + 12, "gaps"):
        functions = dict(zip(FUNCTIONS, row[2:], strict=False))
        reasons = dict(zip(said.reasons, row[2 + len(FUNCTIONS) :], strict=True))
        released = NoisyGaps(200 + row[0], row[1], reasons, functions)
        facts = {"epsilon": 1.0, "unsaid": [], "heard": {"by": "the templates"}}
        report = GapReport.from_release(released, plan, SPENT, {}, facts)
        lines = list(report.lines(most=5))
        named += any("@" in line or "reason " in line for line in lines)
        assert report.gaps == ()
    return named


def named_by_tables(method):
    """Return how many tables of nothing name a value or a pair of columns."""
    schema = Schema(
        tuple(Column(name, tuple(f"{name}{n}" for n in range(8))) for name in ("mood", "form"))
    )
    cliques = [(0,), (1,), *([(0, 1), (1,), (0, 1)] if method == "aim" else [])]
    most = 2 + 2 * aim.ROUNDS if method == "aim" else 2
    rng = random.Random(f"tables {method}")
    shapes = [tuple(schema.domain[place] for place in clique) for clique in cliques]
    noises = [
        Noise("gaussian", 20.0 / (n + 1), 1 / GRAIN)
        .draw(DRAWS * int(np.prod(shape)), rng)
        .reshape(DRAWS, *shape)
        for n, shape in enumerate(shapes)
    ]
    named = 0
    for draw in range(DRAWS):
        # Of 300 records whose columns are independent, and of none.
        exact = np.full((8, 8), (300 if draw % 2 else 0) / 64)
        measured = [
            Measurement(clique, np.rint((exact if len(clique) == 2 else 0) + noise[draw]), 20 / n)
            for n, (clique, noise) in enumerate(zip(cliques, noises, strict=True), 1)
        ]
        found = aim.confirm_parts(measured, most)
        pairs = [list(schema.names)] if found.pairs else []
        if draw % 2:
            named += bool(pairs)
            continue
        values = {
            schema.names[place]: [schema.columns[place].values[at] for at in places]
            for place, places in found.values.items()
        }
        confirmed = {"values": values, "pairs": pairs, "looked_at": found.looked_at}
        table = SyntheticTable(schema, Joint(schema.domain, {}), SPENT, {"confirmed": confirmed})
        lines = list(describe_table(table))
        named += any(re.search(r"(mood|form)\d|mood, form", line) for line in lines)
    return named


def named_by_evolutions():
    """Return how many priors of votes of nobody name a function or a pair."""
    candidates = [
        SimpleNamespace(
            example=SimpleNamespace(functions=(f, FUNCTIONS[n % 7]), program="", utterance="")
        )
        for n, f in enumerate(FUNCTIONS * 5)
    ]
    noise = Noise("gaussian", 4.0, 2.0**-20)
    drawn = noise.draw(DRAWS * len(candidates), random.Random("votes"))
    named = 0
    for votes in drawn.reshape(DRAWS, -1):
        evolution = SimpleNamespace(
            votes=[(candidates, votes)], spent=SPENT, rows=[], report={"noise": 4.0}
        )
        prior = evolution_prior.prior_of(evolution, SETTINGS, functions=FUNCTIONS)
        named += any("@" in line for line in make.describe_prior(prior))
    return named


PLACES = {
    "prior, gaussian": (lambda: named_by_priors("gaussian"), make),
    "prior, units counted": (lambda: named_by_priors("gaussian", about=None, units=300), make),
    "prior, nobody": (lambda: named_by_priors("laplace", about=None), make),
    "gaps, gaussian": (lambda: named_by_gaps("gaussian"), gap_report),
    "gaps, laplace": (lambda: named_by_gaps("laplace"), gap_report),
    "table by aim": (lambda: named_by_tables("aim"), aim),
    "table of columns": (lambda: named_by_tables("independent"), aim),
}


@pytest.mark.parametrize("place", PLACES)
def test_of_draws_of_nothing_one_in_twenty_names_anything_at_most(place, monkeypatch):
    count, module = PLACES[place]
    assert count() <= 0.05 * DRAWS
    # Intervals of single counts would name what nobody asks for.
    monkeypatch.setattr(module, "simultaneous_width", one_count_alone)
    assert count() > 0.1 * DRAWS


def test_votes_of_nobody_name_nothing(monkeypatch):
    assert named_by_evolutions() <= 0.05 * DRAWS
    monkeypatch.setattr(evolution_prior, "outside_each", lambda *_: 0.05)
    assert named_by_evolutions() > 0.1 * DRAWS


@KINDS
@pytest.mark.parametrize("counts", [1, 12, 500])
@pytest.mark.parametrize("scale", [0.7, 12.5])
def test_all_counts_lie_within_the_width_together(kind, counts, scale):
    noise = Noise(kind, scale)
    width = simultaneous_width(noise, counts)
    farthest = np.abs(rounded(noise, counts, "together")).max(axis=1)
    spread = 3 * (0.05 * 0.95 / DRAWS) ** 0.5
    assert (farthest <= width).mean() >= 0.95 - spread
    # No wider than it has to be.
    assert (farthest <= width - 1).mean() < 0.95 + spread


def test_parts_that_fail_rarely_hold_together():
    assert (1 - outside_each(7)) ** 7 == pytest.approx(0.95)
