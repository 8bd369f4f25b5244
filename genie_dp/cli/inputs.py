"""Skills and templates that a command names, read; what was left out of them is told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.cli.output import show_skipped
from genie_dp.templates import inputs as stage
from genie_dp.templates.inputs import Inputs

if TYPE_CHECKING:
    from genie_dp.synthesis.compiler import Compiled


def load_library_of(language: str, skills: Sequence[Path], *, skip_broken: bool) -> Any:
    """Return what `templates.inputs.load_library` does."""
    library = stage.load_library(language, skills, skip_broken=skip_broken)
    show_skipped(library)
    return library


def load_inputs(
    language: str, skills: Sequence[Path], grammar: Sequence[Path], *, skip_broken: bool
) -> Inputs:
    """Return what `templates.inputs.load_inputs` does."""
    inputs = stage.load_inputs(language, skills, grammar, skip_broken=skip_broken)
    show_skipped(inputs.library)
    return inputs


def compiled_of(options: Mapping[str, Any]) -> "tuple[Inputs, Compiled]":
    """Return what the options name, and its templates compiled, whatever they say of bad rows."""
    from genie_dp.synthesis.compiler import compile_inputs

    inputs = load_inputs(
        options["language"], options["skills"], options["grammar"],
        skip_broken=options["skip_broken"],
    )  # fmt: skip
    return inputs, compile_inputs(inputs, options["subsets"])
