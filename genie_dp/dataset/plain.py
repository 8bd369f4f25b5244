"""A row as plain data without its defaults, for the margins of formats that know no rows."""

from dataclasses import fields
from typing import Any

from genie_dp.records import Example, Slot
from genie_dp.rows import checked, tuple_of


def plain(row: Example, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a row that are not their defaults.

    >>> plain(Example("a", "hi", "now => @c.f", functions=("@c.f",)), without=("utterance",))
    {'id': 'a', 'program': 'now => @c.f', 'functions': ['@c.f']}
    """
    found: dict[str, Any] = {}
    for f in fields(Example):
        value = getattr(row, f.name)
        if f.name in without or value == f.default or (f.name == "slots" and not value):
            continue
        if f.name == "slots":
            value = {token: [slot.type, slot.parameter] for token, slot in value.items()}
        found[f.name] = list(value) if isinstance(value, tuple) else value
    return found


def unplain(found: dict[str, Any], **more: Any) -> Example:
    """Return the row of plain data.

    Raises:
        TypeError: the data are none of a row.

    >>> unplain({"id": "a", "program": "now => @c.f"}, utterance="hi").utterance
    'hi'
    """
    values = {**more, **found}
    for name in ("derivation", "functions"):
        values[name] = tuple_of(values.get(name, ()), name)
    values["slots"] = {k: Slot(*s) for k, s in values.get("slots", {}).items()}
    return checked(Example(**values))
