"""What a parser accepts of sentences that it should refuse, beside what it gets right.

    python benchmarks/refusal.py PARSER --near benchmarks/refusal/near-gmail.txt [--skills DIR]

The sets in benchmarks/refusal/ were written before any parser was asked: 200 sentences that mean
no skill, and for each of three libraries 100 near misses, which want a function that it lacks.
A sentence is accepted when the parser answers above its threshold.

    python benchmarks/refusal.py PARSER --slurp ../shared/data/slurp/devel.jsonl \\
        --clinc ../shared/data/intents/clinc150.val.tsv

asks a parser of the shipped skills what other people wrote: SLURP's commands by intent, with the
functions of benchmarks/refusal/slurp.tsv, and the sentences that CLINC150 has for out of scope.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

import genie_dp as gd
from genie_dp.evaluate.counts import area_under_roc
from genie_dp.parser.skill_rows import evaluation_files

HERE = Path(__file__).parent / "refusal"


def main() -> None:
    """Ask a parser all sentences, and print a table."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("parser", type=Path, help="folder of genie-dp train")
    parse.add_argument("--near", type=Path, help="near misses, a sentence a line")
    parse.add_argument("--skills", type=Path, help="folder of skills with eval.tsv")
    parse.add_argument("--slurp", type=Path, help="rows of SLURP")
    parse.add_argument("--clinc", type=Path, help="rows of CLINC150")
    parse.add_argument("--worst", type=int, default=10, help="accepted sentences that are shown")
    given = parse.parse_args()
    parser = gd.Parser.from_pretrained(given.parser)
    if given.slurp or given.clinc:
        if given.slurp:
            ask_slurp(parser, given.slurp)
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
        rows = gold_rows(folder, parser)
        replies = parser.parse([sentence for sentence, _ in rows])
        first = parser.predict([sentence for sentence, _ in rows], count=1)
        counts: Counter[str] = Counter()
        for (_, program), reply, guesses in zip(rows, replies, first, strict=True):
            is_right = bool(guesses) and guesses[0].program == program
            counts["right"] += is_right
            counts["right above" if is_right else "wrong above"] += reply.is_known
        shares = {name: f"{100 * counts[name] / len(rows):.1f} %" for name in counts}
        refusals = Counter(reply.refused for reply in replies if reply.refused)
        codes = ", ".join(f"{number} {code}" for code, number in refusals.most_common())
        area = area_under_roc(np.array([reply.confidence for reply in replies]), np.array(wrong))
        print(
            f"meant: {shares['right']} of {len(rows):,} rows right; acted on: "
            f"{shares['right above']} right and {shares['wrong above']} wrong; refused: {codes}; "
            f"AUROC of the confidence against the sets above {area:.3f}"
        )


def ask_slurp(parser: gd.Parser, path: Path) -> None:
    """Print what a parser of the shipped skills does with the commands of SLURP, by intent."""
    lines = (HERE / "slurp.tsv").read_text(encoding="utf-8").splitlines()
    meant = dict(line.split("\t") for line in lines if not line.startswith("#"))
    asked: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if meant.get(row["intent"], "?") != "?":
            asked.setdefault(row["intent"], []).append(row["utterance"])
    totals: dict[str, Counter[str]] = {"covered": Counter(), "lacking": Counter()}
    for intent, sentences in sorted(asked.items()):
        functions, counts = meant[intent].split(), Counter[str]()
        for reply in parser.parse(sentences):
            names = parser.target.language.functions_in(reply.program) if reply.program else ()
            is_right = any(f"{name}.".startswith(f"{f}.") for name in names for f in functions)
            is_asked = reply.is_known or reply.refused == "missing_input"
            outcome = "right" if is_right else "wrong"
            counts[outcome if is_asked else "refused"] += 1
            counts["right first"] += is_right
        totals["lacking" if functions == ["-"] else "covered"].update(counts)
        print(f"  {intent}: {dict(counts)}")
    for name, counts in totals.items():
        rows = counts["right"] + counts["wrong"] + counts["refused"]
        shares = ", ".join(f"{100 * n / rows:.1f} % {key}" for key, n in sorted(counts.items()))
        print(f"SLURP, {name} intents, {rows:,} sentences: {shares}")


def ask_clinc(parser: gd.Parser, path: Path) -> None:
    """Print how many of CLINC150's sentences out of scope a parser acts on."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    sentences = [sentence for sentence, intent in lines if intent == "oos"]
    accepted = [reply for reply in parser.parse(sentences) if reply.is_known]
    print(f"CLINC150: {len(accepted)} of {len(sentences)} out of scope accepted")
    for reply in accepted:
        print(f"    {reply.confidence:.2f}  {reply.sentence}\n          {reply.code}")


def gold_rows(folder: Path, parser: gd.Parser) -> list[tuple[str, str]]:
    """Return sentences with the token form of their program; none with functions of others."""
    language, library = parser.target.language, parser.target.library
    rows = []
    for file in evaluation_files([folder]):
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            sentence, _, code = line.partition("\t")
            program = language.parse(code.partition("\t")[0])
            if set(language.functions(program)) <= set(library.names() if library else ()):
                form = language.canonical(program, library)
                rows.append((sentence, language.tokens(form, library)))
    return rows


if __name__ == "__main__":
    main()
