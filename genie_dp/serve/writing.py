"""The remarks of a page on paraphrases while they are written and when they are sent."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genie_dp.paraphrase.checks import CheckConfig, faults_of
from genie_dp.paraphrase.shown import ShownRow

MOST_CHARACTERS = 500  # of a paraphrase, as on the page of `paraphrase hits`
MOST_NAME = 64
# What is only said: the dictionary knows few names and no new words, so the writer decides.
WARNINGS: Mapping[str, str] = {"not-english": "Is this English? If it is, send it."}


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark for the writer; all but warnings must be mended."""

    name: str
    message: str
    is_warning: bool = False


Remarks = tuple[Remark, ...]


def clean_text(text: str) -> str:
    """Return typed text on one line, composed, without control characters.

    >>> clean_text(" show\\x00 me\\n the  files ")
    'show me the files'
    """
    characters = [" " if c.isspace() else c for c in text]
    line = "".join(c for c in characters if unicodedata.category(c) not in ("Cc", "Cs"))
    return " ".join(unicodedata.normalize("NFC", line).split())


def remarks_of(
    shown: ShownRow, texts: Sequence[str], checks: CheckConfig, *, is_draft: bool = False
) -> tuple[Remarks, ...]:
    """Return the faults of each paraphrase of a sentence, in their order.

    Args:
        texts: as `clean_text` gives them.
        is_draft: whether they are still being written: an empty one is no fault yet.

    >>> from genie_dp.records import Example
    >>> row = ShownRow(Example("S1", "list my files", ".."))
    >>> found = remarks_of(row, ["list my files", "hm"], CheckConfig())
    >>> [[remark.name for remark in remarks] for remarks in found]
    [['copy'], ['too-short', 'not-english']]
    """
    good: list[str] = []
    all_remarks: list[Remarks] = []
    for text in texts:
        remarks = () if is_draft and not text else _remarks(shown, text, good, checks)
        if text and not is_refused([remarks]):
            good.append(text)
        all_remarks.append(remarks)
    return tuple(all_remarks)


def _remarks(shown: ShownRow, text: str, others: Sequence[str], checks: CheckConfig) -> Remarks:
    if len(text) > MOST_CHARACTERS:
        message = f"This is too long: write at most {MOST_CHARACTERS} characters."
        return (Remark("too-long", message),)
    return tuple(
        Remark(fault.name, WARNINGS.get(fault.name, fault.message), fault.name in WARNINGS)
        for fault in faults_of(shown, text, others, checks)
    )


def is_refused(found: Sequence[Remarks]) -> bool:
    """Return whether anything must be mended before it is kept.

    >>> is_refused([(Remark("not-english", "..", is_warning=True),), ()])
    False
    """
    return any(not remark.is_warning for remarks in found for remark in remarks)


def worker_name(text: str) -> str | None:
    """Return the stored form of a name, or None if it is none: letters and digits come first.

    >>> worker_name("  Ada  Lovelace "), worker_name("=1+2"), worker_name("")
    ('Ada Lovelace', None, None)
    """
    name = clean_text(text)
    # In a spreadsheet no name may be a formula.
    return name if 0 < len(name) <= MOST_NAME and name[0].isalnum() else None
