"""Redaction measured: memory and time on generated rows, and what is missed in CustomerSim.

    python benchmarks/redaction.py memory --rows 1000000
    python benchmarks/redaction.py missed --detector detector

`missed` labels the names, addresses, phone, order and tracking numbers of CustomerSim (Shi et al.,
2022) by the question before and the phrases of its templates; nothing of its text is printed.
"""

import argparse
import json
import random
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from genie_dp.private.redact.detectors import Phones
from genie_dp.private.redact.duplicates import Duplicates
from genie_dp.private.redact.measure import measure_policies
from genie_dp.private.redact.patterns import Patterns
from genie_dp.private.redact.redactor import Redactor
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.sentences import Labelled
from genie_dp.private.redact.spans import Detector, Policy

_CARRIER = re.compile(
    r"^ ?(?:(?:Sure|Ok|Okay|Yes|Yep|Yea|Yeah|Of course|Well)(?: sure)?(?:,| -|\.)? ?)?"
    r"(?:(?:it is|it's|I'm|I am|my name's|my name is|my number is|phone number is"
    r"|my order number is|you can reach me at|that is|this is|(?:my |the )?(?:shipping )?address is"
    r"|order number is)(?= ))?\s*",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?: is my (?:full )?(?:name|number|address|order number))?[.!]?$", re.IGNORECASE
)
_ASKED = (
    ("full name", "person"),
    ("phone number", "phone"),
    ("order number", "reference"),
    ("shipping address", "address"),
)
_FORMS = (
    (r"^\d{3}-\d{5}-\d{4}$", "reference"),
    (r"\b[A-Z]{2} \d{5}$", "address"),
    (r"^[A-Z][a-z]+ [A-Z][A-Za-z]+$", "person"),
)
# Where a sentence with an order number ends, or the one before it.
_PARTS = re.compile(r"(?<=-\d{4}\.)(?= )|(?<=[a-z]\.)(?= (?:[A-Za-z' ]* )?\d{3}-\d{5}-)")
_TRACKING = re.compile(r"tracking number(?:, which is|,| is) ([A-Z0-9]{10})\b")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["memory", "missed"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--near", type=float, default=0.8)
    parser.add_argument("--detector", type=Path)
    parser.add_argument("--output", type=Path)
    default = Path("../shared/data/customersim/valid.jsonl")
    parser.add_argument("--customersim", type=Path, default=default)
    options = parser.parse_args()
    memory(options) if options.what == "memory" else missed(options)


def memory(options: argparse.Namespace) -> None:
    """Print time and memory of looking for duplicates, and the time of redaction."""
    before, start = _peak(), time.monotonic()
    found = Duplicates(options.near)
    for text in _texts(options.rows):
        found.add(Point(text))
    read = time.monotonic() - start
    later = found.later()
    total = time.monotonic() - start
    print(f"rows {options.rows:,}  peak {_peak():.0f} MB (at the start {before:.0f} MB)")
    print(f"added in {read:.0f} s, all in {total:.0f} s; duplicates {int(later.sum()):,}")
    redactor = Redactor((Patterns(), Phones()), Policy("pi", 0.5), Policy("pi_c", 0.1))
    points = [Point(text) for text in _texts(5000)]
    start = time.monotonic()
    redactor.redact(points)
    print(f"redaction {(time.monotonic() - start) / len(points) * 1e6:.0f} us a row")


def _texts(count: int) -> Iterator[str]:
    """Yield sentences of 6 to 16 words; a tenth is an earlier one, a tenth nearly so."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9)))
             for _ in range(20_000)]  # fmt: skip
    old: list[list[str]] = []
    for _ in range(count):
        roll = rng.random()
        if old and roll < 0.2:
            text = list(rng.choice(old))
            if roll < 0.1 and len(text) > 9:
                text[-1] = rng.choice(words)
        else:
            text = rng.choices(words, k=rng.randint(6, 16))
        if len(old) < 10_000:
            old.append(text)
        yield " ".join(text)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def missed(options: argparse.Namespace) -> None:
    """Print what the policies take of CustomerSim's secrets."""
    rows = [row for line in options.customersim.open() for row in _labelled(json.loads(line))]
    detectors: dict[str, tuple[Detector, ...]] = {"patterns": (Patterns(), Phones())}
    if options.detector:
        from genie_dp.models.device import prepare_torch
        from genie_dp.private.redact.learned import TaggerDetector

        prepare_torch("cpu")
        learned = TaggerDetector.load(options.detector)
        detectors |= {"learned": (learned,), "both": (*detectors["patterns"], learned)}
    policies = [Policy("pi", 0.5), Policy("pi 0.3", 0.3), Policy("pi_c", 0.1)]
    result = {}
    print(f"{len(rows):,} texts, {sum(len(r.spans) for r in rows):,} secrets")
    for name, used in detectors.items():
        for one in measure_policies(rows, used, policies):
            result[f"{name} {one.policy.name}"] = one.as_dict()
            kinds = "  ".join(f"{k} {r.value:.3f}" for k, r in one.recall_by_kind.items())
            print(
                f"{name:<10}{one.policy.name:<8} gamma {one.gamma.value:.4f}"
                f" ({one.gamma.low:.4f}-{one.gamma.high:.4f})  precision {one.precision.value:.3f}"
                f"  exact {one.exact.value:.3f}  exposed {one.exposed.value:.4f}  | {kinds}"
            )
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _labelled(dialogue: dict[str, list[dict[str, str]]]) -> Iterator[Labelled]:
    before = ""
    for turn in dialogue["turns"]:
        text = turn["text"]
        spans = [(*m.span(1), "reference") for m in _TRACKING.finditer(text)]
        asked = next((kind for words, kind in _ASKED if words in before.lower()), None)
        if turn["speaker"] == "USR":
            # A number and a name may be told at once: each in its sentence.
            at = 0
            for part in _PARTS.split(text):
                start = at + _CARRIER.match(part).end()  # type: ignore[union-attr]
                end = at + _TAIL.search(part).start()  # type: ignore[union-attr]
                kind = _kind(text[start:end], asked)
                if kind and start < end:
                    spans.append((start, end, kind))
                at += len(part)
        yield Labelled(text, tuple(spans))
        before = text if turn["speaker"] == "SYS" and "tracking number" not in text else ""


def _kind(secret: str, asked: str | None) -> str | None:
    """Return what a user's words are: by their form, else what was asked for."""
    for form, kind in _FORMS:
        if re.search(form, secret):
            return kind
    return "person" if asked == "reference" else asked


if __name__ == "__main__":
    main()
