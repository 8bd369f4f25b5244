"""Template files laid out and written shorter."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from genie_dp.cli.stage import command_of
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.resources import data_folder
from genie_dp.run.stage import Output
from genie_dp.templates.format import Format, layout, shorten, shortener
from genie_dp.templates.grammar import Grammar
from genie_dp.templates.inputs import load_library
from genie_dp.templates.load import read_grammar
from genie_dp.templates.syntax import parse_file
from tests.golden import cases
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.templates.template_files import BASE, described

ROOT = Path(__file__).parents[2]


BASE_GRAMMAR = Grammar({category.name: category for category in parse_file(BASE)[0].categories})


@pytest.mark.parametrize("case", cases("templates/layout.txt"), ids=str)
def test_a_file_is_laid_out(case, golden):
    laid_out = layout(f"{case.input}\n")
    golden(case, laid_out.removesuffix("\n"))
    assert layout(laid_out) == laid_out


@pytest.mark.slow
def test_layout_changes_nothing_that_grammars_say():
    def said(text: str, path: Path) -> list[object]:
        parsed, problems = parse_file(text, file=str(path))
        assert described(problems) == ""
        return [parsed.categories] + [
            (t.utterance, t.body_text.split(), t.id, t.guard, t.flags, t.weight, t.features)
            for t in parsed.templates
        ]

    folders = data_folder("grammars"), ROOT / "examples"
    files = [path for folder in folders for path in sorted(folder.rglob("*.genie"))]
    templates = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        templates += text.count(":=")
        laid_out = layout(text)
        if laid_out != text:
            assert layout(laid_out) == laid_out, path
            assert said(laid_out, path) == said(text, path)
    assert len(files) >= 20
    assert templates >= 300


def test_a_file_that_cannot_be_read_is_left_alone_and_all_its_mistakes_are_told(tmp_path):
    (tmp_path / "a.genie").write_text("NP := 'a'  -> @x.q();")
    (tmp_path / "b.genie").write_text("NP = 'a' -> @x.q();\nNP := ->;\n")
    with pytest.raises(GenieError) as caught:
        Format(paths=(tmp_path,)).run(Output(""))
    assert [problem.code for problem in caught.value.problems] == ["G001", "G001"]
    assert (tmp_path / "a.genie").read_text() == "NP := 'a'  -> @x.q();"


@pytest.mark.parametrize("case", cases("templates/shorten.txt"), ids=str)
def test_a_file_is_shortened_where_it_says_no_more_than_the_library(case, golden):
    text = shorten(f"{case.input}\n", get_language("thingtalk"), example_library(), BASE_GRAMMAR)
    golden(case, text.removesuffix("\n"))


@pytest.mark.slow
def test_shipped_skills_are_laid_out_and_as_short_as_they_can_be():
    language, library = get_language("thingtalk"), load_library("thingtalk")
    shorter = shortener(language, library)
    files = sorted(data_folder("thingpedia").glob("*/templates.genie"))
    assert len(files) > 40
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert layout(shorter(text, str(path))) == text, (
            "genie-dp grammar format --shorten thingpedia"
        )


def test_check_and_diff_write_nothing_and_say_what_would_change(tmp_path):
    def invoke(*arguments: str):
        found = CliRunner().invoke(command_of(Format), arguments, standalone_mode=False)
        return found.return_value, found.output

    with pytest.raises(GenieError, match="R025"):
        Format(paths=(tmp_path,)).run(Output(""))
    path = tmp_path / "a.genie"
    path.write_text("NP := 'a'  -> @x.q();\n")
    code, shown = invoke(str(tmp_path), "--check")
    assert (code, str(path) in shown) == (1, True)
    code, shown = invoke(str(path), "--diff")
    assert (code, "+NP := 'a' -> @x.q();" in shown) == (0, True)
    assert path.read_text() == "NP := 'a'  -> @x.q();\n"
    assert invoke(str(path))[0] == 0
    assert path.read_text() == "NP := 'a' -> @x.q();\n"
    assert invoke(str(path), "--check")[0] == 0


def test_a_short_file_reads_as_the_long_one_where_a_skill_tells_the_types(tmp_path):
    file, language = tmp_path / "x.genie", get_language("thingtalk")
    text = "NP := 'mail $s' -> \\(s : String) -> @com.gmail.inbox() filter subject =~ s;\n"
    file.write_text(text + text.replace("NP := 'mail", "NP := 'post"))
    skills = (data_folder("thingpedia") / "com.gmail",)
    short = Format(paths=(tmp_path,), shorten=True, skills=skills)
    short.run(Output(""))
    grammar, problems = read_grammar(file, language)
    assert not problems
    assert [t.body_text for t in grammar.templates] == ["inbox() filter subject =~ $s"] * 2
    file.write_text("NP := 'a' -> @com.stranger.a();\nNP := 'b' -> @com.stranger.a();\n")
    with pytest.raises(GenieError) as caught:
        short.run(Output(""))
    (problem,) = caught.value.problems
    assert (problem.code, "@com.stranger" in problem.message) == ("G033", True)
