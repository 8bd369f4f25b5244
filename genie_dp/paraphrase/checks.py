"""What is wrong with a typed paraphrase, and what its writer may do about it.

One function for everybody who takes paraphrases: results of crowd workers, the local web page,
automatic paraphrases. Genie (section 3.2) checks lengths and values; copies, near copies and the
language are checked here as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from genie_dp.paraphrase.english_share import LanguageCheck
from genie_dp.paraphrase.find import Found
from genie_dp.paraphrase.near import same_content
from genie_dp.paraphrase.no_idea import says_no_idea
from genie_dp.paraphrase.shown import (
    PLACEHOLDER,
    Shown,
    ShownValue,
    found_in,
    placeholders,
    utterance_of,
)
from genie_dp.paraphrase.typed import words_of

FaultName = Literal[
    "too-short",
    "no-idea",
    "missing-value",
    "altered-value",
    "unquoted-string",
    "copy",
    "near-duplicate",
    "not-english",
]
FAULTS: tuple[FaultName, ...] = get_args(FaultName)


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason to refuse a paraphrase.

    Attributes:
        name: stable, for reports and reject files.
        message: what the writer should do, one sentence.
        value: the value that it is about, as shown, or "".
    """

    name: FaultName
    message: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class CheckConfig:
    """The limits of the checks.

    Attributes:
        least_characters: a shorter paraphrase is too short (Genie's tool has 5).
        least_words: so is one of fewer words, if the sentence shown has as many.
        copy_distance: a paraphrase nearer than this to the sentence shown is a copy, if no content
            word is another; edits over length, in characters, without articles, politeness and
            punctuation.
        duplicate_distance: the same for two paraphrases of one sentence.
        language: how English is told from other text; None to take any.
    """

    least_characters: int = 5
    least_words: int = 2
    copy_distance: float = 0.1
    duplicate_distance: float = 0.1
    language: LanguageCheck | None = field(default_factory=LanguageCheck)

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("least_characters", "least_words"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        for name in ("copy_distance", "duplicate_distance"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")


DEFAULT = CheckConfig()


def faults_of(
    shown: Shown, typed: str, others: Sequence[str] = (), config: CheckConfig = DEFAULT
) -> tuple[Fault, ...]:
    """Return all that is wrong with a paraphrase, in the order of FAULTS; empty if it is good.

    Args:
        shown: the row that was to be paraphrased, with the values that were shown.
        typed: the paraphrase as typed.
        others: paraphrases of the same sentence that are accepted already, as typed.

    Raises:
        GenieError: P004 without py3langid where the config asks for it.

    >>> from genie_dp.paraphrase.shown import show
    >>> from genie_dp.records import Example
    >>> row = Example("S1", "post QUOTED_STRING_0 on twitter", "..")
    >>> shown = show(row, {"QUOTED_STRING_0": "good morning"})
    >>> faults_of(shown, 'tweet "good morning" for me')
    ()
    >>> [fault.name for fault in faults_of(shown, "Tweet good morning")]
    ['unquoted-string']
    >>> print(faults_of(shown, 'tweet "good evening"')[0].message)
    You wrote "good evening": write "good morning", exactly so.
    """
    words = words_of(typed)
    if not words:
        return (Fault("too-short", "Write a sentence."),)
    found = found_in(shown, typed)
    return (
        *_length_faults(shown, typed, words, config),
        *_no_idea_faults(typed),
        *value_faults(shown, found, words),
        *_copy_faults(shown, typed, config),
        *_duplicate_faults(shown, typed, others, config),
        *_language_faults(shown, typed, found, config),
    )


# ------------------------------------------------------------------------- length, no idea


def _length_faults(
    shown: Shown, typed: str, words: Sequence[str], config: CheckConfig
) -> Iterator[Fault]:
    asked = min(config.least_words, len(words_of(shown.sentence)))
    if len(typed.strip()) < config.least_characters or len(words) < asked:
        yield Fault("too-short", "This is too short: write a whole sentence.")


def _no_idea_faults(typed: str) -> Iterator[Fault]:
    if says_no_idea(typed):
        yield Fault("no-idea", "Say it in other words, as you would to an assistant.")


# ----------------------------------------------------------------------------------- values


def value_faults(shown: Shown, found: Found, words: Sequence[str]) -> Iterator[Fault]:
    """Yield what is wrong with the values: gone, changed, said twice or without their marks."""
    by_token = {value.token: value for value in shown.values}
    for token in found.missing:
        value = by_token[token]
        written = _nearest(value, found, words)
        if written:
            message = f"You wrote {written}: write {value.text}, exactly so."
            yield Fault("altered-value", message, value.text)
        else:
            yield Fault("missing-value", f"Use {value.text} in your sentence.", value.text)
    for token in found.repeated:
        value = by_token[token]
        yield Fault("altered-value", f"You wrote {value.text} twice: once is enough.", value.text)
    if not found.missing:
        yield from _added_texts(shown, found, words)
    yield from _added_placeholders(shown, words)
    for token in found.unmarked:
        value = by_token[token]
        yield Fault("unquoted-string", _mark_message(value), value.text)


def _added_texts(shown: Shown, found: Found, words: Sequence[str]) -> Iterator[Fault]:
    """Yield texts in quotes that nobody asked for; words of the sentence may be put in quotes."""
    used = {i for place in found.spans for i in range(place.start, place.end)}
    known = set(words_of(shown.sentence))
    for text in _quoted(words, used):
        if not known.issuperset(text.split()):
            message = f'Leave "{text}" out, or its quotes: it is not in the sentence above.'
            yield Fault("altered-value", message, f'"{text}"')


def _added_placeholders(shown: Shown, words: Sequence[str]) -> Iterator[Fault]:
    """Yield placeholders that the program does not have, as models of language invent them."""
    known = set(placeholders(shown.example.utterance)) - {value.token for value in shown.values}
    for word in dict.fromkeys(words):
        if PLACEHOLDER.fullmatch(word) and word not in known:
            yield Fault("altered-value", f"Leave {word} out: it is no word.", word)


def _mark_message(value: ShownValue) -> str:
    if value.text.startswith('"'):
        return f"Keep the quotes: {value.text}."
    return f"Keep the {value.text[:1]}: {value.text}."


_LEAST_LIKE = 0.6  # similarity from which words are a value misspelt rather than other words


def _nearest(value: ShownValue, found: Found, words: Sequence[str]) -> str:
    """Return what stands in the place of a missing value, or ""."""
    used = {i for place in found.spans for i in range(place.start, place.end)}
    if value.text.startswith('"'):
        quoted = _quoted(words, used)
        if quoted:
            return f'"{quoted[0]}"'
    if value.text[:1] in ("@", "#"):
        signed = [w for i, w in enumerate(words) if i not in used and w[:1] == value.text[:1]]
        if signed:
            return signed[0]
    ratio = _levenshtein().normalized_similarity
    bare = " ".join(words_of(value.bare))
    size = len(bare.split())
    windows = (
        " ".join(words[start : start + length])
        for length in {max(1, size - 1), size, size + 1}
        for start in range(len(words) - length + 1)
        if not used.intersection(range(start, start + length))
    )
    best = max(windows, key=lambda window: (ratio(bare, window), window), default="")
    if best and ratio(bare, best) >= _LEAST_LIKE:
        return best
    if any(c.isdigit() for c in bare):
        numbers = [w for i, w in enumerate(words) if i not in used and w[:1].isdigit()]
        return numbers[0] if numbers else ""
    return ""


def _quoted(words: Sequence[str], used: set[int]) -> list[str]:
    marks = [i for i, word in enumerate(words) if word == '"' and i not in used]
    return [" ".join(words[a + 1 : b]) for a, b in zip(marks[::2], marks[1::2], strict=False)]


# ------------------------------------------------------------------------- copies, language

# What may be put in or left out without saying anything in other words.
_EMPTY = frozenset(
    ("a", "an", "the", "please", "pls", "kindly", "hey", "hi", "hello", "ok", "okay", "now", "just")
) | frozenset(",.!?;:-'")


def essence(utterance: str) -> str:
    """Return the words that count when two sentences are compared.

    >>> essence("Please, get the files!")
    'get files'
    """
    return essence_of(words_of(utterance))


def essence_of(words: Iterable[str]) -> str:
    """Return the same of a sentence's words.

    >>> essence_of(["please", ",", "get", "the", "files"])
    'get files'
    """
    return " ".join(word for word in words if word not in _EMPTY)


def essence_distance(left: str, right: str) -> float:
    """Return how far two essences are apart: edits over length, in characters."""
    return float(_levenshtein().normalized_distance(left, right))


def distance(left: str, right: str) -> float:
    """Return how far two sentences are apart: edits over length, in characters of their essence.

    >>> distance("get the files", "Please get files."), distance("get the files", "show them")
    (0.0, 0.8888888888888888)
    """
    return essence_distance(essence(left), essence(right))


def is_near(left: str, right: str, limit: float) -> bool:
    """Tell whether two sentences are nearly the same: few edits, and no other content word.

    A limit on edits alone would call one new verb in a long sentence a copy: of 45 such pairs of
    crowd paraphrases that were read, half said something in another word (November 2026).

    >>> is_near("tell me of new mail in my inbox today", "tell me of new mails in inbox today", 0.2)
    True
    >>> is_near("tell me of new mail in my inbox today", "text me of new mail in my inbox today", 1)
    False
    """
    apart = distance(left, right)
    if apart == 0:
        return True
    return apart < limit and same_content(words_of(left), words_of(right), _levenshtein())


def _copy_faults(shown: Shown, typed: str, config: CheckConfig) -> Iterator[Fault]:
    utterance = utterance_of(shown, typed)
    original = shown.sentence if utterance is None else shown.example.utterance
    if is_near(original, utterance or typed, config.copy_distance):
        yield Fault("copy", "This is nearly the sentence above: use other words.")


def _duplicate_faults(
    shown: Shown, typed: str, others: Sequence[str], config: CheckConfig
) -> Iterator[Fault]:
    utterance = utterance_of(shown, typed) or typed
    for other in others:
        if is_near(utterance_of(shown, other) or other, utterance, config.duplicate_distance):
            message = f"This is nearly the paraphrase {other!r}: use other words."
            yield Fault("near-duplicate", message)
            return


def is_within(apart: float, limit: float) -> bool:
    """Tell whether a distance is under a limit; equal sentences are under any."""
    return apart == 0 or apart < limit


def _language_faults(
    shown: Shown, typed: str, found: Found, config: CheckConfig
) -> Iterator[Fault]:
    if config.language is None:
        return
    words = words_of(typed)
    used = {i for place in found.spans for i in range(place.start, place.end)}
    rest = " ".join(word for i, word in enumerate(words) if i not in used)
    if not config.language.accepts(rest, words_of(shown.sentence)):
        yield Fault("not-english", "Write an English sentence.")


@lru_cache(maxsize=1)
def _levenshtein() -> Any:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein
