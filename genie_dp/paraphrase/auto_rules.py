"""Paraphrases by rewrite rules and by words of the same meaning: nothing to install, no waiting."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from genie_dp.paraphrase.auto import Candidate
from genie_dp.paraphrase.lexical import Lexicon, reworded, value_positions
from genie_dp.paraphrase.rules_engine import RuleSet
from genie_dp.paraphrase.shown import Shown
from genie_dp.rng import KeyedRandom

Results = Literal["program", "all"]
LEXICAL = "lexical"
_SPARE = 2  # candidates beyond those that are wanted: some are refused
_FIRST_MASK = 0xE000  # private characters stand for values while a sentence is rewritten


@dataclass(frozen=True, slots=True)
class RuleParaphraser:
    """Rewrites sentences; a share of the rewrites gets other words as well.

    Attributes:
        rules: None for other words only.
        lexicon: None for rules only.
        number: paraphrases that are wanted of each row.
        lexical_share: of the rewrites that get one or two other words.
        results: which programs show a result: those that say so, or all.
        seed: with the row's id it decides all draws.
        names: nodes of S-expressions whose first leaf is no value; its words may change.
    """

    rules: RuleSet | None
    lexicon: Lexicon | None
    number: int = 3
    lexical_share: float = 0.3
    seed: int = 0
    results: Results = "program"
    names: frozenset[str] = frozenset()

    def candidates(self, rows: Iterable[Shown]) -> Iterator[tuple[Shown, tuple[Candidate, ...]]]:
        """Yield each row with its rewrites."""
        rng = KeyedRandom()
        for shown in rows:
            rng.restart(f"{self.seed}:paraphrase:{shown.example.id}".encode())
            yield shown, self._candidates(shown, rng)

    def _candidates(self, shown: Shown, rng: random.Random) -> tuple[Candidate, ...]:
        row = shown.example
        tokens = row.utterance.split(" ")
        text, values = masked(tokens, value_positions(tokens, row.program, self.names))
        found: dict[str, Candidate] = {}
        for full, made_by in self._rewritten(text, values, row.program, rng):
            if full != row.utterance:
                found.setdefault(full, Candidate(full, made_by))
        return tuple(found.values())

    def _rewritten(
        self, text: str, values: Sequence[str], program: str, rng: random.Random
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        wanted = self.number + _SPARE
        if self.rules is None:
            for _ in range(wanted):
                said = self._reworded(text, values, rng)
                if said is not None:
                    yield said, (LEXICAL,)
            return
        is_query = self.results == "all" or shows_result(program)
        for one in self.rules.rewritten(text, rng, number=wanted, is_query=is_query):
            has_others = rng.random() < self.lexical_share
            said = self._reworded(one.utterance, values, rng) if has_others else None
            if said is None:
                yield unmasked(one.utterance, values), one.rules
            else:
                yield said, (*one.rules, LEXICAL)

    def _reworded(self, text: str, values: Sequence[str], rng: random.Random) -> str | None:
        """Return a masked sentence with its values and some other words; None if none fit.

        The values are back before words are chosen, for one may be the "off" of "shut off".
        """
        if self.lexicon is None:
            return None
        full, protected = unmasked_at(text, values)
        return reworded(full, self.lexicon, rng, protected=protected)


def shows_result(program: str) -> bool:
    """Tell whether a program says that it shows something, so that it can be asked for.

    ThingTalk does, S-expressions do not: "can i have a pizza" is no wish to see one.

    >>> shows_result("now => ( @c.q ) => notify"), shows_result("now => @c.turn_on")
    (True, False)
    >>> shows_result("( order ( pizza ham ) )")
    False
    """
    return program.endswith("=> notify")


def masked(tokens: Sequence[str], protected: frozenset[int]) -> tuple[str, tuple[str, ...]]:
    r"""Return a sentence with a private character for each run of protected tokens, and the runs.

    >>> masked(["say", "hello", "there", "now"], frozenset({1, 2}))
    ('say \ue000 now', ('hello there',))
    """
    if not protected:
        return " ".join(tokens), ()
    said: list[str] = []
    runs: list[list[str]] = []
    for at, token in enumerate(tokens):
        if at not in protected:
            said.append(token)
        elif at - 1 in protected:
            runs[-1].append(token)
        else:
            said.append(chr(_FIRST_MASK + len(runs)))
            runs.append([token])
    return " ".join(said), tuple(" ".join(run) for run in runs)


def unmasked(text: str, runs: Sequence[str]) -> str:
    """Return a sentence with its values in the places of private characters."""
    for index, run in enumerate(runs):
        text = text.replace(chr(_FIRST_MASK + index), run)
    return text


def unmasked_at(text: str, runs: Sequence[str]) -> tuple[str, frozenset[int]]:
    r"""Return a sentence with its values, and the positions of their tokens.

    >>> unmasked_at("say \ue000 now", ("hello there",))
    ('say hello there now', frozenset({1, 2}))
    """
    said: list[str] = []
    places: set[int] = set()
    for token in text.split(" "):
        words = unmasked(token, runs).split(" ")
        if words != [token]:
            places.update(range(len(said), len(said) + len(words)))
        said.extend(words)
    return " ".join(said), frozenset(places)
