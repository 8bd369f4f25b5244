import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.ast import Atom, Node, Text
from genie_dp.languages.sexpr.canonical import canonical, check, functions
from genie_dp.languages.sexpr.declarations import Declarations, read_declarations
from genie_dp.languages.sexpr.placeholders import anonymize
from genie_dp.languages.sexpr.text import DEEPEST, from_tokens, parse, render, tokens
from genie_dp.parser.reading.prepare import key_of
from tests.golden import DATA, cases

# Invented rows in the manner of five data sets.
ROWS = (DATA / "sexpr" / "rows.txt").read_text(encoding="utf-8").splitlines()

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
def test_a_program_comes_back_as_it_was_written_and_from_its_tokens(row):
    assert render(parse(row)) == row
    assert from_tokens(tokens(parse(row))) == parse(row)


@given(expressions)
def test_expressions_come_back_from_their_text_and_their_tokens(expression):
    text, words = render(expression), tokens(expression)
    assert parse(text) == expression
    assert render(parse(text)) == text  # the layout survives
    assert from_tokens(words) == expression
    assert words.split() == words.split(" ")
    once = anonymize(expression)
    assert '"' not in tokens(once).split(" ")
    assert anonymize(once) == once


@given(trees, declared, st.randoms(use_true_random=False))
def test_canonical_is_idempotent_and_forgets_the_order_of_unordered_items(
    tree, declarations, random
):
    once = canonical(tree, declarations)
    assert canonical(once, declarations) == once
    assert canonical(_shuffled(tree, declarations, random), declarations) == once
    if "set" not in declarations.orders.values():
        assert functions(once) == functions(tree)


def _shuffled(tree, declarations, random):
    if not isinstance(tree, Node):
        return tree
    items = [_shuffled(item, declarations, random) for item in tree.items]
    if declarations.order(items[0].text) != "ordered":
        rest = items[1:]
        random.shuffle(rest)
        items = items[:1] + rest
    return Node(tuple(items))


def test_white_space_escapes_and_words_are_read_as_they_stand():
    for space in ("\xa0", "\x85", "\u2028", "\f"):
        assert all(parse(r.replace(" ", space)) == parse(r) for r in ("(a b)", "[a b ]"))
    for word in ("\\ud83d", "\\udfff"):  # half a character
        assert from_tokens(f'( f " {word} " )') == Node((Atom("f"), Text(word)))
    tree = parse('[IN:SAY say " ( ) ]')
    assert [item.text for item in tree.items] == ["IN:SAY", "say", '"', "(", ")"]
    assert parse(r'"a\"b\\n\né"') == Text('a"b\\n\né')
    assert parse(r'(a "\ud83d\ude00")') == parse('(a "😀")')
    language = get_language("sexpr")
    assert language.render(language.parse("(a b )")) == "(a b )"


def test_metadata_is_no_label_and_apply_names_the_function_by_its_first_item():
    assert list(functions(parse("(^(Event) find (^(T) x))"))) == ["find", "x"]
    declarations = read_declarations("apply call;")
    program = parse("( call SW.list ( call SW.filter ( string size ) ) )")
    assert functions(program, declarations) == {"SW.list": 1, "SW.filter": 1, "string": 1}


def test_too_deep_a_program_and_an_empty_text_are_errors():
    text = "(" * DEEPEST + ")" * DEEPEST
    assert render(parse(text)) == text
    assert from_tokens(tokens(parse(text))) == parse(text)
    assert canonical(anonymize(parse(text))) == parse(text)
    for read, wrong, code in (
        (parse, f"({text})", "X008"),
        (from_tokens, "( " * 201 + ") " * 200 + ")", "X011"),
        (parse, " ", "X001"),
    ):
        with pytest.raises(GenieError, match=code):
            read(wrong)


@pytest.mark.parametrize("case", cases("sexpr/canonical.txt"), ids=str)
def test_canonical_form(case, golden):
    declarations, program = case.input.split("\n")
    golden(case, render(canonical(parse(program), read_declarations(declarations))))


@pytest.mark.parametrize("case", cases("sexpr/check.txt"), ids=str)
def test_signatures_find_what_does_not_fit_with_its_place_among_tokens(case, golden):
    declarations, program = case.input.split("\n")
    known, tree = read_declarations(declarations), parse(program)
    text, wrong = tokens(tree), check(tree, known)
    golden(case, "\n".join(render_problem(problem) for problem in wrong))
    found = check(from_tokens(text, places=True), known)
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
    written = " ".join(["( PLOT", *map(sexpr.values.written, found), ")"])
    program = sexpr.from_tokens(written)
    assert sexpr.check(program, CHARTS) == []
    assert sexpr.parse(sexpr.render(program)) == program
    literals = sexpr.form(sexpr.tokens(program)).literals
    assert [key_of(x.constant) for x in literals] == [key_of(constant) for constant in found]
    assert [" ".join(written.split(" ")[x.start : x.end]) for x in literals] == [
        sexpr.values.written(x.constant) for x in literals
    ]
    slots = [f"NUMBER_{place}" for place in range(len(found))]  # placeholders that are filled
    program = sexpr.from_tokens(" ".join(["( PLOT", *slots, ")"]))
    assert sexpr.values.placeholders(program) == tuple(slots)
    filled = sexpr.values.fill(program, {s: (c, "it") for s, c in zip(slots, found, strict=True)})
    assert sexpr.tokens(filled) == written
    assert sexpr.values.placeholders(filled) == ()


def test_literals_have_the_form_of_their_type(golden):
    [case] = cases("sexpr/literals.txt")
    found = [check(parse(line), CHARTS) for line in case.input.splitlines()]
    golden(case, "\n".join(f"{p.code} {p.message}" for problems in found for p in problems))


def test_values_in_square_brackets_are_words_and_dates_placeholders_in_anonymous_programs():
    sexpr = get_language("sexpr")
    program = sexpr.parse("[IN:ALARM [SL:TIME for TIME_0 ] ]")
    filled = sexpr.values.fill(program, {"TIME_0": ("time:8:00:00", "8 am")})
    assert sexpr.render(filled) == "[IN:ALARM [SL:TIME for 8 am ] ]"
    assert sexpr.form(sexpr.tokens(filled)).literals == ()
    program = parse('(PLOT #(Date "2027-03-14") #(Currency 2 usd) 2 #(Date "2027-03-14"))')
    assert tokens(anonymize(program)) == "( PLOT DATE_0 CURRENCY_0 NUMBER_0 DATE_0 )"


def test_a_literal_is_a_value_of_calls():
    sexpr = get_language("sexpr")
    program = sexpr.parse(
        '(PLOT (AT #(Location "paris" 48.9 2.4)) (FOR #(Duration 1 h 30 min)) (TO #(City "oslo")))'
    )
    hours = [{"value": 1, "unit": "h"}, {"value": 30, "unit": "min"}]
    place = {"name": "paris", "latitude": 48.9, "longitude": 2.4}
    [call] = sexpr.structure.calls(program)
    assert call["arguments"] == {"AT": place, "FOR": hours, "TO": "oslo"}
