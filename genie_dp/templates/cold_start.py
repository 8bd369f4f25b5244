"""The first templates of a library of tools, guessed from names and descriptions.

A tool is asked for by the words of its name ("get the stock price") and by the first sentence of
its description. Required parameters follow in phrases ("for the symbol $symbol"), optional ones in
optional parts, a few in each template. All of it is to be edited: every guess has a note.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, islice, product
from types import MappingProxyType
from typing import Any

from genie_dp.english import forms as english
from genie_dp.english.frames import frames_of
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages import types as ty
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import (
    Field,
    Tool,
    ToolLibrary,
    ValueType,
    value_words,
    words_of,
)
from genie_dp.languages.calls.text import render, value_text
from genie_dp.locale import DEFAULT
from genie_dp.located import Place
from genie_dp.templates import cold_words as words
from genie_dp.templates.review import Note, path_text

_MOST_OPTIONAL = 3  # optional parts of a template
_MOST_WORDS = 9  # of what a description says
_MOST_BY_FRAMES = 3  # templates of a tool in other words
_FIRST_MARK = 0xE000  # private characters stand for parameters in a sentence
_MOST_CHOICES = 6  # listed values that need no category
_MOST_FIELDS = 6  # of an object that are said one by one
_DEEPEST, _MOST_INSIDE = 3, 3  # of an object in an object: levels, and fields that it must have

_HEAD = """\
// Templates to begin with, made by `genie-dp grammar import`: edit them.
// REVIEW.md lists what was guessed.

category COMMAND : program root "whole sentences";
category VP : program "what can be asked for: set the lights";
COMMAND := a:VP -> a;
COMMAND := ('please' | 'can you' | 'could you' | 'i want to' | 'i would like to') a:VP -> a;
COMMAND := ('i need to' | 'i want you to' | 'help me' | ('can' | 'could') 'you please') a:VP -> a;
COMMAND := ('can you' | 'could you')? a:VP ('please' | 'for me')? ('.' | '?') -> a;
COMMAND := a:VP ('please' | 'for me') -> a;
"""
_BOTH = """\
COMMAND := a:VP ('and' | ', and' | 'and then' | 'and also') b:VP
  -> a & b if a.count == 1 and b.count == 1 and a.function != b.function;
"""
_SHOWN = """\
category SHOW : program "what is to be told: show me the weather";
COMMAND := a:SHOW -> a;
COMMAND := ('please' | 'can you' | 'could you') a:SHOW -> a;
"""
_SHOWN_TOO = """\
COMMAND := a:VP 'and' b:SHOW -> a & b if a.count == 1 and b.count == 1 and a.function != b.function;
"""
_ASKED = """\
category QUESTION : program "questions: what is the weather";
COMMAND := q:QUESTION ('?')? -> q;
"""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The templates of a library.

    Attributes:
        text: of the template file.
        notes: the guesses, and the parameters without words in the templates.
        said: the tools that have templates.
        count: how many templates there are.
    """

    text: str
    notes: tuple[Note, ...]
    said: frozenset[str]
    count: int


def cold_start(library: ToolLibrary, names: Mapping[str, str] = MappingProxyType({})) -> ColdStart:
    """Return the first templates of a library.

    Args:
        library: its tools.
        names: better names for tools whose own ones are vague.
    """
    writer = _Writer(library, names)
    blocks: list[str] = []
    for tool in library.tools.values():
        blocks += writer.tool(tool, (tool.name,))
    is_one = len(library.tools) < 2
    head = _HEAD + ("" if is_one else _BOTH)
    if "SHOW" in writer.categories:
        head += _SHOWN + ("" if is_one else _SHOWN_TOO)
    if "QUESTION" in writer.categories:
        head += _ASKED
    text = "\n".join([head, *writer.values(), *blocks]).rstrip("\n") + "\n"
    return ColdStart(text, tuple(writer.notes), frozenset(writer.said), writer.count)


# ------------------------------------------------------------------------------ parameters


# What means something else in bodies and utterances.
_RESERVED = frozenset(("true", "false", "null", "if", "const", "python"))


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a call with words of its own: a parameter, or a field of one.

    Attributes:
        path: the names that lead to it.
        field: its schema.
        name: of its placeholder, or of its child.
        is_required: whether every sentence has it.
    """

    path: tuple[str, ...]
    field: Field
    name: str
    is_required: bool

    @property
    def type(self) -> ValueType:
        type_ = self.field.type
        if type_.sort == "union":
            return next((option for option in type_.options if _is_said(option)), type_)
        return type_.item if type_.sort == "array" and type_.item is not None else type_

    @property
    def is_list(self) -> bool:
        """Return whether it takes a list; sentences have one item of it."""
        return self.field.type.sort == "array"

    @property
    def switch(self) -> tuple[str, str] | None:
        """Return the values for true and false, which have words of their own."""
        if self.type.sort == "boolean":
            return "true", "false"
        texts = {words_of(text): text for text in map(value_text, self.type.values)}
        is_text = texts.keys() == {"true", "false"} and len(self.type.values) == 2
        return (texts["true"], texts["false"]) if is_text else None

    @property
    def is_switch(self) -> bool:
        """Return whether it is true or false."""
        return self.switch is not None

    @property
    def is_number(self) -> bool:
        """Return whether it is a number, as such or as a text."""
        texts = [value_text(value).strip("'") for value in self.type.values]
        is_counted = self.type.sort == "enum" and all(map(str.isdigit, texts))
        return self.type.sort == "number" or is_counted

    @property
    def is_child(self) -> bool:
        """Return whether its values are a category of their own."""
        is_long = self.type.sort == "enum" and len(self.type.values) > _MOST_CHOICES
        return self.is_switch or is_long

    def names(self, *, is_other: bool = False) -> tuple[str, ...]:
        """Return the names of its values in a sentence: of a list several items.

        Args:
            is_other: in the other order, where a list has two; else it has one, of numbers three.
        """
        if not self.is_list or self.is_child:
            return (self.name,)
        listed = self.field.type
        count = 2 if is_other else 3 if self.is_number else 1
        count = min(max(count, listed.fewest_items), listed.most_items or count)
        return (self.name, *(f"{self.name}_item{number}" for number in range(2, count + 1)))

    def listed(self, text: str, *, is_other: bool) -> str:
        """Return a phrase with all of these names where its mark stands."""
        *others, last = (f"${{{name}}}" for name in self.names(is_other=is_other))
        return text.replace(self.mark, f"{', '.join(others)} and {last}" if others else last)

    @property
    def mark(self) -> str:
        """Return the mark of its value among the words."""
        return f"${{{self.name}}}"


def _is_said(type_: ValueType) -> bool:
    match type_.sort:
        case "array":
            return type_.item is not None and type_.item.sort in ("text", "number", "enum")
        case "union":
            return any(map(_is_said, type_.options))
        case "enum":
            return any(words_of(value_text(value)) for value in type_.values)
        case _:
            return type_.sort in ("text", "number", "boolean", "any")


def _parts_of(tool: Tool) -> tuple[list[_Part], list[tuple[tuple[str, ...], str]]]:
    """Return the parts of a tool's parameters that have words, and the others with the reason."""
    parts: list[_Part] = []
    unsaid: list[tuple[tuple[str, ...], str]] = []
    taken: set[str] = set()

    def add(path: tuple[str, ...], given: Field, *, is_required: bool) -> None:
        name = re.sub(r"\W+", "_", "_".join(path)).strip("_")
        name = name if name[:1].isalpha() else f"x_{name}"
        while name in taken or name in _RESERVED:
            name += "_"
        taken.add(name)
        parts.append(_Part(path, given, name, is_required))

    def look(path: tuple[str, ...], given: Field, *, is_required: bool) -> None:
        fields = given.type.fields
        is_few = 0 < len(fields) <= _MOST_FIELDS
        if _is_said(given.type):
            add(path, given, is_required=is_required)
        elif given.type.sort == "object" and is_few and _is_reached(path, given):
            for inner in sorted(fields, key=lambda f: not f.is_required):
                look((*path, inner.name), inner, is_required=is_required and inner.is_required)
        else:
            unsaid.append((path, f"{given.type} is not said in words"))

    order = {name: place for place, name in enumerate(tool.schema.get("properties", ()))}
    for parameter in sorted(tool.parameters, key=lambda p: order.get(p.name, len(order))):
        look((parameter.name,), parameter, is_required=parameter.is_required)
    return parts, unsaid


def _is_reached(path: tuple[str, ...], given: Field) -> bool:
    """Return whether the fields of an object get words: of one inside of another only a few."""
    must = sum(field.is_required for field in given.type.fields)
    return len(path) == 1 or (len(path) <= _DEEPEST and 0 < must <= _MOST_INSIDE)


def _call_text(tool: Tool, parts: Iterable[_Part], *, is_other: bool = False) -> str:
    """Return the body of a template with these parts."""
    fields: dict[str, Any] = {}
    for part in parts:
        names = part.names(is_other=is_other)
        holes = tuple(ast.Hole(name, is_placeholder=not part.is_child) for name in names)
        inside = fields
        for name in part.path[:-1]:
            inside = inside.setdefault(name, {})
        inside[part.path[-1]] = ast.Array(holes) if part.is_list else holes[0]
    return render(ast.Program(((ast.Call(tool.name, _arguments(fields)),),)))


def _arguments(fields: Mapping[str, Any]) -> tuple[ast.Argument, ...]:
    return tuple(
        ast.Argument(name, ast.Record(_arguments(value)) if isinstance(value, dict) else value)
        for name, value in fields.items()
    )


def _bundles(optional: Sequence[_Part]) -> list[list[_Part]]:
    """Return the optional parts in bundles: the required fields of one object stand together."""
    bundles: list[list[_Part]] = []
    for part in optional:
        is_bound = len(part.path) > 1 and part.field.is_required
        last = bundles[-1][-1] if bundles else None
        is_next = last is not None and last.path[0] == part.path[0] and last.field.is_required
        if is_bound and is_next:
            bundles[-1].append(part)
        else:
            bundles.append([part])
    return bundles


# --------------------------------------------------------------------------------- wording


@dataclass(slots=True)
class _Wording:
    """A way to ask for a tool, without the phrases of its parameters.

    Attributes:
        verb: its verb, in the infinitive.
        rest: the words after it; parts stand there as "$name".
        parts: the names of these.
        is_spare: whether it is for want of others alone.
        origin: "name" or "description"; of names "space" for a verb alone, "noun" for no verb.
    """

    verb: str
    rest: list[str]
    origin: str
    parts: set[str] = field(default_factory=set)
    is_spare: bool = False


def label_of(name: str) -> str:
    """Return the usual words for a parameter; a name without any word is a value.

    >>> [label_of(name) for name in ("userId", "max_num_results", "file_path", "side2", "_")]
    ['user', 'maximum number results', 'file', 'side 2', 'value']
    """
    found = words_of(re.sub(r"(?<=[a-z]{2})(?=\d$)", "_", name)).split()
    found = [words.ABBREVIATIONS.get(word, word) for word in found]
    while len(found) > 1 and found[-1] in words.DROPPED_ENDS:
        found.pop()
    while len(found) > 1 and found[0] in words.DROPPED_STARTS:
        found = found[1:]
    joined = " ".join(found) or "value"
    return words.LABELS.get(joined, joined)


@lru_cache(maxsize=65536)
def verb_of(word: str) -> str:
    """Return a verb in the infinitive; "" for other words.

    >>> [verb_of(word) for word in ("retrieves", "get", "searching", "weather", "looksup")]
    ['retrieve', 'get', 'search', '', '']
    """
    if word in words.VERBS:
        return word
    if not word.isalpha() or not word.isascii():
        return ""
    import lemminflect

    for lemma in lemminflect.getAllLemmas(word, upos="VERB").get("VERB", ()):
        if lemma in words.VERBS:
            return str(lemma)
    return ""


def wording_of_name(name: str, prefix: str) -> _Wording | None:
    """Return the command in a name; None where it has no English word.

    Args:
        name: of the tool.
        prefix: the first word of all names of its library, which has no meaning; or "".

    >>> said = wording_of_name("ACTION_SET_ALARM", "")
    >>> said.verb, said.rest
    ('set', ['the', 'alarm'])
    """
    pieces = [words_of(piece) for piece in re.split(r"[./:]|__", name)]
    *spaces, last = [piece for piece in pieces if piece] or [""]
    found = [words.ABBREVIATIONS.get(word, word) for word in last.split()]
    while len(found) > 1 and (found[0] == prefix or found[0] in words.NAME_STARTS):
        found = found[1:]
    found = [word for word in found if not word.isdigit() or len(found) > 1]
    found = [re.sub(r"(?<=[a-z]{3})\d$", "", word) for word in found]  # "data2"
    if not found or not all(re.fullmatch(r"[a-z0-9]+", word) for word in found):
        return None
    verb, rest = _split_name(found)
    if all(word.isdigit() for word in rest):  # "get_2": the second of one name
        rest = []
    for place, word in enumerate(rest):
        if place and word in words.NAME_ENDS:
            rest = rest[:place]
            break
    if not rest and spaces:
        return _Wording(verb, _with_article(verb, spaces[-1].split()), "space")
    return _Wording(verb or "get", _with_article(verb, rest), "name" if verb else "noun")


def says_no_thing(name: str) -> bool:
    """Return whether a name has a verb alone.

    >>> [says_no_thing(name) for name in ("get", "findAll_1", "get_todo")]
    [True, True, False]
    """
    wording = wording_of_name(name, "")
    others = words.DETERMINERS | words.PREPOSITIONS
    return wording is None or not any(
        word not in others and not word.isdigit() for word in wording.rest
    )


def _split_name(found: Sequence[str]) -> tuple[str, list[str]]:
    """Return the verb and the other words of a name; "" where it has none."""
    *others, last = found
    ending = words.DOERS.get(last, last)
    is_sure = found[0] in words.SURE_VERBS or (verb_of(found[0]) and not others)
    if not is_sure and others and ending in words.ENDING_VERBS:
        if ending == "list":
            others[-1] = english.plural(others[-1])
        return ending, others
    if verb_of(found[0]):
        return verb_of(found[0]), list(found[1:])
    for place, word in enumerate(found[1:-1], 1):  # after what a whole server is called
        if word in words.SURE_VERBS and place <= 2:
            return word, list(found[place + 1 :])
    return ("convert" if found[1:-1] == ["to"] else ""), list(found)


def _with_article(verb: str, noun: Sequence[str]) -> list[str]:
    """Return the object of a verb, from a name, with the article that it takes."""
    if not noun or noun[0] in words.PREPOSITIONS or noun[0] in words.DETERMINERS:
        return list(noun)
    head: list[str] = []
    for word in noun:
        if word in words.PREPOSITIONS:
            break
        head.append(word)
    phrase = " ".join(head)
    if verb not in words.MAKING_VERBS:
        return ["the", *noun]
    is_one = english.number_of(phrase) == "sg"
    return [english.article(phrase), *noun] if is_one else list(noun)


_LEADS = re.compile(
    r"^(?:(?:this|the) (?:tool|function|endpoint|api|method|operation|command|action)s?\b ?"
    r"|(?:a |an )?(?:tool|function|utility)s? (?:to|for|that)\b ?"
    r"|(?:is |are |can be |that is )?used (?:to|for)\b ?"
    r"|use this(?: tool| function)?(?: to| for)?\b ?"
    r"|(?:which |that )?(?:allows?|lets?|enables?)(?: you| users?| the user)?(?: to)?\b ?"
    r"|(?:will|can|helps?(?: to)?|automatically|simply|to|easily|quickly)\b ?)+"
)
_FROM_ONE = re.compile(
    r" from (?:one|a|any) (?:\w+ ){0,2}(?:in)?to (?:another|a different one)(?: \w+)?"
    r"| between (?:two |different )?(?:units|currencies|languages|formats)(?: of \w+)?"
)
_SENTENCE = re.compile(r"(?<=[\w)\]'\"][\w)\]'\"])[.!?;:](?=\s|$)|\n|\s[-–—]\s|\(|\[|,")


def first_sentence(description: str) -> list[str]:
    """Return the words of the first clause of a description, in lower case.

    >>> first_sentence("This tool retrieves the weather (now). It is fast.")
    ['retrieves', 'the', 'weather']
    """
    text = " ".join(description.replace("`", "").replace("*", "").split(" ")).strip()
    text = _SENTENCE.split(text, maxsplit=1)[0]
    text = _FROM_ONE.sub("", _LEADS.sub("", text.lower().strip()))
    text = re.sub(r"\b(?:a|the) (?:given )?(?:list|array) of ", "", text)
    text = re.sub(r"\b(?:the|a) user['’]s\b", "my", text)
    found = re.findall(r"[^\s\"“”‘’]+", text)
    return [word.strip("'.,") for word in found if word.strip("'.,")]


def wording_of_description(tool: Tool, parts: Sequence[_Part], verb: str) -> _Wording | None:
    """Return the wording of a description's first sentence; None where it is no English command.

    Args:
        tool: the tool.
        parts: its parts that have words.
        verb: that of its name, for descriptions that are no commands.
    """
    found = first_sentence(tool.description)
    if not found or not all(re.fullmatch(r"[a-z0-9&+/'.-]+", word) for word in found):
        return None
    own = verb_of(found[0])
    rest = found[1:] if own else found
    if not own:
        is_thing = found[0] in words.DETERMINERS or english.number_of(" ".join(found[:3])) == "pl"
        if not is_thing or verb not in words.GETTING_VERBS or _is_said_of_it(found[0]):
            return None
        own = "get"
    if len(rest) > 1 and rest[0] in ("and", "or") and verb_of(rest[1]):
        rest = rest[2:]
    rest = _cut(own, rest)
    if not rest or len(rest) > _MOST_WORDS:
        rest = rest[: _until_preposition(rest)]
    if not rest or len(rest) > _MOST_WORDS:
        return None
    wording = _Wording(own, [], "description")
    _fill(wording, rest, parts)
    return wording


def _is_said_of_it(word: str) -> bool:
    """Return whether a word may be a verb in the third person: "indicates"."""
    import lemminflect

    return word not in lemminflect.getAllLemmas(word, upos="VERB").get("VERB", (word,))


def _cut(verb: str, rest: Sequence[str]) -> list[str]:
    """Return words up to a phrase of manner, or the beginning of another clause.

    >>> _cut("mark", "a todo as done using its id".split())
    ['a', 'todo', 'as', 'done']
    """
    for place, word in enumerate(rest):
        after = rest[place + 1] if place + 1 < len(rest) else ""
        is_state = verb in words.SETTING_VERBS and place + 2 == len(rest)  # "set it to heat"
        begins = (
            (word in words.STOPS and not _is_complement(verb, rest, place))
            or not any(map(str.isalnum, word))
            or (word in ("and", "or") and bool(after) and _begins_clause(after))
            or (word == "to" and after in words.VERBS and not is_state)
        )
        if place and begins:
            return list(rest[:place])
    return list(rest)


def _is_complement(verb: str, rest: Sequence[str], place: int) -> bool:
    """Return whether a word begins the complement of its verb, such as "as done"."""
    word, after = rest[place], rest[place + 1] if place + 1 < len(rest) else ""
    if word == "not":
        return bool(place) and rest[place - 1] == "as"
    if word != "as":
        return verb in words.COMPLEMENTS.get(word, ()) and bool(after)
    is_shape = verb in words.GETTING_VERBS | words.RECKONING_VERBS  # "return users as a list"
    is_state = after not in words.MANNERS and (after == "not" or after not in words.STOPS)
    return bool(after) and not is_shape and is_state


def _begins_clause(word: str) -> bool:
    is_verb = word in words.VERBS or (verb_of(word) and _is_said_of_it(word))
    return bool(is_verb) or word in words.DETERMINERS or word.endswith("ly")


def _until_preposition(rest: Sequence[str]) -> int:
    for place, word in enumerate(rest):
        if place and word in words.PREPOSITIONS and word != "of":
            return place
    return len(rest)


def _fill(wording: _Wording, rest: Sequence[str], parts: Sequence[_Part]) -> None:
    """Put phrases into a wording, with placeholders where a phrase names a required part."""
    waiting = [part for part in parts if part.is_required and not part.is_switch]
    phrases: list[list[str]] = [[]]
    for word in rest:
        if word in words.PREPOSITIONS and phrases[-1]:
            phrases.append([])
        phrases[-1].append(word)
    for place, phrase in enumerate(phrases):
        has_preposition = phrase[0] in words.PREPOSITIONS
        noun = phrase[1:] if has_preposition else phrase
        noun = [
            word
            for word, before in zip(noun, ["", *noun], strict=False)
            if word not in words.VAGUE or (word == "one" and before in words.ORDINAL_WORDS)
        ]
        is_last = place == len(phrases) - 1
        if phrase == ["on"] or (phrase == ["in"] and not is_last):  # a particle: "turn it on"
            wording.rest += phrase
            continue
        if not noun or all(word in words.DETERMINERS for word in noun):
            continue
        pair = _pair_of(phrase, noun, waiting)
        if pair:
            wording.parts |= {part.name for part in pair}
            wording.rest += [*phrase[:1], pair[0].mark, "and", pair[1].mark]
            continue
        part = next((part for part in waiting if _names(noun, part)), None)
        if part is None and place == 0 and not has_preposition:
            part = next((part for part in waiting if _identifies(wording.verb, noun, part)), None)
        is_vague = len(noun) < len(phrase) - has_preposition
        if part is None and has_preposition and is_vague and len(waiting) == 1:
            part = waiting[0]
        is_complement = phrase[0] in ("as", *words.COMPLEMENTS)
        if part is None and is_complement and any(_names(noun, p) for p in parts):
            continue  # what is optional is said by its own phrase
        first = phrase[:1] if has_preposition else []
        is_one = noun[0] in words.DETERMINERS and english.number_of(" ".join(noun)) != "pl"
        is_named = is_vague or is_one or (part is not None and part.is_list)
        if part is None or (phrase[0] == "of" and not is_named):
            wording.rest += [*first, *_again(noun)]
            continue
        waiting.remove(part)
        wording.parts.add(part.name)
        wording.rest += [*first, *_value_after(noun, part)]


def _pair_of(
    phrase: Sequence[str], noun: Sequence[str], waiting: Sequence[_Part]
) -> Sequence[_Part]:
    """Return two required parts that a phrase names together: "between two locations"."""
    is_phrase = phrase[0] in ("of", "between", "for") and len(noun) <= 3
    is_pair = is_phrase and (phrase[0] == "between" or "two" in phrase) and len(waiting) >= 2
    if not is_pair or english.number_of(" ".join(noun)) != "pl":
        return ()
    first, second = waiting[:2]
    is_alike = first.type == second.type and not first.is_list and not second.is_list
    head = english.singular(" ".join(noun)).split()[-1]
    labels = [label_of(part.path[-1]).split() for part in (first, second)]
    is_alike &= "two" in phrase or all(
        label[0] in words.DIRECTIONS or label[-1] == head for label in labels
    )
    others = [part for part in waiting[2:] if part.type == first.type]
    return () if others or not is_alike else (first, second)


def _names(noun: Sequence[str], part: _Part) -> bool:
    """Return whether a noun phrase is the label of a part."""
    if "and" in noun or "or" in noun:
        return False
    label = english.singular(label_of(part.path[-1])).split()
    given = [word for word in english.singular(" ".join(noun)).split()
             if word not in words.DETERMINERS]  # fmt: skip
    if part.is_number:
        return label == given
    is_other = len(label) > 1 and len(given) > 1 and not {*label[:-1]} & {*given[:-1]}
    return label[-1:] == given[-1:] and not is_other


def _identifies(verb: str, noun: Sequence[str], part: _Part) -> bool:
    """Return whether a part is the id of the one object of a command: "delete a note"."""
    is_one = noun[0] in words.DETERMINERS and english.number_of(" ".join(noun)) != "pl"
    is_there = verb not in words.MAKING_VERBS | words.SEEKING_VERBS | words.RECKONING_VERBS
    return label_of(part.path[-1]) in ("id", "identifier") and is_one and is_there


def _again(noun: list[str]) -> list[str]:
    """Return a noun phrase whose "a" or "an" is right after words were left out."""
    if noun[0] in ("a", "an") and len(noun) > 1:
        return [english.article(" ".join(noun[1:])), *noun[1:]]
    return noun


def _value_after(noun: list[str], part: _Part) -> list[str]:
    """Return a noun phrase with a placeholder after it: "the project $project"."""
    bare = noun[1:] if noun[0] in words.DETERMINERS or noun[0] == "another" else noun
    label = english.singular(label_of(part.path[-1]))
    if part.type.type in _BARE or label in words.PLACES or label in ("number", "value"):
        return [f"${{{part.name}}}"]
    text = english.singular(" ".join(bare)) if part.is_list or noun is not bare else " ".join(bare)
    return ["the", *text.split(), f"${{{part.name}}}"]


_BARE = (
    ty.DATE, ty.TIME, ty.Entity("tt:url"), ty.Entity("tt:email_address"),
    ty.Entity("tt:phone_number"),
)  # fmt: skip


# --------------------------------------------------------------------------------- phrases


def phrase_of(part: _Part, verb: str) -> str:
    """Return the phrase of a part after the words for a tool: "with a level of $level"."""
    label, type_, value = label_of(part.path[-1]), part.type, part.mark
    label = english.singular(label) if part.is_list and not part.is_number else label
    is_amount = part.is_number and label in words.NOT_OF_NUMBERS
    is_name = bool({*words_of(part.path[-1]).split()[-1:]} & words.NAMING_ENDS)
    return (
        _of_type(label, type_, value)
        or (None if is_amount else _of_label(label, value, verb))
        or (_of_numbers(label, value) if part.is_number and part.is_list else None)
        or (_of_number(label, value) if part.is_number and not is_name else None)
        or (f"in the {value}" if _kind(type_) in words.PLACES else None)
        or (_of_moment(label, value) if type_.sort == "text" else None)
        or _of_end(label, value)
        or f"with the {label} {value}"
    )


def _of_moment(label: str, value: str) -> str | None:
    """Return the phrase of a date or a time whose schema calls it a text."""
    last = label.split()[-1]
    if last in ("date", "day"):
        return _of_type(label, _DATE, value)
    return _of_type(label, _TIME, value) if last == "time" else None


_DATE, _TIME = ValueType("text", ty.DATE), ValueType("text", ty.TIME)


def other_phrase(text: str, part: _Part) -> str:
    """Return a phrase in other words: "with base $base" for "with a base of $base".

    The unit of a number follows from the description.
    """
    label = label_of(part.path[-1])
    if is_id(part) and not text.startswith(("from ", "to ")):
        is_bare = label == "id" or "the id" in text
        return f"with id {part.mark}" if is_bare else f"with {label} id {part.mark}"
    for pattern, other in words.OTHER_PHRASES:
        changed, number = pattern.subn(other, text)
        if number:
            text = changed
            break
    unit = _UNIT.search(part.field.description) if part.type.sort == "number" else None
    is_last = text.endswith(part.mark)
    return f"{text} {(unit[1] or unit[2]).lower()}" if unit and is_last else text


def is_id(part: _Part) -> bool:
    """Return whether a part is the id of something, a number or a text."""
    return words_of(part.path[-1]).split()[-1:] == ["id"] and not part.is_list


_UNIT = re.compile(rf"\bin (?:the )?({words.UNITS})\b|\((?:in )?({words.UNITS})\)", re.IGNORECASE)


def _kind(type_: ValueType) -> str:
    return type_.type.kind if isinstance(type_.type, ty.Entity) else ""


def _of_type(label: str, type_: ValueType, value: str) -> str | None:
    first, last = label.split()[0], label.split()[-1]
    is_begin = first in words.BEGINS or last in words.BEGINS
    is_end = first in words.ENDS or last in words.ENDS
    match type_.type:
        case ty.DATE:
            return f"{'from' if is_begin else 'until' if is_end else 'on'} {value}"
        case ty.TIME:
            return f"{'from' if is_begin else 'until' if is_end else 'at'} {value}"
        case ty.Measure():
            return f"for {value}"
        case ty.Entity("tt:email_address" | "tt:phone_number"):
            if first in ("from", "sender"):
                return f"from {value}"
            return f"with a copy to {value}" if first in ("cc", "bcc") else f"to {value}"
        case ty.Entity("tt:url"):
            return f"to {value}" if is_end else f"from {value}"
        case _:
            return None


def _of_label(label: str, value: str, verb: str) -> str | None:
    if label in words.QUERY_LABELS:
        return f"for {value}" if verb in words.SEEKING_VERBS else f"about {value}"
    if label in words.SPEECH_LABELS and verb in words.SPEAKING_VERBS:
        return f"saying {value}"
    if label in words.NAME_LABELS:
        if label == "title":
            return f"with the title {value}"
        return f"called {value}" if verb in words.MAKING_VERBS else f"named {value}"
    pattern = words.PHRASES.get(label)
    return pattern.replace("#", value) if pattern else None


def _of_numbers(label: str, value: str) -> str:
    is_bare = english.singular(label) in ("number", "value")
    return f"of {value}" if is_bare else f"with {english.plural(label)} of {value}"


def _of_number(label: str, value: str) -> str:
    first, _, rest = label.partition(" ")
    if first in ("max", "maximum", "min", "minimum") and rest:
        bound = "at most" if first.startswith("max") else "at least"
        if english.number_of(rest) == "pl":
            return f"with {bound} {value} {rest}"
        return f"with {english.article(rest)} {rest} of {bound} {value}"
    if len(label) == 1 or label[-1].isdigit():
        return f"with {label} {value}"
    thing, unit = _split_unit(label)
    if unit:
        return f"with {english.article(thing)} {thing} of {value} {unit}"
    counted = re.sub(r"^n(?:umber)?(?: of)? | count$", "", label)
    if counted != label:
        return f"with {value} {english.plural(counted)}"
    if english.number_of(label) == "pl":
        return f"for {value} {label}" if label in words.SPANS else f"with {value} {label}"
    if label in words.ORDINALS or label.split()[-1] in ("id", "index"):
        return f"with the {label} {value}"
    return f"with {english.article(label)} {label} of {value}"


def _split_unit(label: str) -> tuple[str, str]:
    """Return a label without its unit, and that: "weight kg", "period in years"."""
    *thing, last = label.split()
    if thing and last in words.UNIT_ENDS and not thing[-1].endswith("ing"):
        return " ".join(thing), words.UNIT_ENDS[last]
    if len(thing) > 1 and thing[-1] == "in" and english.number_of(last) == "pl":
        return " ".join(thing[:-1]), last
    return label, ""


def _of_end(label: str, value: str) -> str | None:
    """Return a phrase by the last or first word of a label: "from the start city"."""
    first, last = label.split()[0], label.split()[-1]
    if first in words.DIRECTIONS and label != first:
        rest = label.partition(" ")[2]
        is_bare = rest in words.PLACES or rest in words.LAST or rest in words.MOMENTS
        shown = value if is_bare else f"the {rest} {value}"
        return f"{words.DIRECTIONS[first]} {shown}"
    if last in words.LAST:
        return words.LAST[last].replace("#", value).replace("@", label)
    return f"in {value}" if last in words.PLACES else None


def switch_phrases(label: str) -> tuple[str, str]:
    """Return the phrases for true and false of a label.

    >>> switch_phrases("include comments"), switch_phrases("is private")
    (('with comments', 'without comments'), ('private', 'not private'))
    >>> switch_phrases("sound")
    ('with sound on', 'with sound off')
    """
    first, _, rest = label.partition(" ")
    if rest and first in words.INCLUDING:
        return f"with {rest}", f"without {rest}"
    if rest and first in ("no", "skip", "ignore", "exclude", "disable", "without", "hide"):
        return f"without {rest}", f"with {rest}"
    if rest and first == "is":
        return rest, f"not {rest}"
    if label in words.ADVERBS:
        return words.ADVERBS[label], f"not {words.ADVERBS[label]}"
    return f"with {label} on", f"with {label} off"


# --------------------------------------------------------------------------------- writing


class _Writer:
    """Writes the templates of tools one after the other.

    Attributes:
        categories: those that were used.
    """

    def __init__(self, library: ToolLibrary, names: Mapping[str, str]):
        self.library, self.names = library, names
        self.language = get_language(library.language)
        self.notes: list[Note] = []
        self.said: set[str] = set()
        self.count = 0
        self.categories: set[str] = set()
        self.prefix = _common_prefix(library.tools)
        self._utterances: set[str] = set()
        self._values: dict[tuple[tuple[str, str], ...], str] = {}

    def tool(self, tool: Tool, place: Place) -> list[str]:
        """Return the templates of a tool, after a comment; nothing where it has no words."""
        parts, unsaid = _parts_of(tool)
        for path, why in unsaid:
            self._note(place, path, why, "left out")
        wordings = self._wordings(tool, parts)
        if not wordings:
            self._note(place, (), "no English is found in its name and description: write its "
                       "templates", "left out")  # fmt: skip
            return []
        lines: list[str] = []
        for wording in wordings:
            if not wording.is_spare or not lines:
                lines += self._templates(tool, wording, parts, place, with_optional=not lines)
        if not lines:
            self._note(place, (), "its words are those of another tool: write its templates",
                       "left out")  # fmt: skip
            return []
        self.said.add(tool.name)
        shown = "; ".join(" ".join([w.verb, *w.rest]).replace("${", "$").replace("}", "")
                          for w in wordings if not w.is_spare)  # fmt: skip
        self._note(place, (), f"asked for as: {shown}", "guess")
        for part in parts:
            if part.name not in wordings[0].parts:
                said = self._said(part, wordings[0], set())
                self._note(place, part.path, f"said as: {said}", "guess")
            names = value_words(tuple(value_text(v).strip("'") for v in part.type.values))
            apart = [
                f"{n} as: {said}"
                for n, said in names.items()
                if said and said not in (n, words_of(n))
            ]
            if apart:
                self._note(place, part.path, f"values said apart: {'; '.join(apart)}", "guess")
        about = " ".join(tool.description.split())[:90].replace("*/", "")
        return [f"\n// {tool.name}{': ' + about if about else ''}", *lines]

    def _note(self, place: Place, path: tuple[str, ...], text: str, sort: str) -> None:
        whole = (*place, *(("parameters", *path) if path else ()))
        self.notes.append(Note(path_text(whole), text, sort))  # type: ignore[arg-type]

    def _wordings(self, tool: Tool, parts: Sequence[_Part]) -> list[_Wording]:
        by_name = wording_of_name(self.names.get(tool.name, tool.name), self.prefix)
        verb = by_name.verb if by_name else "get" if tool.is_query else ""
        by_description = wording_of_description(tool, parts, verb)
        if by_name is not None and by_description is not None:
            is_got = by_description.verb in words.GETTING_VERBS | words.RECKONING_VERBS
            is_needed = by_name.origin == "name" or (by_name.origin == "noun" and is_got)
            by_name.is_spare = not is_needed or not by_name.rest or _says_little(by_name)
        if by_name is not None:
            _merge_object(by_name, parts)
        for wording in (by_description, by_name):
            if wording is not None:
                _merge_numbered(wording, parts)
        kept: dict[str, _Wording] = {}
        for wording in (by_description, by_name):
            if wording is not None and wording.rest:
                kept.setdefault(f"{wording.verb} {' '.join(wording.rest)}", wording)
        if not kept and by_name is not None:
            kept[by_name.verb] = by_name
        return list(kept.values())

    def _templates(
        self, tool: Tool, wording: _Wording, parts: Sequence[_Part], place: Place, *,
        with_optional: bool,
    ) -> Iterator[str]:  # fmt: skip
        """Yield the templates of one wording, with a few optional parts at a time."""
        used: set[str] = set()
        spoken = [p for p in parts if p.name in wording.parts]
        waiting = [p for p in parts if p.is_required and p.name not in wording.parts]
        optional = [p for p in parts if not p.is_required and p.name not in wording.parts]
        after = _in_a_row([self._said(part, wording, used) for part in waiting])
        bundles = [b for b in _bundles(optional) if self._fits(tool, [*spoken, *waiting], [b])]
        if with_optional:
            kept = {part.name for bundle in bundles for part in bundle}
            for part in optional:
                if part.name not in kept:
                    why = "a call with it alone is not well-typed"
                    self._note(place, part.path, why, "left out")
        groups = [bundles[i : i + _MOST_OPTIONAL] for i in range(0, len(bundles), _MOST_OPTIONAL)]
        for number, group in enumerate((groups or [[]])[: None if with_optional else 1]):
            others = [" ".join(self._said(p, wording, used) for p in bundle) for bundle in group]
            said = [*spoken, *waiting, *(part for bundle in group for part in bundle)]
            if not self._fits(tool, [*spoken, *waiting], group):
                continue
            items = [
                *([" ".join(wording.rest)] if wording.rest else []), *after,
                *(f"({text})?" for text in others),
            ]  # fmt: skip
            for category, verbs in _openings(wording, is_first=number == 0):
                line = self._line(tool, category, verbs, items, said, is_other=False)
                if line:
                    yield line
        yield from self._in_other_words(tool, wording, parts, bundles, is_first=with_optional)
        if with_optional:
            yield from self._by_frames(tool, wording, spoken, waiting)

    def _by_frames(
        self, tool: Tool, wording: _Wording, spoken: Sequence[_Part], waiting: Sequence[_Part]
    ) -> Iterator[str]:
        """Yield templates with everyday English commands for a wording, without optional parts."""
        used: set[str] = set()
        after = _in_a_row([self._said(part, wording, used) for part in waiting])
        tokens = " ".join([wording.verb, *wording.rest, *after]).split()
        said = [*spoken, *waiting]
        if any(part.is_switch for part in said) or not self._fits(tool, said, []):
            return
        marks = {chr(_FIRST_MARK + place): part.mark for place, part in enumerate(said)}
        masks = {mark: mask for mask, mark in marks.items()}
        masked = [masks.get(token, token) for token in tokens]
        known = {(verb, *masked[1:]) for verb in words.SYNONYMS.get(wording.verb, ())}
        commands = (
            other
            for other in frames_of(DEFAULT).same(masked)
            if other not in known and english.starts_with_verb(" ".join(other[:3]))
        )
        for verb, *rest in islice(commands, _MOST_BY_FRAMES):
            text = " ".join(marks.get(token, token) for token in rest)
            if line := self._line(tool, "VP", (verb,), (text,), said, is_other=False):
                yield line

    def _in_other_words(
        self, tool: Tool, wording: _Wording, parts: Sequence[_Part],
        bundles: Sequence[Sequence[_Part]], *, is_first: bool,
    ) -> Iterator[str]:  # fmt: skip
        """Yield the templates of a wording in another order: "find 5 italian restaurants"."""
        optional = [bundle[0] for bundle in bundles if len(bundle) == 1]
        must = [p for p in parts if p.is_required and p.name not in wording.parts]
        spoken = [p for p in parts if p.name in wording.parts]
        first = _values_first(wording, [*must, *optional], spoken)
        spoken = [p for p in parts if p.name in first.parts]
        waiting = [p for p in must if p.name not in first.parts][::-1]
        group = [bundle for bundle in bundles if bundle[0].name not in first.parts]
        group = group[::-1][:_MOST_OPTIONAL]
        if not self._fits(tool, [*spoken, *waiting], group):
            return
        used: set[str] = set()
        after = [self._otherwise(part, first, used) for part in waiting]
        others = [" ".join(self._otherwise(p, first, used) for p in bundle) for bundle in group]
        items = [
            *([" ".join(first.rest)] if first.rest else []), *_in_a_row(after),
            *(f"({text})?" for text in others),
        ]  # fmt: skip
        said = [*spoken, *waiting, *(part for bundle in group for part in bundle)]
        for category, verbs in _openings(first, is_first=is_first):
            line = self._line(tool, category, verbs, items, said, is_other=True)
            if line and category != "SHOW":
                yield line

    def _otherwise(self, part: _Part, wording: _Wording, used: set[str]) -> str:
        text = self._said(part, wording, used)
        return text if part.is_switch else other_phrase(text, part)

    def _line(
        self, tool: Tool, category: str, verbs: Sequence[str], items: Sequence[str],
        said: Sequence[_Part], *, is_other: bool,
    ) -> str:  # fmt: skip
        """Return a template; "" where a tool has the same utterance already."""
        body = _call_text(tool, said, is_other=is_other)
        shown = (self._item(text, said, is_other=is_other) for text in items)
        utterance = " ".join([_choice(verbs), *shown])
        if utterance in self._utterances:
            return ""
        self._utterances.add(utterance)
        self.categories.add(category)
        self.count += 1
        line = f"{category} := {utterance} -> {body};"
        return line if len(line) <= 110 else f"{category} := {utterance}\n  -> {body};"

    def _fits(self, tool: Tool, said: Sequence[_Part], optional: Sequence[Sequence[_Part]]) -> bool:
        """Return whether a body is well-typed, whichever of the optional bundles are absent."""
        whole = [*said, *(part for bundle in optional for part in bundle)]
        holes = {part.name: "value" for part in whole if part.is_child}
        body = _call_text(tool, whole)
        try:
            for chosen in product((True, False), repeat=len(optional)):
                gone = [b for b, is_gone in zip(optional, chosen, strict=True) if is_gone]
                absent = [name for bundle in gone for part in bundle for name in part.names()]
                self.language.bodies.compile(body, holes, self.library, whole=True, absent=absent)
        except GenieError:
            return False
        return True

    def _said(self, part: _Part, wording: _Wording, used: set[str]) -> str:
        """Return the phrase of a part; in other words where these were used before.

        Args:
            part: the part.
            wording: of the tool.
            used: the words before other values of this sentence; those of this phrase are added.
        """
        if part.is_switch:
            return " / ".join(switch_phrases(label_of(part.path[-1])))
        before = {" ".join(wording.rest[max(0, i - 1) : i]) for i in range(len(wording.rest))}
        text = phrase_of(part, wording.verb if "search" not in wording.rest else "search")
        thing = [word for word in wording.rest if word not in words.DETERMINERS]
        if wording.verb in words.SETTING_VERBS and label_of(part.path[-1]) == " ".join(thing):
            text = f"to ${{{part.name}}}"
        if is_id(part) and label_of(part.path[-1]) == " ".join(thing):
            text = f"with the id {part.mark}"
        start = text.partition("${")[0].strip()
        is_again = start in before and f"{start} ${{" in " ".join(wording.rest)
        if start != "with" and (start in used or is_again):
            label = label_of(part.path[-1])
            text = f"with the {label} ${{{part.name}}}"
            start = f"with the {label}"
        used.add(start)
        return text

    def _item(self, text: str, said: Sequence[_Part], *, is_other: bool) -> str:
        """Return words with placeholders as an item of an utterance."""
        is_optional = text.startswith("(")
        inner = text[1:-2] if is_optional else text
        item = ""
        for part in said:
            inner = part.listed(inner, is_other=is_other)
            if part.is_switch and inner == " / ".join(switch_phrases(label_of(part.path[-1]))):
                item = f"{part.name}:{self._category(part)}"
        if not item:
            pieces = [inner]
            for part in sorted(said, key=lambda part: inner.find(part.mark)):
                mark = part.mark
                if part.is_child and mark in inner:
                    before, _, after = pieces[-1].partition(mark)
                    pieces[-1:] = [
                        before.strip(),
                        f"{part.name}:{self._category(part)}",
                        after.strip(),
                    ]
            shown = [p if i % 2 else _quoted(p) for i, p in enumerate(pieces) if p]
            item = " ".join(shown)
        return f"({item})?" if is_optional else item

    def _category(self, part: _Part) -> str:
        """Return the category of the values of a part."""
        label = label_of(part.path[-1])
        values: tuple[tuple[str, str], ...]
        if part.switch is not None:
            values = tuple(zip(switch_phrases(label), part.switch, strict=True))
        else:
            texts = [value_text(value) for value in part.type.values]
            names = value_words(tuple(text.strip("'") for text in texts))
            values = tuple((said, text) for text in texts if (said := names[text.strip("'")]))
        if values not in self._values:
            name = re.sub(r"\W+", "_", label).upper().strip("_") or "VALUE"
            name = f"IS_{name}" if part.is_switch else f"ANY_{name}"
            taken = set(self._values.values())
            numbered = (f"{name}{number or ''}" for number in count())
            self._values[values] = next(one for one in numbered if one not in taken)
        return self._values[values]

    def values(self) -> Iterator[str]:
        """Yield the categories of values, those of true and false first."""
        for values, name in sorted(
            self._values.items(), key=lambda pair: (pair[1][0] != "I", pair[1])
        ):
            yield f"category {name} : value;"
            yield from (f"{name} := {_quoted(said)} -> {value};" for said, value in values)


def _openings(wording: _Wording, *, is_first: bool) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the categories of a wording's templates, with the words that each begins with."""
    verb, rest = wording.verb, wording.rest
    yield "VP", words.SYNONYMS.get(verb, (verb,))
    if not is_first or not rest:
        return
    is_thing = rest[0] == "the" and len(rest) > 1 and not rest[1].startswith("$")
    if verb in words.RECKONING_VERBS and is_thing:
        be = "are" if english.number_of(_head_of(rest)) == "pl" else "is"
        yield "QUESTION", (f"what {be}",)
    if verb in words.GETTING_VERBS:
        is_the = is_thing and verb in words.ASKING_VERBS
        yield "SHOW", ("show me", "give me", *(("tell me",) if is_the else ()))
        if is_the:
            be = "are" if english.number_of(_head_of(rest)) == "pl" else "is"
            yield "QUESTION", (f"what {be}",)


def _values_first(wording: _Wording, parts: Sequence[_Part], spoken: Sequence[_Part]) -> _Wording:
    """Return a wording with values before its noun: "find $limit $category recipes".

    Args:
        wording: such as "find the recipes".
        parts: the parts that it lacks, of which some may be missing.
        spoken: the parts that it has; an id is marked as such: "the dashboard with id $id".
    """
    first = _Wording(wording.verb, list(wording.rest), wording.origin, set(wording.parts))
    for part in spoken:
        if is_id(part) and part.mark in first.rest:
            place = first.rest.index(part.mark)
            first.rest[place:place] = ["with", "id"]
    end = _until_preposition(first.rest)
    noun = [word for word in first.rest[:end] if word not in words.DETERMINERS]
    if not noun or any(word.startswith("$") for word in noun):
        return first
    moved = _moved_value(parts) if wording.verb == "convert" else ()
    if moved:
        number, source, target = moved
        first.rest = [number.mark, source.mark, "to", target.mark]
        first.parts |= {part.name for part in moved}
        return first
    before: list[str] = []
    is_many = english.number_of(" ".join(noun)) == "pl"
    for part in parts:
        label = label_of(part.path[-1])
        is_count = part.is_number and label in words.COUNT_LABELS and is_many
        is_kind = part.type.sort in ("text", "enum") and label.split()[-1] in words.KIND_LABELS
        if (is_count or (is_kind and not part.is_switch)) and len(before) < 2:
            before.insert(0 if is_count else len(before), part.mark)
            first.parts.add(part.name)
    if not before:
        return first
    is_counted = is_many or first.rest[0] not in words.DETERMINERS
    article = [] if is_counted else ["a" if first.rest[0] == "an" else first.rest[0]]
    first.rest = [*article, *before, *noun, *first.rest[end:]]
    return first


def _moved_value(parts: Sequence[_Part]) -> tuple[_Part, ...]:
    """Return a number and the two units of its conversion; nothing where they are not three."""
    numbers = [part for part in parts if part.is_number and not part.is_list]
    sides = {phrase_of(p, "").split()[0]: p for p in parts if not p.is_number and not p.is_switch}
    is_whole = len(numbers) == 1 and {"from", "to"} <= sides.keys()
    return (numbers[0], sides["from"], sides["to"]) if is_whole else ()


def _merge_object(wording: _Wording, parts: Sequence[_Part]) -> None:
    """Let the object of a name be a part that it names: "delete the project $project"."""
    texts = [p for p in parts if p.is_required and p.type.sort in ("text", "any", "enum")]
    if not wording.rest and texts:
        label = english.singular(label_of(texts[0].path[-1]))
        wording.rest = ["the", *label.split(), f"${{{texts[0].name}}}"]
        wording.parts.add(texts[0].name)
        return
    noun = [w for w in wording.rest if w not in words.DETERMINERS]
    if not wording.rest or wording.verb in words.MAKING_VERBS or len(noun) > 4:
        return
    if any(word in words.PREPOSITIONS for word in noun):
        rest, wording.rest = wording.rest, []
        _fill(wording, rest, parts)
        return
    for part in parts:
        is_text = part.type.sort in ("text", "any") and not part.is_switch
        if part.is_required and is_text and label_of(part.path[-1]) == " ".join(noun):
            wording.rest = _value_after(noun, part)
            wording.parts.add(part.name)
            return


def _merge_numbered(wording: _Wording, parts: Sequence[_Part]) -> None:
    """Put numbered parts into one phrase: "with sides $side1, $side2 and $side3"."""
    waiting = [p for p in parts if p.is_required and p.name not in wording.parts]
    waiting = [p for p in waiting if p.is_number or label_of(p.path[-1])[-1].isdigit()]
    stems = {label_of(part.path[-1])[:-1].strip() for part in waiting}
    ends = {label_of(part.path[-1])[-1] for part in waiting}
    is_same = len(stems) == 1 and len(waiting) in (2, 3) and len(ends) == len(waiting)
    if not wording.rest or not is_same or any(part.is_list for part in waiting):
        return
    [stem] = stems
    if not stem and len(waiting) != 2:  # a, b and c: each has a meaning of its own
        return
    is_bare = stem in ("", "number", "value", "integer")
    said = ["of"] if is_bare and "of" not in wording.rest else ["for"]
    if not is_bare:
        is_count = all(part.is_number for part in waiting)
        said = ["with", *english.plural(stem).split()] if is_count else ["between"]
    for place, part in enumerate(waiting):
        left = len(waiting) - 1 - place
        said += [f"{part.mark}," if left > 1 else part.mark, *(["and"] if left == 1 else ())]
    wording.rest += said
    wording.parts |= {part.name for part in waiting}


def _says_little(wording: _Wording) -> bool:
    """Return whether a name has vague words alone: "process the data"."""
    thing = [word for word in wording.rest if word not in words.DETERMINERS]
    return all(word in words.SAYING_LITTLE for word in (wording.verb, *thing))


def _common_prefix(tools: Mapping[str, Tool]) -> str:
    """Return the first word of most names of a library, if it is no verb."""
    firsts = [words_of(name).split()[:1] for name in tools]
    counts: dict[str, int] = {}
    for first in firsts:
        for word in first:
            counts[word] = counts.get(word, 0) + 1
    for word, number in counts.items():
        if number >= 3 and 3 * number >= 2 * len(tools) and not verb_of(word):
            return word
    return ""


def _in_a_row(phrases: Sequence[str]) -> list[str]:
    """Return phrases one after the other: "with the title $t", "and the text $x"."""
    found: list[str] = []
    for place, phrase in enumerate(phrases):
        before = phrases[place - 1] if place else ""
        is_again = _is_with(before) and _is_with(phrase)
        found.append("and " + phrase.removeprefix("with ") if is_again else phrase)
    return found


def _is_with(phrase: str) -> bool:
    return phrase.startswith("with ") and " / " not in phrase  # as switches have


def _choice(alternatives: Sequence[str]) -> str:
    if len(alternatives) == 1:
        return _quoted(alternatives[0])
    return f"({' | '.join(map(_quoted, alternatives))})"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "").replace("'", "\\'") + "'"


def _head_of(rest: Sequence[str]) -> str:
    return " ".join(rest[: _until_preposition(rest)])
