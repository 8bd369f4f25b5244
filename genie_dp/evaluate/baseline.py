"""Baselines without a model: the nearest training sentence, and the rows of Wang et al. (2015).

A parser should be far above the first. The second is what Genie is compared with in its section 6:
"training only with paraphrase data, no data augmentation, and no parameter expansion"; before it,
in section 5.2, "one construct template and one primitive template per function".
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genie_dp.dataset.scan import hash_of, program_key
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


# ----------------------------------------------------------------------- Wang et al. (2015)


@dataclass(frozen=True, slots=True)
class Wang:
    """Which rows the methodology of Wang et al. has.

    Attributes:
        paraphrases_only: the parser is trained on paraphrases, on no synthesized sentence, and on
            no copy of one that is among the rows.
        one_template: each function is said by one primitive template, and each program (values
            aside) by one derivation: its canonical sentence.
        no_expansion: no row has other values, or other words, put in.
    """

    paraphrases_only: bool = True
    one_template: bool = True
    no_expansion: bool = True


def wang_rows(
    rows: Callable[[], Iterable[Example]], settings: Wang | None = None
) -> Iterator[Example]:
    """Yield the training rows that the methodology of Wang et al. would have had.

    A paraphrase counts as said by the templates of its derivation; a template belongs to the
    function of its skill that it is used for. Kept in memory: the templates of each function,
    and for each program without its values the shortest derivation.

    Args:
        rows: reads the rows; called four times at most.
        settings: what of the methodology is applied [all].

    >>> common = dict(program="now => @com.x.f", source="paraphrase", functions=("@com.x.f",))
    >>> rows = [Example("a", "do f", derivation=("command", "com.x.VP.1"), **common),
    ...     Example("b", "run f", derivation=("please", "command", "com.x.VP.1"), **common)]
    >>> [row.id for row in wang_rows(lambda: rows)]
    ['a']
    """
    wang = settings or Wang()
    synthesized = frozenset[int]()
    if wang.paraphrases_only and not wang.no_expansion:
        synthesized = frozenset(hash_of(row.id) for row in rows() if row.source == "synthetic")

    def is_kept(row: Example) -> bool:
        if row.source == "augmented":
            return not wang.no_expansion and hash_of(row.parent) not in synthesized
        return row.source == "paraphrase" or not wang.paraphrases_only

    if not wang.one_template:
        yield from filter(is_kept, rows())
        return
    left_out = _left_out(filter(is_kept, rows()))
    derivations = _derivations(filter(is_kept, rows()), left_out)
    for row in filter(is_kept, rows()):
        if derivations.get(hash_of(program_key(row.program))) == row.derivation:
            yield row


def _left_out(rows: Iterable[Example]) -> frozenset[str]:
    """Return the primitive templates that are not the most used one of their function.

    Whose template it is can be told where a row uses one function of its skill.
    """
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        owners = Counter(_class_of(name.removeprefix("@")) for name in set(row.functions))
        for name in set(row.functions):
            owner = _class_of(name.removeprefix("@"))
            if owners[owner] == 1:
                used[name].update(t for t in row.derivation if _class_of(t) == owner)
    chosen = {min(counts, key=lambda t: (-counts[t], t)) for counts in used.values() if counts}
    return frozenset(template for counts in used.values() for template in counts) - chosen


def _class_of(name: str) -> str:
    """Return the class of a function, or of a template of a skill (`com.gmail.NP.3`)."""
    parts = name.split(".")
    if len(parts) > 2 and parts[-1].isdecimal():
        parts.pop()
    return ".".join(parts[:-1])


def _derivations(
    rows: Iterable[Example], left_out: frozenset[str]
) -> Mapping[int, tuple[str, ...]]:
    """Return the shortest derivation of each program that uses chosen primitive templates only."""
    best: dict[int, tuple[int, tuple[str, ...]]] = {}
    for row in rows:
        if row.derivation and left_out.isdisjoint(row.derivation):
            key = hash_of(program_key(row.program))
            candidate = len(row.derivation), row.derivation
            best[key] = min(best.get(key, candidate), candidate)
    return {key: derivation for key, (_, derivation) in best.items()}
