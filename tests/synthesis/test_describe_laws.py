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
from tests.synthesis.synthesis_setup import engine, few, rows, shipped, text_of

PIZZA = Path(__file__).parents[2] / "examples" / "pizza-order"


@cache
def both(name):
    """Return a describer and an explainer of the same grammar."""
    inputs = {"shipped": shipped, "few": few}[name]()
    compiled = compile_inputs(inputs)
    return Describer(compiled, inputs.library), Explainer(compiled)


@cache
def programs(name):
    """Return the programs of synthesized rows, shuffled."""
    found = rows() if name == "shipped" else [
        from_json(line) for line in text_of(engine(max_depth=5)).splitlines()
    ]  # fmt: skip
    texts = sorted({row.program for row in found})
    return tuple(random.Random("describe").sample(texts, len(texts)))


COUNTS = [100, pytest.param(300, marks=pytest.mark.slow)]


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["few", "shipped"])
def test_every_program_of_synthesis_is_described_and_read_back(name, count):
    describer, explainer = both(name)
    chosen = programs(name)[:count]
    assert len(chosen) == count
    found = [describer.describe(program) for program in chosen]
    assert [d.sentence for d in found if not d.complete] == []
    lost = [d for d in found if d.program not in explainer.explain(d.utterance).programs]
    assert lost == []


def test_four_values_that_templates_say_themselves_are_said():
    describer, _ = both("shipped")
    found = describer.describe(
        "timer(base = now, interval = 1week) => (@org.thingpedia.camera.events())"
        " filter date >= start_of(day) - 1day && date < start_of(day) => notify"
    )
    assert found.complete
    assert "yesterday" in found.sentence


@pytest.mark.slow
def test_the_program_of_a_description_is_the_one_given():
    describer, _ = both("few")
    for program in programs("few")[:300]:
        found = describer.describe(program)
        back = dict(found.values)
        renamed = " ".join(back.get(token, token) for token in found.program.split())
        language, library = few().language, few().library
        again = language.tokens(language.canonical(language.from_tokens(renamed), library), library)
        assert again == program


def test_alternatives_are_read_back_too():
    describer, explainer = both("few")
    seen = 0
    for program in programs("few")[:10]:
        for description in describer.alternatives(program, 5):
            seen += 1
            assert description.program in explainer.explain(description.utterance).programs
    assert seen > 30


def test_most_programs_of_people_are_described():
    describer, explainer = both("shipped")
    texts = [
        line.split("\t")[1]
        for path in sorted(data_folder("thingpedia").glob("*/eval.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.count("\t") == 1 and line != "utterance\tprogram"
    ]
    told = [text for text in texts if not asks(text)]
    assert len(told) > 500
    chosen = random.Random("people").sample(told, 120)
    found = [describer.describe(text) for text in chosen]
    whole = [d for d in found if d.complete]
    assert len(whole) >= 0.95 * len(found)
    assert all(d.program in explainer.explain(d.utterance).programs for d in whole[:40])


def asks(text):
    """Tell whether a program has what answers.genie is for: outputs, sorts, computed values."""
    return re.search(r"=> \[|\[\d|\b(sort|count|distance)\(", text) is not None


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


@pytest.mark.parametrize("count", [60, pytest.param(150, marks=pytest.mark.slow)])
def test_what_templates_say_in_any_program_is_read_back(count):
    describer, explainer = both("shipped")
    language = shipped().language
    trees = [tree for tree in map(drawn, range(count)) if tree is not None]
    assert len(trees) > count / 2
    for tree in trees:
        found = describer.describe(tree)
        whole = language.tokens(tree, shipped().library)
        assert found.complete or found.program == whole
        for said in (found,) if found.complete else found.parts:
            assert said.complete
            assert said.program in explainer.meanings(said.utterance), said.sentence
        for part in found.parts:  # all that a part does, the program does
            assert not language.functions(language.from_tokens(part.program)) - language.functions(
                tree
            )
        assert all(words.lower() in found.sentence.lower() for words in found.missing)


@pytest.mark.slow
def test_programs_of_another_language_are_described():
    inputs = load_inputs("sexpr", (PIZZA / "pizza.sexpr",), (PIZZA,), skip_broken=False)
    compiled = compile_inputs(inputs)
    describer, explainer = Describer(compiled, inputs.library), Explainer(compiled)
    made = build_engine(compiled, SynthesisConfig(size=60, max_depth=4, pool_size=100))
    orders = sorted({from_json(line).program for line in text_of(made).splitlines()})
    assert len(orders) > 40
    for order in orders:
        found = describer.describe(order)
        assert found.complete, order
        assert order in explainer.explain(found.utterance).programs


def test_a_program_of_another_language_that_no_template_says_is_given_as_it_is():
    inputs = load_inputs("sexpr", (PIZZA / "pizza.sexpr",), (PIZZA,), skip_broken=False)
    describer = Describer(compile_inputs(inputs), inputs.library)
    text = "(ORDER (PIZZAORDER (NUMBER 1) (TOPPING nothing_known)))"
    found = describer.describe(text)
    assert not found.complete
    assert found.sentence == inputs.language.render(inputs.language.parse(text))
