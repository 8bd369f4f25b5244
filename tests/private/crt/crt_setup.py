"""Small models and runs of confidentially redacted training."""

import torch

from genie_dp.private.generators.alternating import AlternatingRun
from genie_dp.private.generators.models import RecurrentLM, RecurrentLMSettings
from genie_dp.private.generators.plans import PublicSteps
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.settings import DPSettings
from genie_dp.records import Spent
from tests.private.training import private_models as models
from tests.private.training.private_models import made

SPENT = Spent(3.0, 1e-5, "utterance", "add-or-remove-one", "rdp", ("what the ledger says",))
LSTM = RecurrentLMSettings(8, longest=16)


def noisy(**changes):
    facts = {"noise_multiplier": 1.0, "rate": 0.5, "steps": 4, "batch": 4.0}
    return DPSettings(**{**facts, **changes})


def lstm():
    return made(RecurrentLM, models.WORDS, LSTM)


def units(count=8, seed=1):
    return Units((row,) for row in models.rows(count, seed=seed))


def alternating(model=None, *, private=None, public=None, **changes):
    plain = PublicSteps(batch=3, optimizer=changes.pop("optimizer", "adamw"), clip=0.0)
    return AlternatingRun(
        model or lstm(),
        models.rows(7, seed=2) if public is None else public,
        units() if private is None else private,
        epochs=2,
        plain=plain,
        noisy=noisy(**changes),
    )


def paid(run):
    run.pay(lambda mechanisms: SPENT)
    return run


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])
