"""Sentences that people wrote for skills as rows: their eval.tsv and paraphrases.tsv."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from genie_dp.augment.gazetteer import gazetteer
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.thingtalk.ast import LocationValue
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.languages.types import STRING, Entity, slot_stem
from genie_dp.records import Example
from genie_dp.skills.check import problem_in_line
from genie_dp.skills.load import EVALUATION_FILE, PARAPHRASES_FILE
from genie_dp.skills.words import find_words, tokenize
from genie_dp.texts import read_text

_HEADER = "utterance"


def evaluation_files(paths: Sequence[Path]) -> list[Path]:
    """Return the eval.tsv of skill folders, or of the skills in them, in the order of names.

    A path may be such a file, too.

    Raises:
        GenieError: N020, there is none, or no sentence in any.
    """
    files = []
    for path in paths:
        here = path / EVALUATION_FILE
        is_one = path.is_file() or here.is_file()
        files += (
            [here if path.is_dir() else path]
            if is_one
            else sorted(path.glob(f"*/{EVALUATION_FILE}"))
        )
    if not any(_is_row(*line) for file in files for line in _lines(read_text(file))):
        names = ", ".join(map(str, paths))
        lacking = "a sentence in its" if files else "an"
        message = f"no skill in {names} has {lacking} {EVALUATION_FILE}"
        if files == [*paths]:
            message = f"{names} has no sentence"
        hint = "write lines of utterance<TAB>program there: what people might say, and its program"
        raise GenieError(Problem("N020", message, hint=hint))
    return files


def is_evaluation(name: str | Path) -> bool:
    """Return whether a name is a TSV file of lines of sentence and program, without ids."""
    path = Path(name)
    if path.suffix != ".tsv" or not path.is_file():
        return False
    first = next((line for line in read_text(path).split("\n") if line.strip()), "")
    return first.count("\t") < 2


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.split("\n"), 1)


def _is_row(number: int, line: str) -> bool:
    """Return whether a line has a sentence: it is neither empty nor the header."""
    return bool(line.strip()) and not (number == 1 and line.split("\t")[0] == _HEADER)


def skill_rows(
    paths: Sequence[Path], language: Language, library: Library | None
) -> Iterator[Example]:
    """Yield the rows of skills: sentences as typed, programs in token form with their values.

    A sentence to refuse has OUT_OF_SCOPE as its program. Ids are the skill's name and the line. A
    place that the reader knows by its name stands where it puts it: its centre is a matter of
    opinion.

    Raises:
        GenieError: N020, no skill has any; at the end, N021, lines without sentence or program, and
            mistakes in programs.
    """
    yield from evaluation_rows(evaluation_files(paths), language, library)


def evaluation_rows(
    files: Iterable[Path],
    language: Language,
    library: Library | None,
    *,
    needs_program: bool = True,
    needs_skills: bool = True,
) -> Iterator[Example]:
    """Yield the rows of such files, as `skill_rows` does.

    Args:
        files: with lines of utterance<TAB>program.
        language: that of the programs.
        library: skills that the programs are checked with.
        needs_program: whether a line without a program is a mistake; its program is "" else.
        needs_skills: whether a program of other skills is a mistake; it is left out else.

    Raises:
        GenieError: at the end, N021 and mistakes in programs.
    """
    problems: list[Problem] = []
    sources: dict[str, str] = {}
    skill_names: frozenset[str] | None = None
    if library is not None and not needs_skills:
        skill_names = frozenset(name.rpartition(".")[0] for name in library.names())
    for file in files:
        text = read_text(file)
        for number, line in _lines(text):
            if not _is_row(number, line):
                continue
            try:
                row = _row(
                    file, number, line, language, library,
                    needs_program=needs_program, known=skill_names,
                )  # fmt: skip
            except GenieError as error:
                problems += error.problems
                sources[str(file)] = text
            else:
                if row is not None:
                    yield row
    if problems:
        raise GenieError(problems, sources=sources)


def paraphrase_files(folder: Path) -> list[Path]:
    """Return the paraphrases.tsv of a skill, or of the skills in a folder, by name."""
    own = folder / PARAPHRASES_FILE
    return [own] if own.is_file() else sorted(folder.glob(f"*/{PARAPHRASES_FILE}"))


def skill_paraphrases(
    folder: Path, language: Language, library: Library | None
) -> Iterator[Example]:
    """Yield the sentences that authors wrote for a skill, or the skills in a folder, to be learned.

    Each sentence comes as it was written; with names or texts in it, a second row has placeholders
    for these, whose parent it is. Sentences that need skills beside those of the library are left
    out.

    Raises:
        GenieError: N020, there is no sentence; at the end, as `evaluation_rows`.
    """
    files = paraphrase_files(folder)
    count = 0
    for row in evaluation_rows(files, language, library, needs_skills=False):
        count += 1
        row = replace(row, source="paraphrase", utterance=" ".join(tokenize(row.utterance)))
        yield row
        if row.program != OUT_OF_SCOPE and (open_row := _with_placeholders(row, language, library)):
            yield open_row
    if not count:
        hint = f"write {PARAPHRASES_FILE} there: lines of utterance<TAB>program"
        raise GenieError(Problem("N020", f"no skill in {folder} has {PARAPHRASES_FILE}", hint=hint))


def _with_placeholders(row: Example, language: Language, library: Library | None) -> Example | None:
    """Return a row with placeholders for its names and texts; None where it has none."""
    words, form = row.utterance.split(" "), language.form(row.program)
    program = form.tokens
    found_values: dict[int, tuple[int, str, list[tuple[int, int]]]] = {}  # by place in the sentence
    places: dict[tuple[str, ...], int] = {}
    for literal in form.literals:
        tokens = program[literal.start : literal.end]
        if not literal.is_text:
            continue
        if tokens in places:
            found_values[places[tokens]][2].append((literal.start, literal.end))
            continue
        end = tokens.index('"', 1)
        start = _only_place(words, tokens[1:end])
        kind = tokens[-1].removeprefix("^^") if tokens[-1].startswith("^^") else ""
        stem = slot_stem(Entity(kind) if kind else STRING)
        if start is not None and stem:
            places[tokens] = start
            found_values[start] = end - 1, stem, [(literal.start, literal.end)]
    if not found_values:
        return None
    counts, last, utterance = Counter[str](), 0, list[str]()
    replacements: dict[int, tuple[int, str]] = {}
    for start, (length, stem, spans) in sorted(found_values.items()):
        if start < last:
            return None  # one value inside of another
        token = f"{stem}_{counts[stem]}"
        counts[stem] += 1
        utterance += [*words[last:start], token]
        last = start + length
        replacements.update({first: (end, token) for first, end in spans})
    open_program, place = list[str](), 0
    while place < len(program):
        place, token = replacements.get(place, (place + 1, program[place]))
        open_program.append(token)
    tree = language.canonical(language.from_tokens(" ".join(open_program)), library)
    text = language.tokens(tree, library)
    utterance += words[last:]
    return replace(
        row, id=f"{row.id}:open", utterance=" ".join(utterance), program=text, parent=row.id
    )


def _only_place(words: Sequence[str], said: Sequence[str]) -> int | None:
    """Return where some words stand; None if nowhere, or more than once."""
    place = find_words(words, said) if said else None
    return None if place is None or find_words(words, said, {place}) is not None else place


def _row(
    file: Path,
    number: int,
    line: str,
    language: Language,
    library: Library | None,
    *,
    needs_program: bool,
    known: frozenset[str] | None,
) -> Example | None:
    """Return the row of a line; None where its program is of classes that are not `known`."""
    sentence, program, *_ = [*line.split("\t"), ""]
    if not sentence.strip() or (needs_program and not program.strip()):
        place = Span(str(file), number, 1, number, len(line) + 1)
        raise GenieError(Problem("N021", "expected utterance<TAB>program", place))
    id = f"{file.parent.name}:{number}"
    if not program.strip():
        return Example(id, sentence, "", language.name, "human")
    if program.strip() == OUT_OF_SCOPE:
        return Example(id, sentence, OUT_OF_SCOPE, language.name, "human")
    try:
        tree = language.parse(program, file=str(file))
        classes = {name.rpartition(".")[0] for name in language.functions(tree)}
        if known is not None and not known.issuperset(classes):
            return None
        tree = language.canonical(at_known_places(tree), library)
        tokens = language.tokens(tree, library)
    except GenieError as error:
        place = Span(str(file), number, len(sentence) + 2, number, len(line) + 1)
        raise GenieError(problem_in_line(problem, place) for problem in error.problems) from None
    functions = tuple(language.functions(tree))
    return Example(id, sentence, tokens, language.name, "human", functions=functions)


def at_known_places(program: Any) -> Any:
    """Return a program with the places that the reader knows where it puts them."""
    places, _ = gazetteer()

    def move_place(node: Any) -> Any:
        if not isinstance(node, LocationValue) or node.display not in places:
            return node
        latitude, longitude = places[node.display].value.rpartition(" at:")[2].split(":")
        return replace(node, latitude=Decimal(latitude), longitude=Decimal(longitude))

    return rewrite(program, move_place)
