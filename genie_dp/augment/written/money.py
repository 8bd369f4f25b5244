"""Money: "$5", "5 dollars", "5 bucks", "two dollars and fifty cents"."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from genie_dp.augment.written.form import Written, chosen
from genie_dp.augment.written.numerals import cardinal, grouped, plain


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency as people name it.

    Attributes:
        code: in programs, lower-case.
        singular, plural: its usual words.
        sign: what stands right before the digits, or "".
        also: other plural words.
        cent: the word for hundredths, in the plural, or "" where nobody names them.
        weight: how often it is meant.
    """

    code: str
    singular: str
    plural: str
    sign: str = ""
    also: tuple[str, ...] = ()
    cent: str = ""
    weight: float = 1.0


# "dollars" and "pounds" alone are those of the USA and of Britain.
CURRENCIES = (
    Currency("usd", "dollar", "dollars", "$", ("bucks", "us dollars", "american dollars"),
             "cents", 10),
    Currency("eur", "euro", "euros", "€", ("euro",), "euro cents", 4),
    Currency("gbp", "pound", "pounds", "£", ("quid", "british pounds", "pounds sterling"),
             "pence", 3),
    Currency("jpy", "yen", "yen", "", ("japanese yen",), "", 1),
    Currency("cad", "canadian dollar", "canadian dollars"),
    Currency("aud", "australian dollar", "australian dollars"),
    Currency("chf", "swiss franc", "swiss francs", "", ("francs",)),
    Currency("cny", "yuan", "yuan", "", ("chinese yuan", "renminbi")),
    Currency("inr", "rupee", "rupees", "", ("indian rupees",)),
    Currency("mxn", "mexican peso", "mexican pesos", "", ("pesos",)),
    Currency("brl", "real", "reais", "", ("brazilian reais",)),
    Currency("krw", "won", "won", "", ("korean won",), "", 0.5),
    Currency("sek", "swedish krona", "swedish kronor", "", ("kronor",), "", 0.5),
    Currency("nok", "norwegian krone", "norwegian kroner", "", (), "", 0.5),
    Currency("dkk", "danish krone", "danish kroner", "", (), "", 0.5),
    Currency("pln", "zloty", "zlotys", "", ("polish zlotys",), "", 0.5),
    Currency("zar", "rand", "rand", "", ("south african rand",), "", 0.5),
    Currency("nzd", "new zealand dollar", "new zealand dollars", "", (), "", 0.5),
)  # fmt: skip
_TOTAL = sum(one.weight for one in CURRENCIES)
# Hundredths that prices have.
_PRICES = (99, 50, 95, 25, 75, 49, 20, 10)


def money(rng: Random) -> Written:
    """Return an amount of money in one of its written forms."""
    share = rng.random() * _TOTAL
    one = CURRENCIES[0]
    for one in CURRENCIES:
        share -= one.weight
        if share < 0:
            break
    whole, cents = _amount(rng, one)
    value = Decimal(whole) + Decimal(cents).scaleb(-2)
    return chosen(rng, tuple(forms(whole, cents, one)), f"currency:{plain(value)}:{one.code}")


def _amount(rng: Random, currency: Currency) -> tuple[int, int]:
    digits = 1 + int(rng.random() * 5)
    whole = 1 + int(rng.random() * (10**digits - 1))
    if digits > 2 and rng.random() < 0.8:
        whole = max(whole // 10 ** (digits - 1), 1) * 10 ** (digits - 1)
    if currency.cent and whole < 200:
        share = rng.random()
        if share < 0.05:
            return 0, _PRICES[int(rng.random() * len(_PRICES))]
        if share < 0.3:
            return whole, _PRICES[int(rng.random() * len(_PRICES))]
    return whole, 0


def forms(whole: int, cents: int, currency: Currency) -> Iterator[tuple[str, float]]:
    """Yield how an amount is written, each with its weight.

    >>> [text for text, _ in forms(5, 0, CURRENCIES[0])][:5]
    ['$5', '$ 5', '5 dollars', 'five dollars', '5 bucks']
    >>> [text for text, _ in forms(2, 50, CURRENCIES[0])]
    ['$2.50', '2.50 dollars', '2 dollars and 50 cents', 'two dollars and fifty cents']
    """
    if not whole:
        yield f"{cents} {currency.cent}", 2
        yield f"{cardinal(cents)} {currency.cent}", 1
    elif cents:
        yield from _with_cents(whole, cents, currency)
    else:
        yield from _whole(whole, currency)


def _with_cents(whole: int, cents: int, currency: Currency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign:
        yield f"{currency.sign}{whole}.{cents:02d}", 5
    yield f"{whole}.{cents:02d} {currency.plural}", 2
    yield f"{whole} {name} and {cents} {currency.cent}", 1
    yield f"{cardinal(whole)} {name} and {cardinal(cents)} {currency.cent}", 1


def _whole(whole: int, currency: Currency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign:
        yield f"{currency.sign}{whole}", 6
        yield f"{currency.sign} {whole}", 0.5
        if whole >= 1000:
            yield f"{currency.sign}{grouped(whole)}", 4
            if whole % 1000 == 0:
                yield f"{currency.sign}{whole // 1000}k", 2
    yield f"{whole} {name}", 5
    words = cardinal(whole)
    if words.count(" ") < 4:
        yield f"{words} {name}", 3
    if whole >= 1000:
        yield f"{grouped(whole)} {name}", 2
    if whole > 1:
        for also in currency.also:
            yield f"{whole} {also}", 1.5 / len(currency.also)
    yield f"{whole} {currency.code}", 1
    yield f"{currency.code} {whole}", 0.3
