"""Paraphrases from Hugging Face models: tiny ones with random weights, made here."""

import json

import pytest
import tokenizers
import torch
import transformers

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.paraphrase.journal import Journal, open_journal
from genie_dp.paraphrase.model import ModelConfig, ModelParaphraser, _EndOfLine, load_model
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.records import Example
from genie_dp.rows import to_json

torch.set_num_threads(1)

VOCABULARY = "<pad> </s> <unk> show me my files mail get the new songs please what are in other"
WORDS = VOCABULARY.split()
ROWS = [
    ShownRow(Example(f"S{n}", f"get the new files {'please ' * (n % 3)}".strip(), "p"))
    for n in range(7)
]


def save_tokenizer(folder, words=WORDS, split=None):
    model = tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = split or tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    return str(folder)


def save_causal(folder, words=WORDS):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(words), n_positions=128, n_embd=16, n_layer=1, n_head=2,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def seq2seq(tmp_path_factory):
    folder = tmp_path_factory.mktemp("t5")
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(WORDS), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return save_tokenizer(folder)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return save_tokenizer(save_causal(tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(params=["seq2seq", "causal"])
def folder(request):
    return request.getfixturevalue(request.param)


def made(folder, journal=None, rows=ROWS, **settings):
    config = ModelConfig(folder, **{"device": "cpu", "batch_size": 3, "most_tokens": 8, **settings})
    paraphraser = ModelParaphraser(config, load_model(config), journal or Journal(None), number=2)
    return {
        shown.example.id: [candidate.text for candidate in candidates]
        for shown, candidates in paraphraser.candidates(iter(rows))
    }


def test_every_row_gets_several_texts_in_order(folder):
    said = made(folder)
    assert list(said) == [shown.example.id for shown in ROWS]
    texts = [text for found in said.values() for text in found]
    assert len(texts) > len(ROWS)
    assert {word for text in texts for word in text.split()} <= set(WORDS)
    assert not [text for text in texts if not text or "\n" in text or "<pad>" in text]


def test_a_causal_model_does_not_repeat_its_prompt(causal):
    said = made(causal, prompt="please show me {sentence} in other words")
    assert not [text for found in said.values() for text in found if "please show me" in text]
    assert all(len(text.split()) <= 8 for found in said.values() for text in found)


def test_a_text_ends_with_its_line_and_is_the_same(tmp_path, monkeypatch):
    words, split = [*WORDS, "\n"], tokenizers.pre_tokenizers.Split(" ", "removed")
    lines = save_tokenizer(save_causal(tmp_path, words), words, split)
    config = ModelConfig(lines, device="cpu", batch_size=1, most_tokens=60)
    loaded = load_model(config)
    lengths = []
    generate = loaded.model.generate

    def counted(**settings):
        sequences = generate(**settings)
        lengths.append(sequences.shape[1] - settings["input_ids"].shape[1])
        return sequences

    def texts():
        lengths.clear()
        paraphraser = ModelParaphraser(config, loaded, Journal(None), number=1)
        return [found for _, found in paraphraser.candidates(iter(ROWS[:3]))], tuple(lengths)

    monkeypatch.setattr(loaded.model, "generate", counted)
    ended, short = texts()
    monkeypatch.setattr(
        _EndOfLine, "__call__", lambda self, ids, scores, **_: torch.zeros(len(ids)).bool()
    )
    whole, long = texts()
    assert ended == whole
    assert all(few <= many for few, many in zip(short, long, strict=True))
    assert sum(short) < sum(long)


def test_the_seed_decides(folder):
    assert made(folder) == made(folder)
    assert made(folder) != made(folder, seed=1)


def test_a_run_that_goes_on_says_what_an_unbroken_one_says(folder, tmp_path):
    whole = made(folder)
    path = tmp_path / "answers.jsonl"
    made(folder, open_journal(path, resume=False, overwrite=False), ROWS[:5])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(lines[0] + b"\n" + lines[1][:20])  # killed in the second batch
    journal = open_journal(path, resume=True, overwrite=False)
    assert made(folder, journal) == whole
    assert journal.before.requests == 1
    assert journal.now.requests == 2


def test_models_devices_and_prompts_that_are_none_are_told(seq2seq, tmp_path):
    with pytest.raises(GenieError, match="P131"):
        load_model(ModelConfig(str(tmp_path), device="cpu"))
    with pytest.raises(GenieError, match="P132"):
        load_model(ModelConfig(seq2seq, device="cuda:99"))
    with pytest.raises(GenieError, match="P133"):
        ModelConfig("x", prompt="say it otherwise")


def test_the_command_asks_a_model_and_checks_what_it_says(seq2seq, tmp_path):
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text("".join(to_json(shown.example) + "\n" for shown in ROWS))
    arguments = [
        "data", "paraphrase", "auto", str(rows), "--by", "model", "--model", seq2seq, "--device",
        "cpu", "--rejects", str(tmp_path / "bad.csv"), "--duplicate-distance", "0", "-o", str(out),
    ]  # fmt: skip
    assert run(arguments) == 0
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    assert report["counts"]["rows"] == len(ROWS)
    assert report["counts"]["candidates"] >= report["counts"]["paraphrases"]
    assert all(name.startswith("model:") for name in report["made_by"])
    assert (tmp_path / "out.jsonl.answers.jsonl").exists()
    assert run([*arguments, "--overwrite"]) == 0
