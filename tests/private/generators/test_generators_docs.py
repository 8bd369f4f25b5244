"""The page about generators names every code, and its examples run."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "generators.md"


def test_every_code_of_generators_is_explained_and_no_other():
    files = (ROOT / "genie_dp").rglob("*.py")
    texts = "".join(file.read_text(encoding="utf-8") for file in files)
    rows = re.findall(r"^\| (H\d\d\d) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    raised = set(re.findall(r'"(H\d\d\d)"', texts))
    assert len(raised) >= 10
    assert sorted(rows) == sorted(raised)


def test_the_examples_of_the_page_run():
    pytest.importorskip("torch")
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted >= 4
    assert not found.failed
