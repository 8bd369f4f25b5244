"""Lists that users bring: values.tsv, Genie's parameter-datasets.tsv, and what can be wrong."""

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment import datasets
from genie_dp.augment.datasets import read_own_lists
from genie_dp.augment.values import LibraryValues, kinds, shipped_list
from genie_dp.errors import GenieError
from genie_dp.languages.calls.tools import read_tools
from genie_dp.languages.types import STRING, Entity
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import join_tokens


def own(folder, text, library=None, name="values.tsv"):
    path = folder / name
    path.write_text(text)
    return read_own_lists(path, library)


def problems(folder, text, library=None):
    with pytest.raises(GenieError) as error:
        own(folder, text, library)
    return [(p.code, str(p.span).rpartition("/")[2], p.hint) for p in error.value.problems]


# ------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("name", "data", "column"),
    [
        ("songs.tsv", "value\tweight\nRed Moon\t2\nHome\t1\n", ""),
        ("songs.tsv", "Red Moon\t2\nHome\n", ""),
        ("songs.tsv", "id\ttitle\tweight\n1\tRed Moon\t2\n2\tHome\t1\n", "\ttitle"),
        ("songs.tsv", "1\tRed Moon\n2\tHome\n", "\t2"),
        ("songs.csv", 'value,weight\n"Red Moon",2\nHome,1\n', ""),
        ("songs.txt", "Red Moon\n\nHome\r\n", ""),
        ("songs", "Red Moon\nHome\n", ""),
        ("songs.json", '["Red Moon", "Home"]', ""),
        ("songs.json", '[{"title": "Red Moon"}, {"title": "Home"}]', "\ttitle"),
        ("songs.json", '{"data": [{"value": "1", "canonical": "red moon"}, {"name": "Home"}]}', ""),
    ],
)
def test_lists_are_read_in_every_format(tmp_path, name, data, column):
    (tmp_path / name).write_text(data)
    found = own(tmp_path, f"song\t{name}{column}\n").lists["song"]
    assert found.texts == ("red moon", "home")
    assert found.kind == "song"


def test_weights_are_read(tmp_path):
    (tmp_path / "a.tsv").write_text("value\tsource\tweight\nx\tme\t3\ny\tme\t\n")
    found = own(tmp_path, "song\ta.tsv\n").lists["song"]
    assert [found.weight(0), found.weight(1)] == [3, 1]


def test_compressed_lists_urls_and_paths_relative_to_the_file_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "songs.tsv.gz"
    path.write_bytes(gzip.compress(b"value\nred moon\n"))
    for name in ("deep/songs.tsv.gz", f"file://{path}"):
        assert own(tmp_path, f"song\t{name}\n").lists["song"].texts == ("red moon",)


def test_several_lists_for_one_name_are_put_together_in_tokens(tmp_path):
    (tmp_path / "a.txt").write_text("x\nRock'n'Roll, Baby!\n")
    (tmp_path / "b.txt").write_text("x\nMom's Song\n")
    found = own(tmp_path, "name\tpath\tcolumn\n# mine\n\nsong\ta.txt\nsong\tb.txt\n").lists
    assert list(found) == ["song"]
    assert found["song"].texts == ("x", "rock'n'roll , baby !", "mom 's song")


def test_the_hash_of_a_list_changes_with_its_bytes(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    first = own(tmp_path, "song\ta.txt\n").hashes
    (tmp_path / "a.txt").write_text("y\n")
    second = own(tmp_path, "song\ta.txt\n").hashes
    assert list(first) == list(second) == [str(tmp_path / "a.txt")]
    assert first != second


# --------------------------------------------------------------------------------- of Genie


def test_parameter_datasets_of_genie_are_read(tmp_path):
    (tmp_path / "messages.tsv").write_text("I'm late\ti am late\t3\nHello\n")
    song = {"value": "s1", "canonical": "red moon", "name": "R"}
    (tmp_path / "songs.json").write_text(json.dumps({"result": "ok", "data": [song]}))
    found = own(
        tmp_path,
        "# of a project\n"
        "string\ttt:message_text\tmessages.tsv\n"
        "entity\ten-us\tcom.spotify:song\tsongs.json\n"
        "entity\tit-it\tcom.spotify:song\tcanzoni.json\n",
        name="parameter-datasets.tsv",
    )
    assert found.lists["tt:message_text"].texts == ("i am late", "hello")
    assert found.lists["com.spotify:song"].texts == ("red moon",)
    assert [problem.severity for problem in found.warnings] == ["warning"]
    assert "it-it" in found.warnings[0].message


def test_lists_of_genie_for_other_skills_are_warnings(tmp_path):
    (tmp_path / "a.tsv").write_text("x\n")
    found = own(tmp_path, "string\tcom.other:thing\ta.tsv\n", SkillLibrary())
    assert [p.code for p in found.warnings] == ["A003"]


# ------------------------------------------------------------------------------ what is used


def test_the_lists_of_a_user_are_chosen(tmp_path):
    library = load_library([data_folder("thingpedia")])
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    text = (
        "@com.gmail.inbox:sender_name\ta.txt\ncom.spotify:artist\tb.txt\n"
        "tt:news_headline\tc.txt\ncity\td.txt\n"
    )
    source = LibraryValues(library, own(tmp_path, text, library).lists)
    assert source.values_for(STRING, "@com.gmail.inbox:sender_name").texts == ("a",)
    artist = Entity("com.spotify:artist")
    assert source.values_for(artist, "@com.spotify.play_artist:artist").texts == ("b",)
    assert source.values_for(STRING, "@com.nytimes.front_page:title").texts == ("c",)
    assert source.values_for(STRING, "@x.y:city").texts == ("d",)
    assert source.values_for(STRING, "@x.y:country") == shipped_list("free_text")


# ------------------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("files", "text", "expected"),
    [
        ({}, "song\nsong\ta\tb\tc\nstring\tx\n",
         "A002 values.tsv:1:1, A002 values.tsv:2:1, A002 values.tsv:3:1"),
        ({}, "# nothing\n", "A002 values.tsv:1:1"),
        ({"a.txt": "x\n"}, "sogn\ta.txt\n",
         "A003 values.tsv:1:1 did you mean 'song' or 'person'?"),
        ({}, "song\tnone.tsv\n",
         "A004 values.tsv:1:6 paths are relative to the file that names them"),
        *(({}, f"song\t{scheme}://a.com/a.tsv\n", "A004 values.tsv:1:6 look whether it opens")
          for scheme in ("gopher", "ftp")),
        ({"a.tsv": "title\tyear\nx\t1\n"}, "song\ta.tsv\ttitel\n",
         "A005 values.tsv:1:6 did you mean 'title'?"),
        ({"a.tsv": "value\n"}, "song\ta.tsv\n", "A006 values.tsv:1:6"),
        ({"a.tsv": "id\ttitle\n1\tx\n2\n"}, "song\ta.tsv\ttitle\n", "A007 a.tsv:3:1"),
        ({"a.json": '{"data": [\n  oops]}'}, "song\ta.json\n", "A007 a.json:2:3"),
        ({"a.json": "7"}, "song\ta.json\n", "A007 values.tsv:1:6"),
        ({"a.json": '{"rows": []}'}, "song\ta.json\n", "A007 values.tsv:1:6"),
        ({"a.json": "[1]"}, "song\ta.json\n", "A007 values.tsv:1:6"),
        ({"a.json": '[{"id": "x"}]'}, "song\ta.json\n", "A007 values.tsv:1:6"),
        *(({"a.tsv": f"value\tweight\nx\t1\ny\t{weight}\n"}, "song\ta.tsv\n", "A008 a.tsv:3:3")
          for weight in ("much", "-1", "0", "nan", "inf")),
        ({"a.tsv": "caf\udce9\n"}, "song\ta.tsv\n", "A010 values.tsv:1:6"),
        ({}, "song\t\udcff\n", "A010 values.tsv:1:6"),
        # All mistakes of all files are told at once.
        ({"a.tsv": "value\tweight\ny\tmuch\n"}, "song\nsong\tnone.tsv\nalbum\ta.tsv\n",
         "A002 values.tsv:1:1, A004 values.tsv:2:6, A008 a.tsv:2:3"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(tmp_path, files, text, expected):
    for name, content in {**files, "values.tsv": text}.items():
        (tmp_path / name).write_text(content, errors="surrogateescape")
    with pytest.raises(GenieError) as caught:
        read_own_lists(tmp_path / "values.tsv", SkillLibrary())
    found = [f"{p.code} {str(p.span).rpartition('/')[2]} {p.hint}" for p in caught.value.problems]
    assert len(found) == len(expected.split(", "))
    for told, begin in zip(found, expected.split(", "), strict=True):
        assert told.startswith(begin)


def test_a_file_that_is_not_there_is_named_and_others_show_their_line(tmp_path):
    with pytest.raises(GenieError, match="A001"):
        read_own_lists(tmp_path / "none.tsv")
    with pytest.raises(GenieError, match=r" 1 \| song\tnone.tsv\n"):
        own(tmp_path, "song\tnone.tsv\n")


@pytest.mark.parametrize(
    ("use", "near"),
    [
        ("lamp.tint:hue", None),
        ("hue", None),
        ("lamp.tint:hues", "'lamp.tint:hue'"),
        ("lamp.dye:hue", "'lamp.tint:hue'"),
        ("com.spotify:song", None),  # of a class that is not there
    ],
)
def test_lists_are_for_what_the_library_has(use, near, tmp_path):
    (tmp_path / "a.txt").write_text("teal\n")
    hue = {"type": "object", "properties": {"hue": {"type": "string"}}}
    tools = read_tools({"tools.json": json.dumps([{"name": "lamp.tint", "parameters": hue}])})
    if near is None and use != "com.spotify:song":
        assert own(tmp_path, f"{use}\ta.txt\n", tools).lists[use].texts == ("teal",)
    else:
        [(code, _, hint)] = problems(tmp_path, f"{use}\ta.txt\n", tools)
        assert code == "A003"
        assert near is None or near in hint


def test_a_scheme_that_needs_another_package_names_it(tmp_path, monkeypatch):
    def missing(path, mode):
        raise ImportError("no requests")

    monkeypatch.setattr("smart_open.open", missing)
    [(code, _, hint)] = problems(tmp_path, "song\thttps://example.com/a.tsv\n")
    assert (code, hint) == ("A004", "pip install 'smart-open[http]'")


@given(st.text(alphabet="aBz '.5é", max_size=12))
def test_plain_words_are_split_as_others_are(text):
    assert datasets.tokens_of(text) == join_tokens(text)


def test_a_list_given_twice_is_a_warning(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    found = own(tmp_path, "song\ta.txt\nsong\ta.txt\n")
    assert [(p.code, p.severity) for p in found.warnings] == [("A009", "warning")]


# -------------------------------------------------------------------------------- the page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "augment.md").read_text(encoding="utf-8")


def test_the_page_names_all_kinds_and_their_number():
    shown = PAGE.partition("## Shipped lists")[2]
    assert re.findall(r"`(\w+)`", shown) == [kind.name for kind in kinds().values()]
    own = [kind for kind in kinds().values() if not kind.parts]
    count = sum(len(shipped_list(kind.name)) for kind in own)
    assert f"{len(own)} lists with {count:,} values, and {len(kinds()) - len(own)} that" in shown


def test_lists_of_the_language_of_the_sentences_are_taken(tmp_path):
    (tmp_path / "de.tsv").write_text("küche\nbad\n")
    (tmp_path / "en.tsv").write_text("kitchen\n")
    path = tmp_path / "parameter-datasets.tsv"
    path.write_text("string\tde\ttt:room\tde.tsv\nstring\ten-US\ttt:room\ten.tsv\n")
    german = read_own_lists(path, language="de")
    assert german.lists["tt:room"].texts == ("küche", "bad")
    assert [warning.hint for warning in german.warnings] == ["sentences are in de"]
    assert read_own_lists(path).lists["tt:room"].texts == ("kitchen",)
