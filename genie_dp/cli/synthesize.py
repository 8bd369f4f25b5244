"""`genie-dp synthesize`: from skills and templates to (utterance, program) pairs."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.finite import Finite
from genie_dp.cli.inputs import library_options, templates_options
from genie_dp.cli.priors import prior_option
from genie_dp.cli.run_options import (
    format_option,
    jobs_option,
    on_error_option,
    resume_options,
    rows_output,
    seed_option,
)


class Shard(click.ParamType[Any]):
    """`i/n`: part i of n, counted from 0."""

    name = "i/n"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return (i, n)."""
        if isinstance(value, tuple):
            return value
        index, _, count = str(value).partition("/")
        if not (index.isdigit() and count.isdigit() and int(index) < int(count)):
            self.fail(f"{value!r} is not i/n with 0 <= i < n, such as 0/4", param, ctx)
        return int(index), int(count)


@click.command("synthesize")
@library_options
@templates_options(max_depth=5)
@click.option("--size", type=click.IntRange(1), metavar="N", help="Rows to make, at most [10000].")
@click.option(
    "--target-size",
    type=click.IntRange(1),
    metavar="K",
    help="Rows of each root template at depth 1; further depths get less.",
)
@click.option(
    "--depth-decay",
    type=Finite(0, 1, min_open=True),
    default=0.7,
    show_default=True,
    help="Share of each further depth, as a factor.",
)
@click.option(
    "--balance",
    type=Finite(0, 1),
    default=0.25,
    show_default=True,
    help="0: every function alike; 1: by how much can be said of it.",
)
@click.option(
    "--pool-size",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Partial derivations kept for each category and depth.",
)
@click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Only functions such as '@com.gmail.*'. May be repeated.",
)
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="No such functions. May be repeated."
)
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML or JSON: function -> multiplier of its share.",
)
@prior_option("Weigh functions")
@seed_option
@jobs_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler make the rows, such as tcp://host:8786; the "
    "bytes do not depend on it.",
)
@click.option(
    "--shard",
    type=Shard(),
    default=(0, 1),
    help="Make part i of n, from 0; `genie-dp merge` joins the parts [0/1].",
)
@resume_options
@format_option
@on_error_option("when a Python semantic function raises")
@click.option(
    "--preview",
    type=click.IntRange(1),
    metavar="N",
    help="Print N random pairs of each template and stop.",
)
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write coverage, ambiguity and acceptance there, as JSON and HTML.",
)
@rows_output
def command(**options: Any) -> None:
    """Make (utterance, program) pairs from a skill library and template files.

    Every program is well-typed and canonical, no sentence has two programs, no row comes twice.

    \b
    genie-dp synthesize --size 10000 --output pairs.jsonl
    genie-dp synthesize --skills thingpedia/com.gmail --preview 3
    """
    from genie_dp.cli.synthesis_job import Job, preview, run

    if options["scheduler"] and options["jobs"] > 1:
        raise click.UsageError("--scheduler and --jobs exclude each other")
    job = Job.of(options)
    if options["preview"] is not None:
        preview(job, options["preview"])
    else:
        run(job)
