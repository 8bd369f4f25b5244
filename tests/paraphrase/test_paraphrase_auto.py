"""`genie-dp data paraphrase auto` by rules and words: what comes out, and what is refused."""

import csv
import json
import re
import textwrap
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from xxhash import xxh3_128_hexdigest

import genie_dp
from genie_dp.cli import run
from genie_dp.english.rules import rule_set
from genie_dp.english.rules_syntax import CONDITIONS, FUNCTIONS, parse_rules
from genie_dp.paraphrase import run as stage
from genie_dp.paraphrase.auto import (
    AutoConfig,
    AutoTally,
    ParaphraseCandidate,
    faults_in,
    paraphrase_rows,
)
from genie_dp.paraphrase.checks import CheckConfig
from genie_dp.paraphrase.config import ParaphraseConfig
from genie_dp.paraphrase.lexicons import lexicon_of, shipped_lexicon
from genie_dp.paraphrase.rules import (
    RuleParaphraser,
    mask_values,
    shipped_rules,
    shows_result,
    unmask_values,
)
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.records import Example, Slot
from genie_dp.rng import KeyedRandom
from genie_dp.rows import from_json, to_json
from genie_dp.run.stage import Output
from genie_dp.skills.model import SkillLibrary

LOOSE = AutoConfig(3, CheckConfig(copy_distance=0, duplicate_distance=0, language=None))
SENTENCES = [
    ("show me my emails from EMAIL_ADDRESS_0", "now => ( @c.mail ) => notify"),
    ("when it rains , close the garage door", "monitor ( @c.rain ) => @c.close"),
    ("get songs longer than DURATION_0 and shorter than DURATION_1", "now => ( @c.s ) => notify"),
    ("turn on the lights", "now => @c.turn_on"),
    ("notify me when there are new files", "monitor ( @c.files ) => notify"),
    ("post QUOTED_STRING_0 on twitter every day at TIME_0", "attimer => @c.post"),
    ("xyzzy", "now => @c.magic"),
]


def example(number):
    sentence, program = SENTENCES[number % len(SENTENCES)]
    if again := number // len(SENTENCES):
        sentence, program = f"{sentence} number{number}", f"{program} {again}"
    return Example(
        f"S{number}", sentence, program, derivation=("a.b", "c.d"), functions=("@c.f",), depth=2,
        slots={"NUMBER_0": Slot("Number", "x")},
    )  # fmt: skip


def write(path, rows):
    path.write_text("".join(to_json(row) + "\n" for row in rows))
    return str(path)


def write_rows(path, count=14):
    return write(path, map(example, range(count)))


def read(path):
    return [from_json(line) for line in path.read_text().splitlines()]


def report_of(path):
    return json.loads(Path(f"{path}.manifest.json").read_text())


def values(sentence):
    return Counter(word for word in sentence.split() if word[0].isupper())


# -------------------------------------------------------------------------------- command


def test_rows_keep_all_but_their_sentence_and_are_counted(tmp_path, capsys):
    source, out = write_rows(tmp_path / "rows.jsonl"), tmp_path / "out.jsonl"
    rejects = tmp_path / "bad.csv"
    assert (
        run(["data", "paraphrase", "auto", source, "-o", str(out), "--rejects", str(rejects)]) == 0
    )
    rows = read(out)
    by_id = {row.id: row for row in map(example, range(14))}
    assert 25 <= len(rows) <= 3 * 14
    for row in rows:
        parent = by_id[row.parent]
        assert row.source == "paraphrase"
        assert row.id.startswith(f"{parent.id}.")
        assert row.utterance != parent.utterance
        assert values(row.utterance) == values(parent.utterance)
        for name in ("program", "derivation", "functions", "depth", "slots", "language", "weight"):
            assert getattr(row, name) == getattr(parent, name)
    assert len({row.id for row in rows}) == len({row.utterance for row in rows}) == len(rows)
    assert f"{len(rows)} paraphrases of 14 rows -> {out}" in capsys.readouterr().err
    report = report_of(out)
    without = 14 - len({row.parent for row in rows})
    counts = {"rows": 14, "paraphrases": len(rows), "rows_without": without}
    assert counts.items() <= report["counts"].items()
    refused = list(csv.DictReader(rejects.open(newline="")))
    assert sum(report["faults"].values()) == sum(len(r["reasons"].split()) for r in refused)
    assert report["faults"]["copy"] > 0
    assert all(n["paraphrases"] <= n["candidates"] for n in report["made_by"].values())
    assert {"lexical"} < set(report["made_by"])
    assert report["config"]["seed"] == 0
    assert report["hashes"] == {source: xxh3_128_hexdigest(Path(source).read_bytes())}


def test_bytes_depend_on_the_seed_and_not_on_the_jobs_or_the_place_of_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "_BLOCK", 4)
    source = write_rows(tmp_path / "rows.jsonl", 30)
    back = write(tmp_path / "back.jsonl", [example(n) for n in reversed(range(30))])
    made = []
    for given in ([source, "--jobs", "3"], [source], [source, "--seed", "1"], [back]):
        out, bad = tmp_path / "out.jsonl", tmp_path / "bad.csv"
        outputs = ["-o", str(out), "--rejects", str(bad), "--overwrite"]
        assert run(["data", "paraphrase", "auto", *given, *outputs]) == 0
        made.append((out.read_bytes(), bad.read_bytes()))
    assert made[0] == made[1]
    assert made[1][0] != made[2][0]
    assert sorted(made[1][0].splitlines()) == sorted(made[3][0].splitlines())


# --------------------------------------------------------------------- values, other languages


def by_rules(lexicon=None, **settings):
    return RuleParaphraser(shipped_rules(), lexicon, **{"number": 5, **settings})


def texts(row, paraphraser):
    [(_, candidates)] = paraphraser.candidates([ShownRow(row)])
    return [candidate.text for candidate in candidates]


def test_words_of_values_and_leaves_of_s_expressions_are_left_alone():
    program = 'now => @c.post param:text:String = " show me the big photos "'
    quoted = Example("S", 'post " show me the big photos " on twitter', program)
    leaves = "( show ( size big ) ( what photos ) )"
    leafy = Example("S", "get the big photos", leaves, "sexpr")
    for row, kept in ((quoted, '" show me the big photos "'), (leafy, "big photos")):
        paraphrasers = (by_rules(shipped_lexicon(), seed=n, lexical_share=1.0) for n in range(20))
        made = {said for one in paraphrasers for said in texts(row, one)}
        assert made
        assert all(kept in said for said in made)


def test_values_are_masked_and_come_back():
    tokens = ["say", "hello", "there", "to", "my", "friend", "bob"]
    text, runs = mask_values(tokens, frozenset({1, 2, 6}))
    assert text == "say \ue000 to my friend \ue001"
    assert unmask_values(f"to \ue001 {text}", runs) == "to bob say hello there to my friend bob"


def test_questions_are_made_of_s_expressions_only_where_all_ask_for_something():
    row = Example("S", "show me the long meetings", "( list ( long meeting ) )", "sexpr")

    def made(results):
        return {said for n in range(30) for said in texts(row, by_rules(seed=n, results=results))}

    assert "what are the long meetings" in made("all")
    assert not [said for said in made("program") if said.startswith("what")]


def test_only_words_that_are_known_change_by_lexicon():
    paraphraser = RuleParaphraser(None, lexicon_of([("lamp", "n", "light", "own")]))
    assert texts(Example("S", "switch off the lamp", "p"), paraphraser) == ["switch off the light"]
    assert texts(Example("S", "switch off the tv", "p"), paraphraser) == []


def test_a_result_is_shown_or_not():
    programs = (
        "now => ( @c.q ) => notify",
        "monitor ( @c.q ) => notify",
        "now => @c.a",
        "( count x )",
    )
    assert [shows_result(program) for program in programs] == [True, True, False, False]


# ------------------------------------------------------------------------------- the stage


class Parser:
    """Reads the sentences of a table, and no others."""

    def __init__(self, table):
        self.table = table
        self.asked = []

    def predict(self, utterances):
        self.asked.append(len(utterances))
        return [self.table.get(utterance, "") for utterance in utterances]


class Fixed:
    """Gives every row the same candidates."""

    def __init__(self, *texts):
        self.all = [ParaphraseCandidate(text, ("r",)) for text in texts]

    def candidates(self, rows):
        for row in rows:
            yield row, self.all


def test_a_parser_refuses_what_it_reads_otherwise():
    rows = [ShownRow(Example(f"S{n}", f"get file number {n}", f"p{n}")) for n in range(100)]
    parser = Parser({"fetch it now": "p7", "show me that": "p8"})
    fixed = Fixed("fetch it now", "show me that")
    outcomes = list(paraphrase_rows(rows, fixed, LOOSE, predictor=parser))
    kept = {o.shown_row.example.id: [row.utterance for row, _ in o.paraphrases] for o in outcomes}
    assert {id: said for id, said in kept.items() if said} == {
        "S7": ["fetch it now"], "S8": ["show me that"]
    }  # fmt: skip
    tally = AutoTally()
    for outcome in outcomes:
        tally.add(outcome)
    assert (tally.rows, tally.paraphrases, tally.rows_without) == (100, 2, 98)
    assert tally.faults == {"round-trip": 198}
    assert max(parser.asked) <= 128  # rows stream


def test_the_run_takes_a_parser_and_counts_what_it_refuses(tmp_path):
    out, program = tmp_path / "out.jsonl", "now => ( @com.gmail.inbox ) => notify"
    rows = [write(tmp_path / "rows.jsonl", [Example("S0", "show me my emails", program)])]
    made = stage.Paraphrase(
        inputs=tuple(rows), config=ParaphraseConfig(number=4), load_library=SkillLibrary
    )
    made.run(Output(str(out)))
    first, *others = [row.utterance for row in read(out)]
    assert others
    again, predictor = Output(str(out), overwrite=True), Parser({first: program})
    replace(made, load_predictor=lambda: predictor).run(again)
    assert [row.utterance for row in read(out)] == [first]
    assert report_of(out)["faults"]["round-trip"] >= len(others)


def test_the_first_good_candidates_are_kept_with_ids_of_their_sentences():
    rows = [ShownRow(Example("S", "get the files", "p"))]
    said = [f"fetch it {word}" for word in ("now", "then", "soon", "up")]

    def outcome(*texts):
        [found] = paraphrase_rows(rows, Fixed(*texts), LOOSE)
        return found, [row.id for row, _ in found.paraphrases]

    first, ids = outcome("get files", *said)
    assert [row.utterance for row, _ in first.paraphrases] == said[:3]
    assert [refused.faults for refused in first.refused] == [("copy",)]
    assert all(id.startswith("S.") for id in ids)
    # Runs over the same rows give other ids to other sentences.
    assert ids == [id for text in said[:3] for id in outcome(text)[1]]
    assert len({*ids, *outcome(said[3])[1]}) == 4


def test_reading_goes_no_further_than_needed():
    endless = (ShownRow(Example(f"S{n}", "turn on the lights", "now => @c.on")) for n in count())
    made = paraphrase_rows(endless, by_rules(), LOOSE)
    assert next(made).paraphrases
    assert next(made).paraphrases


def faults(sentence, text, others=(), config=LOOSE.checks, **more):
    shown = ShownRow(Example("S", sentence, "now => @c.pages => notify"))
    return faults_in(shown, ParaphraseCandidate(text, (), **more), list(others), config)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fetch NUMBER_0 files", ""),
        ("fetch files", "missing-value"),
        ("fetch NUMBER_0 NUMBER_0 files", "missing-value"),
        ("please get NUMBER_0 files", "copy"),
        ("show me NUMBER_0 files , please", "near-duplicate"),
        ("NUMBER_0", "too-short"),
        # A model may write capitals and points beside placeholders.
        ("Which NUMBER_0 pages do I have?", ""),
        ("What are NUMBER_0, of all pages", ""),
        ("Which pages do I have?", "missing-value"),
        ("Which NUMBER_0 pages of NUMBER_0 do I have?", "missing-value"),
        ("Which NUMBER_1 pages do I have?", "altered-value missing-value"),
    ],
)
def test_faults_of_rewrites_are_those_of_crowd_paraphrases(text, expected):
    typed = {"config": CheckConfig(), "is_typed": True} if text[0] == "W" else {}
    found = faults("get NUMBER_0 files", text, ["show me NUMBER_0 files"], **typed)
    assert found == tuple(expected.split())


def test_distances_are_used_where_they_are_given():
    near = "get all the files of my folder", "get all the file of my folder"
    assert faults(*near) == ()
    assert faults(*near, config=CheckConfig(language=None)) == ("copy",)


def test_a_number_of_paraphrases_is_at_least_one():
    with pytest.raises(ValueError, match="number must be at least 1"):
        AutoConfig(0)


# ----------------------------------------------------------------------------------- pages

PACKAGE = Path(genie_dp.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "paraphrase.md").read_text(encoding="utf-8")


def test_the_page_names_every_condition_and_function():
    assert not [name for name in (*CONDITIONS, *FUNCTIONS) if not re.search(rf"`{name}\b", PAGE)]


def test_the_rule_file_of_the_page_is_one():
    shown = textwrap.dedent(PAGE.split("looks like this:\n")[1].split("\nA rule begins")[0])
    rules = rule_set(parse_rules(shown))
    [(sentence, expected)] = rules.rules[0].rule.examples
    made = rules.rewritten(sentence, KeyedRandom(b"0"), number=1)
    assert [one.utterance for one in made] == [expected]
