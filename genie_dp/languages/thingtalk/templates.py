"""Bodies of templates in ThingTalk, phrases of constants, and placeholders left open."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, cast

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import types as ty
from genie_dp.languages.bodies import Constant, Fragment, TemplateBodies, Value
from genie_dp.languages.library import Parameter, Signature, Signatures
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.bodies import Body, compile_body
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.lift import Lifter, passing_key
from genie_dp.languages.thingtalk.parameters import short_body, with_types, without
from genie_dp.languages.thingtalk.parser import parse_fragment, parse_type
from genie_dp.languages.thingtalk.traverse import qualify, walk
from genie_dp.languages.thingtalk.typecheck import check, unknown_units
from genie_dp.languages.thingtalk.values import (
    ATTRIBUTES,
    ConstantState,
    ConstantValue,
    GapValue,
    ParameterState,
    ParameterValue,
)
from genie_dp.languages.units import SHIPPED, Units


class EnumPhrases(Protocol):
    """A library with phrases of the values of enums, such as skills.Library."""

    def functions(self) -> Iterable[Signature]:
        """Return all callable functions."""

    def enum_phrases(self, qualified: str, parameter: str, value: str) -> tuple[str, ...]:
        """Return the phrases of a value of a parameter's enum, the usual one first."""


class ThingTalkBodies(TemplateBodies):
    """Compiles bodies of templates over one library at a time."""

    kinds = frozenset(
        {"program", "policy", "query", "stream", "action", "predicate", "value", "source"}
    )
    attributes = ATTRIBUTES
    infers_types = True

    parse_type = staticmethod(parse_type)

    def __init__(self) -> None:
        self._lifters: tuple[Signatures, Lifter] | None = None

    def compile(
        self,
        text: str | ast.Lambda,
        holes: Mapping[str, str],
        library: Any = None,
        *,
        whole: bool = False,
        class_name: str = "",
        absent: Collection[str] = (),
    ) -> Fragment:
        """Compile a template body, text or tree; `holes` maps names of children to kinds.

        A text without holes is type-checked here; the parts around children when they are
        first met, but for its units. Trees come from readers that have checked them.
        """
        tree = self.parse(text, holes, class_name=class_name) if isinstance(text, str) else text
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

    def compile_row(self, text: str, library: Any = None) -> Value:
        """Return the value of a row of a table; a child of a table stands where values do."""
        tree = self.parse(text, {})
        node: Any = tree.body
        if isinstance(node, ast.TrueP | ast.FalseP):
            node = ast.BooleanValue(isinstance(node, ast.TrueP), span=node.span)
        if tree.parameters or not isinstance(node, ast.Value) or isinstance(node, ast.VarRef):
            hint = "a category holds programs: NP := 'my mail' -> @com.gmail.inbox();"
            if isinstance(node, ast.VarRef):
                hint = f'text stands in quotes: "{node.name}"'
            problem = Problem("T029", f"expected a value, got {text!r}", node.span, hint)
            raise GenieError(problem)
        return self.lift(node, library)

    def parse(self, text: str, holes: Mapping[str, str], *, class_name: str = "") -> ast.Lambda:
        """Return the tree of a template body."""
        return _parse(text, tuple(holes.items()), class_name)

    def shorten(
        self, text: str, holes: Mapping[str, str], library: Any, *, class_name: str = ""
    ) -> str:
        """Return a body without its lambda, where types follow, and the class of its functions."""
        return short_body(text, holes, library, class_name)

    def constants(self, type_: ty.Type, library: Any = None) -> Iterator[Constant]:
        """Yield the ways to express a constant of a type: a placeholder, or the words of an enum.

        >>> bodies = ThingTalkBodies()
        >>> [c.words for c in bodies.constants(ty.Enum(("on", "turned_off")))]
        ['on', 'turned off']
        >>> [c.words for c in bodies.constants(ty.NUMBER)]
        ['NUMBER_0']
        """
        units = SHIPPED if library is None else library.units
        state = ConstantState(str(type_), passing_key(Parameter("", "out", type_), units))
        if isinstance(type_, ty.Enum):
            spoken: EnumPhrases | None = library if hasattr(library, "enum_phrases") else None
            places = _places(type_, spoken)
            for name in type_.values:
                value = ConstantValue(f"enum:{name}", state, ast.EnumValue(name))
                for words in _speak_enum(name, places, spoken):
                    yield Constant(words, value, "")
            return
        stem = ty.slot_stem(type_, units)
        if stem is not None:
            token = f"{stem}_0"
            yield Constant(token, ConstantValue(token, state, ast.SlotValue(token)), stem)

    def gaps(self, fragment: Fragment, name: str, library: Any = None) -> Iterator[Value]:
        """Yield the gaps for a placeholder: one for each key of the input it fills.

        Only an input of the body's own call can be passed; a value inside of a filter cannot.
        """
        if not isinstance(fragment, Body):
            raise TypeError(f"expected a body compiled by this language, got {fragment!r}")
        node = fragment.node
        places = [(call, arg) for call in _calls(node) for arg in call.args if _is(arg.value, name)]
        if (
            fragment.kind not in ("query", "action")
            or len(places) != 1
            or sum(_is(part, name) for part in walk(node)) != 1
            or not isinstance(node, ast.Call | ast.Filter)
        ):
            return
        lifter = self._lifter(library)
        call, arg = places[0]
        parameter = lifter.signature(qualify(call), call).parameter(arg.name)
        if parameter is not None:
            yield from (cast("Value", GapValue(key)) for key in lifter.gap_keys(parameter))

    def parameter(self, signature: Signature, parameter: Parameter, library: Any) -> Value:
        """Return the value that stands for a parameter of the library in template bodies."""
        return cast("Value", parameter_value(signature, parameter, library.units))

    def tree(self, value: Value) -> Any:
        """Return the syntax tree of a value, for Python semantic functions."""
        return piece_from_tokens(value.text, value.kind)

    def lift(self, program: Any, library: Any = None, *, whole: bool = False) -> Value:
        """Return the value of a syntax tree that a Python semantic function made.

        Raises:
            GenieError: its type mistakes.
        """
        if library is not None and (problems := check(program, library)):
            raise GenieError(problems)
        return cast("Value", self._lifter(library).lift(program, {}))

    def _lifter(self, library: Signatures | None) -> Lifter:
        if library is None:
            message = "expected a skill library to compile a template body, got none"
            raise GenieError(Problem("T040", message, hint="name one with --skills"))
        if self._lifters is None or self._lifters[0] is not library:
            self._lifters = (library, Lifter(library))
        return self._lifters[1]


@lru_cache(maxsize=8192)  # a grammar is checked before it is compiled: each body is read twice
def _parse(text: str, holes: tuple[tuple[str, str], ...], class_name: str) -> ast.Lambda:
    return parse_fragment(text, dict(holes), class_name=class_name)


def _places(type_: ty.Enum, library: EnumPhrases | None) -> list[tuple[str, str]]:
    """Return every parameter that has the type, as (function, name)."""
    if library is None:
        return []
    return [
        (signature.qualified, parameter.name)
        for signature in library.functions()
        for parameter in signature.parameters
        if parameter.type == type_
    ]


def _speak_enum(
    name: str, places: Sequence[tuple[str, str]], library: EnumPhrases | None
) -> tuple[str, ...]:
    """Return the phrases of an enum value: those of every parameter that has the type."""
    if library is None:
        return (name.replace("_", " "),)
    phrases = {
        words: None
        for function, parameter in places
        for words in library.enum_phrases(function, parameter, name)
    }
    return tuple(phrases) or (name.replace("_", " "),)


def _is(value: object, name: str) -> bool:
    return isinstance(value, ast.VarRef) and value.name == name


def _calls(node: object) -> Iterator[ast.Call]:
    match node:
        case ast.Call():
            yield node
        case ast.Filter(query):
            yield from _calls(query)
        case _:
            return


def _is_extensive(type_: ty.Type, units: Units) -> bool:
    """Return whether totals of such values make sense by nature: sizes, durations, money."""
    if isinstance(type_, ty.Measure):
        return units.base(type_.unit) in ("byte", "ms", "kcal")
    return type_ == ty.CURRENCY


def parameter_value(
    signature: Signature, parameter: Parameter, units: Units = SHIPPED
) -> ParameterValue:
    """Return the piece that stands for a parameter in template bodies."""
    type_ = parameter.type
    element = type_.element if isinstance(type_, ty.Array) else None
    is_numeric = ty.is_number(type_)
    is_date = type_ in (ty.DATE, ty.TIME)
    state = ParameterState(
        function=signature.qualified,
        name=parameter.name,
        type=str(type_),
        element="" if element is None else str(element),
        key=passing_key(parameter, units),
        is_numeric=is_numeric,
        is_ordered=is_numeric or is_date,
        is_text=type_ == ty.STRING,
        is_boolean=type_ == ty.BOOLEAN,
        is_enum=isinstance(type_, ty.Enum),
        is_entity=isinstance(type_, ty.Entity),
        is_additive=(
            _is_extensive(type_, units) if parameter.is_additive is None else parameter.is_additive
        ),
        is_unique=parameter.unique,
    )
    return ParameterValue(signature, parameter.name, f"param:{parameter.name}:{type_}", state)
