"""What placeholders fill, as the JSON of a row."""

import json
from functools import lru_cache


def slot_text(token: str, type_: str, parameter: str) -> str:
    """Return the JSON of one slot, as `"token":{..}`.

    >>> slot_text("NUMBER_0", "Number", "@com.x.f:count")
    '"NUMBER_0":{"type":"Number","parameter":"@com.x.f:count"}'
    """
    return f'"{token}":{slot_body(type_, parameter)}'


@lru_cache(maxsize=8192)  # a few per parameter of the library, asked for at every row
def slot_body(type_: str, parameter: str) -> str:
    """Return the JSON of what a slot fills."""
    return json.dumps({"type": type_, "parameter": parameter}, separators=(",", ":"))
