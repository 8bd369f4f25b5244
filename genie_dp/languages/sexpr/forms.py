"""S-expressions in token form, unparsed."""

from collections.abc import Sequence
from functools import cached_property

from genie_dp.languages.forms import Literal, TokenForm
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr.canonical import functions
from genie_dp.languages.sexpr.literals import SPOKEN_TYPES, constant_of
from genie_dp.languages.sexpr.text import from_tokens
from genie_dp.languages.terms.values import closing_quote
from genie_dp.languages.types import is_slot


class SexprForm(TokenForm):
    """An expression in token form."""

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The labels in program order."""
        return tuple(functions(from_tokens(self.text)).elements())

    @cached_property
    def parts(self) -> frozenset[str]:
        """Each label and symbol, with the label of the node that it is in.

        Texts, words in square brackets and placeholders are left out.

        >>> sorted(SexprForm('( PIE ( NOT ( TOP ham ) ) ( NAME " all ham " ) )').parts)
        ['NOT TOP', 'PIE NAME', 'PIE NOT', 'TOP ham']
        """
        parts = []
        nodes: list[tuple[str, str]] = []  # bracket and label of what is open
        opened, is_text = "", False
        for token in self.tokens:
            if token == '"':
                is_text = not is_text
            elif is_text or is_slot(token):
                continue
            elif token in (")", "]"):
                if nodes:
                    nodes.pop()
                opened = ""
            elif token == "[" or token.endswith("("):
                if opened:
                    nodes.append((opened, ""))
                opened = token
            else:
                if nodes and (opened or nodes[-1][0] != "["):
                    parts.append(f"{nodes[-1][1]} {token}")
                if opened:
                    nodes.append((opened, token))
                opened = ""
        return frozenset(parts)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The constants in program order; words in square brackets are none.

        >>> form = SexprForm('( PIE ( SINCE #( Date " 2027-03-14 " ) ) 3 )')
        >>> [tuple(x) for x in form.literals]
        [(4, 10, 'date:2027-03-14', False), (11, 12, '3', False)]
        """
        program, found = self.tokens, list[Literal]()
        opened: list[str] = []
        i = 0
        while i < len(program):
            token, end = program[i], i + 1
            in_square = bool(opened) and opened[-1] == "["
            if token == "[" or (token.endswith("(") and not in_square):
                end = _end(program, i) if token == "#(" else end
                node = from_tokens(" ".join(program[i:end])) if end > i + 1 else None
                constant = constant_of(node) if isinstance(node, sx.Node) else None
                if constant is not None:
                    found.append(Literal(i, end, constant, program[i + 1] not in SPOKEN_TYPES))
                    i = end
                    continue
                end = i + 1
                opened.append(token[-1])
            elif token in (")", "]") and opened and sx.CLOSING[_bracket(opened[-1])] == token:
                opened.pop()
            elif token == '"' and not in_square:
                end = closing_quote(program, i) + 1
                found.append(Literal(i, end, " ".join(program[i:end]), True))
            elif not in_square and sx.is_number(token) and not program[i - 1].endswith("("):
                found.append(Literal(i, end, token.removesuffix("L"), False))
            i = end
        return tuple(found)


def _bracket(token: str) -> sx.Bracket:
    return "[" if token == "[" else "("


def _end(program: Sequence[str], start: int) -> int:
    """Return the place after the bracket that begins at a token; the next one if it has no end."""
    depth, i = 0, start
    while i < len(program):
        if program[i] == '"':
            i = closing_quote(program, i)
        elif program[i].endswith(("(", "[")):
            depth += 1
        elif program[i] in (")", "]"):
            depth -= 1
            if not depth:
                return i + 1
        i += 1
    return start + 1
