"""Multinomial sampling and beams from a causal language model, in batches; under a grammar, too.

A decoding grammar lists the tokens of a well-typed program that may follow; the tokenizer writes
each of them in its pieces. A grammar lets free text be copied from a sentence. Here there is none:
it is given one of placeholders and of a wildcard, and where the wildcard may come, any plain word
may be written, and any other word that free text of public programs has, such as "7:30".
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from genie_dp.languages.base import Allowed, DecodingGrammar, Prefix
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.models import CausalLM, DecoderState
from genie_dp.private.generators.tokenizer import Tokenizer, TokenPiece

Mask = npt.NDArray[np.bool_]
# A private-use character: no word of a text, and plain to every language.
WILDCARD = "\ue000"
# Words of one free text, and pieces of one word of it.
_WORDS, _PIECES = 12, 12
# Masks kept; cleared when full, for a grammar may make sets as it goes.
_KEPT = 20_000
# Pieces of ASCII letters, and whole words of any: so that no run of pieces is anything else.
_PLAIN_PIECE = re.compile(rb"[a-z]+")
_PLAIN_WORD = re.compile(r"[^\W\d_A-Z]+(?:['-][^\W\d_A-Z]+)*")


def is_plain(word: str) -> bool:
    """Return whether a word is one that free text may hold: letters, with ' and - between them.

    >>> [is_plain(word) for word in ("o'clock", "NUMBER_0", "@x.f", "2")]
    [True, False, False, False]
    """
    return _PLAIN_WORD.fullmatch(word) is not None


@dataclass(slots=True)
class SpellingNode:
    """A place in the tree of spelled tokens: the ids that go on, and the token that ends here."""

    following: "dict[int, SpellingNode]" = field(default_factory=dict)
    token: str = ""


class GrammarSpelling:
    """A grammar seen from a tokenizer. Masks are made once for each set of tokens."""

    def __init__(
        self,
        grammar: DecodingGrammar,
        tokenizer: Tokenizer,
        *,
        placeholders: Iterable[str] = (),
        texts: Iterable[str] = (),
    ):
        """Make the sentence that programs copy from.

        Args:
            grammar: of the language over a library.
            tokenizer: of the model.
            placeholders: tokens that programs may hold as they are, such as NUMBER_0.
            texts: public programs or parts of them, in tokens. The tokens that the grammar would
                copy of them may stand in any free text.
        """
        self.grammar, self.tokenizer = grammar, tokenizer
        copied = {token for text in texts for token in text.split()} - grammar.vocabulary
        self.words = frozenset(t for t in copied.difference(placeholders) if not is_plain(t))
        self.size = len(tokenizer.pieces)
        # An empty word ends each span: placeholders do not follow each other in a text.
        alone = [part for token in sorted(set(placeholders)) for part in (token, "")]
        self._sentence = (*alone, *[WILDCARD] * _WORDS)
        self._trees: dict[frozenset[str], tuple[SpellingNode, Mask]] = {}
        # Ids that begin plain words, and those that go on with them.
        self.plain_firsts = np.zeros(self.size, np.bool_)
        self.plain_inners = np.zeros(self.size, np.bool_)
        for index, piece in enumerate(tokenizer.pieces):
            if piece is None:
                continue
            is_letters = _PLAIN_PIECE.fullmatch(piece.text) is not None
            if not piece.is_first:
                self.plain_inners[index] = is_letters
            elif is_letters:
                self.plain_firsts[index] = True
            elif piece.text:
                text = piece.text.decode("utf-8", errors="replace")
                self.plain_firsts[index] = is_plain(text)

    def begin(self) -> "SpelledPrefix":
        """Return the empty prefix."""
        return SpelledPrefix(self, self.grammar.begin(self._sentence))

    def tree(self, tokens: frozenset[str]) -> tuple[SpellingNode, Mask]:
        """Return the tree of some tokens as they are spelled, and their first ids."""
        tree = self._trees.get(tokens)
        if tree is None:
            if len(self._trees) >= _KEPT:
                self._trees.clear()
            root = SpellingNode()
            for token in tokens:
                node = root
                for index in self.tokenizer.spell(token):
                    node = node.following.setdefault(index, SpellingNode())
                node.token = token
            mask = np.zeros(self.size, np.bool_)
            mask[list(root.following)] = True
            tree = self._trees[tokens] = root, mask
        return tree


class SpelledPrefix:
    """A program so far, by ids; immutable, so that the hypotheses of a beam may share it.

    Attributes:
        allowed: the tokens that may come after the last whole token.
        nodes: places in the trees of the tokens that may have been begun.
        text: the word that was begun, if it may be one of a free text, else None.
        count: ids of the token that was begun.
    """

    __slots__ = ("allowed", "count", "nodes", "prefix", "spelling", "text")

    def __init__(
        self,
        spelling: GrammarSpelling,
        prefix: Prefix,
        nodes: Sequence[SpellingNode] = (),
        text: bytes | None = None,
        count: int = 0,
    ):
        self.spelling, self.prefix, self.nodes = spelling, prefix, nodes
        self.text, self.count = text, count
        self.allowed: Allowed = prefix.allowed

    def mark(self, row: Mask, *, closing: bool = False) -> None:
        """Set True the ids that may come next in a row (V,) that is all False.

        Where the program may end while `closing`, it must, and no word is made longer.
        """
        following = self._finish_token() if self.count else self.prefix
        end = self.spelling.tokenizer.end
        if following is not None:
            row[end] = following.allowed.end
            if closing and row[end]:
                return
            spelling, allowed = self.spelling, following.allowed
            row |= spelling.tree(allowed.fixed)[1]
            if allowed.copied:
                row |= spelling.tree(allowed.copied - {WILDCARD})[1]
            if WILDCARD in allowed.copied:
                row |= spelling.plain_firsts
                row |= spelling.tree(spelling.words)[1]
        for node in self.nodes:
            row[list(node.following)] = True
        if self.text is not None and self.count < _PIECES and not closing:
            row |= self.spelling.plain_inners

    def _finish_token(self) -> Prefix | None:
        """Return the prefix after the token that was begun, None where it is not whole."""
        word = next((node.token for node in self.nodes if node.token), "")
        if not word and self.text is None:
            return None
        word = word or (self.text or b"").decode()
        is_known = word in self.allowed.fixed or word in self.allowed.copied
        return self.prefix.then(word if is_known else WILDCARD)

    def then(self, index: int) -> "SpelledPrefix":
        """Return the prefix with one more id, not the end.

        Raises:
            ValueError: the id stands for no text, or its token may not come here.
        """
        piece = self.spelling.tokenizer.pieces[index]
        if piece is None:
            raise ValueError(f"expected the id of a piece, got {index}")
        if not piece.is_first:
            nodes = [n.following[index] for n in self.nodes if index in n.following]
            text = None
            if self.text is not None and self.spelling.plain_inners[index]:
                text = self.text + piece.text
            return self._extend(self.prefix, nodes, text, self.count + 1)
        before = self._finish_token() if self.count else self.prefix
        if before is None:
            raise ValueError("expected the rest of a token, got the beginning of another")
        allowed = before.allowed
        roots = [self.spelling.tree(allowed.fixed)[0]]
        roots.append(self.spelling.tree(allowed.copied - {WILDCARD})[0])
        is_free = WILDCARD in allowed.copied
        if is_free:
            roots.append(self.spelling.tree(self.spelling.words)[0])
        nodes = [root.following[index] for root in roots if index in root.following]
        is_plain_word = is_free and self.spelling.plain_firsts[index]
        return self._extend(before, nodes, piece.text if is_plain_word else None, 1)

    def _extend(
        self, prefix: Prefix, nodes: Sequence[SpellingNode], text: bytes | None, count: int
    ) -> "SpelledPrefix":
        if not nodes and text is None:
            raise ValueError("expected an id that is allowed here")
        return SpelledPrefix(self.spelling, prefix, nodes, text, count)


def mask_rows(prefixes: Sequence[SpelledPrefix], *, closing: Sequence[bool]) -> Mask:
    """Return (rows, V): the ids that each prefix allows next; see `SpelledPrefix.mark`."""
    out = np.zeros((len(prefixes), prefixes[0].spelling.size), np.bool_)
    for row, prefix, must_end in zip(out, prefixes, closing, strict=True):
        prefix.mark(row, closing=must_end)
    return out


# Ids of a program under a grammar; more than grammars let it have (ThingTalk: 400 tokens).
BOUND = 4000


@dataclass(frozen=True, slots=True)
class DrawnIds:
    """A sequence that was drawn.

    Attributes:
        ids: of it, without the end.
        log_probability: of the ids, after temperature, top-k, top-p and grammar, in nats.
        ended: whether it came to its end; otherwise it was cut.
    """

    ids: tuple[int, ...]
    log_probability: float
    ended: bool


def restrict_scores(logits: torch.Tensor, settings: SamplingSettings) -> torch.Tensor:
    """Return (R, V) log-probabilities after temperature, top-k and top-p; -inf for the rest.

    >>> logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()
    >>> restrict_scores(logits, SamplingSettings(top_p=0.6)).exp().tolist()[0][2:]
    [0.0, 0.0]
    """
    scores = logits.double() / settings.temperature
    if 0 < settings.top_k < scores.shape[1]:
        least = scores.topk(settings.top_k, dim=1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if settings.top_p < 1:
        ordered, places = scores.softmax(1).sort(dim=1, descending=True, stable=True)
        # An id stays if those before it have less than the share: the likeliest always does.
        is_out = ordered.cumsum(1) - ordered >= settings.top_p
        scores = scores.masked_fill(is_out.gather(1, places.argsort(1)), -torch.inf)
    return scores.log_softmax(1)


@dataclass(slots=True)
class _Hypothesis:
    """A hypothesis that goes on; `row` is where its state is."""

    ids: tuple[int, ...]
    score: float
    path: SpelledPrefix | None
    row: int


@dataclass(slots=True)
class _Beam:
    """The state of one sequence's beam."""

    live: list[_Hypothesis]
    ended: list[DrawnIds] = field(default_factory=list)
    cut: list[DrawnIds] = field(default_factory=list)

    def result(self) -> DrawnIds:
        """Return the likeliest per id of those that ended, or of those that were cut.

        There is none where nothing could come next: scores of broken weights are no numbers.
        """
        return max(self.ended or self.cut, key=_quality, default=_NOTHING)


_NOTHING = DrawnIds((), -math.inf, ended=False)


def _quality(drawn: DrawnIds) -> float:
    return drawn.log_probability / (len(drawn.ids) + 1)


def draw(
    model: CausalLM,
    prompts: Sequence[Sequence[int]],
    tokenizer: Tokenizer,
    settings: SamplingSettings,
    *,
    generator: torch.Generator,
    paths: Sequence[SpelledPrefix] | None = None,
    never: Sequence[int] = (),
) -> list[DrawnIds]:
    """Return one sequence for each prompt; all prompts go through the model as one batch.

    Args:
        model: in evaluation mode.
        prompts: ids, BEGIN among them; none empty.
        tokenizer: the model's.
        settings: how to draw.
        generator: of the random numbers; on the CPU, so that they are the same on any device.
        paths: the allowed texts, one empty prefix a prompt; None for any text.
        never: ids that may not come, beside those that stand for no text.
    """
    beams = [
        _Beam([_Hypothesis((), 0.0, paths[row] if paths else None, row)])
        for row in range(len(prompts))
    ]
    with torch.inference_mode():
        never_alone = NeverAlone(tokenizer)
        is_forbidden = torch.tensor([writes_no_word(piece) for piece in tokenizer.pieces])  # (V,)
        is_forbidden[list(never)] = True
        is_forbidden[tokenizer.end] = False
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        padded = torch.zeros(len(prompts), int(lengths.max()), dtype=torch.int64)
        for i, prompt in enumerate(prompts):
            padded[i, : len(prompt)] = torch.tensor(prompt)
        logits, state = model.start(padded.to(model.device), lengths.to(model.device))
        while True:
            scores = _score_next(logits, beams, is_forbidden, settings, never_alone)
            _advance(beams, scores, tokenizer.end, settings, generator)
            live = [each for beam in beams for each in beam.live]
            if not live:
                break
            logits, state = _step(model, state, live)
    return [beam.result() for beam in beams]


def writes_no_word(piece: TokenPiece | None) -> bool:
    """Return whether a piece stands for no text, or has white space inside."""
    if piece is None:
        return True
    return any(map(str.isspace, piece.text.decode("utf-8", errors="replace")))


class NeverAlone:
    """The beginnings of words without a letter: a piece of the word has to follow them."""

    def __init__(self, tokenizer: Tokenizer):
        pieces = list(enumerate(tokenizer.pieces))
        self.ids = {index for index, piece in pieces if piece and piece.is_first and not piece.text}
        is_inner = [piece is not None and not piece.is_first for _, piece in pieces]
        self.is_no_inner = ~torch.tensor(is_inner)  # (V,)

    def forbid(self, logits: torch.Tensor, last: Sequence[int | None]) -> torch.Tensor:
        """Return (R, V) logits that go on with the word where it has no letter yet."""
        rows = [row for row, index in enumerate(last) if index in self.ids]
        if rows:
            logits = logits.clone()
            logits[rows] = logits[rows].masked_fill(self.is_no_inner, -torch.inf)
        return logits


def _score_next(
    logits: torch.Tensor,
    beams: Sequence[_Beam],
    never: torch.Tensor,
    settings: SamplingSettings,
    never_alone: NeverAlone,
) -> torch.Tensor:
    """Return (R, V) log-probabilities of the next id after each live hypothesis."""
    live = [each for beam in beams for each in beam.live]
    logits = logits.cpu().float()
    # A model may have more ids than its tokenizer; these write nothing.
    logits = logits[:, : len(never)].masked_fill(never, -torch.inf)
    logits = never_alone.forbid(logits, [each.ids[-1] if each.ids else None for each in live])
    paths = [each.path for each in live if each.path is not None]
    if paths:
        closing = [len(each.ids) + 1 >= settings.longest for each in live]
        allowed = torch.from_numpy(mask_rows(paths, closing=closing))
        logits = logits.masked_fill(~allowed, -torch.inf)
    return restrict_scores(logits, settings)


def _advance(
    beams: Sequence[_Beam],
    scores: torch.Tensor,
    end: int,
    settings: SamplingSettings,
    generator: torch.Generator,
) -> None:
    """Take one step of all beams; rows of `scores` are their live hypotheses in order."""
    own = torch.tensor([each.score for beam in beams for each in beam.live], dtype=torch.float64)
    totals = scores + own[:, None]
    # Largest of scores with Gumbel noise: a draw without putting back (Kool et al., 2019).
    noise = torch.rand(totals.shape, generator=generator, dtype=torch.float64)
    noised = totals - (-noise.clamp_min(1e-300).log()).clamp_min(1e-300).log()
    count = 1 if settings.width == 1 else 2 * settings.width
    values, ids = noised.topk(min(count, noised.shape[1]), dim=1)
    rows = list(zip(values.tolist(), totals.gather(1, ids).tolist(), ids.tolist(), strict=True))
    first = 0
    for beam in beams:
        last = first + len(beam.live)
        draws = [
            (noisy, score, row, index)
            for row, columns in enumerate(rows[first:last])
            for noisy, score, index in zip(*columns, strict=True)
            if noisy > -torch.inf
        ]
        if beam.live:
            draws.sort(reverse=True)
            best = [(score, row, index) for _, score, row, index in draws[:count]]
            _follow(beam, best, end, settings)
        first = last


def _follow(
    beam: _Beam, drawn: list[tuple[float, int, int]], end: int, settings: SamplingSettings
) -> None:
    """Let the likeliest of the drawn hypotheses go on; an end counts among the best `width`."""
    following: list[_Hypothesis] = []
    for rank, (score, row, index) in enumerate(sorted(drawn, reverse=True)):
        parent = beam.live[row]
        if index == end:
            if rank < settings.width:
                beam.ended.append(DrawnIds(parent.ids, score, ended=True))
            continue
        if len(following) == settings.width:
            continue
        ids = (*parent.ids, index)
        path = parent.path.then(index) if parent.path else None
        following.append(_Hypothesis(ids, score, path, parent.row))
    beam.live = []
    for each in following:
        if len(each.ids) < (BOUND if each.path else settings.longest):
            beam.live.append(each)
        else:
            beam.cut.append(DrawnIds(each.ids, each.score, ended=False))
    if beam.live and len(beam.ended) >= settings.width:
        worst = sorted(map(_quality, beam.ended))[-settings.width]
        if worst >= max(each.score / (len(each.ids) + 1) for each in beam.live):
            beam.live = []


def _step(
    model: CausalLM, state: DecoderState, live: Sequence[_Hypothesis]
) -> tuple[torch.Tensor, DecoderState]:
    """Return logits and state after the last id of each live hypothesis."""
    where = [each.row for each in live]
    last = torch.tensor([each.ids[-1] for each in live], device=model.device)
    if where != list(range(len(state.places))):
        state = state.take(torch.tensor(where, device=model.device))
    for row, each in enumerate(live):
        each.row = row
    return model.step(state, last)
