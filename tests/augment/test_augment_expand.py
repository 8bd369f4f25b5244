"""Laws of expansion: sentence and program stay in step, and programs canonical."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import augment, json_lines, make_block, tsv_lines
from genie_dp.augment.expand import is_fit, is_telling
from genie_dp.augment.expand_places import placeholder
from genie_dp.augment.values import shipped_list, value_list
from genie_dp.errors import GenieError
from genie_dp.paraphrase.example_values import is_then
from genie_dp.records import Example, Slot
from genie_dp.rows import to_json
from tests.augment.augment_rows import (
    INBOX,
    PEOPLE,
    ROWS,
    SEXPR,
    SILENT,
    TEXTS,
    THINGTALK,
    Lists,
    engine,
    library,
    placeholders,
    quoted,
)

MANY = {"primitive": 12, "compound": 12}
LOUD = {
    "filler": 1.0, "drop_article": 1.0, "typo": 1.0, "drop_punctuation": 1.0, "number_words": 1.0,
}  # fmt: skip


def checked(program: str) -> str:
    """Return the canonical form of a program that must type-check."""
    tree = THINGTALK.from_tokens(program)
    assert not THINGTALK.check(tree, library())
    return THINGTALK.tokens(THINGTALK.canonical(tree, library()), library())


def made(one: Example, values=None, **settings) -> list[Example]:
    return list(augment([one], engine(values, **settings)))


def plain(start: str, values=None, **settings) -> list[Example]:
    """Return what is made of a row (by the beginning of its sentence) without noise."""
    one = start if isinstance(start, Example) else by_start(start)
    return made(one, values, **{**MANY, **SILENT, "quoted": 0, **settings})


def by_start(start: str) -> Example:
    return next(row for row in ROWS if row.utterance.startswith(start))


@pytest.mark.parametrize("settings", [{}, {"quoted": 0.5}, {"written": 1.0}, LOUD], ids=str)
def test_every_program_is_well_typed_and_canonical(settings):
    rows = list(augment(ROWS, engine(**MANY, **settings)))
    assert len(rows) >= 80
    wrong = [copy.program for copy in rows if checked(copy.program) != copy.program]
    assert not wrong


def test_the_words_of_a_value_stand_together_in_the_sentence_whatever_the_noise():
    for copy in augment(ROWS, engine(**MANY, **LOUD, quoted=0.2)):
        said = f" {copy.utterance} "
        assert all(f" {words} " in said for words in quoted(copy.program))


def test_places_are_filled_with_values_of_their_lists():
    for copy in plain("mail QUOTED"):
        subject, to = quoted(copy.program)
        assert subject in TEXTS
        assert to in PEOPLE
        assert f'" {to} " ^^tt:email_address' in copy.program
        assert copy.utterance == f"mail {subject} to {to}"


def test_placeholders_that_stay_are_the_same_on_both_sides_and_begin_at_0():
    for copy in augment(ROWS, engine(**MANY, quoted=0.5)):
        left = placeholders(copy.utterance)
        assert left == placeholders(copy.program) == sorted(copy.slots)
        assert len(set(left)) == len(left)
        stems = {}
        for token in left:
            stem, number, _ = placeholder(token)
            stems.setdefault(stem, []).append(number)
        assert all(sorted(numbers) == list(range(len(numbers))) for numbers in stems.values())


def values_by_place(parent: str, program: str) -> dict[str, str]:
    """Return placeholder -> words; the programs must be alike but for them."""
    found = {}
    words = program.split(" ")
    at = 0
    for token in parent.split(" "):
        if placeholder(token) and words[at] == '"':
            end = words.index('"', at + 1)
            found[token] = " ".join(words[at + 1 : end])
            at = end + 1
            at += at < len(words) and words[at].startswith("^^")
        else:
            assert words[at] == token
            at += 1
    return found


def test_without_noise_a_sentence_with_its_values_taken_out_is_the_input():
    expander = engine().expander()
    in_order = [one for one in ROWS if not expander.template(one).is_sorted_by_values]
    assert len(in_order) >= 15
    for one in in_order:
        for copy in plain(one):
            values = values_by_place(one.program, copy.program)
            back = one.utterance
            for token, words in values.items():
                back = back.replace(token, words)
            assert copy.utterance.replace(" an ", " a ") == back.replace(" an ", " a ")


def test_conditions_are_sorted_anew_where_their_values_ask_for_it():
    orders = set()
    for copy in plain("emails with the label"):
        first, second = quoted(copy.program)
        orders.add(copy.utterance.index(first) < copy.utterance.index(second))
        assert first < second
    assert orders == {True, False}


def test_the_article_before_a_value_fits_it():
    values = Lists({"Entity(com.example.mail:folder)": ("apple", "pear")})
    said = {copy.utterance for copy in plain("what is in a", values)}
    assert said == {"what is in an apple folder", "what is in a pear folder"}


def test_no_value_comes_twice_in_a_sentence():
    for copy in plain("send an EMAIL", Lists({"String": ("red", "blue")})):
        words = quoted(copy.program)
        assert len(set(words)) == len(words) == 3  # the address, red and blue
        assert placeholders(copy.utterance) == ["QUOTED_STRING_0"]
    # Nor is a value drawn that the program has already.
    values = Lists({"String": ("the boss", "lunch")})
    said = [quoted(copy.program) for copy in plain("let the boss", values)]
    assert ["the boss", "lunch"] in said
    assert ["the boss", "the boss"] not in said


# ----------------------------------------------------------------------------- which values


def words_of(start: str, values=None, **settings) -> list[str]:
    return [quoted(copy.program)[0] for copy in plain(start, values, **settings)]


def test_a_contains_filter_gets_a_part_of_a_longer_text():
    said = set(words_of("get the emails that mention", primitive=60, max_window=3))
    assert all(any(f" {words} " in f" {text} " for text in TEXTS) for words in said)
    assert max(len(words.split()) for words in said) == 3
    assert len(said - set(TEXTS)) > 10
    assert all(is_telling(words.split()) for words in said)


@pytest.mark.parametrize(("word", "at"), [("begin", str.startswith), ("end", str.endswith)])
def test_what_a_text_begins_or_ends_with_is_taken_from_there(word, at):
    said = set(words_of(f"emails that {word}", primitive=40))
    assert len(said) > 5
    assert all(any(at(text, words) for text in TEXTS) for words in said)


def test_values_that_are_too_long_or_not_the_same_on_both_sides_are_never_drawn():
    said = set(words_of("show me emails", primitive=50, max_words=2))
    assert said == {text for text in TEXTS if len(text.split()) <= 2}
    unfit = ('say " hi', "back\\slash", "tab\there", "NUMBER_0", "\ue000", "")
    values = Lists({"String": (*unfit, "fine")})
    assert set(words_of("show me emails", values, primitive=60)) == {"fine"}


@given(st.lists(st.text(min_size=1, max_size=14), min_size=1, max_size=4, unique=True))
def test_whatever_the_values_the_program_has_the_words_of_the_sentence(texts):
    one = ROWS[0]
    before, after = one.utterance.split("QUOTED_STRING_0")
    copies = plain(one, Lists({"String": tuple(texts)}), primitive=6)
    fit = {text for text in texts if is_fit(text) and text.count(" ") < 10}
    for copy in copies:
        assert checked(copy.program) == copy.program
        value = THINGTALK.from_tokens(copy.program).rules[0].query.predicate.value
        if fit:
            assert value.text in fit
            assert copy.utterance == f"{before}{value.text}{after}"
        else:
            assert copy.utterance == one.utterance


def test_a_place_without_values_stays_and_is_reported():
    made_by = engine(Lists({"String": ()}), primitive=3, **SILENT)
    expander = made_by.expander()
    block = make_block(made_by, expander, 0, [(ROWS[0], ("rows.jsonl", 1))])
    assert block.rows == 1
    assert block.empty == ("@com.example.mail.inbox:subject",)
    assert json.loads(block.text)["program"] == ROWS[0].program


def test_some_texts_are_of_any_kind_if_asked():
    said = words_of("show me emails", primitive=40, free_text_rate=0.5)
    own = sum(words in TEXTS for words in said)
    assert 3 <= own < len(said) - 5


def test_some_texts_that_functions_are_given_are_ids():
    """A parser has seen that a number may be a text; what is compared is seldom one."""
    given = replace(ROWS[0], program=ROWS[0].program.replace(" == ", " = "))
    shares = []
    for row in (given, ROWS[0]):
        said = words_of(row, primitive=300, free_text_rate=0.5)
        shares.append(sum(text in shipped_list("code").texts for text in said) / len(said))
    assert 0.01 < shares[0] < 0.15
    assert shares[1] == 0


def test_values_of_more_weight_are_drawn_more_often():
    values = Lists(made={"String": value_list("x", "", ["often", "seldom"], [9, 1])})
    rows = [replace(ROWS[0], id=f"S{n}") for n in range(400)]
    copies = augment(rows, engine(values, **SILENT, primitive=1, quoted=0))
    assert 330 <= sum(quoted(copy.program) == ["often"] for copy in copies) <= 390


def test_numbers_and_dates_are_written_out_only_if_asked():
    one = by_start("at TIME_0 set")
    [kept] = made(one, **SILENT, primitive=5)
    assert placeholders(kept.utterance) == ["NUMBER_0", "TIME_0"]
    for copy in made(one, **SILENT, primitive=5, written=1):
        assert "NUMBER_0" not in copy.utterance + copy.program
        assert "NUMBER_0" not in copy.slots


# ------------------------------------------------------------------------------ how many


def test_factors_are_those_of_the_paper():
    paraphrase = {"source": "paraphrase", "depth": 0}
    text, number = replace(ROWS[0], **paraphrase), replace(by_start("at TIME"), **paraphrase)
    expander = engine().expander()
    rows = text, number, ROWS[0], by_start("every DURATION")
    factors = [expander.factor(expander.template(one)) for one in rows]
    assert factors == [30, 10, 4, 1]
    assert factors[0] == AugmentConfig().paraphrase_with_text


def test_copies_are_different_and_no_more_than_asked():
    values = Lists({"String": tuple(f"value {n}" for n in range(50))})
    copies = made(ROWS[0], values, primitive=20, **SILENT)
    assert len(copies) == 20
    assert len({(c.utterance, c.program) for c in copies}) == 20
    assert len({c.id for c in copies}) == 20
    assert len(plain(ROWS[0], Lists({"String": ("one", "two")}))) == 2
    assert made(ROWS[0], primitive=0) == []


def test_what_a_copy_takes_from_its_row():
    one = replace(ROWS[0], weight=2.5, derivation=('say "x"', "b"), id="S7")
    copy = made(one, quoted=0)[0]
    assert (copy.source, copy.parent, copy.id) == ("augmented", "S7", "S7-0")
    for name in ("weight", "derivation", "functions", "depth"):
        assert getattr(copy, name) == getattr(one, name)
    assert copy.slots == {}
    # What is made of private rows stays private.
    for source in ("private", "human", "paraphrase", "synthetic"):
        row, expander = replace(ROWS[0], source=source), engine().expander()
        template = expander.template(row)
        lines = [json.loads(line) for line in json_lines(template, expander.copies(template))]
        wanted = "private" if source == "private" else "augmented"
        assert {copy.source for copy in made(row)} == {line["source"] for line in lines} == {wanted}


def test_quoted_is_the_share_of_texts_that_stay():
    rows = [replace(ROWS[0], id=f"S{n}") for n in range(2000)]
    copies = list(augment(rows, engine(**SILENT, primitive=1, quoted=0.2)))
    share = sum(bool(copy.slots) for copy in copies) / len(copies)
    assert 0.16 < share < 0.24


# ------------------------------------------------------------------------- determinism


@given(st.permutations(ROWS))
def test_what_is_made_of_a_row_does_not_depend_on_other_rows(rows):
    together = list(augment(rows, engine(**MANY)))
    alone = {one.id: made(one, **MANY) for one in (rows[0], rows[-1])}
    for id_, copies in alone.items():
        assert [copy for copy in together if copy.parent == id_] == copies


def test_another_seed_gives_other_rows():
    one, same, other = (made(ROWS[0], seed=seed) for seed in (1, 1, 2))
    assert one == same != other


# ------------------------------------------------------------------------------ as text


@pytest.mark.parametrize("weight", [0.1, float("inf")])
def test_lines_are_those_of_the_rows(weight):
    made_by = engine(quoted=0.4, **MANY)
    expander = made_by.expander()
    for one in ROWS:
        odd = replace(one, id='a"b\\c', derivation=("é\n", '"'), weight=weight)
        template = expander.template(odd)
        lines = list(json_lines(template, expander.copies(template)))
        rows = list(augment([odd], made_by))
        assert lines == [to_json(copy) + "\n" for copy in rows]
        tsv = list(tsv_lines(template, expander.copies(template)))
        assert tsv == [f"{copy.id}\t{copy.utterance}\t{copy.program}\n" for copy in rows]


# --------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"utterance": "show me emails"}, "A110", "QUOTED_STRING_0 stands in the program only"),
        ({"utterance": f"{ROWS[0].utterance} NUMBER_0"}, "A110", "NUMBER_0 stands in the sentence"),
        ({"utterance": f"\ue000 {ROWS[0].utterance}"}, "A111", ""),
        ({"language": "sexpr"}, "A112", ""),
        ({"utterance": " "}, "A113", ""),
    ],
)
def test_a_row_that_cannot_be_augmented_is_told_with_its_place(changes, code, message):
    made_by, row = engine(), replace(ROWS[0], **changes)
    with pytest.raises(GenieError) as caught:
        make_block(made_by, made_by.expander(), 0, [(row, ("rows.jsonl", 3))])
    [problem] = caught.value.problems
    assert (problem.code, str(problem.span)) == (code, "rows.jsonl:3:1")
    assert message in problem.message


def test_broken_rows_are_left_out_and_counted_if_asked():
    made_by = engine(skip_broken=True, primitive=2)
    lost = replace(ROWS[0], utterance="show me emails")
    rows = [(one, ("rows.jsonl", n)) for n, one in enumerate((ROWS[0], lost, ROWS[0]), 1)]
    block = make_block(made_by, made_by.expander(), 0, rows)
    assert block.rows == 4
    assert block.counts["skipped"] == 1
    assert [problem.code for problem in block.problems] == ["A110"]


# ------------------------------------------------------------------------ S-expressions


def call(utterance, program):
    slots = {"QUOTED_STRING_0": Slot("String", "")} if "QUOTED" in program else {}
    return Example("S0", utterance, program, "sexpr", functions=("call",), slots=slots)


def test_strings_of_s_expressions_are_words_in_quotes_or_brackets():
    one = call("call QUOTED_STRING_0 in NUMBER_0 minutes", "( call QUOTED_STRING_0 NUMBER_0 )")
    copies = plain(one, language=SEXPR)
    assert len(copies) > 2
    for copy in copies:
        [words] = quoted(copy.program)
        assert copy.program == f'( call " {words} " NUMBER_0 )'
        assert copy.utterance == f"call {words} in NUMBER_0 minutes"
        assert SEXPR.tokens(SEXPR.from_tokens(copy.program)) == copy.program
    one = call("call QUOTED_STRING_0", "[ IN:CALL [ SL:NAME QUOTED_STRING_0 ] ]")
    [copy] = plain(one, Lists({"String": ("bob lee",)}), language=SEXPR)
    assert copy.program == "[ IN:CALL [ SL:NAME bob lee ] ]"
    assert copy.utterance == "call bob lee"
    # A value goes to all places of its placeholder, side by side too.
    for times in range(1, 6):
        one = call("call QUOTED_STRING_0", f"( call {' '.join(['QUOTED_STRING_0'] * times)} )")
        [copy] = plain(one, Lists({"String": ("bob",)}), language=SEXPR)
        assert copy.program == f"""( call {" ".join(['" bob "'] * times)} )"""


def test_noise_leaves_values_of_s_expressions_alone():
    for utterance, program in (
        ("call the a team , robert", "[ IN:CALL [ SL:NAME the a team , robert ] ]"),
        ("play a star , route 66", '( play " a star , route 66 " )'),
    ):
        copies = made(call(utterance, program), language=SEXPR, **LOUD, primitive=20)
        assert {copy.program for copy in copies} == {program}
        value = utterance.split(" ", 1)[1]
        assert all(f" {value} " in f" {copy.utterance} " for copy in copies)


# ------------------------------------------------------------------------ words beside values


def test_no_article_stands_before_that_of_a_value():
    program = f"now => {INBOX} param:subject:String == QUOTED_STRING_0 => notify"
    row = Example("S0", "open the QUOTED_STRING_0 mail", program, functions=("@f",))
    values = Lists({"String": ("the end", "a song", "loud")})
    said = {copy.utterance for copy in plain(row, values, primitive=40)}
    assert said == {"open the end mail", "open a song mail", "open the loud mail"}


def lock(utterance, program, **fields):
    """Return rows of a lock whose values are written out."""
    one = Example("S0", utterance, program.format("@c.lock"), functions=("@c.lock",), **fields)
    return made(one, primitive=300, **SILENT, written=1.0)


@pytest.mark.parametrize("part", ["morning", "afternoon", "evening", "night"])
def test_times_that_are_written_out_are_of_the_part_of_the_day_beside_them(part):
    for said in (f"every {part} at TIME_0 lock it", f"lock it at TIME_0 each {part}"):
        copies = lock(said, "attimer time = TIME_0 => {}")
        assert len(copies) >= 20
        hours = {int(re.search(r"time:(\d+)", copy.program)[1]) for copy in copies}
        assert all(is_then(part, hour) for hour in hours)
        assert len(hours) > 1
        assert all(copy.utterance.split(" ").count(part) == 1 for copy in copies)


def test_no_second_article_follows_every_and_no_preposition_stands_before_one_of_a_day():
    copies = lock("every DURATION_0 lock it", "timer base = now , interval = DURATION_0 => {}")
    assert any("unit:h" in copy.program for copy in copies)
    assert not [c.utterance for c in copies if c.utterance.startswith(("every a ", "every an "))]
    slots = {"DATE_0": Slot("Date", "@c.lock:day")}
    for word, wrong in (("on", ("on today", "on tomorrow", "on a ")), ("after", ("after in ",))):
        copies = lock(f"lock it {word} DATE_0", "now => {} param:day:Date = DATE_0", slots=slots)
        assert len(copies) > 100
        assert not [c.utterance for c in copies if any(part in c.utterance for part in wrong)]


def test_plain_commands_are_joined_with_their_own_values():
    joined = [
        row
        for row in augment(ROWS, engine(joined=1.0, compound=1, primitive=1, **SILENT))
        if len(set(row.functions)) == 2 and " ; " in row.program
    ]
    assert len(joined) >= 3
    for row in joined:
        assert checked(row.program) == row.program
        assert placeholders(row.utterance) == placeholders(row.program)
        first, second = row.program.split(" ; ")
        assert first.startswith("now => @")
        assert second.startswith("now => @")


def test_a_row_is_joined_alike_beside_the_same_rows_and_not_at_all_by_default():
    ways = [[*augment(ROWS, engine(joined=share, **SILENT))] for share in (0.0, 0.5, 0.5)]
    assert ways[1] == ways[2] != ways[0]
    ids = [{row.id for row in rows} for rows in ways]
    assert ids[0] < ids[1]


def test_programs_that_have_no_sequence_are_not_joined():
    with pytest.raises(GenieError) as error:
        made(replace(ROWS[0], language="sexpr"), language=SEXPR, joined=0.5)
    assert error.value.problems[0].code == "A114"
