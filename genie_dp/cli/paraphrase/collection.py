"""One collection: from results of batches to rows, rejects, reviews and a report."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.output import told_private
from genie_dp.cli.paraphrase.canonical import canonical_of
from genie_dp.cli.paraphrase.check_options import config_of
from genie_dp.cli.paraphrase.results import (
    Results,
    answers_of,
    read_results,
    review_columns,
    reviewed,
    votes_of,
)
from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.collect import REASONS, CollectConfig, Collected, collect, rows_of
from genie_dp.paraphrase.shown import Shown
from genie_dp.paraphrase.shown_rows import read_shown
from genie_dp.paraphrase.tables import guarded, write_table
from genie_dp.paraphrase.votes import Counted, VoteConfig, apply_votes, count_votes
from genie_dp.rows import check_parquet, format_of, to_json, write_rows
from genie_dp.run.files import refuse_existing, refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json

_OUTPUTS = ("output", "rejects", "review", "review_votes", "report")
REJECT_COLUMNS = ("id", "row", "sentence", "paraphrase", "reasons", "messages")


def run(options: Mapping[str, Any]) -> None:
    """Read, check, write, and say what came of it."""
    read = (*options["results"], *options["votes"], options["chosen"])
    refuse_overlap((options[name] for name in _OUTPUTS), read)
    for name in _OUTPUTS:
        if options[name]:
            refuse_existing(options[name], overwrite=options["overwrite"])
    if options["review_votes"] and not options["votes"]:
        raise click.UsageError("--review-votes needs --votes")
    if format_of(options["output"]) == "parquet":
        check_parquet()
    config = config_of(options)
    private = told_private([options["chosen"]])
    rows = rows_by_id(options["chosen"])
    results = read_results(options["results"])
    collected = collect(answers_of(results, rows), rows, config)
    votes = _Votes.of(options, collected)
    if votes is not None:
        collected = apply_votes(collected, votes.counted, votes.config)
    _write_rows(options, collected)
    _write_rejects(options, collected, results, votes)
    report = _report(options, rows, results, collected, config, votes)
    for target in (options["report"], _manifest(options["output"])):
        if target:
            write_json(target, {**report, **private})
    _say(options["output"], report)


def rows_by_id(path: str) -> dict[str, Shown]:
    """Return the rows that were shown by their ids; P008 for two of one id."""
    found: dict[str, Shown] = {}
    for shown in read_shown(path):
        if shown.example.id in found:
            message = f"{path}: two rows have the id {shown.example.id!r}"
            raise GenieError(Problem("P008", message))
        found[shown.example.id] = shown
    return found


class _Votes:
    """The results of validation tasks, counted."""

    def __init__(self, results: Results, counted: Counted, config: VoteConfig):
        self.results = results
        self.counted = counted
        self.config = config

    @classmethod
    def of(cls, options: Mapping[str, Any], collected: Collected) -> "_Votes | None":
        if not options["votes"]:
            return None
        config = VoteConfig(options["threshold"], options["wrong_controls"])
        results = read_results(options["votes"])
        known = {judged.answer.id for judged in collected.judged}
        return cls(results, count_votes(votes_of(results, known), config), config)


# --------------------------------------------------------------------------------- outputs


def _write_rows(options: Mapping[str, Any], collected: Collected) -> None:
    rows = rows_of(collected.accepted, canonical_of(options))
    lines = (to_json(row) + "\n" for row in rows)
    write_rows(lines, "jsonl", options["output"], format_of(options["output"]))


def _write_rejects(
    options: Mapping[str, Any], collected: Collected, results: Results, votes: _Votes | None
) -> None:
    if options["rejects"]:
        rows = (
            {
                "id": judged.answer.id,
                "row": judged.answer.row,
                "sentence": guarded(judged.shown.sentence),
                "paraphrase": guarded(judged.answer.typed),
                "reasons": " ".join(judged.names),
                "messages": " ".join(fault.message for fault in judged.faults),
            }
            for judged in collected.rejected
        )
        write_table(options["rejects"], REJECT_COLUMNS, rows)
    if options["review"]:
        why = _why_rejected(collected)
        write_table(options["review"], review_columns(results), reviewed(results, why))
    if options["review_votes"] and votes is not None:
        text = "Sentences that are surely the same, or surely different, were judged otherwise."
        why = dict.fromkeys(sorted(votes.counted.discarded), text)
        columns = review_columns(votes.results)
        write_table(options["review_votes"], columns, reviewed(votes.results, why))


def _why_rejected(collected: Collected) -> dict[str, str]:
    """Return what to tell each rejected worker, by assignment."""
    faults: dict[str, Counter[str]] = {}
    for judged in collected.judged:
        counts = faults.setdefault(judged.answer.worker, Counter())
        counts.update({REASONS[fault.name]: 1 for fault in judged.faults[:1]})
    found = {}
    for judged in collected.judged:
        worker = collected.workers[judged.answer.worker]
        if worker.is_rejected:
            listed = sorted(
                faults[judged.answer.worker].items(), key=lambda item: (-item[1], item[0])
            )
            why = "; ".join(f"{count} x {reason}" for reason, count in listed)
            share = f"{worker.bad} of {worker.written} paraphrases"
            found[judged.answer.assignment] = f"{share} do not follow the instructions: {why}."
    return found


# ---------------------------------------------------------------------------------- report


def _manifest(output: str) -> str:
    return "" if output == "-" else manifest_of(output)


def _report(
    options: Mapping[str, Any],
    rows: Mapping[str, Shown],
    results: Results,
    collected: Collected,
    config: CollectConfig,
    votes: _Votes | None,
) -> dict[str, Any]:
    reasons = collected.reasons()
    workers = collected.workers.values()
    shown = {judged.answer.row for judged in collected.judged}
    found = {
        "command": "paraphrase collect",
        "version": __version__,
        "results": list(options["results"]),
        "chosen": options["chosen"],
        "hashes": hashes_of((*options["results"], *options["votes"], options["chosen"])),
        "config": {
            "bad": config.bad,
            "of": config.of,
            "copy_distance": config.checks.copy_distance,
            "duplicate_distance": config.checks.duplicate_distance,
            "language": options["language"],
            "any_language": options["any_language"],
            "language_model": options["language_model"],
        },
        "counts": {
            "assignments": len(results.lines),
            "repeated_assignments": results.repeated,
            "rejected_before": results.set_aside,
            "paraphrases": len(collected.judged),
            "accepted": len(collected.accepted),
            "rejected": len(collected.rejected),
            "workers": len(workers),
            "rejected_workers": sum(worker.is_rejected for worker in workers),
            "chosen": len(rows),
            "shown": len(shown),
            "shown_without": len(shown - {j.answer.row for j in collected.accepted}),
        },
        "reasons": {name: reasons[name] for name in REASONS if reasons[name]},
    }
    if votes is not None:
        found["votes"] = {
            "threshold": votes.config.threshold,
            "wrong_controls": votes.config.wrong_controls,
            "assignments": votes.counted.assignments,
            "discarded_assignments": len(votes.counted.discarded),
            "same": sum(votes.counted.same.values()),
            "different": sum(votes.counted.different.values()),
        }
    return found


def _say(output: str, report: Mapping[str, Any]) -> None:
    counts = report["counts"]
    click.echo(
        f"{counts['accepted']:,} of {counts['paraphrases']:,} paraphrases -> "
        f"{'stdout' if output == '-' else output} ({counts['rejected_workers']:,} of "
        f"{counts['workers']:,} workers rejected; {counts['shown_without']:,} of "
        f"{counts['shown']:,} sentences shown have none)",
        err=True,
    )
    for name, count in report["reasons"].items():
        click.echo(f"  {count:>7,}  {name}: {REASONS[name]}", err=True)
    if "votes" in report:
        votes = report["votes"]
        click.echo(
            f"  votes: {votes['same']:,} same, {votes['different']:,} different; "
            f"{votes['discarded_assignments']:,} of {votes['assignments']:,} tasks discarded",
            err=True,
        )
