"""Automatic paraphrases as a stage: from rows to paraphrases, refused ones and counts."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import xxhash

from genie_dp import __version__
from genie_dp.english.frames import frames_of
from genie_dp.english.rules import rule_set
from genie_dp.english.rules_syntax import RuleFile, parse_rules
from genie_dp.languages.library import Library
from genie_dp.locale import locale_from
from genie_dp.paraphrase.auto import (
    AutoConfig,
    AutoTally,
    Paraphraser,
    RoundTripParser,
    RowParaphrases,
    paraphrase_rows,
)
from genie_dp.paraphrase.checks import CheckConfig, LanguageCheck
from genie_dp.paraphrase.config import TYPED, ParaphraseConfig
from genie_dp.paraphrase.journal import Journal, Usage, open_journal
from genie_dp.paraphrase.lexicons import lexicon_named
from genie_dp.paraphrase.rules import Results, RuleParaphraser, shipped_files
from genie_dp.paraphrase.shown import Parts, RowsFile, canonical_of
from genie_dp.paraphrase.tables import guard_formula, write_table
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, Example
from genie_dp.rows import rows_format, to_json, write_rows
from genie_dp.run.files import refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json
from genie_dp.run.stage import Output, Result, holds_output, show_progress
from genie_dp.run.workers import in_processes
from genie_dp.stage.kernel import OutputOption, Stage, jobs_setting
from genie_dp.synthesis.sentence_hashes import SentenceHashes
from genie_dp.texts import read_text

KEY_VARIABLE = "OPENAI_API_KEY"
_TOKENS, _LEAST_TOKENS = 100, 1024  # of an answer: for each paraphrase, and at least
_TYPED_DISTANCE = 0.1  # as for crowd workers


def checks_of(config: ParaphraseConfig) -> CheckConfig:
    """Return the limits of the checks."""
    typed = config.by in TYPED
    usual = _TYPED_DISTANCE if typed else 0.0
    copy, duplicate = config.copy_distance, config.duplicate_distance
    return CheckConfig(
        copy_distance=usual if copy is None else copy,
        duplicate_distance=usual if duplicate is None else duplicate,
        language=LanguageCheck() if typed and config.is_ours and not config.any_language else None,
    )


def paraphraser_of(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    """Return the paraphraser.

    Raises:
        GenieError: mistakes in rules, lexicon, prompt, model or address.
    """
    makers: Mapping[str, Callable[[ParaphraseConfig, Journal], Paraphraser]] = {
        "rules": _by_rules,
        "lexical": _by_words,
        "model": _by_model,
        "endpoint": _by_endpoint,
    }
    return makers[config.by](config, journal)


def _by_rules(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    share = 0.3 if config.lexical_share is None else config.lexical_share
    lexicon = lexicon_named(config.lexicon or ("shipped" if config.is_ours else "none"))
    results: Results = "all" if config.all_results else "program"
    own = [parse_rules(read_text(path), str(path)) for path in config.rule_files]
    shipped: tuple[RuleFile, ...] = ()
    if not config.only_my_rules:
        frames = frames_of(locale_from(config.locale).words.language)
        shipped = (*shipped_files(), frames.rules)
    return RuleParaphraser(
        rule_set(*shipped, *own), lexicon, config.number, share, config.seed, results,
        frozenset(config.names),
    )  # fmt: skip


def _by_words(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    lexicon = lexicon_named(config.lexicon or "shipped")
    names = frozenset(config.names)
    return RuleParaphraser(None, lexicon, config.number, seed=config.seed, names=names)


def _by_model(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.model import ModelConfig, ModelParaphraser, load_model

    own_settings = _given_settings(config, "model", "device", "batch_size", "temperature")
    prompt = read_text(config.prompt) if config.prompt else ""
    model = ModelConfig(**own_settings, prompt=prompt, seed=config.seed)
    return ModelParaphraser(model, load_model(model), journal, config.number)


def _by_endpoint(config: ParaphraseConfig, journal: Journal) -> Paraphraser:
    from genie_dp.paraphrase.endpoint import (
        PER_PROMPT,
        Client,
        EndpointParaphraser,
        Service,
        shipped_prompt,
    )

    own_settings = _given_settings(
        config, "base_url", "model", "temperature", "retries", "per_minute"
    )
    key = os.environ.get(config.key_variable or KEY_VARIABLE, "")
    prompt = read_text(config.prompt) if config.prompt else shipped_prompt()
    sentences = config.number * (config.per_prompt or PER_PROMPT)
    service = Service(**own_settings, key=key, most_tokens=max(_LEAST_TOKENS, _TOKENS * sentences))
    return EndpointParaphraser(
        Client(service),
        journal,
        prompt,
        config.number,
        **_given_settings(config, "per_prompt", "at_once"),
    )


def _given_settings(config: ParaphraseConfig, *names: str) -> dict[str, Any]:
    values = {name: getattr(config, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


REJECT_COLUMNS = ("row", "sentence", "paraphrase", "made_by", "reasons")
REPEATED, AMBIGUOUS = "repeated", "ambiguous"
_BLOCK = 500  # rows that a worker takes at once
_PAIRS = 10_000  # sentences that are looked up at once
_LEXICONS = ("none", "shipped", "wordnet")  # those that are no files


@dataclass(frozen=True, slots=True)
class ParaphraseResult(Result):
    """The result of a run of paraphrasing.

    Attributes:
        rows: rows that were read.
        paraphrases: of all of them.
        rows_without: rows that have none.
        faults: fault of refused ones -> count.
        usage: the usage of a service; empty for other paraphrasers.
    """

    output: str
    rows: int
    paraphrases: int
    rows_without: int
    seconds: float
    faults: Mapping[str, int]
    usage: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield (
            f"{self.paraphrases:,} paraphrases of {self.rows:,} rows -> {self.place} "
            f"({self.seconds:,.1f} s; {self.rows_without:,} rows have none)"
        )
        for fault, count in sorted(self.faults.items()):
            yield f"  {count:>9,}  left out: {fault}"
        if self.usage:
            cost = f", cost {self.usage['cost']:,.4f}" if "cost" in self.usage else ""
            yield (
                f"  {self.usage['requests']:,} requests: {self.usage['prompt_tokens']:,} tokens of "
                f"prompts, {self.usage['answer_tokens']:,} of answers{cost}"
            )
        yield from self.notes


@dataclass(frozen=True, slots=True)
class ParaphraseBlock:
    """The paraphrases of some rows.

    Attributes:
        lines: paraphrases as JSON, without line ends.
        made_by: the maker of each.
        sentences, programs: hashes of each.
        rejects: rows of the reject file.
    """

    lines: tuple[str, ...]
    made_by: tuple[tuple[str, ...], ...]
    sentences: tuple[int, ...]
    programs: tuple[int, ...]
    rejects: tuple[tuple[str, ...], ...]
    tally: AutoTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Paraphrase(Stage):
    """Paraphrase rows automatically.

    ROWS are files or URLs of synthesized rows (JSON lines, TSV or Parquet), or the output of
    `paraphrase select`; models and services do better with the example values that it puts in.
    Paraphrases that fail the checks of crowd paraphrases, or that have another program already, are
    left out and counted.

    \b
    genie-dp data paraphrase auto pairs.jsonl --number 3 --output paraphrases.jsonl
    genie-dp data paraphrase auto chosen.jsonl --by endpoint \\
        --base-url http://localhost:8000/v1 --model my-model --output paraphrases.jsonl

    Attributes:
        load_predictor: gives a parser that must read a paraphrase as the program of its sentence.
        load_library: gives the skills; only models and services, which see values, need them.
        private: the manifest entries of private rows among the inputs.
    """

    command = "paraphrase auto"
    output = OutputOption(
        "Where the paraphrases go, as JSON lines or, by the name, TSV or Parquet.",
        default="-",
        metavar="FILE|URL|-",
        overwrite="Replace the outputs.",
    )

    inputs: tuple[str, ...] = setting(
        REQUIRED, "Files of rows.", value="rows", is_argument=True, metavar="ROWS..."
    )
    config: ParaphraseConfig = setting(
        ParaphraseConfig(), "What makes the paraphrases.", value="settings"
    )
    jobs: int = jobs_setting()
    answers: str | None = setting(
        None,
        "Where answers are kept for --resume [the output's name, .answers.jsonl].",
        metavar="FILE",
    )
    uses_answers: bool = setting(
        False,
        "Use the answers of an earlier run, with --overwrite as well.",
        option="resume",
        value="flag",
    )
    load_library: Callable[[], Library] = setting(
        REQUIRED, "Skills of the programs.", value="library at need"
    )
    language: str = DEFAULT_LANGUAGE
    load_predictor: Callable[[], RoundTripParser | None] | None = setting(
        None,
        "Keep only what this trained parser reads as the program of the sentence.",
        option="parser",
        value="predictor",
    )
    rejects: str | None = setting(
        None, "Where the refused paraphrases go, with reasons.", metavar="CSV"
    )
    private: Mapping[str, Any] = field(default_factory=dict)

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse settings of another method, and options of a run that do not go with it."""
        by = self.config.by
        if (conflict := self.config.conflict()) or target is None:
            return conflict
        if self.load_predictor is not None and self.jobs > 1:
            return "--parser goes with --jobs 1: its network is in one process"
        if by in TYPED:
            jobs_conflict = f"--jobs does not go with --by {by}; see --batch-size, --at-once"
            return jobs_conflict if self.jobs > 1 else None
        for name, value in (("answers", self.answers), ("resume", self.uses_answers)):
            if value:
                return f"--{name} goes with --by {' or '.join(TYPED)}, not {by}"
        return None

    @holds_output
    def run(self, output: Output, *, progress: bool | None = None) -> ParaphraseResult:
        """Read rows, paraphrase, check and write; the bytes do not depend on `jobs`.

        Raises:
            GenieError: an output that is there (Y022), is an input (D027) or cannot be written;
                mistakes in rules, lexicon, prompt, model or address.
        """
        started = time.monotonic()
        config = self.config
        refuse_overlap((output.target, self.rejects, self.answers), self.inputs)
        output.refuse_existing(self.rejects)
        format = rows_format(output.target, output.format, what="paraphrases")
        journal = _journal(self, output)
        paraphraser = paraphraser_of(config, journal)
        files, seen = _read_once(self.inputs)
        tally = AutoTally()
        with TemporaryFile("w+", encoding="utf-8") as refused:
            judged = partial(
                paraphrase_rows,
                paraphraser=paraphraser,
                config=AutoConfig(config.number, checks_of(config)),
                canonical=canonical_of(self.language, self.load_library),
                predictor=self.load_predictor() if self.load_predictor else None,
            )
            blocks_made = _blocks(
                files, judged, by_rules=isinstance(paraphraser, RuleParaphraser), jobs=self.jobs
            )
            total = sum(-(-file.rows // _BLOCK) for file in files)
            blocks = show_progress(blocks_made, label="paraphrase", total=total, show=progress)
            write_rows(_deliver_lines(blocks, seen, tally, refused), "jsonl", output.target, format)
            _write_rejects(self.rejects, refused)
        manifest = {**_manifest(self, tally, journal), **self.private}
        if output.target != "-":
            write_json(manifest_of(output.target), manifest)
        return ParaphraseResult(
            output.target,
            tally.rows,
            tally.paraphrases,
            tally.rows_without,
            time.monotonic() - started,
            dict(tally.faults),
            manifest.get("usage", {}),
        )


def _journal(stage: Paraphrase, output: Output) -> Journal:
    """Return the journal of answers; in memory for rules, and for outputs that are no files."""
    name = stage.answers or (f"{output.path}.answers.jsonl" if output.path else None)
    if stage.config.by not in TYPED or name is None:
        return Journal(None)
    resume = stage.uses_answers or output.resume
    return open_journal(Path(name), resume=resume, overwrite=output.overwrite)


# -------------------------------------------------------------------------------------- the work


def _read_once(paths: Sequence[str]) -> tuple[list[RowsFile], SentenceHashes]:
    """Return the files with their numbers of rows, and all sentences that have a program."""
    seen, files = SentenceHashes(), []
    for path in paths:
        count, pairs = 0, []
        for shown_row in Parts(path).part(0):
            count += 1
            row = shown_row.example
            pairs.append((_hash(row.utterance), _hash(row.program)))
            if len(pairs) == _PAIRS:
                _add(seen, pairs)
                pairs = []
        _add(seen, pairs)
        files.append(RowsFile(path, count))
    return files, seen


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def _add(seen: SentenceHashes, pairs: Sequence[tuple[int, int]]) -> tuple[Any, Any]:
    both = np.array(pairs, np.uint64).reshape(-1, 2)
    return seen.add(both[:, 0].copy(), both[:, 1].copy())


def _blocks(
    files: Sequence[RowsFile],
    judged: Callable[[Iterable[Any]], Iterator[RowParaphrases]],
    *,
    by_rules: bool,
    jobs: int,
) -> Iterator[ParaphraseBlock]:
    if not by_rules:
        rows = (shown_row for file in files for shown_row in Parts(file.path).part(0))
        outcomes = judged(rows)
        while block := list(islice(outcomes, _BLOCK)):
            yield _count_block(block)
        return
    places = [(file.path, start) for file in files for start in range(0, file.rows, _BLOCK)]

    def make(numbers: Sequence[int]) -> Iterator[ParaphraseBlock]:
        readers: dict[str, Parts] = {}
        for number in numbers:
            path, start = places[number]
            if path not in readers:
                readers[path] = Parts(path)
            yield _count_block(judged(readers[path].part(start, start + _BLOCK)))

    numbers = range(len(places))
    yield from make(numbers) if jobs == 1 else in_processes(make, numbers, jobs)


def _count_block(outcomes: Iterable[RowParaphrases]) -> ParaphraseBlock:
    tally = AutoTally()
    rows: list[tuple[Example, tuple[str, ...]]] = []
    rejects: list[tuple[str, ...]] = []
    for outcome in outcomes:
        tally.add(outcome)
        rows.extend(outcome.paraphrases)
        rejects.extend(
            (
                outcome.shown_row.example.id,
                outcome.shown_row.sentence,
                refused.candidate.text,
                " ".join(refused.candidate.made_by),
                " ".join(refused.faults),
            )
            for refused in outcome.refused
        )
    return ParaphraseBlock(
        lines=tuple(to_json(row) for row, _ in rows),
        made_by=tuple(made_by for _, made_by in rows),
        sentences=tuple(_hash(row.utterance) for row, _ in rows),
        programs=tuple(_hash(row.program) for row, _ in rows),
        rejects=tuple(rejects),
        tally=tally,
    )


def _deliver_lines(
    blocks: Iterable[ParaphraseBlock], seen: SentenceHashes, tally: AutoTally, rejects: IO[str]
) -> Iterator[str]:
    """Yield the lines of paraphrases that are no sentence met before."""
    for block in blocks:
        tally.merge(block.tally)
        for reject in block.rejects:
            rejects.write(json.dumps(reject) + "\n")
        pairs = list(zip(block.sentences, block.programs, strict=True))
        fresh, ambiguous = _add(seen, pairs)
        for index, line in enumerate(block.lines):
            if fresh[index] and not ambiguous[index]:
                yield line + "\n"
                continue
            fault = AMBIGUOUS if ambiguous[index] else REPEATED
            tally.paraphrases -= 1
            tally.paraphrases_by.subtract(block.made_by[index])
            tally.faults[fault] += 1
            row = json.loads(line)
            made_by = " ".join(block.made_by[index])
            reject = (row["parent"], "", row["utterance"], made_by, fault)
            rejects.write(json.dumps(reject) + "\n")


# --------------------------------------------------------------------------------------- outputs


def _write_rejects(target: str | None, rejects: IO[str]) -> None:
    if not target:
        return
    rejects.seek(0)
    rows = (json.loads(line) for line in rejects)
    write_table(
        target,
        REJECT_COLUMNS,
        ({n: guard_formula(c) for n, c in zip(REJECT_COLUMNS, row, strict=True)} for row in rows),
    )


def _manifest(stage: Paraphrase, tally: AutoTally, journal: Journal) -> dict[str, Any]:
    config = stage.config
    lexicon = None if config.lexicon in _LEXICONS else config.lexicon
    settings = {name: getattr(config, name) for name in _SETTINGS} | {"language": stage.language}
    manifest = {
        "command": "paraphrase auto",
        "version": __version__,
        "rows": list(stage.inputs),
        "hashes": hashes_of((*stage.inputs, *config.rule_files, config.prompt, lexicon)),
        "config": {
            **{name: settings[name] for name in _ORDER if settings[name] is not None},
            "rules": [str(path) for path in config.rule_files],
            "prompt": str(config.prompt or ""),
        },
        "counts": {
            "rows": tally.rows,
            "rows_without": tally.rows_without,
            "candidates": tally.candidates,
            "paraphrases": tally.paraphrases,
        },
        "faults": dict(sorted(tally.faults.items())),
        "made_by": {
            name: {"candidates": count, "paraphrases": tally.paraphrases_by[name]}
            for name, count in sorted(
                tally.candidates_by.items(), key=lambda item: (-item[1], item[0])
            )
        },
    }
    if config.by == "endpoint":
        manifest["usage"] = _usage(config, journal.now)
        manifest["usage_before"] = _usage(config, journal.before)
    return manifest


_SETTINGS = (
    "by", "number", "lexicon", "lexical_share", "only_my_rules", "all_results", "names", "model",
    "temperature", "device", "batch_size", "base_url", "per_prompt", "seed",
    "copy_distance", "duplicate_distance", "any_language",
)  # fmt: skip
_ORDER = (*_SETTINGS[:14], "language", *_SETTINGS[14:])


def _usage(config: ParaphraseConfig, usage: Usage) -> dict[str, Any]:
    """Return the usage of answers; the cost where prices are given."""
    taken: dict[str, Any] = {
        "requests": usage.requests,
        "prompt_tokens": usage.prompt_tokens,
        "answer_tokens": usage.answer_tokens,
    }
    if config.price_in is not None or config.price_out is not None:
        cost = usage.prompt_tokens * (config.price_in or 0)
        cost += usage.answer_tokens * (config.price_out or 0)
        taken["cost"] = round(cost / 1e6, 6)
    return taken
