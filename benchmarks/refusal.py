"""What a parser accepts of sentences that it should refuse, beside what it gets right.

    python benchmarks/refusal.py PARSER --near benchmarks/refusal/near-gmail.txt [--skills DIR]

The sets in benchmarks/refusal/ were written before any parser was asked: 200 sentences that mean
no skill, and for each of three libraries 100 near misses, which want a function that it lacks.
A sentence is accepted when the parser answers above its threshold.

    python benchmarks/refusal.py PARSER --clinc ../shared/data/intents/clinc150.val.tsv

asks a parser of the shipped skills the sentences that CLINC150 has for out of scope. What people
ask that can be done, too, is in everyday.py.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from everyday import judge_replies, open_parser, skill_gold

import genie_dp as gd
from genie_dp.evaluate.counts import area_under_roc

HERE = Path(__file__).parent / "refusal"


def main() -> None:
    """Ask a parser all sentences, and print a table."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("parser", type=Path, help="folder of genie-dp train")
    parse.add_argument("--near", type=Path, help="near misses, a sentence a line")
    parse.add_argument("--skills", type=Path, help="folder of skills with eval.tsv")
    parse.add_argument("--clinc", type=Path, help="rows of CLINC150")
    parse.add_argument("--worst", type=int, default=10, help="accepted sentences that are shown")
    given = parse.parse_args()
    parser = open_parser(given.parser)
    if given.clinc:
        ask_clinc(parser, given.clinc)
        return
    sets = {"unrelated": HERE / "unrelated.txt", "near misses": given.near}
    wrong: list[float] = []
    for name, file in sets.items():
        if file is None:
            continue
        sentences = file.read_text(encoding="utf-8").splitlines()
        replies = parser.parse(sentences)
        accepted = [reply for reply in replies if reply.is_known]
        wrong += [reply.confidence for reply in replies]
        share = 100 * len(accepted) / len(sentences)
        print(f"{name}: {len(accepted)} of {len(sentences)} accepted ({share:.1f} %)")
        accepted.sort(key=lambda reply: -reply.answers[0].confidence)
        for reply in accepted[: given.worst]:
            best = reply.answers[0]
            print(f"    {best.confidence:.2f}  {reply.sentence}\n          {best.code}")
    for folder in [given.skills] if given.skills else parser.skills:
        commands = [*skill_gold(folder, parser.target)]
        replies = parser.parse([gold.row.utterance for gold in commands])
        verdicts = judge_replies(commands, replies, parser.target)
        counts = Counter("right" for verdict in verdicts if verdict.is_right)
        for verdict, reply in zip(verdicts, replies, strict=True):
            counts["right above" if verdict.is_right else "wrong above"] += reply.is_known
        shares = {name: f"{100 * counts[name] / len(commands):.1f} %" for name in counts}
        refusals = Counter(reply.refused for reply in replies if reply.refused)
        codes = ", ".join(f"{number} {code}" for code, number in refusals.most_common())
        area = area_under_roc(np.array([reply.confidence for reply in replies]), np.array(wrong))
        print(
            f"meant: {shares['right']} of {len(commands):,} rows right; acted on: "
            f"{shares['right above']} right and {shares['wrong above']} wrong; refused: {codes}; "
            f"AUROC of the confidence against the sets above {area:.3f}"
        )


def ask_clinc(parser: gd.Parser, path: Path) -> None:
    """Print how many of CLINC150's sentences out of scope a parser acts on."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    sentences = [sentence for sentence, intent in lines if intent == "oos"]
    accepted = [reply for reply in parser.parse(sentences) if reply.is_known]
    print(f"CLINC150: {len(accepted)} of {len(sentences)} out of scope accepted")
    for reply in accepted:
        print(f"    {reply.confidence:.2f}  {reply.sentence}\n          {reply.code}")


if __name__ == "__main__":
    main()
