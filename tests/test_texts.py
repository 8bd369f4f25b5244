"""Text as users give it: lines of files and of pipes, and where bytes are none."""

import io
import sys

import pytest

from genie_dp.errors import GenieError
from genie_dp.texts import lines_of


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Return lines of bytes, read from a file or from a pipe."""

    def read(data, name):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))
        path = tmp_path / "in.txt"
        path.write_bytes(data)
        return lines_of("-" if name == "pipe" else path)

    return read


@pytest.mark.parametrize("name", ["file", "pipe"])
@pytest.mark.parametrize("data", ["caf\u00e9\r\nb\n\nc", "a", "a\u2028b\x0bc\nd"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_have_no_ends_and_no_byte_order_mark(given, name, data, mark):
    assert list(given(mark + data.encode(), name)) == data.replace("\r", "").split("\n")


@pytest.mark.parametrize("name", ["file", "pipe"])
def test_bytes_that_are_no_text_are_shown_with_their_place(given, name):
    with pytest.raises(GenieError) as caught:
        list(given("one\ncaf\u00e9 ".encode() + b"\xff\nthree", name))
    assert ":2:6: error[R003]: expected UTF-8 text, got byte 0xFF" in str(caught.value)
    assert "caf\u00e9" in str(caught.value)


def test_lines_of_a_pipe_come_before_its_end():
    reader = io.BytesIO(b"one\ntwo")
    lines = lines_of("-")
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(reader)
    try:
        assert next(lines) == "one"
    finally:
        sys.stdin = stdin
