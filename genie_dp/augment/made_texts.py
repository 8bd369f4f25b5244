"""Texts in languages of which no lists of values are shipped.

A parser copies texts that it has never seen if its rows have many of them. So these are words of
the language's file, as they stand in its everyday sentences, and words that only look like some.
"""

from collections import defaultdict
from functools import lru_cache
from random import Random

from genie_dp.augment.values import ValueList, value_list
from genie_dp.locale import Words, sentences_of
from genie_dp.rng import stream
from genie_dp.skills.words import join_tokens

_TEXTS = 6_000
_MOST_WORDS = 6
_SAID = 0.35  # share of texts that are words of a sentence; the others are made word by word
_INVENTED = 0.7  # share of the words of these that no language has
_ARTICLE = 0.25  # share of these that begin with one, which people leave out of no text
_SHORTEST, _LONGEST = 3, 12  # letters of such a word
_ORDER = 3  # letters that tell the next one
SIGNED = 0.2  # share of texts with a sign or a number in them
_OF_SIGNED = 3  # words on each side of a sign
# {0} and {1} are some words each, {2} and {3} one word, {4} a number.
_SIGNS = (
    "{0} 's {1}", "{0} & {1}", "{0} ( {1} )", "{0} + {1}", "{0} , {1}", "{0} / {1}", "{0} : {1}",
    "{2}-{3}", "{2}{4}", "{4}{3}", "{0} {4}", "{4} {1}", "{0} # {4}", "{0} ! {1}", "{0} . {1}",
    "{0} - {1}", "{0} = {4}", "{2}.{3}", "{0} 🍕", "😀 {1}", "{0} 's",
)  # fmt: skip


@lru_cache(maxsize=16)
def made_texts(words: Words) -> ValueList:
    """Return texts, none twice; the same for the same words.

    >>> from genie_dp.locale import words_of
    >>> texts = made_texts(words_of("de"))
    >>> len(texts) > 4000, max(len(text.split()) for text in texts.texts)
    (True, 8)
    """
    rng = stream(0, "made texts")
    sentences = [s.split() for pattern in words.everyday for s in sentences_of(pattern)]
    pool = sorted({word for s in sentences for word in s} | words.verbs | words.function_words)
    pool, articles = [word for word in pool if word.isalpha()], sorted(words.articles)
    if not pool:
        return value_list("made", "", ())
    following = _letters_after(pool)
    texts: list[str] = []
    for _ in range(_TEXTS):
        if sentences and rng.random() < _SAID:
            sentence = sentences[int(rng.random() * len(sentences))]
            size = 1 + int(rng.random() * min(_MOST_WORDS, len(sentence)))
            start = int(rng.random() * (len(sentence) - size + 1))
            texts.append(" ".join(sentence[start : start + size]))
            continue
        sentence_words = [
            _invent_word(following, rng) if rng.random() < _INVENTED else rng.choice(pool)
            for _ in range(1 + int(rng.random() * 4))
        ]
        if articles and rng.random() < _ARTICLE:
            sentence_words.insert(0, rng.choice(articles))
        texts.append(" ".join(sentence_words))
    for place in range(1, len(texts)):
        if rng.random() < SIGNED:
            texts[place] = with_signs(texts[place], texts[place - 1], rng)
    return value_list("made", "", texts)


def with_signs(text: str, other: str, rng: Random) -> str:
    """Return words of two texts with a sign or a number in them, as titles and notes have them.

    A parser that never saw a sign inside of a text ends the text there.

    >>> with_signs("red lamp", "blue moon", Random(3))
    'lamp-blue'
    """
    first, second = text.split(" ")[:_OF_SIGNED], other.split(" ")[:_OF_SIGNED]
    sign = rng.choice(_SIGNS)
    number = str(rng.randrange(2, 100))
    text = sign.format(" ".join(first), " ".join(second), first[-1], second[0], number)
    return join_tokens(text)


def _letters_after(words: list[str]) -> dict[str, list[str]]:
    """Return some letters of words -> the letters that stand behind them; "" is the end."""
    following: dict[str, list[str]] = defaultdict(list)
    for word in words:
        for place in range(len(word) + 1):
            following[word[max(0, place - _ORDER) : place]].append(word[place : place + 1])
    return following


def _invent_word(following: dict[str, list[str]], rng: Random) -> str:
    while True:
        word = ""
        while len(word) < _LONGEST and (letter := rng.choice(following[word[-_ORDER:]])):
            word += letter
        if len(word) >= _SHORTEST:
            return word
