"""How well policies find secrets in labelled text: precision, recall, and the miss rate gamma.

"Provably Confidential Language Modelling" (Zhao et al., 2022), Theorem 8 (3): with policies of
recall 1 - gamma and 1 - delta_2 under a distribution of secrets, training that is
(epsilon, delta)-DP on the private part is (log(1 + gamma (e^epsilon - 1)), gamma delta + delta_2)
Bayesian confidential under it. The distribution here is that of the labelled secrets, one after
another; intervals are those of Clopper and Pearson (1934), by texts.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.guard import refuse_private
from genie_dp.private.redact.config import ScoreRedaction
from genie_dp.private.redact.detectors import open_detectors
from genie_dp.private.redact.redactor import Redactor
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.sentences import Labelled, read_labelled
from genie_dp.private.redact.spans import (
    Detector,
    Finding,
    Place,
    Policy,
    merge_findings,
    put_masks,
)
from genie_dp.run.files import for_owner_alone, open_text
from genie_dp.run.stage import Output, Result

SCHEMA = "genie-dp.redaction-policies/1"
# The conservative policy that takes each text as a whole.
ALL = Policy("all", 0.0, every_text=True)
_RATES = ("recall", "gamma", "differs", "precision", "letters", "exact", "exposed")


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with the bounds of its interval.

    Attributes:
        found, of: the count, and of how many.
        low, high: bounds.
    """

    found: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """Return the share, None of nothing."""
        return self.found / self.of if self.of else None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "found": self.found,
            "of": self.of,
        }


def rate(found: int, of: int, *, level: float = 0.95) -> Rate:
    """Return a share with its exact interval; of nothing, anything is possible.

    >>> r = rate(0, 100)
    >>> r.low, round(r.high, 4)
    (0.0, 0.0362)
    """
    rest = (1 - level) / 2
    # The probability of at least `found`, and of at most `found`, is `rest` at the bounds.
    low = 0.0 if found == 0 else _where(lambda p: _above(found, of, p), rest)
    high = 1.0 if found == of else _where(lambda p: _above(found + 1, of, p), 1 - rest)
    return Rate(found, of, low, high)


def rate_by_text(counts: Iterable[tuple[int, int]], *, level: float = 0.95) -> Rate:
    """Return a share of items that come in texts, with its interval by texts.

    Secrets of one text are missed together, or not: a hundred in one text are worth no more than
    one. So the interval is that of as many as are independent in the worst case, n^2 / (the sum of
    squares of those of each text) (Kish, 1965, section 8.2; Korn and Graubard, 1998). Where each
    text has as many, it is exact.

    Args:
        counts: (how many, of how many) of each text.
        level: of the interval.

    >>> rate_by_text([(0, 1)] * 100) == rate(0, 100)
    True
    >>> found = rate_by_text([(0, 100)])
    >>> found.of, round(found.high, 3)
    (100, 0.975)
    """
    pairs = [pair for pair in counts if pair[1]]
    hits, of = sum(some for some, _ in pairs), sum(n for _, n in pairs)
    if not of:
        return rate(0, 0, level=level)
    apart = of * of // sum(n * n for _, n in pairs)
    low = rate(hits * apart // of, apart, level=level).low
    high = rate(-(-hits * apart // of), apart, level=level).high
    return Rate(hits, of, low, high)


def _where(rising: Any, value: float) -> float:
    """Return where a function that rises from 0 to 1 has a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return (low + high) / 2


def _above(k: int, n: int, p: float) -> float:
    """Return the probability of at least k of n.

    >>> round(_above(2, 2, 0.5), 9)
    0.25
    """
    if p <= 0 or p >= 1:
        return float(p >= 1 or k == 0)
    of = math.lgamma(n + 1)
    a, b = math.log(p), math.log1p(-p)
    logs = (
        of - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * a + (n - i) * b
        for i in range(k, n + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """The figures of a policy on labelled text.

    Attributes:
        policy: it.
        recall: of the secrets, the share that is taken wholly.
        gamma: of the secrets, the share of which at least a letter is left; 1 - recall.
        differs: of the secrets, the share of which the redacted text is not that of a text with a
            mask in the secret's place: the miss rate that propositions 5 and 6 need. It counts
            those of gamma, and secrets whose mask takes text beside them.
        precision: of the pieces taken, the share that has a letter of a secret.
        letters: of the letters taken, the share that is a secret's.
        exact: of the secrets, the share taken with nothing beside them.
        exposed: of the secrets, the share that is left and stands in a text of which nothing is
            taken at all: with the policy as the conservative one it would be in the public part.
        recall_by_kind: kind of the label -> recall.
    """

    policy: Policy
    recall: Rate
    gamma: Rate
    differs: Rate
    precision: Rate
    letters: Rate
    exact: Rate
    exposed: Rate
    recall_by_kind: dict[str, Rate]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return {
            "name": self.policy.name,
            "threshold": self.policy.threshold,
            "every_text": self.policy.every_text,
            "kinds": None if self.policy.kinds is None else sorted(self.policy.kinds),
            **{name: getattr(self, name).as_dict() for name in _RATES},
            "recall_by_kind": {k: r.as_dict() for k, r in self.recall_by_kind.items()},
        }


def measure_policies(
    rows: Sequence[Labelled],
    detectors: Sequence[Detector],
    policies: Sequence[Policy],
    *,
    level: float = 0.95,
) -> list[PolicyFigures]:
    """Return the figures of each policy, in the order given.

    Args:
        rows: texts with all their secrets.
        detectors: asked once for all policies' first look.
        policies: any number.
        level: of the intervals.
    """
    out = []
    for policy in policies:
        taken, differing = _redact_rows(rows, detectors, policy)
        out.append(_measure_policy(policy, rows, taken, differing, level))
    return out


def _redact_rows(
    rows: Sequence[Labelled], detectors: Sequence[Detector], policy: Policy
) -> tuple[list[tuple[Place, ...]], list[int]]:
    """Return for each text where redaction puts masks, and how many secrets leave a trace."""
    if policy.every_text:
        return [((0, len(row.text)),) if row.text else () for row in rows], [0] * len(rows)
    redactor = Redactor(tuple(detectors), policy, ALL)
    results = redactor.redact([Point(row.text) for row in rows])
    variants = [(i, text) for i, row in enumerate(rows) for text in _without_each(row)]
    differing = [0] * len(rows)
    others = redactor.redact([Point(text) for _, text in variants])
    for (i, _), result in zip(variants, others, strict=True):
        differing[i] += result.point.utterance != results[i].point.utterance
    return [result.places[0] for result in results], differing


def _without_each(row: Labelled) -> Iterator[str]:
    """Yield the text with a mask in place of each secret, wherever it stands (definition 2)."""
    for start, end, _ in row.spans:
        secret = row.text[start:end]
        findings = [
            Finding(a, b, kind, 1.0, "label") for a, b, kind in row.spans if row.text[a:b] == secret
        ]
        yield put_masks(row.text, merge_findings(row.text, findings))


def _measure_policy(
    policy: Policy,
    rows: Sequence[Labelled],
    taken: Sequence[Sequence[Place]],
    differing: Sequence[int],
    level: float,
) -> PolicyFigures:
    counted = [
        _count_hits(row, places) | {"differs": (traces, len(row.spans))}
        for row, places, traces in zip(rows, taken, differing, strict=True)
    ]
    kinds = sorted({kind for row in rows for _, _, kind in row.spans})

    def share(name: str) -> Rate:
        return rate_by_text([counts.get(name, (0, 0)) for counts in counted], level=level)

    figures = {name: share(name) for name in _RATES}
    return PolicyFigures(
        policy, **figures, recall_by_kind={kind: share(f"kind {kind}") for kind in kinds}
    )


def _count_hits(row: Labelled, places: Sequence[Place]) -> dict[str, tuple[int, int]]:
    """Return the figures of one text by name: how many, and of how many."""
    own = merge_findings(row.text, [Finding(a, b, kind, 1.0, "label") for a, b, kind in row.spans])
    whole = [any(a <= start and end <= b for a, b in places) for start, end, _ in row.spans]
    common = [sum(max(0, min(b, y) - max(a, x)) for x, y in own) for a, b in places]
    secrets = len(row.spans)
    counts = {
        "recall": (sum(whole), secrets),
        "gamma": (secrets - sum(whole), secrets),
        "precision": (sum(map(bool, common)), len(places)),
        "letters": (sum(common), sum(b - a for a, b in places)),
        "exact": (sum((start, end) in places for start, end, _ in row.spans), secrets),
        "exposed": (0 if places else secrets, secrets),
    }
    for (_, _, kind), hit in zip(row.spans, whole, strict=True):
        some, of = counts.get(f"kind {kind}", (0, 0))
        counts[f"kind {kind}"] = (some + hit, of + 1)
    return counts


# ------------------------------------------------------------------------------------ the stage


@dataclass(frozen=True, slots=True)
class PolicyResult(Result):
    """The figures of policies on labelled text, and the secrets they miss.

    Attributes:
        figures: all of them, as the file has them; of private text they are private.
        output: where they were written; None for nowhere.
    """

    figures: Mapping[str, Any]
    output: str | None

    def findings(self) -> Iterator[str]:
        """Yield the figures of public text, unless standard output has them as JSON."""
        if self.figures["text"] == "public" and self.output != "-":
            yield from self.table()

    def lines(self) -> Iterator[str]:
        """Yield the figures of public text, and where they were written."""
        if self.figures["text"] == "public":
            yield from self.table()
        if self.output not in (None, "-"):
            yield f"{len(self.figures['policies'])} policies measured -> {self.output}"

    def table(self) -> Iterator[str]:
        """Yield the figures as text: a policy a line, then its recall by kind."""
        policies = self.figures["policies"]
        yield f"{'policy':<12}" + "".join(f"{name:>24}" for name in _COLUMNS)
        for policy in policies:
            cells = (_format_rate(policy[name]) for name in _COLUMNS)
            yield f"{policy['name']:<12}" + "".join(f"{cell:>24}" for cell in cells)
        yield ""
        yield f"{'recall of':<12}" + "".join(f"{policy['name']:>24}" for policy in policies)
        for kind in policies[0]["recall_by_kind"]:
            cells = (_format_rate(policy["recall_by_kind"][kind]) for policy in policies)
            yield f"{kind:<12}" + "".join(f"{cell:>24}" for cell in cells)


_COLUMNS = ("recall", "gamma", "differs", "precision", "letters", "exact", "exposed")


def _format_rate(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return "–"
    return f"{rate['value']:.3f} ({rate['low']:.3f}–{rate['high']:.3f})"


def run(stage: ScoreRedaction, output: Output, *, progress: bool | None = None) -> PolicyResult:
    """Measure policies on rows whose secrets are labelled.

    Raises:
        GenieError: rows with a ledger are not public (E018); figures of private text go to local
            files only (E015); the output is the labelled text (E016); an input is invalid.
    """
    target = output.target or None
    if stage.is_public:
        refuse_private([stage.labelled], None, code="E018")
    elif target is None or target == "-" or "://" in target:
        message = f"figures of private text are written to local files only, got {target}"
        raise GenieError(Problem("E015", message, hint="name a file beside the private rows"))
    if target and Path(target).resolve() == stage.labelled.resolve():
        message = f"{target} is the labelled text itself"
        raise GenieError(Problem("E016", message, hint="give another file"))
    detectors = open_detectors(stage)
    policies = [Policy(name, score) for name, score in stage.policy]
    measured = measure_policies(
        read_labelled(stage.labelled), detectors, policies, level=stage.level
    )
    figures = {
        "schema": SCHEMA,
        "version": __version__,
        "text": "public" if stage.is_public else "private",
        "level": stage.level,
        "detectors": [detector.name for detector in detectors],
        "policies": [policy.as_dict() for policy in measured],
        **_shares_for_training(measured),
    }
    if target:
        with for_owner_alone(), open_text(target) as out:
            json.dump(figures, out, indent=2, ensure_ascii=False)
            out.write("\n")
    return PolicyResult(figures, target)


def _shares_for_training(measured: Sequence[PolicyFigures]) -> dict[str, Any]:
    """Return the shares that `genie-dp private train crt --report` reads, of pi and pi_c.

    Gamma is `differs` of pi. A row is public if neither policy takes anything of it, which is the
    decision of pi_c alone where it takes all that pi takes.
    """
    by_name = {row.policy.name: row for row in measured}
    pi, conservative = by_name.get("pi"), by_name.get("pi_c")
    if pi is None or conservative is None:
        return {}
    if conservative.policy.threshold > pi.policy.threshold:
        return {}
    return {
        "gamma": pi.differs.as_dict(),
        "missed_by_both": conservative.exposed.as_dict(),
    }
