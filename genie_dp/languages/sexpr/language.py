"""S-expressions behind the protocol of all target languages."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import base
from genie_dp.languages.base import MARKS, DecodingGrammar, ProgramComparison
from genie_dp.languages.limits import Limits
from genie_dp.languages.sexpr import canonical as forms
from genie_dp.languages.sexpr import literals, structure
from genie_dp.languages.sexpr.ast import Expression, SlotType, name_of, parse_type, placeholder_type
from genie_dp.languages.sexpr.declarations import NONE, Declarations, load_declarations
from genie_dp.languages.sexpr.fragment import (
    FragmentState,
    FragmentValue,
    Item,
    Names,
    SexprFragment,
    compile_body,
    placeholder_value,
    rename,
)
from genie_dp.languages.sexpr.text import from_tokens, is_in_square, parse, parts_in, render, tokens
from genie_dp.languages.text import sort_key
from genie_dp.languages.types import Entity, Type


class SExpressions:
    """The language "sexpr"; its library is the Declarations of a file `*.sexpr`, or None."""

    name = "sexpr"
    kinds = frozenset({"program", "value"})
    attributes: Mapping[str, frozenset[str]] = dict.fromkeys(
        kinds, frozenset(field.name for field in fields(FragmentState))
    )

    has_skills = False
    library_suffix = ".sexpr"
    has_bare_words = True
    can_ignore_order = True
    sorts_any_part = True
    learns_from_programs = True
    can_simulate = False
    says_parts = False
    sequence = ""
    infers_types = False
    traits: frozenset[str] = frozenset()

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

    def in_style(self, *, types: bool, keywords: bool, canonical: bool) -> None:
        """Return None: there is one token form."""

    def parse(self, text: str, *, file: str = "<program>") -> Expression:
        """Return the expression of a text, or raise GenieError."""
        return parse(text, file=file)

    def check(self, program: Expression, library: Any) -> list[Problem]:
        """Return the nodes that do not fit their declared signatures."""
        return forms.check(program, library or NONE)

    def canonical(self, program: Expression, library: Any = None) -> Expression:
        """Return the program with the items of unordered nodes sorted."""
        return forms.canonical(program, library or NONE)

    def tokens(self, program: Expression, library: Any = None) -> str:
        """Return brackets, symbols and words separated by one space."""
        return tokens(program)

    def from_tokens(self, text: str, library: Any = None, *, places: bool = False) -> Expression:
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
        library: Any = None,
        *,
        whole: bool = False,
        class_name: str = "",
        absent: Collection[str] = (),
    ) -> SexprFragment:
        """Compile a template body; a child that is several expressions is spliced in.

        With `whole` its results must be among the declared programs, if any are. `absent` names are
        left out, and nodes that hold nothing else.
        """
        return compile_body(text, holes, library or NONE, whole=whole, absent=absent)

    def row(self, text: str, library: Any = None) -> FragmentValue:
        """Return the expressions of a row of a table."""
        fragment = compile_body(text, {}, library or NONE)
        value = fragment.build({})
        if value is None:
            problems = tuple(fragment.refused) or Problem("X032", f"{text!r} holds a thing twice")
            raise GenieError(problems)
        return value

    def body(self, text: str, holes: Mapping[str, str], *, class_name: str = "") -> None:
        """Return None: bodies are read faster than trees are kept."""

    def short_body(
        self, text: str, holes: Mapping[str, str], library: Any, *, class_name: str = ""
    ) -> str:
        """Return it: a library has no types of what stands in a node."""
        return text

    def parse_type(self, text: str) -> SlotType:
        """Return the type of that name, or raise GenieError."""
        return parse_type(text)

    def constants(self, type_: SlotType, library: Any = None) -> Iterable[base.Constant]:
        """Yield the placeholder of the type."""
        token = f"{type_.stem}_0"
        yield base.Constant(token, placeholder_value(token), type_.stem)

    def gaps(
        self, fragment: base.Fragment, name: str, library: Any = None
    ) -> Iterable[FragmentValue]:
        """Yield nothing: no function's output is passed to another in an S-expression."""
        return ()

    def parameter(self, signature: Any, parameter: Any, library: Any) -> FragmentValue:
        """Raise TypeError: a library of S-expressions has no parameters with phrases."""
        raise TypeError("S-expressions have no OUTPUT and no INPUT: use categories or tables")

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
        if problems := forms.check(program, library or NONE, whole=whole):
            raise GenieError(problems)
        return _tree_value(program, library or NONE)

    def comparison(self, *, unordered: bool = False) -> ProgramComparison:
        """Return how programs are compared."""
        from genie_dp.languages.sexpr.canonical import SexprComparison

        return SexprComparison(unordered=unordered)

    def fills(self, program: Any, library: Any) -> Iterable[tuple[str, str, str]]:
        """Yield nothing: nodes have no parameters with types."""
        return ()

    def limits(self, program: str, library: Any) -> Mapping[str, Limits]:
        """Return nothing: declarations restrict no values."""
        return {}

    # --------------------------------------------------------- what those who act on it take

    def tree(self, program: Expression) -> Any:
        """Return an expression as JSON, with all that is in it."""
        return structure.tree(program)

    def calls(self, program: Expression) -> list[dict[str, Any]] | None:
        """Return an expression as a call; None where its items are no names with plain values."""
        return structure.calls(program)

    def missing_inputs(self, program: Expression, library: Any) -> tuple[base.MissingInput, ...]:
        """Return nothing: `check` refuses a node without what it must hold."""
        return ()

    def give_input(
        self, program: Any, missing: base.MissingInput, constant: str, library: Any = None
    ) -> NoReturn:
        """Raise TypeError: nothing is missing."""
        raise TypeError("an S-expression lacks no input")

    def call(self, function: Any, constants: Mapping[str, str]) -> None:
        """Return None: nodes have no inputs."""
        return

    def cut_input(self, program: Any, words: str) -> None:
        """Return None: nodes have no inputs."""

    def schema(self, library: Any) -> dict[str, Any]:
        """Return the JSON Schema of trees and calls, with the labels that are declared."""
        return structure.schema(library or NONE)

    # ------------------------------------------- values that readers find, and names of lists

    def reads_values(self, library: Any) -> bool:
        """Tell whether a node is declared to hold dates, money and the like, or listed names."""
        return (library or NONE).reads_values

    def fill(self, program: Expression, values: Mapping[str, tuple[str, str]]) -> Expression:
        """Return a program with literals in the place of its placeholders."""
        return literals.fill(program, values)

    def placeholders(self, program: Expression) -> tuple[str, ...]:
        """Return the placeholders that a program has, in program order."""
        return literals.placeholders(program)

    def map_names(self, program: Expression, find: Callable[[str, str], str]) -> Expression:
        """Return a program with what `find(type, words)` gives for each `#(Type "words")`."""
        return literals.map_names(program, find)

    def literals(self, program: Sequence[str]) -> Iterable[base.Literal]:
        """Yield the constants of a token form, in its order."""
        return literals.literals(program)

    def written(self, constant: str) -> str:
        """Return the tokens of a literal."""
        return tokens(literals.expression_of(constant))

    # ------------------------------------------------------- what token forms tell, unparsed

    def functions_in(self, text: str) -> tuple[str, ...]:
        """Return the labels of a token form, or raise GenieError."""
        return tuple(forms.functions(from_tokens(text)).elements())

    def parts_in(self, program: Sequence[str]) -> frozenset[str]:
        """Return each label and symbol of a token form, with the label of its node."""
        return parts_in(program)

    def fixed_in(self, program: Sequence[str]) -> frozenset[str]:
        """Return nothing: a sentence is words alone."""
        return frozenset()

    def compared_in(self, program: Sequence[str]) -> None:
        """Return None: what a node says of a value its label tells, if anything does."""

    def marks_in(self, program: Sequence[str]) -> Collection[str]:
        """Return all: what its functions do is not known."""
        return MARKS

    def values_in(self, program: Sequence[str]) -> Sequence[str]:
        """Return all of it."""
        return program

    def inputs_in(self, program: Sequence[str]) -> tuple[()]:
        """Return nothing: what a node may hold is no input with a name."""
        return ()

    def is_function_name(self, text: str) -> bool:
        """Tell whether a text is one symbol."""
        return " " not in text

    def traits_in(self, text: str) -> frozenset[str]:
        """Return nothing: what nodes do is not known."""
        return frozenset()

    def copied_part(self, text: str) -> str:
        """Return all of it."""
        return text

    def outline(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return all of it: any part may be sorted by its words."""
        return text, ()

    def fill_outline(self, text: str, texts: Sequence[str]) -> str:
        """Return it."""
        return text

    def placeholder_type(self, token: str) -> Type | None:
        """Return the type that a placeholder stands for, or None for another token."""
        slot = placeholder_type(token)
        return slot.type if slot is not None else None

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


def _tree_value(tree: Expression, declarations: Declarations) -> FragmentValue:
    tree = forms.canonical(tree, declarations)
    text = tokens(tree)
    functions = tuple(forms.functions(tree, declarations).elements())
    item: Item = (sort_key(text), text, functions, forms.sort_of(tree))

    def remake(names: Names) -> FragmentValue:
        renamed = " ".join([rename(token, names) for token in text.split(" ")])
        return _tree_value(from_tokens(renamed), declarations)

    return FragmentValue((item,), remake)
