"""`genie-dp paraphrase auto`: paraphrases by rules, other words, a model or a service."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from genie_dp.cli.options import POSITIVE, Finite, library_options

Command = TypeVar("Command", bound=Callable[..., Any])

METHODS = ("rules", "lexical", "model", "endpoint")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def rule_options(command: Command) -> Command:
    """Add the options of --by rules and --by lexical."""
    for option in reversed(
        (
            click.option(
                "--rules", "rule_files", multiple=True, type=_FILE, metavar="FILE",
                help="Rules of your own, beside the shipped ones. May be repeated.",
            ),
            click.option("--only-my-rules", is_flag=True, help="Leave the shipped rules out."),
            click.option(
                "--lexicon", metavar="FILE|shipped|wordnet|none",
                help="Words of the same meaning: a TSV or PPDB file, WordNet through nltk, or none "
                "[shipped].",
            ),
            click.option(
                "--lexical-share", type=Finite(0, 1),
                help="Share of the rewrites that get one or two other words as well [0.3].",
            ),
            click.option(
                "--all-results", is_flag=True,
                help="Make questions of all rows: for S-expressions that all ask for something.",
            ),
            click.option(
                "--names", multiple=True, metavar="NODE",
                help="A node of S-expressions before a name, as in (property width): words of the "
                "name may change. May be repeated.",
            ),
            click.option(
                "--jobs", type=click.IntRange(1), default=1, show_default=True,
                help="Processes; the bytes do not depend on it.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def model_options(command: Command) -> Command:
    """Add the options of --by model and --by endpoint."""
    for option in reversed(
        (
            click.option(
                "--model", metavar="NAME|DIR",
                help="A model of the Hugging Face hub or a local folder; of an endpoint, its name.",
            ),
            click.option(
                "--prompt", type=_FILE, metavar="FILE",
                help="Text with {sentence} for a model, with {number} for an endpoint.",
            ),
            click.option(
                "--temperature", type=Finite(0, 5), help="Of sampling [1.0; 0.9]."
            ),
            click.option(
                "--device", metavar="NAME", help="Of the model: cpu, cuda, cuda:1 .. [auto]."
            ),
            click.option(
                "--batch-size", type=click.IntRange(1), help="Sentences a model gets at once [16]."
            ),
            click.option(
                "--base-url", metavar="URL",
                help="Of the endpoint, such as http://localhost:8000/v1.",
            ),
            click.option(
                "--key-variable", metavar="NAME",
                help="Environment variable that holds the endpoint's key [OPENAI_API_KEY].",
            ),
            click.option(
                "--per-prompt", type=click.IntRange(1), help="Sentences of one prompt [8]."
            ),
            click.option("--at-once", type=click.IntRange(1), help="Requests at one time [4]."),
            click.option(
                "--per-minute", type=POSITIVE,
                help="Requests a minute, at most.",
            ),
            click.option(
                "--retries", type=click.IntRange(0), help="Further tries of a request [6]."
            ),
            click.option(
                "--price-in", type=Finite(0),
                help="Price of a million tokens of prompts, for the report.",
            ),
            click.option(
                "--price-out", type=Finite(0), help="The same of answers."
            ),
            click.option(
                "--answers", metavar="FILE",
                help="Where answers are kept for --resume [the output's name, .answers.jsonl].",
            ),
            click.option(
                "--resume", is_flag=True,
                help="Use the answers of an earlier run, with --overwrite as well.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("auto")
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@click.option(
    "--by", type=click.Choice(METHODS), default="rules", show_default=True,
    help="rules: rewrites of English, some with other words as well; lexical: other words only; "
    "model: a Hugging Face model; endpoint: an OpenAI-compatible service.",
)  # fmt: skip
@click.option(
    "--number", type=click.IntRange(1), default=3, show_default=True, metavar="N",
    help="Paraphrases of each row, at most.",
)  # fmt: skip
@rule_options
@model_options
@library_options
@click.option(
    "--copy-distance", type=Finite(0, 1),
    help="Edits over length under which a paraphrase is a copy [0 for rules and words, else 0.1].",
)  # fmt: skip
@click.option(
    "--duplicate-distance", type=Finite(0, 1),
    help="The same for two paraphrases of a sentence.",
)  # fmt: skip
@click.option("--any-language", is_flag=True, help="Do not ask a model or an endpoint for English.")
@click.option(
    "--parser", "parser", metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Keep only what this trained parser reads as the program of the sentence.",
)  # fmt: skip
@click.option("--rejects", metavar="CSV", help="Where the refused paraphrases go, with reasons.")
@click.option(
    "--seed", type=int, default=0, show_default=True,
    help="The same rows and seed give the same bytes.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="FILE|URL|-",
    help="Where the paraphrases go, as JSON lines or, by the name, TSV or Parquet.",
)  # fmt: skip
def command(**options: Any) -> None:
    """Paraphrase rows automatically.

    ROWS are files or URLs of synthesized rows (JSON lines, TSV or Parquet), or what `paraphrase
    select` chose; models and services do better with the example values that it puts in. What fails
    the checks of crowd paraphrases, or is a sentence that has another program already, is left
    out and counted.

    \b
    genie-dp paraphrase auto pairs.jsonl --number 3 --output paraphrases.jsonl
    genie-dp paraphrase auto chosen.jsonl --by endpoint --base-url http://localhost:8000/v1 \\
        --model my-model --output paraphrases.jsonl
    """
    from genie_dp.cli.paraphrase.automatic import run

    if options["parser"] is None:
        run(options)
        return
    if options["jobs"] > 1:
        raise click.UsageError("--parser goes with --jobs 1: its network is in one process")
    from genie_dp.cli.parser_predictor import BestProgram

    run(options, predictor=BestProgram.of(options["parser"]))
