"""The page of generators names every code, section, field and setting that there is."""

import re
from pathlib import Path
from typing import get_args

import yaml

from genie_dp.private.evolution.config import GENERATORS
from genie_dp.private.evolution.prompting import (
    Style,
    Variation,
    parse_templates,
    shipped_templates,
)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evolution-models.md").read_text(encoding="utf-8")
PRIVATE = ROOT / "genie_dp" / "private"


def indented(start):
    """Return the block of indented lines that begins with a text."""
    block = PAGE[PAGE.index(f"    {start}") :].split("\n\n#")[0]
    lines = []
    for line in block.split("\n"):
        if line.strip() and not line.startswith("    "):
            break
        lines.append(line[4:])
    return "\n".join(lines).strip() + "\n"


def test_every_code_is_explained_and_no_other():
    files = [*PRIVATE.glob("evolution/*.py"), *PRIVATE.glob("tables/*.py")]
    raised = {code for f in files for code in re.findall(r'"(U5\d\d)"', f.read_text())}
    explained = re.findall(r"^\| (U\d{3}) \|", PAGE, re.MULTILINE)
    assert len(raised) > 8
    assert explained == sorted(raised)


def test_every_section_of_the_shipped_prompts_is_in_the_table():
    sections = {name for style in get_args(Style) for name in shipped_templates(style).sections}
    assert len(sections) == 7
    assert sorted(re.findall(r"^\| `\[([a-z ]+)\]` \|", PAGE, re.MULTILINE)) == sorted(sections)
    assert sorted(re.findall(r"^\| `(continue|fill|rephrase)` \|", PAGE, re.MULTILINE)) == sorted(
        get_args(Variation)
    )


def test_the_prompts_that_are_shown_are_some():
    assert set(parse_templates(indented("[random]")).sections) == {"random", "example"}


def test_the_recipes_that_are_shown_have_settings_that_there_are():
    for kind in ("seeds", "language-model", "endpoint"):
        recipe = yaml.safe_load(indented(f"generator:\n      kind: {kind}\n"))["generator"]
        made = GENERATORS[recipe["kind"]](**recipe)
        assert made.kind == kind
