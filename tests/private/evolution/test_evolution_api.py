"""`Ledger.evolve`: the evolution of the command, paid alike, and no way to seed its noise."""

import inspect
import json
from pathlib import Path

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.private.evolution import evolve as evolution_module
from genie_dp.private.evolution import voting
from genie_dp.private.secure import _seeded
from genie_dp.rows import read_rows

pytest.importorskip("dp_accounting")

SEEDS = {"kind": "seeds", "examples": ["seeds.jsonl"]}
SETTINGS = {"generator": SEEDS, "iterations": 2, "population": 6, "variations": 2, "rows": 8}


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["where is my card", "my card is lost", "show me rates", "wake me up at seven"]
    for name, word in (("private", "zyzzyva"), ("seeds", "now")):
        lines = (json.dumps({"utterance": f"{text} {word}"}) for text in texts * 20)
        Path(f"{name}.jsonl").write_text("\n".join(dict.fromkeys(lines)) + "\n")
    return gd.private.Ledger.init("private.jsonl", epsilon=8, delta=1e-5, unit="utterance")


def test_an_evolution_from_python_is_that_of_the_command(ledger, capsys):
    before = set(Path().iterdir())
    with _seeded(0):
        result = ledger.evolve(epsilon=4, **SETTINGS)
    assert capsys.readouterr() == ("", "")
    after = set(Path().iterdir()) - before
    assert all(path.name.startswith((".private.", "private.")) for path in after)
    Path("apart").mkdir()
    Path("apart/private.jsonl").write_bytes(Path("private.jsonl").read_bytes())
    gd.private.Ledger.init(
        "apart/private.jsonl", epsilon=8, delta=1e-5, unit="utterance", apart=True
    )
    Path("recipe.yaml").write_text(json.dumps(SETTINGS))
    words = ["private", "evolve", "apart/private.jsonl", "--recipe", "recipe.yaml"]
    with _seeded(0):
        assert cli.run([*words, "--epsilon", "4", "-o", "made"]) == 0
    assert list(result.rows) == list(read_rows("made/rows.jsonl"))
    assert list(result.rows) == list(result.rows)
    assert result.prior.prior.utterances == tuple(row.utterance for row in result.rows)
    assert result.spent.epsilon == ledger.spent.epsilon == pytest.approx(4, abs=0.01)
    assert "2 votes with noise" in str(result)
    assert len(repr(result)) < 200


def test_an_interrupted_evolution_goes_on_for_the_same_payment(ledger, monkeypatch):
    def killed(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(voting, "noisy_histogram", killed)
        with pytest.raises(KeyboardInterrupt):
            ledger.evolve(epsilon=4, output="made", **SETTINGS)
    paid = ledger.spent.epsilon
    with pytest.raises(gd.GenieError, match="Y021"):
        ledger.evolve(epsilon=4, output="made", **SETTINGS)
    result = ledger.evolve(epsilon=4, output="made", resume=True, **SETTINGS)
    assert 0 < paid < result.spent.epsilon == pytest.approx(4, abs=0.01)
    assert list(result.rows) == list(read_rows("made/rows.jsonl"))
    rest = ledger.evolve(rest=True, **SETTINGS)
    assert rest.spent.epsilon == pytest.approx(8, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"epsilon": 9}, "B023"),
        ({}, "U008"),
        ({"epsilon": 1, "rest": True}, "U008"),
        ({"epsilon": 1, "noise_seed": 3}, "R043"),
        ({"epsilon": 1, "noise_multiplier": 0.0}, "R043"),
        ({"epsilon": 1, "iterations": 0}, "U003"),
        ({"epsilon": 1, "embedding": "hash"}, "U002"),
        ({"epsilon": 1, "generator": {"kind": "seed"}}, "U002"),
        ({"epsilon": 1, "generator": {"kind": "seeds", "files": []}}, "U002"),
        ({"epsilon": 1, "generator": {"kind": "seeds", "examples": ["private.jsonl"]}}, "U007"),
        ({"epsilon": 1, "public": "private.jsonl"}, "U007"),
        ({"epsilon": 1, "label": "field:intent"}, "U004"),
    ],
)
def test_what_cannot_be_evolved_costs_nothing(ledger, settings, code):
    with pytest.raises(gd.GenieError, match=code):
        ledger.evolve(**{**SETTINGS, **settings})
    assert ledger.spent.epsilon == 0
    assert not Path(".evolution.work").exists()


def test_a_closed_ledger_lets_nobody_vote_and_no_call_takes_a_seed_of_the_noise(ledger):
    with ledger:
        pass
    with pytest.raises(gd.GenieError, match="B036"):
        ledger.evolve(epsilon=1, **SETTINGS)
    for call in (gd.private.Ledger.evolve, evolution_module.evolve):
        assert not [name for name in inspect.signature(call).parameters if "noise" in name]
