"""The templates of a command, compiled, whatever they say of rows that fail."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from genie_dp.cli.inputs import Inputs, load_inputs

if TYPE_CHECKING:
    from genie_dp.synthesis.compiler import Compiled


def compiled_of(options: Mapping[str, Any]) -> "tuple[Inputs, Compiled]":
    """Return what the options name, and its templates compiled."""
    from genie_dp.synthesis.compiler import compile_grammar
    from genie_dp.synthesis.config import SynthesisConfig
    from genie_dp.templates.grammar import DEFAULT_SUBSET, subset

    inputs = load_inputs(
        options["language"], options["skills"], options["grammar"],
        skip_broken=options["skip_broken"],
    )  # fmt: skip
    grammar = subset(inputs.grammar, options["subsets"] or (DEFAULT_SUBSET,))
    config = SynthesisConfig(on_error="skip")
    return inputs, compile_grammar(grammar, inputs.language, inputs.library, config)
