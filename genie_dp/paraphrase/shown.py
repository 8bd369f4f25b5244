"""Rows as people see them, with example values in the places of placeholders; and back again."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice

from genie_dp.english.forms import surface
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import Language, get_language
from genie_dp.languages.library import Library
from genie_dp.paraphrase.typed import FoundValues, TypedWords, find_values, read_typed
from genie_dp.records import Example, source_of_copy
from genie_dp.rows import format_of, from_json, read_rows, to_json
from genie_dp.run.files import no_text, open_input
from genie_dp.skills.words import tokenize

PLACEHOLDER = re.compile(r"(?:GENERIC_ENTITY_[\w.-]+:\w+|MEASURE_\w+|[A-Z]+(?:_[A-Z]+)*)_\d+")
Canonical = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ShownValue:
    """An example value in the place of a placeholder.

    Attributes:
        token: the placeholder, such as QUOTED_STRING_0.
        text: the value as shown, with its quotes, @ or #.
    """

    token: str
    text: str

    @property
    def stem(self) -> str:
        """Return the placeholder without its number."""
        return self.token.rpartition("_")[0]

    @property
    def with_spaces(self) -> str:
        """Return the value with its quotes as tokens of their own, as in utterances."""
        return f'" {self.bare} "' if self.text.startswith('"') else self.text

    @property
    def bare(self) -> str:
        """Return the value without quotes; @ and # stay, for they are part of the word."""
        return self.text.strip('"').strip()


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row and the example values it is shown with, in the order of the sentence."""

    example: Example
    values: tuple[ShownValue, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the sentence that people see.

        >>> row = Example("S1", "post QUOTED_STRING_0 with HASHTAG_0", "..")
        >>> show(row, {"QUOTED_STRING_0": "good morning", "HASHTAG_0": "sun"}).sentence
        'Post "good morning" with #sun'
        >>> row = Example("S2", "add QUOTED_STRING_0 to QUOTED_STRING_1", "..")
        >>> show(row, {"QUOTED_STRING_0": "one", "QUOTED_STRING_1": "two"}).sentence
        'Add "one" to "two"'
        >>> show(Example("S3", "which files do i have", ".."), {}).sentence
        'Which files do I have'
        """
        texts = {value.token: value.with_spaces for value in self.values} | {"i": "I"}
        return surface(texts.get(word, word) for word in self.example.utterance.split())


def placeholders(utterance: str) -> tuple[str, ...]:
    """Return the placeholders of an utterance, in its order, each once.

    >>> placeholders("from NUMBER_1 to NUMBER_0 and NUMBER_1")
    ('NUMBER_1', 'NUMBER_0')
    """
    return tuple(dict.fromkeys(w for w in utterance.split() if PLACEHOLDER.fullmatch(w)))


def show(example: Example, values: Mapping[str, str]) -> ShownRow:
    """Return a row with its example values, marked so that people see which words to copy.

    Args:
        values: placeholder -> value; all placeholders of the utterance, or KeyError is raised.
    """
    tokens = placeholders(example.utterance)
    return ShownRow(example, tuple(ShownValue(t, mark_value(t, values[t])) for t in tokens))


def mark_value(token: str, value: str) -> str:
    """Return a value with the marks of its sort: quotes, @ or #.

    >>> mark_value("QUOTED_STRING_0", "good morning"), mark_value("USERNAME_0", "bob")
    ('"good morning"', '@bob')
    >>> mark_value("GENERIC_ENTITY_tt:room_0", "kitchen")
    'kitchen'
    """
    stem = token.rpartition("_")[0]
    # A quote inside would end the value where it does not end.
    plain = " ".join(value.replace('"', " ").split())
    if stem == "QUOTED_STRING" or (value.startswith('"') and value.endswith('"')):
        return f'"{plain}"'
    if stem == "USERNAME":
        return "@" + plain.removeprefix("@")
    if stem == "HASHTAG":
        return "#" + plain.removeprefix("#")
    return plain


# ------------------------------------------------------------------------------ back again


def find_shown_values(shown_row: ShownRow, typed: str | TypedWords) -> FoundValues:
    """Return where the shown values stand in a typed sentence, and which do not."""
    read = read_typed(typed) if isinstance(typed, str) else typed
    return find_values(
        [(value.token, value.stem, value.text) for value in shown_row.values], read.words
    )


def utterance_of(shown_row: ShownRow, typed: str) -> str | None:
    """Return a typed sentence with placeholders for the values; None if one is missing.

    >>> row = Example("S1", "post QUOTED_STRING_0 on twitter", "..")
    >>> utterance_of(show(row, {"QUOTED_STRING_0": "good morning"}), "Tweet “good morning”!")
    'tweet QUOTED_STRING_0'
    """
    read = read_typed(typed)
    found_values = find_shown_values(shown_row, read)
    if found_values.missing:
        return None
    starts = {span.start: span for span in found_values.spans}
    out: list[str] = []
    position, may_glue = 0, False
    while position < len(read.words):
        span = starts.get(position)
        if span is not None:
            out.append(span.token)
            position, may_glue = span.end, False
            continue
        if read.glued[position] and may_glue:
            out[-1] += read.words[position]
        else:
            out.append(read.words[position])
        position, may_glue = position + 1, True
    return " ".join(out)


def paraphrase_of(
    shown_row: ShownRow, typed: str, *, id: str, canonical: Canonical = lambda program: program
) -> Example | None:
    """Return a typed sentence as a row with placeholders; None if a value is missing.

    The placeholders are numbered from left to right, as in every row, in sentence and program.

    Args:
        id: of the new row.
        canonical: brings a program with renamed placeholders into its canonical token form; see
            `canonical_tokens`. Only programs whose placeholders change places need it.
    """
    utterance = utterance_of(shown_row, typed)
    if utterance is None:
        return None
    row = replace(
        shown_row.example,
        id=id,
        utterance=utterance,
        source=source_of_copy(shown_row.example, "paraphrase"),
        parent=shown_row.example.id,
    )
    return in_sentence_order(row, canonical)


def canonical_tokens(language: Language, library: Library) -> Canonical:
    """Return the function from a program in token form to its canonical token form."""

    def canonical(program: str) -> str:
        tree = language.from_tokens(program)
        return language.tokens(language.canonical(tree, library), library)

    return canonical


def canonical_of(language: str, load_library: Callable[[], Library]) -> Canonical:
    """Return the canonical form of programs; the library is loaded when one is asked for."""

    @cache
    def load() -> Canonical:
        return canonical_tokens(get_language(language), load_library())

    return lambda program: load()(program)


def in_sentence_order(row: Example, canonical: Canonical) -> Example:
    """Return the row with its placeholders numbered from left to right.

    >>> row = Example("S1", "from NUMBER_1 to NUMBER_0", "f NUMBER_0 NUMBER_1")
    >>> in_sentence_order(row, str).program
    'f NUMBER_1 NUMBER_0'
    """
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for token in placeholders(row.utterance):
        stem = token.rpartition("_")[0]
        names[token] = f"{stem}_{counts.get(stem, 0)}"
        counts[stem] = counts.get(stem, 0) + 1
    if all(old == new for old, new in names.items()):
        return row
    return replace(
        row,
        utterance=_rename_words(row.utterance, names),
        program=canonical(_rename_words(row.program, names)),
        slots={names.get(token, token): slot for token, slot in row.slots.items()},
    )


def _rename_words(text: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(word, word) for word in text.split(" "))


def same_words(left: str, right: str) -> bool:
    """Return whether two utterances have the same words, punctuation at the end aside."""
    return tokenize(left.rstrip(" .?!")) == tokenize(right.rstrip(" .?!"))


# --------------------------------------------------------------------------------- lines of files

# A line is a row of a data set as JSON, with two more keys: `sentence`, what people see, and
# `values`, placeholder -> value as shown. The sentence is there to be read; the rest has it, too.


def to_line(shown_row: ShownRow) -> str:
    """Return a shown row as one line of JSON, without its line end."""
    row = json.loads(to_json(shown_row.example))
    row["sentence"] = shown_row.sentence
    row["values"] = {value.token: value.text for value in shown_row.values}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def from_line(line: str, *, file: str = "<rows>", number: int = 1) -> ShownRow:
    """Return the shown row of a line, or raise GenieError with its place.

    Raises:
        GenieError: R010 no JSON, R011 no row; P001 a placeholder without a value.
    """
    span = Span(file, number, 1, number, len(line) + 1)
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        from_json(line, file=file, number=number)  # says what is wrong
        raise GenieError(Problem("R011", "no row of a data set", span))
    values = read.pop("values", None)
    read.pop("sentence", None)
    example = from_json(json.dumps(read), file=file, number=number)
    tokens = placeholders(example.utterance)
    if not isinstance(values, dict) or any(not isinstance(values.get(t), str) for t in tokens):
        values_given = values if isinstance(values, dict) else {}
        missing = [token for token in tokens if not isinstance(values_given.get(token), str)]
        lacking = f"of {missing[0]}" if missing and values_given else "under the key `values`"
        hint = "rows come from genie-dp data paraphrase select"
        raise GenieError(Problem("P001", f"row {example.id} has no value {lacking}", span, hint))
    return ShownRow(example, tuple(ShownValue(token, values[token]) for token in tokens))


def read_shown(path: str) -> Iterator[ShownRow]:
    """Yield the shown rows of a file or URL; empty lines do not count."""
    for number, line in numbered_lines(path):
        yield from_line(line, file=path, number=number)


def read_shown_by_id(path: str) -> dict[str, ShownRow]:
    """Return the shown rows of a file or URL by their ids.

    Raises:
        GenieError: P008, two rows of one id.
    """
    rows: dict[str, ShownRow] = {}
    for row in read_shown(path):
        if row.example.id in rows:
            message = f"{path}: two rows have the id {row.example.id!r}"
            raise GenieError(Problem("P008", message))
        rows[row.example.id] = row
    return rows


def numbered_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file or URL that are not empty, with their numbers from 1.

    Raises:
        GenieError: R001, a file that cannot be unpacked; R003, a line that is no UTF-8.
    """
    with open_input(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise no_text(error, path, number) from None
            if text.strip():
                yield number, text.rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class RowsFile:
    """A file of rows, and how many it has."""

    path: str
    rows: int


class Parts:
    """Parts of a file or URL of rows, asked for from the front to the back.

    Lines between the parts are not parsed; empty lines do not count. Rows that have no example
    values get none.
    """

    def __init__(self, path: str):
        self.position = 0
        self._unread = _unread(path)

    def part(self, start: int, stop: int | None = None) -> Iterator[ShownRow]:
        """Yield rows start to stop (exclusive); start must not lie before the rows already read.

        Raises:
            GenieError: as `read_rows` and `from_line`.
        """
        for read in islice(
            self._unread, start - self.position, None if stop is None else stop - self.position
        ):
            yield read()
        self.position = self.position if stop is None else stop


def _unread(path: str) -> Iterator[Callable[[], ShownRow]]:
    if format_of(path) != "jsonl":
        for row in read_rows(path):
            yield partial(ShownRow, row)
        return
    for number, line in numbered_lines(path):
        yield partial(_read_line, line, path, number)


def _read_line(line: str, file: str, number: int) -> ShownRow:
    if '"values"' in line:
        try:
            has_values = "values" in json.loads(line)
        except (ValueError, RecursionError):
            has_values = False
        if has_values:
            return from_line(line, file=file, number=number)
    return ShownRow(from_json(line, file=file, number=number))
