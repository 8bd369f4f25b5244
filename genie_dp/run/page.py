"""Pages in HTML, with charts in SVG and nothing to load, and cards in Markdown."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from math import ceil
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_SHARED = "genie_dp.run"
# What YAML takes for line ends or refuses; JSON leaves it as it is.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def page_environment(package: str, **filters: Callable[..., Any]) -> Environment:
    """Return the renderer of the pages of a package: its `pages`, then the shared ones."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "pages") for name in (package, _SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, percent=percent, share=share_of, breakable=breakable, **filters
    )
    return environment


def breakable(name: str) -> Markup:
    """Return a name that may break after its dots, colons and underscores, escaped.

    >>> str(breakable("@a.b_c<"))
    '@a.<wbr>b_<wbr>c&lt;'
    """
    return Markup(re.sub(r"([._:])", r"\1<wbr>", str(escape(name))))


def mark_tokens(text: str, other: str) -> Markup:
    """Return a program as HTML, with the tokens marked that another program has not.

    >>> str(mark_tokens("now => @c.f", "now => @c.g"))
    'now =&gt; <mark>@<wbr>c.<wbr>f</mark>'
    """
    ours, theirs = text.split(" "), other.split(" ")
    parts = []
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if start < end:
            part = escape(" ".join(ours[start:end]))
            # Long names break where they may, so that a phone shows all of them.
            for sign in ".:_@,":
                part = Markup(str(part).replace(sign, f"{sign}<wbr>"))
            parts.append(part if tag == "equal" else Markup("<mark>{}</mark>").format(part))
    return Markup(" ").join(parts)


def number(value: int | None) -> str:
    """Return a count with commas, a dash for none.

    >>> number(12345), number(None)
    ('12,345', '\u2013')
    """
    return "\u2013" if value is None else f"{value:,}"


def percent(share: float) -> str:
    """Return a share in percent; other values are never shown as zero.

    >>> percent(0.25), percent(0.0004), percent(0.0), percent(1.0)
    ('25 %', '< 0.1 %', '0 %', '100 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{round(100 * share, 1):g} %"


FEW_ROWS = 5
"""Below so many rows a share tells nothing: the interval of 4 of 4 is 51 to 100 %."""


def share_of(part: int, rows: int) -> str:
    """Return a share of rows in percent; of fewer than `FEW_ROWS` it is a count.

    >>> share_of(3, 12), share_of(1, 1)
    ('25 %', '1 of 1')
    """
    return f"{part} of {rows}" if rows < FEW_ROWS else percent(part / rows)


def bin_counts(counts: Mapping[str, int], most: int = 30) -> dict[str, int]:
    """Return a histogram over whole numbers with at most so many bins of equal width.

    >>> bin_counts({"1": 5, "2": 1, "3": 0, "4": 2}, most=2)
    {'1-2': 6, '3-4': 2}
    """
    if len(counts) <= most:
        return dict(counts)
    items: Sequence[tuple[str, int]] = list(counts.items())
    width = ceil(len(items) / most)
    chunks = [items[i : i + width] for i in range(0, len(items), width)]
    return {
        chunk[0][0] if len(chunk) == 1 else f"{chunk[0][0]}-{chunk[-1][0]}": sum(
            n for _, n in chunk
        )
        for chunk in chunks
    }


def render_card(package: str, **values: Any) -> str:
    """Return the text of README.md, of `pages/card.md.jinja` in a package."""
    environment = Environment(
        loader=PackageLoader(package, "pages"),
        autoescape=False,  # Markdown and YAML: the filters below escape for each
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(quoted=as_yaml, inline=inline)
    text = environment.get_template("card.md.jinja").render(**values)
    return re.sub(r"\n{3,}", "\n\n", text)


def inline(text: object) -> str:
    r"""Return a text for a line or a table of Markdown: no markup, no line ends.

    >>> print(inline("a|b <c>\n*d*"))
    a\|b &lt;c> \*d\*
    """
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", line).replace("<", "&lt;")


def as_yaml(value: Any) -> str:
    r"""Return data as one line of YAML that is JSON, too.

    >>> print(as_yaml({"a": "no: \u2028\n"}))
    {"a": "no: \u2028\n"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
