"""What a prior is made of: the functions of private programs, and public lists of names."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.base import Language
from genie_dp.private.ledger.guard import Units
from genie_dp.private.prior.histogram import Unit
from genie_dp.private.prior.support import Support
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.texts import read_text

_NAME = re.compile(r"@[\w.-]+\.\w+")


def functions_of(program: str, language: Language) -> tuple[str, ...]:
    """Return the functions of a program in either form, in program order; none of what is none.

    >>> from genie_dp.languages import get_language
    >>> functions_of("now => @com.x.list() => notify", get_language("thingtalk"))
    ('@com.x.list',)
    """
    for read in (language.from_tokens, language.parse):
        try:
            return tuple(language.functions(read(program)).elements())
        except GenieError:
            continue  # its error holds private text, and goes no further
    return ()


def units_of(source: PrivateSource, language: Language) -> Units[Unit]:
    """Return the functions of each unit's programs; rows without a program ask for nothing."""

    def asked(rows: Sequence[PrivateRow]) -> Unit:
        return [functions_of(row.program, language) for row in rows if row.program is not None]

    return source.units.each(asked)


def support_of(
    library: Any, public: Iterable[str], candidates: Iterable[str], language: str
) -> Support:
    """Return the bins: functions of the library, and of public rows in languages without one.

    Args:
        library: skills, or declarations.
        public: functions of public rows.
        candidates: names that the library may lack.
        language: of the programs.

    Raises:
        GenieError: F002, there is no function at all.
    """
    if language == "thingtalk":
        names = {signature.qualified for signature in library.functions()}
    else:
        names = {*(library.signatures if library else ()), *public}
    if not names:
        hint = "name skills, a file of declarations with nodes, or rows with --public"
        raise GenieError(Problem("F002", "no function is known to count", hint=hint))
    return Support.of(names, candidates)


def read_candidates(path: Path, language: str) -> tuple[str, ...]:
    """Return the names of a file, one a line; lines that begin with # are left out.

    Raises:
        GenieError: F003, all lines that name no function.
    """
    text = read_text(path)
    names, problems = [], []
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        names.append(name)
        if _is_name(name, language):
            continue
        span = Span(str(path), number, 1, number, len(line) + 1)
        problems.append(
            Problem("F003", f"expected a function such as @com.x.f, got {name!r}", span)
        )
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return tuple(names)


def _is_name(name: str, language: str) -> bool:
    return " " not in name if language != "thingtalk" else bool(_NAME.fullmatch(name))
