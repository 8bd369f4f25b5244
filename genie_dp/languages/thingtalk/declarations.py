"""The abstract syntax of ThingTalk's declarations: classes (Genie, Fig. 3) and data sets.

Data without behaviour, as in ast.py.
"""

from dataclasses import dataclass
from decimal import Decimal

from genie_dp.languages.thingtalk.ast import Action, Node, Program, Query, Stream
from genie_dp.languages.types import Type


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    """`#[name=value]`, or natural-language `#_[name=value]`.

    `value` is plain data: str, bool, Decimal, tuple, dict, or one of the value nodes of ast.py.
    """

    name: str
    value: object
    natural: bool


@dataclass(frozen=True, slots=True)
class ParamDecl(Node):
    """A parameter: direction is "in req", "in opt" or "out"."""

    name: str
    direction: str
    type: Type
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionDecl(Node):
    """A query or action as declared in one class."""

    kind: str  # "query" | "action"
    name: str
    params: tuple[ParamDecl, ...]
    is_monitorable: bool = False
    is_list: bool = False
    extends: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityDecl(Node):
    """`entity name extends other;`."""

    name: str
    extends: tuple[str, ...] = ()
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class UnitDecl(Node):
    """`unit drop of volume = 0.05 ml;`, or `unit puff of dose;` for a base unit.

    Attributes:
        name: as programs have it.
        dimension: the measured quantity, such as "volume".
        size: how many of which other unit one of it is; None of a base unit.
    """

    name: str
    dimension: str
    size: tuple[Decimal, str] | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportDecl(Node):
    """`import loader from @org.thingpedia.v2();`: facets taken from a mixin."""

    facets: tuple[str, ...]
    module: str
    args: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class ClassDef(Node):
    """A skill's class (Genie, Fig. 3); names are without "@"."""

    name: str
    extends: tuple[str, ...] = ()
    is_abstract: bool = False
    imports: tuple[ImportDecl, ...] = ()
    entities: tuple[EntityDecl, ...] = ()
    units: tuple[UnitDecl, ...] = ()
    functions: tuple[FunctionDecl, ...] = ()
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetExample(Node):
    """A real Thingpedia primitive template: kind is query, stream, action or program."""

    kind: str
    parameters: tuple[tuple[str, Type], ...]
    body: Query | Stream | Action | Program
    utterances: tuple[str, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset(Node):
    """`dataset @c language "en" { .. }`."""

    name: str
    language: str | None
    examples: tuple[DatasetExample, ...]
