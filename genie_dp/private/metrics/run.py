"""A comparison of synthetic rows with real ones as a stage: a table, JSON and a page.

Nothing of private rows may get out by accident: their report is written so that only its owner can
read it, never to a pipe or another machine; no figure is printed, for what is printed ends in logs;
and mistakes in any of the files are told without their text.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import ledger_to_spend, private_of
from genie_dp.private.metrics.compare import (
    ComparedRow,
    Comparison,
    Corpus,
    Parse,
    check,
    compare_corpora,
)
from genie_dp.private.metrics.config import EvaluateConfig, EvaluateInputs
from genie_dp.private.metrics.figures import PRIVATE, PUBLIC, SCHEMA, page, table_lines
from genie_dp.private.metrics.language_model import NgramModel, SentenceModel
from genie_dp.private.metrics.likelihood import (
    NoisyLikelihood,
    open_generators,
    release_likelihoods,
)
from genie_dp.private.metrics.mauve import Featuriser, HashedNgrams, MauveSettings, check_mauve
from genie_dp.private.metrics.measures import Intervals
from genie_dp.private.metrics.programs import ProgramReader
from genie_dp.private.source import PrivateSource
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import check_output, for_owner_alone, open_input_text, open_text
from genie_dp.run.stage import Result, show_progress

OpenParser = Callable[[Path, str], Parse]
"""Reads the parser of a folder, which must write programs of a language."""
_BATCH = 32


@dataclass(frozen=True, slots=True)
class EvaluateResult(Result):
    """How near synthetic rows come to real ones; not differentially private.

    Attributes:
        figures: all of them, as the file has them.
        is_public: whether the real rows are; else the figures are as private as they.
        files: where figures were written.
        released: how likely generators find the real rows, with noise: differentially private.
    """

    figures: Mapping[str, Any] = field(repr=False)
    is_public: bool
    files: tuple[str, ...] = ()
    released: tuple[NoisyLikelihood, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person; no figure is in it."""
        place = f" -> {', '.join(self.files)}" if self.files else ""
        yield f"{_count_files(len(self.figures['synthetic']))} compared{place}"
        if not self.is_public and self.files:
            yield "keep it private: it is not differentially private"
        for likelihood in self.released:
            yield from likelihood.lines()
        if self.released and (spent := self.released[-1].spent):
            yield f"spent so far: epsilon {spent.epsilon:.4g} at delta {spent.delta:g}"

    def table(self) -> Iterator[str]:
        """Yield the figures as text, files side by side."""
        return table_lines(self.figures)


def run(
    config: EvaluateConfig,
    inputs: EvaluateInputs,
    output: str | None = None,
    *,
    load_library: Callable[[], Library],
    open_parser: OpenParser,
    report: str | None = None,
    is_public: bool = False,
    progress: bool | None = None,
) -> EvaluateResult:
    """Compare synthetic rows with real ones that were held out.

    Args:
        config: what is measured.
        inputs: the files.
        output: where the figures go, as JSON; of public rows it may be a URL or "-".
        load_library: reads the functions that programs may use.
        open_parser: reads the parser that the inputs name.
        report: the file of a page with charts.
        is_public: everybody may see the real rows, and so the figures.
        progress: whether to show it; None for on a terminal.

    Raises:
        GenieError: inputs exclude each other (R040), figures of private rows would go elsewhere
            (J008), rows with a ledger are not public (J009), an output is an input (J010), what is
            released is past the ledger's budget (B023), or what is read is no good;
            docs/errors.md has all.
    """
    conflicts = inputs.conflicts(config)
    if is_public and config.spend:
        conflicts.append("--spend is for private rows: figures of public ones cost nothing")
    if conflicts:
        raise GenieError([Problem("R040", text) for text in conflicts])
    ledger = (
        Ledger.open(ledger_to_spend(Path(inputs.real), inputs.ledger)) if config.spend else None
    )
    _check_targets([name for name in (report, output) if name], inputs, is_public=is_public)
    if is_public:
        _refuse_private(inputs.files)
    if config.mauve:
        check_mauve()
    reader = _RowReader(inputs.language, config.utterances_only, is_public, progress)
    names = _short_names([inputs.real, *inputs.synthetic])
    real, *synthetic = [Corpus(name, tuple(reader.rows(file))) for name, file in names]
    programs, parse = None, None
    if not config.utterances_only:
        programs = ProgramReader(get_language(inputs.language), load_library())
        if inputs.parser:
            # Of private rows a bar would tell how many there are.
            show = progress if is_public else False
            parse = _in_batches(open_parser(inputs.parser, inputs.language), show=show)
    featuriser, model = _open_models(inputs, reader)
    generators = open_generators(inputs.generators, language=inputs.language)
    comparison = Comparison(
        programs=programs,
        featuriser=featuriser if config.mauve else None,
        model=model,
        parse=parse,
        generators=tuple(scorer for _, scorer in generators),
        rows=config.rows or 0,
        intervals=Intervals(config.seed),
        mauve=MauveSettings(config.buckets or 0, config.mauve_runs, config.seed),
        is_public=is_public,
        seed=config.seed,
    )
    check(real, synthetic, comparison)
    if progress:
        files = _count_files(len(synthetic))
        print(f"comparing {files} with {real.name} ..", file=sys.stderr, flush=True)  # noqa: T201
    figures = {
        **_facts(config, inputs, comparison, real.name),
        **compare_corpora(real, synthetic, comparison),
    }
    with nullcontext() if is_public else for_owner_alone():
        if report:
            with open_text(report) as out:
                out.write(page(figures))
        if output:
            with open_text(output) as out:
                json.dump(figures, out, indent=2, ensure_ascii=False)
                out.write("\n")
    files_written = tuple(name for name in (output, report) if name and name != "-")
    released: tuple[NoisyLikelihood, ...] = ()
    if ledger is not None and config.spend:
        source = PrivateSource.promised(inputs.real, ledger.budget, language=inputs.language)
        released = release_likelihoods(
            generators, source.units, ledger, epsilon=config.spend, most=config.most_nats
        )
    return EvaluateResult(figures, is_public, files_written, released)


def _check_targets(targets: Sequence[str], inputs: EvaluateInputs, *, is_public: bool) -> None:
    for target in targets:
        if not is_public and (target == "-" or "://" in target):
            hint = "name a file beside the private rows"
            message = f"a private report is written to a local file only, got {target}"
            raise GenieError(Problem("J008", message, hint=hint))
        check_output(target)
    taken = {_resolve(file) for file in inputs.files}
    for target in targets:
        if target != "-" and _resolve(target) in taken:
            message = f"{target} is compared, or written already: it would be lost"
            raise GenieError(Problem("J010", message, hint="name another file"))
        taken.add(_resolve(target))


def _resolve(name: str) -> str:
    return name if "://" in name else str(Path(name).resolve())


def _refuse_private(files: Sequence[str]) -> None:
    """Refuse files with a ledger: figures of private rows are private on either side."""
    for file in files:
        if private_of(file):
            message = f"{file} has a ledger, or was made of rows with one: its rows are private"
            hint = "add --keep-private instead of --real-is-public, or name public rows"
            raise GenieError(Problem("J009", message, hint=hint))


def _open_models(
    inputs: EvaluateInputs, reader: "_RowReader"
) -> tuple[Featuriser, SentenceModel | None]:
    if inputs.model:
        from genie_dp.models.device import prepare_torch
        from genie_dp.private.metrics.language_model import HuggingFaceModel

        prepare_torch("cpu")
        both = HuggingFaceModel(inputs.model)
        return both, both
    if not inputs.texts:
        return HashedNgrams(), None
    texts = list(chain.from_iterable(map(reader.texts, inputs.texts)))
    if not texts:
        message = f"{', '.join(inputs.texts)} holds no sentences"
        raise GenieError(Problem("J004", message, hint="name a file with sentences"))
    return HashedNgrams(), NgramModel(texts)


def _in_batches(parse: Parse, *, show: bool | None) -> Parse:
    """Return a parser that shows how far it is."""

    def parse_all(utterances: Sequence[str]) -> list[str]:
        batches = [utterances[i : i + _BATCH] for i in range(0, len(utterances), _BATCH)]
        if show is False:
            return [program for batch in batches for program in parse(batch)]
        shown_batches = show_progress(batches, label="sentences", total=len(batches), show=show)
        return [program for batch in shown_batches for program in parse(batch)]

    return parse_all


# ----------------------------------------------------------------------------------------- files


def _short_names(files: Sequence[str]) -> list[tuple[str, str]]:
    """Return files under the names they are shown by: short ones, where these differ."""
    short = [Path(file).name for file in files]
    return [
        (name if short.count(name) == 1 else file, file)
        for name, file in zip(short, files, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads public rows with progress, private ones without a word of them."""

    language: str
    utterances_only: bool
    is_public: bool
    progress: bool | None

    def rows(self, file: str) -> Iterator[ComparedRow]:
        if not self.is_public:
            return self._private_rows(file)
        return self._public_rows(file, "" if self.utterances_only else self.language)

    def _public_rows(self, file: str, language: str) -> Iterator[ComparedRow]:
        """Yield the rows of a public file, in `language`, "" for any."""
        says_language = format_of(file) != "tsv"
        rows = show_progress(read_rows(file), label=Path(file).name, show=self.progress)
        for number, row in enumerate(rows, 1):
            if says_language and language and row.program and row.language != language:
                message = f"row {number} of {file} is {row.language}, expected {language}"
                hint = f"add --language {row.language}, or name other files"
                raise GenieError(Problem("J007", message, hint=hint))
            yield ComparedRow(" ".join(row.utterance.split()), row.program)

    def _private_rows(self, file: str) -> Iterator[ComparedRow]:
        """Yield the rows of a file whose text no message may show.

        A SYNTHETIC file may be a part of the private rows, put beside the others as what is at best
        to be reached; so all are read so.
        """
        source = PrivateSource.open(Path(file), language=self.language, unit="utterance")
        for unit in source.units:
            for row in unit:
                yield ComparedRow(" ".join(row.utterance.split()), row.program or "")

    def texts(self, file: str) -> Iterator[str]:
        """Yield the sentences of rows, or the lines of a .txt."""
        if _is_text(file):
            with open_input_text(file) as lines:
                yield from (line for line in lines if line.strip())
            return
        rows = self._public_rows(file, "") if self.is_public else self._private_rows(file)
        yield from (row.utterance for row in rows)


def _is_text(file: str) -> bool:
    """Tell whether a file holds sentences, line by line.

    >>> _is_text("a.txt"), _is_text("a.txt.gz"), _is_text("a.jsonl.gz")
    (True, True, False)
    """
    return ".txt" in Path(file).suffixes[-2:]


# --------------------------------------------------------------------------------------- results


def _facts(
    config: EvaluateConfig, inputs: EvaluateInputs, comparison: Comparison, real: str
) -> dict[str, Any]:
    """Return what the figures say of how they were made."""
    is_public = comparison.is_public
    title = config.title or f"Synthetic rows against {real}"
    return {
        "schema": SCHEMA,
        "privacy": {
            "real": "public" if is_public else "private",
            "is_differentially_private": False,
            "statement": PUBLIC if is_public else PRIVATE,
        },
        "version": __version__,
        "title": title if is_public else f"PRIVATE: {title}",
        "language": inputs.language,
        "parser": str(inputs.parser) if inputs.parser else None,
        "seed": config.seed,
        "intervals": {
            "draws": comparison.intervals.draws,
            "level": comparison.intervals.level,
        },
        "mauve_runs": comparison.mauve.runs,
    }


def _count_files(count: int) -> str:
    return f"{count} {'file' if count == 1 else 'files'}"
