"""Turns the primitive templates of real Thingpedia datasets into ours.

| kind in dataset.tt | category |
|---|---|
| query | NP, or QVP (a verb phrase that gets data) where the utterance begins with a comma |
| stream, action, program | WP, VP, COMMAND |

Codes of templates that are left out, all warnings: K020 a placeholder that the lambda does not
declare, K021 a parameter that the utterance does not mention, K022 no utterance, K023 a program of
several rules; and the codes of the type checker.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from genie_dp.errors import Problem, Span, did_you_mean
from genie_dp.languages.thingtalk.ast import Call, Lambda, Program, VarRef
from genie_dp.languages.thingtalk.declarations import DatasetExample
from genie_dp.languages.thingtalk.traverse import functions_used
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import STRING, Entity, Type
from genie_dp.skills.annotations import find
from genie_dp.skills.model import DatasetTemplate, SkillLibrary
from genie_dp.skills.words import tokenize

CATEGORIES = {"query": "NP", "stream": "WP", "action": "VP", "program": "COMMAND"}
QUERY_PHRASE = "QVP"
_END = frozenset((".", "?", "!", ","))


@dataclass(frozen=True, slots=True)
class RealTemplate:
    """A template of one real utterance.

    Attributes:
        category: name of the category that it derives.
        utterance: tokens joined by one space, with placeholders `$p_x` and `${p_x:const}`.
        parameters: the lambda's, (name, type).
        identifier: class, number of the example, number of its utterance.
        span: the example in its dataset.
    """

    category: str
    utterance: str
    body: Lambda
    parameters: tuple[tuple[str, Type], ...]
    identifier: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class ConvertedDatasets:
    """The templates of all datasets of a library, and those that were left out.

    Attributes:
        examples: how many examples the datasets have.
        sound: how many of them type-check.
        warnings: why the others, or single utterances, were left out.
    """

    templates: tuple[RealTemplate, ...] = ()
    warnings: tuple[Problem, ...] = ()
    examples: int = 0
    sound: int = 0


def convert(library: SkillLibrary) -> ConvertedDatasets:
    """Return the real primitive templates of a library, type-checked against it."""
    templates: list[RealTemplate] = []
    warnings: list[Problem] = []
    total = sound = 0
    for skill in library.skills:
        names = _identifiers(skill.examples)
        for example, name in zip(skill.examples, names, strict=True):
            total += 1
            example = replace(example, example=with_signature_types(example.example, library))
            problems = check_example(example.example, library)
            warnings.extend(problems)
            if not problems:
                sound += 1
                converted, left_out = _templates(example.example, name)
                templates.extend(converted)
                warnings.extend(left_out)
    return ConvertedDatasets(tuple(templates), tuple(warnings), total, sound)


def check_example(example: DatasetExample, library: SkillLibrary) -> list[Problem]:
    """Return the problems of the program of a real template, as warnings."""
    body = example.body
    if isinstance(body, Program) and len(body.rules) != 1:
        message = f"expected a program of one rule, got {len(body.rules)}"
        return [Problem("K023", message, example.span, severity="warning")]
    return [
        replace(problem, severity="warning", span=problem.span or example.span)
        for problem in check(Lambda(example.parameters, body), library)
    ]


def with_signature_types(example: DatasetExample, library: SkillLibrary) -> DatasetExample:
    """Return the example with its text parameters typed as the entities that they stand for.

    ThingTalk 1.x lets text stand for an entity, so some lambdas have String where the function
    wants, say, a user name; the sentence should then have a placeholder for a user name.
    """
    types_needed: dict[str, set[Type]] = {}
    calls = [call for call in functions_used(example.body) if isinstance(call, Call)]
    for call in calls:
        for arg in call.args:
            if isinstance(arg.value, VarRef):
                signature = library.function(call.selector.class_name, call.function)
                parameter = signature.parameter(arg.name) if signature else None
                types_needed.setdefault(arg.value.name, set()).add(
                    parameter.type if parameter else STRING
                )

    def retype(name: str, type_: Type) -> Type:
        types = types_needed.get(name, set())
        only = next(iter(types)) if len(types) == 1 else type_
        return only if type_ == STRING and isinstance(only, Entity) else type_

    return replace(example, parameters=tuple((n, retype(n, t)) for n, t in example.parameters))


def _identifiers(examples: tuple[DatasetTemplate, ...]) -> list[str]:
    """Return a name for each example: class and `#[id]`, or its position where that is missing."""
    written = [find(e.example.annotations, "id") for e in examples]
    names = [
        f"{e.class_name}.{note.value if note else f'n{position}'}"
        for position, (e, note) in enumerate(zip(examples, written, strict=True), start=1)
    ]
    count = Counter(names)
    return [
        f"{name}.n{position}" if count[name] > 1 else name
        for position, name in enumerate(names, start=1)
    ]


def _templates(example: DatasetExample, name: str) -> tuple[list[RealTemplate], list[Problem]]:
    templates: dict[tuple[str, str], RealTemplate] = {}
    problems: list[Problem] = []
    for number, text in enumerate(example.utterances, start=1):
        category, tokens = _category_and_tokens(example.kind, text)
        wrong = list(_utterance_problems(example, text, tokens))
        problems.extend(wrong)
        if not wrong:
            utterance = " ".join(_our_spelling(token) for token in tokens)
            templates.setdefault(
                (category, utterance),
                RealTemplate(
                    category,
                    utterance,
                    Lambda(example.parameters, example.body, span=example.span),
                    example.parameters,
                    f"{name}.{number}",
                    example.span,
                ),
            )
    if not example.utterances:
        problems.append(
            Problem("K022", "the example has no utterance", example.span, severity="warning")
        )
    return list(templates.values()), problems


def _category_and_tokens(kind: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the category of an utterance and its tokens without punctuation at the ends.

    >>> _category_and_tokens("query", ", check my Inbox.")
    ('QVP', ('check', 'my', 'inbox'))
    """
    tokens = list(tokenize(text))
    is_phrase = kind == "query" and tokens[:1] == [","]
    while tokens and tokens[-1] in _END:
        tokens.pop()
    while tokens and tokens[0] in _END:
        tokens.pop(0)
    return QUERY_PHRASE if is_phrase else CATEGORIES[kind], tuple(tokens)


def _utterance_problems(
    example: DatasetExample, text: str, tokens: tuple[str, ...]
) -> Iterator[Problem]:
    declared = [name for name, _ in example.parameters]
    mentioned = [_placeholder(token)[0] for token in tokens if token.startswith("$")]
    for name in mentioned:
        if name not in declared:
            yield Problem(
                "K020",
                f"{text!r} has the placeholder {name!r}, which the lambda does not declare",
                example.span,
                did_you_mean(name, declared),
                severity="warning",
            )
    for name in declared:
        if name not in mentioned:
            yield Problem(
                "K021",
                f"{text!r} does not mention the parameter {name!r}",
                example.span,
                f"write ${name} where people say it",
                severity="warning",
            )
    if not tokens:
        yield Problem("K022", "the utterance has no words", example.span, severity="warning")


def _placeholder(token: str) -> tuple[str, str]:
    """Return name and option of a placeholder.

    >>> _placeholder("${p_x:no-undefined}"), _placeholder("$p_x")
    (('p_x', 'no-undefined'), ('p_x', ''))
    """
    name, _, option = token.removeprefix("$").strip("{}").partition(":")
    return name.strip(), option.strip()


def _our_spelling(token: str) -> str:
    """Return a token with its placeholder in our spelling.

    >>> _our_spelling("${p_x:no-undefined}"), _our_spelling("${p_x:const}"), _our_spelling("light")
    ('$p_x', '${p_x:const}', 'light')
    """
    if not token.startswith("$") or len(token) == 1 or not (token[1] == "{" or token[1].isalpha()):
        return token
    name, option = _placeholder(token)
    return f"${{{name}:const}}" if option == "const" else f"${name}"
