"""The demo page and the page of the interface; all text in them is escaped."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import (
    AMBIGUOUS,
    CONFIRM,
    EMPTY,
    MISSING_INPUT,
    NEGATED,
    TOO_LONG,
    UNSURE,
    UNUSED_VALUE,
    UNUSED_WORDS,
    SentenceParser,
)
from genie_dp.run.page import page_environment
from genie_dp.serve.parse_models import ParsedAnswer, ParsedReply
from genie_dp.serve.parse_refusals import Refusal

_LONG = 40  # characters; a phone shows about as many in a line
_PIECE = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*")
    |(?P<function>@[\w.-]+)
    |(?P<number>(?<![\w.])-?\d+(?:[.:/-]\d+)*(?:[A-Za-z%]+)?)
    |(?P<keyword>\b(?:now|monitor|edge|timer|attimer|notify|filter|join|on|as|aggregate|agg|in|new
        |sum|avg|count|min|max|of|not|true|false|enum|contains|contains~|return|policy)\b(?!\s*=(?!>)))
    |(?P<sign>=>|&&|\|\||[=!<>~]=|=~|~=|[(){}\[\],:;=<>!\\$])
    |(?P<space>\s+)
    |(?P<name>[\w.^-]+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class CodePiece(NamedTuple):
    """A piece of a program; kinds are names of style classes."""

    kind: str
    text: str


def highlight(code: str) -> tuple[CodePiece, ...]:
    """Return the pieces of a program; together they are the program, but for line breaks.

    >>> [piece.kind for piece in highlight('now => @a.b(x="1") => notify')]
    ['keyword', 'space', 'sign', 'space', 'function', 'sign', 'name', 'sign', 'string', 'sign',
     'space', 'sign', 'space', 'keyword']
    """
    pieces = tuple(CodePiece(str(m.lastgroup), m[0]) for m in _PIECE.finditer(code))
    if len(code) <= _LONG:
        return pieces
    # A line for each step of the program.
    following = (*pieces[1:], CodePiece("other", ""))
    return tuple(
        CodePiece("space", "\n") if piece.kind == "space" and after == ("sign", "=>") else piece
        for piece, after in zip(pieces, following, strict=True)
    )


_MOST_EXAMPLES, _MOST_FUNCTIONS = 6, 40
_ORDER = (
    "Query", "Context", "Replies", "ParsedReply", "ParsedAnswer", "ParsedInput", "Problem",
    "Health", "RequestLimits", "Counts",
)  # fmt: skip
_LEAST = 0.01  # confidence of what is shown at all; programs for nonsense are far below
# What stands above a program that nobody may act on, and above what is nearest.
_UNKNOWN: Mapping[str, tuple[str, str]] = {
    EMPTY: ("There is nothing to read", ""),
    TOO_LONG: ("That is too long for me", ""),
    OUT_OF_SCOPE: ("I cannot do that", "The nearest that I can do:"),
    NEGATED: ("I left it as it is: you said not to", "What I can do:"),
    UNUSED_VALUE: ("I did not understand all of that", "Did you mean this?"),
    UNUSED_WORDS: ("I did not understand all of that", "Did you mean this?"),
    MISSING_INPUT: ("Something is missing", "So far I have:"),
    AMBIGUOUS: ("That may mean different things", "Did you mean this?"),
    CONFIRM: ("Shall I do this?", "Answer yes, or say it otherwise:"),
    UNSURE: ("I am not sure enough", "Did you mean this?"),
}


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer as the page has it."""

    answer: ParsedAnswer
    pieces: tuple[CodePiece, ...]
    percent: int
    json: str


def show_answer(answer: ParsedAnswer) -> ShownAnswer:
    """Return an answer with the texts of the page."""
    percent = int(100 * answer.confidence)
    meaning = answer.tree if answer.calls is None else answer.calls
    written = json.dumps(meaning, ensure_ascii=False, indent=1)
    return ShownAnswer(answer, highlight(answer.code), percent, written)


def known_examples(parser: SentenceParser) -> tuple[str, ...]:
    """Return the examples of a parser that it knows itself, to show how it is asked."""
    replies = parser.parse(parser.offers().sentences)
    return tuple(reply.sentence for reply in replies if reply.is_known)[:_MOST_EXAMPLES]


def page(
    *,
    model: str,
    most_characters: int,
    examples: Sequence[str] = (),
    functions: Sequence[str] = (),
    typed: str = "",
    reply: ParsedReply | None = None,
    refusal: Refusal | None = None,
) -> str:
    """Return the demo page, with the answer to the input, or the reason why there is none.

    Args:
        model: name of the parser.
        most_characters: of a sentence.
        examples: sentences that it knows.
        functions: the names of its functions.
        typed: the sentence.
        reply, refusal: its outcome.
    """
    return _render(
        "parse.html.jinja",
        model=model,
        most_characters=most_characters,
        typed=typed,
        examples=examples,
        functions=functions[:_MOST_FUNCTIONS],
        more_functions=max(0, len(functions) - _MOST_FUNCTIONS),
        **_answer_values(reply, refusal),
    )


def fragment(
    *, most_characters: int, reply: ParsedReply | None = None, refusal: Refusal | None = None
) -> str:
    """Return only the answer, for the script of the page to put in its place."""
    values = _answer_values(reply, refusal)
    return _render("parse_answer.html.jinja", most_characters=most_characters, **values)


def _answer_values(reply: ParsedReply | None, refusal: Refusal | None) -> dict[str, Any]:
    parsed_answers = reply.answers if reply is not None else []
    answers = [show_answer(answer) for answer in parsed_answers if answer.confidence >= _LEAST]
    problem = refusal.as_dict() if refusal is not None else None
    refused = reply.refused if reply is not None else None
    title, nearest = _UNKNOWN.get(refused or UNSURE, _UNKNOWN[UNSURE])
    return {
        "reply": reply,
        "answers": answers,
        "problem": problem,
        "title": title,
        "nearest": nearest,
    }


def docs_page(schema: Mapping[str, Any], address: str) -> str:
    """Return the page of the interface.

    Args:
        schema: OpenAPI.
        address: of the server, for examples.
    """
    routes = [
        {"method": method.upper(), "path": path, **operation}
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = schema["components"]["schemas"]
    shapes = [_shape(name, schemas[name]) for name in sorted(schemas, key=_place)]
    return _render(
        "parse_docs.html.jinja",
        title=schema["info"]["title"],
        version=schema["info"]["version"],
        address=address,
        routes=routes,
        shapes=shapes,
        example=json.dumps({"sentence": "list my files", "count": 3, "english": True}),
    )


def _place(shape: str) -> int:
    """Return the order of a shape on the page of the interface: requests come first."""
    return _ORDER.index(shape) if shape in _ORDER else len(_ORDER)


def _shape(name: str, told: Mapping[str, Any]) -> dict[str, Any]:
    required: Sequence[str] = told.get("required", ())
    rows = [
        {
            "name": field,
            "type": type_name(value),
            "note": value.get("description", ""),
            "is_required": field in required,
        }
        for field, value in told["properties"].items()
    ]
    return {"name": name, "note": told.get("description", ""), "rows": rows}


def type_name(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in OpenAPI as people write it.

    >>> type_name({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(type_name(part) for part in schema["anyOf"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {type_name(schema['items'])}"
    return str(schema.get("type", "anything"))


def _render(template: str, **values: object) -> str:
    return str(_template(template).render(**values))


@cache
def _template(name: str) -> Any:
    return page_environment("genie_dp.serve").get_template(name)
