"""What is claimed of a model, as its folder says."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem

# Statements of confidentiality.json: private rows, missed secrets, secrets drawn at random.
About = Literal["rows", "secret", "bayesian"]
ABOUT: tuple[About, ...] = get_args(About)
SPENT, STATEMENT, MANIFEST = "spent.json", "confidentiality.json", "manifest.json"


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee: adding or removing one row changes nothing by more than (epsilon, delta).

    Attributes:
        epsilon, delta: of one row.
        unit: what the guarantee was given for.
        source: where it was read.
        about: which statement it is.
    """

    epsilon: float
    delta: float
    unit: str = "utterance"
    source: str = "--claim"
    about: About = "rows"

    @property
    def is_any(self) -> bool:
        """Return whether anything is claimed at all."""
        return math.isfinite(self.epsilon) and self.delta < 1

    @property
    def of_row(self) -> "Claim":
        """Return what it says of one row.

        Of a unit of several rows, one row more is that unit exchanged for another: it taken away,
        and the other added (group privacy of two).
        """
        if self.unit == "utterance" or not self.is_any:
            return self
        return self.of_copies(2)

    def of_copies(self, count: int) -> "Claim":
        """Return what it says of several equal rows together (Dwork and Roth, 2014, section 2.3).

        Of a secret drawn at random it says nothing then: redaction misses all its copies or none,
        so that their epsilons are more than added up.

        >>> Claim(1.0, 0.0).of_copies(20).epsilon
        20.0
        """
        is_drawn = self.about == "bayesian" and count > 1
        # Beyond 700 floats hold no more.
        if count * self.epsilon > 700 or not self.is_any or is_drawn:
            return Claim(math.inf, 1.0, self.unit, self.source, self.about)
        factor = sum(math.exp(i * self.epsilon) for i in range(count))
        delta = min(1.0, factor * self.delta)
        return Claim(count * self.epsilon, delta, self.unit, self.source, self.about)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, where infinity has no number."""
        return {**asdict(self), "epsilon": self.epsilon if self.is_any else None}


def claim_of(folder: Path, about: About = "rows") -> Claim | None:
    """Return what a folder claims, None where it says nothing.

    Of rows: spent.json of a generator, or the manifest of a parser. Of secrets: what the file
    confidentiality.json of `genie-dp private train crt` says of them; of those drawn at random, to
    somebody who knows which: epsilon of one that was missed, with delta of one that was drawn.

    Raises:
        GenieError: its files say nothing of secrets, or cannot be read (N057).
    """
    statement = folder / STATEMENT
    if about != "rows":
        facts = _read(statement)
        part = {"unit": "utterance", **_part(facts, about, statement)}
        if about == "bayesian":
            # The amplified epsilon is for who does not know the secret (definition 4); attacks look
            # for one that they know, and may see that it is of a sort that is always missed.
            part["epsilon"] = _part(facts, "secret", statement).get("epsilon")
        return replace(_claim(part, statement), about=about)
    if (folder / SPENT).exists():
        return _claim(_read(folder / SPENT), folder / SPENT)
    if (folder / MANIFEST).exists():
        spent = _read(folder / MANIFEST).get("spent")
        return None if spent is None else _claim(spent, folder / MANIFEST)
    return None


def has_public_rows(folder: Path) -> bool:
    """Tell whether a model has a statement of confidentiality: only its private rows have one."""
    return (folder / STATEMENT).exists()


def _part(facts: Mapping[str, Any], about: str, path: Path) -> Mapping[str, Any]:
    found = facts.get(about)
    if not isinstance(found, dict):
        raise _broken(path, f"nothing of {about}")
    return found


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(path, str(error)) from None
    if not isinstance(found, dict):
        raise _broken(path, "no map")
    return found


def _claim(facts: Mapping[str, Any], path: Path) -> Claim:
    try:
        return Claim(float(facts["epsilon"]), float(facts["delta"]), str(facts["unit"]), path.name)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, f"no guarantee ({error})") from None


def _broken(path: Path, what: str) -> GenieError:
    hint = "name what is claimed with --claim EPSILON and --delta"
    return GenieError(Problem("N057", f"expected a guarantee in {path}, got: {what}", hint=hint))
