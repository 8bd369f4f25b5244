"""The layout of files, for "format document"."""

import re

from genie_dp.errors import GenieError
from genie_dp.templates.format import layout


def format_document(text: str, file: str) -> str:
    """Return a template file as `genie-dp format` lays it out, as it is while it has mistakes.

    Of skills only the spaces between lines and at their ends change.
    """
    if not file.endswith(".genie"):
        return format_text(text)
    try:
        return layout(text, file=file)
    except GenieError:
        return text


def format_text(text: str) -> str:
    r"""Return a text without spaces at ends of lines, with one empty line at most between others.

    It ends with one line end. What it says does not change.

    >>> format_text("\n\nNP := 'a' -> b;  \n\n\n\nVP := 'c' -> d;")
    "NP := 'a' -> b;\n\nVP := 'c' -> d;\n"
    """
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    lines = re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
    return f"{lines}\n" if lines else ""
