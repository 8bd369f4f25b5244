"""Words are replaced by words of the same meaning and form; values and names never."""

import gzip
import json
import random
import sys

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.util import LazyCorpusLoader

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.paraphrase.lexical import (
    Substitution,
    apply_sites,
    fits,
    fixed_phrases,
    replace_words,
    sites,
    value_positions,
)
from genie_dp.paraphrase.lexicons import (
    PARTS,
    lexicon_of,
    read_lexicon,
    shipped_lexicon,
    wordnet_lexicon,
)
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import to_json
from tests.paraphrase.tiny_wordnet import write_wordnet

WORDS = lexicon_of(
    [
        ("photo", "n", "image", "own"), ("buy", "v", "purchase", "own"),
        ("book", "vb", "reserve", "own"), ("compose", "v", "write", "own"),
        ("big", "a", "huge", "own"), ("new", "a", "fresh", "own"),
        ("right away", "r", "immediately", "own"),
    ]
)  # fmt: skip


def everything(sentence, *, lexicon=WORDS, protected=()):
    """Return all sentences that one replacement makes."""
    tokens = sentence.split()
    return [apply_sites(tokens, [site]) for site in sites(tokens, lexicon, protected=protected)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("show my photos", ["show my images"]),
        ("a photo of QUOTED_STRING_0", ["an image of QUOTED_STRING_0"]),
        ("when i bought it", ["when i purchased it"]),
        ("someone buys a house", ["someone purchases a house"]),
        ("book a table", ["reserve a table"]),
        ("please book a table right away", [
            "please reserve a table right away", "please book a table immediately",
        ]),
        ("could you book a table", ["could you reserve a table"]),
        ("let me book a table", ["let me reserve a table"]),
        ("he composes songs", ["he writes songs"]),
        ("open a big file", ["open a huge file"]),
    ],
)  # fmt: skip
def test_replacements_keep_the_form_of_the_word(sentence, expected):
    assert everything(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "the book is out",
        "read a book",
        "the photo album",  # a part of another name
        "he composed songs",  # wrote or written: cannot be seen
        "the new york times",
        "book me a table",
        "PHOTO_0",
    ],
)
def test_words_of_another_part_of_speech_and_names_stay(sentence):
    assert everything(sentence) == []


def test_a_participle_after_not_is_no_base_form():
    # Its forms are one: "lists not set up by me" would become "lists not create by me".
    lexicon = lexicon_of([("set up", "v", "create", "own")])
    for sentence in ("do not set up a list", "you can not set up a list"):
        assert everything(sentence, lexicon=lexicon)
    for sentence in ("when a list is not set up by me", "lists not set up by me"):
        assert not everything(sentence, lexicon=lexicon)


TYPED = 'now => @c.post param:text:String = " big photo " param:kind:Enum(new,old) = enum:new'


@pytest.mark.parametrize(
    ("sentence", "program", "protected"),
    [
        ("post big photo of a big dog that is new", TYPED, [1, 2, 9]),
        ('post " buy photos " now', "now => @c.post", [1, 2, 3, 4]),
        # Names of nodes are no values, and leaves may be several words.
        ("i want to order a small root beer",
         "( ORDER ( SIZE SMALL ) ( DRINK ROOT_BEER ) )", [5, 6, 7]),
        ("a big pizza with ham", "( ORDER ( SIZE BIG ) ( TOPPING HAM ) )", [1, 4]),
    ],
)  # fmt: skip
def test_values_are_found_by_the_program_and_by_quotes(sentence, program, protected):
    assert sorted(value_positions(sentence.split(), program)) == protected


def test_values_are_never_touched():
    sentence = "post big photo of a big dog that is new"
    protected = value_positions(sentence.split(), TYPED)
    assert everything(sentence, protected=protected) == ["post big photo of a huge dog that is new"]


def test_at_most_two_words_change_and_the_seed_says_which():
    def changed(**more):
        sentence, found = "buy big photos of a new photo", set()
        for seed in range(60):
            made, again = (
                replace_words(sentence, WORDS, random.Random(seed), **more).split() for _ in "12"
            )
            assert made == again
            found.add(sum(a != b for a, b in zip(sentence.split(), made, strict=True)))
        return found

    assert changed() == {1, 2}
    assert changed(most=1) == {1}
    assert replace_words("hello there", WORDS, random.Random(0)) is None


def test_a_form_that_stands_for_two_is_left_out():
    made = lexicon_of([("compose", "v", "write", "own")])
    assert not made.starting("composed")
    assert [form.replacement for form in made.starting("composing")] == ["writing"]


# ------------------------------------------------------------------------ the shipped list


def test_the_shipped_list_is_as_large_as_promised_and_clean():
    path = data_folder("paraphrase/data") / "lexical.tsv"
    header, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert header == ["word", "part of speech", "replacement", "source"]
    assert len(rows) >= 300
    assert len({tuple(row) for row in rows}) == len(rows)
    assert {row[3] for row in rows} == {"own"}
    assert {row[1] for row in rows} <= set(PARTS)
    assert all(row[0] != row[2] and row[0] == row[0].lower() for row in rows)
    assert len(shipped_lexicon()) > len(rows)


def test_the_shipped_list_leaves_names_alone():
    assert len([1 for phrases in fixed_phrases().values() for _ in phrases]) >= 50
    shipped = shipped_lexicon()
    for name in ("the apple tv", "in house of cards", "nasa 's picture of the day"):
        assert everything(name, lexicon=shipped) == [], name


_FRAME = "the a my to , and of when me i NUMBER_0 QUOTED_STRING_0"
SENTENCES = st.lists(
    st.sampled_from([*sorted(shipped_lexicon().forms)[::5], *_FRAME.split()]),
    min_size=1,
    max_size=12,
)


@given(tokens=SENTENCES, seed=st.integers(0, 99))
def test_placeholders_and_protected_words_survive_any_replacement(tokens, seed):
    protected = {at for at in range(len(tokens)) if (at + seed) % 3 == 0}
    sentence, rng = " ".join(tokens), random.Random(seed)
    said = replace_words(sentence, shipped_lexicon(), rng, protected=protected)
    if said is None:
        return
    left = said.split()
    assert said != sentence
    assert [t for t in left if t[0].isupper()] == [t for t in tokens if t[0].isupper()]
    for at in protected:
        # An article may follow the word behind it; everything else stays as it was.
        assert tokens[at] in left or tokens[at] in ("a", "an")


# --------------------------------------------------------------------------------- files

PPDB = """\
[VBZ] ||| purchases ||| buys ||| PPDB2.0Score=5.1 AGigaSim=0.5 ||| 0-0 ||| Equivalence
[NNS] ||| snapshots ||| photos ||| PPDB2.0Score=4.1 ||| 0-0 ||| Equivalence
[NN] ||| spaniel ||| dog ||| PPDB2.0Score=4.0 ||| 0-0 ||| ForwardEntailment
[JJ] ||| enormous ||| huge ||| PPDB2.0Score=3.0 ||| 0-0 ||| Equivalence
[CD] ||| 20 ||| twenty ||| PPDB2.0Score=3.0 ||| 0-0 ||| Equivalence
[NP/NN] ||| [NN,1] of it ||| its [NN,1] ||| PPDB2.0Score=3.0 ||| 0-0 ||| Equivalence
"""


@pytest.mark.parametrize("name", ["ppdb.txt", "ppdb.txt.gz"])
def test_a_ppdb_file_is_read_packed_or_not(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(PPDB.encode()) if name.endswith("gz") else PPDB.encode())
    lexicon = read_lexicon(path)
    assert len(lexicon) == 3
    assert everything("he purchases enormous snapshots", lexicon=lexicon) == [
        "he buys enormous snapshots",
        "he purchases huge snapshots",
        "he purchases enormous photos",
    ]
    assert lexicon.starting("snapshots")[0].source == "ppdb"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_list_of_the_own_format_is_read(tmp_path, encoding):
    path = tmp_path / "mine.tsv"
    text = "word\tpart of speech\treplacement\tsource\n# ours\nlorry\tn\ttruck\tus\n\n"
    path.write_text(text, encoding=encoding)
    assert everything("count the lorries", lexicon=read_lexicon(path)) == ["count the trucks"]


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (b"lorry\tn\ttruck\tus\nlorry truck\nlorry\tnoun\ttruck\tus\n[NN] ||| lorry\n",
         [("P101", (2, 1)), ("P102", (3, 7)), ("P101", (4, 1))]),
        (b"", [("P103", None)]),
        (b"a\tn\tb\tus\nlorr\xff\tn\tb\tus\n", [("R003", (1, 1))]),
    ],
)  # fmt: skip
def test_all_mistakes_of_a_file_are_told_at_once(tmp_path, content, problems):
    path = tmp_path / "mine.tsv"
    path.write_bytes(content)
    with pytest.raises(GenieError) as caught:
        read_lexicon(path)
    found = [(p.code, p.span and (p.span.line, p.span.column)) for p in caught.value.problems]
    assert found == problems


def test_a_role_needs_its_neighbours():
    assert fits(["the", "trip", "is", "over"], 1, Substitution(("trip",), "journey", "n"))
    assert not fits(["trip", "advisor"], 0, Substitution(("trip",), "journey", "n"))


# ------------------------------------------------------------------------------- WordNet


SYNSETS = [
    ("n", ["photo", "photograph", "EXIF_photo"]),
    ("v", ["grab", "take_hold_of"]),
    ("a", ["huge", "immense", "Brobdingnagian"]),
    ("a", ["huge", "rare"]),  # a less frequent meaning
    ("r", ["quickly", "rapidly"]),
    ("n", ["list", "listing"]),
    ("v", ["list", "enumerate"]),
    ("n", ["map", "chart"]),
]


@pytest.fixture
def wordnet(monkeypatch, tmp_path):
    """WordNet as nltk finds it in a folder; what was loaded before does not count."""
    reader = LazyCorpusLoader("wordnet", WordNetCorpusReader, None)
    monkeypatch.setattr(nltk.corpus, "wordnet", reader)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path


@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_words_of_one_part_of_speech_get_the_others_of_their_first_meaning(wordnet):
    write_wordnet(wordnet, SYNSETS)
    lexicon = wordnet_lexicon()
    assert everything("he grabs photos", lexicon=lexicon) == [
        "he takes hold of photos",
        "he grabs photographs",
    ]
    assert everything("a huge pile", lexicon=lexicon) == ["an immense pile"]
    assert everything("start it quickly", lexicon=lexicon) == ["start it rapidly"]
    assert everything("the list", lexicon=lexicon) == []  # noun or verb
    assert everything("the map", lexicon=lexicon) == []  # too short


@pytest.mark.filterwarnings("ignore:The multilingual functions")
def test_the_command_takes_the_words_of_wordnet(wordnet, tmp_path, capsys):
    write_wordnet(wordnet, SYNSETS)
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text(to_json(Example("S0", "get huge photos", "now => ( @c.f ) => notify")) + "\n")
    command = ["data", "paraphrase", "auto", str(rows), "--by", "lexical", "--lexicon", "wordnet"]
    assert run([*command, "-o", str(out)]) == 0
    said = {json.loads(line)["utterance"] for line in out.read_text().splitlines()}
    assert said
    assert said <= {"get immense photos", "get huge photographs", "get immense photographs"}
    capsys.readouterr()


def test_without_the_words_of_nltk_the_next_step_is_named(wordnet):
    with pytest.raises(GenieError, match="P105"):
        wordnet_lexicon()


def test_without_nltk_the_next_step_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(GenieError, match=r"(?s)P104.*genie_dp\[nltk\]"):
        wordnet_lexicon()


# -------------------------------------------------------------- what words did to sentences


def test_words_that_only_look_alike_stay():
    for word, other, fine, *stay in (
        # No pronoun stands behind a particle.
        ("cancel", "call off", "please cancel the meeting", "please cancel it",
         "after cancelling them on opentable"),
        # People who work out calculate nothing.
        ("work out", "calculate", "please work out the price", "when i work out for an hour",
         "tell me when i worked out longer than that"),
    ):  # fmt: skip
        lexicon = lexicon_of([(word, "v", other, "own")])
        assert everything(fine, lexicon=lexicon)
        assert not [made for sentence in stay for made in everything(sentence, lexicon=lexicon)]


def test_a_comparison_after_no_is_left_whole():
    lexicon = lexicon_of(
        [("less than", "x", "under", "own"), ("no less than", "x", "at least", "own")]
    )
    assert set(everything("those with no less than 5 likes", lexicon=lexicon)) == {
        "those with at least 5 likes"
    }


def test_sayings_are_not_taken_apart():
    lexicon = lexicon_of([("track", "n", "song", "own"), ("now", "r", "right now", "own")])
    for sentence in ("are you keeping track of my albums", "turn it on right now"):
        assert everything(sentence, lexicon=lexicon) == []
    assert len(everything("play the track now", lexicon=lexicon)) == 2


STAY = (
    "rides that cost more than usual", "rides that cost no more than usual",
    "when i finish listening to the song", "rides that cost CURRENCY_0",
    "how much a ride costs from LOCATION_0 to LOCATION_1", "have my broker track QUOTED_STRING_0",
    "let the camera film for DURATION_0", "raise the shutters", "when the sun goes down",
    "when the shutters go up", "quick question", "do you mind finding out which doors are open",
    "spin as fast as you can", "play the whole of the album", "play it from the beginning",
    "when my phone is finished charging", "how often have i worked out this week",
)  # fmt: skip
WRONG = (
    "price", "song", "movie", "increase", "fall", "fast", "learn", "quick", "entire", "starting",
    "completed", "calculated", "over usual", "at most usual", "complete listening",
)  # fmt: skip


def test_the_shipped_words_keep_verbs_and_sayings_that_only_look_alike():
    for sentence in STAY:
        said = everything(sentence, lexicon=shipped_lexicon())
        wrong = [word for word in WRONG if word not in sentence]
        assert not [text for text in said for word in wrong if word in text]


def test_nouns_that_are_verbs_too_are_replaced_where_they_are_nouns():
    for sentence, other in (
        ("tell me the cost of the ride", "tell me the price of the ride"),
        ("skip to the next track", "skip to the next song"),
    ):
        assert other in everything(sentence, lexicon=shipped_lexicon())
