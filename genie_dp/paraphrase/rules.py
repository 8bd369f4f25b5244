"""Paraphrases by rewrite rules and by words of the same meaning: nothing to install, no waiting."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from genie_dp.english.rules import RuleSet, rule_set
from genie_dp.english.rules_syntax import RuleFile, parse_rules
from genie_dp.paraphrase.auto import ParaphraseCandidate
from genie_dp.paraphrase.lexical import SynonymLexicon, replace_words, value_positions
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.resources import data_folder
from genie_dp.rng import KeyedRandom
from genie_dp.texts import read_text


@lru_cache(maxsize=1)
def shipped_rules() -> RuleSet:
    """Return the rules that are shipped."""
    return rule_set(*shipped_files())


def shipped_files() -> tuple[RuleFile, ...]:
    """Return the rule files that are shipped, in the order of their names."""
    folder = data_folder("paraphrase/data") / "rules"
    paths = sorted(folder.glob("*.rules"))
    return tuple(parse_rules(read_text(path), path.name) for path in paths)


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
        results: which programs show a result: those that declare it, or all.
        seed: with the row's id it decides all draws.
        names: nodes of S-expressions whose first leaf is no value; its words may change.
    """

    rules: RuleSet | None
    lexicon: SynonymLexicon | None
    number: int = 3
    lexical_share: float = 0.3
    seed: int = 0
    results: Results = "program"
    names: frozenset[str] = frozenset()

    def candidates(
        self, rows: Iterable[ShownRow]
    ) -> Iterator[tuple[ShownRow, Iterator[ParaphraseCandidate]]]:
        """Yield each row with its rewrites, each made when it is asked for, before the next row."""
        rng = KeyedRandom()
        for shown_row in rows:
            rng.restart(f"{self.seed}:paraphrase:{shown_row.example.id}".encode())
            yield shown_row, self._candidates(shown_row, rng)

    def _candidates(self, shown_row: ShownRow, rng: random.Random) -> Iterator[ParaphraseCandidate]:
        row = shown_row.example
        tokens = row.utterance.split(" ")
        text, values = mask_values(tokens, value_positions(tokens, row.program, self.names))
        seen = {row.utterance}
        for full, made_by in self._rewritten(text, values, row.program, rng):
            if full not in seen:
                seen.add(full)
                yield ParaphraseCandidate(full, made_by)

    def _rewritten(
        self, text: str, values: Sequence[str], program: str, rng: random.Random
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        count = self.number + _SPARE
        if self.rules is None:
            for _ in range(count):
                reworded = self._reword(text, values, rng)
                if reworded is not None:
                    yield reworded, (LEXICAL,)
            return
        is_query = self.results == "all" or shows_result(program)
        for rewrite in self.rules.rewritten(text, rng, number=count, is_query=is_query):
            has_others = rng.random() < self.lexical_share
            reworded = self._reword(rewrite.utterance, values, rng) if has_others else None
            if reworded is None:
                yield unmask_values(rewrite.utterance, values), rewrite.rules
            else:
                yield reworded, (*rewrite.rules, LEXICAL)

    def _reword(self, text: str, values: Sequence[str], rng: random.Random) -> str | None:
        """Return a masked sentence with its values and some other words; None if none fit.

        The values are back before words are chosen, for one may be the "off" of "shut off".
        """
        if self.lexicon is None:
            return None
        full, protected = unmask_with_positions(text, values)
        return replace_words(full, self.lexicon, rng, protected=protected)


def shows_result(program: str) -> bool:
    """Return whether a program shows its result, so that it can be asked for.

    ThingTalk does, S-expressions do not: "can i have a pizza" is no wish to see one.

    >>> shows_result("now => ( @c.q ) => notify"), shows_result("now => @c.turn_on")
    (True, False)
    >>> shows_result("( order ( pizza ham ) )")
    False
    """
    return program.endswith("=> notify")


def mask_values(tokens: Sequence[str], protected: frozenset[int]) -> tuple[str, tuple[str, ...]]:
    r"""Return a sentence with a private character for each run of protected tokens, and the runs.

    >>> mask_values(["say", "hello", "there", "now"], frozenset({1, 2}))
    ('say \ue000 now', ('hello there',))
    """
    if not protected:
        return " ".join(tokens), ()
    words: list[str] = []
    runs: list[list[str]] = []
    for index, token in enumerate(tokens):
        if index not in protected:
            words.append(token)
        elif index - 1 in protected:
            runs[-1].append(token)
        else:
            words.append(chr(_FIRST_MASK + len(runs)))
            runs.append([token])
    return " ".join(words), tuple(" ".join(run) for run in runs)


def unmask_values(text: str, runs: Sequence[str]) -> str:
    """Return a sentence with its values in the places of private characters."""
    for index, run in enumerate(runs):
        text = text.replace(chr(_FIRST_MASK + index), run)
    return text


def unmask_with_positions(text: str, runs: Sequence[str]) -> tuple[str, frozenset[int]]:
    r"""Return a sentence with its values, and the positions of their tokens.

    >>> unmask_with_positions("say \ue000 now", ("hello there",))
    ('say hello there now', frozenset({1, 2}))
    """
    all_words: list[str] = []
    places: set[int] = set()
    for token in text.split(" "):
        words = unmask_values(token, runs).split(" ")
        if words != [token]:
            places.update(range(len(all_words), len(all_words) + len(words)))
        all_words.extend(words)
    return " ".join(all_words), frozenset(places)
