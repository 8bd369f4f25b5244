"""All forms of a word beside those of its replacement: "bought" with "got", "photos" with "pics".

A form that stands for two of the word ("posted" is past tense and participle), where the
replacement has two ("wrote", "written"), is left out: which one is right cannot be seen.
"""

from collections.abc import Iterator
from functools import lru_cache

from genie_dp.paraphrase.lexical import Role
from genie_dp.templates.english import gerund, past_participle, plural, third_person

Made = tuple[str, str, Role]


def verb_forms(verb: str, other: str) -> Iterator[Made]:
    """Yield (form of the verb, form of the other, role), the base form first.

    >>> [made[:2] for made in verb_forms("buy", "purchase")]
    [('buy', 'purchase'), ('buys', 'purchases'), ('buying', 'purchasing'), ('bought', 'purchased')]
    >>> [made[0] for made in verb_forms("compose", "write")]
    ['compose', 'composes', 'composing']
    """
    yield verb, other, "vb"
    pairs = [(made(verb), made(other)) for made in (third_person, gerund, past, past_participle)]
    for form, replacement in dict.fromkeys(pairs):
        others = {said for text, said in pairs if text == form}
        if form != verb and len(others) == 1:
            yield form, replacement, "vf"


def noun_forms(noun: str, other: str) -> Iterator[Made]:
    """Yield the singular and the plural of both.

    >>> [made[:2] for made in noun_forms("kid", "child")]
    [('kid', 'child'), ('kids', 'children')]
    """
    yield noun, other, "n"
    if plural(noun) != noun:
        yield plural(noun), plural(other), "n"


@lru_cache(maxsize=4096)
def past(words: str) -> str:
    """Return a verb phrase in the past tense: its first word changes.

    >>> past("write down"), past("turn on"), past("email")
    ('wrote down', 'turned on', 'emailed')
    """
    verb, space, rest = words.partition(" ")
    participle = past_participle(verb)
    if participle.endswith("ed") and verb != "read":
        return f"{participle}{space}{rest}"
    import lemminflect

    found = lemminflect.getInflection(verb, "VBD")
    return f"{found[0] if found else participle}{space}{rest}"
