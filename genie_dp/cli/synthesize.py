"""`genie-dp synthesize`: from skills and templates to (utterance, program) pairs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    format_option,
    grammar_option,
    jobs_option,
    library_options,
    prior_option,
    project_here,
    resume_options,
    rows_output,
    settings_options,
)
from genie_dp.synthesis.config import SynthesisConfig, read_weights


class ShardNumber(click.ParamType[Any]):
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


class WeightsFile(click.Path):
    """A file of weights, read."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return function -> multiplier."""
        return read_weights(Path(str(super().convert(value, param, ctx))))


@click.command("synthesize")
@library_options
@grammar_option
@settings_options(
    SynthesisConfig,
    names={"subsets": "subset", "roots": "root"},
    types={"weights": WeightsFile(exists=True, dir_okay=False)},
)
@prior_option("Weigh functions")
@jobs_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler make the rows, such as tcp://host:8786; the "
    "bytes do not depend on it.",
)
@click.option(
    "--shard",
    type=ShardNumber(),
    default=(0, 1),
    help="Make part i of n, from 0; `genie-dp data merge` joins the parts [0/1].",
)
@resume_options
@format_option
@click.option(
    "--preview",
    "preview_number",
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
def command(
    *,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    prior: Path | None,
    jobs: int,
    scheduler: str | None,
    shard: tuple[int, int],
    resume: bool,
    overwrite: bool,
    format_: str | None,
    preview_number: int | None,
    report: Path | None,
    output: str,
) -> None:
    """Make (utterance, program) pairs from a skill library and template files.

    Every program is well-typed and canonical, no sentence has two programs, no row comes twice.

    \b
    genie-dp synthesize --size 10000 --output pairs.jsonl
    genie-dp synthesize --skills thingpedia/com.gmail --preview 3
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show
    from genie_dp.private_prior import load_prior
    from genie_dp.run.stage import Output
    from genie_dp.synthesis.run import run

    if scheduler and jobs > 1:
        raise click.UsageError("--scheduler and --jobs exclude each other")
    config = SynthesisConfig(**settings)
    target = Output(output, format_, resume=resume, overwrite=overwrite)
    weighs = load_prior(prior) if prior else None
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    if preview_number is not None:
        _show_preview(config, inputs, preview_number)
        return
    project = project_here() if report else None
    result = run(
        config, inputs, target,
        prior=weighs, jobs=jobs, shard=shard, scheduler=scheduler, report=report,
        augmented=project.template_rows("augment") if project else None, progress=True,
    )  # fmt: skip
    show(result)


def _show_preview(config: SynthesisConfig, inputs: Any, count: int) -> None:
    """Print some results of each template, with its place."""
    from genie_dp.english.forms import surface
    from genie_dp.synthesis.run import preview

    for sample in preview(config, inputs, count):
        click.secho(f"{sample.template.span}  {sample.template.id}", dim=True)
        for words, program in sample.pairs:
            click.echo(f"  {surface(words.split())}\n      {program}")
        if not sample.pairs:
            click.echo("  (nothing: its guard or the types of its children never fit)")
