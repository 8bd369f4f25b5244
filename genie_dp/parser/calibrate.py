"""Calibrating a finished parser anew, as a stage: how sure it may be, measured on real rows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser import folder as files
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.parser import Parser
from genie_dp.parser.rows import NOW, Rows
from genie_dp.parser.scoring import calibrate, derived_confidence
from genie_dp.parser.validation import Checked, validation_rows
from genie_dp.private.ledger.guard import refuse_private
from genie_dp.records import Example
from genie_dp.run.stage import Result


@dataclass(frozen=True, slots=True)
class CalibrateResult(Result):
    """A parser whose confidence was fitted anew.

    Attributes:
        parser: its folder.
        rows: that it was fitted on, those to refuse among them.
        accuracy: share of them that are right.
        accepted: share of the rows that mean something above the threshold.
        wrongly_accepted: share of the sentences to refuse above it.
        refusals: these sentences: of the rows, and those that training held out.
        error: expected calibration error on these rows.
    """

    parser: str
    rows: int
    accuracy: float
    accepted: float
    refusals: int
    wrongly_accepted: float
    error: float | None

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        yield (
            f"{100 * self.accuracy:.1f} % of {self.rows:,} rows right; "
            f"{100 * self.accepted:.1f} % of those that mean something are accepted, and "
            f"{100 * self.wrongly_accepted:.1f} % of {self.refusals:,} sentences to refuse "
            f"-> {self.parser}"
        )


def run(folder: Path, rows: str, *, threshold: float | None = None) -> CalibrateResult:
    """Fit the confidence of a finished parser to rows that stand for people; change its folder.

    Args:
        folder: of `genie-dp train`.
        rows: a file, or skills with eval.tsv. Rows with OUT_OF_SCOPE as their program are to be
            refused.
        threshold: the parser's from now on; None leaves it.

    Raises:
        GenieError: N010, it is no parser; N005, there are no rows; N013, they are private.
    """
    refuse_private([rows], None, code="N013")
    parser = Parser.from_pretrained(folder, threshold=threshold, clock=lambda: NOW)
    facts = files.facts_of(folder)
    config = ParserConfig(
        (InputFile(rows),), steps=1, validation=rows,
        locale=asdict(parser.use.locale), types=facts["types"], keywords=facts["keywords"],
        canonical=facts["canonical"],
    )  # fmt: skip
    reading = replace(files.read_reader(folder), fixed=frozenset(facts["fixed"]))

    def derive(rows: Sequence[Example]) -> list[bool | None]:
        return [parser.derives(row) for row in rows]

    checked = validation_rows(config, parser.target, reading, Rows(), derive)
    held_out = (Checked(x, OUT_OF_SCOPE) for x in files.read_lines(folder, files.REFUSALS))
    of_people = [row for row in checked if row.program != OUT_OF_SCOPE]
    meant = parser.score(of_people)
    refusals = parser.score([row for row in (*checked, *held_out) if row.program == OUT_OF_SCOPE])
    calibration, error = calibrate(meant.of_network(of_people), refusals)
    own = [row for row in checked if row.program == OUT_OF_SCOPE]
    right = meant.right + (parser.score(own).right if own else 0)
    limit = parser.use.threshold
    changes = {"calibration": asdict(calibration), "validated": True, "threshold": limit}
    files.set_facts(folder, **changes, derived=derived_confidence(checked))
    return CalibrateResult(
        str(folder),
        len(checked),
        right / len(checked),
        meant.accepted(calibration, limit),
        refusals.rows,
        refusals.accepted(calibration, limit),
        error,
    )
