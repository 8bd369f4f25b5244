"""Reads written forms back: a small reader that shares nothing with what writes them."""

import re
from datetime import date, timedelta
from decimal import Decimal

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
ONES = {word: number for number, word in enumerate(_SMALL)}
TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
FIXED = {"a dozen": 12, "half a dozen": 6, "two dozen": 24, "a hundred": 100, "a thousand": 1000,
         "a million": 10**6}  # fmt: skip
LETTERS = {"k": 1000, "m": 10**6}


def number(text):
    """Return the number that a text says, or None."""
    if text in FIXED:
        return Decimal(FIXED[text])
    if text.endswith(" and a half"):
        return number(text.removesuffix(" and a half")) + Decimal("0.5")
    if re.fullmatch(r"-?[\d,]*\d(\.\d+)?", text):
        return Decimal(text.replace(",", ""))
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)([km])", text):
        return Decimal(found[1]) * LETTERS[found[2]]
    if found := re.fullmatch(r"(\d+(?:\.\d+)?) (thousand|million|billion)", text):
        return Decimal(found[1]) * SCALES[found[2]]
    return _spelled(text)


def _spelled(text):
    words = text.replace("-", " ").split()
    if not words:
        return None
    sign = -1 if words[0] == "minus" else 1
    words = words[1:] if sign < 0 else words
    behind = ""
    if "point" in words:
        at = words.index("point")
        if not all(word in ONES and ONES[word] < 10 for word in words[at + 1 :]):
            return None
        behind = "".join(str(ONES[word]) for word in words[at + 1 :])
        words = words[:at]
    total, part = 0, 0
    for word in words:
        if word in ONES:
            part += ONES[word]
        elif word in TENS:
            part += TENS[word]
        elif word == "hundred":
            part *= 100
        elif word in SCALES:
            total, part = total + part * SCALES[word], 0
        elif word != "and":
            return None
    return sign * Decimal(f"{total + part}.{behind or 0}")


ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13,
    "fourteenth": 14, "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18,
    "nineteenth": 19, "twentieth": 20, "thirtieth": 30, "fortieth": 40,
    "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80, "ninetieth": 90,
}  # fmt: skip


def ordinal(text):
    """Return the place in a row, or None."""
    if found := re.fullmatch(r"(\d+)(st|nd|rd|th)", text):
        count = int(found[1])
        usual = {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
        right = "th" if count % 100 in (11, 12, 13) else usual
        return count if found[2] == right else None
    *tens, last = text.replace("-", " ").split()
    if last not in ORDINALS:
        return None
    return ORDINALS[last] + sum(TENS[word] for word in tens)


# ------------------------------------------------------------------------------- measures

NAMES = {
    "ms": {"ms": "milliseconds millisecond ms", "s": "seconds second secs sec s",
           "min": "minutes minute mins min m", "h": "hours hour hrs hr h", "day": "days day d",
           "week": "weeks week wks", "mon": "months month", "year": "years year yrs"},
    "m": {"km": "kilometers kilometer kilometres km kms klicks", "mi": "miles mile mi",
          "m": "meters meter metres m", "ft": "feet foot ft",
          "cm": "centimeters centimeter centimetres cm", "in": "inches inch in",
          "mm": "millimeters millimeter millimetres mm"},
    "mps": {"kmph": "kilometers_per_hour kilometer_per_hour kilometres_per_hour kmh kph km_/_h",
            "mph": "miles_per_hour mile_per_hour miles_an_hour mph",
            "mps": "meters_per_second meter_per_second metres_per_second m_/_s"},
    "kg": {"kg": "kilograms kilogram kilos kg kgs", "lb": "pounds pound lb lbs",
           "g": "grams gram grammes g", "oz": "ounces ounce oz"},
    "Pa": {"Pa": "pascals pascal pa", "bar": "bar bars", "psi": "psi pounds_per_square_inch",
           "mmHg": "mmhg millimeters_of_mercury", "inHg": "inhg inches_of_mercury",
           "atm": "atmospheres atmosphere atm"},
    "C": {"C": "degrees_celsius degree_celsius celsius degrees_c degrees_centigrade c",
          "F": "degrees_fahrenheit degree_fahrenheit fahrenheit degrees_f f",
          "K": "kelvin degrees_kelvin k"},
    "kcal": {"kcal": "calories calorie kilocalories kcal cal", "kJ": "kilojoules kilojoule kj"},
    "byte": {"byte": "bytes byte", "KB": "kilobytes kilobyte kb",
             "MB": "megabytes megabyte mb megs",
             "GB": "gigabytes gigabyte gigs gb", "TB": "terabytes terabyte tb",
             "KiB": "kibibytes kibibyte kib", "MiB": "mebibytes mebibyte mib",
             "GiB": "gibibytes gibibyte gib", "TiB": "tebibytes tebibyte tib"},
    "bpm": {"bpm": "beats_per_minute beat_per_minute beats_a_minute bpm"},
    "dB": {"dB": "decibels decibel db"},
    "lx": {"lx": "lux lx"},
    "m2": {"m2": "square_meters square_meter square_metres sqm m2"},
    "l": {"l": "liters liter litres l", "ml": "milliliters milliliter millilitres ml mls",
          "cl": "centiliters centiliter centilitres cl",
          "dl": "deciliters deciliter decilitres dl",
          "m3": "cubic_meters cubic_meter cubic_metres m3"},
    "W": {"W": "watts watt w", "mW": "milliwatts milliwatt mw", "kW": "kilowatts kilowatt kw"},
    "V": {"V": "volts volt v", "mV": "millivolts millivolt mv", "kV": "kilovolts kilovolt kv"},
    "A": {"A": "amps amp amperes", "mA": "milliamps milliamp milliamperes ma"},
    "Ah": {"Ah": "amp_hours amp_hour ampere_hours ah",
           "mAh": "milliamp_hours milliamp_hour milliampere_hours mah"},
    "bps": {"bps": "bits_per_second bit_per_second bps",
            "kbps": "kilobits_per_second kilobit_per_second kbps"},
    "deg": {"deg": "degrees degree deg"},
    "lm": {"lm": "lumens lumen lm"},
    "rpm": {"rpm": "revolutions_per_minute revolution_per_minute rpm"},
}  # fmt: skip
# In the smallest unit that is named.
SIZES = {
    "ms": {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "day": 86_400_000,
           "week": 604_800_000, "mon": None, "year": None},
    "m": {"mm": 1, "cm": 10, "m": 1000, "km": 10**6, "in": Decimal("25.4"), "ft": Decimal("304.8"),
          "mi": Decimal("1609344")},
    "kg": {"g": 1, "kg": 1000, "lb": Decimal("453.59237"), "oz": Decimal("28.349523125")},
}  # fmt: skip
IDIOMS = {
    "an hour and a half": ((Decimal("1.5"), "h"),), "half an hour": ((Decimal("0.5"), "h"),),
    "a quarter of an hour": ((Decimal("0.25"), "h"),), "half a minute": ((Decimal("0.5"), "min"),),
    "half a day": ((Decimal("0.5"), "day"),), "half a year": ((6, "mon"),),
    "half a mile": ((Decimal("0.5"), "mi"),), "half a kilometer": ((Decimal("0.5"), "km"),),
    "half a pound": ((Decimal("0.5"), "lb"),), "half a kilo": ((Decimal("0.5"), "kg"),),
    "half a gigabyte": ((500, "MB"),), "a gig": ((1, "GB"),), "a kilo": ((1, "kg"),),
}  # fmt: skip


def measures(text, base):
    """Return the parts (number, unit) of a measure, or None."""
    if text in IDIOMS:
        return IDIOMS[text]
    units = {
        name.replace("_", " "): unit
        for unit, names in NAMES[base].items()
        for name in names.split()
    }
    by_length = sorted(units, key=len, reverse=True)
    if text.startswith(("a ", "an ")):
        name = text.split(" ", 1)[1]
        return ((Decimal(1), units[name]),) if name in units else None
    if found := re.fullmatch(r"(.+) foot (\d+|\w+(?: \w+)?)", text):
        return ((number(found[1]), "ft"), (number(found[2]), "in"))
    pattern = "|".join(re.escape(name) for name in by_length)
    parts = []
    rest = text
    while rest:
        found = re.match(rf"(.+?) ?({pattern})(?= |$)(?: and)? ?", rest)
        if not found or number(found[1]) is None:
            return None
        parts.append((number(found[1]), units[found[2]]))
        rest = rest[found.end() :]
    return tuple(parts)


def same_size(one, other, base):
    """Tell whether two measures are as large."""
    if tuple(one) == tuple(other):
        return True
    sizes = SIZES.get(base, {})
    if any(sizes.get(unit) is None for _, unit in (*one, *other)):
        return False
    return sum(n * sizes[u] for n, u in one) == sum(n * sizes[u] for n, u in other)


# ----------------------------------------------------------------------------------- money

MONEY = {
    "usd": "dollars dollar bucks us_dollars american_dollars usd", "eur": "euros euro eur",
    "gbp": "pounds pound quid british_pounds pounds_sterling gbp", "jpy": "yen japanese_yen jpy",
    "cad": "canadian_dollars canadian_dollar cad",
    "aud": "australian_dollars australian_dollar aud",
    "chf": "swiss_francs swiss_franc francs chf", "cny": "yuan chinese_yuan renminbi cny",
    "inr": "rupees rupee indian_rupees inr", "mxn": "mexican_pesos mexican_peso pesos mxn",
    "brl": "reais real brazilian_reais brl", "krw": "won korean_won krw",
    "sek": "swedish_kronor swedish_krona kronor sek", "nok": "norwegian_kroner norwegian_krone nok",
    "dkk": "danish_kroner danish_krone dkk", "pln": "zlotys zloty polish_zlotys pln",
    "zar": "rand south_african_rand zar", "nzd": "new_zealand_dollars new_zealand_dollar nzd",
}  # fmt: skip
SIGNS = {"$": "usd", "€": "eur", "£": "gbp"}
CENTS = {"cents": "usd", "euro cents": "eur", "pence": "gbp"}


def money(text):
    """Return (amount, code), or None."""
    if text[0] in SIGNS:
        return number(text[1:].strip()), SIGNS[text[0]]
    for name, code in sorted(CENTS.items(), key=lambda item: -len(item[0])):
        if text.endswith(f" {name}"):
            whole, _, part = text.removesuffix(f" {name}").rpartition(" and ")
            if not whole:
                return number(part) / 100, code
            amount, whole_code = money(whole)
            assert whole_code == code
            return amount + number(part) / 100, code
    names = {n.replace("_", " "): code for code, words in MONEY.items() for n in words.split()}
    for name in sorted(names, key=len, reverse=True):
        if text.endswith(f" {name}"):
            return number(text.removesuffix(f" {name}")), names[name]
        if text.startswith(f"{name} ") and len(name) == 3:
            return number(text.removeprefix(f"{name} ")), names[name]
    return None


# ------------------------------------------------------------------------------------ dates

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
         "august aug", "september sep", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
HOLIDAYS = {
    "christmas": (12, 25), "christmas eve": (12, 24), "new year 's eve": (12, 31),
    "new year 's day": (1, 1), "halloween": (10, 31), "valentine 's day": (2, 14),
    "the fourth of july": (7, 4), "st patrick 's day": (3, 17), "april fools ' day": (4, 1),
    "boxing day": (12, 26),
}  # fmt: skip
NEAR = {
    "today": 0, "tomorrow": 1, "yesterday": -1, "the day after tomorrow": 2,
    "the day before yesterday": -2, "a week from today": 7, "a week ago": -7,
    "a week from tomorrow": 8,
}  # fmt: skip


def day(text, today):
    """Return the date that a text names, seen from a day, or None."""
    if text in NEAR:
        return today + timedelta(days=NEAR[text])
    if text in HOLIDAYS:
        return _coming(*HOLIDAYS[text], today)
    if text.split()[-1] in DAYS:
        return _weekday(text, today)
    if found := re.fullmatch(
        r"in (.+) (days|weeks)|(.+) (days|weeks) (ago|from (?:now|today))", text
    ):
        count = int(number(found[1] or found[3])) * (7 if (found[2] or found[4]) == "weeks" else 1)
        return today + timedelta(days=-count if found[5] == "ago" else count)
    if found := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text):
        return date(int(found[1]), int(found[2]), int(found[3]))
    if found := re.fullmatch(r"(\d+)\.(\d+)\.(\d{4})", text):
        return date(int(found[3]), int(found[2]), int(found[1]))
    if found := re.fullmatch(r"(\d+) / (\d+)(?: / (\d+))?", text):
        if not found[3]:
            return _coming(int(found[1]), int(found[2]), today)
        return date(int(found[3]) % 100 + 2000, int(found[1]), int(found[2]))
    return _named(text, today)


def _named(text, today):
    words = [w for w in text.split() if w not in (",", "of", "the")]
    [month] = [w for w in words if w in MONTHS]
    words.remove(month)
    year = words.pop() if re.fullmatch(r"\d{4}", words[-1]) else None
    said = " ".join(words)
    count = int(said) if said.isdigit() else ordinal(said)
    if count is None:
        return None
    if year is None:
        return _coming(MONTHS[month], count, today)
    return date(int(year), MONTHS[month], count)


def _coming(month, count, today):
    found = date(today.year, month, count)
    return found if found >= today else date(today.year + 1, month, count)


def _weekday(text, today):
    *before, name = text.split()
    step = -1 if before in (["last"], ["this", "past"]) else 1
    assert step < 0 or before in ([], ["this"], ["this", "coming"])
    found = today + timedelta(days=step)
    while DAYS[found.weekday()] != name:
        found += timedelta(days=step)
    return found


# ------------------------------------------------------------------------------------ times


def time(text):
    """Return (hour, minute), or None."""
    if text in ("noon", "12 noon"):
        return 12, 0
    if text == "midnight":
        return 0, 0
    if found := re.fullmatch(r"(\d\d):(\d\d)", text):
        return int(found[1]), int(found[2])
    found = re.fullmatch(
        r"(.+?) ?(am|pm|noon|at midnight|in the morning|in the afternoon|in the evening|at night)",
        text,
    )
    if not found:
        return None
    hour, minute = _clock(found[1])
    is_late = found[2] in ("pm", "noon", "in the afternoon", "in the evening") or (
        found[2] == "at night" and hour % 12 > 3
    )
    if minute < 0:
        total = ((hour % 12) + (12 if is_late else 0)) * 60 + minute
        return total // 60 % 24, total % 60
    return hour % 12 + (12 if is_late else 0), minute


def _clock(text):
    """Return hour and minute as they stand; "quarter to nine" is (9, -15)."""
    if found := re.fullmatch(r"(\d+):(\d\d)", text):
        return int(found[1]), int(found[2])
    if found := re.fullmatch(r"(?:a )?(half|quarter|.+) (past|to) (\w+)", text):
        minute = {"half": 30, "quarter": 15}.get(found[1]) or int(number(found[1]))
        return int(number(found[3])), minute if found[2] == "past" else -minute
    text = text.removesuffix(" o'clock")
    if text.isdigit():
        return int(text), 0
    hour, *minutes = text.split()
    minutes = [word for word in minutes if word != "oh"]
    return ONES[hour], int(number(" ".join(minutes))) if minutes else 0
