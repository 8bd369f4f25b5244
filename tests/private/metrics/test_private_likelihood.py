"""How likely generators find held-out rows: what a unit moves, what is released, and its cost."""

import json
import math
import random
import re
from statistics import fmean, stdev

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("dp_accounting")

from genie_dp.cli import run  # noqa: E402
from genie_dp.languages import get_language  # noqa: E402
from genie_dp.private.generators.generator import new_generator, save_generator  # noqa: E402
from genie_dp.private.generators.models import DecoderSettings  # noqa: E402
from genie_dp.private.generators.stages import LabelledRow  # noqa: E402
from genie_dp.private.ledger.book import Ledger  # noqa: E402
from genie_dp.private.metrics.config import MOST_NATS  # noqa: E402
from genie_dp.private.metrics.likelihood import nats_of_units, noisy_mean  # noqa: E402
from genie_dp.private.source import PrivateRow  # noqa: E402
from genie_dp.records import Spent  # noqa: E402
from tests.dataset.dataset_rows import row, write  # noqa: E402

WORDS = ("set", "my", "alarm", "timer", "for", "six", "noon")
SPENT = Spent(1.0, 1e-6, "utterance", "add-or-remove-one", "rdp", ())


class EachCosts:
    """A scorer under which a row costs what it says."""

    needs_programs = False

    def losses(self, rows):
        return [float(row.utterance.split()[0]) for row in rows]


def test_the_mean_is_that_of_units_and_is_bounded():
    units = [
        [PrivateRow("4 b"), PrivateRow("2 b")],  # 6 nats, 6 words
        [PrivateRow("900 b")],
        [PrivateRow("inf b")],
        [],
    ]
    assert nats_of_units(EachCosts(), units) == [1.0, MOST_NATS, MOST_NATS]
    mean, _ = noisy_mean([1.0, 3.0], 1e-9, random.Random(1))
    assert mean == pytest.approx(2.0, abs=1e-4)


def test_noise_is_as_wide_as_is_told():
    nats, rng = [2.0, 5.0, 7.0] * 200, random.Random(3)
    drawn = [noisy_mean(nats, 4.0, rng) for _ in range(400)]
    assert fmean(mean for mean, _ in drawn) == pytest.approx(fmean(nats), abs=0.02)
    assert stdev(mean for mean, _ in drawn) == pytest.approx(drawn[0][1], rel=0.15)


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generator") / "tiny"
    public = [LabelledRow(WORDS), LabelledRow(WORDS)]
    made = new_generator("one-stage", get_language("sexpr"), public, DecoderSettings(8, 1, 1, 24))
    save_generator(made, folder, spent=SPENT)
    return folder


def rows(path, number, seed):
    rng = random.Random(seed)
    texts = (" ".join(rng.choices(WORDS, k=4)) for _ in range(number))
    return write(
        path, [row(f"S{i}", f"{text} {i}", "", language="sexpr") for i, text in enumerate(texts)]
    )


def evaluate(*words, code=0):
    options = ("--utterances-only", "--no-mauve", "--language", "sexpr")
    assert run([str(word) for word in ("private", "compare", *words, *options)]) == code


def test_public_rows_have_the_likelihood_of_each_generator(tmp_path, generator, capsys):
    real, made = rows(tmp_path / "real.jsonl", 8, 1), rows(tmp_path / "made.jsonl", 8, 2)
    result = tmp_path / "result.json"
    evaluate(real, made, "--real-is-public", "--generator", generator, "--output", result)
    figure = json.loads(result.read_text())["synthetic"][0]["figures"]["held_out"]
    # An untrained model is as likely to write one id as another.
    assert figure["low"] < figure["value"] < figure["high"]
    assert 0.8 * math.log(200) < figure["value"] < 3 * math.log(300)
    assert "held-out likelihood" in capsys.readouterr().out
    evaluate(real, made, made, "--real-is-public", "--generator", generator, code=2)
    evaluate(real, made, "--real-is-public", "--spend", 1, "--generator", generator, code=2)
    assert "figures of public ones cost nothing" in capsys.readouterr().err


def test_of_private_rows_it_is_released_with_noise_and_paid(tmp_path, generator, capsys):
    real, made = rows(tmp_path / "real.jsonl", 60, 1), rows(tmp_path / "made.jsonl", 8, 2)
    budget = ("--epsilon", 2, "--delta", 1e-6, "--unit", "utterance")
    assert run([str(x) for x in ("private", "budget", "init", real, *budget)]) == 0
    options = ("--keep-private", "--generator", generator, "--spend")
    evaluate(real, made, *options, 1.5)
    out, err = capsys.readouterr()
    assert not out
    told = re.search(r"tiny: held-out likelihood (\d+\.\d+) nats a word", err)
    assert told
    assert 0 <= float(told[1]) <= MOST_NATS
    assert "spent so far: epsilon 1.5" in err
    [entry] = Ledger.open(tmp_path / "real.ledger.json").entries
    assert entry.purpose == "held-out likelihood"
    assert [mechanism.kind for mechanism in entry.mechanisms] == ["gaussian"]
    evaluate(real, made, *options, 1.5, code=1)
    assert "B023" in capsys.readouterr().err
    assert len(Ledger.open(tmp_path / "real.ledger.json").entries) == 1
