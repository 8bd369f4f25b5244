"""Placeholders of our own records, such as EMAIL_ADDRESS_0, in whose places values stood."""

import re
from collections.abc import Sequence

from genie_dp.private.redact.spans import Found

NAME = "placeholders"
# Below what a policy takes, so that the word stays, and above what a conservative one leaves: a
# row whose values were taken out by whoever wrote it may hold one that was overlooked.
SCORE = 0.4
_PLACEHOLDER = re.compile(r"(?<!\w)([A-Z]+(?:_[A-Z]+)*)_\d+(?!\w)")


class Placeholders:
    """The detector of placeholders."""

    name = NAME

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return the placeholders of each text.

        >>> [one.place for one in Placeholders().find(["mail EMAIL_ADDRESS_0 now"])[0]]
        [(5, 20)]
        """
        return [
            tuple(
                Found(match.start(), match.end(), "placeholder", SCORE, NAME)
                for match in _PLACEHOLDER.finditer(text)
            )
            for text in texts
        ]
