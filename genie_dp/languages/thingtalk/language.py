"""ThingTalk behind the protocol of all target languages."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from genie_dp.errors import Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.library import Signature
from genie_dp.languages.limits import Limits
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import (
    canonical,
    forms,
    from_tokens,
    placeholders,
    render,
    structure,
    tokens,
    traverse,
)
from genie_dp.languages.thingtalk import parser as texts
from genie_dp.languages.thingtalk.tokens import STYLE, TokenStyle
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import Array, Entity, Type


class ThingTalk(base.Language):
    """The language "thingtalk"; its library is any Signatures, such as a skills.Library.

    Attributes:
        style: how programs are written as tokens and read from them.
    """

    name = "thingtalk"
    has_skills = True
    sequence = " ; "
    traits = forms.TRAITS

    parse = staticmethod(texts.parse)
    functions = staticmethod(traverse.functions)
    anonymize = staticmethod(traverse.anonymize)
    # What those who act on a program take.
    calls = staticmethod(structure.calls)
    missing_inputs = staticmethod(structure.missing_inputs)
    cut_input = staticmethod(structure.cut_input)
    schema = staticmethod(structure.schema)
    # Values that readers find, and names of lists.
    fill = staticmethod(placeholders.fill)
    map_names = staticmethod(placeholders.map_names)
    placeholders = staticmethod(placeholders.placeholders)
    form = staticmethod(forms.ThingTalkForm)
    is_function_name = staticmethod(forms.is_function_name)

    def __init__(self, style: TokenStyle = STYLE):
        self.style = style

    @cached_property
    def bodies(self) -> TemplateBodies:
        """Return what compiles the bodies of templates."""
        from genie_dp.languages.thingtalk.templates import ThingTalkBodies

        return ThingTalkBodies()

    def load_declarations(self, paths: Sequence[Path], *, skip_broken: bool = False) -> NoReturn:
        """Raise TypeError: its libraries are skills, which skills.load reads."""
        raise TypeError("a library of ThingTalk is made of skills")

    def in_style(self, *, types: bool, keywords: bool, canonical: bool) -> "ThingTalk":
        """Return the language in another style of the token form."""
        return ThingTalk(TokenStyle(types, keywords, canonical))

    def check(self, program: Any, library: Any) -> list[Problem]:
        """Return all type mistakes of a program or of a piece of one."""
        return check(program, library)

    def canonical(
        self, program: tt.Program | tt.Policy, library: Any = None
    ) -> tt.Program | tt.Policy:
        """Return the one program that stands for all with this meaning (Genie, section 2.4)."""
        return canonical.canonical(program, library)

    def render(self, program: tt.Program | tt.Policy) -> str:
        """Return the program as people write it."""
        return render.render(program)

    def tokens(self, program: tt.Program | tt.Policy, library: Any = None) -> str:
        """Return the token form; without a library only a style without types can be written."""
        return tokens.tokens(program, library, self.style)

    def from_tokens(
        self, text: str, library: Any = None, *, places: bool = False
    ) -> tt.Program | tt.Policy:
        """Return the program of a token form; the library is needed for positional arguments."""
        return from_tokens.from_tokens(text, style=self.style, signatures=library, places=places)

    def comparison(self, *, unordered: bool = False) -> ProgramComparison | None:
        """Return how programs are compared; canonical form orders what may be permuted."""
        from genie_dp.languages.thingtalk.comparison import ThingTalkComparison

        return None if unordered else ThingTalkComparison()

    def fills(self, program: Any, library: Any) -> Iterable[tuple[str, str, str]]:
        """Yield what every placeholder of a program fills, in program order."""
        return placeholders.fills(library, program)

    def limits(self, program: str, library: Any) -> Mapping[str, Limits]:
        """Return the bounds of numbers that skills have bounds for (`#[min_number]`)."""
        if library is None:
            return {}
        bounds_of_tokens: dict[str, Limits] = {}
        for token, type_, place in self.fills(self.from_tokens(program), library):
            function, _, name = place.rpartition(":")
            signature = library.signature(function) if type_ == "Number" else None
            parameter = signature.parameter(name) if signature else None
            if parameter is not None and (parameter.least, parameter.most) != (None, None):
                bounds = Limits(parameter.least, parameter.most)
                bounds_of_tokens[token] = bounds_of_tokens.get(token, bounds) & bounds
        return bounds_of_tokens

    # --------------------------------------------------------- what those who act on it take

    def tree(self, program: tt.Program | tt.Policy) -> Any:
        """Return a program as JSON, with all that it says."""
        return structure.tree(program)

    def give_input(
        self, program: Any, missing: base.MissingInput, constant: str, library: Any = None
    ) -> Any:
        """Return a program with a value for an input that it lacks."""
        value: Any = from_tokens.piece_from_tokens(constant, "value")
        signature = library.signature(missing.function) if library is not None else None
        parameter = signature.parameter(missing.name) if signature else None
        if parameter and isinstance(parameter.type, Array):
            value = tt.ArrayValue((value,))
        return structure.give_input(program, missing, value)

    def call(self, function: Signature, constants: Mapping[str, str]) -> Any:
        """Return the command that does an action, or shows what a query gives."""
        types = {parameter.name: parameter.type for parameter in function.parameters}
        inputs = (f"param:{name}:{types[name]} = {text}" for name, text in constants.items())
        notify = () if function.kind == "action" else ("=> notify",)
        return self.from_tokens(" ".join(("now =>", function.qualified, *inputs, *notify)))

    # ------------------------------------------- values that readers find, and names of lists

    def reads_values(self, library: Any) -> bool:
        """Return True: every library has dates and measures."""
        return True

    def written(self, constant: str) -> str:
        """Return it: constants are in the notation of ThingTalk."""
        return constant

    def quotes(self, type_: Type, before: str) -> tuple[str, str]:
        """Return the quotes of a text, with the kind of an entity."""
        return '" ', f' " ^^{type_.kind}' if isinstance(type_, Entity) else ' "'

    # -------------------------------------------------------------------------- decoding

    def grammar_texts(self, program: str, utterance: str = "") -> Iterable[str]:
        """Return the constants of a program that are not copied from its sentence."""
        return forms.constants_of(utterance, program)

    def decoding_grammar(self, library: Any, *, texts: Iterable[str] = ()) -> DecodingGrammar:
        """Return which tokens may follow in programs over a library, in this style.

        Args:
            library: functions and types.
            texts: constants that programs hold without copying them (decoding.constants).

        Raises:
            GenieError: L010 for a style with inputs by position.
        """
        from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar

        return ThingTalkGrammar(library, texts=texts, style=self.style)
