"""Methods of training on redacted rows, and the limits of their guarantee."""

from typing import Literal, get_args

from genie_dp.private.crt.statements import Apart

# non-private and masked are the same steps on other rows: before and after redaction.
Method = Literal["crt", "dp", "non-private", "masked"]
METHODS: tuple[Method, ...] = get_args(Method)
# Those whose private steps are paid from a budget; the others promise nothing.
PAID = ("crt", "dp")

PUBLIC_ROWS = (
    "rows marked public: they were learned from without noise; what is said of secrets in them is "
    "in confidentiality.json"
)
# What redaction takes from elsewhere, and what does not follow from one text alone.
REDACTION = (
    "the lists, detectors and labelled rows that redaction was made and measured with: they are "
    "taken as given, and the measured shares are told as they are",
    "the last digits of a learned detector's scores, which may follow from the texts that are "
    "looked at together",
)
OWNERS_WORD = (
    "how the rows were redacted: that none was made from another unit's is the owner's word, not "
    "recorded"
)


def describe_limits(method: Method, apart: Apart | None) -> tuple[str, ...]:
    """Return the cases that the ledger's promise for a paid run does not cover, in plain words.

    >>> [line[:17] for line in describe_limits("dp", "said")]
    ['the lists, detect', 'the last digits o', 'how the rows were']
    """
    public = (PUBLIC_ROWS,) if method == "crt" else ()
    return (*public, *REDACTION, *((OWNERS_WORD,) if apart == "said" else ()))
