"""Cards: README.md files in Markdown, made of the templates of a package."""

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from genie_dp.yaml_text import as_yaml


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
