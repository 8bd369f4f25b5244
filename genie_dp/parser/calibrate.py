"""Calibrating a finished parser again, as a stage: its confidence is fitted to real rows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.private.ledger.guard import refuse_private
from genie_dp.recipe import setting
from genie_dp.records import Example
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import Stage


@dataclass(frozen=True, slots=True)
class CalibrateResult(Result):
    """A parser whose confidence was fitted again.

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
        """Yield the lines to print."""
        yield (
            f"{100 * self.accuracy:.1f} % of {self.rows:,} rows right; "
            f"{100 * self.accepted:.1f} % of those that mean something are accepted, and "
            f"{100 * self.wrongly_accepted:.1f} % of {self.refusals:,} sentences to refuse "
            f"-> {self.parser}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrate(Stage):
    """Fit the confidence of a finished parser to real sentences.

    ROWS are a file of rows, an eval.tsv, or a folder of skills whose eval.tsv are meant: what
    people said, with the right programs. In a project, its parser and the sentences that it is
    measured with need no name. Of a sentence that is to be refused the program is out_of_scope. The
    network stays as it is; what it answers is what changes in the parser's folder.

    \b
    genie-dp data calibrate parser heard.jsonl
    genie-dp data calibrate parser thingpedia --threshold 0.7
    """

    command = "calibrate"
    changes = "folder"

    folder: Path | None = setting(
        None, "Of a parser.", is_argument=True, value="folder", metavar="PARSER", of_project=True
    )
    gold: str | None = setting(
        None, "Rows that stand for people.", is_argument=True, metavar="ROWS", of_project=True
    )
    threshold: float | None = setting(
        None,
        "From now on the confidence under which it says that it does not know "
        "[what the parser has].",
        least=0,
        most=1,
        metavar="SHARE",
    )

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse a parser or rows that nobody has named."""
        if self.folder is None or self.gold is None:
            missing = "PARSER" if self.folder is None else "ROWS"
            return f"Missing argument '{missing}', and no project has it."
        if target is not None and not self.folder.is_dir():
            return f"expected PARSER, the folder of a parser, got {str(self.folder)!r}"
        return None

    def run(self, output: Output, *, progress: bool | None = None) -> CalibrateResult:
        """Change the folder of the parser.

        Raises:
            GenieError: N010, it is no parser; N005, there are no rows; N013, they are private.
        """
        from genie_dp.parser import folder as files
        from genie_dp.parser.config import InputFile, ParserConfig
        from genie_dp.parser.parser import Parser
        from genie_dp.parser.rows import NOW, Rows
        from genie_dp.parser.scoring import calibrate, derived_confidence
        from genie_dp.parser.validation import Checked, validation_rows

        folder, gold = self.folder, self.gold
        assert folder is not None
        assert gold is not None
        refuse_private([gold], None, code="N013")
        parser = Parser.from_pretrained(folder, threshold=self.threshold, clock=lambda: NOW)
        facts = files.facts_of(folder)
        config = ParserConfig(
            (InputFile(gold),), steps=1, validation=gold,
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
        refused = [row for row in (*checked, *held_out) if row.program == OUT_OF_SCOPE]
        refusals = parser.score(refused)
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
            meant.share_accepted(calibration, limit),
            refusals.rows,
            refusals.share_accepted(calibration, limit),
            error,
        )
