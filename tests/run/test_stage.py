"""What every stage gives back."""

from collections.abc import Iterator
from dataclasses import dataclass

from genie_dp.run.stage import Result


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


def test_a_result_of_its_own_short_form_keeps_it():
    @dataclass(frozen=True)
    class Named(Counted):
        def __repr__(self) -> str:
            return "Named"

    assert repr(Named(())) == "Named"
