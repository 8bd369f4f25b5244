"""`genie-dp private train` and `sample`: what they write, cost, refuse, and never show."""

import json
import re
import shutil
from dataclasses import asdict
from hashlib import sha256

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

from genie_dp.cli import load_command, run  # noqa: E402
from genie_dp.cli.private import STEPS  # noqa: E402
from genie_dp.private.generators import run as training_stage  # noqa: E402
from genie_dp.private.generators.config import FEW_SENTENCES, GeneratorConfig  # noqa: E402
from genie_dp.private.generators.duration import measure_speed  # noqa: E402
from genie_dp.private.generators.generator import read_spent  # noqa: E402
from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder  # noqa: E402
from genie_dp.private.generators.plans import Speed  # noqa: E402
from genie_dp.private.generators.rows import read_drawn_rows  # noqa: E402
from genie_dp.private.generators.stages import EncodedRow  # noqa: E402
from genie_dp.private.ledger.book import Ledger  # noqa: E402
from genie_dp.private.ledger.guard import refuse_learned, refuse_uncovered  # noqa: E402
from genie_dp.private.training import run as training_run  # noqa: E402
from genie_dp.private.training.run import digest_of_weights  # noqa: E402
from genie_dp.private.training.settings import DPSettings  # noqa: E402
from genie_dp.rows import read_rows  # noqa: E402
from tests.private.generators import generator_rows  # noqa: E402
from tests.private.generators.generator_models import gpt2, save_pretrained  # noqa: E402
from tests.private.generators.generator_rows import CANARY  # noqa: E402

SKILLS = ("--skills", generator_rows.MAIL, "--skills", generator_rows.HOME)
SIZES = ("--size", 16, "--layers", 1, "--heads", 2, "--longest", 64, "--pretraining-epochs", 1,
         "--pretraining-batch", 16, "--checkpoint-every", 2)  # fmt: skip
# So long that most draws are rows.
LEARNED = ("--pretraining-epochs", 30, "--pretraining-rate", 0.01, "--learning-rate", 1e-4)
EPOCHS = {"one-stage": "2", "control": "2", "two-stage": "1/2"}


def command(*words):
    return run([str(word) for word in ("private", *words)])


def prepare(folder, epsilon=8):
    """Write rows and a ledger; return the options that name them."""
    private = generator_rows.private(folder)
    generator_rows.public(folder)
    budget = ("--epsilon", epsilon, "--delta", 1e-6, "--unit", "utterance")
    assert command("budget", "init", private, *budget) == 0
    return private


def train(folder, kind, *options, epsilon=3, name="made"):
    amount = ("--about", 40, "--batch", 10, "--epochs", EPOCHS[kind], "--epsilon", epsilon)
    public = () if "--model" in options else ("--public", folder / "public.jsonl")
    target = ("--output", folder / name)
    rows = folder / "private.jsonl"
    return command("train", kind, rows, *amount, *public, *SKILLS, *SIZES, *options, *target)


def ledger(folder):
    return Ledger.open(folder / "private.ledger.json")


def all_bytes(folder):
    """Return names and content of all files below a folder, the private rows left out."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "private.jsonl"]
    assert files
    return b"".join(str(path).encode() + path.read_bytes() for path in files)


@pytest.fixture(scope="module")
def two_stage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_stage")
    prepare(folder)
    assert train(folder, "two-stage", *LEARNED, "--public-model", folder / "before") == 0
    return folder


def test_the_lines_of_help_are_those_of_the_commands():
    for name in ("train", "sample"):
        place, line = STEPS[name]
        assert load_command(place).get_short_help_str(200) == line


def test_a_folder_has_all_that_a_generator_needs(two_stage):
    names = {path.name for path in (two_stage / "made").iterdir()}
    weights = {"model-program.safetensors", "model-utterance.safetensors"}
    assert names == weights | {"config.json", "tokenizer.json", "spent.json", "README.md"}
    assert not (two_stage / ".made.work").exists()


def test_what_is_told_of_a_run_is_what_the_ledger_has(two_stage):
    spent = json.loads((two_stage / "made" / "spent.json").read_text())
    [entry] = ledger(two_stage).entries
    assert spent["epsilon"] == ledger(two_stage).spent().epsilon
    assert 2.9 < spent["epsilon"] <= 3
    assert [one.steps for one in entry.mechanisms] == [4, 8]
    assert f"({spent['epsilon']}, 1e-06)" in (two_stage / "made" / "README.md").read_text()


@pytest.mark.slow
def test_bands_of_noise_are_paid_as_fewer_steps_of_a_higher_rate(tmp_path, capsys):
    prepare(tmp_path)
    assert train(tmp_path, "one-stage", "--bands", 5) == 1  # 5 batches of 10 are more than 40 rows
    assert "H002" in capsys.readouterr().err
    assert ledger(tmp_path).entries == ()
    assert train(tmp_path, "one-stage", "--bands", 2) == 0
    [entry] = ledger(tmp_path).entries
    [one] = entry.mechanisms
    assert (one.rate, one.steps) == (0.5, 4)  # of 8 steps at 0.25
    spent = json.loads((tmp_path / "made" / "spent.json").read_text())
    assert 2.9 < spent["epsilon"] <= 3


PLACE = SIZES.index("--pretraining-epochs")
SMALL = (*SIZES[:PLACE], *SIZES[PLACE + 2 :])


def test_public_epochs_that_fit_are_said_before_payment_and_stay_where_a_run_goes_on(
    tmp_path, capsys, monkeypatch
):
    prepare(tmp_path)
    amount = ("--about", 40, "--batch", 10, "--epochs", "1/2", "--epsilon", 3)
    public = tmp_path / "public.jsonl"
    rows = len(public.read_text().splitlines())
    words = ("train", "two-stage", tmp_path / "private.jsonl", "--public", public, *amount,
             *SKILLS, *SMALL, "--output", tmp_path / "made")  # fmt: skip

    def killed(*_args, **_options):
        raise KeyboardInterrupt

    def never(*_args, **_options):
        raise AssertionError("the speed of another machine is of no account")

    # Two stages: 900 seconds an epoch, so that half of one fits into ten minutes.
    slow = Speed(row=0.0, step=0.0, public_row=450 / rows)
    with monkeypatch.context() as patched:
        patched.setattr(training_stage, "measure_speed", lambda *_args, **_options: slow)
        patched.setattr(training_stage, "pretrain_publicly", killed)
        assert command(*words) == 130
    said = capsys.readouterr().err
    assert "takes about 7.5 minutes here (1 thread)" in said
    assert f"0.5 epochs of {rows} public rows" in said
    assert ledger(tmp_path).entries == ()
    monkeypatch.setattr(training_stage, "measure_speed", never)
    assert command(*words, "--resume") == 0
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["training"]["epochs on public rows"] == 0.5
    assert "0.5 epochs" in capsys.readouterr().err


def test_epochs_of_public_rows_that_are_given_win(tmp_path, capsys, monkeypatch):
    prepare(tmp_path)
    slow = Speed(row=1.0, step=0.0, public_row=1000.0)
    monkeypatch.setattr(training_stage, "measure_speed", lambda *_args, **_options: slow)
    assert train(tmp_path, "one-stage") == 0  # --pretraining-epochs 1
    said = capsys.readouterr().err
    assert "hours for 1 epoch of" in said
    assert "1.3 minutes for noisy steps" in said  # 8 steps of 10 rows
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["training"]["epochs on public rows"] == 1


def test_the_speed_of_a_model_is_measured_without_changing_it():
    model = PreLNDecoder(40, DecoderSettings(8, 1, 2, 16))
    before = digest_of_weights([model])
    rows = [EncodedRow((2, *range(4, 4 + n % 9), 3)) for n in range(1, 30)]
    settings = DPSettings(1.0, rate=0.1, steps=4, batch=8)
    state = torch.random.get_rng_state()
    speed = measure_speed(model, rows, settings, batch=8)
    assert speed.row > 0
    assert speed.public_row > 0
    assert digest_of_weights([model]) == before
    assert torch.equal(torch.random.get_rng_state(), state)


def test_what_the_generator_was_before_private_rows_is_kept_and_says_nothing_of_them(two_stage):
    spent = json.loads((two_stage / "before" / "spent.json").read_text())
    assert (spent["epsilon"], spent["delta"]) == (0.0, 0.0)
    names = [path.name for path in (two_stage / "before").glob("*.safetensors")]
    assert sorted(names) == ["model-program.safetensors", "model-utterance.safetensors"]
    for name in names:
        before, made = ((two_stage / part / name).read_bytes() for part in ("before", "made"))
        assert before != made


def test_no_private_word_is_in_any_file(two_stage):
    assert CANARY.encode() not in all_bytes(two_stage)
    assert CANARY.encode() in (two_stage / "private.jsonl").read_bytes()


SHORT = ("--batch", 8, "--program-longest", 20, "--longest", 30, "--width", 1)


def sampled(folder, *options, name="rows.jsonl", code=0):
    target = folder / name
    found = command("sample", folder / "made", *SKILLS, "--output", target, *SHORT, *options)
    assert found == code
    return list(read_rows(str(target))) if target.exists() else []


def test_rows_are_private_and_have_programs(two_stage, capsys):
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


def test_the_same_seed_gives_the_same_bytes(two_stage):
    for name, seed in (("a.tsv", 1), ("b.tsv", 1), ("c.tsv", 2)):
        sampled(two_stage, "--rows", 8, "--seed", seed, name=name)
    first, again, other = ((two_stage / f"{x}.tsv").read_bytes() for x in "abc")
    assert first == again
    assert first != other


def test_an_output_that_exists_is_left_alone(two_stage, capsys):
    path = two_stage / "kept.jsonl"
    path.write_text("mine")
    assert command("sample", two_stage / "made", "--output", path) == 1
    assert "Y022" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert train(two_stage, "two-stage") == 1
    assert "Y022" in capsys.readouterr().err


def test_too_few_rows_are_told(two_stage, capsys):
    options = ("--rows", 50, "--tries", 1, "--longest", 2)
    sampled(two_stage, *options, name="few.jsonl")
    told = capsys.readouterr().err
    assert "H010" in told
    assert "dropped: too long" in told


def test_a_parser_of_drawn_rows_is_within_the_guarantee_of_their_generator(two_stage, tmp_path):
    rows = two_stage / "learned.jsonl"
    sampled(two_stage, "--rows", 3, name=rows.name)
    spent = read_spent(two_stage / "made" / "spent.json")
    parser = learned_of(tmp_path / "parser", rows, "0", spent=asdict(spent))
    refuse_learned(parser, two_stage / "private.jsonl", code="H008")
    refuse_uncovered(parser, spent, code="H008")
    # What was drawn after private rows tells of them, under no guarantee of the model before.
    options = ("--parser", parser, "--output", tmp_path / "rows.jsonl")
    assert command("sample", two_stage / "before", *SKILLS, *options) == 1
    assert not (tmp_path / "rows.jsonl").exists()


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
    rows = sampled(tmp_path, "--rows", 5)
    assert {row.program for row in rows} == {""}
    assert "--parser DIR" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_of_hugging_face_learns_one_stage(tmp_path):
    prepare(tmp_path)
    base = save_pretrained(tmp_path / "base", gpt2)
    assert train(tmp_path, "one-stage", "--model", base) == 0
    sampled(tmp_path, "--rows", 3, "--tries", 3)
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names == {
        "base",
        "model-utterance.safetensors",
        "config.json",
        "spent.json",
        "README.md",
    }
    (tmp_path / "base").rename(tmp_path / "elsewhere")
    sampled(tmp_path, "--rows", 1, "--tries", 3, name="again.jsonl")


def test_adapters_are_drawn_from_with_the_model_that_they_were_added_to(tmp_path, capsys):
    pytest.importorskip("peft")
    prepare(tmp_path)
    base = save_pretrained(tmp_path / "base", gpt2)
    assert train(tmp_path, "one-stage", "--model", base, "--lora", 2) == 0
    sampled(tmp_path, "--rows", 3, "--tries", 3)
    (tmp_path / "base").rename(tmp_path / "elsewhere")
    words = ("sample", tmp_path / "made", "--rows", 1, "--output", tmp_path / "again.jsonl")
    capsys.readouterr()
    assert command(*words) == 1
    assert "M009" in capsys.readouterr().err


def test_a_run_past_the_budget_writes_nothing(tmp_path, capsys):
    prepare(tmp_path, epsilon=2)
    before = all_bytes(tmp_path)
    assert train(tmp_path, "two-stage", epsilon=2.5) == 1
    assert "B023" in capsys.readouterr().err
    assert all_bytes(tmp_path) == before
    assert not (tmp_path / ".made.work").exists()


def test_without_a_ledger_nothing_is_trained(tmp_path, capsys):
    generator_rows.private(tmp_path)
    generator_rows.public(tmp_path)
    assert train(tmp_path, "one-stage") == 1
    told = capsys.readouterr().err
    assert "B022" in told
    assert "genie-dp private budget init" in told


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_and_costs_once(tmp_path, monkeypatch, capsys):
    prepare(tmp_path)
    line = training_stage.write_over

    def interrupt(text, *, show=None):
        if text.startswith("utterance: step 3"):
            raise KeyboardInterrupt
        line(text)

    with monkeypatch.context() as patch:
        patch.setattr(training_stage, "write_over", interrupt)
        assert train(tmp_path, "two-stage") == 130
    assert "--resume" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
    assert len(ledger(tmp_path).entries) == 1
    assert CANARY.encode() not in all_bytes(tmp_path)
    assert train(tmp_path, "two-stage") == 1
    assert "Y021" in capsys.readouterr().err
    skill = generator_rows.SKILLS / "com.example.words"
    for other in (("--seed", 3), ("--skills", skill)):
        assert train(tmp_path, "two-stage", "--resume", *other) == 1
        assert "Y020" in capsys.readouterr().err
    assert train(tmp_path, "two-stage", "--resume") == 0
    assert len(ledger(tmp_path).entries) == 1
    assert (tmp_path / "made" / "spent.json").exists()


@pytest.mark.parametrize(
    ("kind", "place"),
    [("one-stage", training_run), ("two-stage", training_run), ("control", training_stage)],
)
def test_a_run_that_another_process_finished_is_not_trained_again(
    tmp_path, monkeypatch, capsys, kind, place
):
    """Both went on with it: when one has its last stage to itself, the other has cleared it."""
    prepare(tmp_path)
    whole = place.train_alone

    def finished(folder):
        if folder.name == "utterance":
            shutil.rmtree(folder.parent)
        return whole(folder)

    monkeypatch.setattr(place, "train_alone", finished)
    assert train(tmp_path, kind) == 1
    assert "B029" in capsys.readouterr().err
    assert len(ledger(tmp_path).entries) == 1
    names = {path.name for path in tmp_path.rglob("utterance/*")}
    assert names == {"run.json", ".run.lock", ".train.lock"}
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_another_run_costs_again_and_the_rest_is_used_up(tmp_path):
    prepare(tmp_path)
    assert train(tmp_path, "one-stage") == 0
    amount = ("--about", 40, "--batch", 10, "--epochs", 1, "--rest")
    rows, target = tmp_path / "private.jsonl", ("--output", tmp_path / "other")
    assert command("train", "one-stage", rows, *amount, *SIZES, *target) == 0
    assert len(ledger(tmp_path).entries) == 2
    assert 7.9 < ledger(tmp_path).spent().epsilon <= 8


def test_rows_of_source_private_are_not_public(tmp_path, capsys):
    prepare(tmp_path)
    row = generator_rows.row(0, "a", generator_rows.INBOX, "private")
    generator_rows.write(tmp_path / "public.jsonl", [row])
    assert train(tmp_path, "one-stage") == 1
    assert "H008" in capsys.readouterr().err


def test_the_private_file_and_others_with_a_ledger_are_not_public(tmp_path, capsys):
    private = prepare(tmp_path)
    assert train(tmp_path, "one-stage", "--public", private) == 1
    assert train(tmp_path, "control", "--codes", private) == 1
    (tmp_path / "public.ledger.json").write_text("{}")
    assert train(tmp_path, "one-stage") == 1
    told = capsys.readouterr().err
    assert told.count("H008") == 3
    assert CANARY not in told
    assert not ledger(tmp_path).entries


def learned_of(folder, name, digest, **facts):
    """A folder that says of itself what genie-dp train says of a parser: its files."""
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"inputs": {str(name): digest}, **facts}))
    return folder


def test_a_parser_that_learned_of_private_rows_writes_no_programs(tmp_path, capsys):
    private = prepare(tmp_path)
    digest = sha256(private.read_bytes()).hexdigest()
    renamed = learned_of(tmp_path / "parser", tmp_path / "elsewhere.jsonl", digest)
    assert train(tmp_path, "two-stage", "--parser", renamed) == 1
    beside = learned_of(tmp_path / "parser", private, "0")
    assert train(tmp_path, "two-stage", "--parser", beside) == 1
    output = ("--output", tmp_path / "rows.jsonl")
    assert command("sample", tmp_path, "--parser", beside, *output) == 1
    assert capsys.readouterr().err.count("H008") == 3
    assert not ledger(tmp_path).entries
    public = learned_of(tmp_path / "parser", tmp_path / "public.jsonl", "0")
    assert command("sample", tmp_path, "--parser", public, *output) == 1
    assert "H003" in capsys.readouterr().err  # what comes next: there is no generator


@pytest.mark.parametrize("text", ["{", "[]", '{"inputs": 1}'])
def test_a_parser_that_cannot_tell_what_it_learned_of_writes_no_programs(text, tmp_path, capsys):
    prepare(tmp_path)
    parser = learned_of(tmp_path / "parser", "public.jsonl", "0")
    (parser / "manifest.json").write_text(text)
    assert train(tmp_path, "two-stage", "--parser", parser) == 1
    assert "is broken" in capsys.readouterr().err
    assert not ledger(tmp_path).entries


@pytest.mark.parametrize(
    ("settings", "rate"),
    [({}, 0.02), ({"model": "gpt2"}, 0.002), ({"learning_rate": 0.3}, 0.3)],
)
def test_the_learning_rate_is_that_of_the_model_unless_told(settings, rate):
    config = GeneratorConfig(kind="one-stage", about=10, rest=True, **settings)
    assert config.noisy_steps.learning_rate == rate
    assert config.shared_settings()["learning_rate"] == rate


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two-stage", "control"])
def test_whether_private_rows_have_programs_decides_neither_exit_code_nor_price(
    kind, tmp_path, capsys
):
    told = []
    for name, row in {
        "none": {},
        "one": {"program": "now => @org.thingpedia.weather.current()"},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        prepare(folder)
        lines = [{"utterance": f"hello {CANARY} {name}"}, {"utterance": f"hi {name}", **row}]
        (folder / "private.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        assert train(folder, kind, "--no-pretraining") == 0
        said = capsys.readouterr()
        told.append(re.sub(r"\d+ s|/\S+", "", said.out + said.err))
        assert [one.mechanisms for one in ledger(folder).entries]
    assert told[0] == told[1]
    assert "warning[H007]" in told[0]
    assert CANARY not in told[0]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--device", "cuda:99"), "N008"),
        (("--model", "no model"), "H00"),
    ],
)
def test_a_run_that_is_refused_before_it_learns_leaves_no_work(tmp_path, capsys, options, code):
    prepare(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert train(tmp_path, "one-stage", *options) == 1
    assert f"error[{code}" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_resumed_run_that_is_refused_keeps_what_it_was_left_of(tmp_path, monkeypatch, capsys):
    prepare(tmp_path)

    def interrupt(text, *, show=None):
        if text.startswith("utterance: step 1"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training_stage, "write_over", interrupt)
        assert train(tmp_path, "two-stage") == 130
    rows = (tmp_path / "private.jsonl").read_text()
    (tmp_path / "private.jsonl").write_text(json.dumps({"utterance": 3}) + "\n")
    assert train(tmp_path, "two-stage", "--resume") == 1
    assert "Q003" in capsys.readouterr().err
    (tmp_path / "private.jsonl").write_text(rows)
    assert train(tmp_path, "two-stage", "--resume") == 0
    assert len(ledger(tmp_path).entries) == 1


@pytest.mark.parametrize("line", ["no json", '{"utterance": 3}', '{"program": "zanzibarquux"}'])
def test_a_broken_private_file_is_told_without_its_text(tmp_path, capsys, line):
    prepare(tmp_path)
    (tmp_path / "private.jsonl").write_text(f"{line} {CANARY}\n")
    assert train(tmp_path, "one-stage") == 1
    told = capsys.readouterr().err
    assert "error[Q00" in told
    assert CANARY not in told
    assert not ledger(tmp_path).entries
    assert not (tmp_path / ".made.work").exists()


def test_a_folder_that_is_no_generator_is_not_overwritten(tmp_path, capsys):
    prepare(tmp_path)
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine.txt").write_text("mine")
    assert train(tmp_path, "one-stage", "--overwrite") == 1
    assert "H009" in capsys.readouterr().err
    assert (tmp_path / "made" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("one-stage", ("--parser", "made")),
        ("one-stage", ("--code-sets",)),
        ("one-stage", ("--lora", 2)),
        ("one-stage", ("--rest",)),
        ("one-stage", ("--resume", "--overwrite")),
        ("one-stage", ("--size", 9)),
        ("one-stage", ("--epsilon", "nan")),
        ("one-stage", ("--about", "inf")),
        ("one-stage", ("--clip", "inf")),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(two_stage, kind, options):
    options = [two_stage / "made" if x == "made" else x for x in options]
    assert train(two_stage, kind, *options, name="never") == 2


def test_epochs_of_another_kind_are_refused(tmp_path, capsys):
    prepare(tmp_path)
    for epochs in ("3", "a/b"):
        assert train(tmp_path, "two-stage", "--epochs", epochs) == 1
        assert "H001" in capsys.readouterr().err


@pytest.mark.slow
def test_a_generator_of_s_expressions_is_trained_and_drawn_from(tmp_path):
    def rows(said):
        for i in range(40):
            what = ("alarm", "timer")[i % 2]
            program = f"( set_{what} ( at NUMBER_0 ) )"
            text = f"set my {what} for NUMBER_0 {said}".strip()
            yield {**generator_rows.row(i, text, program), "language": "sexpr"}

    generator_rows.write(tmp_path / "public.jsonl", rows(""))
    private = generator_rows.write(tmp_path / "private.jsonl", rows(CANARY))
    budget = ("--epsilon", 8, "--delta", 1e-6, "--unit", "utterance")
    assert command("budget", "init", private, *budget) == 0
    amount = ("--about", 40, "--batch", 10, "--epochs", "1/2", "--epsilon", 3)
    public = ("--public", tmp_path / "public.jsonl", "--language", "sexpr")
    made = ("--output", tmp_path / "made")
    assert command("train", "two-stage", private, *amount, *public, *SIZES, *LEARNED, *made) == 0
    target = tmp_path / "rows.jsonl"
    assert command("sample", tmp_path / "made", "--rows", 8, "--output", target) == 0
    drawn = list(read_rows(str(target)))
    assert len(drawn) == 8
    assert {row.language for row in drawn} == {"sexpr"}
    assert {f for row in drawn for f in row.functions} <= {"set_alarm", "set_timer", "at"}
    assert CANARY.encode() not in all_bytes(tmp_path / "made")


@pytest.mark.slow
def test_a_parser_writes_the_programs_of_private_rows_and_of_samples(tmp_path, capsys):
    pytest.importorskip("phonenumbers")
    from tests.parser import parser_setup

    (tmp_path / "parsing").mkdir()
    parser = parser_setup.train(tmp_path / "parsing")
    prepare(tmp_path)
    unlabelled = [{"utterance": row["utterance"]} for row in generator_rows.asked(20)]
    generator_rows.write(tmp_path / "private.jsonl", unlabelled)
    assert train(tmp_path, "two-stage", "--parser", parser, epsilon=2) == 0
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["training"]["programs of private rows"] == "by a parser"
    assert train(tmp_path, "one-stage", *LEARNED, name="plain", epsilon=2) == 0
    command_rows = ("--parser", parser, "--rows", 3, *SHORT, "--output", tmp_path / "rows.jsonl")
    assert command("sample", tmp_path / "plain", *command_rows) == 0
    rows = list(read_rows(str(tmp_path / "rows.jsonl")))
    assert rows
    assert all(row.program and row.source == "private" for row in rows)
    # What the parser did not learn, it does not read back: no row is kept, and all are told.
    capsys.readouterr()
    few = ("--parser", parser, "--rows", 2, "--tries", 8, "--redraws", 1)
    assert sampled(tmp_path, *few, name="kept.jsonl") == []
    told = json.loads((tmp_path / "kept.jsonl.manifest.json").read_text())
    assert told["parser"] == str(parser)
    assert told["rows"] == 0
    assert told["drawn"] == sum(told["dropped"].values()) == 16
    assert "H010" in capsys.readouterr().err


@pytest.mark.slow
def test_broken_public_programs_leave_no_constants(tmp_path):
    prepare(tmp_path)
    rows = [generator_rows.row(i, said, '( " no program') for i, said in enumerate("abc")]
    with (tmp_path / "public.jsonl").open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    assert train(tmp_path, "two-stage") == 0
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    assert config["public"]["texts"] == []


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
    config = GeneratorConfig(**{"kind": "one-stage", "about": 100, "epsilon": 1, **more})
    doubts = config.doubts(has_parser=False, sentences=sentences)
    assert [doubt.code for doubt in doubts] == codes
    assert {doubt.severity for doubt in doubts} <= {"warning"}


def test_doubts_are_told_before_anything_is_spent(tmp_path, capsys, monkeypatch):
    def refuse(*args, **settings):
        raise KeyboardInterrupt

    prepare(tmp_path)
    monkeypatch.setattr(training_stage, "_fit_and_save", refuse)
    assert train(tmp_path, "one-stage", "--no-pretraining") != 0
    assert "warning[H013]" in capsys.readouterr().err
    assert not ledger(tmp_path).entries
