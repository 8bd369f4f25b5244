"""An audit as a stage: attack by attack, then their bounds, beside the claim."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.models.device import prepare_torch
from genie_dp.private.audit import exposure, extraction, membership
from genie_dp.private.audit.canaries import Canaries, load_canaries
from genie_dp.private.audit.config import Audit, AuditConfig, Shadow
from genie_dp.private.audit.membership import Attack, Sides
from genie_dp.private.audit.models import (
    SamplingScorer,
    Scorer,
    StepwiseScorer,
    count_words,
    language_of,
    open_scorer,
)
from genie_dp.private.audit.release import ReleaseAttack, claim_of_release
from genie_dp.private.audit.report import SCHEMA, STATEMENT, audit_lines, audit_page
from genie_dp.private.audit.statistics import Floats, bootstrap, guess
from genie_dp.private.audit.verdict import (
    Claim,
    ProvenBound,
    claim_of,
    has_public_rows,
    largest_refutable,
    prove_bounds,
    refuse_claim,
    verdict_of,
)
from genie_dp.private.source import PrivateRow
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.run.files import check_output, for_owner_alone, open_text, sha256_of
from genie_dp.run.manifest import write_json
from genie_dp.run.stage import Output, Result, show_progress, write_over
from genie_dp.run.work import begin_work

# What an audit that goes on may change.
_FREE = frozenset(("states", "device", "threads"))
_AT_ONCE = 256
_NO_SAMPLES = (
    "left out, for a parser writes no text, and values of its programs come from the sentence that "
    "it is given. Give --members and --others; look for secrets in the words of its folder; and "
    "take samples of the generator that made its rows."
)


@dataclass(frozen=True, slots=True, repr=False)
class AuditResult(Result):
    """The findings of attacks on a model. Not differentially private: keep them like the rows.

    Attributes:
        model: the folder of the model, or the file of released rows.
        figures: all of them, as `save` writes them.
        bounds: lower bounds of epsilon.
        claim: the claimed guarantee; None for none.
        pieces: training text found in samples, if it was to be shown: private text.
        files: where the figures were written.
    """

    model: Path
    figures: Mapping[str, Any]
    bounds: tuple[ProvenBound, ...]
    claim: Claim | None
    pieces: tuple[tuple[str, ...], ...] = ()
    files: tuple[str, ...] = ()

    @property
    def verdict(self) -> str | None:
        """Return "refuted", "passed" or "inconclusive"; None where nothing is claimed."""
        verdict: str | None = self.figures["verdict"]
        return verdict

    @property
    def reason(self) -> str:
        """Return why, in a sentence."""
        return str(self.figures["reason"])

    @property
    def epsilon(self) -> float:
        """Return the largest lower bound of epsilon that was proved for one row; 0 for none."""
        return max((bound.epsilon for bound in self.bounds if bound.copies == 1), default=0.0)

    def __repr__(self) -> str:
        return f"AuditResult({self.model}: {self.verdict or 'no verdict'}; {self.reason})"

    def findings(self) -> Iterator[str]:
        """Yield all figures, and pieces of private text that were to be shown."""
        yield from audit_lines(self.figures)
        for words in self.pieces:
            yield f"private text: {' '.join(words)}"

    def lines(self) -> Iterator[str]:
        """Yield all of that, then the files."""
        yield from self.findings()
        if self.files:
            yield f"audited {self.model} -> {', '.join(self.files)}"

    def save(self, output: str | Path, *, report: str | Path | None = None) -> None:
        """Write the figures as JSON, and a page with them; only their owner can read either."""
        with for_owner_alone():
            if report is not None:
                with open_text(str(report)) as out:
                    out.write(audit_page(self.figures))
            write_json(str(output), self.figures)

    def check(self) -> None:
        """Refuse a claim that a bound refutes.

        Raises:
            GenieError: N060, one problem for each such bound.
        """
        refuse_claim(self.bounds, self.claim)


def run(stage: Audit, output: Output, *, progress: bool | None = None) -> AuditResult:
    """Attack a model, and compare the proven bounds with its claim.

    Raises:
        GenieError: the output is no local file (N061), exists or is an input (Y022), or an input is
            invalid; docs/errors.md has all.
    """
    target = output.path
    if target is None:
        hint = "name a file beside the private rows"
        message = f"figures of an audit are written to local files only, got {output.target}"
        raise GenieError(Problem("N061", message, hint=hint))
    targets = [target, *([stage.report] if stage.report else [])]
    _refuse_targets(targets, stage, output)
    if output.overwrite:
        shutil.rmtree(output.work, ignore_errors=True)
    files = tuple(map(str, targets))
    if stage.release is not None:
        with for_owner_alone():
            result = audit_release(stage, files)
            result.save(target, report=stage.report)
        return result
    config = stage.config
    prepare_torch(config.device, config.threads)
    with for_owner_alone():
        audit = ModelAudit(stage, output.work, progress)
        with begin_work(output.work, audit.settings(), resume=output.resume):
            result = audit.run(files)
            result.save(target, report=stage.report)
    shutil.rmtree(output.work)
    return result


def audit_release(stage: Audit, files: tuple[str, ...] = ()) -> AuditResult:
    """Return the leakage of released rows about the rows that they were learned from."""
    release, members, others, config = stage.release, stage.members, stage.others, stage.config
    assert release is not None
    assert members is not None
    assert others is not None
    claim = claim_of_release(release)
    if config.claim is not None and config.delta is not None:
        claim = Claim(config.claim, config.delta, about=config.about)
    attacks = ReleaseAttack(release, members, others, config, config.language or DEFAULT_LANGUAGE)
    attack, risks = attacks.figures()
    bounds = prove_bounds([attack], [], claim, level=config.level, seed=config.seed)
    figures = new_figures(release.name, "release", config, claim)
    figures["rows"] = membership.count_sides(attacks.sides)
    figures["membership"] = [
        membership.describe_attack(attack, seed=config.seed, level=config.level)
    ]
    figures["release"] = risks
    conclude(figures, bounds, claim)
    return AuditResult(release, figures, tuple(bounds), claim, (), files)


def new_figures(name: str, kind: str, config: AuditConfig, claim: Claim | None) -> dict[str, Any]:
    """Return the figures of an audit that has found nothing yet."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": f"Audit of {name}",
        "privacy": {"is_differentially_private": False, "statement": STATEMENT},
        "kind": kind,
        "seed": config.seed,
        "level": config.level,
        "claim": claim.as_dict() if claim else None,
        "rows": None, "membership": [], "canaries": None, "guesses": None, "extraction": None,
        "release": None,
    }  # fmt: skip


def conclude(figures: dict[str, Any], bounds: Sequence[ProvenBound], claim: Claim | None) -> None:
    """Add the bounds to the figures, and their verdict on the claim."""
    figures["epsilon"] = [bound.as_dict() for bound in bounds]
    figures["refutable"] = largest_refutable(bounds)
    figures["verdict"], figures["reason"] = verdict_of(bounds, claim)


def _refuse_targets(targets: Sequence[Path], inputs: Audit, output: Output) -> None:
    """Refuse outputs that exist already, or that would take the place of something else (Y022)."""
    # An audit that was let in goes on, even if some of its files are there.
    may_exist = output.overwrite or (output.resume and output.work.exists())
    taken = [path.resolve() for path in (*inputs.files, *targets) if path is not None]
    for path in targets:
        check_output(str(path))
        if taken.count(path.resolve()) > 1:
            raise GenieError(Problem("Y022", f"{path} is named twice", hint="give another file"))
        if path.exists() and not may_exist:
            hint = "give another name, or --overwrite"
            raise GenieError(Problem("Y022", f"{path} exists already", hint=hint))


@dataclass(slots=True)
class _ModelFindings:
    """The findings of attacks on one model."""

    attacks: list[Attack] = field(default_factory=list)
    exposures: list[exposure.Exposure] = field(default_factory=list)


class ModelAudit:
    """The attacks on one model; slow results are kept in its work folder."""

    def __init__(self, stage: Audit, work: Path, progress: bool | None = None):
        self.config, self.inputs, self.work = stage.config, stage, work
        self._open_model, self._progress = stage.open_model or open_scorer, progress
        config, inputs = stage.config, stage
        assert inputs.model is not None
        self.folder = inputs.model
        self.claim = claim_of(self.folder, config.about)
        if config.claim is not None and config.delta is not None:
            self.claim = Claim(config.claim, config.delta, about=config.about)
        self.scorer = self._open(self.folder)
        self.language = config.language or language_of(self.folder) or DEFAULT_LANGUAGE

    def settings(self) -> dict[str, Any]:
        """Return all that an audit which goes on must share; files by their hashes."""
        learned = (shadow.rows for shadow in self.inputs.shadows)
        return {
            "version": __version__,
            "files": [sha256_of(str(file)) if file else None for file in self.inputs.files],
            "learned": [sha256_of(str(file)) if file else None for file in learned],
            "models": [_hash_model(folder) for folder in self.inputs.folders],
            **{name: value for name, value in asdict(self.config).items() if name not in _FREE},
        }

    def run(self, files: tuple[str, ...] = ()) -> AuditResult:
        """Return all figures."""
        config, inputs = self.config, self.inputs
        model, unprotected = _ModelFindings(), _ModelFindings()
        sides: Sides | None = None
        pieces: list[tuple[str, ...]] = []
        figures = new_figures(self.folder.resolve().name, self.scorer.kind, config, self.claim)
        copies = 1
        if inputs.members is not None and inputs.others is not None:
            sides, model.attacks, unprotected.attacks = self.attack_rows(
                inputs.members, inputs.others
            )
            figures["rows"] = membership.count_sides(sides)
            figures["membership"] = [
                membership.describe_attack(attack, seed=config.seed, level=config.level)
                for attack in model.attacks
            ]
        if inputs.canaries is not None:
            canaries = load_canaries(inputs.canaries)
            copies = canaries.repeats
            if canaries.coins is not None:
                attack, *beside = self.guess_canaries(canaries)
                model.attacks.append(attack)
                unprotected.attacks += beside
                figures["guesses"] = self.describe_guesses(attack)
            else:
                if inputs.references and inputs.members is None:
                    message = "canaries without coins are ranked by the model alone: no reference"
                    hint = "leave --reference out, or toss coins: genie-dp private canaries --coin"
                    raise GenieError(Problem("N061", message, hint=hint))
                model.exposures, figures["canaries"] = self.expose(
                    canaries, self.scorer, "candidates"
                )
                if inputs.unprotected is not None:
                    scorer = self._open(inputs.unprotected)
                    unprotected.exposures, _ = self.expose(canaries, scorer, "unprotected")
        if config.samples:
            figures["extraction"], pieces = self.extract(sides)
        bounds = prove_bounds(
            model.attacks,
            model.exposures,
            self.claim,
            copies=copies,
            level=config.level,
            seed=config.seed,
            unprotected=(
                None if inputs.unprotected is None else (unprotected.attacks, unprotected.exposures)
            ),
        )
        conclude(figures, bounds, self.claim)
        return AuditResult(self.folder, figures, tuple(bounds), self.claim, tuple(pieces), files)

    # ----------------------------------------------------------------------------- membership

    def attack_rows(self, members: Path, others: Path) -> tuple[Sides, list[Attack], list[Attack]]:
        """Return the rows, the attacks on the model, and those on the unprotected one, if any."""
        inputs, with_programs = self.inputs, self.scorer.needs_programs
        # What is claimed is claimed of private rows alone.
        private_only = has_public_rows(self.folder)
        read = [
            membership.read_rows(path, self.language, private_only=private_only)
            for path in (members, others)
        ]
        sides = membership.sides_of(read[0], read[1], with_programs=with_programs)
        rows = (*sides.members, *sides.others)
        folders = [*inputs.references, *(shadow.folder for shadow in inputs.shadows)]
        parts = [self._losses("model", self.scorer, rows)]
        parts += [self._losses(f"other{i}", folder, rows) for i, folder in enumerate(folders)]
        if inputs.unprotected is not None:
            parts.append(self._losses("unprotected", inputs.unprotected, rows))
        losses = np.stack(parts)
        readable = np.asarray(np.isfinite(losses).all(0))
        learned = np.zeros((0, int(readable.sum())))
        if inputs.shadows:
            learned = np.array([self._is_learned(shadow, rows) for shadow in inputs.shadows])
            learned = learned[:, readable]
        rows = tuple(row for row, is_fine in zip(rows, readable, strict=True) if is_fine)
        count = int(readable[: len(sides.members)].sum())
        left_out = {**sides.left, "rows that the model cannot read": int((~readable).sum())}
        # Again, for there may be too few now.
        membership.sides_of(rows[:count], rows[count:], with_programs=with_programs)
        sides = Sides(rows[:count], rows[count:], left_out)
        losses, beside = losses[:, readable], slice(1, 1 + len(folders))
        attacks = [
            self._attacks(rows, count, own, losses[beside], learned)
            for own in (losses[0], *losses[beside.stop :])
        ]
        return sides, attacks[0], attacks[1] if inputs.unprotected is not None else []

    def _attacks(
        self,
        rows: Sequence[PrivateRow],
        members: int,
        losses: Floats,
        beside: Floats,
        learned: Floats,
    ) -> list[Attack]:
        """Return the attacks on a model by its losses, and those of references and shadows."""
        references = self.inputs.references
        words = [count_words(row, with_program=self.scorer.needs_programs) for row in rows]
        shadow_attacks = []
        if self.inputs.shadows:
            a_word = losses / np.array(words)
            of_shadows = beside[len(references) :] / np.array(words)
            scores, is_online = membership.score_by_shadows(a_word.tolist(), of_shadows, learned)
            ratios = membership.score_by_ratios(
                a_word.tolist(), of_shadows, learned, len(rows) - members
            )
            suffix = "" if is_online else " without the rows"
            shadow_attacks += [
                Attack(f"{name}{suffix}", figures[:members], figures[members:])
                for name, figures in (("shadows", scores), ("ratios", ratios))
            ]

        def part(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            return list(values[:members]), list(values[members:])

        return membership.attack_rows(
            part(losses.tolist()),
            part(words),
            {
                name: part(beside[number].tolist())
                for number, name in enumerate(_name_folders(references))
            },
            group=self.config.group,
            seed=self.config.seed,
            more=shadow_attacks,
        )

    def _is_learned(self, shadow: Shadow, rows: Sequence[PrivateRow]) -> list[bool]:
        if shadow.rows is None:
            return [False] * len(rows)
        with_programs = self.scorer.needs_programs
        learned = membership.read_rows(shadow.rows, self.language)
        keys = {row if with_programs else row.utterance for row in learned}
        return [(row if with_programs else row.utterance) in keys for row in rows]

    def _losses(self, name: str, model: Scorer | Path, rows: Sequence[PrivateRow]) -> Floats:
        """Return the loss of each row under a model; one made before lies in the work folder."""
        path = self.work / f"{name}.npy"
        if not path.exists():
            scorer = self._open(model) if isinstance(model, Path) else model
            starts = range(0, len(rows), _AT_ONCE)
            batches = show_progress(
                starts, label=f"losses of {name}", total=len(starts), show=self._progress
            )
            parts = [scorer.losses(rows[start : start + _AT_ONCE]) for start in batches]
            partial = self.work / f"{name}.part.npy"
            np.save(partial, np.concatenate(parts))
            partial.replace(path)
        losses: Floats = np.load(path)
        return losses

    def _open(self, folder: Path) -> Scorer:
        return self._open_model(folder, device=self.config.device, longest=self.config.longest)

    # -------------------------------------------------------------------- canaries and samples

    def guess_canaries(self, canaries: Canaries) -> list[Attack]:
        """Return the attack by canaries that coins put in: on the model, and the unprotected one.

        The score of a canary is how much likelier it is than for models that have seen none: the
        best of these is the model before its private training.

        Raises:
            GenieError: the model gives texts no probability (N059).
        """
        inputs, rows = self.inputs, canaries.rows
        _check_texts(self.scorer)
        before = [
            self._losses(f"canaries of other{number}", folder, rows)
            for number, folder in enumerate(inputs.references)
        ]
        parts = [self._losses("canaries", self.scorer, rows)]
        if inputs.unprotected is not None:
            parts.append(self._losses("canaries of unprotected", inputs.unprotected, rows))
        is_in = np.array(canaries.coins)
        attacks = []
        for losses in parts:
            scores = (np.mean(before, axis=0) if before else 0.0) - losses
            attacks.append(
                Attack(
                    "canaries", scores[is_in], scores[~is_in],
                    is_tossed=True, is_unit=canaries.are_units,
                )
            )  # fmt: skip
        return attacks

    def describe_guesses(self, attack: Attack) -> dict[str, Any]:
        """Return the figures of guesses, for JSON."""
        seed, level = self.config.seed, self.config.level
        pair = [attack.members, attack.others]
        return {
            "canaries": len(attack.members) + len(attack.others),
            "put in": len(attack.members),
            "calibrated by": _name_folders(self.inputs.references),
            "auc": bootstrap(pair, membership.auc, name="canaries auc", seed=seed, level=level),
            "shares": [guesses.as_dict() for guesses in guess(attack.members, attack.others)],
        }

    def expose(
        self, canaries: Canaries, scorer: Scorer, name: str
    ) -> tuple[list[exposure.Exposure], dict[str, Any]]:
        """Return the exposures under a model, and their figures.

        Args:
            canaries: that the model may have learned.
            scorer: of the model.
            name: of the file with the candidates that are done.

        Raises:
            GenieError: the model gives texts no probability (N059).
        """
        stepwise = _check_texts(scorer)

        def tell(done: int, size: int) -> None:
            write_over(f"candidates: {done:,} of {size:,}", show=self._progress)

        try:
            losses = exposure.candidate_losses(
                stepwise,
                canaries,
                work=self.work / f"{name}.f64",
                batch=self.config.states,
                with_end=self.config.with_end,
                listen=tell,
            )
        finally:
            write_over("", show=self._progress)
        seed, level = self.config.seed, self.config.level
        fit = exposure.fit_losses(losses, canaries.numbers, seed=seed)
        exposures = exposure.measure_exposures(losses, canaries.numbers, fit)
        facts = {"template": canaries.template.text, "repeats": canaries.repeats}
        figures = exposure.describe_exposures(exposures, fit, seed=seed, level=level)
        return exposures, {**facts, **figures}

    def extract(self, sides: Sides | None) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
        """Return the figures of training text in samples, and pieces of it if asked for."""
        scorer, config = self.scorer, self.config
        if not isinstance(scorer, SamplingScorer):
            return {"left_out": _NO_SAMPLES}, []
        path = cast("Path", self.inputs.training or self.inputs.members)
        rows = membership.read_rows(path, self.language)
        text = extraction.TrainingText((row.utterance.split() for row in rows), config.words)
        samples = show_progress(
            scorer.samples(config.samples, seed=config.seed),
            label="samples",
            total=config.samples,
            show=self._progress,
        )
        copies = extraction.find_copies(samples, text, keep=config.show)
        others = [row.utterance.split() for row in sides.others] if sides else ()
        figures = extraction.describe_extraction(copies, text, others, level=config.level)
        return figures, copies.texts


def _check_texts(scorer: Scorer) -> StepwiseScorer:
    """Return the scorer of a model of texts; refuse another one (N059)."""
    if not isinstance(scorer, StepwiseScorer):
        message = f"canaries are texts, and a {scorer.kind} gives texts no probability"
        raise GenieError(Problem("N059", message, hint="leave --canaries out"))
    return scorer


def _name_folders(folders: Sequence[Path]) -> list[str]:
    """Return the names of folders; of two of one name, their whole paths."""
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]


def _hash_model(folder: Path) -> dict[str, str]:
    """Return the hashes of a model's files."""
    paths = sorted(
        Path(place) / name
        for place, _, files in os.walk(folder)
        for name in files
        if name.endswith((".safetensors", ".json", ".bin"))
    )
    return {str(path.relative_to(folder)): sha256_of(str(path)) for path in paths}
