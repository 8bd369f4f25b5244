"""The extension for VS Code: its files are JSON, name each other, and colour what they should."""

import json
import re
from pathlib import Path

import pytest

import genie_dp
from genie_dp.languages.types import BASICS
from genie_dp.skills.load import SKILL_FILE

ROOT = Path(genie_dp.__file__).parent.parent
FOLDER = ROOT / "editors" / "vscode"
GRAMMARS = sorted(FOLDER.glob("syntaxes/*.json"))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def patterns_in(node):
    """Yield (key, pattern) of every regular expression of a grammar."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("match", "begin", "end"):
                yield key, value
            else:
                yield from patterns_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from patterns_in(item)


def includes_in(node):
    if isinstance(node, dict):
        yield from [node["include"]] if "include" in node else []
        for value in node.values():
            yield from includes_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from includes_in(item)


def test_every_file_that_the_extension_names_is_there():
    package = read(FOLDER / "package.json")
    contributed = package["contributes"]
    named = [package["main"]]
    named += [language["configuration"] for language in contributed["languages"]]
    named += [grammar["path"] for grammar in contributed["grammars"]]
    assert len(named) == 5
    assert [name for name in named if not (FOLDER / name).is_file()] == []
    extensions = {e for language in contributed["languages"] for e in language["extensions"]}
    assert extensions == {".genie", Path(SKILL_FILE).suffix}
    for grammar in contributed["grammars"]:
        assert read(FOLDER / grammar["path"])["scopeName"] == grammar["scopeName"]


def test_the_extension_has_the_version_of_the_package():
    assert read(FOLDER / "package.json")["version"] == genie_dp.__version__


def test_the_extension_does_not_start_where_nobody_trusts_the_folder():
    assert (
        read(FOLDER / "package.json")["capabilities"]["untrustedWorkspaces"]["supported"] is False
    )


@pytest.mark.parametrize("path", GRAMMARS, ids=lambda path: path.stem)
def test_every_pattern_compiles_and_every_rule_is_there(path):
    grammar = read(path)
    patterns = list(patterns_in(grammar))
    assert len(patterns) > 15
    for _, pattern in patterns:
        re.compile(pattern)
    assert {name[1:] for name in includes_in(grammar)} == set(grammar["repository"])


def test_the_colours_of_types_know_the_types():
    skill = read(FOLDER / "syntaxes/skill.tmLanguage.json")
    rules = skill["repository"]["type"]["patterns"]
    for name in BASICS:
        assert any(re.fullmatch(rule["match"], name) for rule in rules), name


def test_no_library_of_the_extension_is_kept():
    assert not list(FOLDER.glob("node_modules"))
