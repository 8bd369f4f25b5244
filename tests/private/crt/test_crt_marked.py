"""Redacted rows: which are public, which words the masks stand for."""

from hypothesis import given
from hypothesis import strategies as st

from genie_dp.private.crt.rows import MASK, open_redacted, sensitive_words, separate_mask
from genie_dp.private.ledger.budget import Budget


def test_rows_are_public_only_if_marked_so_and_without_masks(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"utterance": "a b", "part": "public"}\n{"utterance": "c <MASK>.", "part": "public"}\n'
        '{"utterance": "d"}\n{"utterance": "e", "part": "Public"}\n'
        '{"utterance": "f", "part": "private"}\n'
    )
    found = open_redacted(path, language="thingtalk")
    assert [row.utterance for row in found.public] == ["a b"]
    assert [unit[0].utterance for unit in found.private] == ["c <MASK> .", "d", "e", "f"]
    assert "a b" not in repr(found)


def test_private_rows_are_grouped_by_unit_and_public_ones_are_not(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = '{{"utterance": "{}", "part": "{}", "user": "u"}}\n'
    path.write_text("".join(row.format(x, p) for x, p in (("a", "x"), ("b", "public"), ("c", "y"))))
    budget = Budget(1.0, 1e-6, "user", cap=5)
    found = open_redacted(path, language="thingtalk", budget=budget, said_apart=True)
    assert [len(unit) for unit in found.private] == [2]
    assert len(found.public) == 1
    whole = open_redacted(
        path, language="thingtalk", budget=budget, all_private=True, said_apart=True
    )
    assert [len(unit) for unit in whole.private] == [3]
    assert whole.public == ()


WORDS = st.lists(st.text("abc.", min_size=1, max_size=3), min_size=1, max_size=8)


@given(words=WORDS, data=st.data())
def test_words_behind_masks_are_found_again(words, data):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    secret = ["Z" + word for word in words[start:end]]
    original = " ".join([*words[:start], *secret, *words[end:]])
    redacted = " ".join([*words[:start], MASK, *words[end:]])
    found = sensitive_words(redacted, original)
    assert [word for word, _ in found] == original.split()
    assert [word for word, is_masked in found if is_masked] == secret


def test_texts_of_different_rows_are_sensitive_throughout():
    assert sensitive_words("x <MASK> y", "a b") == (("a", True), ("b", True))
    assert separate_mask("<MASK><MASK>!") == "<MASK> <MASK> !"
    # Each gap tried with each other one would take longer than anybody waits.
    found = sensitive_words(f"{MASK} a " * 30 + "c", "a " * 200 + "b")
    assert all(is_sensitive for _, is_sensitive in found)


@given(WORDS, st.lists(st.booleans(), min_size=8, max_size=8))
def test_however_many_words_are_masked_those_are_sensitive(words, masked):
    # Numbered, so that nothing stands twice.
    words = [f"{word}{i}" for i, word in enumerate(words)]
    pairs = tuple(zip(words, masked, strict=False))
    redacted = " ".join(MASK if is_masked else word for word, is_masked in pairs)
    assert sensitive_words(redacted, " ".join(words)) == pairs
