"""Pages about private rows name every figure and every extractor."""

import re
import textwrap
from pathlib import Path

from genie_dp.private.metrics.figures import GROUPS
from genie_dp.private.tables.extract import EXTRACTORS, check_extractors
from genie_dp.private.tables.schema import load_schema

ROOT = Path(__file__).parents[2]


def page_of(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_every_figure_and_every_extractor_is_in_its_table():
    keys = [metric.key for metrics in GROUPS.values() for metric in metrics]
    rows = "".join(re.findall(r"^\| `.*$", page_of("private-models"), re.MULTILINE))
    assert len(keys) > 15
    assert not [key for key in keys if f"`{key}`" not in rows]
    tables = page_of("private-data").partition("\n## Tables\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z]+)` \|", tables, re.MULTILINE)) == set(EXTRACTORS)


def test_the_schema_of_the_page_is_one(tmp_path):
    (block,) = re.findall(
        r'^    \{"columns"[\s\S]*?^    \]\}', page_of("private-data"), re.MULTILINE
    )
    path = tmp_path / "schema.json"
    path.write_text(textwrap.dedent(block), encoding="utf-8")
    schema = load_schema(path)
    check_extractors(schema, "thingtalk")
    assert schema.domain == (2, 3, 3)
