"""`genie-dp private train crt`: confidentially redacted training, and what it is compared with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import paid_resume_options, settings_options
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.crt.config import PAID, CrtConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("crt")
@click.argument("rows", type=_FILE)
@click.option(
    "--output", "-o", required=True, metavar="FOLDER",
    help="Where the generator goes. It appears when it is complete.",
)  # fmt: skip
@click.option("--rest", is_flag=True, help="Instead of --epsilon: use up what is left of the "
              "budget.")  # fmt: skip
@ledger_option
@click.option("--report", type=_FILE, metavar="FILE",
              help="Measured shares of secrets that redaction misses.")  # fmt: skip
@settings_options(CrtConfig)
@click.option("--redacted-apart", is_flag=True,
              help="Of rows that genie-dp private redact did not write: say that none was made "
              "from another unit's.")  # fmt: skip
@click.option("--public", multiple=True, metavar="FILE",
              help="More public rows, such as those of synthesize: they join the public part. May "
              "be repeated.")  # fmt: skip
@click.option(
    "--public-model", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Write there what the generator is before its first step on a private row: genie-dp "
    "private audit compares with it.",
)  # fmt: skip
@click.option("--without-guarantee", is_flag=True,
              help="Needed for the baselines: what they learn is not protected.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of torch.")
@paid_resume_options
def command(
    *,
    rows: Path,
    output: str,
    rest: bool,
    ledger: Path | None,
    report: Path | None,
    settings: Mapping[str, Any],
    redacted_apart: bool,
    public: tuple[str, ...],
    public_model: Path | None,
    without_guarantee: bool,
    device: str,
    threads: int,
    resume: bool,
    overwrite: bool,
) -> None:
    """Train on redacted rows, with noise on the private part alone.

    ROWS is what genie-dp private redact wrote: masked utterances, each marked private or public.
    Epochs alternate plain steps on the public part and noisy ones on the private part. The cost for
    private rows is recorded in the ledger before the first step, and what follows for secrets,
    with the measured share that redaction misses, beside it.

    \b
    genie-dp private train crt redacted.jsonl --about 400 --epsilon 3 --report shares.json \\
      --output model
    """
    config = CrtConfig(rest=rest, **settings)
    if config.is_paid:
        _check_paid(config, is_baseline=without_guarantee)
    else:
        if not without_guarantee:
            message = f"{config.method} protects nothing: say so with --without-guarantee"
            raise click.UsageError(message)
        has_cost = config.epsilon is not None or rest or ledger is not None
        _check_baseline(config, has_cost, redacted_apart)
        if public_model is not None:
            message = f"--public-model goes with {' and '.join(PAID)}: {config.method} has no"
            raise click.UsageError(f"{message} steps on public rows alone")
    has_shares = bool(config.gamma or config.delta_2)
    if report and has_shares:
        raise click.UsageError("--report has both shares: leave --gamma and --delta-2 out")
    if has_shares != bool(config.measured_on):
        raise click.UsageError("--gamma and --delta-2 go with --measured-on: where they come from")
    if config.model == "decoder" and config.size % config.heads:
        raise click.UsageError("--size must be a multiple of --heads")

    from genie_dp.cli.output import show
    from genie_dp.private.crt.run import run
    from genie_dp.run.stage import Output

    result = run(
        config, rows, Output(output, resume=resume, overwrite=overwrite),
        ledger=ledger, report=report, said_apart=redacted_apart, public=public,
        public_model=public_model, device=device, threads=threads, progress=True,
    )  # fmt: skip
    show(result)


def _check_paid(config: CrtConfig, *, is_baseline: bool) -> None:
    if (config.epsilon is None) != config.rest:
        raise click.UsageError("give --epsilon, what the run costs, or --rest")
    if config.about is None:
        raise click.UsageError("give --about, roughly how many private units there are")
    if is_baseline:
        raise click.UsageError("--without-guarantee goes with baselines")


def _check_baseline(config: CrtConfig, has_cost: bool, redacted_apart: bool) -> None:
    method = config.method
    if has_cost:
        message = f"{method} has no guarantee: --epsilon, --rest, --ledger go with crt"
        raise click.UsageError(message)
    if redacted_apart:
        raise click.UsageError("--redacted-apart goes with crt and dp: baselines promise nothing")
