"""Rows from one format to another: into a file, or into a folder with card and manifest."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, get_args

from genie_dp import __version__
from genie_dp.dataset.chat import FIELDS as CHAT_FIELDS
from genie_dp.dataset.folder import (
    ROW_FIELDS,
    AboutRows,
    CardFacts,
    CardPart,
    DatasetCard,
    card_facts,
    check_folder,
    counts_of,
    new_folder,
    seeds_of,
    write_card,
)
from genie_dp.dataset.formats import (
    CHATS,
    READERS,
    WRITERS,
    LeftRow,
    ReadOptions,
    Tools,
    WriteOptions,
    find_reader,
    find_writer,
    format_by_name,
)
from genie_dp.dataset.parts import check_part_name
from genie_dp.dataset.readers import parts_in
from genie_dp.dataset.scan import GroupCounts, as_row
from genie_dp.dataset.writers import FEATURES
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import language_names
from genie_dp.languages.library import Library, Skipped
from genie_dp.languages.programs import functions_of
from genie_dp.private.ledger.guard import PrivateInputs, private_inputs
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, SOURCES, Example, Source
from genie_dp.rows import FreeIds, check_parquet, read_rows
from genie_dp.run.files import check_output, open_bytes, open_text, refuse_overlap
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.stage.kernel import OutputOption, Stage
from genie_dp.templates.inputs import load_library

_CHAT_SETTINGS = ("system", "refusal", "tools", "other_tools", "keep_placeholders")
_MOST_SHOWN = 12
PartRows = Callable[[], Iterator[Example | LeftRow]]


@dataclass(frozen=True, slots=True)
class ConvertResult(Result):
    """The result of a conversion.

    Attributes:
        left: reason -> rows without an equal, the most first.
        renamed: rows whose id another one had.
        skipped: broken skills.
        private: the private parts of the input.
    """

    output: str
    format: str
    rows: int
    left: Mapping[str, int] = field(repr=False)
    renamed: int
    skipped: tuple[Skipped, ...] = field(repr=False)
    private: PrivateInputs = field(repr=False)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        for skipped in self.skipped:
            yield from skipped.lines()
        yield from self.private.lines()
        if self.left:
            yield f"{sum(self.left.values()):,} rows have no equal:"
            for reason, count in list(self.left.items())[:_MOST_SHOWN]:
                yield f"  {count:>8,}  {reason}"
            if (rest := len(self.left) - _MOST_SHOWN) > 0:
                yield f"  and {rest} more reasons; --rejects FILE has all rows"
        if self.renamed:
            yield f"{self.renamed:,} rows had the id of another: they have a number now, as S0.2"
        keeps = WRITERS[self.format].keeps
        yield f"{self.rows:,} rows -> {self.place} ({self.format} keeps {keeps})"


@dataclass(slots=True)
class _Conversion:
    """The order of a run, and the counts of its rows so far.

    Attributes:
        rejects: takes the rows that were left out.
    """

    config: "Convert"
    output: str
    format: str
    private: PrivateInputs
    progress: bool | None
    writing: WriteOptions
    rejects: IO[str] | None = None
    left: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    renamed: int = 0

    def leave_out(self, row: LeftRow) -> None:
        """Count a row that was left out, and write it down where that is wanted."""
        self.left[row.reason] += 1
        if self.rejects is not None:
            names = ("id", "reason", "detail", "utterance", "program")
            facts = {name: getattr(row, name) for name in names}
            self.rejects.write(json.dumps(facts, ensure_ascii=False) + "\n")

    def refuse(self, row: LeftRow) -> None:
        """Count a row that was to be written, and that the format cannot hold."""
        self.rows -= 1
        self.leave_out(row)

    def write(self, rows: Iterable[Example], out: BinaryIO) -> None:
        """Write rows in the format that is asked for."""
        find_writer(self.format)(rows, out, self.refuse, self.writing)

    def convert(self, rows: Iterable[Example | LeftRow], label: str) -> Iterator[Example]:
        """Yield the rows that have an equal, with the changes that the user asked for.

        Data sets give one id to several rows; no other command takes such rows.
        """
        ids = FreeIds()
        for row in show_progress(rows, label=label, show=self.progress):
            if isinstance(row, LeftRow):
                self.leave_out(row)
                continue
            renamed = ids.rename(row)
            self.renamed = ids.renamed
            self.rows += 1
            yield self.config.change(renamed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert(Stage):
    """Convert rows from one format to another.

    Reads and writes JSONL, TSV, Parquet, Rasa YAML, CoNLL and folders for Hugging Face datasets;
    reads SMCalFlow, TOPv2, PIZZA, Overnight, SGD and intents, too; writes chats with tools for
    trainers of language models, Needle and FunctionGemma among them. Says what the format drops,
    and how many rows have no equal and why.

    \b
    genie-dp data convert pairs.jsonl pairs.parquet
    genie-dp data convert data published --to hf-parquet --licence cc-by-4.0
    genie-dp data convert rows.jsonl chats.jsonl --to chat
    """

    command = "convert"
    output = OutputOption(
        option="",
        formats=tuple(WRITERS),
        format_option="to",
        format_help="Format of OUTPUT [by its name; without an ending hf].",
        overwrite="Replace OUTPUT.",
    )

    input: str = setting(REQUIRED, "A file, a folder or a URL.", is_argument=True)
    from_: str | None = setting(
        None,
        "Format of INPUT [by its name; a folder is hf].",
        choices=tuple(READERS),
        option="from",
    )
    skills: tuple[Path, ...] = setting(
        (),
        "Of chats: skills whose functions are tools [shipped].",
        metavar="DIR",
        value="skills",
    )
    skip_broken: bool = setting(False, "Of chats: go on without the skills that cannot be read.")
    language: str = setting(
        DEFAULT_LANGUAGE, "Language of the programs of a TSV file.", choices=language_names()
    )
    source: Source | None = setting(
        None, "Source of all rows [what the format tells].", choices=SOURCES
    )
    id_prefix: str = setting("", "Put before all ids and parents.", metavar="TEXT")
    part: str = setting(
        "train", "Part of the folder that the rows of a file become.", metavar="NAME"
    )
    system: str = setting("", "Of chats: what the system says first.", metavar="TEXT")
    refusal: str = setting(
        "Sorry, I cannot help with that.",
        "Of chats: what the assistant says where the program is out_of_scope.",
        metavar="TEXT",
    )
    tools: Tools = setting(
        "some",
        "Of chats: the tools of a row. `some` are its own and --other-tools others, `used` the "
        "functions that any row uses, `all` those of the skills.",
        choices=get_args(Tools),
    )
    other_tools: int = setting(
        7, "Of chats with `some` tools: others, drawn by the row's id.", least=0, metavar="N"
    )
    keep_placeholders: bool = setting(
        False, "Of chats: write rows with placeholders as they are [they are left out]."
    )

    rejects: str | None = setting(
        None,
        "Write the rows that have no equal there, with the reason, as JSONL.",
        metavar="FILE",
    )
    about: AboutRows = setting(
        AboutRows(), "What the card of a folder says of the data.", value="about"
    )

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, or D001 for a part's name.
        """
        Stage.__post_init__(self)
        check_part_name(self.part)

    def run(self, output: Output, *, progress: bool | None = None) -> ConvertResult:
        """Convert the rows of a file or folder.

        Args:
            output: a file, or a folder for Hugging Face or of chats; its format is one of
                `WRITERS`, and None to infer it from the name.
            progress: whether to show progress; None for on a terminal.

        Raises:
            GenieError: an input that is a pipe (D009), does not exist (D025) or is not of its
                format (D020 to D024); formats that are not named (D021), that do not go there
                (D026) or lack a requested field (D029); an output that is there (D005, D006) or is
                the input (D027); no guarantee for rows of source private (D011, D012).
        """
        _check_input(self.input)
        from_ = self.from_ or format_by_name(self.input, READERS, is_input=True)
        to = output.format or format_by_name(output.target, WRITERS, is_input=False)
        _check_formats(self, from_, to)
        _check_outputs(self.input, output, to, self.rejects)
        libraries: dict[str, Library] = {}

        def library_of(language: str) -> Library:
            if language not in libraries:
                libraries[language] = load_library(
                    language, self.skills, skip_broken=self.skip_broken
                )
            return libraries[language]

        reading = ReadOptions(from_, self.language, self.source)
        chat_settings = {name: getattr(self, name) for name in _CHAT_SETTINGS}
        conversion = _Conversion(
            self, output.target, to, private_inputs([self.input]), progress,
            WriteOptions(to, **chat_settings, library_of=library_of),
        )  # fmt: skip
        parts = _parts(conversion, reading)
        if to in CHATS and self.tools == "used":
            conversion.writing = replace(conversion.writing, used=_functions_in(parts))
        with ExitStack() as stack:
            if self.rejects:
                conversion.rejects = stack.enter_context(open_text(self.rejects))
            if _is_folder(output.target, to):
                _write_folder(conversion, parts)
            else:
                _write_file(conversion, chain.from_iterable(read() for read in parts.values()))
        left_out = dict(conversion.left.most_common())
        skipped = tuple(s for library in libraries.values() for s in library.skipped)
        return ConvertResult(
            output.target, to, conversion.rows, left_out, conversion.renamed, skipped,
            conversion.private,
        )  # fmt: skip

    def change(self, row: Example) -> Example:
        """Return the row with the source and the prefix that all get."""
        if self.source:
            row = replace(row, source=self.source)
        if self.id_prefix:
            parent = self.id_prefix + row.parent if row.parent else ""
            row = replace(row, id=self.id_prefix + row.id, parent=parent)
        return row


def _functions_in(parts: Mapping[str, PartRows]) -> frozenset[str]:
    rows = chain.from_iterable(read() for read in parts.values())
    return frozenset(f for row in rows if isinstance(row, Example) for f in functions_of(row))


# ---------------------------------------------------------------------------------------- checks


def _check_input(name: str) -> None:
    if name == "-":
        hint = "write the rows to a file first"
        raise GenieError(Problem("D009", "the input may be read twice, a pipe cannot", hint=hint))
    if "://" not in name and not Path(name).exists():
        raise GenieError(Problem("D025", f"{name}: no such file or folder"))


def _check_formats(config: Convert, from_: str, to: str) -> None:
    """Refuse inputs and outputs that could not be read or written."""
    if "parquet" in (from_, to) or to == "hf-parquet":
        check_parquet()
    defaults = {f.name: f.default for f in fields(Convert)}
    of_chats = (*_CHAT_SETTINGS, "skills", "skip_broken")
    chosen = [name for name in of_chats if getattr(config, name) != defaults[name]]
    if chosen and to not in CHATS:
        message = f"{chosen[0]} is of chats, and {to} is none"
        raise GenieError(Problem("D029", message, hint=f"--to {' or '.join(CHATS)}"))


def _check_outputs(input: str, output: Output, to: str, rejects: str | None) -> None:
    """Refuse outputs that cannot or must not be written, before the work."""
    target = output.target
    refuse_overlap((target, rejects), [input])
    if rejects:
        check_output(rejects)
    if _is_folder(target, to):
        check_folder(Path(target), overwrite=output.overwrite)
        return
    if to == "parquet" and target == "-":
        hint = "name a file, such as rows.parquet"
        raise GenieError(Problem("D026", "Parquet cannot be written to a pipe", hint=hint))
    output.refuse_existing(code="D005", hint="give another OUTPUT, or --overwrite")


def _is_folder(target: str, format: str) -> bool:
    """Return whether an output of a format is a folder; that of a chat depends on the name."""
    goes_into = WRITERS[format].goes_into
    is_bare = target != "-" and "." not in target.rstrip("/").rsplit("/", 1)[-1]
    return goes_into == "folder" or (goes_into == "either" and is_bare)


# ---------------------------------------------------------------------------------------- output


def _write_file(conversion: _Conversion, rows: Iterator[Example | LeftRow]) -> None:
    output = conversion.output
    with open_bytes(output) as out:
        conversion.write(conversion.convert(rows, "rows"), out)
    if conversion.private.ledgers and output != "-":
        facts = {"command": "convert", **conversion.private.fields()}
        write_json(manifest_of(output), facts)


def _parts(conversion: _Conversion, reading: ReadOptions) -> Mapping[str, PartRows]:
    """Return the parts of the input: those of a folder, or one."""
    input = conversion.config.input
    if reading.format != "hf":
        return {conversion.config.part: partial(find_reader(reading.format), input, reading)}

    def read_files(files: list[Path]) -> Iterator[Example]:
        for file in files:
            yield from read_rows(str(file))

    return {name: partial(read_files, files) for name, files in parts_in(Path(input)).items()}


def _write_folder(conversion: _Conversion, parts: Mapping[str, PartRows]) -> None:
    folder, to = Path(conversion.output), conversion.format
    about, before = conversion.config.about, card_facts(conversion.config.input)
    about = replace(
        about, title=about.title or before.title, licence=about.licence or before.licence
    )
    before = replace(before, spent=about.guarantee() or before.spent)
    groups: dict[str, GroupCounts] = {}
    with new_folder(folder) as work:
        (work / "data").mkdir()
        for name, read in parts.items():
            groups[name] = GroupCounts()
            rows = _count_on_the_way(conversion.convert(read(), name), groups[name])
            with (work / "data" / f"{name}{WRITERS[to].file}").open("wb") as out:
                conversion.write(rows, out)
        card = _card(conversion, groups, about, before)
        manifest = {**_manifest(conversion, groups), **conversion.private.fields()}
        write_card(work, card, about, manifest)


def _count_on_the_way(rows: Iterable[Example], groups: GroupCounts) -> Iterator[Example]:
    for row in rows:
        groups.add(as_row(row))
        yield row


def _card(
    conversion: _Conversion, groups: Mapping[str, GroupCounts], about: AboutRows, before: CardFacts
) -> DatasetCard:
    """Return the card, with the contents of the card of the input."""
    sources = sum((g.sources for g in groups.values()), Counter[str]())
    rows = sum(g.rows for g in groups.values())
    origin = (about.origin,) if about.origin else ()
    label = Path(conversion.config.input).name
    to = conversion.format
    return DatasetCard(
        title=about.title or Path(conversion.output).absolute().name,
        made="converted",
        splits=tuple(
            CardPart(part, f"data/{part}{WRITERS[to].file}", g.rows, counts_of(g))
            for part, g in groups.items()
        ),
        sources=(*origin, *before.sources, f"{label}: {rows:,} rows"),
        targets=tuple(sorted({n for g in groups.values() for n in g.languages})),
        seeds=before.seeds or seeds_of({conversion.config.input: label}),
        licence=about.licence,
        spent=before.spent,
        private_rows=sources["private"],
        human_rows=sources["human"] + sources["paraphrase"],
        features=FEATURES if to == "hf" else "",
        fields=CHAT_FIELDS.get(to, ROW_FIELDS),
    )


def _manifest(conversion: _Conversion, groups: Mapping[str, GroupCounts]) -> dict[str, Any]:
    config = conversion.config
    chat_settings = {name: getattr(config, name) for name in _CHAT_SETTINGS}
    return {
        "command": "convert",
        "version": __version__,
        "format": conversion.format,
        "settings": {
            "input": conversion.config.input,
            "from": config.from_,
            "language": config.language,
            "source": config.source,
            "id_prefix": config.id_prefix,
            "skills": [str(path) for path in config.skills],
            **(chat_settings if conversion.format in CHATS else {}),
        },
        "counts": {"rows": conversion.rows, "left_out": dict(conversion.left.most_common())},
        "parts": {name: group.as_dict() for name, group in groups.items()},
    }
