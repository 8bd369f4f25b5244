"""A comparison of synthetic rows with real ones as a stage: a table, JSON and a page.

Nothing of private rows may get out by accident: their report is written so that only its owner can
read it, never to a pipe or another machine; no figure is printed, for printed text ends in logs;
and mistakes in any of the files are shown without their text.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
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
from genie_dp.private.metrics.config import CompareRows
from genie_dp.private.metrics.figures import PRIVATE, PUBLIC, SCHEMA, page, table_lines
from genie_dp.private.metrics.language_model import NgramModel, SentenceModel
from genie_dp.private.metrics.likelihood import (
    NoisyLikelihood,
    open_generators,
    release_likelihoods,
)
from genie_dp.private.metrics.mauve import Featuriser, HashedNgrams, MauveSettings, check_mauve
from genie_dp.private.metrics.measures import Intervals
from genie_dp.private.metrics.programs import TokenFormReader
from genie_dp.private.source import PrivateSource
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import check_output, for_owner_alone, open_input_text, open_text
from genie_dp.run.stage import Output, Result, show_progress

_BATCH = 32


@dataclass(frozen=True, slots=True)
class ComparisonResult(Result):
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
    output: str | None = None

    def findings(self) -> Iterator[str]:
        """Yield the figures of public rows, unless standard output has them as JSON."""
        if self.is_public and self.output != "-":
            yield from self.table()

    def lines(self) -> Iterator[str]:
        """Yield the figures of public rows, then the files; no figure of private rows."""
        if self.is_public:
            yield from self.table()
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


def run(stage: CompareRows, output: Output, *, progress: bool | None = None) -> ComparisonResult:
    """Compare synthetic rows with real ones that were held out.

    Raises:
        GenieError: figures of private rows would go elsewhere (J008), rows with a ledger are not
            public (J009), an output is an input (J010), the release is past the ledger's budget
            (B023), or an input is invalid; docs/errors.md has all.
    """
    target, report, is_public = output.target or None, stage.report, stage.real_is_public
    ledger = Ledger.open(ledger_to_spend(Path(stage.real), stage.ledger)) if stage.spend else None
    _check_targets([name for name in (report, target) if name], stage)
    if is_public:
        _refuse_private(stage.files)
    if stage.mauve:
        check_mauve()
    reader = _RowReader(stage.language, stage.utterances_only, is_public, progress)
    names = _short_names([stage.real, *stage.synthetic])
    real, *synthetic = [Corpus(name, tuple(reader.rows(file))) for name, file in names]
    generators = open_generators(stage.generators, language=stage.language)
    comparison = _comparison(stage, reader, [scorer for _, scorer in generators], progress)
    check(real, synthetic, comparison)
    if progress:
        files = _count_files(len(synthetic))
        print(f"comparing {files} with {real.name} ..", file=sys.stderr, flush=True)  # noqa: T201
    figures = {
        **_facts(stage, comparison, real.name),
        **compare_corpora(real, synthetic, comparison),
    }
    with nullcontext() if is_public else for_owner_alone():
        if report:
            with open_text(report) as out:
                out.write(page(figures))
        if target:
            with open_text(target) as out:
                json.dump(figures, out, indent=2, ensure_ascii=False)
                out.write("\n")
    files_written = tuple(name for name in (target, report) if name and name != "-")
    released: tuple[NoisyLikelihood, ...] = ()
    if ledger is not None and stage.spend:
        source = PrivateSource.promised(stage.real, ledger.budget, language=stage.language)
        released = release_likelihoods(
            generators, source.units, ledger, epsilon=stage.spend, most=stage.most_nats
        )
    return ComparisonResult(figures, is_public, files_written, released, target)


def _comparison(
    stage: CompareRows, reader: "_RowReader", generators: Sequence[Any], progress: bool | None
) -> Comparison:
    """Return the measurements of rows."""
    programs, parse = None, None
    if not stage.utterances_only:
        programs = TokenFormReader(get_language(stage.language), stage.load_library())
        if stage.parser and stage.open_parser:
            # Of private rows a bar would tell how many there are.
            show = progress if stage.real_is_public else False
            parse = _in_batches(stage.open_parser(stage.parser, stage.language), show=show)
    featuriser, model = _open_models(stage, reader)
    return Comparison(
        programs=programs,
        featuriser=featuriser if stage.mauve else None,
        model=model,
        parse=parse,
        generators=tuple(generators),
        rows=stage.rows or 0,
        intervals=Intervals(stage.seed),
        mauve=MauveSettings(stage.buckets or 0, stage.mauve_runs, stage.seed),
        is_public=stage.real_is_public,
        seed=stage.seed,
    )


def _check_targets(targets: Sequence[str], stage: CompareRows) -> None:
    for target in targets:
        if stage.keep_private and (target == "-" or "://" in target):
            hint = "name a file beside the private rows"
            message = f"a private report is written to a local file only, got {target}"
            raise GenieError(Problem("J008", message, hint=hint))
        check_output(target)
    taken = {_resolve(file) for file in stage.files}
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
    stage: CompareRows, reader: "_RowReader"
) -> tuple[Featuriser, SentenceModel | None]:
    if stage.model:
        from genie_dp.models.device import prepare_torch
        from genie_dp.private.metrics.language_model import HuggingFaceModel

        prepare_torch("cpu")
        both = HuggingFaceModel(stage.model)
        return both, both
    if not stage.texts:
        return HashedNgrams(), None
    texts = list(chain.from_iterable(map(reader.texts, stage.texts)))
    if not texts:
        message = f"{', '.join(stage.texts)} holds no sentences"
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

        A SYNTHETIC file may be a part of the private rows, put beside the others as the upper bound
        of quality; so all are read so.
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
    """Return whether a file holds sentences, line by line.

    >>> _is_text("a.txt"), _is_text("a.txt.gz"), _is_text("a.jsonl.gz")
    (True, True, False)
    """
    return ".txt" in Path(file).suffixes[-2:]


# --------------------------------------------------------------------------------------- results


def _facts(stage: CompareRows, comparison: Comparison, real: str) -> dict[str, Any]:
    """Return the facts about how the figures were made."""
    is_public = comparison.is_public
    title = stage.title or f"Synthetic rows against {real}"
    return {
        "schema": SCHEMA,
        "privacy": {
            "real": "public" if is_public else "private",
            "is_differentially_private": False,
            "statement": PUBLIC if is_public else PRIVATE,
        },
        "version": __version__,
        "title": title if is_public else f"PRIVATE: {title}",
        "language": stage.language,
        "parser": str(stage.parser) if stage.parser else None,
        "seed": stage.seed,
        "intervals": {
            "draws": comparison.intervals.draws,
            "level": comparison.intervals.level,
        },
        "mauve_runs": comparison.mauve.runs,
    }


def _count_files(count: int) -> str:
    return f"{count} {'file' if count == 1 else 'files'}"
