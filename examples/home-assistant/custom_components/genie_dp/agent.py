"""What the agent decides: from a sentence and the names of a home to intents, or to a text.

Nothing of Home Assistant is imported here, so that it can be tested without it.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from genie_dp.errors import GenieError
from genie_dp.parser.answers import Reply
from genie_dp.parser.forms import as_intents
from genie_dp.parser.parser import Parser

MOST_CHARACTERS = 500  # of a sentence
_MOST_CONVERSATIONS = 100
_ANY = "name"  # the kind of devices whose sort has none of its own
_DONE = {"de": "Erledigt.", "en": "Done.", "es": "Hecho.", "fr": "C'est fait.", "nl": "Klaar."}
NOTHING = "I found nothing of the kind."


@dataclass(frozen=True, slots=True)
class Named:
    """Something that has names: an area, a floor, or a device.

    Attributes:
        kind: "area", "floor", or the domain of an entity, such as "light".
    """

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with a sentence.

    Attributes:
        intents: to handle, each with `name` and `slots`; none where nothing is to be done.
        message: what to say then.
        asks: whether that is a question, so that the next sentence may be the answer.
    """

    intents: tuple[Mapping[str, Any], ...] = ()
    message: str = ""
    asks: bool = False


def names_of(things: Iterable[Named], kinds: Collection[str]) -> dict[str, list[str]]:
    """Return the names of a home by the kinds of entities that a parser knows.

    >>> things = [Named("area", ("Den",)), Named("light", ("Lamp", " ")), Named("fan", ("Fan",))]
    >>> names_of(things, {"area", "light", "name"})
    {'area': ['Den'], 'light': ['Lamp'], 'name': ['Fan']}
    >>> names_of(things, {"light"})
    {'light': ['Lamp']}
    """
    found: dict[str, dict[str, None]] = {}
    for thing in things:
        kind = thing.kind if thing.kind in kinds else _ANY
        if kind in kinds and (kind != _ANY or thing.kind not in ("area", "floor")):
            said = (name.strip() for name in thing.names)
            found.setdefault(kind, {}).update(dict.fromkeys(filter(None, said)))
    return {kind: list(names) for kind, names in found.items()}


class Agent:
    """A parser, and what it asked last in each conversation. Safe for several threads."""

    def __init__(self, parser: Parser, kinds: Collection[str]):
        """Keep the parser, and the kinds of entities that it knows."""
        self.kinds = frozenset(kinds)
        self._parser = parser
        self._asked: OrderedDict[str, Reply] = OrderedDict()

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Return the agent of a parser's folder.

        Raises:
            GenieError: it cannot be read.
        """
        parser = Parser.from_pretrained(folder)
        library = parser.target.library
        return cls(parser, library.entity_types if library is not None else ())

    def decide(
        self,
        sentence: str,
        *,
        conversation: str,
        things: Iterable[Named],
        place: Mapping[str, str],
    ) -> Decision:
        """Return what is to be done with a sentence.

        Args:
            conversation: its id.
            things: what has names in this home.
            place: the area and the floor of the speaker, as far as they are known.
        """
        context = self._asked.pop(conversation, None)
        if len(sentence) > MOST_CHARACTERS:
            return Decision(message=f"This is longer than {MOST_CHARACTERS} characters.")
        try:
            [reply] = self._parser.parse(
                [sentence], context=context, names=names_of(things, self.kinds)
            )
        except GenieError as error:
            return Decision(message=f"I cannot read this: {error.problems[0].message}.")
        if reply.question:
            self._asked[conversation] = reply
            while len(self._asked) > _MOST_CONVERSATIONS:
                self._asked.popitem(last=False)
        outcome = as_intents(reply, place=place)
        if outcome.refused:
            return Decision(message=outcome.message, asks=bool(reply.question))
        return Decision(tuple(outcome.value))


def speech_of(states: Sequence[tuple[str, str]], language: str, *, is_query: bool) -> str:
    """Return what to say where the handler of an intent says nothing.

    Args:
        states: (name, state) of what was found.
        language: such as "en" or "de-AT".

    >>> speech_of([("Lamp", "on"), ("Fan", "off")], "en", is_query=True)
    'Lamp: on, Fan: off'
    >>> speech_of([], "de-AT", is_query=False)
    'Erledigt.'
    """
    if is_query:
        return ", ".join(f"{name}: {state}" for name, state in states) or NOTHING
    return _DONE.get(language.partition("-")[0], _DONE["en"])
