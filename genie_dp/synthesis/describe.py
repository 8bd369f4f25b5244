"""A program in English: the sentence that the templates derive for it."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from genie_dp.english import forms as english
from genie_dp.errors import GenieError
from genie_dp.languages.library import Library
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.english import BEGIN_WHEN
from genie_dp.languages.thingtalk.traverse import walk
from genie_dp.languages.units import Units
from genie_dp.skills.model import SkillLibrary
from genie_dp.synthesis.compiler import CompiledGrammar, compile_inputs
from genie_dp.synthesis.config import ReverseConfig
from genie_dp.synthesis.describe_chart import (
    ChartPiece,
    DescribeChart,
    DescribeTarget,
    Root,
    TargetGrammar,
    target_from_tokens,
)
from genie_dp.synthesis.describe_words import (
    OwnWords,
    Phrase,
    WithPlaceholders,
    say_value,
    with_constants,
    with_placeholders,
)
from genie_dp.synthesis.explain import (
    DerivationNode,
    check_program,
    place_of,
    read_program,
)
from genie_dp.synthesis.pieces import BLANK, GAP
from genie_dp.templates.inputs import Inputs

MOST_ROOTS = 12  # sentences that are looked at for a phrase, the most natural first

_QUESTIONS = frozenset(("how", "what", "where", "which", "who", "whose", "why"))
_I = re.compile(r"\bi\b")
_PRIVATE = re.compile("[\ue000-\uf7ff]")


@dataclass(frozen=True, slots=True)
class Description:
    """A program in English.

    Attributes:
        sentence: as people write it, with the values; it covers all of the program.
        utterance: its tokens, with placeholders numbered from left to right; "" where the templates
            alone do not cover the program.
        program: the program that `explain` reads from the utterance: canonical tokens, the same
            placeholders.
        values: placeholder -> the words of its value.
        derivation: the templates; None where they alone do not cover the program.
        complete: whether the templates alone cover the program.
        missing: the words of our own in the sentence, for the parts that no template covers.
        parts: descriptions of parts of the program, whose templates' words stand in the sentence.
    """

    sentence: str
    utterance: str
    program: str
    values: tuple[tuple[str, str], ...]
    derivation: DerivationNode | None
    complete: bool = True
    missing: tuple[str, ...] = ()
    parts: tuple["Description", ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "values": dict(self.values)}


@dataclass(frozen=True, slots=True)
class DescriptionDraft:
    """A sentence for a program; the rest of its description is computed on request.

    Attributes:
        utterance, program: those of the description.
        describe: returns the description.
    """

    utterance: str
    program: str
    describe: Callable[[], Description]


@dataclass(slots=True)
class Describer:
    """Describes programs by one grammar; indexing it takes half a second, so keep it.

    Attributes:
        functions: those that programs may have, which takes less time; empty for all.
    """

    compiled: CompiledGrammar
    library: Library
    max_depth: int = 8
    functions: frozenset[str] = frozenset()
    grammar: TargetGrammar = field(init=False)

    def __post_init__(self) -> None:
        self.grammar = TargetGrammar(self.compiled, self.functions)

    @classmethod
    def from_inputs(
        cls, inputs: Inputs, config: ReverseConfig | None = None, functions: Collection[str] = ()
    ) -> "Describer":
        """Return a describer of programs by a grammar; its rows that fail are left out.

        Args:
            inputs: the grammar, with its library.
            config: which templates are read, and how deep.
            functions: those that programs may have, which takes less time; empty for all.
        """
        config = config or ReverseConfig()
        compiled = compile_inputs(inputs, config.subsets, functions)
        return cls(compiled, inputs.library, config.max_depth)

    def describe(self, program: Any) -> Description:
        """Return the most natural sentence for a program: a tree, or a text in either form.

        Where no derivation has the program, words of our own are put around the template phrases of
        its parts; `complete` is False then.

        Raises:
            GenieError: a text that the language cannot read, or a program that is ill-typed.
        """
        return self.alternatives(program, 1)[0]

    def confirm(self, program: Any) -> str:
        """Return the sentence in which an assistant announces the program.

        This is the skill's `#_[confirmation]` if the program is one call and the confirmation has a
        place for each of its inputs, and else the sentence of `describe`.

        Raises:
            GenieError: as `describe`.
        """
        language, text = self.compiled.language, program if isinstance(program, str) else ""
        tree = read_program(text, language) if isinstance(program, str) else program
        check_program(tree, language, self.library, text)
        if isinstance(self.library, SkillLibrary):
            words = OwnWords(self.library, _PhrasesOfTemplates(self))
            if confirmation := words.confirmation(tree):
                return confirmation
        return self.describe(tree).sentence

    def alternatives(self, program: Any, most: int) -> tuple[Description, ...]:
        """Return different sentences for a program, the most natural first: one at least.

        Raises:
            GenieError: as `describe`.
        """
        return tuple(draft.describe() for draft in self.drafts(program, most))

    def drafts(self, program: Any, most: int) -> tuple[DescriptionDraft, ...]:
        """Return the drafts of `alternatives`, for callers that look at more than they use.

        Raises:
            GenieError: as `describe`.
        """
        language, text = self.compiled.language, program if isinstance(program, str) else ""
        tree = read_program(text, language) if isinstance(program, str) else program
        check_program(tree, language, self.library, text)
        drafts = tuple(draft for _, draft in islice(self._whole(tree), most))
        if drafts:
            return drafts
        own = self._own(tree)
        return (DescriptionDraft("", own.program, lambda: own),)

    def _whole(self, tree: Any) -> Iterator[tuple["_DerivedSentence", DescriptionDraft]]:
        """Yield the sentences that templates derive for all of a program."""
        for reading, target in self._readings(tree):
            has_sentence = False
            for derived, draft in self._sentences(reading, target):
                has_sentence = True
                yield derived, draft
            if has_sentence:
                return

    def _readings(self, tree: Any) -> Iterator[tuple[WithPlaceholders, DescribeTarget]]:
        language = self.compiled.language
        readings = with_constants(
            language.tokens(language.canonical(tree, self.library), self.library),
            language,
            self.library.units,
        )
        if language.has_skills:
            # Canonical form first: it makes people of the names in policies, which are values.
            form = language.canonical(tree, self.library)
            readings = with_placeholders(form, self.grammar.known, self.library.units)
        for reading in readings:
            form = language.canonical(reading.program, self.library)
            text = language.tokens(form, self.library)
            target = target_from_tokens(text, language.functions(form), self.compiled.placeholders)
            if target is not None:
                yield reading, target

    # ------------------------------------------------------------------------- all of it

    def _sentences(
        self, reading: WithPlaceholders, target: DescribeTarget
    ) -> Iterator[tuple["_DerivedSentence", DescriptionDraft]]:
        chart = DescribeChart(self.grammar, target, self.max_depth)
        roots = chart.roots()
        whole = {part for part in {root.part for root in roots} if self._is_whole(chart, part)}
        texts: set[str] = set()
        programs: dict[tuple[tuple[str, str], ...], str] = {}
        for root in sorted((r for r in roots if r.part in whole), key=lambda r: r.cost):
            text = chart.say(root)
            if text is None or text in texts or any(text.count(c) != 1 for c in target.names):
                continue
            texts.add(text)
            names = self._number_placeholders(text)
            key = tuple(sorted(names.items()))
            if key not in programs:
                programs[key] = self._tokens_with_names(target.text, {**target.names, **names})
            draft = self._draft(reading, target, root, text, names, programs[key])
            yield (
                _DerivedSentence(
                    root, text, _values_by_character(reading, target, self.library.units), target
                ),
                draft,
            )

    def _is_whole(self, chart: DescribeChart, part: int) -> bool:
        text, target = chart.values[part].text, chart.target
        if text == target.text:
            return True
        # Values may be sorted otherwise where placeholders stand beside fixed ones.
        if Counter(text.split()) != Counter(target.tokens):
            return False
        return self._tokens_with_names(text, target.names) == self._tokens_with_names(
            target.text, target.names
        )

    def _tokens_with_names(self, text: str, names: Mapping[str, str]) -> str:
        """Return a text of the engine as canonical tokens with these placeholders."""
        language = self.compiled.language
        for character, token in names.items():
            text = text.replace(character, token)
        return language.tokens(
            language.canonical(language.from_tokens(text), self.library), self.library
        )

    def _draft(
        self,
        reading: WithPlaceholders,
        target: DescribeTarget,
        root: Root,
        text: str,
        names: Mapping[str, str],
        program: str,
    ) -> DescriptionDraft:
        utterance = _rename_placeholders(text, names)

        def naming(text: str) -> str:
            return _rename_placeholders(text, names).replace(GAP, BLANK)

        def describe_row() -> Description:
            values = _values_by_character(reading, target, self.library.units)
            return Description(
                surface(text, values),
                utterance,
                program,
                tuple((names[character], values[character]) for character in names),
                _root_derivation(root, text, naming),
            )

        return DescriptionDraft(utterance, program, describe_row)

    def _number_placeholders(self, text: str) -> dict[str, str]:
        """Return the placeholders of a sentence numbered from left to right, by character."""
        counts: Counter[str] = Counter()
        names: dict[str, str] = {}
        for character in dict.fromkeys(_PRIVATE.findall(text)):
            stem = self.compiled.placeholders.token(character).rpartition("_")[0]
            names[character] = f"{stem}_{counts[stem]}"
            counts[stem] += 1
        return names

    # ------------------------------------------------------------------ words of our own, too

    def _own(self, tree: Any) -> Description:
        """Return the description of a program that templates alone do not cover."""
        language = self.compiled.language
        form = language.canonical(tree, self.library)
        program = language.tokens(form, self.library)
        library = self.library
        if not isinstance(library, SkillLibrary):  # nothing is known of the parts of its programs
            written = language.render(form)
            return Description(written, "", program, (), None, False, (written,))
        words = OwnWords(library, _PhrasesOfTemplates(self))
        sentence = words.program(form)
        own = tuple(dict.fromkeys(words.own))
        parts = tuple(phrase.source for phrase in dict.fromkeys(words.used))
        return Description(sentence, "", program, (), None, False, own, parts)


@dataclass(frozen=True, slots=True)
class _DerivedSentence:
    """A sentence that templates derive, of which a phrase may be wanted."""

    root: Root
    text: str
    values: Mapping[str, str]
    target: DescribeTarget


@dataclass(slots=True)
class _PhrasesOfTemplates:
    """Answers `OwnWords`: a phrase is taken from a sentence that the templates derive."""

    describer: Describer
    known: dict[Any, "Phrase | None"] = field(default_factory=dict)

    def noun(self, query: ast.Query) -> Phrase | None:
        program = ast.Program((ast.Rule(None, query, ast.Notify()),))
        return self._phrase(program, "query", ("now => ", " => notify"))

    def when(self, stream: ast.Stream) -> Phrase | None:
        program = ast.Program((ast.Rule(stream, None, ast.Notify()),))
        return self._phrase(program, "stream", ("", " => notify"))

    def verb(self, action: ast.Call) -> Phrase | None:
        program = ast.Program((ast.Rule(None, None, action),))
        return self._phrase(program, "action", ("now => ", ""))

    def command(self, program: ast.Program | ast.Policy) -> Phrase | None:
        return self._phrase(program, "", ("", ""))

    def _phrase(self, program: Any, kind: str, around: tuple[str, str]) -> Phrase | None:
        """Return the template phrase of a kind for a program; `around` is cut off its tokens."""
        if (program, kind) not in self.known:
            phrase = self._find_phrase(program, kind, around)
            self.known[program, kind] = phrase
        return self.known[program, kind]

    def _find_phrase(self, program: Any, kind: str, around: tuple[str, str]) -> Phrase | None:
        if any(isinstance(part, ast.EventValue) for part in walk(program)) or not self._is_typed(
            program
        ):
            return None
        for derived, draft in islice(self.describer._whole(program), MOST_ROOTS):
            text = ""
            if kind:
                part = derived.target.text.removeprefix(around[0]).removesuffix(around[1])
                text = next(_texts_of_kind(derived.root.children, kind, part), "")
            elif derived.target.is_policy or _is_command(derived.text):
                text = derived.text
            if text:
                words = _put_in_values(text, derived.values)
                first = text[:1] if text[:1].isalpha() and text[:2] != "i " else words[:1]
                return Phrase(first + words[1:], draft.describe())
        return None

    def _is_typed(self, program: Any) -> bool:
        """Return whether a part has a meaning by itself: all its names are its own."""
        try:
            check_program(program, self.describer.compiled.language, self.describer.library)
        except GenieError:
            return False
        return True


def _texts_of_kind(items: Iterable[ChartPiece], kind: str, program: str) -> Iterator[str]:
    """Yield the texts of pieces for exactly this program, as phrases of that kind."""
    for item in items:
        value, form = item.piece.value, item.piece.features.form
        if (
            value.kind == kind
            and not value.gap
            and _without_parentheses(value.text) == _without_parentheses(program)
        ):
            is_noun = form in ("np", "long") and not english.starts_with_verb(item.piece.text)
            is_verb = english.starts_with_verb(item.piece.text)
            if {"query": is_noun, "action": is_verb}.get(kind, True):
                yield item.piece.text
        yield from _texts_of_kind(item.children, kind, program)


def _without_parentheses(text: str) -> str:
    """Return the tokens of a query without the parentheses around all of it."""
    inner = text.removeprefix("( ").removesuffix(" )")
    is_one = len(inner) == len(text) - 4 and "(" not in inner
    return inner if is_one else text


def _values_by_character(
    reading: WithPlaceholders, target: DescribeTarget, units: Units
) -> dict[str, str]:
    """Return the words of each placeholder's value, by its character."""
    return {
        character: say_value(reading.values[token], units) if token in reading.values else token
        for character, token in target.names.items()
    }


def _rename_placeholders(text: str, names: Mapping[str, str]) -> str:
    for character, token in names.items():
        text = text.replace(character, token)
    return text


def surface(text: str, values: Mapping[str, str]) -> str:
    """Return the tokens of a sentence as people write them, with values in their places.

    >>> surface("wait for a \ue000 , i said", {"\ue000": "8 minute timer"})
    'Wait for an 8 minute timer, I said'
    """
    text = _put_in_values(text, values) + ("?" if _is_question(text) else "")
    return text[:1].upper() + text[1:]


def _is_command(text: str) -> bool:
    """Return whether a sentence can be continued: it is no question, nor a mere noun."""
    return english.starts_with_verb(text) or text.startswith(BEGIN_WHEN)


def _is_question(text: str) -> bool:
    first, second = (*text.split(" ", 2), "")[:2]
    if first == "when":  # "when i get an email" is none
        return english.is_question(text.removeprefix("when "))
    return english.is_question(text) or first in _QUESTIONS or second in ("which", "how")


def _put_in_values(text: str, values: Mapping[str, str]) -> str:
    """Return tokens as people write them, with values in their places."""
    text = _I.sub("I", english.surface(text))
    for character, value in values.items():
        if english.article(value) == "an":
            text = re.sub(rf"\b([Aa]) {character}", rf"\1n {character}", text)
        text = text.replace(character, value)
    return text


def _root_derivation(root: Root, text: str, naming: Callable[[str], str]) -> DerivationNode:
    template = root.rule.template
    children = tuple(_derivation_node(child, naming) for child in root.children)
    return DerivationNode(
        root.rule.category, naming(text), template.id, place_of(template), "", children
    )


def _derivation_node(item: ChartPiece, naming: Callable[[str], str]) -> DerivationNode:
    template = item.rule.template if item.rule else None
    return DerivationNode(
        item.category,
        naming(item.piece.text),
        template.id if template else "",
        place_of(template) if template else "",
        naming(item.piece.value.text),
        tuple(_derivation_node(child, naming) for child in item.children),
    )
