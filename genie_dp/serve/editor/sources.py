"""Which skills and which grammar a document belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language, language_names
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.resources import data_folder
from genie_dp.skills.load import MANIFEST_FILE, SKILL_FILE
from genie_dp.templates.inputs import MAIN, language_of, shipped_or, skills_or_shipped
from genie_dp.texts import Paths

PROJECT_FILE = "genie.yaml"
_SKILLS = ("thingpedia", "skills")  # what folders of skills are called
_GRAMMARS = "grammars"

ReadProject = Callable[[Path], tuple[Paths, Paths]]
"""Returns the skills and the grammar that a genie.yaml names; raises GenieError."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Skills with a grammar.

    Attributes:
        language: of the programs.
        skills: folders of skills, or files of declarations.
        grammar: template files, or folders with a main.genie.
    """

    language: str
    skills: tuple[Path, ...]
    grammar: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Where a document belongs, and what is wrong with the project file that should say so."""

    sources: Sources
    project: Path | None = None
    problems: tuple[Problem, ...] = ()


def find_sources(document: Path, read_project: ReadProject) -> Found:
    """Return where a document belongs.

    The nearest genie.yaml above it says so. Without any, the folders do: skills beside a folder
    of grammars, `thingpedia/CLASS/skill.tt` and `grammars/LANGUAGE/main.genie`. What is not there
    is what comes with the package.
    """
    project = next((f for p in document.parents if (f := p / PROJECT_FILE).is_file()), None)
    by_folders = Found(_by_folders(document), project)
    if project is None:
        return by_folders
    try:
        skills, grammar = read_project(project)
    except GenieError as error:
        return Found(by_folders.sources, project, error.problems)
    named = Sources(
        language_of(skills),
        tuple(shipped_or(skills, "thingpedia")),
        tuple(shipped_or(grammar, "grammars", "en")),
    )
    return Found(named, project)


def _by_folders(document: Path) -> Sources:
    skill = next((p for p in document.parents if _is_skill(p)), None)
    if skill is not None:
        return Sources(DEFAULT_LANGUAGE, (skill.parent,), _grammar_beside(skill.parent))
    folder = next((p for p in document.parents if (p / MAIN).is_file()), None)
    if folder is None:  # a file alone, or one that is not yet on disk
        grammar = (document,) if document.suffix == ".genie" else _shipped_grammar()
        return Sources(DEFAULT_LANGUAGE, _skills_near(document), grammar)
    for name in language_names():
        suffix = get_language(name).library_suffix
        declarations = sorted(folder.glob(f"*{suffix}")) if suffix else []
        if declarations:
            return Sources(name, tuple(declarations), (folder,))
    return Sources(DEFAULT_LANGUAGE, _skills_near(folder), (folder,))


def _skills_near(file: Path) -> tuple[Path, ...]:
    """Return the skills in the nearest folder above a file that has any, else the shipped ones."""
    for parent in file.parents:
        skills = [parent / name for name in _SKILLS]
        with_skills = [f for f in skills if next(f.glob(f"*/{SKILL_FILE}"), None) is not None]
        if with_skills:
            return tuple(with_skills)
    return tuple(skills_or_shipped(()))


def _grammar_beside(skills: Path) -> tuple[Path, ...]:
    """Return the first grammar beside a folder of skills, English before others."""
    mains = sorted(
        (skills.parent / _GRAMMARS).glob(f"*/{MAIN}"), key=lambda p: (p.parent.name != "en", p)
    )
    return (mains[0].parent,) if mains else _shipped_grammar()


def _shipped_grammar() -> tuple[Path, ...]:
    return (data_folder(_GRAMMARS) / "en",)


def _is_skill(folder: Path) -> bool:
    return (folder / SKILL_FILE).is_file() or (folder / MANIFEST_FILE).is_file()
