"""`genie-dp train`: from rows to a parser."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    GRAMMAR,
    locale_option,
    prior_option,
    resume_options,
    settings_options,
    skills_option,
)
from genie_dp.languages import language_names
from genie_dp.parser.config import ParserConfig

# Settings that only recipes have; ablations have options that turn them off.
_OF_RECIPES = (
    "held_out", "validation_rows", "validations", "language_model_epochs",
    "prepare", "beam", "readings", "threshold",
)  # fmt: skip
_ABLATIONS = ("types", "keywords", "canonical")


@click.command("train")
@click.argument("inputs", nargs=-1, metavar="[INPUTS]...")
@click.option(
    "--recipe", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Settings in YAML, such as examples/parser.yaml; options given here go before them.",
)  # fmt: skip
@click.option(
    "--output", "-o", required=True, metavar="FOLDER",
    help="Where the parser goes: network, skills, card. It appears when it is complete.",
)  # fmt: skip
@settings_options(
    ParserConfig,
    leave_out=(*_OF_RECIPES, *_ABLATIONS),
    names={"architecture": "arch", "lora_rank": "lora", "language_model": "lm"},
)
@locale_option
@click.option("--no-types", is_flag=True, help="Ablation: parameters without types.")
@click.option("--positional", is_flag=True,
              help="Ablation: inputs by position; decoding is then unconstrained.")  # fmt: skip
@click.option("--no-canonical", is_flag=True, help="Ablation: inputs and conditions in any order.")
@skills_option("Skills of the programs")
@click.option("--grammar", multiple=True, type=GRAMMAR, metavar="FILE|DIR",
              help="Templates that the rows were made of: by them the parser checks where texts "
              "end; shipped for those that come with genie-dp. May be repeated.")  # fmt: skip
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option("--language", type=click.Choice(language_names()),
              help="Language of the programs [what the first row says].")  # fmt: skip
@click.option("--spent", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Guarantee of rows of source private, as JSON.")  # fmt: skip
@prior_option("Weigh rows")
@click.option("--licence", default="", help="Licence of the parser, for its card.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
              help="Of torch; the small networks gain nothing from more.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True,
              help="Processes that prepare rows; the result does not depend on it.")  # fmt: skip
@resume_options
def command(
    *,
    inputs: tuple[str, ...],
    recipe: Path | None,
    output: str,
    settings: Mapping[str, Any],
    locale: str | None,
    no_types: bool,
    positional: bool,
    no_canonical: bool,
    skills: tuple[Path, ...],
    grammar: tuple[Path, ...],
    skip_broken: bool,
    language: str | None,
    spent: Path | None,
    prior: Path | None,
    licence: str,
    device: str,
    threads: int,
    jobs: int,
    resume: bool,
    overwrite: bool,
) -> None:
    """Train a parser on rows of synthesize, paraphrase, augment and people.

    INPUTS are JSONL, TSV or Parquet, mixed by how many rows they have; a recipe may give ratios
    and weights. The folder holds all that genie-dp parse needs.

    \b
    genie-dp train train.jsonl --output parser
    genie-dp train --recipe examples/parser.yaml --seed 2 --output parser
    torchrun --no-python --nproc-per-node 2 genie-dp train train.jsonl --epochs 3 --output parser
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show
    from genie_dp.dataset.folder import AboutRows
    from genie_dp.parser.recipe import config_of
    from genie_dp.parser.rows import language_of
    from genie_dp.parser.run import rank, run
    from genie_dp.run.stage import Output
    from genie_dp.templates.cache import inputs_of

    ablations = zip(_ABLATIONS, (no_types, positional, no_canonical), strict=True)
    settings_of_options = {
        **settings,
        **{name: False for name, is_off in ablations if is_off},
        **({"prior": str(prior)} if prior else {}),
        **({"locale": locale} if locale else {}),
    }
    config = config_of(recipe, inputs, settings_of_options)
    name = language_of(config.inputs, language)
    library = load_library_of(name, skills, skip_broken=skip_broken)
    result = run(
        config,
        Output(output, resume=resume, overwrite=overwrite),
        library=library,
        templates=inputs_of(library, grammar) if grammar else None,
        language=name,
        spent=AboutRows(spent=spent).guarantee(),
        licence=licence,
        device=device,
        threads=threads,
        jobs=jobs,
        progress=True,
    )
    if rank() == 0:
        show(result)
