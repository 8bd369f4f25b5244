"""S-expressions behind the protocol of all target languages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.decoding import DecodingGrammar
from genie_dp.languages.sexpr import canonical as forms
from genie_dp.languages.sexpr.ast import Expression
from genie_dp.languages.sexpr.declarations import NONE, Declarations
from genie_dp.languages.sexpr.fragment import SexprFragment, compile_body
from genie_dp.languages.sexpr.reader import parse
from genie_dp.languages.sexpr.render import from_tokens, render, tokens
from genie_dp.languages.sexpr.types import SlotType, parse_type
from genie_dp.languages.sexpr.values import Item, Names, State, Value, placeholder_value, rename


class SExpressions:
    """The language "sexpr"; its library is the Declarations of a file `*.sexpr`, or None."""

    name = "sexpr"
    has_skills = False
    kinds = frozenset({"program", "value"})
    attributes: Mapping[str, frozenset[str]] = dict.fromkeys(
        kinds, frozenset(field.name for field in fields(State))
    )

    def parse(self, text: str, *, file: str = "<program>") -> Expression:
        """Return the expression of a text, or raise GenieError."""
        return parse(text, file=file)

    def check(self, program: Expression, library: Declarations | None) -> list[Problem]:
        """Return the nodes that do not fit their declared signatures."""
        return forms.check(program, library or NONE)

    def canonical(self, program: Expression, library: Declarations | None = None) -> Expression:
        """Return the program with the items of unordered nodes sorted."""
        return forms.canonical(program, library or NONE)

    def tokens(self, program: Expression, library: Declarations | None = None) -> str:
        """Return brackets, symbols and words separated by one space."""
        return tokens(program)

    def from_tokens(self, text: str, *, places: bool = False) -> Expression:
        """Return the expression of a token form, or raise GenieError."""
        return from_tokens(text, places=places)

    def render(self, program: Expression) -> str:
        """Return the text, in the layout that the program was read in."""
        return render(program)

    def functions(self, program: Expression) -> Counter[str]:
        """Return how often each label is used, in the order of the text."""
        return forms.functions(program)

    def anonymize(self, program: Expression) -> Expression:
        """Return the program with strings and numbers replaced by placeholders."""
        return forms.anonymize(program)

    def fragment(
        self,
        text: str,
        holes: Mapping[str, str],
        library: Declarations | None = None,
        *,
        whole: bool = False,
    ) -> SexprFragment:
        """Compile a template body; a child that is several expressions is spliced in.

        With `whole` its results must be among the declared programs, if any are.
        """
        return compile_body(text, holes, library or NONE, whole=whole)

    def row(self, text: str, library: Declarations | None = None) -> Value:
        """Return the expressions of a row of a table."""
        fragment = compile_body(text, {}, library or NONE)
        found = fragment.build({})
        if found is None:
            problems = tuple(fragment.refused) or Problem("X032", f"{text!r} holds a thing twice")
            raise GenieError(problems)
        return found

    def body(self, text: str, holes: Mapping[str, str]) -> None:
        """Return None: bodies are read faster than trees are kept."""

    def parse_type(self, text: str) -> SlotType:
        """Return the type of that name, or raise GenieError."""
        return parse_type(text)

    def constants(self, type_: SlotType, library: Any = None) -> Iterable[base.Constant]:
        """Yield the placeholder of the type."""
        token = f"{type_.stem}_0"
        yield base.Constant(token, placeholder_value(token), type_.stem)

    def gaps(self, fragment: base.Fragment, name: str, library: Any = None) -> Iterable[Value]:
        """Yield nothing: no function's output is passed to another in an S-expression."""
        return ()

    def parameter(self, signature: Any, parameter: Any) -> Value:
        """Raise TypeError: a library of S-expressions has no parameters with phrases."""
        raise TypeError("S-expressions have no OUTPUT and no INPUT: use categories or tables")

    def program(self, value: base.Value) -> Expression:
        """Return the syntax tree of a value, or raise GenieError (X051) if it is no single one."""
        assert isinstance(value, Value)
        if len(value.items) != 1:
            message = f"a Python function takes one expression, got {len(value.items)}"
            hint = "call it on the node that holds them"
            raise GenieError(Problem("X051", f"{message}: {value.text}", hint=hint))
        return from_tokens(value.text)

    def value(
        self, program: Expression, library: Declarations | None = None, *, whole: bool = False
    ) -> Value:
        """Return the value of a tree that a Python semantic function made.

        Raises:
            GenieError: nodes that do not fit their declared signatures.
        """
        if problems := forms.check(program, library or NONE, whole=whole):
            raise GenieError(problems)
        return _tree_value(program, library or NONE)

    def decoding_grammar(
        self, library: Declarations | None, *, texts: Iterable[str] = ()
    ) -> DecodingGrammar:
        """Return which tokens may follow; nodes are those of `texts`, programs in token form.

        Raises:
            GenieError: L011 without any program.
        """
        from genie_dp.languages.sexpr.decoding import SexprGrammar

        return SexprGrammar(library, texts=texts)


def _tree_value(tree: Expression, declarations: Declarations) -> Value:
    tree = forms.canonical(tree, declarations)
    text = tokens(tree)
    functions = tuple(forms.functions(tree, declarations).elements())
    item: Item = (forms.sort_key(text), text, functions, forms.sort_of(tree))

    def remake(names: Names) -> Value:
        renamed = " ".join([rename(token, names) for token in text.split(" ")])
        return _tree_value(from_tokens(renamed), declarations)

    return Value((item,), remake)
