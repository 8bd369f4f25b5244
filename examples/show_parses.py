"""Parses five sentences: python examples/show_parses.py PARSER --pairs PAIRS.jsonl.

They were written down before any parser was trained, and no template was changed for them.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import torch

from genie_dp.augment.skill_rows import at_known_places
from genie_dp.parser.parser import Parser

LIGHTS, WEATHER = "@org.thingpedia.light-bulb", "@org.thingpedia.weather"
ROOM = "^^org.thingpedia.light-bulb:room"
ALICE, BOB = (f'"{name}@example.com"^^tt:email_address' for name in ("alice", "bob"))
# What is typed, and the program that is right.
SENTENCES = (
    (
        "whats the weather like in paris",
        f'now => {WEATHER}.current(location = makeLocation(48.9, 2.3, "paris")) => notify',
    ),
    (
        "please switch off the lights in the kitchen",
        f'now => {LIGHTS}.set_power(power = enum(off), room = "kitchen"{ROOM})',
    ),
    (
        "show me unread mail from alice@example.com",
        f"now => (@com.gmail.inbox()) filter is_unread == true && sender == {ALICE} => notify",
    ),
    (
        "every day at 7 am show me the forecast for berlin",
        "attimer(time = makeTime(7, 0)) => "
        f'{WEATHER}.forecast(location = makeLocation(52.5, 13.4, "berlin")) => notify',
    ),
    (
        "when i get an email from bob@example.com flash the lights in the office",
        f"monitor ((@com.gmail.inbox()) filter sender == {BOB}) => "
        f'{LIGHTS}.flash(room = "office"{ROOM})',
    ),
)


def main() -> None:
    """Print sentences with their programs, and how many are right."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parser", type=Path)
    arguments.add_argument("--pairs", type=Path, required=True, help="the synthesized rows")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    parser = Parser.from_pretrained(options.parser)
    replies = parser.parse([sentence for sentence, _ in SENTENCES])
    right = sum(map(show, replies, [expected(parser, code) for _, code in SENTENCES]))
    with options.pairs.open(encoding="utf-8") as lines:
        synthesized = [json.loads(line)["utterance"] for line in lines]
    asked = {" ".join(reply.tokens) for reply in replies} | {said for said, _ in SENTENCES}
    seen = len(asked.intersection(synthesized))
    print(f"{right} of {len(SENTENCES)} are right; {seen or 'none'} of the sentences ", end="")
    print(f"{'are' if seen > 1 else 'is'} among the {len(synthesized):,} synthesized ones.")
    command = os.path.relpath(Path(sys.executable).parent / "genie-dp")
    print(f"Try your own: {command} parse --parser {options.parser}")


def expected(parser: Parser, code: str) -> str:
    """Return the token form of a program, places where the reader puts them."""
    language, library = parser.target.language, parser.target.library
    tree = language.canonical(at_known_places(language.parse(code)), library)
    return language.tokens(tree, library)


def show(reply, program: str) -> bool:
    """Print a reply; tell whether its first program is right."""
    is_right = bool(reply.answers) and reply.answers[0].program == program
    print(reply.sentence)
    for answer in reply.answers:
        code = " ".join(answer.code.split())
        print(f"    {code}\n    {'right' if is_right else 'WRONG'}, confidence", end=" ")
        print(f"{answer.confidence:.2f}{'' if reply.is_known else ': I do not know'}\n")
    return is_right


if __name__ == "__main__":
    main()
