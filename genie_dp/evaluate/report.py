"""The result as one page of HTML: charts are SVG, nothing is loaded, no script is needed."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from genie_dp.run.page import page_environment

KIND_HELP: Mapping[str, str] = {
    "refused": "no program: “I do not know”",
    "unreadable": "the first program cannot be read",
    "ill-typed": "it can be read, and does not fit the library",
    "wrong function": "another function than expected",
    "missing function": "a function is missing, no other is wrong",
    "extra function": "a function too many, no other is wrong",
    "wrong parameter": "the right functions with other parameters",
    "wrong operator": "the right parameters, compared otherwise",
    "wrong structure": "the same parts, put together otherwise",
    "wrong value": "all is right but a value",
}


def page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as `result.described` and the command make it."""
    environment = page_environment("genie_dp.evaluate", interval=interval, signed=signed)
    text: str = environment.get_template("evaluation.html.jinja").render(
        result=result,
        axes=[
            (axis, list(groups)) for axis, groups in groupby(result["groups"], lambda g: g["axis"])
        ],
        kind_help=KIND_HELP,
        marked=marked,
    )
    return text


def interval(figure: Mapping[str, float]) -> str:
    """Return the ends of an interval in percent.

    >>> interval({"low": 0.5, "high": 0.612})
    '50.0 – 61.2'
    """
    return f"{100 * figure['low']:.1f} – {100 * figure['high']:.1f}"


def signed(share: float) -> str:
    """Return a difference in percentage points, with its sign.

    >>> signed(0.051), signed(-0.2), signed(0.0)
    ('+5.1', '−20.0', '0')
    """
    points = round(100 * share, 1)
    return f"{points:+.1f}".replace("-", "−") if points else "0"


def marked(text: str, other: str) -> Markup:
    """Return a program as HTML, with the tokens marked that another program has not.

    >>> str(marked("now => @c.f", "now => @c.g"))
    'now =&gt; <mark>@<wbr>c.<wbr>f</mark>'
    """
    ours, theirs = text.split(" "), other.split(" ")
    parts = []
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if start < end:
            parts.append(_part(ours[start:end], is_marked=tag != "equal"))
    return Markup(" ").join(parts)


def _part(tokens: Sequence[str], *, is_marked: bool) -> Markup:
    text = escape(" ".join(tokens))
    # Long names break where they may, so that a phone shows all of them.
    for end in ".:_@,":
        text = Markup(str(text).replace(end, f"{end}<wbr>"))
    return Markup("<mark>{}</mark>").format(text) if is_marked else text
