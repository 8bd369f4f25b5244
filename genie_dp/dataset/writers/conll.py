"""A token and its BIO tag a line, an empty line after each sentence; comments hold the rest."""

import json
from collections.abc import Iterable
from typing import BinaryIO

from genie_dp.dataset.plain import plain
from genie_dp.dataset.spans import intent_of, spans_of
from genie_dp.dataset.writers import Note
from genie_dp.records import Example


def write(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write rows; `# row` keeps what the tokens do not say."""
    for row in rows:
        words = row.utterance.split()
        is_plain = row.utterance == " ".join(words) and not any(c in row.utterance for c in _SPACES)
        kept = plain(row, without=("utterance",) if is_plain else ())
        lines = [f"# intent = {intent_of(row)}", f"# row = {json.dumps(kept)}"]
        lines += [f"{word}\t{tag}" for word, tag in zip(words, tags_of(row), strict=True)]
        out.write(("\n".join(lines) + "\n\n").encode())


# Line ends of Unicode, which readers of lines disagree about.
_SPACES = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def tags_of(row: Example) -> list[str]:
    """Return the tag of each token.

    >>> tags_of(Example("a", "say hello you", 'now => @c.say param:text:String = " hello you "'))
    ['O', 'B-text', 'I-text']
    """
    tags = ["O"] * len(row.utterance.split())
    for found in spans_of(row):
        tags[found.start : found.end] = [f"I-{found.label}"] * (found.end - found.start)
        tags[found.start] = f"B-{found.label}"
    return tags
