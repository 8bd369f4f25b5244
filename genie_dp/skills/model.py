"""A skill library once it is read and linked: classes, functions, types, values and units."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from genie_dp.errors import Problem, Span
from genie_dp.languages.library import Signature, Skipped
from genie_dp.languages.thingtalk.declarations import ClassDef, DatasetExample
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.records import DEFAULT_LANGUAGE

# Part of speech -> phrases; the parts are those of annotations.PARTS.
Phrases = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entity and those it is a kind of; `span` is None where nobody declares it.

    `value_list` is the name of the list that its annotation string_values declares.
    """

    name: str
    parents: tuple[str, ...] = ()
    span: Span | None = None
    value_list: str | None = None


@dataclass(frozen=True, slots=True)
class SkillValues:
    """Values that people use for a parameter, with weights, in the order of their file."""

    name: str
    values: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DatasetTemplate:
    """A primitive template of a real dataset, with the class whose dataset lists it."""

    class_name: str
    example: DatasetExample


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill folder.

    Attributes:
        name: name of the folder.
        classes: the classes it declares, as written.
        examples: primitive templates of a real Thingpedia dataset.
        templates: its templates.genie, if there is one.
        evaluation: its eval.tsv, if there is one: real sentences that measure a parser.
        paraphrases: its paraphrases.tsv, if there is one: sentences of people that train one.
        is_real: read from a real manifest.tt rather than a skill.tt.
    """

    name: str
    path: Path
    classes: tuple[ClassDef, ...]
    examples: tuple[DatasetTemplate, ...] = ()
    templates: Path | None = None
    evaluation: Path | None = None
    paraphrases: Path | None = None
    is_real: bool = False


@dataclass(frozen=True, slots=True)
class SkillFunction:
    """A function with everything it inherits.

    Attributes:
        owner: the class that declares it: the class it is called by, or one which that extends.
        phrases: its usual names.
        parameter_phrases: parameter -> its phrases by part of speech.
        enum_phrases: (parameter, value) -> words for an enum value.
        prompts: parameter -> the question that asks for it.
        confirmation: the announcement of its action, with `$name` for its inputs; "" for none.
        span: where it is declared; the declaration may be a parent's.
    """

    signature: Signature
    owner: str
    phrases: tuple[str, ...] = ()
    parameter_phrases: Mapping[str, Phrases] = field(default_factory=dict)
    enum_phrases: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    confirmation: str = ""
    span: Span | None = None

    @property
    def is_inherited(self) -> bool:
        """Return whether it is a function of another class, called by the name of this one."""
        return self.owner != self.signature.class_name


@dataclass(frozen=True, slots=True)
class SkillClass:
    """A class with everything it inherits.

    Attributes:
        lineage: the class itself, then its ancestors, nearest first: the first one that declares
            a function gives it its meaning.
        phrase: the usual name of the skill.
    """

    name: str
    lineage: tuple[str, ...]
    functions: Mapping[str, SkillFunction]
    phrase: str


@dataclass(frozen=True, slots=True)
class SkillLibrary:
    """All skills that were loaded; answers the questions of the type checker (Signatures).

    Attributes:
        skills: the skills in the order of their folders.
        classes: class name -> the linked class.
        entity_types: every type of entity that is built in, declared or used.
        value_lists: name -> values.
        units: the units of measure, those that skills declare included.
        sources: file -> text, to show where a mistake is.
        skipped: the skills that were left out because they are broken.
        warnings: the problems that do not stop anything.
        paths: the folders that were given.
    """

    skills: tuple[Skill, ...] = ()
    classes: Mapping[str, SkillClass] = field(default_factory=dict)
    entity_types: Mapping[str, EntityType] = field(default_factory=dict)
    value_lists: Mapping[str, SkillValues] = field(default_factory=dict)
    units: Units = SHIPPED
    sources: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[Problem, ...] = ()
    paths: tuple[Path, ...] = ()
    language: ClassVar[str] = DEFAULT_LANGUAGE

    def __repr__(self) -> str:
        skills = len(self.classes)
        functions = sum(len(skill.functions) for skill in self.classes.values())
        return (
            f"Library({skills} skill{'s' * (skills != 1)}, "
            f"{functions} function{'s' * (functions != 1)})"
        )

    def function(self, class_name: str, name: str) -> Signature | None:
        """Return the function with all inherited parameters, or None."""
        function = self._find(class_name, name)
        return function.signature if function else None

    def class_names(self) -> tuple[str, ...]:
        """Return the names of all classes, in the order they were read."""
        return tuple(self.classes)

    def function_names(self, class_name: str) -> tuple[str, ...]:
        """Return the functions of a class, inherited ones included."""
        skill_class = self.classes.get(class_name)
        return tuple(skill_class.functions) if skill_class else ()

    def is_entity_subtype(self, kind: str, other: str) -> bool:
        """Return whether every entity of `kind` is one of `other` (reflexive and transitive)."""
        return kind == other or any(
            self.is_entity_subtype(parent, other) for parent in self._entity_parents(kind)
        )

    def functions(self) -> tuple[Signature, ...]:
        """Return every function that a program may call, class by class.

        Those are all functions of all classes, inherited ones as well: `@org.lamp.dim` dims
        any lamp of the user, `@com.desk.dim` a lamp of that make. `abstract` does not restrict
        calls: it means only that no device is of that class alone.
        """
        return tuple(f.signature for c in self.classes.values() for f in c.functions.values())

    def names(self) -> tuple[str, ...]:
        """Return the qualified names of all functions that a program may call."""
        return tuple(signature.qualified for signature in self.functions())

    def is_inherited(self, qualified: str) -> bool:
        """Return whether a function is one of another class, called by the name of this one."""
        function = self.find(qualified)
        return function is not None and function.is_inherited

    def find(self, qualified: str) -> SkillFunction | None:
        """Return the function of a qualified name such as "@com.gmail.inbox", or None."""
        class_name, _, name = qualified.removeprefix("@").rpartition(".")
        return self._find(class_name, name)

    def signature(self, qualified: str) -> Signature | None:
        """Return the function of a qualified name with its parameters, or None."""
        function = self.find(qualified)
        return function.signature if function else None

    def phrases(self, qualified: str, parameter: str) -> Phrases:
        """Return the phrases of a parameter by part of speech; empty if there are none."""
        function = self.find(qualified)
        return function.parameter_phrases.get(parameter, {}) if function else {}

    def enum_phrases(self, qualified: str, parameter: str, value: str) -> tuple[str, ...]:
        """Return the phrases of an enum value, the usual one first."""
        function = self.find(qualified)
        written = function.enum_phrases.get((parameter, value), ()) if function else ()
        return written or (value.replace("_", " ").strip().lower(),)

    def called(self, qualified: str) -> tuple[str, ...]:
        """Return the phrases that name a function."""
        function = self.find(qualified)
        return function.phrases if function else ()

    def enum_phrase(self, qualified: str, parameter: str, value: str) -> str:
        """Return the usual phrase of an enum value: its annotation, or its name in words."""
        return self.enum_phrases(qualified, parameter, value)[0]

    def question(self, qualified: str, parameter: str) -> str:
        """Return the question for an input: its prompt, or one with its name in words."""
        function = self.find(qualified)
        if function and (prompt := function.prompts.get(parameter)):
            return prompt
        phrases = self.phrases(qualified, parameter).get("base")
        return f"What is the {phrases[0] if phrases else parameter.replace('_', ' ')}?"

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a list, or none if there is no such list."""
        listed = self.value_lists.get(name)
        return listed.values if listed else ()

    def class_phrase(self, class_name: str) -> str:
        """Return the usual name of a skill; for unknown classes it is their last name."""
        skill_class = self.classes.get(class_name)
        return skill_class.phrase if skill_class else last_name(class_name)

    def _find(self, class_name: str, name: str) -> SkillFunction | None:
        skill_class = self.classes.get(class_name)
        return skill_class.functions.get(name) if skill_class else None

    def _entity_parents(self, kind: str) -> Iterable[str]:
        declared = self.entity_types.get(kind)
        return declared.parents if declared else ()


def last_name(class_name: str) -> str:
    """Return the last part of a class name in words.

    >>> last_name("org.thingpedia.iot.light-bulb")
    'light bulb'
    """
    return class_name.rpartition(".")[2].replace("-", " ").replace("_", " ").lower()
