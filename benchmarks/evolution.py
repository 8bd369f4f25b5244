"""Private evolution over the grammar, against a DP histogram alone and two-stage DP-SGD.

    python benchmarks/evolution.py                      # everything, 3 seeds
    python benchmarks/evolution.py --only evolution --epsilons 1,8 --seeds 1
    python benchmarks/evolution.py --smoke              # some rows and steps, to see it run

The people of private_worlds.py use the shipped skills, and ask for functions as the templates do
not expect. Each method makes as many rows, but two-stage training, which makes as many as
private.py compares; a parser of each learns the same number of steps, with the same seed, and is
tested on rows of people that were held out. `distance` is the total variation
between the shares of functions in the rows and those in the held-out rows: 0 is the same, 1 has
nothing in common. CPU minutes are of evolutions and of private training; synthesis, the histogram
and parsers are not in them.

A row of the table has a line in results.jsonl for each seed and is not made again; what it is made
of has a file each, so that a run can be stopped and gone on with. An evolution that was stopped
begins again: each is an experiment with a ledger of its own.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measure import ROOT
from parser_runs import Results, Work, genie, told
from private import PARSED, TEMPERATURE, Script, show
from private_runs import SMOKE, Bench, Case, Lines, Sizes, World
from private_worlds import Maker, as_public

from genie_dp.rows import read_rows

EPSILONS = (0.5, 1.0, 3.0, 8.0)
COLUMNS = {**PARSED, "distance": "distance ↓", "cpu_minutes": "CPU min"}
# Winners of a vote by epsilon, for 2,000 private rows: the noise is the same for each candidate,
# so that there may be the fewer the less epsilon there is (docs/research/evolution.md).
POPULATIONS = {0.5: 40, 1.0: 60, 3.0: 150, 8.0: 300}
VOTES = 4
# Each function by itself: what the templates make seldom is to be seen, and its pairs with lengths
# would take the budget that this needs (docs/research/evolution.md).
METADATA = "metadata: {columns: [function, length], method: independent, most: 300, share: 0.3}\n"


@dataclass(frozen=True)
class Method:
    """One way to make rows: what it makes, and whether chance is in it."""

    name: str
    rows: Callable[[int], tuple[Sequence[Path], float]]
    has_noise: bool = True


@dataclass(frozen=True)
class Comparison:
    """Makes the rows of all methods in one world."""

    script: Script
    world: World
    liked: str
    weights: Mapping[str, float]

    @property
    def base(self) -> Path:
        """Return the rows of the templates without any prior."""
        return self.world.public[0]

    @property
    def size(self) -> int:
        """Return how many rows each method makes."""
        return self.script.bench.sizes.public

    # ---------------------------------------------------------------------------- methods

    def methods(self, epsilons: Sequence[float]) -> list[Method]:
        """Return all methods, those without private rows first."""
        found = [Method("templates alone", lambda _: ([self.base], 0.0), has_noise=False)]
        for epsilon in epsilons:
            named: dict[str, Callable[..., tuple[Sequence[Path], float]]] = {
                "histogram": self.histogram,
                "evolution": self.evolution,
                "evolution with metadata": partial(self.evolution, metadata=True),
                "evolution with metadata and templates": partial(
                    self.evolution, metadata=True, has_base=True
                ),
                "prior of evolution with metadata": self.prior_of_evolution,
                "two-stage and templates": self.two_stage,
            }
            found += [
                Method(f"{name}, epsilon {epsilon:g}", partial(make, epsilon))
                for name, make in named.items()
            ]
        found.append(Method("true weights", self.known, has_noise=False))
        private = [self.base, self.world.private]
        found.append(Method("private rows and templates", lambda _: (private, 0.0), False))
        return found

    def histogram(self, epsilon: float, seed: int) -> tuple[Sequence[Path], float]:
        """Return rows synthesized with the prior of a noisy histogram of functions."""
        bench, private = self.script.bench, self.world.private
        file = bench.work.place("prior", ["prior", private, epsilon, seed], ".json")
        if not file.exists():
            ledger = bench.budget(file, private, epsilon)
            command = ["private", "prior", private, "--epsilon", epsilon, "--ledger", ledger]
            rest = [
                "--estimated-units",
                bench.sizes.private,
                "--public",
                self.base,
                "--output",
                file,
            ]
            genie([*map(str, [*command, *rest]), "--overwrite"])
        return [self._synthesized("--prior", file)], 0.0

    def evolution(
        self, epsilon: float, seed: int, *, metadata: bool = False, has_base: bool = False
    ) -> tuple[Sequence[Path], float]:
        """Return the rows of an evolution."""
        folder, minutes = self._evolved(epsilon, seed, metadata=metadata)
        rows = as_public(self.script.bench.work, folder / "rows.jsonl")
        return ([self.base] if has_base else []) + [rows], minutes

    def prior_of_evolution(self, epsilon: float, seed: int) -> tuple[Sequence[Path], float]:
        """Return rows synthesized with the prior of an evolution."""
        folder, minutes = self._evolved(epsilon, seed, metadata=True)
        return [self._synthesized("--prior", folder / "prior.json")], minutes

    def two_stage(self, epsilon: float, seed: int) -> tuple[Sequence[Path], float]:
        """Return rows of a generator trained with noise, beside those of the templates."""
        bench, case = self.script.bench, Case(self.world, "two-stage", epsilon)
        rows = as_public(bench.work, bench.drawn(case, seed, temperature=TEMPERATURE))
        return [self.base, rows], bench.minutes(case, seed)

    def known(self, _: int) -> tuple[Sequence[Path], float]:
        """Return rows synthesized with what people really ask for."""
        return [self._synthesized("--weights", self.script.make.written(self.weights))], 0.0

    # ------------------------------------------------------------------------ small steps

    def _synthesized(self, option: str, file: Path) -> Path:
        size = ("--size", self.size, "--seed", 1)
        return self.script.make.synthesized("steered", *size, option, file)

    def _evolved(self, epsilon: float, seed: int, *, metadata: bool = False) -> tuple[Path, float]:
        """Return the folder of an evolution, and its CPU minutes."""
        bench, private = self.script.bench, self.world.private
        recipe = bench.work.recipe(self._recipe(epsilon, metadata=metadata))
        folder = bench.work.place("evolved", ["evolve", private, recipe, epsilon, seed], "")
        cost = folder.with_suffix(".cpu.json")
        if not (folder.exists() and cost.exists()):
            ledger = bench.budget(folder, private, epsilon)
            command = ["private", "evolve", private, "--recipe", recipe, "--epsilon", epsilon]
            rest = ["--seed", seed, "--public", self.base, "--ledger", ledger, "-o", folder]
            seconds = genie([*map(str, [*command, *rest]), "--overwrite"])
            cost.write_text(json.dumps(seconds), encoding="utf-8")
        return folder, json.loads(cost.read_text()) / 60

    def _recipe(self, epsilon: float, *, metadata: bool) -> str:
        population = POPULATIONS[min(POPULATIONS, key=lambda known: abs(known - epsilon))]
        scaled = max(4, population * self.script.bench.sizes.private // 2_000)
        return (
            f"{METADATA if metadata else ''}generator: grammar\nembedding: both\n"
            f"iterations: {VOTES}\npopulation: {scaled}\nvariations: 4\nrows: {self.size}\n"
        )

    def measured(self, method: Method, seed: int) -> dict[str, float]:
        """Return the figures of a method."""
        rows, minutes = method.rows(seed)
        parts = {
            "missing": self.script.make.rows_with(self.world.real, self.liked),
            "all": self.world.real,
        }
        figures = self.script.tested(self.world, rows, parts)
        gap = distance(shares(rows), shares([self.world.real]))
        return {**figures, "distance": gap, "cpu_minutes": minutes}


def shares(files: Sequence[Path]) -> dict[str, float]:
    """Return the share of each function among all functions of rows, by the rows' weights."""
    counts: Counter[str] = Counter()
    for file in files:
        for row in read_rows(str(file)):
            for name in row.functions:
                counts[name] += row.weight  # type: ignore[assignment]
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the total variation distance of two distributions.

    >>> distance({"a": 0.5, "b": 0.5}, {"a": 1.0})
    0.5
    """
    return sum(abs(one.get(x, 0.0) - other.get(x, 0.0)) for x in one.keys() | other.keys()) / 2


def compare(script: Script, epsilons: Sequence[float], only: str) -> None:
    """Measure what has no line yet, all methods with the first seed before the next; print all."""
    world, weights, liked = script.make.skills_people()
    comparison = Comparison(script, world, liked, weights)
    methods = [one for one in comparison.methods(epsilons) if one.name.startswith(only)]
    found: dict[str, list[dict[str, float]]] = {method.name: [] for method in methods}
    for seed in script.seeds:
        for method in methods:
            if not method.has_noise and seed != script.seeds[0]:
                continue
            key = {"table": "evolution", "row": method.name, "seed": seed,
                   "sizes": repr(script.bench.sizes)}  # fmt: skip
            if (line := script.lines.known(key)) is None:
                told(f"{method.name}, seed {seed}")
                figures = comparison.measured(method, seed)
                script.lines.add(key, figures, figures["cpu_minutes"])
                line = {"figures": figures}
            found[method.name].append(line["figures"])
        show(f"Simulated population; missing: rows with {liked}; up to seed {seed}", found, COLUMNS)


def main() -> None:
    """Make the runs that are wanted, and print their table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "evolution",
                        help="data, evolutions and results [build/evolution]")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row [3]")
    parser.add_argument("--epsilons", default=",".join(f"{one:g}" for one in EPSILONS),
                        help="budgets, with commas between [0.5,1,3,8]")  # fmt: skip
    parser.add_argument("--only", default="", help="methods whose names begin so")
    parser.add_argument("--smoke", action="store_true", help="few rows and steps")
    options = parser.parse_args()
    work = Work((options.work / "smoke" if options.smoke else options.work).resolve())
    sizes = SMOKE if options.smoke else Sizes()
    seeds = range(1, 2 if options.smoke else 1 + options.seeds)
    epsilons = (8.0,) if options.smoke else [float(one) for one in options.epsilons.split(",")]
    # The people are synthesized: no public data set is read.
    make = Maker(work, ROOT, sizes)
    script = Script(make, Bench(work, sizes), Lines(Results(work)), seeds, epsilons)
    compare(script, epsilons, options.only)


if __name__ == "__main__":
    main()
