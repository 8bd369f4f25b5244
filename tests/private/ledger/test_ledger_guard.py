"""Rows have one ledger, whatever file they are in and whoever asks: a command, or Python."""

import json
import os
import random
import shutil
import stat
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import genie_dp as gd
from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.private.evolution.config import EvolutionSettings
from genie_dp.private.evolution.embedding import HashedNgramEmbedding
from genie_dp.private.evolution.evolve import Electorate, evolve
from genie_dp.private.ledger import guard, marks
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units, paid_by, private_of
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace
from genie_dp.private.prior.histogram import NoisyCounts
from genie_dp.private.prior.make import PublicFunctions, Sampled, prior_of
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables.extract import metadata_of
from genie_dp.private.tables.run import release_table
from genie_dp.private.tables.schema import Column, Schema
from genie_dp.records import Spent
from genie_dp.resources import data_folder
from genie_dp.run.manifest import ledger_of
from tests.private.evolution.evolution_setup import Words
from tests.private.prior.prior_setup import draw_counts, plan
from tests.refusals import code_of

refused = partial(code_of, secret="milk")
BUDGET = Budget(3.0, 1e-6, "utterance")
PROMISE = {"epsilon": 100, "delta": 1e-6, "unit": "utterance"}
TWITTER = data_folder("thingpedia") / "com.twitter"
INIT = ("--epsilon", "3", "--delta", "1e-6", "--unit", "utterance")
SCHEMA = Schema((Column("length", ("1-4", "5-9"), "length"),))
WORDS = ("jazz", "rock", "milk", "bread", "tea", "figs", "rain", "snow", "mail", "news")
PROGRAM = "now => @com.twitter.home_timeline => notify"


def row(number):
    words = f"please bring {WORDS[number % 10]}, and {WORDS[number // 10 % 10]} now {number}"
    return {"id": f"P{number}", "utterance": words, "program": PROGRAM}


def write(path, rows):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return path


@pytest.fixture
def private(tmp_path):
    """Return 40 rows with a ledger in which something is spent."""
    path = write(tmp_path / "private.jsonl", map(row, range(40)))
    release(path, Ledger.create(ledger_of(path), BUDGET))
    return path


def release(path, ledger, run="a", *, spend=None):
    source = PrivateSource.open(path, language="thingtalk")
    return release_table(
        SCHEMA, lambda: metadata_of(SCHEMA, source), epsilon=0.3, delta=1e-6,
        spend=spend or Payer(ledger, "table", run),
    )  # fmt: skip


def spends(path):
    return len(Ledger.open(path).entries)


def codes(caught):
    return [problem.code for problem in caught.value.problems]


def hard_link(rows):
    if not rows.with_name("other.jsonl").exists():
        os.link(rows, rows.with_name("other.jsonl"))
    return rows.with_name("other.jsonl")


def symbolic_link(rows):
    link = rows.with_name("link.jsonl")
    if not link.exists():
        link.symlink_to(rows)
    return link


def hard_link_elsewhere(rows):
    (rows.parent / "there").mkdir()
    os.link(rows, rows.parent / "there" / "rows.jsonl")
    return rows.parent / "there" / "rows.jsonl"


def moved(rows):
    (rows.parent / "there").mkdir()
    return Path(shutil.move(rows, rows.parent / "there" / "moved.jsonl"))


def converted(rows):
    assert cli.run(["data", "convert", str(rows), str(rows.with_name("converted.tsv"))]) == 0
    return rows.with_name("converted.tsv")


def split(rows):
    folder = rows.parent / "parts"
    parts = ("--part", "train", "--part", "test=0.4")
    assert cli.run(["data", "split", str(rows), *parts, "--output", str(folder)]) == 0
    return folder / "train.jsonl"


def shuffled_copy(rows):
    lines = rows.read_text().splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    other = rows.with_name("shuffled.jsonl")
    other.write_text("".join(lines[:25]))
    return other


def grown_copy(rows):
    return write(rows.with_name("grown.jsonl"), map(row, range(200)))


WAYS = (moved, converted, split, shuffled_copy, grown_copy, hard_link_elsewhere)


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_something_was_learned_from_get_no_other_budget(way, private, capsys):
    own = ledger_of(private)
    other = way(private)
    capsys.readouterr()
    for more in ((), ("--ledger", str(other.with_name("second.json")))):
        code = cli.run(["private", "budget", "init", str(other), *INIT, *more])
        told = capsys.readouterr().err
        assert code == 1, told
        assert "B031" in told or "B020" in told
        assert str(own) in told
    # Neither does a ledger pay that was made before, or for other rows.
    second = Ledger.create(other.with_name("second.json"), BUDGET)
    with pytest.raises(GenieError, match="B031"):
        release(other, second)
    assert (second.entries, spends(own)) == ((), 1)
    # The right one does, and notes the other file, too.
    release(other, Ledger.open(own), "b")
    # Nor does the public API give them one; a ledger put beside them is none of theirs.
    assert refused(gd.private.Ledger.init, other, **PROMISE) in ("B020", "B031")
    third = other.with_name("third.json")
    assert refused(gd.private.Ledger.init, other, **PROMISE, ledger=third) in ("B030", "B031")
    assert refused(prior_of_rows, other, second.path) in ("B030", "B031")
    if not ledger_of(other).exists():
        Ledger.create(ledger_of(other), Budget(100.0, 1e-6, "utterance"))
        assert refused(prior_of_rows, other) in ("B030", "B031")
    assert spends(own) == 2


def test_a_promise_without_spends_can_be_begun_anew(tmp_path):
    path = write(tmp_path / "rows.jsonl", map(row, range(40)))
    assert cli.run(["private", "budget", "init", str(path), *INIT]) == 0
    for one in (ledger_of(path), ledger_of(path).with_suffix(".head")):
        one.unlink()
    assert cli.run(["private", "budget", "init", str(path), *INIT]) == 0


def test_a_log_to_which_rows_are_added_keeps_its_ledger(private):
    write(private, map(row, range(300)))
    release(private, Ledger.open(ledger_of(private)), "b")
    one, two = Ledger.open(ledger_of(private)).entries
    assert one.rows
    assert two.rows
    assert one.rows != two.rows
    # What was learned from before and after is known.
    for numbers in (range(40), range(150, 300)):
        part = write(private.with_name("part.jsonl"), map(row, numbers))
        with pytest.raises(GenieError, match="B031"):
            guard.check_new(part)


def test_other_rows_have_a_ledger_of_their_own(private):
    other = write(private.with_name("other.jsonl"), map(row, range(30, 70)))
    release(other, Ledger.create(ledger_of(other), BUDGET))
    assert spends(ledger_of(other)) == spends(ledger_of(private)) == 1


def test_a_budget_apart_is_possible_and_says_what_it_does_not_cover(private, capsys):
    other = shuffled_copy(private)
    assert cli.run(["private", "budget", "init", str(other), *INIT, "--allow-same-rows"]) == 0
    ledger = Ledger.open(ledger_of(other))
    table = release(other, ledger)
    assert any("other ledgers" in line for line in table.spent.not_covered)
    assert Ledger.open(ledger.path).budget == Budget(3.0, 1e-6, "utterance", apart=True)


SENTENCES = st.lists(st.text("abc ,?", min_size=1, max_size=6), max_size=30)


@given(SENTENCES, st.randoms())
def test_what_is_said_is_the_same_in_any_order_case_and_format(tmp_path_factory, said, rng):
    folder = tmp_path_factory.mktemp("said")
    one = write(folder / "a.jsonl", ({"utterance": text} for text in said))
    mixed = [text.upper().replace("?", " ?") for text in said]
    rng.shuffle(mixed)
    other = folder / "b.tsv"
    other.write_text("".join(f"{i}\t{text}\t\n" for i, text in enumerate(mixed)))
    assert marks.said_in(one) == marks.said_in(other)


@example(100, 150, bytes(32))
@given(st.integers(5, 200), st.integers(0, 400), st.binary(min_size=32, max_size=32))
def test_half_of_the_sentences_make_it_the_same_data(size, start, key):
    one, other = (
        marks.sketch_of(frozenset(str(n).encode() for n in numbers), key)
        for numbers in (range(200), range(start, start + size))
    )
    common = max(0, min(200, start + size) - start)
    expected = common >= 5 and 2 * common >= min(200, size)
    assert marks.is_same_data(one, other) == marks.is_same_data(other, one) == expected


def test_a_part_of_many_rows_is_known_by_the_fingerprints_that_are_kept():
    key = bytes(32)
    every = [str(n).encode() for n in range(60_000)]
    whole = marks.sketch_of(frozenset(every), key)
    assert len(whole) == 4096
    assert marks.is_same_data(whole, marks.sketch_of(frozenset(every[:3000]), key))
    strangers = frozenset(b"x" + one for one in every)
    assert not marks.is_same_data(whole, marks.sketch_of(strangers, key))


def test_fingerprints_are_in_no_ledger_and_for_nobody_else(private):
    mark = marks.mark_of(private)
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600
    facts = json.loads(mark.read_text())
    assert len(facts["sketch"]) == 40
    for path in private.parent.iterdir():
        if path not in (mark, private):
            text = path.read_text()
            assert facts["key"] not in text
            assert not any(one in text for one in facts["sketch"])
    # Of two ledgers nobody can tell that they are of the same rows.
    other = write(private.with_name("twin.jsonl"), map(row, range(40)))
    twin = Ledger.create(ledger_of(other), Budget(3.0, 1e-6, "utterance", apart=True))
    release(other, twin)
    assert twin.entries[0].rows == ""
    assert Ledger.open(ledger_of(private)).entries[0].rows


def test_rows_in_a_folder_that_cannot_be_written_are_noted_for_the_user(tmp_path, monkeypatch):
    folder = tmp_path / "given"
    folder.mkdir()
    path = write(folder / "rows.jsonl", map(row, range(40)))
    ledger = Ledger.create(tmp_path / "rows.json", BUDGET)
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: p != folder and access(p, mode))
    release(path, ledger)
    assert not list(folder.glob(".*"))
    copy = write(tmp_path / "copy.jsonl", map(row, range(40)))
    with pytest.raises(GenieError, match="B031"):
        guard.check_new(copy)


def test_a_broken_mark_is_told(private):
    marks.mark_of(private).write_text("{")
    with pytest.raises(GenieError, match="B034"):
        release(private, Ledger.open(ledger_of(private)), "b")


def test_python_cannot_release_rows_under_another_ledger(private, tmp_path):
    big = Ledger.create(tmp_path / "big.json", Budget(100.0, 1e-6, "utterance"))
    with pytest.raises(GenieError, match="B030"):
        release(private, big)
    for spend in (big.spend, lambda found: big.spend(found, purpose="table", run="x")):
        with pytest.raises(GenieError, match="B033"):
            release(private, big, spend=spend)
    assert (big.entries, spends(ledger_of(private))) == ((), 1)


def test_rows_that_forgot_their_file_are_not_released(private, tmp_path):
    source = PrivateSource.open(private, language="thingtalk")
    big = Ledger.create(tmp_path / "big.json", Budget(100.0, 1e-6, "utterance"))
    for units in (list(source.units), [list(unit) for unit in source.units]):
        with pytest.raises(GenieError, match="B033") as caught:
            paid_by(units, Payer(big, "table", "x"))
        assert "milk" not in str(caught.value)
    assert source.units.each(len).file == private
    assert "milk" not in repr(source.units)
    # Rows of no file are vouched for.
    paid_by(Units([("milk",)]), Payer(big, "made up", "x"))([Laplace(10.0)])
    assert len(big.entries) == 1


def prior_of_rows(path, ledger=None, **options):
    with gd.private.Ledger(path, ledger=ledger) as opened:
        return opened.prior(epsilon=0.3, library=TWITTER, estimated_units=40, **options)


@pytest.mark.parametrize("way", [hard_link, symbolic_link])
def test_the_public_api_pays_for_a_link_from_the_ledger_of_the_rows(way, private):
    prior_of_rows(way(private))
    assert spends(ledger_of(private)) == 2
    assert refused(gd.private.Ledger.init, way(private), **PROMISE) == "B020"


def test_the_public_api_takes_no_private_rows_for_public_ones(private, capsys):
    made = converted(private)
    linked, rows = hard_link(private), gd.Rows.read(private)
    for public in (private, rows, [linked], made, gd.Rows.read(made)):
        assert refused(prior_of_rows, private, public=public) == "F008"
    assert refused(prior_of_rows, private, public=[next(iter(rows))]) == "F008"
    assert refused(prior_of_rows, private, public=[gd.augment(rows, seed=1)]) == "F008"
    assert refused(prior_of_rows, private, candidates=made) == "F008"
    assert spends(ledger_of(private)) == 1


def test_a_ledger_that_was_changed_or_is_gone_opens_nothing(private):
    own = ledger_of(private)
    opened = gd.private.Ledger(private)
    text = own.read_text()
    own.write_text(text.replace('"epsilon": 3.0', '"epsilon": 30.0'))
    assert refused(gd.private.Ledger, private) == "B011"
    assert refused(opened.prior, epsilon=0.3, library=TWITTER) == "B011"
    for path in (own, own.with_suffix(".head")):
        path.unlink()
    assert refused(gd.private.Ledger, private) in ("B022", "B031")
    assert refused(gd.private.Ledger.init, private, **PROMISE) == "B031"
    with pytest.raises(GenieError, match="which is missing"):
        guard.check_new(private)


def test_a_prior_does_not_take_rows_that_its_ledger_knows_nothing_of(private):
    ledger, had = Ledger.open(ledger_of(private)), plan()
    work = private.with_name("work")
    work.mkdir()
    drawn = counts(work, private, ledger)
    found, spent = NoisyCounts(**drawn.figures), drawn.spent
    more = Spent(50.0, 1e-6, "utterance", "add-or-remove-one", "rdp", ())
    for sampled in (Sampled((PROGRAM,)), Sampled((), ("hi",), more)):
        with pytest.raises(GenieError, match="F006"):
            prior_of(found, had, spent, about=40, made=PublicFunctions(), sampled=sampled)


def test_evolution_does_not_begin_with_a_table_of_another_ledger(tmp_path):
    others, own = (Ledger.create(tmp_path / f"{name}.json", BUDGET) for name in "ab")
    units = Units([[{"length": "1-4"}]] * 30)
    table = release_table(
        SCHEMA, units, epsilon=0.3, delta=1e-6, spend=Payer(others, "table", "t")
    ).of_run("t")
    with pytest.raises(GenieError, match="U009.*knows nothing of the release"):
        evolve(
            Electorate(Units(())), Words(), HashedNgramEmbedding(64), EvolutionSettings(),
            Gaussian(2.0), spend=Payer(own, "votes"), work=tmp_path / "work", table=table,
        )  # fmt: skip
    assert own.entries == ()


def counts(work, private, ledger):
    units = Units([[("@com.x.a",)]] * 50, private)
    return draw_counts(work, lambda: units, Payer(ledger, "frequencies"))


def test_the_end_of_a_run_is_a_link_of_the_chain(private):
    ledger = Ledger.open(ledger_of(private))
    before = ledger.spent()
    ledger.close("a", "12ab")
    ledger.close("a", "12ab")
    assert [one.released for one in Ledger.open(ledger.path).links] == ["", "12ab"]
    assert Ledger.open(ledger.path).spent() == before
    assert ledger.head.startswith("2:")
    with pytest.raises(GenieError, match="B032"):
        ledger.close("a", "34cd")
    with pytest.raises(ValueError, match="spent nothing"):
        ledger.close("b", "12ab")
    facts = json.loads(ledger.path.read_text())
    facts["entries"][1]["released"] = "34cd"
    ledger.path.write_text(json.dumps(facts))
    with pytest.raises(GenieError, match="B012"):
        Ledger.open(ledger.path)


def manifest(path):
    return json.loads(Path(f"{path}.manifest.json").read_text())


@pytest.mark.slow
def test_what_commands_make_of_private_rows_is_marked(private, capsys):
    folder, own = private.parent, [str(ledger_of(private))]
    rows = private
    for words in ("paraphrase auto --number 1", "convert", "augment"):
        target = folder / f"{words.split()[0]}.jsonl"
        output = [str(target)] if words == "convert" else ["--output", str(target)]
        assert cli.run(["data", *words.split(), str(rows), *output]) == 0
        assert "B035" in capsys.readouterr().err
        assert manifest(target)["private"] == own
        with pytest.raises(GenieError, match="F008.*made of rows that have a ledger"):
            guard.refuse_private([target], private, code="F008")
        rows = target
    parts, counted = folder / "parts", folder / "stats.json"
    assert (
        cli.run(["data", "split", str(rows), "--part", "a", "--part", "b=0.5", "-o", str(parts)])
        == 0
    )
    assert json.loads((parts / "manifest.json").read_text())["private"] == own
    assert private_of(parts / "a.jsonl")
    assert cli.run(["data", "stats", str(parts / "b.jsonl"), "--output", str(counted)]) == 0
    assert json.loads(counted.read_text())["private"] == own


def test_rows_that_may_be_published_are_not_marked(private, capsys):
    public = write(private.with_name("public.jsonl"), [row(number) for number in range(500, 540)])
    target = saved(public, "copy.jsonl")
    assert manifest(target)["rows"] == 40
    assert private_of(target) is None
    other = public.with_name("other.jsonl")
    assert cli.run(["data", "convert", str(public), str(other)]) == 0
    assert "B035" not in capsys.readouterr().err
    assert not Path(f"{other}.manifest.json").exists()
    assert private_of(other) is None


def test_a_parser_that_learned_of_what_was_made_of_private_rows_is_refused(private, tmp_path):
    parser = tmp_path / "parser"
    parser.mkdir()
    facts = {"inputs": {"gone.jsonl": "0"}, "private": [str(ledger_of(private))]}
    (parser / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(GenieError, match="H008.*has learned of private rows"):
        guard.refuse_learned(parser, None, code="H008")


SPENT = {"epsilon": 2.0, "delta": 1e-6, "unit": "utterance",
         "relation": "add-or-remove-one", "accountant": "pld", "not_covered": []}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "is_covered"),
    [
        ({"spent": None}, True),
        ({"spent": SPENT}, True),
        ({"spent": {**SPENT, "epsilon": 1.0}}, True),
        ({"spent": {**SPENT, "epsilon": 2.1}}, False),
        ({"spent": {**SPENT, "delta": 1e-5}}, False),
        ({"spent": {**SPENT, "unit": "user"}}, False),
        ({"spent": None, "priors": {"a": SPENT, "b": {**SPENT, "epsilon": 3.0}}}, False),
    ],
)
def test_a_parser_may_know_what_the_guarantee_of_its_result_covers(facts, is_covered, tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"inputs": {}, **facts}))
    spent = Spent(**{**SPENT, "not_covered": ()})
    if is_covered:
        guard.refuse_uncovered(tmp_path, spent, code="H008")
    else:
        with pytest.raises(GenieError, match="H008.*has learned private rows under epsilon"):
            guard.refuse_uncovered(tmp_path, spent, code="H008")


def saved(private, name="saved.jsonl"):
    gd.Rows.read(private).save(target := private.with_name(name))
    return target


def test_what_python_saves_of_private_rows_is_marked(private):
    target = saved(private)
    assert manifest(target)["private"] == [str(ledger_of(private).resolve())]
    assert private_of(target) == ledger_of(private).resolve()
    with pytest.raises(GenieError, match="F008.*made of rows that have a ledger"):
        guard.refuse_private([target], private, code="F008")
    # And so is what is saved of that, wherever the first rows went.
    again = saved(target, "again.jsonl")
    private.unlink()
    target.unlink()
    assert private_of(again) == ledger_of(private).resolve()


def test_rows_in_a_temporary_file_stay_private(private):
    tsv = private.with_name("private.rows")
    gd.Rows.read(private).save(tsv, format="tsv")
    rows = gd.Rows.read(tsv, format="tsv")
    assert rows.path is None
    assert rows.file().endswith(".jsonl")
    assert private_of(rows.file())
    in_memory = gd.Rows(lambda: iter(rows), "mine", sources=[str(private)])
    assert private_of(in_memory.file())


def test_a_mark_on_the_source_is_found_by_what_was_saved_of_it(private):
    elsewhere = hard_link_elsewhere(private)
    target = saved(elsewhere)
    assert "private" not in manifest(target)
    assert private_of(target)


def test_manifests_that_name_each_other_end(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        facts = {"read_from": [str(tmp_path / other)]}
        (tmp_path / f"{name}.manifest.json").write_text(json.dumps(facts))
    assert private_of(tmp_path / "a") is None
