"""The rules for canonical sentences in examples/: every one does what its examples say."""

import json
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.paraphrase.rules import rule_set
from genie_dp.paraphrase.rules_syntax import parse_rules
from tests.paraphrase.test_paraphrase_rules import whole

FOLDER = Path(__file__).parents[2] / "examples" / "canonical"
FILES = sorted(FOLDER.glob("*.rules"))
SETS = {path.stem: rule_set(parse_rules(path.read_text(), path.name)) for path in FILES}
CASES = [
    pytest.param(rules, compiled, id=f"{name} {compiled.rule.id}")
    for name, rules in SETS.items()
    for compiled in rules.rules
]


def test_there_are_phrases_and_openings():
    assert sorted(SETS) == ["openings", "phrases"]


@pytest.mark.parametrize(("rules", "compiled"), CASES)
def test_every_rule_does_what_its_examples_say(rules, compiled):
    for sentence, expected in compiled.rule.examples:
        found = [match for match in rules.fitting(sentence) if match.compiled is compiled]
        assert expected in [whole(match, out) for match in found for out in compiled.outputs]


def said_of(tmp_path, *options):
    """Return what the phrases make of a row whose program names the width of a block."""
    rows, out = tmp_path / "rows.jsonl", tmp_path / f"said{len(options)}.jsonl"
    program = "( filter ( all block ) ( string width ) ( number 3 ) )"
    row = {"id": "W1", "utterance": "block whose width is 3 inches", "program": program}
    rows.write_text(json.dumps({**row, "language": "sexpr", "source": "synthetic"}) + "\n")
    own = ["--rules", FOLDER / "phrases.rules", "--only-my-rules", "--lexicon", "none"]
    command = ["paraphrase", "auto", rows, "--language", "sexpr", *own, *options, "--output", out]
    assert run(list(map(str, command))) == 0
    return {json.loads(line)["utterance"] for line in out.read_text().splitlines()}


def test_words_of_a_name_change_only_where_its_node_is_named(tmp_path):
    assert said_of(tmp_path) == set()
    assert "block 3 inches wide" in said_of(tmp_path, "--names", "string", "--number", "9")
