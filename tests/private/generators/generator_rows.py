"""Invented rows: public ones that ask for everything alike, and private ones that do not."""

import json

from tests.golden import DATA

SKILLS = DATA / "typecheck" / "skills"
MAIL, HOME = SKILLS / "com.example.mail", SKILLS / "com.example.home"
INBOX = "now => @com.example.mail.inbox => notify"
RANDOM = "now => @com.example.mail.random => notify"
ASKED = {
    INBOX: ("show my mail", "what mail do i have", "list the mail"),
    RANDOM: ("show any mail", "give me some mail", "a mail please"),
    "monitor ( @com.example.mail.inbox ) => notify": ("tell me of new mail", "warn me of mail"),
}
# A word of private rows that no public row has: it may be nowhere.
CANARY = "zanzibarquux"


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
