"""What a parser refuses, what it learns of that, and how its confidence is fitted anew."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.scope import OUT_OF_SCOPE, ScopedGrammar
from genie_dp.locale import Locale, words_of
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.answers import REFUSALS, Reply
from genie_dp.parser.calibrate import Calibrate
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.derivations import LazyTemplates
from genie_dp.parser.evidence import Evidence, content_words
from genie_dp.parser.refusal import add_refused, everyday_sentences
from genie_dp.parser.rows import Reading, RowMaker, Style, read_all, target_of
from genie_dp.parser.session import English, ParseSession
from genie_dp.records import Example
from genie_dp.run.stage import Output
from genie_dp.skills.load import load_library
from genie_dp.templates.cache import load_inputs
from tests.dataset.dataset_rows import write
from tests.golden import DATA
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.parser.parser_setup import HOME, MAIL, REFUSING, rows, train, write_rows
from tests.skills.skill_files import write_library

THINGTALK, ENGLISH = get_language("thingtalk"), words_of("en")
PROGRAM = 'param:subject:String == " tea "'
INBOX, SEND = "@com.example.mail.inbox", "@com.example.mail.send"


def target():
    return target_of(Style(), "thingtalk", load_library([MAIL, HOME]))


@pytest.fixture
def copied(trained, tmp_path):
    return gd.Parser.from_pretrained(trained).save(tmp_path / "copy")


def material(tmp_path, **settings):
    config = ParserConfig((InputFile(str(write_rows(tmp_path))),), steps=1, **settings)
    own = read_all(config, target(), Reading(), hold_out=False)
    add_refused(own, RowMaker(config, target(), Reading()))
    return own


# --------------------------------------------------------------------------------- the grammar


def test_a_program_or_a_refusal_alone_may_be_written():
    plain = THINGTALK.decoding_grammar(example_library())
    words = ("show", "mail")
    grammar = ScopedGrammar(plain, plain.begin(words).allowed.fixed | {OUT_OF_SCOPE})
    assert grammar.vocabulary == plain.vocabulary | {OUT_OF_SCOPE}
    first = grammar.begin(words)
    assert first.allowed.fixed == plain.begin(words).allowed.fixed | {OUT_OF_SCOPE}
    assert grammar.begin(("hello",)).allowed is first.allowed
    refused = first.then(OUT_OF_SCOPE)
    assert (refused.allowed.fixed, refused.allowed.end) == (frozenset(), True)
    with pytest.raises(ValueError, match="nothing follows"):
        refused.then("now")
    begun = first.then("now")
    assert OUT_OF_SCOPE not in begun.allowed.fixed
    assert begun.allowed == plain.begin(words).then("now").allowed


def test_programs_begin_as_those_of_rows_do():
    plain = THINGTALK.decoding_grammar(example_library())
    grammar = ScopedGrammar(plain, frozenset({"now", "monitor"}))
    first = grammar.begin(("mail",))
    assert "policy" in plain.begin(("mail",)).allowed.fixed
    assert first.allowed.fixed == first.closing().allowed.fixed | {"monitor"} == {"now", "monitor"}
    assert grammar.vocabulary == plain.vocabulary
    for token in ("policy", OUT_OF_SCOPE):
        with pytest.raises(ValueError, match="no program begins"):
            first.then(token)


# ----------------------------------------------------------------------- sentences to refuse


def test_there_are_thousands_of_everyday_sentences_of_many_kinds():
    sentences = [sentence for pattern in everyday_sentences(ENGLISH) for sentence in pattern]
    assert len(set(sentences)) > 5000
    assert len(everyday_sentences(ENGLISH)) > 200
    assert not [s for s in sentences if s != " ".join(s.split()) or set("()|") & set(s)]


def test_sentences_to_refuse_are_none_of_the_rows_and_the_same_of_every_seed(tmp_path):
    one, other = material(tmp_path), material(tmp_path, seed=7)
    own = {" ".join(pair.sentence) for store in one.parts for pair in store}
    refused = [" ".join(pair.sentence) for pair in one.refused]
    assert len(refused) > 3000
    assert not own & {*refused, *one.refused_held_out}
    assert not set(refused) & set(one.refused_held_out)
    assert {pair.program for pair in one.refused} == {(OUT_OF_SCOPE,)}
    assert refused == [" ".join(pair.sentence) for pair in other.refused]
    assert one.refused_held_out == other.refused_held_out


def test_a_command_that_is_not_given_is_refused_and_what_the_rows_may_mean_is_not(tmp_path):
    refused = [pair.sentence for pair in material(tmp_path).refused]
    assert not [words for words in refused if content_words(words, (), ENGLISH) == ["mail"]]
    begun = [" ".join(words[:3]) for words in refused]
    assert any(words.startswith(("don't show", "do not show")) for words in begun)


LIBRARY = """\
>> skills/org.words/skill.tt
class @org.words #_[canonical="words"] {
  list query synonyms(in req word : String #_[canonical={base=["word"]}], out synonym : String)
    #_[canonical="synonym of a word"];
}
>> skills/org.words/templates.genie
NP := 'words that mean the same as $w' -> @org.words.synonyms(word = $w);
>> skills/org.chores/skill.tt
class @org.chores #_[canonical="chores"] {
  action add(in req title : String #_[canonical={base=["title"]}]) #_[canonical="add a chore"];
}
>> skills/org.chores/templates.genie
COMMAND := 'add $t to my to-do list' -> now => @org.chores.add(title = $t);
>> skills/org.lamps/skill.tt
class @org.lamps #_[canonical="lamps"] {
  entity lamp #_[canonical="lamp"];
  action switch(in req lamp : Entity(org.lamps:lamp) #_[canonical={base=["lamp"]}])
    #_[canonical="switch on a lamp"];
  action call(in req to : Entity(org.lamps:friend) #_[canonical={base=["friend"]}])
    #_[canonical="call a friend"];
  entity friend #_[canonical="friend"];
}
>> skills/org.lamps/templates.genie
COMMAND := 'turn on $l' -> now => @org.lamps.switch(lamp = $l);
COMMAND := 'call $f' -> now => @org.lamps.call(to = $f);
>> skills/org.lamps/values/lamp.tsv
value\tweight
reading lamp\t1
>> skills/org.lamps/values/friend.tsv
value\tweight
my brother\t1
mom\t1
>> main.genie
category COMMAND : program root "commands";
category NP : query "noun phrases";
COMMAND := 'show me' q:NP -> now => q => notify;
"""


def test_what_the_skills_say_by_their_own_words_is_not_refused(tmp_path):
    folder = write_library(tmp_path, LIBRARY)
    inputs = load_inputs("thingtalk", [folder / "skills"], [folder / "main.genie"])
    pairs = gd.synthesize(inputs.library, grammar=inputs, size=50, seed=1)
    path = pairs.save(tmp_path / "pairs.jsonl").output
    config = ParserConfig((InputFile(str(path)),), steps=1, validation_rows=10_000)
    refused = {}
    for name, templates in (("words", None), ("templates", inputs)):
        own = read_all(config, target_of(Style(), "thingtalk", inputs.library), Reading())
        maker = RowMaker(config, target_of(Style(), "thingtalk", inputs.library), Reading())
        add_refused(own, maker, templates)
        texts = [" ".join(pair.sentence) for pair in own.refused]
        refused[name] = {*texts, *own.refused_held_out}
    # What a function is called, and a text for it behind; neither is in a row.
    assert not [text for text in refused["words"] if "a synonym for" in text]
    # What templates say with a text, however their compounds are spelt, and with listed names.
    said = {"add the milk to my to do list", "add laundry to my to do list", "call mom",
            "call my brother"}  # fmt: skip
    kept = {"turn on the projector", "call a helicopter", "call the police", "sing me a song",
            "check off laundry", "what is the opposite of happy"}  # fmt: skip
    everyday = {text for pattern in everyday_sentences(ENGLISH) for text in pattern}
    assert said | kept <= everyday
    assert not said & refused["templates"]
    assert kept & (everyday - refused["templates"]) == set()
    assert len(refused["words"]) > len(refused["templates"]) > 4000


def test_rows_may_say_themselves_what_is_to_be_refused(tmp_path):
    own = Example("R1", "Sing me a song at 5 pm", OUT_OF_SCOPE, source="human")
    path = write(tmp_path / "rows.jsonl", [*rows(), own])
    config = ParserConfig((InputFile(str(path)),), steps=1, out_of_scope=0)
    found = read_all(config, target(), Reading(), hold_out=False)
    last = found.parts[0][-1]
    assert (last.sentence, last.program) == (
        ("sing", "me", "a", "song", "at", "TIME_0"),
        (OUT_OF_SCOPE,),
    )


# ------------------------------------------------------------------------------- the evidence


def evidence():
    pairs = [
        Pair.from_text("show my unread mail", f"now => ( {INBOX} ) => notify"),
        Pair.from_text("send mail to EMAIL_ADDRESS_0", f"now => {SEND}"),
    ]
    return Evidence.from_rows([pairs], THINGTALK, ENGLISH)


def test_words_are_evidence_of_the_functions_that_rows_say_them_with():
    support = partial(evidence().support, program=())
    known = support(["show", "my", "unread", "mail"], functions=[INBOX])
    assert (known.unseen, known.explained, known.unexplained) == (0.0, 2, ())
    other = support(["show", "my", "unread", "mail"], functions=[SEND])
    assert other.unexplained == ("unread",)
    assert other.unseen == 1.0
    assert support(["burn", "my", "mail"], functions=[INBOX]).unexplained == ("burn",)


def test_words_that_say_nothing_are_evidence_only_if_rows_say_no_more():
    polite = [
        Pair.from_text("hi there show my mail", f"now => ( {INBOX} ) => notify"),
        Pair.from_text("hi there", f"now => {SEND}"),
    ]
    found = Evidence.from_rows([polite], THINGTALK, ENGLISH)
    assert found.support(["hi", "there"], (), [INBOX]).unseen == 1.0
    assert found.support(["hi", "there"], (), [SEND]).unseen == 0.0


def test_values_of_a_program_are_explained_by_it():
    found = evidence().support(
        ["show", "my", "unread", "mail", "about", "tea"],
        ["param:subject:String", "==", '"', "tea", '"'],
        [INBOX],
    )
    assert found.unexplained == ()


def assert_equal(one, other):
    pairs = ((x.hashes, x.indicators, x.indicated) for x in (one, other))
    assert all(np.array_equal(a, b) for a, b in zip(*pairs, strict=True))


LIGHTS = "@com.example.home.lights"
ON = f"now => ( {LIGHTS} ) filter param:is_on:Boolean == true => notify"
OFF = ON.replace("true", "false")
ALL = f"now => {LIGHTS} => notify"


@pytest.fixture(scope="module")
def lights():
    said = [(f"which lights are burning in {room}", ON) for room in "abcdef"]
    said += [(f"which lights are dark in {room}", OFF) for room in "abcdef"]
    said += [(f"which lights are there in {room}", ALL) for room in "abcdef"]
    return Evidence.from_rows([[Pair.from_text(*row) for row in said]], THINGTALK, ENGLISH)


@pytest.mark.parametrize(
    ("sentence", "program", "counts"),
    [
        ("burning lights", ON, (1, 0, 0)),
        ("dark lights", OFF, (1, 0, 0)),
        ("dark lights", ON, (0, 1, 1)),
        ("burning lights", ALL, (0, 0, 1)),
        ("which lights are in a", ALL, (0, 0, 0)),
        ("which lights are in a", ON, (0, 1, 0)),
    ],
)
def test_words_tell_which_conditions_a_program_has(lights, sentence, program, counts):
    tokens = program.split()
    support = lights.support(sentence.split(), tokens, [LIGHTS], THINGTALK.form(program).parts)
    assert (support.confirmed_parts, support.unconfirmed_parts, support.missing_parts) == counts


def test_of_two_programs_with_one_function_the_one_that_the_words_tell_weighs_more(lights):
    words = ["show", "the", "dark", "lights"]
    weights = [
        lights.support(words, p.split(), [LIGHTS], THINGTALK.form(p).parts).weight
        for p in (ON, OFF, ALL)
    ]
    assert max(weights) == weights[1]


VISITS, STEPS = "@com.zoo.visits", "@com.zoo.steps"
DATED = f"now => ( {VISITS} ) filter param:day:Date >= start_of unit:week => notify"
OF_TODAY = f"now => ( {VISITS} ) filter param:day:Date >= start_of unit:day => notify"


@pytest.mark.parametrize(
    ("sentence", "value", "program", "is_meant"),
    [
        ("how many steps did i walk today", "today", f"now => {STEPS} => notify", True),
        ("did i walk many steps today please", "today", f"now => {STEPS} => notify", False),
        ("show visits today", "today", f"now => {VISITS} => notify", False),
        ("were there visits today", "today", f"now => {VISITS} => notify", False),
        ("were there visits today", "today", OF_TODAY, True),
        ("were there visits today", "today", DATED, False),
        ("were there visits this week", "this week", DATED, True),
        ("were there visits this week", "this week", f"now => {VISITS} => notify", False),
    ],
)
def test_words_for_a_date_are_meant_by_their_constant_or_there_where_rows_say_them(
    sentence, value, program, is_meant
):
    said = [(f"show {word} visits today", OF_TODAY) for word in "abcdef"]
    said += [(f"show {word} visits this week", DATED) for word in "abcdef"]
    said += [(f"show {word} visits", f"now => {VISITS} => notify") for word in "abcdef"]
    said += [(f"how many {word} steps did i walk today", f"now => {STEPS} => notify")
             for word in "abcdef"]  # fmt: skip
    evidence = Evidence.from_rows([[Pair.from_text(*row) for row in said]], THINGTALK, ENGLISH)
    before, behind = f" {sentence} ".split(f" {value} ")
    sides = before.split()[-1], (behind.split() or [""])[0]
    form = THINGTALK.form(program)
    assert evidence.means(value.split(), sides, form.functions, form.fixed) == is_meant


@pytest.mark.parametrize(
    ("sentence", "program", "text"),
    [
        ("borrow the red tent for me", "borrow", "the red tent"),
        ("renew the red tent longer", "renew", "the red tent"),
        ("borrow for me", "borrow", "for me"),
        ("borrow songs for me and you", "borrow", "songs for me and you"),
        ("note wait for me", "note", "wait for me"),  # as in a text of the rows
        ("note put it longer", "note", "put it longer"),
    ],
)
def test_a_text_ends_before_words_that_rows_say_behind_it_and_never_inside(sentence, program, text):
    borrow = 'now => @com.lib.borrow param:book:Entity(com.lib:book) = " {} " ^^com.lib:book'.format
    renew = 'now => @com.lib.renew param:book:Entity(com.lib:book) = " {} " ^^com.lib:book'.format
    note = 'now => @com.lib.note param:text:String = " {} "'.format
    said = [(f"borrow {x} for me", borrow(x)) for x in ("dune", "emma", "the old mill")]
    said += [(f"renew {x} longer", renew(x)) for x in ("dune", "emma", "the old mill")]
    said += [(f"note {x}", note(x)) for x in ("dune", "ask them for me", "call me")]
    said += [(f"note {x} for me", note(x)) for x in ("dune", "emma")]
    evidence = Evidence.from_rows([[Pair.from_text(*row) for row in said]], THINGTALK, ENGLISH)
    programs = {"borrow": borrow, "renew": renew, "note": note}
    whole = programs[program](" ".join(sentence.split()[1:]))
    freed = evidence.free_texts(whole, sentence.split(), THINGTALK)
    assert freed == programs[program](text)


def test_evidence_is_read_as_it_was_written_and_that_of_two_files_is_joined(lights, tmp_path):
    assert len(lights.indicators) > 5
    lights.save(tmp_path / "evidence.npz")
    assert_equal(Evidence.load(tmp_path / "evidence.npz", ENGLISH), lights)
    assert_equal(lights.join(lights), lights)
    assert_equal(lights.join(evidence()), evidence().join(lights))
    joined = lights.join(evidence())
    assert len(joined.indicators) >= len(lights.indicators)
    assert set(lights.hashes.tolist()) < set(joined.hashes.tolist())


# ----------------------------------------------------------------------------------- a parser


@pytest.mark.slow
def test_what_means_no_skill_or_cannot_be_read_is_refused_with_a_code(tmp_path):
    refusing = train(tmp_path, steps=120, recipe=REFUSING)
    parser = gd.Parser.from_pretrained(refusing)
    strange = ["hello there", "what is the capital of france", "polish the silver", "stop"]
    for reply in parser.parse(strange):
        assert (reply.refused, reply.is_known) == (OUT_OF_SCOPE, False)
        assert OUT_OF_SCOPE not in [answer.program for answer in reply.answers]
    empty, long = parser.parse(["", "mail " * 151])
    assert (empty.refused, empty.answers) == ("empty", ())
    assert (long.refused, long.answers) == ("too_long", ())


def test_codes_stay_as_they_are():
    assert sorted(REFUSALS) == [
        "ambiguous", "confirm", "empty", "missing_input", "negated", "out_of_scope", "too_long",
        "unsure", "unused_value", "unused_words",
    ]  # fmt: skip


@pytest.mark.trains
def test_a_parser_without_refusals_is_trained_on_request(tmp_path):
    path = write_rows(tmp_path)
    parser = gd.train(path, library=target().library, steps=2, out_of_scope=0)
    assert parser("hello there").refused in ("unsure", OUT_OF_SCOPE)
    assert not (parser.folder / "refusals.txt.gz").read_bytes()[30:]


# -------------------------------------------------------------------------------- calibration


def test_a_parser_is_calibrated_anew_and_nothing_else_of_it_changes(copied, tmp_path):
    said = write(tmp_path / "said.jsonl", [*rows()[:6], Example("R", "sing", OUT_OF_SCOPE)])
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    assert not gd.Parser.from_pretrained(copied).is_validated
    assert run(["data", "calibrate", str(copied), str(said), "--threshold", "0.3"]) == 0
    changed = {path.name for path, data in before.items() if path.read_bytes() != data}
    assert changed == {"config.json"}
    parser = gd.Parser.from_pretrained(copied)
    assert parser.is_validated
    assert parser.use.threshold == 0.3
    once = (copied / "config.json").read_bytes()
    result = Calibrate(folder=copied, gold=str(said)).run(Output(""))
    assert (copied / "config.json").read_bytes() == once
    assert result.rows == 7
    assert 0 <= result.wrongly_accepted <= result.accepted <= 1


def test_private_rows_calibrate_no_parser(copied, tmp_path):
    said = write(tmp_path / "said.jsonl", rows()[:3])
    budget = ["--epsilon", "1", "--delta", "1e-6", "--unit", "utterance"]
    assert run(["private", "budget", "init", str(said), *budget]) == 0
    with pytest.raises(GenieError, match="N013"):
        Calibrate(folder=copied, gold=str(said)).run(Output(""))


def test_who_asks_a_parser_that_nobody_validated_is_told_once(copied, capsys):
    assert run(["parse", "--parser", str(copied), "show mail about lunch"]) == 0
    assert capsys.readouterr().err.count("is fitted to made sentences only") == 1


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("could you spin blue moon",
         '"play <song>" (@com.example.jukebox.play); the sentence has no \'play\'; '
         "the template has no 'spin'"),
        ("what stands on the wall",
         '"the notes on the wall" (@com.example.wall.notes); the sentence has no \'notes\'; '
         "the template has no 'stands'"),
        ("tell me a joke about 3 cats", ""),
        ("zork", ""),
    ],
)  # fmt: skip
def test_a_sentence_that_a_template_nearly_says_is_answered_with_that_template(
    tmp_path, sentence, expected
):
    folder = write_library(tmp_path, (DATA / "coverage" / "library.txt").read_text())
    inputs = load_inputs("thingtalk", [folder / "skills"], [folder / "main.genie"])
    parser = SimpleNamespace(use=SimpleNamespace(locale=Locale()))
    english = English(LazyTemplates.from_inputs(inputs), inputs.library)
    assert english.nearest(sentence) == expected
    # People read it in place of the plain refusal; programs get that as before.
    reply = Reply(sentence, tuple(sentence.split()), (), OUT_OF_SCOPE)
    shown = ParseSession(parser, english=english).as_text(reply, with_sentence=False)
    plain = f"I do not know: {REFUSALS[OUT_OF_SCOPE]}."
    assert shown == (f"I do not know. The nearest template says {expected}" if expected else plain)
    assert reply.message == plain


def test_a_name_is_words_of_the_command_where_rows_have_them_in_its_place():
    program = "post( channel= GENERIC_ENTITY_channel_0 )"
    said = [f"post {word} news in the channel GENERIC_ENTITY_channel_0" for word in "abcdef"]
    rows = [Pair.from_text(sentence, program) for sentence in said]
    evidence = Evidence.from_rows([rows], get_language("calls"), ENGLISH)
    for name, sentence, is_of_command in (
        ("news", "post it in the channel news", False),
        ("the", "post it in the channel", True),
        ("post", "post it", True),
        ("post", "it is a post", False),
        ("it", "post it", False),
    ):
        found = evidence.is_of_command((name,), sentence.split(), ("post",))
        assert found == is_of_command, (name, sentence)
