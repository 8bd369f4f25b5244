"""The tool that builds the shipped lists: its rules are sound, and the lists are what it makes."""

import sys
from pathlib import Path

import pytest

from genie_dp.augment.values import kinds, shipped_rows
from genie_dp.skills.words import join_tokens

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def tools():
    """The modules of tools/, which is no package."""
    sys.path.insert(0, str(TOOLS))
    try:
        import build_values
        import value_rules

        yield build_values, value_rules
    finally:
        sys.path.remove(str(TOOLS))


def said(tools, folder, text, *, most=50, longest=12):
    path = folder / "kind.txt"
    path.write_text(text)
    return tools[1].expand(path, {}, most=most, longest=longest)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[root]\n{color} car\n[color]\nred; dark {shade}\n[shade]\nblue\n",
         ["dark blue car", "red car"]),
        ("[root]\n(big|) car (now|)\n", ["big car", "big car now", "car", "car now"]),
        ("[root]\na(n) {thing}\n[thing]\napple; car; hour; unicorn\n",
         ["a car", "a unicorn", "an apple", "an hour"]),
        # No content word stands twice.
        ("[root]\n{x} and {x}\n[x]\nred; blue\n", ["blue and red", "red and blue"]),
        ("[root]\none two three four\nfour\n", ["four"]),
    ],
)  # fmt: skip
def test_patterns_are_filled(tools, tmp_path, text, expected):
    assert said(tools, tmp_path, text, longest=3) == expected


def test_patterns_take_turns(tools, tmp_path):
    many = "; ".join(f"thing{n}" for n in range(100))
    text = f"[root]\n{{many}}\nplease {{many}}\n[many]\n{many}\n"
    found = said(tools, tmp_path, text, most=40)
    assert 17 <= sum(value.startswith("please") for value in found) <= 23


def test_a_section_that_is_not_there_or_stands_twice_is_named(tools, tmp_path):
    with pytest.raises(ValueError, match=r"no section \[colour\]"):
        said(tools, tmp_path, "[root]\n{colour} car\n")
    with pytest.raises(ValueError, match=r"section \[root\] stands twice"):
        said(tools, tmp_path, "[root]\na\n[root]\nb\n")


def test_the_table_of_kinds_is_that_of_the_tool(tools):
    plans = tools[0].plans()
    assert list(plans) == list(kinds())
    for plan in plans.values():
        kind = kinds()[plan.kind]
        assert (kind.what, " ".join(kind.serves)) == (plan.what, plan.serves)


@pytest.mark.slow
def test_shipped_lists_are_what_rules_and_lists_make(tools):
    build = tools[0]
    seen = 0
    for plan in build.plans().values():
        if plan.made_by in ("rule", "list"):
            made = [join_tokens(fact.value) for fact in build.values_of(plan)]
            assert made == [row.value for row in shipped_rows(plan.kind)], plan.kind
            seen += 1
    assert seen > 60
