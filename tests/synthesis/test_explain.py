"""`genie-dp grammar explain` over a small invented library: derivations, near misses, options."""

import json
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.synthesis.explain import read_pairs, read_sentence
from genie_dp.synthesis.pieces import Placeholders
from tests.golden import DATA, cases
from tests.skills.skill_files import write_library

OPTIONS = ("--skills", "skills", "--grammar", "main.genie")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    text = (DATA / "explain" / "library.txt").read_text(encoding="utf-8")
    return write_library(tmp_path_factory.mktemp("explain"), text)


@pytest.fixture
def explain(folder, monkeypatch, capsys):
    """Return a function that runs the command in the folder and returns (exit code, output)."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        code = cli.run(["grammar", "explain", *OPTIONS, *map(str, arguments)])
        return code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize("case", cases("explain/cases.txt"), ids=str)
def test_case(case, explain, golden):
    code, said = explain(case.input)
    assert code == (1 if "not derived" in said else 0)
    golden(case, said.rstrip("\n"))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("now => @com.example.mail.inbox() filter is_unread == true => notify", None),
        ("now => ( @com.example.mail.inbox ) filter param:is_unread:Boolean == true => notify",
         None),
        ("now => @com.example.mail.inbx() => notify", "did you mean 'inbox'?"),
        ("now => @com.example.mail.inbx => notify", "did you mean 'inbox'?"),
        ("now => @com.example.mail.inbox() filter is_unread == 5 => notify", "expected Boolean"),
        ("now => @com.example.lights.state() => notify",
         "expected: now => @com.example.lights.state => notify\n"),
    ],
)  # fmt: skip
def test_the_expected_program_is_written_or_in_tokens(explain, program, message):
    code, said = explain("get my unread emails", "--expect", program)
    assert code == (1 if message else 0)
    assert (message or "") in said


def test_a_depth_that_is_too_small_hides_the_derivation(explain):
    assert explain("get my emails that mention QUOTED_STRING_0", "--max-depth", 2)[0] == 1
    assert explain("get my emails that mention QUOTED_STRING_0", "--max-depth", 4)[0] == 0


def test_json_holds_readings_trees_and_the_nearest_miss(explain):
    code, said = explain("get my emails", "--format", "json")
    assert code == 0
    (reading,) = json.loads(said)["readings"]
    assert reading["program"] == "now => @com.example.mail.inbox => notify"
    (tree,) = reading["derivations"]
    assert (tree["template"], tree["category"]) == ("get", "COMMAND")
    assert Path(tree["place"].rpartition(":")[0]).name == "main.genie"
    assert [child["words"] for child in tree["children"]] == ["my emails"]
    code, said = explain("get my emials", "--format", "json")
    assert code == 1
    miss = json.loads(said)["miss"]
    assert miss["unknown"]["emials"][0] == "emails"
    assert miss["edits"] == ["get my emails"]


def test_a_file_of_pairs_is_checked_line_by_line(explain, folder):
    (folder / "pairs.tsv").write_text(
        "utterance\tprogram\n"
        "get my emails\tnow => @com.example.mail.inbox() => notify\n"
        "\n"
        "how is my emails\tnow => @com.example.mail.inbox() => notify\n"
        "how is my light\tnow => @com.example.mail.inbox() => notify\n"
    )
    code, said = explain("--file", "pairs.tsv")
    assert code == 1
    assert said.splitlines() == [
        "pairs.tsv:4: how is my emails",
        "  not derived",
        "pairs.tsv:5: how is my light",
        "  expected now => @com.example.mail.inbox => notify, "
        "got now => @com.example.lights.state => notify",
        "3 pairs: 1 derived, 2 not, 0 ambiguous",
    ]


def test_mistakes_of_a_file_are_told_with_their_place(explain, folder):
    line = "get my emails\tnow => @com.example.mail.inbox() => notify\n"
    (folder / "pairs.tsv").write_text(line + line.replace("()", "("))
    code, said = explain("--file", "pairs.tsv")
    assert code == 1
    assert "pairs.tsv:2:47: error[S001]" in said
    (folder / "empty.tsv").write_text("utterance\tprogram\n")
    assert explain("--file", "empty.tsv")[0] == 1
    assert explain()[0] == 2
    assert explain("get my emails", "--file", "main.genie")[0] == 2


def test_a_line_separator_of_unicode_ends_no_line_of_pairs(tmp_path):
    path, pair = (
        tmp_path / "pairs.tsv",
        ("say a", 'now => @com.x.say(text="\u2028\x85\x0b") => notify'),
    )
    path.write_text("\t".join(pair) + "\n", encoding="utf-8")
    ((place, *found),) = read_pairs(path)
    assert (place.line, *found) == (1, *pair)
    path.write_text("get my emails\n")
    with pytest.raises(GenieError, match=r"pairs.tsv:1:1: error\[R030\]: .* got 1 columns"):
        list(read_pairs(path))


SHAPES = Placeholders(
    ["NUMBER", "QUOTED_STRING", "EMAIL_ADDRESS", "URL", "USERNAME", "HASHTAG", "TIME"]
)


def test_values_become_placeholders(golden):
    [case] = cases("explain/values.txt")
    golden(case, "\n".join(read_sentence(x, SHAPES).text for x in case.input.splitlines()))
    assert read_sentence('the "big" 5', Placeholders(["DATE"])).text == "the big 5"


@pytest.mark.parametrize("text", ["to NUMBER_1", "NUMBER_0 to NUMBER_0", "NUMBER_0 to 5 NUMBER_1"])
def test_placeholders_out_of_order_are_refused(text):
    with pytest.raises(GenieError, match="Y060"):
        read_sentence(text, SHAPES)
