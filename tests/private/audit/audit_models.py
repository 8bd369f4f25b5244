"""Tiny language models for audits: untrained ones, and ones that know their rows by heart."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from genie_dp.languages import get_language  # noqa: E402
from genie_dp.private.audit.models import GeneratorScorer  # noqa: E402
from genie_dp.private.generators.generator import new_generator, save_generator  # noqa: E402
from genie_dp.private.generators.models import RecurrentLMSettings, collate  # noqa: E402
from genie_dp.private.generators.stages import STAGES, LabelledRow, encode_row  # noqa: E402
from genie_dp.private.source import PrivateRow  # noqa: E402
from genie_dp.records import Spent  # noqa: E402
from genie_dp.rng import stream  # noqa: E402

torch.set_num_threads(1)
NAMES = ("ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal")


def said(number, seed=0):
    """Return so many different sentences with invented numbers in them."""
    rng = stream(seed, "audit rows")
    return [f"call {rng.choice(NAMES)} at {n:04d} now" for n in rng.sample(range(10_000), number)]


def generator(*, seed=0, size=32):
    """Return an untrained model that spells numbers digit by digit."""
    words = ["call", "at", "now", "My", "ID", "is", *NAMES]
    rows = [LabelledRow(tuple(words)) for _ in range(2)]
    settings = RecurrentLMSettings(size, longest=32)
    return new_generator("one-stage", get_language("thingtalk"), rows, settings, seed=seed)


def learn(made, texts, *, epochs, rate=1e-2, batch=32, seed=0):
    """Train on texts without noise."""
    stage = STAGES[made.kind][-1]
    model = made.models[stage.name].train()
    rows = [
        encode_row(stage, LabelledRow(tuple(text.split())), made.tokenizer, longest=model.longest)
        for text in texts
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        chosen = torch.randperm(len(rows), generator=order).tolist()
        for start in range(0, len(rows), batch):
            some = collate([rows[i] for i in chosen[start : start + batch]])
            optimizer.zero_grad()
            model.loss(some).mean().backward()
            optimizer.step()
    model.eval()
    return made


def scorer(made):
    return GeneratorScorer(made)


def rows(texts):
    return [PrivateRow(text) for text in texts]


def saved(made, folder, epsilon, delta=1e-5, unit="utterance"):
    """Write a model with a claim."""
    spent = Spent(epsilon, delta, unit, "add-or-remove-one", "rdp", ("a test",))
    save_generator(made, folder, spent=spent)
    return folder
