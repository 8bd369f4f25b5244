"""A skill whose queries are tables of data (`genie-dp new skill --from`).

Phrases by part of speech are guessed from names of columns and their types: a weight is "heavier
than #", a birth date "born on #", an author "written by #". Every guess is listed for review.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.importers.data_types import DataTable, InferredColumn, identifier_of
from genie_dp.skills.model import last_name
from genie_dp.skills.words import tokenize
from genie_dp.texts import enum_name, word_set

MOST_VALUES = 2_000  # of a list
_SHORT = 6  # words


@dataclass(frozen=True, slots=True)
class TableSkill:
    """A skill that was made of tables.

    Attributes:
        files: name -> text, in the skill's folder.
        notes: on guesses, omissions and copies, as lines.
    """

    files: Mapping[str, str]
    notes: Sequence[str]


def skill_of_tables(
    name: str, tables: Sequence[DataTable], source: Path, copied: Collection[str] = ()
) -> TableSkill:
    """Return the files of a skill with a query for each table.

    Args:
        name: of the class.
        tables: those of the queries.
        source: where they come from.
        copied: columns whose values become lists, "all" or "none"; empty for names and short texts.

    Raises:
        GenieError: R093, no column has that name.
    """
    _check_copied(tables, copied)
    return _TableSkillWriter(name, tables, source, frozenset(copied)).skill()


def _check_copied(tables: Sequence[DataTable], copied: Collection[str]) -> None:
    typed_columns = {column.name for table in tables for column in table.columns if column.type}
    for name in sorted({*copied} - typed_columns - {"all", "none"}):
        hint = did_you_mean(name, typed_columns) or f"there are {', '.join(sorted(typed_columns))}"
        raise GenieError(Problem("R093", f"no column is called {name!r}", hint=hint))


Phrases = dict[str, list[str]]

# Of an amount: more, less, and a verb with it.
_COMPARED: Mapping[str, tuple[str, str, str]] = {
    "weight": ("heavier than #", "lighter than #", "{weighs/weigh} #"),
    "height": ("taller than #", "shorter than #", ""),
    "length": ("longer than #", "shorter than #", ""),
    "width": ("wider than #", "narrower than #", ""),
    "depth": ("deeper than #", "shallower than #", ""),
    "age": ("older than #", "younger than #", ""),
    "price": ("more expensive than #", "cheaper than #", "{costs/cost} #"),
    "cost": ("more expensive than #", "cheaper than #", "{costs/cost} #"),
    "size": ("larger than #", "smaller than #", ""),
    "area": ("larger than #", "smaller than #", ""),
    "speed": ("faster than #", "slower than #", ""),
    "distance": ("farther than #", "nearer than #", ""),
    "duration": ("longer than #", "shorter than #", "{lasts/last} #"),
    "temperature": ("warmer than #", "colder than #", ""),
    "rating": ("rated higher than #", "rated lower than #", ""),
    "score": ("scored higher than #", "scored lower than #", ""),
}
# Who did something, or where it is: what a passive says of it.
_PASSIVE: Mapping[str, str] = {
    "author": "written by #", "writer": "written by #", "owner": "owned by #",
    "director": "directed by #", "artist": "performed by #", "composer": "composed by #",
    "publisher": "published by #", "manager": "managed by #", "maker": "made by #",
    "brand": "made by #", "manufacturer": "made by #", "creator": "created by #",
    "designer": "designed by #", "builder": "built by #", "teacher": "taught by #",
    "instructor": "taught by #", "chef": "run by #", "editor": "edited by #",
    "city": "in #", "town": "in #", "country": "in #", "location": "in #", "region": "in #",
    "state": "in #", "place": "in #", "room": "in #", "neighborhood": "in #", "venue": "at #",
    "origin": "from #", "department": "in the # department", "team": "on the # team",
    "language": "in #",
    "sender": "from #", "vendor": "sold by #", "seller": "sold by #", "employer": "employed by #",
}  # fmt: skip
# Of columns that are called "date" and "year".
_OF_A_DATE = {"passive_verb": ["from #"], "after": ["after #", "since #"], "before": ["before #"]}
_OF_A_YEAR = {
    "after": ["from after #", "newer than #"],
    "before": ["from before #", "older than #"],
}
_OF_A_YEAR_AS_NUMBER = {"more": _OF_A_YEAR["after"], "less": _OF_A_YEAR["before"]}
_DONE = word_set("built sold made bought sent held written taken shown found born seen paid")
_SAID_OF_ROWS = word_set("know own serve speak use offer include contain like teach sell produce")
# Who did it, in a question.
_DOER: Mapping[str, str] = {
    "author": "wrote", "writer": "wrote", "owner": "owns", "director": "directed",
    "artist": "performed", "composer": "composed", "publisher": "published", "manager": "manages",
    "maker": "made", "manufacturer": "made", "creator": "created", "designer": "designed",
    "builder": "built", "teacher": "teaches", "instructor": "teaches", "editor": "edited",
    "sender": "sent", "vendor": "sells", "seller": "sells", "employer": "employs",
    "organizer": "organizes", "host": "hosts", "sponsor": "sponsors", "trainer": "trains",
    "driver": "drives", "coach": "coaches", "photographer": "took", "founder": "founded",
    "inventor": "invented", "discoverer": "discovered", "producer": "produced",
}  # fmt: skip
# Beyond what follows from comparisons: the most, the least, and what is asked with "how".
_EXTREMES: Mapping[str, tuple[str, str, str]] = {
    "rating": ("best rated", "worst rated", ""), "score": ("top scoring", "lowest scoring", ""),
    "popularity": ("most popular", "least popular", "popular"),
    "salary": ("best paid", "worst paid", ""), "profit": ("most profitable", "", "profitable"),
    "value": ("most valuable", "least valuable", "valuable"), "rank": ("", "highest ranked", ""),
}  # fmt: skip
# Questions in which the thing stands for "#".
_QUESTIONS: Mapping[str, str] = {
    "city": "which city is # in", "town": "which town is # in", "address": "where is #",
    "location": "where is #", "country": "which country is # in",
    "color": "what color is #", "colour": "what colour is #",
    "employer": "who does # work for", "company": "which company does # work for",
    "summary": "what is # about", "description": "what is # about", "plot": "what is # about",
    "birthplace": "where was # born", "phone": "how can i call #",
}  # fmt: skip
# Whose values are nouns: "dogs" are patients of that species.
_SORTS = word_set("kind type category species breed sort")
# Said before the noun: "italian restaurants".
_BEFORE_NOUN = word_set(
    """kind type category genre cuisine color colour breed species status priority brand style
    material gender nationality diet season level"""
)
_PARTICIPLES = {"birth": "born", "birthday": "born", "dob": "born", "due": "due", "death": "died",
                "start": "starting", "end": "ending", "launch": "launched",
                "release": "released", "publication": "published", "founding": "founded",
                "construction": "built", "production": "made", "model": "made",
                "purchase": "bought", "order": "ordered", "hire": "hired"}  # fmt: skip


def phrases_of(column: InferredColumn) -> Phrases:
    """Return part of speech -> phrases of a column.

    >>> phrases_of(InferredColumn("weight", "weight_kg", "weight", "Measure(kg)"))["more"]
    ['heavier than #']
    >>> phrases_of(InferredColumn("birth_date", "dob", "birth date", "Date"))["passive_verb"]
    ['born on #']
    """
    words = column.words
    if column.type == "Boolean":
        return _of_truth(words)
    verb = _verb_in(words)
    if verb:
        return {"base": [words], "verb": [verb]}
    if column.is_list:
        noun = english.singular(words)
        return {"base": [noun], "plural": [english.plural(noun)], "property": [f"{noun} #"]}
    phrases: Phrases = {"base": [words], "plural": [english.plural(words)]}
    if column.type == "ID":
        phrases = {"base": [words.split()[-1]], "plural": [english.plural(words.split()[-1])]}
        phrases["passive_verb"] = ["called #", "named #"]
    elif column.type == "Date":
        _add_date(phrases, words)
    elif column.type in ("Number", "Currency") or column.type.startswith("Measure"):
        _add_amount(phrases, words, is_count=_is_count(column))
    elif not column.type.startswith("Entity(tt:") and column.type != "Time":
        _add_text(phrases, column)
    if not column.is_list:
        _add_questions(phrases, words, column.type)
    return {part: phrase for part, phrase in phrases.items() if phrase}


def _add_questions(phrases: Phrases, words: str, type_: str) -> None:
    """Add the phrases of questions alone, where it does not follow from the other phrases.

    >>> phrases_of(InferredColumn("owner", "owner", "owner", "ID owner"))["reverse_verb"]
    ['owns']
    """
    last = words.split()[-1]
    if last in _DOER:
        phrases["reverse_verb"] = [_DOER[last]]
    if last in _QUESTIONS:
        phrases["question"] = [_QUESTIONS[last]]
    if last in _EXTREMES and type_ not in ("String", "Boolean"):
        for part, phrase in zip(("most", "least", "how"), _EXTREMES[last], strict=True):
            phrases[part] = [phrase] if phrase else []


def _verb_in(words: str) -> str:
    """Return a name that is a verb with its object; "" for others.

    >>> _verb_in("works for"), _verb_in("knows"), _verb_in("notes")
    ('{works/work} for #', '{knows/know} #', '')
    """
    first, _, rest = words.partition(" ")
    stem = english.singular(first)
    is_verb = first != stem and english.third_person(stem) == first
    if not is_verb or not (
        rest in ("for", "in", "at", "on", "to", "with") or stem in _SAID_OF_ROWS
    ):
        return ""
    return " ".join(part for part in (f"{{{first}/{stem}}}", rest, "#") if part)


def _of_truth(words: str) -> Phrases:
    verb, _, rest = words.partition(" ")
    if verb == "has" and rest:
        return {
            "base": [rest],
            "predicate_true": [f"{{has/have}} {rest}"],
            "predicate_false": [f"{{has/have}} no {rest}"],
        }
    phrase = rest if verb == "is" and rest else words
    return {
        "base": [phrase],
        **({} if " " in phrase else {"adjective_true": [phrase]}),
        "predicate_true": [f"{{is/are}} {phrase}"],
        "predicate_false": [f"{{is/are}} not {phrase}"],
    }


def _add_date(phrases: Phrases, words: str) -> None:
    first, _, last = words.rpartition(" ")
    if words in ("year", "date"):
        phrases |= _OF_A_YEAR if words == "year" else _OF_A_DATE
        return
    stem = first if last in ("at", "on", "date", "time", "day", "year") and first else words
    verb = _PARTICIPLES.get(stem.split()[-1])
    if verb is None and (stem.endswith("ed") or stem in _DONE):
        verb = stem
    if verb is None and last in ("at", "on") and stem.endswith("s"):
        stem = english.singular(stem)  # "starts at"
        verb = english.gerund(stem)
    if verb is None:
        article = english.article(words)
        phrases["after"] = [f"with {article} {words} after #"]
        phrases["before"] = [f"with {article} {words} before #"]
        return
    if words != stem:  # "created at" is no noun
        noun = "date" if last in ("at", "on") else last
        phrases["base"] = [f"date {stem}"] if stem == verb else [f"{stem} {noun}"]
        phrases["plural"] = [] if stem == verb else [f"{stem} {noun}s"]
    phrases["passive_verb"] = [f"{verb} on #"]
    phrases["after"] = [f"{verb} after #", f"{verb} since #"]
    phrases["before"] = [f"{verb} before #"]


def _is_count(column: InferredColumn) -> bool:
    parts = column.name.split("_")
    is_said = parts[-1] == "count" or parts[0] in ("num", "number", "count", "n")
    return is_said or (column.type == "Number" and english.number_of(column.words) == "pl")


def _add_year(phrases: Phrases, words: str) -> None:
    """Add the phrases of a year that is a number: "from 1999", "released before 1999"."""
    first, _, _ = words.rpartition(" ")
    verb = _PARTICIPLES.get(first, first if first.endswith("ed") or first in _DONE else "")
    if not first:
        phrases |= {"passive_verb": ["from #"], **_OF_A_YEAR_AS_NUMBER}
    elif verb:
        phrases["passive_verb"] = [f"{verb} in #"]
        phrases["more"], phrases["less"] = [f"{verb} after #"], [f"{verb} before #"]
    else:
        article = english.article(words)
        phrases["property"] = [f"{words} #"]
        phrases["more"] = [f"with {article} {words} after #"]
        phrases["less"] = [f"with {article} {words} before #"]


def _add_amount(phrases: Phrases, words: str, *, is_count: bool) -> None:
    if words.split()[-1] == "year":
        _add_year(phrases, words)
        return
    if is_count:
        content_words = [w for w in words.split() if w not in ("count", "num", "number", "of", "n")]
        things = english.plural(" ".join(content_words)) if content_words else "things"
        phrases["base"], phrases["plural"] = [f"number of {things}"], [f"numbers of {things}"]
        phrases["property"] = [f"# {things}"]
        phrases["more"] = [f"with more than # {things}"]
        phrases["less"] = [f"with fewer than # {things}"]
        return
    is_mass = english.plural(words) == words
    singular = words if is_mass else f"{english.article(words)} {words}"
    compared = _COMPARED.get(words.split()[-1])
    if compared is not None and len(words.split()) == 1:
        phrases["more"], phrases["less"] = [compared[0]], [compared[1]]
        phrases["verb"] = [compared[2]] if compared[2] else []
    else:
        phrases["more"] = [f"with {singular} over #", f"with {singular} above #"]
        phrases["less"] = [f"with {singular} under #", f"with {singular} below #"]
    phrases["property"] = [f"{singular} of #"]


def _add_text(phrases: Phrases, column: InferredColumn) -> None:
    words, last = column.words, column.words.split()[-1]
    if column.type == "String" and _is_long(column):
        phrases["verb"] = ["{mentions/mention} #", "{is/are} about #"]
        return
    phrases["property"] = [f"{words} #"]
    if last in _PASSIVE:
        phrases["passive_verb"] = [_PASSIVE[last]]
    if last in _BEFORE_NOUN:
        phrases["adjective"] = ["#"]


def _is_long(column: InferredColumn) -> bool:
    texts = column.texts[:200]
    return bool(texts) and sum(len(tokenize(t)) for t in texts) > _SHORT * len(texts)


class _TableSkillWriter:
    """Writes the files of one skill."""

    def __init__(
        self, name: str, tables: Sequence[DataTable], source: Path, copied: frozenset[str]
    ):
        self.name, self.tables, self.source, self.copied = name, tables, source, copied
        self.notes: list[str] = []
        self.lists: dict[str, dict[str, None]] = {}

    def skill(self) -> TableSkill:
        for column in (each for table in self.tables for each in table.columns):
            if column.type.startswith("Enum") and not self._is_copied(column):
                column.type = "String"  # its values would stand in the type
        queries = [self._query(table) for table in self.tables]
        words = last_name(self.name)
        entities = [f'  entity {t.name} #_[canonical="{_one(t)}"];' for t in self.tables if t.key]
        blocks = ["\n".join(entities)] if entities else []
        body = "\n\n".join([*blocks, *queries])
        head = f'class @{self.name}\n  #_[canonical="{words}"]\n  #[doc="What is in {words}."] {{'
        templates = "\n\n".join(self._templates(table) for table in self.tables)
        files = {
            "skill.tt": f"// Made of {self.source.name}; REVIEW.md lists what was guessed.\n"
            f"{head}\n\n{body}\n}}\n",
            "templates.genie": f"// How people speak of the tables.\n\n"
            f"for @{self.name};\n\n{templates}\n",
            **{f"values/{name}.tsv": _list_text(texts) for name, texts in self.lists.items()},
        }
        files["REVIEW.md"] = "\n".join(
            [f"# To be reviewed: {self.source.name}", "", *(f"- {note}" for note in self.notes), ""]
        )
        return TableSkill(files, self.notes)

    # --------------------------------------------------------------------------- class file

    def _query(self, table: DataTable) -> str:
        outputs = [self._output(table, column) for column in table.columns if column.type]
        for column in table.columns:
            if not column.type:
                self.notes.append(f"`{table.source}.{column.source}` is left out: {column.why}")
        if table.key is None:
            text = "no column names a row, so that none is asked for by its name"
            self.notes.append(f"`{table.source}`: {text}")
        comment = (
            f'#_[canonical="{_one(table)}"]',
            f'#_[confirmation="the {_several(table)}"]',
            f'#[table="{_escape(table.source)}"]',
            f'#[doc="Lists the {_several(table)}."]',
        )
        marks = "".join(f"\n    {mark}" for mark in comment)
        return f"  list query {_query_name(table)}(\n" + ",\n".join(outputs) + f"){marks};"

    def _output(self, table: DataTable, column: InferredColumn) -> str:
        kind, _, thing = column.type.partition(" ")
        type_ = f"Entity({self.name}:{thing or table.name})" if kind == "ID" else column.type
        marks = ["#[unique=true]"] if column.type == "ID" else []
        if column.type == "String":
            listed = self._list(table, column, identifier_of(column.name))
            marks.append(f'#[string_values="{listed}"]')
        elif column.type == "ID":
            self._list(table, column, table.name)
        elif column.type.startswith("Enum"):
            marks.extend(self._enum_words(column))
            self.notes.append(
                f"`{table.source}.{column.source}`: its {len(column.texts)} values stand in the "
                "type, copied from the data"
            )
        if column.is_list:
            type_ = f"Array({type_})"
        if column.source != column.name:
            marks.append(f'#[column="{_escape(column.source)}"]')
        marks_text = "".join(f"\n      {mark}" for mark in marks)
        phrases = phrases_of(column)
        parts = ", ".join(f"{p}=[{', '.join(map(_quote, s))}]" for p, s in phrases.items())
        guess = f"; {column.why}" if column.why else ""
        self.notes.append(f"`{table.source}.{column.source}` is {type_}{guess}")
        return f"    out {column.name} : {type_}{marks_text}\n      #_[canonical={{{parts}}}]"

    def _enum_words(self, column: InferredColumn) -> Iterator[str]:
        odd = {
            enum_name(text): " ".join(tokenize(text))
            for text in column.texts
            if enum_name(text).replace("_", " ") != " ".join(tokenize(text))
        }
        if odd:
            yield f"#_[enum={{{', '.join(f'{n}={_quote(w)}' for n, w in sorted(odd.items()))}}}]"

    def _list(self, table: DataTable, column: InferredColumn, name: str) -> str:
        """Write the list of a column's values, if they are to be copied; return its tag."""
        is_text = column.type == "String"
        if is_text and _is_long(column) and not self.copied & {column.name, "all"}:
            return "tt:long_text"
        if not self._is_copied(column) or not column.texts:
            self.notes.append(f"`{table.source}.{column.source}`: none of its values were copied")
            return "tt:short_text" if is_text else name
        if is_text and any(name == each.name for each in self.tables if each.key):
            name = f"{table.name}_{name}"  # that list is of things
        texts = dict.fromkeys(" ".join(tokenize(text)) for text in column.texts)
        texts_kept = [text for text in texts if text][:MOST_VALUES]
        self.lists.setdefault(name, {}).update(dict.fromkeys(texts_kept))
        self.notes.append(
            f"`{table.source}.{column.source}`: {len(texts_kept):,} of its values were copied to "
            f"values/{name}.tsv"
        )
        return f"{self.name}:{name}"

    def _is_copied(self, column: InferredColumn) -> bool:
        """Return whether values of a column may stand in the skill."""
        return not self.copied or bool(self.copied & {column.name, "all"})

    # --------------------------------------------------------------------------- templates

    def _templates(self, table: DataTable) -> str:
        query, singular, plural = _query_name(table), _one(table), _several(table)
        lines = [
            f"// {plural}",
            f"NP := ('the' | 'all')? '{plural}' -> {query}();",
            f"NP := 'all of the {plural}' -> {query}();",
            f"QVP := ('list' | 'look through' | 'go through') 'the {plural}' -> {query}();",
        ]
        if table.key is not None:
            a = english.article(singular)
            by_name = f"-> {query}() filter {table.key.name} == $x;"
            lines += [
                f"NP[num=sg] := 'the {singular} ${{x:const}}' {by_name}",
                f"NP[num=sg] := '${{x:const}}' {by_name}",
                f"NP[num=sg] := ('{a}' | 'the') '{singular}' ('called' | 'named') '${{x:const}}' "
                f"{by_name}",
                f"QVP := ('look up' | 'find') '${{x:const}}' {by_name}",
            ]
        lines += self._sorts(table)
        return "\n".join(lines)

    def _sorts(self, table: DataTable) -> Iterator[str]:
        """Yield templates for things called by their sort: "dogs" for patients that are dogs."""
        for column in table.columns:
            if column.type.startswith("Enum") and column.words.split()[-1] in _SORTS:
                for text in column.texts:
                    word = " ".join(tokenize(text))
                    if word.isalpha() and not word.endswith("ed") and english.plural(word) != word:
                        call = f"{_query_name(table)}() filter {column.name}"
                        yield (
                            f"NP := ('the' | 'all')? '{english.plural(word)}' "
                            f"-> {call} == enum({enum_name(text)});"
                        )
                self.notes.append(
                    f"`{table.source}.{column.source}`: its values are said as nouns, such as "
                    f"{english.plural(' '.join(tokenize(column.texts[0])))!r}"
                )


def _list_text(texts: Iterable[str]) -> str:
    return "value\tweight\n" + "".join(f"{text}\t1\n" for text in texts)


def _one(table: DataTable) -> str:
    return table.words


def _several(table: DataTable) -> str:
    return english.plural(table.words)


def _query_name(table: DataTable) -> str:
    return english.plural(table.name.replace("_", " ")).replace(" ", "_")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quote(text: str) -> str:
    return f'"{_escape(text)}"'
