"""What a parser accepts of sentences that it should refuse, beside what it gets right.

    python benchmarks/refusal.py PARSER --near benchmarks/refusal/near-gmail.txt [--skills DIR]

The sets in benchmarks/refusal/ were written before any parser was asked: 200 sentences that mean
no skill, and for each of three libraries 100 near misses, which want a function that it lacks.
A sentence is accepted when the parser answers above its threshold.
"""

import argparse
from collections import Counter
from pathlib import Path

import genie_dp as gd

HERE = Path(__file__).parent / "refusal"


def main() -> None:
    """Ask a parser all sentences, and print a table."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("parser", type=Path, help="folder of genie-dp train")
    parse.add_argument("--near", type=Path, help="near misses, a sentence a line")
    parse.add_argument("--skills", type=Path, help="folder of skills with eval.tsv")
    parse.add_argument("--worst", type=int, default=10, help="accepted sentences that are shown")
    given = parse.parse_args()
    parser = gd.Parser.from_pretrained(given.parser)
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
        result = gd.evaluate(parser, folder)
        lines = [line for file in folder.rglob("eval.tsv") for line in file.open(encoding="utf-8")]
        asked = [line.partition("\t")[0] for line in lines if not line.startswith("utterance\t")]
        replies = parser.parse(asked)
        meant = [reply.confidence for reply in replies]
        at = result.data["calibration"]["thresholds"]
        answered = next(x for x in at if x["threshold"] >= parser.use.threshold)
        right = answered["coverage"] * (answered["accuracy"] or 0.0)
        refusals = Counter(reply.refused for reply in replies if reply.refused)
        codes = ", ".join(f"{number} {code}" for code, number in refusals.most_common())
        print(
            f"meant: {100 * result.accuracy:.1f} % of {result.data['rows']:,} rows right; above "
            f"the threshold {100 * right:.1f} % right and "
            f"{100 * (answered['coverage'] - right):.1f} % wrong; refused: {codes}; "
            f"AUROC of the confidence against the sets above {area_under_roc(meant, wrong):.3f}"
        )


def area_under_roc(higher: list[float], lower: list[float]) -> float:
    """Return how often a value of the first list is above one of the second; half of ties count.

    >>> area_under_roc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    return sum((a > b) + (a == b) / 2 for a in higher for b in lower) / (len(higher) * len(lower))


if __name__ == "__main__":
    main()
