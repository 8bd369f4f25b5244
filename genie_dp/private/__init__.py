"""Releases from private rows, within a budget that is promised once.

    import genie_dp as gd

    gd.private.Ledger.init("private.jsonl", epsilon=3, delta=1e-6, unit="user", cap=20)
    with gd.private.Ledger("private.jsonl") as ledger:
        prior = ledger.prior(epsilon=1, library="shipped")
    gd.synthesize(prior=prior, size=50_000)
    gd.private.audit("model", members="in.jsonl", others="out.jsonl").verdict

Names that are not in `__all__` are internal.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from genie_dp.recipe import list_settings

if TYPE_CHECKING:
    from genie_dp.private.api import Ledger, audit
    from genie_dp.private.audit.privacy import PrivacyReport
    from genie_dp.private.audit.run import AuditResult
    from genie_dp.private.evolution.run import EvolutionResult
    from genie_dp.private.gaps.run import GapResult
    from genie_dp.private.generators.run import GeneratorResult
    from genie_dp.private.generators.sample import SampleResult
    from genie_dp.private.ledger.budget import Budget
    from genie_dp.private.planner import PrivatePlan, plan
    from genie_dp.private.prior.run import PriorResult
    from genie_dp.records import Spent

__all__ = (
    "AuditResult", "Budget", "EvolutionResult", "GapResult", "GeneratorResult", "Ledger",
    "PriorResult", "PrivacyReport", "PrivatePlan", "SampleResult", "Spent", "audit", "plan",
)  # fmt: skip

# name -> its module, imported when somebody asks for the name.
_HOMES = {
    "AuditResult": "private.audit.run",
    "Budget": "private.ledger.budget",
    "EvolutionResult": "private.evolution.run",
    "GapResult": "private.gaps.run",
    "GeneratorResult": "private.generators.run",
    "Ledger": "private.api",
    "PriorResult": "private.prior.run",
    "PrivacyReport": "private.audit.privacy",
    "PrivatePlan": "private.planner",
    "SampleResult": "private.generators.sample",
    "Spent": "records",
    "audit": "private.api",
    "plan": "private.planner",
}


class _Package(ModuleType):
    """The package: the name of the function `audit` stays its own (see genie_dp/__init__.py)."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'genie_dp.private' has no attribute {name!r}")
    value = getattr(import_module(f"genie_dp.{_HOMES[name]}"), name)
    list_settings(value)
    return value


def __dir__() -> list[str]:
    return list(__all__)
