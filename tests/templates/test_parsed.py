"""What was read before is used again only while nothing of it has changed."""

import json
import os
import shutil
from pathlib import Path
from types import MappingProxyType

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
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv(parsed.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(parsed, "_SMALLEST", 0)
    return tmp_path / "cache"


@pytest.fixture
def project(tmp_path):
    return notes(tmp_path)


def rows_of(project, *options: object) -> bytes:
    output = project.folder / "rows.jsonl"
    assert project.run("--size", 300, "--overwrite", "--output", output, *options) == 0
    return output.read_bytes()


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
def readings(monkeypatch):
    return calls(monkeypatch, templates_run, "read_grammar")


def test_what_was_read_is_read_again_only_where_it_changed(project, kept, readings):
    first, second = inputs_of(project), inputs_of(project)
    assert len(readings) == 1
    assert second.grammar == first.grammar
    assert second.fingerprint() == first.fingerprint()
    # The library has one of its own, and so has what is known of each statement.
    assert len(list(kept.glob("*.pickle"))) == 3
    file = next(project.folder.rglob("templates.genie"))
    text = file.read_text()
    file.write_text(text + "\n// one more line\n")
    assert "// one more line" in inputs_of(project).sources[str(file)]
    assert len(readings) == 2
    file.write_text(text + "\nNP := 'no end\n")
    with pytest.raises(GenieError):
        inputs_of(project)
    file.write_text(text)
    folder = next(project.folder.rglob("skill.tt")).parent
    shutil.copytree(folder, folder.parent / "com.example.again")
    with pytest.raises(GenieError):  # its class has another name than its folder
        inputs_of(project)


def test_an_entry_that_was_cut_short_or_is_of_somebody_else_is_not_used(
    project, kept, readings, monkeypatch
):
    inputs_of(project)
    for entry in kept.glob("*.pickle"):
        whole = entry.read_bytes()
        entry.write_bytes(whole[: len(whole) // 2])
    inputs_of(project)
    assert len(readings) == 2
    inputs_of(project)
    assert len(readings) == 2
    monkeypatch.setattr(os, "getuid", lambda: 12345678)
    inputs_of(project)
    assert len(readings) == 3


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


@pytest.fixture
def made(monkeypatch):
    return calls(monkeypatch, lexicon, "make_leaves")


def test_leaves_are_made_once_and_rows_stay_the_same(project, kept, made, monkeypatch):
    first = rows_of(project)
    assert rows_of(project) == first
    assert rows_of(project, "--seed", 9) != first == rows_of(project, "--jobs", 2)
    assert len(made) == 1
    for _ in range(2):
        rows_of(project, "--include", "@*")
    assert len(made) == 2
    monkeypatch.setattr(engine, "MOST_LEAVES", 1)  # a sample of them is not kept
    for _ in range(2):
        rows_of(project, "--include", "@com.*", "--seed", len(made))
    assert len(made) == 4
    monkeypatch.undo()
    monkeypatch.setenv(parsed.VARIABLE, "")
    assert rows_of(project) == first


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


@pytest.fixture
def sampled(monkeypatch):
    """Return a list that grows by one whenever pools are sampled."""
    return calls(monkeypatch, synthesis_job, "build_engine")


def test_pools_are_sampled_once_for_a_seed_and_rows_stay_the_same(project, kept, sampled):
    first = rows_of(project)
    assert rows_of(project) == rows_of(project, "--jobs", 2) == first
    more = rows_of(project, "--size", 500), rows_of(project, "--depth-decay", 0.5)
    assert len(sampled) == 1
    for file in kept.glob("*.drawn"):
        file.unlink()
    assert (rows_of(project, "--size", 500), rows_of(project, "--depth-decay", 0.5)) == more
    assert len(sampled) == 2
    for number, options in enumerate(
        (("--seed", 9), ("--pool-size", 40), ("--balance", 1), ("--max-depth", 2)), start=3
    ):
        rows_of(project, *options)
        assert len(sampled) == number
        assert len(list(kept.glob("*.drawn"))) == number - 1


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


def test_mappings_that_nobody_changes_and_shared_objects_are_read_again(tmp_path):
    library = object()
    kept = MappingProxyType({"a": (library, 1)})
    keep_pickled(tmp_path / "x", kept, {"library": library})
    again = load_pickled(tmp_path / "x", {"library": library})
    assert (type(again), again["a"][0] is library, again["a"][1]) == (MappingProxyType, True, 1)
