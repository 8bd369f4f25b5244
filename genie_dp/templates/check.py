"""Checks a grammar against a language and a library: every mistake and every warning.

| code | mistake |
|---|---|
| G012 | unknown category |
| G015 | a name given to two children, places or parameters |
| G016 | no such child here: in a body, a guard, `x.det`, `{..}`; or missing in one alternative |
| G017, G018 | placeholder without a lambda parameter; parameter that the utterance does not say |
| G019 | the body's kind is not the category's |
| G020 | unknown request or feature, or an unknown value of one, in a guard as well |
| G021 | unknown attribute in a guard |
| G022 | a gap is asked of a table or of VALUE, which never have one |
| G023 | no root category |
| G024 | unknown Python function |
| G026 | too many alternatives |

Mistakes inside bodies have the codes of the target language. Warnings are in warnings.py; G001 to
G014 come from reading the files. G109, a warning, is found here: a gap asked of a category that has
none with these skills.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean, with_article
from genie_dp.languages.base import Fragment, Language
from genie_dp.templates.ast import (
    Child,
    Determiner,
    Inflect,
    PlainItem,
    Request,
    Template,
    Words,
)
from genie_dp.templates.bodies import compile_body, names_in_body
from genie_dp.templates.expand import (
    children_of,
    count_utterances,
    placeholders_of,
    plain_utterances,
)
from genie_dp.templates.grammar import BUILT_IN, Grammar, Table
from genie_dp.templates.guard import compared_with
from genie_dp.templates.warnings import warnings

MOST_ALTERNATIVES = 256

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
    "takes_many",
)  # fmt: skip


def check_grammar(grammar: Grammar, language: Language, library: Any) -> list[Problem]:
    """Return every error and warning, in the order of the files."""
    checker = _Checker(grammar, language, library)
    problems = checker.problems()
    problems += warnings(_sayable(grammar), language, library, checker.fragments)
    return in_order(problems, grammar)


def errors_of(grammar: Grammar, language: Language, library: Any) -> list[Problem]:
    """Return every error, in the order of the files; that is quicker than with the warnings."""
    found = _Checker(grammar, language, library).problems()
    return in_order([problem for problem in found if problem.severity == "error"], grammar)


def _sayable(grammar: Grammar) -> Grammar:
    """Return the grammar without the templates that can be said in too many ways."""
    short = [t for t in grammar.templates if count_utterances(t.utterance) <= MOST_ALTERNATIVES]
    return replace(grammar, templates=tuple(short))


def in_order(problems: list[Problem], grammar: Grammar) -> list[Problem]:
    """Return the problems in the order of the files and of their places, each once."""
    files = {name: number for number, name in enumerate(grammar.sources)}

    def place(problem: Problem) -> tuple[int, int, int]:
        span = problem.span
        return (files.get(span.file, len(files)), span.line, span.column) if span else (-1, 0, 0)

    return sorted(dict.fromkeys(problems), key=place)


def _roots(grammar: Grammar) -> Iterator[Problem]:
    if not grammar.roots():
        hint = 'mark what makes whole sentences: category COMMAND : program root ".."'
        yield Problem("G023", "no category is a root, so nothing can be derived", hint=hint)


class _Checker:
    """Checks one template after the other; keeps what compiles for the checks after it."""

    def __init__(self, grammar: Grammar, language: Language, library: Any):
        self.grammar, self.language, self.library = grammar, language, library
        self.fragments: dict[str, Fragment] = {}
        self.unknown: dict[str, list[Span | None]] = {}

    def problems(self) -> list[Problem]:
        templates = self.grammar.templates
        problems = [problem for template in templates for problem in self.template(template)]
        problems += self.categories()
        problems += self.tables()
        problems += self.gaps()
        problems += _roots(self.grammar)
        return problems

    def template(self, template: Template) -> Iterator[Problem]:
        yield from self._categories(template)
        yield from _features(template)
        for child in children_of(template.utterance):
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

    # ------------------------------------------------------------- categories and requests

    def _categories(self, template: Template) -> Iterator[Problem]:
        span = _name_span(template.span, template.category)
        if template.category in BUILT_IN:
            message = f"{template.category} is built in: no template can derive it"
            yield Problem("G012", message, span)
        elif template.category not in self.grammar.categories:
            self.unknown.setdefault(template.category, []).append(span)
        for child in children_of(template.utterance):
            if not self._is_known(child):
                self.unknown.setdefault(child.category, []).append(child.span)

    def categories(self) -> Iterator[Problem]:
        """Yield a problem for each unknown category, where it is first used."""
        known = (*self.grammar.categories, *BUILT_IN)
        for name, spans in self.unknown.items():
            others = f" ({len(spans)} times)" if len(spans) > 1 else ""
            hint = did_you_mean(name, known) or f'declare it: category {name} : KIND "..";'
            yield Problem("G012", f"unknown category {name!r}{others}", spans[0], hint)

    def _request(self, child: Child, request: Request) -> Iterator[Problem]:
        allowed = self._allowed(child)
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

    def _allowed(self, child: Child) -> dict[str, tuple[str, ...]]:
        if child.category in ("OUTPUT", "INPUT"):
            from genie_dp.skills.annotations import DERIVED_PARTS, PARTS

            return {"pos": (*PARTS, *DERIVED_PARTS), "num": _NUMBERS, "det": REQUESTS["det"]}
        if child.category == "VALUE":
            return {}
        if child.table:
            return _columns(self.grammar.tables.get(child.table))
        return dict(REQUESTS)

    def tables(self) -> Iterator[Problem]:
        """Yield the mistakes in the program texts of tables."""
        for table in self.grammar.tables.values():
            for row in table.rows:
                try:
                    self.language.row(row.text, self.library)
                except GenieError as error:
                    yield from (table.placed(problem, row) for problem in error.problems)

    def gaps(self) -> Iterator[Problem]:
        """Yield requests for a gap of what never has one; of a category that is a warning.

        A grammar serves many skills, and some have nothing to fill.
        """
        open_ = {"OUTPUT", "INPUT"}
        for template in self.grammar.templates:
            if template.category not in open_ and self._has_gap(template):
                open_.add(template.category)
        asked: dict[str, list[Span | None]] = {}
        for template in self.grammar.templates:
            for child in children_of(template.utterance):
                request = child.request("gap")
                if request and child.category in self.grammar.categories.keys() - open_:
                    asked.setdefault(child.category, []).append(request.span)
                elif request and (child.table or child.category in BUILT_IN.keys() - open_):
                    message = f"{child.category or child.table} never has a gap"
                    yield Problem("G022", message, request.span)
        for name, spans in asked.items():
            times = f" ({len(spans)} times)" if len(spans) > 1 else ""
            message = f"{name} has no gap: no template of it leaves a placeholder open{times}"
            hint = "placeholders written $x, of types that can be passed, may stay open"
            yield Problem("G109", message, spans[0], hint, severity="warning")

    def _has_gap(self, template: Template) -> bool:
        fragment = self.fragments.get(template.id)
        if fragment is None or not is_primitive(template):
            return False
        return any(
            True
            for placeholder in placeholders_of(template.utterance)
            if not placeholder.is_const
            for _ in self.language.gaps(fragment, placeholder.name, self.library)
        )

    # -------------------------------------------------------------------- guards and bodies

    def _guard(self, template: Template) -> Iterator[Problem]:
        children = {child.name: child for child in children_of(template.utterance)}
        for name, attribute in template.guard.attributes():
            known = self._attributes(children[name])
            if known is not None and attribute not in known:
                message = f"{name} has no attribute {attribute!r}"
                hint = did_you_mean(attribute, known) or f"it has {', '.join(sorted(known))}"
                yield Problem("G021", message, template.guard_span or template.span, hint)
            elif attribute in GUARDED and not children[name].table:
                compared = compared_with(template.guard.tests, name, attribute) or ()
                for value in sorted({str(v) for v in compared if v} - {*GUARDED[attribute]}):
                    hint = did_you_mean(value, GUARDED[attribute]) or _one_of(GUARDED[attribute])
                    message = f"{name}.{attribute} is never {value!r}"
                    yield Problem("G020", message, template.guard_span or template.span, hint)

    def _attributes(self, child: Child) -> frozenset[str] | None:
        """Return what guards may ask of a child; None where that is not known."""
        if child.table:
            table = self.grammar.tables.get(child.table)
            own: frozenset[str] | None = frozenset(table.columns) if table else None
        else:
            kind = self.grammar.kind(child.category)
            own = self.language.attributes.get(kind) if kind else None
        return None if own is None else own | set(ENGLISH)

    def _body(self, template: Template) -> Iterator[Problem]:
        if template.python is not None:
            yield from self._python(template)
            return
        try:
            fragment = compile_body(template, self.grammar, self.language, self.library)
        except GenieError as error:
            # A child of an unknown category is an error already, and here only its echo.
            if all(self._is_known(child) for child in children_of(template.utterance)):
                yield from error.problems
            return
        self.fragments[template.id] = fragment
        yield from _placeholders(template, fragment)
        category = self.grammar.categories.get(template.category)
        if category is not None and fragment.kind != category.kind:
            message = (
                f"category {category.name} stands for {with_article(category.kind)}, "
                f"but this body is {with_article(fragment.kind)}"
            )
            yield Problem("G019", message, template.body_span)

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


def _columns(table: Table | None) -> dict[str, tuple[str, ...]]:
    """Return column -> the values that stand in it."""
    if table is None:
        return {}
    return {name: tuple(sorted({r.cells[name] for r in table.rows})) for name in table.columns}


def is_primitive(template: Template) -> bool:
    """Tell whether a template has no children but built-in ones and tables."""
    return all(c.table or c.category in BUILT_IN for c in children_of(template.utterance))


def _name_span(span: Span | None, name: str) -> Span | None:
    if span is None:
        return None
    return Span(span.file, span.line, span.column, span.line, span.column + len(name))


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
    """Check that every way to say the template has the children that it speaks of."""
    used = names_in_body(template)
    everywhere = {child.name for child in children_of(template.utterance)}
    if template.python is not None:
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
        for name in sorted((everywhere & used) - set(names) - reported):
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
            case Words(parts):
                for part in parts:
                    wrong = isinstance(part, Inflect) and not _agrees(part, names)
                    if isinstance(part, Inflect) and wrong and str(part.span) not in reported:
                        reported.add(str(part.span))
                        yield _nothing_to_agree(part, names)
            case _:
                pass


def _agrees(part: Inflect, names: list[str]) -> bool:
    return part.child in names if part.child is not None else bool(names)


def _nothing_to_agree(part: Inflect, names: list[str]) -> Problem:
    if part.child is None:
        message = "there is no child that this could agree with"
        return Problem("G016", message, part.span, "write the one form")
    message = f"no child {part.child!r} in this alternative"
    return Problem("G016", message, part.span, did_you_mean(part.child, names))


def _placeholders(template: Template, fragment: Fragment) -> Iterator[Problem]:
    types = dict(fragment.parameters)
    said = {p.name: p for p in placeholders_of(template.utterance)}
    for name, placeholder in said.items():
        if name not in types:
            known = did_you_mean(name, types)
            hint = known or rf"give it a type: \({name} : String) -> .."
            message = f"${name} is no parameter of the body"
            yield Problem("G017", message, placeholder.span, hint)
    yield from _said_twice(template, fragment)
    missing: dict[str, None] = {}
    for items in plain_utterances(template.utterance):
        here = {p.name for p in placeholders_of(items)}
        missing.update(dict.fromkeys(name for name in types if name not in here))
    for name in missing:
        where = "in one of the alternatives" if name in said else "in the utterance"
        message = f"parameter {name!r} has no place ${name} {where}"
        other = did_you_mean(name, set(said) - set(types))
        yield Problem("G018", message, template.body_span, other)


def _said_twice(template: Template, fragment: Fragment) -> Iterator[Problem]:
    """Yield names of two parameters, and parameters with two places in one utterance.

    One value goes to the program: what is said in the other place would be lost.
    """
    names = [name for name, _ in fragment.parameters]
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f"two parameters are called {name!r}"
        yield Problem("G015", message, template.body_span, "give each a name of its own")
    twice: dict[str, Span | None] = {}
    for items in plain_utterances(template.utterance):
        met: set[str] = set()
        for placeholder in placeholders_of(items):
            if placeholder.name in met:
                twice.setdefault(placeholder.name, placeholder.span)
            met.add(placeholder.name)
    for name, span in twice.items():
        hint = "its value is said once; another value needs a parameter of its own"
        yield Problem("G015", f"${name} stands twice in one utterance", span, hint)
