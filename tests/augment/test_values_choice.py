"""Which list gives the values of a parameter."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment.values import (
    LibraryValues,
    chosen_lists,
    kinds,
    lists_table,
    of_library,
    shipped_list,
    union,
    value_list,
)
from genie_dp.languages.types import NUMBER, STRING, Array, Entity
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from genie_dp.skills.words import join_tokens

SKILL = """
class @com.example.food {
  entity dish extends treat;
  entity treat;
  entity gadget;
  entity sauce;
  entity branch;
  entity subject #[string_values="tt:school_subject"];
  entity course extends subject;
  list query menu(
    in opt search : String #[string_values="com.example.food:word"],
    in opt note_to_cook : String,
    in opt order_id : String,
    in opt tableNumber : String,
    in opt song : String #[string_values="tt:song_title"],
    out dish : Entity(com.example.food:dish),
    out gadget : Entity(com.example.food:gadget),
    out sauces : Array(Entity(com.example.food:sauce)),
    out song_of_day : Entity(com.example.food:song),
    out branch : Entity(com.example.food:branch),
    out subject : Entity(com.example.food:subject),
    out course : Entity(com.example.food:course),
    out tune : Entity(com.example.food:song) #[string_values="tt:song_title"],
    out city : String,
    out topic : String #[string_values="com.example.food:headline"],
    out app : Entity(tt:app),
    out amount : Number,
    out picture : Entity(tt:picture));
}
"""
MENU = "@com.example.food.menu"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skills")
    skill = folder / "com.example.food"
    (skill / "values").mkdir(parents=True)
    (skill / "skill.tt").write_text(SKILL)
    (skill / "values" / "treat.tsv").write_text("value\tweight\ncandy\t3\nApple Pie\t1\n")
    (skill / "values" / "word.tsv").write_text("hot soup\n")
    (folder / "common" / "values").mkdir(parents=True)
    (folder / "common" / "values" / "song_title.tsv").write_text("my own song\n")
    return load_library([folder])


def chosen(library, type_, name, **more):
    return LibraryValues(library, **more).choose(type_, f"{MENU}:{name}")


def listed(name, *texts):
    return value_list(name, "", texts)


FOOD = "com.example.food:"


def texts(library, type_, name, **own):
    """Return the values of a parameter, with lists of the user's by their name."""
    lists = {use: listed("mine", text) for use, text in own.items()}
    return chosen(library, type_, name, own=lists).values.texts


def test_the_users_list_of_the_parameter_comes_first(library):
    own = {f"{MENU}:search": listed("a", "x"), "search": listed("b", "y")}
    found = chosen(library, STRING, "search", own=own)
    assert (found.origin, found.values.texts) == ("parameter", ("x",))
    del own[f"{MENU}:search"]
    assert chosen(library, STRING, "search", own=own).values.texts == ("y",)


def test_an_entity_takes_the_list_of_its_type_or_of_a_type_it_extends(library):
    dish = Entity(f"{FOOD}dish")
    choice = chosen(library, dish, "dish")
    assert (choice.origin, choice.values.texts) == ("entity", ("candy", "apple pie"))
    assert choice.values.weight(0) == 3
    assert texts(library, dish, "dish", **{f"{FOOD}dish": "cake"}) == ("cake",)
    # Elements of a list take the values of their type.
    sauces = Array(Entity(f"{FOOD}sauce"))
    assert texts(library, sauces, "sauces", **{f"{FOOD}sauce": "mint"}) == ("mint",)


def test_a_text_takes_the_list_of_its_tag_and_a_shared_one_that_of_its_kind_too(library):
    choice = chosen(library, STRING, "search")
    assert (choice.origin, choice.values.texts) == ("tag", ("hot soup",))
    choice = chosen(library, STRING, "song")
    assert choice.is_widened
    assert choice.values.texts == ("my own song", *shipped_list("song").texts)
    alone = chosen(library, STRING, "song", widen=False)
    assert (alone.is_widened, alone.values.texts) == (False, ("my own song",))


def test_a_list_of_the_user_takes_the_place_of_a_kind_or_a_part_of_it(library):
    # Of its own tag it is never joined with others.
    assert texts(library, STRING, "song", **{"tt:song_title": "la la"}) == ("la la",)
    assert texts(library, STRING, "song", song="la la") == ("my own song", "la la")
    assert texts(library, Entity(f"{FOOD}song"), "song_of_day", song="la la") == ("la la",)
    source = LibraryValues(library, own={"person_first_name": listed("mine", "zaphod")})
    values = source.values_for(STRING, "@x.y:person")  # by its name: the list is the user's
    assert values.texts == ("zaphod", *shipped_list("person_full_name").texts)


@pytest.mark.parametrize(
    ("name", "type_", "origin", "kind"),
    [
        ("subject", Entity(f"{FOOD}subject"), "shipped", "school_subject"),
        ("course", Entity(f"{FOOD}course"), "shipped", "school_subject"),
        ("app", Entity("tt:app"), "shipped", "app"),
        ("tune", Entity(f"{FOOD}song"), "tag", "song"),
        # Nothing tells of these, and a name is not enough.
        ("gadget", Entity(f"{FOOD}gadget"), "generic", "free_text"),
        ("branch", Entity(f"{FOOD}branch"), "generic", "free_text"),
        ("song_of_day", Entity(f"{FOOD}song"), "generic", "free_text"),
        ("city", STRING, "generic", "free_text"),
        ("topic", STRING, "generic", "free_text"),
        ("note_to_cook", STRING, "generic", "free_text"),
    ],
)
def test_a_declaration_or_a_standard_type_names_the_list(library, name, type_, origin, kind):
    choice = chosen(library, type_, name)
    assert (choice.origin, choice.values.kind) == (origin, kind)
    assert set(shipped_list(kind).texts) <= set(choice.values.texts)


def test_numbers_have_no_list(library):
    with pytest.raises(ValueError, match="written"):
        chosen(library, NUMBER, "amount")


def test_the_report_names_every_parameter_that_can_be_said(library):
    source = LibraryValues(library)
    rows = [line.split("\t") for line in lists_table(library, source)]
    assert rows[0] == ["parameter", "type", "chosen by", "list", "values"]
    by_name = {row[0].removeprefix(f"{MENU}:"): row[1:] for row in rows[1:]}
    assert "picture" not in by_name
    assert by_name["amount"] == ["Number", "written", "-", "-"]
    assert by_name["search"] == ["String", "tag", "com.example.food:word", "1"]
    assert by_name["song"][1:3] == ["tag", "tt:song_title + song"]


@pytest.fixture(scope="module")
def shipped():
    return load_library([data_folder("thingpedia")])


def test_hardly_a_parameter_of_the_shipped_skills_takes_any_text(shipped):
    uses = chosen_lists(shipped, LibraryValues(shipped))
    found = {use.parameter: use.choice for use in uses if use.choice}
    assert len(found) > 250
    assert [name for name, choice in found.items() if choice.origin == "generic"] == []
    assert min(len(choice.values) for choice in found.values()) >= 20


def test_shipped_skills_share_no_value_list_that_no_kind_widens_by_mistake(shipped):
    shared = [name for name in shipped.value_lists if name.startswith("tt:")]
    served = {use for kind in kinds().values() for use in kind.serves}
    assert [name for name in shared if name not in served] == []


def test_values_of_skills_are_split_into_tokens_as_utterances_are(shipped):
    texts = [text for found in shipped.value_lists.values() for text in of_library(found).texts]
    assert len(texts) > 2000
    assert [text for text in texts if join_tokens(text) != text] == []


# --------------------------------------------------------------------------------- the lists

TEXTS = st.lists(st.text("abc ", min_size=1, max_size=4).filter(str.strip), min_size=1)


@given(TEXTS, st.floats(0, 1, exclude_max=True))
def test_every_share_picks_a_value(texts, share):
    values = value_list("x", "", texts, [1.0 + len(text) for text in texts])
    assert 0 <= values.pick(share) < len(values)


@given(TEXTS)
def test_weights_decide_how_often_a_value_is_drawn(texts):
    values = value_list("x", "", texts, [float(len(text)) for text in texts])
    count = 2000
    picks = [values.pick((i + 0.5) / count) for i in range(count)]
    total = sum(values.weight(i) for i in range(len(values)))
    for index in range(len(values)):
        share = values.weight(index) / total
        assert abs(picks.count(index) / count - share) < 0.002


@given(TEXTS, st.integers(1, 3))
def test_a_limit_on_words_keeps_weights(texts, most):
    values = value_list("x", "", [" ".join(t.split()) for t in texts], range(1, len(texts) + 1))
    short = values.within(most)
    assert short.texts == tuple(t for t in values.texts if len(t.split()) <= most)
    weights = {text: values.weight(i) for i, text in enumerate(values.texts)}
    scale = {short.weight(i) / weights[t] for i, t in enumerate(short.texts)}
    assert len({round(s, 6) for s in scale}) <= 1 or not short.cumulative


def test_a_union_compares_weights_inside_of_a_list_only():
    first = value_list("a", "", ["x", "y"], [300, 100])
    second = value_list("b", "", ["x", "z", "u", "v"], [1, 1, 1, 1])
    joined = union("both", "", [first, second])
    assert [joined.weight(i) for i in range(5)] == [1.5, 0.5, 1, 1, 1]
    even = union("both", "", [first, value_list("c", "", ["z", "u"])], even=True)
    assert [even.weight(i) for i in range(4)] == [0.75, 0.25, 0.5, 0.5]


def test_draws_are_the_same_for_the_same_seed():
    values = shipped_list("city")
    draws = [[values.draw(Random(seed)) for seed in range(50)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 30


def test_ids_are_numbers_and_codes_in_every_language(library):
    for name in ("order_id", "tableNumber"):
        for shipped in (True, False):
            choice = chosen(library, STRING, name, shipped=shipped)
            assert (choice.values.name, choice.origin) == ("code", "shipped")
            assert sum(text.isdigit() for text in choice.values.texts) > len(choice.values) / 4
    assert texts(library, STRING, "order_id", code="x1") == ("x1",)
