"""Table 3 and Figure 8 of Genie (PLDI 2019) for the shipped library.

    python benchmarks/parser_library.py
    python benchmarks/parser_library.py --smoke

Each row of the table is a way to train: from synthesized sentences alone to all of Genie, the
baseline of Wang et al. (2015), and all of Genie without one of its parts. Columns are the skills'
real sentences (eval.tsv), and automatic paraphrases of combinations of functions that no parser
was trained on. A run that has a line in results.jsonl is not made again. The comparison is
described in docs/research/experiments.md.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measure import ROOT
from parser_runs import NEAREST, OUTPUT, Results, Trial, Work, budget_of, options_of
from wang import wang_rows

from genie_dp.rows import read_rows

SKILLS = ROOT / "thingpedia"
SENTENCES, COMBINATIONS = "real sentences", "new combinations"
# Each row once, with values for its placeholders.
COUNTS = ("--paraphrase-with-text", "--paraphrase-other", "--primitive", "--compound")
ONE_EACH = tuple(word for name in COUNTS for word in (name, "1"))
PLAIN = (*ONE_EACH, "--no-noise", "--reword", "0", "--reword-synthetic", "0")
LM = ("--lm", "feed")
# Its training is not part of the parser's steps, so it is kept short.
RECIPE = "language_model_epochs: 0.5\n"
STEPS = 4_000  # of the parser, in batches of 64
MOST = 300_000  # rows that are learned from, by chance: a parser sees 256,000 in its steps


@dataclass(frozen=True)
class Condition:
    """How a parser is trained.

    Attributes:
        rows: which rows of the training part: synthetic, paraphrase, both or wang.
        augment: options of `genie-dp data augment`.
        options: options of `genie-dp train`.
    """

    name: str
    rows: str = "both"
    augment: tuple[str, ...] = ()
    options: tuple[str, ...] = LM


CONDITIONS = (
    Condition("synthesized only", rows="synthetic", augment=PLAIN),
    Condition("paraphrases only", rows="paraphrase", augment=PLAIN),
    Condition("synthesized and paraphrases", augment=PLAIN),
    Condition("genie: expansion and noise as well"),
    Condition("wang et al.", rows="wang", augment=PLAIN),
    Condition("genie without canonical form", options=(*LM, "--no-canonical")),
    Condition("genie without keyword parameters", options=(*LM, "--positional")),
    Condition("genie without type annotations", options=(*LM, "--no-types")),
    Condition("genie without expansion", augment=ONE_EACH),
    Condition("genie without program language model", options=()),
)


@dataclass(frozen=True)
class Size:
    """How much data is made; `tested` rows of the new combinations, all without it."""

    rows: int
    sentences: Path = SKILLS
    tested: int | None = None
    paraphrases: int = 2
    jobs: int = 1


def split(work: Work, size: Size) -> Path:
    """Return a folder with train and test: no combination of functions is in both."""
    jobs = ("--jobs", size.jobs)
    pairs = work.made(
        "pairs", ["synthesize", "--skills", SKILLS, "--size", size.rows, "--seed", 1, *jobs,
                  "--output", OUTPUT],
    )  # fmt: skip
    paraphrases = work.made(
        "paraphrases", ["data", "paraphrase", "auto", pairs, "--skills", SKILLS, "--number",
                        size.paraphrases, "--seed", 1, *jobs, "--output", OUTPUT],
    )  # fmt: skip
    return work.made(
        "split", ["data", "split", "--by", "functions", "--part", "train", "--part", "test=0.1",
                  "--eval-source", "paraphrase", "--seed", 1, pairs, paraphrases,
                  "--output", OUTPUT], suffix="",
    )  # fmt: skip


def augmented(work: Work, rows: Path, options: Sequence[str], jobs: int) -> Path:
    """Return rows with values in them."""
    command = ["data", "augment", rows, "--skills", SKILLS, "--seed", 1, "--jobs", jobs, *options]
    return work.made("augmented", [*command, "--output", OUTPUT])


def rows_of(work: Work, part: Path, kind: str) -> Path:
    """Return the rows of a condition, with placeholders."""
    if kind == "both":
        return part
    if kind == "wang":
        return work.chosen("wang", part, lambda: wang_rows(partial(read_rows, str(part))), "wang")
    return work.of_source(part, kind)


def tests_of(work: Work, folder: Path, size: Size) -> Mapping[str, Path]:
    """Return the columns."""
    said = augmented(work, folder / "test.jsonl", PLAIN, size.jobs)
    return {SENTENCES: size.sentences, COMBINATIONS: work.first(said, size.tested)}


def trials_of(
    work: Work, size: Size, conditions: Sequence[Condition] = CONDITIONS, only: str = ""
) -> list[Trial]:
    """Return the rows of the table, the nearest sentence first, with their data made."""
    folder = split(work, size)
    tests, part = tests_of(work, folder, size), folder / "train.jsonl"
    asked = ("--skills", SKILLS)
    recipe = ("--recipe", work.recipe(RECIPE))
    plain = augmented(work, part, PLAIN, size.jobs)
    trials = [Trial(NEAREST, (plain,), tests, asked=asked, is_nearest=True)]
    for one in conditions:
        if one.name.startswith(only):
            rows = augmented(work, rows_of(work, part, one.rows), one.augment, size.jobs)
            rows = work.some(rows, MOST)
            settings = (*recipe, *one.options, *asked)
            trials.append(Trial(one.name, (rows,), tests, settings, asked))
    return [trial for trial in trials if trial.name.startswith(only)]


def size_of(options: argparse.Namespace) -> Size:
    """Return how much data is made."""
    if options.smoke:
        return Size(300, SKILLS / "com.dropbox", tested=5, jobs=options.jobs)
    return Size(options.size, jobs=options.jobs)


def main() -> None:
    """Make the runs and print the table."""
    parser = options_of(__doc__ or "", "parser-library")
    parser.add_argument("--size", type=int, default=40_000, help="synthesized rows [40000]")
    options = parser.parse_args()
    work = Work((options.work / "smoke" if options.smoke else options.work).resolve())
    seeds = range(1, 1 + (1 if options.smoke else options.seeds))
    conditions = (CONDITIONS[4], CONDITIONS[6]) if options.smoke else CONDITIONS
    trials = trials_of(work, size_of(options), conditions, options.only)
    results, budget = Results(work), budget_of(options, STEPS)
    results.run(trials, budget, seeds)
    print("\n".join(results.table(trials, budget, seeds)))


if __name__ == "__main__":
    main()
