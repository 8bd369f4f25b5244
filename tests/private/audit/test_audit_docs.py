"""The page about audits names every code, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_code_of_audits_is_explained_and_no_other():
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    files = [
        *(ROOT / "genie_dp" / "private" / "audit").glob("*.py"),
        *(ROOT / "genie_dp" / "cli" / "private").glob("audit*.py"),
        ROOT / "genie_dp" / "cli" / "private" / "canaries.py",
    ]
    raised = set(re.findall(r'"(N\d{3})"', "".join(p.read_text("utf-8") for p in files)))
    explained = re.findall(r"^\| (N\d{3}) \|", page, re.MULTILINE)
    assert len(raised) >= 10
    assert sorted(explained) == sorted(raised)
