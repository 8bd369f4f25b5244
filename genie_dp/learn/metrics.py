"""What happened in training, one JSON object a line; and the same for TensorBoard."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem

Event = Mapping[str, Any]
Listener = Callable[[Event], None]


class MetricsFile:
    """Events appended to a file; each is a whole line, so that it may be read at any time."""

    def __init__(self, path: Path):
        """Keep the path; the file is made with the first event."""
        self.path = path

    def __call__(self, event: Event) -> None:
        """Write an event."""
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(event) + "\n")

    def rewind(self, step: int) -> None:
        """Drop what came after a step: a resumed run does it again."""
        kept = [event for event in read_metrics(self.path) if event["step"] <= step]
        part = self.path.with_name(f".{self.path.name}.partial")
        part.write_text("".join(json.dumps(event) + "\n" for event in kept), encoding="utf-8")
        part.replace(self.path)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file; a last line that a kill cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def tensorboard(folder: Path) -> Listener:
    """Return a listener that writes numbers for TensorBoard.

    Raises:
        GenieError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as problem:
        hint = "pip install 'genie_dp[tensorboard]'"
        message = "TensorBoard is not installed"
        raise GenieError(Problem("M005", message, hint=hint)) from problem
    writer = SummaryWriter(str(folder))

    def listen(event: Event) -> None:
        for name, value in event.items():
            if name != "step" and isinstance(value, int | float):
                writer.add_scalar(f"train/{name}", value, event["step"])
        writer.flush()

    return listen
