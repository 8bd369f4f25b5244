"""The privacy report: the guarantee for private rows, the releases from them, and the audits.

It may be published, so it holds nothing that was computed from private rows without noise. The
ledger has no such thing. Of an audit, only figures of canaries are shown: they are invented, and
the model in which they were looked for was released. Figures of real rows stay where these are.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.report import SCHEMA as AUDIT_SCHEMA
from genie_dp.private.ledger.accounting import ACCOUNTANTS, epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.mechanisms import describe_mechanism
from genie_dp.private.ledger.run import describe_promise, show_ledger
from genie_dp.recipe import REQUIRED, setting
from genie_dp.run.files import open_text
from genie_dp.run.manifest import write_json
from genie_dp.run.page import page_environment, render_card
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import OutputOption, Stage

SCHEMA = "genie-dp.privacy-report/1"
# Attacks on what is invented: their bounds tell nothing of real rows.
_OF_CANARIES = ("canaries", "exposure")
_OF_BOUNDS = ("attack", "method", "epsilon", "claimed", "refutes", "refutable", "counts")
_LEFT_OUT = (
    "the figures that were computed from private rows: they are as private as these, and stay in "
    "the audit's own file"
)


@dataclass(frozen=True, slots=True)
class PrivacyReport(Result):
    """The publishable facts about the privacy of some rows.

    Attributes:
        facts: all of it, for JSON.
        files: where it was written.
    """

    facts: Mapping[str, Any]
    files: tuple[str, ...] = ()

    def page(self) -> str:
        """Return the page, which loads nothing."""
        environment = page_environment("genie_dp.private.audit", plain=_plain)
        text: str = environment.get_template("privacy.html.jinja").render(report=self.facts)
        return text

    def card(self) -> str:
        """Return a section for the card of a release, in Markdown."""
        return render_card("genie_dp.private.audit", report=self.facts, plain=_plain)

    def lines(self) -> Iterator[str]:
        """Yield the main figures."""
        facts = self.facts
        spent, budget = facts["spent"], facts["budget"]
        yield f"promise  {facts['promise']}"
        yield (
            f"spent    epsilon {_plain(spent['epsilon'])} of {budget['epsilon']:g}; "
            f"releases: {len(facts['releases'])}"
        )
        for audit in facts["audits"]:
            yield f"audit    {audit['title']}: {audit['result']}"
        if not facts["audits"]:
            yield "audit    none was given"
        if self.files:
            yield f"report -> {', '.join(self.files)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPrivacy(Stage):
    """Write a report on the privacy of rows that can be published.

    It has the promise, the releases and their cost, the findings and the power of audits, and the
    limits of the guarantee. PRIVATE is the file of private rows, or its ledger; no row is
    read. Of audits, only figures of canaries are shown: those of real rows are as private as these.

    \b
    genie-dp private report private.jsonl --audit audit.json -o privacy.json --page privacy.html
    """

    command = "private report"
    output = OutputOption("Where the report goes, as JSON.", overwrite="Replace the files.")

    ledger: Ledger = setting(REQUIRED, "The ledger of the rows.", value="ledger of rows")
    audits: tuple[Path, ...] = setting(
        (),
        "What genie-dp private audit wrote with --output.",
        option="audit",
        value="file",
        metavar="FILE",
    )
    page: Path | None = setting(
        None, "Write it as one page of HTML there.", value="new file", metavar="FILE"
    )
    card: Path | None = setting(
        None,
        "Write it there as a section for a model's card, in Markdown.",
        value="new file",
        metavar="FILE",
    )

    def run(self, output: Output, *, progress: bool | None = None) -> PrivacyReport:
        """Write the privacy report of a ledger as JSON, as a page, and as a section of a card.

        Raises:
            GenieError: an output is there (Y022), or a file holds no audit (N062).
        """
        targets = [Path(output.target), *filter(None, (self.page, self.card))]
        taken = [path.resolve() for path in (*targets, *self.audits, self.ledger.path)]
        for path in targets:
            if taken.count(path.resolve()) > 1:
                message = f"{path} is named twice"
                raise GenieError(Problem("Y022", message, hint="give another name"))
        output.refuse_existing(self.page, self.card, hint="give another name, or --overwrite")
        facts = privacy_facts(self.ledger, self.audits)
        report = PrivacyReport(facts, tuple(map(str, targets)))
        for target, text in ((self.page, report.page()), (self.card, report.card())):
            if target is not None:
                with open_text(str(target)) as out:
                    out.write(text)
        write_json(output.target, report.facts)
        return report


def privacy_facts(ledger: Ledger, audits: Sequence[Path]) -> dict[str, Any]:
    """Return the publishable facts about rows from their ledger, and from audits of releases."""
    account = show_ledger(ledger)
    rows, budget = account.of_rows, ledger.budget
    ended = {entry.run: entry.released for entry in ledger.links if entry.released}
    releases = [
        {
            "purpose": entry.purpose,
            "run": entry.run,
            "recorded": entry.recorded,
            "mechanisms": [mechanism.as_dict() for mechanism in entry.mechanisms],
            "in words": [describe_mechanism(mechanism) for mechanism in entry.mechanisms],
            "epsilon": _finite(epsilon_of(entry.mechanisms, budget.delta, budget.accountant)),
            "released": ended.get(entry.run),
        }
        for entry in ledger.entries
    ]
    of_each: Mapping[str, float] = rows["total"]
    statement = account.of_secrets
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": f"Privacy of {ledger.path.name.removesuffix('.json').removesuffix('.ledger')}",
        "promise": describe_promise(budget),
        "budget": budget.as_dict(),
        "odds": _finite(math.exp(min(budget.epsilon, 700.0))),
        "head": ledger.head,
        "spent": {
            "epsilon": _finite(of_each[budget.accountant]),
            "by": {name: _finite(of_each[name]) for name in ACCOUNTANTS},
        },
        "reading": rows["reading"],
        "releases": releases,
        "not_covered": list(rows["not_covered"]),
        "secrets": None if statement is None else list(statement.lines()),
        "audits": [audit_facts(path) for path in audits],
    }


def audit_facts(path: Path) -> dict[str, Any]:
    """Return the publishable facts of an audit: its findings on canaries, and its power.

    Raises:
        GenieError: the file holds no audit (N062).
    """
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["schema"] != AUDIT_SCHEMA:
            raise ValueError(f"the schema {facts['schema']!r}")
        claim = facts["claim"]
        bounds = [bound for bound in facts["epsilon"] if bound["attack"] in _OF_CANARIES]
        if not (isinstance(claim, dict) or claim is None):
            raise ValueError("no claim")
        claimed = {} if claim is None or claim["epsilon"] is None else claim
        of_rows = bool(facts["rows"] or facts["extraction"] or facts["release"])
        figures = [{name: bound[name] for name in _OF_BOUNDS} for bound in bounds]
        return {
            "title": facts["title"],
            "kind": facts["kind"],
            "version": facts["version"],
            "level": facts["level"],
            "claimed": {name: claimed[name] for name in ("epsilon", "delta")} if claimed else None,
            "bounds": figures,
            "refutable": max((bound["refutable"] or 0.0 for bound in figures), default=None),
            "result": _result(figures, is_claimed=bool(claimed)),
            "left out": _LEFT_OUT if of_rows else None,
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"expected figures of an audit in {path}, got: {error}"
        hint = "name a file that genie-dp private audit wrote with --output"
        raise GenieError(Problem("N062", message, hint=hint)) from None


def _result(bounds: Sequence[Mapping[str, Any]], *, is_claimed: bool) -> str:
    """Return the result of an audit, in words; "not refuted" is no pass."""
    if not bounds:
        return "no canaries; what it found of private rows is not shown"
    if not is_claimed:
        return "nothing is claimed"
    proved = max(bounds, key=lambda one: float(one["epsilon"]))
    limit = max(float(bound["refutable"] or 0.0) for bound in bounds)
    if any(bound["refutes"] for bound in bounds):
        return f"REFUTED: epsilon is at least {proved['epsilon']:.2f}"
    proof = f"epsilon is at least {proved['epsilon']:.2f}; it could have proved {limit:.2f}"
    if limit <= max(float(bound["claimed"] or 0.0) for bound in bounds):
        return f"too small to refute what is claimed: {proof}"
    return f"not refuted: {proof}"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _plain(number: float | None) -> str:
    """Return a number for people, "unlimited" for none.

    >>> _plain(2.5), _plain(None)
    ('2.5', 'unlimited')
    """
    return "unlimited" if number is None else f"{number:.4g}"
