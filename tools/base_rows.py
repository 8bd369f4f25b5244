"""Rows of many skill libraries at once, on which a base model is trained.

    python tools/base_rows.py OUTPUT [--only NAME ..] [--shared ../shared/data]

OUTPUT gets a folder for each library, with its tools.json and its rows.jsonl, and libraries.json,
which lists them. A library that is listed there is skipped; delete its folder to make it anew.
NAME is a library (topv2-alarm) or the beginning of several (topv2). Sentences of benchmarks are
left out, whatever they mean there. Each library has one line of output.

Rows are of two kinds. Of the shipped skills, of servers of tools and of Home Assistant's templates
they are synthesized, with placeholders where `genie-dp data augment` leaves some. The others are
sentences of people with labelled words (tools/base_schemas says what the labels mean). Their values
are written out as they stand in the sentence: `genie-dp train` reads them.
"""

import argparse
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

import genie_dp
from genie_dp.english import forms as english
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.tools import read_tools
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.records import Example
from genie_dp.rows import read_rows, to_json
from genie_dp.skills.words import token_places

Json = dict[str, Any]
ROOT = Path(__file__).parents[1]
SCHEMAS = Path(__file__).parent / "base_schemas"
SERVER_LIBRARIES = 9  # what the servers make
ROWS_OF_A_SENTENCE = 16  # of an invented function, with other values each
LISTED, ROWS, TOOLS = "libraries.json", "rows.jsonl", "tools.json"


# ------------------------------------------------------------------------------- benchmarks

# What nothing is learned from; the first ones stand in the repository, the others in shared/data.
_OWN_BENCHMARKS = ("thingpedia/*/eval.tsv", "benchmarks/everyday/*.tsv")
_SHARED_BENCHMARKS = (
    "slurp/*", "home_assistant/tests*", "tools/bfcl.*", "tools/toolalpaca.simulated.jsonl",
    "tools/nestful.*.jsonl", "schema2qa/*", "overnight/*",
)  # fmt: skip
_NOW = datetime(2026, 11, 23, 9)
HASHES, BITS = "sentences.npz", 0xFFFFFFFF


def normal_hash(sentence: str) -> int:
    """Return a hash of a sentence without case and punctuation.

    >>> normal_hash("Turn on the  lights!") == normal_hash("turn on the lights")
    True
    """
    words = re.sub(r"[\W_]+", " ", sentence.lower()).strip()
    return xxhash.xxh3_64_intdigest(words.encode())


def benchmark_hashes(shared: Path) -> set[int]:
    """Return the hashes of all sentences of benchmarks: those here, and those of a data folder.

    Each has a second one, of what a parser reads in it: "timer for NUMBER_0 minutes".
    """
    files = [path for pattern in _OWN_BENCHMARKS for path in ROOT.glob(pattern)]
    files += [path for pattern in _SHARED_BENCHMARKS for path in shared.glob(pattern)]
    sentences: set[str] = set()
    for path in files:
        for line in lines_of(path) if path.suffix != ".md" else ():
            if path.suffix == ".tsv":
                sentences.update(line.split("\t"))
            elif line.startswith("{"):
                row = json.loads(line)
                texts = (row.get(name) for name in ("utterance", "canonical"))
                sentences.update(text for text in texts if isinstance(text, str))
    reader = load_reader()
    read = (reader.read(sentence, now=_NOW).utterance for sentence in sentences)
    return {normal_hash(text) for text in (*sentences, *read)} - {normal_hash("")}


def write_hashes(output: Path) -> None:
    """Write 32 bits of the hash of each sentence of all libraries, as differences, in order."""
    entries = json.loads((output / LISTED).read_text(encoding="utf-8"))
    files = [output / entry["rows"] for entry in entries]
    said = (json.loads(line)["utterance"] for path in files for line in lines_of(path))
    hashes = np.array(sorted({normal_hash(sentence) & BITS for sentence in said}), np.int64)
    np.savez_compressed(output / HASHES, steps=np.diff(hashes, prepend=0).astype(np.uint32))


def read_hashes(path: Path) -> set[int]:
    """Return what `write_hashes` wrote."""
    with np.load(path) as file:
        return set(file["steps"].astype(np.int64).cumsum().tolist())


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of a file, which may be packed."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\r\n")


def objects_of(path: Path) -> Iterator[Json]:
    """Yield the objects of a file of JSON lines."""
    return map(json.loads, lines_of(path))


# ---------------------------------------------------------------------------------- schemas


@dataclass(frozen=True)
class Parameter:
    """A parameter that the words of a slot fill; `sort` is a type of base_schemas/README.md."""

    name: str
    sort: str
    description: str

    @property
    def schema(self) -> Json:
        """Return it as JSON Schema."""
        said = {"description": self.description}
        if self.sort.startswith("name "):
            return {"type": "string", "x-entity": self.sort.removeprefix("name ")} | said
        if " | " in self.sort:
            return {"enum": self.sort.split(" | ")} | said
        return {"type": "integer" if self.sort == "number" else "string"} | said


@dataclass
class Function:
    """A function that a label stands for; the parameter of a slot is None if it says nothing."""

    name: str
    description: str
    slots: dict[str, Parameter | None] = field(default_factory=dict)

    @property
    def tool(self) -> Json:
        """Return it as a tool."""
        properties = {p.name: p.schema for p in self.slots.values() if p is not None}
        schema = {"type": "object", "properties": properties}
        return {"name": self.name, "description": self.description, "inputSchema": schema}


Schema = Mapping[str, Function | None]
"""Label -> its function; None for sentences to refuse."""


def read_schema(text: str) -> Schema:
    """Return what a file of base_schemas says.

    >>> read_schema("Play = play: Play music\\n  song = title (text): what is played")["Play"].tool
    {'name': 'play', 'description': 'Play music', 'inputSchema': {'type': 'object', \
'properties': {'title': {'type': 'string', 'description': 'what is played'}}}}
    """
    schema: dict[str, Function | None] = {}
    last = Function("", "")
    for line in text.splitlines():
        labels, _, said = line.partition(" = ")
        name, _, description = said.partition(": ")
        if not line.startswith(" "):
            last = Function(name, description)
            schema |= dict.fromkeys(labels.split(), None if said == "-" else last)
            continue
        match = re.fullmatch(r"(\S+) \((.+?)\): (.+)", said)
        parameter = Parameter(*match.groups()) if match else None
        last.slots |= dict.fromkeys(labels.split(), parameter)
    return schema


# ------------------------------------------------------------------------ labelled sentences


@dataclass(frozen=True)
class Labelled:
    """A sentence with a label, and slots: name, and where its words begin and end."""

    id: str
    sentence: str
    label: str
    slots: tuple[tuple[str, int, int], ...] = ()


def from_snips(row: Json) -> Labelled:
    """Return a row of SNIPS."""
    slots = tuple((slot["name"], slot["start"], slot["end"]) for slot in row["slots"])
    return Labelled(row["id"], row["utterance"], row["intent"], slots)


def from_topv2(row: Json) -> Labelled:
    """Return a row of TOPv2: its outer intent and the slots of that, with all of their words."""
    sentence, place = row["utterance"], 0
    opened: list[tuple[str, int]] = []
    slots = []
    for token in row["top"].split():
        if token.startswith(("[IN:", "[SL:")):
            opened.append((token[4:], place))
        elif token == "]" and opened:  # noqa: S105
            name, start = opened.pop()
            if len(opened) == 1:
                start += len(sentence[start:place]) - len(sentence[start:place].lstrip())
                slots.append((name, start, place))
        else:
            place = sentence.index(token[0], place)
            for letter in token:  # "I'm" of the sentence is "I 'm" there
                place = sentence.index(letter, place) + 1
    return Labelled(row["id"], sentence, row["top"].split()[0][4:], tuple(slots))


def from_sgd(row: Json) -> Labelled | None:
    """Return a first turn of SGD that says what is wanted, and nothing but that; None for others.

    What a turn means that follows others stands in those.
    """
    acts = re.findall(r'\(([A-Z_]+)\b(?: (\w+) "([^"]*)")?', row["program"].removeprefix("(Turn "))
    said = [(slot, value) for act, slot, value in acts if act == "INFORM"]
    names = {act for act, _, _ in acts}
    is_command = {"INFORM_INTENT"} <= names <= {"INFORM_INTENT", "INFORM"}
    sentence = row["utterance"]
    places = [(slot, re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence, re.IGNORECASE))
              for slot, value in said]  # fmt: skip
    if row["prev_agent"] or not is_command or any(match is None for _, match in places):
        return None
    slots = tuple((slot, *match.span()) for slot, match in places if match)
    return Labelled(f"sgd-{row['id']}", sentence, row["intent"], slots)


_SPEAKER = frozenset(("i", "me", "my", "we", "us", "our", "myself", "mine"))
_BEFORE_TIMES = frozenset(("for", "at", "on", "to", "of", "from"))
_ENDS = frozenset(("to", "until", "till", "-"))
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
_QUOTES = frozenset('"“”„«»')


class UnfitError(ValueError):
    """A sentence does not fit a schema; the text says why, without the sentence."""


class Converter:
    """Makes rows of labelled sentences.

    Attributes:
        left: why sentences are left out, and how many.
    """

    def __init__(self, schema: Schema, tools: str = ""):
        """Keep the schema; `tools` is the library where the schema does not say it."""
        self.schema = schema
        self.left: Counter[str] = Counter()
        self.names: dict[str, Counter[str]] = defaultdict(Counter)
        self.language = get_language("calls")
        self.library = read_tools({TOOLS: tools or self.tools()})

    def tools(self, *, most_names: int = 0) -> str:
        """Return the library; a kind with few names has these beside it."""
        named = {kind: sorted(found) for kind, found in self.names.items()}
        entities = {kind: found for kind, found in named.items() if len(found) <= most_names}
        functions = {f.name: f for f in self.schema.values() if f is not None}
        tools = [function.tool for function in functions.values()]
        whole = {"entities": entities, "tools": tools} if entities else {"tools": tools}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"

    def row(self, given: Labelled) -> Example | None:
        """Return the row of a sentence; None, and a count, where it does not fit the schema."""
        try:
            return self._row(given)
        except UnfitError as error:
            self.left[str(error)] += 1
            return None

    def _row(self, given: Labelled) -> Example:
        places = [place for place in token_places(given.sentence) if place[0] not in _QUOTES]
        words = " ".join(token for token, _, _ in places)
        if given.label not in self.schema:
            raise UnfitError(f"label {given.label}")
        function = self.schema[given.label]
        if function is None:
            return Example(given.id, words, OUT_OF_SCOPE, "calls", "human")
        arguments: Json = {}
        for slot, start, end in given.slots:
            if slot not in function.slots:
                raise UnfitError(f"slot {given.label}.{slot}")
            inside = [place for place in places if place[1] < end and place[2] > start]
            if not inside or inside[0][1] < start or inside[-1][2] > end:
                raise UnfitError("value is a part of a word")
            parameter = function.slots[slot]
            if parameter is None:
                continue
            value = self._value([token for token, _, _ in inside], parameter)
            if value is not None and parameter.name in arguments:
                raise UnfitError("two values for a parameter")
            if value is not None:
                arguments[parameter.name] = value
        return self.checked(given.id, words, {"name": function.name, "arguments": arguments})

    def _value(self, tokens: list[str], parameter: Parameter) -> str | int | None:
        """Return a value as it stands in a call; None where it goes without saying."""
        if parameter.sort == "who":
            tokens = tokens[:-1] if tokens[-1] == "'s" else tokens
            return None if _SPEAKER.issuperset(tokens) else " ".join(tokens)
        if parameter.sort == "time" and len(tokens) > 1:
            is_span = tokens[0] == "from" and not _ENDS.isdisjoint(tokens)
            tokens = tokens[1:] if tokens[0] in _BEFORE_TIMES and not is_span else tokens
        text = " ".join(tokens)
        if parameter.sort == "number":
            if text in _NUMBERS:
                return _NUMBERS.index(text)
            return int(text) if text.isdigit() else text  # the check of types finds it
        if " | " in parameter.sort and text not in parameter.sort.split(" | "):
            return str(english.singular(text))
        return text

    def checked(self, id: str, words: str, call: Json) -> Example:
        """Return the row of a call that is well-typed."""
        try:
            program = self.language.canonical(self.language.parse(json.dumps(call)), self.library)
            problems = self.language.check(program, self.library)
            tokens = self.language.tokens(program, self.library)
        except GenieError as error:
            raise UnfitError(error.problems[0].message) from error
        if problems:
            raise UnfitError(re.sub(r"got .*", "got another", problems[0].message))
        for text, kind in re.findall(r'" (.+?) " \^\^(\S+)', tokens):
            self.names[kind][text] += 1
        functions = tuple(self.language.functions(program))
        return Example(id, words, tokens, "calls", "human", functions=functions)


def evenly(rows: Iterable[Example], most: int) -> list[Example]:
    """Return so many rows at most, of rare functions all, of common ones equally many."""
    groups: dict[tuple[str, ...], list[Example]] = defaultdict(list)
    for row in rows:
        groups[row.functions].append(row)
    rng = random.Random(1)
    kept: list[Example] = []
    for number, group in enumerate(sorted(groups.values(), key=len)):
        share = (most - len(kept)) // (len(groups) - number)
        kept += group if len(group) <= share else rng.sample(group, share)
    rng.shuffle(kept)
    return kept


# ------------------------------------------------------------------------ invented functions


@dataclass(frozen=True)
class Input:
    """A parameter of an invented function: its type, and what people say for it."""

    name: str
    sort: str
    is_optional: bool
    description: str
    values: tuple[str, ...]

    @property
    def choices(self) -> list[str]:
        """Return the values of an enum."""
        return self.sort.split(" | ") if " | " in self.sort else []

    @property
    def schema(self) -> Json:
        """Return it as JSON Schema."""
        said = {"description": self.description}
        items = {"list": "string", "numbers": "number"}
        if self.choices:
            return {"type": "string", "enum": self.choices} | said
        if self.sort in items:
            return {"type": "array", "items": {"type": items[self.sort]}} | said
        is_plain = self.sort in ("number", "integer", "boolean")
        return {"type": self.sort if is_plain else "string"} | said

    def drawn(self, rng: random.Random) -> tuple[str, Any]:
        """Return what somebody says for it, and the value that it stands for."""
        if self.choices:
            chosen = rng.choice(self.choices)
            return chosen.replace("_", " "), chosen
        values = self.values or _SOME_NUMBERS
        if self.sort in ("list", "numbers"):
            some = rng.sample(values, min(len(values), rng.randint(1, 3)))
            *first, last = some
            said = f"{', '.join(first)} and {last}" if first else last
            return said, [self.value_of(one) for one in some]
        chosen = rng.choice(values)
        return chosen, self.value_of(chosen)

    def value_of(self, said: str) -> Any:
        """Return the value of words; ValueError if they are none of the type."""
        if self.sort == "boolean":
            return {"true": True, "false": False}[said]
        if self.sort == "integer":
            return int(said.replace(",", ""))
        if self.sort in ("number", "numbers"):
            number = float(said.replace(",", ""))
            return int(number) if number.is_integer() else number
        return said if self.choices else " ".join(token for token, _, _ in token_places(said))


_SOME_NUMBERS = ("2", "3", "4", "5", "7", "10", "12", "15", "20", "25", "40", "60", "100", "250")


@dataclass
class Invented:
    """A function with sentences, each with what it means beside its placeholders."""

    name: str
    description: str
    inputs: dict[str, Input] = field(default_factory=dict)
    sentences: list[tuple[str, Json]] = field(default_factory=list)

    @property
    def tool(self) -> Json:
        """Return it as a tool."""
        schema: Json = {
            "type": "object",
            "properties": {name: given.schema for name, given in self.inputs.items()},
            "required": [name for name, given in self.inputs.items() if not given.is_optional],
        }
        return {"name": self.name, "description": self.description, "inputSchema": schema}

    def drawn(self, sentence: str, fixed: Json, rng: random.Random) -> tuple[str, Json]:
        """Return a sentence with values in it, and the call that it means."""
        arguments = dict(fixed)

        def put(match: re.Match[str]) -> str:
            said, arguments[match[1]] = self.inputs[match[1]].drawn(rng)
            return said

        return re.sub(r"\{(\w+)\}", put, sentence), {"name": self.name, "arguments": arguments}


_INPUT = re.compile(r"  (\w+) \((.+?)(, optional)?\)(?:: ?(.*?)(?: ?:: ?(.*))?)?")


def read_invented(text: str) -> list[Invented]:
    """Return the functions of a file, as base_schemas/README.md says.

    >>> [one] = read_invented("wait = Wait.\n  n (integer): minutes :: 5; 7\n  > {n} minutes")
    >>> one.drawn(*one.sentences[0], random.Random(1))
    ('5 minutes', {'name': 'wait', 'arguments': {'n': 5}})
    """
    found: list[Invented] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _INPUT.fullmatch(line.rstrip())
        if line.startswith("  > "):
            sentence, _, said = line[4:].partition(" => ")
            fixed = {}
            for one in re.findall(r'(\w+) = (".*?"|[^,]+)', said):
                fixed[one[0]] = found[-1].inputs[one[0]].value_of(one[1].strip(' "'))
            found[-1].sentences.append((sentence.strip(), fixed))
        elif match is not None:
            name, sort, optional, description, values = match.groups()
            listed = tuple(filter(None, map(str.strip, (values or "").split(";"))))
            found[-1].inputs[name] = Input(name, sort, bool(optional), description or name, listed)
        elif line and not line.startswith((" ", "#")):
            name, _, description = line.partition(" = ")
            found.append(Invented(name.strip(), description.strip()))
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"line {number}: {line}")
    return found


def invented_rows(
    functions: Sequence[Invented], converter: Converter, number: int
) -> Iterator[Example]:
    """Yield so many rows of each sentence; `converter.left` counts ill-typed ones."""
    rng = random.Random(1)
    places = ((f, *one) for f in functions for one in f.sentences)
    for place, (function, sentence, fixed) in enumerate(places):
        for turn in range(number if "{" in sentence else 1):
            try:
                said, call = function.drawn(sentence, fixed, rng)
                words = " ".join(token for token, _, _ in token_places(said))
                yield converter.checked(f"{function.name}-{place}-{turn}", words, call)
            except (UnfitError, KeyError, ValueError) as error:
                converter.left[f"{function.name}: {error}"] += 1


# --------------------------------------------------------------------------------- libraries


@dataclass(frozen=True)
class Library:
    """A library that can be made: where its rows come from, and under which licence."""

    name: str
    source: str
    licence: str
    language: str = "calls"


class Maker:
    """Makes the rows of libraries in a folder."""

    def __init__(self, output: Path, shared: Path):
        """Read what is not to be learned."""
        self.output, self.shared = output, shared
        self.benchmarks = benchmark_hashes(shared)
        self.left: Counter[str] = Counter()

    def libraries(self) -> Iterator[Library]:
        """Yield all libraries, in the order in which they are made."""
        yield Library("snips", "snips/train_full.jsonl.gz", "CC0 1.0")
        for path in sorted(self.shared.glob("topv2/*.train*")):
            domain = path.name.split(".")[0]
            yield Library(f"topv2-{domain}", f"topv2/{path.name}", "CC BY-SA 4.0")
        yield Library("home", "home_assistant/templates", "CC BY 4.0, Home Assistant authors")
        for number in range(SERVER_LIBRARIES):
            yield Library(f"servers-{number + 1}", "tools/livemcp.servers.jsonl", "Apache-2.0")
        yield Library("droidcall", "tools/droidcall.tools.json", "MIT")
        yield Library("clinc", "intents/clinc150.train.tsv", "CC BY 3.0")
        yield Library("banking", "intents/banking77.train.tsv", "CC BY 4.0")
        yield Library("shipped", "shipped skills", "Apache-2.0", "thingtalk")
        for path in sorted((SCHEMAS / "invented").glob("*.txt")):
            yield Library(f"invented-{path.stem}", str(path), "Apache-2.0")
        yield Library("sgd", "sgd/user_turns.train.jsonl.gz", "CC BY-SA 4.0")

    def make(self, library: Library) -> Json:
        """Write the files of a library and return its entry."""
        self.left = Counter()
        folder = self.output / library.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        makers = {"home": self.home, "servers": self.of_tools, "droidcall": self.of_tools,
                  "shipped": self.shipped, "invented": self.invented}  # fmt: skip
        made = makers.get(library.name.split("-")[0], self.of_people)(library, folder)
        rows = list(self.clean(made))
        if library.name.startswith("topv2"):
            rows = evenly(rows, 8000)
        functions: Counter[str] = Counter()
        with (folder / ROWS).open("w", encoding="utf-8") as lines:
            count = refused = 0
            for row in rows:
                lines.write(f"{to_json(row)}\n")
                functions.update(row.functions)
                count += 1
                refused += row.program == OUT_OF_SCOPE
        skills = "shipped" if library.name == "shipped" else f"{library.name}/{TOOLS}"
        return {
            "name": library.name, "language": library.language, "skills": skills,
            "rows": f"{library.name}/{ROWS}", "count": count, "functions": len(functions),
            "refused": refused, "source": library.source, "licence": library.licence,
            "left": dict(self.left.most_common()),
        }  # fmt: skip

    def clean(self, rows: Iterable[Example]) -> Iterator[Example]:
        """Yield rows without sentences of benchmarks, and each sentence with one program."""
        seen: dict[str, str] = {}
        for row in rows:
            if normal_hash(row.utterance) in self.benchmarks:
                self.left["sentence of a benchmark"] += 1
            elif row.utterance in seen:
                is_same = seen[row.utterance] == row.program
                self.left["twice" if is_same else "two programs"] += 1
            else:
                seen[row.utterance] = row.program
                yield row

    # ------------------------------------------------------------------ sentences of people

    def of_people(self, library: Library, folder: Path) -> Iterator[Example]:
        """Return the rows of a set of labelled sentences."""
        path = self.shared / library.source
        given = list(self._labelled(path, library.name))
        written = SCHEMAS / f"{library.name}.txt"
        schema = read_schema(written.read_text()) if written.exists() else schema_of(given)
        converter = Converter(schema)
        rows = [row for row in map(converter.row, given) if row is not None]
        (folder / TOOLS).write_text(converter.tools(most_names=300), encoding="utf-8")
        self.left = converter.left
        yield from rows

    def _labelled(self, path: Path, name: str) -> Iterator[Labelled]:
        if path.suffix == ".tsv":
            for number, line in enumerate(lines_of(path)):
                if number:
                    sentence, label = line.split("\t")[:2]
                    yield Labelled(f"{name}-{number}", sentence, label)
            return
        read = {"snips": from_snips, "sgd": from_sgd}.get(name, from_topv2)
        for row in objects_of(path):
            labelled = read(row)
            if labelled is not None:
                yield labelled

    def invented(self, library: Library, folder: Path) -> Iterator[Example]:
        """Yield the rows of invented functions."""
        functions = read_invented(Path(library.source).read_text(encoding="utf-8"))
        text = json.dumps({"tools": [one.tool for one in functions]}, indent=1) + "\n"
        (folder / TOOLS).write_text(text, encoding="utf-8")
        converter = Converter({}, text)
        yield from invented_rows(functions, converter, ROWS_OF_A_SENTENCE)
        self.left += converter.left

    # --------------------------------------------------------------------- synthesized rows

    def genie(self, *command: object, folder: Path | None = None) -> None:
        """Run a command of genie-dp.

        Raises:
            RuntimeError: it fails; the text is what it says.
        """
        start = [sys.executable, "-c", "from genie_dp.launch import main; main()"]
        done = subprocess.run(
            [*start, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"genie-dp {command[0]}: {done.stderr.strip()[-600:]}")

    def home(self, library: Library, folder: Path) -> Iterator[Example]:
        """Yield rows of Home Assistant's templates, with the names of many homes."""
        project = folder / "project"
        source = self.shared / library.source
        self.genie("import", source, "--locale", "en", "--output", project)
        shutil.copy(project / TOOLS, folder / TOOLS)
        homes = Homes(read_words("homes.txt"))
        (project / "values.tsv").write_text(homes.write(project), encoding="utf-8")
        skills = ["--language", "calls", "--skills", TOOLS]
        synthesize = ["synthesize", *skills, "--grammar", "main.genie", "--size", 20000,
                      "--max-depth", 4, "--seed", 1, "--output", "pairs.jsonl"]  # fmt: skip
        augment = ["data", "augment", "pairs.jsonl", *skills, "--values", "values.tsv",
                   "--primitive", 2, "--quoted", 0.3, "--seed", 1,
                   "--output", "made.jsonl"]  # fmt: skip
        self.genie(*synthesize, folder=project)
        self.genie(*augment, folder=project)
        for row in read_rows(str(project / "made.jsonl")):
            if re.search(r"\b([a-z]+) \1\b", row.utterance):  # the desk lamp lamp
                self.left["a word twice"] += 1
            else:
                yield row
        shutil.rmtree(project)

    @cached_property
    def servers(self) -> list[list[Json]]:
        """Return the servers in libraries of up to 10, without two tools of one name."""
        kept: list[list[Json]] = []
        for server in objects_of(self.shared / "tools" / "livemcp.servers.jsonl"):
            names = {tool["name"] for tool in server["tools"]}
            if is_chinese(server["tools"]):
                print(f"{server['server']}: left out, its {len(names)} tools are in Chinese")
                continue
            for others in kept:
                taken = {tool["name"] for other in others for tool in other["tools"]}
                if len(others) < 10 and len(taken | names) <= 60 and not taken & names:
                    others.append(server)
                    break
            else:
                kept.append([server])
        return kept

    def of_tools(self, library: Library, folder: Path) -> Iterator[Example]:
        """Yield rows of what tools say of themselves."""
        project = folder / "project"
        if library.name == "droidcall":
            tools = json.loads((self.shared / library.source).read_text(encoding="utf-8"))
            size = 100 * len(tools)
        else:
            servers = self.servers[int(library.name.split("-")[1]) - 1]
            tools = [tool for server in servers for tool in server["tools"]]
            size = sum(min(2500, 100 * len(server["tools"])) for server in servers)
        source = folder / "source.json"
        source.write_text(json.dumps(tools, ensure_ascii=False), encoding="utf-8")
        self.genie("import", source, "--skip-broken", "--output", project)
        shutil.copy(project / TOOLS, folder / TOOLS)
        skills = ["--language", "calls", "--skills", TOOLS]
        (project / "values.tsv").write_text(lists_of_parameters(project), encoding="utf-8")
        synthesize = ["synthesize", *skills, "--grammar", "main.genie", "--size", size,
                      "--max-depth", 3, "--seed", 1, "--output", "pairs.jsonl"]  # fmt: skip
        paraphrase = ["data", "paraphrase", "auto", "pairs.jsonl", *skills, "--number", 1, "--seed",
                      1, "--output", "paraphrases.jsonl"]  # fmt: skip
        augment = ["data", "augment", "pairs.jsonl", "paraphrases.jsonl", *skills,
                   "--free-text-rate", 0.3,
                   "--values", "values.tsv", "--quoted", 0.02, "--paraphrase-with-text", 1,
                   "--paraphrase-other", 1, "--primitive", 1, "--seed", 1,
                   "--output", "made.jsonl"]  # fmt: skip
        for command in (synthesize, paraphrase, augment):
            self.genie(*command, folder=project)
        yield from read_rows(str(project / "made.jsonl"))
        shutil.rmtree(project)
        source.unlink()

    def shipped(self, library: Library, folder: Path) -> Iterator[Example]:
        """Yield the rows of `make quickstart`."""
        pairs, paraphrases, made = (folder / f"{n}.jsonl" for n in ("pairs", "paraphrases", "made"))
        self.genie("synthesize", "--size", 40000, "--seed", 1, "--output", pairs)
        self.genie("paraphrase", "auto", pairs, "--number", 1, "--output", paraphrases)
        self.genie("augment", pairs, paraphrases, ROOT / "thingpedia", "--paraphrase-with-text", 1,
                   "--paraphrase-other", 1, "--primitive", 2, "--output", made)  # fmt: skip
        yield from read_rows(str(made))
        for path in (pairs, paraphrases, made):
            path.unlink()


def is_chinese(tools: Sequence[Json]) -> bool:
    """Tell whether the descriptions of tools are in Chinese for a fifth or more.

    >>> is_chinese([{"description": "读取邮件 of a box"}])
    True
    """
    text = " ".join(str(tool.get("description")) for tool in tools)
    return len(re.findall(r"[\u3400-\u9fff]", text)) * 5 > len(re.findall(r"[^\W\d_]", text))


def schema_of(rows: Iterable[Labelled]) -> Schema:
    """Return a schema made of the names of labels and slots alone."""
    schema: dict[str, Function | None] = {}
    for row in rows:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", row.label).replace("_", " ").lower()
        made = Function(words.replace(" ", "_"), words[:1].upper() + words[1:])
        function = schema.setdefault(row.label, made)
        for slot, _, _ in row.slots:
            if function is not None:
                described = f"the {slot.replace('_', ' ')}"
                function.slots.setdefault(slot, Parameter(slot, "text", described))
    return schema


# ------------------------------------------------------------------------------------ homes


@dataclass(frozen=True)
class Homes:
    """Names of rooms, floors, people and things in many homes.

    Attributes:
        words: those of base_schemas/homes.txt, by kind; some are no kind but parts of names.
    """

    words: Mapping[str, Sequence[str]]

    def names(self, kind: str) -> list[str]:
        """Return the names of a kind, "bedside lamp" and "anna 's lamp" of lamps."""
        owners = [f"{person} 's" for person in self.words["person"]]
        things = self.words.get(kind, [kind.replace("_", " ")])
        if kind in ("floor", "person"):
            return [*things]
        if kind in self.words["owned"]:
            before = owners
        elif kind == "area":
            before = [*owners, *self.words["part"]]
        else:
            before = [*owners, *self.words["part"], *self.words["area"]]
        return [*things, *(f"{word} {thing}" for word in before for thing in things)]

    def write(self, project: Path) -> str:
        """Write a list of names for each kind of a project; return what tells augment of them."""
        tools = (project / TOOLS).read_text(encoding="utf-8")
        kinds = sorted(set(re.findall(r'"x-entity": "(\w+)"', tools)))
        for kind in kinds:
            text = "".join(f"{name}\n" for name in self.names(kind))
            (project / f"{kind}.txt").write_text(text, encoding="utf-8")
        return "".join(f"{kind}\t{kind}.txt\n" for kind in kinds)


def read_words(name: str) -> dict[str, list[str]]:
    """Return what a file of base_schemas lists: a name and its words on each line."""
    lines = (SCHEMAS / name).read_text(encoding="utf-8").splitlines()
    return {kind: words.split(", ") for kind, _, words in (line.partition(": ") for line in lines)}


def lists_of_parameters(project: Path) -> str:
    """Write the lists of base_schemas/values.txt; return what tells augment which name has which.

    What is no list there is one that genie-dp ships.
    """
    shipped = Path(genie_dp.__file__).parent / "augment" / "data"
    made = read_words("values.txt")
    tools = json.loads((project / TOOLS).read_text(encoding="utf-8"))["tools"]
    there = {name for tool in tools for name in tool["inputSchema"].get("properties", {})}
    said = []
    for name, names in read_words("parameters.txt").items():
        path = next(shipped.glob(f"{name}.tsv*"), project / f"{name}.txt")
        if name in made:
            path = project / f"{name}.txt"
            path.write_text("".join(f"{value}\n" for value in made[name]), encoding="utf-8")
        said += [f"{parameter}\t{path}\n" for parameter in names if parameter in there]
    return "".join(said)


# ------------------------------------------------------------------------------------- main


def main() -> None:
    """Make the libraries that are asked for and not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "data")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    listed = arguments.output / LISTED
    maker = Maker(arguments.output, arguments.shared)
    for library in maker.libraries():
        entries = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else []
        names = {e["name"] for e in entries if (arguments.output / e["rows"]).exists()}
        is_asked = not arguments.only or any(
            library.name == name or library.name.startswith(f"{name}-") for name in arguments.only
        )
        if not is_asked or library.name in names:
            continue
        start = time.monotonic()
        try:
            entry = maker.make(library)
        except RuntimeError as error:
            print(f"{library.name}: left out, {error}", flush=True)
            continue
        entry["seconds"] = round(time.monotonic() - start, 1)
        entries = [*(e for e in entries if e["name"] in names), entry]
        unfinished = listed.with_suffix(".partial")
        unfinished.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
        unfinished.rename(listed)
        print(
            f"{library.name}: {entry['count']:,} rows ({entry['refused']:,} to refuse), "
            f"{entry['functions']} functions, {entry['seconds']} s; left out: {entry['left']}",
            flush=True,
        )
    write_hashes(arguments.output)


if __name__ == "__main__":
    main()
