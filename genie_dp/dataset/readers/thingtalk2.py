"""Rows with ThingTalk 2 programs, such as commands of Thingpedia's users and Schema2QA."""

from collections.abc import Iterator

from genie_dp.dataset.left import Left, NoEqual
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.objects import objects
from genie_dp.dataset.thingtalk2.converter import Converter
from genie_dp.dataset.thingtalk2.reader import DIALOGUE
from genie_dp.dataset.thingtalk2.reader import read as read_program
from genie_dp.dataset.thingtalk2.statements import queries_in
from genie_dp.records import Example, Source


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield the rows of a JSONL file with id, utterance and program, read twice.

    The first time says which functions can only be queries, where no library does.
    """
    source: Source = "paraphrase" if "paraphrase" in path.rsplit("/", 1)[-1] else "human"
    converter = Converter(options.library, frozenset(_queries(path)), options.placeholders)
    for _, row in objects(path, ("id", "utterance", "program")):
        act = row.get("act", "execute")
        if act != "execute":
            yield Left(row["id"], row["utterance"], row["program"], DIALOGUE, str(act))
        else:
            yield converter.row(row["id"], row["utterance"], row["program"], source)


def _queries(path: str) -> Iterator[str]:
    for _, row in objects(path, ("program",)):
        try:
            yield from queries_in(read_program(row["program"])[0])
        except NoEqual:
            continue
