"""Money: "$5", "20 bucks", "five euros and 20 cents", "eur 5"."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

from genie_dp.augment.written.money import CURRENCIES
from genie_dp.augment.written.numerals import plain
from genie_dp.parser.reading.numbers import SCALES, Number, digits, short_number
from genie_dp.parser.reading.reading import Candidate
from genie_dp.parser.reading.sentence import Sentence

_SIGNS = {"$": "", "€": "eur", "£": "gbp", "¥": "jpy", "₹": "inr", "₩": "krw"}
_SIGNED = re.compile(r"([$€£])([-+]?\d.*)")
# What stands right before the "$" of other countries.
_DOLLARS = {"us": "usd", "c": "cad", "ca": "cad", "a": "aud", "au": "aud", "nz": "nzd"}
_CENTS = {
    ("cents",): "", ("cent",): "", ("¢",): "", ("euro", "cents"): "eur", ("euro", "cent"): "eur",
    ("pence",): "gbp", ("penny",): "gbp", ("pennies",): "usd",
}  # fmt: skip
_ALSO = {
    "usd": "dollars dollar buck bucks $ usd", "eur": "euros euro € eur",
    "gbp": "£ quid gbp sterling",
    "jpy": "¥ yens yen", "inr": "rupees rupee ₹ rs", "chf": "franc francs", "mxn": "peso pesos",
    "krw": "won ₩", "sek": "krona kronor", "nok": "", "cny": "rmb",
}  # fmt: skip
# Words that are rarely money by themselves.
_RARE = frozenset(("won", "real", "rand", "rs", "cad", "all", "chf", "try", "c"))


@cache
def names() -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Return first word -> (words of a currency, its code), the longest first."""
    found: dict[tuple[str, ...], str] = {}
    for one in CURRENCIES:
        words = (one.singular, one.plural, *one.also, one.code, *_ALSO.get(one.code, "").split())
        for name in words:
            found.setdefault(tuple(name.split()), one.code)
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, code in sorted(found.items(), key=lambda item: -len(item[0])):
        by_first.setdefault(phrase[0], []).append((phrase, code))
    return {first: tuple(phrases) for first, phrases in by_first.items()}


_CODES = frozenset(one.code for one in CURRENCIES)


def currency_at(s: Sentence, at: int) -> tuple[str, int] | None:
    """Return (code, next place) of the longest name of a currency at a token, or None."""
    for phrase, code in names().get(s.word(at), ()):
        if s.has(at, *phrase):
            dollar = phrase in (("dollars",), ("dollar",), ("$",))
            return (s.locale.currency if dollar else code), at + len(phrase)
    return None


def money(s: Sentence, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield the candidates that are amounts of money."""
    for at in range(len(s.words)):
        number = found[at]
        if number is not None:
            yield from _named(s, at, number, found)
        else:
            yield from _signed(s, at, found)
        if number is None and s.word(at) in ("a", "an", "one", "1", "half"):
            yield from _one(s, at, found)


def money_at(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Candidate | None:
    """Return the amount of money that begins at a token, or None."""
    number = found[at] if at < len(found) else None
    made = _signed(s, at, found) if number is None else _named(s, at, number, found)
    return next(iter(made), None)


def _candidate(
    s: Sentence,
    at: int,
    end: int,
    amount: Decimal,
    code: str,
    *,
    soft: bool = False,
    weak: bool = False,
) -> Candidate:
    value = f"currency:{plain(amount)}:{code}"
    return s.candidate(at, end, "CURRENCY", value, soft=soft, weak=weak)


def _named(
    s: Sentence, at: int, number: Number, found: tuple[Number | None, ...]
) -> Iterator[Candidate]:
    """Yield "5 dollars (and 20 cents)", "50 cents"."""
    currency = currency_at(s, number.end)
    cents = cents_at(s, number.end)
    if currency is not None and (cents is None or cents[1] <= currency[1]):
        code, end = currency
        amount = number.value
        extra = _cents_after(s, end, code, found) or _bare_cents(s, end, found)
        if extra is not None:
            amount, end = amount + extra[0], extra[1]
        soft = s.word(number.end) in _RARE and end == number.end + 1
        if not (soft and number.is_said and number.value == 1):
            yield _candidate(s, at, end, amount, code, soft=soft)
        return
    if cents is not None:
        code, end = cents
        yield _candidate(s, at, end, number.value / 100, code or s.locale.currency)


def cents_at(s: Sentence, at: int) -> tuple[str, int] | None:
    """Return (code or "", next place) of the name of a hundredth at a token, or None."""
    for words in ((s.word(at), s.word(at + 1)), (s.word(at),)):
        if words in _CENTS:
            return _CENTS[words], at + len(words)
    return None


def _cents_after(
    s: Sentence, end: int, code: str, found: tuple[Number | None, ...]
) -> tuple[Decimal, int] | None:
    """Return (amount, next place) of "and 20 cents"."""
    at = end + (s.word(end) == "and")
    number = found[at] if at < len(found) else None
    cents = cents_at(s, number.end) if number is not None and number.value < 100 else None
    if number is None or cents is None or cents[0] not in ("", code):
        return None
    return number.value / 100, cents[1]


def _bare_cents(
    s: Sentence, end: int, found: tuple[Number | None, ...]
) -> tuple[Decimal, int] | None:
    """Return (amount, next place) of the "fifty" of "three bucks fifty", at an end alone."""
    number = found[end] if end < len(found) else None
    if number is None or number.value % 1 or not 10 <= number.value < 100:
        return None
    return (number.value / 100, number.end) if s.word(number.end) in ("", ".", "!", "?") else None


def _signed(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield "$5", "$ 5", "$1.5k", "$2 million", "eur 5"."""
    word = s.word(at)
    if word in ("-", *_DOLLARS) and s.starts[at + 1 : at + 2] == (s.ends[at],):
        yield from _prefixed(s, at, found)
        return
    match = _SIGNED.fullmatch(word)
    if match is not None:
        amount = digits(match[2])
        if amount is None:
            amount = short_number(match[2])
        code, end = _SIGNS[match[1]] or s.locale.currency, at + 1
        if amount is not None:
            scale = SCALES.get(s.word(end), 1)
            extra = _cents_after(s, end, code, found)
            if extra is not None:
                yield _candidate(s, at, extra[1], amount + extra[0], code)
                return
            end += scale > 1
            named = currency_at(s, end)  # "$1 usd"
            end = named[1] if named is not None and named[0] == code else end
            yield _candidate(s, at, end, amount * scale, code)
    elif word in _SIGNS or word in _CODES:
        following = found[at + 1] if at + 1 < len(found) else None
        if following is not None and not (word in _RARE and following.is_said):
            code = _SIGNS.get(word, word) or s.locale.currency
            yield _candidate(s, at, following.end, following.value, code, soft=word in _RARE)


def _prefixed(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield "-$5", "C$5": what stands right before the sign says more."""
    word, sign = s.word(at), s.word(at + 1)[:1]
    is_inside = at > 0 and s.ends[at - 1] == s.starts[at]
    if is_inside or sign not in _SIGNS or (word != "-" and sign != "$"):
        return
    if word in ("a", "c") and s.text[s.starts[at]] == word:
        return  # "a$5 tip"
    for one in _signed(s, at + 1, found):
        _, amount, code = one.value.split(":")
        if word == "-":
            amount = plain(-Decimal(amount))
        else:
            code = _DOLLARS[word]
        start = s.starts[at]
        yield one._replace(start=start, value=f"currency:{amount}:{code}")


def _one(s: Sentence, at: int, found: tuple[Number | None, ...]) -> Iterator[Candidate]:
    """Yield "a dollar", "a buck fifty", "a dollar and fifty cents", "half a dollar"."""
    is_half = s.word(at) == "half"
    place = at + 1 + (is_half and s.word(at + 1) in ("a", "an"))
    currency = currency_at(s, place)
    if currency is None or s.word(place) in _RARE | {"pound", "quid"}:
        return
    if is_half or s.word(at - 1) == "half":
        if is_half and place > at + 1:
            yield _candidate(s, at, currency[1], Decimal("0.5"), currency[0])
        return
    code, end = currency
    extra = _cents_after(s, end, code, found) or _bare_cents(s, end, found)
    amount, end = (1 + extra[0], extra[1]) if extra is not None else (Decimal(1), end)
    yield _candidate(s, at, end, amount, code, soft=extra is None)
