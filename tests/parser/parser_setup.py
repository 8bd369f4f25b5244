"""A tiny parser over two invented skills: its rows, and how to train it."""

from datetime import datetime
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.locale import LOCALE
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.inputs import read_input
from tests.dataset.dataset_rows import row, write
from tests.golden import DATA

NOW = datetime(2027, 1, 13, 10, 0)
SKILLS = DATA / "typecheck" / "skills"
MAIL, HOME = SKILLS / "com.example.mail", SKILLS / "com.example.home"
LIBRARY = ("--skills", MAIL, "--skills", HOME)
INBOX, SEND = "@com.example.mail.inbox", "@com.example.mail.send"
LIGHT = "@com.example.home.light"
WORDS = ("lunch", "budget", "party", "report", "holiday", "invoice", "garden", "taxes")
# Sentences to refuse take seconds; tests/parser/test_refusal.py trains with them.
REFUSING = "network: {size: 32}\nbatch: 8\nrate: 0.02\nvalidations: 2\nlocale: {region: GB}\n"
RECIPE = f"{REFUSING}out_of_scope: 0\n"
OFTEN_KEPT = f"{RECIPE}checkpoint_every: 10\n"


def rows():
    """Return rows as synthesis and augmentation make them."""
    found = []
    for word in WORDS:
        subject = f'param:subject:String == " {word} "'
        for said, program in (
            (f"show mail about {word}", f"now => ( {INBOX} ) filter {subject} => notify"),
            (
                f"send EMAIL_ADDRESS_0 a mail about {word}",
                f'now => {SEND} param:subject:String = " {word} " '
                "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0",
            ),
            (
                f"turn on the light at TIME_0 for the {word}",
                f"now => {LIGHT} param:at:Time = TIME_0 param:power:Enum(on,off) = enum:on",
            ),
            (
                f"when mail larger than MEASURE_byte_0 about {word} comes tell me",
                f"monitor ( ( {INBOX} ) filter param:size:Measure(byte) > MEASURE_byte_0 and "
                f"{subject} ) => notify",
            ),
        ):
            name = f"S{len(found)}"
            found.append(row(name, said, program))
    return found


def write_rows(folder, made=None):
    return write(folder / "rows.jsonl", rows() if made is None else made)


def train(folder: Path, *options, inputs=None, code=0, steps=6, recipe=RECIPE):
    """Run the command in a folder; return where the parser is."""
    path = folder / "recipe.yaml"
    path.write_text(recipe, encoding="utf-8")
    files = [write_rows(folder)] if inputs is None else inputs
    target = folder / "parser"
    budget = [] if steps is None else ["--steps", steps]
    words = ["train", *files, "--recipe", path, "--output", target, *LIBRARY, *budget, *options]
    assert run([str(word) for word in words]) == code
    return target


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Return the folder of a parser that has learned its rows."""
    return train(tmp_path_factory.mktemp("trained"), steps=120)


def input_in(sentence, missing, library, language):
    """Return the value that a sentence gives an input of a call; None where it gives none."""
    read = read_input(
        sentence,
        missing,
        library=library,
        readings=load_reader().readings(sentence, now=NOW),
        names=EntityNames(library),
        known=LOCALE.words,
    )
    if read is None:
        return None
    now = "now => " if language.name == "thingtalk" else ""
    call = language.parse(f"{now}{missing.function}()")
    given = language.give_input(call, missing, read.constant, library)
    return language.calls(language.canonical(given, library))[0]["arguments"][missing.name]
