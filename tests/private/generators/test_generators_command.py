"""`genie-dp private train` and `sample`: what they write, cost, refuse, and never show."""

import json
import re
import time
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import torch

import genie_dp as gd
from genie_dp.private.generators import duration, pretraining
from genie_dp.private.generators import fit as training_stage
from genie_dp.private.generators import run as stage_module
from genie_dp.private.generators.duration import measure_speed
from genie_dp.private.generators.generator import read_spent
from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder
from genie_dp.private.generators.plans import Speed
from genie_dp.private.generators.rows import read_drawn_rows
from genie_dp.private.generators.run import FEW_SENTENCES
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.guard import refuse_learned, refuse_uncovered
from genie_dp.private.training.run import digest_of_weights
from genie_dp.private.training.settings import DPSettings
from genie_dp.rows import read_rows
from tests.forked import start_command
from tests.golden import cases
from tests.private.generators import generators_setup as setup
from tests.private.generators.generator_models import gpt2, save_pretrained
from tests.private.generators.generators_setup import (
    CANARY,
    LEARNED,
    OF_SKILLS,
    all_bytes,
    command,
    facts_of,
    ledger,
    prepare,
    sampled,
    train,
)
from tests.refusals import code_of, refusals

refused = partial(code_of, secret=CANARY)
pytestmark = [pytest.mark.xdist_group("two-stage generator"), pytest.mark.trains]
WEIGHTS = ["model-program.safetensors", "model-utterance.safetensors"]


@pytest.fixture(scope="module")
def two_stage(tmp_path_factory):
    """Return a folder of rows with a ledger, `made` and, of public rows alone, `before`."""
    folder = tmp_path_factory.mktemp("two_stage")
    prepare(folder, accountant="pld")
    assert train(folder, "two-stage", *LEARNED, "--public-model", folder / "before") == 0
    return folder


def killed(*_args, **_options):
    raise KeyboardInterrupt


def test_a_folder_has_all_that_a_generator_needs_and_no_private_word(two_stage):
    made, before = two_stage / "made", two_stage / "before"
    others = {"config.json", "tokenizer.json", "spent.json", "README.md"}
    assert {path.name for path in made.iterdir()} == {*WEIGHTS, *others}
    assert not (two_stage / ".made.work").exists()
    assert CANARY.encode() not in all_bytes(two_stage)
    spent = json.loads((made / "spent.json").read_text())
    [entry] = ledger(two_stage).entries
    assert spent["epsilon"] == ledger(two_stage).spent().epsilon
    assert 2.9 < spent["epsilon"] <= 3
    assert [one.steps for one in entry.mechanisms] == [4, 8]
    assert f"({spent['epsilon']}, 1e-06)" in (made / "README.md").read_text()
    # What it was before private rows.
    told = json.loads((before / "spent.json").read_text())
    assert (told["epsilon"], told["delta"]) == (0.0, 0.0)
    assert sorted(path.name for path in before.glob("*.safetensors")) == WEIGHTS
    for name in WEIGHTS:
        assert (before / name).read_bytes() != (made / name).read_bytes()


def test_rows_are_private_have_programs_and_follow_from_the_seed(two_stage, capsys):
    rows = sampled(two_stage, "--rows", 12)
    assert len(rows) == 12
    assert all(row.source == "private" and row.program and row.functions for row in rows)
    told = json.loads((two_stage / "rows.jsonl.manifest.json").read_text())
    assert told["rows"] == 12
    assert told["drawn"] >= 12
    assert told["spent"] == json.loads((two_stage / "made" / "spent.json").read_text())
    assert "12 rows of" in capsys.readouterr().err
    spent = read_spent(two_stage / "made" / "spent.json")
    assert read_drawn_rows(two_stage / "rows.jsonl", spent, ledger(two_stage)) == tuple(rows)
    for name, seed in (("a.tsv", 1), ("b.tsv", 1), ("c.tsv", 2)):
        sampled(two_stage, "--rows", 8, "--seed", seed, name=name)
    first, again, other = ((two_stage / f"{x}.tsv").read_bytes() for x in "abc")
    assert first == again != other


def test_an_output_that_exists_is_left_alone(two_stage, capsys):
    path = two_stage / "kept.jsonl"
    path.write_text("mine")
    assert command("sample", two_stage / "made", "--output", path) == 1
    assert path.read_text() == "mine"
    assert train(two_stage, "two-stage") == 1
    assert capsys.readouterr().err.count("Y022") == 2


def test_too_few_rows_are_told(two_stage, capsys):
    sampled(two_stage, "--rows", 50, "--tries", 1, "--longest", 2, name="few.jsonl")
    told = capsys.readouterr().err
    assert "H010" in told
    assert "dropped: too long" in told


def learned_of(folder, name, digest, **facts):
    """A folder that says of itself what genie-dp train says of a parser: its files."""
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"inputs": {str(name): digest}, **facts}))
    return folder


def test_a_parser_of_drawn_rows_is_within_the_guarantee_of_their_generator(
    two_stage, tmp_path, capsys
):
    rows, private = two_stage / "learned.jsonl", two_stage / "private.jsonl"
    sampled(two_stage, "--rows", 3, name=rows.name)
    spent = read_spent(two_stage / "made" / "spent.json")
    parser = learned_of(tmp_path / "parser", rows, "0", spent=asdict(spent))
    refuse_learned(parser, private, code="H008")
    refuse_uncovered(parser, spent, code="H008")
    # What was drawn after private rows tells of them, under no guarantee of the model before.
    options = ("--parser", parser, "--output", tmp_path / "rows.jsonl")
    assert command("sample", two_stage / "before", *OF_SKILLS, *options) == 1
    # Private rows themselves are under none at all, and public ones need none.
    for path, code in ((private, "H008"), (two_stage / "public.jsonl", "H003")):
        learned_of(parser, path, "0")
        assert command("sample", tmp_path, *options) == 1
        assert f"error[{code}]" in capsys.readouterr().err  # H003: there is no generator
    assert not (tmp_path / "rows.jsonl").exists()


# ------------------------------------------------------------------------------ what is refused

PARSER = "parser/manifest.json"
LEARNS = '{"inputs": {"%s": "%s"}}'
DIGEST = sha256("".join(json.dumps(row) + "\n" for row in setup.asked(40)).encode()).hexdigest()
ROW = json.dumps(setup.row(0, "a", setup.INBOX, "private"))


@pytest.mark.parametrize(
    ("files", "kind", "options", "code"),
    [
        ({}, "one-stage", ("--device", "cuda:99"), "N008"),
        ({}, "one-stage", ("--model", "no model"), "H00"),
        ({}, "one-stage", ("--epsilon", 8.5), "B023"),
        ({}, "one-stage", ("--bands", 5), "H002"),  # 5 batches of 10 are more than 40 rows
        ({}, "two-stage", ("--epochs", "3"), "H001"),
        ({}, "two-stage", ("--epochs", "a/b"), "H001"),
        ({}, "one-stage", ("--public", "private.jsonl"), "H008"),
        ({}, "control", ("--codes", "private.jsonl"), "H008"),
        ({"public.ledger.json": "{}"}, "one-stage", (), "H008"),
        ({"public.jsonl": ROW}, "one-stage", (), "H008"),
        ({PARSER: LEARNS % ("renamed.jsonl", DIGEST)}, "two-stage", ("--parser", "parser"), "H008"),
        ({PARSER: LEARNS % ("private.jsonl", "0")}, "two-stage", ("--parser", "parser"), "H008"),
        *(({PARSER: text}, "two-stage", ("--parser", "parser"), "H008")
          for text in ("{", "[]", '{"inputs": 1}')),
        *(({"private.jsonl": f"{line} {CANARY}\n"}, "one-stage", (), "Q00")
          for line in ("no json", '{"utterance": 3}', '{"program": "zanzibarquux"}')),
        ({"made/mine.txt": "mine"}, "one-stage", ("--overwrite",), "H009"),
        ({"private.ledger.json": None}, "one-stage", (), "B022"),
    ],
)  # fmt: skip
def test_a_run_that_is_refused_leaves_no_work_and_costs_nothing(
    tmp_path, monkeypatch, capsys, files, kind, options, code
):
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text) if text else (tmp_path / name).unlink()
    before = sorted(tmp_path.rglob("*")), all_bytes(tmp_path)
    assert train(tmp_path, kind, *options) == 1
    told = capsys.readouterr().err
    assert f"error[{code}" in told
    assert CANARY not in told
    assert (sorted(tmp_path.rglob("*")), all_bytes(tmp_path)) == before  # the ledger, too


def test_options_that_do_not_go_together_are_wrong_usage(two_stage, golden, capsys, monkeypatch):
    monkeypatch.chdir(two_stage)
    [case] = cases("private_refused/generators.txt")
    golden(case, refusals(case, lambda x: train(two_stage, *x, name="never"), capsys))
    assert not (two_stage / "never").exists()


@pytest.mark.parametrize(
    ("settings", "rate"),
    [({}, 0.02), ({"model": "gpt2"}, 0.002), ({"learning_rate": 0.3}, 0.3)],
)
def test_the_learning_rate_is_that_of_the_model_unless_told(settings, rate):
    training = setup.stage(estimated_units=10, use_remaining_budget=True, **settings)
    assert training.noisy_steps.learning_rate == rate
    assert training.shared_settings["learning_rate"] == rate


@pytest.mark.parametrize(
    ("sentences", "more", "codes"),
    [
        (FEW_SENTENCES - 1, {}, ["H013"]),
        (0, {"kind": "two-stage"}, ["H007", "H013"]),
        (FEW_SENTENCES, {}, []),
        (0, {"model": "gpt2"}, []),
    ],
)
def test_few_public_sentences_are_doubted_unless_the_model_has_read_much(sentences, more, codes):
    warnings = setup.stage(estimated_units=100, epsilon=1, **more).warnings(sentences)
    assert [warning.code for warning in warnings] == codes
    assert {warning.severity for warning in warnings} <= {"warning"}


# ------------------------------------------------------------------------ how long a run takes


def without(words, option):
    place = words.index(option)
    return (*words[:place], *words[place + 2 :])


@pytest.mark.slow
def test_public_epochs_that_fit_are_said_before_payment_and_stay_where_a_run_goes_on(
    tmp_path, capsys, monkeypatch
):
    prepare(tmp_path)
    words = without(setup.words_of(tmp_path, "two-stage"), "--pretraining-epochs")
    rows = len((tmp_path / "public.jsonl").read_text().splitlines())
    # Two stages: 900 seconds an epoch, so that half of one fits into ten minutes.
    slow = Speed(row=0.0, step=0.0, public_row=450 / rows)
    with monkeypatch.context() as patched:
        patched.setattr(duration, "measure_speed", lambda *_args, **_options: slow)
        patched.setattr(pretraining, "pretrain_publicly", killed)
        assert command(*words) == 130
    said = capsys.readouterr().err
    assert "takes about 7.5 minutes here (1 thread)" in said
    assert f"0.5 epochs of {rows} public rows" in said
    assert ledger(tmp_path).entries == ()
    monkeypatch.setattr(duration, "measure_speed", None)  # no other machine's counts
    assert command(*words, "--resume") == 0
    assert facts_of(tmp_path / "made")["epochs on public rows"] == 0.5
    assert "0.5 epochs" in capsys.readouterr().err


def test_public_epochs_that_are_given_win_and_doubts_are_told_before_payment(
    tmp_path, capsys, monkeypatch
):
    prepare(tmp_path)
    slow = Speed(row=1.0, step=0.0, public_row=1000.0)
    monkeypatch.setattr(duration, "measure_speed", lambda *_args, **_options: slow)
    monkeypatch.setattr(pretraining, "pretrain_publicly", killed)
    assert train(tmp_path, "one-stage") == 130  # --pretraining-epochs 1
    assert ledger(tmp_path).entries == ()
    said = capsys.readouterr().err
    assert "warning[H013]" in said
    assert "hours for 1 epoch of" in said
    assert "1.3 minutes for noisy steps" in said  # 8 steps of 10 rows


def test_the_speed_of_a_model_is_measured_without_changing_it():
    model = PreLNDecoder(40, DecoderSettings(8, 1, 2, 16))
    before = digest_of_weights([model])
    rows = [EncodedRow((2, *range(4, 4 + n % 9), 3)) for n in range(1, 30)]
    state = torch.random.get_rng_state()
    speed = measure_speed(model, rows, DPSettings(1.0, rate=0.1, steps=4, batch=8), batch=8)
    assert speed.row > 0
    assert speed.public_row > 0
    assert digest_of_weights([model]) == before
    assert torch.equal(torch.random.get_rng_state(), state)


# ---------------------------------------------------------------------------- how a run goes on


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_and_costs_once(tmp_path, monkeypatch, capsys):
    private = prepare(tmp_path)
    broken = [setup.row(i, said, '( " no program') for i, said in enumerate("abc")]
    with (tmp_path / "public.jsonl").open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in broken)
    line = stage_module.write_over

    def interrupt(text, *, show=None):
        if text.startswith("utterance: step 3"):
            raise KeyboardInterrupt
        line(text)

    kept = ("--pretrained", tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(stage_module, "write_over", interrupt)
        assert train(tmp_path, "two-stage", *kept) == 130
    assert len(list((tmp_path / "kept").iterdir())) == 2  # what public rows taught two stages
    assert "--resume" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    assert len(ledger(tmp_path).entries) == 1
    assert CANARY.encode() not in all_bytes(tmp_path)
    rows = private.read_text()
    for options, code in (
        ((), "Y021"),
        (("--resume", "--seed", 3), "Y020"),
        (("--resume", "--skills", setup.SKILLS / "com.example.words"), "Y020"),
        (("--resume",), "Q003"),
    ):
        # Whatever refuses it, a run keeps what it was left of.
        private.write_text('{"utterance": 3}\n' if code == "Q003" else rows)
        assert train(tmp_path, "two-stage", *kept, *options) == 1
        assert code in capsys.readouterr().err
    private.write_text(rows)
    assert train(tmp_path, "two-stage", *kept, "--resume") == 0
    assert len(ledger(tmp_path).entries) == 1
    assert (tmp_path / "made" / "spent.json").exists()
    # Broken public programs leave no constants.
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["public"]["texts"] == []
    # Another run costs again; it may use the rest up.
    words = without(setup.words_of(tmp_path, "one-stage", name="other"), "--epsilon")
    assert command(*words, "--use-remaining-budget") == 0
    assert len(ledger(tmp_path).entries) == 2
    assert 7.9 < ledger(tmp_path).spent().epsilon <= 8


@pytest.mark.slow
def test_a_killed_run_goes_on_and_costs_once(tmp_path):
    prepare(tmp_path)
    options = ("--epochs", "2/2", "--bands", 2)
    process = start_command("private", *setup.words_of(tmp_path, "two-stage", *options))
    while not any((tmp_path / ".made.work" / "program").glob("step-*")):
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
    assert not (tmp_path / "made").exists()
    before = ledger(tmp_path).spent()
    assert train(tmp_path, "two-stage", *options, "--resume") == 0
    [entry] = ledger(tmp_path).entries
    # Of 8 steps at 0.25 each: with bands half as many at twice the rate.
    assert [(one.rate, one.steps) for one in entry.mechanisms] == [(0.5, 4)] * 2
    spent = json.loads((tmp_path / "made" / "spent.json").read_text())
    assert 2.9 < spent["epsilon"] == before.epsilon == ledger(tmp_path).spent().epsilon <= 3
    assert CANARY.encode() not in (tmp_path / "made" / "tokenizer.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one-stage", "control"])
def test_a_run_that_another_process_finished_is_not_trained_again(
    tmp_path, monkeypatch, capsys, kind
):
    """Both went on with it: when one has its stages to itself, the other has finished it."""
    prepare(tmp_path)
    whole = training_stage.train_alone

    def finished(folder):
        monkeypatch.setattr(training_stage, "train_alone", whole)
        assert train(tmp_path, kind, "--resume") == 0
        return whole(folder)

    monkeypatch.setattr(training_stage, "train_alone", finished)
    assert train(tmp_path, kind) == 1
    assert "B029" in capsys.readouterr().err
    assert len(ledger(tmp_path).entries) == 1
    names = {path.name for path in tmp_path.rglob("utterance/*")}
    assert names == {"run.json", ".run.lock", ".train.lock"}


# ------------------------------------------------------------------------ other kinds and models


@pytest.mark.slow
def test_control_codes_are_paid_and_known_beforehand(tmp_path, capsys):
    prepare(tmp_path)
    codes = tmp_path / "codes.txt"
    codes.write_text("@com.example.mail.inbox\n\n@com.example.mail.random\n")
    assert train(tmp_path, "control", "--codes", codes, "--code-noise", 2, *LEARNED) == 0
    [entry] = ledger(tmp_path).entries
    assert [one.kind for one in entry.mechanisms] == ["gaussian", "poisson-gaussian"]
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["codes"]["names"] == ["@com.example.mail.inbox", "@com.example.mail.random"]
    assert {row.program for row in sampled(tmp_path, "--rows", 5)} == {""}
    assert "--parser DIR" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--lora", 2)])
def test_a_model_of_hugging_face_has_its_base_and_adapters_need_theirs(tmp_path, capsys, options):
    pytest.importorskip("peft")
    prepare(tmp_path)
    base = save_pretrained(tmp_path / "base", gpt2)
    assert train(tmp_path, "one-stage", "--model", base, *options) == 0
    sampled(tmp_path, "--rows", 3, "--tries", 3)
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names == {"base", WEIGHTS[1], "config.json", "spent.json", "README.md"}
    (tmp_path / "base").rename(tmp_path / "elsewhere")
    words = ("--rows", 1, "--tries", 3, "--output", tmp_path / "again.jsonl")
    assert command("sample", tmp_path / "made", *setup.SHORT, *words) == (1 if options else 0)
    assert ("M009" in capsys.readouterr().err) == bool(options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two-stage", "control"])
def test_whether_private_rows_have_programs_decides_neither_exit_code_nor_price(
    kind, tmp_path, capsys
):
    told = []
    programs = {"none": {}, "one": {"program": "now => @org.thingpedia.weather.current()"}}
    for name, row in programs.items():
        folder = tmp_path / name
        folder.mkdir()
        lines = [{"utterance": f"hello {CANARY} {name}"}, {"utterance": f"hi {name}", **row}]
        setup.write(prepare(folder), lines)
        assert train(folder, kind, "--no-pretraining") == 0
        said = capsys.readouterr()
        told.append(re.sub(r"\d+ s|/\S+", "", said.out + said.err))
        assert [one.mechanisms for one in ledger(folder).entries]
    assert told[0] == told[1]
    assert "warning[H007]" in told[0]
    assert CANARY not in told[0]


@pytest.mark.slow
def test_a_generator_of_s_expressions_is_trained_and_drawn_from(tmp_path):
    def rows(said):
        for i in range(40):
            what = ("alarm", "timer")[i % 2]
            program = f"( set_{what} ( at NUMBER_0 ) )"
            row = setup.row(i, f"set my {what} for NUMBER_0{said}", program)
            yield {**row, "language": "sexpr"}

    prepare(tmp_path)
    setup.write(tmp_path / "public.jsonl", rows(""))
    setup.write(tmp_path / "private.jsonl", rows(f" {CANARY}"))
    words = setup.words_of(tmp_path, "two-stage", *LEARNED, "--language", "sexpr")
    assert command(*without(without(words, "--skills"), "--skills")) == 0
    target = tmp_path / "rows.jsonl"
    assert command("sample", tmp_path / "made", "--rows", 8, "--output", target) == 0
    drawn = list(read_rows(str(target)))
    assert len(drawn) == 8
    assert {row.language for row in drawn} == {"sexpr"}
    assert {f for row in drawn for f in row.functions} <= {"set_alarm", "set_timer", "at"}
    assert CANARY.encode() not in all_bytes(tmp_path / "made")


@pytest.mark.slow
def test_a_parser_writes_the_programs_of_private_rows_and_of_samples(trained, tmp_path, capsys):
    prepare(tmp_path)
    unlabelled = [{"utterance": row["utterance"]} for row in setup.asked(20)]
    setup.write(tmp_path / "private.jsonl", unlabelled)
    assert train(tmp_path, "two-stage", "--parser", trained, epsilon=2) == 0
    assert facts_of(tmp_path / "made")["programs of private rows"] == "by a parser"
    assert train(tmp_path, "one-stage", *LEARNED, name="plain", epsilon=2) == 0
    target = tmp_path / "rows.jsonl"
    words = ("--parser", trained, "--rows", 3, *setup.SHORT, "--output", target)
    assert command("sample", tmp_path / "plain", *words) == 0
    rows = list(read_rows(str(target)))
    assert rows
    assert all(row.program and row.source == "private" for row in rows)
    # What the parser did not learn, it does not read back: no row is kept, and all are told.
    capsys.readouterr()
    few = ("--parser", trained, "--rows", 2, "--tries", 8, "--redraws", 1)
    assert sampled(tmp_path, *few, name="kept.jsonl") == []
    told = json.loads((tmp_path / "kept.jsonl.manifest.json").read_text())
    assert told["parser"] == str(trained)
    assert told["rows"] == 0
    assert told["drawn"] == sum(told["dropped"].values()) == 16
    assert "H010" in capsys.readouterr().err


# ----------------------------------------------------------------------------------- from Python

SMALL = {
    "estimated_units": 40, "batch": 10, "size": 16, "layers": 1, "heads": 2, "longest": 64,
    "library": setup.LIBRARY, "pretraining_epochs": 1,
}  # fmt: skip
DRAW = {"library": setup.LIBRARY, "seed": 3, "batch": 16, "width": 1, "longest": 20,
         "program_longest": 20}  # fmt: skip


@pytest.fixture
def budget(two_stage):
    return gd.private.Ledger(two_stage / "private.jsonl")


@pytest.mark.slow
def test_a_generator_is_trained(tmp_path):
    rows, public = gd.private.Ledger(prepare(tmp_path)), tmp_path / "public.jsonl"
    rows.train("one-stage", epsilon=3, public=public, output=tmp_path / "made", **SMALL)
    assert 2.5 < rows.spent.epsilon <= 3
    assert read_spent(tmp_path / "made" / "spent.json").epsilon == rows.spent.epsilon


def test_rows_are_drawn_and_cost_nothing(budget, two_stage, tmp_path):
    with budget:
        drawn = budget.sample(two_stage / "made", rows=6, **DRAW)
        rows = list(drawn.rows)
        assert len(rows) == drawn.number == 6
        assert {row.source for row in rows} == {"private"}
        assert drawn.spent.epsilon == budget.spent.epsilon
        assert repr(drawn).startswith("SampleResult(6 rows, epsilon 3, delta 1e-06")
        target = tmp_path / "rows.jsonl"
        budget.sample(two_stage / "made", rows=6, output=target, **DRAW)
        assert list(read_rows(str(target))) == rows
        assert json.loads(target.with_name("rows.jsonl.manifest.json").read_text())["rows"] == 6
        assert len(json.loads(budget.path.read_text())["entries"]) == 2  # a spend and its end
    assert (
        refused(budget.train, "one-stage", output=tmp_path / "made", epsilon=1, **SMALL) == "B036"
    )
    assert refused(budget.sample, two_stage / "made") == "B036"


def test_a_parser_reads_the_rows_of_two_stage_back(budget, two_stage, tmp_path):
    def predict(utterances, *, count):
        assert count == 1
        return [(SimpleNamespace(program=setup.INBOX),) for _ in utterances]

    parser = SimpleNamespace(folder=tmp_path, predict=predict)
    drawn = budget.sample(two_stage / "made", rows=4, parser=parser, **DRAW)
    assert [row.program for row in drawn.rows] == [setup.INBOX] * 4
    assert "dropped: read as another program by the parser" in "\n".join(drawn.lines())
    facts = {"inputs": {}, "spent": asdict(replace(drawn.spent, epsilon=3.5))}
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    assert refused(budget.sample, two_stage / "made", parser=parser, **DRAW) == "H008"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("one-stage", {}, "R041"),
        ("one-stage", {"epsilon": 1, "use_remaining_budget": True}, "R041"),
        ("one-stage", {"epsilon": 1, "code_sets": True}, "R041"),
        ("one-stage", {"epsilon": 1, "heads": 3}, "R041"),
        ("no-stage", {"epsilon": 1}, "R040"),
        ("one-stage", {"epsilon": -1}, "R040"),
        ("one-stage", {"epsilon": 1, "epoch": 3}, "R043"),
        ("one-stage", {"epsilon": 8}, "B023"),
        ("two-stage", {"epsilon": 1, "epochs": "3"}, "H001"),
        ("control", {"epsilon": 1, "library": (), "language": "sexpr"}, "H006"),
        ("two-stage", {"epsilon": 1, "parser": SimpleNamespace(folder=None)}, "H008"),
    ],
)
def test_settings_that_no_run_has_are_refused(budget, tmp_path, kind, options, code):
    options = {**SMALL, "output": tmp_path / "made", **options}
    assert refused(budget.train, kind, **options) == code
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_of_this_ledger_is_refused(budget, two_stage, tmp_path):
    private, made = two_stage / "private.jsonl", two_stage / "made"
    options = {"output": tmp_path / "made", "epsilon": 1, **SMALL}
    for public in (private, gd.Rows.read(private), [next(iter(gd.Rows.read(private)))]):
        assert refused(budget.train, "one-stage", public=public, **options) == "H008"
    assert refused(budget.sample, made, parser=SimpleNamespace(folder=None)) == "H008"
    rows = ({"utterance": f"quite another thing {n}"} for n in range(30))
    other = setup.write(tmp_path / "other.jsonl", rows)
    stranger = gd.private.Ledger.init(other, epsilon=1, delta=1e-6, unit="utterance")
    assert refused(stranger.sample, made, library=setup.LIBRARY) == "F010"
