"""From syntax trees to the pieces of synthesis: the part of a template body without children."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter, Signature, Signatures
from genie_dp.languages.thingtalk import ast, values
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.operators import CONTACT
from genie_dp.languages.thingtalk.placeholders import uses
from genie_dp.languages.thingtalk.predicates import (
    canonical_predicate,
    left_text,
    value_names,
)
from genie_dp.languages.thingtalk.scope import EMPTY, Scope, constant_type, scope_of
from genie_dp.languages.thingtalk.tokens import TokenPrinter, tokens
from genie_dp.languages.thingtalk.traverse import functions_used, qualify, source_calls
from genie_dp.languages.units import SHIPPED, Units

SEVERAL = ""
"""The name of what is said of several outputs at once, as PredicateState has it."""
_NO_MATTER = re.compile(r"#|\b(?:an?|the)\b")


def said_of_both(outer: Signature, inner: Iterable[Signature]) -> tuple[str, ...]:
    """Return the outputs of `outer` whose phrases fit an output of one of `inner`, sorted.

    SEVERAL is always among them: a guard does not see the parts of "posted by alice or liked".

    >>> def query(name, *outputs):
    ...     return Signature("x", name, "query", outputs)
    >>> by, written = ("by #",), ("written by #", "by #")
    >>> tweets = query("tweets", Parameter("sender", "out", ty.STRING, phrases=by),
    ...                Parameter("text", "out", ty.STRING, phrases=("text",)))
    >>> news = query("news", Parameter("author", "out", ty.STRING, phrases=written))
    >>> said_of_both(tweets, [news])
    ('', 'sender')
    """
    taken: dict[str, list[ty.Type]] = {}
    for parameter in (p for signature in inner for p in signature.outputs):
        for phrase in _phrases(parameter):
            taken.setdefault(phrase, []).append(_element(parameter.type))
    names = {SEVERAL}
    for parameter in outer.outputs:
        type_ = _element(parameter.type)
        if any(
            _alike(type_, taken_type)
            for phrase in _phrases(parameter)
            for taken_type in taken.get(phrase, ())
        ):
            names.add(parameter.name)
    return tuple(sorted(names))


def _phrases(parameter: Parameter) -> Iterator[str]:
    """Yield the phrases of a parameter, without articles; its name if it has no phrase."""
    for phrase in parameter.phrases or (parameter.name.replace("_", " "),):
        yield " ".join(_NO_MATTER.sub(" ", phrase).split())


def _element(type_: ty.Type) -> ty.Type:
    while isinstance(type_, ty.Array):
        type_ = type_.element
    return type_


def _alike(one: ty.Type, other: ty.Type) -> bool:
    """Return whether some value of one type has the same words as one of the other."""
    if isinstance(one, ty.Enum) and isinstance(other, ty.Enum):
        return bool(set(one.values) & set(other.values))
    return str(one) == str(other)


_PRIVATE = re.compile("[\ue000-\uf8ff]")  # synthesis writes placeholders as such characters
Open = Mapping[str, str]
"""Placeholders left open -> the key under which something may be passed into them."""


class Lifter:
    """Makes pieces of whole syntax trees; one for each library."""

    def __init__(self, library: Signatures):
        self.library = library
        self.printer = TokenPrinter(library)
        self._outputs: dict[tuple[str, ...], frozenset[str]] = {}
        self._types: dict[str, Mapping[str, ty.Type]] = {}
        self._text_lists: tuple[str, ...] | None = None
        self._inner: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    # ------------------------------------------------------------------------- the library

    def signature(self, qualified: str, node: Any = None) -> Signature:
        """Return the function of that name, such as @com.gmail.inbox, or raise GenieError."""
        class_name, _, name = qualified.removeprefix("@").rpartition(".")
        signature = self.library.function(class_name, name)
        if signature is None:
            hint = did_you_mean(class_name, self.library.class_names())
            if class_name in self.library.class_names():
                hint = did_you_mean(name, self.library.function_names(class_name))
            span = getattr(node, "span", None)
            raise GenieError(Problem("T001", f"unknown function {qualified}", span, hint))
        return signature

    def may_commute(self, left: values.QueryValue, right: values.QueryValue) -> bool:
        """Return whether two queries share no output name."""
        return not self._outputs_of(left.functions) & self._outputs_of(right.functions)

    def inner(
        self, left: values.QueryValue, right: values.QueryValue, *, passes: bool = True
    ) -> tuple[str, ...]:
        """Return the outputs of a join of two queries that conditions on either may use (inner.py).

        Empty if left is no list: no condition picks from a single result. All of both sides if
        nothing passes: "my tasks and my emails" are equals.
        """
        if not passes:
            return SEVERAL, *sorted(self._outputs_of(left.functions + right.functions))
        if not left.state.is_list:
            return ()
        key = right.state.function, left.functions
        if key not in self._inner:
            inner = [self.signature(f) for f in left.functions]
            self._inner[key] = said_of_both(self.signature(right.state.function), inner)
        return self._inner[key]

    def monitor(self, query: values.QueryValue, on_new: Iterable[str]) -> values.StreamValue | None:
        """Return `monitor (query) on new [names]`; all outputs of one function are no restriction.

        `on_new` holds typed names, in any order.
        """
        names = tuple(sorted(set(on_new)))
        if (
            not query.left
            and not query.is_wrapped
            and len(names) == len(self._outputs_of((query.state.function,)))
        ):
            names = ()
        return values.monitor(query, names)

    def _outputs_of(self, functions: tuple[str, ...]) -> frozenset[str]:
        if functions not in self._outputs:
            self._outputs[functions] = frozenset(
                p.name for f in functions for p in self.signature(f).outputs
            )
        return self._outputs[functions]

    def output_types(self, function: str) -> Mapping[str, ty.Type]:
        """Return the types of a function's outputs by name."""
        if function not in self._types:
            outputs = self.signature(function).outputs
            self._types[function] = {p.name: p.type for p in outputs}
        return self._types[function]

    def has_output(self, function: str, name: str) -> bool:
        """Return whether a function has an output of that name."""
        return name in self._outputs_of((function,))

    def owner(self, value: values.QueryValue | values.StreamValue, name: str) -> str:
        """Return the function whose output a name means after a query or a stream, "" if none.

        Of those with an output of that name it is the right-most one.
        """
        last = value.state.function
        if not last or (self.has_output(last, name) and not value.state.is_projected):
            return last
        # Functions of conditions are among those of the piece, and have no outputs here.
        node: Any = piece_from_tokens(_PRIVATE.sub("NUMBER_0", value.text), value.kind)
        while isinstance(node, ast.Monitor | ast.Edge):
            node = node.query if isinstance(node, ast.Monitor) else node.stream
        if isinstance(node, ast.Projection) and not node.keeps_all:
            names = {ast.computed_name(output) for output in node.values}
            node = node.query if name in names else None
        if node is None:
            return ""
        calls = [qualify(call) for call in source_calls(node)]
        return next((f for f in reversed(calls) if self.has_output(f, name)), "")

    def gap_keys(self, parameter: Parameter) -> Iterator[str]:
        """Yield the keys under which a parameter may be passed into."""
        if self._text_lists is None:
            text_lists = {
                parameter.value_list
                for class_name in self.library.class_names()
                for name in self.library.function_names(class_name)
                if (signature := self.library.function(class_name, name)) is not None
                for parameter in signature.outputs
                if parameter.value_list and parameter.type == ty.STRING
            }
            self._text_lists = tuple(sorted(text_lists))
        return gap_keys(parameter, self._text_lists, self.library.units)

    # -------------------------------------------------------------------------------- pieces

    def lift(self, node: Any, opened: Open, function: str = "") -> Any:
        """Return the piece of a tree without holes; `function` has the outputs of a predicate.

        Raises:
            GenieError: a function or name that the library does not know.
        """
        match node:
            case ast.Program() | ast.Policy():
                return self._program(node)
            case ast.Rule():
                return self._program(ast.Program((node,)))
            case ast.Call() if self.signature(qualify(node), node).kind == "action":
                action = _only_rule(canonical(_as_program(action=node), self.library)).action
                return self._action(action if isinstance(action, ast.Call) else node, opened)
            case ast.OutputOf(query, output):
                value = self.lift(query, opened)
                return None if value is None else self.source(value, output, node)
        match ast.kind_of(node):
            case "query":
                rule = _only_rule(canonical(_as_program(query=node), self.library))
                return None if rule.query is None else self.query(rule.query, opened)
            case "stream":
                rule = _only_rule(canonical(_as_program(stream=node), self.library))
                return None if rule.stream is None else self.stream(rule.stream)
            case "predicate":
                return self.predicate(node, function)
            case _:
                return self._constant(node)

    def source(
        self, query: values.QueryValue, output: str, node: Any = None
    ) -> values.SourceValue | None:
        """Return an output of a query, or None where it cannot be passed on."""
        function = query.state.function
        if query.gap or not function or query.state.is_projected:
            return None
        typed = self.type_parameter(function, output, node)
        parameter = self.signature(function).parameter(output)
        type_ = ty.STRING if parameter is None else parameter.type
        is_numeric = ty.is_number(type_)
        state = values.source_state(
            function,
            output,
            typed.split(":", 2)[2],
            self.output_key(function, output),
            query.state.is_list,
            query.state.is_monitorable,
            query.state.is_join,
            parameter is not None and parameter.unique,
            is_numeric,
            is_numeric or type_ in (ty.DATE, ty.TIME),
            isinstance(type_, ty.Enum),
            query.state.filters,
            query.state.inputs,
            query.state.attached,
        )
        return values.SourceValue(query, typed, state, slots=query.slots)

    def _constant(self, node: ast.Value) -> values.ConstantValue:
        type_ = constant_type(node) or ty.ANY
        state = values.ConstantState(
            str(type_), passing_key(Parameter("", "out", type_), self.library.units)
        )
        return values.ConstantValue(self.write(node, EMPTY), state, node)

    def _program(self, node: ast.Program | ast.Policy) -> values.ProgramValue:
        form = canonical(node, self.library)
        functions = tuple(qualify(f) for f in functions_used(form))
        state = values.POLICY if isinstance(form, ast.Policy) else values.PROGRAM
        text = tokens(form, self.library)
        return values.ProgramValue(text, functions, state, slots=tuple(uses(self.library, form)))

    def query(self, node: ast.Query, opened: Open) -> values.QueryValue | None:
        """Return the piece of a canonical query."""
        match node:
            case ast.Call():
                return self._call(node, opened)
            case ast.Filter(inner, predicate):
                value = self.query(inner, opened)
                if value is None:
                    return None
                condition = self._clauses(predicate, value.state.function)
                predicate_value = values.PredicateValue(
                    condition, (), values.predicate_state(value.state.function)
                )
                predicate_value.functions = tuple(qualify(f) for f in functions_used(predicate))
                return values.filter_query(value, predicate_value)
            case ast.Join(left, right, passing):
                return self._join(left, right, passing, opened)
            case ast.Aggregate(operator, name, inner):
                value = self.query(inner, opened)
                if value is None:
                    return None
                field = self.type_parameter(value.state.function, name, node) if name else ""
                return values.aggregate(value, operator, field)
            case ast.Projection() | ast.Sort() | ast.Slice():
                return self._wrap_query(node, opened)
            case ast.Hole():
                raise TypeError("a hole is no whole tree")
            case _:
                assert_never(node)

    def _wrap_query(
        self, node: ast.Projection | ast.Sort | ast.Slice, opened: Open
    ) -> values.QueryValue | None:
        value = self.query(node.query, opened)
        if value is None:
            return None
        match node:
            case ast.Projection(_, outputs, keeps_all):
                written = [self.write(output, self.scope(value, output)) for output in outputs]
                wrapped = values.project_query(value, written, keeps_all=keeps_all)
            case ast.Sort(_, key, direction):
                key_text = self.write(key, self.scope(value, key))
                wrapped = values.sort_query(value, key_text, direction)
            case ast.Slice(_, start, end):
                last = "" if end is None else self.write(end, EMPTY)
                wrapped = values.slice_query(value, self.write(start, EMPTY), last)
            case _:
                assert_never(node)
        if wrapped is not None:
            own = replace(node, query=ast.Hole("", "query"))
            wrapped.slots = (*value.slots, *uses(self.library, own, value.state.function))
        return wrapped

    def scope(self, query: values.QueryValue, node: Any) -> Scope:
        """Return the types of the outputs of a query that a value speaks of."""
        types: dict[str, ty.Type] = {}
        for name in value_names(node):
            owner = self.owner(query, name)
            if owner:
                types[name] = self.output_types(owner)[name]
        return Scope(types)

    def write(self, node: ast.Value, scope: Scope) -> str:
        """Return a value in token form."""
        return self.printer.value(node, scope)

    def _join(
        self, left: ast.Query, right: ast.Query, passing: tuple[ast.Arg, ...], opened: Open
    ) -> values.QueryValue | None:
        a, b = self.query(left, opened), self.query(right, opened)
        if a is None or b is None:
            return None
        may_commute = not passing and self.may_commute(a, b)
        inner = self.inner(a, b, passes=bool(passing))
        value = values.join_queries(a, b, may_commute=may_commute, inner=inner)
        if value is not None and passing:
            value.tail = "".join(
                f" on {self.type_parameter(b.state.function, arg.name, arg)}"
                f" = {self.type_parameter(a.state.function, arg.value.name, arg)}"
                for arg in passing
                if isinstance(arg.value, ast.VarRef)
            )
        return value

    def _call(self, call: ast.Call, opened: Open) -> values.QueryValue:
        signature = self.signature(qualify(call), call)
        text, gap, gap_text = self._call_text(call, signature, opened)
        state = values.query_state(
            signature.qualified, signature.class_name, signature.is_list, signature.is_monitorable,
            is_dated=any(p.type == ty.DATE and "date" in p.name for p in signature.outputs),
            inputs=_said_inputs(call, signature),
        )  # fmt: skip
        slots = tuple(uses(self.library, call))
        return values.QueryValue(
            text, (signature.qualified,), state, gap=gap, gap_text=gap_text, slots=slots
        )

    def _action(self, call: ast.Call, opened: Open) -> values.ActionValue:
        signature = self.signature(qualify(call), call)
        text, gap, gap_text = self._call_text(call, signature, opened)
        state = values.ActionState(
            signature.qualified, signature.class_name, _said_inputs(call, signature)
        )
        slots = tuple(uses(self.library, call))
        return values.ActionValue(text, (signature.qualified,), state, gap, gap_text, slots)

    def _call_text(
        self, call: ast.Call, signature: Signature, opened: Open
    ) -> tuple[str, str, str]:
        gap = gap_text = ""
        kept_args = []
        for arg in call.args:
            if isinstance(arg.value, ast.VarRef) and arg.value.name in opened:
                gap = opened[arg.value.name]
                gap_text = self.type_parameter(signature.qualified, arg.name, arg)
            else:
                kept_args.append(arg)
        shortened = ast.Call(call.selector, call.function, tuple(kept_args), span=call.span)
        return self.printer.call(shortened, EMPTY)[0], gap, gap_text

    def inputs(self, call: ast.Call) -> tuple[tuple[str, str], ...]:
        """Return the inputs of a call as (name, tokens), in the order of the names."""
        inputs = scope_of(self.signature(qualify(call), call).inputs)
        args = sorted(call.args, key=lambda arg: arg.name)
        return tuple(
            (arg.name, text)
            for arg in args
            for text in self.printer.arguments((arg,), inputs, EMPTY)
        )

    def stream(self, node: ast.Stream) -> values.StreamValue | None:
        """Return the piece of a canonical stream."""
        match node:
            case ast.AtTimer() | ast.Timer():
                text, _ = self.printer.stream(node)
                slots = tuple(uses(self.library, node))
                state = values.stream_state("", is_timer=True)
                return values.StreamValue(text, (), state, slots=slots)
            case ast.Monitor(query, on_new):
                value = self.query(query, {})
                if value is None:
                    return None
                names = [self.type_parameter(value.state.function, name, node) for name in on_new]
                return self.monitor(value, names)
            case ast.Edge(inner, predicate):
                stream = self.stream(inner)
                if stream is None:
                    return None
                condition = self.predicate(predicate, stream.state.function)
                return None if condition is None else values.edge(stream, condition)
            case _:
                message = "this stream cannot stand in a template: filter inside of the monitor"
                raise GenieError(Problem("G030", message, node.span))

    def predicate(self, node: ast.Predicate, function: str) -> values.PredicateValue | None:
        """Return the piece of a predicate on the outputs of a function; None if it is constant."""
        form = canonical_predicate(node)
        if isinstance(form, ast.TrueP | ast.FalseP):
            return None
        functions = tuple(qualify(f) for f in functions_used(form))
        state = values.predicate_state(function)
        if isinstance(form, ast.Atom):
            state = values.predicate_state(function, form.name, form.operator)
        return values.PredicateValue(self._clauses(form, function), functions, state)

    def source_predicate(self, node: ast.Predicate) -> str:
        """Return the text of a policy's condition on the person."""
        policy = canonical(ast.Policy(node, None, None), self.library)
        if not isinstance(policy, ast.Policy):
            raise TypeError("a policy stays a policy")
        return self.printer.predicate(policy.source, Scope({"source": CONTACT}), EMPTY)

    def _clauses(self, node: ast.Predicate, function: str) -> tuple[values.Clause, ...]:
        fields = EMPTY
        if function:
            fields = scope_of(self.signature(function).parameters)
        clauses = node.operands if isinstance(node, ast.And) else (node,)
        return tuple(
            tuple(
                self._operand(atom, fields)
                for atom in (clause.operands if isinstance(clause, ast.Or) else (clause,))
            )
            for clause in clauses
        )

    def _operand(self, node: ast.Predicate, fields: Scope) -> values.Operand:
        text = self.printer.condition(node, fields, fields)
        inner = node.operand if isinstance(node, ast.Not) else node
        rank = 1 if isinstance(node, ast.Not) else 2
        match inner:
            case ast.Atom(name, operator, value):
                return (rank, name, operator, self.write(value, fields), text)
            case ast.Comparison(_, operator, value):
                return (rank, left_text(inner), operator, self.write(value, fields), text)
            case ast.GetPredicate(call):
                return (0 if rank == 2 else 1, qualify(call), "", text, text)
            case _:
                raise TypeError(f"no comparison: {inner!r}")

    # ---------------------------------------------------------------------------- parameters

    def type_parameter(self, function: str, name: str, node: Any = None) -> str:
        """Return a parameter as tokens write it, such as param:title:String."""
        parameter = self.signature(function, node).parameter(name)
        if parameter is None:
            names = [p.name for p in self.signature(function).parameters]
            message = f"{function} has no parameter {name!r}"
            span = getattr(node, "span", None)
            raise GenieError(Problem("T003", message, span, did_you_mean(name, names)))
        return f"param:{name}:{parameter.type}"

    def output_key(self, function: str, name: str) -> str:
        """Return the passing key of an output, "" if it has none."""
        parameter = self.signature(function).parameter(name)
        return "" if parameter is None else passing_key(parameter, self.library.units)


def _said_inputs(call: ast.Call, signature: Signature) -> tuple[str, ...]:
    """Return the inputs that a call sets or leaves open, of those that have phrases, sorted."""
    phrased = {p.name for p in signature.inputs if p.phrases}
    return tuple(sorted(arg.name for arg in call.args if arg.name in phrased))


def _as_program(
    *,
    stream: ast.Stream | None = None,
    query: ast.Query | None = None,
    action: ast.Action | None = None,
) -> ast.Program:
    return ast.Program((ast.Rule(stream, query, action or ast.Notify()),))


def _only_rule(program: ast.Program | ast.Policy) -> ast.Rule:
    if not isinstance(program, ast.Program) or len(program.rules) != 1:
        raise TypeError("expected a program of one rule")
    return program.rules[0]


# ------------------------------------------------------ which output may fill which input


# Value lists of free text: whatever is said in words may be passed there, not links or ids.
FREE_TEXT = frozenset({"tt:long_free_text", "tt:short_free_text", "tt:long_text", "tt:short_text"})


def passing_key(parameter: Parameter, units: Units = SHIPPED) -> str:
    """Return the key of an output: the input it can be passed as; "" if none.

    Same type; for text the same value list, or without a list the same name, since names are used
    alike across skills; numbers only by name. Pictures, links and ids are entities, so they never
    go into text.

    >>> passing_key(Parameter("link", "out", ty.Entity("tt:url")))
    'Entity(tt:url)'
    >>> passing_key(Parameter("title", "out", ty.STRING, value_list="tt:news_headline"))
    'String tt:news_headline'
    """
    match parameter.type:
        case ty.Enum() | ty.Array():
            return ""
        case ty.Measure(unit):
            return f"Measure({units.base(unit)})"
        case ty.Entity(kind):
            return f"Entity({kind})"
        case ty.Basic() as basic if basic == ty.STRING:
            return f"String {parameter.value_list or parameter.name}"
        case ty.Basic() as basic if basic == ty.NUMBER:
            return f"Number {parameter.value_list or parameter.name}"
        case ty.Basic() as basic:
            return "" if basic == ty.BOOLEAN else basic.name


def gap_keys(
    parameter: Parameter, text_lists: tuple[str, ...], units: Units = SHIPPED
) -> Iterator[str]:
    """Yield the keys that an input takes: its own, and those it accepts.

    An input of free text that names no lists takes every one of the library, `text_lists`.
    """
    own = passing_key(parameter, units)
    if not own:
        return
    keys = dict.fromkeys([own])
    if parameter.type == ty.STRING:
        keys.update(dict.fromkeys(f"String {name}" for name in parameter.accepts))
        if parameter.value_list in FREE_TEXT and not parameter.accepts:
            keys.update(dict.fromkeys(f"String {name}" for name in text_lists))
    else:
        keys.update(dict.fromkeys(parameter.accepts))
    yield from keys
