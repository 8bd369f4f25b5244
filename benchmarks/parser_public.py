"""Parsers on public data sets: exact match, CPU minutes, the nearest sentence beside them.

    python benchmarks/parser_public.py ../shared/data
    python benchmarks/parser_public.py ../shared/data --only overnight
    python benchmarks/parser_public.py ../shared/data --smoke

The folder has a folder for each data set; what is read of them, with which settings, stands in
docs/research/experiments.md. Test rows choose nothing: without --report no file of them is opened,
and parsers are tested on a tenth of the training rows, for settings to be tuned on. A run that
has a line in results.jsonl is not made again.
"""

import argparse
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import convert_shared
from measure import ROOT
from parser_runs import NEAREST, OUTPUT, Results, Trial, Work, budget_of, options_of
from thingtalk2 import read_thingtalk2

from genie_dp.dataset.scan import hash_of
from genie_dp.records import Example
from genie_dp.rows import read_rows
from genie_dp.skills.load import load_library

PIZZA = ROOT / "examples" / "pizza"
CANONICAL = ROOT / "examples" / "canonical"
SEXPR = ("--language", "sexpr")
PIZZA_READ = 30  # rows of dev, the first ones: the templates were written after reading them
PIZZA_SYNTHESIS = ("--max-depth", 8, "--depth-decay", 1, "--pool-size", 10_000)
OVERNIGHT = ("blocks", "calendar", "housing", "restaurants")
SCHEMAS = ("restaurants", "people", "music")
TOPV2 = ("alarm", "event", "navigation")
# What learns people's own rows, of which there are few (docs/research/experiments.md, tuning).
FEW_ROWS = {"dropout": 0.35}
DECAY = ("--weight-decay", 0.1)
ONE_OF_TEN = 10


@dataclass(frozen=True)
class Way:
    """One way to train on a data set.

    Attributes:
        rows: the files to train on.
        steps: of training, unless told on the command line.
        options: of `genie-dp train`.
        is_even: whether as much is learned of each file, else as it has rows.
        network: settings of the network that differ from its own.
    """

    name: str
    rows: tuple[Path, ...]
    steps: int
    options: tuple[object, ...] = ()
    is_even: bool = False
    network: Mapping[str, float] = field(default_factory=dict)

    def recipe(self, work: Work) -> Path | None:
        """Return a recipe with what has no option: shares of the files, and the network."""
        if not self.is_even and not self.network:
            return None
        share = ", ratio: 1" if self.is_even else ""
        inputs = "".join(f"  - {{path: {path}{share}}}\n" for path in self.rows)
        network = f"network: {json.dumps(self.network)}\n" if self.network else ""
        return work.recipe(f"inputs:\n{inputs}{network}")


@dataclass(frozen=True)
class DataSet:
    """A data set with what parsers are trained on, and tested on.

    Attributes:
        parts: columns of their own for some of the test's rows.
    """

    name: str
    test: Path
    ways: tuple[Way, ...]
    asked: tuple[object, ...] = ()
    parts: Mapping[str, Path] = field(default_factory=dict)


def sentence_of(row: Example) -> str:
    """Return the sentence of a row."""
    return row.utterance


def origin_of(row: Example) -> str:
    """Return what a paraphrase of Schema2QA was made of: its id is that with a number behind.

    >>> origin_of(Example("4145962_4", "", ""))
    '4145962'
    """
    return row.id.rpartition("_")[0] or row.id


def part_of(rows: Path, family: Callable[[Example], str], *, is_held: bool) -> Iterator[Example]:
    """Yield a tenth of the rows by a hash of their family, or the others."""
    for row in read_rows(str(rows)):
        if (hash_of(family(row)) % ONE_OF_TEN == 0) == is_held:
            yield row


@dataclass(frozen=True)
class Maker:
    """Makes the data of one script call.

    Attributes:
        source: folder of the public data sets.
        is_report: test on the rows that are reported, else on a tenth of the training rows.
        few: rows of each file, at most.
        size: synthesized rows.
    """

    work: Work
    source: Path
    is_report: bool = False
    few: int | None = None
    size: int = 80_000
    jobs: int = 1

    def converted(self, kind: str, name: str, source: str, *options: object) -> Path:
        """Return rows of a public file in our form, those of one source."""
        rows = self.work.made(
            kind, ["data", "convert", "--from", kind, *options, self.source / name, OUTPUT]
        )
        return self.work.first(self.work.of_source(rows, source), self.few)

    def read_thingtalk2(self, name: str, skills: Path, *, placeholders: bool = False) -> Path:
        """Return the rows of a public file whose ThingTalk 2 programs we can say."""
        file = self.source / name

        def choose() -> Iterator[Example]:
            library = load_library([skills], skip_broken=True)
            rows = read_thingtalk2(file, library, placeholders=placeholders)
            return (row for row in rows if isinstance(row, Example))

        rows = self.work.chosen("thingtalk2", file, choose, skills, placeholders)
        return self.work.first(rows, self.few)

    def but_first(self, rows: Path, count: int) -> Path:
        """Return the rows behind the first ones."""
        return self.work.chosen(
            "others", rows, lambda: islice(read_rows(str(rows)), count, None), "others", count
        )

    def parts(
        self, train: Path, test: Path | None, family: Callable[[Example], str] = sentence_of
    ) -> tuple[Path, Path]:
        """Return what is trained and tested on: rows of one family are on one side."""
        if self.is_report and test is not None:
            return train, test

        def chosen(name: str, *, is_held: bool) -> Path:
            def choose() -> Iterator[Example]:
                return part_of(train, family, is_held=is_held)

            return self.work.chosen(name, train, choose, name, family.__name__)

        held, rest = chosen("held", is_held=True), chosen("rest", is_held=False)
        return rest, held

    def rewritten(self, rows: Sequence[Path], *options: object, number: int) -> Path:
        """Return automatic paraphrases of rows."""
        command = ["data", "paraphrase", "auto", *rows, "--number", number, "--seed", 1, *options]
        return self.work.made("rewritten", [*command, "--jobs", self.jobs, "--output", OUTPUT])

    def augmented(self, rows: Sequence[Path], *options: object) -> Path:
        """Return rows with values, noise and other words; a crowd's row may lack a value."""
        command = ["data", "augment", *rows, "--seed", 1, "--jobs", self.jobs, *options]
        command += ["--on-error", "skip"]
        return self.work.made("augmented", [*command, "--output", OUTPUT])

    def synthesized(self, *options: object) -> Path:
        """Return synthesized rows."""
        command = ["synthesize", "--size", self.few or self.size, "--seed", 1, *options]
        return self.work.made("pairs", [*command, "--jobs", self.jobs, "--output", OUTPUT])


# ----------------------------------------------------------------------- the data sets


def topv2(maker: Maker, name: str) -> DataSet:
    """Return a domain, supervised."""
    suffix = ".gz" if name == "navigation" else ""
    train = maker.converted("topv2", f"topv2/{name}.train.jsonl.gz", "human")
    test = reported(maker, "topv2", f"topv2/{name}.eval.jsonl{suffix}", "human")
    train, test = maker.parts(train, test)
    steps = 5_000 if name == "event" else 10_000
    way = Way("supervised", (train,), steps, (*SEXPR, *DECAY), network=FEW_ROWS)
    return DataSet(f"topv2 {name}", test, (way,))


def rules(name: str) -> tuple[object, ...]:
    """Return the options that rewrite by rules for canonical sentences, and by no others."""
    only = ("--only-my-rules", "--lexicon", "none", "--all-results", "--names", "string")
    return (*SEXPR, "--rules", CANONICAL / f"{name}.rules", *only)


def overnight(maker: Maker, name: str) -> DataSet:
    """Return a domain: canonical sentences with rewrites and noise, and supervised."""
    people = maker.converted("overnight", f"overnight/{name}.train.jsonl", "paraphrase")
    test = reported(maker, "overnight", f"overnight/{name}.test.jsonl", "paraphrase")
    people, test = maker.parts(people, test)
    canonical = maker.converted("overnight", f"overnight/{name}.canonical.tsv", "synthetic")
    phrases = maker.rewritten((canonical,), *rules("phrases"), number=8)
    openings = maker.rewritten((canonical, phrases), *rules("openings"), number=4)
    said = (canonical, phrases, openings)
    noisy = maker.augmented(said, *SEXPR, "--primitive", 1, "--compound", 1)
    options = (*SEXPR, "--batch", 32)
    ways = (
        Way("canonical only", (canonical,), 2_000, options),
        Way("canonical, rewrites, noise", (*said, noisy), 3_000, options),
        Way("supervised", (people,), 3_000, (*options, *DECAY), network=FEW_ROWS),
        Way("supervised, and as much of these", (people, noisy), 4_000, options, is_even=True),
    )
    return DataSet(f"overnight {name}", test, ways)


def pizza(maker: Maker) -> DataSet:
    """Return orders made by the templates of examples/pizza; no order of a person."""
    folder = pizza_templates(maker.work, maker.source / "pizza" / "catalogs.tsv")
    skills = (*SEXPR, "--skills", folder / "pizza.sexpr")
    pairs = maker.synthesized(*skills, "--grammar", folder, *PIZZA_SYNTHESIS)
    pairs, test = maker.parts(pairs, reported(maker, "pizza", "pizza/dev.jsonl", "human"))
    noisy = maker.augmented((pairs,), *skills)
    way = Way("templates, noise", (noisy,), 12_000, skills)
    # Without declarations: those of the templates do not know all that people ordered.
    parts = {}  # nobody read the others before the templates were written
    if maker.is_report and not maker.few:
        parts["rows not read"] = maker.but_first(test, PIZZA_READ)
    return DataSet("pizza", test, (way,), (*SEXPR, "--unordered"), parts)


def pizza_templates(work: Work, catalogs: Path) -> Path:
    """Return the templates with the lists of words that the data set has."""
    target = work.place("pizza", ["templates", PIZZA, catalogs], "")
    if not target.exists():
        unfinished = target.with_suffix(".partial")
        shutil.copytree(PIZZA, unfinished, dirs_exist_ok=True)
        for name, entries in pizza_lists(list(entries_of(catalogs))).items():
            lines = ["words\tprogram", *dict.fromkeys(map("\t".join, entries)), ""]
            (unfinished / f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
        unfinished.rename(target)
    return target


def pizza_lists(entries: Sequence[tuple[str, str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Return the lists of the templates: name -> words with their symbols; none is empty.

    Catalogs do not say what is plural: it is what has a singular with the same symbol. Where they
    have `hams` and `ham` for HAM, `hams` is rare; `olive` of OLIVES stands before the noun only.
    """
    known = set(entries)
    singular = {entry: known & singulars_of(entry) for entry in entries}
    counted = set().union(*singular.values())
    lists = defaultdict(list)
    for entry in entries:
        for name in lists_of(entry, is_plural=bool(singular[entry]), is_counted=entry in counted):
            lists[name].append((entry[1].removeprefix("with "), entry[2]))
    return lists


def singulars_of(entry: tuple[str, str, str]) -> set[tuple[str, str, str]]:
    """Return what an entry would be in the singular, if it were a plural.

    >>> sorted(words for _, words, _ in singulars_of(("topping", "tomatoes", "TOMATOES")))
    ['tomato', 'tomatoe']
    """
    slot, words, symbol = entry
    endings = (("s", ""), ("es", ""), ("ies", "y"))
    found = (words[: -len(old)] + new for old, new in endings if words.endswith(old))
    return {(slot, word, symbol) for word in found}


def lists_of(entry: tuple[str, str, str], *, is_plural: bool, is_counted: bool) -> list[str]:
    """Return the names of the templates' lists that hold an entry.

    >>> lists_of(("topping", "ham", "HAM"), is_plural=False, is_counted=True)
    ['toppings', 'toppings-before']
    """
    slot, words, symbol = entry
    if slot == "topping":
        if is_plural:
            return ["toppings" if symbol.endswith("S") else "toppings-rare"]
        is_mass = not (is_counted and symbol.endswith("S"))
        return ["toppings", "toppings-before"] if is_mass else ["toppings-before"]
    if slot == "style":
        return [sort_of_style(words)]
    if " - " in words:
        return []
    single = {"drinkType": "drinks", "size": "sizes"}
    return [single[slot] + ("-plural" if is_plural else "")] if slot in single else []


def sort_of_style(words: str) -> str:
    """Return the list of the templates that holds a style.

    >>> sort_of_style("thin crust"), sort_of_style("all the cheese"), sort_of_style("vegan")
    ('crusts', 'everything', 'styles')
    """
    if words.endswith("crusts"):
        return "crusts-plural"
    if words.endswith(("crust", "dough")):
        return "crusts"
    whole = ("all the", "every", "with the")
    return "everything" if words.startswith(whole) else "styles"


def entries_of(catalogs: Path) -> Iterator[tuple[str, str, str]]:
    """Yield slot, words and symbol of each entry of the catalogs."""
    for line in catalogs.read_text(encoding="utf-8").splitlines()[1:]:
        _, surface, slot, entity = line.split("\t")
        yield slot, surface.lower(), entity.upper()


def schema2qa(maker: Maker, name: str) -> DataSet:
    """Return a domain, trained on the crowd's paraphrases with values; rows that have an equal."""
    schema = maker.source / "schema2qa" / f"{name}.schema.jsonl"
    folder = written_skills(maker.work, schema)
    skills = ("--skills", folder, "--skip-broken")
    suffix = "" if name == "music" else ".gz"
    file = f"schema2qa/{name}.paraphrase.jsonl{suffix}"
    # Few values stand in all paraphrases; with placeholders, each row gets others.
    train = maker.read_thingtalk2(file, folder, placeholders=True)
    test = None
    if maker.is_report:
        test = maker.read_thingtalk2(f"schema2qa/{name}.eval.jsonl", folder)
    train, test = maker.parts(train, test, origin_of)
    said = maker.augmented((train,), *skills)
    return DataSet(f"schema2qa {name}", test, (Way("paraphrases", (said,), 4_000, skills),), skills)


def thingtalk(maker: Maker) -> DataSet:
    """Return real commands of Thingpedia: synthesized, paraphrases, both."""
    folder = maker.source / "thingpedia"
    classes, templates = folder / "skills.jsonl", folder / "primitive_templates.jsonl"
    written = written_skills(maker.work, classes, templates)
    skills = ("--skills", written, "--skip-broken")
    file = "thingtalk/paraphrase.train.jsonl.gz"
    said = maker.read_thingtalk2(file, written, placeholders=True)
    part = "dev" if maker.is_report else "train"
    test = maker.read_thingtalk2(f"thingtalk/eval.{part}.jsonl", written)
    asked = ("--grammar", "shipped/answers.genie", "--subset", "answers")
    made = maker.augmented((maker.synthesized(*skills, *asked),), *skills)
    people = maker.augmented((said,), *skills)
    ways = (
        Way("synthesized only", (made,), 6_000, skills),
        Way("paraphrases only", (people,), 6_000, skills),
        Way("both", (made, people), 6_000, skills),
    )
    plain = maker.work.chosen("plain", test, lambda: without_questions(test), "plain")
    return DataSet("thingtalk", test, ways, skills, {"without question syntax": plain})


_QUESTION_SYNTAX = re.compile(r" select \[| sort param:|\) \[ |contains~|in_array~| distance ")


def without_questions(rows: Path) -> Iterator[Example]:
    """Yield the rows whose programs need nothing of what ThingTalk has for questions."""
    return (row for row in read_rows(str(rows)) if not _QUESTION_SYNTAX.search(row.program))


SETS: Mapping[str, Callable[[Maker], DataSet]] = {
    "thingtalk": thingtalk,
    **{f"overnight {name}": partial(overnight, name=name) for name in OVERNIGHT},
    **{f"schema2qa {name}": partial(schema2qa, name=name) for name in SCHEMAS},
    "pizza": pizza,
    **{f"topv2 {name}": partial(topv2, name=name) for name in TOPV2},
}


def reported(maker: Maker, kind: str, name: str, source: str, *options: object) -> Path | None:
    """Return the rows that are reported; none unless they are asked for."""
    return maker.converted(kind, name, source, *options) if maker.is_report else None


# ----------------------------------------------------------------------- skills of public files


def written_skills(work: Work, classes: Path, templates: Path | None = None) -> Path:
    """Return a folder with a skill for each class of a file of JSON lines."""
    files = [classes, templates] if templates else [classes]
    target = work.place("skills", ["skills", *files], "")
    if not target.exists():
        unfinished = target.with_suffix(".partial")
        unfinished.mkdir(exist_ok=True)
        convert_shared.skills_of(lines_of(classes), unfinished)
        if templates:
            write_templates(lines_of(templates), unfinished)
        unfinished.rename(target)
    return target


def lines_of(path: Path) -> Iterator[dict[str, object]]:
    """Yield the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


# Changes of one output alone, which ours says otherwise (`on new [id]`): few templates.
_CHANGES_OF = re.compile(r"\bid of @")
_CALLED = re.compile(r"(@[\w.-]+)(?:\([^()]*\)(\.\w+))?\(")
_QUERY = re.compile(r"^ *(?:monitorable |list )*query (\w+)", re.MULTILINE)


def write_templates(rows: Iterator[Mapping[str, object]], folder: Path) -> None:
    """Write primitive templates beside their skills."""
    queries = {
        f"@{skill.parent.name}.{found[1]}"
        for skill in folder.glob("*/skill.tt")
        for found in _QUERY.finditer(skill.read_text(encoding="utf-8"))
    }
    texts = defaultdict(list)
    for row in rows:
        if not _CHANGES_OF.search(str(row["program"])):
            texts[row["device"]].append(template(as_rule(row, queries)))
    for device, found in texts.items():
        skill = folder / str(device) / "skill.tt"
        if skill.exists():
            # Templates of Thingpedia stand beside a manifest.tt, ours beside a skill.tt.
            skill.rename(skill.with_name("manifest.tt"))
            lines = [f'dataset @{device} language "en" {{', *found, "}", ""]
            (folder / str(device) / "dataset.tt").write_text("\n".join(lines), encoding="utf-8")


def as_rule(row: Mapping[str, object], queries: Collection[str]) -> Mapping[str, object]:
    """Return a template whose program is a whole rule, as ours are, where it is a program.

    >>> row = {"kind": "program", "program": "@x(name=p_name).f()"}
    >>> as_rule(row, {"@x.f"})
    {'kind': 'program', 'program': 'now => @x(name=p_name).f() => notify'}
    >>> as_rule({"kind": "action", "program": "@x.f() => @x.g(a=b)"}, {"@x.f"})
    {'kind': 'program', 'program': 'now => @x.f() => @x.g(a=b)'}
    """
    program = str(row["program"])
    is_action = row["kind"] == "action" and "=>" not in program
    if row["kind"] in ("query", "stream") or is_action or program.startswith("now"):
        return row
    name, method = _CALLED.findall(program)[-1]
    end = " => notify" if name + method in queries else ""
    return {**row, "kind": "program", "program": f"now => {program}{end}"}


def template(row: Mapping[str, object]) -> str:
    """Return a primitive template as Thingpedia writes it.

    >>> row = {"kind": "query", "params": {"p_a": "String"}, "program": "@x.f(a=p_a)"}
    >>> print(template({**row, "utterances": ["f of $p_a"]}))
      query (p_a : String) := @x.f(a=p_a)
      #_[utterances=["f of $p_a"]];
    """
    params = row["params"]
    assert isinstance(params, Mapping)
    told = ", ".join(f"{name} : {kind}" for name, kind in params.items())
    head = f"{row['kind']} ({told})" if told else str(row["kind"])
    utterances = json.dumps(row["utterances"], ensure_ascii=False)
    return f"  {head} := {row['program']}\n  #_[utterances={utterances}];"


# ----------------------------------------------------------------------- the runs


def trials_of(found: DataSet, work: Work) -> list[tuple[Trial, int]]:
    """Return the rows of the table with their steps, the nearest sentence first of each way."""
    tests = {"exact match": found.test, **found.parts}
    pairs = []
    for way in found.ways:
        name = f"{found.name}: {way.name}"
        nearest = Trial(f"{name}: {NEAREST}", way.rows, tests, asked=found.asked, is_nearest=True)
        pairs.append((nearest, way.steps))
        recipe = way.recipe(work)
        trial = Trial(name, way.rows, tests, way.options, found.asked, recipe=recipe)
        pairs.append((trial, way.steps))
    return pairs


def main() -> None:
    """Make the runs and print the tables."""
    parser = options_of(__doc__ or "", "parser-public")
    parser.add_argument("folder", type=Path, help="folder of the public data sets")
    parser.add_argument("--report", action="store_true", help="test on the rows to be reported")
    parser.add_argument("--size", type=int, default=80_000, help="synthesized rows [80000]")
    options = parser.parse_args()
    run(options)


def run(options: argparse.Namespace) -> None:
    """Make the runs of all data sets that are wanted, and print a table for each."""
    work = Work((options.work / "smoke" if options.smoke else options.work).resolve())
    few = 40 if options.smoke else None
    maker = Maker(work, options.folder.resolve(), options.report, few, options.size, options.jobs)
    results = Results(work)
    seeds = range(1, 1 + (1 if options.smoke else options.seeds))
    only = options.only or ("overnight calendar" if options.smoke else "")
    for name, make in SETS.items():
        # Rows of one data set, such as "pizza: templates", have its name and a colon before theirs.
        if name.startswith(only) or only.startswith(f"{name}:"):
            print(f"\n{name}\n", flush=True)
            trials = [
                pair for pair in trials_of(make(maker), work) if pair[0].name.startswith(only)
            ]
            show(results, trials, options, seeds)


def show(
    results: Results,
    trials: Sequence[tuple[Trial, int]],
    options: argparse.Namespace,
    seeds: Sequence[int],
) -> None:
    """Make the runs of a data set and print its table."""
    lines: dict[str, None] = {}
    for trial, steps in trials:
        budget = budget_of(options, steps)
        results.run([trial], budget, seeds)
        lines |= dict.fromkeys(results.table([trial], budget, seeds))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
