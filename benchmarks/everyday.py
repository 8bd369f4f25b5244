"""What a parser makes of commands that people gave, whole program by whole program.

    python benchmarks/everyday.py --parser build/quickstart/parser \\
        --slurp ../shared/data/slurp/devel.jsonl --workshop-parser workshop/parser \\
        --home-parser home/parser --home-tests ../shared/data/home_assistant/tests.en.jsonl

Prints one table. No set shows a sentence or an answer, so that nothing can be mended for it alone:

- `eval.tsv`: the real sentences of the shipped skills, which also calibrate their parser.
- `SLURP`: 300 commands that people gave a home assistant, drawn from the scenarios that the shipped
  skills cover. What is right of each was written down before any parser was asked
  (benchmarks/everyday/slurp.tsv).
- `Home Assistant`: commands of its own tests that name no single thing or place, answered by a
  parser of imported templates and judged as in bridges.py.
- `workshop`: what people would tell a bicycle workshop of ten functions (benchmarks/refusal).

An answer is what may be acted on. Where the right program lacks an input, asking for it is right;
any other question counts as a refusal. "First program" is the best one, refused or not. "Wrong at
90 % coverage" is the share of wrong first programs among the surest 90 % of what can be done.
"""

import argparse
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bridges import ParserAnswers, home_of, is_right, read_rows
from measure import ROOT, table

import genie_dp as gd
from genie_dp.augment.skill_rows import at_known_places, evaluation_files
from genie_dp.evaluate.counts import ConfidenceCounts
from genie_dp.evaluate.judge import judge
from genie_dp.evaluate.rows import Gold, Prediction
from genie_dp.evaluate.views import viewer_of
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import MISSING_INPUT, Reply
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.rows import Target
from genie_dp.records import Example

LABELS = Path(__file__).parent / "everyday" / "slurp.tsv"
WORKSHOP = Path(__file__).parent / "refusal" / "workshop"
# What people called the assistant of SLURP.
WAKE_WORDS = ("olly", "alexa")
NOW = datetime(2026, 11, 23, 9)  # "tomorrow" of the labels, and of eval.tsv the years
SCENARIOS = (
    "audio", "calendar", "email", "iot", "lists", "music", "news", "play", "qa", "recommendation",
    "social", "transport", "weather",
)  # fmt: skip
COMMANDS = 300
COVERAGE = 0.9


@dataclass(frozen=True)
class Verdict:
    """What became of a command.

    Attributes:
        can_be_done: whether some program is right.
        is_answered: it is acted on, or what the right program lacks is asked for.
        is_right: the first program is right, whether it is refused or not.
        confidence: that of the first program; None where there is none.
    """

    can_be_done: bool
    is_answered: bool
    is_right: bool
    confidence: float | None


# ------------------------------------------------------------------------------ right programs


def gold_of(
    id: str, sentence: str, codes: Iterable[str], target: Target, names: EntityNames
) -> Gold:
    """Return a sentence with its right programs, their names as said and as lists have them."""
    language = target.language
    programs = dict.fromkeys(
        language.tokens(language.canonical(program, target.library), target.library)
        for tree in map(at_known_places, map(language.parse, codes))
        for program in (tree, names.resolve(tree, language)[0])
    )
    first, *others = programs or (OUT_OF_SCOPE,)
    row = Example(id, sentence, first, language.name, "human")
    return Gold(row, (first, *others))


def skill_gold(folder: Path, target: Target) -> Iterator[Gold]:
    """Yield the sentences of the eval.tsv of skills, but those with functions of other skills."""
    language, known = target.language, set(target.library.names())
    names = EntityNames(target.library)
    for file in evaluation_files([folder]):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[1:], 2):
            sentence, code, *_ = line.split("\t")
            if set(language.functions(language.parse(code))) <= known:
                yield gold_of(f"{file.parent.name}:{number}", sentence, [code], target, names)


def slurp_gold(path: Path, target: Target) -> Iterator[Gold]:
    """Yield the drawn commands of SLURP with the programs that are right for them.

    Raises:
        SystemExit: other rows have labels than are drawn from the file.
    """
    rows = read_rows(path)
    sentences = {row["id"]: row["utterance"] for row in rows}
    labels = dict(read_labels(LABELS))
    if {*labels} != {*drawn(rows)}:
        raise SystemExit(f"{path} is not the file whose rows {LABELS} has")
    names = EntityNames(target.library)
    for id, codes in labels.items():
        yield gold_of(id, sentences[id], codes, target, names)


def drawn(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the commands that are asked, drawn from the scenarios of shipped skills."""
    ids = sorted(row["id"] for row in rows if row["scenario"] in SCENARIOS)
    return random.Random("everyday:1").sample(ids, min(COMMANDS, len(ids)))


def read_labels(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield ids with the programs that are right, none where it is out of scope."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            id, *codes = line.split("\t")
            yield id, [code for given in codes if given != OUT_OF_SCOPE for code in choices(given)]


def choices(text: str) -> list[str]:
    """Return all texts that a text with choices stands for.

    >>> choices("{|[size] of }(@c.files()) filter size {>|>=} 5")[1:3]
    ['(@c.files()) filter size >= 5', '[size] of (@c.files()) filter size > 5']
    """
    innermost = re.search(r"\{([^{}]*)\}", text)
    if innermost is None:
        return [text]
    before, after = text[: innermost.start()], text[innermost.end() :]
    several = (choices(f"{before}{choice}{after}") for choice in innermost[1].split("|"))
    return [*dict.fromkeys(found for texts in several for found in texts)]


# ------------------------------------------------------------------------------------- verdicts


def ask(parser: gd.Parser, commands: Sequence[Gold]) -> list[Verdict]:
    """Return what a parser makes of commands."""
    replies = parser.parse([gold.row.utterance for gold in commands])
    return judge_replies(commands, replies, parser.target)


def judge_replies(
    commands: Iterable[Gold], replies: Iterable[Reply], target: Target
) -> list[Verdict]:
    """Return what replies make of commands.

    Raises:
        GenieError: V005, V006: a right program cannot be read, or does not fit the skills.
    """
    viewer = viewer_of(target.language.name, target.library)
    verdicts = []
    for gold, reply in zip(commands, replies, strict=True):
        programs = tuple(answer.program for answer in reply.answers)
        can_be_done = OUT_OF_SCOPE not in gold.programs
        is_right = can_be_done and judge(gold, Prediction(gold.row.id, programs), viewer).is_right
        is_answered = reply.is_known or (reply.refused == MISSING_INPUT and is_right)
        verdicts.append(Verdict(can_be_done, is_answered, is_right, _confidence(reply)))
    return verdicts


def ask_home(parser: ParserAnswers, tests: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """Return what a parser of imported templates makes of tests of Home Assistant."""
    verdicts = []
    for row in filter(is_indirect, tests):
        home = home_of(row)
        reply = parser.ask(row["utterance"], home)
        meaning = parser.meaning_of(reply, home)
        is_answered = reply.is_known and meaning is not None
        verdicts.append(Verdict(True, is_answered, is_right(row, meaning), _confidence(reply)))
    return verdicts


def _confidence(reply: Reply) -> float | None:
    return reply.confidence if reply.answers else None


def is_indirect(test: Mapping[str, Any]) -> bool:
    """Tell whether a command names two of thing, room and floor, or none and yet means some.

    Then it means what is where the speaker is, or all of a kind. One with free text is none.
    """
    slots = test["slots"].keys()
    places = slots & {"name", "area", "floor"}
    is_here = test["needs_context_area"] or test["context_area"] is not None
    means_some = is_here or bool(slots & {"domain", "device_class", "state"})
    return not test["wildcard_slots"] and (len(places) > 1 or (not places and means_some))


# ---------------------------------------------------------------------------------------- table

HEAD = (
    "set", "rows", "can be done", "answered rightly", "answered wrongly", "refused",
    "others acted on", "first program right", "wrong at 90 % coverage",
)  # fmt: skip


def cells(name: str, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the row of a set."""
    possible = [verdict for verdict in verdicts if verdict.can_be_done]
    others = [verdict for verdict in verdicts if not verdict.can_be_done]
    answered = [verdict for verdict in possible if verdict.is_answered]
    rightly = sum(verdict.is_right for verdict in answered)
    counts = [
        (rightly, possible),
        (len(answered) - rightly, possible),
        (len(possible) - len(answered), possible),
        (sum(verdict.is_answered for verdict in others), others),
        (sum(verdict.is_right for verdict in possible), possible),
    ]
    shares = [f"{n} ({100 * n / len(of):.1f} %)" if of else "–" for n, of in counts]
    return [name, str(len(verdicts)), str(len(possible)), *shares, _wrong_at_coverage(possible)]


def _wrong_at_coverage(verdicts: Iterable[Verdict]) -> str:
    counts = ConfidenceCounts()
    for verdict in verdicts:
        is_none = verdict.confidence is None
        counts.add(verdict.confidence, is_right=verdict.is_right, is_refused=is_none)
    coverages = (counts.figures() or {}).get("coverages", ())
    wrong = (1 - point["accuracy"] for point in coverages if point["wanted"] == COVERAGE)
    return next((f"{100 * share:.1f} %" for share in wrong), "–")


def main() -> None:
    """Ask parsers the sets that they are given for, and print a table."""
    parse = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parse.add_argument("--parser", type=Path, help="folder of a parser of the shipped skills")
    parse.add_argument("--slurp", type=Path, help="rows of SLURP, devel.jsonl")
    parse.add_argument("--home-parser", type=Path, help="of templates of Home Assistant")
    parse.add_argument("--home-tests", type=Path, help="rows of its tests, tests.en.jsonl")
    parse.add_argument("--workshop-parser", type=Path, help="of benchmarks/refusal/workshop")
    given = parse.parse_args()
    if bool(given.home_parser) != bool(given.home_tests) or (given.slurp and not given.parser):
        parse.error("--home-parser goes with --home-tests, and --slurp with --parser")
    sets: dict[str, list[Verdict]] = {}
    if given.parser:
        parser = open_parser(given.parser)
        sets["eval.tsv"] = ask(parser, [*skill_gold(ROOT / "thingpedia", parser.target)])
        if given.slurp:
            slurp = open_parser(given.parser, wake_words=WAKE_WORDS)
            sets["SLURP"] = ask(slurp, [*slurp_gold(given.slurp, parser.target)])
    if given.home_parser:
        home = ParserAnswers(given.home_parser)
        sets["Home Assistant"] = ask_home(home, read_rows(given.home_tests))
    if given.workshop_parser:
        parser = open_parser(given.workshop_parser)
        sets["workshop"] = ask(parser, [*skill_gold(WORKSHOP, parser.target)])
    print(table(HEAD, (cells(name, verdicts) for name, verdicts in sets.items())))


def open_parser(folder: Path, wake_words: Sequence[str] = ()) -> gd.Parser:
    """Return the parser of a folder, which tells dates from NOW."""
    return gd.Parser.from_pretrained(folder, wake_words=wake_words, clock=lambda: NOW)


if __name__ == "__main__":
    main()
