"""The rows of Wang et al. (2015), which Genie is compared with in its sections 5.2 and 6.

Section 6: "training only with paraphrase data, no data augmentation, and no parameter expansion";
before it, in section 5.2, "one construct template and one primitive template per function".
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from genie_dp.dataset.scan import hash_of, program_key
from genie_dp.records import Example


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
