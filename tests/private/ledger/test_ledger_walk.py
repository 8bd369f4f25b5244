"""A walk through the public API: nothing that it offers passes the ledger of private rows by."""

import inspect

import pytest

import genie_dp as gd
from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import private_of
from genie_dp.run.manifest import ledger_of
from tests.private.gaps import gaps_setup
from tests.private.ledger.test_ledger_guard import (
    BUDGET,
    TWITTER,
    refused,
    release,
    row,
    shuffled_copy,
    write,
)

PROMISE = {"epsilon": 100, "delta": 1e-6, "unit": "utterance"}


def prior(ledger, folder, **options):
    return ledger.prior(epsilon=0.3, estimated_units=40, library=TWITTER, **options)


def train(ledger, folder, **options):
    pytest.importorskip("opacus")
    sizes = {"estimated_units": 40, "batch": 10, "epochs": "1", "size": 8, "layers": 1, "heads": 1}
    target = folder / "made"
    return ledger.train(
        "one-stage", epsilon=0.3, library=TWITTER, output=target, **sizes, **options
    )


def sample(ledger, folder, **options):
    pytest.importorskip("torch")
    return ledger.sample(folder / "made", library=TWITTER, **options)


def evolve(ledger, folder, **options):
    seeds = write(folder / "seeds.jsonl", [{"utterance": f"quite new {n}"} for n in range(20)])
    generator = {"kind": "seeds", "examples": [str(seeds)]}
    return ledger.evolve(epsilon=0.3, iterations=1, generator=generator, **options)


def gaps(ledger, folder, **options):
    gaps_setup.project(folder)
    library = gd.load_library(folder / "tools.json", language="calls")
    listener = gd.gap_listener(folder / "main.genie", library=library)
    return ledger.gaps(listener, epsilon=0.3, **options)


# Methods of a ledger that make something of its rows; a new one is to be tried, too.
RELEASES = {"prior": prior, "train": train, "sample": sample, "evolve": evolve, "gaps": gaps}
ABOUT_ITSELF = {"init", "path", "budget", "doubts", "spent", "report"}


# Names of the package that make rows of rows: what they make of private ones is private.
def run_project(rows):
    """Return what a project makes of rows, which lie beside its file."""
    stage = "stages: {more: {augment: {seed: 1}, of: private.jsonl}}\n"
    (rows.parent / "genie.yaml").write_text(f"skills: {TWITTER}\n{stage}")
    project = gd.Project(rows.parent)
    project.run()
    return gd.Rows.read(project.path("more"))


OF_ROWS = {
    "Project": run_project,
    "Rows": gd.Rows.read,
    "augment": lambda rows: gd.augment(rows, library=TWITTER),
    "paraphrase": lambda rows: gd.paraphrase(rows, library=TWITTER),
    "split": gd.split,
}
# Those that make no rows: they read skills and templates, show, or make a parser or a report, whose
# manifest names its rows (tests of the parser and of evaluation).
OTHERS = {
    "Example", "GenieError", "Parser", "coverage", "describe", "evaluate", "explain",
    "gap_listener", "load_grammar", "load_library", "private", "synthesize", "train",
}  # fmt: skip
RESULTS = {
    "AuditResult", "Budget", "EvolutionResult", "GapResult", "GeneratorResult", "PriorResult",
    "PrivacyReport", "PrivatePlan", "SampleResult", "Spent",
}  # fmt: skip
# An audit reads private rows and releases nothing: its figures are kept like the rows, and what it
# writes can be read by their owner alone (tests/private/audit). A plan reads no rows.
NO_RELEASES = {"audit", "plan"}


@pytest.fixture
def private(tmp_path):
    """Return 40 rows with a ledger in which something is spent."""
    path = write(tmp_path / "private.jsonl", map(row, range(40)))
    release(path, Ledger.create(ledger_of(path), BUDGET))
    return path


def test_the_walk_knows_all_that_is_public():
    methods = {name for name in dir(gd.private.Ledger) if not name.startswith("_")}
    assert methods - {"rows"} == {*RELEASES, *ABOUT_ITSELF}
    assert set(gd.__all__) - {"__version__"} == {*OF_ROWS, *OTHERS}
    assert set(gd.private.__all__) == {"Ledger", *RESULTS, *NO_RELEASES}


@pytest.mark.parametrize("name", RELEASES)
def test_no_release_takes_a_seed_of_its_noise(name):
    parameters = inspect.signature(getattr(gd.private.Ledger, name)).parameters
    assert not [one for one in parameters if "seed" in one or "rng" in one or "noise" in one]


@pytest.mark.trains
@pytest.mark.parametrize("name", RELEASES)
def test_rows_elsewhere_are_not_released_under_another_ledger(name, private):
    elsewhere = shuffled_copy(private)
    second = elsewhere.with_name("second.json")
    Ledger.create(second, Budget(100.0, 1e-6, "utterance", accountant="rdp"))
    with pytest.raises(GenieError) as caught:
        RELEASES[name](gd.private.Ledger(elsewhere, ledger=second), private.parent)
    # No generator was made of them, which `sample` could draw from.
    expected = ("B030", "B031", *(("H003",) if name == "sample" else ()))
    assert caught.value.problems[0].code in expected
    assert Ledger.open(second).entries == ()
    assert len(Ledger.open(ledger_of(private)).entries) == 1
    assert not (private.parent / "made").exists()


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_is_released_past_the_budget_or_after_the_block(name, tmp_path):
    path = write(tmp_path / "private.jsonl", map(row, range(100, 140)))
    small = gd.private.Ledger.init(path, **{**PROMISE, "epsilon": 0.01})
    if name != "sample":
        assert refused(RELEASES[name], small, tmp_path) == "B023"
    assert small.spent.epsilon == 0
    with small:
        pass
    assert refused(RELEASES[name], small, tmp_path) == "B036"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["prior", "train", "evolve"])
def test_private_rows_are_public_to_no_release(name, private):
    ledger = gd.private.Ledger(private)
    code = {"prior": "F008", "train": "H008", "evolve": "U007"}[name]
    saved = private.with_name("saved.jsonl")
    gd.Rows.read(private).save(saved)
    for public in (private, saved):
        assert refused(RELEASES[name], ledger, private.parent, public=public) == code
    assert len(Ledger.open(ledger_of(private)).entries) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ROWS)
def test_what_is_made_of_private_rows_is_private(name, private, tmp_path):
    target = tmp_path / ("parts" if name == "split" else "rows.jsonl")
    OF_ROWS[name](private).save(target)
    files = list(target.glob("*.jsonl")) if target.is_dir() else [target]
    assert files
    for file in files:
        assert private_of(file) == ledger_of(private)
