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
from genie_dp.languages.thingtalk.decoding.catalogue import GrammarLimits, constants_of
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.language import ThingTalk
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import walk
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import is_slot
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.golden import cases
from tests.languages.thingtalk import strategies
from tests.languages.thingtalk.decoding.decoding_walks import along, is_accepted, random_program
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.synthesis.synthesis_setup import rows

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
def shipped():
    return load_library([data_folder("thingpedia")])


@cache
def grammar():
    return ThingTalkGrammar(shipped(), texts=TEXTS)


def random_gold(rng):
    lib = strategies.library(rng)
    made = strategies.policy(rng, lib) if rng.random() < 0.3 else strategies.program(rng, lib)
    return lib, canonical(made, lib)


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


def test_every_program_of_the_skills_own_evaluation_is_accepted():
    thingtalk, lib = get_language("thingtalk"), shipped()
    gold = [
        line.split("\t")
        for file in sorted(data_folder("thingpedia").glob("*/eval.tsv"))
        for line in file.read_text(encoding="utf-8").splitlines()[1:]
        if line.strip()
    ]
    programs = [(row[0], thingtalk.canonical(thingtalk.parse(row[1]), lib)) for row in gold]
    pairs = [(sentence, thingtalk.tokens(program, lib)) for sentence, program in programs]
    texts = {text for pair in pairs for text in constants_of(*pair)}
    found = thingtalk.decoding_grammar(lib, texts=sorted(texts))
    refused = [text for sentence, text in pairs if not is_accepted(found, sentence.split(), text)]
    assert len(pairs) > 400
    assert refused == []


@pytest.mark.slow
def test_every_synthesized_program_is_accepted():
    pairs = [(row.utterance, row.program) for row in rows()[::6]]
    texts = {text for pair in pairs for text in constants_of(*pair)}
    found = ThingTalkGrammar(shipped(), texts=sorted(texts))
    refused = [text for said, text in pairs if not is_accepted(found, said.split(" "), text)]
    assert len(pairs) > 750
    assert refused == []


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_every_walk_ends_within_the_limit_in_a_well_typed_program(rng, deep):
    limits = GrammarLimits(tokens=200, nesting=5)
    for lib in (strategies.library(rng), example_library()):
        found = ThingTalkGrammar(lib, texts=TEXTS, limits=limits)
        text = " ".join(random_program(found, SENTENCE, rng, most=limits.tokens, deep=deep))
        assert not check(from_tokens(text), lib), text


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


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_every_walk_through_questions_ends_in_a_well_typed_program(rng, deep):
    limits = GrammarLimits(tokens=200, nesting=5)
    lib, texts = strategies.question_sample(rng).library, [*TEXTS, *QUESTIONS]
    found = ThingTalkGrammar(lib, texts=texts, limits=limits)
    text = " ".join(random_program(found, SENTENCE, rng, most=limits.tokens, deep=deep))
    assert not check(from_tokens(text), lib), text
    begun = rng.randint(0, 60)
    made = ThingTalkGrammar(lib, texts=texts)
    most = begun + GrammarLimits().reserve(max(len(text.split()) for text in TEXTS))
    words = random_program(made, SENTENCE, rng, most=most, deep=True, closing=begun)
    assert not check(from_tokens(" ".join(words)), lib), words


def test_a_grammar_has_no_construct_of_questions_that_no_program_has():
    plain, sorting = "now => @com.example.a.b => notify", "now => ( @a.b ) sort param:c:Number asc"
    assert constants_of("", plain) == []
    assert constants_of("", f"{sorting} => notify") == ["construct:sort"]
    asked = ThingTalkGrammar(shipped(), texts=["construct:sort"])
    before = along(grammar(), [], "now => ( @com.dropbox.list_folder )").allowed.fixed
    after = along(asked, [], "now => ( @com.dropbox.list_folder )").allowed.fixed
    assert after - before == {"sort"}
    assert asked.vocabulary - grammar().vocabulary == {"sort", "asc", "desc"}


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 60))
def test_a_walk_can_be_brought_to_its_end_anywhere(rng, begun):
    lib, limits = strategies.library(rng), GrammarLimits()
    found = ThingTalkGrammar(lib, texts=TEXTS, limits=limits)
    most = begun + limits.reserve(max(len(text.split()) for text in TEXTS))
    text = " ".join(random_program(found, SENTENCE, rng, most=most, deep=True, closing=begun))
    assert not check(from_tokens(text), lib), text


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


@pytest.mark.parametrize("style", STYLES)
def test_walks_through_the_shipped_library_are_well_typed(style):
    limits = GrammarLimits(tokens=150, nesting=4)
    found = ThingTalkGrammar(shipped(), texts=TEXTS, style=style, limits=limits)
    for seed in range(20):
        rng = Random(f"walk {seed}")
        text = " ".join(random_program(found, SENTENCE, rng, most=150, deep=seed % 3 > 0))
        assert not check(from_tokens(text, style=style), shipped()), text


def test_a_walk_ends_even_where_there_is_nothing_to_copy():
    found = ThingTalkGrammar(example_library(), limits=GrammarLimits(tokens=150, nesting=4))
    for seed in range(30):
        text = " ".join(random_program(found, [], Random(seed), most=150, deep=True))
        assert not check(from_tokens(text), example_library()), text


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
    other = ThingTalkGrammar(shipped(), texts=TEXTS).begin(SENTENCE)
    for word in words:
        assert one.allowed == other.allowed
        one, other = one.then(word), other.then(word)
    assert one.allowed.end
    assert other.allowed.end


GOLD = 'now => ( @com.gmail.inbox ) filter param:sender_name:String == " bob smith " => notify'


@pytest.mark.parametrize(
    "wrong",
    [
        # another function's output, a wrong operator, a value of another type
        'now => ( @com.gmail.inbox ) filter param:like_count:Number == NUMBER_0 => notify',
        "now => ( @com.gmail.inbox ) filter param:sender_name:String contains QUOTED_STRING_0",
        "now => ( @com.gmail.inbox ) filter param:sender_name:String == NUMBER_0 => notify",
        "now => ( @com.gmail.inbox ) filter param:is_unread:Boolean == 5 => notify",
        # a value of another enum
        "now => @org.thingpedia.light-bulb.set_power param:power:Enum(on,off) = enum:open",
        # an output that is not in scope, of another type, or of an action
        "now => @com.gmail.inbox => @com.twitter.post on param:status:String = param:title:String",
        "now => @com.dropbox.list_folder => @com.twitter.post on param:status:String "
        "= param:size:Measure(byte)",
        "now => @com.twitter.post on param:status:String = param:status:String",
        # an action as a query, a query as an action, nothing to show
        "now => @com.twitter.post => notify",
        "now => @com.gmail.inbox => @com.gmail.inbox",
        "now => notify",
        # a query that cannot be monitored, an edge on a timer, an event where none was
        "monitor ( @com.giphy.search ) => notify",
        "edge ( attimer time = TIME_0 ) on true => notify",
        "now => @com.twitter.post param:status:String = event",
        "now => @com.yandex.translate.detect_language param:text:String = event => notify",
        "now => ( @com.gmail.inbox ) filter param:subject:String == event => notify",
        "monitor ( ( @com.gmail.inbox ) filter param:subject:String == event ) => notify",
        # a timer that never ends, a device that is looked up while the program runs, the moon
        "timer base = now , interval = 0 unit:h => @com.gmail.inbox => notify",
        "timer base = now , interval = -1 unit:h => @com.gmail.inbox => notify",
        "timer base = now , interval = 5 unit:h 0 unit:min => @com.gmail.inbox => notify",
        "now => @com.nytimes.front_page => @org.thingpedia.light-bulb.set_power "
        "attribute:name:String = param:title:String param:power:Enum(on,off) = enum:on",
        "now => @org.thingpedia.light-bulb.set_power attribute:nme:String = QUOTED_STRING_0 "
        "param:power:Enum(on,off) = enum:on",
        "now => @org.thingpedia.weather.current param:location:Location = location:0:181 => notify",
        # an aggregation of text, a unit of something else
        "now => aggregate sum param:subject:String of ( @com.gmail.inbox ) => notify",
        "now => aggregate sum param:size:Measure(byte) of ( @com.gmail.inbox ) => notify",
        "now => ( @com.dropbox.list_folder ) filter param:size:Measure(byte) > 5 unit:kg => notify",
        # words that do not stand together, or are not there
        'now => ( @com.gmail.inbox ) filter param:sender_name:String == " show mails " => notify',
        'now => ( @com.gmail.inbox ) filter param:sender_name:String == " bob to " => notify',
        'now => ( @com.gmail.inbox ) filter param:sender_name:String == " alice " => notify',
        'now => ( @com.gmail.inbox ) filter param:sender_name:String == " front bob " => notify',
        # a name given twice, names out of order
        "now => @com.twitter.post param:status:String = QUOTED_STRING_0 "
        "param:status:String = QUOTED_STRING_0",
        # the program is not complete
        "now => ( @com.gmail.inbox )",
    ],
)  # fmt: skip
def test_ill_typed_programs_are_refused(wrong):
    assert is_accepted(grammar(), SENTENCE, GOLD)
    assert not is_accepted(grammar(), SENTENCE, wrong)


@pytest.mark.parametrize(
    "right",
    [
        "now => @com.gmail.inbox => @com.twitter.post param:status:String = event",
        "( monitor ( @com.gmail.inbox ) ) filter param:subject:String == event => notify",
        "timer base = now , interval = 5 unit:h => @com.gmail.inbox => notify",
        "timer base = now , interval = DURATION_0 => @com.gmail.inbox => notify",
        "now => @org.thingpedia.light-bulb.set_power attribute:name:String = QUOTED_STRING_0 "
        "param:power:Enum(on,off) = enum:on",
        "now => ( @com.dropbox.list_folder ) filter param:size:Measure(byte) > 0 unit:KB => notify",
    ],
)
def test_their_well_typed_neighbours_are_accepted(right):
    assert not check(from_tokens(right), shipped())
    assert is_accepted(grammar(), SENTENCE, right)


def test_a_fixed_text_is_written_whole():
    start = 'now => ( @com.gmail.inbox ) filter param:subject:String == " front'
    prefix = along(grammar(), SENTENCE, start)
    assert prefix.allowed.fixed == {"page", "row"}
    assert prefix.then("page").allowed.fixed == {'"'}


def test_inputs_by_position_are_refused_with_a_code():
    with pytest.raises(GenieError, match="L010"):
        ThingTalk(TokenStyle(keywords=False)).decoding_grammar(example_library())


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="nesting"):
        GrammarLimits(nesting=0)
