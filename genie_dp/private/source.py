"""The door of training to private rows: it groups them by unit, and lets none of their text out.

Redaction, which must show its text to the owner, reads rows one by one (redact/rows.py).

Nothing here shows a row: not errors, which name the place and the rule alone, not `repr`. Errors
are raised where no variable holds text, so that a traceback with local variables has none either.
There is no way to count rows or words, and so none to build a vocabulary.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.private.ledger.budget import Budget, Unit, is_table, key_of
from genie_dp.private.ledger.guard import Units
from genie_dp.private.redact.provenance import redaction_of
from genie_dp.rng import stream
from genie_dp.run.files import UNREADABLE, unreadable

# Mistakes told at once; more would tell how long a broken file is.
MOST = 10
# What redaction puts into the place of secrets (redact/spans.py).
_MASK = "<MASK>"
_NAMED = "which field names it is promised: genie-dp private budget init --unit-field"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateRow:
    """One private row; it never shows its text.

    Attributes:
        utterance: the sentence.
        program: its meaning, or None.
        fields: the fields that were asked for, those of the row that are text or numbers.
    """

    utterance: str
    program: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "PrivateRow(..)"


@dataclass(frozen=True, slots=True, repr=False)
class PrivateSource:
    """Private rows by unit of privacy.

    How many units there are is private as well: sampling rates come from a public estimate
    (`training.settings.rate_of`).

    Attributes:
        units: the rows of each unit, at most the cap; they know the file that they are from.
        language: of the programs.
        unit: of privacy, by which neighbours differ.
    """

    units: Units[tuple[PrivateRow, ...]]
    language: str
    unit: Unit

    @classmethod
    def promised(
        cls,
        path: Path | str,
        budget: Budget,
        *,
        language: str,
        where: Callable[[Mapping[str, Any]], bool] | None = None,
        fields: Iterable[str] = (),
    ) -> "PrivateSource":
        """Read a file of rows by the units that a budget speaks of, as `open` does.

        Raises:
            GenieError: those of `open` and `redaction_of`.
        """
        redaction_of(path, budget)
        return cls.open(
            path,
            language=language,
            unit=budget.unit,
            unit_field=budget.unit_field,
            cap=budget.cap,
            where=where,
            fields=fields,
        )

    def __repr__(self) -> str:
        return f"PrivateSource(unit={self.unit!r}, language={self.language!r}, ..)"

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        language: str,
        unit: Unit = "utterance",
        unit_field: str | None = None,
        cap: int | None = None,
        where: Callable[[Mapping[str, Any]], bool] | None = None,
        fields: Iterable[str] = (),
    ) -> "PrivateSource":
        """Read a file of rows: JSONL, or TSV where the name ends so, compressed by its suffix.

        JSON rows have `utterance`, and may have `program` and `language`; TSV rows have id,
        utterance and program. Of a unit with more rows than `cap`, some are chosen at random; which
        ones follows from that unit alone.

        Args:
            path: the file.
            language: of the programs.
            unit: "utterance" for each row by itself, else rows with the same `unit_field`.
            unit_field: field that names the unit, in TSV the number of its column; by default the
                field `dialogue` or `user`, or column 4.
            cap: most rows of a unit; an utterance is one row, all others need it.
            where: which rows are taken, by their fields; None takes all. It must show nothing.
            fields: further fields of rows beside utterance and program, such as a label; TSV has no
                names.

        Raises:
            GenieError: the file cannot be read (Q001), rows are not as described above (Q002 to
                Q005), or the unit or the cap is none (Q006).
        """
        key = key_of(str(path), unit, unit_field)
        reader = _SourceReader(str(path), language, key, where, tuple(fields))
        if unit != "utterance" and (cap is None or cap < 1):
            hint = f"say how many rows of a {unit} are looked at, at most, such as 20"
            raise GenieError(Problem("Q006", f"expected a cap of at least 1, got {cap}", hint=hint))
        fault = _read_file(reader)
        problems, groups = reader.problems, reader.groups
        del reader
        if fault or problems:
            # What was read must not be in a variable when it is raised.
            groups.clear()
            raise GenieError(fault or problems[:MOST])
        chosen = (_choose_rows(name, rows, cap or 1) for name, rows in groups.items())
        return cls(Units(chosen, Path(path)), language, unit)


@dataclass(slots=True)
class _SourceReader:
    """The state of reading.

    Attributes:
        file: its name.
        language: of programs.
        key: field or column of the unit; None where each row is one.
        where: which rows are taken.
        fields: the kept fields of rows.
        groups: rows by unit.
        problems: mistakes, at most one more than are shown.
    """

    file: str
    language: str
    key: str | None
    where: Callable[[Mapping[str, Any]], bool] | None = None
    fields: tuple[str, ...] = ()
    groups: dict[str, list[PrivateRow]] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)

    def read(self, lines: IO[bytes]) -> None:
        """Read all lines, or until there are too many mistakes."""
        parse = self._read_tsv if is_table(self.file) else self._read_json
        for number, line in enumerate(lines, 1):
            if line.strip() and (fault := parse(line, number)):
                code, message, hint = fault
                span = Span(self.file, number, 1, number, 1)
                self.problems.append(Problem(code, message, span, hint))
            if len(self.problems) >= MOST:
                return

    def _read_json(self, line: bytes, number: int) -> "_Fault | None":
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            row = None  # the error holds the whole line: it goes no further
        if not isinstance(row, dict):
            return "Q002", "expected a JSON object in UTF-8", "one row a line"
        if not _is_text(row.get("utterance")):
            return "Q003", "expected text in the field 'utterance'", None
        if not (row.get("program") is None or _is_text(row["program"])):
            return "Q003", "expected text in the field 'program', or none", None
        if row.get("language", self.language) != self.language:
            return (
                "Q004",
                f"expected a row of the language {self.language!r}",
                "one language a file, which --language names",
            )
        if self.where is not None and not self.where(row):
            return None
        name = str(number) if self.key is None else _name(row.get(self.key))
        fields = {key: text for key in self.fields if (text := _name(row.get(key))) is not None}
        return self._keep(name, row["utterance"], row.get("program"), fields)

    def _read_tsv(self, line: bytes, number: int) -> "_Fault | None":
        try:
            columns = line.decode("utf-8-sig").rstrip("\r\n").split("\t")
        except ValueError:
            return "Q002", "expected UTF-8 text", "save the file as UTF-8"
        if len(columns) < 2:
            return "Q003", "expected id, utterance and program between tabs", None
        place = 0 if self.key is None else int(self.key)
        if self.where is not None and not self.where({"utterance": columns[1]}):
            return None
        name = columns[place - 1] if 0 < place <= len(columns) else None
        program = columns[2] if len(columns) > 2 and columns[2] else None
        return self._keep(str(number) if not place else name, columns[1], program)

    def _keep(
        self,
        name: str | None,
        utterance: str,
        program: str | None,
        fields: Mapping[str, str] | None = None,
    ) -> "_Fault | None":
        if not name:
            return "Q005", f"expected the row's unit in {self.key!r}", _NAMED
        if self.key is not None and _MASK in name:
            # Rows of many units would be one, and those of one unit two.
            hint = "before redaction, give units names that no detector finds, such as u_1"
            return "Q005", f"the row's unit in {self.key!r} was masked by redaction", hint
        self.groups.setdefault(name, []).append(PrivateRow(utterance, program, fields or {}))
        return None


_Fault = tuple[str, str, str | None]


def _read_file(reader: _SourceReader) -> Problem | None:
    """Read a file into a reader; return the fault of the file as a whole, if any."""
    import smart_open

    if Path(reader.file).suffix == ".parquet":
        hint = "genie-dp data convert writes the others"
        return Problem("Q001", f"private rows are JSONL or TSV, got {reader.file}", hint=hint)
    try:
        with smart_open.open(reader.file, "rb") as lines:
            reader.read(lines)
    except UNREADABLE as error:
        return unreadable(reader.file, error, code="Q001")
    return None


def _is_text(value: Any) -> bool:
    """Return whether a value is text; half a surrogate pair is none, and could not be written."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


def _name(value: Any) -> str | None:
    """Return the name of a unit, or of a label: text, or a number as JSON writes it."""
    if isinstance(value, bool) or not (isinstance(value, int) or _is_text(value)):
        return None
    return str(value)


def _choose_rows(name: str, rows: list[PrivateRow], cap: int) -> tuple[PrivateRow, ...]:
    """Return at most `cap` rows; which ones follows from the unit, and from no other."""
    if len(rows) <= cap:
        return tuple(rows)
    places = sorted(stream("cap", name).sample(range(len(rows)), cap))
    return tuple(rows[i] for i in places)
