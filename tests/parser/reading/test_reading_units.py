"""Units in sentences: those of every library, and those that skills declare."""

import json
import pickle
from datetime import datetime
from decimal import Decimal

import pytest

import genie_dp as gd
from genie_dp.augment.written_numbers import units_of
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.tools import read_tools
from genie_dp.languages.library import units_in_sentences
from genie_dp.languages.units import COMMON, SHIPPED
from genie_dp.paraphrase.example_values import ExampleValues
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.reading.prepare import Prepared, Preparer, key_of
from genie_dp.skills.load import load_library
from genie_dp.synthesis.describe_words import say_value
from genie_dp.values.spelling import plain_digits
from genie_dp.values.writing import measure_forms
from tests.skills.skill_files import write_library

NOW = datetime(2027, 1, 13, 9)
COUNTS = [Decimal(n) for n in ("1", "2", "5", "2.5", "20", "150", "1500")]
PILLS = """
>> org.pill/skill.tt
class @org.pill #_[canonical="pill box"] {
  unit puff of dose #_[canonical=["puff","puffs"]] #[max_number=9];
  unit canister of dose = 200 puff #_[canonical=["canister","canisters","refills"]];
  unit drop of volume = 0.05 ml #_[canonical=["drop","drops"]] #_[symbol="gtt"];
  action take(in req amount : Measure(mg)) #_[canonical="take"];
  action inhale(in req amount : Measure(puff)) #_[canonical="inhale"];
  action give(in req amount : Measure(drop)) #_[canonical="give"];
  list query doses(out name : String #_[canonical={base=["name"]}] #[unique=true],
                   out dose : Measure(mg) #_[canonical={base=["dose"]}],
                   out puffs : Measure(puff) #_[canonical={base=["puffs"]}])
  #_[canonical="doses"];
}
>> org.pill/templates.genie
VP := ('take' | 'swallow') '$x' -> \\(x : Measure(mg)) -> @org.pill.take(amount = x);
VP := 'inhale' '$x' -> \\(x : Measure(puff)) -> @org.pill.inhale(amount = x);
VP := 'drip' '$x' -> \\(x : Measure(drop)) -> @org.pill.give(amount = x);
NP[num=pl] := 'my doses' -> @org.pill.doses();
"""


@pytest.fixture(scope="module")
def pills(tmp_path_factory):
    return load_library(write_library(tmp_path_factory.mktemp("pills"), PILLS))


# Pounds may be money: another reading is the right one. And 5k are five thousand.
MONEY, THOUSAND = "lb", "K"


def readings(text, units, *, most=1):
    reader = load_reader(units=units)
    return [
        [(token.rpartition("_")[0], value.value) for token, value in reading.values.items()]
        for reading in reader.readings(text, now=NOW, most=most)
    ]


def values(text, units):
    return readings(text, units)[0]


@pytest.mark.parametrize(
    "unit", [unit for unit in SHIPPED.by_name.values() if unit.words], ids=lambda unit: unit.name
)
def test_every_form_of_every_unit_is_read_back(unit):
    base = SHIPPED.base(unit.name)
    units = SHIPPED.for_sentences({base})
    stem = "DURATION" if base == "ms" else f"MEASURE_{base}"
    for count in COUNTS:
        expected = key_of(f"{plain_digits(count)} unit:{unit.name}")
        for form, _ in measure_forms(count, unit):
            if unit.name == THOUSAND and form.endswith("k"):
                continue
            most = 8 if unit.name == MONEY else 1
            read = readings(f"set it to {form}", units, most=most)
            keys = [[(s, key_of(value)) for s, value in values_] for values_ in read]
            assert [(stem, expected)] in keys, form


def test_every_form_of_units_of_a_skill_is_read_back(pills):
    units, seen = units_in_sentences(pills), 0
    for name in ("puff", "canister", "drop"):
        base = pills.units.base(name)
        for unit in units_of(base, "", name, pills.units):
            for count in COUNTS:
                for form, _ in measure_forms(count, unit):
                    expected = [(f"MEASURE_{base}", f"{plain_digits(count)} unit:{unit.name}")]
                    assert values(f"give me {form} now", units) == expected, form
                    seen += 1
    assert seen > 80


@pytest.mark.parametrize(
    ("base", "text", "expected"),
    [
        # Everybody measures these.
        (None, "take 5 mg", "5 unit:mg"), (None, "take 5mg", "5 unit:mg"),
        (None, "take five milligrams", "5 unit:mg"), (None, "take 250 µg", "250 unit:ug"),
        (None, "take half a milligram", "0.5 unit:mg"), (None, "run 400 yards", "400 unit:yd"),
        (None, "it used 1.5 kWh", "1.5 unit:kWh"), (None, "tune to 98.5 MHz", "98.5 unit:MHz"),
        (None, "5 kilometers an hour", "5 unit:kmph"), (None, "5km/h", "5 unit:kmph"),
        (None, "5m/s", "5 unit:mps"),
        # These are read where a skill measures such things.
        ("l", "add 2 cups of milk", "2 unit:cup"), ("l", "add 20 cl", "20 unit:cl"),
        ("l", "5 fl oz", "5 unit:floz"), ("W", "5 mW", "5 unit:mW"), ("W", "5 mw", "5 unit:mW"),
        ("W", "5 MW", "5 unit:MW"), ("W", "5MW", "5 unit:MW"), ("V", "12 volts", "12 unit:V"),
        ("bps", "50 MB/s", "50 unit:MBps"), ("bps", "50mb/s", "50 unit:MBps"),
        ("bps", "50 Mbps", "50 unit:Mbps"), ("deg", "tilt it by 30 degrees", "30 unit:deg"),
        ("deg", "tilt it by 30°", "30 unit:deg"),
    ],
)  # fmt: skip
def test_units_are_read_where_they_are_measured(base, text, expected):
    units = SHIPPED.for_sentences({base}) if base else COMMON
    assert [value for _, value in values(text, units)] == [expected]
    if base:
        assert expected not in [value for _, value in values(text, COMMON)]


def test_degrees_may_be_of_both_where_both_are_measured():
    reader = load_reader(units=SHIPPED.for_sentences({"C", "deg"}))
    readings = reader.readings("turn it to 20 degrees", now=NOW)
    read = {value.value for reading in readings for value in reading.values.values()}
    assert {"20 unit:F", "20 unit:deg"} <= read


@pytest.mark.slow
def test_rows_with_units_of_a_skill_come_back_from_their_sentences(pills):
    """Synthesized, augmented, read: the program is the canonical one of the row."""
    rows = gd.augment(gd.synthesize(pills, size=150, seed=3), library=pills, written=1.0, seed=3)
    language = get_language("thingtalk")
    preparer = Preparer(load_reader(units=units_in_sentences(pills)), language, pills, NOW)
    units = set()
    for row in rows:
        tree = language.from_tokens(row.program)
        assert not language.check(tree, pills)
        assert language.tokens(language.canonical(tree, pills), pills) == row.program
        units.update(token for token in row.program.split() if token.startswith("unit:"))
        prepared = preparer.prepare(row)
        if isinstance(prepared, Prepared):
            assert "unit:mg" not in prepared.row.program.split()
        else:  # words that are constants: "every hour"
            assert prepared.reason == "value not read", row
            assert prepared.detail.split("unit:")[1] in ("min", "h", "day", "week", "mon")
    assert {"unit:mg", "unit:puff", "unit:canister", "unit:drop"} <= units


def test_paraphrasers_are_shown_amounts_in_the_unit_of_a_parameter(pills):
    examples = ExampleValues(library=pills)
    shown = [examples.show(row) for row in gd.synthesize(pills, size=150, seed=3)]
    sentences = " / ".join(row.sentence for row in shown if row is not None)
    for words in (" milligrams", " puffs", " drops"):
        assert words in sentences
    assert " kg" not in sentences


def test_a_model_may_write_units_of_a_skill_and_no_others_than_before(pills):
    language = get_language("thingtalk")
    vocabulary = language.decoding_grammar(pills).vocabulary
    assert {"unit:mg", "unit:puff", "unit:drop", "unit:ml"} <= vocabulary
    assert "unit:kWh" not in vocabulary
    prefix = language.decoding_grammar(pills).begin(["inhale", "2", "canisters"])
    for token in ["now", "=>", "@org.pill.inhale", "param:amount:Measure(puff)", "=", "2"]:
        prefix = prefix.then(token)
    assert prefix.then("unit:canister").allowed.end
    with pytest.raises(ValueError, match="unit:mg"):
        prefix.then("unit:mg")


def test_a_constant_in_a_unit_of_its_own_is_in_the_grammar(tmp_path):
    text = ">> org.lamp/skill.tt\nclass @org.lamp { action dim(in req w : Measure(kg)); }"
    library = load_library(write_library(tmp_path, text))
    language = get_language("thingtalk")
    program = "now => @org.lamp.dim param:w:Measure(kg) = 5 unit:mg"
    constants = tuple(language.grammar_texts(program, "dim it"))
    assert "unit:mg" in constants
    grammar = language.decoding_grammar(library, texts=constants)
    assert "unit:mg" in grammar.vocabulary
    assert "unit:mg" not in language.decoding_grammar(library).vocabulary


def test_programs_in_units_of_a_skill_are_checked_said_and_made_canonical(pills):
    language = get_language("thingtalk")
    tree = language.parse("now => @org.pill.inhale(amount = 1canister + 3puff)")
    assert not language.check(tree, pills)
    assert language.parse(language.render(tree)) == tree
    tokens = language.tokens(language.canonical(tree, pills), pills)
    assert tokens.endswith("= 1 unit:canister 3 unit:puff")
    assert language.from_tokens(tokens) == tree
    (argument,) = tree.rules[0].action.args
    assert say_value(argument.value, pills.units) == "1 canister 3 puffs"
    wrong = language.parse("now => @org.pill.take(amount = 3puff)")
    assert [problem.code for problem in language.check(wrong, pills)] == ["T002"]


def test_amounts_of_a_skill_are_equal_by_their_size(pills):
    assert key_of("200 unit:puff", pills.units) == key_of("1 unit:canister", pills.units)
    assert key_of("2 unit:drop", pills.units) == key_of("0.1 unit:ml", pills.units)
    assert key_of("5 unit:ug") != key_of("6 unit:ug")


def test_tools_are_told_which_units_an_input_takes(pills):
    language = get_language("thingtalk")
    calls = language.structure.schema(pills)["$defs"]["calls"]["items"]["anyOf"]
    by_name = {call["properties"]["name"]["const"]: call for call in calls}
    arguments = by_name["@org.pill.inhale"]["properties"]["arguments"]["properties"]
    assert arguments["amount"]["anyOf"][0]["properties"]["unit"]["enum"] == ["puff", "canister"]
    tree = language.parse("now => @org.pill.inhale(amount = 3puff)")
    (call,) = language.structure.calls(tree)
    assert call["arguments"] == {"amount": {"value": 3, "unit": "puff"}}


def test_a_library_of_a_skill_leaves_the_units_of_others_alone(pills, tmp_path):
    assert "puff" in pills.units
    assert "puff" not in SHIPPED
    assert pickle.loads(pickle.dumps(pills)).units == pills.units
    text = ">> org.x/skill.tt\nclass @org.x { action a(in req n : Measure(puff)); }"
    with pytest.raises(GenieError, match="T022"):
        load_library(write_library(tmp_path, text))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("lend $5,000 at 3%", "lend NUMBER_0 dollars at NUMBER_1 percent"),
        ("a box of 70kg", "a box of NUMBER_0 kg"),
        ("it is 5m wide", "it is NUMBER_0 m wide"),
        ("earn 300k a year", "earn NUMBER_0 a year"),
        ("3,000 euros for 5 years", "NUMBER_0 euros for NUMBER_1 years"),
    ],
)
def test_tools_without_measures_are_given_numbers_beside_their_units(said, read):
    reader = load_reader(units=units_of_tools())
    assert " ".join(reader.read(said, now=NOW).tokens) == read


def test_tools_with_durations_are_given_these_and_numbers_for_the_rest():
    reader = load_reader(units=units_of_tools({"d": {"type": "string", "format": "duration"}}))
    found = reader.read("run 20min at 70kg for $5", now=NOW)
    assert " ".join(found.tokens) == "run DURATION_0 at NUMBER_0 kg for NUMBER_1 dollars"


def units_of_tools(properties=None):
    schema = {"type": "object", "properties": properties or {}}
    tools = json.dumps({"tools": [{"name": "f", "inputSchema": schema}]})
    return units_in_sentences(read_tools({"t.json": tools}))
