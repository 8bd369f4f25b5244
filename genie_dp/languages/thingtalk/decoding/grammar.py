"""The decoding grammar of ThingTalk over a library, and how much a decoded program may hold."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.automaton import AutomatonState, CopySentence, TextNode
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk.ast import OPERATORS
from genie_dp.languages.thingtalk.decoding import statements, values
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, GrammarLimits, read_constants
from genie_dp.languages.thingtalk.decoding.conditions import computable, computed_of
from genie_dp.languages.thingtalk.decoding.rules import start
from genie_dp.languages.thingtalk.operators import ATTRIBUTES, CONTACT, ITEM
from genie_dp.languages.thingtalk.tokens import STYLE, TokenStyle, escape_word
from genie_dp.languages.types import NUMBER, Array, Enum

_WORDS = frozenset((
    "now", "=>", "notify", ";", "policy", ":", "*", "monitor", "edge", "attimer", "timer", "time",
    "base", "interval", "=", ",", "(", ")", "[", "]", "{", "}", "on", "new", "filter", "join",
    "aggregate", "of", "max", "min", "sum", "avg", "count", "and", "or", "not", "start_of",
    "end_of", "+", "-", "null", '"', '""', "location:",
))  # fmt: skip


class ThingTalkGrammar:
    """The well-typed programs of a library, token by token.

    Every prefix can be completed; a complete one is read by `from_tokens` and `check` finds nothing
    in it. Arguments come in canonical order; conditions may come in any. Not covered: device
    attributes but `all`, `id` and `name`, programs beyond the limits, and of the extension for
    questions the constructs that no program of `texts` has, totals of computed values, and computed
    values that are compared with.
    """

    def __init__(
        self,
        library: Signatures,
        *,
        texts: Iterable[str] = (),
        style: TokenStyle = STYLE,
        limits: GrammarLimits | None = None,
    ):
        """Read the library.

        Args:
            library: functions and types.
            texts: constants that programs may hold without copying them (see read_constants).
            style: how programs are written as tokens.
            limits: how much a program may hold.

        Raises:
            GenieError: L010 for a style with inputs by position.
        """
        if not style.keywords:
            message = (
                "expected inputs by name to decode under the grammar, got a style with positions"
            )
            hint = "decode unconstrained, or train on programs with keywords=True"
            raise GenieError(Problem("L010", message, hint=hint))
        constants = read_constants(texts)
        self._catalogue = Catalogue(library, style, limits or GrammarLimits(), constants)
        self._start = self._catalogue.automaton.make(start, self._catalogue, 1)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""
        catalogue = self._catalogue
        units = {f"unit:{unit}" for unit in catalogue.units}
        kinds = {f"^^{kind}" for kind in catalogue.kinds}
        operators = frozenset(OPERATORS)
        words = _WORDS | frozenset(values.WORDS)
        return words | operators | units | kinds | frozenset(self._library_tokens())

    def _library_tokens(self) -> Iterator[str]:
        catalogue = self._catalogue
        yield from (f"@{name}.*" for name in catalogue.library.class_names())
        yield from (catalogue.token("attribute", *pair) for pair in ATTRIBUTES.items())
        for function in catalogue.functions:
            yield function.token
            yield from function.parameters.names
        yield catalogue.token("param", "count", NUMBER)
        yield catalogue.token("param", "source", CONTACT)
        # A number is there even if no function has any: how many there are.
        for type_ in {NUMBER, *catalogue.types()}:
            yield from (catalogue.token("param", op, type_) for op in statements.totals_of(type_))
            while hasattr(type_, "element"):
                type_ = type_.element
            if isinstance(type_, Enum):
                yield from (f"enum:{value}" for value in type_.values if value != "*")
        for tokens in catalogue.constants.tokens.values():
            yield from tokens
        if catalogue.constants.constructs:
            yield from self._question_tokens(catalogue.constants.constructs)
        yield from _text_words(catalogue.constants.texts)

    def _question_tokens(self, constructs: frozenset[str]) -> Iterator[str]:
        """Yield the constructs of the extension for questions that programs have."""
        catalogue = self._catalogue
        yield from (construct.removesuffix("(") for construct in constructs)
        yield from ("asc", "desc") if "sort" in constructs else ()
        yield from ("1",) if "[" in constructs else ()
        outputs = {pair for f in catalogue.queries for pair in f.outputs.types.items()}
        for name, type_ in outputs:
            if isinstance(type_, Array) and "filter" in constructs:
                yield catalogue.token("param", ITEM, type_.element)
            field = catalogue.scope({name: type_})
            for operator in computable(catalogue, field):
                for result in computed_of(field, operator).values():
                    yield catalogue.token("param", f"{operator}.{name}", result)

    def begin(self, sentence: Sequence[str]) -> AutomatonState:
        """Return the empty prefix for a sentence, whose tokens may be copied.

        A word that the token form would escape (a quote, a backslash) is not copied.
        """
        words = CopySentence(sentence, _is_plain)
        return self._catalogue.automaton.begin((self._start,), words)


def _is_plain(word: str) -> bool:
    return escape_word(word) == word


def _text_words(root: TextNode) -> Iterator[str]:
    rest = [root]
    while rest:
        node = rest.pop()
        yield from node.words
        rest.extend(node.following.values())
