"""Tasks for crowd workers, as rows of the CSV that Mechanical Turk makes a batch of.

What a page shows goes through one column of each sentence, percent-encoded JSON: of letters, digits
and `%-._~` only, it is the same whether or not a platform escapes what it puts into the page.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

from genie_dp.paraphrase.forms import forms
from genie_dp.paraphrase.shown import Shown, ShownValue
from genie_dp.rng import stream

SENTENCES = 4  # of a task, and paraphrases of a sentence: Genie, section 3.2
PARAPHRASES = 2
_MOST_FORMS = 200  # that a page checks for; others are left to `collect`
# A control for sentences that nothing else differs from.
_FAR = ("What is the capital of the country with the most volcanoes", "Water the tulips by hand")


T = TypeVar("T")


def groups(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield items in groups of a size; the last group may be smaller.

    >>> list(groups("abcde", 2))
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    left = iter(items)
    while group := tuple(islice(left, size)):
        yield group


def encoded(content: Any) -> str:
    """Return plain data as text that is safe in any cell and any page.

    >>> encoded({"sentence": "<b>"})
    '%7B%22sentence%22%3A%22%3Cb%3E%22%7D'
    """
    return quote(json.dumps(content, ensure_ascii=False, separators=(",", ":")), safe="")


def paraphrase_columns(sentences: int = SENTENCES) -> tuple[str, ...]:
    """Return the header of a batch of paraphrase tasks.

    >>> paraphrase_columns(1)
    ('id1', 'sentence1', 'data1')
    """
    return tuple(f"{name}{n + 1}" for n in range(sentences) for name in ("id", "sentence", "data"))


def paraphrase_tasks(
    rows: Iterable[Shown], *, sentences: int = SENTENCES
) -> Iterator[dict[str, str]]:
    """Yield one row of the batch for each task; the last one may have empty cells at its end."""
    for group in groups(rows, sentences):
        task = dict.fromkeys(paraphrase_columns(sentences), "")
        for n, shown in enumerate(group, 1):
            task[f"id{n}"] = shown.example.id
            task[f"sentence{n}"] = shown.sentence
            task[f"data{n}"] = encoded(
                {"sentence": shown.sentence, "values": [_asked(value) for value in shown.values]}
            )
        yield task


def _asked(value: ShownValue) -> dict[str, Any]:
    """Return what a page needs to look for a value: how it is shown, and how it may be written."""
    ways = forms(value.stem, value.bare)
    if value.text[:1] in ('"', "@", "#") or len(ways) > _MOST_FORMS:
        return {"text": value.text, "forms": []}
    return {"text": value.text, "forms": sorted({"".join(way) for way in ways})}


# ------------------------------------------------------------------------------ validation


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paraphrase that passed the checks and waits for votes: its id, and what was typed."""

    id: str
    typed: str


def validation_columns(sentences: int = SENTENCES) -> tuple[str, ...]:
    """Return the header of a batch of validation tasks.

    >>> validation_columns(1)
    ('id1', 'sentence1', 'paraphrases1', 'same1', 'different1', 'data1')
    """
    names = ("id", "sentence", "paraphrases", "same", "different", "data")
    return tuple(f"{name}{n + 1}" for n in range(sentences) for name in names)


def validation_tasks(
    rows: Sequence[Shown],
    candidates: Mapping[str, Sequence[Candidate]],
    *,
    sentences: int = SENTENCES,
    paraphrases: int = 6,
    seed: int = 0,
) -> Iterator[dict[str, str]]:
    """Yield tasks in which workers say which paraphrases mean the same as the sentence.

    Among them stand two controls: the sentence itself, and another one that means something else.
    `paraphrasesN` holds the ids in the order shown, with `-` for the controls, whose places, from
    1, are in `sameN` and `differentN`; no page shows these columns.

    Args:
        rows: all rows that were shown, for the controls as well.
        candidates: row id -> its paraphrases; more than `paraphrases` become further tasks.
        paraphrases: of a sentence at most, without the controls.
        seed: of the shuffling; a sentence is shuffled alike wherever it stands.
    """
    asked = [
        (shown, part)
        for shown in rows
        for part in groups(candidates.get(shown.example.id, ()), paraphrases)
    ]
    others = _Others(rows)
    for group in groups(asked, sentences):
        task = dict.fromkeys(validation_columns(sentences), "")
        for n, (shown, part) in enumerate(group, 1):
            cells = _validation_cells(shown, part, others.unlike(shown, seed), seed)
            task.update({f"{name}{n}": cell for name, cell in cells.items()})
        yield task


def _validation_cells(
    shown: Shown, part: Sequence[Candidate], different: str, seed: int
) -> dict[str, str]:
    choices = [(candidate.id, candidate.typed) for candidate in part]
    choices += [("same", shown.sentence), ("different", different)]
    stream(seed, "validation", shown.example.id, *(c.id for c in part)).shuffle(choices)
    names = [name for name, _ in choices]
    texts = [text for _, text in choices]
    return {
        "id": shown.example.id,
        "sentence": shown.sentence,
        "paraphrases": " ".join("-" if n in ("same", "different") else n for n in names),
        "same": str(names.index("same") + 1),
        "different": str(names.index("different") + 1),
        "data": encoded({"sentence": shown.sentence, "choices": texts}),
    }


class _Others:
    """Finds sentences that surely mean something else: of other functions, of the same skill."""

    def __init__(self, rows: Iterable[Shown]):
        self.by_skill: dict[str, list[Shown]] = {}
        self.all: list[Shown] = []
        for shown in rows:
            self.all.append(shown)
            for skill in _skills(shown):
                self.by_skill.setdefault(skill, []).append(shown)

    def unlike(self, shown: Shown, seed: int) -> str:
        """Return a sentence none of whose functions are those of the row."""
        rng = stream(seed, "validation", "different", shown.example.id)
        near = [row for skill in sorted(_skills(shown)) for row in self.by_skill.get(skill, ())]
        for pool in (near, self.all):
            for _ in range(min(50, len(pool))):
                other = rng.choice(pool)
                if not set(other.example.functions) & set(shown.example.functions):
                    return other.sentence
        return _FAR[0] if shown.sentence != _FAR[0] else _FAR[1]


def _skills(shown: Shown) -> set[str]:
    return {function.rpartition(".")[0] for function in shown.example.functions}
