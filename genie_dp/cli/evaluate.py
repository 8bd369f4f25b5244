"""`genie-dp evaluate`: how good predictions are."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.options import settings_options, skills_option
from genie_dp.evaluate.config import EvaluationConfig
from genie_dp.languages import language_names
from genie_dp.languages.library import Library

if TYPE_CHECKING:
    from genie_dp.evaluate.rows import Predictor

_BEST = 5  # programs that the baseline gives for a sentence


@click.command("evaluate")
@click.argument("gold", required=False)
@click.argument("predictions", required=False)
@click.option(
    "--nearest", is_flag=True,
    help="Instead of PREDICTIONS: programs of the nearest --training sentences (a baseline).",
)  # fmt: skip
@click.option(
    "--parser", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Instead of PREDICTIONS: what a trained parser says, asked now [that of genie.yaml].",
)  # fmt: skip
@click.option(
    "--unconstrained", is_flag=True,
    help="With --parser: programs may be ill-typed, as without a grammar.",
)  # fmt: skip
@click.option(
    "--beam", type=click.IntRange(1, 64), help="With --parser: programs that search keeps."
)
@click.option(
    "--training", multiple=True, metavar="FILE",
    help="What the parser was trained on: tells new programs and function combinations apart. "
    "May be repeated.",
)  # fmt: skip
@click.option(
    "--compare", metavar="FILE", help="Predictions of another parser, compared row by row."
)
@click.option(
    "--language", type=click.Choice(language_names()),
    help="Language of the programs [what the rows say].",
)  # fmt: skip
@skills_option("Skills that programs must fit", without=lambda given: _without_project(given))
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@settings_options(EvaluationConfig)
@click.option("--report", metavar="FILE", help="Write a page with charts and sentences there.")
@click.option("--output", "-o", metavar="FILE|URL|-", help="Write the result there, as JSON.")
def command(
    *,
    gold: str | None,
    predictions: str | None,
    nearest: bool,
    folder: Path | None,
    unconstrained: bool,
    beam: int | None,
    training: tuple[str, ...],
    compare: str | None,
    language: str | None,
    skills: tuple[Path, ...],
    skip_broken: bool,
    settings: Mapping[str, Any],
    report: str | None,
    output: str | None,
) -> None:
    """Measure predicted programs against the right ones.

    GOLD are rows as JSONL, TSV or Parquet; rows of one sentence, or a list as `program`, are all
    right. It may be an eval.tsv, or a folder of skills: then their eval.tsv are meant; in a
    project, those of its skills need no name. PREDICTIONS are JSON lines {"id": .., "programs":
    [best, next, ..], "confidences": [..]}, or TSV of id and program.

    \b
    genie-dp evaluate test.jsonl predictions.jsonl --training train.jsonl --report report.html
    genie-dp evaluate test.jsonl predictions.jsonl --compare before.jsonl --output result.json
    genie-dp evaluate test.jsonl --nearest --training train.jsonl
    genie-dp evaluate thingpedia --parser parser --report report.html
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.evaluate.rows import skills_of
    from genie_dp.evaluate.run import check_files, run

    if gold is None:
        raise click.UsageError("Missing argument 'GOLD', and no project has sentences.")
    sources = {"PREDICTIONS": predictions, "--nearest": nearest, "--parser": folder}
    names = [name for name, value in sources.items() if value]
    if len(names) != 1:
        got = " and ".join(names) or "none of them"
        raise click.UsageError(f"expected PREDICTIONS, --nearest or --parser, got {got}")
    for name, value in (("unconstrained", unconstrained), ("beam", beam)):
        if value and not folder:
            raise click.UsageError(f"--{name} needs --parser")
    if nearest and not training:
        raise click.UsageError("--nearest needs the rows of --training")
    check_files((gold, predictions, compare, *training), (report, output))

    def library_of(language: str) -> Library:
        return load_library_of(language, skills or skills_of(gold), skip_broken=skip_broken)

    predictor, writes = _predictor(predictions, folder, training, beam, unconstrained)
    result = run(
        EvaluationConfig(**settings), gold, predictor, library_of=library_of, language=language,
        name=predictions or (str(folder) if folder else "nearest training sentence"),
        writes=writes, training=training, compare=compare, progress=True,
    )  # fmt: skip
    # A pipe gets the JSON alone.
    click.echo(str(result), err=output == "-")
    if report:
        result.report(report)
    if output:
        result.save(output)
    where = ", ".join(name for name in (output, report) if name and name != "-")
    if result.data["wrong"]["rows"] and not where:
        click.echo("which are wrong, with their programs: --report wrong.html", err=True)
    click.echo(f"{result.summary}{f' -> {where}' if where else ''}", err=True)


def _without_project(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that a project does not give: a folder of skills is its own."""
    if given["gold"] and Path(given["gold"]).is_dir():
        yield "skills"
    if given["predictions"] or given["nearest"]:
        yield "folder"


def _predictor(
    predictions: str | None,
    folder: Path | None,
    training: tuple[str, ...],
    beam: int | None,
    unconstrained: bool,
) -> "tuple[str | Predictor, str]":
    """Return the file of predictions, or the predictor, and the language of its programs."""
    if predictions:
        return predictions, ""
    if folder:
        from genie_dp.parser.parser import open_parser

        constrained = False if unconstrained else None
        parser = open_parser(folder, beam=beam, is_constrained=constrained)
        return parser, parser.target.language.name
    from genie_dp.evaluate.baseline import NearestNeighbour
    from genie_dp.rows import read_rows

    rows = (row for name in training for row in read_rows(name))
    return NearestNeighbour(rows, best=_BEST), ""
