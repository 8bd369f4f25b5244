"""The learned half of a parser: its network, for sentences that no template derives."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from genie_dp.languages.library import Library
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.locale import Words
from genie_dp.models.arrays import CONFIG, no_model, open_arrays
from genie_dp.models.base import FOLDER
from genie_dp.models.calibration import Calibration
from genie_dp.models.cards import vocabulary_for
from genie_dp.models.vocabulary import Pair, words_of_name
from genie_dp.parser import folder as files
from genie_dp.parser.cards import card_words, cards_of
from genie_dp.parser.decode import Decoder
from genie_dp.parser.evidence import Evidence
from genie_dp.parser.rows import Target

# Tokens of the longest program of the base: nine inputs have some fifty.
LONGEST = 80


@dataclass(frozen=True, slots=True)
class Learned:
    """The learned half of a parser, trained on rows or from the shipped base.

    Attributes:
        decoder: its network, under the grammar of programs.
        calibration: of its confidence.
        evidence: the words of its rows, by function.
        is_validated: whether the calibration was fitted to rows that stand for people.
    """

    decoder: Decoder
    calibration: Calibration
    evidence: Evidence
    is_validated: bool = True

    @classmethod
    def of_base(
        cls, target: Target, words: Words, *, beam: int, folder: Path = FOLDER
    ) -> "Learned":
        """Return the shipped base with the cards of a library that it need not have seen.

        Args:
            target: its library is the one to answer for.
            words: of the language of the sentences.
            beam: programs that search keeps.
            folder: where the base lies.

        Raises:
            GenieError: M001, a file of the base is missing or broken.
        """
        assert target.library is not None
        tokens = target.styled.decoding_grammar(target.library, texts=()).vocabulary
        cards = cards_of(target.library, tokens)
        opened = open_arrays(
            folder, lambda base: vocabulary_for(base, {*tokens, OUT_OF_SCOPE}, cards)
        )
        try:
            facts = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            calibration = files.read_calibration(facts)
            if opened is None:
                raise ValueError("expected a recurrent network")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise no_model(folder, str(error)) from None
        decoder = Decoder(*opened, target, beam=beam, longest=LONGEST, renormalized=True)
        evidence = evidence_of(target.library, tokens, target, words)
        return cls(decoder, calibration, evidence, is_validated=False)


def evidence_of(library: Library, tokens: frozenset[str], target: Target, words: Words) -> Evidence:
    """Return the evidence from a library's own phrases for its functions, in place of rows.

    Args:
        tokens: all that its programs may have.
    """
    by_name = {token.removesuffix("("): token for token in tokens}
    pairs = [
        Pair(phrase, (by_name[function.qualified],))
        for function in library.functions()
        if function.qualified in by_name
        for phrase in _phrases(library, function.qualified)
        if phrase
    ]
    evidence = Evidence.from_rows([pairs], target.language, words)
    # What rows never leave out hardly is; here there are none that could.
    return replace(evidence, given=np.zeros(0, np.uint32))


def _phrases(library: Library, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the names of a function and of its parameters, as words.

    Words of a listed value stand for the value: they are near to the cards of programs that have it
    (`NearWords`), and no evidence of those that do not.
    """
    yield words_of_name(name)
    yield from map(card_words, library.called(name))
    signature = library.signature(name)
    for parameter in signature.parameters if signature else ():
        yield words_of_name(parameter.name)
        phrases = library.phrases(name, parameter.name).values()
        yield from map(card_words, chain.from_iterable(phrases))
