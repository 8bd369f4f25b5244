"""Sentences with an intent, as CLINC150 and Banking77 have them."""

from collections.abc import Iterator

from genie_dp.dataset.left import Left
from genie_dp.dataset.readers import ReadOptions
from genie_dp.dataset.readers.expressions import expression_row
from genie_dp.dataset.readers.objects import columns
from genie_dp.records import Example


def read(path: str, options: ReadOptions) -> Iterator[Example | Left]:
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
    kept = "".join(c if c.isalnum() or c in "_-.?!" else " " for c in intent)
    return "_".join(kept.split()) or "none"
