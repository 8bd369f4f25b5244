"""What holds of every synthesized row, and of runs as a whole."""

from collections import Counter

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.types import slot_stem, slot_type
from genie_dp.rows import from_json
from genie_dp.synthesis.config import Shard
from genie_dp.synthesis.rows import block_numbers
from tests.synthesis.synthesis_setup import engine, rows, shipped, text_of

pytestmark = pytest.mark.xdist_group("shipped")


def test_every_program_is_well_typed_and_canonical_with_the_functions_of_its_row():
    language, library = shipped().language, shipped().library
    for row in rows():
        program = language.from_tokens(row.program)
        assert not language.check(program, library), (row.utterance, row.program)
        assert language.tokens(language.canonical(program, library), library) == row.program
        assert Counter(row.functions) == language.functions(program), row.program


def test_slots_stand_in_sentence_and_program_with_the_type_of_their_parameter():
    language, library = shipped().language, shipped().library
    checked = 0
    for row in rows():
        words = row.utterance.split()
        assert row.utterance == " ".join(words), repr(row.utterance)
        said = [token for token in words if slot_type(token)]
        assert set(said) == set(row.slots), row.utterance
        assert {t for t in row.program.split() if slot_type(t)} == set(said), row.program
        met = Counter[str]()  # numbered in the order of the sentence
        for token in dict.fromkeys(said):
            stem, _, number = token.rpartition("_")
            assert int(number) == met[stem], row.utterance
            met[stem] += 1
        others = [word for word in words if not slot_type(word)]
        assert not any(mark in word for word in others for mark in "{}#$\uf8ff"), row.utterance
        assert all(word == word.lower() for word in others), row.utterance
        for token, slot in row.slots.items():
            stem = slot_stem(language.bodies.parse_type(slot.type))
            assert token.rpartition("_")[0] == stem, (row.utterance, token, slot)
            function, _, name = slot.parameter.partition(":")
            if function.startswith("@"):
                class_name, _, local = function[1:].rpartition(".")
                signature = library.function(class_name, local)
                assert signature is not None, slot
                assert signature.parameter(name) is not None, slot
                checked += 1
    assert checked > 1000


def test_no_sentence_comes_twice_and_derivations_name_templates_outermost_first():
    assert len({row.utterance for row in rows()}) == len(rows()) > 1000
    numbers = [int(row.id.removeprefix("S")) for row in rows()]
    assert numbers == sorted(set(numbers))
    assert {row.depth for row in rows()} - {0} == {1, 2, 3, 4}  # 0: a template without children
    templates = {template.id: template for template in shipped().grammar.templates}
    roots = {category.name for category in shipped().grammar.roots()}
    for row in rows():
        assert templates[row.derivation[0]].category in roots
        assert all(name in templates for name in row.derivation)


@pytest.mark.slow
def test_shards_are_disjoint_and_together_the_whole_whatever_the_processes():
    made = engine(size=12_000)
    whole = text_of(made, limit=None)
    assert whole == text_of(made, limit=None, jobs=2)
    shards = [
        text_of(made, numbers=block_numbers(made, Shard(index, 3)), limit=None).splitlines()
        for index in range(3)
    ]
    ids = [from_json(line).id for lines in shards for line in lines]
    assert len(ids) == len(set(ids))
    assert set(whole.splitlines()) <= set().union(*shards)
    assert text_of(engine(size=500, seed=1)) != text_of(engine(size=500, seed=2))


def test_excluded_functions_never_appear_and_included_are_the_only_ones():
    chosen = {"include": ("@com.gmail.*", "@com.slack.*"), "exclude": ("@com.gmail.inbox",)}
    made = engine(size=500, max_depth=3, **chosen)
    functions = {f for line in text_of(made).splitlines() for f in from_json(line).functions}
    assert {f.split(".")[1] for f in functions} == {"gmail", "slack"}
    assert "@com.gmail.inbox" not in functions


@pytest.mark.slow
def test_weights_and_balance_steer_how_often_functions_appear():
    def counts(**settings: object) -> Counter[str]:
        text = text_of(engine(size=3000, max_depth=2, **settings))
        return Counter(f for line in text.splitlines() for f in set(from_json(line).functions))

    def top_three(counts: Counter[str]) -> float:
        return sum(n for _, n in counts.most_common(3)) / counts.total()

    one, other = "@com.gmail.inbox", "@com.twitter.post"
    plain, steered = counts(), counts(weights={one: 0.0, other: 10.0})
    assert steered[one] == 0 < plain[one]
    assert steered[other] > 3 * plain[other]
    assert top_three(counts(balance=0.0)) < 0.9 * top_three(counts(balance=1.0))


@pytest.mark.slow
def test_only_the_roots_that_are_asked_for_make_sentences():
    both = (("POLICY", "COMMAND"), {True, False})
    for roots, are_policies in (((), {False}), (("POLICY",), {True}), both):
        lines = text_of(engine(size=300, max_depth=2, pool_size=50, roots=roots)).splitlines()
        assert {from_json(line).program.startswith("policy") for line in lines} == are_policies
    with pytest.raises(GenieError, match="did you mean 'POLICY'"):
        engine(roots=("POLICE",))
