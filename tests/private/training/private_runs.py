"""Small private runs: settings, units and what is spent, for tests of private training."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from genie_dp.private.ledger.guard import Units  # noqa: E402
from genie_dp.private.training import check  # noqa: E402
from genie_dp.private.training.run import PrivateRun  # noqa: E402
from genie_dp.private.training.settings import DPSettings  # noqa: E402
from genie_dp.records import Spent  # noqa: E402
from tests.private.training import private_models as models  # noqa: E402

SPENT = Spent(3.0, 1e-5, "user", "add-or-remove-one", "rdp", ("what the ledger says",))
SMALL = {"noise_multiplier": 1.0, "rate": 0.5, "steps": 6, "batch": 4.0}


def small(**changes):
    return DPSettings(**{**SMALL, **changes})


def spend(mechanisms):
    return SPENT


def units(count=8, *, each=2):
    rows = models.rows(count * each)
    return Units(tuple(rows[i * each : (i + 1) * each]) for i in range(count))


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def leave_engines_unchecked(request, monkeypatch):
    """Leave out the comparison of engines, which takes longer than these runs, where it may be."""
    if "checked" not in request.fixturenames:
        monkeypatch.setattr(check, "check_engine", lambda *_, **__: None)


def run_of_model(model, *, rows=None, **changes):
    run = PrivateRun(model, rows if rows is not None else units(), small(**changes))
    run.spent = SPENT
    return run
