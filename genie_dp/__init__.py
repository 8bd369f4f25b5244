"""genie_dp: semantic parsers for virtual assistants from skills, templates and private logs.

    import genie_dp as gd

    library = gd.load_library("shipped")
    pairs = gd.synthesize(library, size=50_000, seed=1)
    pairs.preview(5)

Names that are not in `__all__` are internal.
"""

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # which type checkers take for true: importing typing takes longer than this
if TYPE_CHECKING:
    from typing import Any

    from genie_dp import private
    from genie_dp.api import (
        augment,
        coverage,
        describe,
        evaluate,
        explain,
        gap_listener,
        load_grammar,
        load_library,
        paraphrase,
        split,
        synthesize,
        train,
    )
    from genie_dp.errors import GenieError
    from genie_dp.parser.parser import Parser
    from genie_dp.project import Project
    from genie_dp.records import Example
    from genie_dp.rows import Rows

    __version__: str

__all__ = (
    "Example",
    "GenieError",
    "Parser",
    "Project",
    "Rows",
    "augment",
    "coverage",
    "describe",
    "evaluate",
    "explain",
    "gap_listener",
    "load_grammar",
    "load_library",
    "paraphrase",
    "private",
    "split",
    "synthesize",
    "train",
)

# name -> its module, imported when somebody asks for the name: `import genie_dp` takes no time.
_HOMES = {
    **dict.fromkeys(__all__, "api"),
    "Example": "records",
    "GenieError": "errors",
    "Parser": "parser.parser",
    "Project": "project",
    "Rows": "rows",
}
del _HOMES["private"]  # a folder itself


class _PublicPackage(ModuleType):
    """The package: where a public function and a folder have one name, it is the function's.

    Importing genie_dp.augment.run would otherwise put the folder in the function's place.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _PublicPackage


def __getattr__(name: str) -> "Any":
    """Return a public name, importing its module."""
    if name == "private":
        return import_module("genie_dp.private")
    if name == "__version__":
        globals()[name] = value = _version()
        return value
    if name not in _HOMES:
        raise AttributeError(f"module 'genie_dp' has no attribute {name!r}")
    value = getattr(import_module(f"genie_dp.{_HOMES[name]}"), name)
    if hasattr(value, "settings_of"):  # which its help is to list
        from genie_dp.recipe import list_settings

        list_settings(value)
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("genie_dp")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0.2.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
