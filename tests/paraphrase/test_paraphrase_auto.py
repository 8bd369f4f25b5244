"""`genie-dp paraphrase auto` by rules and words: what comes out, and what is refused."""

import csv
import json
import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from xxhash import xxh3_128_hexdigest

import genie_dp
from genie_dp.cli import run
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
    rule_set,
    shipped_rules,
    shows_result,
    unmask_values,
)
from genie_dp.paraphrase.rules_syntax import CONDITIONS, FUNCTIONS, parse_rules
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.records import Example, Slot
from genie_dp.rng import KeyedRandom
from genie_dp.rows import from_json, to_json
from genie_dp.run.stage import Output

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
    tail = f" number{number}" if number >= len(SENTENCES) else ""
    return Example(
        f"S{number}",
        sentence + tail,
        f"{program} {number // len(SENTENCES)}" if tail else program,
        derivation=("a.b", "c.d"),
        functions=("@c.f",),
        depth=2,
        slots={"NUMBER_0": Slot("Number", "x")},
    )


def write_rows(path, count=14):
    path.write_text("".join(to_json(example(number)) + "\n" for number in range(count)))
    return str(path)


def read(path):
    return [from_json(line) for line in path.read_text().splitlines()]


def values(sentence):
    return Counter(word for word in sentence.split() if word[0].isupper())


# -------------------------------------------------------------------------------- command


def test_rows_keep_all_but_their_sentence(tmp_path, capsys):
    source, out = write_rows(tmp_path / "rows.jsonl"), tmp_path / "out.jsonl"
    assert run(["paraphrase", "auto", source, "-o", str(out)]) == 0
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


def test_the_report_counts_rows_faults_and_rules(tmp_path):
    source, out = write_rows(tmp_path / "rows.jsonl"), tmp_path / "out.jsonl"
    rejects = tmp_path / "bad.csv"
    assert run(["paraphrase", "auto", source, "-o", str(out), "--rejects", str(rejects)]) == 0
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    rows = read(out)
    counts = report["counts"]
    assert counts["rows"] == 14
    assert counts["paraphrases"] == len(rows)
    assert counts["rows_without"] == 14 - len({row.parent for row in rows})
    refused = list(csv.DictReader(rejects.open(newline="")))
    assert sum(report["faults"].values()) == sum(len(r["reasons"].split()) for r in refused)
    assert report["faults"]["copy"] > 0
    by = report["made_by"]
    assert all(n["paraphrases"] <= n["candidates"] for n in by.values())
    assert {"lexical"} < set(by)
    assert report["config"]["seed"] == 0
    assert report["hashes"] == {source: xxh3_128_hexdigest(Path(source).read_bytes())}


@pytest.mark.parametrize("by", ["rules", "lexical"])
def test_bytes_depend_on_the_seed_and_not_on_the_jobs(tmp_path, monkeypatch, by):
    monkeypatch.setattr(stage, "_BLOCK", 4)
    source = write_rows(tmp_path / "rows.jsonl", 30)
    made = {}
    for name, more in {
        "one": ["--jobs", "1"], "three": ["--jobs", "3"], "other": ["--seed", "1"],
    }.items():  # fmt: skip
        out, bad = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.csv"
        command = ["paraphrase", "auto", source, "--by", by, "-o", str(out), "--rejects", str(bad)]
        assert run([*command, *more]) == 0
        made[name] = (out.read_bytes(), bad.read_bytes())
    assert made["one"] == made["three"]
    assert made["one"][0]
    if by == "rules":  # words have no choice here
        assert made["one"][0] != made["other"][0]


def test_a_row_gets_the_same_paraphrases_wherever_it_stands(tmp_path):
    write_rows(tmp_path / "rows.jsonl", 7)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "back.jsonl").write_text("".join(reversed(lines)))
    for name in ("rows", "back"):
        assert (
            run(["paraphrase", "auto", f"{tmp_path}/{name}.jsonl", "-o", f"{tmp_path}/{name}.out"])
            == 0
        )
    there, back = (read(tmp_path / f"{name}.out") for name in ("rows", "back"))
    assert sorted(there, key=lambda r: r.id) == sorted(back, key=lambda r: r.id)


def test_tsv_and_compressed_files_go_in_and_out(tmp_path):
    rows = "".join(f"{e.id}\t{e.utterance}\t{e.program}\n" for e in map(example, range(7)))
    (tmp_path / "rows.tsv").write_text(rows)
    write_rows(tmp_path / "rows.jsonl", 7)
    for name, out in (("rows.tsv", "a.tsv"), ("rows.jsonl", "b.tsv")):
        assert run(["paraphrase", "auto", str(tmp_path / name), "-o", str(tmp_path / out)]) == 0
    assert (tmp_path / "a.tsv").read_text() == (tmp_path / "b.tsv").read_text()
    assert (tmp_path / "a.tsv").read_text().count("\t") >= 30


def test_a_sentence_that_has_another_program_is_left_out(tmp_path):
    rules = tmp_path / "mine.rules"
    rules.write_text("[a/b]\nin: red\nout: green\neg: red => green\n")
    rows = [Example("A", "the red lamp", "red"), Example("B", "the green lamp", "green")]
    rows += [Example("C", "a red lamp", "c"), Example("D", "one red lamp", "d")]
    (tmp_path / "rows.jsonl").write_text("".join(to_json(row) + "\n" for row in rows))
    out = tmp_path / "out.jsonl"
    command = [
        "paraphrase",
        "auto",
        str(tmp_path / "rows.jsonl"),
        "-o",
        str(out),
        "--lexicon",
        "none",
    ]
    assert run([*command, "--rules", str(rules), "--only-my-rules"]) == 0
    assert [row.utterance for row in read(out)] == ["a green lamp", "one green lamp"]
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert report["faults"] == {"ambiguous": 1}
    assert report["made_by"] == {"a/b": {"candidates": 3, "paraphrases": 2}}


def test_rules_of_ones_own_stand_beside_the_shipped_ones(tmp_path):
    rules = tmp_path / "mine.rules"
    rules.write_text("[mine/magic]\nin: xyzzy\nout: do some magic\neg: xyzzy => do some magic\n")
    source, out = write_rows(tmp_path / "rows.jsonl", 7), tmp_path / "out.jsonl"
    assert run(["paraphrase", "auto", source, "-o", str(out), "--rules", str(rules)]) == 0
    assert "do some magic" in {row.utterance for row in read(out)}
    assert len({row.parent for row in read(out)}) == 7


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--only-my-rules"], 2, "--only-my-rules needs --rules"),
        (["--by", "lexical", "--lexicon", "none"], 2, "needs a --lexicon"),
        (["--base-url", "http://x"], 2, "--base-url goes with --by endpoint, not rules"),
        (["--by", "model"], 2, "--by model needs --model"),
        (["--by", "endpoint", "--model", "x"], 2, "--by endpoint needs --base-url"),
        (["--by", "model", "--model", "x", "--jobs", "2"], 2, "--jobs does not go with"),
        (["--lexicon", "nowhere.tsv"], 1, "nowhere.tsv"),
    ],
)
def test_wrong_options_are_told(tmp_path, capsys, more, code, said):
    source, out = write_rows(tmp_path / "rows.jsonl", 2), tmp_path / "out.jsonl"
    assert run(["paraphrase", "auto", source, "-o", str(out), *more]) == code
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_mistakes_in_rules_and_rows_stop_before_anything_is_written(tmp_path, capsys):
    source, out = write_rows(tmp_path / "rows.jsonl", 2), tmp_path / "out.jsonl"
    rules = tmp_path / "mine.rules"
    rules.write_text("[a/b]\nin: $x:nope\nout: y\neg: a => b\n")
    assert run(["paraphrase", "auto", source, "-o", str(out), "--rules", str(rules)]) == 1
    said = capsys.readouterr().err
    assert f"{rules}:2:5: error[P113]" in said
    assert "error[P117]" in said
    (tmp_path / "rows.jsonl").write_text("no json\n")
    assert run(["paraphrase", "auto", source, "-o", str(out)]) == 1
    assert "error[R010]" in capsys.readouterr().err
    assert not out.exists()


def test_an_output_that_is_there_is_kept(tmp_path, capsys):
    source, out = write_rows(tmp_path / "rows.jsonl", 2), tmp_path / "out.jsonl"
    out.write_text("precious")
    assert run(["paraphrase", "auto", source, "-o", str(out)]) == 1
    assert "Y022" in capsys.readouterr().err
    assert out.read_text() == "precious"
    assert run(["paraphrase", "auto", source, "-o", str(out), "--overwrite"]) == 0
    assert read(out)


# --------------------------------------------------------------------- values, other languages


def by_rules(lexicon=None, **settings):
    return RuleParaphraser(shipped_rules(), lexicon, **{"number": 5, **settings})


def texts(row, paraphraser):
    [(_, candidates)] = paraphraser.candidates([ShownRow(row)])
    return [candidate.text for candidate in candidates]


def test_words_of_values_are_left_alone():
    program = 'now => @c.post param:text:String = " show me the big photos "'
    row = Example("S", 'post " show me the big photos " on twitter', program)
    for seed in range(20):
        for said in texts(row, by_rules(shipped_lexicon(), seed=seed, lexical_share=1.0)):
            assert '" show me the big photos "' in said


def test_s_expressions_keep_their_leaves():
    row = Example("S", "get the big photos", "( show ( size big ) ( what photos ) )", "sexpr")
    made = {
        said for seed in range(20) for said in texts(row, by_rules(shipped_lexicon(), seed=seed))
    }
    assert made
    assert all("big photos" in said for said in made)


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


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("now => ( @c.q ) => notify", True),
        ("monitor ( @c.q ) => notify", True),
        ("now => @c.a", False),
        ("( count meeting )", False),
    ],
)
def test_a_result_is_shown_or_not(program, expected):
    assert shows_result(program) is expected


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

    def __init__(self, *candidates):
        self.all = candidates

    def candidates(self, rows):
        for row in rows:
            yield row, self.all


def test_a_parser_refuses_what_it_reads_otherwise():
    rows = [ShownRow(Example(f"S{n}", f"get file number {n}", f"p{n}")) for n in range(100)]
    good, bad = (
        ParaphraseCandidate("fetch it now", ("r",)),
        ParaphraseCandidate("show me that", ("r",)),
    )
    parser = Parser({"fetch it now": "p7", "show me that": "p8"})
    outcomes = list(paraphrase_rows(rows, Fixed(good, bad), LOOSE, predictor=parser))
    kept = {
        o.shown_row.example.id: [row.utterance for row, _ in o.paraphrases]
        for o in outcomes
        if o.paraphrases
    }
    assert kept == {"S7": ["fetch it now"], "S8": ["show me that"]}
    tally = AutoTally()
    for outcome in outcomes:
        tally.add(outcome)
    assert (tally.rows, tally.paraphrases, tally.rows_without) == (100, 2, 98)
    assert tally.faults == {"round-trip": 198}
    assert max(parser.asked) <= 128  # rows stream


def test_the_command_takes_a_parser_and_counts_what_it_refuses(tmp_path, capsys):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    program = "now => ( @com.gmail.inbox ) => notify"
    rows.write_text(to_json(Example("S0", "show me my emails", program)) + "\n")
    config = ParaphraseConfig(number=4)
    stage.run(config, [str(rows)], Output(str(out)))
    [first, *others] = [json.loads(line)["utterance"] for line in out.read_text().splitlines()]
    assert others
    predictor = Parser({first: program})
    stage.run(config, [str(rows)], Output(str(out), overwrite=True), predictor=predictor)
    assert [json.loads(line)["utterance"] for line in out.read_text().splitlines()] == [first]
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert report["faults"]["round-trip"] >= len(others)
    capsys.readouterr()


@pytest.mark.parametrize("command", ["auto", "hits"])
def test_rows_that_are_no_text_are_told_with_their_place(command, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    line = '{"id": "S0", "utterance": "caf\u00e9", "program": "p", "values": {}}\n'
    rows.write_bytes(line.encode() + line.encode("latin-1"))
    assert run(["paraphrase", command, str(rows), "-o", "-"]) == 1
    assert f"{rows}:2:31: error[R003]: expected UTF-8 text" in capsys.readouterr().err


def test_the_first_good_candidates_are_kept():
    rows = [ShownRow(Example("S", "get the files", "p"))]
    candidates = [
        ParaphraseCandidate(f"fetch it {word}", (word,)) for word in ("now", "then", "soon", "up")
    ]
    [outcome] = paraphrase_rows(
        rows, Fixed(ParaphraseCandidate("get files", ("x",)), *candidates), LOOSE
    )
    assert [row.utterance for row, _ in outcome.paraphrases] == [
        "fetch it now", "fetch it then", "fetch it soon"
    ]  # fmt: skip
    assert [refused.faults for refused in outcome.refused] == [("copy",)]


def test_runs_over_the_same_rows_give_other_ids_to_other_sentences():
    rows = [ShownRow(Example("S", "get the files", "p"))]

    def ids(*words):
        candidates = [ParaphraseCandidate(f"fetch it {word}", (word,)) for word in words]
        [outcome] = paraphrase_rows(rows, Fixed(*candidates), LOOSE)
        return [row.id for row, _ in outcome.paraphrases]

    assert all(id.startswith("S.") for id in ids("now", "then"))
    assert ids("now", "then") == [*ids("now"), *ids("then")]
    assert len({*ids("now", "then"), *ids("soon", "up")}) == 4


def test_reading_goes_no_further_than_needed():
    def endless():
        number = 0
        while True:
            yield ShownRow(Example(f"S{number}", "turn on the lights", "now => @c.on"))
            number += 1

    made = paraphrase_rows(endless(), by_rules(), LOOSE)
    assert next(made).paraphrases
    assert next(made).paraphrases


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("fetch NUMBER_0 files", ()),
        ("fetch files", ("missing-value",)),
        ("fetch NUMBER_0 NUMBER_0 files", ("missing-value",)),
        ("please get NUMBER_0 files", ("copy",)),
        ("show me NUMBER_0 files , please", ("near-duplicate",)),
        ("NUMBER_0", ("too-short",)),
    ],
)
def test_faults_of_rewrites_are_those_of_crowd_paraphrases(text, faults):
    shown = ShownRow(Example("S", "get NUMBER_0 files", "p"))
    found = faults_in(
        shown, ParaphraseCandidate(text, ()), ["show me NUMBER_0 files"], LOOSE.checks
    )
    assert found == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("Which NUMBER_0 pages do I have?", ()),
        ("What are NUMBER_0, of all pages", ()),
        ("Which pages do I have?", ("missing-value",)),
        ("Which NUMBER_0 pages of NUMBER_0 do I have?", ("missing-value",)),
        ("Which NUMBER_1 pages do I have?", ("altered-value", "missing-value")),
    ],
)
def test_a_model_may_write_capitals_and_points_beside_placeholders(text, faults):
    shown = ShownRow(Example("S1", "get NUMBER_0 pages", "now => @c.pages => notify"))
    assert (
        faults_in(shown, ParaphraseCandidate(text, (), is_typed=True), [], CheckConfig()) == faults
    )


def test_distances_are_used_where_they_are_given():
    shown = ShownRow(Example("S", "get all the files of my folder", "p"))
    near = ParaphraseCandidate("get all the file of my folder", ())
    assert faults_in(shown, near, [], LOOSE.checks) == ()
    assert faults_in(shown, near, [], CheckConfig(language=None)) == ("copy",)


def test_a_number_of_paraphrases_is_at_least_one():
    with pytest.raises(ValueError, match="number must be at least 1"):
        AutoConfig(0)


# ----------------------------------------------------------------------------------- pages


def test_every_mistake_is_explained_and_no_other():
    root = Path(genie_dp.__file__).parent
    sources = "".join(path.read_text("utf-8") for path in (root / "paraphrase").glob("*.py"))
    raised = set(re.findall(r'"(P1\d\d)"', sources))
    page = (root.parent / "docs" / "paraphrase-rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (P\d.*?) \|", page, re.MULTILINE)
    assert len(raised) > 15
    assert sorted(code for row in rows for code in row.split(", ")) == sorted(raised)


def test_the_page_of_rules_names_every_condition_and_function():
    page = (Path(__file__).parents[2] / "docs" / "paraphrase-rules.md").read_text("utf-8")
    assert not [name for name in (*CONDITIONS, *FUNCTIONS) if not re.search(rf"`{name}\b", page)]


def test_the_rule_file_of_the_page_is_one():
    page = (Path(__file__).parents[2] / "docs" / "paraphrase-rules.md").read_text("utf-8")
    shown = textwrap.dedent(page.split("looks like this:\n")[1].split("\nA rule begins")[0])
    [compiled] = rule_set(parse_rules(shown)).rules
    [(sentence, expected)] = compiled.rule.examples
    made = rule_set(parse_rules(shown)).rewritten(sentence, KeyedRandom(b"0"), number=1)
    assert [one.utterance for one in made] == [expected]
