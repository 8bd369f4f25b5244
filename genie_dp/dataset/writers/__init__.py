"""Writers of data sets, one file each; the table says which there are, and what each drops."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import BinaryIO

from genie_dp.dataset.left import Left
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.records import Example

Note = Callable[[Left], None]
"""Takes the rows that cannot be written."""
Writer = Callable[[Iterable[Example], BinaryIO, Note], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A format that can be written.

    Attributes:
        place: "module:function".
        keeps: what is kept, said to the user.
        endings: of its files; () for a folder.
        file: for a folder, the ending of the files in it.
        is_lossless: whether reading gives the rows back.
    """

    place: str
    keeps: str
    endings: tuple[str, ...] = ()
    file: str = ""
    is_lossless: bool = True


_HERE = "genie_dp.dataset.writers."
_ALL = "everything"
WRITERS: Mapping[str, Entry] = {
    "jsonl": Entry(f"{_HERE}own:write_jsonl", _ALL, (".jsonl", ".json")),
    "tsv": Entry(
        f"{_HERE}own:write_tsv",
        "id, utterance and program; language, source, parent, derivation, functions, depth, slots "
        "and weight are dropped",
        (".tsv",),
        is_lossless=False,
    ),
    "parquet": Entry(f"{_HERE}own:write_parquet", _ALL, (".parquet",)),
    "hf": Entry(f"{_HERE}huggingface:write", _ALL, file=".jsonl"),
    "hf-parquet": Entry(f"{_HERE}own:write_parquet", _ALL, file=".parquet"),
    "rasa": Entry(
        f"{_HERE}rasa:write",
        "everything, in metadata; Rasa itself sees sentence, intent (the functions) and entities",
        (".yml", ".yaml"),
    ),
    "conll": Entry(
        f"{_HERE}conll:write",
        "everything, in comments; other readers see tokens and tags",
        (".conll", ".bio"),
    ),
}


def find_writer(name: str) -> Writer:
    """Return the writer of that name.

    Raises:
        GenieError: there is none (D021).
    """
    if name not in WRITERS:
        hint = did_you_mean(name, WRITERS) or f"known are {', '.join(WRITERS)}"
        raise GenieError(Problem("D021", f"cannot write the format {name!r}", hint=hint))
    module, _, function = WRITERS[name].place.partition(":")
    writer: Writer = getattr(import_module(module), function)
    return writer
