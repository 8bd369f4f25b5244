"""`genie-dp program`: one program a line in, one JSON object a line out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from genie_dp.cli.program import command

ROOT = Path(__file__).parents[2]
SKILLS = ("--skills", str(Path(__file__).parents[1] / "data" / "typecheck" / "skills"))
INBOX = "now => @com.example.mail.inbox(), size > 5MB, sender = @alice => notify"
CANONICAL = (
    "now => (@com.example.mail.inbox()) filter"
    ' sender == "alice"^^tt:username && size > 5MB => notify'
)
TOKENS = (
    "now => ( @com.example.mail.inbox ) filter"
    ' param:sender:Entity(tt:username) == " alice " ^^tt:username'
    " and param:size:Measure(byte) > 5 unit:MB => notify"
)
ASK = "now => @com.example.words.translate(text=\"a\", language='it'^^tt:iso_lang_code) => notify"


def run(*args, text, skills=SKILLS):
    """Return exit code and answers of a subcommand that reads standard input."""
    result = CliRunner().invoke(command, [*args, *skills, "-"], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("args", "text", "answer"),
    [
        (["check"], INBOX, {"program": INBOX}),
        (["canonical"], INBOX, {"program": CANONICAL}),
        (["tokens"], INBOX, {"program": TOKENS}),
        (["tokens", "--reverse"], TOKENS, {"program": CANONICAL}),
        (["tokens", "--no-types"], ASK, {
            "program": "now => @com.example.words.translate"
            ' param:language = " it " ^^tt:iso_lang_code param:text = " a " => notify'}),
        (["tokens", "--positional"], ASK, {
            "program": 'now => @com.example.words.translate " a " " it " ^^tt:iso_lang_code'
            " => notify"}),
        (["tokens", "--positional", "--no-types", "--reverse"],
         'now => @com.example.words.translate " a " _ => notify',
         {"program": 'now => @com.example.words.translate(text = "a") => notify'}),
        (["render"], "now=>@com.example.mail.inbox=>notify;",
         {"program": "now => @com.example.mail.inbox() => notify"}),
        (["functions"], INBOX, {"functions": {"@com.example.mail.inbox": 1}}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_each_command_answers_with_its_form(args, text, answer):
    assert run(*args, text=f"{text}\n") == (0, [{"ok": True, **answer}])


@pytest.mark.parametrize("name", ["check", "canonical", "tokens", "render", "functions"])
def test_an_error_has_code_place_hint_and_stage(name):
    code, (answer,) = run(name, text="now => @com.example.mail.inbox( => notify\n")
    (error,) = answer["errors"]
    assert (code, error["stage"], error["line"], error["column"]) == (1, "syntax", 1, 33)
    if name in ("check", "canonical", "tokens"):
        error = {
            "code": "T003",
            "message": "expected a function of @com.example.mail, got '@com.example.mail.inbx'",
            "line": 1,
            "column": 8,
            "hint": "did you mean 'inbox'?",
            "stage": "type",
        }
        code, answers = run(name, text="now => @com.example.mail.inbx() => notify\n")
        assert (code, answers) == (1, [{"ok": False, "errors": [error]}])


def test_all_mistakes_of_a_program_are_listed():
    text = 'now => @com.example.mail.inbox(most="5", qqq=1) filter sendr == 5 => notify\n'
    code, (answer,) = run("check", text=text)
    assert code == 1
    assert [error["code"] for error in answer["errors"]] == ["T002", "T005", "T011"]


def test_lines_are_those_of_the_file_and_the_others_are_left_out(tmp_path):
    file = tmp_path / "programs.txt"
    file.write_text(f"// a comment\n\n{INBOX}\n   \n  // another\nnow => notify\n")
    result = CliRunner().invoke(command, ["check", *SKILLS, str(file)])
    good, bad = (json.loads(line) for line in result.stdout.splitlines())
    assert result.exit_code == 1
    assert good["ok"]
    assert [(e["code"], e["line"]) for e in bad["errors"]] == [("T019", 6)]


def test_a_mistake_in_the_token_form_names_its_column_and_types_are_checked():
    code, (answer,) = run("tokens", "--reverse", text="\nnow => @com.example.mail.inbox =>\n")
    (error,) = answer["errors"]
    assert (code, error["line"], error["column"], error["stage"]) == (1, 2, 34, "syntax")
    code, (answer,) = run("tokens", "--reverse", text="now => @com.example.mail.inbx => notify\n")
    (error,) = answer["errors"]
    assert (code, error["code"], error["line"], error["column"]) == (1, "T003", 1, 8)


def test_a_line_that_is_no_utf8_is_an_answer_and_the_others_are_read():
    text = "\ufeffnow => @a.b(x = 'é') => notify\r\n".encode() + b"now => @\xe4\nnow => @a.b\n"
    code, answers = run("render", text=text, skills=())
    assert code == 1
    assert [answer["ok"] for answer in answers] == [True, False, True]
    (error,) = answers[1]["errors"]
    assert (error["code"], error["line"], error["column"]) == ("R003", 2, 9)


def test_text_beyond_ascii_stays_readable():
    text = 'now => @com.example.mail.send(subject="für mich")\n'
    result = CliRunner().invoke(command, ["render", *SKILLS, "-"], input=text)
    assert "für mich" in result.stdout


def test_other_languages_are_read_too_but_have_no_styles():
    for name in ("check", "canonical", "render", "functions"):
        code, (answer,) = run(name, "--language", "sexpr", text="(b (c) (a))\n", skills=())
        assert (code, answer["ok"]) == (0, True)
    result = CliRunner().invoke(
        command, ["tokens", "--language", "sexpr", "--positional", "-"], input="(a)\n"
    )
    assert result.exit_code == 2
    assert "--positional is for --language thingtalk" in result.stderr


def test_answers_come_line_by_line():
    """A caller may keep the process open and ask again after each answer."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "program", "render", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdin
    assert process.stdout
    for _ in range(2):
        process.stdin.write("now => @com.x.q => notify\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["ok"]
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    process.stdout.close()
