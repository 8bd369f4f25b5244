"""Rows read fast: only the fields that are counted and compared."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from genie_dp.dataset.parts import By
from genie_dp.dataset.traits import CLASSES, TRAITS, class_of, traits_of
from genie_dp.errors import GenieError, Span, problem_at
from genie_dp.languages import get_language
from genie_dp.languages.text import without_text
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import MOST_WEIGHT, check_texts, format_of, from_json, from_tsv, read_rows
from genie_dp.run.files import no_text, open_input


class ScannedRow(NamedTuple):
    """The fields of a row that are counted and compared."""

    id: str
    utterance: str
    program: str
    language: str
    source: str
    parent: str
    functions: tuple[str, ...] | list[str]
    derivation: tuple[str, ...] | list[str] = ()
    depth: int = 0


@dataclass(slots=True)
class DatasetFile:
    """One file of rows: its name and format, and after reading its rows and their hash.

    Attributes:
        about: a description of the rows, where the file is a temporary one.
    """

    name: str
    format: str
    rows: int = 0
    digest: xxhash.xxh3_128 = field(default_factory=xxhash.xxh3_128)
    about: str = ""

    @classmethod
    def from_name(cls, name: str) -> "DatasetFile":
        """Return the input of a file or URL, in the format that its name implies."""
        return cls(name, format_of(name))

    @property
    def label(self) -> str:
        """Return its name in a card."""
        return self.about or Path(self.name).name

    def as_dict(self) -> dict[str, object]:
        """Return its entry in a manifest."""
        return {
            "file": self.about or self.name,
            "rows": self.rows,
            "xxh3_128": self.digest.hexdigest(),
        }


IdFilter = Callable[[str], bool]


def scan(source: DatasetFile, *, wanted: IdFilter | None = None) -> Iterator[ScannedRow]:
    """Yield the rows of a file or URL, counting and hashing them in `source`.

    Args:
        wanted: takes an id; rows for which it is false may be left out, which is faster.

    Raises:
        GenieError: a line is no row (R010 to R012); the functions of a row are unknown.
    """
    source.rows, source.digest = 0, xxhash.xxh3_128()
    if source.format == "jsonl":
        return _scan_json(source, wanted)
    return _scan_tsv(source) if source.format == "tsv" else _scan_parquet(source)


_ID = re.compile(rb'\{"id": ?"([^"\\]*)"')


def _scan_json(source: DatasetFile, wanted: IdFilter | None) -> Iterator[ScannedRow]:
    decode, update = json.JSONDecoder().raw_decode, source.digest.update
    with open_input(source.name) as lines:
        for number, line in enumerate(lines, 1):
            update(line)
            source.rows = number
            if wanted and (match := _ID.match(line)) and not wanted(match[1].decode()):
                continue
            try:
                text = line.decode()
                row, end = decode(text)
                get = row.get
                id, utterance, program = row["id"], row["utterance"], row["program"]
                check_texts(id, utterance, program)
                language = get("language", DEFAULT_LANGUAGE)
                functions = get("functions") or _functions(program, language, (source, number))
                row_read = ScannedRow(
                    id, utterance, program, language, get("source", "synthetic"),
                    get("parent", ""), functions, get("derivation", ()), get("depth", 0),
                )  # fmt: skip
                *_, derivation, depth = row_read
                # All are texts.
                "".join((language, row_read.source, row_read.parent, *functions, *derivation))
                is_list = type(functions) in (list, tuple) and type(derivation) in (list, tuple)
                is_right = type(depth) is int and 0 <= get("weight", 1) <= MOST_WEIGHT
                if text[end:].strip() or not is_list or not is_right:
                    raise ValueError
            except UnicodeDecodeError as error:
                raise no_text(error, source.name, number) from None
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                # Says what is wrong; or reads what is unusual, such as space before the object.
                example = from_json(text.rstrip("\n"), file=source.name, number=number)
                row_read = as_row(example, (source, number))
            yield row_read


def _scan_tsv(source: DatasetFile) -> Iterator[ScannedRow]:
    with open_input(source.name) as lines:
        for number, line in enumerate(lines, 1):
            source.digest.update(line)  # as it is: line ends, marks and further columns count
            source.rows = number
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise no_text(error, source.name, number) from None
            yield as_row(from_tsv(text, file=source.name, number=number), (source, number))


def _scan_parquet(source: DatasetFile) -> Iterator[ScannedRow]:
    for row in read_rows(source.name):
        source.digest.update(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())
        source.rows += 1
        yield as_row(row, (source, source.rows))


RowPlace = tuple[DatasetFile, int]
"""An input and the number of a row in it."""


def as_row(row: Example, place: RowPlace | None = None) -> ScannedRow:
    """Return the fields of an example that are counted and compared.

    Raises:
        GenieError: its program cannot be read, or its language is none; with the place if given.
    """
    functions = row.functions or _functions(row.program, row.language, place)
    return ScannedRow(
        row.id, row.utterance, row.program, row.language, row.source, row.parent, functions,
        row.derivation, row.depth,
    )  # fmt: skip


def _functions(program: str, language: str, place: RowPlace | None) -> tuple[str, ...]:
    try:
        target = get_language(language)
        functions = target.form(program).functions
        # Nodes of one label are one function, as data sets of expressions count them.
        return functions if target.has_skills else tuple(dict.fromkeys(functions))
    except GenieError as error:
        if place is None:
            raise
        source, number = place
        span = Span(source.name, number, 1, number, 2)
        raise GenieError([problem_at(problem, span) for problem in error.problems]) from None


# A text, its entity type and its identifier; a placeholder; a number with its units, money, a day.
# It begins with a space, so that the search skips from one to the next.
_VALUES = re.compile(
    r' (?:(?:null )?""(?: \^\^\S+(?: id:\S+)?| at:\S+)?'
    r"|[A-Z][A-Z_]*(?:_[\w.:-]+)?_\d+"
    r"|-?\d[\d.]*(?:[eE][-+]?\d+)?L?(?: unit:\w+)*(?: -?\d[\d.]* unit:\w+)*"
    r"|currency:\S+|date:\S+|time:\S+|location:-?\d\S*)(?!\S)"
)


def hash_of(text: str) -> int:
    """Return a 64-bit hash; two of a million texts share one with chance 3e-8."""
    return xxhash.xxh3_64_intdigest(text.encode())


def program_key(program: str) -> str:
    """Return a program without its values: those that differ in values only are one.

    Placeholders count as values; words of the language (enums, places such as home) stay.

    >>> program_key('now => @c.say param:text:String = " hello you "')
    'now => @c.say param:text:String = _'
    >>> program_key("now => @c.say param:text:String = QUOTED_STRING_0")
    'now => @c.say param:text:String = _'
    """
    return _VALUES.sub(" _", without_text(program))


def combination(functions: Sequence[str]) -> str:
    """Return the combination of functions, whatever their order: "149 pairs" (Genie, 5.2).

    >>> combination(["@c.b", "@a.b", "@c.b"])
    '@a.b @c.b'
    """
    return " ".join(sorted(set(functions)))


Key = Callable[[str, str, Sequence[str]], str]
"""Takes the utterance, the program and its functions."""

KEYS: Mapping[By, Key] = {
    "sentence": lambda utterance, program, functions: utterance.casefold(),
    "program": lambda utterance, program, functions: program_key(program),
    "functions": lambda utterance, program, functions: combination(functions),
    # Families alone, and rows that are the same but for their id.
    "id": lambda utterance, program, functions: f"{utterance}\t{program}",
}


@dataclass(slots=True)
class GroupCounts:
    """Rows by class (Genie, Fig. 7) and trait, by source, and the functions they use."""

    rows: int = 0
    traits: Counter[int] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    combinations: Counter[str] = field(default_factory=Counter)

    def add(self, row: ScannedRow) -> None:
        """Count a row."""
        self.rows += 1
        self.traits[traits_of(row.program, row.functions, row.language)] += 1
        self.sources[row.source] += 1
        self.languages[row.language] += 1
        self.combinations[combination(row.functions)] += 1

    def functions(self) -> set[str]:
        """Return the functions in use."""
        return {
            function for names in self.combinations for function in names.split(" ") if function
        }

    def by_class(self) -> dict[str, int]:
        """Return rows by the classes of Figure 7, in its order."""
        counts = Counter[int]()
        for bits, rows in self.traits.items():
            counts[class_of(bits)] += rows
        return {name: counts[place] for place, (_, name) in enumerate(CLASSES)}

    def by_trait(self) -> dict[str, int]:
        """Return rows with filters, with timers and so on; a row may be in several."""
        return {
            name: sum(rows for bits, rows in self.traits.items() if bits & bit)
            for bit, name in TRAITS
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the entry in a manifest.

        >>> groups = GroupCounts()
        >>> groups.add(ScannedRow("a", "hi", "now => @c.f", "thingtalk", "human", "", ["@c.f"]))
        >>> groups.as_dict()["classes"]["primitive"], groups.as_dict()["sources"]
        (1, {'human': 1})
        """
        return {
            "rows": self.rows,
            "classes": self.by_class(),
            "traits": self.by_trait(),
            "sources": dict(sorted(self.sources.items())),
            "languages": dict(sorted(self.languages.items())),
            "functions": len(self.functions()),
            "function_combinations": len(self.combinations),
        }
