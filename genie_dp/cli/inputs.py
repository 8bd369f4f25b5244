"""What most commands read first: a language, its library, and the templates."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from genie_dp.cli.parsed import Parsed
from genie_dp.cli.shipped import GRAMMAR, SKILLS
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language, language_names
from genie_dp.resources import data_folder
from genie_dp.templates.bodies import with_trees
from genie_dp.texts import read_text

Command = TypeVar("Command", bound=Callable[..., Any])
MAIN = "main.genie"
REAL = "real_phrases.genie"  # beside it: for skills with templates of a Thingpedia data set


@dataclass(frozen=True, slots=True)
class Inputs:
    """A language with its library and its grammar.

    Attributes:
        library: a skills.Library for ThingTalk, Declarations for S-expressions.
        sources: file -> text of everything that was read.
        kept: the file of the cache that holds all this; None where none does.
    """

    language: Language
    library: Any
    grammar: Any
    sources: dict[str, str]
    kept: Path | None = None

    def fingerprint(self) -> str:
        """Return a hash of all texts that were read, wherever the files lie."""
        digest = hashlib.sha256()
        for text in sorted(self.sources.values()):
            digest.update(hashlib.sha256(text.encode()).digest())
        return digest.hexdigest()


def library_options(command: Command) -> Command:
    """Add --language, --skills and --skip-broken."""
    for option in (
        click.option(
            "--skip-broken", is_flag=True, help="Go on without the skills that cannot be read."
        ),
        click.option(
            "--skills",
            multiple=True,
            type=SKILLS,
            metavar="DIR",
            help="Folder of a skill, or of skills; shipped for those that come with genie-dp "
            "[shipped]; for sexpr, a file of declarations. May be repeated.",
        ),
        click.option(
            "--language",
            type=click.Choice(language_names()),
            default="thingtalk",
            show_default=True,
            help="Target language of the programs.",
        ),
    ):
        command = option(command)
    return command


def grammar_option(command: Command) -> Command:
    """Add --grammar."""
    option = click.option(
        "--grammar",
        multiple=True,
        type=GRAMMAR,
        metavar="FILE|DIR",
        help="Template file, or a folder with main.genie; shipped for the English that comes with "
        "genie-dp [shipped]. May be repeated.",
    )
    return option(command)


def templates_options(*, max_depth: int) -> Callable[[Command], Command]:
    """Return what adds --grammar, --subset and --max-depth."""

    def add(command: Command) -> Command:
        command = click.option(
            "--max-depth",
            type=click.IntRange(1, 12),
            default=max_depth,
            show_default=True,
            help="Construct templates inside each other, at most.",
        )(command)
        command = click.option(
            "--subset",
            "subsets",
            multiple=True,
            metavar="NAME",
            help="Subset of flagged templates [training]. May be repeated.",
        )(command)
        return grammar_option(command)

    return add


def load_library_of(language: str, skills: Sequence[Path], *, skip_broken: bool) -> Any:
    """Return the library of a language: the given one, or for ThingTalk the shipped one.

    What was read of skills before is used again (parsed.py).
    """
    if language == "sexpr":
        return _declarations(skills)
    parsed = Parsed.of(skills or [data_folder("thingpedia")], language, skip_broken, "library")
    known = parsed.load()
    if known is not None:
        return known
    library = _read_library(language, skills, skip_broken=skip_broken)
    if not library.skipped:  # else it is to be told again
        parsed.keep(library, library.sources)
    return library


def library_fingerprint(library: Any, skills: Sequence[Path]) -> str:
    """Return a hash of the texts of a library, wherever its files lie.

    Args:
        library: as `load_library_of` returns it.
        skills: its files, where the library does not hold its texts.
    """
    sources = getattr(library, "sources", None)
    texts = [read_text(path) for path in skills] if sources is None else sources.values()
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


def _read_library(language: str, skills: Sequence[Path], *, skip_broken: bool) -> Any:
    if language == "sexpr":
        return _declarations(skills)
    from genie_dp.skills.load import load_library

    library = load_library(list(skills) or [data_folder("thingpedia")], skip_broken=skip_broken)
    for skipped in library.skipped:
        for problem in skipped.problems:
            place = f"{problem.span}: " if problem.span else ""
            click.echo(f"{place}{problem.message}", err=True)
        click.echo(f"skipped: {skipped.path} is broken; going on without it", err=True)
    return library


def _declarations(files: Sequence[Path]) -> Any:
    from genie_dp.languages.sexpr.declarations import load_declarations

    if len(files) > 1:
        message = f"expected one file of declarations, got {len(files)}"
        raise GenieError(Problem("R020", message, hint="put them into one .sexpr file"))
    return load_declarations(files[0]) if files else None


def load_inputs(
    language: str, skills: Sequence[Path], grammar: Sequence[Path], *, skip_broken: bool
) -> Inputs:
    """Return library and grammar, read and put together, or as they were read before.

    Raises:
        GenieError: mistakes in any of the files.
    """
    shipped = [data_folder("thingpedia")] if language == "thingtalk" else []
    files = grammar_files(grammar)
    parsed = Parsed.of(skills or shipped, language, skip_broken, *map(str, files))
    known = parsed.load()
    if known is not None:
        library, read, sources = known
        return Inputs(get_language(language), library, read, sources, kept=parsed.path)
    inputs = _read_inputs(language, skills, files, skip_broken=skip_broken)
    # Python functions do not travel; what was skipped is to be told again.
    if not inputs.grammar.functions and not getattr(inputs.library, "skipped", ()):
        grammar_read = with_trees(inputs.grammar, inputs.language)
        place = parsed.keep((inputs.library, grammar_read, inputs.sources), inputs.sources)
        return replace(inputs, kept=place)
    return inputs


def _read_inputs(
    language: str, skills: Sequence[Path], files: list[Path], *, skip_broken: bool
) -> Inputs:
    from genie_dp.templates.check import errors_of
    from genie_dp.templates.load import read_grammar

    found = get_language(language)
    library = _read_library(language, skills, skip_broken=skip_broken)
    extra: Sequence[Any] = ()
    sources = {str(path): read_text(path) for path in skills if path.is_file()}
    if language == "thingtalk":
        from genie_dp.skills.thingpedia import convert

        extra = convert(library).templates
        if extra:
            files = files + [path for file in files if (path := file.parent / REAL).is_file()]
        files = files + [skill.templates for skill in library.skills if skill.templates is not None]
        sources |= library.sources
    read, problems = read_grammar(files, found, extra=extra)
    problems += errors_of(read, found, library)
    if problems:
        raise GenieError(problems, sources=read.sources)
    return Inputs(found, library, read, {**sources, **read.sources})


def grammar_files(grammar: Sequence[Path]) -> list[Path]:
    """Return the template files to read: of a folder its main.genie; without any, the shipped."""
    return [_main_of(path) for path in grammar] or [data_folder("grammars") / "en" / MAIN]


def _main_of(path: Path) -> Path:
    if path.is_file():
        return path
    if (path / MAIN).is_file():
        return path / MAIN
    hint = f"name a .genie file, or add {MAIN} that imports the others"
    raise GenieError(Problem("R021", f"{path} has no {MAIN}", hint=hint))
