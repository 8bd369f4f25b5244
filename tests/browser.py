"""A real browser without a screen, for tests of pages; the fixture `chrome` starts it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium or chromedriver is not installed"
)
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1000,900",
)  # fmt: skip


@contextmanager
def chrome_in(profile: Path) -> Iterator[Any]:
    """Start a browser that keeps its files in a folder and logs what pages complain of."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    browser.set_page_load_timeout(20)
    try:
        yield browser
    finally:
        browser.quit()


def check_on_phone(chrome: Any, uri: str, *, overflowing: str = "return []") -> None:
    """Check that a page is as wide as a phone, complains of nothing, and nothing overflows."""
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        chrome.get(uri)
        wide = chrome.execute_script("return document.documentElement.scrollWidth")
        assert wide <= PHONE["width"]
        assert chrome.execute_script(overflowing) == []
        assert chrome.get_log("browser") == []
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def until(browser, condition):
    """Wait for a condition; elements may go while it is asked and a page is replaced."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.support.ui import WebDriverWait

    gone = (WebDriverException,)
    wait = WebDriverWait(browser, 20, poll_frequency=0.05, ignored_exceptions=gone)
    return wait.until(lambda _: condition())


def one(browser, selector):
    """Return the first element of a selector."""
    return browser.find_element("css selector", selector)


def text(browser, selector):
    """Return the text of an element, in one step: a page may be replaced between two."""
    return browser.execute_script(f"return document.querySelector({selector!r}).innerText")


def focused(browser):
    """Return the element that has the focus."""
    return browser.switch_to.active_element
