"""S-expressions behind the protocol of all target languages."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.sexpr import canonical as forms
from genie_dp.languages.sexpr import text as texts
from genie_dp.languages.sexpr.declarations import NONE, Declarations, load_declarations
from genie_dp.languages.sexpr.forms import SexprForm
from genie_dp.languages.sexpr.fragment import SexprBodies
from genie_dp.languages.sexpr.placeholders import SexprValues
from genie_dp.languages.sexpr.structure import SexprStructure


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
    bodies: TemplateBodies = SexprBodies()
    values = SexprValues()
    structure = SexprStructure()
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
