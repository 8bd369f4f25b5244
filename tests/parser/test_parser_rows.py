"""Rows that parsers learn from: what is prepared, kept out, held out, and how it is stored."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment.skill_rows import skill_rows
from genie_dp.dataset.scan import hash_of
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.locale import words_of
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.parser.contrast import add_contrast
from genie_dp.parser.rows import (
    HeldOut,
    Reading,
    Rows,
    RowStore,
    Style,
    grammar_texts,
    learn_reading,
    locale,
    oldest_of,
    read_all,
    target_of,
)
from genie_dp.skills.load import load_library
from tests.dataset.dataset_rows import row, write
from tests.parser.parser_setup import HOME, INBOX, MAIL, SEND, rows, write_rows

TOKENS = st.lists(st.text("abc", min_size=1, max_size=3), max_size=6).map(" ".join)


def target(style=None):
    return target_of(style or Style(), "thingtalk", load_library([MAIL, HOME]))


def config(path, **settings):
    return ParserConfig((InputFile(str(path)),), **{"steps": 1, "held_out": 0.0, **settings})


@given(st.lists(st.tuples(TOKENS, TOKENS)))
def test_a_store_gives_every_row_back(made):
    store = RowStore()
    for sentence, program in made:
        store.add(sentence, program, weight=0.5)
    found = [(" ".join(p.sentence), " ".join(p.program)) for p in store]
    assert found == made
    assert [len(p.sentence) + len(p.program) + 1 for p in store] == list(store.lengths())
    assert {p.weight for p in store} <= {0.5}


def test_a_text_with_a_value_in_it_is_learned_in_the_form_in_which_it_will_be_asked(tmp_path):
    program = f'now => ( {INBOX} ) filter param:subject:String == " see you at 5 pm " => notify'
    made = row("H1", "mail about see you at 5 pm", program, source="augmented")
    path = write(tmp_path / "a.jsonl", [made])
    found = read_all(config(path), target(), Reading())
    pair = found.parts[0][0]
    assert " ".join(pair.sentence) == "mail about see you at TIME_0"
    assert '" see you at TIME_0 "' in " ".join(pair.program)


@pytest.mark.parametrize("is_prepared", [True, False])
def test_rows_that_nothing_is_learned_from_are_left_out_and_counted(tmp_path, is_prepared):
    size = f"now => ( {INBOX} ) filter param:size:Measure(byte) > 7 unit:GB => notify"
    made = [
        row("S96", "beep", "now => @com.example.horn.beep"),
        row("S98", "show mail", f"now => ( {INBOX} ) filter => notify"),
        row("S99", "show mail", f"now => ( {INBOX} ) filter param:subject:String > 5 => notify"),
        *([row("H1", "mail larger than 5 gb", size, source="human")] if is_prepared else []),
    ]
    path = write(tmp_path / "a.jsonl", [*made, *rows()])
    found = read_all(config(path, prepare=is_prepared), target(), Reading())
    assert found.left == {
        "a function that the skills do not have": 1, "not a program": 1,
        "a program that is not well-typed": 1,
        **({"value not in program": 1} if is_prepared else {}),
    }  # fmt: skip
    assert len(found.parts[0]) == len(rows())


def test_programs_are_learned_in_canonical_form(tmp_path):
    conditions = ['param:subject:String == " tea "', "param:is_read:Boolean == true"]
    programs = [
        f"now => ( {INBOX} ) filter {' and '.join(order)} => notify"
        for order in (conditions, conditions[::-1])
    ]
    made = [row(f"H{i}", "read mail about tea", p) for i, p in enumerate(programs)]
    path = write(tmp_path / "a.jsonl", made)
    found = read_all(config(path), target(), Reading())
    assert len({pair.program for pair in found.parts[0]}) == 1


def test_the_result_does_not_depend_on_the_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("genie_dp.parser.rows._BLOCK", 5)
    path = write_rows(tmp_path)
    one, two = (read_all(config(path), target(), Reading(), jobs=jobs) for jobs in (1, 2))
    assert list(one.parts[0]) == list(two.parts[0])
    assert one.texts == two.texts


def test_copies_of_a_row_that_is_not_there_are_held_out_together(tmp_path):
    made = [replace(x, id=f"{x.id}-{n}", parent=x.id, source="augmented")
            for x in rows() for n in range(4)]  # fmt: skip
    path = write(tmp_path / "a.jsonl", made)
    found = read_all(config(path, held_out=0.3), target(), Reading())
    held = {said for said, _ in found.held_out}
    assert 0 < len(held) < 32
    assert not held & {" ".join(pair.sentence) for pair in found.parts[0]}
    whole = read_all(config(path, held_out=0.3), target(), Reading(), hold_out=False)
    assert (len(whole.parts[0]), len(whole.held_out)) == (len(made), 0)


@pytest.mark.parametrize("sources", [("",), ("synthetic", "paraphrase", "augmented")])
def test_copies_of_paraphrases_are_held_out_with_the_rows_that_were_paraphrased(tmp_path, sources):
    made = []
    for one in rows():
        said = replace(one, id=f"P{one.id}", parent=one.id, source="paraphrase")
        copy = replace(one, id=f"A{one.id}", parent=said.id, source="augmented")
        made += [
            replace(copy, utterance=f"hey {one.utterance}"),
            replace(said, utterance=f"please {one.utterance}"),
            one,
        ]
    path = str(write(tmp_path / "a.jsonl", made))
    inputs = tuple(InputFile(path, source) for source in sources)
    chosen = ParserConfig(inputs, steps=1, held_out=0.4)
    found = read_all(chosen, target(), Reading())

    def family(said):
        return said.removeprefix("hey ").removeprefix("please ")

    held = {family(said) for said, _ in found.held_out}
    kept = {family(" ".join(pair.sentence)) for part in found.parts for pair in part}
    assert len(found.held_out) + sum(map(len, found.parts)) == len(made)
    assert held
    assert kept
    assert not held & kept


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdef"), max_size=6))
def test_every_row_of_a_chain_of_parents_has_one_family_even_where_it_is_a_circle(parents):
    made = [row(id, parent=parent) for id, parent in parents.items()]
    oldest = oldest_of(made)
    assert oldest_of(made[::-1]) == oldest

    def family(id):
        above = hash_of(parents.get(id, id))
        return oldest.get(above, above)

    for id, parent in parents.items():
        assert family(id) == family(parent)


def test_rows_that_are_held_out_do_not_depend_on_the_order_of_files(tmp_path):
    every = rows()
    paths = [
        write(tmp_path / f"{i}.jsonl", part) for i, part in enumerate((every[::2], every[1::2]))
    ]
    files = [InputFile(str(path)) for path in paths]

    def held(inputs, most):
        chosen = ParserConfig(tuple(inputs), steps=1, held_out=0.9, validation_rows=most)
        return list(read_all(chosen, target(), Reading()).held_out)

    one, other, whole = held(files, 3), held(files[::-1], 3), held(files, 999)
    assert one == other == whole[:3]
    assert len(whole) > 3


@pytest.mark.parametrize("most", [0, 1, 7, 100])
def test_the_sample_of_a_stream_is_that_of_all_of_it_and_has_no_row_twice(most):
    keys = [str(i % 40) for i in range(200)]
    found, smaller = HeldOut(most), HeldOut(most // 2)
    for key in keys:
        found.add(key, key)
        smaller.add(key, key)
    assert len(set(found)) == len(list(found)) == len(found) == min(most, 40)
    assert list(smaller) == list(found)[: most // 2]


def test_an_input_may_be_one_source_of_a_file_that_has_such_rows(tmp_path):
    some = [replace(one, source="paraphrase") for one in rows()[:3]]
    path = str(write(tmp_path / "a.jsonl", [*some, *rows()[3:]]))
    chosen = ParserConfig((InputFile(path, "paraphrase"),), steps=1, held_out=0.0)
    assert len(read_all(chosen, target(), Reading()).parts[0]) == 3
    with pytest.raises(GenieError, match="N004"):
        read_all(replace(chosen, inputs=(InputFile(path, "human"),)), target(), Reading())


def test_constants_of_templates_are_allowed_in_programs(tmp_path):
    to = "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0"
    program = f'now => {SEND} param:subject:String = " hello there " {to}'
    path = write(tmp_path / "a.jsonl", [row("S1", "greet EMAIL_ADDRESS_0", program)])
    found = read_all(config(path), target(), Reading())
    assert '" hello there "' in grammar_texts(found, "thingtalk")


def test_phrases_and_constants_are_learned_from_one_sample_whatever_the_seed(tmp_path, monkeypatch):
    monkeypatch.setattr("genie_dp.parser.rows.SAMPLE", 10)
    size = "param:size:Measure(byte)"
    made = [
        row(f"S{n}", "show huge mail", f"now => ( {INBOX} ) filter {size} > {n} unit:MB => notify")
        for n in range(40)
    ]
    path = write_rows(tmp_path, made)
    found = [learn_reading(config(path, seed=seed), target()) for seed in range(4)]
    assert len(found[0].fixed) == 10
    assert found == found[:1] * 4


def test_ablations_write_programs_of_thingtalk_in_another_style(tmp_path):
    path = write_rows(tmp_path)

    def programs(**style):
        found = read_all(config(path, **style), target(Style(**style)), Reading())
        return [" ".join(pair.program) for pair in found.parts[0]]

    assert any("param:subject == " in program for program in programs(types=False))
    assert any(f"{SEND} EMAIL_ADDRESS_0" in program for program in programs(keywords=False))
    sent = [program for program in programs(canonical=False) if SEND in program]
    assert len({program.split(f"{SEND} ")[1].split()[0] for program in sent}) == 2
    with pytest.raises(GenieError, match="N003"):
        target_of(Style(types=False), "sexpr", None)


@pytest.mark.parametrize("said", ["mail on lunch", "mail on\u2028lunch", "mail\x0con\x85lunch"])
def test_real_sentences_of_skills_become_rows(tmp_path, said):
    folder = tmp_path / "com.example.mail"
    folder.mkdir()
    code = 'now => (@com.example.mail.inbox()) filter subject == "lunch" => notify'
    text = f"utterance\tprogram\n{said}\t{code}\n"
    (folder / "eval.tsv").write_text(text, encoding="utf-8")
    (found,) = skill_rows([tmp_path], get_language("thingtalk"), load_library([MAIL]))
    assert (found.id, found.utterance, found.source) == ("com.example.mail:2", said, "human")
    assert found.program == rows()[0].program
    assert found.functions == (INBOX,)


def test_every_mistake_of_real_sentences_is_shown_where_it_stands(tmp_path):
    file = tmp_path / "eval.tsv"
    good = "now => @com.example.home.light(power = enum(on))"
    file.write_text(
        f"utterance\tprogram\nlight\t{good}\nlight on\tnow => @com.example.home.lamp()\n"
        f"\t{good}\nlamp\tnow => @com.example.home.light(\nlight\t \nlight\n"
    )
    with pytest.raises(GenieError) as error:
        list(skill_rows([tmp_path], get_language("thingtalk"), load_library([HOME])))
    assert [(p.code, str(p.span).removeprefix(f"{file}:")) for p in error.value.problems] == [
        ("T003", "3:17"), ("N021", "4:1"), ("S003", "5:37"), ("N021", "6:1"), ("N021", "7:1"),
    ]  # fmt: skip
    assert str(file) in error.value.sources
    with pytest.raises(GenieError, match="N020"):  # there are none
        list(skill_rows([HOME], get_language("thingtalk"), load_library([HOME])))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"region": 5}, "locale: region: expected a text, got 5"),
        ({"region": "gb"}, "locale: region: expected two capital letters"),
        ({"currency": "USD"}, "locale: currency: expected the code of a currency in lower case"),
        ({"temperature": "K"}, "locale: temperature: expected C or F"),
        ({"day_first": "yes"}, "locale: day_first: expected true or false"),
        ({"morning": 24}, "locale: morning: expected an hour from 1 to 23"),
        ({"night": 0}, "locale: night: expected an hour from 1 to 23"),
        ({"regoin": "GB"}, "locale: unknown setting 'regoin'"),
    ],
)
def test_a_locale_that_no_text_is_read_with_is_a_mistake_of_the_recipe(wrong, told):
    with pytest.raises(GenieError) as error:
        locale(config("rows.jsonl", locale=wrong))
    (problem,) = error.value.problems
    assert problem.code == "N002"
    assert problem.message.startswith(told)


# ---------------------------------------------------------------------------- contrast rows

MAIL_OF = "now => ( @com.example.mail.inbox ) filter param:size:Measure(byte) {} MEASURE_byte_0"
LIGHT_IS = "now => @com.example.home.light param:power:Enum(on,off) = enum:{}"
LOCKED = "now => ( @com.x.locks ) filter param:is_locked:Boolean == {}"


@pytest.mark.parametrize(
    ("said", "program", "opposite", "expected"),
    [
        ("mail larger than MEASURE_byte_0", MAIL_OF.format(">"),
         "mail smaller than MEASURE_byte_0", MAIL_OF.format("<")),
        ("mail of at most MEASURE_byte_0", MAIL_OF.format("<="),
         "mail of at least MEASURE_byte_0", MAIL_OF.format(">=")),
        ("turn the light off", LIGHT_IS.format("off"),
         "turn the light on", LIGHT_IS.format("on")),
        ("which doors are unlocked", LOCKED.format("false"),
         "which doors are locked", LOCKED.format("true")),
        # The word says nothing of the sign, or two say it, or it is a value.
        ("mail on my list of MEASURE_byte_0", MAIL_OF.format(">"), None, None),
        ("turn the light on and not off", LIGHT_IS.format("on"), None, None),
        ("what is locked off my doors", LOCKED.format("false"), None, None),
        ("smaller mail than MEASURE_byte_0", MAIL_OF.format(">"), None, None),
    ],
)  # fmt: skip
def test_a_row_is_turned_into_its_opposite_where_one_word_says_its_sign(
    said, program, opposite, expected
):
    known = [LIGHT_IS, LOCKED, MAIL_OF]
    signs = ("on", "off", "true", "false", ">", "<", ">=", "<=")
    own = RowStore()
    own.add(said, program)
    other = RowStore()  # the programs that other rows have
    for number, text in enumerate(text.format(sign) for text in known for sign in signs):
        other.add(f"row {number}", text)
    rows = Rows(parts=[own, other])
    add_contrast(rows, words_of("en"))
    made = [(" ".join(pair.sentence), " ".join(pair.program)) for pair in rows.contrast]
    assert made[:1] == ([(opposite, expected)] if opposite else [])
    assert {program for _, program in made} <= {expected}  # others say it in other words


def test_an_opposite_that_rows_say_already_or_no_row_means_is_not_made():
    both, alone = RowStore(), RowStore()
    both.add("turn it on", LIGHT_IS.format("on"))
    both.add("turn it off", LIGHT_IS.format("off"))
    alone.add("turn the light on", LIGHT_IS.format("on"))
    for store in (both, alone):
        rows = Rows(parts=[store])
        add_contrast(rows, words_of("en"))
        assert not len(rows.contrast)
