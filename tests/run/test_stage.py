"""What every stage gives back."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from genie_dp.run.stage import Result, write_over, write_share


@dataclass(frozen=True, slots=True)
class Counted(Result):
    rows: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        yield f"{len(self.rows):,} rows"
        yield from self.rows


def test_a_result_shows_its_first_line_and_prints_all():
    result = Counted(("one", "two"))
    assert repr(result) == "Counted(2 rows)"
    assert str(result) == "2 rows\none\ntwo"

    @dataclass(frozen=True)
    class Named(Counted):
        def __repr__(self) -> str:
            return "Named"

    assert repr(Named(())) == "Named"


@pytest.fixture
def clock(monkeypatch):
    """Give the stages a clock of seconds that a test moves."""
    times = [1000.0]
    monkeypatch.setattr("genie_dp.run.stage.time.monotonic", lambda: times[0])
    write_over("")
    return times


def written(clock, *, show, seconds=200):
    for second in range(seconds):
        clock[0] += 1
        write_over(f"second {second}", show=show)
    write_over("", show=show)


def test_where_there_is_no_terminal_a_line_comes_now_and_then(clock, capsys):
    written(clock, show=True)
    lines = capsys.readouterr().err.splitlines()
    seconds = [int(line.split()[1]) for line in lines]
    assert seconds == [10, 40, 70, 100, 130, 160, 190]
    # Short work after long work says nothing.
    written(clock, show=True, seconds=9)
    written(clock, show=True, seconds=9)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("show", [None, False])
def test_python_callers_without_a_terminal_read_nothing_unless_they_want_to(clock, capsys, show):
    written(clock, show=show)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_one_line(clock, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    written(clock, show=None, seconds=3)
    texts = [f"second {n}" for n in range(3)]
    assert capsys.readouterr().err == "".join(f"\r\033[K{text}" for text in [*texts, ""])


@pytest.mark.parametrize("total", [1, 7, 19, 20, 333, 12_345])
def test_how_far_private_work_is_does_not_say_how_much_there_is(total, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for done in range(total + 1):
        write_share("rows", done, total)
    write_over("")
    shares = [f": {share} %" for share in range(0, 101, 5)] if total >= 20 else [""]
    texts = [*(f"rows{share}" for share in shares), ""]
    assert capsys.readouterr().err == "".join(f"\r\033[K{text}" for text in texts)
