"""One run of `genie-dp private sample`: from a generator to rows and their manifest."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import progress
from genie_dp.cli.parser_predictor import BestProgram
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.learn.device import prepare_torch
from genie_dp.private.generators.drawn import COMMAND, Fingerprint
from genie_dp.private.generators.stages import RUN
from genie_dp.private.ledger.guard import refuse_learned
from genie_dp.records import Example
from genie_dp.rows import rows_format, to_json, write_rows
from genie_dp.run.files import local_target
from genie_dp.run.manifest import manifest_of, write_json

if TYPE_CHECKING:
    from genie_dp.private.generators.folder import SavedGenerator
    from genie_dp.private.generators.sample import SampleSettings, Tally


def run(options: Mapping[str, Any]) -> None:
    """Draw the rows, write them, and say what was dropped."""
    from genie_dp.private.generators.folder import load_generator
    from genie_dp.private.generators.sample import Tally

    started = time.monotonic()
    output: str = options["output"]
    format = rows_format(output, options["format_"], what="rows")
    target = local_target(output)
    if target is not None and target.exists() and not options["overwrite"]:
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{target} exists already", hint=hint))
    refuse_learned(options["parser"], None, code="H008")
    prepare_torch(options["device"], options["threads"])
    saved = load_generator(options["generator"], device=options["device"])
    tally, settings, drawn = Tally(), _settings(options), Fingerprint()
    with progress(
        _rows(saved, settings, tally, options), label="rows", total=options["rows"]
    ) as rows:
        write_rows((f"{to_json(row)}\n" for row in drawn.over(rows)), "jsonl", output, format)
    kept = min(tally.kept, options["rows"])
    if output != "-":
        told = _manifest(saved, settings, tally, kept, options)
        write_json(manifest_of(output), {**told, "content": drawn.text()})
    _say(saved, tally, kept, time.monotonic() - started, options)


def _settings(options: Mapping[str, Any]) -> "SampleSettings":
    from genie_dp.private.generators.sample import SampleSettings
    from genie_dp.private.generators.sampling import SamplingSettings

    shared = {name: options[name] for name in ("temperature", "top_k", "top_p")}
    return SampleSettings(
        program=SamplingSettings(
            width=options["program_width"], longest=options["program_longest"], **shared
        ),
        utterance=SamplingSettings(width=options["width"], longest=options["longest"], **shared),
        is_constrained=options["constrained"],
        batch=options["batch"],
        tries=options["tries"],
        redraws=options["redraws"],
        seed=options["seed"],
    )


def _rows(
    saved: "SavedGenerator", settings: "SampleSettings", tally: "Tally", options: Mapping[str, Any]
) -> Iterator[Example]:
    from genie_dp.private.generators.sample import sample

    generator = saved.generator
    library = None
    if generator.kind == "two-stage":
        library = load_library_of(
            generator.language, options["skills"], skip_broken=options["skip_broken"]
        )
    elif options["parser"] is None:
        click.echo("the rows have no programs; a parser writes them: --parser DIR", err=True)
    return sample(
        generator,
        options["rows"],
        language=get_language(generator.language),
        library=library,
        settings=settings,
        parser=BestProgram.of(options["parser"]) if options["parser"] else None,
        tally=tally,
    )


def _manifest(
    saved: "SavedGenerator",
    settings: "SampleSettings",
    tally: "Tally",
    kept: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "command": COMMAND,
        "version": __version__,
        "generator": str(options["generator"]),
        "run": saved.facts.get(RUN),
        "settings": asdict(settings),
        "rows": kept,
        "drawn": tally.drawn,
        "dropped": dict(sorted(tally.dropped.items())),
        "spent": asdict(saved.spent),
    }


def _say(
    saved: "SavedGenerator", tally: "Tally", kept: int, seconds: float, options: Mapping[str, Any]
) -> None:
    for reason, count in tally.dropped.most_common():
        click.echo(f"{count:>11,}  dropped: {reason}", err=True)
    spent = saved.spent
    click.echo(
        f"{kept:,} rows of {tally.drawn:,} drawn -> {options['output']} ({seconds:.1f} s); "
        f"epsilon {spent.epsilon:.4g}, delta {spent.delta:g}",
        err=True,
    )
    if kept < options["rows"]:
        message = f"expected {options['rows']:,} rows, got {kept:,}"
        hint = "train longer, or allow more --tries"
        click.echo(
            str(GenieError(Problem("H010", message, hint=hint, severity="warning"))), err=True
        )
