"""Skills and templates that a command names, read, with a note on those that are left out."""

from collections.abc import Sequence
from pathlib import Path

from genie_dp.cli.output import show_skipped
from genie_dp.languages.library import Library
from genie_dp.templates import cache, inputs
from genie_dp.templates.inputs import Inputs


def load_library_of(language: str, skills: Sequence[Path], *, skip_broken: bool) -> Library:
    """Return the result of `templates.inputs.load_library`, and show its skipped skills."""
    library = inputs.load_library(language, skills, skip_broken=skip_broken)
    show_skipped(library)
    return library


def load_inputs(
    language: str, skills: Sequence[Path], grammar: Sequence[Path], *, skip_broken: bool
) -> Inputs:
    """Return the result of `templates.cache.load_inputs`, and show its skipped skills."""
    found = cache.load_inputs(language, skills, grammar, skip_broken=skip_broken)
    show_skipped(found.library)
    return found
