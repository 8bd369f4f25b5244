"""Whether a sentence is English: the share of its words that are known."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.typed import words_of

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
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    hundred thousand million first second third
    please ok okay hi hey hello yes thanks thank pls plz etc am pm
    app apps email emails gif gifs url urls url wifi tv dm dms sms gps rss faq usa uk id ids pic
    pics photo photos playlist playlists podcast podcasts website websites online inbox hashtag
    hashtags retweet retweets tweet tweets tweeted tweeting username usernames selfie emoji meme
    memes blog blogs smartphone video videos
"""
_CLOSED = frozenset(_CLOSED_WORDS.split())


@lru_cache(maxsize=65536)
def is_english_word(word: str) -> bool:
    """Tell whether a dictionary has a word, in any of its inflected forms.

    >>> [is_english_word(w) for w in ("songs", "whose", "playlists", "musique", "asdf")]
    [True, True, True, False, False]
    """
    if word in _CLOSED:
        return True
    import lemminflect

    parts = word.replace("'", "-").split("-")
    return all(_has(part, lemminflect.getAllLemmas) for part in parts)


def _has(part: str, lemmas: Callable[[str], object]) -> bool:
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
        asks_model: whether it is asked at all; it needs the extra `paraphrase` and a second.
    """

    least_share: float = 0.5
    doubtful_share: float = 0.8
    asks_model: bool = False
    known: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        """Check the shares."""
        if not 0 <= self.least_share <= self.doubtful_share <= 1:
            message = "expected 0 <= least_share <= doubtful_share <= 1, got"
            raise ValueError(f"{message} {self.least_share} and {self.doubtful_share}")

    def accepts(self, text: str, known: Iterable[str] = ()) -> bool:
        """Tell whether a text is English enough.

        Args:
            known: words that count as known in this text only.

        >>> check = LanguageCheck()
        >>> check.accepts("show me my songs"), check.accepts("lkj dfg wert")
        (True, False)
        """
        share = known_share(words_of(text), self.known | frozenset(known))
        if share < self.least_share:
            return False
        return share >= self.doubtful_share or not self.asks_model or _is_called_english(text)


def check_language_model() -> None:
    """Raise GenieError (P004) where the language model is not installed."""
    _classify()


@lru_cache(maxsize=1)
def _classify() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid import langid
    except ImportError:
        hint = "pip install 'genie_dp[paraphrase]', or leave --language-model out"
        raise GenieError(Problem("P004", "the language model is py3langid", hint=hint)) from None
    classify: Callable[[str], tuple[str, float]] = langid.classify
    return classify


def _is_called_english(text: str) -> bool:
    return _classify()(text)[0] == "en"
