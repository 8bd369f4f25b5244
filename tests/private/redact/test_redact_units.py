"""Neighbouring inputs: what one unit's rows change in the redacted rows of all others."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, paid_by, private_of
from genie_dp.private.redact import run as redact_run
from genie_dp.private.redact.patterns import Patterns
from genie_dp.private.redact.provenance import (
    Provenance,
    digest_of_rows,
    manifest_beside,
    read_provenance,
)
from genie_dp.private.redact.redactor import Redactor
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.spans import MASK, Policy
from genie_dp.private.redact.work import RedactionWork
from genie_dp.private.source import PrivateSource
from genie_dp.run.manifest import ledger_of
from tests.private.redact.test_redact_resume import Stopped, stop

PLACES = ("kitchen", "hall", "attic", "garage", "bath")
COMMON = [f"turn on the {what} in the {place}" for what in ("lamp", "fan") for place in PLACES]
LONG = "please remind me to water all the plants on the balcony every evening"
# Common sentences, alike ones, found secrets, and one that no policy takes.
TEXTS = (
    *COMMON[:2], LONG, f"{LONG} ok", f"{LONG} or not", LONG.upper(), "mail kim@example.org",
    "mail joe@example.org", "call me on 3/4/1999", "the word is zanzibar", MASK, f"say {MASK}",
)  # fmt: skip
# A note may hold what a detector finds; then it is masked in the sentence, too.
NOTES = ("", "zanzibar", "kim@example.org", "www.zanzibar.org")
PROGRAMS = (None, '( say " zanzibar " )', '( say " kim@example.org " )')

some_rows = st.builds(
    lambda text, program, note: {
        "utterance": text, "program": program, "language": "sexpr", "note": note,
    },
    st.sampled_from(TEXTS), st.sampled_from(PROGRAMS), st.sampled_from(NOTES),
)  # fmt: skip
people = st.lists(
    st.tuples(st.sampled_from(["u_1", "u_2", "u_3"]), some_rows), min_size=1, max_size=8
)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def redacted(folder, rows, *options, killed=False):
    """Return the rows that training reads of a file of rows, in order; their ids are not read."""
    source, out = folder / "rows.jsonl", folder / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["private", "redact", str(source), "-o", str(out), "--conservative", "0.3"]
    words += [*map(str, options), "--overwrite"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact_run, "_AT_ONCE", 3)
        if killed:
            with pytest.MonkeyPatch.context() as killing:
                killing.setattr(RedactionWork, "add", once(RedactionWork.add))
                killing.setattr(redact_run, "deliver", stop)
                with pytest.raises(Stopped):
                    run(words)
            words = [*words[:-1], "--resume"]
        assert run(words) == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    return [{name: row[name] for name in row if name != "id"} for row in found]


def once(add):
    """Return what adds one batch, and stops in the next."""
    calls = []

    def adding(self, rows, drawn):
        calls.append(rows)
        if len(calls) > 1:
            raise Stopped
        add(self, rows, drawn)

    return adding


def others(rows, user):
    return [row for row in rows if row["user"] != user]


def test_a_user_with_common_sentences_changes_no_row_of_others(tmp_path):
    theirs = [{"utterance": text, "user": f"u_{i}"} for i, text in enumerate(COMMON, 1)]
    mine = [{"utterance": text, "user": "u_0"} for text in COMMON]
    without = redacted(tmp_path, theirs, "--unit-field", "user")
    beside = redacted(tmp_path, [*mine, *theirs], "--unit-field", "user")
    assert others(beside, "u_0") == without
    assert {row["part"] for row in without} == {"public"}
    # Equal sentences of the one user are masked but for the first.
    twice = redacted(tmp_path, [*mine, *mine], "--unit-field", "user")
    assert [row["utterance"] for row in twice] == COMMON + [MASK] * len(COMMON)
    # Without a unit all of them change.
    rows = [{"utterance": text} for text in COMMON]
    without, beside = (redacted(tmp_path, some) for some in (rows, rows + rows))
    assert without != beside[len(COMMON) :]
    assert read_provenance(tmp_path / "out.jsonl").couples("user")


@given(people, st.lists(some_rows, max_size=5), st.lists(st.integers(0, 8), max_size=5), st.data())
@FEW
def test_one_user_more_or_another_changes_no_row_of_others(
    tmp_path_factory, given_rows, mine, places, data
):
    near = data.draw(st.sampled_from([(), ("--near", 0.8)]))
    keep = data.draw(st.sampled_from([(), ("--keep", "note")]))
    options = ("--unit-field", "user", *near, *keep, *data.draw(KEPT_DUPLICATES))
    theirs = [{**row, "user": user} for user, row in given_rows]
    rows = list(theirs)
    for row, place in zip(mine, places, strict=False):
        rows.insert(place, {**row, "user": "u_0"})
    folder = tmp_path_factory.mktemp("unit")
    with_me = redacted(folder, rows, *options, killed=data.draw(st.booleans()))
    assert others(with_me, "u_0") == redacted(folder, theirs, *options)
    # Replaced by somebody with one sentence.
    other = [*others(rows, "u_0"), {"utterance": LONG, "note": "", "user": "u_0"}]
    assert others(redacted(folder, other, *options), "u_0") == others(with_me, "u_0")


KEPT_DUPLICATES = st.sampled_from([(), (), ("--keep-duplicates",)])


def counted(rows):
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


@given(st.lists(some_rows, min_size=1, max_size=8), some_rows, st.integers(0, 8), st.data())
@example([{"utterance": COMMON[0]}], {"utterance": COMMON[0]}, 0, None)
@FEW
def test_one_row_more_is_one_redacted_row_more(tmp_path_factory, rows, row, place, data):
    keep = data.draw(st.sampled_from([(), ("--keep", "note")])) if data else ()
    folder = tmp_path_factory.mktemp("row")
    before = counted(redacted(folder, rows, *keep))
    rows.insert(place, row)
    after = counted(redacted(folder, rows, *keep))
    assert before <= after
    assert (after - before).total() == 1


REDACTOR = Redactor((Patterns(),), Policy("pi", 0.5), Policy("pi_c", 0.3))
SECRETS = ("kim@example.org", "joe@example.org", "zanzibar", "3/4/1999")


@given(
    st.lists(st.sampled_from([*TEXTS, *(f"it is {one}" for one in SECRETS)]), max_size=8),
    st.sampled_from(["it is {}", "{}", "mail {}", "{} and kim@example.org", LONG + " {}"]),
    st.sampled_from(SECRETS),
    st.integers(0, 8),
    st.sampled_from([(), ("--unit-field", "user")]),
)
@example(["it is kim@example.org"], "it is {}", "kim@example.org", 1, ())
@FEW
def test_a_secret_or_a_mask_is_one_row_replaced_and_none_where_redaction_found_it(
    tmp_path_factory, texts, frame, secret, place, options
):
    def rows(text):
        said = [*texts[:place], text, *texts[place:]]
        return [{"utterance": one, "user": f"u_{i % 2}"} for i, one in enumerate(said)]

    folder = tmp_path_factory.mktemp("secret")
    text, hidden = frame.format(secret), frame.format(MASK)
    one, other = (counted(redacted(folder, rows(said), *options)) for said in (text, hidden))
    gone, come = one - other, other - one
    made, masked = (REDACTOR.redact([Point(said)])[0] for said in (text, hidden))
    if made.point == masked.point:
        assert not gone
        assert not come
    else:
        assert gone.total() == come.total() == 1
    # Where the conservative policy took the secret, both are of the private part.
    if made.part == "private":
        assert all('"part": "private"' in row for row in (*gone, *come))


def test_a_manifest_says_whose_rows_were_compared(tmp_path):
    rows = [{"utterance": text, "user": "u_1"} for text in COMMON]
    redacted(tmp_path, rows, "--unit-field", "user", "--near", 0.8)
    out = tmp_path / "out.jsonl"
    found = read_provenance(out)
    assert found == Provenance("user", 0.8, True, False, digest_of_rows(out))
    assert not found.couples("user")
    assert found.couples("dialogue")
    assert found.couples(None)
    # Nothing of the rows is in it, their number neither.
    assert COMMON[0] not in manifest_beside(out).read_text()
    assert private_of(out) is None
    link = tmp_path / "link.jsonl"
    link.symlink_to(out)
    assert read_provenance(link) == found
    manifest_beside(out).write_text("{}")
    assert read_provenance(out) is None
    # It names the ledger of the rows that it was made of.
    own = ledger_of(tmp_path / "rows.jsonl")
    Ledger.create(own, Budget(3.0, 1e-6, "utterance"))
    redacted(tmp_path, rows)
    assert json.loads(manifest_beside(out).read_text())["private"] == [str(own)]
    assert private_of(out) == own


RECIPE = """\
label: field:intent
fractions: {card: 1, phone: 1}
generator: {kind: seeds, examples: [seeds.jsonl]}
population: 2
iterations: 1
rows: 2
"""
COMMANDS = (
    ("prior", "{}", "--epsilon", "1", "--estimated-units", "40"),
    ("table", "release", "{}", "--epsilon", "1", "--columns", "length"),
    ("train", "one-stage", "{}", "--epsilon", "1", "--estimated-units", "40", "--batch", "8",
     "--public", "public.jsonl"),
    ("train", "two-stage", "{}", "--epsilon", "1", "--estimated-units", "40", "--batch", "8",
     "--public", "public.jsonl"),
    ("evolve", "{}", "--epsilon", "1", "--recipe", "recipe.yaml"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_no_training_by_user_takes_rows_that_were_redacted_across_users(
    words, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    program = "now => @com.twitter.home_timeline => notify"
    rows = [{"utterance": t, "program": program, "user": f"u_{i % 9}"}
            for i, t in enumerate(4 * COMMON)]  # fmt: skip
    redacted(tmp_path, rows, "--keep", "user")
    seeds = [{"id": one, "utterance": f"show my {one}", "program": program, "intent": one}
             for one in ("card", "phone")]  # fmt: skip
    Path("seeds.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in seeds))
    del seeds[0]["intent"]
    Path("public.jsonl").write_text(f"{json.dumps(seeds[0])}\n")
    Path("recipe.yaml").write_text(RECIPE)
    budget = ("--epsilon", "5", "--delta", "1e-3", "--unit", "user", "--cap", "5")
    assert run(["private", "budget", "init", "out.jsonl", *budget]) == 0
    capsys.readouterr()
    command = ["private", *(word.format("out.jsonl") for word in words), "--output", "made"]
    assert run(command) == 1
    assert "error[O017]" in capsys.readouterr().err
    # Nor does Python, whatever it read them by.
    units = PrivateSource.open("out.jsonl", language="thingtalk").units
    with pytest.raises(GenieError, match="O017"):
        paid_by(units, Payer(Ledger.open(ledger_of(Path("out.jsonl"))), "anything", "run"))
    assert not Ledger.open(ledger_of(Path("out.jsonl"))).entries
    assert not Path("made").exists()


@pytest.mark.parametrize("name", ["rows.tsv", "rows.txt.gz", "rows.txt"])
def test_files_without_names_have_no_fields_to_keep(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_text("1\tturn on the lights\n")
    for option in ("--unit-field", "--keep"):
        words = ["private", "redact", str(path), "-o", str(tmp_path / "o"), option, "user"]
        assert run(words) == 1
        assert "E019" in capsys.readouterr().err
