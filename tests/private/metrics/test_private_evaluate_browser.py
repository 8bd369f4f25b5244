"""The page of a comparison in a real browser: readable on a phone, and what is private says so."""

import pytest
from selenium.webdriver.common.by import By

from genie_dp.cli import run
from tests.browser import check_on_phone, needs_browser
from tests.dataset.dataset_rows import row, write

pytestmark = needs_browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    long = "w" * 80  # wider than a phone where nothing breaks it
    rows = [row(f"S{i}", f"set it {i}", f"( set ( {long} {i}L ) )", language="sexpr")
            for i in range(8)]  # fmt: skip
    real, made = write(folder / "real.jsonl", rows), write(folder / f"{long}.jsonl", rows[:5])
    found = {}
    for name, flag in (("public", "--real-is-public"), ("private", "--keep-private")):
        found[name] = folder / f"{name}.html"
        arguments = ["--language", "sexpr", "--no-mauve", flag, "--report", found[name]]
        assert run(["private", "compare", *map(str, [real, made, made, *arguments])]) == 0
    return {name: path.as_uri() for name, path in found.items()}


@pytest.mark.parametrize("name", ["public", "private"])
def test_the_page_fits_a_phone_and_complains_of_nothing(chrome, pages, name):
    check_on_phone(chrome, pages[name])


def test_a_private_page_says_so_wherever_one_looks(chrome, pages):
    chrome.get(pages["private"])
    banner = chrome.find_element(By.CSS_SELECTOR, ".banner.sticky")
    chrome.execute_script("window.scrollTo(0, document.documentElement.scrollHeight)")
    place = chrome.execute_script("return arguments[0].getBoundingClientRect().top", banner)
    assert "not differentially private" in banner.text
    assert 0 <= place < 20
    chrome.get(pages["public"])
    assert chrome.find_elements(By.CSS_SELECTOR, ".banner") == []


def test_bars_are_as_wide_as_their_figures(chrome, pages):
    chrome.get(pages["public"])
    figure = next(
        one
        for one in chrome.find_elements(By.CSS_SELECTOR, "figure.metric")
        if one.text.startswith("valid programs")
    )
    rail, fill = figure.find_elements(By.CSS_SELECTOR, "rect")[:2]
    assert fill.size["width"] == pytest.approx(rail.size["width"], rel=0.02)
