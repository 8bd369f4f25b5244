"""Sentences that a parser is to refuse, made while it is trained.

They are everyday sentences (data/everyday.txt), real sentences of shipped skills whose functions
the library lacks, and damaged sentences of its own rows: without their content words, or as
commands that are not given ("don't ..", "should i ..").
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice, product
from random import Random

from genie_dp.languages.base import Language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.evidence import content_words, function_words
from genie_dp.parser.rows import RowMaker, Rows, RowStore
from genie_dp.parser.skill_rows import EVALUATION_FILE
from genie_dp.resources import data_folder
from genie_dp.rng import child_seed, stream
from genie_dp.texts import read_text

# Those of the function words that a command may begin with.
_VERBS = frozenset(
    ("find", "get", "give", "let", "list", "make", "post", "put", "set", "show", "tell")
)
# Rows of each store that words are learned from, and the rows that are damaged.
_MOST_ROWS, _MOST_DAMAGED = 30_000, 3_000
# Of everyday patterns, for the calibration of the confidence.
_HELD_OUT = 0.1
# A sentence of whose content words more are said with one function may well mean it.
_FITS = 0.5
# Of damaged sentences those without their content words; the others are not given.
_CUT_SHARE = 0.25
_NAME = re.compile(r"@[\w.-]+")
_CHOICE = re.compile(r"\(([^()]*)\)")
_NOT_GIVEN = (
    "don't {}", "do not {}", "never {}", "please don't {}", "how do i {}", "why should i {}",
    "should i {}", "i don't want to {}", "who told you to {}", "what happens if i {}",
    "i forgot to {}", "is it a good idea to {}", "my brother always wants to {}",
    "i would never {}", "is it legal to {}", "you should not {}", "did anybody {}",
    "stop trying to {}",
)  # fmt: skip


@cache
def everyday_sentences() -> tuple[tuple[str, ...], ...]:
    """Return the everyday sentences, those of one pattern together.

    >>> sum(map(len, everyday_sentences())) > 5000
    True
    """
    return tuple(tuple(_expand(line)) for line in _lines_of("everyday.txt"))


def _lines_of(name: str) -> Iterator[str]:
    text = (files("genie_dp.parser") / "data" / name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return (line for line in lines if line and not line.startswith("#"))


def _expand(pattern: str) -> Iterator[str]:
    """Yield the sentences of a pattern.

    >>> list(_expand("(hi|hello) you (there|)"))
    ['hi you there', 'hi you', 'hello you there', 'hello you']
    """
    parts = [part.split("|") if i % 2 else [part] for i, part in enumerate(_CHOICE.split(pattern))]
    return (" ".join("".join(choice).split()) for choice in product(*parts))


def _neighbours(language: Language, known: Container[str]) -> Iterator[str]:
    """Yield the real sentences of shipped skills none of whose functions the library has."""
    if not language.has_skills:
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
        functions: of each word, the functions of rows that say it, with how many rows do.
        simple: rows of one function.
    """

    functions: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    simple: list[Pair] = field(default_factory=list)

    @classmethod
    def from_rows(cls, stores: Iterable[RowStore], language: Language) -> "Lexicon":
        """Return the words of rows, of at most so many of each store."""
        lexicon = cls()
        for store in stores:
            for place in range(0, len(store), max(1, -(-len(store) // _MOST_ROWS))):
                lexicon._add(store[place], language)
        return lexicon

    def _add(self, pair: Pair, language: Language) -> None:
        if pair.program == (OUT_OF_SCOPE,):
            return
        functions = language.functions_in(" ".join(pair.program))
        for word in content_words(pair.sentence, pair.program):
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
    lexicon = Lexicon.from_rows(rows.parts, language)
    learned: dict[str, None] = {}
    held_out: dict[str, None] = {}
    for pattern in (*everyday_sentences(), *((s,) for s in _neighbours(language, maker.known))):
        is_held_out = child_seed(0, "refused", pattern[0]) % 1000 < 1000 * _HELD_OUT
        for sentence in pattern:
            tokens = maker.read_tokens(sentence)
            if tokens and lexicon.fits(content_words(tokens)) <= _FITS:
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
    for pair in rng.sample(lexicon.simple, len(lexicon.simple)):
        sentence, words = pair.sentence, content_words(pair.sentence, pair.program)
        if rng.random() < _CUT_SHARE:
            rest = [word for word in sentence if word not in words]
            if words and not all(map(is_slot, rest)):
                yield " ".join(rest)
        elif sentence[0] in _VERBS or sentence[0] not in function_words():
            yield rng.choice(_NOT_GIVEN).format(" ".join(sentence))
