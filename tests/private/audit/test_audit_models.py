"""Attacks on real models: trees of candidates change nothing, memory is found, every kind works."""

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from genie_dp.cli import run  # noqa: E402
from genie_dp.errors import GenieError  # noqa: E402
from genie_dp.languages import get_language  # noqa: E402
from genie_dp.parser.scorer import ParserScorer, open_any  # noqa: E402
from genie_dp.private.audit import exposure, membership  # noqa: E402
from genie_dp.private.audit.canaries import CanaryTemplate, new_canaries  # noqa: E402
from genie_dp.private.audit.models import (  # noqa: E402
    GeneratorScorer,
    HuggingFaceScorer,
    count_words,
    row_losses,
)
from genie_dp.private.generators.codes import Codes  # noqa: E402
from genie_dp.private.generators.generator import new_generator  # noqa: E402
from genie_dp.private.generators.models import DecoderSettings  # noqa: E402
from genie_dp.private.generators.stages import EncodedRow, LabelledRow  # noqa: E402
from genie_dp.private.source import PrivateRow  # noqa: E402
from tests.parser import parser_setup  # noqa: E402
from tests.private.audit.audit_models import generator, rows, said, scorer  # noqa: E402
from tests.private.generators.generator_models import gpt2, llama, save_pretrained  # noqa: E402

pytestmark = pytest.mark.xdist_group("audit models")
CANARIES = new_canaries(CanaryTemplate("My ID is {digits:2}"), count=4, repeats=5, seed=1)
PROGRAM = "now => @x.play"


def of_kind(kind):
    """Return an untrained model of our own decoder, of any kind."""
    public = [LabelledRow(("My", "ID", "is", "7"), tuple(PROGRAM.split()), "<other>")] * 2
    settings = DecoderSettings(size=16, layers=1, heads=2, longest=32)
    codes = Codes(("@x.play",)) if kind == "control" else None
    made = new_generator(kind, get_language("thingtalk"), public, settings, codes=codes)
    with torch.no_grad():
        for model in made.models.values():
            for weight in model.parameters():
                if weight.dim() == 2:
                    weight.normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    return GeneratorScorer(made.with_weights((3.0, 1.0)) if codes else made)


@pytest.fixture(scope="module")
def known(leaking):
    """A scorer of a model that knows its rows and canaries by heart, the rows, and others."""
    texts = said(80)
    return open_any(leaking / "leaking"), texts[:40], texts[40:]


@pytest.mark.parametrize("kind", ["recurrent", "decoder", "gpt2", "llama"])
def test_losses_by_the_tree_are_those_of_each_row(kind, tmp_path):
    if kind == "recurrent":
        model = scorer(generator(seed=2))
    elif kind == "decoder":
        model = of_kind("one-stage")
    else:
        make = {"gpt2": gpt2, "llama": llama}[kind]
        model = HuggingFaceScorer(tmp_path, longest=24) if save_pretrained(tmp_path, make) else None
    found = exposure.candidate_losses(model, CANARIES, with_end=True, batch=7)
    plain = model.losses(list(CANARIES.candidates(0, 100)))
    assert np.abs(found - plain).max() < 1e-3
    # So the exact rank is that of brute force.
    (rank,) = exposure.rank_candidates(found, [42])
    assert rank == 1 + sum(loss < plain[42] for loss in plain)


def test_candidates_of_ids_that_begin_one_another_have_their_own_losses():
    made = generator(seed=4)
    model = made.models["utterance"]
    ids = [(1, 9, 8), (1, 9), (1, 9, 8, 7), (1, 5), (1, 9, 8, 6)]
    found = exposure.tree_losses(model, [EncodedRow(row) for row in ids], batch=1)
    assert found.tolist() == pytest.approx(
        row_losses(model, [EncodedRow(row) for row in ids]), abs=1e-4
    )


def test_an_interrupted_ranking_goes_on_where_it_was(tmp_path, monkeypatch):
    model = scorer(generator(seed=3))
    whole = exposure.candidate_losses(model, CANARIES)
    monkeypatch.setattr(exposure, "BLOCK", 30)
    work, seen = tmp_path / "losses", []

    def stop(done, of):
        seen.append(done)
        if done == 60 and len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exposure.candidate_losses(model, CANARIES, work=work, listen=stop)
    with work.open("ab") as file:  # a block that was being written
        file.write(b"12345")
    found = exposure.candidate_losses(model, CANARIES, work=work, listen=stop)
    assert seen == [30, 60, 90, 100]
    assert np.abs(found - whole).max() < 1e-5


def test_exposure_is_greatest_of_what_is_known_by_heart_and_random_of_what_was_never_seen(known):
    model, *_ = known
    losses = exposure.candidate_losses(model, CANARIES)
    assert sorted(exposure.rank_candidates(losses, CANARIES.numbers)) == [1, 2, 3, 4]
    other = new_canaries(CanaryTemplate("My ID is {digits:3}"), count=200, seed=6)
    unseen = exposure.candidate_losses(scorer(generator(seed=5)), other)
    ranks = exposure.rank_candidates(unseen, other.numbers)
    bits = [exposure.Exposure(rank, 1000, 0.0).bits for rank in ranks]
    assert np.mean(bits) == pytest.approx(1 / math.log(2), abs=0.35)


def attack(model, members, others):
    sides = [rows(texts) for texts in (members, others)]
    losses = [model.losses(side) for side in sides]
    words = [[count_words(row, with_program=False) for row in side] for side in sides]
    return membership.attack_rows(losses, words, {}, group=20)


def test_members_of_what_was_learned_by_heart_are_found_and_groups_better(known):
    single, group = attack(*known)
    areas = [membership.auc(one.members, one.others) for one in (single, group)]
    assert 0.8 < areas[0] <= areas[1] == 1
    assert group.group == 20


def test_samples_are_text_and_follow_from_their_seed(known):
    model, *_ = known
    first = list(model.samples(40, seed=3))
    assert first == list(model.samples(40, seed=3))
    assert first != list(model.samples(40, seed=4))
    # Those behind the first block are the same by themselves.
    assert list(model.samples(8, seed=3, first=32)) == first[32:]
    assert any(len(words) > 2 for words in first)


def test_the_probability_of_two_stages_is_that_of_program_and_sentence():
    model = of_kind("two-stage")
    one = PrivateRow("My ID is 7", PROGRAM)
    (loss,) = model.losses([one])
    (other,) = model.losses([PrivateRow("My ID is 8", PROGRAM)])
    prompt = exposure.tree_losses(model.model, [model.encode(one)])[0]
    again = exposure.tree_losses(model.model, [model.encode(PrivateRow("My ID is 8", PROGRAM))])[0]
    assert loss > prompt
    assert loss - prompt == pytest.approx(other - again, abs=1e-4)
    with pytest.raises(GenieError, match="N054"):
        model.losses([PrivateRow("My ID is 7")])
    assert all(isinstance(words, tuple) for words in model.samples(3, seed=0))


def test_a_sentence_without_a_program_has_the_mean_over_control_codes():
    model = of_kind("control")
    with_code, other = model.losses(
        [PrivateRow("My ID", PROGRAM), PrivateRow("My ID", "now => @y.z")]
    )
    (mixed,) = model.losses([PrivateRow("My ID")])
    mean = 0.75 * math.exp(-with_code) + 0.25 * math.exp(-other)
    assert mixed == pytest.approx(-math.log(mean), abs=1e-4)


def test_models_of_hugging_face_are_scored_and_sampled(tmp_path):
    save_pretrained(tmp_path, gpt2)
    model = open_any(tmp_path, longest=24)
    assert isinstance(model, HuggingFaceScorer)
    one, two = model.losses([PrivateRow("low er"), PrivateRow("lower lower")])
    assert one != two
    assert len(list(model.samples(5, seed=0))) == 5


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(GenieError, match="N056"):
        open_any(tmp_path)


@pytest.mark.slow
def test_a_parser_tells_right_programs_from_wrong_ones_and_has_no_samples(tmp_path, capsys):
    parser = parser_setup.train(tmp_path, steps=60)
    rows, out = tmp_path / "rows.txt", tmp_path / "audit.json"
    rows.write_text("show mail about lunch\n")
    words = ["--samples", "9", "--training", rows, "--output", out]
    assert run(["private", "audit", *map(str, (parser, *words))]) == 0
    found = json.loads(out.read_text())["extraction"]
    assert list(found) == ["left_out"]
    assert all(what in found["left_out"] for what in ("--members", "words", "generator"))
    assert f"extraction: {found['left_out']}" in capsys.readouterr().out
    model = open_any(parser)
    assert isinstance(model, ParserScorer)
    made = parser_setup.rows()
    right = [PrivateRow(row.utterance, row.program) for row in made[::4]]
    wrong = [
        PrivateRow(a.utterance, b.program) for a, b in zip(made[::4], made[4::4], strict=False)
    ]
    losses, others = model.losses(right), model.losses(wrong)
    assert all(map(math.isfinite, losses))
    # A program with words that the sentence does not have cannot be written.
    assert all(math.isnan(b) or a < b for a, b in zip(losses, others, strict=False))
    (unread,) = model.losses([PrivateRow("show mail about lunch", "now => nonsense (")])
    assert math.isnan(unread)
