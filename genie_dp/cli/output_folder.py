"""How an output that is a folder comes to its place: whole, and over nothing of another kind."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from genie_dp.cli.delivery import refuse_or_clear
from genie_dp.errors import GenieError, Problem


@dataclass(frozen=True, slots=True)
class FolderKind:
    """How a folder of one command is known, and what is said of one that is another.

    Attributes:
        file: is in each of them.
        mark: text that this file has.
        name: what the folder is none of.
        code: of the error.
    """

    file: str
    mark: str
    name: str
    code: str

    def has(self, folder: Path) -> bool:
        """Tell whether a folder is of this kind."""
        file = folder / self.file
        return file.is_file() and self.mark.encode() in file.read_bytes()


# Folders of Hugging Face have a config.json, too: a base model is none to replace.
PARSER = FolderKind("config.json", '"parser": {', "parser", "N007")


def refuse_output(
    output: Path, work: Path, kind: FolderKind, *, resume: bool, overwrite: bool
) -> None:
    """Refuse an output that exists; with `overwrite` clear what an earlier run left.

    Raises:
        GenieError: it exists (Y022), or would be replaced and is of another kind (its code).
    """
    replaces = overwrite or (resume and work.exists())
    if replaces and output.exists() and not kind.has(output):
        message = f"{output} is no {kind.name}, so --overwrite leaves it alone"
        raise GenieError(Problem(kind.code, message, hint="give another --output"))
    refuse_or_clear(output, work, resume=resume, overwrite=overwrite)


def put_in_place(made: Path, output: Path, work: Path) -> None:
    """Give a complete folder its name, in place of the one before, and take the work away."""
    output.parent.mkdir(parents=True, exist_ok=True)
    old = work / "replaced"
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.replace(old)
    made.replace(output)
    shutil.rmtree(work)
