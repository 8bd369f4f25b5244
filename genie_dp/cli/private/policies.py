"""`genie-dp private policies`: what policies find in labelled text, and what they miss."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import Finite
from genie_dp.cli.private.detectors import detector_options, pair_of


@click.command("policies")
@click.argument(
    "labelled", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="LABELLED"
)
@click.option(
    "--policy",
    multiple=True,
    metavar="NAME=SCORE",
    help="A policy with its least score. May be repeated [pi=0.5 pi_c=0.1].",
)
@detector_options
@click.option(
    "--level",
    type=Finite(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option("--is-public", is_flag=True, help="LABELLED may be seen by everybody: print figures.")
@click.option("--output", "-o", metavar="FILE", help="Write the result there, as JSON.")
def command(**options: Any) -> None:
    """Measure policies on rows whose secrets are labelled: precision, recall, and gamma.

    LABELLED is JSONL with `utterance` and `spans`, [[start, end, kind], ..] in characters. Gamma is
    the share of secrets that are not wholly masked; differs has those, too, whose mask takes a word
    beside them: what a statement of confidentiality needs. All have intervals.

    \b
    genie-dp private policies labelled.jsonl --output policies.json
    genie-dp private policies made.jsonl --is-public --policy pi=0.5 --policy strict=0.8
    """
    _run(options)


def _run(options: Mapping[str, Any]) -> None:
    from genie_dp import __version__
    from genie_dp.cli.private.detectors import detectors_of
    from genie_dp.cli.private.redact_job import for_the_owner_alone
    from genie_dp.errors import GenieError, Problem
    from genie_dp.private.ledger.guard import refuse_private
    from genie_dp.private.redact.measure import SCHEMA, compared, read_labelled
    from genie_dp.run.files import open_text

    output = options["output"]
    if options["is_public"]:
        refuse_private([options["labelled"]], None, code="E018")
    else:
        if not output:
            raise click.UsageError(
                "say --is-public if LABELLED may be seen by everybody, or name an --output: "
                "figures of private text are private, and are not printed"
            )
        if output == "-" or "://" in output:
            message = f"figures of private text are written to local files only, got {output}"
            raise GenieError(Problem("E015", message, hint="name a file beside the private rows"))
    if output and Path(output).resolve() == options["labelled"].resolve():
        message = f"{output} is the labelled text itself"
        raise GenieError(Problem("E016", message, hint="give another file"))
    detectors = detectors_of(options)
    policies = _policies(options["policy"])
    rows = read_labelled(options["labelled"])
    measured = compared(rows, detectors, policies, level=options["level"])
    result = {
        "schema": SCHEMA,
        "version": __version__,
        "text": "public" if options["is_public"] else "private",
        "level": options["level"],
        "detectors": [one.name for one in detectors],
        "policies": [one.as_dict() for one in measured],
        **_shares(measured),
    }
    if output:
        with for_the_owner_alone(), open_text(output) as out:
            json.dump(result, out, indent=2, ensure_ascii=False)
            out.write("\n")
    if options["is_public"]:
        click.echo("\n".join(_table(result["policies"])), err=output == "-")
    if output not in (None, "-"):
        click.echo(f"{len(policies)} policies measured -> {output}", err=True)


def _shares(measured: Sequence[Any]) -> dict[str, Any]:
    """Return the shares that `genie-dp private train crt --report` reads, of pi and pi_c.

    Gamma is what differs by pi. A row is public if neither policy takes anything of it, which is
    what pi_c alone says where it takes all that pi takes.
    """
    named = {one.policy.name: one for one in measured}
    pi, conservative = named.get("pi"), named.get("pi_c")
    if pi is None or conservative is None:
        return {}
    if conservative.policy.threshold > pi.policy.threshold:
        return {}
    return {
        "gamma": pi.differs.as_dict(),
        "missed_by_both": conservative.exposed.as_dict(),
    }


def _policies(named: Sequence[str]) -> list[Any]:
    from genie_dp.private.redact.spans import Policy

    out = []
    for one in named or ("pi=0.5", "pi_c=0.1"):
        name, score = pair_of(one, "--policy", "pi=0.5")
        try:
            out.append(Policy(name, float(score)))
        except ValueError:
            raise click.BadParameter(
                f"expected NAME=SCORE, got {one!r}", param_hint="--policy"
            ) from None
    if len({one.name for one in out}) < len(out):
        raise click.BadParameter("two policies of one name", param_hint="--policy")
    return out


_COLUMNS = ("recall", "gamma", "differs", "precision", "letters", "exact", "exposed")


def _table(policies: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines that are printed: a policy a line, then its recall by kind."""
    yield f"{'policy':<12}" + "".join(f"{name:>24}" for name in _COLUMNS)
    for one in policies:
        yield f"{one['name']:<12}" + "".join(f"{_shown(one[name]):>24}" for name in _COLUMNS)
    yield ""
    kinds = list(policies[0]["recall_by_kind"])
    yield f"{'recall of':<12}" + "".join(f"{one['name']:>24}" for one in policies)
    for kind in kinds:
        shown = "".join(f"{_shown(one['recall_by_kind'][kind]):>24}" for one in policies)
        yield f"{kind:<12}{shown}"


def _shown(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return "–"
    return f"{rate['value']:.3f} ({rate['low']:.3f}–{rate['high']:.3f})"
