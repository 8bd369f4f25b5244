"""Library and grammar put together, and kept in the user's cache folder (`run.cache`).

Cached inputs take a moment to read, so the code that parses files is imported when it is needed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.library import ToolLibrary
from genie_dp.languages.library import Library
from genie_dp.run.cache import Parsed
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.inputs import (
    MAIN,
    REAL,
    Inputs,
    files_of_library,
    files_of_templates,
    grammar_files,
    keep_library,
)
from genie_dp.texts import read_source

if TYPE_CHECKING:
    from genie_dp.templates.load import GrammarSources


def load_inputs(
    language: str,
    skills: Sequence[Path] = (),
    grammar: Sequence[Path] = (),
    *,
    skip_broken: bool = False,
) -> Inputs:
    """Return library and grammar, read and put together, or as they were read before.

    Args:
        language, skills, skip_broken: those of `load_library`.
        grammar: template files, or folders with a main.genie; empty for the shipped English.

    Raises:
        GenieError: mistakes in any of the files.
    """
    files = grammar_files(grammar)
    places = (tuple(skills), tuple(files), skip_broken)
    parsed = Parsed.from_skills(files_of_library(language, skills), files, language, skip_broken)
    cached = parsed.load()
    if cached is not None:
        library, read, sources = cached
        return Inputs(get_language(language), library, read, sources, *places, kept=parsed.path)
    from genie_dp.templates.run import Checker

    checker = Checker.recall(get_language(language), skills, files)
    try:
        inputs = checker.read_inputs(skip_broken=skip_broken)
    finally:
        checker.keep()
    # Python functions do not travel; what was skipped is to be told again.
    if not inputs.grammar.functions and not inputs.library.skipped:
        keep_library(inputs.library, skills, skip_broken=skip_broken)
        read = inputs.library, inputs.grammar, inputs.sources
        return replace(inputs, kept=parsed.keep(read, inputs.sources))
    return inputs


def inputs_of(library: Library, grammar: Sequence[Path] = ()) -> Inputs:
    """Return templates put together with a library that is already loaded.

    Raises:
        GenieError: mistakes in any of the files.
    """
    if library.paths:
        skip_broken = bool(library.skipped)
        return load_inputs(library.language, library.paths, grammar, skip_broken=skip_broken)
    return _put_together(library, tuple(grammar_files(grammar)))


def with_first_templates(library: Library) -> Inputs | None:
    """Return a tool library with the templates that an import generates; None of other libraries.

    Raises:
        GenieError: mistakes in the templates.
    """
    if not isinstance(library, ToolLibrary):
        return None
    from genie_dp.templates.cold_start import cold_start

    return inputs_of_texts(library, [MAIN], {MAIN: cold_start(library).text})


def template_texts(inputs: Inputs) -> tuple[list[str], dict[str, str]] | None:
    """Return the names of the template files of a grammar, and name -> text of all they import.

    Templates of skills are left out: they lie with the skills. Names are relative to the folder
    that all the files share. None of a grammar with Python functions, which do not travel.
    """
    if inputs.grammar.functions:
        return None
    grammar = inputs.grammar
    beside = files_of_templates(inputs.library, (), has_real=False)
    of_skills = {os.path.abspath(path) for path in beside}
    texts = {os.path.abspath(name): text for name, text in grammar.sources.items()}
    texts = {name: text for name, text in texts.items() if name not in of_skills}
    files = [os.path.abspath(path) for path in inputs.grammar_files]
    files += [name for name in texts if os.path.basename(name) == REAL and name not in files]
    folder = os.path.commonpath([os.path.dirname(name) for name in (*texts, *files)])
    short = {name: Path(os.path.relpath(name, folder)).as_posix() for name in (*texts, *files)}
    return [short[name] for name in files], {short[name]: text for name, text in texts.items()}


def inputs_of_texts(library: Library, files: Sequence[str], texts: Mapping[str, str]) -> Inputs:
    """Return templates from the texts that `template_texts` gave, put together with a library.

    Raises:
        GenieError: mistakes in any of them.
    """
    from genie_dp.templates.load import GrammarSources

    def read(path: Path | str, *, code: str) -> str:
        text = texts.get(str(path))
        return read_source(path, code=code) if text is None else text

    reading = GrammarSources(read=read, functions=lambda path, text: {})
    return _put_together(library, tuple(map(Path, files)), reading)


def _put_together(
    library: Library, files: tuple[Path, ...], reading: "GrammarSources | None" = None
) -> Inputs:
    from genie_dp.templates.check import errors_of
    from genie_dp.templates.load import read_grammar

    target = get_language(library.language)
    extra: Sequence[Any] = ()
    if isinstance(library, SkillLibrary):
        from genie_dp.skills.thingpedia import convert

        extra = convert(library).templates
    all_files = files_of_templates(library, files, has_real=bool(extra))
    read, problems = read_grammar(all_files, target, library, extra=extra, reading=reading)
    problems += errors_of(read, target, library)
    if problems:
        raise GenieError(problems, sources=read.sources)
    return Inputs(target, library, read, {**library.sources, **read.sources}, (), files)
