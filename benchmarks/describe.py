"""How many programs are described, how fast, and whether each sentence is read back.

    python benchmarks/describe.py --rows 2000 --read-back 2000

Programs: synthesized rows of the shipped library at depth 5, those of the skills' `eval.tsv`, which
people wrote, those with one change each, and random ones over the functions of the library. What
templates say, of a program or of its parts, is explained for the first N of each with `--read-back
N`: the law is that the program is among those that the sentence means. `--show N` prints N random
ones to read.
`--render N` says the first N of each as `genie-dp private render` does: five sentences, each read
back.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from genie_dp.cli.inputs import load_inputs
from genie_dp.errors import GenieError
from genie_dp.private.prior.render import Renderer
from genie_dp.resources import data_folder
from genie_dp.run.collector import leave_to_the_end
from genie_dp.synthesis.compiler import CompiledGrammar, compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.describe import Describer, Description
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import Explainer, read_pairs
from genie_dp.synthesis.rows import SynthesisCounts, block_numbers, new_rows
from genie_dp.synthesis.sentence_hashes import SentenceHashes
from genie_dp.templates.grammar import subset
from genie_dp.templates.inputs import Inputs
from tests.languages.thingtalk import strategies
from tests.synthesis.test_describe_words import mutants


@dataclass(frozen=True)
class Described:
    """A program with its description and what it took, in seconds of CPU."""

    program: Any
    description: Description
    seconds: float


def synthesized(inputs: Inputs, compiled: CompiledGrammar, count: int, seed: int) -> Iterator[str]:
    """Yield the programs of synthesized rows of depth 5, shuffled."""
    config = SynthesisConfig(size=10 * count, max_depth=5, seed=seed)
    made = build_engine(compiled, config)
    found = new_rows(
        made, block_numbers(made), SentenceHashes(), SynthesisCounts(), limit=config.size
    )
    rows = b"".join(part.text for part in found).decode().splitlines()
    for line in random.Random(f"{seed}:describe").sample(rows, count):
        yield json.loads(line)["program"]


def written() -> Iterator[str]:
    """Yield the programs that stand in the skills' `eval.tsv`."""
    for path in sorted(data_folder("thingpedia").glob("*/eval.tsv")):
        for _, _, program in read_pairs(path):
            yield program


def changed(inputs: Inputs, describer: Describer, count: int) -> Iterator[Any]:
    """Yield programs of people with one change each: an operator, "not", "or", one thing less."""
    trees = [describer.read(text) for text in written()]
    found = (
        mutant
        for number in range(10**9)
        for rng in [random.Random(f"changed:{number}")]
        for mutant in mutants(rng.choice(trees), rng, 1)
    )
    return islice(well_typed(inputs, found), count)


def drawn(inputs: Inputs, count: int) -> Iterator[Any]:
    """Yield random programs, one in ten a policy, over a few functions each."""
    functions = inputs.library.functions()

    def draw(number: int) -> Any:
        rng = random.Random(f"drawn:{number}")
        few = strategies.part_of(rng, functions)
        return (strategies.policy if number % 10 == 0 else strategies.program)(rng, few)

    return islice(well_typed(inputs, map(draw, range(10**9))), count)


def well_typed(inputs: Inputs, programs: Iterator[Any]) -> Iterator[Any]:
    """Yield the programs without a mistake, in canonical form."""
    language, library = inputs.language, inputs.library
    for program in programs:
        if not any(p.severity == "error" for p in language.check(program, library)):
            with suppress(GenieError):  # too many clauses in normal form
                yield language.canonical(program, library)


def described(describer: Describer, programs: Sequence[Any]) -> list[Described]:
    """Describe programs, each timed by itself."""
    found = []
    for program in programs:
        start = time.thread_time()
        description = describer.describe(program)
        found.append(Described(program, description, time.thread_time() - start))
    return found


def report(name: str, found: Sequence[Described], explainer: Explainer, read_back: int) -> None:
    """Print counts and times."""
    whole = [d.description for d in found if d.description.complete]
    partly = [d.description for d in found if d.description.parts]
    times = sorted(d.seconds * 1000 for d in found)
    print(
        f"{name}: {len(found):,} programs, {len(whole):,} ({len(whole) / len(found):.1%}) said by"
        f" templates, {len(partly):,} partly in our own words,"
        f" {len(found) - len(whole) - len(partly):,} in our own words only;"
        f" CPU median {statistics.median(times):.0f} ms,"
        f" 95th percentile {times[int(len(times) * 0.95)]:.0f} ms, worst {times[-1]:.0f} ms"
    )
    lost = several = 0
    said = [*whole[:read_back], *(part for d in partly[:read_back] for part in d.parts)]
    for description in said if read_back else ():
        programs = explainer.meanings(description.utterance)
        lost += description.program not in programs
        several += len(programs) > 1
    if read_back:
        print(
            f"  {len(said):,} sentences read back: {lost} without their program,"
            f" {several} with a second one"
        )


def report_rendered(name: str, renderer: Renderer, programs: Sequence[str]) -> None:
    """Print what it takes to say programs in several sentences."""
    times, sentences = [], 0
    for program in programs:
        start = time.thread_time()
        said = renderer.say(program)
        times.append((time.thread_time() - start) * 1000)
        sentences += 0 if isinstance(said, str) else len(said)
    times.sort()
    print(
        f"{name}: {len(programs):,} programs, {sentences:,} sentences rendered; CPU mean"
        f" {statistics.fmean(times):.0f} ms, median {statistics.median(times):.0f} ms,"
        f" 95th percentile {times[int(len(times) * 0.95)]:.0f} ms, worst {times[-1]:.0f} ms"
    )


def main() -> None:
    """Measure."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=2000)
    arguments.add_argument("--read-back", type=int, default=0)
    arguments.add_argument("--show", type=int, default=0)
    arguments.add_argument("--render", type=int, default=0)
    arguments.add_argument("--number", type=int, default=1, help="seed of the rows")
    given = arguments.parse_args()
    start = time.perf_counter()
    inputs = load_inputs("thingtalk", (), (), skip_broken=False)
    config = SynthesisConfig(on_error="skip")
    grammar = subset(inputs.grammar, config.subsets)
    compiled = compile_grammar(grammar, inputs.language, inputs.library, config)
    read = time.perf_counter()
    describer = Describer(compiled, inputs.library)
    print(f"read {read - start:.1f} s, indexed {time.perf_counter() - read:.1f} s")
    explainer = Explainer(compiled)
    renderer = Renderer(describer, Explainer(compiled))
    leave_to_the_end()
    for name, programs in (
        ("synthesized", list(synthesized(inputs, compiled, given.rows, given.number))),
        ("eval.tsv", list(written())),
        ("eval.tsv, changed", list(changed(inputs, describer, given.rows))),
        ("drawn", list(drawn(inputs, given.rows))),
    ):
        found = described(describer, programs)
        report(name, found, explainer, given.read_back)
        if given.render and isinstance(programs[0], str):
            report_rendered(name, renderer, programs[: given.render])
        for d in random.Random("show").sample(found, min(given.show, len(found))):
            tree = describer.read(d.program) if isinstance(d.program, str) else d.program
            print(f"{inputs.language.render(tree)}\n    {d.description.sentence}")


if __name__ == "__main__":
    main()
