"""Links in the documentation lead somewhere, and commands named there exist."""

import re
from pathlib import Path

import pytest

from genie_dp.cli import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")])


def test_the_pages_are_found():
    assert {page.name for page in PAGES} >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert len(PAGES) >= 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    lost = [x for x in links if "://" not in x and not (page.parent / x).exists()]
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_that_is_named_exists(page):
    named = set(re.findall(r"genie-dp ([a-z][a-z-]+)", page.read_text(encoding="utf-8")))
    assert named <= set(COMMANDS)
