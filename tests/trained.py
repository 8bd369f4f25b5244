"""Folders that take long to make, such as parsers, made once for all tests and all workers."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parser import parser_setup

MadeOnce = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Return a function that gives a folder, filled by the first worker that asks for it.

    The others wait for it: no test may change what is in such a folder.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder_of(name: str, make: Callable[[Path], object]) -> Path:
        folder, whole = shared / name, shared / f"{name}.whole"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def trained(made_once: MadeOnce) -> Path:
    """Return the folder of a parser of mail and lamps that has learned its rows."""
    return made_once("trained", lambda place: parser_setup.train(place, steps=120)) / "parser"


@pytest.fixture(scope="session")
def trained_calls(made_once: MadeOnce) -> Path:
    """Return the folder of a parser of tool calls that has seen its rows for two dozen steps."""
    return made_once("trained-calls", parser_setup.train_calls) / "parser"


@pytest.fixture(scope="session")
def trained_german(made_once: MadeOnce) -> Path:
    """Return a folder with German rows and their parser; its words are a file that is gone."""
    pytest.importorskip("unicode_rbnf")
    return made_once("trained-german", parser_setup.train_german)
