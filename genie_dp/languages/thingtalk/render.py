"""Syntax tree to text, in the one spelling that we print; reading it back gives the same tree."""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, assert_never, get_args

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk import declarations as decl
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
        case ast.Program():
            return _program(node)
        case ast.Policy():
            return _policy(node)
        case ast.PolicyFunction():
            return _policy_function(node)
        case ast.Rule():
            return _rule(node)
        case ast.Arg():
            return _arg(node)
        case ast.Selector():
            return _selector(node)
        case ast.OutputOf():
            return _output_of(node)
        case ast.Lambda():
            return _lambda(node)
        case decl.ClassDef() | decl.Dataset() | decl.DatasetExample():
            return _definition(node)
        case ast.Notify():
            return _action(node)
        case _:
            return _part(node)


def _part(node: ast.Query | ast.Stream | ast.Predicate | ast.Value) -> str:
    match node:
        case ast.Call() | ast.Filter() | ast.Join() | ast.Aggregate() | ast.Hole():
            return _query(node)
        case ast.Projection() | ast.Sort() | ast.Slice():
            return _query(node)
        case (
            ast.AtTimer()
            | ast.Timer()
            | ast.Monitor()
            | ast.Edge()
            | ast.StreamFilter()
            | ast.StreamJoin()
        ):
            return _stream(node)
        case (
            ast.TrueP()
            | ast.FalseP()
            | ast.Not()
            | ast.And()
            | ast.Or()
            | ast.Atom()
            | ast.Comparison()
            | ast.GetPredicate()
        ):
            return _predicate(node)
        case _:
            return _value(node)


def render_type(type_: Type) -> str:
    """Return a type as it is declared.

    >>> render_type(Array(Entity("tt:hashtag"))), render_type(Enum(("on", "off")))
    ('Array(Entity(tt:hashtag))', 'Enum(on,off)')
    """
    return str(type_)


def quote(text: str) -> str:
    r"""Return a text as a string literal.

    >>> print(quote('say "hi"\n'))
    "say \"hi\"\n"
    """
    return json.dumps(text, ensure_ascii=False)


def _output_of(output_of: ast.OutputOf) -> str:
    match output_of:
        case ast.OutputOf(ast.Hole(name, "query", None), output):
            return f"{name}.{output}"
        case ast.OutputOf(query, output):
            return f"({_query(query)}).{output}"


def _lambda(fragment: ast.Lambda) -> str:
    names = frozenset(fragment.untyped)

    def mark(part: Any) -> Any:
        is_placeholder = isinstance(part, ast.VarRef) and part.name in names
        return ast.VarRef(f"${part.name}") if is_placeholder else part

    body = render(rewrite(fragment.body, mark) if names else fragment.body)
    return f"\\{_parameters(fragment.parameters)} -> {body}" if fragment.parameters else body


# ---------------------------------------------------------------------------------- programs


def _program(program: ast.Program) -> str:
    if len(program.rules) == 1:
        return _rule(program.rules[0])
    return "{ " + " ".join(f"{_rule(rule)};" for rule in program.rules) + " }"


def _rule(rule: ast.Rule) -> str:
    parts = ["now" if rule.stream is None else _stream(rule.stream)]
    if rule.query is not None:
        parts.append(_query(rule.query))
    parts.append(_action(rule.action))
    return " => ".join(parts)


def _action(action: ast.Action) -> str:
    match action:
        case ast.Notify():
            return "notify"
        case ast.Call():
            return _call(action)
        case ast.Hole():
            return _hole(action)
        case _:
            assert_never(action)


def _policy(policy: ast.Policy) -> str:
    source = _predicate(policy.source)
    action = "notify" if policy.action is None else _policy_function(policy.action)
    if policy.query is None:
        return f"{source} : now => {action}"
    query = _policy_function(policy.query)
    now = "now => " if policy.action is None else ""
    return f"{source} : {now}{query} => {action}"


def _policy_function(function: ast.PolicyFunction | ast.Hole) -> str:
    if isinstance(function, ast.Hole):
        return _hole(function)
    if function.class_name is None:
        return "*"
    if function.function is None:
        return f"@{function.class_name}.*"
    name = f"@{function.class_name}.{function.function}"
    if isinstance(function.predicate, ast.TrueP):
        return name
    return f"{name} filter {_predicate(function.predicate)}"


def _stream(stream: ast.Stream) -> str:
    match stream:
        case ast.AtTimer(time):
            return f"attimer(time = {_value(time)})"
        case ast.Timer(base, interval):
            return f"timer(base = {_value(base)}, interval = {_value(interval)})"
        case ast.Monitor(query, ()):
            return f"monitor ({_query(query)})"
        case ast.Monitor(query, (field,)):
            return f"monitor ({_query(query)}) on new {field}"
        case ast.Monitor(query, fields):
            return f"monitor ({_query(query)}) on new [{', '.join(fields)}]"
        case ast.Edge(inner, predicate):
            return f"edge ({_stream(inner)}) on {_predicate(predicate)}"
        case ast.StreamFilter(inner, predicate):
            return f"({_stream(inner)}) filter {_predicate(predicate)}"
        case ast.StreamJoin(inner, query, ()):
            return f"({_stream(inner)} => {_query(query)})"
        case ast.StreamJoin(inner, query, passing):
            return f"({_stream(inner)} => ({_query(query)}) on ({_args(passing)}))"
        case ast.Hole():
            return _hole(stream)
        case _:
            assert_never(stream)


def _query(query: ast.Query) -> str:
    match query:
        case ast.Call():
            return _call(query)
        case ast.Filter(inner, predicate):
            return f"({_query(inner)}) filter {_predicate(predicate)}"
        case ast.Join(left, right, passing):
            on = f" on ({_args(passing)})" if passing else ""
            return f"({_query(left)}) join ({_query(right)}){on}"
        case ast.Aggregate(operator, None, inner):
            return f"agg {operator} of ({_query(inner)})"
        case ast.Aggregate(operator, field, inner):
            return f"agg {operator} {field} of ({_query(inner)})"
        case ast.Projection(inner, values, keeps_all):
            names = ["*"] * keeps_all + [_value(value) for value in values]
            return f"[{', '.join(names)}] of ({_query(inner)})"
        case ast.Sort(inner, key, direction):
            return f"sort({_value(key)} {direction} of ({_query(inner)}))"
        case ast.Slice(inner, start, end):
            last = "" if end is None else f" : {_value(end)}"
            taken = _query(inner) if isinstance(inner, ast.Sort) else f"({_query(inner)})"
            return f"{taken}[{_value(start)}{last}]"
        case ast.Hole():
            return _hole(query)
        case _:
            assert_never(query)


def _hole(hole: ast.Hole) -> str:
    if hole.inputs:
        return f"{hole.name}({_args(hole.inputs)})"
    return hole.name if hole.argument is None else f"{hole.name}({hole.argument})"


def _call(call: ast.Call) -> str:
    return f"{_selector(call.selector)}.{call.function}({_args(call.args)})"


def _selector(selector: ast.Selector) -> str:
    attributes = f"({_args(selector.attributes)})" if selector.attributes else ""
    return f"@{selector.class_name}{attributes}"


def _args(args: Iterable[ast.Arg]) -> str:
    return ", ".join(_arg(arg) for arg in args)


def _arg(arg: ast.Arg) -> str:
    return f"{arg.name} = {_value(arg.value)}"


# -------------------------------------------------------------------------------- predicates


def _predicate(predicate: ast.Predicate | ast.Hole) -> str:
    match predicate:
        case ast.TrueP():
            return "true"
        case ast.FalseP():
            return "false"
        case ast.Not(ast.Atom() | ast.Comparison() | ast.And() | ast.Or() as operand):
            return f"!({_predicate(operand)})"
        case ast.Not(operand):
            return f"!{_predicate(operand)}"
        case ast.And(operands):
            return " && ".join(_operand(o, (ast.And, ast.Or)) for o in operands)
        case ast.Or(operands):
            return " || ".join(_operand(o, (ast.Or,)) for o in operands)
        case ast.Atom(name, operator, value):
            return f"{name} {operator} {_value(value)}"
        case ast.Comparison(left, operator, value):
            return f"{_value(left)} {operator} {_value(value)}"
        case ast.GetPredicate(call, inner):
            return f"{_call(call)} {{ {_predicate(inner)} }}"
        case ast.Hole():
            return _hole(predicate)
        case _:
            assert_never(predicate)


def _operand(operand: ast.Predicate, looser: tuple[type, ...]) -> str:
    text = _predicate(operand)
    return f"({text})" if isinstance(operand, looser) else text


# ------------------------------------------------------------------------------------ values


def _value(value: ast.Value) -> str:
    match value:
        case ast.StringValue(text):
            return quote(text)
        case ast.NumberValue(number):
            return number_token(number)
        case ast.BooleanValue(truth):
            return "true" if truth else "false"
        case ast.EnumValue(name):
            return f"enum({name})"
        case ast.MeasureValue(parts):
            return " + ".join(f"{number_token(amount)}{unit}" for amount, unit in parts)
        case ast.CurrencyValue(amount, code):
            return f"makeCurrency({number_token(amount)}, {code})"
        case ast.EntityValue(text, kind, display):
            display_text = "" if display is None else f"({quote(display)})"
            return f"{'null' if text is None else quote(text)}^^{kind}{display_text}"
        case ast.ArrayValue(items):
            return f"[{', '.join(map(_value, items))}]"
        case ast.SlotValue(token, unit):
            return token + unit
        case ast.VarRef(name):
            return name
        case ast.Computed() | ast.ListFilter():
            return _computed(value)
        case _:
            return _situation(value)


def _computed(value: ast.Computed | ast.ListFilter) -> str:
    match value:
        case ast.Computed(operator, arguments):
            return f"{operator}({', '.join(map(_value, arguments))})"
        case ast.ListFilter(name, predicate):
            return f"{name} filter {_predicate(predicate)}"
        case _:
            assert_never(value)


def _situation(
    value: ast.Undefined
    | ast.EventValue
    | ast.ContextValue
    | ast.LocationValue
    | ast.DateValue
    | ast.DateNow
    | ast.DateEdge
    | ast.DateOffset
    | ast.TimeValue,
) -> str:
    """Return a value that the moment or place of execution gives, a time or a place."""
    match value:
        case ast.Undefined():
            return "$?"
        case ast.EventValue():
            return "$event"
        case ast.ContextValue(path):
            return ".".join(("$context", *path))
        case ast.LocationValue():
            return _place(value)
        case _:
            return _date(value)


def _place(value: ast.LocationValue) -> str:
    parts = [number_token(n) for n in (value.latitude, value.longitude) if n is not None]
    parts += [] if value.display is None else [quote(value.display)]
    return f"makeLocation({', '.join(parts)})"


def _date(
    value: ast.DateValue | ast.DateNow | ast.DateEdge | ast.DateOffset | ast.TimeValue,
) -> str:
    match value:
        case ast.DateValue(iso):
            return f"new Date({quote(iso)})"
        case ast.DateNow():
            return "now"
        case ast.DateEdge(edge, unit):
            return f"{edge}({unit})"
        case ast.DateOffset(base, sign, ast.MeasureValue((_, _, *_)) as duration):
            return f"{_value(base)} {sign} ({_value(duration)})"
        case ast.DateOffset(base, sign, duration):
            return f"{_value(base)} {sign} {_value(duration)}"
        case ast.TimeValue(hour, minute, 0):
            return f"makeTime({hour}, {minute})"
        case ast.TimeValue(hour, minute, second):
            return f"makeTime({hour}, {minute}, {second})"
        case _:
            assert_never(value)


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


def _definition(definition: decl.ClassDef | decl.Dataset | decl.DatasetExample) -> str:
    match definition:
        case decl.ClassDef():
            return render_class(definition)
        case decl.Dataset():
            return _dataset(definition)
        case decl.DatasetExample():
            return _example(definition)
        case _:
            assert_never(definition)


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
        f"{p.direction} {p.name} : {render_type(p.type)}{_inline(p.annotations)}"
        for p in item.params
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
            return _value(value)
        case _:
            raise TypeError(f"an annotation cannot hold a {type(value).__name__}: {value!r}")


def _parameters(parameters: Iterable[tuple[str, Type]]) -> str:
    return "(" + ", ".join(f"{name} : {render_type(type_)}" for name, type_ in parameters) + ")"


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
