"""`genie-dp grammar describe`: programs in English, their values, what is left out, options."""

import io
import json
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk import ast
from genie_dp.synthesis.describe import Describer, surface
from genie_dp.synthesis.describe_words import say_value, with_placeholders
from genie_dp.synthesis.explain import read_sentence
from genie_dp.synthesis.pieces import FIRST, Placeholders
from tests.golden import cases
from tests.synthesis.synthesis_setup import describer, few, shipped

pytestmark = pytest.mark.xdist_group("shipped")
CASES = cases("describe/programs.txt")
UNREAD = "now => (@com.gmail.inbox()) filter is_unread == true => notify"
parse = get_language("thingtalk").parse


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_program_in_english(case, golden):
    description = describer().describe(case.input)
    golden(case, description.sentence)
    assert description.complete == (not case.name.startswith("in part"))


@pytest.mark.parametrize(
    "program", [UNREAD, "monitor (@com.bbc.news()) => @com.twitter.post(status = title)"]
)
def test_templates_of_other_skills_change_no_description(program):
    functions = get_language("thingtalk").functions(parse(program))
    few_templates = Describer.from_inputs(shipped(), functions=functions)
    assert few_templates.confirm(program) == describer().confirm(program)
    counts = [sum(map(len, d.compiled.rules.values())) for d in (few_templates, describer())]
    assert counts[0] < counts[1] / 2


def test_a_tree_a_text_and_tokens_are_described_alike():
    language, library, tree = few().language, few().library, parse(UNREAD)
    tokens = language.tokens(language.canonical(tree, library), library)
    found = describer("few").describe(tree)
    assert found == describer("few").describe(UNREAD) == describer("few").describe(tokens)
    assert found.derivation.category == "COMMAND"
    assert ".genie:" in found.derivation.place
    assert found.derivation.children


def test_a_description_has_placeholders_in_the_order_of_the_sentence():
    arguments = 'message = "b", subject = "a", to = "c@d.ef"^^tt:email_address'
    found = describer("few").describe(f"now => @com.gmail.send_email({arguments})")
    values = dict(found.values)
    assert values["EMAIL_ADDRESS_0"] == "c@d.ef"
    assert {values["QUOTED_STRING_0"], values["QUOTED_STRING_1"]} == {'"a"', '"b"'}
    first, second = (found.utterance.index(f"QUOTED_STRING_{k}") for k in (0, 1))
    assert first < second
    for token, value in values.items():
        assert token in found.utterance
        assert token in found.program
        assert value in found.sentence


def test_alternatives_differ_and_begin_with_the_description():
    text = "now => @com.gmail.inbox() => notify"
    found = describer("few").alternatives(text, 10)
    assert found[0] == describer("few").describe(text)
    assert len({description.sentence for description in found}) == 10
    assert len({description.program for description in found}) == 1
    shallow = replace(describer("few"), max_depth=1)
    assert len(shallow.alternatives(UNREAD, 50)) <= len(describer("few").alternatives(UNREAD, 50))


def test_descriptions_do_not_depend_on_what_was_described_before():
    texts = [case.input for case in CASES[::12]]
    fresh = replace(describer())
    assert fresh.grammar is not describer().grammar
    backwards = {text: fresh.describe(text) for text in reversed(texts)}
    assert [describer().describe(text) for text in texts] == [backwards[text] for text in texts]


def test_what_no_template_says_is_told():
    found = describer().describe(
        "attimer(time = makeTime(9, 0)) => (@com.dropbox.list_folder()) filter size > 5MB"
        " && date <= end_of(mon) => notify"
    )
    assert not found.complete
    assert found.missing == (
        "but only where the modification date is on or before the end of this month",
    )
    assert found.missing[0] in found.sentence
    assert (found.utterance, found.values, found.derivation) == ("", (), None)
    found = describer().describe(
        "now => (@com.dropbox.list_folder()) filter date <= end_of(year) => notify"
    )
    (part,) = found.parts
    assert part == describer().describe("now => @com.dropbox.list_folder() => notify")
    assert found.sentence.startswith(part.sentence)


@pytest.mark.parametrize(
    "text",
    [
        # what comes before a number over a list, an edge or a monitor is not said at the end
        "now => agg count of ((@com.gmail.inbox()) filter @org.thingpedia.thermostat.settings() "
        "{ mode == enum(eco) }) => notify",
        "monitor ((@com.gmail.inbox()) filter date < now) => notify",
        "monitor ((@com.gmail.inbox()) filter sender_name == subject) on new [subject] => notify",
    ],
)
def test_a_condition_inside_is_not_said_as_one_outside(text):
    assert "but only" not in describer().describe(text).sentence


def test_a_question_is_no_command_to_put_conditions_after():
    found = describer().describe(
        UNREAD.replace("true", "true && is_important == true && date <= now")
    )
    assert "?" not in found.sentence
    assert all("?" not in part.sentence for part in found.parts)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ('source == "alice" : now => @com.gmail.inbox() => notify', "Let alice see my emails"),
        (
            'now => @com.twitter.post(status = "say \\" twice \\" , i said")',
            '"say " twice " , i said"',
        ),
    ],
)
def test_names_in_policies_are_people_and_a_value_with_quotes_stays_as_it_is(program, sentence):
    assert sentence in describer("few").describe(program).sentence


EVENT = (
    'now => @com.google.calendar.create_event(title = "lunch", start_date = new Date("2027-01-14"))'
)


def test_a_program_is_confirmed_in_the_words_of_its_skill_if_they_say_every_input():
    said = 'put "lunch" in your calendar on january 14, 2027'
    assert describer().confirm(EVENT).casefold() == said
    events = "now => @com.google.calendar.events() => notify"
    assert describer().confirm(events) == "Get the events in your calendar"
    more = EVENT.replace("))", "), duration = 2h)")
    assert describer().confirm(more) == describer().describe(more).sentence
    assert "2 hours" in describer().confirm(more)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_number_is_read_as_a_number(number):
    written = say_value(ast.NumberValue(number))
    assert read_sentence(written, Placeholders(["NUMBER"])).text == "NUMBER_0"


def test_every_time_of_day_is_said_otherwise():
    for hour in range(24):
        for minute in range(60):
            clock, half = say_value(ast.TimeValue(hour, minute)).split()
            hours, _, minutes = clock.partition(":")
            again = int(hours) % 12 + (12 if half == "pm" else 0), int(minutes or 0)
            assert again == (hour, minute)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ast.DateEdge("end_of", "mon"), "the end of this month"),
        (ast.DateValue("2026-02-03T00:00:00"), "February 3, 2026"),
        (ast.DateValue("2026-02-03T16:05:00"), "February 3, 2026 at 4:05 pm"),
        (ast.DateValue("someday"), "someday"),
        (ast.MeasureValue(((6, "ft"), (1, "in"))), "6 feet 1 inch"),
        (ast.CurrencyValue(20, "chf"), "20 CHF"),
        (ast.CurrencyValue(20, "eur"), "€20"),
        (ast.EntityValue("#x", "tt:hashtag"), "#x"),
        (ast.EntityValue("s1", "com.x:song", "hey you"), "hey you"),
        (ast.LocationValue(1, 2), "1, 2"),
        (ast.ContextValue(("location", "home")), "my home"),
    ],
)
def test_value_in_english(value, expected):
    assert say_value(value) == expected


def test_a_value_of_a_template_is_kept_first_and_replaced_later():
    program = parse("timer(base = now, interval = 1h) => @com.thecatapi.cat_pictures() => notify")
    readings = list(with_placeholders(program, frozenset({"now", "1 unit:h"})))
    assert readings[0].program == program
    assert [sorted(reading.values) for reading in readings] == [
        [], ["DURATION_0"], ["DATE_0"], ["DATE_0", "DURATION_0"],
    ]  # fmt: skip
    program = parse('now => @com.gmail.send_email(subject = QUOTED_STRING_0, message = "hi")')
    (reading,) = with_placeholders(program, frozenset())
    assert list(reading.values) == ["QUOTED_STRING_1"]


def test_articles_fit_the_values():
    slot = chr(FIRST)
    assert surface(f"set a {slot} timer", {slot: "8 minute"}) == "Set an 8 minute timer"
    assert surface(f"set a {slot} timer", {slot: "5 minute"}) == "Set a 5 minute timer"


@pytest.mark.parametrize(
    ("program", "code", "hint"),
    [
        ("now => @com.gmail.inbx() => notify", "T003", "inbox"),
        ("now => @com.gmial.inbox() => notify", "T001", "com.gmail"),
        ("now => @com.gmail.inbox( => notify", "S001", ""),
        ("now => ( @com.gmail.inbox ) filter param:is_unread:Boolean == => notify", "", ""),
        ("now => ( @com.gmail.inbox ) filter param:subject:String > 5 => notify", "T002", "text"),
    ],
)
def test_mistakes_are_those_of_the_language(program, code, hint):
    with pytest.raises(GenieError) as caught:
        describer("few").describe(program)
    problem = caught.value.problems[0]
    assert problem.code.startswith(code)
    assert hint in (problem.hint or "")
    assert problem.span is not None


@pytest.fixture
def run(thingtalk, capsys):
    """Return a function that runs the command and returns (exit code, output, messages)."""

    def run(*arguments):
        code = cli.run(["grammar", "describe", *thingtalk.inputs, *arguments])
        return code, *capsys.readouterr()

    return run


NOTES = "now => @com.example.diary.notes() => notify"


def test_the_command_prints_sentences_and_notes_words_of_our_own(run):
    assert run(NOTES) == (0, "Get my diary notes\n", "")
    assert run()[0] == 2
    every = "timer(base = now, interval = 90min) => @com.example.diary.notes() => notify"
    code, out, err = run(every)  # no function has a type of durations
    assert (code, out) == (0, "Every 90 minutes, get my diary notes\n")
    assert "note: words of our own: every 90 minutes" in err


def test_a_file_is_described_line_by_line_with_places_as_editors_count(run, tmp_path, monkeypatch):
    path, broken = tmp_path / "programs.txt", NOTES.replace("notes", "nots")
    path.write_text(f"// a\u2028b\x0bc\n{NOTES}\n\n   {broken}\n{NOTES}\n", encoding="utf-8")
    code, out, err = run("--input", str(path))
    assert (code, out) == (1, "Get my diary notes\n" * 2)
    assert f"{path}:4:11: error[T003]" in err
    assert "3 programs: 2 said by templates, 0 partly in our own words, 1 with mistakes" in err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"// a\nnow => \xff"), "utf-8"))
    code, _, err = run("--input", "-")
    assert code == 1
    assert "<stdin>:2:8: error[R003]: expected UTF-8 text, got byte 0xFF" in err


def test_json_has_all_of_a_description(run):
    text = 'now => @com.example.diary.add_note(text = "hi")'
    code, out, _ = run("--format", "json", "--alternatives", "2", text)
    first, _ = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert (first["given"], first["complete"]) == (text, True)
    assert first["values"] == {"QUOTED_STRING_0": '"hi"'}
    assert first["derivation"]["template"]
