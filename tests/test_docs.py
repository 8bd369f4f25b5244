"""Links in the documentation lead somewhere; commands, options and codes named there exist."""

import importlib.util
import re
import shlex
import textwrap
from pathlib import Path

import click
import pytest

from genie_dp.cli import COMMANDS, DATA, GRAMMAR, group, run
from genie_dp.languages.thingtalk.values import ATTRIBUTES
from genie_dp.templates.check import ENGLISH, REQUESTS, TEXTS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def test_the_pages_are_found():
    assert {page.name for page in PAGES} >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert len(PAGES) >= 6


def options_of(command):
    """Yield every option of a command and of those below it."""
    for option in command.params:
        yield from (*option.opts, *option.secondary_opts)
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            yield from options_of(command.get_command(None, name))


OPTIONS = set(options_of(group))
# Of other programs: benchmarks, pip, torchrun, pytest, needle.
OF_OTHERS = """
--beside --examples --tests --index-url --only-binary --private --programs --render --runs
--sizes --sections --chatette --real --help --version --update-golden --number --nworkers
--nthreads --nproc-per-node --no-python --only --people --read-back --seeds --together --smoke
--work --data --donated --epsilons --gammas --rates --texts --slurp --clinc --held
--home-parser --home-tests --workshop-parser --out --max-len
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_command_and_option_that_is_named_exists(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    assert [x for x in links if "://" not in x and not (page.parent / x).exists()] == []
    for within, table in (("", COMMANDS), ("data ", DATA), ("grammar ", GRAMMAR)):
        assert set(re.findall(rf"genie-dp {within}([a-z][a-z-]+)", text)) <= set(table)
    named = set(re.findall(r"(?<![-\w])--[a-z][a-z0-9-]*", text))
    assert named <= {*OPTIONS, *OF_OTHERS.split()}


def test_every_code_is_explained_and_no_other():
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "genie_dp").rglob("*.py"))
    raised = set(re.findall(r'"([A-Z]\d\d\d)"', sources))
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d\d\d.*?) \| .", page, re.MULTILINE)
    explained = [code for row in rows for code in row.split(", ")]
    assert len(raised) > 600
    assert sorted(explained) == sorted(raised)


def test_the_reference_of_the_commands_has_every_option():
    place = ROOT / "docs" / "command_reference.py"
    spec = importlib.util.spec_from_file_location("command_reference", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sections = dict(
        re.findall(
            r"^## (genie-dp.*)\n\n```text\n([\s\S]*?)\n```",
            module.command_reference(),
            re.MULTILINE,
        )
    )
    commands = {"genie-dp": group}
    count = 0
    while commands:
        name, command = commands.popitem()
        if isinstance(command, click.Group):
            below = {one: command.get_command(None, one) for one in command.list_commands(None)}
            commands.update((f"{name} {one}", found) for one, found in below.items())
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.opts[-1] in sections[name]
                count += 1
    assert count > 200


def test_the_template_language_names_every_attribute_and_request():
    page = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    asked = {*ENGLISH, *REQUESTS, *TEXTS}.union(*ATTRIBUTES.values())
    values = {value for values in REQUESTS.values() for value in values}
    assert len(asked) > 25
    assert not [name for name in asked | values if not re.search(rf"[`=|]{name}\b", page)]


def test_the_mistakes_of_the_template_language_are_shown_as_they_are(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    _, file, _, shown, *_ = page.split("Of this file `letters.genie`")[1].split("\n\n")
    (tmp_path / "letters.genie").write_text(textwrap.dedent(file))
    skill = ROOT / "tests" / "data" / "typecheck" / "skills" / "com.example.mail"
    monkeypatch.chdir(tmp_path)
    assert run(["check", "--skills", str(skill), "--grammar", "letters.genie"]) == 1
    said = capsys.readouterr().err
    assert said[said.index("letters.genie") :].rstrip() == textwrap.dedent(shown).rstrip()


def test_the_readme_leads_to_every_guide_and_the_index_of_research_to_every_note():
    guides = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("docs/*.md")
        # Those include a page that lies elsewhere, for the site.
        if not path.read_text(encoding="utf-8").startswith("```{include}")
    }
    notes = {path.name for path in ROOT.glob("docs/research/*.md")} - {"index.md"}
    assert len(guides) >= 20
    assert len(notes) >= 20
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "research" / "index.md").read_text(encoding="utf-8")
    assert not [page for page in sorted(guides) if f"]({page})" not in readme]
    assert not [note for note in sorted(notes) if f"]({note})" not in index]


def test_every_page_that_code_names_exists():
    folders = ("genie_dp", "benchmarks", "examples", "grammars", "tools")
    suffixes = {".py", ".txt", ".frames", ".lark", ".yaml", ".genie", ".rules", ".jinja"}
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and path.stat().st_size < 1_000_000
    ]
    named = {
        page for path in files for page in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf-8"))
    }
    assert len(named) > 20
    assert not [page for page in sorted(named) if not (ROOT / page).exists()]


def test_pages_of_examples_that_pages_name_are_part_of_the_site():
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {
        match[1]
        for page in pages
        for match in re.finditer(
            r"\]\((?:\.\./)?(examples/[\w-]+/README\.md)", page.read_text(encoding="utf-8")
        )
    }
    assert "examples/pizza/README.md" in named
    assert {page for page in named if f'"{page}"' not in conf} == set()


def test_the_first_minute_of_the_readme_prints_what_it_shows(tmp_path, capsys, monkeypatch):
    blocks = re.findall(r"(?m)^(?: {4}.*\n|\n(?= {4}))+", (ROOT / "README.md").read_text("utf-8"))
    files, said = (textwrap.dedent(block) for block in blocks[:2])
    for name, content in re.findall(r"// (\S+)\n((?:.+\n)+)", files):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert len(list(tmp_path.glob("*/*"))) == 2
    command, _, expected = said.strip().removeprefix("$ genie-dp ").partition("\n")
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(expected)
    assert len(f"{files}{said}".splitlines()) <= 15
