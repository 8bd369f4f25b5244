"""`genie-dp private canaries`: put invented secrets into a training text, to find them later."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("canaries")
@click.argument("rows", type=_FILE)
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path),
              metavar="FILE", help="Where the rows go, with the canaries among them.")  # fmt: skip
@click.option("--record", required=True, type=click.Path(dir_okay=False, path_type=Path),
              metavar="FILE",
              help="Where it goes what they are, for genie-dp private audit.")  # fmt: skip
@click.option("--template", metavar="TEXT",
              help="Their text: {digits:6} is a number, {word} one of 100 words "
              "[My ID is {digits:6}].")  # fmt: skip
@click.option("--count", type=click.IntRange(1), default=200, show_default=True,
              help="Different canaries.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True,
              help="How often each is put in; more are easier to find, and less is claimed of "
              "them together.")  # fmt: skip
@click.option("--program", metavar="TEXT", help="What each says as a program, for rows with one.")
@click.option("--field", "fields", multiple=True, metavar="NAME=TEXT",
              help="A further field of each, such as user=canary. May be repeated.")  # fmt: skip
@click.option("--seed", type=int, required=True,
              help="Of canaries and places. Who knows it knows the canaries.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the two files.")
def command(**options: Any) -> None:
    """Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.

    Train on the output, as the rows themselves would be trained on; then genie-dp private audit
    tells how many of all candidates the model finds likelier than each.

    \b
    genie-dp private canaries calls.jsonl --seed 1 --output with.jsonl --record canaries.json
    """
    _run(options)


def _run(options: Mapping[str, Any]) -> None:
    from genie_dp.cli.private.redact_job import for_the_owner_alone
    from genie_dp.errors import GenieError, Problem
    from genie_dp.private.audit.canaries import TEMPLATE, Template, new_canaries
    from genie_dp.run.files import check_output, open_bytes

    rows, output, record = options["rows"], options["output"], options["record"]
    for path in (output, record):
        check_output(str(path))
        if [one.resolve() for one in (rows, output, record)].count(path.resolve()) > 1:
            raise GenieError(Problem("Y022", f"{path} is named twice", hint="give another name"))
        if path.exists() and not options["overwrite"]:
            hint = "give another name, or --overwrite"
            raise GenieError(Problem("Y022", f"{path} exists already", hint=hint))
    if rows.suffix not in (".jsonl", ".json", ".txt"):
        message = f"expected JSONL or a .txt, got {rows.name}"
        raise GenieError(Problem("N052", message, hint="genie-dp convert makes JSONL of others"))
    canaries = new_canaries(
        Template(options["template"] or TEMPLATE),
        count=options["count"],
        repeats=options["repeats"],
        program=options["program"],
        fields=dict(_pair(one) for one in options["fields"]),
        seed=options["seed"],
    )
    with for_the_owner_alone():
        # The record comes first: rows without it would hold canaries that nobody knows of.
        partial = record.with_name(f".{record.name}.partial")
        canaries.save(partial)
        partial.replace(record)
        with open_bytes(str(output)) as out:
            _merge(rows, canaries, out)
    many = options["count"] * options["repeats"]
    click.echo(f"{many:,} rows of {options['count']:,} canaries -> {output}, {record}", err=True)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise click.BadParameter(f"expected NAME=TEXT, got {text!r}", param_hint="--field")
    return name, value


def _merge(rows: Path, canaries: Any, out: Any) -> None:
    """Write the lines of a file with canaries between them; no line is read, or changed."""
    from genie_dp.private.audit.canaries import places

    with rows.open("rb") as lines:
        count = sum(1 for _ in lines)
    where = places(count, canaries)
    made = [_line(row.utterance, canaries, is_text=rows.suffix == ".txt") for row in canaries.rows]
    with rows.open("rb") as lines:
        for number, line in enumerate(lines):
            out.writelines(made[one] for one in where.get(number, ()))
            out.write(line if line.endswith(b"\n") else line + b"\n")
    out.writelines(made[one] for one in where.get(count, ()))


def _line(text: str, canaries: Any, *, is_text: bool) -> bytes:
    import json

    if is_text:
        return text.encode() + b"\n"
    row = {"utterance": text}
    if canaries.program is not None:
        row["program"] = canaries.program
    return json.dumps({**row, **canaries.fields}, ensure_ascii=False).encode() + b"\n"
