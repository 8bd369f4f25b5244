"""Schema2QA: questions over a schema, with no human data and with the crowd's paraphrases.

    python benchmarks/schema2qa.py ../shared/data --seeds 3
    python benchmarks/schema2qa.py ../shared/data --only music --held
    python benchmarks/schema2qa.py ../shared/data --smoke

The folder has the data sets `schema2qa`, and `gazettes` and `snips` for lists of values. Of each
domain a skill is made of its schema, sentences are synthesized by the templates of
benchmarks/schema2qa_grammar/, rewritten, and get values. A parser is trained on them (a), and on
them and the paraphrases of the crowd (b). Tested is exact match on all questions of people; one
that cannot be said in our language, or is refused, is wrong. With --held no file of them is opened:
parsers are tested on paraphrases of the crowd. docs/research/experiments.md has the figures.
"""

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import convert_shared
from measure import ROOT
from parser_public import Maker, lines_of, part_of
from parser_runs import Results, Trial, Work, options_of, told

from genie_dp.augment.values import shipped_list
from genie_dp.dataset.scan import hash_of
from genie_dp.english import forms as english
from genie_dp.importers.data_types import identifier_of
from genie_dp.languages import get_language
from genie_dp.records import Example
from genie_dp.rows import read_rows
from genie_dp.skills.data_tables import word_set
from genie_dp.skills.load import load_library
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import tokenize

GRAMMAR = ROOT / "benchmarks" / "schema2qa_grammar"
# What people ask for; the other classes of a schema are those that these extend or point to.
TABLES: Mapping[str, tuple[str, ...]] = {
    "restaurants": ("Restaurant", "Review"),
    "people": ("Person",),
    "music": ("MusicRecording", "MusicAlbum"),
}
WEIGHTS = {"Review": 0.25, "MusicAlbum": 0.5}  # how often they are asked for beside the others
# Questions for places and for numbers of values, where a domain has hardly any.
SUBSETS = {"people": "placeless", "music": "plain"}
SYNTHESIS = ("--max-depth", 6, "--depth-decay", 0.75, "--balance", 0.1)
FIELDS = 8  # weight of all templates that ask for one field; the shared ones have about 100
MOST = 1_000  # wrong rows whose ranks are kept
HELD = 400  # paraphrases to test on
QUESTIONS, PARAPHRASES = "questions", "paraphrases"
LITTLE_NOISE = (
    "--filler", 0.1, "--drop-article", 0.05, "--typo", 0.01, "--number-words", 0.1,
    "--quoted", 0.02,
)  # fmt: skip
ONCE = (
    "--paraphrase-with-text", 1, "--paraphrase-other", 1, "--no-noise", "--quoted", 0,
    "--reword", 0, "--written", 1,
)  # fmt: skip

# --------------------------------------------------------------------------- skills of schemas


Files = dict[str, str]


def skill_files(told_class: Mapping[str, Any], tables: Sequence[str]) -> Files:
    """Return the skill of a schema: its class with our phrases, and templates of its tables."""
    name = told_class["class"].removeprefix("@")
    return {
        f"{name}/skill.tt": class_text(told_class),
        f"{name}/templates.genie": nouns_text(told_class, tables),
    }


def class_text(told_class: Mapping[str, Any]) -> str:
    """Return the declaration of a class, with phrases."""
    lines = [f"class {told_class['class']} {{"]
    lines += [f"  entity {entity['name']};" for entity in told_class["entities"]]
    for function in told_class["functions"]:
        parents = f" extends {', '.join(function['extends'])}" if function.get("extends") else ""
        params = [text for param in function["params"] for text in param_texts(param)]
        nouns = quoted(nouns_of(function))
        lines.append(f"  list query {function['name']}{parents}(\n    " + ",\n    ".join(params))
        lines.append(f"  ) #_[canonical=[{nouns}]];")
    return "\n".join([*lines, "}", ""])


def param_texts(param: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Yield an output as it is declared; of a compound each field, such as `address.city`."""
    name = before + param["name"]
    if param.get("fields"):
        for part in param["fields"]:
            yield from param_texts(part, f"{name}.")
        return
    # Hours are a list of dates here: our language has no recurring times.
    kind = param["type"].replace("RecurrentTimeSpecification", "Array(Date)")
    text = f"out {name} : {kind}"
    if param["name"] == "id":
        text += " #[unique=true]"
    if kind.startswith("Enum") or convert_shared.known(kind):
        said = phrases_of(param, kind)
        parts = ", ".join(f"{part}=[{quoted(phrases)}]" for part, phrases in said.items())
        yield f"{text} #_[canonical={{{parts}}}]"


def quoted(texts: Iterable[str]) -> str:
    """Return texts as a list is written."""
    return ", ".join(json.dumps(text) for text in texts)


def nouns_of(function: Mapping[str, Any]) -> list[str]:
    """Return what one row is called."""
    told_nouns = function["nl"]["canonical"]
    nouns = [told_nouns] if isinstance(told_nouns, str) else told_nouns
    heads = [noun.split()[-1] for noun in nouns]  # recordings, of music
    return list(dict.fromkeys([*nouns, *heads]))


Phrases = dict[str, list[str]]
_PLACES = ("by", "in", "on", "from", "for", "at")
_UNASKED = ("Boolean", "Date", "Location", "Entity(tt:url)", "Entity(tt:picture)")


def phrases_of(param: Mapping[str, Any], kind: str) -> Phrases:
    """Return our phrases for those of a schema, and what follows from them.

    Conditions on lists are said of one element; verbs agree; a preposition stands where a passive
    verb does; numbers and names of which nothing else is said have a property.
    """
    told = {part: texts for part, texts in param["nl"]["canonical"].items() if part != "default"}
    phrases: Phrases = {}

    def add(part: str, texts: Iterable[str]) -> None:
        known = phrases.setdefault(part, [])
        known += [text for text in texts if text not in known]

    is_list = kind.startswith("Array")
    if kind == "Array(Date)" or (is_list and not told.keys() - {"base"}):  # asked for, no more
        names = list(told.get("base", ())) or [spelled(param["name"])]
        return {"base": names}
    names = [*told.get("base", ()), *told.get("base_projection", ())]
    names = list(dict.fromkeys(english.singular(each) if is_list else each for each in names))
    names = names or [spelled(param["name"])]
    names += ["city"] if kind == "Location" else []
    add("base", names)
    add("plural", map(english.plural, names))
    for part, ours in (
        ("preposition", "passive_verb"), ("passive_verb", "passive_verb"),
        ("property", "property"), ("adjective", "adjective"), ("reverse_property", "noun"),
        ("adjective_argmax", "most"), ("adjective_argmin", "least"),
    ):  # fmt: skip
        add(ours, (placed(text) for text in told.get(part, ())) if ours not in ("most", "least")
            else told.get(part, ()))  # fmt: skip
    for text in (*told.get("preposition", ()), *told.get("passive_verb", ())):
        place = placed(text).removesuffix(" #").split()[-1]  # "sung by #": by the band #
        if place in _PLACES and kind != "Date":
            add("passive_verb", (f"{place} {form}" for each in names[:2] for form in (
                f"the {each} #", f"the # {each}", f"{each} #")))  # fmt: skip
    add("verb", (agreeing(placed(text)) for text in told.get("verb", ())))
    for text in told.get("verb_projection", ()):
        add("verb", [agreeing(f"{text.replace('| ', '')} #")] if told.get("verb") else ())
    for truth in ("true", "false"):
        add(f"predicate_{truth}", (agreeing(text) for text in told.get(f"verb_{truth}", ())))
        add(f"predicate_{truth}",
            (f"{{has/have}} {text}" for text in told.get(f"property_{truth}", ())))  # fmt: skip
    if param["name"] == "id":
        add("passive_verb", ["titled #", "by the name #", "with the name #"])
    filterable = param.get("impl", {}).get("filterable", True)
    if kind == "Number" or kind.startswith("Measure"):
        _add_amount(add, param, kind, names)
    elif filterable and kind not in _UNASKED and param["name"] != "id":
        add("property", [form for each in names[:3] for form in (f"{each} #", f"# {each}")])
    if not filterable:
        phrases = {part: phrases[part] for part in ("base", "plural")}
    return {part: texts for part, texts in phrases.items() if texts}


def spelled(name: str) -> str:
    """Return a name of a schema in words.

    >>> spelled("openingHours")
    'opening hours'
    """
    return identifier_of(name).replace("_", " ")


def _add_amount(add: Any, param: Mapping[str, Any], kind: str, names: Sequence[str]) -> None:
    counted = param["nl"].get("counted_object", ())
    for thing in counted:
        add("property", [f"# {thing}"])
        add("more", [f"with more than # {thing}"])
        add("less", [f"with fewer than # {thing}"])
    told = param["nl"]["canonical"]
    add("property", [] if counted else [f"{names[0]} of #", f"{names[0]} #"])
    if kind == "Measure(ms)":
        add("verb", ["{lasts/last} #", "{runs/run} for #"])
        add("property", ["runtime of #", "length of #"])
        add("more", ["lasting more than #", "over #", "at least # long"])
        add("less", ["lasting less than #", "under #", "at most # long"])
    for text in told.get("passive_verb", ()):
        verb, _, rest = text.partition(" ")
        for words in ("more than", "at least", "higher than", "over"):
            add("more", [f"{verb} {words} {rest}"])
        for words in ("less than", "at most", "lower than", "under"):
            add("less", [f"{verb} {words} {rest}"])
    for part, ours in (("adjective_argmax", "more"), ("adjective_argmin", "less")):
        for text in told.get(part, ()):
            if text.endswith("est") and text not in ("best", "latest"):
                add(ours, [f"{text[:-2]}r than #"])


def placed(text: str) -> str:
    """Return a phrase with the place of its value, and without a gap for nothing.

    >>> placed("created by"), placed("# 's"), placed("rated # star")
    ('created by #', "# 's", 'rated # star')
    """
    return text if "#" in text.split() else f"{text} #"


def agreeing(text: str) -> str:
    """Return a verb phrase with both forms of its verb, but for the past and "that # sings".

    >>> agreeing("works for #"), agreeing("offer # food"), agreeing("went to #"), agreeing("# sang")
    ('{works/work} for #', '{offers/offer} # food', 'went to #', '# sang')
    """
    verb, _, rest = text.partition(" ")
    if verb == "has":
        return f"{{has/have}} {rest}"
    stem = english.singular(verb)
    if verb != stem and english.third_person(stem) == verb:
        return f"{{{verb}/{stem}}} {rest}"
    is_past = verb.endswith("ed") or verb in ("went", "won", "sang", "wrote", "held")
    return text if is_past or verb == "#" else f"{{{english.third_person(verb)}/{verb}}} {rest}"


def nouns_text(told_class: Mapping[str, Any], tables: Sequence[str]) -> str:
    """Return templates with the nouns of tables."""
    lines = [f"for {told_class['class']};"]
    for function in told_class["functions"]:
        name = function["name"]
        if name in tables:
            one = dict.fromkeys(nouns_of(function))
            several = dict.fromkeys(map(english.plural, one))
            lines.append(f"NP[det=none, num=sg] := {choice(one)} -> {name}();")
            lines.append(f"NP[det=none, num=pl] := {choice(several)} -> {name}();")
            lines.append(f"BARE[det=none, num=pl] := '' -> {name}();")
            if name == "Person":
                who = ("who", "people who", "those who", "who are the people who", "anyone who")
                lines.append(f"WHO[det=none, num=sg] := {choice(who)} -> {name}();")
    return "\n".join([*lines, ""])


def choice(words: Iterable[str]) -> str:
    """Return words of which one is said, as templates write them."""
    return "(" + " | ".join("'" + text.replace("'", "\\'") + "'" for text in words) + ")"


# --------------------------------------------------------------------------- questions of fields


def grammar_files(told_class: Mapping[str, Any], tables: Sequence[str]) -> Files:
    """Return the grammar of a domain: the shared templates, and those that ask for its fields."""
    functions = {function["name"]: function for function in told_class["functions"]}
    lines = ['import "questions.genie";', ""]
    lines += ["that := 'who' | 'who';", ""] * (tables == ("Person",))
    fields: list[str] = []
    for name in tables:
        for place, param in with_parents(functions, name).items():
            if "fields" not in param:
                guard = f"q.function == '{told_class['class']}.{name}'"
                fields += field_questions(param, place, guard)
    lines += [
        f"COMMAND := show ('the')? r:Q ('of' | 'for' | 'from' | 'in' | 'about') ('the')? q:Q "
        f"-> now => q join r => notify if q.function == '{told_class['class']}.{name}' and "
        f"r.function == '{told_class['class']}.{other}' #[id=\"joined.{name}.{place}\", weight=2];"
        for name, place, other in joined_tables(functions, told_class["class"], tables)
    ]
    lines += [line.replace("WEIGHT", f"{FIELDS / len(fields):.3g}") for line in fields]
    shared = {file.name: file.read_text(encoding="utf-8") for file in GRAMMAR.glob("*.genie")}
    return {**shared, "main.genie": "\n".join([*lines, ""])}


def joined_tables(
    functions: Mapping[str, Mapping[str, Any]], class_name: str, tables: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each table with an output that lists rows of another one: (table, output, other)."""
    for name in tables:
        for place, param in with_parents(functions, name).items():
            for other in tables:
                if param["type"] == f"Array(Entity({class_name.removeprefix('@')}:{other}))":
                    yield name, place, other


def with_parents(
    functions: Mapping[str, Mapping[str, Any]], name: str
) -> dict[str, Mapping[str, Any]]:
    """Return the outputs of a query, those of what it extends as well."""
    found: dict[str, Mapping[str, Any]] = {}
    for parent in functions[name].get("extends", ()):
        found |= with_parents(functions, parent)
    for param in functions[name]["params"]:
        if param.get("fields"):
            found |= {f"{param['name']}.{part['name']}": part for part in param["fields"]}
        else:
            found[param["name"]] = param
    return found


def field_questions(param: Mapping[str, Any], name: str, guard: str) -> Iterator[str]:
    """Yield templates for what a schema says of questions: "which college did .. graduate from"."""
    told = param["nl"]["canonical"]
    nouns = told.get("base_projection") or told.get("base") or [param["name"]]
    which = choice(each for noun in nouns for each in (f"which {noun}", f"what {noun}"))
    verbs = {
        "verb_projection": "('did' | 'do' | 'does') ('the')? q:Q {verb} {rest}",
        "passive_verb_projection": "('was' | 'were' | 'is' | 'are') ('the')? q:Q {verb} {rest}",
        "preposition_projection": "('is' | 'are' | 'was') ('the')? q:Q {verb}",
        "reverse_verb_projection": "{verb} ('the')? q:Q",
    }
    for part, frame in verbs.items():
        for text in told.get(part, ()):
            verb, _, rest = (piece.strip() for piece in text.partition("|"))
            said = frame.format(verb=f"'{verb}'", rest=f"'{rest}'" if rest else "")
            end = f"-> now => [{name}] of q => notify if {guard} #[weight=WEIGHT];"
            for rows in (
                said,
                said.replace("('the')? q:Q", "q:NAMED"),
                said.replace("q:Q", "q:NP"),
            ):
                if "q:NP" in rows:  # without conditions
                    end = end.replace(" #[", " and not q.is_filtered #[")
                yield f"COMMAND := {which} {rows} {end}"
                if part == "reverse_verb_projection" or rest == "by":
                    yield f"COMMAND := ('who' | 'tell me who') {rows} {end}"
                if rest in ("at", "to", "from"):
                    yield f"COMMAND := 'where' {rows} {end}"


# --------------------------------------------------------------------------- values


class Values:
    """Lists of values: shipped ones, public ones, and what is put together of them."""

    def __init__(self, source: Path):
        self.public: dict[str, list[str]] = {}
        with (source / "gazettes" / "gazettes.tsv").open(encoding="utf-8") as lines:
            for line in lines:
                name, value, *_ = line.split("\t")
                self.public.setdefault(name, []).append(value)
        with gzip.open(source / "snips" / "train_full.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for slot in row["slots"]:
                    self.public.setdefault(f"snips {slot['name']}", []).append(slot["value"])

    def of(self, *names: str) -> list[str]:
        """Return the values of lists, shipped ones or public ones, once each."""
        found: list[str] = []
        for name in names:
            texts = self.public.get(name.removeprefix("public "))
            if texts is None or not name.startswith(("public ", "snips ")):
                texts = list(shipped_list(name).texts)
            found += texts
        return [*dict.fromkeys(" ".join(tokenize(text)) for text in found)]

    def lists(self, name: str) -> dict[str, list[str]]:
        """Return parameter -> values of a domain."""
        return {"music": self._music, "people": self._people, "restaurants": self._restaurants}[
            name
        ]()

    def _music(self) -> dict[str, list[str]]:
        song = "@org.schema.Music.MusicRecording:id"
        titles = self.of("public song", "public song_1981", "snips track", "song")
        albums = self.of("snips album", "album", "public movie", "public book")
        return {
            song: titles,
            "@org.schema.Music.MusicAlbum:id": albums,
            "inAlbum": albums,
            "byArtist": self.of("snips artist", "public music_artist", "artist", "public artist"),
            "genre": self.of("genre", "public music_genre", "snips genre"),
            "inLanguage": self.of("language"),
        }

    def _people(self) -> dict[str, list[str]]:
        draw = random.Random("schema2qa: people")
        last = self.of("person_last_name")
        towns = self.of("public us_city", "public uk_city") + self.of("city")[:2000]
        states = self.of("us_state", "public country")

        def some(patterns: Sequence[str], lists: Mapping[str, list[str]], count: int) -> list[str]:
            made = (
                draw.choice(patterns).format(**{n: draw.choice(v) for n, v in lists.items()})
                for _ in range(count)
            )
            return [*dict.fromkeys(made)]

        universities = some(_UNIVERSITIES, {"town": towns, "state": states, "last": last}, 4000)
        awards = some(
            _AWARDS,
            {"last": last, "field": _FIELDS, "state": states, "kind": _PRIZES, "how": _HOW},
            4000,
        )
        companies = self.of("company", "public company") + universities[:300]
        return {
            "alumniOf": universities + self.of("university"),
            "worksFor": companies,
            "award": awards,
            "id": self.of("person_full_name")
            + [
                f"{a} {b}"
                for a, b in zip(self.of("public person_first_name") * 5, last, strict=False)
            ],
            "jobTitle": self.of("job", "public occupation"),
            "address.addressLocality": towns,
            "knowsLanguage": self.of("language"),
        }

    def _restaurants(self) -> dict[str, list[str]]:
        draw = random.Random("schema2qa: restaurants")
        return {
            "@org.schema.Restaurant.Restaurant:id": self.of(
                "public multiwoz_restaurant_name", "restaurant", "snips restaurant_name"
            ),
            "servesCuisine": self.of("cuisine", "public multiwoz_restaurant_food", "snips cuisine")
            + self.of("dish")[:200],
            "address.postalCode": [f"{draw.randrange(501, 99951):05}" for _ in range(1500)],
            "address.addressCountry": self.of("country"),
            "address.addressRegion": self.of("us_state"),
            "author": self.of("person_full_name", "person_first_name"),
            "telephone": self.of("phone_number"),
        }


def texts_of(listed: str) -> tuple[str, ...]:
    """Return the texts of a list with commas."""
    return tuple(" ".join(text.split()) for text in listed.split(","))


_UNIVERSITIES = (
    "university of {state}", "{state} state university", "{town} university", "{last} college",
    "{town} college", "university of {town}", "{last} university", "{town} state",
    "{state} institute of technology", "{town} community college", "{last}", "{town} tech",
    "saint {last} university", "{state} state", "university of {state} at {town}",
    "{last} school of law", "{town} high school", "{state} college", "{last} state university",
    "{last} business school", "{town} school of medicine", "{town} academy",
)  # fmt: skip
_AWARDS = (
    "{last} {kind}", "{last} {kind} for {field}", "{how} {field} {kind}", "{field} {kind}",
    "{state} {field} {kind}", "{kind} for {field}", "{how} {kind}", "{last} {kind} in {field}",
    "{how} {field}", "{last}", "{last} fellowship", "{kind} of {state}", "order of {state}",
    "{how} {field} of the year", "{last} scholarship", "{state} {kind}", "{last} {field} {kind}",
)  # fmt: skip
_FIELDS = texts_of(
    """chemistry, physics, medicine, literature, peace, economics, mathematics, music, poetry,
    journalism, teaching, science, engineering, design, architecture, theatre, film, television,
    acting, directing, writing, sport, football, bravery, service, leadership, research, innovation,
    history, philosophy, dance, photography, computing, business, marketing, sales, cooking,
    gardening, painting, sculpture, comedy, drama, animation, editing, public service, young artist,
    supporting actor, album, song, lifetime achievement, human rights, employee, student, teacher,
    player, scientist"""
)
_PRIZES = ("award", "prize", "medal", "trophy", "cup", "honor", "medal of honor", "awards", "grant")
_HOW = ("best", "outstanding", "national", "international", "most promising", "distinguished",
        "golden", "honorary", "first", "young")  # fmt: skip


def value_files(lists: Mapping[str, list[str]]) -> Files:
    """Return lists, and the file that names them for `genie-dp data augment --values`."""
    files = {"values.tsv": "".join(f"{name}\t{n}.tsv\n" for n, name in enumerate(lists))}
    for number, texts in enumerate(lists.values()):
        lines = ["value", *(text for text in texts if text and len(text) < 60 and '"' not in text)]
        files[f"{number}.tsv"] = "\n".join([*lines, ""])
    return files


# --------------------------------------------------------------------------- data of a domain


def folder_of(work: Work, name: str, files: Files) -> Path:
    """Return a folder with files; its name has a hash of them."""
    target = work.place(name, [json.dumps(files)], "")
    if not target.exists():
        unfinished = target.with_suffix(".partial")
        for place, text in files.items():
            (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / place).write_text(text, encoding="utf-8")
        unfinished.rename(target)
    return target


_MOST = word_set("longest latest newest highest largest greatest biggest")
_LEAST = word_set("shortest earliest oldest lowest smallest fewest")


def sound(rows: Path) -> Iterator[Example]:
    """Yield rows but those whose words contradict their order: "the earliest", from the last on.

    Half of the crowd's sentences of the first and the shortest were shown with such a program.
    """
    for row in read_rows(str(rows)):
        said = set(row.utterance.split())
        is_most, is_least = bool(said & _MOST), bool(said & _LEAST)
        wrong = " asc " if is_most else " desc "
        if is_most == is_least or " sort " not in row.program or wrong not in row.program:
            yield row


def meaning_of(row: Example) -> str:
    """Return the program of a row: paraphrases of one are on one side."""
    return row.program


def ended(rows: Path, skill: Path) -> Iterator[Example]:
    """Yield rows as they would be typed, most with a sign at the end; templates have none.

    A join gets its condition: rows of the second table are those that the first one lists.
    """
    library = load_library([skill])
    for row in read_rows(str(rows)):
        chance = hash_of(f"end {row.utterance}") % 10
        first = row.utterance.split(" ", 1)[0]
        sign = "?" if first in _QUESTIONS else "."
        is_ended = chance < (7 if sign == "?" else 4)
        said = f"{row.utterance} {sign}" if is_ended else row.utterance
        yield replace(row, utterance=said, program=with_condition(row, library))


def with_condition(row: Example, library: SkillLibrary) -> str:
    """Return the program of a row, of a join with its condition."""
    if not row.derivation or not row.derivation[0].startswith("joined."):
        return row.program
    place = row.derivation[0].rpartition(".")[2]
    kind = f"Entity({row.functions[-1].removeprefix('@').rpartition('.')[0]}:{{}})"
    kind = kind.format(row.functions[-1].rpartition(".")[2])
    joined = row.program.removeprefix("now => ").removesuffix(" => notify")
    condition = f"param:id:{kind} in_array param:{place}:Array({kind})"
    thingtalk = get_language("thingtalk")
    tree = thingtalk.from_tokens(f"now => ( {joined} ) filter {condition} => notify")
    return thingtalk.tokens(thingtalk.canonical(tree, library), library)


_QUESTIONS = word_set("what which who where when how is are do does did can could whose was were")


@dataclass(frozen=True)
class Domain:
    """A domain with what is trained and tested on.

    Attributes:
        tests: questions of people, and paraphrases of the crowd.
        missing: questions that our language cannot say: they count as wrong.
    """

    name: str
    skills: tuple[object, ...]
    made: Path
    people: Path
    tests: Mapping[str, Path]
    missing: int


def domain(maker: Maker, name: str, *, is_held: bool) -> Domain:
    """Return a domain."""
    work, source = maker.work, maker.source / "schema2qa"
    schema = source / f"{name}.schema.jsonl"
    told_class = next(lines_of(schema))
    tables = TABLES[name]
    skill = folder_of(work, "skill", skill_files(told_class, tables))
    grammar = folder_of(work, "grammar", grammar_files(told_class, tables))
    values = folder_of(work, "values", value_files(Values(maker.source).lists(name)))
    skills = ("--skills", skill)
    file = source / f"{name}.paraphrase.jsonl"
    file = file if file.exists() else file.with_suffix(".jsonl.gz")
    crowd = maker.read_thingtalk2(f"schema2qa/{file.name}", skill, placeholders=True)
    classes = told_class["class"]
    weights = work.place("weights", [classes, json.dumps(WEIGHTS)], ".json")
    named = {f"{classes}.{table}": WEIGHTS.get(table, 1) for table in tables}
    weights.write_text(json.dumps(named), encoding="utf-8")
    weighted = ("--weights", weights, "--subset", SUBSETS.get(name, "training"), *SYNTHESIS)
    pairs = maker.synthesized(*skills, "--grammar", grammar, *weighted)
    pairs = work.chosen("ended", pairs, partial(ended, pairs, skill), "ended")
    said = maker.rewritten((pairs,), *skills, number=1)
    lists = ("--values", values / "values.tsv")
    values_only, lists = lists, (*lists, *LITTLE_NOISE)
    few = ("--primitive", 2, "--compound", 2, "--paraphrase-with-text", 1, "--paraphrase-other", 1)
    made = maker.augmented((pairs, said), *skills, *lists, *few)
    crowd = work.chosen("sound", crowd, partial(sound, crowd), "sound")
    train, read = crowd, crowd
    if is_held:
        train = work.chosen(
            "rest", crowd, partial(part_of, crowd, meaning_of, is_held=False), "rest"
        )
        read = work.chosen("held", crowd, partial(part_of, crowd, meaning_of, is_held=True), "held")
    read = maker.augmented((work.some(read, HELD),), *skills, *values_only, *ONCE)
    tests, missing = {PARAPHRASES: read}, 0
    if not is_held:
        test = maker.read_thingtalk2(f"schema2qa/{name}.eval.jsonl", skill)
        with (source / f"{name}.eval.jsonl").open(encoding="utf-8") as lines:
            total = sum(1 for _ in lines)
        with test.open(encoding="utf-8") as lines:
            missing = total - sum(1 for _ in lines)
        tests[QUESTIONS] = test
    often = ("--paraphrase-with-text", 8, "--paraphrase-other", 4)
    people = maker.augmented((train,), *skills, *lists, *often)
    return Domain(name, skills, made, people, tests, missing)


def trials(found: Domain, ways: str, options: Sequence[object]) -> Iterator[Trial]:
    """Yield both ways to train a parser."""
    asked = (*found.skills,)
    train = (*found.skills, *options)
    # What (b) learned says nothing of it; held paraphrases it has not.
    unseen = {name: path for name, path in found.tests.items() if name == QUESTIONS}
    tests = found.tests
    if "a" in ways:
        yield Trial(
            f"{found.name}: (a) no human data", (found.made,), tests, train, asked, most_wrong=MOST
        )
    if "b" in ways:
        both = (found.made, found.people)
        yield Trial(
            f"{found.name}: (b) and paraphrases",
            both,
            unseen or tests,
            train,
            asked,
            most_wrong=MOST,
        )


def main() -> None:
    """Make the data, train, test and print the table."""
    parser = options_of(__doc__, "schema2qa")
    parser.add_argument("source", type=Path, help="folder of the public data sets")
    parser.add_argument("--held", action="store_true", help="test on paraphrases, not questions")
    parser.add_argument("--ways", default="ab", help="which of (a) and (b) [ab]")
    parser.add_argument("--size", type=int, default=60_000, help="synthesized rows [60000]")
    parser.add_argument("--data-only", action="store_true", help="train nothing")
    options = parser.parse_args()
    work = Work(options.work)
    few = 300 if options.smoke else None
    maker = Maker(work, options.source, not options.held, few, options.size, options.jobs)
    results = Results(work)
    budget = ["--steps", "3"] if options.smoke else ["--steps", str(options.steps or 4_000)]
    seeds = range(1, 2 if options.smoke else options.seeds + 1)
    found, missing = [], {}
    for name in TABLES:
        if name.startswith(options.only):
            made = domain(maker, name, is_held=options.held)
            missing[name] = made.missing
            found += trials(made, options.ways, ())
            told(f"{name}: {dict(made.tests)}")
    if options.data_only:
        return
    results.run(found, budget, seeds)
    print("\n".join(results.table(found, budget, seeds)))
    print("\n".join(with_missing(results, found, budget, seeds, missing)))


def with_missing(
    results: Results,
    found: Sequence[Trial],
    budget: Sequence[str],
    seeds: Iterable[int],
    missing: Mapping[str, int],
) -> Iterator[str]:
    """Yield how many questions have a right first program, refused or not, and are refused."""
    lines = {line["key"]: line for line in results.lines()}
    for trial, seed in product(found, seeds):
        line = lines.get(results.key(trial, budget, seed))
        for name, result in (line or {"results": {}})["results"].items():
            domain_name = trial.name.partition(":")[0]
            unsaid = missing[domain_name] if name == QUESTIONS else 0
            shown = [row for row in result["wrong"]["shown"] if row["kind"] == "refused"]
            refused, total = len(shown), result["rows"] + unsaid
            # Behind "I do not know" stands the first program.
            right = result["accuracy"]["right"] + sum(row["rank"] == 2 for row in shown)
            yield (
                f"{trial.name}, {name}, seed {seed}: {right} of {total} right "
                f"({right / total:.1%}), {unsaid} cannot be said, {refused} refused"
            )


if __name__ == "__main__":
    main()
