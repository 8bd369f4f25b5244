"""Serving paraphrase tasks as a stage, and exporting the answers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.checks import check_config_of
from genie_dp.paraphrase.config import ServeConfig
from genie_dp.paraphrase.shown import ShownRow, read_shown_by_id
from genie_dp.paraphrase.tables import guard_formula, write_table
from genie_dp.paraphrase.tasks import PARAPHRASES, SENTENCES, paraphrase_tasks
from genie_dp.recipe import REQUIRED, setting
from genie_dp.run.files import refuse_overlap
from genie_dp.run.stage import Output, Result, tell
from genie_dp.serve.answer_store import (
    Sizes,
    TaskSentence,
    open_store,
    read_store,
    result_columns,
    results,
)
from genie_dp.serve.hosts import address_of, is_loopback, listen, rule_for
from genie_dp.serve.identity import Signer
from genie_dp.serve.run import check_serve, serve
from genie_dp.serve.writing import worker_name
from genie_dp.stage.kernel import OutputOption, Stage

_WRITTEN = ("Answer.", "Input.sentence")  # columns with what people and rows say
_OPEN_WARNING = """\
warning: others in the network can reach this page. Whoever has the address with its token can write
under any name; it is sent unencrypted, so use it only in a network that you trust, or behind a \
proxy with TLS."""


@dataclass(frozen=True, slots=True)
class ServeResult(Result):
    """The contents of a database after serving."""

    database: str
    answers: int
    workers: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield f"{_count_answers(self.answers, self.workers)} in {self.database}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeTasks(Stage):
    """Show paraphrase tasks on a local web page, and keep the answers.

    CHOSEN is the output of `genie-dp data paraphrase select`. Every answer is on disk before the
    next sentence is shown; `genie-dp data paraphrase export` makes the results that `collect`
    reads.

    \b
    genie-dp data paraphrase serve chosen.jsonl --database answers.sqlite
    """

    command = "paraphrase serve"

    chosen: str = setting(
        REQUIRED, "The rows to be shown.", value="rows", is_argument=True, metavar="CHOSEN"
    )
    database: str = setting(
        REQUIRED,
        "Where answers go; if it is there, everybody goes on where they stopped.",
        metavar="SQLITE",
    )
    config: ServeConfig = setting(
        ServeConfig(), "Where the page is, and what it asks.", value="settings"
    )

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse checks that do not go together, and a worker's name that is none."""
        worker = self.config.worker
        if worker is not None and worker_name(worker) is None:
            return "--worker must be a name that begins with a letter or a digit"
        return self.config.conflict()

    def run(self, output: Output, *, progress: bool | None = None) -> ServeResult:
        """Show the tasks until somebody stops it.

        Raises:
            GenieError: a library that serves is missing (P200), no sentences (P205), or the
                database is of other rows or sizes.
        """
        check_serve()
        from genie_dp.serve.paraphrase_app import PageConfig, paraphrase_app

        config = self.config
        worker = None if config.worker is None else worker_name(config.worker)
        page = PageConfig(people=config.workers, worker=worker, checks=check_config_of(config))
        rows = read_shown_by_id(self.chosen)
        if not rows:
            hint = "see genie-dp data paraphrase select"
            raise GenieError(Problem("P205", f"{self.chosen} has no sentences", hint=hint))
        sizes = None  # those of the database; one alone goes with the usual other one
        if config.sentences is not None or config.paraphrases is not None:
            sizes = Sizes(config.sentences or SENTENCES, config.paraphrases or PARAPHRASES)
        host = config.host
        with listen(host, config.port) as bound:
            store = open_store(Path(self.database), sentences_to_ask(rows.values()), sizes)
            try:
                needs_token = not is_loopback(host)
                hosts = rule_for(host, config.allow_hosts)
                app = paraphrase_app(store, rows, page, hosts=hosts, needs_token=needs_token)
                address = address_of(bound, host)
                if needs_token:
                    address += f"?token={Signer(store.secret).access_token()}"
                    tell(_OPEN_WARNING, show=progress)
                sentences, answers, workers = store.counts()
                stored = f"{_count_answers(answers, workers)} in {self.database}"
                tell(f"{sentences:,} sentences, {stored}", show=progress)
                tell(f"open {address} (Ctrl+C ends)", show=progress)
                serve(app, bound)
            except KeyboardInterrupt:
                pass
            finally:
                _, answers, workers = store.counts()
                store.close()
        return ServeResult(self.database, answers, workers)


def sentences_to_ask(rows: Iterable[ShownRow]) -> list[TaskSentence]:
    """Return sentences as tasks hold them, with the cells of `paraphrase hits`."""
    return [
        TaskSentence(task["id1"], task["sentence1"], task["data1"])
        for task in paraphrase_tasks(rows, sentences=1)
    ]


def _count_answers(answers: int, workers: int) -> str:
    return (
        f"{answers:,} {'answer' if answers == 1 else 'answers'} of {workers:,} "
        f"{'person' if workers == 1 else 'people'}"
    )


@dataclass(frozen=True, slots=True)
class ExportResult(Result):
    """The result of an export."""

    output: str
    assignments: int
    answers: int
    workers: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield (
            f"{self.assignments:,} assignments with {self.answers:,} answered sentences of "
            f"{self.workers:,} workers -> {self.place}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportAnswers(Stage):
    """Write the answers of the local page as results that `collect` reads.

    SQLITE is the database of `genie-dp data paraphrase serve`, which may go on meanwhile. The
    columns are those of Mechanical Turk. Sentences that were skipped are left out.

    \b
    genie-dp data paraphrase export answers.sqlite --output results.csv
    """

    command = "paraphrase export"
    output = OutputOption(
        "Where the results go, as CSV.",
        default="-",
        metavar="FILE|URL|-",
        overwrite="Replace the output.",
    )

    database: str = setting(
        REQUIRED, "What `paraphrase serve` keeps.", is_argument=True, metavar="SQLITE"
    )

    def run(self, output: Output, *, progress: bool | None = None) -> ExportResult:
        """Write the results.

        Raises:
            GenieError: a database that is none; an output that is there (Y022) or the database
                (D027).
        """
        refuse_overlap([output.target], [self.database])
        output.refuse_existing()
        store = read_store(Path(self.database))
        try:
            _, answers, workers = store.counts()
            rows = (
                {
                    name: guard_formula(text) if name.startswith(_WRITTEN) else text
                    for name, text in row.items()
                }
                for row in results(store)
            )
            assignments = write_table(output.target, result_columns(store.sizes), rows)
        finally:
            store.close()
        return ExportResult(output.target, assignments, answers, workers)
