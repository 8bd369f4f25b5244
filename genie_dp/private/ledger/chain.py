"""The entries of a ledger as a hash chain, and the detection of changes to it.

Each entry holds the hash of the one before, the first that of the header with the budget. A second
file, the head, holds the number of entries and the last hash, so that entries cut from the end are
noticed. Nothing here is secret: who rewrites both files with new hashes, or puts older copies of
both back, is found out only by a head noted elsewhere (`unseen`).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.budget import Budget, budget_from
from genie_dp.private.ledger.mechanisms import Mechanism, from_dict

FORMAT = "genie-dp ledger 1"
_ENTRY_FIELDS = {"number", "run", "purpose", "recorded", "mechanisms", "previous", "hash"}
_MORE_FIELDS = {"rows", "released"}
_HEADER_FIELDS = {"format", "id", "created", "budget", "hash"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One spend, or the end of one: the result of the run.

    Attributes:
        number: 1 for the first.
        run: id of the run; a resumed run has the same id.
        purpose: for people.
        recorded: time in UTC, ISO 8601.
        mechanisms: all that the run does to the data; none at its end.
        previous: hash of the entry before, or of the header.
        hash: of all else.
        rows: keyed fingerprint of the rows that were read (`marks`); "" where they are no file.
        released: at the end of a run, the hash of its result; "" for a spend.
    """

    number: int
    run: str
    purpose: str
    recorded: str
    mechanisms: tuple[Mechanism, ...]
    previous: str
    hash: str
    rows: str = ""
    released: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        more = {"rows": self.rows, "released": self.released}
        return {
            "number": self.number,
            "run": self.run,
            "purpose": self.purpose,
            "recorded": self.recorded,
            "mechanisms": [mechanism.as_dict() for mechanism in self.mechanisms],
            "previous": self.previous,
            "hash": self.hash,
            **{name: value for name, value in more.items() if value},
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The content of the second file: the least number of entries, and the hash of the last."""

    id: str
    entries: int
    hash: str


@dataclass(frozen=True, slots=True)
class Book:
    """A ledger as it was read: whole and unchanged."""

    id: str
    created: str
    budget: Budget
    entries: tuple[Entry, ...] = ()

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return all that was spent, in its order."""
        return tuple(mechanism for entry in self.entries for mechanism in entry.mechanisms)

    def head(self) -> Head:
        """Return the expected content of the second file."""
        return Head(self.id, len(self.entries), self.hashes()[-1])

    def hashes(self) -> tuple[str, ...]:
        """Return the hash of the header and that of each entry."""
        return (self._header()["hash"], *(entry.hash for entry in self.entries))

    def with_entry(
        self,
        *,
        run: str,
        purpose: str,
        recorded: str,
        mechanisms: Sequence[Mechanism] = (),
        rows: str = "",
        released: str = "",
    ) -> "Book":
        """Return the ledger with one entry more."""
        number, previous = len(self.entries) + 1, self.hashes()[-1]
        facts = (number, run, purpose, recorded, tuple(mechanisms), previous)
        entry = Entry(*facts, "", rows, released)
        entry = replace(entry, hash=digest(entry.as_dict()))
        return Book(self.id, self.created, self.budget, (*self.entries, entry))

    def text(self) -> str:
        """Return the content of the file."""
        facts = {**self._header(), "entries": [entry.as_dict() for entry in self.entries]}
        return json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def _header(self) -> dict[str, Any]:
        budget = self.budget.as_dict()
        facts = {"format": FORMAT, "id": self.id, "created": self.created, "budget": budget}
        return {**facts, "hash": digest(facts)}


def digest(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all fields but "hash", 64 hexadecimal digits.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1, "hash": "any"})
    True
    """
    rest = {name: value for name, value in facts.items() if name != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def head_text(head: Head) -> str:
    """Return the content of the second file."""
    return json.dumps({"id": head.id, "entries": head.entries, "hash": head.hash}) + "\n"


def read_head(text: bytes) -> Head | None:
    """Return the head, or None if the bytes are none."""
    try:
        match json.loads(text):
            case {"id": str(id), "entries": int(entries), "hash": str(hash)} as facts:
                return Head(id, entries, hash) if len(facts) == 3 and entries >= 0 else None
    except (ValueError, RecursionError):  # neither JSON nor UTF-8
        pass
    return None


def read_book(text: str) -> Book:
    """Return the ledger of a text, if nobody changed it.

    Raises:
        GenieError: it is no ledger (B010), or all that was changed in it (B011 .. B015).
    """
    facts = _facts(text)
    hint = "restore the ledger and its head file from a copy that is whole"
    problems = [replace(problem, hint=problem.hint or hint) for problem in _broken(facts)]
    if problems:
        raise GenieError(problems)
    match facts:
        case {"id": str(id), "created": str(created), "budget": dict(budget)}:
            entries = tuple(map(_entry, facts["entries"]))
            return Book(id, created, budget_from(budget), entries)
    raise GenieError(Problem("B010", "the header is none of a ledger"))


def _facts(text: str) -> dict[str, Any]:
    hint = "restore it from a copy; without its spends nothing can be promised"
    try:
        facts: dict[str, Any] | Any = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"the ledger is no JSON: {error.msg} in line {error.lineno}"
        raise GenieError(Problem("B010", message, hint=hint)) from None
    except (ValueError, RecursionError):
        # A number of thousands of digits, or thousands of brackets.
        raise GenieError(Problem("B010", "the ledger is no JSON of ours", hint=hint)) from None
    match facts:
        case {"format": format, "entries": [*entries]} if format == FORMAT:
            if all(isinstance(entry, dict) for entry in entries):
                return dict(facts)
    message = f"expected a ledger of format {FORMAT!r}"
    raise GenieError(Problem("B010", message, hint=hint))


def _broken(facts: Mapping[str, Any]) -> Iterator[Problem]:
    header = {name: value for name, value in facts.items() if name != "entries"}
    before = header.get("hash")
    if set(header) != _HEADER_FIELDS or digest(header) != before:
        hint = "put back what it said; a budget cannot be changed after it was promised"
        yield Problem("B011", "the header (budget, id or time) was changed", hint=hint)
        before = None
    yield from _broken_links(facts["entries"], before)


def _broken_links(entries: Sequence[Mapping[str, Any]], before: str | None) -> Iterator[Problem]:
    """Yield the faults of the chain; `before` is the hash that the first entry continues."""
    present = {n for entry in entries if isinstance(n := entry.get("number"), int)}
    expected = 1
    for place, entry in enumerate(entries, start=1):
        number, recorded_hash = entry.get("number"), entry.get("hash")
        is_whole = _ENTRY_FIELDS <= set(entry) <= _ENTRY_FIELDS | _MORE_FIELDS
        if not is_whole or digest(entry) != recorded_hash or type(number) is not int:
            yield Problem("B012", f"entry {place} was changed: its hash is that of other content")
            # What follows it cannot be blamed for that.
            expected, before = expected + 1, None
        elif number == expected:
            if before is not None and entry["previous"] != before:
                yield Problem("B015", _describe_replacement(number))
            expected, before = number + 1, recorded_hash
        elif number > expected:
            yield from _gap(expected, number, place, present)
            expected, before = number + 1, recorded_hash
        else:
            yield Problem("B014", f"entry {number} stands at place {place}: moved or copied")


def _describe_replacement(number: int) -> str:
    if number == 1:
        return "the budget was replaced: entry 1 was recorded under another"
    return f"entry {number - 1} was replaced: entry {number} was recorded after another one"


def _gap(expected: int, number: int, place: int, present: set[int]) -> Iterator[Problem]:
    missing = [str(missed) for missed in range(expected, number) if missed not in present]
    if missing:
        names = f"{'entry' if len(missing) == 1 else 'entries'} {', '.join(missing)}"
        yield Problem("B013", f"{names} missing before entry {number}: removed")
    else:
        yield Problem("B014", f"entry {number} stands at place {place}: moved or copied")


def _entry(facts: Mapping[str, Any]) -> Entry:
    match facts:
        case {
            "number": int(number),
            "run": str(run),
            "purpose": str(purpose),
            "recorded": str(recorded),
            "mechanisms": [*mechanisms],
            "previous": str(previous),
            "hash": str(hash),
        } if all(isinstance(mechanism, dict) for mechanism in mechanisms):
            read = tuple(map(from_dict, mechanisms))
            rows, released = facts.get("rows", ""), facts.get("released", "")
            if isinstance(rows, str) and isinstance(released, str):
                return Entry(number, run, purpose, recorded, read, previous, hash, rows, released)
    raise GenieError(Problem("B010", f"entry {facts['number']} is no entry of a ledger"))


def broken_end(book: Book, head: Head | None, *, where: str) -> Iterator[Problem]:
    """Yield the contradictions between the second file and the ledger.

    One entry more in the ledger is no fault: a run killed between the two files leaves that.

    Args:
        where: name of the second file.
    """
    have = len(book.entries)
    hint = "bring both files from where they belong together"
    if head is None:
        message = f"{where} is missing or unreadable: entries cut from the end would not be noticed"
        hint += ", or accept the ledger as it is: genie-dp private budget check --accept-head"
        yield Problem("B017", message, hint=hint)
    elif head.entries > have:
        first = f"{have + 1}" if head.entries == have + 1 else f"{have + 1} to {head.entries}"
        message = f"{where} counts {head.entries} entries, the ledger has {have}: {first} removed"
        yield Problem("B016", message, hint=hint)
    elif head.id != book.id or book.hashes()[head.entries] != head.hash:
        message = f"{where} belongs to another ledger, or entries up to {have} were rewritten"
        yield Problem("B018", message, hint=hint)
    elif head.entries < have - 1:
        hint = "put the newer one back, or accept the ledger: check --accept-head"
        message = f"{where} is older than the ledger: {head.entries} of {have} entries"
        yield Problem("B019", message, hint=hint)


def unseen(book: Book, seen: str) -> Problem | None:
    """Return how the ledger contradicts a head that was noted earlier, "3:1f2e..", if it does.

    At least twelve digits of the hash must be given, so that no two agree by chance.
    """
    number, _, start = seen.partition(":")
    if not number.isdecimal() or len(start) < 12:
        hint = "`genie-dp private budget show` prints it: number of entries, colon, hash"
        return Problem("B026", f"expected a head such as 3:1f2e.., got {seen!r}", hint=hint)
    hashes = {str(place): hash for place, hash in enumerate(book.hashes())}
    if hashes.get(number, "").startswith(start):
        return None
    message = f"the ledger with head {seen} was another one, or entries were removed or rewritten"
    return Problem("B018", message, hint="find the ledger that goes on from that head")
