"""One run of `genie-dp private audit`: attack by attack, then the table, and the verdict."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from genie_dp import __version__
from genie_dp.cli.output import progress
from genie_dp.cli.private.audit_models import language_of, open_any
from genie_dp.cli.private.audit_table import table
from genie_dp.cli.private.redact_job import for_the_owner_alone
from genie_dp.cli.private.train_files import digest_of, write_over
from genie_dp.errors import GenieError, Problem
from genie_dp.learn.device import prepare_torch
from genie_dp.private.audit import exposure, extraction, membership
from genie_dp.private.audit.canaries import Canaries, load_canaries
from genie_dp.private.audit.claims import Claim, claim_of, has_public_rows
from genie_dp.private.audit.lira import scores as shadow_scores
from genie_dp.private.audit.page import SCHEMA, STATEMENT, page
from genie_dp.private.audit.scorer import Scorer, words_of
from genie_dp.private.audit.sides import Sides, as_counts, rows_of, sides_of
from genie_dp.private.audit.statistics import Floats
from genie_dp.private.audit.verdict import check, largest_refutable, proved, verdict_of
from genie_dp.private.source import PrivateRow
from genie_dp.run.files import check_output, open_text
from genie_dp.run.work import enter_work, work_folder_of

if TYPE_CHECKING:
    from genie_dp.private.audit.extraction import Extracted

# What an audit that goes on must share, beside its files.
_SHARED = (
    "samples", "words", "show", "group", "claim", "delta", "about", "level", "language", "longest",
    "with_end", "seed",
)  # fmt: skip
_INPUTS = ("members", "others", "canaries", "training")
_AT_ONCE = 256
# Exit code of an audit that neither refutes what is claimed nor shows that it could have.
INCONCLUSIVE = 3
_NO_SAMPLES = (
    "left out, for a parser writes no text, and values of its programs come from the sentence that "
    "it is given. Give --members and --others; look for secrets in the words of its folder; and "
    "take samples of the generator that made its rows."
)


def run(options: Mapping[str, Any]) -> int:
    """Attack, write, print, and fail where a claim is refuted; return the exit code otherwise.

    Raises:
        GenieError: N060, a lower bound is above the claim; all files are written then.
    """
    work = work_folder_of(options["output"])
    _check_targets(options, work)
    if options["overwrite"]:
        shutil.rmtree(work, ignore_errors=True)
    prepare_torch(options["device"], options["threads"])
    with for_the_owner_alone():
        audit = _Audit.of(options, work)
        is_new = not work.exists()
        enter_work(work, audit.shared(), resume=options["resume"])
        try:
            result = audit.run()
        except GenieError:
            if is_new:  # a mistake of the first start: nothing to go on with
                shutil.rmtree(work)
            raise
        except KeyboardInterrupt:
            write_over("")
            click.echo(f"the audit so far is in {work}; go on with --resume", err=True)
            raise
        _write(options, result)
    shutil.rmtree(work)
    write_over("")
    click.echo("\n".join(table(result)))
    for words in audit.shown:
        click.echo(f"private text: {' '.join(words)}")
    where = [str(options[name]) for name in ("output", "report") if options[name]]
    click.echo(f"audited {options['model']} -> {', '.join(where)}", err=True)
    check(audit.bounds, audit.claim)
    return INCONCLUSIVE if result["verdict"] == "inconclusive" else 0


def _check_targets(options: Mapping[str, Any], work: Path) -> None:
    """Refuse outputs that exist already, or that would take the place of something else (Y022)."""
    # An audit that was let in goes on, even if some of its files are there.
    may_exist = options["overwrite"] or (options["resume"] and work.exists())
    targets: list[Path] = [options[name] for name in ("output", "report") if options[name]]
    inputs = [options[name] for name in _INPUTS if options[name]]
    for path in targets:
        check_output(str(path))
        same = [other for other in (*inputs, *targets) if other.resolve() == path.resolve()]
        if len(same) > 1:
            raise GenieError(Problem("Y022", f"{path} is named twice", hint="give another file"))
        if path.exists() and not may_exist:
            hint = "give another name, or --overwrite"
            raise GenieError(Problem("Y022", f"{path} exists already", hint=hint))


def _write(options: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    if options["report"]:
        with open_text(str(options["report"])) as out:
            out.write(page(result))
    with open_text(str(options["output"])) as out:
        json.dump(result, out, indent=2, ensure_ascii=False)
        out.write("\n")


@dataclass(frozen=True, slots=True)
class _Shadow:
    """A shadow model, and the rows that it has learned from."""

    folder: Path
    rows: Path | None

    @classmethod
    def of(cls, text: str) -> "_Shadow":
        """Return the shadow that an option names.

        Raises:
            click.UsageError: there is no such folder, or no such file.
        """
        name, _, file = text.rpartition("=") if not Path(text).is_dir() else (text, "", "")
        if not Path(name).is_dir() or (file and not Path(file).is_file()):
            raise click.UsageError(f"--shadow: expected FOLDER or FOLDER=FILE, got {text!r}")
        return cls(Path(name), Path(file) if file else None)


@dataclass(slots=True)
class _Found:
    """What attacks have found of one model."""

    attacks: list[membership.Attack] = field(default_factory=list)
    exposed: list[exposure.Exposure] = field(default_factory=list)


class _Audit:
    """The attacks that are asked for, and what they have found."""

    def __init__(self, options: Mapping[str, Any], work: Path, scorer: Scorer, claim: Claim | None):
        self.options, self.work, self.scorer, self.claim = options, work, scorer, claim
        self.seed: int = options["seed"]
        self.shadows = [_Shadow.of(text) for text in options["shadows"]]
        model: Path = options["model"]
        self.language = options["language"] or language_of(model) or "thingtalk"
        # What is claimed is claimed of private rows alone.
        self.private_only = has_public_rows(model)
        self.shown: list[tuple[str, ...]] = []
        self.bounds: list[Any] = []

    @classmethod
    def of(cls, options: Mapping[str, Any], work: Path) -> "_Audit":
        """Return the audit of some options; the model is read."""
        model, device = options["model"], options["device"]
        claim = (
            claim_of(model, options["about"])
            if options["claim"] is None
            else Claim(options["claim"], options["delta"], about=options["about"])
        )
        scorer = open_any(model, device=device, longest=options["longest"])
        return cls(options, work, scorer, claim)

    def shared(self) -> dict[str, Any]:
        """Return all that an audit which goes on must share; files by their hashes."""
        options = self.options
        files = [options[name] for name in _INPUTS]
        folders = [options["model"], *options["references"], *(s.folder for s in self.shadows)]
        folders += [options["unprotected"]] if options["unprotected"] else []
        return {
            "version": __version__,
            "files": [digest_of(str(file)) if file else None for file in files],
            "learned": [digest_of(str(s.rows)) if s.rows else None for s in self.shadows],
            "models": [_digest(folder) for folder in folders],
            **{name: options[name] for name in _SHARED},
        }

    def run(self) -> dict[str, Any]:
        """Return all figures."""
        options = self.options
        ours, theirs = _Found(), _Found()
        sides: Sides | None = None
        result: dict[str, Any] = {
            "schema": SCHEMA,
            "version": __version__,
            "title": f"Audit of {options['model'].resolve().name}",
            "privacy": {"is_differentially_private": False, "statement": STATEMENT},
            "kind": self.scorer.kind,
            "seed": self.seed,
            "level": options["level"],
            "claim": self.claim.as_dict() if self.claim else None,
            "rows": None, "membership": [], "canaries": None, "extraction": None,
        }  # fmt: skip
        copies = 1
        if options["members"]:
            sides, ours.attacks, theirs.attacks = self._membership()
            result["rows"] = as_counts(sides)
            result["membership"] = [
                membership.described(one, seed=self.seed, level=options["level"])
                for one in ours.attacks
            ]
        if options["canaries"]:
            canaries = load_canaries(options["canaries"])
            copies = canaries.repeats
            ours.exposed, result["canaries"] = self._exposure(canaries)
            if options["unprotected"]:
                other = self._opened(options["unprotected"])
                theirs.exposed, _ = self._exposure(canaries, other, "unprotected")
        if options["samples"]:
            result["extraction"] = self._extraction(sides)
        self.bounds = proved(
            ours.attacks,
            ours.exposed,
            self.claim,
            copies=copies,
            level=options["level"],
            seed=self.seed,
            unprotected=(theirs.attacks, theirs.exposed) if options["unprotected"] else None,
        )
        result["epsilon"] = [one.as_dict() for one in self.bounds]
        result["refutable"] = largest_refutable(self.bounds)
        result["verdict"], result["reason"] = verdict_of(self.bounds, self.claim)
        return result

    # ----------------------------------------------------------------------------- membership

    def _membership(self) -> tuple[Sides, list[membership.Attack], list[membership.Attack]]:
        """Return the rows, the attacks on the model, and those on the unprotected one, if any."""
        options = self.options
        with_programs = self.scorer.needs_programs
        read = [self._rows(options[name]) for name in ("members", "others")]
        sides = sides_of(read[0], read[1], with_programs=with_programs)
        rows = (*sides.members, *sides.others)
        found = [self._losses("model", self.scorer, rows)]
        folders = [*options["references"], *(one.folder for one in self.shadows)]
        for number, folder in enumerate(folders):
            found.append(self._losses(f"other{number}", folder, rows))
        if options["unprotected"]:
            found.append(self._losses("unprotected", options["unprotected"], rows))
        losses = np.stack(found)
        readable = np.asarray(np.isfinite(losses).all(0))
        learned = np.array([self._learned(one, rows) for one in self.shadows])[:, readable] \
            if self.shadows else np.zeros((0, int(readable.sum())))  # fmt: skip
        rows = tuple(row for row, fine in zip(rows, readable, strict=True) if fine)
        members = int(readable[: len(sides.members)].sum())
        left = {**sides.left, "rows that the model cannot read": int((~readable).sum())}
        # Again, for there may be too few now.
        sides_of(rows[:members], rows[members:], with_programs=with_programs)
        sides = Sides(rows[:members], rows[members:], left)
        losses, others = losses[:, readable], slice(1, 1 + len(folders))
        attacks = [
            self._attacks(rows, members, own, losses[others], learned)
            for own in (losses[0], *losses[others.stop :])
        ]
        return sides, attacks[0], attacks[1] if options["unprotected"] else []

    def _attacks(
        self,
        rows: Sequence[PrivateRow],
        members: int,
        losses: Floats,
        others: Floats,
        learned: Floats,
    ) -> list[membership.Attack]:
        """Return the attacks on a model by its losses, and those of references and shadows."""
        options = self.options
        references = len(options["references"])
        words = [words_of(row, with_program=self.scorer.needs_programs) for row in rows]
        more = []
        if self.shadows:
            shadows = others[references:] / np.array(words)
            own = losses / np.array(words)
            scores, is_online = shadow_scores(own.tolist(), shadows, learned)
            name = "shadows" if is_online else "shadows without the rows"
            more.append(membership.Attack(name, scores[:members], scores[members:]))

        def parted(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            return list(values[:members]), list(values[members:])

        return membership.attacks_of(
            parted(losses.tolist()),
            parted(words),
            {
                name: parted(others[number].tolist())
                for number, name in enumerate(_names(options["references"]))
            },
            group=options["group"],
            seed=self.seed,
            more=more,
        )

    def _learned(self, shadow: _Shadow, rows: Sequence[PrivateRow]) -> list[bool]:
        if shadow.rows is None:
            return [False] * len(rows)
        with_programs = self.scorer.needs_programs
        known = rows_of(shadow.rows, self.language)
        keys = {row if with_programs else row.utterance for row in known}
        return [(row if with_programs else row.utterance) in keys for row in rows]

    def _rows(self, path: Path) -> list[PrivateRow]:
        return rows_of(path, self.language, private_only=self.private_only)

    def _losses(self, name: str, model: Any, rows: Sequence[PrivateRow]) -> Floats:
        """Return the loss of each row under a model, or under that of a folder."""

        def make() -> Floats:
            scorer: Scorer = self._opened(model) if isinstance(model, Path) else model
            starts = range(0, len(rows), _AT_ONCE)
            with progress(starts, label=f"losses of {name}", total=len(starts)) as seen:
                parts = [scorer.losses(rows[start : start + _AT_ONCE]) for start in seen]
            return np.concatenate(parts)

        return self._once(name, make)

    def _opened(self, folder: Path) -> Scorer:
        options = self.options
        return open_any(folder, device=options["device"], longest=options["longest"])

    def _once(self, name: str, make: Callable[[], Floats]) -> Floats:
        """Return what was made before in this work folder, or make it."""
        path = self.work / f"{name}.npy"
        if not path.exists():
            part = self.work / f"{name}.part.npy"
            np.save(part, make())
            part.replace(path)
        found: Floats = np.load(path)
        return found

    # -------------------------------------------------------------------- canaries and samples

    def _exposure(
        self, canaries: Canaries, model: Scorer | None = None, name: str = "candidates"
    ) -> tuple[list[exposure.Exposure], dict[str, Any]]:
        """Return the exposures under a model, that of the audit unless told, and what is said."""
        scorer: Any = model or self.scorer
        if not hasattr(scorer, "encoded"):
            message = f"canaries are texts, and a {scorer.kind} gives texts no probability"
            raise GenieError(Problem("N059", message, hint="leave --canaries out"))
        from genie_dp.private.audit.candidates import candidate_losses

        losses = candidate_losses(
            scorer,
            canaries,
            work=self.work / f"{name}.f64",
            batch=self.options["states"],
            with_end=self.options["with_end"],
            listen=lambda done, of: write_over(f"candidates: {done:,} of {of:,}"),
        )
        write_over("")
        fit = exposure.fitted(losses, canaries.numbers, seed=self.seed)
        found = exposure.exposures(losses, canaries.numbers, fit)
        told = {"template": canaries.template.text, "repeats": canaries.repeats}
        level = self.options["level"]
        return found, {**told, **exposure.described(found, fit, seed=self.seed, level=level)}

    def _extraction(self, sides: Sides | None) -> dict[str, Any]:
        scorer: Any = self.scorer
        if not hasattr(scorer, "samples"):
            return {"left_out": _NO_SAMPLES}
        options = self.options
        training = rows_of(options["training"] or options["members"], self.language)
        text = extraction.TrainingText(
            (row.utterance.split() for row in training), options["words"]
        )
        count: int = options["samples"]
        drawn: Iterator[tuple[str, ...]] = scorer.samples(count, seed=self.seed)
        with progress(drawn, label="samples", total=count) as seen:
            found: Extracted = extraction.extracted(seen, text, keep=options["show"])
        self.shown = found.texts
        others = [row.utterance.split() for row in sides.others] if sides else ()
        return extraction.described(found, text, others, level=options["level"])


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the names of folders; of two of one name, their whole paths."""
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def _digest(folder: Path) -> dict[str, str]:
    """Return the hashes of a model's files."""
    names = sorted(
        Path(at) / name
        for at, _, files in os.walk(folder)
        for name in files
        if name.endswith((".safetensors", ".json", ".bin"))
    )
    return {str(path.relative_to(folder)): digest_of(str(path)) for path in names}
