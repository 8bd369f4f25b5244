"""Templates that would derive a sentence: its words, with placeholders, and the program it means.

A stub has all words of the sentence; template authors make it more general. It is offered only
if it checks, and if the grammar derives the sentence with it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from string import ascii_lowercase

from genie_dp.errors import GenieError
from genie_dp.languages.base import Language
from genie_dp.languages.forms import Literal
from genie_dp.languages.library import Library
from genie_dp.languages.types import Entity, slot_stem, slot_type
from genie_dp.parser.reading.prepare import key_of
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import find_words
from genie_dp.synthesis.chart import Chart, ChildPlace, Pattern
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.explain import Explainer
from genie_dp.synthesis.spoken import (
    FoundValue,
    ReadValues,
    ValueFinder,
    engine_tokens,
    renumber,
    stem_of,
)
from genie_dp.templates.ast import (
    Child,
    Choice,
    Item,
    Optional,
    PlainWords,
    QuotedWords,
    Template,
    WordChoice,
)
from genie_dp.templates.check import errors_of
from genie_dp.templates.grammar import Grammar
from genie_dp.templates.guard import Guard
from genie_dp.templates.inputs import Inputs
from genie_dp.templates.syntax import parse_file

_TEXT = re.compile(r'" (.+) "(?: \^\^(\S+).*)?')
_ESCAPED = re.compile(r"(['$\\{}])")
_ENTITY = re.compile(r"Entity\((.+)\)")
_FILE = "stub {}.genie"


# ------------------------------------------------------------------- sentences with their programs


@dataclass(frozen=True, slots=True)
class AlignedSentence:
    """A sentence and its program in token form, with the same placeholders for their values."""

    read: ReadValues
    program: str


def align(utterance: str, program: str, spoken: ValueFinder, inputs: Inputs) -> AlignedSentence:
    """Return a sentence whose values are placeholders, as far as they are those of its program.

    Args:
        utterance: as it was typed.
        program: in token form, with its values.
        spoken: the finder of values.
        inputs: the language, and its library.
    """
    form = inputs.language.form(program)
    program_tokens, literals = [*form.tokens], form.literals
    variants = spoken.variants(utterance)
    agreeing = [(_places(variant, literals), variant) for variant in variants]
    complete = [(places, variant) for places, variant in agreeing if places is not None]
    # Of equals the likeliest; where all are words, nothing disagrees.
    places, read = max(complete, key=lambda pair: len(pair[0]), default=({}, variants[-1]))
    values, tokens = dict(read.values), list(read.tokens)
    taken = {literal for of_value in places.values() for literal in of_value}
    texts = [literal for literal in literals if literal.is_text and literal not in taken]
    for literal in sorted(texts, key=lambda literal: literal.start - literal.end):
        match = _TEXT.fullmatch(literal.constant)
        if match is None:
            continue
        stem = slot_stem(Entity(match[2])) if match[2] else "QUOTED_STRING"
        words = match[1].split(" ")
        start = find_words(tokens, words)
        if start is not None and stem in spoken.compiled.placeholders.stems:
            name = f"{stem}_{1000 + literal.start}"  # until all are numbered
            tokens[start : start + len(words)] = [name]
            values[name] = FoundValue(match[1], literal.constant)
            places[name] = [literal]
    named = ReadValues(tuple(tokens), values)
    numbered = renumber(named, spoken.compiled.placeholders)
    new_names = dict(zip(named.tokens, numbered.tokens, strict=True))
    for literal, name in sorted(
        ((literal, new_names[name]) for name, of_value in places.items() for literal in of_value),
        reverse=True,
    ):
        program_tokens[literal.start : literal.end] = [name]
    language, library = inputs.language, inputs.library
    tree = language.canonical(language.from_tokens(" ".join(program_tokens)), library)
    return AlignedSentence(numbered, language.tokens(tree, library))


def _places(variant: ReadValues, literals: Sequence[Literal]) -> dict[str, list[Literal]] | None:
    """Return placeholder -> the constants that it stands for; None if one stands for none."""
    places: dict[str, list[Literal]] = {}
    free = list(literals)
    for name, value in variant.values.items():
        key = key_of(value.constant)
        equal_literal = next((literal for literal in free if key_of(literal.constant) == key), None)
        if equal_literal is None:
            return None
        free.remove(equal_literal)
        places[name] = [equal_literal]
    for of_value in places.values():  # one value may stand in several places
        key = key_of(of_value[0].constant)
        again = [literal for literal in free if key_of(literal.constant) == key]
        of_value += again
        free = [literal for literal in free if literal not in again]
    return places


# ------------------------------------------------------------------------------------------- stubs


def write_stub(sentence: AlignedSentence, category: str, inputs: Inputs) -> str:
    """Return a template of a category that derives a sentence.

    A value that the sentence lacks stays in the body.
    """
    language = inputs.language
    tree = language.from_tokens(sentence.program)
    names = dict(zip(language.values.placeholders(tree), ascii_lowercase, strict=False))
    types = {name: str(slot_type(name)) for name in names}
    types |= {name: type_ for name, type_, _ in language.values.uses(tree, inputs.library)}
    words = " ".join(
        f"${{{names[token]}:const}}" if token in names else _ESCAPED.sub(r"\\\1", token)
        for token in sentence.read.tokens
    )
    body = language.render(tree).strip().removesuffix(";")
    for name in sorted(names, key=len, reverse=True):
        body = re.sub(rf"{re.escape(name)}(?!\d)", names[name], body)
    written = {name: _type_in_templates(types[name], language) for name in names}
    parameters = ", ".join(f"{letter} : {written[name]}" for name, letter in names.items())
    return f"{category} := '{words}'\n  -> " + (
        f"\\({parameters})\n  -> {body};" if names else f"{body};"
    )


def _categories_of_sentences(grammar: Grammar) -> list[str]:
    """Return the roots of a grammar, and categories that are whole sentences by themselves.

    Such is VP by `COMMAND := a:VP -> a`.
    """
    names = dict.fromkeys(root.name for root in grammar.roots())
    size = 0
    while size < len(names):
        size = len(names)
        for template in grammar.templates:
            match template.utterance:
                case (Child(name, category, requests=()),) if (
                    template.category in names
                    and category in grammar.categories
                    and grammar.kind(category) == grammar.kind(template.category)
                    and template.body_text.strip().removesuffix(";").strip() == name
                    and template.guard == Guard()
                ):
                    names[category] = None
    return list(names)


def _beginnings(items: Sequence[Item]) -> Iterator[tuple[str, ...]]:
    """Yield the words that an utterance may begin with, each as a tuple of its own."""
    for item in items:
        match item:
            case QuotedWords((PlainWords(text), *_)):
                yield (text.split(" ")[0],)
            case Choice(alternatives):
                yield from chain.from_iterable(map(_beginnings, alternatives))
            case Optional(inner) | WordChoice(inner):
                yield from _beginnings(inner)
        if not isinstance(item, Optional):
            return


def _type_in_templates(text: str, language: Language) -> str:
    """Return a type as templates of a language write it: some name a kind of entity alone."""
    entity = _ENTITY.fullmatch(text)
    if entity is None:
        return text
    try:
        language.bodies.parse_type(text)
    except GenieError:
        return entity[1]
    return text


@dataclass(frozen=True, slots=True)
class Stub:
    """A template that is not checked yet: the sentence that it is to derive, its text by root."""

    sentence: AlignedSentence
    texts: tuple[str, ...]

    @classmethod
    def from_sentence(cls, sentence: AlignedSentence, inputs: Inputs) -> "Stub":
        """Return a stub for each category of sentences; misfits are found later.

        Those come first whose templates begin with the word that the sentence begins with: as one
        more "feed the .." among others, a stub is used with "please", too.
        """
        first, grammar = sentence.read.tokens[:1], inputs.grammar
        begun = {t.category for t in grammar.templates if first in _beginnings(t.utterance)}
        names = sorted(_categories_of_sentences(grammar), key=lambda name: name not in begun)
        return cls(sentence, tuple(write_stub(sentence, name, inputs) for name in names))


def working_stubs(
    stubs: Mapping[str, Stub], inputs: Inputs, *, subsets: Sequence[str] = (), max_depth: int = 8
) -> dict[str, str]:
    """Return the stubs that check, and with which the grammar derives their sentences.

    All of them are added to the grammar at once, which is as good as one after the other: nothing
    that is derived is lost by a template more.

    Args:
        stubs: key of a sentence -> its stub.
        inputs: the grammar.
        subsets: names of subsets of flagged templates.
        max_depth: construct templates inside each other.
    """
    texts: dict[str, tuple[str, str]] = {}
    templates: dict[str, Template] = {}
    for key, stub in stubs.items():
        for number, text in enumerate(stub.texts):
            name = _FILE.format(f"{len(texts)}")
            texts[name] = key, text
            parsed, problems = parse_file(text, file=name, prefix=f"stub{len(texts)}.{number}")
            if not problems and len(parsed.templates) == 1:
                templates[name] = parsed.templates[0]
    alone = replace(inputs.grammar, templates=tuple(templates.values()), tables={})
    for problem in errors_of(alone, inputs.language, inputs.library):
        if problem.span is not None:
            templates.pop(problem.span.file, None)
    chosen: dict[str, str] = {}
    for name in templates:
        chosen.setdefault(texts[name][0], name)
    if not chosen:
        return {}
    added = tuple(templates[name] for name in chosen.values())
    grammar = replace(inputs.grammar, templates=(*inputs.grammar.templates, *added))
    explainer = Explainer(compile_inputs(replace(inputs, grammar=grammar), subsets), max_depth)
    working = {}
    for key, name in chosen.items():
        sentence = stubs[key].sentence
        if sentence.program in explainer.programs_of(sentence.read):
            working[key] = texts[name][1]
    return working


# ---------------------------------------------------------------- programs of the nearest function

_MOST_TEMPLATES = 20  # of a function, tried
_MOST_OPENERS = 20  # ways to begin a sentence, tried with each


@dataclass(slots=True)
class NearestPrograms:
    """Finds a program to begin with for a sentence of unknown meaning."""

    explainer: Explainer
    spoken: ValueFinder
    library: Library
    _openers: list[str] | None = None

    def align(self, utterance: str, function: str) -> AlignedSentence | None:
        """Return a sentence with the plainest program of a function that uses all of its values.

        A value that no template of the function takes may be that of a condition. None where the
        function needs values that the sentence does not have, or has no place for one that it has:
        a program that leaves out a date or a name means something else.
        """
        read = self.spoken.guess(utterance)
        placeholders = self.explainer.compiled.placeholders
        available = Counter(stem for token in read.tokens if (stem := stem_of(token, placeholders)))
        for words in self._said_with(function):
            needed = Counter(token.rpartition("_")[0] for _, token in placeholders.names(words))
            remaining = [*(available - needed).elements()]
            if needed - available or len(remaining) > 1:
                continue
            conditions = self._conditions(function, remaining[0], read) if remaining else [""]
            for program in chain.from_iterable(
                self._programs(f"{words} {condition}".strip()) for condition in conditions
            ):
                if set(self.explainer.compiled.language.form(program).functions) != {function}:
                    continue
                if {token for token in read.values} <= {*program.split(" ")}:
                    return AlignedSentence(read, program)
        return None

    def _conditions(self, function: str, stem: str, read: ReadValues) -> Iterator[str]:
        """Yield phrases for outputs of a function that a value can have, if it is clear which.

        It is where there is one such output, or where the sentence has a word of its phrase.
        """
        library = self.library
        if not isinstance(library, SkillLibrary) or (declared := library.find(function)) is None:
            return
        value = engine_tokens((f"{stem}_0",), self.explainer.compiled.placeholders)[0]
        outputs = [p for p in declared.signature.parameters if p.direction == "out"]
        fitting = [p for p in outputs if slot_stem(p.type) == stem]
        for parameter in fitting:
            phrases = library.phrases(function, parameter.name)
            for phrase in (*phrases.get("passive_verb", ()),
                           *(f"with {said}" for said in phrases.get("property", ()))):  # fmt: skip
                words = {*phrase.split(" ")} - {"#", "with", "on", "in", "at", "for", "the"}
                if len(fitting) == 1 or words & {*read.tokens}:
                    yield phrase.replace("#", value)

    def _said_with(self, function: str) -> list[str]:
        """Return the words of templates of a function alone, those with the fewest values first."""
        word_sequences = [
            words
            for words, functions in self.spoken.function_words.templates
            if functions == (function,)
        ]
        count = self.explainer.compiled.placeholders.names
        word_sequences.sort(key=lambda words: (len(count(words)), len(words), words))
        return word_sequences[:_MOST_TEMPLATES]

    def _programs(self, words: str) -> Iterator[str]:
        """Yield the programs of sentences that have the words of a template and little else."""
        compiled = self.explainer.compiled
        chart = Chart(self.explainer.grammar, self.explainer.max_depth)
        for opener in self._all_openers():
            tokens = tuple(f"{opener} {words}".split())
            for root in compiled.roots:
                for entry in chart.cell(root, tokens):
                    if not entry.piece.value.gap:
                        yield compiled.placeholders.show(entry.piece.value.text)

    def _all_openers(self) -> list[str]:
        """Return the first words of sentences of one child: nothing, "get", .."""
        if self._openers is None:
            grammar, roots = self.explainer.grammar, self.explainer.compiled.roots
            patterns = [pattern for root in roots for pattern in grammar.patterns.get(root, ())]
            heads = {" ".join(p.head) for p in patterns if p.head and _has_one_child(p)}
            self._openers = ["", *sorted(heads, key=lambda head: (len(head), head))]
        return self._openers[:_MOST_OPENERS]


def _has_one_child(pattern: Pattern) -> bool:
    return len(pattern.steps) == 2 and isinstance(pattern.steps[1], ChildPlace)
