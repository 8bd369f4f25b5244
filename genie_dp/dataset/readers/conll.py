"""A token and its BIO tag a line, an empty line after each sentence."""

import json
from collections.abc import Iterator, Sequence

from genie_dp.dataset.left import Left
from genie_dp.dataset.plain import unplain
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.intents import symbol
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.records import Example
from genie_dp.run.files import opened_text


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield the sentences of a file: as `writers.conll` made them, or of other tools.

    Sentences of other tools have their intent (`# intent = x`, else "none") with their entities as
    program: `(book_flight (to "new york"))`.
    """
    comments: dict[str, tuple[int, str]] = {}
    tokens: list[tuple[str, str]] = []
    count = 0
    with opened_text(path, newline="\n") as lines:
        for number, line in enumerate(_ended(lines), 1):
            if line.startswith("# ") and not tokens:
                key, _, value = line[2:].partition(" = ")
                comments[key] = (number, value)
            elif line.strip():
                columns = line.split("\t") if "\t" in line else line.split()
                if len(columns) < 2:
                    raise _untagged(path, number, line)
                if columns[0] != "-DOCSTART-":
                    tokens.append((columns[0], columns[-1]))
            elif tokens or "row" in comments:
                count += 1
                yield _row(comments, tokens, f"{path.rsplit('/', 1)[-1]}-{count}", path)
                comments, tokens = {}, []


def _untagged(path: str, number: int, line: str) -> GenieError:
    span = Span(path, number, 1, number, len(line) + 1)
    message = f"expected a token and its tag, got {line!r}"
    return GenieError(Problem("D020", message, span, "is --from the right one?", stage="syntax"))


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\r\n")
    yield ""


def _row(
    comments: dict[str, tuple[int, str]], tokens: Sequence[tuple[str, str]], id: str, path: str
) -> Example | Left:
    words = [word for word, _ in tokens]
    if "row" in comments:
        line, text = comments["row"]
        try:
            return unplain({"utterance": " ".join(words), **json.loads(text)})
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
    found: list[tuple[str, list[str]]] = []
    last = ""
    for word, tag in tokens:
        mark, _, label = tag.partition("-")
        if label and (mark in "BSU" or label != last or not found):
            found.append((label, [word]))
        elif label:
            found[-1][1].append(word)
        last = label
    return [(label, " ".join(words)) for label, words in found]
