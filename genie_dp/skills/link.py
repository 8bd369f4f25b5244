"""Links classes: a class with its own functions and inherited ones; entity types, units."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from genie_dp.errors import Problem, did_you_mean
from genie_dp.languages.library import Signature
from genie_dp.languages.thingtalk.declarations import (
    ClassDef,
    EntityDecl,
    FunctionDecl,
    ParamDecl,
    UnitDecl,
)
from genie_dp.languages.types import Array, Entity, Type
from genie_dp.languages.units import SHIPPED, UNIT_ALIASES, Unit, Units
from genie_dp.skills.annotations import (
    as_parameter,
    enum_phrases,
    find,
    function_phrases,
    parameter_phrases,
    text_of,
    texts,
)
from genie_dp.skills.model import EntityType, SkillClass, SkillFunction, last_name


@dataclass(frozen=True, slots=True)
class LinkedClasses:
    """The linked classes, and the problems of their links."""

    classes: Mapping[str, SkillClass]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class LinkedClass:
    """A class as it was linked: its declarations, and their problems."""

    lineage: tuple[ClassDef, ...]
    skill_class: SkillClass
    problems: list[Problem]


def link(
    classes: Iterable[ClassDef],
    *,
    is_lenient: Mapping[str, bool],
    known: dict[str, LinkedClass] | None = None,
) -> LinkedClasses:
    """Return all classes with their inherited functions.

    Of two declarations of one class the first counts. Where `is_lenient` is true for a class (a
    real manifest), a parent that nobody declares is only a warning: real Thingpedia folders are
    often taken one by one.

    A class whose declarations are the objects that they were is not linked again; `known` holds
    those that were linked before, and gets those that are linked now.
    """
    known = {} if known is None else known
    by_name: dict[str, ClassDef] = {}
    problems: list[Problem] = []
    for definition in classes:
        if definition.name in by_name:
            first = by_name[definition.name].span
            message = f"class @{definition.name} is declared twice; first at {first}"
            hint = "rename one of them or leave one folder out"
            problems.append(Problem("K004", message, definition.span, hint))
        by_name.setdefault(definition.name, definition)
    for definition in by_name.values():
        lenient = is_lenient.get(definition.name, False)
        problems += _parent_problems(definition, by_name, lenient)
        problems += _cycle_problems(definition, by_name)
    linked: dict[str, SkillClass] = {}
    for name in by_name:
        line = tuple(by_name[above] for above in lineage(name, by_name))
        before = known.get(name)
        if before is None or [*map(id, before.lineage)] != [*map(id, line)]:
            before = known[name] = LinkedClass(line, *_link_class(name, by_name))
        linked[name] = before.skill_class
        problems.extend(before.problems)
    return LinkedClasses(linked, tuple(problems))


def lineage(name: str, classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
    """Return a class and its ancestors in the order in which their functions count.

    Depth first, left to right, each class where it is visited last: so a class always comes before
    its ancestors, also in a diamond. Unknown parents and cycles are passed over.

    >>> names = {"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": ()}
    >>> lineage("d", {n: ClassDef(n, extends=e) for n, e in names.items()})
    ('d', 'b', 'c', 'a')
    """
    visited = list(_visit_ancestors(name, classes, ()))
    return tuple(reversed(dict.fromkeys(reversed(visited))))


def _visit_ancestors(
    name: str, classes: Mapping[str, ClassDef], above: tuple[str, ...]
) -> Iterator[str]:
    if name in above or name not in classes:
        return
    yield name
    for parent in classes[name].extends:
        yield from _visit_ancestors(parent, classes, (*above, name))


def _parent_problems(
    definition: ClassDef, classes: Mapping[str, ClassDef], lenient: bool
) -> Iterator[Problem]:
    for parent in definition.extends:
        if parent not in classes:
            hint = did_you_mean(parent, (name for name in classes if name != definition.name))
            yield Problem(
                "K005",
                f"@{definition.name} extends @{parent}, which no loaded skill declares",
                definition.span,
                hint or f"load the skill folder of @{parent} as well",
                severity="warning" if lenient else "error",
            )


def _cycle_problems(definition: ClassDef, classes: Mapping[str, ClassDef]) -> Iterator[Problem]:
    ancestors = {name for p in definition.extends if p in classes for name in lineage(p, classes)}
    # A class that names itself among its parents is told so by check_class.
    if definition.name in ancestors and definition.name not in definition.extends:
        ring = " -> ".join(f"@{name}" for name in _shortest_ring(definition.name, classes))
        yield Problem(
            "K006",
            f"@{definition.name} extends itself: {ring}",
            definition.span,
            "take one of these `extends` away",
        )


def _shortest_ring(name: str, classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
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


# ----------------------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True)
class _Declaration:
    """A declaration, and the class that holds it."""

    owner: str
    decl: FunctionDecl


def _link_class(name: str, classes: Mapping[str, ClassDef]) -> tuple[SkillClass, list[Problem]]:
    definition = classes[name]
    line = lineage(name, classes)
    problems: list[Problem] = []
    functions = {}
    for function_name in _function_names(line, classes):
        params, mistakes = _parameters(function_name, line, classes, ())
        own, *hidden = _declarations(function_name, line, classes)
        if own.owner == name:
            problems.extend(mistakes)
        new = (second for second in hidden if _first_meet_in(own, second, definition, classes))
        problems.extend(_kind_problems(own, new, definition))
        functions[function_name] = _function(name, own, params)
    phrases = function_phrases(definition.annotations)
    phrase = phrases[0] if phrases else _title_of(definition)
    return SkillClass(name, line, functions, phrase), problems


def _first_meet_in(
    own: _Declaration, second: _Declaration, definition: ClassDef, classes: Mapping[str, ClassDef]
) -> bool:
    """Return whether no class above has both declarations already."""
    owners = {own.owner, second.owner}
    return len(owners) == 2 and not any(
        owners <= set(lineage(parent, classes)) for parent in definition.extends
    )


def _kind_problems(
    own: _Declaration, hidden: Iterable[_Declaration], definition: ClassDef
) -> Iterator[Problem]:
    is_own = own.owner == definition.name
    got = f"a function of kind {own.decl.kind}"
    for second in hidden:
        if second.decl.kind != own.decl.kind:
            yield Problem(
                "K007",
                f"expected the {second.decl.kind} {own.decl.name!r} of @{second.owner}, "
                f"got {got if is_own else f'the {own.decl.kind} of @{own.owner}'}",
                own.decl.span if is_own else definition.span,
                "give it another name" if is_own else "extend one of these classes only",
            )
            return


def _title_of(definition: ClassDef) -> str:
    title = text_of(definition.annotations, "thingpedia_name") or text_of(
        definition.annotations, "name"
    )
    return title.lower() if title else last_name(definition.name)


def _function_names(line: Iterable[str], classes: Mapping[str, ClassDef]) -> tuple[str, ...]:
    names = [f.name for name in line for f in classes[name].functions]
    return tuple(dict.fromkeys(names))


def _declarations(
    function: str, line: Iterable[str], classes: Mapping[str, ClassDef]
) -> list[_Declaration]:
    """Return the declarations of a function, the one that counts first."""
    return [
        _Declaration(name, f)
        for name in line
        for f in classes[name].functions
        if f.name == function
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
        inherited, mistakes = _parameters(parent, line, classes, (*above, function))
        problems.extend(p for p in mistakes if p.code == "K006")
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
    declarations = _declarations(parent, line, classes)
    if not declarations:
        names = _function_names(line, classes)
        return Problem(
            "K007",
            f"{decl.kind} {decl.name!r} extends {parent!r}, which the class does not have",
            decl.span,
            did_you_mean(parent, names) or f"functions of the class: {', '.join(names)}",
        )
    if declarations[0].decl.kind != decl.kind:
        return Problem(
            "K007",
            f"{decl.kind} {decl.name!r} extends the {declarations[0].decl.kind} {parent!r}",
            decl.span,
            "queries extend queries, actions actions",
        )
    return None


def _function(
    class_name: str, declared: _Declaration, params: Mapping[str, ParamDecl]
) -> SkillFunction:
    decl = declared.decl
    return SkillFunction(
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
            if (phrases := parameter_phrases(p.annotations, p.direction))
        },
        enum_phrases={
            key: words for p in params.values() for key, words in enum_phrases(p).items()
        },
        prompts={
            p.name: prompt for p in params.values() if (prompt := text_of(p.annotations, "prompt"))
        },
        confirmation=text_of(decl.annotations, "confirmation") or "",
        span=decl.span,
    )


# ----------------------------------------------------------------------------------------- entities

# The types that ThingTalk 1.x knows without a declaration; a picture is a link.
BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "tt:contact": (),
    "tt:contact_group": (),
    "tt:contact_name": (),
    "tt:device": (),
    "tt:email_address": (),
    "tt:function": (),
    "tt:hashtag": (),
    "tt:path_name": (),
    "tt:phone_number": (),
    "tt:picture": ("tt:url",),
    "tt:url": (),
    "tt:username": (),
}


def entity_types(
    definitions: Iterable[ClassDef], classes: Mapping[str, SkillClass]
) -> tuple[dict[str, EntityType], list[Problem]]:
    """Return every entity type by name, and the problems of the declarations.

    A bare parent (`entity song extends media`) is one of the class or of a class it extends.
    """
    types = {name: EntityType(name, parents) for name, parents in BUILT_IN.items()}
    declared = {d.name: d for d in definitions}
    for definition in declared.values():
        for entity in definition.entities:
            name = f"{definition.name}:{entity.name}"
            parents = tuple(
                _qualify_parent(parent, definition.name, declared, classes)
                for parent in entity.extends
            )
            tag = text_of(entity.annotations, "string_values")
            types[name] = EntityType(name, parents, entity.span, tag)
    problems = [
        problem
        for definition in declared.values()
        for entity in definition.entities
        for problem in _entity_problems(definition, entity, types)
    ]
    for used in used_entities(classes.values()):
        types.setdefault(used, EntityType(used))
    return types, problems


def used_entities(classes: Iterable[SkillClass]) -> Iterator[str]:
    """Yield the entity type of every parameter that has one."""
    for skill_class in classes:
        for function in skill_class.functions.values():
            for parameter in function.signature.parameters:
                kind = entity_kind(parameter.type)
                if kind:
                    yield kind


def entity_kind(type_: Type) -> str | None:
    """Return the entity type of a type or of its elements, or None.

    >>> entity_kind(Array(Entity("tt:url")))
    'tt:url'
    """
    while isinstance(type_, Array):
        type_ = type_.element
    return type_.kind if isinstance(type_, Entity) else None


def _qualify_parent(
    parent: str,
    class_name: str,
    declared: Mapping[str, ClassDef],
    classes: Mapping[str, SkillClass],
) -> str:
    if ":" in parent:
        return parent
    line = classes[class_name].lineage if class_name in classes else (class_name,)
    owner = next(
        (name for name in line if any(e.name == parent for e in declared[name].entities)),
        class_name,
    )
    return f"{owner}:{parent}"


def _entity_problems(
    definition: ClassDef, entity: EntityDecl, known: Mapping[str, EntityType]
) -> Iterator[Problem]:
    name = f"{definition.name}:{entity.name}"
    for written, parent in zip(entity.extends, known[name].parents, strict=True):
        if parent not in known and _should_be_known(parent, definition.name, known):
            yield Problem(
                "K013",
                f"entity {entity.name!r} extends {written!r}, which nobody declares",
                entity.span,
                _parent_hint(written, definition, known),
            )
    if _reaches(name, name, known, set()):
        yield Problem(
            "K006",
            f"entity {entity.name!r} extends itself",
            entity.span,
            "take one of these `extends` away",
        )


def _parent_hint(written: str, definition: ClassDef, known: Mapping[str, EntityType]) -> str:
    own = [e.name for e in definition.entities]
    hint = did_you_mean(written, known if ":" in written else own)
    return hint or f"declare it: entity {written.rpartition(':')[2]};"


def _should_be_known(parent: str, class_name: str, known: Mapping[str, EntityType]) -> bool:
    """Return whether the namespace declares its types at all; real classes of 2019 do not."""
    namespace = parent.partition(":")[0]
    return namespace in ("tt", class_name) or any(
        e.span is not None and e.name.partition(":")[0] == namespace for e in known.values()
    )


def _reaches(start: str, goal: str, known: Mapping[str, EntityType], seen: set[str]) -> bool:
    for parent in known[start].parents if start in known else ():
        if parent == goal:
            return True
        if parent not in seen:
            seen.add(parent)
            if _reaches(parent, goal, known, seen):
                return True
    return False


# -------------------------------------------------------------------------------------------- units

_NO_NAME = re.compile(r"[eE]\d")  # 5e3 is a number
_SPOKEN = re.compile(r"[^\W\d_]+(?:[- ][^\W\d_]+)*")
_SIGN = re.compile(r"[^\W\d_]+")
_USUAL = 100  # of a unit of which nobody says how many people name


def link_units(definitions: Iterable[ClassDef]) -> tuple[Units, list[Problem]]:
    """Return the units of a library, the shipped ones first, and the problems of declarations.

    Two classes may declare one unit if they mean the same; the words of the first one count.
    """
    declared: dict[str, UnitDecl] = {}
    problems: list[Problem] = []
    for definition in definitions:
        in_class: set[str] = set()
        for unit in definition.units:
            problem = _unit_name_problem(unit, declared.get(unit.name), unit.name in in_class)
            if problem is not None:
                problems.append(problem)
            in_class.add(unit.name)
            if unit.name not in SHIPPED:
                declared.setdefault(unit.name, unit)
    dimensions: dict[str, str] = {}
    for unit in declared.values():
        if unit.size is None:
            first = {**SHIPPED.dimensions, **dimensions}.get(unit.dimension)
            if first is not None:
                problems.append(_second_base(unit, first))
            else:
                dimensions[unit.dimension] = unit.name
    units, mistakes = _work_out(declared.values(), SHIPPED.with_units((), dimensions))
    problems += mistakes
    wrong = {problem.span for problem in problems}
    problems += _spoken_problems([u for u in declared.values() if u.span not in wrong], units)
    return (units if declared else SHIPPED), problems


def _unit_name_problem(unit: UnitDecl, first: UnitDecl | None, is_again: bool) -> Problem | None:
    """Return the mistake of a name that is taken, or that cannot be read."""
    if unit.name in SHIPPED:
        message = f"every library has the unit {unit.name!r}"
        hint = "take the declaration away; parameters may have it"
        return Problem("K015", message, unit.span, hint)
    if unit.name in UNIT_ALIASES or _NO_NAME.match(unit.name):
        message = f"{unit.name!r} is read as something else behind a number"
        return Problem("K015", message, unit.span, f"call it {unit.name}_unit, or the like")
    if first is None:
        return None
    if is_again or (first.dimension, first.size) != (unit.dimension, unit.size):
        message = f"unit {unit.name!r} is declared twice; first at {first.span}"
        return Problem("K015", message, unit.span, "rename one of them, or take one away")
    return None


def _second_base(unit: UnitDecl, first: str) -> Problem:
    message = f"{unit.dimension!r} has a base unit already: {first}"
    hint = f"say how much it is: unit {unit.name} of {unit.dimension} = 5 {first};"
    return Problem("K014", message, unit.span, hint)


def _work_out(declared: Collection[UnitDecl], units: Units) -> tuple[Units, list[Problem]]:
    """Return the units with those that are declared, whatever their order, and the mistakes."""
    problems: list[Problem] = []
    waiting = list(declared)
    while waiting:
        ready = [u for u in waiting if u.size is None or u.size[1] in units]
        for unit in ready or waiting:
            problem = _size_problem(unit, units, [u.name for u in declared])
            problems += [] if problem is None else [problem]
            # A unit with a mistake is there all the same, so that none is told of its uses.
            made = _unit_of(unit, units)
            units = units.with_units([made], {})
        waiting = [unit for unit in waiting if ready and unit not in ready]
    return units, problems


def _size_problem(unit: UnitDecl, units: Units, names: Collection[str]) -> Problem | None:
    if unit.size is None:
        return None
    number, other = unit.size
    base = units.dimensions.get(unit.dimension)
    if other not in units:
        message = f"unit {unit.name!r} is so many {other!r}, which is no unit"
        hint = did_you_mean(other, [u for u in units if u != unit.name])
        if other in names:
            message = f"unit {unit.name!r} is told by itself: {unit.name} = {number} {other}"
            hint = None
        return Problem("K014", message, unit.span, hint or "tell it by a unit that is known")
    if base is None:
        hint = did_you_mean(unit.dimension, units.dimensions)
        message = f"nothing is known of {unit.dimension!r}, which {unit.name!r} measures"
        hint = hint or f"declare its base unit: unit NAME of {unit.dimension};"
        return Problem("K014", message, unit.span, hint)
    if units.base(other) != base:
        measured = next(d for d, b in units.dimensions.items() if b == units.base(other))
        message = f"{unit.name!r} measures {unit.dimension}, but {other!r} {measured}"
        units_of_it = ", ".join(u.name for u in units.of_base(base))
        return Problem("K016", message, unit.span, f"units of {unit.dimension}: {units_of_it}")
    if number <= 0:
        message = f"expected more than nothing for {unit.name!r}, got {number} {other}"
        return Problem("K016", message, unit.span, "say how much one of it is")
    return None


def _unit_of(unit: UnitDecl, units: Units) -> Unit:
    """Return a declared unit; its words are those of its annotations, else its name."""
    canonical, symbol = find(unit.annotations, "canonical"), find(unit.annotations, "symbol")
    words = texts(canonical.value) if canonical else ()
    signs = texts(symbol.value) if symbol else ()
    low, high = (
        int(note.value) if note and isinstance(note.value, Decimal) else usual
        for note, usual in (
            (find(unit.annotations, "min_number"), 1),
            (find(unit.annotations, "max_number"), _USUAL),
        )
    )
    words = words or (unit.name.replace("_", " ").lower(),)
    base, factor = unit.name, Decimal(1)
    if unit.size is not None:
        number, other = unit.size
        base, factor = units.base(other), number * units.factor(other)
    return Unit(unit.name, base, factor, words=words, signs=signs, low=low, high=max(low, high))


def _spoken_problems(declared: Iterable[UnitDecl], units: Units) -> Iterator[Problem]:
    """Yield words that cannot follow a number, and those that another unit has."""
    owners: dict[str, str] = {}
    for unit in units.by_name.values():
        if unit.name in SHIPPED:
            owners.update(dict.fromkeys((*unit.words, *unit.signs), unit.name))
    for declaration in declared:
        unit = units.by_name[declaration.name]
        for word in dict.fromkeys((*unit.words, *unit.signs)):
            owner = owners.setdefault(word, unit.name)
            is_said = (_SPOKEN if word in unit.words else _SIGN).fullmatch(word)
            if owner != unit.name:
                message = f"{word!r} of the unit {unit.name!r} means {owner!r}"
                hint = 'give it other words: #_[canonical=["pinch","pinches"]] #_[symbol="pn"]'
                yield Problem("K017", message, declaration.span, hint)
            elif not is_said:
                message = f"{word!r} of the unit {unit.name!r} is not what follows a number"
                yield Problem("K017", message, declaration.span, "write words of letters")
