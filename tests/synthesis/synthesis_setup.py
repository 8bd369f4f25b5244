"""Engines, explainers and rows of the shipped skills and grammar, made once for all tests."""

from functools import cache
from typing import Any

from genie_dp.cli.inputs import load_inputs
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import from_json
from genie_dp.synthesis.compiler import CompiledGrammar, compile_grammar, compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.engine import SynthesisEngine, build_engine
from genie_dp.synthesis.explain import Explainer
from genie_dp.synthesis.rows import SynthesisCounts, block_numbers, new_rows
from genie_dp.synthesis.sentence_hashes import SentenceHashes
from genie_dp.templates.grammar import subset
from genie_dp.templates.inputs import Inputs

FEW = (
    "common", "com.gmail", "com.twitter", "com.nytimes", "com.slack", "com.thecatapi",
    "org.thingpedia.light-bulb", "org.thingpedia.thermostat", "org.thingpedia.weather",
)  # fmt: skip


@cache
def shipped() -> Inputs:
    return load_inputs("thingtalk", (), (), skip_broken=False)


@cache
def few() -> Inputs:
    """Return some of the shipped skills, where a test builds an engine of its own."""
    skills = tuple(data_folder("thingpedia") / name for name in FEW)
    return load_inputs("thingtalk", skills, (), skip_broken=False)


@cache
def compiled(inputs: str = "shipped") -> CompiledGrammar:
    return compile_inputs(few() if inputs == "few" else shipped())


@cache
def explainer(inputs: str = "shipped") -> Explainer:
    return Explainer(compiled(inputs))


@cache
def describer(inputs: str = "shipped") -> Describer:
    return Describer(compiled(inputs), (few() if inputs == "few" else shipped()).library)


_COMPILED: dict[object, tuple[Inputs, CompiledGrammar]] = {}


def engine(inputs: Inputs | None = None, **settings: Any) -> SynthesisEngine:
    """Return an engine of all roots, over a few skills unless others are given.

    Engines that differ only in what they draw share one compiled grammar.
    """
    inputs = inputs or few()
    roots = tuple(category.name for category in inputs.grammar.roots())
    defaults = {"size": 6000, "max_depth": 4, "pool_size": 300, "roots": roots}
    config = SynthesisConfig(**{**defaults, **settings})
    chosen = config.subsets, config.roots, config.include, config.exclude, config.on_error
    key = id(inputs), *chosen, tuple(sorted(config.weights.items()))
    if key not in _COMPILED:
        grammar = subset(inputs.grammar, config.subsets)
        found = compile_grammar(grammar, inputs.language, inputs.library, config)
        _COMPILED[key] = inputs, found
    return build_engine(_COMPILED[key][1], config)


@cache
def shipped_engine() -> SynthesisEngine:
    roots = tuple(category.name for category in shipped().grammar.roots())
    config = SynthesisConfig(size=6000, max_depth=4, pool_size=300, roots=roots)
    return build_engine(compiled(), config)


def text_of(made: SynthesisEngine, **options: Any) -> str:
    numbers = options.pop("numbers", block_numbers(made))
    options.setdefault("limit", made.config.size)
    return b"".join(
        part.text
        for part in new_rows(made, numbers, SentenceHashes(), SynthesisCounts(), **options)
    ).decode()


@cache
def rows() -> tuple[Example, ...]:
    """Return some thousand rows of the shipped skills, up to depth 4."""
    return tuple(from_json(line) for line in text_of(shipped_engine()).splitlines())
