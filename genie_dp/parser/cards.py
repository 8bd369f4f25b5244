"""The cards of a library: the words for each function, parameter, value and kind of name."""

import re
from collections.abc import Iterable, Iterator

from genie_dp.languages.library import Library
from genie_dp.languages.types import Enum, is_slot
from genie_dp.models.cards import MOST_PHRASES, MOST_WORDS, Cards, phrases_of
from genie_dp.models.vocabulary import words_of_name
from genie_dp.skills.words import GLUE, tokenize

_FUNCTION, _INPUT = "(", "="  # end the tokens of calls
_KEYWORDS = frozenset(("true", "false", "null"))  # of calls
_SIGNS = re.compile(r"#|\$\w+|[^\w\s'-]")
_MOST_DESCRIBED = 3  # phrases that a description gives


def cards_of(library: Library, tokens: Iterable[str]) -> Cards:
    """Return the cards of those tokens of a library's programs that name something of it.

    Args:
        library: skills or tools.
        tokens: all that programs may have (`DecodingGrammar.vocabulary`).
    """
    functions = {x.qualified: (*_of_function(library, x.qualified),) for x in library.functions()}
    inputs: dict[str, dict[str, None]] = {}
    types: dict[str, dict[str, None]] = {}
    values: dict[str, dict[str, None]] = {}
    for signature in library.functions():
        for parameter in signature.parameters:
            by_part = library.phrases(signature.qualified, parameter.name)
            input_words = inputs.setdefault(parameter.name, {})
            input_words.update(dict.fromkeys(x for part in by_part.values() for x in part))
            types.setdefault(parameter.name, {}).update(dict.fromkeys(_sorts(str(parameter.type))))
            element = getattr(parameter.type, "element", parameter.type)
            for value in element.values if isinstance(element, Enum) else ():
                ways = library.enum_phrases(signature.qualified, parameter.name, value)
                values.setdefault(value, {}).update(dict.fromkeys(ways))
    cards, tokens = {}, tuple(tokens)
    is_marked = any(token.startswith("enum:") for token in tokens)  # else values are bare words
    for token in tokens:
        phrases_said: Iterable[str] = ()
        name, sorts = " ".join(words_of_name(token)), ""
        if (described := functions.get(token.removesuffix(_FUNCTION))) is not None:
            phrases_said = described
        elif token.startswith("param:") or (token.endswith(_INPUT) and token[0].isalpha()):
            phrases_said = inputs.get(_name_in(token), ())
            declared = token.split(":", 2)[2:]
            sorts = " ".join(_sorts(*declared) if declared else types.get(_name_in(token), ()))
        elif is_marked == token.startswith("enum:") and token.removeprefix("enum:") in values:
            phrases_said = values[token.removeprefix("enum:")]
        elif not is_marked and (token.isalpha() or token[1:2].isalpha()) and not is_slot(token):
            name = " ".join(words_of_name(token.replace("\\u0020", " ")))
            if name in _KEYWORDS:
                continue
        elif not token.startswith(("@", "^^", "enum:")):
            continue
        if phrases := phrases_of([name, sorts, *map(" ".join, map(card_words, phrases_said))]):
            cards[token] = tuple(x[:MOST_WORDS] for x in phrases[:MOST_PHRASES])
    return cards


def is_listed_value(token: str) -> bool:
    """Return whether a token that has a card is a value of a list.

    >>> [x for x in ("enum:on", "large", "size=", "book(", "param:size:T", "@com.x") if
    ...  is_listed_value(x)]
    ['enum:on', 'large']
    """
    is_name = token.startswith(("@", "^^", "param:")) or token.endswith((_FUNCTION, _INPUT))
    return not is_name


def _sorts(type_: str) -> Iterator[str]:
    """Yield the sorts of values that a type has, in capital letters, which no sentence has.

    >>> list(_sorts("Array(Entity(tt:contact))"))
    ['ARRAY', 'ENTITY']
    """
    outer, _, inner = type_.rstrip(")").partition("(")
    yield outer.upper()
    if outer == "Array":
        yield from _sorts(inner)


def _name_in(token: str) -> str:
    """Return the parameter that a token names.

    >>> _name_in("param:to:Entity(tt:contact)"), _name_in("to=")
    ('to', 'to')
    """
    return token.split(":")[1] if token.startswith("param:") else token.removesuffix(_INPUT)


def _of_function(library: Library, qualified: str) -> Iterator[str]:
    """Yield the phrases of a function: its names, and those of its inputs."""
    for phrase in library.called(qualified):
        words = [word for word in card_words(phrase) if word not in GLUE]
        for start in range(0, min(len(words), _MOST_DESCRIBED * MOST_WORDS), MOST_WORDS):
            yield " ".join(words[start : start + MOST_WORDS])
    signature = library.signature(qualified)
    names = signature.inputs if signature else ()
    yield " ".join(word for x in names for word in words_of_name(x.name))


def card_words(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase without its places and signs.

    >>> card_words("{mentions/mention} #")
    ('mentions',)
    """
    plain = re.sub(r"\{([^/}]*)[^}]*\}", r"\1", phrase)
    return tuple(tokenize(_SIGNS.sub(" ", plain).casefold()))
