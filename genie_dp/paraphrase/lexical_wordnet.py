"""WordNet through nltk: the other words of a word's most frequent meaning.

Less safe than a list made for the purpose: the most frequent meaning may not be the one that is
meant. So only words that have one part of speech are replaced, and no word of fewer than four
letters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.lexical import Form
from genie_dp.paraphrase.lexical_files import Entry, forms_of

_LEAST_LETTERS = 4
_PARTS = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}


@dataclass(frozen=True, slots=True)
class WordNetLexicon:
    """A lexicon that asks WordNet and keeps the answers: see `lexical.Lexicon`."""

    wordnet: Any
    known: dict[str, tuple[Form, ...]] = field(default_factory=dict)

    def starting(self, word: str) -> Sequence[Form]:
        """Return what may stand for a word, in WordNet's order."""
        if word not in self.known:
            is_word = len(word) >= _LEAST_LETTERS and word.isalpha() and word.islower()
            self.known[word] = tuple(self._forms(word)) if is_word else ()
        return self.known[word]

    def _forms(self, word: str) -> Iterator[Form]:
        lemmas = {part: self.wordnet.morphy(word, part) for part in "nvar"}
        found = {part: lemma for part, lemma in lemmas.items() if lemma}
        if len(found) != 1:
            return
        [(part, lemma)] = found.items()
        meanings = self.wordnet.synsets(lemma, part)
        for other in meanings[0].lemma_names() if meanings else ():
            name = other.replace("_", " ")
            if name != lemma and name.islower() and name.replace(" ", "").isalpha():
                entry: Entry = (lemma, _PARTS[meanings[0].pos()], name, "wordnet")
                yield from (form for form in forms_of(entry) if form.words == (word,))


def wordnet_lexicon() -> WordNetLexicon:
    """Return the lexicon of the WordNet that nltk finds.

    Raises:
        GenieError: nltk is not installed (P104), or has no WordNet (P105).
    """
    try:
        from nltk.corpus import wordnet
    except ImportError:
        hint = "pip install 'genie_dp[nltk]'"
        raise GenieError(Problem("P104", "WordNet needs nltk", hint=hint)) from None
    try:
        wordnet.ensure_loaded()
    except LookupError:
        hint = "python -m nltk.downloader wordnet, or set NLTK_DATA to where it lies"
        raise GenieError(Problem("P105", "nltk has no WordNet", hint=hint)) from None
    return WordNetLexicon(wordnet)
