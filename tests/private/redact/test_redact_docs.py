"""The page on redaction names every code, every kind of file and every detector."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "redaction.md").read_text(encoding="utf-8")


def test_every_code_is_explained_and_no_other():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "genie_dp").rglob("*.py")
    )
    explained = re.findall(r"^\| (E\d{3}) \|", PAGE, re.MULTILINE)
    raised = set(re.findall(r'"(E\d{3})"', sources))
    assert len(raised) >= 15
    assert sorted(explained) == sorted(raised)


def test_every_kind_of_the_patterns_is_named():
    source = (ROOT / "genie_dp/private/redact/patterns.py").read_text(encoding="utf-8")
    kinds = set(re.findall(r'"(\w+)",\n? *0\.\d', source)) | {"card", "iban", "ssn", "ip"}
    assert len(kinds) > 8
    assert not [kind for kind in sorted(kinds) if f"`{kind}`" not in PAGE]
