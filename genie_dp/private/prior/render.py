"""DP programs said again by the templates: several clean sentences for each of them.

The second stage of a two-stage generator makes a sentence of each program, and sometimes the wrong
one. Here the templates say it, so a pair of sentence and program cannot be corrupt. All of this is
post-processing: it costs no privacy.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any, Protocol, TypeVar

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.fills import fills
from genie_dp.records import Example, Slot
from genie_dp.synthesis.describe import Describer, Description, Draft
from genie_dp.synthesis.explain import Explainer, Node

# Sentences looked at for each one that is kept: so that they differ in more than a "please".
_POOL = 12
# By how much a sentence may be less natural than another for the words that it adds: a place in
# the order costs as much as a fiftieth of the words (found by reading 300 sentences).
_PLACE = 0.02


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A program that no template can say, and why; `times` is how often it was drawn."""

    program: str
    times: int
    reason: str


@dataclass(slots=True)
class Renderer:
    """Says programs by one grammar; indexing it takes seconds, so keep it.

    Attributes:
        describer: from programs to sentences.
        explainer: from sentences to programs: what has two is said of none.
        sentences: how many for each program, at most.
    """

    describer: Describer
    explainer: Explainer
    sentences: int = 5

    def say(self, program: str) -> tuple[Example, ...] | str:
        """Return rows for a program, the most natural first, or why there are none."""
        found = self._said(program)
        return found if isinstance(found, str) else tuple(map(self._row, found))

    def _said(self, program: str) -> list[Description] | str:
        """Return sentences for a program, or why there are none."""
        try:
            found = self.describer.drafts(program, self.sentences * _POOL)
        except GenieError as error:
            return error.problems[0].message
        first = found[0].described()
        if not first.complete:
            return f"no template says: {'; '.join(first.missing)}"
        clear = (draft.described() for draft in varied(found) if self._is_clear(draft))
        return list(islice(clear, self.sentences)) or "its sentences mean other programs, too"

    def _is_clear(self, one: Draft) -> bool:
        return self.explainer.meanings(one.utterance) == {one.program}

    def _row(self, one: Description) -> Example:
        language, library = self.describer.compiled.language, self.describer.library
        tree = language.from_tokens(one.program)
        assert one.derivation is not None  # the description is complete
        return Example(
            "",
            one.utterance,
            one.program,
            language.name,
            "private",
            derivation=tuple(_templates(one.derivation)),
            functions=tuple(language.functions(tree).elements()),
            depth=one.derivation.depth,
            slots=_slots(language.name, library, tree),
        )


def numbered(
    times: Mapping[str, int],
    said: Callable[[], Iterable[tuple[Example, ...] | str]],
    sentences: int,
) -> Iterator[Example | Unsaid]:
    """Yield the rows of programs with ids and weights, and what could not be said.

    The weights of a program's rows sum to as much as it was drawn, however few its rows are, so
    that learning sees programs as often as they are asked for. Rows of a program with all
    `sentences` weigh 1 on average. Programs that are said alike, such as those that differ in
    values only, are one program: the first has the rows, and the draws of all.

    Args:
        times: program -> how often it was drawn.
        said: returns what `Renderer.say` found for each of them, in order; asked for twice.
        sentences: of a program, at most.
    """
    firsts = tuple(_firsts(said()))
    draws = Counter[int]()
    for first, drawn in zip(firsts, times.values(), strict=True):
        draws[first] += drawn
    mean = sum(times.values()) / max(1, len(draws))
    for number, ((program, drawn), rows) in enumerate(zip(times.items(), said(), strict=True)):
        if isinstance(rows, str):
            yield Unsaid(program, drawn, rows)
        elif firsts[number] == number:
            weight = round(draws[number] / mean * sentences / len(rows), 4)
            yield from (replace(r, id=f"V{number}-{k}", weight=weight) for k, r in enumerate(rows))


def _firsts(said: Iterable[tuple[Example, ...] | str]) -> Iterator[int]:
    """Yield for each program the place of the first that is said alike: mostly its own."""
    met: dict[str, int] = {}
    for place, rows in enumerate(said):
        texts = [] if isinstance(rows, str) else [row.utterance for row in rows]
        # A sentence that is kept means one program: where one is known, all are.
        first = next((met[text] for text in texts if text in met), place)
        met.update((text, first) for text in texts)
        yield first


class _Said(Protocol):
    @property
    def utterance(self) -> str: ...


_Sentence = TypeVar("_Sentence", bound=_Said)


def varied(found: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """Yield sentences for one program: the most natural first, then what adds most to those before.

    Args:
        found: the sentences, the most natural first.
    """
    left = {place: _pairs(one.utterance) for place, one in enumerate(found)}
    met: set[tuple[str, str]] = set()
    while left:
        best = max(left, key=lambda place: (_new(left[place], met) - _PLACE * place, -place))
        yield found[best]
        met |= left.pop(best)


def _new(pairs: frozenset[tuple[str, str]], met: set[tuple[str, str]]) -> float:
    """Return the share of neighbouring words that no chosen sentence has."""
    return len(pairs - met) / len(pairs) if pairs else 0.0


def _pairs(utterance: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(("", *utterance.split(), "")))


def _templates(node: Node) -> Iterator[str]:
    if node.template:
        yield node.template
    for child in node.children:
        yield from _templates(child)


def _slots(language: str, library: Any, tree: Any) -> dict[str, Slot]:
    if language != "thingtalk":
        return {}
    return {token: Slot(type_, parameter) for token, type_, parameter in fills(library, tree)}
