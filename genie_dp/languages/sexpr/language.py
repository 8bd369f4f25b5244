"""S-expressions behind the protocol of all target languages."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.sexpr import canonical as forms
from genie_dp.languages.sexpr import literals, structure
from genie_dp.languages.sexpr import text as texts
from genie_dp.languages.sexpr.ast import name_of
from genie_dp.languages.sexpr.declarations import NONE, Declarations, load_declarations
from genie_dp.languages.sexpr.forms import SexprForm
from genie_dp.languages.sexpr.fragment import SexprBodies
from genie_dp.languages.sexpr.literals import expression_of
from genie_dp.languages.sexpr.text import is_in_square, tokens
from genie_dp.languages.types import Entity, Type


class SExpressions(base.Language):
    """The language "sexpr"; its library is the Declarations of a file `*.sexpr`, or None."""

    name = "sexpr"
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
    bodies: TemplateBodies = SexprBodies()
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
