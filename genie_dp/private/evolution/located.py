"""YAML whose values know where they stand, so that every mistake in a recipe has its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
            return {name: one.plain for name, (_, one) in self.value.items()}
        if isinstance(self.value, list):
            return [one.plain for one in self.value]
        return self.value


def read_located(path: Path) -> tuple[Located, dict[str, str]]:
    """Return the map of a YAML file, and its text by name, for errors.

    Raises:
        GenieError: U001, it is no map in YAML; U002, a name comes twice.
    """
    import yaml

    text = read_text(path, code="U001")
    sources = {str(path): text}
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        found = _located(node, loader, str(path)) if node is not None else None
    except yaml.MarkedYAMLError as error:
        span = _span(error.problem_mark, error.problem_mark, str(path))
        problem = Problem("U001", f"not YAML: {error.problem}", span, stage="syntax")
        raise GenieError(problem, sources=sources) from None
    except yaml.YAMLError as error:
        raise GenieError(Problem("U001", f"{path} is not YAML: {error}")) from None
    finally:
        loader.dispose()
    if found is None or not isinstance(found.value, dict):
        hint = "write a setting on each line, such as iterations: 5"
        raise GenieError(Problem("U001", f"{path}: expected settings by name", hint=hint))
    if problems := list(_twice(node, str(path))):
        raise GenieError(problems, sources=sources)
    return found, sources


def _located(node: Any, loader: Any, file: str) -> Located:
    import yaml

    span = _span(node.start_mark, node.end_mark, file)
    if isinstance(node, yaml.MappingNode):
        pairs = {
            str(loader.construct_object(key, deep=True)): (
                _span(key.start_mark, key.end_mark, file),
                _located(value, loader, file),
            )
            for key, value in node.value
        }
        return Located(pairs, span)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(one, loader, file) for one in node.value], span)
    return Located(loader.construct_object(node, deep=True), span)


def _span(start: Any, end: Any, file: str) -> Span:
    if start is None:
        return Span(file, 1, 1, 1, 2)
    return Span(file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _twice(node: Any, file: str) -> Iterator[Problem]:
    """Yield names that come twice in a map: YAML would take the last one, and say nothing."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _twice(one, file)
    if not isinstance(node, yaml.MappingNode):
        return
    met: set[str] = set()
    for key, value in node.value:
        if key.value in met:
            span = _span(key.start_mark, key.end_mark, file)
            yield Problem("U002", f"the setting {key.value!r} comes twice", span)
        met.add(key.value)
        yield from _twice(value, file)


def placed(error: GenieError, names: Mapping[str, Span], sources: Mapping[str, str]) -> GenieError:
    """Return an error whose problems stand where the settings do that their messages begin with."""
    from dataclasses import replace

    found = [
        replace(one, span=one.span or names.get(one.message.split(" ", 1)[0]))
        for one in error.problems
    ]
    return GenieError(found, sources={**sources, **error.sources})
