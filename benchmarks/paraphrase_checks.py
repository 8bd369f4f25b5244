"""How many crowd paraphrases the checks reject, and why; rejected ones to read.

    python benchmarks/paraphrase_checks.py ../shared/data/thingtalk/paraphrase.train.jsonl.gz

A line of the file is a row as JSON with `id`, `utterance` and `program`, placeholders in both. What
was shown to the workers is not known, so the placeholders of the program get example values, as
`paraphrase select` gives them, those of the utterance become the same values, typed as people see
them; and the checks that need no original run: length, no idea, values, language. `near-duplicate`
compares the paraphrases of one program, whatever sentences they were written for. Each good one is
then damaged on purpose, to see what is caught.
"""

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from genie_dp.english.forms import surface
from genie_dp.paraphrase.checks import CheckConfig, LanguageCheck, ParaphraseFault, faults_of
from genie_dp.paraphrase.example_values import ExampleValues
from genie_dp.paraphrase.shown import PLACEHOLDER, ShownRow, show, utterance_of
from genie_dp.records import Example

FOREIGN = (
    "zeige mir die neuesten nachrichten", "schalte bitte das licht im wohnzimmer aus",
    "montre moi les photos de mon chien", "envoie un message quand il pleut",
    "muestrame mis correos sin leer", "apaga la luz cuando salga de casa",
    "fammi vedere le notizie di oggi", "spegni la musica quando esco",
    "toon mij de berichten van vandaag", "visa mina senaste bilder tack",
    "pokaz mi zdjecia z wakacji", "mostre as mensagens do meu irmao",
)  # fmt: skip
NAMES = ("acme", "blue lantern", "casa marisol", "delta works", "echo park", "fox and hare")


def read(path: str) -> Iterator[dict]:
    """Yield the rows of a file."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def constants_of(rows: list[dict]) -> dict[str, tuple[str, ...]]:
    """Return example values for the types of entities that no table has."""
    kinds = {
        kind
        for row in rows
        for kind in re.findall(
            r"GENERIC_ENTITY_([\w.-]+:\w+)_\d", row["program"] + row["utterance"]
        )
    }
    return {f"Entity({kind})": NAMES for kind in kinds}


def shown_as(row: dict, values: ExampleValues) -> tuple[ShownRow, str] | None:
    """Return what stands for the sentence shown, and what the worker typed; None without values.

    The sentence shown is unknown; the words of the program stand for its words.
    """
    own = [word for word in row["program"].split() if PLACEHOLDER.fullmatch(word)]
    said = [word for word in row["utterance"].split() if PLACEHOLDER.fullmatch(word)]
    names = re.findall(r"[a-z]+", row["program"].lower())
    words = [*names, *dict.fromkeys([*own, *said])]
    example = Example(row["id"], " ".join(words), " ".join(dict.fromkeys([*own, *said])))
    drawn = values.shown(example)
    if drawn is None:
        return None
    by_token = {value.token: value.text for value in drawn.values}
    spaced = {value.token: value.spaced for value in drawn.values}
    wanted = Example(row["id"], " ".join([*names, *dict.fromkeys(own)]), row["program"])
    typed = surface(spaced.get(word, word) for word in row["utterance"].split())
    return show(wanted, by_token), typed


def damaged(shown: ShownRow, typed: str, rng: random.Random) -> Iterator[tuple[str, str, set[str]]]:
    """Yield (what was done, the damaged paraphrase, the faults that may be found)."""
    gone = {"missing-value", "altered-value"}
    value = rng.choice(shown.values) if shown.values else None
    if value is not None and value.text in typed:
        bare = value.bare.lstrip("@#")
        yield "a value left out", typed.replace(value.text, "something"), gone
        place = rng.randrange(len(bare))
        other = rng.choice([c for c in "abcdefgh1234567" if c != bare[place]])
        changed = bare[:place] + other + bare[place + 1 :]
        yield "a value with another letter or digit", typed.replace(bare, changed), gone
        if value.text != value.bare or value.text[0] in "@#":
            yield "a value without its mark", typed.replace(value.text, bare), {"unquoted-string"}
    words = re.findall(r"[a-z]+", typed.lower())
    nonsense = " ".join("".join(rng.choices("asdfghjklqwe", k=len(w))) for w in words)
    yield "letters at random", nonsense, {"not-english"}
    yield "another language", rng.choice(FOREIGN), {"not-english"}


def main() -> None:
    """Check all rows and print shares, and rejected rows if asked for."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("rows")
    arguments.add_argument("--show", type=int, default=0, help="print N rejected rows to read")
    arguments.add_argument("--reason", help="only rows with this reason")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--language-model", action="store_true")
    given = arguments.parse_args()
    config = CheckConfig(copy_distance=0, language=LanguageCheck(asks_model=given.language_model))
    tally = Tally(config, random.Random(given.seed))
    rows = list(read(given.rows))
    values = ExampleValues(constants_of(rows))
    started = time.process_time()
    pairs = [(row, pair) for row in rows if (pair := shown_as(row, values)) is not None]
    prepared = time.process_time()
    for row, (shown, typed) in pairs:
        tally.add(row, shown, typed)
    tally.say(len(rows), prepared - started, time.process_time() - prepared)
    tally.show(given.show, given.reason)


@dataclass(slots=True)
class Tally:
    """What came of the checks."""

    config: CheckConfig
    rng: random.Random
    reasons: Counter[str] = field(default_factory=Counter)
    looked_at: list[tuple[str, str, str, str]] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    tried: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    checked: int = 0
    rejected: int = 0

    def add(self, row: dict, shown: ShownRow, typed: str) -> None:
        """Check one paraphrase, as it is and damaged."""
        self.checked += 1
        faults = faults_of(shown, typed, (), self.config)
        if faults:
            self.rejected += 1
            self.note(typed, row["program"], faults)
            return
        back = utterance_of(shown, typed) or ""
        if plain(back) != plain(row["utterance"]):
            self.reasons["read back otherwise"] += 1
            self.looked_at.append(("changed", typed, row["utterance"], back))
        # A hundred of one program say enough, and all would take hours.
        others = self.groups[row["program"]]
        again = faults_of(shown, typed, others[:100], self.config)
        if again:
            self.note(typed, row["program"], again)
        else:
            others.append(typed)
        for what, text, expected in damaged(shown, typed, self.rng):
            self.tried[what] += 1
            found = faults_of(shown, text, (), self.config)
            self.caught[what] += any(fault.name in expected for fault in found)

    def note(self, typed: str, program: str, faults: tuple[ParaphraseFault, ...]) -> None:
        """Count the reasons against a paraphrase."""
        self.reasons.update({fault.name for fault in faults})
        self.looked_at += [(f.name, typed, program, f.message) for f in faults]

    def say(self, rows: int, preparing: float, checking: float) -> None:
        """Print the figures."""
        calls = 2 * self.checked + self.tried.total()
        share = self.rejected / rows
        print(f"{rows:,} rows, {self.checked:,} checked, {self.rejected:,} rejected ({share:.2%})")
        times = (round(1e6 * preparing / rows), round(1e6 * checking / calls))
        print("example values {} us a row, a check {} us".format(*times))
        for name, count in self.reasons.most_common():
            print(f"  {name:<20} {count:>6,}  {count / rows:.2%}")
        print("damaged on purpose, and found:")
        for what, count in self.tried.items():
            print(f"  {what:<38} {self.caught[what]:>6,} of {count:,}  "
                  f"{self.caught[what] / count:.2%}")  # fmt: skip

    def show(self, count: int, reason: str | None) -> None:
        """Print some of the rejected paraphrases, to be read."""
        chosen = [item for item in self.looked_at if reason in (None, item[0])]
        self.rng.shuffle(chosen)
        for name, typed, program, message in chosen[:count]:
            print(f"\n{name}: {typed}\n    {program}\n    {message}")


def plain(utterance: str) -> list[str]:
    """Return the words of an utterance, however its tokens were split."""
    return re.findall(r"[\w.:@-]+", utterance.replace(" n't", "n't").rstrip(" .?!"))


if __name__ == "__main__":
    main()
