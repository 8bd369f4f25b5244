"""Which skills and which grammar a document belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import Problem
from genie_dp.languages import get_language, language_names
from genie_dp.languages.base import language_of_files
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.skills.load import MANIFEST_FILE, SKILL_FILE
from genie_dp.templates.inputs import MAIN

_SKILLS = ("thingpedia", "skills")  # what folders of skills are called
_GRAMMARS = "grammars"


@dataclass(frozen=True, slots=True)
class ProjectPlaces:
    """The settings of the project file above a document.

    Attributes:
        file: the project file.
        skills, grammar: folders and files; empty where it names none.
        problems: of the project file.
    """

    file: Path
    skills: tuple[Path, ...] = ()
    grammar: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = ()


FindProject = Callable[[Path], ProjectPlaces | None]
"""Returns the project of what is in a folder, None where it belongs to none."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Skills with a grammar, as `genie-dp check` takes them.

    Attributes:
        language: of the programs.
        skills: folders of skills, or files of declarations; empty for those of the package.
        grammar: template files, or folders with a main.genie; empty for that of the package.
    """

    language: str
    skills: tuple[Path, ...] = ()
    grammar: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentSources:
    """Where a document belongs, and the project that determines it, or should."""

    sources: Sources
    project: ProjectPlaces | None = None


def find_sources(document: Path, find_project: FindProject) -> DocumentSources:
    """Return where a document belongs.

    The project above it determines it, as for `genie-dp check`. Without any, the folders do:
    skills beside a folder of grammars, `thingpedia/CLASS/skill.tt` and
    `grammars/LANGUAGE/main.genie`; and so they do for a skill that the project does not name. The
    missing part comes with the package.
    """
    project = find_project(document.parent)
    if project is None or project.problems or _is_foreign(document, project):
        return DocumentSources(_by_folders(document), project)
    language = language_of_files(project.skills) or DEFAULT_LANGUAGE
    return DocumentSources(Sources(language, project.skills, project.grammar), project)


def _is_foreign(document: Path, project: ProjectPlaces) -> bool:
    """Return whether a document is of a skill that is none of the project's."""
    skill = next((p for p in document.parents if _is_skill(p)), None)
    folders = [folder.resolve() for folder in project.skills]
    return skill is not None and not any(skill.resolve().is_relative_to(f) for f in folders)


def _by_folders(document: Path) -> Sources:
    skill = next((p for p in document.parents if _is_skill(p)), None)
    if skill is not None:
        return Sources(DEFAULT_LANGUAGE, (skill.parent,), _grammar_beside(skill.parent))
    folder = next((p for p in document.parents if (p / MAIN).is_file()), None)
    if folder is None:  # a file alone, or one that is not yet on disk
        grammar = (document,) if document.suffix == ".genie" else ()
        return Sources(DEFAULT_LANGUAGE, _skills_near(document), grammar)
    for name in language_names():
        suffix = get_language(name).library_suffix
        declarations = sorted(folder.glob(f"*{suffix}")) if suffix else []
        if declarations:
            return Sources(name, tuple(declarations), (folder,))
    return Sources(DEFAULT_LANGUAGE, _skills_near(folder), (folder,))


def _skills_near(file: Path) -> tuple[Path, ...]:
    """Return the skills in the nearest folder above a file that has any, else none."""
    for parent in file.parents:
        skills = [parent / name for name in _SKILLS]
        with_skills = [f for f in skills if next(f.glob(f"*/{SKILL_FILE}"), None) is not None]
        if with_skills:
            return tuple(with_skills)
    return ()


def _grammar_beside(skills: Path) -> tuple[Path, ...]:
    """Return the first grammar beside a folder of skills, English before others."""
    mains = sorted(
        (skills.parent / _GRAMMARS).glob(f"*/{MAIN}"), key=lambda p: (p.parent.name != "en", p)
    )
    return (mains[0].parent,) if mains else ()


def _is_skill(folder: Path) -> bool:
    return (folder / SKILL_FILE).is_file() or (folder / MANIFEST_FILE).is_file()
