"""The demo page in a real browser: keyboard, phone, no script, nasty sentences, a killed server."""

import signal

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import PHONE, focused, needs_browser, one, text, until
from tests.serve.serve_parse_process import ParseServer
from tests.serve.serve_parsers import program_of

pytestmark = needs_browser
NASTY = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@pytest.fixture
def browser(chrome):
    chrome.get_log("browser")
    yield chrome
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ParseServer(tmp_path_factory.mktemp("parser")) as process:
        yield process


def texts(browser, selector):
    return [found.text for found in browser.find_elements(By.CSS_SELECTOR, selector)]


def ask(browser, sentence):
    """Type a sentence into the field that has the focus, and wait for its answer."""
    until(browser, lambda: focused(browser).get_attribute("id") == "sentence")
    focused(browser).send_keys(Keys.CONTROL, "a", Keys.NULL, sentence, Keys.ENTER)
    until(browser, lambda: text(browser, ".said") == sentence)


def complaints(browser):
    return [line["message"] for line in browser.get_log("browser")]


def test_by_keyboard_alone(browser, server):
    browser.get(server.url)
    ask(browser, "say hello")
    code = program_of("say hello")
    assert " ".join(text(browser, ".card .program").split()) == code
    assert text(browser, ".card .english") == f"in English: {code}"
    assert one(browser, ".card meter").get_attribute("value") == "93"
    assert "93 % sure" in text(browser, ".card .confidence")
    assert texts(browser, ".card .string") == ['"say hello"']
    # On to the alternatives, and open them.
    while not focused(browser).text.startswith("3 less likely"):
        focused(browser).send_keys(Keys.TAB)
    focused(browser).send_keys(Keys.ENTER)
    until(browser, lambda: all(texts(browser, ".others li > .program")))
    assert len(texts(browser, ".others li")) == 3
    assert browser.current_url == server.url  # nothing typed is in an address
    assert complaints(browser) == []


def test_what_was_asked_before_is_kept_by_the_page_alone(browser, server):
    browser.get(server.url)
    assert not one(browser, "#recent").is_displayed()
    for sentence in ("first", "second", "third"):
        ask(browser, sentence)
    assert texts(browser, "#recent button") == ["second", "first"]
    one(browser, "#recent button:last-child").click()
    until(browser, lambda: text(browser, ".said") == "second")
    assert texts(browser, "#recent button") == ["third", "first"]
    kept = "return [document.cookie, localStorage.length, sessionStorage.length]"
    assert browser.execute_script(kept) == ["", 0, 0]
    browser.refresh()
    assert not one(browser, "#recent").is_displayed()


def test_examples_are_asked_by_a_click(browser, server):
    browser.get(server.url)
    one(browser, "#examples button").click()
    until(browser, lambda: "Dropbox" in text(browser, ".said"))
    assert one(browser, "#sentence").get_attribute("value") == "list my Dropbox files"


def test_a_sentence_that_is_a_script_is_only_text(browser, server):
    browser.get(server.url)
    ask(browser, NASTY)
    ask(browser, "another")
    assert texts(browser, "#recent button") == [NASTY]
    assert browser.title == "What would you like to do?"
    assert browser.find_elements(By.CSS_SELECTOR, "main script, main img") == []
    assert complaints(browser) == []


def test_not_knowing_and_mistakes_are_told(browser, server):
    browser.get(server.url)
    ask(browser, "gibberish")
    assert text(browser, ".card h2") == "I am not sure enough"
    focused(browser).send_keys(Keys.CONTROL, "a", Keys.NULL, "word " * 70, Keys.ENTER)
    until(browser, lambda: "70 words and signs" in text(browser, ".problem"))
    assert one(browser, ".problem").get_attribute("role") == "alert"
    assert one(browser, "#sentence").get_attribute("value") == ("word " * 70).strip()


def test_the_answer_is_announced_and_the_field_is_named(browser, server):
    browser.get(server.url)
    assert one(browser, "#answer").get_attribute("aria-live") == "polite"
    assert one(browser, "#sentence").accessible_name.startswith("A command or a question")
    ask(browser, "say hello")
    assert one(browser, ".card meter").accessible_name == "Confidence"
    assert one(browser, ".card .program").accessible_name == "Program"
    assert one(browser, "#answer").get_attribute("aria-busy") == "false"


def test_without_its_script_the_page_answers_as_well(browser, server):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(server.url)
    one(browser, "#sentence").send_keys(f"say {NASTY}", Keys.ENTER)
    until(browser, lambda: one(browser, ".said").text == f"say {NASTY}")
    assert one(browser, "#sentence").get_attribute("value") == f"say {NASTY}"
    one(browser, "#examples button").click()
    until(browser, lambda: "Dropbox" in one(browser, ".said").text)
    assert browser.current_url == server.url


@pytest.mark.parametrize("page", ["", "docs"])
def test_on_a_phone_nothing_is_cut_off(browser, server, page):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    browser.get(server.url + page)
    if not page:
        ask(browser, "gibberish of " + "w" * 80)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    low = "return [...document.querySelectorAll('button, input[type=text], summary, nav a')]"
    heights = f"{low}.filter((e) => e.offsetHeight).map((e) => e.offsetHeight)"
    assert min(browser.execute_script(heights)) >= 44


def test_a_server_that_is_gone_is_told_and_the_sentence_stays(browser, tmp_path):
    with ParseServer(tmp_path) as server:
        browser.get(server.url)
        ask(browser, "before")
        server.end(signal.SIGKILL)
        focused(browser).send_keys(Keys.CONTROL, "a", Keys.NULL, "after", Keys.ENTER)
        until(browser, lambda: "does not answer" in text(browser, ".problem"))
        with ParseServer(tmp_path, port=server.port):
            focused(browser).send_keys(Keys.ENTER)
            until(browser, lambda: text(browser, ".said") == "after")
