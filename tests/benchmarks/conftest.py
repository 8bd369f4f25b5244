"""Programs of benchmarks/ can be imported by their tests."""

import sys
from pathlib import Path

import pytest

from genie_dp.rows import to_json

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def written(tmp_path):
    """Return what writes rows to a file of a name."""

    def write(name, rows):
        path = tmp_path / name
        path.write_text("".join(f"{to_json(row)}\n" for row in rows), encoding="utf-8")
        return path

    return write
