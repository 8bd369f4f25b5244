"""The nearest training sentence as a baseline."""

from hypothesis import given
from hypothesis import strategies as st

from genie_dp.evaluate.baseline import NearestNeighbour, align_placeholders
from genie_dp.records import Example

ROWS = [
    Example("a", "add NUMBER_0 and NUMBER_1", "( add NUMBER_0 NUMBER_1 )"),
    Example("b", "open the door", "( open door )"),
    Example("c", "open the window", "( open window )"),
    Example("d", "open the blue window", "( open blue )"),
]


def programs(found):
    return [guess.program for guess in found[0]]


def test_a_training_sentence_is_nearest_to_itself_and_sure_of_it():
    found = NearestNeighbour(ROWS).predict([row.utterance for row in ROWS])
    assert [guesses[0].program for guesses in found] == [row.program for row in ROWS]
    assert all(guesses[0].confidence > 0.999 for guesses in found)


def test_rare_words_weigh_more():
    found = NearestNeighbour(ROWS, best=3).predict(["please open the blue door now"])
    assert programs(found)[0] in ("( open blue )", "( open door )")
    assert NearestNeighbour(ROWS).predict(["the door"])[0][0].program == "( open door )"


def test_the_list_has_different_programs_and_falling_confidences_but_none_for_unknown_words():
    found = NearestNeighbour([*ROWS, *ROWS], best=3).predict(["open the window", "quantum"])
    assert len(set(programs(found))) == 3
    confidences = [guess.confidence for guess in found[0]]
    assert confidences == sorted(confidences, reverse=True)
    assert found[1] == []


def test_the_order_of_training_rows_is_of_no_account():
    same = [Example(str(k), "do it", f"( do {k} )") for k in range(5)]
    asked = ["do it", "open it", "NUMBER_3"]
    assert NearestNeighbour(same + ROWS).predict(asked) == NearestNeighbour(
        ROWS[::-1] + same[::-1]
    ).predict(asked)

    # Of sentences as near the more frequent program is taken.
    rows = [
        Example(str(k), "do it", program) for k, program in enumerate(["( a )", *["( b )"] * 2])
    ]
    assert programs(NearestNeighbour(rows, best=2).predict(["do it"])) == ["( b )", "( a )"]


@given(st.permutations(["NUMBER_0", "NUMBER_1", "NUMBER_2", "DATE_0", "DATE_1"]))
def test_placeholders_get_the_numbers_of_the_sentence(order):
    said = "NUMBER_0 NUMBER_1 NUMBER_2 DATE_0 DATE_1"
    assert align_placeholders(said, said, said) == said
    moved = align_placeholders(said, said, " ".join(order)).split()
    assert moved[:3] == [word for word in order if word.startswith("NUMBER")]
    assert moved[3:] == [word for word in order if word.startswith("DATE")]
    # Those of another sort stay.
    program = "param:a = GENERIC_ENTITY_tt:contact_0 NUMBER_0 PHONE_NUMBER_0 NUMBER_01"
    said = "GENERIC_ENTITY_tt:contact_0 NUMBER_0 PHONE_NUMBER_0"
    wanted = "GENERIC_ENTITY_tt:contact_1 NUMBER_4"
    assert align_placeholders(program, said, wanted) == (
        "param:a = GENERIC_ENTITY_tt:contact_1 NUMBER_4 PHONE_NUMBER_0 NUMBER_01"
    )
