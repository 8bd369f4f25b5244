"""The file of a private prior, and its weights of rows: all that stages know of private data."""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.programs import functions_of
from genie_dp.records import Example, Frequency, PrivatePrior, Spent
from genie_dp.run.files import exists_error, named_trouble
from genie_dp.run.manifest import manifest_of

FORMAT = "genie_dp private prior"
VERSION = 1
_KEYS = frozenset(("format", "version", *PrivatePrior.__dataclass_fields__))


@dataclass(frozen=True, slots=True, repr=False)
class PriorFile:
    """A prior with the SHA-256 of its file, by which manifests name it."""

    prior: PrivatePrior
    digest: str

    def __repr__(self) -> str:
        spent = self.prior.spent
        guarantee = f"epsilon {spent.epsilon:.4g} at delta {spent.delta:.4g}"
        count = len(self.prior.function_weights)
        return f"{type(self).__name__}({count:,} functions, {guarantee} for each {spent.unit})"

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the prior to a file, which other stages and commands take as well.

        Raises:
            GenieError: Y022, it exists, and is not to be overwritten.
        """
        if Path(path).exists() and not overwrite:
            raise exists_error(Path(path), hint="give another name, or overwrite it")
        save_prior(self.prior, Path(path))

    def manifest_fields(self) -> dict[str, Any]:
        """Return the entry of the prior in the manifests of its outputs."""
        return {"sha256": self.digest, "spent": asdict(self.prior.spent)}


def save_prior(prior: PrivatePrior, path: Path) -> None:
    """Write a prior under a temporary name and rename it, for it may not be half there."""
    content = {"format": FORMAT, "version": VERSION, **asdict(prior)}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with named_trouble(path), temporary.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_prior(path: Path) -> PriorFile:
    """Return a prior that `save_prior` wrote.

    Raises:
        GenieError: F001, it is none, or of a version that is not known.
    """
    try:
        data = path.read_bytes()
        return PriorFile(prior_of(json.loads(data)), sha256(data).hexdigest())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "give a file that `genie-dp private prior` made"
        raise GenieError(Problem("F001", f"{path}: no private prior: {error}", hint=hint)) from None


def prior_of(content: Mapping[str, Any]) -> PrivatePrior:
    """Return the prior of a file's JSON.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    if content["format"] != FORMAT or content["version"] != VERSION:
        expected = f"expected format {FORMAT!r}, version {VERSION}"
        raise ValueError(f"{expected}, got {content['format']!r}, {content['version']!r}")
    if unknown := sorted(content.keys() - _KEYS):
        raise ValueError(f"unknown fields {', '.join(unknown)}")
    return PrivatePrior(
        spent_of(content["spent"]),
        _weights(content["function_shares"]),
        _weights(content["function_weights"]),
        _weights(content["pair_weights"]),
        _texts(content["programs"]),
        _texts(content["utterances"]),
        _frequencies(content["functions"]),
        _frequencies(content["pairs"]),
        _frequencies(content["missing"]),
        float(content["signal"]),
        dict(content["release"]),
    )


def spent_of(fields: Mapping[str, Any]) -> Spent:
    """Return a guarantee of its JSON."""
    return Spent(**{**fields, "not_covered": tuple(fields["not_covered"])})


def load_spent(path: Path) -> Spent:
    """Return the guarantee of a file, such as the spent.json of a generator.

    Raises:
        GenieError: D012, the file holds none.
    """
    try:
        return spent_of(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        hint = "a JSON object: epsilon, delta, unit, relation, accountant, not_covered"
        raise GenieError(Problem("D012", f"{path}: {error}", hint=hint)) from None


def _weights(content: Mapping[str, Any]) -> dict[str, float]:
    weights = {str(name): float(weight) for name, weight in content.items()}
    if wrong := [name for name, w in weights.items() if not (math.isfinite(w) and w >= 0)]:
        raise ValueError(f"the weight of {wrong[0]} must be a number >= 0")
    return weights


def _texts(content: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(content)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("programs and utterances must be texts")
    return texts


def _frequencies(content: Mapping[str, Any]) -> dict[str, Frequency]:
    return {name: Frequency(**fields) for name, fields in content.items()}


# ------------------------------------------------------------------------ of files made with it


def priors_in(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest entries of the priors that its rows were made with, by hash."""
    own = manifest.get("prior")
    priors = dict(manifest.get("priors") or {})
    return priors | {own["sha256"]: own["spent"]} if own else priors


def priors_of(inputs: Iterable[str]) -> dict[str, Any]:
    """Return the priors with which files were made, by the manifests beside them."""
    priors: dict[str, Any] = {}
    for name in inputs:
        path = Path(manifest_of(name))
        if "://" in name or not path.is_file():
            continue
        try:
            priors |= priors_in(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, AttributeError):
            continue  # somebody else's file of that name
    return priors


def guarantee_of(inputs: Iterable[str]) -> Spent | None:
    """Return the guarantee of the prior with which files were made; None if there is not one.

    Of several, none covers the cost of the others: their manifests name all of them.
    """
    guarantees = list(priors_of(inputs).values())
    return spent_of(guarantees[0]) if len(guarantees) == 1 else None


def refuse_twice(prior: PriorFile | None, inputs: Sequence[str]) -> None:
    """Refuse to weigh rows by a prior that they were made with: it would count twice.

    Raises:
        GenieError: F005.
    """
    if prior is None:
        return
    weighed_files = [name for name in inputs if prior.digest in priors_of([name])]
    if weighed_files:
        hint = "leave --prior out here, or synthesize without it"
        message = (
            f"{', '.join(weighed_files)}: made with this prior already, which would count twice"
        )
        raise GenieError(Problem("F005", message, hint=hint))


# ------------------------------------------------------------------------------- of a row


def pair_name(left: str, right: str) -> str:
    """Return the name of a pair of functions, whatever their order.

    >>> pair_name("@c.d", "@a.b")
    '@a.b @c.d'
    """
    return " ".join(sorted((left, right)))


def pairs_of(functions: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all pairs of different functions of one program, first ones first.

    >>> pairs_of(["@a.b", "@c.d", "@a.b"])
    ('@a.b @c.d',)
    """
    pairs = combinations(dict.fromkeys(functions), 2)
    return tuple(pair_name(left, right) for left, right in pairs)


def row_weight(prior: PrivatePrior, functions: Iterable[str]) -> float:
    """Return by how much a prior multiplies the weight of a row with these functions.

    The geometric mean of the functions' multipliers, so that a compound command weighs as much as
    its functions do on average, times those of its pairs. A row without functions weighs 1.

    >>> spent = Spent(1.0, 1e-6, "user", "add-or-remove-one", "rdp", ())
    >>> prior = PrivatePrior(spent, {}, {"@a.b": 4.0}, {"@a.b @c.d": 3.0})
    >>> row_weight(prior, ["@a.b"]), row_weight(prior, ["@c.d", "@a.b"])
    (4.0, 6.0)
    """
    names = tuple(functions)
    if not names:
        return 1.0
    weights = [prior.function_weights.get(name, 1.0) for name in names]
    mean = math.prod(weights) ** (1 / len(weights))
    return mean * math.prod(prior.pair_weights.get(pair, 1.0) for pair in pairs_of(names))


def weigh_row(row: Example, prior: PrivatePrior) -> Example:
    """Return a row with its weight multiplied by the weight of its functions in a prior.

    >>> prior = PrivatePrior(Spent(1, 0, "user", "", "rdp", ()), {}, {"@c.beep": 2.0})
    >>> weigh_row(Example("S0", "beep", "now => @c.beep", weight=1.5), prior).weight
    3.0
    """
    factor = row_weight(prior, functions_of(row))
    return row if factor == 1 else replace(row, weight=round(row.weight * factor, 6))
