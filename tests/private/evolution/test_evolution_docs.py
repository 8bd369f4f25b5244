"""The page of private evolution names every code, setting and file that there is."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from genie_dp.private.evolution import run as stage
from genie_dp.private.evolution.config import (
    EMBEDDINGS,
    MetadataRecipe,
    as_yaml,
    read_recipe,
)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evolution.md").read_text(encoding="utf-8")


def test_every_code_is_explained_and_no_other():
    folders = (ROOT / "genie_dp" / "private" / "evolution", ROOT / "genie_dp" / "cli" / "private")
    texts = "".join(path.read_text() for folder in folders for path in folder.glob("*.py"))
    raised = set(re.findall(r'"(U0\d\d)"', texts))
    assert len(raised) > 15
    assert re.findall(r"^\| (U\d{3}) \|", PAGE, re.MULTILINE) == sorted(raised)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_every_embedding_is_explained(name):
    assert re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("setting", [f.name for f in fields(MetadataRecipe)])
def test_every_setting_of_the_metadata_is_named(setting):
    assert f"`{setting}`" in PAGE


@pytest.mark.parametrize("name", ["ROWS", "METADATA", "PRIOR", "REPORT"])
def test_every_file_is_named(name):
    assert f"`{getattr(stage, name)}`" in PAGE


def test_the_example_is_a_recipe_and_is_read_back_as_it_was_written(tmp_path):
    recipe = read_recipe(ROOT / "examples" / "evolution.yaml", {})
    assert recipe.metadata == MetadataRecipe(("function", "length"), method="independent", most=300)
    (tmp_path / "again.yaml").write_text(as_yaml(recipe))
    assert read_recipe(tmp_path / "again.yaml", {}) == recipe


def test_the_recipe_that_is_shown_has_settings_that_there_are(tmp_path):
    start = PAGE.index("    metadata:\n      schema")
    text = "".join(line[4:] + "\n" for line in PAGE[start:].split("\n\n")[0].split("\n"))
    assert yaml.safe_load(text)["label"] == "intent"
    (tmp_path / "recipe.yaml").write_text(text)
    assert read_recipe(tmp_path / "recipe.yaml", {}).generator.kind == "seeds"
