"""From ten German templates to a parser that answers German, with no grammar of German."""

import json
import shutil

import pytest

from genie_dp import cli
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import NEGATED
from genie_dp.parser.parser import Parser
from genie_dp.resources import data_folder
from tests.golden import DATA
from tests.parser.parser_setup import NOW

pytestmark = pytest.mark.slow
GERMAN = DATA.parent.parent / "examples" / "german"
RECIPE = "network: {size: 32}\nbatch: 16\nrate: 0.02\nvalidations: 1\nincomplete: 0\n"
LIBRARY = ("--language", "calls", "--skills", str(GERMAN / "tools.json"))
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


def run(*words):
    assert cli.run([str(word) for word in words]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with rows and a parser; its words are a file that is gone since."""
    pytest.importorskip("unicode_rbnf")
    folder = tmp_path_factory.mktemp("german")
    own = folder / "words.txt"
    shutil.copyfile(data_folder("locales") / "de.txt", own)
    (folder / "recipe.yaml").write_text(RECIPE)
    run("synthesize", *LIBRARY, "--grammar", GERMAN / "main.genie", "--size", 200,
        "--output", folder / "pairs.jsonl")  # fmt: skip
    run("augment", folder / "pairs.jsonl", *LIBRARY, "--locale", own, "--primitive", 6,
        "--output", folder / "rows.jsonl")  # fmt: skip
    run("train", folder / "rows.jsonl", *LIBRARY, "--locale", own, "--recipe",
        folder / "recipe.yaml", "--steps", 120, "--output", folder / "parser")  # fmt: skip
    own.unlink()
    return folder


def parser_of(folder):
    return Parser.from_pretrained(folder / "parser", clock=lambda: NOW)


def test_rows_are_german_and_lack_english(folder):
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    said = {word for line in lines for word in json.loads(line)["utterance"].split()}
    assert {"bitte", "danke", "licht", "heizung"} <= said
    assert not said & {"please", "thanks", "hello", "you"}


def test_a_german_parser_answers_and_refuses_with_torch_and_without(folder, monkeypatch):
    parser = parser_of(folder)
    answers = {reply.sentence: [*reply.calls] for reply in parser.parse(list(ASKED))}
    assert answers == ASKED
    assert not [reply.sentence for reply in parser.parse(REFUSED) if reply.is_known]
    assert {reply.refused for reply in parser.parse(DENIED)} <= {NEGATED, OUT_OF_SCOPE}
    monkeypatch.setattr("genie_dp.parser.parser.open_arrays", lambda _: None)
    again = parser_of(folder).parse(list(ASKED))
    assert {reply.sentence: [*reply.calls] for reply in again} == ASKED


def test_the_folder_has_the_words_and_a_reply_is_german(folder):
    assert (folder / "parser" / "words.txt").exists()
    facts = json.loads((folder / "parser" / "config.json").read_text())["parser"]
    assert facts["locale"]["language"] == "words.txt"
    assert "\nlanguage: de\n" in (folder / "parser" / "README.md").read_text()
    parser = parser_of(folder)
    assert parser.use.locale.words.spelled == "de"
    (reply,) = parser.parse(["stelle die heizung im bad auf 19,5 grad"])
    assert [*reply.calls] == [
        {"name": "heizung.stellen", "arguments": {"grad": 19.5, "raum": "bad"}}
    ]
