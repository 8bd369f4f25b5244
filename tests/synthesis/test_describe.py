"""`genie-dp describe`: programs in English, their values, what is left out, the command line."""

import io
import json
import sys
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk import ast
from genie_dp.resources import data_folder
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.describe import Describer, surface
from genie_dp.synthesis.describe_words import say_value, with_placeholders
from genie_dp.synthesis.explain import read_sentence
from genie_dp.synthesis.pieces import FIRST, Placeholders
from genie_dp.templates.skeletons import write_files
from tests.golden import cases
from tests.synthesis.synthesis_project import small_files
from tests.synthesis.synthesis_setup import FEW, few, shipped

PROGRAMS = "describe/programs.txt"
MORE = ("com.dropbox", "com.instagram", "com.facebook")


def describer_of(inputs):
    return Describer(compile_inputs(inputs), inputs.library)


@cache
def describer():
    return describer_of(shipped())


@cache
def small():
    return describer_of(few())


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(PROGRAMS), ids=str)
def test_program_in_english(case, golden):
    description = describer().describe(case.input)
    golden(case, description.sentence)
    assert description.complete == (not case.name.startswith("in part"))


@pytest.mark.parametrize(
    "program",
    [
        "now => (@com.gmail.inbox()) filter is_unread == true => notify",
        "monitor (@com.bbc.news()) => @com.twitter.post(status = title)",
        "now => @org.thingpedia.light-bulb.set_power(power = enum(off))",
    ],
)
def test_templates_of_other_skills_change_no_description(program):
    language = get_language("thingtalk")
    functions = language.functions(language.parse(program))
    few_templates = Describer.from_inputs(shipped(), functions=functions)
    every = describer()
    assert few_templates.confirm(program) == every.confirm(program)
    counts = [sum(map(len, d.compiled.rules.values())) for d in (few_templates, every)]
    assert counts[0] < counts[1] / 2


def test_there_are_many_cases():
    assert len(cases(PROGRAMS)) >= 60


def test_a_tree_a_text_and_tokens_are_described_alike():
    language, library = get_language("thingtalk"), few().library
    text = "now => (@com.gmail.inbox()) filter is_unread == true => notify"
    tree = language.parse(text)
    tokens = language.tokens(language.canonical(tree, library), library)
    assert small().describe(tree) == small().describe(text) == small().describe(tokens)


def test_a_description_has_placeholders_in_the_order_of_the_sentence():
    arguments = 'message = "b", subject = "a", to = "c@d.ef"^^tt:email_address'
    text = f"now => @com.gmail.send_email({arguments})"
    found = small().describe(text)
    values = dict(found.values)
    assert values["EMAIL_ADDRESS_0"] == "c@d.ef"
    assert {values["QUOTED_STRING_0"], values["QUOTED_STRING_1"]} == {'"a"', '"b"'}
    first, second = (found.utterance.index(f"QUOTED_STRING_{k}") for k in (0, 1))
    assert first < second
    for token, value in values.items():
        assert token in found.utterance
        assert token in found.program
        assert value in found.sentence


def test_the_derivation_has_the_templates_and_their_places():
    tree = (
        small()
        .describe("now => (@com.gmail.inbox()) filter is_unread == true => notify")
        .derivation
    )
    assert tree is not None
    assert tree.category == "COMMAND"
    assert ".genie:" in tree.place
    assert tree.children


def test_alternatives_differ_and_begin_with_the_description():
    text = "now => @com.gmail.inbox() => notify"
    found = small().alternatives(text, 10)
    assert found[0] == small().describe(text)
    assert len({description.sentence for description in found}) == 10
    assert len({description.program for description in found}) == 1


def test_descriptions_do_not_depend_on_what_was_described_before():
    texts = [case.input for case in cases(PROGRAMS)[::6]]
    fresh = replace(describer())
    assert fresh.grammar is not describer().grammar
    backwards = {text: fresh.describe(text) for text in reversed(texts)}
    assert [describer().describe(text) for text in texts] == [backwards[text] for text in texts]


# -------------------------------------------------------------------------- words of our own, too


def test_what_no_template_says_is_told():
    found = describer().describe(
        "attimer(time = makeTime(9, 0)) => (@com.dropbox.list_folder()) filter size > 5MB"
        " && date >= start_of(mon) => notify"
    )
    assert not found.complete
    assert found.missing == (
        "but only where the modification date is on or after the start of this month",
    )
    assert found.missing[0] in found.sentence
    assert (found.utterance, found.values, found.derivation) == ("", (), None)


def test_what_templates_say_of_a_part_is_a_description_of_that_part():
    found = describer().describe(
        "now => (@com.dropbox.list_folder()) filter date >= start_of(year) => notify"
    )
    (part,) = found.parts
    assert part == describer().describe("now => @com.dropbox.list_folder() => notify")
    assert found.sentence.startswith(part.sentence)


CONDITIONS = [
    # what comes before a number over a list, an edge or a monitor is not said at the end
    "now => agg count of ((@com.gmail.inbox()) filter @org.thingpedia.thermostat.settings() "
    "{ mode == enum(eco) }) => notify",
    "monitor ((@com.gmail.inbox()) filter date < now) => notify",
    "monitor ((@com.gmail.inbox()) filter sender_name == subject) on new [subject] => notify",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_inside_is_not_said_as_one_outside(text):
    assert "but only" not in describer().describe(text).sentence


def test_a_question_is_no_command_to_put_conditions_after():
    text = (
        "now => (@com.gmail.inbox()) filter is_unread == true && is_important == true"
        " && date <= now => notify"
    )
    found = describer().describe(text)
    assert "?" not in found.sentence
    assert all("?" not in part.sentence for part in found.parts)


def test_names_in_policies_are_people():
    text = 'source == "alice" : now => @com.gmail.inbox() => notify'
    found = describer().describe(text)
    assert found.complete
    assert found.sentence == "Let alice see my emails"


# --------------------------------------------------------------------------------------- values


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_number_is_read_as_a_number(number):
    written = say_value(ast.NumberValue(number))
    assert read_sentence(written, Placeholders(["NUMBER"])).text == "NUMBER_0"


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_of_day_is_said_otherwise(hour, minute):
    written = say_value(ast.TimeValue(hour, minute))
    clock, half = written.split()
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
    program = get_language("thingtalk").parse(
        "timer(base = now, interval = 1h) => @com.thecatapi.cat_pictures() => notify"
    )
    readings = list(with_placeholders(program, frozenset({"now", "1 unit:h"})))
    assert readings[0].program == program
    assert [sorted(reading.values) for reading in readings] == [
        [], ["DURATION_0"], ["DATE_0"], ["DATE_0", "DURATION_0"],
    ]  # fmt: skip


def test_placeholders_of_the_program_keep_their_numbers():
    program = get_language("thingtalk").parse(
        'now => @com.gmail.send_email(subject = QUOTED_STRING_0, message = "hi")'
    )
    (reading,) = with_placeholders(program, frozenset())
    assert list(reading.values) == ["QUOTED_STRING_1"]


def test_articles_fit_the_values():
    slot = chr(FIRST)
    assert surface(f"set a {slot} timer", {slot: "8 minute"}) == "Set an 8 minute timer"
    assert surface(f"set a {slot} timer", {slot: "5 minute"}) == "Set a 5 minute timer"


def test_a_value_with_quotes_stays_as_it_is():
    text = 'now => @com.twitter.post(status = "say \\" twice \\" , i said")'
    assert '"say " twice " , i said"' in small().describe(text).sentence


# ------------------------------------------------------------------------------------- mistakes


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
        small().describe(program)
    problem = caught.value.problems[0]
    assert problem.code.startswith(code)
    assert hint in (problem.hint or "")
    assert problem.span is not None


# --------------------------------------------------------------------------------- command line


@pytest.fixture
def run(capsys):
    """Return a function that runs the command and returns (exit code, output, messages)."""
    folders = [data_folder("thingpedia") / name for name in (*FEW, *MORE)]
    options = [text for folder in folders for text in ("--skills", str(folder))]

    def run(*arguments):
        code = cli.run(["describe", *options, *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_the_command_prints_the_sentence(run):
    assert run("now => @com.dropbox.list_folder() => notify") == (0, "Get my dropbox files\n", "")


def test_words_of_our_own_are_noted_on_standard_error(run):
    action = "@com.facebook.post_picture(caption = caption, picture = picture)"
    code, out, err = run(f"monitor (@com.instagram.my_pictures()) => {action}")
    assert code == 0
    assert "with the caption set to the caption of the picture on my instagram" in out
    assert "note: words of our own: with the caption set to" in err


def test_values_of_types_that_no_function_has_are_said(tmp_path, capsys):
    write_files(tmp_path / "small", small_files())
    folders = [
        "--skills",
        f"{tmp_path}/small/thingpedia",
        "--grammar",
        f"{tmp_path}/small/grammars/en",
    ]
    program = "timer(base = now, interval = 90min) => @com.example.diary.notes() => notify"
    assert cli.run(["describe", *folders, program]) == 0
    assert "Every 90 minutes, " in capsys.readouterr().out


def test_a_file_is_described_line_by_line(run, tmp_path):
    path = tmp_path / "programs.txt"
    path.write_text(
        "// comment\nnow => @com.gmail.inbox() => notify\n\nnow => @com.gmail.inbx() => notify\n"
        "now => @com.dropbox.list_folder() => notify\n"
    )
    code, out, err = run("--input", str(path))
    assert code == 1
    assert out == "Get my emails\nGet my dropbox files\n"
    assert f"{path}:4:8: error[T003]" in err
    assert "3 programs: 2 said by templates, 0 partly in our own words, 1 with mistakes" in err


def test_places_count_lines_as_editors_do_and_the_indent(run, tmp_path):
    path = tmp_path / "programs.txt"
    broken = "now => @com.gmail.inbx() => notify"
    path.write_text(f"// a\u2028b\x0bc\n   {broken}\n", encoding="utf-8")
    code, _, err = run("--input", str(path))
    assert code == 1
    assert f"{path}:2:11: error[T003]" in err
    assert "1 programs: 0 said by templates" in err


def test_bytes_on_standard_input_that_are_no_text_are_a_mistake(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"// a\nnow => \xff"), "utf-8"))
    code, _, err = run("--input", "-")
    assert code == 1
    assert "<stdin>:2:8: error[R003]: expected UTF-8 text, got byte 0xFF" in err


def test_json_has_all_of_a_description(run):
    text = 'now => @com.twitter.post(status = "hi")'
    code, out, _ = run("--format", "json", "--alternatives", "2", text)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert len(rows) == 2
    assert rows[0]["given"] == text
    assert rows[0]["values"] == {"QUOTED_STRING_0": '"hi"'}
    assert rows[0]["complete"] is True
    assert rows[0]["derivation"]["template"]


def test_one_program_or_a_file_is_needed(run):
    assert run()[0] == 2


def test_a_smaller_depth_says_less():
    deep = 'now => (@com.gmail.inbox()) filter sender == "a@b.cd"^^tt:email_address => notify'
    shallow = replace(small(), max_depth=1)
    assert small().describe(deep).complete
    assert len(shallow.alternatives(deep, 50)) <= len(small().alternatives(deep, 50))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("now => @com.google.calendar.events() => notify", "Get the events in your calendar"),
        (
            'now => @com.google.calendar.create_event(title = "lunch", '
            'start_date = new Date("2027-01-14"))',
            'Put "lunch" in your calendar on january 14, 2027',
        ),
    ],
)
def test_a_program_is_confirmed_in_the_words_of_its_skill(code, expected):
    assert describer().confirm(code).casefold() == expected.casefold()


def test_a_confirmation_that_leaves_an_input_out_is_not_said():
    code = (
        'now => @com.google.calendar.create_event(title = "lunch", '
        'start_date = new Date("2027-01-14"), duration = 2h)'
    )
    assert describer().confirm(code) == describer().describe(code).sentence
    assert "2 hours" in describer().confirm(code)
