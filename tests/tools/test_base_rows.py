import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import base_rows
from base_rows import Converter, Labelled, Library, Maker, from_sgd, from_snips, from_topv2

from tests.golden import DATA

SCHEMA = base_rows.read_schema("""\
PlayMusic = play: Play music
  artist = artist (name artist): who sings
  track album = title (text): what is played
  count = times (number): how often
  music_item = -
SET_ALARM = wake: Wake somebody
  DATE_TIME = time (time): when
  PERSON = person (who): who is woken
  SOUND = sound (bell | bird): what is heard
UNSUPPORTED_ALARM = -
""")


def snips_row(sentence, *slots):
    places = [(name, sentence.index(value), value) for name, value in slots]
    return {
        "id": "s1",
        "intent": "PlayMusic",
        "utterance": sentence,
        "slots": [
            {"name": name, "value": value, "start": start, "end": start + len(value)}
            for name, start, value in places
        ],
    }


def topv2_row(sentence, top):
    return {"id": "t1", "utterance": sentence, "top": top}


@pytest.fixture
def converter():
    return Converter(SCHEMA)


class TestSnips:
    def test_words_of_slots_are_arguments(self, converter):
        row = snips_row(
            "Play the song Bird's Day by Zo\u00eb Quill two times",
            ("music_item", "song"),
            ("track", "Bird's Day"),
            ("artist", "Zo\u00eb Quill"),
            ("count", "two"),
        )
        made = converter.row(from_snips(row))
        assert made.utterance == "play the song bird 's day by zo\u00eb quill two times"
        assert made.program == (
            'play( artist= " zo\u00eb quill " ^^artist times= 2 title= " bird \'s day " )'
        )
        assert (made.functions, made.language) == (("play",), "calls")

    def test_a_value_inside_of_a_word_is_left_out(self, converter):
        assert converter.row(from_snips(snips_row("play starlight", ("track", "star")))) is None
        assert converter.left == {"value is a part of a word": 1}

    def test_two_slots_of_a_parameter_are_left_out(self, converter):
        row = snips_row("play dawn of dusk", ("track", "dawn"), ("album", "dusk"))
        assert converter.row(from_snips(row)) is None
        assert converter.left == {"two values for a parameter": 1}

    def test_names_are_listed_where_they_are_few(self, converter):
        converter.row(from_snips(snips_row("play ada moss", ("artist", "ada moss"))))
        assert json.loads(converter.tools(most_names=1))["entities"] == {"artist": ["ada moss"]}
        assert "entities" not in json.loads(converter.tools(most_names=0))


class TestTopv2:
    def test_the_outer_intent_takes_the_words_of_inner_ones(self, converter):
        row = topv2_row(
            "Wake Ada's twin at 7:30, please",
            "[IN:SET_ALARM Wake [SL:PERSON [IN:GET_TWIN [SL:OF Ada ] 's twin ] ] "
            "[SL:DATE_TIME at 7 : 30 ] , please ]",
        )
        made = converter.row(from_topv2(row))
        assert made.utterance == "wake ada 's twin at 7:30 , please"
        assert made.program == 'wake( person= " ada \'s twin " time= " 7:30 " )'

    def test_the_speaker_is_not_said(self, converter):
        row = topv2_row("wake me", "[IN:SET_ALARM wake [SL:PERSON me ] ]")
        assert converter.row(from_topv2(row)).program == "wake( )"

    @pytest.mark.parametrize(
        ("said", "time"),
        [
            ("from 5 to 6", "from 5 to 6"),
            ("from 5", "5"),
            ("in an hour", "in an hour"),
            ("for six", "six"),
        ],
    )
    def test_times_are_without_their_preposition(self, converter, said, time):
        row = topv2_row(f"wake me {said}", f"[IN:SET_ALARM wake me [SL:DATE_TIME {said} ] ]")
        assert converter.row(from_topv2(row)).program == f'wake( time= " {time} " )'

    def test_listed_values_are_singular_and_others_left_out(self, converter):
        birds = topv2_row("wake with birds", "[IN:SET_ALARM wake with [SL:SOUND birds ] ]")
        assert converter.row(from_topv2(birds)).program == "wake( sound= bird )"
        drums = topv2_row("wake with drums", "[IN:SET_ALARM wake with [SL:SOUND drums ] ]")
        assert converter.row(from_topv2(drums)) is None

    def test_what_is_unsupported_is_refused(self, converter):
        row = topv2_row("hum it", "[IN:UNSUPPORTED_ALARM hum it ]")
        assert converter.row(from_topv2(row)).program == "out_of_scope"

    def test_labels_that_the_schema_has_not_are_counted(self, converter):
        assert converter.row(Labelled("x", "sing", "SING")) is None
        assert converter.left == {"label SING": 1}


@pytest.mark.parametrize(
    ("before", "acts", "slots"),
    [
        (None, '(INFORM_INTENT intent "FindBus") (INFORM to "Ulm")', (("to", 9, 12),)),
        ("Anything else?", '(INFORM_INTENT intent "FindBus")', None),
        (None, '(INFORM to "Ulm")', None),
        (None, '(INFORM_INTENT intent "FindBus") (INFORM to "Bonn")', None),
    ],
)
def test_first_turns_of_sgd_alone_are_taken(before, acts, slots):
    row = {
        "id": "1",
        "services": ["Buses_1"],
        "intent": "FindBus",
        "utterance": "A bus to Ulm",
        "program": f"(Turn (Buses_1 {acts}))",
        "prev_agent": before,
    }
    made = from_sgd(row)
    assert (made and made.slots) == slots


@pytest.mark.parametrize("path", sorted(base_rows.SCHEMAS.glob("*-*.txt")), ids=lambda p: p.stem)
def test_shipped_schemas_make_a_library(path):
    assert Converter(base_rows.read_schema(path.read_text(encoding="utf-8"))).library.tools


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "snips").mkdir()
    rows = [snips_row("play dawn", ("track", "dawn")), snips_row("Play, DUSK!", ("track", "DUSK"))]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "snips" / "few.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "slurp").mkdir()
    line = json.dumps({"utterance": "play dusk"})
    (tmp_path / "slurp" / "devel.jsonl").write_text(line, encoding="utf-8")
    return tmp_path


def test_sentences_of_benchmarks_are_left_out(shared, tmp_path):
    assert base_rows.normal_hash("PLAY   dusk") in base_rows.benchmark_hashes(shared)
    maker = Maker(tmp_path / "out", shared)
    entry = maker.make(Library("snips", "snips/few.jsonl", "none"))
    written = (tmp_path / "out" / "snips" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["utterance"] for row in written] == ["play dawn"]
    assert (entry["count"], entry["left"]) == (1, {"sentence of a benchmark": 1})


def test_rows_with_placeholders_are_compared_with_what_is_read(shared, tmp_path):
    line = json.dumps({"utterance": "Ring for 12 minutes!"})
    (shared / "slurp" / "devel.jsonl").write_text(line, encoding="utf-8")
    maker = Maker(tmp_path, shared)
    said = ["ring for DURATION_0", "ring in DURATION_0"]
    rows = [base_rows.Example(str(n), sentence, "p") for n, sentence in enumerate(said)]
    assert [row.utterance for row in maker.clean(rows)] == ["ring in DURATION_0"]


def test_of_a_sentence_with_two_programs_the_first_is_kept(shared, tmp_path):
    maker = Maker(tmp_path, shared)
    rows = [base_rows.Example(str(n), "go", program) for n, program in enumerate("aba")]
    assert [row.program for row in maker.clean(rows)] == ["a"]
    assert maker.left == {"two programs": 1, "twice": 1}


def test_sentences_of_the_shipped_skills_are_benchmarks(tmp_path):
    assert len(base_rows.benchmark_hashes(tmp_path)) > 100


def test_no_sentence_of_a_benchmark_trained_the_shipped_base(tmp_path):
    trained = base_rows.read_hashes(DATA / "base" / base_rows.HASHES)
    asked = base_rows.benchmark_hashes(tmp_path)
    assert not {x & base_rows.BITS for x in asked} & trained
    written = base_rows.ROOT.glob("thingpedia/*/paraphrases.tsv")
    lines = [x.split("\t")[0] for path in written for x in list(base_rows.lines_of(path))[1:]]
    plain = [line for line in lines if line.replace(" ", "").isalpha() and line.islower()]
    are_known = [base_rows.normal_hash(x) & base_rows.BITS in trained for x in plain]
    assert sum(are_known) > 0.5 * len(plain) > 500


def test_hashes_are_those_of_the_rows(tmp_path):
    said = ["Ring the bell", "ring it twice", "RING the bell!"]
    rows = "".join(f"{json.dumps({'utterance': x})}\n" for x in said)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    listed = json.dumps([{"rows": "rows.jsonl"}])
    (tmp_path / base_rows.LISTED).write_text(listed, encoding="utf-8")
    base_rows.write_hashes(tmp_path)
    expected = {base_rows.normal_hash(x) & base_rows.BITS for x in said[:2]}
    assert base_rows.read_hashes(tmp_path / base_rows.HASHES) == expected


def test_rare_functions_keep_all_rows():
    rows = [base_rows.Example(str(n), "go", "p", functions=("f",)) for n in range(50)]
    rows += [base_rows.Example(f"g{n}", "go", "p", functions=("g",)) for n in range(3)]
    kept = base_rows.evenly(rows, 10)
    assert len(kept) == 10
    assert sum(row.functions == ("g",) for row in kept) == 3


class TestInvented:
    TEXT = """\
tea.brew = Brews tea.
  kind (text): what to brew :: green tea; Earl Grey
  cups (integer): :: 2; 1,200
  strength (weak | very_strong, optional): how strong it gets
  extras (list, optional): what is added :: milk; sugar; a slice of lemon
  to_go (boolean, optional)
  > {cups} cups of {kind}
  > brew {kind} for {cups}, {strength}
  > Take {extras} into {cups} of {kind}! => to_go = true, strength = weak
"""

    def test_every_sentence_becomes_well_typed_rows(self):
        functions = base_rows.read_invented(self.TEXT)
        tools = json.dumps({"tools": [one.tool for one in functions]})
        converter = Converter({}, tools)
        made = list(base_rows.invented_rows(functions, converter, 8))
        assert len(made) == 24
        assert not converter.left
        assert all(row.functions == ("tea.brew",) for row in made)
        programs = " ".join(row.program for row in made)
        for part in ('kind= " earl grey "', "cups= 1200", "strength= very_strong", "to_go= true"):
            assert part in programs
        said = next(x for x in made if x.utterance.startswith("take a slice of lemon"))
        assert '" a slice of lemon "' in said.program

    def test_a_line_that_is_none_of_them_is_told(self):
        with pytest.raises(ValueError, match="line 2"):
            base_rows.read_invented("f = F.\n  x integer: a number")
