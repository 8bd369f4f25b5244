"""The public API: what `import genie_dp` offers, and the scripts that show it."""

import gc
import importlib
import json
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.private.secure import _seeded
from genie_dp.recipe import settings_of
from genie_dp.resources import data_folder
from genie_dp.rows import read_rows
from tests.parser import parser_setup

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples" / "python").glob("*.py"))
GMAIL = {"size": 120, "seed": 4, "max_depth": 2, "include": ("@com.gmail.*",)}


SKILLS = [
    data_folder("thingpedia") / name
    for name in ("com.dropbox", "com.github", "com.gmail", "com.twitter", "common")
]


@pytest.fixture(scope="module")
def grammar():
    """Return the shipped templates over a few skills."""
    return gd.load_grammar(library=SKILLS)


@pytest.fixture(scope="module")
def mail():
    """Return the shipped templates over one skill, which are soon compiled."""
    return gd.load_grammar(library=data_folder("thingpedia") / "com.gmail")


@pytest.fixture(scope="module")
def train_once():
    """Return a function that trains with the same rows and settings once.

    No sentences to refuse: they take longer than all else, and test_refusal.py trains with them.
    """
    known = {}

    def train(*rows, **settings):
        key = repr((rows, settings))
        if key not in known:
            known[key] = gd.api.train(*rows, **settings, out_of_scope=0)
        return known[key]

    return train


def test_every_public_name_is_there_and_no_other_is_offered():
    assert all(getattr(gd, name) is not None for name in gd.__all__)
    assert set(dir(gd)) == {*gd.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'synthesise'"):
        _ = gd.synthesise


def saved_as_by_the_command(rows, folder, *words):
    """Check that rows and their file are those of a command; return the result of saving them."""
    made, saved = folder / "made.jsonl", folder / "saved.jsonl"
    assert run([*map(str, words), "--output", str(made)]) == 0
    assert list(rows) == list(rows) == list(read_rows(str(made)))
    result = rows.save(saved, jobs=2)
    for suffix in ("", ".manifest.json"):
        one, other = (Path(f"{file}{suffix}").read_bytes() for file in (made, saved))
        assert one == other
    return result


@pytest.mark.slow
def test_rows_of_each_function_are_those_of_its_command(grammar, tmp_path):
    synthesize, augment, paraphrase = (tmp_path / name for name in "sap")
    for folder in (synthesize, augment, paraphrase):
        folder.mkdir()
    pairs, source = gd.synthesize(grammar=grammar, **GMAIL), synthesize / "saved.jsonl"
    options = ["--size", 120, "--seed", 4, "--max-depth", 2, "--include", "@com.gmail.*"]
    options += [f"--skills={folder}" for folder in SKILLS]
    result = saved_as_by_the_command(pairs, synthesize, "synthesize", *options)
    assert 80 < result.rows <= 120
    assert str(result).startswith(f"{result.rows} pairs -> {source}")
    made = result.rows

    rows = gd.augment(gd.Rows.read(source), seed=2, typo=0.0)
    words = ["data", "augment", source, "--seed", 2, "--typo", 0]
    result = saved_as_by_the_command(rows, augment, *words)
    assert list(rows) == list(gd.augment(list(pairs), seed=2, typo=0))
    assert result.read == {"synthetic": made}
    assert str(result).startswith(f"{result.rows:,} rows -> {augment / 'saved.jsonl'}")

    rows = gd.paraphrase(source, number=2, seed=3)
    words = ["data", "paraphrase", "auto", source, "--number", 2, "--seed", 3]
    result = saved_as_by_the_command(rows, paraphrase, *words)
    assert list(rows) == list(gd.paraphrase(pairs, number=2, seed=3))
    assert str(result).startswith(f"{result.paraphrases} paraphrases of {made} rows -> ")
    both = gd.augment(pairs, rows, library=grammar.library)
    assert {row.source for row in both} == {"augmented"}


@pytest.mark.slow
def test_rows_come_again_and_are_previewed_without_making_all(grammar):
    pairs = gd.synthesize(grammar=grammar, **{**GMAIL, "size": 10**9})
    first = list(islice(pairs, 3))
    assert list(islice(pairs, 3)) == first
    shown = pairs.preview(3)
    assert list(shown) == first
    assert repr(shown).splitlines()[0] == first[0].utterance
    assert "<table>" in shown._repr_html_()


def test_nothing_is_written_unless_told_where(mail, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pairs = gd.synthesize(grammar=mail, **GMAIL)
    assert list(pairs)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")
    file = Path(pairs.file())
    assert not file.is_relative_to(tmp_path)
    assert list(gd.Rows.read(file)) == list(pairs)
    del pairs
    assert not file.exists()


def test_results_and_libraries_show_themselves_in_a_line(mail):
    for shown in (mail, mail.library, gd.synthesize(grammar=mail, **GMAIL)):
        assert len(repr(shown)) < 200
        assert "\n" not in repr(shown)


def test_a_file_that_exists_is_overwritten_only_when_told(mail, tmp_path):
    pairs = gd.synthesize(grammar=mail, **GMAIL)
    for rows in (pairs, gd.Rows.read(pairs.file())):
        target = tmp_path / "rows.jsonl"
        target.write_text("mine")
        with pytest.raises(gd.GenieError, match="exists already"):
            rows.save(target)
        assert target.read_text() == "mine"
        rows.save(target, overwrite=True)
        assert list(gd.Rows.read(target)) == list(pairs)


@pytest.mark.slow
def test_one_text_is_taken_where_several_may_be(grammar, tmp_path):
    one = gd.synthesize(grammar=grammar, **{**GMAIL, "include": "@com.gmail.*"})
    assert one.preview(3) == gd.synthesize(grammar=grammar, **GMAIL).preview(3)
    with pytest.raises(FileNotFoundError, match="mine.rules"):
        list(gd.paraphrase(one.preview(3), rule_files=str(tmp_path / "mine.rules")))


@pytest.mark.slow
def test_descriptions_and_explanations_agree(grammar):
    program = "now => @com.gmail.inbox => notify"
    sentence = gd.describe(program, grammar).utterance
    assert gd.explain(sentence, grammar).programs == (program,)


# ------------------------------------------------------------------------------- private rows

HOME = "now => @com.twitter.home_timeline => notify"
TWITTER = data_folder("thingpedia") / "com.twitter"
BUDGET = {"epsilon": 3, "delta": 1e-6, "unit": "utterance"}


@pytest.fixture
def private(tmp_path):
    path = tmp_path / "private.jsonl"
    rows = [{"utterance": f"show tweet {number}", "program": HOME} for number in range(300)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_public_names_of_private_are_there_and_importing_them_is_light():
    assert all(getattr(gd.private, name) is not None for name in gd.private.__all__)
    assert set(dir(gd.private)) == set(gd.private.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Leger'"):
        _ = gd.private.Leger
    code = "import sys, genie_dp as gd; gd.private.__all__; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_a_prior_is_the_commands_and_steers_synthesis(grammar, private, tmp_path, capsys):
    ledger = gd.private.Ledger.init(private, **BUDGET)
    with _seeded(0):
        prior = ledger.prior(epsilon=1, library=TWITTER, estimated_units=300, public=[])
        words = ["--epsilon", "1", "--skills", str(TWITTER), "--estimated-units", "300"]
        apart = tmp_path / "apart"
        apart.mkdir()
        rows = apart / "private.jsonl"
        rows.write_bytes(private.read_bytes())
        gd.private.Ledger.init(rows, **BUDGET, allow_same_rows=True)
        capsys.readouterr()
        output = ["--output", str(apart / "prior.json")]
        assert run(["private", "prior", str(rows), *words, *output]) == 0
    told = capsys.readouterr().out
    assert str(prior).splitlines()[:-1] == told.splitlines()
    saved = tmp_path / "prior.json"
    prior.save(saved)
    facts, others = (json.loads(path.read_text()) for path in (saved, apart / "prior.json"))
    assert len(others["spent"].pop("not_covered")) == len(facts["spent"].pop("not_covered")) + 1
    assert facts == others
    with pytest.raises(gd.GenieError, match="exists already"):
        prior.save(saved)
    steered, plain = (list(gd.synthesize(grammar=grammar, size=300, seed=4, max_depth=1, prior=one))
                      for one in (prior, None))  # fmt: skip
    assert list(gd.synthesize(grammar=grammar, size=300, seed=4, max_depth=1, prior=saved)) == (
        steered
    )
    twitter, usual = (sum("@com.twitter" in row.program for row in rows)
                      for rows in (steered, plain))  # fmt: skip
    assert twitter > 2 * usual


def test_a_public_function_is_not_hidden_by_the_folder_of_its_name():
    names = set(gd.__all__) - {"private"}  # a folder itself
    folders = [name for name in names if (ROOT / "genie_dp" / name).is_dir()]
    assert "augment" in folders
    for name in folders:
        folder = importlib.import_module(f"genie_dp.{name}")
        assert getattr(gd, name) is not folder
        assert callable(getattr(gd, name))


# ------------------------------------------------------------------------------------- parsers


@pytest.mark.slow
def test_a_parser_without_output_lives_in_a_folder_of_its_own_until_it_is_saved(tmp_path):
    rows, library = parser_setup.rows(), [parser_setup.MAIL, parser_setup.HOME]
    small = {"start": "none", "network": {"size": 16}, "out_of_scope": 0}
    trained = gd.train(rows, library=library, steps=1, **small)
    temporary = trained.folder
    saved = trained.save(tmp_path / "deep" / "mine")
    with pytest.raises(gd.GenieError, match="exists already"):
        trained.save(saved)
    assert trained.save(saved, overwrite=True) == saved
    assert [path.name for path in saved.parent.iterdir()] == ["mine"]
    assert gd.Parser.from_pretrained(saved)("show mail about lunch") == trained(
        "show mail about lunch"
    )
    del trained
    gc.collect()
    assert not temporary.parent.exists()
    assert (saved / "model.safetensors").exists()


def test_the_sentences_of_a_folder_of_skills_are_evaluated():
    class Inbox:
        def predict(self, utterances):
            return [[("now => @com.gmail.inbox => notify", None)] for _ in utterances]

    skills = ROOT / "thingpedia" / "com.gmail"
    lines = (skills / "eval.tsv").read_text().splitlines()
    assert gd.evaluate(Inbox(), skills).data["rows"] in (len(lines), len(lines) - 1)


def test_the_examples_of_the_page_on_evaluation_run(trained, tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "parser").symlink_to(trained)
    for name in ("test.jsonl", "train.jsonl"):
        shutil.copyfile(trained.parent / "rows.jsonl", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(blocks[0], names)  # noqa: S102
    assert "32 rows, thingtalk" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
    inbox = gd.Example("S0", "get my emails", "now => @com.gmail.inbox => notify")
    gd.Rows(lambda: iter([inbox]), "one").save(tmp_path / "test.jsonl", overwrite=True)
    exec(blocks[1], names)  # noqa: S102
    assert capsys.readouterr().out == "1.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_every_script_of_the_examples_runs(script, train_once, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(script)])
    monkeypatch.setattr(gd, "train", train_once)
    code = script.read_text(encoding="utf-8")
    smaller = re.sub(r"size=[\d_]+", "size=100", re.sub(r"steps=\d+", "steps=5", code))
    skills = [str(folder) for folder in SKILLS]
    smaller = re.sub(r'(library=|library\(|synthesize\()"shipped"', rf"\1{skills}", smaller)
    smaller = smaller.replace('grammar("shipped")', f'grammar("shipped", {skills})')
    exec(compile(smaller, script, "exec"), {"__name__": "__main__", "__file__": str(script)})  # noqa: S102
    said = capfd.readouterr()
    assert said.out
    assert said.err == ""
    assert list(tmp_path.iterdir()) == []
    lines = [line for line in code.split('"""\n', 1)[1].splitlines() if line.strip()]
    assert len(lines) <= 10


def test_there_are_scripts():
    assert len(SCRIPTS) >= 9


# ------------------------------------------------------------------------- what people try first


def test_numbers_of_other_libraries_are_settings():
    rows = gd.synthesize(TWITTER, size=np.int64(5), depth_decay=np.float32(0.5))
    assert len(list(rows)) == 5


@pytest.mark.parametrize(
    ("name", "config", "setting"),
    [
        ("train", "genie_dp.parser.config.ParserConfig", "steps"),
        ("synthesize", "genie_dp.synthesis.config.SynthesisConfig", "depth_decay"),
        ("augment", "genie_dp.augment.config.AugmentConfig", "quoted"),
        ("evaluate", "genie_dp.evaluate.config.EvaluationConfig", "most_wrong"),
    ],
)
def test_help_lists_the_settings_of_a_function_with_range_and_default(name, config, setting):
    module, _, kind = config.rpartition(".")
    known = settings_of(getattr(importlib.import_module(module), kind))
    doc = " ".join(getattr(gd, name).__doc__.split())
    assert len(known) > 3
    told = {n: " ".join(each.help.split()).rstrip(".")[:30] for n, each in known.items()}
    own = ("start", "prior", "validation") if name == "train" else ()  # arguments
    missing = [n for n, words in told.items() if f"{n}: {words}" not in doc and n not in own]
    assert missing == []
    assert known[setting].range in doc
    assert doc.count(f" {setting}: ") == 1  # however often it was asked for

    ledger = gd.private.Ledger.prior.__doc__
    assert "mechanism: " in ledger
    assert ledger.count("epsilon: ") == 1
