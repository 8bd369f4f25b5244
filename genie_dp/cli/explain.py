"""`genie-dp grammar explain`: how the templates derive a sentence, or why they do not."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    grammar_option,
    library_options,
    locale_option,
    settings_options,
)
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.synthesis.config import ReverseConfig


@click.command("explain")
@click.argument("sentence", required=False)
@library_options
@grammar_option
@settings_options(ReverseConfig)
@locale_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people; json as one object.",
)
@click.option(
    "--expect", metavar="PROGRAM",
    help="Fail unless the sentence has this program, with placeholders for values.",
)  # fmt: skip
@click.option(
    "--file",
    "pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TSV",
    help="Check each line, utterance and program with placeholders, instead of one sentence.",
)
@click.option(
    "--names",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Names that no list has, in YAML: kind of entity and a list of names.",
)
def command(
    *,
    sentence: str | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    locale: str | None,
    format_: str,
    expect: str | None,
    pairs: Path | None,
    names: Path | None,
) -> int:
    """Show how the templates derive a sentence, or what is missing.

    Values are read as people type them: numbers, dates, names and free text; placeholders
    (NUMBER_0, QUOTED_STRING_0, ..) may stand for them. The exit code is 0 if the sentence is
    derived, with the program of --expect if that is given.

    \b
    genie-dp grammar explain "show me mails from alice@example.com"
    genie-dp grammar explain --file pairs.tsv
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.parser.reading.said import said_values
    from genie_dp.parser.session import read_names
    from genie_dp.synthesis.explain import check_pairs, run

    if pairs is not None and (expect or format_ == "json"):
        raise click.UsageError("--expect and --format json are for one sentence")
    if (sentence is None) == (pairs is None):
        raise click.UsageError("give one sentence, or a file with --file")
    config = ReverseConfig(**settings)
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    if pairs is not None:
        checked = check_pairs(config, inputs, pairs, progress=True)
        click.echo(str(checked))
        return 0 if checked.is_right else 1
    assert sentence is not None
    explanation = run(
        config, inputs, sentence, expected=expect,
        values=said_values(
            inputs.language, inputs.library, now=datetime.now(),
            locale=locale_from(locale or DEFAULT),
            names=read_names(names) if names else None,
        ),
    )  # fmt: skip
    if format_ == "json":
        click.echo(json.dumps(explanation.as_dict(), ensure_ascii=False, indent=2))
    else:
        click.echo(str(explanation))
    return 0 if explanation.is_right else 1
