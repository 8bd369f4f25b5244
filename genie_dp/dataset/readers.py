"""Readers of data sets: ours, those of Hugging Face, Rasa and CoNLL, and the published ones."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import xxhash

from genie_dp.dataset.formats import LeftRow, ReadOptions, row_of_plain
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.sexpr.language import SExpressions
from genie_dp.located import read_yaml
from genie_dp.records import Example, Source
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import open_input_text
from genie_dp.skills.words import tokenize
from genie_dp.texts import is_whole

UNREADABLE = "cannot be read"
_LANGUAGE = SExpressions()
_ENDINGS = ("jsonl", "parquet", "tsv")


def read_own(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of a JSONL or Parquet file."""
    return read_rows(path, format=options.format)


def read_tsv(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of a TSV file; the language and the source are those of the options."""
    source = options.source or "synthetic"
    for row in read_rows(path, format="tsv"):
        yield replace(row, language=options.language, source=source)


def read_folder(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of all parts of a folder, part by part."""
    for files in parts_in(Path(path)).values():
        for file in files:
            yield from read_rows(str(file))


def parts_in(folder: Path) -> Mapping[str, list[Path]]:
    """Return the parts of a folder with their files, as its card names them, else by its files.

    Raises:
        GenieError: there are none.
    """
    parts = _parts_on_card(folder) or _parts_by_name(folder)
    if not parts:
        hint = "a card with data_files, or files such as train.jsonl or data/train.parquet"
        raise GenieError(Problem("D024", f"{folder} has no parts", hint=hint))
    return parts


def _parts_on_card(folder: Path) -> dict[str, list[Path]]:
    card = folder / "README.md"
    if not card.is_file():
        return {}
    parts = card.read_text(encoding="utf-8").split("---\n", 2)
    try:
        head = read_yaml(parts[1] if len(parts) == 3 and not parts[0] else "", str(card))
        files = (head.plain if head else {})["configs"][0]["data_files"]
        named = {
            file["split"]: [file["path"]] if isinstance(file["path"], str) else file["path"]
            for file in files
        }
    except (GenieError, KeyError, IndexError, TypeError):
        return {}
    files_of = {
        name: [p for pattern in patterns for p in sorted(folder.glob(pattern))]
        for name, patterns in named.items()
    }
    return {name: paths for name, paths in files_of.items() if paths}


def _parts_by_name(folder: Path) -> dict[str, list[Path]]:
    parts: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*"), *folder.glob("data/*")]):
        name = path.name.split(".")[0].split("-")[0]
        if path.is_file() and format_of(path.name, "") in _ENDINGS:
            parts.setdefault(name, []).append(path)
    return parts


# ------------------------------------------------------------------ S-expressions of published sets


def read_expressions(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the turns of a JSONL file with id, utterance and program; earlier turns are left."""
    for _, row in objects(path, ("id", "utterance", "program")):
        yield expression_row(row["id"], row["utterance"], row["program"])


def read_topv2(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the rows of a JSONL file with utterance, program and, where it is there, top.

    `top` is the parse over all words: it shows the tokens of the sentence, so that the words of
    slots are tokens of the sentence.
    """
    for number, row in objects(path, ("utterance", "program"), known=("id", "top")):
        words = words_of(row["top"]) if row.get("top") else None
        id = row.get("id") or f"topv2-{number}"
        yield expression_row(id, row["utterance"], lower_words(row["program"]), words=words)


def words_of(top: str) -> tuple[str, ...]:
    """Return the words of a parse over all words, lower-case.

    >>> words_of("[IN:GET_EVENT What 's on in [SL:LOCATION New York ] ]")
    ('what', "'s", 'on', 'in', 'new', 'york')
    """
    return tuple(t.lower() for t in top.split() if not t.startswith(("[IN:", "[SL:")) and t != "]")


def lower_words(program: str) -> str:
    """Return a parse with its words lower-case, and its labels as they are.

    >>> lower_words("[IN:GET_EVENT [SL:LOCATION New York ] ]")
    '[IN:GET_EVENT [SL:LOCATION new york ] ]'
    """
    return " ".join(
        token if token.startswith(("[IN:", "[SL:")) else token.lower() for token in program.split()
    )


def read_overnight(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield paraphrases and, before the first of each, its canonical sentence as their parent.

    JSONL has id, utterance, canonical and program; TSV has canonical and program only.
    """
    seen: set[str] = set()
    if format_of(path) == "tsv":
        for _, (canonical, program, *_) in columns(path, 2):
            if (canonical, program) == ("canonical", "program"):  # names of the columns
                continue
            yield _canonical_row(canonical, program)
        return
    for _, row in objects(path, ("id", "utterance", "canonical", "program")):
        top = _canonical_row(row["canonical"], row["program"])
        if top.id not in seen:
            seen.add(top.id)
            yield top
        paraphrase = expression_row(
            row["id"], row["utterance"], row["program"], source="paraphrase"
        )
        if isinstance(paraphrase, Example):
            paraphrase = replace(paraphrase, parent=top.id)
        yield paraphrase


def _canonical_row(canonical: str, program: str) -> Example | LeftRow:
    name = xxhash.xxh3_64_hexdigest(f"{canonical}\t{program}".encode())
    return expression_row(f"canonical-{name}", canonical, program, source="synthetic")


def read_intents(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the rows of a TSV file with utterance and intent; the program is the intent alone.

    A first line `utterance`, `intent` (or text, category; text, label) is a header.
    """
    name = path.rsplit("/", 1)[-1].split(".")[0]
    for number, (utterance, intent, *_) in columns(path, 2):
        if number == 1 and (utterance, intent) in _HEADERS:
            continue
        yield expression_row(f"{name}-{number}", utterance, f"({symbol(intent)})")


_HEADERS = {("utterance", "intent"), ("text", "category"), ("text", "label"), ("text", "intent")}


def symbol(intent: str) -> str:
    """Return an intent as one symbol.

    >>> symbol("change pin (card)")
    'change_pin_card'
    """
    words = "".join(c if c.isalnum() or c in "_-.?!" else " " for c in intent).split()
    return "_".join(words) or "none"


# --------------------------------------------------------------------------------- tagged sentences


def read_conll(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the sentences of a file: as `writers.conll` made them, or of other tools.

    Sentences of other tools have their intent (`# intent = x`, else "none") with their entities as
    program: `(book_flight (to "new york"))`.
    """
    comments: dict[str, tuple[int, str]] = {}
    tokens: list[tuple[str, str]] = []
    count = 0
    with open_input_text(path, newline="\n") as lines:
        # An empty line ends the last sentence as well.
        for number, line in enumerate(chain((line.rstrip("\r\n") for line in lines), [""]), 1):
            if line.startswith("# ") and not tokens:
                key, _, value = line[2:].partition(" = ")
                comments[key] = (number, value)
            elif line.strip():
                columns = line.split("\t") if "\t" in line else line.split()
                if len(columns) < 2:
                    message = f"expected a token and its tag, got {line!r}"
                    raise _no_format(path, number, message, end=len(line) + 1)
                if columns[0] != "-DOCSTART-":
                    tokens.append((columns[0], columns[-1]))
            elif tokens or "row" in comments:
                count += 1
                yield _tagged_row(comments, tokens, f"{path.rsplit('/', 1)[-1]}-{count}", path)
                comments, tokens = {}, []


def _tagged_row(
    comments: dict[str, tuple[int, str]], tokens: Sequence[tuple[str, str]], id: str, path: str
) -> Example | LeftRow:
    words = [word for word, _ in tokens]
    if "row" in comments:
        line, text = comments["row"]
        try:
            return row_of_plain({"utterance": " ".join(words), **json.loads(text)})
        except (ValueError, TypeError, RecursionError) as error:
            span = Span(path, line, 1, line, 2)
            raise GenieError(Problem("D022", f"no row: {error}", span)) from None
    intent = comments.get("intent", (0, "none"))[1]
    entities = " ".join(
        f"({symbol(label)} {json.dumps(text, ensure_ascii=False)})"
        for label, text in chunks(tokens)
    )
    program = f"({symbol(intent)}{' ' + entities if entities else ''})"
    return expression_row(id, " ".join(words), program, words=[w.lower() for w in words])


def chunks(tokens: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return labels and texts of the tagged chunks; BIO, IOB1 and BIOES are read.

    >>> chunks([("to", "O"), ("new", "B-city"), ("york", "I-city"), ("now", "I-time")])
    [('city', 'new york'), ('time', 'now')]
    """
    labelled: list[tuple[str, list[str]]] = []
    last = ""
    for word, tag in tokens:
        mark, _, label = tag.partition("-")
        if label and (mark in "BSU" or label != last or not labelled):
            labelled.append((label, [word]))
        elif label:
            labelled[-1][1].append(word)
        last = label
    return [(label, " ".join(words)) for label, words in labelled]


_MARK = re.compile(r"\[([^\]]+)\](?:\(([^)]+)\)|(\{[^}]*\}))")


def read_rasa(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the examples of a file, which is read whole: rows of ours, or of other tools.

    Those of other tools have their intent with their entities as program:
    `(book_flight (to "new york"))`. Synonyms, lookups and regular expressions are left.
    """
    name = path.rsplit("/", 1)[-1]
    count = 0
    for entry in _intents(path):
        intent = str(entry.get("intent", ""))
        for text, metadata in _examples(entry.get("examples")):
            count += 1
            if "row" in metadata:
                try:
                    yield row_of_plain(json.loads(metadata["row"]))
                except (TypeError, ValueError, RecursionError) as error:
                    message = f"no row in the metadata of {text!r}: {error}"
                    raise GenieError(Problem("D022", message, Span(path, 1, 1, 1, 2))) from None
            else:
                yield _marked_row(f"{name}-{count}", intent, text)


def _intents(path: str) -> Iterator[dict[str, Any]]:
    with open_input_text(path) as text:
        located = read_yaml(text.read(), path, code="D023")
    content = {} if located is None else located.plain
    if not isinstance(content, dict) or not isinstance(content.get("nlu") or [], list):
        span = Span(path, 1, 1, 1, 2)
        raise GenieError(Problem("D023", "expected a list under `nlu:`", span, stage="syntax"))
    return (e for e in content.get("nlu") or [] if isinstance(e, dict) and "intent" in e)


def _examples(examples: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(examples, str):
        for line in examples.splitlines():
            if text := line.strip().removeprefix("-").strip():
                yield text, {}
    for item in examples if isinstance(examples, list) else ():
        if isinstance(item, dict):
            metadata = item.get("metadata")
            yield str(item.get("text", "")).strip(), metadata if isinstance(metadata, dict) else {}
        else:
            yield str(item).strip(), {}


def _marked_row(id: str, intent: str, text: str) -> Example | LeftRow:
    entities = []
    for match in _MARK.finditer(text):
        label, value = match[2] or "value", match[1]
        if match[3]:
            try:
                marks = json.loads(match[3])
            except (ValueError, RecursionError):
                return LeftRow(id, text, intent, "cannot be read", f"{match[3]} is no JSON")
            label, value = marks.get("entity", label), marks.get("value", value)
        elif ":" in label:
            label, _, value = label.partition(":")
        quoted = json.dumps(str(value), ensure_ascii=False)
        entities.append(f" ({symbol(str(label))} {quoted})")
    bare = _MARK.sub(lambda match: match[1], text)
    return expression_row(id, bare, f"({symbol(intent)}{''.join(entities)})")


# -------------------------------------------------------- lines of files, and rows of S-expressions


def objects(
    path: str, needed: Sequence[str], *, known: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file or URL with their line numbers.

    Args:
        needed: keys that must be there, of texts; an id may be a number, too.
        known: keys that may be there, of texts.

    Raises:
        GenieError: a line that is no object, lacks a key, or has no text there (D020).
    """
    with open_input_text(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise _no_format(path, number, f"no JSON: {error.msg}", error.colno) from None
            except (ValueError, RecursionError) as error:  # beyond what Python reads
                raise _no_format(path, number, f"no JSON: {error}") from None
            lost = [key for key in needed if not isinstance(row, dict) or key not in row]
            if lost:
                raise _no_format(
                    path, number, f"expected {', '.join(map(repr, lost))} in the object"
                )
            for key in (*needed, *(key for key in known if row.get(key) is not None)):
                if key == "id" and type(row[key]) is int:
                    row[key] = str(row[key])
                if type(row[key]) is not str or not is_whole(row[key]):
                    message = f"expected text as {key!r}, got {ascii(row[key])[:40]}"
                    raise _no_format(path, number, message)
            yield number, row


def columns(path: str, count: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line of a file or URL, with line numbers.

    Raises:
        GenieError: a line with fewer columns (D020).
    """
    with open_input_text(path) as lines:
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) < count:
                message = f"expected {count} columns between tabs, got {len(cells)}"
                raise _no_format(path, number, message)
            yield number, cells


def _no_format(
    path: str, line: int, message: str, column: int = 1, end: int | None = None
) -> GenieError:
    span = Span(path, line, column, line, end or column + 1)
    return GenieError(Problem("D020", message, span, "is --from the right one?", stage="syntax"))


def expression_row(
    id: str,
    utterance: str,
    program: str,
    *,
    source: Source = "human",
    words: Sequence[str] | None = None,
) -> Example | LeftRow:
    """Return the row of an S-expression; strings are spelt as the sentence has them.

    Args:
        words: of the sentence, where the data set has its tokens.

    >>> expression_row("a", "Meet Ann Lee.", '(meet "Ann Lee")').program
    '( meet " ann lee " )'
    """
    try:
        tree = _LANGUAGE.canonical(_LANGUAGE.parse(program))
    except GenieError as error:
        return LeftRow(id, utterance, program, UNREADABLE, error.problems[0].message)
    tokens = tokenize(utterance) if words is None else tuple(words)
    return Example(
        id,
        " ".join(tokens),
        spell_as_spoken(_LANGUAGE.tokens(tree), tokens),
        language=_LANGUAGE.name,
        source=source,
        functions=tuple(_LANGUAGE.functions(tree)),
    )


def spell_as_spoken(program: str, words: Sequence[str]) -> str:
    """Return a token form whose texts are cut and spelt as in the sentence, where they occur there.

    So that a parser can copy them word by word.

    >>> spell_as_spoken('( at " New York " " Old Town " )', ("to", "new", "york"))
    '( at " new york " " Old Town " )'
    >>> print(spell_as_spoken('param:x:String = " Mid-day, live "', ("mid-day", ",", "live")))
    param:x:String = " mid-day , live "
    """
    if '"' not in program:
        return program
    sentence = f" {' '.join(words)} "
    tokens, spelt = program.split(" "), []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        spelt.append(token)
        place += 1
        if token == '"':
            end = tokens.index('"', place)
            spoken = tokenize(" ".join(tokens[place:end]))
            is_said = f" {' '.join(spoken)} " in sentence
            spelt += [*(spoken if is_said else tokens[place:end]), '"']
            place = end + 1
    return " ".join(spelt)
