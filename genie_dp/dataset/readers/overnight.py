"""Overnight: canonical sentences of a grammar, their paraphrases, lambda-DCS programs."""

from collections.abc import Iterator
from dataclasses import replace

import xxhash

from genie_dp.dataset.left import Left
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.objects import columns, objects
from genie_dp.records import Example
from genie_dp.rows import format_of


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield paraphrases and, before the first of each, its canonical sentence as their parent.

    JSONL has id, utterance, canonical and program; TSV has canonical and program only.
    """
    seen: set[str] = set()
    if format_of(path) == "tsv":
        for _, (canonical, program, *_) in columns(path, 2):
            if (canonical, program) == ("canonical", "program"):  # names of the columns
                continue
            yield _canonical_row(canonical, program)
        return
    for _, row in objects(path, ("id", "utterance", "canonical", "program")):
        top = _canonical_row(row["canonical"], row["program"])
        if top.id not in seen:
            seen.add(top.id)
            yield top
        one = expression_row(row["id"], row["utterance"], row["program"], source="paraphrase")
        yield replace(one, parent=top.id) if isinstance(one, Example) else one


def _canonical_row(canonical: str, program: str) -> Example | Left:
    name = xxhash.xxh3_64_hexdigest(f"{canonical}\t{program}".encode())
    return expression_row(f"canonical-{name}", canonical, program, source="synthetic")
