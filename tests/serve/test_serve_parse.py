"""The parse service, asked as programs and browsers would ask it."""

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp import __version__
from genie_dp.serve.hosts import rule_for
from genie_dp.serve.parse_app import parse_app
from genie_dp.serve.parse_batches import BatchConfig
from genie_dp.serve.parse_english import ProgramDescriber
from genie_dp.serve.parse_rate import RateConfig
from genie_dp.serve.parse_refusals import of_status
from genie_dp.serve.parse_server import outline
from genie_dp.serve.parse_service import RequestBounds
from tests.serve.serve_parse_process import ROOT
from tests.serve.serve_parsers import (
    HOST,
    EchoParser,
    FailingParser,
    GatedParser,
    ToolParser,
    client_of,
    program_of,
    service_of,
)

FORM = b"sentence=lock+all+doors"
POST = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "client": None}


@pytest.fixture
def parser():
    return EchoParser()


@pytest.fixture
def browser(ask, parser):
    return ask(parser)


def problem(answer, status, code):
    """Check that an answer is a problem, and return its message."""
    told = answer.json()
    assert (answer.status_code, told["code"]) == (status, code), answer.text
    assert set(told) == {"code", "message", "hint"}
    assert told["hint"]
    return told["message"]


# ------------------------------------------------------------------------------- contract


def test_names_of_the_server_are_for_every_request(ask):
    parser = ToolParser()
    browser = ask(parser, names={"room": ["attic"]})
    browser.post("/parse", json={"sentence": "a"})
    browser.post("/parse", json={"sentence": "a", "names": {"room": ["den"], "song": ["x"]}})
    assert [names for _, _, names in parser.batches] == [
        {"room": ["attic"]},
        {"room": ["attic", "den"], "song": ["x"]},
    ]


@settings(max_examples=60, deadline=None)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["sentence", "sentences", "count", "english", "x"]), inner, max_size=4
        ),
        max_leaves=8,
    )
)  # fmt: skip
def test_any_json_is_answered_or_refused_with_what_to_do(body):
    service = service_of()
    browser = client_of(service)
    headers = {"content-type": "application/json"}
    answer = browser.post("/parse", content=json.dumps(body), headers=headers)
    service.close(20)
    assert answer.status_code in (200, 400, 422)
    if answer.status_code != 200:
        assert re.fullmatch(r"W00[134]", answer.json()["code"])


def test_health_tells_of_the_service_and_of_nobody(browser, parser):
    browser.post("/parse", json={"sentences": ["my secret", "gibberish"]})
    browser.post("/parse", json={"sentence": ""})
    answer = browser.get("/health")
    told = answer.json()
    assert answer.status_code == 200
    assert (told["ready"], told["model"], told["version"]) == (True, "tiny", __version__)
    assert told["uptime"] >= 0
    assert told["counts"] == {
        "requests": 1, "sentences": 2, "known": 1, "refused": 1, "cancelled": 0, "batches": 1,
    }  # fmt: skip
    assert "secret" not in answer.text


def test_a_closed_service_is_not_ready_and_says_so(serving):
    service = serving()
    browser = client_of(service)
    service.close(20)
    assert browser.get("/health").status_code == 503
    answer = browser.post("/parse", json={"sentence": "a"})
    problem(answer, 503, "W008")
    assert answer.headers["retry-after"] == "5"


def test_the_page_of_the_interface_needs_nothing_from_elsewhere(browser):
    text = browser.get("/docs").text
    assert "POST /parse" in text
    assert f"curl -s {HOST}/parse" in text
    for name in ("sentences", "is_known", "confidence"):
        assert f"<code>{name}</code>" in text
    assert "//" not in text.replace(HOST, "").replace("<!DOCTYPE", "")


# --------------------------------------------------------------------------------- limits


def test_a_body_that_is_too_large_is_refused_before_it_is_read(ask, parser):
    browser = ask(parser, limits=RequestBounds(body=1000))
    problem(browser.post("/parse", json={"sentence": "x" * 1000}), 413, "W002")
    # Of unknown length, it is read only as far as it may go.
    pieces = (b" " * 400 for _ in range(100))
    headers = {"content-type": "application/json"}
    problem(browser.post("/parse", content=pieces, headers=headers), 413, "W002")
    assert parser.batches == []


@given(st.integers(0, len(FORM) - 1))
def test_of_a_form_that_broke_off_nothing_is_parsed(sent):
    parser = EchoParser()
    service = service_of(parser)
    events = iter([
        {"type": "http.request", "body": FORM[:sent], "more_body": True},
        {"type": "http.disconnect"},
    ])  # fmt: skip
    answers = []

    async def receive():
        return next(events, {"type": "http.disconnect"})

    async def send(message):
        answers.append(message.get("status"))

    app = parse_app(service, hosts=rule_for("127.0.0.1"))
    headers = [(b"host", b"localhost"), (b"content-length", str(len(FORM)).encode())]
    asyncio.run(app({**POST, "headers": headers}, receive, send))
    service.close(20)
    assert (answers[0], parser.batches) == (400, [])


def test_whoever_asks_too_fast_is_told_when_to_ask_again(ask):
    clock = [0.0]
    browser = ask(rate=RateConfig(rate=2, burst=4), clock=lambda: clock[0])
    body = {"sentences": ["a", "b", "c"]}
    assert browser.post("/parse", json=body).status_code == 200
    answer = browser.post("/parse", json=body)
    assert "more than 2 sentences a second" in problem(answer, 429, "W005")
    assert answer.headers["retry-after"] == "1"
    clock[0] += 1
    assert browser.post("/parse", json=body).status_code == 200
    # What is wrong counts, too.
    problem(browser.post("/parse", json={}), 429, "W005")


def test_a_full_queue_is_told_and_when_to_ask_again(ask):
    parser = GatedParser()
    browser = ask(parser, batches=BatchConfig(size=1, wait=0, most_waiting=2))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(browser.post, "/parse", json={"sentence": "first"})
        assert parser.begun.wait(20)
        answer = browser.post("/parse", json={"sentences": ["a", "b", "c"]})
        problem(answer, 503, "W006")
        assert int(answer.headers["retry-after"]) >= 1
        parser.go.set()
        assert first.result(20).status_code == 200


def test_what_takes_too_long_is_given_up_and_never_parsed(serving):
    parser = GatedParser()
    service = serving(parser, limits=RequestBounds(deadline=0.01), batches=BatchConfig(1, 0, 9))
    browser = client_of(service)
    for sentence in ("a", "b", "c"):
        problem(browser.post("/parse", json={"sentence": sentence}), 503, "W007")
    parser.go.set()
    service.close(20)
    assert [sentences for sentences, _ in parser.batches] == [("a",)]


# ---------------------------------------------------------------------------- many at once


def test_many_clients_each_get_their_own_answer():
    parser = EchoParser()
    service = service_of(parser, batches=BatchConfig(size=8, wait=0.002, most_waiting=1000))
    transport = httpx2.ASGITransport(parse_app(service, hosts=rule_for("127.0.0.1")))

    async def ask(browser, n):
        sentences = [f"client {n} sentence {k}" for k in range(1 + n % 3)]
        answer = await browser.post("/parse", json={"sentences": sentences, "count": 1 + n % 2})
        assert answer.status_code == 200
        found = [reply["answers"][0]["code"] for reply in answer.json()["replies"]]
        assert found == [program_of(sentence) for sentence in sentences]

    async def ask_all():
        async with httpx2.AsyncClient(transport=transport, base_url=HOST) as browser:
            await asyncio.gather(*(ask(browser, n) for n in range(120)))

    asyncio.run(ask_all())
    service.close(20)
    assert all(len(sentences) <= 8 for sentences, _ in parser.batches)
    assert len(parser.batches) < 120  # requests did share batches


def asgi_request(app, body, *, disconnects):
    """Return what the app sends to a request whose sender goes away when `disconnects` is set."""
    sent, pending = [], [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive():
        if pending:
            return pending.pop()
        await asyncio.to_thread(disconnects.wait, 20)
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/parse", "raw_path": b"/parse", "query_string": b"",
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8400),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return sent


def test_a_request_whose_sender_went_away_is_dropped():
    parser = GatedParser()
    service = service_of(parser, batches=BatchConfig(size=1, wait=0))
    app = parse_app(service, hosts=rule_for("127.0.0.1"))
    gone = threading.Event()
    gone.set()
    sent = asgi_request(app, {"sentences": ["a", "b", "c"]}, disconnects=gone)
    assert sent[0]["status"] == 499
    assert service.tally.cancelled == 1
    parser.go.set()
    service.close(20)
    assert len(parser.batches) <= 1  # what the thread had begun with


# -------------------------------------------------------------------------------- English


def test_programs_are_said_in_english_once_and_only_where_asked_for(ask):
    said = []

    def describe(program):
        said.append(program)
        return None if "two" in program else program.upper()

    browser = ask(english=ProgramDescriber(describe, most=2))
    body = {"sentences": ["one", "two", "one"], "english": True}
    for _ in range(2):
        replies = browser.post("/parse", json=body).json()["replies"]
        found = [reply["answers"][0]["english"] for reply in replies]
        assert found == [program_of("one").upper(), None, program_of("one").upper()]
    assert said == [program_of("one"), program_of("two")]
    browser.post("/parse", json={"sentence": "three"})
    assert len(said) == 2
    browser.post("/parse", json={"sentence": "four", "english": True})
    browser.post("/parse", json={"sentence": "one", "english": True})
    assert said[2:] == [program_of("four"), program_of("one")]  # only two are kept


def test_an_answer_does_not_wait_long_for_its_english_and_the_next_one_has_it(ask):
    go, done = threading.Event(), threading.Event()

    def describe(program):
        done.set() if "another" in program else go.wait(20)
        return program.upper()

    browser = ask(english=ProgramDescriber(describe, patience=0.01))

    def english_of(sentence):
        answer = browser.post("/parse", json={"sentence": sentence, "english": True})
        return answer.json()["replies"][0]["answers"][0]["english"]

    assert english_of("a") is None
    go.set()
    while not done.is_set():
        english_of("another")  # the thread has said the first one when it comes to this
    assert english_of("a") == program_of("a").upper()


# -------------------------------------------------------------------------------- privacy


def test_a_parser_that_fails_is_told_without_the_sentence_and_others_go_on(ask, caplog):
    browser = ask(FailingParser())
    answer = browser.post("/parse", json={"sentence": "my bad secret"})
    assert problem(answer, 500, "W009") == "the parser failed at this request"
    assert browser.post("/parse", json={"sentence": "good"}).status_code == 200
    assert "secret" not in caplog.text


def test_an_error_is_outlined_with_its_lines_but_not_its_words():
    try:
        try:
            json.loads("{secret")
        except ValueError as error:
            raise RuntimeError("secret again") from error
    except RuntimeError as error:
        told = outline((type(error), error, error.__traceback__))
    assert "JSONDecodeError\nled to\n" in told
    assert "test_serve_parse.py" in told
    assert told.endswith("RuntimeError")
    assert "secret again" not in told.replace('raise RuntimeError("secret again")', "")


# ----------------------------------------------------------------------------------- gate


def test_every_code_is_explained_with_its_status_and_no_other():
    sources = (ROOT / "genie_dp" / "serve").glob("parse_*.py")
    raised = set(re.findall(r'"(W\d{3})"', "".join(path.read_text() for path in sources)))
    page = (ROOT / "docs" / "errors.md").read_text()
    rows = re.findall(r"^\| (W\d{3}) \| ([\d, ]+) \|", page, re.MULTILINE)
    assert {code for code, _ in rows} == raised - {"W020"}
    for code, statuses in rows:
        told = {s for s in statuses.split(", ") if str(of_status(int(s), "").problem.code) != code}
        assert told <= {"422", "429", "500", "503"}
