"""The reference interpreter, construct by construct, on tables that one can check by eye."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import Moment, compare, evaluate
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.simulate import Effect, Table, simulate

START = datetime(2026, 11, 20, 8)
HOURLY = [START + timedelta(hours=h) for h in range(4)]


def text(value: str) -> tt.StringValue:
    return tt.StringValue(value)


def number(value: int | str) -> tt.NumberValue:
    return tt.NumberValue(Decimal(value))


def row(**values: str | int) -> dict[str, tt.Value]:
    return {n: text(v) if isinstance(v, str) else number(v) for n, v in values.items()}


def table(*snapshots: list[dict[str, tt.Value]], inputs: tuple[str, ...] = ()) -> Table:
    return Table(tuple(map(tuple, snapshots)), inputs)


TABLES = {
    "@shop.list": table(
        [row(name="ham", level=1, views=5), row(name="egg", level=2, views=7)],
        [row(name="egg", level=2, views=7), row(name="jam", level=3, views=5)],
        [row(name="egg", level=2, views=9)],
    ),
    "@news.front": table([row(title="ham news", views=1), row(title="rain", views=2)]),
    "@speech.translate": table(
        [row(text="ham", translation="Schinken"), row(text="egg", translation="Ei")],
        inputs=("text",),
    ),
    "@weather.current": table(
        [row(place="x", humidity=1)],
        [row(place="x", humidity=4)],
        [row(place="x", humidity=5)],
        [row(place="x", humidity=2)],
        inputs=("place",),
    ),
    "@light.state": table([]),
}


def run(program: str, **options: object) -> list[str]:
    """Return the effects as lines `step function name=value ..`, sorted."""
    parsed = parse(program)
    assert isinstance(parsed, tt.Program)
    effects = simulate(parsed, TABLES, steps=HOURLY, **options)  # type: ignore[arg-type]
    return sorted(map(line, effects))


def line(effect: Effect) -> str:
    shown = [
        f"{n}={v.text if isinstance(v, tt.StringValue) else render(v)}" for n, v in effect.arguments
    ]
    return " ".join([str(effect.step), effect.function, *shown])


# --------------------------------------------------------------------------------- queries


def test_now_shows_each_result_once_at_the_first_step() -> None:
    assert run("now => @shop.list() => notify") == [
        "0 notify level=1 name=ham views=5",
        "0 notify level=2 name=egg views=7",
    ]


def test_a_filter_keeps_the_results_that_fulfil_it() -> None:
    assert run("now => @shop.list() filter level > 1 => notify") == [
        "0 notify level=2 name=egg views=7"
    ]


def test_an_action_runs_for_each_result_with_its_values() -> None:
    assert run("now => @shop.list() => @light.set(level=views)") == [
        "0 @light.set level=5",
        "0 @light.set level=7",
    ]


def test_an_action_alone_runs_once() -> None:
    assert run('now => @mail.send(to="bob", subject=$?)') == ["0 @mail.send to=bob"]


def test_a_join_is_each_result_with_each_and_the_right_name_wins() -> None:
    assert run("now => @shop.list() join @news.front() => notify") == [
        "0 notify level=1 name=ham title=ham news views=1",
        "0 notify level=1 name=ham title=rain views=2",
        "0 notify level=2 name=egg title=ham news views=1",
        "0 notify level=2 name=egg title=rain views=2",
    ]


def test_a_filter_left_of_a_join_sees_the_left_name() -> None:
    assert run("now => (@shop.list() filter views > 5) join @news.front() => notify") == [
        "0 notify level=2 name=egg title=ham news views=1",
        "0 notify level=2 name=egg title=rain views=2",
    ]


def test_a_join_passes_parameters() -> None:
    program = "now => @shop.list() join @speech.translate() on (text = name) => notify"
    assert run(program) == [
        "0 notify level=1 name=ham translation=Schinken views=5",
        "0 notify level=2 name=egg translation=Ei views=7",
    ]


def test_a_parameter_goes_to_the_first_function_that_takes_it() -> None:
    program = (
        "now => @shop.list() join (@news.front() join @speech.translate()) on (text = name)"
        " => @mail.send(subject=translation, body=title)"
    )
    assert run(program) == [
        "0 @mail.send body=ham news subject=Ei",
        "0 @mail.send body=ham news subject=Schinken",
        "0 @mail.send body=rain subject=Ei",
        "0 @mail.send body=rain subject=Schinken",
    ]


def test_a_query_asks_with_its_inputs() -> None:
    assert run('now => @speech.translate(text="egg") => notify') == ["0 notify translation=Ei"]
    assert len(run("now => @speech.translate(text=$?) => notify")) == 2


def test_a_get_predicate_asks_whether_some_result_fulfils_it() -> None:
    program = (
        "now => @shop.list() filter @speech.translate(text=name) { translation =~ %s } => notify"
    )
    assert run(program % '"sch"') == ["0 notify level=1 name=ham views=5"]
    assert run(program % '"x"') == []


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("count", "count=2"),
        ("sum views", "sum=12"),
        ("avg views", "avg=6"),
        ("min views", "min=5"),
        ("max level", "max=2"),
    ],
)
def test_an_aggregation_is_one_result(aggregation: str, expected: str) -> None:
    assert run(f"now => agg {aggregation} of (@shop.list()) => notify") == [f"0 notify {expected}"]


def test_of_no_results_only_the_count_is_known() -> None:
    assert run("now => agg count of (@light.state()) => notify") == ["0 notify count=0"]
    assert run("now => agg max level of (@light.state()) => notify") == []


def test_measures_are_summed_across_units() -> None:
    sizes = [{"size": tt.MeasureValue(((Decimal(n), u),))} for n, u in ((1, "KB"), (24, "byte"))]
    program = parse("now => agg sum size of (@mail.inbox()) => notify")
    assert isinstance(program, tt.Program)
    (effect,) = simulate(program, {"@mail.inbox": table(sizes)}, steps=HOURLY)
    assert effect.arguments == (("sum", tt.MeasureValue(((Decimal(1024), "byte"),))),)


# --------------------------------------------------------------------------------- streams


def test_a_monitor_shows_what_was_not_there_a_step_before() -> None:
    assert run("monitor (@shop.list()) => notify") == [
        "0 notify level=1 name=ham views=5",
        "0 notify level=2 name=egg views=7",
        "1 notify level=3 name=jam views=5",
        "2 notify level=2 name=egg views=9",
    ]


def test_on_new_looks_at_its_names_alone() -> None:
    assert run("monitor (@shop.list()) on new name => @mail.send(to=name)") == [
        "0 @mail.send to=egg",
        "0 @mail.send to=ham",
        "1 @mail.send to=jam",
    ]
    assert run("monitor (@shop.list()) on new [views] => @mail.send(to=name)") == [
        "0 @mail.send to=egg",
        "0 @mail.send to=ham",
        "2 @mail.send to=egg",
    ]


def test_a_filter_inside_and_outside_of_on_new_differ() -> None:
    inside = "monitor (@shop.list() filter views > 8) on new name => @mail.send(to=name)"
    outside = "monitor (@shop.list()) on new name filter views > 8 => @mail.send(to=name)"
    assert run(inside) == ["2 @mail.send to=egg"]
    assert run(outside) == []


def test_a_filter_on_the_time_inside_and_outside_of_a_monitor_differ() -> None:
    rows = [{"title": text("late"), "date": tt.DateValue("2026-11-20T09:30:00")}]
    inside = parse("monitor (@news.front() filter date < now) => @mail.send(to=title)")
    outside = parse("monitor (@news.front()) filter date < now => @mail.send(to=title)")
    assert isinstance(inside, tt.Program)
    assert isinstance(outside, tt.Program)
    tables = {"@news.front": table(rows)}
    assert [e.step for e in simulate(inside, tables, steps=HOURLY)] == [2]
    assert list(simulate(outside, tables, steps=HOURLY)) == []


def test_an_edge_fires_when_its_condition_turns_true() -> None:
    program = 'edge (monitor (@weather.current(place="x"))) on humidity %s => notify'
    assert run(program % "> 3") == ["1 notify humidity=4"]
    assert run(program % "< 3") == ["0 notify humidity=1", "3 notify humidity=2"]
    assert run(program % ">= 1") == ["0 notify humidity=1"]


def test_a_stream_passes_its_values_to_a_query() -> None:
    program = "monitor (@shop.list()) => @speech.translate(text=name) => notify"
    assert run(program) == [
        "0 notify level=1 name=ham translation=Schinken views=5",
        "0 notify level=2 name=egg translation=Ei views=7",
        "2 notify level=2 name=egg translation=Ei views=9",
    ]


def test_a_daily_timer_fires_at_its_time() -> None:
    assert run("attimer(time=makeTime(8,0)) => @light.set(level=1)") == ["0 @light.set level=1"]
    assert run("attimer(time=makeTime(8,30)) => @light.set(level=1)") == ["1 @light.set level=1"]
    assert run("attimer(time=makeTime(7,59)) => @light.set(level=1)") == []


def test_a_daily_timer_is_not_missed_when_steps_are_days_apart() -> None:
    program = parse("attimer(time=makeTime(23,0)) => @light.set(level=1)")
    assert isinstance(program, tt.Program)
    steps = [START, START + timedelta(days=1), START + timedelta(days=3)]
    assert [e.step for e in simulate(program, TABLES, steps=steps)] == [1, 2]


def test_a_daily_timer_fires_at_each_of_its_times() -> None:
    program = (
        "attimer(time=[makeTime(8,30), makeTime(8,45), makeTime(11,0)]) => @light.set(level=1)"
    )
    assert run(program) == ["1 @light.set level=1", "3 @light.set level=1"]


def test_a_daily_timer_may_be_given_a_date() -> None:
    assert run("attimer(time=makeTime(9, 30)) => @light.set(level=1)") == run(
        "attimer(time=start_of(day) + 570min) => @light.set(level=1)"
    )


@pytest.mark.parametrize("hours", [0, 5, -8])
def test_timers_fire_at_the_same_moments_in_every_zone(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    steps = [step.replace(tzinfo=UTC).astimezone(zone) for step in HOURLY]
    program = parse("timer(base=makeDate(2026, 11, 20), interval=2h) => @light.set(level=1)")
    assert simulate(program, TABLES, steps=steps) == simulate(program, TABLES, steps=HOURLY)


def test_a_timer_fires_from_its_base_on_at_intervals() -> None:
    assert run("timer(base=now, interval=2h) => @light.set(level=1)") == [
        "0 @light.set level=1",
        "2 @light.set level=1",
    ]
    late = 'timer(base=new Date("2026-11-20T09:30:00"), interval=1h) => @light.set(level=1)'
    assert run(late) == ["2 @light.set level=1", "3 @light.set level=1"]


def test_the_event_is_the_text_of_what_started_the_program() -> None:
    program = "monitor (@shop.list() filter level == 3) => @mail.send(to=name, body=$event)"
    assert run(program) == [
        '1 @mail.send body=level: 3, name: " jam ", views: 5 to=jam',
    ]


def test_the_event_after_now_is_the_text_of_a_result() -> None:
    program = "now => @shop.list() filter level == 1 => @mail.send(to=name, body=$event)"
    timed = program.replace("now =>", "attimer(time=makeTime(9,0)) =>")
    assert run(program) == ['0 @mail.send body=level: 1, name: " ham ", views: 5 to=ham']
    assert run(timed.replace("level == 1", "level == 2")) == ["1 @mail.send body= to=egg"]


def test_an_interval_shorter_than_any_clock_shows_still_ends() -> None:
    program = "timer(base=now, interval=0.0000001ms) => @light.set(level=1)"
    assert len(run(program)) == len(HOURLY)


def test_the_device_of_an_action_is_part_of_its_effect() -> None:
    program = parse('now => @light(name="bed").set(level=1)')
    assert isinstance(program, tt.Program)
    (effect,) = simulate(program, TABLES, steps=HOURLY)
    assert effect.device == (("name", text("bed")),)


def test_every_rule_of_a_program_runs() -> None:
    rules = "now => @light.set(level=1); attimer(time=makeTime(8,0)) => @light.set(level=2);"
    assert run(f"{{ {rules} }}") == ["0 @light.set level=1", "0 @light.set level=2"]


def test_without_steps_nothing_happens() -> None:
    program = parse("now => @shop.list() => notify")
    assert isinstance(program, tt.Program)
    assert simulate(program, TABLES, steps=[]) == ()


# ---------------------------------------------------------------------- values, comparisons


def constant(written: str) -> tt.Value:
    """Return the constant of a value as programs write it."""
    program = parse(f"now => @a.b(x = {written})")
    assert isinstance(program, tt.Program)
    action = program.rules[0].action
    assert isinstance(action, tt.Call)
    return evaluate(action.args[0].value, {}, Moment(datetime(2026, 11, 20, 9, 30, 15)))


TRUE = [
    ("1km", "==", "1000m"),
    ("6ft + 3in", ">", "1.9m"),
    ("32F", "==", "0C"),
    ("0C", "==", "273.15K"),
    ("90min", "<", "2h"),
    ("1MiB", ">", "1MB"),
    ("makeCurrency(5, usd)", "<=", "makeCurrency(5, usd)"),
    ('"Hello World"', "=~", '"WORLD"'),
    ('"world"', "~=", '"Hello World"'),
    ('"Hello"', "starts_with", '"he"'),
    ('"Hello"', "ends_with", '"LO"'),
    ('"he"', "prefix_of", '"Hello"'),
    ('"LO"', "suffix_of", '"Hello"'),
    ('["a", "b"]', "contains", '"b"'),
    ('"b"', "in_array", '["a", "b"]'),
    ("[1, 2]", "==", "[1.0, 2]"),
    ("enum(on)", "==", "enum(on)"),
    ("makeTime(8, 30)", "<", "makeTime(8, 31)"),
    ("makeLocation(37.4, -122.1)", "==", 'makeLocation(37.4, -122.1, "home")'),
    ('"a17"^^tt:contact("Alice")', "==", 'null^^tt:contact("alice")'),
    ('"a17"^^tt:contact("Alice")', "==", '"a17"^^tt:contact("Al")'),
    ('"a17"^^tt:contact("Alice")', "==", '"ALICE"'),
    ("start_of(day)", "==", 'new Date("2026-11-20")'),
    ("end_of(day)", "==", 'new Date("2026-11-21T00:00:00")'),
    ("start_of(week)", "==", 'new Date("2026-11-16")'),
    ("end_of(week)", "==", 'new Date("2026-11-23")'),
    ("start_of(mon)", "==", 'new Date("2026-11-01")'),
    ("end_of(mon)", "==", 'new Date("2026-12-01")'),
    ("end_of(year)", "==", 'new Date("2027-01-01")'),
    ("end_of(h)", "==", 'new Date("2026-11-20T10:00:00")'),
    ("start_of(min)", "==", 'new Date("2026-11-20T09:30:00")'),
    ("now - 1day", "<", "start_of(day)"),
    ("makeTime(9, 30, 15)", "==", "now"),
    ("end_of(day) - 1h", ">", "makeTime(22, 59, 59)"),
    ("makeTime(9, 30)", "in_array", "[makeTime(9, 0), now - 15s]"),
    ("makeCurrency(5, usd)", "==", "5"),
    ("3", "<", "makeCurrency(5, usd)"),
    ('"b"', ">", '"a17"^^tt:contact("Alice")'),
    ("start_of(ms)", "==", "now"),
    ("end_of(ms)", "==", "now + 1ms"),
    ('new Date("2026-11-20T10:00:00+01:00")', "==", 'new Date("2026-11-20T09:00:00Z")'),
    ("now", ">=", "makeTime(9, 0)"),
    ("now", "in_array", "[makeTime(8, 0), makeTime(9, 30, 15)]"),
    ('makeLocation("Palo Alto")', "==", 'makeLocation(37.4, -122.1, "palo alto")'),
    ('makeLocation("Palo Alto")', "==", 'makeLocation("palo alto")'),
]
FALSE = [
    ("end_of(day)", ">", "makeTime(0, 0)"),
    ('makeLocation("Palo Alto")', "==", 'makeLocation("Berkeley")'),
    ('"Hello"', "==", '"hello"'),
    ('"a17"^^tt:contact("Alice")', "==", '"a18"^^tt:contact("Alice")'),
    ("[1, 2]", "==", "[1]"),
    ("1km", ">", "1000m"),
    ('"c"', "in_array", '["a", "b"]'),
    ('"he"', "starts_with", '"Hello"'),
]


@pytest.mark.parametrize(("left", "operator", "right"), TRUE)
def test_comparison_holds(left: str, operator: str, right: str) -> None:
    assert compare(constant(left), operator, constant(right))


@pytest.mark.parametrize(("left", "operator", "right"), FALSE)
def test_comparison_does_not_hold(left: str, operator: str, right: str) -> None:
    assert not compare(constant(left), operator, constant(right))


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        ("1km", ">", "1kg"),
        ('"a"', "==", "1"),
        ("true", "<", "false"),
        ("makeCurrency(5, usd)", "<", "makeCurrency(5, eur)"),
        ("1", "=~", '"a"'),
        ('"a"', "contains", '"a"'),
        ('makeLocation("palo alto")', "==", "makeLocation(37.4, -122.1)"),
    ],
)
def test_values_of_different_kinds_are_not_compared(left: str, operator: str, right: str) -> None:
    with pytest.raises(GenieError) as caught:
        compare(constant(left), operator, constant(right))
    assert caught.value.problems[0].code == "C004"


def test_placeholders_and_context_stand_for_what_is_given() -> None:
    wanted = tt.Atom("level", ">", tt.SlotValue("NUMBER_0"))
    home = tt.Arg("to", tt.ContextValue(("user", "mail")))
    send = tt.Call(tt.Selector("mail"), "send", (home,))
    program = tt.Program(
        (tt.Rule(None, tt.Filter(tt.Call(tt.Selector("shop"), "list"), wanted), send),)
    )
    options = {"slots": {"NUMBER_0": number(1)}, "context": {("user", "mail"): text("me")}}
    effects = simulate(program, TABLES, steps=HOURLY, **options)  # type: ignore[arg-type]
    assert list(map(line, effects)) == ["0 @mail.send to=me"]


def test_a_number_of_the_sentence_gets_the_unit_of_the_program() -> None:
    slots = {"NUMBER_0": number(90), "NUMBER_1": text("many")}
    moment = Moment(START, slots=slots)
    minutes = tt.MeasureValue(((Decimal(90), "min"),))
    assert evaluate(tt.SlotValue("NUMBER_0", "min"), {}, moment) == minutes
    later = tt.DateOffset(tt.DateNow(), "+", tt.SlotValue("NUMBER_0", "min"))
    assert evaluate(later, {}, moment) == tt.DateValue("2026-11-20T09:30:00")
    with pytest.raises(GenieError, match="C004"):
        compare(minutes, "==", evaluate(tt.SlotValue("NUMBER_1", "min"), {}, moment))


def test_a_date_moves_by_a_duration() -> None:
    value = tt.DateOffset(tt.DateNow(), "-", tt.MeasureValue(((Decimal(90), "min"),)))
    assert evaluate(value, {}, Moment(START)) == tt.DateValue("2026-11-20T06:30:00")


# ----------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("now => @shop.lst() => notify", "C002"),
        ('now => @shop.list() filter nme == "a" => notify', "C003"),
        ("now => @shop.list() => @light.set(level=lvl)", "C003"),
        ('now => @shop.list() filter level == "a" => notify', "C004"),
        ("now => @light.set(level=$event)", "C003"),
        ("timer(base=now, interval=0h) => @light.set(level=1)", "C004"),
    ],
)
def test_a_mistake_is_named_with_its_place(program: str, code: str) -> None:
    with pytest.raises(GenieError) as caught:
        run(program)
    assert caught.value.problems[0].code == code
    assert caught.value.problems[0].span is not None


@pytest.mark.parametrize(
    "value",
    [
        "now + 99999year",
        "now - 9999year",
        "now + 1e99year",
        'new Date("9999-12-31T23:00:00-05:00") + 1h',
        'new Date("0001-01-01T00:00:00+05:00") - 1h',
    ],
)
def test_a_time_beyond_the_calendar_is_a_mistake(value: str) -> None:
    program = parse(f"now => (@shop.list()) filter day > {value} => notify")
    tables = {"@shop.list": Table((({"day": tt.DateValue("2026-11-20")},),))}
    with pytest.raises(GenieError) as caught:
        simulate(program, tables, steps=[START])
    assert [problem.code for problem in caught.value.problems] == ["C004"]


def test_a_date_that_no_calendar_has_is_a_mistake() -> None:
    with pytest.raises(GenieError, match="a date of the calendar"):
        compare(tt.DateValue("2026-02-30"), "==", tt.DateValue("2026-11-20"))


@pytest.mark.parametrize(
    "value", [tt.Undefined(), tt.SlotValue("NUMBER_0"), tt.ContextValue(("x",))]
)
def test_a_value_that_nobody_gave_is_a_mistake(value: tt.Value) -> None:
    with pytest.raises(GenieError) as caught:
        evaluate(value, {}, Moment(START))
    assert caught.value.problems[0].code == "C005"


def test_a_missing_table_offers_the_nearest() -> None:
    with pytest.raises(GenieError, match=r"did you mean '@shop\.list'"):
        run("now => @shop.lst() => notify")


def test_the_event_of_a_program_is_in_scope() -> None:
    scope = {"$event": text("rain")}
    assert evaluate(tt.EventValue(), scope, Moment(START)) == text("rain")
