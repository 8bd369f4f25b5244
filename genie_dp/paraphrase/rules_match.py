"""Rules as regular expressions over sentences, and what they change in one.

A sentence is matched with a space behind every token. Where an output keeps the order of the
pattern's variables, a rewrite only changes the words between them: several rewrites can change one
sentence at once, as long as none changes what another has read. Where it does not, the whole match
is replaced, after all other changes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, assert_never

from genie_dp.paraphrase.rules_english import (
    ANYTHING,
    COMMAND_START,
    DATE,
    IN_EXPRESSION,
    NUMBER,
    PHRASE_END,
    TEXT,
    VALUE,
    WORD,
    agreeing,
    begins_command,
    changed,
    holds,
)
from genie_dp.paraphrase.rules_syntax import (
    Agree,
    Choice,
    Condition,
    Edge,
    OutputPart,
    PatternPart,
    Ref,
    Rule,
    Variable,
)

Maps = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule that can be matched.

    Attributes:
        number: its place among all rules, for order.
        anchors: keys (see `keys_of`) of which a sentence must have one.
        required: words that must all be there.
        outputs: what may take the place of a match, by the rule's outputs.
    """

    number: int
    rule: Rule
    expression: re.Pattern[str]
    anchors: tuple[str, ...]
    required: frozenset[str]
    variables: tuple[str, ...]
    conditions: tuple[tuple[str, Condition], ...]
    outputs: tuple["CompiledOutput", ...]
    maps: Maps


@dataclass(frozen=True, slots=True)
class CompiledOutput:
    """An output, taken apart where the pattern's variables stand.

    Attributes:
        moves: whether the variables stand in another order than in the pattern.
        gaps: what is said before, between and after the variables; a text where that is fixed.
        functions: what is done with each variable.
    """

    parts: tuple[OutputPart, ...]
    moves: bool
    gaps: tuple[str | tuple[OutputPart, ...], ...] = ()
    functions: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters start to end of the sentence become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a rule fits."""

    compiled: CompiledRule
    found: re.Match[str]

    @property
    def reads(self) -> tuple[tuple[int, int], ...]:
        """Return the spans of the words that the rule names; others may change them no more."""
        span = self.found.span
        return tuple(span(f"g{index}") for index in range(len(self.compiled.variables) + 1))

    def values(self) -> dict[str, str]:
        """Return what stands for each variable and named choice."""
        groups = self.found.groupdict()
        return {name[2:]: (text or "").strip() for name, text in groups.items() if name[0] in "vn"}


def compile_rule(rule: Rule, number: int, maps: Maps) -> CompiledRule:
    """Return a rule with its expression and the words to look it up by."""
    variables = tuple(part.name for part in rule.pattern if isinstance(part, Variable))
    conditions = tuple(
        (part.name, condition)
        for part in rule.pattern
        if isinstance(part, Variable)
        for condition in part.conditions
        if condition.name not in IN_EXPRESSION
    )
    anchors = _anchors(rule.pattern)
    if anchors == (COMMAND,):
        # The key says so already.
        conditions = tuple(pair for pair in conditions if pair != (variables[0], Condition("vp")))
    required = frozenset(
        word
        for part in rule.pattern
        if _is_required(part) and len(part.alternatives) == 1
        for word in part.alternatives[0].split()
    )
    return CompiledRule(
        number=number,
        rule=rule,
        expression=re.compile(_expression(rule.pattern)),
        anchors=anchors,
        required=required,
        variables=variables,
        conditions=conditions,
        outputs=tuple(_compile_output(output, variables) for output in rule.outputs),
        maps=maps,
    )


# ---------------------------------------------------------------------------------- anchors

START, END, COMMAND = "^", "$", "^vp"
_MOST_PAIRS = 600  # of one rule, in the index


def keys_of(utterance: str) -> dict[str, None]:
    """Return what a sentence is looked up by: its words, its pairs of words, how it begins.

    >>> list(keys_of("open it"))
    ['^', 'open', 'it', '$', '^ open', 'open it', 'it $', '^vp', '']
    """
    words = [START, *utterance.split(" "), END]
    keys = dict.fromkeys(words)
    keys.update(dict.fromkeys(f"{a} {b}" for a, b in zip(words, words[1:], strict=False)))
    if begins_command(" ".join(words[1:4])):
        keys[COMMAND] = None
    keys[""] = None  # of rules that name no word
    return keys


def _anchors(pattern: Sequence[PatternPart]) -> tuple[str, ...]:
    """Return keys of which a sentence must have one: the rarest that the pattern has to offer."""
    if isinstance(pattern[0], Edge) and pattern[0].sign == "^":
        second = pattern[1] if len(pattern) > 1 else None
        if isinstance(second, Variable) and Condition("vp") in second.conditions:
            return (COMMAND,)
    offers = [_inside(part) for part in pattern]
    offers += [_between(a, b) for a, b in zip(pattern, pattern[1:], strict=False)]
    useful = [offer for offer in offers if offer]
    return min(useful, key=lambda offer: sum(map(_commonness, offer)), default=("",))


def _inside(part: PatternPart) -> tuple[str, ...]:
    if not _is_required(part):
        return ()
    found = (" ".join(text.split()[:2]) for text in part.alternatives)
    return tuple(dict.fromkeys(found))


def _between(left: PatternPart, right: PatternPart) -> tuple[str, ...]:
    last = [text.split()[-1] for text in _texts(left)]
    first = [text.split()[0] for text in _texts(right)]
    if not last or not first or len(last) * len(first) > _MOST_PAIRS:
        return ()
    return tuple(dict.fromkeys(f"{a} {b}" for a in last for b in first))


def _texts(part: PatternPart) -> tuple[str, ...]:
    match part:
        case Edge(sign="^"):
            return (START,)
        case Edge(sign="$"):
            return (END,)
        case Choice() if _is_required(part):
            return part.alternatives
        case _:
            return ()


# Tokens a sentence of the shipped library has on average, in thousandths (30,000 rows, November
# 2026); of all others less than 40. A pair is rarer than its rarer word.
_COMMON = {
    "the": 1150, "of": 480, "my": 450, "on": 430, ",": 340, "when": 310, "in": 280, "to": 250,
    "me": 240, "are": 235, "a": 200, "new": 190, "i": 175, "is": 165, "there": 160, "than": 134,
    "with": 133, "that": 130, "get": 120, "have": 113, "from": 107, "and": 107, "by": 96, "for": 90,
    "at": 84, "whose": 77, "as": 75, "it": 74, "about": 73, "or": 72, "news": 67, "show": 66,
    "every": 65, "change": 60, "them": 59, "post": 58, "if": 57, "please": 54, "not": 53,
    START: 1000, END: 1000,
}  # fmt: skip
_RARE = 20
_PAIR = 8  # how much rarer a pair is, at least


def _commonness(key: str) -> float:
    counts = [_COMMON.get(word, _RARE) for word in key.split(" ")]
    return min(counts) / (_PAIR if len(counts) > 1 else 1)


def _is_required(part: PatternPart) -> TypeGuard[Choice]:
    return isinstance(part, Choice) and not part.optional and "" not in part.alternatives


# ------------------------------------------------------------------------------ expression


def _expression(pattern: Sequence[PatternPart]) -> str:
    """Return the expression: groups g0, g1, .. between the variables, v_x for each variable."""
    gap, pieces = 0, ["(?<![^ ])(?P<g0>"]
    for part, following in zip(pattern, [*pattern[1:], None], strict=True):
        match part:
            case Edge():
                pieces.append(_EDGES[part.sign])
            case Choice():
                pieces.append(_choice(part))
            case Variable():
                gap += 1
                is_last = isinstance(following, Edge) and following.sign == "$"
                body = _variable(part, is_last=is_last)
                pieces.append(f")(?P<v_{part.name}>{body})(?P<g{gap}>")
            case _:
                assert_never(part)
    return "".join([*pieces, ")"])


_EDGES = {"^": "^", "^^": COMMAND_START, "$": "$", "$$": PHRASE_END}


def _choice(part: Choice) -> str:
    words = sorted(part.alternatives, key=len, reverse=True)
    body = "|".join(re.escape(word) + " " if word else "" for word in words)
    group = f"(?P<n_{part.name}>" if part.name else "(?:"
    return f"{group}{body}){'?' if part.optional else ''}"


def _variable(part: Variable, *, is_last: bool) -> str:
    names = {condition.name for condition in part.conditions if not condition.negated}
    for name, expression in _SORTS.items():
        if name in names:
            return expression
    is_free = "any" in names
    token = ANYTHING if is_free else WORD
    if "one" in names:
        return token
    if is_last:  # there is one way only, and it is taken in one go
        return ".+" if is_free else r"(?:[^,]++|,(?! ))++"
    return f"(?:{token})+?"


_SORTS = {"value": VALUE, "number": NUMBER, "date": DATE, "text": TEXT}


# --------------------------------------------------------------------------------- matches


def matches(compiled: CompiledRule, text: str) -> Iterator[Match]:
    """Yield the places of a sentence, with a space behind every token, where a rule fits."""
    for found in compiled.expression.finditer(text):
        for name, condition in compiled.conditions:
            if not holds(condition, found[f"v_{name}"].rstrip()):
                break
        else:
            yield Match(compiled, found)


def edits(match: Match, output: CompiledOutput) -> tuple[Edit, ...]:
    """Return what an output that moves no variable changes."""
    found, text = match.found, match.found.string
    made = []
    for index, gap in enumerate(output.gaps):
        start, end = found.span(f"g{index}")
        said = gap if isinstance(gap, str) else _said(gap, match.values(), match.compiled.maps)
        if said != text[start:end]:
            made.append(Edit(start, end, said))
        if index < len(output.functions) and output.functions[index]:
            name = match.compiled.variables[index]
            ref = Ref(name, output.functions[index])
            said = _said((ref,), match.values(), match.compiled.maps)
            made.append(Edit(*found.span(f"v_{name}"), said))
    return tuple(made)


def _compile_output(output: tuple[OutputPart, ...], variables: tuple[str, ...]) -> CompiledOutput:
    refs = [part for part in output if isinstance(part, Ref) and part.name in variables]
    if tuple(ref.name for ref in refs) != variables:
        return CompiledOutput(output, moves=True)
    gaps: list[list[OutputPart]] = [[]]
    for part in output:
        if isinstance(part, Ref) and part.name in variables:
            gaps.append([])
        else:
            gaps[-1].append(part)
    return CompiledOutput(
        output,
        moves=False,
        gaps=tuple(_fixed(gap) for gap in gaps),
        functions=tuple(ref.functions for ref in refs),
    )


def _fixed(gap: Sequence[OutputPart]) -> str | tuple[OutputPart, ...]:
    texts = [part for part in gap if isinstance(part, str)]
    return "".join(f"{text} " for text in texts) if len(texts) == len(gap) else tuple(gap)


def replaced(match: Match, output: CompiledOutput) -> str:
    """Return the sentence with the whole match replaced by an output."""
    text = match.found.string
    said = _said(output.parts, match.values(), match.compiled.maps)
    return text[: match.found.start()] + said + text[match.found.end() :]


def _said(parts: Sequence[OutputPart], values: Mapping[str, str], maps: Maps) -> str:
    said = []
    for part in parts:
        match part:
            case str():
                said.append(part)
            case Ref():
                said.append(changed(values[part.name], part.functions, maps))
            case Agree():
                said.append(agreeing(part.forms, values[part.name]))
            case _:
                assert_never(part)
    return "".join(f"{words} " for words in said if words)
