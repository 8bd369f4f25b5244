import pytest

pytest.importorskip("torch")
pytest.importorskip("phonenumbers")

import parsing

from tests.parser.parser_setup import WORDS


def test_a_parser_is_asked_in_each_way_and_each_batch_has_its_cost(trained):  # noqa: F811
    tried = parsing.ways(trained)
    assert len({(way.beam, way.batch, way.is_constrained) for way in tried}) == len(tried) == 8
    sentences = [f"show mail about {word}" for word in WORDS[:3]]
    for way in tried:
        costs = way.costs(sentences)
        assert len(costs) == (3 if way.batch == 1 else 1)
        assert min(costs) > 0
    named = parsing.row(tried[0], [4.0, *[1.0] * 9, *[2.0] * 10])
    assert named == [trained.name, "4", "1", "yes", "2.0", "2.0"]
