"""`genie-dp train` and `genie-dp parse`: folders, cards, interruption, what is shown."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.models.arrays import whole
from genie_dp.models.device import can_use_bf16
from genie_dp.models.saved import load_model
from genie_dp.parser.answers import QUESTIONS, TOO_LONG
from genie_dp.parser.parser import Parser
from tests.dataset.dataset_rows import row, write
from tests.forked import start_command
from tests.models.models_setup import save_tiny_base
from tests.parser.parser_setup import (
    INBOX,
    LIBRARY,
    MAIL,
    OFTEN_KEPT,
    RECIPE,
    SEND,
    rows,
    train,
)

ROOT = Path(__file__).parents[2]
LUNCH = f'now => ( {INBOX} ) filter param:subject:String == " lunch " => notify'


# ------------------------------------------------------------------------------------- train


def test_the_folder_has_all_that_its_parser_needs_and_a_card(trained):
    found = {path.name for path in trained.iterdir()}
    assert found - {"curves.svg", "curves.png"} == {
        "README.md", "config.json", "constants.txt.gz", "evidence.npz", "manifest.json",
        "metrics.jsonl", "model.safetensors", "reader.json", "recipe.yaml", "refusals.txt.gz",
        "skills", "templates.json.gz", "tokenizer.json",
    }  # fmt: skip
    assert len(found) == 14
    assert not list(trained.parent.glob(".parser.work"))
    card = (trained / "README.md").read_text(encoding="utf-8")
    manifest = json.loads((trained / "manifest.json").read_text())
    (digest,) = manifest["inputs"].values()
    assert f"| rows.jsonl | all sources | `{digest[:16]}` |" in card
    assert "32 synthetic" in card
    assert "steps: 120" in card
    assert "No row is of source private." in card
    assert "nan" not in card.lower().split()
    assert not re.search(r"[^\n]\n#+ ", card)


def test_programs_end_at_half_as_many_tokens_again_as_the_longest_one_learned(trained):
    longest = max(len(one.program.split()) for one in rows())
    facts = json.loads((trained / "config.json").read_text())["parser"]
    assert facts["longest"] == longest + longest // 2 + 10
    assert Parser.from_pretrained(trained).use.longest == facts["longest"]


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_weights(tmp_path):
    whole = train(tmp_path, steps=60, recipe=OFTEN_KEPT)
    other = tmp_path / "killed"
    other.mkdir()
    recipe = other / "recipe.yaml"
    recipe.write_text(OFTEN_KEPT)
    words = [
        "train", tmp_path / "rows.jsonl", "--recipe", recipe, "--steps", 60, *LIBRARY,
        "--output", other / "parser",
    ]  # fmt: skip
    words = [str(word) for word in words]
    process = start_command(*words)
    while not list(other.glob(".parser.work/checkpoints/step-*")):
        assert process.is_alive()
        time.sleep(0.02)
    process.kill()
    process.join()
    assert not (other / "parser").exists()
    assert run(words) == 1
    assert run([*words, "--resume"]) == 0
    first, second = (load_file(x / "model.safetensors") for x in (whole, other / "parser"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    steps = [
        json.loads(line)["step"]
        for line in (other / "parser" / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == sorted(steps)


@pytest.mark.trains
def test_work_of_other_settings_or_files_is_not_resumed(tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    real = write(tmp_path / "real.jsonl", rows())
    words = ("--validation", real)
    with monkeypatch.context() as patch:
        patch.setattr("genie_dp.parser.run.deliver", stop)
        train(tmp_path, *words, code=130)
    assert "go on with --resume" in capsys.readouterr().err
    train(tmp_path, *words, "--resume", "--seed", 5, code=1)
    assert "Y020" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        train(tmp_path, *words, "--resume", code=1)
    assert "other settings: processes" in capsys.readouterr().err
    write(real, rows()[1:])
    train(tmp_path, *words, "--resume", code=1)
    assert "Y020" in capsys.readouterr().err
    write(real, rows())
    train(tmp_path, *words, "--resume")


@pytest.mark.trains
@pytest.mark.parametrize(
    "options",
    [
        ("--arch", "transformer"),
        ("--lm", "start", "--no-types"),
        ("--lm", "feed", "--positional"),
        ("--no-canonical", "--no-bf16"),
    ],
)
def test_every_sort_of_parser_can_be_trained_and_read(tmp_path, options):
    recipe = RECIPE.replace("size: 32", "size: 16, heads: 2") if "--arch" in options else RECIPE
    folder = train(tmp_path, *options, steps=3, recipe=recipe)
    parser = Parser.from_pretrained(folder, beam=1)
    assert len(parser.parse(["show mail about lunch"])) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "options"), [("t5", ()), ("t5", ("--lora", 2)), ("gpt2", ())])
def test_a_model_of_hugging_face_can_be_trained_and_read(tmp_path, kind, options):
    pytest.importorskip("peft")
    base = save_tiny_base(tmp_path / "base", kind)
    recipe = "batch: 4\nvalidations: 1\nout_of_scope: 0\n"
    folder = train(tmp_path, "--model", base, *options, steps=2, recipe=recipe)
    assert Parser.from_pretrained(folder, beam=1).parse(["show mail about lunch"])[0].answers


@pytest.mark.trains
def test_bfloat16_is_used_or_refused_where_the_processor_has_none(tmp_path, capsys):
    if can_use_bf16():
        assert Parser.from_pretrained(train(tmp_path, "--bf16", steps=3), beam=1)
    else:
        train(tmp_path, "--bf16", code=1)
        assert "N008]: cpu does not run these networks in bfloat16" in capsys.readouterr().err


@pytest.mark.slow
def test_weights_of_8_bits_are_a_fourth_as_large_and_say_the_same(trained, tmp_path, capsys):
    folders = [trained, train(tmp_path, "--weights", "int8", steps=120)]
    sizes = [(folder / "model.safetensors").stat().st_size for folder in folders]
    assert sizes[1] < 0.4 * sizes[0]  # small matrices have many scales
    both = [Parser.from_pretrained(folder) for folder in folders]
    sentences = [one.utterance for one in rows()]
    first, second = ([guesses[0] for guesses in p.predict(sentences, count=1)] for p in both)
    same = sum(x.program == y.program for x, y in zip(first, second, strict=True))
    assert same >= 0.9 * len(sentences)
    tensors = whole(load_file(folders[1] / "model.safetensors"))
    for name, weight in load_model(folders[1]).model.named_parameters():
        assert torch.equal(weight, tensors[name])
    train(tmp_path, "--weights", "int8", "--model", "gpt2", code=1)
    assert "weights: expected float32 with a model" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- parse


def test_the_prompt_answers_until_the_end_of_input(trained):
    words = ["parse", "--parser", str(trained), "--no-english"]
    done = subprocess.run(
        [sys.executable, "cli.py", *words],
        cwd=ROOT,
        input="show mail about lunch\n\nshow mail about taxes\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("filter subject ==") == 2


# ------------------------------------------------------------------- evaluation and paraphrasing


def test_evaluation_counts_what_the_parser_replies_with_its_threshold(trained, tmp_path):
    said = {
        "Show mail about lunch": LUNCH,
        "show mail from the moon about lunch please": LUNCH,
        "knit me a green sweater": OUT_OF_SCOPE,
        "send mail": f"now => {SEND} param:subject:String = undefined "
        "param:to:Entity(tt:email_address) = undefined",
        "": OUT_OF_SCOPE,
        "mail " * 200: OUT_OF_SCOPE,
    }
    gold = [row(f"H{k}", text, code) for k, (text, code) in enumerate(said.items())]
    for threshold in (0.0, 0.5, 1.0):
        parser = Parser.from_pretrained(trained, threshold=threshold)
        replies = parser.parse(list(said))
        predicted = parser.predict_replies(list(said))
        assert [each.refused for each in predicted] == [reply.refused for reply in replies]
        outcomes = gd.evaluate(parser, gold, library=str(MAIL)).outcomes
        asked = sum(reply.refused in QUESTIONS for reply in replies)
        answered = sum(reply.is_known for reply in replies)
        assert outcomes["asked"] == asked
        assert outcomes["answered rightly"] + outcomes["answered wrongly"] == answered
        assert sum(outcomes.values()) == len(gold)
    assert answered == 0 < outcomes["refused wrongly"]
    assert parser.predict_replies(["x" * 20_000])[0].refused == TOO_LONG


@pytest.mark.trains
def test_without_a_terminal_a_line_now_and_then_says_how_far_it_is(tmp_path, capsys, monkeypatch):
    for pace in ("_FIRST_LINE", "_NEXT_LINE"):
        monkeypatch.setattr(f"genie_dp.run.stage.{pace}", 0.0)
    train(tmp_path, steps=100)
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("training takes ") for line in lines)
    (at_half,) = (line for line in lines if line.startswith("step 50 of 100"))
    assert at_half.endswith(" left")
    assert any(line.startswith("step 100 of 100, loss ") for line in lines)
    assert not any("\r" in line for line in lines)


@pytest.mark.trains
def test_prepared_rows_are_kept_by_all_that_they_depend_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GENIE_DP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("genie_dp.parser.run._LEAST_KEPT", 0)
    file = write(tmp_path / "rows.jsonl", rows())
    note = "the rows are as they were prepared before"

    def weights_and_note(name, *options, steps=3, inputs=(file,)):
        capsys.readouterr()
        folder = tmp_path / name
        folder.mkdir()
        made = train(folder, *options, inputs=inputs, steps=steps)
        return load_file(made / "model.safetensors"), note in capsys.readouterr().err

    first, was_kept = weights_and_note("first")
    assert not was_kept
    again, was_kept = weights_and_note("again")
    assert was_kept
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert weights_and_note("longer", steps=4)[1]
    assert not weights_and_note("seed", "--seed", 5)[1]
    write(tmp_path / "rows.jsonl", rows()[:-1])
    assert not weights_and_note("other")[1]


def test_private_rows_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("GENIE_DP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("genie_dp.parser.run._LEAST_KEPT", 0)
    private = [replace(one, source="private") for one in rows()]
    file = write(tmp_path / "rows.jsonl", private)
    train(tmp_path, inputs=[file], steps=2, code=1)
    assert not list((tmp_path / "cache").glob("*.rows"))
