"""What a chart leaves out at a glance, and what it remembers, changes no reading."""

import random
from functools import cache

import pytest

from genie_dp.synthesis.chart import SayableWords
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.explain import Explainer
from tests.synthesis.synthesis_setup import few, rows, shipped

COUNT = 40


class _Everything:
    """A set that has all words."""

    def __contains__(self, word):
        return True

    def issuperset(self, words):
        return True


@cache
def compiled(name):
    inputs = {"shipped": shipped, "few": few}[name]()
    return compile_inputs(inputs)


@cache
def sentences():
    """Return sentences of synthesis, and others with a word less or two in another order."""
    rng = random.Random("chart words")
    found = [row.utterance for row in rng.sample(rows(), COUNT)]
    for text in tuple(found):
        words = text.split()
        place = rng.randrange(len(words))
        found.append(" ".join((*words[:place], *words[place + 1 :])))
        found.append(
            " ".join((*words[:place], *reversed(words[place : place + 2]), *words[place + 2 :]))
        )
    return tuple(text for text in found if _is_numbered(text))


def _is_numbered(text):
    """Tell whether placeholders are numbered from left to right still."""
    met = {}
    for token in text.split():
        stem, _, number = token.rpartition("_")
        if token.isupper() and number.isdigit():
            if int(number) != met.get(stem, 0):
                return False
            met[stem] = int(number) + 1
    return True


def unhindered(grammar):
    """Let every span be looked at."""
    everything = SayableWords(_Everything(), _Everything(), _Everything())
    for slot in grammar.slots.values():
        slot.words, slot.needed = everything, None
    grammar.words_in, grammar.needed = {}, {}
    grammar.words = dict.fromkeys((*grammar.patterns, *grammar.leaves), everything)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few", "shipped"])
def test_no_reading_is_lost_to_the_words_that_a_place_can_have(name):
    quick, patient = Explainer(compiled(name)), Explainer(compiled(name))
    unhindered(patient.grammar)
    found = [quick.explain(text) for text in sentences()]
    assert found == [patient.explain(text) for text in sentences()]
    assert sum(bool(one.readings) for one in found) >= (COUNT if name == "shipped" else 1)
    assert not all(one.readings for one in found)


@pytest.mark.slow
def test_a_chart_that_read_other_sentences_finds_the_same_programs():
    explainer = Explainer(compiled("shipped"))
    alone = {text: frozenset(explainer.explain(text).programs) for text in sentences()}
    for order in (sentences(), sentences()[::-1]):
        fresh = Explainer(compiled("shipped"))
        assert {text: fresh.meanings(text) for text in order} == alone


def test_a_chart_forgets_when_it_has_read_much(monkeypatch):
    monkeypatch.setattr("genie_dp.synthesis.explain.MOST_REMEMBERED", 50)
    explainer = Explainer(compiled("few"))
    for text in sentences()[:20]:
        assert explainer.meanings(text) == frozenset(explainer.explain(text).programs)


def test_the_last_word_of_one_place_is_no_word_of_another():
    grammar = Explainer(compiled("few")).grammar
    assert any(words.every - words.last for words in grammar.words.values())
    assert all(words.last <= words.every for words in grammar.words.values())
    assert all(words.first <= words.every for words in grammar.words.values())
