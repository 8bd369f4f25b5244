import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.ast import Atom, Node, Text
from genie_dp.languages.sexpr.canonical import anonymize, canonical, check, functions
from genie_dp.languages.sexpr.declarations import Declarations, read_declarations
from genie_dp.languages.sexpr.text import DEEPEST, from_tokens, parse, render, tokens
from genie_dp.parser.reading.prepare import key_of
from tests.golden import cases

# Invented rows in the manner of five data sets.
ROWS = [
    '(Yield (Event.start (first (find (& (Event.subject_? (?~= "tea with Ann")) (on (Today)))))))',
    "(Yield (Execute (^(Dynamic) ConfirmAndReturnAction)))",
    '(Yield (f (?= #(String "x")) (HourMinutePm 4L 30L) -1.5))',
    '(Turn (Cafes_1 (INFORM time "5 o\\"clock sharp") (AFFIRM)))',
    '(let (x0 (g)) (x0 "" " a  b "))',
    "[IN:CREATE_ALARM [SL:DATE_TIME at 5 ( sharp ) ] ]",
    '[IN:SAY [SL:CONTENT say " hi there ; (now ] ]',
    "[IN:GET_EVENT ]",
    "(ORDER (CAKEORDER (NUMBER 2 ) (NOT (TOPPING KIWI ) ) ) )",
    "(ORDER get me (CAKEORDER (NUMBER a ) cake i'd like ) )",
    "( call SW.listValue ( call SW.filter en.cup ( string !type ) ( number 3 en.inch ) ) )",
    "( )",
    "atom",
]

words = st.text(alphabet=string.ascii_letters + string.digits + "._?=~<>&+-!'é", min_size=1)
atoms = words.map(Atom)
texts = st.text(st.characters() | st.sampled_from(' "\\eu\n\t\x1c\x85\xa0\u2028'), max_size=8).map(
    Text
)


def nodes(children):
    round_ = st.builds(
        lambda items, prefix, layout: Node(tuple(items), "(", prefix, layout),
        st.lists(children, max_size=4),
        st.sampled_from(["", "", "^", "#"]),
        st.sampled_from(["compact", "closing", "spaced"]),
    )
    return round_ | st.lists(children, max_size=4).map(_square)


def _square(items):
    """Between square brackets there are words and square brackets only."""
    kept = [i for i in items if isinstance(i, Atom) or (isinstance(i, Node) and i.bracket == "[")]
    return Node(tuple(kept), "[", "", "closing")


expressions = st.recursive(atoms | texts, nodes, max_leaves=15)
LABELS = ["A", "B", "C"]
declared = st.fixed_dictionaries(
    {label: st.sampled_from(["ordered", "unordered", "set"]) for label in LABELS}
).map(lambda orders: Declarations(orders=orders))
trees = st.recursive(
    st.sampled_from(["x", "y", "NUMBER_0", "NUMBER_1"]).map(Atom) | st.just(Text("a b")),
    lambda inner: st.builds(
        lambda label, items: Node((Atom(label), *items)),
        st.sampled_from(LABELS),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("row", ROWS)
def test_a_program_comes_back_as_it_was_written(row):
    assert render(parse(row)) == row


@pytest.mark.parametrize("row", ROWS)
def test_a_program_comes_back_from_its_tokens(row):
    assert from_tokens(tokens(parse(row))) == parse(row)


@given(expressions)
def test_parse_undoes_render(expression):
    assert parse(render(expression)) == expression


@given(expressions)
def test_layout_survives_reading_and_writing(expression):
    assert render(parse(render(expression))) == render(expression)


@given(expressions)
def test_from_tokens_undoes_tokens(expression):
    assert from_tokens(tokens(expression)) == expression


@given(expressions)
def test_tokens_are_separated_by_one_space(expression):
    assert tokens(expression).split() == tokens(expression).split(" ")


@given(trees, declared)
def test_canonical_is_idempotent(tree, declarations):
    once = canonical(tree, declarations)
    assert canonical(once, declarations) == once


@given(trees, declared, st.randoms(use_true_random=False))
def test_canonical_forgets_the_order_of_unordered_items(tree, declarations, random):
    assert canonical(_shuffled(tree, declarations, random), declarations) == canonical(
        tree, declarations
    )


def _shuffled(tree, declarations, random):
    if not isinstance(tree, Node):
        return tree
    items = [_shuffled(item, declarations, random) for item in tree.items]
    if declarations.order(items[0].text) != "ordered":
        rest = items[1:]
        random.shuffle(rest)
        items = items[:1] + rest
    return Node(tuple(items))


@given(trees, declared)
def test_canonical_keeps_the_functions_of_bags(tree, declarations):
    if "set" not in declarations.orders.values():
        assert functions(canonical(tree, declarations)) == functions(tree)


@given(expressions)
def test_an_anonymized_program_has_no_strings_and_stays_so(expression):
    once = anonymize(expression)
    assert '"' not in tokens(once).split(" ")
    assert anonymize(once) == once


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\u2028", "\f"])
@pytest.mark.parametrize("row", ["(a b)", "[a b ]"])
def test_white_space_of_any_sort_parts_items(row, space):
    assert parse(row.replace(" ", space)) == parse(row)


@pytest.mark.parametrize("word", ["\\ud83d", "\\udfff"])
def test_half_a_character_is_no_escape_in_tokens(word):
    assert from_tokens(f'( f " {word} " )') == Node((Atom("f"), Text(word)))


def test_words_between_square_brackets_may_be_quotes_and_round_brackets():
    tree = parse('[IN:SAY say " ( ) ]')
    assert [item.text for item in tree.items] == ["IN:SAY", "say", '"', "(", ")"]


def test_escapes_are_read_once():
    assert parse(r'"a\"b\\n\né"') == Text('a"b\\n\né')


def test_metadata_is_no_label():
    assert list(functions(parse("(^(Event) find (^(T) x))"))) == ["find", "x"]


def test_apply_names_the_function_by_its_first_item():
    declarations = read_declarations("apply call;")
    program = parse("( call SW.list ( call SW.filter ( string size ) ) )")
    assert functions(program, declarations) == {"SW.list": 1, "SW.filter": 1, "string": 1}


def test_too_deep_a_program_is_an_error_and_no_crash():
    text = "(" * DEEPEST + ")" * DEEPEST
    assert render(parse(text)) == text
    assert from_tokens(tokens(parse(text))) == parse(text)
    assert canonical(anonymize(parse(text))) == parse(text)
    with pytest.raises(GenieError, match="X008"):
        parse(f"({text})")
    with pytest.raises(GenieError, match="X011"):
        from_tokens("( " * 201 + ") " * 200 + ")")


def test_an_empty_text_is_an_error():
    with pytest.raises(GenieError, match="X001"):
        parse(" ")


@pytest.mark.parametrize("case", cases("sexpr/errors.txt"), ids=str)
def test_a_mistake_in_a_text_is_shown_with_its_place(case, golden):
    with pytest.raises(GenieError) as caught:
        parse(case.input, file="order.txt")
    assert {problem.stage for problem in caught.value.problems} == {"syntax"}
    golden(case, str(caught.value))


@pytest.mark.parametrize("case", cases("sexpr/token_errors.txt"), ids=str)
def test_a_mistake_in_a_token_form_is_shown_with_its_place(case, golden):
    with pytest.raises(GenieError) as caught:
        from_tokens(case.input)
    golden(case, str(caught.value))


@pytest.mark.parametrize("case", cases("sexpr/canonical.txt"), ids=str)
def test_canonical_form(case, golden):
    declarations, program = case.input.split("\n")
    golden(case, render(canonical(parse(program), read_declarations(declarations))))


@pytest.mark.parametrize("case", cases("sexpr/check.txt"), ids=str)
def test_signatures_find_what_does_not_fit(case, golden):
    declarations, program = case.input.split("\n")
    problems = check(parse(program), read_declarations(declarations))
    golden(case, "\n".join(render_problem(problem) for problem in problems))


@pytest.mark.parametrize("case", cases("sexpr/check.txt"), ids=str)
def test_what_does_not_fit_has_its_place_among_tokens(case):
    declarations, program = case.input.split("\n")
    known, tree = read_declarations(declarations), parse(program)
    text = tokens(tree)
    found = check(from_tokens(text, places=True), known)
    wrong = check(tree, known)
    assert [p.message for p in found] == [p.message for p in wrong]
    for problem, other in zip(found, wrong, strict=True):
        there = program[other.span.column - 1 : other.span.end_column - 1]
        here = text[problem.span.column - 1 : problem.span.end_column - 1]
        assert here == tokens(parse(there))


@pytest.mark.parametrize("case", cases("sexpr/declarations.txt"), ids=str)
def test_declarations_are_read_or_answered_by_all_their_mistakes(case, golden):
    try:
        found = read_declarations(case.input, file="x.sexpr")
    except GenieError as error:
        golden(case, str(error))
        return
    lines = [f"{label}: {order}" for label, order in found.orders.items()]
    lines += [f"apply {' '.join(sorted(found.applied))}"]
    lines += [f"program {sort}" for sort in sorted(found.programs)]
    lines += [f"{name} = {' '.join(map(str, each))}" for name, each in found.signatures.items()]
    golden(case, "\n".join(lines))


def test_the_language_is_registered_under_its_name():
    assert get_language("sexpr").render(get_language("sexpr").parse("(a b )")) == "(a b )"


def test_a_character_may_be_written_in_two_halves():
    assert parse(r'(a "\ud83d\ude00")') == parse('(a "😀")')


# ------------------------------------------------------------------------------ typed literals

plain_words = st.lists(st.text("abcxyz0123@.'", min_size=1, max_size=6), min_size=1).map(" ".join)
numbers = st.decimals(min_value=0, max_value=10**6, places=2).map(str)
constants = st.one_of(
    numbers,
    st.dates().map(lambda day: f"date:{day.isoformat()}"),
    st.datetimes().map(lambda then: f"date:{then.replace(microsecond=0).isoformat()}"),
    st.times().map(lambda t: f"time:{t.hour}:{t.minute:02}:{t.second:02}"),
    st.builds("currency:{}:{}".format, numbers, st.sampled_from(("usd", "eur"))),
    st.builds("{} unit:h {} unit:min".format, numbers, numbers),
    st.builds('" {} " at:{}:{}'.format, plain_words, numbers, numbers),
    st.builds('" {} " ^^{}'.format, plain_words, st.sampled_from(("tt:url", "City"))),
    plain_words.map('" {} "'.format),
)
CHARTS = read_declarations("""
entity City = "new york" paris;
node PLOT = Date|Time|Duration|Currency|Location|City|URL|Number|String*;
""")


@given(st.lists(constants, max_size=4))
def test_what_readers_find_stands_in_expressions_and_is_found_there(found):
    sexpr = get_language("sexpr")
    written = " ".join(["( PLOT", *map(sexpr.written, found), ")"])
    program = sexpr.from_tokens(written)
    assert sexpr.check(program, CHARTS) == []
    assert sexpr.parse(sexpr.render(program)) == program
    literals = list(sexpr.literals(sexpr.tokens(program).split(" ")))
    assert [key_of(x.constant) for x in literals] == [key_of(constant) for constant in found]
    assert [" ".join(written.split(" ")[x.start : x.end]) for x in literals] == [
        sexpr.written(x.constant) for x in literals
    ]


@given(st.lists(constants, min_size=1, max_size=4))
def test_filling_placeholders_gives_the_program_with_the_values(found):
    sexpr = get_language("sexpr")
    slots = [f"NUMBER_{place}" for place in range(len(found))]
    program = sexpr.from_tokens(" ".join(["( PLOT", *slots, ")"]))
    assert sexpr.placeholders(program) == tuple(slots)
    filled = sexpr.fill(program, {s: (c, "it") for s, c in zip(slots, found, strict=True)})
    assert sexpr.tokens(filled) == " ".join(["( PLOT", *map(sexpr.written, found), ")"])
    assert sexpr.placeholders(filled) == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('(PLOT #(Date "soon"))', "X034"),
        ('(PLOT #(Time "25:00"))', "X034"),
        ("(PLOT #(Duration 3 km))", "X034"),
        ("(PLOT #(Currency twenty usd))", "X034"),
        ('(PLOT #(Location "x" 1))', "X034"),
        ('(PLOT #(Town "x"))', "X032"),
        ("(PLOT Date)", "X032"),
    ],
)
def test_literals_have_the_form_of_their_type(text, code):
    [problem] = check(parse(text), CHARTS)
    assert problem.code == code


def test_values_in_square_brackets_are_words():
    sexpr = get_language("sexpr")
    program = sexpr.parse("[IN:ALARM [SL:TIME for TIME_0 ] ]")
    filled = sexpr.fill(program, {"TIME_0": ("time:8:00:00", "8 am")})
    assert sexpr.render(filled) == "[IN:ALARM [SL:TIME for 8 am ] ]"
    assert list(sexpr.literals(sexpr.tokens(filled).split(" "))) == []


def test_dates_and_the_like_are_placeholders_in_anonymous_programs():
    program = parse('(PLOT #(Date "2027-03-14") #(Currency 2 usd) 2 #(Date "2027-03-14"))')
    assert tokens(anonymize(program)) == "( PLOT DATE_0 CURRENCY_0 NUMBER_0 DATE_0 )"


def test_a_literal_is_a_value_of_calls():
    sexpr = get_language("sexpr")
    program = sexpr.parse(
        '(PLOT (AT #(Location "paris" 48.9 2.4)) (FOR #(Duration 1 h 30 min)) (TO #(City "oslo")))'
    )
    hours = [{"value": 1, "unit": "h"}, {"value": 30, "unit": "min"}]
    place = {"name": "paris", "latitude": 48.9, "longitude": 2.4}
    [call] = sexpr.calls(program)
    assert call["arguments"] == {"AT": place, "FOR": hours, "TO": "oslo"}
