"""The shipped skills: as many as in Genie's paper and more, with real sentences (eval.tsv)."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from genie_dp.languages import get_language
from genie_dp.resources import data_folder
from genie_dp.templates.ast import PlainItem, PlainWords, QuotedWords, Template, plain_utterances
from tests.synthesis.synthesis_setup import shipped

pytestmark = pytest.mark.xdist_group("shipped")
SKILLS = Path(str(data_folder("thingpedia")))
ENGLISH = Path(str(data_folder("grammars"))) / "en"
# What the paper counts of construct templates -> their number there, the files that say it.
GROUPS = {
    "primitive commands": (35, "commands questions projections"),
    "compound commands": (42, "joins monitors edges passing timers when_do"),
    "filters and parameters": (
        68, "adjectives adverbs dates noun_phrases participles relative_clauses whose with_phrases"
    ),
    "policies": (6, "policies"),
    "aggregation": (6, "aggregation"),
}  # fmt: skip


def file_of(template: Template) -> Path:
    assert template.span is not None
    return Path(template.span.file)


def skill_names() -> set[str]:
    """Return the names of skills; `common` has entity types and value lists alone."""
    return {skill.name for skill in shipped().library.skills} - {"common"}


def test_there_are_more_skills_functions_and_templates_than_in_the_paper():
    functions = shipped().library.functions()
    assert len(skill_names()) >= 48
    assert len(functions) >= 150
    assert len({p.name for f in functions for p in f.parameters}) >= 190
    files = map(file_of, shipped().grammar.templates)
    primitives = Counter(file.parent.name for file in files if file.parent.parent == SKILLS)
    assert set(primitives) == skill_names()
    assert min(primitives.values()) >= 10
    assert primitives.total() >= max(1_280, 8.5 * len(functions))
    kinds = Counter(f.kind for f in functions if f.class_name == "com.spotify")
    assert kinds["query"] >= 15  # as in the case study
    assert kinds["action"] >= 17
    assert primitives["com.spotify"] >= 187


def test_groups_of_constructs_are_as_large_as_the_papers_and_have_every_file():
    counts = Counter(
        file.stem for t in shipped().grammar.templates if (file := file_of(t)).parent == ENGLISH
    )
    for least, names in GROUPS.values():
        assert sum(counts[name] for name in names.split()) >= least, names
    aside = {"main", "categories", "real_phrases", "answers"}
    files = {path.stem for path in ENGLISH.glob("*.genie")} - aside
    assert files == {name for _, names in GROUPS.values() for name in names.split()}


def evaluated() -> dict[str, list[tuple[str, str]]]:
    """Return the rows of the eval.tsv of every shipped skill: (utterance, program)."""
    found = {}
    for path in sorted(SKILLS.glob("*/eval.tsv")):
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        assert header == "utterance\tprogram"
        found[path.parent.name] = [tuple(line.split("\t")) for line in lines]
    return found


@cache
def literal_utterances() -> frozenset[str]:
    """Return every sentence or part of one that a template without a gap gives as it stands."""
    said = (s for t in shipped().grammar.templates for s in plain_utterances(t.utterance))
    return frozenset(words for words in map(literal, said) if words is not None)


def literal(said: tuple[PlainItem, ...]) -> str | None:
    """Return the words of an utterance, None if something is to be put in."""
    parts = [part for item in said if isinstance(item, QuotedWords) for part in item.parts]
    texts = [part.text for part in parts if isinstance(part, PlainWords)]
    whole = len(texts) == len(parts) and all(isinstance(item, QuotedWords) for item in said)
    return " ".join(texts) if whole else None


@pytest.mark.parametrize("skill", evaluated())
def test_real_sentences_of_a_skill_have_sound_programs_and_words_of_their_own(skill):
    language, library, rows = get_language("thingtalk"), shipped().library, evaluated()[skill]
    assert len(rows) >= 10
    compound = 0
    for utterance, text in rows:
        assert utterance == " ".join(utterance.lower().split())
        assert utterance not in literal_utterances()
        program = language.parse(text)
        assert not [p.message for p in language.check(program, library)], text
        assert language.render(language.canonical(program, library)) == text
        assert f"@{skill}." in text
        calls = sum(language.functions(program).values())
        compound += calls > 1 or not text.startswith("now =>")
    assert compound >= 2


def test_real_sentences_are_many_of_every_skill_and_none_is_there_twice():
    assert set(evaluated()) == skill_names()
    said = [utterance for rows in evaluated().values() for utterance, _ in rows]
    assert len(said) == len(set(said)) >= 500
    assert {"check my twitter", "check twitter"} <= literal_utterances()  # in all their wordings
