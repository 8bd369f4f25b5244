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
    """

    rules: RuleSet | None
    lexicon: Lexicon | None
    number: int = 3
    lexical_share: float = 0.3
    seed: int = 0
    results: Results = "program"

    def candidates(self, rows: Iterable[Shown]) -> Iterator[tuple[Shown, tuple[Candidate, ...]]]:
        """Yield each row with its rewrites."""
        rng = KeyedRandom()
        for shown in rows:
            rng.restart(f"{self.seed}:paraphrase:{shown.example.id}".encode())
            yield shown, self._candidates(shown, rng)

    def _candidates(self, shown: Shown, rng: random.Random) -> tuple[Candidate, ...]:
        row = shown.example
        tokens = row.utterance.split(" ")
        text, values = masked(tokens, value_positions(tokens, row.program))
        found: dict[str, Candidate] = {}
        for said, made_by in self._rewritten(text, row.program, rng):
            full = unmasked(said, values)
            if full != row.utterance:
                found.setdefault(full, Candidate(full, made_by))
        return tuple(found.values())

    def _rewritten(
        self, text: str, program: str, rng: random.Random
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        wanted = self.number + _SPARE
        if self.rules is None:
            for _ in range(wanted):
                said = self._reworded(text, rng)
                if said is not None:
                    yield said, (LEXICAL,)
            return
        is_query = self.results == "all" or shows_result(program)
        for one in self.rules.rewritten(text, rng, number=wanted, is_query=is_query):
            said = self._reworded(one.utterance, rng) if rng.random() < self.lexical_share else None
            if said is None:
                yield one.utterance, one.rules
            else:
                yield said, (*one.rules, LEXICAL)

    def _reworded(self, text: str, rng: random.Random) -> str | None:
        return None if self.lexicon is None else reworded(text, self.lexicon, rng)


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
