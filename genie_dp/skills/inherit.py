"""Links classes: what a class has of its own and from those it extends."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from genie_dp.errors import Problem, did_you_mean
from genie_dp.languages.thingtalk.declarations import ClassDef, FunctionDecl, ParamDecl
from genie_dp.languages.thingtalk.signatures import Signature
from genie_dp.skills.annotations import (
    as_parameter,
    enum_phrases,
    function_phrases,
    parameter_phrases,
    text_of,
)
from genie_dp.skills.model import Function, SkillClass, last_name


@dataclass(frozen=True, slots=True)
class Linked:
    """The linked classes, and what is wrong with their links."""

    classes: Mapping[str, SkillClass]
    problems: tuple[Problem, ...]


def link(classes: Iterable[ClassDef], *, is_lenient: Mapping[str, bool]) -> Linked:
    """Return all classes with what they inherit.

    Of two declarations of one class the first counts. Where `is_lenient` says so of a class (a real
    manifest), a parent that nobody declares is only a warning: real Thingpedia folders are often
    taken one by one.
    """
    by_name: dict[str, ClassDef] = {}
    problems: list[Problem] = []
    for definition in classes:
        if definition.name in by_name:
            problems.append(_declared_twice(definition, by_name))
        by_name.setdefault(definition.name, definition)
    for definition in by_name.values():
        lenient = is_lenient.get(definition.name, False)
        found = [*_parent_problems(definition, by_name, lenient), *_cycle(definition, by_name)]
        problems.extend(found)
    linked: dict[str, SkillClass] = {}
    for name in by_name:
        linked_class, found = _link_class(name, by_name)
        linked[name] = linked_class
        problems.extend(found)
    return Linked(linked, tuple(problems))


def lineage(name: str, classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
    """Return a class and its ancestors in the order in which their functions count.

    Depth first, left to right, each class where it is met last: so a class always comes before
    its ancestors, also in a diamond. Unknown parents and cycles are passed over.

    >>> names = {"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": ()}
    >>> lineage("d", {n: ClassDef(n, extends=e) for n, e in names.items()})
    ('d', 'b', 'c', 'a')
    """
    met = list(_visit(name, classes, ()))
    return tuple(reversed(dict.fromkeys(reversed(met))))


def _visit(name: str, classes: Mapping[str, ClassDef], above: tuple[str, ...]) -> Iterator[str]:
    if name in above or name not in classes:
        return
    yield name
    for parent in classes[name].extends:
        yield from _visit(parent, classes, (*above, name))


def _parent_problems(
    definition: ClassDef, classes: Mapping[str, ClassDef], lenient: bool
) -> Iterator[Problem]:
    for parent in definition.extends:
        if parent not in classes:
            known = did_you_mean(parent, (name for name in classes if name != definition.name))
            yield Problem(
                "K005",
                f"@{definition.name} extends @{parent}, which no loaded skill declares",
                definition.span,
                known or f"load the skill folder of @{parent} as well",
                severity="warning" if lenient else "error",
            )


def _cycle(definition: ClassDef, classes: Mapping[str, ClassDef]) -> Iterator[Problem]:
    ancestors = {name for p in definition.extends if p in classes for name in lineage(p, classes)}
    # A class that names itself among its parents is told so by check_class.
    if definition.name in ancestors and definition.name not in definition.extends:
        ring = " -> ".join(f"@{name}" for name in _ring(definition.name, classes))
        yield Problem(
            "K006",
            f"@{definition.name} extends itself: {ring}",
            definition.span,
            "take one of these `extends` away",
        )


def _ring(name: str, classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
    """Return a shortest way from a class back to itself along `extends`."""
    paths: list[tuple[str, ...]] = [(name,)]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for parent in classes[path[-1]].extends:
            if parent == name:
                return (*path, name)
            if parent in classes and parent not in seen:
                seen.add(parent)
                paths.append((*path, parent))
    return (name,)


def _declared_twice(definition: ClassDef, known: Mapping[str, ClassDef]) -> Problem:
    first = known[definition.name].span
    return Problem(
        "K004",
        f"class @{definition.name} is declared twice; first at {first}",
        definition.span,
        "rename one of them or leave one folder out",
    )


# ----------------------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declaration, and the class that holds it."""

    owner: str
    decl: FunctionDecl


def _link_class(name: str, classes: Mapping[str, ClassDef]) -> tuple[SkillClass, list[Problem]]:
    definition = classes[name]
    line = lineage(name, classes)
    problems: list[Problem] = []
    functions = {}
    for function_name in _function_names(line, classes):
        params, found = _parameters(function_name, line, classes, ())
        own, *hidden = _declarations(function_name, line, classes)
        if own.owner == name:
            problems.extend(found)
        met = (other for other in hidden if _meet_here(own, other, definition, classes))
        problems.extend(_kind_problems(own, met, definition))
        functions[function_name] = _function(name, own, params)
    phrases = function_phrases(definition.annotations)
    phrase = phrases[0] if phrases else _title(definition)
    return SkillClass(name, line, functions, phrase), problems


def _meet_here(
    own: _Declared, other: _Declared, definition: ClassDef, classes: Mapping[str, ClassDef]
) -> bool:
    """Tell whether no class above has both declarations already."""
    owners = {own.owner, other.owner}
    return len(owners) == 2 and not any(
        owners <= set(lineage(parent, classes)) for parent in definition.extends
    )


def _kind_problems(
    own: _Declared, hidden: Iterable[_Declared], definition: ClassDef
) -> Iterator[Problem]:
    is_own = own.owner == definition.name
    got = f"a function of kind {own.decl.kind}"
    for other in hidden:
        if other.decl.kind != own.decl.kind:
            yield Problem(
                "K007",
                f"expected the {other.decl.kind} {own.decl.name!r} of @{other.owner}, "
                f"got {got if is_own else f'the {own.decl.kind} of @{own.owner}'}",
                own.decl.span if is_own else definition.span,
                "give it another name" if is_own else "extend one of these classes only",
            )
            return


def _title(definition: ClassDef) -> str:
    title = text_of(definition.annotations, "thingpedia_name") or text_of(
        definition.annotations, "name"
    )
    return title.lower() if title else last_name(definition.name)


def _function_names(line: Iterable[str], classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
    names = [f.name for name in line for f in classes[name].functions]
    return tuple(dict.fromkeys(names))


def _declarations(
    function: str, line: Iterable[str], classes: Mapping[str, ClassDef]
) -> list[_Declared]:
    """Return the declarations of a function, the one that counts first."""
    return [
        _Declared(name, f) for name in line for f in classes[name].functions if f.name == function
    ]


def _parameters(
    function: str,
    line: tuple[str, ...],
    classes: Mapping[str, ClassDef],
    above: tuple[str, ...],
) -> tuple[dict[str, ParamDecl], list[Problem]]:
    """Return the parameters of a function, those of the functions it extends first.

    A parameter that is declared again keeps its place and takes the new declaration.
    """
    decl = _declarations(function, line, classes)[0].decl
    params: dict[str, ParamDecl] = {}
    problems: list[Problem] = []
    for parent in decl.extends:
        if parent == function:  # check_class says so
            continue
        problem = _extends_problem(decl, parent, line, classes, above)
        if problem:
            problems.append(problem)
            continue
        inherited, found = _parameters(parent, line, classes, (*above, function))
        problems.extend(p for p in found if p.code == "K006")
        params |= {name: p for name, p in inherited.items() if name not in params}
    return params | {p.name: p for p in decl.params}, problems


def _extends_problem(
    decl: FunctionDecl,
    parent: str,
    line: tuple[str, ...],
    classes: Mapping[str, ClassDef],
    above: tuple[str, ...],
) -> Problem | None:
    if parent in above:
        return Problem(
            "K006",
            f"function {decl.name!r} extends itself",
            decl.span,
            "take one of these `extends` away",
        )
    found = _declarations(parent, line, classes)
    if not found:
        known = _function_names(line, classes)
        return Problem(
            "K007",
            f"{decl.kind} {decl.name!r} extends {parent!r}, which the class does not have",
            decl.span,
            did_you_mean(parent, known) or f"functions of the class: {', '.join(known)}",
        )
    if found[0].decl.kind != decl.kind:
        return Problem(
            "K007",
            f"{decl.kind} {decl.name!r} extends the {found[0].decl.kind} {parent!r}",
            decl.span,
            "queries extend queries, actions actions",
        )
    return None


def _function(class_name: str, declared: _Declared, params: Mapping[str, ParamDecl]) -> Function:
    decl = declared.decl
    return Function(
        Signature(
            class_name,
            decl.name,
            decl.kind,
            tuple(as_parameter(p) for p in params.values()),
            is_monitorable=decl.is_monitorable,
            is_list=decl.is_list,
        ),
        declared.owner,
        phrases=function_phrases(decl.annotations),
        parameter_phrases={
            p.name: phrases
            for p in params.values()
            if (phrases := parameter_phrases(p.annotations))
        },
        enum_phrases={
            key: words for p in params.values() for key, words in enum_phrases(p).items()
        },
        span=decl.span,
    )
