"""The text of a block: here, or in the process that made it.

A worker's text is most of what it makes: twelve megabytes a block. So it stays there, and the
worker writes what is wanted of it where the coordinator says.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

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
class TextHere:
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
class TextThere:
    """A text of another process, which answers until the next block is asked for."""

    ask: Callable[[Any], Any]

    def read(self, bounds: Bounds) -> bytes:
        """Return pieces of the text, joined."""
        found: bytes = self.ask((bounds, None)) if bounds else b""
        return found

    def write(self, bounds: Bounds, file: BinaryIO) -> None:
        """Let the process write pieces of its text to the end of the file, which has a name."""
        if bounds:
            place = file.seek(0, os.SEEK_END)  # writes out what was buffered
            self.ask((bounds, (os.path.abspath(file.name), place)))
            file.seek(0, os.SEEK_END)


def answer(text: TextHere, request: tuple[Bounds, tuple[str, int] | None]) -> bytes | None:
    """Do what a `TextThere` asks for, in the process that has the text."""
    bounds, target = request
    if target is None:
        return text.read(bounds)
    name, place = target
    with open(name, "r+b") as file:  # not for appending: the place is told
        file.seek(place)
        text.write(bounds, file)
    return None
