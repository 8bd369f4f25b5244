"""Rows whose programs are S-expressions, in step with their sentences."""

from collections.abc import Sequence

from genie_dp.dataset.in_step import in_step
from genie_dp.dataset.left import Left
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.records import Example, Source
from genie_dp.skills.words import tokenize

UNREADABLE = "cannot be read"


def expression_row(
    id: str,
    utterance: str,
    program: str,
    *,
    source: Source = "human",
    parent: str = "",
    words: Sequence[str] | None = None,
) -> Example | Left:
    """Return the row of an S-expression; strings are spelt as the sentence has them.

    Args:
        words: of the sentence, where the data set says how it is cut.

    >>> expression_row("a", "Meet Ann Lee.", '(meet "Ann Lee")').program
    '( meet " ann lee " )'
    """
    language = get_language("sexpr")
    try:
        tree = language.canonical(language.parse(program))
    except GenieError as error:
        return Left(id, utterance, program, UNREADABLE, error.problems[0].message)
    tokens = tokenize(utterance) if words is None else tuple(words)
    return Example(
        id,
        " ".join(tokens),
        in_step(language.tokens(tree), tokens),
        language="sexpr",
        source=source,
        parent=parent,
        functions=tuple(language.functions(tree)),
    )
