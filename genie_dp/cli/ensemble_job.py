"""One run of `genie-dp ensemble`: from folders of parsers to one folder."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.learn.device import prepare_torch
from genie_dp.parser import folder as files
from genie_dp.parser.card import Card, File
from genie_dp.records import Spent
from genie_dp.run.manifest import write_json
from genie_dp.run.page import render_card
from genie_dp.run.work import PARSER, put_in_place, refuse_output, work_folder_of

if TYPE_CHECKING:
    from genie_dp.learn.calibration import Calibration
    from genie_dp.learn.saved import SavedModel
    from genie_dp.parser.ensemble import Member

# What is copied from the first parser; it is the same in all.
_COPIED = (files.TEXTS, files.READER)
_UNMEASURED = "nothing; the confidence is calibrated as those of the parsers are, on average"


@dataclass(frozen=True, slots=True)
class Made:
    """What came of joining.

    Attributes:
        figures: what was measured, by name.
        validation: what it was measured on; "" for nothing.
    """

    members: "Sequence[Member]"
    saved: "SavedModel"
    calibration: "Calibration"
    figures: Mapping[str, Any]
    validation: str


def run(options: Mapping[str, Any]) -> None:
    """Read, check, join, measure, write, and say what came of it."""
    output = Path(options["output"])
    work = work_folder_of(output)
    refuse_output(output, work, PARSER, resume=False, overwrite=options["overwrite"])
    prepare_torch(options["device"], 1)
    made = _made(options["parsers"], options["validation"] or "", options["device"])
    _deliver(made, output, options["licence"])
    share = made.figures["validation accuracy"]
    right = (
        "not measured: give --validation"
        if share is None
        else (f"{100 * share:.1f} % of {made.figures['validation rows']:,} validation rows right")
    )
    click.echo(f"{len(made.members)} parsers, {right} -> {output}", err=True)


def _made(folders: Sequence[Path], validation: str, device: str) -> Made:
    from genie_dp.parser.ensemble import (
        calibration_of,
        check_together,
        joined,
        measured,
        read_member,
    )

    if len(folders) < 2:
        hint = "train another one with another --seed"
        raise GenieError(Problem("N072", "expected two parsers or more, got one", hint=hint))
    members = [read_member(folder) for folder in folders]
    check_together(members)
    saved = joined(members)
    found = measured(saved, members[0], validation, device) if validation else None
    calibration, error = calibration_of(members, found)
    figures = {
        "parsers": len(members),
        "parameters": sum(p.numel() for p in saved.model.parameters()),
        "validation rows": found.rows if found else 0,
        "validation accuracy": round(found.accuracy, 4) if found else None,
        "calibration error": None if error is None else round(error, 4),
    }
    return Made(members, saved, calibration, figures, validation)


def _deliver(made: Made, output: Path, licence: str) -> None:
    """Write the folder beside its name and rename it when it is complete."""
    from genie_dp.learn.saved import save_model

    work = work_folder_of(output)
    shutil.rmtree(work, ignore_errors=True)
    folder, first = work / "made", made.members[0]
    folder.mkdir(parents=True)
    if (skills := first.folder / files.SKILLS).exists():  # S-expressions may do without
        shutil.copytree(skills, folder / files.SKILLS)
    for name in _COPIED:
        shutil.copyfile(first.folder / name, folder / name)
    for number, member in enumerate(made.members, 1):
        recipe = Path(files.RECIPE)
        target = folder / f"{recipe.stem}-{number}{recipe.suffix}"
        shutil.copyfile(member.folder / files.RECIPE, target)
    facts = {**first.facts, "version": __version__, "temperature": made.calibration.temperature}
    save_model(replace(made.saved, facts={"parser": facts}), folder)
    card = _card(made, output.name, licence)
    (folder / files.CARD).write_text(render_card("genie_dp.parser", card=card), encoding="utf-8")
    write_json(str(folder / files.MANIFEST), _manifest(made))
    put_in_place(folder, output, work)


def _manifest(made: Made) -> dict[str, Any]:
    first = made.members[0].manifest
    kept = {
        name: first[name]
        for name in ("inputs", "counts", "example", "prior", "priors")
        if name in first
    }
    return {
        "command": "ensemble",
        "version": __version__,
        **kept,
        "figures": dict(made.figures),
        "validation": made.validation,
        "parsers": [
            {"name": one.folder.name, "figures": one.manifest["figures"],
             "config": one.manifest["config"]}
            for one in made.members
        ],
        "spent": first["spent"],
    }  # fmt: skip


def _card(made: Made, name: str, licence: str) -> Card:
    first = made.members[0]
    config, spent = first.config, first.manifest["spent"]
    return Card(
        title=f"Parser {name}",
        folder=name,
        language=str(first.facts["language"]),
        files=tuple(
            File(Path(x.path).name, x.source, first.manifest["inputs"][x.path], x.ratio, x.weight)
            for x in config.inputs
        ),
        counts=first.manifest["counts"],
        figures=made.figures,
        validation=Path(made.validation).name or _UNMEASURED,
        is_real=bool(made.validation),
        seeds=tuple(one.config.seed for one in made.members),
        temperature=made.calibration.temperature,
        threshold=config.threshold,
        is_constrained=config.is_constrained,
        has_skills=(first.folder / files.SKILLS).exists(),
        example=first.manifest.get("example", "..."),
        made_by=config.made_by,
        licence=licence,
        spent=Spent(**{**spent, "not_covered": tuple(spent["not_covered"])}) if spent else None,
        members=tuple(map(_said, made.members)),
    )


def _said(member: "Member") -> str:
    share = member.manifest["figures"].get("validation accuracy")
    right = "not measured" if share is None else f"{100 * share:.1f} % right where it was measured"
    return f"{member.folder.name}, {member.saved.architecture}, {right}"
