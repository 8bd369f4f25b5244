"""Rows as text: one formatted string a row, placeholders put in at the very end."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.errors import GenieError
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.python_bodies import with_derivation
from genie_dp.synthesis.rules import Combined, combine

BLOCK = 4096  # draws in one block: small enough to balance workers, large enough for numpy
U64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class Block:
    """The rows of one block of draws, encoded.

    Attributes:
        number: which block of the plan.
        lines: the rows, each with its line end.
        sentences, programs: 64-bit hashes, shape (rows,).
        drawn, kept: template -> how many draws, and how many of them gave a row.
        raised: "template: exception" -> how often a Python function raised.
    """

    number: int
    lines: list[str]
    sentences: U64
    programs: U64
    drawn: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    raised: Counter[str] = field(default_factory=Counter)


def make_block(engine: Engine, number: int, *, format: str = "jsonl") -> Block:
    """Return the rows of a block: a pure function of the engine's inputs and the number."""
    encode = _Encoder(engine, format).encode
    lines: list[str] = []
    sentences: list[int] = []
    programs: list[int] = []
    drawn: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    raised_before = engine.compiled.raised()
    hashed = xxhash.xxh3_64_intdigest
    for place, (cell, pieces) in enumerate(
        engine.plan.draws(number * BLOCK, BLOCK), number * BLOCK
    ):
        name = cell.rule.template.id
        drawn[name] += 1
        try:
            combined = combine(cell.rule, cell.wording, pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        if combined is None:
            continue
        kept[name] += 1
        program = combined.value.text
        sentences.append(hashed(combined.text.encode()))
        programs.append(hashed(program.encode()))
        lines.append(encode(place, combined, program, cell.depth))
    raised = engine.compiled.raised() - raised_before
    hashes = np.array(sentences, np.uint64), np.array(programs, np.uint64)
    return Block(number, lines, *hashes, drawn, kept, raised)


class _Encoder:
    """Formats rows."""

    def __init__(self, engine: Engine, format: str):
        self.placeholders = engine.compiled.placeholders
        self.language = engine.compiled.language.name
        self.encode: Callable[[int, Combined, str, int], str] = (
            self._tsv if format == "tsv" else self._jsonl
        )

    def _jsonl(self, place: int, row: Combined, program: str, depth: int) -> str:
        functions = '","'.join(row.value.functions)
        line = (
            f'{{"id":"S{place}","utterance":"{_escaped(row.text)}","program":"{_escaped(program)}",'
            f'"language":"{self.language}","source":"synthetic","parent":"",'
            f'"derivation":[{row.derivation}],"functions":["{functions}"],'
            f'"depth":{depth},"slots":{{{row.slots}}},"weight":1.0}}\n'
        )
        return self._named(line, row.count) if row.mask else line

    def _tsv(self, place: int, row: Combined, program: str, depth: int) -> str:
        line = f"S{place}\t{row.text}\t{program}\n"
        return self._named(line, row.count) if row.mask else line

    def _named(self, line: str, count: int) -> str:
        for character, token in self.placeholders.names_in(count):
            line = line.replace(character, token)
        return line


def _escaped(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text.replace('"', '\\"') if '"' in text else text
