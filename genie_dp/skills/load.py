"""Reads skill folders into a Library.

Codes of mistakes:

| K001 no such folder | K002 folder without skills | K003 text cannot be decoded |
| K004 class declared twice | K005 unknown parent class | K006 extends itself |
| K007 function extends what is not there, or a query hides an action |
| K008 malformed value list | K009 file without class | K010 value or list given twice |
| K011 skill.tt and manifest.tt in one folder |
| K012 folder and class have different names | K013 unknown parent of an entity type |
| K014 unit of an unknown dimension or unit, or a second base | K015 name of a unit that is taken |
| K016 size of a unit that is none | K017 words of a unit that mean something else |
| K120 value list with commas |
"""

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Skipped
from genie_dp.languages.thingtalk.declarations import ClassDef, Dataset
from genie_dp.languages.thingtalk.parser import parse_library
from genie_dp.languages.thingtalk.typecheck import check_class, check_types
from genie_dp.skills.link import LinkedClass, entity_types, link, link_units
from genie_dp.skills.model import DatasetTemplate, Skill, SkillLibrary, SkillValues
from genie_dp.texts import Paths, ReadSource, paths_of, read_source

# -------------------------------------------------------------------------------------- value lists

COLUMNS = ("value", "weight", "source", "licence")


@dataclass(frozen=True, slots=True)
class ParsedValues:
    """A value list as far as it could be read, and its mistakes."""

    values: SkillValues
    problems: tuple[Problem, ...]


def parse_values(text: str, *, name: str, file: str) -> ParsedValues:
    r"""Return the values of a text.

    A first line that begins with the cell `value` names the columns; else they are value and, if
    given, weight. Empty lines do not count.

    >>> parse_values("value\tweight\nparis\t3\nrome\n", name="com.x:city", file="city.tsv").values
    SkillValues(name='com.x:city', values=('paris', 'rome'), weights=(3.0, 1.0))
    """
    rows = [
        (number, line.rstrip("\r").split("\t"))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    columns: Sequence[str] = COLUMNS
    problems: list[Problem] = []
    if rows and rows[0][1][0].strip() == "value":
        columns = [cell.strip() for cell in rows[0][1]]
        problems.extend(_header_problems(columns, rows[0][0], file))
        rows = rows[1:]
    if any(_has_commas(cells) for _, cells in rows[:1]) or _are_commas(rows):
        place = Span(file, rows[0][0], 1, rows[0][0], len(rows[0][1][0]) + 1)
        message = f"value list {name} is separated by commas: all of a line is one value"
        problems.append(Problem("K120", message, place, _COMMAS_HINT, severity="warning"))
    weights: dict[str, float] = {}
    spelled: dict[str, str] = {}
    for number, cells in rows:
        value = cells[0].strip()
        weight = weight_of(dict(zip(columns, cells, strict=False)).get("weight", ""))
        problems.extend(
            _row_problems(value, weight, value in weights, cells, columns, number, file)
        )
        weights.setdefault(value, weight or 1.0)
        first = spelled.setdefault(value.casefold(), value)
        if value and first != value:
            message = f"value {value!r} is {first!r} but for its capitals, and sentences have none"
            place = Span(file, number, 1, number, len(cells[0]) + 1)
            hint = "delete one of the lines"
            problems.append(Problem("K010", message, place, hint, severity="warning"))
    if not rows:
        place = Span(file, 1, 1, 1, 1)
        problems.append(Problem("K008", f"value list {name} is empty", place, "give it a line"))
    return ParsedValues(SkillValues(name, tuple(weights), tuple(weights.values())), tuple(problems))


_COMMAS_HINT = "separate value and weight by a tab; a value may hold commas"
_WITH_WEIGHT = re.compile(r"[^,]+, *\d+(?:\.\d+)?")


def _has_commas(cells: Sequence[str]) -> bool:
    """Return whether a line is a header with commas: `value,weight`."""
    names = [name.strip() for name in cells[0].split(",")]
    return len(cells) == 1 and len(names) > 1 and set(names) <= {*COLUMNS, "license"}


def _are_commas(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return whether all lines, several, have no tab but a comma and a number at the end."""
    return len(rows) > 1 and all(
        len(cells) == 1 and _WITH_WEIGHT.fullmatch(cells[0].strip()) for _, cells in rows
    )


def weight_of(cell: str) -> float | None:
    """Return the weight, 1 for an empty cell, None if it is no positive number."""
    if not cell.strip():
        return 1.0
    try:
        weight = float(cell)
    except ValueError:
        return None
    return weight if weight > 0 and math.isfinite(weight) else None


def _header_problems(columns: Sequence[str], line: int, file: str) -> Iterator[Problem]:
    column = 1
    for name in columns:
        if name not in (*COLUMNS, "license"):
            hint = did_you_mean(name, COLUMNS) or f"columns are: {', '.join(COLUMNS)}"
            place = Span(file, line, column, line, column + len(name))
            yield Problem("K008", f"unknown column {name!r}", place, hint)
        column += len(name) + 1


def _row_problems(
    value: str,
    weight: float | None,
    is_repeated: bool,
    cells: Sequence[str],
    columns: Sequence[str],
    line: int,
    file: str,
) -> Iterator[Problem]:
    place = Span(file, line, 1, line, len(cells[0]) + 1)
    if not value:
        yield Problem("K008", "expected a value before the first tab, got none", place)
    elif is_repeated:
        message = f"value {value!r} stands twice; the first one counts"
        yield Problem("K010", message, place, "delete this line", severity="warning")
    if weight is None:
        start = sum(len(cell) + 1 for cell in cells[: columns.index("weight")]) + 1
        cell = cells[columns.index("weight")]
        place = Span(file, line, start, line, start + len(cell))
        message = f"expected a positive number as weight, got {cell!r}"
        yield Problem("K008", message, place, "columns are separated by one tab")
    if len(cells) > len(columns):
        message = f"expected at most {len(columns)} columns, got {len(cells)}"
        yield Problem("K008", message, place, f"columns are: {', '.join(columns)}")


SKILL_FILE, MANIFEST_FILE, DATASET_FILE = "skill.tt", "manifest.tt", "dataset.tt"
TEMPLATES_FILE, VALUES_FOLDER = "templates.genie", "values"
EVALUATION_FILE, PARAPHRASES_FILE = "eval.tsv", "paraphrases.tsv"
SHARED_NAMESPACE = "tt"


class FolderReader:
    """Reads folders of skills, again and again where it is kept.

    A folder whose files are as before is not parsed again, and skills that are all as before are
    not linked again.

    Attributes:
        known: folder -> (its files, their content).
    """

    def __init__(self, read: ReadSource = read_source):
        """Start with nothing known; files are read by `read`."""
        self._read = read
        self.known: dict[Path, tuple[Sequence[Path], _ReadFolder]] = {}
        self._linked: _Linked | None = None
        self._classes: dict[str, LinkedClass] = {}

    def folder(self, path: Path) -> "_ReadFolder":
        """Return the content of a folder, with its mistakes."""
        files, read = self.known.get(path, ((), _ReadFolder(path)))
        files_now = _files_of(path)
        is_known = files_now == files and all(map(self._is_same, read.sources.items()))
        if not is_known:
            read = _read_folder(path, self._read)
            self.known[path] = (files_now, read)
        return read

    def assemble(self, read: Sequence["_ReadFolder"]) -> tuple[SkillLibrary, Sequence[Problem]]:
        """Return the library of sound folders, and the errors that show when they are linked."""
        linked = self._linked
        is_same = linked is not None and len(linked.read) == len(read)
        if linked is None or not is_same or any(map(operator.is_not, linked.read, read)):
            linked = self._linked = _Linked(tuple(read), *_assemble(read, self._classes))
        return linked.library, linked.errors

    def _is_same(self, source: tuple[str, str]) -> bool:
        """Return whether a file is unchanged."""
        try:
            return self._read(source[0], code="K003") == source[1]
        except (GenieError, OSError):
            return False


def load_library(
    paths: Paths, *, skip_broken: bool = False, reader: FolderReader | None = None
) -> SkillLibrary:
    """Return the library of all skills in a folder, or in several.

    A path is a skill folder or a folder of skill folders; those are read in the order of their
    names. A folder that only has `values/` holds lists for all skills, named `tt:<file>`.

    Args:
        skip_broken: leave a skill with mistakes out and record it in `library.skipped`, and with it
            the skills that extend it.
        reader: reads the folders; one that is kept reuses unchanged ones.

    Raises:
        GenieError: all mistakes of all files. Without folders to read it is raised always, else
            only without `skip_broken`.
    """
    reader = reader or FolderReader()
    folders_given = tuple(Path(path) for path in paths_of(paths))
    folders, warnings = _skill_folders(folders_given)
    read = [reader.folder(folder) for folder in folders]
    broken = {r.path: r.errors for r in read if r.errors}
    while True:
        library, problems = reader.assemble([r for r in read if r.path not in broken])
        newly = _sort_by_folder(problems, read)
        if not skip_broken:
            newly = _drop_echoes(newly, [r for r in read if r.path in broken])
        broken |= newly
        if not skip_broken or not newly:
            break
    sources = {file: text for r in read for file, text in r.sources.items()}
    if broken and not skip_broken:
        raise GenieError(
            _sort_problems(p for mistakes in broken.values() for p in mistakes), sources=sources
        )
    return replace(
        library,
        paths=folders_given,
        sources=sources,
        skipped=tuple(
            Skipped(r.path, _sort_problems(broken[r.path])) for r in read if r.path in broken
        ),
        warnings=(*warnings, *library.warnings),
    )


# ------------------------------------------------------------------------------- folders


def _skill_folders(paths: Iterable[Path]) -> tuple[list[Path], list[Problem]]:
    folders: dict[Path, Path] = {}
    errors: list[Problem] = []
    warnings: list[Problem] = []
    for path in paths:
        folders_found, problems = _folders_at(path)
        folders.update({folder.resolve(): folder for folder in folders_found})
        errors.extend(p for p in problems if p.severity == "error")
        warnings.extend(p for p in problems if p.severity == "warning")
    if errors:
        raise GenieError(errors)
    return list(folders.values()), warnings


def _folders_at(path: Path) -> tuple[list[Path], list[Problem]]:
    if not path.is_dir():
        why = "is a file" if path.exists() else "does not exist"
        hint = "give the folder of a skill, or a folder of skill folders"
        return [], [Problem("K001", f"expected a folder of skills: {path} {why}", hint=hint)]
    if _is_skill(path):
        return [path], []
    inside = sorted(
        (p for p in path.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))),
        key=lambda p: p.name,
    )
    folders = [p for p in inside if _is_skill(p) or (p / VALUES_FOLDER).is_dir()]
    if not any(_is_skill(p) for p in folders):
        if (path / VALUES_FOLDER).is_dir():
            return [path], []
        hint = f"a skill is a folder with a {SKILL_FILE}; make one with: genie-dp new skill NAME"
        return [], [Problem("K002", f"{path} holds no skill", hint=hint)]
    warnings = [
        Problem(
            "K002",
            f"{p} has no {SKILL_FILE} and no {MANIFEST_FILE}: left out",
            severity="warning",
        )
        for p in inside
        if p not in folders
    ]
    return folders, warnings


def _is_skill(folder: Path) -> bool:
    return (folder / SKILL_FILE).is_file() or (folder / MANIFEST_FILE).is_file()


# --------------------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class _Linked:
    """The library of some folders, and the errors that show when they are linked."""

    read: "tuple[_ReadFolder, ...]"
    library: SkillLibrary
    errors: Sequence[Problem]


@dataclass(slots=True)
class _ReadFolder:
    """The content of one folder; `skill` is None where it holds value lists only."""

    path: Path
    skill: Skill | None = None
    values: list[SkillValues] = field(default_factory=list)
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

    def text(self, path: Path, read_file: ReadSource) -> str | None:
        """Return the text of a file and keep it; None, with its problem noted, if it has none."""
        try:
            text = read_file(path, code="K003")
        except GenieError as error:
            self.note(error)
            return None
        self.sources[str(path)] = text
        return text


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a folder on which its content depends."""
    files = [*folder.glob("*.tt"), *(folder / VALUES_FOLDER).glob("*.tsv")]
    names = (TEMPLATES_FILE, EVALUATION_FILE, PARAPHRASES_FILE)
    beside = (folder / name for name in names)
    return sorted(files) + [path for path in beside if path.is_file()]


def _read_folder(folder: Path, read_file: ReadSource) -> _ReadFolder:
    read = _ReadFolder(folder)
    namespace = SHARED_NAMESPACE
    if _is_skill(folder):
        read.skill = _read_skill(folder, read, read_file)
        namespace = read.skill.classes[0].name if read.skill.classes else folder.name
    for path in sorted((folder / VALUES_FOLDER).glob("*.tsv"), key=lambda p: p.name):
        text = read.text(path, read_file)
        if text is not None:
            parsed = parse_values(text, name=f"{namespace}:{path.stem}", file=str(path))
            read.values.append(parsed.values)
            read.problems.extend(parsed.problems)
    return read


def _read_skill(folder: Path, read: _ReadFolder, read_file: ReadSource) -> Skill:
    is_real = not (folder / SKILL_FILE).is_file()
    if not is_real and (folder / MANIFEST_FILE).is_file():
        message = f"{folder} has both {SKILL_FILE} and {MANIFEST_FILE}"
        read.problems.append(Problem("K011", message, hint="keep one of them"))
    main = folder / (MANIFEST_FILE if is_real else SKILL_FILE)
    parsed = list(_parse(main, read, read_file))
    if is_real and (folder / DATASET_FILE).is_file():
        parsed.extend(_parse(folder / DATASET_FILE, read, read_file))
    classes = tuple(item for item in parsed if isinstance(item, ClassDef))
    if not read.errors:
        read.problems.extend(_class_file_problems(folder, main, classes))
        # Real manifests are taken as they are, with warnings.
        mistakes = [problem for definition in classes for problem in check_class(definition)]
        read.problems += [replace(p, severity="warning") for p in mistakes] if is_real else mistakes
    return Skill(
        folder.name,
        folder,
        classes,
        tuple(
            DatasetTemplate(item.name, example)
            for item in parsed
            if isinstance(item, Dataset)
            for example in item.examples
        ),
        templates=_file_or_none(folder / TEMPLATES_FILE),
        evaluation=_file_or_none(folder / EVALUATION_FILE),
        paraphrases=_file_or_none(folder / PARAPHRASES_FILE),
        is_real=is_real,
    )


def _parse(path: Path, read: _ReadFolder, read_file: ReadSource) -> Sequence[ClassDef | Dataset]:
    text = read.text(path, read_file)
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


def _file_or_none(path: Path) -> Path | None:
    return path if path.is_file() else None


# ------------------------------------------------------------------------------- library


def _assemble(
    read: Sequence[_ReadFolder], known: dict[str, LinkedClass]
) -> tuple[SkillLibrary, list[Problem]]:
    """Return the library of sound folders, and the errors that show when they are linked."""
    skills = tuple(r.skill for r in read if r.skill is not None)
    definitions = [c for skill in skills for c in skill.classes]
    lenient = {c.name: skill.is_real for skill in skills for c in skill.classes}
    linked = link(definitions, is_lenient=lenient, known=known)
    types, mistakes = entity_types(definitions, linked.classes)
    units, wrong_units = link_units(definitions)
    wrong_units += [problem for c in definitions for problem in check_types(c, units)]
    value_lists, repeated = _value_lists(read)
    problems = [*linked.problems, *mistakes, *wrong_units, *repeated]
    errors = [p for p in problems if p.severity == "error"]
    warnings = [p for r in read for p in r.warnings]
    warnings.extend(p for p in problems if p.severity == "warning")
    library = SkillLibrary(
        skills, linked.classes, types, value_lists, units, warnings=_sort_problems(warnings)
    )
    return library, errors


def _value_lists(read: Iterable[_ReadFolder]) -> tuple[dict[str, SkillValues], list[Problem]]:
    lists: dict[str, SkillValues] = {}
    problems = []
    for r in read:
        for values in r.values:
            if values.name in lists:
                message = f"{r.path}: value list {values.name} is given twice; the first counts"
                problems.append(Problem("K010", message, severity="warning"))
            lists.setdefault(values.name, values)
    return lists, problems


def _sort_by_folder(
    problems: Iterable[Problem], read: Iterable[_ReadFolder]
) -> dict[Path, tuple[Problem, ...]]:
    """Return the problems by the folder whose file they are in."""
    folders = {file: r.path for r in read for file in r.sources}
    by_folder: dict[Path, tuple[Problem, ...]] = {}
    for problem in problems:
        assert problem.span is not None  # every linking error speaks of a declaration
        folder = folders[problem.span.file]
        by_folder[folder] = (*by_folder.get(folder, ()), problem)
    return by_folder


def _drop_echoes(
    newly: Mapping[Path, tuple[Problem, ...]], broken: Sequence[_ReadFolder]
) -> dict[Path, tuple[Problem, ...]]:
    """Leave out problems of names unknown because a folder is broken: one mistake, not two.

    Those are parents of a folder's name, and units that its texts declare.
    """
    parents = {f"extends @{r.path.name}," for r in broken}
    texts = [text for r in broken for text in r.sources.values()]
    units = {f"{name!r}" for text in texts for name in _DECLARED_UNIT.findall(text)}

    def is_echo(problem: Problem) -> bool:
        if problem.code == "K005":
            return any(parent in problem.message for parent in parents)
        return problem.code in ("K014", "T022") and any(name in problem.message for name in units)

    own = {path: tuple(p for p in problems if not is_echo(p)) for path, problems in newly.items()}
    return {path: problems for path, problems in own.items() if problems}


_DECLARED_UNIT = re.compile(r"\bunit\s+(\w+)\s+of\b")


def _sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    def place(problem: Problem) -> tuple[str, int, int]:
        span = problem.span
        return (span.file, span.line, span.column) if span else ("", 0, 0)

    return tuple(sorted(dict.fromkeys(problems), key=place))
