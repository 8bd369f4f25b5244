"""Command lines that are refused, one to a line of a golden block, and what is said of each."""

import shlex
from pathlib import Path

import pytest

from genie_dp.errors import GenieError


def refusal(code, capsys):
    """Return the exit code and what was said of a command that was refused: one line."""
    said = capsys.readouterr()
    assert code in (1, 2), said.err
    assert not said.out
    told = said.err.replace(f"{Path.cwd()}/", "")
    told = told.partition("Error: ")[2] if code == 2 else told.splitlines()[0]
    return f"{code}: {' '.join(told.split())}"


def refusals(case, run, capsys):
    """Return what is said of each command line of a case; `run` takes its words."""
    lines = case.input.splitlines()
    return "\n".join(refusal(run(shlex.split(line)), capsys) for line in lines)


def code_of(make, *arguments, secret, **options):
    """Return the code of the error that a call raises, which does not show the secret."""
    with pytest.raises(GenieError) as caught:
        make(*arguments, **options)
    assert secret not in str(caught.value)
    return caught.value.problems[0].code
