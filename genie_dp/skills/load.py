"""Reads skill folders into a Library.

Codes of mistakes:

| K001 no such folder | K002 folder without skills | K003 text cannot be decoded |
| K004 class declared twice | K005 unknown parent class | K006 extends itself |
| K007 function extends what is not there, or a query hides an action |
| K008 malformed value list | K009 file without class | K010 value or list given twice |
| K011 skill.tt and manifest.tt in one folder |
| K012 folder and class have different names | K013 unknown parent of an entity type |
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.thingtalk.declarations import ClassDef, Dataset
from genie_dp.languages.thingtalk.parser import parse_library
from genie_dp.languages.thingtalk.typecheck_classes import check_class
from genie_dp.skills.entities import entity_types
from genie_dp.skills.inherit import link
from genie_dp.skills.model import Example, Library, Skill, Skipped, ValueList
from genie_dp.skills.values import parse_values
from genie_dp.texts import Paths, paths_of, read_source

SKILL_FILE, MANIFEST_FILE, DATASET_FILE = "skill.tt", "manifest.tt", "dataset.tt"
TEMPLATES_FILE, EVALUATION_FILE, VALUES_FOLDER = "templates.genie", "eval.tsv", "values"
SHARED_NAMESPACE = "tt"


def load_library(paths: Paths, *, skip_broken: bool = False) -> Library:
    """Return the library of all skills in a folder, or in several.

    A path is a skill folder or a folder of skill folders; those are read in the order of their
    names. A folder that only has `values/` holds lists for all skills, named `tt:<file>`.

    Args:
        skip_broken: leave a skill with mistakes out and record it in `library.skipped`, and with it
            the skills that extend it.

    Raises:
        GenieError: all mistakes of all files. Without folders to read it is raised always, else
            only without `skip_broken`.
    """
    given = tuple(Path(path) for path in paths_of(paths))
    folders, warnings = _skill_folders(given)
    read = [_read_folder(folder) for folder in folders]
    broken = {r.path: r.errors for r in read if r.errors}
    while True:
        library, problems = _assemble([r for r in read if r.path not in broken])
        newly = _by_folder(problems, read)
        if not skip_broken:
            newly = _without_echoes(newly, broken)
        broken |= newly
        if not skip_broken or not newly:
            break
    sources = {file: text for r in read for file, text in r.sources.items()}
    if broken and not skip_broken:
        raise GenieError(_in_order(p for found in broken.values() for p in found), sources=sources)
    return replace(
        library,
        paths=given,
        sources=sources,
        skipped=tuple(Skipped(r.path, _in_order(broken[r.path])) for r in read if r.path in broken),
        warnings=(*warnings, *library.warnings),
    )


# ------------------------------------------------------------------------------- folders


def _skill_folders(paths: Iterable[Path]) -> tuple[list[Path], list[Problem]]:
    folders: dict[Path, Path] = {}
    errors: list[Problem] = []
    warnings: list[Problem] = []
    for path in paths:
        found, problems = _folders_at(path)
        folders.update({folder.resolve(): folder for folder in found})
        errors.extend(p for p in problems if p.severity == "error")
        warnings.extend(p for p in problems if p.severity == "warning")
    if errors:
        raise GenieError(errors)
    return list(folders.values()), warnings


def _folders_at(path: Path) -> tuple[list[Path], list[Problem]]:
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        hint = "give the folder of a skill, or a folder of skill folders"
        return [], [Problem("K001", f"expected a folder of skills: {path} {what}", hint=hint)]
    if _is_skill(path):
        return [path], []
    inside = sorted(
        (p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))),
        key=lambda p: p.name,
    )
    found = [p for p in inside if _is_skill(p) or (p / VALUES_FOLDER).is_dir()]
    if not any(_is_skill(p) for p in found):
        if (path / VALUES_FOLDER).is_dir():
            return [path], []
        hint = f"a skill is a folder with a {SKILL_FILE}; make one with: genie-dp new skill NAME"
        return [], [Problem("K002", f"{path} holds no skill", hint=hint)]
    return found, [_no_skill(p) for p in inside if p not in found]


def _is_skill(folder: Path) -> bool:
    return (folder / SKILL_FILE).is_file() or (folder / MANIFEST_FILE).is_file()


def _no_skill(folder: Path) -> Problem:
    message = f"{folder} has no {SKILL_FILE} and no {MANIFEST_FILE}: left out"
    return Problem("K002", message, severity="warning")


# --------------------------------------------------------------------------------- files


@dataclass(slots=True)
class _Read:
    """What was read of one folder; `skill` is None where it holds value lists only."""

    path: Path
    skill: Skill | None = None
    values: list[ValueList] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.problems if p.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.problems if p.severity == "warning")

    def note(self, error: GenieError) -> None:
        """Keep the problems and texts of a file that could not be read."""
        self.problems.extend(error.problems)
        self.sources.update(error.sources)

    def text(self, path: Path) -> str | None:
        """Return the text of a file and keep it; None, with its problem noted, if it has none."""
        try:
            text = read_source(path, code="K003")
        except GenieError as error:
            self.note(error)
            return None
        self.sources[str(path)] = text
        return text


def _read_folder(folder: Path) -> _Read:
    read = _Read(folder)
    namespace = SHARED_NAMESPACE
    if _is_skill(folder):
        read.skill = _read_skill(folder, read)
        namespace = read.skill.classes[0].name if read.skill.classes else folder.name
    for path in sorted((folder / VALUES_FOLDER).glob("*.tsv"), key=lambda p: p.name):
        text = read.text(path)
        if text is not None:
            found = parse_values(text, name=f"{namespace}:{path.stem}", file=str(path))
            read.values.append(found.values)
            read.problems.extend(found.problems)
    return read


def _read_skill(folder: Path, read: _Read) -> Skill:
    is_real = not (folder / SKILL_FILE).is_file()
    if not is_real and (folder / MANIFEST_FILE).is_file():
        message = f"{folder} has both {SKILL_FILE} and {MANIFEST_FILE}"
        read.problems.append(Problem("K011", message, hint="keep one of them"))
    main = folder / (MANIFEST_FILE if is_real else SKILL_FILE)
    parsed = list(_parse(main, read))
    if is_real and (folder / DATASET_FILE).is_file():
        parsed.extend(_parse(folder / DATASET_FILE, read))
    classes = tuple(item for item in parsed if isinstance(item, ClassDef))
    if not read.errors:
        read.problems.extend(_class_file_problems(folder, main, classes))
        read.problems.extend(_class_problems(classes, is_real=is_real))
    return Skill(
        folder.name,
        folder,
        classes,
        tuple(
            Example(item.name, example)
            for item in parsed
            if isinstance(item, Dataset)
            for example in item.examples
        ),
        templates=_if_file(folder / TEMPLATES_FILE),
        evaluation=_if_file(folder / EVALUATION_FILE),
        is_real=is_real,
    )


def _parse(path: Path, read: _Read) -> Sequence[ClassDef | Dataset]:
    text = read.text(path)
    if text is None:
        return ()
    try:
        return parse_library(text, file=str(path))
    except GenieError as error:
        read.note(error)
        return ()


def _class_file_problems(
    folder: Path, main: Path, classes: Sequence[ClassDef]
) -> Iterator[Problem]:
    if not classes:
        place = Span(str(main), 1, 1, 1, 1)
        hint = f"begin with: class @{folder.name} {{ .. }}"
        yield Problem("K009", f"expected a class in {main.name}, got none", place, hint)
    elif all(c.name != folder.name for c in classes):
        yield Problem(
            "K012",
            f"the folder is called {folder.name}, the class @{classes[0].name}",
            classes[0].span,
            "give both the same name",
            severity="warning",
        )


def _class_problems(classes: Iterable[ClassDef], *, is_real: bool) -> Iterator[Problem]:
    """Yield the mistakes inside of classes; real manifests are taken as they are, with warnings."""
    for definition in classes:
        for problem in check_class(definition):
            yield replace(problem, severity="warning") if is_real else problem


def _if_file(path: Path) -> Path | None:
    return path if path.is_file() else None


# ------------------------------------------------------------------------------- library


def _assemble(read: Sequence[_Read]) -> tuple[Library, list[Problem]]:
    """Return the library of sound folders, and the errors that show when they are linked."""
    skills = tuple(r.skill for r in read if r.skill is not None)
    definitions = [c for skill in skills for c in skill.classes]
    lenient = {c.name: skill.is_real for skill in skills for c in skill.classes}
    linked = link(definitions, is_lenient=lenient)
    types, found = entity_types(definitions, linked.classes)
    value_lists, repeated = _value_lists(read)
    problems = [*linked.problems, *found, *repeated]
    errors = [p for p in problems if p.severity == "error"]
    warnings = [p for r in read for p in r.warnings]
    warnings.extend(p for p in problems if p.severity == "warning")
    library = Library(skills, linked.classes, types, value_lists, warnings=_in_order(warnings))
    return library, errors


def _value_lists(read: Iterable[_Read]) -> tuple[dict[str, ValueList], list[Problem]]:
    lists: dict[str, ValueList] = {}
    problems = []
    for r in read:
        for values in r.values:
            if values.name in lists:
                message = f"{r.path}: value list {values.name} is given twice; the first counts"
                problems.append(Problem("K010", message, severity="warning"))
            lists.setdefault(values.name, values)
    return lists, problems


def _by_folder(
    problems: Iterable[Problem], read: Iterable[_Read]
) -> dict[Path, tuple[Problem, ...]]:
    """Return the problems by the folder whose file they are in."""
    folders = {file: r.path for r in read for file in r.sources}
    found: dict[Path, tuple[Problem, ...]] = {}
    for problem in problems:
        assert problem.span is not None  # every linking error speaks of a declaration
        folder = folders[problem.span.file]
        found[folder] = (*found.get(folder, ()), problem)
    return found


def _without_echoes(
    newly: Mapping[Path, tuple[Problem, ...]], broken: Mapping[Path, object]
) -> dict[Path, tuple[Problem, ...]]:
    """Leave out unknown parents where a folder of that name is broken: one mistake, not two."""
    names = {path.name for path in broken}
    kept = {
        path: tuple(
            p
            for p in problems
            if p.code != "K005" or not any(f"extends @{name}," in p.message for name in names)
        )
        for path, problems in newly.items()
    }
    return {path: problems for path, problems in kept.items() if problems}


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    def place(problem: Problem) -> tuple[str, int, int]:
        span = problem.span
        return (span.file, span.line, span.column) if span else ("", 0, 0)

    return tuple(sorted(dict.fromkeys(problems), key=place))
