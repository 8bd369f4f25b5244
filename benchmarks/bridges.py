"""What comes from elsewhere, measured against what it comes from.

    python benchmarks/bridges.py exactness SOURCE --locale en --tests tests.en.jsonl
    python benchmarks/bridges.py exactness SOURCE --locale de --samples 10000 --synthesized 10000
    python benchmarks/bridges.py answers PARSER --tests tests.en.jsonl --beside SOURCE
    python benchmarks/bridges.py tools --examples
    python benchmarks/bridges.py speed
    python benchmarks/bridges.py people PARSER --rows slurp/devel.jsonl --beside SOURCE

`exactness` imports sentence templates of Home Assistant (SOURCE: a folder or a merged `en.json`),
and compares what our templates derive with what hassil matches: on the sentences of tests, whose
names come with each of them; on sentences drawn from the templates of hassil; and on sentences that
we synthesize. A sentence is right where both find the same intents with the same slots, or none.
Needs `pip install hassil`.

`answers` asks a parser of imported templates (a folder of `genie-dp train`, beside its tools.json;
or the imported folder, whose templates answer alone) the sentences of tests that have no free text,
with the names and the place of each. A right answer has the intent and slots of the test as the
project itself judges: of several allowed values one, a domain that is inferred is any of the
inferred ones, the speaker's area is no slot. Beside it stands what hassil makes of the same
sentences with the templates of some sources (of several meanings the right one), and what the
parser answers to those that the first of them does not match.

`--beside gazetteer` is the matcher written for Home Assistant in English (`pip install
gazetteer-matcher`), which is given all that the test says of its home.

`tools` trains parsers on imported sets of functions (bridges_tools.py), `speed` measures how fast
imports become rows (bridges_speed.py).

`people` asks the same of commands that people made up for a home assistant, in no template's words:
rows of SLURP. What is right follows from their gold by rules (`wanted`): an intent with its slots,
or that nothing of what the library can do was asked for. Rows of other scenarios than `iot` are
judged by the intent alone.
"""

import argparse
import gzip
import itertools
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import bridges_speed
import bridges_tools

import genie_dp as gd
from genie_dp.importers.assistant import Assistant
from genie_dp.importers.hassil import UNSPACED
from genie_dp.importers.home_assistant import read_home_assistant
from genie_dp.importers.registry import import_source
from genie_dp.importers.source import Imported, ImportSource
from genie_dp.languages import get_language
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.parser.answers import Reply
from genie_dp.parser.parser import Use
from genie_dp.project_file import read_places
from genie_dp.skills.words import tokenize
from genie_dp.synthesis.chart import Chart, ChartGrammar, Tokens
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.templates.cache import load_inputs

Meaning = tuple[str, frozenset[tuple[str, Any]]]
"""An intent with its slots."""


@dataclass(frozen=True)
class Home:
    """What a sentence may speak of: kind of names -> names; where the speaker is."""

    names: Mapping[str, tuple[str, ...]]
    area: str | None = None


def plain(value: Any) -> Any:
    """Return a value of a slot as it is compared: words in small letters, numbers as such."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, int | float):
        return round(float(value), 6)
    # hassil reads "living-room" as "living room" where it has to.
    return join(re.sub(r"[-_]", " ", str(value)))


# -------------------------------------------------------------------------------------- ours


class TemplateMatcher:
    """Derives sentences by imported templates; names come with each sentence."""

    def __init__(self, folder: Path, numbers: Mapping[str, float] | None = None):
        """Load the templates of a folder; `numbers` are numbers in words."""
        language = get_language("calls")
        self.language = language
        inputs = load_inputs("calls", [folder / "tools.json"], [folder / "main.genie"])
        self.library = inputs.library
        self.compiled = compile_inputs(inputs)
        stems = self.compiled.placeholders.stems
        self.grammar = ChartGrammar(self.compiled, stems)
        tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
        self.multiplied = dict(_multiplied(tools))
        self.numbers = numbers or {}

    def meanings(
        self, texts: Iterable[str], home: Home, whole: Collection[str] = ()
    ) -> set[Meaning]:
        """Return what any of some readings of a sentence mean.

        Free texts are words of those readings (`whole`) in which no word is cut.
        """
        found: set[Meaning] = set()
        # A hyphen may be a space to hassil: "22-second" is two words as well as one.
        self.whole = [f" {words(text)} " for text in whole or texts for words in (join, plain)]
        names = {kind: {join(name) for name in names} for kind, names in home.names.items()}
        chart = Chart(
            self.grammar,
            8,
            stems_of=lambda words, stems, known: {
                x for x in stems if self.is_value(x, words, names)
            },
        )
        for text in dict.fromkeys(texts):
            tokens = tokenize(UNSPACED.sub(r" \1 ", text))
            for root in self.compiled.roots:
                for entry in chart.cell(root, tuple(tokens)):
                    meaning = self.meaning(entry.piece.value.text, chart.opened, home)
                    if meaning is not None:
                        found.add(meaning)
        return found

    def is_value(self, stem: str, words: Tokens, names: Mapping[str, set[str]]) -> bool:
        """Tell whether words may be a value."""
        text = " ".join(words)
        if stem == "QUOTED_STRING":
            return any(f" {text} " in known for known in self.whole)
        if stem == "NUMBER":
            return self.number(text) is not None
        return text in names.get(stem.removeprefix("GENERIC_ENTITY_"), ())

    def number(self, text: str) -> float | None:
        """Return the number that a text says."""
        if re.fullmatch(r"-?\d+(?:[.,]\d+)?", text):
            return float(text.replace(",", "."))
        return self.numbers.get(text)

    def meaning(
        self, program: str, opened: Mapping[str, tuple[str, Tokens]], home: Home
    ) -> Meaning | None:
        """Return the meaning of a program; None where it does not fit its tool or the home."""
        values: dict[str, Any] = {}
        for character, (stem, words) in opened.items():
            if character in program:
                token = f"{stem}_{len(values)}"
                program = program.replace(character, token)
                text = " ".join(words)
                values[token] = self.number(text) if stem == "NUMBER" else text
        [call] = self.language.structure.calls(self.language.from_tokens(program))
        arguments = {name: values.get(value, value) if isinstance(value, str) else value
                     for name, value in call["arguments"].items()}  # fmt: skip
        filled = self.language.parse(json.dumps([{"name": call["name"], "arguments": arguments}]))
        if self.language.check(filled, self.library):
            return None
        for slot in filter(None, arguments.pop("context", "").split("+")):
            if home.area is None:
                return None
            arguments[slot] = home.area
        slots = {}
        for name, value in arguments.items():
            slot, factor = self.multiplied.get((call["name"], name), (name, None))
            slots[slot] = plain(value * factor if factor is not None else value)
        return call["name"], frozenset(slots.items())


def _multiplied(tools: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], Any]]:
    for tool in tools:
        for name, schema in tool["parameters"]["properties"].items():
            found = re.search(
                r"slot `(\w+)`, of which it is (\S+) times", schema.get("description", "")
            )
            if found:
                yield (tool["name"], name), (found[1], float(found[2]))


def join(text: str) -> str:
    """Return the tokens of a text."""
    return " ".join(tokenize(UNSPACED.sub(r" \1 ", text)))


def readings(
    text: str, names: Collection[str], skip_words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return a sentence as hassil may read it: skip words left out; and with values set apart."""
    from hassil.util import normalize_for_matching, remove_skip_words

    whole = normalize_for_matching(text).text
    texts = {whole: None}
    for start, end in ((True, True), (True, False), (False, True)):
        texts[remove_skip_words(whole, skip_words, False, start=start, end=end)] = None
    whole = list(texts)
    for given in whole:
        if "-" in given or "_" in given:
            texts[given.replace("-", " ").replace("_", " ")] = None
    for given in list(texts):
        texts |= dict.fromkeys(_apostrophes_apart(given))
    apart = texts | dict.fromkeys(_numbers_apart(given, names) for given in texts)
    for name in sorted(names, key=len, reverse=True):
        for given in list(apart)[:_MOST_READINGS]:
            apart |= dict.fromkeys(_set_apart(given, name))
    return whole, list(apart)


_MOST_READINGS = 60


def _apostrophes_apart(text: str) -> Iterator[str]:
    """Yield a text with a space after some apostrophes: hassil takes "d'ici" for "d' ici"."""
    first, *rest = re.split(r"(?<=\w')(?=\w)", text)
    for joints in itertools.islice(itertools.product(("", " "), repeat=len(rest)), 32):
        yield first + "".join(j + part for j, part in zip(joints, rest, strict=True))


def _numbers_apart(text: str, names: Iterable[str]) -> str:
    """Return a text whose numbers are words of their own, but for those in names."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{known or '(?!)'})|\d(?:[\d.,]*\d)?", re.IGNORECASE)

    def apart(match: re.Match[str]) -> str:
        if not match[0][0].isdigit() or re.fullmatch(known or "(?!)", match[0], re.IGNORECASE):
            return match[0]
        before, after = text[: match.start()], text[match.end() :]
        joint = _joint(before)
        return f"{joint}{match[0]}{' ' if after[:1] not in ('', ' ', '.', ',') else ''}"

    return pattern.sub(apart, text)


def _joint(before: str) -> str:
    """Return what stands between a text and a value that is glued to it."""
    if UNSPACED.fullmatch(before[-1:]) or before[-1:] == "'":
        return " "
    return " ~ " if before[-1:].isalpha() else ""


def _set_apart(text: str, name: str) -> Iterator[str]:
    """Yield a text with a name in it as words of its own, where it is part of a longer one."""
    for found in re.finditer(re.escape(name), text, re.IGNORECASE):
        before, after = text[: found.start()], text[found.end() :]
        is_glued_after = after[:1] not in ("", " ")
        is_glued_before = before[-1:] not in ("", " ")
        if is_glued_after or is_glued_before:
            joint = _joint(before) if is_glued_before else ""
            yield f"{before}{joint}{found[0]}{' ' if is_glued_after else ''}{after}"


# -------------------------------------------------------------------------------------- hassil


def merged(sources: Assistant) -> dict[str, Any]:
    """Return what the files say in the form that hassil reads."""
    intents: dict[str, Any] = {}
    for block in sources.blocks:
        data = {
            "sentences": list(block.sentences), "slots": dict(block.slots),
            "requires_context": dict(block.requires), "excludes_context": dict(block.excludes),
            "expansion_rules": dict(block.rules), "lists": dict(block.lists),
        }  # fmt: skip
        intents.setdefault(block.intent, {"data": []})["data"].append(data)
    return {
        "language": sources.locale, "intents": intents, "lists": sources.lists,
        "expansion_rules": sources.rules, "skip_words": sources.skip_words,
        "settings": {"ignore_whitespace": sources.ignores_space},
    }  # fmt: skip


class HassilMatcher:
    """What hassil makes of sentences."""

    def __init__(self, sources: Assistant):
        from hassil.intents import Intents

        self.intents = Intents.from_dict(merged(sources))
        self.names = ("area", "floor", "name")
        self.inside = 0  # results whose free text begins or ends inside of a word

    def value_words(self) -> set[str]:
        """Return the words of listed values."""
        from hassil.intents import TextSlotList
        from hassil.sample import sample_expression

        rules, lists = self.intents.expansion_rules, self.intents.slot_lists
        own = [lists, *(b.slot_lists for i in self.intents.intents.values() for b in i.data)]
        values = (v for of in own for found in of.values() if isinstance(found, TextSlotList)
                  for v in found.values)  # fmt: skip
        return {text for v in values for text in sample_expression(v.text_in, lists, rules)}

    def meanings(self, text: str, home: Home, whole: Collection[str]) -> set[Meaning]:
        """Return what a sentence means; free texts are whole words of some readings of it."""
        from hassil.intents import TextSlotList
        from hassil.recognize import recognize_all

        lists = {name: TextSlotList.from_tuples([], allow_template=False) for name in self.names}
        entities = []
        for kind, names in home.names.items():
            if kind in ("area", "floor"):
                lists[kind] = TextSlotList.from_strings(names, allow_template=False)
            else:
                entities += [(name, name, {"domain": kind}) for name in names]
        lists["name"] = TextSlotList.from_tuples(entities, allow_template=False)
        context = {"area": home.area} if home.area is not None else {}
        found = set()
        for result in recognize_all(text, self.intents, slot_lists=lists, intent_context=context):
            free = (plain(e.value) for e in result.entities_list if e.is_wildcard)
            texts = [f" {plain(given)} " for given in whole]
            if any(not any(f" {value} " in given for given in texts) for value in free):
                self.inside += 1
                continue
            slots = {name: plain(entity.value) for name, entity in result.entities.items()}
            found.add((result.intent.name, frozenset(slots.items())))
        return found


# ----------------------------------------------------------------------------------- sentences


def home_of(row: Mapping[str, Any]) -> Home:
    """Return the home of a test."""
    names: dict[str, list[str]] = {}
    for kind in ("area", "floor"):
        names[kind] = [_name(n) for n in row[f"{kind}s"]]
    for entity in row["entities"]:
        names.setdefault(entity.get("domain") or entity.get("id", "").split(".")[0], []).append(
            entity["name"]
        )
    area = row["context_area"] or ("Study" if row["needs_context_area"] else None)
    return Home({kind: tuple(dict.fromkeys(of)) for kind, of in names.items()}, area)


def _name(given: Any) -> str:
    return given["name"] if isinstance(given, Mapping) else str(given)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class HassilSampler:
    """Draws sentences from templates of hassil, without making all of them."""

    def __init__(self, matcher: HassilMatcher, home: Home, seed: int):
        self.intents, self.home, self.rng = matcher.intents, home, random.Random(seed)

    def draw(self) -> tuple[str, bool]:
        """Return a sentence, and whether it has words that stand for any."""
        blocks = [b for intent in self.intents.intents.values() for b in intent.data if b.sentences]
        block = self.rng.choice(blocks)
        sentence = self.rng.choice(block.sentences)
        self.block, self.has_wildcard = block, False
        text = "".join(self._say(sentence.expression))
        return re.sub(r"\s+", " ", text).strip(), self.has_wildcard

    def _say(self, expression: Any) -> Iterator[str]:
        from hassil import expression as ex

        if isinstance(expression, ex.TextChunk):
            yield expression.original_text
        elif isinstance(expression, ex.Alternative):
            yield from self._say(self.rng.choice(expression.items))
        elif isinstance(expression, ex.Permutation):
            for item in self.rng.sample(expression.items, len(expression.items)):
                yield from self._say(item)
        elif isinstance(expression, ex.Group):
            for item in expression.items:
                yield from self._say(item)
        elif isinstance(expression, ex.RuleReference):
            rules = {**self.intents.expansion_rules, **self.block.expansion_rules}
            yield from self._say(rules[expression.rule_name].expression)
        else:
            yield self._say_value(expression.list_name)

    def _say_value(self, name: str) -> str:
        from hassil.intents import RangeSlotList, TextSlotList

        found = {**self.intents.slot_lists, **self.block.slot_lists}.get(name)
        if isinstance(found, TextSlotList):
            return "".join(self._say(self.rng.choice(found.values).text_in))
        if isinstance(found, RangeSlotList):
            return str(self.rng.choice(list(found.get_numbers())))
        if found is not None:
            self.has_wildcard = True
            return self.rng.choice(("oat milk", "the beatles", "pizza"))
        kinds = [name]
        if name == "name":
            asked = self.block.requires_context.get("domain") or list(self.home.names)
            kinds = [asked] if isinstance(asked, str) else list(asked)
        names = [n for kind in kinds for n in self.home.names.get(kind, ())]
        return self.rng.choice(names) if names else "nothing"


SAMPLE_NAMES = {
    "area": ("Kitchen", "Guest Room", "Atelier"), "floor": ("Ground", "Upper Deck"),
}  # fmt: skip
_WORDS = [
    "amber",
    "birch",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
    "maple",
]


def sample_home(domains: Iterable[str]) -> Home:
    """Return a home with names for each sort of devices."""
    names = dict(SAMPLE_NAMES)
    for number, domain in enumerate(sorted(domains)):
        first = _WORDS[number % len(_WORDS)].title()
        names[domain] = (f"{first} {number}x", f"Old {first} Thing")
    return Home(names, "Kitchen")


# ---------------------------------------------------------------------------------- comparison


@dataclass
class Agreement:
    """How many sentences both matchers see alike, and some of the others."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    ours_seconds: float = 0.0
    hassil_seconds: float = 0.0

    def add(self, sentence: str, ours: set[Meaning], theirs: set[Meaning]) -> None:
        """Count a sentence."""
        verdict = (
            ("both" if ours else "neither") if ours == theirs
            else "only ours" if not theirs
            else "only hassil" if not ours
            else "other"
        )  # fmt: skip
        self.counts[verdict] += 1
        if verdict in ("only ours", "only hassil", "other"):
            more, less = shown(ours - theirs), shown(theirs - ours)
            self.examples.append(f"{verdict}: {sentence!r} ours {more} hassil {less}")

    def lines(self, most: int) -> Iterator[str]:
        """Yield what to print."""
        total = sum(self.counts.values())
        alike = self.counts["both"] + self.counts["neither"]
        yield f"{self.name}: {alike:,} of {total:,} alike {dict(self.counts)}"
        yield f"  CPU seconds: ours {self.ours_seconds:.1f}, hassil {self.hassil_seconds:.1f}"
        yield from (f"  {example}" for example in self.examples[:most])


def shown(meanings: set[Meaning]) -> list[str]:
    """Return meanings as text."""
    return sorted(f"{intent}{dict(sorted(slots))}" for intent, slots in meanings)


def compare(
    name: str,
    sentences: Iterable[tuple[str, Home]],
    ours: TemplateMatcher,
    theirs: HassilMatcher,
    skip_words: Sequence[str],
    *,
    cuts_values: bool = False,
) -> Agreement:
    """Return how both see sentences."""
    agreement = Agreement(name)
    value_words = theirs.value_words() if cuts_values else set()
    for sentence, home in sentences:
        start = time.process_time()
        names = value_words.union(*home.names.values())
        whole, apart = readings(sentence, names, skip_words)
        found = ours.meanings(apart, home, whole)
        middle = time.process_time()
        expected = theirs.meanings(sentence, home, whole)
        agreement.ours_seconds += middle - start
        agreement.hassil_seconds += time.process_time() - middle
        agreement.add(sentence, found, expected)
    return agreement


def synthesized(
    matcher: TemplateMatcher, home: Home, size: int, seed: int
) -> Iterator[tuple[str, Home]]:
    """Yield sentences that our templates say, with names and numbers of a home."""
    rng = random.Random(seed)
    engine = build_engine(matcher.compiled, SynthesisConfig(size=size, seed=seed))
    placeholders = matcher.compiled.placeholders
    for cell, pieces in engine.plan.draws(0, engine.plan.total):
        combined = cell.wording.assemble(*pieces)
        if combined is None:
            continue
        text = placeholders.show(combined.text)
        yield written(fill_placeholders(text, home, rng)), home


def written(tokens: str) -> str:
    """Return tokens as people write them."""
    text = re.sub(r" ~ ", "", tokens)
    text = re.sub(r" ((?:[-/'.] )+)(?=\w)", lambda m: m[1].replace(" ", ""), text)
    text = re.sub(r" ('(?:s|re|ve|ll|d|m))\b", r"\1", text)
    return re.sub(rf" ?{UNSPACED.pattern} ?", r"\1", text)


def fill_placeholders(text: str, home: Home, rng: random.Random) -> str:
    """Return a sentence with values in the place of placeholders."""
    words = []
    for token in text.split(" "):
        found = re.fullmatch(r"([A-Z][A-Z_]*(?:_\w+)?)_\d+", token)
        if not found:
            words.append(token)
        elif found[1] == "NUMBER":
            words.append(str(rng.randint(1, 60)))
        elif found[1] == "QUOTED_STRING":
            words.append(rng.choice(("oat milk", "the beatles", "pizza")))
        else:
            names = home.names.get(found[1].removeprefix("GENERIC_ENTITY_")) or ("nothing",)
            words.append(rng.choice(names))
    return " ".join(words)


def exactness(arguments: argparse.Namespace) -> None:
    """Print how our templates and hassil agree."""
    path, locale = Path(arguments.source), arguments.locale
    start = time.process_time()
    source = ImportSource(str(path), locale, skip_broken=True)
    imported = import_source(source)
    seconds = time.process_time() - start
    sources = read_home_assistant(source)
    theirs = HassilMatcher(sources)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in imported.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        start = time.process_time()
        ours = TemplateMatcher(Path(folder), number_words(locale) if arguments.words else {})
        loaded = time.process_time() - start
    print(
        f"{path} {locale}: {dict(imported.counts)}, {left_out(imported):,} left out; "
        f"import {seconds:.2f}, load {loaded:.2f} CPU seconds"
    )
    skip_words = sources.skip_words
    if arguments.tests:
        rows = read_rows(Path(arguments.tests))[: arguments.most]
        for has_wildcards in (False, True):
            chosen = [
                (r["utterance"], home_of(r))
                for r in rows
                if bool(r["wildcard_slots"]) == has_wildcards
            ]
            name = "tests with wildcards" if has_wildcards else "tests"
            found = compare(name, chosen, ours, theirs, skip_words, cuts_values=arguments.cut)
            print(*found.lines(arguments.show), sep="\n", flush=True)
    home = sample_home(sources.domains())
    if arguments.samples:
        sampler = HassilSampler(theirs, home, arguments.seed)
        drawn = dict.fromkeys(sampler.draw() for _ in range(arguments.samples))
        for has_wildcards in (False, True):
            chosen = [(text, home) for text, has in drawn if has == has_wildcards]
            name = f"drawn from hassil{', wildcards' if has_wildcards else ''}"
            found = compare(name, chosen, ours, theirs, skip_words, cuts_values=arguments.cut)
            print(*found.lines(arguments.show), sep="\n", flush=True)
    if arguments.synthesized:
        chosen = synthesized(ours, home, arguments.synthesized, arguments.seed)
        found = compare("synthesized", chosen, ours, theirs, skip_words, cuts_values=arguments.cut)
        print(*found.lines(arguments.show), sep="\n", flush=True)
    print(f"results of hassil whose free text is no whole words, left out: {theirs.inside:,}")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def left_out(imported: Imported) -> int:
    """Return how many templates could not be taken over."""
    return sum(note.sort == "left out" and note.text.startswith("`") for note in imported.notes)


def number_words(locale: str) -> dict[str, float]:
    """Return numbers in words as hassil reads them."""
    from hassil.numbers import get_rbnf_engine

    engine = get_rbnf_engine(locale)
    found: dict[str, float] = {}
    for number in range(101):
        for text in engine.format_number(number).text_by_ruleset.values():
            found.setdefault(join(text), number)
            found.setdefault(join(text.replace("-", " ")), number)
    return found


# ------------------------------------------------------------------------------------- answers


def allowed_slots(row: Mapping[str, Any]) -> dict[str, set[Any]]:
    """Return the values that each slot of a test may have."""
    slots = {name: _several(value) for name, value in row["slots"].items()}
    inferred = row["inferred_domains"] or ()
    if isinstance(inferred, Mapping):  # by how important each is
        inferred = [domain for domains in inferred.values() for domain in domains]
    if "domain" not in slots:
        slots["domain"] = {*map(plain, inferred)}
    return slots


def _several(value: Any) -> set[Any]:
    return {*map(plain, value)} if isinstance(value, list) else {plain(value)}


def is_right(row: Mapping[str, Any], meaning: Meaning | None) -> bool:
    """Tell whether an intent with its slots is what a test expects."""
    if meaning is None or meaning[0] != row["intent"]:
        return False
    slots, allowed = dict(meaning[1]), allowed_slots(row)
    has_place = row["context_area"] is not None or row["needs_context_area"]
    left_out = {"domain", *(("area",) if has_place else ())}
    for name, value in slots.items():
        given = set(value) if isinstance(value, tuple) else {value}
        is_place = name == "area" and has_place and name not in row["slots"]
        if not is_place and allowed.get(name) != set() and not given <= allowed.get(name, set()):
            return False
    return allowed.keys() - slots.keys() <= left_out


def parser_of_templates(project: Path) -> gd.Parser:
    """Return the parser of an imported project that was not trained."""
    library = gd.load_library(project / "tools.json")
    locale = read_places(project / "genie.yaml").locale
    use = Use(locale=locale_from(locale or DEFAULT))
    return gd.Parser.of(library, project / "main.genie", use=use)


class ParserAnswers:
    """What a parser says to sentences, with the names of each."""

    def __init__(self, folder: Path):
        """Load it, and the tools of which it writes calls; of a project its templates alone."""
        project = folder if (folder / "tools.json").exists() else folder.parent
        self.parser = parser_of_templates(folder) if project == folder else None
        self.parser = self.parser or gd.Parser.from_pretrained(folder)
        text = (project / "tools.json").read_text(encoding="utf-8")
        self.kinds = {*re.findall(r'"x-entity": ?"(\w+)"', text)}
        self.multiplied = dict(_multiplied(json.loads(text)["tools"]))

    def meaning(self, sentence: str, home: Home) -> Meaning | None:
        """Return what a sentence means; None where it is refused."""
        reply = self.ask(sentence, home)
        return None if reply.refused else self.meaning_of(reply, home)

    def ask(self, sentence: str, home: Home) -> Reply:
        """Return what the parser says to a sentence, given the names of a home."""
        names = {kind: list(of) for kind, of in home.names.items() if of and kind in self.kinds}
        return self.parser(sentence, names=names)

    def meaning_of(self, reply: Reply, home: Home) -> Meaning | None:
        """Return what the first program of a reply means; None if it is not one call."""
        if reply.calls is None or len(reply.calls) != 1:
            return None
        [call] = reply.calls
        slots: dict[str, Any] = {}
        for name, value in call["arguments"].items():
            slot, factor = self.multiplied.get((call["name"], name), (name, None))
            slots[slot] = plain(value * factor if factor is not None else value)
        for slot in filter(None, str(slots.pop("context", "")).split("+")):
            if home.area is None:
                return None  # nobody knows where the speaker is
            slots[slot] = plain(home.area)
        return call["name"], frozenset(slots.items())


def answers(arguments: argparse.Namespace) -> None:
    """Print how many sentences are answered rightly, refused, and answered wrongly."""
    asked = [row for row in read_rows(Path(arguments.tests)) if not row["wildcard_slots"]]
    parser = ParserAnswers(Path(arguments.parser))
    size = sum(path.stat().st_size for path in Path(arguments.parser).rglob("*") if path.is_file())
    start = time.process_time()
    found = [parser.meaning(row["utterance"], home_of(row)) for row in asked]
    taken = 1000 * (time.process_time() - start) / len(asked)
    lines = [_verdicts("parser", asked, found)]
    for number, given in enumerate(arguments.beside):
        if given == "gazetteer":
            gazetteer = Gazetteer()
            matched = [gazetteer.meaning(row["utterance"], *gazetteer_home(row)) for row in asked]
            lines.append(_verdicts("gazetteer", asked, matched))
            lines += _wrong_ones(asked, matched)
            continue
        sources = read_home_assistant(ImportSource(given, arguments.locale, skip_broken=True))
        matcher = HassilMatcher(sources)
        matched = [_best(row, matcher, sources.skip_words) for row in asked]
        if not number:
            new = [place for place, meaning in enumerate(matched) if meaning is None]
            others = [asked[place] for place in new]
            lines.append(_verdicts("parser, others", others, [found[place] for place in new]))
        lines.append(_verdicts(f"hassil, {given}", asked, matched))
    print(*lines, sep="\n")
    print(f"parser: {size / 1e6:.1f} MB, {taken:.1f} CPU ms a sentence on one core")
    print(*_wrong_ones(asked, found), sep="\n")


def _wrong_ones(
    asked: Sequence[Mapping[str, Any]], found: Sequence[Meaning | None]
) -> Iterator[str]:
    """Yield what to print of answers that are wrong."""
    for row, meaning in zip(asked, found, strict=True):
        if meaning is not None and not is_right(row, meaning):
            yield f"  {row['utterance']!r}: {shown({meaning})} not {row['intent']}{row['slots']}"


def _best(
    row: Mapping[str, Any], matcher: HassilMatcher, skip_words: Sequence[str]
) -> Meaning | None:
    """Return what hassil makes of a test: of several meanings the right one."""
    text = row["utterance"]
    found = matcher.meanings(text, home_of(row), readings(text, (), skip_words)[0])
    return max(found, key=lambda meaning: is_right(row, meaning), default=None)


def _verdicts(
    name: str, asked: Sequence[Mapping[str, Any]], found: Sequence[Meaning | None]
) -> str:
    right = sum(map(is_right, asked, found))
    refused = sum(meaning is None for meaning in found)
    counts = (right, refused, len(asked) - right - refused)
    shares = (f"{count:,} ({100 * count / max(1, len(asked)):.1f} %)" for count in counts)
    words = ("right", "refused", "wrong")
    return f"{name}: {len(asked):,} sentences, " + ", ".join(
        f"{word} {share}" for word, share in zip(words, shares, strict=True)
    )


# ----------------------------------------------------------------------------------- gazetteer


class Gazetteer:
    """What gazetteer-matcher makes of sentences: English, written by hand for Home Assistant."""

    def __init__(self) -> None:
        """Import it."""
        try:
            from gazetteer_matcher import GazetteerMatcher
        except ImportError:
            sys.exit("gazetteer-matcher is not installed: pip install gazetteer-matcher")
        self.matcher = GazetteerMatcher()

    def meaning(self, text: str, home: Mapping[str, Any], area: str | None) -> Meaning | None:
        """Return what a sentence means; several commands are one that is no test's."""
        self.matcher.set_home(home)
        found = self.matcher.interpret(text, context_area=area)
        if not found.accepted:
            return None
        slots = {
            name: plain(self.matcher.display_name(name, value) if name in _NAMED else value)
            for frame in found.frames
            for name, value in frame.slots.items()
        }
        return " + ".join(frame.intent for frame in found.frames), frozenset(slots.items())


_NAMED = ("name", "area", "floor")


def gazetteer_home(row: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the home of a test in the form of gazetteer-matcher, and the place of its speaker."""
    place = home_of(row).area
    areas = {_name(area): area if isinstance(area, Mapping) else {} for area in row["areas"]}
    floors = {_name(floor) for floor in row["floors"]}
    floors.update(area["floor"] for area in areas.values() if "floor" in area)
    places = {entity["area"] for entity in row["entities"] if "area" in entity}
    entities = {
        str(number): {
            "name": entity["name"],
            "domain": entity.get("domain") or entity.get("id", "").split(".")[0],
            "area": entity.get("area"),
            "device_class": (entity.get("attributes") or {}).get("device_class"),
        }
        for number, entity in enumerate(row["entities"])
    }
    home = {
        "areas": {
            name: {"name": name, "floor": areas.get(name, {}).get("floor")}
            for name in [*areas, *sorted(places | {place} - {None} - {*areas})]
        },
        "floors": {name: {"name": name} for name in sorted(floors)},
        "entities": entities,
    }
    return home, place


# -------------------------------------------------------------------------------------- people

_SPEAKER = "Living Room"
# Names of one thing; what is named or given as a place by the rows is there, and not more than
# typical things beside them.
_ROOMS = (
    ("Living Room",), ("Kitchen",), ("Bathroom",), ("Bedroom", "Bed Room"), ("Master Bedroom",),
    ("Hall",), ("Drawing Hall",), ("Office",),
)  # fmt: skip
_DEVICES = {
    "light": (("Bedside Lamp",), ("Desk Lamp",), ("Desk Lamp One",), ("Closet Light",),
              ("Disco Lights",), ("Outdoor Lights",), ("Ceiling Light",)),
    "switch": (("Wemo Plug Socket", "Wemo"), ("Smart Plug", "Smart Plug Socket", "Smart Socket"),
               ("TV Socket",), ("Coffee Maker", "Coffee Machine")),
    "vacuum": (("Roomba", "Robot Vacuum", "Robot Vacuum Cleaner", "Vacuum Cleaner", "Vacuum"),),
    "fan": (("Ceiling Fan",),),
    "media_player": (("Speaker",),),
}  # fmt: skip
_COLORS = {
    "white", "black", "red", "orange", "yellow", "green", "blue", "purple", "brown", "pink",
    "turquoise",
}  # fmt: skip
# What people mean in other scenarios, by the intent alone; and what a row may name.
_INTENTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    f"{scenario} {action}": (frozenset(f"Hass{name}" for name in names.split()), frozenset(of))
    for scenario, action, names, of in (
        ("audio", "volume_up", "SetVolumeRelative SetVolume", ("change_amount", "media_type")),
        ("audio", "volume_down", "SetVolumeRelative SetVolume", ("change_amount", "media_type")),
        ("audio", "volume_mute", "MediaPlayerMute", ("media_type", "device_type")),
        ("datetime", "query", "GetCurrentTime GetCurrentDate", ()),
        ("weather", "query", "GetWeather", ()),
        ("lists", "createoradd", "ListAddItem ShoppingListAddItem", ("list_name",)),
        ("lists", "remove", "ListRemoveItem ListCompleteItem ShoppingListCompleteItem",
         ("list_name",)),
        ("play", "music", "MediaSearchAndPlay",
         ("song_name", "artist_name", "music_genre", "music_album", "playlist_name")),
        ("play", "radio", "MediaSearchAndPlay", ("radio_name",)),
        ("play", "podcasts", "MediaSearchAndPlay", ("podcast_name",)),
        ("play", "audiobook", "MediaSearchAndPlay", ("media_type", "artist_name")),
        ("music", "settings", "MediaNext MediaPrevious MediaPause MediaUnpause", ("song_name",)),
    )
}  # fmt: skip
_TIMES = {"time", "date", "general_frequency", "timeofday"}


def wanted(
    row: Mapping[str, Any], numbers: Mapping[str, float]
) -> list[tuple[str, dict[str, Any]]]:
    """Return what is right for a row of the scenario `iot`; none where it must be refused.

    The library can do nothing later, under a condition or again, with no part of the home that has
    no name, and it changes brightness only to a level. The place is that of the speaker where none
    is said; the thing is the longest name in the sentence; a number is percent.
    """
    text, action = row["utterance"], row["action"]
    said = {entity["type"]: entity["text"] for entity in row["entities"]}
    if said.keys() & _TIMES or re.search(r"\bwhen\b", text):
        return []
    kind, device = _named(text, _DEVICES)
    _, area = _named(text, {"area": _ROOMS})
    whole = re.search(r"\b(?:house|home|flat|apartment|interior)\b", text)
    if not (area or device) and (whole or said.get("house_place", "room") != "room"):
        return []
    place = {"area": area or _SPEAKER}
    target = {"name": device} if device else place
    if action in ("hue_lightup", "hue_lightdim"):
        level = re.search(r"\b(?:to|level) (\w+)$|\b(minimize|maximize)\b", text)
        value = level and {"minimize": 1, "maximize": 100, **numbers}.get(level[1] or level[2])
        return [("HassLightSet", {**target, "brightness": value})] if value is not None else []
    if action == "hue_lightchange":
        colors = [e["text"] for e in row["entities"] if e["text"] in _COLORS]
        return [("HassLightSet", {**target, "color": color}) for color in colors[-1:]]
    intent = "HassTurnOff" if action.endswith("off") else "HassTurnOn"
    if action == "cleaning":
        if area and kind in ("vacuum", None):
            return [("HassVacuumCleanArea", target | place)]
        return [(name, target) for name in ("HassVacuumStart", intent) if kind == "vacuum"]
    if device:
        return [(intent, target), *([(intent, target | place)] if area else [])]
    domains = {"hue_lighton": "light", "hue_lightoff": "light"}
    domain = domains.get(action) or ("fan" if re.search(r"\bfan\b", text) else None)
    return [(intent, place | {"domain": domain})] if domain else []


def _named(
    text: str, things: Mapping[str, Iterable[Sequence[str]]]
) -> tuple[str, str] | tuple[None, None]:
    """Return kind and first name of what has the longest name of those in a sentence."""
    found = [
        (len(name), kind, names[0])
        for kind, all_names in things.items()
        for names in all_names
        for name in names
        if re.search(rf"\b{name.lower()}\b", text)
    ]
    return max(found)[1:] if found else (None, None)


def _is_wanted(meaning: Meaning | None, allowed: Iterable[tuple[str, dict[str, Any]]]) -> bool:
    if meaning is None:
        return False
    first = {plain(name): names[0] for of in (*_DEVICES.values(), _ROOMS)
             for names in of for name in names}  # fmt: skip
    slots = {name: plain(first.get(value, value)) for name, value in meaning[1]}
    return any(
        meaning[0] == intent
        and all(slots.get(name) == plain(value) for name, value in right.items())
        and slots.keys() - right.keys() <= {"domain"}
        for intent, right in allowed
    )


def people(arguments: argparse.Namespace) -> None:
    """Print how commands of people are answered, and each wrong answer."""
    rows, numbers = read_rows(Path(arguments.rows)), number_words("en")
    names = {kind: tuple(name for of in things for name in of) for kind, things in _DEVICES.items()}
    home = Home({"area": tuple(name for of in _ROOMS for name in of), **names}, _SPEAKER)
    for name, answer in _answering(arguments, home):
        counts: Counter[tuple[str, str]] = Counter()
        for row in rows:
            judged = [(*_judged(row, meaning, numbers), meaning)
                      for meaning in answer(row["utterance"]) or (None,)]  # fmt: skip
            group, is_fine, meaning = max(judged, key=lambda found: found[1])
            verdict = "refused" if meaning is None else "right" if is_fine else "wrong"
            counts[group, verdict] += 1
            if meaning and not is_fine and (row["scenario"] == "iot" or arguments.others):
                print(f"  {name}: {row['action']}: {row['utterance']!r}: {shown({meaning})}")
        for group in sorted({group for group, _ in counts}):
            verdicts = {v: counts[group, v] for v in ("right", "refused", "wrong")}
            print(f"{name}: {group}: {sum(verdicts.values()):,} sentences, {verdicts}", flush=True)


def _judged(
    row: Mapping[str, Any], meaning: Meaning | None, numbers: Mapping[str, float]
) -> tuple[str, bool]:
    """Return the group of a row, and whether an answer to it is right."""
    if row["scenario"] == "iot":
        allowed = wanted(row, numbers)
        group = "iot, can be done" if allowed else "iot, nothing of the kind"
        return group, _is_wanted(meaning, allowed)
    intents, of = _INTENTS.get(f"{row['scenario']} {row['action']}", (frozenset(), frozenset()))
    named = {e["type"] for e in row["entities"] if e["text"] not in ("today", "now", "current")}
    if not intents or not named <= of:
        return "others, nothing of the kind", False
    return "others, can be done", meaning is not None and meaning[0] in intents


def _answering(
    arguments: argparse.Namespace, home: Home
) -> Iterator[tuple[str, Callable[[str], Collection[Meaning]]]]:
    """Yield what is asked: parsers, hassil with some templates, and gazetteer-matcher."""
    for folder in arguments.parsers:
        parser = ParserAnswers(Path(folder))
        yield folder, lambda text, parser=parser: {parser.meaning(text, home)} - {None}
    for given in arguments.beside:
        if given == "gazetteer":
            yield given, _gazetteer_answers(home)
            continue
        sources = read_home_assistant(ImportSource(given, "en", skip_broken=True))
        matcher = HassilMatcher(sources)
        yield (
            f"hassil, {given}",
            lambda text, matcher=matcher, skipped=sources.skip_words: matcher.meanings(
                text, home, readings(text, (), skipped)[0]
            ),
        )


def _gazetteer_answers(home: Home) -> Callable[[str], Collection[Meaning]]:
    gazetteer = Gazetteer()
    rooms = {names[0]: {"name": names[0], "aliases": list(names[1:])} for names in _ROOMS}
    things = {
        f"{kind}.{names[0]}": {"name": names[0], "aliases": list(names[1:]), "domain": kind}
        for kind, of in _DEVICES.items()
        for names in of
    }
    given = {"areas": rooms, "floors": {}, "entities": things}
    return lambda text: {gazetteer.meaning(text, given, home.area)} - {None}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    exact = commands.add_parser("exactness")
    exact.add_argument("source")
    exact.add_argument("--locale", default="en")
    exact.add_argument("--tests")
    exact.add_argument("--samples", type=int, default=0)
    exact.add_argument("--synthesized", type=int, default=0)
    exact.add_argument("--most", type=int, help="tests that are looked at, at most")
    exact.add_argument("--cut", action="store_true", help="cut words after listed values, too")
    exact.add_argument("--words", action="store_true", help="read numbers in words")
    exact.add_argument("--seed", type=int, default=1)
    exact.add_argument("--show", type=int, default=10, help="differences that are shown")
    exact.set_defaults(run=exactness)
    asking = commands.add_parser("answers")
    asking.add_argument("parser")
    asking.add_argument("--tests", required=True)
    asking.add_argument("--locale", default="en")
    asking.add_argument("--beside", action="append", default=[], metavar="SOURCE")
    asking.set_defaults(run=answers)
    calling = commands.add_parser("tools")
    calling.add_argument("--data", default=str(bridges_tools.SHARED), help="where tools/ lies")
    calling.add_argument("--work", default="build/bridges", help="libraries and parsers")
    calling.add_argument("--only", action="append", help="sets whose names begin so")
    calling.add_argument("--examples", action="store_true", help="without and with examples")
    calling.add_argument("--parts", type=int, default=2, help="libraries of each suite of BFCL")
    calling.add_argument("--size", type=int, default=4000, help="rows that are synthesized")
    calling.add_argument("--steps", type=int, default=600, help="of training; 0 for the base alone")
    calling.add_argument("--seed", type=int, default=1)
    calling.add_argument("--show", type=int, default=0, help="requests not answered that are shown")
    calling.set_defaults(run=bridges_tools.tools)
    making = commands.add_parser("speed")
    making.add_argument("--data", default=str(bridges_tools.SHARED), help="the shared data")
    making.add_argument("--only", nargs=1, help="one of the libraries")
    making.add_argument("--size", type=int, default=100_000, help="rows of Home Assistant")
    making.add_argument("--few", type=int, default=40, help="rows of each server")
    making.set_defaults(run=bridges_speed.speed)
    commands_of_people = commands.add_parser("people")
    commands_of_people.add_argument("parsers", nargs="+")
    commands_of_people.add_argument("--rows", required=True)
    commands_of_people.add_argument("--beside", action="append", default=[], metavar="SOURCE")
    commands_of_people.add_argument("--others", action="store_true", help="show those, too")
    commands_of_people.set_defaults(run=people)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
