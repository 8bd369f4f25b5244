"""Numbers in words and digits: "twenty five", "twenty-fifth", "1,200"."""

from decimal import Decimal

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = (
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_LARGE = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"))
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip


def cardinal(number: int, *, hyphen: bool = False, joined: bool = False) -> str:
    """Return a whole number in words.

    Args:
        number: less than a trillion, in size.
        hyphen: write "twenty-five".
        joined: say "and" after hundreds, as the British do.

    >>> cardinal(1225), cardinal(-45, hyphen=True), cardinal(305, joined=True)
    ('one thousand two hundred twenty five', 'minus forty-five', 'three hundred and five')
    """
    if number < 0:
        return f"minus {cardinal(-number, hyphen=hyphen, joined=joined)}"
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"{'-' if hyphen else ' '}{_SMALL[ones]}" if ones else "")
    size, name = next((large for large in _LARGE if number >= large[0]), (100, "hundred"))
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


def grouped(number: int) -> str:
    """Return the digits in groups of three.

    >>> grouped(1200), grouped(-1234567)
    ('1,200', '-1,234,567')
    """
    return f"{number:,}"


def plain(number: Decimal) -> str:
    """Return the digits of a number, without zeros that say nothing.

    >>> plain(Decimal("2.50")), plain(Decimal("1E+3"))
    ('2.5', '1000')
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal_words(number: Decimal) -> str:
    """Return a number with digits behind the point in words.

    >>> decimal_words(Decimal("2.5")), decimal_words(Decimal("0.05")), decimal_words(Decimal("7"))
    ('two point five', 'zero point zero five', 'seven')
    """
    whole, _, behind = plain(abs(number)).partition(".")
    words = cardinal(int(whole))
    if behind:
        words += " point " + " ".join(_SMALL[int(digit)] for digit in behind)
    return f"minus {words}" if number < 0 else words
