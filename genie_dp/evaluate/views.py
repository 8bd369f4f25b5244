"""Programs as they are compared: canonical text, shape without values, functions, parameters."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import Language, get_language

_MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class View:
    """What of a program is compared. Equal `match` implies that all the rest is equal.

    Attributes:
        match: one text for all programs of one meaning.
        shape: the same without the values; parts whose order depends on values are sorted again.
        functions: sorted, each as often as it is used.
        devices: those of the functions, sorted; the functions themselves in other languages.
        parameters: names of parameters, sorted, each as often as it is used.
        operators: parameters with their operators, and negations, sorted.
    """

    match: str
    shape: str
    functions: tuple[str, ...]
    devices: tuple[str, ...]
    parameters: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is no program of the library."""

    kind: Literal["unreadable", "ill-typed"]
    message: str


class Comparison(Protocol):
    """How programs of one language are compared."""

    def view(self, program: Any, library: Any) -> View:
        """Return what is compared of a well-typed program."""


@dataclass(slots=True)
class Viewer:
    """Reads token forms, checks and views them; the last views are kept.

    Attributes:
        library: that of the language: a skills.Library, Declarations, or None.
        comparison: how programs of the language are compared.
    """

    language: Language
    library: Any
    comparison: Comparison
    _kept: dict[str, View | Fault] = field(default_factory=dict)

    def view(self, text: str) -> View | Fault:
        """Return the view of a token form, or why there is none.

        >>> viewer = viewer_of("sexpr", None)
        >>> viewer.view("( PIZZA ( SIZE BIG ) )").functions
        ('PIZZA', 'SIZE')
        >>> viewer.view("( PIZZA").kind
        'unreadable'
        """
        found = self._kept.get(text)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[text] = self._read(text)
        return found

    def _read(self, text: str) -> View | Fault:
        try:
            program = self.language.from_tokens(text)
            problems = self.language.check(program, self.library)
            if wrong := [one for one in problems if one.severity == "error"]:
                return Fault("ill-typed", wrong[0].message)
            canonical = self.language.canonical(program, self.library)
            return self.comparison.view(canonical, self.library)
        except GenieError as error:
            first = error.problems[0]
            kind: Literal["unreadable", "ill-typed"]
            kind = "unreadable" if first.stage == "syntax" else "ill-typed"
            return Fault(kind, first.message)


def viewer_of(language: str, library: Any, *, unordered: bool = False) -> Viewer:
    """Return the viewer of a language.

    Args:
        unordered: the order of nodes in a node is of no account, whatever their head; only for
            S-expressions.

    Raises:
        GenieError: programs of this language cannot be compared (V020), or not without their order
            (V021).
    """
    from genie_dp.evaluate.views_sexpr import SexprComparison
    from genie_dp.evaluate.views_thingtalk import ThingTalkComparison

    if unordered and language != "sexpr":
        message = f"--unordered is for S-expressions, the rows are {language}"
        hint = "leave it out: the canonical form orders what may be permuted"
        raise GenieError(Problem("V021", message, hint=hint))
    known: Mapping[str, Comparison] = {
        "thingtalk": ThingTalkComparison(),
        "sexpr": SexprComparison(unordered=unordered),
    }
    found = get_language(language)
    if language not in known:
        hint = f"evaluated are {', '.join(known)}"
        raise GenieError(Problem("V020", f"cannot compare programs of {language}", hint=hint))
    return Viewer(found, library, known[language])


def repeated(counts: Counter[str]) -> tuple[str, ...]:
    """Return what was counted, sorted, each as often as it was counted.

    >>> repeated(Counter("banana"))
    ('a', 'a', 'a', 'b', 'n', 'n')
    """
    return tuple(sorted(counts.elements()))
