"""`genie-dp merge`: the shards of a run become the file that one run would have made."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.overlap import refuse_overlap
from genie_dp.errors import GenieError, Problem
from genie_dp.rows import format_of, write_rows
from genie_dp.run.files import check_output, is_url, opened_text
from genie_dp.run.manifest import manifest_of, write_json


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
def command(parts: Sequence[str], output: str, overwrite: bool) -> None:
    """Join the shards of one synthesis run.

    Gives the bytes that the run would have written without --shard, cut at its --size. Each part
    needs its manifest beside it: a shard without one is not finished.

    \b
    genie-dp synthesize --shard 0/2 --output part0.jsonl
    genie-dp synthesize --shard 1/2 --output part1.jsonl
    genie-dp merge part0.jsonl part1.jsonl --output pairs.jsonl
    """
    from genie_dp.synthesis.merge import Merged, check_shards, merged

    refuse_overlap([output], parts)
    check_output(output)
    if not is_url(output) and Path(output).exists() and not overwrite:
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{output} exists already", hint=hint))
    shards = _shards(parts)
    problems = check_shards(shards) or _formats(shards, output)
    if problems:
        raise GenieError(problems)
    first = shards[0].manifest
    counts = Merged()
    lines = merged(shards, _lines, counts, limit=first["config"]["size"])
    write_rows(lines, first["format"], output, _wanted(shards, output))
    if output != "-":
        write_json(manifest_of(output), _manifest(shards, counts, output))
    click.echo(
        f"{counts.rows:,} pairs of {len(shards)} shards -> {'stdout' if output == '-' else output} "
        f"(left out: {counts.repeated:,} repeated, {counts.ambiguous:,} ambiguous)",
        err=True,
    )


def _shards(parts: Sequence[str]) -> list[Any]:
    """Return the parts with their manifests, or raise GenieError for all that have none."""
    from genie_dp.synthesis.merge import Shard

    found, problems = [], []
    for part in parts:
        manifest = _manifest_of_part(part)
        if isinstance(manifest, Problem):
            problems.append(manifest)
        else:
            found.append(Shard(part, manifest))
    if problems:
        raise GenieError(problems)
    return found


def _manifest_of_part(part: str) -> Mapping[str, Any] | Problem:
    name = manifest_of(part)
    if not is_url(name) and not Path(name).exists():
        hint = f"a shard is finished when {name} is there; is it still being made?"
        return Problem("Y040", f"{part} has no manifest", hint=hint)
    try:
        with opened_text(name) as text:
            manifest = json.load(text)
    except GenieError as error:
        return error.problems[0]
    except ValueError as error:
        return Problem("Y040", f"{name} cannot be read: {error}")
    if not isinstance(manifest, dict) or manifest.get("command") != "synthesize":
        hint = "merge takes what genie-dp synthesize --shard made"
        return Problem("Y040", f"{name} is no manifest of synthesize", hint=hint)
    wrong = [part for part, is_right in _PARTS.items() if not is_right(manifest.get(part))]
    if wrong:
        hint = "make the shard again, or take the manifest that was made with it"
        message = f"{name} is no whole manifest: {', '.join(wrong)}"
        return Problem("Y040", message, hint=hint)
    return manifest


def _are_counts(found: Any) -> bool:
    return isinstance(found, dict) and all(type(count) is int for count in found.values())


# What is read of a manifest -> whether it is as it should be.
_PARTS: Mapping[str, Callable[[Any], bool]] = {
    "shard": lambda x: isinstance(x, list) and len(x) == 2 and all(type(i) is int for i in x),
    "format": lambda x: isinstance(x, str),
    "block": lambda x: type(x) is int and x > 0,
    "config": lambda x: isinstance(x, dict) and isinstance(x.get("size", ""), int | None),
    "counts": lambda x: _are_counts(x) and {"rows", "repeated", "ambiguous"} <= x.keys(),
    "raised": _are_counts,
    "refused": _are_counts,
}


def _formats(shards: Sequence[Any], output: str) -> list[Problem]:
    """Return what keeps these formats from being read and written."""
    made = shards[0].manifest["format"]
    if len({shard.manifest["format"] for shard in shards}) > 1 or made == "parquet":
        hint = "make the shards as .jsonl or .tsv; the merged file may be .parquet"
        return [Problem("Y044", "shards are joined as JSON lines or as TSV, all alike", hint=hint)]
    wanted = _wanted(shards, output)
    if made == "tsv" and wanted != "tsv":
        hint = "write .tsv, or make the shards as .jsonl"
        return [Problem("Y044", f"rows of TSV hold too little for {wanted}", hint=hint)]
    if wanted == "parquet" and output == "-":
        hint = "give a file with --output pairs.parquet"
        return [Problem("Y023", "Parquet cannot be written to a pipe", hint=hint)]
    return []


def _wanted(shards: Sequence[Any], output: str) -> str:
    return format_of(output, shards[0].manifest["format"])


def _lines(part: str) -> Iterator[str]:
    with opened_text(part, newline="\n") as lines:
        yield from lines


def _manifest(shards: Sequence[Any], counts: Any, output: str) -> dict[str, Any]:
    parts = [shard.manifest for shard in shards]
    total = {name: sum(part["counts"][name] for part in parts) for name in parts[0]["counts"]}
    return {
        **parts[0],
        "shard": [0, 1],
        "format": _wanted(shards, output),
        "merged": len(parts),
        "counts": {
            **total,
            "rows": counts.rows,
            "repeated": total["repeated"] + counts.repeated,
            "ambiguous": total["ambiguous"] + counts.ambiguous,
        },
        "raised": _summed([part["raised"] for part in parts]),
        "refused": _summed([part["refused"] for part in parts]),
    }


def _summed(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(part.get(name, 0) for part in parts) for name in sorted(set().union(*parts))}
