"""What a program says in English: the sentence that the templates make of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.describe_chart import DescribeChart, Item, Root
from genie_dp.synthesis.describe_grammar import TargetGrammar
from genie_dp.synthesis.describe_rest import facts, left_out, plain
from genie_dp.synthesis.describe_target import LOOSE, Target, target_of
from genie_dp.synthesis.describe_values import WithPlaceholders, said, with_placeholders
from genie_dp.synthesis.explain import Node
from genie_dp.synthesis.placeholders import GAP
from genie_dp.templates import english

_BLANK = "____"
_TOKEN_FORM = re.compile(r"\b(?:param|enum|unit|attribute):|\^\^\S+ id:")
_QUESTIONS = frozenset(("how", "what", "where", "which", "who", "whose", "why"))
_I = re.compile(r"\bi\b")
_PRIVATE = re.compile("[\ue000-\uf7ff]")


@dataclass(frozen=True, slots=True)
class Description:
    """A program in English.

    Attributes:
        sentence: as people write it, with the values.
        utterance: its tokens, with placeholders numbered from left to right.
        program: what `explain` reads from the utterance: canonical tokens, the same placeholders.
        values: placeholder -> how its value is said.
        derivation: the templates; None where none derives any part of the program.
        complete: whether the sentence says all of the program.
        missing: what its templates do not say, in plain words.
    """

    sentence: str
    utterance: str
    program: str
    values: tuple[tuple[str, str], ...]
    derivation: Node | None
    complete: bool = True
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence for a program, of which all else is told when it is asked for.

    Attributes:
        utterance, program: those of the description.
        described: returns the description.
    """

    utterance: str
    program: str
    described: Callable[[], Description]


@dataclass(slots=True)
class Describer:
    """Describes programs by one grammar; indexing it takes half a second, so keep it."""

    compiled: Compiled
    library: Any
    max_depth: int = 8
    grammar: TargetGrammar = field(init=False)

    def __post_init__(self) -> None:
        """Index the grammar."""
        self.grammar = TargetGrammar(self.compiled)

    def describe(self, program: Any) -> Description:
        """Return the most natural sentence for a program: a tree, or a text in either form.

        Where no derivation has the program, the sentence says the largest part that one has, and
        in plain words what is missing; `complete` is False then.

        Raises:
            GenieError: a text that the language cannot read, or a program that is ill-typed.
        """
        return self.alternatives(program, 1)[0]

    def alternatives(self, program: Any, most: int) -> tuple[Description, ...]:
        """Return different sentences for a program, the most natural first: one at least.

        Raises:
            GenieError: as `describe`.
        """
        return tuple(draft.described() for draft in self.drafts(program, most))

    def drafts(self, program: Any, most: int) -> tuple[Draft, ...]:
        """Return what `alternatives` does, for callers that look at more than they use.

        Raises:
            GenieError: as `describe`.
        """
        tree = self.read(program) if isinstance(program, str) else program
        self._check(tree, program if isinstance(program, str) else "")
        readings = list(self._readings(tree))
        for reading, target in readings:
            found = tuple(self._sentences(reading, target, most))
            if found:
                return found
        part = self._part(tree, readings)
        return (Draft(part.utterance, part.program, lambda: part),)

    def read(self, text: str) -> Any:
        """Return the program of a text, written as people do or as tokens.

        Raises:
            GenieError: it is neither; the mistake is of the form that it looks like.
        """
        language = self.compiled.language

        def parse(text: str) -> Any:
            return language.parse(text, file="<program>")

        readers: list[Callable[[str], Any]] = [parse, partial(language.from_tokens, places=True)]
        if _TOKEN_FORM.search(text):
            readers.reverse()  # what the other one says of a text of this form is long
        first, second = readers
        try:
            return first(text)
        except GenieError as error:
            try:
                return second(text)
            except GenieError:
                raise error from None

    def _check(self, tree: Any, text: str) -> None:
        problems = self.compiled.language.check(tree, self.library)
        errors = [p for p in problems if p.severity == "error"]
        if errors:
            raise GenieError(errors, sources=dict.fromkeys(("<program>", "<tokens>"), text))

    def _readings(self, tree: Any) -> Iterator[tuple[WithPlaceholders, Target]]:
        language = self.compiled.language
        is_thingtalk = language.name == "thingtalk"
        found = (
            with_placeholders(tree, self.grammar.known)
            if is_thingtalk
            else iter([WithPlaceholders(tree, {})])
        )
        for reading in found:
            form = language.canonical(reading.program, self.library)
            text = language.tokens(form, self.library)
            target = target_of(text, language.functions(form), self.compiled.placeholders)
            if target is not None:
                yield reading, target

    # ------------------------------------------------------------------------- all of it

    def _sentences(self, reading: WithPlaceholders, target: Target, most: int) -> Iterator[Draft]:
        chart = DescribeChart(self.grammar, target, self.max_depth)
        found = chart.roots()
        whole = {part for part in {root.part for root in found} if self._is_whole(chart, part)}
        met: set[str] = set()
        programs: dict[tuple[tuple[str, str], ...], str] = {}
        for root in sorted((r for r in found if r.part in whole), key=lambda r: r.cost):
            text = chart.said(root)
            if text is None or text in met or not _says_each_once(text, target):
                continue
            met.add(text)
            names = self._numbered(text)
            key = tuple(sorted(names.items()))
            if key not in programs:
                programs[key] = self._named(target.text, {**target.names, **names})
            yield self._draft(reading, target, root, text, names, programs[key])
            if len(met) == most:
                return

    def _is_whole(self, chart: DescribeChart, part: int) -> bool:
        text, target = chart.values[part].text, chart.target
        if text == target.text:
            return True
        # Values may be sorted otherwise where placeholders stand beside fixed ones.
        if Counter(text.split()) != Counter(target.tokens):
            return False
        return self._named(text, target.names) == self._named(target.text, target.names)

    def _named(self, text: str, names: Mapping[str, str]) -> str:
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
        target: Target,
        root: Root,
        text: str,
        names: Mapping[str, str],
        program: str,
    ) -> Draft:
        utterance = _renamed(text, names)

        def described() -> Description:
            values = _values(reading, target)
            return Description(
                surface(text, values),
                utterance,
                program,
                tuple((names[character], values[character]) for character in names),
                _root_node(root, text, self._naming(names)),
            )

        return Draft(utterance, program, described)

    def _numbered(self, text: str) -> dict[str, str]:
        """Return the placeholders of a sentence numbered from left to right, by character."""
        counts: Counter[str] = Counter()
        names: dict[str, str] = {}
        for character in dict.fromkeys(_PRIVATE.findall(text)):
            stem = self.compiled.placeholders.token(character).rpartition("_")[0]
            names[character] = f"{stem}_{counts[stem]}"
            counts[stem] += 1
        return names

    def _naming(self, names: Mapping[str, str]) -> Callable[[str], str]:
        return lambda text: _renamed(text, names).replace(GAP, _BLANK)

    # -------------------------------------------------------------------- a part of it only

    def _part(self, tree: Any, readings: Sequence[tuple[WithPlaceholders, Target]]) -> Description:
        """Return the description of the largest part that templates say, and of the rest."""
        found = []
        for reading, target in readings if self._knows_parts() else ():
            chart = DescribeChart(self.grammar, replace(target, is_loose=True), self.max_depth)
            best = self._largest(chart)
            if best is not None:
                found.append((best, reading, target, chart))
        if not found:
            return self._plain(tree)
        (_, root, text), reading, target, chart = max(found, key=lambda f: f[0][0])
        return self._partial(reading, target, chart, root, text)

    def _knows_parts(self) -> bool:
        """Tell whether the parts of programs can be told from their tokens."""
        return self.compiled.language.name == "thingtalk"

    def _largest(self, chart: DescribeChart) -> tuple[tuple[int, float], Root, str] | None:
        """Return the sentence that says most of the program: (tokens said, -cost), and it."""
        roots, whole = chart.roots(), facts(chart.target.tokens)
        sizes = {
            part: _size(tokens)
            for part in {root.part for root in roots}
            if facts(tokens := chart.values[part].text.split()) <= whole
        }
        parts = (root for root in roots if root.part in sizes)
        for root in sorted(parts, key=lambda root: (-sizes[root.part], root.cost)):
            text = chart.said(root)
            if text is not None and all(text.count(c) < 2 for c in chart.target.names):
                return (sizes[root.part], -root.cost), root, text
        return None

    def _partial(
        self,
        reading: WithPlaceholders,
        target: Target,
        chart: DescribeChart,
        root: Root,
        text: str,
    ) -> Description:
        names, values = self._numbered(text), _values(reading, target)
        # Placeholders of types that no function of the library has have no character.
        told = {token: said(value) for token, value in reading.values.items()} | values
        runs = left_out(target.tokens, chart.values[root.part].text.split())
        rest = tuple(plain(run, lambda token: told.get(token, token)) for run in runs)
        rest = rest or (plain(target.tokens, lambda token: told.get(token, token)),)
        return Description(
            _with_rest(surface(text, values), rest),
            _renamed(text, names),
            _renamed(chart.values[root.part].text, {**target.names, **names}),
            tuple((names[character], values[character]) for character in names),
            _root_node(root, text, self._naming(names)),
            complete=False,
            missing=rest,
        )

    def _plain(self, tree: Any) -> Description:
        """Return a description without any template: the tokens in plain words."""
        language = self.compiled.language
        reading = WithPlaceholders(tree, {})
        if self._knows_parts():
            reading = next(with_placeholders(tree, frozenset()))
        text, tokens = (
            language.tokens(language.canonical(program, self.library), self.library)
            for program in (tree, reading.program)
        )
        told = {token: said(value) for token, value in reading.values.items()}
        words = plain(tokens.split(), lambda token: told.get(token, token))
        return Description(_with_rest("", (words,)), "", text, (), None, False, (words,))


def _with_rest(sentence: str, rest: Sequence[str]) -> str:
    told = f"(in plain words: {'; '.join(rest)})"
    return f"{sentence} {told}" if sentence else told


def _size(tokens: Sequence[str]) -> int:
    """Return how many tokens are more than structure."""
    return sum(token not in LOOSE for token in tokens)


def _values(reading: WithPlaceholders, target: Target) -> dict[str, str]:
    """Return how the value of each placeholder is said, by its character."""
    return {
        character: said(reading.values[token]) if token in reading.values else token
        for character, token in target.names.items()
    }


def _says_each_once(text: str, target: Target) -> bool:
    return all(text.count(character) == 1 for character in target.names)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for character, token in names.items():
        text = text.replace(character, token)
    return text


def surface(text: str, values: Mapping[str, str]) -> str:
    """Return the tokens of a sentence as people write them, with values in their places.

    >>> surface("wait for a \ue000 , i said", {"\ue000": "8 minute timer"})
    'Wait for an 8 minute timer, I said'
    """
    asks = english.is_question(text) or text.partition(" ")[0] in _QUESTIONS
    text = _I.sub("I", english.surface(text)) + ("?" if asks else "")
    for character, value in values.items():
        if english.article(value) == "an":
            text = re.sub(rf"\b([Aa]) {character}", rf"\1n {character}", text)
        text = text.replace(character, value)
    return text[:1].upper() + text[1:]


def _root_node(root: Root, text: str, naming: Callable[[str], str]) -> Node:
    template = root.rule.template
    place = f"{template.span.file}:{template.span.line}" if template.span else ""
    children = tuple(_node(child, naming) for child in root.children)
    return Node(root.rule.category, naming(text), template.id, place, "", children)


def _node(item: Item, naming: Callable[[str], str]) -> Node:
    template = item.rule.template if item.rule else None
    span = template.span if template else None
    return Node(
        item.category,
        naming(item.piece.text),
        template.id if template else "",
        f"{span.file}:{span.line}" if span else "",
        naming(item.piece.value.text),
        tuple(_node(child, naming) for child in item.children),
    )
