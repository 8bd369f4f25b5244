"""Settings of stages: each with its help, range and default, in frozen dataclasses and in YAML."""

import dataclasses
import inspect
import math
import re
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, TypeVar

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.located import Located, Place, as_yaml

Config = TypeVar("Config")
Function = TypeVar("Function", bound=Callable[..., Any])
_UNIONS = (types.UnionType, typing.Union)
# Kinds of values that are settings of how a stage works, and none of what it works on.
_NO_INPUT = (
    "", "flag", "text", "skills", "locale", "weights", "file of settings", "folder of settings",
)  # fmt: skip
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Setting:
    """The description and the constraints of one field of a config.

    Attributes:
        help: a sentence for people.
        least, above, most, below: the range of a number, or of each number of a mapping.
        choices: all values that a text may have; empty for any.
        metavar: what stands for the value in a command's help.
        option: name of the command's option, where that is not the field's own; None where its
            config adds none to a command.
        value: kind of the value for a command: "file", "folder", "new folder", "text", "skills",
            "flag" for an option that negates the default, or a group of options that give one
            value, such as "library" (`cli.stage`). "" for the kind that follows from the type.
        is_argument: whether a command takes it by its place.
        parse: reads a value, or one of several, from its text.
        of_project: whether a command takes it from the genie.yaml above, where it is not given.
    """

    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str = ""
    below: float | None = None
    option: str | None = ""
    value: str = ""
    is_argument: bool = False
    parse: Callable[[str], Any] | None = None
    of_project: bool = False

    @property
    def is_input(self) -> bool:
        """Return whether it is an input of a stage, and no setting of how it works."""
        return self.is_argument or self.value not in _NO_INPUT

    def unmet_by(self, value: Any) -> str | None:
        """Return a description of the values that are expected, or None for such a value."""
        if self.choices:
            return None if value in self.choices else f"one of {', '.join(self.choices)}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        fits_in = (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )
        return None if fits_in else self.range

    @property
    def range(self) -> str:
        """Return the range in words.

        >>> Setting("", least=0, most=1).range, Setting("", above=0).range
        ('a number of at least 0 and at most 1', 'a number above 0')
        """
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (
                ("of at least", self.least), ("above", self.above), ("at most", self.most),
                ("below", self.below),
            )
            if bound is not None
        ]  # fmt: skip
        return "a number " + " and ".join(bounds) if bounds else "a finite number"


def parse_pair(example: str, kind: Callable[[str], Any] = str) -> Callable[[str], tuple[str, Any]]:
    """Return a `Setting.parse` of NAME=VALUE; messages show the example.

    >>> parse_pair("pi=0.5", float)("strict=0.8")
    ('strict', 0.8)
    """

    def parse(text: str) -> tuple[str, Any]:
        name, _, value = text.partition("=")
        try:
            if name and value:
                return name, kind(value)
        except ValueError:
            pass
        raise GenieError(Problem("R040", f"expected {example}, got {text!r}"))

    return parse


REQUIRED = dataclasses.MISSING
"""The default of a setting that has none."""


def setting(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of a config or stage; see `Setting` for the arguments beside the default."""
    metadata = {"setting": Setting(help, **facts)}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def settings_of(kind: type) -> dict[str, Setting]:
    """Return the settings of a config by name; fields that are none are left out."""
    return {f.name: f.metadata["setting"] for f in fields(kind) if "setting" in f.metadata}


def check_settings(config: Any) -> None:
    """Refuse values that a config's settings do not allow.

    Raises:
        GenieError: all of them (R040).
    """
    if problems := list(setting_problems(config, code="R040")):
        raise GenieError(problems)


def setting_problems(config: Any, *, code: str) -> Iterator[Problem]:
    """Yield the mistakes in a config's settings, and in those of configs that are its settings."""
    for name, allowed in settings_of(type(config)).items():
        value = getattr(config, name)
        if dataclasses.is_dataclass(value) and not allowed.is_input:
            for problem in setting_problems(value, code=code):
                message, place = f"{name}: {problem.message}", (name, *problem.setting)
                yield dataclasses.replace(problem, message=message, setting=place)
            continue
        if isinstance(value, Mapping) and allowed.is_input:
            continue  # others check what it holds
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        if isinstance(value, tuple):
            parts = [("", item) for item in value]
        for part, item in parts:
            expected = None if item is None else allowed.unmet_by(item)
            if expected:
                label = f"{name} of {part}" if part else name
                hint = did_you_mean(str(item), allowed.choices) if allowed.choices else None
                message = f"{label}: expected {expected}, got {item!r}"
                setting = (name, part) if part else (name,)
                yield Problem(code, message, hint=hint, setting=setting)


def config_of(kind: type[Config], settings: Mapping[str, Any]) -> Config:
    """Return a config of these settings.

    Raises:
        GenieError: R043, it has no such setting; R040, a value of another kind; whatever the config
            itself refuses.
    """
    check_names(kind, settings, without=inputs_in(kind))
    frozen = frozen_settings(kind, settings)
    check_kinds(kind, frozen)
    return kind(**frozen)


def check_kinds(kind: type, frozen: Mapping[str, Any]) -> None:
    """Refuse values that are of another kind than a config's fields (R040).

    A number of numpy is a number; texts and paths stand for each other.
    """
    hints = typing.get_type_hints(kind)
    problems = []
    for name, value in frozen.items():
        plain = value.item() if hasattr(value, "item") else value
        if not any(fits(_with_names(plain, as_), hints[name]) for as_ in (str, Path)):
            message = f"{name}: expected {kind_in_words(hints[name])}, got {value!r}"
            is_number = isinstance(value, str) and _NUMBER.fullmatch(value)
            hint = f"without quotes: {name}={value}" if is_number else None
            problems.append(Problem("R040", message, hint=hint, setting=(name,)))
    if problems:
        raise GenieError(problems)


def is_required(field: "dataclasses.Field[Any]") -> bool:
    """Return whether a field has no default."""
    return field.default is REQUIRED and field.default_factory is REQUIRED


def inputs_in(kind: type) -> list[str]:
    """Return the fields of a stage that are its inputs."""
    return [name for name, allowed in settings_of(kind).items() if allowed.is_input]


def check_names(kind: type, settings: Mapping[str, Any], *, without: Collection[str] = ()) -> None:
    """Refuse settings that a config has not, or those that are given otherwise (R043)."""
    names = [field.name for field in fields(kind) if field.name not in without]
    label = getattr(kind, "command", kind.__name__)
    problems = [
        Problem(
            "R043", f"{label} has no setting {name!r}", hint=did_you_mean(name, names),
            setting=(name,),
        )
        for name in settings
        if name not in names
    ]  # fmt: skip
    if problems:
        raise GenieError(problems)


def frozen_settings(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as a config holds them: where it has several values, one alone is taken."""
    hints = typing.get_type_hints(kind)
    return {name: _frozen(value, hints[name]) for name, value in settings.items()}


def _with_names(value: Any, as_: type[str | Path]) -> Any:
    """Return a value whose texts and paths are all of one of the two."""
    if isinstance(value, tuple):
        return tuple(_with_names(item, as_) for item in value)
    return as_(value) if isinstance(value, str | PurePath) else value


def _frozen(value: Any, hint: Any) -> Any:
    """Return a list as a tuple, and so one text where several may be: it is not read by letters."""
    if isinstance(value, str | PurePath) and typing.get_origin(hint) is tuple:
        return (value,)
    return tuple(value) if isinstance(value, list | set) else value


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value of YAML is of the kind of a field.

    >>> fits(3, float), fits(3.5, int), fits(True, int), fits(None, str | None)
    (True, False, False, True)
    >>> fits(["a", 3], tuple[str, ...]), fits({"a": 0.5}, Mapping[str, float])
    (False, True)
    """
    if typing.get_origin(kind) in _UNIONS:
        return any(fits(value, choice) for choice in typing.get_args(kind))
    if kind is None or kind is type(None):
        return value is None
    if kind is Any:
        return True
    if kind in (int, float):
        numbers = int | float if kind is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, kind) if typing.get_origin(kind) is None else _fits_all(value, kind)


def _fits_all(value: Any, kind: Any) -> bool:
    """Return whether a value is one of a choice, or all parts of it are of their kind."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple:
        # Dataclasses are read, or parsed, one by one.
        is_read_apart = dataclasses.is_dataclass(inner[0])
        return isinstance(value, list | tuple) and (
            is_read_apart or all(fits(item, inner[0]) for item in value)
        )
    return isinstance(value, dict) and all(fits(item, inner[1]) for item in value.values())


def kind_in_words(kind: Any) -> str:
    """Return the kind of a field in words.

    >>> kind_in_words(float | None), kind_in_words(tuple[str, ...])
    ('a number', 'a list of texts')
    >>> kind_in_words(Mapping[str, float])
    'numbers by name'
    """
    if typing.get_origin(kind) in _UNIONS:
        return " or ".join(
            kind_in_words(choice) for choice in typing.get_args(kind) if choice is not type(None)
        )
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    if kind in names:
        return names[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, inner))
    if origin is tuple:
        return "a list of texts" if inner[0] is str else "a list"
    return "numbers by name" if origin and inner[1] is float else "settings by name"


# ------------------------------------------------------------------------------------ reading


def read_settings(
    kind: type,
    content: Located,
    *,
    code: str,
    sources: Mapping[str, str] | None = None,
    path: Place = (),
) -> dict[str, Any]:
    """Return the settings of a config that a map has, by name.

    A setting may be a config itself: a map, or one text in place of its first field. Where there
    are several, their field `kind` distinguishes them, and a text is that kind. Nested configs are
    made, the outer one is not: settings may be put before those that were read.

    Args:
        kind: the config.
        content: a map, of a file or of plain data (`Located.of`).
        code: of the mistakes.
        sources: text of the file, by name.
        path: where the map stands, for messages.

    Raises:
        GenieError: `code`, all names that are no settings, and all values of another kind, at their
            places; whatever nested configs refuse.
    """
    reader = _SettingsReader(code)
    settings = reader.read(kind, content, path)
    if reader.problems:
        raise GenieError(reader.problems, sources=sources)
    return settings


class _SettingsReader:
    """Reads settings and gathers all mistakes; `path` is where in the content a part stands."""

    def __init__(self, code: str):
        self.code = code
        self.problems: list[Problem] = []

    def read(self, kind: type, content: Located, path: Place = ()) -> dict[str, Any]:
        hints = typing.get_type_hints(kind)
        settings = {}
        for name, (span, value) in content.value.items():
            place = (*path, name)
            if name in hints:
                settings[name] = self._value(hints[name], value, place)
            else:
                hint = did_you_mean(str(name), hints) or f"settings: {', '.join(hints)}"
                self._refuse(f"{_prefix(path)}unknown setting {name!r}", span, place, hint)
        return settings

    def _value(self, hint: Any, value: Located, path: Place) -> Any:
        """Return a value as its field has it; None for one that is wrong."""
        alternatives = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
        configs = [kind for kind in alternatives if dataclasses.is_dataclass(kind)]
        if configs and not (value.value is None and type(None) in alternatives):
            return self._config(configs, value, path)
        inner = typing.get_args(hint)
        is_list = typing.get_origin(hint) is tuple and isinstance(value.value, list)
        if is_list and dataclasses.is_dataclass(inner[0]):
            items = enumerate(value.value)
            return tuple(self._config([inner[0]], item, (*path, i)) for i, item in items)
        if not fits(value.plain, hint):
            self._refuse_value(kind_in_words(hint), value, path)
        return _frozen(value.plain, hint)

    def _config(self, kinds: Sequence[Any], value: Located, path: Place) -> Any:
        """Return a config of one of several kinds; None for one that is wrong."""
        before = len(self.problems)
        names = [f.name for f in fields(kinds[0])]
        first = "kind" if "kind" in names else names[0]
        if isinstance(value.value, str):
            value = Located({first: (value.span, value)}, value.span)
        if not isinstance(value.value, dict):
            self._refuse_value(f"settings by name, or a {first}", value, path)
            return None
        kind = kinds[0] if len(kinds) == 1 else self._kind(kinds, value, path)
        if kind is None:
            return None
        settings = self.read(kind, value, path)
        missing = [f.name for f in fields(kind) if is_required(f) and f.name not in settings]
        if missing and len(self.problems) == before:
            self._refuse_value(f"a {missing[0]}", value, path)
        if len(self.problems) > before:
            return None
        try:
            return kind(**settings)
        except GenieError as error:
            for problem in error.problems:
                place = (*path, *problem.setting)
                span = value.find(problem.setting, is_value=True)
                self._refuse(f"{_prefix(path)}{problem.message}", span, place, problem.hint)
            return None

    def _kind(self, kinds: Sequence[Any], value: Located, path: Place) -> Any:
        """Return the config whose `kind` a map names, the first one where it names none."""
        by_name = {str(f.default): kind for kind in kinds for f in fields(kind) if f.name == "kind"}
        default = Located(next(iter(by_name)), value.span)
        _, named = value.value.get("kind", (value.span, default))
        if named.plain not in by_name:
            hint = did_you_mean(str(named.plain), by_name) or f"kinds: {', '.join(by_name)}"
            message = f"{_prefix(path)}there is no kind {named.plain!r}"
            self._refuse(message, named.span, (*path, "kind"), hint)
            return None
        return by_name[named.plain]

    def _refuse_value(self, expected: str, value: Located, path: Place) -> None:
        message = f"{_prefix(path)}expected {expected}, got {value.plain!r}"
        self._refuse(message, value.span, path)

    def _refuse(self, message: str, span: Span, path: Place, hint: str | None = None) -> None:
        place = span if span.file else None
        self.problems.append(Problem(self.code, message, place, hint, setting=path))


def _prefix(path: Place) -> str:
    """Return how a message about a setting begins.

    >>> _prefix(("inputs", 0, "source"))
    'inputs: 1: source: '
    """
    return "".join(f"{step + 1 if isinstance(step, int) else step}: " for step in path)


# ------------------------------------------------------------------------------------ help

_SETTINGS_LINE = re.compile(r"(?m)^( *)settings: .*(?:\n\1    .*)*\n")


def takes_settings(config: str, *, without: Collection[str] = ()) -> Callable[[Function], Function]:
    """Return a decorator of a function whose `**settings` are those of a config.

    `list_settings` puts them into its help; until then the config is not imported.

    Args:
        config: module and class.
        without: its fields that the function does not take, or takes as arguments.
    """

    def mark(function: Function) -> Function:
        function.settings_of = config, tuple(without)  # type: ignore[attr-defined]
        return function

    return mark


def list_settings(thing: Any) -> None:
    """Put the settings of a function, or of the methods of a class, into its help, once.

    They are those that `takes_settings` names.
    """
    for function in vars(thing).values() if isinstance(thing, type) else (thing,):
        if hasattr(function, "settings_of"):
            config, without = function.settings_of
            del function.settings_of
            module, _, name = config.rpartition(".")
            kind = getattr(import_module(module), name)
            function.__doc__ = with_settings_help(function.__doc__ or "", kind, without=without)


def with_settings_help(doc: str, kind: type, *, without: Collection[str] = ()) -> str:
    """Return a docstring in which each setting of a config stands below `settings`.

    Args:
        doc: of a function that takes them as `**settings`.
        kind: the config.
        without: fields that are given otherwise.
    """
    found = _SETTINGS_LINE.search(doc)
    if found is None:
        return doc
    lines = [found[0].rstrip()]
    indent = f"{found[1]}    "
    for name, schema in schema_of(kind, without=without).items():
        allowed = settings_of(kind).get(name) or Setting("")
        bounds = (allowed.least, allowed.above, allowed.most, allowed.below)
        facts = [allowed.range] if any(bound is not None for bound in bounds) else []
        facts += [f"one of {', '.join(allowed.choices)}"] if allowed.choices else []
        facts += [f"default {schema['default']!r}"] if "default" in schema else []
        ending = f" ({'; '.join(facts)})" if facts else ""
        text = f"- {name}: {schema.get('description', '').rstrip('.')}{ending}."
        # A list of reStructuredText, which the reference is made of.
        lines += [
            "",
            *textwrap.wrap(text, 100, initial_indent=indent, subsequent_indent=f"{indent}  "),
        ]
    return doc.replace(found[0], "\n".join([*lines, "", ""]), 1)


# ------------------------------------------------------------------------------------ JSON Schema


def schema_of(kind: type, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of each setting of a config, by name, for editors.

    Args:
        kind: the config.
        without: fields that are given otherwise.
    """
    hints = typing.get_type_hints(kind)
    said, told = settings_of(kind), described(kind)
    schemas = {}
    for one in fields(kind):
        if one.name in without or (one.name in said and said[one.name].is_input):
            continue
        allowed = said.get(one.name) or Setting(told.get(one.name, ""))
        schema = schema_of_kind(hints[one.name], allowed)
        if allowed.help:
            schema = {"description": allowed.help, **schema}
        if isinstance(one.default, bool | int | float | str) and one.default != "":
            schema["default"] = one.default
        schemas[one.name] = schema
    return schemas


def schema_of_kind(kind: Any, allowed: Setting | None = None) -> dict[str, Any]:
    """Return the JSON Schema of values of a kind, as `fits` takes them.

    >>> schema_of_kind(int | None, Setting("", least=1))
    {'anyOf': [{'type': 'integer', 'minimum': 1}, {'type': 'null'}]}
    >>> schema_of_kind(Mapping[str, float])
    {'type': 'object', 'additionalProperties': {'type': 'number'}}
    """
    allowed = allowed or Setting("")
    if typing.get_origin(kind) in _UNIONS:
        return {"anyOf": [schema_of_kind(choice, allowed) for choice in typing.get_args(kind)]}
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        item = schema_of_kind(inner[0], allowed)
        alone = [item] if inner[0] is str else []
        several = {"type": "array", "items": item}
        return {"anyOf": [*alone, several]} if alone else several
    if origin is not None and origin is not typing.Literal:
        rest = {} if inner[1] is Any else schema_of_kind(inner[1], allowed)
        return {"type": "object", "additionalProperties": rest or True}
    choices = allowed.choices or (inner if origin is typing.Literal else ())
    names = {int: "integer", float: "number", bool: "boolean", str: "string", type(None): "null"}
    schema: dict[str, Any] = {"type": names[kind]} if kind in names else {}
    if choices and kind is not type(None):
        schema["enum"] = list(choices)
    if kind in (int, float):
        bounds = {
            "minimum": allowed.least, "exclusiveMinimum": allowed.above,
            "maximum": allowed.most, "exclusiveMaximum": allowed.below,
        }  # fmt: skip
        schema |= {name: bound for name, bound in bounds.items() if bound is not None}
    return schema


def described(thing: Any) -> dict[str, str]:
    """Return the descriptions of arguments or attributes in a docstring, by name.

    >>> described(Setting)["metavar"]
    "what stands for the value in a command's help."
    """
    said: dict[str, str] = {}
    names: list[str] = []
    for line in (inspect.getdoc(thing) or "").splitlines():
        entry = re.fullmatch(r"    (\w+(?:, \w+)*): (.+)", line)
        if entry is not None:
            names = entry[1].split(", ")
            said |= dict.fromkeys(names, entry[2])
        elif names and line.startswith("        "):
            said |= {name: f"{said[name]} {line.strip()}" for name in names}
        else:
            names = []
    return said


def settings_as_yaml(settings: Mapping[str, Any]) -> str:
    """Return settings as YAML, in their order.

    >>> print(settings_as_yaml({"batch": 64, "made_by": ("genie-dp new",)}), end="")
    batch: 64
    made_by:
    - genie-dp new
    """
    return as_yaml(_plain(settings))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
