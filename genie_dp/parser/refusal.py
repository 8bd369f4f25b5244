"""Sentences that a parser is to refuse, made while it is trained.

They are everyday sentences of the language (`Words.everyday`), real sentences of shipped skills
whose functions the library lacks, and damaged sentences of its own rows: without their content
words, or as commands that are not given ("don't ..", "should i ..").
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from random import Random

from genie_dp.languages.base import Language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.locale import Words, sentences_of
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.evidence import content_words
from genie_dp.parser.rows import RowMaker, Rows, RowStore
from genie_dp.parser.skill_rows import EVALUATION_FILE
from genie_dp.resources import data_folder
from genie_dp.rng import child_seed, stream
from genie_dp.texts import read_text

# Rows of each store that words are learned from, and the rows that are damaged.
_MOST_ROWS, _MOST_DAMAGED = 30_000, 3_000
# Of everyday patterns, for the calibration of the confidence.
_HELD_OUT = 0.1
# A sentence of whose content words more are said with one function may well mean it.
_FITS = 0.5
# Of damaged sentences those without their content words; the others are not given.
_CUT_SHARE = 0.25
_NAME = re.compile(r"@[\w.-]+")


@lru_cache(maxsize=16)
def everyday_sentences(words: Words) -> tuple[tuple[str, ...], ...]:
    """Return the everyday sentences of a language, those of one pattern together.

    >>> from genie_dp.locale import words_of
    >>> sum(map(len, everyday_sentences(words_of("en")))) > 5000
    True
    """
    return tuple(tuple(sentences_of(pattern)) for pattern in words.everyday)


def _neighbours(language: Language, known: Container[str], words: Words) -> Iterator[str]:
    """Yield the real sentences of shipped skills none of whose functions the library has.

    People said them in the language of which there is a grammar.
    """
    if not (language.has_skills and words.has_grammar):
        return
    for file in sorted(data_folder("thingpedia").glob(f"*/{EVALUATION_FILE}")):
        for line in read_text(file).splitlines()[1:]:
            sentence, _, program = line.partition("\t")
            if sentence.strip() and not any(name in known for name in _NAME.findall(program)):
                yield sentence


@dataclass(slots=True)
class Lexicon:
    """With which functions words are said, outside of values.

    Attributes:
        words: those of the language of the sentences.
        functions: of each word, the functions of rows that say it, with how many rows do.
        simple: rows of one function.
    """

    words: Words
    functions: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    simple: list[Pair] = field(default_factory=list)

    @classmethod
    def from_rows(cls, stores: Iterable[RowStore], language: Language, words: Words) -> "Lexicon":
        """Return the words of rows, of at most so many of each store."""
        lexicon = cls(words)
        for store in stores:
            for place in range(0, len(store), max(1, -(-len(store) // _MOST_ROWS))):
                lexicon._add(store[place], language)
        return lexicon

    def _add(self, pair: Pair, language: Language) -> None:
        if pair.program == (OUT_OF_SCOPE,):
            return
        functions = language.functions_in(" ".join(pair.program))
        values = language.values_in(pair.program)
        for word in content_words(pair.sentence, values, self.words):
            self.functions[word].update(functions)
        if len(functions) == 1:
            self.simple.append(pair)

    def fits(self, words: Sequence[str]) -> float:
        """Return the largest share of words that are said with one function; 0 of no words."""
        counts = Counter(function for word in words for function in self.functions.get(word, ()))
        return max(counts.values(), default=0) / max(1, len(words))


def add_refused(rows: Rows, maker: RowMaker) -> None:
    """Add to rows the sentences that mean nothing that their functions do, none of them a row's.

    A part of the everyday sentences and of the neighbours' is held out, by pattern.
    """
    language = maker.target.language
    words = maker.locale.words
    lexicon = Lexicon.from_rows(rows.parts, language, words)
    learned: dict[str, None] = {}
    held_out: dict[str, None] = {}
    neighbours = ((sentence,) for sentence in _neighbours(language, maker.known, words))
    for pattern in (*everyday_sentences(words), *neighbours):
        is_held_out = child_seed(0, "refused", pattern[0]) % 1000 < 1000 * _HELD_OUT
        for sentence in pattern:
            tokens = maker.read_tokens(sentence)
            if tokens and lexicon.fits(content_words(tokens, (), words)) <= _FITS:
                (held_out if is_held_out else learned)[" ".join(tokens)] = None
    # The same of every seed: parsers of other words could not answer together.
    rng = stream(0, "refused")
    damaged = _damaged(lexicon, rng)
    learned.update(dict.fromkeys(islice(damaged, min(_MOST_DAMAGED, len(lexicon.simple)))))
    own = rows.own_sentences()
    for sentence in learned:
        if sentence not in own:
            rows.refused.add(sentence, OUT_OF_SCOPE)
    kept = [sentence for sentence in held_out if sentence not in own]
    rows.refused_held_out = tuple(rng.sample(kept, min(len(kept), maker.config.validation_rows)))


def _damaged(lexicon: Lexicon, rng: Random) -> Iterator[str]:
    """Yield sentences of simple rows, as commands that are not given, or without their content."""
    words = lexicon.words
    for pair in rng.sample(lexicon.simple, len(lexicon.simple)):
        sentence = pair.sentence
        telling = content_words(sentence, pair.program, words)
        if rng.random() < _CUT_SHARE:
            rest = [word for word in sentence if word not in telling]
            if telling and not all(map(is_slot, rest)):
                yield " ".join(rest)
        elif words.not_given and (
            sentence[0] in words.verbs or sentence[0] not in words.function_words
        ):
            yield rng.choice(words.not_given).format(" ".join(sentence))
