"""Invented rows, private and public ones, and commands that train on them and draw rows."""

import json
from pathlib import Path

from genie_dp.cli import run
from genie_dp.private.generators.run import GeneratorTraining
from genie_dp.private.ledger.book import Ledger
from genie_dp.rows import read_rows
from tests.golden import DATA

SKILLS = DATA / "typecheck" / "skills"
LIBRARY = MAIL, HOME = SKILLS / "com.example.mail", SKILLS / "com.example.home"
INBOX = "now => @com.example.mail.inbox => notify"
RANDOM = "now => @com.example.mail.random => notify"
ASKED = {
    INBOX: ("show my mail", "what mail do i have", "list the mail"),
    RANDOM: ("show any mail", "give me some mail", "a mail please"),
    "monitor ( @com.example.mail.inbox ) => notify": ("tell me of new mail", "warn me of mail"),
}
# A word of private rows that no public row has: it may be nowhere.
CANARY = "zanzibarquux"

OF_SKILLS = ("--skills", MAIL, "--skills", HOME)
SIZES = ("--size", 16, "--layers", 1, "--heads", 2, "--longest", 64, "--pretraining-epochs", 1,
         "--pretraining-batch", 16, "--checkpoint-every", 2)  # fmt: skip
# So long that most draws are rows.
LEARNED = ("--pretraining-epochs", 30, "--pretraining-rate", 0.01, "--learning-rate", 1e-4)
SHORT = ("--batch", 8, "--program-longest", 20, "--longest", 30, "--width", 1)


def row(number, utterance, program, source="synthetic", **more):
    found = {"id": f"S{number}", "utterance": utterance, "program": program, "source": source}
    return {**found, "language": "thingtalk", **more}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def public(folder, count=10):
    pairs = [(said, program) for program, all_ in ASKED.items() for said in all_] * count
    return write(folder / "public.jsonl", (row(i, *pair) for i, pair in enumerate(pairs)))


def asked(count):
    """Return rows that ask for the inbox alone, each with a word that only they have."""
    said = [f"{ASKED[INBOX][i % 3]} {CANARY}" for i in range(count)]
    return [row(i, words, INBOX, "human") for i, words in enumerate(said)]


def private(folder, count=40):
    """Write private rows; see `asked`."""
    return write(folder / "private.jsonl", asked(count))


def command(*words):
    return run([str(word) for word in ("private", *words)])


def prepare(folder, epsilon=8, accountant="rdp"):
    """Write rows and a ledger, whose accountant is fast; return the path of the private rows."""
    path = private(folder)
    public(folder)
    budget = ("--epsilon", epsilon, "--delta", 1e-6, "--unit", "utterance")
    assert command("budget", "init", path, *budget, "--accountant", accountant) == 0
    return path


def words_of(folder, kind, *options, epsilon=3, name="made"):
    """Return the words of a command that trains on the rows of a folder."""
    epochs = "1/2" if kind == "two-stage" else "2"
    amount = ("--estimated-units", 40, "--batch", 10, "--epochs", epochs, "--epsilon", epsilon)
    public = () if "--model" in options else ("--public", folder / "public.jsonl")
    files = (folder / "private.jsonl", *public, "--output", folder / name)
    return ("train", kind, *files, *amount, *OF_SKILLS, *SIZES, *options)


def stage(**settings):
    """Return the stage of a training whose files and ledger nobody asks for."""
    inputs = {"private": Path("private.jsonl"), "ledger": None, "library": None}
    return GeneratorTraining(**{**inputs, "kind": "one-stage", **settings})


def train(folder, kind, *options, **more):
    return command(*words_of(folder, kind, *options, **more))


def sampled(folder, *options, name="rows.jsonl"):
    words = ("--output", folder / name, *SHORT, *options)
    assert command("sample", folder / "made", *OF_SKILLS, *words) == 0
    return list(read_rows(str(folder / name)))


def ledger(folder):
    return Ledger.open(folder / "private.ledger.json")


def facts_of(folder):
    """Return what a trained generator tells of its training."""
    return json.loads((folder / "config.json").read_text())["training"]


def all_bytes(folder):
    """Return names and content of all files below a folder, the private rows left out."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "private.jsonl")
    assert files
    return b"".join(str(path).encode() + path.read_bytes() for path in files)
