"""What a training asks of the process that it runs in."""

import subprocess
import sys

import pytest

_FAULTS = """
import resource
import numpy
from genie_dp.models.device import keep_memory
print({call})
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    numpy.ones(5_000_000)  # 40 MB: more than malloc ever keeps by itself
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(call, **variables):
    """Return what a call prints in a process of its own, and its page faults in twenty blocks."""
    command = [sys.executable, "-c", _FAULTS.format(call=call)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    said, count = done.stdout.split()
    return said, int(count)


def test_large_blocks_come_from_the_system_once():
    said, kept = faults("keep_memory()")
    if said == "False":
        pytest.skip("no glibc here")
    assert kept < faults("None")[1] / 5


def test_who_has_set_malloc_is_obeyed():
    assert faults("keep_memory()", MALLOC_ARENA_MAX="2")[0] == "False"
