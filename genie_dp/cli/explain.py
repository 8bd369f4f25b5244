"""`genie-dp explain`: how the templates derive a sentence, or why they do not."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.describe import placed
from genie_dp.cli.inputs import compiled_of
from genie_dp.cli.options import library_options, templates_options
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.templates.inputs import Inputs

if TYPE_CHECKING:
    from genie_dp.synthesis.chart_miss import Miss
    from genie_dp.synthesis.explain import Explainer, Explanation, Node, Reading

_SHOWN = 3  # derivations of one program


@click.command("explain")
@click.argument("sentence", required=False)
@library_options
@templates_options(max_depth=8)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people; json as one object.",
)
@click.option("--expect", metavar="PROGRAM", help="Fail unless the sentence has this program.")
@click.option(
    "--file",
    "pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TSV",
    help="Check each line, utterance and program, instead of one sentence.",
)
def command(**options: Any) -> int:
    """Show how the templates derive a sentence, or what is missing.

    Placeholders stand for values (NUMBER_0, QUOTED_STRING_0, ..); words in double quotes, numbers,
    mail addresses, links, @names and #tags may be written out. The exit code is 0 if the sentence
    is derived, with the program of --expect if that is given.

    \b
    genie-dp explain "get my dropbox files"
    genie-dp explain --file pairs.tsv
    """
    if (options["sentence"] is None) == (options["pairs"] is None):
        raise click.UsageError("give one sentence, or a file with --file")
    if options["pairs"] is not None and (options["expect"] or options["format_"] == "json"):
        raise click.UsageError("--expect and --format json are for one sentence")
    inputs, explainer = _prepare(options)
    if options["pairs"] is not None:
        return _check_file(inputs, explainer, options["pairs"])
    return _explain_one(inputs, explainer, options)


def _prepare(options: dict[str, Any]) -> "tuple[Inputs, Explainer]":
    from genie_dp.synthesis.explain import Explainer

    inputs, compiled = compiled_of(options)
    return inputs, Explainer(compiled, options["max_depth"])


def as_tokens(text: str, inputs: Inputs) -> str:
    """Return the token form of a program: it is given so, or as people write it.

    Raises:
        GenieError: it is neither, or means nothing in the library.
    """
    language = inputs.language
    try:
        program = language.parse(text, file="<program>")
    except GenieError as error:
        try:
            program = language.from_tokens(text, places=True)
        except GenieError:
            raise error from None
    problems = [p for p in language.check(program, inputs.library) if p.severity == "error"]
    if problems:
        raise GenieError(problems, sources=dict.fromkeys(("<program>", "<tokens>"), text))
    return language.tokens(language.canonical(program, inputs.library), inputs.library)


# --------------------------------------------------------------------------------- one sentence


def _explain_one(inputs: Inputs, explainer: "Explainer", options: dict[str, Any]) -> int:
    expected = as_tokens(options["expect"], inputs) if options["expect"] else None
    explanation, miss, refused = _explained(explainer, options["sentence"])
    is_right = expected is None or expected in explanation.programs
    if options["format_"] == "json":
        told = _as_json(explanation, miss, refused, expected)
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        for line in _lines(explanation, miss, refused):
            click.echo(line)
        if explanation.readings and not is_right:
            click.echo(f"expected: {expected}")
    return 0 if explanation.readings and is_right else 1


def said_of(explainer: "Explainer", sentence: str) -> Iterator[str]:
    """Yield the lines that are shown of a sentence."""
    yield from _lines(*_explained(explainer, sentence))


def _explained(
    explainer: "Explainer", text: str
) -> "tuple[Explanation, Miss | None, tuple[Reading, ...]]":
    """Return the readings of a sentence, what is near if there is none, and those refused."""
    from genie_dp.synthesis.chart_miss import nearest_miss
    from genie_dp.synthesis.refused import SecondReadings

    explanation = explainer.explain(text)
    refused = SecondReadings(explainer).of(explanation)
    if explanation.readings:
        return explanation, None, refused
    _, chart = explainer.parse(explanation.sentence)
    return explanation, nearest_miss(explainer, explanation.sentence, chart), refused


def _as_json(
    explanation: "Explanation",
    miss: "Miss | None",
    refused: "Sequence[Reading]",
    expected: str | None,
) -> dict[str, Any]:
    return {
        "sentence": explanation.sentence.text,
        "values": dict(explanation.sentence.values),
        "ambiguous": explanation.is_ambiguous,
        "expected": None if expected is None else expected in explanation.programs,
        "readings": [_reading(reading) for reading in explanation.readings],
        "refused": [_reading(reading) for reading in refused],
        "cut": list(explanation.cut),
        "miss": None if miss is None else {**asdict(miss), "unknown": dict(miss.unknown)},
    }


def _reading(reading: "Reading") -> dict[str, Any]:
    return {"program": reading.program, "derivations": [asdict(tree) for tree in reading.trees]}


def _lines(
    explanation: "Explanation", miss: "Miss | None", refused: "Sequence[Reading]"
) -> Iterator[str]:
    yield explanation.sentence.text
    for token, value in explanation.sentence.values:
        yield f"  {token} is {value}"
    for part in explanation.cut:
        yield f"  note: some readings of a part are left out, it has too many: {part}"
    if miss is not None:
        yield from _of_miss(miss)
    if explanation.is_ambiguous:
        yield f"ambiguous: {len(explanation.readings)} programs"
    for reading in explanation.readings:
        yield from _of_reading(reading)
    for reading in refused:
        yield from _of_reading(reading, "refused: ")


def _of_reading(reading: "Reading", mark: str = "") -> Iterator[str]:
    yield ""
    yield mark + reading.program
    for tree in reading.trees[:_SHOWN]:
        yield from _tree_lines(tree, 1)
    if len(reading.trees) > _SHOWN:
        yield f"  and {len(reading.trees) - _SHOWN} more derivations"


def _tree_lines(node: "Node", level: int) -> Iterator[str]:
    indent = "  " * level
    if node.template:
        yield f'{indent}{node.category} "{node.words}"  {node.template}  {_short(node.place)}'
    else:
        yield f'{indent}{_leaf(node.category)} "{node.words}"  {node.program}'
    if node.refused:
        yield f"{indent}  refused: {node.refused}"
    for child in node.children:
        yield from _tree_lines(child, level + 1)


def _leaf(pool: str) -> str:
    return Path(pool).name if "/" in pool else pool


def _short(place: str) -> str:
    """Return a place with its path from the working directory, where it lies in there."""
    path, _, line = place.rpartition(":")
    try:
        return f"{Path(path).resolve().relative_to(Path.cwd())}:{line}"
    except ValueError:
        return place


def _of_miss(miss: "Miss") -> Iterator[str]:
    yield "not derived"
    for word, near in miss.unknown:
        hint = f": did you mean {' or '.join(map(repr, near[:2]))}?" if near else ""
        yield f"  no template says {word!r}{hint}"
    for title, lines in (
        (
            "these parts are derived:",
            [f'"{p.words}"  {", ".join(p.categories)}' for p in miss.parts],
        ),
        ("these sentences are derived:", list(miss.edits)),
    ):
        if lines:
            yield f"  {title}"
            yield from (f"    {line}" for line in lines)
    if miss.fits:
        yield "  these templates would fit:"
    for fit in miss.fits:
        yield f'    {fit.category} "{fit.words}"  {fit.template}  {_short(fit.place)}'
        yield from (f"      but {reason}" for reason in fit.reasons)


# --------------------------------------------------------------------------------- many pairs


def read_pairs(path: Path) -> Iterator[tuple[Span, str, str]]:
    """Yield (place, utterance, program) for each line of a TSV file, a header left out.

    Raises:
        GenieError: a line has not two columns (R030).
    """
    from genie_dp.texts import read_text

    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("#") or line == "utterance\tprogram":
            continue
        cells = line.split("\t")
        place = Span(str(path), number, 1, number, len(line) + 1)
        if len(cells) != 2:
            message = f"expected utterance and program with a tab between, got {len(cells)} columns"
            raise GenieError(Problem("R030", message, place))
        yield place, cells[0], cells[1]


def _check_file(inputs: Inputs, explainer: "Explainer", path: Path) -> int:
    total = wrong = ambiguous = 0
    for place, utterance, program in read_pairs(path):
        total += 1
        expected = _expected(program, inputs, replace(place, column=len(utterance) + 2))
        found = explainer.explain(utterance)
        ambiguous += found.is_ambiguous
        fault = _fault(found.programs, expected)
        if fault:
            wrong += 1
            click.echo(f"{place.file}:{place.line}: {utterance}\n  {fault}")
    click.echo(
        f"{total:,} pairs: {total - wrong:,} derived, {wrong:,} not, {ambiguous:,} ambiguous"
    )
    return 1 if wrong or not total else 0


def _expected(program: str, inputs: Inputs, place: Span) -> str:
    """Return the token form of a program in a file; mistakes in it have their place there."""
    try:
        return as_tokens(program, inputs)
    except GenieError as error:
        raise GenieError([placed(problem, place) for problem in error.problems]) from None


def _fault(programs: Sequence[str], expected: str) -> str | None:
    if not programs:
        return "not derived"
    if expected not in programs:
        return f"expected {expected}, got {' and '.join(programs)}"
    return None
