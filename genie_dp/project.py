"""A project: one file names skills, a grammar and stages; stages with changed inputs run again.

`project_file` defines the contents of genie.yaml.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from genie_dp import __version__, api
from genie_dp.augment.skill_rows import (
    evaluation_files,
    evaluation_rows,
    is_evaluation,
    paraphrase_files,
)
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.evaluate.rows import open_gold, skills_of
from genie_dp.evaluate.run import Evaluation
from genie_dp.languages.base import get_language
from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.parser.parser import Parser, Use
from genie_dp.private_prior import load_spent
from genie_dp.project_file import (
    JOBS,
    Stage,
    files_in,
    read_places,
    read_project,
    texts_of,
)
from genie_dp.recipe import config_of
from genie_dp.resources import SHIPPED
from genie_dp.run.files import sha256_of
from genie_dp.run.manifest import write_json
from genie_dp.run.stage import Result, hold_output, tell
from genie_dp.run.work import work_folder_of
from genie_dp.skills.check import check_sentences
from genie_dp.skills.load import EVALUATION_FILE
from genie_dp.skills.model import SkillLibrary
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.report import count_templates, few_rows_line, skill_templates
from genie_dp.templates.inputs import Inputs, language_of, shipped_or
from genie_dp.templates.run import Checker

STATE = ".stages.json"
_WITH_TEMPLATES = ("synthesize", "augment")  # stages whose rows name the templates they are of
_MOST_NAMED = 3  # of what changed, in a reason
_MOST_WRONG = 5  # sentences beside a result


@dataclass(frozen=True, slots=True)
class StageRun:
    """The outcome of a stage, or of a plan for it.

    Attributes:
        is_new: whether it was made now, or is to be made; else it is up to date.
        why: the change since it was made; "" for one that is up to date.
        seconds: how long it took to make.
        rows: how many it has; None for a stage that makes none.
        told: the summary of its function.
    """

    stage: Stage
    output: Path
    is_new: bool
    why: str = ""
    seconds: float | None = None
    rows: int | None = None
    told: str = ""


@dataclass(frozen=True, slots=True)
class ProjectResult(Result):
    """The outcomes of the stages of a project, in order.

    Attributes:
        is_plan: nothing was made: these are the stages that would be.
        few_rows: which templates have few rows, in a line; "" where none has.
    """

    stages: tuple[StageRun, ...]
    is_plan: bool = False
    few_rows: str = ""

    def __repr__(self) -> str:
        made = sum(run.is_new for run in self.stages)
        how = "to make" if self.is_plan else "made now"
        return f"ProjectResult({len(self.stages)} stages, {made} {how})"

    def lines(self) -> Iterator[str]:
        """Yield a table of stages; then how good parsers are, and how long it took in all."""
        yield from _table(map(self._row, self.stages))
        if self.is_plan:
            return
        if self.few_rows:
            yield self.few_rows
        for run in self.stages:
            if run.stage.job == "evaluate":
                yield f"{run.stage.name}: {run.told}"
        made = [run for run in self.stages if run.is_new]
        if made:
            seconds = sum(run.seconds or 0 for run in made)
            yield f"{len(made)} of {len(self.stages)} stages made in {seconds:,.1f} s"
        else:
            yield "nothing changed"

    def _row(self, run: StageRun) -> tuple[str, ...]:
        what = "made" if run.is_new else "up to date"
        if self.is_plan and run.is_new:
            what = "to make" if not run.why.startswith("if ") else "perhaps"
        shown = "" if self.is_plan and run.is_new else _number(run.rows)
        seconds = f"{run.seconds:,.1f} s" if run.seconds is not None else ""
        last = run.why if self.is_plan and run.is_new else str(run.output)
        return run.stage.name, run.stage.job, what, shown, seconds, last


class Project:
    """Skills, a grammar and stages, as genie.yaml names them.

    Everything that can be known of the settings is checked here, before anything is made.
    """

    def __init__(self, path: str | Path = "."):
        """Read a project.

        Args:
            path: the file, or the folder that has a genie.yaml.

        Raises:
            GenieError: R050, it is no map in YAML; R051, all mistakes in it, with their places.
        """
        said = read_project(path)
        self.file, self.stages, self.output = said.file, said.stages, said.output
        self.skills, self.templates, self.jobs = said.skills, said.grammar, said.jobs

    def __repr__(self) -> str:
        state = _State(self.output / STATE)
        runs = (self._made_before(stage, state) for stage in self.stages.values())
        rows = (
            (
                run.stage.name,
                run.stage.job,
                "not made yet" if run.is_new else "made",
                _number(run.rows),
                f"{run.seconds:,.1f} s" if run.seconds is not None else "",
                str(run.output),
            )
            for run in runs
        )
        return "\n".join((f"Project({self.file}: {', '.join(self.stages)})", *_table(rows)))

    @cached_property
    def library(self) -> Library:
        """Return the skills."""
        return api.load_library(self.skills)

    @cached_property
    def grammar(self) -> Inputs:
        """Return the templates, put together with the skills."""
        return api.load_grammar(self.templates, self.library)

    @property
    def has_templates(self) -> bool:
        """Return whether the rows of the project are made of templates."""
        is_made = any(stage.job == "synthesize" for stage in self.stages.values())
        return is_made or self.templates != SHIPPED

    def checker(self) -> Checker:
        """Return the checker of skills and templates."""
        paths = (
            [] if isinstance(given, str) else shipped_or(given, "thingpedia")
            for given in (self.skills, self.templates)
        )
        return Checker(get_language(language_of(self.skills)), *paths)

    def path(self, name: str) -> Path:
        """Return the output of a stage, or a part of a split, such as "parts/train".

        Raises:
            GenieError: R052, there is no such stage.
        """
        name, _, part = name.partition("/")
        if name not in self.stages:
            hint = did_you_mean(name, self.stages) or f"stages: {', '.join(self.stages)}"
            raise GenieError(Problem("R052", f"there is no stage {name!r}", hint=hint))
        made = self.output / f"{name}{JOBS[self.stages[name].job].ending}"
        return made / f"{part}.jsonl" if part else made

    def plan(self, *names: str, force: bool = False) -> ProjectResult:
        """Return the stages that `run` would make, and why; nothing is made.

        Args:
            names: of stages; without any, all stages.
            force: as for `run`.

        Raises:
            GenieError: R052, there is no such stage.
        """
        wanted, forced = self._needed(names), self._forced(names, force)
        self._read_anew()
        state = _State(self.output / STATE)
        runs: dict[str, StageRun] = {}
        for stage in wanted:
            earlier = {name.partition("/")[0] for name in stage.references}
            pending = [name for name in runs if name in earlier and runs[name].is_new]
            why = self._why(stage, state, forced)
            if pending and (why == _NEW or not why):
                why = f"{'after' if why else 'if'} {_named(pending)}{'' if why else ' changes'}"
            before = self._made_before(stage, state)
            is_new = bool(why)
            runs[stage.name] = StageRun(
                stage, before.output, is_new, why, before.seconds, before.rows, before.told
            )
        return ProjectResult(tuple(runs.values()), is_plan=True)

    def run(
        self,
        *names: str,
        force: bool = False,
        jobs: int | None = None,
        progress: bool | None = None,
    ) -> ProjectResult:
        """Make the stages that are named, with all that they need; without names, all stages.

        A stage is made when its settings, its inputs, the skills, the grammar or the version
        changed since, or its output was touched. An interrupted one goes on where it was.

        Args:
            names: of stages.
            force: make the named stages even if nothing changed; without names, all.
            jobs: processes that make rows, None for those of the file; the outputs do not depend
                on it.
            progress: whether to show progress on stderr; None for on a terminal.

        Raises:
            GenieError: before anything is made, all mistakes of the files that the stages need;
                R052, there is no such stage; Y027, another run is at work in this folder; those of
                the functions.
        """
        wanted, forced = self._needed(names), self._forced(names, force)
        self._read_anew()
        with hold_output(self.output), _told_how_to_go_on():
            state = _State(self.output / STATE)
            self._check_inputs(wanted)
            if any(
                stage.job == "train" and self._why(stage, state, ()) == _NEW for stage in wanted
            ):
                for line in self._answers_of_templates():
                    tell(line, show=progress)
            how = jobs or self.jobs, progress
            runs = tuple(self._bring(stage, state, forced, *how) for stage in wanted)
        return ProjectResult(runs, few_rows=self.few_rows())

    def _answers_of_templates(self) -> Iterator[str]:
        """Yield the answers of templates to real sentences before anything is trained."""
        places = read_places(self.file)
        language = get_language(self.library.language)
        folders = [path for path in places.gold or self.library.paths if path.is_dir()]
        files = [path for path in places.gold if is_evaluation(path)]
        files += chain.from_iterable(folder.rglob(EVALUATION_FILE) for folder in folders)
        if not (files and self.has_templates and language.values.reads_values(self.library)):
            return
        rows = islice(evaluation_rows(files, language, self.library), _MOST_ASKED)
        locale = locale_from(places.locale or DEFAULT)
        parser = Parser.of(self.library, self.grammar, use=Use(locale=locale), has_base=False)
        replies = parser.parse([row.utterance for row in rows])
        known = [reply for reply in replies if reply.is_known]
        yield f"templates alone answer {len(known)} of {len(replies)} sentences of eval.tsv:"
        yield from (f"  {reply.sentence}: {reply.code}" for reply in known[:_MOST_ANSWERS])

    def few_rows(self) -> str:
        """Return which templates of skills had few rows at the last run, in a line; "" for none."""
        return few_rows_line(self.template_rows("synthesize"), self.template_rows("augment"))

    def template_rows(self, job: str) -> Counter[str]:
        """Return template of a skill -> its rows in all that stages of a job made."""
        stages, counts = _State(self.output / STATE).stages, Counter[str]()
        for name in (name for name, stage in self.stages.items() if stage.job == job):
            counts.update(stages.get(name, {}).get("templates", {}))
        return counts

    def accept(self, path: Path) -> None:
        """Accept the output of a stage as it is now: somebody changed it on purpose."""
        state = _State(self.output / STATE)
        for name, known in list(state.stages.items()):
            made = self.path(name) if name in self.stages else None
            if made and made.resolve() == path.resolve() and "digest" in known:
                state.keep(name, **{**known, "digest": state.digest(made)})

    def _read_anew(self) -> None:
        """Forget skills and templates: they may have changed since the last run."""
        for name in ("library", "grammar"):
            self.__dict__.pop(name, None)

    def _check_inputs(self, wanted: Sequence[Stage]) -> None:
        """Raise all mistakes of skills, templates and real sentences that stages need."""
        jobs = {stage.job for stage in wanted}
        try:
            if any(JOBS[job].reads_skills for job in jobs):
                _ = self.grammar if "synthesize" in jobs else self.library
        except GenieError as error:  # it names the mistakes of the first files alone
            found = self.checker().run()
            if not found.mistakes:
                raise
            raise GenieError(found.mistakes, sources=found.sources) from error
        mistakes: list[Problem] = []
        sources: dict[str, str] = {}
        for stage in (stage for stage in wanted if stage.job == "evaluate"):
            try:
                self._check_gold(stage)
            except GenieError as error:
                without = f"; without them: genie-dp run {' '.join(stage.of)}"
                mistakes += [
                    replace(p, hint=f"{p.hint}{without}") if p.code == "N020" else p
                    for p in error.problems
                ]
                sources |= error.sources
        if mistakes:
            raise GenieError(mistakes, sources=sources)

    def _check_gold(self, stage: Stage) -> None:
        """Refuse the right programs of a stage where they are none, or do not fit the skills."""
        folders, rows = self._folders(stage), stage.settings.get("rows", SHIPPED)
        if folders and isinstance(self.library, SkillLibrary):
            problems, sources = check_sentences(self.library)
            # Shipped skills are measured with each other, those of a project by themselves.
            is_alone = any(folder.resolve() in skills_of(str(folder)) for folder in folders)
            wrong = ("error", "K119") if is_alone else ("error",)
            if mistakes := [p for p in problems if p.severity in wrong or p.code in wrong]:
                raise GenieError(mistakes, sources=sources)
            evaluation_files(folders)
        elif rows == SHIPPED or rows.partition("/")[0] in self.stages or "://" in rows:
            return
        elif (place := self._place(rows)).is_dir() or is_evaluation(place):
            language = get_language(self.library.language)
            for _ in evaluation_rows(evaluation_files([place]), language, self.library):
                pass
        else:
            open_gold(str(place))

    def _forced(self, names: tuple[str, ...], force: bool) -> Collection[str]:
        return (names or tuple(self.stages)) if force else ()

    def _needed(self, names: tuple[str, ...]) -> list[Stage]:
        """Return stages and those that they work on, in the order of the file."""
        needed = {name: self.path(name) for name in names or self.stages}
        for stage in reversed([*self.stages.values()]):
            if stage.name in needed:
                for name in stage.references:
                    if (earlier := name.partition("/")[0]) in self.stages:
                        needed[earlier] = self.path(earlier)
        return [stage for stage in self.stages.values() if stage.name in needed]

    def _made_before(self, stage: Stage, state: "_State") -> StageRun:
        """Return the facts about a stage from the run that made it."""
        known, output = state.stages.get(stage.name, {}), self.path(stage.name)
        if "digest" not in known:
            return StageRun(stage, output, True)
        told = known.get("seconds"), known.get("rows"), known.get("told", "")
        return StageRun(stage, output, False, "", *told)

    def _why(self, stage: Stage, state: "_State", forced: Collection[str]) -> str:
        """Return why a stage is to be made; "" where it is up to date."""
        known, output = state.stages.get(stage.name, {}), self.path(stage.name)
        if known.get("started") is not None:
            return "it was interrupted"
        if "digest" not in known:
            return _NEW
        before, now = known["facts"], self._facts(stage, state)
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if changed:
            return f"changed: {_named(changed)}"
        if state.digest(output) != known["digest"]:
            return "what it made was touched" if output.exists() else "what it made is gone"
        return "it is forced" if stage.name in forced else ""

    def _bring(
        self,
        stage: Stage,
        state: "_State",
        forced: Collection[str],
        jobs: int,
        progress: bool | None,
    ) -> StageRun:
        """Return a stage that is up to date: as it was made before, or made now."""
        output, why = self.path(stage.name), self._why(stage, state, forced)
        if not why:
            return self._made_before(stage, state)
        facts = self._facts(stage, state)
        started = state.stages.get(stage.name, {}).get("started")
        goes_on = started == facts and work_folder_of(output).exists()
        tell(f"{stage.name}: {stage.job}{', going on' if goes_on else f' ({why})'}", show=progress)
        state.keep(stage.name, started=facts)
        begun = time.monotonic()
        told, rows = self._make(stage, output, goes_on, jobs, progress)
        seconds = round(time.monotonic() - begun, 3)
        known = {
            "facts": facts, "digest": state.digest(output), "told": told, "rows": rows,
            "seconds": seconds,
        }  # fmt: skip
        if self.has_templates and stage.job in _WITH_TEMPLATES:
            known["templates"] = self._count_templates(output)
        state.keep(stage.name, **known)
        return StageRun(stage, output, True, why, seconds, rows, told)

    def _count_templates(self, output: Path) -> dict[str, int]:
        """Return template -> rows, of the templates of skills."""
        names = {field.name for field in fields(SynthesisConfig)}
        configs = [
            config_of(SynthesisConfig, {k: x for k, x in stage.settings.items() if k in names})
            for stage in self.stages.values()
            if stage.job == "synthesize"
        ]
        inputs = self.grammar
        templates = (skill_templates(inputs.grammar, inputs.library, x) for x in configs)
        with output.open(encoding="utf-8") as lines:
            return count_templates(lines, chain.from_iterable(templates))

    def _facts(self, stage: Stage, state: "_State") -> dict[str, Any]:
        """Return all facts that the output of a stage depends on, under plain names."""
        facts: dict[str, Any] = {
            "the version": __version__,
            "the job": stage.job,
            **stage.settings,
            "of": list(stage.of),
            **{name: state.digest(self._place(name)) for name in stage.references},
            **{_name_in(folder, self.file.parent): state.digest(folder)
               for folder in self._folders(stage)},
        }  # fmt: skip
        if stage.job == "synthesize" or (stage.job == "train" and self.has_templates):
            facts |= self._file_facts(self.grammar.sources, "shipped skills and templates")
        elif JOBS[stage.job].reads_skills:
            facts |= self._file_facts(self.library.sources, "shipped skills")
        plain: dict[str, Any] = json.loads(json.dumps(facts))
        return plain

    def _file_facts(self, sources: Mapping[str, str], others: str) -> dict[str, str]:
        """Return a hash of each file of the project, and one of all that lie elsewhere."""
        facts, rest = {}, []
        for name, text in sources.items():
            digest = hashlib.sha256(text.encode()).hexdigest()[:32]
            path = Path(os.path.abspath(name))
            if path.is_relative_to(os.path.abspath(self.file.parent)):
                facts[_name_in(path, self.file.parent)] = digest
            else:
                rest.append(digest)
        if rest:
            facts[others] = hashlib.sha256("".join(sorted(rest)).encode()).hexdigest()[:32]
        return facts

    def _folders(self, stage: Stage) -> list[Path]:
        """Return the folders of skills whose sentences of people a stage takes by itself."""
        takes_gold = stage.job == "evaluate" and "rows" not in stage.settings
        if isinstance(self.skills, str) or not (takes_gold or stage.job == "augment"):
            return []
        folders = shipped_or(self.skills, "thingpedia")
        return folders if takes_gold else list(filter(paraphrase_files, folders))

    def _place(self, name: str) -> Path:
        """Return the file of a reference: the output of a stage, or a file beside genie.yaml."""
        is_stage = name.partition("/")[0] in self.stages
        return self.path(name) if is_stage else self.file.parent / name

    def _make(
        self, stage: Stage, output: Path, goes_on: bool, jobs: int, progress: bool | None
    ) -> tuple[str, int | None]:
        """Let the public function of a stage do its work.

        Returns:
            its summary in a line; how many rows there are.
        """
        settings = dict(stage.settings)
        for name in files_in(settings):
            places = [str(self._place(one)) for one in texts_of(settings[name])]
            settings[name] = places if isinstance(settings[name], list) else places[0]
        inputs = [str(self._place(name)) for name in stage.of]
        overwrite = not goes_on
        made: Any
        rows = None
        match stage.job:
            case "synthesize":
                pairs = api.synthesize(grammar=self.grammar, progress=progress, **settings)
                made = pairs.save(output, resume=goes_on, overwrite=overwrite, jobs=jobs)
                rows = made.rows
            case "paraphrase":
                said = api.paraphrase(*inputs, library=self.library, progress=progress, **settings)
                made = said.save(output, jobs=jobs, overwrite=True)
                rows = made.paraphrases
            case "augment":
                inputs += map(str, self._folders(stage))
                more = api.augment(*inputs, library=self.library, progress=progress, **settings)
                made = more.save(output, resume=goes_on, overwrite=overwrite, jobs=jobs)
                rows = made.rows
            case "split":
                made = api.split(*inputs, **settings).save(output, overwrite=True)
                rows = made.rows
            case "train":
                if "spent" in settings:
                    settings["spent"] = load_spent(Path(settings["spent"]))
                parser = api.train(
                    *inputs, library=self.library, output=output, resume=goes_on,
                    grammar=self.grammar if self.has_templates else None,
                    overwrite=overwrite, jobs=jobs, progress=progress, **settings,
                )  # fmt: skip
                made = repr(parser)
            case _:
                gold = settings.pop("rows", None) or self.skills
                made = api.evaluate(
                    inputs[0], gold if isinstance(gold, str) else gold[0], progress=progress,
                    **settings,
                )  # fmt: skip
                made.save(output)
                rows = made.data["rows"]
                return "\n".join(_result_lines(made)), rows
        return next(iter(str(made).splitlines()), ""), rows


class _State:
    """The state of earlier runs: of each stage its facts, and the digest of its output."""

    def __init__(self, file: Path):
        """Read the file, if there is one; a broken one is as none."""
        self.file = file
        self.stages: dict[str, dict[str, Any]] = {}
        self._digests: dict[str, list[Any]] = {}
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            self.stages, self._digests = dict(content["stages"]), dict(content["digests"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def keep(self, name: str, **facts: Any) -> None:
        """Write the facts of a stage."""
        self.stages[name] = facts
        write_json(str(self.file), {"stages": self.stages, "digests": self._digests})

    def digest(self, path: Path) -> str:
        """Return a hash of a file, or of all files of a folder; "" where there is none.

        A file whose size and time are as before is not read again.
        """
        if path.is_dir():
            digests = [
                f"{file.relative_to(path).as_posix()} {self.digest(file)}"
                for file in sorted(path.rglob("*"))
                if file.is_file()
            ]
            return hashlib.sha256("\n".join(digests).encode()).hexdigest()
        if not path.is_file():
            return ""
        stamp = [path.stat().st_size, path.stat().st_mtime_ns]
        name = os.path.relpath(path, self.file.parent)
        known = self._digests.get(name)
        if known is None or known[:2] != stamp:
            known = self._digests[name] = [*stamp, sha256_of(path)]
        return str(known[2])


# ----------------------------------------------------------------------------------------- telling


def _result_lines(result: Evaluation) -> Iterator[str]:
    """Yield how good a parser is, which sentences are wrong, and how to see them with programs."""
    yield result.summary
    wrong = result.data["wrong"]
    for row in wrong["shown"][:_MOST_WRONG]:
        yield f"  {row['kind']}: {row['utterance']}"
    if wrong["rows"]:
        rest = wrong["rows"] - _MOST_WRONG
        more = f"{rest:,} more; " if rest > 0 else ""
        yield f"  {more}all of them with their programs: genie-dp evaluate --report wrong.html"


_NEW = "it is new"
_MOST_ASKED, _MOST_ANSWERS = 20, 3  # sentences that templates are asked, and answers shown


@contextmanager
def _told_how_to_go_on() -> Iterator[None]:
    """Explain, in place of a stage's own words, how to go on with an interrupted run."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        interrupt.__notes__ = ["what was done so far is kept; the same command goes on with it"]
        raise


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield rows of cells as lines; rows and seconds stand on the right."""
    cells = [("stage", "job", "what", "rows", "time", "where"), *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(6)]
    for row in cells:
        aligned = [
            cell.rjust(width) if number in (3, 4) else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(aligned).rstrip()


def _number(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"


def _named(names: Sequence[str]) -> str:
    """Return the first names, and how many there are beside.

    >>> _named(["a", "b"]), _named(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name_in(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
