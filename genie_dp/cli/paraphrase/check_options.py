"""The options of the checks of paraphrases."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from genie_dp.cli.options import Finite

Command = TypeVar("Command", bound=Callable[..., Any])


def check_options(command: Command) -> Command:
    """Add --bad and --of, and the options of `limit_options`."""
    for option in reversed(
        (
            click.option(
                "--bad", type=click.IntRange(1), default=3, show_default=True,
                help="A worker with so many bad paraphrases is rejected wholly ..",
            ),
            click.option(
                "--of", type=click.IntRange(1), default=8, show_default=True,
                help=".. of so many; of more the same share.",
            ),
            limit_options,
        )
    ):  # fmt: skip
        command = option(command)
    return command


def limit_options(command: Command) -> Command:
    """Add --copy-distance, --duplicate-distance, --any-language, --language-model."""
    for option in reversed(
        (
            click.option(
                "--copy-distance", type=Finite(0, 1), default=0.1, show_default=True,
                help="Edits over length under which a paraphrase is a copy.",
            ),
            click.option(
                "--duplicate-distance", type=Finite(0, 1), default=0.1, show_default=True,
                help="The same for two paraphrases of a sentence.",
            ),
            click.option("--any-language", is_flag=True, help="Do not ask for English."),
            click.option(
                "--language-model", is_flag=True,
                help="Ask py3langid about sentences with unknown words.",
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def config_of(options: Mapping[str, Any]) -> Any:
    """Return the CollectConfig of the options, or raise GenieError for what is not installed."""
    from genie_dp.paraphrase.collect import CollectConfig

    if options["bad"] > options["of"]:
        raise click.UsageError("--bad must not be more than --of")
    return CollectConfig(options["bad"], options["of"], checks_of(options))


def checks_of(options: Mapping[str, Any]) -> Any:
    """Return the CheckConfig of the options, or raise GenieError for what is not installed."""
    from genie_dp.paraphrase.checks import CheckConfig
    from genie_dp.paraphrase.english_share import LanguageCheck, check_language_model

    if options["any_language"] and options["language_model"]:
        raise click.UsageError("--any-language and --language-model exclude each other")
    if options["language_model"]:
        check_language_model()
    language = (
        None if options["any_language"] else LanguageCheck(asks_model=options["language_model"])
    )
    return CheckConfig(
        copy_distance=options["copy_distance"],
        duplicate_distance=options["duplicate_distance"],
        language=language,
    )
