"""Noise: its rates are met, and nothing that is copied changes."""

import re
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import augment
from genie_dp.augment.noise import (
    NoiseRates,
    add_noise,
    carrier_of,
    is_gap,
    mistype,
    speech_of,
)
from genie_dp.errors import GenieError
from genie_dp.locale import words_of
from genie_dp.paraphrase.checks import is_english_word
from genie_dp.paraphrase.lexicons import lexicon_of
from genie_dp.records import Example
from tests.augment.augment_rows import ROWS, SILENT, engine, quoted

TOKENS = "show me the 3 newest messages from X , and a list of 12 files about Y ."
KEPT = (7, 16)
ENGLISH = words_of("en")
WORDS = TOKENS.split(" ")
LOUD = {"filler": 1}


def rates(**given: float) -> NoiseRates:
    none = dict.fromkeys(set(SILENT) - {"reword"}, 0.0)
    return NoiseRates.from_config(AugmentConfig(**{**none, **given}))


def many(count: int = 4000, **given: float) -> list[str]:
    return noisy(TOKENS, KEPT, count, 7, **given)


def noisy(text: str, kept=(), count=3000, seed=1, **given: float) -> list[str]:
    """Return what noise makes of a text; fillers always, unless rates are given."""
    found, rng, chosen = carrier_of(text.split(" "), kept), Random(seed), rates(**given or LOUD)
    return [add_noise(found, chosen, rng) or text for _ in range(count)]


def test_without_rates_nothing_changes():
    assert set(many(50, filler=0)) == {TOKENS}


def test_the_share_of_articles_is_left_out():
    said = many(drop_article=0.25)
    lost = sum(4 - sum(w in ("the", "a") for w in text.split()) - 2 for text in said)
    assert 0.22 < lost / (2 * len(said)) < 0.28
    assert any(" the " not in text and " a list" in text for text in said)


def test_articles_of_amounts_stay():
    text = "send the list once a day for half an hour to a few friends the moment it rains"
    assert set(noisy(text, count=1, drop_article=1)) == {text.replace("send the list", "send list")}


def test_the_share_of_numbers_is_put_in_words():
    said = many(number_words=0.5)
    assert 0.46 < sum(" three newest" in text for text in said) / len(said) < 0.54
    assert 0.46 < sum(" twelve files" in text for text in said) / len(said) < 0.54


def test_the_share_of_sentences_loses_all_punctuation():
    said = many(drop_punctuation=0.4)
    without = [text for text in said if text != TOKENS]
    assert set(without) == {TOKENS.replace(" ,", "").replace(" .", "")}
    assert 0.36 < len(without) / len(said) < 0.44


def test_the_share_of_long_words_is_mistyped():
    said = many(typo=0.1)
    long = [i for i, word in enumerate(WORDS) if len(word) >= 4 and word.isalpha()]
    wrong = [sum(text.split()[i] != WORDS[i] for i in long) for text in said]
    assert 0.09 < sum(wrong) / (len(long) * len(said)) < 0.11
    short = [i for i in range(len(WORDS)) if i not in long]
    assert all(text.split()[i] == WORDS[i] for text in said for i in short)


def test_the_share_of_sentences_gets_a_filler():
    said = many(filler=0.35)
    changed = [text for text in said if text != TOKENS]
    assert 0.32 < len(changed) / len(said) < 0.38
    assert any(text.startswith(f"{word} show") for text in changed for word in ENGLISH.requests)
    assert any(text.endswith(" thanks .") for text in changed)
    assert any(f"{word} from" in text for text in changed for word in ENGLISH.hesitations)


def test_hesitations_stand_where_a_phrase_begins():
    text, kept = "show me the photos of my dog from X and the list , about a Y", (8, 15)
    found = carrier_of(text.split(" "), kept)
    assert [i for i in range(1, 16) if is_gap(found, i)] == [2, 4, 7]
    said = set(noisy(text, kept, 2000))
    pairs = {pair for text in said for pair in pairwise(text.split()[3:])}
    assert {second for first, second in pairs if first in ENGLISH.hesitations} == {"of", "from"}


def test_what_stands_after_a_value_cannot_be_taken_for_a_part_of_it():
    said = many(filler=1)
    after = {text.removeprefix(TOKENS.removesuffix(".")) for text in said}
    after = {text.removesuffix(" .") for text in after if text.endswith(" .") and len(text) < 40}
    assert "please" in after
    assert after <= set(ENGLISH.endings)


@pytest.mark.parametrize(
    ("sentence", "never"),
    [
        ("show the photos when i get home", ENGLISH.at_once),
        ("what is on my list", (*ENGLISH.command_endings, *ENGLISH.at_once)),
        ("let me see the list", ("for me", "will you", "would you")),
        ("lock the door thank you", ENGLISH.endings),
    ],
)
def test_endings_go_with_what_is_said(sentence, never):
    said = set(noisy(sentence))
    last = sentence.split()[-1]
    assert len(said) > 30
    assert not [text for text in said for ending in never if text.endswith(f"{last} {ending}")]


def test_commands_may_be_wanted_at_once():
    endings = {*ENGLISH.at_once, *ENGLISH.command_endings}
    assert {f"lock the door {ending}" for ending in endings} <= set(noisy("lock the door"))


def test_requests_stand_before_commands_only():
    assert "could you please show my list" in noisy("show my list")
    assert not [text for text in noisy("do i have a list", count=500) if "you do i" in text]
    said = noisy("what is on my list", count=500)
    only = set(ENGLISH.requests) - set(ENGLISH.greetings)
    assert not [text for text in said for word in only if text.startswith(f"{word} what")]
    assert "hey what is on my list" in said


def test_nobody_says_please_twice():
    said = set(noisy("please show my list", count=800))
    assert len(said) > 60
    assert all(len(re.findall("please|pls|plz", text)) == 1 for text in said)


token = st.one_of(
    st.sampled_from(["the", "a", "an", "show", "please", "messages", "5", "100", ",", ".", "'s"]),
    st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=9),
)


@given(st.lists(token, min_size=1, max_size=12), st.data(), st.integers())
def test_what_is_kept_stays_in_order_whatever_the_noise(words, data, seed):
    kept = data.draw(st.sets(st.integers(0, len(words) - 1), max_size=4))
    marked = [chr(0xE000 + i) if i in kept else word for i, word in enumerate(words)]
    loud = rates(filler=1, drop_article=1, typo=1, drop_punctuation=1, number_words=1)
    text = add_noise(carrier_of(marked, kept), loud, Random(seed)) or " ".join(marked)
    assert [w for w in text.split(" ") if "\ue000" <= w <= "\ue0ff"] == [
        chr(0xE000 + i) for i in sorted(kept)
    ]
    assert "  " not in text
    assert text == text.strip(" ")


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12), st.integers())
def test_a_slip_changes_little(word, seed):
    wrong = mistype(word, Random(seed))
    assert abs(len(wrong) - len(word)) <= 1
    assert wrong[0] == word[0]
    if len(wrong) == len(word):
        different = [i for i in range(len(word)) if word[i] != wrong[i]]
        assert len(different) in (0, 1, 2)
        if len(different) == 1:
            assert wrong[different[0]] in ENGLISH.keys[word[different[0]]]
    else:
        shorter, longer = sorted((word, wrong), key=len)
        assert any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))


def test_slips_are_many_and_hardly_other_words():
    for word in ("more", "from", "last", "under", "songs", "photos", "message"):
        slips = {mistype(word, Random(n)) for n in range(400)}
        # Chance may try nothing but other words, so that one of them stays in the end.
        assert sum(map(is_english_word, slips)) <= 1
        assert len(slips) > 3
    # Short words keep their letters, and longer ones are seldom left as they are.
    assert all(set(mistype("when", Random(n))) <= set("when") for n in range(400))
    slips = {mistype("messages", Random(n)) for n in range(300)}
    assert "messages" not in slips
    assert len(slips) > 25


def test_the_words_of_english_are_sound():
    for table in (
        ENGLISH.greetings, ENGLISH.requests, ENGLISH.endings, ENGLISH.command_endings,
        ENGLISH.at_once, ENGLISH.hesitations,
    ):  # fmt: skip
        assert len(set(table)) == len(table) >= 5
        assert all(phrase == " ".join(phrase.lower().split()) for phrase in table)
    assert len(ENGLISH.keys) == 26
    lost = [(a, b) for a, keys in ENGLISH.keys.items() for b in keys if a not in ENGLISH.keys[b]]
    assert not lost
    numbers = speech_of().number_words
    assert len(set(numbers.values())) == 101
    assert numbers["99"] == "ninety nine"


# --------------------------------------------------------------------------- whole rows


def test_words_that_a_program_copies_are_never_mistyped():
    program = 'now => @com.example.mail.send param:subject:String = " weekly report "'
    one = Example("S0", "mail with subject weekly report please", program, functions=("@f",))
    loud = engine(primitive=200, typo=1, reword=0, filler=1)
    said = [copy.utterance for copy in augment([one], loud)]
    assert len(said) > 100
    assert all(" weekly report " in text for text in said)


def reworded(**settings):
    lexicon = lexicon_of([("email", "n", "message", "own"), ("lunch", "n", "dinner", "own")])
    made_by = engine(lexicon=lexicon, **{**SILENT, **settings})
    return list(augment([ROWS[0]], made_by))


def test_synthesized_sentences_are_reworded_outside_of_values_and_only_if_asked():
    copies = reworded(reword_synthetic=0.5, primitive=200, quoted=0.0)
    begins = Counter(" ".join(copy.utterance.split()[:3]) for copy in copies)
    assert begins.keys() == {"show me messages", "show me emails"}
    assert any("lunch" in quoted(copy.program) for copy in copies)
    assert not any("dinner" in copy.utterance for copy in copies)
    said = {copy.utterance.split()[2] for copy in reworded(reword=1.0, primitive=10)}
    assert said == {"emails"}
    said = {copy.utterance.split()[2] for copy in reworded(reword_synthetic=1.0, primitive=10)}
    assert said == {"messages"}


def test_a_setting_out_of_range_is_named_with_its_value():
    wrong = {"typo": 1.5, "quoted": -0.1, "primitive": -1, "max_words": 0, "max_window": 0}
    for name, value in wrong.items():
        with pytest.raises(GenieError, match=f"R040.*{name}: expected .* got {value}"):
            AugmentConfig(**{name: value})
