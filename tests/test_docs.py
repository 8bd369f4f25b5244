"""Links in the documentation lead somewhere, and commands named there exist."""

import re
from pathlib import Path

import pytest

from genie_dp.cli import COMMANDS
from genie_dp.languages.thingtalk.values import ATTRIBUTES
from genie_dp.templates.check import ENGLISH, REQUESTS, TEXTS

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


def test_every_code_of_thingtalk_is_explained_and_no_other():
    folder = ROOT / "genie_dp" / "languages" / "thingtalk"
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    page = (ROOT / "docs" / "thingtalk.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| ([STC]\d{3}) \|", page, flags=re.MULTILINE)
    raised = set(re.findall(r'"([STC]\d{3})"', sources))
    assert len(raised) > 50
    assert sorted(explained) == sorted(raised)


def test_the_template_language_names_every_attribute_and_request():
    page = (ROOT / "docs" / "template-language.md").read_text(encoding="utf-8")
    asked = {name for names in ATTRIBUTES.values() for name in names} | {
        *ENGLISH,
        *REQUESTS,
        *TEXTS,
    }
    values = {value for values in REQUESTS.values() for value in values}
    assert len(asked) > 25
    assert not [name for name in asked | values if not re.search(rf"[`=|]{name}\b", page)]
