"""Constants that are compared with a parameter of another type: names with texts, `id =~ v`."""

import re

import pytest

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import AugmentEngine, augment
from genie_dp.augment.values import LibraryValues, value_list
from genie_dp.records import Example
from genie_dp.rows import from_json
from genie_dp.templates.cache import load_inputs
from tests.augment.augment_rows import SILENT
from tests.synthesis.synthesis_setup import engine, text_of

SKILL = """
class @com.example.zoo {
  entity beast #_[canonical="beast"];
  list query beasts(
    out id : Entity(com.example.zoo:beast) #[unique=true] #_[canonical={passive_verb=["called #"]}],
    out story : String #_[canonical={base=["story"]}])
    #_[canonical="beast"];
}
"""
GRAMMAR = """
category COMMAND : program root;
category NP : query "beasts";
NP := 'beasts' -> @com.example.zoo.beasts();
COMMAND := 'find' q:NP p:OUTPUT[pos=passive_verb, gap=v:VALUE] -> now => q filter p =~ v => notify
  if p.function == q.function and p.is_unique and v.type == 'String';
COMMAND := 'get' q:NP 'with' v:VALUE 'in the' p:OUTPUT[pos=base] -> now => q filter p =~ v => notify
  if p.function == q.function and p.is_text and v.type == 'String';
"""
NAMES = ("old leo", "zora the zebra", "mad max")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "com.example.zoo").mkdir()
    (folder / "com.example.zoo" / "skill.tt").write_text(SKILL)
    (folder / "main.genie").write_text(GRAMMAR)
    return load_inputs("thingtalk", [folder], [folder / "main.genie"])


@pytest.fixture(scope="module")
def rows(inputs):
    return tuple(map(from_json, text_of(engine(inputs, size=50)).splitlines()))


def test_a_text_that_a_name_is_compared_with_has_its_slot(rows):
    fills = {row.utterance: row.slots["QUOTED_STRING_0"].parameter for row in rows}
    assert fills == {
        "find beasts called QUOTED_STRING_0": "@com.example.zoo.beasts:id",
        "get beasts with QUOTED_STRING_0 in the story": "@com.example.zoo.beasts:story",
    }


@pytest.mark.parametrize("use", ["@com.example.zoo.beasts:id", "com.example.zoo:beast"])
@pytest.mark.parametrize("has_slots", [True, False])  # TSV has none
def test_its_values_are_of_the_list_of_the_name(use, has_slots, inputs, rows):
    given = [row if has_slots else Example(row.id, row.utterance, row.program) for row in rows]
    lists = LibraryValues(inputs.library, {use: value_list("names", "", NAMES)})
    config = AugmentConfig(**SILENT, quoted=0.0, primitive=40)
    made = list(augment(given, AugmentEngine(config, lists, inputs.language, inputs.library)))
    texts = [m[1] for row in made if (m := re.search(r':beast\) =~ " (.*?) "', row.program))]
    assert len(texts) > 5
    assert all(any(text in name for name in NAMES) for text in texts)
