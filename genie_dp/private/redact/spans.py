"""Findings of detectors in a text, policies that take some of them, and the mask in their place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from genie_dp.errors import GenieError, Problem

# The one token for secrets and for duplicates: with two, a data set whose secrets are all masked
# would differ from its neighbour ("Provably Confidential Language Modelling", appendix A.6, 4).
MASK = "<MASK>"

# How word processors write spaces, hyphens and apostrophes; one sign for one, so places stay.
_SPACES = "\t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212"
PLAIN = str.maketrans(f"{_SPACES}{_HYPHENS}\u2019", " " * len(_SPACES) + "-" * len(_HYPHENS) + "'")

# A place in a text: characters, the end exclusive.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text that may be a secret; it holds the place, never the text.

    Attributes:
        start, end: characters, the end exclusive.
        kind: of the secret, such as "email" or "person".
        score: how sure the detector is, from 0 to 1.
        detector: its name.
    """

    start: int
    end: int
    kind: str
    score: float
    detector: str

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end or not 0 <= self.score <= 1:
            raise ValueError(f"no place or no score: {self}")

    @property
    def place(self) -> Place:
        """Return start and end."""
        return self.start, self.end


class Detector(Protocol):
    """A detector of secrets. Its findings in a text depend on that text alone."""

    @property
    def name(self) -> str:
        """Return its name in reports."""

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the findings of each text, in any order; pieces may overlap."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which pieces are taken for secrets: those of a score of at least the threshold.

    Attributes:
        name: such as "pi".
        threshold: least score; 0 takes all that was found.
        kinds: the kinds taken, None for all.
        every_text: take every text as a whole, found or not: the conservative policy to use when
            there is none (the paper, section 3.2).
    """

    name: str
    threshold: float
    kinds: frozenset[str] | None = None
    every_text: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            message = f"expected a threshold of {self.name} from 0 to 1, got {self.threshold}"
            raise GenieError(Problem("E001", message))

    def taken(self, text: str, found: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the findings that the policy takes, by place."""
        if self.every_text:
            return (Finding(0, len(text), "text", 1.0, self.name),) if text else ()
        taken = (
            one
            for one in found
            if one.score >= self.threshold and (self.kinds is None or one.kind in self.kinds)
        )
        return tuple(sorted(taken, key=lambda one: (one.start, -one.end, one.kind, one.detector)))


def check_order(policy: Policy, conservative: Policy) -> None:
    """Refuse a conservative policy that takes less than the other.

    Raises:
        GenieError: its threshold is higher, or it takes fewer kinds.
    """
    fewer = conservative.kinds is not None and not (
        policy.kinds is not None and policy.kinds <= conservative.kinds
    )
    if not conservative.every_text and (conservative.threshold > policy.threshold or fewer):
        message = f"expected {conservative.name} to take all that {policy.name} takes"
        hint = f"give it a threshold of at most {policy.threshold}, or take all texts"
        raise GenieError(Problem("E001", message, hint=hint))


def merge_findings(text: str, found: Iterable[Finding]) -> tuple[Place, ...]:
    """Return the places of pieces; those that overlap, or touch, are one.

    So are pieces of one kind with nothing but space between them, as the words of a name, and no
    mask that is there already is cut: a piece that reaches into it takes it in.

    >>> name = [Finding(3, 7, "person", 0.9, "x"), Finding(8, 13, "person", 0.8, "x")]
    >>> merge_findings("hi John Smith, 4 pm", [*name, Finding(10, 14, "x", 0.5, "x")])
    ((3, 14),)
    """
    pieces = sorted(
        [(finding.start, finding.end, finding.kind) for finding in found]
        + [(start, end, "") for start, end in masks(text)]
    )
    out: list[tuple[int, int, str]] = []
    for start, end, kind in pieces:
        if out and _is_joined(text, out[-1], (start, end, kind)):
            before = out[-1]
            out[-1] = (before[0], max(before[1], end), kind or before[2])
        else:
            out.append((start, end, kind))
    # Masks that nothing touches stay as they are.
    return tuple((a, b) for a, b, _ in out if text[a:b] != MASK)


def _is_joined(text: str, one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    if other[0] < one[1]:
        return True
    if not one[2] or not other[2]:
        return False  # of masks that are there, those that overlap only
    between = text[one[1] : other[0]]
    return not between or (one[2] == other[2] and between.isspace())


def masks(text: str) -> tuple[Place, ...]:
    """Return the places of masks.

    >>> masks("a <MASK> b")
    ((2, 8),)
    """
    out, start = [], text.find(MASK)
    while start >= 0:
        out.append((start, start + len(MASK)))
        start = text.find(MASK, start + len(MASK))
    return tuple(out)


def put_masks(text: str, places: Sequence[Place]) -> str:
    """Return a text with a mask in each place; places are in order and do not overlap.

    >>> put_masks("call 555 now", [(5, 8)])
    'call <MASK> now'
    """
    parts, position = [], 0
    for start, end in places:
        parts += [text[position:start], MASK]
        position = end
    return "".join([*parts, text[position:]])
