"""Mistakes in a class (Genie, Fig. 3) that can be seen without the rest of the library.

Codes: T030 declared twice, T031 parameter declared twice, T032 action with outputs (a warning:
ThingTalk 1.11 reads them), T033 action monitorable or list, T034 parameter whose name stands for
something else in programs, T022 unknown unit, T035 poll_interval, T036 annotation of the wrong type
or given twice, T037 facet imported twice or where it has no place, T038 class or function that
extends itself, T039 enum value listed twice.
"""

from collections.abc import Callable, Iterable, Iterator

from genie_dp.errors import Problem, Span
from genie_dp.languages.thingtalk.assign import same_base
from genie_dp.languages.thingtalk.ast import MeasureValue
from genie_dp.languages.thingtalk.declarations import (
    Annotation,
    ClassDef,
    EntityDecl,
    FunctionDecl,
    ImportDecl,
    ParamDecl,
)
from genie_dp.languages.thingtalk.transform_values import named_value
from genie_dp.languages.thingtalk.typecheck_report import name_hint
from genie_dp.languages.thingtalk.types import UNITS, Array, Enum, Measure, Type

# What begins no comparison, and what is a value wherever one may stand (grammar.lark).
_NEVER_COMPARED = frozenset({"false", "not", "true"})
_NEVER_PASSED = frozenset({"false", "now", "null", "true"})
_TEXTS = frozenset({"doc", "url", "string_values", "confirmation", "confirmation_remote"})
_BOOLEANS = frozenset({"additive", "unique", "easily_understood", "hard_understand"})
_FACETS = ("loader", "config")


def check_class(definition: ClassDef) -> list[Problem]:
    """Return the mistakes of a class, in the order of the text; some are warnings.

    >>> from genie_dp.languages.thingtalk.types import STRING
    >>> beep = FunctionDecl("action", "beep", (ParamDecl("sound", "out", STRING),))
    >>> [p.code for p in check_class(ClassDef("org.bell", functions=(beep, beep)))]
    ['T032', 'T030', 'T032']
    """
    return list(_class(definition))


def _class(definition: ClassDef) -> Iterator[Problem]:
    if definition.name in definition.extends:
        yield _problem(
            "T038",
            f"expected another class after 'extends', got '@{definition.name}' itself",
            definition.span,
        )
    yield from _annotations(definition.annotations)
    yield from _imports(definition)
    yield from _entities(definition.entities)
    yield from _functions(definition.functions)


def _problem(code: str, message: str, span: Span | None, hint: str | None = None) -> Problem:
    return Problem(code, message, span, hint)


def _entities(entities: Iterable[EntityDecl]) -> Iterator[Problem]:
    seen: set[str] = set()
    for declaration in entities:
        if declaration.name in seen:
            yield _again("T030", "entity type", declaration.name, declaration.span)
        seen.add(declaration.name)


def _again(code: str, what: str, name: str, span: Span | None) -> Problem:
    hint = "keep one of them" if code == "T036" else "rename one of them"
    return _problem(code, f"expected a new {what}, got '{name}' again", span, hint)


# ------------------------------------------------------------------------------------ imports


def _imports(definition: ClassDef) -> Iterator[Problem]:
    seen: set[str] = set()
    for declaration in definition.imports:
        for facet in declaration.facets:
            if facet in seen:
                yield _again("T037", "facet", facet, declaration.span)
            seen.add(facet)
            if definition.is_abstract and facet in _FACETS:
                yield _abstract_import(declaration, facet)


def _abstract_import(declaration: ImportDecl, facet: str) -> Problem:
    return _problem(
        "T037",
        f"expected no {facet} in an abstract class, got '{facet}' from '@{declaration.module}'",
        declaration.span,
        f"import the {facet} in the classes that extend this one",
    )


# ---------------------------------------------------------------------------------- functions


def _functions(functions: tuple[FunctionDecl, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for function in functions:
        if function.name in seen:
            yield _again("T030", "function", function.name, function.span)
        seen.add(function.name)
        yield from _function(function)


def _function(function: FunctionDecl) -> Iterator[Problem]:
    if function.name in function.extends:
        message = f"expected another function after 'extends', got '{function.name}' itself"
        yield _problem("T038", message, function.span)
    if function.kind == "action":
        yield from _action(function)
    seen: set[str] = set()
    for param in function.params:
        if param.name in seen:
            yield _again("T031", "parameter", param.name, param.span)
        seen.add(param.name)
        yield from _name(param)
        yield from _type(param.type, param)
        yield from _annotations(param.annotations)
    yield from _annotations(function.annotations)
    yield from _poll_interval(function)


def _action(function: FunctionDecl) -> Iterator[Problem]:
    for word, is_set in (
        ("monitorable", function.is_monitorable),
        ("list", function.is_list),
    ):
        if is_set:
            yield _problem(
                "T033",
                f"expected a query after '{word}', got the action '{function.name}'",
                function.span,
                f"drop '{word}', or declare a query",
            )
    for param in function.params:
        if param.direction == "out":
            yield Problem(
                "T032",
                f"expected only inputs in the action '{function.name}', got its output"
                f" '{param.name}'",
                param.span,
                "programs cannot use it: drop it, or declare a query",
                severity="warning",
            )


def _name(param: ParamDecl) -> Iterator[Problem]:
    """Report a name that programs cannot say: it would be read as another thing."""
    is_value = param.name in _NEVER_PASSED or named_value(param.name) is not None
    if param.name in _NEVER_COMPARED or (param.direction == "out" and is_value):
        yield _problem(
            "T034",
            f"expected a name for '{param.name}' that means nothing else in programs",
            param.span,
            f"call it {param.name}_value, or the like",
        )


def _type(type_: Type, param: ParamDecl) -> Iterator[Problem]:
    match type_:
        case Array(element):
            yield from _type(element, param)
        case Measure(unit) if unit not in UNITS:
            message = f"expected a unit of measure for '{param.name}', got '{unit}'"
            yield _problem("T022", message, param.span, name_hint(unit, list(UNITS), "units"))
        case Enum(values):
            for value in sorted({v for v in values if values.count(v) > 1}):
                yield _again("T039", f"value for '{param.name}'", value, param.span)
        case _:
            return


# -------------------------------------------------------------------------------- annotations


def _poll_interval(function: FunctionDecl) -> Iterator[Problem]:
    for annotation in function.annotations:
        if annotation.name != "poll_interval":
            continue
        if function.kind != "query" or not function.is_monitorable:
            what = "an action" if function.kind == "action" else "a query that is not monitorable"
            yield _problem(
                "T035",
                f"expected no poll_interval on {what}, got one on '{function.name}'",
                annotation.span or function.span,
                "declare it 'monitorable query', or drop the annotation",
            )
        value = annotation.value
        if not isinstance(value, MeasureValue) or not _is_duration(value):
            yield _problem(
                "T035",
                f"expected a duration for 'poll_interval', got {_said(value)}",
                annotation.span or function.span,
                "write a time with its unit, such as #[poll_interval=10min]",
            )


def _is_duration(value: MeasureValue) -> bool:
    return all(same_base(unit, "ms") for _, unit in value.parts)


def _annotations(annotations: tuple[Annotation, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for annotation in annotations:
        if annotation.name in seen:
            yield _again("T036", "annotation", annotation.name, annotation.span)
        seen.add(annotation.name)
        wanted = _wanted(annotation)
        if wanted is not None and not wanted[1](annotation.value):
            yield _problem(
                "T036",
                f"expected {wanted[0]} for '{annotation.name}', got {_said(annotation.value)}",
                annotation.span,
                f"write #{'_' if annotation.natural else ''}[{annotation.name}={wanted[2]}]",
            )


def _wanted(annotation: Annotation) -> tuple[str, Callable[[object], bool], str] | None:
    """Return what the value of a known annotation must be: in words, as a test, an example."""
    if annotation.name in _TEXTS:
        return "a text", _is_text, '".."'
    if annotation.name in _BOOLEANS:
        return "true or false", _is_boolean, "true"
    if annotation.name == "formatted":
        return "a list", _is_list, "[..]"
    if annotation.name == "accepts":
        return "a text or a list of texts", _is_texts, '["tt:song_title"]'
    if annotation.name == "enum":
        return "a table", _is_table, '{name="words"}'
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, tuple)


def _is_texts(value: object) -> bool:
    return _is_text(value) or (isinstance(value, tuple) and all(map(_is_text, value)))


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _said(value: object) -> str:
    match value:
        case MeasureValue():
            return "".join(f"{number}{unit}" for number, unit in value.parts)
        case bool():
            return "true" if value else "false"
        case str():
            return f'the text "{value}"'
        case tuple():
            return "a list"
        case dict():
            return "a table"
        case _:
            return str(value)
