"""What a sentence denies, compares or asks for is in its program, or said so by rows, or refused.

In every language.
"""

import pytest

from genie_dp.languages import get_language
from genie_dp.locale import languages, words_of
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.evidence import Evidence, content_words
from genie_dp.parser.operators import (
    Operators,
    negations_in,
    open_negations,
    operators_in,
    takes_negation,
)
from genie_dp.skills.words import tokenize
from tests.golden import DATA

CALLS, GERMAN = get_language("calls"), words_of("de")
THINGTALK = get_language("thingtalk")
LIGHT = "licht.schalten( raum= GENERIC_ENTITY_raum_0 zustand= {} )"
ROOM = "GENERIC_ENTITY_raum_0"


def cases_of(topic):
    for language in languages():
        file = DATA / topic / f"{language}.txt"
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            sentence, _, expected = line.partition(" =>")
            yield pytest.param(language, sentence, expected.strip(), id=f"{language}: {sentence}")


@pytest.mark.parametrize(("language", "sentence", "expected"), [*cases_of("negations")])
def test_negations_are_found_and_idioms_are_none(language, sentence, expected):
    words, tokens = words_of(language), tokenize(sentence)
    assert ", ".join(x.name for x in negations_in(tokens, words)) == expected
    said = content_words(tokens, (), words)
    denying = {tokens[x.start] for x in negations_in(tokens, words)}
    assert denying <= {*said}


def test_every_language_has_sentences_that_deny_and_some_that_do_not():
    count = {language: [0, 0] for language in languages()}
    for language, _, expected in (case.values for case in cases_of("negations")):
        count[language][not expected] += 1
    assert all(denied >= 12 and others >= 2 for denied, others in count.values())


@pytest.mark.parametrize("language", languages())
def test_a_negation_is_content(language):
    words = words_of(language)
    single = {word for word in words.negations if " " not in word}
    assert not single & (words.function_words | words.articles)
    assert content_words(sorted(single - {"n'", "n't"}), (), words)


def denied(sentence, program, *, said=(), language="de", listed=None):
    """Return the negations of a sentence that neither texts of its program nor rows have."""
    words, tokens, form = words_of(language), tokenize(sentence), CALLS.form(program)
    evidence = Evidence.from_rows([[Pair.from_text(*row) for row in said]], CALLS, words)
    found = open_negations(tokens, form, words, lambda kind, text: listed)
    return [
        negation.name
        for negation in found
        if not evidence.denies(negation, tokens, form.values, form.functions, form.parts)
    ]


PLAIN = [(f"schalte das licht im {ROOM} {state}", LIGHT.format(state)) for state in ("an", "aus")]
DENYING = [*PLAIN, (f"schalte das licht im {ROOM} nicht an", LIGHT.format("aus"))]


@pytest.mark.parametrize(
    ("sentence", "state", "expected"),
    [
        (f"schalte das licht im {ROOM} nicht an", "aus", []),
        (f"schalte das licht im {ROOM} bitte nicht an", "aus", []),
        (f"schalte das licht im {ROOM} nicht an", "an", ["nicht"]),
        (f"schalte das licht im {ROOM} nicht aus", "aus", ["nicht"]),
        (f"schalte das licht im {ROOM} nicht aus", "an", ["nicht"]),
        (f"schalte das licht nicht im {ROOM} an", "aus", ["nicht"]),
        (f"schalte das licht im {ROOM} nie an", "aus", ["nie"]),
        (f"schalte kein licht im {ROOM} nicht an", "aus", ["kein"]),
    ],
)
def test_a_negation_needs_rows_with_the_same_words_beside_it_and_the_same_parts(
    sentence, state, expected
):
    assert denied(sentence, LIGHT.format(state), said=DENYING) == expected
    assert "nicht" not in sentence or "nicht" in denied(sentence, LIGHT.format(state), said=PLAIN)


def test_the_opposite_of_what_rows_deny_is_denied_by_none_even_far_from_the_negation():
    early = (f"schalte nicht das licht im {ROOM} an", LIGHT.format("aus"))
    ask = f"schalte nicht das licht im {ROOM} {{}}"
    assert denied(ask.format("an"), LIGHT.format("aus"), said=[*PLAIN, early]) == []
    both = f"{early[0]} und {PLAIN[0][0]}", f"{LIGHT.format('aus')} & {LIGHT.format('an')}"
    for said in ([*PLAIN, early], [*PLAIN, early, both]):
        assert denied(ask.format("aus"), LIGHT.format("aus"), said=said) == ["nicht"]
        assert denied(ask.format("an"), LIGHT.format("an"), said=said) == ["nicht"]


def test_what_one_half_of_a_sentence_denies_is_denied_by_no_other_function():
    stop, start = "timer.stop( )", "timer.start( minutes= NUMBER_0 )"
    said = [
        ("starte keinen timer", stop),
        ("starte einen timer für NUMBER_0 minuten", start),
        ("starte einen timer für NUMBER_0 minuten und starte keinen timer", f"{start} & {stop}"),
    ]
    assert denied("starte keinen timer", stop, said=said) == []
    assert denied(said[2][0], f"{start} & {stop}", said=said) == []
    assert denied("starte keinen timer für NUMBER_0 minuten", start, said=said) == ["keinen"]


def test_negations_in_the_texts_of_rows_deny_nothing():
    said = [("spiele sie liebt mich nicht", 'play( title= " sie liebt mich nicht " )')]
    program = 'play( title= " yesterday " )'
    assert denied("spiele yesterday nicht", program, said=said) == ["nicht"]


@pytest.mark.parametrize(
    ("language", "sentence", "text", "expected"),
    [
        ("de", "spiele ich liebe dich nicht mehr", "ich liebe dich nicht mehr", []),
        ("de", "spiele yesterday nicht", "yesterday nicht", ["nicht"]),
        ("de", "spiele nicht yesterday", "nicht yesterday", ["nicht"]),
        ("de", "spiele keine musik", "keine musik", ["keine"]),
        ("de", "spiele das lied kein alkohol", "kein alkohol", []),
        ("de", "spiele ohne dich", "ohne dich", []),
        ("de", "spiele nicht ohne dich", "ohne dich", ["nicht"]),
        ("en", "play don't stop believing", "don't stop believing", []),
        ("en", "don't play believing", "believing", ["don't"]),
        ("en", "play no music", "no music", ["no"]),
        ("en", "please play no music", "no music", ["no"]),
        ("en", "play the song no woman no cry", "no woman no cry", []),
        ("fr", "joue pas la vie en rose", "pas la vie en rose", ["pas"]),
        ("fr", "mets la chanson sans toi", "sans toi", []),
        ("es", "pon la canción sin ti", "sin ti", []),
        ("nl", "speel yesterday niet", "yesterday niet", ["niet"]),
    ],
)
def test_a_text_has_no_negation_that_may_be_the_commands(language, sentence, text, expected):
    assert denied(sentence, f'play( title= " {text} " )', language=language) == expected
    tokens = tokenize(sentence)
    places = range(len(tokens) - len(tokenize(text)), len(tokens))
    is_inside = not expected or expected[0] in text.split()
    assert takes_negation(tokens, places, words_of(language)) == bool(expected and is_inside)


@pytest.mark.parametrize(("listed", "expected"), [(True, []), (None, ["no"]), (False, ["no"])])
def test_a_name_with_a_negation_is_one_if_a_list_has_it(listed, expected):
    program = 'play( artist= " no doubt " ^^artist )'
    # "no doubt" alone is an idiom of English, "no doubts" is none.
    program, sentence = program.replace("doubt", "doubts"), "play no doubts"
    assert denied(sentence, program, language="en", listed=listed) == expected


@pytest.mark.parametrize(("language", "sentence", "expected"), [*cases_of("operators")])
def test_comparisons_have_a_value_beside_them_and_marks_are_found(language, sentence, expected):
    found = operators_in(tokenize(sentence), words_of(language))
    shown = [(x.name, *x.signs, x.value) for x in found if x.signs != ("not",)]
    assert ", ".join(" ".join(x).strip() for x in shown) == expected


@pytest.mark.parametrize("language", languages())
def test_every_language_compares_both_ways_and_has_each_mark(language):
    words = words_of(language)
    assert list(words.comparisons) == [">", ">=", "after"]
    assert set(words.marks) == {"alert", "repeat", "count", "rank", "refer", "show"}
    signs = {
        sign
        for x in cases_of("operators")
        if x.values[0] == language
        for sign in x.values[2].split()
    }
    assert signs >= {">", "<", "<=", "after", "before", "alert", "repeat", "count", "show"}


SHOES, ORDER = "@org.cobbler.shoes", "@org.cobbler.order"
PRICE, DATE = "param:price:Currency", "param:made:Date"


def shoes(condition):
    return f"now => ( {SHOES} ) filter {condition} => notify"


def lost(sentence, program, *, said=()):
    """Return the operators of an English sentence that neither its program nor rows have."""
    words, tokens, form = words_of("en"), tokenize(sentence), THINGTALK.form(program)
    evidence = Evidence.from_rows([[Pair.from_text(*row) for row in said]], THINGTALK, words)
    own = Operators.from_form(form)
    return list(evidence.support(tokens, form.values, form.functions, form.parts, own).lost)


@pytest.mark.parametrize(
    ("sentence", "condition", "expected"),
    [
        ("shoes that cost more than CURRENCY_0", f"{PRICE} > CURRENCY_0", []),
        ("shoes that cost more than CURRENCY_0", f"{PRICE} == CURRENCY_0", ["more than"]),
        ("shoes that cost more than CURRENCY_0", f"{PRICE} >= CURRENCY_0", ["more than"]),
        ("shoes cheaper than CURRENCY_0", f"{PRICE} > CURRENCY_0", ["cheaper than"]),
        ("shoes for no more than CURRENCY_0", f"{PRICE} <= CURRENCY_0", []),
        ("shoes for no more than CURRENCY_0", f"{PRICE} > CURRENCY_0", ["more than"]),
        ("shoes that do not cost more than CURRENCY_0", f"{PRICE} <= CURRENCY_0", []),
        ("shoes at CURRENCY_0 or less", f"{PRICE} <= CURRENCY_0", []),
        ("shoes at CURRENCY_0", f"{PRICE} == CURRENCY_0", []),
        ("shoes made after DATE_0", f"{DATE} >= DATE_0", []),
        ("shoes made after DATE_0", f"{DATE} == DATE_0", ["after"]),
        (
            "shoes made after DATE_0",
            f"{DATE} >= DATE_0 and {DATE} < DATE_0 + 1 unit:day",
            ["after"],
        ),
        ("shoes older than DURATION_0", f"{DATE} < now - DURATION_0", []),
        ("shoes made before TIME_0", 'param:maker:String =~ " before TIME_0 "', []),
        (
            "shoes of bob before TIME_0",
            'param:maker:Entity(tt:contact) == " bob before TIME_0 " ^^tt:contact',
            ["before"],
        ),
    ],
)
def test_a_program_compares_a_value_as_its_sentence_does(sentence, condition, expected):
    assert lost(sentence, shoes(condition)) == expected


def test_a_comparison_that_no_program_has_needs_rows_that_say_it_of_the_same_input():
    program = f"now => {ORDER} param:due:Date = DATE_0"
    said = [("have them made before DATE_0", program)] * 2
    assert lost("have shoes made before DATE_0", program) == ["before"]
    assert lost("have shoes made before DATE_0", program, said=said) == []
    other = program.replace("due", "since")
    assert lost("have shoes made before DATE_0", other, said=said) == ["before"]
    assert lost("have shoes made after DATE_0", program, said=said) == ["after"]


WHEN = f"monitor ( ( {SHOES} ) filter param:is_ready:Boolean == true )"
ALL = f"now => {SHOES} => notify"
MEND = "@org.cobbler.mend"


@pytest.mark.parametrize(
    ("sentence", "program", "expected"),
    [
        ("mend boots and tell me when they are ready", f"{WHEN} => {MEND}", ["tell me when"]),
        ("tell me when shoes are ready", f"{WHEN} => notify", []),
        ("mend it", f"now => {MEND}", ["it"]),
        ("mend it for TIME_0", f"now => {MEND} param:at:Time = TIME_0", []),
        ("is it warm", ALL, []),
        ("which shoes are mended", f"now => {MEND}", ["which"]),
        ("hi which shoes are mended", f"now => {MEND}", ["which"]),
        ("when it rains mend shoes", f"monitor ( {SHOES} ) => {MEND}", []),
        ("mend shoes every day", f"now => {MEND}", ["every day"]),
        ("how many shoes are there", ALL, ["how many"]),
        ("how many shoes are there", f"now => aggregate count of ( {SHOES} ) => notify", []),
        ("the cheapest shoes", ALL, ["cheapest"]),
        ("the cheapest shoes", f"now => aggregate min {PRICE} of ( {SHOES} ) => notify", []),
    ],
)
def test_a_program_does_what_its_sentence_asks_for(sentence, program, expected):
    assert lost(sentence, program) == expected


def test_words_of_a_mark_mean_nothing_where_rows_say_them_so():
    said = [("mend it", f"now => {MEND}"), ("mend all", f"now => {MEND}")]
    assert lost("mend it", f"now => {MEND}", said=said) == []
    assert lost("polish it", f"now => {MEND}", said=said) == ["it"]
    passing = f"now => {SHOES} => {MEND} on param:pair:T = param:pair:T"
    assert lost("mend it", f"now => {MEND}", said=[("find shoes and mend it", passing)]) == ["it"]


def test_calls_compare_nothing_unless_rows_say_so_and_have_every_mark():
    words, program = words_of("en"), "heat( degrees= NUMBER_0 )"
    rows = [("heat to at least NUMBER_0", "heat( minimum= NUMBER_0 )")] * 2
    evidence = Evidence.from_rows([[Pair.from_text(*x) for x in rows]], CALLS, words)
    for sentence, form, expected in (
        ("heat to at least NUMBER_0", program, ("at least",)),
        ("heat to at least NUMBER_0", rows[0][1], ()),
        ("what it does every day", program, ()),
    ):
        read, said = CALLS.form(form), sentence.split()
        own = Operators.from_form(read)
        support = evidence.support(said, read.tokens, read.functions, operators=own)
        assert support.lost == expected


@pytest.mark.parametrize(
    ("sentence", "function", "expected"),
    [
        ("turn the lights on", "turn_off", ("on",)),
        ("turn the lights on", "turn_on", ()),
        ("turn the lights off", "turn_on", ("off",)),
        ("turn off the lights on the stairs", "turn_off", ()),
        ("is anything on", "ask", ()),
        ("keep it on", "keep", ()),
    ],
)
def test_a_word_speaks_against_functions_that_are_said_with_its_opposite_alone(
    sentence, function, expected
):
    rows = [
        ("turn on the lights", "turn_on( )"),
        ("turn on the lights on the stairs", "turn_on( )"),
        ("turn off the lights", "turn_off( )"),
        ("turn off the lights on the stairs", "turn_off( )"),
        ("is it on", "ask( )"),
        ("is it off", "ask( )"),
        ("keep it", "keep( )"),
    ]
    evidence = Evidence.from_rows([[Pair.from_text(*x) for x in rows]], CALLS, words_of("en"))
    support = evidence.support(sentence.split(), (f"{function}(", ")"), [function])
    assert support.lost == expected


def test_of_two_programs_the_one_that_compares_as_the_sentence_goes_before():
    words, sentence = words_of("en"), tokenize("shoes cheaper than CURRENCY_0")
    evidence = Evidence.from_rows([[]], THINGTALK, words)
    weights = []
    for sign in ("<", ">", "=="):
        form = THINGTALK.form(shoes(f"{PRICE} {sign} CURRENCY_0"))
        own = Operators.from_form(form)
        weights.append(evidence.support(sentence, form.tokens, [SHOES], operators=own).weight)
    assert weights[0] > max(weights[1:]) + 50
