"""What every target language offers; everything downstream uses only this."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.decoding import DecodingGrammar


class Value(Protocol):
    """A piece of a program made in synthesis: canonical text, and what guards may ask of it.

    Attributes:
        kind: one of the language's kinds, such as "query".
        text: the canonical token form of the piece.
        functions: functions used, in program order.
        state: hashable; its attributes are what guards read (`q.is_list`). Equal states behave
            alike in every template.
        gap: key of the open placeholder that another value may fill, or "".
        slots: for a leaf, what each of its placeholders fills: (token, type, parameter). Values
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
        fills: placeholder -> the function's parameter that its constant fills, where known.
        refused: type mistakes for which `build` returned None -> how often, with places in the
            body. What `build` returns is well-typed whatever the children are.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102

    @property
    def parameters(self) -> tuple[tuple[str, Any], ...]: ...  # noqa: D102

    @property
    def fills(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def refused(self) -> Counter[Problem]: ...  # noqa: D102

    @property
    def build(self) -> Callable[[Mapping[str, Any]], Any]:
        """Return the function from children to the result, None where they do not go together."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A way to say a value of a type: the words, the value, and the placeholder it uses, if any.

    `slot` is the placeholder's stem, such as "NUMBER" of NUMBER_0, or "" for fixed words.
    """

    words: str
    value: Value
    slot: str


class Language(Protocol):
    """A target language. Programs are opaque to the caller.

    Attributes:
        name: the name given to `--language`.
        kinds: what a category of templates may stand for, such as "query" or "program".
        has_skills: whether its library is made of folders of skills, else of declarations.
        attributes: kind -> what guards may ask of a piece of that kind, the kinds of the built-in
            categories ("output", "input") included.
    """

    name: str
    has_skills: bool
    kinds: frozenset[str]
    attributes: Mapping[str, frozenset[str]]

    def parse(self, text: str, *, file: str = "<program>") -> Any:
        """Return the program of a text in the surface form, or raise GenieError (stage syntax)."""

    def check(self, program: Any, library: Any) -> list[Problem]:
        """Return all type mistakes of a program; an empty list when it is well-typed."""

    def canonical(self, program: Any, library: Any = None) -> Any:
        """Return the one program that stands for all with this meaning."""

    def tokens(self, program: Any, library: Any = None) -> str:
        """Return the token form: tokens separated by one space."""

    def from_tokens(self, text: str, *, places: bool = False) -> Any:
        """Return the program of a token form, or raise GenieError (stage syntax).

        With `places` mistakes that `check` finds in it have their place in the file "<tokens>".
        """

    def render(self, program: Any) -> str:
        """Return the program as people write it."""

    def functions(self, program: Any) -> Counter[str]:
        """Return how often each function is used, in program order."""

    def anonymize(self, program: Any) -> Any:
        """Return the program with its literal values replaced by placeholders."""

    def fragment(
        self, text: Any, holes: Mapping[str, str], library: Any = None, *, whole: bool = False
    ) -> Fragment:
        """Compile a template body; `holes` maps the names of children to their kinds.

        With `whole` its results are whole programs, where a language tells these from parts.
        `text` may also be a body that the language's own parser read from a dataset.

        Raises GenieError with spans relative to `text` (line 1, column 1 is its start).
        """

    def row(self, text: str, library: Any = None) -> Value:
        """Return the value of a program text in a row of a table.

        Raises GenieError with spans relative to `text` where it is ill-typed, or cannot stand where
        children of tables do.
        """

    def body(self, text: str, holes: Mapping[str, str]) -> Any:
        """Return the tree of a template body, for `fragment` to take instead of the text.

        None where reading the text again costs nothing.
        """

    def parse_type(self, text: str) -> Any:
        """Return the type of that name, or raise GenieError."""

    def constants(self, type_: Any, library: Any = None) -> Iterable[Constant]:
        """Yield the ways to say a constant of a type: one placeholder, or the words of an enum."""

    def gaps(self, fragment: Fragment, name: str, library: Any = None) -> Iterable[Value]:
        """Yield open placeholders for a parameter of a body, one for each key that may fill it."""

    def parameter(self, signature: Any, parameter: Any) -> Value:
        """Return the value that stands for a parameter of the library in template bodies."""

    def program(self, value: Value) -> Any:
        """Return the syntax tree of a value, for Python semantic functions."""

    def value(self, program: Any, library: Any = None, *, whole: bool = False) -> Value:
        """Return the value of a syntax tree that a Python semantic function made.

        Raises GenieError (stage type) where it is ill-typed, or no whole program and should be.
        """

    def decoding_grammar(self, library: Any, *, texts: Iterable[str] = ()) -> DecodingGrammar:
        """Return which tokens may follow in programs over a library.

        `texts` are what programs hold without copying it from the sentence.
        """


_FACTORIES: dict[str, Callable[[], Language]] = {}
_LOADED: dict[str, Language] = {}


def register(name: str, factory: Callable[[], Language]) -> None:
    """Make a language available under a name; the factory runs on first use."""
    _FACTORIES[name] = factory


def get_language(name: str) -> Language:
    """Return the language of that name, or raise GenieError with the nearest names."""
    if name not in _LOADED:
        if name not in _FACTORIES:
            known = ", ".join(sorted(_FACTORIES))
            hint = did_you_mean(name, _FACTORIES) or f"known languages: {known}"
            raise GenieError(Problem("L001", f"unknown language {name!r}", hint=hint))
        _LOADED[name] = _FACTORIES[name]()
    return _LOADED[name]


def language_names() -> tuple[str, ...]:
    """Return the names of all registered languages, sorted."""
    return tuple(sorted(_FACTORIES))
