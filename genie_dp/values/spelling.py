"""Numbers in digits and in words.

English is spelled here; other languages by the rules of CLDR, which the package unicode-rbnf has.
It is an extra, `locales`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from genie_dp.errors import GenieError, Problem
from genie_dp.locale import DEFAULT, Words, words_of
from genie_dp.texts import without_accents

# ----------------------------------------------------------------------------- English

_ENGLISH = words_of(DEFAULT)
# Number -> its word, of the numbers that have one of their own below a hundred.
_OWN = {int(number): word for word, number in _ENGLISH.numbers.items()}
# The dozen, for which no number is spelled, aside.
_LARGE = sorted(
    ((int(size), word) for word, size in _ENGLISH.scales.items() if size != "12"), reverse=True
)
NUMBER_WORDS = frozenset(_ENGLISH.numbers) | {word for _, word in _LARGE}
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip


def cardinal(number: int, *, hyphen: bool = False, joined: bool = False) -> str:
    """Return a whole number in words.

    Args:
        number: less than a thousand trillions, in size.
        hyphen: write "twenty-five".
        joined: write "and" after hundreds, as in British English.

    >>> cardinal(1225), cardinal(-45, hyphen=True), cardinal(305, joined=True)
    ('one thousand two hundred twenty five', 'minus forty-five', 'three hundred and five')
    """
    if number < 0:
        return f"minus {cardinal(-number, hyphen=hyphen, joined=joined)}"
    if number in _OWN:
        return _OWN[number]
    if number < 100:
        return f"{_OWN[number - number % 10]}{'-' if hyphen else ' '}{_OWN[number % 10]}"
    size, name = next(large for large in _LARGE if number >= large[0])
    count, rest = divmod(number, size)
    words = f"{cardinal(count, hyphen=hyphen, joined=joined)} {name}"
    if not rest:
        return words
    link = " and " if joined and rest < 100 else " "
    return f"{words}{link}{cardinal(rest, hyphen=hyphen, joined=joined)}"


def ordinal(number: int, *, hyphen: bool = False) -> str:
    """Return the place in a row in words.

    >>> ordinal(1), ordinal(12), ordinal(30), ordinal(21, hyphen=True)
    ('first', 'twelfth', 'thirtieth', 'twenty-first')
    """
    words = cardinal(number, hyphen=hyphen)
    start = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[start:]
    if last in _ORDINALS:
        return words[:start] + _ORDINALS[last]
    return f"{words[:-1]}ieth" if last.endswith("y") else f"{words}th"


def ordinal_digits(number: int) -> str:
    """Return the place in a row in digits.

    >>> [ordinal_digits(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def group_digits(number: int) -> str:
    """Return the digits in groups of three.

    >>> group_digits(1200), group_digits(-1234567)
    ('1,200', '-1,234,567')
    """
    return f"{number:,}"


def plain_digits(number: Decimal) -> str:
    """Return the digits of a number, without redundant zeros.

    >>> plain_digits(Decimal("2.50")), plain_digits(Decimal("1E+3"))
    ('2.5', '1000')
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal_words(number: Decimal) -> str:
    """Return a number with digits behind the point in words.

    >>> decimal_words(Decimal("2.5")), decimal_words(Decimal("0.05")), decimal_words(Decimal("7"))
    ('two point five', 'zero point zero five', 'seven')
    """
    whole, _, behind = plain_digits(abs(number)).partition(".")
    words = cardinal(int(whole))
    if behind:
        words += " point " + " ".join(_OWN[int(digit)] for digit in behind)
    return f"minus {words}" if number < 0 else words


# ---------------------------------------------------------------------- other languages

_SMALL = 1000  # every number below is spelled; larger ones are put together
_LAST_DAY = 31


class Number(NamedTuple):
    """A number in a text, and the place of the token after it.

    Attributes:
        is_said: it is in words.
        is_article: it is the article of a language whose article is its one, too.
    """

    value: Decimal
    end: int
    is_said: bool = False
    is_article: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SpelledNumbers:
    """The numbers of a language in words.

    Attributes:
        words: those of the language.
        forms: the words of each number from 0 to 1000, the usual one first.
        values: words, without hyphens -> number; also without accents where that is no other one.
        starts: all beginnings of these.
        ordinals: the same of the places in a row from 1 to 31.
        thousand: the word for it.
        hundred: that which ends "zweihundert" and stands inside of words.
    """

    words: Words
    forms: Sequence[str]
    values: Mapping[tuple[str, ...], Decimal]
    starts: frozenset[tuple[str, ...]]
    ordinals: Mapping[tuple[str, ...], int]
    thousand: str
    hundred: str

    def spell(self, number: int) -> str:
        """Return a whole number from 0 to 1000 in words."""
        return self.forms[number]

    def find(self, tokens: Sequence[str], at: int) -> Number | None:
        """Return the longest number in words that begins at a token; an article is none.

        >>> from genie_dp.locale import words_of
        >>> french = spelled_numbers(words_of("fr"))
        >>> french.find("mets deux cent quarante-cinq degrés".split(), 1)
        Number(value=Decimal('245'), end=4, is_said=True, is_article=False)
        >>> french.find("mets une lampe".split(), 1) is None
        True
        """
        whole = self._below(tokens, at) if tokens[at] != self.thousand else None
        after = whole.end if whole is not None else at
        if after < len(tokens) and tokens[after] == self.thousand:
            count = whole.value if whole is not None else Decimal(1)
            rest = self._below(tokens, after + 1)
            if count < _SMALL and (whole is None or count > 1):
                more = rest if rest is not None and rest.value < _SMALL else None
                end = more.end if more is not None else after + 1
                return Number(
                    count * 1000 + (more.value if more is not None else 0), end, is_said=True
                )
        if whole is not None and whole.end == at + 1 and self._may_be_article(tokens[at], whole):
            return None
        return whole if whole is not None else self._joined(tokens[at], at)

    def _may_be_article(self, word: str, number: Number) -> bool:
        """Return whether a word is an article; if a language has no list of articles, one is."""
        return word in self.words.articles or (not self.words.articles and number.value == 1)

    def _below(self, tokens: Sequence[str], at: int) -> Number | None:
        """Return the longest number that the table has; "tweehonderd vijftig" are two of them."""
        found = self._in_table(tokens, at)
        if found is None or not self.hundred or found.value % 100 or not 0 < found.value < _SMALL:
            return found
        rest = self._in_table(tokens, found.end)
        if rest is None or not 0 < rest.value < 100 or tokens[found.end] in self.words.articles:
            return found
        return Number(found.value + rest.value, rest.end, is_said=True)

    def _in_table(self, tokens: Sequence[str], at: int) -> Number | None:
        found: Number | None = None
        said: tuple[str, ...] = ()
        end = at
        while end < len(tokens):
            said = (*said, *_parts(tokens[end]))
            if said not in self.starts:
                break
            end += 1
            if said in self.values:
                found = Number(self.values[said], end, is_said=True)
        return found

    def _joined(self, word: str, at: int) -> Number | None:
        """Return the 2,500 of "zweitausendfünfhundert", the 1,900 of "neunzehnhundert"."""
        for scale, name, most in ((1000, self.thousand, _SMALL), (100, self.hundred, 100)):
            before, found, after = word.partition(name) if name else (word, "", "")
            if not found or not before + after:
                continue
            count = self.values.get((before,)) if before else Decimal(1)
            rest = self._rest(after) if after else Decimal(0)
            if count is not None and rest is not None and max(count, rest) < most:
                return Number(count * scale + rest, at + 1, is_said=True)
        return None

    def _rest(self, word: str) -> Decimal | None:
        """Return the 1 of "hundertundeins", which may be joined by the word for "and"."""
        starts = ("", *(x for x in self.words.between_amounts if word.startswith(x)))
        known = (self.values.get((word.removeprefix(start),)) for start in starts)
        return next((value for value in known if value is not None), None)


def _parts(word: str) -> tuple[str, ...]:
    return tuple(part for part in word.split("-") if part)


# As people write letters that their keys do not have.
_DIGRAPHS = {ord(a): b for a, b in {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}.items()}


def typed_forms(word: str) -> tuple[str, ...]:
    """Return a word as it is typed by who has other keys, beside the word itself.

    >>> typed_forms("fünf"), typed_forms("dreißig"), typed_forms("día"), typed_forms("vier")
    (('fuenf', 'funf'), ('dreissig',), ('dia',), ())
    """
    forms = (word.translate(_DIGRAPHS), without_accents(word))
    return tuple(dict.fromkeys(form for form in forms if form != word))


@cache
def spelled_numbers(words: Words) -> SpelledNumbers:
    """Return the numbers of a language in words.

    Raises:
        GenieError: I003, unicode-rbnf is not installed; N002, it does not know the language.
    """
    engine, cardinal, ordinal = _engine(words)
    if engine is None:
        numerals = tuple(map(str, range(_SMALL + 1)))
        return SpelledNumbers(words, numerals, {}, frozenset(), {}, "", "")
    forms: list[str] = []
    values: dict[tuple[str, ...], Decimal] = {}
    for number in range(_SMALL + 1):
        said = [_clean(x) for x in engine.format_number(number, cardinal).text_by_ruleset.values()]
        forms.append(said[0])
        for text in said:
            values.setdefault(_key(text), Decimal(number))
    for text, digits in words.numbers.items():
        values.setdefault(_key(text), Decimal(digits))
        for form, value in _with_ones(text, Decimal(digits), forms):
            values.setdefault(_key(form), value)
    for key, value in list(values.items()):
        for form in typed_forms(" ".join(key)):
            values.setdefault(tuple(form.split()), value)
    ordinals = {
        _key(_clean(text)): number
        for number in range(_LAST_DAY, 0, -1)
        for text in engine.format_number(number, ordinal).text_by_ruleset.values()
    }
    starts = {key[:length] for key in values for length in range(1, len(key) + 1)}
    # "mil" of "dos mil", "tausend" of "zweitausend".
    two = _clean(engine.format_number(2000, cardinal).text)
    thousand = two.removeprefix(forms[2]).strip()
    hundred = forms[200].removeprefix(forms[2])
    hundred = "" if hundred.startswith(" ") or hundred == forms[200] else hundred
    return SpelledNumbers(words, forms, values, frozenset(starts), ordinals, thousand, hundred)


def _with_ones(ten: str, value: Decimal, forms: Sequence[str]) -> Iterator[tuple[str, Decimal]]:
    """Yield "septante et un", "deux cent septante-cinq" of a ten that no rule spells."""
    if value % 10 or not 20 <= value < 100:
        return
    small = {ten: value}
    for one in range(1, 10):
        small[ten + forms[20 + one].removeprefix(forms[20])] = value + one
    for hundred in range(10):
        start = forms[100 * hundred + 1].removesuffix(forms[1]) if hundred else ""
        yield from ((start + text, 100 * hundred + number) for text, number in small.items())


def _engine(words: Words):  # type: ignore[no-untyped-def]
    """Return the speller of numbers, None for a language without words, and the two purposes."""
    language = words.number_language
    try:
        from unicode_rbnf import FormatPurpose, RbnfEngine
    except ImportError:
        hint = "pip install 'genie_dp[locales]'"
        message = f"numbers in words of {language!r} need unicode-rbnf"
        raise GenieError(Problem("I003", message, hint=hint)) from None
    if language not in RbnfEngine.get_supported_languages() and words.language == language:
        return None, None, None
    if language not in RbnfEngine.get_supported_languages():
        hint = "say one that it has in [locale]: language = .."
        message = f"locale: language: unicode-rbnf has no numbers of {language!r}"
        raise GenieError(Problem("N002", message, hint=hint))
    return RbnfEngine.for_language(language), FormatPurpose.CARDINAL, FormatPurpose.ORDINAL


def _clean(text: str) -> str:
    return text.replace("\u00ad", "").lower()


def _key(text: str) -> tuple[str, ...]:
    return tuple(part for word in text.split() for part in _parts(word))
