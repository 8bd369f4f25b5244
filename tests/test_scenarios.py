"""Each stage as people use it: by commands, from Python, and with mistakes (tests/scenarios.py)."""

from collections.abc import Iterator

import pytest

from tests.golden import DATA, Case, cases


def scenarios() -> Iterator[tuple[Case, str]]:
    """Yield each case with all that is played for it."""
    for path in sorted((DATA / "scenarios").glob("*.txt")):
        first, *others = cases(path)
        given = f"{first.input}\n" if first.name == "given" else ""
        for case in others if given else (first, *others):
            yield case, given + case.input


CASES = [
    pytest.param(
        case,
        text,
        id=f"{case.path.stem}: {case}",
        marks=[
            *[pytest.mark.slow][: case.name.startswith("slow")],
            *[pytest.mark.trains][: case.path.stem == "train" or "-parser" in text],
        ],
    )
    for case, text in scenarios()
]


def test_there_are_scenarios():
    assert len(CASES) > 100


@pytest.mark.parametrize(("case", "text"), CASES)
def test_a_scenario_ends_as_it_is_told(case, text, play, golden):
    if case.path.stem in ("parse", "train") or "mail-parser" in text:
        pytest.importorskip("torch")
    elif case.path.stem == "serve":
        pytest.importorskip("starlette")
    golden(case, play(text))
