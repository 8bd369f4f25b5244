"""The composition of a data set: Figure 7 of the Genie paper, and its numbers (section 5.2).

One pass over the rows, a second one where there are paraphrases. Memory: 24 bytes a row, the
vocabulary, and the paraphrases themselves. Gates are limits that the figures have to keep.
"""

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp import __version__
from genie_dp.dataset.gates import Gate, figures_of, problems_of, show
from genie_dp.dataset.readers import parts_in
from genie_dp.dataset.scan import (
    DatasetFile,
    GroupCounts,
    IdFilter,
    ScannedRow,
    combination,
    hash_of,
    program_key,
    scan,
)
from genie_dp.dataset.traits import CLASSES, class_of, traits_of
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Library, Skipped
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.private.ledger.guard import PrivateInputs, private_inputs
from genie_dp.recipe import REQUIRED, setting
from genie_dp.run.files import check_output, open_text, refuse_overlap
from genie_dp.run.page import bin_counts, page_environment
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.stage.kernel import OutputOption, Stage
from genie_dp.templates.inputs import load_library

TOP = 50
_PAGE_BARS = 40
_MOST_BARS = 1000
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
# The order in which the paper counts words: synthesized, then paraphrased, then augmented.
_ORDER = ("synthetic", "paraphrase", "human", "private", "augmented")


@dataclass(slots=True)
class DatasetCounts:
    """Counts over rows.

    Attributes:
        kinds: rows by source, language and traits.
        combinations: rows by combination of functions.
        words: source -> distinct words of its sentences.
        length: rows by number of words.
        depth: rows by depth.
        templates: those of derivations.
        out_of_scope: rows whose program means that no skill can do it.
        sentences, programs, bare: hashes of sentences, programs, and programs without values.
    """

    kinds: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    combinations: Counter[str] = field(default_factory=Counter)
    words: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    length: Counter[int] = field(default_factory=Counter)
    depth: Counter[int] = field(default_factory=Counter)
    templates: set[str] = field(default_factory=set)
    out_of_scope: int = 0
    sentences: "array[int]" = field(default_factory=lambda: array("Q"))
    programs: "array[int]" = field(default_factory=lambda: array("Q"))
    bare: "array[int]" = field(default_factory=lambda: array("Q"))

    def add(self, row: ScannedRow) -> None:
        """Count a row."""
        bits = traits_of(row.program, row.functions, row.language)
        self.kinds[row.source, row.language, bits] += 1
        self.combinations[combination(row.functions)] += 1
        words = row.utterance.split()
        self.words[row.source].update(words)
        self.length[len(words)] += 1
        self.depth[row.depth] += 1
        self.templates.update(row.derivation)
        self.out_of_scope += row.program == OUT_OF_SCOPE
        self.sentences.append(hash_of(row.utterance))
        self.programs.append(hash_of(row.program))
        self.bare.append(hash_of(program_key(row.program)))

    def groups(self) -> GroupCounts:
        """Return rows by traits, source and language."""
        groups = GroupCounts(rows=len(self.sentences), combinations=self.combinations)
        for (source, language, bits), rows in self.kinds.items():
            groups.traits[bits] += rows
            groups.sources[source] += rows
            groups.languages[language] += rows
        return groups

    def functions(self) -> Counter[str]:
        """Return rows by the functions that they use."""
        rows_by_function = Counter[str]()
        for names, rows in self.combinations.items():
            for name in names.split():
                rows_by_function[name] += rows
        return rows_by_function


ReadRows = Callable[[IdFilter | None], Iterator[ScannedRow]]


def count_rows(rows: ReadRows) -> dict[str, Any]:
    """Return the statistics of rows as plain data.

    Args:
        rows: reads the rows, as `scan` does; called twice where there are paraphrases.

    >>> row = ScannedRow("a", "beep now", "now => @c.beep", "thingtalk", "human", "", ["@c.beep"])
    >>> count_rows(lambda wanted: iter([row]))["totals"]["words"]
    2
    """
    stats = DatasetCounts()
    waiting: dict[int, list[str]] = defaultdict(list)  # hash of an id -> sentences written for it
    for row in rows(None):
        stats.add(row)
        if row.source == "paraphrase" and row.parent:
            waiting[hash_of(row.parent)].append(row.utterance)
    newness = Newness()
    if waiting:
        for row in rows(lambda id: hash_of(id) in waiting):
            for sentence in waiting.pop(hash_of(row.id), ()):
                newness.add(row.utterance, sentence)
        newness.orphans = sum(map(len, waiting.values()))
    return describe_counts(stats, newness)


@dataclass(slots=True)
class Newness:
    """How much of paraphrases is new: shares of their words and bigrams that the parent has not.

    "On average, each paraphrase introduces 38% new words and 65% new bigrams" (Genie, 5.2).

    Attributes:
        orphans: paraphrases whose parent is not among the rows.
    """

    pairs: int = 0
    words: float = 0.0
    with_bigrams: int = 0
    bigrams: float = 0.0
    tenths: Counter[int] = field(default_factory=Counter)
    orphans: int = 0

    def add(self, parent: str, paraphrase: str) -> None:
        """Compare a paraphrase with the sentence that it was written for.

        >>> newness = Newness()
        >>> newness.add("show my mail", "show me mail")
        >>> round(newness.words, 2), newness.bigrams
        (0.33, 1.0)
        """
        old, new = parent.split(), paraphrase.split()
        if not new:
            return
        share = len(set(new) - set(old)) / len(set(new))
        self.pairs += 1
        self.words += share
        self.tenths[min(int(share * 10), 9)] += 1
        if pairs := set(pairwise(new)):
            self.with_bigrams += 1
            self.bigrams += len(pairs - set(pairwise(old))) / len(pairs)

    def as_dict(self) -> dict[str, Any] | None:
        """Return the means; None where there is nothing to compare."""
        if not self.pairs:
            return None
        return {
            "paraphrases": self.pairs,
            "without_parent": self.orphans,
            "new_words": self.words / self.pairs,
            "new_bigrams": self.bigrams / self.with_bigrams if self.with_bigrams else None,
            "new_words_from_percent": {str(10 * t): self.tenths[t] for t in range(10)},
        }


def describe_counts(stats: DatasetCounts, newness: Newness) -> dict[str, Any]:
    """Return the statistics as plain data."""
    groups = stats.groups()
    functions = stats.functions()
    sources = [name for name in _ORDER if groups.sources[name]]
    sources += sorted(set(groups.sources) - set(_ORDER))
    return {
        "totals": _totals(stats, len(functions)),
        "classes": _classes(stats, sources),
        "traits": groups.by_trait(),
        "sources": {name: groups.sources[name] for name in sources},
        "languages": dict(sorted(groups.languages.items())),
        "vocabulary": _vocabulary(stats.words, sources),
        "length": _histogram(stats.length),
        "depth": _histogram(stats.depth),
        "paraphrases": newness.as_dict(),
        "functions": _rank_counts(functions),
        "combinations": _rank_counts(groups.combinations)[:TOP],
    }


def _totals(stats: DatasetCounts, functions: int) -> dict[str, int]:
    sentences, programs = as_hashes(stats.sentences), as_hashes(stats.programs)
    return {
        "rows": len(sentences),
        "duplicates": len(sentences) - len(np.unique(pairs_of(sentences, programs))),
        "sentences": len(np.unique(sentences)),
        "programs": len(np.unique(programs)),
        "programs_without_values": len(np.unique(as_hashes(stats.bare))),
        "words": len(set().union(*stats.words.values())),
        "functions": functions,
        "function_combinations": len(stats.combinations),
        "templates": len(stats.templates),
        "ambiguous_sentences": _ambiguous(sentences, programs),
        "out_of_scope": stats.out_of_scope,
    }


def pairs_of(sentences: Hashes, programs: Hashes) -> Hashes:
    """Return a hash for each pair of a sentence and a program."""
    # Odd, so that no two sentences become one; by Fibonacci's ratio, so that bits spread.
    return sentences * np.uint64(0x9E3779B97F4A7C15) ^ programs


def as_hashes(numbers: "array[int]") -> Hashes:
    """Return hashes as an array that shares their memory."""
    return np.frombuffer(numbers, np.uint64) if numbers else np.zeros(0, np.uint64)


def _ambiguous(sentences: Any, programs: Any) -> int:
    """Return the number of sentences that stand for more than one program."""
    order = np.lexsort((programs, sentences))
    is_repeated = sentences[order][1:] == sentences[order][:-1]
    differ = programs[order][1:] != programs[order][:-1]
    return len(np.unique(sentences[order][1:][is_repeated & differ]))


def _classes(stats: DatasetCounts, sources: list[str]) -> list[dict[str, Any]]:
    rows = len(stats.sentences)
    classes = Counter[tuple[str, int]]()
    for (source, _, bits), number in stats.kinds.items():
        classes[source, class_of(bits)] += number
    class_rows = []
    for place, (_, name) in enumerate(CLASSES):
        by_source = {source: classes[source, place] for source in sources}
        total = sum(by_source.values())
        share = total / rows if rows else 0.0
        class_rows.append({"class": name, "rows": total, "share": share, "by_source": by_source})
    return class_rows


def _vocabulary(words: Mapping[str, set[str]], sources: list[str]) -> list[dict[str, Any]]:
    """Return the words of each source, and of it with all before it."""
    words_so_far: set[str] = set()
    rows = []
    for source in sources:
        words_so_far |= words[source]
        rows.append({"source": source, "words": len(words[source]), "so_far": len(words_so_far)})
    return rows


def _histogram(counts: Counter[int]) -> dict[str, int]:
    """Return a histogram, without gaps unless one sentence is out of all proportion.

    >>> _histogram(Counter((3, 5))), len(_histogram(Counter((3, 3_000_000))))
    ({'3': 1, '4': 0, '5': 1}, 2)
    """
    lengths = sorted(counts)
    if lengths and lengths[-1] - lengths[0] < _MOST_BARS:
        lengths = list(range(lengths[0], lengths[-1] + 1))
    return {str(n): counts[n] for n in lengths}


def _rank_counts(counts: Counter[str]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"name": name, "rows": rows} for name, rows in ordered]


# -------------------------------------------------------------------------------------- the stage


@dataclass(frozen=True, slots=True)
class StatsResult(Result):
    """The composition of a data set.

    Attributes:
        counts: all fields of the JSON.
        files: how many were read.
        outputs: the files that were written.
        private: the private parts of the inputs.
        gates: how many limits were required, all of which are kept.
        skipped: broken skills.
    """

    counts: Mapping[str, Any] = field(repr=False)
    files: int
    outputs: tuple[str, ...]
    private: PrivateInputs = field(repr=False)
    gates: int = 0
    skipped: tuple[Skipped, ...] = field(default=(), repr=False)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        for skipped in self.skipped:
            yield from skipped.lines()
        yield from self.private.lines()
        where = f" -> {', '.join(self.outputs)}" if self.outputs else ""
        yield f"{self.counts['totals']['rows']:,} rows of {self.files} files{where}"
        if self.gates:
            yield f"{self.gates} required {'figure is' if self.gates == 1 else 'figures are'} kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportStage(Stage):
    """A stage that reads data sets, and writes its findings as JSON and as a page."""

    html: str | None = setting(None, "Write a page with charts there, too.", metavar="FILE")

    def check_outputs(self, output: Output, files: Iterable[DatasetFile]) -> tuple[str, ...]:
        """Return the files to write, all of which can be written and none of which is read.

        Raises:
            GenieError: D027, one is an input; those of `check_output`.
        """
        targets = (output.target, *([self.html] if self.html else []))
        for target in targets:
            check_output(target)
        refuse_overlap(targets, [file.name for file in files])
        return targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(ReportStage):
    """Count what a data set is made of.

    Sorts of commands, different words, programs and combinations of functions, lengths, and how
    much is new in paraphrases. INPUT is a file of rows, or a folder of split or convert. Figures
    that --require knows are under `figures` of the JSON.

    \b
    genie-dp data stats synthetic.jsonl paraphrases.jsonl --output stats.json --html stats.html
    genie-dp data stats data | jq .totals
    genie-dp data stats data -o stats.json --require 'functions>=95%' --require 'rows>=20000'

    Requirements are checked when all is written, so that the numbers can be looked at.
    """

    command = "stats"
    output = OutputOption("Where the numbers go, as JSON.", default="-", metavar="FILE|URL|-")

    inputs: tuple[str, ...] = setting(
        REQUIRED, "Files of rows, or folders with parts.", is_argument=True, metavar="INPUT..."
    )
    title: str = setting("", "Title of the page [the names of the inputs].")
    require: tuple[Gate, ...] = setting(
        (),
        "Exit with 1 where a figure does not keep the limit; also <=, >, < and ==, and 95%.",
        metavar="'FIGURE>=NUMBER'",
        parse=Gate.parse,
    )
    skills: tuple[Path, ...] = setting(
        (),
        "Skills whose functions rows should use; for sexpr, a file of declarations "
        "[shipped, where --require needs them].",
        value="skills",
        metavar="DIR",
    )
    skip_broken: bool = setting(
        False, "Go on without the skills that cannot be read.", value="flag"
    )

    def run(self, output: Output, *, progress: bool | None = None) -> StatsResult:
        """Count, and write the JSON.

        Raises:
            GenieError: an input that is a pipe (D009), or has no rows (D008) or parts (D024); an
                output that cannot be written, or is an input (D027); a requirement is not met
                (D031, one for each).
        """
        sources = [DatasetFile.from_name(name) for name in _files(self.inputs)]
        targets = self.check_outputs(output, sources)

        def read(wanted: IdFilter | None) -> Iterator[ScannedRow]:
            rows = chain.from_iterable(scan(source, wanted=wanted) for source in sources)
            return show_progress(rows, label="paraphrases" if wanted else "rows", show=progress)

        content = count_rows(read)
        if not content["totals"]["rows"]:
            raise GenieError(Problem("D008", "the inputs hold no rows", hint="name other files"))
        private = private_inputs(self.inputs)
        library, content["library"] = None, None
        if self.skills or any(gate.needs_library for gate in self.require):
            language = max(content["languages"], key=content["languages"].__getitem__)
            library = load_library(language, self.skills, skip_broken=self.skip_broken)
            content["library"] = _describe_use(library, content["functions"])
        figures = content["figures"] = figures_of(content)
        counts: dict[str, Any] = {
            **private.fields(),
            "title": self.title or ", ".join(Path(name).name for name in self.inputs),
            "version": __version__,
            "inputs": [source.as_dict() for source in sources],
            **content,
            "required": [
                {"gate": str(gate), "figure": gate.figure, "is_kept": gate.is_kept(figures)}
                for gate in self.require
            ],
        }
        if self.html:
            with open_text(self.html) as out:
                out.write(render_page(counts))
        with open_text(output.target) as out:
            json.dump(counts, out, indent=2, ensure_ascii=False)
            out.write("\n")
        if problems := list(problems_of(self.require, counts)):
            raise GenieError(problems)
        outputs = tuple(target for target in targets if target != "-")
        skipped = library.skipped if library else ()
        return StatsResult(counts, len(sources), outputs, private, len(self.require), skipped)


def _describe_use(library: Library, functions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return which functions of a library rows use; those called by a class's heir count not."""
    rows = {item["name"]: item["rows"] for item in functions}
    names = [name for name in library.names() if not library.is_inherited(name)]
    unused = sorted(name for name in names if name not in rows)
    rarest = min(names, key=lambda name: (rows.get(name, 0), name), default="")
    return {
        "functions": len(names),
        "used": len(names) - len(unused),
        "rarest": rarest,
        "least_rows": rows.get(rarest, 0),
        "unused": unused,
    }


def _files(inputs: Iterable[str]) -> list[str]:
    """Return the files of the inputs: those of a folder are its parts."""
    files: list[str] = []
    for name in inputs:
        if name == "-":
            hint = "write the rows to a file first"
            raise GenieError(Problem("D009", "inputs are read twice, a pipe cannot be", hint=hint))
        if "://" not in name and Path(name).is_dir():
            files += [str(file) for part in parts_in(Path(name)).values() for file in part]
        else:
            files.append(name)
    return files


def render_page(counts: Mapping[str, Any]) -> str:
    """Return the counts as a page of HTML: charts are SVG, no script is needed."""
    template = page_environment("genie_dp.dataset").get_template("stats.html.jinja")
    text: str = template.render(
        stats=counts, length=bin_counts(counts["length"]), most_bars=_PAGE_BARS, show=show
    )
    return text
