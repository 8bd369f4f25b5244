"""Which parameters a program of ThingTalk speaks of, read off its token form.

A name means the output of the right-most function before it that has one of that name (Genie,
section 2.3), so one pass over the tokens is enough: a few microseconds a row, where a syntax tree
and its scopes take ten times as long.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Parameters:
    """The inputs and outputs of all functions of a library: "@c.f" -> their names."""

    inputs: dict[str, frozenset[str]] = field(default_factory=dict)
    outputs: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, library: Any) -> "Parameters":
        """Return the parameters of a skills.Library or of anything with `functions`."""
        found = cls()
        for signature in library.functions():
            found.inputs[signature.qualified] = frozenset(p.name for p in signature.inputs)
            found.outputs[signature.qualified] = frozenset(p.name for p in signature.outputs)
        return found

    def in_program(self, program: str) -> Iterator[tuple[str, str]]:
        """Yield (function, parameter) for every name in a token form, in order.

        >>> known = Parameters({"@c.q": frozenset(), "@c.a": frozenset("x")},
        ...                    {"@c.q": frozenset({"size", "title"}), "@c.a": frozenset()})
        >>> text = "now => ( @c.q ) filter param:size > 5 => @c.a on param:x = param:title"
        >>> list(known.in_program(text))
        [('@c.q', 'size'), ('@c.a', 'x'), ('@c.q', 'title')]
        """
        tokens = program.split()
        calls: list[str] = []
        nested: list[int] = []  # for each open `{`: how many calls were there before its function
        early: list[str] = []  # `aggregate sum param:f of ( q )`: the name comes before its call
        for index, token in enumerate(tokens):
            if token[0] == "@" and token in self.inputs:
                calls.append(token)
                yield from self._late(token, early)
            elif token == "{":
                nested.append(len(calls) - 1)
            elif token == "}" and nested:
                del calls[nested.pop() :]
            elif token.startswith("param:"):
                name = token.split(":", 2)[1]
                is_given = tokens[index + 1 : index + 2] == ["="]
                function = _last(calls, name, self.inputs if is_given else self.outputs)
                if function is not None:
                    yield function, name
                elif not is_given:
                    early.append(name)

    def _late(self, call: str, early: list[str]) -> Iterator[tuple[str, str]]:
        for name in early[:]:
            if name in self.outputs[call]:
                early.remove(name)
                yield call, name


def _last(calls: list[str], name: str, known: dict[str, frozenset[str]]) -> str | None:
    for call in reversed(calls):
        if name in known[call]:
            return call
    return None
