"""Sentences that leave a required input out, made while a parser is trained.

Templates give all required inputs of a function; people type "book a table" and expect to be
asked. Such rows are made of the names of actions, and of rows of which "at TIME_0" is cut off.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from genie_dp.languages.base import Language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.locale import Words
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.rows import RowMaker, Rows, RowStore
from genie_dp.rng import stream
from genie_dp.skills.model import SkillLibrary

# Rows that are made of others, and rows that are looked at for them.
_MOST, _MOST_TRIED = 3_000, 100_000


def add_incomplete(rows: Rows, maker: RowMaker) -> None:
    """Add to rows those whose programs lack a required input; none where no function has one."""
    library = maker.target.library
    asking = {
        signature.qualified
        for signature in (library.functions() if library is not None else ())
        if any(p.is_required for p in signature.inputs)
    }
    if not asking:
        return
    rng = stream(0, "incomplete")
    own = rows.own_sentences()
    programs = dict(_bare_commands(library, maker)) if isinstance(library, SkillLibrary) else {}
    programs.update(islice(_cut_rows(rows.parts, maker, asking, rng), _MOST))
    for sentence, program in programs.items():
        if sentence not in own:
            rows.incomplete.add(sentence, program)


def _bare_commands(library: SkillLibrary, maker: RowMaker) -> Iterator[tuple[str, str]]:
    """Yield the names that skills have for an action, as commands; their programs give no input.

    "book a table on opentable" is made without the skill, too, if no other action has that name.
    """
    language, words = maker.target.language, maker.locale.words
    phrases: dict[str, list[str]] = {}
    for signature in library.functions():
        function = library.find(signature.qualified)
        if function and signature.kind == "action" and any(p.is_required for p in signature.inputs):
            skill = library.class_phrase(signature.class_name)
            ways = [
                w for phrase in function.phrases for w in (phrase, _without(phrase, skill, words))
            ]
            phrases[signature.qualified] = list(dict.fromkeys(ways))
    counts = Counter(phrase for ways in phrases.values() for phrase in ways)
    for name, ways in phrases.items():
        tree = language.canonical(language.parse(f"now => {name}()"), library)
        program = maker.target.styled.tokens(tree, library)
        for phrase in ways:
            if counts[phrase] == 1:
                for command in words.commands:
                    yield " ".join(maker.read_tokens(command.format(phrase))), program


def _without(phrase: str, skill: str, words: Words) -> str:
    """Return a phrase without the skill at its end.

    >>> from genie_dp.locale import words_of
    >>> _without("book a table on opentable", "opentable", words_of("en"))
    'book a table'
    """
    phrase_words, name = phrase.split(), skill.split()
    if name and phrase_words[-len(name) :] == name and phrase_words[: -len(name)][-1:]:
        rest = phrase_words[: -len(name)]
        if rest[-1] in words.before_skills:
            return " ".join(rest[:-1])
    return phrase


def _cut_rows(
    stores: Sequence[RowStore], maker: RowMaker, asking: Container[str], rng: Random
) -> Iterator[tuple[str, str]]:
    """Yield commands of one function without the phrase that gives one of its required inputs.

    Only functions of `asking` have inputs to ask for.
    """
    language = maker.target.styled
    for store in stores:
        for place in rng.sample(range(len(store)), min(len(store), _MOST_TRIED // len(stores))):
            pair = store[place]
            is_command = pair.program != (OUT_OF_SCOPE,)
            functions = language.form(" ".join(pair.program)).functions if is_command else ()
            is_asking = len(functions) == 1 and functions[0] in asking
            cuts = list(_cuts(pair, language, maker.locale.words)) if is_asking else []
            for cut in rng.sample(cuts, len(cuts)):
                rest = (*pair.sentence[: cut.start], *pair.sentence[cut.end :])
                program = _without_value(pair, cut.value, maker)
                if program and len(rest) > 1:
                    yield " ".join(rest), program
                    break


class _Cut(NamedTuple):
    """A span of words that expresses a value, and the value as the program has it."""

    start: int
    end: int
    value: str


def _cuts(pair: Pair, language: Language, known: Words) -> Iterator[_Cut]:
    """Yield spans to cut off: phrases, after which another or nothing comes, and choices.

    A phrase is "at TIME_0", a choice is "on" of "turn on the lights".
    """
    words = pair.sentence
    for value in _values(pair):
        for start in range(1, len(words) - len(value)):
            end = start + 1 + len(value)
            is_phrase = words[start] in known.prepositions and words[start + 1 : end] == value
            if is_phrase and (end == len(words) or words[end] in known.prepositions):
                yield _Cut(start, end, " ".join(value))
    copied = {
        place
        for literal in language.form(" ".join(pair.program)).literals
        for place in range(literal.start, literal.end)
    }
    for place, token in enumerate(pair.program):
        name = token.removeprefix("enum:")
        if place not in copied and words.count(name) == 1 and words[0] != name:
            start = words.index(name)
            yield _Cut(start, start + 1, name)


def _values(pair: Pair) -> Iterator[tuple[str, ...]]:
    """Yield placeholders that are alone of their kind, and the texts in the program's quotes."""
    stems = Counter(word.rpartition("_")[0] for word in pair.sentence if is_slot(word))
    yield from ((x,) for x in pair.sentence if is_slot(x) and stems[x.rpartition("_")[0]] == 1)
    quotes = [place for place, token in enumerate(pair.program) if token == '"']
    for start, end in zip(quotes[::2], quotes[1::2], strict=False):
        yield pair.program[start + 1 : end]


def _without_value(pair: Pair, value: str, maker: RowMaker) -> str | None:
    """Return the program of a command without the required input that has a value."""
    language: Language = maker.target.styled
    library = maker.target.library
    tree = language.from_tokens(" ".join(pair.program), library)
    rest = language.structure.cut_input(tree, value)
    if rest is None or language.structure.missing_inputs(tree, library):
        return None
    rest = language.canonical(rest, library)
    is_cut = language.structure.missing_inputs(rest, library)
    return language.tokens(rest, library) if is_cut else None
