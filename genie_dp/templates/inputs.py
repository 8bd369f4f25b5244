"""The inputs that most stages read first: a language, its library, and template files.

A library is kept in the user's cache folder (`run.cache`), so reading it again takes a moment.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language
from genie_dp.languages.base import language_of_files
from genie_dp.languages.library import Library
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.resources import data_folder, shipped_path
from genie_dp.run.cache import Parsed
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.grammar import Grammar
from genie_dp.texts import Paths, paths_of

MAIN = "main.genie"
REAL = "real_phrases.genie"  # beside it: for skills with templates of a Thingpedia data set
ANSWERS = "answers"
"""Name of the grammar of questions, and of the subset of templates that it needs."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Inputs:
    """A language with its library and its grammar.

    Attributes:
        library: skills, or declarations.
        sources: file -> text of everything that was read.
        skills, grammar_files: where both were read from.
        kept: the file of the cache that holds all this; None where none does.
    """

    language: Language
    library: Library
    grammar: Grammar
    sources: dict[str, str]
    skills: tuple[Path, ...] = ()
    grammar_files: tuple[Path, ...] = ()
    skip_broken: bool = False
    kept: Path | None = None

    def __repr__(self) -> str:
        count = len(self.grammar.templates)
        return f"Inputs({self.language.name}: {count:,} templates, {self.library!r})"

    @property
    def subsets(self) -> tuple[str, ...]:
        """Return the subsets whose templates read sentences; none for those of training.

        A grammar of questions (`answers.genie`) reads them as requests for their answers.
        """
        return (ANSWERS,) if any(Path(x).stem == ANSWERS for x in self.sources) else ()

    def fingerprint(self) -> str:
        """Return a hash of all texts that were read, wherever the files lie."""
        digest = hashlib.sha256()
        for text in sorted(self.sources.values()):
            digest.update(hashlib.sha256(text.encode()).digest())
        return digest.hexdigest()


def load_library(
    language: str, skills: Sequence[Path] = (), *, skip_broken: bool = False
) -> Library:
    """Return the library of a language: that of the given files, or the shipped one.

    Args:
        language: its name.
        skills: folders of skills, or a file of declarations; empty for the shipped skills, or none.
        skip_broken: leave skills with mistakes out; `skipped` of the library names them.

    Raises:
        GenieError: mistakes in any of the files.
    """
    if not get_language(language).has_skills:
        return read_library(language, skills, skip_broken=skip_broken)
    library: Library | None = _place_of_library(language, skills, skip_broken).load()
    if library is not None:
        return library
    library = read_library(language, files_of_library(language, skills), skip_broken=skip_broken)
    if not library.skipped:  # else it is to be told again
        keep_library(library, skills, skip_broken=skip_broken)
    return library


def keep_library(library: Library, skills: Sequence[Path], *, skip_broken: bool) -> None:
    """Cache the library of these folders for the next process."""
    place = _place_of_library(library.language, skills, skip_broken)
    place.keep(library, library.sources)


def _place_of_library(language: str, skills: Sequence[Path], skip_broken: bool) -> Parsed:
    paths = files_of_library(language, skills)
    return Parsed.from_skills(paths, (), language, skip_broken, "library")


def library_from(
    given: Library | Paths, *, language: str | None = None, skip_broken: bool = False
) -> Library:
    """Return a library as it is given, or that of its source.

    Args:
        given: a library, or folders of skills, a file of declarations, or "shipped".
        language: of the programs; None for that of the source.
        skip_broken: leave skills with mistakes out; `skipped` of the library names them.

    Raises:
        GenieError: mistakes in any of the files.
    """
    if not isinstance(given, str | Path | Sequence):
        return given
    paths = shipped_or(given, "thingpedia")
    return load_library(language or language_of(given), paths, skip_broken=skip_broken)


def language_of(given: Library | Paths) -> str:
    """Return the language of a library, or of the library of a source."""
    if isinstance(given, str | Path | Sequence):
        return language_of_files(shipped_or(given, "thingpedia")) or DEFAULT_LANGUAGE
    return given.language


def shipped_or(source: Paths, *shipped: str) -> list[Path]:
    """Return the paths of a source; "shipped" and "shipped/.." name our own (`resources`)."""
    return [shipped_path(path, *shipped) or Path(path) for path in paths_of(source)]


def library_fingerprint(library: Library | None) -> str:
    """Return a hash of the texts of a library, wherever its files lie."""
    texts = sorted(library.sources.values()) if library is not None else ()
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def grammar_files(grammar: Sequence[Path]) -> list[Path]:
    """Return the template files to read: of a folder its main.genie; without any, the shipped.

    Raises:
        GenieError: R021, a folder has none.
    """
    return [_main_of(path) for path in grammar] or [data_folder("grammars") / "en" / MAIN]


def reading_files() -> list[Path]:
    """Return the shipped template files that read sentences: those of questions, too."""
    return [data_folder("grammars") / "en" / f"{ANSWERS}.genie"]


def skills_or_shipped(skills: Sequence[Path]) -> Sequence[Path]:
    """Return folders of skills: the given ones, else the shipped."""
    return skills or [data_folder("thingpedia")]


def files_of_library(language: str, skills: Sequence[Path]) -> Sequence[Path]:
    """Return the folders of skills of a language, else its files of declarations, as given."""
    return skills_or_shipped(skills) if get_language(language).has_skills else skills


def read_library(language: str, skills: Sequence[Path], *, skip_broken: bool) -> Library:
    """Return the library of the given files, and of no others, read anew.

    Raises:
        GenieError: mistakes in any of the files.
    """
    target = get_language(language)
    if not target.has_skills:
        return target.load_declarations(skills, skip_broken=skip_broken)
    from genie_dp.skills import load

    return load.load_library(list(skills), skip_broken=skip_broken)


def files_of_templates(library: Library, files: Sequence[Path], *, has_real: bool) -> list[Path]:
    """Return the template files of a grammar, and those that are read beside it with a library.

    Args:
        has_real: skills have templates of Thingpedia data sets.
    """
    if not isinstance(library, SkillLibrary):
        return list(files)
    beside = (file.parent / REAL for file in files) if has_real else ()
    real = [file for file in beside if file.is_file()]
    own = [skill.templates for skill in library.skills if skill.templates is not None]
    return [*files, *real, *own]


def _main_of(path: Path) -> Path:
    if path.is_file():
        return path
    if (path / MAIN).is_file():
        return path / MAIN
    hint = f"name a .genie file, or add {MAIN} that imports the others"
    raise GenieError(Problem("R021", f"{path} has no {MAIN}", hint=hint))
