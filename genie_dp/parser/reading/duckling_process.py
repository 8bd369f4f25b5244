"""Asks Duckling in its own process, with a deadline."""

import json
import logging
import selectors
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import IO, Any

LOG = logging.getLogger(__name__)
# Seconds until the process answers for the first time: it loads 66 MB.
_START = 20.0


class DucklingProcess:
    """A process that reads times; killed when it is late, started again when it is asked next.

    Attributes:
        deadline: seconds for an answer.
        late: how often it was killed.
    """

    def __init__(self, *, deadline: float = 1.0):
        """Start nothing yet."""
        self.deadline = deadline
        self.late = 0
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def ask(self, texts: Sequence[str], now: datetime) -> list[list[dict[str, Any]]] | None:
        """Return what Duckling finds in each text, None if it took too long or died."""
        if not texts:
            return []
        seconds = int(now.replace(tzinfo=UTC).timestamp())
        request = json.dumps({"texts": list(texts), "time": seconds}) + "\n"
        with self._lock:
            process, seconds_left = self._running()
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None
            try:
                stdin.write(request)
                stdin.flush()
            except BrokenPipeError:
                self._stop()
                return None
            line = _line(stdout, seconds_left)
            if not line:
                self.late += 1
                self._stop()
                LOG.warning("Duckling gave no answer in %.1f s: read without it", seconds_left)
                return None
        answers: list[list[dict[str, Any]]] = json.loads(line)
        return answers

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._stop()

    def _running(self) -> tuple[subprocess.Popen[str], float]:
        if self._process is not None and self._process.poll() is None:
            return self._process, self.deadline
        self._stop()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "genie_dp.parser.reading.duckling_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self._process, self.deadline + _START

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)


def _close(pipe: IO[str]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:  # what was not written is not wanted any more
        return


def _line(stdout: IO[str], seconds: float) -> str:
    """Return the next line, or what came of it until time was up."""
    end = monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        # A worker writes a line at once, so that it is whole when there is anything.
        if selector.select(max(0.0, end - monotonic())):
            return stdout.readline()
    return ""
