"""`genie-dp private detector`: a detector learned from sentences whose secrets are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE


@click.command("detector")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the detector goes.",
)
@click.option(
    "--sentences",
    type=click.IntRange(0),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Sentences to make.",
)
@click.option(
    "--frames",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Sentences with places such as {person} and {=city} [those of the package].",
)
@click.option(
    "--values",
    multiple=True,
    metavar="NAME=FILE",
    help="Values for {NAME}, one a line, or in place of a list of the package. May be repeated.",
)
@click.option(
    "--rows",
    multiple=True,
    metavar="FILE",
    help="Rows of genie-dp synthesize: their sentences are frames, too. May be repeated.",
)
@click.option(
    "--labelled",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="PUBLIC rows with utterance and spans to learn from as well. May be repeated.",
)
@click.option("--epochs", type=POSITIVE, default=3.0, show_default=True)
@click.option("--size", type=click.IntRange(2), default=64, show_default=True, help="Of states.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--overwrite", is_flag=True, help="Write over a detector that is there.")
def command(**options: Any) -> None:
    """Train a detector of names, addresses, numbers and others on sentences that are made.

    All that it is trained on must be public: its words are in the folder.

    \b
    genie-dp private detector -o detector
    genie-dp private detector -o detector --frames frames.txt --values person=names.txt
    """
    _run(options)


def _run(options: Mapping[str, Any]) -> None:
    from genie_dp.cli.private.detectors import pair_of
    from genie_dp.errors import GenieError, Problem
    from genie_dp.learn.device import prepare_torch
    from genie_dp.learn.tagger import TaggerSettings
    from genie_dp.private.ledger.guard import refuse_private
    from genie_dp.private.redact.measure import read_labelled
    from genie_dp.private.redact.tagging.detector import Training, trained
    from genie_dp.private.redact.tagging.generated import Frames, generated
    from genie_dp.texts import read_text

    folder = options["output"]
    if folder.exists() and any(folder.iterdir()) and not options["overwrite"]:
        hint = "give another folder, or --overwrite"
        raise GenieError(Problem("E016", f"{folder} exists already", hint=hint))
    if options["size"] % 2:
        raise click.BadParameter("expected an even number", param_hint="--size")
    files = dict(pair_of(v, "--values", "city=cities.txt") for v in options["values"])
    frames_file = [options["frames"]] if options["frames"] else []
    said = [*files.values(), *frames_file, *options["rows"], *options["labelled"]]
    refuse_private(said, None, code="E018")
    prepare_torch("cpu")
    lists = _lists(files)
    frames = (
        Frames.parse(read_text(options["frames"], code="E011"), str(options["frames"]), lists)
        if options["frames"]
        else Frames.shipped(lists)
    ).with_rows(_utterances(options["rows"]))
    rows = list(generated(frames, lists, options["sentences"], seed=options["seed"]))
    rows += [row for path in options["labelled"] for row in read_labelled(path)]
    facts = {
        "frames": len(set(frames.texts)),
        "made sentences": options["sentences"],
        "labelled files": len(options["labelled"]),
    }
    training = Training(epochs=options["epochs"], seed=options["seed"])
    settings = TaggerSettings(size=options["size"])
    detector = trained(rows, training, settings, facts=facts, listen=_listen)
    detector.save(folder)
    click.echo(f"a detector of {', '.join(detector.kinds)} -> {folder}", err=True)


def _listen(event: Mapping[str, Any]) -> None:
    import sys

    if sys.stderr.isatty():
        click.echo(f"epoch {event['epoch']:.2f}  loss {event['loss']:.4f}", err=True)


# Lists of the package that frames may name.
_SHIPPED = (
    "person_first_name", "person_last_name", "street", "city", "product", "song", "artist",
    "dish", "cuisine", "company",
)  # fmt: skip


def _lists(files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the lists that frames may name: the package's, and the files given.

    Raises:
        GenieError: a file cannot be read or has no plain values (E004).
    """
    from genie_dp.augment.lists import shipped
    from genie_dp.errors import GenieError, Problem
    from genie_dp.private.redact.tagging.generated import ascii_lists
    from genie_dp.texts import read_text

    out: dict[str, tuple[str, ...]] = {name: shipped(name).texts for name in _SHIPPED}
    for name, file in files.items():
        try:
            lines = read_text(file, code="E004").split("\n")
        except OSError as error:
            message = f"cannot read {file}: {error.strerror}"
            raise GenieError(Problem("E004", message, hint="give another file")) from None
        out[name] = tuple(line.partition("\t")[0].strip() for line in lines if line.strip())
    plain = ascii_lists(out)
    empty = [name for name in files if not plain[name]]
    if empty:
        message = f"{files[empty[0]]} holds no values in plain letters"
        raise GenieError(Problem("E004", message, hint="one value a line"))
    return plain


def _utterances(files: tuple[str, ...]) -> list[str]:
    """Return the sentences of public rows.

    Raises:
        GenieError: a file has rows of source private (E018).
    """
    from genie_dp.errors import GenieError, Problem
    from genie_dp.rows import read_rows

    out: list[str] = []
    for file in files:
        for row in read_rows(file):
            if row.source == "private":
                message = f"{file} has rows of source private, so it is not public"
                raise GenieError(Problem("E018", message, hint="give rows of synthesize"))
            out.append(row.utterance)
    return out
