"""Explain and synthesis are inverse: what one says, the other finds, and nothing else."""

import random
import time
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path

import pytest

from genie_dp.languages import get_language
from genie_dp.languages.sexpr.declarations import load_declarations
from genie_dp.rows import from_json
from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import Chart, ChartEntry
from genie_dp.synthesis.compiler import compile_grammar, compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import Explainer, read_sentence
from genie_dp.synthesis.rules import Agreement
from genie_dp.templates.load import load_grammar
from tests.synthesis.synthesis_setup import rows, shipped, text_of

PIZZA = Path(__file__).parents[2] / "examples" / "pizza-order"


@cache
def explainer():
    return Explainer(compile_inputs(shipped()))


def sampled(count):
    """Return rows, the same number of each depth as far as there are."""
    shuffled = random.Random("explain").sample(rows(), len(rows()))
    by_depth = {}
    for row in shuffled:
        by_depth.setdefault(row.depth, []).append(row)
    turns = (row for turn in zip_longest(*by_depth.values()) for row in turn if row is not None)
    return list(islice(turns, count))


@cache
def programs_of(utterance):
    return explainer().explain(utterance).programs


def lost(sentences, programs_of=programs_of):
    """Return the rows whose own program is not among those that are found."""
    return [
        f"{row.utterance} | {row.program}"
        for row in sentences
        if row.program not in programs_of(row.utterance)
    ]


@pytest.mark.parametrize(
    "count", [300, pytest.param(900, marks=pytest.mark.slow)], ids=lambda count: f"{count} rows"
)
def test_every_sentence_of_synthesis_is_explained_with_its_program(count):
    sentences = sampled(count)
    assert len(sentences) == count
    assert set(range(1, 5)) <= {row.depth for row in sentences}
    assert lost(sentences) == []


@pytest.mark.parametrize(
    "count", [300, pytest.param(900, marks=pytest.mark.slow)], ids=lambda count: f"{count} rows"
)
def test_hardly_a_sentence_of_synthesis_has_a_second_program(count):
    """The two skills of a clash may meet in other words only: so not none, but one in 300."""
    sentences = [row.utterance for row in sampled(count)]
    two = [sentence for sentence in sentences if len(programs_of(sentence)) > 1]
    assert len(two) <= count // 300, "\n".join(two)


def test_the_derivation_of_synthesis_is_among_the_trees():
    missing = []
    for row in sampled(100):
        trees = [tree for reading in explainer().explain(row.utterance).readings
                 if reading.program == row.program for tree in reading.trees]  # fmt: skip
        if not any(_templates(tree) == sorted(row.derivation) for tree in trees):
            missing.append(row.utterance)
    assert missing == []


def _templates(tree):
    """Return the ids of a tree's templates, sorted: synthesis puts a gap's filler last."""
    names = [tree.template] if tree.template else []
    for child in tree.children:
        names += _templates(child)
    return sorted(names)


@pytest.mark.slow
def test_every_program_that_is_explained_is_well_typed_and_canonical():
    language, library = get_language("thingtalk"), shipped().library
    programs = {p for row in sampled(200) for p in explainer().explain(row.utterance).programs}
    assert len(programs) > 150
    for text in sorted(programs):
        program = language.from_tokens(text)
        assert [p for p in language.check(program, library) if p.severity == "error"] == []
        assert language.tokens(language.canonical(program, library), library) == text


def said_again(entry, way):
    """Return (words, program) of a way, from its leaves up with the functions of synthesis."""
    pieces = [c.piece if isinstance(c, ChartEntry) else c for c, _ in way.children]
    agreeing = {p.child for p in way.rule.layout.parts if isinstance(p, Agreement)}
    numbers = {i: pieces[i].features.num for i in agreeing}
    combined = wording(way.rule, numbers).assemble(*pieces)
    return combined.text, combined.value.text


def ways_of(entry, met):
    if id(entry) not in met:
        met.add(id(entry))
        for way in entry.ways:
            yield entry, way
            for child, _ in way.children:
                if isinstance(child, ChartEntry):
                    yield from ways_of(child, met)


def test_every_step_of_a_derivation_says_its_words_again():
    grammar = explainer().grammar
    steps = 0
    for row in sampled(100):
        sentence = read_sentence(row.utterance, grammar.compiled.placeholders)
        chart = Chart(grammar)
        for root in grammar.compiled.roots:
            for entry in chart.cell(root, sentence.tokens):
                assert grammar.compiled.placeholders.show(entry.piece.text) == row.utterance
                for inner, way in ways_of(entry, set()):
                    steps += 1
                    text, program = said_again(inner, way)
                    assert (text, program) == (inner.piece.text, inner.piece.value.text)
    assert steps > 300


def test_the_pizza_example_is_explained_too():
    language = get_language("sexpr")
    library = load_declarations(PIZZA / "pizza.sexpr")
    grammar = load_grammar([PIZZA / "main.genie"], language)
    config = SynthesisConfig(size=300, pool_size=300)
    compiled = compile_grammar(grammar, language, library, config)
    engine = build_engine(compiled, config)
    sentences = [from_json(line) for line in text_of(engine).splitlines()]
    assert len(sentences) == 300
    found_by = Explainer(compiled)
    assert lost(sentences, lambda said: found_by.explain(said).programs) == []


def test_a_sentence_of_fifteen_words_takes_less_than_a_second():
    sentences = [row.utterance for row in rows() if len(row.utterance.split()) == 15][:20]
    assert len(sentences) == 20
    explainer().explain(sentences[0])
    times = []
    for sentence in sentences:
        start = time.process_time()
        explainer().explain(sentence)
        times.append(time.process_time() - start)
    assert sorted(times)[len(times) // 2] < 1
