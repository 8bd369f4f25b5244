"""Parse tree to syntax tree: classes and datasets."""

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads

from decimal import Decimal
from typing import Any

from lark import Token
from lark.tree import Meta

from genie_dp.errors import Span, with_article
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.declarations import (
    Annotation,
    ClassDef,
    Dataset,
    DatasetExample,
    EntityDecl,
    FunctionDecl,
    ImportDecl,
    ParamDecl,
)
from genie_dp.languages.thingtalk.transform import Passed, ProgramReader, as_action
from genie_dp.languages.thingtalk.transform_values import unquote
from genie_dp.languages.thingtalk.types import Type

_BODIES: dict[str, tuple[type, ...]] = {
    "query": (ast.Call, ast.Filter, ast.Join, ast.Aggregate),
    "stream": (
        ast.AtTimer, ast.Timer, ast.Monitor, ast.Edge, ast.StreamFilter, ast.StreamJoin,
    ),
    "action": (ast.Call, ast.Notify),
    "program": (ast.Program,),
}  # fmt: skip


class LibraryReader(ProgramReader):
    """Turns the trees of classes and datasets into nodes."""

    def library(self, _meta: Meta, children: list[Any]) -> tuple[ClassDef | Dataset, ...]:
        return tuple(children)

    # ------------------------------------------------------------------------------ classes

    def klass(self, meta: Meta, children: list[Any]) -> ClassDef:
        name = next(c for c in children if isinstance(c, Token) and c.type == "ATNAME")
        return ClassDef(
            name=name[1:],
            extends=next((c for c in children if isinstance(c, tuple)), ()),
            is_abstract=isinstance(children[0], Token) and children[0].type == "ABSTRACT",
            imports=tuple(c for c in children if isinstance(c, ImportDecl)),
            entities=tuple(c for c in children if isinstance(c, EntityDecl)),
            functions=tuple(c for c in children if isinstance(c, FunctionDecl)),
            annotations=_annotations(children),
            span=self.span(meta),
        )

    def class_parents(self, _meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(child[1:] for child in children)

    def import_decl(self, meta: Meta, children: list[Any]) -> ImportDecl:
        names = [c for c in children if isinstance(c, Token)]
        return ImportDecl(
            facets=tuple(str(name) for name in names[:-1]),
            module=names[-1][1:],
            args=tuple(c for c in children if isinstance(c, tuple)),
            span=self.span(meta),
        )

    def import_arg(self, _meta: Meta, children: list[Any]) -> tuple[str, object]:
        return str(children[0]), children[1]

    def entity_decl(self, meta: Meta, children: list[Any]) -> EntityDecl:
        extends = next((c for c in children if isinstance(c, tuple)), ())
        annotations = _annotations(children)
        return EntityDecl(str(children[0]), extends, annotations, span=self.span(meta))

    def entity_parents(self, _meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(child.removeprefix("^^") for child in children)

    def function_decl(self, meta: Meta, children: list[Any]) -> FunctionDecl:
        words = [c for c in children if isinstance(c, Token)]
        *modifiers, kind, name = (str(word) for word in words)
        return FunctionDecl(
            kind=kind,
            name=name,
            params=tuple(next(c for c in children if isinstance(c, list))),
            is_monitorable="monitorable" in modifiers,
            is_list="list" in modifiers,
            extends=next((c for c in children if isinstance(c, tuple)), ()),
            annotations=_annotations(children),
            span=self.span(meta),
        )

    def function_parents(self, _meta: Meta, children: list[Token]) -> tuple[str, ...]:
        return tuple(str(child) for child in children)

    def params(self, _meta: Meta, children: list[ParamDecl]) -> list[ParamDecl]:
        return children

    def param(self, meta: Meta, children: list[Any]) -> ParamDecl:
        direction, name, written, *annotations = children
        return ParamDecl(
            name=str(name),
            direction=" ".join(direction.split()),
            type=self.resolve(written),
            annotations=tuple(annotations),
            span=self.span(meta),
        )

    # -------------------------------------------------------------------------- annotations

    def annotation(self, meta: Meta, children: list[Any]) -> Annotation:
        *marker, name, value = children
        return Annotation(str(name), value, natural=bool(marker), span=self.span(meta))

    def text(self, _meta: Meta, children: list[Token]) -> str:
        return unquote(children[0])

    def null(self, _meta: Meta, _children: list[Token]) -> None:
        return None

    def decimal(self, meta: Meta, children: list[Token]) -> Decimal:
        return self.amount(children[0], self.span(meta))

    def true_flag(self, _meta: Meta, _children: list[Token]) -> bool:
        return True

    def false_flag(self, _meta: Meta, _children: list[Token]) -> bool:
        return False

    def literal_list(self, _meta: Meta, children: list[object]) -> tuple[object, ...]:
        return tuple(children)

    def table(self, _meta: Meta, children: list[tuple[str, object]]) -> dict[str, object]:
        return dict(children)

    def entry(self, _meta: Meta, children: list[Any]) -> tuple[str, object]:
        return str(children[0]), children[1]

    def type_table(self, _meta: Meta, children: list[Any]) -> dict[str, Type]:
        return dict(children[1:])

    # ----------------------------------------------------------------------------- datasets

    def dataset(self, meta: Meta, children: list[Any]) -> Dataset:
        language = next((c for c in children[1:] if isinstance(c, str)), None)
        examples = tuple(c for c in children if isinstance(c, DatasetExample))
        name = children[0].removeprefix("@")
        return Dataset(name, language, examples, span=self.span(meta))

    def language(self, _meta: Meta, children: list[Token]) -> str:
        return unquote(children[0])

    def example(self, meta: Meta, children: list[Any]) -> DatasetExample:
        kind = str(children[0])
        annotations = _annotations(children)
        parts = children[1 : len(children) - len(annotations)]
        body = as_action(parts[-1]) if isinstance(parts[-1], Passed) else parts[-1]
        self._check_body(kind, body)
        return DatasetExample(
            kind=kind,
            parameters=parts[0] if len(parts) > 1 else (),
            body=body,
            utterances=self._utterances(annotations, self.span(meta)),
            annotations=tuple(a for a in annotations if a.name != "utterances"),
            span=self.span(meta),
        )

    def _check_body(self, kind: str, body: Any) -> None:
        if not isinstance(body, _BODIES[kind]):
            got = next(k for k, nodes in _BODIES.items() if isinstance(body, nodes))
            wanted, found = with_article(kind), with_article(got)
            message = f"expected {wanted} after '{kind} :=', got {found}"
            self.problem("S006", message, body.span, f"write {got} := ..")

    def _utterances(self, annotations: tuple[Annotation, ...], span: Span) -> tuple[str, ...]:
        found = [a for a in annotations if a.name == "utterances"]
        if not found:
            return ()
        value = found[0].value
        if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
            return value
        self.problem("S006", "expected a list of sentences in utterances", found[0].span or span)
        return ()


def _annotations(children: list[Any]) -> tuple[Annotation, ...]:
    return tuple(c for c in children if isinstance(c, Annotation))
