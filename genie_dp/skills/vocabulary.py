"""The range of the built-in categories of templates: parameters with their phrases, types."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    Array,
    Entity,
    Measure,
    Type,
)
from genie_dp.skills.model import Phrases, SkillLibrary

# Words after which no head noun of a phrase stands: "number of likes" is singular.
_AFTER_THE_HEAD = frozenset(
    ("of", "in", "on", "at", "for", "from", "to", "with", "by", "about", "per", "that", "#")
)
PICTURE = Entity("tt:picture")
# Singular nouns in -s: "status", "news", "address", "analysis".
_SINGULAR_ENDINGS = ("ss", "us", "is", "ws", "'s")
_SINGULAR = frozenset(("series", "species", "gas", "canvas", "lens", "means", "s"))


@dataclass(frozen=True, slots=True)
class ParameterPhrase:
    """A phrase for a parameter of one function.

    Attributes:
        part: part of speech, one of annotations.PARTS, or "self" for an output that is the thing
            itself: its words are empty.
        words: tokens joined by one space; `#` is the place of the value, `{is/are}` agrees.
        number: "sg" or "pl", that of the phrase itself.
    """

    signature: Signature
    parameter: Parameter
    part: str
    words: str
    number: Literal["sg", "pl"]

    @property
    def function(self) -> str:
        """Return the function as programs name it."""
        return self.signature.qualified


def outputs(library: SkillLibrary) -> Iterator[ParameterPhrase]:
    """Yield every phrase of every output of every query that programs may call."""
    for signature in library.functions():
        if signature.kind == "query":
            yield from _phrases(library, signature, signature.outputs)


def inputs(library: SkillLibrary) -> Iterator[ParameterPhrase]:
    """Yield every phrase of every optional input of every function that programs may call."""
    for signature in library.functions():
        optional = (p for p in signature.inputs if not p.is_required)
        yield from _phrases(library, signature, optional)


def _phrases(
    library: SkillLibrary, signature: Signature, parameters: Iterable[Parameter]
) -> Iterator[ParameterPhrase]:
    for parameter in parameters:
        phrases_of_parts = library.phrases(signature.qualified, parameter.name)
        for part, phrases in _phrases_of_dates(parameter, phrases_of_parts).items():
            for words in phrases:
                number = "pl" if part == "plural" else number_of(words)
                yield ParameterPhrase(signature, parameter, part, words, number)
                derived_phrase = _derive_phrase(part, words, parameter)
                if derived_phrase is not None:
                    yield ParameterPhrase(signature, parameter, *derived_phrase, number)
                for followed in (*superlatives(part, words), *asked(part, words, parameter)):
                    yield ParameterPhrase(signature, parameter, *followed, number)
        if parameter.unique or _is_picture(parameter):
            # "send my latest email to bob" passes the email itself: no word for it.
            yield ParameterPhrase(signature, parameter, "self", "", "sg")
    yield from _unsaid(library, signature)


def _unsaid(library: SkillLibrary, signature: Signature) -> Iterator[ParameterPhrase]:
    """Yield the outputs behind "the newest", "tomorrow" and "the nearest": dates, the first place.

    And the outputs for the name of a result, and for its owner.
    Of several dates it is the one called so, or else the first that has it in its name; a date to
    come only where no other is.
    """
    for parameter in signature.outputs:
        if is_name(parameter):
            yield ParameterPhrase(signature, parameter, "named", "", "sg")
    persons = (p for p in signature.outputs if p.type in _PERSONS)
    for parameter in persons:
        if "reverse" in library.phrases(signature.qualified, parameter.name):
            yield ParameterPhrase(signature, parameter, "person", "", "sg")
            break
    ahead = [
        p for p in signature.outputs if _is_ahead(library.phrases(signature.qualified, p.name))
    ]
    for part, type_ in (("dated", DATE), ("placed", LOCATION)):
        fitting = [p for p in signature.outputs if p.type == type_ and p not in ahead]
        if not fitting and type_ == DATE:
            part, fitting = "ahead", ahead
        if fitting:
            # The first of those that are alike.
            parameter = min(fitting, key=lambda p: (p.name != "date", "date" not in p.name))
            yield ParameterPhrase(signature, parameter, part, "", "sg")


_AHEAD = frozenset(("after", "due", "ending", "passing", "starting"))


def _is_ahead(phrases: Phrases) -> bool:
    """Return whether a date is one to come: things are due then, they do not get old by it.

    >>> _is_ahead({"after": ("due after #",)}), _is_ahead({"after": ("modified after #",)})
    (True, False)
    """
    return any(phrase.split()[0] in _AHEAD for phrase in phrases.get("after", ()))


def _phrases_of_dates(parameter: Parameter, phrases: Phrases) -> Phrases:
    """Return phrases; a date named by a participle, as in real skills, gets those of an action.

    >>> _phrases_of_dates(Parameter("updated", "out", DATE), {"base": ("updated",)})["after"]
    ('updated after #',)
    """
    words = phrases.get("base", ("",))[0]
    if parameter.type != DATE or tuple(phrases) != ("base",) or not _PARTICIPLE.fullmatch(words):
        return phrases
    return {
        "passive_verb": (f"{words} on #",),
        "after": (f"{words} after #",),
        "before": (f"{words} before #",),
    }


_PARTICIPLE = re.compile(r"[a-z]+ed")


def _is_picture(parameter: Parameter) -> bool:
    """Return whether a parameter is the picture of a real query's results, not an icon."""
    return parameter.type == PICTURE and parameter.name == "picture_url"


_AGREEING = re.compile(r"\{[^{}/]*/([^{}/]*)\} ?")


def _derive_phrase(part: str, words: str, parameter: Parameter) -> tuple[str, str] | None:
    """Return the part of speech and the words that follow from a phrase, or None.

    >>> from genie_dp.languages.types import STRING
    >>> text, date = Parameter("text", "out", STRING), Parameter("date", "out", DATE)
    >>> _derive_phrase("verb", "{mentions/mention} #", text)
    ('verb_false', '{does/do} not mention #')
    >>> _derive_phrase("verb", "{is/are} about #", text)
    ('verb_false', '{is/are} not about #')
    >>> _derive_phrase("passive_verb", "sent on #", date)
    ('during', 'sent')
    """
    if parameter.type == DATE and words.endswith(" on #"):
        during = {"passive_verb": "during", "verb": "verb_during"}.get(part)
        return (during, words.removesuffix(" on #")) if during else None
    match = _AGREEING.match(words)
    if part != "verb" or match is None:
        return None
    plural, rest = match[1], words[match.end() :]
    denied = f"{{is/are}} not {rest}" if plural == "are" else f"{{does/do}} not {plural} {rest}"
    return "verb_false", denied.strip()


_OF_ADJECTIVE = re.compile(r"([a-z]+)er (?:away )?than #(?: [a-z]+)?")
_OF_LONG_ADJECTIVE = re.compile(r"more ([a-z]+) than #")
_OF_COUNT = re.compile(r"with (more|fewer|less) than # (percent )?([a-z]+(?: [a-z]+)?)")
_LONG = ("span", "time", "length", "duration")
_OF_AMOUNT = re.compile(r"with an? ([a-z]+(?: [a-z]+)?) (above|over|below|under) #(?: percent)?")


def superlatives(part: str, words: str) -> Iterator[tuple[str, str]]:
    """Yield the phrases that follow from a comparison: (part of speech, words).

    `most` and `least` stand before the noun, `with_most` and `with_least` after it, and `counted`
    is the noun of a number.

    >>> list(superlatives("more", "larger than #"))
    [('most', 'largest'), ('comparative', 'larger')]
    >>> list(superlatives("less", "cheaper than #"))
    [('least', 'cheapest'), ('comparative_less', 'cheaper')]
    >>> list(superlatives("more", "with more than # likes"))
    [('with_most', 'with the most likes'), ('counted', 'likes')]
    >>> list(superlatives("less", "with a rating below #"))
    [('with_least', 'with the lowest rating')]
    """
    most = {"more": "most", "less": "least"}.get(part)
    if most is None:
        return
    if match := _OF_ADJECTIVE.fullmatch(words):
        yield most, f"{match[1]}est"
        yield "comparative" if part == "more" else "comparative_less", f"{match[1]}er"
    elif match := _OF_LONG_ADJECTIVE.fullmatch(words):
        yield most, f"most {match[1]}"
    elif match := _OF_COUNT.fullmatch(words):
        amount = "most" if part == "more" else "fewest"
        amount = "least" if match[2] and part == "less" else amount
        yield f"with_{most}", f"with the {amount} {match[3]}"
        if part == "more" and not match[2]:
            yield "counted", match[3]
    elif match := _OF_AMOUNT.fullmatch(words):
        ways = ("longest", "shortest") if match[1].endswith(_LONG) else ("highest", "lowest")
        yield f"with_{most}", f"with the {ways[part == 'less']} {match[1]}"


_OF_VERB = re.compile(r"\{([a-z]+)/([a-z]+)\} #")
_STARTS = re.compile(r"\{[a-z]+/([a-z]+)\} (?:on|at) #")
_DONE_BY = re.compile(r"([a-z]+)((?: (?:together|up|on|in))?) by #")
_HAS = re.compile(r"\{has/have\} (?!no |[a-z]+ed$)(.+)")
_HOW = re.compile(r"([a-z]+er)( away)? than #(?: percent| pixels| words)?")
_PERSONS = frozenset(map(Entity, ("tt:username", "tt:contact", "tt:email_address")))


def asked(part: str, words: str, parameter: Parameter) -> Iterator[tuple[str, str]]:
    """Yield the words of questions that follow from a phrase: (part of speech, words).

    `how` stands after "how", `amount` after "how much does it", `amount_verb` after "which",
    `when_does` after "when does it", `possession` after "does it have", `reverse_verb` after
    "who".

    >>> from genie_dp.languages.types import Measure
    >>> list(asked("more", "bigger than #", Parameter("size", "out", Measure("byte"))))
    [('how', 'big')]
    >>> list(asked("verb", "{weighs/weigh} #", Parameter("weight", "out", Measure("kg"))))
    [('amount', 'weigh'), ('amount_verb', 'weighs')]
    >>> owner = Parameter("owner", "out", Entity("tt:username"))
    >>> list(asked("passive_verb", "owned by #", owner))
    [('reverse_verb', 'owns')]
    """
    if part == "more" and (match := _HOW.fullmatch(words)):
        yield "how", f"{positive(match[1])}{match[2] or ''}"
    elif part == "more" and (match := _OF_LONG_ADJECTIVE.fullmatch(words)):
        yield "how", match[1]
    elif part == "verb" and (match := _OF_VERB.fullmatch(words)):
        if isinstance(parameter.type, Measure) or parameter.type == CURRENCY:
            yield "amount", match[2]
            yield "amount_verb", match[1]
    elif part == "verb" and (match := _STARTS.fullmatch(words)):
        if parameter.type in (DATE, TIME):
            yield "when_does", match[1]
    elif part == "predicate_true" and (match := _HAS.fullmatch(words)):
        yield "possession", match[1]
    elif part == "passive_verb" and _is_person(parameter) and (match := _DONE_BY.fullmatch(words)):
        yield "reverse_verb", f"{verb_of_doer(match[1])}{match[2]}"


_POSITIVES = {"farther": "far", "further": "far", "better": "good", "worse": "bad"}
# Before -er these have lost an e: "larger".
_ENDS_IN_E = frozenset(
    (
        "brav",
        "clos",
        "dens",
        "fin",
        "hug",
        "intens",
        "larg",
        "lat",
        "loos",
        "nic",
        "pal",
        "pur",
        "rar",
        "rip",
        "saf",
        "sever",
        "simpl",
        "strang",
        "tam",
        "wid",
        "wis",
    )
)


def _is_person(parameter: Parameter) -> bool:
    return parameter.type in _PERSONS or parameter.value_list == "tt:person_name"


def positive(comparative: str) -> str:
    """Return an adjective, from its comparative in -er.

    >>> [positive(word) for word in ("larger", "bigger", "heavier", "taller", "farther", "older")]
    ['large', 'big', 'heavy', 'tall', 'far', 'old']
    """
    stem = comparative.removesuffix("er")
    if comparative in _POSITIVES:
        return _POSITIVES[comparative]
    if stem in _ENDS_IN_E:
        return f"{stem}e"
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    return stem[:-1] if stem[-1:] == stem[-2:-1] and stem[-1:] not in "ls" else stem


_PAST = {
    "written": "wrote", "sung": "sang", "taken": "took", "drawn": "drew", "given": "gave",
    "flown": "flew", "driven": "drove", "thrown": "threw", "chosen": "chose", "seen": "saw",
    "shown": "showed", "spoken": "spoke", "worn": "wore", "grown": "grew", "broken": "broke",
    "stolen": "stole", "hidden": "hid", "done": "did", "known": "knew", "ridden": "rode",
    "won": "won", "run": "ran", "begun": "began",
}  # fmt: skip
# What goes on: "who owns it", not "who owned it".
_STATES = {
    "owned": "owns", "managed": "manages", "employed": "employs", "hosted": "hosts",
    "played": "plays", "taught": "teaches", "operated": "operates", "sold": "sells",
    "led": "leads", "kept": "keeps", "offered": "offers", "assigned": "assigned",
}  # fmt: skip


def verb_of_doer(participle: str) -> str:
    """Return the verb of the doer for a participle of the thing.

    >>> [verb_of_doer(word) for word in ("written", "owned", "sent", "directed")]
    ['wrote', 'owns', 'sent', 'directed']
    """
    return _STATES.get(participle) or _PAST.get(participle, participle)


_NOT_NAMED = (PICTURE, Entity("tt:url"), Entity("tt:room"))
_NAMES = frozenset(("title", "name", "headline", "person_name"))


def is_name(parameter: Parameter) -> bool:
    """Return whether an output is the name of a result: the thing itself, a title or a name.

    >>> is_name(Parameter("file", "out", Entity("tt:path_name"), unique=True))
    True
    """
    if parameter.type == STRING:
        return parameter.name in _NAMES
    is_entity = isinstance(parameter.type, Entity) and parameter.type not in _NOT_NAMED
    return parameter.unique and is_entity


def types_in_use(library: SkillLibrary) -> tuple[Type, ...]:
    """Return the type of every parameter, sorted by name; of an array, that of its elements.

    Those are the types of constants in sentences; of an array also the number of its values.
    """
    types = {
        str(type_): type_
        for signature in library.functions()
        for parameter in signature.parameters
        for type_ in (_element(parameter.type), *_counted(parameter.type))
    }
    return tuple(types[name] for name in sorted(types))


def _counted(type_: Type) -> tuple[Type, ...]:
    return (NUMBER,) if isinstance(type_, Array) else ()


def _element(type_: Type) -> Type:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_


def number_of(phrase: str) -> Literal["sg", "pl"]:
    """Return the number of a noun phrase, guessed from its head: the last word of its first part.

    >>> number_of("modification date"), number_of("number of likes"), number_of("file sizes")
    ('sg', 'sg', 'pl')
    >>> number_of("status"), number_of("# likes")
    ('sg', 'pl')
    """
    head = ""
    for word in phrase.split():
        if word in _AFTER_THE_HEAD and head:
            break
        if word != "#":
            head = word
    is_plural = head.endswith("s") and head not in _SINGULAR
    return "pl" if is_plural and not head.endswith(_SINGULAR_ENDINGS) else "sg"
