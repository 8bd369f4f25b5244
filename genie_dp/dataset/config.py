"""Settings of split and convert."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, get_args

from genie_dp.dataset.formats import READERS, Tools
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import language_names
from genie_dp.recipe import check_settings, setting
from genie_dp.records import DEFAULT_LANGUAGE, SOURCES, Example, Source

By = Literal["sentence", "program", "functions", "id"]
_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A part of the split: a share of all groups, a number of rows, or the rest.

    Attributes:
        share: of the groups, above 0 and below 1; None for another sort of part.
        rows: whole groups are taken until there are that many; None for another sort of part.
    """

    name: str
    share: float | None = None
    rows: int | None = None

    @classmethod
    def parse(cls, text: str) -> "SplitPart":
        """Return the part of `NAME`, `NAME=0.1`, `NAME=10%` or `NAME=1000`.

        >>> SplitPart.parse("test=10%")
        SplitPart(name='test', share=0.1, rows=None)
        >>> SplitPart.parse("test=1000")
        SplitPart(name='test', share=None, rows=1000)

        Raises:
            GenieError: it is none of them (D001).
        """
        name, _, size = text.partition("=")
        if not _NAME.fullmatch(name):
            hint = "letters, digits, - and _, such as --part test=0.1"
            _refuse(f"expected the name of a part, got {name!r}", hint)
        if size in ("", "rest"):
            return cls(name)
        if size.isdecimal() and int(size) > 0:
            return cls(name, rows=int(size))
        try:
            share = float(size.removesuffix("%")) / (100 if size.endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            hint = "a share such as 0.1 or 10%, or a number of rows such as 1000"
            _refuse(f"expected the size of {name}, got {size!r}", hint)
        return cls(name, share=share)

    @property
    def is_rest(self) -> bool:
        """Return whether the part takes what no other one does."""
        return self.share is None and self.rows is None


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """How rows are split.

    Commands of one function all are in the first part, unless `split_primitives` is given, as in
    the paper (Genie, section 5.2). Groups without a row of the `eval_sources` are, too.
    """

    by: By = setting(
        "sentence",
        "What no two parts may share; with --check, what the folder was split by.",
        choices=get_args(By),
    )
    parts: tuple[SplitPart, ...] = setting(
        (SplitPart("train"), SplitPart("validation", 0.1), SplitPart("test", 0.1)),
        "A part; SIZE is a share (0.1 or 10%) or a number of rows, and one part takes the rest "
        "[train, validation=0.1, test=0.1]. The first is for training.",
        metavar="NAME[=SIZE]",
    )
    seed: int = setting(0, "Another seed, another split.")
    eval_sources: tuple[str, ...] = setting(
        (),
        "Keep only rows of this source in the other parts, such as paraphrase.",
        choices=SOURCES,
    )
    split_primitives: bool = setting(
        False,
        "With --by functions, split commands of one function, too [all go into the first part].",
    )

    def __post_init__(self) -> None:
        """Read parts that are texts, and refuse parts that cannot be made.

        Raises:
            GenieError: R040 for a setting, D001 for parts.
        """
        check_settings(self)
        parts = tuple(SplitPart.parse(p) if isinstance(p, str) else p for p in self.parts)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "eval_sources", tuple(sorted(set(self.eval_sources))))
        names = [part.name for part in self.parts]
        shares = sum(part.share or 0 for part in self.parts)
        if len(self.parts) < 2 or len(self.parts) > 250:
            _refuse(f"expected 2 to 250 parts, got {len(self.parts)}", "name another --part")
        if len(set(names)) < len(names):
            _refuse(f"expected different names, got {', '.join(names)}", "rename a --part")
        if sum(part.is_rest for part in self.parts) != 1:
            _refuse("expected one part without a size, for the rest", "such as --part train")
        if not shares < 1:
            _refuse(f"expected shares below 1 in all, got {shares:g}", "leave some for the rest")


@dataclass(frozen=True, slots=True)
class ConvertConfig:
    """What is read, and what is changed in all rows; the output's format is the output's."""

    from_: str | None = setting(
        None, "Format of INPUT [by its name; a folder is hf].", choices=tuple(READERS)
    )
    skills: tuple[Path, ...] = setting(
        (),
        "Of chats: skills whose functions are tools [shipped].",
        metavar="DIR",
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

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, or D001 for a part's name.
        """
        check_settings(self)
        if not _NAME.fullmatch(self.part):
            _refuse(f"expected the name of a part, got {self.part!r}", "letters, digits, - and _")

    def change(self, row: Example) -> Example:
        """Return the row with the source and the prefix that all get."""
        if self.source:
            row = replace(row, source=self.source)
        if self.id_prefix:
            parent = self.id_prefix + row.parent if row.parent else ""
            row = replace(row, id=self.id_prefix + row.id, parent=parent)
        return row


def _refuse(message: str, hint: str) -> NoReturn:
    raise GenieError(Problem("D001", message, hint=hint))
