"""Tiny parsers: their rows, and how to train them; tests/trained.py trains each once."""

import json
import shutil
from datetime import datetime
from pathlib import Path

from genie_dp.cli import run
from genie_dp.languages import get_language
from genie_dp.locale import LOCALE
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.inputs import read_input
from genie_dp.resources import data_folder
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


def command(*words):
    assert run([str(word) for word in words]) == 0


TOOLS = json.dumps({
    "entities": {"room": ["kitchen", "bath room", "hall"]},
    "tools": [
        {"name": "heat_room", "description": "Heat a room.", "parameters": {
            "required": ["room", "degrees"], "properties": {
                "room": {"type": "string", "x-entity": "room", "description": "Which room?"},
                "degrees": {"type": "integer", "minimum": 5, "maximum": 30},
                "mode": {"enum": ["slow", "very fast"]},
                "quiet": {"type": "boolean"},
                "days": {"type": "array", "items": {"type": "string", "format": "date"}},
                "from": {"type": "string", "format": "time"}}}},
        {"name": "send_note", "parameters": {"required": ["to", "text"], "properties": {
            "to": {"type": "string", "format": "email", "description": "The address. One only."},
            "text": {"type": "string"}}}},
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
    ],
})  # fmt: skip
HEAT = "heat_room( degrees= NUMBER_0 room= GENERIC_ENTITY_room_0 )"
SAID = (
    ("heat the GENERIC_ENTITY_room_0 to NUMBER_0 degrees", HEAT),
    ("bring the GENERIC_ENTITY_room_0 to NUMBER_0 degrees slow",
     HEAT.replace("room=", "mode= slow room=")),
    ("heat the GENERIC_ENTITY_room_0 ~ floor to NUMBER_0 degrees", HEAT),
    ("show my notes", "list_notes( )"),
    ("write lunch to EMAIL_ADDRESS_0", 'send_note( text= " lunch " to= EMAIL_ADDRESS_0 )'),
    ("heat the GENERIC_ENTITY_room_0", "heat_room( degrees= $? room= GENERIC_ENTITY_room_0 )"),
    ("show my notes and write party to EMAIL_ADDRESS_0",
     'list_notes( ) & send_note( text= " party " to= EMAIL_ADDRESS_0 )'),
)  # fmt: skip


def train_calls(folder):
    """Train a parser of tool calls, for two dozen steps, beside its tools and rows."""
    calls = get_language("calls")
    (folder / "tools.json").write_text(TOOLS)
    write(
        folder / "rows.jsonl",
        [
            row(f"S{n}", said, program, language="calls", functions=calls.form(program).functions)
            for n, (said, program) in enumerate(SAID * 3)
        ],
    )
    recipe = "network: {size: 24}\nbatch: 8\nrate: 0.02\nvalidations: 1\nout_of_scope: 0\n"
    (folder / "recipe.yaml").write_text(recipe)
    command("train", folder / "rows.jsonl", "--language", "calls", "--steps", 24, "--skills",
            folder / "tools.json", "--recipe", folder / "recipe.yaml", "--output",
            folder / "parser")  # fmt: skip


GERMAN = DATA.parent.parent / "examples" / "german"


def train_german(folder):
    """Train a parser of ten German templates; its words are in a file that is gone then."""
    own, library = folder / "words.txt", ("--language", "calls", "--skills", GERMAN / "tools.json")
    shutil.copyfile(data_folder("locales") / "de.txt", own)
    recipe = "network: {size: 32}\nbatch: 16\nrate: 0.02\nvalidations: 1\nincomplete: 0\n"
    (folder / "recipe.yaml").write_text(recipe)
    command("synthesize", *library, "--grammar", GERMAN / "main.genie", "--size", 200,
            "--output", folder / "pairs.jsonl")  # fmt: skip
    command("data", "augment", folder / "pairs.jsonl", *library, "--locale", own, "--primitive", 6,
            "--output", folder / "rows.jsonl")  # fmt: skip
    command("train", folder / "rows.jsonl", *library, "--locale", own, "--recipe",
            folder / "recipe.yaml", "--steps", 120, "--output", folder / "parser")  # fmt: skip
    own.unlink()


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
    given = language.structure.give_input(call, missing, read.constant, library)
    return language.structure.calls(language.canonical(given, library))[0]["arguments"][
        missing.name
    ]
