"""Private generators on TOPv2 and SMCalFlow: the tables of the two-stage paper; the prior.

    python benchmarks/private.py                            # everything, in ../shared/data
    python benchmarks/private.py ../shared/data --only "table 1" --seeds 1
    python benchmarks/private.py --smoke                    # some rows and steps, to see it run

Each row of a table is trained with --seeds seeds; one that has a line in results.jsonl is not made
again, so that a run can be stopped and gone on with. The figures are those of `genie-dp private
evaluate` against rows that were held out, which are public here: these are published data sets.
Table numbers are those of Mireshghallah et al. 2023. Sizes are for two cores (private_runs.Sizes);
generators are small decoders, pretrained on public rows, where the paper has GPT-2. Pretraining is
in the CPU minutes of the run that makes it; others with the same public rows take it, with any
seed: what differs by seed are batches and noise of private rows, and what is drawn.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from measure import ROOT
from parser_runs import OUTPUT, Results, Work, told
from private_runs import NONE, SMOKE, Bench, Case, Lines, Sizes, World, table_of
from private_worlds import Maker, annotated, as_public

EPSILONS = (3.0, 8.0, NONE)
# Of generators that parsers learn from: what few people ask for takes many steps to learn.
PATIENCE = 3.0
# Rows of a batch of these in SMCalFlow: few large steps have less noise in all than many small.
LARGE = 1024
# Of sentences that parsers learn: fewer, which make sense more often.
TEMPERATURE = 0.7
GENERATED = {
    "word_overlap": "W. overlap ↑",
    "mauve": "MAUVE ↑",
    "chi_square": "Dist. ↓",
    "function_overlap": "F. overlap ↑",
    "loss": "LM loss",
    "held_out": "held-out nats a word ↓",
    "rows": "rows",
    "cpu_minutes": "CPU min",
}
TOP = {f"top_{k}": f"Top-{k}" for k in (10, 25, 50, 100)}
PARSED = {
    f"{part} {key}": f"{part}: {title}"
    for part in ("missing", "all")
    for key, title in (
        ("graph_match", "graph match"), ("precision", "precision"), ("recall", "recall")
    )
}  # fmt: skip


@dataclass(frozen=True)
class Script:
    """One call of the script."""

    make: Maker
    bench: Bench
    lines: Lines
    seeds: Sequence[int]
    epsilons: Sequence[float] = EPSILONS

    # -------------------------------------------------------------------- rows of a generator

    def generated(self, table: str, cases: Mapping[str, Case]) -> None:
        """Measure generators, all with the first seed before the next, and print the table."""
        rows: dict[str, list[dict[str, float]]] = {name: [] for name in cases}
        revisions = set()
        for seed in self.seeds:
            for name, case in cases.items():
                line = self._generated(case, seed)
                rows[name].append({**line["figures"], "cpu_minutes": line["cpu_minutes"]})
                revisions.add(line["code"])
        show(table, rows, GENERATED)
        warn(revisions)
        show(f"{table}, most frequent functions", rows, TOP)

    def _generated(self, case: Case, seed: int) -> dict[str, Any]:
        key = {
            "world": case.world.name, "private": case.world.private.name, "case": case.name,
            "seed": seed, "sizes": repr(self.bench.sizes),
        }  # fmt: skip
        if (line := self.lines.known(key)) is None:
            drawn = self.bench.drawn(case, seed)
            annotator = self.bench.annotator(case.world)
            result = self.bench.compared(case, drawn, annotator, seed)
            figures = result["synthetic"][0]["figures"]
            values = {name: figure["value"] for name, figure in figures.items()}
            # Overlaps grow with the rows; a generator may give fewer than were asked for.
            values["rows"] = result["rows"]
            self.lines.add(key, values, self.bench.minutes(case, seed))
            line = self.lines.known(key)
            assert line is not None
        return line

    # ------------------------------------------------------------------------ rows of a parser

    def trained(self, table: str, rows: Mapping[str, Callable[[int], dict[str, float]]]) -> None:
        """Measure what parsers make of rows, and print the table."""
        found: dict[str, list[dict[str, float]]] = {name: [] for name in rows}
        revisions = set()
        for seed in self.seeds:
            for name, measure in rows.items():
                key = {"table": table, "row": name, "seed": seed, "sizes": repr(self.bench.sizes)}
                if (line := self.lines.known(key)) is None:
                    told(f"{table}: {name}, seed {seed}")
                    self.lines.add(key, measure(seed), 0)
                    line = self.lines.known(key)
                    assert line is not None
                found[name].append(line["figures"])
                revisions.add(line["code"])
        columns = {key: title for key, title in PARSED.items() if any(
            key in one for figures in found.values() for one in figures
        )}  # fmt: skip
        show(table, found, columns)
        warn(revisions)

    def tested(
        self,
        world: World,
        rows: Sequence[Path],
        parts: Mapping[str, Path],
        seed: int = 1,
        *,
        added: Path | None = None,
    ) -> dict[str, float]:
        """Return what a parser of rows, and of a generator's, makes of parts of the real rows.

        A generator may write no program, or none that the templates can say: then nothing is added.
        """
        learned, more = (
            [path for path in (self.make.unseen(world, one) for one in some) if size_of(path)]
            for some in (rows, [added] if added else [])
        )
        parser = self.bench.parser(
            learned, world.options, steps=self.bench.sizes.parser, seed=seed, added=more
        )
        return {
            f"{part} {name}": value
            for part, gold in parts.items()
            for name, value in self.bench.parsed(gold, parser, world.options).items()
        }


# ------------------------------------------------------------------------------- the tables


def main_table(script: Script, world: Callable[[], World]) -> None:
    """Print Table 1, with Table 6: generators at each epsilon."""
    found = world()
    cases = [
        Case(found, kind, epsilon)
        for epsilon in script.epsilons
        for kind in ("one-stage", "control", "two-stage")
    ]
    script.generated(f"Table 1, {found.name}", {case.name: case for case in cases})


def few_modes(script: Script) -> None:
    """Print Table 2: all rows, and rows that have one function."""
    world = script.make.topv2("navigation")
    few = script.make.few_modes(world, "IN:GET_DIRECTIONS")
    script.generated(
        "Table 2",
        {
            f"{name}, {case.name}": case
            for name, each in (("few modes", few), ("all", world))
            for case in (Case(each, kind, 8.0) for kind in ("one-stage", "two-stage"))
        },
    )


def shuffled(script: Script) -> None:
    """Print Table 4: programs of other sentences."""
    world = script.make.topv2("navigation")
    other = script.make.shuffled(world)
    budgets = [epsilon for epsilon in script.epsilons if epsilon != 8.0] or script.epsilons
    cases = {
        case.name: case
        for epsilon in budgets
        for case in (Case(world, kind, epsilon) for kind in ("one-stage", "two-stage"))
    }
    cases |= {
        f"{case.name}, shuffled": case
        for case in (Case(other, "two-stage", epsilon) for epsilon in budgets)
    }
    script.generated("Table 4", dict(sorted(cases.items())))


def split(script: Script) -> None:
    """Print Figure 3: shares of the rows seen for programs / for sentences."""
    world = script.make.topv2("navigation")
    splits = ("8/2", "5/5", "3/7", "2/8", "1/9")
    cases = [Case(world, "two-stage", 3.0, each) for each in splits]
    script.generated("Figure 3", {case.name: case for case in cases})


def function(script: Script, name: str, word: str = "") -> None:
    """Print Table 3: a function that public rows lack, added by synthetic ones."""
    make, bench = script.make, script.bench
    whole = make.smcalflow()
    world = make.without(whole, whole.annotated[0], name, word)
    parts = {"missing": make.rows_with(world.held_out, name), "all": world.real}
    large = min(LARGE, world.about)
    # Generators learn these often, and the schema's rows beside them; parsers do not.
    public = [make.tenth(whole.annotated[0], is_public=True, without=name)]
    before = bench.parser(public, world.options, steps=bench.sizes.parser)

    draw_likely = partial(bench.drawn, temperature=TEMPERATURE)

    def augmented(kind: str, seed: int) -> dict[str, float]:
        # The private rows' programs are those of the parser before; annotators write the others.
        source = before if kind == "two-stage" else None
        case = Case(world, kind, 3.0, parser=source, patience=PATIENCE, batch=large)
        drawn = draw_likely(case, seed, rows=bench.sizes.asked)
        again = annotated(bench.work, drawn, bench.annotator(whole))
        return script.tested(world, public, parts, seed, added=again)

    def own_pairs(seed: int, *, is_read_back: bool) -> dict[str, float]:
        # The private rows' programs are those of people.
        case = Case(world, "two-stage", 3.0, "4/6", patience=PATIENCE, batch=large)
        drawn = as_public(bench.work, draw_likely(case, seed, rows=bench.sizes.added))
        if is_read_back and size_of(drawn):
            learned = bench.parser(public, world.options, steps=bench.sizes.parser, added=[drawn])
            kept = draw_likely(case, seed, rows=bench.sizes.added, parser=learned)
            drawn = as_public(bench.work, kept)
        return script.tested(world, public, parts, seed, added=drawn)

    rows: dict[str, Callable[[int], dict[str, float]]] = {
        "public rows": lambda seed: script.tested(world, public, parts, seed),
        "and one-stage": partial(augmented, "one-stage"),
        "and two-stage": partial(augmented, "two-stage"),
        "and two-stage with people's programs": partial(own_pairs, is_read_back=False),
        "the same, read back": partial(own_pairs, is_read_back=True),
        "public and private rows": lambda seed: script.tested(
            world, [*public, world.private], parts, seed
        ),
    }
    script.trained(f"Table 3, SMCalFlow without {name}", rows)


def rendered(script: Script) -> None:
    """Print Table 3 in ThingTalk: functions that public rows lack, and the templates' sentences.

    The private rows' programs are right: a parser without the function would never write it. Half
    of what a two-stage generator sees is programs, for these are what the templates say.
    """
    make, bench = script.make, script.bench
    whole, _, name = make.skills_people()
    base = make.synthesized("lacking", "--size", bench.sizes.public, "--seed", 1, "--exclude", name)
    parts = {"missing": make.rows_with(whole.real, name), "all": whole.real}
    public = (base, make.named(name))  # generators learn the name, parsers do not
    world = replace(whole, name=f"{whole.name} without {name}", public=public)

    def case(kind: str) -> Case:
        split = "5/5" if kind == "two-stage" else ""
        return Case(world, kind, 3.0, split, patience=2 * PATIENCE)

    def drawn(kind: str, seed: int) -> Path:
        return bench.drawn(case(kind), seed, rows=bench.sizes.added, temperature=TEMPERATURE)

    def labelled(kind: str, seed: int) -> dict[str, float]:
        again = annotated(bench.work, drawn(kind, seed), bench.annotator(whole))
        return script.tested(world, [base], parts, seed, added=again)

    def own_pairs(seed: int) -> dict[str, float]:
        again = as_public(bench.work, drawn("two-stage", seed))
        return script.tested(world, [base], parts, seed, added=again)

    def said_again(seed: int) -> dict[str, float]:
        guarantee = bench.generator(case("two-stage"), seed) / "spent.json"
        command = ["private", "render", drawn("two-stage", seed), "--spent", guarantee]
        rows = bench.work.made("rendered", [*command, "--output", OUTPUT])
        return script.tested(world, [base], parts, seed, added=as_public(bench.work, rows))

    def steered(seed: int) -> dict[str, float]:
        file = bench.prior(world, 3.0, seed)
        size = ("--size", bench.sizes.added)
        rows = make.synthesized("steered", *size, "--seed", seed, "--prior", file)
        return script.tested(world, [base], parts, seed, added=rows)

    script.trained(
        f"Table 3, shipped skills without {name}",
        {
            "public rows": lambda seed: script.tested(world, [base], parts, seed),
            "and one-stage": partial(labelled, "one-stage"),
            "and two-stage": partial(labelled, "two-stage"),
            "and two-stage with its own programs": own_pairs,
            "and two-stage programs, said by the templates": said_again,
            "and rows of the templates, steered by a prior": steered,
            "and private rows": lambda seed: script.tested(
                world, [base, whole.private], parts, seed
            ),
        },
    )


def prior(script: Script) -> None:
    """Print parsers for people whose functions the templates do not expect."""
    make, bench = script.make, script.bench
    world, weights, liked = make.skills_people()
    base = world.public[0]
    parts = {"missing": make.rows_with(world.real, liked), "all": world.real}
    size = ("--size", bench.sizes.public)

    def steered(epsilon: float, seed: int) -> dict[str, float]:
        file = bench.prior(world, epsilon, seed)
        rows = make.synthesized("steered", *size, "--seed", 1, "--prior", file)
        return script.tested(world, [rows], parts, seed)

    def known(seed: int) -> dict[str, float]:
        file = make.written(weights)
        rows = make.synthesized("known", *size, "--seed", 1, "--weights", file)
        return script.tested(world, [rows], parts, seed)

    rows: dict[str, Callable[[int], dict[str, float]]] = {
        "without a prior": lambda seed: script.tested(world, [base], parts, seed),
        **{f"prior, epsilon {one:g}": partial(steered, one) for one in (1.0, 3.0, 8.0)},
        "true weights": known,
    }
    script.trained(f"The prior; missing: rows with {liked}", rows)


# ------------------------------------------------------------------------------ small steps


def size_of(rows: Path) -> int:
    """Return the bytes of a file, and say so where there are none."""
    size = rows.stat().st_size
    if not size:
        told(f"{rows.name} has no rows")
    return size


def show(
    title: str, rows: Mapping[str, Sequence[Mapping[str, float]]], columns: Mapping[str, str]
) -> None:
    """Print a table."""
    print(f"\n{title}\n")
    print("\n".join(table_of(rows, columns)), flush=True)


def warn(revisions: Collection[str]) -> None:
    """Say where the runs of a table are of several revisions: worlds may have changed between."""
    if len(revisions) > 1:
        print(f"\nThe runs are of several revisions: {', '.join(sorted(revisions))}.", flush=True)


def tables(script: Script) -> dict[str, Callable[[], None]]:
    """Return what can be printed, the paper's main table first."""
    make = script.make
    worlds: Iterable[tuple[str, Callable[[], World]]] = (
        ("navigation", partial(make.topv2, "navigation")),
        ("alarm", partial(make.topv2, "alarm")),
        ("smcalflow", make.smcalflow),
    )
    return {
        **{f"table 1 {name}": partial(main_table, script, world) for name, world in worlds},
        "table 2": partial(few_modes, script),
        "table 4": partial(shuffled, script),
        "figure 3": partial(split, script),
        "table 3 weather": partial(function, script, "WeatherQueryApi", "weather"),
        "table 3 event on date": partial(function, script, "EventOnDate"),
        "table 3 skills": partial(rendered, script),
        "prior": partial(prior, script),
    }


def main() -> None:
    """Make the runs that are wanted, and print their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = ROOT.parent / "shared" / "data"
    parser.add_argument("folder", nargs="?", type=Path, default=shared, help="public data sets")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "private",
                        help="data, generators and results [build/private]")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row [3]")
    parser.add_argument("--only", default="", help="tables whose names begin so")
    parser.add_argument("--private", type=int, help="private rows [20000]")
    parser.add_argument("--list", action="store_true", help="name the tables and stop")
    parser.add_argument("--smoke", action="store_true", help="few rows and steps")
    options = parser.parse_args()
    work = Work((options.work / "smoke" if options.smoke else options.work).resolve())
    sizes = SMOKE if options.smoke else Sizes(private=options.private or Sizes.private)
    seeds = range(1, 2 if options.smoke else 1 + options.seeds)
    folder = options.folder.resolve()
    script = Script(Maker(work, folder, sizes), Bench(work, sizes), Lines(Results(work)), seeds)
    if options.smoke:
        script = replace(script, epsilons=(8.0,))
    for name, make in tables(script).items():
        if name.startswith(options.only):
            print(name) if options.list else make()


if __name__ == "__main__":
    main()
