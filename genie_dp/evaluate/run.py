"""Evaluation as a stage: gold rows and predictions to figures, a JSON file and a page."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.augment.skill_rows import is_evaluation
from genie_dp.dataset.scan import DatasetFile, as_row, scan
from genie_dp.errors import GenieError, Problem
from genie_dp.evaluate import rows as gold_rows
from genie_dp.evaluate.config import EvaluationConfig
from genie_dp.evaluate.counts import (
    EvaluationCounts,
    PairedCounts,
    SampledRows,
    TrainingHashes,
    count_rows,
)
from genie_dp.evaluate.judge import MATCH
from genie_dp.evaluate.result import (
    SCHEMA,
    IntervalEstimator,
    describe_counts,
    describe_pairs,
    format_interval,
    format_points,
    page,
)
from genie_dp.evaluate.views import viewer_of
from genie_dp.languages.library import Library
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import check_output, open_text
from genie_dp.run.page import FEW_ROWS, percent
from genie_dp.run.stage import Result, show_progress
from genie_dp.skills.model import SkillLibrary


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Result):
    """How good predictions are.

    Attributes:
        data: all figures; docs/evaluation.md lists the fields.
    """

    data: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Evaluation({self.summary})"

    @property
    def summary(self) -> str:
        """Return the outcomes for users, where replies are known, then the right first programs.

        Shares of few rows are left out.
        """
        first = self.data["accuracy"]
        right = f"first program right: {first['right']:,} of {first['rows']:,}"
        if self.outcomes:
            answered, wrong, refused, refused_wrongly, to_refuse = self.outcomes.values()
            return (
                f"{answered:,} answered rightly, {wrong:,} wrongly, {refused:,} refused rightly, "
                f"{refused_wrongly:,} wrongly, {to_refuse:,} asked; {right}"
            )
        if first["rows"] < FEW_ROWS:
            return right
        return f"{right}, {100 * first['share']:.1f} % ({format_interval(first)})"

    @property
    def outcomes(self) -> dict[str, int]:
        """Return the rows by the outcome for the user, such as "answered rightly".

        Empty for predictions without replies: a file, a baseline.
        """
        return {item["outcome"]: item["right"] for item in self.data["outcomes"]}

    @property
    def accuracy(self) -> float:
        """Return the share of the rows whose first program is right."""
        share: float = self.data["accuracy"]["share"]
        return share

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of its confidence interval."""
        return self.data["accuracy"]["low"], self.data["accuracy"]["high"]

    @property
    def tiers(self) -> dict[str, float]:
        """Return the share of the rows that reach each tier, from `syntax` to `match`."""
        return {item["tier"]: item["share"] for item in self.data["tiers"]}

    def report(self, target: str | Path) -> None:
        """Write a page with charts and sentences to a file or URL."""
        with open_text(str(target)) as out:
            out.write(page(self.data))

    def save(self, target: str | Path) -> None:
        """Write all figures as JSON to a file or URL; "-" is standard output."""
        with open_text(str(target)) as out:
            json.dump(self.data, out, indent=2, ensure_ascii=False)
            out.write("\n")

    def lines(self) -> Iterator[str]:
        """Yield tables of the outcomes for users, then the quality of first programs."""
        result = self.data
        outcomes = [(item["outcome"], item) for item in result["outcomes"]]
        tiers = [(item["tier"], item) for item in result["tiers"]]
        top = [(f"first {item['k']}", item) for item in result["top_k"][1:]]
        groups = [(f"{item['axis']}: {item['name']}", item) for item in result["groups"]]
        width = max(len(name) for name, _ in (*outcomes, *tiers, *groups)) + 2
        level = percent(result["bootstrap"]["level"])
        yield f"{result['rows']:,} rows, {result['language']}; in % with the interval of {level}"
        yield from _section("what a user meets", outcomes, width)
        yield from _section("first program, tier", tiers, width)
        yield from _section("right among", top, width)
        yield from _section("first program, group", groups, width)
        if result["calibration"] and result["calibration"]["rows"] >= FEW_ROWS:
            error = percent(result["calibration"]["expected_calibration_error"])
            yield f"\nexpected calibration error {error}"
        if result["kinds"]:
            yield f"\n{'errors':<{width}}{'rows':>8}"
            for item in result["kinds"]:
                yield f"  {item['kind']:<{width - 2}}{item['rows']:>8,}"
        if compare := result["compare"]:
            ends = f"{format_points(compare['low'])} to {format_points(compare['high'])}"
            points = f"{format_points(compare['difference'])} points ({ends})"
            if result["rows"] < FEW_ROWS:
                points = f"{compare['first_only']} only here, {compare['second_only']} only there"
            yield f"\nfirst program right, against {compare['predictions']}: {points}"


def _section(title: str, figures: list[tuple[str, Any]], width: int) -> Iterator[str]:
    """Yield a table of counts; shares stand beside those of enough rows."""
    if figures:
        yield f"\n{title:<{width}}{'rows':>8}{'of':>8}{'%':>9}   interval"
        for name, figure in figures:
            line = f"  {name:<{width - 2}}{figure['right']:>8,}{figure['rows']:>8,}"
            if figure["rows"] >= FEW_ROWS:
                line += f"{100 * figure['share']:>9.1f}   {format_interval(figure)}"
            yield line


def check_files(read: Iterable[str | Path | None], written: Iterable[str | None]) -> None:
    """Refuse pipes, and writing over an input, or one file over the other.

    Args:
        read: gold rows, predictions, rows of training.
        written: the page and the JSON; None is of no account.

    Raises:
        GenieError: V014, V015, or an output that cannot be written.
    """
    names = [str(name) for name in read if name]
    targets = [name for name in written if name]
    if "-" in names:
        hint = "write them to a file first"
        raise GenieError(Problem("V014", "expected a file of rows, got a pipe", hint=hint))
    for target in targets:
        check_output(target)
    taken = set(map(_place, names))
    for target in targets:
        if _place(target) in taken:
            hint = "name another file for --report and for --output, none that is read"
            message = f"expected a file of its own, got {target!r}, which is named already"
            raise GenieError(Problem("V015", message, hint=hint))
        taken.add(_place(target))


def _place(name: str) -> str:
    return name if name == "-" or "://" in name else str(Path(name).resolve())


def run(
    config: EvaluationConfig,
    gold: str,
    predictions: str | gold_rows.Predictor,
    *,
    library_of: Callable[[str], Library],
    language: str | None = None,
    name: str = "",
    writes: str = "",
    training: Sequence[str] = (),
    compare: str | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Measure predicted programs against the right ones.

    Args:
        config: the settings.
        gold: a file of rows, an eval.tsv, or a folder of skills, whose eval.tsv are meant.
        predictions: a file of them, or the predictor that makes them now.
        library_of: returns the library that programs of a language must fit.
        language: of the programs; None for that of the rows.
        name: of the parser, for the result.
        writes: the language in which it writes; "" for any.
        training: its training files, which show which rows are new to it.
        compare: a file of predictions of another one, compared row by row.
        progress: whether to show progress; None for on a terminal.

    Raises:
        GenieError: mistakes in any of the files (docs/errors.md has the codes).
    """
    predictor_name = name or (predictions if isinstance(predictions, str) else "predictions")
    if language is None and is_evaluation(gold):  # which does not say it
        language = writes or None
    with _open(gold, language, library_of) as (file, library):
        viewer = viewer_of(file.language, library, unordered=config.unordered)
        hashes = _training(training, file.language, progress)
        tally = EvaluationCounts(hashes, SampledRows(config.most_wrong))
        if isinstance(predictions, str):
            rows = gold_rows.join_predictions(
                gold_rows.without_predictions(file),
                gold_rows.Predictions(predictions),
                gold=file.name,
            )
        else:
            if writes and writes != file.language:
                message = f"expected a parser that writes {file.language}, got one that writes "
                hint = "name rows in the language of the parser; those of TSV are in that of "
                raise GenieError(Problem("V022", message + writes, hint=hint + "--language"))
            rows = gold_rows.ask_predictor(gold_rows.without_predictions(file), predictions)
        comparison = None
        if compare:
            limit = config.most_wrong
            comparison = PairedCounts(gained=SampledRows(limit), lost=SampledRows(limit))
            rows = gold_rows.join_predictions(rows, gold_rows.Predictions(compare), gold=file.name)
        rows = show_progress(rows, label="rows", show=progress)
        count_rows(rows, viewer, tally, comparison, file=file.name)
    bootstrap = IntervalEstimator(config.seed)
    return Evaluation(
        {
            "schema": SCHEMA,
            "version": __version__,
            "title": config.title or f"Evaluation of {Path(predictor_name).name}",
            "gold": gold,
            "predictions": predictor_name,
            "training": list(training),
            "language": file.language,
            "unordered": config.unordered,
            "bootstrap": {
                "seed": bootstrap.seed,
                "draws": bootstrap.draws,
                "level": bootstrap.level,
            },
            **describe_counts(tally, bootstrap, language=file.language),
            "compare": _describe_comparison(compare, comparison, bootstrap, file.language),
        }
    )


@contextmanager
def _open(
    gold: str, language: str | None, library_of: Callable[[str], Library]
) -> Iterator[tuple[gold_rows.GoldFile, Any]]:
    """Open the gold rows, and the library that they must fit."""
    if not Path(gold).is_dir() and not is_evaluation(gold):
        file = gold_rows.open_gold(gold, language)
        yield file, library_of(file.language)
        return
    name_of_language = language or SkillLibrary.language
    library = library_of(name_of_language)
    with gold_rows.skill_gold(Path(gold), name_of_language, library) as name:
        yield gold_rows.open_gold(name, language), library


def _training(names: Sequence[str], language: str, progress: bool | None) -> TrainingHashes | None:
    if not names:
        return None
    training = TrainingHashes()
    for name in names:
        number = 0
        # TSV does not say of which language its programs are.
        rows = (
            (as_row(replace(row, language=language)) for row in read_rows(name))
            if format_of(name) == "tsv"
            else scan(DatasetFile.from_name(name))
        )
        for row in show_progress(rows, label="training rows", show=progress):
            training.add(row)
            number += row.language == language
        if not number:
            # Everything would be new to it.
            message = f"{name} holds no rows of {language} to compare with"
            raise GenieError(Problem("V001", message, hint="name another file of training"))
    return training


def _describe_comparison(
    name: str | None, comparison: PairedCounts | None, bootstrap: IntervalEstimator, language: str
) -> dict[str, Any] | None:
    if comparison is None:
        return None
    both, first, second, neither = comparison.counts(MATCH)
    return {
        "predictions": name,
        "accuracy": bootstrap.share(both + second, both + first + second + neither),
        **describe_pairs(comparison, bootstrap, language=language),
    }
