"""Reading skill folders: what is found, what is told, what is left out."""

import subprocess
import sys
from pathlib import Path

import pytest

from genie_dp.errors import GenieError, render_problem
from genie_dp.skills.load import load_library
from genie_dp.texts import read_text
from tests.conftest import Golden
from tests.golden import Case, cases
from tests.skills.skill_files import write_library

LAMP = ">> org.lamp/skill.tt\nclass @org.lamp { action dim(); }\n"
BROKEN = ">> org.bell/skill.tt\nclass @org.bell { action ring(; }\n"
CHILD = ">> org.chime/skill.tt\nclass @org.chime extends @org.bell { action play(); }\n"
GRANDCHILD = ">> org.organ/skill.tt\nclass @org.organ extends @org.chime { action stop(); }\n"


@pytest.mark.parametrize("case", cases("skills/mistakes.txt"), ids=str)
def test_mistakes_are_told_with_place_and_hint(case: Case, golden: Golden, tmp_path: Path) -> None:
    with pytest.raises(GenieError) as error:
        load_library([write_library(tmp_path, case.input)])
    golden(case, str(error.value).replace(f"{tmp_path}/", "").replace(str(tmp_path), "LIBRARY"))


def test_a_path_that_is_no_folder_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "skill.tt").touch()
    with pytest.raises(GenieError) as error:
        load_library([tmp_path / "nowhere", tmp_path / "skill.tt"], skip_broken=True)
    assert [p.code for p in error.value.problems] == ["K001", "K001"]


def test_skills_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("c", "a", "b"):
        write_library(tmp_path, f">> {name}/skill.tt\nclass @{name} {{}}")
    assert load_library([tmp_path]).class_names() == ("a", "b", "c")
    assert load_library(tmp_path).class_names() == load_library(str(tmp_path)).class_names()
    assert load_library(tmp_path).class_names() == ("a", "b", "c")


def test_a_skill_folder_may_be_named_itself_and_counts_once(tmp_path: Path) -> None:
    write_library(tmp_path, LAMP)
    library = load_library([tmp_path / "org.lamp", tmp_path, str(tmp_path / "org.lamp")])
    assert [skill.name for skill in library.skills] == ["org.lamp"]


def test_what_a_folder_holds_beside_the_class_is_recorded(tmp_path: Path) -> None:
    write_library(tmp_path, f"{LAMP}>> org.lamp/templates.genie\n>> org.lamp/eval.tsv\n")
    (skill,) = load_library([tmp_path]).skills
    assert (skill.templates, skill.evaluation, skill.is_real) == (
        tmp_path / "org.lamp/templates.genie",
        tmp_path / "org.lamp/eval.tsv",
        False,
    )


def test_the_texts_are_kept_to_show_mistakes(tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, LAMP)])
    assert library.sources == {
        str(tmp_path / "org.lamp/skill.tt"): "class @org.lamp { action dim(); }\n"
    }


def test_the_same_folders_give_the_same_library_whatever_the_hash_seed(tmp_path: Path) -> None:
    write_library(tmp_path, LAMP + BROKEN + CHILD)
    write_library(tmp_path, ">> x/manifest.tt\nclass @x extends @y, @z { entity e; entity f; }")
    program = (
        "import sys; from genie_dp.skills.check import check_library\n"
        "from genie_dp.skills.load import load_library\n"
        "library = load_library([sys.argv[1]], skip_broken=True)\n"
        "print(library, check_library(library, set()))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(shown) == 1


# -------------------------------------------------------------------------- broken skills


def test_without_skip_broken_nothing_comes_out(tmp_path: Path) -> None:
    with pytest.raises(GenieError):
        load_library([write_library(tmp_path, LAMP + BROKEN)])


def test_skip_broken_leaves_the_skill_out_and_says_so(tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, LAMP + BROKEN)], skip_broken=True)
    assert library.class_names() == ("org.lamp",)
    (skipped,) = library.skipped
    assert skipped.path == tmp_path / "org.bell"
    shown = render_problem(skipped.problems[0], library.sources)
    assert "org.bell/skill.tt:1:31: error[S001]" in shown
    assert " 1 | class @org.bell { action ring(; }" in shown


def test_skip_broken_leaves_out_what_extends_a_broken_skill(tmp_path: Path) -> None:
    text = LAMP + BROKEN + CHILD + GRANDCHILD
    library = load_library([write_library(tmp_path, text)], skip_broken=True)
    assert library.class_names() == ("org.lamp",)
    assert [s.path.name for s in library.skipped] == ["org.bell", "org.chime", "org.organ"]


def test_skip_broken_changes_nothing_where_nothing_is_broken(tmp_path: Path) -> None:
    write_library(tmp_path, LAMP)
    assert load_library([tmp_path], skip_broken=True) == load_library([tmp_path])


def test_all_broken_skills_are_skipped_even_if_none_is_left(tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, BROKEN)], skip_broken=True)
    assert (library.functions(), len(library.skipped)) == ((), 1)


# ------------------------------------------------------------------------------ encodings


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
def test_marks_and_line_ends_do_not_matter(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.tt").write_bytes(data)
    assert read_text(tmp_path / "x.tt") == "café\nx\n"


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_places_do_not_shift_with_marks_and_line_ends(before: bytes, tmp_path: Path) -> None:
    (tmp_path / "org.bell").mkdir()
    (tmp_path / "org.bell/skill.tt").write_bytes(before + b"class @org.bell {\r\n  action (;\r\n}")
    with pytest.raises(GenieError) as error:
        load_library([tmp_path])
    assert str(error.value.problems[0].span).endswith("skill.tt:2:10")


def test_text_that_is_no_utf_8_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "org.bell").mkdir()
    (tmp_path / "org.bell/skill.tt").write_bytes(
        b"// ok\r\n// \xc3\xa9 caf\xe9\nclass @org.bell {}"
    )
    with pytest.raises(GenieError) as error:
        load_library([tmp_path])
    (problem,) = error.value.problems
    assert (problem.code, problem.message) == ("K003", "expected UTF-8 text, got byte 0xE9")
    assert str(problem.span).endswith("skill.tt:2:9")
    assert "// é caf\ufffd" in str(error.value)


def test_utf_16_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.tt").write_bytes("class".encode("utf-16"))
    with pytest.raises(GenieError, match=r"expected UTF-8 text, got UTF-16 text"):
        read_text(tmp_path / "x.tt")


def test_a_value_list_with_bad_bytes_breaks_only_its_skill(tmp_path: Path) -> None:
    write_library(tmp_path, LAMP + ">> org.bell/skill.tt\nclass @org.bell {}\n")
    (tmp_path / "org.bell/values").mkdir()
    (tmp_path / "org.bell/values/tone.tsv").write_bytes(b"\xff\n")
    library = load_library([tmp_path], skip_broken=True)
    assert library.class_names() == ("org.lamp",)


# ----------------------------------------------------------------------------- value lists


def test_value_lists_are_named_after_their_skill_or_shared(tmp_path: Path) -> None:
    write_library(tmp_path, f"{LAMP}>> org.lamp/values/room.tsv\nkitchen\nhall\t3\n")
    write_library(tmp_path, ">> common/values/word.tsv\nvalue\tweight\nhello\t1\n")
    library = load_library([tmp_path])
    assert library.values("org.lamp:room") == ("kitchen", "hall")
    assert library.value_lists["org.lamp:room"].weights == (1.0, 3.0)
    assert library.values("tt:word") == ("hello",)
    assert library.values("tt:room") == ()


def test_a_header_may_order_the_columns(tmp_path: Path) -> None:
    write_library(
        tmp_path, f"{LAMP}>> org.lamp/values/room.tsv\nvalue\tsource\tweight\nhall\tinvented\t2\n"
    )
    library = load_library([tmp_path])
    assert library.value_lists["org.lamp:room"].weights == (2.0,)


def test_a_folder_with_only_values_can_be_given(tmp_path: Path) -> None:
    write_library(tmp_path, ">> common/values/word.tsv\nhello\n")
    assert load_library([tmp_path / "common"]).values("tt:word") == ("hello",)
