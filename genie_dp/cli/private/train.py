"""`genie-dp private train`: language models of private rows, trained with noise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry
from genie_dp.cli.options import POSITIVE, library_options, paid_resume_options, settings_options
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.generators.config import GeneratorConfig
from genie_dp.private.generators.stages import KINDS

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_KINDS = f"{__name__}:command"
_SHOWN = "epsilon rest ledger public seed device"
TRAININGS: Mapping[str, CommandEntry] = {
    "one-stage": CommandEntry(_KINDS, "Learn utterances, with noise.", _SHOWN),
    "control": CommandEntry(_KINDS, "Learn utterances by what they ask for, with noise.", _SHOWN),
    "two-stage": CommandEntry(
        _KINDS, "Learn programs, and utterances by their programs, with noise.", _SHOWN
    ),
    "crt": CommandEntry(
        "genie_dp.cli.private.crt:command",
        "Train on redacted rows, with noise on the private part alone.",
        "epsilon about redacted-apart public seed device",
    ),
}


class _Trainings(LazyGroup):
    """The trainings: those by kind are one command, which is told its kind; and crt."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a training; that of a kind has the kind as its first argument already."""
        training = super().get_command(ctx, cmd_name)
        if training is None or TRAININGS[cmd_name].place != _KINDS:
            return training
        return _TrainingOfKind(cmd_name, training)


class _TrainingOfKind(click.Command):
    """The command of all kinds, with one of them given."""

    def __init__(self, kind: str, training: click.Command):
        super().__init__(
            kind,
            params=[param for param in training.params if param.name != "kind"],
            callback=training.callback,
            help=training.help,
            epilog=training.epilog,
        )

    def invoke(self, ctx: click.Context) -> object:
        ctx.params["kind"] = self.name
        return super().invoke(ctx)


@click.group("train", cls=_Trainings, table=TRAININGS)
def group() -> None:
    """Train a generator of rows that are like private ones."""


@click.command("train")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, metavar="FOLDER",
    help="Where the generator goes. It appears when it is complete.",
)  # fmt: skip
@click.option("--rest", is_flag=True, help="Instead of --epsilon: use up what is left of the "
              "budget.")  # fmt: skip
@click.option(
    "--about", required=True, type=POSITIVE, metavar="N",
    help="How many units (utterances, dialogues or users) there are, as far as anybody may know.",
)  # fmt: skip
@ledger_option
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Public rows, such as those of synthesize: vocabulary, grammar, and what is learned "
    "before private rows are. May be repeated.",
)  # fmt: skip
@click.option("--no-pretraining", is_flag=True,
              help="Take vocabulary and grammar of the public rows alone.")  # fmt: skip
@click.option(
    "--pretrained", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep there what was learned of public rows, and take it from there in runs with the same "
    "ones, model and seed.",
)  # fmt: skip
@click.option(
    "--public-model", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Write there what the generator is before private rows: genie-dp private audit compares "
    "with it.",
)  # fmt: skip
@click.option(
    "--parser", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A parser, of genie-dp train, that writes the private rows' programs [those of the rows].",
)  # fmt: skip
@library_options
@click.option("--codes", type=_FILE, metavar="FILE",
              help="Control codes, one a line: functions separated by spaces [the functions of the "
              "library and of public rows]. Nothing private.")  # fmt: skip
@click.option("--code-sets", is_flag=True,
              help="Control codes are the sets of functions of public programs.")  # fmt: skip
@click.option(
    "--tied", is_flag=True,
    help="Leave the model's head tied to its embeddings.",
)  # fmt: skip
@settings_options(GeneratorConfig, leave_out=("kind", "about"), names={"lora_rank": "lora"})
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of torch.")
@paid_resume_options
def command(
    *,
    kind: Any,
    private: Path,
    output: str,
    rest: bool,
    about: float,
    ledger: Path | None,
    public: tuple[str, ...],
    no_pretraining: bool,
    pretrained: Path | None,
    public_model: Path | None,
    parser: Path | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    codes: Path | None,
    code_sets: bool,
    tied: bool,
    settings: Mapping[str, Any],
    device: str,
    threads: int,
    resume: bool,
    overwrite: bool,
) -> None:
    """Train a generator of rows that are like private ones.

    one-stage learns utterances; control learns utterances by what they ask for; two-stage learns
    programs, and utterances by their programs. PRIVATE is JSONL or TSV. The noise follows from
    epsilon, delta and the steps of all stages together; the cost is recorded in the ledger before
    the first step, and refused if the budget does not allow it.

    \b
    genie-dp private train two-stage private.jsonl --public pairs.jsonl --about 5000 \\
      --epsilon 3 --output generator
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    """
    config = GeneratorConfig(
        kind=kind, about=about, rest=rest, pretraining=not no_pretraining, code_sets=code_sets,
        tied=tied, **settings,
    )  # fmt: skip
    for message in config.conflicts(has_codes=codes is not None, has_parser=parser is not None):
        raise click.UsageError(message)

    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show
    from genie_dp.parser.parser import BestProgram
    from genie_dp.private.generators.rows import ParserFolder
    from genie_dp.private.generators.run import run
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend
    from genie_dp.run.stage import Output

    book = Ledger.open(ledger_to_spend(private, ledger))
    library = load_library_of(language, skills, skip_broken=skip_broken)
    result = run(
        config, private, book, library, Output(output, resume=resume, overwrite=overwrite),
        language=language, public=public, codes=codes,
        parser=ParserFolder(parser, BestProgram.from_folder) if parser else None,
        pretrained=pretrained, public_model=public_model,
        device=device, threads=threads, progress=True,
    )  # fmt: skip
    show(result)
