"""The conversation agent of Home Assistant's example: what it decides, without Home Assistant."""

import ast
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import MissingInput
from genie_dp.parser.answers import MISSING_INPUT, UNSURE, Answer, Reply

FOLDER = Path(__file__).parents[2] / "examples/home-assistant/custom_components/genie_dp"
KINDS = {"area", "light", "name"}


@pytest.fixture(scope="module")
def agent():
    """The module, read by its path as no package of Home Assistant is there."""
    spec = importlib.util.spec_from_file_location("genie_dp_agent", FOLDER / "agent.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def answer(program, **more):
    return Answer(program, "c", "d", 0.9, **more)


def known(*calls):
    return Reply("s", ("s",), (answer("p", calls=list(calls)),))


def call(name, /, **arguments):
    return {"name": name, "arguments": arguments}


QUESTION = MissingInput("f", "b", "Number", "How bright?")
ASKED = Reply("dim the lamp", ("dim",), (answer("p", missing=(QUESTION,)),), MISSING_INPUT)


class FakeParser:
    """Gives one reply after the other, and keeps what it is asked."""

    def __init__(self, *replies):
        self.replies, self.asked = [*replies], []

    def parse(self, sentences, *, count=1, context=None, names=None):
        self.asked.append((sentences, context, names))
        reply = self.replies.pop(0)
        if isinstance(reply, GenieError):
            raise reply
        return [reply]


def decide(agent, parser, sentence, *, things=(), place=None):
    made = agent.Agent(parser, KINDS)
    return made.decide(sentence, conversation="c", things=things, place=place or {})


def test_a_command_becomes_intents(agent):
    parser = FakeParser(known(call("HassTurnOn", name="Lamp"), call("HassNevermind")))
    decision = decide(agent, parser, "lamp on and so on")
    assert decision.intents == (
        {"name": "HassTurnOn", "slots": {"name": {"value": "Lamp"}}},
        {"name": "HassNevermind", "slots": {}},
    )
    assert (decision.message, decision.asks) == ("", False)


def test_the_names_of_the_home_go_to_the_parser(agent):
    parser = FakeParser(known(call("HassNevermind")))
    things = [
        agent.Named("area", ("Den", "snug")), agent.Named("floor", ("Attic",)),
        agent.Named("light", ("Lamp",)), agent.Named("light", ("Lamp", "")),
        agent.Named("switch", ("Kettle",)),
    ]  # fmt: skip
    decide(agent, parser, "never mind", things=things)
    [(_, _, names)] = parser.asked
    # The parser knows no floors, and has one kind for devices of other sorts.
    assert names == {"area": ["Den", "snug"], "light": ["Lamp"], "name": ["Kettle"]}


def test_the_place_of_the_speaker_is_used_where_nothing_is_named(agent):
    nameless = known(call("HassTurnOff", domain="light", context="area"))
    decision = decide(agent, FakeParser(nameless), "lights off", place={"area": "Den"})
    slots = {"domain": {"value": "light"}, "area": {"value": "Den"}}
    assert decision.intents == ({"name": "HassTurnOff", "slots": slots},)
    # Else the lights of the whole house would go off.
    decision = decide(agent, FakeParser(nameless), "lights off")
    assert (decision.intents, decision.asks) == ((), False)
    assert "where you are" in decision.message


def test_a_question_is_answered_by_the_next_sentence_of_its_conversation(agent):
    parser = FakeParser(ASKED, known(call("HassLightSet", brightness=30)), known(call("X")))
    made = agent.Agent(parser, KINDS)
    asked = made.decide("dim the lamp", conversation="a", things=(), place={})
    assert (asked.message, asked.asks, asked.intents) == ("How bright?", True, ())
    made.decide("30", conversation="b", things=(), place={})
    made.decide("30", conversation="a", things=(), place={})
    assert [context for _, context, _ in parser.asked] == [None, None, ASKED]


def test_questions_are_not_kept_for_ever(agent):
    parser = FakeParser(*[ASKED] * 102)
    made = agent.Agent(parser, KINDS)
    for number in (*range(101), 0):
        made.decide("dim", conversation=str(number), things=(), place={})
    assert parser.asked[-1][1] is None


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply("s", ("s",), (), UNSURE), "I do not know: the nearest"),
        (GenieError(Problem("I002", "too long")), "I cannot read this: too long."),
        (Reply("s", ("s",), (answer("monitor x"),)), "cannot be said as calls"),
    ],
)
def test_what_is_not_understood_is_answered_in_text(agent, reply, message):
    decision = decide(agent, FakeParser(reply), "hm")
    assert message in decision.message
    assert (decision.intents, decision.asks) == ((), False)


def test_long_texts_are_not_parsed(agent):
    # The parser has no reply to give.
    assert "longer than 500" in decide(agent, FakeParser(), "x" * 501).message


def test_the_decision_needs_nothing_of_home_assistant():
    tree = ast.parse((FOLDER / "agent.py").read_text())
    froms = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    plain = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    names = {name.split(".")[0] for name in (*froms, *(alias.name for alias in plain))}
    assert names == {"collections", "dataclasses", "genie_dp", "pathlib", "typing"}


def test_the_files_are_what_home_assistant_reads():
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    assert manifest["domain"] == FOLDER.name
    assert {"version", "requirements", "config_flow"} <= set(manifest)
    strings = json.loads((FOLDER / "strings.json").read_text())
    assert json.loads((FOLDER / "translations/en.json").read_text()) == strings
    flow = (FOLDER / "config_flow.py").read_text()
    assert all(f'"{error}"' in flow for error in strings["config"]["error"])
    for path in FOLDER.glob("*.py"):
        compile(path.read_text(), str(path), "exec")
