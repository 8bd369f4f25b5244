"""Small invented inputs for tests of whole runs: a grammar of S-expressions, and two skills."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp import cli
from genie_dp.importers.skeletons import grammar_text, skill_files

LAUNCHER = Path(__file__).parents[2] / "cli.py"

# About two million sentences from 60 words; "take" and "bring" share some with two programs, and
# "or so" is never reached.
GRAMMAR = """\
using "functions.py";
category SENTENCE : program root "errands";
category THING : program "things";
category LIST : program "several things";
category LOST : program "nobody says this";
THING := t:"things.tsv" -> (THING t) #[id="thing"];
LIST := a:THING 'and' b:THING -> (BOTH a b) #[id="both"];
LIST := a:LIST 'then' b:THING -> (THEN a b) #[id="then"];
SENTENCE := ('bring' | 'fetch') l:LIST -> (BRING l) #[id="bring"];
SENTENCE := ('take' | 'fetch') l:LIST -> (TAKE l) #[id="take"];
SENTENCE := 'hide' t:THING -> (HIDE t) #[id="hide"];
SENTENCE := 'check' l:LIST -> python.checked(l) #[id="check"];
LOST := 'or so' -> (OR_SO) #[id="lost"];
"""

FUNCTIONS = """\
from genie_dp.languages import get_language

render = get_language("sexpr").render

def checked(things):
    return f"(CHECK {render(things)})"
"""

# Raises for about one list in 30.
RAISING = FUNCTIONS.replace(
    "    return",
    """\
    if "W7)" in render(things):
        raise ArithmeticError("seven is too many")
    return""",
)


@dataclass(frozen=True)
class Project:
    """A folder with inputs, and the options that name them."""

    folder: Path
    inputs: tuple[str, ...]

    def arguments(self, *options: object) -> list[str]:
        return ["synthesize", *self.inputs, *map(str, options)]

    def run(self, *options: object) -> int:
        """Run synthesize in this process and return its exit code."""
        return cli.run(self.arguments(*options))

    def command(self, *options: object) -> list[str]:
        return [sys.executable, str(LAUNCHER), *self.arguments(*options)]

    def process(self, *options: object, **settings: Any) -> "subprocess.CompletedProcess[str]":
        settings = {"capture_output": True, "text": True, "timeout": 120, **settings}
        return subprocess.run(self.command(*options), check=False, **settings)


def errands(folder: Path, functions: str = FUNCTIONS) -> Project:
    """Write the grammar of S-expressions: it starts at once and never runs out."""
    things = "".join(f"thing {i}\tW{i}\n" for i in range(60))
    _write(folder, {"main.genie": GRAMMAR, "functions.py": functions})
    _write(folder, {"things.tsv": f"words\tprogram\n{things}"})
    return Project(folder, ("--language", "sexpr", "--grammar", str(folder)))


def small_files() -> dict[str, str]:
    """Return path -> text of the skill of a new project, with a small grammar of its own."""
    skill = skill_files("com.example.diary", "diary")
    files = {f"thingpedia/com.example.diary/{path}": text for path, text in skill.items()}
    return files | {"grammars/en/main.genie": grammar_text().partition("\ncategory FACT")[0]}


def notes(folder: Path) -> Project:
    """Write a diary and a cook book in ThingTalk, with a small grammar."""
    files = small_files()
    for path, text in skill_files("com.example.cookbook", "cook book").items():
        files[f"thingpedia/com.example.cookbook/{path}"] = text
    _write(folder, files)
    inputs = ["--skills", str(folder / "thingpedia"), "--grammar", str(folder / "grammars/en")]
    return Project(folder, tuple(inputs))


def _write(folder: Path, files: Any) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def merge(*words: object) -> int:
    return cli.run(["data", "merge", *map(str, words)])


def journal_lines(work: Path) -> int:
    """Return how many blocks a work folder has finished."""
    journal = work / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def workers_of(marks: Sequence[str]) -> list[int]:
    """Return the processes whose command line has all of these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:  # it ended meanwhile
                continue
            if all(mark in words for mark in marks):
                found.append(int(entry.name))
    return found
