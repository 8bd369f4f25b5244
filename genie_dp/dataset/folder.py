"""A data set folder: written beside its name, with card and manifest, and renamed when complete."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.dataset.scan import GroupCounts
from genie_dp.errors import GenieError, Problem
from genie_dp.private_prior import load_spent, spent_of
from genie_dp.records import DEFAULT_LANGUAGE, Spent
from genie_dp.run.files import exists_error
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.page import render_card
from genie_dp.run.work import hold

COLUMNS = ("primitive", "compound", "filters", "parameter passing", "timers")
ROW_FIELDS = (
    ("id, parent", "the row, and the row that it was made from"),
    (
        "utterance",
        "tokens separated by one space; placeholders such as NUMBER_0 stand for values",
    ),
    ("program", "canonical token form in the language of `language`"),
    ("source", "synthetic, paraphrase, augmented, private or human"),
    ("derivation, depth", "templates used, outermost first, and how deep they nest"),
    ("functions", "functions of the program, in its order"),
    ("slots", "what each placeholder stands for: a type and a parameter"),
    ("weight", "share of the row in training"),
)
# Upper bounds of the size categories of the Hugging Face hub.
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class CardPart:
    """A part of the data set: its file in the folder, and counts by COLUMNS."""

    name: str
    file: str
    rows: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DatasetCard:
    """The contents of the card of a data set.

    Attributes:
        made: how the rows came here, as in "split by sentence".
        sources: lines about where the rows are from.
        seeds: each random step and its seed.
        licence: that of the rows; "" where none is stated.
        spent: the guarantee for rows of source "private".
        features: lines of YAML about the columns, where the files do not define them.
        language: of the sentences, as a two-letter code.
        fields: the fields of a row of the files, with their meaning.
    """

    title: str
    made: str
    splits: tuple[CardPart, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...] = (DEFAULT_LANGUAGE,)
    seeds: tuple[tuple[str, int], ...] = ()
    licence: str = ""
    spent: Spent | None = None
    private_rows: int = 0
    human_rows: int = 0
    features: str = ""
    language: str = "en"
    fields: tuple[tuple[str, str], ...] = ROW_FIELDS
    version: str = __version__
    columns: Sequence[str] = field(default=COLUMNS)

    def __post_init__(self) -> None:
        if self.private_rows and self.spent is None:
            message = f"{self.private_rows:,} rows are of source private, and no guarantee is given"
            hint = "name the file of what was spent: --spent spent.json"
            raise GenieError(Problem("D011", message, hint=hint))

    @property
    def is_tsv(self) -> bool:
        """Return whether the files are tables without a header."""
        return any(split.file.endswith(".tsv") for split in self.splits)

    @property
    def size_category(self) -> str:
        """Return the size as the Hugging Face hub names it."""
        rows = sum(split.rows for split in self.splits)
        return next((name for bound, name in _SIZES if rows < bound), "1M<n<10M")


def counts_of(groups: GroupCounts) -> dict[str, int]:
    """Return the counts of a part by COLUMNS."""
    classes, traits = groups.by_class(), groups.by_trait()
    primitive = sum(n for name, n in classes.items() if name.startswith("primitive"))
    return {"primitive": primitive, "compound": groups.rows - primitive, **traits}


MANIFEST = "manifest.json"
CARD = "README.md"


@dataclass(frozen=True, slots=True)
class AboutRows:
    """The description of the data by the user: title, licence, origin and privacy cost."""

    title: str = ""
    licence: str = ""
    origin: str = ""
    spent: Path | Spent | None = None

    def guarantee(self) -> Spent | None:
        """Return the guarantee, read from its file; None where there is none.

        Raises:
            GenieError: the file holds none.
        """
        return load_spent(self.spent) if isinstance(self.spent, Path) else self.spent


@dataclass(frozen=True, slots=True)
class CardFacts:
    """The contents of the card of a folder that its rows lack, as kept in its manifest."""

    title: str = ""
    licence: str = ""
    sources: tuple[str, ...] = ()
    seeds: tuple[tuple[str, int], ...] = ()
    spent: Spent | None = None

    @classmethod
    def from_card(cls, card: DatasetCard, about: AboutRows) -> "CardFacts":
        """Return the contents of a card; a title only where it is not the folder's name."""
        return cls(about.title, card.licence, card.sources, card.seeds, card.spent)


def card_facts(folder: str) -> CardFacts:
    """Return the contents of the card of an input; nothing where that is no folder of ours."""
    if "://" in folder or not is_ours(Path(folder)):
        return CardFacts()
    facts = read_manifest(Path(folder)).get("card")
    if not facts:
        return CardFacts()
    return CardFacts(
        facts["title"],
        facts["licence"],
        tuple(facts["sources"]),
        tuple((purpose, seed) for purpose, seed in facts["seeds"]),
        spent_of(facts["spent"]) if facts["spent"] else None,
    )


def seeds_of(inputs: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Return the seeds that the manifests beside the inputs name.

    Args:
        inputs: file -> its name in the card.
    """
    seeds = []
    for name, label in inputs.items():
        path = Path(manifest_of(name))
        if "://" in name or not path.is_file():
            continue
        manifest = json.loads(path.read_text(encoding="utf-8"))
        settings = {**manifest, **manifest.get("config", {}), **manifest.get("settings", {})}
        if isinstance(settings.get("seed"), int):
            label_of_seed = f"{label}, {manifest.get('command', 'made')}"
            seeds.append((label_of_seed, settings["seed"]))
    return tuple(seeds)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that cannot or must not be replaced.

    Raises:
        GenieError: it is there already; or --overwrite, and it is no data set folder of ours.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not overwrite:
        raise exists_error(folder, code="D005")
    if not is_ours(folder):
        hint = f"only folders with the {MANIFEST} of split or convert are replaced"
        raise GenieError(Problem("D006", f"{folder} is no data set folder", hint=hint))


def is_ours(folder: Path) -> bool:
    """Return whether a folder was written by split or convert."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("command") in ("split", "convert")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Open a folder to be filled; it gets its name when the block ends well.

    Existing files are replaced then, and not touched when the block raises.
    """
    folder = folder.absolute()
    with hold(folder), _swapped_in(folder) as work:
        yield work


@contextmanager
def _swapped_in(folder: Path) -> Iterator[Path]:
    """Yield a folder beside another one, which it replaces when the block ends well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
    work.mkdir()
    try:
        yield work
        _swap(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _swap(work: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a data set folder.

    Raises:
        GenieError: there is none.
    """
    if not is_ours(folder):
        hint = "a folder that genie-dp data split wrote"
        raise GenieError(Problem("D007", f"{folder} has no {MANIFEST} of split", hint=hint))
    manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return manifest


def write_card(folder: Path, card: DatasetCard, about: AboutRows, manifest: dict[str, Any]) -> None:
    """Write the card of a data set folder, and the manifest with the contents of the card."""
    (folder / CARD).write_text(render_card("genie_dp.dataset", card=card), encoding="utf-8")
    facts = asdict(CardFacts.from_card(card, about))
    write_json(str(folder / MANIFEST), {**manifest, "card": facts})
