"""A description means its program: explain finds it, for all that synthesis makes."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from genie_dp.cli.inputs import load_inputs
from genie_dp.errors import GenieError
from genie_dp.resources import data_folder
from genie_dp.rows import from_json
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import Explainer
from tests.languages.thingtalk import strategies
from tests.synthesis.synthesis_setup import describer, engine, explainer, rows, shipped, text_of

pytestmark = pytest.mark.xdist_group("shipped")
PIZZA = Path(__file__).parents[2] / "examples" / "pizza-order"


@cache
def programs(name="shipped"):
    found = rows() if name == "shipped" else [
        from_json(line) for line in text_of(engine(max_depth=5)).splitlines()
    ]  # fmt: skip
    texts = sorted({row.program for row in found})
    return tuple(random.Random("describe").sample(texts, len(texts)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few", "shipped"])
def test_every_program_of_synthesis_is_described_and_read_back(name):
    language, library = shipped().language, shipped().library
    for program in programs(name)[:60]:
        found = describer(name).describe(program)
        assert found.complete, program
        assert found.program in explainer(name).explain(found.utterance).programs
        back = dict(found.values)
        renamed = " ".join(back.get(token, token) for token in found.program.split())
        again = language.canonical(language.from_tokens(renamed), library)
        assert language.tokens(again, library) == program


def test_four_values_that_templates_say_themselves_are_said():
    found = describer().describe(
        "timer(base = now, interval = 1week) => (@org.thingpedia.camera.events())"
        " filter date >= start_of(day) - 1day && date < start_of(day) => notify"
    )
    assert found.complete
    assert "yesterday" in found.sentence


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_alternatives_are_read_back_too(count):
    found = [d for program in programs()[:count] for d in describer().alternatives(program, 5)]
    assert len(found) > 3 * count
    for description in found:
        assert description.program in explainer().explain(description.utterance).programs


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.slow)])
def test_most_programs_of_people_are_described(count):
    texts = [
        line.split("\t")[1]
        for path in sorted(data_folder("thingpedia").glob("*/eval.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.count("\t") == 1 and line != "utterance\tprogram"
    ]
    # Outputs, sorts and computed values are what answers.genie is for.
    told = [t for t in texts if not re.search(r"=> \[|\[\d|\b(sort|count|distance)\(", t)]
    assert len(told) > 500
    found = [describer().describe(text) for text in random.Random("people").sample(told, count)]
    whole = [d for d in found if d.complete]
    assert len(whole) >= 0.95 * len(found)
    for one in whole[: count // 3]:
        assert one.program in explainer().explain(one.utterance).programs


def drawn(seed):
    """Return a random program over the shipped functions, in canonical form, or None."""
    inputs, rng = shipped(), random.Random(f"drawn:{seed}")
    few_functions = strategies.part_of(rng, inputs.library.functions())
    make = strategies.policy if seed % 5 == 0 else strategies.program
    program = make(rng, few_functions)
    if any(p.severity == "error" for p in inputs.language.check(program, inputs.library)):
        return None
    try:
        return inputs.language.canonical(program, inputs.library)
    except GenieError:  # too many clauses in normal form
        return None


@pytest.mark.parametrize("count", [20, pytest.param(80, marks=pytest.mark.slow)])
def test_what_templates_say_in_any_program_is_read_back(count):
    language = shipped().language
    trees = [tree for tree in map(drawn, range(count)) if tree is not None]
    assert len(trees) > count / 2
    for tree in trees:
        found = describer().describe(tree)
        assert found.complete or found.program == language.tokens(tree, shipped().library)
        for said in (found,) if found.complete else found.parts:
            assert said.complete
            assert said.program in explainer().meanings(said.utterance), said.sentence
        for part in found.parts:  # all that a part does, the program does
            done = language.functions(language.from_tokens(part.program))
            assert not done - language.functions(tree)
        assert all(words.lower() in found.sentence.lower() for words in found.missing)


@cache
def pizza():
    inputs = load_inputs("sexpr", (PIZZA / "pizza.sexpr",), (PIZZA,), skip_broken=False)
    return inputs, compile_inputs(inputs)


def pizza_rows(size):
    made = build_engine(pizza()[1], SynthesisConfig(size=size, max_depth=4, pool_size=100))
    return [from_json(line) for line in text_of(made).splitlines()]


def test_sentences_of_another_language_are_explained():
    explainer, rows = Explainer(pizza()[1]), pizza_rows(100)
    assert len(rows) == 100
    assert [r for r in rows if r.program not in explainer.explain(r.utterance).programs] == []


@pytest.mark.slow
def test_programs_of_another_language_are_described():
    inputs, compiled = pizza()
    describer, explainer = Describer(compiled, inputs.library), Explainer(compiled)
    for program in sorted({row.program for row in pizza_rows(60)})[::4]:
        found = describer.describe(program)
        assert found.complete, program
        assert program in explainer.explain(found.utterance).programs


def test_a_program_of_another_language_that_no_template_says_is_given_as_it_is():
    inputs, compiled = pizza()
    text = "(ORDER (PIZZAORDER (NUMBER 1) (TOPPING nothing_known)))"
    found = Describer(compiled, inputs.library).describe(text)
    assert not found.complete
    assert found.sentence == inputs.language.render(inputs.language.parse(text))
