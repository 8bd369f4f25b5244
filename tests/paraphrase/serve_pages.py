"""What the tests of the page for paraphrases send to it, through any client."""

import re

from genie_dp.paraphrase.shown import show
from tests.paraphrase.paraphrase_rows import row, shown_range, shown_text

TWO = ("which files have from 3 to 12 pages", "give me everything that is 3 to 12 pages long")


def nasty_row():
    made = row("X1", "search QUOTED_STRING_0 in my files")
    return show(made, {"QUOTED_STRING_0": "<script>alert(1)</script>"})


ROWS = (shown_range(), shown_text(), nasty_row())


def token(browser):
    return re.search(r'name="token" value="([\w-]+)"', browser.get("/").text)[1]


def enter(browser, name):
    return browser.post("/worker", data={"token": token(browser), "name": name})


def key(browser):
    return int(re.search(r'data-key="(\d+)"', browser.get("/").text)[1])


def send(browser, texts=(), *, at=None, action="save", headers=None):
    fields = {f"text{n}": text for n, text in enumerate(texts, 1)}
    at = at or key(browser)
    return browser.post(
        f"/sentences/{at}",
        data={"token": token(browser), "action": action, **fields},
        headers=headers,
        follow_redirects=False,
    )
