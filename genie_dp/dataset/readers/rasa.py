"""Rasa NLU training data."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from genie_dp.dataset.left import Left
from genie_dp.dataset.plain import unplain
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.intents import symbol
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.records import Example
from genie_dp.run.files import opened_text

_MARK = re.compile(r"\[([^\]]+)\](?:\(([^)]+)\)|(\{[^}]*\}))")


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield the examples of a file, which is read whole: rows of ours, or of other tools.

    Those of other tools have their intent with their entities as program:
    `(book_flight (to "new york"))`. Synonyms, lookups and regular expressions are left.
    """
    name = path.rsplit("/", 1)[-1]
    count = 0
    for entry in _entries(path):
        intent = str(entry.get("intent", ""))
        for text, metadata in _examples(entry.get("examples")):
            count += 1
            if "row" in metadata:
                try:
                    yield unplain(json.loads(metadata["row"]))
                except (TypeError, ValueError, RecursionError) as error:
                    message = f"no row in the metadata of {text!r}: {error}"
                    raise GenieError(Problem("D022", message, Span(path, 1, 1, 1, 2))) from None
            else:
                yield _foreign(f"{name}-{count}", intent, text)


def _entries(path: str) -> Iterator[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with opened_text(path) as text:
        try:
            found = yaml.load(text, loader)  # noqa: S506 - a safe loader
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            message = f"no YAML: {getattr(error, 'problem', error)}"
            span = Span(path, line, column, line, column + 1)
            raise GenieError(Problem("D023", message, span, stage="syntax")) from None
    if not isinstance(found, dict) or not isinstance(found.get("nlu") or [], list):
        span = Span(path, 1, 1, 1, 2)
        raise GenieError(Problem("D023", "expected a list under `nlu:`", span, stage="syntax"))
    return (e for e in found.get("nlu") or [] if isinstance(e, dict) and "intent" in e)


def _examples(found: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(found, str):
        for line in found.splitlines():
            if text := line.strip().removeprefix("-").strip():
                yield text, {}
    for item in found if isinstance(found, list) else ():
        if isinstance(item, dict):
            metadata = item.get("metadata")
            yield str(item.get("text", "")).strip(), metadata if isinstance(metadata, dict) else {}
        else:
            yield str(item).strip(), {}


def _foreign(id: str, intent: str, text: str) -> Example | Left:
    entities = []
    for match in _MARK.finditer(text):
        label, value = match[2] or "value", match[1]
        if match[3]:
            try:
                told = json.loads(match[3])
            except (ValueError, RecursionError):
                return Left(id, text, intent, "cannot be read", f"{match[3]} is no JSON")
            label, value = told.get("entity", label), told.get("value", value)
        elif ":" in label:
            label, _, value = label.partition(":")
        quoted = json.dumps(str(value), ensure_ascii=False)
        entities.append(f" ({symbol(str(label))} {quoted})")
    bare = _MARK.sub(lambda match: match[1], text)
    return expression_row(id, bare, f"({symbol(intent)}{''.join(entities)})")
