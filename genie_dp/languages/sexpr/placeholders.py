"""Values of S-expressions, and the placeholders that stand for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from genie_dp.languages.base import ProgramValues
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr.declarations import NONE
from genie_dp.languages.sexpr.literals import FORMS, expression_of, is_read, literal_of, rewrite
from genie_dp.languages.sexpr.text import is_in_square, tokens
from genie_dp.languages.terms.values import said
from genie_dp.languages.types import Entity, Type, slots_in


def anonymize(program: sx.Expression) -> sx.Expression:
    """Return the expression with strings, numbers, dates and the like replaced by placeholders.

    They are numbered in the order of the text; equal values share a placeholder. Labels stay.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> from genie_dp.languages.sexpr.text import render
    >>> render(anonymize(parse('(and (f 4L "tea") (g "tea" 2.5))')))
    '(and (f NUMBER_0 QUOTED_STRING_0) (g QUOTED_STRING_0 NUMBER_1))'
    """
    numbers: dict[str, dict[str, str]] = {}

    def number(leaf: sx.Expression, _in_square: bool, is_label: bool) -> Sequence[sx.Expression]:
        match leaf:
            case sx.Text(value):
                stem, constant = "QUOTED_STRING", value
            case sx.Atom(text) if sx.is_number(text) and not is_label:
                stem, constant = "NUMBER", text
            case sx.Node() if is_read(leaf):
                stem, constant = sx.TYPES[sx.label(leaf)].stem, tokens(leaf)
            case _:
                return [leaf]
        places = numbers.setdefault(stem, {})
        return [sx.Atom(places.setdefault(constant, f"{stem}_{len(places)}"), leaf.span)]

    return rewrite(program, number)


def fill(program: sx.Expression, values: Mapping[str, tuple[str, str]]) -> sx.Expression:
    """Return a program with literals in the place of its placeholders (base.Language.fill).

    Between square brackets and in a text a value is the words that expressed it.

    >>> from genie_dp.languages.sexpr.text import parse, render
    >>> program = parse('(PIE (SINCE DATE_0) (TITLE "at NUMBER_0"))')
    >>> values = {"DATE_0": ("date:2027-03-14", "pi day"), "NUMBER_0": ("2", "two")}
    >>> render(fill(program, values))
    '(PIE (SINCE #(Date "2027-03-14")) (TITLE "at two"))'
    """

    def change(leaf: sx.Expression, in_square: bool, _: bool) -> Sequence[sx.Expression]:
        match leaf:
            case sx.Atom(token) if token in values:
                constant, words = values[token]
                return [*map(sx.Atom, words.split())] if in_square else [expression_of(constant)]
            case sx.Text(text):
                return [replace(leaf, value=said(text, values))]
            case sx.Node(items) if any(isinstance(item, sx.Text) for item in items):
                filled = [item for part in items for item in change(part, in_square, False)]
                return [replace(leaf, items=tuple(filled))]
            case _:
                return [leaf]

    return rewrite(program, change)


def map_names(program: sx.Expression, find: Callable[[str, str], str]) -> sx.Expression:
    """Return a program with each name replaced by `find(type, words)`."""

    def change(leaf: sx.Expression, *_: bool) -> Sequence[sx.Expression]:
        match leaf:
            case sx.Node((sx.Atom(kind), sx.Text(words)), _, "#") if kind not in FORMS:
                replaced = find(kind, words)
                return [leaf if replaced == words else literal_of(kind, sx.Text(replaced))]
            case _:
                return [leaf]

    return rewrite(program, change)


class SexprValues(ProgramValues):
    """Values of S-expressions."""

    fill = staticmethod(fill)
    map_names = staticmethod(map_names)
    anonymize = staticmethod(anonymize)

    def placeholders(self, program: sx.Expression) -> tuple[str, ...]:
        """Return the placeholders that an expression has, in its order."""
        return slots_in(tokens(program))

    def reads_values(self, library: Any) -> bool:
        """Return whether a node is declared to hold dates, money and the like, or listed names."""
        return (library or NONE).reads_values

    def written(self, constant: str) -> str:
        """Return the tokens of a literal."""
        return tokens(expression_of(constant))

    def quotes(self, type_: Type, before: str) -> tuple[str, str]:
        """Return quotes, of names with their type; nothing in square brackets: words are bare."""
        if is_in_square(before.split()):
            return "", ""
        if isinstance(type_, Entity):
            return f'#( {sx.name_of(type_)} " ', ' " )'
        return '" ', ' "'
