"""Rows that are converted and back are the same; what cannot be kept is said."""

import json
from dataclasses import asdict, replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.dataset.config import ConvertConfig
from genie_dp.dataset.convert import run as convert_rows
from genie_dp.dataset.formats import (
    READERS,
    WRITERS,
    ReadOptions,
    WriteOptions,
    as_plain,
    find_reader,
    find_writer,
    row_of_plain,
)
from genie_dp.dataset.writers import spans_of
from genie_dp.errors import GenieError
from genie_dp.records import Example, Slot
from genie_dp.rows import read_rows, to_json
from genie_dp.run.stage import Output
from tests.dataset.dataset_rows import families, read, row, write

PARTS = ("train", "validation", "test")

# All but surrogates, which no UTF-8 file holds.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.lists(TEXT.filter(bool), max_size=3).map(tuple)
ROWS = st.builds(
    Example,
    id=TEXT,
    utterance=TEXT,
    program=TEXT,
    language=st.sampled_from(["thingtalk", "sexpr"]),
    source=st.sampled_from(["synthetic", "human", "paraphrase"]),
    parent=TEXT,
    derivation=NAMES,
    functions=NAMES,
    depth=st.integers(0, 12),
    slots=st.dictionaries(TEXT, st.builds(Slot, TEXT, TEXT), max_size=2),
    weight=st.floats(0, 10) | st.integers(0, 3),
)
FILES = {"jsonl": "r.jsonl", "parquet": "r.parquet", "rasa": "r.yml", "conll": "r.conll"}


def convert(*args):
    return run(["convert", *map(str, args)])


def there_and_back(rows, name, folder):
    """Write rows with a writer and read them; return those that came back and those refused."""
    path = folder / FILES[name]
    refused = []
    with path.open("wb") as out:
        find_writer(name)(rows, out, refused.append, WriteOptions(name))
    return list(find_reader(name)(str(path), ReadOptions(name))), refused


@pytest.mark.parametrize("name", FILES)
@given(rows=st.lists(ROWS, max_size=3))
def test_formats_that_keep_all_give_the_rows_back(tmp_path_factory, name, rows):
    back, refused = there_and_back(rows, name, tmp_path_factory.mktemp("back"))
    lost = {one.id for one in refused}
    assert [one for one in rows if one.id not in lost] == [o for o in back if o.id not in lost]
    assert all(any(c in one.utterance for c in "[]{}") for one in refused)
    assert all(map(callable, (*map(find_reader, READERS), *map(find_writer, WRITERS))))


@pytest.mark.parametrize("name", [*FILES.values(), "rows.jsonl.gz"])
def test_files_of_all_formats_come_back_byte_for_byte_and_are_split(tmp_path, name):
    rows = families(60)
    source = write(tmp_path / "a.jsonl", rows)
    between = tmp_path / f"b-{name}"
    assert convert(source, between) == 0
    assert convert(between, tmp_path / "c.jsonl") == 0
    assert (tmp_path / "c.jsonl").read_bytes() == source.read_bytes()
    if name.endswith((".parquet", ".gz")):
        assert run(["split", str(between), "-o", str(tmp_path / "out")]) == 0
        files = [p for p in (tmp_path / "out").iterdir() if p.stem in PARTS]
        got = sorted(one.id for file in files for one in read_rows(str(file)))
        assert got == sorted(one.id for one in rows)
        assert len(files) == 3


@pytest.mark.parametrize("to", ["hf", "hf-parquet"])
def test_a_folder_of_parts_comes_back(tmp_path, to):
    source = write(tmp_path / "a.jsonl", families(60))
    assert run(["split", str(source), "-o", str(tmp_path / "parts")]) == 0
    assert convert(tmp_path / "parts", tmp_path / "hub", "--to", to) == 0
    assert all(list((tmp_path / "hub" / "data").glob(f"{part}.*")) for part in PARTS)
    assert convert(tmp_path / "hub", tmp_path / "back.jsonl") == 0
    parts = [tmp_path / "parts" / f"{p}.jsonl" for p in PARTS]
    assert (tmp_path / "back.jsonl").read_text() == "".join(p.read_text() for p in parts)


def test_the_folder_has_the_layout_that_hugging_face_reads(tmp_path):
    source = write(tmp_path / "a.jsonl", families(20))
    assert convert(source, tmp_path / "hub", "--licence", "mit", "--part", "dev") == 0
    head = yaml.safe_load((tmp_path / "hub" / "README.md").read_text().split("---\n")[1])
    files = [{"split": "dev", "path": "data/dev.jsonl"}]
    assert head["configs"] == [{"config_name": "default", "data_files": files}]
    assert head["license"] == "mit"
    rows = read(tmp_path / "hub" / "data" / "dev.jsonl")
    features = {f["name"]: f for f in head["dataset_info"]["features"]}
    assert all(list(one) == list(features) for one in rows)
    assert [f["name"] for f in features["slots"]["list"]] == ["token", "type", "parameter"]
    assert any(one["slots"] for one in rows)
    assert all(isinstance(one["slots"], list) for one in rows)
    told = json.loads((tmp_path / "hub" / "manifest.json").read_text())
    assert told["counts"]["rows"] == told["parts"]["dev"]["rows"] == len(rows)
    # Its files are read as they are.
    assert convert(tmp_path / "hub" / "data" / "dev.jsonl", tmp_path / "b.jsonl") == 0
    assert (tmp_path / "b.jsonl").read_bytes() == source.read_bytes()


def test_a_converted_folder_says_what_the_card_of_the_first_one_said(tmp_path):
    rows = [replace(one, source="private") for one in families(60)]
    spent = {"epsilon": 3, "delta": 1e-6, "unit": "user", "relation": "add-or-remove-one"}
    spent |= {"accountant": "pld", "not_covered": ["tuning"]}
    (tmp_path / "spent.json").write_text(json.dumps(spent))
    options = ["--title", "Lamps", "--licence", "cc-by-4.0", "--origin", "the shop", "--seed", "7"]
    options += ["--spent", str(tmp_path / "spent.json"), "--output", str(tmp_path / "parts")]
    assert run(["split", str(write(tmp_path / "a.jsonl", rows)), *options]) == 0
    assert convert(tmp_path / "parts", tmp_path / "hub") == 0
    assert convert(tmp_path / "hub", tmp_path / "again", "--to", "hf", "--licence", "mit") == 0
    for name, licence in (("hub", "cc-by-4.0"), ("again", "mit")):
        _, front, body = (tmp_path / name / "README.md").read_text().split("---\n", 2)
        assert yaml.safe_load(front)["license"] == licence
        for said in ("# Lamps", "- the shop", "- the split: 7", "epsilon 3, delta 1e-06", "tuning"):
            assert said in body


def test_tsv_says_what_it_drops_and_keeps_the_rest(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", [row("S1"), row("S2", "a\tb"), row("S3", "c")])
    assert convert(source, tmp_path / "a.tsv", "--rejects", tmp_path / "no.jsonl") == 0
    said = capsys.readouterr().err
    assert "id, utterance and program; language, source, parent" in said
    assert "1  tab or line end" in said
    assert [one.id for one in read_rows(str(tmp_path / "a.tsv"))] == ["S1", "S3"]
    assert [one["id"] for one in read(tmp_path / "no.jsonl")] == ["S2"]


def test_rasa_data_have_intents_and_marked_entities_and_refuse_brackets(tmp_path, capsys):
    program = 'now => @c.dim param:n:Number = NUMBER_0 param:who:String = " ann lee "'
    slots = {"NUMBER_0": Slot("Number", "@c.dim:n")}
    rows = [row("S1", "dim to NUMBER_0 for ann lee", program, slots=slots), row("S2", "a [b]")]
    assert convert(write(tmp_path / "a.jsonl", rows), tmp_path / "a.yml") == 0
    told = yaml.safe_load((tmp_path / "a.yml").read_text())
    assert told["version"] == "3.1"
    [entry] = told["nlu"]
    assert entry["intent"] == "c.dim"
    assert entry["examples"][0]["text"] == "dim to [NUMBER_0](n) for [ann lee](who)"
    said = capsys.readouterr().err
    assert "1  brackets" in said
    assert "1 rows -> " in said  # what is refused is not counted among the written


def test_tags_are_of_the_bio_sort(tmp_path):
    one = row("S1", "tell ann lee hi", 'now => @c.f param:who:String = " ann lee "')
    assert convert(write(tmp_path / "a.jsonl", [one]), tmp_path / "a.bio") == 0
    lines = (tmp_path / "a.bio").read_text().splitlines()
    assert lines[2:] == ["tell\tO", "ann\tB-who", "lee\tI-who", "hi\tO", ""]


RASA = """version: "3.1"
nlu:
- intent: book/flight
  examples: |
    - fly to [New York](city) at [noon]{"entity": "time", "value": "12:00"}
    - fly home
- synonym: x
  examples: |
    - y
"""
TAGS = (
    "-DOCSTART- -X- O O\n\nJohn NNP B-NP B-PER\nlives VB O O\nin IN O O\nNew NNP O B-LOC\n"
    "York NNP O I-LOC\n\n# intent = go away\nleave\tO\n"
)


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("nlu.yml", RASA,
         {"fly to new york at noon":
          '( book_flight ( city " new york " ) ( time " 12:00 " ) )',
          "fly home": "( book_flight )"}),
        ("a.conll", TAGS,
         {"john lives in new york": '( none ( PER " john " ) ( LOC " new york " ) )',
          "leave": "( go_away )"}),
    ],
)  # fmt: skip
def test_files_of_other_tools_are_read(tmp_path, name, text, rows):
    (tmp_path / name).write_text(text)
    assert convert(tmp_path / name, tmp_path / "a.jsonl") == 0
    made = read(tmp_path / "a.jsonl")
    assert {one["utterance"]: one["program"] for one in made} == rows
    assert {one["language"] for one in made} == {"sexpr"}


@pytest.mark.parametrize(
    ("utterance", "program", "spans"),
    [
        ("say a b", 'now => @c.f param:t:String = " a b "', [(1, 3, "t")]),
        ("a a", 'now => @c.f param:t:String = " a "', [(0, 1, "t"), (1, 2, "t")]),
        ("a b", 'now => @c.f param:t:String = " a " param:u:String = " a b "', [(0, 2, "u")]),
        ("alarm at six", "[ IN:SET [ SL:TIME at six ] ]", [(1, 3, "time")]),
        ("meet ann", '( meet ( who " ann " ) )', [(1, 2, "who")]),
        ("set NUMBER_1", "now => @c.f param:n:Number = NUMBER_1", [(1, 2, "number")]),
        ("nothing", 'now => @c.f param:t:String = ""', []),
    ],
)
def test_values_are_found_in_sentences(utterance, program, spans):
    found = spans_of(Example("a", utterance, program))
    assert [(one.start, one.end, one.label) for one in found] == spans


@given(one=ROWS)
def test_a_line_of_a_row_is_what_json_writes(one):
    record = {name: getattr(one, name) for name in Example.__dataclass_fields__}
    record["slots"] = {k: asdict(slot) for k, slot in one.slots.items()}
    assert to_json(one) == json.dumps(record, ensure_ascii=False, separators=(",", ":"))


LATIN = b'{"id": "a", "utterance": "caf\xe9"}'
ROW = b'{"id": "a", "utterance": "b", "program": "c"}'


@pytest.mark.parametrize(
    ("name", "line", "place"),
    [
        ("a.jsonl", b'{"id": 5, "utterance": "a", "program": "b"}', "1:1: error[R011]"),
        ("a.jsonl", b"[]", "1:1: error[R011]"),
        ("a.jsonl", b"5", "1:1: error[R011]"),
        ("a.jsonl", LATIN, f"1:{LATIN.index(0xE9) + 1}: error[R003]: expected UTF-8 text"),
        ("a.tsv", b"a\tcaf\xe9 bar\tnow", "1:6: error[R003]: expected UTF-8 text"),
        ("a.jsonl", ROW + b" {}", f"1:{len(ROW) + 2}: error[R010]"),
    ],
)
def test_a_line_that_is_no_row_is_shown_with_its_place(tmp_path, capsys, name, line, place):
    (tmp_path / name).write_bytes(line + b"\n")
    for command in (["stats"], ["split", "-o", str(tmp_path / "out")]):
        assert run([*command, str(tmp_path / name)]) == 1
        assert f"{tmp_path / name}:{place}" in capsys.readouterr().err
    assert convert(tmp_path / name, tmp_path / "b.parquet") == 1
    assert place.partition(": ")[2] in capsys.readouterr().err


def test_rows_may_begin_with_spaces_and_end_with_carriage_returns(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_bytes(b" " + ROW + b" \r\n")
    assert run(["stats", str(tmp_path / "a.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["rows"] == 1
    assert convert(tmp_path / "a.jsonl", tmp_path / "b.jsonl") == 0


def test_a_url_that_lacks_a_part_is_told(capsys):
    assert run(["stats", "ftp://example.com/a.jsonl"]) == 1
    said = capsys.readouterr().err
    assert "error[R001]: cannot read ftp://example.com/a.jsonl: you must specify the user" in said


@given(one=ROWS)
def test_plain_data_hold_all_of_a_row(one):
    assert row_of_plain(json.loads(json.dumps(as_plain(one)))) == one


def test_ids_sources_and_languages_may_be_changed(tmp_path):
    source = write(tmp_path / "a.jsonl", [row("S1"), row("P1", parent="S1")])
    assert convert(source, tmp_path / "b.jsonl", "--id-prefix", "x-", "--source", "human") == 0
    rows = [(one["id"], one["parent"], one["source"]) for one in read(tmp_path / "b.jsonl")]
    assert rows == [("x-S1", "", "human"), ("x-P1", "x-S1", "human")]
    (tmp_path / "a.tsv").write_text("a\tbuy it\t( BUY it )\n")
    assert convert(tmp_path / "a.tsv", tmp_path / "c.jsonl", "--language", "sexpr") == 0
    assert read(tmp_path / "c.jsonl")[0]["language"] == "sexpr"


def test_rows_of_one_id_get_ids_of_their_own(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", [row("S1"), row("S2"), row("S1"), row("S1.2"), row("S1")])
    assert convert(source, tmp_path / "b.jsonl") == 0
    ids = [one["id"] for one in read(tmp_path / "b.jsonl")]
    assert ids == ["S1", "S2", "S1.2", "S1.2.2", "S1.3"]
    assert "3 rows had the id of another" in capsys.readouterr().err


@pytest.mark.parametrize("order", ["apart", "paraphrases at the end"])
def test_what_was_made_of_rows_of_two_runs_follows_them(order, tmp_path):
    rows = [
        row(f"S{n}{end}", program=f"( {name} {n} )", parent=f"S{n}" if end else "")
        for name in "ab"
        for end in ("", "-P")
        for n in range(3)
    ]
    if order != "apart":
        rows.sort(key=lambda one: one.parent != "")
    assert convert(write(tmp_path / "a.jsonl", rows), tmp_path / "b.jsonl") == 0
    made = {one["id"]: one for one in read(tmp_path / "b.jsonl")}
    assert len(made) == 12
    children = [one for one in made.values() if one["parent"]]
    assert len({one["parent"] for one in children}) == 6
    assert all(made[one["parent"]]["program"] == one["program"] for one in children)
    assert run(["split", str(tmp_path / "b.jsonl"), "--output", str(tmp_path / "parts")]) == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("- b.jsonl", "D009"),
        ("nothing.jsonl b.jsonl", "D025"),
        ("a.jsonl a.jsonl", "D027"),
        ("a.jsonl there.jsonl", "D005"),
        ("a.jsonl b.unknown", "D021"),
        ("a.unknown b.jsonl", "D021"),
        ("a.jsonl - --to parquet", "D026"),
        ("a.jsonl hub --part ../up", "D001"),
        ("private.jsonl hub", "D011"),
        ("empty b.jsonl", "D024"),
        ("bad.yml b.jsonl", "D023"),
        ("list.yml b.jsonl", "D023"),
        ("row.yml b.jsonl", "D022"),
        ("row.conll b.jsonl", "D022"),
        ("bad.json b.jsonl --from pizza", "D020"),
        ("few.json b.jsonl --from pizza", "D020"),
        ("few.tsv b.jsonl --from intents", "D020"),
        ("few.tsv b.jsonl --from conll", "D020"),
    ],
)
def test_mistakes_have_codes_and_nothing_is_left(tmp_path, monkeypatch, capsys, args, code):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.jsonl", [row("S1")])
    write(tmp_path / "private.jsonl", [row("S1", source="private")])
    for name, text in {
        "there.jsonl": "",
        "a.unknown": "x",
        "bad.yml": "nlu: [",
        "list.yml": "nlu: 5",
        "row.yml": 'nlu: [{intent: a, examples: [{text: b, metadata: {row: "{}"}}]}]',
        "row.conll": "# row = {}\na\tO\n",
        "bad.json": "{",
        "few.json": '{"id": "a"}',
        "few.tsv": "column\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "empty").mkdir()
    before = {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    assert convert(*args.split()) == 1
    assert f"error[{code}]" in capsys.readouterr().err
    assert {p: p.is_dir() or p.read_bytes() for p in tmp_path.iterdir()} == before


# ---------------------------------------------------------------------------------- data sets


def of_format(tmp_path, name, lines, ending="jsonl", *options):
    file = tmp_path / f"data.{ending}"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("".join(f"{text}\n" for text in texts))
    assert convert(file, tmp_path / "out.jsonl", "--from", name, *options) == 0
    return read(tmp_path / "out.jsonl")


@pytest.mark.parametrize("name", ["smcalflow", "pizza", "sgd"])
def test_programs_in_brackets_are_read_in_step_with_their_sentence(tmp_path, name):
    line = {"id": "a", "utterance": "Meet Ann Lee!", "program": '(Meet (who "Ann Lee"))'}
    [one] = of_format(tmp_path, name, [line])
    assert one["utterance"] == "meet ann lee !"
    assert one["program"] == '( Meet ( who " ann lee " ) )'
    assert one["functions"] == ["Meet", "who"]
    assert (one["language"], one["source"]) == ("sexpr", "human")


def test_an_unreadable_program_is_left_out_and_counted(tmp_path, capsys):
    good = {"id": "a", "utterance": "x", "program": "(A)"}
    bad = {"id": "b", "utterance": "x", "program": "(A"}
    assert len(of_format(tmp_path, "pizza", [good, bad])) == 1
    assert "1  cannot be read" in capsys.readouterr().err


def test_sentences_of_topv2_are_cut_as_their_parse_is(tmp_path):
    program = "[IN:GET_EVENT [SL:LOCATION New York ] ]"
    top = "[IN:GET_EVENT What 's on in [SL:LOCATION New York ] ? ]"
    line = {"id": "a", "utterance": "What's on in New York?", "program": program, "top": top}
    [one] = of_format(tmp_path, "topv2", [line])
    assert one["utterance"] == "what 's on in new york ?"
    assert one["program"] == "[ IN:GET_EVENT [ SL:LOCATION new york ] ]"


def test_paraphrases_of_overnight_have_their_canonical_sentence_as_parent(tmp_path):
    program = "( call SW.filter en.block ( string shape ) )"
    lines = [
        {"id": i, "utterance": u, "canonical": "block whose shape", "program": program}
        for i, u in (("a", "which shape"), ("b", "shapes"))
    ]
    top, *others = of_format(tmp_path, "overnight", lines)
    assert (top["utterance"], top["source"]) == ("block whose shape", "synthetic")
    assert [(one["id"], one["parent"], one["source"]) for one in others] == [
        ("a", top["id"], "paraphrase"), ("b", top["id"], "paraphrase"),
    ]  # fmt: skip


def test_canonical_pairs_of_overnight_are_read_and_names_of_columns_are_none(tmp_path):
    [one] = of_format(tmp_path, "overnight", ["block\t( call en.block )"], "tsv")
    assert one["source"] == "synthetic"
    lines = ["canonical\tprogram", "blocks that are red\t( call SW.filter red )"]
    (tmp_path / "canonical.tsv").write_text("\n".join(lines) + "\n")
    rows = find_reader("overnight")(str(tmp_path / "canonical.tsv"), ReadOptions("overnight"))
    assert [row.utterance for row in rows] == ["blocks that are red"]


def test_intents_are_programs_of_one_symbol(tmp_path):
    rows = of_format(tmp_path, "intents", ["text\tcategory", "Hi there\tsay hello"], "tsv")
    assert [(one["utterance"], one["program"]) for one in rows] == [("hi there", "( say_hello )")]


def test_python_converts_as_the_command_does_and_prints_nothing(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", families(30))
    config = ConvertConfig(id_prefix="x-", source="human")
    result = convert_rows(config, str(source), Output(str(tmp_path / "b.tsv")))
    assert capsys.readouterr() == ("", "")
    assert result.rows == len(families(30))
    assert len(repr(result)) < 300
    options = ("--id-prefix", "x-", "--source", "human")
    assert convert(source, tmp_path / "c.tsv", *options) == 0
    assert (tmp_path / "b.tsv").read_bytes() == (tmp_path / "c.tsv").read_bytes()
    assert capsys.readouterr().err == str(result).replace("b.tsv", "c.tsv") + "\n"
    with pytest.raises(GenieError, match="did you mean 'human'"):
        ConvertConfig(source="humans")


def test_broken_skills_that_are_left_out_are_told(tmp_path, capsys):
    source = write(tmp_path / "a.jsonl", families(3))
    (tmp_path / "skills" / "bad").mkdir(parents=True)
    (tmp_path / "skills" / "bad" / "skill.tt").write_text("class @bad {")
    skills = ("--skills", tmp_path / "skills", "--skip-broken")
    assert convert(source, tmp_path / "b.jsonl", "--to", "chat", *skills) == 0
    assert "bad is broken; going on without it" in capsys.readouterr().err
