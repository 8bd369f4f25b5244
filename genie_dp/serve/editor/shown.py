"""What is said of the word that somebody points at: types, phrases, example sentences."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from genie_dp.languages.library import Parameter, Signature
from genie_dp.serve.editor.bench import View
from genie_dp.serve.editor.complete import signature_line
from genie_dp.serve.editor.cursor import Cursor, Word, word_at
from genie_dp.serve.editor.places import Range
from genie_dp.serve.editor.skill_cursor import skill_cursor_at
from genie_dp.skills.model import SkillLibrary
from genie_dp.templates.english import surface
from genie_dp.templates.grammar import BUILT_IN

EXAMPLES = 3
_BUILT_IN = {
    "OUTPUT": "every output of every query, by its phrases",
    "INPUT": "every optional input of every function, by its phrases",
    "VALUE": "every constant that people can say",
}


@dataclass(frozen=True, slots=True)
class Named:
    """What a word names: a category, a function, a class, or a parameter of a function.

    Attributes:
        place: where the word stands.
        functions: those whose parameter it is.
    """

    sort: str  # "category" | "function" | "class" | "parameter" | "lambda" | "path"
    name: str
    place: Range
    functions: tuple[str, ...] = ()
    type: str = ""


def named_at(text: str, offset: int, view: View, *, is_skill: bool) -> Named | None:
    """Return what the word at a place names; None where it names nothing that we know."""
    return _in_skill(text, offset) if is_skill else _in_templates(text, offset, view)


def _in_templates(text: str, offset: int, view: View) -> Named | None:
    found = word_at(text, offset)
    if found is None:
        return None
    word, cursor = found
    place = (word.start, word.end)
    if word.kind == "string":
        is_path = cursor.last() in ("import", "using") or cursor.last() == ":"
        return Named("path", word.text[1:-1], place) if is_path else None
    if word.kind == "function":
        is_class = any(word.text[1:] in skills.classes for skills in view.skills())
        return Named("class" if is_class else "function", word.text, place)
    category = _category_of(word, cursor)
    if category is not None:
        return Named("category", category, place)
    if cursor.part not in ("body", "guard"):
        return None
    functions = tuple(_functions_around(word, cursor, view))
    if functions:
        return Named("parameter", word.text, place, functions)
    if word.text in cursor.parameters:
        return Named("lambda", word.text, place, type=cursor.parameters[word.text])
    return None


def _category_of(word: Word, cursor: Cursor) -> str | None:
    """Return the category that a word names, or that of the child which it names."""
    if cursor.part == "start" or cursor.last() == "category":
        return word.text if word.text not in ("category", "import", "using") else None
    if cursor.part in ("utterance", "requests") and cursor.last() == ":":
        return word.text
    in_call = cursor.call is not None and _is_before_equal(word, cursor)
    is_child = word.text in cursor.children and cursor.last() != "." and not in_call
    return (cursor.children[word.text] or None) if is_child else None


def _is_before_equal(word: Word, cursor: Cursor) -> bool:
    following = next((w for w in cursor.statement if w.start >= word.end), None)
    return following is not None and following.text == "="


def _functions_around(word: Word, cursor: Cursor, view: View) -> Iterator[str]:
    """Yield the functions whose parameter a word may be: of the call it is in, else of any."""
    signatures = view.signatures()
    in_call = cursor.call is not None and _is_before_equal(word, cursor)
    names = [cursor.call[0]] if cursor.call and in_call else cursor.functions
    for name in dict.fromkeys(names):
        signature = signatures.get(name)
        if signature is not None and signature.parameter(word.text) is not None:
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
    return None


# ------------------------------------------------------------------------------------ hover


def describe(named: Named, view: View) -> str | None:
    """Return what is said of it, in Markdown; None where nothing is known."""
    match named.sort:
        case "category":
            return _category(named.name, view)
        case "function":
            return _function(named.name, view)
        case "class":
            return _class(named.name, view)
        case "parameter":
            shown = [_parameter(named.name, function, view) for function in named.functions]
            return "\n\n".join(shown) or None
        case "lambda":
            return f"`{named.name} : {named.type}`"
        case _:
            return None


def _category(name: str, view: View) -> str | None:
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


def _function(qualified: str, view: View) -> str | None:
    signature = view.signatures().get(qualified)
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
        if qualified in template.body_text:
            of_it = (pair for pair in view.sample(template.id) if qualified in pair[1].split())
            pairs.append(tuple(of_it))
    return "\n\n".join((*lines, _examples([p for p in pairs if p], view)))


def _full_signature(signature: Signature) -> str:
    words = signature_line(signature).partition(" (")[0]
    given = ", ".join(f"{p.direction} {p.name} : {p.type}" for p in signature.parameters)
    return f"{words} {signature.qualified}({given})"


def _class(name: str, view: View) -> str | None:
    for skills in view.skills():
        skill_class = skills.classes.get(name[1:])
        if skill_class is not None:
            return f"`class {name}` {skill_class.phrase}\n\n" + ", ".join(
                f"`{function}`" for function in skill_class.functions
            )
    return None


def _parameter(name: str, function: str, view: View) -> str:
    signature = view.signatures()[function]
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


def _phrases_of(
    parameter: Parameter, function: str, libraries: Iterable[SkillLibrary]
) -> dict[str, tuple[str, ...]]:
    for library in libraries:
        phrases = library.phrases(function, parameter.name)
        if phrases:
            return dict(phrases)
    return {}


def _examples(pairs: list[tuple[tuple[str, str], ...]], view: View) -> str:
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
