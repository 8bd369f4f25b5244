"""Whether two sentences say a thing in the same words, or nearly so."""

from collections.abc import Sequence
from typing import Any

# Words that come and go without anything being said in other words.
_LIGHT = frozenset(
    (
        "a", "an", "the", "this", "that", "these", "those", "my", "our", "your", "any", "some",
        "please", "pls", "kindly", "hey", "hi", "hello", "ok", "okay", "now", "just", "so", "then",
        "of", "on", "in", "to", "for", "at", "by", "with", "from", "via", "into", "about",
        "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "will", "would", "can",
        "could", "has", "have", "had", "having", "i", "me", "it", "its", "'s", "'m", "'d", "'ll",
        "there", "which", "who",
    )
) | frozenset(",.!?;:-'\"")  # fmt: skip
# One more letter than `increase` and `decrease` or `follow` and `unfollow` share, which differ.
_SAME_WORD = 0.75


def same_content(left: Sequence[str], right: Sequence[str], levenshtein: Any) -> bool:
    """Tell whether two sentences have the same content words in the same order.

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
