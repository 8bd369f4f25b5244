"""Pages about private rows name every code, option, figure and extractor, and no other."""

import re
import textwrap
from pathlib import Path

import pytest

from genie_dp.cli import load_command
from genie_dp.cli.private import STEPS
from genie_dp.private.metrics.figures import GROUPS
from genie_dp.private.tables.extract import EXTRACTORS, check_extractors
from genie_dp.private.tables.schema import load_schema

ROOT = Path(__file__).parents[2]
STAGES = "genie_dp/private/"
COMMANDS = "genie_dp/cli/private/"


def page_of(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "code", "files"),
    [
        ("private", r"B\d", [f"{STAGES}ledger/*.py", f"{STAGES}api.py", f"{COMMANDS}*.py"]),
        ("private-training", r"Q\d", [f"{STAGES}source.py", f"{STAGES}training/*.py"]),
        ("prior", "F0[01]", ["genie_dp/**/*.py"]),
        ("gaps", "F02", ["genie_dp/**/*.py"]),
        ("tables", r"T\d", [f"{STAGES}tables/*.py", f"{COMMANDS}table*.py"]),
        ("private-evaluation", r"J\d", ["genie_dp/**/*.py"]),
        (
            "audit",
            r"N\d",
            [f"{STAGES}audit/*.py", f"{COMMANDS}audit*.py", f"{COMMANDS}canaries.py"],
        ),
    ],
)
def test_every_code_is_explained_and_no_other(page, code, files):
    paths = {path for pattern in files for path in ROOT.glob(pattern)}
    sources = "".join(path.read_text(encoding="utf-8") for path in paths)
    rows = re.findall(rf"^\| ({code}.*?) \|", page_of(page), re.MULTILINE)
    explained = {one for row in rows for one in row.split(", ")}
    raised = set(re.findall(rf'"({code}\d*)"', sources))
    assert len(raised) >= 5
    assert explained == {one for one in raised if len(one) == 4}


@pytest.mark.parametrize(("page", "steps"), [("prior", ("prior", "render")), ("gaps", ("gaps",))])
def test_every_option_of_its_own_is_named(page, steps):
    common = {"--language", "--skills", "--skip-broken", "--grammar", "--subset", "--max-depth",
              "--format", "--ledger", "--resume", "--overwrite"}  # fmt: skip
    params = [param for step in steps for param in load_command(STEPS[step][0]).params]
    options = {name for param in params for name in param.opts if name.startswith("--")} - common
    assert len(options) > 10
    assert [name for name in sorted(options) if name not in page_of(page)] == []


def test_every_figure_and_every_extractor_is_in_its_table():
    keys = [metric.key for metrics in GROUPS.values() for metric in metrics]
    rows = "".join(re.findall(r"^\| `.*$", page_of("private-evaluation"), re.MULTILINE))
    assert len(keys) > 15
    assert not [key for key in keys if f"`{key}`" not in rows]
    assert set(re.findall(r"^\| `([a-z]+)` \|", page_of("tables"), re.MULTILINE)) == set(EXTRACTORS)


def test_the_schema_of_the_page_is_one(tmp_path):
    (block,) = re.findall(r'^    \{"columns"[\s\S]*?^    \]\}', page_of("tables"), re.MULTILINE)
    path = tmp_path / "schema.json"
    path.write_text(textwrap.dedent(block), encoding="utf-8")
    schema = load_schema(path)
    check_extractors(schema, "thingtalk")
    assert schema.domain == (2, 3, 3)
