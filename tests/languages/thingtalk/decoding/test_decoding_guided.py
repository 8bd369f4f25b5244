"""llguidance and the automaton of our own allow the same pieces."""

import sys
from functools import cache
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llguidance")

from genie_dp.errors import GenieError  # noqa: E402
from genie_dp.languages import get_language, guided  # noqa: E402
from genie_dp.languages.guided import GuidedGrammar, SubwordGrammar, Subwords, subword_grammar  # noqa: E402  # noqa: E402
from genie_dp.languages.thingtalk.decoding.catalogue import constants_of  # noqa: E402
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar  # noqa: E402
from genie_dp.languages.thingtalk.from_tokens import from_tokens  # noqa: E402
from genie_dp.languages.thingtalk.typecheck import check  # noqa: E402
from genie_dp.resources import data_folder  # noqa: E402
from genie_dp.skills.load import load_library  # noqa: E402
from tests.languages.thingtalk.decoding.decoding_walks import is_accepted  # noqa: E402
from tests.languages.thingtalk.decoding.test_decoding_subwords import END, SENTENCE, grammar, pieces  # noqa: E402
from tests.languages.thingtalk.thingtalk_library import example_library  # noqa: E402


@cache
def engines(seed):
    tokens = grammar()
    texts = pieces(tokens.vocabulary | set(SENTENCE), Random(seed))
    subwords = Subwords(texts, end=END)
    return texts, [subword_grammar(tokens, subwords, engine=e) for e in ("automaton", "llguidance")]


def test_both_engines_can_be_asked_for():
    own, fast = engines(0)[1]
    assert isinstance(own, SubwordGrammar)
    assert isinstance(fast, GuidedGrammar)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 2))
def test_at_each_step_of_a_random_walk_both_allow_the_same(rng, seed):
    texts, found = engines(seed)
    one, other = (each.begin(SENTENCE) for each in found)
    said = ""
    while True:
        mask = one.mask()
        assert (mask == other.mask()).all(), said
        for index in rng.sample(range(len(mask)), 10):
            if not mask[index]:
                with pytest.raises(ValueError, match="allowed|expected"):
                    other.then(index)
        chosen = rng.choice(np.flatnonzero(mask).tolist())
        if chosen == END:
            break
        one, other = one.then(chosen), other.then(chosen)
        said += texts[chosen]
    assert not check(from_tokens(said.replace("▁", " ").strip()), example_library()), said


def shipped_rows():
    """Return the library, and sentence and program of its evaluation in token form."""
    thingtalk, lib = get_language("thingtalk"), load_library([data_folder("thingpedia")])
    files = sorted(data_folder("thingpedia").glob("*/eval.tsv"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    rows = [line.split("\t") for line in lines if line.strip()]
    parsed = [(row[0], thingtalk.canonical(thingtalk.parse(row[1]), lib)) for row in rows]
    return lib, [(sentence, thingtalk.tokens(program, lib)) for sentence, program in parsed]


@cache
def shipped():
    """Return rows, the grammar, and both engines over pieces of the programs' tokens."""
    lib, rows = shipped_rows()
    texts = {text for row in rows for text in constants_of(*row)}
    tokens = ThingTalkGrammar(lib, texts=sorted(texts))
    words = tokens.vocabulary | {word for sentence, _ in rows for word in sentence.split()}
    subwords = Subwords(pieces(words, Random(0)), end=END)
    return rows, tokens, GuidedGrammar(tokens, subwords)


def spelled(subwords, program, rng):
    """Yield pieces of a program, long ones mostly."""
    for token in program.split(" "):
        rest, is_first = token, True
        while rest:
            choices = list(subwords.firsts(rest) if is_first else subwords.inners(rest))
            chosen = choices[-1] if rng.random() < 0.8 else rng.choice(choices)
            rest, is_first = rest[len(subwords.piece(chosen)[0]) :], False
            yield chosen


def takes(found, sentence, program, rng):
    """Tell whether a program is allowed piece by piece, the end included."""
    prefix = found.begin(sentence.split())
    for index in spelled(found.subwords, program, rng):
        try:
            prefix = prefix.then(index)
        except ValueError:
            return False
    return bool(prefix.mask()[END])


def test_every_program_of_the_skills_own_evaluation_is_allowed():
    rows, _, found = shipped()
    assert len(rows) > 400
    refused = [
        program for i, (s, program) in enumerate(rows) if not takes(found, s, program, Random(i))
    ]
    assert refused == []


def test_programs_with_another_token_are_allowed_only_where_the_automaton_allows_them():
    rows, tokens, found = shipped()
    rng, refused = Random(1), 0
    words = sorted(tokens.vocabulary)
    for sentence, program in rng.sample(rows, 150):
        changed = program.split(" ")
        changed[rng.randrange(len(changed))] = rng.choice(words)
        text = " ".join(changed)
        expected = is_accepted(tokens, sentence.split(), text)
        assert takes(found, sentence, text, rng) == expected, text
        refused += not expected
    assert refused > 100


def test_a_word_that_cannot_be_spelled_is_not_copied_and_a_token_is_refused():
    texts = pieces(grammar().vocabulary | {"bob"}, Random(1))
    found = GuidedGrammar(grammar(), Subwords(texts, end=END))
    assert found.begin(["é", "bob"]).mask().any()
    with pytest.raises(GenieError, match="L013"):
        GuidedGrammar(grammar(), Subwords({1: "▁now", 2: "▁=>"}, end=END))


def test_places_that_were_forgotten_are_made_again(monkeypatch):
    texts, (own, _) = engines(0)
    monkeypatch.setattr(guided, "KEPT", 1)
    one, other = own.begin(SENTENCE), GuidedGrammar(grammar(), own.subwords).begin(SENTENCE)
    for _ in range(12):
        mask = one.mask()
        assert (mask == other.mask()).all()
        chosen = int(np.flatnonzero(mask)[0])
        if chosen == END:
            break
        one, other = one.then(chosen), other.then(chosen)


def test_without_llguidance_the_automaton_does_it_unless_asked_otherwise(monkeypatch):
    monkeypatch.setitem(sys.modules, "llguidance", None)
    texts, (own, _) = engines(0)
    assert isinstance(subword_grammar(grammar(), own.subwords), SubwordGrammar)
    with pytest.raises(GenieError, match="L014"):
        subword_grammar(grammar(), own.subwords, engine="llguidance")
