"""YAML whose values know where they stand, so that every mistake in a recipe has its place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.texts import read_text


@dataclass(frozen=True, slots=True)
class Located:
    """A value of YAML and its place.

    Attributes:
        value: a scalar, a list of Located, or a map of names to (place of the name, Located).
        span: where it stands.
    """

    value: Any
    span: Span

    @property
    def plain(self) -> Any:
        """Return the value as YAML means it."""
        if isinstance(self.value, dict):
            return {name: located.plain for name, (_, located) in self.value.items()}
        if isinstance(self.value, list):
            return [located.plain for located in self.value]
        return self.value


def read_located(path: Path, *, syntax: str, twice: str) -> tuple[Located, dict[str, str]]:
    """Return the map of a YAML file, and its text by name, for errors.

    Args:
        syntax: code of what is no map in YAML.
        twice: code of a name that comes twice.

    Raises:
        GenieError: `syntax` or `twice`.
    """
    import yaml

    text = read_text(path, code=syntax)
    sources = {str(path): text}
    try:
        settings, problems = _compose(text, str(path), twice)
    except yaml.MarkedYAMLError as error:
        span = _span(error.problem_mark, error.problem_mark, str(path))
        problem = Problem(syntax, f"not YAML: {error.problem}", span, stage="syntax")
        raise GenieError(problem, sources=sources) from None
    except yaml.reader.ReaderError as error:
        message = f"not YAML: the character U+{error.character:04X}"
        span = _span_at(text, error.position, str(path))
        raise GenieError(Problem(syntax, message, span, stage="syntax"), sources=sources) from None
    if settings is None or not isinstance(settings.value, dict):
        hint = "write a setting on each line, such as seed: 5"
        raise GenieError(Problem(syntax, f"{path}: expected settings by name", hint=hint))
    if problems:
        raise GenieError(problems, sources=sources)
    return settings, sources


def _compose(text: str, file: str, twice: str) -> tuple[Located | None, list[Problem]]:
    """Return the value of a text, None of an empty one; and what comes twice in it."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        reader = _YamlReader(loader, file, twice)
        node = loader.get_single_node()
        return (None if node is None else reader.read(node)), reader.problems
    finally:
        loader.dispose()


class _YamlReader:
    """Makes values of the nodes of YAML.

    Attributes:
        problems: names that come twice in a map: YAML would take the last one, and say nothing.
    """

    def __init__(self, loader: Any, file: str, twice: str):
        self.problems: list[Problem] = []
        self._loader, self._file, self._twice = loader, file, twice
        self._seen: set[int] = set()

    def read(self, node: Any, inside: tuple[Any, ...] = ()) -> Located:
        """Return the value of a node inside others, the outermost first."""
        import yaml

        if any(node is outer for outer in inside):
            message = "found a value that holds itself"
            raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
        span = _span(node.start_mark, node.end_mark, self._file)
        within = (*inside, node)
        if isinstance(node, yaml.MappingNode):
            self._prepare(node)
            return Located(dict(self._pair(key, value, within) for key, value in node.value), span)
        if isinstance(node, yaml.SequenceNode):
            return Located([self.read(item, within) for item in node.value], span)
        try:
            return Located(self._loader.construct_object(node, deep=True), span)
        except ValueError as error:  # a day that there is not, a number of too many digits
            raise yaml.constructor.ConstructorError(
                None, None, str(error), node.start_mark
            ) from None

    def _pair(
        self, key: Any, value: Any, inside: tuple[Any, ...]
    ) -> tuple[str, tuple[Span, Located]]:
        name = str(self._loader.construct_object(key, deep=True))
        span = _span(key.start_mark, key.end_mark, self._file)
        return name, (span, self.read(value, inside))

    def _prepare(self, node: Any) -> None:
        """Note what comes twice in a map, then put those in that it merges (<<)."""
        if id(node) in self._seen:  # an alias; what was merged into it may be in it twice
            return
        self._seen.add(id(node))
        names: set[str] = set()
        for key, _ in node.value:
            if key.value in names:
                span = _span(key.start_mark, key.end_mark, self._file)
                message = f"the setting {key.value!r} comes twice"
                self.problems.append(Problem(self._twice, message, span))
            if isinstance(key.value, str):
                names.add(key.value)
        self._loader.flatten_mapping(node)


def _span(start: Any, end: Any, file: str) -> Span:
    if start is None:
        return Span(file, 1, 1, 1, 2)
    return Span(file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _span_at(text: str, position: int, file: str) -> Span:
    before = text[:position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Span(file, line, column, line, column + 1)


def place_problems(
    error: GenieError, names: Mapping[str, Span], sources: Mapping[str, str]
) -> GenieError:
    """Return an error whose problems stand where the settings do that their messages begin with."""
    problems = [
        replace(problem, span=problem.span or names.get(problem.message.split(" ", 1)[0]))
        for problem in error.problems
    ]
    return GenieError(problems, sources={**sources, **error.sources})
