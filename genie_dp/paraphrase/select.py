"""Chooses the synthesized sentences that people are asked to paraphrase (Genie, section 3.2).

Every row has a rank, a hash of the seed and its words; of each function signature the rows with the
lowest ranks are kept. So the choice depends on what the rows are, not on where they stand, and no
more rows are in memory than are kept.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal, get_args

from genie_dp.records import Example

Signature = tuple[str, ...]
Sort = Literal["query", "action", "easy-pair", "mixed-pair", "other-pair", "triple"]
SORTS: tuple[Sort, ...] = get_args(Sort)
# Why a row was left out; the last two are sampling, the others are rules.
REASONS: dict[str, str] = {
    "template": "a template is not in the subset",
    "function": "a function is left out",
    "words": "too many words",
    "hard": "a hard function without an easy one",
    "unrelated": "functions have nothing to do with each other",
    "values": "no example values that can be told apart",
    "share": "the signature is not in the sampled share",
    "quota": "the signature has enough sentences, or the row came before",
}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many sentences of a signature are chosen, and of which share of the signatures.

    >>> str(Rate(50)), str(Rate(1, 0.05))
    ('50', '5%')
    """

    count: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        """Check both."""
        if self.count < 0 or not 0 <= self.share <= 1:
            message = "expected count >= 0 and share in [0, 1], got"
            raise ValueError(f"{message} {self.count} and {self.share}")

    def __str__(self) -> str:
        return str(self.count) if self.share == 1 else f"{self.share * 100:g}%"


@dataclass(frozen=True, slots=True)
class SelectConfig:
    """How many sentences of which signatures are chosen.

    Attributes:
        query: sentences of each query that stands alone.
        action: of each action that stands alone.
        easy_pair: of each pair of two easy functions.
        mixed_pair: of each pair of an easy and another function, a hard one for example.
        other_pair: of pairs without an easy function; a hard function is in none of them.
        triple: of signatures of three functions and more.
        max_words: longer sentences are left out; None for no limit.
        related_only: whether compounds of unrelated functions are left out.
        seed: of the choice.
    """

    query: Rate = Rate(50)
    action: Rate = Rate(20)
    easy_pair: Rate = Rate(10)
    mixed_pair: Rate = Rate(1)
    other_pair: Rate = Rate(1, 0.05)
    triple: Rate = Rate(1, 0.10)
    max_words: int | None = 30
    related_only: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the limit."""
        if self.max_words is not None and self.max_words < 1:
            raise ValueError(f"max_words must be at least 1, got {self.max_words}")

    def rate(self, sort: Sort) -> Rate:
        """Return the rate of a sort of signatures."""
        rate: Rate = getattr(self, sort.replace("-", "_"))
        return rate


def _anything(_: Example) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of rows and functions.

    Attributes:
        kind: function -> "query" or "action"; None if nobody knows it.
        is_easy: whether people understand a function at once.
        is_hard: whether a function needs an easy one beside it.
        takes_function: whether a function may occur at all.
        takes_templates: whether all templates of a row may be paraphrased.
        is_related: whether the functions of a row have to do with each other.
    """

    kind: Callable[[str], str | None] = lambda _: None
    is_easy: Callable[[str], bool] = lambda _: False
    is_hard: Callable[[str], bool] = lambda _: False
    takes_function: Callable[[str], bool] = lambda _: True
    takes_templates: Callable[[Example], bool] = _anything
    is_related: Callable[[Example], bool] = _anything


@dataclass(slots=True)
class Signed:
    """What came of one signature: how many rows it had, were left out and were chosen."""

    sort: Sort
    rows: int = 0
    kept: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Selection:
    """The chosen rows in the order of their ranks, and what came of each signature."""

    rows: tuple[Example, ...]
    signatures: dict[Signature, Signed]

    @property
    def left_out(self) -> Counter[str]:
        """Return how many rows were left out for each reason."""
        return sum((signed.left_out for signed in self.signatures.values()), Counter())


def select(
    rows: Iterable[Example], rules: Rules | None = None, config: SelectConfig | None = None
) -> Selection:
    """Return the rows to paraphrase; their order is random, but the same for equal rows and seed.

    >>> rows = [Example(f"S{n}", f"show {n}", "p", functions=("@a.f",)) for n in range(90)]
    >>> len(select(rows).rows), len(select(rows, config=SelectConfig(query=Rate(3))).rows)
    (50, 3)
    >>> select(rows).rows == select(reversed(rows)).rows
    True
    """
    chosen = _Chosen(rules or Rules(), config or SelectConfig())
    for row in rows:
        chosen.add(row)
    return chosen.result()


_PAIRS: tuple[Sort, ...] = ("other-pair", "mixed-pair", "easy-pair")


def sort_of(signature: Signature, rules: Rules) -> Sort:
    """Return the sort of a signature, which says its rate.

    >>> sort_of(("@a.f", "@b.g"), Rules(is_easy=lambda f: f == "@b.g"))
    'mixed-pair'
    """
    if len(signature) > 2:
        return "triple"
    if len(signature) == 2:
        easy = sum(map(rules.is_easy, signature))
        return _PAIRS[easy]
    is_action = len(signature) == 1 and rules.kind(signature[0]) == "action"
    return "action" if is_action else "query"


@dataclass(slots=True)
class _Chosen:
    """The rows of each signature with the lowest ranks, as heaps whose first is the one to go."""

    rules: Rules
    config: SelectConfig
    signatures: dict[Signature, Signed] = field(default_factory=dict)
    heaps: dict[Signature, list[tuple[int, Example]]] = field(default_factory=dict)
    ranks: dict[Signature, set[int]] = field(default_factory=dict)

    def add(self, row: Example) -> None:
        """Keep a row if it is among the first of its signature so far."""
        signature = row.functions
        signed = self.signatures.get(signature)
        if signed is None:
            signed = self.signatures[signature] = Signed(sort_of(signature, self.rules))
        signed.rows += 1
        reason = self._refusal(row, signed.sort) or self._quota(row, signed.sort)
        if reason:
            signed.left_out[reason] += 1

    def _refusal(self, row: Example, sort: Sort) -> str:
        rules, config = self.rules, self.config
        if not rules.takes_templates(row):
            return "template"
        if not all(map(rules.takes_function, row.functions)):
            return "function"
        if config.max_words is not None and row.utterance.count(" ") >= config.max_words:
            return "words"
        if _is_hard_alone(row.functions, rules):
            return "hard"
        if config.related_only and not rules.is_related(row):
            return "unrelated"
        rate = config.rate(sort)
        is_out = rate.share < 1 and _fraction(config.seed, *row.functions) >= rate.share
        return "share" if is_out else ""

    def _quota(self, row: Example, sort: Sort) -> str:
        """Keep the row, or another one, or the better of both; one of them goes."""
        heap = self.heaps.setdefault(row.functions, [])
        ranks = self.ranks.setdefault(row.functions, set())
        rank = _hash(self.config.seed, row.utterance, row.program)
        if rank in ranks:
            _keep_least_id(heap, -rank, row)
            return "quota"
        room = self.config.rate(sort).count
        if len(heap) < room:
            heapq.heappush(heap, (-rank, row))
            ranks.add(rank)
            return ""
        if room and -rank > heap[0][0]:
            worst, _ = heapq.heapreplace(heap, (-rank, row))
            ranks.remove(-worst)
            ranks.add(rank)
        return "quota"

    def result(self) -> Selection:
        """Return what was chosen."""
        kept = [(-turned, row) for heap in self.heaps.values() for turned, row in heap]
        for signature, heap in self.heaps.items():
            self.signatures[signature].kept = len(heap)
        return Selection(tuple(row for _, row in sorted(kept, key=itemgetter(0))), self.signatures)


def _keep_least_id(heap: list[tuple[int, Example]], turned: int, row: Example) -> None:
    """Keep one of two equal rows, the same one whichever comes first."""
    place = next(i for i, kept in enumerate(heap) if kept[0] == turned)
    if row.id < heap[place][1].id:
        heap[place] = (turned, row)


def _is_hard_alone(functions: Signature, rules: Rules) -> bool:
    return (
        len(functions) > 1
        and any(map(rules.is_hard, functions))
        and not any(map(rules.is_easy, functions))
    )


def _hash(seed: int, *parts: str) -> int:
    text = "\0".join((str(seed), *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=12).digest(), "big")


def _fraction(seed: int, *parts: str) -> float:
    return _hash(seed, "signature", *parts) / 2**96
