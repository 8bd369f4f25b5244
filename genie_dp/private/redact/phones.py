"""Phone numbers, by the numbering plans of all countries."""

from collections.abc import Sequence
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.spans import Found

NAME = "phones"
# What matches a plan's every rule, and what has but a possible length.
_VALID, _POSSIBLE = 0.9, 0.5


class Phones:
    """The detector of phone numbers; valid ones, and those of a possible length."""

    name = NAME

    def __init__(self, region: str = "US"):
        """Take numbers without a country's prefix for those of a region, as "US" or "DE".

        Raises:
            GenieError: phonenumbers is missing (E002), or there is no such region (E003).
        """
        try:
            import phonenumbers
        except ImportError:
            hint = "pip install 'genie_dp[redact]', or leave phones out"
            message = "finding phone numbers needs the package phonenumberslite"
            raise GenieError(Problem("E002", message, hint=hint)) from None
        if region not in phonenumbers.SUPPORTED_REGIONS:
            message = f"expected a country in two capital letters, got {region!r}"
            raise GenieError(Problem("E003", message, hint="such as US, GB or DE"))
        self.region = region
        self._library: Any = phonenumbers

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return the phone numbers of each text."""
        return [self._found(text) for text in texts]

    def _found(self, text: str) -> tuple[Found, ...]:
        if sum(map(str.isdigit, text)) < 7:
            return ()
        leniency = self._library.Leniency.POSSIBLE
        matches = self._library.PhoneNumberMatcher(text, self.region, leniency=leniency)
        return tuple(
            Found(match.start, match.end, "phone", self._score(match.number), NAME)
            for match in matches
        )

    def _score(self, number: Any) -> float:
        return _VALID if self._library.is_valid_number(number) else _POSSIBLE
