"""Currencies, and how English names and writes them."""

from dataclasses import dataclass

from genie_dp.locale import DEFAULT, phrases_by_name, words_of


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency as people name it.

    Attributes:
        code: in programs, lower-case.
        words: its names: one, several, and other words for several.
        sign: the sign before the digits, or "".
        spellings: further words and signs, which are understood and never written.
        cents: the words for hundredths, in the plural first; none if there are none.
    """

    code: str
    words: tuple[str, ...]
    sign: str
    spellings: tuple[str, ...]
    cents: tuple[str, ...]

    @property
    def singular(self) -> str:
        """Return its name in the singular."""
        return self.words[0]

    @property
    def plural(self) -> str:
        """Return its name in the plural."""
        return self.words[1]


# Signs that stay together with the digits behind them when a text is cut into tokens.
GLUED_SIGNS = ("$", "€", "£")


def _shipped() -> tuple[Currency, ...]:
    english = words_of(DEFAULT)
    spellings, cents = map(phrases_by_name, (english.currency_spellings, english.cents))
    return tuple(
        Currency(
            code,
            (one, several, *others),
            english.currency_signs.get(code, ""),
            spellings.get(code, ()),
            cents.get(code, ()),
        )
        for code, (several, one, *others) in phrases_by_name(english.currencies).items()
    )


# "dollars" and "pounds" alone are those of the USA and of Britain.
CURRENCIES = _shipped()
