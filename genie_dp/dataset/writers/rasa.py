"""Rasa NLU training data: a sentence with its values marked, under the intent of its functions."""

import json
from collections.abc import Iterable
from typing import BinaryIO

from genie_dp.dataset.left import Left
from genie_dp.dataset.plain import plain
from genie_dp.dataset.spans import intent_of, spans_of
from genie_dp.dataset.writers import Note
from genie_dp.records import Example
from genie_dp.run.page import as_yaml

_MARKUP = frozenset("[]{}")


def write(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write rows; those in a row with one intent share an entry. `metadata` keeps the whole row."""
    out.write(b'version: "3.1"\nnlu:')
    intent, is_empty = None, True
    for row in rows:
        if _MARKUP & set(row.utterance):
            left(Left(row.id, row.utterance, row.program, "brackets", "Rasa reads them as marks"))
            continue
        if (now := intent_of(row)) != intent:
            intent = now
            out.write(f"\n- intent: {as_yaml(intent)}\n  examples:".encode())
        out.write(_entry(row).encode())
        is_empty = False
    out.write(b" []\n" if is_empty else b"\n")


def _entry(row: Example) -> str:
    kept = json.dumps(plain(row), ensure_ascii=False)  # as text: YAML reads its own maps slowly
    return f"\n  - text: {as_yaml(marked(row))}\n    metadata:\n      row: {as_yaml(kept)}"


def marked(row: Example) -> str:
    """Return the sentence with its values marked.

    >>> marked(Example("a", "say hello you", 'now => @c.say param:text:String = " hello you "'))
    'say [hello you](text)'
    """
    words = row.utterance.split()
    for found in reversed(spans_of(row)):
        text = " ".join(words[found.start : found.end])
        words[found.start : found.end] = [f"[{text}]({found.label})"]
    return " ".join(words)
