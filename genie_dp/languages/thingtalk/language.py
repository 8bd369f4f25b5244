"""ThingTalk behind the protocol of all target languages."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.library import Parameter, Signature, Signatures
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
from genie_dp.languages.thingtalk.parameters import short_body, with_types, without
from genie_dp.languages.thingtalk.tokens import STYLE, TokenStyle
from genie_dp.languages.thingtalk.typecheck import check, unknown_units
from genie_dp.languages.thingtalk.values import ATTRIBUTES
from genie_dp.languages.types import Array, Entity, Type
from genie_dp.languages.units import SHIPPED

if TYPE_CHECKING:
    from genie_dp.languages.thingtalk.lift import Lifter

KINDS = frozenset(
    {"program", "policy", "query", "stream", "action", "predicate", "value", "source"}
)


@lru_cache(maxsize=8192)  # a grammar is checked before it is compiled: each body is read twice
def _body(text: str, holes: tuple[tuple[str, str], ...], class_name: str) -> tt.Lambda:
    return texts.parse_fragment(text, dict(holes), class_name=class_name)


class ThingTalk(base.Language):
    """The language "thingtalk"; its library is any Signatures, such as a skills.Library.

    Attributes:
        style: how programs are written as tokens and read from them.
    """

    name = "thingtalk"
    kinds = KINDS
    attributes = ATTRIBUTES
    has_skills = True
    sequence = " ; "
    infers_types = True
    traits = forms.TRAITS

    parse = staticmethod(texts.parse)
    parse_type = staticmethod(texts.parse_type)
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
        self._lifters: tuple[Signatures, Lifter] | None = None

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

    def short_body(
        self, text: str, holes: Mapping[str, str], library: Any, *, class_name: str = ""
    ) -> str:
        """Return a body without its lambda, where types follow, and the class of its functions."""
        return short_body(text, holes, library, class_name)

    def tokens(self, program: tt.Program | tt.Policy, library: Any = None) -> str:
        """Return the token form; without a library only a style without types can be written."""
        return tokens.tokens(program, library, self.style)

    def from_tokens(
        self, text: str, library: Any = None, *, places: bool = False
    ) -> tt.Program | tt.Policy:
        """Return the program of a token form; the library is needed for positional arguments."""
        return from_tokens.from_tokens(text, style=self.style, signatures=library, places=places)

    # ---------------------------------------------------------------- pieces for synthesis

    def fragment(
        self,
        text: str | tt.Lambda,
        holes: Mapping[str, str],
        library: Any = None,
        *,
        whole: bool = False,
        class_name: str = "",
        absent: Collection[str] = (),
    ) -> base.Fragment:
        """Compile a template body, text or tree; `holes` maps names of children to kinds.

        A text without holes is type-checked here; what stands around children is when they are
        first met, but for its units. Trees come from readers that have checked them.
        """
        from genie_dp.languages.thingtalk.bodies import compile_body

        tree = self.body(text, holes, class_name=class_name) if isinstance(text, str) else text
        lifter = self._lifter(library)
        untyped: list[Problem] = []
        if tree.untyped:
            tree, untyped = with_types(tree, lifter.library)
        problems: list[Problem] = []
        if isinstance(text, str) and library is not None:
            problems = unknown_units(tree, library) if holes else check(tree, library)
        if problems or untyped:
            # What follows from another mistake is no second one.
            reported = [p for p in untyped if p.code != "G031" or not problems]
            places = {p.span for p in reported}
            raise GenieError([*(p for p in problems if p.span not in places), *reported])
        if absent:
            tree = without(tree, absent, lifter.library, holes)
            holes = {name: kind for name, kind in holes.items() if name not in absent}
        return compile_body(tree, holes, lifter)

    def row(self, text: str, library: Any = None) -> base.Value:
        """Return the value of a row of a table; a child of a table stands where values do."""
        tree = self.body(text, {})
        node: Any = tree.body
        if isinstance(node, tt.TrueP | tt.FalseP):
            node = tt.BooleanValue(isinstance(node, tt.TrueP), span=node.span)
        if tree.parameters or not isinstance(node, tt.Value) or isinstance(node, tt.VarRef):
            hint = "a category holds programs: NP := 'my mail' -> @com.gmail.inbox();"
            if isinstance(node, tt.VarRef):
                hint = f'text stands in quotes: "{node.name}"'
            problem = Problem("T029", f"expected a value, got {text!r}", node.span, hint)
            raise GenieError(problem)
        if library is not None and (problems := check(node, library)):
            raise GenieError(problems)
        return cast("base.Value", self._lifter(library).lift(node, {}))

    def body(self, text: str, holes: Mapping[str, str], *, class_name: str = "") -> tt.Lambda:
        """Return the tree of a template body."""
        return _body(text, tuple(holes.items()), class_name)

    def constants(self, type_: Type, library: Any = None) -> Iterable[base.Constant]:
        """Yield the ways to say a constant of a type: one placeholder, or the words of an enum."""
        from genie_dp.languages.thingtalk.constants import constants

        spoken: Any = library if hasattr(library, "enum_phrases") else None
        return constants(type_, spoken, SHIPPED if library is None else library.units)

    def gaps(self, fragment: base.Fragment, name: str, library: Any = None) -> Iterable[base.Value]:
        """Yield open placeholders for a parameter of a body, one for each key that may fill it."""
        from genie_dp.languages.thingtalk.bodies import Body
        from genie_dp.languages.thingtalk.constants import gaps

        if not isinstance(fragment, Body):
            raise TypeError(f"expected a body compiled by this language, got {fragment!r}")
        values: Iterator[Any] = gaps(fragment, name, self._lifter(library))
        return values

    def parameter(self, signature: Signature, parameter: Parameter, library: Any) -> base.Value:
        """Return the value that stands for a parameter of the library in template bodies."""
        from genie_dp.languages.thingtalk.constants import parameter_value

        return cast("base.Value", parameter_value(signature, parameter, library.units))

    def program(self, value: base.Value) -> Any:
        """Return the syntax tree of a value, for Python semantic functions."""
        return from_tokens.piece_from_tokens(value.text, value.kind)

    def value(self, program: Any, library: Any = None, *, whole: bool = False) -> base.Value:
        """Return the value of a syntax tree that a Python semantic function made.

        Raises:
            GenieError: its type mistakes.
        """
        if library is not None and (problems := check(program, library)):
            raise GenieError(problems)
        return cast("base.Value", self._lifter(library).lift(program, {}))

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

    def _lifter(self, library: Signatures | None) -> "Lifter":
        from genie_dp.languages.thingtalk.lift import Lifter

        if library is None:
            message = "expected a skill library to compile a template body, got none"
            raise GenieError(Problem("T040", message, hint="name one with --skills"))
        if self._lifters is None or self._lifters[0] is not library:
            self._lifters = (library, Lifter(library))
        return self._lifters[1]
