"""The grammar as a generator starts from leaves that are kept, and makes the same of them."""

import pytest

from genie_dp.languages import get_language
from genie_dp.private.evolution.build import GeneratorBuilder
from genie_dp.private.evolution.config import EvolutionConfig, GrammarRecipe
from genie_dp.run import cache as parsed
from genie_dp.synthesis import cache as lexicon
from genie_dp.synthesis import engine
from genie_dp.templates.inputs import load_library
from tests.synthesis.synthesis_project import notes


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv(parsed.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(parsed, "_SMALLEST", 0)
    return notes(tmp_path)


def candidates_of(project):
    """Return candidates and variations of a generator that is made anew."""
    folder = project.folder
    made = GeneratorBuilder(
        EvolutionConfig(generator=GrammarRecipe()),
        language=get_language("thingtalk"),
        library=load_library("thingtalk", (folder / "thingpedia",)),
        grammar=(folder / "grammars/en",),
        schema=None,
        work=folder,
    ).build()
    first = made.random([{}] * 40, seed=1)
    varied = [made.vary(first, strength, seed=2) for strength in (0.0, 0.5, 1.0)]
    return first, varied, made.fingerprint(), dict(made.counts)


def test_candidates_are_the_same_with_and_without_kept_leaves(project, monkeypatch):
    fresh, again = candidates_of(project), candidates_of(project)
    monkeypatch.setenv(parsed.VARIABLE, "")
    assert fresh == again == candidates_of(project)
    assert len({one.example.utterance for one in fresh[0]}) > 20


@pytest.mark.parametrize("first", ["evolve", "synthesize"])
def test_leaves_of_evolution_and_of_synthesis_are_made_once(project, monkeypatch, first):
    if first == "synthesize":
        assert project.run("--size", 50, "--output", project.folder / "rows.jsonl") == 0
    else:
        candidates_of(project)
    for module in (lexicon, engine):
        monkeypatch.setattr(module, "make_leaves", None)  # whoever calls it fails
    assert len(candidates_of(project)[0]) == 40
