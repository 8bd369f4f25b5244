"""Recipes in YAML: what a value must be for a setting, and settings written back."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value of YAML is of the kind of a field.

    Of a list of settings by name, which are dataclasses, each is for whoever reads it.

    >>> fits(3, float), fits(3.5, int), fits(True, int), fits(None, str | None)
    (True, False, False, True)
    >>> fits(["a", 3], tuple[str, ...]), fits({"a": 0.5}, Mapping[str, float])
    (False, True)
    """
    if isinstance(kind, types.UnionType):
        return any(fits(value, one) for one in typing.get_args(kind))
    if kind is None or kind is type(None):
        return value is None
    if kind is Any:
        return True
    if kind in (int, float):
        numbers = int | float if kind is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, kind) if typing.get_origin(kind) is None else _fits_all(value, kind)


def _fits_all(value: Any, kind: Any) -> bool:
    """Tell whether a value is one of a choice, or all parts of it are of their kind."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple:
        is_read_apart = dataclasses.is_dataclass(inner[0])
        return isinstance(value, list | tuple) and (
            is_read_apart or all(fits(one, inner[0]) for one in value)
        )
    return isinstance(value, dict) and all(fits(one, inner[1]) for one in value.values())


def said(kind: Any) -> str:
    """Return the kind of a field in words.

    >>> said(float | None), said(tuple[str, ...]), said(Mapping[str, float])
    ('a number', 'a list of texts', 'numbers by name')
    """
    if isinstance(kind, types.UnionType):
        return " or ".join(said(one) for one in typing.get_args(kind) if one is not type(None))
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
    if kind in names:
        return names[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, inner))
    if origin is tuple:
        return "a list of texts" if inner[0] is str else "a list"
    return "numbers by name" if origin and inner[1] is float else "settings by name"


def written(settings: Mapping[str, Any]) -> str:
    """Return settings as YAML, in their order.

    >>> print(written({"batch": 64, "made_by": ("genie-dp new",)}), end="")
    batch: 64
    made_by:
    - genie-dp new
    """
    import yaml

    return yaml.safe_dump(_plain(settings), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value
