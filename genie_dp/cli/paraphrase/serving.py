"""One serving of paraphrase tasks: from options to a page, until somebody stops it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.output import told_private
from genie_dp.cli.paraphrase.check_options import checks_of
from genie_dp.cli.paraphrase.collection import rows_by_id
from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.shown import Shown
from genie_dp.paraphrase.tasks import paraphrase_tasks
from genie_dp.serve.answer_store import AnswerStore, Asked, Sizes, open_store
from genie_dp.serve.hosts import address_of, is_loopback, listen, rule_for
from genie_dp.serve.identity import Signer
from genie_dp.serve.run import check_serve, serve
from genie_dp.serve.writing import worker_name


def run(options: Mapping[str, Any]) -> None:
    """Read, listen, say where, and serve."""
    check_serve()
    from genie_dp.serve.paraphrase_app import PageConfig, paraphrase_app

    host = options["host"]
    config = PageConfig(
        people=options["workers"], worker=_worker(options["worker"]), checks=checks_of(options)
    )
    told_private([options["sentences_file"]])
    rows = rows_by_id(options["sentences_file"])
    if not rows:
        message = f"{options['sentences_file']} has no sentences"
        raise GenieError(Problem("P205", message, hint="see genie-dp paraphrase select"))
    with listen(host, options["port"]) as bound:
        store = open_store(Path(options["database"]), asked_of(rows.values()), _sizes(options))
        try:
            is_open = not is_loopback(host)
            app = paraphrase_app(
                store,
                rows,
                config,
                hosts=rule_for(host, options["allow_host"]),
                needs_token=is_open,
            )
            _say(store, options["database"], _address(address_of(bound, host), store, is_open))
            serve(app, bound)
        except KeyboardInterrupt:
            pass
        finally:
            sentences, answers, workers = store.counts()
            store.close()
    click.echo(_counted(answers, workers) + f" in {options['database']}", err=True)


def asked_of(rows: Iterable[Shown]) -> list[Asked]:
    """Return sentences as tasks hold them, with the cells of `paraphrase hits`."""
    return [
        Asked(task["id1"], task["sentence1"], task["data1"])
        for task in paraphrase_tasks(rows, sentences=1)
    ]


def _worker(typed: str | None) -> str | None:
    if typed is None:
        return None
    name = worker_name(typed)
    if name is None:
        raise click.UsageError("--worker must be a name that begins with a letter or a digit")
    return name


def _sizes(options: Mapping[str, Any]) -> Sizes | None:
    """Return the sizes that were asked for; one alone goes with the usual other one."""
    sentences, paraphrases = options["sentences"], options["paraphrases"]
    if sentences is None and paraphrases is None:
        return None
    return Sizes(sentences or 4, paraphrases or 2)


def _address(address: str, store: AnswerStore, is_open: bool) -> str:
    return f"{address}?token={Signer(store.secret).access_token()}" if is_open else address


def _say(store: AnswerStore, database: str, address: str) -> None:
    sentences, answers, workers = store.counts()
    if "?token=" in address:
        click.echo(
            "warning: others in the network can reach this page. Whoever has the address with its "
            "token can write\nunder any name; it is sent unencrypted, so use it only in a network "
            "that you trust, or behind a proxy with TLS.",
            err=True,
        )
    click.echo(f"{sentences:,} sentences, {_counted(answers, workers)} in {database}", err=True)
    click.echo(f"open {address} (Ctrl+C ends)", err=True)


def _counted(answers: int, workers: int) -> str:
    return (
        f"{answers:,} {'answer' if answers == 1 else 'answers'} of {workers:,} "
        f"{'person' if workers == 1 else 'people'}"
    )
