"""Warnings about missing or odd items of a library; and mistakes in its sentences (K018).

| K100 function without template | K101 output without phrase | K102 entity type without values |
| K103 text without value list | K104 value list that no file gives | K105 enum value unspoken |
| K106 words for an unknown enum value | K107 unknown part of speech |
| K108 phrase without place for its value | K109 phrase with a place it cannot have |
| K110 part of speech that does not go with the type | K111 entity type that nobody declares |
| K112 function without phrase | K113 misspelt annotation | K114 several unique outputs |
| K115 braces in a phrase that are no inflection | K116 phrase that no sentence has |
| K117 phrase of a comparison that begins with "that" |
| K118 sentence with two programs | K119 programs of skills that are not loaded |
| K121 sentences without a header | K122 input without words |
| K123 required input that no template gives | K124 value list that nothing names |
| K125 phrase that begins with a preposition |
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.declarations import Annotation, ClassDef, FunctionDecl, ParamDecl
from genie_dp.languages.thingtalk.operators import is_numeric
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.tokens import tokens
from genie_dp.languages.thingtalk.traverse import functions
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.skills.annotations import (
    ADVERBS,
    PARTS,
    UNUSED,
    WITH_VALUE,
    canonical_parts,
    enum_objects,
    enum_phrases,
    find,
    function_phrases,
    has_place,
    parameter_phrases,
    part_of_speech,
    text_of,
    texts,
)
from genie_dp.skills.link import entity_kind
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import join_tokens, words_never_read
from genie_dp.texts import ReadSource, read_source

ANNOTATIONS = frozenset(
    (
        "accepts", "additive", "canonical", "column", "confirm", "confirmation",
        "confirmation_remote", "default", "description", "doc", "enum", "filterable", "formatted",
        "json_key", "label", "license", "max_number", "min_number", "name", "poll_interval",
        "prompt", "string_values", "subcategory", "symbol", "table",
        "thingpedia_description", "thingpedia_name", "unique", "url", "website",
    )
)  # fmt: skip
_BOOLEAN_PARTS = frozenset(
    (
        "adjective_true", "adjective_false", "predicate_true", "predicate_false",
        "adverb_true", "adverb_false",
    )
)  # fmt: skip
# Parts that templates put where a noun, an adjective or a verb stands: "with PROPERTY", "BASE of".
_NEVER_PREPOSITION = frozenset(
    (
        "base", "plural", "property", "noun", "reverse", "adjective", "verb",
        "predicate_true", "predicate_false",
    )
)  # fmt: skip
# Those of English that begin no noun phrase, as "inside temperature" or "past event" do.
_PREPOSITIONS = frozenset(
    (
        "about", "above", "across", "after", "against", "along", "among", "around",
        "as", "at", "before", "behind", "below", "beneath", "beside", "between",
        "beyond", "by", "during", "for", "from", "in", "into", "near", "of", "on",
        "onto", "over", "since", "through", "throughout", "to", "toward", "towards",
        "under", "until", "upon", "via", "with", "within", "without",
    )
)  # fmt: skip
_INFLECTION = re.compile(r"\{[^{}/]*/[^{}/]*(?:/[^{}/]*)?\}")
_BRACE = re.compile("[{}]")
_NO_WORD = re.compile(r"\d|[a-z][A-Z]|^[^aeiouyAEIOUY]*$")


Known = dict[int, tuple[ClassDef, tuple[Problem, ...]]]
"""What was found in declarations, by their identity."""


def check_library(
    library: SkillLibrary,
    templated: Collection[str] | None = None,
    given: Collection[tuple[str, str]] | None = None,
    *,
    known: Known | None = None,
) -> list[Problem]:
    """Return the warnings about missing or odd items of a library, in the order of its files.

    Args:
        library: the library to look at.
        templated: the functions, such as "@com.gmail.inbox", that some template calls; None
            where that is not known.
        given: each (function, input) to which some template gives a value; None where not known.
        known: classes that were looked at before; it gets those that are looked at now.
    """
    problems: list[Problem] = []
    before, found = known or {}, {}
    for skill in library.skills:
        for definition in skill.classes:
            number = id(definition)
            if number not in before:
                before[number] = definition, tuple(_class_problems(definition, library))
            found[number] = before[number]
            problems += before[number][1]
    if known is not None:
        known.clear()
        known.update(found)
    if templated is not None:
        problems.extend(_functions_without_template(library, templated))
        if given is not None:
            problems.extend(_inputs_without_words(library, templated, given))
    problems.extend(_missing_values(library))
    problems.extend(_unused_values(library))
    return problems


def _warning(code: str, message: str, span: Span | None, hint: str | None = None) -> Problem:
    return Problem(code, message, span, hint, severity="warning")


def _functions_without_template(
    library: SkillLibrary, templated: Collection[str]
) -> Iterator[Problem]:
    for signature in library.functions():
        function = library.find(signature.qualified)
        # What is inherited is said by templates of the class that declares it.
        if function and not function.is_inherited and signature.qualified not in templated:
            yield _warning(
                "K100",
                f"no template speaks of {signature.qualified}",
                function.span,
                "no sentence will use it: write a template for it in templates.genie",
            )


def _inputs_without_words(
    library: SkillLibrary, templated: Collection[str], given: Collection[tuple[str, str]]
) -> Iterator[Problem]:
    """Yield the inputs that no sentence mentions, of functions that some template calls."""
    for definition in (c for skill in library.skills for c in skill.classes):
        for function in definition.functions:
            name = f"@{definition.name}.{function.name}"
            for param in function.params if name in templated else ():
                if param.direction == "out" or (name, param.name) in given:
                    continue
                if param.direction == "in req":
                    yield _warning(
                        "K123",
                        f"no template of {name} gives its required input {param.name!r}",
                        param.span,
                        "no sentence will be a whole command: write a template that says it, with "
                        f"{param.name} = $x in its body",
                    )
                elif not ADVERBS & parameter_phrases(param.annotations, param.direction).keys():
                    yield _warning(
                        "K122",
                        f"nothing says the input {param.name!r} of {name}",
                        param.span,
                        f"write {_example_of_adverb(param)}, or a template with "
                        f"{param.name} = $x in its body",
                    )


def _example_of_adverb(param: ParamDecl) -> str:
    """Return an annotation with words for an input."""
    words = param.name.replace("_", " ")
    if _element(param.type) == ty.BOOLEAN:
        return f'#_[canonical={{adverb_true=["with {words}"]}}]'
    return f'#_[canonical={{adverb=["with the {words} #"]}}]'


# ------------------------------------------------------------------------------- classes


def _class_problems(definition: ClassDef, library: SkillLibrary) -> Iterator[Problem]:
    yield from _misspelt(definition.annotations)
    for entity in definition.entities:
        yield from _misspelt(entity.annotations)
    for unit in definition.units:
        yield from _misspelt(unit.annotations)
    for function in definition.functions:
        yield from _function_problems(function)
        for param in function.params:
            yield from _param_problems(param)
            yield from _undeclared_entity(param, definition, library)


def _function_problems(function: FunctionDecl) -> Iterator[Problem]:
    yield from _misspelt(function.annotations)
    for phrase in function_phrases(function.annotations):
        for word, reason in words_never_read(phrase):
            message = f"no sentence has {word!r} of the phrase {phrase!r}: {reason}"
            yield _warning("K116", message, function.span, "write what people say")
    if not function_phrases(function.annotations):
        yield _warning(
            "K112",
            f"{function.kind} {function.name!r} has no phrase",
            function.span,
            f'write #_[canonical="{function.name.replace("_", " ")}"]',
        )
    unique = [p for p in function.params if find(p.annotations, "unique")]
    if len(unique) > 1:
        names = ", ".join(p.name for p in unique)
        message = f"expected one unique output of {function.name!r}, got {names}"
        yield _warning("K114", message, unique[1].span, "keep the one that is the thing itself")


def _misspelt(annotations: Iterable[Annotation]) -> Iterator[Problem]:
    for annotation in annotations:
        hint = None
        if annotation.name not in ANNOTATIONS:
            hint = did_you_mean(annotation.name, ANNOTATIONS)
        if hint and "_" not in annotation.name:
            yield _warning(
                "K113", f"annotation {annotation.name!r} says nothing", annotation.span, hint
            )


def _undeclared_entity(
    param: ParamDecl, definition: ClassDef, library: SkillLibrary
) -> Iterator[Problem]:
    kind = entity_kind(param.type)
    own = [f"{definition.name}:{e.name}" for e in definition.entities]
    if kind is None or not own or not kind.startswith(f"{definition.name}:"):
        return
    declared = library.entity_types.get(kind)
    if declared is None or declared.span is None:
        name = kind.partition(":")[2]
        hint = did_you_mean(kind, own) or f"declare it: entity {name};"
        yield _warning("K111", f"the class does not declare the entity {name!r}", param.span, hint)


# ---------------------------------------------------------------------------- parameters


def _param_problems(param: ParamDecl) -> Iterator[Problem]:
    yield from _misspelt(param.annotations)
    if param.direction == "out" and not parameter_phrases(param.annotations):
        words = param.name.replace("_", " ")
        yield _warning(
            "K101",
            f"output {param.name!r} has no phrase",
            param.span,
            f'no sentence will speak of it: write #_[canonical={{base=["{words}"]}}]',
        )
    if _element(param.type) == ty.STRING and text_of(param.annotations, "string_values") is None:
        yield _warning(
            "K103",
            f"text {param.name!r} names no value list",
            param.span,
            'write #[string_values="tt:short_text"], so that values can be passed in and out',
        )
    yield from _enum_problems(param)
    for part, value in canonical_parts(param.annotations):
        yield from _part_problems(param, part, value)


def _element(type_: ty.Type) -> ty.Type:
    while isinstance(type_, ty.Array):
        type_ = type_.element
    return type_


def _enum_problems(param: ParamDecl) -> Iterator[Problem]:
    type_ = _element(param.type)
    values = type_.values if isinstance(type_, ty.Enum) else ()
    spoken = {value for _, value in enum_phrases(param)}
    for value in values:
        if value not in spoken and any(_NO_WORD.search(word) for word in value.split("_")):
            yield _warning(
                "K105",
                f"value {value!r} of {param.name!r} is not what people say",
                param.span,
                f'write #_[enum={{{value}="{value.replace("_", " ").lower()}"}}]',
            )
    for written in enum_objects(param.annotations):
        for unknown in written:
            if unknown not in values:
                yield _warning(
                    "K106",
                    f"{param.name!r} has no value {unknown!r}",
                    param.span,
                    did_you_mean(str(unknown), values) or f"values: {', '.join(values) or 'none'}",
                )


def _part_problems(param: ParamDecl, part: str, value: object) -> Iterator[Problem]:
    note = find(param.annotations, "canonical")
    span = note.span if note else param.span
    ours = part_of_speech(part, param.direction)
    is_output = param.direction == "out"
    if ours not in PARTS:
        if part not in UNUSED:
            hint = did_you_mean(part, PARTS) or f"parts of speech: {', '.join(PARTS)}"
            yield _warning("K107", f"unknown part of speech {part!r}", span, hint)
        return
    if ours in ADVERBS and ours == part and param.direction != "in opt":
        sort = "an output" if is_output else "a required input"
        message = f"{ours!r} does not go with {sort}, {param.name!r}"
        hint = "it goes with optional inputs"
        if is_output:
            hint += '; of outputs, passive_verb is said after the noun: "in #"'
        yield _warning("K110", message, span, hint)
    elif not _goes_with(ours, param.type):
        message = f"{ours!r} does not go with {param.name!r} of type {param.type}"
        yield _warning("K110", message, span, _types_of(ours))
    for phrase in texts(value):
        if ours in WITH_VALUE and ours == part and not has_place(phrase):
            message = f"{part} phrase {phrase!r} has no place for the value"
            yield _warning("K108", message, span, f'write "{phrase} #"')
        yield from _unreadable(part, phrase, span)
        first = phrase.partition(" ")[0]
        if ours in _NEVER_PREPOSITION and first in _PREPOSITIONS:
            message = f"{part} phrase {phrase!r} begins with a preposition: {_frame(ours, phrase)}"
            yield _warning("K125", message, span, _with_preposition(ours, phrase, is_output))
        elif ours in ("more", "less") and first == "that":
            message = f"{part} phrase {phrase!r} begins with 'that', which templates say themselves"
            yield _warning("K117", message, span, f'write "{_without_that(phrase)}"')
        if ours not in WITH_VALUE and has_place(phrase):
            message = f"{part} phrase {phrase!r} has a place for a value, which {part} has not"
            hint = 'take "#" away'
            yield _warning("K109", message, span, hint + ", or call it property" * is_output)


def _unreadable(part: str, phrase: str, span: Span | None) -> Iterator[Problem]:
    """Yield the tokens of a phrase that no sentence has, or should have."""
    if _BRACE.search(_INFLECTION.sub("", phrase)):
        message = f"{part} phrase {phrase!r} has a brace that would be said"
        yield _warning("K115", message, span, "forms are written {singular/plural}")
    for word, reason in words_never_read(phrase):
        message = f"no sentence has {word!r} of the {part} phrase {phrase!r}: {reason}"
        yield _warning("K116", message, span, "write what people say")


def _frame(part: str, phrase: str) -> str:
    """Return the wording of a phrase in templates.

    >>> _frame("property", "in #"), _frame("base", "in")
    ("they say 'things with in ..'", "they say 'the in of ..'")
    """
    said = phrase.replace("#", "..")
    frames = {"property": f"things with {said}", "adjective": f"{said} things"}
    if part in ("verb", "predicate_true", "predicate_false"):
        frames[part] = f"things that {said}"
    return f"they say {frames.get(part, f'the {said} of ..')!r}"


def _with_preposition(part: str, phrase: str, is_output: bool) -> str:
    """Return a replacement for a phrase that begins with a preposition."""
    if part.startswith("predicate"):
        return f'write "{{is/are}} {phrase}"'
    if has_place(phrase) and is_output:
        return f'write passive_verb=["{phrase}"], which is said right after the noun'
    if has_place(phrase):
        return f'write adverb=["{phrase}"], which is said after the command'
    return "write the noun that it is called by"


def _without_that(phrase: str) -> str:
    """Return the words behind the noun: "above #" for "that is above #".

    >>> _without_that("that is above #"), _without_that("that {weighs/weigh} more than #")
    ('above #', 'more than #')
    """
    words = phrase.removeprefix("that ").split(" ")
    is_verb = words[0] in ("is", "are") or words[0].startswith("{")
    return " ".join(words[1:] if is_verb else words)


def _goes_with(part: str, type_: ty.Type) -> bool:
    element = _element(type_)
    if part in _BOOLEAN_PARTS:
        return element == ty.BOOLEAN
    if part in ("more", "less", "most", "least"):
        return is_numeric(element) or element in (ty.DATE, ty.TIME)
    if part == "adverb":
        return type_ != ty.BOOLEAN
    return part not in ("after", "before") or element in (ty.DATE, ty.TIME)


def _types_of(part: str) -> str:
    if part in _BOOLEAN_PARTS:
        return "it goes with Boolean"
    if part == "adverb":
        return "of a Boolean say adverb_true and adverb_false"
    return "it goes with Date and Time" if part in ("after", "before") else "it goes with numbers"


# -------------------------------------------------------------------------------- values


def _missing_values(library: SkillLibrary) -> Iterator[Problem]:
    """Yield one warning for each list or entity type, where it is first used."""
    seen: set[str] = set()
    for skill in library.skills:
        for definition in skill.classes:
            for function in definition.functions:
                for param in function.params:
                    for code, name, message in _lists_of(param):
                        if name not in seen and name not in library.value_lists:
                            namespace, _, stem = name.rpartition(":")
                            folder = "common" if namespace == "tt" else namespace or "the skill"
                            hint = f"write {folder}/values/{stem}.tsv, one value a line"
                            yield _warning(code, message, param.span, hint)
                        seen.add(name)


def _unused_values(library: SkillLibrary) -> Iterator[Problem]:
    """Yield a warning for each list of a class that no type and no text of it names."""
    classes = {definition.name: definition for s in library.skills for definition in s.classes}
    used = set(library.entity_types)
    for signature in library.functions():
        for parameter in signature.parameters:
            used.update(filter(None, (parameter.value_list, *parameter.accepts)))
    for name in library.value_lists:
        namespace, _, stem = name.rpartition(":")
        if namespace in classes and name not in used:
            message = f"nothing of @{namespace} has the values of values/{stem}.tsv"
            known = [each.rpartition(":")[2] for each in used if each.startswith(f"{namespace}:")]
            hint = did_you_mean(stem, known) or f'write #[string_values="{name}"] on a text'
            yield _warning("K124", message, classes[namespace].span, hint)


def _lists_of(param: ParamDecl) -> Iterator[tuple[str, str, str]]:
    """Yield (code, list, message if it is missing) of a parameter."""
    named = text_of(param.annotations, "string_values")
    if named:
        yield "K104", named, f"no file gives the value list {named}"
        return
    element = _element(param.type)
    if isinstance(element, ty.Entity) and ty.slot_stem(element) is not None:
        yield "K102", element.kind, f"no file gives values of the entity type {element.kind}"


# ---------------------------------------------------------------------- sentences of people

_HEADER = ("utterance", "program")


def check_sentences(library: SkillLibrary) -> tuple[list[Problem], dict[str, str]]:
    """Return the problems of eval.tsv and paraphrases.tsv of skills, and the texts read.

    A program that cannot be read or is ill-typed has the code of its mistake. Programs that call
    skills which are not loaded are counted, for these may be right.
    """
    return SentenceChecker().check(library)


@dataclass(frozen=True, slots=True)
class _ReadProgram:
    """A program of a sentence, as it was read.

    Attributes:
        meaning: its canonical form, or its text where there is none.
        missing: its functions of skills that are not loaded.
        mistakes: with their places in the program.
    """

    meaning: str
    missing: tuple[str, ...] = ()
    mistakes: tuple[Problem, ...] = ()


class SentenceChecker:
    """Checks the sentences of skills, again and again where it is kept.

    A program that was read is not read again; `forget` drops those of a changed library.
    """

    def __init__(self, read: ReadSource = read_source):
        """Start with nothing known; files are read by `read`."""
        self._read = read
        self._known: dict[str, _ReadProgram] = {}

    def check(self, library: SkillLibrary) -> tuple[list[Problem], dict[str, str]]:
        """Return the result of the function `check_sentences`."""
        problems: list[Problem] = []
        sources: dict[str, str] = {}
        programs: dict[str, tuple[str, Span]] = {}
        files = (path for skill in library.skills for path in (skill.evaluation, skill.paraphrases))
        for path in filter(None, files):
            try:
                text = self._read(path, code="K003")
            except GenieError as error:
                problems += error.problems
                sources |= error.sources
                continue
            sources[str(path)] = text
            problems += self._sentence_problems(path, text, library, programs)
        return problems, sources

    def forget(self, is_changed: Callable[[str], bool]) -> None:
        """Forget programs with changed calls, and those with mistakes: hints name others."""
        self._known = {
            program: known
            for program, known in self._known.items()
            if not (known.missing or known.mistakes or is_changed(program))
        }

    def _sentence_problems(
        self, path: Path, text: str, library: SkillLibrary, programs: dict[str, tuple[str, Span]]
    ) -> Iterator[Problem]:
        """Yield the mistakes of sentences; `programs` has those of all so far."""
        file = str(path)
        elsewhere: list[tuple[Span, str]] = []
        gone: dict[str, list[Problem]] = {}
        rows = text.split("\n")
        if tuple(rows[0].rstrip("\r").split("\t")[:2]) != _HEADER:
            message = f"expected the header utterance<TAB>program, got {rows[0][:40]!r}"
            place = Span(file, 1, 1, 1, len(rows[0]) + 1)
            yield _warning("K121", message, place, "write it in the first line")
        if "=>" not in rows[0]:  # a header, right or wrong
            rows[0] = ""
        for number, line in enumerate(rows, start=1):
            if not line.strip():
                continue
            sentence, program, *_ = [*line.rstrip("\r").split("\t"), ""]
            if not sentence.strip() or not program.strip():
                message = "expected a sentence and its program, with a tab between them"
                yield Problem("K018", message, Span(file, number, 1, number, len(line) + 1))
                continue
            column = len(sentence) + 2
            place = Span(file, number, column, number, column + len(program))
            read = self._known.get(program)
            if read is None:
                read = self._known[program] = _read_program(program, library)
            elsewhere += [(place, name) for name in read.missing[:1]]
            for mistake in (problem_in_line(problem, place) for problem in read.mistakes):
                if mistake.code == "T003":
                    gone.setdefault(mistake.hint or "", []).append(mistake)
                else:
                    yield mistake
            words = join_tokens(sentence)
            other, where = programs.setdefault(words, (read.meaning, place))
            if other != read.meaning:
                message = f"{words!r} has another program at {where}"
                hint = "a sentence means one thing: keep one of them, or say more"
                sentence_place = Span(file, number, 1, number, len(sentence) + 1)
                yield _warning("K118", message, sentence_place, hint)
        yield from map(_joined_unknown_functions, gone.values())
        if elsewhere:
            place, name = elsewhere[0]
            count = "a program calls" if len(elsewhere) == 1 else f"{len(elsewhere)} programs call"
            message = f"{count} functions of skills that are not loaded, such as {name}"
            yield _warning("K119", message, place, "check them together with these skills")


def _joined_unknown_functions(mistakes: Sequence[Problem]) -> Problem:
    """Return one problem for the calls of functions that a class lacks, where one hint mends all.

    They are many where a skill is written in the place of another one.
    """
    first, *others = mistakes
    if not others:
        return first
    expected, _, _ = first.message.partition(", got ")
    names = dict.fromkeys(each.message.rpartition(", got ")[2].strip("'") for each in mistakes)
    message = f"{expected}, got {', '.join(names)} in {len(mistakes)} sentences"
    hint = f"leave out lines of functions that the skill has no more; {first.hint}"
    return replace(first, message=message, hint=hint)


@lru_cache(maxsize=10_000)
def _parse(program: str) -> ast.Program | ast.Policy:
    """Return the tree of a program; its meaning is computed again when a skill changes."""
    return parse(program)


def _read_program(program: str, library: SkillLibrary) -> _ReadProgram:
    if program.strip() == OUT_OF_SCOPE:
        return _ReadProgram(OUT_OF_SCOPE)
    try:
        tree = _parse(program)
    except GenieError as error:
        return _ReadProgram(program, (), error.problems)
    known = library.class_names()
    missing = [name for name in functions(tree) if name[1:].rpartition(".")[0] not in known]
    mistakes = [] if missing else check(tree, library)
    if not missing and not mistakes:
        program = tokens(canonical(tree, library), library)
    return _ReadProgram(program, tuple(missing), tuple(mistakes))


def problem_in_line(problem: Problem, place: Span) -> Problem:
    """Return a mistake of a program where it is in the file; `place` is that of the program."""
    if problem.span is None:
        return replace(problem, span=place)
    first, last = (place.column + c - 1 for c in (problem.span.column, problem.span.end_column))
    return replace(problem, span=replace(place, column=first, end_column=last))
