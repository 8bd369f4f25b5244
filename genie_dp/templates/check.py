"""Checks a grammar against a language and a library: every mistake and every warning.

| code | mistake |
|---|---|
| G012 | unknown category |
| G015 | a name given to two children, places or parameters |
| G016 | no such child here: in a body, a guard, `x.det`, `{..}`; or missing in one alternative |
| G017, G018 | placeholder without a lambda parameter; parameter that the utterance lacks |
| G019 | the body's kind is not the category's |
| G020 | unknown request or feature, or an unknown value of one, in a guard as well |
| G021 | unknown attribute in a guard |
| G022 | a gap is asked of a table or of VALUE, which never have one |
| G023 | no root category |
| G024 | unknown Python function |
| G026 | too many alternatives |
| G033 | `for` without such a class |
| G035 | words where there is more, or a body where words are alone (also of reading the files) |
| G036 | a category of words that is too large, or contains itself |

Mistakes that the language finds in a body:

| G031, G032 | a placeholder whose type does not follow from the body; one with two types |
| G034 | a part of the body that cannot be left out, and has to be |

Mistakes inside bodies have the codes of the target language; G001 to G014 and G027 come from
reading the files. Warnings are about texts that can be read, yet are hardly meant so:

| code | warning |
|---|---|
| G101 | a category that no root leads to |
| G102 | a category without templates, or whose derivations never end |
| G103 | a parameter that the body does not use |
| G104 | left recursion without growth: `A := x:A -> ..`, also through other categories |
| G105 | two primitive templates with one utterance and two programs |
| G106 | a noun phrase that starts with a verb |
| G107 | an alternative without words and children |
| G108 | a child that the body does not use |
| G109 | a gap asked of a category that has none with these skills |
| G112 | alternatives, or an annotation, inside of quotes |
| G113 | words that no sentence has when it is read: placeholders, names of users, capitals |
| G114 | two templates with one utterance and the same children that call different functions |
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from genie_dp.english.forms import starts_with_verb
from genie_dp.errors import GenieError, Problem, Span, did_you_mean, with_article
from genie_dp.languages.base import Language
from genie_dp.languages.bodies import Fragment, Value
from genie_dp.languages.library import Library
from genie_dp.skills.words import words_never_read
from genie_dp.templates.ast import (
    CategoryWords,
    Child,
    Determiner,
    Inflect,
    Placeholder,
    PlainItem,
    PlainWords,
    QuotedWords,
    Request,
    Template,
    WordChoice,
    children_of,
    count_utterances,
    missing_in_choices,
    placeholders_of,
    plain_items,
    plain_utterances,
    words_said,
)
from genie_dp.templates.grammar import (
    BUILT_IN,
    WORDS,
    Grammar,
    absent_names,
    compile_body,
    functions_of,
    has_lambda,
    holes_of,
    in_subset,
    names_in_body,
)
from genie_dp.templates.guard import compared_with

MOST_ALTERNATIVES = 256
NOUN_PHRASE = "noun phrase"

_NUMBERS = ("sg", "pl", "mass")
_SORTS = ("a", "the", "my", "none", "fixed")
_FORMS = ("np", "long", "vp", "clause")
FEATURES: Mapping[str, tuple[str, ...]] = {"num": _NUMBERS, "det": _SORTS, "form": _FORMS}
REQUESTS: Mapping[str, tuple[str, ...]] = {
    "num": _NUMBERS,
    "det": ("none", "the", "a", "own", "any"),
    "own": _SORTS,
    "form": _FORMS,
}
# Attributes of every child that have few values: a guard compares them with these.
GUARDED: Mapping[str, tuple[str, ...]] = {"num": _NUMBERS, "own": _SORTS, "form": _FORMS}
# Requests that hold words: what is expected.
TEXTS: Mapping[str, str] = {
    "gap": "one text or one child in the gap",
    "after": "the text of the words that are left out",
}
# What guards may ask of every child, beside what the language says of its kind.
ENGLISH = (
    "num", "det", "own", "form", "pos", "gap", "first", "last", "takes_pronoun", "takes_phrase",
    "takes_many", "prepositions", "ends_in_text", "filtered",
)  # fmt: skip


def check_grammar(grammar: Grammar, language: Language, library: Library) -> list[Problem]:
    """Return every error and warning, in the order of the files."""
    return GrammarChecker(language).check(grammar, library)


def errors_of(grammar: Grammar, language: Language, library: Library) -> list[Problem]:
    """Return every error, in the order of the files; that is quicker than with the warnings."""
    return GrammarChecker(language).errors(grammar, library)


def in_order(problems: list[Problem], grammar: Grammar) -> list[Problem]:
    """Return the problems in the order of the files and of their places, each once."""
    files = {name: number for number, name in enumerate(grammar.sources)}

    def place(problem: Problem) -> tuple[int, int, int]:
        span = problem.span
        return (files.get(span.file, len(files)), span.line, span.column) if span else (-1, 0, 0)

    return sorted(dict.fromkeys(problems), key=place)


Fragments = dict[frozenset[str], Fragment]
"""Names that an utterance of a template leaves out -> the body that compiles."""
WHOLE: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Checked:
    """The results of checking a template, so that it need not be looked at again.

    Attributes:
        template: the object that was looked at.
        problems: the mistakes in it.
        fragments: its body, for each wording of it that compiles; None where another process
            compiled it.
        names: its category, and those of its children.
        has_gap: whether a placeholder of it may stay open.
        gaps: the children that it asks for a gap, and where.
        units: categories that it derives from without a word.
        warnings: its warnings; None until they are requested, like the rest.
        needed: the categories of the children, for each wording.
        instances: (words, program) for each wording, where it has no children.
        shapes: for each wording, the key of all templates with the same words, and its words; none
            where it calls no function or a guard distinguishes it.
        tree: the body parsed; None until it is requested.
    """

    template: Template
    problems: tuple[Problem, ...]
    fragments: Fragments | None
    names: frozenset[str]
    has_gap: bool
    gaps: tuple[tuple[Child, Span | None], ...]
    units: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] | None = None
    needed: frozenset[frozenset[str]] = frozenset()
    instances: tuple[tuple[str, str], ...] = ()
    shapes: tuple[tuple[Hashable, str], ...] = ()
    tree: Any = None

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return None, values | {"fragments": None}


class GrammarChecker:
    """Checks grammars, one after the other where it is kept.

    A template that is the object that it was is not looked at again, unless something changed that
    its text names: a category, a function, a table. `forget` drops those of a changed library.
    It can be pickled; the language is to be given to it anew.

    Attributes:
        last: the grammar that was looked at last.
    """

    def __init__(self, language: Language):
        self.language = language
        self._known: dict[int, _Checked] = {}
        self.last = Grammar()

    def __getstate__(self) -> tuple[list[_Checked], Grammar]:
        return [*self._known.values()], self.last

    def __setstate__(self, state: tuple[list[_Checked], Grammar]) -> None:
        known, self.last = state
        self._known = {id(each.template): each for each in known}

    def check(self, grammar: Grammar, library: Library) -> list[Problem]:
        """Return every error and warning, in the order of the files."""
        checked = self._look(grammar, library)
        problems = self._errors(grammar, library, checked)
        # Of those that can be said in too many ways nothing else is told.
        short = [
            known
            for known in checked
            if known.warnings is not None
            or count_utterances(known.template.utterance) <= MOST_ALTERNATIVES
        ]
        viewer = _TemplateChecker(grammar, self.language, library)
        for known in short:
            if known.warnings is None:
                self._look_closer(known, viewer)
        problems += find_warnings(grammar, short)
        return in_order(problems, grammar)

    def errors(self, grammar: Grammar, library: Library) -> list[Problem]:
        """Return every error, in the order of the files; that is quicker than with the warnings."""
        problems = self._errors(grammar, library, self._look(grammar, library))
        return in_order([problem for problem in problems if problem.severity == "error"], grammar)

    def with_trees(self, grammar: Grammar) -> Grammar:
        """Return the grammar that was looked at last, of no mistakes, with its bodies parsed.

        So none is parsed again when it is compiled.
        """

        def parsed(template: Template) -> Template:
            if template.python is not None or template.tree is not None:
                return template
            known = self._known[id(template)]
            if known.tree is None:
                known.tree = self.language.bodies.parse(
                    template.body_text,
                    holes_of(template, grammar),
                    class_name=template.class_name,
                )
            return replace(template, tree=known.tree)

        return replace(grammar, templates=tuple(map(parsed, grammar.templates)))

    def forget(self, is_changed: Callable[[Template], bool]) -> None:
        """Forget templates whose functions, tables, .. changed.

        Those with mistakes are forgotten as well: hints name alternatives.
        """
        self._known = {
            number: known
            for number, known in self._known.items()
            if not (known.problems or is_changed(known.template))
        }

    def _look(self, grammar: Grammar, library: Library) -> list[_Checked]:
        """Return the results of each template, once those that are new were looked at."""
        last, self.last = self.last, grammar
        names = last.categories.keys() | grammar.categories.keys()
        changed = {n for n in names if last.categories.get(n) != grammar.categories.get(n)}
        if last.tables != grammar.tables:
            self.forget(lambda template: any(c.table for c in children_of(template.utterance)))
        if last.functions.keys() != grammar.functions.keys():
            self.forget(lambda template: template.python is not None)
        viewer = _TemplateChecker(grammar, self.language, library)
        moved = self._lost(grammar)
        checked = []
        for template in grammar.templates:
            known = self._known.get(id(template))
            if known is None and moved:
                known = _moved_to(template, moved)
            if known is None or not changed.isdisjoint(known.names):
                known = viewer.look(template)
            checked.append(known)
        self._known = {id(known.template): known for known in checked}
        return checked

    def _lost(self, grammar: Grammar) -> dict[Hashable, _Checked]:
        """Return the results of templates that are not there any more, and have no problems."""
        here = set(map(id, grammar.templates))
        return {
            meaning_of(known.template): known
            for number, known in self._known.items()
            if number not in here and not known.problems and known.warnings == ()
        }

    def _look_closer(self, known: _Checked, viewer: "_TemplateChecker") -> None:
        """Compute the results that only warnings need."""
        template, plain = known.template, tuple(plain_utterances(known.template.utterance))
        fragments = known.fragments
        if fragments is None:
            fragments = viewer.fragments_of(template)
        ways = [frozenset(child.category for child in children_of(items)) for items in plain]
        known.needed = frozenset(ways)
        known.units = tuple(child for items in plain if (child := _only_child(items)) is not None)
        known.warnings = (
            *_unused_parts(template, fragments.get(WHOLE)),
            *_english(template, viewer.grammar),
            *_quoted(template),
        )
        known.shapes = tuple(_shapes(template, plain))
        if fragments and not _has_parts(template):
            said = ((i, fragments.get(absent_names(template, i))) for i in plain)
            instances = (
                _instance(i, f, self.language, viewer.library) for i, f in said if f is not None
            )
            known.instances = tuple(instance for instance in instances if instance is not None)

    # ------------------------------------------------------------- the grammar as a whole

    def _errors(self, grammar: Grammar, library: Library, checked: list[_Checked]) -> list[Problem]:
        problems = [problem for known in checked for problem in known.problems]
        problems += _unknown_categories(grammar, checked)
        problems += self._classes(grammar, library)
        problems += self._tables(grammar, library)
        problems += _gaps(grammar, checked)
        if not grammar.roots():
            message = "no category is a root, so nothing can be derived"
            hint = 'mark what makes whole sentences: category COMMAND : program root ".."'
            problems.append(Problem("G023", message, hint=hint))
        return problems

    def _classes(self, grammar: Grammar, library: Library) -> Iterator[Problem]:
        """Yield a problem for each `for` that names no class."""
        known = _class_names(grammar, library)
        for named in grammar.classes:
            if not self.language.has_skills:
                message = f"{self.language.name} has no classes"
                yield Problem("G033", message, named.span, "drop this line")
            elif named.name not in known:
                hint = did_you_mean(f"@{named.name}", [f"@{name}" for name in known])
                hint = hint or "name a class of the skills, such as for @com.gmail;"
                yield Problem("G033", f"there is no class @{named.name}", named.span, hint)

    def _tables(self, grammar: Grammar, library: Library) -> Iterator[Problem]:
        """Yield the mistakes in the program texts of tables."""
        for table in grammar.tables.values():
            for row in table.rows:
                try:
                    self.language.bodies.compile_row(row.text, library)
                except GenieError as error:
                    yield from (table.place_problem(problem, row) for problem in error.problems)


def _class_names(grammar: Grammar, library: Library) -> set[str]:
    """Return the classes with functions; none where the grammar names no class."""
    functions = library.names() if grammar.classes else ()
    return {name.rpartition(".")[0].removeprefix("@") for name in functions}


def _has_parts(template: Template) -> bool:
    """Return whether an utterance has more than its own words and placeholders."""
    parts = plain_items(template.utterance)
    return any(isinstance(part, Child | CategoryWords | WordChoice) for part in parts)


def meaning_of(template: Template) -> Hashable:
    """Return the fields of a template on which its problems depend, but for their places."""
    return (
        template.category,
        template.features,
        template.utterance,
        template.body_text,
        template.class_name,
        template.guard,
        template.python,
    )


def _moved_to(template: Template, lost: Mapping[Hashable, _Checked]) -> _Checked | None:
    """Return the results of a template that has a new place or id; None if it is new."""
    known = lost.get(meaning_of(template))
    if known is None:
        return None
    return replace(known, template=template, gaps=tuple(_asked_gaps(template)))


def _asked_gaps(template: Template) -> Iterator[tuple[Child, Span | None]]:
    for child in children_of(template.utterance):
        request = child.request("gap")
        if request is not None:
            yield child, request.span


def _unknown_categories(grammar: Grammar, checked: list[_Checked]) -> Iterator[Problem]:
    """Yield a problem for each unknown category, where it is first used."""
    names = {"", *grammar.categories, *BUILT_IN}
    unknown: dict[str, list[Span | None]] = {}
    for known in checked:
        if known.names <= names:
            continue
        template = known.template
        if template.category not in names:
            unknown.setdefault(template.category, []).append(_span_of_name(template))
        for child in children_of(template.utterance):
            if child.category not in names:
                unknown.setdefault(child.category, []).append(child.span)
    for name, spans in unknown.items():
        others = f" ({len(spans)} times)" if len(spans) > 1 else ""
        hint = did_you_mean(name, names - {""}) or f'declare it: category {name} : KIND "..";'
        yield Problem("G012", f"unknown category {name!r}{others}", spans[0], hint)


def _gaps(grammar: Grammar, checked: list[_Checked]) -> Iterator[Problem]:
    """Yield requests for a gap that never exists; of a category that is a warning.

    A grammar serves many skills, and some have nothing to fill.
    """
    open_ = {"OUTPUT", "INPUT", *(known.template.category for known in checked if known.has_gap)}
    requested: dict[str, list[Span | None]] = {}
    for known in checked:
        for child, span in known.gaps:
            if child.category in grammar.categories.keys() - open_:
                requested.setdefault(child.category, []).append(span)
            elif child.table or child.category in BUILT_IN.keys() - open_:
                message = f"{child.category or child.table} never has a gap"
                yield Problem("G022", message, span)
    for name, spans in requested.items():
        times = f" ({len(spans)} times)" if len(spans) > 1 else ""
        message = f"{name} has no gap: no template of it leaves a placeholder open{times}"
        hint = "placeholders written $x, of types that can be passed, may stay open"
        yield Problem("G109", message, spans[0], hint, severity="warning")


def _span_of_name(template: Template) -> Span | None:
    """Return the place of a template's category in the file."""
    span = template.span
    if span is None:
        return None
    return Span(span.file, span.line, span.column, span.line, span.column + len(template.category))


class _TemplateChecker:
    """Checks templates, each alone."""

    def __init__(self, grammar: Grammar, language: Language, library: Library):
        self.grammar, self.language, self.library = grammar, language, library
        self.fragments: Fragments = {}
        self.unknown_classes = {c.name for c in grammar.classes} - _class_names(grammar, library)

    def fragments_of(self, template: Template) -> Fragments:
        """Return the body, compiled, for each wording of the template."""
        self.fragments = {}
        for _ in self._problems(template):
            pass
        return self.fragments

    def look(self, template: Template) -> _Checked:
        self.fragments = {}
        problems = tuple(self._problems(template))
        children = children_of(template.utterance)
        said = (words.category for words in words_said(template.utterance))
        return _Checked(
            template,
            problems,
            self.fragments,
            frozenset((template.category, *(child.category for child in children), *said)),
            self._has_gap(template, self.fragments.get(WHOLE)),
            tuple(_asked_gaps(template)),
        )

    def _problems(self, template: Template) -> Iterator[Problem]:
        if template.category in BUILT_IN:
            message = f"{template.category} is built in: no template can derive it"
            yield Problem("G012", message, _span_of_name(template))
        yield from _features(template)
        for child in children_of(template.utterance):
            if child.category in BUILT_IN and not self.language.has_skills:
                message = f"{child.category} is for skills, and {self.language.name} has none"
                hint = "write a placeholder, such as $level, or a category of your own"
                yield Problem("G012", message, child.span, hint)
            for request in child.requests:
                yield from self._request(child, request)
        yield from self._guard(template)
        if count_utterances(template.utterance) > MOST_ALTERNATIVES:
            message = f"the template can be said in more than {MOST_ALTERNATIVES} ways"
            hint = "write two templates, or move alternatives into a category of their own"
            yield Problem("G026", message, template.span, hint)
            return
        yield from _children(template)
        yield from self._body(template)

    # -------------------------------------------------------------------------- requests

    def _request(self, child: Child, request: Request) -> Iterator[Problem]:
        allowed = self._request_values(child)
        if request.name in TEXTS:
            if len(request.values) > 1 or (request.child and request.name != "gap"):
                message = f"expected {TEXTS[request.name]}"
                yield Problem("G020", message, request.span)
        elif request.child is not None:
            message = f"only a gap holds a child, not {request.name!r}"
            yield Problem("G020", message, request.span)
        elif request.name not in allowed:
            hint = did_you_mean(request.name, (*allowed, "gap"))
            hint = hint or f"one can ask for {', '.join((*allowed, 'gap'))}"
            yield Problem("G020", f"unknown request {request.name!r}", request.span, hint)
        else:
            yield from _values(request, allowed[request.name])

    def _request_values(self, child: Child) -> dict[str, tuple[str, ...]]:
        if child.category in ("OUTPUT", "INPUT"):
            from genie_dp.skills.annotations import DERIVED_PARTS, PARTS

            return {"pos": (*PARTS, *DERIVED_PARTS), "num": _NUMBERS, "det": REQUESTS["det"]}
        if child.category == "VALUE":
            return {}
        if child.table:
            table = self.grammar.tables.get(child.table)
            if table is None:
                return {}
            return {
                name: tuple(sorted({r.cells[name] for r in table.rows})) for name in table.columns
            }
        return dict(REQUESTS)

    def _has_gap(self, template: Template, fragment: Fragment | None) -> bool:
        if fragment is None or not is_primitive(template):
            return False
        return any(
            True
            for placeholder in placeholders_of(template.utterance)
            if not placeholder.is_const
            for _ in self.language.bodies.gaps(fragment, placeholder.name, self.library)
        )

    # -------------------------------------------------------------------- guards and bodies

    def _guard(self, template: Template) -> Iterator[Problem]:
        children = {child.name: child for child in children_of(template.utterance)}
        for name, attribute in template.guard.attributes():
            attributes = self._attributes(children[name])
            if attributes is not None and attribute not in attributes:
                message = f"{name} has no attribute {attribute!r}"
                hint = (
                    did_you_mean(attribute, attributes) or f"it has {', '.join(sorted(attributes))}"
                )
                yield Problem("G021", message, template.guard_span or template.span, hint)
            elif attribute in GUARDED and not children[name].table:
                compared = compared_with(template.guard.tests, name, attribute) or ()
                for value in sorted({str(v) for v in compared if v} - {*GUARDED[attribute]}):
                    hint = did_you_mean(value, GUARDED[attribute]) or _one_of(GUARDED[attribute])
                    message = f"{name}.{attribute} is never {value!r}"
                    yield Problem("G020", message, template.guard_span or template.span, hint)

    def _attributes(self, child: Child) -> frozenset[str] | None:
        """Return the attributes that guards can test; None where they are not known."""
        if child.table:
            table = self.grammar.tables.get(child.table)
            own: frozenset[str] | None = frozenset(table.columns) if table else None
        else:
            kind = self.grammar.kind(child.category)
            own = self.language.bodies.attributes.get(kind) if kind else None
        return None if own is None else own | set(ENGLISH)

    def _body(self, template: Template) -> Iterator[Problem]:
        if template.python is not None:
            yield from self._python(template)
            return
        if template.class_name in self.unknown_classes:
            return  # an error already, and what is said of its functions only the echo
        try:
            fragment = compile_body(template, self.grammar, self.language, self.library)
        except GenieError as error:
            # A child of an unknown category is an error already, and here only its echo.
            if all(self._is_known(child) for child in children_of(template.utterance)):
                yield from (self._with_dollar(p, template) for p in error.problems)
            return
        self.fragments[WHOLE] = fragment
        yield from self._without_parts(template)
        yield from _placeholders(template, fragment, self.language)
        category = self.grammar.categories.get(template.category)
        if category is not None and category.kind not in (fragment.kind, WORDS):
            message = (
                f"category {category.name} stands for {with_article(category.kind)}, "
                f"but this body is {with_article(fragment.kind)}"
            )
            yield Problem("G019", message, template.body_span)

    def _without_parts(self, template: Template) -> Iterator[Problem]:
        """Compile the body for each choice of absent optional parts."""
        ways = {absent_names(template, items) for items in plain_utterances(template.utterance)}
        reported: set[tuple[str, Span | None]] = set()
        for absent in sorted(ways - {WHOLE}, key=lambda names: (len(names), sorted(names))):
            if absent & {*missing_in_choices(template.utterance)}:
                continue  # an error of its own
            try:
                self.fragments[absent] = compile_body(
                    template, self.grammar, self.language, self.library, absent
                )
            except GenieError as error:
                for problem in error.problems:
                    if (problem.code, problem.span) not in reported:
                        yield problem
                    reported.add((problem.code, problem.span))

    def _with_dollar(self, problem: Problem, template: Template) -> Problem:
        """Return a problem of a body, with a hint where it has x for the placeholder $x."""
        span = problem.span
        if span is None or has_lambda(template) or not self.language.bodies.infers_types:
            return problem
        text = self.grammar.sources.get(span.file, "").split("\n")[span.line - 1 : span.end_line]
        said = text[0][span.column - 1 : span.end_column - 1] if len(text) == 1 else ""
        if all(said != placeholder.name for placeholder in placeholders_of(template.utterance)):
            return problem
        return replace(problem, hint=f"write ${said} for the placeholder")

    def _is_known(self, child: Child) -> bool:
        return bool(child.table) or self.grammar.kind(child.category) is not None

    def _python(self, template: Template) -> Iterator[Problem]:
        call = template.python
        assert call is not None
        if call.function not in self.grammar.functions:
            hint = did_you_mean(call.function, self.grammar.functions)
            hint = hint or 'name the file that defines it: using "functions.py";'
            yield Problem("G024", f"unknown function python.{call.function}", call.span, hint)
        for placeholder in placeholders_of(template.utterance):
            message = f"${placeholder.name} has no type: Python functions take children only"
            yield Problem("G017", message, placeholder.span)


def is_primitive(template: Template) -> bool:
    """Return whether a template has no children but built-in ones and tables."""
    return all(c.table or c.category in BUILT_IN for c in children_of(template.utterance))


def _features(template: Template) -> Iterator[Problem]:
    for name, value in template.features:
        if name not in FEATURES:
            hint = did_you_mean(name, FEATURES) or f"features are {', '.join(FEATURES)}"
            yield Problem("G020", f"unknown feature {name!r}", template.span, hint)
        elif value not in FEATURES[name]:
            hint = did_you_mean(value, FEATURES[name]) or _one_of(FEATURES[name])
            yield Problem("G020", f"unknown value {value!r} of {name}", template.span, hint)


def _values(request: Request, allowed: tuple[str, ...]) -> Iterator[Problem]:
    for value in request.values:
        if value not in allowed:
            hint = did_you_mean(value, allowed) or _one_of(allowed)
            message = f"unknown value {value!r} of {request.name}"
            yield Problem("G020", message, request.span, hint)
    if request.name == "det" and len(request.values) > 1:
        message = "expected one determiner: det says which one is printed"
        yield Problem("G020", message, request.span, "own=a|the asks for those that it has")


def _one_of(values: tuple[str, ...]) -> str:
    return f"expected one of {', '.join(values)}"


# ------------------------------------------------------------------ children, placeholders


def _children(template: Template) -> Iterator[Problem]:
    """Check that every wording of the template has the children that its body names."""
    everywhere = {child.name for child in children_of(template.utterance)}
    # An optional part may be left out, and what needs it with it; but a function takes all.
    needed = names_in_body(template)
    if template.python is None:
        needed = needed.intersection(missing_in_choices(template.utterance))
    else:
        for name in template.python.arguments:
            if name not in everywhere:
                hint = did_you_mean(name, everywhere)
                yield Problem("G016", f"no child {name!r}", template.python.span, hint)
    reported: set[str] = set()
    for items in plain_utterances(template.utterance):
        here = list(children_of(items))
        names = [child.name for child in here]
        for place, child in enumerate(here):
            if child.name in names[:place] and child.name not in reported:
                reported.add(child.name)
                message = f"two children are called {child.name!r}"
                yield Problem("G015", message, child.span, "give each a name of its own")
        for name in sorted((everywhere & needed) - set(names) - reported):
            reported.add(name)
            message = f"{name!r} is missing in one of the alternatives, and the body needs it"
            yield Problem("G016", message, template.span)
        yield from _references(items, names, reported)


def _references(
    items: tuple[PlainItem, ...], names: list[str], reported: set[str]
) -> Iterator[Problem]:
    for item in items:
        match item:
            case Determiner(child) if child not in names and f"{child}.det" not in reported:
                reported.add(f"{child}.det")
                hint = did_you_mean(child, names)
                yield Problem("G016", f"no child {child!r} in this alternative", item.span, hint)
            case QuotedWords(parts):
                for part in parts:
                    if not isinstance(part, Inflect) or str(part.span) in reported:
                        continue
                    if part.child is None and not names:
                        reported.add(str(part.span))
                        message = "there is no child that this could agree with"
                        yield Problem("G016", message, part.span, "write the one form")
                    elif part.child is not None and part.child not in names:
                        reported.add(str(part.span))
                        message = f"no child {part.child!r} in this alternative"
                        yield Problem("G016", message, part.span, did_you_mean(part.child, names))
            case _:
                pass


def _placeholders(template: Template, fragment: Fragment, language: Language) -> Iterator[Problem]:
    types = dict(fragment.parameters)
    places = {p.name: p for p in placeholders_of(template.utterance)}
    for name, placeholder in places.items():
        if name not in types:
            hint = did_you_mean(name, types)
            if hint is None and language.bodies.infers_types and not has_lambda(template):
                hint = f"write ${name} in the body where its value goes"
            hint = hint or rf"give it a type: \({name} : String) -> .."
            message = f"${name} is no parameter of the body"
            yield Problem("G017", message, placeholder.span, hint)
    yield from _places_twice(template, fragment)
    not_always = {*missing_in_choices(template.utterance)}
    for name in types:
        if name in places and name not in not_always:
            continue
        where = "in one of the alternatives" if name in places else "in the utterance"
        message = f"parameter {name!r} has no place ${name} {where}"
        hint = did_you_mean(name, set(places) - set(types))
        if name in places:
            hint = "say it in each of them; only of an optional part, ( .. )?, it may be left out"
        yield Problem("G018", message, template.body_span, hint)


def _places_twice(template: Template, fragment: Fragment) -> Iterator[Problem]:
    """Yield names of two parameters, and parameters with two places in one utterance.

    One value goes to the program: the value in the other place would be lost.
    """
    names = [name for name, _ in fragment.parameters]
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f"two parameters are called {name!r}"
        yield Problem("G015", message, template.body_span, "give each a name of its own")
    twice: dict[str, Span | None] = {}
    for items in plain_utterances(template.utterance):
        names_here: set[str] = set()
        for placeholder in placeholders_of(items):
            if placeholder.name in names_here:
                twice.setdefault(placeholder.name, placeholder.span)
            names_here.add(placeholder.name)
    for name, span in twice.items():
        hint = "its value is said once; another value needs a parameter of its own"
        yield Problem("G015", f"${name} stands twice in one utterance", span, hint)


# ----------------------------------------------------------------------------------------- warnings


def find_warnings(grammar: Grammar, checked: list[_Checked]) -> Iterator[Problem]:
    """Yield every warning about templates that were looked at closely."""
    yield from _unreachable(grammar, checked)
    yield from _unproductive(grammar, checked)
    yield from _without_growth(checked)
    yield from _ambiguous(checked)
    yield from _same_words(checked)
    for known in checked:
        yield from known.warnings or ()
    yield from _table_words(grammar)


def _warning(code: str, message: str, span: Any, hint: str | None = None) -> Problem:
    return Problem(code, message, span, hint, severity="warning")


# ------------------------------------------------------------------------------ categories


def _unreachable(grammar: Grammar, checked: list[_Checked]) -> Iterator[Problem]:
    reached = {category.name for category in grammar.roots()}
    waiting = list(reached)
    parts: dict[str, set[str]] = {}
    for known in checked:
        parts.setdefault(known.template.category, set()).update(known.names)
    for template in grammar.word_templates:
        said = (words.category for words in words_said(template.utterance))
        parts.setdefault(template.category, set()).update(said)
    while waiting:
        new = parts.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    for category in grammar.categories.values():
        if category.name not in reached and grammar.roots():
            message = f"no sentence contains {category.name}: no root leads to it"
            yield _warning("G101", message, category.span)


def _unproductive(grammar: Grammar, checked: list[_Checked]) -> Iterator[Problem]:
    productive: set[str] = set(BUILT_IN) | {""}
    rules = {(known.template.category, needed) for known in checked for needed in known.needed}
    while True:
        new = {name for name, needed in rules if needed <= productive} - productive
        if not new:
            break
        productive |= new
    written = {known.template.category for known in checked}
    written |= {template.category for template in grammar.word_templates}
    productive |= grammar.words.keys()
    for category in grammar.categories.values():
        if category.name not in written:
            yield _warning("G102", f"no template derives {category.name}", category.span)
        elif category.name not in productive:
            message = f"no derivation of {category.name} ever ends in words"
            yield _warning("G102", message, category.span, "add a template without its own kind")


def _without_growth(checked: list[_Checked]) -> Iterator[Problem]:
    """Yield templates that have a child and nothing else, where that comes back to itself."""
    edges: dict[str, set[str]] = {}
    units: list[tuple[Template, str]] = []
    for known in checked:
        for child in dict.fromkeys(known.units):
            edges.setdefault(known.template.category, set()).add(child)
            units.append((known.template, child))
    for template, child in units:
        if template.category in _closure(child, edges):
            chain = "itself" if child == template.category else f"itself, through {child}"
            message = f"{template.category} derives {chain}, and no word is added"
            yield _warning("G104", message, template.span, "add words, or merge the categories")


def _only_child(items: tuple[PlainItem, ...]) -> str | None:
    match items:
        case (Child(category=category, requests=requests),) if category not in ("", *BUILT_IN):
            return None if any(r.name == "gap" for r in requests) else category
        case _:
            return None


def _closure(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


# ------------------------------------------------------------------------------- templates


def _unused_parts(template: Template, fragment: Fragment | None) -> Iterator[Problem]:
    used = names_in_body(template)
    for name, _ in fragment.parameters if fragment else ():
        if name not in used:
            message = f"the body does not use its parameter {name!r}"
            yield _warning("G103", message, template.body_span)
    for child in children_of(template.utterance):
        if child.name not in used:
            message = f"the body does not use {child.name!r}: what it says is lost"
            yield _warning("G108", message, child.span)


def _english(template: Template, grammar: Grammar) -> Iterator[Problem]:
    category = grammar.categories.get(template.category)
    is_noun = category is not None and category.description.startswith(NOUN_PHRASE)
    checks_verb = is_noun and "form" not in dict(template.features)
    for items in plain_utterances(template.utterance):
        words = _spoken_words(items)
        if not words and all(isinstance(item, QuotedWords) for item in items):
            yield _warning("G107", "there is nothing to say", template.span)
            return
        if checks_verb and words and isinstance(items[0], QuotedWords) and starts_with_verb(words):
            message = f"{words!r} starts with a verb, and {template.category} is a noun phrase"
            hint = "use a category of verb phrases, or write [form=np] if it is none"
            yield _warning("G106", message, template.span, hint)
            return


def _spoken_words(items: tuple[PlainItem, ...]) -> str:
    texts = []
    for item in items:
        for part in item.parts if isinstance(item, QuotedWords) else ():
            match part:
                case PlainWords(text):
                    texts.append(text)
                case Placeholder(name):
                    texts.append(f"${name}")
                case Inflect(_, forms):
                    texts.append(forms[0])
    return " ".join(text for text in texts if text)


# ------------------------------------------------------------------------------- ambiguity


def _ambiguous(checked: list[_Checked]) -> Iterator[Problem]:
    first: dict[tuple[str, str], tuple[Template, str]] = {}
    for known in checked:
        template = known.template
        for words, program in known.instances:
            earlier, other_program = first.setdefault(
                (template.category, words), (template, program)
            )
            if other_program != program and not _are_apart(template, earlier):
                message = f"{words!r} is {program} here and {other_program} in {earlier.id!r}"
                where = f"the other template is at {earlier.span}" if earlier.span else None
                yield _warning("G105", message, template.span, where)
                break


def _are_apart(one: Template, other: Template) -> bool:
    """Return whether no subset has both templates, by their flags."""
    flags, others = dict(one.flags), dict(other.flags)
    only = [name for name, is_in in (*flags.items(), *others.items()) if is_in]
    return bool(only) and not any(in_subset(one, name) and in_subset(other, name) for name in only)


def _instance(
    items: tuple[PlainItem, ...], fragment: Fragment, language: Language, library: Library
) -> tuple[str, str] | None:
    """Return words and program with constants in the placeholders; None if there are none."""
    types = dict(fragment.parameters)
    words = f" {_spoken_words(items)} "
    values: dict[str, Value] = {}
    for placeholder in placeholders_of(items):
        name = placeholder.name
        if name in values:
            continue
        constant = next(iter(language.bodies.constants(types.get(name), library)), None)
        if name not in types or constant is None:
            return None
        value, token = constant.value, f"<{types[name]}>"
        if constant.slot:
            used = sum(1 for v in values.values() if constant.slot in v.text)
            token = f"{constant.slot}_{used}"
            value = value.shift([(constant.words, token)])
        words = words.replace(f" ${name} ", f" {token} ")
        values[name] = value
    try:
        program = fragment.build(values)
    except (GenieError, KeyError):
        return None
    return None if program is None else (words.strip(), program.text)


def _same_words(checked: list[_Checked]) -> Iterator[Problem]:
    """Yield templates whose children make two functions of one utterance, without a guard."""
    first: dict[Hashable, Template] = {}
    for known in checked:
        template = known.template
        for shape, words in known.shapes:
            earlier = first.setdefault(shape, template)
            if earlier is template:
                continue
            functions, others = functions_of(template), functions_of(earlier)
            if others != functions:
                message = f"{words!r} calls {_last(functions)} here and {_last(others)} elsewhere"
                hint = f"the other template is at {earlier.span}: other words, or guards, tell them"
                yield _warning("G114", message, template.span, f"{hint} apart")
                break


def _shapes(
    template: Template, plain: Iterable[tuple[PlainItem, ...]]
) -> Iterator[tuple[Hashable, str]]:
    """Yield, for each wording, the key of all templates with the same words, and its words.

    None where a guard distinguishes it from others, or where it calls no function by itself.
    """
    is_guarded = bool(template.guard.joins or template.guard.tests)
    has_children = any(children_of(template.utterance))
    if is_guarded or not has_children or not functions_of(template):
        return
    for items in plain:
        shape = (template.category, template.features, *map(_shape_of, items))
        yield shape, " ".join(_said(item) for item in items)


def _shape_of(item: PlainItem) -> Hashable:
    """Return the key of items that have the same words or the same sort of child."""
    match item:
        case QuotedWords():
            return _spoken_words((item,))
        case Child():
            return item.category, item.table, tuple((r.name, r.values) for r in item.requests)
        case Determiner():
            return Determiner
        case _:
            return item


def _said(item: PlainItem) -> str:
    match item:
        case QuotedWords():
            return _spoken_words((item,))
        case Child():
            return f"{item.name}:{item.category or item.table}"
        case Determiner():
            return f"{item.child}.det"
        case _:
            return item.key if isinstance(item, WordChoice) else item.category


def _last(functions: frozenset[str]) -> str:
    """Return the functions; without the names of their classes that stand beside them."""
    return ", ".join(n for n in sorted(functions) if not any(f"{n}." in o for o in functions))


# ------------------------------------------------------------------------------- quoted words

_IN_QUOTES = (
    (re.compile(r"(?:^| )\|(?: |$)"), "'|' separates alternatives", "('turn' | 'switch') 'on'"),
    (re.compile(r"\( .+ \)"), "brackets hold alternatives", "'my' ('new')? 'mail'"),
    (re.compile(r"(?:^| )# \["), "'#[' begins an annotation", "'my mail' -> @c.f() #[weight=2]"),
)


def _quoted(template: Template) -> Iterator[Problem]:
    """Yield quoted words with signs that belong outside of quotes, or with words never in use."""
    seen: set[Span | None] = set()
    for items in plain_utterances(template.utterance):
        for item in items:
            if not isinstance(item, QuotedWords) or item.span in seen:
                continue
            seen.add(item.span)
            for part in item.parts:
                texts = (part.text,) if isinstance(part, PlainWords) else ()
                for text in part.forms if isinstance(part, Inflect) else texts:
                    yield from _text_problems(text, item.span or template.span)


def _text_problems(text: str, span: Span | None) -> Iterator[Problem]:
    for pattern, what, example in _IN_QUOTES:
        if pattern.search(text):
            message = f"{what} outside of quotes; in {text!r} it would be said"
            yield _warning("G112", message, span, f"write {example}")
            break
    for word, reason in words_never_read(text):
        message = f"no sentence has {word!r}: {reason}"
        yield _warning("G113", message, span, "write what people say; $x is the place of a value")


def _table_words(grammar: Grammar) -> Iterator[Problem]:
    """Yield words in tables that no sentence has when it is read."""
    for table in grammar.tables.values():
        for row in table.rows:
            span = Span(table.path, row.line, 1, row.line, 2)
            for word, reason in words_never_read(row.words):
                message = f"no sentence has {word!r}: {reason}"
                yield _warning("G113", message, span, "write what people say")
