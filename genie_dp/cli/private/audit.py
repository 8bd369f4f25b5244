"""`genie-dp private audit`: attacks on a trained model, beside what is claimed of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import resume_options, settings_options
from genie_dp.private.audit.config import AuditConfig, AuditInputs, Shadow

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path)
# Exit code of an audit that neither refutes what is claimed nor shows that it could have.
INCONCLUSIVE = 3


@click.command("audit")
@click.argument("model", type=_FOLDER, required=False)
@click.option("--release", type=_FILE, metavar="FILE",
              help="Attack rows that were released, instead of MODEL.")  # fmt: skip
@click.option("--members", type=_FILE, metavar="FILE",
              help="Rows that MODEL was trained on, once each: JSONL, TSV, or a .txt.")  # fmt: skip
@click.option("--others", type=_FILE, metavar="FILE",
              help="Rows like them that it did not see, parted from them by chance.")  # fmt: skip
@click.option("--canaries", type=_FILE, metavar="FILE",
              help="What genie-dp private canaries put into the training text.")  # fmt: skip
@click.option("--reference", "references", type=_FOLDER, multiple=True, metavar="FOLDER",
              help="A model without the members and canaries, to calibrate by: best what MODEL was "
              "before its private training. May be repeated.")  # fmt: skip
@click.option("--shadow", "shadows", multiple=True, metavar="FOLDER[=FILE]",
              help="A model trained as MODEL was, and the rows that it has learned from [none of "
              "those here]. Give two or more.")  # fmt: skip
@click.option("--unprotected", type=_FOLDER, metavar="FOLDER",
              help="A model trained as MODEL was, canaries included, but without protection: shows "
              "whether the attacks find a leak. Without it, no audit passes.")  # fmt: skip
@click.option("--training", type=_FILE, metavar="FILE",
              help="The training text that is looked for in samples [--members].")  # fmt: skip
@settings_options(AuditConfig)
@click.option("--output", "-o", required=True, type=_OUTPUT, metavar="FILE",
              help="Where the figures go, as JSON.")  # fmt: skip
@click.option("--report", type=_OUTPUT, metavar="FILE", help="Write a page with them there.")
@resume_options
def command(
    *, settings: Mapping[str, Any], shadows: tuple[str, ...], output: Path, report: Path | None,
    resume: bool, overwrite: bool, **files: Any,
) -> int:  # fmt: skip
    """Attack MODEL, or rows that were released, and compare what that proves with the claim.

    Guesses which canaries coins put in, or exposure of canaries among all their candidates;
    membership of rows; training text in samples; real rows by their nearest released ones.
    Attacks give lower bounds of epsilon; one above the claim refutes it: exit code 1. MODEL passes,
    exit code 0, if the attacks refute its claim for an unprotected model and not for MODEL. All
    else is inconclusive: exit code 3.
    The figures are NOT differentially private: keep them like the private rows.

    \b
    genie-dp private audit model --members in.jsonl --others out.jsonl --output audit.json
    genie-dp private audit model --canaries canaries.json --reference before --output audit.json
    genie-dp private audit --release rows.jsonl --members in.jsonl --others out.jsonl -o audit.json
    """
    inputs = AuditInputs(shadows=tuple(map(_read_shadow, shadows)), **files)
    if gaps := inputs.gaps(samples=settings.get("samples", 0)):
        raise click.UsageError(gaps[0])
    if ("claim" in settings) != ("delta" in settings):
        raise click.UsageError("--claim and --delta go together")
    from genie_dp.parser.scorer import open_any
    from genie_dp.private.audit.run import run
    from genie_dp.run.stage import Output

    target = Output(str(output), resume=resume, overwrite=overwrite)
    config = AuditConfig(**settings)
    result = run(config, inputs, target, report=report, open_model=open_any, progress=True)
    *figures, written = result.lines()
    click.echo("\n".join(figures))
    click.echo(written, err=True)
    result.check()
    return INCONCLUSIVE if result.verdict == "inconclusive" else 0


def _read_shadow(text: str) -> Shadow:
    """Return the shadow that an option names, FOLDER or FOLDER=FILE."""
    name, _, file = text.rpartition("=") if not Path(text).is_dir() else (text, "", "")
    if not Path(name).is_dir() or (file and not Path(file).is_file()):
        raise click.UsageError(f"--shadow: expected FOLDER or FOLDER=FILE, got {text!r}")
    return Shadow(Path(name), Path(file) if file else None)
