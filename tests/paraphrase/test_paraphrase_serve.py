"""The page on which people write paraphrases, asked as a browser would ask it."""

import json
import re
import socket
import sqlite3
from html import unescape

import pytest
from starlette.testclient import TestClient

from genie_dp.errors import GenieError
from genie_dp.serve.answer_store import Sizes, open_store
from genie_dp.serve.gate import MOST_BYTES
from genie_dp.serve.hosts import address_of, is_loopback, listen, rule_for
from genie_dp.serve.identity import Signer
from genie_dp.serve.paraphrase_app import PageConfig, paraphrase_app
from genie_dp.serve.paraphrases import sentences_to_ask
from genie_dp.serve.writing import worker_name
from tests.paraphrase.serve_pages import ROWS, TWO, enter, key, send, token

HOST = "http://127.0.0.1:8808"
NASTY = '<script>alert("1")</script>'


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "answers.sqlite", sentences_to_ask(ROWS), Sizes(2, 2))
    yield made
    made.close()


def client(store, *, host="127.0.0.1", needs_token=False, base=HOST, **config):
    rows = {shown.example.id: shown for shown in ROWS}
    app = paraphrase_app(
        store, rows, PageConfig(**config), hosts=rule_for(host), needs_token=needs_token
    )
    return TestClient(app, base_url=base)


@pytest.fixture
def page(store):
    """A browser of somebody who gave a name."""
    browser = client(store)
    enter(browser, "Ada")
    return browser


def remarks(browser, *texts):
    body, headers = {"key": key(browser), "texts": texts}, {"x-form-token": token(browser)}
    answer = browser.post("/check", json=body, headers=headers)
    return [[remark["message"] for remark in found] for found in answer.json()["remarks"]]


# ------------------------------------------------------------------------------- the way


def test_a_name_is_asked_for_first_and_kept(store):
    browser = client(store)
    assert "Your name" in browser.get("/").text
    assert "List files from 3 to 12 pages" in enter(browser, " Ada  L. ").text
    assert "You are Ada L." in browser.get("/").text


def test_no_name_is_refused_with_what_to_do(store):
    for name in ("", "   ", "=HYPERLINK(1)", "-", "x" * 65, "\0"):
        answer = enter(client(store), name)
        assert answer.status_code == 422
        assert "Give a name of at most 64 characters" in answer.text
        assert worker_name(name) is None


def test_good_paraphrases_are_kept_and_the_next_sentence_comes(page, store):
    answer = send(page, TWO)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert store.answers("Ada")[0].texts == TWO
    text = page.get("/").text
    assert "1 of 3" in text
    assert unescape(re.search(r'id="sentence">(.*)</p>', text)[1]).startswith("Post ")


def test_faulty_ones_are_refused_with_the_sentence_that_says_what_to_do(page, store):
    answer = send(page, ("List files from 3 to 12 pages", "show me short files"))
    assert answer.status_code == 422
    text = unescape(answer.text)
    assert "This is nearly the sentence above: use other words." in text
    assert "Use 3 in your sentence." in text
    assert "show me short files</textarea>" in text  # nothing typed is lost
    assert text.count('aria-invalid="true"') == 2
    assert store.counts()[1] == 0


def test_the_endpoint_says_the_same_while_typing(page):
    assert remarks(page, "show me short files", TWO[0])[1] == []
    assert "Use 3 in your sentence." in remarks(page, "show me short files")[0]
    first, second = remarks(page, TWO[0], TWO[0])
    assert first == []
    assert "use other words" in second[0]
    # An empty field is a fault only when it is sent.
    assert remarks(page, TWO[0], "") == [[], []]
    assert "Write a sentence." in send(page, (TWO[0], " ")).text


def test_a_file_that_cannot_be_reached_is_told_and_nobody_loses_text(page, store, monkeypatch):
    def busy(*_, **__):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(store, "save", busy)
    answer = send(page, TWO)
    assert answer.status_code == 503
    assert "Your text is still here" in answer.text
    assert TWO[1] in answer.text
    monkeypatch.setattr(store, "next_for", busy)
    answer = page.get("/")
    assert answer.status_code == 503
    assert "try again in a moment" in answer.text
    answer = page.get("/", headers={"accept": "application/json"})
    assert "try again in a moment" in answer.json()["notice"]


def test_a_warning_does_not_hinder(page, store):
    foreign = "montre fichiers avec entre 3 et 12 feuilles numerotees"
    assert remarks(page, foreign) == [["Is this English? If it is, send it."]]
    assert send(page, (foreign, TWO[1])).status_code == 303
    assert store.answers("Ada")[0].texts[0] == foreign


def test_a_sentence_can_be_skipped_and_written_later(page, store):
    skipped = key(page)
    assert send(page, action="skip").status_code == 303
    text = page.get("/").text
    assert "0 of 3" in text
    assert "1 skipped" in text
    assert "Write it" in page.get("/answers").text
    assert send(page, TWO, at=skipped).status_code == 303
    assert store.progress("Ada", people=3, now=0).skipped == 0


def test_an_earlier_answer_can_be_changed(page, store):
    first = key(page)
    send(page, TWO)
    assert f'href="/sentences/{first}"' in page.get("/answers").text
    assert TWO[1] in page.get(f"/sentences/{first}").text
    better = (TWO[0], "all files 3 to 12 pages long")
    assert send(page, better, at=first).headers["location"] == "/answers"
    assert [a.texts for a in store.answers("Ada")] == [better]
    text = page.get(f"/sentences/{first}").text
    assert "Leave it as it is" in text
    assert 'value="skip"' not in text
    assert send(page, at=first, action="skip").headers["location"] == "/answers"
    assert [a.texts for a in store.answers("Ada")] == [better]


def test_the_end_says_so(page):
    for _ in ROWS:
        send(page, action="skip")
    text = page.get("/").text
    assert "That was all" in text
    assert "You skipped 3" in text
    assert "write them. Others may" in " ".join(re.sub("<[^>]*>", "", text).split())


def test_the_same_name_in_another_browser_goes_on_and_whoever_leaves_is_asked_again(page, store):
    send(page, TWO)
    other = client(store)
    assert "1 of 3" in enter(other, "ADA").text
    assert "You are Ada." in other.get("/").text
    page.post("/worker", data={"token": token(page), "action": "leave"})
    assert "Your name" in page.get("/").text


def test_a_page_with_a_worker_asks_for_no_name_and_takes_none(store):
    browser = client(store, worker="Ada")
    text = browser.get("/").text
    assert "Your name" not in text
    assert "Somebody else" not in text
    assert enter(browser, "Bob").status_code == 403
    send(browser, TWO)
    assert len(store.answers("Ada")) == 1


def test_scripts_get_json(page):
    json_please = {"accept": "application/json"}
    bad = send(page, ("short", TWO[1]), headers=json_please)
    assert bad.status_code == 422
    assert bad.json()["notice"] == "Please mend what is marked."
    assert bad.json()["remarks"][1] == []
    assert send(page, TWO, headers=json_please).json() == {"next": "/"}


# ---------------------------------------------------------------------------- strangers


def test_text_of_rows_and_people_is_never_markup(store):
    browser = client(store)
    enter(browser, "A<b>da")
    seen = []
    for _ in ROWS:
        seen.append(browser.get("/").text)
        texts = (f"{NASTY} one", f"</textarea>{NASTY}")
        seen.append(send(browser, texts).text)
        at = key(browser)
        store.save("A<b>da", at, texts, now=1)
        seen.append(browser.get(f"/sentences/{at}").text)
    seen.append(browser.get("/answers").text)
    everything = "".join(seen)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in everything
    assert set(re.findall(r"<script\b[^>]*>", everything)) == {
        '<script src="/paraphrase.js" defer>'
    }
    assert "<b>" not in everything
    assert all(text.count("</textarea>") == text.count("<textarea") for text in seen)


def test_pages_need_nothing_from_elsewhere_and_hold_no_script(page):
    content = page.get("/").text
    assert re.findall(r'(?:src|href|action)="(?!/)([^"]*)"', content) == []
    assert re.findall(r"\s(?:on\w+|style)=", content) == []
    for name in ("/paraphrase.css", "/paraphrase.js"):
        found = page.get(name)
        assert found.status_code == 200
        assert "//" not in re.sub(r"^\s*//.*$|;\s*//.*$", "", found.text, flags=re.MULTILINE)


def test_every_answer_is_fenced_in(page):
    for path in ("/", "/answers", "/nowhere", "/paraphrase.js", "/favicon.ico"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"


def test_cookies_are_out_of_reach_of_scripts_and_cannot_be_made_up(page, store):
    cookie = page.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    name = f"genie_{store.name}"
    visitor = Signer(store.secret).visitor(page.cookies[name])
    assert visitor.worker == "Ada"
    stranger = client(store)
    for secret, asks in ((b"other", True), (store.secret, False)):
        stranger.cookies.clear()
        stranger.cookies.set(name, Signer(secret).cookie(visitor))
        assert ("Your name" in stranger.get("/").text) is asks


def test_names_of_this_machine_are_answered_and_no_others(page):
    for host in ("evil.example", "evil.example:8808", "192.0.2.7", "", "a@b:c"):
        assert page.get("/", headers={"host": host}).status_code == 421
    for host in ("localhost:1", "127.0.0.1", "[::1]:8808", "LOCALHOST"):
        assert page.get("/", headers={"host": host}).status_code == 200


def test_forms_need_the_token_of_their_page(page, store):
    at = key(page)
    other = token(client(store))
    for wrong in ({}, {"token": "x"}, {"token": "ü"}, {"token": other}):
        fields = {**wrong, "text1": TWO[0], "text2": TWO[1]}
        answer = page.post(f"/sentences/{at}", data=fields)
        assert answer.status_code == 403
        assert "load it again" in answer.text
    assert page.post("/check", json={"key": at, "texts": ["a"]}).status_code == 403
    assert store.counts()[1] == 0


def test_forms_of_other_sites_are_refused(page):
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert send(page, TWO, headers=headers).status_code == 403
    headers = {"origin": HOST, "sec-fetch-site": "same-origin"}
    assert send(page, TWO, headers=headers).status_code == 303


def test_too_much_is_refused_before_it_is_read(page):
    at = key(page)
    assert page.post(f"/sentences/{at}", content=b"x" * (MOST_BYTES + 1)).status_code == 413
    chunks = (b"x" * 1000 for _ in range(MOST_BYTES // 1000 + 1))
    assert page.post(f"/sentences/{at}", content=chunks).status_code == 413
    assert page.post("/check", json={"key": at, "texts": ["x"] * 21}).status_code == 422


def test_a_paraphrase_has_a_limit_and_control_characters_go(page, store):
    long = "give me files from 3 to 12 pages " + "that are long " * 40
    assert "at most 500 characters" in send(page, (long, TWO[0])).text
    assert send(page, ("which files\r\n\thave\0 from 3 to 12 pages", TWO[1])).status_code == 303
    assert store.answers("Ada")[0].texts[0] == TWO[0]


def test_forms_that_are_none_and_half_characters_do_no_harm(page):
    half = "token=\ud800".encode("utf-8", "surrogatepass")
    for content in (b"%ff%fe=1", b"a&b&c", b"=&=" * 60, half):
        assert page.post("/sentences/1", content=content).status_code in (400, 403)
    body = json.dumps({"key": key(page), "texts": ["\ud800 3 to 12"]})
    headers = {"x-form-token": token(page), "content-type": "application/json"}
    answer = page.post("/check", content=body, headers=headers)
    assert answer.status_code == 422
    assert "3 to 12" not in answer.text


def test_what_is_not_theirs_or_not_there_is_not_shown(page, store):
    page.get("/")
    for path in ("/sentences/999", "/sentences/0", f"/sentences/{2**70}"):
        assert page.get(path).status_code == 404
        assert page.post(path, data={"token": token(page)}).status_code == 404
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert page.get(path).status_code == 404
    stranger = client(store)
    assert stranger.get("/sentences/1").status_code == 404
    assert stranger.get("/answers").url.path == "/"


# --------------------------------------------------------------------- open to a network


def test_in_a_network_only_the_token_lets_in(store):
    browser = client(store, host="0.0.0.0", needs_token=True, base="http://192.0.2.7:8808")
    for path in ("/", "/answers", "/paraphrase.js", "/?token=wrong", "/?token=%FF"):
        assert browser.get(path).status_code == 403
    token = Signer(store.secret).access_token()
    first = browser.get(f"/?token={token}&x=1", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/?x=1")
    assert "Your name" in browser.get("/").text


def test_in_a_network_addresses_and_own_names_are_answered():
    rule = rule_for("0.0.0.0", ["Proxy.Example"])
    assert rule.accepts("192.0.2.7:80")
    assert rule.accepts("proxy.example")
    assert rule.accepts(socket.gethostname())
    assert not rule.accepts("evil.example")


def test_addresses_that_are_taken_are_a_mistake_of_the_user():
    with listen("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert address_of(bound, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        for host, at in (("127.0.0.1", port), ("192.0.2.7", 0), ("no.such.name.invalid", 0)):
            with pytest.raises(GenieError, match="P204"):
                listen(host, at)
    assert is_loopback("127.5.5.5")
