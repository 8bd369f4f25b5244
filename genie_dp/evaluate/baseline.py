"""A baseline without a model, far above which a parser should be: the nearest training sentence."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from genie_dp.parser.answers import Guess
from genie_dp.records import Example

_PLACEHOLDER = re.compile(r"(?<!\S)([A-Z][A-Z_]*(?:_[\w.:-]+?)?)_(\d+)(?!\S)")
_NEAREST = 50  # training sentences looked at for an n-best list


# ----------------------------------------------------------------------- nearest neighbour


class NearestNeighbour:
    """Predicts the program of the training sentence that is nearest by tf-idf over words.

    Placeholders count as words by their sort, and those of the program found get the numbers that
    the sentence has. Confidence is the cosine. Memory: the rows, and 12 bytes for each word of each
    sentence.
    """

    def __init__(self, rows: Iterable[Example], *, best: int = 1):
        """Index training rows.

        Args:
            best: length of the n-best lists: different programs, nearest first.
        """
        # Of those as near as each other the most frequent is taken, never the first of the file.
        counts = Counter((row.utterance, row.program) for row in rows)
        self._rows = sorted(counts, key=lambda row: (-counts[row], row))
        self._best = best
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, (utterance, _) in enumerate(self._rows):
            for word, times in Counter(_words(utterance)).items():
                postings[word].append((place, times))
        self._postings: dict[str, tuple[Any, Any]] = {}
        for word, pairs in postings.items():
            places = np.fromiter((place for place, _ in pairs), np.int32, len(pairs))
            times_there = np.fromiter((times for _, times in pairs), np.float64, len(pairs))
            self._postings[word] = places, times_there
        self._idf = {
            word: float(np.log((1 + len(self._rows)) / (1 + len(places)))) + 1
            for word, (places, _) in self._postings.items()
        }
        squares = np.zeros(len(self._rows))
        for word, (places, counts_there) in self._postings.items():
            squares[places] += (counts_there * self._idf[word]) ** 2
        self._norms = np.sqrt(np.maximum(squares, 1e-12))

    def predict(self, utterances: Sequence[str]) -> list[list[Guess]]:
        """Return the programs of the nearest sentences; none where no word is known.

        >>> rows = [Example("a", "add NUMBER_0 and NUMBER_1", "( add NUMBER_0 NUMBER_1 )"),
        ...     Example("b", "open the door", "( open door )")]
        >>> NearestNeighbour(rows).predict(["please add NUMBER_3 and NUMBER_1"])[0][0].program
        '( add NUMBER_3 NUMBER_1 )'
        """
        return [self._nearest(utterance) for utterance in utterances]

    def _nearest(self, utterance: str) -> list[Guess]:
        scores, norm = np.zeros(len(self._rows)), 0.0
        for word, times in sorted(Counter(_words(utterance)).items()):
            if word in self._postings:
                places, counts = self._postings[word]
                weight = times * self._idf[word]
                norm += weight**2
                scores[places] += counts * self._idf[word] * weight
        if not norm:
            return []
        scores /= self._norms * np.sqrt(norm)
        programs: dict[str, float] = {}
        for place in np.argsort(-scores, kind="stable")[:_NEAREST]:
            if scores[place] <= 0 or len(programs) == self._best:
                break
            nearest, program = self._rows[place]
            aligned = align_placeholders(program, nearest, utterance)
            programs.setdefault(aligned, min(float(scores[place]), 1.0))
        return [Guess(program, score) for program, score in programs.items()]


def _words(utterance: str) -> Iterator[str]:
    for word in utterance.split():
        match = _PLACEHOLDER.fullmatch(word)
        yield match[1] if match else word


def align_placeholders(program: str, source: str, target: str) -> str:
    """Return a program with the placeholders of another sentence, in order for each sort.

    The k-th placeholder of a sort in `source` becomes the k-th of that sort in `target`; where
    there is none, it stays.

    >>> align_placeholders("( f NUMBER_0 )", "NUMBER_0 or 1", "5 or NUMBER_4")
    '( f NUMBER_4 )'
    """
    ours, theirs = _placeholders_by_sort(source), _placeholders_by_sort(target)
    names: Mapping[str, str] = {
        old: new
        for sort in ours
        for old, new in zip(ours[sort], theirs.get(sort, ()), strict=False)
    }
    return _PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), program)


def _placeholders_by_sort(utterance: str) -> dict[str, list[str]]:
    placeholders: dict[str, list[str]] = defaultdict(list)
    for match in _PLACEHOLDER.finditer(utterance):
        if match[0] not in placeholders[match[1]]:
            placeholders[match[1]].append(match[0])
    return placeholders
