"""Types of entities: those built in, declared by a class, or just used."""

from collections.abc import Iterable, Iterator, Mapping

from genie_dp.errors import Problem, did_you_mean
from genie_dp.languages.thingtalk.declarations import ClassDef, EntityDecl
from genie_dp.languages.thingtalk.types import Array, Entity, Type
from genie_dp.skills.model import EntityType, SkillClass

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
    """Return every entity type by name, and what is wrong with the declarations.

    A bare parent (`entity song extends media`) is one of the class or of a class it extends.
    """
    found = {name: EntityType(name, parents) for name, parents in BUILT_IN.items()}
    declared = {d.name: d for d in definitions}
    for definition in declared.values():
        for entity in definition.entities:
            name = f"{definition.name}:{entity.name}"
            parents = tuple(
                _qualified(parent, definition.name, declared, classes) for parent in entity.extends
            )
            found[name] = EntityType(name, parents, entity.span)
    problems = [
        problem
        for definition in declared.values()
        for entity in definition.entities
        for problem in _problems(definition, entity, found)
    ]
    for used in used_entities(classes.values()):
        found.setdefault(used, EntityType(used))
    return found, problems


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


def _qualified(
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


def _problems(
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
    near = did_you_mean(written, known if ":" in written else own)
    return near or f"declare it: entity {written.rpartition(':')[2]};"


def _should_be_known(parent: str, class_name: str, known: Mapping[str, EntityType]) -> bool:
    """Tell whether the namespace declares its types at all; real classes of 2019 do not."""
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
