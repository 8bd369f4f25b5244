"""`genie-dp train` and `genie-dp parse`: folders, cards, interruption, what is shown."""

import json
import os
import re
import signal
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
from tests.models.models_setup import save_tiny_base
from tests.parser.parser_setup import (
    INBOX,
    LIBRARY,
    MAIL,
    OFTEN_KEPT,
    RECIPE,
    SEND,
    WORDS,
    rows,
    train,
)

pytestmark = pytest.mark.xdist_group("trained parser")
ROOT = Path(__file__).parents[2]
LUNCH = f'now => ( {INBOX} ) filter param:subject:String == " lunch " => notify'


def parse(capsys, folder, *words, code=0):
    capsys.readouterr()
    assert run([str(word) for word in ("parse", "--parser", folder, *words)]) == code
    return capsys.readouterr()


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


def test_the_recipe_beside_a_parser_trains_the_same_one_again(tmp_path):
    first, again = train(tmp_path), tmp_path / "again"
    words = ["train", "--recipe", first / "recipe.yaml", *LIBRARY, "--output", again]
    assert run([str(word) for word in words]) == 0
    for name in ("model.safetensors", "config.json"):
        assert (again / name).read_bytes() == (first / name).read_bytes()


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
    process = subprocess.Popen([sys.executable, "cli.py", *words], cwd=ROOT)
    while not list(other.glob(".parser.work/checkpoints/step-*")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
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


def test_a_parser_is_replaced_only_when_asked_and_only_by_a_whole_one(tmp_path, capsys):
    folder = train(tmp_path)
    train(tmp_path, code=1)
    assert "Y022" in capsys.readouterr().err
    train(tmp_path, "--overwrite", "--seed", 1)
    assert json.loads((folder / "manifest.json").read_text())["config"]["seed"] == 1


@pytest.mark.parametrize("file", ["diary.txt", "config.json"])  # the latter is of a base model
def test_a_folder_that_is_no_parser_is_never_replaced(tmp_path, capsys, file):
    (tmp_path / "parser").mkdir()
    (tmp_path / "parser" / file).write_text('{"model_type": "bart"}')
    train(tmp_path, "--overwrite", code=1)
    assert "N007" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "parser").iterdir()] == [file]


def test_private_rows_need_their_guarantee(tmp_path, capsys):
    some = [replace(one, source="private") for one in rows()[:4]]
    file = write(tmp_path / "private.jsonl", [*rows(), *some])
    train(tmp_path, inputs=[file], code=1)
    assert "N006" in capsys.readouterr().err
    spent = {
        "epsilon": 4.0, "delta": 1e-6, "unit": "utterance", "relation": "add-or-remove-one",
        "accountant": "pld", "not_covered": ["dates"],
    }  # fmt: skip
    (tmp_path / "spent.json").write_text(json.dumps(spent))
    folder = train(tmp_path, "--spent", tmp_path / "spent.json", "--overwrite", inputs=[file])
    assert "(4.0, 1e-06)-differential privacy" in (folder / "README.md").read_text()


def test_a_validation_file_chooses_and_calibrates(tmp_path):
    real = [replace(one, id=f"H{n}", source="human") for n, one in enumerate(rows()[:8])]
    file = write(tmp_path / "real.jsonl", real)
    folder = train(tmp_path, "--validation", file)
    figures = json.loads((folder / "manifest.json").read_text())["figures"]
    assert figures["validation rows"] == 8
    assert "real.jsonl, which also chose the best weights" in (folder / "README.md").read_text()


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
@pytest.mark.parametrize("options", [(), ("--lora", 2)])
def test_a_model_of_hugging_face_can_be_trained_and_read(tmp_path, options):
    pytest.importorskip("peft")
    base = save_tiny_base(tmp_path / "base", "t5")
    recipe = "batch: 4\nvalidations: 1\n"
    folder = train(tmp_path, "--model", base, *options, steps=2, recipe=recipe)
    assert Parser.from_pretrained(folder, beam=1).parse(["show mail about lunch"])[0].answers


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


def test_a_parser_of_s_expressions_has_no_reader_no_english_and_no_skills(tmp_path, capsys):
    made = [
        row(f"S{n}", f"buy some {word}", f"( ORDER ( THING {word} ) )", language="sexpr")
        for n, word in enumerate(WORDS)
    ]
    folder = tmp_path / "parser"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE)
    words = ["train", write(tmp_path / "a.jsonl", made), "--recipe", recipe, "--steps", 3]
    assert run([str(word) for word in (*words, "--output", folder)]) == 0
    said = parse(capsys, folder, "buy some tea", "--threshold", "0").out
    assert said.startswith("(ORDER")
    tables = write(tmp_path / "tables.json", [])
    assert "N042" in parse(capsys, folder, "buy some tea", "--tables", tables, code=1).err
    assert "It knows no skills" in (folder / "README.md").read_text(encoding="utf-8")


def test_mistakes_of_options_and_recipes_come_before_any_work(tmp_path, capsys):
    unknown = "recipe.yaml:2:28: error[N002]: network: sise: rnn has no such setting\n"
    odd = "recipe.yaml:1:10: error[N002]: network: size must be even"
    for options, recipe, expected in (
        ((), "batches: 3\n", ("N002",)),
        ((), "seed: 1\nnetwork: {layers: 1, sise: 3}\n", (unknown, "did you mean 'size'?")),
        ((), "network: {size: 7}\n", (odd,)),
        (("--output", "."), RECIPE, ("error[R004]",)),
        (("--output", ".."), RECIPE, ("error[R004]",)),
    ):
        train(tmp_path, *options, recipe=recipe, code=1)
        said = capsys.readouterr().err
        assert [part for part in expected if part not in said] == []
    train(tmp_path, inputs=[write(tmp_path / "none.jsonl", [])], code=1)
    assert "N004" in capsys.readouterr().err
    assert not list(tmp_path.glob(".parser.work"))


def test_rows_that_no_reader_takes_are_left_out_and_counted(tmp_path, capsys):
    first = rows()[0]
    pasted = replace(first, utterance=f"{first.utterance} {'x' * 4000}")
    sources = ("synthetic", "paraphrase", "human")
    long = [replace(pasted, id=source, source=source) for source in sources]
    train(tmp_path, inputs=[write(tmp_path / "long.jsonl", [*rows(), *long])], steps=1)
    assert "3  left out: too long a sentence" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- parse


def test_a_sentence_is_shown_with_its_program_or_the_nearest_one(trained, capsys):
    said = parse(capsys, trained, "show mail about lunch").out
    assert 'now => (@com.example.mail.inbox()) filter subject == "lunch" => notify' in said
    assert "confidence" in said
    said = parse(capsys, trained, "show mail about lunch", "--threshold", "1").out
    first, second, *_ = said.splitlines()
    assert first == (
        "I do not know: the nearest that the skills can do is less sure than the threshold. "
        "The nearest that I can do:"
    )
    assert second.startswith("now =>")
    # What is far from everything is not the nearest.
    said = parse(capsys, trained, "zebra umbrella quartz", "--threshold", "1", "--count", "5").out
    assert said.startswith("I do not know")
    assert not re.search(r"confidence 0\.0[0-4]", said)


def test_programs_are_printed_in_the_form_of_those_who_act_on_them(trained, tmp_path, capsys):
    file = tmp_path / "sentences.txt"
    file.write_text("send a@b.org a mail about lunch\nshow mail about lunch\n")
    found = parse(capsys, trained, "--input", file, "--as", "calls", "--threshold", "0")
    mail = {"subject": "lunch", "to": "a@b.org"}
    assert [json.loads(line) for line in found.out.splitlines()] == [
        [{"name": SEND, "arguments": mail}],
        None,
    ]
    assert "it cannot be said as calls of tools" in found.err
    found = parse(capsys, trained, "--input", file, "--as", "hass", "--threshold", "0")
    slots = {name: {"value": value} for name, value in mail.items()}
    assert json.loads(found.out.splitlines()[0]) == {"intent": {"name": SEND, "slots": slots}}
    found = parse(capsys, trained, "show mail about lunch", "--as", "tokens", "--threshold", "0")
    assert found.out == f"{LUNCH}\n"
    found = parse(capsys, trained, "show mail about lunch", "--as", "program", "--threshold", "1")
    assert found.out == "\n"
    assert "I do not know" in found.err


def test_json_has_a_line_for_each_sentence_of_a_file(trained, tmp_path, capsys):
    file = tmp_path / "said.txt"
    file.write_text("show mail about lunch\n\nshow mail about taxes\n")
    lines = parse(
        capsys, trained, "--input", file, "--json", "--count", "3", "--no-english"
    ).out.splitlines()
    replies = [json.loads(line) for line in lines]
    assert [reply["sentence"] for reply in replies] == file.read_text().split("\n")[:3:2]
    assert replies[0]["answers"][0]["program"] == LUNCH
    assert all(len(reply["answers"]) > 1 for reply in replies)


@pytest.mark.parametrize("lines", [(2,), (1, 3), (40,)])
def test_a_line_that_no_reader_takes_is_told_with_its_place_and_the_others_are_parsed(
    trained, tmp_path, capsys, lines
):
    said = ["", *["show mail about lunch"] * 40]
    for number in lines:
        said[number] = "x" * 5000
    file = tmp_path / "said.txt"
    file.write_text("\n".join(said[1:]))
    found = parse(capsys, trained, "--input", file, "--json", "--no-english", code=1)
    assert len(found.out.splitlines()) == 40 - len(lines)
    assert [line for line in found.err.splitlines() if "I002" in line] == [
        f"{file}:{number}:1: error[I002]: expected at most 4,000 characters, got 5,000"
        for number in lines
    ]


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


def test_tables_show_what_a_program_would_do(trained, tmp_path, capsys):
    tables = tmp_path / "tables.json"
    mails = [{"subject": "lunch", "sender": "bob", "size": "5 unit:KB", "is_read": True}]
    tables.write_text(json.dumps({INBOX: [*mails, {"subject": "taxes"}]}))
    options = ("--no-english", "--tables", tables)
    said = parse(capsys, trained, "show mail about lunch", *options).out
    assert said.count("notify(") == 1
    assert '" bob "' in said
    tables.write_text(json.dumps({INBOX: [{"sender": "bob"}]}))
    assert "no data for 'subject'" in parse(capsys, trained, "show mail about lunch", *options).out
    tables.write_text("{}")
    assert f"no data for {INBOX}" in parse(capsys, trained, "show mail about lunch", *options).out

    for text, code in (
        ("{", "N041"),
        ("[]", "N041"),
        ("[" * 100_000, "N041"),
        ('{"@com.example.mail.inbx": []}', "N040"),
        (f'{{"{INBOX}": [{{"subjct": "a"}}]}}', "N040"),
        (f'{{"{INBOX}": [{{"size": "many"}}]}}', "N040"),
    ):
        tables.write_text(text)
        assert code in parse(capsys, trained, "show mail", *options, code=1).err


def test_options_that_cannot_be_are_refused(trained, tmp_path, capsys):
    (tmp_path / "bad.genie").write_text("category\n")
    for words, code, said in (
        (["--grammar", tmp_path / "bad.genie"], 1, "bad.genie:"),  # before the prompt
        (["show mail", "--device", "gpu"], 1, "N008"),
        (["hm", "--as", "calls", "--json"], 2,
         "give --json, which has all of the forms, or --as, not both"),
    ):  # fmt: skip
        assert said in parse(capsys, trained, *words, code=code).err


# ------------------------------------------------------------------- evaluation and paraphrasing


def test_a_parser_is_evaluated_on_rows_with_placeholders_and_on_typed_ones(trained, tmp_path):
    typed = replace(rows()[0], id="H1", utterance="Show mail about lunch", source="human")
    gold = write(tmp_path / "gold.jsonl", [*rows(), typed])
    result = tmp_path / "result.json"
    words = ["evaluate", gold, "--parser", trained, *LIBRARY]
    assert run([str(word) for word in (*words, "--output", result)]) == 0
    found = json.loads(result.read_text())
    assert found["rows"] == 33
    assert found["accuracy"]["share"] > 0.8
    assert found["predictions"] == str(trained)


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


def test_evaluation_wants_one_source_of_predictions_in_the_language_of_the_rows(
    trained, tmp_path, capsys
):
    gold = write(tmp_path / "gold.jsonl", rows())
    for words in (("--nearest",), ("said.jsonl",)):
        assert run(["evaluate", str(gold), "--parser", str(trained), *words]) == 2
    made = [row("S1", "buy some tea", "( ORDER ( THING tea ) )", language="sexpr")]
    write(gold, made)
    assert run(["evaluate", str(gold), "--parser", str(trained)]) == 1
    assert "error[V022]: expected a parser that writes sexpr" in capsys.readouterr().err


def test_the_sentences_of_skills_are_gold_rows(trained, tmp_path, capsys):
    folder = tmp_path / "skills" / "com.example.mail"
    folder.mkdir(parents=True)
    (folder / "skill.tt").write_text((MAIL / "skill.tt").read_text())
    code = 'now => (@com.example.mail.inbox()) filter subject == "lunch" => notify'
    (folder / "eval.tsv").write_text(f"utterance\tprogram\nshow mail about lunch\t{code}\n")
    assert run(["evaluate", str(folder.parent), "--parser", str(trained)]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("1 answered rightly, 0 wrongly, ")
    assert told.endswith("; first program right: 1 of 1")


def test_paraphrases_that_the_parser_reads_otherwise_are_left_out(trained, tmp_path, capsys):
    made = write(tmp_path / "rows.jsonl", rows()[:8])
    words = ["paraphrase", "auto", made, *LIBRARY, "--number", "3"]
    counts = {}
    for name, more in (("all", ()), ("read", ("--parser", trained))):
        output = tmp_path / f"{name}.jsonl"
        assert run([str(word) for word in (*words, *more, "--output", output)]) == 0
        counts[name] = len(output.read_text().splitlines())
    assert 0 < counts["read"] <= counts["all"]


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
