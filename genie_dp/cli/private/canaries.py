"""`genie-dp private canaries`: put invented secrets into a training text, to find them later."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import settings_options
from genie_dp.private.audit.config import CanaryConfig

_OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command("canaries")
@click.argument("rows", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", "-o", required=True, type=_OUTPUT, metavar="FILE",
              help="Where the rows go, with the canaries among them.")  # fmt: skip
@click.option("--record", required=True, type=_OUTPUT, metavar="FILE",
              help="Where it goes what they are, for genie-dp private audit.")  # fmt: skip
@settings_options(CanaryConfig)
@click.option("--words", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Public rows, whose words {word} takes [100 of ours]. Words "
              "that the model knows and rows seldom say are found best.")  # fmt: skip
@click.option("--field", "fields", multiple=True, metavar="NAME=TEXT",
              help="A further field of each, such as user=canary{number}, so that each is a user "
              "of its own. May be repeated.")  # fmt: skip
@click.option("--seed", type=int, required=True,
              help="Of canaries and places. Who knows it knows the canaries.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the two files.")
def command(
    *, rows: Path, output: Path, record: Path, settings: Mapping[str, Any], words: Path | None,
    fields: tuple[str, ...], seed: int, overwrite: bool,
) -> None:  # fmt: skip
    """Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.

    Train on the output, as the rows themselves would be trained on; then genie-dp private audit
    tells how many of all candidates the model finds likelier than each. With --coin it guesses
    which of them were put in, and what that proves of epsilon.

    \b
    genie-dp private canaries calls.jsonl --seed 1 --output with.jsonl --record canaries.json
    genie-dp private canaries calls.jsonl --coin --words pairs.jsonl --seed 1 --output with.jsonl \\
      --record canaries.json
    """
    from genie_dp.cli.output import show
    from genie_dp.private.audit.canaries import run
    from genie_dp.run.stage import Output

    config, target = CanaryConfig(**settings), Output(str(output), overwrite=overwrite)
    pairs = dict(map(_read_field, fields))
    show(run(config, rows, target, record=record, seed=seed, fields=pairs, words=words))


def _read_field(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise click.BadParameter(f"expected NAME=TEXT, got {text!r}", param_hint="--field")
    return name, value
