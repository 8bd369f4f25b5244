"""Figures that statistics have to keep: what fails is told at once, and agrees with the JSON."""

import json
import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.dataset.gates import FIGURES, Gate
from genie_dp.dataset.stats import run as count_files
from genie_dp.errors import GenieError
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.run.stage import Output
from tests.dataset.dataset_rows import LAMP, SHOP, row, write

ROWS = [
    row("S1", "list orders", derivation=("np", "cmd"), depth=1),
    row("S2", "list orders"),
    row("S3", "list orders", f"now => {LAMP}"),
    row("S4", "dim it when orders change", f"monitor ( {SHOP} ) => {LAMP}", derivation=("np",)),
    row("S5", "sing", OUT_OF_SCOPE, source="human"),
]
SKILL = """\
class @com.example.shop #_[canonical="shop"] {
  list query orders(out title : String) #_[canonical="orders"];
  action cancel() #_[canonical="cancel"];
}
class @com.example.lamp #_[canonical="lamp"] { action dim() #_[canonical="dim"]; }
"""


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "skills" / "com.example.shop"
    folder.mkdir(parents=True)
    (folder / "skill.tt").write_text(SKILL)
    return str(folder.parent)


def counted(tmp_path, rows, *gates, skills=None):
    """Return the exit code, and the JSON that is written all the same."""
    out = tmp_path / "stats.json"
    options = [word for gate in gates for word in ("--require", gate)]
    options += ["--skills", skills] if skills else []
    code = run(["stats", str(write(tmp_path / "rows.jsonl", rows)), "-o", str(out), *options])
    return code, json.loads(out.read_text())


def test_figures_are_those_of_the_rows(tmp_path, skills):
    _, told = counted(tmp_path, ROWS, skills=skills)
    expected = {
        "rows": 5, "sentences": 3, "programs": 4, "programs_without_values": 4, "words": 7,
        "templates": 2, "functions": 2 / 3, "functions_used": 2, "rows_per_function": 0,
        "function_combinations": 4, "duplicates": 0.2, "ambiguous": 1 / 3, "out_of_scope": 0.2,
        "compound": 0.2, "monitors": 0.2, "filters": 0, "synthetic": 0.8, "human": 0.2,
        "least_words": 1, "most_words": 5, "mean_words": 12 / 5, "new_words": None,
    }  # fmt: skip
    figures = told["figures"]
    assert figures.keys() == FIGURES.keys()
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert told["library"]["unused"] == ["@com.example.shop.cancel"]


def test_kept_limits_are_counted(tmp_path, skills, capsys):
    gates = ("rows>=5", "duplicates<=20%", "functions > .6", "ambiguous<0.5", "most_words==5")
    code, told = counted(tmp_path, ROWS, *gates, skills=skills)
    assert code == 0
    assert "5 required figures are kept" in capsys.readouterr().err
    assert [item["is_kept"] for item in told["required"]] == [True] * 5


def test_all_that_fails_is_told_with_figure_and_limit(tmp_path, skills, capsys):
    gates = ("functions>=95%", "rows>5", "rows>=5", "out_of_scope==0", "new_words>0.3")
    code, told = counted(tmp_path, ROWS, *gates, skills=skills)
    assert code == 1
    said = capsys.readouterr().err
    assert said.count("error[D031]") == 4
    assert "functions is 0.666667 (66.67 %), required >= 0.95" in said
    assert "hint: no row uses @com.example.shop.cancel" in said
    assert "rows is 5, required > 5" in said
    assert "out_of_scope is 0.2 (20 %), required == 0" in said
    assert "new_words is not told, required > 0.3" in said
    assert [item["is_kept"] for item in told["required"]] == [False, False, True, False, False]
    # Python refuses it, too, and writes the figures all the same.
    output = Output(str(tmp_path / "a.json"))
    with pytest.raises(GenieError) as error:
        count_files([str(tmp_path / "rows.jsonl")], output, require=["rows>=6", "rows<5"])
    assert [problem.code for problem in error.value.problems] == ["D031", "D031"]
    assert (tmp_path / "a.json").exists()


def test_a_limit_that_is_none_is_wrong_usage(tmp_path, capsys):
    file = write(tmp_path / "rows.jsonl", ROWS)
    for text, part in (
        ("functons>=.9", "did you mean 'functions'"),
        ("functions", "expected a figure's limit"),
        ("functions=>1", "expected a figure's limit"),
        ("functions>=95", "functions>=95% is in percent"),
        ("functions>=195%", "at most 1"),
        ("rows>=95%", "rows is a count, and no share"),
    ):
        assert run(["stats", str(file), "--require", text]) == 2
        said = capsys.readouterr()
        assert part in " ".join(said.err.split())
        assert said.out == ""
        with pytest.raises(GenieError, match="D030"):
            count_files([str(file)], Output(str(tmp_path / "out.json")), require=[text])
        assert not (tmp_path / "out.json").exists()


SIGNS = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip


@given(
    name=st.sampled_from(list(FIGURES)),
    sign=st.sampled_from(list(SIGNS)),
    value=st.none() | st.integers(0, 100),
    limit=st.integers(0, 100),
    is_percent=st.booleans(),
)
def test_a_gate_says_what_its_operator_says_of_the_figure(name, sign, value, limit, is_percent):
    is_share = FIGURES[name].kind == "share"
    text = f"{limit}%" if is_percent else f"{limit / 100}"
    gate = Gate.parse(f"{name}{sign}{text if is_share else limit}")
    figure = value / 100 if value is not None and is_share else value
    kept = gate.is_kept({name: figure})
    assert kept == (value is not None and SIGNS[sign](value, limit))
    assert Gate.parse(str(gate)) == gate


def test_the_page_has_the_limits_and_the_functions_without_rows(tmp_path, skills, capsys):
    page = tmp_path / "page.html"
    file = write(tmp_path / "rows.jsonl", ROWS)
    options = ["--require", "functions>=95%", "--skills", skills, "--html", str(page)]
    assert run(["stats", str(file), "-o", str(tmp_path / "s.json"), *options]) == 1
    text = re.sub("<[^>]*>", " ", page.read_text().replace("<wbr>", ""))
    assert re.search(r"functions&gt;=0.95\s+0.666667 \(66.67 %\)\s+no", text)
    assert "@com.example.shop.cancel" in text
    assert "2 of 3 of the skills" in text
