"""Commands in processes to kill, which have imported already what the tests have."""

from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from genie_dp.cli import run


def start_command(*words: object) -> BaseProcess:
    """Start a command in a process forked from this one: `kill` and `join` end it."""
    process = get_context("fork").Process(target=_work, args=(list(map(str, words)),))
    process.start()
    return process


def _work(words: list[str]) -> None:
    raise SystemExit(run(words))
