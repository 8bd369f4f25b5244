"""The fault of a typed paraphrase, and the advice to its writer.

One function for everybody who takes paraphrases: results of crowd workers, the local web page,
automatic paraphrases. Genie (section 3.2) checks lengths and values; copies, near copies and the
language are checked here as well.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.config import CheckSettings
from genie_dp.paraphrase.shown import (
    PLACEHOLDER,
    ShownRow,
    ShownValue,
    find_shown_values,
    placeholders,
    utterance_of,
)
from genie_dp.paraphrase.typed import FoundValues, words_of
from genie_dp.values.spelling import NUMBER_WORDS

# Words that join others: lemminflect's dictionary has nouns, verbs, adjectives and adverbs only.
_CLOSED_WORDS = """
    a an the this that these those some any no every each all both either neither another such
    i me my mine myself you your yours yourself he him his she her hers it its itself we us our ours
    they them their theirs who whom whose which what whatever whichever someone somebody something
    anyone anybody anything everyone everybody everything nobody nothing none one ones
    and or but nor so yet if unless because since while until till though although whether than as
    whenever wherever when where why how once
    of in on at by for from to with without within into onto upon about above below under over
    after before between among through during against across along around behind beside besides
    beyond near off out per via toward towards up down inside outside except like unlike plus minus
    be am is are was were been being do does did done doing have has had having will would shall
    should can could may might must ought let
    's 're 've 'll 'd 'm n't not don't doesn't didn't isn't aren't wasn't can't won't couldn't i'm
    im dont cant whats lets i'd i've i'll you're it's that's what's there's let's gonna wanna gimme
    first second third
    please ok okay hi hey hello yes thanks thank pls plz etc am pm
    app apps email emails gif gifs url urls url wifi tv dm dms sms gps rss faq usa uk id ids pic
    pics photo photos playlist playlists podcast podcasts website websites online inbox hashtag
    hashtags retweet retweets tweet tweets tweeted tweeting username usernames selfie emoji meme
    memes blog blogs smartphone video videos
"""
_CLOSED = NUMBER_WORDS.union(_CLOSED_WORDS.split())


@lru_cache(maxsize=65536)
def is_english_word(word: str) -> bool:
    """Return whether a dictionary has a word, in any of its inflected forms.

    >>> [is_english_word(w) for w in ("songs", "whose", "playlists", "musique", "asdf")]
    [True, True, True, False, False]
    """
    if word in _CLOSED:
        return True
    import lemminflect

    parts = word.replace("'", "-").split("-")
    return all(_has_lemma(part, lemminflect.getAllLemmas) for part in parts)


def _has_lemma(part: str, lemmas: Callable[[str], object]) -> bool:
    if part in _CLOSED or lemmas(part):
        return True
    # New nouns are in no dictionary with their plural.
    return part.endswith("s") and len(part) > 3 and bool(lemmas(part[:-1]))


def known_share(words: Iterable[str], known: frozenset[str] = frozenset()) -> float:
    """Return the share of known words among those made of letters; 1.0 if there are none.

    Args:
        known: further words, such as those of the sentence that was shown.

    >>> known_share(["play", "asdf", "10"]), known_share(["play", "asdf"], frozenset({"asdf"}))
    (0.5, 1.0)
    """
    letters = [word for word in words if any(c.isalpha() for c in word)]
    if not letters:
        return 1.0
    return sum(word in known or is_english_word(word) for word in letters) / len(letters)


@dataclass(frozen=True, slots=True)
class LanguageCheck:
    """Rejects text with few known words, or with some that a language model calls foreign.

    The two shares were measured on short commands: all foreign and nonsense sentences fell, no
    English one did (November 2026).

    Attributes:
        least_share: share of known words under which text is no English.
        doubtful_share: share under which the language model of py3langid is asked.
        asks_model: whether it is asked at all; it needs the extra `locales` and a second.
    """

    least_share: float = 0.5
    doubtful_share: float = 0.8
    asks_model: bool = False
    known: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.least_share <= self.doubtful_share <= 1:
            message = "expected 0 <= least_share <= doubtful_share <= 1, got"
            raise ValueError(f"{message} {self.least_share} and {self.doubtful_share}")

    def accepts(self, text: str, known: Iterable[str] = ()) -> bool:
        """Return whether a text is English enough.

        Args:
            known: words that count as known in this text only.

        >>> check = LanguageCheck()
        >>> check.accepts("show me my songs"), check.accepts("lkj dfg wert")
        (True, False)
        """
        share = known_share(words_of(text), self.known | frozenset(known))
        if share < self.least_share:
            return False
        return share >= self.doubtful_share or not self.asks_model or _classify()(text)[0] == "en"


def check_language_model() -> None:
    """Raise GenieError (P004) where the language model is not installed."""
    _classify()


@lru_cache(maxsize=1)
def _classify() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid import langid
    except ImportError:
        hint = "pip install 'genie_dp[locales]', or leave --language-model out"
        raise GenieError(Problem("P004", "the language model is py3langid", hint=hint)) from None
    classify: Callable[[str], tuple[str, float]] = langid.classify
    return classify


# What may follow "no idea" or "i don't know": about anything else it is a way to ask.
_TAIL = (
    r"( (what|how|why))?"
    r"( (it|this|that|the)( (sentence|meaning|question|command|one|is|means?|says))*"
    r"| to (do|say|write|put|paraphrase)( here)?)?"
)
# The whole text must be one of these: a command may well hold such words inside.
_PHRASES = rf"""
    (i (have )?|i've |i am |i'm |im )?(got )?(absolutely )?no (idea|clue){_TAIL}
    (i )?(do not|don't|dont|did not|didn't) (really )?(know|understand|get){_TAIL}
    (i )?(cannot|can't|cant|can not) (understand|think of|paraphrase|rephrase)\b.*
    (i am |i'm |im )?(not sure|unsure|confused){_TAIL}
    (it|this|that|the sentence|the command|sentence) (makes? no|(does not|doesn't|doesnt|does'nt) make( any)?) sense\b.*
    (makes? no|(does not|doesn't|doesnt) make( any)?) sense\b.*
    (this |it )?(is )?(unclear|nonsense|gibberish)
    idk|dunno|n ?/ ?a|na|none|nothing|no|yes|nope|nil|null|blank|skip|empty
    (this is )?(a )?test(ing| test)*
    (the )?same( (as|thing)\b.*)?|see above|as above|ditto|already (good|done)
    (very )?(good|nice|great)( (survey|study|task|job|hit))?|thanks?( you)?|ok(ay)?
    paraphrase ?\d?|sentence ?\d?|your (answer|paraphrase)( here)?
"""  # noqa: E501 - a pattern a line
_NO_IDEA = re.compile("|".join(f"(?:{row.strip()})" for row in _PHRASES.strip().splitlines()))


def says_no_idea(typed: str) -> bool:
    """Return whether a text is no paraphrase but a note that there is none.

    >>> [says_no_idea(t) for t in ("I have no idea.", "IDK", "I don't understand this sentence")]
    [True, True, True]
    >>> says_no_idea("tweet that i have no idea")
    False
    """
    text = " ".join(typed.lower().replace("\u2019", "'").strip(" .!?\t\r\n").split())
    return _NO_IDEA.fullmatch(text.removeprefix("sorry").lstrip(" ,")) is not None


# What may be put in or left out without saying anything in other words.
_EMPTY = frozenset(
    ("a", "an", "the", "please", "pls", "kindly", "hey", "hi", "hello", "ok", "okay", "now", "just")
) | frozenset(",.!?;:-'")
# Words that come and go without anything being said in other words.
_LIGHT = _EMPTY | frozenset(
    (
        "this", "that", "these", "those", "my", "our", "your", "any", "some", "so", "then", "of",
        "on", "in", "to", "for", "at", "by", "with", "from", "via", "into", "about", "is", "are",
        "was", "were", "be", "been", "am", "do", "does", "did", "will", "would", "can", "could",
        "has", "have", "had", "having", "i", "me", "it", "its", "'s", "'m", "'d", "'ll", "there",
        "which", "who", '"',
    )
)  # fmt: skip
# One more letter than `increase` and `decrease` or `follow` and `unfollow` share, which differ.
_SAME_WORD = 0.75


def same_content(left: Sequence[str], right: Sequence[str], levenshtein: Any) -> bool:
    """Return whether two sentences have the same content words in the same order.

    A misspelt or otherwise inflected word is the same word; articles, prepositions, auxiliaries and
    politeness do not count.

    Args:
        levenshtein: rapidfuzz.distance.Levenshtein.

    >>> from rapidfuzz.distance import Levenshtein
    >>> def same(left, right): return same_content(left.split(), right.split(), Levenshtein)
    >>> same("lower the volume on my tv", "please lower volumes of tv")
    True
    >>> same("notify me of new mail", "tell me of new mail"), same("turn it on", "turn it off")
    (False, False)
    """
    ours = [word for word in left if word not in _LIGHT]
    theirs = [word for word in right if word not in _LIGHT]
    if len(ours) != len(theirs):
        return False
    if not ours:
        return list(left) == list(right)
    return all(
        a == b or levenshtein.normalized_similarity(a, b) > _SAME_WORD
        for a, b in zip(ours, theirs, strict=True)
    )


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
class ParaphraseFault:
    """One reason to refuse a paraphrase.

    Attributes:
        name: stable, for reports and reject files.
        message: advice to the writer, one sentence.
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
        language: how English is recognized; None to take any.
    """

    least_characters: int = 5
    least_words: int = 2
    copy_distance: float = 0.1
    duplicate_distance: float = 0.1
    language: LanguageCheck | None = field(default_factory=LanguageCheck)

    def __post_init__(self) -> None:
        for name in ("least_characters", "least_words"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        for name in ("copy_distance", "duplicate_distance"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")


DEFAULT = CheckConfig()


def check_config_of(settings: CheckSettings) -> CheckConfig:
    """Return the limits that settings ask for.

    Raises:
        GenieError: P004, they ask for a language model that is not installed.
    """
    if settings.language_model:
        check_language_model()
    return CheckConfig(
        copy_distance=settings.copy_distance,
        duplicate_distance=settings.duplicate_distance,
        language=(
            None if settings.any_language else LanguageCheck(asks_model=settings.language_model)
        ),
    )


def faults_of(
    shown_row: ShownRow, typed: str, others: Sequence[str] = (), config: CheckConfig = DEFAULT
) -> tuple[ParaphraseFault, ...]:
    """Return all faults of a paraphrase, in the order of FAULTS; empty if it is good.

    Args:
        shown_row: the row that was to be paraphrased, with the values that were shown.
        typed: the paraphrase as typed.
        others: paraphrases of the same sentence that are accepted already, as typed.

    Raises:
        GenieError: P004 without py3langid where the config asks for it.

    >>> from genie_dp.paraphrase.shown import show
    >>> from genie_dp.records import Example
    >>> row = Example("S1", "post QUOTED_STRING_0 on twitter", "..")
    >>> shown_row = show(row, {"QUOTED_STRING_0": "good morning"})
    >>> faults_of(shown_row, 'tweet "good morning" for me')
    ()
    >>> [fault.name for fault in faults_of(shown_row, "Tweet good morning")]
    ['unquoted-string']
    >>> print(faults_of(shown_row, 'tweet "good evening"')[0].message)
    You wrote "good evening": write "good morning", exactly so.
    """
    words = words_of(typed)
    if not words:
        return (ParaphraseFault("too-short", "Write a sentence."),)
    found_values = find_shown_values(shown_row, typed)
    return (
        *_length_faults(shown_row, typed, words, config),
        *_no_idea_faults(typed),
        *value_faults(shown_row, found_values, words),
        *_copy_faults(shown_row, typed, config),
        *_duplicate_faults(shown_row, typed, others, config),
        *_language_faults(shown_row, typed, found_values, config),
    )


# ------------------------------------------------------------------------- length, no idea


def _length_faults(
    shown_row: ShownRow, typed: str, words: Sequence[str], config: CheckConfig
) -> Iterator[ParaphraseFault]:
    fewest = min(config.least_words, len(words_of(shown_row.sentence)))
    if len(typed.strip()) < config.least_characters or len(words) < fewest:
        yield ParaphraseFault("too-short", "This is too short: write a whole sentence.")


def _no_idea_faults(typed: str) -> Iterator[ParaphraseFault]:
    if says_no_idea(typed):
        yield ParaphraseFault("no-idea", "Say it in other words, as you would to an assistant.")


# ----------------------------------------------------------------------------------- values


def value_faults(
    shown_row: ShownRow, found_values: FoundValues, words: Sequence[str]
) -> Iterator[ParaphraseFault]:
    """Yield the faults of the values: gone, changed, repeated or without their marks."""
    by_token = {value.token: value for value in shown_row.values}
    for token in found_values.missing:
        value = by_token[token]
        written = _nearest(value, found_values, words)
        if written:
            message = f"You wrote {written}: write {value.text}, exactly so."
            yield ParaphraseFault("altered-value", message, value.text)
        else:
            yield ParaphraseFault(
                "missing-value", f"Use {value.text} in your sentence.", value.text
            )
    for token in found_values.repeated:
        value = by_token[token]
        yield ParaphraseFault(
            "altered-value", f"You wrote {value.text} twice: once is enough.", value.text
        )
    if not found_values.missing:
        yield from _added_texts(shown_row, found_values, words)
    yield from _added_placeholders(shown_row, words)
    for token in found_values.unmarked:
        value = by_token[token]
        yield ParaphraseFault("unquoted-string", _mark_message(value), value.text)


def _added_texts(
    shown_row: ShownRow, found_values: FoundValues, words: Sequence[str]
) -> Iterator[ParaphraseFault]:
    """Yield texts in quotes that were not asked for; words of the sentence may be put in quotes."""
    used = {i for place in found_values.spans for i in range(place.start, place.end)}
    sentence_words = set(words_of(shown_row.sentence))
    for text in _quoted_texts(words, used):
        if not sentence_words.issuperset(text.split()):
            message = f'Leave "{text}" out, or its quotes: it is not in the sentence above.'
            yield ParaphraseFault("altered-value", message, f'"{text}"')


def _added_placeholders(shown_row: ShownRow, words: Sequence[str]) -> Iterator[ParaphraseFault]:
    """Yield placeholders that the program does not have, as models of language invent them."""
    own_placeholders = set(placeholders(shown_row.example.utterance)) - {
        value.token for value in shown_row.values
    }
    for word in dict.fromkeys(words):
        if PLACEHOLDER.fullmatch(word) and word not in own_placeholders:
            yield ParaphraseFault("altered-value", f"Leave {word} out: it is no word.", word)


def _mark_message(value: ShownValue) -> str:
    if value.text.startswith('"'):
        return f"Keep the quotes: {value.text}."
    return f"Keep the {value.text[:1]}: {value.text}."


_LEAST_LIKE = 0.6  # similarity from which words are a value misspelt rather than other words


def _nearest(value: ShownValue, found_values: FoundValues, words: Sequence[str]) -> str:
    """Return the word in the place of a missing value, or ""."""
    used = {i for place in found_values.spans for i in range(place.start, place.end)}
    if value.text.startswith('"'):
        quoted = _quoted_texts(words, used)
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


def _quoted_texts(words: Sequence[str], used: set[int]) -> list[str]:
    marks = [i for i, word in enumerate(words) if word == '"' and i not in used]
    return [" ".join(words[a + 1 : b]) for a, b in zip(marks[::2], marks[1::2], strict=False)]


# ------------------------------------------------------------------------- copies, language


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
    """Return the distance of two essences: edits over length, in characters."""
    return float(_levenshtein().normalized_distance(left, right))


def distance(left: str, right: str) -> float:
    """Return the distance of two sentences: edits over length, in characters of their essence.

    >>> distance("get the files", "Please get files."), distance("get the files", "show them")
    (0.0, 0.8888888888888888)
    """
    return essence_distance(essence(left), essence(right))


def is_near(left: str, right: str, limit: float) -> bool:
    """Return whether two sentences are nearly the same: few edits, and no other content word.

    A limit on edits alone would call one new verb in a long sentence a copy: of 45 such pairs of
    crowd paraphrases that were read, half used another word (November 2026).

    >>> is_near("tell me of new mail in my inbox today", "tell me of new mails in inbox today", 0.2)
    True
    >>> is_near("tell me of new mail in my inbox today", "text me of new mail in my inbox today", 1)
    False
    """
    apart = distance(left, right)
    if apart == 0:
        return True
    return apart < limit and same_content(words_of(left), words_of(right), _levenshtein())


def _copy_faults(shown_row: ShownRow, typed: str, config: CheckConfig) -> Iterator[ParaphraseFault]:
    utterance = utterance_of(shown_row, typed)
    original = shown_row.sentence if utterance is None else shown_row.example.utterance
    if is_near(original, utterance or typed, config.copy_distance):
        yield ParaphraseFault("copy", "This is nearly the sentence above: use other words.")


def _duplicate_faults(
    shown_row: ShownRow, typed: str, others: Sequence[str], config: CheckConfig
) -> Iterator[ParaphraseFault]:
    utterance = utterance_of(shown_row, typed) or typed
    for earlier in others:
        if is_near(
            utterance_of(shown_row, earlier) or earlier, utterance, config.duplicate_distance
        ):
            message = f"This is nearly the paraphrase {earlier!r}: use other words."
            yield ParaphraseFault("near-duplicate", message)
            return


def is_within(apart: float, limit: float) -> bool:
    """Return whether a distance is under a limit; equal sentences are under any."""
    return apart == 0 or apart < limit


def _language_faults(
    shown_row: ShownRow, typed: str, found_values: FoundValues, config: CheckConfig
) -> Iterator[ParaphraseFault]:
    if config.language is None:
        return
    words = words_of(typed)
    used = {i for place in found_values.spans for i in range(place.start, place.end)}
    rest = " ".join(word for i, word in enumerate(words) if i not in used)
    if not config.language.accepts(rest, words_of(shown_row.sentence)):
        yield ParaphraseFault("not-english", "Write an English sentence.")


@lru_cache(maxsize=1)
def _levenshtein() -> Any:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein
