"""Batches of tasks for crowd workers, and the pages that they see."""

import csv
import json
import re
import shutil
import string
import subprocess
from dataclasses import replace
from html import unescape
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.paraphrase.checks import DEFAULT
from genie_dp.paraphrase.shown import show, to_line
from genie_dp.paraphrase.tables import guard_formula, read_table, unguard_formula
from genie_dp.paraphrase.tasks import (
    VotableParaphrase,
    encode_cell,
    paraphrase_columns,
    paraphrase_page,
    paraphrase_tasks,
    validation_columns,
    validation_page,
    validation_tasks,
)
from tests.paraphrase.paraphrase_rows import ACTION, OTHER, row, shown_range, shown_text

SAFE = set(string.ascii_letters + string.digits + "%-._~")
NASTY = "<script>alert(\"1\")</script> & 'x' ${data1}, =1+2\n\u2028"


def decoded(cell):
    return json.loads(unquote(cell))


def many(count):
    return [show(row(f"S{n}", f"list the files of day {n}"), {}) for n in range(count)]


def test_the_header_of_a_batch_is_exact():
    assert ",".join(paraphrase_columns()) == (
        "id1,sentence1,data1,id2,sentence2,data2,id3,sentence3,data3,id4,sentence4,data4"
    )
    assert ",".join(validation_columns(1)) == "id1,sentence1,paraphrases1,same1,different1,data1"


@given(st.integers(0, 20), st.integers(1, 6))
def test_every_sentence_is_in_one_task_and_keeps_its_place(count, size):
    tasks = list(paraphrase_tasks(many(count), sentences=size))
    ids = [task[f"id{n}"] for task in tasks for n in range(1, size + 1) if task[f"id{n}"]]
    assert ids == [f"S{n}" for n in range(count)]
    assert all(tuple(task) == paraphrase_columns(size) for task in tasks)


@given(st.text())
def test_what_a_page_reads_is_safe_in_any_cell_and_any_page(text):
    assert set(encode_cell({"sentence": text})) <= SAFE
    assert decoded(encode_cell({"sentence": text})) == {"sentence": text}


def test_a_page_gets_the_values_and_how_they_may_be_written():
    [task] = paraphrase_tasks([shown_text(), shown_range()])
    asked = decoded(task["data1"])["values"]
    assert [value["text"] for value in asked] == ['"good morning"', "@bob", "#sun", "8:30 am"]
    assert [value["forms"] for value in asked[:3]] == [[], [], []]
    assert "8:30" in asked[3]["forms"]
    assert decoded(task["data2"])["values"][0] == {"text": "3", "forms": ["3", "three"]}
    assert task["id3"] == task["data3"] == ""


PAGES = {
    "paraphrase": lambda n: paraphrase_page(sentences=n, paraphrases=2, config=DEFAULT),
    "validation": lambda n: validation_page(sentences=n),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_no_row_and_needs_nothing_else(page):
    html = PAGES[page](3)
    assert re.findall(r"\$\{(\w+)\}", html) == ["data1", "data2", "data3"]
    assert not re.search(r"https?://|<link|src=|innerHTML|document\.write", html)
    assert html.count("<fieldset") == 3


# ------------------------------------------------------------------------------ validation


def candidates(row_id, count):
    return [VotableParaphrase(f"{row_id}-P{n}", f"day {n} of files") for n in range(count)]


@given(st.integers(1, 14), st.integers(0, 3))
def test_every_paraphrase_is_voted_on_once_among_both_controls(count, seed):
    rows = [*many(2), show(row("S9", "send it", functions=(ACTION,)), {})]
    asked = {"S0": candidates("S0", count), "S9": candidates("S9", 2)}
    tasks = list(validation_tasks(rows, asked, sentences=2, paraphrases=6, seed=seed))
    seen = []
    for task in tasks:
        for n in (1, 2):
            if not task[f"id{n}"]:
                continue
            ids = task[f"paraphrases{n}"].split()
            data = decoded(task[f"data{n}"])
            same, different = int(task[f"same{n}"]), int(task[f"different{n}"])
            assert len(ids) == len(data["choices"])
            assert [i for i, name in enumerate(ids, 1) if name == "-"] == sorted([same, different])
            assert data["choices"][same - 1] == data["sentence"] == task[f"sentence{n}"]
            assert data["choices"][different - 1] != data["sentence"]
            assert "-" not in data["choices"]
            seen += [name for name in ids if name != "-"]
    assert sorted(seen) == sorted(c.id for own in asked.values() for c in own)
    assert tasks == list(validation_tasks(rows, asked, sentences=2, paraphrases=6, seed=seed))


def test_controls_are_shuffled_by_the_seed():
    asked = {f"S{n}": candidates(f"S{n}", 6) for n in range(30)}
    places = {
        seed: [task["same1"] for task in validation_tasks(many(30), asked, sentences=1, seed=seed)]
        for seed in (1, 2)
    }
    assert places[1] != places[2]
    assert len(set(places[1])) > 4


def test_what_surely_differs_has_other_functions_of_the_same_skill_if_there_are():
    near = show(row("S7", "sort my files", functions=("@com.example.files.sort",)), {})
    far = show(row("S8", "switch the lamp on", functions=(OTHER,)), {})
    rows = [*many(3), near, far]
    [task] = validation_tasks(rows, {"S0": candidates("S0", 1)}, sentences=1)
    data = decoded(task["data1"])
    assert data["choices"][int(task["different1"]) - 1] == "Sort my files"


# ---------------------------------------------------------------------------- command line


def hits(tmp_path, rows, *more):
    """Make a batch of rows, which may be written as lines already."""
    chosen = tmp_path / "chosen.jsonl"
    chosen.write_text("".join((r if isinstance(r, str) else to_line(r)) + "\n" for r in rows))
    return cli.run(["data", "paraphrase", "hits", str(chosen), *map(str, more)])


def test_hits_writes_the_batch_and_the_page(tmp_path, capsys):
    last = replace(shown_text(), example=replace(shown_text().example, id="S4"))
    batch, page = tmp_path / "batch.csv", tmp_path / "task.html"
    rows = [*many(4), last]
    assert hits(tmp_path, rows, "-o", batch, "--page", page, "--workers", 3) == 0
    assert "2 tasks of 5 sentences" in (said := capsys.readouterr().err)
    assert "they give 30 paraphrases" in said
    with batch.open(newline="") as lines:
        first, second = csv.DictReader(lines)
    assert second["sentence1"] == shown_text().sentence
    assert [first["id1"], first["id4"], second["id2"]] == ["S0", "S3", ""]
    assert "Paraphrase" in page.read_text()
    assert hits(tmp_path, rows, "-o", batch) == 1
    assert "error[Y022]" in capsys.readouterr().err


def test_a_batch_has_no_formula(tmp_path):
    batch = tmp_path / "batch.csv"
    permitted = show(row("S9", "USERNAME_0 may see my files"), {"USERNAME_0": "bob"})
    assert hits(tmp_path, [permitted], "-o", batch) == 0
    with batch.open(newline="") as lines:
        [task] = csv.DictReader(lines)
    assert task["sentence1"] == "'@bob may see my files"
    assert decoded(task["data1"])["sentence"] == "@bob may see my files"


# ------------------------------------------------------------------------------------- CSV


@given(st.text())
def test_guarded_text_is_no_formula_and_comes_back(text):
    assert not guard_formula(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    if not text.startswith("'"):
        assert unguard_formula(guard_formula(text)) == text


def test_commas_quotes_and_line_ends_stay_in_their_cell(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\r\n"1,""2""","3\n4"\r\n')
    columns, [line] = read_table(str(path), ("a",))
    assert (columns, line.cells) == (("a", "b"), {"a": '1,"2"', "b": "3\n4"})


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", ["x.csv:1:1: P011", "x.csv:1:1: P011"]),
        ("a\n1\n", ["x.csv:1:1: P011"]),
        ("a,b\n1,2\n1\n1,2,3\n", ["x.csv:3:1: P010", "x.csv:4:1: P010"]),
        ('a,b\n1,"2\n', ["x.csv:2:1: P010"]),
    ],
)
def test_what_is_no_table_is_told_with_every_place(tmp_path, monkeypatch, text, places):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(GenieError) as caught:
        read_table("x.csv", ("a", "b"))
    assert [f"{problem.span}: {problem.code}" for problem in caught.value.problems] == places


# ---------------------------------------------------------------------------------- browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TYPE_AND_SUBMIT = """<script>addEventListener("load", () => {
  const typed = %s, inputs = document.querySelectorAll("input[type=text]");
  typed.forEach((text, i) => { inputs[i].value = text; });
  const form = document.querySelector("form");
  form.addEventListener("submit", (event) => {
    form.dataset.sent = String(!event.defaultPrevented);
    event.preventDefault();
  });
  form.requestSubmit();
});</script>"""


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no chromium")


def dom_of(folder, html):
    """Return a page as Chromium leaves it."""
    (folder / "task.html").write_text(html)
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    words = [*command, f"--user-data-dir={folder / 'profile'}", f"file://{folder / 'task.html'}"]
    return subprocess.check_output(words, stderr=subprocess.PIPE, text=True, timeout=120)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize(
    ("typed", "faults", "is_sent"),
    [
        (["put \u201cGood morning\u201d up for @bob with #sun at 8:30",
          'tweet "good morning" to @bob #sun 8:30am'], [], "true"),
        (["no", 'post "good morning" for @bob with #sun at 8:30 am'],
         ["This is too short: write a whole sentence.",
          "This is the sentence above: use other words."], "false"),
        (["tweet good morning to @bob with #sun at 8:30", 'tweet "good morning" to @bob with #sun'],
         ['Keep "good morning", exactly so.', "Keep 8:30 am, exactly so."], "false"),
    ],
)  # fmt: skip
def test_a_page_says_what_is_wrong_before_it_sends(tmp_path, typed, faults, is_sent):
    [task] = paraphrase_tasks([shown_text()], sentences=2)
    page = PAGES["paraphrase"](2)
    for name in ("data1", "data2"):
        page = page.replace(f"${{{name}}}", task[name])
    page = page.replace("</body>", TYPE_AND_SUBMIT % json.dumps(typed) + "</body>")
    dom = dom_of(tmp_path, page)
    said = re.findall(r'<p class="fault" id="Paraphrase1-\d-fault">(.*?)</p>', dom)
    assert [unescape(text) for text in said if text] == faults
    assert f'data-sent="{is_sent}"' in dom
    assert 'name="Paraphrase1-2"' in dom
    assert 'name="Paraphrase2-1"' not in dom


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("page", PAGES)
def test_no_text_of_a_row_is_markup(tmp_path, page):
    content = {"sentence": NASTY, "values": [], "choices": [NASTY]}
    dom = dom_of(tmp_path, PAGES[page](1).replace("${data1}", encode_cell(content)))
    assert "&lt;script&gt;alert" in dom
    assert "<script>alert" not in dom
