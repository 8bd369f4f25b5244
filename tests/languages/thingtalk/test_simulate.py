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
from tests.golden import DATA, cases

START = datetime(2026, 11, 20, 8)
HOURLY = [START + timedelta(hours=h) for h in range(4)]


def text(value: str) -> tt.StringValue:
    return tt.StringValue(value)


def number(value: int | str) -> tt.NumberValue:
    return tt.NumberValue(Decimal(value))


def measure(number: int, unit: str) -> tt.MeasureValue:
    return tt.MeasureValue(((Decimal(number), unit),))


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
    "@mail.inbox": table([{"size": measure(1, "KB")}, {"size": measure(24, "byte")}]),
    "@news.late": table([{"title": text("late"), "date": tt.DateValue("2026-11-20T09:30:00")}]),
}


def program_of(text: str) -> tt.Program:
    parsed = parse(text)
    assert isinstance(parsed, tt.Program)
    return parsed


def run(program: str, **options: object) -> list[str]:
    """Return the effects as lines `step function name=value ..`, sorted."""
    effects = simulate(program_of(program), TABLES, steps=HOURLY, **options)  # type: ignore[arg-type]
    return sorted(map(line, effects))


def line(effect: Effect) -> str:
    named = [*((f"[{n}]", v) for n, v in effect.device), *effect.arguments]
    shown = [f"{n}={v.text if isinstance(v, tt.StringValue) else render(v)}" for n, v in named]
    return " ".join([str(effect.step), effect.function, *shown])


@pytest.mark.parametrize("case", cases("simulate/effects.txt"), ids=str)
def test_programs_have_their_effects(case, golden):
    golden(case, "\n".join(run(case.input)))


def test_a_daily_timer_is_not_missed_when_steps_are_days_apart():
    program = program_of("attimer(time=makeTime(23,0)) => @light.set(level=1)")
    steps = [START, START + timedelta(days=1), START + timedelta(days=3)]
    assert [e.step for e in simulate(program, TABLES, steps=steps)] == [1, 2]
    assert simulate(program, TABLES, steps=[]) == ()


@pytest.mark.parametrize("hours", [0, 5, -8])
def test_timers_fire_at_the_same_moments_in_every_zone(hours):
    zone = timezone(timedelta(hours=hours))
    steps = [step.replace(tzinfo=UTC).astimezone(zone) for step in HOURLY]
    program = program_of("timer(base=makeDate(2026, 11, 20), interval=2h) => @light.set(level=1)")
    assert simulate(program, TABLES, steps=steps) == simulate(program, TABLES, steps=HOURLY)


def constant(written: str) -> tt.Value:
    """Return the constant of a value as programs write it."""
    action = program_of(f"now => @a.b(x = {written})").rules[0].action
    assert isinstance(action, tt.Call)
    return evaluate(action.args[0].value, {}, Moment(datetime(2026, 11, 20, 9, 30, 15)))


def test_comparisons_hold_or_not_or_are_a_mistake():
    _, *lines = (DATA / "simulate" / "comparisons.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 60
    for text in lines:
        left, operator, right = text[2:].split("   ")
        try:
            found = "-+"[compare(constant(left), operator, constant(right))]
        except GenieError as error:
            found = "!" if error.problems[0].code == "C004" else "?"
        assert f"{found} {text[2:]}" == text


def test_placeholders_and_context_stand_for_what_is_given():
    wanted = tt.Atom("level", ">", tt.SlotValue("NUMBER_0"))
    home = tt.Arg("to", tt.ContextValue(("user", "mail")))
    send = tt.Call(tt.Selector("mail"), "send", (home,))
    query = tt.Filter(tt.Call(tt.Selector("shop"), "list"), wanted)
    program = tt.Program((tt.Rule(None, query, send),))
    options = {"slots": {"NUMBER_0": number(1)}, "context": {("user", "mail"): text("me")}}
    effects = simulate(program, TABLES, steps=HOURLY, **options)  # type: ignore[arg-type]
    assert list(map(line, effects)) == ["0 @mail.send to=me"]
    assert evaluate(tt.EventValue(), {"$event": text("rain")}, Moment(START)) == text("rain")


def test_a_number_of_the_sentence_gets_the_unit_of_the_program():
    moment, minutes = Moment(START, slots={"NUMBER_0": number(90), "NUMBER_1": text("many")}), "min"
    assert evaluate(tt.SlotValue("NUMBER_0", minutes), {}, moment) == measure(90, minutes)
    later = tt.DateOffset(tt.DateNow(), "+", tt.SlotValue("NUMBER_0", minutes))
    assert evaluate(later, {}, moment) == tt.DateValue("2026-11-20T09:30:00")
    earlier = tt.DateOffset(tt.DateNow(), "-", measure(90, minutes))
    assert evaluate(earlier, {}, moment) == tt.DateValue("2026-11-20T06:30:00")
    with pytest.raises(GenieError, match="C004"):
        compare(measure(1, minutes), "==", evaluate(tt.SlotValue("NUMBER_1", minutes), {}, moment))


def test_a_mistake_is_named_with_its_place(golden):
    [case], shown = cases("simulate/mistakes.txt"), []
    for program in case.input.splitlines():
        with pytest.raises(GenieError) as caught:
            run(program)
        [problem] = caught.value.problems
        hint = f" ({problem.hint})" if problem.hint else ""
        shown.append(f"{problem.span.column}: {problem.code} {problem.message}{hint}")
    golden(case, "\n".join(shown))


def test_a_date_that_no_calendar_has_and_a_value_that_nobody_gave_are_mistakes():
    with pytest.raises(GenieError, match="a date of the calendar"):
        compare(tt.DateValue("2026-02-30"), "==", tt.DateValue("2026-11-20"))
    for value in (tt.Undefined(), tt.SlotValue("NUMBER_0"), tt.ContextValue(("x",))):
        with pytest.raises(GenieError, match="C005"):
            evaluate(value, {}, Moment(START))
