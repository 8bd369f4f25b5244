"""How long an author waits: CPU seconds of commands, the first time and the next.

    python benchmarks/waiting.py                                  # the shipped library
    python benchmarks/waiting.py --parser build/quickstart/parser # and a first answer

The first time nothing is kept, as after an installation; the next time all is; then one template of
a skill has other words. Beside the seconds stands how many bare loops over ten million squares they
are, on the same core, before and after each command: machines and their other users differ.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from measure import cost_of, machine, table

from genie_dp.resources import data_folder

COMMAND = Path(sys.executable).with_name("genie-dp")
ROWS = 8_000  # that are paraphrased


def main() -> None:
    """Run the commands twice each, and print a table."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--parser", type=Path, help="folder of genie-dp train")
    given = parse.parse_args()
    print(machine())
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, words in commands(work, given.parser).items():
            cache = work / f"cache-{len(lines)}"
            lines.append([name])
            for number in range(3 if "--skills" in words else 2):
                if number == 2:
                    change(work)
                seconds, loops = cost(words, cache)
                lines[-1] += [f"{seconds:.1f}", f"{loops:.1f}"]
            lines[-1] += [""] * (7 - len(lines[-1]))
    print(table(["CPU seconds of", "first", "loops", "next", "loops", "changed", "loops"], lines))


def change(work: Path) -> None:
    """Give one template of a skill another word."""
    file = work / "thingpedia" / "com.gmail" / "templates.genie"
    file.write_text(file.read_text().replace(" inbox'", " post box'", 1))


def commands(work: Path, parser: Path | None) -> dict[str, list[str | Path]]:
    """Return what is measured, by its name in the table."""
    few, many, said = (work / f"{name}.jsonl" for name in ("few", "many", "said"))
    for name in ("thingpedia", "grammars"):
        shutil.copytree(data_folder(name), work / name)
    library = ["--skills", work / "thingpedia", "--grammar", work / "grammars" / "en"]
    synthesize = ["synthesize", "--seed", "1", "--jobs", "1", "--overwrite", *library]
    cost([*synthesize, "--size", str(ROWS), "--output", many], work / "cache")
    found: dict[str, list[str | Path]] = {
        "1,000 rows": [*synthesize, "--size", "1000", "--output", few],
        "check": ["check", *library],
        f"paraphrase auto, {ROWS:,} rows": [
            "paraphrase", "auto", many, "--number", "1", "--jobs", "1", "--overwrite",
            "--output", said,
        ],
    }  # fmt: skip
    if parser is not None:
        found["a first answer"] = ["parse", "--parser", parser, "turn off the lights"]
    return found


def cost(words: Sequence[str | Path], cache: Path) -> tuple[float, float]:
    """Return the CPU seconds of a command, and how many loops these are."""
    before = loop()
    os.environ["GENIE_DP_CACHE"] = str(cache)
    seconds = cost_of([str(COMMAND), *map(str, words)]).cpu
    return seconds, 2 * seconds / (before + loop())


def loop() -> float:
    """Return the CPU seconds of a bare loop over ten million squares, as in a script."""
    before = process_time()
    exec("for i in range(10_000_000):\n    total += i * i", {"total": 0})
    return process_time() - before


if __name__ == "__main__":
    main()
