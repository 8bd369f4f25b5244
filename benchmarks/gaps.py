"""The gap report: which deleted families of templates are found again in what people say.

    python benchmarks/gaps.py families ../shared/data/home_assistant
    python benchmarks/gaps.py families ../shared/data/home_assistant --people 10000 --seeds 1
    python benchmarks/gaps.py slurp ../shared/data/slurp/devel.jsonl --people 20000 --show 60

`families` imports the sentence templates of Home Assistant, deletes those of some intents, and lets
an invented population say the project's own test sentences. How many sentences a person says, and
which intent each has, follows Zipf's law; which intents are common differs by seed. A family counts
as found if something is shown of which most sayings are of that intent. Beside it stands a list
without privacy: what five people or more said, all that they said.

`slurp` lets people say the commands of SLURP, and prints what is shown of those that the shipped
templates do not derive: each row once, by one person each (--people 0), or drawn by Zipf's law of
persons alone. CPU seconds are of listening, and of one release.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean

from bridges import home_of, read_rows

from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.gaps import GapListener
from genie_dp.importers.registry import import_source
from genie_dp.importers.source import ImportSource
from genie_dp.private.gaps.select import (
    LEVELS,
    GapLimits,
    GapPlan,
    NoisyGaps,
    TemplateVocabulary,
    Understanding,
    cut_sentence,
    release_gaps,
)
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.resources import data_folder
from genie_dp.rng import stream
from genie_dp.templates.cache import load_inputs

EPSILONS = (0.5, 1.0, 3.0, 8.0)
DELTA, PART = 1e-6, 1e-7  # of the budget, and of thresholds
LEAST, CAP = 5, 20
ALL = 10_000  # of a unit: no limit


@dataclass(frozen=True)
class Said:
    """A sentence that can be said: its intent, and what was heard."""

    intent: str
    heard: Understanding


@dataclass(frozen=True)
class Finding:
    """Something that was shown, and whose it is.

    Attributes:
        families: intent -> sayings of sentences with it that were not understood.
    """

    level: str
    text: str
    units: int
    families: Mapping[str, int]

    @property
    def family(self) -> str:
        """Return the intent of most of its sayings, "" where none has more than half of them."""
        intent, count = max(self.families.items(), key=lambda pair: pair[1], default=("", 0))
        return intent if 2 * count > sum(self.families.values()) else ""


# ------------------------------------------------------------------------------------ the people


def by_zipf(rng: random.Random, count: int, draws: int) -> list[int]:
    """Return places below `count`, the first most often: place k in proportion to 1 / (k + 1)."""
    weights = list(accumulate(1 / (place + 1) for place in range(count)))
    return rng.choices(range(count), cum_weights=weights, k=draws)


def population(sentences: Sequence[Said], people: int, seed: int) -> list[list[Said]]:
    """Return what each person says: 1 to 20 sentences, of intents of which some are common."""
    rng = random.Random(f"population {people} {seed}")
    by_intent: dict[str, list[Said]] = {}
    for sentence in sentences:
        by_intent.setdefault(sentence.intent, []).append(sentence)
    intents = rng.sample(sorted(by_intent), len(by_intent))
    counts = [1 + place for place in by_zipf(rng, CAP, people)]
    return [
        [rng.choice(by_intent[intents[place]]) for place in by_zipf(rng, len(intents), count)]
        for count in counts
    ]


def plan_of(vocabulary: TemplateVocabulary, epsilon: float | None) -> GapPlan:
    """Return the plan at an epsilon; without one that of a list that keeps nothing back."""
    if epsilon is None:
        return GapPlan(vocabulary, GapLimits(ALL, ALL, ALL), "gaussian", 1e-9, 0.5, LEAST)
    multiplier = noise_multiplier_for(epsilon, DELTA - PART, rate=1.0, steps=4, accountant="pld")
    return GapPlan(vocabulary, GapLimits(), "gaussian", multiplier, PART, LEAST)


def findings(
    released: NoisyGaps, vocabulary: TemplateVocabulary, sayings: Mapping[Said, int]
) -> Iterator[Finding]:
    """Yield what was shown, with the intents of the sentences that say it."""
    families: dict[tuple[str, str], Counter[str]] = {}
    for sentence, count in sayings.items():
        tokens = sentence.heard.tokens
        whole = " ".join(cut_sentence(tokens, vocabulary, released.words, released.pairs))
        parts = {("sentences", whole), *(("words", token) for token in tokens)}
        parts |= {("pairs", " ".join(pair)) for pair in pairwise(tokens)}
        for part in parts:
            families.setdefault(part, Counter())[sentence.intent] += count
    for level in LEVELS:
        for text, units in getattr(released, level).items():
            yield Finding(level, text, units, families.get((level, text), {}))


# --------------------------------------------------------------------------- families found again


def import_without(folder: Path, source: Path, deleted: Iterable[str]) -> None:
    """Write imported templates to a folder, without those of some intents."""
    files = dict(import_source(ImportSource(str(source), "en", skip_broken=True)).files)
    for intent in deleted:
        del files[f"{intent}.genie"]
        files["main.genie"] = files["main.genie"].replace(f'import "{intent}.genie";\n', "")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def names_of(rows: Iterable[Mapping[str, object]]) -> dict[str, list[str]]:
    """Return the names of all homes: kind -> names."""
    names: dict[str, dict[str, None]] = {}
    for row in rows:
        for kind, known in home_of(row).names.items():
            names.setdefault(kind, {}).update(dict.fromkeys(known))
    return {kind: list(known) for kind, known in names.items() if known}


def listen(folder: Path, rows: Sequence[Mapping[str, str]], **options: object) -> GapListener:
    """Return the listener of imported templates."""
    inputs = load_inputs("calls", [folder / "tools.json"], [folder / "main.genie"])
    known = {kind for kind in names_of(rows) if kind in inputs.library.entity_types}
    names = {kind: of for kind, of in names_of(rows).items() if kind in known}
    return GapListener.from_inputs(inputs, CoverageConfig(), names=names)


@dataclass(frozen=True)
class Figures:
    """What a release found, of one population."""

    found: float
    of_lost: float
    shown: int
    of_deleted: int
    named: int
    named_right: int


def families(arguments: argparse.Namespace) -> None:
    """Print shares of deleted families that are found again."""
    source = Path(arguments.source)
    rows = [row for row in read_rows(source / "tests.en.jsonl") if not row["wildcard_slots"]]
    counts = Counter(row["intent"] for row in rows)
    known = sorted(intent for intent, count in counts.items() if count >= 2)
    figures: dict[tuple[int, float | None], list[Figures]] = {}
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        deleted = stream(seed, "deleted families").sample(known, arguments.families)
        with tempfile.TemporaryDirectory() as folder:
            import_without(Path(folder), source / "templates", deleted)
            listener = listen(Path(folder), rows)
        start = time.process_time()
        heard = listener.hear(row["utterance"] for row in rows)
        sentences = [Said(row["intent"], one) for row, one in zip(rows, heard, strict=True)]
        lost = Counter(s.intent for s in sentences if s.heard.reason)
        print(
            f"seed {seed}: sentences not understood without "
            f"{', '.join(f'{name} ({lost[name]} of {counts[name]})' for name in sorted(deleted))}; "
            f"of others {sum(lost.values()) - sum(lost[name] for name in deleted)}; "
            f"{time.process_time() - start:.0f} CPU s",
            flush=True,
        )
        for people in arguments.people:
            crowd = population(sentences, people, seed)
            for epsilon in (*EPSILONS, None):
                plan = plan_of(listener.vocabulary, epsilon)
                can_be_found = frozenset(name for name in deleted if lost[name])
                found = _measure(
                    crowd, plan, frozenset(deleted), can_be_found, seed, show=arguments.show
                )
                figures.setdefault((people, epsilon), []).append(found)
    print(
        "\n| people | epsilon | families found | of those with a sentence not understood | shown "
        "| of deleted families | functions named | of deleted families |\n" + "|---" * 8 + "|"
    )
    for (people, epsilon), of_seeds in figures.items():
        print(_line(people, epsilon, of_seeds))
    _print_memory()


def _line(people: int, epsilon: float | None, figures: Sequence[Figures]) -> str:
    def share(values: Sequence[float]) -> str:
        low, mean, high = (round(100 * f(values)) for f in (min, fmean, max))
        return f"{mean} % ({low} to {high})"

    shown = fmean(one.shown for one in figures)
    named = fmean(one.named for one in figures)
    of_deleted = sum(one.of_deleted for one in figures) / max(1, sum(f.shown for f in figures))
    right = sum(one.named_right for one in figures) / max(1, sum(f.named for f in figures))
    cells = [
        f"{people:,}",
        "none" if epsilon is None else f"{epsilon:g}",
        share([one.found for one in figures]),
        share([one.of_lost for one in figures]),
        f"{shown:.0f}",
        f"{100 * of_deleted:.0f} %" if shown else "",
        f"{named:.0f}",
        f"{100 * right:.0f} %" if named else "",
    ]
    return f"| {' | '.join(cells)} |"


def _measure(
    crowd: Sequence[Sequence[Said]],
    plan: GapPlan,
    deleted: frozenset[str],
    can_be_found: frozenset[str],
    seed: int,
    *,
    show: int,
) -> Figures:
    units = [[sentence.heard for sentence in person] for person in crowd]
    released = release_gaps(units, plan, lambda level: stream(seed, "noise", level))
    sayings = Counter(s for person in crowd for s in person if s.heard.reason)
    shown = list(findings(released, plan.vocabulary, sayings))
    found = {finding.family for finding in shown} & deleted
    wide = plan.noise("totals").quantile(0.025)
    named = {name for name, count in released.functions.items() if count - wide > 0}
    for finding in shown[:show]:
        mark = "" if finding.family in deleted else "  (of no deleted family)"
        print(f"  {finding.units:>7,}  {finding.level}: {finding.text}{mark}")
    return Figures(
        len(found) / len(deleted),
        len(found & can_be_found) / max(1, len(can_be_found)),
        len(shown),
        sum(finding.family in deleted for finding in shown),
        len(named),
        len(named & deleted),
    )


# ------------------------------------------------------------------------------------------ slurp


def slurp(arguments: argparse.Namespace) -> None:
    """Print what is shown of commands that the shipped templates do not derive."""
    with open(arguments.rows, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][: arguments.most]
    inputs = load_inputs("thingtalk", [data_folder("thingpedia")], [data_folder("grammars") / "en"])
    listener = GapListener.from_inputs(inputs, CoverageConfig(now="2026-11-25"))
    start = time.process_time()
    heard = list(listener.hear(row["utterance"] for row in rows))
    sentences = [Said(row["intent"], one) for row, one in zip(rows, heard, strict=True)]
    print(
        f"{sum(bool(one.reason) for one in heard):,} of {len(rows):,} not understood: "
        f"{dict(Counter(one.reason for one in heard))}; {time.process_time() - start:.0f} CPU s"
    )
    crowd = [[sentence] for sentence in sentences]
    if arguments.people:
        rng = random.Random("slurp")
        counts = [1 + place for place in by_zipf(rng, CAP, arguments.people)]
        crowd = [rng.choices(sentences, k=count) for count in counts]
    for epsilon in arguments.epsilon:
        plan = plan_of(listener.vocabulary, epsilon or None)
        start = time.process_time()
        units = [[sentence.heard for sentence in person] for person in crowd]
        released = release_gaps(units, plan, lambda level: stream(0, "noise", level))
        sayings = Counter(s for person in crowd for s in person if s.heard.reason)
        shown = list(findings(released, plan.vocabulary, sayings))
        print(
            f"\nepsilon {epsilon:g}, {len(crowd):,} people: "
            f"{dict(Counter(finding.level for finding in shown))}; shown from "
            f"{ {level: plan.threshold(level) for level in LEVELS} }; "
            f"{time.process_time() - start:.1f} CPU s"
        )
        for level in reversed(LEVELS):
            for finding in [one for one in shown if one.level == level][: arguments.show]:
                print(f"  {finding.units:>7,}  {level}: {finding.text}  [{finding.family}]")
        wide = plan.noise("totals").quantile(0.025)
        named = {name: n for name, n in released.functions.items() if n - wide > 0}
        print("  functions:", sorted(named.items(), key=lambda pair: -pair[1])[: arguments.show])
    _print_memory()


def _print_memory() -> None:
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("families")
    part.add_argument("source", help="the folder with templates and tests.en.jsonl")
    part.add_argument("--people", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    part.add_argument("--families", type=int, default=8, help="how many are deleted")
    part.add_argument("--seeds", type=int, default=3)
    part.add_argument("--first", type=int, default=3, help="seed; limits were chosen on 0 to 2")
    part.add_argument("--show", type=int, default=0)
    part.set_defaults(run=families)
    part = parts.add_parser("slurp")
    part.add_argument("rows", help="devel.jsonl")
    part.add_argument("--people", type=int, default=0)
    part.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    part.add_argument("--most", type=int, default=None, help="rows that are read")
    part.add_argument("--show", type=int, default=40)
    part.set_defaults(run=slurp)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
