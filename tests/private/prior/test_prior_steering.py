"""A prior moves the functions of synthesized rows to what people ask for, and nothing else."""

import json
from collections import Counter
from functools import cache

import pytest

from genie_dp import cli
from genie_dp.private_prior import load_prior, pairs_of, save_prior
from genie_dp.rows import from_json
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.steering import is_neutral, make_steering
from genie_dp.templates.grammar import subset
from tests.private.prior.prior_setup import SPENT, prior
from tests.synthesis.synthesis_project import errands, merge, notes
from tests.synthesis.synthesis_setup import few, text_of

TWEET, BULB = "@com.twitter.post", "@org.thingpedia.light-bulb.set_power"
CONFIG = SynthesisConfig(size=1000, max_depth=3, pool_size=200)
SMALL = SynthesisConfig(size=300, max_depth=3, pool_size=50)


@cache
def compiled():
    inputs = few()
    grammar = subset(inputs.grammar, CONFIG.subsets)
    return compile_grammar(grammar, inputs.language, inputs.library, CONFIG)


@cache
def plain():
    """Return the rows of no prior."""
    return text_of(build_engine(compiled(), CONFIG))


def plain_shares():
    return shares(plain())


@cache
def by_share(signal=1.0):
    """Return rows that a prior of the wanted shares steers."""
    return made(prior(function_shares=wanted(), signal=signal))


def made(one, config=CONFIG):
    return text_of(build_engine(compiled(), config, prior=one))


def shares(text):
    counts = Counter(f for line in text.splitlines() for f in set(from_json(line).functions))
    return {name: count / counts.total() for name, count in counts.items()}


def wanted():
    """Return shares that fall from function to function, the rarest of synthesis first."""
    own = plain_shares()
    raw = {name: 1 / (place + 1) for place, name in enumerate(sorted(own, key=own.get))}
    return {name: share / sum(raw.values()) for name, share in raw.items()}


def distance(one, other):
    return sum(abs(one.get(n, 0) - other.get(n, 0)) for n in {*one, *other}) / 2


def test_functions_come_as_often_as_the_prior_says_and_rows_of_all_kinds_stay():
    target, own = wanted(), plain_shares()
    text = by_share()
    kept, before = shares(text), distance(own, target)
    assert distance(kept, target) < 0.4 * before > 0.16
    rows = [from_json(line) for line in text.splitlines()]
    assert len(rows) == CONFIG.size == len({row.id for row in rows})
    frequent = {name for name, share in own.items() if share > 0.02}
    assert len(frequent) > 10
    assert frequent <= kept.keys()


@pytest.mark.slow
def test_the_less_signal_the_less_changes():
    own = plain_shares()
    little, much = (distance(shares(by_share(signal)), own) for signal in (0.3, 1.0))
    assert 0 < little < much


@pytest.mark.slow
def test_multipliers_alone_move_shares_too():
    own = plain_shares()
    found = shares(made(prior(function_weights={TWEET: 6.0, BULB: 0.2})))
    assert found[TWEET] > 2.5 * own[TWEET]
    assert found.get(BULB, 0) < 0.5 * own[BULB]


@pytest.mark.slow
def test_pairs_are_steered_as_well():
    def pairs(text):
        rows = map(from_json, text.splitlines())
        return Counter(pair for row in rows for pair in pairs_of(row.functions))

    before = pairs(plain())
    # The most frequent ones make up most of what their functions do, whose shares stay.
    *_, (name, often) = before.most_common(7)
    assert often >= 5
    assert pairs(made(prior(pair_weights={name: 4.0})))[name] > 1.4 * often


@pytest.mark.slow
def test_a_neutral_prior_changes_no_byte():
    ones = {"function_weights": {TWEET: 1.0, BULB: 1.0}}
    unsure = {"function_shares": {TWEET: 1.0}, "signal": 0.0}
    programs = {"programs": ("now => @com.thecatapi.get => notify",)}
    every = {**ones, **unsure, **programs}
    assert all(is_neutral(prior(**neutral)) for neutral in ({}, ones, unsure, programs, every))
    assert made(prior(**every), SMALL) == text_of(build_engine(compiled(), SMALL))


@pytest.mark.slow
def test_the_same_prior_and_seed_give_the_same_bytes_with_any_number_of_processes():
    one = prior(function_weights={TWEET: 6.0, BULB: 0.2})
    assert text_of(build_engine(compiled(), SMALL, prior=one), jobs=2) == made(one, SMALL)


def test_functions_that_are_not_drawn_are_not_asked_for():
    one = prior(function_shares={"@no.such.thing": 1.0})
    found = make_steering(one, [("@a.b",), ("@c.d",)], 0)
    assert set(found.logs) == {"@a.b", "@c.d"}
    assert make_steering(one, [], 0) is None


@pytest.fixture
def project(tmp_path):
    """Return a project of two small skills, and a prior over its functions."""
    (tmp_path / "project").mkdir()
    made = notes(tmp_path / "project")
    assert made.run("--size", 200, "-o", tmp_path / "plain.jsonl") == 0
    rows = [from_json(line) for line in (tmp_path / "plain.jsonl").read_text().splitlines()]
    rarest = Counter(f for row in rows for f in row.functions).most_common()[-1][0]
    save_prior(
        prior(function_weights={rarest: 5.0, "@no.such.thing": 2.0}), tmp_path / "prior.json"
    )
    return made


def test_the_manifest_carries_the_guarantee(project, tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    assert project.run("--size", 200, "--prior", tmp_path / "prior.json", "-o", out) == 0
    told = json.loads((tmp_path / "rows.jsonl.manifest.json").read_text())["prior"]
    assert told["sha256"] == load_prior(tmp_path / "prior.json").digest
    assert told["spent"]["epsilon"] == SPENT.epsilon
    assert "not in the skills: @no.such.thing" in capsys.readouterr().err
    assert "prior" not in json.loads((tmp_path / "plain.jsonl.manifest.json").read_text())


def test_shards_of_a_steered_run_are_the_whole(project, tmp_path):
    options = ("--size", 200, "--prior", tmp_path / "prior.json")
    assert project.run(*options, "-o", tmp_path / "whole.jsonl") == 0
    parts = [tmp_path / f"part{i}.jsonl" for i in range(2)]
    for number, part in enumerate(parts):
        assert project.run(*options, "--shard", f"{number}/2", "-o", part) == 0
    assert merge(*parts, "-o", tmp_path / "joined.jsonl") == 0
    assert (tmp_path / "joined.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_resumed_run_must_have_the_same_prior(project, tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    assert project.run("--size", 200, "--prior", tmp_path / "prior.json", "-o", out) == 0
    settings = json.loads((tmp_path / "rows.jsonl.manifest.json").read_text())
    work = tmp_path / ".rows.jsonl.work"
    work.mkdir()
    names = ("version", "language", "inputs", "config", "shard", "rows", "prior", "block")
    (work / "settings.json").write_text(json.dumps({name: settings[name] for name in names}))
    out.unlink()
    save_prior(prior(function_weights={"@no.such.thing": 3.0}), tmp_path / "prior.json")
    assert (
        project.run("--size", 200, "--prior", tmp_path / "prior.json", "-o", out, "--resume") == 1
    )
    assert "prior sha256" in capsys.readouterr().err


@pytest.mark.slow
def test_programs_of_other_languages_are_steered_alike(tmp_path):
    (tmp_path / "errands").mkdir()
    project = errands(tmp_path / "errands")
    save_prior(prior(function_weights={"BRING": 8.0, "CHECK": 0.1}), tmp_path / "prior.json")
    found = {}
    for name, options in (("plain", ()), ("steered", ("--prior", tmp_path / "prior.json"))):
        out = tmp_path / f"{name}.jsonl"
        assert project.run("--size", 400, *options, "-o", out) == 0
        found[name] = Counter(
            json.loads(line)["program"].split()[1] for line in out.read_text().splitlines()
        )
    assert found["steered"]["BRING"] > 1.5 * found["plain"]["BRING"]
    assert found["steered"]["CHECK"] < 0.5 * found["plain"]["CHECK"]


@pytest.mark.slow
def test_rows_are_not_weighed_twice_by_one_prior(project, tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    assert project.run("--size", 50, "--prior", tmp_path / "prior.json", "-o", out) == 0
    skills = project.inputs[: project.inputs.index("--grammar")]
    more = [*skills, "--prior", str(tmp_path / "prior.json"), "-o", str(tmp_path / "more.jsonl")]
    assert cli.run(["data", "augment", str(out), *more]) == 1
    assert "F005" in capsys.readouterr().err
    assert cli.run(["data", "augment", str(tmp_path / "plain.jsonl"), *more]) == 0
    weights = {
        from_json(line).weight for line in (tmp_path / "more.jsonl").read_text().splitlines()
    }
    assert len(weights) > 1
    # What augment made of steered rows says so, too.
    assert cli.run(["data", "augment", str(out), *skills, "-o", str(tmp_path / "again.jsonl")]) == 0
    told = json.loads((tmp_path / "again.jsonl.manifest.json").read_text())
    assert list(told["priors"]) == [load_prior(tmp_path / "prior.json").digest]
    assert cli.run(["data", "augment", str(tmp_path / "plain.jsonl"), *more[:-1], "rows.tsv"]) == 1
    assert "F004" in capsys.readouterr().err
