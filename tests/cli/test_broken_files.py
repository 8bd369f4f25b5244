"""Broken skills and grammars: every command says where and why, exits with 1 and writes nothing."""

import json
import time
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.errors import GenieError, Problem, Span

SKILL = """class @com.x {
  monitorable list query q(in opt a : String #_[canonical={base=["a"]}], out b : Number);
  action act(in req s : String);
}
"""
TEMPLATES = r"""NP := 'my things' -> @com.x.q();
VP := 'do $s' -> \(s : String) -> @com.x.act(s = s);
"""
GRAMMAR = """category COMMAND : program root "commands";
category NP : query "noun phrases";
category VP : action "verb phrases";
COMMAND := 'show me' q:NP -> now => q => notify;
COMMAND := a:VP -> now => a;
"""
FILES = {
    "skills/com.x/skill.tt": SKILL,
    "skills/com.x/templates.genie": TEMPLATES,
    "main.genie": GRAMMAR,
}
FUNCTIONS = 'using "functions.py";\n' + GRAMMAR
MANY_WAYS = " ".join(["('a' | 'b')?"] * 12)
# name -> (files that are other than in FILES, code, place)
BROKEN: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "unknown category": ({"main.genie": GRAMMAR + "COMMAND := 'x' q:NPP -> now => q => notify;"},
        "G012", "main.genie:6:16"),
    "body of another kind": ({"main.genie": GRAMMAR + "COMMAND := 'x' q:NP -> monitor q;"},
        "G019", "main.genie:6:24"),
    "placeholder without a parameter":
        ({"skills/com.x/templates.genie": TEMPLATES + "NP := 'x $y' -> @com.x.q();"},
         "G017", "skills/com.x/templates.genie:3:10"),
    "parameter without a place":
        ({"main.genie": GRAMMAR + r"NP := 'x' -> \(y : String) -> @com.x.q(a = y);"},
         "G018", "main.genie:6:14"),
    "unknown Python function":
        ({"main.genie": FUNCTIONS + "NP := 'x' q:NP -> python.f(q);", "functions.py": ""},
         "G024", "main.genie:7:19"),
    "Python that raises when it is read":
        ({"main.genie": FUNCTIONS, "functions.py": "x = 1\nx / 0\n"},
         "G010", "functions.py:2:1"),
    "brackets in brackets":
        ({"main.genie": f"{GRAMMAR}NP := {'(' * 500}'x'{')' * 500} -> @com.x.q();"},
         "G001", "main.genie:6:57"),
    "a guard that is too deep":
        ({"main.genie": f"{GRAMMAR}NP := 'x' q:NP -> q if {'not ' * 500}q.is_list;"},
         "G004", "main.genie:6:24"),
    "a guard that Python cannot read for its depth":
        ({"main.genie": f"{GRAMMAR}NP := 'x' q:NP -> q if {'not ' * 20_000}q.is_list;"},
         "G004", "main.genie:6:24"),
    "a guard with a null character":
        ({"main.genie": f"{GRAMMAR}NP := 'x' q:NP -> q if q.num == '\0';"},
         "G007", "main.genie:6:34"),
    "words with a character that stands for placeholders":
        ({"main.genie": f"{GRAMMAR}NP := 'caf\ue000' -> @com.x.q();"},
         "G007", "main.genie:6:11"),
    "a phrase with a control character":
        ({"skills/com.x/skill.tt": SKILL.replace('["a"]', '["a\x07"]')},
         "K003", "skills/com.x/skill.tt:2:68"),
    "a placeholder that stands twice":
        ({"skills/com.x/templates.genie": TEMPLATES.replace("do $s", "do $s and $s")},
         "G015", "skills/com.x/templates.genie:2:18"),
    "two parameters of one name":
        ({"main.genie": GRAMMAR + r"NP := 'x $y' -> \(y : String, y : String) -> @com.x.q(a = y);"},
         "G015", "main.genie:6:17"),
    "a number that no noun has":
        ({"main.genie": f"{GRAMMAR}COMMAND := q:NP -> now => q => notify if q.num == 'plural';"},
         "G020", "main.genie:6:42"),
    "too many ways to say it": ({"main.genie": f"{GRAMMAR}NP := {MANY_WAYS} q:NP -> q;"},
        "G026", "main.genie:6:1"),
    "a grammar that is no UTF-8": ({"main.genie": GRAMMAR.encode() + "// ä".encode("latin-1")},
        "G007", "main.genie:6:4"),
    "a skill that is no UTF-8": ({"skills/com.x/skill.tt": SKILL.encode("utf-16")},
        "K003", "skills/com.x/skill.tt:1:1"),
}  # fmt: skip


def write(files: dict[str, str | bytes], folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


INPUTS = ("--skills", "skills", "--grammar", "main.genie")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_with_its_place_and_nothing_is_written(name, folder, capsys):
    files, code, place = BROKEN[name]
    write(FILES | files, folder)
    assert cli.run(["check", *INPUTS, "--format", "json"]) == 1
    problems = json.loads(capsys.readouterr().out)
    errors = [p for p in problems if p["severity"] == "error"]
    assert (code, place) in {
        (p["code"], f"{p['file']}:{p['line']}:{p['column']}") for p in errors
    }, errors
    assert cli.run(["synthesize", *INPUTS, "--output", "pairs.jsonl"]) == 1
    assert f"{place}: error[{code}]" in capsys.readouterr().err
    assert not [path for path in folder.rglob("*") if "pairs" in path.name]


def test_byte_order_marks_and_line_ends_of_windows_are_read(folder):
    windows = {name: "\ufeff" + text.replace("\n", "\r\n") for name, text in FILES.items()}
    write(windows, folder)
    assert cli.run(["check", *INPUTS]) == 0
    assert cli.run(["synthesize", *INPUTS, "--output", "pairs.jsonl"]) == 0
    assert len(Path("pairs.jsonl").read_text().splitlines()) == 2


def test_only_line_feeds_end_lines(folder, capsys):
    """A form feed or U+2028 inside a text moves neither the line that is shown nor table rows."""
    words = "words\tprogram\na\u2028b\x0cc\t@com.x.q()\n"
    grammar = GRAMMAR + "// \x0c \u2028\nCOMMAND := t:'words.tsv' q:NPP -> now => q => notify;\n"
    write(FILES | {"main.genie": grammar, "words.tsv": words}, folder)
    assert cli.run(["check", *INPUTS]) == 1
    shown = capsys.readouterr().err
    assert "error[G009]" not in shown
    assert " 7 | COMMAND := t:'words.tsv' q:NPP" in shown


def test_thousands_of_mistakes_are_shown_in_time_that_grows_with_their_number(folder):
    rows = 4000
    span = Span("x.genie", rows, 1, rows, 2)
    text = ("x" * 300 + "\n") * rows
    begin = time.process_time()
    GenieError([Problem("G001", "expected y", span)] * rows, sources={"x.genie": text})
    assert time.process_time() - begin < 0.5  # 3 seconds where each problem splits the text again
