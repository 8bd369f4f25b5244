"""Servers in processes of their own, for tests that ask, stop and kill them."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

COMMAND_LINE = "from genie_dp.cli import main; main()"


class ServerProcess:
    """Starts a program of Python as a server, and waits until it has said where it is."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        self.said = []
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            if found := re.match(r"(?:open|.* at) (\S+) ", line):
                self.url = found[1]
                self.port = urlsplit(self.url).port
                return
        raise AssertionError(f"the server ended: {self.said}")

    def end(self, signal):
        """Send a signal and return the exit code; all that was written is in `said` then."""
        self.process.send_signal(signal)
        out, errors = self.process.communicate(timeout=30)
        self.said += [*errors.splitlines(), *out.splitlines()]
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=20)
        self.process.stderr.close()
        self.process.stdout.close()
