"""Hashed character n-grams of a word, so that words never seen before have a meaning, too."""

from functools import lru_cache

import xxhash

SIZES = (2, 3, 4)


@lru_cache(maxsize=200_000)
def ngrams(word: str, buckets: int) -> tuple[int, ...]:
    """Return the buckets of a word's character 2-, 3- and 4-grams (Bojanowski et al., 2017).

    The word is put between `<` and `>`, so that beginnings and ends have n-grams of their own. The
    hash is xxh3 of UTF-8: the same in every process and on every platform.

    >>> len(ngrams("on", 8192))  # <o on n> <on on> <on>
    6
    >>> ngrams("on", 8192) == ngrams("on", 8192)
    True
    """
    text = f"<{word}>"
    return tuple(
        xxhash.xxh3_64_intdigest(text[start : start + size].encode()) % buckets
        for size in SIZES
        for start in range(len(text) - size + 1)
    )
