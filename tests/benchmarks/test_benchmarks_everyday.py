"""The benchmark of everyday commands: its labels fit the skills, its table counts as it says."""

import json
import re
from types import SimpleNamespace

import everyday
import pytest
from everyday import Verdict

import genie_dp as gd
from genie_dp.evaluate.judge import gold_view
from genie_dp.evaluate.views import viewer_of
from genie_dp.languages import get_language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import MISSING_INPUT, UNSURE, Answer, Reply
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.rows import Target


@pytest.fixture(scope="module")
def shipped():
    language = get_language("thingtalk")
    return Target(language, language, gd.load_library("shipped"))


def test_every_label_is_out_of_scope_or_programs_of_the_shipped_skills(shipped):
    labels = dict(everyday.read_labels(everyday.LABELS))
    assert len(labels) == everyday.COMMANDS
    assert sum(bool(codes) for codes in labels.values()) == 240
    viewer, names = viewer_of("thingtalk", shipped.library), EntityNames(shipped.library)
    for id, codes in labels.items():
        assert re.fullmatch(r"slurp-\d+", id)
        gold = everyday.gold_of(id, "said", codes, shipped, names)
        assert (OUT_OF_SCOPE in gold.programs) is (not codes)
        for program in gold.programs if codes else ():
            gold_view(program, gold, viewer, "slurp.tsv")  # raises where it does not fit


def test_choices_are_all_texts_that_they_stand_for():
    assert everyday.choices("a") == ["a"]
    found = everyday.choices("{|x }a {b|c{d|}}")
    assert sorted(found) == ["a b", "a c", "a cd", "x a b", "x a c", "x a cd"]


def test_commands_are_drawn_from_covered_scenarios_in_whatever_order_they_come(monkeypatch):
    monkeypatch.setattr(everyday, "COMMANDS", 5)
    rows = [
        {"id": f"{scenario}-{number}", "scenario": scenario}
        for scenario in ("email", "cooking")
        for number in range(20)
    ]
    ids = everyday.drawn(rows)
    assert ids == everyday.drawn(reversed(rows))
    assert len({*ids}) == 5
    assert all(id.startswith("email") for id in ids)


def test_labels_are_joined_with_the_rows_that_they_were_written_for(shipped, tmp_path, monkeypatch):
    labels = tmp_path / "labels.tsv"
    labels.write_text(
        f"# two\na\tnow => @com.gmail.{{inbox|inbox}}() => notify\nb\t{OUT_OF_SCOPE}\n"
    )
    monkeypatch.setattr(everyday, "LABELS", labels)
    rows = [{"id": id, "scenario": "email", "utterance": f"do {id}"} for id in "ab"]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = {gold.row.utterance: gold.programs for gold in everyday.slurp_gold(file, shipped)}
    assert found == {"do a": ("now => @com.gmail.inbox => notify",), "do b": (OUT_OF_SCOPE,)}
    file.write_text(json.dumps(rows[0]))
    with pytest.raises(SystemExit, match="is not the file whose rows"):
        list(everyday.slurp_gold(file, shipped))


def asked(shipped, code, refused, *right):
    """Return the verdict on a reply with a program to a sentence with its right programs."""
    language, library = shipped.language, shipped.library
    tokens = language.tokens(language.canonical(language.parse(code), library), library)
    reply = Reply("said", ("said",), (Answer(tokens, code, tokens, 0.6),), refused)
    parser = SimpleNamespace(target=shipped, parse=lambda sentences: [reply for _ in sentences])
    gold = everyday.gold_of("a", "said", right, shipped, EntityNames(library))
    [verdict] = everyday.ask(parser, [gold])
    assert verdict.confidence == 0.6
    return verdict.can_be_done, verdict.is_answered, verdict.is_right


SONG = 'now => @com.spotify.play_song(song = "{}"^^com.spotify:song)'
OPEN = "now => @com.spotify.play_song(song = $?)"
PAUSE = "now => @com.spotify.pause()"


@pytest.mark.parametrize(
    ("code", "refused", "right", "expected"),
    [
        (PAUSE, None, [PAUSE], (True, True, True)),
        (PAUSE, None, [OPEN, PAUSE], (True, True, True)),
        (PAUSE, None, [OPEN], (True, True, False)),
        (PAUSE, UNSURE, [PAUSE], (True, False, True)),
        (OPEN, MISSING_INPUT, [OPEN], (True, True, True)),
        (OPEN, MISSING_INPUT, [PAUSE], (True, False, False)),
        (PAUSE, None, [], (False, True, False)),
        (OPEN, MISSING_INPUT, [], (False, False, False)),
        (SONG.format("dancing queen"), None, [SONG.format("Dancing-Queen")], (True, True, True)),
        (SONG.format("dancing queen"), None, [SONG.format("dancing")], (True, True, False)),
    ],
)
def test_an_answer_is_what_is_acted_on_or_asks_for_what_is_missing(
    shipped, code, refused, right, expected
):
    assert asked(shipped, code, refused, *right) == expected


def test_a_row_of_the_table_counts_what_can_be_done_and_what_cannot_apart():
    verdicts = [
        *[Verdict(True, True, True, 0.9)] * 8,
        Verdict(True, True, False, 0.8),
        Verdict(True, False, True, 0.1),
        Verdict(False, True, False, 0.7),
        Verdict(False, False, False, None),
    ]
    assert everyday.cells("some", verdicts) == [
        "some", "12", "10", "8 (80.0 %)", "1 (10.0 %)", "1 (10.0 %)", "1 (50.0 %)", "9 (90.0 %)",
        "11.1 %",
    ]  # fmt: skip
    # Nothing is known of nine tenths that were not reached, nor of commands that there are none of.
    verdicts[0] = verdicts[1] = Verdict(True, False, False, None)
    assert everyday.cells("some", verdicts[:-2])[-3:] == ["–", "7 (70.0 %)", "–"]


def test_workshop_rows_are_those_of_its_functions(shipped):
    language = shipped.language
    target = Target(language, language, gd.load_library(everyday.WORKSHOP))
    commands = [*everyday.skill_gold(everyday.WORKSHOP, target)]
    assert len(commands) == 37
    assert [*everyday.skill_gold(everyday.WORKSHOP, shipped)] == []


@pytest.mark.parametrize(
    ("slots", "changes", "expected"),
    [
        ({"name": "heater"}, {}, False),
        ({"name": "heater", "area": "attic"}, {}, True),
        ({"floor": "cellar", "domain": "light"}, {}, False),
        ({"domain": "light"}, {}, True),
        ({}, {}, False),
        ({}, {"needs_context_area": True}, True),
        ({}, {"context_area": "attic"}, True),
        ({}, {"context_area": "attic", "wildcard_slots": ["item"]}, False),
    ],
)
def test_a_command_of_a_home_is_indirect_if_it_names_no_single_target(slots, changes, expected):
    plain = {"needs_context_area": False, "context_area": None, "wildcard_slots": []}
    assert everyday.is_indirect({**plain, "slots": slots, **changes}) is expected


def test_a_home_is_judged_by_its_intent_and_slots():
    test = {
        "utterance": "it is dark", "intent": "HassTurnOn", "slots": {"domain": "light"},
        "inferred_domains": None, "needs_context_area": True, "context_area": "Attic",
        "wildcard_slots": [], "areas": ["Attic"], "floors": [], "entities": [],
    }  # fmt: skip
    call = {"name": "HassTurnOn", "arguments": {"domain": "light", "context": "area"}}

    def verdict(calls, refused=None):
        reply = Reply("said", ("said",), (Answer("", "", "", 0.6, calls=calls),), refused)
        parser = object.__new__(everyday.ParserAnswers)
        parser.parser, parser.kinds, parser.multiplied = lambda *_, **__: reply, {"area"}, {}
        [found] = everyday.ask_home(parser, [test, {**test, "slots": {"name": "lamp"}}])
        return found.is_answered, found.is_right

    assert verdict([call]) == (True, True)
    assert verdict([call], UNSURE) == (False, True)
    assert verdict([{**call, "name": "HassTurnOff"}]) == (True, False)
    assert verdict([call, call]) == (False, False)
