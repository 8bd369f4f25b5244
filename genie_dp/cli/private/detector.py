"""`genie-dp private detector`: a detector learned from sentences whose secrets are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import NamedValue, settings_options
from genie_dp.private.redact.config import DetectorTrainingConfig, DetectorTrainingInputs

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
# Lists of the package that frames may name.
_SHIPPED = (
    "person_first_name", "person_last_name", "street", "city", "product", "song", "artist",
    "dish", "cuisine", "company",
)  # fmt: skip


@click.command("detector")
@click.option("--output", "-o", required=True, metavar="FOLDER",
              type=click.Path(file_okay=False, path_type=Path),
              help="Where the detector goes.")  # fmt: skip
@settings_options(DetectorTrainingConfig)
@click.option("--frames", type=_FILE, metavar="FILE",
              help="Sentences with places such as {person} and {=city} [those of the "
              "package].")  # fmt: skip
@click.option("--values", multiple=True, type=NamedValue("city=cities.txt"), metavar="NAME=FILE",
              help="Values for {NAME}, one a line, or in place of a list of the package. May be "
              "repeated.")  # fmt: skip
@click.option("--rows", multiple=True, metavar="FILE",
              help="Rows of genie-dp synthesize: their sentences are frames, too. May be "
              "repeated.")  # fmt: skip
@click.option("--labelled", multiple=True, type=_FILE, metavar="FILE",
              help="PUBLIC rows with utterance and spans to learn from as well. May be "
              "repeated.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Write over a detector that is there.")
def command(*, output: Path, settings: Mapping[str, Any], overwrite: bool, **files: Any) -> None:
    """Train a detector of names, addresses, numbers and others on sentences that are made.

    All that it is trained on must be public: its words are in the folder.

    \b
    genie-dp private detector -o detector
    genie-dp private detector -o detector --frames frames.txt --values person=names.txt
    """
    if settings.get("size", 2) % 2:
        raise click.BadParameter("expected an even number", param_hint="--size")
    from genie_dp.augment.values import shipped_list
    from genie_dp.cli.output import show
    from genie_dp.private.redact.learned import run
    from genie_dp.run.stage import Output, write_over

    config, inputs = DetectorTrainingConfig(**settings), DetectorTrainingInputs(**files)
    lists = {name: shipped_list(name).texts for name in _SHIPPED}
    target = Output(str(output), overwrite=overwrite)
    result = run(config, inputs, target, lists=lists, listen=_show_loss)
    write_over("", show=True)
    show(result)


def _show_loss(event: Mapping[str, Any]) -> None:
    from genie_dp.run.stage import write_over

    write_over(f"epoch {event['epoch']:.2f}, loss {event['loss']:.4f}", show=True)
