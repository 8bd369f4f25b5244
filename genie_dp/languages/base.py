"""The protocol of all target languages; everything downstream uses only this.

To decoders, a language offers which tokens may follow a program so far; to evaluation, views of
programs that can be compared.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.bodies import TemplateBodies
from genie_dp.languages.forms import TokenForm
from genie_dp.languages.library import Library, Signature
from genie_dp.languages.limits import Limits
from genie_dp.languages.types import Type


@dataclass(frozen=True, slots=True)
class ProgramView:
    """The parts of a program that are compared. Equal `match` implies that all the rest is equal.

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
class MissingInput:
    """A required input that a program does not give.

    Attributes:
        function: its qualified name.
        name: the parameter.
        type: the type of its values, such as "Date".
        question: the question that asks for it.
        call: of which call of the program it is, from 0.
    """

    function: str
    name: str
    type: str
    question: str
    call: int = 0


class ProgramComparison(Protocol):
    """How programs of one language are compared."""

    def view(self, program: Any, library: Any) -> ProgramView:
        """Return the compared parts of a well-typed program."""


def list_counted(counts: Counter[str]) -> tuple[str, ...]:
    """Return the counted items, sorted, each as often as it was counted.

    >>> list_counted(Counter("banana"))
    ('a', 'a', 'a', 'b', 'n', 'n')
    """
    return tuple(sorted(counts.elements()))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tokens that may come next.

    Attributes:
        fixed: tokens of the language and the library. Equal places of programs have one and the
            same object here, so that a mask made of it can be kept by its identity.
        copied: words and placeholders of the sentence.
        end: whether the program may end here.
    """

    fixed: frozenset[str]
    copied: frozenset[str] = frozenset()
    end: bool = False


class Prefix(Protocol):
    """A well-typed program so far; immutable, so that the hypotheses of a beam may share it."""

    @property
    def is_closing(self) -> bool:
        """Return whether only tokens that lead to an end soon are allowed, or the end itself."""

    @property
    def allowed(self) -> Allowed:
        """Return the next tokens; never none, so that every prefix can be completed."""

    def then(self, token: str) -> "Prefix":
        """Return the prefix with one more token, or raise ValueError if it is not allowed."""

    def closing(self) -> "Prefix":
        """Return the prefix as one that is closing, and so are all that follow it."""


class DecodingGrammar(Protocol):
    """The programs of a language over a library, token by token."""

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""

    def begin(self, sentence: Sequence[str]) -> Prefix:
        """Return the empty prefix for a sentence, whose tokens may be copied."""


class ProgramValues(Protocol):
    """Values of programs, and the placeholders that stand for them.

    Methods with a body are right for a language whose library declares no inputs.
    """

    def reads_values(self, library: Any) -> bool:
        """Return whether programs over a library hold values that are read: dates, money and so on.

        Else sentences are words alone.
        """

    def fill(self, program: Any, values: Mapping[str, tuple[str, str]]) -> Any:
        """Return a program with its placeholders replaced; those without a value stay.

        Args:
            program: as `from_tokens` returns it.
            values: placeholder -> (constant, words that expressed it). The words are put in its
                place inside of free text. A constant may be a span of dates (`text.span_ends`):
                compared, it becomes a condition on both ends; an input that takes one date is left
                open, to be asked for.

        Raises:
            ValueError: a constant that has no form where its placeholder stands.
        """

    def placeholders(self, program: Any) -> tuple[str, ...]:
        """Return the placeholders that a program has, in program order."""

    def map_names(self, program: Any, find: Callable[[str, str], str]) -> Any:
        """Return a program with each name of an entity replaced by `find(kind, words)`."""

    def written(self, constant: str) -> str:
        """Return the token form of a constant that a reader found."""

    def uses(self, program: Any, library: Library | None) -> Iterable[tuple[str, str, str]]:
        """Yield the use of each placeholder, (placeholder, type, function:parameter), if known."""
        return ()

    def limits(self, program: str, library: Library | None) -> Mapping[str, Limits]:
        """Return placeholder -> the limits of its values, for those that a library restricts.

        Args:
            program: in token form.
        """
        return {}

    def quotes(self, type_: Type, before: str) -> tuple[str, str]:
        """Return the tokens before and after the words of a value; `before` is the program so far.

        The types are those that placeholders stand for (`types.slot_type`).
        """

    def anonymize(self, program: Any) -> Any:
        """Return the program with its literal values replaced by placeholders."""


class ProgramStructure(Protocol):
    """Programs as those who act on them take them: JSON, calls, and inputs that are missing.

    Methods with a body are right for a language whose library declares no inputs.
    """

    def tree(self, program: Any, /) -> Any:
        """Return a program as JSON, complete."""

    def calls(self, program: Any) -> list[dict[str, Any]] | None:
        """Return the calls, `{name, arguments}`, that a program is; None where it is more.

        Each has the number of its `step` where some wait for the results of others.
        """

    def missing_inputs(self, program: Any, library: Any) -> tuple[MissingInput, ...]:
        """Return the required inputs that a program does not give, and those that are `$?`."""
        return ()

    def give_input(
        self, program: Any, missing: MissingInput, constant: str, library: Any = None
    ) -> Any:
        """Return a program with a value for an input that it lacks.

        An input that takes a list takes one of this value alone.

        Args:
            constant: as in `forms.Literal`, or "enum:NAME" of a listed value, "true", "false".
        """
        raise TypeError("a program of this language lacks no input")

    def call(self, function: Signature, constants: Mapping[str, str]) -> Any:
        """Return the program that calls one function; None in a language without calls.

        Args:
            function: of the library.
            constants: input -> its value: a placeholder, or "enum:NAME" of a listed value.
        """
        return None

    def cut_input(self, program: Any, words: str) -> Any:
        """Return a program without the input that has a value; None where there is not one such.

        Args:
            program: one call, or there is nothing to cut.
            words: the value: a placeholder, the words of a text or name, or a listed value.
        """
        return None

    def schema(self, library: Any) -> dict[str, Any]:
        """Return the JSON Schema of trees and calls over a library."""


class Language(Protocol):
    """A target language. Programs are opaque to the caller.

    A language is a folder: its class has all that other parts of the package need to know of it,
    and none of them asks for its name. A class that inherits from this one defines what its
    language has; methods with a body are right for a language without skills, styles and free order
    of words, whose library declares no inputs.

    Attributes:
        name: the name given to `--language`.
        has_skills: whether its library is made of folders of skills, else of declarations. With
            skills, programs can be run on tables of rows, and be described in words of our own.
        library_suffix: how a file of declarations is called, such as ".sexpr"; "" with skills.
        has_bare_words: whether words of a sentence may stand in a program without quotes.
        sorts_any_part: whether any parts may be sorted by their values in the canonical form.
        learns_from_programs: whether `grammar_texts` are whole programs, else constants.
        sequence: separator between the token forms of programs that make one; "" if there is none.
        traits: the possible `TokenForm.traits`.
        values: fills, reads and replaces values of programs.
        structure: returns programs as data.
    """

    name: str
    has_skills: bool = False
    library_suffix: str = ""
    has_bare_words: bool = False
    sorts_any_part: bool = False
    learns_from_programs: bool = False
    sequence: str = ""
    traits: frozenset[str] = frozenset()

    values: ProgramValues
    structure: ProgramStructure

    @property
    def bodies(self) -> TemplateBodies:
        """Return the compiler of template bodies."""

    def load_declarations(self, paths: Sequence[Path], *, skip_broken: bool = False) -> Library:
        """Return the library of files of declarations; that of none where there are no paths.

        Only for languages without skills. With `skip_broken` parts with mistakes are left out where
        a language can do so; `skipped` of the library names them. Raises GenieError.
        """

    def in_style(self, *, types: bool, keywords: bool, canonical: bool) -> "Language | None":
        """Return the language with another token form; None where it has one only."""
        return None

    def parse(self, text: str, *, file: str = "<program>") -> Any:
        """Return the program of a text in the surface form, or raise GenieError (stage syntax)."""

    def check(self, program: Any, library: Library | None) -> list[Problem]:
        """Return all type mistakes of a program; an empty list when it is well-typed."""

    def canonical(self, program: Any, library: Library | None = None) -> Any:
        """Return the one program that stands for all with this meaning."""

    def tokens(self, program: Any, library: Library | None = None) -> str:
        """Return the token form: tokens separated by one space."""

    def from_tokens(
        self, text: str, library: Library | None = None, *, places: bool = False
    ) -> Any:
        """Return the program of a token form, or raise GenieError (stage syntax).

        With `places` mistakes that `check` finds in it have their place in the file "<tokens>". The
        library is needed where a style leaves out types or keywords.
        """

    def render(self, program: Any) -> str:
        """Return the program as people write it."""

    def form(self, text: str) -> TokenForm:
        """Return a program in token form, to be asked for its parts without parsing it."""

    def functions(self, program: Any) -> Counter[str]:
        """Return how often each function is used, in program order."""

    def comparison(self, *, unordered: bool = False) -> ProgramComparison | None:
        """Return how programs are compared; None where they cannot be.

        With `unordered` the order of parts does not count; None where it always does.
        """
        return None

    def is_function_name(self, text: str) -> bool:
        """Return whether a function of the language may have that name."""
        return " " not in text

    def grammar_texts(self, program: str, utterance: str = "") -> Iterable[str]:
        """Return the texts that `decoding_grammar` needs to allow a program in token form.

        The words of `utterance` can be copied and need not be known.
        """

    def decoding_grammar(
        self, library: Library | None, *, texts: Iterable[str] = ()
    ) -> DecodingGrammar:
        """Return which tokens may follow in programs over a library.

        `texts` are constants, or programs, that sentences do not contain.
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
            names = ", ".join(sorted(_FACTORIES))
            hint = did_you_mean(name, _FACTORIES) or f"known languages: {names}"
            raise GenieError(Problem("L001", f"unknown language {name!r}", hint=hint))
        _LOADED[name] = _FACTORIES[name]()
    return _LOADED[name]


def language_of_files(paths: Iterable[Path]) -> str | None:
    """Return the language whose declarations are in such files; None for folders of skills."""
    suffixes = {path.suffix for path in paths} - {""}
    for name in sorted(_FACTORIES) if suffixes else ():
        if get_language(name).library_suffix in suffixes:
            return name
    return None


def language_names() -> tuple[str, ...]:
    """Return the names of all registered languages, sorted."""
    return tuple(sorted(_FACTORIES))
