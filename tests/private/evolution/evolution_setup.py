"""A generator of a few words, private rows and a ledger, for tests of private evolution."""

from collections import Counter
from dataclasses import dataclass, field

from genie_dp.private.evolution.evolve import Electorate
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.ledger.guard import Units
from genie_dp.records import Example, Spent
from genie_dp.rng import stream

VERBS = ("play", "stop", "buy", "sell", "call", "text")
THINGS = ("jazz", "rock", "milk", "bread", "anna", "ben", "tea", "figs")
ENDS = ("now", "please", "again", "today")


def example(words):
    verb, thing, *_ = words
    program = f"( {verb} {thing} )"
    return Example("", " ".join(words), program, "sexpr", functions=(verb,))


def labelled(verb):
    """Return the label of a verb: what the rows are about."""
    return {"play": "music", "stop": "music", "buy": "shop", "sell": "shop"}.get(verb, "phone")


@dataclass
class Words:
    """Three words by chance; a variation changes each with a chance of its strength.

    Attributes:
        calls: candidates asked for.
        vary_calls: times that `vary` was called.
    """

    name: str = "words"
    calls: int = 0
    vary_calls: int = 0

    def random(self, metadata, *, seed):
        self.calls += len(metadata)
        rng = stream(seed, "random")
        return [self._made(record, rng) for record in metadata]

    def _made(self, record, rng):
        verbs = [v for v in VERBS if record.get("topic") in (None, labelled(v))]
        words = (rng.choice(verbs), rng.choice(THINGS), rng.choice(ENDS))
        return VoteCandidate(example(words), dict(record), state=" ".join(words))

    def vary(self, candidates, strength, *, seed):
        self.calls += len(candidates)
        self.vary_calls += 1
        rng = stream(seed, "vary")
        return [self._varied(one, strength, rng) for one in candidates]

    def _varied(self, one, strength, rng):
        verb, thing, end = one.state.split()
        verbs = [v for v in VERBS if one.metadata.get("topic") in (None, labelled(v))]
        words = tuple(
            rng.choice(words) if rng.random() < strength else word
            for words, word in ((verbs, verb), (THINGS, thing), (ENDS, end))
        )
        return VoteCandidate(example(words), one.metadata, state=" ".join(words))

    def fingerprint(self):
        return "words 1"


@dataclass
class CountingWords(Words):
    """The same; `counts` has how many sentences came twice in a call."""

    counts: Counter = field(default_factory=Counter)

    def random(self, metadata, *, seed):
        return self._seen(super().random(metadata, seed=seed))

    def vary(self, candidates, strength, *, seed):
        return self._seen(super().vary(candidates, strength, seed=seed))

    def _seen(self, made):
        self.counts["repeated"] += len(made) - len({one.example.utterance for one in made})
        return made


def people(number=300):
    """Return units of one row: most buy milk, some play jazz."""
    rng = stream(0, "people")
    asked = [("buy", "milk")] * 3 + [("play", "jazz")]
    return Units([(example((*rng.choice(asked), rng.choice(ENDS))),) for _ in range(number)])


def electorate(number=300, label=False):
    units = people(number)
    labels = [[labelled(row.functions[0]) for row in unit] for unit in units]
    return Electorate(units, labels if label else None)


class Spends:
    """Records what is spent, once for each run, as a ledger does."""

    def __init__(self):
        self.runs = {}

    def __call__(self, mechanisms, run):
        self.runs.setdefault(run, tuple(mechanisms))
        epsilon = float(len(self.runs))
        return Spent(epsilon, 1e-6, "utterance", "add-or-remove-one", "rdp", ("nothing",))
