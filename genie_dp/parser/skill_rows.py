"""The real sentences of skills as rows: what stands in their eval.tsv."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk.ast import LocationValue
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.parser.reading.places import gazetteer
from genie_dp.records import Example
from genie_dp.texts import read_text

EVALUATION_FILE = "eval.tsv"
_HEADER = "utterance"


def evaluation_files(paths: Sequence[Path]) -> list[Path]:
    """Return the eval.tsv of skill folders, or of the skills in them, in the order of names.

    Raises:
        GenieError: N020, there is none.
    """
    found = []
    for path in paths:
        here = path / EVALUATION_FILE
        found += [here] if here.is_file() else sorted(path.glob(f"*/{EVALUATION_FILE}"))
    if not found:
        names = ", ".join(map(str, paths))
        hint = "give a skill lines of utterance<TAB>program there"
        raise GenieError(
            Problem("N020", f"no skill in {names} has an {EVALUATION_FILE}", hint=hint)
        )
    return found


def skill_rows(paths: Sequence[Path], language: Language, library: Any) -> Iterator[Example]:
    """Yield the rows of skills: sentences as typed, programs in token form with their values.

    Ids are the skill's name and the line. A place that the reader knows by its name stands where it
    puts it: its centre is a matter of opinion.

    Raises:
        GenieError: N020, no skill has any; N021, a line without program; or what is wrong with a
            program.
    """
    for file in evaluation_files(paths):
        for number, line in enumerate(read_text(file).split("\n"), 1):
            cells = line.split("\t")
            if not line.strip() or (number == 1 and cells[0] == _HEADER):
                continue
            if len(cells) < 2:
                place = Span(str(file), number, 1, number, len(line) + 1)
                raise GenieError(Problem("N021", "expected utterance<TAB>program", place))
            program = language.parse(cells[1], file=f"{file}:{number}")
            tree = language.canonical(at_known_places(program), library)
            yield Example(
                f"{file.parent.name}:{number}",
                cells[0],
                language.tokens(tree, library),
                language.name,
                "human",
                functions=tuple(language.functions(tree)),
            )


def at_known_places(program: Any) -> Any:
    """Return a program with the places that the reader knows where it puts them."""
    known, _ = gazetteer()

    def changed(node: Any) -> Any:
        if not isinstance(node, LocationValue) or node.display not in known:
            return node
        latitude, longitude = known[node.display].value.rpartition(" at:")[2].split(":")
        return replace(node, latitude=Decimal(latitude), longitude=Decimal(longitude))

    return rewrite(program, changed)
