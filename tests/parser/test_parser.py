"""A trained parser: answers, confidence, folders that are none, and programs that always fit."""

import json
import shutil
import threading
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.locale import words_of
from genie_dp.models.seq2seq import SteppedTorch, build
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.answers import NEGATED, UNUSED_WORDS
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.decode import LONGEST, Decoder
from genie_dp.parser.evidence import BELIEVED, Evidence, Signals
from genie_dp.parser.parser import Learned, Parser, Use
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.reading.grammar_reader import load_reader
from genie_dp.parser.rows import Target
from genie_dp.parser.scoring import Score, calibrate
from genie_dp.parser.training import train_settings
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.models.models_setup import vocabulary_of
from tests.parser.parser_setup import INBOX, NOW, SEND


@pytest.fixture(scope="module")
def parser(trained):
    torch.set_num_threads(1)
    return Parser.from_pretrained(trained, clock=lambda: NOW)


def test_the_loop_has_the_settings_of_the_recipe():
    chosen = {"rate": 0.002, "weight_decay": 0.1, "accumulate": 3, "patience": 2, "seed": 7}
    loop = train_settings(ParserConfig((InputFile("rows.jsonl"),), steps=5, bf16=False, **chosen))
    assert {name: getattr(loop, name) for name in chosen} == chosen
    assert loop.budget.steps == 5
    assert not loop.bf16


def test_a_parser_offers_sentences_of_training_and_what_it_can_do(parser):
    offers = parser.offers()
    functions = [frozenset(parser.target.language.form(r.program).functions)
                 for r in parser.parse(offers.sentences) if r.is_known]  # fmt: skip
    assert offers.sentences
    assert len(set(functions)) == len(functions)
    assert all(word.isalpha() for sentence in offers.sentences for word in sentence.split())
    assert {"inbox", "archive"} <= set(offers.functions)


def test_values_and_words_that_were_never_seen_are_in_the_program(parser):
    sent, shown, watched = parser.parse([
        "Send bob@example.com a mail about the lunch",
        "show mail about quinoa",
        "when mail larger than 5 gb about taxes comes tell me",
    ])  # fmt: skip
    answer = sent.answers[0]
    assert sent.tokens == ("send", "EMAIL_ADDRESS_0", "a", "mail", "about", "the", "lunch")
    assert "EMAIL_ADDRESS_0" in answer.decoded
    assert '"bob@example.com"^^tt:email_address' in answer.code
    assert SEND in answer.program
    assert 'subject == "quinoa"' in shown.answers[0].code
    assert watched.answers[0].program.startswith(f"monitor ( ( {INBOX} )")
    assert "5 unit:GB" in watched.answers[0].program


def test_several_programs_are_different_and_the_most_probable_comes_first(parser):
    (reply,) = parser.parse(["show mail about lunch"], count=4)
    programs = [answer.program for answer in reply.answers]
    confidences = [answer.confidence for answer in reply.answers]
    assert len(programs) == len(set(programs)) > 1
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= confidence <= 1 for confidence in confidences)
    assert sum(confidences) <= 1 + 1e-9


def test_under_the_threshold_it_does_not_know_and_still_says_the_nearest(trained):
    sure, unsure = (Parser.from_pretrained(trained, threshold=x) for x in (0.0, 1.0))
    (known,), (unknown,) = (p.parse(["show mail about quinoa"]) for p in (sure, unsure))
    assert known.is_known
    assert not unknown.is_known
    assert unknown.answers == known.answers


@pytest.mark.parametrize(
    "sentence",
    [
        "do not show mail about lunch", "show no mail about lunch", "never show mail about lunch",
        "show mail about lunch not", "show mail without lunch",
    ],
)  # fmt: skip
def test_what_no_row_denies_is_refused_whatever_the_threshold(trained, sentence):
    reply = Parser.from_pretrained(trained, threshold=0.0)(sentence)
    assert (reply.refused, reply.is_known) == (NEGATED, False)
    assert {*reply.unused} & {*sentence.split()}
    assert "negation" in reply.message


@pytest.mark.parametrize(
    ("sentence", "unused"),
    [
        ("when mail smaller than 5 mb about taxes comes tell me", "smaller than"),
        ("when mail of at least 5 mb about taxes comes tell me", "at least"),
        ("show mail about taxes every day", "every day"),
        ("how many mail about taxes", "how many"),
    ],
)
def test_what_no_program_compares_or_does_is_refused_whatever_the_threshold(
    trained, sentence, unused
):
    reply = Parser.from_pretrained(trained, threshold=0.0)(sentence)
    assert reply.refused == UNUSED_WORDS
    assert reply.answers
    assert unused in reply.unused


def test_a_negation_in_quotes_is_text(parser):
    reply = parser('show mail about "do not"')
    assert reply.is_known
    assert "do not" in reply.code


def test_there_is_no_program_for_no_words_or_too_many(parser):
    for reply in parser.parse(["", " \n", "word " * (LONGEST + 1)]):
        assert (reply.answers, reply.is_known) == ((), False)


def test_a_text_alone_and_less_than_one_program_cannot_be_asked_for(parser):
    for ask in (parser.parse, parser.predict):
        with pytest.raises(TypeError, match="put it in a list"):
            ask("show mail about lunch")
        for count in (0, -1):
            with pytest.raises(ValueError, match="count"):
                ask(["show mail about lunch"], count=count)


def test_predictions_keep_placeholders_and_a_row_that_no_reader_takes_has_none(parser):
    rows = ["x" * 4001, "send EMAIL_ADDRESS_0 a mail about taxes"]
    long, other = parser.predict(rows, count=1)
    assert long == []
    assert ["EMAIL_ADDRESS_0" in best.program for best in other] == [True]


def test_sentences_are_answered_alike_alone_and_together(parser):
    sentences = ["show mail about lunch", "send bob@example.com a mail about the party", "hello"]
    alone = [parser.parse([sentence])[0] for sentence in sentences]
    for one, other in zip(alone, parser.parse(sentences), strict=True):
        assert [a.program for a in one.answers] == [a.program for a in other.answers]
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
        assert one.refused == other.refused


def test_an_address_is_never_taken_for_one_of_a_list():
    library = shipped()
    listed = library.values("tt:email_address")[0]
    near = f"x{listed}"
    thingtalk = get_language("thingtalk")
    program = thingtalk.parse(
        f'now => (@com.gmail.inbox()) filter sender == "{near}"^^tt:email_address => notify'
    )
    assert EntityNames(library).resolve(program, thingtalk) == (program, ())


def test_several_threads_may_ask_at_a_time(parser):
    sentences = [f"show mail about thing{n}" for n in range(6)]
    found = {}

    def ask(sentence):
        found[sentence] = parser.parse([sentence])[0].answers[0].code

    threads = [threading.Thread(target=ask, args=(sentence,)) for sentence in sentences]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f'"thing{n}"' in found[sentence] for n, sentence in enumerate(sentences))


@pytest.fixture
def copy(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "copy")


def code_of(folder):
    with pytest.raises(GenieError) as error:
        Parser.from_pretrained(folder)
    return error.value.problems[0].code


def test_another_library_and_no_parser_are_refused(copy, tmp_path):
    path = next(copy.glob("skills/*/com.example.mail/skill.tt"))
    path.write_text(path.read_text().replace("send(", "post("))
    assert code_of(copy) == "N011"
    assert code_of(tmp_path) == "N010"


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("config.json", "N010"), ("constants.txt.gz", "N010"), ("reader.json", "N010"),
        ("evidence.npz", "N010"), ("model.safetensors", "M001"), ("tokenizer.json", "M001"),
    ],
)  # fmt: skip
def test_a_file_that_is_cut_off_or_empty_is_refused(copy, file, code):
    for kept in (20, 0):
        (copy / file).write_bytes((copy / file).read_bytes()[:kept])
        assert code_of(copy) == code


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("language", "thingtlk"), ("beam", "4"), ("beam", 0), ("beam", None), ("readings", -1),
        ("longest", []), ("threshold", "0.5"), ("threshold", 7), ("threshold", None),
        ("calibration", 2.0), ("calibration", {"weights": [1.0], "bias": 0.0}),
        ("calibration", {"weights": [None] * 6, "bias": 0.0}), ("locale", {"morning": 99}),
        ("calibration", {"weights": [1.0] * 7, "bias": 0.0}), ("locale", {"region": 3}),
        ("calibration", ...), ("architecture", None), ("architecture", {}), ("settings", "size"),
    ],
)  # fmt: skip
def test_settings_that_no_parser_has_are_refused(copy, name, value):
    config = json.loads((copy / "config.json").read_text())
    of_network = name in ("architecture", "settings")
    settings = config if of_network else config["parser"]
    settings[name] = value
    if value is ...:
        del settings[name]
    (copy / "config.json").write_text(json.dumps(config))
    assert code_of(copy) == ("M001" if of_network else "N010")


def test_a_parser_whose_reader_is_gone_has_to_be_trained_again(copy):
    config = json.loads((copy / "config.json").read_text())
    config["parser"]["reader"] = "duckling"
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(GenieError, match="N010.*reader 'duckling'(.|\n)*train it again"):
        Parser.from_pretrained(copy)


@cache
def shipped():
    return load_library([data_folder("thingpedia")])


@cache
def untrained():
    """Return a parser over the shipped skills that has learned nothing."""
    torch.set_num_threads(1)
    torch.manual_seed(3)
    target = Target(get_language("thingtalk"), get_language("thingtalk"), shipped())
    grammar = target.language.decoding_grammar(target.library)
    vocabulary = vocabulary_of([Pair.from_text("show mail", "now")], extra=grammar.vocabulary)
    model = build("rnn", vocabulary, {"size": 16})[0].eval()
    decoder = Decoder(SteppedTorch(model), vocabulary, target, beam=2, longest=25)
    evidence = Evidence.from_rows([], target.language, words_of("en"))
    return Parser(
        target,
        reader=load_reader(),
        learned=Learned(decoder, BELIEVED, evidence),
        use=Use(),
        clock=lambda: NOW,
    )


WORDS = """show mail bob@example.com at 5 pm tomorrow "see you" more than 3 gb #a @b $5 paris ' é \\
the NUMBER_0 12 when ; 名 =>"""
PIECES = st.sampled_from(WORDS.split())


@settings(max_examples=25)
@given(st.lists(PIECES, min_size=1, max_size=9).map(" ".join))
def test_every_program_is_well_typed_also_of_a_network_that_learned_nothing(sentence):
    parser = untrained()
    language, library = parser.target.language, parser.target.library
    (reply,) = parser.parse([sentence], count=2)
    for answer in reply.answers:
        program = language.parse(answer.code)
        assert not [p for p in language.check(program, library) if p.severity == "error"]
        assert language.tokens(language.canonical(program, library), library) == answer.program
        language.from_tokens(answer.decoded)
    assert reply.answers or "NUMBER_0" in sentence


USUAL = Signals(-1.0, -5.0, 2.0, 0.2, 2.0, 1.0)


def test_the_confidence_of_a_network_is_brought_to_how_often_it_is_right():
    always, seldom = (
        calibrate(Score(400, hits.count(True), (USUAL,) * 400, hits))[0].confidence(USUAL)
        for hits in ((True, True, True, False) * 100, (True, False, False, False) * 100)
    )
    assert (always, seldom) == (pytest.approx(0.75, abs=0.02), pytest.approx(0.25, abs=0.02))


@pytest.mark.parametrize("count", [1, 4])
def test_rows_that_are_all_right_or_all_wrong_leave_a_doubt_that_fewer_rows_make_larger(count):
    confidences = []
    for rows in (count, 10 * count):
        for hit in (True, False):
            found = Score(rows, rows * hit, (USUAL,) * rows, (hit,) * rows)
            confidences.append(calibrate(found)[0].confidence(USUAL))
    sure, unsure, surer, more_unsure = confidences
    assert 0 < more_unsure < unsure < sure < surer < 1


def test_rows_without_any_program_are_no_reason_to_fail():
    score = Score(2, 0, (None, None), (False, False))
    assert calibrate(score)[1] == 0


@pytest.mark.parametrize(("threshold", "is_taken"), [(0.0, True), (1.0, False)])
def test_a_sure_program_that_leaves_out_nothing_goes_before_one_that_is_refused(
    trained, monkeypatch, threshold, is_taken
):
    parser = Parser.from_pretrained(trained, clock=lambda: NOW, threshold=threshold)
    sentence = "show mail lunch to garden"
    first, second = parser(sentence, n=2).answers
    monkeypatch.setattr(Parser, "_is_lacking", lambda self, x: x.filled.tokens == first.program)
    monkeypatch.setattr("genie_dp.parser.parser._Candidate.leaves_out", False)
    answers = parser(sentence, n=2).answers
    assert (answers[0].program == second.program) is is_taken
    assert sum(answer.confidence for answer in answers) <= 1
