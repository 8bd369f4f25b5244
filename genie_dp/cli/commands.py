"""Tables of commands: import path, help line, and the options that `--help` shows.

They are separate from the commands so that `genie-dp --help` imports none of them;
tests/cli/test_cli.py compares the two. `--help` shows at most twelve options of a command,
`--help-all` the others.
"""

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command of a group.

    Attributes:
        place: "module:attribute" of a click command or of a stage.
        help: one line, as the help of the group lists it.
        shown: names of the optional options that `--help` shows; all if empty.
    """

    place: str
    help: str
    shown: str = ""

    @property
    def is_group(self) -> bool:
        """Return whether it is a group of less frequent commands."""
        return self.place in {"genie_dp.cli:data", "genie_dp.cli:grammar"}


COMMANDS: Mapping[str, CommandEntry] = {
    "new": CommandEntry(
        "genie_dp.cli.new:command", "Write the skeleton of a project, a skill or a grammar."
    ),
    "check": CommandEntry(
        "genie_dp.cli.check:command",
        "Find the mistakes in skills and template files.",
        "skills grammar",
    ),
    "run": CommandEntry(
        "genie_dp.cli.project:command",
        "Make the stages of a project: only those that changed.",
        "list force jobs watch",
    ),
    "synthesize": CommandEntry(
        "genie_dp.synthesis.config:Synthesize",
        "Make (utterance, program) pairs from a skill library and template files.",
        "size max-depth skills grammar prior seed jobs output",
    ),
    "train": CommandEntry(
        "genie_dp.parser.recipe:Train",
        "Train a parser on rows of synthesize, paraphrase, augment and people.",
        "validation steps minutes start seed device jobs resume",
    ),
    "parse": CommandEntry(
        "genie_dp.cli.parse:command",
        "Show the programs of sentences, with their meaning in English.",
        "parser input count json skills grammar",
    ),
    "evaluate": CommandEntry(
        "genie_dp.cli.evaluate:command",
        "Measure predicted programs against the right ones.",
        "parser compare skills report output",
    ),
    "serve": CommandEntry(
        "genie_dp.cli.serve:command",
        "Answer sentences with programs: over HTTP, and on a page to try it.",
        "api stdio host port grammar",
    ),
    "private": CommandEntry(
        "genie_dp.cli.private:group",
        "Learn from private rows with differential privacy, within a budget.",
    ),
    "data": CommandEntry(
        "genie_dp.cli:data", "Make training rows of sentences, change them, and look at them."
    ),
    "grammar": CommandEntry("genie_dp.cli:grammar", "Work on skills, templates and programs."),
}

DATA: Mapping[str, CommandEntry] = {
    "paraphrase": CommandEntry(
        "genie_dp.cli:paraphrase",
        "Choose sentences, have them paraphrased, and check the paraphrases.",
    ),
    "augment": CommandEntry(
        "genie_dp.augment.config:Augment",
        "Make many rows of each row: values for placeholders, other words, noise.",
        "skills values locale prior seed jobs output",
    ),
    "split": CommandEntry(
        "genie_dp.dataset.split:Split",
        "Split rows into parts for training and evaluation.",
        "by part seed output",
    ),
    "stats": CommandEntry(
        "genie_dp.dataset.stats:Stats", "Count what a data set is made of.", "skills html output"
    ),
    "diff": CommandEntry(
        "genie_dp.dataset.diff:Diff",
        "Say what is different between two data sets.",
        "show html output",
    ),
    "convert": CommandEntry(
        "genie_dp.dataset.convert:Convert",
        "Convert rows from one format to another.",
        "from to skills part rejects",
    ),
    "merge": CommandEntry(
        "genie_dp.synthesis.merge:Merge", "Join the shards of one synthesis run."
    ),
    "calibrate": CommandEntry(
        "genie_dp.parser.calibrate:Calibrate",
        "Fit the confidence of a finished parser to real sentences.",
    ),
}

PARAPHRASE: Mapping[str, CommandEntry] = {
    "select": CommandEntry(
        "genie_dp.paraphrase.select:ParaphraseSelection",
        "Choose synthesized sentences to paraphrase, and put example values in.",
        "easy-pairs seed output",
    ),
    "hits": CommandEntry(
        "genie_dp.paraphrase.tasks:ParaphraseTasks",
        "Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.",
        "sentences paraphrases page output",
    ),
    "serve": CommandEntry(
        "genie_dp.serve.paraphrases:ServeTasks",
        "Show paraphrase tasks on a local web page, and keep the answers.",
        "port worker sentences",
    ),
    "export": CommandEntry(
        "genie_dp.serve.paraphrases:ExportAnswers",
        "Write the answers of the local page as results that `collect` reads.",
    ),
    "validate-hits": CommandEntry(
        "genie_dp.paraphrase.tasks:ValidationTasks",
        "Write validation tasks: which paraphrases mean the same as the sentence?",
        "page output",
    ),
    "collect": CommandEntry(
        "genie_dp.paraphrase.collect:Collect",
        "Check the results of workers, and write the good paraphrases as rows.",
        "votes rejects report output",
    ),
    "auto": CommandEntry(
        "genie_dp.paraphrase.run:Paraphrase",
        "Paraphrase rows automatically.",
        "by number rules model seed parser output",
    ),
}

GRAMMAR: Mapping[str, CommandEntry] = {
    "import": CommandEntry(
        "genie_dp.cli.import_:command",
        "Make a project of tools or intents that are described elsewhere.",
        "kind locale only",
    ),
    "explain": CommandEntry(
        "genie_dp.cli.explain:command",
        "Show how the templates derive a sentence, or what is missing.",
        "skills grammar file",
    ),
    "coverage": CommandEntry(
        "genie_dp.cli.coverage:command",
        "Show which sentences the templates derive, and the gaps of the others.",
        "skills grammar misses html jobs",
    ),
    "describe": CommandEntry(
        "genie_dp.synthesis.describe_stage:Describe",
        "Say in English what a program does, by the templates of synthesis.",
        "input skills grammar",
    ),
    "format": CommandEntry(
        "genie_dp.templates.format:Format",
        "Lay out template files, and write them shorter.",
        "check diff skills grammar",
    ),
    "program": CommandEntry(
        "genie_dp.cli.program:command",
        "Check programs, and bring them into another form.",
    ),
    "editor": CommandEntry(
        "genie_dp.cli.editor:command",
        "Answer an editor: mistakes, completion, hover, definitions, renaming, layout.",
    ),
}

# Names from before the groups, to be removed in the next version.
MOVED: Mapping[str, str] = {
    **{name: f"data {name}" for name in DATA},
    **{name: f"grammar {name}" for name in GRAMMAR},
}
