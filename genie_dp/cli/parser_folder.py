"""How the folder of a parser comes to its place: whole, and over nothing that is no parser."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from genie_dp.errors import GenieError, Problem

if TYPE_CHECKING:
    from genie_dp.learn.saved import SavedModel


def refuse_output(target: Path, *, overwrite: bool, goes_on: bool = False) -> None:
    """Refuse an output that exists (Y022), or is to be replaced and is no parser (N007).

    Args:
        goes_on: whether a run that was let in before goes on.
    """
    if target.exists() and not (overwrite or goes_on):
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{target} exists already", hint=hint))
    if target.exists() and not (target / "config.json").is_file():
        message = f"{target} is no parser, so --overwrite leaves it alone"
        raise GenieError(Problem("N007", message, hint="give another --output"))


def write_network(saved: "SavedModel", folder: Path) -> None:
    """Write a network as others may read it; safetensors gives its file to nobody else."""
    from genie_dp.learn.saved import WEIGHTS, save_model

    save_model(saved, folder)
    (folder / WEIGHTS).chmod(0o666 & ~_umask())


def _umask() -> int:
    """Return what new files are not to be."""
    found = os.umask(0)
    os.umask(found)
    return found


def put_in_place(made: Path, output: Path) -> None:
    """Rename a complete folder to its output; an older one goes when the new one is there."""
    output.parent.mkdir(parents=True, exist_ok=True)
    old = made.with_name("replaced")
    if output.exists():
        output.replace(old)
    made.replace(output)
