"""The first templates of a library of tools, guessed from names and descriptions.

A tool is said by what its name says ("get the stock price") and by the first sentence of its
description. What is required follows in phrases ("for the symbol $symbol"), what is optional in
optional parts, a few in each template. All of it is to be edited: every guess has a note.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages import types as ty
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import Tool, ToolLibrary, words_of
from genie_dp.languages.calls.schema import Field, ValueType
from genie_dp.languages.calls.text import render
from genie_dp.skills.imported import Note, Place, path_text
from genie_dp.templates import cold_words as words
from genie_dp.templates import english

_MOST_OPTIONAL = 3  # optional parts of a template
_MOST_WAYS = 64  # of saying a template; G026 stops at 256
_MOST_WORDS = 9  # of what a description says
_MOST_FIELDS = 6  # of an object that are said one by one

_HEAD = """\
// Templates to begin with, made by `genie-dp import`: edit them. REVIEW.md lists what was guessed.

category COMMAND : program root "whole sentences";
category VP : program "what can be asked for: set the lights";
category QUESTION : program "questions: what is the weather";

COMMAND := a:VP -> a;
COMMAND := ('please' | 'can you' | 'could you' | 'i want to' | 'i would like to') a:VP -> a;
COMMAND := a:VP 'please' -> a;
COMMAND := q:QUESTION -> q;
COMMAND := a:VP 'and' b:VP -> a & b if a.count == 1 and b.count == 1;
"""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The templates of a library.

    Attributes:
        text: of the template file.
        notes: what was guessed, and what the templates do not say.
        said: the tools that have templates.
        count: how many templates there are.
    """

    text: str
    notes: tuple[Note, ...]
    said: frozenset[str]
    count: int


def cold_start(library: ToolLibrary, places: Mapping[str, Place]) -> ColdStart:
    """Return the first templates of a library.

    Args:
        library: its tools.
        places: where each tool stands in what was imported.
    """
    writer = _Writer(library)
    blocks = []
    for tool in library.tools.values():
        block = writer.tool(tool, places.get(tool.name, (tool.name,)))
        if block:
            blocks.append("\n".join(block))
    head = _HEAD if len(library.tools) > 1 else _HEAD.replace(_HEAD.splitlines()[-1] + "\n", "")
    if not writer.has_questions:
        head = "\n".join(line for line in head.split("\n") if "QUESTION" not in line)
    text = "\n".join([head, *writer.switches(), *blocks]).rstrip("\n") + "\n"
    return ColdStart(text, tuple(writer.notes), frozenset(writer.said), writer.count)


# ------------------------------------------------------------------------------ parameters


@dataclass(frozen=True, slots=True)
class _Part:
    """Something of a call that is said: a parameter, or a field of one.

    Attributes:
        path: the names that lead to it.
        field: what the schema says of it.
        name: of its placeholder, or of its child.
        is_required: whether every sentence says it.
    """

    path: tuple[str, ...]
    field: Field
    name: str
    is_required: bool

    @property
    def type(self) -> ValueType:
        """Return the type of one value of it."""
        type_ = self.field.type
        if type_.sort == "union":
            return next((option for option in type_.options if _is_said(option)), type_)
        return type_.item if type_.sort == "array" and type_.item is not None else type_

    @property
    def is_list(self) -> bool:
        """Tell whether it takes a list; what is said is one item of it."""
        return self.field.type.sort == "array"

    @property
    def is_switch(self) -> bool:
        """Tell whether it is true or false, which have words of their own."""
        return self.type.sort == "boolean"


def _is_said(type_: ValueType) -> bool:
    match type_.sort:
        case "array":
            return type_.item is not None and type_.item.sort in ("text", "number", "enum")
        case "union":
            return any(map(_is_said, type_.options))
        case "enum":
            return any(words_of(name) for name in type_.type.values)
        case _:
            return type_.sort in ("text", "number", "boolean", "any")


def _parts_of(tool: Tool) -> tuple[list[_Part], list[tuple[tuple[str, ...], str]]]:
    """Return what of a tool's parameters is said, and what is not, with the reason."""
    parts: list[_Part] = []
    unsaid: list[tuple[tuple[str, ...], str]] = []
    taken: set[str] = set()

    def add(path: tuple[str, ...], given: Field, *, is_required: bool) -> None:
        name = re.sub(r"\W+", "_", "_".join(path)).strip("_")
        name = name if name[:1].isalpha() else f"x_{name}"
        while name in taken:
            name += "_"
        taken.add(name)
        parts.append(_Part(path, given, name, is_required))

    for parameter in tool.parameters:
        fields = parameter.type.fields
        if _is_said(parameter.type):
            add((parameter.name,), parameter, is_required=parameter.is_required)
        elif parameter.type.sort == "object" and 0 < len(fields) <= _MOST_FIELDS:
            for inner in fields:
                path = (parameter.name, inner.name)
                if _is_said(inner.type):
                    must = parameter.is_required and inner.is_required
                    add(path, inner, is_required=must)
                else:
                    unsaid.append((path, f"{inner.type} is not said in words"))
        else:
            unsaid.append(((parameter.name,), f"{parameter.type} is not said in words"))
    return parts, unsaid


def _call_text(tool: Tool, parts: Iterable[_Part]) -> str:
    """Return the body of a template that says these parts."""
    fields: dict[str, list[ast.Argument]] = {}
    arguments: dict[str, ast.Value] = {}
    for part in parts:
        value: ast.Value = ast.Hole(part.name, is_placeholder=not part.is_switch)
        value = ast.Array((value,)) if part.is_list else value
        if len(part.path) == 1:
            arguments[part.path[0]] = value
        else:
            fields.setdefault(part.path[0], []).append(ast.Argument(part.path[1], value))
    arguments |= {name: ast.Record(tuple(given)) for name, given in fields.items()}
    given = tuple(ast.Argument(name, value) for name, value in arguments.items())
    return render(ast.Program(((ast.Call(tool.name, given),),)))


# --------------------------------------------------------------------------------- wording


@dataclass(slots=True)
class _Wording:
    """A way to ask for a tool, without what its parameters add.

    Attributes:
        verb: its verb, in the infinitive.
        rest: the words after it; parts stand there as "$name".
        parts: the names of these.
        origin: "name" or "description".
    """

    verb: str
    rest: list[str]
    origin: str
    parts: set[str] = field(default_factory=set)


def label_of(name: str) -> str:
    """Return what people call a parameter.

    >>> [label_of(name) for name in ("userId", "max_num_results", "file_path", "id", "lang")]
    ['user', 'max number results', 'file', 'id', 'language']
    """
    found = [words.ABBREVIATIONS.get(word, word) for word in words_of(name).split()]
    while len(found) > 1 and found[-1] in words.DROPPED_ENDS:
        found.pop()
    joined = " ".join(found)
    return words.LABELS.get(joined, joined)


@lru_cache(maxsize=65536)
def verb_of(word: str) -> str:
    """Return a verb in the infinitive; "" for what is none.

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
    """Return what a name says; None where it has no English word.

    Args:
        name: of the tool.
        prefix: the first word of all names of its library, which says nothing; or "".
    """
    pieces = [words_of(piece) for piece in re.split(r"[./:]|__", name)]
    *spaces, last = [piece for piece in pieces if piece] or [""]
    found = [words.ABBREVIATIONS.get(word, word) for word in last.split()]
    if prefix and len(found) > 1 and found[0] == prefix:
        found = found[1:]
    found = [word for word in found if not word.isdigit() or len(found) > 1]
    if not found or not all(re.fullmatch(r"[a-z0-9]+", word) for word in found):
        return None
    verb, rest = verb_of(found[0]), found[1:]
    if not verb and len(found) > 1 and verb_of(found[-1]) in words.ENDING_VERBS:
        verb, rest = verb_of(found[-1]), found[:-1]
    if not verb:
        verb, rest = "get", found
    for place, word in enumerate(rest):
        if place and word in words.NAME_ENDS:
            rest = rest[:place]
            break
    if not rest and spaces:
        rest = spaces[-1].split()
    return _Wording(verb, _with_article(verb, rest), "name")


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
    number = english.number_of(phrase)
    if verb in words.MAKING_VERBS:
        first = english.article(phrase) if number == "sg" else ""
    else:
        first = "the"
    return [*([first] if first else []), *noun]


_LEADS = re.compile(
    r"^(?:(?:this|the) (?:tool|function|endpoint|api|method|operation|command|action)s?\b ?"
    r"|(?:a |an )?(?:tool|function|utility)s? (?:to|for|that)\b ?"
    r"|(?:is |are |can be |that is )?used (?:to|for)\b ?|use this(?: tool| function)?(?: to| for)?\b ?"
    r"|(?:which |that )?(?:allows?|lets?|enables?)(?: you| users?| the user)?(?: to)?\b ?"
    r"|(?:will|can|helps?(?: to)?|automatically|simply|to|easily|quickly)\b ?)+"
)
_SENTENCE = re.compile(r"(?<=[\w)\]'\"])[.!?;:](?=\s|$)|\n|\s[-–—]\s|\(|\[|,")


def first_sentence(description: str) -> list[str]:
    """Return the words of the first thing that a description says, in lower case.

    >>> first_sentence("This tool retrieves the weather (now). It is fast.")
    ['retrieves', 'the', 'weather']
    """
    text = " ".join(description.replace("`", "").replace("*", "").split(" ")).strip()
    text = _SENTENCE.split(text, maxsplit=1)[0]
    text = _LEADS.sub("", text.lower().strip())
    found = re.findall(r"[^\s\"“”‘’]+", text)
    return [word.strip("'.,") for word in found if word.strip("'.,")]


def wording_of_description(tool: Tool, parts: Sequence[_Part], verb: str) -> _Wording | None:
    """Return what the first sentence of a description says; None where it is no English command.

    Args:
        tool: the tool.
        parts: what of it may be said.
        verb: that of its name, for descriptions that are no commands.
    """
    found = first_sentence(tool.description)
    if not found or not all(re.fullmatch(r"[a-z0-9&+/'.-]+", word) for word in found):
        return None
    own = verb_of(found[0])
    rest = found[1:] if own else found
    if not own:
        is_thing = found[0] in words.DETERMINERS or english.number_of(" ".join(found[:3])) == "pl"
        if not is_thing or verb not in words.GETTING_VERBS:
            return None
        own = "get"
    if len(rest) > 1 and rest[0] in ("and", "or") and verb_of(rest[1]):
        rest = rest[2:]
    rest = _cut(rest)
    if not rest or len(rest) > _MOST_WORDS:
        rest = rest[: _until_preposition(rest)]
    if not rest or len(rest) > _MOST_WORDS:
        return None
    wording = _Wording(own, [], "description")
    _fill(wording, rest, parts)
    return wording


def _cut(rest: Sequence[str]) -> list[str]:
    """Return words up to what says how, or begins another sentence."""
    for place, word in enumerate(rest):
        begins = word in words.STOPS or (
            word in ("and", "or") and place + 1 < len(rest) and _begins_clause(rest[place + 1])
        )
        if place and begins:
            return list(rest[:place])
    return list(rest)


def _begins_clause(word: str) -> bool:
    return word in words.VERBS or word in words.DETERMINERS or word.endswith("ly")


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
    for phrase in phrases:
        has_preposition = phrase[0] in words.PREPOSITIONS
        noun = phrase[1:] if has_preposition else phrase
        noun = [word for word in noun if word not in words.VAGUE]
        if not noun or all(word in words.DETERMINERS for word in noun):
            continue
        part = next((part for part in waiting if _names(noun, part)), None)
        is_vague = len(noun) < len(phrase) - has_preposition
        if part is None and has_preposition and is_vague and len(waiting) == 1:
            part = waiting[0]
        first = phrase[:1] if has_preposition else []
        if part is None or (has_preposition and phrase[0] == "of" and not is_vague):
            wording.rest += [*first, *_again(noun)]
            continue
        waiting.remove(part)
        wording.parts.add(part.name)
        wording.rest += [*first, *_value_after(noun, part)]


def _names(noun: Sequence[str], part: _Part) -> bool:
    """Tell whether a noun phrase is what a part is called."""
    label = label_of(part.path[-1]).split()
    head = english.singular(" ".join(noun)).split()[-1:]
    return english.singular(" ".join(label)).split()[-1:] == head


def _again(noun: list[str]) -> list[str]:
    """Return a noun phrase whose "a" or "an" is right after words were left out."""
    if noun[0] in ("a", "an") and len(noun) > 1:
        return [english.article(" ".join(noun[1:])), *noun[1:]]
    return noun


def _value_after(noun: list[str], part: _Part) -> list[str]:
    """Return a noun phrase with a placeholder after it: "the project $project"."""
    bare = noun[1:] if noun[0] in words.DETERMINERS else noun
    if part.type.type in _BARE or label_of(part.path[-1]) in words.PLACES:
        return [f"${{{part.name}}}"]
    text = english.singular(" ".join(bare)) if part.is_list or noun is not bare else " ".join(bare)
    return ["the", *text.split(), f"${{{part.name}}}"]


_BARE = (
    ty.DATE, ty.TIME, ty.Entity("tt:url"), ty.Entity("tt:email_address"),
    ty.Entity("tt:phone_number"),
)  # fmt: skip


# --------------------------------------------------------------------------------- phrases


def phrase_of(part: _Part, verb: str) -> str:
    """Return how a part is said after what asks for a tool: "with a level of $level"."""
    label, type_, value = label_of(part.path[-1]), part.type, f"${{{part.name}}}"
    label = english.singular(label) if part.is_list else label
    return (
        _of_type(label, type_, value)
        or _of_label(label, value, verb)
        or (_of_number(label, value) if type_.sort == "number" else None)
        or (f"in the {value}" if _kind(type_) in words.PLACES else None)
        or _of_end(label, value)
        or f"with the {label} {value}"
    )


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
        return f"called {value}" if verb in words.MAKING_VERBS else f"named {value}"
    pattern = words.PHRASES.get(label)
    return pattern.replace("#", value) if pattern else None


def _of_number(label: str, value: str) -> str:
    first, _, rest = label.partition(" ")
    if first in ("max", "maximum", "min", "minimum") and rest:
        bound = "at most" if first.startswith("max") else "at least"
        if english.number_of(rest) == "pl":
            return f"with {bound} {value} {rest}"
        return f"with {english.article(rest)} {rest} of {bound} {value}"
    counted = label.removeprefix("number of ").removeprefix("number ").removesuffix(" count")
    if counted != label:
        return f"with {value} {english.plural(counted)}"
    if english.number_of(label) == "pl":
        return f"for {value} {label}" if label in words.SPANS else f"with {value} {label}"
    if label in words.ORDINALS or label.split()[-1] in ("id", "index"):
        return f"with the {label} {value}"
    return f"with {english.article(label)} {label} of {value}"


def _of_end(label: str, value: str) -> str | None:
    """Return a phrase by the last or first word of a label: "from the start city"."""
    first, last = label.split()[0], label.split()[-1]
    if first in words.DIRECTIONS and label != first:
        rest = label.partition(" ")[2]
        shown = value if rest in words.PLACES else f"the {rest} {value}"
        return f"{words.DIRECTIONS[first]} {shown}"
    if last in words.LAST:
        return words.LAST[last].replace("#", value).replace("@", label)
    return f"in {value}" if last in words.PLACES else None


def switch_phrases(label: str) -> tuple[str, str]:
    """Return how true and false are said of something.

    >>> switch_phrases("include comments"), switch_phrases("is private"), switch_phrases("loud")
    (('with comments', 'without comments'), ('private', 'not private'), ('with loud on', 'with loud off'))
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
    """Writes the templates of tools one after the other."""

    def __init__(self, library: ToolLibrary):
        self.library = library
        self.language = get_language(library.language)
        self.notes: list[Note] = []
        self.said: set[str] = set()
        self.count = 0
        self.has_questions = False
        self.prefix = _common_prefix(library.tools)
        self._switches: dict[tuple[str, str], str] = {}

    def tool(self, tool: Tool, place: Place) -> list[str]:
        """Return the templates of a tool, with a comment; nothing where it cannot be said."""
        parts, unsaid = _parts_of(tool)
        for path, why in unsaid:
            self._note(place, path, why, "left out")
        wordings = self._wordings(tool, parts)
        if not wordings:
            self._note(place, (), f"neither name nor description of {tool.name!r} are English "
                       "that can be read: write its templates", "left out")  # fmt: skip
            return []
        lines: list[str] = []
        for number, wording in enumerate(wordings):
            lines += self._templates(tool, wording, parts, with_optional=number == 0)
        if not lines:
            self._note(place, (), "no template of it is well-typed", "left out")
            return []
        self.said.add(tool.name)
        shown = "; ".join(_shown(wording) for wording in wordings)
        self._note(place, (), f"is asked for by: {shown}", "guess")
        for part in parts:
            said = (
                " / ".join(switch_phrases(label_of(part.path[-1])))
                if part.is_switch
                else (phrase_of(part, wordings[0].verb))
            )
            self._note(place, part.path, f"is said as: {said}", "guess")
        about = " ".join(tool.description.split())[:100].replace("*/", "")
        return [f"\n// {tool.name}{': ' + about if about else ''}", *lines]

    def _note(self, place: Place, path: tuple[str, ...], text: str, sort: str) -> None:
        whole = (*place, *(("parameters", *path) if path else ()))
        self.notes.append(Note(path_text(whole), text, sort))  # type: ignore[arg-type]

    def _wordings(self, tool: Tool, parts: Sequence[_Part]) -> list[_Wording]:
        by_name = wording_of_name(tool.name, self.prefix)
        verb = by_name.verb if by_name else "get" if tool.is_query else ""
        by_description = wording_of_description(tool, parts, verb)
        if by_name is not None:
            _merge_object(by_name, parts)
        found = [by_description, by_name]
        kept: dict[str, _Wording] = {}
        for wording in found:
            if wording is not None:
                kept.setdefault(f"{wording.verb} {' '.join(wording.rest)}", wording)
        return list(kept.values())

    def _templates(
        self, tool: Tool, wording: _Wording, parts: Sequence[_Part], *, with_optional: bool
    ) -> Iterator[str]:
        """Yield the templates of one wording: what is optional comes a few at a time."""
        waiting = [p for p in parts if p.is_required and p.name not in wording.parts]
        spoken = [p for p in parts if p.name in wording.parts]
        optional = [p for p in parts if not p.is_required and p.name not in wording.parts]
        after = _in_a_row([self._phrase(part, wording.verb) for part in waiting])
        groups = [
            optional[i : i + _MOST_OPTIONAL] for i in range(0, len(optional), _MOST_OPTIONAL)
        ] or [[]]
        for group in groups if with_optional else groups[:1]:
            said = [*spoken, *waiting, *group]
            others = [f"({self._phrase(part, wording.verb)})?" for part in group]
            ways = 2 ** len(group)
            body = _call_text(tool, said)
            verbs = words.SYNONYMS.get(wording.verb, (wording.verb,))
            verbs = verbs[: max(1, _MOST_WAYS // ways)]
            phrase = " ".join(wording.rest)
            yield from self._checked(
                "VP", _choice(verbs), phrase, [*after, *others], body, said, tool
            )
            if wording.verb in words.GETTING_VERBS and _is_the(wording.rest) and group is groups[0]:
                be = "are" if english.number_of(_head_of(wording.rest)) == "pl" else "is"
                asked = (f"what {be}", "tell me", "do you know")[: 2 if ways > 4 else 3]
                asked = asked[:2]
                yield from self._checked(
                    "QUESTION", _choice(asked), phrase, [*after, *others], body, said, tool
                )

    def _checked(
        self, category: str, verbs: str, phrase: str, others: Sequence[str], body: str,
        said: Sequence[_Part], tool: Tool,
    ) -> Iterator[str]:  # fmt: skip
        """Yield a template, if its body is well-typed."""
        items = [verbs, *([_quoted(phrase)] if phrase else []), *others]
        holes = {part.name: "value" for part in said if part.is_switch}
        optional = [part.name for part in said if not part.is_required]
        try:
            for absent in ((), optional):
                self.language.fragment(body, {n: k for n, k in holes.items() if n not in absent},
                                       self.library, whole=True, absent=absent)  # fmt: skip
        except GenieError:
            return
        if category == "QUESTION":
            self.has_questions = True
        self.count += 1
        line = f"{category} := {' '.join(items)} -> {body};"
        yield line if len(line) <= 110 else f"{category} := {' '.join(items)}\n  -> {body};"

    def _phrase(self, part: _Part, verb: str) -> str:
        """Return a part as an item of an utterance."""
        if not part.is_switch:
            return _quoted(phrase_of(part, verb))
        key = switch_phrases(label_of(part.path[-1]))
        if key not in self._switches:
            name = re.sub(r"\W+", "_", label_of(part.path[-1])).upper().strip("_")
            taken = set(self._switches.values())
            self._switches[key] = next(
                n for n in (f"IS_{name}{i or ''}" for i in count()) if n not in taken
            )
        return f"{part.name}:{self._switches[key]}"

    def switches(self) -> Iterator[str]:
        """Yield the categories of what is true or false."""
        for (yes, no), name in sorted(self._switches.items(), key=lambda pair: pair[1]):
            yield f"category {name} : value;"
            yield f"{name} := {_quoted(yes)} -> true;"
            yield f"{name} := {_quoted(no)} -> false;"


def _merge_object(wording: _Wording, parts: Sequence[_Part]) -> None:
    """Let the object of a name be a part that it names: "delete the project $project"."""
    if not wording.rest or wording.verb in words.MAKING_VERBS or len(wording.rest) > 4:
        return
    noun = [w for w in wording.rest if w not in words.DETERMINERS]
    if not noun or any(word in words.PREPOSITIONS for word in noun):
        return
    for part in parts:
        is_text = part.type.sort in ("text", "any") and not part.is_switch
        if part.is_required and is_text and label_of(part.path[-1]) == " ".join(noun):
            wording.rest = _value_after(noun, part)
            wording.parts.add(part.name)
            return


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
    for phrase in phrases:
        is_again = (
            found and found[-1].startswith(("'with ", "'and ")) and phrase.startswith("'with ")
        )
        found.append("'and " + phrase.removeprefix("'with ") if is_again else phrase)
    return found


def _choice(alternatives: Sequence[str]) -> str:
    if len(alternatives) == 1:
        return _quoted(alternatives[0])
    return f"({' | '.join(map(_quoted, alternatives))})"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "").replace("'", "\\'") + "'"


def _is_the(rest: Sequence[str]) -> bool:
    return bool(rest) and rest[0] == "the" and "$" not in rest[-1][:1] and len(rest) > 1


def _head_of(rest: Sequence[str]) -> str:
    return " ".join(rest[: _until_preposition(rest)])


def _shown(wording: _Wording) -> str:
    return " ".join([wording.verb, *wording.rest])
