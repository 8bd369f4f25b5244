"""Template bodies compiled: a tree with holes becomes one function over pieces.

The parts of a body without queries, streams or actions of children (`p > v`, `attimer time = t`)
are put together as trees, once for each choice of parameter and constant, and remembered. The rest
is a nest of the operations of values.py.

Whatever the children are, the results are well-typed. A tree is type-checked once for each choice;
an operation is once for each function and name. Children that make no well-typed program are
refused: `build` returns None, and `Body.refused` counts the mistake. Children that are refused for
another reason (a join of a function with itself, a name filtered twice) are no mistake.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.thingtalk import ast, values
from genie_dp.languages.thingtalk.lift import Lifter
from genie_dp.languages.thingtalk.operators import is_numeric
from genie_dp.languages.thingtalk.placeholders import uses
from genie_dp.languages.thingtalk.predicates import canonical_value, value_text
from genie_dp.languages.thingtalk.scope import EMPTY
from genie_dp.languages.thingtalk.traverse import functions_used, qualify, rewrite, walk
from genie_dp.languages.thingtalk.typecheck import check, check_outputs
from genie_dp.languages.types import Basic, Entity, Measure, Type, slot_stem

Children = Mapping[str, Any]
Build = Callable[[Children], Any]
_OUTPUTS = frozenset({"output", "input", "source"})  # kinds of children that name an output
_VALUES = _OUTPUTS | {"value", "table"}  # and that may stand for a value
_OF_TYPES = frozenset({"T002", "T008", "T010", "T012", "T025"})  # mistakes that a guard can tell


@dataclass(slots=True)
class Body:
    """A compiled body; implements languages.bodies.Fragment."""

    kind: str
    parameters: tuple[tuple[str, Any], ...]
    fills: Mapping[str, str]
    functions: tuple[str, ...]
    node: Any
    compiler: "_BodyCompiler" = field(repr=False)
    _build: Build | None = field(default=None, repr=False)

    @property
    def build(self) -> Build:
        """Return the function from children to the result, compiled when it is first asked for."""
        if self._build is None:
            self._build = self.compiler.compile(self.node)
        return self._build

    @property
    def refused(self) -> Counter[Problem]:
        """Return the type mistakes for which `build` returned None, counted."""
        return self.compiler.refused

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return all but the compiled function, which is one of this process."""
        return None, {**{f.name: getattr(self, f.name) for f in fields(self)}, "_build": None}


def compile_body(tree: ast.Lambda, holes: Mapping[str, str], lifter: Lifter) -> Body:
    """Return the body of a template; `holes` maps children to kinds.

    Raises:
        GenieError: the library does not know a function or parameter, or the construct cannot
            stand around a child.
    """
    _check_kinds(tree.body, holes)
    compiler = _BodyCompiler(holes, dict(tree.parameters), lifter)
    build = compiler.compile(tree.body)  # with its mistakes
    fills: dict[str, str] = {}
    for token, _, parameter in uses(lifter.library, _placeholders_as_slots(tree)):
        fills.setdefault(token, parameter)
    kind = ast.kind_of(tree.body)
    if isinstance(tree.body, ast.Call):
        kind = lifter.signature(qualify(tree.body), tree.body).kind
    functions = tuple(dict.fromkeys(qualify(used) for used in functions_used(tree.body)))
    return Body(kind, tree.parameters, fills, functions, tree.body, compiler, build)


def _check_kinds(body: Any, holes: Mapping[str, str]) -> None:
    """Refuse children that stand for a value, are passed on or set, and can be none of these."""

    def is_input(arg: ast.Arg) -> bool:
        return holes.get(arg.name) == "input"

    for part in walk(body):
        match part:
            case ast.VarRef(name) if holes.get(name, "value") not in _VALUES:
                message = f"{name!r} is a {holes[name]}: it cannot stand for a value"
            case ast.Hole(_, _, str() as name) if holes.get(name) not in _OUTPUTS:
                kind = holes.get(name)
                message = f"{name!r} is {'no child' if kind is None else f'a {kind}'}: only an "
                message += "output can be passed"
            case ast.Hole(_, _, _, inputs) if wrong := [a for a in inputs if not is_input(a)]:
                name, span = wrong[0].name, wrong[0].span
                message = f"{name!r} is no child of INPUT: nothing else names an input to be set"
                hint = "set an input: p:INPUT[pos=adverb, gap=v:VALUE], and a(p = v)"
                raise GenieError(Problem("G030", message, span, hint))
            case _:
                continue
        hint = "pass an output on: o:SOURCE, and a(o) for a child with a gap"
        raise GenieError(Problem("G030", message, part.span, hint))


def _placeholders_as_slots(tree: ast.Lambda) -> Any:
    names = {name for name, _ in tree.parameters}

    def change(node: Any) -> Any:
        if isinstance(node, ast.VarRef) and node.name in names:
            return ast.SlotValue(node.name)
        return node

    return rewrite(tree.body, change)


class _BodyCompiler:
    """Compiles one body. `children` are names of children by kind, `holes` lambda parameters too.

    A body without children was type-checked as a text, or by the reader that made its tree.
    """

    def __init__(self, children: Mapping[str, str], types: Mapping[str, Any], lifter: Lifter):
        self.children, self.types, self.lifter = children, types, lifter
        self.holes = {**children, **dict.fromkeys(types, "value")}
        self.outputs = {name for name, kind in children.items() if kind in _OUTPUTS}
        self.refused: Counter[Problem] = Counter()
        self.fitting: set[tuple[Any, ...]] = set()

    def _refuse(self, problem: Problem) -> None:
        """Count a type mistake for which children do not go together."""
        self.refused[problem] += 1

    def _once(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a key and the arguments of `make`; it makes the value of a key once.

        A type mistake is counted each time, and None comes back.
        """
        results: dict[tuple[str, ...], Any] = {}

        def find(key: tuple[str, ...], *parts: Any) -> Any:
            if key not in results:
                results[key] = make(*parts)
            value = results[key]
            if type(value) is Problem:
                self._refuse(value)
                return None
            return value

        return find

    # ---------------------------------------------------------------------------- dispatch

    def compile(self, node: Any) -> Build:  # noqa: C901 - one case for each construct
        if not any(isinstance(n, ast.Hole) for n in walk(node)):
            return self._whole(node)
        match node:
            case ast.Hole():
                return self._child(node)
            case ast.Filter(query, predicate):
                return self._filter(query, predicate)
            case ast.Join():
                return self._join(node)
            case ast.Aggregate():
                return self._aggregate(node)
            case ast.OutputOf():
                return self._output_of(node)
            case ast.Projection():
                return self._projection(node)
            case ast.Sort():
                return self._sort(node)
            case ast.Slice():
                return self._slice(node)
            case ast.Monitor():
                return self._monitor(node)
            case ast.Edge(stream, predicate):
                return self._edge(stream, predicate)
            case ast.Not(operand):
                return _map(self.compile(operand), values.negation)
            case ast.And(operands):
                return self._fold(operands, values.both)
            case ast.Or(operands):
                return self._fold(operands, values.disjunction)
            case ast.Program((rule,)):
                return self._rule(rule)
            case ast.Rule():
                return self._rule(node)
            case ast.Policy():
                return self._policy(node)
            case _:
                message = "children cannot stand inside of this construct"
                raise GenieError(Problem("G030", message, getattr(node, "span", None)))

    def _child(self, hole: ast.Hole) -> Build:
        if hole.argument is not None:
            message = f"{hole.name}({hole.argument}) can stand as the action, or right of a join"
            raise GenieError(Problem("G030", message, hole.span))
        if hole.inputs:
            return self._set_inputs(hole)
        name = hole.name
        return lambda pieces: pieces[name]

    def _set_inputs(self, hole: ast.Hole) -> Build:
        """Compile `a(p = v)`: the function of a child gets values for some of its inputs.

        One that is set already is not set again: children for that are refused, without a mistake.
        """
        names = tuple(sorted({*_names(hole)} & self.holes.keys() - {hole.name}))
        written = self._once(self._write_inputs)

        def build(pieces: Children) -> Any:
            value = pieces[hole.name]
            function = value.state.function
            key = (function, *[_name_of(pieces[name]) for name in names])
            arguments = written(key, hole, pieces, function)
            return None if arguments is None else values.set_inputs(value, arguments)

        return build

    def _write_inputs(
        self, hole: ast.Hole, pieces: Children, function: str
    ) -> tuple[tuple[str, str], ...] | Problem:
        """Return the inputs that a body sets as (name, tokens), or the type mistake they are."""
        for arg in hole.inputs:
            state = pieces[arg.name].state
            if state.function != function:
                of = function or "an aggregation"
                message = f"expected an input of {of} for '{arg.name}', got '{state.name}' of "
                hint = _guard_on([arg.name, hole.name], "function")
                return Problem("T009", message + state.function, arg.span, hint)

        def call(constant: Callable[[values.ConstantValue], ast.Value]) -> ast.Call:
            class_name, _, name = function.removeprefix("@").rpartition(".")
            args = (
                replace(
                    arg,
                    name=pieces[arg.name].state.name,
                    value=rewrite(arg.value, lambda n: _substitute(n, pieces, constant)),
                )
                for arg in hole.inputs
            )
            return ast.Call(ast.Selector(class_name), name, tuple(args))

        if problems := check(call(self._as_token), self.lifter.library, parameters=self.types):
            names = [name for name in _names(hole) if name != hole.name]
            return replace(problems[0], hint=_guard_on(names, "type") or problems[0].hint)
        return self.lifter.inputs(call(lambda constant: constant.node))

    # ------------------------------------------------------------------ trees without children

    def _whole(self, node: Any, function: Callable[[Children], str] | None = None) -> Build:
        """Compile a tree whose holes are parameters and constants only."""
        names = tuple(sorted(set(_names(node)) & set(self.holes)))
        if not names and function is None:
            value = self.lifter.lift(node, {})
            return lambda pieces: value
        lifted = self._once(self._lift_tree)

        def build(pieces: Children) -> Any:
            owner = function(pieces) if function else ""
            key = (owner, *[_name_of(pieces[name]) for name in names])
            return lifted(key, node, names, pieces, owner)

        return build

    def _lift_tree(self, node: Any, names: tuple[str, ...], pieces: Children, owner: str) -> Any:
        """Return the piece of a tree with these children, or the type mistake that it would be."""
        opened = {
            name: pieces[name].gap for name in names if isinstance(pieces[name], values.GapValue)
        }
        named = {name: pieces[name] for name in names if name not in opened}
        owner = next(
            (p.state.function for p in named.values() if isinstance(p, values.ParameterValue)),
            owner,
        )
        if isinstance(node, ast.VarRef) and isinstance(named.get(node.name), values.ConstantValue):
            return named[node.name]  # with its type, which a placeholder alone does not tell
        if self.children and (mistake := self._mistake(node, named, owner)):
            return mistake
        tree = rewrite(node, lambda n: _substitute(n, named))
        value = self.lifter.lift(tree, opened, owner)
        if value is not None:
            slots = tuple(uses(self.lifter.library, tree, owner))
            value = replace(value, slots=slots) if slots else value
        return value

    def _mistake(self, node: Any, named: Children, owner: str) -> Problem | None:
        """Return the first type mistake of a tree with these children."""
        speakers = [name for name, p in named.items() if isinstance(p, values.ParameterValue)]
        for name, piece in named.items():
            function = getattr(piece.state, "function", owner)
            if function != owner:
                return _of_another(node, name, piece, owner, speakers[0] if speakers else "")
        fields = self.lifter.output_types(owner) if owner else {}
        sorts = [_sort_of(piece, fields) for piece in named.values()]
        spoken = [fields.get(name) for name in _names(node)]
        # Inside of a call names are those of another function.
        key = (id(node), *sorts, *spoken)
        if key in self.fitting and not any(isinstance(part, ast.Call) for part in walk(node)):
            return None
        tree = rewrite(node, lambda n: _substitute(n, named, self._as_token))
        problems = check(tree, self.lifter.library, parameters=self.types, fields=fields)
        if not problems:
            self.fitting.add(key)
            return None
        if problems[0].code not in _OF_TYPES:
            return problems[0]
        typed = [name for name in named if self.children.get(name, "table") != "table"]
        return replace(problems[0], hint=_guard_on(typed, "type") or problems[0].hint)

    def _as_token(self, piece: values.ConstantValue) -> ast.Value:
        """Return a constant for the type checker: synthesis writes placeholders otherwise."""
        if not isinstance(piece.node, ast.SlotValue):
            return piece.node
        stem = slot_stem(_type_named(piece.state.type), self.lifter.library.units)
        return ast.Undefined() if stem is None else ast.SlotValue(f"{stem}_0", span=piece.node.span)

    def _condition(self, node: Any, owner: Callable[[Children], str]) -> Build:
        """Compile a predicate that speaks of the outputs of `owner`."""
        if any(isinstance(n, ast.Hole) for n in walk(node)):
            return self.compile(node)
        return self._whole(node, owner)

    # ------------------------------------------------------------------------------- queries

    def _query(self, node: Any) -> Build:
        """Compile a place where a query stands; a source gives its query."""
        if isinstance(node, ast.Hole) and node.argument is None and not node.inputs:
            name = node.name

            def child(pieces: Children) -> Any:
                value = pieces[name]
                return value.query if isinstance(value, values.SourceValue) else value

            return child
        build = self.compile(node)

        def query(pieces: Children) -> values.QueryValue | None:
            value = build(pieces)
            if isinstance(value, values.SourceValue):
                return value.query
            query_value: values.QueryValue | None = value
            return query_value

        return query

    def _filter(self, query: Any, predicate: Any) -> Build:
        inner = self._query(query)
        condition = self._condition(predicate, lambda pieces: _owner(inner(pieces)))

        def build(pieces: Children) -> values.QueryValue | None:
            value, test = inner(pieces), condition(pieces)
            if value is None or test is None:
                return None
            query_value = values.filter_query(value, test)
            if query_value is None and test.state.function not in (*value.functions, ""):
                self._refuse(self._foreign_condition(predicate, test, value, query))
            return query_value

        return build

    def _foreign_condition(self, predicate: Any, test: Any, value: Any, around: Any) -> Problem:
        """Return the mistake of a condition on the outputs of another function."""
        of = value.state.function or "an aggregation"
        message = f"expected a condition on the outputs of {of}, got one on {test.state.function}"
        hint = _guard_on([_hole_name(predicate), _hole_name(around)], "function")
        return Problem("T011", message, getattr(predicate, "span", None), hint)

    def _join(self, node: ast.Join) -> Build:
        left = self._query(node.left)
        if not isinstance(node.right, ast.Hole) or node.passing or node.right.inputs:
            message = "right of a join of children stands a child: q join r, o join r(o)"
            raise GenieError(Problem("G030", message, node.span))
        hole, right, argument = node.right, node.right.name, node.right.argument
        left_name = _hole_name(node.left)

        def build(pieces: Children) -> values.QueryValue | None:
            a, b = left(pieces), pieces[right]
            if a is None:
                return None
            if argument is None:
                may_commute = self.lifter.may_commute(a, b)
                inner = self.lifter.inner(a, b, passes=False)
                join = values.join_queries(a, b, may_commute=may_commute, inner=inner)
                if join is None and b.gap:
                    self._refuse(_left_open(hole))
                return join
            if left_name != argument and self._is_foreign(
                hole, argument, pieces[argument], left_name, a
            ):
                return None
            output, key = _output(pieces[argument])
            join = values.join_queries(a, b, output, key, inner=self.lifter.inner(a, b))
            if join is None and (b.gap != key or not key):
                self._refuse(_unfit_gap(hole, b, pieces[argument]))
            return join

        return build

    def _is_foreign(self, node: Any, name: str, piece: Any, near: str, *before: Any) -> bool:
        """Return whether a name is no output of the parts before it, and refuse it then.

        `before` are streams and queries, the last one first; `near` is the child that it is.
        """
        pieces = [value for value in before if value is not None]
        owners = (self.lifter.owner(value, piece.state.name) for value in pieces)
        if next((owner for owner in owners if owner), "") == piece.state.function != "":
            return False
        owner = pieces[0].state.function if pieces else ""
        self._refuse(_of_another(node, name, piece, owner, near))
        return True

    def _aggregate(self, node: ast.Aggregate) -> Build:
        inner, operator, name = self._query(node.query), node.operator, node.field
        find_output = self._once(self._found_output)

        def build(pieces: Children) -> values.QueryValue | None:
            value = inner(pieces)
            if value is None or (name and not value.state.function):
                return None
            if not name:
                return values.aggregate(value, operator, "")
            field = self._type_output(name, pieces, value, find_output, node)
            return None if field is None else values.aggregate(value, operator, field)

        return build

    def _type_output(
        self,
        name: str,
        pieces: Children,
        value: Any,
        find: Callable[..., Any],
        node: ast.Aggregate | ast.Monitor,
    ) -> str | None:
        """Return an output of a query as tokens write it, None if it is none that fits there.

        `name` is that of the output or of a child; `find` is `_found_output`, once for each.
        """
        function = value.state.function
        output, owner = name, ""
        if name in self.outputs:
            output, owner = pieces[name].state.name, pieces[name].state.function
        # That of the last function it is whatever the query is joined to.
        key = (function, output, owner, "" if owner == function else value.left)
        typed_name: str | None = find(key, name, output, owner, value, node)
        return typed_name

    def _found_output(
        self, name: str, output: str, other: str, value: Any, node: ast.Aggregate | ast.Monitor
    ) -> str | Problem:
        is_monitor = isinstance(node, ast.Monitor)
        place = "on new" if isinstance(node, ast.Monitor) else node.operator
        owner = self.lifter.owner(value, output)
        if not owner or (other and owner != other):
            of = f" of {other}" if other else ""
            message = (
                f"expected an output of {value.state.function} after '{place}', got '{output}'{of}"
            )
            hint = _guard_on([name, _hole_name(node.query)], "function") if other else None
            return Problem("T018" if is_monitor else "T016", message, node.span, hint)
        typed = self.lifter.type_parameter(owner, output)
        parameter = self.lifter.signature(owner).parameter(output)
        if parameter is None or place in ("on new", "count") or is_numeric(parameter.type):
            return typed
        message = f"expected a number for '{place}', got '{output}' of type {parameter.type}"
        hint = f"a guard leaves them out: if {name}.is_numeric" if other else None
        return Problem("T017", message, node.span, hint)

    def _projection(self, node: ast.Projection) -> Build:
        inner, write = self._query(node.query), self._outputs(node, node.values)

        def build(pieces: Children) -> values.QueryValue | None:
            value = inner(pieces)
            written = None if value is None else write(pieces, value)
            if value is None or written is None:
                return None
            outputs = tuple(text for _, text in sorted(written))
            if not node.keeps_all and self._says_all(value, outputs):
                outputs = ()
            return values.project_query(value, outputs, keeps_all=node.keeps_all)

        return build

    def _says_all(self, value: values.QueryValue, outputs: tuple[str, ...]) -> bool:
        """Return whether a projection names all outputs there are."""
        function = value.state.function
        return not value.left and len(outputs) == len(self.lifter.output_types(function)) == sum(
            text.startswith("param:") for text in outputs
        )

    def _sort(self, node: ast.Sort) -> Build:
        inner, write = self._query(node.query), self._outputs(node, (node.key,))

        def build(pieces: Children) -> values.QueryValue | None:
            value = inner(pieces)
            written = None if value is None else write(pieces, value)
            if value is None or written is None:
                return None
            return values.sort_query(value, written[0][1], node.direction)

        return build

    def _outputs(
        self, node: ast.Projection | ast.Sort, outputs: tuple[ast.Value, ...]
    ) -> Callable[[Children, values.QueryValue], tuple[tuple[str, str], ...] | None]:
        """Compile outputs, and values computed of them, to (sort key, tokens)."""
        names = tuple(sorted({n for o in outputs for n in _names(o)} & set(self.holes)))
        written = self._once(self._write_outputs)

        def write(pieces: Children, value: values.QueryValue) -> tuple[tuple[str, str], ...] | None:
            named = {name: pieces[name] for name in names}
            key = (value.state.function, value.left, *map(_name_of, named.values()))
            texts: tuple[tuple[str, str], ...] | None = written(key, node, outputs, named, value)
            return texts

        return write

    def _write_outputs(
        self,
        node: ast.Projection | ast.Sort,
        outputs: tuple[ast.Value, ...],
        named: Children,
        value: values.QueryValue,
    ) -> tuple[tuple[str, str], ...] | Problem:
        """Return outputs as (sort key, tokens), or the type mistake that they are."""
        query_name = _hole_name(node.query)
        for name, piece in named.items():
            if self.children.get(name) in _OUTPUTS and (
                self.lifter.owner(value, piece.state.name) != piece.state.function
            ):
                return _of_another(node, name, piece, value.state.function, query_name)
        trees = [rewrite(o, lambda n: _substitute(n, named, self._as_token)) for o in outputs]
        scope = EMPTY
        for tree in trees:
            scope = scope.under(self.lifter.scope(value, tree))
        if problems := check_outputs(node, trees, scope, self.lifter.library, self.types):
            hint = _guard_on([*named, query_name], "function") if len(named) else problems[0].hint
            return replace(problems[0], hint=hint or problems[0].hint)
        written = {}
        for output in outputs:
            tree = canonical_value(rewrite(output, lambda n: _substitute(n, named)))
            written[value_text(tree)] = self.lifter.write(tree, scope)
        return tuple(written.items())

    def _slice(self, node: ast.Slice) -> Build:
        inner, places = self._query(node.query), (node.start, node.end)
        if isinstance(node.query, ast.Join):
            message = "an index of a join of children depends on their order: say it of a child"
            raise GenieError(Problem("G030", message, node.span))

        def write(place: ast.Value | None, pieces: Children) -> str:
            if place is None:
                return ""
            return self.lifter.write(rewrite(place, lambda n: _substitute(n, pieces)), EMPTY)

        def build(pieces: Children) -> values.QueryValue | None:
            value = inner(pieces)
            if value is None or not all(self._is_place(place, pieces) for place in places):
                return None
            return values.slice_query(value, *(write(place, pieces) for place in places))

        return build

    def _is_place(self, place: ast.Value | None, pieces: Children) -> bool:
        """Return whether a child may number results; refuse it otherwise."""
        piece = pieces.get(place.name) if isinstance(place, ast.VarRef) else None
        if piece is None or piece.state.type == "Number":
            return True
        assert isinstance(place, ast.VarRef)
        message = f"expected Number for 'index', got '{place.name}' of type {piece.state.type}"
        hint = f"a guard leaves them out: if {place.name}.type == 'Number'"
        self._refuse(Problem("T002", message, place.span, hint))
        return False

    def _output_of(self, node: ast.OutputOf) -> Build:
        inner, output = self._query(node.query), node.output

        def build(pieces: Children) -> values.SourceValue | None:
            value = inner(pieces)
            if value is None:
                return None
            piece = pieces[output] if output in self.outputs else None
            name = output if piece is None else piece.state.name
            function = value.state.function
            owner_function = function if piece is None else piece.state.function
            if function and (
                owner_function != function or not self.lifter.has_output(function, name)
            ):
                of = f" of {owner_function}" if owner_function != function else ""
                message = f"expected an output of {function} after '.', got '{name}'{of}"
                hint = _guard_on([output, _hole_name(node.query)], "function") if piece else None
                self._refuse(Problem("T011", message, node.span, hint))
                return None
            return self.lifter.source(value, name)

        return build

    # ------------------------------------------------------------------------------- streams

    def _monitor(self, node: ast.Monitor) -> Build:
        inner, on_new = self._query(node.query), node.on_new
        find_output = self._once(self._found_output)

        def build(pieces: Children) -> values.StreamValue | None:
            value = inner(pieces)
            if value is None:
                return None
            if not value.state.function:
                message = "a template cannot monitor an aggregation"
                self._refuse(Problem("G030", message, node.span))
                return None
            names = [self._type_output(name, pieces, value, find_output, node) for name in on_new]
            typed = [name for name in names if name is not None]
            stream_value = self.lifter.monitor(value, typed) if len(typed) == len(names) else None
            if stream_value is None and not value.state.is_monitorable:
                calls = [f for f in value.functions if not self.lifter.signature(f).is_monitorable]
                message = f"expected a query that can be monitored, got '{', '.join(calls)}'"
                name = _hole_name(node.query)
                hint = f"a guard leaves them out: if {name}.is_monitorable" if name else None
                self._refuse(Problem("T014", message, node.span, hint))
            return stream_value

        return build

    def _edge(self, stream: Any, predicate: Any) -> Build:
        inner = self.compile(stream)
        condition = self._condition(predicate, lambda pieces: _owner(inner(pieces)))

        def build(pieces: Children) -> values.StreamValue | None:
            value = inner(pieces)
            if value is not None and value.state.is_timer:
                message = "expected a stream of results after 'edge', got a timer"
                name = _hole_name(stream)
                hint = f"a guard leaves them out: if not {name}.is_timer" if name else None
                self._refuse(Problem("T015", message, getattr(stream, "span", None), hint))
                return None
            test = condition(pieces)
            if value is None or test is None:
                return None
            edge_value = values.edge(value, test)
            if edge_value is None and test.state.function not in (*value.functions, ""):
                self._refuse(self._foreign_condition(predicate, test, value, stream))
            return edge_value

        return build

    def _fold(self, operands: tuple[Any, ...], operation: Callable[[Any, Any], Any]) -> Build:
        builds = [self.compile(operand) for operand in operands]

        def build(pieces: Children) -> values.PredicateValue | None:
            value = builds[0](pieces)
            for build_operand in builds[1:]:
                if value is None:
                    return None
                right = build_operand(pieces)
                if right is None:
                    return None
                left, value = value, operation(value, right)
                if value is None and "" != right.state.function != left.state.function != "":
                    self._refuse(self._foreign_condition(operands[-1], right, left, operands[0]))
            negated: values.PredicateValue | None = value
            return negated

        return build

    # ------------------------------------------------------------------------------ programs

    def _rule(self, node: ast.Rule) -> Build:
        stream = None if node.stream is None else self.compile(node.stream)
        query = None if node.query is None else self._compile_step(node.query, node.stream)
        action = None
        if not isinstance(node.action, ast.Notify):
            action = self._compile_step(node.action, node.query, node.stream)

        def build(pieces: Children) -> Any:
            s = stream(pieces) if stream else None
            if stream and s is None:
                return None
            q = query(pieces, s) if query else None
            if query and q is None:
                return None
            a = action(pieces, q, s) if action else None
            if action and a is None:
                return None
            rule = values.rule(s, q, a)
            if rule is None:
                for part, value in ((node.query, q), (node.action, a)):
                    if value is not None and value.gap:
                        self._refuse(_left_open(part))
            return rule

        return build

    def _compile_step(self, node: Any, *before: Any) -> Callable[..., Any]:
        """Compile a query or action of a rule, which may be a child with its gap filled.

        `before` are the parts whose outputs may be passed, the last one first. The result takes the
        children, and the pieces of these parts.
        """
        if not isinstance(node, ast.Hole) or node.argument is None:
            whole = self._query(node)
            return lambda pieces, *constants: whole(pieces)
        name, argument = node.name, node.argument
        hole = _hole_name(next((part for part in before if part is not None), None))

        def build(pieces: Children, *constants: Any) -> Any:
            value, passed_value = pieces[name], pieces[argument]
            if hole != argument and self._is_foreign(
                node, argument, passed_value, hole, *constants
            ):
                return None
            output, key = _output(passed_value)
            if isinstance(value, values.ActionValue):
                filled: Any = values.passed_to_action(value, output, key)
            else:
                filled = values.passed_to_query(value, output, key)
            if filled is None and (value.gap != key or not key):
                self._refuse(_unfit_gap(node, value, passed_value))
            return filled

        return build

    def _policy(self, node: ast.Policy) -> Build:
        names = tuple(sorted(set(_names(node.source)) & set(self.holes)))
        parts = [self._policy_part(part) for part in (node.query, node.action)]
        written = self._once(self._source)

        def build(pieces: Children) -> Any:
            named = {name: pieces[name] for name in names}
            key = tuple([piece.text for piece in named.values()])
            source = written(key, node.source, named)
            if source is None:
                return None
            functions_read = [part(pieces) if part else None for part in parts]
            if any(
                part and value is None for part, value in zip(parts, functions_read, strict=True)
            ):
                return None
            functions = tuple(f for value in functions_read if value is not None for f in value[1])
            query, action = (None if value is None else value[0] for value in functions_read)
            return values.policy(source, query, action, functions)

        return build

    def _source(self, node: Any, named: Children) -> str | Problem:
        """Return the text of a policy's condition on the person, or the mistake that it is."""
        tree = rewrite(node, lambda n: _substitute(n, named, self._as_token))
        if problems := check(
            ast.Policy(tree, None, None), self.lifter.library, parameters=self.types
        ):
            for name in named:
                if self.children.get(name) == "value":
                    hint = f"a guard leaves them out: if {name}.type == 'Entity(tt:contact)'"
                    return replace(problems[0], hint=hint)
            return problems[0]
        return self.lifter.source_predicate(rewrite(node, lambda n: _substitute(n, named)))

    def _policy_part(self, node: Any) -> Build | None:
        if node is None:
            return None
        if not isinstance(node, ast.Hole):
            message = "a policy template takes its function from a child"
            raise GenieError(Problem("G030", message, node.span))
        name = node.name

        def build(pieces: Children) -> Any:
            value = pieces[name]
            if isinstance(value, values.SourceValue):
                value = value.query
            if value.gap or (
                isinstance(value, values.QueryValue)
                and (value.left or value.is_wrapped or value.state.is_aggregate)
            ):
                return None
            call = value.call if isinstance(value, values.QueryValue) else value.text
            clauses = value.clauses if isinstance(value, values.QueryValue) else ()
            policy_function = values.as_policy_function(call, clauses)
            return None if policy_function is None else (policy_function, value.functions)

        return build


def _name_of(piece: Any) -> str:
    """Return the key that distinguishes a constant or parameter from all others."""
    if isinstance(piece, values.SourceValue):
        return f"{piece.state.function}:{piece.state.name}"
    text: str = piece.text + piece.gap
    return text


def _map(build: Build, operation: Callable[[Any], Any]) -> Build:
    def apply_operation(pieces: Children) -> Any:
        value = build(pieces)
        return None if value is None else operation(value)

    return apply_operation


def _owner(value: Any) -> str:
    return "" if value is None else value.state.function


def _sort_of(piece: Any, fields: Mapping[str, Type]) -> tuple[Any, ...]:
    """Return the sort of a constant or an output for the type checker."""
    if isinstance(piece, values.ConstantValue):
        is_slot = isinstance(piece.node, ast.SlotValue)
        return piece.state.type, "" if is_slot else piece.text
    return (fields.get(piece.state.name),)


def _type_named(text: str) -> Type:
    """Return the type of a placeholder; building the parser for it would take a tenth of a second.

    >>> _type_named("Measure(C)"), _type_named("String")
    (Measure(unit='C'), Basic(name='String'))
    """
    name, _, rest = text.removesuffix(")").partition("(")
    if not rest:
        return Basic(name)
    return Entity(rest) if name == "Entity" else Measure(rest)


def _hole_name(node: Any) -> str:
    """Return the name of the child that stands in a place, "" if something else does."""
    return node.name if isinstance(node, ast.Hole) else ""


def _guard_on(names: Sequence[str], attribute: str) -> str | None:
    """Return the hint of a guard on children that do not always go together; None without names.

    >>> _guard_on(["p", "v"], "type")
    'a guard leaves them out, such as if p.type == v.type'
    >>> _guard_on(["p", ""], "type"), _guard_on([], "type")
    ('a guard on p.type leaves them out', None)
    """
    known_names = [name for name in names if name]
    if len(known_names) > 1:
        both = f"{known_names[0]}.{attribute} == {known_names[1]}.{attribute}"
        return f"a guard leaves them out, such as if {both}"
    return f"a guard on {known_names[0]}.{attribute} leaves them out" if known_names else None


def _of_another(node: Any, name: str, piece: Any, owner: str, near: str) -> Problem:
    """Return the mistake of an output that belongs to another function than is spoken of."""
    function, output = getattr(piece.state, "function", ""), getattr(piece.state, "name", "")
    of = f"an output of {owner}" if owner else "an output of what comes before"
    message = f"expected {of} for '{name}', got '{output}' of {function}"
    hint = _guard_on([name, near], "function") if near else None
    return Problem("T009", message, getattr(node, "span", None), hint)


def _left_open(node: Any) -> Problem:
    """Return the mistake of a child with a gap that nothing fills."""
    name = _hole_name(node)
    message = f"expected an output for the place that '{name}' leaves open, got none"
    return Problem("T010", message, getattr(node, "span", None), f"pass one: {name}(o)")


def _unfit_gap(node: ast.Hole, value: Any, given: Any) -> Problem:
    """Return the mistake of an output that does not fit where it is passed."""
    name, argument = node.name, node.argument
    passed = f"'{given.state.name}' of type {given.state.type}"
    if not value.gap:
        message = f"expected a place that '{name}' leaves open for {passed}, got none"
        hint = f"ask for one: {name}:CATEGORY[gap='it']"
    else:
        message = f"expected {value.gap} for '{name}', got {passed}"
        hint = f"a guard leaves them out: if {name}.gap == {argument}.key"
    return Problem("T010", message, node.span, hint)


def _output(value: Any) -> tuple[str, str]:
    """Return (typed name, passing key) of an output that is passed."""
    if isinstance(value, values.SourceValue):
        return value.output, value.state.key
    return value.typed, value.state.key


def _substitute(
    node: Any,
    pieces: Children,
    constant: Callable[[values.ConstantValue], ast.Value] = lambda c: c.node,
) -> Any:
    match node:
        case ast.VarRef(name) if name in pieces:
            piece = pieces[name]
            if isinstance(piece, values.ConstantValue):
                return constant(piece)
            return ast.VarRef(piece.state.name)
        case ast.Atom(name) if isinstance(
            pieces.get(name), values.ParameterValue | values.SourceValue
        ):
            return replace(node, name=pieces[name].state.name)
        case _:
            return node


def _names(node: Any) -> Iterator[str]:
    """Yield the names under which a tree may mean children."""
    for part in walk(node):
        match part:
            case ast.VarRef(name) | ast.Atom(name):
                yield name
            case ast.Hole(name, _, argument, inputs):
                yield name
                if argument is not None:
                    yield argument
                yield from (arg.name for arg in inputs)
            case ast.Aggregate(_, str() as name):
                yield name
            case ast.Monitor(_, on_new):
                yield from on_new
            case _:
                continue
