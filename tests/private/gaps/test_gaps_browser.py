"""The page of a gap report in a real browser: readable on a phone, with the figures of the JSON."""

import json

import pytest
from selenium.webdriver.common.by import By

from genie_dp.cli import run
from genie_dp.private.secure import _seeded
from tests.browser import check_on_phone, needs_browser
from tests.private.gaps.gaps_setup import private_file, project

pytestmark = needs_browser

# An element whose text is wider than itself, where nothing scrolls and nothing wraps it.
OVERFLOWING = """
return [...document.querySelectorAll("body *")]
  .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1
    && !["auto", "scroll"].includes(getComputedStyle(e).overflowX))
  .map((e) => e.outerHTML.slice(0, 120));
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    options = [*project(folder), "--epsilon", "8", "--report", str(folder / "gaps"),
               "--words", "5", "--pairs", "9", "--sentences", "2"]  # fmt: skip
    with _seeded(0):
        assert run(["private", "gaps", str(private_file(folder)), *options]) == 0
    return folder / "gaps"


def test_the_page_fits_a_phone_complains_of_nothing_and_has_the_figures_of_the_json(chrome, report):
    check_on_phone(chrome, (report / "index.html").as_uri(), overflowing=OVERFLOWING)
    facts = json.loads((report / "gaps.json").read_text())
    said = [gap for gap in facts["gaps"] if gap["level"] == "sentences"]
    shown = [one.text.split("\n")[:2] for one in chrome.find_elements(By.TAG_NAME, "article")]
    figures = "{} users ({} to {})"
    expected = [[g["text"], figures.format(g["units"], g["low"], g["high"])] for g in said]
    assert shown == expected
    assert len(said) >= 2
    cells = chrome.find_element(By.CSS_SELECTOR, "#functions tbody").text.split("\n")
    seen = [one for one in facts["functions"] if one["low"] > 0]
    assert [line.split(" ")[0].replace("\u200b", "") for line in cells] == [x["name"] for x in seen]
    for line, one in zip(cells, seen, strict=True):
        assert line.endswith(f"{one['units']} {one['low']} to {one['high']}")
    tiles = [tile.text for tile in chrome.find_elements(By.CSS_SELECTOR, ".tile b")]
    assert tiles[2:] == [str(facts["units"]["units"]), str(facts["lacking"]["units"]),
                         str(len(facts["gaps"]))]  # fmt: skip
