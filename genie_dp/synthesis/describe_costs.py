"""What it costs to say a template: of two sentences for a program the cheaper one is taken."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from genie_dp.synthesis.layout import placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.rules import Rule
from genie_dp.templates import english_words as lists

# What a step costs: found by reading 300 descriptions of synthesized programs, November 2026. A
# construct is dear, so that sentences are short; a template's later alternatives, and later
# templates, are less usual than the first; what synthesis draws less often is less natural.
CONSTRUCT, LEAF = 1.0, 0.2
WEIGHT, ALTERNATIVE, RANK, WORD = 0.4, 0.12, 0.03, 0.04
MOST_RANKS, MOST_ALTERNATIVES = 20, 8
LEAF_RANK, NO_VERB = 0.02, 1.0  # "turn on the lights" rather than "the lights on please"
NAMED = 0.1  # "on twitter" tells what happens
PHRASE = 0.1  # for each phrase of a parameter that comes before


def price(rule: Rule, rank: int, alternative: int, *, is_root: bool) -> float:
    """Return what it costs to say a rule, its children apart."""
    words = sum(len(part.split()) for part in rule.layout.parts if isinstance(part, str))
    weight = min(max(rule.template.weight, 0.2), 3.0)
    is_leaf = all(placeholder_of(child.pool) for child in rule.layout.children)
    is_unit = rule.layout.parts == (0,) and not is_root  # says what its child says
    return (
        (LEAF if is_leaf or is_unit else CONSTRUCT)
        - WEIGHT * math.log(weight)
        + RANK * (0 if is_leaf else min(rank, MOST_RANKS))
        + ALTERNATIVE * min(alternative, MOST_ALTERNATIVES)
        + WORD * words
    )


def priced(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, float]]:
    """Yield phrases of parameters with what they cost: the first of a sort is the usual one."""
    met: dict[Any, dict[str, int]] = {}
    for piece in pieces:
        sort = met.setdefault((piece.value.text, piece.value.gap, piece.features), {})
        index = sort.setdefault(piece.words, len(sort))
        words = len(piece.words.replace(GAP, "").split())
        yield piece, PHRASE * min(index, MOST_ALTERNATIVES) + WORD * words


def price_of_skill(rule: Rule, rank: int, function: str, *, is_action: bool) -> float:
    """Return what a skill's phrase costs besides: its first phrases are the usual ones."""
    return (
        LEAF_RANK * min(rank, MOST_RANKS)
        + (NO_VERB if is_action and not has_verb(rule) else 0)
        - (NAMED if names_skill(rule, function) else 0)
    )


def price_of_sentence(rule: Rule) -> float:
    """Return what a skill's own sentence costs besides: it is mostly short for a longer one."""
    return CONSTRUCT + (0 if has_verb(rule) else NO_VERB)


_NO_VERBS = {*lists.ARTICLES, *lists.FIXED_DETERMINERS, *lists.PREPOSITIONS, *lists.SUBJECTS}


def has_verb(rule: Rule) -> bool:
    """Tell whether a rule begins with a verb, or at least with no noun phrase."""
    first = rule.layout.parts[0] if rule.layout.parts else ""
    word = first.split()[0] if isinstance(first, str) and first else "the"
    return word in lists.VERBS or word not in _NO_VERBS


def names_skill(rule: Rule, function: str) -> bool:
    """Tell whether a rule says the name of the skill: @com.dropbox.move is of dropbox."""
    skill = function.rpartition(".")[0].rpartition(".")[2].replace("-", " ")
    return any(isinstance(part, str) and skill in part for part in rule.layout.parts if skill)
