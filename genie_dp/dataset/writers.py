"""Writers of data sets: ours, and those of Hugging Face, Rasa and CoNLL."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from genie_dp import rows as formats
from genie_dp.dataset.formats import LeftRow, Note, WriteOptions, as_plain
from genie_dp.records import Example
from genie_dp.rows import as_record
from genie_dp.run.page import as_yaml


def write_jsonl(rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions) -> None:
    """Write one JSON object a line."""
    for row in rows:
        out.write(f"{formats.to_json(row)}\n".encode())


def write_tsv(rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions) -> None:
    """Write id, utterance and program between tabs."""
    for row in rows:
        line = f"{row.id}\t{row.utterance}\t{row.program}"
        if line.count("\t") > 2 or "\n" in line or "\r" in line:
            note(
                LeftRow(row.id, row.utterance, row.program, "tab or line end", "TSV has no escapes")
            )
        else:
            out.write(f"{line}\n".encode())


def write_parquet(
    rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions
) -> None:
    """Write Parquet; needs the extra `parquet`."""
    formats.write_parquet(rows, out)


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


def write_records(
    rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions
) -> None:
    """Write one object a line; slots are a list of token, type and parameter."""
    for row in rows:
        out.write(json.dumps(as_record(row), ensure_ascii=False).encode() + b"\n")


def write_conll(rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions) -> None:
    """Write rows; `# row` keeps the fields that the tokens lack."""
    for row in rows:
        words = row.utterance.split()
        is_plain = row.utterance == " ".join(words) and not any(c in row.utterance for c in _SPACES)
        plain = as_plain(row, without=("utterance",) if is_plain else ())
        lines = [f"# intent = {intent_of(row)}", f"# row = {json.dumps(plain)}"]
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
    for span in spans_of(row):
        tags[span.start : span.end] = [f"I-{span.label}"] * (span.end - span.start)
        tags[span.start] = f"B-{span.label}"
    return tags


_MARKUP = frozenset("[]{}")


def write_rasa(rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions) -> None:
    """Write rows; those in a row with one intent share an entry. `metadata` keeps the whole row."""
    out.write(b'version: "3.1"\nnlu:')
    intent, is_empty = None, True
    for row in rows:
        if _MARKUP & set(row.utterance):
            note(
                LeftRow(row.id, row.utterance, row.program, "brackets", "Rasa reads them as marks")
            )
            continue
        if (now := intent_of(row)) != intent:
            intent = now
            out.write(f"\n- intent: {as_yaml(intent)}\n  examples:".encode())
        # As text: YAML reads its own maps slowly.
        plain = as_yaml(json.dumps(as_plain(row), ensure_ascii=False))
        text = as_yaml(mark_values(row))
        out.write(f"\n  - text: {text}\n    metadata:\n      row: {plain}".encode())
        is_empty = False
    out.write(b" []\n" if is_empty else b"\n")


def mark_values(row: Example) -> str:
    """Return the sentence with its values marked.

    >>> program = 'now => @c.say param:text:String = " hello you "'
    >>> mark_values(Example("a", "say hello you", program))
    'say [hello you](text)'
    """
    words = row.utterance.split()
    for span in reversed(spans_of(row)):
        text = " ".join(words[span.start : span.end])
        words[span.start : span.end] = [f"[{text}]({span.label})"]
    return " ".join(words)


# ----------------------------------------------------------------------------- values of a sentence


_PARAMETER = re.compile(r"(?:param|attribute):([\w-]+)")
_SLOT = re.compile(r"([A-Z][A-Z_]*?)(?:_[\w.:-]+)?_\d+")
_NO_LABEL = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A value of the sentence: tokens from start up to end, and the parameter that it fills."""

    start: int
    end: int
    label: str


def spans_of(row: Example) -> tuple[LabelledSpan, ...]:
    """Return the values in the sentence, from left to right, never overlapping.

    These are placeholders, texts of the program that stand in the sentence as they are, and words
    of slots of TOP. Of values that overlap the longer one stays.

    >>> row = Example("a", "tell bob hello there",
    ...     'now => @m.send param:to:String = " bob " param:text:String = " hello there "')
    >>> [(f.start, f.end, f.label) for f in spans_of(row)]
    [(1, 2, 'to'), (2, 4, 'text')]
    """
    words = row.utterance.split()
    spans = [*_spoken_placeholders(row, words), *_spoken_texts(row, words)]
    spans.sort(key=lambda span: (span.start - span.end, span.start, span.label))
    taken = [False] * len(words)
    apart = []
    for span in spans:
        if not any(taken[span.start : span.end]):
            taken[span.start : span.end] = [True] * (span.end - span.start)
            apart.append(span)
    return tuple(sorted(apart, key=lambda span: span.start))


def _spoken_placeholders(row: Example, words: Sequence[str]) -> Iterator[LabelledSpan]:
    for place, word in enumerate(words):
        if word in row.slots:
            parameter = row.slots[word].parameter.rpartition(":")[2]
            yield LabelledSpan(place, place + 1, label_of(parameter or row.slots[word].type))
        elif word[:1].isupper() and (match := _SLOT.fullmatch(word)) and word in row.program:
            yield LabelledSpan(place, place + 1, match[1].lower())


def _spoken_texts(row: Example, words: Sequence[str]) -> Iterator[LabelledSpan]:
    for label, text in _labelled_texts(row.program.split(" ")):
        for place in range(len(words) - len(text) + 1):
            if words[place] == text[0] and words[place : place + len(text)] == text:
                yield LabelledSpan(place, place + len(text), label)


def _labelled_texts(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the words of every text of a program, and of slots of TOP."""
    label, place = "text", 0
    while place < len(tokens):
        token = tokens[place]
        if token == '"':
            end = place + 1
            while end < len(tokens) and tokens[end] != '"':
                end += 1
            if end > place + 1:
                yield label, list(tokens[place + 1 : end])
            place = end
        elif match := _PARAMETER.match(token):
            label = match[1]
        elif token.startswith("SL:"):
            label = label_of(token.removeprefix("SL:").lower())
            text = _leaf(tokens, place + 1)
            if text:
                yield label, text
        elif place and tokens[place - 1] in ("(", "["):
            label = label_of(token)
        place += 1


def _leaf(tokens: Sequence[str], start: int) -> list[str]:
    """Return the words up to the bracket that closes; none where another bracket opens."""
    for end in range(start, len(tokens)):
        if tokens[end] == "]":
            return list(tokens[start:end])
        if tokens[end] in ("[", "(", '"'):
            break
    return []


def label_of(name: str) -> str:
    """Return a name that may stand in a tag.

    >>> label_of("Entity(tt:contact)")
    'Entity_tt_contact'
    """
    return _NO_LABEL.sub("_", name).strip("_") or "value"


def intent_of(row: Example) -> str:
    """Return the functions of a row as the name of an intent.

    >>> intent_of(Example("a", "hi", "", functions=("@c.f", "@d.g")))
    'c.f+d.g'
    """
    names = "+".join(dict.fromkeys(name.removeprefix("@") for name in row.functions))
    return "_".join(names.split()) or "none"
