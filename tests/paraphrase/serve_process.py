"""A real `genie-dp data paraphrase serve` in a process of its own, for tests that kill it."""

from genie_dp.paraphrase.shown import to_line
from tests.server_process import COMMAND_LINE
from tests.server_process import ServerProcess as AnyServer


def write_chosen(path, rows):
    path.write_text("".join(to_line(shown) + "\n" for shown in rows), encoding="utf-8")
    return path


class ServerProcess(AnyServer):
    """Serves the tasks of chosen rows."""

    def __init__(self, chosen, database, *options, port=0):
        words = ("serve", chosen, "--database", database, "--port", port, *options)
        super().__init__(COMMAND_LINE, "data", "paraphrase", *words)
