"""Template files: what is read from them, and every mistake in them."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError, render_problem
from genie_dp.languages import get_language
from genie_dp.templates import ast
from genie_dp.templates import check as checks
from genie_dp.templates.ast import count_utterances, plain_utterances
from genie_dp.templates.check import check_grammar
from genie_dp.templates.grammar import Grammar, subset
from genie_dp.templates.load import load_grammar, read_grammar
from genie_dp.templates.syntax import parse_file
from tests.golden import DATA, cases
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.templates.template_files import described, write_case

FILES = ("syntax", "files", "meaning", "warnings")
CASES = [case for file in FILES for case in cases(f"templates/{file}.txt")]
ROOT = Path(__file__).parents[2]


THINGTALK = get_language("thingtalk")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems_of(text: str, folder: Path) -> tuple[Grammar, str]:
    grammar, problems = read_grammar(write_case(text, folder), THINGTALK)
    problems += check_grammar(grammar, THINGTALK, example_library())
    return grammar, described(problems)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mistakes_and_warnings(case, golden, here):
    golden(case, problems_of(case.input, here)[1])


def test_the_base_of_the_cases_is_without_mistakes(here):
    grammar, shown = problems_of("", here)
    assert (shown, len(grammar.templates)) == ("", 10)


def test_every_documented_code_has_a_case():
    texts = checks.__doc__ or ""
    documented = set(re.findall(r"G\d\d\d", texts)) | {f"G{n:03}" for n in range(1, 15)}
    shown = set(re.findall(r"\[(G\d\d\d)\]", "\n".join(case.expected for case in CASES)))
    assert len(documented) == 44
    assert shown == documented


def template(text: str) -> ast.Template:
    parsed, problems = parse_file(f"{text};")
    assert not problems, described(problems)
    [found] = parsed.templates
    return found


def test_words_are_tokens_in_lower_case_with_placeholders_and_inflections():
    text = r"NP := 'Our file{/s} {is/are} in ${x:const} of $y\'s, \$ 5 \{ x \}' -> @x.y()"
    [words] = template(text).utterance
    assert isinstance(words, ast.QuotedWords)
    assert words.parts == (
        ast.PlainWords("our"),
        ast.Inflect(None, ("file", "files")),
        ast.Inflect(None, ("is", "are")),
        ast.PlainWords("in"),
        ast.Placeholder("x", True),
        ast.PlainWords("of"),
        ast.Placeholder("y"),
        ast.PlainWords("'s , $ 5 { x }"),
    )


def test_a_child_may_have_requests_and_stand_in_a_gap():
    a, b = template(
        "X := a:VP[gap=o:SOURCE[num=pl|mass]] b:VP[gap='the same', det=none] -> y"
    ).utterance
    inner = ast.Child("o", "SOURCE", requests=(ast.Request("num", ("pl", "mass")),))
    assert a == ast.Child("a", "VP", requests=(ast.Request("gap", (), inner),))
    assert isinstance(b, ast.Child)
    assert b.requests == (ast.Request("gap", ("the same",)), ast.Request("det", ("none",)))


def test_every_way_to_say_a_template():
    with_brackets = template("X := ('a' | 'b' q:NP) -> y").utterance
    assert with_brackets == template("X := 'a' | 'b' q:NP -> y").utterance
    found = template("X := ('a' | 'b')? ('c' ('d')? | q:NP) -> y")
    said = [
        " ".join(i.name if isinstance(i, ast.Child) else i.parts[0].text for i in items)
        for items in plain_utterances(found.utterance)
    ]
    assert said == ["a c d", "a c", "a q", "b c d", "b c", "b q", "c d", "c", "q"]
    assert count_utterances(found.utterance) == len(said)


def test_a_body_is_kept_as_written():
    bodies = (DATA / "templates" / "bodies.txt").read_text(encoding="utf-8").splitlines()
    assert len(bodies) == 6
    for body in bodies:
        found = template(f"X := 'a' ->  {body}   #[weight=2]")
        assert (found.body_text, found.weight) == (body, 2.0)


def test_comments_in_a_body_are_blanked_and_move_nothing():
    text = "X := 'a' -> now => /* q */ q // why\n  => notify;"
    [found] = parse_file(text, file="x.genie")[0].templates
    assert found.body_text == "now =>         q       \n  => notify"
    assert found.body_span is not None
    assert (str(found.body_span), found.body_span.end_line) == ("x.genie:1:13", 2)
    assert found.body_span.end_column == 12


def test_annotations_name_weigh_and_flag():
    found = template("X := 'a' -> b #[id=\"one\"] #[weight=0.5, paraphrase=false] #[easy=true]")
    assert (found.id, found.weight) == ("one", 0.5)
    assert found.flags == (("paraphrase", False), ("easy", True))
    parsed, _ = parse_file("A := 'a' -> x; B := 'b' -> x; A := 'c' -> x;", file="d/times.genie")
    assert [t.id for t in parsed.templates] == ["times.A.1", "times.B.1", "times.A.2"]
    _, problems = parse_file(f"X := 'a' -> b #[weight={'9' * 400}];")
    assert [problem.code for problem in problems] == ["G006"]


def test_a_statement_that_cannot_be_read_does_not_hide_the_next():
    parsed, problems = parse_file("A := 'a' =;\nB := ('b' -> y;\nC := 'c' -> z;\nD := 'd' -> w")
    assert [t.category for t in parsed.templates] == ["C", "D"]
    assert [(p.span.line, p.span.column) for p in problems] == [(1, 10), (2, 11), (4, 14)]


@pytest.mark.parametrize(
    ("guard", "joins", "reads"),
    [
        ("a.key == b.key and not (a.x == 'u' or b.y) and a.n in ['p', 'q']", "ab", "a.x b.y a.n"),
        ("not a.key == b.key and a.x == a.y", "", "a.key,b.key a.x,a.y"),
        ("a.k == b.k == c.k != 'x'", "ab bc", "c.k"),
    ],
)
def test_equality_of_two_children_is_a_join_and_the_rest_are_tests(guard, joins, reads):
    found = template(f"X := a:A b:B c:C -> y if {guard}").guard
    assert " ".join(join.left_child + join.right_child for join in found.joins) == joins
    read = (",".join(f"{c}.{n}" for c, n in test.reads) for test in found.tests)
    assert " ".join(read) == reads


def test_tests_of_a_guard_hold_or_not():
    guard = template("X := a:A b:B -> y if not (a.x == 'u' or b.y) and a.n in ['p', 'q']").guard
    values = {("a", "x"): "v", ("b", "y"): False, ("a", "n"): "p"}
    assert [t.evaluate(lambda c, n: values[c, n]) for t in guard.tests] == [True, True, True]
    values = {("a", "x"): "u", ("b", "y"): True, ("a", "n"): "r"}
    assert [t.evaluate(lambda c, n: values[c, n]) for t in guard.tests] == [False, False, False]
    guard = template("X := a:A b:B -> y if not a.key == b.key and a.x == a.y").guard
    assert [t.evaluate(lambda c, n: "same") for t in guard.tests] == [False, True]


def test_a_file_is_read_once_however_it_is_imported(here):
    mail = "-> @com.example.mail.inbox();\n"
    paths = write_case(
        f'import "sub/one.genie"; import "two.genie";\n'
        f"%% sub/one.genie\nimport \"../two.genie\";\nNP := 'one' {mail}"
        f"%% two.genie\nNP := 'two' {mail}%% com.a/templates.genie\nNP := 'a' {mail}",
        here,
    )
    more = [Path("sub/../two.genie"), Path("com.a/templates.genie")]
    grammar = load_grammar([*paths, *more], THINGTALK)
    ids = [t.id for t in grammar.templates if not t.id.startswith("base")]
    assert ids == ["two.NP.1", "one.NP.1", "com.a.NP.1"]  # that of a skill by its folder
    assert [str(f) for f in grammar.files] == [
        "base.genie", "main.genie", "sub/one.genie", "two.genie", "com.a/templates.genie"
    ]  # fmt: skip


def test_a_table_has_words_programs_and_attributes(here):
    paths = write_case(
        'NP := t:"d/t.tsv" -> @com.example.mail.inbox();\n'
        '%% d/t.tsv\nwords\tprogram\tsize\nFive Things\t5\tlarge\n\n"one" thing\t1\tsmall\n',
        here,
    )
    grammar = load_grammar(paths, THINGTALK)
    table = grammar.tables["d/t.tsv"]
    assert table.columns == ("words", "program", "size")
    assert [(row.words, row.text, row.cells["size"]) for row in table.rows] == [
        ("five things", "5", "large"),
        ('" one " thing', "1", "small"),
    ]


def test_python_functions_are_loaded_only_where_a_file_says_using(here):
    code = "import pathlib\npathlib.Path('ran').touch()\ndef f(q):\n    return q\n_x = f\n"
    text = "COMMAND := 'say' q:NP -> python.f(q);\n%% functions.py\n" + code
    grammar, _ = read_grammar(write_case(text, here), THINGTALK)
    assert not (here / "ran").exists()
    assert not grammar.functions
    grammar = load_grammar(write_case('using "functions.py";\n' + text, here), THINGTALK)
    assert (here / "ran").exists()
    assert list(grammar.functions) == ["f"]
    assert grammar.functions["f"]("x") == "x"


def test_all_mistakes_of_all_files_are_raised_at_once(here):
    paths = write_case(
        "import \"one.genie\";\nNP := broken ->;\nNP := 'a' -> @com.example.mail.inbx();\n"
        "%% one.genie\nNP := 'b' -> ;\n",
        here,
    )
    with pytest.raises(GenieError) as caught:
        load_grammar(paths, THINGTALK, library=example_library())
    assert [str(p.span) for p in caught.value.problems] == [
        "main.genie:2:16", "one.genie:1:14", "main.genie:3:14"
    ]  # fmt: skip
    assert " 2 | NP := broken ->;\n   |                ^" in str(caught.value)


def test_warnings_do_not_stop_loading(here):
    paths = write_case("NP := 'get mail' -> @com.example.mail.inbox();", here)
    grammar = load_grammar(paths, THINGTALK, library=example_library())
    assert len(check_grammar(grammar, THINGTALK, example_library())) == 1


def test_flags_keep_templates_out_of_a_subset_or_for_it_alone(here):
    text = "\n".join(
        f"NP := '{flags or 'plain'}' -> @com.example.mail.inbox() {flags};"
        for flags in (
            "", "#[training=false]", "#[paraphrase=true]", "#[paraphrase=false]",
            "#[paraphrase=true] #[training=true]",
        )
    )  # fmt: skip
    grammar = load_grammar(write_case(text, here), THINGTALK)

    def numbers(*names: str) -> list[int]:
        kept = subset(grammar, names) if names else subset(grammar)
        return [int(t.id[-1]) for t in kept.templates if t.id.startswith("main")]

    assert numbers() == [1, 4, 5]
    assert numbers("training") == [1, 4, 5]
    assert numbers("paraphrase") == [1, 2, 3, 5]
    assert numbers("other") == [1, 2, 4]
    assert numbers("training", "paraphrase") == [1, 2, 3, 4, 5]


def test_the_page_on_templates_shows_real_errors(here):
    page = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    blocks = re.findall(
        r"(?:^    .*\n|^\n(?=    ))+", page.partition("\n## Errors\n")[2], re.MULTILINE
    )
    text, shown = (re.sub(r"^    ", "", b.strip("\n"), flags=re.MULTILINE) for b in blocks[:2])
    (here / "letters.genie").write_text(text + "\n", encoding="utf-8")
    grammar, problems = read_grammar(["letters.genie"], THINGTALK)
    problems += check_grammar(grammar, THINGTALK, example_library())
    assert "\n".join(render_problem(p, grammar.sources) for p in problems) == shown


STATEMENTS = (
    "NP[num=pl] := ('my {file/files}' | \"bob's\" q:NP[det=the])? '$x' -> \\(x : T) -> @a.b(c = x)"
    " if q.num == 'pl' and q.key == q.own #[weight=2]; // why\n"
    "category NP : query root 'x'; /* so */ import 'a'; X := t:'t.tsv' q.det -> python.f(q);\n"
)


@settings(max_examples=200)
@given(
    st.integers(0, len(STATEMENTS)),
    st.integers(0, 12),
    st.text(st.sampled_from("'\"()[]{};:=->|$#/*\\ \n\x00aλ→.,"), max_size=8),
)
def test_no_text_breaks_the_reader(start, length, put):
    text = STATEMENTS[:start] + put + STATEMENTS[start + length :]
    _, problems = parse_file(text, file="x.genie")
    for problem in problems:
        assert problem.span is not None
        assert 1 <= problem.span.line <= text.count("\n") + 1
        assert render_problem(problem, {"x.genie": text})
