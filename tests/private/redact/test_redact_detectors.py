"""What detectors find in sentences that people write, and what they leave alone."""

import json
import re
import sys

import pytest
import torch

from genie_dp.errors import GenieError
from genie_dp.models.tagger import TaggerSettings
from genie_dp.private.redact.detectors import Gazetteer, Phones, Presidio, Spacy
from genie_dp.private.redact.learned import TaggerDetector, TaggerTraining, train_detector
from genie_dp.private.redact.measure import ALL, measure_policies
from genie_dp.private.redact.patterns import Patterns
from genie_dp.private.redact.redactor import Redactor, leaves
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.sentences import Frames, Labelled, make_sentences, read_labelled
from genie_dp.private.redact.spans import Finding, Policy
from tests.golden import cases

pytestmark = pytest.mark.trains

REDACTOR = Redactor(
    (Patterns(), Phones(), Gazetteer("person", ["ann lee", "kim"])),
    Policy("pi", 0.5),
    Policy("pi_c", 0.1),
)


def test_secrets_become_masks_and_ordinary_sentences_stay(golden):
    secret, ordinary = cases("redact/sentences.txt")
    golden(secret, "\n".join(map(REDACTOR.text, secret.input.splitlines())))
    found = "\n".join(map(REDACTOR.text, ordinary.input.splitlines()))
    golden(ordinary, found)
    assert found == ordinary.input


PROGRAMS = [
    ('now => @a.call ( number = " +12025550143 " , who = " lee " )', "thingtalk",
     'now => @a.call ( number = " <MASK> " , who = " <MASK> " )'),
    ("[IN:CALL [SL:CONTACT ann lee ] [SL:NUMBER 202 555 0143 ] ]", "sexpr",
     "[IN:CALL [SL:CONTACT <MASK> ] [SL:NUMBER <MASK> ] ]"),
    ('( call "ANN LEE" )', "sexpr", '( call "<MASK>" )'),
]  # fmt: skip


@pytest.mark.parametrize(("program", "language", "expected"), PROGRAMS)
def test_a_secret_of_the_sentence_is_masked_in_the_program(program, language, expected):
    point = Point("call ann lee at (202) 555-0143", program, language)
    assert REDACTOR.redact([point])[0].point.program == expected


def test_a_secret_of_the_program_is_masked_in_the_sentence():
    point = Point("call kimberly day", '( call " kimberly day " )', "sexpr")
    names = Gazetteer("person", ["kimberly day"])
    [found] = Redactor((names,), Policy("pi", 0.5), Policy("c", 0.1)).redact([point])
    assert found.point == Point("call <MASK>", '( call " <MASK> " )', "sexpr")
    # The words of a language are not masked.
    program = "now => @com.mail.of ( of = NUMBER_0 ) => notify"
    assert [program[a:b] for a, b in leaves(program, "thingtalk")] == ["NUMBER_0"]


def test_a_listed_value_is_found_however_its_signs_are_written():
    names = Gazetteer("person", ["O'Neil", "Jos\u00e9 Lee", "Jean-Luc"])
    for text in ("O\u2019NEIL", "Jose\u0301\u00a0lee", "jean\u2011luc"):
        assert [one.place for one in names.find([f"so {text}."])[0]] == [(3, 3 + len(text))]


def test_files_of_names_and_labels_are_read_and_their_mistakes_tell_no_text(tmp_path):
    path = tmp_path / "n.tsv"
    path.write_text("value\tweight\n# some\nzanzibar jones\t2\n\n")
    names = Gazetteer.read("person", path)
    assert [x.place for x in names.find(["is Zanzibar  Jones in?"])[0]] == [(3, 18)]
    for text in (b"zanzibar\xff", None, b"# nothing\n", b"# nothing", b"", b"value\n"):
        path.unlink() if text is None else path.write_bytes(text)
        with pytest.raises(GenieError, match="E004") as caught:
            Gazetteer.read("person", path)
        assert not caught.value.sources
    rows = ['{"utterance": "zanzibar", "spans": [[0, 99, "x"]]}', "zanzibar", '{"utterance": 1}']
    path.write_text("\n".join(rows))
    with pytest.raises(GenieError) as caught:
        read_labelled(path)
    assert [p.code for p in caught.value.problems] == ["E014"] * 3
    assert "zanzibar" not in str(caught.value)


def test_what_is_not_there_is_named(monkeypatch):
    for module, make in (("spacy", lambda: Spacy("en")), ("presidio_analyzer", Presidio)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(GenieError, match="E002") as caught:
            make()
        assert "pip install" in caught.value.problems[0].hint
    with pytest.raises(GenieError, match="E003"):
        Phones("us")


def test_policies_are_measured_by_whole_secrets(tmp_path):
    class Fixed:
        name = "fixed"

        def find(self, texts):
            # The first three letters for sure, the next three perhaps.
            return [
                (Finding(0, 3, "a", 0.9, "fixed"), Finding(3, 6, "b", 0.2, "fixed")) if len(t) > 5
                else () for t in texts
            ]  # fmt: skip

    rows = [
        {"utterance": "annlee is here", "spans": [[0, 6, "person"]]},
        {"utterance": "ann   is here", "spans": [[0, 3, "person"]]},
        {"utterance": "bob", "spans": [[0, 3, "person"]]},
        {"utterance": "nobody here", "spans": []},
    ]
    file = tmp_path / "labelled.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    labelled = read_labelled(file)
    pi, careful = measure_policies(labelled, [Fixed()], [Policy("pi", 0.5), Policy("pi_c", 0.1)])
    assert (pi.recall.found, pi.recall.of, pi.gamma.found) == (1, 3, 2)
    assert (pi.precision.found, pi.precision.of) == (2, 3)
    assert (pi.letters.found, pi.letters.of) == (6, 9)
    assert pi.exposed.found == 1  # bob stands in a text of which nothing is taken
    assert pi.exact.found == 1
    assert careful.gamma.found == 1
    # The careful one masks spaces behind "ann", too.
    assert (pi.differs.found, careful.differs.found) == (2, 2)
    assert careful.letters.value < pi.letters.value + 1e-9


def test_a_mask_that_takes_a_word_beside_the_secret_leaves_a_trace():
    class Titles:
        name = "titles"

        def find(self, texts):
            pieces = [re.finditer(r"(?:dr\. )?ann", text) for text in texts]
            return [tuple(Finding(*m.span(), "person", 0.9, "x") for m in one) for one in pieces]

    rows = [
        Labelled("ask dr. ann now", ((8, 11, "person"),)),
        Labelled("ask ann now", ((4, 7, "person"),)),
        Labelled("ann, call ann", ((0, 3, "person"), (10, 13, "person"))),
    ]
    (found,) = measure_policies(rows, [Titles()], [Policy("pi", 0.5)])
    assert (found.gamma.found, found.exact.found) == (0, 3)
    assert (found.differs.found, found.differs.of) == (1, 4)
    (every,) = measure_policies(rows, [Titles()], [ALL])
    assert every.differs.found == 0


# ----------------------------------------------------------------------------- the learned one

LISTS = {
    "person_first_name": ("ann", "bob", "kim", "tom", "sue"),
    "person_last_name": ("lee", "day", "fox", "hill", "reed"),
    "street": ("oak",),
    "city": ("york", "ghent"),
}
FRAMES = "my name is {person}\n{person} called\nturn on the {=city} light\nplay [some|the] jazz\n"


def made(count, seed=0):
    frames = Frames.parse(FRAMES, "frames.txt", LISTS)
    return list(make_sentences(frames, LISTS, count, seed=seed))


def learn():
    torch.set_num_threads(1)
    training = TaggerTraining(epochs=8, batch=16, rate=1e-2)
    return train_detector(
        made(160), training, TaggerSettings(size=16, layers=1), facts={"frames": 4}
    )


@pytest.fixture(scope="module")
def detector():
    return learn()


def test_made_sentences_know_their_secrets():
    rows = made(60)
    assert rows == made(60)
    assert rows != made(60, seed=1)
    secrets = [row.text[a:b] for row in rows for a, b, _ in row.spans]
    assert len(secrets) > 15
    names = {*LISTS["person_first_name"], *LISTS["person_last_name"]}
    assert {re.match(r"\w+", secret.lower())[0] for secret in secrets} <= names


def test_the_shipped_frames_can_be_filled():
    names = ("product", "song", "artist", "dish", "cuisine", "company")
    lists = {**LISTS, **{name: ("x",) for name in names}}
    rows = list(make_sentences(Frames.shipped(lists), lists, 400, seed=0))
    kinds = {kind for row in rows for _, _, kind in row.spans}
    assert kinds == {"person", "address", "phone", "reference", "email", "card", "ssn", "date"}
    assert not [row for row in rows if "{" in row.text or "[" in row.text or "  " in row.text]
    assert all(row.text[a:b].strip() == row.text[a:b] for row in rows for a, b, _ in row.spans)


def test_placeholders_of_rows_become_places_and_unknown_ones_are_shown():
    frames = Frames(("hi",)).with_rows(["mail EMAIL_ADDRESS_0 NUMBER_0 times"])
    assert frames.texts == ("hi", "mail {email} {=number} times")
    with pytest.raises(GenieError, match="E011") as caught:
        Frames.parse("hello\nhi {persn}\n", "f.txt", LISTS)
    assert str(caught.value.problems[0].span) == "f.txt:2:4"
    with pytest.raises(GenieError, match="E013"):  # without secrets there is nothing to learn
        train_detector([Labelled("hi", ())], TaggerTraining(), TaggerSettings(), facts={})


def test_a_detector_learns_what_its_sentences_say(detector):
    measured = measure_policies(
        made(80, seed=9), [detector], [Policy("pi", 0.5), Policy("pi_c", 0.05)]
    )
    assert measured[0].recall.value > 0.9
    assert measured[0].precision.value > 0.9
    assert measured[1].recall.value >= measured[0].recall.value
    # Words of secrets are not in the vocabulary.
    words = set(detector.vocabulary.words)
    assert words & {"name", "fox", "reed", "sue", "hill"} == {"name"}


def test_training_twice_gives_the_same_weights(detector):
    ours, theirs = (one.model.state_dict() for one in (detector, learn()))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_saved_detector_finds_the_same(detector, tmp_path):
    detector.save(tmp_path / "d")
    loaded = TaggerDetector.load(tmp_path / "d")
    texts = ["my name is Kim Fox", "", "play the jazz", "..."]
    assert loaded.find(texts) == detector.find(texts)
    assert "measure it on labelled text" in (tmp_path / "d" / "README.md").read_text()
    (tmp_path / "d" / "config.json").write_text("{}")
    with pytest.raises(GenieError, match="E012"):
        TaggerDetector.load(tmp_path / "d")
