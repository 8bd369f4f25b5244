"""Template files: how people speak of programs (docs/template-language.md)."""

from genie_dp.templates.grammar import Grammar, Row, Table, in_subset, subset
from genie_dp.templates.load import load_grammar, read_grammar
from genie_dp.templates.syntax import parse_file

__all__ = [
    "Grammar",
    "Row",
    "Table",
    "in_subset",
    "load_grammar",
    "parse_file",
    "read_grammar",
    "subset",
]
