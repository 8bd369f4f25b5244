"""Draws rows to be read one by one: as many of each depth and group of templates as there are.

    genie-dp synthesize --size 100000 --max-depth 5 --seed 7 --output rows.jsonl
    python benchmarks/draw_rows.py rows.jsonl --seed 7 > drawn.tsv

The group of a row is the file of grammars/en that holds its outermost template, or `skills`. The
order of the strata and the rows in them follow from the seed. The columns are those of
docs/research/naturalness-300.tsv, with a verdict and a reason to be filled in.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from genie_dp.cli.inputs import load_inputs
from genie_dp.resources import data_folder

COLUMNS = ("number", "id", "depth", "group", "template", "utterance", "verdict", "reason")
Stratum = tuple[int, str]


def groups() -> dict[str, str]:
    """Return template id -> group."""
    grammar = Path(str(data_folder("grammars"))) / "en"
    templates = load_inputs("thingtalk", (), (), skip_broken=False).grammar.templates
    return {
        t.id: Path(t.span.file).stem if Path(t.span.file).parent == grammar else "skills"
        for t in templates
        if t.span
    }


def drawn(rows: Sequence[tuple[Stratum, str]], count: int, seed: str) -> Iterator[str]:
    """Yield `count` rows, one of each stratum in turn until it has no more.

    >>> rows = [((1, "a"), "x"), ((1, "a"), "y"), ((1, "a"), "z"), ((2, "b"), "u")]
    >>> found = list(drawn(rows, 3, "0"))
    >>> len(found), "u" in found
    (3, True)
    """
    strata: dict[Stratum, list[str]] = {}
    for stratum, row in rows:
        strata.setdefault(stratum, []).append(row)
    for (depth, group), members in strata.items():
        random.Random(f"{seed}:draw:{depth}:{group}").shuffle(members)
    turns = max(map(len, strata.values()), default=0)
    in_turn = [
        members[turn]
        for turn in range(turns)
        for _, members in sorted(strata.items())
        if turn < len(members)
    ]
    yield from in_turn[:count]


@click.command()
@click.argument("rows", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--count", default=300, show_default=True, help="Rows to draw.")
@click.option("--seed", default="0", show_default=True)
def main(rows: Path, count: int, seed: str) -> None:
    """Print a table of drawn rows, tab separated."""
    of_template = groups()
    found: list[tuple[Stratum, str]] = []
    with rows.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            stratum = (row["depth"], of_template[row["derivation"][0]])
            found.append((stratum, line))
    click.echo("\t".join(COLUMNS))
    for number, line in enumerate(drawn(found, count, seed), start=1):
        row = json.loads(line)
        outermost = row["derivation"][0]
        cells = (number, row["id"], row["depth"], of_template[outermost], outermost)
        click.echo("\t".join(map(str, (*cells, row["utterance"], "", ""))))


if __name__ == "__main__":
    main()
