"""The listener of a gap report: templates or a parser, and the missing parts of sentences.

A sentence is understood by templates that derive it, or by a parser that does not refuse it. Its
values are taken out as coverage does; shown sentences are judged by coverage again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from os.path import commonprefix
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.coverage import CoverageReader, CoveredSentence
from genie_dp.evaluate.coverage_stubs import AlignedSentence, NearestPrograms, Stub, working_stubs
from genie_dp.languages.calls.library import words_of
from genie_dp.languages.library import Library, Parameter, Signature
from genie_dp.languages.types import STRING, Entity, Enum, Type, slot_stem
from genie_dp.locale import locale_from
from genie_dp.parser.answers import EMPTY, REFUSALS, TOO_LONG, Reply
from genie_dp.parser.parser import Parser
from genie_dp.parser.reading.reading import MOST_CHARACTERS
from genie_dp.parser.session import read_names
from genie_dp.private.gaps.listen import Advice
from genie_dp.private.gaps.select import (
    HOLE,
    TemplateVocabulary,
    Tokens,
    Understanding,
    number_values,
)
from genie_dp.private.ledger.guard import refuse_learned, refuse_private
from genie_dp.records import Example
from genie_dp.skills.words import tokenize
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import Miss
from genie_dp.synthesis.spoken import MOST_TOKENS, ReadValues, stem_of
from genie_dp.synthesis.wording import FunctionWords
from genie_dp.templates.inputs import Inputs

WORD, NOT_DERIVED, NOT_LISTED = "word not said", "not derived", "name not listed"
# Those of templates; a parser's are its refusals.
REASONS: Mapping[str, str] = {
    WORD: "no template says some of the words that tell something",
    NOT_DERIVED: "such words are said, and no template derives them so",
    NOT_LISTED: "a template derives it with a name that is none of those given for its kind",
    TOO_LONG: REFUSALS[TOO_LONG],
    EMPTY: REFUSALS[EMPTY],
}
_DRAWN = 50_000  # sentences of the templates, in which pairs of words are looked for
_MOST_PARTS = _MOST_NEAREST = 3
_END_MARKS = frozenset((".", "?", "!"))


@dataclass(slots=True)
class GapListener:
    """Understands sentences by one grammar, or by a parser of the same skills.

    Attributes:
        words: of the functions.
        unsaid: functions without a template.
        parser: None where the templates decide alone.
        names: kind of entity -> names that belong to who speaks.
        facts: its inputs, for people and resumed runs.
        sources: the files that it is made of.
    """

    inputs: Inputs
    config: CoverageConfig
    reader: CoverageReader
    words: FunctionWords
    unsaid: frozenset[str]
    vocabulary: TemplateVocabulary
    facts: Mapping[str, Any]
    parser: Parser | None = None
    names: Mapping[str, Sequence[str]] | None = None
    sources: tuple[str | Path, ...] = ()

    @classmethod
    def from_inputs(
        cls,
        inputs: Inputs,
        config: CoverageConfig,
        *,
        parser: Parser | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> "GapListener":
        """Return the listener of a grammar; indexing it, and drawing sentences, takes some seconds.

        Args:
            inputs: skills and templates.
            config: which templates, and how deep.
            parser: the parser of sentences, in place of the templates.
            names: kind of entity -> names that belong to who speaks.
            facts: further facts of a report.

        Raises:
            GenieError: V023, sentences of the language hold no values; F024, the parser is of
                another language.
        """
        language, library = inputs.language, inputs.library
        if not language.values.reads_values(library):
            message = f"sentences of {language.name} hold no values that could be taken out"
            raise GenieError(Problem("V023", message, hint="name skills with --skills"))
        if parser is not None and parser.target.language.name != language.name:
            message = f"the parser writes {parser.target.language.name}, not {language.name}"
            hint = f"add --language {parser.target.language.name}, with its skills and templates"
            raise GenieError(Problem("F024", message, hint=hint))
        reader = CoverageReader.from_inputs(inputs, config, names)
        compiled, spoken = reader.explainer.compiled, reader.spoken
        pairs, drawn_phrases = _draw(compiled)
        words, unsaid = _all_words(spoken.function_words, drawn_phrases, library)
        # "We" and "too" are no gap, and need not count as one.
        public = locale_from(config.locale).words.function_words
        template_phrases = TemplateVocabulary(
            spoken.grammar.vocabulary | public | frozenset(compiled.placeholders.stems),
            pairs,
            tuple(sorted(library.names())),
            {**REASONS} if parser is None else {**REFUSALS},
        )
        by = "the templates" if parser is None else f"the parser {Path(parser.folder or '').name}"
        return cls(
            inputs, config, reader, words, unsaid, template_phrases,
            {"by": by, **(facts or {})}, parser, names, (*inputs.skills, *inputs.sources),
        )  # fmt: skip

    @property
    def language(self) -> str:
        """Return the name of the language of its programs."""
        return self.inputs.language.name

    # ------------------------------------------------------------------------------ listening

    def hear(self, utterances: Iterable[str]) -> Iterator[Understanding]:
        """Yield the outcome of sentences; of a long one only that it is too long."""
        return map(self._hear, utterances)

    def _hear(self, utterance: str) -> Understanding:
        if len(utterance) > MOST_CHARACTERS:
            return Understanding((), TOO_LONG)
        tokens = self._take_values_out(utterance)
        if not tokens or len(tokens) > MOST_TOKENS:
            return Understanding((), TOO_LONG if tokens else EMPTY)
        if self.parser is not None:
            reply = self.parser(utterance, names=self.names)
            if reply.refused is None:
                return Understanding(tokens)
            return Understanding(
                tokens, reply.refused, self._function_of(reply) or self._first(tokens)
            )
        matches = self.reader.spoken.find(utterance)
        likely = [reading for reading in matches.readings if not reading.is_unlikely]
        if any(map(self._has_known_names, likely)):
            return Understanding(tokens)
        is_said = all(map(self.vocabulary.has, tokens))
        reason = NOT_LISTED if likely else NOT_DERIVED if is_said else WORD
        return Understanding(tokens, reason, self._first(tokens))

    def _has_known_names(self, reading: ReadValues) -> bool:
        """Return whether no word of a reading is taken for a name of a kind whose names are given.

        A caller who gives the rooms of a house has no room "kitchen fan speed".
        """
        kinds = self.names or {}
        for placeholder, value in reading.values.items():
            kind = placeholder.rpartition("_")[0].removeprefix("GENERIC_ENTITY_")
            if value.how == "unlisted name" and (kind in kinds or kind.split(":")[-1] in kinds):
                return False
        return True

    def _take_values_out(self, utterance: str) -> Tokens:
        """Return a sentence with stems for its values, those of which the grammar has none, too.

        A listed name is such a value if no template contains its words.
        """
        values, vocabulary = self.reader.values, self.reader.spoken.grammar.vocabulary
        read = values.read(utterance)[0]
        tokens = [t.rpartition("_")[0] if t in read.values else t for t in read.tokens]
        while tokens and tokens[-1] in _END_MARKS - vocabulary:
            tokens.pop()
        spans: dict[int, tuple[int, str]] = {}
        used: set[int] = set()
        for start, end, stem in values.links(tuple(tokens)):
            places = range(start, end)
            if not vocabulary.issuperset(tokens[start:end]) and used.isdisjoint(places):
                used.update(places)
                spans[start] = end, stem
        for start in sorted(spans, reverse=True):
            end, stem = spans[start]
            tokens[start:end] = [stem]
        return tuple(tokens)

    def _function_of(self, reply: Reply) -> str:
        """Return the function of the nearest that a parser can do, "" of none."""
        functions = self.inputs.language.form(reply.program).functions if reply.program else ()
        return next(iter(functions), "")

    def _nearest(self, tokens: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Return the functions that go with half of the content words, with these words.

        Functions without a template come first: the others have templates, none of which fits.
        """
        telling = self.reader.values.content_words(
            [token for token in tokens if token[:1] not in ascii_uppercase]
        )
        nearest = self.words.nearest(telling, most=len(self.words.words))
        nearest = [(name, shared) for name, shared in nearest if 2 * len(shared) >= len(telling)]
        nearest.sort(key=lambda pair: pair[0] not in self.unsaid)
        return nearest[:_MOST_NEAREST]

    def _first(self, tokens: Sequence[str]) -> str:
        return next((name for name, _ in self._nearest(tokens)), "")

    # ------------------------------------------------------------------------------- advising

    def advise(self, sentences: Sequence[Tokens]) -> list[Advice | None]:
        """Return the missing parts of each sentence, and a template for it; reads nothing private.

        None of a sentence with holes that are no values of a function. Those that are become texts
        or names, and the template has placeholders for them. So do words that no template contains,
        where a function lacks a text or a name.
        """
        advice = self._advise_known([self._fill_holes(tokens) for tokens in sentences])
        named = self._advise_known(
            [
                None if item is not None and (item.is_derived or item.stub) else tokens
                for tokens, item in zip(self._take_names_out(sentences), advice, strict=True)
            ]
        )
        best_advice = []
        for tokens, item, renamed_advice in zip(sentences, advice, named, strict=True):
            best = renamed_advice if renamed_advice is not None and renamed_advice.stub else item
            # Without a template the words in a hole may be anything.
            is_empty = best is not None and HOLE in tokens and not best.stub
            best_advice.append(None if is_empty else best)
        return best_advice

    def _advise_known(self, sentences: Sequence[Tokens | None]) -> list[Advice | None]:
        """Return advice for the sentences that are there; the same one is judged once."""
        different = list(dict.fromkeys(tokens for tokens in sentences if tokens is not None))
        advice_of = dict(zip(different, self._advise(different), strict=True))
        return [None if tokens is None else advice_of[tokens] for tokens in sentences]

    def _fill_holes(self, tokens: Tokens) -> Tokens | None:
        """Return a sentence whose holes are values of a function that its words suggest.

        Too few sentences agree there, which is so of texts and names. They become inputs of
        these sorts that no other value of the sentence is for. None where there are not as many, or
        where the sentence begins with a hole.
        """
        holes = [place for place, token in enumerate(tokens) if token == HOLE]
        if not holes or holes[0] == 0:
            return None if holes else tokens
        known_tokens = [token for token in tokens if token != HOLE]
        for name, _ in self._nearest(known_tokens):
            free = self._free_inputs(name, known_tokens)
            if len(free) >= len(holes):
                stems = (stem for _, stem in free)
                return tuple(next(stems) if token == HOLE else token for token in tokens)
        return None

    def _free_inputs(self, function: str, tokens: Sequence[str]) -> list[tuple[Parameter, str]]:
        """Return the texts and names that a sentence does not give to a function, with stems.

        Required ones come first.
        """
        signature = self.inputs.library.signature(function)
        if signature is None:
            return []
        taken = dict(_constants(signature, number_values(tokens)))
        free = [
            (parameter, stem)
            for parameter in signature.inputs
            if parameter.name not in taken and (stem := _open_stem(parameter.type))
        ]
        return sorted(free, key=lambda pair: not pair[0].is_required)

    def _take_names_out(self, sentences: Sequence[Tokens]) -> list[Tokens | None]:
        """Return sentences whose unknown words are texts or names of the nearest function.

        They are where other sentences have other words, "feed the reef tank" and "feed
        the lobby tank"; or, where nothing else is unknown, beside the name of an input that is
        required. None where it is not so.
        """
        runs = [_unknown_runs(tokens, self._is_known) for tokens in sentences]
        variants: dict[Tokens, set[Tokens]] = {}
        for tokens, own in zip(sentences, runs, strict=True):
            for run in own:
                variants.setdefault(_without(tokens, [run]), set()).add(tokens[run])
        filled = []
        for tokens, own in zip(sentences, runs, strict=True):
            others = ((run, variants[_without(tokens, [run])]) for run in own)
            varied = [_inside(run, words) for run, words in others if len(words) > 1]
            filled.append(self._fill_runs(tokens, varied) or self._fill_named(tokens, own))
        return filled

    def _is_known(self, token: str) -> bool:
        """Return whether a token is in templates, or belongs to a function of the library."""
        return self.vocabulary.has(token) or token in self.words.uses

    def _fill_runs(self, tokens: Tokens, runs: Sequence[slice]) -> Tokens | None:
        """Return a sentence with stems for some words, None where no function lacks them."""
        if not runs:
            return None
        free = self._lacking(tokens, runs)
        required = sum(parameter.is_required for parameter, _ in free)
        if not required <= len(runs) <= len(free):
            return None
        return _without(tokens, runs, [stem for _, stem in free])

    def _fill_named(self, tokens: Tokens, runs: Sequence[slice]) -> Tokens | None:
        """Return a sentence with the one input that is missing, whose name stands beside it."""
        if len(runs) != 1:
            return None
        free = [pair for pair in self._lacking(tokens, runs) if pair[0].is_required]
        [run] = runs
        beside = {*tokens[max(0, run.start - 1) : run.start], *tokens[run.stop : run.stop + 1]}
        if len(free) != 1 or beside.isdisjoint(_forms(free[0][0].name)):
            return None
        return _without(tokens, runs, [free[0][1]])

    def _lacking(self, tokens: Tokens, runs: Sequence[slice]) -> list[tuple[Parameter, str]]:
        """Return the free inputs of the function that is nearest without some words.

        None where another one is as near: then it is not known which is meant.
        """
        rest = [token for token in _without(tokens, runs) if token]
        nearest = self._nearest(rest)
        shared = [len(words) for _, words in nearest]
        if not nearest or shared[0] in shared[1:]:
            return []
        return self._free_inputs(nearest[0][0], rest)

    def _advise(self, sentences: Sequence[Tokens]) -> list[Advice]:
        numbered = [number_values(tokens) for tokens in sentences]
        language = self.inputs.language.name
        judged = [
            self.reader.judge(Example(str(place), " ".join(tokens), "", language, "human"))
            for place, tokens in enumerate(numbered)
        ]
        templates = NearestPrograms(
            self.reader.explainer, self.reader.spoken, self.reader.inputs.library
        )
        stubs = {
            sentence.id: Stub.from_sentence(aligned, self.inputs)
            for sentence, tokens in zip(judged, numbered, strict=True)
            if sentence.missed is not None
            if (aligned := self._sentence_for(sentence, tokens, templates)) is not None
        }
        config = self.config
        working = working_stubs(
            stubs, self.inputs, subsets=config.subsets, max_depth=config.max_depth
        )
        return [
            self._advice(sentence, stubs.get(sentence.id), working.get(sentence.id, ""))
            for sentence in judged
        ]

    def _sentence_for(
        self, judged: CoveredSentence, tokens: Tokens, templates: NearestPrograms
    ) -> AlignedSentence | None:
        """Return a sentence with the plainest program of a function that its words suggest."""
        for function, _ in self._nearest(tokens):
            aligned = None
            if function not in self.unsaid:
                aligned = templates.align(judged.utterance, function)
            if aligned is None or not self._says(function, tokens, aligned.program):
                # Templates that are put together have no words of their own to begin with.
                aligned = self._call(function, tokens)
            if aligned is not None:
                return aligned
        return None

    def _says(self, function: str, tokens: Tokens, program: str) -> bool:
        """Return whether a program of a function has the values and listed words of a sentence."""
        has = {token.removeprefix("enum:") for token in program.split(" ")}
        values = {token for token in tokens if token[:1] in ascii_uppercase}
        signature = self.inputs.library.signature(function)
        listed = dict(_constants(signature, tokens)).values() if signature is not None else ()
        return has.issuperset(values.union(value.removeprefix("enum:") for value in listed))

    def _call(self, name: str, tokens: Tokens) -> AlignedSentence | None:
        """Return a sentence as a call of a function without a template.

        Values and listed words of the sentence become its inputs; None where some are left over, or
        a required one is missing.
        """
        language, library = self.inputs.language, self.inputs.library
        signature = library.signature(name)
        if signature is None:
            return None
        constants = dict(_constants(signature, tokens))
        program = language.structure.call(signature, constants)
        is_missing = any(p.is_required and p.name not in constants for p in signature.inputs)
        values = {token for token in tokens if token[:1] in ascii_uppercase}
        if program is None or is_missing or not values.issubset(constants.values()):
            return None
        tree = language.canonical(program, library)
        return AlignedSentence(ReadValues(tokens, {}), language.tokens(tree, library))

    def _advice(self, judged: CoveredSentence, stub: Stub | None, text: str) -> Advice:
        if judged.missed is None:
            return Advice(True, (), ())
        row = None
        if text and stub is not None:
            words, program = " ".join(stub.sentence.read.tokens), stub.sentence.program
            language = self.inputs.language
            functions = language.form(program).functions
            row = Example(
                f"gap {judged.id}", words, program, language.name, "private", functions=functions
            )
        nearest = tuple(self._nearest(judged.utterance.split(" ")))
        return Advice(False, nearest, tuple(_lacks(judged.missed.near)), text, row)


def open_listener(
    inputs: Inputs,
    config: CoverageConfig,
    *,
    parser: Parser | Path | None = None,
    names: Mapping[str, Sequence[str]] | Path | None = None,
) -> GapListener:
    """Return the listener of a grammar, with a parser and names, or the folder and file of them.

    Raises:
        GenieError: the parser or the file of names is not public (F021); those of
            `GapListener.from_inputs`, `Parser.from_pretrained`, `read_names`.
    """
    if isinstance(parser, Path):
        refuse_learned(parser, None, code="F021")
        parser = Parser.from_pretrained(parser, threads=1)
    file = names if isinstance(names, Path) else None
    if isinstance(names, Path):
        # Before it is read: a mistake is told with its line.
        refuse_private([names], None, code="F021")
        names = read_names(names)
    said_of_names = "the caller" if names else None
    listener = GapListener.from_inputs(
        inputs,
        config,
        parser=parser,
        names=names,
        facts={
            "grammar": [Path(path).name for path in inputs.grammar_files],
            "names": file.name if file else said_of_names,
            "locale": config.locale,
        },
    )
    return listener if file is None else replace(listener, sources=(*listener.sources, file))


def _draw(compiled: CompiledGrammar) -> tuple[frozenset[tuple[str, str]], dict[str, set[str]]]:
    """Return pairs of tokens, and words by function, of sentences drawn from the templates.

    Values are stems. Drawn are many, and always the same ones; a rare pair may not be among them.
    """
    plan = build_engine(compiled, SynthesisConfig(size=_DRAWN, seed=0)).plan
    pairs: set[tuple[str, str]] = set()
    words: dict[str, set[str]] = {}
    for cell, pieces in plan.draws(0, plan.total):
        combined = cell.wording.assemble(*pieces)
        if combined is None:
            continue
        text = compiled.placeholders.show(combined.text)
        tokens = [stem_of(t, compiled.placeholders) or t for t in text.split(" ")]
        pairs.update(pairwise(tokens))
        functions = set(combined.value.functions)
        if len(functions) == 1:
            words.setdefault(functions.pop(), set()).update(tokens)
    return frozenset(pairs), words


def _all_words(
    known: FunctionWords, drawn: Mapping[str, set[str]], library: Library
) -> tuple[FunctionWords, frozenset[str]]:
    """Return the words of all functions, and the functions without a template.

    Their words are those of their authors; the words of functions whose templates are put
    together are those of sentences with them.
    """
    own = dict(known.words)
    own.update((name, frozenset(words)) for name, words in drawn.items() if name not in own)
    unsaid = [signature for signature in library.functions() if signature.qualified not in own]
    for signature in unsaid:
        called = library.called(signature.qualified)
        own[signature.qualified] = frozenset(_words_of_signature(signature, called))
    uses = Counter(word for of_function in own.values() for word in of_function)
    names = frozenset(signature.qualified for signature in unsaid)
    return FunctionWords(own, uses, known.templates, known.choices), names


def _words_of_signature(signature: Signature, called: Iterable[str]) -> Iterator[str]:
    """Yield the words of name, inputs and listed values, and those that "skips" has without "s"."""
    names = [signature.name, *(parameter.name for parameter in signature.inputs)]
    for parameter in signature.inputs:
        if isinstance(parameter.type, Enum):
            names += parameter.type.values
    yield from (word for name in names for word in words_of(name).split())
    for text in called:
        for word in tokenize(text.casefold()):
            yield from (word, word.removesuffix("s"))


def _constants(signature: Signature, tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (input, constant) of a sentence: listed words, and its values.

    A value goes to an input of its sort, if there are several to one whose name stands beside it.
    """
    free = {name: p for p in signature.inputs if (name := p.name) and not isinstance(p.type, Enum)}
    for parameter in signature.inputs:
        if isinstance(parameter.type, Enum):
            value = next((value for value in parameter.type.values if value in tokens), None)
            if value is not None:
                yield parameter.name, f"enum:{value}"
    for place, token in enumerate(tokens):
        if token[:1] not in ascii_uppercase:
            continue
        stem, beside = token.rpartition("_")[0], {*tokens[max(0, place - 1) : place + 2]}
        fitting = [name for name, p in free.items() if slot_stem(p.type) == stem]
        fitting.sort(key=lambda name: (beside.isdisjoint(_forms(name)), not free[name].is_required))
        if fitting:
            del free[fitting[0]]
            yield fitting[0], token


def _unknown_runs(tokens: Tokens, is_known: Callable[[str], bool]) -> list[slice]:
    """Return where unknown words stand, one behind the other; nothing of sentences with holes."""
    if HOLE in tokens:
        return []
    runs, start = [], 0
    for is_said, part in groupby(tokens, is_known):
        end = start + len(list(part))
        if not is_said:
            runs.append(slice(start, end))
        start = end
    return runs


def _inside(run: slice, said: Collection[Tokens]) -> slice:
    """Return where the words of a run differ: without those that all begin with, and end in.

    >>> _inside(slice(2, 4), {("saying", "hello"), ("saying", "bye")})
    slice(3, 4, None)
    """
    longest_affix = min(map(len, said)) - 1
    begin = len(commonprefix([words[:longest_affix] for words in said]))
    end = len(commonprefix([words[::-1][: longest_affix - begin] for words in said]))
    return slice(run.start + begin, run.stop - end)


def _without(tokens: Tokens, runs: Sequence[slice], instead: Sequence[str] = ()) -> Tokens:
    """Return tokens with others, or "", in place of some runs.

    >>> _without(("feed", "the", "big", "reef", "tank"), [slice(2, 4)])
    ('feed', 'the', '', 'tank')
    """
    result = list(tokens)
    for number, run in reversed(list(enumerate(runs))):
        result[run] = [instead[number] if instead else ""]
    return tuple(result)


def _open_stem(type_: Type) -> str | None:
    """Return the stem of a type whose values are any words, None of another one."""
    return slot_stem(type_) if type_ == STRING or isinstance(type_, Entity) else None


def _forms(name: str) -> set[str]:
    """Return the words of a name, with and without an "s"."""
    words = set(words_of(name).split())
    return words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words}


def _lacks(near: Miss) -> Iterator[str]:
    for word, nearest in near.unknown:
        yield f"no template says {word!r}" + (f": did you mean {nearest[0]!r}?" if nearest else "")
    yield from (f"derived is {sentence!r}" for sentence in near.edits[:_MOST_PARTS])
    for part in near.parts[:_MOST_PARTS]:
        yield f"derived is the part {part.words!r} ({', '.join(part.categories)})"
    if not (near.unknown or near.edits or near.parts):
        yield "its words are said, not in this way"
