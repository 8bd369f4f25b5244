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
from genie_dp.errors import GenieError, Problem
from genie_dp.serve.hosts import rule_for
from genie_dp.serve.parse_app import parse_app
from genie_dp.serve.parse_batches import BatchConfig
from genie_dp.serve.parse_english import English
from genie_dp.serve.parse_rate import RateConfig
from genie_dp.serve.parse_refusals import of_status
from genie_dp.serve.parse_server import outline
from genie_dp.serve.parse_service import RequestBounds
from tests.serve.serve_parse_process import ROOT
from tests.serve.serve_parsers import (
    HOST,
    AskingParser,
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


def test_a_sentence_is_answered_with_its_programs(browser):
    answer = browser.post("/parse", json={"sentence": "Say hello", "count": 2})
    assert answer.status_code == 200
    [reply] = answer.json()["replies"]
    assert reply["sentence"] == "Say hello"
    assert reply["tokens"] == ["say", "hello"]
    assert reply["is_known"] is True
    assert [a["confidence"] for a in reply["answers"]] == [0.93, 0.465]
    assert reply["answers"][0] == {
        "program": "tokens 0 of Say hello",
        "code": program_of("Say hello"),
        "confidence": 0.93,
        "unresolved": [],
        "unused": [],
        "missing": [],
        "tree": None,
        "calls": None,
        "english": None,
    }


def test_an_answer_to_a_question_comes_with_its_context(ask):
    browser = ask(AskingParser())
    [asked] = browser.post("/parse", json={"sentence": "say"}).json()["replies"]
    assert (asked["refused"], asked["question"]) == ("missing_input", "What shall I <say>?")
    assert asked["answers"][0]["missing"] == [
        {"function": "@a.b", "name": "text", "type": "String", "question": "What shall I <say>?"}
    ]
    context = {name: asked["answers"][0][name] for name in ("program", "confidence")}
    body = {"sentence": "hello", "context": context}
    [reply] = browser.post("/parse", json=body).json()["replies"]
    assert reply["is_known"] is True
    assert reply["answers"][0]["code"] == 'now => @a.b(text = "hello")'


@pytest.mark.parametrize(
    ("sentence", "form", "refused", "answer"),
    [
        ("hall light", "calls", None, [{"name": "lights.set", "arguments": {"room": "hall"}}]),
        ("hall light", "program", None, "program of hall light"),
        ("when it rains", "calls", "not_in_form", None),
        ("when it rains", "program", None, "program of when it rains"),
        ("lights here", "hass", "no_place", None),
        ("zork", "calls", "out_of_scope", None),
        ("heat", "calls", "missing_input", None),
    ],
)
def test_a_form_that_is_asked_for_comes_with_the_reply(ask, sentence, form, refused, answer):
    told = ask(ToolParser()).post("/parse", json={"sentence": sentence, "as": form}).json()
    [reply] = told["replies"]
    assert (reply["refused"], reply["answer"]) == (refused, answer)
    assert reply["is_known"] is (refused is None)
    assert bool(reply["message"]) is (refused is not None)


def test_names_of_the_server_are_for_every_request(ask):
    parser = ToolParser()
    browser = ask(parser, names={"room": ["attic"]})
    browser.post("/parse", json={"sentence": "a"})
    browser.post("/parse", json={"sentence": "a", "names": {"room": ["den"], "song": ["x"]}})
    assert [names for _, _, names in parser.batches] == [
        {"room": ["attic"]},
        {"room": ["attic", "den"], "song": ["x"]},
    ]


def test_several_sentences_are_answered_in_their_order(browser, parser):
    sentences = ["gibberish", *(f"sentence {n}" for n in range(31))]
    replies = browser.post("/parse", json={"sentences": sentences}).json()["replies"]
    assert [reply["sentence"] for reply in replies] == sentences
    assert [reply["is_known"] for reply in replies] == [False, *[True] * 31]
    assert len(parser.batches) == 2  # of 16


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "give either sentence or sentences"),
        ({"sentence": "a", "sentences": ["b"]}, "give either sentence or sentences"),
        ({"sentence": "a", "cuont": 2}, "cuont: Extra inputs are not permitted"),
        ({"sentence": "a", "count": "2"}, "count: Input should be a valid integer"),
        ({"sentence": "a", "count": 0}, "count: Input should be greater than or equal to 1"),
        ({"sentence": "a", "count": 11}, "count: Input should be less than or equal to 10"),
        ({"sentence": 7}, "sentence: Input should be a valid string"),
        ({"sentence": "a", "as": "song"}, "as: expected one of program, tokens, tree, calls, hass"),
        ({"sentence": "a", "english": 1}, "english: Input should be a valid boolean"),
        ({"sentences": "abc"}, "sentences: Input should be a valid list"),
        ({"sentence": "a", "names": {"room": ["x"] * 501}}, "names: give 500 at most"),
        ({"sentences": ["a", None]}, "sentences.1: Input should be a valid string"),
        ({"sentence": "a", "context": {"program": "now"}}, "context.confidence: Field required"),
    ],
)
def test_wrong_fields_are_refused_by_name(browser, parser, body, message):
    assert problem(browser.post("/parse", json=body), 422, "W003") == message
    assert parser.batches == []


def test_what_is_no_json_object_or_not_announced_as_one_is_refused(browser):
    def refuse(body, kind, *expected):
        headers = {} if kind is None else {"content-type": kind}
        problem(browser.post("/parse", content=body, headers=headers), *expected)

    for body in (b"", b"{", b"[1, 2]", b'"text"', b"7", b"\xff\xfe", b"[" * 9000):
        refuse(body, "application/json", 400, "W001")
    for kind in (None, "text/plain", "application/x-www-form-urlencoded"):
        refuse(b'{"sentence": "a"}', kind, 415, "W001")
    for half in (b'{"sentence": "\\ud800"}', b'{"\\ud800": 1, "sentence": "a"}'):
        refuse(half, "application/json", 422, "W003")


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


def test_openapi_lists_the_routes_and_every_refusal(browser):
    told = browser.get("/openapi.json").json()
    assert set(told["paths"]) == {"/parse", "/schema", "/health"}
    statuses = set(told["paths"]["/parse"]["post"]["responses"])
    assert statuses == {"200", "400", "413", "415", "422", "429", "500", "503"}
    query = told["components"]["schemas"]["Query"]
    assert query["additionalProperties"] is False
    properties = "sentence sentences count english context names as"
    assert set(query["properties"]) == set(properties.split())


def test_the_page_of_the_interface_needs_nothing_from_elsewhere(browser):
    text = browser.get("/docs").text
    assert "POST /parse" in text
    assert f"curl -s {HOST}/parse" in text
    for name in ("sentences", "is_known", "confidence"):
        assert f"<code>{name}</code>" in text
    assert "//" not in text.replace(HOST, "").replace("<!DOCTYPE", "")


def test_other_paths_and_methods_are_refused_as_json(browser):
    assert browser.get("/schema").json() == {"type": "object"}
    problem(browser.get("/nothing"), 404, "W012")
    problem(browser.get("/parse"), 405, "W012")
    assert browser.get("/parse").headers["allow"] == "POST"


# --------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["a " * 65], "the sentence has 65 words and signs, more than 64"),
        (["a", "b.c!" * 17], "sentence 2 has 68 words and signs, more than 64"),
        (["x" * 513], "the sentence has 513 characters, more than 512"),
        (["a", "  \n"], "sentence 2 is empty"),
        (["a"] * 33, "32"),
    ],
)
def test_long_and_empty_sentences_and_too_many_are_refused(browser, parser, sentences, message):
    answer = browser.post("/parse", json={"sentences": sentences})
    assert message in problem(answer, 422, "W004")
    assert parser.batches == []
    assert browser.post("/parse", json={"sentence": "a " * 63 + "a"}).status_code == 200


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

    browser = ask(english=English(describe, most=2))
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

    browser = ask(english=English(describe, patience=0.01))

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


def test_a_mistake_that_the_parser_names_is_passed_on(ask):
    class Choosy(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            raise GenieError(Problem("Z001", "expected English", hint="say it in English"))

    answer = ask(Choosy()).post("/parse", json={"sentence": "bonjour"})
    assert problem(answer, 422, "Z001") == "expected English"


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


def test_other_names_are_refused_and_other_sites_may_neither_ask_nor_read(serving, browser):
    problem(client_of(serving(), base="http://evil.example").get("/health"), 421, "W010")
    assert client_of(serving(), base="http://localhost:8400").get("/health").status_code == 200
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        problem(browser.post("/parse", json={"sentence": "a"}, headers=headers), 403, "W011")
    answer = browser.get("/health", headers={"origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_has_the_headers_of_safety(browser):
    for path in ("/", "/docs", "/health", "/openapi.json", "/parse.js", "/none"):
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_every_code_is_explained_with_its_status_and_no_other():
    sources = (ROOT / "genie_dp" / "serve").glob("parse_*.py")
    raised = set(re.findall(r'"(W\d{3})"', "".join(path.read_text() for path in sources)))
    page = (ROOT / "docs" / "serving.md").read_text()
    rows = re.findall(r"^\| (W\d{3}) \| ([\d, ]+) \|", page, re.MULTILINE)
    assert {code for code, _ in rows} == raised - {"W020"}
    assert "W020" in page
    for code, statuses in rows:
        told = {s for s in statuses.split(", ") if str(of_status(int(s), "").problem.code) != code}
        assert told <= {"422", "429", "500", "503"}
