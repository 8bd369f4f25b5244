"""Plain data as one line of YAML."""

import json
import re
from typing import Any

# What YAML takes for line ends or refuses; JSON leaves it as it is.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_yaml(value: Any) -> str:
    r"""Return data as one line of YAML that is JSON, too.

    >>> print(as_yaml({"a": "no: \u2028\n"}))
    {"a": "no: \u2028\n"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
