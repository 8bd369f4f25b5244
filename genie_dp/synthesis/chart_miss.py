"""Why a sentence is not derived: what of it is, and which templates would fit but for one thing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, assert_never

from genie_dp.synthesis.chart import Chart, matches
from genie_dp.synthesis.chart_patterns import Pattern, Tokens, resolved
from genie_dp.synthesis.chart_slots import Candidate, Slot
from genie_dp.synthesis.explain import Explainer, Sentence, named, unknown_words
from genie_dp.synthesis.layout import Agreement
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.wording import wording
from genie_dp.templates import english
from genie_dp.templates.guard import (
    Attribute,
    Combination,
    Compare,
    Expression,
    Literal,
    Negation,
)

MOST_SPANS = 8  # shown
MOST_FITS = 5
MOST_EDITS = 4
_MOST_CHOICES = 200  # of children, tried for one template and one part of the sentence
_MOST_TRIES = 40  # sentences with one word changed
_LONGEST = 30  # words of a sentence whose parts are all looked at
_OTHER_ARTICLE = {"a": "an", "an": "a"}


@dataclass(frozen=True, slots=True)
class Part:
    """Words in a row that some categories derive."""

    start: int
    end: int
    words: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearFit:
    """A template that would derive a part of the sentence, but for the reasons."""

    category: str
    template: str
    place: str
    words: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Miss:
    """What is near to a sentence that is not derived.

    Attributes:
        unknown: word that no template says -> the nearest that one does.
        parts: the longest parts that are derived, from left to right.
        fits: templates that would fit but for a request, the guard, the body or a form.
        edits: sentences that are derived and differ in one word.
    """

    unknown: tuple[tuple[str, tuple[str, ...]], ...]
    parts: tuple[Part, ...]
    fits: tuple[NearFit, ...]
    edits: tuple[str, ...]


def nearest_miss(explainer: Explainer, sentence: Sentence, chart: Chart) -> Miss:
    """Return what is near to a sentence that was not derived; `chart` is the one that failed."""
    known = explainer.grammar.vocabulary
    spans = _derived(chart, sentence)
    return Miss(
        tuple(unknown_words(sentence, known).items()),
        tuple(_longest(spans, sentence)),
        tuple(_near_fits(explainer, chart, sentence)),
        tuple(islice(_edits(explainer, sentence), MOST_EDITS)),
    )


# ------------------------------------------------------------------------------- derived parts


def _places(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield every part of the tokens, the longest first."""
    for length in range(min(len(tokens), _LONGEST), 0, -1):
        for start in range(len(tokens) - length + 1):
            yield start, start + length


def _derived(chart: Chart, sentence: Sentence) -> dict[tuple[int, int], tuple[str, ...]]:
    names = list(chart.grammar.patterns)
    found = {}
    for start, end in _places(sentence.tokens):
        tokens = sentence.tokens[start:end]
        categories = tuple(name for name in names if chart.cell(name, tokens))
        if categories:
            found[start, end] = categories
    return found


def _longest(spans: dict[tuple[int, int], tuple[str, ...]], sentence: Sentence) -> Iterator[Part]:
    """Yield derived parts that lie in no longer one, from left to right."""
    chosen: list[tuple[int, int]] = []
    for start, end in spans:  # the longest first
        if not any(a <= start and end <= b for a, b in chosen):
            chosen.append((start, end))
    for start, end in sorted(chosen[:MOST_SPANS]):
        yield Part(start, end, " ".join(sentence.shown[start:end]), spans[start, end])


# ---------------------------------------------------------------------------------- templates


def _near_fits(explainer: Explainer, chart: Chart, sentence: Sentence) -> Iterator[NearFit]:
    """Yield templates that fail for as few reasons as possible, on parts as long as possible."""
    loose = _Loose(chart)
    shown = 0
    seen: set[str] = set()
    for start, end in _places(sentence.tokens):
        tokens = sentence.tokens[start:end]
        found = []
        for category in chart.grammar.patterns:
            if chart.cell(category, tokens):
                continue
            found += list(loose.fits(category, tokens))
        found.sort(key=lambda fit: (_weight(fit[1]), fit[0].rule.template.id))
        for pattern, reasons in found:
            template = pattern.rule.template
            if template.id in seen:
                continue
            seen.add(template.id)
            place = f"{template.span.file}:{template.span.line}" if template.span else ""
            words = " ".join(sentence.shown[start:end])
            told = tuple(named(reason, explainer.compiled.placeholders) for reason in reasons)
            yield NearFit(template.category, template.id, place, words, told)
            shown += 1
            if shown == MOST_FITS:
                return


def _says_much(pattern: Pattern) -> bool:
    """Tell whether a rule fits only some sentences: it has words, or two children of cells."""
    children = pattern.rule.layout.children
    return bool(pattern.words) or sum(not child.is_leaf for child in children) > 1


_SAID = "it would be said "


def _weight(reasons: Sequence[str]) -> tuple[int, int]:
    """Return how far a template is from fitting: words that only have another form are nearest."""
    return len(reasons), sum(not reason.startswith(_SAID) for reason in reasons)


class _Loose:
    """Reads rules over tokens without their requests and guards, and says what was missed."""

    def __init__(self, chart: Chart):
        self.chart = chart
        self.loosened: dict[int, Slot] = {}

    def fits(self, category: str, tokens: Tokens) -> Iterator[tuple[Pattern, list[str]]]:
        index = self.chart.grammar.index[category, False]
        for pattern in index.found(tokens):
            if not _says_much(pattern):
                continue
            slots = [self._loose(slot) for slot in self.chart.grammar.slots_of[id(pattern)]]
            best: list[str] | None = None
            for lists, _ in matches(self.chart, pattern, tokens, slots):
                for chosen in islice(product(*lists), _MOST_CHOICES):
                    reasons = self._reasons(pattern, tokens, chosen)
                    if reasons and (best is None or _weight(reasons) < _weight(best)):
                        best = reasons
            if best:
                yield pattern, best

    def _loose(self, slot: Slot) -> Slot:
        if id(slot) not in self.loosened:
            filler = None if slot.filler is None else self._loose(slot.filler)
            # Phrases of another part of speech are no near fit, only other words.
            asked = tuple(request for request in slot.child.asked if request[0] == "pos")
            child = replace(slot.child, asked=asked)
            self.loosened[id(slot)] = replace(slot, child=child, filler=filler)
        return self.loosened[id(slot)]

    def _reasons(self, pattern: Pattern, tokens: Tokens, chosen: Sequence[Candidate]) -> list[str]:
        rule = pattern.rule
        pieces = [piece for piece, _ in chosen]
        found = []
        for child, piece in zip(rule.layout.children, pieces, strict=True):
            for name, allowed in child.asked:
                if piece.attribute(name) not in allowed:
                    found.append(
                        f"{child.name} asks for {name}={'|'.join(sorted(allowed))}, and "
                        f"{child.pool} '{piece.text}' has {name}={piece.attribute(name) or 'none'}"
                    )
        found += self._guard(pattern, pieces)
        return found or self._joined(pattern, tokens, pieces)

    def _guard(self, pattern: Pattern, pieces: Sequence[Any]) -> Iterator[str]:
        rule = pattern.rule
        by_name = {c.name: p for c, p in zip(rule.layout.children, pieces, strict=True)}

        def value(child: str, name: str) -> Any:
            return by_name[child].attribute(name)

        for join in rule.guard.joins:
            left = value(join.left_child, join.left_attribute)
            right = value(join.right_child, join.right_attribute)
            if left != right:
                one = f"{join.left_child}.{join.left_attribute}"
                other = f"{join.right_child}.{join.right_attribute}"
                yield f"the guard wants {one} == {other}: {left!r} and {right!r}"
        for test in (*rule.guard.tests, *rule.late):
            if not test.evaluate(value):
                told = ", ".join(
                    f"{child}.{name} is {value(child, name)!r}" for child, name in test.reads
                )
                yield f"the guard wants {guard_text(test.expression)}: {told}"

    def _joined(self, pattern: Pattern, tokens: Tokens, pieces: Sequence[Any]) -> list[str]:
        rule = pattern.rule
        agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
        said = wording(rule, {i: pieces[i].features.num for i in agreeing})
        combined = said.assemble(*pieces)
        if combined is None:
            return ["the programs of its children do not go together"]
        text = self.chart.grammar.alike(combined.text)
        if " ".join(tokens) not in resolved(text):
            return [f"{_SAID}'{resolved(combined.text)[-1]}'"]
        return []


def guard_text(expression: Expression) -> str:
    """Return a condition as template files write it.

    >>> guard_text(Negation(Compare("==", Attribute("q", "num"), Literal("sg"))))
    "not q.num == 'sg'"
    """
    match expression:
        case Attribute(child, name):
            return f"{child}.{name}"
        case Literal(tuple() as values):
            return f"[{', '.join(map(repr, values))}]"
        case Literal(value):
            return repr(value)
        case Compare(operator, left, right):
            return f"{guard_text(left)} {operator} {guard_text(right)}"
        case Negation(operand):
            return f"not {guard_text(operand)}"
        case Combination(operator, operands):
            return f"({f' {operator} '.join(map(guard_text, operands))})"
        case _:
            assert_never(expression)


# -------------------------------------------------------------------------------- other words


def _edits(explainer: Explainer, sentence: Sentence) -> Iterator[str]:
    """Yield sentences that are derived and differ in one word: left out, added or another."""
    tried: set[Tokens] = set()
    chart = Chart(explainer.grammar, explainer.max_depth)
    for shown, tokens in islice(_changed(explainer, sentence), _MOST_TRIES):
        if tokens in tried:
            continue
        tried.add(tokens)
        if any(chart.cell(root, tokens) for root in explainer.compiled.roots):
            yield " ".join(shown)


def _changed(explainer: Explainer, sentence: Sentence) -> Iterator[tuple[Tokens, Tokens]]:
    shown, tokens = sentence.shown, sentence.tokens
    unknown = unknown_words(sentence, explainer.grammar.vocabulary)
    for place, word in enumerate(shown):
        for near in unknown.get(word, ()):
            yield _with(shown, place, place + 1, near), _with(tokens, place, place + 1, near)
    if len(unknown) > 1:
        return
    for place, token in enumerate(tokens):
        for word in _other_forms(token) & explainer.grammar.vocabulary:
            yield _with(shown, place, place + 1, word), _with(tokens, place, place + 1, word)
        if token == shown[place] and GAP not in token:
            yield _with(shown, place, place + 1), _with(tokens, place, place + 1)
    for start, end, word in [] if unknown else _hinted(explainer, tokens):
        yield _with(shown, start, end, word), _with(tokens, start, end, word)


def _other_forms(token: str) -> frozenset[str]:
    """Return the same word in the other number, the other article."""
    if token in _OTHER_ARTICLE:
        return frozenset((_OTHER_ARTICLE[token],))
    if not token.isalpha():
        return frozenset()
    other = english.plural(token)
    return frozenset((other if other != token else english.singular(token),)) - {token}


def _with(tokens: Tokens, start: int, end: int, *words: str) -> Tokens:
    return (*tokens[:start], *words, *tokens[end:])


def _hinted(explainer: Explainer, tokens: Tokens) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, word): a word to put there, that a template has beside its neighbours."""
    score: dict[tuple[int, int, str], int] = {}
    present = set(tokens)
    for patterns in explainer.grammar.patterns.values():
        for pattern in patterns:
            missing = pattern.words - present
            if len(missing) != 1 or len(pattern.words) < 2:
                continue
            (word,) = missing
            for change in _beside(pattern, tokens, word):
                score[change] = max(score.get(change, 0), len(pattern.words))
    yield from sorted(score, key=lambda change: (-score[change], change))


def _beside(pattern: Pattern, tokens: Tokens, word: str) -> Iterator[tuple[int, int, str]]:
    for step in pattern.steps:
        fixed = getattr(step, "tokens", ())
        if word not in fixed:
            continue
        at = fixed.index(word)
        for place, token in enumerate(tokens):
            if at and token == fixed[at - 1]:
                yield place + 1, place + 1, word
                yield place + 1, min(place + 2, len(tokens)), word
            if at + 1 < len(fixed) and token == fixed[at + 1]:
                yield place, place, word
                yield max(place - 1, 0), place, word
