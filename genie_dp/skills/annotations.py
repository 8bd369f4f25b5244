"""Reads phrases and flags from the annotations of a declaration."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from genie_dp.languages.library import Parameter
from genie_dp.languages.thingtalk.declarations import Annotation, ParamDecl
from genie_dp.skills.model import Phrases
from genie_dp.skills.words import join_tokens

# docs/templates.md, "Built-in categories"
PARTS = (
    "base", "plural", "property", "verb", "passive_verb", "adjective",
    "adjective_true", "adjective_false", "predicate_true", "predicate_false",
    "more", "less", "after", "before", "reverse", "noun", "adverb", "adverb_true", "adverb_false",
    "most", "least", "how", "reverse_verb", "question",
)  # fmt: skip
# What is said of inputs, after the verb phrase or the noun phrase: "in the #", "on shuffle".
ADVERBS = frozenset(("adverb", "adverb_true", "adverb_false"))
# Made from those: the output that is the thing itself, a verb denied ("{does/do} not mention #"),
# and what is said of dates without the date ("modified", "{starts/start}").
_OF_STATEMENTS = ("self", "verb_false", "during", "verb_during")
# Made for the grammars that ask for them: what skills say for questions alone and what follows from
# comparisons and verbs ("largest", "with the most likes", "likes", "larger", "cost"); and without
# words what a result is called, whose it is, the date by which things are newest or to come, and
# the place by which they are nearest.
QUESTION_PARTS = (
    "most", "least", "how", "reverse_verb", "question", "with_most", "with_least", "counted",
    "comparative", "comparative_less", "amount", "amount_verb", "when_does", "possession",
    "named", "person", "dated", "ahead", "placed",
)  # fmt: skip
DERIVED_PARTS = (*_OF_STATEMENTS, *(part for part in QUESTION_PARTS if part not in PARTS))
# Parts of speech whose phrase has a place for the value, written "#".
WITH_VALUE = frozenset(
    (
        "property", "verb", "passive_verb", "adjective", "more", "less", "after", "before",
        "noun", "adverb", "question",
    )
)  # fmt: skip
# What stands before the noun fits no noun inside of the phrase.
BEFORE_NOUN = frozenset(("adjective", "adjective_true", "adjective_false", "reverse", "noun"))
_APART = BEFORE_NOUN | frozenset(QUESTION_PARTS)
# Names of the 2019 toolkit and of its successors -> ours. A preposition phrase ("in the # section")
# of an output stands where a passive verb does, after the noun.
_OTHER_NAMES = {
    "default": "base",
    "npp": "property",
    "npi": "reverse",
    "npv": "property",
    "avp": "verb",
    "pvp": "passive_verb",
    "apv": "adjective",
    "preposition": "passive_verb",
    "reverse_property": "noun",
    "adjective_argmax": "most",
    "adjective_argmin": "least",
}
_OTHER_NAMES_OF_INPUTS = {**_OTHER_NAMES, "preposition": "adverb"}
# Keys of real manifests that say nothing our templates can use.
UNUSED = frozenset(
    (
        "implicit_identity", "base_projection", "property_projection",
        "verb_projection", "passive_verb_projection", "adjective_projection",
        "preposition_projection", "reverse_verb_projection", "projection_pronoun",
    )
)  # fmt: skip


def part_of_speech(written: str, direction: str) -> str:
    """Return our name of a part of speech that a parameter of a direction is annotated with.

    >>> part_of_speech("preposition", "out"), part_of_speech("preposition", "in opt")
    ('passive_verb', 'adverb')
    """
    names = _OTHER_NAMES if direction == "out" else _OTHER_NAMES_OF_INPUTS
    return names.get(written, written)


def find(annotations: Iterable[Annotation], name: str) -> Annotation | None:
    """Return the first annotation of that name, or None."""
    return next((a for a in annotations if a.name == name), None)


def text_of(annotations: Iterable[Annotation], name: str) -> str | None:
    """Return the text of an annotation, or None if it is absent or no text."""
    annotation = find(annotations, name)
    return annotation.value if annotation and isinstance(annotation.value, str) else None


def texts(value: object) -> tuple[str, ...]:
    """Return the phrases of an annotation's value: one text or a list of texts.

    >>> texts("size"), texts(("size", "Length ")), texts(True)
    (('size',), ('size', 'length'), ())
    """
    items = value if isinstance(value, tuple) else (value,)
    tokens = (join_tokens(item) for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in tokens if text))


def has_place(phrase: str) -> bool:
    """Return whether a phrase has a place for the value.

    >>> has_place("the # label"), has_place("#-rated"), has_place("label")
    (True, True, False)
    """
    return any(token == "#" or token.startswith("#-") for token in phrase.split())


def function_phrases(annotations: Iterable[Annotation]) -> tuple[str, ...]:
    """Return the usual names of a function or class, from its canonical annotation."""
    canonical = find(annotations, "canonical")
    if canonical is None:
        return ()
    if isinstance(canonical.value, dict):
        return tuple(phrase for part in canonical.value.values() for phrase in texts(part))
    return texts(canonical.value)


def parameter_phrases(annotations: Iterable[Annotation], direction: str = "out") -> Phrases:
    """Return part of speech -> phrases of a parameter, in the order of PARTS.

    A bare text or list is `base`. A phrase that needs a place for its value and has none gets it
    at the end, as the 2019 toolkit does.

    >>> canonical = {"npp": "label", "base": ("label", "tag"), "passive_verb": "labeled #"}
    >>> parameter_phrases([Annotation("canonical", canonical, natural=True)])
    {'base': ('label', 'tag'), 'property': ('label #',), 'passive_verb': ('labeled #',)}
    """
    collected: dict[str, list[str]] = {}
    for part, value in canonical_parts(annotations):
        ours = part_of_speech(part, direction)
        if ours in PARTS:
            collected.setdefault(ours, []).extend(_phrases_of(ours, value))
    return {part: tuple(dict.fromkeys(collected[part])) for part in PARTS if collected.get(part)}


def canonical_parts(annotations: Iterable[Annotation]) -> Iterator[tuple[str, object]]:
    """Yield (part of speech as written, value) of the canonical annotation of a parameter.

    `default` names a part of speech in later manifests ("default": "property"): that is no
    phrase and is left out, like the `enum` key.
    """
    canonical = find(annotations, "canonical")
    if canonical is None:
        return
    if not isinstance(canonical.value, dict):
        yield "base", canonical.value
        return
    for part, value in canonical.value.items():
        names_a_part = part == "default" and value in (*PARTS, *_OTHER_NAMES, *UNUSED)
        if part != "enum" and not names_a_part:
            yield part, value


def enum_phrases(param: ParamDecl) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return (parameter, value) -> words, from `#_[enum={..}]` or the canonical's `enum` key."""
    return {
        (param.name, value): words
        for written in enum_objects(param.annotations)
        for value, phrase in written.items()
        if isinstance(value, str) and (words := texts(phrase))
    }


def as_parameter(param: ParamDecl) -> Parameter:
    """Return the signature of a declared parameter."""
    accepts = find(param.annotations, "accepts")
    unique = find(param.annotations, "unique")
    additive = find(param.annotations, "additive")
    return Parameter(
        param.name,
        param.direction,
        param.type,
        value_list=text_of(param.annotations, "string_values"),
        unique=unique is not None and unique.value is True,
        accepts=_names(accepts.value) if accepts else (),
        is_additive=None if additive is None else additive.value is True,
        phrases=tuple(
            phrase
            for part, phrases in parameter_phrases(param.annotations, param.direction).items()
            if (part not in _APART if param.direction == "out" else part in ADVERBS)
            for phrase in phrases
        ),
        least=_number_of(param.annotations, "min_number"),
        most=_number_of(param.annotations, "max_number"),
    )


def _number_of(annotations: Iterable[Annotation], name: str) -> Decimal | None:
    value = annotation.value if (annotation := find(annotations, name)) else None
    return value if isinstance(value, Decimal) else None


def _names(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item for item in items if isinstance(item, str))


def enum_objects(annotations: Iterable[Annotation]) -> Iterator[Mapping[object, object]]:
    """Yield the tables (enum value -> its words) of a parameter."""
    annotations = tuple(annotations)
    canonical = find(annotations, "canonical")
    if canonical and isinstance(canonical.value, dict):
        inner = canonical.value.get("enum")
        if isinstance(inner, dict):
            yield inner
    direct = find(annotations, "enum")
    if direct and isinstance(direct.value, dict):
        yield direct.value


def _phrases_of(part: str, value: object) -> tuple[str, ...]:
    if value is True and part == "adjective":  # 2019: the value itself is the adjective
        return ("#",)
    if part not in WITH_VALUE:
        return texts(value)
    return tuple(p if has_place(p) else f"{p} #" for p in texts(value))
