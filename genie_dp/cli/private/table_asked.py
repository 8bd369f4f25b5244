"""Options of `genie-dp private table release` for columns that a trusted model fills."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from genie_dp.private.tables.extractor_endpoint import TrustedModel
    from genie_dp.private.tables.schema import Schema

Command = Callable[..., Any]
_NEEDED = ("base_url", "model")
_ALL = (*_NEEDED, "key_variable", "at_once", "trusted_endpoint")
KEY_VARIABLE, AT_ONCE = "OPENAI_API_KEY", 4


def asking_options(command: Command) -> Command:
    """Add the options of a model that may read private rows."""
    options = (
        click.option("--ask", multiple=True, metavar="COLUMN",
                     help="Have a language model say this column of each row; needs a "
                     "--trusted-endpoint. May be repeated."),
        click.option("--trusted-endpoint", is_flag=True,
                     help="The service of --base-url is inside your boundary of trust: it is sent "
                     "private rows."),
        click.option("--base-url", metavar="URL",
                     help="OpenAI-compatible service, such as http://localhost:8000/v1."),
        click.option("--model", metavar="NAME", help="The service's name of the model."),
        click.option("--key-variable", metavar="NAME",
                     help=f"Environment variable that holds the service's key [{KEY_VARIABLE}]."),
        click.option("--at-once", type=click.IntRange(1), metavar="N",
                     help=f"Requests under way at one time [{AT_ONCE}]."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def check_asking(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of a model without a column, or a column without its model."""
    for name in _ALL:
        if options[name] and not options["ask"]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --ask")
    for name in _NEEDED:
        if options["ask"] and not options[name]:
            raise click.UsageError(f"--ask needs --{name.replace('_', '-')}")


def model_of(options: Mapping[str, Any], schema: "Schema") -> "TrustedModel | None":
    """Return the model that fills columns, None where none is asked.

    Raises:
        GenieError: T504, there is no such column; P150, no address; U509, nobody said that the
            service is trusted, or rows would travel in the clear.
    """
    if not options["ask"]:
        return None
    from genie_dp.paraphrase.endpoint_client import Client, Service
    from genie_dp.private.tables.extractor_endpoint import trusted

    columns = [schema.columns[place] for place in schema.places(options["ask"])]
    key = os.environ.get(options["key_variable"] or KEY_VARIABLE, "")
    service = Service(options["base_url"], options["model"], key=key, temperature=0.0)
    return trusted(
        Client(service),
        columns,
        is_trusted=options["trusted_endpoint"],
        at_once=options["at_once"] or AT_ONCE,
    )
