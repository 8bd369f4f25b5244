"""`genie-dp private compare` on files: what is printed, written, refused, and kept private."""

import json
import re
import stat
from types import SimpleNamespace

import pytest

from genie_dp.cli import run
from genie_dp.parser.parser import BestProgram
from genie_dp.private.metrics import run as evaluate_run
from genie_dp.private.metrics.figures import GROUPS, table_lines
from tests.dataset.dataset_rows import row, write
from tests.evaluate.test_evaluate_command import ROWS, SKILL
from tests.golden import cases
from tests.refusals import refusal, refusals

SECRET = "zanzibar"


def shop(number, *, what=("alarm", "timer"), language="sexpr"):
    times = ("six", "seven", "noon", "midnight")
    return [
        row(
            f"S{i}",
            f"set my {what[i % len(what)]} for {times[i // 2 % 4]} {SECRET if i == 1 else ''}",
            f"( set_{what[i % len(what)]} ( at {i}L ) )",
            language=language,
        )
        for i in range(number)
    ]


class Timer:
    """A parser that always says the same."""

    parser = SimpleNamespace(target=SimpleNamespace(language=SimpleNamespace(name="sexpr")))

    def predict(self, utterances):
        return ["( set_timer ( at 1L ) )" for _ in utterances]


@pytest.fixture
def real(tmp_path):
    return write(tmp_path / "real.jsonl", shop(12))


@pytest.fixture
def made(tmp_path):
    return write(tmp_path / "made.jsonl", shop(10, what=("alarm",)))


def evaluate(*arguments, code=0, public=True, language="sexpr", mauve=False):
    options = [*(["--real-is-public"] if public else []), "--language", language]
    options += [] if mauve else ["--no-mauve"]
    assert run(["private", "compare", *map(str, arguments), *options]) == code


def result_of(tmp_path, *arguments, **more):
    evaluate(*arguments, "--output", tmp_path / "result.json", **more)
    return json.loads((tmp_path / "result.json").read_text())


def test_files_stand_side_by_side_with_their_figures(tmp_path, real, made, capsys):
    found = result_of(tmp_path, real, made, real)
    assert found["rows"] == 10
    first, second = (one["figures"] for one in found["synthetic"])
    # Of set_alarm, set_timer and at, the first file has two; the second is the real one.
    assert first["function_overlap"]["value"] == 2 / 3
    assert second["function_overlap"]["value"] == second["copies"]["value"] == 1
    assert found["privacy"]["real"] == "public"
    assert found["featuriser"] is None
    printed = capsys.readouterr().out
    assert re.search(r"function-type overlap +– +0\.667 +1\.000", printed)
    assert "10 rows of each file" in printed


def test_mauve_is_told_with_vectors_and_buckets(tmp_path, real, made):
    pytest.importorskip("faiss")
    pytest.importorskip("mauve")
    found = result_of(tmp_path, real, made, "--buckets", 4, "--mauve-runs", 2, mauve=True)
    score = found["synthetic"][0]["figures"]["mauve"]
    assert 0 < score["value"] < 1
    assert len(score["runs"]) == 2
    assert found["buckets"] == 4
    assert "hashed n-grams" in found["featuriser"]


def test_the_same_seed_gives_the_same_bytes(tmp_path, real, made):
    evaluate(real, made, "--rows", 5, "--output", tmp_path / "a.json")
    evaluate(real, made, "--rows", 5, "--output", tmp_path / "b.json")
    evaluate(real, made, "--rows", 5, "--seed", 1, "--output", tmp_path / "c.json")
    one, same, other = ((tmp_path / f"{name}.json").read_bytes() for name in "abc")
    assert one == same != other


def test_a_pipe_gets_json_alone(real, made, capsys):
    evaluate(real, made, "--output", "-")
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 10
    assert "function-type overlap" in err


def test_thingtalk_rows_are_read_with_their_skills(tmp_path):
    made = [ROWS[0], row("E9", "no such thing", "now => @com.example.mail.nothing => notify")]
    real, file = write(tmp_path / "r.jsonl", ROWS), write(tmp_path / "m.jsonl", made)
    found = result_of(tmp_path, real, file, "--skills", SKILL, language="thingtalk")
    assert found["synthetic"][0]["figures"]["valid"]["value"] == 0.5


def test_a_parser_says_what_functions_sentences_have(tmp_path, real, monkeypatch):
    texts = write(tmp_path / "texts.jsonl", [row(f"T{i}", f"set it {i}", "") for i in range(8)])

    monkeypatch.setattr(BestProgram, "from_folder", lambda folder: Timer())
    found = result_of(tmp_path, real, texts, "--parser", tmp_path)
    assert found["parsed"]
    assert found["synthetic"][0]["figures"]["function_overlap"]["value"] == 2 / 3
    assert 0 < found["real"]["figures"]["graph_match"]["value"] < 1
    evaluate(write(tmp_path / "r.jsonl", ROWS), texts, "--parser", tmp_path, "--skills", SKILL,
             language="thingtalk", code=1)  # fmt: skip


def test_text_for_the_language_model_may_be_lines_or_rows(tmp_path, real, made):
    lines = tmp_path / "public.txt"
    lines.write_text("set my alarm for six\n\nset my timer\n")
    found = result_of(tmp_path, real, made, "--lm-text", lines, "--lm-text", made)
    assert "halves" not in found["language_model"]
    half = result_of(tmp_path, real, made)
    assert "half" in half["language_model"]
    assert found["real"]["figures"]["loss"] != half["real"]["figures"]["loss"]


def test_the_page_has_charts_and_loads_nothing(tmp_path, real, made):
    page = tmp_path / "report.html"
    evaluate(real, made, real, "--report", page)
    text = page.read_text()
    assert text.count("<svg") > 20
    assert not re.findall(r"https?://|<script|<link|@import|url\(|src=", text)
    assert "PRIVATE" not in text
    assert "declared public" in text
    for name in ("function-type overlap", "set_timer", "made.jsonl"):
        assert name in re.sub("<wbr>", "", text)


def test_names_of_files_and_functions_are_text_on_the_page(tmp_path):
    name = "( <script>alert</script> 1L )"
    nasty = write(tmp_path / "<b>rows.jsonl", [row("a", "x", name, language="sexpr"),
                                               row("b", "y", name, language="sexpr")])  # fmt: skip
    evaluate(nasty, nasty, "--report", tmp_path / "report.html")
    assert "<script" not in (tmp_path / "report.html").read_text()
    assert "<b>rows" not in (tmp_path / "report.html").read_text()


def test_a_private_report_is_for_its_owner_and_nothing_is_printed(tmp_path, real, made, capsys):
    page, result = tmp_path / "kept" / "report.html", tmp_path / "kept" / "result.json"
    options = ["--keep-private", "--report", page, "--output", result, "--title", "Mine"]
    evaluate(real, made, *options, public=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert not re.search(r"0\.\d|overlap", err)
    assert "not differentially private" in err
    for file in (page, result):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = page.read_text()
    assert text.count("NOT differentially private") >= 2
    assert "<title>PRIVATE: Mine" in text
    found = json.loads(result.read_text())
    assert found["privacy"]["is_differentially_private"] is False
    assert list(found).index("privacy") == 1
    # Neither names of functions nor words of sentences.
    assert found["functions"] is None
    for secret in (SECRET, "set_timer", "alarm"):
        assert secret not in text + result.read_text() + out + err


def test_how_many_private_rows_there_are_is_not_told(tmp_path, real, made, capsys, monkeypatch):
    def told(rows, *, label, total=None, show=None):
        pytest.fail(f"{label}: {total}")

    monkeypatch.setattr(BestProgram, "from_folder", lambda folder: Timer())
    monkeypatch.setattr(evaluate_run, "show_progress", told)
    options = ["--keep-private", "--parser", tmp_path, "--report", tmp_path / "report.html"]
    evaluate(real, made, *options, public=False)
    assert "1 file compared" in capsys.readouterr().err


def test_too_few_private_rows_for_mauve_are_told_without_their_number(tmp_path, real, made, capsys):
    pytest.importorskip("mauve")
    options = ["--keep-private", "--buckets", 97, "--report", tmp_path / "report.html"]
    evaluate(real, made, *options, public=False, mauve=True, code=1)
    told = capsys.readouterr().err
    assert "J002" in told
    assert "10" not in told


@pytest.mark.parametrize("place", ["real", "made"])
def test_mistakes_in_files_are_told_without_their_text(tmp_path, real, made, place, capsys):
    file = {"real": real, "made": made}[place]
    for broken in (f'{{"utterance": "{SECRET}', json.dumps({"utterance": 1, SECRET: 2}), SECRET):
        file.write_text(f"{broken}\n")
        report = tmp_path / "report.html"
        evaluate(real, made, "--keep-private", "--report", report, public=False, code=1)
        said = "".join(capsys.readouterr())
        assert "error[Q" in said
        assert SECRET not in said
        assert not report.exists()


def test_every_figure_that_is_measured_has_a_meaning_and_is_printed(tmp_path, real, made):
    found = result_of(tmp_path, real, made)
    known = {metric.key for metrics in GROUPS.values() for metric in metrics}
    measured = {key for one in found["synthetic"] for key in one["figures"]}
    assert measured <= known
    printed = "\n".join(table_lines(found))
    titles = [m.title for metrics in GROUPS.values() for m in metrics if m.key in measured]
    assert not [title for title in titles if title not in printed]


def test_what_cannot_be_compared_is_refused_and_nothing_is_written(
    golden, tmp_path, real, made, monkeypatch, capsys
):
    """Private rows go to no pipe and no other machine, and no file that is read is written over."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "blank.txt").write_text("\n")
    write(tmp_path / "texts.jsonl", [row("T", "set it", "", language="sexpr")])
    for folder in ("folder", "ledger"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "ledger" / "rows.jsonl", shop(4))
    (tmp_path / "ledger" / "rows.ledger.json").write_text("{}")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for case in cases("private_refused/evaluate.txt"):
        golden(case, refusals(case, compare, capsys))
    assert "error[J006]" in refusal(
        compare(["real.jsonl", "made.jsonl", "--model", "folder"]), capsys
    )
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def compare(words):
    is_public = "PRIVATE" not in words
    names = {"PRIVATE": "--keep-private", "SKILL": str(SKILL)}
    words = [names.get(word, word) for word in words]
    words += [] if "--language" in words else ["--language", "sexpr"]
    words += ["--real-is-public"] if is_public else []
    return run(["private", "compare", *words, "--no-mauve"])
