"""Numbers that prove themselves: payment cards, IBANs, US social security numbers."""

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
    """Tell whether digits end with their check digit (ISO/IEC 7812-1:2017, annex B).

    >>> is_luhn("4111111111111111"), is_luhn("4111111111111112")
    (True, False)
    """
    odd = sum(map(int, digits[-1::-2]))
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (odd + sum(twice - 9 * (twice > 9) for twice in doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """Tell whether a text without spaces is an IBAN: its country's length, and 1 mod 97.

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
    """Tell whether nine digits could be given out as a US social security number.

    They have no check digit; some areas, groups and serials are never given out (Social Security
    Administration, "Social Security Number Randomization").

    >>> is_ssn("536904399"), is_ssn("666123456"), is_ssn("123450000")
    (True, False, False)
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"
