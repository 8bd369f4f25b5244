"""S-expressions behind the protocol of all target languages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.sexpr import canonical as forms
from genie_dp.languages.sexpr import literals, structure
from genie_dp.languages.sexpr import text as texts
from genie_dp.languages.sexpr.ast import Expression, SlotType, name_of, parse_type
from genie_dp.languages.sexpr.declarations import NONE, Declarations, load_declarations
from genie_dp.languages.sexpr.forms import SexprForm
from genie_dp.languages.sexpr.fragment import (
    FragmentState,
    FragmentValue,
    Item,
    compile_body,
    placeholder_value,
)
from genie_dp.languages.sexpr.literals import expression_of
from genie_dp.languages.sexpr.text import from_tokens, is_in_square, tokens
from genie_dp.languages.terms.bodies import Names, rename_all
from genie_dp.languages.text import sort_key
from genie_dp.languages.types import Entity, Type


class SExpressions(base.Language):
    """The language "sexpr"; its library is the Declarations of a file `*.sexpr`, or None."""

    name = "sexpr"
    kinds = frozenset({"program", "value"})
    attributes: Mapping[str, frozenset[str]] = dict.fromkeys(
        kinds, frozenset(field.name for field in fields(FragmentState))
    )

    library_suffix = ".sexpr"
    has_bare_words = True
    sorts_any_part = True
    learns_from_programs = True

    parse = staticmethod(texts.parse)
    check = staticmethod(forms.check)
    canonical = staticmethod(forms.canonical)
    tokens = staticmethod(texts.tokens)
    from_tokens = staticmethod(texts.from_tokens)
    render = staticmethod(texts.render)
    functions = staticmethod(forms.functions)
    anonymize = staticmethod(forms.anonymize)
    parse_type = staticmethod(parse_type)
    fragment = staticmethod(compile_body)
    tree = staticmethod(structure.tree)
    calls = staticmethod(structure.calls)
    schema = staticmethod(structure.schema)
    fill = staticmethod(literals.fill)
    map_names = staticmethod(literals.map_names)
    form = staticmethod(SexprForm)

    def load_declarations(
        self, paths: Sequence[Path], *, skip_broken: bool = False
    ) -> Declarations:
        """Return the declarations of a file; one with mistakes is not read.

        Raises:
            GenieError: R020, there are several; X020 to X026, all its mistakes.
        """
        if len(paths) > 1:
            message = f"expected one file of declarations, got {len(paths)}"
            raise GenieError(Problem("R020", message, hint="put them into one .sexpr file"))
        return load_declarations(paths[0]) if paths else NONE

    def row(self, text: str, library: Any = None) -> FragmentValue:
        """Return the expressions of a row of a table."""
        fragment = compile_body(text, {}, library)
        value: FragmentValue | None = fragment.build({})
        if value is None:
            problems = tuple(fragment.refused) or Problem("X032", f"{text!r} holds a thing twice")
            raise GenieError(problems)
        return value

    def constants(self, type_: SlotType, library: Any = None) -> Iterable[base.Constant]:
        """Yield the placeholder of the type."""
        token = f"{type_.stem}_0"
        yield base.Constant(token, placeholder_value(token), type_.stem)

    def program(self, value: base.Value) -> Expression:
        """Return the syntax tree of a value, or raise GenieError (X051) if it is no single one."""
        assert isinstance(value, FragmentValue)
        if len(value.items) != 1:
            message = f"a Python function takes one expression, got {len(value.items)}"
            hint = "call it on the node that holds them"
            raise GenieError(Problem("X051", f"{message}: {value.text}", hint=hint))
        return from_tokens(value.text)

    def value(
        self, program: Expression, library: Any = None, *, whole: bool = False
    ) -> FragmentValue:
        """Return the value of a tree that a Python semantic function made.

        Raises:
            GenieError: nodes that do not fit their declared signatures.
        """
        if problems := forms.check(program, library, whole=whole):
            raise GenieError(problems)
        return _tree_value(program, library)

    def comparison(self, *, unordered: bool = False) -> ProgramComparison:
        """Return how programs are compared."""
        return forms.SexprComparison(unordered=unordered)

    # ------------------------------------------- values that readers find, and names of lists

    def reads_values(self, library: Any) -> bool:
        """Tell whether a node is declared to hold dates, money and the like, or listed names."""
        return (library or NONE).reads_values

    def written(self, constant: str) -> str:
        """Return the tokens of a literal."""
        return tokens(expression_of(constant))

    def quotes(self, type_: Type, before: str) -> tuple[str, str]:
        """Return quotes, of names with their type; nothing in square brackets: words are bare."""
        if is_in_square(before.split()):
            return "", ""
        if isinstance(type_, Entity):
            return f'#( {name_of(type_)} " ', ' " )'
        return '" ', ' "'

    # -------------------------------------------------------------------------- decoding

    def grammar_texts(self, program: str, utterance: str = "") -> Iterable[str]:
        """Return the program, whose nodes the grammar learns."""
        return (program,)

    def decoding_grammar(self, library: Any, *, texts: Iterable[str] = ()) -> DecodingGrammar:
        """Return which tokens may follow; nodes are those of `texts`, programs in token form.

        Raises:
            GenieError: L011 without any program.
        """
        from genie_dp.languages.sexpr.decoding import SexprGrammar

        return SexprGrammar(library, texts=texts)


def _tree_value(tree: Expression, declarations: Declarations | None) -> FragmentValue:
    tree = forms.canonical(tree, declarations)
    text = tokens(tree)
    functions = tuple(forms.functions(tree, declarations).elements())
    item: Item = (sort_key(text), text, functions, forms.sort_of(tree))

    def remake(names: Names) -> FragmentValue:
        return _tree_value(from_tokens(rename_all(text, names)), declarations)

    return FragmentValue((item,), remake)
