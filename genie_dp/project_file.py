"""The format of genie.yaml: read with all its mistakes, found from below, and as a JSON Schema.

    skills: [skills]               # folders beside this file [the shipped skills]
    grammar: grammars/en           # [the shipped grammar]
    output: build                  # folder of outputs [build]
    locale: de                     # language of the sentences [en]
    jobs: 2                        # processes that make rows [1]
    stages:
      pairs: {synthesize: {size: 20000, seed: 1}}
      rows: {augment: {seed: 1}, of: pairs}
      parser: {train: {steps: 3000}, of: rows}
      result: {evaluate: {rows: eval.tsv}, of: parser}

A stage has the name of a public function with its settings, and `of`: earlier stages, or files,
that it works on. A part of a split is `parts/train`.
"""

import inspect
import os
import re
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.locale import ENDING, locale_from
from genie_dp.located import Located, read_located
from genie_dp.parser.config import BASE, NOTHING
from genie_dp.recipe import (
    check_names,
    config_of,
    described,
    fits,
    frozen_settings,
    kind_in_words,
    schema_of,
    schema_of_kind,
)
from genie_dp.resources import SHIPPED

FILE = "genie.yaml"
VARIABLE = "GENIE_DP_PROJECT"
# What a file says beside its stages: in words, and as a schema.
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_KEYS: Mapping[str, Mapping[str, Any]] = {
    "skills": {
        "description": "Folders of skills, or a file of declarations, beside this file [shipped].",
        **_TEXTS,
    },
    "grammar": {
        "description": "Template files, or folders with a main.genie, beside this file [shipped].",
        **_TEXTS,
    },
    "output": {"description": "Folder of what is made [build].", "type": "string"},
    "locale": {
        "description": "Language of the sentences, or a file of its words beside this file.",
        "type": "string",
    },
    "jobs": {
        "description": "Processes that make rows; what is made does not depend on it [1].",
        "type": "integer",
        "minimum": 1,
    },
    "stages": {"description": "What is made, in this order, by name."},
}
_NAME = r"[\w-]+"
# Settings that name a file, or what an earlier stage made.
_NAMES_FILE = (
    "validation", "start", "prior", "values", "rows", "training", "recipe", "spent",
)  # fmt: skip
_NO_FILES = {"start": (BASE, NOTHING)}
# Parameters of the functions that a project gives itself.
_OWN = (
    "library", "grammar", "language", "output", "resume", "overwrite", "progress", "predictor",
    "jobs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A kind of stage: a public function.

    Attributes:
        config: the class of its settings.
        ending: of the name of its output; "" for a folder.
        least, most: how many stages or files it works on.
        reads_skills: whether its output depends on the skills.
        rows: whether it takes `rows` beside the settings of its function.
    """

    config: str
    ending: str = ".jsonl"
    least: int = 1
    most: int = 1_000
    reads_skills: bool = True
    rows: bool = False


JOBS = {
    "synthesize": Job("genie_dp.synthesis.config.SynthesisConfig", least=0, most=0),
    "paraphrase": Job("genie_dp.paraphrase.config.ParaphraseConfig", most=1),
    "augment": Job("genie_dp.augment.config.AugmentConfig"),
    "split": Job("genie_dp.dataset.split.Split", "", reads_skills=False),
    "train": Job("genie_dp.parser.config.ParserConfig", ""),
    "evaluate": Job(
        "genie_dp.evaluate.config.EvaluationConfig", ".json", most=1, reads_skills=False, rows=True
    ),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of work.

    Attributes:
        name: of the stage, and of its output.
        job: the public function that does it.
        settings: of the function.
        of: earlier stages, or files, that it works on.
    """

    name: str
    job: str
    settings: Mapping[str, Any]
    of: tuple[str, ...]

    @property
    def references(self) -> tuple[str, ...]:
        """Return the stages and files that it works on."""
        named = [one for name in files_in(self.settings) for one in texts_of(self.settings[name])]
        return (*self.of, *(one for one in named if one != SHIPPED))


def files_in(settings: Mapping[str, Any]) -> list[str]:
    """Return the settings that name files, or outputs of earlier stages.

    >>> files_in({"start": "base", "validation": "rows.tsv", "steps": 5})
    ['validation']
    """
    return [x for x in _NAMES_FILE if x in settings and settings[x] not in _NO_FILES.get(x, ())]


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The contents of a genie.yaml.

    Attributes:
        file: where it is.
        skills, grammar: folders and files, or "shipped".
        output: folder of the outputs.
        locale: language of the sentences; "" where the file names none.
        jobs: processes that make rows.
        stages: by name, in their order; their settings have the locale.
    """

    file: Path
    skills: str | list[Path]
    grammar: str | list[Path]
    output: Path
    locale: str
    jobs: int
    stages: Mapping[str, Stage]


def read_project(path: str | Path = ".") -> ProjectFile:
    """Return the contents of a project: a file, or the genie.yaml of a folder.

    Raises:
        GenieError: R050, it is no map in YAML; R051, all mistakes in it, with their places.
    """
    given = Path(path)
    file = given / FILE if given.is_dir() else given
    if not file.is_file():
        hint = f"name a folder that has a {FILE}; `genie-dp new project NAME` writes one"
        raise GenieError(Problem("R050", f"there is no project: {file}", hint=hint))
    located, sources = read_located(file, syntax="R050", twice="R051")
    reader = _ProjectReader(file.parent)
    stages = reader.read(located)
    if reader.problems:
        raise GenieError(reader.problems, sources={**sources, **reader.sources})
    settings = located.plain
    return ProjectFile(
        file,
        _paths(settings.get("skills"), file.parent),
        _paths(settings.get("grammar"), file.parent),
        file.parent / (settings.get("output") or "build"),
        reader.locale,
        settings.get("jobs") or 1,
        stages,
    )


@dataclass(frozen=True, slots=True)
class Places:
    """The defaults of commands from the genie.yaml above the working folder.

    Attributes:
        skills, grammar: folders and files; empty where the file names none.
        language: of skills that are a file of declarations; None for others.
        parser: the last one that the stages made; None where there is none yet.
        locale: language of the sentences; None where the file names none.
        gold: the sentences for measuring parsers: a file, else the skills.
    """

    skills: tuple[Path, ...]
    grammar: tuple[Path, ...]
    language: str | None
    parser: Path | None
    locale: str | None
    gold: tuple[Path, ...]


def read_places(file: Path) -> Places:
    """Return where skills and grammar are; mistakes in the stages are a matter of `run`.

    Raises:
        GenieError: R050, it is no map in YAML; R051, skills or grammar are no names.
    """
    from genie_dp.languages.base import language_of_files
    from genie_dp.templates.inputs import shipped_or

    located, sources = read_located(file, syntax="R050", twice="R051")
    reader = _ProjectReader(file.parent)
    reader.read_places(located)
    if reader.problems:
        raise GenieError(reader.problems, sources={**sources, **reader.sources})
    said = located.plain
    skills, grammar = (_paths(said.get(name), file.parent) for name in ("skills", "grammar"))
    stages = said["stages"] if isinstance(said.get("stages"), dict) else {}
    output = file.parent / (said.get("output") or "build")
    trained = [
        name for name, stage in stages.items() if isinstance(stage, dict) and "train" in stage
    ]
    made = [output / str(name) for name in trained if (output / str(name)).is_dir()]
    rows = [_rows_of(stage) for stage in stages.values() if isinstance(stage, dict)]
    files = [file.parent / name for name in rows if name and (file.parent / name).exists()]
    folders = () if isinstance(skills, str) else tuple(shipped_or(skills, "thingpedia"))
    return Places(
        folders,
        () if isinstance(grammar, str) else tuple(shipped_or(grammar, "grammars", "en")),
        language_of_files(folders) if folders else None,
        made[-1] if made else None,
        reader.locale or None,
        tuple(files[-1:]) or tuple(folder for folder in folders if folder.is_dir()),
    )


def _rows_of(stage: Mapping[str, Any]) -> str:
    """Return the name of the rows of an `evaluate`; "" for those of the skills."""
    settings = stage.get("evaluate")
    rows = settings.get("rows") if isinstance(settings, dict) else None
    return rows if isinstance(rows, str) else ""


def find_project(folder: Path) -> Path | None:
    """Return the genie.yaml of a folder, or of the nearest one above it; None if there is none.

    GENIE_DP_PROJECT names another file; empty, there is none. The name is relative to the folder.
    """
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE]) if os.environ[VARIABLE] else None
    here = folder.resolve()
    found = (above / FILE for above in (here, *here.parents))
    file = next((file for file in found if file.is_file()), None)
    return None if file is None else Path(os.path.relpath(file, here))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of genie.yaml, made of the configs and of the public functions."""
    properties: dict[str, Any] = {"of": dict(_TEXTS)}
    properties["of"]["description"] = "Earlier stages, a part such as parts/train, or files."
    choices = []
    for name, job in JOBS.items():
        taken = {
            "type": "object",
            "additionalProperties": False,
            "properties": _settings_schema(name),
        }
        first = str(inspect.getdoc(_function(name))).split("\n\n")[0].replace("\n", " ")
        properties[name] = {"description": first, "anyOf": [taken, {"type": "null"}]}
        needed = [name, "of"] if job.least else [name]
        choices.append({"required": needed, "maxProperties": len(needed)})
    stage = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "oneOf": choices,
    }
    stages = {
        **_KEYS["stages"],
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": f"^{_NAME}$"},
        "additionalProperties": stage,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "genie.yaml",
        "type": "object",
        "additionalProperties": False,
        "required": ["stages"],
        "properties": {**_KEYS, "stages": stages},
    }


def _settings_schema(job: str) -> dict[str, Any]:
    """Return the schema of each setting of a stage: those of its config, and of its function."""
    function = _function(job)
    told = described(function)
    own = {
        name: {"description": told[name], **_schema_of_own(kind)} if name in told else {}
        for name, kind in _own_settings(job).items()
    }
    config = schema_of(_config_class(job), without=("inputs", *own))
    return {**config, **own}


def _schema_of_own(kind: Any) -> dict[str, Any]:
    return schema_of_kind(kind) if kind in (bool, int) else dict(_TEXTS)


def _function(job: str) -> Callable[..., Any]:
    """Return the public function of a stage; they are imported when somebody asks."""
    function: Callable[..., Any] = getattr(import_module("genie_dp.api"), job)
    return function


def _config_class(job: str) -> type:
    module, _, name = JOBS[job].config.rpartition(".")
    kind: type = getattr(import_module(module), name)
    return kind


def _config_fields(job: str) -> Collection[str]:
    """Return the names of the settings of a stage's config."""
    return schema_of(_config_class(job)).keys()


def _own_settings(job: str) -> dict[str, Any]:
    """Return the parameters of a function beside the settings of its config, with their types."""
    taken = inspect.signature(_function(job)).parameters.values()
    own = {x.name: x.annotation for x in taken if x.kind is x.KEYWORD_ONLY and x.name not in _OWN}
    return own | ({"rows": str} if JOBS[job].rows else {})


class _ProjectReader:
    """Reads genie.yaml and gathers all that is wrong with it."""

    def __init__(self, folder: Path):
        """Start with no mistake; files are looked for in the folder."""
        self.folder = folder
        self.problems: list[Problem] = []
        self.sources: dict[str, str] = {}
        self.stages: dict[str, Stage] = {}
        self.has_folders = False
        self.locale = ""

    def tell(self, message: str, span: Span, hint: str | None = None) -> None:
        self.problems.append(Problem("R051", message, span, hint))

    def read_places(self, located: Located) -> None:
        """Report mistakes beside the stages."""
        for key, (_, value) in located.value.items():
            said = value.plain
            if key in ("skills", "grammar") and not are_texts(said):
                self.tell(f"{key}: expected a folder or a list of them", value.span)
            elif key == "skills":
                self.has_folders = len(texts_of(said)) > 1
            elif key == "output" and not isinstance(said, str):
                self.tell(f"output: expected a folder, got {said!r}", value.span)
            elif key == "locale":
                self._read_locale(value)
            elif key == "jobs" and not (fits(said, int) and said >= 1):
                expected = "a whole number of at least 1"
                self.tell(f"jobs: expected {expected}, got {said!r}", value.span)

    def _read_locale(self, value: Located) -> None:
        """Keep the language of the sentences; a file of words is beside this file."""
        said = value.plain
        if not isinstance(said, str):
            self.tell(f"locale: expected a language, got {said!r}", value.span)
            return
        self.locale = str(self.folder / said) if said.endswith(ENDING) else said
        try:
            locale_from(self.locale)
        except GenieError as error:
            # What is wrong in a file of words has its place there.
            self.problems += (p for p in error.problems if p.span is not None)
            self.sources |= error.sources
            self.locale = ""
            for problem in error.problems:
                if problem.span is None:
                    self.tell(problem.message, value.span, problem.hint)

    def read(self, located: Located) -> Mapping[str, Stage]:
        self.read_places(located)
        for key, (span, _) in located.value.items():
            if key not in _KEYS:
                hint = did_you_mean(str(key), _KEYS) or f"settings: {', '.join(_KEYS)}"
                self.tell(f"unknown setting {key!r}", span, hint)
        key_span, stages = located.value.get("stages", (located.span, located))
        if "stages" not in located.value or not isinstance(stages.value, dict) or not stages.value:
            hint = "stages: {pairs: {synthesize: {size: 1000}}}"
            self.tell("stages: expected at least one, by name", key_span, hint)
            return {}
        for name, (span, stage) in stages.value.items():
            if not re.fullmatch(_NAME, str(name)):
                hint = "letters, digits, - and _: what it makes has that name"
                self.tell(f"no name of a stage: {name!r}", span, hint)
            elif (read := self._read_stage(str(name), span, stage)) is not None:
                self.stages[read.name] = read
        return self.stages

    def _read_stage(self, name: str, span: Span, located: Located) -> Stage | None:
        """Return a stage; None for one whose mistakes were reported."""
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
        if not are_texts(of):
            self.tell(f"{name}: of: expected names of stages or files", entries["of"][0])
            return None
        settings = self._with_locale(job, settings)
        stage = Stage(name, job, settings, tuple(texts_of(of)))
        kind = JOBS[job]
        if not kind.least <= len(stage.of) <= kind.most:
            number = {0: "nothing", 1: "one"}.get(kind.most, "one or more")
            self.tell(f"{name}: {job} works on {number}, got {len(stage.of)}", job_span)
        given = value.value or {}
        spans = {key: span for key, (span, _) in given.items()}
        self._check_settings(stage, job_span, spans)
        place = entries["of"][1].span if "of" in entries else job_span
        if len(self.problems) == before:
            for reference in stage.references:
                self._check_reference(stage, reference, place)
        return stage if len(self.problems) == before else None

    def _with_locale(self, job: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a stage with the locale of the file, where it takes one."""
        own = settings.get("locale")
        if not self.locale or isinstance(own, str) or "locale" not in _config_fields(job):
            return settings
        some = {"language": self.locale, **own} if isinstance(own, dict) else self.locale
        return {**settings, "locale": some}

    def _check_settings(self, stage: Stage, span: Span, spans: Mapping[str, Span]) -> None:
        """Report settings that the function does not take, or not with these values."""
        own = _own_settings(stage.job)
        if stage.job == "evaluate" and "rows" not in stage.settings and self.has_folders:
            hint = "rows: eval.tsv, or a folder of skills with eval.tsv"
            self.tell(f"{stage.name}: expected rows, for there are several folders", span, hint)
        wrong = list(_of_another_kind(stage, own))
        for name, expected in wrong:
            got = stage.settings[name]
            self.tell(f"{stage.name}: {name}: expected {expected}, got {got!r}", spans[name])
        if wrong:
            return
        rest = {name: value for name, value in stage.settings.items() if name not in own}
        try:
            _check_config(stage.job, rest, own)
        except GenieError as error:
            for problem in error.problems:
                named = spans.get(str(problem.setting[0]), span) if problem.setting else span
                self.tell(f"{stage.name}: {problem.message}", named, problem.hint)

    def _check_reference(self, stage: Stage, reference: str, span: Span) -> None:
        """Report a reference that is neither an earlier stage nor a file."""
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


def _of_another_kind(stage: Stage, own: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings whose values are of another kind than they should be, and that kind."""
    kind = _config_class(stage.job)
    hints = typing.get_type_hints(kind)
    frozen = frozen_settings(kind, {k: v for k, v in stage.settings.items() if k in hints})
    for name, value in stage.settings.items():
        if name in own:
            expected = own[name] if own[name] in (bool, int) else None
            if expected is None and not are_texts(value):
                yield name, "a text"
            elif expected is not None and not fits(value, expected):
                yield name, kind_in_words(expected)
        elif name in hints and not fits(frozen[name], hints[name]):
            yield name, kind_in_words(hints[name])


def _check_config(job: str, settings: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse settings that the config of a function has not, or not with these values.

    Raises:
        GenieError: R040, R043 and N002, all of them.
    """
    kind: Any = _config_class(job)
    if job == "train":  # its settings have a budget without which they are none
        from genie_dp.parser.recipe import config_of as parser_config

        check_names(kind, settings, without=("inputs", *own))
        parser_config(None, ["rows.jsonl"], frozen_settings(kind, settings))
        return
    config_of(kind, settings)


def texts_of(value: Any) -> list[str]:
    """Return texts in a list, where one may stand by itself."""
    return [value] if isinstance(value, str) else list(value)


def are_texts(value: Any) -> bool:
    """Return whether a value is a text, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return all(isinstance(one, str) and one for one in values)


def _paths(value: Any, folder: Path) -> str | list[Path]:
    """Return folders that are named relative to another one, or "shipped"."""
    if value in (None, SHIPPED):
        return SHIPPED
    is_ours = not (folder / SHIPPED).exists()
    return [
        Path(one) if is_ours and Path(one).parts[:1] == (SHIPPED,) else folder / one
        for one in texts_of(value)
    ]
