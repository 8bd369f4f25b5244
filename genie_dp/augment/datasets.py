r"""Lists that the user brings: `values.tsv`, and the parameter-datasets.tsv of the Genie toolkit.

A line of values.tsv names what the list is for, where it lies and, if need be, its column:

    song<TAB>lists/songs.tsv
    com.example:dish<TAB>https://example.com/menu.csv.gz<TAB>name
    @com.gmail.inbox:sender_name<TAB>people.txt

What it is for is a shipped kind, an entity type, a tag of `#[string_values=..]`, a parameter, or
the bare name of parameters. A line that begins with `string` or `entity` is one of Genie's:
`string|entity <TAB> [locale <TAB>] type <TAB> path`. Paths are relative to the file; `#` begins a
comment.

Codes of mistakes:

| A001 file that cannot be read | A002 wrong number of columns | A003 unknown name |
| A004 list that cannot be read | A005 unknown column | A006 list without values |
| A007 malformed list | A008 malformed weight | A009 name or value given twice |
| A010 text that is no UTF-8 |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from genie_dp.augment.datasets_lists import ReadList, read_list
from genie_dp.augment.lists import ValueList, kinds, value_list
from genie_dp.errors import GenieError, Problem, Severity, Span, did_you_mean
from genie_dp.run.files import is_url
from genie_dp.skills.model import Library
from genie_dp.texts import read_text

GENIE = ("string", "entity")
_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class OwnLists:
    """The lists that a user brought.

    Attributes:
        lists: what each is for -> the list.
        hashes: path or URL of a list -> the hash of its bytes, for the manifest.
        warnings: what does not stop anything.
        places: what a list is for -> the line that says so.
        sources: file -> text, to show where a mistake is.
        uses: text of the file that names the lists; None where there is no such file.
    """

    lists: Mapping[str, ValueList] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    places: Mapping[str, Span] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    uses: str | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that names a list: what for, where it lies, and in which form ("own" or Genie's)."""

    use: str
    path: str
    column: str | None
    form: str
    path_span: Span
    use_span: Span


def read_own_lists(path: Path | str, library: Library | None = None) -> OwnLists:
    """Return the lists that a file names.

    Args:
        path: a values.tsv, or a parameter-datasets.tsv of Genie.
        library: if given, names that neither it nor the package knows are mistakes.

    Raises:
        GenieError: all mistakes of the file and of the lists.
    """
    text = _text(path)
    sources = {str(path): text}
    lines, problems = _lines(text, str(path))
    if library is not None:
        problems += _unknown(lines, library)
    read = [
        read_list(_resolved(line.path, path), line.path_span, line.column, line.form)
        for line in lines
    ]
    for found in read:
        problems += found.problems
        sources |= found.sources
    problems.sort(key=lambda problem: _place(problem, str(path)))
    if any(problem.severity == "error" for problem in problems):
        raise GenieError(problems, sources=sources)
    return OwnLists(
        _joined(zip((line.use for line in lines), read, strict=True)),
        {found.name: found.hash for found in read},
        tuple(problems),
        {line.use: line.use_span for line in lines},
        sources,
        text,
    )


def _text(path: Path | str) -> str:
    try:
        return read_text(path, code="A010")
    except OSError as error:
        hint = "give a values.tsv: NAME<tab>PATH, one list a line"
        message = f"cannot read {path}: {error.strerror or error}"
        raise GenieError(Problem("A001", message, hint=hint)) from None


def _place(problem: Problem, first: str) -> tuple[bool, str, int, int]:
    """Return the order of a problem: those of the first file, then by file and place."""
    span = problem.span
    return (span.file != first, span.file, span.line, span.column) if span else (False, "", 0, 0)


def _joined(lists: Iterable[tuple[str, ReadList]]) -> dict[str, ValueList]:
    """Return the lists by what they are for; several for one name are put together."""
    texts: dict[str, list[str]] = {}
    weights: dict[str, list[float]] = {}
    names: dict[str, dict[str, None]] = {}
    for use, found in lists:
        texts.setdefault(use, []).extend(found.texts)
        weights.setdefault(use, []).extend(found.weights)
        names.setdefault(use, {})[found.name] = None
    known = kinds()
    return {
        use: value_list(" + ".join(names[use]), use if use in known else "", found, weights[use])
        for use, found in texts.items()
    }


def _resolved(path: str, manifest: Path | str) -> str:
    return path if is_url(path) else str(Path(manifest).parent / path)


# ------------------------------------------------------------------------------------ lines


def _lines(text: str, file: str) -> tuple[list[_Line], list[Problem]]:
    found: list[_Line] = []
    problems: list[Problem] = []
    for number, row in enumerate(text.split("\n"), start=1):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        cells = row.split("\t")
        spans = tuple(_spans(cells, number, file))
        if number == 1 and [cell.strip() for cell in cells[:2]] == ["name", "path"]:
            continue
        line = _genie(cells, spans) if cells[0].strip() in GENIE else _own(cells, spans)
        if isinstance(line, Problem):
            problems.append(line)
        elif line is not None:
            found.append(line)
    if not found and not any(p.severity == "error" for p in problems):
        place = Span(file, 1, 1, 1, 1)
        message = "expected a list in the file, got none"
        problems.append(Problem("A002", message, place, "a line is NAME<tab>PATH<tab>COLUMN"))
    return found, problems + list(_repeated(found))


def _spans(cells: Iterable[str], number: int, file: str) -> Iterator[Span]:
    column = 1
    for cell in cells:
        yield Span(file, number, column, number, column + len(cell))
        column += len(cell) + 1


def _own(cells: list[str], spans: tuple[Span, ...]) -> _Line | Problem:
    cells = [cell.strip() for cell in cells]
    if not 2 <= len(cells) <= 3 or not cells[0] or not cells[1]:
        message = f"expected a name, a path and, if need be, a column, got {len(cells)} cells"
        return Problem("A002", message, _whole(spans), "cells are separated by one tab")
    column = cells[2] if len(cells) == 3 and cells[2] else None
    return _Line(cells[0], cells[1], column, "own", spans[1], spans[0])


def _genie(cells: list[str], spans: tuple[Span, ...]) -> _Line | Problem | None:
    """Return one of Genie's lines; None for a language other than English."""
    cells = [cell.strip() for cell in cells]
    if not 3 <= len(cells) <= 4:
        wanted = f"{cells[0]}, a locale if need be, a type and a path"
        message = f"expected {wanted}, got {len(cells)} cells"
        return Problem("A002", message, _whole(spans), "cells are separated by one tab")
    if len(cells) == 4 and not cells[1].lower().startswith(_LANGUAGE):
        message = f"list for the locale {cells[1]!r} is left out"
        hint = f"sentences are in {_LANGUAGE}"
        return Problem("A002", message, spans[1], hint, severity="warning")
    return _Line(cells[-2], cells[-1], None, cells[0], spans[-1], spans[-2])


def _whole(spans: tuple[Span, ...]) -> Span:
    first, last = spans[0], spans[-1]
    return Span(first.file, first.line, first.column, last.end_line, last.end_column)


def _repeated(lines: Iterable[_Line]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if (line.use, line.path) in seen:
            message = f"the list {line.path} is given twice for {line.use}"
            hint = "delete this line"
            yield Problem("A009", message, line.use_span, hint, severity="warning")
        seen.add((line.use, line.path))


def _unknown(lines: Iterable[_Line], library: Library) -> Iterator[Problem]:
    """Yield the names that nothing in the library has; Genie's files list those of all skills."""
    known = _known(library)
    for line in lines:
        if line.use in known:
            continue
        what = "no skill has it" if line.form in GENIE else "neither a kind nor of the skills"
        hint = did_you_mean(line.use, known) or (
            "give a shipped kind, an entity type, a tag, or a parameter such as @com.x.f:name"
        )
        severity: Severity = "warning" if line.form in GENIE else "error"
        message = f"unknown name {line.use!r}: {what}"
        yield Problem("A003", message, line.use_span, hint, severity)


def _known(library: Library) -> set[str]:
    found = {*kinds(), *library.entity_types, *library.value_lists}
    for kind in kinds().values():
        found.update(kind.serves)
    for signature in library.functions():
        for parameter in signature.parameters:
            found |= {f"{signature.qualified}:{parameter.name}", parameter.name}
            if parameter.value_list is not None:
                found.add(parameter.value_list)
    return found
