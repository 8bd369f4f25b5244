"""The page about tables names every code and extractor, and its schema is one."""

import re
import textwrap
from pathlib import Path

from genie_dp.private.tables.extract import EXTRACTORS, check_extractors
from genie_dp.private.tables.schema import load_schema

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")


def test_every_code_of_tables_is_explained_and_no_other():
    files = [*(ROOT / "genie_dp" / "private" / "tables").glob("*.py")]
    files += (ROOT / "genie_dp" / "cli" / "private").glob("table*.py")
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    raised = set(re.findall(r'"(T\d{3})"', sources))
    assert len(raised) == 11
    assert re.findall(r"^\| (T\d{3}) \|", PAGE, re.MULTILINE) == sorted(raised)


def test_every_extractor_is_explained():
    assert set(re.findall(r"^\| `([a-z]+)` \|", PAGE, re.MULTILINE)) == set(EXTRACTORS)


def test_the_schema_of_the_page_is_one(tmp_path):
    (block,) = re.findall(r'^    \{"columns"[\s\S]*?^    \]\}', PAGE, re.MULTILINE)
    path = tmp_path / "schema.json"
    path.write_text(textwrap.dedent(block), encoding="utf-8")
    schema = load_schema(path)
    check_extractors(schema, "thingtalk")
    assert schema.domain == (2, 3, 3)
