"""What the English grammar must derive: sentences that people say, with their programs."""

import re
import textwrap
from collections import Counter
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from genie_dp.parser.reading.said import said_values
from genie_dp.resources import data_folder
from genie_dp.synthesis.explain import Explainer, program_tokens, read_pairs
from tests.golden import DATA
from tests.synthesis.synthesis_setup import explainer, shipped

pytestmark = pytest.mark.xdist_group("shipped")
ROOT = Path(__file__).parents[2]
FILE = DATA / "explain" / "sentences.txt"


def groups():
    """Return the pairs by the heading they stand under."""
    headings, found = {}, {}
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("# "):
            heading = line[2:]
        headings[number] = heading if number > 1 else ""
    for place, utterance, program in read_pairs(FILE):
        found.setdefault(headings[place.line], []).append((utterance, program))
    return found


GROUPS = groups()


def templates_of(node):
    """Yield (file, id) of every template in a tree."""
    if node.template:
        yield Path(node.place.rpartition(":")[0]), node.template
    for child in node.children:
        yield from templates_of(child)


@cache
def explained(utterance):
    return explainer().explain(utterance)


@pytest.mark.slow
@pytest.mark.parametrize("group", list(GROUPS))
def test_every_sentence_has_its_program_and_no_other(group):
    faults = []
    for utterance, program in GROUPS[group]:
        expected = program_tokens(program, shipped())
        found = explained(utterance).programs
        if found != (expected,):
            faults.append(f"{utterance}\n  expected {expected}\n  got {found}")
    assert faults == []


def test_there_are_many_sentences_none_twice_and_some_of_every_skill():
    pairs = [pair for group in GROUPS.values() for pair in group]
    assert len(pairs) == len({utterance for utterance, _ in pairs}) >= 600
    folder = data_folder("thingpedia")
    skills = {path.parent.name for path in folder.glob("*/templates.genie")}
    programs = " ".join(program for _, program in pairs)
    assert len(skills) >= 40
    assert [name for name in sorted(skills) if f"@{name}." not in programs] == []
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    assert f"{len(pairs)} pairs: {len(pairs)} derived, 0 not, 0 ambiguous" in page


@pytest.mark.slow
def test_every_file_of_the_grammar_is_used():
    used = Counter()
    for pairs in GROUPS.values():
        for utterance, _ in pairs:
            for reading in explained(utterance).readings:
                used.update(set(templates_of(reading.trees[0])))
    folder = data_folder("grammars") / "en"
    # Commands that stand among the noun phrases of real skills are in no shipped one, and the
    # questions of answers.genie are a grammar of their own.
    without = {"main.genie", "categories.genie", "real_phrases.genie", "answers.genie"}
    files = {file for file in folder.glob("*.genie") if file.name not in without}
    assert len(files) >= 18
    assert {file.name for file in files} - {file.name for file, _ in used} == set()
    constructs = {name for file, name in used if file.parent == folder}
    assert len(constructs) >= 180


@pytest.mark.slow
def test_the_page_shows_what_the_command_says(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n)+", page, re.MULTILINE)
    texts = [
        textwrap.dedent(block).strip("\n")
        for block in blocks
        if "$ genie-dp grammar explain" in block
    ]
    shown = [text.partition("\n") for text in texts if "--file" not in text.partition("\n")[0]]
    assert len(shown) == 4
    values = said_values(shipped().language, shipped().library, now=datetime(2026, 11, 25))
    reading = Explainer(explainer().compiled, values=values)
    for command, _, said in shown:
        now = str(reading.explain_in_full(command.split('"')[1]))
        now, said = (re.sub(r"(\.genie):\d+$", r"\1", text, flags=re.M) for text in (now, said))
        assert now == said
