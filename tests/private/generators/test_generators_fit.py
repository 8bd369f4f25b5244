"""Private training of generators: one noise for all stages, and what private rows teach."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import torch

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.models.loop import TrainingBudget as Length
from genie_dp.models.loop import TrainSettings
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.config import SampleSettings, SamplingSettings
from genie_dp.private.generators.drawing import sample
from genie_dp.private.generators.fit import fit
from genie_dp.private.generators.generator import load_generator, new_generator, save_generator
from genie_dp.private.generators.models import DecoderSettings
from genie_dp.private.generators.plans import (
    NoisySteps,
    TrainingAmount,
    TrainingPlan,
    TrainingSchedule,
    plan_training,
)
from genie_dp.private.generators.pretraining import pretrain_publicly, public_sequences
from genie_dp.private.generators.rows import (
    NO_ROUND_TRIP,
    SampleCounts,
    check_program,
    label_private_rows,
    label_public_rows,
)
from genie_dp.private.generators.stages import STAGES, LabelledRow, encode_row
from genie_dp.private.generators.tokenizer import build_tokenizer
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Gaussian, PoissonGaussian
from genie_dp.private.secure import _seeded
from genie_dp.private.source import PrivateRow, PrivateSource
from genie_dp.private.training.run import train_alone
from genie_dp.records import Spent
from genie_dp.rows import read_rows
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.private.generators.generators_setup import INBOX, RANDOM, private, public

pytestmark = pytest.mark.xdist_group("fitted generator")
LANGUAGE = get_language("thingtalk")
LIBRARY = example_library()
TINY = DecoderSettings(size=16, layers=1, heads=2, longest=64)
SPENT = Spent(1.0, 1e-6, "utterance", "add-or-remove-one", "rdp", ())
CODES = Codes(("@com.example.mail.inbox", "@com.example.mail.random"))


def made(folder, kind="two-stage", steps=60):
    """Return a generator, pretrained for some steps, and the private rows."""
    codes = CODES if kind == "control" else None
    rows = label_public_rows(list(read_rows(str(public(folder)))), LANGUAGE, codes)
    generator = new_generator(kind, LANGUAGE, rows, TINY, codes=codes)
    for stage in STAGES[kind] if steps else ():
        model = generator.models[stage.name]
        sequences = public_sequences(stage, rows, generator.tokenizer, longest=64)
        pretrain_publicly(model, sequences, TrainSettings(Length(steps=steps), rate=1e-2), batch=16)
    source = PrivateSource.open(private(folder), language="thingtalk")
    wanted = kind != "one-stage"
    return generator, label_private_rows(source.units, LANGUAGE, codes=codes, with_programs=wanted)


def fitted(generator, units, *, steps, noise=1e-3, **more):
    plan = TrainingPlan(noise, 0.5, 20, steps, code_noise=1.0 if generator.codes else 0.0)
    spends = []

    def spend(mechanisms):
        spends.append(tuple(mechanisms))
        return SPENT

    training = NoisySteps(learning_rate=2e-2, clip=1.0, checkpoint_every=4)
    # No ledger: the rows are made up.
    free = Units(units)
    with _seeded(0):
        found, spent = fit(generator, free, TrainingSchedule(plan, training), spend=spend, **more)
    return found, spent, spends


@pytest.fixture(scope="module")
def two_stage(tmp_path_factory):
    generator, units = made(tmp_path_factory.mktemp("rows"))
    return fitted(generator, units, steps={"program": 20, "utterance": 70})


def drawn(generator, count=40, library=LIBRARY, parser=None, **options):
    tally = SampleCounts()
    settings = SampleSettings(utterance=SamplingSettings(width=1), batch=40, **options)
    terms = {"language": LANGUAGE, "library": library, "settings": settings}
    return list(sample(generator, count, parser=parser, counts=tally, **terms)), tally


# --------------------------------------------------------------------------------- public rows


@pytest.mark.parametrize("kind", STAGES)
def test_a_sentence_without_a_program_teaches_how_people_speak(kind):
    alone, pair = LabelledRow(("dim", "it")), LabelledRow(("dim", "it"), ("now",), "now")
    tokenizer = build_tokenizer([["dim", "it", "now"]])
    for stage in STAGES[kind]:
        rows = public_sequences(stage, [alone, pair], tokenizer, longest=64, spelled=0)
        pairs = public_sequences(stage, [pair], tokenizer, longest=64, spelled=0)
        assert rows[-1:] == pairs
        assert len(rows) == (1 if stage.name == "program" else 2)
        if len(rows) == 2:  # what is to be said is the same, behind an empty prompt
            first, second = (row.tokens[row.scored_from :] for row in rows)
            assert first == second
            assert not set(tokenizer.spell("now")) & set(rows[0].tokens)


# --------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize(
    ("kind", "epochs", "accountant"),
    [("one-stage", (3,), "rdp"), ("control", (3,), "pld"), ("two-stage", (1, 2), "rdp")],
)
def test_a_plan_costs_what_it_may(kind, epochs, accountant):
    amount = TrainingAmount(epochs, 50, 1000)
    plan = plan_training(kind, amount, epsilon=3, delta=1e-6, accountant=accountant)
    assert 2.99 < epsilon_of(plan.mechanisms, 1e-6, accountant) <= 3
    assert len({each.noise_multiplier for each in plan.mechanisms if each.kind != "gaussian"}) == 1
    assert (Gaussian(10.0) in plan.mechanisms) == (kind == "control")
    assert sum(plan.steps.values()) == 60


def test_with_bands_each_stage_is_of_fewer_steps_with_a_higher_rate():
    amount = TrainingAmount((1, 2), 50, 1000, bands=8)
    plan = plan_training("two-stage", amount, epsilon=3, delta=1e-6, accountant="rdp")
    noise = plan.noise_multiplier
    assert plan.mechanisms == (PoissonGaussian(noise, 0.4, 3), PoissonGaussian(noise, 0.4, 5))
    assert 2.99 < epsilon_of(plan.mechanisms, 1e-6, "rdp") <= 3
    settings = [NoisySteps().for_stage(plan, name) for name in plan.steps]
    assert tuple(each.mechanism for each in settings) == plan.mechanisms


def test_two_stages_need_the_noise_of_one_and_the_rest_of_a_budget_is_used_up():
    terms = {"epsilon": 3, "delta": 1e-6, "accountant": "rdp"}
    one = plan_training("one-stage", TrainingAmount((10,), 50, 1000), **terms)
    two = plan_training("two-stage", TrainingAmount((2, 8), 50, 1000), **terms)
    assert one.noise_multiplier == two.noise_multiplier
    amount = TrainingAmount((3,), 50, 1000)
    before = (PoissonGaussian(1.5, 0.05, 60),)
    plan = plan_training("one-stage", amount, **terms, before=before)
    assert 2.98 < epsilon_of((*before, *plan.mechanisms), 1e-6, "rdp") <= 3


@pytest.mark.parametrize(
    ("kind", "amount", "code"),
    [
        ("two-stage", TrainingAmount((3,), 50, 1000), "H001"),
        ("one-stage", TrainingAmount((2, 8), 50, 1000), "H001"),
        ("one-stage", TrainingAmount((0,), 50, 1000), "H001"),
        ("one-stage", TrainingAmount((3,), 50, 20), "H002"),
        ("one-stage", TrainingAmount((3,), 50, 1000, bands=21), "H002"),
        ("one-stage", TrainingAmount((1e300,), 50, 1e10), "H001"),
        ("one-stage", TrainingAmount((3,), 1e-300, 1e300), "H002"),
        ("one-stage", TrainingAmount((1e6,), 1, 1e6), "B002"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(kind, amount, code):
    with pytest.raises(GenieError, match=code):
        plan_training(kind, amount, epsilon=3, delta=1e-6)


# -------------------------------------------------------------------------------- training


@pytest.mark.slow
def test_with_little_noise_rows_are_as_private_ones(two_stage):
    generator, _, spends = two_stage
    # All that a run does is told at once.
    assert len(set(spends)) == 1
    assert [each.steps for each in spends[0]] == [20, 70]
    rows, _ = drawn(generator)
    assert {row.source for row in rows} == {"private"}
    asked = [row for row in rows if row.program == INBOX]
    assert len(asked) >= 0.8 * len(rows)
    assert all(row.functions == ("@com.example.mail.inbox",) for row in asked)
    # A word that is in no table.
    assert [row.utterance for row in rows if "zanz" in row.utterance]
    # Without a grammar, what is no program is dropped.
    rows, tally = drawn(generator, is_constrained=False)
    assert rows
    assert tally.drawn - tally.dropped.total() >= len(rows)


@pytest.mark.slow
def test_a_saved_generator_draws_the_same_rows(two_stage, tmp_path):
    generator, spent, _ = two_stage
    with pytest.raises(TypeError, match="spent"):  # there is no way to write it without
        save_generator(generator, tmp_path / "made")
    assert not (tmp_path / "made").exists()
    save_generator(generator, tmp_path / "made", spent=spent, facts={"steps": 40})
    found = load_generator(tmp_path / "made")
    assert drawn(found.generator)[0] == drawn(generator)[0]
    assert (found.spent, found.facts) == (spent, {"steps": 40})
    for file in ("config.json", "spent.json", "tokenizer.json"):
        (tmp_path / "made" / file).rename(tmp_path / file)
        with pytest.raises(GenieError, match="H003"):
            load_generator(tmp_path / "made")
        (tmp_path / file).rename(tmp_path / "made" / file)


@pytest.mark.slow
def test_control_codes_steer_utterances(tmp_path):
    generator, units = made(tmp_path, "control")
    generator, _, spends = fitted(generator, units, steps={"utterance": 10})
    assert spends[0][0] == Gaussian(1.0)
    inbox, random, other = generator.weights
    assert (random, other) == (0.0, 0.0)
    assert 30 < inbox < 50
    rows, _ = drawn(generator)
    assert {row.program for row in rows} == {""}
    swapped = replace(generator, weights=(0.0, 1.0, 0.0))
    assert {r.utterance for r in drawn(swapped)[0]} != {r.utterance for r in rows}


def parser_of(read):
    """Return a parser that reads each sentence by a function."""
    return SimpleNamespace(predict=lambda utterances: [read(said) for said in utterances])


@pytest.mark.trains
def test_a_parser_writes_the_programs_of_one_stage(tmp_path):
    generator, units = made(tmp_path, "one-stage")
    generator, _, _ = fitted(generator, units, steps={"utterance": 10})
    parser = parser_of(lambda said: INBOX if "mail" in said else "")
    rows, _ = drawn(generator, 20, library=None, parser=parser)
    assert {(row.program, row.functions) for row in rows} == {(INBOX, ("@com.example.mail.inbox",))}


@pytest.mark.slow
def test_with_a_parser_each_row_of_two_stage_is_read_back(two_stage):
    # Any mail is a question for a part of it, by the letters said; not in the canonical words.
    spelled = "now => ( ( @com.example.mail.inbox ) filter true ) => notify"
    parser = parser_of(lambda said: ("", spelled, RANDOM)[len(said) % 3])
    rows, tally = drawn(two_stage[0], count=20, parser=parser)
    assert len(rows) == 20
    for row in rows:
        [read] = parser.predict([row.utterance])
        assert check_program(read.split(), LANGUAGE, LIBRARY).program == row.program
    assert tally.dropped[NO_ROUND_TRIP] > 0
    assert tally.row_count >= 20
    assert drawn(two_stage[0], count=20, parser=parser)[0] == rows
    once, fewer = drawn(two_stage[0], count=20, parser=parser, redraws=0)
    assert len(once) == 20
    assert fewer.drawn > tally.drawn  # a sentence that is refused is drawn again before its program
    # One that reads nothing back ends the drawing at its bound.
    parser = parser_of(lambda said: "")
    rows, tally = drawn(two_stage[0], count=20, parser=parser, tries=4, redraws=0)
    assert not rows
    assert tally.drawn == tally.dropped.total() == 80
    assert tally.dropped[NO_ROUND_TRIP] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two-stage", "control"])
def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path, kind):
    def kill(stage, event):
        if (stage, event["step"]) == ("utterance", 6):
            raise KeyboardInterrupt

    def run(**more):
        return fitted(*made(tmp_path, kind, steps=0), steps=steps, **more)

    steps = {"program": 6, "utterance": 9} if kind == "two-stage" else {"utterance": 9}
    whole, _, _ = run()
    with pytest.raises(KeyboardInterrupt):
        run(folder=tmp_path / "work", listen=kill)
    resumed, _, spends = run(folder=tmp_path / "work")
    assert len(set(spends)) == 1
    assert resumed.weights == whole.weights
    for name, model in whole.models.items():
        again = dict(resumed.models[name].named_parameters())
        for key, weight in model.named_parameters():
            assert torch.allclose(weight, again[key], atol=1e-6)


def test_nothing_is_released_when_it_cannot_be_paid_and_paid_for_settings_that_no_run_has(tmp_path):
    def refuse(mechanisms):
        raise GenieError(())

    generator, units = made(tmp_path, "control", steps=0)
    units = Units(units)
    before = {n: p.clone() for n, p in generator.models["utterance"].named_parameters()}
    plan = TrainingPlan(1.0, 0.5, 20, {"utterance": 2}, code_noise=1.0)
    with pytest.raises(GenieError):
        fit(generator, units, TrainingSchedule(plan), spend=refuse, folder=tmp_path / "work")
    left = {path.name for path in (tmp_path / "work" / "utterance").iterdir()}
    assert left == {"run.json", ".run.lock", ".train.lock"}
    after = dict(generator.models["utterance"].named_parameters())
    assert all(torch.equal(before[name], after[name]) for name in before)
    for wrong in ({"clip": math.inf}, {"clip": 1e-42}, {"learning_rate": math.nan}):
        paid = []
        schedule = TrainingSchedule(plan, NoisySteps(**wrong))
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit(generator, units, schedule, spend=paid.append)
        assert not paid


# -------------------------------------------------------------------------------- sequences


@pytest.mark.trains
def test_control_codes_are_drawn_once_and_by_one_process_at_a_time(tmp_path):
    generator, units = made(tmp_path, "control", steps=0)
    work = tmp_path / "work"
    codes = work / "utterance" / "codes.json"

    def run():
        return fitted(generator, units, steps={"utterance": 2}, folder=work)

    with train_alone(work / "utterance"), pytest.raises(GenieError, match="Q032"):
        run()
    assert not codes.exists()
    run()
    codes.unlink()  # they were there to be seen
    with pytest.raises(GenieError, match="Q031"):
        run()


def test_rows_are_cut_to_the_longest_and_keep_room_for_what_is_written(tmp_path):
    generator, _ = made(tmp_path, steps=0)
    stage = STAGES["two-stage"][1]
    row = LabelledRow(("play",) * 90, ("now",) * 90)
    found = encode_row(stage, row, generator.tokenizer, longest=64)
    assert len(found.tokens) == 65
    assert found.scored_from <= 34
    assert found.tokens[-1] != generator.tokenizer.end


def test_rows_without_programs_are_left_out_where_programs_are_wanted():
    units = Units([(PrivateRow("a"),), (PrivateRow("b", "now => @c.f"),)])
    found = label_private_rows(units, LANGUAGE)
    assert [[row.utterance for row in unit] for unit in found] == [[], [("b",)]]
    plain = label_private_rows(units, LANGUAGE, with_programs=False)
    assert [row.utterance for unit in plain for row in unit] == [("a",), ("b",)]
    assert repr(plain[0][0]) == "LabelledRow()"
    # What a parser says of a row hangs on no other row.
    parser = SimpleNamespace(predict=lambda said: [f"now => @c.f{len(said)}"] * len(said))
    units = Units((PrivateRow(text),) for text in "abca")
    found = label_private_rows(units, LANGUAGE, parser=parser)
    assert [row.utterance for unit in found for row in unit] == [("a",), ("b",), ("c",), ("a",)]
    assert {row.program for unit in found for row in unit} == {("now", "=>", "@c.f1")}


@pytest.mark.parametrize(
    ("written", "learned", "code"),
    [
        ("now => @com.example.mail.inbox() => notify", INBOX, CODES.names[0]),
        (INBOX, INBOX, CODES.names[0]),
        ("no program ( at all", "no program ( at all", "<other>"),
    ],
)
def test_programs_are_learned_as_tokens_whichever_way_they_are_written(written, learned, code):
    units = Units([(PrivateRow("show my mail", written),)])
    ((row,),) = label_private_rows(units, LANGUAGE, codes=CODES, library=LIBRARY)
    assert (" ".join(row.program), row.code) == (learned, code)
