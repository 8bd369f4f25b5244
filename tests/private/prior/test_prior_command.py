"""`genie-dp private prior`: paid before it is released, once, and silent about rows."""

import gzip
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.private.generators.rows import RowsFingerprint
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private_prior import load_prior
from genie_dp.records import Example
from genie_dp.rows import to_json
from genie_dp.run.manifest import ledger_of
from tests.private.prior.prior_setup import (
    HOME,
    LACKED,
    POST,
    SECRET,
    SPENT,
    TWITTER,
    asked,
    draw_counts,
    population,
    private_file,
)

SKILLS = ("--skills", str(TWITTER))


pytestmark = pytest.mark.usefixtures("known_noise")


@pytest.fixture
def private(tmp_path):
    return asked(tmp_path)


def words(private, *options, epsilon=2):
    return [
        "private", "prior", str(private), "--epsilon", str(epsilon), *SKILLS,
        "--estimated-units", "400", "--output", str(private.with_name("prior.json")),
        *map(str, options),
    ]  # fmt: skip


def run(private, *options, epsilon=2):
    return cli.run(words(private, *options, epsilon=epsilon))


def spends(private):
    return [entry.mechanisms for entry in Ledger.open(ledger_of(private)).entries]


def test_a_prior_tells_what_is_asked_for_and_what_is_lacking(private, capsys):
    (private.parent / "names.txt").write_text(
        "# from the forum\n@com.tickets.buy\n@com.taxi.order\n"
    )
    assert run(private, "--candidates", private.parent / "names.txt") == 0
    found = load_prior(private.with_name("prior.json")).prior
    home = found.functions["@com.twitter.home_timeline"]
    assert home.low < 0.6 < home.high
    assert found.missing["@com.tickets.buy"].low < 0.1 < found.missing["@com.tickets.buy"].high
    assert found.missing["@com.taxi.order"].low == 0
    weights = found.function_weights
    assert weights["@com.twitter.home_timeline"] > weights["@com.twitter.post"] > 1
    assert weights["@com.twitter.search"] < 1
    assert 1.9 < found.spent.epsilon <= 2
    assert found.spent.delta == 1e-6
    told = capsys.readouterr().out
    assert "in 1,000 utterances ask for a function that the library lacks" in told
    assert "@com.tickets.buy" in told
    assert "@com.taxi.order" not in told


def test_names_that_many_have_are_shown_where_delta_pays_for_it(private):
    assert run(private, "--threshold-delta", "5e-7") == 0
    found = load_prior(private.with_name("prior.json")).prior
    assert set(found.missing) == {"", "@com.tickets.buy"}
    (mechanisms,) = spends(private)
    assert [one.kind for one in mechanisms] == ["gaussian", "threshold"]
    assert found.spent.epsilon <= 2


def test_laplace_noise_needs_no_delta(tmp_path, capsys):
    private = private_file(tmp_path, [HOME] * 300, delta=0)
    assert run(private, "--mechanism", "laplace") == 0
    assert load_prior(tmp_path / "prior.json").prior.spent.epsilon == pytest.approx(2)
    assert run(private, "--overwrite") == 1
    assert "--mechanism laplace" in capsys.readouterr().err


def test_processes_that_go_on_with_one_run_release_once(tmp_path):
    read, both = [], threading.Barrier(2)

    def units():
        read.append(1)
        time.sleep(0.2)
        return Units(population(50))

    def released(_):
        both.wait()
        return draw_counts(tmp_path, units, lambda *_: SPENT)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(released, range(2))
    assert one == other
    assert len(read) == 1


def test_users_with_several_rows_count_once(tmp_path):
    private = private_file(tmp_path, [HOME] * 400, unit="user")
    rows = [json.loads(line) for line in private.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["user"] = f"u{number % 100}"
    private.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(private) == 0
    found = load_prior(tmp_path / "prior.json").prior
    home = found.functions["@com.twitter.home_timeline"]
    assert home.low < 0.25 < home.high
    assert found.spent.unit == "user"


@pytest.mark.parametrize("name", ["public.jsonl", "public.tsv"])
def test_public_programs_need_not_name_their_functions(name, tmp_path):
    program = "( beep ( twice ) )"
    private = private_file(tmp_path, [program] * 40)
    lines = {
        "public.jsonl": json.dumps(
            {"id": "S0", "utterance": "beep", "program": program, "language": "sexpr"}
        ),
        "public.tsv": f"S0\tbeep\t{program}",
    }
    (tmp_path / name).write_text(f"{lines[name]}\n")
    out = tmp_path / "prior.json"
    options = ["--estimated-units", "40", "--public", str(tmp_path / name), "--output", str(out)]
    command = ["private", "prior", str(private), "--epsilon", "1", "--language", "sexpr"]
    assert cli.run([*command, *options]) == 0
    assert set(load_prior(out).prior.functions) == {"beep", "twice"}


ROWS = tuple(
    Example(f"P{number}", said, program, "thingtalk", "private")
    for number, (said, program) in enumerate([("tweets", HOME), ("post it", POST)])
)


def drawn(private, rows=ROWS):
    """Write rows with a manifest, as `private sample` does, of a run that the ledger knows."""
    ledger = Ledger.open(ledger_of(private))
    spent = asdict(ledger.spend([Gaussian(50.0)], purpose="generator, two-stage", run="trained"))
    fingerprint = RowsFingerprint()
    file = private.with_name("rows.jsonl")
    file.write_text("".join(f"{to_json(row)}\n" for row in fingerprint.over(rows)))
    told = {"command": "private sample", "run": "trained", "spent": spent}
    manifest = {**told, "content": fingerprint.text()}
    private.with_name("rows.jsonl.manifest.json").write_text(json.dumps(manifest))
    private.with_name("spent.json").write_text(json.dumps(spent))
    return ["--sampled", file, "--spent", private.with_name("spent.json")]


def test_rows_of_a_generator_go_into_the_prior(private):
    files = drawn(private)
    assert run(private, *files, epsilon=1) == 0
    found = load_prior(private.with_name("prior.json")).prior
    assert found.programs == (HOME, POST)
    assert found.utterances == ("tweets", "post it")
    assert found.spent.epsilon > json.loads(files[-1].read_text())["epsilon"]


def test_rows_in_another_format_are_the_same_rows(private):
    files = drawn(private)
    tsv = private.with_name("rows.tsv.gz")
    with gzip.open(tsv, "wt") as out:
        out.writelines(f"{row.id}\t{row.utterance}\t{row.program}\n" for row in ROWS)
    manifest = private.with_name("rows.jsonl.manifest.json")
    manifest.rename(private.with_name("rows.tsv.gz.manifest.json"))
    assert run(private, "--sampled", tsv, *files[2:], epsilon=1) == 0


def manifest_of(**fields):
    def change(file):
        manifest = Path(f"{file}.manifest.json")
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **fields}))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (ROWS[::-1], "in another order"),
        ((ROWS[0], replace(ROWS[1], utterance=f"the {SECRET}")), "other rows"),
        ((ROWS[0], replace(ROWS[1], program=LACKED)), "other rows"),
        (ROWS[:1], "other rows"),
        ((*ROWS, ROWS[0]), "other rows"),
        (manifest_of(run="another"), "knows nothing of the generator"),
        (manifest_of(run=None), "is no manifest"),
        (manifest_of(command="synthesize"), "is no manifest"),
        (manifest_of(spent={"epsilon": 0.01}), "another guarantee"),
        (lambda file: Path(f"{file}.manifest.json").unlink(), "there is no manifest"),
    ],
)
def test_rows_that_no_generator_of_the_ledger_drew_are_refused(private, capsys, change, said):
    files = drawn(private)
    if callable(change):
        change(files[1])
    else:
        files[1].write_text("".join(f"{to_json(row)}\n" for row in change))
    assert run(private, *files, epsilon=1) == 1
    told = capsys.readouterr().err
    assert "F010" in told
    assert said in told
    assert SECRET not in told
    assert len(spends(private)) == 1  # the generator's
    assert not private.with_name("prior.json").exists()
