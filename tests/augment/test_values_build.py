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


def rule_file(folder, text):
    path = folder / "kind.txt"
    path.write_text(text)
    return path


def said(tools, folder, text, *, most=50, longest=12, words=None):
    return tools[1].expand(rule_file(folder, text), words or {}, most=most, longest=longest)


def test_patterns_are_filled_from_sections(tools, tmp_path):
    text = "[root]\n{color} car\n[color]\nred; dark {shade}\n[shade]\nblue\n"
    assert said(tools, tmp_path, text) == ["dark blue car", "red car"]


def test_choices_are_made_and_may_be_left_out(tools, tmp_path):
    assert said(tools, tmp_path, "[root]\n(big|) car (now|)\n") == [
        "big car",
        "big car now",
        "car",
        "car now",
    ]


def test_articles_fit_the_next_word(tools, tmp_path):
    text = "[root]\na(n) {thing}\n[thing]\napple; car; hour; unicorn\n"
    assert said(tools, tmp_path, text) == ["a car", "a unicorn", "an apple", "an hour"]


def test_no_content_word_stands_twice(tools, tmp_path):
    text = "[root]\n{x} and {x}\n[x]\nred; blue\n"
    assert said(tools, tmp_path, text) == ["blue and red", "red and blue"]


def test_long_values_are_left_out(tools, tmp_path):
    assert said(tools, tmp_path, "[root]\none two three\nfour\n", longest=2) == ["four"]


def test_patterns_take_turns(tools, tmp_path):
    many = "; ".join(f"thing{n}" for n in range(100))
    text = f"[root]\n{{many}}\nplease {{many}}\n[many]\n{many}\n"
    found = said(tools, tmp_path, text, most=40)
    assert 17 <= sum(value.startswith("please") for value in found) <= 23


def test_a_section_that_is_not_there_is_named(tools, tmp_path):
    with pytest.raises(ValueError, match=r"no section \[colour\]"):
        said(tools, tmp_path, "[root]\n{colour} car\n")


def test_a_section_that_stands_twice_is_named(tools, tmp_path):
    with pytest.raises(ValueError, match=r"section \[root\] stands twice"):
        said(tools, tmp_path, "[root]\na\n[root]\nb\n")


def test_the_table_of_kinds_is_that_of_the_tool(tools):
    plans = tools[0].plans()
    assert list(plans) == list(kinds())
    for plan in plans.values():
        kind = kinds()[plan.kind]
        assert (kind.what, " ".join(kind.serves)) == (plan.what, plan.serves)


def test_shipped_lists_are_what_rules_and_lists_make(tools):
    build = tools[0]
    seen = 0
    for plan in build.plans().values():
        if plan.made_by in ("rule", "list"):
            made = [join_tokens(fact.value) for fact in build.values_of(plan)]
            assert made == [row.value for row in shipped_rows(plan.kind)], plan.kind
            seen += 1
    assert seen > 60
