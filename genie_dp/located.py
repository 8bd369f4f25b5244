"""YAML and JSON whose values know where they stand: the one reader and writer of YAML.

PyYAML reads the syntax of YAML. The type of a plain scalar is decided here, by the core schema of
YAML 1.2 (section 10.3), as JSON and most tools have it: `on`, `no`, `12:00` and `2020-01-02` are
texts, `0o17` is a number. Merge keys (`<<`) are read, though they are of YAML 1.1 alone.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.texts import read_text

_DEEPEST = 200  # lists and maps in each other
_MOST_COPIED = 1_000_000  # values that aliases stand for; bombs have more

_CORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("null", re.compile(r"null|Null|NULL|~|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                         r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")),
)  # fmt: skip
_FIRST = frozenset("nN~tTfF+-.0123456789")
_LOOK_ABOVE = "a quote, a bracket, a colon or a space may be missing here, or in the lines above"
_TAG = "tag:yaml.org,2002:"

Place = tuple[str | int, ...]
"""Where something stands in a document: keys and indices."""


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

    @classmethod
    def of(cls, value: Any) -> "Located":
        """Return plain data as that of a file without a name."""
        nowhere = Span("", 1, 1, 1, 1)
        if isinstance(value, Mapping):
            return cls({name: (nowhere, cls.of(part)) for name, part in value.items()}, nowhere)
        if isinstance(value, list | tuple):
            return cls([cls.of(part) for part in value], nowhere)
        return cls(value, nowhere)

    def find(self, path: Place, *, is_value: bool = False) -> Span:
        """Return the place of a part: of one in a map, its name; else of its parent.

        Args:
            path: keys and indices from the top.
            is_value: whether the place of an entry of a map is that of the value.

        >>> str(read_yaml("a:\\n- b: 1", "x.yaml").find(("a", 0, "b", "c")))
        'x.yaml:2:3'
        """
        span, inner = self.span, self
        for step in path:
            if isinstance(inner.value, dict) and step in inner.value:
                span, inner = inner.value[str(step)]
                span = inner.span if is_value else span
            elif isinstance(inner.value, list) and step in range(len(inner.value)):
                inner = inner.value[int(step)]
                span = inner.span
            else:
                break
        return span


def read_located(path: Path, *, syntax: str, twice: str) -> tuple[Located, dict[str, str]]:
    """Return the map of a YAML file, and its text by name, for errors.

    Args:
        path: the file.
        syntax: code of YAML that is no map.
        twice: code of a name that comes twice.

    Raises:
        GenieError: `syntax` or `twice`.
    """
    text = read_text(path, code=syntax)
    settings = read_yaml(text, str(path), code=syntax, twice=twice)
    if settings is None or not isinstance(settings.value, dict):
        hint = "write a setting on each line, such as seed: 5"
        raise GenieError(Problem(syntax, f"{path}: expected settings by name", hint=hint))
    return settings, {str(path): text}


def read_yaml(text: str, file: str, *, code: str = "R081", twice: str = "") -> Located | None:
    r"""Return the value of a text in YAML, by the core schema of YAML 1.2; None of an empty one.

    Args:
        text: of the file.
        file: its name, for errors.
        code: of invalid YAML.
        twice: code of a name that comes twice in a map; "" for the same.

    Raises:
        GenieError: `code`, the text is no YAML; `twice`, all names that come twice.

    >>> read_yaml("state: [on, no, ~]\nat: 12:00\nmode: 0o17", "x.yaml").plain
    {'state': ['on', 'no', None], 'at': '12:00', 'mode': 15}
    """
    import yaml

    if character := yaml.reader.Reader.NON_PRINTABLE.search(text):
        message = f"not YAML: the character U+{ord(character.group()):04X}"
        problem = Problem(code, message, _span_at(text, character.start(), file),
                          "nobody sees it: delete it", stage="syntax")  # fmt: skip
        raise GenieError(problem, sources={file: text})
    builder = _DocumentBuilder(file, code, twice or code)
    try:
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        lines = text.split("\n")
        row = min(mark.line, len(lines) - 1)  # the end of a file may be a line of its own
        column = mark.column if row == mark.line else len(lines[row])
        is_tab = lines[row][column : column + 1] == "\t"
        problem = Problem(code, f"not YAML: {error.problem or error.context}",
                          Span(file, row + 1, column + 1, row + 1, column + 2),
                          "indent with spaces, not with tabs" if is_tab else _LOOK_ABOVE,
                          stage="syntax")  # fmt: skip
        raise GenieError(problem, sources={file: text}) from None
    except GenieError as error:
        raise GenieError(error.problems, sources={file: text}) from None
    if builder.problems:
        raise GenieError(builder.problems, sources={file: text})
    return builder.root


@dataclass(slots=True)
class _OpenCollection:
    """A list or a map that is read.

    Attributes:
        start: its first mark.
        anchor: its name for aliases, or None.
        is_map: whether it is a map.
        items: of a list.
        entries: of a map.
        merged: maps that are merged into it.
        key: of a map, the name whose value comes next, with its place.
        size: values in it, those of aliases written out.
    """

    start: Any
    anchor: str | None
    is_map: bool
    items: list[Located] = field(default_factory=list)
    entries: dict[str, tuple[Span, Located]] = field(default_factory=dict)
    merged: list[Located] = field(default_factory=list)
    key: tuple[str, Span, bool] | None = None
    size: int = 1


class _DocumentBuilder:
    """Makes values of the events of a YAML parser.

    Attributes:
        root: the value of the document, once it is read.
        problems: names that come twice in a map.
    """

    def __init__(self, file: str, code: str, twice: str):
        self.file, self.code, self.twice = file, code, twice
        self.root: Located | None = None
        self.problems: list[Problem] = []
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Located, int]] = {}
        self._copied = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        import yaml

        match event:
            case yaml.ScalarEvent():
                span = _span(event.start_mark, event.end_mark, self.file)
                self._add(Located(self._scalar(event, span), span), event, 1)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                is_map = isinstance(event, yaml.MappingStartEvent)
                self._check_tag(event, ("map", "set") if is_map else ("seq", "omap", "pairs"))
                if len(self._open) >= _DEEPEST:
                    self._refuse(f"more than {_DEEPEST} lists and maps in each other", event)
                self._anchors.pop(event.anchor or "", None)
                self._open.append(_OpenCollection(event.start_mark, event.anchor, is_map))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse("expected one document, found another", event,
                                 "put the documents into files of their own")  # fmt: skip

    def _refuse(self, message: str, event: Any, hint: str | None = None) -> None:
        span = _span(event.start_mark, event.end_mark, self.file)
        raise GenieError(Problem(self.code, f"not YAML that can be read: {message}", span, hint))

    def _check_tag(self, event: Any, known: tuple[str, ...]) -> None:
        if event.tag and event.tag != "!" and event.tag.removeprefix(_TAG) not in known:
            tag = event.tag.replace(_TAG, "!!")
            self._refuse(f"nothing is known of the tag {tag!r}", event, "write the value itself")

    def _scalar(self, event: Any, span: Span) -> Any:
        text: str = event.value
        if event.tag and event.tag != "!":
            self._check_tag(event, ("str", "timestamp", *(kind for kind, _ in _CORE)))
            kind = event.tag.removeprefix(_TAG)
            if kind in ("str", "timestamp"):
                return text
            number = kind == "float" and _kind_of(text) == "int"
            if _kind_of(text) != kind and not number:
                self._refuse(f"{text!r} is no {kind}", event)
            return float(text) if number else self._value(kind, text, event)
        if event.tag or not event.implicit[0]:
            return text
        return self._value(_kind_of(text), text, event)

    def _value(self, kind: str, text: str, event: Any) -> Any:
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                base = {"0o": 8, "0x": 16}.get(text[:2], 10)
                try:
                    return int(text[2:] if base != 10 else text, base)
                except ValueError:  # of more than 4,300 digits
                    self._refuse("a number of too many digits", event, "quote it, if it is a text")
            case "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return text

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            is_open = any(outer.anchor == event.anchor for outer in self._open)
            reason = "holds itself" if is_open else "is not there"
            self._refuse(f"the anchor {event.anchor!r} {reason}", event, "write the value out")
        anchored, size = self._anchors[event.anchor]
        self._copied += size
        if self._copied > _MOST_COPIED:
            self._refuse(f"aliases stand for more than {_MOST_COPIED:,} values", event)
        self._add(anchored, event, size)

    def _close(self, event: Any) -> None:
        done = self._open.pop()
        for others in done.merged:  # the first of several comes before the others
            for name, entry in others.value.items():
                done.entries.setdefault(name, entry)
        span = _span(done.start, event.end_mark, self.file)
        located = Located(done.entries if done.is_map else done.items, span)
        event.anchor = done.anchor
        self._add(located, event, done.size)

    def _add(self, value: Located, event: Any, size: int) -> None:
        """Put a value where it belongs: as the document, an item, a name or the value of one."""
        import yaml

        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self._anchors[event.anchor] = (value, size)
        if not self._open:
            self.root = value
            return
        outer = self._open[-1]
        outer.size += size
        if not outer.is_map:
            outer.items.append(value)
        elif outer.key is None:
            outer.key = self._key(value, event)
        else:
            name, span, is_merge = outer.key
            outer.key = None
            if is_merge:
                outer.merged += self._to_merge(value, event)
            elif name in outer.entries:
                first = outer.entries[name][0].line
                message = f"{name!r} comes twice, first on line {first}"
                hint = "leave one out, or put both together"
                self.problems.append(Problem(self.twice, message, span, hint))
            else:
                outer.entries[name] = (span, value)

    def _key(self, value: Located, event: Any) -> tuple[str, Span, bool]:
        """Return a name as it is written, its place, and whether it merges other maps."""
        import yaml

        if isinstance(value.value, dict | list):
            self._refuse("expected a text as a name, got a list or a map", event)
        if isinstance(event, yaml.ScalarEvent):
            return event.value, value.span, event.value == "<<" and event.implicit[0]
        return str(value.value), value.span, False

    def _to_merge(self, value: Located, event: Any) -> list[Located]:
        maps = value.value if isinstance(value.value, list) else [value]
        if not all(isinstance(item.value, dict) for item in maps):
            self._refuse("expected a map, or a list of maps, after <<", event)
        return maps


def _kind_of(text: str) -> str:
    """Return the value of a plain scalar by the core schema of YAML 1.2.

    >>> [_kind_of(text) for text in ("", "no", "True", "1_000", "012", "0x1F", "1e3", "12:00")]
    ['null', 'str', 'bool', 'str', 'int', 'int', 'float', 'str']
    """
    if not text or text[0] in _FIRST:
        for kind, pattern in _CORE:
            if pattern.fullmatch(text):
                return kind
    return "str"


def as_yaml(value: Any) -> str:
    """Return a value of maps, lists and scalars as YAML, which reads as the same.

    >>> print(as_yaml({"seed": 5, "as texts": ["no", "1e3", "0o17"]}), end="")
    seed: 5
    as texts:
    - 'no'
    - '1e3'
    - '0o17'
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes scalars that YAML 1.1 or YAML 1.2 reads as another value."""

    for kind, pattern in _CORE:
        whole = re.compile(rf"^(?:{pattern.pattern})$")
        Dumper.add_implicit_resolver(_TAG + kind, whole, None)
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True)


def find_place(text: str, file: str, path: Place) -> Span | None:
    """Return the place of a part of a YAML or JSON file, or of its nearest parent.

    Args:
        text: of the file; None comes back for one that cannot be read.
        file: its name.
        path: of the part.

    >>> str(find_place('{"a": [1, {"b": 2}]}', "x.json", ("a", 1, "b", "c")))
    'x.json:1:12'
    """
    places = _places_in(text, file)
    if isinstance(places, Located):
        return places.find(path)
    return next((places[path[:end]] for end in range(len(path), -1, -1) if path[:end] in places),
                None)  # fmt: skip


@lru_cache(maxsize=2)  # of the file whose mistakes are shown
def _places_in(text: str, file: str) -> Located | dict[Place, Span]:
    if not file.endswith((".yaml", ".yml")):
        return places_of(text, file)
    try:
        return read_yaml(text, file) or {}
    except GenieError:
        return {}


# ------------------------------------------------------------------------------------- JSON


def read_json(
    text: str, file: str, *, code: str = "R081", hint: str | None = None, exact: bool = False
) -> Any:
    """Return the value of a text in JSON.

    Args:
        text: of the file.
        file: its name, for errors.
        code: of invalid JSON, and of names that come twice in an object.
        hint: the correct form.
        exact: whether numbers with a point keep their digits, as Decimal.

    Raises:
        GenieError: `code`, with the place.

    >>> read_json('{"a": [1, 0.10]}', "x.json", exact=True)
    {'a': [1, Decimal('0.10')]}
    """
    has_twice = False

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal has_twice
        entries = dict(pairs)
        has_twice = has_twice or len(entries) < len(pairs)
        return entries

    position, message, advice = 0, "brackets too deep in each other", "take levels out"
    try:
        value = json.loads(text, parse_float=Decimal if exact else None,
                           parse_constant=_refuse_constant, object_pairs_hook=mapping)  # fmt: skip
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except RecursionError:
        pass
    except json.JSONDecodeError as error:
        position, message = error.pos, error.msg
        advice = f"see what is wrong with it: python -m json.tool {file}"
    except UnicodeEncodeError:
        half = _SURROGATE.search(text)
        position, message = half.start() if half else 0, "a character of which one half is missing"
        advice = "write the character itself"
    except ValueError as error:
        wrong = _NO_NUMBER.search(text)
        position = wrong.start() if wrong else 0
        message = f"{error}" if "JSON" in str(error) else "a number of too many digits"
        advice = "quote it, if it is a text"
    else:
        if has_twice:
            raise GenieError([*_twice(text, file, code)], sources={file: text})
        return value
    span = _span_at(text, position, file)
    problem = Problem(code, f"not JSON: {message}", span, hint or advice, stage="syntax")
    raise GenieError(problem, sources={file: text})


_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_NO_NUMBER = re.compile(r"NaN|-?Infinity|[0-9]{4301}")


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


_JSON = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>[\[\]{},:])|(?P<atom>[^\s\[\]{},:"]+)')


def places_of(text: str, file: str) -> dict[Place, Span]:
    """Return where each value of a JSON text stands; of one in an object, its key.

    >>> places = places_of('{"a": [1, {"b": 2}]}', "x.json")
    >>> str(places["a", 1, "b"])
    'x.json:1:12'
    """
    places: dict[Place, Span] = {}
    for path, span, _ in _walk_json(text, file):
        places.setdefault(path, span)
    return places


def _twice(text: str, file: str, code: str) -> Iterator[Problem]:
    """Yield the names that come twice in an object."""
    first: dict[Place, Span] = {}
    repeated: set[Place] = set()
    for path, span, is_key in _walk_json(text, file):
        if is_key and path in first and not any(path[:i] in repeated for i in range(len(path))):
            message = f"{path[-1]!r} comes twice, first on line {first[path].line}"
            hint = "leave one out, or put both together"
            yield Problem(code, message, span, hint)
            repeated.add(path)
        elif is_key:
            first.setdefault(path, span)


def _walk_json(text: str, file: str) -> Iterator[tuple[Place, Span, bool]]:
    """Yield the path and the place of each value and each key, and whether it is a key."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    path: list[str | int] = []
    is_key: list[bool] = []  # for each open bracket, whether a key comes next; lists have none
    kinds: list[str] = []
    row = 0
    for match in _JSON.finditer(text):
        while row + 1 < len(starts) and starts[row + 1] <= match.start():
            row += 1
        column = match.start() - starts[row] + 1
        span = Span(file, row + 1, column, row + 1, column + len(match[0]))
        sign = match["sign"]
        if sign in ("[", "{"):
            yield tuple(path), span, False
            kinds.append(sign)
            is_key.append(sign == "{")
            path.append(0 if sign == "[" else "")
        elif sign in ("]", "}"):
            if not kinds:
                break
            kinds.pop()
            is_key.pop()
            path.pop()
        elif sign == ",":
            if kinds and kinds[-1] == "[":
                path[-1] = int(path[-1]) + 1
            elif kinds:
                is_key[-1] = True
        elif sign is None and kinds and is_key[-1]:
            path[-1], is_key[-1] = json.loads(match[0], strict=False), False
            yield tuple(path), span, True
        elif sign is None:
            yield tuple(path), span, False


def _span(start: Any, end: Any, file: str) -> Span:
    return Span(file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _span_at(text: str, position: int, file: str) -> Span:
    before = text[:position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return Span(file, line, column, line, column + 1)


def place_problems(
    error: GenieError, content: Located, sources: Mapping[str, str], *, without: Container[str] = ()
) -> GenieError:
    """Return an error whose problems stand where their settings do.

    Args:
        error: of a config that was made of the content.
        content: a map.
        sources: text of its file, by name.
        without: settings that were given elsewhere, and stand nowhere in the file.
    """
    problems = [
        replace(problem, span=content.find(problem.setting, is_value=True))
        if problem.span is None and problem.setting
        and problem.setting[0] in content.value and problem.setting[0] not in without
        else problem
        for problem in error.problems
    ]  # fmt: skip
    return GenieError(problems, sources={**sources, **error.sources})
