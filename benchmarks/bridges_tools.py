"""Sets of functions as JSON schemas: parsers trained on what their schemas alone say.

    python benchmarks/bridges.py tools --examples

A set is a library of 30 to 64 functions with requests of people: the functions of NESTFUL's two
parts, those of ToolAlpaca's ten services together, and those of each suite of BFCL in libraries of
up to 50 functions, in the order of the file, of which the first two are taken. Of each the
functions are imported, rows synthesized and augmented, and one parser is trained, with no sentence
of people. Then it is asked the requests of the set, and foreign ones: those of BFCL's irrelevance
suite, or for BFCL's sets those of ToolAlpaca. In the irrelevance suite itself no request is right.

With --examples the first requests of each function (up to five, at most half of what there are) are
templates beside those of the import, and parsers with and without them are asked the others.

Columns: the functions are right, in an answer or in a question for what is missing; functions and
arguments are right; refused; wrong, though it would have been acted on; and in how many the first
program has the right functions, or is right, be it refused or not.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import ROOT
from parser_runs import genie

import genie_dp as gd
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.library import ToolLibrary
from genie_dp.parser.answers import MISSING_INPUT, Reply
from genie_dp.skills.words import tokenize

Json = dict[str, Any]
SHARED = ROOT.parent / "shared" / "data"
LARGEST = 50  # functions of a library of BFCL's
MOST_EXAMPLES = 5  # requests of a function that are templates


# ------------------------------------------------------------------------------------ sets


@dataclass(frozen=True)
class FunctionSet:
    """A library with requests.

    Attributes:
        name: of the set.
        tools: as they are imported.
        rows: requests with the calls that answer them.
        several: whether gold arguments are lists of allowed values.
    """

    name: str
    tools: Sequence[Json]
    rows: Sequence[Json]
    several: bool = False

    @property
    def suite(self) -> str:
        """Return the name without the number of its part."""
        return self.name.rstrip("0123456789").rstrip("-")


def function_sets(folder: Path, parts: int) -> Iterator[FunctionSet]:
    """Yield the sets of a folder; of each suite of BFCL so many libraries, from the first on."""
    for part in ("sgd", "glaive"):
        tools = json.loads((folder / f"nestful.{part}.tools.json").read_text(encoding="utf-8"))
        yield FunctionSet(f"nestful-{part}", tools, read_lines(folder / f"nestful.{part}.jsonl"))
    rows = read_lines(folder / "toolalpaca.simulated.jsonl")
    [(tools, rows)] = libraries(rows, len(rows) * 10)
    yield FunctionSet("toolalpaca", tools, rows)
    for suite in ("simple_python", "multiple", "parallel", "irrelevance"):
        rows = read_lines(folder / f"bfcl.{suite}.jsonl")
        for number, (tools, kept) in enumerate(libraries(rows, LARGEST)[:parts], 1):
            yield FunctionSet(f"bfcl-{suite}-{number}", tools, kept, several=True)


def read_lines(path: Path) -> list[Json]:
    """Return the rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def libraries(rows: Iterable[Json], largest: int) -> list[tuple[list[Json], list[Json]]]:
    """Return functions with their requests: each in the first library that has room for it.

    A library has one function of each name.
    """
    found: list[tuple[dict[str, Json], list[Json]]] = []
    for row in rows:
        offered = {tool["function"]["name"]: tool for tool in row["tools"]}
        for tools, kept in found:
            is_one = all(tools.get(name, tool) == tool for name, tool in offered.items())
            if is_one and len(tools | offered) <= largest:
                tools.update(offered)
                kept.append(row)
                break
        else:
            found.append((offered, [row]))
    return [(list(tools.values()), kept) for tools, kept in found]


# -------------------------------------------------------------------------------- examples


def split_examples(rows: Sequence[Json]) -> tuple[list[Json], list[Json]]:
    """Return the requests that are examples, and the others, both in the order of the file.

    Of each function the first five are examples, and at most half of its requests. A request with
    several functions is one where each of them still takes examples.
    """
    totals = Counter(name for row in rows for name in names_of(row))
    left = {name: min(MOST_EXAMPLES, number // 2) for name, number in totals.items()}
    examples, others = [], []
    for row in rows:
        names = names_of(row)
        if names and all(left[name] for name in names):
            left |= {name: left[name] - 1 for name in names}
            examples.append(row)
        else:
            others.append(row)
    return examples, others


def names_of(row: Json) -> set[str]:
    """Return the functions that a request needs."""
    return {call["name"] for call in row["calls"]}


class ExampleTemplates:
    """Writes requests as templates: an argument that stands in the request is a placeholder."""

    def __init__(self, library: ToolLibrary, *, several: bool):
        """Keep the library; `several`: arguments are lists of allowed values."""
        self.library, self.several = library, several
        self.language = get_language("calls")

    def text(self, rows: Iterable[Json]) -> str:
        """Return the text of a file of templates; what is not well-typed is left out."""
        asked = [one for row in rows for one in ((row["utterance"], row["calls"]), *_clauses(row))]
        lines = (self.template(said, calls) for said, calls in asked)
        return "".join(f"{line}\n" for line in dict.fromkeys(lines) if line)

    def template(self, utterance: str, calls: Sequence[Json]) -> str:
        """Return a template; "" where its calls are not well-typed."""
        self.words, self.count = list(tokenize(utterance)), 0
        self.names: dict[tuple[str, ...], str] = {}
        steps = {call.get("label"): number for number, call in enumerate(calls, 1)}
        parts, is_nested = [], False
        for call in calls:
            given = _chosen(call["arguments"]) if self.several else call["arguments"]
            arguments = ", ".join(
                f"{_key(name)} = {self.value(value, steps)}"
                for name, value in given.items()
                if value != ""
            )
            parts.append(f"{_key(call['name'])}({arguments})")
            is_nested = is_nested or re.search(r"\$\d", arguments) is not None
        body = (" => " if is_nested else " & ").join(parts)
        try:
            self.language.bodies.compile(body, {}, self.library, whole=True)
        except GenieError:
            return ""
        said = re.sub(r"(?<!\S)(['\"]) (\$v\d+) \1(?!\S)", r"\2", " ".join(self.words))
        said = " ".join(map(_quoted, said.rstrip(" .?!").split()))
        return f"COMMAND := '{said}' -> {body};"

    def value(self, value: Any, steps: Mapping[Any, int]) -> str:
        """Return a value of a body, a placeholder where the words have it."""
        if isinstance(value, list):
            return f"[{', '.join(self.value(item, steps) for item in value)}]"
        if isinstance(value, dict):
            fields = (f"{_key(k)} = {self.value(v, steps)}" for k, v in value.items())
            return f"{{{', '.join(fields)}}}"
        if isinstance(value, bool) or value is None:
            return json.dumps(value)
        reference = re.fullmatch(r"\$(\w+)\.(\w+)\$", value) if isinstance(value, str) else None
        if reference:
            return f"${steps[reference[1]]}.{reference[2]}"
        return self.placeholder(value) or json.dumps(value, ensure_ascii=False)

    def placeholder(self, value: str | float) -> str:
        """Put a placeholder in the place of a value; "" where the words have it not."""
        if isinstance(value, str):
            said = tokenize(value)
        else:
            number = next((w for w in self.words if _number(w) == float(value)), str(value))
            said = (number,)
        for place in range(len(self.words) - len(said) + 1 if said else 0):
            if tuple(self.words[place : place + len(said)]) == said:
                self.count += 1
                self.names[said] = name = f"$v{self.count}"
                self.words[place : place + len(said)] = [name]
                return name
        return self.names.get(said, "")


def _clauses(row: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield the parts of a request with their calls, where there are as many and none waits."""
    parts = re.split(r"[.?!](?=\s|$)|,? (?:and )?(?:then|finally|after that)\b,?", row["utterance"])
    parts = [re.sub(r"^\W*(?:then|finally|after that|next),? ", "", p, flags=re.I) for p in parts]
    parts = [part for part in parts if re.search(r"\w", part)]
    if 1 < len(parts) == len(row["calls"]):
        for part, call in zip(parts, row["calls"], strict=True):
            if not re.search(r"\$\w+\.", json.dumps(call)):
                yield part, [call]


def _chosen(arguments: Json) -> Json:
    """Return the first allowed value of each argument."""
    chosen = {name: values[0] for name, values in arguments.items()}
    return {
        name: _chosen(value) if isinstance(value, dict) else value
        for name, value in chosen.items()
        if value != ""
    }


def _key(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w.\-/]*", name) else json.dumps(name)


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"\$v\d+", word) else re.sub(r"(['\"$\\{}])", r"\\\1", word)


def _number(word: str) -> float | None:
    found = re.fullmatch(r"\$?(-?\d+(?:,\d{3})*(?:\.\d+)?)", word)
    return float(found[1].replace(",", "")) if found else None


# --------------------------------------------------------------------------------- parsers


@dataclass(frozen=True)
class Settings:
    """How much is made of each set; without steps nothing is trained."""

    work: Path
    size: int
    steps: int
    seed: int


def trained(settings: Settings, one: FunctionSet, examples: Sequence[Json]) -> tuple[Path, float]:
    """Return the folder of a set's parser, and the CPU seconds from import to parser."""
    kind = f"{'-examples' if examples else ''}{'' if settings.steps else '-untrained'}"
    folder = settings.work / f"{one.name}{kind}-{settings.seed}"
    parser, spent = folder / "parser", folder / "cpu.json"
    if spent.exists():
        return parser, json.loads(spent.read_text())
    folder.parent.mkdir(parents=True, exist_ok=True)
    source = folder.with_suffix(".json")
    source.write_text(json.dumps(one.tools, ensure_ascii=False), encoding="utf-8")
    seconds = genie(["grammar", "import", str(source), "--skip-broken", "--output", str(folder)])
    grammar = ["--grammar", str(folder / "main.genie")]
    if examples:
        library = gd.load_library(folder / "tools.json")
        text = ExampleTemplates(library, several=one.several).text(examples)
        (folder / "examples.genie").write_text(text, encoding="utf-8")
        grammar += ["--grammar", str(folder / "examples.genie")]
    if not settings.steps:
        spent.write_text(json.dumps(seconds))
        return parser, seconds
    seed = ["--seed", str(settings.seed)]
    pairs, rows = folder / "pairs.jsonl", folder / "rows.jsonl"
    skills = ["--language", "calls", "--skills", str(folder / "tools.json")]
    commands: list[list[Any]] = [
        ["synthesize", *skills, *grammar, "--size", settings.size,
         "--max-depth", 3, *seed, "--output", pairs],
        ["data", "augment", pairs, *skills, "--free-text-rate", 0.7, "--quoted", 0.02, *seed,
         "--output", rows],
        ["train", rows, *skills, "--steps", settings.steps, *seed, "--output", parser],
    ]  # fmt: skip
    for command in commands:
        seconds += genie([*map(str, command)])
        if command[0] == "synthesize" and examples:
            mark_examples(pairs)
    spent.write_text(json.dumps(seconds))
    return parser, seconds


def opened(folder: Path, library: ToolLibrary) -> gd.Parser:
    """Return the parser of a folder, or the shipped base where none was trained."""
    if folder.exists():
        return gd.Parser.from_pretrained(folder)
    files = (folder.parent / f"{name}.genie" for name in ("main", "examples"))
    grammar = [path for path in files if path.exists()]
    return gd.Parser.of(library, grammar)


def mark_examples(pairs: Path) -> None:
    """Let the rows of examples be sentences of people, which get values more often."""
    rows = read_lines(pairs)
    for row in rows:
        if row["derivation"][0].startswith("examples."):
            row["source"] = "paraphrase"
    pairs.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


# ----------------------------------------------------------------------------------- calls


def plain(value: Any) -> Any:
    """Return a value as it is compared: words without signs and in small letters, numbers."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return round(float(value), 6)
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple(sorted((key, plain(of)) for key, of in value.items()))
    return " ".join(re.findall(r"\w+", value.lower()))


class CallMatcher:
    """Compares calls with what a request expects."""

    def __init__(self, one: FunctionSet, library: ToolLibrary):
        """Keep what is expected, and the defaults, which may be left out."""
        self.several = one.several
        self.defaults: dict[str, dict[str, Any]] = {}
        for tool in library.tools.values():
            given = (tool.schema or {}).get("properties", {})
            self.defaults[tool.name] = {
                name: plain(of["default"]) for name, of in given.items() if "default" in of
            }

    def is_right(self, calls: Sequence[Json], expected: Sequence[Json]) -> bool:
        """Tell whether calls are the expected ones, in any order where none uses another."""
        if Counter(c["name"] for c in calls) != Counter(c["name"] for c in expected):
            return False
        labels = {call.get("label"): number for number, call in enumerate(expected, 1)}
        left = list(calls)
        for want in expected:
            match = next((c for c in left if self.fits(c, want, labels)), None)
            if match is None:
                return False
            left.remove(match)
        return True

    def fits(self, call: Json, want: Json, labels: Mapping[Any, int]) -> bool:
        """Tell whether a call has the function and the arguments of an expected one."""
        if call["name"] != want["name"]:
            return False
        defaults = self.defaults.get(call["name"], {})
        given = {n: plain(v) for n, v in call["arguments"].items()}
        given = {n: v for n, v in given.items() if n not in defaults or v != defaults[n]}
        for name, value in want["arguments"].items():
            allowed = self.allowed(value, labels)
            if name in defaults and defaults[name] in allowed:
                allowed.append("")
            if given.pop(name, "") not in allowed:
                return False
        return not given

    def allowed(self, value: Any, labels: Mapping[Any, int]) -> list[Any]:
        """Return the values that an argument may have; "" is one that may be left out."""
        if self.several:
            return [option for one in value for option in self.options(one)]
        reference = re.fullmatch(r"\$(\w+)\.(\w+)\$", value) if isinstance(value, str) else None
        if reference:
            return [plain({"$result": labels.get(reference[1]), "path": [reference[2]]})]
        return [plain(value)]

    def options(self, value: Any) -> list[Any]:
        """Return what an allowed value may be: fields of an object are lists of values again."""
        if not isinstance(value, dict):
            return [plain(value)]
        found: list[dict[str, Any]] = [{}]
        for key, values in value.items():
            values = values if isinstance(values, list) else [values]
            found = [
                {**one, **({key: option} if option != "" else {})}
                for one in found
                for option in values
            ]
        return [plain(one) for one in found]


@dataclass
class Tally:
    """What a parser made of requests."""

    counts: Counter[str]

    def add(self, other: "Tally") -> None:
        """Add those of another set."""
        self.counts += other.counts

    def line(self, name: str) -> str:
        """Return a row of the table."""
        of = self.counts
        total = max(1, of["requests"])
        keys = ("names", "right", "refused", "wrong", "first names", "first")
        shown = (f"{of[key]} ({100 * of[key] / total:.0f} %)" for key in keys)
        return f"| {name} | {of['functions']} | {of['requests']} | {' | '.join(shown)} |"


HEADER = (
    "| set | functions | requests | names | names and arguments | refused | wrong "
    "| first: names | first: all | CPU s |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def judged(reply: Reply, row: Json, matcher: CallMatcher) -> tuple[str, ...]:
    """Return what is to be counted of a reply.

    Its verdict; whether the functions are right, which a question for what is missing tells, too;
    and whether the first program is right, be it refused or not.
    """
    expected = Counter(call["name"] for call in row["calls"])
    first = reply.answers[0].calls if reply.answers else None
    has_names = first is not None and Counter(c["name"] for c in first) == expected
    is_right = first is not None and has_names and matcher.is_right(first, row["calls"])
    is_refused = reply.refused is not None
    is_told = has_names and reply.refused in (None, MISSING_INPUT)
    found = {
        "refused": is_refused,
        "right": is_right and not is_refused,
        "wrong": not is_right and not is_refused,
        "names": is_told and bool(expected),
        "first names": has_names and bool(expected),
        "first": is_right and bool(expected),
    }
    return tuple(name for name, is_so in found.items() if is_so)


def asked(
    parser: gd.Parser, one: FunctionSet, rows: Sequence[Json], library: ToolLibrary, shown: int
) -> Tally:
    """Return what a parser makes of requests; print some of those that it does not answer."""
    matcher = CallMatcher(one, library)
    counts = Counter(functions=len(library.tools), requests=len(rows))
    for row in rows:
        reply = parser(row["utterance"])
        verdicts = judged(reply, row, matcher)
        counts.update(verdicts)
        if "right" not in verdicts and shown:
            shown -= 1
            answer = reply.answers[0].code if reply.answers else "nothing"
            why = reply.refused or "wrong"
            print(f"  {row['utterance'][:300]!r}\n    {why}: {answer[:300]}", file=sys.stderr)
            print(f"    not {json.dumps(row['calls'])[:300]}", file=sys.stderr, flush=True)
    return Tally(counts)


def ways_of(
    settings: Settings, one: FunctionSet, foreign: Sequence[Json], *, examples: bool
) -> Iterator[tuple[str, Path, Sequence[Json], float]]:
    """Yield how a set is asked: a name, the folder of a parser, requests, CPU seconds."""
    folder, seconds = trained(settings, one, ())
    yield "", folder, one.rows, seconds
    yield ", foreign", folder, foreign, seconds
    given, others = split_examples(one.rows)
    if given and examples:
        yield ", the others", folder, others, seconds
        folder, seconds = trained(settings, one, given)
        yield f", {len(given)} examples", folder, others, seconds
        yield f", {len(given)} examples, foreign", folder, foreign, seconds


def tools(arguments: argparse.Namespace) -> None:
    """Print how parsers of function sets answer, set by set and in all."""
    settings = Settings(
        Path(arguments.work).resolve(), arguments.size, arguments.steps, arguments.seed
    )
    folder = Path(arguments.data) / "tools"
    foreign = {
        is_bfcl: read_lines(folder / name)
        for is_bfcl, name in (
            (False, "bfcl.irrelevance.jsonl"),
            (True, "toolalpaca.simulated.jsonl"),
        )
    }
    totals: dict[str, Tally] = {}
    print(HEADER)
    for one in function_sets(folder, arguments.parts):
        if not any(one.name.startswith(name) for name in arguments.only or ("",)):
            continue
        ways = ways_of(settings, one, foreign[one.several], examples=arguments.examples)
        for said, parser_folder, rows, seconds in ways:
            library = gd.load_library(parser_folder.parent / "tools.json")
            parser = opened(parser_folder, library)
            found = asked(parser, one, rows, library, arguments.show)
            print(f"{found.line(one.name + said)} {seconds:.0f} |", flush=True)
            totals.setdefault(one.suite + said, Tally(Counter())).add(found)
    print("\nin all\n\n" + HEADER)
    for name, found in totals.items():
        print(f"{found.line(name)} |")
