"""Rows as JSON lines whose columns all have one type, as Hugging Face datasets wants them."""

import json
from collections.abc import Iterable
from typing import BinaryIO

from genie_dp.dataset.writers import Note
from genie_dp.records import Example
from genie_dp.rows import as_record

# Placeholders are keys in our rows; here they are values, for columns have a fixed type. The
# types are written out, since an empty list or a text that is always "" has none.
FEATURES = """\
- name: id
  dtype: string
- name: utterance
  dtype: string
- name: program
  dtype: string
- name: language
  dtype: string
- name: source
  dtype: string
- name: parent
  dtype: string
- name: derivation
  list: string
- name: functions
  list: string
- name: depth
  dtype: int32
- name: slots
  list:
  - name: token
    dtype: string
  - name: type
    dtype: string
  - name: parameter
    dtype: string
- name: weight
  dtype: float64"""


def write(rows: Iterable[Example], out: BinaryIO, left: Note) -> None:
    """Write one object a line; slots are a list of token, type and parameter."""
    for row in rows:
        out.write(json.dumps(as_record(row), ensure_ascii=False).encode() + b"\n")
