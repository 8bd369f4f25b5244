"""The interface between templates and a target language: compiled bodies, values of children."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from genie_dp.errors import Problem
from genie_dp.languages.library import Library


class Value(Protocol):
    """A piece of a program made in synthesis: canonical text, and attributes that guards can test.

    Attributes:
        kind: one of the language's kinds, such as "query".
        text: the canonical token form of the piece.
        functions: functions used, in program order.
        state: hashable; guards read its attributes (`q.is_list`). Equal states behave
            alike in every template.
        gap: key of the open placeholder that another value may fill, or "".
        slots: for a leaf, the use of each of its placeholders: (token, type, parameter). Values
            made of several children leave it empty, for each child knows its own.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102

    @property
    def text(self) -> str: ...  # noqa: D102

    @property
    def functions(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def state(self) -> Hashable: ...  # noqa: D102

    @property
    def gap(self) -> str: ...  # noqa: D102

    @property
    def slots(self) -> tuple[tuple[str, str, str], ...]: ...  # noqa: D102

    def shift(self, names: Sequence[tuple[str, str]]) -> "Value":
        """Return the piece with placeholders renamed, one after the other."""


class Fragment(Protocol):
    """A template body, compiled: makes the program of a derivation from those of its children.

    Attributes:
        kind: kind of the result.
        parameters: typed placeholders of the lambda, (name, type) in order.
        functions: those that the body names itself, in program order; empty if unknown.
        fills: placeholder -> the function's parameter that its constant fills, where known.
        refused: type mistakes for which `build` returned None -> how often, with places in the
            body. The results of `build` are well-typed whatever the children are.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102

    @property
    def parameters(self) -> tuple[tuple[str, Any], ...]: ...  # noqa: D102

    @property
    def functions(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def fills(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def refused(self) -> Counter[Problem]: ...  # noqa: D102

    @property
    def build(self) -> Callable[[Mapping[str, Any]], Any]:
        """Return the function from children to the result, None where they do not go together."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A way to express a value of a type: the words, the value, and its placeholder, if any.

    `slot` is the placeholder's stem, such as "NUMBER" of NUMBER_0, or "" for fixed words.
    """

    words: str
    value: Value
    slot: str


class TemplateBodies(Protocol):
    """Compiles the bodies of templates.

    A class that inherits from this one defines what its language has; methods with a body are right
    for a language without skills, styles and free order of words.

    Attributes:
        kinds: the kinds that a category of templates may have, such as "query" or "program".
        attributes: kind -> the attributes of its pieces that guards can test, the kinds of the
            built-in categories ("output", "input") included.
        infers_types: whether a placeholder `$x` of a body has the type of the input it fills.
    """

    kinds: frozenset[str]
    attributes: Mapping[str, frozenset[str]]
    infers_types: bool = False

    def compile(
        self,
        text: Any,
        holes: Mapping[str, str],
        library: Library | None = None,
        *,
        whole: bool = False,
        class_name: str = "",
        absent: Collection[str] = (),
    ) -> Fragment:
        """Compile a template body; `holes` maps the names of children to their kinds.

        With `whole` its results are whole programs, where a language distinguishes these from
        parts. Functions of `class_name` may stand without it; only where a language `has_skills`.
        Parts that need one of the `absent` placeholders or children are left out (G034 where they
        cannot be). `text` may also be a body that the language's own parser read from a dataset.

        Raises GenieError with spans relative to `text` (line 1, column 1 is its start).
        """

    def compile_row(self, text: str, library: Library | None = None) -> Value:
        """Return the value of a program text in a row of a table.

        Raises GenieError with spans relative to `text` where it is ill-typed, or cannot stand where
        children of tables do.
        """

    def parse(self, text: str, holes: Mapping[str, str], *, class_name: str = "") -> Any:
        """Return the tree of a template body, for `compile` to take instead of the text.

        None where reading the text again costs nothing.
        """
        return None

    def shorten(
        self, text: str, holes: Mapping[str, str], library: Library, *, class_name: str = ""
    ) -> str:
        """Return a body without what the library implies; as it is if the meaning would change.

        It has no lambda where `infers_types`, and its functions no class that is `class_name`.
        """
        return text

    def parse_type(self, text: str) -> Any:
        """Return the type of that name, or raise GenieError."""

    def constants(self, type_: Any, library: Library | None = None) -> Iterable[Constant]:
        """Yield the ways to express a constant: one placeholder, or the words of an enum."""

    def gaps(
        self, fragment: Fragment, name: str, library: Library | None = None
    ) -> Iterable[Value]:
        """Yield open placeholders for a parameter of a body, one for each key that may fill it."""
        return ()

    def parameter(self, signature: Any, parameter: Any, library: Library) -> Value:
        """Return the value that stands for a parameter of the library in template bodies."""
        raise TypeError("the language has no OUTPUT and no INPUT: use categories or tables")

    def tree(self, value: Value) -> Any:
        """Return the syntax tree of a value, for Python semantic functions."""

    def lift(self, program: Any, library: Library | None = None, *, whole: bool = False) -> Value:
        """Return the value of a syntax tree that a Python semantic function made.

        Raises GenieError (stage type) where it is ill-typed, or no whole program and should be.
        """
