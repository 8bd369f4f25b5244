"""Descriptions of skills by other tools: the source that is named, and the files made of it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.library import Library, Skipped
from genie_dp.locale import DEFAULT
from genie_dp.located import Place, find_place, read_json, read_yaml
from genie_dp.templates.review import Note
from genie_dp.texts import read_text

YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ImportSource:
    """Something to import, as a person names it: a file, a folder, a URL or a command.

    Attributes:
        given: its words.
        locale: the language of the sentences, where a source has several.
        skip_broken: leave parts with mistakes out, and name them.
        only: patterns of names of tools and intents that are taken; all if there is none.
        without: patterns of those that are left out.
    """

    given: str
    locale: str = DEFAULT
    skip_broken: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    _read: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def path(self) -> Path | None:
        """Return the file or folder; None for other sources."""
        return Path(self.given) if Path(self.given).exists() else None

    @property
    def is_url(self) -> bool:
        """Return whether it is an address of the web."""
        return self.given.startswith(("http://", "https://"))

    def chosen(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of some names are asked for.

        >>> sorted(ImportSource("", only=("todo_*",), without=("*_delete",)).chosen(
        ...     ["todo_add", "todo_delete", "note_add"]))
        ['todo_add']

        Raises:
            GenieError: R088, a pattern fits none of them.
        """
        pool = frozenset(names)
        for pattern in (*self.only, *self.without):
            if not any(fnmatchcase(name, pattern) for name in pool):
                hint = did_you_mean(pattern, pool) or f"names are {', '.join(sorted(pool)[:20])}"
                raise GenieError(Problem("R088", f"no tool is called {pattern!r}", hint=hint))
        return frozenset(
            name
            for name in pool
            if not any(fnmatchcase(name, pattern) for pattern in self.without)
            and (not self.only or any(fnmatchcase(name, pattern) for pattern in self.only))
        )

    def text(self) -> str:
        """Return the text of a file; "" for other sources."""
        path = self.path
        if path is None or not path.is_file():
            return ""
        if "text" not in self._read:
            self._read["text"] = read_text(path)
        text: str = self._read["text"]
        return text

    def document(self) -> Any:
        """Return the contents of a file in JSON or YAML; None for other sources.

        Raises:
            GenieError: R081, it is neither.
        """
        path = self.path
        if path is None or path.suffix not in (".json", *YAML):
            return None
        if "document" not in self._read:
            if path.suffix in YAML:
                located = read_yaml(self.text(), str(path))
                self._read["document"] = None if located is None else located.plain
            else:
                self._read["document"] = read_json(self.text(), str(path))
        return self._read["document"]

    def span_of(self, place: Place) -> Span | None:
        """Return the place of a part of the document, or of its nearest parent."""
        if self.document() is None:
            return None
        return find_place(self.text(), self.given, place)


@dataclass(frozen=True, slots=True)
class FoundTools:
    """The tools of a document.

    Attributes:
        document: JSON that the reader of tools takes: `tools`, and the referenced schemas.
        notes: in the order of the document.
        places: place of each tool in the source, by name; empty where it has a name there.
        moved: place of a part of `document` in the source, if that differs.
        unnamed: tools whose names are made up, since the source gives them none.
    """

    document: Any
    notes: tuple[Note, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    moved: Mapping[Place, Place] = field(default_factory=dict)
    unnamed: frozenset[str] = frozenset()

    def place_of(self, path: Place) -> Place:
        """Return the place of a part of `document` in the source."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.moved:
                return (*self.moved[path[:end]], *path[end:])
        return path


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        files: name -> text, in the folder that is written. REVIEW.md is made of the notes, and
            genie.yaml of `skills` and `grammar`.
        notes: in the order of the source.
        skills, grammar: the names of the library's and the templates' files.
        counts: kind -> count, such as {"tools": 12}, to be shown.
        eval: the name of a file of sentences with their programs; "" where there is none.
        locale: language of the sentences.
        skipped: tools that are left out, since they have mistakes.
        warnings: parts of their schemas that are not checked.
    """

    files: Mapping[str, str]
    notes: tuple[Note, ...]
    skills: str = "tools.json"
    grammar: str = "main.genie"
    counts: Mapping[str, int] = field(default_factory=dict)
    eval: str = ""
    locale: str = DEFAULT
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[Problem, ...] = ()


def tools_text(
    tools: Sequence[Mapping[str, Any]], entities: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return a file of tools, with the known names of each kind of entity."""
    whole = {"entities": entities, "tools": tools} if entities else {"tools": tools}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def program_of(call: Mapping[str, Any], library: Library) -> tuple[str, str]:
    """Return the program of a call, or "" and the reason why it is none."""
    language = get_language(library.language)
    try:
        program = language.canonical(language.parse(json.dumps(call)), library)
        problems = language.check(program, library)
    except GenieError as error:
        problems = list(error.problems)
    return ("", problems[0].message) if problems else (language.tokens(program, library), "")


def rows_text(rows: Iterable[tuple[str, str]]) -> str:
    """Return eval.tsv of sentences with their programs."""
    return "".join(f"E{i}\t{text}\t{program}\n" for i, (text, program) in enumerate(rows, 1))
