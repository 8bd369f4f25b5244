"""The page about budgets shows what the commands print, and names every code."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.private.ledger.book import Ledger

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "private.md").read_text(encoding="utf-8")
# What differs from run to run.
CHANGING = (
    (r"\b([0-9]+):[0-9a-f]{12,64}\b", r"\1:HASH"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "TIME"),
    (r"\b(train|prior)-[0-9a-f]{8}\b", r"\1-ID"),
)


def steady(text):
    for pattern, name in CHANGING:
        text = re.sub(pattern, name, text)
    return text.strip()


def steps():
    """Yield the commands of the page with what they print, and its Python program, in order."""
    pattern = r"```python\n([\s\S]*?)```|((?:^    .*\n|^\n(?=    ))+)"
    for block in re.finditer(pattern, PAGE, re.MULTILINE):
        if block[1]:
            yield "python", block[1], ""
        elif (text := textwrap.dedent(block[2]).strip()).startswith("$ genie-dp "):
            command, _, shown = text.partition("\n")
            yield "command", command.removeprefix("$ genie-dp "), shown


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("private.jsonl").write_text("")
    seen = 0
    for kind, text, shown in steps():
        if kind == "python":
            exec(compile(text, "docs/private.md", "exec"), {})
            continue
        # The head in the page is that of another ledger.
        head = Ledger.open(Path("private.ledger.json")).head if "--seen" in text else ""
        words = shlex.split(re.sub(r"--seen \S+", f"--seen {head}", text))
        cli.run(words)
        said = capsys.readouterr()
        assert steady(said.out + said.err) == steady(shown), text
        seen += 1
    assert seen == 5
    assert len(Ledger.open(Path("private.ledger.json")).entries) == 2


def test_the_page_is_about_the_mechanisms_that_there_are():
    from genie_dp.private.ledger.mechanisms import KINDS

    for kind in KINDS.values():
        assert f"| `{kind.__name__}` |" in PAGE


@pytest.mark.parametrize(("pattern", "_name"), CHANGING)
def test_what_changes_from_run_to_run_is_in_the_page(pattern, _name):
    assert re.search(pattern, PAGE)
