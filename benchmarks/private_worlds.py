"""Worlds for `private.py`: TOPv2 and SMCalFlow, and people who use the shipped skills."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from parser_runs import OUTPUT, Work
from private_runs import Sizes, World

from genie_dp.dataset.scan import hash_of
from genie_dp.languages.sexpr.ast import Expression, Node, label
from genie_dp.languages.sexpr.canonical import sort_of
from genie_dp.languages.sexpr.text import parse
from genie_dp.records import Example
from genie_dp.rows import read_rows

SEXPR = ("--language", "sexpr")
TOPV2 = ("alarm", "event", "messaging", "music", "navigation", "timer")
ONE_OF_TEN = 10
# Of the few public rows of SMCalFlow, before generators learn them: those that name the labels of a
# schema would else be a third of them, and what is drawn (docs/research/benchmarks.md, "Adding a
# function").
COPIES = 10
# Of these with what is said to other assistants, which is where a small decoder learns English.
EPOCHS = 3
# Functions that the templates under-represent, as many as the experiment names.
RARE = 2
NAMED = 5  # programs that tell the name of a function
SKEW = 30.0  # how much more often people ask for these


@dataclass(frozen=True)
class Maker:
    """Makes the worlds of one script call.

    Attributes:
        source: folder of the public data sets.
    """

    work: Work
    source: Path
    sizes: Sizes

    # -------------------------------------------------------------------------- TOPv2, SMCalFlow

    def topv2(self, domain: str) -> World:
        """Return the world where one domain is private, and the others are public."""
        people, held_out = self._topv2(domain, "train"), self._topv2(domain, "eval")
        others = [self._topv2(name, "train") for name in TOPV2 if name != domain]
        public = tuple(self._some("public", rows, self.sizes.of_domain) for rows in others)
        return self._world(f"TOPv2 {domain}", people, people, public, held_out)

    def _topv2(self, domain: str, part: str) -> Path:
        packed = part == "train" or domain == "navigation"
        name = f"topv2/{domain}.{part}.jsonl{'.gz' if packed else ''}"
        return self._converted("topv2", name)

    def smcalflow(self) -> World:
        """Return the world of SMCalFlow: a tenth of the rows is public (section 5.4).

        So is what people say to other assistants: generators here know no English otherwise, as
        the paper's GPT-2 does.

        Its programs have the shapes of 787 of 1,000 that were held out, so others are not drawn.
        """
        people = self._converted("smcalflow", "smcalflow/smcalflow.train.jsonl.gz")
        held_out = self._converted("smcalflow", "smcalflow/smcalflow.dev.jsonl")
        public, private = (self.tenth(people, is_public=is_public) for is_public in (True, False))
        known = (self.repeated(public), self.said_to_others())
        world = self._world("SMCalFlow", people, private, known, held_out)
        return replace(world, is_shaped=True, epochs=EPOCHS)

    def said_to_others(self, *, without: str = "") -> Path:
        """Return sentences of all domains of TOPv2, without those that have a word.

        They come without programs, which are of another assistant.
        """
        domains = [self._topv2(name, "train") for name in TOPV2]

        def choose() -> Iterator[Example]:
            for rows in domains:
                for row in read_rows(str(self._some("others", rows, self.sizes.of_others))):
                    if not without or without not in row.utterance.lower().split():
                        yield replace(row, program="", functions=())

        count = self.sizes.of_others
        return self.work.chosen("said", domains[0], choose, *domains[1:], count, without)

    def tenth(self, rows: Path, *, is_public: bool, without: str = "") -> Path:
        """Return a tenth of the rows, without those of a function; or the others, with them."""

        def choose() -> Iterator[Example]:
            for row in read_rows(str(rows)):
                is_tenth = hash_of(row.utterance) % ONE_OF_TEN == 0
                if is_tenth == is_public and not (is_public and without in row.functions):
                    yield row

        name = "public" if is_public else "private"
        return self.work.chosen(name, rows, choose, name, without)

    def repeated(self, rows: Path) -> Path:
        """Return rows, each of them often."""

        def choose() -> Iterator[Example]:
            for copy in range(COPIES):
                for row in read_rows(str(rows)):
                    yield replace(row, id=f"{row.id}c{copy}")

        return self.work.chosen("copies", rows, choose, "copies", COPIES)

    def _world(
        self, name: str, people: Path, private: Path, public: tuple[Path, ...], held_out: Path
    ) -> World:
        real = self._some("real", held_out, self.sizes.real)
        some = self._some("private", private, self.sizes.private)
        schema, codes = self._schema(people)
        grammar = self._grammar(people) if name.startswith("TOPv2") else None
        return World(
            name, some, (*public, schema), real, held_out, (people,), codes, SEXPR, grammar
        )

    def _converted(self, kind: str, name: str) -> Path:
        rows = self.work.made(kind, ["data", "convert", "--from", kind, self.source / name, OUTPUT])
        return self.work.of_source(rows, "human")

    def _some(self, name: str, rows: Path, count: int | None) -> Path:
        """Return so many rows by chance; all where there are fewer, or none is said."""

        def choose() -> Iterator[Example]:
            # By hash: those of another part are chosen without regard to these.
            ordered = sorted(read_rows(str(rows)), key=lambda row: hash_of(f"{name} {row.id}"))
            return islice(ordered, count)

        return self.work.chosen(name, rows, choose, name, count)

    def _schema(self, *rows: Path) -> tuple[Path, Path]:
        """Return rows and control codes that name each label once: developers know their schema.

        A private domain has labels that no public program has. A schema has all of them, in the
        order of their names: it says nothing of which ones people use, or the rows held out have.
        Each label makes a row of its own words.
        """
        labels = sorted({name for path in rows for name in self.labels(path)})

        def choose() -> Iterator[Example]:
            for place, name in enumerate(labels):
                square = name.startswith(("IN:", "SL:"))
                words = name.rpartition(":")[2].replace("_", " ").replace(".", " ").lower()
                program = f"[ {name} ]" if square else f"( {name} )"
                yield Example(f"schema{place}", words, program, "sexpr", functions=(name,))

        schema = self.work.chosen("schema", rows[0], choose, "schema", *rows[1:])
        codes = self.work.place("codes", ["codes", *rows], ".txt")
        names = [name for name in labels if not name.startswith("SL:")]
        codes.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        return schema, codes

    def _grammar(self, *rows: Path) -> Path:
        """Return declarations: which labels stand in which, and which ones alone; no frequencies.

        Developers wrote the schema of their assistant before anybody spoke to it. It is read off
        rows here, of which none is held out, for the data sets come without it.
        """
        programs: set[str] = set()
        held: dict[str, set[str]] = {}
        for path in rows:
            for row in read_rows(str(path)):
                tree = parse(row.program)
                programs.add(sort_of(tree))
                _held(tree, held)
        nodes = [
            f"node {name} = {' | '.join(sorted(items)) + '*' if items else ''};"
            for name, items in sorted(held.items())
        ]
        whole = f"program {' | '.join(sorted(programs))};"
        text = "".join(f"{line}\n" for line in (*nodes, whole))
        file = self.work.place("schema", ["grammar", text], ".sexpr")
        file.write_text(text, encoding="utf-8")
        return file

    def labels(self, rows: Path) -> list[str]:
        """Return the functions of rows, the most frequent first."""
        counts = Counter(name for row in read_rows(str(rows)) for name in row.functions)
        return sorted(counts, key=lambda name: (-counts[name], name))

    # ------------------------------------------------------------------------ changed worlds

    def few_modes(self, world: World, function: str) -> World:
        """Return the world of rows with one function only ("single-mode", section 5.2).

        They are taken of all rows that there are: of the few of a world, a tenth would be left, too
        few to learn from with noise. The annotators stay, for they know all functions.
        """
        private = self._some(
            "private", self.rows_with(world.annotated[0], function), self.sizes.private
        )
        held_out = self.rows_with(world.held_out, function)
        return replace(
            world,
            name=f"{world.name}, only {function}",
            private=private,
            real=self._some("real", held_out, self.sizes.real),
            held_out=held_out,
        )

    def rows_with(self, rows: Path, function: str) -> Path:
        """Return the rows that use a function."""

        def choose() -> Iterator[Example]:
            return (row for row in read_rows(str(rows)) if function in row.functions)

        return self.work.chosen("with", rows, choose, "with", function)

    def unseen(self, world: World, rows: Path) -> Path:
        """Return the rows of a templated world whose sentences none of its real rows has."""
        if not world.is_templated:
            return rows

        def choose() -> Iterator[Example]:
            known = {row.utterance for row in read_rows(str(world.real))}
            return (row for row in read_rows(str(rows)) if row.utterance not in known)

        return self.work.chosen("unseen", rows, choose, "unseen", world.real)

    def shuffled(self, world: World) -> World:
        """Return the world whose programs belong to other sentences (B.2, Table 4)."""

        def choose() -> Iterator[Example]:
            found = list(read_rows(str(world.private)))
            others = list(found)
            random.Random(0).shuffle(others)
            for row, other in zip(found, others, strict=True):
                yield replace(row, program=other.program, functions=other.functions)

        rows = self.work.chosen("shuffled", world.private, choose, "shuffled")
        return replace(world, private=rows)

    def without(self, world: World, people: Path, function: str, word: str = "") -> World:
        """Return the world whose public rows lack a function that people use (section 5.4).

        They lack its shapes, so that programs of any are drawn; and a word that tells of it.
        """
        # The schema stays: developers know the name of the function that they will add.
        tenth = self.tenth(people, is_public=True, without=function)
        public = (self.repeated(tenth), self.said_to_others(without=word), world.public[-1])
        private = self._some("private", self.tenth(people, is_public=False), self.sizes.private)
        return replace(
            world,
            name=f"{world.name} without {function}",
            private=private,
            public=public,
            is_shaped=False,
        )

    # ---------------------------------------------------------------------------- ThingTalk

    def skills_people(self) -> tuple[World, dict[str, float], str]:
        """Return people who use the shipped skills, what they ask for, and a function they like.

        Most ask for few functions (shares as 1 / rank, in an order by chance), and often for two
        that the templates make seldom. Their sentences are of the templates, too: what differs is
        what they ask for, so that nothing else can help.
        """
        size = self.sizes.private + self.sizes.real
        base = self.synthesized("base", "--size", self.sizes.public, "--seed", 1)
        weights = self._weights(base)
        file = self.written(weights)
        people = self.synthesized("people", "--size", size, "--seed", 7, "--weights", file)
        private = self._part("private", people, lambda rows: islice(rows, self.sizes.private))
        real = self._part("real", people, lambda rows: islice(rows, self.sizes.private, None))
        codes = self.work.place("codes", ["codes", base], ".txt")
        codes.write_text("".join(f"{name}\n" for name in self.labels(base)), encoding="utf-8")
        world = World(
            "shipped skills", private, (base,), real, real, (base, private), codes, (),
            is_templated=True,
        )  # fmt: skip
        learned = tuple(self.unseen(world, rows) for rows in world.annotated)
        world = replace(world, annotated=learned)
        return world, weights, rare(self.labels(base))[0]

    def named(self, function: str) -> Path:
        """Return some programs of a function; their sentences are its name and placeholders."""
        rows = self.synthesized("named", "--size", NAMED, "--seed", 1, "--include", function)
        words = function.rpartition(".")[2].replace("_", " ")

        def choose() -> Iterator[Example]:
            for row in read_rows(str(rows)):
                held = [word for word in row.utterance.split() if word in row.slots]
                yield replace(row, utterance=" ".join([words, *held]))

        return self.work.chosen("named", rows, choose, "words")

    def written(self, weights: Mapping[str, float]) -> Path:
        """Return a file of weights for `genie-dp synthesize`."""
        text = json.dumps(weights)
        file = self.work.place("weights", [text], ".json")
        file.write_text(text, encoding="utf-8")
        return file

    def synthesized(self, name: str, *options: object) -> Path:
        """Return synthesized rows."""
        return self.work.made(name, ["synthesize", *options, "--output", OUTPUT])

    def _part(
        self, name: str, rows: Path, part: Callable[[Iterable[Example]], Iterator[Example]]
    ) -> Path:
        def choose() -> Iterator[Example]:
            ordered = sorted(read_rows(str(rows)), key=lambda row: hash_of(f"part {row.id}"))
            return part(ordered)

        return self.work.chosen(name, rows, choose, name, self.sizes.private)

    def _weights(self, base: Path) -> dict[str, float]:
        names = sorted(self.labels(base))
        random.Random(3).shuffle(names)
        weights = {name: len(names) / 4 / place for place, name in enumerate(names, 1)}
        for name in rare(self.labels(base)):
            weights[name] = SKEW
        return weights


def _held(tree: Expression, held: dict[str, set[str]]) -> None:
    """Add what the nodes of a tree hold: label -> sorts, all words as one."""
    if isinstance(tree, Node):
        items = held.setdefault(label(tree), set())
        for item in tree.items[1:]:
            items.add(sort_of(item) if isinstance(item, Node) else "Atom")
            _held(item, held)


def annotated(work: Work, rows: Path, parser: Path) -> Path:
    """Return rows with what a parser says of their sentences; without those it says nothing of.

    A sentence comes once, however often it was drawn: "yes" is a third of what is said.
    """

    def choose() -> Iterator[Example]:
        from genie_dp.parser.parser import Parser

        known = list({row.utterance: row for row in read_rows(str(rows))}.values())
        said = Parser.from_pretrained(parser).predict([row.utterance for row in known])
        for row, best in zip(known, said, strict=True):
            if best:
                yield replace(row, program=best[0].program, source="human", functions=())

    return work.chosen("annotated", rows, choose, "annotated", parser)


def as_public(work: Work, rows: Path) -> Path:
    """Return drawn rows as public ones: no parser of an experiment is published."""

    def choose() -> Iterator[Example]:
        return (replace(row, source="human") for row in read_rows(str(rows)))

    return work.chosen("drawn", rows, choose, "human")


def rare(labels: Sequence[str]) -> Sequence[str]:
    """Return the functions that synthesis made most seldom.

    >>> rare(["often", "seldom", "once"])
    ['seldom', 'once']
    """
    return labels[-RARE:]
