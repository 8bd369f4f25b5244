"""The page of an evaluation in a real browser: with and without scripts, on a phone."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from genie_dp.cli import run
from tests.browser import PHONE, needs_browser
from tests.dataset.dataset_rows import row, write
from tests.evaluate.test_evaluate_command import ROWS, SAID, SKILL, write_said

pytestmark = needs_browser
NASTY = "<script>document.title='taken'</script> mail"
LONG = "w" * 80  # wider than a phone where nothing breaks it


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluation")
    rows = [*ROWS, row("E5", NASTY, ROWS[0].program), row(LONG, LONG, ROWS[0].program)]
    said = {**SAID, "E5": [ROWS[1].program], LONG: [f"now => @{LONG}.{LONG} => notify"]}
    gold, file = write(folder / "gold.jsonl", rows), write_said(folder / "said.jsonl", said)
    other = write_said(folder / "other.jsonl", {one.id: [one.program] for one in rows})
    out = folder / "report.html"
    arguments = ["--compare", other, "--training", gold, "--report", out, "--skills", SKILL]
    assert run(["evaluate", *map(str, [gold, file, *arguments])]) == 0
    return out.as_uri()


def shown(browser):
    articles = browser.find_elements(By.CSS_SELECTOR, "#wrong article")
    return [one.find_element(By.TAG_NAME, "h4").text for one in articles if one.is_displayed()]


def test_the_script_filters_wrong_sentences_by_kind_and_words(chrome, page):
    chrome.get(page)
    assert chrome.title == "Evaluation of said.jsonl"
    assert len(shown(chrome)) == 5
    select = Select(chrome.find_element(By.CSS_SELECTOR, "#filter select"))
    select.select_by_visible_text("wrong function")
    assert shown(chrome) == ["a random mail", NASTY]
    words = chrome.find_element(By.CSS_SELECTOR, "#filter input")
    words.send_keys("RANDOM mail a")
    assert "a random mail" in shown(chrome)
    words.send_keys(" nothing")
    assert shown(chrome) == []
    assert chrome.find_element(By.CSS_SELECTOR, "#filter output").text == "0 of 5"
    assert chrome.get_log("browser") == []


def test_without_scripts_all_sentences_are_there_and_no_filter(chrome, page):
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chrome.get(page)
        assert len(shown(chrome)) == 5
        assert not chrome.find_element(By.ID, "filter").is_displayed()
    finally:
        chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


WIDE = """
return Array.from(document.querySelectorAll("body *")).filter(
  (e) => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest(".scrolls")
).map((e) => e.outerHTML.slice(0, 80));
"""


def test_on_a_phone_nothing_is_wider_than_the_screen(chrome, page, tmp_path):
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        chrome.get(page)
        for details in chrome.find_elements(By.TAG_NAME, "summary"):
            details.click()
        chrome.save_screenshot(str(tmp_path / "phone.png"))
        widths = "return [innerWidth, document.documentElement.scrollWidth]"
        assert chrome.execute_script(widths) == [390, 390]
        assert chrome.execute_script(WIDE) == []
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
