"""Calls with their arguments, and predicates."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from genie_dp.errors import with_article
from genie_dp.languages.thingtalk.assign import (
    ATTRIBUTES,
    is_identifier,
    operand_type,
    operators_of,
)
from genie_dp.languages.thingtalk.ast import (
    OPERATORS,
    And,
    Arg,
    Atom,
    Call,
    EventValue,
    FalseP,
    GetPredicate,
    Not,
    Or,
    Predicate,
    TrueP,
    VarRef,
)
from genie_dp.languages.thingtalk.scope import OPEN, Scope, scope_of
from genie_dp.languages.thingtalk.signatures import Parameter, Signature
from genie_dp.languages.thingtalk.typecheck_report import Report, function_of, listed, name_hint
from genie_dp.languages.thingtalk.typecheck_values import expect, type_of
from genie_dp.languages.thingtalk.types import STRING


def check_call(call: Call, kind: str, scope: Scope, report: Report) -> Scope:
    """Report the mistakes of a call that stands where a query or an action is wanted.

    Returns its outputs; an open scope where they are not known.
    """
    signature = function_of(call, report)
    _attributes(call.selector.attributes, scope, report)
    if signature is None:
        for arg in call.args:
            type_of(arg.value, scope, report)
        return OPEN
    arguments(call.args, [signature], scope, report)
    if signature.kind != kind:
        _wrong_kind(call, signature, kind, report)
        return OPEN
    return scope_of(signature.outputs)


def _wrong_kind(call: Call, signature: Signature, kind: str, report: Report) -> None:
    is_query = signature.kind == "query"
    report.add(
        "T004",
        f"expected {with_article(kind)}, got the {signature.kind} '{signature.qualified}'",
        call.span,
        f"show its results: => {signature.qualified}(..) => notify"
        if is_query
        else f"actions stand last: => {signature.qualified}(..)",
    )


def _attributes(attributes: tuple[Arg, ...], scope: Scope, report: Report) -> None:
    given: set[str] = set()
    for arg in attributes:
        if arg.name in given:
            _given_twice(arg, report)
        given.add(arg.name)
        if arg.name in ATTRIBUTES:
            expect(arg.value, ATTRIBUTES[arg.name], arg.name, scope, report)
            _known_beforehand(arg, scope, report)
        else:
            type_of(arg.value, scope, report)
            hint = name_hint(arg.name, list(ATTRIBUTES), "attributes")
            message = f"expected an attribute of a device, got '{arg.name}'"
            report.add("T043", message, arg.span, hint)


def _known_beforehand(arg: Arg, scope: Scope, report: Report) -> None:
    """Report an attribute whose value is only known when the program runs.

    Which device is meant is looked up once, before anything happens.
    """
    match arg.value:
        case VarRef(name) if name in scope.types and name not in report.parameters:
            got = f"the output '{name}'"
        case EventValue():
            got = "$event"
        case _:
            return
    report.add(
        "T044",
        f"expected a constant for '{arg.name}' of a device, got {got}",
        arg.value.span,
        f'say which device is meant: {arg.name} = "bedroom"',
    )


def arguments(
    args: Iterable[Arg],
    signatures: Sequence[Signature],
    scope: Scope,
    report: Report,
    given: Iterable[tuple[int, str]] = (),
) -> None:
    """Report the mistakes of arguments.

    Args:
        args: the arguments.
        signatures: the functions that may take them; of two that can, the first one does.
        scope: the names that values may refer to.
        report: where mistakes go.
        given: (place in `signatures`, input) that have their value already.
    """
    taken = set(given)
    for arg in args:
        takers = [i for i, s in enumerate(signatures) if _input(s, arg.name) is not None]
        free = [i for i in takers if (i, arg.name) not in taken]
        parameter = _input(signatures[free[0]], arg.name) if free else None
        if parameter is not None:
            taken.add((free[0], arg.name))
            expect(arg.value, parameter.type, arg.name, scope, report)
            continue
        if takers:
            _given_twice(arg, report)
        else:
            _no_input(arg, signatures, report)
        type_of(arg.value, scope, report)


def _input(signature: Signature, name: str) -> Parameter | None:
    parameter = signature.parameter(name)
    return parameter if parameter is not None and parameter.is_input else None


def _given_twice(arg: Arg, report: Report) -> None:
    message = f"expected one value for '{arg.name}', got another"
    report.add("T007", message, arg.span, "keep one of them")


def _no_input(arg: Arg, signatures: Sequence[Signature], report: Report) -> None:
    names = " or ".join(s.qualified for s in signatures)
    if any(s.parameter(arg.name) is not None for s in signatures):
        report.add(
            "T006",
            f"expected an input of {names}, got its output '{arg.name}'",
            arg.span,
            f"to select results by it, filter: ({signatures[-1].qualified}()) filter {arg.name} ..",
        )
        return
    known = list(dict.fromkeys(p.name for s in signatures for p in s.inputs))
    report.add(
        "T005",
        f"expected an input of {names}, got '{arg.name}'",
        arg.span,
        name_hint(arg.name, known, "inputs"),
    )


# ---------------------------------------------------------------------------------- predicates


def check_predicate(
    predicate: Predicate,
    fields: Scope,
    outer: Scope,
    report: Report,
    *,
    what: str = "an output of the query",
) -> None:
    """Report the mistakes of a predicate on those fields.

    Args:
        predicate: the predicate.
        fields: what it may compare.
        outer: what values may refer to besides.
        report: where mistakes go.
        what: what the fields are, as the message names one.
    """
    match predicate:
        case TrueP() | FalseP():
            return
        case Not(operand):
            check_predicate(operand, fields, outer, report, what=what)
        case And(operands) | Or(operands):
            for operand in operands:
                check_predicate(operand, fields, outer, report, what=what)
        case Atom():
            _atom(predicate, fields, outer.under(fields), report, what)
        case GetPredicate(call, inner):
            _get_predicate(call, inner, outer.under(fields), report)
        case _:
            assert_never(predicate)


def _atom(atom: Atom, fields: Scope, scope: Scope, report: Report, what: str) -> None:
    left = fields.get(atom.name)
    if left is None:
        report.add(
            "T011",
            f"expected {what}, got '{atom.name}'",
            atom.span,
            name_hint(atom.name, sorted(fields.types), "known here"),
        )
        type_of(atom.value, scope, report)
        return
    right = operand_type(atom.operator, left)
    if right is not None:
        lenient = not is_identifier(atom.name, left, atom.operator)
        what = f"{atom.name} {atom.operator}"
        expect(atom.value, right, what, scope, report, lenient=lenient, is_compared=True)
        return
    type_of(atom.value, scope, report)
    if atom.operator not in OPERATORS:
        hint = name_hint(atom.operator, OPERATORS, "operators")
    elif atom.operator == "contains" and left == STRING:
        hint = f"text holds text: {atom.name} =~ .."
    else:
        hint = f"operators on {left}: {listed(operators_of(left))}"
    report.add(
        "T012",
        f"expected an operator on {left} for '{atom.name}', got '{atom.operator}'",
        atom.span,
        hint,
    )


def _get_predicate(call: Call, inner: Predicate, scope: Scope, report: Report) -> None:
    signature = function_of(call, report)
    if signature is None:
        check_predicate(inner, OPEN, scope, report)
        return
    _attributes(call.selector.attributes, scope, report)
    arguments(call.args, [signature], scope, report)
    if signature.kind != "query":
        report.add(
            "T013",
            f"expected a query before '{{', got the action '{signature.qualified}'",
            call.span,
            "only the results of queries can be tested",
        )
        return
    check_predicate(inner, scope_of(signature.outputs), scope, report)
