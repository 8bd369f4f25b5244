"""The sentences of skills as a file of gold rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from genie_dp.cli.inputs import load_library_of
from genie_dp.languages import get_language
from genie_dp.parser.skill_rows import skill_rows
from genie_dp.resources import data_folder
from genie_dp.rows import to_json


@contextmanager
def rows_of_skills(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the file of gold rows: GOLD itself, or where it is a folder, its skills' eval.tsv."""
    folder = Path(options["gold"])
    if not folder.is_dir():
        yield options["gold"]
        return
    skills = skills_of(options)
    library = load_library_of("thingtalk", skills, skip_broken=options["skip_broken"])
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / f"{folder.resolve().name}.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for row in skill_rows([folder], get_language("thingtalk"), library):
                out.write(f"{to_json(row)}\n")
        yield str(file)


def skills_of(options: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return the skills that programs must fit; a folder of gold rows has its own."""
    given: tuple[Path, ...] = tuple(options["skills"])
    folder = Path(options["gold"]).resolve()
    if given or not folder.is_dir():
        return given
    shipped = data_folder("thingpedia").resolve()
    return (shipped,) if folder == shipped or shipped in folder.parents else (folder,)
