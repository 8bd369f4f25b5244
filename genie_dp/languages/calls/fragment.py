"""Template bodies of calls, compiled to functions that join token texts.

A body is calls, or one value. Names of children are holes: a child of calls stands where a call
does, a child that is a value where a value does. `$x` is a placeholder whose type is that of the
parameter that it fills. `$1` is the result of the first call or child of calls of the body, its
last call where it has several.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.bodies import Constant, TemplateBodies, Value
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import NONE, Field, Tool, ToolLibrary, ValueType, value_words
from genie_dp.languages.calls.text import (
    OPEN,
    argument_head,
    call_tokens,
    from_tokens,
    head,
    parse_body,
    value_tokens,
)
from genie_dp.languages.calls.tokens import key_of, number_results, sort_steps
from genie_dp.languages.calls.typecheck import (
    Results,
    canonical,
    canonical_call,
    check,
    check_arguments,
    misfits,
    sharpen,
)
from genie_dp.languages.terms.bodies import (
    BODY,
    Children,
    Names,
    TermFragment,
    has_any,
    nothing_left,
    rename,
    rename_all,
    split_lambda,
    unknown_type,
)
from genie_dp.languages.text import Places, unescape_word

Steps = tuple[tuple[str, ...], ...]
"""The tokens of the calls of each step."""

PROGRAM, VALUE = "program", "value"


@dataclass(frozen=True, slots=True)
class FragmentState:
    """The attributes of a piece that guards can test.

    Attributes:
        function: the tool of a single call, else "".
        count, steps: how many calls there are, in how many steps; 0 of a value.
        type, key: the type of a value, else "".
    """

    function: str
    count: int
    steps: int
    type: str = ""
    key: str = ""


state = lru_cache(maxsize=None)(FragmentState)


class CallsValue:
    """Calls (languages/base.py, Value).

    Attributes:
        calls: the tokens of the calls of each step.
        stems: private character of synthesis -> stem of the placeholder that it stands for.
    """

    __slots__ = ("calls", "functions", "gap", "kind", "slots", "state", "stems", "text")

    def __init__(
        self,
        calls: Steps,
        functions: tuple[str, ...],
        stems: Mapping[str, str],
        slots: tuple[tuple[str, str, str], ...] = (),
    ):
        self.kind = PROGRAM
        self.calls, self.functions, self.stems, self.slots = calls, functions, stems, slots
        self.text: str = " => ".join([" & ".join(step) for step in calls])
        name = functions[0] if len(functions) == 1 else ""
        self.state: Hashable = state(name, len(functions), len(calls))
        self.gap = ""

    def shift(self, names: Names) -> "CallsValue":
        """Return the calls with placeholders renamed, one after the other."""
        text = self.text
        if not has_any(text, names):
            return self
        stems = dict(self.stems)
        for old, new in names:
            stem = stems.pop(old, "") or _stem(old)
            if len(new) == 1 and stem and old in text:
                stems[new] = stem
        calls: Steps = tuple(
            [tuple([rename_all(call, names) for call in step]) for step in self.calls]
        )
        functions = self.functions
        if any(len(step) > 1 for step in calls):
            calls = sort_steps(calls, number_results, partial(key_of, stems=stems))
            functions = tuple([_name(call) for step in calls for call in step])
        slots = tuple([(rename(token, names), type_, fills) for token, type_, fills in self.slots])
        return CallsValue(calls, functions, stems, slots)


class SingleValue:
    """A value (languages/bodies.py, Value): a constant, or made of some by a body."""

    __slots__ = ("functions", "gap", "kind", "node", "slots", "state", "stems", "text")

    def __init__(self, node: ast.Value, type_: str = ""):
        self.kind = VALUE
        self.node, self.text, self.stems = node, value_tokens(node), _stems(ast.walk(node))
        self.functions: tuple[str, ...] = ()
        self.gap = ""
        if isinstance(node, ast.Slot):
            type_ = str(ast.slot_type(node))
            self.slots: tuple[tuple[str, str, str], ...] = ((node.token, type_, ""),)
        else:
            self.slots = ()
        self.state: Hashable = state("", 0, 0, type_, type_)

    def shift(self, names: Names) -> "SingleValue":
        """Return the value with placeholders renamed, one after the other."""
        if not has_any(self.text, names):
            return self

        def renamed(node: ast.Value) -> ast.Value:
            if not isinstance(node, ast.Slot):
                return node
            token = rename(node.token, names)
            stem = (node.stem or _stem(node.token)) if len(token) == 1 else ""
            return ast.Slot(token, stem)

        type_ = getattr(self.state, "type", "")
        return SingleValue(ast.change(self.node, renamed), type_)


def _stem(token: str) -> str:
    return token.rpartition("_")[0]


def _name(call: str) -> str:
    return unescape_word(call.partition(" ")[0][:-1])


def program_value(program: ast.Program) -> CallsValue:
    """Return the value of a canonical program."""
    calls = tuple(tuple(map(call_tokens, step)) for step in program.steps)
    names = tuple(call.name for call in ast.calls_of(program))
    return CallsValue(calls, names, _stems(ast.values_of(program)))


def _stems(values: Iterable[ast.Value]) -> dict[str, str]:
    return {v.token: v.stem for v in values if isinstance(v, ast.Slot) and v.stem}


# -------------------------------------------------------------------------------- compiling


CallPlan = Callable[[Children, tuple[str, ...]], "tuple[Steps, tuple[str, ...]] | None"]
"""Gives calls and their tools, of children and of the last tools of the earlier parts."""
ValuePlan = Callable[[Children], "str | None"]
"""Gives the tokens of a value; "" where it is as by default; None where it does not fit."""

TYPES: dict[str, ty.Type] = {
    "String": ty.STRING,
    "Number": ty.NUMBER,
    "Integer": ty.NUMBER,
    "Date": ty.DATE,
    "Time": ty.TIME,
    "Duration": ty.Measure("ms"),
    "EmailAddress": ty.Entity("tt:email_address"),
    "URL": ty.Entity("tt:url"),
    "PhoneNumber": ty.Entity("tt:phone_number"),
}


def parse_type(text: str, library: ToolLibrary | None = None) -> ty.Type:
    """Return the type of that name, or of names of that kind; else raise GenieError (Z044).

    >>> str(parse_type("Number"))
    'Number'
    """
    if text in TYPES:
        return TYPES[text]
    kinds = library.entity_types if library is not None else {}
    if text in kinds:
        return ty.Entity(text)
    raise unknown_type("Z044", text, (*TYPES, *kinds))


def compile_body(
    text: str,
    holes: Mapping[str, str],
    library: Any = None,
    *,
    whole: bool = False,
    class_name: str = "",
    absent: Collection[str] = (),
) -> TermFragment:
    """Return the compiled body, calls with holes or a value (`TemplateBodies.compile`).

    With `whole` it must be calls. `absent` names are left out, and arguments that need them.

    Raises:
        GenieError: Z001 to Z005, Z031 to Z045, G034.
    """
    tools: ToolLibrary = library or NONE
    example = r"\(x : String, y : Number) -> tool(a = x, b = y)"
    types = partial(parse_type, library=tools)
    parameters, body = split_lambda(text, types, code="Z041", example=example)
    declared = dict(parameters)
    if not body.strip():
        message = "expected calls or a value, got an empty body"
        hint = "write tool(name = value)"
        raise Places(text, BODY).error("Z043", message, 0, len(text) or 1, hint)
    names = dict(holes) | dict.fromkeys(declared, VALUE)
    tree = parse_body(body, names, file=BODY, whole=text)
    if absent:
        tree = _without(tree, absent)
        declared = {name: type_ for name, type_ in declared.items() if name not in absent}
    compiler = _CallsCompiler(names, dict(declared), tools)
    if isinstance(tree, ast.Program):
        [fragment_kind, make] = compiler.program(tree)
    else:
        fragment_kind, make = VALUE, compiler.single(tree)
    if whole and fragment_kind == VALUE:
        message = "a value is no whole program"
        problem = Problem("Z042", message, getattr(tree, "span", None), "call a tool with it")
        compiler.problems.append(problem)
    untyped = [name for name in compiler.used if name not in {*names, *compiler.types}]
    for name in () if compiler.problems else untyped:
        message = f"${name} stands where no type is known"
        hint = rf"give it one: \({name} : String) -> .."
        compiler.problems.append(Problem("Z041", message, compiler.used[name], hint))
    if compiler.problems:
        raise GenieError(dict.fromkeys(compiler.problems), sources={BODY: text})
    parameters = tuple(compiler.types.items())
    return TermFragment(
        fragment_kind,
        parameters,
        {name: compiler.fills.get(name, "") for name, _ in parameters},
        tuple(compiler.functions),
        make,
        compiler.refused,
        partial(compile_body, text, holes, library, whole=whole, absent=frozenset(absent)),
    )


# ---------------------------------------------------------------------- parts left unsaid


def _without(tree: ast.Program | ast.Value, absent: Collection[str]) -> ast.Program | ast.Value:
    """Return a body without absent names, and without arguments and calls that need them."""
    if not isinstance(tree, ast.Program):
        rest = _value_without(tree, absent)
        if rest is not None:
            return rest
    else:
        steps = [_step_without(step, absent) for step in tree.steps]
        if any(steps):
            is_moved = any(len(new) < len(old) for new, old in zip(steps, tree.steps, strict=True))
            refers = any(_has_results(c) for step in steps for c in step if isinstance(c, ast.Call))
            if not (is_moved and refers):
                return ast.Program(tuple(step for step in steps if step))
    span = getattr(tree, "span", None)
    raise nothing_left(absent, span, ", or results that are used")


def _step_without(step: ast.Step, absent: Collection[str]) -> ast.Step:
    remaining: list[ast.Call | ast.Hole] = []
    for call in step:
        if isinstance(call, ast.Hole):
            if call.name not in absent:
                remaining.append(call)
            continue
        arguments = [
            replace(a, value=value)
            for a in call.arguments
            if (value := _value_without(a.value, absent)) is not None
        ]
        remaining.append(replace(call, arguments=tuple(arguments)))
    return tuple(remaining)


def _value_without(value: ast.Value, absent: Collection[str]) -> ast.Value | None:
    match value:
        case ast.Hole(name):
            return None if name in absent else value
        case ast.Array(items):
            values = [v for item in items if (v := _value_without(item, absent)) is not None]
            return None if items and not values else replace(value, items=tuple(values))
        case ast.Record(fields):
            parts = [
                replace(f, value=v)
                for f in fields
                if (v := _value_without(f.value, absent)) is not None
            ]
            return None if fields and not parts else replace(value, fields=tuple(parts))
        case _:
            return value


# --------------------------------------------------------------------------------- parts


def _has_hole(value: ast.Value) -> bool:
    return any(isinstance(part, ast.Hole) for part in ast.walk(value))


@dataclass(slots=True)
class _CallsCompiler:
    """Compiles one body.

    Attributes:
        holes: child -> kind; placeholders of a lambda are values.
        types: placeholder -> type: those of the lambda, then those that their places imply.
        used: placeholder -> where it stands.
    """

    holes: Mapping[str, str]
    types: dict[str, ty.Type]
    library: ToolLibrary
    fills: dict[str, str] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: Counter[Problem] = field(default_factory=Counter)

    def program(self, tree: ast.Program) -> tuple[str, Callable[[Children], Any]]:
        """Return the kind of calls, that of a child alone, and the function that makes them."""
        first = tree.steps[0][0]
        if len(tree.steps) == 1 and len(tree.steps[0]) == 1 and isinstance(first, ast.Hole):
            name = first.name
            self.used.setdefault(name, first.span)
            kind = self.holes[name]
            # A table's row may be either; what it is is told by the row.
            return PROGRAM if kind == "table" else kind, lambda children: children[name]
        plans: list[list[_StepPart]] = []
        earlier: list[str] = []  # tools of parts in steps before; "" of a child
        for step in tree.steps:
            plans.append([self.part(part, tuple(earlier)) for part in step])
            earlier += [part.name if isinstance(part, ast.Call) else "" for part in step]
        return PROGRAM, _join_parts(plans, self.refused, first.span)

    def part(self, part: ast.Call | ast.Hole, earlier: tuple[str, ...]) -> "_StepPart":
        if isinstance(part, ast.Call):
            return _StepPart(self.call(part, earlier), is_child=False)
        if self.holes[part.name] == VALUE:
            message = f"{part.name} is a value, and no call"
            hint = "give it to a parameter: tool(name = x)"
            self.problems.append(Problem("Z042", message, part.span, hint))
        name = part.name

        def child(children: Children, _: tuple[str, ...]) -> tuple[Steps, tuple[str, ...]] | None:
            value = children[name]
            return (value.calls, value.functions) if value.kind == PROGRAM else None

        return _StepPart(child, is_child=True)

    def call(self, call: ast.Call, earlier: tuple[str, ...]) -> CallPlan:
        self.functions.append(call.name)
        tool = self.library.tools.get(call.name)
        if tool is None:
            hint = did_you_mean(call.name, self.library.tools)
            problem = Problem("Z031", f"unknown tool {call.name!r}", call.span, hint)
            self.problems.append(problem)
            return lambda _, __: None
        is_known = "" not in earlier
        self.problems += check_arguments(call, tool, Results(self.library, earlier))
        arguments = [
            (argument_head(argument.name), self.argument(argument, tool))
            for argument in canonical_call(call, tool).arguments
        ]
        text_of, names = _plan_brackets(head(call.name), arguments, ")"), (call.name,)
        refused_results = self.results(call, tool) if _has_results(call) and not is_known else None

        def plan(
            children: Children, earlier: tuple[str, ...]
        ) -> tuple[Steps, tuple[str, ...]] | None:
            if refused_results is not None and refused_results(earlier):
                return None
            text = text_of(children)
            return None if text is None else (((text,),), names)

        return plan

    def argument(self, argument: ast.Argument, tool: Tool) -> ValuePlan:
        parameter = tool.parameter(argument.name)
        type_ = parameter.type if parameter is not None else tool.others
        plan = self.value(argument.value, type_, argument.name, f"{tool.name}:{argument.name}")
        return _unless(plan, _left_out(parameter))

    def results(self, call: ast.Call, tool: Tool) -> Callable[[tuple[str, ...]], bool]:
        """Return a check that reports a call that cannot take the results that it is given."""
        problems: dict[tuple[str, ...], Problem | None] = {}

        def is_refused(earlier: tuple[str, ...]) -> bool:
            if earlier not in problems:
                results = Results(self.library, earlier)
                problems[earlier] = next(check_arguments(call, tool, results), None)
            problem = problems[earlier]
            if problem is not None:
                self.refused[problem] += 1
            return problem is not None

        return is_refused

    # ---------------------------------------------------------------------------- values

    def single(self, value: ast.Value) -> Callable[[Children], Any]:
        """Return the function that makes a value alone; the tool that takes it decides its type."""
        for part in ast.walk(value):
            if isinstance(part, ast.Hole):
                self.used.setdefault(part.name, part.span)
                self.check_hole(part)
            if isinstance(part, ast.Reference):
                message = "a value alone is after no call"
                self.problems.append(Problem("Z036", message, part.span, "put it into a call"))

        def make(children: Children) -> SingleValue | None:
            return SingleValue(ast.change(value, lambda part: _node(part, children)))

        return make

    def check_hole(self, hole: ast.Hole) -> None:
        kind = self.holes.get(hole.name)
        if kind == PROGRAM:
            message = f"{hole.name} is calls, and no value"
            hint = "call first, then take the result: a => tool(name = $1)"
            self.problems.append(Problem("Z042", message, hole.span, hint))
        elif kind is None and not hole.is_placeholder:
            self.problems.append(Problem("Z042", f"no child {hole.name!r}", hole.span))

    def value(self, value: ast.Value, type_: ValueType | None, name: str, owner: str) -> ValuePlan:
        if not _has_hole(value):
            text = value_tokens(sharpen(value, type_))
            return lambda _: text
        match value:
            case ast.Hole():
                return self.hole(value, type_, name, owner)
            case ast.Array(items) if type_ is not None and type_.sort == "array":
                return _plan_brackets(
                    "[", [("", self.value(i, type_.item, name, owner)) for i in items], "]"
                )
            case ast.Record(fields) if type_ is not None and type_.sort == "object":
                return self.record(fields, type_, name, owner)
            case _:
                return self.plan_untyped(value, type_, name, owner)

    def record(
        self, fields: tuple[ast.Argument, ...], type_: ValueType, name: str, owner: str
    ) -> ValuePlan:
        parts = []
        for part in sorted(fields, key=lambda f: f.name):
            declared = type_.field(part.name)
            inner = declared.type if declared is not None else type_.others
            plan = self.value(part.value, inner, f"{name}.{part.name}", owner)
            parts.append((argument_head(part.name), _unless(plan, _left_out(declared))))
        return _plan_brackets("{", parts, "}")

    def plan_untyped(
        self, value: ast.Value, type_: ValueType | None, name: str, owner: str
    ) -> ValuePlan:
        """Return a plan for a value with holes whose type does not describe its parts."""
        for part in ast.walk(value):
            if isinstance(part, ast.Hole):
                self.hole(part, None, name, owner)

        def plan(children: Children) -> str | None:
            return fitted(ast.change(value, lambda part: _node(part, children)))

        fitted = self.fitting(type_, name, getattr(value, "span", None))
        return plan

    def hole(self, hole: ast.Hole, type_: ValueType | None, name: str, owner: str) -> ValuePlan:
        key = hole.name
        self.used.setdefault(key, hole.span)
        self.check_hole(hole)
        if key not in self.holes or key in self.types:
            self.fills.setdefault(key, owner)
        if key not in self.holes and key not in self.types and type_ is not None:
            spoken = _find_spoken_type(type_)
            if spoken is not None:
                self.types[key] = spoken
            else:
                message = f"no placeholder stands for {type_}, which {name!r} is"
                hint = "write the value, or one template for each"
                self.types[key] = ty.ANY
                self.problems.append(Problem("Z041", message, hole.span, hint))
        fitted = self.fitting(type_, name, hole.span)

        def plan(children: Children) -> str | None:
            child = children[key]
            return fitted(child.node) if child.kind == VALUE else None

        return plan

    def fitting(
        self, type_: ValueType | None, name: str, span: Any
    ) -> Callable[[ast.Value], "str | None"]:
        """Return a function to the tokens of a value that fits a type; None for others."""
        texts: dict[ast.Value, str | None] = {}

        def fit_value(node: ast.Value) -> str | None:
            if node in texts:
                text = texts[node]
            else:
                problem = next(misfits(node, type_, name), None) if type_ is not None else None
                text = None if problem is not None else value_tokens(sharpen(node, type_))
                if len(texts) < _MOST_KEPT:
                    texts[node] = text
            if text is None and type_ is not None:
                for problem in misfits(node, type_, name):
                    self.refused[replace(problem, span=span)] += 1
                    break
            return text

        return fit_value


_MOST_KEPT = 10_000


def _node(part: ast.Value, children: Children) -> ast.Value:
    return children[part.name].node if isinstance(part, ast.Hole) else part


def _left_out(declared: Field | None) -> frozenset[str]:
    """Return the tokens of values that mean the same as leaving a parameter out."""
    if declared is None or declared.is_required:
        return frozenset()
    default = frozenset() if declared.default is None else {value_tokens(declared.default)}
    return frozenset({OPEN, *default})


def _unless(plan: ValuePlan, left_out: Collection[str]) -> ValuePlan:
    if not left_out:
        return plan

    def unless_default(children: Children) -> str | None:
        text = plan(children)
        return "" if text in left_out else text

    return unless_default


def _plan_brackets(opening: str, parts: Sequence[tuple[str, ValuePlan]], closing: str) -> ValuePlan:
    def plan(children: Children) -> str | None:
        words = [opening]
        for before, part in parts:
            text = part(children)
            if text is None:
                return None
            if text:
                words += (before, text) if before else (text,)
        return " ".join([*words, closing])

    return plan


def _find_spoken_type(type_: ValueType) -> ty.Type | None:
    """Return the type whose constants express a parameter; None if there are none."""
    if type_.sort == "union":
        options = map(_find_spoken_type, type_.options)
        return next((spoken for spoken in options if spoken is not None), None)
    if type_.sort == "any":
        return ty.STRING
    if type_.sort == "enum" or ty.slot_stem(type_.type) is not None:
        return type_.type if type_.sort != "array" else None
    return None


@dataclass(frozen=True, slots=True)
class _StepPart:
    """A call of a body, or a child that is calls."""

    plan: CallPlan
    is_child: bool


def _join_parts(
    plans: Sequence[Sequence[_StepPart]], refused: Counter[Problem], span: Any
) -> Callable[[Children], "CallsValue | None"]:
    """Return the function that joins calls and children of calls."""
    apart = Problem(
        "Z045", "calls in sequence cannot stand beside others", span,
        "let & join single steps: (a => b) & c says nothing of when c is called",
    )  # fmt: skip

    def make(children: Children) -> CallsValue | None:
        steps: list[tuple[str, ...]] = []
        names: list[str] = []
        last: dict[int, int] = {}  # part of the body -> its last call
        for step in plans:
            earlier = tuple([names[place - 1] for place in last.values()])
            together: list[str] = []
            now = dict(last)
            for part in step:
                built = part.plan(children, earlier)
                if built is None:
                    return None
                calls, functions = built
                if len(step) > 1 and len(calls) > 1:
                    refused[apart] += 1
                    return None
                # A call speaks of parts of the body, a child of its own calls.
                count = len(names)
                moved = {k: k + count for k in range(1, len(functions) + 1)}
                numbers = moved if part.is_child else last
                for each in calls:
                    placed = [number_results(call, numbers) for call in each]
                    if len(step) > 1:
                        together += placed
                    else:
                        steps.append(tuple(placed))
                names += functions
                now[len(now) + 1] = len(names)
            last = now
            if together:
                steps.append(tuple(together))
        sorted_steps: Steps = tuple(steps)
        stems: dict[str, str] = {}
        for child in children.values():
            stems.update(child.stems)
        if any(len(step) > 1 for step in sorted_steps):
            sorted_steps = sort_steps(sorted_steps, number_results, partial(key_of, stems=stems))
            names = [_name(call) for step in sorted_steps for call in step]
        return CallsValue(sorted_steps, tuple(names), stems)

    return make


def _has_results(call: ast.Call) -> bool:
    values = (part for argument in call.arguments for part in ast.walk(argument.value))
    return any(isinstance(part, ast.Reference) for part in values)


class CallsBodies(TemplateBodies):
    """Template bodies that are calls, or values of them."""

    kinds = frozenset({"program", "value"})
    attributes: Mapping[str, frozenset[str]] = dict.fromkeys(
        kinds, frozenset(field.name for field in fields(FragmentState))
    )
    infers_types = True

    parse_type = staticmethod(parse_type)
    compile = staticmethod(compile_body)

    def compile_row(self, text: str, library: Any = None) -> CallsValue | SingleValue:
        """Return the calls, or the value, of a row of a table."""
        fragment = compile_body(text, {}, library)
        value: CallsValue | SingleValue | None = fragment.build({})
        if value is None:
            raise GenieError(tuple(fragment.refused))
        return value

    def constants(self, type_: ty.Type, library: Any = None) -> Iterator[Constant]:
        """Yield the placeholder of a type; of an enum, its values in words."""
        if isinstance(type_, ty.Enum):
            for name, words in value_words(type_.values).items():
                value = SingleValue(ast.Symbol(name), str(type_))
                yield Constant(words or name, value, "")
            return
        stem = ty.slot_stem(type_)
        if stem is not None:
            token = f"{stem}_0"
            yield Constant(token, SingleValue(ast.Slot(token)), stem)

    def tree(self, value: Value) -> ast.Program:
        """Return the syntax tree of calls, or raise GenieError (Z051) for a value."""
        if not isinstance(value, CallsValue):
            message = f"a Python function takes calls, got {value.text}"
            raise GenieError(Problem("Z051", message, hint="call it on the call that holds it"))
        stems = value.stems

        def with_stem(part: ast.Value) -> ast.Value:
            if isinstance(part, ast.Slot) and part.token in stems:
                return ast.Slot(part.token, stems[part.token])
            return part

        return ast.change_values(from_tokens(value.text), with_stem)

    def lift(self, program: ast.Program, library: Any = None, *, whole: bool = False) -> CallsValue:
        """Return the value of calls that a Python semantic function made, or raise GenieError."""
        if problems := check(program, library):
            raise GenieError(problems)
        return program_value(canonical(program, library))
