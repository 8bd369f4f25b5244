from pathlib import Path

import pytest

from tests.golden import parse_cases, rewrite

TWO = "# one\na\nb\n---\nc\n===\n\n# two\n---\nd\n===\n"


def test_a_block_has_name_input_expected_and_line():
    one, two = parse_cases(TWO, Path("x.txt"))
    assert (one.name, one.input, one.expected, one.line) == ("one", "a\nb", "c", 1)
    assert (two.name, two.input, two.expected, two.line) == ("two", "", "d", 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\n---\n===\n", "x.txt:1: a case begins with '# name'"),
        ("\n# one\na\n===\n", "x.txt:2: expected one line '---', got 0"),
        ("# one\na\n---\nb\n---\n===\n", "expected one line '---', got 2"),
    ],
)
def test_a_malformed_block_is_named_with_its_place(text, message):
    with pytest.raises(ValueError, match=message):
        parse_cases(text, Path("x.txt"))


def test_rewriting_changes_only_what_was_given(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(TWO)
    rewrite(path, {"two": "new"})
    assert path.read_text() == TWO.replace("\nd\n", "\nnew\n")
