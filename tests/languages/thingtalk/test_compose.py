"""Pieces composed as text say the same as trees put together, canonicalised and printed."""

import random
from dataclasses import replace
from typing import Any

import pytest

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.bodies import Body
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.lift import Lifter
from genie_dp.languages.thingtalk.parser import parse_fragment
from genie_dp.languages.thingtalk.tokens import tokens
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.languages.thingtalk.values import (
    ConstantValue,
    ParameterValue,
    SourceValue,
    negation,
)
from genie_dp.languages.types import slot_type
from genie_dp.synthesis.cells import cells
from genie_dp.synthesis.engine import SynthesisEngine
from genie_dp.synthesis.pieces import Placeholders
from genie_dp.synthesis.rules import GrammarRule
from tests.synthesis.synthesis_setup import engine, shipped, shipped_engine
from tests.templates.test_grammar_en import with_answers

pytestmark = pytest.mark.xdist_group("shipped")
PER_TEMPLATE = 12


def as_tree(value: Any) -> Any:
    if isinstance(value, SourceValue):
        return piece_from_tokens(value.query.text, "query")
    if isinstance(value, ConstantValue):
        return value.node
    return piece_from_tokens(value.text, value.kind)


def with_args(value: Any, args: list[ast.Arg]) -> Any:
    """Return the tree of a query or action whose function has these inputs, too."""

    def add(node: Any) -> Any:
        if isinstance(node, ast.Call) and f"@{node.selector.class_name}.{node.function}" == owner:
            return replace(node, args=(*node.args, *args))
        return node

    owner = value.state.function if args else ""
    return rewrite(as_tree(value), add)


def whole_tree(body: Body, children: dict[str, Any]) -> Any:
    """Return the body with the trees of its children put into it: the slow, plain way."""

    def fill(node: Any) -> Any:
        match node:
            case ast.Hole(name, _, str() as argument):  # its open input is the name of an output
                gap = children[name].gap_text.split(":")[1]
                return with_args(
                    children[name], [ast.Arg(gap, ast.VarRef(children[argument].state.name))]
                )
            case ast.Hole(name, _, _, inputs):
                args = [ast.Arg(children[arg.name].state.name, fill(arg.value)) for arg in inputs]
                return with_args(children[name], args)
            case ast.Policy(source, query, action):
                query, action = (None if n is None else allowed(n) for n in (query, action))
                return ast.Policy(source, query, action)
            case ast.Atom(name) if name in children:
                return replace(node, name=children[name].state.name)
            case ast.Aggregate(_, str() as name) if name in children:
                return replace(node, field=children[name].name)
            case ast.Monitor(_, on_new) if on_new:
                names = tuple(children[n].state.name if n in children else n for n in on_new)
                return replace(node, on_new=names)
            case ast.VarRef(name) if isinstance(children.get(name), ParameterValue | SourceValue):
                return ast.VarRef(children[name].state.name)
            case ast.VarRef(name) if name in children:
                return as_tree(children[name])
            case _:
                return node

    return rewrite(body.node, fill)


def allowed(node: Any) -> ast.PolicyFunction:
    """Return a query or action as a policy speaks of it: its arguments are conditions."""
    conditions: list[Any] = []
    while isinstance(node, ast.Filter):
        conditions.append(node.predicate)
        node = node.query
    conditions.extend(ast.Atom(arg.name, "==", arg.value) for arg in node.args)
    predicate = ast.And(tuple(conditions)) if len(conditions) > 1 else None
    predicate = predicate or (conditions[0] if conditions else ast.TrueP())
    return ast.PolicyFunction(node.selector.class_name, node.function, predicate)


def programs(made: SynthesisEngine, rule: GrammarRule, draw: random.Random) -> Any:
    found = [cell for depth in (1, 2, 3) for cell in cells(rule, depth, made.pools)]
    for _ in range(PER_TEMPLATE if found else 0):
        cell = draw.choice(found)
        pieces = [draw.choice(members) for members in cell.lists]
        combined = cell.wording.assemble(*pieces)
        if combined is not None:
            yield pieces, combined


def construct_rules(made: SynthesisEngine) -> list[GrammarRule]:
    rules = (rule for rules in made.compiled.rules.values() for rule in rules if not rule.is_leaf)
    return [r for r in rules if isinstance(r.body, Body) and r.body.kind in WRAPPERS]


def as_program(kind: str, tree: Any) -> Any:
    """Return a piece's tree as a program that shows it."""
    match kind:
        case "query" | "source":
            query = tree.query if isinstance(tree, ast.OutputOf) else tree
            return ast.Program((ast.Rule(None, query, ast.Notify()),))
        case "stream":
            return ast.Program((ast.Rule(tree, None, ast.Notify()),))
        case _:
            return tree


WRAPPERS = {
    "query": "now => {} => notify",
    "source": "now => {} => notify",
    "stream": "{} => notify",
    "program": "{}",
    "policy": "{}",
}


def test_every_construct_template_composes_what_its_tree_says():
    made = shipped_engine()
    assert compared(made, construct_rules(made), shipped().library) > 150


def test_what_questions_ask_composes_what_its_tree_says():
    inputs = with_answers()
    asked = engine(inputs, size=100, pool_size=100, max_depth=4, subsets=("answers",))
    rules = [
        rule
        for rule in construct_rules(asked)
        if rule.template.span and rule.template.span.file.endswith("answers.genie")
    ]
    assert compared(asked, rules, inputs.library) > 150


def compared(made: SynthesisEngine, rules: list[GrammarRule], library: Any) -> int:
    draw, seen = random.Random(7), 0
    for rule in rules:
        for pieces, combined in programs(made, rule, draw):
            chosen = renumbered(made.compiled.placeholders, pieces)
            if chosen is None:
                continue
            names = [child.name for child in rule.layout.children]
            children = dict(zip(names, chosen, strict=True))
            tree = whole_tree(rule.body, children)
            kind = rule.body.kind
            expected = tokens(canonical(as_program(kind, tree), library), library)
            text = WRAPPERS[kind].format(combined.value.text)
            for character, token in made.compiled.placeholders.names(text):
                text = text.replace(character, token)
            assert ordered(expected) == ordered(text), rule.template.id
            seen += 1
    return seen


def renumbered(placeholders: Placeholders, pieces: Any) -> list[Any] | None:
    """Return the values of the pieces with placeholders that do not collide."""
    total, values = 0, []
    for piece in pieces:
        names = placeholders.shifts(total & piece.mask, piece.count) if piece.mask else ()
        if names is None:
            return None
        value = piece.value.shift(names)
        values.append(value.shift(placeholders.names(value.text)))
        total += piece.count
    return values


def ordered(program: str) -> str:
    """Return a program with its placeholders numbered by first use, whatever they were."""
    names: dict[str, str] = {}
    return " ".join(
        names.setdefault(token, f"<{len(names)}>") if slot_type(token) else token
        for token in program.split()
    )


@pytest.mark.parametrize(
    "text",
    [
        *(f"size {operator} 5MB" for operator in ("==", ">", "<", ">=", "<=")),
        "date > start_of(week) - 1day",
        'file =~ "a"',
        'file in_array ["b", "a"]',
        'file in_array ["a"]',
        "is_unread == true",
        "is_unread == false",
    ],
)
def test_the_negation_of_a_piece_is_that_of_its_tree(text):
    function = "@com.gmail.inbox" if "unread" in text else "@com.dropbox.list_folder"
    lifter, tree = Lifter(shipped().library), parse_fragment(text, {}).body
    piece, slow = (lifter.predicate(node, function) for node in (tree, ast.Not(tree)))
    assert piece is not None
    assert slow is not None
    quick = negation(piece)
    assert quick is not None
    assert quick.clauses == slow.clauses
    if "not " not in quick.text:
        assert quick.state == slow.state
        assert negation(quick) == piece
