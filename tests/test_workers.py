"""Blocks of several processes come in order, and nobody waits for one that cannot come."""

from itertools import combinations

import numpy as np
import pytest

from genie_dp.errors import GenieError
from genie_dp.synthesis.encode import Block
from genie_dp.synthesis.workers import in_processes


def test_blocks_come_in_the_order_of_their_numbers():
    def make(numbers):
        return (number * number for number in numbers)

    assert list(in_processes(make, range(20), 3)) == [number * number for number in range(20)]


def test_an_exception_of_a_worker_is_raised_again_after_the_blocks_before_it():
    def make(numbers):
        for number in numbers:
            if number == 5:
                raise ValueError("five")
            yield number

    blocks = in_processes(make, range(20), 2)
    assert [next(blocks) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(blocks)


def test_a_block_that_cannot_be_sent_ends_the_run(capfd):
    def make(numbers):
        return ((lambda: None) for _ in numbers)  # a function without a name does not travel

    with pytest.raises(GenieError) as caught:
        list(in_processes(make, range(20), 2))
    assert caught.value.problems[0].code == "Y012"
    assert "pickle" in capfd.readouterr().err


def test_arrays_of_megabytes_arrive_as_they_were_sent():
    def make(numbers):
        return ((number, np.full(1_000_000, number, np.int64), b"text") for number in numbers)

    for number, array, text in in_processes(make, range(5), 2):
        assert (array == number).all()
        assert (len(array), text) == (1_000_000, b"text")


def test_rows_of_a_block_are_cut_out_wherever_they_lie():
    lines = [f"row {n}\n".encode() for n in range(6)]
    ends = np.cumsum([len(line) for line in lines])
    none = np.zeros(6, np.uint64)
    block = Block(0, np.frombuffer(b"".join(lines), np.uint8), ends, none, none)
    for count in range(7):
        for chosen in combinations(range(6), count):
            expected = b"".join(lines[place] for place in chosen)
            assert b"".join(block.runs(np.array(chosen, np.int64))) == expected
