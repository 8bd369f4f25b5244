"""Rules as regular expressions over sentences, and their changes to one.

A sentence is matched with a space behind every token. Where an output keeps the order of the
pattern's variables, a rewrite only changes the words between them: several rewrites can change one
sentence at once, as long as none changes the words that another has read. Where it does not, the
whole match is replaced, after all other changes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeGuard, assert_never

from genie_dp.english import forms as english
from genie_dp.english import lists
from genie_dp.english.rules_syntax import (
    Agree,
    OutputPart,
    PatternChoice,
    PatternEdge,
    PatternPart,
    Ref,
    RewriteRule,
    Variable,
    WordCondition,
)
from genie_dp.texts import word_set
from genie_dp.values.calendar import MONTHS, WEEKDAYS
from genie_dp.values.spelling import NUMBER_WORDS

# ------------------------------------------------------------------- parts of an expression

WORD = "[^ ,][^ ]* "
ANYTHING = "[^ ]+ "
# Placeholders, numbers, and the private characters that stand for values while a row is rewritten.
VALUE = r"(?:[A-Z][^ ]*_\d+|[$€£]?\d[^ ]*|[\ue000-\uf8ff]) "
NUMBER = r"(?:(?:NUMBER|CURRENCY|MEASURE|DURATION)[^ ]*_\d+|[$€£]?\d[^ ]*) (?:percent )?"
_VALUE = re.compile(VALUE)
DATE = (
    r"(?:(?:DATE|TIME)_\d+|today|tomorrow|yesterday|noon|midnight"
    r"|(?:this|last|next) (?:week|month|year)|[\ue000-\uf8ff]) "
)
TEXT = r"(?:QUOTED_STRING_\d+|[\ue000-\uf8ff]) "


_AMOUNT = re.compile(
    rf"{VALUE}|(?:an? |about |around |another )?(?:half|couple|few"
    rf"|(?:{'|'.join(sorted(NUMBER_WORDS))})(?:-\w+)?) "
)
_MOMENT = re.compile(
    rf"{_AMOUNT.pattern}|{VALUE}|(?:this|next|last|every|early|late) .|an (?:hour|minute) "
    r"|the (?:morning|afternoon|evening|weekend|first|second|third|\\w+th|\\d) ?"
    r"|(?:today|tonight|tomorrow|yesterday|now|noon|midnight|midday|sunrise|sunset|dawn|dusk"
    rf"|morning|evening|(?:{'|'.join(WEEKDAYS)})s?|{'|'.join(MONTHS)}|christmas|easter) "
)
# Phrases that have none of these end where their noun does.
_LONG = (
    frozenset(lists.PREPOSITIONS)
    | lists.RELATIVES
    | lists.AFTERWARDS
    | word_set(
        """to and or but then please saying is are was were be been being has have had not get gets
        got when"""
    )
)


# What begins another clause, or says when: never inside of a noun phrase.
_CLAUSE = word_set(
    """when whenever if once every then until while please daily weekly hourly monthly soon unless
    because there let"""
)
_NO_FIRST = (
    (frozenset(lists.PREPOSITIONS) - {"past", "near"})
    | lists.RELATIVES
    | lists.AUXILIARIES
    | word_set("i you he she it we they me us him them to and or not how what why up down")
    | word_set("something anything everything someone anyone everyone")
)
# Predicates and no noun phrases where a preposition follows: "what is [new on twitter]".
_PREDICATES = word_set("new coming going happening playing showing trending left")
# Of a verb, "call bob back", or of a noun behind it.
_NO_LAST = word_set("back up off out on down away 's")
# They end in -s like plurals: "mark the house songs as liked", "if my way gets longer than ..".
_NO_NOUN = _NO_FIRST | word_set(
    """as is was has does us this his ours yours always perhaps afterwards gets takes goes comes
    becomes grows lasts seems"""
)
# Where a phrase ends though the sentence goes on.
PHRASE_END = (
    "(?=$|, |when |whenever |if |once |every |each time |each day|any time |as soon |and then "
    "|then |please |(?:daily|weekly|hourly) (?!basis )|on an? (?:daily|weekly|hourly) basis )"
)
COMMAND_START = "(?:^|(?<=, )|(?<= then )|(?<=^please ))"

# ------------------------------------------------------------------------------ conditions


def holds(condition: WordCondition, words: str) -> bool:
    """Return whether the words of a variable are as the condition asks.

    >>> holds(WordCondition("pl"), "my files"), holds(WordCondition("has", ("and",)), "a and b")
    (True, True)
    """
    is_so = _TESTS[condition.name](words, condition.words)
    return is_so is not condition.negated


# Owners and clauses need a closer look; of all others the first word tells.
_ARTICLES = frozenset(lists.ARTICLES)
_FIXED = lists.FIXED_DETERMINERS


def _has_determiner(words: str) -> bool:
    first, _, rest = words.partition(" ")
    if first in _ARTICLES and "'" not in rest:
        return rest != "" and first in ("the", "my")
    if first in _FIXED:
        return True
    sort, _ = english.split_determiner(words)
    return sort in ("the", "my") or (sort == "fixed" and not english.is_clause(words))


def _is_bare(words: str) -> bool:
    first, _, rest = words.partition(" ")
    if first in _ARTICLES and rest:
        return False
    return english.split_determiner(words)[0] == "none"


def _number(words: str) -> str:
    """Return the number of a noun phrase; words after its first preposition do not count."""
    tokens = words.split(" ")
    if len(tokens) == 1 and words in _NO_NOUN:
        return "none"
    head = words.partition(" of ")[0]
    if head.endswith(" times") and not head.endswith(("the times", "york times")):  # a paper
        return "pl"
    for index, token in enumerate(tokens):
        if index and token in _ENDS_HEAD:
            return english.number_of(" ".join(tokens[:index]))
    return english.number_of(words)


_ENDS_HEAD = (lists.PREPOSITIONS - {"of"}) | lists.RELATIVES


@lru_cache(maxsize=65536)
def _is_single(words: str) -> bool:
    """Return whether a phrase surely takes "is": no plural precedes its first preposition.

    Where a verb form that no list has ends the noun ("the speakers connected to cable"), the
    number of the phrase is a guess.
    """
    if _number(words) == "pl":
        return False
    for word in words.split(" "):
        if word in lists.PREPOSITIONS or word in lists.RELATIVES:
            return True
        if word not in _NO_FIRST and _number(word) == "pl":
            return False
    return True


def _is_command(words: str) -> bool:
    return begins_command(" ".join(words.split(" ", 3)[:3]))


@lru_cache(maxsize=65536)
def begins_command(words: str) -> bool:
    """Return whether a command begins with these two or three words, and no question.

    >>> begins_command("turn on the"), begins_command("do i have"), begins_command("the lights")
    (True, False, False)
    >>> begins_command("do any of"), begins_command("do the dishes")
    (False, True)
    """
    first, second, third, *_ = (*words.split(" "), "", "")
    is_question = first in lists.AUXILIARIES and (
        second in lists.SUBJECTS or second in ("any", "some", "all", "most") and third == "of"
    )
    return not is_question and english.starts_with_verb(words)


def _is_noun_phrase(words: str) -> bool:
    tokens = words.split(" ")
    return (
        tokens[0] not in _NO_FIRST
        and tokens[-1] not in _NO_LAST
        and _CLAUSE.isdisjoint(tokens)
        and "each time" not in words
        and not _is_command(words)
        and not (tokens[0] in _PREDICATES and not lists.PREPOSITIONS.isdisjoint(tokens[1:2]))
        and not any(
            begins_command(" ".join(tokens[index + 1 : index + 4]))
            for index, word in enumerate(tokens)
            if word == "and"
        )
    )


_TESTS: Mapping[str, Callable[[str, tuple[str, ...]], bool]] = {
    "vp": lambda words, _: _is_command(words),
    "np": lambda words, _: _is_noun_phrase(words),
    "det": lambda words, _: _has_determiner(words),
    "bare": lambda words, _: _is_bare(words),
    "sg": lambda words, _: _number(words) == "sg",
    "pl": lambda words, _: _number(words) == "pl",
    "single": lambda words, _: _is_single(words),
    "mass": lambda words, _: _number(words) == "mass",
    "plain": lambda words, _: _VALUE.match(f"{words} ") is None,
    "has": lambda words, sought: any(f" {word} " in f" {words} " for word in sought),
    "starts": lambda words, sought: f"{words} ".startswith(tuple(f"{word} " for word in sought)),
    "ends": lambda words, sought: f" {words}".endswith(tuple(f" {word}" for word in sought)),
    "amount": lambda words, _: _AMOUNT.match(f"{words} ") is not None,
    "moment": lambda words, _: _MOMENT.match(f"{words} ") is not None,
    "short": lambda words, _: _LONG.isdisjoint(words.split(" ")),
}
# These are part of the expression, and hold where it matches.
IN_EXPRESSION = frozenset(("any", "one", "value", "number", "date", "text"))

# ------------------------------------------------------------------------------- functions


def apply_functions(
    words: str, functions: tuple[str, ...], maps: Mapping[str, Mapping[str, str]]
) -> str:
    """Return words after functions and maps, from left to right.

    >>> apply_functions("turn on the light", ("gerund",), {})
    'turning on the light'
    """
    for name in functions:
        words = maps[name].get(words, words) if name in maps else _FUNCTIONS[name](words)
    return words


_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "gerund": english.gerund,
    "third": english.third_person,
    "past": english.past,
    "participle": english.past_participle,
    "plural": english.plural,
    "singular": english.singular,
    "possessive": english.possessive,
    "bare": lambda words: english.split_determiner(words)[1],
}


def choose_form(forms: tuple[str, ...], words: str) -> str:
    """Return the form that agrees in number: {is/are:x}; mass nouns take a third, or the first.

    >>> choose_form(("is", "are"), "my files"), choose_form(("is", "are"), "the weather")
    ('are', 'is')
    """
    match _number(words):
        case "pl":
            return forms[1]
        case "mass":
            return forms[-1] if len(forms) > 2 else forms[0]
        case _:
            return forms[0]


_ARTICLE = re.compile(r"(?<![^ ])(an?) ([^ ]+)")


def with_articles(text: str, before: str) -> str:
    """Return the text with "a" and "an" right where they stand before other words than before.

    >>> with_articles("send a email with an attachment", "an attachment")
    'send an email with an attachment'
    """
    if " a " not in f" {text}" and " an " not in f" {text}":
        return text

    def right_article(match: re.Match[str]) -> str:
        if f" {match[0]} " in f" {before} ":
            return match[0]
        return f"{english.article(match[2])} {match[2]}"

    return _ARTICLE.sub(right_article, text)


Maps = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule that can be matched.

    Attributes:
        number: its place among all rules, for order.
        anchors: keys (see `keys_of`) of which a sentence must have one.
        required: words that must all be there.
        outputs: the replacements of a match, by the rule's outputs.
    """

    number: int
    rule: RewriteRule
    anchors: tuple[str, ...]
    required: frozenset[str]
    variables: tuple[str, ...]
    conditions: tuple[tuple[str, WordCondition], ...]
    outputs: tuple["CompiledOutput", ...]
    maps: Maps

    @property
    def expression(self) -> re.Pattern[str]:
        """Return the expression of its pattern, which is made when it is first needed."""
        return _compiled_expression(self.rule.pattern)


@dataclass(frozen=True, slots=True)
class CompiledOutput:
    """An output, taken apart where the pattern's variables stand.

    Attributes:
        moves: whether the variables stand in another order than in the pattern.
        gaps: the words before, between and after the variables; a text where that is fixed.
        functions: those applied to each variable.
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
class RuleMatch:
    """A place where a rule fits."""

    compiled: CompiledRule
    place: re.Match[str]

    @property
    def reads(self) -> tuple[tuple[int, int], ...]:
        """Return the spans of the words that the rule names; others may change them no more."""
        span = self.place.span
        return tuple(span(f"g{index}") for index in range(len(self.compiled.variables) + 1))

    def values(self) -> dict[str, str]:
        """Return the text of each variable and named choice."""
        groups = self.place.groupdict()
        return {name[2:]: (text or "").strip() for name, text in groups.items() if name[0] in "vn"}


def compile_rule(rule: RewriteRule, number: int, maps: Maps) -> CompiledRule:
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
        conditions = tuple(
            pair for pair in conditions if pair != (variables[0], WordCondition("vp"))
        )
    required = frozenset(
        word
        for part in rule.pattern
        if _is_required(part) and len(part.alternatives) == 1
        for word in part.alternatives[0].split()
    )
    return CompiledRule(
        number=number,
        rule=rule,
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
    """Return the lookup keys of a sentence: its words, its pairs of words, how it begins.

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
    if isinstance(pattern[0], PatternEdge) and pattern[0].sign == "^":
        second = pattern[1] if len(pattern) > 1 else None
        if isinstance(second, Variable) and WordCondition("vp") in second.conditions:
            return (COMMAND,)
    offers = [_keys_inside(part) for part in pattern]
    offers += [_keys_between(a, b) for a, b in zip(pattern, pattern[1:], strict=False)]
    useful = [offer for offer in offers if offer]
    return min(useful, key=lambda offer: sum(map(commonness, offer)), default=("",))


def _keys_inside(part: PatternPart) -> tuple[str, ...]:
    if not _is_required(part):
        return ()
    keys = (" ".join(text.split()[:2]) for text in part.alternatives)
    return tuple(dict.fromkeys(keys))


def _keys_between(left: PatternPart, right: PatternPart) -> tuple[str, ...]:
    last = [text.split()[-1] for text in _texts(left)]
    first = [text.split()[0] for text in _texts(right)]
    if not last or not first or len(last) * len(first) > _MOST_PAIRS:
        return ()
    return tuple(dict.fromkeys(f"{a} {b}" for a in last for b in first))


def _texts(part: PatternPart) -> tuple[str, ...]:
    match part:
        case PatternEdge(sign="^"):
            return (START,)
        case PatternEdge(sign="$"):
            return (END,)
        case PatternChoice() if _is_required(part):
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


def commonness(key: str) -> float:
    """Return the frequency of a word, or of a pair of words, in sentences."""
    counts = [_COMMON.get(word, _RARE) for word in key.split(" ")]
    return min(counts) / (_PAIR if len(counts) > 1 else 1)


def _is_required(part: PatternPart) -> TypeGuard[PatternChoice]:
    return isinstance(part, PatternChoice) and not part.optional and "" not in part.alternatives


# ------------------------------------------------------------------------------ expression


@cache
def _compiled_expression(pattern: tuple[PatternPart, ...]) -> re.Pattern[str]:
    return re.compile(_expression(pattern))


def _expression(pattern: Sequence[PatternPart]) -> str:
    """Return the expression: groups g0, g1, .. between the variables, v_x for each variable."""
    gap, pieces = 0, ["(?<![^ ])(?P<g0>"]
    for part, following in zip(pattern, [*pattern[1:], None], strict=True):
        match part:
            case PatternEdge():
                pieces.append(_EDGES[part.sign])
            case PatternChoice():
                pieces.append(_choice_expression(part))
            case Variable():
                gap += 1
                is_last = isinstance(following, PatternEdge) and following.sign == "$"
                body = _variable_expression(part, is_last=is_last)
                pieces.append(f")(?P<v_{part.name}>{body})(?P<g{gap}>")
            case _:
                assert_never(part)
    return "".join([*pieces, ")"])


_EDGES = {"^": "^", "^^": COMMAND_START, "$": "$", "$$": PHRASE_END}


def _choice_expression(part: PatternChoice) -> str:
    words = sorted(part.alternatives, key=len, reverse=True)
    body = "|".join(re.escape(word) + " " if word else "" for word in words)
    group = f"(?P<n_{part.name}>" if part.name else "(?:"
    return f"{group}{body}){'?' if part.optional else ''}"


def _variable_expression(part: Variable, *, is_last: bool) -> str:
    names = {condition.name for condition in part.conditions if not condition.negated}
    for name, expression in _SORTS.items():
        if name in names:
            return expression
    is_free = "any" in names
    token = ANYTHING if is_free else WORD
    if "one" in names:
        return token
    if "np" in names:  # "my wife" is in one place, not in two
        return f"{_BEGUN}(?:{token})+?" if not is_last else rf"{_BEGUN}(?:[^,]++|,(?! ))++"
    if is_last:  # there is one way only, and it is taken in one go
        return ".+" if is_free else r"(?:[^,]++|,(?! ))++"
    return f"(?:{token})+?"


_BEGUN = "(?:(?:the|an?|my|your|our|their|its) )*+"
_SORTS = {"value": VALUE, "number": NUMBER, "date": DATE, "text": TEXT}


# --------------------------------------------------------------------------------- matches


def matches(compiled: CompiledRule, text: str) -> Iterator[RuleMatch]:
    """Yield the places of a sentence, with a space behind every token, where a rule fits."""
    start = 0
    while (match := compiled.expression.search(text, start)) is not None:
        if all(holds(x, match[f"v_{name}"].rstrip()) for name, x in compiled.conditions):
            yield RuleMatch(compiled, match)
            start = max(match.end(), start + 1)
        else:  # it may fit from a later word on
            start = text.index(" ", match.start()) + 1


def edits(match: RuleMatch, output: CompiledOutput) -> tuple[Edit, ...]:
    """Return the changes of an output that moves no variable."""
    place, text = match.place, match.place.string
    changes = []
    for index, gap in enumerate(output.gaps):
        start, end = place.span(f"g{index}")
        words = (
            gap if isinstance(gap, str) else _render_parts(gap, match.values(), match.compiled.maps)
        )
        if words != text[start:end]:
            changes.append(Edit(start, end, words))
        if index < len(output.functions) and output.functions[index]:
            name = match.compiled.variables[index]
            ref = Ref(name, output.functions[index])
            words = _render_parts((ref,), match.values(), match.compiled.maps)
            changes.append(Edit(*place.span(f"v_{name}"), words))
    return tuple(changes)


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
        gaps=tuple(_compile_gap(gap) for gap in gaps),
        functions=tuple(ref.functions for ref in refs),
    )


def _compile_gap(gap: Sequence[OutputPart]) -> str | tuple[OutputPart, ...]:
    texts = [part for part in gap if isinstance(part, str)]
    return "".join(f"{text} " for text in texts) if len(texts) == len(gap) else tuple(gap)


def replace_match(match: RuleMatch, output: CompiledOutput) -> str:
    """Return the sentence with the whole match replaced by an output."""
    text = match.place.string
    words = _render_parts(output.parts, match.values(), match.compiled.maps)
    return text[: match.place.start()] + words + text[match.place.end() :]


def _render_parts(parts: Sequence[OutputPart], values: Mapping[str, str], maps: Maps) -> str:
    texts = []
    for part in parts:
        match part:
            case str():
                texts.append(part)
            case Ref():
                texts.append(apply_functions(values[part.name], part.functions, maps))
            case Agree():
                texts.append(choose_form(part.forms, values[part.name]))
            case _:
                assert_never(part)
    return "".join(f"{words} " for words in texts if words)
