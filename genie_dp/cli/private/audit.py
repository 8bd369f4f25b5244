"""`genie-dp private audit`: attacks on a trained model, beside what is claimed of it."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import Finite

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FROM_1 = click.IntRange(1)
# Those of genie_dp.private.audit.claims, which is not imported to print help.
ABOUT = ("rows", "secret", "bayesian")


@click.command("audit")
@click.argument("model", type=_FOLDER)
@click.option("--members", type=_FILE, metavar="FILE",
              help="Rows that MODEL was trained on, once each: JSONL, TSV, or a .txt.")  # fmt: skip
@click.option("--others", type=_FILE, metavar="FILE",
              help="Rows like them that it did not see, parted from them by chance.")  # fmt: skip
@click.option("--canaries", type=_FILE, metavar="FILE",
              help="What genie-dp private canaries put into the training text.")  # fmt: skip
@click.option("--reference", "references", type=_FOLDER, multiple=True, metavar="FOLDER",
              help="A model without the members, to calibrate by. May be repeated.")  # fmt: skip
@click.option("--shadow", "shadows", multiple=True, metavar="FOLDER[=FILE]",
              help="A model trained as MODEL was, and the rows that it has learned from [none of "
              "those here]. Give two or more.")  # fmt: skip
@click.option("--unprotected", type=_FOLDER, metavar="FOLDER",
              help="A model trained as MODEL was, canaries included, but without protection: shows "
              "whether the attacks find a leak. Without it, no audit passes.")  # fmt: skip
@click.option("--samples", type=click.IntRange(0), default=0, show_default=True, metavar="N",
              help="Draw so many texts and look for training text in them.")  # fmt: skip
@click.option("--training", type=_FILE, metavar="FILE",
              help="The training text that is looked for [--members].")  # fmt: skip
@click.option("--words", type=_FROM_1, default=8, show_default=True, metavar="N",
              help="Fewest words of a piece of training text that counts.")  # fmt: skip
@click.option("--show", type=click.IntRange(0), default=0, show_default=True, metavar="N",
              help="Print the N longest pieces: PRIVATE TEXT, on the terminal.")  # fmt: skip
@click.option("--group", type=click.IntRange(2), default=20, show_default=True,
              help="Rows of a group that is attacked as a whole.")  # fmt: skip
@click.option("--claim", type=Finite(0), metavar="EPSILON",
              help="What is claimed of a row [what MODEL's folder says].")  # fmt: skip
@click.option("--delta", type=Finite(0, 1, max_open=True), metavar="DELTA",
              help="Of --claim.")  # fmt: skip
@click.option("--about", type=click.Choice(ABOUT), default="rows", show_default=True,
              help="Which claim of train crt: rows, secrets that redaction missed, or secrets "
              "drawn at random, if the attack knows which.")  # fmt: skip
@click.option("--level", type=Finite(0.5, 1, max_open=True), default=0.95,
              show_default=True, help="Of intervals, and of all bounds together.")  # fmt: skip
@click.option("--language", metavar="NAME", help="Of the rows' programs [that of MODEL].")
@click.option("--longest", type=click.IntRange(8), default=256, show_default=True,
              help="Tokens of a text, for models of Hugging Face.")  # fmt: skip
@click.option("--with-end", is_flag=True,
              help="Let the end of a candidate count, too: ten times the steps.")  # fmt: skip
@click.option("--states", type=_FROM_1, default=256, show_default=True,
              help="States of candidates in memory at a time.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="Of samples, groups, halves and intervals.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=_FROM_1, default=1, show_default=True, help="Of torch.")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path),
              metavar="FILE", help="Where the figures go, as JSON.")  # fmt: skip
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page with them there.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with an interrupted audit.")
@click.option("--overwrite", is_flag=True, help="Replace the output; start again.")
def command(**options: Any) -> int:
    """Attack MODEL, and compare what that proves with what is claimed.

    Exposure of canaries among all their candidates, membership of rows, training text in samples.
    Attacks give lower bounds of epsilon; one above the claim refutes it: exit code 1. MODEL passes,
    exit code 0, if the attacks refute its claim for an unprotected model and not for MODEL. All
    else is inconclusive: exit code 3.
    The figures are NOT differentially private: keep them like the private rows.

    \b
    genie-dp private audit model --members in.jsonl --others out.jsonl --output audit.json
    genie-dp private audit model --canaries canaries.json --output audit.json --report audit.html
    """
    from genie_dp.cli.private.audit_job import run

    if bool(options["members"]) != bool(options["others"]):
        raise click.UsageError("--members and --others go together")
    if not (options["members"] or options["canaries"] or options["samples"]):
        raise click.UsageError("name an attack: --members and --others, --canaries or --samples")
    if options["unprotected"] and not (options["members"] or options["canaries"]):
        raise click.UsageError("--unprotected needs --members and --others, or --canaries")
    if (options["references"] or options["shadows"]) and not options["members"]:
        raise click.UsageError("--reference and --shadow need --members and --others")
    if options["samples"] and not (options["training"] or options["members"]):
        raise click.UsageError("--samples needs the training text: --training or --members")
    if (options["claim"] is None) != (options["delta"] is None):
        raise click.UsageError("--claim and --delta go together")
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    return run(options)
