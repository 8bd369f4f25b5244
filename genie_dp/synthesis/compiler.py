"""From a grammar and a library to rules, and to leaves: pieces without children."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.bodies import Fragment
from genie_dp.languages.library import Library
from genie_dp.skills import vocabulary
from genie_dp.skills.model import SkillLibrary
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.pieces import GAP, Piece, Placeholders, features, mask_of, slot_body
from genie_dp.synthesis.python_bodies import PythonBody, count_raised
from genie_dp.synthesis.rules import (
    BUILT_IN,
    MOST_LAYOUTS,
    Agreement,
    ChildSpec,
    GrammarRule,
    Layout,
    layouts,
    placeholder_of,
    words_pool,
)
from genie_dp.templates.ast import (
    CategoryWords,
    Placeholder,
    Template,
    WordChoice,
    children_of,
    count_utterances,
    has_optional,
    placeholders_of,
    plain_items,
    plain_utterances,
    say_words,
)
from genie_dp.templates.grammar import (
    DEFAULT_SUBSET,
    MOST_WORDS,
    Grammar,
    PhraseTable,
    absent_names,
    compile_body,
    functions_in_bodies,
    only_of,
    place_in_file,
    subset,
)
from genie_dp.templates.guard import Attribute, Compare, Constant, Guard, GuardTest, compared_with
from genie_dp.templates.inputs import Inputs

# ------------------------------------------------------------------------------------------ leaves

PLAIN = features()


def constant_pieces(
    type_: Any, language: Language, library: Library, placeholders: Placeholders
) -> Iterator[Piece]:
    """Yield a piece for each wording of a constant of the type."""
    for constant in language.bodies.constants(type_, library):
        if not constant.slot:
            yield Piece(constant.words, constant.value, PLAIN)
            continue
        character = placeholders.character(constant.slot)
        value = constant.value.shift([(constant.words, character)])
        count = placeholders.count(character)
        yield Piece(character, value, PLAIN, count, mask_of(count))


def gap_pieces(body: Fragment, name: str, language: Language, library: Library) -> Iterator[Piece]:
    """Yield a piece for every key under which the placeholder may be left open."""
    for value in language.bodies.gaps(body, name, library):
        yield Piece(GAP, value, PLAIN)


def parameter_pieces(
    phrases: Iterable[vocabulary.ParameterPhrase], language: Language, library: Library
) -> Iterator[Piece]:
    """Yield a piece for every phrase of a parameter; `#` becomes the gap for its value.

    A phrase without `#` is there twice: as it is, and with the gap after it.
    """
    values: dict[tuple[str, str], Any] = {}
    for phrase in phrases:
        key = (phrase.signature.qualified, phrase.parameter.name)
        if key not in values:
            values[key] = language.bodies.parameter(phrase.signature, phrase.parameter, library)
        value = values[key]
        phrase_features = features(num=phrase.number, pos=phrase.part)
        if not phrase.words:
            yield Piece("", value, phrase_features)
        elif "#" in phrase.words:
            yield Piece(phrase.words.replace("#", GAP), replace(value, gap="#"), phrase_features)
        else:
            yield Piece(phrase.words, value, phrase_features)
            yield Piece(f"{phrase.words} {GAP}", replace(value, gap="#"), phrase_features)


def parts_asked(grammar: Grammar) -> frozenset[str]:
    """Return the parts of speech that templates ask their children for."""
    return frozenset(
        part
        for template in grammar.templates
        for child in children_of(template.utterance)
        if (request := child.request("pos")) is not None
        for part in request.values
    )


def with_plurals(
    phrases: Iterable[vocabulary.ParameterPhrase],
) -> Iterator[vocabulary.ParameterPhrase]:
    """Yield the phrases, and plurals where a list's output has nothing but its name.

    Real skills name outputs only: "the titles of articles" needs "titles". A skill that gives
    other parts of speech gives the plurals that it wants.
    """
    phrases = tuple(phrases)
    parts: dict[tuple[str, str], set[str]] = {}
    for phrase in phrases:
        key = (phrase.signature.qualified, phrase.parameter.name)
        parts.setdefault(key, set()).add(phrase.part)
    for phrase in phrases:
        yield phrase
        key = (phrase.signature.qualified, phrase.parameter.name)
        is_said = phrase.parameter.type != vocabulary.PICTURE
        if parts[key] == {"base"} and phrase.signature.is_list and is_said:
            words = english.plural(phrase.words)
            yield replace(phrase, part="plural", words=words, number="pl")


@dataclass(frozen=True, slots=True)
class WordsAlone:
    """The value of words without meaning (languages/base.py, Value)."""

    kind: str = "words"
    text: str = ""
    functions: tuple[str, ...] = ()
    slots: tuple[tuple[str, str, str], ...] = ()
    state: Any = None
    gap: str = ""

    def shift(self, names: Sequence[tuple[str, str]]) -> "WordsAlone":
        """Return it: it has no placeholders."""
        return self


WORDS_ALONE = WordsAlone()


def table_pieces(table: PhraseTable, language: Language, library: Library) -> Iterator[Piece]:
    """Yield a piece for every row of a table: its words, and the value of its program text."""
    for row in table.rows:
        try:
            value = language.bodies.compile_row(row.text, library)
        except GenieError as error:
            raise GenieError(
                [table.place_problem(problem, row) for problem in error.problems]
            ) from None
        yield Piece(row.words, value, PLAIN, attributes=tuple(row.cells.items()))


@dataclass(slots=True)
class GrammarLeaves:
    """Leaves, and the conditions of their making, which must be equal for them to be used again.

    Attributes:
        leaves: category -> its pieces of depth 0.
        clashes: sentences of leaves that were met with two programs.
        refused: leaves that were left out as ill-typed: "template: code" -> how many.
        stems: placeholders in use, by which the words of leaves are written.
        is_sample: a template has more leaves than are kept, so other seeds have other leaves.
    """

    leaves: Mapping[str, Sequence[Piece]]
    clashes: Counter[str] = field(default_factory=Counter)
    stems: tuple[str, ...] = ()
    is_sample: bool = False
    refused: Counter[str] = field(default_factory=Counter)


# ------------------------------------------------------------------------------------------- rules

_PHRASES = ("query", "source", "expression")  # kinds that noun phrases stand for
_WITHOUT_DETERMINER = ("action", "policy", "predicate", "stream")


@dataclass(slots=True)
class CompiledGrammar:
    """A grammar ready to sample.

    Attributes:
        rules: category -> its rules, in the order of the files.
        leaves: pool name -> pieces (built-in categories and tables).
        roots: names of the root categories.
        placeholders: the stems in use.
    """

    language: Language
    rules: dict[str, list[GrammarRule]]
    leaves: dict[str, Sequence[Piece]]
    roots: tuple[str, ...]
    placeholders: Placeholders

    def count_raised(self) -> Counter[str]:
        """Return the counts of exceptions that Python functions raised in this process so far."""
        return count_raised(rule.body for rules in self.rules.values() for rule in rules)

    def count_refused(self) -> Counter[str]:
        """Return how often bodies refused children so far, since the program would be ill-typed.

        The names are "template: code" with the code of the type mistake.
        """
        counts: Counter[str] = Counter()
        bodies = {id(r.body): r for rules in self.rules.values() for r in rules if r.body.refused}
        for rule in bodies.values():
            for problem, count in rule.body.refused.items():
                counts[f"{rule.template.id}: {problem.code}"] += count
        return counts


def compile_grammar(
    grammar: Grammar,
    language: Language,
    library: Library,
    config: SynthesisConfig,
    lexicon: GrammarLeaves | None = None,
) -> CompiledGrammar:
    """Return the rules of every template of a grammar.

    Templates that only give leaves of a known `lexicon` are left out.

    Raises:
        GenieError: all templates whose body cannot be compiled, with their places.
    """
    return GrammarCompiler(grammar, language, library, config, lexicon).compile()


def compile_inputs(
    inputs: Inputs, subsets: Sequence[str] = (), functions: Collection[str] = ()
) -> CompiledGrammar:
    """Return the rules of templates that are to be looked at: rows that fail are left out.

    Args:
        inputs: a grammar with its library.
        subsets: names of subsets whose flagged templates take part; empty for those of training.
        functions: templates may use the skills of these alone; empty for all.
    """
    grammar = subset(inputs.grammar, subsets or (DEFAULT_SUBSET,))
    if functions:
        grammar = only_of(grammar, functions, inputs.library)
    roots = tuple(category.name for category in grammar.roots())
    config = SynthesisConfig(on_error="skip", roots=roots)
    return compile_grammar(grammar, inputs.language, inputs.library, config)


def chosen_roots(grammar: Grammar, named: Sequence[str]) -> tuple[str, ...]:
    """Return the root categories that make sentences: those named, else all not optional.

    Raises:
        GenieError: R024, a name is no root of the grammar, or all are optional and none is named.
    """
    roots = {category.name: category for category in grammar.roots()}
    unknown = [name for name in named if name not in roots]
    if unknown:
        known = f"the roots are {', '.join(roots)}"
        raise GenieError(
            Problem("R024", f"no root category {name}", hint=did_you_mean(name, roots) or known)
            for name in unknown
        )
    chosen = tuple(
        name
        for name, category in roots.items()
        if (name in named if named else not category.is_optional)
    )
    if roots and not chosen:
        message = "every root category is optional, so that there are no sentences"
        hint = f"name one, such as --root {next(iter(roots))}"
        raise GenieError(Problem("R024", message, hint=hint))
    return chosen


_BodyParts = tuple[Fragment, Mapping[str, Sequence[Piece]], Mapping[str, Sequence[Piece]]]
"""A body, the constants of its placeholders, and the gaps that these may leave."""


class GrammarCompiler:
    """Makes the rules of a grammar: all of them, or those of single templates.

    Attributes:
        placeholders: the stems in use so far.
    """

    def __init__(
        self,
        grammar: Grammar,
        language: Language,
        library: Library,
        config: SynthesisConfig,
        lexicon: GrammarLeaves | None = None,
    ):
        """Start with the stems of a known `lexicon`; see `compile_grammar`."""
        self.grammar, self.language, self.library = grammar, language, library
        self.config = config
        self.placeholders = Placeholders()
        for stem in lexicon.stems if lexicon else ():
            self.placeholders.character(stem)
        self.known = lexicon.leaves.keys() if lexicon else frozenset()
        self.roots = chosen_roots(grammar, config.roots)
        self.left_out = {category.name for category in grammar.roots()} - set(self.roots)
        self.problems: list[Problem] = []
        self.constants: dict[str, Sequence[Piece]] = {}
        self.families = dict(_families(grammar))
        self.with_families = {t.category for t in grammar.templates if t.id in self.families}

    def compile(self) -> CompiledGrammar:
        """Return the rules of all templates, with the leaves that they are about."""
        rules: dict[str, list[GrammarRule]] = {}
        for template in self.grammar.templates:
            if template.category in self.left_out:
                continue
            try:
                rules.setdefault(template.category, []).extend(self.rules_of(template))
            except GenieError as error:
                self.problems.extend(error.problems)
        if self.problems:
            raise GenieError(self.problems, sources=self.grammar.sources)
        return CompiledGrammar(self.language, rules, self.leaves(), self.roots, self.placeholders)

    def rules_of(self, template: Template) -> list[GrammarRule]:
        """Return the rules of a template.

        Raises:
            GenieError: its body cannot be compiled, with the place in its file.
        """
        try:
            rules = list(self._rules(template))
        except GenieError as error:
            raise GenieError(place_in_file(p, template) for p in error.problems) from None
        _share_reads(rules)
        return rules

    # --------------------------------------------------------------------------- templates

    def _rules(self, template: Template) -> Iterator[GrammarRule]:
        is_leaf = _is_leaf(template)
        if is_leaf and template.category in self.known and template.category not in self.roots:
            return
        placeholders = tuple(placeholders_of(template.utterance))
        waits = self.grammar.kind(template.category) == "predicate"
        bodies: dict[frozenset[str], _BodyParts] = {}
        for layout, absent in layouts(template, waits=waits):
            if absent not in bodies:
                body = self._body(template, absent)
                types = dict(body.parameters)
                closed = {
                    p.name: self._constants(types[p.name]) for p in placeholders if p.name in types
                }
                open_ = self._gaps(body, placeholders) if is_leaf else {}
                bodies[absent] = body, closed, open_
            body, constants, gaps = bodies[absent]
            yield self._rule(template, layout, body, constants)
            for name, pieces in gaps.items():
                if any(_may_stay_open(child, name) for child in layout.children):
                    yield self._rule(template, layout, body, {**constants, name: pieces})

    def _body(self, template: Template, absent: Collection[str]) -> Fragment:
        if template.python is not None:
            function = self.grammar.functions[template.python.function]
            kind = self.grammar.categories[template.category].kind
            return PythonBody(
                kind, template, function, template.python.arguments, self.language, self.library,
                self.placeholders, self.config.on_error == "skip", template.category in self.roots,
            )  # fmt: skip
        return compile_body(template, self.grammar, self.language, self.library, absent)

    def _constants(self, type_: Any) -> Sequence[Piece]:
        name = str(type_)
        if name not in self.constants:
            pieces = constant_pieces(type_, self.language, self.library, self.placeholders)
            self.constants[name] = tuple(pieces)
        return self.constants[name]

    def _gaps(
        self, body: Fragment, placeholders: Iterable[Placeholder]
    ) -> dict[str, Sequence[Piece]]:
        gaps: dict[str, Sequence[Piece]] = {}
        typed = {name for name, _ in body.parameters}
        for name in dict.fromkeys(p.name for p in placeholders if not p.is_const):
            if name not in typed:
                continue
            pieces = tuple(gap_pieces(body, name, self.language, self.library))
            if pieces:
                gaps[name] = pieces
        return gaps

    def _rule(
        self,
        template: Template,
        layout: Layout,
        body: Fragment,
        constants: Mapping[str, Sequence[Piece]],
    ) -> GrammarRule:
        types = dict(body.parameters)
        fills = {}
        for index, child in enumerate(layout.children):
            name = placeholder_of(child.pool)
            if name is not None and name in types:
                fills[index] = slot_body(str(types[name]), body.fills.get(name, name))
        present = {child.name for child in layout.children}
        guard = template.guard
        guard = replace(
            guard,
            joins=tuple(
                j for j in guard.joins if j.left_child in present and j.right_child in present
            ),
            # What is asked of a child that is not said holds.
            tests=tuple(t for t in guard.tests if all(name in present for name, _ in t.reads)),
        )
        head = next(
            (
                i
                for i, child in enumerate(layout.children)
                if not child.is_leaf and (child.pool == template.category or layout.parts == (0,))
            ),
            None,
        )
        late = tuple(test for test in guard.tests if _is_late(test))
        guard = replace(guard, tests=tuple(test for test in guard.tests if test not in late))
        return GrammarRule(
            template, layout, body, self.placeholders, guard, _lone_tests(layout, guard),
            self._reads(layout, guard), (), head, self._subject(layout), constants, fills,
            _partners(layout, guard),
            dict(template.features), late,
            is_phrase=self.grammar.kind(template.category) not in _WITHOUT_DETERMINER,
            family=self.families.get(template.id),
        )  # fmt: skip

    def _reads(self, layout: Layout, guard: Guard) -> tuple[tuple[str, ...], ...]:
        """Return the attributes read of each child; the ways of one template share its quota."""
        return tuple(
            (*reads, "family") if child.pool in self.with_families else reads
            for child, reads in zip(layout.children, _reads(layout, guard), strict=True)
        )

    def _subject(self, layout: Layout) -> int | None:
        for index, child in enumerate(layout.children):
            if not child.is_leaf and self.grammar.kind(child.pool) in _PHRASES:
                return index
        return None

    # ------------------------------------------------------------------------------ leaves

    def leaves(self) -> dict[str, Sequence[Piece]]:
        """Return the pieces of built-in categories, tables and words alone, by pool."""
        leaves: dict[str, Sequence[Piece]] = dict.fromkeys(BUILT_IN, ())
        if isinstance(self.library, SkillLibrary):
            from genie_dp.skills import vocabulary
            from genie_dp.skills.annotations import QUESTION_PARTS

            spoken = {
                s.qualified
                for s in spoken_functions(self.grammar, self.library)
                if takes_part((s.qualified,), self.config)
            }
            unasked = frozenset(QUESTION_PARTS) - parts_asked(self.grammar)
            outputs = with_plurals(
                p
                for p in vocabulary.outputs(self.library)
                if p.function in spoken and p.part not in unasked
            )
            inputs = [p for p in vocabulary.inputs(self.library) if p.function in spoken]
            leaves["OUTPUT"] = tuple(parameter_pieces(outputs, self.language, self.library))
            leaves["INPUT"] = tuple(parameter_pieces(inputs, self.language, self.library))
            types = vocabulary.types_in_use(self.library)
            leaves["VALUE"] = tuple(piece for type_ in types for piece in self._constants(type_))
        for path, table in self.grammar.tables.items():
            leaves[path] = tuple(table_pieces(table, self.language, self.library))
        for template in self.grammar.templates:
            for item in plain_items(template.utterance):
                if isinstance(item, CategoryWords | WordChoice) and words_pool(item) not in leaves:
                    texts = say_words((item,), self.grammar.words, MOST_WORDS) or ()
                    pieces = (Piece(text, WORDS_ALONE, PLAIN) for text in texts)
                    leaves[words_pool(item)] = tuple(pieces)
        return leaves


def _families(grammar: Grammar) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the templates without children that have optional parts: id, and its family."""
    for template in grammar.templates:
        if template.python is not None or not has_optional(template.utterance):
            continue
        if count_utterances(template.utterance) <= MOST_LAYOUTS and _is_leaf(template):
            ways = {absent_names(template, way) for way in plain_utterances(template.utterance)}
            if len(ways) > 1:
                yield template.id, (template.id, len(ways))


def _is_leaf(template: Template) -> bool:
    return all(c.table or c.category in BUILT_IN for c in children_of(template.utterance))


def _share_reads(rules: Sequence[GrammarRule]) -> None:
    """Let all rules of a template that have the same children read the attributes of any of them.

    So they are alike but for their words, and their combinations are looked for once.
    """
    families: dict[tuple[object, ...], list[GrammarRule]] = {}
    for rule in rules:
        pools = tuple(id(pieces) for pieces in rule.constants.values())
        families.setdefault((rule.layout.children, pools), []).append(rule)
    for family in families.values():
        reads = tuple(
            tuple(dict.fromkeys(name for read in of_child for name in read))
            for of_child in zip(*(rule.reads for rule in family), strict=True)
        )
        for rule in family:
            rule.reads = reads
            rule.apart = _apart(rule.layout, rule.guard, reads)


def _may_stay_open(child: ChildSpec, placeholder: str) -> bool:
    return placeholder_of(child.pool) == placeholder and not child.is_const


def spoken_functions(grammar: Grammar, library: Library) -> tuple[Any, ...]:
    """Return the signatures of the functions that sentences mention; none without skills.

    Sentences mention an inherited function by the name of the class that declares it, and by that
    of the class that inherits it only where a template does so. So no function is mentioned twice.
    A Python function may call any.
    """
    called = functions_in_bodies(grammar)
    return tuple(
        signature
        for signature in library.functions()
        if grammar.functions
        or signature.qualified in called
        or not library.is_inherited(signature.qualified)
    )


def takes_part(functions: Iterable[str], config: SynthesisConfig) -> bool:
    """Return whether all functions are included, none excluded, and none of weight zero.

    >>> takes_part(["@com.gmail.inbox"], SynthesisConfig(exclude=("@com.gmail.*",)))
    False
    """
    for function in functions:
        if config.weights.get(function, 1.0) == 0:
            return False
        if config.include and not any(fnmatchcase(function, glob) for glob in config.include):
            return False
        if any(fnmatchcase(function, glob) for glob in config.exclude):
            return False
    return True


def _partners(layout: Layout, guard: Guard) -> dict[int, int]:
    """Return constant -> the child whose parameter it is compared with, both as indices.

    That is the child to which the guard gives the same type; else the one in whose gap the constant
    stands, or the only one that is a parameter: a name is compared with a text, `id =~ v`.
    """
    names = [child.name for child in layout.children]
    partners: dict[int, int] = {}
    for join in guard.joins:
        pair = names.index(join.left_child), names.index(join.right_child)
        for index, partner in (pair, pair[::-1]):
            if layout.children[index].pool == "VALUE" and layout.children[partner].pool != "VALUE":
                partners.setdefault(index, partner)
    parameters = [i for i, child in enumerate(layout.children) if child.pool in _PARAMETERS]
    for index, child in enumerate(layout.children):
        if child.pool == "VALUE" and index not in partners:
            has_gap = index - 1 in parameters and layout.children[index - 1].gap == ""
            if has_gap or len(parameters) == 1:
                partners[index] = index - 1 if has_gap else parameters[0]
    return partners


_PARAMETERS = frozenset(("OUTPUT", "INPUT"))


def _is_late(test: GuardTest) -> bool:
    """Return whether a test is that two children's attributes differ, or one is not in another."""
    match test.expression:
        case Compare("!=" | "not in", Attribute(left), Attribute(right)):
            return left != right
        case _:
            return False


def _lone_tests(layout: Layout, guard: Guard) -> tuple[tuple[GuardTest, ...], ...]:
    """Return, for every child, the tests that look at it and at no other."""
    return tuple(
        tuple(t for t in guard.tests if {name for name, _ in t.reads} == {child.name})
        for child in layout.children
    )


def _apart(
    layout: Layout, guard: Guard, reads: Sequence[Sequence[str]]
) -> tuple[tuple[frozenset[Constant] | None, ...], ...]:
    """Return the constants to which the guard compares each attribute, if it tests nothing else."""
    agreeing = {part.child for part in layout.parts if isinstance(part, Agreement)}
    equal = {pair for join in guard.joins for pair in join.sides()}

    def constants(index: int, name: str) -> frozenset[Constant] | None:
        child = layout.children[index].name
        if (
            name in ("function", "family")
            or (name == "num" and index in agreeing)
            or (child, name) in equal
        ):
            return None
        return compared_with(guard.tests, child, name)

    return tuple(
        tuple(constants(index, name) for name in of_child) for index, of_child in enumerate(reads)
    )


def _reads(layout: Layout, guard: Guard) -> tuple[tuple[str, ...], ...]:
    """Return, for every child, the attributes on which a rule's outcome depends."""
    names_by_child: list[dict[str, None]] = [{} for _ in layout.children]
    names = [child.name for child in layout.children]
    shared = replace(
        guard, tests=tuple(t for t in guard.tests if len({name for name, _ in t.reads}) > 1)
    )
    for child, attribute in shared.attributes():
        if child in names:
            names_by_child[names.index(child)][attribute] = None
    for part in layout.parts:
        if isinstance(part, Agreement):
            names_by_child[part.child]["num"] = None
    balanced = _balanced_child(layout, guard)
    if balanced is not None:
        names_by_child[balanced].setdefault("function", None)
    return tuple(tuple(reads) for reads in names_by_child)


def _balanced_child(layout: Layout, guard: Guard) -> int | None:
    """Return the child by whose function rows are shared out: the first one, of those joined.

    Distinguishing the functions of a child that goes with anything would only multiply the cells
    of the others; its group is thinned instead.
    """
    inner = [i for i, child in enumerate(layout.children) if not child.is_leaf]
    joined = {name for j in guard.joins for name in (j.left_child, j.right_child)}
    among = [i for i in inner if layout.children[i].name in joined] or inner
    return among[0] if among else None
