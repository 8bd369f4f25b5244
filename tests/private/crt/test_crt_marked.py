"""Redacted rows: which are public."""

from genie_dp.private.crt.rows import open_redacted, separate_mask
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


def test_masks_are_words_of_their_own():
    assert separate_mask("<MASK><MASK>!") == "<MASK> <MASK> !"
