"""The rows that Wang et al. would have trained on."""

from dataclasses import replace

from wang import Wang, wang_rows

from genie_dp.records import Example


def made(id, derivation, program="now => @com.x.f", source="paraphrase", functions=("@com.x.f",)):
    return Example(
        id, id, program, source=source, derivation=tuple(derivation.split()), functions=functions
    )


BOTH = "now => @com.x.f => @com.x.g"
WANG = [
    made("synthetic", "command com.x.VP.1", source="synthetic"),
    made("augmented", "command com.x.VP.1", source="augmented"),
    made("first", "command com.x.VP.1"),
    made("again", "command com.x.VP.1"),
    made("other construct", "please command com.x.VP.1"),
    made("other primitive", "command com.x.VP.2"),
    made("compound", "and com.x.VP.1 com.x.VP.7", BOTH, functions=("@com.x.f", "@com.x.g")),
    made(
        "compound by other", "and com.x.VP.2 com.x.VP.7", BOTH, functions=("@com.x.f", "@com.x.g")
    ),
]


def kept(**settings):
    return [row.id for row in wang_rows(lambda: WANG, Wang(**settings))]


def test_wang_keeps_paraphrases_of_one_canonical_sentence_and_each_part_can_be_left_out():
    assert kept() == ["first", "again", "compound"]
    assert kept(one_template=False) == [row.id for row in WANG[2:]]
    assert kept(no_expansion=False) == ["augmented", "first", "again", "compound"]
    assert kept(paraphrases_only=False) == ["synthetic", "first", "again", "compound"]


def test_copies_of_synthesized_sentences_are_no_paraphrases():
    copies = [
        replace(made(f"copy of {id}", "command com.x.VP.1", source="augmented"), parent=id)
        for id in ("synthetic", "first")
    ]
    rows = [*copies, *WANG]
    found = [row.id for row in wang_rows(lambda: rows, Wang(no_expansion=False))]
    assert found == ["copy of first", "augmented", "first", "again", "compound"]
    everything = wang_rows(lambda: rows, Wang(paraphrases_only=False, no_expansion=False))
    assert {row.id for row in copies} <= {row.id for row in everything}


def test_templates_of_compound_commands_count_for_the_function_of_their_skill():
    rows = [
        made(str(k), f"and com.x.VP.{k // 2} com.y.NP.1", BOTH.replace("com.x.g", "com.y.g"),
             functions=("@com.x.f", "@com.y.g"))
        for k in range(5)
    ]  # fmt: skip
    assert {row.derivation[1] for row in wang_rows(lambda: rows)} == {"com.x.VP.0"}
