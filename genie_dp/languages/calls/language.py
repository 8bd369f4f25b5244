"""Calls of tools behind the protocol of all target languages."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genie_dp.languages import base
from genie_dp.languages.base import (
    DecodingGrammar,
    ProgramComparison,
    ProgramView,
    list_counted,
)
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.calls import ast, typecheck
from genie_dp.languages.calls import text as texts
from genie_dp.languages.calls.decoding import CallsGrammar, constants_of
from genie_dp.languages.calls.forms import CallsForm
from genie_dp.languages.calls.fragment import CallsBodies
from genie_dp.languages.calls.inputs import CallsStructure
from genie_dp.languages.calls.library import NONE, ToolLibrary
from genie_dp.languages.calls.placeholders import CallsValues
from genie_dp.languages.calls.tools import load_tools


class Calls(base.Language):
    """The language "calls"; its library is the ToolLibrary of files `*.json`."""

    name = "calls"
    library_suffix = ".json"
    sorts_any_part = True
    sequence = " & "

    parse = staticmethod(texts.parse)
    check = staticmethod(typecheck.check)
    canonical = staticmethod(typecheck.canonical)
    tokens = staticmethod(texts.tokens)
    from_tokens = staticmethod(texts.from_tokens)
    render = staticmethod(texts.render)
    bodies: TemplateBodies = CallsBodies()
    values = CallsValues()
    structure = CallsStructure()
    form = staticmethod(CallsForm)
    grammar_texts = staticmethod(constants_of)

    def load_declarations(self, paths: Sequence[Path], *, skip_broken: bool = False) -> ToolLibrary:
        """Return the tools of files, or raise GenieError (Z020 to Z028)."""
        return load_tools(paths, skip_broken=skip_broken) if paths else NONE

    def functions(self, program: ast.Program) -> Counter[str]:
        """Return how often each tool is called, in program order."""
        return Counter(call.name for call in ast.calls_of(program))

    def comparison(self, *, unordered: bool = False) -> ProgramComparison:
        """Return how programs are compared; `unordered`, as so many calls in any order."""
        return CallsComparison(unordered)

    def is_function_name(self, text: str) -> bool:
        """Return whether a tool may have the name: any text that is not blank."""
        return bool(text.strip())

    def decoding_grammar(self, library: Any, *, texts: Iterable[str] = ()) -> DecodingGrammar:
        """Return which tokens may follow; `texts` are constants that sentences do not have.

        Raises:
            GenieError: L011 without any tool.
        """
        return CallsGrammar(library or NONE, texts=texts)


@dataclass(frozen=True, slots=True)
class CallsComparison:
    """Programs by their canonical tokens.

    Attributes:
        unordered: the calls are compared as a multiset, whatever their steps.
    """

    unordered: bool = False

    def view(self, program: ast.Program, library: Any) -> ProgramView:
        """Return the compared parts of a program."""
        whole = typecheck.canonical(program, library)
        functions = list_counted(Counter(call.name for call in ast.calls_of(whole)))
        arguments = Counter(
            argument.name for call in ast.calls_of(whole) for argument in call.arguments
        )
        blank = ast.change_values(whole, lambda _: ast.Open())
        steps = tuple(tuple(sorted(step, key=texts.call_tokens)) for step in blank.steps)
        return ProgramView(
            match=self._text(whole),
            shape=self._text(ast.Program(steps)),
            functions=functions,
            devices=functions,
            parameters=list_counted(arguments),
            operators=(),
        )

    def _text(self, program: ast.Program) -> str:
        if not self.unordered:
            return texts.tokens(program)
        return " & ".join(sorted(map(texts.call_tokens, ast.calls_of(program))))
