"""Warnings about a grammar: what can be read, yet is hardly what was meant.

| code | warning |
|---|---|
| G101 | a category that no root leads to |
| G102 | a category without templates, or whose derivations never end |
| G103 | a parameter that the body does not use |
| G104 | left recursion without growth: `A := x:A -> ..`, also through other categories |
| G105 | two primitive templates with one utterance and two programs |
| G106 | a noun phrase that starts with a verb |
| G107 | an alternative without words and children |
| G108 | a child that the body does not use |
"""

from collections.abc import Iterator, Mapping
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Fragment, Language, Value
from genie_dp.templates.ast import Child, Inflect, Literal, Placeholder, PlainItem, Template, Words
from genie_dp.templates.bodies import names_in_body
from genie_dp.templates.english import starts_with_verb
from genie_dp.templates.expand import children_of, placeholders_of, plain_utterances
from genie_dp.templates.grammar import BUILT_IN, Grammar

NOUN_PHRASE = "noun phrase"


def warnings(
    grammar: Grammar, language: Language, library: Any, fragments: Mapping[str, Fragment]
) -> Iterator[Problem]:
    """Yield every warning; `fragments` are the bodies that compile, by template id."""
    yield from _unreachable(grammar)
    yield from _unproductive(grammar)
    yield from _without_growth(grammar)
    yield from _ambiguous(grammar, language, library, fragments)
    for template in grammar.templates:
        yield from _unused(template, fragments.get(template.id))
        yield from _english(template, grammar)


def _warning(code: str, message: str, span: Any, hint: str | None = None) -> Problem:
    return Problem(code, message, span, hint, severity="warning")


# ------------------------------------------------------------------------------ categories


def _unreachable(grammar: Grammar) -> Iterator[Problem]:
    reached = {category.name for category in grammar.roots()}
    waiting = list(reached)
    parts: dict[str, set[str]] = {}
    for template in grammar.templates:
        found = {child.category for child in children_of(template.utterance)}
        parts.setdefault(template.category, set()).update(found)
    while waiting:
        new = parts.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    for category in grammar.categories.values():
        if category.name not in reached and grammar.roots():
            message = f"no sentence contains {category.name}: no root leads to it"
            yield _warning("G101", message, category.span)


def _unproductive(grammar: Grammar) -> Iterator[Problem]:
    productive: set[str] = set(BUILT_IN) | {""}
    rules = [
        (template.category, {c.category for c in children_of(items)})
        for template in grammar.templates
        for items in plain_utterances(template.utterance)
    ]
    while True:
        new = {name for name, needed in rules if needed <= productive} - productive
        if not new:
            break
        productive |= new
    written = {template.category for template in grammar.templates}
    for category in grammar.categories.values():
        if category.name not in written:
            yield _warning("G102", f"no template derives {category.name}", category.span)
        elif category.name not in productive:
            message = f"no derivation of {category.name} ever ends in words"
            yield _warning("G102", message, category.span, "add a template without its own kind")


def _without_growth(grammar: Grammar) -> Iterator[Problem]:
    """Yield templates that say a child and nothing else, where that comes back to itself."""
    edges: dict[str, set[str]] = {}
    units: list[tuple[Template, str]] = []
    for template in grammar.templates:
        for items in plain_utterances(template.utterance):
            child = _only_child(items)
            if child is not None:
                edges.setdefault(template.category, set()).add(child)
                units.append((template, child))
    for template, child in dict.fromkeys(units):
        if template.category in _closure(child, edges):
            chain = "itself" if child == template.category else f"itself, through {child}"
            message = f"{template.category} derives {chain}, and no word is added"
            yield _warning("G104", message, template.span, "add words, or merge the categories")


def _only_child(items: tuple[PlainItem, ...]) -> str | None:
    match items:
        case (Child(category=category, requests=requests),) if category not in ("", *BUILT_IN):
            return None if any(r.name == "gap" for r in requests) else category
        case _:
            return None


def _closure(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {start}, [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


# ------------------------------------------------------------------------------- templates


def _unused(template: Template, fragment: Fragment | None) -> Iterator[Problem]:
    used = names_in_body(template)
    for name, _ in fragment.parameters if fragment else ():
        if name not in used:
            message = f"the body does not use its parameter {name!r}"
            yield _warning("G103", message, template.body_span)
    for child in children_of(template.utterance):
        if child.name not in used:
            message = f"the body does not use {child.name!r}: what it says is lost"
            yield _warning("G108", message, child.span)


def _english(template: Template, grammar: Grammar) -> Iterator[Problem]:
    category = grammar.categories.get(template.category)
    is_noun = category is not None and category.description.startswith(NOUN_PHRASE)
    checks_verb = is_noun and "form" not in dict(template.features)
    for items in plain_utterances(template.utterance):
        words = _said(items)
        if not words and not any(isinstance(item, Child) for item in items):
            yield _warning("G107", "there is nothing to say", template.span)
            return
        if checks_verb and words and isinstance(items[0], Words) and starts_with_verb(words):
            message = f"{words!r} starts with a verb, and {template.category} is a noun phrase"
            hint = "use a category of verb phrases, or write [form=np] if it is none"
            yield _warning("G106", message, template.span, hint)
            return


def _said(items: tuple[PlainItem, ...]) -> str:
    found = []
    for item in items:
        for part in item.parts if isinstance(item, Words) else ():
            match part:
                case Literal(text):
                    found.append(text)
                case Placeholder(name):
                    found.append(f"${name}")
                case Inflect(_, forms):
                    found.append(forms[0])
    return " ".join(text for text in found if text)


# ------------------------------------------------------------------------------- ambiguity


def _ambiguous(
    grammar: Grammar, language: Language, library: Any, fragments: Mapping[str, Fragment]
) -> Iterator[Problem]:
    first: dict[tuple[str, str], tuple[Template, str]] = {}
    for template in grammar.templates:
        fragment = fragments.get(template.id)
        if fragment is None or any(children_of(template.utterance)):
            continue
        for items in plain_utterances(template.utterance):
            found = _instance(items, fragment, language, library)
            if found is None:
                continue
            words, program = found
            known, other = first.setdefault((template.category, words), (template, program))
            if other != program:
                message = f"{words!r} is {program} here and {other} in {known.id!r}"
                where = f"the other template is at {known.span}" if known.span else None
                yield _warning("G105", message, template.span, where)
                break


def _instance(
    items: tuple[PlainItem, ...], fragment: Fragment, language: Language, library: Any
) -> tuple[str, str] | None:
    """Return words and program with constants in the placeholders; None if there are none."""
    types = dict(fragment.parameters)
    words = f" {_said(items)} "
    values: dict[str, Value] = {}
    for placeholder in placeholders_of(items):
        name = placeholder.name
        if name in values:
            continue
        constant = next(iter(language.constants(types.get(name), library)), None)
        if name not in types or constant is None:
            return None
        value, token = constant.value, f"<{types[name]}>"
        if constant.slot:
            used = sum(1 for v in values.values() if constant.slot in v.text)
            token = f"{constant.slot}_{used}"
            value = value.shift([(constant.words, token)])
        words = words.replace(f" ${name} ", f" {token} ")
        values[name] = value
    try:
        program = fragment.build(values)
    except (GenieError, KeyError):
        return None
    return None if program is None else (words.strip(), program.text)
