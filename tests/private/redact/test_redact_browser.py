"""The review page in a real browser: what was found is hidden until somebody asks for it."""

import json

import pytest
from selenium.webdriver.common.by import By

from genie_dp.cli import run
from tests.browser import check_on_phone, needs_browser

pytestmark = needs_browser
LONG = "w" * 90


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    rows = [
        {"utterance": "my name is Kim Day <script>document.title = 'run'</script>",
         "program": f'( hello " kim day " {LONG} )', "language": "sexpr"},
        {"utterance": "turn on the lights"},
        {"utterance": "turn on the lights"},
        {"utterance": "tell Bob about it"},
    ]  # fmt: skip
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = folder / "review.html"
    arguments = [file, "-o", folder / "out.jsonl", "--review", found, "--conservative", 0.15]
    assert run(["private", "redact", *map(str, arguments)]) == 0
    return found.as_uri()


def test_the_page_fits_a_phone_runs_nothing_and_complains_of_nothing(chrome, page):
    # It loads nothing.
    loaded = "return performance.getEntriesByType('resource').map((one) => one.name)"
    check_on_phone(chrome, page, overflowing=loaded)
    assert chrome.title == "PRIVATE: review of a redaction"


def test_every_sort_of_row_is_shown_with_what_was_found(chrome, page):
    chrome.get(page)
    sections = {
        one.get_attribute("id"): one for one in chrome.find_elements(By.TAG_NAME, "section")
    }
    assert list(sections) == ["public", "caught", "masked", "duplicate"]
    marks = sections["masked"].find_elements(By.CSS_SELECTOR, "mark.masked b")
    assert [mark.text for mark in marks] == ["Kim Day", "kim day"]
    caught = sections["caught"].find_element(By.CSS_SELECTOR, "mark.caught")
    assert "Bob" in caught.text
    assert "person 0.20 (patterns)" in caught.text


def test_secrets_are_blurred_until_they_are_asked_for(chrome, page):
    chrome.get(page)
    mark = chrome.find_element(By.CSS_SELECTOR, "mark.masked b")
    assert "blur" in mark.value_of_css_property("filter")
    chrome.find_element(By.CSS_SELECTOR, "label[for=reveal]").click()
    assert mark.value_of_css_property("filter") == "none"


def test_the_banner_stays_and_paper_shows_no_text(chrome, page):
    chrome.get(page)
    banner = chrome.find_element(By.CSS_SELECTOR, ".banner")
    chrome.execute_script("window.scrollTo(0, document.documentElement.scrollHeight)")
    place = chrome.execute_script("return arguments[0].getBoundingClientRect().top", banner)
    assert 0 <= place < 20
    assert "holds private text" in banner.text
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not chrome.find_element(By.TAG_NAME, "main").is_displayed()
        assert banner.is_displayed()
    finally:
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
