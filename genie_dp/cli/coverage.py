"""`genie-dp grammar coverage`: the sentences that templates derive, and the gaps of the others."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    Finite,
    grammar_option,
    jobs_option,
    library_options,
    locale_option,
    settings_options,
)
from genie_dp.dataset.formats import READERS
from genie_dp.evaluate.config import CoverageConfig


@click.command("coverage")
@click.argument("sentences", nargs=-1, metavar="[FILE]...")
@library_options
@grammar_option
@settings_options(CoverageConfig)
@locale_option
@click.option(
    "--from", "format_of_rows", type=click.Choice(list(READERS)),
    help="Format of FILE, if it is a data set [by its name].",
)  # fmt: skip
@click.option(
    "--threshold", type=Finite(0, 1), metavar="SHARE",
    help="Fail if a smaller share of the sentences is derived, such as 0.8.",
)  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="text for people; json as one object.",
)  # fmt: skip
@click.option(
    "--misses", type=click.IntRange(0), default=10, show_default=True, metavar="N",
    help="How many of the sentences that are not derived are shown.",
)  # fmt: skip
@click.option("--html", metavar="FILE", help="Write a page with all sentences there.")
@click.option("--output", "-o", metavar="FILE", help="Write the sentences there, as JSON lines.")
@click.option(
    "--names",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Names that no list has, in YAML: kind of entity and a list of names.",
)
@jobs_option
def command(
    *,
    sentences: tuple[str, ...],
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    locale: str | None,
    format_of_rows: str | None,
    threshold: float | None,
    format_: str,
    misses: int,
    html: str | None,
    output: str | None,
    names: Path | None,
    jobs: int,
) -> int:
    """Show which sentences the templates derive, and the gaps of the others.

    FILE is an eval.tsv (a sentence and its program a line), a folder of skills that have such
    files, sentences alone (.txt), or rows of a data set; in a project, the eval.tsv of its skills
    need no name. Values are read as people type them.

    \b
    genie-dp grammar coverage thingpedia --html coverage.html
    genie-dp grammar coverage eval.tsv --threshold 0.8
    genie-dp grammar coverage sentences.txt --output coverage.jsonl
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.evaluate.coverage import coverage_rows, run
    from genie_dp.evaluate.rows import skills_of
    from genie_dp.evaluate.run import check_files
    from genie_dp.parser.session import read_names

    if not sentences:
        raise click.UsageError("Missing argument 'FILE...', and no project has sentences.")
    check_files(sentences, (html, output))
    config = CoverageConfig(**{**settings, **({"locale": locale} if locale else {})})
    own_skills = dict.fromkeys(path for file in sentences for path in skills_of(file))
    inputs = load_inputs(language, skills or tuple(own_skills), grammar, skip_broken=skip_broken)
    rows = [row for file in sentences for row in coverage_rows(file, inputs, format=format_of_rows)]
    own = read_names(names) if names else None
    coverage = run(config, inputs, rows, sources=sentences, names=own, jobs=jobs, progress=True)
    if html:
        coverage.report(html)
    if output:
        coverage.save(output)
    if format_ == "json":
        click.echo(json.dumps(coverage.as_dict(), ensure_ascii=False, indent=2))
    elif output != "-":
        click.echo(str(coverage))
        for sentence in coverage.missed[:misses]:
            click.echo(f"\n{sentence.verdict}: {sentence.utterance}")
            for line in sentence.lines():
                click.echo(f"  {line}")
        if misses and (rest := len(coverage.missed) - misses) > 0:
            click.echo(f"\nand {rest:,} more; --misses, --html and --output show them")
    if threshold is not None and coverage.share < threshold:
        click.echo(
            f"expected {100 * threshold:g} % covered, got {100 * coverage.share:.1f} %", err=True
        )
        return 1
    return 0
