"""Phrases of the skills whose words are values elsewhere: "radio four", "walked today".

Templates have "the steps that i walked today" for a function of today, and "before today" with a
date. Only the words around tell which, and those are learned from synthesized rows. So are words
that may be glued to a number: where rows have `NUMBER_0 minutes`, "5minutes" has a number.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from genie_dp.locale import Words
from genie_dp.parser.reading.name_keys import parts_of
from genie_dp.parser.reading.reading import WORDS, Reading, ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.skills.words import tokenize

Pair = tuple[str, str]
_BEHIND_NUMBER = re.compile(r"\bNUMBER_\d+ ((?:(?:~ )?- )?(?:~ )?[^\W\d_]+)(?!\S)")
_NUMBER_IN_WORD = re.compile(r"(\d+(?:\.\d+)?)(-?[^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Where words stay words.

    Attributes:
        before: (word before, words).
        after: (words, word after).
        says_halves: "and a half" stands behind numbers, which have their place without it.
        behind_numbers: words behind numbers, such as "minutes", "-minute".
    """

    before: frozenset[Pair] = frozenset()
    after: frozenset[Pair] = frozenset()
    says_halves: bool = False
    behind_numbers: frozenset[str] = frozenset()

    def __or__(self, other: "Phrases") -> "Phrases":
        return Phrases(
            self.before | other.before,
            self.after | other.after,
            self.says_halves or other.says_halves,
            self.behind_numbers | other.behind_numbers,
        )

    def numbers_in_words(
        self, s: TextTokens, candidates: Sequence[ValueCandidate]
    ) -> Iterator[ValueCandidate]:
        """Yield the numbers that are one word with the next: the 5 of "5-minute".

        They are a second choice, for the word may be a name ("7up"), or a duration.
        """
        if not self.behind_numbers:
            return
        for place, word in enumerate(s.words):
            match = _NUMBER_IN_WORD.fullmatch(word)
            if match is not None and match[2] in self.behind_numbers:
                start = s.starts[place]
                end = start + len(match[1])
                is_weak = all(end <= c.start or c.end <= start for c in candidates)
                yield ValueCandidate(start, end, "NUMBER", match[1], is_weak, False, "")

    def weaken(self, candidates: Sequence[ValueCandidate], s: TextTokens) -> list[ValueCandidate]:
        """Return the candidates; those of a known phrase only for callers who ask for more.

        A number of a phrase is spelled as the skills spell it: "radio 7" is their "radio seven".
        """
        if not self.before and not self.after:
            return list(candidates)
        starts = {start: i for i, start in enumerate(s.starts)}
        ends = {end: i for i, end in enumerate(s.ends)}
        spans: list[tuple[int, int]] = []
        spelled: list[ValueCandidate] = []
        for c in candidates:
            first, last = starts.get(c.start), ends.get(c.end)
            if c.is_weak or first is None or last is None:
                continue
            words, before, after = s.words[first : last + 1], s.word(first - 1), s.word(last + 1)
            spelling = self._said_as(" ".join(words), before, after, s.locale.words)
            if spelling is not None:
                spans.append((c.start, c.end))
                if spelling != " ".join(words):
                    spelled.append(ValueCandidate(c.start, c.end, WORDS, "", after=spelling))
        weakened = [
            c._replace(is_weak=True)
            if any(start <= c.start and c.end <= end for start, end in spans)
            else c
            for c in candidates
        ]
        return weakened + spelled

    def _said_as(self, words: str, before: str, after: str, known: Words) -> str | None:
        """Return the words that the skills have here, if they have them; "7" may be "seven"."""
        if (before, words) in self.before or (words, after) in self.after:
            return words
        number = _number_of(words, known)
        if number is None:
            return None
        by_before, by_after = _by_number(self, known)
        return by_before.get((before, number)) or by_after.get((number, after))

    def without_numbers(self, before: set[str], after: set[str], known: Words) -> "Phrases":
        """Return the phrases without numbers beside words that stand beside any number, too.

        Args:
            before, after: the words before numbers, and behind them.
            known: those of the language.
        """
        return replace(
            self,
            before=frozenset(
                pair for pair in self.before
                if pair[0] not in before or _number_of(pair[1], known) is None
            ),
            after=frozenset(
                pair for pair in self.after
                if pair[1] not in after | known.function_words or _number_of(pair[0], known) is None
            ),
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Return the phrases as JSON has them, to be saved with a parser."""
        return {
            "before": sorted(map(list, self.before)),
            "after": sorted(map(list, self.after)),
            "says_halves": self.says_halves,
            "behind_numbers": sorted(self.behind_numbers),
        }


NO_PHRASES = Phrases()


@lru_cache(maxsize=4096)
def _number_of(words: str, known: Words) -> str | None:
    parts = parts_of(tuple(words.split(" ")), known)
    return parts[0].text if len(parts) == 1 and parts[0].is_number else None


@lru_cache(maxsize=64)
def _by_number(phrases: Phrases, known: Words) -> tuple[dict[Pair, str], dict[Pair, str]]:
    """Return the words of phrases by the word before, or behind, and their number."""
    before, after = dict[Pair, str](), dict[Pair, str]()
    for word, number_words in sorted(phrases.before):
        if (number := _number_of(number_words, known)) is not None:
            before.setdefault((word, number), number_words)
    for number_words, word in sorted(phrases.after):
        if (number := _number_of(number_words, known)) is not None:
            after.setdefault((number, word), number_words)
    return before, after


def from_dict(data: dict[str, Any]) -> Phrases:
    """Return the phrases that `Phrases.as_dict` gave.

    >>> phrases = Phrases(frozenset((("radio", "four"),)))
    >>> from_dict(phrases.as_dict()) == phrases
    True
    """
    before = frozenset((first, second) for first, second in data["before"])
    after = frozenset((first, second) for first, second in data["after"])
    behind = frozenset(map(str, data.get("behind_numbers", ())))
    return Phrases(before, after, bool(data.get("says_halves", False)), behind)


def behind_numbers(utterance: str) -> Iterator[str]:
    """Yield the words directly behind a row's numbers.

    >>> list(behind_numbers("set a NUMBER_0 - minute timer to NUMBER_1 percent"))
    ['-minute', 'percent']
    """
    for words in _BEHIND_NUMBER.findall(utterance):
        yield words.replace("~ ", "").replace(" ", "")


_LEAST = 2  # rows that must have a phrase


def learn(rows: Iterable[tuple[str, Reading, Reading]], words: Words) -> Phrases:
    """Return the phrases whose words stay words.

    Args:
        rows: of each row the sentence, the reader's first choice, and the one that its program
            agrees with (`prepare.phrases_of` makes them of synthesized rows).
        words: those of the language of the rows.
    """
    before: Counter[Pair] = Counter()
    after: Counter[Pair] = Counter()
    value_counts: Counter[Pair] = Counter()
    for text, first, right in rows:
        right_spans = {value.span for value in right.values.values()}
        for value in first.values.values():
            start, end = value.span
            value_words = " ".join(tokenize(value.text))
            preceding = (tokenize(text[:start]) or ("",))[-1]
            following = (tokenize(text[end:]) or ("",))[0]
            if value.span in right_spans:
                value_counts.update(((preceding, value_words), (value_words, following)))
                continue
            before[preceding, value_words] += (
                preceding not in words.around_values and preceding != ""
            )
            after[value_words, following] += (
                following not in words.around_values and following != ""
            )
    return Phrases(
        frozenset(p for p, n in before.items() if n >= _LEAST and not value_counts[p]),
        frozenset(p for p, n in after.items() if n >= _LEAST and not value_counts[p]),
    )
