"""ThingTalk behind the protocol of all target languages."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from genie_dp.errors import Problem
from genie_dp.languages import base
from genie_dp.languages.base import DecodingGrammar, ProgramComparison
from genie_dp.languages.bodies import TemplateBodies
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
    values = placeholders.ThingTalkValues()
    structure = structure.ThingTalkStructure()
    form = staticmethod(forms.ThingTalkForm)
    is_function_name = staticmethod(forms.is_function_name)

    def __init__(self, style: TokenStyle = STYLE):
        self.style = style

    @cached_property
    def bodies(self) -> TemplateBodies:
        """Return the compiler of template bodies."""
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
        """Return how programs are compared; canonical form orders parts that may be permuted."""
        from genie_dp.languages.thingtalk.comparison import ThingTalkComparison

        return None if unordered else ThingTalkComparison()

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
