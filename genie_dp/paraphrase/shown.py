"""Rows as people see them, with example values in the places of placeholders; and back again."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from genie_dp.languages import Language
from genie_dp.paraphrase.find import Found, find
from genie_dp.paraphrase.typed import Typed, read_typed
from genie_dp.records import Example, source_of_copy
from genie_dp.skills.words import tokenize
from genie_dp.templates.english import surface

PLACEHOLDER = re.compile(r"(?:GENERIC_ENTITY_[\w.-]+:\w+|MEASURE_\w+|[A-Z]+(?:_[A-Z]+)*)_\d+")
Canonical = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ShownValue:
    """An example value in the place of a placeholder.

    Attributes:
        token: the placeholder, such as QUOTED_STRING_0.
        text: the value as shown, with its quotes, @ or #.
    """

    token: str
    text: str

    @property
    def stem(self) -> str:
        """Return the placeholder without its number."""
        return self.token.rpartition("_")[0]

    @property
    def spaced(self) -> str:
        """Return the value with its quotes as tokens of their own, as in utterances."""
        return f'" {self.bare} "' if self.text.startswith('"') else self.text

    @property
    def bare(self) -> str:
        """Return the value without quotes; @ and # stay, for they are part of the word."""
        return self.text.strip('"').strip()


@dataclass(frozen=True, slots=True)
class Shown:
    """A row and the example values it is shown with, in the order of the sentence."""

    example: Example
    values: tuple[ShownValue, ...] = ()

    @property
    def sentence(self) -> str:
        """Return the sentence that people see.

        >>> row = Example("S1", "post QUOTED_STRING_0 with HASHTAG_0", "..")
        >>> show(row, {"QUOTED_STRING_0": "good morning", "HASHTAG_0": "sun"}).sentence
        'Post "good morning" with #sun'
        >>> row = Example("S2", "add QUOTED_STRING_0 to QUOTED_STRING_1", "..")
        >>> show(row, {"QUOTED_STRING_0": "one", "QUOTED_STRING_1": "two"}).sentence
        'Add "one" to "two"'
        >>> show(Example("S3", "which files do i have", ".."), {}).sentence
        'Which files do I have'
        """
        texts = {value.token: value.spaced for value in self.values} | {"i": "I"}
        return surface(texts.get(word, word) for word in self.example.utterance.split())


def placeholders(utterance: str) -> tuple[str, ...]:
    """Return the placeholders of an utterance, in its order, each once.

    >>> placeholders("from NUMBER_1 to NUMBER_0 and NUMBER_1")
    ('NUMBER_1', 'NUMBER_0')
    """
    return tuple(dict.fromkeys(w for w in utterance.split() if PLACEHOLDER.fullmatch(w)))


def show(example: Example, values: Mapping[str, str]) -> Shown:
    """Return a row with its example values, marked so that people see what to copy.

    Args:
        values: placeholder -> value; all placeholders of the utterance, or KeyError is raised.
    """
    tokens = placeholders(example.utterance)
    return Shown(example, tuple(ShownValue(t, marked(t, values[t])) for t in tokens))


def marked(token: str, value: str) -> str:
    """Return a value with the marks of its sort: quotes, @ or #.

    >>> marked("QUOTED_STRING_0", "good morning"), marked("USERNAME_0", "bob")
    ('"good morning"', '@bob')
    >>> marked("GENERIC_ENTITY_tt:room_0", "kitchen")
    'kitchen'
    """
    stem = token.rpartition("_")[0]
    # A quote inside would end the value where it does not end.
    plain = " ".join(value.replace('"', " ").split())
    if stem == "QUOTED_STRING" or (value.startswith('"') and value.endswith('"')):
        return f'"{plain}"'
    if stem == "USERNAME":
        return "@" + plain.removeprefix("@")
    if stem == "HASHTAG":
        return "#" + plain.removeprefix("#")
    return plain


# ------------------------------------------------------------------------------ back again


def found_in(shown: Shown, typed: str | Typed) -> Found:
    """Return where the shown values stand in a typed sentence, and which do not."""
    read = read_typed(typed) if isinstance(typed, str) else typed
    return find([(value.token, value.stem, value.text) for value in shown.values], read.words)


def utterance_of(shown: Shown, typed: str) -> str | None:
    """Return a typed sentence with placeholders for the values; None if one is missing.

    >>> row = Example("S1", "post QUOTED_STRING_0 on twitter", "..")
    >>> utterance_of(show(row, {"QUOTED_STRING_0": "good morning"}), "Tweet “good morning”!")
    'tweet QUOTED_STRING_0'
    """
    read = read_typed(typed)
    found = found_in(shown, read)
    if found.missing:
        return None
    starts = {span.start: span for span in found.spans}
    out: list[str] = []
    position, may_glue = 0, False
    while position < len(read.words):
        span = starts.get(position)
        if span is not None:
            out.append(span.token)
            position, may_glue = span.end, False
            continue
        if read.glued[position] and may_glue:
            out[-1] += read.words[position]
        else:
            out.append(read.words[position])
        position, may_glue = position + 1, True
    return " ".join(out)


def paraphrase_of(
    shown: Shown, typed: str, *, id: str, canonical: Canonical = lambda program: program
) -> Example | None:
    """Return a typed sentence as a row with placeholders; None if a value is missing.

    The placeholders are numbered from left to right, as in every row, in sentence and program.

    Args:
        id: of the new row.
        canonical: brings a program with renamed placeholders into its canonical token form; see
            `canonical_tokens`. Only programs whose placeholders change places need it.
    """
    utterance = utterance_of(shown, typed)
    if utterance is None:
        return None
    row = replace(
        shown.example,
        id=id,
        utterance=utterance,
        source=source_of_copy(shown.example, "paraphrase"),
        parent=shown.example.id,
    )
    return in_sentence_order(row, canonical)


def canonical_tokens(language: Language, library: object) -> Canonical:
    """Return the function from a program in token form to its canonical token form."""

    def canonical(program: str) -> str:
        tree = language.from_tokens(program)
        return language.tokens(language.canonical(tree, library), library)

    return canonical


def in_sentence_order(row: Example, canonical: Canonical) -> Example:
    """Return the row with its placeholders numbered from left to right.

    >>> row = Example("S1", "from NUMBER_1 to NUMBER_0", "f NUMBER_0 NUMBER_1")
    >>> in_sentence_order(row, str).program
    'f NUMBER_1 NUMBER_0'
    """
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for token in placeholders(row.utterance):
        stem = token.rpartition("_")[0]
        names[token] = f"{stem}_{counts.get(stem, 0)}"
        counts[stem] = counts.get(stem, 0) + 1
    if all(old == new for old, new in names.items()):
        return row
    return replace(
        row,
        utterance=_renamed(row.utterance, names),
        program=canonical(_renamed(row.program, names)),
        slots={names.get(token, token): slot for token, slot in row.slots.items()},
    )


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(word, word) for word in text.split(" "))


def same_words(left: str, right: str) -> bool:
    """Tell whether two utterances have the same words, punctuation at the end aside."""
    return tokenize(left.rstrip(" .?!")) == tokenize(right.rstrip(" .?!"))
