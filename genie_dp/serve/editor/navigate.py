"""Where a name is declared and used, and the edits of a rename."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.serve.editor.bench import Bench, EditorView, real_path
from genie_dp.serve.editor.places import DocumentText, Range, places_of_category, places_of_function
from genie_dp.serve.editor.shown import Named
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.grammar import BUILT_IN
from genie_dp.templates.syntax import path_beside

Place = tuple[str, Range]
"""A file, and a piece of its text."""

_NAME = re.compile(r"[^\W\d]\w*\Z")


def definitions(named: Named, file: str, bench: Bench, view: EditorView) -> list[Place]:
    """Return where something is declared; of a category at its declaration, its templates."""
    match named.sort:
        case "category":
            return _of_category(named, file, bench, view)
        case "path":
            path = path_beside(file, named.name)
            return [(path, (0, 0))] if Path(path).is_file() else []
        case "class":
            return [
                (span.file, _name_in(span, named.name, bench))
                for skills in view.skills()
                if (span := _class_span(named.name[1:], skills)) is not None
            ][:1]
        case "placeholder":
            return _of_placeholder(named, file, bench, view)
        case "unit":
            declared = (
                (unit.span, unit.name)
                for skills in view.skills()
                for skill in skills.skills
                for definition in skill.classes
                for unit in definition.units
            )
            return [
                (span.file, _name_in(span, name, bench))
                for span, name in declared
                if name == named.name and span is not None
            ][:1]
        case "function" | "parameter":
            functions = named.functions or (named.name,)
            parameter = named.name if named.functions else None
            candidates = (_in_skills(function, parameter, bench, view) for function in functions)
            return list(dict.fromkeys(place for place in candidates if place is not None))
        case _:
            return []


def references(named: Named, bench: Bench, view: EditorView) -> Iterator[Place]:
    """Yield all places that name a category, a function or a class."""
    for file in template_files(view):
        source = bench.source(file)
        if named.sort == "category":
            yield from ((file, place) for place, _ in places_of_category(source, named.name))
        elif named.sort in ("function", "class"):
            yield from ((file, place) for place in places_of_function(source, named.name))


def rename_category(
    named: Named,
    new_name: str,
    bench: Bench,
    view: EditorView,
    *,
    is_writable: Callable[[Path], bool],
) -> list[Place]:
    """Return the places where another name has to be written.

    Raises:
        GenieError: R070, it cannot be called so, or a file that names it is not the user's.
    """
    check_renamable(named, view)
    if not _NAME.match(new_name):
        raise _refusal(f"{new_name!r} is no name of a category", "write letters, digits and _")
    if new_name in BUILT_IN or new_name in view.grammar.categories:
        raise _refusal(f"there is a category {new_name!r} already", "choose another name")
    places = list(references(named, bench, view))
    files = dict.fromkeys(file for file, _ in places)
    foreign = next((file for file in files if not is_writable(Path(file))), None)
    if foreign is not None:
        hint = "copy that grammar into your project first"
        raise _refusal(f"{named.name} is named in {foreign}, which is not yours to change", hint)
    return places


def check_renamable(named: Named, view: EditorView) -> None:
    """Refuse names that cannot be renamed.

    Raises:
        GenieError: R070.
    """
    if named.sort != "category" or named.name in BUILT_IN:
        raise _refusal("only categories can be renamed", "point at one that a file declares")
    if named.name not in view.grammar.categories:
        raise _refusal(f"no file declares the category {named.name!r}", "declare it first")


def template_files(view: EditorView) -> Iterator[str]:
    """Yield the template files of a grammar, each once."""
    files = {real_path(file): file for file in view.grammar.sources if file.endswith(".genie")}
    yield from files.values()


def _refusal(message: str, hint: str) -> GenieError:
    return GenieError(Problem("R070", message, hint=hint))


def _of_category(named: Named, file: str, bench: Bench, view: EditorView) -> list[Place]:
    declared: list[Place] = []
    uses: list[Place] = []
    category = view.grammar.categories.get(named.name)
    if category is None or category.span is None:
        return []
    for place, is_declaration in places_of_category(bench.source(category.span.file), named.name):
        if is_declaration:
            declared.append((category.span.file, place))
    if (file, named.place) not in declared:
        return declared
    for template in view.grammar.templates:
        if template.category == named.name and template.span is not None:
            start, _ = DocumentText(bench.source(template.span.file)).range_of(template.span)
            uses.append((template.span.file, (start, start + len(named.name))))
    return uses


def _of_placeholder(named: Named, file: str, bench: Bench, view: EditorView) -> list[Place]:
    """Return the uses of a placeholder; from there, the parameter that it gives a value to."""
    if named.first is not None and named.first != named.place:
        return [(file, named.first)]
    function, _, parameter = named.fills.partition(":")
    place = _in_skills(function, parameter, bench, view) if parameter else None
    return [] if place is None else [place]


def _in_skills(
    function: str, parameter: str | None, bench: Bench, view: EditorView
) -> Place | None:
    for skills in view.skills():
        entry = skills.find(function)
        if entry is None or entry.span is None:
            continue
        span = entry.span
        if parameter is not None:
            span = _parameter_span(entry.owner, entry.signature.name, parameter, skills) or span
        return span.file, _name_in(span, parameter or entry.signature.name, bench)
    return None


def _parameter_span(owner: str, function: str, parameter: str, skills: SkillLibrary) -> Span | None:
    """Return where a parameter is declared, in its class or in one which that extends."""
    lineage = skills.classes[owner].lineage if owner in skills.classes else (owner,)
    declared = {c.name: c for skill in skills.skills for c in skill.classes}
    for name in lineage:
        for decl in declared[name].functions if name in declared else ():
            for param in decl.params:
                if param.name == parameter and (decl.name == function or name != owner):
                    return param.span
    return None


def _class_span(name: str, skills: SkillLibrary) -> Span | None:
    declared = (c for skill in skills.skills for c in skill.classes)
    return next((c.span for c in declared if c.name == name), None)


def _name_in(span: Span, name: str, bench: Bench) -> Range:
    """Return the place of a name in its declaration."""
    source = bench.source(span.file)
    start, end = DocumentText(source).range_of(span)
    match = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])").search(source, start)
    if match is None or match.start() > max(end, start + 200):
        return start, start
    return match.span()
