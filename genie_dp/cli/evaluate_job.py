"""One evaluation: from options to a table, a JSON file and a page.

What is counted is a stream of gold rows with predictions; `_first` says where these come from.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.gold_of_skills import rows_of_skills, skills_of
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import progress
from genie_dp.dataset.scan import Input, Row, as_row, scan
from genie_dp.errors import GenieError, Problem
from genie_dp.evaluate.bootstrap import Bootstrap
from genie_dp.evaluate.files import GoldFile, Predictions, joined, open_gold
from genie_dp.evaluate.groups import Training
from genie_dp.evaluate.judge import MATCH
from genie_dp.evaluate.report import interval, page, signed
from genie_dp.evaluate.result import SCHEMA, compared, described
from genie_dp.evaluate.rows import Asked, answered, unasked
from genie_dp.evaluate.tally import Comparison, Shown, Tally, count
from genie_dp.evaluate.views import Viewer, viewer_of
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import check_output, open_text
from genie_dp.run.page import percent

_BEST = 5  # programs that the baseline gives for a sentence


def run(options: Mapping[str, Any]) -> None:
    """Evaluate, print a table, write what is wanted."""
    _check(options)
    with rows_of_skills(options) as file:
        gold = open_gold(file, options["language"])
        _evaluate({**options, "skills": skills_of(options)}, gold)


def _evaluate(options: Mapping[str, Any], gold: GoldFile) -> None:
    viewer = _viewer(options, gold.language)
    most = options["most_wrong"]
    tally = Tally(_training(options["training"], gold.language), Shown(most))
    comparison = Comparison(gained=Shown(most), lost=Shown(most)) if options["compare"] else None
    with progress(_rows(options, gold), label="rows") as rows:
        count(rows, viewer, tally, comparison, file=gold.name)
    bootstrap = Bootstrap(options["seed"])
    result = {
        **_about(options, gold, bootstrap),
        **described(tally, bootstrap, language=gold.language),
        "compare": _compared(options, comparison, bootstrap, gold.language),
    }
    # A pipe gets the JSON alone.
    click.echo("\n".join(_table(result)), err=options["output"] == "-")
    _write(options, result)


_ASKED = {"predictions": "PREDICTIONS", "nearest": "--nearest", "parser": "--parser"}


def _check(options: Mapping[str, Any]) -> None:
    given = [word for name, word in _ASKED.items() if options[name]]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise click.UsageError(f"expected PREDICTIONS, --nearest or --parser, got {got}")
    for name in ("unconstrained", "beam"):
        if options[name] and not options["parser"]:
            raise click.UsageError(f"--{name} needs --parser")
    if options["nearest"] and not options["training"]:
        raise click.UsageError("--nearest needs the rows of --training")
    for name in ("gold", "predictions", "compare"):
        if options[name] == "-":
            hint = "write them to a file first"
            problem = Problem("V014", f"expected a file of {name}, got a pipe", hint=hint)
            raise GenieError(problem)
    targets = [target for target in (options["report"], options["output"]) if target]
    for target in targets:
        check_output(target)
    _check_targets(options, targets)


def _check_targets(options: Mapping[str, Any], targets: Sequence[str]) -> None:
    """Refuse to write over what is read, or one file over the other (V015)."""
    read = [options["gold"], options["predictions"], options["compare"], *options["training"]]
    taken = {_place(name) for name in read if name}
    for target in targets:
        if _place(target) in taken:
            hint = "name another file for --report and for --output, none that is read"
            message = f"expected a file of its own, got {target!r}, which is named already"
            raise GenieError(Problem("V015", message, hint=hint))
        taken.add(_place(target))


def _place(name: str) -> str:
    return name if name == "-" or "://" in name else str(Path(name).resolve())


def _viewer(options: Mapping[str, Any], language: str) -> Viewer:
    unordered = options["unordered"]
    viewer_of(language, None, unordered=unordered)  # refuses before the library is read
    library = load_library_of(language, options["skills"], skip_broken=options["skip_broken"])
    return viewer_of(language, library, unordered=unordered)


def _training(names: Iterable[str], language: str) -> Training | None:
    if not names:
        return None
    found = Training()
    for name in names:
        count = 0
        with progress(_training_rows(name, language), label="training rows") as rows:
            for row in rows:
                found.add(row)
                count += row.language == language
        if not count:
            # Everything would be new to it.
            message = f"{name} holds no rows of {language} to compare with"
            raise GenieError(Problem("V001", message, hint="name another file of --training"))
    return found


def _training_rows(name: str, language: str) -> Iterator[Row]:
    if format_of(name) != "tsv":
        return scan(Input.of(name))
    # TSV does not say of which language its programs are.
    return (as_row(replace(row, language=language)) for row in read_rows(name))


# -------------------------------------------------------------------- rows with predictions


def _rows(options: Mapping[str, Any], gold: GoldFile) -> Iterator[Asked]:
    rows = _first(options, gold)
    if options["compare"]:
        rows = joined(rows, Predictions(options["compare"]), gold=gold.name)
    return rows


def _first(options: Mapping[str, Any], gold: GoldFile) -> Iterator[Asked]:
    """Yield rows with the predictions that are evaluated: from a file, or made now."""
    if options["parser"]:
        from genie_dp.cli.parser_predictor import ParserPredictor

        asked = ParserPredictor.of(
            options["parser"],
            beam=options["beam"],
            is_constrained=False if options["unconstrained"] else None,
        )
        _check_language(asked.parser.target.language.name, gold.language)
        return answered(unasked(gold), asked)
    if not options["nearest"]:
        return joined(unasked(gold), Predictions(options["predictions"]), gold=gold.name)
    from genie_dp.evaluate.baseline import NearestNeighbour

    training = (row for name in options["training"] for row in read_rows(name))
    return answered(unasked(gold), NearestNeighbour(training, best=_BEST))


def _check_language(written: str, wanted: str) -> None:
    """Refuse a parser that writes no programs of the rows' language (V022)."""
    if written != wanted:
        message = f"expected a parser that writes {wanted}, got one that writes {written}"
        hint = "name rows in the language of the parser; those of TSV are in that of --language"
        raise GenieError(Problem("V022", message, hint=hint))


# ---------------------------------------------------------------------------------- results


def _about(options: Mapping[str, Any], gold: GoldFile, bootstrap: Bootstrap) -> dict[str, Any]:
    parser = str(options["parser"]) if options["parser"] else ""
    predictions = options["predictions"] or parser or "nearest training sentence"
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": options["title"] or f"Evaluation of {Path(predictions).name}",
        "gold": options["gold"],
        "predictions": predictions,
        "training": list(options["training"]),
        "language": gold.language,
        "unordered": options["unordered"],
        "bootstrap": {
            "seed": bootstrap.seed,
            "draws": bootstrap.draws,
            "level": bootstrap.level,
        },
    }


def _compared(
    options: Mapping[str, Any], found: Comparison | None, bootstrap: Bootstrap, language: str
) -> dict[str, Any] | None:
    if found is None:
        return None
    both, first, second, neither = found.counts(MATCH)
    return {
        "predictions": options["compare"],
        "accuracy": bootstrap.share(both + second, both + first + second + neither),
        **compared(found, bootstrap, language=language),
    }


def _table(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that are printed."""
    tiers = [(item["tier"], item) for item in result["tiers"]]
    top = [(f"first {item['k']}", item) for item in result["top_k"][1:]]
    groups = [(f"{item['axis']}: {item['name']}", item) for item in result["groups"]]
    width = max(len(name) for name, _ in (*tiers, *groups)) + 2
    level = percent(result["bootstrap"]["level"])
    yield f"{result['rows']:,} rows, {result['language']}; in % with the interval of {level}"
    yield from _section("tier", tiers, width)
    yield from _section("right among", top, width)
    yield from _section("group", groups, width)
    if result["calibration"]:
        error = percent(result["calibration"]["expected_calibration_error"])
        yield f"\nexpected calibration error {error}"
    if result["kinds"]:
        yield f"\n{'errors':<{width}}{'rows':>8}"
        yield from (f"  {item['kind']:<{width - 2}}{item['rows']:>8,}" for item in result["kinds"])
    if compare := result["compare"]:
        ends = f"{signed(compare['low'])} to {signed(compare['high'])}"
        yield f"\nagainst {compare['predictions']}: {signed(compare['difference'])} points ({ends})"


def _section(title: str, figures: list[tuple[str, Any]], width: int) -> Iterator[str]:
    if figures:
        yield f"\n{title:<{width}}{'rows':>8}{'right':>9}   interval"
        for name, figure in figures:
            share = f"{100 * figure['share']:.1f}"
            yield f"  {name:<{width - 2}}{figure['rows']:>8,}{share:>9}   {interval(figure)}"


def _write(options: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    written = [name for name in (options["output"], options["report"]) if name]
    if options["report"]:
        with open_text(options["report"]) as out:
            out.write(page(result))
    if options["output"]:
        with open_text(options["output"]) as out:
            json.dump(result, out, indent=2, ensure_ascii=False)
            out.write("\n")
    where = [name for name in written if name != "-"]
    right = f"{result['accuracy']['right']:,} of {result['rows']:,} rows right"
    click.echo(f"{right}{' -> ' + ', '.join(where) if where else ''}", err=True)
