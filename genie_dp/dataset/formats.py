"""Formats of data sets: their readers and writers, and the fields that each keeps.

Readers and writers are imported when they are needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.library import Library
from genie_dp.records import DEFAULT_LANGUAGE, Example, Slot, Source
from genie_dp.rows import check_row, tuple_of

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class LeftRow:
    """A row that was left out.

    Attributes:
        reason: one of few, for counting, such as "projection".
        detail: of this row.
    """

    id: str
    utterance: str
    program: str
    reason: str
    detail: str = ""


# ---------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The context of a reader.

    Attributes:
        format: name in the table.
        language: of programs, where the format does not define it.
        source: of rows, where the format does not define it; "" for the reader's own guess.
    """

    format: str
    language: str = DEFAULT_LANGUAGE
    source: Source | None = None


Reader = Callable[[str, ReadOptions], Iterator[Example | LeftRow]]


@dataclass(frozen=True, slots=True)
class ReadFormat:
    """A format that can be read: "module:function", its contents, and its files' endings."""

    place: str
    content: str
    endings: tuple[str, ...] = ()


_READERS = "genie_dp.dataset.readers:"
READERS: Mapping[str, ReadFormat] = {
    "jsonl": ReadFormat(f"{_READERS}read_own", "rows of genie-dp", (".jsonl", ".json")),
    "tsv": ReadFormat(f"{_READERS}read_tsv", "id, utterance, program (Genie, genienlp)", (".tsv",)),
    "parquet": ReadFormat(f"{_READERS}read_own", "rows of genie-dp", (".parquet",)),
    "hf": ReadFormat(f"{_READERS}read_folder", "a folder for Hugging Face datasets, or of split"),
    "rasa": ReadFormat(f"{_READERS}read_rasa", "Rasa NLU training data", (".yml", ".yaml")),
    "conll": ReadFormat(
        f"{_READERS}read_conll", "a token and its BIO tag a line", (".conll", ".bio")
    ),
    "smcalflow": ReadFormat(f"{_READERS}read_expressions", "Lispress programs, JSONL"),
    "topv2": ReadFormat(f"{_READERS}read_topv2", "TOP parses, JSONL"),
    "pizza": ReadFormat(f"{_READERS}read_expressions", "EXR programs, JSONL"),
    "overnight": ReadFormat(f"{_READERS}read_overnight", "lambda-DCS programs, JSONL or TSV"),
    "sgd": ReadFormat(f"{_READERS}read_expressions", "trees of acts, JSONL"),
    "intents": ReadFormat(f"{_READERS}read_intents", "utterance and intent, TSV"),
}


def find_reader(name: str) -> Reader:
    """Return the reader of that name.

    Raises:
        GenieError: there is none (D021).
    """
    if name not in READERS:
        hint = did_you_mean(name, READERS) or f"known are {', '.join(READERS)}"
        raise GenieError(Problem("D021", f"cannot read the format {name!r}", hint=hint))
    reader: Reader = _import_function(READERS[name].place)
    return reader


def _import_function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)


# ---------------------------------------------------------------------------------------- writing


Tools = Literal["some", "used", "all"]


def _no_library(language: str) -> Library:
    raise NotImplementedError(f"nobody said where the skills of {language} are")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The context of a writer; all but the format is of chats.

    Attributes:
        format: name in the table.
        system: the first message of the system; "" for nothing.
        refusal: the answer of the assistant to a sentence outside all skills.
        tools: which functions a row has as tools: `some` are its own and others by chance, `used`
            those of any row, `all` those of the library.
        other_tools: how many others, of `some`.
        keep_placeholders: whether rows with placeholders are written, too.
        library_of: language of programs -> its library.
        used: functions of all rows, of `used`.
    """

    format: str = ""
    system: str = ""
    refusal: str = ""
    tools: Tools = "some"
    other_tools: int = 0
    keep_placeholders: bool = False
    library_of: Callable[[str], Library] = _no_library
    used: frozenset[str] = frozenset()


Note = Callable[[LeftRow], None]
"""Takes the rows that cannot be written."""
Writer = Callable[[Iterable[Example], BinaryIO, Note, WriteOptions], None]


@dataclass(frozen=True, slots=True)
class WrittenFormat:
    """A format that can be written.

    Attributes:
        place: "module:function".
        keeps: the fields that are kept, for the user.
        endings: of its files; () for a folder, and for formats that only --to selects.
        file: the ending of the files in a folder; "" where it is never one.
        goes_into: "file", "folder" or, by its name, "either".
    """

    place: str
    keeps: str
    endings: tuple[str, ...] = ()
    file: str = ""
    goes_into: Literal["file", "folder", "either"] = "file"


_CHATS = "genie_dp.dataset.chat:write_chats"


def _chat(kept: str, others: str = "other programs text") -> WrittenFormat:
    keeps = f"{kept}; calls are tool calls, {others}; all else is dropped"
    return WrittenFormat(_CHATS, keeps, file=".jsonl", goes_into="either")


_WRITERS = "genie_dp.dataset.writers:"
_ALL = "everything"
WRITERS: Mapping[str, WrittenFormat] = {
    "jsonl": WrittenFormat(f"{_WRITERS}write_jsonl", _ALL, (".jsonl", ".json")),
    "tsv": WrittenFormat(
        f"{_WRITERS}write_tsv",
        "id, utterance and program; language, source, parent, derivation, functions, depth, slots "
        "and weight are dropped",
        (".tsv",),
    ),
    "parquet": WrittenFormat(f"{_WRITERS}write_parquet", _ALL, (".parquet",)),
    "hf": WrittenFormat(f"{_WRITERS}write_records", _ALL, file=".jsonl", goes_into="folder"),
    "hf-parquet": WrittenFormat(
        f"{_WRITERS}write_parquet", _ALL, file=".parquet", goes_into="folder"
    ),
    "rasa": WrittenFormat(
        f"{_WRITERS}write_rasa",
        "everything, in metadata; Rasa itself sees sentence, intent (the functions) and entities",
        (".yml", ".yaml"),
    ),
    "conll": WrittenFormat(
        f"{_WRITERS}write_conll",
        "everything, in comments; other readers see tokens and tags",
        (".conll", ".bio"),
    ),
    "chat": _chat("sentence and program"),
    "chat-hf": _chat("id, sentence and program"),
    "chat-sharegpt": _chat("id, sentence and program"),
    "needle": _chat("sentence and program", "rows of other programs are left out"),
    "functiongemma": _chat("id, sentence and program"),
}
CHATS = tuple(name for name, written in WRITERS.items() if written.place == _CHATS)


def find_writer(name: str) -> Writer:
    """Return the writer of that name.

    Raises:
        GenieError: there is none (D021).
    """
    if name not in WRITERS:
        hint = did_you_mean(name, WRITERS) or f"known are {', '.join(WRITERS)}"
        raise GenieError(Problem("D021", f"cannot write the format {name!r}", hint=hint))
    writer: Writer = _import_function(WRITERS[name].place)
    return writer


def format_by_name(target: str, table: Mapping[str, Any], *, is_input: bool) -> str:
    """Return the format that a name implies.

    Raises:
        GenieError: it implies none (D021).
    """
    name = target.rstrip("/").rsplit("/", 1)[-1]
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    names = [key for key, entry in table.items() if name.endswith(entry.endings or "\0")]
    if names:
        return names[0]
    is_folder = Path(target).is_dir() if is_input else "." not in name and target != "-"
    if is_folder:
        return "hf"
    option = "--from" if is_input else "--to"
    hint = f"name it: {option} {' | '.join(table)}"
    raise GenieError(Problem("D021", f"cannot tell the format of {target!r}", hint=hint))


# ------------------------------------------------------------------- rows in other formats' margins


def as_plain(row: Example, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a row that are not their defaults.

    >>> as_plain(Example("a", "hi", "now => @c.f", functions=("@c.f",)), without=("utterance",))
    {'id': 'a', 'program': 'now => @c.f', 'functions': ['@c.f']}
    """
    values: dict[str, Any] = {}
    for f in fields(Example):
        value = getattr(row, f.name)
        if f.name in without or value == f.default or (f.name == "slots" and not value):
            continue
        if f.name == "slots":
            value = {token: [slot.type, slot.parameter] for token, slot in value.items()}
        values[f.name] = list(value) if isinstance(value, tuple) else value
    return values


def row_of_plain(plain: dict[str, Any], **more: Any) -> Example:
    """Return the row of plain data.

    Raises:
        TypeError: the data are none of a row.

    >>> row_of_plain({"id": "a", "program": "now => @c.f"}, utterance="hi").utterance
    'hi'
    """
    values = {**more, **plain}
    for name in ("derivation", "functions"):
        values[name] = tuple_of(values.get(name, ()), name)
    values["slots"] = {k: Slot(*s) for k, s in values.get("slots", {}).items()}
    return check_row(Example(**values))
