"""Statistics on rows counted by hand, and their page."""

import json
import re

import pytest

from genie_dp.cli import run
from genie_dp.dataset.scan import as_row
from genie_dp.dataset.stats import count_rows
from genie_dp.dataset.stats import run as count_files
from genie_dp.run.stage import Output
from tests.dataset.dataset_rows import LAMP, MAIL, SHOP, families, row, write

FILTER, MONITOR = f"now => ( {SHOP} ) filter param:n:Number > 3 =>", f"monitor ( {SHOP} ) => {LAMP}"
PASSED = f"{FILTER} {MAIL} on param:t:String = param:u:String"
PARAPHRASE, COPY = {"source": "paraphrase"}, {"source": "augmented"}
ROWS = [
    row("S1", "show my orders"),
    row("S2", "dim to NUMBER_0 when orders change", f"{MONITOR} param:n:Number = NUMBER_0"),
    row("S3", "mail me the title of big orders", PASSED),
    row("P1", "show me orders", parent="S1", **PARAPHRASE),
    row("P2", "orders", parent="S1", **PARAPHRASE),
    row("P3", "lost", parent="gone", **PARAPHRASE),
    row("R1", "dim to 5 when orders change", f"{MONITOR} param:n:Number = 5", parent="S2", **COPY),
    row("S4", "show my orders", f"{FILTER} notify"),
]


@pytest.fixture(scope="module")
def counted():
    return count_rows(lambda wanted: map(as_row, ROWS))


def test_totals(counted):
    assert counted["totals"] == {
        "rows": 8, "duplicates": 0, "sentences": 7, "programs": 5, "programs_without_values": 4,
        # show my orders / dim to NUMBER_0 when change / mail me the title of big / lost / 5
        "words": 3 + 5 + 6 + 1 + 1,
        "functions": 3, "function_combinations": 3, "templates": 0, "ambiguous_sentences": 1,
        "out_of_scope": 0,
    }  # fmt: skip


def test_classes_of_figure_7(counted):
    found = {item["class"]: item["rows"] for item in counted["classes"]}
    assert found == {
        "primitive": 4, "primitive + filters": 1, "compound": 2, "compound + parameter passing": 0,
        "compound + filters": 0, "compound + parameter passing + filters": 1,
    }  # fmt: skip
    assert sum(item["share"] for item in counted["classes"]) == pytest.approx(1)
    primitive = counted["classes"][0]
    assert primitive["by_source"] == {"synthetic": 1, "paraphrase": 3, "augmented": 0}


def test_words_are_counted_as_sources_are_added(counted):
    assert counted["vocabulary"] == [
        {"source": "synthetic", "words": 14, "so_far": 14},
        {"source": "paraphrase", "words": 4, "so_far": 15},
        {"source": "augmented", "words": 6, "so_far": 16},
    ]


def test_new_words_and_bigrams_of_paraphrases(counted):
    # "show me orders": one of three words, both bigrams; "orders": none, and it has no bigrams.
    told = counted["paraphrases"]
    assert told["paraphrases"] == 2
    assert told["without_parent"] == 1
    assert told["new_words"] == pytest.approx((1 / 3 + 0) / 2)
    assert told["new_bigrams"] == pytest.approx(1)
    assert {k: n for k, n in told["new_words_from_percent"].items() if n} == {"0": 1, "30": 1}


def test_lengths_have_no_gaps_and_functions_are_ranked_by_rows(counted):
    assert counted["length"] == {"1": 2, "2": 0, "3": 3, "4": 0, "5": 0, "6": 2, "7": 1}
    functions = [(item["name"], item["rows"]) for item in counted["functions"]]
    assert functions == [(SHOP, 8), (LAMP, 2), (MAIL, 1)]
    assert counted["combinations"][0] == {"name": SHOP, "rows": 5}


def test_neither_order_nor_repeated_rows_make_a_sentence_ambiguous(counted):
    assert count_rows(lambda wanted: map(as_row, reversed(ROWS))) == counted
    totals = count_rows(lambda wanted: map(as_row, [*ROWS[1:3], *ROWS[1:3]]))["totals"]
    assert (totals["duplicates"], totals["ambiguous_sentences"]) == (2, 0)


def test_the_command_writes_numbers_and_a_page(tmp_path, capsys):
    file = write(tmp_path / "rows.jsonl", ROWS)
    page = tmp_path / "page.html"
    assert run(["stats", str(file), "--html", str(page), "--title", "<b>Orders"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["totals"]["rows"] == 8
    assert told["inputs"][0]["rows"] == 8
    assert "8 rows of 1 files" in said.err
    text = page.read_text()
    assert "&lt;b&gt;Orders" in text
    assert "<b>Orders" not in text
    assert text.count("<svg") > 15
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "<script" not in text


def test_a_page_without_paraphrases_says_nothing_of_them(tmp_path):
    file = write(tmp_path / "rows.jsonl", [row("S1", program="now", functions=())])
    page = tmp_path / "page.html"
    out = tmp_path / "stats.json"
    assert run(["stats", str(file), "--html", str(page), "-o", str(out)]) == 0
    assert "new words" not in page.read_text()
    # Of one source, what is counted by source and altogether is the same.
    assert not re.search(r"<th[^>]*>(all|synthetic|with those above)<", page.read_text())
    assert json.loads(out.read_text())["paraphrases"] is None


def test_a_folder_is_counted_whole(tmp_path, capsys):
    rows = families(40)
    file = write(tmp_path / "rows.jsonl", rows)
    assert run(["split", str(file), "-o", str(tmp_path / "parts")]) == 0
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    assert run(["stats", str(file), "-o", str(whole)]) == 0
    assert run(["stats", str(tmp_path / "parts"), "-o", str(parts)]) == 0
    one, other = (json.loads(path.read_text()) for path in (whole, parts))
    for name in ("totals", "classes", "vocabulary", "length", "functions"):
        assert one[name] == other[name]


@pytest.mark.parametrize(("name", "code"), [("-", "D009"), ("empty.jsonl", "D008")])
def test_what_cannot_be_counted_is_refused(tmp_path, monkeypatch, capsys, name, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    assert run(["stats", name, "-o", "out.json"]) == 1
    assert f"error[{code}]" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_python_counts_as_the_command_does_and_prints_nothing(tmp_path, capsys):
    source = write(tmp_path / "rows.jsonl", families(30))
    result = count_files([str(source)], Output(str(tmp_path / "a.json")))
    assert capsys.readouterr() == ("", "")
    assert result.counts["totals"]["rows"] == len(families(30))
    assert len(repr(result)) < 300
    assert run(["stats", str(source), "--output", str(tmp_path / "b.json")]) == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert capsys.readouterr().err == str(result).replace("a.json", "b.json") + "\n"
