"""Reads `constants.tsv`: the example values that a developer chose for parameters and types."""

from genie_dp.errors import GenieError, Problem, Span

_HINT = "a line is key, value and, if it is shown otherwise, display, with tabs between"


def read_constants(text: str, *, file: str) -> dict[str, tuple[str, ...]]:
    r"""Return key -> values as people see them, in the order of the file.

    A key is `param:@skill.function:name:Type`, `param:@skill.*:name:Type`, `param:name:Type` or
    `Type`; a key may stand on several lines. Lines that begin with # and empty ones do not count.

    Raises:
        GenieError: P002, all lines that cannot be read.

    >>> read_constants("Number\t7\nEntity(tt:iso_lang_code)\tzh\tchinese\n", file="constants.tsv")
    {'Number': ('7',), 'Entity(tt:iso_lang_code)': ('chinese',)}
    """
    found: dict[str, list[str]] = {}
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        span = Span(file, number, 1, number, len(line) + 1)
        problem = _problem(cells)
        if problem:
            problems.append(Problem("P002", problem, span, _HINT))
            continue
        value = cells[2] if len(cells) > 2 and cells[2] else cells[1]
        listed = found.setdefault(cells[0], [])
        if value not in listed:
            listed.append(value)
    if problems:
        raise GenieError(problems, sources={file: text})
    return {key: tuple(values) for key, values in found.items()}


def _problem(cells: list[str]) -> str:
    if not 2 <= len(cells) <= 3:
        return f"expected 2 or 3 columns, got {len(cells)}"
    if not cells[0] or not cells[1]:
        return "expected a key and a value, got an empty one"
    if cells[0].startswith("param:") and cells[0].count(":") < 2:
        return f"expected param:name:Type, got {cells[0]!r}"
    return ""
