"""Readers of data sets, one file each; the table says which there are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from genie_dp.dataset.left import Left
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.records import Example, Source


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What readers may need to know.

    Attributes:
        format: name in the table.
        language: of programs, where the format does not tell.
        source: of rows, where the format does not tell; "" for the reader's own guess.
        library: skills that ThingTalk programs are checked with, or None.
        placeholders: whether texts and names that a sentence says become placeholders.
    """

    format: str
    language: str = "thingtalk"
    source: Source | None = None
    library: Any = None
    placeholders: bool = False


Reader = Callable[[str, ReadOptions], Iterator[Example | Left]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A format that can be read: "module:function", what it holds, and its files' endings."""

    place: str
    what: str
    endings: tuple[str, ...] = ()


_HERE = "genie_dp.dataset.readers."
READERS: Mapping[str, Entry] = {
    "jsonl": Entry(f"{_HERE}own:read", "rows of genie-dp", (".jsonl", ".json")),
    "tsv": Entry(f"{_HERE}own:read_tsv", "id, utterance, program (Genie, genienlp)", (".tsv",)),
    "parquet": Entry(f"{_HERE}own:read", "rows of genie-dp", (".parquet",)),
    "hf": Entry(f"{_HERE}huggingface:read", "a folder for Hugging Face datasets, or of split"),
    "rasa": Entry(f"{_HERE}rasa:read", "Rasa NLU training data", (".yml", ".yaml")),
    "conll": Entry(f"{_HERE}conll:read", "a token and its BIO tag a line", (".conll", ".bio")),
    "thingtalk2": Entry(f"{_HERE}thingtalk2:read", "ThingTalk 2 programs, JSONL"),
    "schema2qa": Entry(f"{_HERE}thingtalk2:read", "ThingTalk 2 programs, JSONL"),
    "smcalflow": Entry(f"{_HERE}smcalflow:read", "Lispress programs, JSONL"),
    "topv2": Entry(f"{_HERE}topv2:read", "TOP parses, JSONL"),
    "pizza": Entry(f"{_HERE}pizza:read", "EXR programs, JSONL"),
    "overnight": Entry(f"{_HERE}overnight:read", "lambda-DCS programs, JSONL or TSV"),
    "sgd": Entry(f"{_HERE}sgd:read", "trees of acts, JSONL"),
    "intents": Entry(f"{_HERE}intents:read", "utterance and intent, TSV"),
}


def find_reader(name: str) -> Reader:
    """Return the reader of that name.

    Raises:
        GenieError: there is none (D021).
    """
    if name not in READERS:
        hint = did_you_mean(name, READERS) or f"known are {', '.join(READERS)}"
        raise GenieError(Problem("D021", f"cannot read the format {name!r}", hint=hint))
    module, _, function = READERS[name].place.partition(":")
    reader: Reader = getattr(import_module(module), function)
    return reader
