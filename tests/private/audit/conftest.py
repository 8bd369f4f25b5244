"""One folder of tiny models for all tests of audits: training them is what takes the time."""

import json

import pytest

pytest.importorskip("opacus")

from genie_dp.private.audit.canaries import CanaryTemplate, new_canaries
from tests.private.audit.audit_models import generator, learn, said, saved


@pytest.fixture(scope="session")
def leaking(tmp_path_factory):
    """A folder with a model that knows its rows by heart, and claims epsilon 0.1."""
    folder = tmp_path_factory.mktemp("audit")
    texts = said(80)
    canaries = new_canaries(CanaryTemplate("My ID is {digits:2}"), count=4, repeats=5, seed=1)
    placed = [row.utterance for row in canaries.rows] * 5
    saved(learn(generator(), texts[:40] + placed, epochs=80, rate=2e-2), folder / "leaking", 0.1)
    saved(generator(), folder / "fresh", 0.1)
    for number in range(2):
        half = texts[number::2]
        made = learn(generator(seed=number + 1), half + placed, epochs=60, rate=2e-2)
        saved(made, folder / f"shadow{number}", 0.1)
        (folder / f"learned{number}.txt").write_text("\n".join(half))
    (folder / "in.txt").write_text("\n".join(texts[:40]))
    rows = (json.dumps({"utterance": text}) for text in texts[40:])
    (folder / "out.jsonl").write_text("\n".join(rows))
    canaries.save(folder / "canaries.json")
    return folder
