"""The codes of the parse service are those that its page explains."""

import re
from pathlib import Path

from genie_dp.serve.parse_refusals import of_status

ROOT = Path(__file__).parents[2]


def test_every_code_is_explained_and_no_other():
    sources = (ROOT / "genie_dp" / "serve").glob("parse_*.py")
    raised = set(re.findall(r'"(W\d{3})"', "".join(path.read_text() for path in sources)))
    page = (ROOT / "docs" / "serving.md").read_text()
    rows = re.findall(r"^\| (W\d{3}) \| ([\d, ]+) \|", page, re.MULTILINE)
    assert {code for code, _ in rows} == raised - {"W020"}
    assert "W020" in page
    for code, statuses in rows:
        told = {s for s in statuses.split(", ") if str(of_status(int(s), "").problem.code) != code}
        assert told <= {"422", "429", "500", "503"}
