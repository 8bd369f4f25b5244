"""The benchmarks measure what they say: all processes, words of the templates, honest grammars."""

import sys
from pathlib import Path

import chatette_grammar
import draw_rows
import measure
import pytest
import scale
import string_sampler

from genie_dp.synthesis.pieces import GAP
from genie_dp.templates.grammar import subset
from tests.synthesis.synthesis_setup import few

# A process that holds 60 MB, and a child of it that holds 60 MB more, for a second.
HOLDER = """
import subprocess, sys, time
block = bytearray(60_000_000)
child = "import time; block = bytearray(60_000_000); time.sleep(1)"
subprocess.run([sys.executable, "-c", child], check=True)
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux tells PSS")
def test_memory_is_that_of_all_processes_together(monkeypatch):
    monkeypatch.setattr(measure, "SELDOM", 2)  # else a busy machine looks too seldom
    cost = measure.cost_of([sys.executable, "-c", HOLDER])
    assert 115 < cost.memory < 200
    assert cost.wall >= 1
    assert cost.cpu < cost.wall


def test_a_command_that_fails_ends_the_benchmark_with_what_it_said():
    with pytest.raises(SystemExit, match="no such thing"):
        measure.cost_of([sys.executable, "-c", "raise SystemExit('no such thing')"])


def test_settings_are_measured_in_turn():
    asked = []

    def call(setting):
        asked.append(setting)
        return measure.Cost(setting, 0, 0)

    found = measure.in_turn(2, (1, 2), call)
    assert asked == [1, 2, 1, 2]
    assert [[cost.cpu for cost in costs] for costs in found] == [[1, 1], [2, 2]]


def sampler():
    return string_sampler.Sampler(subset(few().grammar), few().library, seed=1)


def test_the_plain_sampler_says_whole_sentences_of_the_templates():
    made, again = sampler(), sampler()
    drawn = [made.sentence("COMMAND", 5) for _ in range(2000)]
    assert [again.sentence("COMMAND", 5) for _ in range(50)] == drawn[:50]
    sentences = {sentence.replace("\0", "VALUE") for sentence in drawn}
    assert len(sentences) > 1500
    assert max(len(sentence.split()) for sentence in sentences) < 100
    assert not any("#" in sentence or GAP in sentence for sentence in sentences)
    assert any("when i" in sentence for sentence in sentences)

    def words(depth):
        return sum(len(made.sentence("COMMAND", depth).split()) for _ in range(500))

    assert words(1) < words(5)


def test_the_grammar_for_chatette_is_large_and_names_only_what_it_defines(tmp_path):
    text = chatette_grammar.write(tmp_path, 1000).read_text()
    named = {part.split("]")[0].rstrip("?") for part in text.split("~[")[1:]}
    assert named == set(chatette_grammar.RULES) - {chatette_grammar.INTENT}
    assert "%[command]('training':1000)" in text
    assert chatette_grammar.productions() >= 170
    assert chatette_grammar.sentences() > 10**8


def test_a_real_skill_is_renamed_with_its_functions_and_nothing_else(tmp_path):
    skill = tmp_path / "com.mail"
    skill.mkdir()
    declared = "class @com.mail { query inbox(out from: Entity(com.mail:id)); }"
    (skill / "manifest.tt").write_text(declared)
    (skill / "dataset.tt").write_text("now => @com.mail.inbox() => @com.mail.extra.send();")
    made = scale.renamed(skill, tmp_path / "real")
    assert made.name == "real.com.mail"
    assert (made / "manifest.tt").read_text().startswith("class @real.com.mail {")
    assert "Entity(com.mail:id)" in (made / "manifest.tt").read_text()
    assert (made / "dataset.tt").read_text().startswith("now => @real.com.mail.inbox()")


def test_lengths_are_put_together_in_steps_and_shown_as_bars():
    assert scale._by_step({"1": 2, "3": 1, "4": 5}, 3) == {"1-3": 3, "4-6": 5}
    drawn = measure.bars({"1": 30, "10": 10}, width=6)
    assert drawn == " 1  ######  75.0 %\n10  ##      25.0 %"


def test_rows_are_drawn_from_each_stratum_in_turn():
    strata = [((1, "commands"), 50), ((1, "policies"), 2), ((5, "commands"), 1)]
    rows = [(stratum, f"{stratum} {n}") for stratum, count in strata for n in range(count)]
    found = list(draw_rows.drawn(rows, 10, "seed"))
    assert len(set(found)) == 10
    counts = [sum(row.startswith(str(stratum)) for row in found) for stratum, _ in strata]
    assert counts == [7, 2, 1]
    assert found == list(draw_rows.drawn(rows, 10, "seed"))
    assert found != list(draw_rows.drawn(rows, 10, "other"))
