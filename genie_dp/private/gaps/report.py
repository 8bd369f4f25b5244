"""The gap report: lines for a terminal, JSON, and a page of HTML that loads nothing.

All of it follows from noisy counts, which are released, and from public things.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from genie_dp import __version__
from genie_dp.private.gaps.listen import Advice
from genie_dp.private.gaps.select import (
    HOLE,
    LEVELS,
    RELEASES,
    GapPlan,
    NoisyGaps,
    number_values,
)
from genie_dp.private.ledger.mechanisms import describe_mechanism
from genie_dp.private.prior.histogram import outside_each, simultaneous_width
from genie_dp.records import Example, Spent
from genie_dp.run.page import page_environment

SCHEMA = "genie-dp gaps 1"
GAPS = "gaps.json"
PROMISED = (
    "Whoever sees this page, and gaps.json and the templates beside it, learns little of whether "
    "any one {unit}'s rows were read, whatever else they know: the odds of it are multiplied by "
    "e^epsilon = {odds} at most; the chance that this fails is delta at most.",
    "Each {unit} adds 1 to a few counts at most (words: {words}, pairs of words: {pairs}, "
    "sentences: {sentences}), however many it said: who says the same a million times counts once.",
    "Nothing is shown that fewer than {least} {unit}s said, whatever the noise was; and what is "
    "shown was counted, with noise, for at least {shown}.",
    "The ledger had this spend before anything was counted. It refuses what is past the budget.",
)


@dataclass(frozen=True, slots=True)
class Gap:
    """A word, pair of words or sentence that enough units use.

    Attributes:
        level: one of LEVELS.
        text: tokens with spaces, with placeholders for values and holes for parts of too few units.
        units: noisy count of those that use it, of those that could count for it.
        low, high: its interval; all intervals of a report hold together with 95 %.
        advice: on the missing parts; of whole sentences alone.
    """

    level: str
    text: str
    units: int
    low: int
    high: int
    advice: Advice | None = None

    @property
    def has_hole(self) -> bool:
        """Return whether too few people use some of the words there."""
        return HOLE in self.text.split(" ")

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "advice": self.advice.as_dict() if self.advice else None}


@dataclass(frozen=True, slots=True)
class Counted:
    """A public name with its noisy count of units, and its interval; see `Gap`."""

    name: str
    units: int
    low: int
    high: int

    @property
    def is_seen(self) -> bool:
        """Return whether it is more than noise."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class GapReport:
    """The gaps that were released.

    Attributes:
        spent: the guarantee of all that the ledger released, this report included.
        gaps: whole sentences, sentences with holes, pairs, words; each by count.
        reasons, functions: public names by count.
        release: how the counts were made: settings of the noise, nothing exact.
        facts: inputs, parser or templates, and the place in the ledger.
    """

    spent: Spent
    gaps: tuple[Gap, ...]
    units: Counted
    lacking: Counted
    reasons: tuple[Counted, ...]
    functions: tuple[Counted, ...]
    release: Mapping[str, Any]
    facts: Mapping[str, Any]

    @classmethod
    def from_release(
        cls,
        released: NoisyGaps,
        plan: GapPlan,
        spent: Spent,
        advice: Mapping[str, Advice],
        facts: Mapping[str, Any],
    ) -> "GapReport":
        """Return the report of noisy counts."""
        looked_at, widths = _look_at(plan, released)

        def interval(level: str, count: int, least: int) -> tuple[int, int]:
            """Return the interval of a count; below `least` nothing is shown."""
            return max(least, count - widths[level]), max(least, count + widths[level])

        gaps = [
            Gap(
                level,
                " ".join(number_values(text.split(" "))),
                count,
                *interval(level, count, plan.least),
                advice.get(text) if level == "sentences" else None,
            )
            for level in reversed(LEVELS)
            for text, count in getattr(released, level).items()
        ]
        gaps.sort(key=lambda gap: gap.has_hole and gap.level == LEVELS[-1])  # behind the whole ones
        gaps.sort(key=lambda gap: -LEVELS.index(gap.level))

        def count_units(name: str, count: int) -> Counted:
            return Counted(name, max(0, count), *interval("totals", count, 0))

        def rank(counts: Mapping[str, int]) -> tuple[Counted, ...]:
            counts_by_name = (count_units(name, count) for name, count in counts.items())
            return tuple(sorted(counts_by_name, key=lambda one: (-one.units, one.name)))

        release = {
            "mechanism": plan.kind,
            "noise_multiplier": plan.multiplier,
            "threshold_delta": plan.threshold_delta,
            "least": plan.least,
            "reads_all": plan.reads_all,
            "mechanisms": [mechanism.as_dict() for mechanism in plan.mechanisms],
            "looked_at": looked_at,
            "above": widths["totals"],
            "levels": {
                level: {
                    "most_of_a_unit": plan.limits.of(level),
                    "deviation": round(plan.noise(level).deviation, 3),
                    "shown_from": plan.threshold(level),
                }
                for level in LEVELS
            },
        }
        described = [describe_mechanism(mechanism) for mechanism in plan.mechanisms]
        return cls(
            spent,
            tuple(gaps),
            count_units("units", released.units),
            count_units("lacking", released.lacking),
            rank(released.reasons),
            rank(released.functions),
            release,
            {**facts, "why": dict(plan.vocabulary.reasons), "described": described},
        )

    @property
    def title(self) -> str:
        """Return the title of the page."""
        return str(self.facts["title"])

    def of(self, level: str) -> tuple[Gap, ...]:
        """Return the gaps of a level."""
        return tuple(gap for gap in self.gaps if gap.level == level)

    @property
    def other_pairs(self) -> tuple[Gap, ...]:
        """Return the pairs that are in no shown sentence."""
        whole = [f" {_without_numbers(gap.text)} " for gap in self.of("sentences")]
        return tuple(
            pair
            for pair in self.of("pairs")
            if not any(f" {_without_numbers(pair.text)} " in text for text in whole)
        )

    @property
    def promised(self) -> tuple[str, ...]:
        """Return the meaning of the guarantee, in plain words."""
        levels = self.release["levels"]
        threshold = min(levels[level]["shown_from"] for level in LEVELS)
        of = {level: levels[level]["most_of_a_unit"] for level in LEVELS}
        words = {
            "unit": self.spent.unit,
            "least": self.release["least"],
            "shown": f"{threshold:,}",
            "odds": f"{math.exp(min(self.facts['epsilon'], 700.0)):,.3g}",
        }
        return tuple(line.format(**words, **of) for line in PROMISED)

    def lines(self, *, most: int) -> Iterator[str]:
        """Yield messages for the user; so many of each sort."""
        spent, unit = self.spent, self.spent.unit
        yield (
            f"private gaps: epsilon {self.facts['epsilon']:g} at delta {spent.delta:g} "
            f"({spent.accountant}) for each {unit}, {spent.relation}"
        )
        yield (
            f"about {self.units.units:,} {unit}s; of {self.lacking.units:,} something was not "
            f"understood by {self.facts['heard']['by']} "
            f"({self.lacking.low:,} to {self.lacking.high:,})"
        )
        levels = self.release["levels"]
        limits = ", ".join(f"{name} from {levels[name]['shown_from']:,} on" for name in LEVELS)
        yield f"shown are {limits}; nothing that fewer than {self.release['least']:,} {unit}s said"
        public = len(self.functions) + len(self.reasons)
        yield (
            f"of {public:,} functions and reasons those above {self.release['above']:,} {unit}s; "
            "with 95 % all intervals hold"
        )
        sorts = (
            (
                "functions that they seem to want",
                [entry for entry in self.functions if entry.is_seen],
            ),
            ("why they were not understood", [entry for entry in self.reasons if entry.is_seen]),
            ("sentences", self.of("sentences")),
            ("other pairs of words", self.other_pairs),
            ("words that no template says", self.of("words")),
        )
        for name, counts in sorts:
            if counts:
                yield f"\n{name}, {unit}s:"
            for entry in counts[:most]:
                text = entry.text if isinstance(entry, Gap) else entry.name
                unsaid = ": no template says it" if text in self.facts["unsaid"] else ""
                yield f"  {entry.units:>7,}  {text}{unsaid}  ({entry.low:,} to {entry.high:,})"
            if len(counts) > most:
                yield f"  and {len(counts) - most:,} more"
        yield ""

    def stubs(self) -> str:
        """Return a file of templates, one for each gap that has one."""
        parts = [
            "// Templates for what people ask for, to be made more general: genie-dp coverage.\n"
        ]
        stubs: dict[str, list[Gap]] = {}
        for gap in self.gaps:
            if gap.advice is not None and gap.advice.stub:
                stubs.setdefault(gap.advice.stub, []).append(gap)
        for stub, gaps in stubs.items():
            # A unit may count for several sentences: their counts are not added up.
            others = f", and {len(gaps) - 1:,} more such sentences" if len(gaps) > 2 else ""
            others = ", and another such sentence" if len(gaps) == 2 else others
            parts.append(f"// {gaps[0].units:,} {self.spent.unit}s{others}\n{stub}\n")
        return "\n".join(parts)

    def rows(self) -> Iterator[Example]:
        """Yield the rows that the templates would add, each once."""
        rows = (gap.advice.row for gap in self.gaps if gap.advice is not None and gap.advice.row)
        yield from {(row.utterance, row.program): row for row in rows}.values()

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "facts": dict(self.facts),
            "spent": asdict(self.spent),
            "promised": list(self.promised),
            "release": dict(self.release),
            "units": asdict(self.units),
            "lacking": asdict(self.lacking),
            "reasons": [asdict(count) for count in self.reasons],
            "functions": [asdict(count) for count in self.functions],
            "gaps": [gap.as_dict() for gap in self.gaps],
        }


def report_page(report: GapReport) -> str:
    """Return the page of a report."""
    environment = page_environment("genie_dp.private.gaps")
    text: str = environment.get_template("gaps.html.jinja").render(report=report)
    return text


def _without_numbers(text: str) -> str:
    return re.sub(r"(?<=[A-Za-z])_\d+(?= |$)", "", text)


def _look_at(plan: GapPlan, released: NoisyGaps) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many counts each release has, and within how much of the truth all of them lie.

    With 95 % all intervals of a report hold together. The number of names met in private rows is
    not known; it is at most the number that all units could add, to counts of at least `least`.
    """
    outside = outside_each(RELEASES)
    looked_at = {"totals": 2 + len(released.reasons) + len(released.functions)}
    widths = {"totals": simultaneous_width(plan.noise("totals"), looked_at["totals"], outside)}
    most_units = max(1, released.units + widths["totals"])
    for level in LEVELS:
        looked_at[level] = math.ceil(most_units * plan.limits.of(level) / plan.least)
        widths[level] = simultaneous_width(plan.noise(level), looked_at[level], outside)
    return looked_at, widths
