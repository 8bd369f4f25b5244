"""The page for paraphrases in a real browser: keyboard, faults, a killed server, a phone."""

import json
import signal

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from genie_dp import cli
from genie_dp.paraphrase.shown import show
from tests.browser import PHONE, needs_browser, one, text, until
from tests.paraphrase.paraphrase_rows import row, shown_range, shown_text
from tests.paraphrase.serve_process import ServerProcess, write_chosen

pytestmark = needs_browser
NASTY = "<script>document.title='taken'</script>"
LONG = "w" * 80  # wider than a phone where nothing breaks it
ROWS = (
    shown_range(),
    shown_text(),
    show(row("X1", "search QUOTED_STRING_0 in my files"), {"QUOTED_STRING_0": NASTY}),
    show(row("X2", "open GENERIC_ENTITY_tt:file_0 now"), {"GENERIC_ENTITY_tt:file_0": LONG}),
)
TWO = ("which files have from 3 to 12 pages", "give me everything that is 3 to 12 pages long")


@pytest.fixture
def browser(chrome):
    """The browser as somebody opens it who was never here."""
    chrome.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chrome.get_log("browser")
    return chrome


@pytest.fixture
def chosen(tmp_path):
    return write_chosen(tmp_path / "chosen.jsonl", ROWS)


@pytest.fixture
def server(chosen, tmp_path):
    with ServerProcess(chosen, tmp_path / "answers.sqlite") as process:
        yield process


def press(browser, *keys):
    """Type into whatever has the focus, as a keyboard does."""
    browser.switch_to.active_element.send_keys(*keys)


def focused(browser):
    """Return what the element that has the focus is called."""
    element = browser.switch_to.active_element
    return element.get_attribute("id") or element.get_attribute("value") or element.text


def enter(browser, server, name="Ada"):
    browser.get(server.url)
    until(browser, lambda: focused(browser) == "name")
    press(browser, name, Keys.ENTER)
    until(browser, lambda: focused(browser) == "text1")


def sent(browser, progress):
    until(browser, lambda: text(browser, ".progress label") == progress)


def complaints(browser):
    """Return what the browser says of the page; a refused answer (422) is as it should be."""
    found = [line["message"] for line in browser.get_log("browser")]
    return [message for message in found if " 422 " not in message]


@pytest.mark.slow
def test_by_keyboard_alone_and_on_after_a_kill(browser, server, chosen, tmp_path):
    enter(browser, server)
    press(browser, "list the files from 3 to 12 pages")
    until(browser, lambda: "nearly the sentence above" in text(browser, "#remark1"))
    assert one(browser, "#text1").get_attribute("aria-invalid") == "true"
    press(browser, Keys.CONTROL, "a", Keys.NULL, "which files have from 3 to 11 pages")
    until(browser, lambda: text(browser, "#remark1") == "You wrote 11: write 12, exactly so.")
    press(browser, Keys.BACK_SPACE * 8, "12 pages")
    until(browser, lambda: text(browser, "#remark1") == "")
    press(browser, Keys.ENTER)
    assert focused(browser) == "text2"
    press(browser, "short files please", Keys.ENTER)
    until(browser, lambda: text(browser, "#notice") == "Please mend what is marked.")
    assert focused(browser) == "text2"
    press(browser, Keys.CONTROL, "a", Keys.NULL, TWO[1], Keys.CONTROL, Keys.ENTER)
    sent(browser, "1 of 4")
    server.end(signal.SIGKILL)
    with ServerProcess(chosen, tmp_path / "answers.sqlite", port=server.port):
        browser.refresh()
        sent(browser, "1 of 4")
        assert text(browser, "#sentence") == 'Post "good morning" for @bob with #sun at 8:30 am'
        until(browser, lambda: focused(browser) == "text1")
    assert complaints(browser) == []
    results, rows = tmp_path / "results.csv", tmp_path / "rows.jsonl"
    assert (
        cli.run(
            ["data", "paraphrase", "export", str(tmp_path / "answers.sqlite"), "-o", str(results)]
        )
        == 0
    )
    collect = [
        "data",
        "paraphrase",
        "collect",
        str(results),
        "--chosen",
        str(chosen),
        "-o",
        str(rows),
    ]
    assert cli.run(collect) == 0
    made = [json.loads(line)["utterance"] for line in rows.read_text().splitlines()]
    assert sorted(made) == sorted(t.replace("3", "NUMBER_0").replace("12", "NUMBER_1") for t in TWO)


def test_what_is_typed_survives_a_server_that_is_away(browser, server, chosen, tmp_path):
    enter(browser, server)
    press(browser, TWO[0], Keys.ENTER, TWO[1])
    server.end(signal.SIGKILL)
    press(browser, Keys.ENTER)
    until(browser, lambda: "does not answer" in text(browser, "#notice"))
    assert one(browser, "#text1").get_attribute("value") == TWO[0]
    with ServerProcess(chosen, tmp_path / "answers.sqlite", port=server.port):
        browser.refresh()
        assert one(browser, "#text2").get_attribute("value") == TWO[1]
        until(browser, lambda: focused(browser) == "text1")
        press(browser, Keys.CONTROL, Keys.ENTER)
        sent(browser, "1 of 4")


def test_the_tab_key_reaches_everything_in_order_and_the_focus_is_seen(browser, server):
    enter(browser, server)
    order = []
    for _ in range(6):
        order.append(focused(browser))
        width = browser.switch_to.active_element.value_of_css_property("outline-width")
        assert width == "3px", order
        press(browser, Keys.TAB)
    assert order[:4] == ["text1", "text2", "save", "skip"]
    assert order[4] == "How to do it"
    assert order[5] == "leave"


def test_skipping_changing_and_markup_in_a_sentence(browser, server):
    enter(browser, server)
    for n in (1, 2):
        one(browser, "button[value=skip]").click()
        until(browser, lambda n=n: f"{n} skipped" in text(browser, ".progress"))
    assert text(browser, "#sentence") == f'Search "{NASTY}" in my files'
    assert browser.title == "Say it in other words"
    assert browser.execute_script("return document.scripts.length") == 1
    browser.find_element(By.LINK_TEXT, "My answers").click()
    until(browser, lambda: text(browser, "h1") == "My answers")
    browser.find_elements(By.CSS_SELECTOR, ".answers a")[-1].click()
    until(browser, lambda: focused(browser) == "text1")
    press(browser, TWO[0], Keys.ENTER, TWO[1], Keys.ENTER)
    sent(browser, "1 of 4")
    assert complaints(browser) == []


WIDE = """
return Array.from(document.querySelectorAll("body *")).filter(
  (e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 80));
"""
SMALL = """
const touched = "button, input[type=text], textarea, nav a, .answers a, summary";
return Array.from(document.querySelectorAll(touched))
  .filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.outerHTML.slice(0, 80));
"""


def test_on_a_phone_nothing_is_wider_than_the_screen_or_too_small_to_touch(
    browser, server, tmp_path
):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        browser.get(server.url)
        views = [look(browser, tmp_path)]
        enter(browser, server)
        press(browser, "show " + LONG, Keys.ENTER, "files", Keys.ENTER)
        until(browser, lambda: text(browser, "#notice"))
        views.append(look(browser, tmp_path))
        for n in (1, 2, 3):
            one(browser, "button[value=skip]").click()
            until(browser, lambda n=n: f"{n} skipped" in text(browser, ".progress"))
        assert LONG in text(browser, "#sentence")
        views.append(look(browser, tmp_path))
        one(browser, "button[value=skip]").click()
        until(browser, lambda: text(browser, "h1") == "That was all")
        views.append(look(browser, tmp_path))
        browser.get(f"{server.url}answers")
        views.append(look(browser, tmp_path))
        assert views == [(390, 390, [], [])] * 5
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def look(browser, folder):
    """Return widths and what is wrong with them; a picture goes to the test's folder."""
    browser.save_screenshot(str(folder / f"{len(list(folder.glob('*.png')))}.png"))
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    inner = browser.execute_script("return innerWidth")
    return inner, wide, browser.execute_script(WIDE), browser.execute_script(SMALL)
