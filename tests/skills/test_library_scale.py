"""The shipped library is as large as the one of Genie's paper, and larger."""

from collections import Counter
from pathlib import Path

import pytest

from genie_dp.resources import data_folder
from genie_dp.templates.ast import Template
from tests.synthesis.synthesis_setup import shipped

SKILLS = Path(str(data_folder("thingpedia")))
ENGLISH = Path(str(data_folder("grammars"))) / "en"
COMMON = "common"  # entity types and value lists, no skill
# What the paper counts of construct templates -> the files that say it.
GROUPS = {
    "primitive commands": ("commands", "questions", "projections"),
    "compound commands": ("joins", "monitors", "edges", "passing", "timers", "when_do"),
    "filters and parameters": (
        "adjectives", "adverbs", "dates", "noun_phrases", "participles", "relative_clauses",
        "whose", "with_phrases",
    ),
    "policies": ("policies",),
    "aggregation": ("aggregation",),
}  # fmt: skip
IN_THE_PAPER = {
    "primitive commands": 35,
    "compound commands": 42,
    "filters and parameters": 68,
    "policies": 6,
    "aggregation": 6,
}


def file_of(template: Template) -> Path:
    assert template.span is not None
    return Path(template.span.file)


def primitives() -> Counter[str]:
    """Return the number of primitive templates of each skill."""
    files = map(file_of, shipped().grammar.templates)
    return Counter(file.parent.name for file in files if file.parent.parent == SKILLS)


def skill_names() -> set[str]:
    return {skill.name for skill in shipped().library.skills} - {COMMON}


def test_there_are_more_skills_functions_and_parameters():
    functions = shipped().library.functions()
    assert len(skill_names()) >= 48
    assert len(functions) >= 150
    assert len({p.name for f in functions for p in f.parameters}) >= 190


def test_there_are_more_primitive_templates_and_as_many_for_a_function():
    total = sum(primitives().values())
    assert total >= 1_280
    assert total / len(shipped().library.functions()) >= 8.5


def test_every_skill_has_primitive_templates():
    assert set(primitives()) == skill_names()
    assert min(primitives().values()) >= 10


def test_the_music_skill_has_the_size_of_the_case_study():
    kinds = Counter(f.kind for f in shipped().library.functions() if f.class_name == "com.spotify")
    assert kinds["query"] >= 15
    assert kinds["action"] >= 17
    assert primitives()["com.spotify"] >= 187


def test_every_skill_has_real_sentences_and_there_are_many():
    rows = {path.parent.name: lines(path) for path in SKILLS.glob("*/eval.tsv")}
    assert set(rows) == skill_names()
    assert sum(rows.values()) >= 500


def lines(path: Path) -> int:
    """Return the rows of a file with a header."""
    return len(path.read_text(encoding="utf-8").splitlines()) - 1


def test_every_file_of_the_grammar_belongs_to_a_group():
    aside = {"main", "categories", "real_phrases", "answers"}
    files = {path.stem for path in ENGLISH.glob("*.genie")} - aside
    assert files == {name for names in GROUPS.values() for name in names}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_constructs_is_as_large_as_the_papers(group: str):
    files = {ENGLISH / f"{name}.genie" for name in GROUPS[group]}
    found = [t for t in shipped().grammar.templates if file_of(t) in files]
    assert len(found) >= IN_THE_PAPER[group]
