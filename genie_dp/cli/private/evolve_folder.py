"""The folder of an evolution: written beside its name, renamed when it is complete."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.cli.private.evolve_generators import figures_of
from genie_dp.cli.private.run_folder import FolderJob
from genie_dp.private.evolution.generator import Generator
from genie_dp.private.evolution.recipe import Recipe, as_yaml
from genie_dp.private.evolution.run import Evolved
from genie_dp.private.tables.table import SyntheticTable
from genie_dp.private_prior import save_prior
from genie_dp.records import PrivatePrior
from genie_dp.rows import to_json
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.work import FolderKind, put_in_place

FORMAT = "genie_dp evolution report"
ROWS, METADATA, PRIOR, REPORT = "rows.jsonl", "metadata.jsonl", "prior.json", "report.json"
EVOLUTION = FolderKind(REPORT, FORMAT, name="folder of an evolution", code="U025")


def deliver(
    job: FolderJob,
    recipe: Recipe,
    prior: PrivatePrior,
    generator: Generator,
    table: SyntheticTable | None,
    found: Evolved,
) -> None:
    """Write all files of an evolution, and take the work away."""
    made = job.work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    _write_rows(made, found)
    save_prior(prior, made / PRIOR)
    (made / "recipe.yaml").write_text(as_yaml(recipe), encoding="utf-8")
    if table is not None:
        (made / "table.json").write_text(table.text(), encoding="utf-8")
    write_json(str(made / "spent.json"), asdict(found.spent))
    figures = figures_of(generator)
    content = {"format": FORMAT, **found.report, **({"model": figures} if figures else {})}
    write_json(str(made / REPORT), {**content, "spent": asdict(found.spent)})
    write_json(manifest_of(str(made / ROWS)), _manifest(recipe, found))
    put_in_place(made, job.output, job.work)


def _write_rows(made: Path, found: Evolved) -> None:
    with (made / ROWS).open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{to_json(one.example)}\n" for one in found.rows)
    if not any(one.metadata for one in found.rows):
        return
    with (made / METADATA).open("w", encoding="utf-8", newline="\n") as out:
        for one in found.rows:
            line = {"id": one.example.id, "metadata": dict(one.metadata)}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def _manifest(recipe: Recipe, found: Evolved) -> dict[str, Any]:
    return {
        "command": "private evolve",
        "version": __version__,
        "recipe": recipe.as_dict(),
        "rows": len(found.rows),
        "calls": found.report["calls"],
        "spent": asdict(found.spent),
    }
