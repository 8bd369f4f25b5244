"""Laws of the automaton for ThingTalk: all canonical programs, and only well-typed ones."""

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import automaton, get_language
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.decoding.catalogue import GrammarLimits
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.languages.thingtalk.forms import constants_of
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.language import ThingTalk
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import walk
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import is_slot
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.golden import DATA, cases
from tests.languages.thingtalk import strategies
from tests.languages.thingtalk.decoding.decoding_walks import along, is_accepted, random_program
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.synthesis.synthesis_setup import rows, shipped

pytestmark = pytest.mark.xdist_group("shipped")

STYLES = (TokenStyle(), TokenStyle(types=False), TokenStyle(canonical=False))
TEXTS = (
    "1", "2.5", "front page", "front row", "currency:5:usd", "date:2026-11-20", "time:8:30:00",
    "at:37.4:-122.1", "id:x", "location:1:2", "enum:other",
    "0", "-2", "at:91:0", "location:0:181",  # nothing of these everywhere, or anywhere
)  # fmt: skip
SENTENCE = (
    "show", "5", "0", "-1", "mails", "of", "NUMBER_0", "bob", "smith", "to", "\\", "DATE_0",
    "TIME_0", "QUOTED_STRING_0", "MEASURE_C_0", "MEASURE_byte_0", "DURATION_0", "USERNAME_0",
    "LOCATION_0", "CURRENCY_0", "GENERIC_ENTITY_tt:contact_0", "MEASURE_foo_0",
)  # fmt: skip


@cache
def grammar():
    return ThingTalkGrammar(shipped().library, texts=TEXTS)


def random_gold(rng):
    lib = strategies.library(rng)
    made = strategies.policy(rng, lib) if rng.random() < 0.3 else strategies.program(rng, lib)
    return lib, canonical(made, lib)


def refused(pairs):
    """Return the programs that a grammar with the constants of all pairs refuses."""
    texts = {text for pair in pairs for text in constants_of(*pair)}
    found = ThingTalkGrammar(shipped().library, texts=sorted(texts))
    return [text for said, text in pairs if not is_accepted(found, said.split(), text)]


@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.sampled_from(STYLES))
def test_every_canonical_program_is_accepted(rng, style):
    lib, program = random_gold(rng)
    text = tokens(program, lib, style)
    found = ThingTalkGrammar(lib, texts=constants_of("", text), style=style)
    assert is_accepted(found, [], text), text


@pytest.mark.parametrize("case", cases("tokens/programs.txt"), ids=str)
def test_of_every_construct_of_the_token_form_what_is_well_typed_is_accepted(case):
    is_typed = not check(from_tokens(case.expected), example_library())
    words = [word for word in case.expected.split(" ") if is_slot(word)]
    found = ThingTalkGrammar(example_library(), texts=constants_of(" ".join(words), case.expected))
    assert is_accepted(found, words, case.expected) == is_typed


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_program_of_the_skills_own_evaluation_and_of_synthesis_is_accepted(step):
    thingtalk, lib = get_language("thingtalk"), shipped().library
    gold = [
        line.split("\t")
        for file in sorted(data_folder("thingpedia").glob("*/eval.tsv"))
        for line in file.read_text(encoding="utf-8").splitlines()[1:]
        if line.strip()
    ][::step]
    programs = [(said, thingtalk.canonical(thingtalk.parse(code), lib)) for said, code in gold]
    pairs = [(said, thingtalk.tokens(program, lib)) for said, program in programs]
    pairs += [(row.utterance, row.program) for row in rows()[:: 8 * step]]
    assert len(pairs) > 900 / step
    assert refused(pairs) == []


LIMITS = GrammarLimits(tokens=200, nesting=5)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), st.integers(0, 60))
def test_every_walk_ends_within_the_limit_in_a_well_typed_program(rng, deep, begun):
    asked = strategies.question_sample(rng).library
    for lib, texts, sentence in (
        (strategies.library(rng), TEXTS, SENTENCE),
        (example_library(), TEXTS, SENTENCE),
        (example_library(), (), []),  # nothing to copy
        (asked, [*TEXTS, *QUESTIONS], SENTENCE),
    ):
        found = ThingTalkGrammar(lib, texts=texts, limits=LIMITS)
        walks = [random_program(found, sentence, rng, most=LIMITS.tokens, deep=deep)]
        if sentence:  # brought to its end anywhere
            made = ThingTalkGrammar(lib, texts=texts)
            most = begun + GrammarLimits().reserve(max(len(text.split()) for text in TEXTS))
            walks += [random_program(made, sentence, rng, most=most, deep=True, closing=begun)]
        for text in map(" ".join, walks):
            assert not check(from_tokens(text), lib), text


@pytest.mark.parametrize("style", STYLES)
def test_walks_through_the_shipped_library_are_well_typed(style):
    limits = GrammarLimits(tokens=150, nesting=4)
    found = ThingTalkGrammar(shipped().library, texts=TEXTS, style=style, limits=limits)
    for seed in range(12):
        rng = Random(f"walk {seed}")
        text = " ".join(random_program(found, SENTENCE, rng, most=150, deep=seed % 3 > 0))
        assert not check(from_tokens(text, style=style), shipped().library), text


QUESTIONS = [
    f"construct:{name}"
    for name in ("select", "sort", "[", "contains~", "count(", "distance(", "max(", "contains(",
                 "filter")
]  # fmt: skip
COMPUTED = tuple(f"{operator}." for operator in tt.COMPUTATIONS)


def is_beyond(program: Any) -> bool:
    """Tell whether a program totals computed values, or compares something with one."""
    return any(
        (
            isinstance(node, tt.Atom | tt.Comparison)
            and any(isinstance(part, tt.Computed) for part in walk(node.value))
        )
        or (isinstance(node, tt.Aggregate) and (node.field or "").startswith(COMPUTED))
        for node in walk(program)
    )


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(STYLES))
def test_a_canonical_question_is_accepted_by_the_grammar_of_its_constructs(rng, style):
    found = strategies.question_sample(rng)
    program = canonical(found.program, found.library)
    assume(not check(program, found.library) and not is_beyond(program))
    text = tokens(program, found.library, style)
    made = ThingTalkGrammar(found.library, texts=constants_of("", text), style=style)
    assert is_accepted(made, [], text), text


def test_a_grammar_has_no_construct_of_questions_that_no_program_has():
    plain, sorting = "now => @com.example.a.b => notify", "now => ( @a.b ) sort param:c:Number asc"
    assert constants_of("", plain) == []
    assert constants_of("", f"{sorting} => notify") == ["construct:sort"]
    asked = ThingTalkGrammar(shipped().library, texts=["construct:sort"])
    before = along(grammar(), [], "now => ( @com.dropbox.list_folder )").allowed.fixed
    after = along(asked, [], "now => ( @com.dropbox.list_folder )").allowed.fixed
    assert after - before == {"sort"}
    assert asked.vocabulary - grammar().vocabulary == {"sort", "asc", "desc"}


def test_counts_can_be_totalled_where_no_function_has_a_number(tmp_path):
    (tmp_path / "skill.tt").write_text(
        "class @com.example.a { list query notes(out text : String); }", encoding="utf-8"
    )
    lib = load_library([tmp_path])
    found = ThingTalkGrammar(lib, texts=TEXTS)
    total = "aggregate avg param:count:Number of ( aggregate count of ( @com.example.a.notes ) )"
    prefix = along(found, SENTENCE, f"now => ( {total} ) filter")
    assert "param:avg:Number" in prefix.allowed.fixed
    assert prefix.allowed.fixed <= found.vocabulary


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_accepted_after_a_change_of_one_token_is_well_typed(rng):
    """Ill-typed neighbours of programs are refused: what is not, is no mistake."""
    lib, program = random_gold(rng)
    text = tokens(program, lib)
    found = ThingTalkGrammar(lib, texts=constants_of("", text))
    words = text.split(" ")
    for _ in range(20):
        changed = list(words)
        changed[rng.randrange(len(words))] = rng.choice(sorted(found.vocabulary))
        if is_accepted(found, [], " ".join(changed)):
            assert not check(from_tokens(" ".join(changed)), lib), changed


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_then_raises_exactly_where_a_token_is_not_allowed(rng):
    found = grammar()
    prefix = found.begin(SENTENCE)
    some = sorted(found.vocabulary)
    for _ in range(30):
        allowed = prefix.allowed.fixed | prefix.allowed.copied
        for token in rng.sample(some, 20) + rng.sample(SENTENCE, 5):
            if token in allowed:
                prefix.then(token)
            else:
                with pytest.raises(ValueError, match="allowed"):
                    prefix.then(token)
        if not allowed:
            return
        prefix = prefix.then(rng.choice(sorted(allowed)))


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_equal_prefixes_allow_the_same_and_fixed_tokens_are_one_object(rng):
    found = grammar()
    words = random_program(found, SENTENCE, rng, most=400, deep=True)[: rng.randrange(80)]
    one, other = found.begin(SENTENCE), found.begin(list(SENTENCE))
    for word in words:
        assert one.allowed == other.allowed
        assert one.allowed.fixed is other.allowed.fixed
        one, other = one.then(word), other.then(word)


def test_forgetting_frames_changes_nothing(monkeypatch):
    words = random_program(grammar(), SENTENCE, Random(3), most=400, deep=True)
    one = grammar().begin(SENTENCE)
    monkeypatch.setattr(automaton, "MOST_FRAMES", 5)
    other = ThingTalkGrammar(shipped().library, texts=TEXTS).begin(SENTENCE)
    for word in words:
        assert one.allowed == other.allowed
        one, other = one.then(word), other.then(word)
    assert one.allowed.end is other.allowed.end is True


def test_ill_typed_programs_are_refused_and_their_well_typed_neighbours_accepted():
    lines = (DATA / "decoding" / "thingtalk.txt").read_text(encoding="utf-8").splitlines()
    found = [(line[0], line[2:]) for line in lines if not line.startswith("#")]
    assert [(f"{'-+'[is_accepted(grammar(), SENTENCE, p)]}", p) for _, p in found] == found
    typed = [program for sign, program in found if sign == "+"]
    assert len(found) - len(typed) == 32
    assert not any(check(from_tokens(program), shipped().library) for program in typed)


def test_a_fixed_text_is_written_whole():
    start = 'now => ( @com.gmail.inbox ) filter param:subject:String == " front'
    prefix = along(grammar(), SENTENCE, start)
    assert prefix.allowed.fixed == {"page", "row"}
    assert prefix.then("page").allowed.fixed == {'"'}


def test_inputs_by_position_and_a_limit_below_one_are_refused():
    with pytest.raises(GenieError, match="L010"):
        ThingTalk(TokenStyle(keywords=False)).decoding_grammar(example_library())
    with pytest.raises(ValueError, match="nesting"):
        GrammarLimits(nesting=0)
