"""DP programs rendered by the templates: several clean sentences for each of them.

The second stage of a two-stage generator makes a sentence of each program, and sometimes the wrong
one. Here the templates render it, so a pair of sentence and program cannot be corrupt. All of this
is post-processing: it costs no privacy.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private_prior import load_prior, load_spent
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Example, Slot
from genie_dp.rows import from_json, read_rows, rows_format, to_json, write_rows
from genie_dp.run.collector import leave_to_the_end
from genie_dp.run.files import open_text, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.run.work import enter_work, interruptible
from genie_dp.run.workers import in_processes
from genie_dp.stage.kernel import RESUMABLE_ROWS, Stage, jobs_setting
from genie_dp.synthesis.config import ReverseConfig
from genie_dp.synthesis.describe import Describer, Description
from genie_dp.synthesis.explain import DerivationNode, Explainer
from genie_dp.templates.inputs import Inputs

# Sentences looked at for each one that is kept: so that they differ in more than a "please".
_POOL = 12
# By how much a sentence may be less natural than another for the words that it adds: a place in
# the order costs as much as a fiftieth of the words (found by reading 300 sentences).
_PLACE = 0.02


RenderedProgram = tuple[Example, ...] | str
"""The rows of a program, or why there are none."""
_SHOWN = 10  # programs that a result names


@dataclass(frozen=True, slots=True)
class UnsaidProgram:
    """A program that no template can render, and why; `times` is how often it was drawn."""

    program: str
    times: int
    reason: str


@dataclass(slots=True)
class Renderer:
    """Renders programs by one grammar; indexing it takes seconds, so keep it.

    Attributes:
        describer: from programs to sentences.
        explainer: from sentences to programs: an ambiguous sentence is used for none.
        sentences: how many for each program, at most.
    """

    describer: Describer
    explainer: Explainer
    sentences: int = 5

    def say(self, program: str) -> tuple[Example, ...] | str:
        """Return rows for a program, the most natural first, or why there are none."""
        try:
            drafts = self.describer.drafts(program, self.sentences * _POOL)
        except GenieError as error:
            return error.problems[0].message
        first = drafts[0].describe()
        if not first.complete:
            return f"no template says: {'; '.join(first.missing)}"
        rows = (
            self._make_row(draft.describe())
            for draft in vary_sentences(drafts)
            if self.explainer.meanings(draft.utterance) == {draft.program}
        )
        return tuple(islice(rows, self.sentences)) or "its sentences mean other programs, too"

    def _make_row(self, description: Description) -> Example:
        language, library = self.describer.compiled.language, self.describer.library
        tree = language.from_tokens(description.program)
        uses = get_language(language.name).values.uses(tree, library)
        derivation = description.derivation
        assert derivation is not None  # the description is complete
        return Example(
            "",
            description.utterance,
            description.program,
            language.name,
            "private",
            derivation=tuple(_templates(derivation)),
            functions=tuple(language.functions(tree).elements()),
            depth=derivation.depth,
            slots={token: Slot(type_, parameter) for token, type_, parameter in uses},
        )


def number_rows(
    times: Mapping[str, int],
    said: Callable[[], Iterable[tuple[Example, ...] | str]],
    sentences: int,
) -> Iterator[Example | UnsaidProgram]:
    """Yield the rows of programs with ids and weights, and the programs without a rendering.

    The weights of a program's rows sum to as much as it was drawn, however few its rows are, so
    that learning sees programs as often as they are asked for. Rows of a program with all
    `sentences` weigh 1 on average. Programs with the same rendering, such as those that differ in
    values only, are one program: the first has the rows, and the draws of all.

    Args:
        times: program -> how often it was drawn.
        said: returns the result of `Renderer.say` for each of them, in order; called twice.
        sentences: of a program, at most.
    """
    firsts = tuple(_find_firsts(said()))
    draws = Counter[int]()
    for first, times_drawn in zip(firsts, times.values(), strict=True):
        draws[first] += times_drawn
    mean = sum(times.values()) / max(1, len(draws))
    for number, ((program, times_drawn), rows) in enumerate(
        zip(times.items(), said(), strict=True)
    ):
        if isinstance(rows, str):
            yield UnsaidProgram(program, times_drawn, rows)
        elif firsts[number] == number:
            weight = round(draws[number] / mean * sentences / len(rows), 4)
            yield from (replace(r, id=f"V{number}-{k}", weight=weight) for k, r in enumerate(rows))


def _find_firsts(said: Iterable[tuple[Example, ...] | str]) -> Iterator[int]:
    """Yield for each program the place of the first with the same rendering: mostly its own."""
    first_places: dict[str, int] = {}
    for place, rows in enumerate(said):
        texts = [] if isinstance(rows, str) else [row.utterance for row in rows]
        # A sentence that is kept means one program: where one is known, all are.
        first = next((first_places[text] for text in texts if text in first_places), place)
        first_places.update((text, first) for text in texts)
        yield first


class _HasUtterance(Protocol):
    @property
    def utterance(self) -> str: ...


_Sentence = TypeVar("_Sentence", bound=_HasUtterance)


def vary_sentences(found: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """Yield sentences of one program: the most natural, then those that add most to the earlier.

    Args:
        found: the sentences, the most natural first.
    """
    neighbours = {
        place: frozenset(pairwise(("", *sentence.utterance.split(), "")))
        for place, sentence in enumerate(found)
    }
    chosen: set[tuple[str, str]] = set()

    def gain(place: int) -> tuple[float, int]:
        """Return the share of neighbouring words that are new, less the price of the place."""
        own = neighbours[place]
        return len(own - chosen) / len(own) - _PLACE * place, -place

    while neighbours:
        best = max(neighbours, key=gain)
        yield found[best]
        chosen |= neighbours.pop(best)


def _templates(node: DerivationNode) -> Iterator[str]:
    if node.template:
        yield node.template
    for child in node.children:
        yield from _templates(child)


# ------------------------------------------------------------------------------------ the stage


@dataclass(frozen=True, slots=True)
class RenderResult(Result):
    """Programs that were rendered.

    Attributes:
        output: where their rows are.
        rows, programs: how many there are, and of how many different programs.
        unsaid: the programs that no template can render, the most frequent first.
        seconds: how long all took.
    """

    output: str
    rows: int
    programs: int
    unsaid: tuple[UnsaidProgram, ...]
    seconds: float

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        count = self.programs - len(self.unsaid)
        yield (
            f"{self.rows:,} sentences for {count:,} of {self.programs:,} programs -> {self.place} "
            f"({self.seconds:.1f} s)"
        )
        if self.unsaid:
            yield f"no template can say {len(self.unsaid):,} of them:"
        for program in self.unsaid[:_SHOWN]:
            yield f"  {program.times:,} x {program.program}"
            yield f"      {program.reason}"
        if len(self.unsaid) > _SHOWN:
            yield f"  and {len(self.unsaid) - _SHOWN:,} more; --unsaid FILE has them all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Render(Stage, ReverseConfig):
    """Render the programs of a prior by the templates: several clean sentences for each.

    PRIOR is a file of `genie-dp private prior --sampled`; ROWS those of `genie-dp private sample`
    with their --spent. Sentences hold placeholders, for which genie-dp data augment draws new
    values. This reads nothing private and costs nothing.

    \b
    genie-dp private render prior.json --output rendered.jsonl
    genie-dp data augment rendered.jsonl --output train.jsonl
    """

    command = "private render"
    output = RESUMABLE_ROWS

    source: Path = setting(
        REQUIRED, "Programs to say.", is_argument=True, value="file", metavar="PRIOR|ROWS"
    )
    spent: Path | None = setting(None, "Guarantee of ROWS, as JSON.", value="file")
    load_inputs: Callable[[], Inputs] = setting(
        REQUIRED, "Library and templates.", value="inputs at need"
    )
    sentences: int = setting(
        5, "Sentences of each program, at most.", least=1, most=100, metavar="N"
    )
    unsaid: Path | None = setting(
        None,
        "Write the programs that no template can say there, as TSV: how often they were drawn, "
        "program, reason.",
        value="new file",
    )
    jobs: int = jobs_setting()

    def run(self, output: Output, *, progress: bool | None = None) -> RenderResult:
        """Write sentences for the programs of a prior, or of drawn rows.

        Library and templates are read once source and output are known to be good.

        Raises:
            GenieError: F007, there are no programs; F001, the file is no prior; D027, an output is
                an input; the output is there (Y022).
        """
        started = time.monotonic()
        refuse_overlap((output.target, self.unsaid), (str(self.source), self.spent))
        needs_file = ["resume"] if output.resume else []
        format = rows_format(output.target, output.format, what="rendered", needs_file=needs_file)
        output.refuse_or_clear()
        drawn_programs, provenance = _read_programs(str(self.source), self.spent)
        times = Counter(drawn_programs)
        inputs = self.load_inputs()
        describer = Describer.from_inputs(inputs, self)
        renderer = Renderer(describer, Explainer(describer.compiled), self.sentences)
        settings = {
            "version": __version__,
            "language": inputs.language.name,
            "inputs": inputs.fingerprint(),
            "subsets": list(self.subsets),
            "sentences": self.sentences,
            "max_depth": self.max_depth,
            **provenance,
        }
        leave_to_the_end()
        if output.target == "-":
            rendered = tuple(_render(renderer, tuple(times), self.jobs, progress))
            rows, missing = self._write(times, lambda: rendered, "-", format)
        else:
            enter_work(output.work, settings, resume=output.resume)
            lines = output.work / "said.jsonl"
            with interruptible(output.work):
                rest = tuple(times)[_count_whole_lines(lines) :]
                _append_lines(lines, _render(renderer, rest, self.jobs, progress))
                read = partial(_read_lines, lines)
                rows, missing = self._write(times, read, output.target, format)
                counts = {"programs": len(times), "unsaid": len(missing), "rows": rows}
                facts = {"command": self.command, **settings, "counts": counts}
                write_json(manifest_of(output.target), facts)
            shutil.rmtree(output.work)
        seconds = time.monotonic() - started
        return RenderResult(output.target, rows, len(times), tuple(missing), seconds)

    def _write(
        self,
        times: Counter[str],
        read: Callable[[], Iterable[RenderedProgram]],
        target: str,
        format: str,
    ) -> tuple[int, list[UnsaidProgram]]:
        """Write the rows; return how many there are, and the programs without any."""
        count, missing = 0, list[UnsaidProgram]()

        def examples() -> Iterator[Example]:
            nonlocal count
            for row in number_rows(times, read, self.sentences):
                if isinstance(row, UnsaidProgram):
                    missing.append(row)
                else:
                    count += 1
                    yield row

        write_rows((f"{to_json(row)}\n" for row in examples()), "jsonl", target, format)
        missing.sort(key=lambda program: -program.times)
        if self.unsaid is not None:
            with open_text(str(self.unsaid)) as out:
                for program in missing:
                    out.write(f"{program.times}\t{program.program}\t{program.reason}\n")
        return count, missing


def _render(
    renderer: Renderer, programs: Sequence[str], jobs: int, progress: bool | None
) -> Iterator[RenderedProgram]:
    rows: Iterable[RenderedProgram] = map(renderer.say, programs)
    if jobs > 1:
        rows = in_processes(partial(_say_some, renderer, programs), range(len(programs)), jobs)
    return show_progress(rows, label="render", total=len(programs), show=progress)


def _say_some(
    renderer: Renderer, programs: Sequence[str], numbers: Sequence[int]
) -> Iterator[RenderedProgram]:
    return (renderer.say(programs[number]) for number in numbers)


def _read_programs(source: str, spent: Path | None) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the programs, and their origin from the manifest."""
    if spent is not None:
        guarantee = load_spent(spent)
        programs = tuple(row.program for row in read_rows(source) if row.program)
        digest = sha256(Path(source).read_bytes()).hexdigest()
        rows = {"sha256": digest, "spent": asdict(guarantee)}
        facts = {"rows": rows, "spent": asdict(guarantee)}
    else:
        file = load_prior(Path(source))
        programs = file.prior.programs
        facts = {"prior": file.manifest_fields(), "spent": asdict(file.prior.spent)}
    if not programs:
        hint = "put a generator's rows into it: genie-dp private prior --sampled rows.jsonl"
        raise GenieError(Problem("F007", f"{source} holds no programs", hint=hint))
    return programs, facts


# A line of the work folder is in the run when it is whole; what lies behind the last one was
# written by a run that was killed in between, and is cut off.


def _count_whole_lines(path: Path) -> int:
    """Return how many programs are done, and cut off a broken last line."""
    if not path.exists():
        return 0
    count = size = 0
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
        file.truncate(size)
    return count


def _append_lines(path: Path, programs: Iterable[RenderedProgram]) -> None:
    """Append the renderings, each as soon as it is made: a run may be killed."""
    with path.open("a", encoding="utf-8", newline="\n") as out:
        for program in programs:
            rows = program if isinstance(program, str) else [to_json(row) for row in program]
            out.write(json.dumps(rows, ensure_ascii=False) + "\n")
            out.flush()


def _read_lines(path: Path) -> Iterator[RenderedProgram]:
    """Yield the renderings of each program, in their order."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            rows = json.loads(line)
            yield rows if isinstance(rows, str) else tuple(map(from_json, rows))
