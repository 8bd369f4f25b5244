"""Sentences that a parser is to refuse, made while it is trained.

They are everyday sentences of the language (`Words.everyday`), real sentences of shipped skills
whose functions the library lacks, and damaged sentences of its own rows: without their content
words, or as commands that are not given ("don't ..", "should i .."). None is a sentence that the
skills can do by their own words: those of rows, of templates, and of names of functions.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from random import Random

from genie_dp.languages.base import Language
from genie_dp.languages.calls.library import words_of
from genie_dp.languages.library import Signature
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import Type, is_slot, slot_stem
from genie_dp.locale import Words, sentences_of
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.derivations import LazyTemplates
from genie_dp.parser.evidence import content_words
from genie_dp.parser.reading.said import UNLISTED_NAME, SentenceReader
from genie_dp.parser.rows import NOW, RowMaker, Rows, RowStore
from genie_dp.resources import data_folder
from genie_dp.rng import child_seed, stream
from genie_dp.run.workers import in_processes
from genie_dp.skills.load import EVALUATION_FILE
from genie_dp.skills.words import tokenize
from genie_dp.synthesis.spoken import FoundValue, ValueFinder
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

# Rows of each store that words are learned from, and the rows that are damaged.
_MOST_ROWS, _MOST_DAMAGED = 30_000, 3_000
# Steps of a chart for one everyday sentence: it is short, and there are thousands.
_MOST_WORK = 4_000
# Of everyday patterns, for the calibration of the confidence.
_HELD_OUT = 0.1
# A sentence of whose content words more are said with one function may well mean it.
_FITS = 0.5
# Of damaged sentences those without their content words; the others are not given.
_CUT_SHARE = 0.25
_NAME = re.compile(r"@[\w.-]+")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")


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

    They are sentences of people, in the language of the sentences if it has a grammar.
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
    """Words of rows, outside of values, with the functions of these rows.

    Attributes:
        words: those of the language of the sentences.
        functions: of each word, the functions of the rows that contain it, with the number of rows.
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
        form = language.form(" ".join(pair.program))
        for word in content_words(pair.sentence, form.values, self.words):
            self.functions[word].update(form.functions)
        if len(form.functions) == 1:
            self.simple.append(pair)

    def fits(self, words: Sequence[str]) -> float:
        """Return the largest share of words that rows of one function contain; 0 of no words."""
        counts = Counter(function for word in words for function in self.functions.get(word, ()))
        return max(counts.values(), default=0) / max(1, len(words))


@dataclass(slots=True)
class SkillWords:
    """The sentences that skills can do by their own words.

    Attributes:
        lexicon: the words of rows.
        values: reads names and texts.
        sentences: derives sentences by the templates of the rows; None without templates.
        names: the first letters of a phrase -> (function, its content words), of all functions.
        compounds: words of templates with a hyphen, such as "to-do".
    """

    lexicon: Lexicon
    values: SentenceReader
    sentences: ValueFinder | None = None
    names: dict[str, list[tuple[Signature, list[str]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    compounds: tuple[str, ...] = ()
    _listed_words: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_maker(
        cls, maker: RowMaker, lexicon: Lexicon, templates: Inputs | None
    ) -> "SkillWords | None":
        """Return them; None of programs whose sentences hold no values, or without a library."""
        target = maker.target
        if target.library is None or not target.reads_values:
            return None
        reader = maker.preparer.reader if maker.preparer is not None else None
        values = SentenceReader(
            target.language, target.library, now=NOW, reader=reader, locale=maker.locale
        )
        sentences = None
        if templates is not None:
            indexed = LazyTemplates.from_inputs(templates).index(target.library, values)
            sentences = ValueFinder(indexed, values, most_work=_MOST_WORK)
        own = cls(lexicon, values, sentences)
        if sentences is not None:
            own.compounds = tuple(sorted(filter(_COMPOUND.fullmatch, sentences.grammar.vocabulary)))
        for function in target.library.functions():
            name = function.qualified
            unsaid = own._words(words_of(function.class_name.rpartition(".")[2]))
            # "The synonyms of a word" are those of "happy"; not all that is sent is "a message".
            if function.kind == "query":
                unsaid += [word for p in function.inputs for word in own._words(words_of(p.name))]
            for phrase in (*target.library.called(name), words_of(function.name)):
                content = [
                    word
                    for word in own._words(phrase)
                    if not any(_is_alike(word, x) for x in unsaid)
                ]
                # A verb alone is said of much else.
                if len(content) > 1 or (content and function.kind == "query"):
                    own.names[content[0][:_STEM]].append((function, content))
        return own

    def say(self, sentence: str, tokens: Sequence[str]) -> bool:
        """Return whether templates derive a sentence, or it has all words of a function's name.

        Args:
            tokens: the same with placeholders for numbers, dates and the like.
        """
        content = content_words(tokens, (), self.lexicon.words)
        named = (x for word in content for x in self.names.get(word[:_STEM], ()))
        if any(self._is_named(tokens, content, *each) for each in named):
            return True
        # A template has words; what none of the rows says is hardly one of them.
        if self.sentences is None or not any(word in self.lexicon.functions for word in content):
            return False
        return any(
            not reading.is_unlikely
            and all(map(self._is_one, reading.values, reading.values.values()))
            for spelt in self._spellings(sentence)
            for reading in self.sentences.find(spelt).readings
        )

    def _spellings(self, sentence: str) -> Iterator[str]:
        """Yield a sentence, and with words joined that templates join: "to-do" for "to do"."""
        yield sentence
        joined = f" {sentence} "
        for compound in self.compounds:
            joined = joined.replace(f" {compound.replace('-', ' ')} ", f" {compound} ")
        if joined.strip() != sentence:
            yield joined.strip()

    def _is_named(
        self,
        tokens: Sequence[str],
        content: Sequence[str],
        function: Signature,
        name: Sequence[str],
    ) -> bool:
        """Return whether a sentence has a function's name, and the rest may be an input of it."""
        if not all(any(_is_alike(word, x) for x in content) for word in name):
            return False
        ends = [n for n, word in enumerate(tokens) if any(_is_alike(word, x) for x in name)]
        rest = [
            place
            for place, word in enumerate(tokens)
            if word in content
            and place not in ends
            and function.qualified not in self.lexicon.functions.get(word, ())
        ]
        if not rest:
            return True
        input_words = tuple(tokens[rest[0] : rest[-1] + 1])
        return rest[0] > ends[-1] and any(self._takes(p.type, input_words) for p in function.inputs)

    def _takes(self, type_: Type, said: tuple[str, ...]) -> bool:
        """Return whether words may be a text, or a name, for an input."""
        stem = slot_stem(type_)
        if stem is None or not self.values.is_open(stem):
            return False
        value = self.values.as_value(stem, said)
        return value is not None and self._is_one(f"{stem}_0", value.value)

    def _is_one(self, token: str, value: FoundValue) -> bool:
        """Return whether a value is one of its kind: a name that no list has shares their words.

        "The laundry" may be a task beside "do the laundry"; "the kettle" is none of the lights.
        """
        if value.how != UNLISTED_NAME:
            return True
        kind = token.removeprefix("GENERIC_ENTITY_").rpartition("_")[0]
        if kind not in self._listed_words:
            listed = " ".join(self.values.library.values(kind))
            self._listed_words[kind] = frozenset(self._words(listed))
        content = self._words(value.words)
        return bool(content) and set(content) <= self._listed_words[kind]

    def _words(self, text: str) -> list[str]:
        return content_words(tokenize(text.casefold().replace("-", " ")), (), self.lexicon.words)


_STEM = 3
# Of nouns in the languages of `locales/`.
_PLURALS = ("", "s", "es", "e", "n", "en")


def _is_alike(one: str, other: str) -> bool:
    """Return whether words are the same but for an ending of the plural.

    >>> _is_alike("synonym", "synonyms"), _is_alike("dishes", "dish")
    (True, True)
    >>> _is_alike("moved", "move"), _is_alike("a", "as")
    (False, False)
    """
    short, long = sorted((one, other), key=len)
    is_one = len(short) > _STEM and long.startswith(short) and long[len(short) :] in _PLURALS
    return one == other or is_one


def add_refused(
    rows: Rows, maker: RowMaker, templates: Inputs | None = None, *, jobs: int = 1
) -> None:
    """Add to rows the sentences that mean nothing that their functions do, none of them a row's.

    A part of the everyday sentences and of the neighbours' is held out, by pattern.

    Args:
        templates: those that the rows were made of; sentences that they derive are not refused.
        jobs: processes that derive.
    """
    language = maker.target.language
    words = maker.locale.words
    lexicon = Lexicon.from_rows(rows.parts, language, words)
    skills = SkillWords.from_maker(maker, lexicon, templates)
    learned: dict[str, None] = {}
    held_out: dict[str, None] = {}
    neighbours = ((sentence,) for sentence in _neighbours(language, maker.known, words))
    patterns = [*everyday_sentences(words), *neighbours]

    def refuse(numbers: Iterable[int]) -> Iterator[list[str]]:
        """Yield the sentences of each pattern that are to be refused."""
        for number in numbers:
            read = [(x, maker.read_tokens(x)) for x in patterns[number]]
            yield [
                " ".join(tokens)
                for sentence, tokens in read
                if tokens and lexicon.fits(content_words(tokens, (), words)) <= _FITS
                if skills is None or not skills.say(sentence, tokens)
            ]

    numbers = range(len(patterns))
    refusals = refuse(numbers) if jobs == 1 else in_processes(refuse, numbers, jobs)
    for pattern, sentences in zip(patterns, refusals, strict=True):
        is_held_out = child_seed(0, "refused", pattern[0]) % 1000 < 1000 * _HELD_OUT
        (held_out if is_held_out else learned).update(dict.fromkeys(sentences))
    # The same of every seed: parsers of other words could not answer together.
    rng = stream(0, "refused")
    damaged = _damage(lexicon, rng)
    learned.update(dict.fromkeys(islice(damaged, min(_MOST_DAMAGED, len(lexicon.simple)))))
    own = rows.own_sentences()
    for sentence in learned:
        if sentence not in own and sentence not in held_out:
            rows.refused.add(sentence, OUT_OF_SCOPE)
    new_sentences = [sentence for sentence in held_out if sentence not in own]
    rows.refused_held_out = tuple(
        rng.sample(new_sentences, min(len(new_sentences), maker.config.validation_rows))
    )


def _damage(lexicon: Lexicon, rng: Random) -> Iterator[str]:
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
