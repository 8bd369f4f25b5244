"""Syntax tree to text, in the one spelling that we print; reading it back gives the same tree."""

import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, get_args

from genie_dp.errors import Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk import declarations as decl
from genie_dp.languages.thingtalk.printer import SURFACE, Printed, Printer
from genie_dp.languages.thingtalk.scope import EMPTY, Scope
from genie_dp.languages.thingtalk.tokens import number_token
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.languages.types import Array, Basic, Entity, Enum, Measure, Type

Node = (
    ast.Program
    | ast.Policy
    | ast.PolicyFunction
    | ast.Rule
    | ast.Query
    | ast.Stream
    | ast.Action
    | ast.Predicate
    | ast.Value
    | ast.Arg
    | ast.Selector
    | ast.OutputOf
    | ast.Lambda
    | decl.ClassDef
    | decl.Dataset
    | decl.DatasetExample
)
_VALUES = get_args(ast.Value)
_TYPES = (Basic, Enum, Measure, Entity, Array)


def render(node: Node) -> str:
    """Return a node as people write it; parse(render(p)) == p.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> render(parse('now => (@x.q), a = 1 and not (b > 2 or c =~ "d") => notify'))
    'now => (@x.q()) filter a == 1 && !(b > 2 || c =~ "d") => notify'
    """
    match node:
        case ast.Program((rule,)):
            return _SURFACE.rule(rule)
        case ast.Program(rules):
            return "{ " + " ".join(f"{_SURFACE.rule(rule)};" for rule in rules) + " }"
        case ast.OutputOf(ast.Hole(name, "query", None), output):
            return f"{name}.{output}"
        case ast.OutputOf(query, output):
            return f"({render(query)}).{output}"
        case ast.Lambda():
            return _lambda(node)
        case decl.ClassDef():
            return render_class(node)
        case decl.Dataset():
            return _dataset(node)
        case decl.DatasetExample():
            return _example(node)
        case _:
            return _SURFACE.part(node)


def quote(text: str) -> str:
    r"""Return a text as a string literal.

    >>> print(quote('say "hi"\n'))
    "say \"hi\"\n"
    """
    return json.dumps(text, ensure_ascii=False)


def _lambda(fragment: ast.Lambda) -> str:
    names = frozenset(fragment.untyped)

    def mark(part: Any) -> Any:
        is_placeholder = isinstance(part, ast.VarRef) and part.name in names
        return ast.VarRef(f"${part.name}") if is_placeholder else part

    body = render(rewrite(fragment.body, mark) if names else fragment.body)
    return f"\\{_parameters(fragment.parameters)} -> {body}" if fragment.parameters else body


# ---------------------------------------------------------------------------------- programs


def _entity_value(value: ast.EntityValue) -> str:
    display = "" if value.display is None else f"({quote(value.display)})"
    return f"{'null' if value.value is None else quote(value.value)}^^{value.kind}{display}"


def _place(value: ast.LocationValue) -> str:
    parts = [number_token(n) for n in (value.latitude, value.longitude) if n is not None]
    parts += [] if value.display is None else [quote(value.display)]
    return f"makeLocation({', '.join(parts)})"


def _time(value: ast.TimeValue) -> str:
    second = f", {value.second}" if value.second else ""
    return f"makeTime({value.hour}, {value.minute}{second})"


def _measure(value: ast.MeasureValue) -> str:
    return " + ".join(f"{number_token(amount)}{unit}" for amount, unit in value.parts)


_LITERALS: Mapping[type, Callable[[Any], str]] = {
    ast.StringValue: lambda value: quote(value.text),
    ast.NumberValue: lambda value: number_token(value.value),
    ast.BooleanValue: lambda value: "true" if value.value else "false",
    ast.EnumValue: lambda value: f"enum({value.name})",
    ast.MeasureValue: _measure,
    ast.CurrencyValue: lambda v: f"makeCurrency({number_token(v.value)}, {v.code})",
    ast.EntityValue: _entity_value,
    ast.SlotValue: lambda value: value.token + value.unit,
    ast.Undefined: lambda value: "$?",
    ast.EventValue: lambda value: "$event",
    ast.ContextValue: lambda value: ".".join(("$context", *value.path)),
    ast.LocationValue: _place,
    ast.DateValue: lambda value: f"new Date({quote(value.iso)})",
    ast.DateNow: lambda value: "now",
    ast.DateEdge: lambda value: f"{value.edge}({value.unit})",
    ast.TimeValue: _time,
}


class _SurfacePrinter(Printer):
    """Prints pieces of programs as people write them; it needs no scopes."""

    __slots__ = ()

    form = SURFACE

    def part(self, node: Any) -> str:
        """Return a node inside of a rule or policy."""
        match node:
            case ast.Rule():
                return self.rule(node)
            case ast.Policy():
                return self.policy(node)
            case ast.PolicyFunction():
                return self.policy_function(node)
            case ast.Arg(name, value):
                return f"{name} = {self.value(value, EMPTY)}"
            case ast.Selector(class_name, attributes):
                return f"@{class_name}{f'({self.args(attributes)})' if attributes else ''}"
        match ast.kind_of(node):
            case "query":
                return self.query(node, EMPTY)[0]
            case "stream":
                return self.stream(node)[0]
            case "predicate":
                return self.predicate(node, EMPTY, EMPTY)
            case "value":
                return self.value(node, EMPTY)
            case _:
                return self.action(node, EMPTY)

    def name(self, name: str, scope: Scope, span: Span | None = None) -> str:
        return name

    def args(self, args: Iterable[ast.Arg]) -> str:
        return self.join_list(map(self.part, args))

    def call(self, call: ast.Call, scope: Scope) -> Printed:
        return f"{self.part(call.selector)}.{call.function}({self.args(call.args)})", EMPTY

    def passing(self, passing: tuple[ast.Arg, ...], right: ast.Query, left: Scope) -> str:
        return f" on ({self.args(passing)})" if passing else ""

    def write_watched(self, names: tuple[str, ...], scope: Scope) -> str:
        return names[0] if len(names) == 1 else self.form.listing.format(self.join_list(names))

    def negation(self, predicate: ast.Not, fields: Scope, scope: Scope) -> str:
        operand = predicate.operand
        if isinstance(operand, ast.Atom | ast.Comparison | ast.And | ast.Or):
            return f"!{self.in_parentheses(operand, fields, scope)}"
        return f"!{self.condition(operand, fields, scope)}"

    def in_parentheses(self, predicate: ast.Predicate, fields: Scope, scope: Scope) -> str:
        return f"({self.condition(predicate, fields, scope)})"

    def hole(self, hole: ast.Hole) -> str:
        if hole.inputs:
            return f"{hole.name}({self.args(hole.inputs)})"
        return hole.name if hole.argument is None else f"{hole.name}({hole.argument})"


_SURFACE = _SurfacePrinter(_LITERALS)


# -------------------------------------------------------------------- classes and datasets


def render_class(definition: decl.ClassDef) -> str:
    """Return a class as a skill file holds it: imports, entities, units, functions, one a line.

    >>> from genie_dp.languages.thingtalk.parser import parse_classes
    >>> text = 'class @x.y { action beep(in opt n:Number) #_[canonical="beep"]; }'
    >>> print(render_class(parse_classes(text, file="x.tt")[0]))
    class @x.y {
      action beep(in opt n : Number)
      #_[canonical="beep"];
    }
    """
    abstract = "abstract " if definition.is_abstract else ""
    parents = _extends(f"@{parent}" for parent in definition.extends)
    head = f"{abstract}class @{definition.name}{parents}{_inline(definition.annotations)} {{"
    members = [_import(item) for item in definition.imports]
    members += [_entity(item) for item in definition.entities]
    members += [_unit(item) for item in definition.units]
    members += [_function(item) for item in definition.functions]
    return "\n".join([head, *(f"  {member}" for member in members), "}"])


def _extends(parents: Iterable[str]) -> str:
    names = ", ".join(parents)
    return f" extends {names}" if names else ""


def _import(item: decl.ImportDecl) -> str:
    args = ", ".join(f"{name}={_data(value)}" for name, value in item.args)
    return f"import {', '.join(item.facets)} from @{item.module}({args});"


def _entity(item: decl.EntityDecl) -> str:
    parents = _extends(f"^^{p}" if ":" in p else p for p in item.extends)
    return f"entity {item.name}{parents}{_inline(item.annotations)};"


def _unit(item: decl.UnitDecl) -> str:
    size = f" = {number_token(item.size[0])} {item.size[1]}" if item.size else ""
    return f"unit {item.name} of {item.dimension}{size}{_inline(item.annotations)};"


def _function(item: decl.FunctionDecl) -> str:
    modifiers = "monitorable " * item.is_monitorable + "list " * item.is_list
    head = f"{modifiers}{item.kind} {item.name}{_extends(item.extends)}("
    margin = ",\n" + " " * (len(head) + 2)
    params = margin.join(
        f"{p.direction} {p.name} : {p.type}{_inline(p.annotations)}" for p in item.params
    )
    return f"{head}{params}){_below(item.annotations)};"


def _inline(annotations: Iterable[decl.Annotation]) -> str:
    return "".join(f" {_annotation(a)}" for a in annotations)


def _below(annotations: Iterable[decl.Annotation]) -> str:
    return "".join(f"\n  {_annotation(a)}" for a in annotations)


def _annotation(annotation: decl.Annotation) -> str:
    marker = "#_[" if annotation.natural else "#["
    return f"{marker}{annotation.name}={_data(annotation.value)}]"


def _data(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return quote(value)
        case bool():
            return "true" if value else "false"
        case Decimal():
            return number_token(value)
        case tuple():
            return f"[{', '.join(_data(item) for item in value)}]"
        case dict() if value and all(isinstance(item, _TYPES) for item in value.values()):
            return f"new ArgMap{_parameters(value.items())}"
        case dict():
            return "{" + ", ".join(f"{key}={_data(item)}" for key, item in value.items()) + "}"
        case _ if isinstance(value, _VALUES):
            return render(value)
        case _:
            raise TypeError(f"an annotation cannot hold a {type(value).__name__}: {value!r}")


def _parameters(parameters: Iterable[tuple[str, Type]]) -> str:
    return "(" + ", ".join(f"{name} : {type_}" for name, type_ in parameters) + ")"


def _dataset(dataset: decl.Dataset) -> str:
    language = "" if dataset.language is None else f" language {quote(dataset.language)}"
    examples = (f"  {_example(example)}" for example in dataset.examples)
    return "\n".join([f"dataset @{dataset.name}{language} {{", *examples, "}"])


def _example(example: decl.DatasetExample) -> str:
    parameters = f" {_parameters(example.parameters)}" if example.parameters else ""
    body = render(example.body)
    utterances = ""
    if example.utterances:
        utterances = f"\n  #_[utterances={_data(example.utterances)}]"
    annotations = _below(example.annotations)
    return f"{example.kind}{parameters} := {body}{utterances}{annotations};"
