"""The page of the parse service, as the server writes it (a browser looks at it elsewhere)."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.serve.parse_page import highlight, known_examples
from tests.serve.serve_parsers import (
    AskingParser,
    EchoParser,
    FailingParser,
    client_of,
    reply_of,
    service_of,
)

NASTY = '<script>alert("1")</script>'


@pytest.fixture
def browser():
    service = service_of()
    yield client_of(service)
    service.close(20)


def test_the_page_works_as_a_form_and_escapes_everything(browser):
    answer = browser.post("/", data={"sentence": f"say {NASTY}"})
    assert answer.status_code == 200
    assert NASTY not in answer.text
    text = unescape(answer.text)
    assert f'value="say {NASTY}"' in text
    assert text.count("<meter") == 4
    assert "3 other programs" in text


def test_the_script_gets_the_answer_alone(browser):
    answer = browser.post("/answer", data={"sentence": f"say {NASTY}"})
    assert NASTY not in answer.text
    assert "<html" not in answer.text
    assert "93 %" in answer.text


def test_the_page_says_that_it_does_not_know(browser):
    text = browser.post("/", data={"sentence": "gibberish"}).text
    assert "I do not know" in text
    assert "less sure than the threshold. The closest program is:" in text


@pytest.mark.parametrize(("count", "confidence"), [(0, 0.9), (4, 0.009)])
def test_no_answer_that_comes_near_is_told(count, confidence):
    class Unsure(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            return [reply_of("gibberish", answers, confidence=confidence) for _ in sentences]

    answers = count
    service = service_of(Unsure())
    text = client_of(service).post("/", data={"sentence": "x"}).text
    assert "I do not know" in text
    assert "The closest program is:" not in text
    assert "<meter" not in text
    service.close(20)


def test_a_question_has_a_field_for_its_answer():
    service = service_of(AskingParser())
    browser = client_of(service)
    text = browser.post("/", data={"sentence": "say"}).text
    assert "What shall I &lt;say&gt;?" in text
    assert 'name="program" value="now =&gt; @a.b"' in text
    form = {"sentence": "hello", "program": "now => @a.b", "confidence": "0.9"}
    assert "hello" in browser.post("/", data=form).text
    assert service.parser.batches[1][1].program == "now => @a.b"
    broken = browser.post("/", data={**form, "confidence": "sure"})
    assert broken.status_code == 400
    service.close(20)


def test_the_page_offers_sentences_that_its_parser_knows():
    class Knowing(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            known = {s for s in sentences if "Slack" in s or "Dropbox" in s}
            return [reply_of(s if s in known else "gibberish", count) for s in sentences]

    found = known_examples(Knowing())
    assert found == ("list my Dropbox files", "show me my Slack messages")
    service = service_of(examples=found)
    assert client_of(service).get("/").text.count('class="chip"') == 2
    service.close(20)


def test_a_page_without_examples_does_not_speak_of_them(browser):
    assert "For example" not in browser.get("/").text


@pytest.mark.parametrize("path", ["/", "/answer"])
def test_refusals_are_told_on_the_page_and_nothing_typed_is_lost(browser, path):
    answer = browser.post(path, data={"sentence": "word " * 80})
    assert answer.status_code == 422
    assert "80 words and signs, more than 64" in answer.text
    assert answer.headers["content-type"].startswith("text/html")
    if path == "/":
        assert f'value="{"word " * 79}word"' in answer.text


def test_a_parser_that_fails_is_told_on_the_page():
    service = service_of(FailingParser())
    answer = client_of(service).post("/", data={"sentence": "bad"})
    assert answer.status_code == 500
    assert "That did not work" in answer.text
    service.close(20)


@given(st.text())
def test_the_pieces_of_a_program_are_the_program(code):
    pieces = highlight(code)
    assert "".join("".join(p.text for p in pieces).split()) == "".join(code.split())


def test_a_long_program_has_a_line_for_each_step():
    code = (
        'monitor (@com.gmail.inbox(), sender == "bob") => @com.slack.send(message=count) => notify'
    )
    pieces = highlight(code)
    assert "".join(p.text for p in pieces).count("\n=>") == 2
    kinds = dict((p.text, p.kind) for p in pieces)
    assert kinds["monitor"] == "keyword"
    assert kinds["@com.gmail.inbox"] == "function"
    assert kinds["sender"] == "name"
    assert kinds['"bob"'] == "string"
