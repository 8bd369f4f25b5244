"""Rule sets: which rewrites a sentence may get, and several of them at once."""

import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from genie_dp.english.rules_match import (
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
from genie_dp.english.rules_syntax import RewriteRule, RuleFile
from genie_dp.errors import GenieError, Problem

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

    def fitting(
        self, utterance: str, keys: Mapping[str, None] | None = None
    ) -> tuple[RuleMatch, ...]:
        """Return all matches in a sentence, by rule, then from left to right.

        Args:
            keys: those of the sentence, where they are known.
        """
        text = utterance + " "
        rules = self._candidates(keys_of(utterance) if keys is None else keys, is_query=True)
        return tuple(match for rule in rules for match in matches(rule, text))

    def _candidates(self, keys: Mapping[str, None], *, is_query: bool) -> list[CompiledRule]:
        """Return the rules whose words a sentence has, in their order."""
        rules: dict[int, CompiledRule] = {}
        for key in self.by_key.keys() & keys.keys():
            for rule in self.by_key[key]:
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
        rules = self._candidates(keys_of(utterance), is_query=is_query)
        places = [_RuleMatches(rule, text) for rule in rules]
        seen = {utterance}
        for _ in range(number * _TRIES if places else 0):
            rewrite = self._one(utterance, places, rng)
            if rewrite is not None and rewrite.utterance not in seen:
                seen.add(rewrite.utterance)
                yield rewrite
                if len(seen) > number:
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
    """A rule that may fit a sentence; its place and its change are found when it is drawn."""

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
        """Return whether the rule is known to fit nowhere."""
        return self._matches == ()

    def change(self, match: RuleMatch, index: int) -> _RuleChange | None:
        """Return the change of output `index` at a match; None if it moves variables."""
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
    """Return whether a word stands twice in a row."""
    words = text.split(" ")
    return any(map(operator.eq, words, words[1:]))


def _in_same_order(before: str, after: str) -> bool:
    """Return whether the values of each sort kept their order: their numbers count from the left.

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
