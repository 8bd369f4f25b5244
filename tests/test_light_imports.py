"""What people wait for at every start must not import what trains models."""

import subprocess
import sys

from genie_dp.cli import COMMANDS, DATA, GRAMMAR

HEAVY = (
    "torch", "transformers", "opacus", "nltk", "safetensors", "dp_accounting", "distributed",
    "dask", "rapidfuzz", "py3langid", "fastapi", "starlette", "pydantic", "uvicorn", "peft",
    "phonenumbers", "mauve", "sklearn", "rensa", "spacy",
    "presidio_analyzer", "pygls", "lsprotocol", "mcp", "mcp_types", "wyoming", "openai", "anyio",
    "unicode_rbnf",
)  # fmt: skip

# Runs in a fresh interpreter, where looking for a heavy module is an error, installed or not.
GUARD = f"""
import sys

class Guard:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise AssertionError(f"heavy import of {{name}}")

sys.meta_path.insert(0, Guard())
"""


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", GUARD + program, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


COMMAND_LINE = "from genie_dp.cli import main; main(sys.argv[1:])"


def test_the_guard_sees_a_heavy_import():
    done = run("import torch")
    assert "heavy import of torch" in done.stderr
    assert done.returncode == 1


def test_importing_every_module_of_the_core_is_light():
    done = run(
        "import pkgutil, importlib, genie_dp\n"
        "names = [m.name for m in pkgutil.walk_packages(genie_dp.__path__, 'genie_dp.')]\n"
        "late = ('genie_dp.models', 'genie_dp.parser', 'genie_dp.private', 'genie_dp.serve')\n"
        "early = [n for n in names if not n.startswith(late)]\n"
        "[importlib.import_module(n) for n in early]\n"
        "print(len(early))"
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 40


def test_help_imports_no_command():
    done = run(
        COMMAND_LINE.replace("main(", "import atexit; atexit.register(lambda: print(sorted("
                             "m for m in sys.modules if m.startswith('genie_dp')))); main("),
        "--help",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines()[-1]
        == "['genie_dp', 'genie_dp.cli', 'genie_dp.cli.commands', 'genie_dp.errors']"
    )
    for name, entry in COMMANDS.items():
        assert name in done.stdout
        assert entry.help.split()[0] in done.stdout


def test_help_of_every_command_is_light():
    """In one interpreter: the guard does not let anything heavy in, which another might find."""
    names = [*COMMANDS, *(f"data {x}" for x in DATA), *(f"grammar {x}" for x in GRAMMAR)]
    done = run(
        "from genie_dp.cli import run\n"
        "for name in sys.argv[1:]:\n"
        "    assert run([*name.split(), '--help']) == 0, name",
        *names,
    )
    assert done.returncode == 0, done.stderr
    for name in names:
        assert f"Usage: genie-dp {name}" in done.stdout
