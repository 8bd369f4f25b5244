"""A library of a few invented classes, without the machinery of skills."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk.declarations import ClassDef
from genie_dp.languages.thingtalk.parser import parse_classes
from genie_dp.languages.units import SHIPPED, Units

SKILLS = Path(__file__).parents[2] / "data" / "typecheck" / "skills"


@dataclass(frozen=True)
class Classes:
    """Answers the type checker's questions from classes that extend nothing."""

    signatures: dict[tuple[str, str], Signature]
    entities: dict[str, tuple[str, ...]]
    units: Units = SHIPPED

    def function(self, class_name: str, name: str) -> Signature | None:
        return self.signatures.get((class_name, name))

    def class_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(class_name for class_name, _ in self.signatures))

    def names(self) -> tuple[str, ...]:
        return tuple(f"@{class_name}.{name}" for class_name, name in self.signatures)

    def function_names(self, class_name: str) -> tuple[str, ...]:
        return tuple(name for owner, name in self.signatures if owner == class_name)

    def is_entity_subtype(self, kind: str, other: str) -> bool:
        parents = self.entities.get(kind, ())
        return kind == other or any(self.is_entity_subtype(p, other) for p in parents)


def library_of(classes: Iterable[ClassDef]) -> Classes:
    """Return the library of those classes."""
    signatures = {}
    entities = {}
    for definition in classes:
        for entity in definition.entities:
            entities[f"{definition.name}:{entity.name}"] = entity.extends
        for function in definition.functions:
            signatures[definition.name, function.name] = Signature(
                definition.name,
                function.name,
                function.kind,
                tuple(Parameter(p.name, p.direction, p.type) for p in function.params),
                function.is_monitorable,
                function.is_list,
            )
    return Classes(signatures, entities)


@cache
def example_library() -> Classes:
    files = sorted(SKILLS.glob("*/skill.tt"))
    return library_of(
        definition
        for file in files
        for definition in parse_classes(file.read_text(encoding="utf-8"), file=file.name)
    )
