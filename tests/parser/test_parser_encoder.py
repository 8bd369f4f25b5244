"""Parsers that read the vectors of an encoder: folders, interruption, use, what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("phonenumbers")

from safetensors.torch import load_file  # noqa: E402

import genie_dp as gd  # noqa: E402
from genie_dp.cli import run  # noqa: E402
from genie_dp.models.encoder import digest_of  # noqa: E402
from genie_dp.parser import training  # noqa: E402
from tests.models.models_setup import save_tiny_bert  # noqa: E402
from tests.parser.parser_setup import (  # noqa: E402
    HOME,
    MAIL,
    OFTEN_KEPT,
    RECIPE,
    rows,
    train,
    write_rows,
)

ROOT = Path(__file__).parents[2]
SAID = ["show mail about lunch", "send bob@example.com a mail about taxes"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")


@pytest.fixture(scope="module")
def made(bert, tmp_path_factory):
    """Return the folder of a parser that reads with the encoder and has learned its rows."""
    return train(tmp_path_factory.mktemp("made"), "--encoder", bert, steps=220)


def programs(folder, **options):
    parser = gd.Parser.from_pretrained(folder, threshold=0, **options)
    return [reply.answers[0].program for reply in parser.parse(SAID)]


def test_it_learns_its_rows(made):
    parser = gd.Parser.from_pretrained(made)
    said = [one for one in rows() if "_0" not in one.utterance]
    guesses = parser.predict([one.utterance for one in said], count=1)
    right = sum(
        bool(found) and found[0].program == one.program
        for one, found in zip(said, guesses, strict=True)
    )
    assert right >= 0.75 * len(said)


def test_the_folder_holds_the_encoder_and_its_hash_and_the_card_says_so(made, bert):
    digest = digest_of(bert)
    assert {path.name for path in (made / "encoder").iterdir()} == {
        "config.json", "model.safetensors", "vocab.txt",
    }  # fmt: skip
    assert json.loads((made / "config.json").read_text())["encoder"] == digest
    assert json.loads((made / "manifest.json").read_text())["encoder"] == digest
    card = (made / "README.md").read_text()
    assert digest in card
    assert "2 layers, 12 wide" in card
    assert not list(made.glob("*.bin"))


def test_it_answers_as_with_torch_without_it_and_elsewhere(made, tmp_path, monkeypatch):
    copy = gd.Parser.from_pretrained(made).save(tmp_path / "copy")
    with_numpy = programs(copy)
    monkeypatch.setattr("genie_dp.parser.parser.open_arrays", lambda _: None)
    assert programs(copy) == with_numpy
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import genie_dp as gd\n"
        f"parser = gd.Parser.from_pretrained({str(copy)!r}, threshold=0)\n"
        f"for reply in parser.parse({SAID!r}): print(reply.answers[0].program)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert shown.stdout.splitlines() == with_numpy, shown.stderr


def test_the_same_seed_gives_the_same_weights(made, bert, tmp_path):
    first, second = (tmp_path / name for name in ("one", "other"))
    for folder in (first, second):
        folder.mkdir()
        train(folder, "--encoder", bert, steps=20)
    tensors = [load_file(x / "parser" / "model.safetensors") for x in (first, second)]
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])
    assert tensors[0]["embedding.features.centre"].any()


def test_a_run_that_is_killed_goes_on_to_the_same_weights(bert, tmp_path):
    whole = train(tmp_path, "--encoder", bert, steps=60, recipe=OFTEN_KEPT)
    other = tmp_path / "killed"
    other.mkdir()
    recipe = other / "recipe.yaml"
    recipe.write_text(OFTEN_KEPT)
    words = [
        "train", tmp_path / "rows.jsonl", "--recipe", recipe, "--steps", 60, "--skills", MAIL,
        "--skills", HOME, "--output", other / "parser", "--encoder", bert,
    ]  # fmt: skip
    words = [str(word) for word in words]
    process = subprocess.Popen([sys.executable, "cli.py", *words], cwd=ROOT)
    while not list(other.glob(".parser.work/checkpoints/step-*")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with (other / ".parser.work" / training.VECTORS.format(0)).open("ab") as file:
        file.write(bytes(1000))  # a block that was begun
    assert run([*words, "--resume"]) == 0
    first, second = (load_file(x / "model.safetensors") for x in (whole, other / "parser"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not list(other.glob(".parser.work"))


def test_work_of_another_encoder_is_not_gone_on_with(bert, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    mine = tmp_path / "mine"
    shutil.copytree(bert, mine)
    with monkeypatch.context() as patch:
        patch.setattr("genie_dp.parser.run.deliver", stop)
        train(tmp_path, "--encoder", mine, code=130)
    with (mine / "vocab.txt").open("a") as file:
        file.write("more\n")
    train(tmp_path, "--encoder", mine, "--resume", code=1)
    assert "other settings: encoder" in capsys.readouterr().err


def test_prepared_rows_are_the_same_with_an_encoder(bert, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GENIE_DP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("genie_dp.parser.run._LEAST_KEPT", 1)
    train(tmp_path, steps=1)
    train(tmp_path, "--encoder", bert, "--overwrite", steps=1)
    assert "as they were prepared before" in capsys.readouterr().err
    assert not [x for x in (tmp_path / "cache").iterdir() if x.suffix == ".bin"]


@pytest.mark.parametrize(
    "options",
    [("--arch", "transformer"), ("--arch", "mqan"), ("--lm", "feed"), ("--weights", "int8")],
)
def test_every_sort_of_parser_can_read_with_an_encoder(bert, tmp_path, options):
    sizes = "embedding: 16, size: 16, heads: 2" if "mqan" in options else "size: 16, heads: 2"
    recipe = RECIPE.replace("size: 32", sizes) if "--arch" in options else RECIPE
    folder = train(tmp_path, *options, "--encoder", bert, steps=3, recipe=recipe)
    parser = gd.Parser.from_pretrained(folder, beam=1, threshold=0)
    assert len(parser.parse(["show mail about lunch"])[0].answers) == 1


# ------------------------------------------------------------------------ what goes together


def test_parsers_of_one_encoder_answer_together_and_of_two_they_do_not(
    made, bert, tmp_path, capsys
):
    for name in ("second", "plain", "strange"):
        (tmp_path / name).mkdir()
    second = train(tmp_path / "second", "--encoder", bert, "--seed", 2, steps=120)
    both = tmp_path / "both"
    words = ["ensemble", made, second, "--output", both, "--validation", write_rows(tmp_path)]
    assert run([str(word) for word in words]) == 0
    assert digest_of(both / "encoder") == digest_of(bert)
    assert digest_of(bert) in (both / "README.md").read_text()
    assert len(programs(both)) == len(SAID)
    strange = save_tiny_bert(tmp_path / "other", seed=1)
    others = [
        train(tmp_path / "plain", steps=2),
        train(tmp_path / "strange", "--encoder", strange, steps=2),
    ]
    for other in others:
        capsys.readouterr()
        words = ["ensemble", made, other, "--output", tmp_path / "none"]
        assert run([str(word) for word in words]) == 1
        assert f"error[N070]: {other} differs from {made} in encoder" in capsys.readouterr().err


def test_a_parser_that_goes_on_keeps_its_encoder(made, bert, tmp_path, capsys):
    for name in ("same", "named"):
        (tmp_path / name).mkdir()
    recipe = "batch: 8\nrate: 0.000000001\nweight_decay: 0\nvalidations: 1\nout_of_scope: 0\n"
    same = train(tmp_path / "same", "--start", made, steps=1, recipe=recipe)
    assert digest_of(same / "encoder") == digest_of(bert)
    assert programs(same) == programs(made)
    first, second = (load_file(x / "model.safetensors") for x in (made, same))
    name = "embedding.features.centre"
    assert torch.equal(first[name], second[name])
    # The one that it was made with is the same, wherever it lies.
    words = ("--start", made, "--encoder", bert)
    train(tmp_path / "named", *words, steps=1, recipe=recipe)
    strange = save_tiny_bert(tmp_path / "other", seed=1)
    words = ("--start", made, "--encoder", strange, "--overwrite")
    train(tmp_path / "named", *words, steps=1, recipe=recipe, code=1)
    assert "error[N012]: encoder: expected" in capsys.readouterr().err


def test_a_parser_without_an_encoder_gets_none_on_the_way(bert, tmp_path, capsys):
    for name in ("plain", "further"):
        (tmp_path / name).mkdir()
    plain = train(tmp_path / "plain", steps=1)
    recipe = "batch: 8\n"
    words = ("--start", plain, "--encoder", bert)
    train(tmp_path / "further", *words, steps=1, recipe=recipe, code=1)
    assert "error[N012]: encoder: expected ''" in capsys.readouterr().err


# ---------------------------------------------------------------------------------- mistakes


def test_a_folder_whose_encoder_was_changed_is_refused(made, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    with (copy / "encoder" / "vocab.txt").open("a") as file:
        file.write("more\n")
    assert run(["parse", "--parser", str(copy), *SAID[:1]]) == 1
    assert "error[M011]: the encoder in" in capsys.readouterr().err


def test_mistakes_of_the_encoder_come_before_any_work(bert, tmp_path, capsys):
    train(tmp_path, "--encoder", tmp_path / "nowhere", code=1)
    said = capsys.readouterr().err
    assert "error[M010]: expected an encoder in" in said
    assert "No such file" in said
    train(tmp_path, "--encoder", bert, "--model", "gpt2", code=1)
    assert "encoder: expected none with a model" in capsys.readouterr().err
    train(tmp_path, recipe="network: {features: 4}\n", code=1)
    assert "recipe.yaml:1:21: error[N002]: network: features: expected none" in (
        capsys.readouterr().err
    )
    assert not list(tmp_path.glob(".parser.work"))


def test_a_parser_is_trained_with_an_encoder_from_python(bert, tmp_path):
    parser = gd.train(
        rows(), library=[MAIL, HOME], encoder=str(bert), steps=1, network={"size": 16},
        out_of_scope=0, output=tmp_path / "parser",
    )  # fmt: skip
    assert parser(SAID[0]) is not None
    assert digest_of(tmp_path / "parser" / "encoder") == digest_of(bert)
