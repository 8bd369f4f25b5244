"""`genie-dp private evaluate` on files: what is printed, written, refused, and kept private."""

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


@pytest.fixture
def real(tmp_path):
    return write(tmp_path / "real.jsonl", shop(12))


@pytest.fixture
def made(tmp_path):
    return write(tmp_path / "made.jsonl", shop(10, what=("alarm",)))


def evaluate(*arguments, code=0, public=True, language="sexpr", mauve=False):
    options = [*(["--real-is-public"] if public else []), "--language", language]
    options += [] if mauve else ["--no-mauve"]
    assert run(["private", "evaluate", *map(str, arguments), *options]) == code


def result_of(tmp_path, *arguments, **more):
    evaluate(*arguments, "--output", tmp_path / "result.json", **more)
    return json.loads((tmp_path / "result.json").read_text())


# ------------------------------------------------------------------------------- public rows


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

    class Parser:
        parser = SimpleNamespace(target=SimpleNamespace(language=SimpleNamespace(name="sexpr")))

        def predict(self, utterances):
            return ["( set_timer ( at 1L ) )" for _ in utterances]

    monkeypatch.setattr(BestProgram, "from_folder", lambda folder: Parser())
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


# ------------------------------------------------------------------------------------ the page


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


# -------------------------------------------------------------------------------- private rows


def test_without_saying_what_real_is_nothing_is_measured(real, made, capsys):
    for flags in ([], ["--real-is-public", "--keep-private"]):
        evaluate(real, made, *flags, public=False, code=2)
        assert "not differentially private" in " ".join(capsys.readouterr().err.split())


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

    class Answers:
        parser = SimpleNamespace(target=SimpleNamespace(language=SimpleNamespace(name="sexpr")))

        def predict(self, utterances):
            return ["( set_alarm 6L )"] * len(utterances)

    monkeypatch.setattr(BestProgram, "from_folder", lambda folder: Answers())
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


@pytest.mark.parametrize("target", ["-", "s3://bucket/result.json"])
def test_a_private_report_goes_to_no_pipe_and_no_other_machine(real, made, target, capsys):
    evaluate(real, made, "--keep-private", "--output", target, public=False, code=1)
    assert "J008" in capsys.readouterr().err


def test_a_private_report_needs_a_file(real, made):
    evaluate(real, made, "--keep-private", public=False, code=2)


@pytest.mark.parametrize("place", ["real", "made", "text"])
def test_rows_with_a_ledger_are_not_public(place, tmp_path, real, made, capsys):
    text = write(tmp_path / "text.jsonl", shop(4))
    (tmp_path / f"{place}.ledger.json").write_text("{}", encoding="utf-8")
    evaluate(real, made, "--lm-text", text, code=1)
    captured = capsys.readouterr()
    assert "J009" in captured.err
    assert f"{place}.jsonl has a ledger" in captured.err
    assert not captured.out


@pytest.mark.parametrize("option", ["--output", "--report"])
@pytest.mark.parametrize("name", ["real.jsonl", "made.jsonl", "text.jsonl", "../{}/made.jsonl"])
def test_a_report_is_not_written_over_what_is_compared(option, name, tmp_path, real, made, capsys):
    text = write(tmp_path / "text.jsonl", shop(4))
    target = tmp_path / name.format(tmp_path.name)
    before = target.read_bytes()
    evaluate(real, made, "--lm-text", text, option, target, code=1)
    assert "J010" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_page_and_result_are_two_files(tmp_path, real, made, capsys):
    both = tmp_path / "both"
    evaluate(real, made, "--output", both, "--report", both, code=1)
    assert "J010" in capsys.readouterr().err
    assert not both.exists()


def test_a_folder_is_no_rows(made, capsys):
    evaluate(".", made, code=1)
    assert "error[R" in capsys.readouterr().err


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


# ------------------------------------------------------------------------------------ mistakes


def test_files_that_cannot_be_compared_are_told_by_name(tmp_path, real, made, capsys):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    texts = write(tmp_path / "texts.jsonl", [row("T", "set it", "", language="sexpr")])
    evaluate(real, empty, texts, made, code=1)
    said = capsys.readouterr().err
    assert "error[J004]: empty.jsonl holds no rows" in said
    assert "error[J005]: texts.jsonl holds rows without programs" in said
    assert "--utterances-only" in said


def test_rows_of_another_language_are_refused_with_the_option_to_add(real, made, capsys):
    evaluate(real, made, "--skills", SKILL, language="thingtalk", code=1)
    assert "add --language sexpr" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--utterances-only", "--parser", "."],
        ["--buckets", "5"],
        ["--model", ".", "--lm-text", "x.txt"],
        ["--rows", "1"],
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(real, made, options):
    evaluate(real, made, *options, code=2)


def test_an_empty_text_for_the_language_model_is_refused(tmp_path, real, made, capsys):
    (tmp_path / "public.txt").write_text("\n")
    evaluate(real, made, "--lm-text", tmp_path / "public.txt", code=1)
    assert "holds no sentences" in capsys.readouterr().err


def test_a_model_that_is_none_is_refused(tmp_path, real, made, capsys):
    pytest.importorskip("transformers")
    evaluate(real, made, "--model", tmp_path, code=1)
    assert "J006" in capsys.readouterr().err


def test_help_says_that_figures_are_not_private(capsys):
    assert run(["private", "evaluate", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The figures are NOT differentially private" in said
    assert run(["private", "--help"]) == 0
    assert "evaluate" in capsys.readouterr().out


def test_every_figure_that_is_measured_has_a_meaning_and_is_printed(tmp_path, real, made):
    found = result_of(tmp_path, real, made)
    known = {metric.key for metrics in GROUPS.values() for metric in metrics}
    measured = {key for one in found["synthetic"] for key in one["figures"]}
    assert measured <= known
    printed = "\n".join(table_lines(found))
    titles = [m.title for metrics in GROUPS.values() for m in metrics if m.key in measured]
    assert not [title for title in titles if title not in printed]
