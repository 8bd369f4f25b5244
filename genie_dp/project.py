"""A project: one file names skills, a grammar and stages; what changed is made anew.

    skills: [skills]               # folders beside this file [the shipped skills]
    grammar: grammars/en           # [the shipped grammar]
    output: build                  # folder of what is made [build]
    stages:
      pairs: {synthesize: {size: 20000, seed: 1}}
      rows: {augment: {seed: 1}, of: pairs}
      parser: {train: {steps: 3000}, of: rows}
      result: {evaluate: {rows: eval.tsv}, of: parser}

A stage has the name of a public function with its settings, and `of`: earlier stages, or files,
that it works on. A part of a split is `parts/train`.
"""

import hashlib
import inspect
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from genie_dp import __version__, api
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Library
from genie_dp.located import Located, read_located
from genie_dp.private_prior import load_spent
from genie_dp.recipe import check_names, config_of, frozen_settings
from genie_dp.run.files import sha256_of
from genie_dp.run.manifest import write_json
from genie_dp.run.stage import Result
from genie_dp.run.work import work_folder_of
from genie_dp.templates.inputs import SHIPPED, Inputs, library_fingerprint

FILE, STATE = "genie.yaml", ".stages.json"
_KEYS = ("skills", "grammar", "output", "stages")
# Settings that name a file, or what an earlier stage made.
_FILES = (
    "validation", "start", "encoder", "prior", "values", "rows", "training", "recipe", "spent",
)  # fmt: skip
# Parameters of the functions that a project gives itself.
_OWN = ("library", "grammar", "language", "output", "resume", "overwrite", "progress", "predictor")


@dataclass(frozen=True, slots=True)
class Job:
    """What a stage can be: a public function.

    Attributes:
        config: the class of its settings.
        ending: of the name of what it makes; "" for a folder.
        least, most: how many stages or files it works on.
    """

    config: str
    ending: str = ".jsonl"
    least: int = 1
    most: int = 1_000


JOBS = {
    "synthesize": Job("genie_dp.synthesis.config.SynthesisConfig", least=0, most=0),
    "paraphrase": Job("genie_dp.paraphrase.config.ParaphraseConfig", most=1),
    "augment": Job("genie_dp.augment.config.AugmentConfig"),
    "split": Job("genie_dp.dataset.config.SplitConfig", ""),
    "train": Job("genie_dp.parser.config.ParserConfig", ""),
    "evaluate": Job("genie_dp.evaluate.config.EvaluationConfig", ".json", most=1),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of work.

    Attributes:
        name: of the stage, and of what it makes.
        job: the public function that does it.
        settings: of the function.
        of: earlier stages, or files, that it works on.
    """

    name: str
    job: str
    settings: Mapping[str, Any]
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageRun:
    """What became of a stage.

    Attributes:
        is_new: whether it was made now; else it was up to date.
        told: what its function said of it.
    """

    stage: Stage
    output: Path
    is_new: bool
    seconds: float
    told: str


@dataclass(frozen=True, slots=True)
class ProjectResult(Result):
    """What became of the stages of a project, in order."""

    stages: tuple[StageRun, ...]

    def __repr__(self) -> str:
        """Return how many stages were made."""
        made = sum(run.is_new for run in self.stages)
        return f"ProjectResult({len(self.stages)} stages, {made} made now)"

    def lines(self) -> Iterator[str]:
        """Yield a table of stages."""
        width = max(len(run.stage.name) for run in self.stages)
        for run in self.stages:
            when = f"{run.seconds:8.1f} s" if run.is_new else "up to date"
            yield f"{run.stage.name:<{width}}  {run.stage.job:<10}  {when:>10}  {run.told}"


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
        given = Path(path)
        self.file = given / FILE if given.is_dir() else given
        if not self.file.is_file():
            hint = f"name a folder that has a {FILE}"
            raise GenieError(Problem("R050", f"there is no project: {self.file}", hint=hint))
        located, sources = read_located(self.file, syntax="R050", twice="R051")
        reader = _ProjectReader(self.file.parent)
        self.stages = reader.read(located)
        if reader.problems:
            raise GenieError(reader.problems, sources=sources)
        settings = located.plain
        self._skills = _paths(settings.get("skills"), self.file.parent)
        self._grammar = _paths(settings.get("grammar"), self.file.parent)
        self.output = self.file.parent / (settings.get("output") or "build")

    def __repr__(self) -> str:
        """Return the file and the names of the stages."""
        return f"Project({self.file}: {', '.join(self.stages)})"

    @cached_property
    def library(self) -> Library:
        """Return the skills."""
        return api.load_library(self._skills)

    @cached_property
    def grammar(self) -> Inputs:
        """Return the templates, put together with the skills."""
        return api.load_grammar(self._grammar, self.library)

    def path(self, name: str) -> Path:
        """Return where a stage puts what it makes, or a part of a split, such as "parts/train".

        Raises:
            GenieError: R052, there is no such stage.
        """
        name, _, part = name.partition("/")
        if name not in self.stages:
            hint = did_you_mean(name, self.stages) or f"stages: {', '.join(self.stages)}"
            raise GenieError(Problem("R052", f"there is no stage {name!r}", hint=hint))
        made = self.output / f"{name}{JOBS[self.stages[name].job].ending}"
        return made / f"{part}.jsonl" if part else made

    def run(self, *names: str, jobs: int = 1, progress: bool | None = None) -> ProjectResult:
        """Make the stages that are named, with all that they need; without names, all stages.

        A stage is made when its settings, what it works on, the skills, the grammar or the version
        changed since, or what it made was touched. An interrupted one goes on where it was.

        Args:
            names: of stages.
            jobs: processes that make rows; what is made does not depend on it.
            progress: whether to tell on stderr how far it is; None for on a terminal.

        Raises:
            GenieError: R052, there is no such stage; those of the functions.
        """
        wanted = self._needed(names)
        self.output.mkdir(parents=True, exist_ok=True)
        state = _State(self.output / STATE)
        return ProjectResult(tuple(self._bring(stage, state, jobs, progress) for stage in wanted))

    def _needed(self, names: tuple[str, ...]) -> list[Stage]:
        """Return stages and those that they work on, in the order of the file."""
        needed = {name: self.path(name) for name in names or self.stages}
        for stage in reversed([*self.stages.values()]):
            if stage.name in needed:
                for name in _references(stage):
                    if (earlier := name.partition("/")[0]) in self.stages:
                        needed[earlier] = self.path(earlier)
        return [stage for stage in self.stages.values() if stage.name in needed]

    def _bring(self, stage: Stage, state: "_State", jobs: int, progress: bool | None) -> StageRun:
        """Return a stage that is up to date: as it was made before, or made now."""
        output, key = self.path(stage.name), self._key(stage, state)
        known = state.stages.get(stage.name, {})
        if known.get("key") == key and state.digest(output) == known.get("digest"):
            return StageRun(stage, output, False, 0.0, known["told"])
        goes_on = known.get("started") == key and work_folder_of(output).exists()
        state.keep(stage.name, started=key)
        begun = time.monotonic()
        told = self._make(stage, output, goes_on, jobs, progress)
        seconds = time.monotonic() - begun
        state.keep(stage.name, key=key, digest=state.digest(output), told=told)
        return StageRun(stage, output, True, seconds, told)

    def _key(self, stage: Stage, state: "_State") -> str:
        """Return a hash of all that what a stage makes depends on."""
        facts = {
            "version": __version__,
            "job": stage.job,
            "settings": stage.settings,
            "of": [state.digest(self._place(name)) for name in _references(stage)],
            "gold": [state.digest(folder) for folder in self._gold_folders(stage)],
            "skills": library_fingerprint(self.library),
            "grammar": self.grammar.fingerprint() if stage.job == "synthesize" else "",
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _gold_folders(self, stage: Stage) -> list[Path]:
        """Return the folders of skills whose real sentences a stage takes without being told."""
        takes_own = stage.job == "evaluate" and "rows" not in stage.settings
        return [*self._skills] if takes_own and not isinstance(self._skills, str) else []

    def _place(self, name: str) -> Path:
        """Return the file of a reference: what a stage made, or a file beside genie.yaml."""
        is_stage = name.partition("/")[0] in self.stages
        return self.path(name) if is_stage else self.file.parent / name

    def _make(
        self, stage: Stage, output: Path, goes_on: bool, jobs: int, progress: bool | None
    ) -> str:
        """Let the public function of a stage do its work; return what it says of it, in a line."""
        settings = dict(stage.settings)
        for name in (name for name in _FILES if name in settings):
            places = [str(self._place(one)) for one in _texts(settings[name])]
            settings[name] = places if isinstance(settings[name], list) else places[0]
        inputs = [str(self._place(name)) for name in stage.of]
        overwrite = not goes_on
        made: Any
        match stage.job:
            case "synthesize":
                pairs = api.synthesize(grammar=self.grammar, progress=progress, **settings)
                made = pairs.save(output, resume=goes_on, overwrite=overwrite, jobs=jobs)
            case "paraphrase":
                rows = api.paraphrase(*inputs, library=self.library, progress=progress, **settings)
                made = rows.save(output, jobs=jobs, overwrite=True)
            case "augment":
                rows = api.augment(*inputs, library=self.library, progress=progress, **settings)
                made = rows.save(output, resume=goes_on, overwrite=overwrite, jobs=jobs)
            case "split":
                made = api.split(*inputs, **settings).save(output, overwrite=True)
            case "train":
                if "spent" in settings:
                    settings["spent"] = load_spent(Path(settings["spent"]))
                parser = api.train(
                    *inputs, library=self.library, output=output, resume=goes_on,
                    overwrite=overwrite, jobs=jobs, progress=progress, **settings,
                )  # fmt: skip
                made = repr(parser)
            case _:
                gold = settings.pop("rows", None) or self._skills
                made = api.evaluate(
                    inputs[0], gold if isinstance(gold, str) else gold[0], progress=progress,
                    **settings,
                )  # fmt: skip
                made.save(output)
                made = f"{100 * made.accuracy:.1f} % of {made.data['rows']:,} rows right"
        return next(iter(str(made).splitlines()), "")


class _State:
    """What is known of earlier runs: of each stage its key, and the digest of what it made."""

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
        """Write what is known of a stage."""
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


class _ProjectReader:
    """Reads genie.yaml and gathers all that is wrong with it."""

    def __init__(self, folder: Path):
        """Start with no mistake; files are looked for in the folder."""
        self.folder = folder
        self.problems: list[Problem] = []
        self.stages: dict[str, Stage] = {}
        self.has_folders = False

    def tell(self, message: str, span: Span, hint: str | None = None) -> None:
        """Add a mistake."""
        self.problems.append(Problem("R051", message, span, hint))

    def read(self, located: Located) -> Mapping[str, Stage]:
        """Return the stages, in their order."""
        for key, (span, value) in located.value.items():
            if key not in _KEYS:
                hint = did_you_mean(str(key), _KEYS) or f"settings: {', '.join(_KEYS)}"
                self.tell(f"unknown setting {key!r}", span, hint)
            elif key in ("skills", "grammar") and not _is_texts(value.plain):
                self.tell(f"{key}: expected a folder or a list of them", value.span)
            elif key == "skills":
                self.has_folders = len(_texts(value.plain)) > 1
            elif key == "output" and not isinstance(value.plain, str):
                self.tell(f"output: expected a folder, got {value.plain!r}", value.span)
        key_span, stages = located.value.get("stages", (located.span, located))
        if "stages" not in located.value or not isinstance(stages.value, dict) or not stages.value:
            hint = "stages: {pairs: {synthesize: {size: 1000}}}"
            self.tell("stages: expected at least one, by name", key_span, hint)
            return {}
        for name, (span, stage) in stages.value.items():
            if not re.fullmatch(r"[\w-]+", str(name)):
                hint = "letters, digits, - and _: what it makes has that name"
                self.tell(f"no name of a stage: {name!r}", span, hint)
            elif (read := self._read_stage(str(name), span, stage)) is not None:
                self.stages[read.name] = read
        return self.stages

    def _read_stage(self, name: str, span: Span, located: Located) -> Stage | None:
        """Return a stage; None for one whose mistakes were told."""
        before = len(self.problems)
        entries = located.value if isinstance(located.value, dict) else {}
        jobs = [key for key in entries if key != "of"]
        if len(jobs) != 1 or jobs[0] not in JOBS:
            hint = next((did_you_mean(str(job), JOBS) for job in jobs), None)
            known = ", ".join(JOBS)
            self.tell(f"{name}: expected one of {known}, and of", span, hint)
            return None
        job, (job_span, value) = jobs[0], entries[jobs[0]]
        settings = value.plain or {}
        of = entries["of"][1].plain if "of" in entries else []
        if not isinstance(settings, dict):
            self.tell(f"{name}: expected settings of {job} by name", job_span)
            return None
        if not _is_texts(of):
            self.tell(f"{name}: of: expected names of stages or files", entries["of"][0])
            return None
        stage = Stage(name, job, settings, tuple(_texts(of)))
        kind = JOBS[job]
        if not kind.least <= len(stage.of) <= kind.most:
            number = {0: "nothing", 1: "one"}.get(kind.most, "one or more")
            self.tell(f"{name}: {job} works on {number}, got {len(stage.of)}", job_span)
        spans = {key: span for key, (span, _) in value.value.items()} if settings else {}
        self._check_settings(stage, job_span, spans)
        place = entries["of"][1].span if "of" in entries else job_span
        for reference in _references(stage):
            self._check_reference(stage, reference, place)
        return stage if len(self.problems) == before else None

    def _check_settings(self, stage: Stage, span: Span, spans: Mapping[str, Span]) -> None:
        """Tell which settings the function does not take, or not with these values."""
        function: Callable[..., Any] = getattr(api, stage.job)
        taken = inspect.signature(function).parameters.values()
        own = {x.name for x in taken if x.kind is x.KEYWORD_ONLY} - {*_OWN}
        if stage.job == "evaluate":
            own.add("rows")
        if stage.job == "evaluate" and "rows" not in stage.settings and self.has_folders:
            hint = "rows: eval.tsv, or a folder of skills with eval.tsv"
            self.tell(f"{stage.name}: expected rows, for there are several folders", span, hint)
        rest = {name: value for name, value in stage.settings.items() if name not in own}
        try:
            _check_config(stage.job, rest, own)
        except GenieError as error:
            for problem in error.problems:
                named = next((spans[name] for name in spans if name in problem.message), span)
                self.tell(f"{stage.name}: {problem.message}", named, problem.hint)

    def _check_reference(self, stage: Stage, reference: str, span: Span) -> None:
        """Tell of a reference that is neither an earlier stage nor a file."""
        name, _, part = reference.partition("/")
        earlier = self.stages.get(name)
        if earlier is not None:
            is_split = earlier.job == "split"
            if is_split == bool(part) or (stage.job == "evaluate" and not part):
                return
            hint = f"name a part, such as {name}/train" if is_split else f"name {name} alone"
            self.tell(f"{stage.name}: {reference!r} is what {earlier.job} made", span, hint)
        elif not (self.folder / reference).exists() and "://" not in reference:
            known = list(self.stages)
            hint = did_you_mean(name, known) or "stages come before those that work on them"
            self.tell(f"{stage.name}: no earlier stage and no file: {reference!r}", span, hint)


def _check_config(job: str, settings: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse settings that the config of a function has not, or not with these values.

    Raises:
        GenieError: R040, R043 and N002, all of them.
    """
    if job == "train":  # its settings have a budget without which they are none
        from genie_dp.parser.config import ParserConfig
        from genie_dp.parser.recipe import config_of as parser_config

        check_names(ParserConfig, settings, without=("inputs", *own))
        parser_config(None, ["rows.jsonl"], frozen_settings(ParserConfig, settings))
        return
    module, _, name = JOBS[job].config.rpartition(".")
    config_of(getattr(import_module(module), name), settings)


def _references(stage: Stage) -> list[str]:
    """Return the stages and files that a stage works on."""
    named = [one for name in _FILES for one in _texts(stage.settings.get(name, []))]
    return [*stage.of, *(one for one in named if one != SHIPPED)]


def _texts(value: Any) -> list[str]:
    """Return texts in a list, where one may stand by itself."""
    return [value] if isinstance(value, str) else list(value)


def _is_texts(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(isinstance(one, str) and one for one in values)


def _paths(value: Any, folder: Path) -> str | list[Path]:
    """Return folders that are named relative to another one, or "shipped"."""
    return SHIPPED if value in (None, SHIPPED) else [folder / one for one in _texts(value)]
