"""Search under the grammar of ThingTalk: what an untrained network writes is a program."""

import pytest

from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.languages.thingtalk.language import ThingTalk
from genie_dp.models.constraint import Constraint
from genie_dp.models.search import SearchSettings, search
from genie_dp.models.seq2seq import SteppedTorch
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.models.models_setup import PAIRS, accepted, network, vocabulary_of

SENTENCES = [("set", "the", "light", "to", "NUMBER_0"), ("tweet", "quinoa", "to", "bob")]


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
@pytest.mark.parametrize(("beam", "longest"), [(1, 500), (1, 5), (3, 40)])
def test_an_untrained_network_writes_well_typed_programs(kind, beam, longest):
    library = example_library()
    grammar = ThingTalkGrammar(library)
    vocabulary = vocabulary_of(PAIRS, extra=grammar.vocabulary)
    model = network(kind, vocabulary=vocabulary)
    found = search(
        SteppedTorch(model),
        SENTENCES,
        vocabulary,
        constraint=Constraint(grammar, vocabulary),
        settings=SearchSettings(beam=beam, longest=longest),
    )
    for sentence, hypotheses in zip(SENTENCES, found, strict=True):
        for each in hypotheses:
            assert accepted(grammar, sentence, each.tokens)
            ThingTalk().from_tokens(" ".join(each.tokens), library)
