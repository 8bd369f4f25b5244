"""What a program says in English: the sentence that the templates make of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.traverse import children
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.describe_chart import DescribeChart, Item, Root
from genie_dp.synthesis.describe_grammar import TargetGrammar
from genie_dp.synthesis.describe_target import Target, target_of
from genie_dp.synthesis.describe_values import WithPlaceholders, said, with_placeholders
from genie_dp.synthesis.describe_words import BEGIN_WHEN, OwnWords, Phrase
from genie_dp.synthesis.explain import Node
from genie_dp.synthesis.placeholders import GAP
from genie_dp.templates import english

MOST_ROOTS = 12  # sentences that are looked at for a phrase, the most natural first

_BLANK = "____"
_TOKEN_FORM = re.compile(r"\b(?:param|enum|unit|attribute):|\^\^\S+ id:")
_QUESTIONS = frozenset(("how", "what", "where", "which", "who", "whose", "why"))
_I = re.compile(r"\bi\b")
_PRIVATE = re.compile("[\ue000-\uf7ff]")


@dataclass(frozen=True, slots=True)
class Description:
    """A program in English.

    Attributes:
        sentence: as people write it, with the values; it says all of the program.
        utterance: its tokens, with placeholders numbered from left to right; "" where the templates
            alone do not say the program.
        program: what `explain` reads from the utterance: canonical tokens, the same placeholders.
        values: placeholder -> how its value is said.
        derivation: the templates; None where they alone do not say the program.
        complete: whether the templates alone say the program.
        missing: what no template says, in the words of our own that stand in the sentence.
        parts: descriptions of parts of the program, whose templates' words stand in the sentence.
    """

    sentence: str
    utterance: str
    program: str
    values: tuple[tuple[str, str], ...]
    derivation: Node | None
    complete: bool = True
    missing: tuple[str, ...] = ()
    parts: tuple["Description", ...] = ()


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

        Where no derivation has the program, words of our own are put around what templates say of
        its parts; `complete` is False then.

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
        found = tuple(draft for _, draft in islice(self._whole(tree), most))
        if found:
            return found
        own = self._own(tree)
        return (Draft("", own.program, lambda: own),)

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

    def _whole(self, tree: Any) -> Iterator[tuple["_Derived", Draft]]:
        """Yield the sentences that templates derive for all of a program."""
        for reading, target in self._readings(tree):
            found = False
            for derived, draft in self._sentences(reading, target):
                found = True
                yield derived, draft
            if found:
                return

    def _readings(self, tree: Any) -> Iterator[tuple[WithPlaceholders, Target]]:
        language = self.compiled.language
        found = iter([WithPlaceholders(tree, {})])
        if language.name == "thingtalk":
            # Canonical form first: it makes people of the names in policies, which are values.
            found = with_placeholders(language.canonical(tree, self.library), self.grammar.known)
        for reading in found:
            form = language.canonical(reading.program, self.library)
            text = language.tokens(form, self.library)
            target = target_of(text, language.functions(form), self.compiled.placeholders)
            if target is not None:
                yield reading, target

    # ------------------------------------------------------------------------- all of it

    def _sentences(
        self, reading: WithPlaceholders, target: Target
    ) -> Iterator[tuple["_Derived", Draft]]:
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
            draft = self._draft(reading, target, root, text, names, programs[key])
            yield _Derived(root, text, _values(reading, target), target), draft

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

    # ------------------------------------------------------------------ words of our own, too

    def _own(self, tree: Any) -> Description:
        """Return the description of a program that templates alone do not say."""
        language = self.compiled.language
        form = language.canonical(tree, self.library)
        program = language.tokens(form, self.library)
        if language.name != "thingtalk":  # nothing is known of the parts of its programs
            written = language.render(form)
            return Description(written, "", program, (), None, False, (written,))
        words = OwnWords(self.library, _Templates(self))
        sentence = words.program(form)
        own = tuple(dict.fromkeys(words.own))
        parts = tuple(phrase.source for phrase in dict.fromkeys(words.used))
        return Description(sentence, "", program, (), None, False, own, parts)


@dataclass(frozen=True, slots=True)
class _Derived:
    """A sentence that templates derive, of which a phrase may be wanted."""

    root: Root
    text: str
    values: Mapping[str, str]
    target: Target


@dataclass(slots=True)
class _Templates:
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
        """Return the words of a kind for a program without what is around them in its tokens."""
        if (program, kind) not in self.known:
            found = self._found(program, kind, around)
            self.known[program, kind] = found
        return self.known[program, kind]

    def _found(self, program: Any, kind: str, around: tuple[str, str]) -> Phrase | None:
        if _has_event(program) or not self._is_typed(program):
            return None
        for derived, draft in islice(self.describer._whole(program), MOST_ROOTS):
            text = ""
            if kind:
                wanted = derived.target.text.removeprefix(around[0]).removesuffix(around[1])
                text = next(_texts(derived.root.children, kind, wanted), "")
            elif derived.target.is_policy or _is_command(derived.text):
                text = derived.text
            if text:
                words = _worded(text, derived.values)
                first = text[:1] if text[:1].isalpha() and text[:2] != "i " else words[:1]
                return Phrase(first + words[1:], draft.described())
        return None

    def _is_typed(self, program: Any) -> bool:
        """Tell whether a part means something by itself: all its names are its own."""
        try:
            self.describer._check(program, "")
        except GenieError:
            return False
        return True


def _texts(items: Iterable[Item], kind: str, wanted: str) -> Iterator[str]:
    """Yield the texts of pieces that say just what is wanted, as phrases of that kind."""
    for item in items:
        value, form = item.piece.value, item.piece.features.form
        if value.kind == kind and not value.gap and _bare(value.text) == _bare(wanted):
            is_noun = form in ("np", "long") and not english.starts_with_verb(item.piece.text)
            is_verb = english.starts_with_verb(item.piece.text)
            if {"query": is_noun, "action": is_verb}.get(kind, True):
                yield item.piece.text
        yield from _texts(item.children, kind, wanted)


def _bare(text: str) -> str:
    """Return the tokens of a query without the parentheses around all of it."""
    inner = text.removeprefix("( ").removesuffix(" )")
    is_one = len(inner) == len(text) - 4 and "(" not in inner
    return inner if is_one else text


def _has_event(node: Any) -> bool:
    return isinstance(node, ast.EventValue) or any(map(_has_event, children(node)))


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
    text = _worded(text, values) + ("?" if _asks(text) else "")
    return text[:1].upper() + text[1:]


def _is_command(text: str) -> bool:
    """Tell whether more can be said after a sentence: it is no question, nor a mere noun."""
    return english.starts_with_verb(text) or text.startswith(BEGIN_WHEN)


def _asks(text: str) -> bool:
    return english.is_question(text) or text.partition(" ")[0] in _QUESTIONS


def _worded(text: str, values: Mapping[str, str]) -> str:
    """Return tokens as people write them, with values in their places."""
    text = _I.sub("I", english.surface(text))
    for character, value in values.items():
        if english.article(value) == "an":
            text = re.sub(rf"\b([Aa]) {character}", rf"\1n {character}", text)
        text = text.replace(character, value)
    return text


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
