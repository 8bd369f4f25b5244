"""`genie-dp grammar coverage` over an invented library: verdicts, stubs, totals, options."""

import random
import re
from dataclasses import replace
from functools import cache

import pytest

import genie_dp as gd
from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.coverage import CAUSES, VERDICTS, CoverageReader, run
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.records import Example
from genie_dp.synthesis.explain import program_tokens
from genie_dp.templates.cache import load_inputs
from tests.golden import DATA, cases
from tests.skills.skill_files import write_library

NOW = "2026-11-25"
CONFIG = CoverageConfig(now=NOW)
PROGRAM = 'now => @com.example.jukebox.play(song = "blue moon"^^com.example.jukebox:song)'
# What is said for placeholders in sentences of synthesis; no two look alike.
WORDS = {
    "GENERIC_ENTITY_com.example.jukebox:song_0": ("blue moon", '" blue moon " ^^{}:song'),
    "GENERIC_ENTITY_com.example.jukebox:band_0": ("the larks", '" the larks " ^^{}:band'),
    "GENERIC_ENTITY_com.example.jukebox:crate_0": ("zanzibar", '" zanzibar " ^^{}:crate'),
    "QUOTED_STRING_0": ("xylophone", '" xylophone "'),
    "TIME_0": ("7:30 am", "time:7:30:00"),
    "DURATION_0": ("4 minutes", "4 unit:min"),
    "NUMBER_0": ("17", "17"),
    "DATE_0": ("2026-03-05", "date:2026-03-05"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    text = (DATA / "coverage" / "library.txt").read_text(encoding="utf-8")
    return write_library(tmp_path_factory.mktemp("coverage"), text)


@pytest.fixture(scope="module")
def inputs(folder):
    return load_inputs("thingtalk", [folder / "skills"], [folder / "main.genie"])


@pytest.fixture(scope="module")
def reader(inputs):
    return CoverageReader.from_inputs(inputs, CONFIG)


def row_of(sentence, program, inputs, id="one"):
    return Example(id, sentence, program and program_tokens(program, inputs), "thingtalk")


@cache
def synthesized(inputs):
    """Return synthesized rows with the values of WORDS in both sides."""
    made = []
    for row in gd.synthesize(grammar=inputs, size=400, seed=3, max_depth=4):
        words, program = row.utterance, row.program
        if any(token.endswith("_1") for token in words.split()):
            continue
        for token, (said, constant) in WORDS.items():
            words = words.replace(token, said)
            program = program.replace(token, constant.format("com.example.jukebox"))
        made.append(Example(row.id, words, program_tokens(program, inputs), "thingtalk"))
    return random.Random(5).sample(made, 24)


@pytest.mark.parametrize("case", cases("coverage/cases.txt"), ids=str)
def test_case(case, inputs, golden):
    sentence, _, program = case.input.partition("\n")
    result = run(CONFIG, inputs, [row_of(sentence, program.strip(), inputs)])
    (covered,) = result.sentences
    values = [
        f"  {name} is {v.words} ({v.how or v.constant})" for name, v in covered.read.values.items()
    ]
    lines = [covered.verdict, " ".join(covered.read.tokens), *values, *covered.lines()]
    golden(case, "\n".join(lines))


@pytest.mark.slow
def test_every_sentence_of_synthesis_is_derived_with_its_values_in_words(inputs, reader):
    rows = synthesized(inputs)
    verdicts = {row.utterance: reader.judge(row).verdict for row in rows}
    assert set(verdicts.values()) <= {"derived", "ambiguous"}, verdicts
    assert list(verdicts.values()).count("derived") > 16


def test_every_stub_derives_its_sentence_once_it_stands_in_the_grammar(inputs, folder):
    rows = [
        Example(row.id, f"kindly {row.utterance} my dear 's friend", row.program, "thingtalk")
        for row in synthesized(inputs)[:20]
    ]
    before = run(CONFIG, inputs, rows)
    assert before.share == 0
    stubs = [sentence.missed.stub for sentence in before.sentences]
    assert all(stubs)
    main = (folder / "main.genie").read_text(encoding="utf-8")
    with_stubs = folder / "with_stubs.genie"
    with_stubs.write_text("\n".join([main, *dict.fromkeys(stubs)]), encoding="utf-8")
    after = run(CONFIG, load_inputs("thingtalk", [folder / "skills"], [with_stubs]), rows)
    assert after.share == 1, [s.utterance for s in after.missed]


def test_a_sentence_without_program_gets_a_stub_of_the_nearest_function(inputs):
    (sentence,) = run(CONFIG, inputs, [row_of("let us hear my songs", "", inputs)]).sentences
    assert sentence.missed.nearest[0] == ("@com.example.jukebox.songs", ("songs",))
    assert "@com.example.jukebox.songs()" in sentence.missed.stub
    far = row_of("which beach has the finest sand for building castles , and songs", "", inputs)
    (sentence,) = run(CONFIG, inputs, [far]).sentences
    assert sentence.missed.nearest
    assert sentence.missed.stub == ""


@pytest.mark.parametrize(
    ("sentence", "program", "left_out"),
    [
        # A value that no template takes is that of a condition.
        ("which notes on the wall were written on march 5 2026",
         "(@com.example.wall.notes()) filter date == a", ("written",)),
        ("let us hear the larks songs", "(@com.example.jukebox.songs()) filter band == a",
         ("hear",)),
        ("kindly play blue moon now", "@com.example.jukebox.play(song = a)", ("kindly",)),
        # Without a place for all of its values there is no stub; nor for a name too many.
        ("kindly put blue moon somewhere", "", ()),
        ("play blue moon at 17 o'clock sharp for 4 minutes", "", ()),
        ("give us my kitchen songs", "@com.example.jukebox.songs()", ("kitchen",)),
    ],
)  # fmt: skip
def test_a_guessed_stub_loses_no_value_and_names_the_words_that_it_loses(
    inputs, sentence, program, left_out
):
    (covered,) = run(CONFIG, inputs, [row_of(sentence, "", inputs)]).sentences
    assert program in covered.missed.stub
    assert bool(covered.missed.stub) == bool(program)
    assert covered.missed.left_out == left_out
    assert ("of which its program has nothing" in "\n".join(covered.lines())) == bool(left_out)


def test_a_long_sentence_or_one_of_too_much_work_is_given_up(inputs, reader, monkeypatch):
    assert reader.judge(row_of("post " + "la " * 200, "", inputs)).verdict == "too long"
    # As long as is read at all, and every word may be a name.
    covered = reader.judge(row_of("put " + "x into y " * 18, "", inputs))
    assert covered.verdict in VERDICTS
    assert covered.milliseconds < 60_000
    monkeypatch.setattr(reader.spoken, "most_work", 5)
    covered = reader.judge(row_of("show me my songs by the larks", "", inputs))
    assert covered.verdict == "too long"


def test_sentences_to_be_refused_are_no_part_of_the_share(inputs):
    rows = [
        Example("a", "get my songs", OUT_OF_SCOPE, "thingtalk"),
        Example("b", "is it tuesday", OUT_OF_SCOPE, "thingtalk"),
        row_of("play blue moon", "", inputs, "c"),
    ]
    coverage = run(CONFIG, inputs, rows)
    assert coverage.verdicts == {"derived": 1, "not refused": 1, "refused": 1}
    assert coverage.share == 1


def test_totals_count_functions_and_sorts(inputs):
    rows = [
        row_of("play blue moon", PROGRAM, inputs, "a"),
        row_of("spin blue moon", PROGRAM, inputs, "b"),
        row_of("get my songs", "now => @com.example.jukebox.songs() => notify", inputs, "c"),
    ]
    coverage = run(CONFIG, inputs, rows)
    assert [(g.name, g.rows, g.covered, g.lacking) for g in coverage.functions] == [
        ("@com.example.jukebox.play", 2, 1, 1),
        ("@com.example.jukebox.songs", 1, 1, 0),
    ]
    assert [(g.name, g.rows, g.covered) for g in coverage.sorts] == [("primitive", 3, 2)]
    assert repr(coverage) == "Coverage(66.7 % of 3 sentences covered)"
    assert coverage.causes == {"function not said": 1}


def test_the_card_of_a_page_agrees_with_its_bars(inputs, tmp_path):
    songs = "now => @com.example.jukebox.songs() => notify"
    given = [("spin blue moon", PROGRAM), ("play blue moon", PROGRAM), ("get my songs", songs)]
    rows = [row_of(*pair, inputs, str(number)) for number, pair in enumerate(given)]
    coverage = run(CONFIG, inputs, rows)
    sentences = (coverage.sentences[0], replace(coverage.sentences[1], verdict="ambiguous"),
                 coverage.sentences[2])  # fmt: skip
    replace(coverage, sentences=sentences).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "covered<small>2 of 3 sentences: 1 derived, 1 ambiguous</small>" in page
    bars = {name: int(count) for name, count in re.findall(
        r'name">(derived|ambiguous):(?:<wbr>)? .*?class="value">(\d+)', page)}  # fmt: skip
    assert bars == {"derived": 1, "ambiguous": 1}
    assert page.count("COMMAND := &#39;spin") == 1
    assert "QUOTED_STRING_0" not in page


def test_verdicts_and_causes_are_explained_in_the_docs():
    page = (DATA.parents[1] / "docs" / "explain.md").read_text(encoding="utf-8")
    assert [name for name in (*VERDICTS, *CAUSES) if f"| {name} |" not in page] == []
