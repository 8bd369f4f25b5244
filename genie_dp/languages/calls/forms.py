"""Calls in token form, unparsed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from genie_dp.languages.calls import ast
from genie_dp.languages.calls.text import from_tokens
from genie_dp.languages.calls.values import NUMBER, constant_of, moment_of
from genie_dp.languages.forms import Compared, Literal, TokenForm
from genie_dp.languages.terms.values import closing_quote
from genie_dp.languages.text import unescape_word, without_text
from genie_dp.languages.types import is_slot


class PlacedToken(NamedTuple):
    """A token of a program, and where it stands.

    Attributes:
        tool: the call that it is in, without its bracket.
        argument: the argument or field, with its sign; "" before the first.
        is_text: whether it is a word between quotes.
        depth: of how many objects it is part.
    """

    token: str
    tool: str
    argument: str
    is_text: bool
    depth: int


class CallsForm(TokenForm):
    """Calls in token form."""

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The tools in program order."""
        words = without_text(self.text).split(" ")
        names = tuple([unescape_word(w[:-1]) for w in words if len(w) > 1 and w[-1] == "("])
        return names or tuple(call.name for call in ast.calls_of(from_tokens(self.text)))

    @cached_property
    def placed(self) -> tuple[PlacedToken, ...]:
        """The tokens with their places."""
        placed, is_text, tool, argument, depth = list[PlacedToken](), False, "", "", 0
        for token in self.tokens:
            if token == '"':
                is_text = not is_text
                placed.append(PlacedToken(token, tool, argument, False, depth))
                continue
            if not is_text and len(token) > 1 and token[-1] in "(=":
                if token[-1] == "(":
                    tool, argument = token[:-1], ""
                else:
                    argument = token
            elif not is_text and token in ("{", "}"):
                depth += 1 if token == "{" else -1
            placed.append(PlacedToken(token, tool, argument, is_text, depth))
            if token == ")" and not is_text:
                tool, argument = "", ""
        return tuple(placed)

    @cached_property
    def values(self) -> Sequence[str]:
        """Placeholders and the words of texts; listed values are expressed in other words."""
        return [x.token for x in self.placed if x.is_text or is_slot(x.token)]

    @cached_property
    def parts(self) -> frozenset[str]:
        """Each argument with its tool, and with the listed value or sign beside it."""
        parts = set()
        for token, tool, argument, is_text, _ in self.placed:
            if is_text or is_slot(token) or (token.endswith("(") and len(token) > 1):
                continue
            if argument and token == argument:
                parts.add(f"{tool} {argument}")
            elif token not in (")", "]", "}", '"') and not token.startswith("^^"):
                parts.add(f"{tool} {argument}{token}" if argument else token)
        return frozenset(parts)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The constants in program order.

        >>> form = CallsForm('remind( at= date:2027-03-14 room= " bath room " ^^room )')
        >>> [tuple(literal) for literal in form.literals]
        [(2, 3, 'date:2027-03-14', False), (4, 9, '" bath room " ^^room', True)]
        """
        found, tokens, i = list[Literal](), self.tokens, 0
        while i < len(tokens):
            token, end = tokens[i], i + 1
            if token == '"':
                end = closing_quote(tokens, i) + 1
                if end < len(tokens) and tokens[end].startswith("^^"):
                    end += 1
                found.append(Literal(i, end, " ".join(tokens[i:end]), True))
            elif NUMBER.fullmatch(token):
                found.append(Literal(i, end, token, False))
            elif token.startswith(("date:", "time:", "duration:")):
                kind, _, rest = token.partition(":")
                moment = moment_of(kind, rest)
                constant = constant_of(moment) if moment else None
                if constant is not None:
                    found.append(Literal(i, end, constant, False))
            i = end
        return tuple(found)

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The constants that are no texts."""
        return frozenset(literal.constant for literal in self.literals if not literal.is_text)

    @cached_property
    def compared(self) -> Mapping[str, Sequence[Compared]]:
        """The arguments that have each placeholder: a tool compares nothing.

        >>> CallsForm('f( a= NUMBER_0 b= " NUMBER_1 " )').compared
        {'NUMBER_0': [Compared(part='f a=', sign='=', is_shifted=False)]}
        """
        compared: dict[str, list[Compared]] = {}
        for token, tool, argument, is_text, _ in self.placed:
            if not is_text and is_slot(token):
                compared.setdefault(token, []).append(Compared(f"{tool} {argument}", "="))
        return compared

    @cached_property
    def inputs(self) -> Sequence[tuple[str, frozenset[str]]]:
        """The tools, each with the names of its arguments.

        >>> [(tool, names)] = CallsForm('f( a= { b= 1 } c= " x( d= " )').inputs
        >>> tool, sorted(names)
        ('f', ['a', 'c'])
        """
        inputs: list[tuple[str, set[str]]] = []
        for token, _, argument, is_text, depth in self.placed:
            if not is_text and token.endswith("(") and len(token) > 1:
                inputs.append((unescape_word(token[:-1]), set()))
            elif inputs and argument and token == argument and not is_text and not depth:
                inputs[-1][1].add(unescape_word(token[:-1]))
        return [(tool, frozenset(names)) for tool, names in inputs]
