"""Blocks of several processes come in order, and nobody waits for one that cannot come."""

import os
import signal
from itertools import combinations

import numpy as np
import pytest

from genie_dp.errors import GenieError
from genie_dp.run.workers import in_answering_processes, in_processes
from genie_dp.synthesis.blocks import EncodedBlock, LocalText, RemoteText, answer_request


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


def test_blocks_of_megabytes_come_as_they_were_sent_in_the_order_of_their_numbers():
    def make(numbers):
        return ((number, np.full(200_000, number, np.int64), b"text") for number in numbers)

    found = list(in_processes(make, range(20), 3))
    assert [number for number, *_ in found] == list(range(20))
    for number, array, text in found:
        assert (array == number).all()
        assert (len(array), text) == (200_000, b"text")


def test_rows_of_a_block_are_cut_out_wherever_they_lie():
    lines = [f"row {n}\n".encode() for n in range(6)]
    ends = np.cumsum([len(line) for line in lines])
    none = np.zeros(6, np.uint64)
    text = LocalText(np.frombuffer(b"".join(lines), np.uint8))
    block = EncodedBlock(0, text, ends, none, none)
    for count in range(7):
        for chosen in combinations(range(6), count):
            expected = b"".join(lines[place] for place in chosen)
            assert text.read(block.bounds(np.array(chosen, np.int64))) == expected


def bodies(numbers):
    return ((number, [number] * number) for number in numbers)


def test_workers_answer_about_a_block_until_the_next_one():
    def count(body, wanted):
        return body.count(wanted)

    asked = [
        (head, ask(head), ask(-1), ask(head))
        for head, ask in in_answering_processes(bodies, count, range(9), 2)
    ]
    assert asked == [(number, number, 0, number) for number in range(9)]
    # Blocks that nobody asks about come as well.
    found = in_answering_processes(bodies, lambda body, _: body, range(9), 3)
    assert [head for head, _ in found] == list(range(9))


def test_an_exception_of_an_answer_is_raised_where_it_was_asked_for():
    def fail(body, request):
        raise ValueError(f"no {request}")

    found = in_answering_processes(bodies, fail, range(9), 2)
    _, ask = next(found)
    with pytest.raises(ValueError, match="no way"):
        ask("way")
    assert next(found)[0] == 1  # the worker lives on


def test_a_worker_that_is_killed_while_it_is_asked_is_told_of():
    def die(body, request):
        os.kill(os.getpid(), signal.SIGKILL)

    found = in_answering_processes(bodies, die, range(9), 2)
    _, ask = next(found)
    with pytest.raises(GenieError) as caught:
        ask("anything")
    assert caught.value.problems[0].code == "Y012"


@pytest.mark.parametrize("before", [b"", b"what was there"])
def test_a_text_elsewhere_is_read_and_written_as_one_here(tmp_path, before):
    text = LocalText(np.frombuffer(b"one\ntwo\nthree\n", np.uint8))
    there = RemoteText(lambda request: answer_request(text, request))
    files = [tmp_path / "here", tmp_path / "there"]
    for bounds in ([], [(0, 4)], [(0, 4), (8, 14)], [(4, 14)]):
        assert there.read(bounds) == text.read(bounds)
    for file, source in zip(files, (text, there), strict=True):
        file.write_bytes(before)
        with file.open("ab") as out:
            for bounds in ([(4, 8)], [], [(0, 4), (8, 14)]):
                source.write(bounds, out)
                out.flush()
            assert out.tell() == len(before) + 14
    assert [file.read_bytes() for file in files] == [before + b"two\none\nthree\n"] * 2
