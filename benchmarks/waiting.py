"""How long an author waits: CPU seconds of commands, the first time and the next.

    python benchmarks/waiting.py                                  # the shipped library
    python benchmarks/waiting.py --parser build/quickstart/parser # and a first answer
    python benchmarks/waiting.py --private                        # README's way with private rows

The first time nothing is kept, as after an installation; the next time all is; then one template of
a skill has other words. Beside the seconds stands how many bare loops over ten million squares they
are, on the same core, before and after each command: machines and their other users differ.

With --private: minutes of each step of README's way with private rows, on 5,000 made ones. The
training fits its public part to ten minutes by itself, so what is looked at is whether it does.
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
    parse.add_argument("--private", action="store_true", help="README's way with private rows")
    parse.add_argument("--threads", type=int, default=2, help="of its training")
    given = parse.parse_args()
    print(machine())
    if given.private:
        print(private_way(given.threads))
        return
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


def private_way(threads: int) -> str:
    """Return a table of the minutes of each step from private rows to rows like them."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # the same rows, of a ledger that is gone, are known
        private, prior, pairs, generator, rows = (
            str(Path(folder) / name)
            for name in ("private.jsonl", "prior.json", "pairs.jsonl", "generator", "rows.jsonl")
        )
        cost_of([str(COMMAND), "synthesize", "--size", "5000", "--seed", "7", "--output", private])
        steps = {
            "budget init": f"private budget init {private} --epsilon 8 --delta 1e-5 "
            "--unit utterance",
            "prior": f"private prior {private} --epsilon 1 --output {prior}",
            "synthesize": f"synthesize --prior {prior} --size 40000 --output {pairs}",
            "train two-stage": f"private train two-stage {private} --public {pairs} "
            "--estimated-units 5000 --epsilon 3 --size 96 --layers 2 --heads 2 --chunk 32 "
            f"--threads {threads} --output {generator}",
            "sample": f"private sample {generator} --rows 1000 --output {rows}",
        }
        for name, words in steps.items():
            found = cost_of([str(COMMAND), *words.split()])
            lines.append([name, f"{found.wall / 60:.1f}", f"{found.cpu / 60:.1f}"])
            print(*lines[-1], sep="\t", file=sys.stderr, flush=True)
    return table(["step", "minutes", "CPU minutes"], lines)


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
            "data", "paraphrase", "auto", many, "--number", "1", "--jobs", "1", "--overwrite",
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
