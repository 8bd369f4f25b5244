"""Reads programs in token form as they are compared."""

from dataclasses import dataclass, field
from typing import Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language
from genie_dp.languages.base import ProgramComparison, ProgramView
from genie_dp.languages.library import Library

_MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """Why a text is no program of the library."""

    kind: Literal["unreadable", "ill-typed"]
    message: str


@dataclass(slots=True)
class Viewer:
    """Reads token forms, checks and views them; the last views are kept.

    Attributes:
        library: that of the language.
        comparison: how programs of the language are compared.
    """

    language: Language
    library: Library | None
    comparison: ProgramComparison
    _kept: dict[str, ProgramView | ProgramFault] = field(default_factory=dict)

    def view(self, text: str) -> ProgramView | ProgramFault:
        """Return the view of a token form, or why there is none.

        >>> viewer = viewer_of("sexpr", None)
        >>> viewer.view("( PIZZA ( SIZE BIG ) )").functions
        ('PIZZA', 'SIZE')
        >>> viewer.view("( PIZZA").kind
        'unreadable'
        """
        view = self._kept.get(text)
        if view is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            view = self._kept[text] = self._read(text)
        return view

    def _read(self, text: str) -> ProgramView | ProgramFault:
        try:
            program = self.language.from_tokens(text)
            problems = self.language.check(program, self.library)
            if wrong := [problem for problem in problems if problem.severity == "error"]:
                return ProgramFault("ill-typed", wrong[0].message)
            canonical = self.language.canonical(program, self.library)
            return self.comparison.view(canonical, self.library)
        except GenieError as error:
            first = error.problems[0]
            kind: Literal["unreadable", "ill-typed"]
            kind = "unreadable" if first.stage == "syntax" else "ill-typed"
            return ProgramFault(kind, first.message)


def viewer_of(language: str, library: Library | None, *, unordered: bool = False) -> Viewer:
    """Return the viewer of a language.

    Args:
        unordered: the order of nodes in a node does not count, whatever their head; only for
            languages such as S-expressions.

    Raises:
        GenieError: programs of this language cannot be compared (V020), or not without their order
            (V021).
    """
    target = get_language(language)
    comparison = target.comparison(unordered=unordered)
    if comparison is None and unordered:
        message = f"--unordered is for S-expressions, the rows are {language}"
        hint = "leave it out: the canonical form orders what may be permuted"
        raise GenieError(Problem("V021", message, hint=hint))
    if comparison is None:
        raise GenieError(Problem("V020", f"cannot compare programs of {language}"))
    return Viewer(target, library, comparison)
