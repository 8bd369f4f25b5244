"""The hover text of a word: types, phrases, example sentences."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from genie_dp.english.forms import surface
from genie_dp.errors import GenieError
from genie_dp.languages.bodies import Fragment
from genie_dp.languages.library import Parameter, Signature
from genie_dp.serve.editor.bench import EditorView
from genie_dp.serve.editor.complete import signature_line
from genie_dp.serve.editor.cursor import Cursor, Word, word_at
from genie_dp.serve.editor.places import Range
from genie_dp.serve.editor.skill_cursor import skill_cursor_at
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.grammar import BUILT_IN, compile_body, functions_of
from genie_dp.templates.syntax import parse_file

EXAMPLES = 3
_BUILT_IN = {
    "OUTPUT": "every output of every query, by its phrases",
    "INPUT": "every optional input of every function, by its phrases",
    "VALUE": "every constant that people can say",
}


@dataclass(frozen=True, slots=True)
class Named:
    """The object that a word names.

    Attributes:
        name: of a function or class, with its "@".
        place: where the word stands.
        functions: those whose parameter it is.
        type: of a placeholder, whether a lambda declares it or not; "" where it does not follow.
        fills: the parameter that a placeholder gives a value to, such as "@com.gmail.inbox:date".
        first: where the placeholder is written in the utterance.
    """

    sort: Literal["category", "function", "class", "parameter", "placeholder", "unit", "path"]
    name: str
    place: Range
    functions: tuple[str, ...] = ()
    type: str = ""
    fills: str = ""
    first: Range | None = None


def named_at(text: str, offset: int, view: EditorView, *, is_skill: bool) -> Named | None:
    """Return the object named by the word at a place; None where it is unknown."""
    return _in_skill(text, offset) if is_skill else _in_templates(text, offset, view)


def _in_templates(text: str, offset: int, view: EditorView) -> Named | None:
    token_at = word_at(text, offset)
    if token_at is None:
        return None
    word, cursor = token_at
    place = (word.start, word.end)
    if word.kind == "string":
        is_path = cursor.last() in ("import", "using") or cursor.last() == ":"
        if is_path:
            return Named("path", word.text[1:-1], place)
        return _placeholder_in_words(offset, cursor, view)
    if word.kind == "placeholder":
        return _placeholder(word.text[1:], place, cursor, view)
    if word.kind == "function":
        is_class = any(word.text[1:] in skills.classes for skills in view.skills())
        return Named("class" if is_class else "function", word.text, place)
    category = _category_of(word, cursor, view)
    if category is not None:
        return Named("category", category, place)
    if cursor.part not in ("body", "guard"):
        return None
    if cursor.last() == "(" and cursor.last(2) == "Measure":
        return Named("unit", word.text, place)
    following = next((w for w in cursor.statement if w.start >= word.end), None)
    if following is not None and following.text == "(":
        function = cursor.function(word)
        return Named("function", function, place) if function in view.signatures else None
    functions = tuple(_functions_around(word, cursor, view))
    if functions:
        return Named("parameter", word.text, place, functions)
    if word.text in cursor.parameters:
        return _placeholder(word.text, place, cursor, view)
    return None


def _placeholder_in_words(offset: int, cursor: Cursor, view: EditorView) -> Named | None:
    for name, (start, end) in cursor.placeholders.items():
        if start <= offset <= end:
            return _placeholder(name, (start, end), cursor, view)
    return None


def _placeholder(name: str, place: Range, cursor: Cursor, view: EditorView) -> Named:
    """Return the type of a placeholder, from a lambda or from the body."""
    fragment = _compile(cursor, view)
    types = dict(fragment.parameters) if fragment is not None else cursor.parameters
    fills = fragment.fills.get(name, "") if fragment is not None else ""
    type_ = str(types.get(name, ""))
    first = cursor.placeholders.get(name)
    return Named("placeholder", name, place, type=type_, fills=fills, first=first)


def _compile(cursor: Cursor, view: EditorView) -> Fragment | None:
    """Return the body of a statement as it is written now; None where it has mistakes."""
    head = f"for @{cursor.class_name};" if cursor.class_name else ""
    parsed, problems = parse_file(f"{head}{cursor.text};")
    if problems or not parsed.templates or parsed.templates[0].python is not None:
        return None
    try:
        return compile_body(parsed.templates[0], view.grammar, view.language, view.library)
    except GenieError:
        return None


def _category_of(word: Word, cursor: Cursor, view: EditorView) -> str | None:
    """Return the category that a word names, or that of the child which it names."""
    if cursor.part == "start" or cursor.last() == "category":
        return word.text if word.text not in ("category", "import", "using") else None
    if cursor.part in ("utterance", "requests") and cursor.last() == ":":
        return word.text
    in_call = cursor.call(view.signatures) is not None and _is_before_equal(word, cursor)
    is_child = word.text in cursor.children and cursor.last() != "." and not in_call
    return (cursor.children[word.text] or None) if is_child else None


def _is_before_equal(word: Word, cursor: Cursor) -> bool:
    following = next((w for w in cursor.statement if w.start >= word.end), None)
    return following is not None and following.text == "="


def _functions_around(word: Word, cursor: Cursor, view: EditorView) -> Iterator[str]:
    """Yield the functions whose parameter a word may be: of the call it is in, else of any."""
    signatures = view.signatures
    call = cursor.call(signatures) if _is_before_equal(word, cursor) else None
    for name in [call[0]] if call else cursor.functions(signatures):
        if signatures[name].parameter(word.text) is not None:
            yield name


def _in_skill(text: str, offset: int) -> Named | None:
    end = offset
    while end < len(text) and (text[end].isalnum() or text[end] in "_@.-"):
        end += 1
    cursor = skill_cursor_at(text, end)
    word = cursor.typed
    if not word:
        return None
    place = (end - len(word), end)
    if word.startswith("@"):
        return Named("class", word, place)
    function = f"@{cursor.class_name}.{cursor.function}"
    if cursor.last in ("query", "action"):
        return Named("function", f"@{cursor.class_name}.{word}", place)
    if cursor.last in ("req", "opt", "out") and cursor.function:
        return Named("parameter", word, place, (function,))
    if cursor.last in ("unit", "Measure") or cursor.place == "unit":
        return Named("unit", word, place)
    return None


# ------------------------------------------------------------------------------------ hover


def describe(named: Named, view: EditorView) -> str | None:
    """Return its hover text in Markdown; None where nothing is known."""
    match named.sort:
        case "category":
            return _category(named.name, view)
        case "function":
            return _function(named.name, view)
        case "class":
            return _class(named.name, view)
        case "parameter":
            descriptions = [_parameter(named.name, function, view) for function in named.functions]
            return "\n\n".join(descriptions) or None
        case "placeholder":
            return _placeholder_lines(named, view)
        case "unit":
            return _unit(named.name, view)
        case _:
            return None


def _category(name: str, view: EditorView) -> str | None:
    if name in BUILT_IN:
        return f"`{name}` is built in ({BUILT_IN[name]}): {_BUILT_IN[name]}."
    category = view.grammar.categories.get(name)
    if category is None:
        return None
    templates = [t for t in view.grammar.templates if t.category == name]
    root = " root" if category.is_root else ""
    head = f"`category {name} : {category.kind}{root}` {category.description}".strip()
    count = f"{len(templates):,} template{'s' * (len(templates) != 1)}"
    pairs = [pairs for t in templates if (pairs := view.sample(t.id))]
    return "\n\n".join((head, count, _examples(pairs, view)))


def _function(qualified: str, view: EditorView) -> str | None:
    signature = view.signatures.get(qualified)
    if signature is None:
        return None
    lines = [f"`{_full_signature(signature)}`"]
    for skills in view.skills():
        function = skills.find(qualified)
        if function is not None and function.phrases:
            lines.append(", ".join(function.phrases))
            break
    pairs = []
    for template in view.grammar.templates:
        if qualified in functions_of(template):
            of_it = (pair for pair in view.sample(template.id) if qualified in pair[1].split())
            pairs.append(tuple(of_it))
    return "\n\n".join((*lines, _examples([p for p in pairs if p], view)))


def _full_signature(signature: Signature) -> str:
    words = signature_line(signature).partition(" (")[0]
    parameters = ", ".join(f"{p.direction} {p.name} : {p.type}" for p in signature.parameters)
    return f"{words} {signature.qualified}({parameters})"


def _class(name: str, view: EditorView) -> str | None:
    for skills in view.skills():
        skill_class = skills.classes.get(name[1:])
        if skill_class is not None:
            return f"`class {name}` {skill_class.phrase}\n\n" + ", ".join(
                f"`{function}`" for function in skill_class.functions
            )
    return None


def _parameter(name: str, function: str, view: EditorView) -> str:
    signature = view.signatures[function]
    parameter = signature.parameter(name)
    if parameter is None:
        return ""
    lines = [f"`{parameter.direction} {name} : {parameter.type}` of `{function}`"]
    for part, phrases in _phrases_of(parameter, function, view.skills()).items():
        lines.append(f"{part}: {', '.join(phrases)}")
    if parameter.value_list:
        count = len(view.library.values(parameter.value_list))
        lines.append(f"values: {parameter.value_list} ({count:,})")
    return "  \n".join(lines)


def _placeholder_lines(named: Named, view: EditorView) -> str | None:
    lines = [f"`{named.name} : {named.type}`"] if named.type else []
    function, _, parameter = named.fills.partition(":")
    if function in view.signatures:
        lines.append(_parameter(parameter, function, view))
    return "\n\n".join(lines) or None


def _unit(name: str, view: EditorView) -> str | None:
    unit = view.units.by_name.get(name)
    if unit is None:
        return None
    measured = next(d for d, base in view.units.dimensions.items() if base == unit.base)
    size = f" = {unit.factor} {unit.base}" if unit.base != name else ""
    return f"`unit {name} of {measured}{size}`\n\n{', '.join(unit.words)}"


def _phrases_of(
    parameter: Parameter, function: str, libraries: Iterable[SkillLibrary]
) -> dict[str, tuple[str, ...]]:
    for library in libraries:
        phrases = library.phrases(function, parameter.name)
        if phrases:
            return dict(phrases)
    return {}


def _examples(pairs: list[tuple[tuple[str, str], ...]], view: EditorView) -> str:
    """Return a few sentences, each of another template where there are enough of them."""
    if view.samples is None:
        return "*Example sentences are being made.*"
    step = max(1, len(pairs) // EXAMPLES)
    spread = pairs[::step][:EXAMPLES]
    first = [of_template[0] for of_template in spread]
    others = [pair for of_template in spread for pair in of_template[1:]]
    chosen = dict([*first, *others][: EXAMPLES * 2])
    lines = [
        f"- {surface(words.split())}\n  `{program}`"
        for words, program in list(chosen.items())[:EXAMPLES]
    ]
    return "\n".join(lines) or "*No sentence of it was met.*"
