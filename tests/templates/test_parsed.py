"""What was read before is used again only while nothing of it has changed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from genie_dp.cli.inputs import load_inputs, load_library_of
from genie_dp.errors import GenieError
from genie_dp.run import cache as parsed
from genie_dp.run.cache import keep_pickled, load_pickled
from genie_dp.synthesis import cache as lexicon
from genie_dp.synthesis import engine
from genie_dp.synthesis import run as synthesis_job
from genie_dp.templates import run as templates_run
from tests.synthesis.synthesis_project import errands, notes


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    """Return the folder where everything that is read is kept."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(parsed.VARIABLE, str(folder))
    monkeypatch.setattr(parsed, "_SMALLEST", 0)
    return folder


@pytest.fixture
def project(tmp_path):
    return notes(tmp_path)


def inputs_of(project):
    skills, grammar = project.folder / "thingpedia", project.folder / "grammars/en"
    return load_inputs("thingtalk", [skills], [grammar], skip_broken=False)


def calls(monkeypatch, module, name) -> list[object]:
    """Return a list that grows by one whenever a function of a module is called."""
    met: list[object] = []
    function = getattr(module, name)

    def counted(*args, **options):
        met.append(args)
        return function(*args, **options)

    monkeypatch.setattr(module, name, counted)
    return met


@pytest.fixture
def readings(monkeypatch) -> list[object]:
    """Return a list that grows by one whenever template files are read."""
    return calls(monkeypatch, templates_run, "read_grammar")


def test_what_was_read_is_not_read_again(project, kept, readings):
    first, second = inputs_of(project), inputs_of(project)
    assert len(readings) == 1
    assert second.grammar == first.grammar
    assert second.fingerprint() == first.fingerprint()
    # The library has one of its own, and so has what is known of each statement.
    assert len(list(kept.glob("*.pickle"))) == 3


def test_rows_are_the_same_with_and_without(project, kept, tmp_path, monkeypatch):
    def rows(name: str) -> bytes:
        output = tmp_path / name
        assert project.run("--size", 300, "--output", output) == 0
        return output.read_bytes()

    fresh, again = rows("fresh.jsonl"), rows("again.jsonl")
    monkeypatch.setenv(parsed.VARIABLE, "")
    assert fresh == again == rows("without.jsonl")


def test_a_changed_file_is_read(project, kept, readings):
    inputs_of(project)
    file = next(project.folder.rglob("templates.genie"))
    file.write_text(file.read_text() + "\n// one more line\n")
    changed = inputs_of(project)
    assert len(readings) == 2
    assert "// one more line" in changed.sources[str(file)]


def test_a_mistake_that_is_made_later_is_found(project, kept):
    inputs_of(project)
    file = next(project.folder.rglob("templates.genie"))
    file.write_text(file.read_text() + "\nNP := 'no end\n")
    with pytest.raises(GenieError):
        inputs_of(project)


def test_a_new_skill_is_read(project, kept, readings):
    inputs_of(project)
    folder = next(project.folder.rglob("skill.tt")).parent
    shutil.copytree(folder, folder.parent / "com.example.again")
    with pytest.raises(GenieError):  # its class has another name than its folder
        inputs_of(project)


def test_an_entry_that_was_cut_short_is_written_again(project, kept, readings):
    inputs_of(project)
    for entry in kept.glob("*.pickle"):
        whole = entry.read_bytes()
        entry.write_bytes(whole[: len(whole) // 2])
    inputs_of(project)
    assert len(readings) == 2
    inputs_of(project)
    assert len(readings) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_an_entry_of_somebody_else_is_not_opened(project, kept, readings, monkeypatch):
    inputs_of(project)
    monkeypatch.setattr(os, "getuid", lambda: 12345678)
    inputs_of(project)
    assert len(readings) == 2


def test_nothing_is_kept_where_the_variable_is_empty(project, kept, readings, monkeypatch):
    monkeypatch.setenv(parsed.VARIABLE, "")
    inputs_of(project)
    inputs_of(project)
    assert len(readings) == 2
    assert not kept.exists()


def test_grammars_with_python_functions_are_read_each_time(tmp_path, kept):
    project = errands(tmp_path)
    assert project.run("--size", 10, "--output", tmp_path / "pairs.jsonl") == 0
    assert not kept.exists()


def test_paths_that_stand_alone_are_read_once_wherever_one_is(
    project, kept, readings, tmp_path, monkeypatch
):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        monkeypatch.chdir(folder)
        inputs_of(project)
    assert len(readings) == 1
    for folder in (first, second):
        for part in ("thingpedia", "grammars"):
            shutil.copytree(project.folder / part, folder / part)
        monkeypatch.chdir(folder)
        load_inputs("thingtalk", [Path("thingpedia")], [Path("grammars/en")], skip_broken=False)
    assert len(readings) == 3


# -------------------------------------------------------------------------------- leaves


@pytest.fixture
def made(monkeypatch) -> list[object]:
    """Return a list that grows by one whenever the leaves of a grammar are made."""
    return calls(monkeypatch, lexicon, "make_leaves")


def test_leaves_are_made_once_and_rows_stay_the_same(project, kept, made, tmp_path):
    def rows(name: str, *options: object) -> bytes:
        output = tmp_path / name
        assert project.run("--size", 300, "--output", output, *options) == 0
        return output.read_bytes()

    assert rows("a.jsonl") == rows("b.jsonl")
    assert rows("c.jsonl", "--seed", 9) != rows("d.jsonl", "--jobs", 2)
    assert len(made) == 1


def test_other_functions_have_other_leaves(project, kept, made, tmp_path):
    for number, options in enumerate(([], ["--include", "@*"], ["--include", "@*"])):
        output = tmp_path / f"{number}.jsonl"
        assert project.run("--size", 50, "--output", output, *options) == 0
    assert len(made) == 2


def test_a_sample_of_leaves_is_not_kept(project, kept, made, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MOST_LEAVES", 1)
    for number in range(2):
        output = tmp_path / f"{number}.jsonl"
        assert project.run("--size", 50, "--seed", number, "--output", output) == 0
    assert len(made) == 2


def test_previews_and_reports_know_every_template_whether_leaves_were_kept_or_not(
    project, kept, tmp_path, capfd, monkeypatch
):
    def seen() -> tuple[str, dict[str, object]]:
        folder = tmp_path / f"report{len(list(tmp_path.glob('report*')))}"
        assert project.run("--preview", 1) == 0
        shown = capfd.readouterr().out
        rows = tmp_path / f"{folder.name}.jsonl"
        assert project.run("--size", 200, "--output", rows, "--report", folder) == 0
        return shown, json.loads((folder / "report.json").read_text())

    first, again = seen(), seen()
    monkeypatch.setenv(parsed.VARIABLE, "")
    assert first == again == seen()


def test_a_library_alone_is_read_once_and_again_when_a_skill_changes(project, kept, monkeypatch):
    folder = project.folder / "thingpedia"
    first = load_library_of("thingtalk", [folder], skip_broken=False)
    with monkeypatch.context() as patched:
        patched.setattr("genie_dp.skills.load.load_library", None)  # is not called
        again = load_library_of("thingtalk", [folder], skip_broken=False)
    assert [f.qualified for f in again.functions()] == [f.qualified for f in first.functions()]
    skill = next(folder.rglob("skill.tt"))
    skill.write_text(skill.read_text() + "\n// changed\n")
    changed = load_library_of("thingtalk", [folder], skip_broken=False)
    assert changed.sources[str(skill)].endswith("// changed\n")


# ------------------------------------------------------------------------ what rows are drawn from


def drawn_files(kept) -> list[str]:
    return sorted(path.name for path in kept.glob("*.drawn"))


@pytest.fixture
def sampled(monkeypatch) -> list[object]:
    """Return a list that grows by one whenever pools are sampled."""
    return calls(monkeypatch, synthesis_job, "build_engine")


def test_pools_are_sampled_once_for_a_seed_and_rows_stay_the_same(project, kept, sampled, tmp_path):
    def rows(*options: object) -> bytes:
        output = tmp_path / "rows.jsonl"
        options = ("--overwrite", "--output", output, *options)
        assert project.run(*options) == 0
        return output.read_bytes()

    first = rows("--size", 300)
    assert rows("--size", 300) == first
    assert rows("--size", 300, "--jobs", 2) == first
    more = rows("--size", 500), rows("--size", 500, "--depth-decay", 0.5)
    assert len(sampled) == 1
    for file in kept.glob("*.drawn"):
        file.unlink()
    assert (rows("--size", 500), rows("--size", 500, "--depth-decay", 0.5)) == more
    assert len(sampled) == 2


@pytest.mark.parametrize(
    "options", [["--seed", 9], ["--pool-size", 40], ["--balance", 1], ["--max-depth", 2]]
)
def test_other_settings_have_other_pools(project, kept, sampled, tmp_path, options):
    for number, given in enumerate(([], options)):
        output = tmp_path / f"{number}.jsonl"
        assert project.run("--size", 200, "--output", output, *given) == 0
    assert len(sampled) == 2
    assert len(drawn_files(kept)) == 2


def test_what_is_used_stays_longest_and_the_newest_however_large_it_is(kept, monkeypatch):
    monkeypatch.setattr(parsed, "_MOST_BYTES", 5_000)
    first, second, third, fourth = (kept / f"{name}.pickle" for name in "abcd")
    for place in (first, second):
        keep_pickled(place, bytes(2_000))
        os.utime(place, (1, 1 if place == first else 2))
    assert load_pickled(first) == bytes(2_000)
    keep_pickled(third, bytes(2_000))
    assert [path.name for path in sorted(kept.iterdir())] == ["a.pickle", "c.pickle"]
    keep_pickled(fourth, bytes(6_000))
    assert [path.name for path in kept.iterdir()] == ["d.pickle"]


def test_tables_of_lark_are_kept_and_another_grammar_has_its_own(kept):
    def parse(word: str):
        return parsed.load_lark(f"start: /{word}/", parser="lalr").parse(word)

    first = parse("one")
    (place,) = kept.glob("*.lark")
    assert parse("one") == first
    assert parse("two") != first
    assert len(list(kept.glob("*.lark"))) == 2
    place.write_bytes(b"cut short")
    assert parse("one") == first


@pytest.mark.slow
def test_what_is_kept_comes_back_equal(tmp_path):
    """Frozen dataclasses are pickled in a way of our own."""
    inputs = load_inputs("thingtalk", (), (), skip_broken=False)
    content = (inputs.library, inputs.grammar.templates)
    place = tmp_path / "kept.pickle"
    keep_pickled(place, content)
    assert load_pickled(place) == content
