"""Compares the data files of an installed genie_dp with those of the checkout given to it."""

import sys
from pathlib import Path

from genie_dp.resources import data_folder


def names(folder: Path) -> set[str]:
    return {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}


checkout = Path(sys.argv[1])
for name in ("grammars", "thingpedia"):
    installed = data_folder(name)
    if installed.is_relative_to(checkout):
        sys.exit(f"{name} comes from the checkout, not from the wheel")
    missing = names(checkout / name) - names(installed)
    if missing:
        sys.exit(f"the wheel lacks {len(missing)} files of {name}: {sorted(missing)[:5]}")
    sys.stdout.write(f"{name}: {len(names(installed))} files\n")
