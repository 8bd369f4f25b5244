"""What may be learned from private rows, within a budget that is promised once.

    import genie_dp as gd

    gd.private.Ledger.init("private.jsonl", epsilon=3, delta=1e-6, unit="user", cap=20)
    with gd.private.Ledger("private.jsonl") as ledger:
        prior = ledger.prior(epsilon=1)
    gd.synthesize(prior=prior, size=50_000)

Names that are not in `__all__` are internal.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genie_dp.private.api import Ledger
    from genie_dp.private.ledger.budget import Budget
    from genie_dp.private.prior.run import PriorResult
    from genie_dp.records import Spent

__all__ = ("Budget", "Ledger", "PriorResult", "Spent")

# name -> its module, imported when somebody asks for the name.
_HOMES = {
    "Budget": "private.ledger.budget",
    "Ledger": "private.api",
    "PriorResult": "private.prior.run",
    "Spent": "records",
}


def __getattr__(name: str) -> Any:
    """Return a public name, importing what it needs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'genie_dp.private' has no attribute {name!r}")
    return getattr(import_module(f"genie_dp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
