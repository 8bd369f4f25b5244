"""Runs of private generators that can be stopped and gone on with; what `private.py` is made of.

Generators, their rows and parsers are made by `genie-dp` commands, once each (see parser_runs.py).
Each generator has a ledger of its own, for each is an experiment in a world of its own: in life,
all runs on one set of rows share one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from parser_runs import OUTPUT, Results, Work, filled, genie, revision, told

DELTA = 8e-6  # Mireshghallah et al. 2023, A.3
# No noise worth the name; gradients are clipped as with noise. The paper's "No DP" clips nothing.
NONE = 1_000_000.0
# Without noise each number of the weights moves by the whole rate at each step; the rate of noisy
# steps then destroys what public rows taught (a word costs 3.8 nats, not 2.9).
PLAIN_RATE = 0.005
LEDGER = "{ledger}"
# All runs begin with the same public weights, as the paper's with GPT-2. Batches and noise of
# private rows have no seed, and differ.
PUBLIC_SEED = 1
# Where a parser reads rows back: draws of a sentence and of a row, at most.
READ_BACK = ("--redraws", 1, "--tries", 6)


@dataclass(frozen=True)
class Sizes:
    """How large everything is.

    Attributes:
        private, public, real: rows of each sort, at most; public ones are synthesized.
        of_domain: rows of each public domain of TOPv2, at most; None for all that people wrote.
        of_others: of each domain that is public beside SMCalFlow, at most.
        pretraining: epochs of the public rows, or as many as make `pretrained` rows.
        seen: private rows in all batches of a generator together. With many rows and few of them
            seen, a row is seldom in a batch, and there is little noise.
        drawn: rows that a generator makes, and that are compared.
        added: rows that a generator makes for a parser to learn from.
        asked: rows that one makes for annotators, who write a program for each sentence once.
        annotated: steps of the parser that stands for annotators.
        parser: steps of parsers that are measured.
        model: options of the generators. The longest programs and sentences must fit: what is cut
            has no end to learn, and a prompt takes at most half of `--longest`.
        sampling: options of `genie-dp private sample`.
        uses_shapes: whether all S-expressions are drawn in the shapes of public programs.
    """

    private: int = 20_000
    public: int = 12_000
    real: int = 1_000
    pretraining: int = 2
    pretrained: int = 48_000
    seen: int = 9_000
    drawn: int = 1_000
    added: int = 3_000
    asked: int = 10_000
    annotated: int = 2_400
    parser: int = 1_200
    model: tuple[object, ...] = (
        "--size", 96, "--layers", 2, "--longest", 160,
        "--pretraining-rate", 0.004, "--batch", 256, "--learning-rate", 0.02, "--chunk", 32,
    )  # fmt: skip
    sampling: tuple[object, ...] = ("--longest", 30)
    uses_shapes: bool = False
    of_domain: int | None = None
    of_others: int = 8_000


SMOKE = Sizes(
    120, 80, 60, 1, 80, 240, 30, 30, 30, 2, 2,
    ("--size", 16, "--layers", 1, "--heads", 2, "--longest", 48, "--batch", 40),
    ("--longest", 12, "--program-longest", 24),
    uses_shapes=True,  # after so few steps no program would be one otherwise
    of_domain=16,
    of_others=16,
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """A set of private rows, and what everybody knows.

    Attributes:
        private: rows with programs.
        public: files of rows.
        real: rows of people that were held out, as many as are compared.
        held_out: all of these.
        annotated: what the parser that stands for annotators learns from.
        codes: control codes, one a line.
        options: --language and --skills.
        grammar: declarations that programs are drawn under; those of `options` without.
        is_shaped: whether they are drawn in the shapes of public programs, as ThingTalk is by its
            library. Else, and without a grammar, any are drawn, as in the paper.
        epochs: of the public rows; 0 for those of `Sizes`.
        is_templated: whether its rows are of the templates, as those that parsers learn: some would
            be those held out, word for word, and are left out.
    """

    name: str
    private: Path
    public: tuple[Path, ...]
    real: Path
    held_out: Path
    annotated: tuple[Path, ...]
    codes: Path
    options: tuple[object, ...]
    grammar: Path | None = None
    is_shaped: bool = False
    epochs: int = 0
    is_templated: bool = False

    @property
    def about(self) -> int:
        """Return how many private rows there are."""
        return _count([self.private])

    @property
    def is_sexpr(self) -> bool:
        """Return whether programs are S-expressions."""
        return "sexpr" in self.options


@dataclass(frozen=True)
class Case:
    """One generator.

    Attributes:
        kind: "one-stage", "control" or "two-stage".
        split: shares of the rows seen for programs / for utterances; 2/8 is the paper's best.
        parser: a parser for the private rows; None for their own programs.
        patience: how many times `Sizes.seen` rows it sees.
        batch: rows of a batch on average; None for that of `Sizes.model`.
    """

    world: World
    kind: str
    epsilon: float
    split: str = ""
    parser: Path | None = None
    patience: float = 1.0
    batch: int | None = None

    @property
    def name(self) -> str:
        """Return the row of a table."""
        budget = "none" if self.epsilon == NONE else f"{self.epsilon:g}"
        return f"epsilon {budget}: {self.kind}{f' {self.split}' if self.split else ''}"


@dataclass(frozen=True)
class Bench:
    """Makes generators, rows and parsers in a folder of work, and measures them."""

    work: Work
    sizes: Sizes

    # ------------------------------------------------------------------------ what is made

    def generator(self, case: Case, seed: int) -> Path:
        """Return the folder of a generator."""
        command = self._training(case)
        target = self.work.place(case.kind, [*command, seed], "")
        if not target.exists():
            told(f"{case.world.name}, {case.name}, seed {seed}")
            ledger = self.budget(target, case.world.private, case.epsilon)
            words = [word.replace(LEDGER, str(ledger)) for word in filled(command, target)]
            cost = genie([*words, "--overwrite"])
            self._cost(target).write_text(json.dumps(cost), encoding="utf-8")
        return target

    def budget(self, target: Path, private: Path, epsilon: float) -> Path:
        """Return a new ledger for what is made at a place.

        What an interrupted run has spent stays spent in life; here the next is a new experiment.
        """
        for old in target.parent.glob(f"*{target.stem}.ledger*"):
            old.unlink()
        ledger = target.with_suffix(".ledger.json")
        promised = ["--epsilon", str(epsilon), "--delta", str(DELTA), "--unit", "utterance"]
        init = ["private", "budget", "init", str(private), *promised]
        genie([*init, "--allow-same-rows", "--ledger", str(ledger)])
        return ledger

    def _cost(self, folder: Path) -> Path:
        return folder.with_suffix(".cpu.json")

    def _training(self, case: Case) -> list[object]:
        world = case.world
        public = [word for path in world.public for word in ("--public", path)]
        return [
            "private", "train", case.kind, world.private, *public, *world.options,
            "--estimated-units", world.about, "--epsilon", case.epsilon,
            "--epochs", self._epochs(case),
            *(["--codes", world.codes] if case.kind == "control" else []),
            *(["--code-noise", 0.1] if (case.kind, case.epsilon) == ("control", NONE) else []),
            *(["--parser", case.parser] if case.parser else []),
            *self.sizes.model, *(["--batch", case.batch] if case.batch else []),
            *(["--learning-rate", PLAIN_RATE] if case.epsilon == NONE else []),
            "--pretraining-epochs", self._pretraining(world),
            "--pretrained", self.work.folder / "pretrained",
            "--seed", PUBLIC_SEED, "--ledger", LEDGER, "--output", OUTPUT,
        ]  # fmt: skip

    def _pretraining(self, world: World) -> int:
        least = ceil(self.sizes.pretrained / _count(world.public))
        return max(world.epochs or self.sizes.pretraining, least)

    def _epochs(self, case: Case) -> str:
        shares = [float(part) for part in (case.split or "2/8").split("/")]
        epochs = case.patience * self.sizes.seen / case.world.about
        if case.kind != "two-stage":
            return f"{epochs:.4g}"
        return "/".join(f"{epochs * share / sum(shares):.4g}" for share in shares)

    def drawn(
        self,
        case: Case,
        seed: int,
        *,
        rows: int = 0,
        temperature: float = 1.0,
        parser: Path | None = None,
    ) -> Path:
        """Return rows of a generator; at a lower temperature fewer and likelier sentences.

        A parser writes the programs where it makes none. Else only rows are kept that it reads
        back; they are others than without a parser, for it may have learned these.
        """
        folder = self.generator(case, seed)
        world = case.world
        # The language is the generator's.
        skills = ["--skills", world.grammar] if world.grammar else world.options[2:]
        command = ["private", "sample", folder, "--rows", rows or self.sizes.drawn, *skills]
        command += [*self.sizes.sampling, "--temperature", temperature]
        is_shaped = world.grammar or world.is_shaped or self.sizes.uses_shapes
        if world.is_sexpr and not is_shaped:
            command.append("--unconstrained")
        if parser is not None:
            command += ["--parser", parser, *READ_BACK]
        seed += 1 if parser else 0
        return self.work.made("drawn", [*command, "--seed", seed, "--output", OUTPUT])

    def parser(
        self,
        rows: Sequence[Path],
        options: Sequence[object],
        *,
        steps: int,
        seed: int = 1,
        added: Sequence[Path] = (),
    ) -> Path:
        """Return a parser of rows, and of others that are at most as much of what it learns."""
        inputs: Sequence[object] = rows
        if added:
            ratio = min(1.0, _count(added) / _count(rows))
            known = [f"{{path: {path}}}" for path in rows]
            known += [f"{{path: {path}, ratio: {ratio:.4g}}}" for path in added]
            lines = "".join(f"  - {one}\n" for one in known)
            inputs = "--recipe", self.work.recipe(f"inputs:\n{lines}")
        rest = ["--steps", steps, "--seed", seed, "--output", OUTPUT]
        return self.work.made("parser", ["train", *inputs, *options, *rest], "")

    def annotator(self, world: World) -> Path:
        """Return the parser that stands for annotators: "a parser trained on a large amount"."""
        return self.parser(world.annotated, world.options, steps=self.sizes.annotated)

    def prior(self, world: World, epsilon: float, seed: int) -> Path:
        """Return what is released of the functions that people use."""
        base = world.public[0]
        file = self.work.place("prior", ["prior", world.private, base, epsilon, seed], ".json")
        if not file.exists():
            ledger = self.budget(file, world.private, epsilon)
            command = ["private", "prior", world.private, "--epsilon", epsilon, "--ledger", ledger]
            rest = [
                "--estimated-units",
                world.about,
                "--public",
                base,
                "--output",
                file,
                "--overwrite",
            ]
            genie([*map(str, [*command, *rest])])
        return file

    # ----------------------------------------------------------------------- what is measured

    def compared(self, case: Case, rows: Path, parser: Path | None, seed: int) -> dict[str, Any]:
        """Return the result of `genie-dp private compare` for the rows of a generator."""
        world = case.world
        command = ["private", "compare", world.real, rows, "--real-is-public", *world.options]
        command += ["--generator", self.generator(case, seed)]
        said = ["--parser", parser] if parser else []
        return self._result([*command, *said, "--mauve-runs", 2, "--seed", seed])

    def parsed(self, rows: Path, parser: Path, options: Sequence[object]) -> dict[str, float]:
        """Return graph match, precision and recall of a parser on rows (Table 3)."""
        command = ["private", "compare", rows, rows, "--real-is-public", *options]
        # No loss is asked for; rows of one function may be too few for models of their halves.
        quick = ["--no-mauve", "--lm-text", rows]
        found = self._result([*command, "--parser", parser, *quick])
        figures = found["real"]["figures"]
        return {name: figures[name]["value"] for name in ("graph_match", "precision", "recall")}

    def _result(self, command: Sequence[object]) -> dict[str, Any]:
        target = self.work.folder / "result.json"
        genie([*map(str, command), "--output", str(target)])
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return found

    def minutes(self, case: Case, seed: int) -> float:
        """Return the CPU minutes of a generator."""
        seconds: float = json.loads(self._cost(self.generator(case, seed)).read_text())
        return seconds / 60


def _count(files: Sequence[Path]) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in files)


# ---------------------------------------------------------------------------- lines and tables


@dataclass(frozen=True)
class Lines:
    """The file of results: a line for each row of a table and seed."""

    results: Results

    def known(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the line of a key, if there is one."""
        name = json.dumps(key, sort_keys=True)
        return next((line for line in self.results.lines() if line["key"] == name), None)

    def add(self, key: Mapping[str, Any], figures: Mapping[str, float], minutes: float) -> None:
        """Write a line."""
        name = json.dumps(key, sort_keys=True)
        line = {"key": name, **key, "figures": dict(figures), "cpu_minutes": minutes}
        self.results.add({**line, "code": revision()})


def table_of(
    rows: Mapping[str, Sequence[Mapping[str, float]]], columns: Mapping[str, str]
) -> Iterator[str]:
    """Yield a Markdown table of the mean and the standard deviation over seeds.

    Args:
        rows: name -> figures of each seed.
        columns: figure -> title.

    >>> print(*table_of({"a": [{"x": 0.5}, {"x": 0.7}]}, {"x": "X"}), sep="\\n")
    | | X | runs |
    |---|---|---|
    | a | 0.600 ± 0.141 | 2 |
    """
    yield f"| | {' | '.join(columns.values())} | runs |"
    yield "|---" * (len(columns) + 2) + "|"
    for name, figures in rows.items():
        cells = [cell([one[key] for one in figures if key in one]) for key in columns]
        yield f"| {' | '.join([name, *cells, str(len(figures))])} |"


def cell(values: Sequence[float]) -> str:
    """Return mean and sample standard deviation, as the paper's tables.

    >>> cell([0.5]), cell([])
    ('0.500', '')
    """
    if not values:
        return ""
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{fmean(values):.3f}{spread}"
