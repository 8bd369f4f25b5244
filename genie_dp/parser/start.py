"""The parser that training goes on from: the network, words and guarantee that it passes on."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError, Problem
from genie_dp.parser import folder as files
from genie_dp.parser.config import ParserConfig
from genie_dp.parser.evidence import Evidence
from genie_dp.parser.recipe import carried_settings
from genie_dp.parser.rows import Reading
from genie_dp.private_prior import priors_in, spent_of
from genie_dp.records import Spent
from genie_dp.run.manifest import ledgers_in

if TYPE_CHECKING:
    from genie_dp.models.saved import SavedModel

_WEIGHTS = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, slots=True)
class Start:
    """A finished parser.

    Attributes:
        folder: where it lies.
        facts: those of config.json.
        manifest: its inputs, settings and guarantee.
        digest: SHA-256 of its network and words.
    """

    folder: Path
    facts: Mapping[str, Any]
    manifest: Mapping[str, Any]
    digest: str

    @property
    def spent(self) -> Spent | None:
        """Return the guarantee of the private rows that it has learned, or was weighed by."""
        spent = self.manifest.get("spent")
        return spent_of(spent) if spent else None

    @property
    def ledgers(self) -> list[str]:
        """Return the ledgers of the rows that it has learned."""
        return [str(path) for path in ledgers_in(self.folder / files.MANIFEST)]

    @property
    def priors(self) -> dict[str, Any]:
        """Return the guarantees of the priors that its rows were made with, by their hashes."""
        return priors_in(self.manifest)

    @property
    def longest(self) -> int:
        """Return the tokens after which it brings a program to an end."""
        return int(self.facts["longest"])

    def inputs_beside(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return all files that were learned from, with their digests: its own and these.

        A file that was changed in between has two entries.
        """
        earlier = {
            path if own.get(path, digest) == digest else f"{path}, as {self.folder} had it": digest
            for path, digest in self.manifest["inputs"].items()
        }
        return earlier | dict(own)

    def texts_beside(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Return the constants that its grammar has, and these."""
        return tuple(sorted({*files.read_texts(self.folder), *own}))

    def begins_beside(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tokens that its programs begin with, and these."""
        return tuple(sorted({*self.facts["begins"], *own}))

    def evidence_beside(self, own: Evidence) -> Evidence:
        """Return the evidence of its rows and of these."""
        return files.read_evidence(self.folder, own.words).join(own)

    def reading_beside(self, own: Reading) -> Reading:
        """Return its reading of sentences, with the phrases learned since."""
        before = files.read_reader(self.folder)
        return replace(
            own,
            glued=before.glued | own.glued,
            phrases=before.phrases | own.phrases,
            fixed=own.fixed | frozenset(self.facts["fixed"]),
        )

    def load(self) -> "SavedModel":
        """Return its network and words.

        Raises:
            GenieError: M001, a file is missing or broken.
        """
        from genie_dp.models.saved import load_model

        return load_model(self.folder)


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of the network and words of a folder."""
    digest = hashlib.sha256()
    for name in _WEIGHTS:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def read_start(config: ParserConfig, folder: Path, language: str) -> Start:
    """Return the parser that a configuration names as its start, for rows of a language.

    Args:
        folder: where it lies.

    Raises:
        GenieError: N010, it is no parser; N011, its skills were changed; N012, its network or
            its language is another one.
    """
    carried = carried_settings(folder)
    facts = files.facts_of(folder)
    try:
        files.check_skills(folder, str(facts["skills"]))
        manifest = json.loads((folder / files.MANIFEST).read_text(encoding="utf-8"))
        start = Start(folder, facts, manifest, digest_of(folder))
        _ = start.spent, start.priors, start.longest, start.inputs_beside({})
        _ = facts["fixed"], facts["language"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise files.broken(folder, str(error)) from None
    problems = [
        Problem(
            "N012",
            f"{name}: expected {expected!r}, as {folder} has it, got {getattr(config, name)!r}",
            hint="leave it out: a parser that goes on keeps it",
        )
        for name, expected in carried.items()
        if getattr(config, name) != expected
    ]
    if facts["language"] != language:
        message = f"the rows are of language {language}, and {folder} is of {facts['language']}"
        hint = f"go on with rows of {facts['language']}, or train a parser of its own"
        problems.append(Problem("N012", message, hint=hint))
    if problems:
        raise GenieError(problems)
    return start


def guarantee_of_both(start: Start | None, rows: Spent | None, named: Spent | None) -> Spent | None:
    """Return the guarantee of a parser: of the rows that it learns, and of its start's.

    Two guarantees do not add up by themselves: their ledger states the guarantee of both.

    Args:
        start: the parser to continue.
        rows: the guarantee of the rows, if known.
        named: the guarantee that the user states; it is to cover both.

    Raises:
        GenieError: N006, the two differ and none that covers both is named.
    """
    earlier = start.spent if start else None
    if start is None or earlier is None:
        return named or rows
    hint = "name the statement of their ledger that covers both: --spent spent.json"
    if named is not None:
        is_less = named.epsilon < earlier.epsilon or named.delta < earlier.delta
        if is_less or (named.unit, named.relation) != (earlier.unit, earlier.relation):
            message = (
                f"the guarantee does not cover {start.folder}, which has learned private rows "
                f"under epsilon {earlier.epsilon:g}, delta {earlier.delta:g} by {earlier.unit}"
            )
            raise GenieError(Problem("N006", message, hint=hint))
        return named
    if rows is not None and rows != earlier:
        message = f"the rows and {start.folder} have different guarantees of private rows"
        raise GenieError(Problem("N006", message, hint=hint))
    return earlier
