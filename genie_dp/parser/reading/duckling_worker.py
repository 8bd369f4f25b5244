"""The process in which Duckling runs: lines of JSON in, lines of JSON out.

Python cannot interrupt Duckling, which takes more than 20 s for "at 5 pm " eight times (measured
November 2026), and a missing folder of time zones ends the process. So it has one of its own, which
may be killed.
"""

import json
import sys
from importlib import import_module
from importlib.resources import files
from typing import Any


def main() -> None:
    """Answer requests `{"texts": [..], "time": seconds}` until the input ends."""
    # By name, for they have no types.
    duckling = import_module("duckling")
    folder = files("tzdata") / "zoneinfo"
    zones = duckling.load_time_zones(str(folder))
    language = duckling.parse_lang("EN")
    locale = duckling.parse_locale("EN_US", duckling.default_locale_lang(language))
    dimensions = duckling.parse_dimensions(["time"])
    for line in sys.stdin:
        request = json.loads(line)
        then = duckling.parse_ref_time(zones, "UTC", int(request["time"]))
        context = duckling.Context(then, locale)
        answers: list[list[dict[str, Any]]] = [
            duckling.parse(text, context, dimensions, False) for text in request["texts"]
        ]
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
