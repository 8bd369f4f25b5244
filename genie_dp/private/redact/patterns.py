"""Secrets that have a form: addresses, numbers, dates; with checksums where they have any.

Scores are by kind, from those proved by a checksum (0.99) to those but possible (0.2, for a
conservative policy). A policy at 0.5 takes pieces that most readers would take for a secret.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from ipaddress import ip_address

from genie_dp.private.redact.spans import PLAIN, Finding
from genie_dp.values.calendar import MONTH_NUMBERS

# Characters of an IBAN by country (SWIFT, IBAN Registry, release 98).
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27,
    "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
    "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22,
    "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
    "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28,
    "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip
# Digits of payment card numbers (ISO/IEC 7812-1:2017 allows up to 19; 12 and fewer are rare).
CARD_LENGTHS = range(13, 20)


def is_luhn(digits: str) -> bool:
    """Return whether digits end with their check digit (ISO/IEC 7812-1:2017, annex B).

    >>> is_luhn("4111111111111111"), is_luhn("4111111111111112")
    (True, False)
    """
    odd = sum(map(int, digits[-1::-2]))
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (odd + sum(twice - 9 * (twice > 9) for twice in doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """Return whether a text without spaces is an IBAN: its country's length, and 1 mod 97.

    >>> is_iban("GB82WEST12345698765432"), is_iban("GB83WEST12345698765432")
    (True, False)
    """
    text = text.upper()
    if not (text.isascii() and text.isalnum()) or not text[2:4].isdigit():
        return False
    if len(text) != IBAN_LENGTHS.get(text[:2]):
        return False
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def is_ssn(digits: str) -> bool:
    """Return whether nine digits could be given out as a US social security number.

    They have no check digit; some areas, groups and serials are never given out (Social Security
    Administration, "Social Security Number Randomization").

    >>> is_ssn("536904399"), is_ssn("666123456"), is_ssn("123450000")
    (True, False, False)
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


NAME = "patterns"
# (start, end, kind, score)
Piece = tuple[int, int, str, float]
Rule = Callable[[str], Iterator[Piece]]

_MONTH = rf"(?:{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?:1[89]|20)\d\d"
_MONTH_NUMBER = r"(?:1[0-2]|0?[1-9])"
_STREET = (
    r"(?:street|st|avenue|ave|av|road|rd|lane|ln|drive|dr|boulevard|blvd|terrace|parkway|pkwy"
    r"|highway|hwy|alley|crescent|mews)"
)
# Words that end streets, and other things as well: only after words with a capital.
_OTHER_STREET = (
    r"(?:[A-Z][a-z]+(?:s|way|ton|ville)|Court|Ct|Circle|Cir|Way|Place|Pl|Square|Sq|Ter|Trail|Trl"
    r"|Plaza|Crossing|Close|Row|Walk|Garden|Hill|Grove|Green|Rise|View|Path|Pike|Loop|Run|Ridge|Park"
    r"|Field|Lake|Lock|Landing|Mill|Mountain|Harbor|Estate|Island|Isle|Port|Point|River|Spring"
    r"|Shore|Summit|Track|Trace|Tunnel|Union|Valley|Village|Vista|Well|Corner|Cove|Creek|Bridge)"
)
_STATE = (
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI"
    r"|S[CD]|T[NX]|UT|V[AIT]|W[AIVY]|A[AEPS]|GU|MP|PW|FM|MH)"
)
_ZIP = rf"{_STATE},? \d{{5}}(?:-\d{{4}})?"
# Words between a number and a street that is none: "555 0100 for Dr. Lee".
_LIGHT = r"(?:for|to|in|at|and|or|the|of|on|with|from|an?|is|by|via|call|ask)"
_UNIT = r"(?:,? (?:apt|apartment|suite|ste|unit|no|room|floor|#)\.? ?#?\w{1,6})"
_TLD = r"(?:com|org|net|edu|gov|mil|info|biz|io|co|me|us|uk|de|fr|it|es|nl|ch|at|eu|ca|au|in)"
_CUE = (
    r"(?:order|tracking|reference|confirmation|booking|account|policy|case|ticket|customer|member"
    r"(?:ship)?|passport|licen[cs]e|serial|invoice|reservation|pin|id|code|card|record|number)"
)

# No letter or digit beside it: the signs of "_4111_" and "-4111-" are none. And beside a code with
# hyphens, or a date, no further part of it.
_BEFORE, _AFTER = r"(?<![^\W_])", r"(?![^\W_])"
_BEFORE_CODE, _AFTER_CODE = rf"{_BEFORE}(?<![A-Za-z0-9]-)", r"(?!-?[^\W_])"
_BEFORE_DATE, _AFTER_DATE = rf"{_BEFORE}(?<!\d[-/.])", r"(?![^\W_]|[-/.]\d)"
_TIME = r"T\d\d(?::?\d\d){1,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"


def _rule(
    pattern: str, kind: str, score: float, *, flags: int = re.IGNORECASE, group: int = 0
) -> Rule:
    expression = re.compile(pattern, flags)

    def rule(text: str) -> Iterator[Piece]:
        for match in expression.finditer(text):
            start, end = match.span(group)
            if start < end:
                yield start, end, kind, score

    return rule


_DIGITS = re.compile(rf"{_BEFORE}\d++(?:(?: {{1,3}}|[-._/])\d++)*{_AFTER}")


def cards(text: str) -> Iterator[Piece]:
    """Yield numbers of payment cards: 13 to 19 digits with their check digit, in any grouping.

    Of a row of digit groups every window is looked at, for another number may stand beside it.
    """
    for row in _DIGITS.finditer(text):
        groups = [
            (m.start() + row.start(), m.end() + row.start())
            for m in re.finditer(r"\d+", row.group())
        ]
        for i, (start, _) in enumerate(groups):
            digits = ""
            for _, end in groups[i : i + CARD_LENGTHS[-1]]:
                digits = re.sub(r"\D", "", text[start:end])
                if len(digits) > CARD_LENGTHS[-1]:
                    break
                if len(digits) in CARD_LENGTHS and is_luhn(digits):
                    yield start, end, "card", 0.99


_IBAN_START = re.compile(rf"{_BEFORE}([A-Za-z]{{2}})\d\d(?=[ A-Za-z0-9-])", re.ASCII)


def ibans(text: str) -> Iterator[Piece]:
    """Yield international bank account numbers, with or without spaces or hyphens inside."""
    for match in _IBAN_START.finditer(text):
        length = IBAN_LENGTHS.get(match[1].upper())
        if length is None:
            continue
        parts = rf"(?:[A-Za-z0-9](?: {{0,2}}|-)){{{length - 1}}}[A-Za-z0-9]"
        piece = re.compile(parts + _AFTER, re.ASCII).match(text, match.start())
        if piece and is_iban(re.sub("[ -]", "", piece.group())):
            yield piece.start(), piece.end(), "iban", 0.99


_SSN = re.compile(
    rf"{_BEFORE_CODE}(?<!\d\.)(\d{{3}})([-._]| {{0,2}})(\d{{2}})\2(\d{{4}}){_AFTER_CODE}(?!\.\d)"
)


def social_security(text: str) -> Iterator[Piece]:
    """Yield US social security numbers; nine digits in one piece are but possible."""
    for match in _SSN.finditer(text):
        if is_ssn(match[1] + match[3] + match[4]):
            yield match.start(), match.end(), "ssn", 0.9 if match[2] else 0.4


_IPV4 = re.compile(rf"{_BEFORE}(?<!\w\.)\d{{1,3}}(?:\.\d{{1,3}}){{3}}{_AFTER}(?!\.\d)")
_ZEROS = re.compile(r"\b0+(?=\d)")
# All of a row of such characters, never a part of it: else each colon is tried as an end. A single
# colon before it is that of a label.
_IPV6 = re.compile(rf"(?:{_BEFORE}(?<![.:])|(?<=\w):(?!:(?!:)))([0-9a-fA-F:.]++){_AFTER}")
_STOP = re.compile(r"(?:(?<!:):|(?<=::):|\.)$")


def ip_addresses(text: str) -> Iterator[Piece]:
    """Yield addresses of the Internet protocol, versions 4 and 6; a colon and a port may follow.

    >>> [text[a:b] for text in ("ip:10.0.0.1:80", "at ::1.") for a, b, _, _ in ip_addresses(text)]
    ['10.0.0.1', '::1']
    """
    fours = ((match.start(), match.group()) for match in _IPV4.finditer(text))
    sixes = ((match.start(1), _STOP.sub("", match[1])) for match in _IPV6.finditer(text))
    # "::", which is nobody's, is more often a sign of something else.
    for start, address in (
        *fours,
        *(candidate for candidate in sixes if ":" in candidate[1] and candidate[1] != "::"),
    ):
        try:
            # Zeros before a number are refused there, since some read them as octal.
            ip_address(address if ":" in address else _ZEROS.sub("", address))
        except ValueError:
            continue
        yield start, start + len(address), "ip", 0.95


# ---------------------------------------------------------------------- numbers by their form

_CODE = re.compile(rf"{_BEFORE_CODE}(?=[A-Za-z0-9-]*\d)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*{_AFTER_CODE}")
_AFTER_CUE = re.compile(
    rf"\b{_CUE}(?:'s)?(?: (?:number|no|code|id|is|was|of|for|which)\b| ?[#:.,])*[ ,:]*$",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?<![\w-])[A-Z]{6,}(?![\w-])")
_ORDINAL = re.compile(r"\d{1,4}(?:st|nd|rd|th|am|pm|s|h|k|m|km|kg|f|c|min)", re.IGNORECASE)


def references(text: str) -> Iterator[Piece]:
    """Yield order, tracking, account and other numbers: by their form, or by the word before."""
    for match in _CODE.finditer(text):
        token = match.group()
        score = _reference_score(token)
        # The words just before: a cue makes even a short number a reference.
        before = text[max(0, match.start() - 40) : match.start()]
        if _AFTER_CUE.search(before) and len(token) > 2 and not _ORDINAL.fullmatch(token):
            score = max(score, 0.9)
        if score:
            yield match.start(), match.end(), "reference", score
    for match in _CAPITALS.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        yield match.start(), match.end(), "reference", 0.8 if _AFTER_CUE.search(before) else 0.2


@lru_cache(maxsize=1000)
def _reference_score(token: str) -> float:
    """Return how likely a token with a digit is a reference.

    >>> [_reference_score(token) for token in ("AB12CD9", "12-3456-78", "90210", "1999", "7")]
    [0.8, 0.8, 0.6, 0.3, 0.0]
    """
    if _ORDINAL.fullmatch(token):
        return 0.2
    plain = token.replace("-", "")
    if any(map(str.isalpha, plain)):
        return 0.8 if len(plain) >= 6 else 0.3
    if len(plain) >= 7:
        return 0.8 if "-" in token else 0.7
    if len(plain) >= 5:
        return 0.6
    return 0.3 if len(plain) >= 3 else 0.0


_RULES: tuple[Rule, ...] = (
    _rule(r"(?<![\w.+'%-])[\w.+'%-]+@[\w-]+(?:\.[\w-]+)+", "email", 0.95),
    _rule(r"(?:(?<![\w.+'%-])[\w.+'%-]+|\"[^\"@\n]{1,64}\")@\w[\w.-]*\w", "email", 0.6),
    _rule(
        r"(?<![\w.+-])[\w.+-]+ ?[\[({<] ?(?:at|@) ?[\])}>] ?[\w-]+"
        r"(?: ?[\[({<] ?(?:dot|\.) ?[\])}>] ?\w+|\.\w+)+",
        "email",
        0.9,
    ),
    _rule(rf"(?<![\w.+-])[\w.+-]+ ?@ ?[\w-]+(?: ?\. ?[\w-]+)* ?\. ?{_TLD}\b", "email", 0.9),
    _rule(rf"(?<![\w.])[\w.]+(?: dot \w+)? at \w+ dot {_TLD}\b", "email", 0.8),
    _rule(r"\b(?:https?|ftp)://[^\s<>\"]+[^\s<>\".,;:!?)'\]]", "url", 0.95),
    _rule(r"\bwww\.[^\s<>\"]+[^\s<>\".,;:!?)'\]]", "url", 0.95),
    _rule(rf"(?<![\w@.-])(?:[a-z0-9-]+\.)+{_TLD}(?:/[^\s<>\"]*[\w/=&#-])?(?![\w@])", "url", 0.6),
    _rule(r"(?<![\w@])@[A-Za-z_]\w{2,}(?![\w.])", "username", 0.6),
    # Dates.
    _rule(
        rf"{_BEFORE_DATE}{_YEAR}[-/.]{_MONTH_NUMBER}[-/.]{_DAY}(?:{_TIME})?{_AFTER_DATE}",
        "date",
        0.8,
    ),
    _rule(rf"{_BEFORE_DATE}\d{{1,2}}([-/.])\d{{1,2}}\1(?:\d{{4}}|\d\d){_AFTER_DATE}", "date", 0.8),
    _rule(rf"{_BEFORE_DATE}{_DAY}/{_MONTH_NUMBER}{_AFTER_DATE}", "date", 0.4),
    _rule(rf"{_BEFORE_DATE}{_MONTH_NUMBER}/{_DAY}{_AFTER_DATE}", "date", 0.4),
    _rule(rf"\b{_MONTH}\.? {_DAY}(?:,? {_YEAR})\b", "date", 0.8),
    _rule(rf"\b{_DAY}(?: of)?[ /.-]{_MONTH}\.?,?[ /.-]{_YEAR}\b", "date", 0.8),
    _rule(rf"\b{_MONTH}\.? {_DAY}\b", "date", 0.4),
    _rule(rf"\b{_DAY}(?: of)? {_MONTH}\b", "date", 0.4),
    _rule(rf"\bborn (?:on|in) (?:the )?([\w ,/.-]*?{_YEAR})\b", "date", 0.9, group=1),
    # Addresses of houses.
    _rule(
        rf"{_BEFORE_CODE}\d{{1,6}}[a-z]?(?: (?!{_LIGHT}\b)[\w.'-]+){{1,5}}? {_STREET}"
        rf"\b\.?{_UNIT}?(?:(?:,? [A-Za-z][\w.'-]*){{1,4}}?,? {_ZIP})?{_AFTER_CODE}",
        "address",
        0.8,
    ),
    _rule(
        rf"\b\d{{1,6}}(?: [A-Z][\w'-]*){{1,3}} {_OTHER_STREET}\b{_UNIT}?(?!\w)",
        "address",
        0.7,
        flags=0,
    ),
    # A house number and words with a capital up to state and code.
    _rule(
        rf"\b\d{{1,6}}(?: (?-i:[A-Z])[\w.'-]*,?){{1,6}}{_UNIT}?,?(?: (?-i:[A-Z])[\w.'-]*,?){{0,4}}"
        rf" (?-i:{_ZIP})\b",
        "address",
        0.9,
    ),
    _rule(rf"(?-i:{_ZIP})\b", "address", 0.7),
    _rule(
        rf"\b(?:p\.? ?o\.? ?box|psc|unit|cmr|uss|usns|usnv|usnc)\b[ \w]{{0,60}}?(?:,? box \d+)?,?"
        rf"(?: [adf]po,?)? {_ZIP}\b",
        "address",
        0.9,
    ),
    _rule(r"\bp\.? ?o\.? ?box \d+\b", "address", 0.9),
    _rule(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b", "address", 0.6, flags=0),  # UK postcodes
    # Names by the words around them.
    _rule(
        r"\b(?i:my (?:full |first |last )?name(?: is|'s| 's)|i am called|they call me"
        r"|name(?: is|:)|name's) ((?-i:[A-Z])[\w'-]*"
        r"(?: (?-i:[A-Z])(?:\.(?= (?-i:[A-Z]))|[\w'-]*)){0,3})",
        "person",
        0.9,
        group=1,
    ),
    _rule(r"\bmy (?:full )?name (?:is|'s) ([a-z'-]+(?: [a-z'-]+)?)", "person", 0.6, group=1),
    _rule(
        r"\b(?:mr|mrs|ms|miss|dr|prof|sir|madam)\.? ((?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?)",
        "person",
        0.8,
        group=1,
    ),
    # Words with a capital, and two of them as the whole text: possible names.
    _rule(
        r"(?<!\w)[A-Z][a-z'-]+(?: [A-Z]\.)? [A-Z][\w'-]*[a-z](?: [A-Z][\w'-]+)?(?!\w)",
        "person",
        0.35,
        flags=0,
    ),
    _rule(r"(?<=[a-z,] )[A-Z][\w'-]+", "person", 0.2, flags=0),
    cards,
    ibans,
    social_security,
    ip_addresses,
    references,
    # Digits wherever they stand, also inside of words: possible numbers.
    _rule(r"\d{3,}", "reference", 0.3),
)


class Patterns:
    """The detector of forms and checksums."""

    name = NAME

    def find(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """Return the findings of each text.

        >>> {(one.kind, one.place) for one in Patterns().find(["mail jo@example.org!"])[0]}
        {('email', (5, 19))}
        """
        return [tuple(_find_in_text(text)) for text in texts]


def _find_in_text(text: str) -> Iterator[Finding]:
    text = text.translate(PLAIN)
    for rule in _RULES:
        for start, end, kind, score in rule(text):
            yield Finding(start, end, kind, score, NAME)
