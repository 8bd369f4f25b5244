"""Paraphrases by rewrite rules and by words of the same meaning: nothing to install, no waiting.

A rule set chooses among the rewrites of a sentence, and makes several at once.
"""

import operator
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.auto import ParaphraseCandidate
from genie_dp.paraphrase.lexical import SynonymLexicon, replace_words, value_positions
from genie_dp.paraphrase.rules_match import (
    CompiledOutput,
    CompiledRule,
    Edit,
    RuleMatch,
    compile_rule,
    edits,
    keys_of,
    matches,
    replace_match,
    with_articles,
)
from genie_dp.paraphrase.rules_syntax import RewriteRule, RuleFile, parse_rules
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.resources import data_folder
from genie_dp.rng import KeyedRandom
from genie_dp.texts import read_text

# How many rewrites a paraphrase gets: one, two or three. More and the sentence no longer shows
# what each does; one alone is often nearly a copy.
_STEPS = (0.35, 0.75)
_TRIES = 4  # draws for each paraphrase that is wanted


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A paraphrase and the rules that made it."""

    utterance: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Compiled rules.

    Attributes:
        by_key: key of a sentence (see `rules_match.keys_of`) -> rules that may fit.
        excluded: group -> groups of which no rule is taken beside one of it.
    """

    rules: tuple[CompiledRule, ...]
    by_key: Mapping[str, tuple[CompiledRule, ...]]
    excluded: Mapping[str, frozenset[str]]

    def fitting(self, utterance: str) -> tuple[RuleMatch, ...]:
        """Return all matches in a sentence, by rule, then from left to right."""
        text = utterance + " "
        rules = self._candidates(utterance, is_query=True)
        return tuple(match for rule in rules for match in matches(rule, text))

    def _candidates(self, utterance: str, *, is_query: bool) -> list[CompiledRule]:
        """Return the rules whose words a sentence has, in their order."""
        keys = keys_of(utterance)
        rules: dict[int, CompiledRule] = {}
        for key in keys:
            for rule in self.by_key.get(key, ()):
                if is_query or rule.rule.kind == "any":
                    rules[rule.number] = rule
        named = keys.keys()
        fitting = (rules[number] for number in sorted(rules) if rules[number].required <= named)
        return [r for r in fitting if not r.rule.unless or r.rule.unless.isdisjoint(keys)]

    def rewritten(
        self, utterance: str, rng: random.Random, *, number: int, is_query: bool = True
    ) -> Iterator[Rewrite]:
        """Yield up to `number` different paraphrases of a sentence, drawn when they are asked for.

        Args:
            is_query: whether the program shows a result; rules with `if: query` need that.
        """
        text = utterance + " "
        places = [
            _RuleMatches(rule, text) for rule in self._candidates(utterance, is_query=is_query)
        ]
        met = {utterance}
        for _ in range(number * _TRIES if places else 0):
            rewrite = self._one(utterance, places, rng)
            if rewrite is not None and rewrite.utterance not in met:
                met.add(rewrite.utterance)
                yield rewrite
                if len(met) > number:
                    return
            places = [place for place in places if not place.is_idle]

    def _one(
        self, utterance: str, places: Sequence["_RuleMatches"], rng: random.Random
    ) -> Rewrite | None:
        """Return one paraphrase: changes that go together, then at most one of the order."""
        draw = rng.random()
        steps = 1 + sum(draw >= bound for bound in _STEPS)
        taken: list[_RuleChange] = []
        rules: list[str] = []
        groups: set[str] = set()
        late: tuple[CompiledRule, CompiledOutput] | None = None
        for place in _in_random_order(places, rng):
            if len(rules) == steps:
                break
            rule = place.compiled.rule
            if rule.group in groups or not place.matches:
                continue
            match = place.matches[int(rng.random() * len(place.matches))]
            index = int(rng.random() * len(rule.outputs))
            change = place.change(match, index)
            if change is None:
                if late is not None:
                    continue
                late = place.compiled, place.compiled.outputs[index]
            elif not change.edits or any(change.meets(earlier) for earlier in taken):
                continue
            else:
                taken.append(change)
            rules.append(rule.id)
            groups |= self.excluded.get(rule.group, frozenset())
        text = _apply_edits(utterance + " ", [edit for change in taken for edit in change.edits])
        if late is not None:
            again = next(matches(late[0], text), None)
            if again is None:
                return None
            text = replace_match(again, late[1])
            if not _in_same_order(utterance, text):
                return None
        text = with_articles(text[:-1], utterance)
        return None if _repeats_word(text) else Rewrite(text, tuple(rules))


@dataclass(frozen=True, slots=True)
class _RuleChange:
    """The edits of one rewrite, and the spans whose words it relies on."""

    edits: tuple[Edit, ...]
    spans: tuple[tuple[int, int], ...]

    def meets(self, other: "_RuleChange") -> bool:
        return _overlap(self.edits, other.spans) or _overlap(other.edits, self.spans)


class _RuleMatches:
    """A rule that may fit a sentence; where and what it changes is found when it is drawn."""

    __slots__ = ("_changes", "_matches", "compiled", "text", "weight")

    def __init__(self, compiled: CompiledRule, text: str):
        self.compiled = compiled
        self.text = text
        self.weight = compiled.rule.weight
        self._matches: tuple[RuleMatch, ...] | None = None
        self._changes: dict[tuple[int, int], _RuleChange | None] = {}

    @property
    def matches(self) -> tuple[RuleMatch, ...]:
        """Return the places of the sentence where the rule fits."""
        if self._matches is None:
            self._matches = tuple(matches(self.compiled, self.text))
        return self._matches

    @property
    def is_idle(self) -> bool:
        """Tell whether the rule is known to fit nowhere."""
        return self._matches == ()

    def change(self, match: RuleMatch, index: int) -> _RuleChange | None:
        """Return what output `index` changes at a match; None if it moves variables."""
        key = match.place.start(), index
        if key not in self._changes:
            output = self.compiled.outputs[index]
            change = None
            if not output.moves:
                changes = edits(match, output)
                change = _RuleChange(changes, (*match.reads, *((e.start, e.end) for e in changes)))
            self._changes[key] = change
        return self._changes[key]


def _overlap(edits: Sequence[Edit], spans: Sequence[tuple[int, int]]) -> bool:
    for edit in edits:
        first, last = edit.start, edit.end
        for start, end in spans:
            if (first < end and start < last) or (first == start and last == end):
                return True
    return False


def _in_random_order(places: Sequence[_RuleMatches], rng: random.Random) -> Iterator[_RuleMatches]:
    undrawn = list(places)
    total = sum(place.weight for place in undrawn)
    while undrawn:
        point = rng.random() * total
        index = 0
        while index < len(undrawn) - 1 and point >= undrawn[index].weight:
            point -= undrawn[index].weight
            index += 1
        total -= undrawn[index].weight
        yield undrawn.pop(index)


def _apply_edits(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _repeats_word(text: str) -> bool:
    """Tell whether a word stands twice in a row."""
    words = text.split(" ")
    return any(map(operator.eq, words, words[1:]))


def _in_same_order(before: str, after: str) -> bool:
    """Tell whether the values of each sort kept their order: their numbers count from the left.

    >>> _in_same_order("from NUMBER_0 to NUMBER_1", "to NUMBER_1 from NUMBER_0")
    False
    """
    return _values_by_sort(before.split()) == _values_by_sort(after.split())


def _values_by_sort(words: Sequence[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for word in words:
        if "A" <= word[0] <= "Z" or word[0].isdigit() or word[0] >= "\ue000":
            sort = word.rpartition("_")[0] if word[0].isascii() else ""
            values.setdefault(sort, []).append(word)
    return values


# -------------------------------------------------------------------------------- rule sets


def rule_set(*files: RuleFile) -> RuleSet:
    """Return the rules of files, ready to be matched.

    Raises:
        GenieError: two rules of one name (P115).
    """
    rules: list[CompiledRule] = []
    seen: dict[str, RewriteRule] = {}
    for file in files:
        for rule in file.rules:
            if rule.id in seen:
                message = f"{rule.id!r} stands in {seen[rule.id].span} already"
                hint = "give every rule its own name"
                raise GenieError(Problem("P115", message, rule.span, hint))
            seen[rule.id] = rule
            rules.append(compile_rule(rule, len(rules), file.maps))
    by_key: dict[str, list[CompiledRule]] = {}
    for compiled in rules:
        for key in compiled.anchors:
            by_key.setdefault(key, []).append(compiled)
    excluded: dict[str, frozenset[str]] = {}
    for groups in (groups for file in files for groups in file.once):
        for name in groups:
            excluded[name] = excluded.get(name, frozenset()) | groups
    return RuleSet(tuple(rules), {key: tuple(group) for key, group in by_key.items()}, excluded)


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
        results: which programs show a result: those that say so, or all.
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
        met = {row.utterance}
        for full, made_by in self._rewritten(text, values, row.program, rng):
            if full not in met:
                met.add(full)
                yield ParaphraseCandidate(full, made_by)

    def _rewritten(
        self, text: str, values: Sequence[str], program: str, rng: random.Random
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        count = self.number + _SPARE
        if self.rules is None:
            for _ in range(count):
                reworded = self._reworded(text, values, rng)
                if reworded is not None:
                    yield reworded, (LEXICAL,)
            return
        is_query = self.results == "all" or shows_result(program)
        for rewrite in self.rules.rewritten(text, rng, number=count, is_query=is_query):
            has_others = rng.random() < self.lexical_share
            reworded = self._reworded(rewrite.utterance, values, rng) if has_others else None
            if reworded is None:
                yield unmask_values(rewrite.utterance, values), rewrite.rules
            else:
                yield reworded, (*rewrite.rules, LEXICAL)

    def _reworded(self, text: str, values: Sequence[str], rng: random.Random) -> str | None:
        """Return a masked sentence with its values and some other words; None if none fit.

        The values are back before words are chosen, for one may be the "off" of "shut off".
        """
        if self.lexicon is None:
            return None
        full, protected = unmask_with_positions(text, values)
        return replace_words(full, self.lexicon, rng, protected=protected)


def shows_result(program: str) -> bool:
    """Tell whether a program says that it shows something, so that it can be asked for.

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
