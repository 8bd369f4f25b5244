"""TOPv2: bracketed intents and slots."""

from collections.abc import Iterator

from genie_dp.dataset.left import Left
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.objects import objects
from genie_dp.records import Example


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
    """Yield the rows of a JSONL file with utterance, program and, where it is there, top.

    `top` is the parse over all words: it says how the sentence is cut, so that the words of slots
    are tokens of the sentence.
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
