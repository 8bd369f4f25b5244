"""`genie-dp merge`: the shards of a run become the file that one run would have made."""

import click


@click.command("merge")
@click.argument("parts", nargs=-1, required=True, metavar="PART...")
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE|URL|-",
    help="Where the rows of the whole run go.",
)
@click.option("--overwrite", is_flag=True, help="Replace the output.")
def command(*, parts: tuple[str, ...], output: str, overwrite: bool) -> None:
    """Join the shards of one synthesis run.

    Gives the bytes that the run would have written without --shard, cut at its --size. Each part
    needs its manifest beside it: a shard without one is not finished.

    \b
    genie-dp synthesize --shard 0/2 --output part0.jsonl
    genie-dp synthesize --shard 1/2 --output part1.jsonl
    genie-dp merge part0.jsonl part1.jsonl --output pairs.jsonl
    """
    from genie_dp.cli.output import show
    from genie_dp.run.stage import Output
    from genie_dp.synthesis.merge import run

    show(run(parts, Output(output, overwrite=overwrite)))
