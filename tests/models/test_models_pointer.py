"""The pointer-generator against a plain loop; calibration; language models; adapters."""

import math
import random

import pytest
import torch

from genie_dp.models.calibration import Calibration, calibration_error, fit
from genie_dp.models.device import can_use_bf16
from genie_dp.models.language_model import ProgramBatches, ProgramLSTM, collate_programs
from genie_dp.models.layers import (
    Mixture,
    PooledDropout,
    all_log_probabilities,
    target_log_probabilities,
)
from genie_dp.models.loop import Run, TrainingBudget, TrainSettings
from genie_dp.models.recurrent import start_decoder
from genie_dp.models.vocabulary import Pair
from tests.models.models_setup import (
    PAIRS,
    SIZES,
    VOCABULARY,
    batch,
    batches,
    network,
    save_tiny_base,
)

ROWS, TOKENS, PLACES, KNOWN = 2, 3, 4, 5


def raw():
    """Return scores of tokens, places and the switch; gradients are taken of these."""
    rng = torch.Generator().manual_seed(7)
    shapes = ((ROWS, TOKENS, KNOWN), (ROWS, TOKENS, PLACES), (ROWS, TOKENS))
    return [torch.randn(s, generator=rng, dtype=torch.float64).requires_grad_() for s in shapes]


# The second word is token 3; the first word comes again at the end.
COPIES = torch.tensor([[5, 3, 7, 5], [5, 6, 7, 8]])
TARGETS = torch.tensor([[5, 3, 1], [8, 2, 6]])


def mixture(scores):
    generated, copied, switch = scores
    return Mixture(generated.log_softmax(2), copied.softmax(2), switch.sigmoid())


def plain(scores):
    """Return the log-probabilities of the targets by See et al., equation 9, one at a time."""
    generated, copied, switch = scores
    out = []
    for b in range(ROWS):
        for t in range(TOKENS):
            target = int(TARGETS[b, t])
            share = 1 / (1 + torch.exp(-switch[b, t]))
            total = share * 0
            if target < KNOWN:
                weights = torch.exp(generated[b, t])
                total = total + share * weights[target] / weights.sum()
            weights = torch.exp(copied[b, t])
            for place in range(PLACES):
                if int(COPIES[b, place]) == target:
                    total = total + (1 - share) * weights[place] / weights.sum()
            out.append(torch.log(total))
    return torch.stack(out).view(ROWS, TOKENS)


def test_the_mixture_and_its_gradients_are_those_of_a_plain_loop():
    scores = raw()
    found, expected = target_log_probabilities(mixture(scores), COPIES, TARGETS), plain(scores)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(x.sum(), scores) for x in (found, expected)]
    for left, right in zip(*gradients, strict=True):
        torch.testing.assert_close(left, right)


def test_the_gradient_is_that_of_small_differences():
    assert torch.autograd.gradcheck(
        lambda *scores: target_log_probabilities(mixture(scores), COPIES, TARGETS), raw()
    )


def test_the_full_distribution_has_the_targets_probabilities_and_sums_to_one():
    with torch.no_grad():
        full = all_log_probabilities(mixture(raw()), COPIES)
        found = full.gather(2, TARGETS[:, :, None])[:, :, 0]
        torch.testing.assert_close(found, plain(raw()))
        torch.testing.assert_close(full.exp().sum(2), torch.ones(ROWS, TOKENS).double())


def test_dropout_keeps_the_mean_and_drops_its_share():
    dropout, x = PooledDropout(0.2), torch.ones(100_000)
    dropped = dropout(x)
    assert float((dropped == 0).float().mean()) == pytest.approx(0.2, abs=0.01)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)
    assert torch.equal(dropout.eval()(x), x)


@pytest.mark.trains
def test_a_language_model_learns_programs_and_its_losses_are_of_rows():
    torch.manual_seed(0)
    model = ProgramLSTM(VOCABULARY.generated, 16, dropout=0.0)
    rows = [[4, 5, 6], [7], [4, 4]]
    together = model.loss(collate_programs(rows))
    alone = torch.cat([model.loss(collate_programs([row])) for row in rows])
    torch.testing.assert_close(together, alone)
    data = ProgramBatches([pair.program for pair in PAIRS], VOCABULARY, size=8)
    before = float(model.loss(data.take(0)[0]).sum())
    Run(model, data, TrainSettings(TrainingBudget(steps=40), rate=1e-2)).train()
    assert float(model.loss(data.take(0)[0]).sum()) < 0.7 * before


def test_programs_of_an_epoch_come_once():
    data = ProgramBatches([pair.program for pair in PAIRS], VOCABULARY, size=8)
    seen = [tuple(row) for n in range(3) for row in data.take(n)[0].targets.tolist()]
    assert len(seen) == len(PAIRS)
    assert float(data.take(1, 1, 2)[1]) == float(data.take(1)[1])


@pytest.mark.trains
def test_a_decoder_begins_as_the_language_model_which_is_not_trained():
    model = ProgramLSTM(VOCABULARY.generated, 16)
    made = network("rnn", language_model=True)
    start_decoder(made, model)
    assert torch.equal(made.embedding.table(), model.words.weight)
    assert torch.equal(made.first.weight_hh_l0, model.first.weight_hh_l0)
    assert torch.equal(made.feed.model.output.weight, model.output.weight)
    with pytest.raises(ValueError, match="expected"):
        start_decoder(made, ProgramLSTM(3, 16))
    before = {n: p.clone() for n, p in made.feed.model.named_parameters()}
    Run(made, batches(), TrainSettings(TrainingBudget(steps=3))).train()
    assert all(torch.equal(before[n], p) for n, p in made.feed.model.named_parameters())
    assert float(made.feed.layer.weight.abs().sum()) > 0


@pytest.mark.trains
@pytest.mark.parametrize("kind", SIZES)
def test_low_rank_training_changes_adapters_and_head_only(kind, tmp_path):
    pytest.importorskip("peft")
    base = save_tiny_base(tmp_path, kind)
    made = network("pretrained", base=base, lora_rank=2)
    before = {n: p.detach().clone() for n, p in made.named_parameters()}
    Run(made, batches(), TrainSettings(TrainingBudget(steps=3))).train()
    changed = {n for n, p in made.named_parameters() if not torch.equal(before[n], p)}
    assert {n.split(".")[0] for n in changed} == {"body", "pointer", "tokens"}
    assert {"lora" in n for n in changed if n.startswith("body.")} == {True}


@pytest.mark.parametrize("kind", SIZES)
def test_tokens_begin_as_the_mean_of_their_pieces_and_too_long_words_change_no_other_sentence(
    kind, tmp_path
):
    """The tiny BART and GPT-2 have 64 places."""
    made = network("pretrained", base=save_tiny_base(tmp_path, kind))
    table = made.body.get_input_embeddings().weight
    row = made.tokens.weight[VOCABULARY.index["now"]]
    torch.testing.assert_close(row, table[[ord(c) - 32 for c in "now"]].mean(0))
    long = Pair.from_text(f"buy {'q' * 70} and {'z' * 900}", "now")
    with torch.no_grad():
        alone, both = made.loss(batch([PAIRS[0]])), made.loss(batch([PAIRS[0], long]))
    assert bool(both.isfinite().all())
    torch.testing.assert_close(both[:1], alone, rtol=1e-3, atol=1e-3)


def test_a_calibration_makes_a_model_that_is_too_sure_honest():
    rng = random.Random(0)
    honest = [rng.uniform(0.05, 0.99) for _ in range(4000)]
    right = [rng.random() < p for p in honest]
    sure = [math.log(p) / 2.5 for p in honest]
    found = fit([(x,) for x in sure], right, Calibration((1.0,)), scales=(1.0,), strength=1.0)
    brought = [found.confidence((x,)) for x in sure]
    errors = [calibration_error(p, right) for p in (list(map(math.exp, sure)), brought)]
    assert errors[1] < 0.06 < errors[0]


@pytest.mark.skipif(not can_use_bf16(), reason="this processor has no LSTM in bfloat16")
def test_losses_in_bfloat16_are_close_to_those_in_single_precision():
    made = network("rnn")
    with torch.no_grad():
        exact = made.loss(batch())
        with torch.autocast("cpu", torch.bfloat16):
            rough = made.loss(batch())
    torch.testing.assert_close(rough, exact, rtol=0.02, atol=0.1)
