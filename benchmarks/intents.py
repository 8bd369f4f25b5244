"""Private evolution of plain text: classifiers of intents trained on what private rows voted for.

    python benchmarks/intents.py --work intents-work                    # everything, 3 seeds
    python benchmarks/intents.py --work intents-work --only banking77 --seeds 1 --epsilons 1
    python benchmarks/intents.py --work intents-work --model gpt2       # candidates of a model
    python benchmarks/intents.py --smoke --work /tmp/intents-smoke      # some rows, to see it run

CLINC150 and Banking77 in --data. The training rows of one are private; public are the sentences of
the other one, without its intents. Some rows of each intent (--donated) are given as examples and
are not private. A line of results.jsonl is one evolution, which is not run again; one that was
stopped goes on behind its last vote.

Tables, after the figures of MAPLE (Chien et al.): with and without a private table of metadata
(M), with and without donated examples (E) (its Figure 4); few and many columns (Figure 5); accuracy
vote by vote (Figure 3), and the calls of the generator that it took to get there. A label is always
known: each row votes among candidates of its own. Without a table the shares of labels are given,
all alike. Accuracy is of logistic regression on hashed n-grams, tested on rows that were held out;
`near` is the mean cosine of those rows to the nearest synthetic one.
"""

import argparse
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from intents_data import INTENT, SMOKE, Judge, Sizes, World, world_of
from measure import machine, median, table

from genie_dp.private.evolution.config import EvolutionSettings, LanguageModelRecipe
from genie_dp.private.evolution.embedding import HashedNgramEmbedding
from genie_dp.private.evolution.evolve import Electorate, Evolution, evolve
from genie_dp.private.evolution.generator import CandidateGenerator, Donated, Pool, VoteCandidate
from genie_dp.private.evolution.prompting import (
    PromptedGenerator,
    Prompter,
    shipped_templates,
)
from genie_dp.private.evolution.seeds import SeedGenerator
from genie_dp.private.evolution.voting import weights_of
from genie_dp.private.ledger.accounting import Accountant, noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.tables.run import mechanisms_of, release_table, rho_for
from genie_dp.private.tables.table import SyntheticTable, load_table
from genie_dp.records import Example

DELTA = 1e-5
ACCOUNTANT: Accountant = "rdp"  # which the published figures are of
SHARE = 0.2  # of epsilon for the table
FEW, USUAL = (INTENT, "length"), (INTENT, "length", "form")
MANY = (*USUAL, "opening", "person")


@dataclass(frozen=True)
class Case:
    """One evolution."""

    data: str
    columns: tuple[str, ...]
    has_examples: bool
    epsilon: float
    seed: int
    generator: str = "seeds"

    @property
    def name(self) -> str:
        """Return which row of a table it is."""
        what = {(): "", FEW: "few M", USUAL: "M", MANY: "many M"}[self.columns]
        parts = [part for part in (what, "E" if self.has_examples else "") if part]
        return " + ".join(parts) or "neither"


# ----------------------------------------------------------------------------- one evolution


@dataclass(frozen=True)
class Bench:
    """Where everything is, and how much of it there is."""

    data: Path
    work: Path
    sizes: Sizes
    model: str = ""

    def run(self, case: Case, world: World, judge: Judge) -> dict[str, Any]:
        """Return what came of an evolution, vote by vote."""
        started = time.process_time()
        folder = self.work / "runs" / self.key(case)
        folder.mkdir(parents=True, exist_ok=True)
        ledger = ledger_in(folder / "ledger.json", case.epsilon)
        released = self._table(case, world, ledger, folder / "table.json")
        found = self._evolved(case, world, ledger, released, folder)
        texts, intents, weights = of(found.rows)
        lines = found.report["iterations"]
        calls = np.cumsum([line["calls"] for line in lines]).tolist()
        threshold = found.report["settings"]["threshold"] * found.report["noise"]
        votes = []
        for (candidates, noisy), line, called in zip(found.votes, lines, calls, strict=True):
            said, labels, _ = of(candidates)
            shares = weights_of(noisy, labels, threshold).tolist()
            votes.append(
                {"calls": called, "above": line["above_threshold"],
                 **judge.figures(said, labels, shares)}
            )  # fmt: skip
        return {
            **judge.figures(texts, intents, weights),
            "calls": found.report["calls"],
            "rows": len(texts),
            "noise": found.report["noise"],
            "epsilon": found.spent.epsilon,
            "votes": votes,
            "cpu_minutes": (time.process_time() - started) / 60,
        }

    def key(self, case: Case) -> str:
        """Return the name of a case's result."""
        told = json.dumps([asdict(case), asdict(self.sizes), self.model], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def _table(self, case: Case, world: World, ledger: Ledger, path: Path) -> SyntheticTable | None:
        if not case.columns:
            return None
        if not path.exists():
            columns = case.columns
            units = Units([world.record(text, intent, columns)] for text, intent in world.private)
            made = release_table(
                world.schema(columns),
                units,
                epsilon=SHARE * case.epsilon,
                delta=DELTA,
                spend=Payer(ledger, "table", "table"),
                method="aim" if len(columns) > 1 else "independent",
            )
            part = path.with_suffix(".partial")
            part.write_text(made.text(), encoding="utf-8")
            part.rename(path)
        return load_table(path)

    def _evolved(
        self,
        case: Case,
        world: World,
        ledger: Ledger,
        released: SyntheticTable | None,
        folder: Path,
    ) -> Evolution:
        sizes = self.sizes
        before = ()
        if released is not None:
            before = mechanisms_of("aim", len(case.columns), rho_for(SHARE * case.epsilon, DELTA))
        noise = noise_multiplier_for(
            case.epsilon,
            DELTA,
            rate=1.0,
            steps=sizes.iterations,
            before=before,
            accountant=ACCOUNTANT,
        )
        settings = EvolutionSettings(
            iterations=sizes.iterations,
            population=sizes.population,
            variations=sizes.variations,
            rows=sizes.rows,
            label=INTENT,
            seed=case.seed,
        )
        shares = dict.fromkeys(world.intents, 1 / len(world.intents))
        if released is not None:
            shares = dict(zip(world.intents, released.marginal((INTENT,)).tolist(), strict=True))
        return evolve(
            Electorate(
                Units([Example("", text, "")] for text, _ in world.private),
                [[intent] for _, intent in world.private],
            ),
            self._generator(case, world),
            HashedNgramEmbedding(),
            settings,
            Gaussian(noise),
            spend=Payer(ledger, "votes"),
            work=folder / "evolve",
            fractions=shares,
            table=released,
        )

    def _generator(self, case: Case, world: World) -> CandidateGenerator:
        columns = case.columns or (INTENT,)
        donated = [
            Donated(text, world.record(text, intent, columns)) for text, intent in world.donated
        ]
        public = [Donated(text, world.record(text, None, columns)) for text in world.public]
        if not self.model:
            seeds = [*donated, *public] if case.has_examples else public
            return SeedGenerator(seeds, labels=[INTENT])
        from genie_dp.private.evolution.language_model import load_language_model

        recipe = LanguageModelRecipe(self.model, device="auto")
        model = load_language_model(recipe)
        shown = Pool(donated if case.has_examples else [], [INTENT])
        prompter = Prompter(shipped_templates(model.style), model.style, donated=shown)
        return PromptedGenerator(model, prompter, recipe)


def ledger_in(path: Path, epsilon: float) -> Ledger:
    """Return the ledger of a run: this run's alone, for the rows are published."""
    if path.exists():
        return Ledger.open(path)
    # The noise is the least that fits; the last digit of the sum is not to be refused.
    return Ledger.create(
        path, Budget(epsilon * (1 + 1e-6), DELTA, "utterance", accountant=ACCOUNTANT)
    )


def of(candidates: Sequence[VoteCandidate]) -> tuple[list[str], list[str], list[float]]:
    """Return sentences, intents and weights of rows."""
    return (
        [one.example.utterance for one in candidates],
        [one.metadata[INTENT] for one in candidates],
        [one.example.weight for one in candidates],
    )


# ----------------------------------------------------------------------------------- the tables


def cases(data: str, epsilons: Sequence[float], seeds: int, generator: str) -> Iterator[Case]:
    """Yield every evolution of a corpus, all of one seed before the next."""
    for seed in range(seeds):
        for epsilon in epsilons:
            for columns in ((), USUAL, FEW, MANY):
                for has_examples in (False, True):
                    if columns in (FEW, MANY) and not has_examples:
                        continue
                    yield Case(data, columns, has_examples, epsilon, seed, generator)


def references(world: World, judge: Judge) -> dict[str, dict[str, float]]:
    """Return what private rows and donated examples are worth by themselves."""
    named = {"private rows, no privacy": world.private, "donated examples alone": world.donated}
    return {
        name: judge.figures([t for t, _ in rows], [i for _, i in rows], [1.0] * len(rows))
        for name, rows in named.items()
    }


@dataclass(frozen=True)
class Lines:
    """results.jsonl: a line for each evolution."""

    path: Path

    def known(self, key: str, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Return the result of a key, made now if there is none."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        for line in map(json.loads, lines):
            if line["key"] == key:
                return dict(line["result"])
        made = dict(make())
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"key": key, "result": made}) + "\n")
        return made


def measured(bench: Bench, name: str, epsilons: Sequence[float], seeds: int) -> None:
    """Run what is missing of a corpus, and print its tables."""
    world = world_of(name, bench.data, bench.sizes)
    judge = Judge(world, bench.sizes)
    lines = Lines(bench.work / "results.jsonl")
    base = lines.known(f"{name} {bench.sizes}", lambda: references(world, judge))
    found: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for case in cases(name, epsilons, seeds, bench.model or "seeds"):
        result = lines.known(bench.key(case), lambda case=case: bench.run(case, world, judge))
        found[case.name, case.epsilon].append(result)
        print(f"{name}, {case.name}, epsilon {case.epsilon:g}, seed {case.seed}: "
              f"{result['accuracy']:.1f} %", flush=True)  # fmt: skip
    show(f"{name}: {len(world.intents)} intents", base, found)


def show(
    title: str,
    base: Mapping[str, Mapping[str, float]],
    found: Mapping[tuple[str, float], Sequence[Mapping[str, Any]]],
) -> None:
    """Print the tables of a corpus."""
    print(f"\n## {title}\n")
    rows = [[name, "", f"{one['accuracy']:.1f}", f"{one['near']:.3f}", "", ""]
            for name, one in base.items()]  # fmt: skip
    for (name, epsilon), runs in found.items():
        rows.append(
            [
                name,
                f"{epsilon:g}",
                median(run["accuracy"] for run in runs),
                median((run["near"] for run in runs), 3),
                f"{mean(run['calls'] for run in runs):,.0f}",
                median((run["cpu_minutes"] for run in runs), 1),
            ]
        )
    print(table(["start from", "epsilon", "accuracy %", "near", "calls", "CPU min"], rows))
    print("\nAccuracy of each vote's candidates, weighed by their noisy votes:\n")
    most = max(len(run["votes"]) for runs in found.values() for run in runs)
    print(table(["start from", "epsilon", *map(str, range(1, most + 1)), "calls to reach"],
                [by_vote(name, epsilon, runs, found) for (name, epsilon), runs in found.items()],
                ))  # fmt: skip


def by_vote(
    name: str,
    epsilon: float,
    runs: Sequence[Mapping[str, Any]],
    found: Mapping[tuple[str, float], Sequence[Mapping[str, Any]]],
) -> list[str]:
    """Return a row: accuracy by vote, and the calls to be as good as without M and E."""
    votes = list(zip(*(run["votes"] for run in runs), strict=True))
    figures = [mean(one["accuracy"] for one in vote) for vote in votes]
    plain = found["neither", epsilon]
    goal = mean(run["votes"][-1]["accuracy"] for run in plain)
    calls = [
        vote[0]["calls"] for vote, figure in zip(votes, figures, strict=True) if figure >= goal
    ]
    return [name, f"{epsilon:g}", *(f"{figure:.1f}" for figure in figures),
            f"{calls[0]:,}" if calls else "-"]  # fmt: skip


def main() -> None:
    """Read the options, run what is missing, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/intents"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", choices=("clinc150", "banking77"), action="append")
    parser.add_argument("--epsilons", type=float, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--donated", type=int, default=3, help="examples of each intent")
    parser.add_argument("--model", default="", help="a language model, instead of public sentences")
    parser.add_argument("--smoke", action="store_true", help="some intents and rows")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    sizes = replace(SMOKE if options.smoke else Sizes(), donated=options.donated)
    bench = Bench(options.data, options.work, sizes, options.model)
    bench.work.mkdir(parents=True, exist_ok=True)
    epsilons = options.epsilons or ([4.0] if options.smoke else [1.0, 4.0])
    for name in options.only or ("banking77", "clinc150"):
        measured(bench, name, epsilons, 1 if options.smoke else options.seeds)
    print(machine())


if __name__ == "__main__":
    main()
