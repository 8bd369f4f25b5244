"""What is wrong with a typed paraphrase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.paraphrase.checks import (
    FAULTS,
    CheckConfig,
    LanguageCheck,
    distance,
    faults_of,
    says_no_idea,
)
from genie_dp.paraphrase.shown import show
from genie_dp.paraphrase.typed import words_of
from tests.paraphrase.paraphrase_rows import row, shown_range, shown_text

GOOD = 'tweet "good morning" to @bob tomorrow, I mean 8:30 am, tagged #sun'


def names(shown, typed, others=(), **config):
    return [fault.name for fault in faults_of(shown, typed, others, CheckConfig(**config))]


def files():
    return show(row(utterance="list all the files in my folder"), {})


def test_a_good_paraphrase_has_no_fault():
    for typed in (GOOD, GOOD.upper(), GOOD.replace('"', "”")):
        assert names(shown_text(), typed) == []


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ("", "too-short"),
        ("   ", "too-short"),
        ("go!", "too-short"),
        ("files", "too-short"),
        ("I have no idea", "no-idea"),
        ("List all files in my folder, please.", "copy"),
        ("zeig mir alle dateien in diesem ordner", "not-english"),
        ("sdkjf wlekr sdkfj wer", "not-english"),
    ],
)
def test_a_fault_of_a_sentence_without_values(typed, fault):
    assert fault in names(files(), typed)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"good morning"', "a greeting", "missing-value"),
        ("8:30 am", "in the morning", "missing-value"),
        ('"good morning"', '"good evening"', "altered-value"),
        ('"good morning"', '"good mornin"', "altered-value"),
        ("8:30", "8:40", "altered-value"),
        ("8:30 am", "8:30 pm", "altered-value"),
        ("@bob", "@bbo", "altered-value"),
        ("@bob", "@bob and then @bob", "altered-value"),
        ('"good morning"', "good morning", "unquoted-string"),
        ("@bob", "bob", "unquoted-string"),
        ("#sun", "sun", "unquoted-string"),
    ],
)
def test_a_fault_of_a_value_names_the_value(old, new, fault):
    [found] = faults_of(shown_text(), GOOD.replace(old, new))
    assert found.name == fault
    assert found.value in shown_text().sentence
    assert found.value in found.message


def test_a_text_in_quotes_that_nobody_asked_for_is_a_fault():
    assert names(shown_text(), f'{GOOD} and say "good night"') == ["altered-value"]
    assert names(files(), 'what is in my "folder" there') == []
    assert names(files(), 'what is in my 10" folder') == []


def test_a_placeholder_that_somebody_writes_is_a_fault():
    for word in ("NUMBER_0", "QUOTED_STRING_0", "GENERIC_ENTITY_tt:room_3"):
        assert names(files(), f"what is in my folder {word}") == ["altered-value"]
        assert names(shown_text(), f"{GOOD} {word}") == ["altered-value"]


UNSEEN = st.sampled_from("\u200b\u200d\u2060\ufeff\u00ad\u202e\x00\x07\ue000\uf8ff")


@given(st.lists(st.tuples(UNSEEN, st.integers(0, len(GOOD))), max_size=6))
def test_what_nobody_sees_changes_nothing(marks):
    typed = GOOD
    for mark, at in marks:
        typed = typed[:at] + mark + typed[at:]
    assert words_of(typed) == words_of(GOOD)
    assert names(shown_text(), typed) == []


def test_an_accent_of_its_own_is_one_with_its_letter():
    apart = "show the cafe\u0301 in my folder"
    assert words_of(apart) == words_of("show the caf\u00e9 in my folder")


def test_words_are_compared_with_those_of_the_sentence():
    shown = show(row(utterance="play QUOTED_STRING_0"), {"QUOTED_STRING_0": "yesterday"})
    # A word that is also a value is no second copy.
    assert names(shown, 'start "yesterday" that i heard yesterday') == []
    assert names(show(row(utterance="mute"), {}), "silence") == []
    shown = show(row(utterance="open the gizmotron with zorbly plonks"), {})
    assert names(shown, "start gizmotron using zorbly plonks") == []
    assert names(files(), "zeig mir alle dateien in diesem ordner", language=None) == []


def test_nearly_the_same_words_twice_are_a_near_duplicate():
    first = "what is in my folder"
    assert names(files(), "What is in my folders?", [first]) == ["near-duplicate"]
    assert names(files(), "which files does my folder hold", [first]) == []
    # Other values do not make sentences differ.
    first, other = (f"which of my files have {n} pages" for n in ("3 to 12", "three to twelve"))
    assert names(shown_range(), other, [first]) == ["near-duplicate"]


def test_another_verb_in_a_long_sentence_is_neither_a_copy_nor_a_duplicate():
    long = "notify me when there are new files in my folder of old letters"
    shown = show(row(utterance=long), {})
    typed = long.replace("notify", "alert")
    assert names(shown, typed, [long.replace("notify", "text")]) == []
    assert names(shown, long.replace("letters", "leters")) == ["copy"]


def test_the_language_model_is_asked_only_in_doubt():
    with_model = LanguageCheck(asks_model=True)
    assert with_model.accepts("show me all the songs")
    assert not with_model.accepts("montre moi les photos de mes vacances de 2019")


NOTHING = (
    "no idea", "I don't know.", "IDK", "n/a", "this makes no sense", "Sorry, I don't understand",
    "I’m not sure what this means", "test", "same as above",
)  # fmt: skip
COMMANDS = (
    "tell bob that i have no idea", "do not know me", "is there nothing new on bbc",
    "show me none of the files", "test my internet speed",
    "i don't know what the volcano blog says", "no idea what the weather is, tell me",
    "good morning tweets please",
)  # fmt: skip


def test_texts_that_say_nothing_are_known_and_commands_with_such_words_are_commands():
    assert [text for text in (*NOTHING, *COMMANDS) if says_no_idea(text)] == [*NOTHING]


@given(st.text(max_size=80))
def test_any_text_is_judged_without_error_and_by_known_names(typed):
    for fault in faults_of(shown_text(), typed, (GOOD,)):
        assert fault.name in FAULTS
        assert fault.message.endswith((".", "!"))


def test_the_sentence_itself_is_always_a_copy():
    for sentence in ("list all the files", "show me my mail", "play a song for me"):
        shown = show(row(utterance=sentence), {})
        assert "copy" in names(shown, shown.sentence)
        assert distance(sentence, sentence) == 0


def test_limits_that_make_no_sense_are_refused():
    for name, value in (("copy_distance", 1.5), ("least_words", -1), ("duplicate_distance", -0.1)):
        with pytest.raises(ValueError, match=name):
            CheckConfig(**{name: value})
