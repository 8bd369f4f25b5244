"""Coverage: which sentences the templates derive, with which program, and why not the others.

Values are read first, as `explain` does. A sentence with a program is judged by that one; for one
that is not derived, there is the nearest program, and a template that would derive it.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from genie_dp import __version__
from genie_dp.augment.skill_rows import (
    evaluation_files,
    evaluation_rows,
    is_evaluation,
)
from genie_dp.dataset.formats import READERS, LeftRow, ReadOptions, find_reader
from genie_dp.dataset.traits import CLASSES, class_of, traits_of
from genie_dp.errors import GenieError, Problem
from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.coverage_stubs import (
    NearestPrograms,
    Stub,
    align,
    working_stubs,
)
from genie_dp.evaluate.judge import gold_view
from genie_dp.evaluate.rows import Gold
from genie_dp.evaluate.views import Viewer, viewer_of
from genie_dp.languages.base import ProgramView
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.parser.reading.said import SentenceReader
from genie_dp.records import Example
from genie_dp.run.files import open_text
from genie_dp.run.page import page_environment, percent
from genie_dp.run.stage import Result, show_progress
from genie_dp.run.workers import in_processes
from genie_dp.skills.load import EVALUATION_FILE
from genie_dp.synthesis.chart import Chart
from genie_dp.synthesis.explain import Explainer, Miss, nearest_miss, program_tokens
from genie_dp.synthesis.spoken import ReadValues, ValueFinder
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

SCHEMA = "genie-dp grammar coverage 1"
VERDICTS: Mapping[str, str] = {
    "derived": "the right program is the likeliest, or the only one",
    "ambiguous": "the right program is one of several",
    "other": "derived, with other programs than the right one",
    "near miss": "not derived; a sentence that differs in a word is, or a template nearly fits",
    "not derived": "and nothing near is",
    "too long": "reading was stopped, so nothing is known",
    "not refused": "to be refused, and derived",
    "refused": "to be refused, and not derived",
}
_COVERED = ("derived", "ambiguous")
_MISS_VERDICTS = ("other", "near miss", "not derived", "too long")
CAUSES: Mapping[str, str] = {
    "function not said": "no part of the sentence is derived with one of its functions",
    "word not said": "its functions are said, and it has words that no template says",
    "not put together": "its functions and its words are said, not in this way",
    "said otherwise": "the templates give it another program",
    "unknown": "nobody said what it means",
}
_MOST_TRIED = 8  # readings of a sentence
_MOST_PROGRAMS = 5  # kept
_MOST_SHOWN = 2
_TEXT_ENDINGS = (".txt", ".text")


# ------------------------------------------------------------------------------------------ inputs


def coverage_rows(source: str, inputs: Inputs, *, format: str | None = None) -> list[Example]:
    """Return the sentences of a file or folder, with their programs where they have any.

    Args:
        source: a folder of skills, whose eval.tsv are meant; such a file; sentences, one a line
            (`.txt`); or rows of a data set.
        inputs: the language, and the skills that programs are checked with.
        format: of a data set, one of those that `genie-dp data convert` reads; None for the one
            that the name implies.

    Raises:
        GenieError: N020, N021, mistakes in rows or programs (D020 to D025), V001.
    """
    path = Path(source)
    if "://" not in source and not path.exists():
        raise GenieError(Problem("D025", f"{source}: no such file or folder"))
    language, library = inputs.language, inputs.library
    if format is None and path.suffix in _TEXT_ENDINGS:
        lines = enumerate(read_text(path).split("\n"), start=1)
        rows = [
            Example(f"{path.name}:{number}", line.strip(), "", language.name, "human")
            for number, line in lines
            if line.strip()
        ]
    elif (
        format is None
        and path.is_dir()
        and (any(path.glob(EVALUATION_FILE)) or any(path.glob(f"*/{EVALUATION_FILE}")))
    ):
        rows = list(evaluation_rows(evaluation_files([path]), language, library))
    elif format is None and is_evaluation(path):
        rows = list(evaluation_rows([path], language, library, needs_program=False))
    else:
        name = format or _format_of(source)
        options = ReadOptions(name, language.name)
        rows = [row for row in find_reader(name)(source, options) if not isinstance(row, LeftRow)]
    if not rows:
        raise GenieError(Problem("V001", f"{source} holds no sentences", hint="name another file"))
    return rows


def as_row(given: Example | str | tuple[str, str], number: int, inputs: Inputs) -> Example:
    """Return a row as it is given, or one of a sentence, or of a sentence and its program.

    Raises:
        GenieError: the program cannot be read, or means nothing in the library.
    """
    if isinstance(given, Example):
        return given
    sentence, program = (given, "") if isinstance(given, str) else given
    tokens = program_tokens(program, inputs) if program else ""
    return Example(str(number), sentence, tokens, inputs.language.name, "human")


def _format_of(source: str) -> str:
    if Path(source).is_dir():
        return "hf"
    plain = source.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    for name, entry in READERS.items():
        if entry.endings and plain.endswith(entry.endings):
            return name
    hint = f"say which with --from: {', '.join(READERS)}; sentences alone are in .txt"
    raise GenieError(Problem("D021", f"{source}: no format has such a name", hint=hint))


# ----------------------------------------------------------------------------------- one sentence


@dataclass(frozen=True, slots=True)
class MissedWording:
    """The missing parts of a sentence without its program.

    Attributes:
        cause: one of CAUSES.
        lacking: functions of the right program that no derived part speaks of.
        nearest: functions that the words best suggest, with these words.
        near: the words of no template, parts that are derived, and near fits.
        stub: a template that would derive it, "" where none was found.
        left_out: content words that do not belong to the function of such a guess.
    """

    cause: str
    lacking: tuple[str, ...]
    nearest: tuple[tuple[str, tuple[str, ...]], ...]
    near: Miss
    stub: str = ""
    left_out: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        if self.lacking:
            yield f"no words for {', '.join(self.lacking)}"
        else:
            yield f"{self.cause}: {CAUSES[self.cause]}"
        if self.cause == "unknown":
            yield from (f"nearest: {name} says {', '.join(words)}" for name, words in self.nearest)
        yield from (line.removeprefix("  ") for line in list(self.near.lines())[1:])
        if self.stub:
            yield "this would derive it:"
            if self.left_out:
                new = ", ".join(self.left_out)
                yield f"  // new words, of which its program has nothing: {new}"
            yield from (f"  {line}" for line in self.stub.split("\n"))


@dataclass(frozen=True, slots=True)
class CoveredSentence:
    """The outcome of a sentence.

    Attributes:
        expected: its program in token form, with its values; "" if unknown.
        verdict: one of VERDICTS.
        programs: those that it has, the likeliest first, with its values.
        read: the likeliest reading with placeholders, and their values.
        functions: those of the expected program, else of the likeliest.
        sort: the sort of command of the expected program, else of the likeliest; "" of none.
        missed: its missing parts; None where it has its program.
        milliseconds: of processor time.
    """

    id: str
    utterance: str
    expected: str
    verdict: str
    programs: tuple[str, ...]
    read: ReadValues
    functions: tuple[str, ...]
    sort: str
    missed: MissedWording | None = None
    milliseconds: float = field(default=0.0, compare=False)

    @property
    def is_covered(self) -> bool:
        """Return whether the templates derive it, with the program that it should have."""
        return self.verdict in _COVERED

    def lines(self) -> Iterator[str]:
        """Yield the summary of a missed sentence."""
        if self.expected:
            yield f"expected: {self.expected}"
        for program in self.programs[:_MOST_SHOWN]:
            yield f"got:      {program}"
        if self.missed is not None:
            yield from self.missed.lines()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        missed = None
        if self.missed is not None:
            nearest = [{"function": name, "words": words} for name, words in self.missed.nearest]
            missed = {**asdict(self.missed), "near": self.missed.near.as_dict(), "nearest": nearest}
        return {
            "id": self.id,
            "utterance": self.utterance,
            "verdict": self.verdict,
            "expected": self.expected or None,
            "programs": list(self.programs),
            "read": " ".join(self.read.tokens),
            "values": {name: value._asdict() for name, value in self.read.values.items()},
            "functions": list(self.functions),
            "sort": self.sort or None,
            "missed": missed,
        }


@dataclass(slots=True)
class CoverageReader:
    """Judges sentences by one grammar; the programs that it compares fit one library."""

    inputs: Inputs
    values: SentenceReader
    explainer: Explainer
    spoken: ValueFinder
    viewer: Viewer

    @classmethod
    def from_inputs(
        cls,
        inputs: Inputs,
        config: CoverageConfig,
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> "CoverageReader":
        """Return the judge of a grammar; indexing it takes some seconds."""
        values = SentenceReader(
            inputs.language, inputs.library, now=config.moment,
            locale=locale_from(config.locale), names=names,
        )  # fmt: skip
        explainer = Explainer.from_inputs(inputs, config, values=values)
        assert explainer.spoken is not None
        viewer = viewer_of(inputs.language.name, inputs.library)
        return cls(inputs, values, explainer, explainer.spoken, viewer)

    def judge(self, row: Example, *, file: str = "<rows>") -> CoveredSentence:
        """Return the outcome of a sentence, without a stub.

        Raises:
            GenieError: its program cannot be read (V005) or is ill-typed (V006).
        """
        start = time.process_time()
        covered = self._judge(row, file)
        return replace(covered, milliseconds=1000 * (time.process_time() - start))

    def _judge(self, row: Example, file: str) -> CoveredSentence:
        matches = self.spoken.find(row.utterance)
        programs = list(self._programs(matches.readings))
        likely = [program for program in programs if not program.read.is_unlikely]
        if row.program == OUT_OF_SCOPE:
            return self._covered_sentence(row, "", "not refused" if likely else "refused", likely)
        best = [program for program in likely if program.read.doubt <= likely[0].read.doubt]
        if not row.program:
            if likely:
                return self._covered_sentence(
                    row, "", "derived" if len(best) == 1 else "ambiguous", likely
                )
            return self._missed_sentence(
                row, "", [], self.spoken.guess(row.utterance), matches.is_cut
            )
        gold = gold_view(row.program, Gold(row, (row.program,)), self.viewer, file).match
        right = [program for program in programs if program.match == gold]
        aligned = align(row.utterance, row.program, self.spoken, self.inputs).read
        if not right:
            # Of the words that may be values, the program tells which are.
            right = [program for program in self._programs([aligned]) if program.match == gold]
        if right:
            is_best = any(program in best for program in right)
            others = [program for program in (best if is_best else likely) if program not in right]
            verdict = "ambiguous" if others else "derived"
            return self._covered_sentence(row, row.program, verdict, [*right, *others])
        return self._missed_sentence(row, row.program, likely, aligned, matches.is_cut)

    def _covered_sentence(
        self,
        row: Example,
        expected: str,
        verdict: str,
        programs: Sequence["_ReadingProgram"],
        read: ReadValues | None = None,
        missed: MissedWording | None = None,
    ) -> CoveredSentence:
        """Return the outcome of a sentence; `read` is the first program's unless it is given."""
        language = self.inputs.language
        code = expected or (programs[0].text if programs else "")
        functions = tuple(dict.fromkeys(language.form(code).functions)) if code else ()
        bits = traits_of(code, functions, language.name) if code else 0
        if read is None:
            read = programs[0].read if programs else self.spoken.guess(row.utterance)
        return CoveredSentence(
            row.id, row.utterance, expected, verdict,
            tuple(program.text for program in programs)[:_MOST_PROGRAMS],
            read, functions, CLASSES[class_of(bits)][1] if code else "", missed,
        )  # fmt: skip

    def _programs(self, readings: Sequence[ReadValues]) -> Iterator["_ReadingProgram"]:
        """Yield the programs of readings, the likeliest first, each meaning once."""
        seen: set[str] = set()
        for read in readings[:_MOST_TRIED]:
            for program in read.programs or self.explainer.programs_of(read):
                text = self.values.fill(program, read.values)
                view = self.viewer.view(text)
                match = view.match if isinstance(view, ProgramView) else text
                if match not in seen:
                    seen.add(match)
                    yield _ReadingProgram(read, text, match)

    def _missed_sentence(
        self,
        row: Example,
        expected: str,
        likely: Sequence["_ReadingProgram"],
        read: ReadValues,
        is_cut: bool,
    ) -> CoveredSentence:
        """Return a sentence without its program, and its missing parts."""
        words = self.values.content_words(read.tokens)
        is_english = self.values.locale.language == DEFAULT
        nearest = tuple(self.spoken.function_words.nearest(words, are_english=is_english))
        if is_cut and not likely:
            missed = MissedWording("unknown", (), nearest, Miss((), (), (), ()))
            return self._covered_sentence(row, expected, "too long", (), read, missed)
        sentence = self.explainer.sentence_of(read)
        chart = Chart(self.explainer.grammar, self.explainer.max_depth)
        miss = nearest_miss(self.explainer, sentence, chart)
        functions = self.inputs.language.form(expected).functions if expected else ()
        lacking = tuple(n for n in dict.fromkeys(functions) if n not in miss.functions)
        if likely:
            verdict, cause = "other", "said otherwise"
        else:
            is_near = bool(miss.edits) or any(fit.words == sentence.text for fit in miss.fits)
            verdict = "near miss" if is_near else "not derived"
            cause = "word not said" if miss.unknown else "not put together"
            cause = "function not said" if lacking else cause if expected else "unknown"
        missed = MissedWording(cause, lacking, nearest, miss)
        return self._covered_sentence(row, expected, verdict, likely, read, missed)

    def stub(self, sentence: CoveredSentence, nearest: NearestPrograms) -> Stub | None:
        """Return a template for a sentence that was missed, not checked yet; None without any."""
        assert sentence.missed is not None
        if sentence.expected:
            aligned = align(sentence.utterance, sentence.expected, self.spoken, self.inputs)
            return Stub.from_sentence(aligned, self.inputs)
        telling = self.values.content_words(sentence.read.tokens)
        for function, words in sentence.missed.nearest:
            if 2 * len(words) < len(telling):  # one word of many says too little of a function
                continue
            alignment = nearest.align(sentence.utterance, function)
            if alignment is not None:
                return Stub.from_sentence(alignment, self.inputs)
        return None

    def left_out(self, sentence: CoveredSentence, stub: Stub) -> tuple[str, ...]:
        """Return the content words of a sentence that its guessed stub turns into no program."""
        if sentence.expected or sentence.missed is None:
            return ()
        (function,) = self.inputs.language.form(stub.sentence.program).functions
        function_words = dict(sentence.missed.nearest)[function]
        telling = self.values.content_words(stub.sentence.read.tokens)
        words = (word for word in dict.fromkeys(telling) if word[:1].isalnum())  # no "'s"
        return tuple(word for word in words if word not in function_words)


@dataclass(frozen=True, slots=True)
class _ReadingProgram:
    """A program of a reading with its values, and its key for comparison."""

    read: ReadValues
    text: str
    match: str


# ------------------------------------------------------------------------------------------ totals


@dataclass(frozen=True, slots=True)
class CoverageGroup:
    """How many rows of a function, or of a sort of command, the templates derive.

    Attributes:
        lacking: rows in which no derived part speaks of the function.
    """

    name: str
    rows: int
    covered: int
    lacking: int = 0

    @property
    def share(self) -> float:
        """Return the share that is derived."""
        return self.covered / self.rows


@dataclass(frozen=True, slots=True)
class CoverageReport(Result):
    """Which sentences the templates derive.

    Attributes:
        sentences: in the order of the inputs.
    """

    title: str
    sources: tuple[str, ...]
    language: str
    sentences: tuple[CoveredSentence, ...]

    def __repr__(self) -> str:
        rows = len(self.counted)
        return f"Coverage({100 * self.share:.1f} % of {rows:,} sentences covered)"

    @property
    def counted(self) -> tuple[CoveredSentence, ...]:
        """Return the sentences that are to be derived: all but those to be refused."""
        return tuple(s for s in self.sentences if s.is_covered or s.verdict in _MISS_VERDICTS)

    @property
    def missed(self) -> tuple[CoveredSentence, ...]:
        """Return the sentences that have not their program."""
        return tuple(s for s in self.sentences if s.missed is not None)

    @property
    def stubs(self) -> dict[str, list[CoveredSentence]]:
        """Return the templates that would derive missed sentences, with these sentences."""
        stubs: dict[str, list[CoveredSentence]] = {}
        for sentence in self.missed:
            if sentence.missed is not None and sentence.missed.stub:
                stubs.setdefault(sentence.missed.stub, []).append(sentence)
        return stubs

    @property
    def share(self) -> float:
        """Return the share of the sentences that have their program; 0 of none."""
        counted = self.counted
        return sum(s.is_covered for s in counted) / len(counted) if counted else 0.0

    @property
    def verdicts(self) -> dict[str, int]:
        """Return the number of sentences with each verdict."""
        counts = Counter(sentence.verdict for sentence in self.sentences)
        return {name: counts[name] for name in VERDICTS if counts[name]}

    @property
    def causes(self) -> dict[str, int]:
        """Return the number of missed sentences with each cause."""
        counts = Counter(s.missed.cause for s in self.missed if s.missed is not None)
        return {name: counts[name] for name in CAUSES if counts[name]}

    @property
    def functions(self) -> tuple[CoverageGroup, ...]:
        """Return the functions of the sentences, the worst covered first."""
        return _groups(self.counted, lambda s: s.functions)

    @property
    def sorts(self) -> tuple[CoverageGroup, ...]:
        """Return the sorts of commands, in the order of their names."""
        groups = _groups(self.counted, lambda s: (s.sort,) if s.sort else ())
        return tuple(sorted(groups, key=lambda group: group.name))

    def lines(self) -> Iterator[str]:
        """Yield the share, and its parts."""
        covered = sum(s.is_covered for s in self.counted)
        of_all = f"{covered:,} of {len(self.counted):,} sentences"
        yield f"{percent(self.share)} covered: {of_all}"
        for name, count in self.verdicts.items():
            yield f"  {name:<12}{count:>7,}  {VERDICTS[name]}"
        if self.causes:
            yield "\nwhy not"
            for name, count in self.causes.items():
                yield f"  {name:<20}{count:>7,}  {CAUSES[name]}"
        if self.sorts:
            yield "\nsort of command"
            yield from map(_group_line, self.sorts)
        worst = [group for group in self.functions if group.covered < group.rows][:_MOST_WORST]
        if worst:
            yield "\nfunctions, the worst first"
            yield from map(_group_line, worst)
        if self.sentences:
            times = sorted(sentence.milliseconds for sentence in self.sentences)
            seconds = f"{times[-1] / 1000:.1f} s at most"
            yield f"\n{median(times):.0f} ms of processor time a sentence, {seconds}"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "title": self.title,
            "sources": list(self.sources),
            "language": self.language,
            "rows": len(self.counted),
            "share": self.share,
            "verdicts": self.verdicts,
            "causes": self.causes,
            "sorts": [_group_data(group) for group in self.sorts],
            "functions": [_group_data(group) for group in self.functions],
            "sentences": [sentence.as_dict() for sentence in self.sentences],
        }

    def report(self, target: str | Path) -> None:
        """Write a page to a file or URL."""
        environment = page_environment("genie_dp.evaluate")
        page = environment.get_template("coverage.html.jinja").render(
            coverage=self, verdicts=VERDICTS, causes=CAUSES
        )
        with open_text(str(target)) as out:
            out.write(page)

    def save(self, target: str | Path) -> None:
        """Write the sentences as JSON lines to a file or URL; "-" is standard output."""
        with open_text(str(target)) as out:
            for sentence in self.sentences:
                out.write(json.dumps(sentence.as_dict(), ensure_ascii=False) + "\n")


_MOST_WORST = 10


def _groups(
    sentences: Iterable[CoveredSentence], names_of: Callable[[CoveredSentence], Sequence[str]]
) -> tuple[CoverageGroup, ...]:
    """Return groups of sentences, the least covered first; of equals the largest."""
    rows, covered, lacking = Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        for name in names_of(sentence):
            rows[name] += 1
            covered[name] += sentence.is_covered
            lacking[name] += sentence.missed is not None and name in sentence.missed.lacking
    groups = (CoverageGroup(name, rows[name], covered[name], lacking[name]) for name in rows)
    return tuple(sorted(groups, key=lambda group: (group.share, -group.rows, group.name)))


def _group_line(group: CoverageGroup) -> str:
    of_rows = f"{group.covered:,} of {group.rows:,}"
    lacking = f"  {group.lacking:,} without words for it" if group.lacking else ""
    return f"  {group.name:<44}{percent(group.share):>8}  {of_rows}{lacking}"


def _group_data(group: CoverageGroup) -> dict[str, Any]:
    return {**asdict(group), "share": group.share}


# --------------------------------------------------------------------------------------- the stage


def run(
    config: CoverageConfig,
    inputs: Inputs,
    rows: Sequence[Example],
    *,
    sources: Sequence[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
    jobs: int = 1,
    progress: bool | None = None,
) -> CoverageReport:
    """Return which sentences the templates derive.

    Args:
        config: which templates, and how deep.
        inputs: skills and templates.
        rows: sentences; those without a program have an empty one.
        sources: the names of their files.
        names: kind of entity -> names that belong to who speaks.
        jobs: processes; the result does not depend on it.
        progress: whether to show progress; None for on a terminal.

    Raises:
        GenieError: a program that cannot be read (V005) or is ill-typed (V006); a language whose
            sentences hold no values (V023).
    """
    if not inputs.language.values.reads_values(inputs.library):
        message = f"sentences of {inputs.language.name} hold no values that could be read"
        hint = "use genie-dp grammar explain --file for sentences and programs with placeholders"
        raise GenieError(Problem("V023", message, hint=hint))
    reader = CoverageReader.from_inputs(inputs, config, names)
    file = ", ".join(sources) or "<rows>"

    def judge_all(numbers: Sequence[int]) -> Iterator[CoveredSentence]:
        return (reader.judge(rows[number], file=file) for number in numbers)

    numbers = range(len(rows))
    judged = in_processes(judge_all, numbers, jobs) if jobs > 1 else judge_all(numbers)
    sentences = list(show_progress(judged, label="sentences", total=len(rows), show=progress))
    nearest = NearestPrograms(reader.explainer, reader.spoken, inputs.library)
    stubs = {
        str(number): stub
        for number, sentence in enumerate(sentences)
        if sentence.missed is not None and sentence.verdict != "too long"
        if (stub := reader.stub(sentence, nearest)) is not None
    }
    working = working_stubs(stubs, inputs, subsets=config.subsets, max_depth=config.max_depth)
    for key, text in working.items():
        sentence = sentences[int(key)]
        assert sentence.missed is not None
        left_out = reader.left_out(sentence, stubs[key])
        missed = replace(sentence.missed, stub=text, left_out=left_out)
        sentences[int(key)] = replace(sentence, missed=missed)
    title = config.title or f"Coverage of {', '.join(Path(s).name for s in sources) or 'sentences'}"
    return CoverageReport(title, tuple(sources), inputs.language.name, tuple(sentences))
