"""Settings of the documentation as a site: `make site` builds it with Sphinx into build/site.

Every warning is an error there: a link that leads nowhere, a page in no list, a docstring that
cannot be read. Pages are Markdown (MyST); the notebooks are run anew.
"""

import posixpath
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from command_reference import command_reference  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

import genie_dp  # noqa: E402  (of this checkout)

project = "genie_dp"
author = "the makers of genie_dp"
version = release = genie_dp.__version__
html_title = f"genie_dp {release}"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_show_copyright = False
html_show_sourcelink = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 900  # seconds a cell, on a busy machine

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 80
napoleon_use_ivar = True

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)#\s]+)(?=[)#\s])")
# Pages that lie elsewhere, and the page of the site that includes each.
_INCLUDED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/pizza/README.md": "pizza.md",
    "examples/pizza-order/README.md": "pizza-order.md",
    "examples/home-assistant/README.md": "home-assistant.md",
    "genie_dp/augment/data/LICENCES.md": "value-licences.md",
}


def turn_links(text: str, folder: Path, page: str = "index") -> str:
    """Return Markdown that was read from a folder, with links relative to a page of docs/."""
    start = posixpath.dirname(f"docs/{page}")

    def turn(match: re.Match[str]) -> str:
        target = posixpath.normpath((folder / match[1]).as_posix())
        target = posixpath.relpath(target, ROOT.as_posix())
        included = _INCLUDED.get(target)
        return posixpath.relpath(f"docs/{included}" if included else target, start)

    return _LINK.sub(turn, text)


def turn_links_of_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Turn the links of a page, except of a notebook, and append the reference of the commands."""
    if not source[0].startswith("{"):
        source[0] = turn_links(source[0], (ROOT / "docs" / name).parent, name)
    if name == "commands":
        source[0] += f"\n{command_reference()}\n"


def turn_links_of_include(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
    """Turn the links of what a page includes."""
    source[0] = turn_links(source[0], (ROOT / "docs" / path).resolve().parent)


def setup(app: Sphinx) -> None:
    """Have links turned."""
    app.connect("source-read", turn_links_of_page)
    app.connect("include-read", turn_links_of_include)
