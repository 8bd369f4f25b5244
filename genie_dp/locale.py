"""Settings of the language and the country of the speakers: `Locale` and `Words`.

All words that stages know by themselves lie in `locales/LANGUAGE.txt`: fillers for noise, everyday
sentences to refuse, function words, months. No other module names a language of people.
docs/locales.md describes how to add one.
"""

import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.resources import data_folder
from genie_dp.texts import read_text

# The one language of which genie_dp has a grammar: articles, plurals, which words are verbs.
DEFAULT = "en"
# The file of what no language has words of its own for, named as CLDR names its root.
NEUTRAL = "und"
ENDING = ".txt"  # of files of words
_NEGATIONS = "negations.tsv"  # beside them: language, and its negations
# Sections of symbols, which are no words of a language.
_OF_SYMBOLS = (
    "around_values", "signs", "minus", "percent", "units", "currencies", "range_links",
)  # fmt: skip
_WORDS_BEGUN = """\
# Words of the sentences' language; docs/locales.md in the package has all sections, such as
# function words, requests, everyday, units, times.

[locale]
language = {language}

# What has one of these is refused, unless templates say it.
[negations]
{negations}
"""
PARTS_OF_DAY = ("morning", "noon", "afternoon", "evening", "night")


# ------------------------------------------------------------------------------------- the words


def _section(kind: str) -> Any:
    """Return the field of a section; `kind` is the format of its lines."""
    empty: Mapping[str, Callable[[], object]] = {"words": frozenset, "entries": dict}
    return field(default_factory=empty.get(kind, tuple), metadata={"kind": kind})


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of one language that stages know by themselves: the sections of its file.

    Attributes:
        language: two letters, or the path of a file of somebody's own.
        has_grammar: whether genie_dp has a grammar of the language, for "a" and "an", plurals and
            verbs; of other languages commands are recognized by the list of verbs alone.
        locale: the defaults of a `Locale` of the language; `language` is that in which
            numbers are spelled.
        function_words: words without content of their own.
        negations: words, and phrases, that deny or leave out; those with an apostrophe at their end
            stand before a vowel. Sentences with one are refused unless rows have it.
        not_negating: phrases with a word of these that deny nothing.
        articles: may be left out, save before `after_counted` and after `before_counted`.
        prepositions: begin a phrase that ends in a value.
        verbs: begin a command, function words among them.
        around_values: stand around values of any sort.
        name_starts: a name may begin with these although they are function words or negations.
        linking: letters between the parts of a word that is made of two.
        elided: lose their end before a vowel, and stand before a name with an apostrophe alone.
        greetings: before any sentence.
        requests: before a command; none before one that begins with `polite_starts`.
        joining: between two commands of one sentence.
        here: at the end of a command, the place of the speaker, which is also the default place.
        both: before a noun, of which two things of the caller are meant.
        all_of: before one of which all things are meant, as far as `but` leaves none out.
        but: between that noun and the name of the exception.
        asking_now: ask for the present state, "tell me if i have", where others would wait for it.
        wishes: before a command in another form, "i want to turn it on"; never added to one.
        polite_starts: polite beginnings of a command.
        endings: after any sentence.
        pleases: the endings with please; their first word is looked for.
        thanks: words of thanks; the last one may stand beside a please.
        after_questions: endings that follow the sign of a question.
        command_endings: after a command, unless `polite` words are there.
        at_once: after a command, unless `later` words give a time.
        later: words for a later or repeated command.
        polite: the politeness that `command_endings` would repeat.
        hesitations: where people stop to think.
        pauses: words before which they do.
        before_counted, after_counted: words beside an article that is part of an amount.
        keys: key -> the keys beside it.
        commands: wording of a command, `{}` for it.
        not_given: sentences with a command, `{}`, that do not give it.
        before_skills: between a command and the skill that is to do it.
        everyday: sentences that no skill is meant by; (a|b) is one of the two.
        contractions: words -> long form.
        comparisons: sign -> phrases before a value for it, each with those of its opposite;
            before some is the value, `{}`.
        marks: an effect of a program, one of `languages.base.MARKS` -> phrases that ask for it.
        opposites: signs of programs -> pairs of words for the sign and its opposite.
        yes, no: answers to a question.
        take_back: answers that take the question back.
        answer_starts: stand before the name that answers a question.
        places: words -> the place that they are: home, work or current_location.
        signs: `decimal` and `thousands`, the signs in numbers of digits.
        minus: before a number less than zero.
        percent: words after a number; the first stands after its placeholder.
        numbers: words -> number, beside those that the rules of the language spell.
        decimal_words: how the decimal sign is pronounced: "komma".
        scales: words -> factor of the number before them.
        fractions: words -> fraction, of a unit or after a whole number.
        number_endings: how numbers in words end that add a fraction: "dreieinhalb".
        ordinal_endings: after digits of an ordinal number: the "e" of "2e".
        units: unit -> its words; the first is that of several, the second that of one.
        unit_signs: unit -> sign right after digits.
        unit_spellings: unit -> words and signs that are understood and never written.
        amounts: words -> an amount, such as 30 min.
        unit_endings: make another word of that of a unit: the "tje" of "uurtje".
        before_units: may stand between a number and its unit: the "de" of "dos millones de euros".
        below_zero: after a temperature that is less than zero.
        currencies: code -> words, as of units.
        currency_signs, currency_spellings: as of units; signs stand before digits.
        cents: code -> words of its hundredths.
        between_amounts: joins the parts of an amount.
        range_starts: before the first of two ends: "from", "between".
        range_links: between two ends.
        differences: words of sentences in which a number after a preposition of time is an amount:
            "lauter" in "um 5 lauter".
        before_times: words before a time, but no duration: "at 2 hours".
        times: H and M with words -> a time, such as H-1:30. `<um ab> H` is an H after one of these
            words, which are not of the value; (a|b) is one of the two.
        parts_of_day: words -> morning, noon, afternoon, evening or night.
        every: before a day that comes again and again, which is no date: "jeden montag".
        days: words -> how many days it is from today, and the part of the day.
        months, weekdays: the names of each, from january and monday on.
        dates: D, MONTH, YEAR, WEEKDAY and N with words, as in `times` -> unit of N, in days or
            units of the calendar; or a day and a month. Of a unit without N it is all of it.
        since: before a span of time of which the first day alone counts: "seit letzter woche".
    """

    language: str
    has_grammar: bool = False
    locale: Mapping[str, str] = _section("entries")
    function_words: frozenset[str] = _section("words")
    negations: tuple[str, ...] = _section("phrases")
    not_negating: tuple[str, ...] = _section("phrases")
    articles: frozenset[str] = _section("words")
    prepositions: frozenset[str] = _section("words")
    verbs: frozenset[str] = _section("words")
    around_values: frozenset[str] = _section("words")
    name_starts: frozenset[str] = _section("words")
    linking: frozenset[str] = _section("words")
    elided: frozenset[str] = _section("words")
    greetings: tuple[str, ...] = _section("phrases")
    requests: tuple[str, ...] = _section("phrases")
    joining: tuple[str, ...] = _section("phrases")
    here: tuple[str, ...] = _section("phrases")
    both: tuple[str, ...] = _section("phrases")
    all_of: tuple[str, ...] = _section("phrases")
    but: tuple[str, ...] = _section("phrases")
    asking_now: tuple[str, ...] = _section("phrases")
    wishes: tuple[str, ...] = _section("phrases")
    polite_starts: tuple[str, ...] = _section("phrases")
    endings: tuple[str, ...] = _section("phrases")
    pleases: tuple[str, ...] = _section("phrases")
    thanks: tuple[str, ...] = _section("phrases")
    after_questions: tuple[str, ...] = _section("phrases")
    command_endings: tuple[str, ...] = _section("phrases")
    at_once: tuple[str, ...] = _section("phrases")
    later: frozenset[str] = _section("words")
    polite: frozenset[str] = _section("words")
    hesitations: tuple[str, ...] = _section("phrases")
    pauses: frozenset[str] = _section("words")
    before_counted: frozenset[str] = _section("words")
    after_counted: frozenset[str] = _section("words")
    keys: Mapping[str, str] = _section("entries")
    commands: tuple[str, ...] = _section("lines")
    not_given: tuple[str, ...] = _section("lines")
    before_skills: frozenset[str] = _section("words")
    everyday: tuple[str, ...] = _section("lines")
    contractions: Mapping[str, str] = _section("entries")
    comparisons: Mapping[str, str] = _section("entries")
    marks: Mapping[str, str] = _section("entries")
    opposites: Mapping[str, str] = _section("entries")
    yes: tuple[str, ...] = _section("phrases")
    no: tuple[str, ...] = _section("phrases")
    take_back: tuple[str, ...] = _section("phrases")
    answer_starts: frozenset[str] = _section("words")
    places: Mapping[str, str] = _section("entries")
    signs: Mapping[str, str] = _section("entries")
    minus: frozenset[str] = _section("words")
    percent: tuple[str, ...] = _section("phrases")
    numbers: Mapping[str, str] = _section("entries")
    decimal_words: frozenset[str] = _section("words")
    scales: Mapping[str, str] = _section("entries")
    fractions: Mapping[str, str] = _section("entries")
    number_endings: Mapping[str, str] = _section("entries")
    ordinal_endings: frozenset[str] = _section("words")
    units: Mapping[str, str] = _section("entries")
    unit_signs: Mapping[str, str] = _section("entries")
    unit_spellings: Mapping[str, str] = _section("entries")
    unit_endings: frozenset[str] = _section("words")
    amounts: Mapping[str, str] = _section("entries")
    before_units: frozenset[str] = _section("words")
    below_zero: tuple[str, ...] = _section("phrases")
    currencies: Mapping[str, str] = _section("entries")
    currency_signs: Mapping[str, str] = _section("entries")
    currency_spellings: Mapping[str, str] = _section("entries")
    cents: Mapping[str, str] = _section("entries")
    between_amounts: frozenset[str] = _section("words")
    range_starts: frozenset[str] = _section("words")
    range_links: frozenset[str] = _section("words")
    differences: frozenset[str] = _section("words")
    before_times: frozenset[str] = _section("words")
    times: Mapping[str, str] = _section("entries")
    parts_of_day: Mapping[str, str] = _section("entries")
    every: frozenset[str] = _section("words")
    days: Mapping[str, str] = _section("entries")
    months: tuple[str, ...] = _section("lines")
    weekdays: tuple[str, ...] = _section("lines")
    dates: Mapping[str, str] = _section("entries")
    since: frozenset[str] = _section("words")

    @property
    def number_language(self) -> str:
        """Return the language in which numbers are spelled."""
        return self.locale.get("language", self.language)


_ISO_639_1 = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da
    de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz
    ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln
    lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi
    pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti
    tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
_KINDS = {
    one.name.replace("_", " "): str(one.metadata["kind"])
    for one in fields(Words)
    if "kind" in one.metadata
}
# Section -> what each of its values, or lines, has to be, and that in words.
_SHAPES = {
    "keys": (r".+ = .+", "KEY = KEYS"),
    "contractions": (r".+ = .+", "WORDS = WORDS IN FULL"),
    "commands": (r".*\{\}.*", "{} for the command"),
    "not given": (r".*\{\}.*", "{} for the command"),
    "opposites": (
        r"[a-z]+ = \S+ \S+(?: *, *\S+ \S+)*",
        "SIGN = WORD OPPOSITE, WORD OPPOSITE .., and > and >= in [comparisons]",
    ),
    "comparisons": (
        r"(?:>|>=|after) = [^/,]*/[^/,]*(?:,[^/,]*/[^/,]*)*",
        "> or >= or after = PHRASE / OPPOSITE, PHRASE / OPPOSITE ..",
    ),
    "marks": (
        r"(?:alert|repeat|count|rank|refer|show) = \S.*",
        "alert, repeat, count, rank, refer or show = PHRASE, PHRASE ..",
    ),
    "places": (r".+ = (?:home|work|current_location)", "home, work or current_location"),
    "signs": (r"(?:decimal|thousands) = [.,]", "decimal or thousands = . or ,"),
    **dict.fromkeys(
        ("numbers", "scales", "fractions", "number endings"),
        (r".+ = -?\d+(?:\.\d+)?", "a number such as 1.5"),
    ),
    "amounts": (r".+ = \d+(?:\.\d+)? \w+", "a number and a unit, such as 30 min"),
    "times": (r".+ = (?:H(?:[+-]\d\d?)?|\d\d?):(?:M|\d\d|\d\d[+-]M)", "a time such as H-1:30"),
    "parts of day": (rf".+ = (?:{'|'.join(PARTS_OF_DAY)})", " or ".join(PARTS_OF_DAY)),
    "days": (
        rf".+ = -?\d+(?: (?:{'|'.join(PARTS_OF_DAY)}))?",
        "a number of days, and a part of the day or none",
    ),
    "dates": (
        r".+ = (?:-?\d+(?: (?:week|weekend|mon|year))?|\d\d?\.\d\d?)",
        "a number of days, such as 7, of a unit, such as 1 mon, or a day such as 24.12",
    ),
}
# What [locale] may say.
_HOUR = (r"[1-9]|1\d|2[0-3]", "an hour from 1 to 23")
_USUAL = {
    "region": ("[A-Z]{2}", "two capital letters, such as GB"),
    "currency": ("[a-z]{3}", "the code of a currency in lower case, such as gbp"),
    "temperature": ("[CF]", "C or F"),
    "day_first": ("true|false", "true or false"),
    "language": ("[a-z]{2,3}", "the letters of a language, such as de"),
    **dict.fromkeys(("morning", "afternoon", "evening", "night"), _HOUR),
}
# A section has as many lines, if it has any.
_LINES = {"months": 12, "weekdays": 7}
_HEADING = re.compile(r"\[([^\[\]]*)\]")
_CHOICE = re.compile(r"\(([^()]*)\)")


def sentences_of(pattern: str) -> Iterator[str]:
    """Yield the sentences of a pattern.

    >>> list(sentences_of("(hi|hello) you (there|)"))
    ['hi you there', 'hi you', 'hello you there', 'hello you']
    """
    parts = [part.split("|") if i % 2 else [part] for i, part in enumerate(_CHOICE.split(pattern))]
    return (" ".join("".join(choice).split()) for choice in product(*parts))


def phrases_by_name(lines: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the words of lines NAME = WORDS by name; "_" joins those of a phrase.

    >>> phrases_by_name({"kmph": "km/h kilometers_per_hour"})
    {'kmph': ('km/h', 'kilometers per hour')}
    """
    return {
        name: tuple(word.replace("_", " ") for word in words.split())
        for name, words in lines.items()
    }


class _WordFileReader:
    """Reads the lines of a file of words and gathers all that is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.read: dict[str, dict[str, str]] = {}
        self.places: dict[tuple[str, str], tuple[int, str]] = {}

    def tell(self, message: str, line: int, text: str, hint: str) -> None:
        span = Span(self.file, line, 1, line, 1 + max(1, len(text)))
        self.problems.append(Problem("R060", message, span, hint, stage="syntax"))

    def read_lines(self, text: str) -> None:
        section: dict[str, str] | None = {}
        kind = ""
        for number, line in enumerate(text.split("\n"), start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            heading = _HEADING.fullmatch(line)
            if heading is not None:
                section, kind = self._begin(heading[1].strip(), number, line)
            elif not kind and section is not None:
                self.tell("expected a section", number, line, "such as [function words]")
            elif section is not None:
                self._add(section, kind, line, number)

    def _begin(self, name: str, number: int, line: str) -> tuple[dict[str, str] | None, str]:
        if name not in _KINDS:
            hint = did_you_mean(name, _KINDS) or f"sections: {', '.join(_KINDS)}"
            self.tell(f"unknown section {name!r}", number, line, hint)
            return None, ""
        if name in self.read:
            self.tell(f"section {name!r} comes twice", number, line, "put both together")
            return None, ""
        self.read[name] = {}
        self.places[name, ""] = number, line
        return self.read[name], _KINDS[name]

    def _add(self, section: dict[str, str], kind: str, line: str, number: int) -> None:
        items = {"words": line.split(), "phrases": [x.strip() for x in line.split(",")]}
        for item in items.get(kind, [line]):
            name, equals, value = item.partition(" = ") if kind == "entries" else (item, "", "")
            if kind == "entries" and not equals:
                self.tell(f"expected NAME = VALUE, got {item!r}", number, line, "spaces around =")
            elif name in section:
                self.tell(f"{name!r} comes twice in the section", number, line, "leave one out")
            elif name != name.lower() and not (kind == "entries" and _is_pattern(name)):
                self.tell(f"{name!r} has capitals", number, line, "sentences are in lower case")
            elif name:
                section[name.strip()] = value.strip()
                self.places[next(reversed(self.read)), name] = number, line
                self._check_shape(item, number, line)

    def _check_shape(self, item: str, number: int, line: str) -> None:
        """Report a line that its section cannot use."""
        name = next(reversed(self.read))
        pattern, expected = _SHAPES.get(name, ("", ""))
        if name == "locale":
            setting, _, item = map(str.strip, item.partition(" = "))
            if setting not in _USUAL:
                hint = did_you_mean(setting, _USUAL) or f"settings: {', '.join(_USUAL)}"
                self.tell(f"unknown setting {setting!r}", number, line, hint)
                return
            pattern, expected = _USUAL[setting]
        if pattern and not re.fullmatch(pattern, item.strip()):
            hint = "docs/locales.md has all sections"
            self.tell(f"expected {expected}, got {item!r}", number, line, hint)

    def check_negations(self) -> None:
        """Report a file without negations, and of those that are words without content."""
        negations = self.read.get("negations", {})
        if not negations:
            hint = (
                "commands that are not given would be carried out: [negations], below it no, never"
            )
            place = self.places.get(("negations", ""), (1, ""))
            self.tell("expected a section of negations, got none", *place, hint)
        for section in ("function words", "articles", "hesitations"):
            for word in self.read.get(section, {}).keys() & negations.keys():
                message = f"{word!r} is one of the negations: it is none of the {section}"
                self.tell(message, *self.places[section, word], "leave it out here")

    def check_lines(self) -> None:
        """Report sections with too few or too many lines."""
        for name, count in _LINES.items():
            size = len(self.read.get(name, ()))
            if size not in (0, count):
                self.tell(f"expected {count} lines of {name}, got {size}", 1, "", "one for each")


def _is_pattern(name: str) -> bool:
    """Return whether a name has capitals as patterns of times and dates and names of units have."""
    places = ("H", "M", "N", "D", "MONTH", "YEAR", "WEEKDAY")
    words = re.split(r"[ ()|<>]+", name)
    return " " not in name or all(word in places or word == word.lower() for word in words)


def read_words(file: Path | str, *, language: str) -> Words:
    """Return the words of a file.

    Raises:
        GenieError: R060, all that is wrong with it, by line.
        OSError: it cannot be read.
    """
    text = read_text(file, code="R060")
    reader = _WordFileReader(str(file))
    reader.read_lines(text)
    reader.check_lines()
    if Path(file).stem != NEUTRAL:
        reader.check_negations()
    if reader.problems:
        raise GenieError(reader.problems, sources={str(file): text})
    sections: dict[str, Any] = {}
    for section_field in fields(Words):
        section = reader.read.get(section_field.name.replace("_", " "))
        if section is not None:
            kind = section_field.metadata["kind"]
            shape: Any = {"words": frozenset, "entries": dict}.get(kind, tuple)
            sections[section_field.name] = shape(section)
    return Words(language, language == DEFAULT, **sections)


def languages() -> tuple[str, ...]:
    """Return the languages whose words are shipped.

    >>> languages()
    ('de', 'en', 'es', 'fr', 'nl')
    """
    files = data_folder("locales").glob(f"*{ENDING}")
    return tuple(sorted(path.stem for path in files if path.stem != NEUTRAL))


def is_language(name: str) -> bool:
    """Return whether a name is a language of ISO 639-1, with words of its own here or without.

    >>> is_language("it"), is_language("ed")
    (True, False)
    """
    return name in _ISO_639_1.split()


@lru_cache(maxsize=16)
def words_of(language: str = DEFAULT) -> Words:
    """Return the words of a language: one that is shipped, or a file of somebody's own.

    A language without a file has its negations, signs, symbols of units and dates in digits, and no
    other words. Sections that a file of somebody's own leaves out are those of such a language.

    Raises:
        GenieError: N002, no such language, or none whose negations are known; R060, a file with
            mistakes.
    """
    if language in languages():
        return read_words(data_folder("locales") / f"{language}{ENDING}", language=language)
    neutral = read_words(data_folder("locales") / f"{NEUTRAL}{ENDING}", language=language)
    if language.endswith(ENDING):
        try:
            own = read_words(language, language=language)
        except OSError as error:
            raise GenieError(_no_language(language, str(error.strerror or error))) from None
        missing = [name for name in _OF_SYMBOLS if not getattr(own, name)]
        return replace(own, **{name: getattr(neutral, name) for name in missing})
    if not is_language(language):
        raise GenieError(_no_language(language))
    if not has_negations(language):
        raise GenieError(_no_language(language, "whose negations are not known here"))
    return replace(neutral, negations=tuple(_known_negations()[language].split(", ")))


@lru_cache(maxsize=1)
def _known_negations() -> Mapping[str, str]:
    """Return language -> its negations, of languages whose other words are not shipped."""
    lines = read_text(data_folder("locales") / _NEGATIONS).splitlines()
    return dict(line.split("\t") for line in lines if not line.startswith("#"))


def has_negations(language: str) -> bool:
    """Return whether the negations of a language are shipped."""
    return language in languages() or language in _known_negations()


def begin_words(language: str) -> str:
    """Return a file of words for a language whose words are not shipped, with its negations alone.

    >>> print(begin_words("it").splitlines()[-1][:15])
    non, mai, nessu
    """
    negations = _known_negations().get(language, "")
    return _WORDS_BEGUN.format(language=language, negations=negations)


def _no_language(language: str, why: str = "") -> Problem:
    available = ", ".join(languages())
    own = f"a file of your own, such as words/{language or 'it'}{ENDING}: docs/locales.md"
    hint = f"{did_you_mean(language, languages()) or 'languages: ' + available}; or name {own}"
    got = f"got {language!r}{': ' + why if why else ''}"
    message = f"locale: language: expected one of {available}, {got}"
    return Problem("N002", message, hint=hint, setting=("locale", "language"))


# ------------------------------------------------------------------------------------ the locale


@dataclass(frozen=True, slots=True)
class Locale:
    """The implicit context of a text, known to everybody around the person.

    Attributes:
        region: two letters, for phone numbers without the code of a country.
        currency: of "$" alone, a code in lower case.
        temperature: "C" or "F", the unit of "20 degrees".
        day_first: whether 3/4 is the third of April.
        morning, afternoon, evening, night: the hours of "in the morning" and so on.
        language: two letters, or a file of words.
    """

    region: str = "US"
    currency: str = "usd"
    temperature: str = "F"
    day_first: bool = False
    morning: int = 9
    afternoon: int = 15
    evening: int = 19
    night: int = 21
    language: str = DEFAULT

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: N002, all that no text can be read with; R060, a file of words with
                mistakes.
        """
        wrong = [
            Problem(
                "N002", f"locale: {name}: expected {expected}, got {getattr(self, name)!r}",
                setting=("locale", name),
            )
            for name, (pattern, expected) in _USUAL.items()
            if name not in ("day_first", "language")
            if not re.fullmatch(pattern, str(getattr(self, name)))
        ]  # fmt: skip
        if wrong:
            raise GenieError(wrong)
        if self.language != DEFAULT:
            words_of(self.language)

    def hour_of(self, part: str) -> int:
        """Return the hour that stands for a part of the day, or for "tonight"."""
        hours = {"noon": 12, "tonight": self.night - 1}
        hour: int = hours[part] if part in hours else getattr(self, part)
        return hour

    @property
    def is_own(self) -> bool:
        """Return whether the language is a file of words of somebody's own."""
        return self.language.endswith(ENDING)

    @property
    def words(self) -> Words:
        """Return the words of the language."""
        return words_of(self.language)


LOCALE = Locale()


def locale_from(settings: Mapping[str, Any] | str) -> Locale:
    """Return a locale: a language, or some of its fields; others are usual for the language.

    Raises:
        GenieError: N002 or R060, as of `Locale`.

    >>> locale_from("de").currency, locale_from({"language": "de", "currency": "chf"}).currency
    ('eur', 'chf')
    """
    fields_given = {"language": settings} if isinstance(settings, str) else dict(settings)
    usual = words_of(str(fields_given.get("language", DEFAULT))).locale
    kinds = typing.get_type_hints(Locale)
    read: dict[str, Any] = {
        name: int(value)
        if kinds.get(name) is int
        else value == "true"
        if name == "day_first"
        else value
        for name, value in usual.items()
        if name != "language"
    }
    return Locale(**{**read, **fields_given})
