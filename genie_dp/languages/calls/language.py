"""Calls of tools behind the protocol of all target languages."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.languages import base
from genie_dp.languages import types as ty
from genie_dp.languages.base import (
    DecodingGrammar,
    ProgramComparison,
    ProgramView,
    list_counted,
)
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.calls import ast, structure, typecheck, values
from genie_dp.languages.calls import text as texts
from genie_dp.languages.calls.decoding import CallsGrammar, constants_of
from genie_dp.languages.calls.forms import CallsForm
from genie_dp.languages.calls.fragment import CallsBodies
from genie_dp.languages.calls.library import NONE, ToolLibrary
from genie_dp.languages.calls.schema import schema
from genie_dp.languages.calls.tools import load_tools
from genie_dp.languages.library import Signature
from genie_dp.languages.limits import Limits
from genie_dp.languages.types import is_slot


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
    fills = staticmethod(typecheck.slots_of)
    tree = staticmethod(structure.tree)
    calls = staticmethod(structure.calls)
    missing_inputs = staticmethod(typecheck.missing_inputs)
    give_input = staticmethod(typecheck.give_input)
    cut_input = staticmethod(typecheck.cut_input)
    schema = staticmethod(schema)
    fill = staticmethod(values.fill)
    form = staticmethod(CallsForm)
    grammar_texts = staticmethod(constants_of)

    def load_declarations(self, paths: Sequence[Path], *, skip_broken: bool = False) -> ToolLibrary:
        """Return the tools of files, or raise GenieError (Z020 to Z028)."""
        return load_tools(paths, skip_broken=skip_broken) if paths else NONE

    def functions(self, program: ast.Program) -> Counter[str]:
        """Return how often each tool is called, in program order."""
        return Counter(call.name for call in ast.calls_of(program))

    def anonymize(self, program: ast.Program) -> ast.Program:
        """Return the program with texts, names, numbers and moments replaced by placeholders.

        They are numbered in program order; equal values share one. Listed values stay.
        """
        numbers: dict[str, dict[ast.Value, str]] = {}

        def replace_constant(value: ast.Value) -> ast.Value:
            stem = ty.slot_stem(type_) if (type_ := _type_of(value)) is not None else None
            if stem is None:
                return value
            places = numbers.setdefault(stem, {})
            return ast.Slot(places.setdefault(value, f"{stem}_{len(places)}"))

        return ast.change_values(program, replace_constant)

    def comparison(self, *, unordered: bool = False) -> ProgramComparison:
        """Return how programs are compared; `unordered`, as so many calls in any order."""
        return CallsComparison(unordered)

    def limits(self, program: str, library: Any) -> Mapping[str, Limits]:
        """Return what values of placeholders may be, where the schemas of tools restrict them."""
        if not isinstance(library, ToolLibrary) or not library.has_limits:
            return {}
        return typecheck.limits_in(self.from_tokens(program), library)

    # --------------------------------------------------------- what those who act on it take

    def call(self, function: Signature, constants: Mapping[str, str]) -> ast.Program:
        """Return the call of a tool with placeholders and listed values."""
        arguments = (
            ast.Argument(name, ast.Slot(text) if is_slot(text) else values.value_of(text))
            for name, text in constants.items()
        )
        return ast.Program(((ast.Call(function.qualified, tuple(arguments)),),))

    # ------------------------------------------- values that readers find, and names of lists

    def reads_values(self, library: Any) -> bool:
        """Tell whether a parameter holds texts, numbers, dates, names and the like."""
        return (library or NONE).reads_values

    def map_names(self, program: ast.Program, find: Callable[[str, str], str]) -> ast.Program:
        """Return a program with what `find(kind, words)` gives for each name."""

        def map_value(value: ast.Value) -> ast.Value:
            if isinstance(value, ast.Name) and not value.kind.startswith("tt:"):
                return replace(value, words=find(value.kind, value.words))
            return value

        return ast.change_values(program, map_value)

    def written(self, constant: str) -> str:
        """Return the tokens of a constant."""
        return texts.value_tokens(values.value_of(constant))

    def is_function_name(self, text: str) -> bool:
        """Tell whether a tool may be called so: any text that is not blank."""
        return bool(text.strip())

    def quotes(self, type_: ty.Type, before: str) -> tuple[str, str]:
        """Return quotes, of names with their kind; nothing inside of a text."""
        if before.split(" ").count('"') % 2:
            return "", ""
        return '" ', f' " ^^{type_.kind}' if isinstance(type_, ty.Entity) else ' "'

    # -------------------------------------------------------------------------- decoding

    def decoding_grammar(self, library: Any, *, texts: Iterable[str] = ()) -> DecodingGrammar:
        """Return which tokens may follow; `texts` are constants that sentences do not have.

        Raises:
            GenieError: L011 without any tool.
        """
        return CallsGrammar(library or NONE, texts=texts)


def _type_of(value: ast.Value) -> ty.Type | None:
    """Return the type of a constant that a placeholder may stand for."""
    match value:
        case ast.Text():
            return ty.STRING
        case ast.Name(_, kind):
            return ty.Entity(kind)
        case ast.Number():
            return ty.NUMBER
        case ast.Moment(kind):
            return {"date": ty.DATE, "time": ty.TIME}.get(kind, ty.Measure("ms"))
        case _:
            return None


@dataclass(frozen=True, slots=True)
class CallsComparison:
    """Programs by their canonical tokens.

    Attributes:
        unordered: the calls are compared as a multiset, whatever their steps.
    """

    unordered: bool = False

    def view(self, program: ast.Program, library: Any) -> ProgramView:
        """Return what is compared of a program."""
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
