"""Values that rows are given keep what the schemas of tools restrict them to."""

import json
from decimal import Decimal
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import AugmentEngine, augment
from genie_dp.augment.values import LibraryValues, of_library
from genie_dp.augment.written_numbers import ANY, SCALES, Scale, draw_within
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.tools import read_tools
from genie_dp.languages.limits import NO_LIMITS, NOTHING, Limits, is_simple
from genie_dp.records import Example, Slot
from genie_dp.skills.model import SkillLibrary
from tests.augment.augment_rows import SILENT

CALLS = get_language("calls")
NUMBERS = st.sampled_from((-40, -2.5, 0, 0.25, 1, 3, 7, 10, 35, 100, 2700, 10**9)) | st.none()
STEPS = st.sampled_from((None, 0.1, 0.5, 1, 5, 25))
WORDS = ("hall", "old barn", "7th floor", "garage", "the very last room of all", "x")


@st.composite
def number_schemas(draw):
    """Return a schema of numbers of which there is one at least."""
    given = {"type": draw(st.sampled_from(("number", "integer")))}
    bounds = [draw(NUMBERS), draw(NUMBERS)]
    if None not in bounds:
        bounds.sort()
        assume(bounds[1] - bounds[0] >= 1)
    given |= {k: v for k, v in zip(("minimum", "maximum"), bounds, strict=True) if v is not None}
    if draw(st.booleans()) and "minimum" in given and bounds[1] != bounds[0]:
        given["exclusiveMinimum"] = given.pop("minimum")
    step = draw(STEPS)
    return given if step is None else given | {"multipleOf": step}


text_schemas = st.fixed_dictionaries(
    {"type": st.just("string"), "examples": st.just(list(WORDS))},
    optional={
        "minLength": st.integers(0, 9),
        "maxLength": st.integers(5, 30),
        "pattern": st.sampled_from(("^[A-Z]+$", r"\d", "^(old|the) ", "(?=x)x")),
    },
)
NAMES = st.sampled_from(("n", "level", "year", "rate", "view_count", "price"))


def library_of(**schemas):
    tool = {"name": "f", "parameters": {"properties": schemas}}
    return read_tools({"tools.json": json.dumps([tool])})


def row_of(program, **parameters):
    """Return a row whose placeholders are its sentence."""
    slots = [token for token in program.split(" ") if token[-2:] in ("_0", "_1")]
    types = {"N": "Number", "Q": "String"}
    filled = {slot: Slot(types[slot[0]], f"f:{parameters[slot]}") for slot in slots}
    return Example(
        "S0", f"do {' and '.join(slots)}", program, "calls", functions=("f",), slots=filled
    )


def copies(row, library, **config):
    settings = {
        **SILENT,
        "written": 1.0,
        "quoted": 0.0,
        "free_text_rate": 0.5,
        "primitive": 12,
        **config,
    }
    lists = {name: of_library(values) for name, values in library.value_lists.items()}
    source = LibraryValues(SkillLibrary(), lists)
    engine = AugmentEngine(AugmentConfig(**settings), source, CALLS, library)
    return list(augment([row], engine))


@given(number_schemas(), text_schemas, NAMES, st.sampled_from(("en", "de")))
@settings(max_examples=60, deadline=None)
def test_augmented_rows_type_check(number, text, name, language):
    pytest.importorskip("unicode_rbnf")
    library = library_of(**{name: number, "zz": text, "ns": {"type": "array", "items": number}})
    program = f"f( {name}= NUMBER_0 ns= [ NUMBER_1 ] zz= QUOTED_STRING_0 )"
    if name > "ns":
        program = f"f( ns= [ NUMBER_1 ] {name}= NUMBER_0 zz= QUOTED_STRING_0 )"
    fills = {"NUMBER_0": name, "NUMBER_1": "ns", "QUOTED_STRING_0": "zz"}
    found = copies(row_of(program, **fills), library, locale=language)
    assert found
    for row in found:
        assert not CALLS.check(CALLS.from_tokens(row.program), library), row.program


@given(
    number_schemas(), st.sampled_from([ANY, *(scale for _, scale in SCALES)]), st.integers(0, 99)
)
@example({"type": "number", "maximum": 3, "exclusiveMinimum": 0}, Scale(1000, 30000, (500,)), 0)
@example({"type": "number", "exclusiveMinimum": 100}, Scale(1, 100, (1, 5)), 0)
def test_a_number_is_found_wherever_there_are_some(given_schema, scale, seed):
    library = library_of(n=given_schema)
    limits = CALLS.values.limits("f( n= NUMBER_0 )", library).get("NUMBER_0", NO_LIMITS)
    number = draw_within(Random(seed), scale, limits)
    span = (limits.most or 10**6) - (limits.least or 0)
    if number is None:
        assert limits.steps
        assert span < 2 * max(1, *limits.steps)
    else:
        assert limits.allows_number(number)


def test_bounds_are_those_of_the_place():
    inside = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5},
                                               "b": {"type": "number", "minimum": 90}}}  # fmt: skip
    either = {"anyOf": [{"enum": ["off"]}, {"type": "integer", "minimum": 2, "maximum": 3}]}
    library = library_of(o=inside, u=either, t={"type": "string", "maxLength": 4})
    found = CALLS.values.limits(
        'f( o= { a= NUMBER_0 b= NUMBER_1 } t= " at NUMBER_2 " u= NUMBER_0 )', library
    )
    assert found["NUMBER_0"] == Limits(Decimal(2), Decimal(3), is_whole=True)
    assert found["NUMBER_1"] == Limits(least=Decimal(90))
    assert found["NUMBER_2"] == NOTHING
    assert not NOTHING.allows_number(Decimal(1))
    assert not CALLS.values.limits("f( t= QUOTED_STRING_0 )", library_of(t={"type": "string"}))


def test_a_thermostat_is_never_set_to_810_degrees():
    library = library_of(n={"type": "number", "minimum": 5, "maximum": 35})
    rows = copies(row_of("f( n= NUMBER_0 )", NUMBER_0="n"), library, primitive=80)
    assert len({row.program for row in rows}) > 15
    assert not [row for row in rows if CALLS.check(CALLS.from_tokens(row.program), library)]


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        ({"type": "number", "multipleOf": 0.5}, "0.3", "'x' is Number in steps of 0.5"),
        ({"type": "number", "multipleOf": 0.1}, "0.3", None),
        ({"type": "integer", "maximum": 9, "multipleOf": 3}, "6", None),
        ({"type": "string", "maxLength": 3}, '"four"', "'x' is String of at most 3 characters"),
        ({"type": "string", "maxLength": 3}, "QUOTED_STRING_0", None),
        ({"type": "string", "minLength": 2, "pattern": "^[A-Z]+$"}, '"lhr"', None),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, '"rome"', "'x' is String like ^[A-Z]{3}$"),
        ({"type": "string", "x-entity": "room", "pattern": "^a"}, '"b"', None),
    ],
)
def test_the_checker_says_what_values_are_left(schema, value, hint):
    library = library_of(x=schema)
    problems = CALLS.check(CALLS.parse(f"f(x = {value})"), library)
    assert [(p.code, p.hint) for p in problems] == ([("Z034", hint)] if hint else [])


def test_limits_that_are_none_are_mistakes():
    for schema in (
        {"type": "number", "multipleOf": 0},
        {"type": "number", "multipleOf": "x"},
        {"type": "string", "maxLength": -1},
    ):
        with pytest.raises(GenieError, match="Z026"):
            library_of(x=schema)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^\d{4}-\d{2}$", True), (r"^(mon|tues)day$", True), (r"[(+*]\(a\)*", True),
        (r"^[\w-]+(\.[a-z]+)?$", True), (r"(a+)+", False), (r"(a|b){2}", False), (r"a(?!b)", False),
        (r"(a)\1", False), (r"\p{L}", False), ("(", False), ("a" * 201, False), (r"[\]]*\\", True),
    ],
)  # fmt: skip
def test_patterns_that_are_checked(pattern, expected):
    assert is_simple(pattern) == expected
