"""A real `genie-dp paraphrase serve` in a process of its own, for tests that kill it."""

import re
import subprocess
import sys
from urllib.parse import urlsplit

from genie_dp.paraphrase.shown import to_line

COMMAND_LINE = "from genie_dp.cli import main; main()"


def write_chosen(path, rows):
    path.write_text("".join(to_line(shown) + "\n" for shown in rows), encoding="utf-8")
    return path


class ServerProcess:
    """Starts the server and waits until it has said where it is."""

    def __init__(self, chosen, database, *options, port=0):
        command = ["paraphrase", "serve", chosen, "--database", database, "--port", port, *options]
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LINE, *map(str, command)],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            if found := re.match(r"open (\S+) ", line):
                self.url = found[1]
                self.port = urlsplit(self.url).port
                return
        raise AssertionError(f"the server ended: {self.said}")

    def end(self, signal):
        """Send a signal and return the exit code."""
        self.process.send_signal(signal)
        self.said += self.process.stderr.read().splitlines()
        return self.process.wait(timeout=20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=20)
        self.process.stderr.close()
