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


SHIPPED = "shipped"


def shipped_path(path: Path | str, *folders: str) -> Path | None:
    """Return the shipped data named "shipped" or "shipped/.."; None where it names anything else.

    Something of the user's that is so named comes first.

    Args:
        path: as it is given.
        folders: those of our data that "shipped" stands for, from the outside in.
    """
    first, *rest = Path(path).parts or ("",)
    if first != SHIPPED or Path(SHIPPED).exists():
        return None
    outer, *inner = folders
    return data_folder(outer).joinpath(*inner, *rest)
