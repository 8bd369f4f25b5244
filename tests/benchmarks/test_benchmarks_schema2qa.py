"""Of an invented schema come a skill, a grammar and questions with the right programs."""

import pytest
import schema2qa

import genie_dp as gd
from genie_dp.records import Example
from genie_dp.rows import to_json
from genie_dp.skills.load import load_library


def param(name, kind, canonical, **more):
    return {"name": name, "dir": "out", "type": kind, "nl": {"canonical": canonical}, **more}


GARDEN = {
    "class": "@org.garden",
    "entities": [{"name": "Tool"}, {"name": "Gardener"}, {"name": "Shed"}],
    "functions": [
        {
            "name": "Tool",
            "nl": {"canonical": ["garden tool"]},
            "params": [
                param("id", "Entity(org.garden:Tool)", {"base": ["name"]}),
                param("weight", "Number", {"base": ["weight"], "adjective_argmax": ["heaviest"]}),
                param("madeBy", "Entity(org.garden:Gardener)",
                      {"base": ["maker"], "passive_verb": ["forged by"]}),
                param("label", "String", {"base": ["label"]}, impl={"filterable": False}),
            ],
        },
        {
            "name": "Shed",
            "nl": {"canonical": "shed"},
            "params": [
                param("id", "Entity(org.garden:Shed)", {"base": ["name"]}),
                param("tools", "Array(Entity(org.garden:Tool))", {"base": ["tools"]}),
                param("hours", "RecurrentTimeSpecification", {"verb": ["opens at"]}),
                param("size", "Compound", {"default": "property"},
                      fields=[param("floor", "Number", {"base": ["floor"]})]),
            ],
        },
    ],
}  # fmt: skip
TABLES = ("Shed", "Tool")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    work = schema2qa.Work(tmp_path_factory.mktemp("work"))
    skill = schema2qa.folder_of(work, "skill", schema2qa.skill_files(GARDEN, TABLES))
    grammar = schema2qa.folder_of(work, "grammar", schema2qa.grammar_files(GARDEN, TABLES))
    return skill, grammar


def test_phrases_of_a_schema_are_ours(folders):
    library = load_library([folders[0]])
    maker = library.phrases("@org.garden.Tool", "madeBy")
    assert maker["passive_verb"][:2] == ("forged by #", "by the maker #")
    assert maker["plural"] == ("makers",)
    assert library.phrases("@org.garden.Tool", "weight")["most"] == ("heaviest",)
    assert library.phrases("@org.garden.Tool", "label").keys() == {"base", "plural"}
    assert library.phrases("@org.garden.Shed", "size.floor")["base"] == ("floor",)
    assert library.phrases("@org.garden.Shed", "hours") == {"base": ("hours",)}


def test_questions_have_programs_as_the_data_set_writes_them(folders):
    skill, grammar = folders
    rows = gd.synthesize(skill, grammar, size=2_000, seed=1, max_depth=4)
    said = {row.utterance: row for row in rows}
    compared = [row.program for row in said.values() if " weight " in row.utterance]
    assert compared
    assert not any(" > " in program or " < " in program for program in compared)
    heaviest = [row.program for words, row in said.items() if "heaviest tool" in words]
    assert heaviest
    assert all("sort param:weight:Number desc" in program for program in heaviest)


def test_rows_of_a_table_that_another_one_lists_are_joined_with_their_condition(folders):
    joined = "( @org.garden.Shed ) join ( @org.garden.Tool )"
    row = Example(
        "1", "show tools of sheds", f"now => {joined} => notify",
        derivation=("joined.Shed.tools",), functions=("@org.garden.Shed", "@org.garden.Tool"),
    )  # fmt: skip
    program = schema2qa.with_condition(row, load_library([folders[0]]))
    listed = "Entity(org.garden:Tool)"
    condition = f"param:id:{listed} in_array param:tools:Array({listed})"
    assert program == f"now => ( {joined} ) filter {condition} => notify"


@pytest.mark.parametrize(
    ("utterance", "direction", "is_kept"),
    [("the longest pole", "desc", True), ("the shortest pole", "desc", False),
     ("the shortest pole", "asc", True), ("poles by length", "desc", True)],
)  # fmt: skip
def test_paraphrases_whose_words_contradict_their_order_are_left_out(
    tmp_path, utterance, direction, is_kept
):
    program = f"now => ( ( @a.poles ) sort param:length:Number {direction} ) [ 1 ] => notify"
    path = tmp_path / "rows.jsonl"
    path.write_text(to_json(Example("1", utterance, program)) + "\n", encoding="utf-8")
    assert bool([*schema2qa.sound(path)]) is is_kept
