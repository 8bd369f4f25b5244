"""The loop of private evolution: it comes nearer, pays once for each vote, and goes on exactly."""

import json
import random
import shutil
from dataclasses import replace

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.evolution import evolve as evolution_module
from genie_dp.private.evolution import state, voting
from genie_dp.private.evolution.config import EvolutionSettings
from genie_dp.private.evolution.embedding import Both, HashedNgramEmbedding, ProgramBag
from genie_dp.private.evolution.evolve import Electorate, evolve
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.evolution.prior import prior_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.prior.make import describe_prior
from genie_dp.private.secure import _seeded
from genie_dp.private_prior import load_prior, save_prior
from tests.private.evolution.evolution_setup import (
    VERBS,
    CountingWords,
    Spends,
    Words,
    electorate,
    example,
    labelled,
    people,
)

SETTINGS = EvolutionSettings(2.0, iterations=4, population=20, variations=3, rows=40)
EMBEDDING = HashedNgramEmbedding(256)


def evolved(work, *, settings=SETTINGS, generator=None, spend=None, noise_seed=3, **options):
    with _seeded(noise_seed):
        return evolve(
            options.pop("electorate", electorate()),
            generator or Words(),
            options.pop("embedding", EMBEDDING),
            settings,
            spend=spend or Spends(),
            work=work,
            **options,
        )


def said(found):
    return [(one.example.utterance, one.example.weight) for one in found.rows]


# ------------------------------------------------------------------------------ what comes of it


@pytest.mark.parametrize("selection", ["resample", "rank"])
@pytest.mark.parametrize("keep", [True, False])
def test_rows_come_near_to_what_people_say(tmp_path, selection, keep):
    settings = replace(SETTINGS, selection=selection, keep=keep, rows=10, noise_multiplier=1.0)
    found = evolved(tmp_path, settings=settings, electorate=electorate(1000))
    weight = sum(one.example.weight for one in found.rows)
    asked = {"buy", "milk"}, {"play", "jazz"}
    near = sum(
        one.example.weight for one in found.rows
        if any(words <= set(one.example.utterance.split()) for words in asked)
    )  # fmt: skip
    # 2 of 48 pairs of words are asked for. Ranks take every winner alike.
    assert near / weight > (0.5 if selection == "resample" else 0.15)
    assert weight == 10


def test_rows_are_private_and_have_ids_and_programs(tmp_path):
    found = evolved(tmp_path)
    assert {one.example.source for one in found.rows} == {"private"}
    assert len({one.example.id for one in found.rows}) == len(found.rows)
    assert all(one.example.program for one in found.rows)


def test_programs_place_rows_as_well(tmp_path):
    bag = ProgramBag.for_language(get_language("sexpr"), 256)
    embedding = Both(((EMBEDDING, 1.0), (bag, 3.0)))
    found = evolved(tmp_path, embedding=embedding, settings=replace(SETTINGS, rows=10))
    asked = ("( buy milk )", "( play jazz )")
    assert sum(one.example.weight for one in found.rows if one.example.program in asked) > 5


def test_private_words_never_change_how_rare_words_are(tmp_path, monkeypatch):
    seen = []
    fitted = HashedNgramEmbedding.fit

    def spied(self, public):
        seen.append(list(public))
        return fitted(self, public)

    monkeypatch.setattr(HashedNgramEmbedding, "fit", spied)
    evolved(tmp_path)
    assert len(seen) == 1
    first = state.EvolutionFolder(
        tmp_path, json.loads((tmp_path / "run.json").read_text())["depends_on"]
    )
    assert seen[0] == [one.example for one in first.population(1).candidates]


def test_no_two_rows_are_the_same_and_weights_make_up_for_it(tmp_path):
    found = evolved(tmp_path, settings=replace(SETTINGS, rows=200))
    assert len({text for text, _ in said(found)}) == len(found.rows)
    assert sum(weight for _, weight in said(found)) == 200


@pytest.mark.parametrize("lookahead", [0, 2])
def test_every_call_of_the_generator_is_counted(tmp_path, lookahead):
    words = Words()
    found = evolved(tmp_path, settings=replace(SETTINGS, lookahead=lookahead), generator=words)
    assert found.report["calls"] == words.calls
    assert [line["vote"] for line in found.report["iterations"]] == [1, 2, 3, 4]


def test_listeners_are_told_of_each_vote(tmp_path):
    told = []
    found = evolved(tmp_path, listen=told.append)
    assert told == found.report["iterations"]
    assert all(0 <= line["above_threshold"] <= 1 for line in told)


# ------------------------------------------------------------------------------------ labels


def test_rows_vote_for_their_label_alone_and_winners_have_its_share(tmp_path):
    settings = replace(SETTINGS, label="topic")
    shares = {"music": 0.25, "shop": 0.5, "phone": 0.25}
    found = evolved(
        tmp_path, settings=settings, electorate=electorate(label=True), fractions=shares
    )
    assert found.report["labels"].keys() == shares.keys()
    assert all(labelled(x.example.functions[0]) == x.metadata["topic"] for x in found.rows)
    weights = {label: 0.0 for label in shares}
    for one in found.rows:
        weights[one.metadata["topic"]] += one.example.weight
    assert weights == {"music": 10, "shop": 20, "phone": 10}
    # Nobody calls or texts: the noise alone is above the threshold there.
    assert all(line["candidates"] for line in found.report["iterations"])


def test_no_label_fractions_without_a_release(tmp_path):
    settings = replace(SETTINGS, label="topic")
    spends = Spends()
    with pytest.raises(GenieError, match="U004"):
        evolved(tmp_path, settings=settings, electorate=electorate(label=True), spend=spends)
    assert not spends.runs


def test_the_shares_of_private_labels_change_no_share_of_candidates(tmp_path):
    settings = replace(SETTINGS, label="topic", fractions={"music": 1, "shop": 1, "phone": 1})
    counts = []
    for number, rows in enumerate((people(300), people(3))):
        labels = [[labelled(one.functions[0])] for (one,) in rows]
        found = evolved(
            tmp_path / str(number), settings=settings, electorate=Electorate(rows, labels)
        )
        made = [one.metadata["topic"] for one in found.votes[0][0]]
        counts.append({label: made.count(label) for label in set(made)})
    assert counts[0] == counts[1]


class Table:
    """A table of topics that was released."""

    def sample(self, n, rng):
        return [{"topic": rng.choice(("music", "shop"))} for _ in range(n)]


def test_a_table_makes_the_metadata_of_the_first_candidates(tmp_path):
    found = evolved(tmp_path, table=Table())
    assert {one.metadata["topic"] for one in found.votes[0][0]} == {"music", "shop"}


def test_candidates_of_no_label_that_wins_are_told_before_a_vote_is_paid(tmp_path):
    settings = replace(SETTINGS, label="topic", fractions={"phone": 1})
    spends = Spends()
    with pytest.raises(GenieError, match="U005"):
        evolved(
            tmp_path,
            settings=settings,
            electorate=electorate(label=True),
            table=Table(),
            spend=spends,
        )
    assert not spends.runs


# --------------------------------------------------------------------------------- the ledger


def test_the_accountant_joins_the_ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "p.ledger.json", Budget(20.0, 1e-5, "utterance"))

    def spend(mechanisms, name):
        return ledger.spend(mechanisms, purpose="evolution", run=name)

    found = evolved(tmp_path / "work", spend=spend)
    known = Ledger.open(tmp_path / "p.ledger.json")
    assert known.mechanisms == (Gaussian(2.0),) * 4
    assert len({entry.run for entry in known.entries}) == 4
    assert found.spent == known.spent()
    epsilons = [line["epsilon"] for line in found.report["iterations"]]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] == found.spent.epsilon


def test_a_folder_that_was_put_back_releases_no_second_vote(tmp_path):
    ledger = Ledger.create(tmp_path / "p.ledger.json", Budget(20.0, 1e-5, "utterance"))
    payer, work, copy = Payer(ledger, "evolution"), tmp_path / "work", tmp_path / "copy"

    def first_vote_paid(mechanisms, name):
        payer(mechanisms, name)
        if name.endswith("/1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evolved(work, spend=first_vote_paid, noise_seed=None)
    shutil.copytree(work, copy)
    found = evolved(work, spend=payer, noise_seed=None)
    with pytest.raises(GenieError, match="B032"):
        evolved(copy, spend=payer, noise_seed=None)
    assert not list(copy.glob("*vote*"))
    assert said(evolved(work, spend=payer, noise_seed=None)) == said(found)
    assert len(Ledger.open(ledger.path).entries) == 4


def test_what_the_ledger_refuses_is_not_released(tmp_path):
    ledger = Ledger.create(tmp_path / "p.ledger.json", Budget(0.5, 1e-5, "utterance"))

    def spend(mechanisms, name):
        return ledger.spend(mechanisms, purpose="evolution", run=name)

    with pytest.raises(GenieError, match="B023"):
        evolved(tmp_path / "work", spend=spend)
    assert not list((tmp_path / "work").glob("vote-*"))
    assert Ledger.open(tmp_path / "p.ledger.json").entries == ()


def test_each_vote_is_paid_before_private_rows_are_counted(tmp_path, monkeypatch):
    order = []
    counted = voting.votes

    def votes(*args, **options):
        order.append("count")
        return counted(*args, **options)

    class Noted(Spends):
        def __call__(self, mechanisms, name):
            order.append("spend")
            return super().__call__(mechanisms, name)

    monkeypatch.setattr(voting, "votes", votes)
    evolved(tmp_path, spend=Noted())
    assert order == ["spend", "count"] * 4


def test_without_a_seed_noise_is_of_the_operating_system(tmp_path):
    random.seed(0)
    one = evolved(tmp_path / "1", noise_seed=None)
    random.seed(0)
    other = evolved(tmp_path / "2", noise_seed=None)
    assert one.votes[0][1].tolist() != other.votes[0][1].tolist()
    assert one.votes[0][0] == other.votes[0][0]


# ------------------------------------------------------------------------------------- resuming


class Killed(Exception):
    """The process is no more."""


WHERE = [
    (state.EvolutionFolder, "keep_population", 1),
    (state.EvolutionFolder, "keep_population", 3),
    (voting, "votes", 1),
    (voting, "noisy_histogram", 2),
    (state.EvolutionFolder, "keep_vote", 3),
    (evolution_module._EvolutionRun, "result", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("holder", "name", "time"), WHERE)
@pytest.mark.parametrize("after", [False, True])
def test_a_killed_run_comes_to_the_same_and_spends_once(
    tmp_path, monkeypatch, holder, name, time, after
):
    ahead = replace(SETTINGS, lookahead=1)
    whole = evolved(tmp_path / "whole", settings=ahead, generator=CountingWords())
    real, count = getattr(holder, name), []

    def dying(*args, **options):
        count.append(1)
        if len(count) != time:
            return real(*args, **options)
        if after:
            real(*args, **options)
        raise Killed

    spends = Spends()
    with monkeypatch.context() as patched:
        patched.setattr(holder, name, dying)
        with pytest.raises(Killed):
            evolved(tmp_path / "killed", spend=spends, settings=ahead, generator=CountingWords())
    found = evolved(tmp_path / "killed", spend=spends, settings=ahead, generator=CountingWords())
    assert len(spends.runs) == 4
    assert said(found) == said(whole)
    assert found.report == whole.report
    assert found.report["not_given"]["repeated"] > 0


def test_the_report_has_what_the_generator_could_not_give(tmp_path):
    words = CountingWords()
    found = evolved(tmp_path / "1", settings=replace(SETTINGS, lookahead=2), generator=words)
    assert found.report["not_given"] == dict(words.counts)
    assert words.counts["repeated"] > 0
    assert "not_given" not in evolved(tmp_path / "2").report


def test_the_report_has_what_a_grammar_could_not_give(tmp_path):
    from tests.private.evolution.evolution_grammar_setup import generator

    settings = EvolutionSettings(2.0, iterations=2, population=6, variations=2, rows=8)
    table = Records([{"functions": "com.nobody.nothing"}])
    made = generator()
    found = evolved(tmp_path, settings=settings, generator=made, table=table)
    assert found.report["not_given"] == dict(sorted(made.counts.items()))
    assert found.report["not_given"]["unmet functions"] == 12


class Records:
    """Stands for a table of metadata."""

    def __init__(self, records):
        self.records = records

    def sample(self, n, rng):
        return [self.records[i % len(self.records)] for i in range(n)]


def test_noisy_votes_are_stored_and_never_drawn_again(tmp_path):
    spends = Spends()
    one = evolved(tmp_path, spend=spends, noise_seed=None)
    again = evolved(tmp_path, spend=spends, noise_seed=None, electorate=Electorate(Units(())))
    assert len(spends.runs) == 4
    assert said(one) == said(again)
    assert [n.tolist() for _, n in one.votes] == [n.tolist() for _, n in again.votes]


def test_a_vote_that_is_missing_is_not_released_twice(tmp_path):
    evolved(tmp_path)
    (tmp_path / "vote-2.json").unlink()
    with pytest.raises(GenieError, match="U020"):
        evolved(tmp_path)


def test_candidates_that_are_not_those_voted_for_are_refused(tmp_path):
    evolved(tmp_path)
    path = tmp_path / "population-2.jsonl"
    path.write_text(path.read_text().replace("milk", "beer"))
    with pytest.raises(GenieError, match="U022"):
        evolved(tmp_path)


def test_a_folder_of_other_settings_is_refused(tmp_path):
    evolved(tmp_path)
    with pytest.raises(GenieError, match="U021"):
        evolved(tmp_path, settings=replace(SETTINGS, neighbours=2))


def test_a_new_folder_is_a_new_run(tmp_path):
    spends = Spends()
    for name in ("1", "2"):
        evolved(tmp_path / name, spend=spends)
    assert len(spends.runs) == 8


def test_checkpoints_are_json_and_hold_nothing_exact(tmp_path):
    evolved(tmp_path, noise_seed=None)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
    assert len(files) == 9
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    whole_ = [
        x == int(x) for i in range(1, 5)
        for x in json.loads((tmp_path / f"vote-{i}.json").read_text())["noisy"]
    ]  # fmt: skip
    assert sum(whole_) < len(whole_) / 10


def test_states_of_bytes_are_kept(tmp_path):
    folder = state.EvolutionFolder(tmp_path, "x")
    one = VoteCandidate(example(("buy", "milk", "now")), {"a": "b"}, b"\x00\xff")
    kept = folder.keep_population(1, state.Population((one, replace(one, state="s")), 2))
    assert state.EvolutionFolder(tmp_path, "x").population(1) == kept


# ------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("noise_multiplier", 0.0), ("iterations", 0), ("population", 0), ("variations", 1),
        ("lookahead", -1), ("neighbours", 0), ("threshold", -1.0), ("threshold", float("nan")),
        ("selection", "best"), ("first_strength", 1.5), ("rows", 0),
        ("fractions", {"a": 1.0}),
    ],
)  # fmt: skip
def test_settings_that_are_none_name_their_field(field, value):
    with pytest.raises(GenieError, match="U003") as raised:
        replace(SETTINGS, **{field: value})
    assert field in str(raised.value)


def test_a_generator_that_makes_nothing_or_too_little_is_told(tmp_path):
    class Nothing(Words):
        def random(self, metadata, *, seed):
            return []

    class Few(Words):
        def vary(self, candidates, strength, *, seed):
            return super().vary(candidates, strength, seed=seed)[1:]

    spends = Spends()
    with pytest.raises(GenieError, match="U005"):
        evolved(tmp_path / "1", generator=Nothing(), spend=spends)
    assert not spends.runs
    with pytest.raises(GenieError, match="U006"):
        evolved(tmp_path / "2", generator=Few(), spend=spends)


def test_private_rows_are_not_shown(tmp_path):
    assert "milk" not in repr(electorate())
    assert "milk" not in repr(electorate(label=True).voters(EMBEDDING))


# ----------------------------------------------------------------------------------- the prior


def test_the_prior_tells_what_people_ask_for(tmp_path):
    found = evolved(tmp_path / "work", electorate=electorate(2000))
    prior = prior_of(found, SETTINGS, functions=VERBS)
    assert sum(prior.function_shares.values()) == pytest.approx(1, abs=1e-4)
    assert prior.function_shares["buy"] == pytest.approx(0.75, abs=0.15)
    assert prior.function_shares["play"] == pytest.approx(0.25, abs=0.15)
    assert prior.function_weights["buy"] > 1 > prior.function_weights["text"]
    assert prior.spent == found.spent
    assert prior.utterances == tuple(text for text, _ in said(found))
    save_prior(prior, tmp_path / "prior.json")
    assert load_prior(tmp_path / "prior.json").prior == prior
    assert any("buy" in line for line in describe_prior(prior))


def test_a_prior_of_noise_alone_changes_little(tmp_path):
    settings = replace(SETTINGS, noise_multiplier=1000.0)
    signals = []
    for seed in range(12):
        found = evolved(
            tmp_path / str(seed), settings=settings, electorate=electorate(5), noise_seed=seed
        )
        signals.append(prior_of(found, settings, functions=VERBS).signal)
    assert sum(one < 0.5 for one in signals) >= 8
