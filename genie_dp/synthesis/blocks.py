"""The rows of a block of draws as text: one formatted string a row, placeholders put in at the end.

The text is most of a worker's output: twelve megabytes a block. So it stays in the worker, which
writes the selected rows to the file and place that the coordinator names.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.errors import GenieError
from genie_dp.synthesis.compiler import takes_part
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.python_bodies import with_derivation
from genie_dp.synthesis.rules import Combined

Bounds = Sequence[tuple[int, int]]
"""Pieces of a text in its order: (begin, end) in bytes."""


class BlockText(Protocol):
    """The lines of a block."""

    def read(self, bounds: Bounds) -> bytes:
        """Return pieces of the text, joined."""
        ...

    def write(self, bounds: Bounds, file: BinaryIO) -> None:
        """Write pieces of the text to the end of a file that is open for appending."""
        ...


@dataclass(frozen=True, slots=True)
class LocalText:
    """A text of this process: bytes, shape (bytes,); pickled, an array is not copied."""

    content: npt.NDArray[np.uint8]

    def read(self, bounds: Bounds) -> bytes:
        """Return pieces of the text, joined."""
        return b"".join(self._pieces(bounds))

    def write(self, bounds: Bounds, file: BinaryIO) -> None:
        """Write pieces of the text where the file stands."""
        file.writelines(self._pieces(bounds))

    def _pieces(self, bounds: Bounds) -> list[memoryview]:
        content = self.content.data
        return [content[begin:end] for begin, end in bounds]


@dataclass(frozen=True, slots=True)
class RemoteText:
    """A text of another process, which answers until the next block is asked for."""

    ask: Callable[[Any], Any]

    def read(self, bounds: Bounds) -> bytes:
        """Return pieces of the text, joined."""
        content: bytes = self.ask((bounds, None)) if bounds else b""
        return content

    def write(self, bounds: Bounds, file: BinaryIO) -> None:
        """Let the process write pieces of its text to the end of the file, which has a name."""
        if bounds:
            place = file.seek(0, os.SEEK_END)  # writes out what was buffered
            self.ask((bounds, (os.path.abspath(file.name), place)))
            file.seek(0, os.SEEK_END)


def answer_request(text: LocalText, request: tuple[Bounds, tuple[str, int] | None]) -> bytes | None:
    """Answer the request of a `RemoteText`, in the process that has the text."""
    bounds, target = request
    if target is None:
        return text.read(bounds)
    name, place = target
    with open(name, "r+b") as file:  # not for appending: the place is told
        file.seek(place)
        text.write(bounds, file)
    return None


U64 = npt.NDArray[np.uint64]


# -------------------------------------------------------------------------------------------- rows


@dataclass(slots=True)
class EncodedBlock:
    """The rows of one block of draws, encoded.

    Attributes:
        number: which block of the plan.
        text: the rows, each with its line end.
        ends: where each row ends in the text, shape (rows,).
        sentences, programs: 64-bit hashes, shape (rows,).
        drawn, kept: template -> how many draws, and how many of them gave a row.
        raised: "template: exception" -> how often a Python function raised.
        refused: "template: code" -> how many draws were left out as ill-typed.
    """

    number: int
    text: BlockText
    ends: npt.NDArray[np.int64]
    sentences: U64
    programs: U64
    drawn: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    raised: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def bounds(self, chosen: npt.NDArray[np.int64]) -> Bounds:
        """Return where some of the rows stand in the text: one piece for all that are together."""
        if not len(chosen):
            return []
        breaks = np.flatnonzero(np.diff(chosen) != 1)  # nearly all rows are chosen: few breaks
        first = chosen[np.concatenate([[0], breaks + 1])]
        last = chosen[np.concatenate([breaks, [len(chosen) - 1]])]
        begins = np.concatenate([[0], self.ends[:-1]])[first].tolist()
        return list(zip(begins, self.ends[last].tolist(), strict=True))


def make_block(engine: SynthesisEngine, number: int, *, format: str = "jsonl") -> EncodedBlock:
    """Return the rows of a block: a pure function of the engine's inputs and the number."""
    encode, steered = _Encoder(engine, format).encode, engine.steering
    first, count = number * engine.plan.block, engine.plan.block
    lines: list[str] = [""] * count  # by place; "" where there is no row
    sentences = [0] * count
    programs = [0] * count
    drawn_templates: list[str] = []
    kept_templates: list[str] = []
    raised_before, refused_before = engine.compiled.count_raised(), engine.compiled.count_refused()
    hashed = xxhash.xxh3_64_intdigest
    for place, cell, pieces in engine.plan.block_draws(number):
        template = cell.rule.template
        try:
            combined = cell.wording.assemble(*pieces)
        except GenieError as error:
            raise with_derivation(error, template, pieces) from error
        functions = None if combined is None else combined.value.functions
        if steered is not None and not steered.keeps(place, functions):
            continue  # as if it had never been drawn
        drawn_templates.append(template.id)
        # Of a template that is a whole command by itself, no pool has left out functions.
        if combined is None or (
            cell.depth == 0 and not takes_part(combined.value.functions, engine.config)
        ):
            continue
        kept_templates.append(template.id)
        program = combined.value.text
        sentences[place - first] = hashed(combined.text.encode())
        programs[place - first] = hashed(program.encode())
        lines[place - first] = encode(place, combined, program, cell.depth)
    raised = engine.compiled.count_raised() - raised_before
    refused = engine.compiled.count_refused() - refused_before
    rows = np.array([i for i, line in enumerate(lines) if line], np.int64)
    hashes = np.array(sentences, np.uint64)[rows], np.array(programs, np.uint64)[rows]
    text, ends = _join_lines([line for line in lines if line])
    drops = Counter(drawn_templates), Counter(kept_templates), raised, refused
    return EncodedBlock(number, LocalText(text), ends, *hashes, *drops)


def _join_lines(lines: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the lines as bytes, and where each of them ends."""
    text = "".join(lines).encode()
    sizes: Iterable[int] = map(len, lines)
    if not text.isascii():
        sizes = (len(line.encode()) for line in lines)
    return np.frombuffer(text, np.uint8), np.cumsum(np.fromiter(sizes, np.int64, len(lines)))


class _Encoder:
    """Formats rows."""

    def __init__(self, engine: SynthesisEngine, format: str):
        self.placeholders = engine.compiled.placeholders
        language = engine.compiled.language.name
        self.constant = f'"language":"{language}","source":"synthetic","parent":"",'
        self.encode: Callable[[int, Combined, str, int], str] = (
            self._tsv if format == "tsv" else self._jsonl
        )

    def _jsonl(self, place: int, row: Combined, program: str, depth: int) -> str:
        functions = '","'.join(row.value.functions)
        # Only these three hold placeholders: a third of the line is not searched for them.
        pair = f'{_escape(row.text)}","program":"{_escape(program)}'
        slots = row.slots
        if row.mask:
            for character, token in self.placeholders.names_in(row.count):
                pair = pair.replace(character, token)
                slots = slots.replace(character, token)
        return (
            f'{{"id":"S{place}","utterance":"{pair}",{self.constant}'
            f'"derivation":[{row.derivation}],"functions":["{functions}"],'
            f'"depth":{depth},"slots":{{{slots}}},"weight":1.0}}\n'
        )

    def _tsv(self, place: int, row: Combined, program: str, depth: int) -> str:
        line = f"S{place}\t{row.text}\t{program}\n"
        for character, token in self.placeholders.names_in(row.count) if row.mask else ():
            line = line.replace(character, token)
        return line


def _escape(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text.replace('"', '\\"') if '"' in text else text
