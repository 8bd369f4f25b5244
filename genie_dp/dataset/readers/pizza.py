"""PIZZA orders: programs in EXR, entities resolved."""

from collections.abc import Iterator

from genie_dp.dataset.left import Left
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.objects import objects
from genie_dp.records import Example


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield the orders of a JSONL file with id, utterance and program."""
    for _, row in objects(path, ("id", "utterance", "program")):
        yield expression_row(row["id"], row["utterance"], row["program"])
