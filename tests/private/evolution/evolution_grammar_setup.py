"""Engines whose pools know origins: of a small invented library, and of some shipped skills."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from genie_dp.cli.inputs import load_inputs
from genie_dp.private.evolution.grammar import GrammarGenerator
from genie_dp.private.tables.schema import Schema
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine, build_engine
from genie_dp.synthesis.explain import Explainer
from genie_dp.templates.grammar import subset
from genie_dp.templates.inputs import Inputs
from tests.golden import DATA
from tests.skills.skill_files import write_library
from tests.synthesis.synthesis_project import errands
from tests.synthesis.synthesis_setup import few


@cache
def tiny() -> Inputs:
    """Return a library of mails, lights, books and web sites, with thirty templates."""
    text = (DATA / "explain" / "library.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        root = write_library(Path(folder), text)
        return load_inputs(
            "thingtalk", (root / "skills",), (root / "main.genie",), skip_broken=False
        )


@cache
def sexpr() -> Inputs:
    """Return a grammar of S-expressions with Python functions."""
    with tempfile.TemporaryDirectory() as folder:
        errands(Path(folder))
        return load_inputs("sexpr", (), (Path(folder),), skip_broken=False)


def engine_of(inputs: Inputs, **settings: Any) -> SynthesisEngine:
    """Return a new engine, built without anything that others have met."""
    config = SynthesisConfig(**{"size": 1000, "max_depth": 4, "pool_size": 200, **settings})
    compiled = compile_grammar(
        subset(inputs.grammar, config.subsets), inputs.language, inputs.library, config
    )
    return build_engine(compiled, config, with_origins=True)


@cache
def engine(name: str) -> SynthesisEngine:
    """Return the engine of one of the inputs; built once."""
    return engine_of(INPUTS[name]())


def generator(name: str = "tiny", schema: Schema | None = None) -> GrammarGenerator:
    """Return a new generator over an engine that is built once."""
    return GrammarGenerator(engine(name), inputs=INPUTS[name]().fingerprint(), schema=schema)


@cache
def explainer(name: str) -> Explainer:
    """Return what derives sentences by the same grammar."""
    return Explainer(engine(name).compiled, max_depth=engine(name).config.max_depth)


INPUTS = {"tiny": tiny, "few": few, "sexpr": sexpr}
