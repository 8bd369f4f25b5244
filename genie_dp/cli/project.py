"""`genie-dp run`: the stages of a project, each made when something changed."""

import json
from pathlib import Path

import click


@click.command("run")
@click.argument("stages", nargs=-1, metavar="[STAGE]...")
@click.option(
    "--file", "-f", "file", type=click.Path(exists=True, path_type=Path), metavar="FILE|DIR",
    help="The project [the genie.yaml of this folder, or of the nearest one above].",
)  # fmt: skip
@click.option(
    "--list", "is_list", is_flag=True, help="Show what would be made, and why; make nothing."
)
@click.option(
    "--force", is_flag=True,
    help="Make the named stages even if nothing changed; without names, all.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N",
    help="Processes that make rows [what genie.yaml says, else 1].",
)  # fmt: skip
@click.option(
    "--watch", is_flag=True,
    help="Make nothing: check skills and templates at every save, and show what changed templates "
    "give, until Ctrl-C.",
)  # fmt: skip
@click.option(
    "--preview", "count", type=click.IntRange(0), default=3, show_default=True, metavar="N",
    help="With --watch: pairs of each changed template.",
)  # fmt: skip
@click.option("--schema", is_flag=True, help="Show the JSON Schema of genie.yaml, for editors.")
def command(
    *,
    stages: tuple[str, ...],
    file: Path | None,
    is_list: bool,
    force: bool,
    jobs: int | None,
    watch: bool,
    count: int,
    schema: bool,
) -> None:
    """Make the stages of a project: only those that changed.

    A stage is made anew when its settings, its inputs, the skills, the templates or the version
    changed, or somebody touched its output. STAGE names those to make, with all that they need;
    without it, all. An interrupted stage goes on where it was. The contents of genie.yaml:
    docs/projects.md.

    \b
    genie-dp run
    genie-dp run parser --jobs 2
    genie-dp run --list
    """
    from genie_dp.project import Project
    from genie_dp.project_file import FILE, find_project
    from genie_dp.project_file import schema as project_schema

    if schema:
        click.echo(json.dumps(project_schema(), indent=1))
        return
    if watch and (is_list or force or stages):
        raise click.UsageError("--watch makes nothing: it takes no STAGE, --list or --force")
    project = Project(file or find_project(Path.cwd()) or Path(FILE))
    if watch:
        from genie_dp.watch import watch as watch_project

        for seen in watch_project(project, count=count):
            click.echo(str(seen))
    elif is_list:
        click.echo(str(project.plan(*stages, force=force)))
    else:
        click.echo(str(project.run(*stages, force=force, jobs=jobs, progress=True)))
