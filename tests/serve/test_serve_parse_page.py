"""The page of the parse service, as the server writes it (a browser looks at it elsewhere)."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.parser.answers import REFUSALS
from genie_dp.serve.parse_page import highlight, known_examples
from tests.serve.serve_parsers import AskingParser, EchoParser, FailingParser, reply_of

NASTY = '<script>alert("1")</script>'


@pytest.fixture
def browser(ask):
    return ask()


def test_the_page_works_as_a_form_and_escapes_everything(browser):
    answer = browser.post("/", data={"sentence": f"say {NASTY}"})
    assert answer.status_code == 200
    assert NASTY not in answer.text
    text = unescape(answer.text)
    assert f'value="say {NASTY}"' in text
    assert text.count("<meter") == 1
    assert "3 less likely programs" in text
    assert "Try one of these" not in text  # there are no examples
    # The script gets the answer alone.
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


class Replying(EchoParser):
    """Gives one reply to every sentence."""

    def __init__(self, reply):
        self.reply = reply

    def parse(self, sentences, *, count=1, context=None, names=None):
        return [self.reply for _ in sentences]


@pytest.mark.parametrize("code", REFUSALS)
def test_every_refusal_says_what_it_is_and_none_how_likely(ask, code):
    reply = replace(reply_of("remind me", 4, confidence=0.61), refused=code)
    text = ask(Replying(reply)).post("/", data={"sentence": "remind me"}).text
    assert len(re.findall("<h2>(?!Before)", text)) == 1
    assert "61 %" not in text


def test_an_accepted_answer_is_no_doubt_and_shows_what_was_typed(ask):
    reply = replace(reply_of("x", 1, confidence=0.71), tokens=("send", "NUMBER_0", "mails"))
    text = ask(Replying(reply)).post("/", data={"sentence": "send 3 mails"}).text
    assert "71 % sure" in text
    assert 'class="card"' in text
    assert " low=" not in text  # which would be amber
    assert "NUMBER_0" not in text


@pytest.mark.parametrize(("count", "confidence"), [(0, 0.9), (4, 0.009)])
def test_an_answer_that_does_not_come_near_is_not_shown(ask, count, confidence):
    reply = reply_of("gibberish", count, confidence=confidence)
    text = ask(Replying(reply)).post("/", data={"sentence": "x"}).text
    assert "I am not sure enough" in text
    assert "Did you mean this?" not in text
    assert "<meter" not in text


def test_a_question_has_a_field_for_its_answer(ask):
    parser = AskingParser()
    browser = ask(parser)
    text = browser.post("/", data={"sentence": "say"}).text
    assert "What shall I &lt;say&gt;?" in text
    assert 'name="program" value="now =&gt; @a.b"' in text
    form = {"sentence": "hello", "program": "now => @a.b", "confidence": "0.9"}
    assert "hello" in browser.post("/", data=form).text
    assert parser.batches[1][1].program == "now => @a.b"
    broken = browser.post("/", data={**form, "confidence": "sure"})
    assert broken.status_code == 400


def test_the_page_offers_sentences_that_its_parser_knows_and_what_it_can_do(ask):
    parser = EchoParser()
    assert known_examples(parser) == ("list my Dropbox files",)  # the other one is refused
    browser = ask(examples=known_examples(parser), functions=parser.offers().functions)
    text = browser.get("/").text
    assert text.count('class="chip"') == 1
    assert "What it can do" in text
    assert "<li>say &lt;something&gt;</li>" in text


@pytest.mark.parametrize("path", ["/", "/answer"])
def test_refusals_are_told_on_the_page_and_nothing_typed_is_lost(browser, path):
    answer = browser.post(path, data={"sentence": "word " * 80})
    assert answer.status_code == 422
    assert "80 words and signs, more than 64" in answer.text
    assert answer.headers["content-type"].startswith("text/html")
    if path == "/":
        assert f'value="{"word " * 79}word"' in answer.text


def test_a_parser_that_fails_is_told_on_the_page(ask):
    answer = ask(FailingParser()).post("/", data={"sentence": "bad"})
    assert answer.status_code == 500
    assert "That did not work" in answer.text


@given(st.text())
def test_the_pieces_of_a_program_are_the_program(code):
    text = "".join(piece.text for piece in highlight(code))
    assert "".join(text.split()) == "".join(code.split())


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
