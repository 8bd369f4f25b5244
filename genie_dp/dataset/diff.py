"""The differences of two data sets: rows, sentences, programs, and how rows are spread.

A row is its sentence and its program; ids and the order of rows count for nothing. Each side is
read once, and a second time for the texts of the rows that are shown. Memory: 24 bytes a row, the
vocabulary, and the sentences that have another program now.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import xxhash

from genie_dp import __version__
from genie_dp.dataset.formats import (
    READERS,
    ReadOptions,
    find_reader,
    format_by_name,
)
from genie_dp.dataset.readers import parts_in
from genie_dp.dataset.scan import DatasetFile, ScannedRow, as_row, hash_of, program_key, scan
from genie_dp.dataset.stats import (
    DatasetCounts,
    Hashes,
    Newness,
    ReportStage,
    as_hashes,
    describe_counts,
    pairs_of,
)
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.guard import PrivateInputs, private_inputs
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Example
from genie_dp.rows import FORMATS
from genie_dp.run.files import open_text
from genie_dp.run.page import bin_counts, mark_tokens, page_environment, percent
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.stage.kernel import OutputOption

Json = dict[str, Any]
_TABLES = ("sources", "languages", "classes", "traits", "depth", "length")
_SPREAD = ("functions", "sources", "classes", "depth", "length")
_MOST_BINS = 24
SHOWN = 20


# --------------------------------------------------------------------------------------- a side


@dataclass(slots=True)
class ComparedDataset:
    """One of the two data sets: its rows and their counts.

    Attributes:
        name: as it was given.
        read: reads its rows.
        files: the files that were read.
    """

    name: str
    read: Callable[[], Iterator[ScannedRow]]
    files: list[DatasetFile] = field(default_factory=list)
    counts: DatasetCounts = field(default_factory=DatasetCounts)

    def count(self, progress: bool | None) -> None:
        """Read and count the rows."""
        for row in show_progress(self.read(), label=self.name, show=progress):
            self.counts.add(row)

    @property
    def sentences(self) -> Hashes:
        """Return the hash of each row's sentence."""
        return as_hashes(self.counts.sentences)

    @property
    def programs(self) -> Hashes:
        """Return the hash of each row's program."""
        return as_hashes(self.counts.programs)


def side_of(name: str) -> ComparedDataset:
    """Return the data set of a file of any format that can be read, or of a folder of parts.

    Raises:
        GenieError: a pipe (D009), a name without a format (D021), a folder without parts
            (D024), or nothing of that name (D025).
    """
    if name == "-":
        hint = "write the rows to a file first"
        raise GenieError(Problem("D009", "data sets are read twice, a pipe cannot be", hint=hint))
    is_local = "://" not in name
    if is_local and not Path(name).exists():
        raise GenieError(Problem("D025", f"{name}: no such file or folder"))
    format = format_by_name(name, READERS, is_input=True)
    if format in FORMATS or format == "hf":
        parts = parts_in(Path(name)) if is_local and Path(name).is_dir() else {"": [name]}
        files = [DatasetFile.from_name(str(file)) for part in parts.values() for file in part]
        return ComparedDataset(name, lambda: chain.from_iterable(map(scan, files)), files)
    file = DatasetFile(name, format)
    reader = find_reader(format)

    def read() -> Iterator[ScannedRow]:
        file.rows, file.digest = 0, xxhash.xxh3_128()
        for row in reader(name, ReadOptions(format)):
            if isinstance(row, Example):
                file.rows += 1
                file.digest.update(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())
                yield as_row(row, (file, file.rows))

    return ComparedDataset(name, read, [file])


# ----------------------------------------------------------------------------------- comparison


def compare(old: ComparedDataset, new: ComparedDataset, *, shown: int = SHOWN) -> Json:
    """Return the differences of two counted data sets, as plain data.

    Counts of both are `{"old": .., "new": ..}`; swapping the sides swaps these.

    Args:
        shown: how many rows and programs of only one side are listed; sentences whose program
            changed are all listed.
    """
    pairs = [pairs_of(side.sentences, side.programs) for side in (old, new)]
    of_pair = [np.unique(p, return_index=True, return_counts=True) for p in pairs]
    (old_pairs, old_places, old_times), (new_pairs, new_places, new_times) = of_pair
    _, in_old, in_new = np.intersect1d(
        old_pairs, new_pairs, assume_unique=True, return_indices=True
    )
    same_rows = int(np.minimum(old_times[in_old], new_times[in_new]).sum())
    described = [describe_counts(side.counts, Newness()) for side in (old, new)]
    sentences = [np.unique(side.sentences) for side in (old, new)]
    only = [
        side.sentences[np.delete(places, is_shared)]  # of pairs that only one side has
        for side, places, is_shared in ((old, old_places, in_old), (new, new_places, in_new))
    ]
    both = np.intersect1d(sentences[0], sentences[1], assume_unique=True)
    changed = np.intersect1d(np.union1d(only[0], only[1]), both)
    examples = []
    for side, opposite in ((old, new), (new, old)):
        alone = np.setdiff1d(side.sentences, both)
        shapes = _most_frequent(as_hashes(side.counts.bare), as_hashes(opposite.counts.bare), shown)
        examples.append(_Wanted(frozenset(changed.tolist()), _lowest(alone, shown), shapes))
        examples[-1].find(side)
    return {
        "rows": {**_pair([len(side.counts.sentences) for side in (old, new)]), "same": same_rows},
        "sentences": {
            **_pair([len(texts) for texts in sentences]),
            "same": len(both) - len(changed),
            "changed": len(changed),
        },
        "programs": _compare_sets(old.programs, new.programs),
        "programs_without_values": _compare_sets(
            as_hashes(old.counts.bare), as_hashes(new.counts.bare)
        ),
        "functions": _functions(described),
        **{
            name: _paired_counts([_plain_counts(side_counts[name]) for side_counts in described])
            for name in _TABLES
        },
        "changed": _changed_sentences(*examples),
        "only_sentences": _pair([sample.sentences_alone() for sample in examples]),
        "only_programs": _pair([sample.programs_alone() for sample in examples]),
    }


def _pair(values: Iterable[Any]) -> Json:
    return dict(zip(("old", "new"), values, strict=True))


def _compare_sets(old: Hashes, new: Hashes) -> Json:
    ours, theirs = np.unique(old), np.unique(new)
    shared = len(np.intersect1d(ours, theirs, assume_unique=True))
    return {**_pair((len(ours), len(theirs))), "same": shared}


def _plain_counts(counts: Any) -> Mapping[str, int]:
    """Return counts of statistics as name -> rows."""
    if isinstance(counts, Mapping):
        return cast("Mapping[str, int]", counts)
    return {item.get("name", item.get("class")): item["rows"] for item in counts}


def _paired_counts(counts: list[Mapping[str, int]]) -> list[Json]:
    names = dict.fromkeys(chain(*counts))
    if all(name.isdecimal() for name in names):
        names = dict.fromkeys(sorted(names, key=int))
    elif list(counts[0]) != list(counts[1]):  # else in the order that both have
        names = dict.fromkeys(sorted(names))
    return [{"name": n, **_pair([side_counts.get(n, 0) for side_counts in counts])} for n in names]


def _functions(told: list[Json]) -> list[Json]:
    """Return rows by function, those whose share moved the most first."""
    totals = [facts["totals"]["rows"] for facts in told]
    function_counts = _paired_counts([_plain_counts(facts["functions"]) for facts in told])
    for item in function_counts:
        item |= {
            f"{side}_share": item[side] / total if total else 0.0
            for side, total in zip(("old", "new"), totals, strict=True)
        }
    return sorted(function_counts, key=lambda i: (-abs(i["new_share"] - i["old_share"]), i["name"]))


def spread(counts: Iterable[Mapping[str, Any]]) -> float:
    """Return the distance of two distributions: 0 for equal ones, 1 for those that share nothing.

    It is the share of rows that would have to move (total variation).

    >>> spread([{"old": 3, "new": 1}, {"old": 1, "new": 1}])
    0.25
    """
    rows = [(item["old"], item["new"]) for item in counts]
    old, new = (sum(side) or 1 for side in zip(*rows, strict=True)) if rows else (1, 1)
    return float(sum(abs(a / old - b / new) for a, b in rows)) / 2


def is_same(told: Mapping[str, Any]) -> bool:
    """Return whether rows, and how they are spread, are the same on both sides."""
    rows = told["rows"]
    tables = (told[name] for name in ("functions", *_TABLES))
    is_spread_alike = all(item["old"] == item["new"] for table in tables for item in table)
    return rows["old"] == rows["new"] == rows["same"] and is_spread_alike


@dataclass(slots=True)
class _Wanted:
    """The texts of a side to list, by their hashes, and the rows found for them.

    Attributes:
        changed: sentences that have another program on the other side.
        alone: sentences that the other side has not.
        shapes: programs without values that the other side has not -> rows.
        utterances: of the sentences that changed.
        programs: of the same.
    """

    changed: frozenset[int]
    alone: frozenset[int]
    shapes: Mapping[int, int]
    utterances: dict[int, str] = field(default_factory=dict)
    programs: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    rows: set[tuple[str, str]] = field(default_factory=set)
    keys: dict[int, str] = field(default_factory=dict)

    def find(self, side: ComparedDataset) -> None:
        """Read the rows of a side again for the texts.

        Raises:
            GenieError: the files changed (D004).
        """
        if not (self.changed or self.alone or self.shapes):
            return
        before = [file.digest.hexdigest() for file in side.files]
        for row in side.read():
            sentence = hash_of(row.utterance)
            if sentence in self.changed:
                self.utterances[sentence] = row.utterance
                self.programs[sentence].add(row.program)
            if sentence in self.alone:
                self.rows.add((row.utterance, row.program))
            if len(self.keys) < len(self.shapes):
                key = program_key(row.program)
                if (shape := hash_of(key)) in self.shapes:
                    self.keys[shape] = key
        if before != [file.digest.hexdigest() for file in side.files]:
            message = f"{side.name} changed while it was read"
            raise GenieError(Problem("D004", message, hint="compare again"))

    def sentences_alone(self) -> list[Json]:
        """Return the rows of sentences that the other side has not."""
        return [{"utterance": text, "program": program} for text, program in sorted(self.rows)]

    def programs_alone(self) -> list[Json]:
        """Return programs without values that the other side has not, most rows first."""
        programs = [{"program": self.keys[key], "rows": rows} for key, rows in self.shapes.items()]
        return sorted(programs, key=lambda item: (-int(item["rows"]), str(item["program"])))


def _changed_sentences(old: _Wanted, new: _Wanted) -> list[Json]:
    """Return the sentences that changed, with their programs before and now."""
    items = [
        {"utterance": text, **_pair([sorted(side.programs[key]) for side in (old, new)])}
        for key, text in old.utterances.items()
    ]
    return sorted(items, key=lambda item: str(item["utterance"]))


def _lowest(hashes: Hashes, number: int) -> frozenset[int]:
    """Return the lowest hashes: a choice by chance that no order of rows moves."""
    return frozenset(np.sort(hashes)[:number].tolist())


def _most_frequent(hashes: Hashes, others: Hashes, number: int) -> dict[int, int]:
    """Return the hashes that are not among the others with the most rows, and how many."""
    unique_hashes, times = np.unique(hashes, return_counts=True)
    is_alone = ~np.isin(unique_hashes, np.unique(others))
    unique_hashes, times = unique_hashes[is_alone], times[is_alone]
    order = np.lexsort((unique_hashes, -times))[:number]
    return {int(unique_hashes[place]): int(times[place]) for place in order}


# ------------------------------------------------------------------------------------ the stage


@dataclass(frozen=True, slots=True)
class DiffResult(Result):
    """How two data sets differ.

    Attributes:
        told: contents of the JSON.
        outputs: the files that were written.
        private: the private parts of the inputs.
    """

    told: Mapping[str, Any] = field(repr=False)
    outputs: tuple[str, ...]
    private: PrivateInputs = field(repr=False)

    @property
    def is_same(self) -> bool:
        """Return whether nothing differs."""
        return bool(self.told["is_same"])

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield from self.private.lines()
        rows, changed = self.told["rows"], self.told["sentences"]["changed"]
        where = f" -> {', '.join(self.outputs)}" if self.outputs else ""
        if self.is_same:
            yield f"no difference in {rows['old']:,} rows{where}"
            return
        lost, gained = rows["old"] - rows["same"], rows["new"] - rows["same"]
        yield (
            f"{lost:,} rows lost, {gained:,} gained, {changed:,} sentences with another program"
            f"{where}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff(ReportStage):
    """Say what is different between two data sets.

    Rows, sentences and programs that only one has; sentences that have another program; functions
    that came or went; and how far sources, sorts of commands, depths and lengths moved. OLD and NEW
    are files of any format that convert reads, or folders of split or convert. A row is its
    sentence and its program: ids and the order of rows do not count.

    \b
    genie-dp data diff old.jsonl new.jsonl
    genie-dp data diff data.old data --html diff.html --output diff.json
    """

    command = "diff"
    output = OutputOption(
        "Where the differences go.",
        default="-",
        metavar="FILE|URL|-",
        formats=("text", "json"),
        format_help="A table, or all as JSON [text; json where the output's name ends so].",
    )

    old: str = setting(REQUIRED, "A data set.", is_argument=True)
    new: str = setting(REQUIRED, "The data set that is compared with it.", is_argument=True)
    title: str = setting("", "Title of the page [the names of the data sets].")
    show: int = setting(
        SHOWN,
        "Sentences, programs and functions that are shown, at most; the JSON has all sentences "
        "with another program.",
        least=0,
        metavar="N",
    )
    exit_code: bool = setting(False, "Exit with 1 where there is a difference.", value="flag")

    def run(self, output: Output, *, progress: bool | None = None) -> DiffResult:
        """Compare the data sets, and write the differences.

        Raises:
            GenieError: those of `side_of`; both are without rows (D008); an output that cannot be
                written, or is an input (D027).
        """
        old, new = side_of(self.old), side_of(self.new)
        targets = self.check_outputs(output, (*old.files, *new.files))
        for side in (old, new):
            side.count(progress)
        if not (len(old.counts.sentences) or len(new.counts.sentences)):
            raise GenieError(Problem("D008", "the inputs hold no rows", hint="name other files"))
        private = private_inputs([self.old, self.new])
        compared = compare(old, new, shown=self.show)
        result = {
            **private.fields(),
            "title": self.title or f"{Path(self.old).name} and {Path(self.new).name}",
            "version": __version__,
            "inputs": _pair([[file.as_dict() for file in side.files] for side in (old, new)]),
            "is_same": is_same(compared),
            **compared,
        }
        if self.html:
            with open_text(self.html) as out:
                out.write(render_page(result, shown=self.show))
        names_json = output.format is None and output.target.endswith(".json")
        with open_text(output.target) as out:
            if output.format == "json" or names_json:
                json.dump(result, out, indent=2, ensure_ascii=False)
                out.write("\n")
            else:
                out.writelines(f"{line}\n" for line in text_of(result, shown=self.show))
        return DiffResult(result, tuple(name for name in targets if name != "-"), private)

    def exit_code_for(self, result: DiffResult) -> int:
        """Return 1 where that is asked for and there is a difference."""
        return int(self.exit_code and not result.is_same)


# ----------------------------------------------------------------------------------- as a text


def text_of(told: Mapping[str, Any], *, shown: int = SHOWN) -> Iterator[str]:
    """Yield the lines of a table of differences, and of the examples shown."""
    yield f"{'':<24}{'old':>10}{'new':>10}{'same':>10}{'lost':>10}{'gained':>10}"
    for name in ("rows", "sentences", "programs", "programs_without_values"):
        item = told[name]
        numbers = (item["old"], item["new"], item["same"], *_lost_and_gained(item))
        yield f"{name.replace('_', ' '):<24}" + "".join(f"{n:>10,}" for n in numbers)
    functions = told["functions"]
    lost, gained = ([i["name"] for i in functions if not i[side]] for side in ("new", "old"))
    used = [sum(i[side] > 0 for i in functions) for side in ("old", "new")]
    numbers = (*used, used[0] - len(lost), len(lost), len(gained))
    yield f"{'functions':<24}" + "".join(f"{n:>10,}" for n in numbers)
    if told["is_same"]:
        return
    yield ""
    yield "moved: " + ", ".join(f"{name} {percent(spread(told[name]))}" for name in _SPREAD)
    for word, names in (("lost", lost), ("gained", gained)):
        if names:
            yield from _titled_lines(f"functions {word}", names, shown)
    moved = _moved_functions(functions)
    shares = [
        f"{percent(i['old_share']):>8} -> {percent(i['new_share']):>8}  {i['name']}" for i in moved
    ]
    if shares:
        yield from _titled_lines("share of rows by function", shares, shown)
    changed = [_changed_lines(item) for item in told["changed"]]
    if changed:
        yield from _titled_lines("sentences with another program", changed, shown)
    for word, side in (("lost", "old"), ("gained", "new")):
        if rows := told["only_sentences"][side]:
            yield ""
            yield f"some sentences {word}:"
            yield from (f"  {row['utterance']}" for row in rows[:shown])


def _moved_functions(functions: Iterable[Json]) -> list[Json]:
    """Return the functions that both sides have, in another share of their rows."""
    return [i for i in functions if i["old"] and i["new"] and i["old_share"] != i["new_share"]]


def _lost_and_gained(item: Mapping[str, int]) -> tuple[int, int]:
    both = item["same"] + item.get("changed", 0)
    return item["old"] - both, item["new"] - both


def _titled_lines(title: str, items: list[str], shown: int) -> Iterator[str]:
    rest = f", {shown:,} of them" if len(items) > shown else ""
    yield ""
    yield f"{title} ({len(items):,}{rest}):"
    yield from (f"  {item}" for item in items[:shown])


def _changed_lines(item: Mapping[str, Any]) -> str:
    lines = [item["utterance"]]
    for sign, side, opposite in (("-", "old", "new"), ("+", "new", "old")):
        lines += [
            f"    {sign} {program}" for program in item[side] if program not in item[opposite]
        ]
    return "\n".join(lines)


# ----------------------------------------------------------------------------------- as a page


def render_page(told: Mapping[str, Any], *, shown: int = SHOWN) -> str:
    """Return the differences as a page of HTML: charts are SVG, no script is needed."""
    template = page_environment("genie_dp.dataset").get_template("diff.html.jinja")
    text: str = template.render(
        diff=told,
        shown=shown,
        moved=_moved_functions(told["functions"]),
        lost_and_gained=_lost_and_gained,
        spread={name: spread(told[name]) for name in _SPREAD},
        length=_bin_counts(told["length"]),
        depth=_bin_counts(told["depth"]),
        marked=mark_tokens,
    )
    return text


def _bin_counts(items: list[Json]) -> list[Json]:
    """Return a histogram of both sides with few enough bins for a phone."""
    bins = [
        bin_counts({item["name"]: item[side] for item in items}, _MOST_BINS)
        for side in ("old", "new")
    ]
    return [{"name": name, **_pair([side_bins[name] for side_bins in bins])} for name in bins[0]]
