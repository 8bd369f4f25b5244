"""Which of the candidates are values: the longest wins; and the other ways to read a text."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import words_of

# Of equally long candidates the first of these.
_ORDER = (
    "QUOTED_STRING", "EMAIL_ADDRESS", "URL", "PATH_NAME", "PHONE_NUMBER", "USERNAME", "HASHTAG",
    "DATE", "TIME", "CURRENCY", "DURATION", "MEASURE", "LOCATION", "NUMBER",
)  # fmt: skip
_RANK = {stem: rank for rank, stem in enumerate(_ORDER)}
_WEIGHED = words_of(
    """
    weigh weighs weight weighing heavy heavier lighter lift lifting lose lost gain gained lb lbs
    flour sugar potatoes apples meat chicken beef
    """
)
_MOST_DOUBTFUL = 16  # of these no more than three are read otherwise at a time: 696 ways

Options = tuple[tuple[Candidate, ...], ...]


def rank(candidate: Candidate) -> tuple[int, int, int]:
    """Return the key by which candidates are taken."""
    stem = "MEASURE" if candidate.stem.startswith("MEASURE_") else candidate.stem
    return candidate.start - candidate.end, candidate.start, _RANK[stem]


def chosen(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates that do not overlap, the longest taken first, in the order of the text."""
    taken: list[Candidate] = []
    used: set[int] = set()
    for one in sorted(candidates, key=rank):
        places = range(one.start, one.end)
        if used.isdisjoint(places):
            used.update(places)
            taken.append(one)
    return sorted(taken)


def by_context(candidates: Sequence[Candidate], words: Sequence[str]) -> list[Candidate]:
    """Return the candidates without money that is weighed."""
    if _WEIGHED.isdisjoint(words):
        return list(candidates)
    weights = {(c.start, c.end) for c in candidates if c.stem == "MEASURE_kg"}
    return [
        c._replace(is_weak=True) if c.stem == "CURRENCY" and (c.start, c.end) in weights else c
        for c in candidates
    ]


def choices(candidates: Sequence[Candidate], *, most: int) -> Iterator[tuple[int, list[Candidate]]]:
    """Yield (doubt, what to take) of up to so many ways to read, the likeliest first."""
    first = chosen([c for c in candidates if not c.is_weak])
    yield 0, first
    if most <= 1:
        return
    sites = [_options(one, candidates) for one in first]
    sites += [((), (weak,)) for weak in _free(candidates, first)]
    doubtful = [i for i, options in enumerate(sites) if len(options) > 1][:_MOST_DOUBTFUL]
    met = {tuple(first)}
    for doubt in (1, 2, 3):
        for picked in combinations(doubtful, doubt):
            others = [sites[i][1:] if i in picked else sites[i][:1] for i in range(len(sites))]
            for parts in product(*others):
                taken = tuple(sorted(c for part in parts for c in part))
                if taken in met or _overlaps(taken):
                    continue
                met.add(taken)
                yield doubt, list(taken)
                if len(met) >= most:
                    return


def _options(one: Candidate, candidates: Sequence[Candidate]) -> Options:
    """Return what may be taken in place of a candidate, itself first."""
    inside = [c for c in candidates if one.start <= c.start and c.end <= one.end and c != one]
    same = [c for c in inside if (c.start, c.end) == (one.start, one.end)]
    smaller = [c for c in inside if (c.start, c.end) != (one.start, one.end)]
    options: list[tuple[Candidate, ...]] = [(one,)]
    if one.stem in ("DATE", "TIME", "MEASURE_m", "DURATION"):
        parts = chosen([c for c in smaller if not c.is_weak])
        if parts:
            options.append(tuple(parts))
    options += [(c,) for c in sorted(same, key=rank)]
    options += [(c,) for c in smaller if c.stem != one.stem and one.stem == "DATE"]
    if one.is_soft:
        options.append(())
    return tuple(dict.fromkeys(options))


def _free(candidates: Sequence[Candidate], taken: Sequence[Candidate]) -> list[Candidate]:
    weak = [c for c in candidates if c.is_weak]
    return [c for c in weak if all(c.end <= t.start or t.end <= c.start for t in taken)]


def _overlaps(taken: Sequence[Candidate]) -> bool:
    return any(a.end > b.start for a, b in zip(taken, taken[1:], strict=False))
