"""Replies in the forms of those who act on them: a program, calls of tools, intents.

A reply that a form cannot express is refused with a code of its own; no program is shortened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp.parser.answers import Answer, Reply

NOT_IN_FORM, NO_PLACE = "not_in_form", "no_place"
PLACE = "context"
"""The argument that names the slots which the place of the speaker fills, such as "area+floor"."""

Place = Mapping[str, Any]
"""Slot -> where the speaker is, such as {"area": "kitchen"}."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A reply in a form.

    Attributes:
        value: in the form, as JSON has it; None where it is refused.
        refused: a code of REFUSALS, NOT_IN_FORM or NO_PLACE; None where it may be acted on.
        message: for the user where it is refused: a question, or the reason.
    """

    value: Any = None
    refused: str | None = None
    message: str = ""


class _UnsayableError(Exception):
    def __init__(self, code: str, message: str):
        super().__init__(code)
        self.code, self.message = code, message


def in_form(reply: Reply, form: str) -> Outcome:
    """Return a reply in a form, one of FORMS.

    >>> calls = [{"name": "HassTurnOn", "arguments": {"domain": "light"}}]
    >>> reply = Reply("lights on", (), (Answer("..", "..", "..", 0.9, calls=calls),))
    >>> in_form(reply, "hass").value
    {'intent': {'name': 'HassTurnOn', 'slots': {'domain': {'value': 'light'}}}}
    """
    return _outcome(reply, FORMS[form])


def as_calls(reply: Reply) -> Outcome:
    """Return a reply as calls, `{name, arguments}`; those of several steps have their `step`."""
    return _outcome(reply, _calls)


def as_intents(reply: Reply, *, place: Place) -> Outcome:
    """Return a reply as intents of Home Assistant, `{name, slots}`.

    Args:
        place: where the speaker is.

    >>> calls = [{"name": "HassTurnOn", "arguments": {"domain": "light", "context": "area"}}]
    >>> reply = Reply("lights on", (), (Answer("..", "..", "..", 0.9, calls=calls),))
    >>> as_intents(reply, place={"area": "den"}).value
    [{'name': 'HassTurnOn', 'slots': {'domain': {'value': 'light'}, 'area': {'value': 'den'}}}]
    >>> as_intents(reply, place={}).refused
    'no_place'
    """
    return _outcome(reply, lambda answer: _intents(answer, place))


def _outcome(reply: Reply, make: Callable[[Answer], Any]) -> Outcome:
    if not reply.is_known:
        return Outcome(None, reply.refused, reply.message)
    try:
        return Outcome(make(reply.answers[0]))
    except _UnsayableError as error:
        return Outcome(None, error.code, error.message)


def _intents(answer: Answer, place: Place) -> list[dict[str, Any]]:
    calls = _calls(answer)
    if any("step" in call for call in calls):
        raise _not_in_form("intents", "calls that wait for each other", answer)
    intents = []
    for call in calls:
        arguments = dict(call["arguments"])
        for slot in str(arguments.pop(PLACE, "")).split("+"):
            if slot and slot not in place:
                message = "I do not know where you are, and nothing else was named."
                raise _UnsayableError(NO_PLACE, message)
            if slot:
                arguments[slot] = place[slot]
        slots = {name: {"value": value} for name, value in arguments.items()}
        intents.append({"name": call["name"], "slots": slots})
    return intents


def _not_in_form(form: str, what: str, answer: Answer) -> _UnsayableError:
    message = f"I understand this, but it cannot be said as {form}: it is {what}. {answer.code}"
    return _UnsayableError(NOT_IN_FORM, message)


def _calls(answer: Answer) -> list[dict[str, Any]]:
    if answer.calls is None:
        raise _not_in_form("calls of tools", "more than that", answer)
    return answer.calls


def _intent(answer: Answer) -> dict[str, Any]:
    intents = _intents(answer, {})
    return {"intent": intents[0]} if len(intents) == 1 else {"intents": intents}


FORMS: Mapping[str, Callable[[Answer], Any]] = {
    "program": lambda answer: answer.code,
    "tokens": lambda answer: answer.program,
    "tree": lambda answer: answer.tree,
    "calls": _calls,
    "hass": _intent,
}
"""Name of a form -> what an answer is in it.

The program as people write it, its tokens, all of it as JSON, calls `{name, arguments}`, and
intents of Home Assistant with slots `{"value": ..}`.
"""
TEXT_FORMS = frozenset({"program", "tokens"})
"""Those that are text and no JSON."""
