"""Templates that follow from others and from the library.

A category may be declared to hold the plural noun phrases of another one in the singular (`category
ONE : query singular NP;`): "my unread emails" gives "unread email". And one may hold the names of
results (`category NAMED : query named;`): "paper planes" is that movie, "max" that patient.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from genie_dp.english import forms as english
from genie_dp.english.lists import ARTICLES, FIXED_DETERMINERS, UNIQUE
from genie_dp.languages.library import Library, Parameter, Signature
from genie_dp.languages.types import Entity
from genie_dp.skills.annotations import text_of
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.vocabulary import is_name
from genie_dp.templates.ast import (
    Category,
    Choice,
    Inflect,
    Item,
    Placeholder,
    PlainItem,
    PlainWords,
    QuotedWords,
    Template,
    names_of,
    plain_utterances,
)

# One of these is no result: "the content of a folder".
_WHOLES = frozenset(("contents", "results", "details", "lyrics", "names", "titles", "stats"))
# A verb that follows agrees with the noun, unless somebody else does what it says.
_WHO_DOES = frozenset(("i", "we", "you", "they", "he", "she", "people", "someone", "somebody"))
_RELATIVES = frozenset(("that", "which", "who"))
_PLURAL_WORDS = frozenset(("are", "have", "were", "do", "both", "their", "them", "all", "most"))


# Names of kinds have an article: "how tall is a great dane".
_KINDS = frozenset(("breed", "kind", "model", "species", "type"))
# Their names come first: "the design channel".
_NAMED_BEFORE = frozenset(
    ("camera", "channel", "device", "group", "light", "list", "playlist", "project", "room")
)
# Of persons and accounts there are many sorts.
_OF_MANY = frozenset(
    Entity(kind) for kind in ("tt:username", "tt:contact", "tt:email_address", "tt:url")
)


def derive(
    categories: Mapping[str, Category], templates: Sequence[Template], library: Library | None
) -> tuple[Template, ...]:
    """Return the templates of the categories that are declared to follow from others."""
    made: list[Template] = []
    for category in categories.values():
        if category.singular_of:
            source = [t for t in templates if t.category == category.singular_of]
            made += (new for t in source if (new := _singular(category, t)) is not None)
        elif category.is_of_names and isinstance(library, SkillLibrary):
            made += _names(category, library, templates)
    return tuple(made)


# ---------------------------------------------------------------------------- in the singular


def _singular(category: Category, template: Template) -> Template | None:
    """Return a template in the singular for a plural one; None if its words are no plural."""
    features = dict(template.features)
    if template.python is not None or features.get("form", "np") != "np":
        return None
    if features.get("num", "pl") != "pl":
        return None
    whole = names_of(template.utterance)
    texts = {
        said: None
        for way in plain_utterances(template.utterance)
        if (words := _words(way)) is not None
        and (said := _one_of(words, is_plural="num" in features)) is not None
        and names_of(way) == whole
    }
    if not texts:
        return None
    ways = tuple((_quoted(text, template),) for text in texts)
    return Template(
        f"{template.id}.one",
        category.name,
        (("num", "sg"), *((("form", "long"),) if _has_clause(texts) else ())),
        ways[0] if len(ways) == 1 else (Choice(ways, span=template.span),),
        template.body_text,
        template.body_span,
        flags=template.flags,
        weight=template.weight,
        class_name=template.class_name,
        tree=template.tree,
        span=template.span,
    )


def _words(items: Iterable[PlainItem]) -> str | None:
    """Return the text of words and placeholders, None if there is more."""
    said: list[str] = []
    for item in items:
        if not isinstance(item, QuotedWords):
            return None
        for part in item.parts:
            match part:
                case PlainWords(text):
                    said.append(text)
                case Placeholder(name):
                    said.append(f"${name}")
                case Inflect():
                    return None
    return " ".join(said)


def _one_of(words: str, *, is_plural: bool) -> str | None:
    """Return a plural noun phrase in the singular, None for others.

    >>> _one_of("my unread emails", is_plural=False), _one_of("the reviews of $r", is_plural=False)
    ('my unread email', 'the review of $r')
    >>> _one_of("the weather", is_plural=False), _one_of("birds that fly", is_plural=False)
    (None, None)
    """
    article, _, rest = words.partition(" ") if words.split(" ")[0] in ARTICLES else ("", "", words)
    tokens = rest.split()
    first = tokens[0] if tokens else "all"
    if first in UNIQUE or first in FIXED_DETERMINERS or first == "top" or first.endswith("est"):
        return None
    if _PLURAL_WORDS.intersection(tokens) or not (is_plural or english.number_of(rest) == "pl"):
        return None
    for relative, verb in zip(tokens, tokens[1:], strict=False):
        if relative in _RELATIVES and verb not in _WHO_DOES and not verb.startswith("$"):
            return None
    one = english.singular(rest)
    changed = [place for place, new in enumerate(one.split()) if tokens[place] != new]
    if len(changed) != 1 or tokens[changed[0]] in _WHOLES:
        return None
    before = tokens[: changed[0]]  # in "songs spotify recommends" it is no noun
    if any(english.number_of(word) == "pl" for word in before):
        return None
    return f"{article} {one}" if article in ("my", "the") else one


def _has_clause(texts: Iterable[str]) -> bool:
    """Return whether a text has a clause: "the song i played"; no more is put after it."""
    return any((_WHO_DOES | _RELATIVES).intersection(text.split()) for text in texts)


def _quoted(text: str, template: Template) -> QuotedWords:
    is_const = {
        part.name: part.is_const
        for way in plain_utterances(template.utterance)
        for item in way
        if isinstance(item, QuotedWords)
        for part in item.parts
        if isinstance(part, Placeholder)
    }
    parts: list[PlainWords | Placeholder] = []
    for token in text.split():
        if token.startswith("$") and token[1:] in is_const:
            parts.append(Placeholder(token[1:], is_const[token[1:]], span=template.span))
        elif parts and isinstance(parts[-1], PlainWords):
            parts[-1] = PlainWords(f"{parts[-1].text} {token}")
        else:
            parts.append(PlainWords(token))
    return QuotedWords(tuple(parts), span=template.span)


# ------------------------------------------------------------------------------------- by name


def _names(
    category: Category, library: SkillLibrary, templates: Sequence[Template]
) -> Iterator[Template]:
    """Yield a template for each query whose result is called by a name, and for the words of it.

    A name alone stands for one query of the library: where several have things of its type, for
    one that takes the name as an input, or else the first.
    """
    places = _places(library, templates)
    nouns = {
        f"{declared.name}:{entity.name}": noun
        for skill in library.skills
        for declared in skill.classes
        for entity in declared.entities
        if (noun := text_of(entity.annotations, "canonical")) is not None
    }
    alone: set[object] = set()
    beside: set[object] = set()
    found = [pair for s in library.functions() if (pair := _named_of(library, s)) is not None]
    uses = Counter(name.type for _, name in found)
    for signature, name in sorted(found, key=lambda pair: not pair[1].is_input):
        class_name, place = signature.class_name, places.get(signature.class_name)
        type_ = name.type
        noun = nouns.get(type_.kind) if isinstance(type_, Entity) else None
        is_alone = uses[type_] == 1 and type_ not in _OF_MANY
        is_own = isinstance(type_, Entity) and (is_alone or type_.kind.startswith(f"{class_name}:"))
        ways: list[tuple[Item, ...]] = []
        if is_own and type_ not in alone:
            alone.add(type_)
            ways.append(_said("$x", category))
            if noun is not None and not _is_in_names(noun, library, str(type_)):
                ways.append(_said(_with_noun(noun), category))
        if place is not None and (class_name, type_) not in beside:
            beside.add((class_name, type_))
            ways += (_said(f"$x {where}", category) for where in place)
        if ways:
            call, output = f"@{class_name}.{signature.name}", name.name
            body = f"{call}({output} = $x)" if name.is_input else f"{call}() filter {output} == $x"
            yield Template(
                f"{category.name.lower()}.{class_name}.{signature.name}",
                category.name,
                (("num", "sg"), ("det", "fixed")),
                ways[0] if len(ways) == 1 else (Choice(tuple(ways), span=category.span),),
                body,
                category.span,
                span=category.span,
            )


def _with_noun(noun: str) -> str:
    """Return the words of a name with its noun.

    >>> _with_noun("movie"), _with_noun("slack channel"), _with_noun("dog breed")
    ('the movie $x', 'the $x channel', 'a $x')
    """
    last = noun.split()[-1]
    if last in _KINDS:
        return "a $x"
    return f"the $x {last}" if last in _NAMED_BEFORE else f"the {noun} $x"


def _is_in_names(noun: str, library: SkillLibrary, type_: str) -> bool:
    """Return whether names of a type have its noun: "the front door", "a post on cats"."""
    listed = library.value_lists.get(type_.removeprefix("Entity(").removesuffix(")"))
    words = {word for value in (listed.values if listed else ()) for word in value.split()}
    return bool(words & {noun.split()[-1], "the", "my"})


def _said(words: str, category: Category) -> tuple[Item, ...]:
    before, _, after = words.partition("$x")
    parts = (
        PlainWords(before.strip()), Placeholder("x", is_const=True, span=category.span),
        PlainWords(after.strip()),
    )  # fmt: skip
    said = tuple(p for p in parts if not isinstance(p, PlainWords) or p.text)
    return (QuotedWords(said, span=category.span),)


def _named_of(library: SkillLibrary, signature: Signature) -> tuple[Signature, Parameter] | None:
    """Return a query with the parameter by whose value one result is named, or None."""
    if signature.kind != "query" or library.is_inherited(signature.qualified):
        return None
    required = [p for p in signature.inputs if p.is_required]
    if not required and signature.is_list:
        names = sorted(filter(is_name, signature.outputs), key=lambda p: not p.unique)
        return (signature, names[0]) if names else None
    if len(required) == 1 and not signature.is_list and isinstance(required[0].type, Entity):
        return signature, required[0]
    return None


def _places(library: SkillLibrary, templates: Sequence[Template]) -> dict[str, list[str]]:
    """Return class -> the usual phrases for the place of its things: "on dropbox"."""
    counts: dict[str, Counter[str]] = {}
    spoken = {name: known.phrase for name, known in library.classes.items()}
    for template in templates:
        phrase = spoken.get(template.class_name)
        if not phrase or template.category != "NP":
            continue
        of_class = re.compile(rf"\b((?:on|in|from)(?: my| the)? {re.escape(phrase)})$")
        for way in plain_utterances(template.utterance):
            if (words := _words(way)) and (match := of_class.search(words)):
                counts.setdefault(template.class_name, Counter())[match[1]] += 1
    return {name: [said for said, _ in c.most_common(2)] for name, c in counts.items()}
