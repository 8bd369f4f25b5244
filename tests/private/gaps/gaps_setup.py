"""Invented people who ask for more than templates say, for tests of the gap report."""

import json
from pathlib import Path

from genie_dp.private.gaps.select import GapLimits, GapPlan, TemplateVocabulary, Understanding
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.run.manifest import ledger_of

SAID = TemplateVocabulary(
    words=frozenset(["turn", "on", "off", "the", "lamp", "lock", "door", "please"]),
    pairs=frozenset([("turn", "on"), ("on", "the"), ("the", "lamp"), ("lock", "the"),
                     ("the", "door")]),
    functions=("lamp.set", "door.lock", "mower.start"),
    reasons={"word not said": "a word", "not derived": "not so"},
)  # fmt: skip


def heard(text, reason="word not said", function="mower.start"):
    """Return a sentence that is not understood."""
    return Understanding(tuple(text.split()), reason, function)


def plan(*, limits=None, multiplier=2.0, kind="gaussian", delta=1e-6, least=1, reads_all=False):
    """Return a plan over what these templates say."""
    return GapPlan(SAID, limits or GapLimits(2, 4, 2), kind, multiplier, delta, least, reads_all)


TOOLS = [
    {"name": "lamp.set", "description": "Sets the lamp", "parameters": {
        "type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}},
    {"name": "door.lock", "description": "Locks the door", "parameters": {
        "type": "object", "properties": {}}},
    {"name": "mower.start", "description": "Mows the lawn", "parameters": {
        "type": "object", "properties": {
            "minutes": {"type": "integer"}, "hours": {"type": "integer"}}}},
]  # fmt: skip
TEMPLATES = """
category COMMAND : program root "whole sentences";
COMMAND := 'set the lamp to $level' -> lamp.set(level = $level);
COMMAND := 'lock the door' -> door.lock();
"""
SECRET = "zanzibar"
"""Stands in a sentence of each person alone."""


def project(folder: Path) -> list[str]:
    """Write tools and templates; return the options that name them."""
    (folder / "tools.json").write_text(json.dumps({"tools": TOOLS}))
    (folder / "main.genie").write_text(TEMPLATES)
    return ["--language", "calls", "--skills", str(folder / "tools.json"),
            "--grammar", str(folder / "main.genie")]  # fmt: skip


def private_file(folder: Path, people=120, *, epsilon=9.0) -> Path:
    """Write what people say: all lock the door, two of three mow the lawn, each has a secret."""
    path = folder / "private.jsonl"
    rows = []
    for n in range(people):
        said = ["lock the door", f"call {SECRET}{n} now"]
        if n % 3:
            said += [f"mow the lawn for {n + 2} minutes", "mow the lawn"]
        rows += [{"user": f"{SECRET}_{n}", "utterance": text} for text in said]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    Ledger.create(ledger_of(path), Budget(epsilon, 1e-6, "user", cap=10))
    return path
