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

SETTINGS = EvolutionSettings(iterations=4, population=20, variations=3, rows=40)
EMBEDDING = HashedNgramEmbedding(256)


def evolved(
    work, *, settings=SETTINGS, generator=None, spend=None, noise=2.0, noise_seed=3, **options
):
    with _seeded(noise_seed):
        return evolve(
            options.pop("electorate", electorate()),
            generator or Words(),
            options.pop("embedding", EMBEDDING),
            settings,
            Gaussian(noise),
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
    settings = replace(SETTINGS, selection=selection, keep=keep, rows=10)
    found = evolved(tmp_path, settings=settings, electorate=electorate(1000), noise=1.0)
    weight = sum(one.example.weight for one in found.rows)
    asked = {"buy", "milk"}, {"play", "jazz"}
    near = sum(
        one.example.weight for one in found.rows
        if any(words <= set(one.example.utterance.split()) for words in asked)
    )  # fmt: skip
    # 2 of 48 pairs of words are asked for. Ranks take every winner alike.
    assert near / weight > (0.5 if selection == "resample" else 0.15)
    assert weight == 10


def test_programs_place_rows_as_well(tmp_path):
    bag = ProgramBag(256, language=get_language("sexpr"))
    embedding = Both(((EMBEDDING, 1.0), (bag, 3.0)))
    found = evolved(tmp_path, embedding=embedding, settings=replace(SETTINGS, rows=10))
    asked = ("( buy milk )", "( play jazz )")
    assert sum(one.example.weight for one in found.rows if one.example.program in asked) > 5


def test_private_words_never_change_how_rare_words_are(tmp_path, monkeypatch):
    seen, fitted = [], HashedNgramEmbedding.fit

    def fit(self, public):
        seen.append(list(public))
        return fitted(self, public)

    monkeypatch.setattr(HashedNgramEmbedding, "fit", fit)
    evolved(tmp_path)
    depends_on = json.loads((tmp_path / "run.json").read_text())["depends_on"]
    with state.EvolutionFolder.enter(tmp_path, depends_on) as folder:
        first = folder.population(1)
    assert seen == [[one.example for one in first.candidates]]


def test_rows_are_private_differ_and_have_ids_programs_and_weights(tmp_path):
    found = evolved(tmp_path, settings=replace(SETTINGS, rows=200))
    assert {one.example.source for one in found.rows} == {"private"}
    assert len({one.example.id for one in found.rows}) == len(found.rows)
    assert len({text for text, _ in said(found)}) == len(found.rows)
    assert all(one.example.program for one in found.rows)
    assert sum(weight for _, weight in said(found)) == 200


@pytest.mark.parametrize("lookahead", [0, 2])
def test_every_call_of_the_generator_is_counted_and_each_vote_told(tmp_path, lookahead):
    words, told = CountingWords(), []
    settings = replace(SETTINGS, lookahead=lookahead)
    found = evolved(tmp_path, settings=settings, generator=words, listen=told.append)
    assert found.report["calls"] == words.calls
    assert told == found.report["iterations"]
    assert [line["vote"] for line in told] == [1, 2, 3, 4]
    assert all(0 <= line["above_threshold"] <= 1 for line in told)
    # What the generator could not give.
    assert found.report["not_given"] == dict(words.counts)
    assert words.counts["repeated"] > 0


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
    """A table that was released: of topics, if not told of what."""

    def __init__(self, column="topic", values=("music", "shop")):
        self.column, self.values = column, values

    def sample(self, n, rng):
        return [{self.column: rng.choice(self.values)} for _ in range(n)]


def test_a_table_makes_the_metadata_of_the_first_candidates(tmp_path):
    found = evolved(tmp_path, table=Table())
    assert {one.metadata["topic"] for one in found.votes[0][0]} == {"music", "shop"}


class Nothing(Words):
    def random(self, metadata, *, seed):
        return []


class Few(Words):
    def vary(self, candidates, strength, *, seed):
        return super().vary(candidates, strength, seed=seed)[1:]


@pytest.mark.parametrize(
    ("options", "code", "votes"),
    [
        ({"settings": replace(SETTINGS, label="topic")}, "U004", 0),
        # Candidates of no label that wins.
        ({"settings": replace(SETTINGS, label="topic", fractions={"phone": 1}), "table": Table()},
         "U005", 0),
        ({"generator": Nothing()}, "U005", 0),
        ({"generator": Few()}, "U006", 1),
    ],
)  # fmt: skip
def test_what_cannot_be_voted_for_is_told_before_a_vote_is_paid(tmp_path, options, code, votes):
    spends = Spends()
    voters = electorate(label="settings" in options)
    with pytest.raises(GenieError, match=code):
        evolved(tmp_path, electorate=voters, spend=spends, **options)
    assert len(spends.runs) == votes


# --------------------------------------------------------------------------------- the ledger


def ledger_of(folder, epsilon=20.0):
    return Ledger.create(folder / "p.ledger.json", Budget(epsilon, 1e-5, "utterance"))


def test_the_accountant_joins_the_ledger(tmp_path):
    ledger = ledger_of(tmp_path)
    found = evolved(tmp_path / "work", spend=Payer(ledger, "evolution"))
    known = Ledger.open(ledger.path)
    assert known.mechanisms == (Gaussian(2.0),) * 4
    assert len({entry.run for entry in known.entries}) == 4
    assert found.spent == known.spent()
    epsilons = [line["epsilon"] for line in found.report["iterations"]]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] == found.spent.epsilon


def test_a_folder_that_was_put_back_releases_no_second_vote(tmp_path):
    ledger = ledger_of(tmp_path)
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
    ledger = ledger_of(tmp_path, epsilon=0.5)
    with pytest.raises(GenieError, match="B023"):
        evolved(tmp_path / "work", spend=Payer(ledger, "evolution"))
    assert not list((tmp_path / "work").glob("vote-*"))
    assert Ledger.open(ledger.path).entries == ()


def test_each_vote_is_paid_before_private_rows_are_counted(tmp_path, monkeypatch):
    order, counted, spends = [], voting.votes, Spends()
    monkeypatch.setattr(voting, "votes", lambda *a, **b: order.append("count") or counted(*a, **b))
    evolved(tmp_path, spend=lambda *args: order.append("spend") or spends(*args))
    assert order == ["spend", "count"] * 4


def test_without_a_seed_noise_is_of_the_operating_system(tmp_path):
    runs = []
    for name in ("1", "2"):
        random.seed(0)
        runs.append(evolved(tmp_path / name, noise_seed=None))
    one, other = (run.votes[0] for run in runs)
    assert one[1].tolist() != other[1].tolist()
    assert one[0] == other[0]


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


def test_the_report_has_what_a_grammar_could_not_give(tmp_path):
    from tests.private.evolution.evolution_grammar_setup import generator

    settings = EvolutionSettings(iterations=2, population=6, variations=2, rows=8)
    made, table = generator(), Table("functions", ["com.nobody.nothing"])
    found = evolved(tmp_path, settings=settings, generator=made, table=table)
    assert found.report["not_given"] == dict(sorted(made.counts.items()))
    assert found.report["not_given"]["unmet functions"] == 12


def test_noisy_votes_are_stored_hold_nothing_exact_and_are_never_drawn_again(tmp_path):
    spends = Spends()
    one = evolved(tmp_path / "1", spend=spends, noise_seed=None)
    files = [path for path in (tmp_path / "1").rglob("*") if path.is_file() and path.stat().st_size]
    assert len(files) == 9
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    noisy = [
        x for i in range(1, 5)
        for x in json.loads((tmp_path / "1" / f"vote-{i}.json").read_text())["noisy"]
    ]  # fmt: skip
    assert sum(x == int(x) for x in noisy) < len(noisy) / 10
    nobody = Electorate(Units(()))
    again = evolved(tmp_path / "1", spend=spends, noise_seed=None, electorate=nobody)
    assert len(spends.runs) == 4
    assert said(one) == said(again)
    assert [n.tolist() for _, n in one.votes] == [n.tolist() for _, n in again.votes]
    evolved(tmp_path / "2", spend=spends)  # a new folder is a new run
    assert len(spends.runs) == 8


def test_a_folder_of_another_run_or_without_a_vote_is_refused(tmp_path):
    evolved(tmp_path)
    with pytest.raises(GenieError, match="U021"):
        evolved(tmp_path, settings=replace(SETTINGS, neighbours=2))
    path = tmp_path / "population-2.jsonl"
    whole = path.read_text()
    path.write_text(whole.replace("milk", "beer"))  # nobody voted for it
    with pytest.raises(GenieError, match="U022"):
        evolved(tmp_path)
    path.write_text(whole)
    (tmp_path / "vote-2.json").unlink()  # it is not released twice
    with pytest.raises(GenieError, match="U020"):
        evolved(tmp_path)


def test_candidates_are_kept_with_their_states(tmp_path):
    one = VoteCandidate(example(("buy", "milk", "now")), {"a": "b"}, "\x00\u2028")
    with state.EvolutionFolder.enter(tmp_path, "x") as folder:
        kept = folder.keep_population(1, state.Population((one, replace(one, state="s")), 2))
        assert folder.population(1) == kept


# ------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iterations", 0), ("population", 0), ("variations", 1),
        ("lookahead", -1), ("neighbours", 0), ("threshold", -1.0), ("threshold", float("nan")),
        ("selection", "best"), ("first_strength", 1.5), ("rows", 0),
        ("fractions", {"a": 1.0}),
    ],
)  # fmt: skip
def test_settings_that_are_none_name_their_field(field, value):
    with pytest.raises(GenieError, match=f"(?s)U003.*{field}|{field}.*U003"):
        replace(SETTINGS, **{field: value})


def test_private_rows_are_not_shown():
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


@pytest.mark.statistical
def test_a_prior_of_noise_alone_changes_little(tmp_path):
    signals = []
    for seed in range(12):
        found = evolved(
            tmp_path / str(seed), electorate=electorate(5), noise=1000.0, noise_seed=seed
        )
        signals.append(prior_of(found, SETTINGS, functions=VERBS).signal)
    assert sum(one < 0.5 for one in signals) >= 8
