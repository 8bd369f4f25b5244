"""What setup.cfg says is what the tree holds, and what a wheel carries."""

import ast
import configparser
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAPPED = {"genie_dp.grammars": "grammars", "genie_dp.thingpedia": "thingpedia"}
SOURCES = (
    "genie_dp",
    "grammars",
    "thingpedia",
    "setup.cfg",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


@pytest.fixture(scope="module")
def setup():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


def lines(text):
    return {line.strip() for line in text.splitlines() if line.strip()}


def requirement(line):
    """Return the normalised name of a requirement."""
    return re.split(r"[<>=!\[; ]", line)[0].lower().replace("_", "-")


def files(folder):
    """Return the files below a folder that belong into a wheel, as posix paths."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }


def test_packages_are_the_folders_of_the_tree(setup):
    folders = {path.parent for path in (ROOT / "genie_dp").rglob("*.py")}
    in_tree = {".".join(path.relative_to(ROOT).parts) for path in folders}
    assert lines(setup["options"]["packages"]) == in_tree | set(MAPPED)
    assert len(in_tree) >= 8


def test_the_mapped_folders_hold_data_only():
    for folder in MAPPED.values():
        assert files(ROOT / folder)
        assert not list((ROOT / folder).rglob("__init__.py"))


@pytest.mark.slow
def test_what_the_core_imports_and_what_it_requires_are_the_same(setup):
    required = {requirement(line) for line in lines(setup["options"]["install_requires"])}
    owners = packages_distributions()
    used = {
        requirement(owners[name][0])
        for path in (ROOT / "genie_dp").rglob("*.py")
        for name in imported(path)
        if name not in sys.stdlib_module_names and name not in OPTIONAL and name != "genie_dp"
    }
    assert used - required == set(), "add to install_requires in setup.cfg"
    assert required - used == set(), "nothing imports these: remove from install_requires"


# Imported inside functions, for users who installed the extra.
OPTIONAL = {
    "pyarrow", "distributed", "py3langid", "nltk", "torch", "transformers", "peft",
    "fastapi", "itsdangerous",
    "starlette", "pydantic", "uvicorn", "opacus", "dp_accounting", "mauve",
    "rensa", "spacy", "presidio_analyzer", "tldextract", "pygls", "lsprotocol",
    "mcp", "mcp_types", "wyoming", "anyio",
    "unicode_rbnf",
}  # fmt: skip


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_the_core_is_light_and_constraints_pin_every_required_library(setup):
    heavy, core = {"torch", "transformers", "opacus", "nltk"}, setup["options"]["install_requires"]
    assert not heavy & {requirement(line) for line in lines(core)}
    pins = dict(
        line.split("==")
        for line in lines((ROOT / "constraints.txt").read_text())
        if "#" not in line
    )
    pinned = {requirement(name) for name in pins}
    everything = lines(core)
    for extra in setup["options.extras_require"].values():
        everything |= lines(extra)
    wanted = {requirement(line) for line in everything} - {"genie-dp", "setuptools"}
    assert {*heavy, "lark", "smart-open", "click"} <= wanted <= pinned
    assert pins["torch"] == "2.13.0"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the tree, with this environment's setuptools."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", folder, copy], check=True, capture_output=True, text=True)
    [found] = folder.glob("*.whl")
    return found


def test_a_wheel_carries_every_module_and_every_data_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"genie_dp/{name}" for name in files(ROOT / "genie_dp")}
    for folder in MAPPED.values():
        expected |= {f"genie_dp/{folder}/{name}" for name in files(ROOT / folder)}
    assert packed == expected
    assert sum(name.endswith(".lark") for name in packed) >= 2


@pytest.mark.slow
def test_an_installed_copy_finds_its_data(wheel, tmp_path):
    target = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:  # as pip does with a wheel of Python alone
        archive.extractall(target)
    program = (
        "from genie_dp.resources import data_folder\n"
        "import genie_dp\n"
        "print(genie_dp.__version__, data_folder('grammars'), data_folder('thingpedia'), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        check=True,
        capture_output=True,
        text=True,
    )
    version, grammars, thingpedia = done.stdout.split("\n")[:3]
    assert version == "0.2.0"
    assert files(Path(grammars)) == files(ROOT / "grammars")
    assert files(Path(thingpedia)) == files(ROOT / "thingpedia")
    assert Path(grammars).is_relative_to(target)
