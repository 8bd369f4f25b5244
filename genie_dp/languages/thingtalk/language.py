"""ThingTalk behind the protocol of all target languages."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.decoding import DecodingGrammar
from genie_dp.languages.thingtalk import anonymize, canonical, from_tokens, render, tokens
from genie_dp.languages.thingtalk import parser as texts
from genie_dp.languages.thingtalk.ast import (
    BooleanValue,
    FalseP,
    Lambda,
    Policy,
    Program,
    TrueP,
    Value,
    VarRef,
)
from genie_dp.languages.thingtalk.signatures import Parameter, Signature, Signatures
from genie_dp.languages.thingtalk.tokens import STYLE, TokenStyle
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.thingtalk.types import Type
from genie_dp.languages.thingtalk.values import ATTRIBUTES

if TYPE_CHECKING:
    from genie_dp.languages.thingtalk.lift import Lifter

KINDS = frozenset(
    {"program", "policy", "query", "stream", "action", "predicate", "value", "source"}
)


@lru_cache(maxsize=8192)  # a grammar is checked before it is compiled: each body is read twice
def _body(text: str, holes: tuple[tuple[str, str], ...]) -> Lambda:
    return texts.parse_fragment(text, dict(holes))


class ThingTalk:
    """The language "thingtalk"; its library is any Signatures, such as a skills.Library.

    Attributes:
        style: how programs are written as tokens and read from them.
    """

    name = "thingtalk"
    has_skills = True
    kinds = KINDS
    attributes = ATTRIBUTES

    def __init__(self, style: TokenStyle = STYLE):
        """Keep the style of the token form."""
        self.style = style
        self._lifters: tuple[Signatures, Lifter] | None = None

    def parse(self, text: str, *, file: str = "<program>") -> Program | Policy:
        """Return the program or policy of a text, or raise GenieError."""
        return texts.parse(text, file=file)

    def check(self, program: Any, library: Signatures) -> list[Problem]:
        """Return all type mistakes of a program or of a piece of one."""
        return check(program, library)

    def canonical(
        self, program: Program | Policy, library: Signatures | None = None
    ) -> Program | Policy:
        """Return the one program that stands for all with this meaning (Genie, section 2.4)."""
        return canonical.canonical(program, library)

    def tokens(self, program: Program | Policy, library: Signatures | None = None) -> str:
        """Return the token form; without a library only a style without types can be written."""
        return tokens.tokens(program, library, self.style)

    def from_tokens(
        self, text: str, library: Signatures | None = None, *, places: bool = False
    ) -> Program | Policy:
        """Return the program of a token form; the library is needed for positional arguments."""
        return from_tokens.from_tokens(text, style=self.style, signatures=library, places=places)

    def render(self, program: Program | Policy) -> str:
        """Return the program as people write it."""
        return render.render(program)

    def functions(self, program: Program | Policy) -> Counter[str]:
        """Return how often each function is used, in program order."""
        return anonymize.functions(program)

    def anonymize(self, program: Program | Policy) -> Program | Policy:
        """Return the program with its literal values replaced by placeholders."""
        return anonymize.anonymize(program)

    def parse_type(self, text: str) -> Type:
        """Return the type of that name, or raise GenieError."""
        return texts.parse_type(text)

    # ---------------------------------------------------------------- pieces for synthesis

    def fragment(
        self,
        text: str | Lambda,
        holes: Mapping[str, str],
        library: Signatures | None = None,
        *,
        whole: bool = False,
    ) -> base.Fragment:
        """Compile a template body, text or tree; `holes` maps names of children to kinds.

        A text without holes is type-checked here; what stands around children is when they are
        first met, and trees come from readers that have checked them.
        """
        from genie_dp.languages.thingtalk.bodies import compile_body

        tree = self.body(text, holes) if isinstance(text, str) else text
        if isinstance(text, str) and not holes and library is not None:
            problems = check(tree, library)
            if problems:
                raise GenieError(problems)
        return compile_body(tree, holes, self._lifter(library))

    def row(self, text: str, library: Signatures | None = None) -> base.Value:
        """Return the value of a row of a table; a child of a table stands where values do."""
        tree = self.body(text, {})
        node: Any = tree.body
        if isinstance(node, TrueP | FalseP):
            node = BooleanValue(isinstance(node, TrueP), span=node.span)
        if tree.parameters or not isinstance(node, Value) or isinstance(node, VarRef):
            hint = "a category holds programs: NP := 'my mail' -> @com.gmail.inbox();"
            if isinstance(node, VarRef):
                hint = f'text stands in quotes: "{node.name}"'
            problem = Problem("T029", f"expected a value, got {text!r}", node.span, hint)
            raise GenieError(problem)
        if library is not None and (problems := check(node, library)):
            raise GenieError(problems)
        return cast("base.Value", self._lifter(library).lift(node, {}))

    def body(self, text: str, holes: Mapping[str, str]) -> Lambda:
        """Return the tree of a template body."""
        return _body(text, tuple(holes.items()))

    def constants(self, type_: Type, library: Signatures | None = None) -> Iterable[base.Constant]:
        """Yield the ways to say a constant of a type: one placeholder, or the words of an enum."""
        from genie_dp.languages.thingtalk.constants import constants

        spoken: Any = library if hasattr(library, "enum_phrases") else None
        return constants(type_, spoken)

    def gaps(
        self, fragment: base.Fragment, name: str, library: Signatures | None = None
    ) -> Iterable[base.Value]:
        """Yield open placeholders for a parameter of a body, one for each key that may fill it."""
        from genie_dp.languages.thingtalk.bodies import Body
        from genie_dp.languages.thingtalk.constants import gaps

        if not isinstance(fragment, Body):
            raise TypeError(f"expected a body compiled by this language, got {fragment!r}")
        found: Iterator[Any] = gaps(fragment, name, self._lifter(library))
        return found

    def parameter(self, signature: Signature, parameter: Parameter) -> base.Value:
        """Return the value that stands for a parameter of the library in template bodies."""
        from genie_dp.languages.thingtalk.constants import parameter_value

        return cast("base.Value", parameter_value(signature, parameter))

    def program(self, value: base.Value) -> Any:
        """Return the syntax tree of a value, for Python semantic functions."""
        return from_tokens.piece_from_tokens(value.text, value.kind)

    def value(
        self, program: Any, library: Signatures | None = None, *, whole: bool = False
    ) -> base.Value:
        """Return the value of a syntax tree that a Python semantic function made.

        Raises:
            GenieError: its type mistakes.
        """
        if library is not None and (problems := check(program, library)):
            raise GenieError(problems)
        return cast("base.Value", self._lifter(library).lift(program, {}))

    def decoding_grammar(
        self, library: Signatures, *, texts: Iterable[str] = ()
    ) -> DecodingGrammar:
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
