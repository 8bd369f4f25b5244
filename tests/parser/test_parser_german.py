"""From ten German templates to a parser that answers German, with no grammar of German."""

import json

import pytest

from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import NEGATED
from genie_dp.parser.parser import Parser
from tests.parser.parser_setup import NOW

pytestmark = pytest.mark.slow
ASKED = {
    "mach bitte das licht in der küche an":
        [{"name": "licht.schalten", "arguments": {"raum": "küche", "zustand": "an"}}],
    "stelle die heizung im flur auf einundzwanzig grad":
        [{"name": "heizung.stellen", "arguments": {"grad": 21, "raum": "flur"}}],
    "dimme das licht im keller auf 50%":
        [{"name": "licht.dimmen", "arguments": {"helligkeit": 50, "raum": "keller"}}],
    "starte einen timer für eine halbe stunde":
        [{"name": "timer.starten", "arguments": {"dauer": "PT30M"}}],
    "weck mich um halb acht":
        [{"name": "wecker.stellen", "arguments": {"zeit": "07:30:00"}}],
}  # fmt: skip
DENIED = (
    "mach das licht in der küche nicht an",
    "stelle die heizung im flur niemals auf 21 grad",
    "starte keinen timer für fünf minuten",
    "weck mich auf keinen fall um halb acht",
    "brich den timer nicht ab",
)
REFUSED = ("wie geht es dir heute", "erzähl mir einen witz", "wer hat dich gebaut")


def parser_of(folder):
    return Parser.from_pretrained(folder / "parser", clock=lambda: NOW)


def test_rows_are_german_and_lack_english(trained_german):
    lines = (trained_german / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    said = {word for line in lines for word in json.loads(line)["utterance"].split()}
    assert {"bitte", "danke", "licht", "heizung"} <= said
    assert not said & {"please", "thanks", "hello", "you"}


def test_a_german_parser_answers_and_refuses_with_torch_and_without(trained_german, monkeypatch):
    parser = parser_of(trained_german)
    answers = {reply.sentence: [*reply.calls] for reply in parser.parse(list(ASKED))}
    assert answers == ASKED
    assert not [reply.sentence for reply in parser.parse(REFUSED) if reply.is_known]
    assert {reply.refused for reply in parser.parse(DENIED)} <= {NEGATED, OUT_OF_SCOPE}
    monkeypatch.setattr("genie_dp.parser.parser.open_arrays", lambda _: None)
    again = parser_of(trained_german).parse(list(ASKED))
    assert {reply.sentence: [*reply.calls] for reply in again} == ASKED


def test_words_of_the_command_are_no_name(trained_german):
    replies = parser_of(trained_german).parse(["mach das licht an", "schalte licht aus"])
    assert not [reply.code for reply in replies if reply.is_known]


def test_the_folder_has_the_words_and_a_reply_is_german(trained_german):
    assert (trained_german / "parser" / "words.txt").exists()
    facts = json.loads((trained_german / "parser" / "config.json").read_text())["parser"]
    assert facts["locale"]["language"] == "words.txt"
    assert "\nlanguage: de\n" in (trained_german / "parser" / "README.md").read_text()
    parser = parser_of(trained_german)
    assert parser.use.locale.words.number_language == "de"
    (reply,) = parser.parse(["stelle die heizung im bad auf 19,5 grad"])
    assert [*reply.calls] == [
        {"name": "heizung.stellen", "arguments": {"grad": 19.5, "raum": "bad"}}
    ]
