"""Replies in the forms of those who act on them."""

import json

import pytest

from genie_dp.parser.answers import CONFIRM, REFUSALS, Answer, Reply
from genie_dp.parser.forms import FORMS, TEXT_FORMS, as_intents, in_form

CALL = {"name": "HassLightSet", "arguments": {"brightness": 40, "name": "desk lamp"}}
HERE = {"name": "HassTurnOn", "arguments": {"domain": "light", "context": "area+floor"}}


def reply(calls, refused=None):
    answer = Answer("tokens ( )", "code()", "d", 0.9, calls=calls, tree={"kind": "program"})
    return Reply("do it", ("do", "it"), (answer,), refused)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("program", "code()"),
        ("tokens", "tokens ( )"),
        ("tree", {"kind": "program"}),
        ("calls", [CALL]),
        ("hass", {"intent": {"name": "HassLightSet", "slots": {
            "brightness": {"value": 40}, "name": {"value": "desk lamp"}}}}),
    ],
)  # fmt: skip
def test_what_is_known_is_said_in_every_form(form, value):
    outcome = in_form(reply([CALL]), form)
    assert (outcome.value, outcome.refused, outcome.message) == (value, None, "")
    assert json.loads(json.dumps(value)) == value
    assert isinstance(value, str) is (form in TEXT_FORMS)


def test_several_calls_are_several_intents_but_those_that_wait_for_each_other_are_none():
    found = in_form(reply([CALL, {"name": "HassNevermind", "arguments": {}}]), "hass").value
    assert [intent["name"] for intent in found["intents"]] == ["HassLightSet", "HassNevermind"]
    steps = [{**CALL, "step": 1}, {**CALL, "step": 2}]
    assert in_form(reply(steps), "calls").value == steps
    assert in_form(reply(steps), "hass").refused == "not_in_form"


@pytest.mark.parametrize("form", FORMS)
def test_what_is_refused_is_refused_in_every_form(form):
    for refused, message in REFUSALS.items():
        outcome = in_form(reply([CALL], refused), form)
        assert (outcome.value, outcome.refused) == (None, refused)
        assert ("Did you mean this" if refused == CONFIRM else message) in outcome.message


@pytest.mark.parametrize("form", ["calls", "hass"])
def test_what_is_more_than_calls_is_said_as_it_is(form):
    outcome = in_form(reply(None), form)
    assert (outcome.value, outcome.refused) == (None, "not_in_form")
    assert outcome.message.endswith("code()")


@pytest.mark.parametrize(
    ("place", "slots"),
    [
        ({"area": "den", "floor": "attic"}, {"area": "den", "floor": "attic"}),
        ({"area": "den"}, None),
        ({}, None),
    ],
)
def test_the_place_of_the_speaker_is_filled_in_or_asked_for(place, slots):
    outcome = as_intents(reply([HERE]), place=place)
    if slots is None:
        assert (outcome.value, outcome.refused) == (None, "no_place")
        return
    found = outcome.value[0]["slots"]
    assert found == {name: {"value": x} for name, x in {"domain": "light", **slots}.items()}
    assert in_form(reply([HERE]), "hass").refused == "no_place"
    assert in_form(reply([HERE]), "calls").value == [HERE]
