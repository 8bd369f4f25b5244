"""A network with its grammar: tokens of sentences in, canonical programs with probabilities out."""

import math
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace

from genie_dp.languages.scope import OUT_OF_SCOPE, CopyOnce, ScopedGrammar
from genie_dp.models.arrays import SteppedNetwork
from genie_dp.models.cards import NearWords
from genie_dp.models.constraint import Constraint
from genie_dp.models.search import Hypothesis, SearchSettings, search
from genie_dp.models.vocabulary import UNK, Vocabulary
from genie_dp.parser.cards import is_listed_value
from genie_dp.parser.evidence import places_of_texts
from genie_dp.parser.rows import Target, canonical_text

# Sentences that go through the network together.
_BATCH = 32
# Nats: programs some 22,000 times less likely than one that is known. They cost time, and nobody
# sees them: of 320 real sentences no first program nor its confidence changed (November 2026).
_MARGIN = 10.0
# Nats: under a grammar, programs that the model wants so little are brought to their end. Otherwise
# a sentence that was not understood becomes hundreds of tokens, for which its batch waits.
_FLOOR = -50.0
# Words of a sentence; who types more gets no program. The longest real command of the shipped
# skills has 27 (November 2026).
LONGEST = 150


def search_settings(*, beam: int = 1, longest: int = 150) -> SearchSettings:
    """Return the settings of parsers' search."""
    return SearchSettings(beam=beam, longest=longest, margin=_MARGIN, floor=_FLOOR)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A program in canonical token form, with placeholders, and its natural log-probability.

    It may be OUT_OF_SCOPE, if the network has learned to refuse.

    Attributes:
        outline: the log-probability without the words inside of texts, which are judged by where
            they begin and end: a longer text is not the less probable.
    """

    program: str
    log_probability: float
    outline: float


class Decoder:
    """Decodes sentences in batches. Not safe for several threads at a time."""

    def __init__(
        self,
        network: SteppedNetwork,
        vocabulary: Vocabulary,
        target: Target,
        *,
        texts: Sequence[str] = (),
        begins: Collection[str] = (),
        is_constrained: bool = True,
        beam: int = 1,
        longest: int = 150,
        renormalized: bool = False,
    ):
        """Make the grammar.

        Args:
            network: a trained one.
            texts: constants that programs hold without the sentence mentioning them.
            begins: tokens that programs begin with; empty for all that the grammar allows.
            is_constrained: whether the grammar limits the output.
            beam: programs that search keeps.
            longest: tokens after which a program is brought to an end.
            renormalized: whether programs are as likely as they are among those of the grammar: for
                a network that never saw the library.

        Raises:
            GenieError: M006, the model cannot write tokens of the library.
        """
        self.network, self.vocabulary, self.target = network, vocabulary, target
        refusal = vocabulary.generable(OUT_OF_SCOPE)
        self._aside, self._renormalized = frozenset({refusal} - {UNK}), renormalized
        self.settings = self._settings(beam, longest)
        self._near = None
        if vocabulary.vectors:
            values = filter(is_listed_value, vocabulary.cards)
            self._near = NearWords(vocabulary.cards, values)
        self.constraint = None
        if is_constrained:
            grammar = target.styled.decoding_grammar(target.library, texts=texts)
            beginnings = set(begins) or set(grammar.begin(()).allowed.fixed)
            if self._aside:
                beginnings.add(OUT_OF_SCOPE)
            grammar = ScopedGrammar(grammar, frozenset(beginnings))
            if renormalized:
                grammar = CopyOnce(grammar)
            self.constraint = Constraint(grammar, vocabulary)

    @property
    def near(self) -> NearWords | None:
        """Return which words are near to the library's; None where its network has no vectors."""
        return self._near

    def searching(self, *, beam: int, longest: int) -> "Decoder":
        """Return a decoder of the network with other settings of the search.

        It shares the states of the grammar that this one has computed.
        """
        decoder = copy(self)
        decoder.settings = self._settings(beam, longest)
        return decoder

    def _settings(self, beam: int, longest: int) -> SearchSettings:
        return replace(
            search_settings(beam=beam, longest=longest),
            aside=self._aside,
            renormalized=self._renormalized,
        )

    def decode(self, sentences: Sequence[tuple[str, ...]]) -> list[tuple[Decoded, ...]]:
        """Return the programs of each sentence, best first, none twice.

        A sentence without words, or with more than LONGEST, has none.
        """
        programs: list[tuple[Decoded, ...]] = [()] * len(sentences)
        fit = [i for i, words in enumerate(sentences) if 0 < len(words) <= LONGEST]
        fit.sort(key=lambda i: len(sentences[i]))
        for start in range(0, len(fit), _BATCH):
            places = fit[start : start + _BATCH]
            hypotheses = search(
                self.network,
                [sentences[i] for i in places],
                self.vocabulary,
                constraint=self.constraint,
                settings=self.settings,
            )
            for place, sentence_hypotheses in zip(places, hypotheses, strict=True):
                programs[place] = self._merge(sentence_hypotheses)
        return programs

    def _merge(self, hypotheses: Sequence[Hypothesis]) -> tuple[Decoded, ...]:
        """Return programs by their canonical form; those of one form are one, as likely as both.

        Without a grammar, hypotheses that are no programs stay as they were written.
        """
        scores: dict[str, tuple[float, float]] = {}
        for hypothesis in hypotheses:
            written = " ".join(hypothesis.tokens)
            program = canonical_text(written, self.target)
            if not program and self.constraint is None:
                program = written
            if program:
                before, outline = scores.get(program, (-math.inf, -math.inf))
                own = hypothesis.log_probability
                outside = own - inside_of_texts(hypothesis.tokens, hypothesis.steps)
                scores[program] = log_sum(before, own), log_sum(outline, outside)
        ranked = sorted(scores.items(), key=lambda item: (-item[1][0], item[0]))
        return tuple(Decoded(program, *score) for program, score in ranked)


def inside_of_texts(program: Sequence[str], steps: Sequence[float]) -> float:
    """Return the log-probability of the words of texts, without the first of each.

    >>> inside_of_texts('say( " hi there bob " )'.split(), [-1, 0, -2, -3, -4, 0, 0])
    -7
    """
    return sum(sum(steps[x.start + 1 : x.stop]) for x in places_of_texts(program, names=True))


def log_sum(a: float, b: float) -> float:
    """Return the logarithm of the sum of two probabilities.

    >>> round(math.exp(log_sum(math.log(0.25), math.log(0.5))), 3)
    0.75
    """
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
