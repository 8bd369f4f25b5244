"""Laws of the automaton for S-expressions."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.languages.sexpr.decoding import SexprGrammar, SexprLimits
from tests.golden import DATA
from tests.languages.thingtalk.decoding.decoding_walks import along, is_accepted, random_program

CAKES = (
    "( ORDER ( CAKE ( NUMBER 2 ) ( SIZE LARGE ) ( TOPPING PLUM ) ) ( TEA ( SIZE SMALL ) ) )",
    "( ORDER ( CAKE ( NUMBER NUMBER_0 ) ( TOPPING NUT ) ( TOPPING PLUM ) ) )",
    '( ORDER ( CAKE ( NUMBER 1 ) ( NAME " best wishes " ) ) )',
)
DECLARED = read_declarations(
    "unordered ORDER CAKE; node ORDER = (CAKE)* (TEA)*; node CAKE = (NUMBER) (SIZE)? (TOPPING)* "
    "(NAME)?; node TEA = (SIZE); node NUMBER = Number; node SIZE = Atom; node TOPPING = Atom; "
    "node NAME = String;"
)
ORDERED = read_declarations("node F = (A)* (B) (C)+; node A = Atom; node B = Atom; node C = Any;")
SPANS = (
    "[ IN:REMIND [ SL:WHO me ] [ SL:TODO buy milk ] ]",
    "[ IN:REMIND [ SL:TODO [ IN:CALL [ SL:WHO mum ] ] ] [ SL:TIME at 5 ] ]",
)
CALLS = ("( call f ( call g ( string x ) ) en.b )", "( call g ( ( lambda s ( var s ) ) en.b ) )")
SENTENCE = ["please", "remind", "me", "to", "call", "mum", "at", "5", "or", "NUMBER_0"]
WHOLE = read_declarations(
    "node IN:REMIND = [SL:WHO] | [SL:TODO] | [SL:TIME]*; node IN:CALL = [SL:WHO]?; "
    "node SL:WHO = Atom+; node SL:TODO = [IN:CALL] | Atom+; node SL:TIME = Atom*; "
    "node SL:SOON = ; program [IN:REMIND] | [IN:CALL];"
)
ROUND = read_declarations(
    "node PLAN = (DAY) (WHERE)? Any; node DAY = Date | MONDAY; node WHERE = String (NEAR)*; "
    "node NEAR = Number Atom; program (PLAN);"
)
TYPED = read_declarations(
    'entity City = "new york" paris; program (PLAN); node PLAN = (DAY) (FOR)?; '
    "node DAY = Date | City | TODAY; node FOR = Number Duration;"
)
GRAMMARS = {
    "cakes": (CAKES, None),
    "declared": (CAKES, DECLARED),
    "ordered": (("( F ( A x ) ( A y ) ( B z ) ( C x ) ( C ( B y ) ) )",), ORDERED),
    "spans": (SPANS, None),
    "calls": (CALLS, read_declarations("apply call;")),
    "whole": (SPANS[:1], WHOLE),
    "whole, without programs": ((), WHOLE),
    "typed": (
        (
            '( PLAN ( DAY #( Date " 2027-03-14 " ) ) ( FOR 2 #( Duration 1 h ) ) )',
            '( PLAN ( DAY #( Date " 2027-12-24 " ) ) ( FOR 1 #( Duration 1 h 30 min ) ) )',
            '( PLAN ( DAY #( City " mum " ) ) ( FOR NUMBER_0 DURATION_0 ) )',
        ),
        TYPED,
    ),
    "typed, without programs": ((), TYPED),
    "whole, with round brackets": (("( PLAN ( DAY MONDAY ) 3 )",), ROUND),
}
# The most that these grammars need to close a program: eight levels of the dearest node.
CLOSING = 120


def grammar(name):
    texts, declared = GRAMMARS[name]
    return SexprGrammar(declared, texts=texts, limits=SexprLimits(tokens=40, nesting=6))


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_program_that_was_learned_from_is_accepted(name):
    texts, _ = GRAMMARS[name]
    for text in texts:
        words = text.replace("NUMBER_0", "number NUMBER_0").split(" ")
        sentence = [word for word in words if word not in "()[]"]
        assert is_accepted(grammar(name), sentence, text), text


@pytest.mark.parametrize("name", GRAMMARS)
@given(rng=st.randoms(use_true_random=False), begun=st.none() | st.integers(0, 40))
def test_every_walk_ends_in_a_program_that_fits_the_declarations(name, rng, begun):
    """It can be brought to its end anywhere."""
    most = 400 if begun is None else begun + CLOSING
    words = random_program(grammar(name), SENTENCE, rng, most=most, deep=False, closing=begun)
    sexpr = get_language("sexpr")
    assert not sexpr.check(sexpr.from_tokens(" ".join(words)), GRAMMARS[name][1]), words


def test_programs_of_other_shapes_are_refused_and_new_combinations_accepted():
    _, *lines = (DATA / "decoding" / "sexpr.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    for line in lines:
        name, _, program = line[2:].partition(": ")
        found = "-+"[is_accepted(grammar(name), SENTENCE, program)]
        assert f"{found} {name}: {program}" == line


def test_what_a_sentence_cannot_fill_is_not_begun():
    only_numbers = SexprGrammar(None, texts=["( P ( N NUMBER_0 ) )", "( P ( S ALL ) )"])
    assert along(only_numbers, ["two"], "( P (").allowed.fixed == {"S"}
    assert along(only_numbers, ["NUMBER_0"], "( P (").allowed.fixed == {"N", "S"}
    with pytest.raises(GenieError, match="L012"):  # all programs copy
        SexprGrammar(None, texts=["( P NUMBER_0 )"]).begin(["hello"])
    with pytest.raises(GenieError, match="L011"):
        get_language("sexpr").decoding_grammar(None)


def test_equal_places_have_one_set_of_tokens():
    found = grammar("cakes")
    for seed in range(20):
        words = random_program(found, SENTENCE, Random(seed), most=400, deep=False)
        one, other = found.begin(SENTENCE), found.begin(SENTENCE)
        for word in words:
            assert one.allowed.fixed is other.allowed.fixed
            one, other = one.then(word), other.then(word)
