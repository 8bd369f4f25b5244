"""Cases of the reader: a sentence, its utterance with placeholders, and the values."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "data" / "reading"
NOW = datetime(2027, 1, 13, 10, 0)  # a wednesday


@dataclass(frozen=True, slots=True)
class ReadingCase:
    """A line `sentence => utterance :: value ; value`."""

    topic: str
    sentence: str
    utterance: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return self.sentence


def reading_cases(topic: str) -> list[ReadingCase]:
    """Return the cases of a file."""
    found = []
    for line in _lines(topic):
        sentence, _, rest = line.partition(" => ")
        utterance, _, values = rest.partition(" ::")
        said = tuple(value.strip() for value in values.split(" ; ") if value.strip())
        found.append(ReadingCase(topic, sentence, utterance, said))
    return found


def topics() -> list[str]:
    """Return the files of cases, all but the traps."""
    return sorted(path.stem for path in FOLDER.glob("*.txt") if not path.stem.startswith("traps"))


def traps() -> list[str]:
    """Return the sentences in which nothing is to be read."""
    return [*_lines("traps"), *_lines("traps_2")]


def _lines(topic: str) -> list[str]:
    lines = (FOLDER / f"{topic}.txt").read_text(encoding="utf-8").splitlines()
    # "# hash" is a trap, a comment begins a file.
    while lines[0].startswith("# "):
        lines.pop(0)
    return [line for line in lines if line]
