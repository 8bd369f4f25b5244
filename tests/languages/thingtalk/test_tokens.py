"""The token form of ThingTalk, and its way back."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast, tokens
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.from_tokens import from_tokens, piece_from_tokens
from genie_dp.languages.thingtalk.parser import parse, parse_fragment
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.scope import OPEN
from genie_dp.languages.thingtalk.traverse import walk
from genie_dp.languages.thingtalk.typecheck import check
from tests.golden import cases
from tests.languages.thingtalk import strategies
from tests.languages.thingtalk.thingtalk_library import example_library

CASES = cases("tokens/programs.txt")
STYLES = [
    tokens.TokenStyle(types=types, keywords=keywords, canonical=order)
    for types in (True, False)
    for keywords in (True, False)
    for order in (True, False)
]


def example(text):
    return canonical(parse(text), example_library())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_token_form_of_canonical_programs(case, golden):
    text = tokens.tokens(example(case.input), example_library())
    golden(case, text)
    assert text == " ".join(text.split())
    assert all(token.isprintable() for token in text.split(" "))


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_every_style_reads_back_to_the_same_program(style):
    for case in CASES:
        program = example(case.input)
        text = tokens.tokens(program, example_library(), style)
        back = from_tokens(text, style=style, signatures=example_library())
        assert canonical(back, example_library()) == program, case.name
        assert tokens.tokens(back, example_library(), style) == text, case.name


@pytest.mark.parametrize("case", cases("tokens/old.txt"), ids=str)
def test_what_older_rows_say_in_other_words_is_read_and_written_in_one_form(case, golden):
    program = canonical(from_tokens(case.input), example_library())
    assert not check(program, example_library())
    text = tokens.tokens(program, example_library())
    golden(case, text)
    assert canonical(from_tokens(text), example_library()) == program


SEND = (
    "now => @com.example.mail.inbox() => "
    '@com.example.mail.send(to="x", subject=subject, priority=enum(low))'
)


@pytest.mark.parametrize(
    ("style", "action"),
    [
        (
            tokens.TokenStyle(types=False),
            '@com.example.mail.send param:priority = enum:low param:to = " x "'
            " on param:subject = param:subject",
        ),
        (
            tokens.TokenStyle(keywords=False),
            '@com.example.mail.send " x " param:subject:String _ enum:low',
        ),
        (
            tokens.TokenStyle(types=False, keywords=False),
            '@com.example.mail.send " x " param:subject _ enum:low',
        ),
        (
            tokens.TokenStyle(types=False, canonical=False),
            '@com.example.mail.send param:to = " x " on param:subject = param:subject'
            " param:priority = enum:low",
        ),
    ],
    ids=str,
)
def test_styles_of_the_ablations(style, action):
    text = tokens.tokens(parse(SEND), example_library(), style)
    assert text.endswith(f"=> {action}")


def test_without_canonical_order_the_program_keeps_its_own():
    style = tokens.TokenStyle(canonical=False)
    program = parse(SEND)
    assert from_tokens(tokens.tokens(program, example_library(), style), style=style) == program
    assert from_tokens(tokens.tokens(program, example_library())) != program
    style = tokens.TokenStyle(types=False, keywords=False)
    program = parse("now => @com.example.home.weather(height=6ft + 3in) => notify")
    text = tokens.tokens(program, example_library(), style)
    assert text == "now => @com.example.home.weather _ 6 unit:ft plus 3 unit:in => notify"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("query", "@com.x.q"),
        ("stream", "monitor ( @com.x.q )"),
        ("action", "notify"),
        ("predicate", "param:a:Number > 5 and true"),
        ("value", "now - 5 unit:min"),
        ("program", "now => @com.x.q => notify"),
        ("policy", "policy true : now => @com.x.q => notify"),
    ],
)
def test_pieces_are_read_by_kind_and_to_their_end(kind, text):
    assert piece_from_tokens(text, kind) is not None
    with pytest.raises(GenieError, match="expected the end"):
        piece_from_tokens(f"{text} )", kind)


@pytest.mark.parametrize(
    ("style", "message"),
    [
        (tokens.STYLE, "expected a skill library to print the types"),
        (tokens.TokenStyle(types=False, keywords=False), "to print the positions"),
    ],
    ids=str,
)
def test_without_a_library_only_plain_names_can_be_written(style, message):
    with pytest.raises(GenieError, match=message):
        tokens.tokens(parse(SEND), style=style)
    assert tokens.tokens(parse(SEND), style=tokens.TokenStyle(types=False))


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("now => @com.example.mail.inbx() => notify", "T003"),
        ("now => @com.example.mail.inbox() filter sendr == 5 => notify", "T009"),
        ("now => @com.example.mail.inbox(folders=5) => notify", "T009"),
        ("now => @com.example.mail.inbox() filter a == 1 || (b == 2 && c == 3) => notify", "T042"),
        ("now => @com.example.mail.inbox() filter !(size > 1MB && size < 2MB) => notify", "T042"),
    ],
)
def test_what_cannot_be_written_is_an_error_with_a_place(program, code):
    style = tokens.TokenStyle(types=code != "T042")
    with pytest.raises(GenieError) as error:
        tokens.tokens(parse(program), example_library(), style)
    (problem,) = error.value.problems
    assert (problem.code, bool(problem.hint)) == (code, True)
    body = parse_fragment("now => q => notify", {"q": "query"}).body
    with pytest.raises(GenieError, match="got the hole 'q'"):
        tokens.tokens(body, example_library())


def test_positions_are_read_with_the_signatures():
    style = tokens.TokenStyle(keywords=False)
    text = "now => @com.example.mail.inbox _ 5 => notify"
    program = from_tokens(text, style=style, signatures=example_library())
    assert program.rules[0].query.args == (ast.Arg("most", ast.NumberValue(Decimal(5))),)
    with pytest.raises(GenieError, match="read with the signatures"):
        from_tokens(text, style=style)


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(STYLES))
def test_what_is_read_in_any_style_is_the_same_and_points_at_its_tokens(rng, style):
    library = strategies.library(rng)
    made = strategies.policy(rng, library) if rng.random() < 0.2 else None
    program = canonical(made or strategies.program(rng, library), library)
    text = tokens.tokens(program, library, style)
    plain, placed = (
        from_tokens(text, style=style, signatures=library, places=places)
        for places in (False, True)
    )
    assert placed == plain
    assert made is None or plain == program
    assert tokens.tokens(plain, library, style) == text
    if style == tokens.STYLE:
        assert tokens.tokens(canonical(plain, library), library) == text
    for node in walk(placed):
        # No token says that all is allowed, nor what a query in parentheses is.
        silent = ast.Program | ast.TrueP | ast.Filter | ast.Join | ast.StreamJoin
        assert node.span is not None or isinstance(node, silent), node
        match node:
            case ast.Call(selector, function):
                assert said(node.span, text).startswith(f"@{selector.class_name}.{function}")
            case ast.Atom(name):
                assert said(node.span, text).startswith(f"param:{name}")
            case ast.Aggregate(_, str(name)):
                assert said(node.field_span, text).startswith(f"param:{name}")
            case ast.Monitor(_, names):
                shown = [said(span, text).split(":")[1] for span in node.on_new_spans]
                assert shown == list(names)


def said(span, text):
    return text[span.column - 1 : span.end_column - 1]


WORDS = r"""
( ) { } [ ] " \" = == > in_array => on new null + - , ; : 1 -2.5 unit:h unit:MB currency:5:USD
currency:5:5 date:2026-11-20 date:2026-02-30 date:x time:8:30:00 time:25:00:00 location:home
location:1:2 at:1:2 context:a context: enum:on enum:a) ^^tt:url ^^a:b-c id:a undefined event now
true false not and or filter join monitor edge aggregate sum count of policy notify *
@com.example.* NUMBER_0 start_of unit:day param:size:Measure(byte) word
"""


def damaged(rng: Random) -> str:
    words = tokens.tokens(example(rng.choice(CASES).input), example_library()).split(" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        words[at : at + rng.randint(0, 1)] = [rng.choice(WORDS.split())] * rng.randint(0, 1)
    return " ".join(words)


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False).map(damaged))
def test_what_is_read_and_well_typed_can_be_written_as_people_do(text):
    try:
        program = from_tokens(text)
    except GenieError:
        return
    if not check(program, example_library()):
        assert parse(render(program)) == program


@given(st.text())
def test_any_word_is_one_token_and_comes_back(word):
    token = tokens.escape_word(word)
    assert token.split() == [token]
    assert token != '"'
    assert tokens.unescape_word(token) == word


@given(st.text(st.sampled_from('\\ud8ace0019fr" ')))
def test_every_word_stands_for_a_text_that_can_be_written_to_a_file(token):
    text = tokens.unescape_word(token)
    assert text.encode("utf-8").decode("utf-8") == text
    assert tokens.unescape_word("\\ud83d") == "\\ud83d"  # half a character is no escape
    assert tokens.unescape_word("\\u00a0") == "\xa0"


@given(
    st.builds(ast.StringValue, st.text())
    | st.builds(
        ast.EntityValue,
        st.none() | st.text(),
        st.sampled_from(("tt:username", "com.x-y:song")),
        st.none() | st.text(),
    )
    | st.builds(
        ast.LocationValue, st.decimals(-90, 90), st.decimals(-180, 180), st.none() | st.text()
    )
)
def test_any_text_entity_and_place_comes_back(value):
    assert piece_from_tokens(tokens.value_tokens(value), "value") == value


finite = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30)


@given(finite)
def test_equal_numbers_are_equal_tokens(number):
    token = tokens.number_token(number)
    assert Decimal(token) == number
    assert token == tokens.number_token(
        Decimal(f"{number:f}" + ("0" if "." in f"{number:f}" else ".0"))
    )
    assert "E" not in token


@given(
    st.recursive(
        st.builds(ast.NumberValue, finite)
        | st.builds(lambda n, u: ast.MeasureValue(((n, u), (n, u))), finite, st.just("ft"))
        | st.sampled_from(
            (ast.DateNow(), ast.Undefined(), ast.EventValue(), ast.DateEdge("end_of", "mon"))
        )
        | st.dates().map(lambda day: ast.DateValue(day.isoformat()))
        | st.datetimes().map(lambda moment: ast.DateValue(str(moment)))
        | st.builds(ast.VarRef, st.sampled_from(("a", "query", "filter"))),
        lambda inner: st.builds(lambda items: ast.ArrayValue(tuple(items)), st.lists(inner)),
        max_leaves=8,
    )
)
def test_any_value_comes_back(value):
    text = tokens.TokenPrinter(None).value(value, OPEN)
    assert piece_from_tokens(text, "value") == value
