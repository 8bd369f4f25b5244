"""Watches a project: the problems after each save, and samples of changed templates.

Unchanged files are neither read nor checked again (`templates.run.Checker`), so an answer takes
a moment. Nothing is made.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genie_dp.augment.values import without_listed
from genie_dp.english.forms import surface
from genie_dp.errors import GenieError, render_problem
from genie_dp.project import Project
from genie_dp.run.stage import Result
from genie_dp.synthesis.trials import KnownTrials, TemplateSample
from genie_dp.templates.ast import Template
from genie_dp.templates.inputs import Inputs

_EACH = 0.2  # seconds from look to look
_WATCHED = (".tt", ".genie", ".tsv", ".py", ".sexpr", ".json")
_MOST_SHOWN = 8  # templates, where many change at once, as with a skill


@dataclass(frozen=True, slots=True)
class Seen(Result):
    """The result of a save.

    Attributes:
        saved: the files.
        shown: problems as they are shown, each with its line.
        has_mistakes: whether any of them keeps the templates from being used.
        samples: sentences of changed templates.
        more: how many templates changed beside those.
        summary: counts of the units read; "" where it was the trial of the save before.
    """

    saved: tuple[Path, ...]
    shown: tuple[str, ...] = ()
    has_mistakes: bool = False
    samples: tuple[TemplateSample, ...] = ()
    more: int = 0
    summary: str = ""
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        """Yield problems, then pairs of the templates that changed, then the counts."""
        if self.saved:
            yield f"{', '.join(map(str, self.saved))}:"
        yield from self.shown
        for sample in self.samples:
            yield f"  {sample.template.span}  {sample.template.id}"
            for words, program in sample.pairs:
                yield f"    {surface(words.split())}\n        {program}"
            if not sample.pairs:
                yield "    (nothing: its guard or the types of its children never fit)"
        if self.more:
            yield f"  and {self.more} more templates"
        if self.summary:
            yield f"{self.summary} ({self.seconds:.1f} s)"


def watch(project: Project, *, count: int = 3) -> Iterator[Seen]:
    """Yield the present problems, then the result of every save; it never ends.

    Args:
        project: whose skills and templates are read.
        count: pairs of each changed template.
    """
    watched = ProjectWatch(project, count=count)
    while True:
        seen = watched.look()
        if seen is not None:
            yield seen
        else:
            time.sleep(_EACH)


class ProjectWatch:
    """Skills and templates of a project, and how they were at the last look."""

    def __init__(self, project: Project, *, count: int = 3):
        """Take a project; the first look checks all of it."""
        self.project, self.count = project, count
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._sources: Collection[str] = ()
        self._known: frozenset[Template] = frozenset()
        self._untried: Inputs | None = None
        self._to_show: Sequence[Template] = ()
        self._checker = project.checker()
        self._trials = KnownTrials()

    def look(self) -> Seen | None:
        """Return the result of files that were saved since the last look; None if there are none.

        Templates are tried with children of every sort in a look of its own, after one that found
        no mistake: the first time that takes as long as all else. It shows their samples, too.
        """
        stamps = dict(self._now())
        before, self._stamps = self._stamps, stamps
        saved = tuple(p for p in {**before, **stamps} if before.get(p) != stamps.get(p))
        if not saved:
            return self._try_children()
        begun = time.monotonic()
        seen = self._check(saved if before else ())
        for file, stamp in self._now():  # of those that were read for the first time
            self._stamps.setdefault(file, stamp)
        return replace(seen, seconds=time.monotonic() - begun)

    def _now(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        """Yield the files that matter, with the times of their last change and their sizes."""
        roots = [*self._checker.skills, *self._checker.grammar]
        folders = {root if root.is_dir() else root.parent for root in roots}
        files = {self.project.file, *map(Path, self._sources)}
        files |= {f for folder in folders for f in folder.rglob("*") if f.suffix in _WATCHED}
        for file in sorted(files):
            try:
                stat = file.stat()
            except OSError:  # an editor is about to put a new one in its place
                continue
            yield file, (stat.st_mtime_ns, stat.st_size)

    def _check(self, saved: tuple[Path, ...]) -> Seen:
        try:
            if self.project.file in saved:
                self.project = Project(self.project.file)
                self._checker = self.project.checker()
            result = self._checker.run(lists=without_listed)
        except GenieError as error:
            return Seen(saved, tuple(str(error).splitlines()), has_mistakes=True)
        self._sources = tuple(result.sources)
        texts = tuple(render_problem(problem, result.sources) for problem in result.problems)
        self._untried = None if result.mistakes else result.inputs
        self._to_show = self._changed_templates(saved, result.inputs)
        *_, summary = result.lines()
        return Seen(saved, texts, bool(result.mistakes), summary=summary)

    def _changed_templates(self, saved: tuple[Path, ...], inputs: Inputs | None) -> list[Template]:
        """Return templates that are new since the last look; else those of a class that changed."""
        if inputs is None:
            return []
        own = [t for t in inputs.grammar.templates if t.tree is None]
        before, self._known = self._known, frozenset(replace(t, id="") for t in own)
        if not before or not saved:
            return []
        new = [t for t in own if replace(t, id="") not in before]
        others = (file for file in saved if file.suffix != ".genie")
        folders = {folder for file in others for folder in (file.parent, file.parent.parent)}
        return new or [t for t in own if t.span and Path(t.span.file).parent in folders]

    def _try_children(self) -> Seen | None:
        """Return which templates meet children that do not fit, and the samples of changed ones.

        None if that was shown, or there is nothing to show.
        """
        inputs, self._untried = self._untried, None
        if inputs is None:
            return None
        begun = time.monotonic()
        tried = self._trials.try_templates(
            inputs.grammar, inputs.language, inputs.library, keep=self.count
        )
        changes = self._to_show[:_MOST_SHOWN] if self.count else ()
        samples = tuple(TemplateSample(t, tried.samples.get(t.id, ())) for t in changes)
        if not tried.problems and not samples:
            return None
        problems = tuple(render_problem(problem, inputs.sources) for problem in tried.problems)
        has_mistakes = any(problem.severity == "error" for problem in tried.problems)
        more = max(0, len(self._to_show) - len(samples)) if self.count else 0
        seconds = time.monotonic() - begun
        return Seen((), problems, has_mistakes, samples, more, seconds=seconds)
