"""ThingTalk 2 programs become ours where there is an equal; else the reason is told."""

import json

import pytest
import thingtalk2
from thingtalk2 import ThingTalk2Converter, read_statements, rename_placeholders

from genie_dp.dataset.formats import LeftRow
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.skills.load import load_library

SKILL = """
class @com.example.shop {
  monitorable list query orders(in opt place : Location, out id : Entity(com.example.shop:order),
    out title : String, out amount : Number, out paid : Boolean, out state : Enum(new,sent),
    out labels : Array(String), out weight : Measure(kg), out price : Currency,
    out date : Date, out where_ : Location, out buyer : Entity(tt:contact));
  monitorable query weather(in opt place : Location, out temperature : Measure(C),
    out wind : Measure(mps));
  list query boxes(out size : { width : Number, height : Number });
  action buy(in req title : String, in opt amount : Number);
  action heat(in req value : Measure(C));
  action power(in req power : Enum(on,off));
  entity order;
}
"""


@pytest.fixture(scope="module")
def skills(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skills") / "com.example.shop"
    folder.mkdir()
    (folder / "skill.tt").write_text(SKILL)
    return folder


@pytest.fixture(scope="module")
def library(skills):
    return load_library([skills])


S = "@com.example.shop"


def converted(library, program, utterance="x"):
    return ThingTalk2Converter(library).row("a", utterance, program, "human")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (f"{S}.orders();", f"now => {S}.orders() => notify"),
        (f"{S} . orders ( ) ;", f"now => {S}.orders() => notify"),
        (
            f'{S}.buy(title="red shoes", amount=2);',
            f'now => {S}.buy(amount = 2, title = "red shoes")',
        ),
        (f'{S} . buy ( title = " red shoes " ) ;', f'now => {S}.buy(title = "red shoes")'),
        (
            f'{S}(name="kitchen").power(power=enum on);',
            f'now => {S}(name = "kitchen").power(power = enum(on))',
        ),
        (
            f'{S} ( name = " back door " ) . power ( power = enum off ) ;',
            f'now => {S}(name = "back door").power(power = enum(off))',
        ),
        (
            f"{S}.orders() filter amount >= 3 && !(state == enum sent) || paid == true;",
            f"now => {S}.orders() filter (amount >= 3 && !(state == enum(sent))) || paid == true "
            "=> notify",
        ),
        (
            f'{S}.orders() filter contains(labels, "gift") && title =~ "shoe";',
            f'now => {S}.orders() filter contains(labels, "gift") && title =~ "shoe" => notify',
        ),
        (f"[title] of {S}.orders();", f"now => [title] of ({S}.orders()) => notify"),
        (
            f"sort(amount desc of {S}.orders())[1];",
            f"now => sort(amount desc of ({S}.orders()))[1] => notify",
        ),
        (
            f"[ * , count ( labels ) ] of sort ( amount asc of {S} . orders ( ) ) [ 2 : 3 ] ;",
            f"now => [*, count(labels)] of (sort(amount asc of ({S}.orders()))[2 : 4]) => notify",
        ),
        (
            f"{S}.orders() filter distance(where_, $location.home) <= 5km;",
            f"now => {S}.orders() filter distance(where_, $context.location.home) <= 5km => notify",
        ),
        (
            f'{S}.orders() filter count(labels filter value =~ "x") >= 2;',
            f'now => {S}.orders() filter count(labels filter value =~ "x") >= 2 => notify',
        ),
        (
            f'{S}.orders() filter contains~(labels, "gift");',
            f'now => {S}.orders() filter labels contains~ "gift" => notify',
        ),
        (
            f"{S}.orders() filter date >= new Date(1985);",
            f"now => {S}.orders() filter date >= makeDate(1985, 1, 1) => notify",
        ),
        (
            f"[title] of {S}.orders() => {S}.buy(title=title);",
            f"now => {S}.orders() => {S}.buy(title = title)",
        ),
        (
            f"[size.width] of {S}.boxes() filter size.height > 3;",
            f"now => [size.width] of ({S}.boxes() filter size.height > 3) => notify",
        ),
        (f"monitor({S}.orders());", f"monitor ({S}.orders()) => notify"),
        (
            f"monitor({S}.orders() filter amount > 3) => {S}.buy(title=title);",
            f"monitor ({S}.orders() filter amount > 3) => {S}.buy(title = title)",
        ),
        (
            f"monitor({S}.weather()) filter temperature <= 60F;",
            f"edge (monitor ({S}.weather())) on temperature <= 60F => notify",
        ),
        (
            f"monitor(title of {S}.orders());",
            f"monitor ({S}.orders()) on new title => notify",
        ),
        (
            f"timer(interval=1day) => {S}.weather();",
            f"timer(base = now, interval = 1day) => {S}.weather() => notify",
        ),
        (
            f'attimer(time=[new Time(8, 30)]) => {S}.buy(title="milk");',
            f'attimer(time = makeTime(8, 30)) => {S}.buy(title = "milk")',
        ),
        (
            f"attimer(time=[new Time(8, 0), new Time(18, 0)]) => {S}.weather();",
            f"attimer(time = [makeTime(8, 0), makeTime(18, 0)]) => {S}.weather() => notify",
        ),
        (
            f"monitor({S}.orders()) => {S}.buy(title=$result);",
            f"monitor ({S}.orders()) => {S}.buy(title = $event)",
        ),
        (
            f"{S}.orders() => {S}.buy(title=title);",
            f"now => {S}.orders() => {S}.buy(title = title)",
        ),
        (
            f"{S}.orders() filter paid == true => {S}.weather(place=where_);",
            f"now => ({S}.orders() filter paid == true) join {S}.weather() on (place = where_) "
            "=> notify",
        ),
        (
            f"monitor({S}.orders()) => {S}.weather(place=where_);",
            f"monitor ({S}.orders()) => {S}.weather(place = where_) => notify",
        ),
        (f"count({S}.orders());", f"now => agg count of ({S}.orders()) => notify"),
        (
            f"sum(amount of {S}.orders() filter paid == false);",
            f"now => agg sum amount of ({S}.orders() filter paid == false) => notify",
        ),
        (
            f'{S}.orders() filter buyer == null^^tt:contact("ann lee");',
            f'now => {S}.orders() filter buyer == "ann lee"^^tt:contact => notify',
        ),
        (
            f'{S} . orders ( ) filter buyer == null ^^tt:contact ( " ann lee " ) ;',
            f'now => {S}.orders() filter buyer == "ann lee"^^tt:contact => notify',
        ),
        (
            f'{S}.orders() filter date >= new Date("2020-01-01T08:00:00.000Z") + 1year;',
            f'now => {S}.orders() filter date >= new Date("2020-01-01T08:00:00.000Z") + 1year '
            "=> notify",
        ),
        (
            f"{S} . orders ( ) filter date >= $start_of ( week ) ;",
            f"now => {S}.orders() filter date >= start_of(week) => notify",
        ),
        (
            f"{S} . weather ( place = $location . home ) ;",
            f"now => {S}.weather(place = $context.location.home) => notify",
        ),
        (
            f"{S}.orders() filter price <= 2$usd;",
            f"now => {S}.orders() filter price <= 2$usd => notify",
        ),
        (f"{S}.heat(value=$?);", f"now => {S}.heat()"),
        (
            f'{S}.power(power=enum on); {S}.buy(title="milk");',
            f'now => {S}.power(power = enum(on)); now => {S}.buy(title = "milk")',
        ),
        (
            f"now => ({S}.orders()), amount >= 3 => notify;",
            f"now => {S}.orders() filter amount >= 3 => notify",
        ),
        (
            f"now => aggregate count of ({S}.orders()) => notify;",
            f"now => agg count of ({S}.orders()) => notify",
        ),
        (
            f"{S}.orders() filter any({S}.weather() filter temperature > 20C);",
            f"now => {S}.orders() filter {S}.weather() {{ temperature > 20C }} => notify",
        ),
    ],
)
def test_programs_that_have_an_equal_become_it(library, given, expected):
    row = converted(library, given)
    assert not isinstance(row, LeftRow), row
    assert from_tokens(row.program) == canonical(parse(expected), library)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (f"{S}.orders()[1, 3];", "several indices"),
        (f"{S}.orders() filter median(labels) >= 2;", "computed value"),
        (f'{S}.orders() filter starts_with~(title, "gift");', "operator of another sort"),
        (f"ontimer(date=[$now + 1h]) => {S}.weather();", "timer of another sort"),
        (f"timer(frequency=2, interval=1day) => {S}.weather();", "timer of another sort"),
        (f"{S}.heat(value=70defaultTemperature);", "unit"),
        (f"{S}.orders() filter date == new Date(enum friday);", "value of another sort"),
        (f"{S}.orders() filter date >= new Date(, 7, );", "value of another sort"),
        (f"{S}.buy(title=$context.selection : String);", "value of another sort"),
        (f"{S}.buy(title=$result);", "value of another sort"),
        (f"{S}.weather() => {S}.buy(title=$result);", "value of another sort"),
        (
            f"monitor({S}.orders()) => {S}.weather() => {S}.buy(title=$result);",
            "value of another sort",
        ),
        ("$dialogue @org.thingpedia.dialogue.transaction.greet;", "act of a dialogue"),
        (
            f"{S}.orders() filter in_array(id, any([id] of {S}.orders()));",
            "subquery of another sort",
        ),
        (f"{S}.orders() ???", "cannot be read"),
        (f"{S}.weather() => monitor({S}.orders());", "cannot be read"),
        ("@com.unknown.f();", "query or action unknown"),
        ("@com.unknown.f() filter x == 1;", "query or action unknown"),
        (f'{S}.orders() filter colour == "red";', "does not type-check (T011)"),
        (f'{S}.orders() filter amount == "red";', "does not type-check (T002)"),
    ],
)
def test_programs_without_an_equal_are_left_with_the_reason(library, given, reason):
    row = converted(library, given)
    assert isinstance(row, LeftRow)
    expected = {"query or action unknown": (reason, "does not type-check (T001)")}
    assert row.reason in expected.get(reason, (reason,)), row


@pytest.mark.parametrize(
    ("utterance", "program", "sentence", "token"),
    [
        (
            "weather in Palo Alto, please",
            f'{S}.weather(place=new Location("palo alto"));',
            "weather in LOCATION_0 , please",
            "LOCATION_0",
        ),
        (
            "heat to NUMBER_0 degrees F at once",
            f"{S} . heat ( value = NUMBER_0 F ) ;",
            "heat to MEASURE_C_0 at once",
            "MEASURE_C_0",
        ),
        (
            "heat to NUMBER_0",
            f"{S} . heat ( value = NUMBER_0 C ) ;",
            "heat to MEASURE_C_0",
            "MEASURE_C_0",
        ),
        (
            "when the wind is over NUMBER_0 miles per hour",
            f"monitor ( {S} . weather ( ) ) filter wind >= NUMBER_0 mph ;",
            "when the wind is over MEASURE_mps_0",
            "MEASURE_mps_0",
        ),
    ],
)
def test_sentences_get_the_placeholders_of_their_programs(
    library, utterance, program, sentence, token
):
    row = converted(library, program, utterance)
    assert not isinstance(row, LeftRow), row
    assert row.utterance == sentence
    assert token in row.program.split()
    assert list(row.slots) == [token]
    assert row.slots[token].parameter.startswith(f"{S}.")


def test_placeholders_are_numbered_anew_where_one_fell_away(library):
    program = f"{S} . orders ( ) filter weight >= NUMBER_0 kg && amount == NUMBER_1 ;"
    row = converted(library, program, "over NUMBER_0 kg and NUMBER_1 pieces")
    assert row.utterance == "over MEASURE_kg_0 and NUMBER_0 pieces"
    assert set(row.slots) == {"MEASURE_kg_0", "NUMBER_0"}
    assert row.slots["NUMBER_0"].parameter == f"{S}.orders:amount"


def test_texts_are_spelt_as_the_sentence_has_them(library):
    row = converted(library, f'{S}.buy(title="today\'s hits");', "buy Today's hits")
    assert row.utterance == "buy today 's hits"
    assert row.program == f'now => {S}.buy param:title:String = " today \'s hits "'


def test_what_was_taken_out_of_a_log_is_a_placeholder(library):
    row = converted(
        library, f'{S}.buy(title="str:QUOTED_STRING::0:");', 'buy "str:QUOTED_STRING::0:" now'
    )
    assert row.utterance == "buy QUOTED_STRING_0 now"
    assert row.program == f"now => {S}.buy param:title:String = QUOTED_STRING_0"


def test_a_name_that_was_taken_out_of_a_log_stays_the_name_of_an_entity(library):
    row = converted(
        library,
        f'{S}.orders() filter buyer == null^^tt:contact("str:QUOTED_STRING::0:");',
        'orders of "str:QUOTED_STRING::0:"',
    )
    assert row.utterance == "orders of QUOTED_STRING_0"
    assert '== " QUOTED_STRING_0 " ^^tt:contact' in row.program


def test_a_place_that_the_sentence_does_not_say_has_no_equal(library):
    row = converted(library, f'{S}.weather(place=new Location("palo alto"));', "weather at home")
    assert (row.reason, row.detail) == ("value not in the sentence", "palo alto")


def test_every_mention_of_a_value_is_renamed():
    _, changes = read_statements('@a.b.c(x=new Location("rome"), y=new Location("rome"));')
    assert rename_placeholders(("rome", "or", "rome"), changes) == (
        "LOCATION_0",
        "or",
        "LOCATION_0",
    )


def test_what_a_program_may_not_say_is_named():
    with pytest.raises(thingtalk2.NoEqual, match="cannot be read: at '} ;'"):
        read_statements("@a.b.c() } ;")


def lines(tmp_path, rows):
    file = tmp_path / "commands.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return file


def test_a_file_is_converted_and_the_others_are_counted_by_reason(
    tmp_path, skills, capsys, monkeypatch
):
    file = lines(
        tmp_path,
        [
            {"id": "a", "utterance": "My orders?", "program": f"{S}.orders();"},
            {"id": "a", "utterance": "all orders", "program": f"{S}.orders();"},
            {"id": "b", "utterance": "best", "program": f"{S}.orders()[1, 2];"},
            {"id": "c", "utterance": "hi", "program": "x", "act": "greet"},
        ],
    )
    out = tmp_path / "out.jsonl"
    monkeypatch.setattr("sys.argv", ["x", "--skills", str(skills), str(file), str(out)])
    thingtalk2.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["utterance"]) for row in rows] == [
        ("a", "my orders ?"),
        ("a.2", "all orders"),
    ]
    assert rows[0]["program"] == f"now => {S}.orders => notify"
    assert rows[0]["source"] == "human"
    told = capsys.readouterr().out
    assert "2 of 4 rows converted" in told
    assert "1  several indices" in told


def said(library, program, utterance):
    return ThingTalk2Converter(library, placeholders=True).row("a", utterance, program, "human")


def test_texts_and_names_that_a_sentence_says_become_placeholders(library):
    row = said(
        library,
        f'{S}.orders() filter buyer == null^^tt:contact("ann lee") && title =~ "red shoes";',
        "red shoes that ann lee ordered",
    )
    assert row.utterance == "QUOTED_STRING_0 that GENERIC_ENTITY_tt:contact_0 ordered"
    assert "== GENERIC_ENTITY_tt:contact_0" in row.program
    assert "=~ QUOTED_STRING_0" in row.program
    assert {token: slot.parameter for token, slot in row.slots.items()} == {
        "GENERIC_ENTITY_tt:contact_0": f"{S}.orders:buyer",
        "QUOTED_STRING_0": f"{S}.orders:title",
    }


def test_placeholders_are_numbered_as_the_sentence_says_them(library):
    row = said(
        library,
        f'{S}.orders() filter title =~ QUOTED_STRING_0 && title =~ "blue" || title =~ "red";',
        "red or QUOTED_STRING_0 but blue",
    )
    assert row.utterance == "QUOTED_STRING_0 or QUOTED_STRING_1 but QUOTED_STRING_2"
    assert '"' not in row.program


@pytest.mark.parametrize(
    ("program", "utterance"),
    [
        ('title =~ "red"', "something of another colour"),
        ('title =~ "red"', "red or red"),
        ('title =~ "red" && title =~ "red"', "red things"),
    ],
    ids=["never said", "said twice", "twice in the program"],
)
def test_other_values_stay(library, program, utterance):
    row = said(library, f"{S}.orders() filter {program};", utterance)
    assert row.utterance == utterance
    assert '" red "' in row.program


def test_of_values_that_share_words_the_longer_one_is_replaced(library):
    row = said(
        library, f'{S}.orders() filter title =~ "red shoes" || title =~ "shoes";', "my red shoes"
    )
    assert row.utterance == "my QUOTED_STRING_0"
    assert '" shoes "' in row.program
