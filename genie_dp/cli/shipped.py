"""Paths of options that may be "shipped": what comes with genie-dp, wherever it is installed."""

from pathlib import Path
from typing import Any

import click

from genie_dp.resources import data_folder

NAME = "shipped"


class ShippedPath(click.Path):
    """A file or folder that is there; "shipped" is a folder of our data, if nothing is so named."""

    def __init__(self, *folders: str) -> None:
        """Take the names of the folders, from the outside in."""
        super().__init__(exists=True, path_type=Path)
        self.folders = folders

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        if str(value) == NAME and not Path(NAME).exists():
            outer, *inner = self.folders
            return data_folder(outer).joinpath(*inner)
        return Path(str(super().convert(value, param, ctx)))


SKILLS = ShippedPath("thingpedia")
GRAMMAR = ShippedPath("grammars", "en")
