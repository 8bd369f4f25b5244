"""The page of the parse service, as the server writes it (a browser looks at it elsewhere)."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.parser.answers import REFUSALS
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
    assert text.count("<meter") == 1
    assert "3 less likely programs" in text


def test_the_script_gets_the_answer_alone(browser):
    answer = browser.post("/answer", data={"sentence": f"say {NASTY}"})
    assert NASTY not in answer.text
    assert "<html" not in answer.text
    assert "93 %" in answer.text


def test_what_is_not_known_is_a_question_without_a_confidence(browser):
    text = browser.post("/", data={"sentence": "gibberish"}).text
    assert "I am not sure enough" in text
    assert "Did you mean this?" in text
    assert "<meter" not in text
    assert "% sure" not in text


@pytest.mark.parametrize("code", REFUSALS)
def test_every_refusal_says_what_it_is_and_none_how_likely(code):
    class Refusing(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            return [replace(reply_of(s, count, confidence=0.61), refused=code) for s in sentences]

    service = service_of(Refusing())
    text = client_of(service).post("/", data={"sentence": "remind me"}).text
    assert len(re.findall("<h2>(?!Before)", text)) == 1
    assert "61 %" not in text
    service.close(20)


def test_an_accepted_answer_is_no_doubt_and_shows_what_was_typed():
    class Reading(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            one = reply_of(sentences[0], 1, confidence=0.71)
            return [replace(one, tokens=("send", "NUMBER_0", "mails"))]

    service = service_of(Reading())
    text = client_of(service).post("/", data={"sentence": "send 3 mails"}).text
    assert "71 % sure" in text
    assert 'class="card"' in text
    assert " low=" not in text  # which would be amber
    assert "NUMBER_0" not in text
    service.close(20)


@pytest.mark.parametrize(("count", "confidence"), [(0, 0.9), (4, 0.009)])
def test_no_answer_that_comes_near_is_told(count, confidence):
    class Unsure(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            return [reply_of("gibberish", answers, confidence=confidence) for _ in sentences]

    answers = count
    service = service_of(Unsure())
    text = client_of(service).post("/", data={"sentence": "x"}).text
    assert "I am not sure enough" in text
    assert "Did you mean this?" not in text
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


def test_the_page_offers_sentences_that_its_parser_knows_and_what_it_can_do():
    parser = EchoParser()
    assert known_examples(parser) == ("list my Dropbox files",)  # the other one is refused
    offers = parser.offers()
    service = service_of(examples=known_examples(parser), functions=offers.functions)
    text = client_of(service).get("/").text
    assert text.count('class="chip"') == 1
    assert "What it can do" in text
    assert "<li>say &lt;something&gt;</li>" in text
    service.close(20)


def test_a_page_without_examples_does_not_speak_of_them(browser):
    assert "Try one of these" not in browser.get("/").text


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
