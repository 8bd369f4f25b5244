"""`genie-dp private score-redaction`: what policies find in labelled text, and what they miss."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import DETECTOR_TYPES, NamedValue, settings_options
from genie_dp.private.redact.config import PolicyConfig


@click.command("score-redaction")
@click.argument(
    "labelled", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="LABELLED"
)
@settings_options(PolicyConfig, types={**DETECTOR_TYPES, "policy": NamedValue("NAME=SCORE", float)})
@click.option("--is-public", is_flag=True, help="LABELLED may be seen by everybody: print figures.")
@click.option("--output", "-o", metavar="FILE", help="Write the result there, as JSON.")
def command(
    *, labelled: Path, settings: Mapping[str, Any], is_public: bool, output: str | None
) -> None:
    """Measure policies on rows whose secrets are labelled: precision, recall, and gamma.

    LABELLED is JSONL with `utterance` and `spans`, [[start, end, kind], ..] in characters. Gamma is
    the share of secrets that are not wholly masked; differs has those, too, whose mask takes a word
    beside them: what a statement of confidentiality needs. All have intervals.

    \b
    genie-dp private score-redaction labelled.jsonl --output policies.json
    genie-dp private score-redaction made.jsonl --is-public --policy pi=0.5 --policy strict=0.8
    """
    if not is_public and not output:
        raise click.UsageError(
            "say --is-public if LABELLED may be seen by everybody, or name an --output: "
            "figures of private text are private, and are not printed"
        )
    config = PolicyConfig(**settings)
    if len(dict(config.policy)) < len(config.policy):
        raise click.BadParameter("two policies of one name", param_hint="--policy")
    from genie_dp.cli.output import show
    from genie_dp.private.redact.measure import run

    result = run(config, labelled, output or None, is_public=is_public)
    if is_public:
        click.echo("\n".join(result.table()), err=output == "-")
    show(result)
