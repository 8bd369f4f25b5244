"""Laws of the automaton for calls."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.calls.decoding import CallsGrammar, CallsLimits, constants_of
from genie_dp.languages.calls.library import NONE
from genie_dp.languages.scope import CopyOnce
from tests.golden import DATA
from tests.languages.calls.tool_programs import home, library_of, program_of, tools
from tests.languages.thingtalk.decoding.decoding_walks import along, is_accepted, random_program

LANGUAGE = get_language("calls")
SENTENCE = ["dim", "the", "bath", "room", "to", "5", "2.5", "or", "NUMBER_0", "DATE_1", "a@b",
            "GENERIC_ENTITY_room_0", "EMAIL_ADDRESS_0", "DURATION_0"]  # fmt: skip
TEXTS = ['" tea time "', "7", '" hall " ^^room', "date:2027-03-14T17:00:00",
         "$find_mail .mails.0.id", '" c@d " ^^tt:email_address']  # fmt: skip
# The most that these tools need to close a program.
CLOSING = 40


def grammar(library, texts=TEXTS):
    return CallsGrammar(library, texts=texts, limits=CallsLimits(tokens=60, calls=4))


@given(tools, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_only_words_of_the_sentence_are_copied_and_others_are_known(given_tools, rng):
    found = grammar(library_of(given_tools))
    state, sentence = found.begin(SENTENCE), set(SENTENCE)
    for step in range(40):
        state = state.closing() if step == 25 else state
        allowed = state.allowed
        assert allowed.copied <= sentence
        assert allowed.fixed <= found.vocabulary
        choices = sorted(allowed.fixed | allowed.copied)
        if not choices:
            break
        state = state.then(rng.choice(choices))


@given(tools, st.integers(0, 10**6), st.booleans())
@settings(max_examples=60)
def test_every_canonical_program_is_accepted_with_its_constants(given_tools, seed, is_said):
    library = library_of(given_tools)
    program = LANGUAGE.canonical(program_of(library, Random(seed)), library)
    text = LANGUAGE.tokens(program)
    slots = LANGUAGE.values.placeholders(program)
    sentence = [*slots, *(text.split(" ") if is_said else ())]
    known = list(constants_of(text, " ".join(sentence)))
    found = CallsGrammar(library, texts=known, limits=CallsLimits(tokens=400))
    assert is_accepted(found, sentence, text), text


@given(
    tools, st.randoms(use_true_random=False), st.integers(0, 40), st.sampled_from([SENTENCE, []])
)
@settings(max_examples=60)
def test_every_walk_ends_in_a_well_typed_program(given_tools, rng, begun, sentence):
    """It can be brought to its end anywhere."""
    library, known = library_of(given_tools), home()
    walks = [
        (known, random_program(grammar(known, texts), SENTENCE, rng, most=200, deep=False))
        for texts in (TEXTS, [])
    ]
    most, found = begun + CLOSING, grammar(library, [])
    closed = random_program(found, sentence, rng, most=most, deep=False, closing=begun)
    for tools_of, tokens in (*walks, (library, closed)):
        assert not LANGUAGE.check(LANGUAGE.from_tokens(" ".join(tokens)), tools_of), tokens


@given(tools, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_a_word_is_copied_as_often_as_it_is_said_and_programs_stay_well_typed(given_tools, rng):
    library, sentence = library_of(given_tools), [*SENTENCE, "bath"]
    once, left = CopyOnce(grammar(library, [])), Counter(sentence)
    state = once.begin(sentence)
    tokens = []
    while not (state.allowed.end and rng.random() < 0.5):
        state = state.closing() if len(tokens) == 40 else state
        allowed = state.allowed
        is_forced = not (allowed.fixed or allowed.end)
        assert is_forced or all(left[word] for word in allowed.copied)
        choices = sorted(allowed.fixed | allowed.copied)
        if not choices:
            break
        tokens.append(rng.choice(choices))
        if tokens[-1] in allowed.copied and tokens[-1] not in allowed.fixed and not is_forced:
            left[tokens[-1]] -= 1
        state = state.then(tokens[-1])
    assert not LANGUAGE.check(LANGUAGE.from_tokens(" ".join(tokens)), library), tokens


def test_ill_typed_programs_are_refused_and_well_typed_accepted():
    lines = (DATA / "decoding" / "calls.txt").read_text(encoding="utf-8").splitlines()
    found = [(line[0], line[2:]) for line in lines]
    accepted = grammar(home())
    assert [(f"{'-+'[is_accepted(accepted, SENTENCE, p)]}", p) for _, p in found] == found


def test_equal_places_have_one_set_of_tokens():
    found = grammar(home())
    for seed in range(10):
        words = random_program(found, SENTENCE, Random(seed), most=200, deep=False)
        one, other = found.begin(SENTENCE), found.begin(SENTENCE)
        for word in words:
            assert one.allowed.fixed is other.allowed.fixed
            one, other = one.then(word), other.then(word)


def test_a_closing_program_asks_for_what_it_lacks():
    prefix = along(grammar(home()), SENTENCE, "lights.set( level=").closing()
    assert prefix.allowed.fixed == {"$?"}
    with pytest.raises(GenieError, match="L011"):
        LANGUAGE.decoding_grammar(NONE)
