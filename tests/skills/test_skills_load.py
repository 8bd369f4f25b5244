"""Reading skill folders: what is found, what is told, what is left out."""

import subprocess
import sys

import pytest

from genie_dp.errors import GenieError, render_problem
from genie_dp.skills.load import load_library
from genie_dp.texts import read_text
from tests.golden import cases
from tests.skills.skill_files import write_library

LAMP = ">> org.lamp/skill.tt\nclass @org.lamp { action dim(); }\n"
BROKEN = ">> org.bell/skill.tt\nclass @org.bell { action ring(; }\n"
CHILD = ">> org.chime/skill.tt\nclass @org.chime extends @org.bell { action play(); }\n"
GRANDCHILD = ">> org.organ/skill.tt\nclass @org.organ extends @org.chime { action stop(); }\n"


@pytest.mark.parametrize("case", cases("skills/mistakes.txt"), ids=str)
def test_mistakes_are_told_with_place_and_hint(case, golden, tmp_path):
    with pytest.raises(GenieError) as error:
        load_library([write_library(tmp_path, case.input)])
    golden(case, str(error.value).replace(f"{tmp_path}/", "").replace(str(tmp_path), "LIBRARY"))


def test_skills_are_read_in_the_order_of_their_names_each_once(tmp_path):
    for name in ("c", "a", "b"):
        write_library(tmp_path, f">> {name}/skill.tt\nclass @{name} {{}}")
    for paths in ([tmp_path], tmp_path, str(tmp_path), [tmp_path / "b", tmp_path, tmp_path / "b"]):
        library = load_library(paths)
        assert sorted(library.class_names()) == ["a", "b", "c"]
        assert len(library.skills) == 3
    assert load_library(tmp_path).class_names() == ("a", "b", "c")
    (tmp_path / "skill.tt").touch()
    with pytest.raises(GenieError) as error:
        load_library([tmp_path / "nowhere", tmp_path / "skill.tt"], skip_broken=True)
    assert [p.code for p in error.value.problems] == ["K001", "K001"]


def test_what_a_folder_holds_beside_the_class_is_recorded(tmp_path):
    write_library(tmp_path, f"{LAMP}>> org.lamp/templates.genie\n>> org.lamp/eval.tsv\n")
    library, folder = load_library([tmp_path]), tmp_path / "org.lamp"
    (skill,) = library.skills
    assert (skill.templates, skill.evaluation) == (folder / "templates.genie", folder / "eval.tsv")
    assert not skill.is_real
    text = "class @org.lamp { action dim(); }\n"
    assert library.sources[str(folder / "skill.tt")] == text  # to show mistakes


def test_the_same_folders_give_the_same_library_whatever_the_hash_seed(tmp_path):
    write_library(tmp_path, LAMP + BROKEN + CHILD)
    write_library(tmp_path, ">> x/manifest.tt\nclass @x extends @y, @z { entity e; entity f; }")
    program = (
        "import sys; from genie_dp.skills.check import check_library\n"
        "from genie_dp.skills.load import load_library\n"
        "library = load_library([sys.argv[1]], skip_broken=True)\n"
        "print(library, check_library(library, set()))"
    )
    shown = {
        subprocess.check_output(
            [sys.executable, "-c", program, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        )
        for seed in ("0", "1")
    }
    assert len(shown) == 1


def test_skip_broken_leaves_out_the_skill_and_what_extends_it_and_says_so(tmp_path):
    write_library(tmp_path, LAMP)
    assert load_library([tmp_path], skip_broken=True) == load_library([tmp_path])
    write_library(tmp_path, BROKEN + CHILD + GRANDCHILD)
    with pytest.raises(GenieError):
        load_library([tmp_path])
    library = load_library([tmp_path], skip_broken=True)
    assert library.class_names() == ("org.lamp",)
    assert [s.path.name for s in library.skipped] == ["org.bell", "org.chime", "org.organ"]
    shown = render_problem(library.skipped[0].problems[0], library.sources)
    assert "org.bell/skill.tt:1:31: error[S001]" in shown
    assert " 1 | class @org.bell { action ring(; }" in shown
    alone = load_library([tmp_path / "org.bell"], skip_broken=True)
    assert (alone.functions(), len(alone.skipped)) == ((), 1)


@pytest.mark.parametrize(
    "data",
    [
        b"caf\xc3\xa9\nx\n",
        b"\xef\xbb\xbfcaf\xc3\xa9\nx\n",
        b"caf\xc3\xa9\r\nx\r\n",
        b"caf\xc3\xa9\rx\r",
    ],
    ids=["plain", "byte order mark", "CRLF", "CR"],
)
def test_marks_and_line_ends_do_not_matter(data, tmp_path):
    (tmp_path / "x.tt").write_bytes(data)
    assert read_text(tmp_path / "x.tt") == "café\nx\n"


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"class @org.bell {\r\n  action (;\r\n}", "2:10", "S0"),
        (b"\xef\xbb\xbfclass @org.bell {\r\n  action (;\r\n}", "2:10", "S0"),
        (b"// ok\r\n// \xc3\xa9 caf\xe9\nclass @org.bell {}", "2:9",
         "error[K003]: expected UTF-8 text, got byte 0xE9\n 2 | // é caf\ufffd"),
        ("class".encode("utf-16"), "", "expected UTF-8 text, got UTF-16 text"),
    ],
)  # fmt: skip
def test_mistakes_of_any_encoding_have_their_place(data, place, message, tmp_path):
    (tmp_path / "org.bell").mkdir()
    (tmp_path / "org.bell/skill.tt").write_bytes(data)
    with pytest.raises(GenieError) as error:
        load_library([tmp_path])
    assert str(error.value.problems[0].span or "").endswith(place)
    assert message in str(error.value)


def test_a_value_list_with_bad_bytes_breaks_only_its_skill(tmp_path):
    write_library(tmp_path, LAMP + ">> org.bell/skill.tt\nclass @org.bell {}\n")
    (tmp_path / "org.bell/values").mkdir()
    (tmp_path / "org.bell/values/tone.tsv").write_bytes(b"\xff\n")
    assert load_library([tmp_path], skip_broken=True).class_names() == ("org.lamp",)


def test_value_lists_are_named_after_their_skill_or_shared(tmp_path):
    write_library(tmp_path, f"{LAMP}>> org.lamp/values/room.tsv\nkitchen\nhall\t3\n")
    write_library(tmp_path, ">> common/values/word.tsv\nvalue\tweight\nhello\t1\n")
    write_library(tmp_path, ">> common/values/x.tsv\nvalue\tsource\tweight\nhall\tinvented\t2\n")
    library = load_library([tmp_path])
    assert library.values("org.lamp:room") == ("kitchen", "hall")
    assert library.value_lists["org.lamp:room"].weights == (1.0, 3.0)
    assert library.value_lists["tt:x"].weights == (2.0,)
    assert library.values("tt:word") == ("hello",)
    assert library.values("tt:room") == ()
    assert load_library([tmp_path / "common"]).values("tt:word") == ("hello",)
