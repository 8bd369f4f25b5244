"""Completions at a place: categories, functions, parameters, values, settings."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter, Signature
from genie_dp.serve.editor.bench import EditorView
from genie_dp.serve.editor.cursor import COMPARISONS, Cursor, cursor_at
from genie_dp.serve.editor.skill_cursor import SkillCursor, skill_cursor_at
from genie_dp.skills.annotations import DERIVED_PARTS, PARTS
from genie_dp.skills.check import ANNOTATIONS
from genie_dp.templates.check import ENGLISH, FEATURES, GUARDED, REQUESTS
from genie_dp.templates.grammar import BUILT_IN

Kind = Literal["category", "class", "function", "parameter", "value", "keyword", "child", "type"]
MOST = 300  # items of one answer
_LAMBDA = ("\\", "λ")


@dataclass(frozen=True, slots=True)
class CompletionItem:
    """Something that can be written.

    Attributes:
        label: the text shown.
        detail: a short description.
        insert: the inserted text where that is more than the label; ${1:..} marks places to fill.
    """

    label: str
    kind: Kind
    detail: str = ""
    insert: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions, and the typed text that they replace."""

    items: tuple[CompletionItem, ...]
    typed: str


def complete(text: str, offset: int, view: EditorView, *, is_skill: bool) -> Completions:
    """Return the completions at a place of a template file, or of a skill.tt."""
    items: Iterable[CompletionItem]
    if is_skill:
        skill_cursor = skill_cursor_at(text, offset)
        typed, items = skill_cursor.typed, _in_skill(skill_cursor, view)
    else:
        cursor = cursor_at(text, offset)
        typed, items = cursor.typed, _in_templates(cursor, view)
    fitting = (item for item in items if typed.lower() in item.label.lower())
    return Completions(tuple(dict.fromkeys(fitting))[:MOST], typed)


# ------------------------------------------------------------------------- template files


def _in_templates(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    match cursor.part:
        case "start":
            for word in ("category", "import", "using", "for"):
                yield CompletionItem(word, "keyword")
            yield from _categories(view, with_built_in=False)
        case "kind":
            yield from (
                CompletionItem(kind, "keyword") for kind in sorted(view.language.bodies.kinds)
            )
        case "class":
            yield from _classes(view)
        case "utterance":
            yield from _utterance(cursor, view)
        case "requests":
            yield from _requests(cursor, view)
        case "annotation":
            yield from _settings(cursor, view)
        case "guard":
            yield from _guard(cursor, view)
        case "body":
            yield from _body(cursor, view)


def _categories(view: EditorView, *, with_built_in: bool) -> Iterator[CompletionItem]:
    for category in view.grammar.categories.values():
        yield CompletionItem(
            category.name, "category", f"{category.kind}, {category.description}".strip(" ,")
        )
    for name, kind in BUILT_IN.items() if with_built_in else ():
        yield CompletionItem(name, "category", f"built in, {kind}")


def _utterance(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    if cursor.last() == ":":
        yield from _categories(view, with_built_in=True)
        return
    for name, category in cursor.children.items():
        yield CompletionItem(f"{name}.det", "child", f"the determiner of {category or 'a table'}")
    for category_item in _categories(view, with_built_in=True):
        name = _free_name(category_item.label, cursor.children)
        yield CompletionItem(f"{name}:{category_item.label}", "category", category_item.detail)


def _free_name(category: str, children: Iterable[str]) -> str:
    """Return a short name for a child.

    >>> _free_name("NP", ["n"])
    'n2'
    """
    first, taken, number = category[0].lower(), set(children), 1
    while (name := first if number == 1 else f"{first}{number}") in taken:
        number += 1
    return name


def _requests(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    """Yield the conditions on a child, or features of a phrase (before `:=`), and its values."""
    is_feature = all(word.text != ":=" for word in cursor.before)
    values: dict[str, tuple[str, ...]] = dict(FEATURES if is_feature else REQUESTS)
    opening = cursor.inside[-1] if cursor.inside else ()
    if not is_feature and len(opening) > 1 and opening[-2].text in ("OUTPUT", "INPUT"):
        values = {"pos": (*PARTS, *DERIVED_PARTS), "num": REQUESTS["num"], "det": REQUESTS["det"]}
    if cursor.last() in ("=", "|"):
        names = [word.text for word in cursor.before if word.text in values]
        for value in values[names[-1]] if names else ():
            yield CompletionItem(value, "value", names[-1])
        return
    for name, allowed in values.items():
        yield CompletionItem(name, "keyword", "|".join(allowed), f"{name}=")
    if not is_feature:
        yield CompletionItem("gap", "keyword", "what fills the gap", "gap=")
        yield CompletionItem("after", "keyword", "the words that are left out", "after=")


def _settings(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    if cursor.last() == "=":
        if cursor.last(2) not in ("id", "weight"):
            yield from (CompletionItem(word, "value", cursor.last(2)) for word in ("true", "false"))
        return
    yield CompletionItem("id", "keyword", "the name of the template", 'id="${1}"')
    yield CompletionItem(
        "weight", "keyword", "its share among others, 1 if not given", "weight=${1}"
    )
    flags = {"training", "paraphrase"}
    flags |= {name for template in view.grammar.templates for name, _ in template.flags}
    for name in sorted(flags):
        yield CompletionItem(name, "keyword", "a subset of templates", f"{name}=${{1|true,false|}}")


def _guard(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    if cursor.last() == "." and cursor.last(2) in cursor.children:
        category = cursor.children[cursor.last(2)]
        kind = view.grammar.kind(category)
        own = view.language.bodies.attributes.get(kind, frozenset()) if kind else frozenset()
        for name in sorted(own | set(ENGLISH)):
            yield CompletionItem(name, "parameter", "|".join(GUARDED.get(name, ())))
        return
    for name, category in cursor.children.items():
        yield CompletionItem(name, "child", category)
    yield from (CompletionItem(word, "keyword") for word in ("and", "or", "not", "in"))


def _body(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    call = cursor.call(view.signatures)
    if cursor.typed.startswith("@") or (cursor.before and cursor.before[-1].text == "@"):
        yield from _functions(view)
    elif cursor.typed.startswith("$"):
        yield from _placeholders(cursor, view)
    elif any(opening[-2].text in _LAMBDA for opening in cursor.inside if len(opening) > 1):
        if cursor.last() in (":", "("):
            yield from _types(cursor.last(2) if cursor.last() == "(" else "", view)
    elif cursor.last() in COMPARISONS:
        is_input = cursor.last() == "="
        named = [call[0]] if call and is_input else cursor.functions(view.signatures)
        yield from _values(_parameters_of(cursor.last(2), named, view.signatures))
        yield from _placeholders(cursor, view)
        yield from (CompletionItem(n, "child", c) for n, c in cursor.children.items())
    elif call is not None and cursor.last() in ("(", ","):
        yield from _inputs(*call, view)
    else:
        yield from _anywhere(cursor, view)


def _inputs(function: str, given: Container[str], view: EditorView) -> Iterator[CompletionItem]:
    for parameter in view.signatures[function].inputs:
        if parameter.name not in given:
            is_required = "required" if parameter.is_required else "optional"
            detail = f"{parameter.type}, {is_required}"
            yield CompletionItem(parameter.name, "parameter", detail, f"{parameter.name} = ")


def _anywhere(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    """Yield the names in a body: children, placeholders, functions, their outputs."""
    signatures = view.signatures
    yield from (CompletionItem(n, "child", c) for n, c in cursor.children.items())
    yield from _placeholders(cursor, view)
    for signature in signatures.values():
        if signature.class_name == cursor.class_name:
            yield CompletionItem(signature.name, "function", signature_line(signature))
    for function in cursor.functions(signatures):
        for parameter in signatures[function].outputs:
            yield CompletionItem(parameter.name, "parameter", f"{parameter.type} of {function}")
    if not signatures:  # the names of a language whose functions are not called with @
        yield from (CompletionItem(name, "function") for name in view.library.names())


def _placeholders(cursor: Cursor, view: EditorView) -> Iterator[CompletionItem]:
    """Yield the parameters of the lambda; without one, the placeholders themselves."""
    for name, type_ in cursor.parameters.items():
        yield CompletionItem(name, "parameter", type_)
    if view.language.bodies.infers_types and not cursor.parameters:
        yield from (CompletionItem(f"${name}", "parameter") for name in cursor.placeholders)


def _parameters_of(
    name: str, functions: Iterable[str], signatures: dict[str, Signature]
) -> Iterator[Parameter]:
    for function in functions:
        signature = signatures.get(function)
        parameter = signature.parameter(name) if signature else None
        if parameter is not None:
            yield parameter


def _values(parameters: Iterable[Parameter]) -> Iterator[CompletionItem]:
    for parameter in parameters:
        type_ = parameter.type
        while isinstance(type_, ty.Array):
            type_ = type_.element
        if isinstance(type_, ty.Enum):
            yield from (CompletionItem(value, "value", parameter.name) for value in type_.values)
        elif type_ == ty.BOOLEAN:
            yield from (CompletionItem(word, "value", parameter.name) for word in ("true", "false"))


def _functions(view: EditorView) -> Iterator[CompletionItem]:
    for signature in view.signatures.values():
        yield CompletionItem(signature.qualified, "function", signature_line(signature))
    yield from _classes(view)


def _classes(view: EditorView) -> Iterator[CompletionItem]:
    for skills in view.skills():
        for name in skills.class_names():
            yield CompletionItem(f"@{name}", "class", skills.class_phrase(name))


def signature_line(signature: Signature) -> str:
    """Return a function in one line, such as "list query (in req folder : PathName)"."""
    words = ["monitorable"] if signature.is_monitorable else []
    words += ["list"] if signature.is_list else []
    inputs = ", ".join(f"{p.name} : {p.type}" for p in signature.inputs)
    return " ".join((*words, signature.kind, f"({inputs})"))


# --------------------------------------------------------------------------------- skills

_PARAMETER = '${2:name} : ${3:String})\n  #_[canonical="$4"];'
_MEMBERS = {
    "list query": f"list query ${{1:name}}(\n  out {_PARAMETER}",
    "monitorable list query": f"monitorable list query ${{1:name}}(\n  out {_PARAMETER}",
    "action": f"action ${{1:name}}(\n  in req {_PARAMETER}",
    "entity": "entity ${1:name};",
    "unit": 'unit ${1:name} of ${2:what it measures} #_[canonical=["$3"]];',
}


def _in_skill(cursor: SkillCursor, view: EditorView) -> Iterator[CompletionItem]:
    match cursor.place:
        case "class":
            yield from _classes(view)
        case "member":
            yield from (
                CompletionItem(name, "keyword", "", text) for name, text in _MEMBERS.items()
            )
        case "parameter":
            words = ("req", "opt") if cursor.last == "in" else ("in req", "in opt", "out")
            yield from (CompletionItem(word, "keyword") for word in words)
        case "type":
            yield from _types(cursor.last, view)
        case "dimension":
            for name, unit in view.units.dimensions.items():
                yield CompletionItem(name, "type", f"its base unit is {unit}")
        case "unit":
            yield from _units(view)
        case "annotation":
            yield from (CompletionItem(n, "keyword", "", f"{n}=") for n in sorted(ANNOTATIONS))
        case "phrase":
            yield from (CompletionItem(part, "keyword", "", f'{part}=["$1"]') for part in PARTS)
        case "string" if cursor.annotation in ("string_values", "accepts"):
            for name, listed in {**view.older.value_lists, **view.library.value_lists}.items():
                yield CompletionItem(name, "value", f"{len(listed.values)} values")


def _types(constructor: str, view: EditorView) -> Iterator[CompletionItem]:
    """Yield types, or the arguments of a type such as Measure(..)."""
    match constructor:
        case "Entity":
            kinds = view.older.entity_types.keys() | view.library.entity_types.keys()
            yield from (CompletionItem(name, "type") for name in sorted(kinds))
        case "Measure":
            yield from _units(view)
        case "Enum":
            return
        case _:
            for name in (*ty.BASICS, *ty.ALIASES):
                yield CompletionItem(name, "type")
            for name in ("Enum", "Array", "Entity", "Measure"):
                yield CompletionItem(name, "type", "", f"{name}(${{1}})")


def _units(view: EditorView) -> Iterator[CompletionItem]:
    for unit in view.units.by_name.values():
        yield CompletionItem(unit.name, "type", f"like {unit.base}")
