"""Which written forms read well where a sentence has a value."""

from collections.abc import Sequence
from typing import NamedTuple

from genie_dp.augment.written.form import Written
from genie_dp.paraphrase.daytime import is_then, part_of_day
from genie_dp.templates import english_words as lists

_EACH = frozenset(("every", "each"))
_NAMED_DAYS = frozenset(("today", "tomorrow", "yesterday"))


class Around(NamedTuple):
    """What of a sentence says how a value may be written there.

    Attributes:
        before: the word before it, where that matters.
        part: the part of the day that is named beside it.
    """

    before: str
    part: str


def around(tokens: Sequence[str], at: int) -> Around:
    """Return what stands around a value.

    >>> around("every VALUE wake me".split(), 1), around("at VALUE every morning".split(), 1)
    (Around(before='every', part=''), Around(before='at', part='morning'))
    """
    before = tokens[at - 1] if at else ""
    matters = before in _EACH or before in lists.ARTICLES or before in lists.PREPOSITIONS
    return Around(before if matters else "", part_of_day(tokens, at))


def is_said(form: Written, where: Around) -> bool:
    """Tell whether people say a value so: not "every an hour", "on tomorrow", "since in 2 days".

    A time agrees with the part of the day beside it and does not say it again.

    >>> every = Around("every", "")
    >>> is_said(Written(("an", "hour"), "1 unit:h"), every)
    False
    >>> is_said(Written(("half", "an", "hour"), "30 unit:min"), every)
    True
    """
    first = form.words[0]
    if where.before in _EACH and first in ("a", "an"):
        return False
    if form.value.startswith("date:") and where.before in lists.PREPOSITIONS:
        is_told_from_today = first in _NAMED_DAYS or first == "a" or form.words[-1] == "ago"
        is_told_from_today |= form.words[:2] == ("the", "day")
        return first != "in" and not (where.before == "on" and is_told_from_today)
    if where.part and form.value.startswith("time:"):
        hour = int(form.value.split(":")[1])
        return is_then(where.part, hour) and where.part not in form.words
    return True
