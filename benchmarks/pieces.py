"""What masks over the pieces of a subword tokenizer cost: our automaton alone, and with llguidance.

    genie-dp synthesize --size 2000 --output rows.jsonl
    python benchmarks/pieces.py rows.jsonl

A byte-level tokenizer of 32,000 pieces is trained on the rows and on Python's standard library.
Each program is followed piece by piece: `mask` and `then` once each. `cold` is the first time that
programs are followed, `warm` the second. CPU time, one thread; checks that both engines allow the
same pieces. Prints a table in Markdown.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from decoding import texts_of
from measure import machine, table
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from genie_dp.languages.guided import subword_grammar
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.models.generation import subwords_of
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library

Rows = list[tuple[list[str], str]]


def tokenizer_of(rows: Rows, size: int) -> Any:
    """Return a byte-level tokenizer trained on rows and code."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(texts(rows), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")


def texts(rows: Rows) -> Iterator[str]:
    """Yield sentences and programs, then the modules of the standard library."""
    for sentence, program in rows:
        yield " ".join(sentence)
        yield program
    for path in sorted(Path(json.__file__).parent.parent.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="ignore")


def follow(grammar: Any, pairs: Sequence[tuple[list[str], list[int]]]) -> tuple[list[float], int]:
    """Return CPU microseconds a piece of each program, and how many pieces were allowed in all."""
    costs, allowed = [], 0
    for sentence, ids in pairs:
        start = time.process_time()
        prefix = grammar.begin(sentence)
        masks = []
        for index in ids:
            masks.append(prefix.mask())
            prefix = prefix.then(index)
        masks.append(prefix.mask())
        costs.append(1e6 * (time.process_time() - start) / len(masks))
        allowed += sum(int(mask.sum()) for mask in masks)
    return costs, allowed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=Path)
    parser.add_argument("--programs", type=int, default=600)
    parser.add_argument("--pieces", type=int, default=32_000)
    asked = parser.parse_args()
    with asked.rows.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in islice(lines, asked.programs)]
    rows = [(row["utterance"].split(" "), row["program"]) for row in found]
    tokenizer = tokenizer_of(rows, asked.pieces)
    subwords = subwords_of(tokenizer)
    pairs = [(sentence, tokenizer(program).input_ids) for sentence, program in rows]
    library = load_library([data_folder("thingpedia")])
    print(machine())
    print(
        f"{len(rows)} programs, {sum(len(ids) for _, ids in pairs)} pieces, {subwords.size} known"
    )
    lines, seen = [], set()
    for engine in ("automaton", "llguidance"):
        tokens = ThingTalkGrammar(library, texts=texts_of(rows))
        grammar = subword_grammar(tokens, subwords, engine=engine)
        cold, _ = follow(grammar, pairs)
        warm, allowed = follow(grammar, pairs)
        seen.add(allowed)
        late = sorted(warm)[int(0.95 * len(warm))]
        mean = sum(cold) / len(cold)
        lines.append([engine, f"{median(warm):.0f}", f"{late:.0f}", f"{mean:.0f}"])
    print(table(["engine", "us a piece, warm: median", "95 %", "cold: mean"], lines))
    if len(seen) != 1:
        sys.exit("the engines allow different pieces")


if __name__ == "__main__":
    main()
