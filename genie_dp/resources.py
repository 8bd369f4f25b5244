"""Where the shipped grammars and skills lie, installed or in a checkout."""

from importlib.resources import files
from pathlib import Path


def data_folder(name: str) -> Path:
    """Return the folder of shipped data: "grammars" or "thingpedia".

    setup.cfg maps both folders into the package, so an installed copy has them inside it; in a
    checkout they lie beside it.
    """
    inside = Path(str(files("genie_dp") / name))
    if inside.is_dir():
        return inside
    beside = inside.parent.parent / name
    if beside.is_dir():
        return beside
    raise FileNotFoundError(f"the package has no {name!r} folder: reinstall genie_dp")
