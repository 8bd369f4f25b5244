"""Pages on generators, evolution and redaction name every setting and file."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import yaml

from genie_dp.private.evolution import run as stage
from genie_dp.private.evolution.config import (
    EMBEDDINGS,
    GENERATORS,
    EvolutionRecipe,
    MetadataRecipe,
    as_yaml,
)
from genie_dp.private.evolution.prompting import (
    Style,
    Variation,
    parse_templates,
    shipped_templates,
)

ROOT = Path(__file__).parents[2]
EVOLUTION, MODELS = (
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("private-data.md", "private-models.md")
)


def test_every_kind_of_the_patterns_of_redaction_is_named():
    source = (ROOT / "genie_dp/private/redact/patterns.py").read_text(encoding="utf-8")
    kinds = set(re.findall(r'"(\w+)",\n? *0\.\d', source)) | {"card", "iban", "ssn", "ip"}
    assert len(kinds) > 8
    assert not [kind for kind in sorted(kinds) if f"`{kind}`" not in MODELS]


def test_every_setting_and_file_of_evolution_is_named():
    files = [getattr(stage, name) for name in ("ROWS", "METADATA", "PRIOR", "REPORT")]
    for name in (*files, *(field.name for field in fields(MetadataRecipe))):
        assert f"`{name}`" in EVOLUTION
    for name in EMBEDDINGS:
        assert re.search(rf"^\| `{name}` \|", EVOLUTION, re.MULTILINE)


def test_every_section_of_the_shipped_prompts_is_in_the_table():
    sections = {name for style in get_args(Style) for name in shipped_templates(style).sections}
    assert len(sections) == 7
    assert sorted(re.findall(r"^\| `\[([a-z ]+)\]` \|", EVOLUTION, re.MULTILINE)) == sorted(
        sections
    )
    variations = re.findall(r"^\| `(continue|fill|rephrase)` \|", EVOLUTION, re.MULTILINE)
    assert sorted(variations) == sorted(get_args(Variation))


def indented(page, start):
    """Return the block of indented lines that begins with a text."""
    block = page[page.index(f"    {start}") :].split("\n\n#")[0] + "\n."
    lines = re.match(r"(?:    .*\n|\n)+", block)[0].split("\n")
    return "\n".join(line[4:] for line in lines).strip() + "\n"


def test_recipes_and_prompts_that_are_shown_can_be_used(tmp_path):
    recipe = EvolutionRecipe.read(ROOT / "examples" / "evolution.yaml", {})
    assert recipe.metadata == MetadataRecipe(("function", "length"), method="independent", most=300)
    (tmp_path / "again.yaml").write_text(as_yaml(recipe))
    assert EvolutionRecipe.read(tmp_path / "again.yaml", {}) == recipe
    text = indented(EVOLUTION, "metadata:\n      schema")
    assert yaml.safe_load(text)["label"] == "intent"
    (tmp_path / "recipe.yaml").write_text(text)
    assert EvolutionRecipe.read(tmp_path / "recipe.yaml", {}).generator.kind == "seeds"
    for kind in ("seeds", "language-model", "endpoint"):
        shown = yaml.safe_load(indented(EVOLUTION, f"generator:\n      kind: {kind}\n"))[
            "generator"
        ]
        assert GENERATORS[kind](**shown).kind == kind
    assert set(parse_templates(indented(EVOLUTION, "[random]")).sections) == {"random", "example"}
