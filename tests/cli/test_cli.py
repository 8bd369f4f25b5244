import gzip
import importlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from genie_dp import __version__, cli
from genie_dp.cli import output, run
from genie_dp.cli.commands import CommandEntry
from genie_dp.cli.options import GRAMMAR, SKILLS, Finite
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.resources import data_folder
from genie_dp.run import files
from genie_dp.run.stage import show_progress


@pytest.fixture
def command(monkeypatch):
    """Put one command into the table, made of a function."""

    def put(function, name="demo"):
        monkeypatch.setattr(cli, "load_command", lambda _: click.command(name)(function))
        monkeypatch.setitem(cli.COMMANDS, name, CommandEntry("nowhere:command", "Do it."))
        return name

    return put


def commands(group: click.Group = cli.group, name: str = "genie-dp"):
    """Yield every command and group below a group, with its whole name."""
    for word in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), word)
        yield f"{name} {word}", found
        if isinstance(found, click.Group):
            yield from commands(found, f"{name} {word}")


def options(command: click.Command):
    return [param for param in command.params if isinstance(param, click.Option)]


COMMANDS = dict(commands())


def test_every_command_of_the_tables_is_there_with_the_help_of_its_table():
    groups = [cli.group, *(x for x in COMMANDS.values() if isinstance(x, cli.LazyGroup))]
    assert len(groups) >= 7
    for group in groups:
        for name, entry in group.table.items():
            found = cli.load_command(entry.place)
            if isinstance(found, click.Group) or group.name != "train":
                assert found.name == name
                assert found.get_short_help_str(limit=200) == entry.help
            every = {word.lstrip("-") for option in options(found) for word in option.opts}
            assert set(entry.shown.split()) <= every, name


def test_the_first_screen_has_nine_commands_and_no_help_more_than_twelve_options():
    first = [name for name, entry in cli.COMMANDS.items() if not entry.is_group]
    assert len(first) == 9
    shown = {
        name: sum(not option.hidden for option in options(command))
        for name, command in COMMANDS.items()
    }
    assert len(shown) > 60
    assert {name: count for name, count in shown.items() if count > 12} == {}


def test_a_brief_help_names_the_full_one_which_has_every_option(capsys):
    assert run(["synthesize", "--help"]) == 0
    brief = capsys.readouterr().out
    assert "--size" in brief
    assert "--balance" not in brief
    assert "more options: --help-all" in brief
    assert run(["synthesize", "--help-all"]) == 0
    full = capsys.readouterr().out
    for option in options(COMMANDS["genie-dp synthesize"]):
        assert option.opts[-1] in full
    for name, command in COMMANDS.items():
        if not isinstance(command, click.Group):
            assert {"--help-all", "--set"} <= {x.opts[-1] for x in options(command)}, name


def test_an_option_is_set_by_its_name_and_checked_as_always(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    skill = str(data_folder("thingpedia") / "com.gmail")
    size = ["synthesize", "--skills", skill, "--size", "3", "--output", str(rows)]
    named = ["--max-depth", "2", "--format", "tsv", "--seed", "5"]
    assert run([*size, "--set", "max-depth=2", "--set=format=tsv", "--set", "seed=5"]) == 0
    assert run([*size[:-1], "-", *named]) == 0
    assert rows.read_text() == capsys.readouterr().out
    for pair, message in (
        ("max-depth=many", "'many' is not a valid integer"),
        ("max-dept=2", "did you mean 'max-depth'?"),
        ("max-depth", "--set takes name=value, not 'max-depth'"),
        ("overwrite=yes", "expected true or false, got 'yes'"),
    ):
        assert run(["synthesize", "--set", pair]) == 2
        assert message in capsys.readouterr().err
    before = rows.read_bytes()
    assert run([*size, "--set", "overwrite=false"]) == 1
    assert rows.read_bytes() == before
    assert run([*size, "--set", "overwrite=true"]) == 0
    assert rows.read_bytes() != before


def test_what_is_set_counts_as_given_where_a_project_gives_the_rest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    skill = data_folder("thingpedia") / "com.gmail"
    (tmp_path / "genie.yaml").write_text("skills: [nowhere]\n")
    assert run(["synthesize", "--set", f"skills={skill}", "--set", "size=2"]) == 0
    assert "nowhere" not in capsys.readouterr().err


def test_old_names_still_work_and_say_the_new_ones(capsys):
    assert set(cli.MOVED) >= {"augment", "stats", "import", "explain"}
    for old, new in cli.MOVED.items():
        assert f"genie-dp {new}" in COMMANDS, old
        if not isinstance(COMMANDS[f"genie-dp {new}"], click.Group):
            assert run([old, "--help"]) == 0
            assert f"(DEPRECATED: use {new!r}.)" in " ".join(capsys.readouterr().out.split())
    assert run(["--help"]) == 0
    listed = re.findall(r"^  ([a-z]+)", capsys.readouterr().out, re.MULTILINE)
    assert not {*cli.MOVED} & {*listed}


def test_no_option_takes_what_is_no_number():
    numbers = [
        (name, option)
        for name, command in COMMANDS.items()
        for option in options(command)
        if isinstance(option.type, click.types.FloatParamType)
    ]
    assert len(numbers) > 30
    assert [(n, o.name) for n, o in numbers if not isinstance(o.type, Finite)] == []
    for _, option in numbers:
        for text in ("nan", "inf"):
            with pytest.raises(click.BadParameter):
                option.type.convert(text, option, None)


def test_shipped_is_what_comes_with_the_package_unless_a_file_is_so_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert SKILLS.convert("shipped", None, None) == data_folder("thingpedia")
    assert (GRAMMAR.convert("shipped", None, None) / "main.genie").is_file()
    assert GRAMMAR.convert("shipped/answers.genie", None, None).is_file()
    assert (
        SKILLS.convert("shipped/com.gmail", None, None) == data_folder("thingpedia") / "com.gmail"
    )
    with pytest.raises(click.UsageError):
        GRAMMAR.convert("shipped/nothing.genie", None, None)
    Path("shipped").mkdir()
    assert SKILLS.convert("shipped", None, None) == Path("shipped")
    with pytest.raises(click.BadParameter, match="does not exist"):
        SKILLS.convert("nowhere", None, None)


def test_a_command_may_return_its_exit_code(command):
    assert cli.run([command(lambda: None)]) == 0
    assert cli.run([command(lambda: 1)]) == 1


def test_a_mistake_of_the_user_is_shown_on_stderr_and_ends_with_1(command, capsys):
    def fail():
        span = Span("x.genie", 1, 3, 1, 4)
        raise GenieError(Problem("G001", "expected ';'", span), sources={"x.genie": "a b"})

    assert cli.run([command(fail)]) == 1
    assert capsys.readouterr() == (
        "",
        "x.genie:1:3: error[G001]: expected ';'\n 1 | a b\n   |   ^\n",
    )


def test_a_missing_file_is_a_mistake_of_the_user(command, capsys):
    assert cli.run([command(lambda: Path("/nowhere/x").read_text())]) == 1
    assert capsys.readouterr().err == "error[R001]: /nowhere/x: No such file or directory\n"


def test_a_missing_library_of_training_is_told_with_its_extra(command, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert cli.run([command(lambda: importlib.import_module("torch"))]) == 1
    said = capsys.readouterr().err
    assert "error[R005]: this needs torch, which is not installed" in said
    assert "genie_dp[train]" in said


def test_a_bug_keeps_its_traceback(command):
    with pytest.raises(ModuleNotFoundError):
        cli.run([command(lambda: importlib.import_module("genie_dp.nowhere"))])
    with pytest.raises(ZeroDivisionError):
        cli.run([command(lambda: 1 // 0)])


def test_an_interruption_ends_with_130(command, capsys):
    def interrupt():
        raise KeyboardInterrupt

    assert cli.run([command(interrupt)]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_wrong_usage_ends_with_2_and_the_nearest_command_is_named(command, capsys):
    command(lambda: None, "synthesize")
    for arguments in (["synthesize", "--nope"], ["--nope"], [], ["synthesise"]):
        assert cli.run(arguments) == 2
    assert "no such command 'synthesise': did you mean 'synthesize'?" in capsys.readouterr().err


def test_a_reader_that_goes_away_leaves_no_traceback():
    program = (
        "import click, sys; from genie_dp import cli\n"
        "from genie_dp.cli.commands import CommandEntry\n"
        "cli.COMMANDS['many'] = CommandEntry('', 'Print many lines.')\n"
        "cli.load_command = lambda _: click.command('many')(\n"
        "    lambda: [sys.stdout.write('line\\n') for _ in range(100_000)] and None)\n"
        "cli.main(['many'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_the_launcher_runs_without_installation():
    done = subprocess.run(
        [sys.executable, "cli.py", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"genie-dp, version {__version__}\n"


def test_problems_go_to_stdout_as_json_and_to_stderr_as_text(capsys):
    output.show_problems([Problem("K001", "no template", severity="warning")], format="json")
    [row] = json.loads(capsys.readouterr().out)
    assert (row["code"], row["severity"], row["line"]) == ("K001", "warning", None)
    output.show_problems([Problem("K001", "no template", severity="warning")])
    assert capsys.readouterr() == ("", "warning[K001]: no template\n")


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_a_suffix_says_how_a_file_is_compressed_and_bytes_repeat(tmp_path, suffix):
    import smart_open

    written = []
    for folder in ("one", "two"):
        path = tmp_path / folder / f"pairs.jsonl{suffix}"
        with files.open_text(str(path)) as out:
            out.write("a\né\n")
        written.append(path.read_bytes())
    assert written[0] == written[1]
    if suffix == ".gz":
        assert gzip.decompress(written[0]) == "a\né\n".encode()
    with smart_open.open(path, encoding="utf-8") as lines:
        assert lines.read() == "a\né\n"


def test_a_compression_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(GenieError, match="R002"), files.open_text(str(tmp_path / "pairs.zst")):
        pytest.fail("the block must not run")
    assert not list(tmp_path.iterdir())


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("old")

    def write_half():
        with files.open_text(str(path)) as out:
            out.write("half")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_url_is_written_by_smart_open_and_a_dash_is_stdout_which_stays_open(tmp_path, capfd):
    with files.open_text(f"file://{tmp_path}/pairs.jsonl.gz") as out:
        out.write("a\n")
    assert gzip.decompress((tmp_path / "pairs.jsonl.gz").read_bytes()) == b"a\n"
    with files.open_text("-") as out:
        out.write("a\n")
    print("b")  # noqa: T201 - stdout must still be open
    assert capfd.readouterr().out == "a\nb\n"


def test_progress_counts_on_a_terminal_alone(monkeypatch):
    for is_terminal in (False, True):
        stderr = io.StringIO()
        stderr.isatty = lambda is_terminal=is_terminal: is_terminal
        monkeypatch.setattr(sys, "stderr", stderr)
        rows = show_progress(iter(range(200)), label="pairs", total=200, show=True)
        assert list(rows) == list(range(200))
        assert ("200/200" in stderr.getvalue()) is bool(stderr.getvalue()) is is_terminal


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_error_without_traceback():
    with Path("/dev/full").open("w") as full:
        code = "from genie_dp.cli import main; main(['--help'])"
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error[R001]: cannot write: No space left on device\n"
