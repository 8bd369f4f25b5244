"""Plays scenarios: what people type in a folder, with what is said and written.

The input of a case has files, commands, lines for the shell, and Python:

    >> rows.jsonl                       a file: the lines up to the next of these marks
    S1 | list orders | now => @com.x.orders => notify | source=human
    $ genie-dp data stats rows.jsonl         tells its exit code and what it wrote
    $ wc -l rows.jsonl                  runs in a shell; told if it prints anything, as Python is

A line that begins with `>>` and one `>` more is Python. It has `gd`, `json`, `load` of JSON, `rows`
of JSONL and `Path`; `families(60, "a.jsonl")` writes that many families.

A file's first case may be called "given": what it writes is there in each of the others. Lines of a
.jsonl file that are no JSON are rows: id, utterance, program, then fields. Skills and
parsers of the tests stand in the folder under the names of PLACES, where a case speaks of them.
"""

import json
import math
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.rows import to_json
from tests.dataset.dataset_rows import families, read, row, write
from tests.golden import DATA

ROOT = Path(__file__).parents[1]
# name in the folder -> a folder, or the fixture that makes it
PLACES: dict[str, Path | str] = {
    "mail-skills": DATA / "typecheck" / "skills",
    "mail-parser": "trained",
    "calls-parser": "trained_calls",
    "pizza-order": ROOT / "examples" / "pizza-order",
}
MARKS = (">> ", ">>> ", "$ ")
REDIRECTED = re.compile(r"\$ genie-dp (.*?)(?: > ([^ '\"]+)( 2>&1)?)?", re.DOTALL)
# What differs from run to run, with the widths of tables of it, and the head of all wrong usage.
PASSING: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf'"version": "{gd.__version__}"', '"version": "VERSION"'),
    (r"\b\d+(\.\d+)? (m?s)\b", r"N \2"),
    (r"(?m)^.* (time|N s) .*$", lambda line: re.sub(" {2,}", "  ", line[0])),
    (r"(no JSON that can be read|cannot use the device 'gpu'): .*", r"\1: .."),
    (r"\b[0-9a-f]{32,64}\b", "HASH"),
    (r"Usage: .*\nTry .*\n\n", ""),
    (r" by process \d+ since [-\d]+ [:\d]+", " by process N since TIME"),
)

Play = Callable[[str], str]


def actions(text: str) -> Iterator[list[str]]:
    """Yield the lines of each file, command or statement."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith(MARKS) and block:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def write_file(head: str, lines: list[str]) -> None:
    """Write a file of a scenario; rows are written out."""
    path = Path(head)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        lines = [to_json(row_of(x)) if " | " in x and x[0] != "{" else x for x in lines]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def row_of(line: str) -> gd.Example:
    """Return the row of `id | utterance | program | field=value ..`."""
    id, utterance, program, *fields = line.split(" | ")
    kinds = {"derivation": lambda names: tuple(names.split(",")), "depth": int, "weight": float}
    more = {name: kinds.get(name, str)(value) for name, _, value in
            (field.partition("=") for field in fields)}  # fmt: skip
    return row(id, utterance, program, **more)


def files() -> dict[str, bytes]:
    """Return the files below the working folder, none of those elsewhere that it links to.

    Modules that Python keeps compiled are there or not, as it is set.
    """
    return {
        os.path.relpath(path, "."): path.read_bytes()
        for folder, _, names in os.walk(".")
        for path in (Path(folder, name) for name in names)
        if path.suffix not in (".lock", ".pyc")
    }


def changes(before: dict[str, bytes]) -> str:
    """Return which files were written and removed since."""
    after = files()
    written = sorted(name for name, data in after.items() if before.get(name) != data)
    removed = sorted(before.keys() - after.keys())
    told = [f"{verb} {' '.join(names)}" for verb, names in
            (("wrote", written), ("removed", removed)) if names]  # fmt: skip
    return "".join(f"; {one}" for one in told)


def execute(lines: list[str], names: dict[str, object]) -> str:
    """Run a statement as Python's prompt does; return the last line of a mistake."""
    source = "\n".join(line[4:] for line in lines)
    try:
        exec(compile(f"{source}\n", "scenario", "single"), names)  # noqa: S102
    except (gd.GenieError, AttributeError, OSError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def visible(character: str) -> str:
    """Return a character as a golden file shows it: one that nobody sees as its escape."""
    is_seen = character.isprintable() or character in "\n\t"
    return character if is_seen else character.encode("unicode_escape").decode()


@pytest.fixture
def play(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Play:
    """Return a function that plays the input of a case in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GENIE_DP_PROJECT")  # a genie.yaml of the scenario counts
    monkeypatch.setattr("genie_dp.run.stage._FIRST_LINE", math.inf)  # however slow the machine is
    names = {
        "gd": gd, "json": json, "Path": Path, "rows": lambda name: read(Path(name)),
        "families": lambda count, name: write(Path(name), families(count)) and None,
        "load": lambda name: json.loads(Path(name).read_text()),
    }  # fmt: skip

    def act(lines: list[str]) -> str:
        """Do what a block says; return it with what came of it, or nothing if nothing did."""
        text, before = "\n".join(lines), files()
        if text.startswith("$ genie-dp "):
            words, target, both = REDIRECTED.fullmatch(text).groups()
            code = cli.run(shlex.split(words))
            said = capsys.readouterr()
            kept, shown = (said.out + said.err, "") if both else (said.out, said.err)
            if target:
                Path(target).write_text(kept)
            else:
                shown = kept + shown
            return f"{text}  # {code}{changes(before)}\n{shown}"
        if text.startswith("$ "):
            done = subprocess.run(text[2:], shell=True, capture_output=True, text=True, check=False)
            told = done.stdout + done.stderr
        else:
            error = execute(lines, names)
            told = "".join(capsys.readouterr()) + error
        return f"{text}\n{told}" if told else ""

    def run(text: str) -> str:
        """Play all blocks; return what is told of them, without what differs from run to run."""
        for name, place in PLACES.items():
            if name in text:
                found = request.getfixturevalue(place) if isinstance(place, str) else place
                Path(name).symlink_to(found)
        capsys.readouterr()
        told = ""
        for lines in actions(text):
            if lines[0].startswith(">> "):
                write_file(lines[0][3:], lines[1:])
            else:
                told += act(lines)
                told += "\n" if told and not told.endswith("\n") else ""
        told = told.replace(str(tmp_path), "HERE").replace(str(ROOT), "ROOT")
        for pattern, word in PASSING:
            told = re.sub(pattern, word, told)
        return "".join(map(visible, told)).rstrip("\n")

    return run
