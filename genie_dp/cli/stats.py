"""`genie-dp stats`: what a data set is made of, as JSON and as a page."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click

from genie_dp.cli.options import output_option
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.overlap import refuse_overlap
from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import check_output, open_text


@click.command("stats")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option("Where the numbers go, as JSON.")
@click.option("--html", metavar="FILE", help="Write a page with charts there, too.")
@click.option("--title", help="Title of the page [the names of the inputs].")
def command(inputs: Sequence[str], output: str, html: str | None, title: str | None) -> None:
    """Count what a data set is made of.

    Sorts of commands, different words, programs and combinations of functions, lengths, and how
    much is new in paraphrases. INPUT is a file of rows, or a folder of split or convert.

    \b
    genie-dp stats synthetic.jsonl paraphrases.jsonl --output stats.json --html stats.html
    genie-dp stats data | jq .totals
    """
    from genie_dp import __version__
    from genie_dp.dataset.scan import Input, Row, Wanted, scan
    from genie_dp.dataset.stats import count
    from genie_dp.dataset.stats_page import page

    for target in (output, *([html] if html else [])):
        check_output(target)
    sources = [Input.of(name) for name in _files(inputs)]
    refuse_overlap((output, html), (source.name for source in sources))
    private = told_private(inputs)

    def rows(wanted: Wanted | None) -> Iterator[Row]:
        read = chain.from_iterable(scan(source, wanted=wanted) for source in sources)
        with progress(read, label="paraphrases" if wanted else "rows") as seen:
            yield from seen

    found = count(rows)
    if not found["totals"]["rows"]:
        raise GenieError(Problem("D008", "the inputs hold no rows", hint="name other files"))
    told = {
        **private,
        "title": title or ", ".join(Path(name).name for name in inputs),
        "version": __version__,
        "inputs": [source.described() for source in sources],
        **found,
    }
    if html:
        with open_text(html) as out:
            out.write(page(told))
    with open_text(output) as out:
        json.dump(told, out, indent=2, ensure_ascii=False)
        out.write("\n")
    where = [name for name in (output, html) if name and name != "-"]
    rows_ = f"{told['totals']['rows']:,} rows of {len(sources)} files"
    click.echo(f"{rows_}{' -> ' + ', '.join(where) if where else ''}", err=True)


def _files(inputs: Sequence[str]) -> list[str]:
    """Return the files of the inputs: those of a folder are its parts."""
    found = []
    for name in inputs:
        if name == "-":
            hint = "write the rows to a file first"
            raise GenieError(Problem("D009", "inputs are read twice, a pipe cannot be", hint=hint))
        if "://" not in name and Path(name).is_dir():
            from genie_dp.dataset.readers.huggingface import parts_in

            found += [str(file) for files in parts_in(Path(name)).values() for file in files]
        else:
            found.append(name)
    return found
