"""`genie-dp data paraphrase select`: the sentences that people are asked to say in other words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import grammar_option, library_options, output_option, settings_options
from genie_dp.paraphrase.config import SelectConfig, SelectionRate


class RateType(click.ParamType[Any]):
    """`N` sentences of each signature, or one of `N%` of the signatures."""

    name = "n|%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a SelectionRate."""
        text = str(value)
        try:
            if text.endswith("%"):
                return SelectionRate(1, float(text[:-1]) / 100)
            return SelectionRate(int(text))
        except ValueError:
            self.fail(
                f"{value!r} is neither a number such as 20 nor a share such as 5%", param, ctx
            )


_RATES = {
    "query": "per-query", "action": "per-action", "easy_pair": "easy-pairs",
    "mixed_pair": "mixed-pairs", "other_pair": "other-pairs", "triple": "triples",
}  # fmt: skip
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FILES = ("easy", "hard", "leave_out", "categories", "constants")


@click.command("select")
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@library_options
@grammar_option
@settings_options(
    SelectConfig,
    names={**_RATES, "subsets": "subset"},
    types={**dict.fromkeys(_RATES, RateType()), **dict.fromkeys(_FILES, _FILE)},
)
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@output_option("Where the chosen rows go, as JSON lines.")
def command(
    *,
    rows: tuple[str, ...],
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    overwrite: bool,
    output: str,
) -> None:
    """Choose synthesized sentences to paraphrase, and put example values in.

    ROWS are files or URLs of synthesized rows, as JSON lines, TSV or Parquet. The choice does not
    depend on their order.

    \b
    genie-dp data paraphrase select pairs.jsonl --easy easy.txt --output chosen.jsonl
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show, told_private
    from genie_dp.paraphrase.select import run
    from genie_dp.run.stage import Output

    private = told_private(rows)
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    output_file = Output(output, overwrite=overwrite)
    show(run(SelectConfig(**settings), rows, inputs, output_file, private=private, progress=True))
